"""A drop-in for InterCode's SQL environment, and the protocol by which it is evaluated.

Scripts that are written for InterCode change one line, and need neither Docker nor MySQL::

    from piase_gym.adapters.intercode import SqlEnv  # from intercode.envs

    env = SqlEnv("docker-env-sql", data_path="data/sql/spider/ic_spider_dev.json")
    env.reset(0)
    observation, reward, done, info = env.step("SELECT count(*) FROM city")
    observation, reward, done, info = env.step("submit")

The dump lies next to the tasks, or is named with `dump`; SQL is MySQL's. The database of a task is
chosen for it, so ``use`` is not needed, but is understood. With `server` a real server runs it.

`evaluate` plays tasks by InterCode's protocol: a score after each turn, and the best one counts; an
episode ends after a number of turns, when the score is 1, or with ``skip``. `replay` plays the log
of an evaluation again.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from piase_gym.core.files import write_json
from piase_gym.core.rng import Stream, check_seed
from piase_gym.errors import (
    ActionError,
    ConfigError,
    ResetNeededError,
    UnsupportedError,
    require_count,
    require_known,
    whole_number,
)
from piase_gym.worlds.sql_query.levels.dataset import HARDNESS, Database, Dataset, Task
from piase_gym.worlds.sql_query.levels.intercode import load
from piase_gym.worlds.sql_query.rules.engine import LocalEngine
from piase_gym.worlds.sql_query.rules.judge import gold_of
from piase_gym.worlds.sql_query.rules.score import MODES, Mode, score
from piase_gym.worlds.sql_query.rules.server import ServerEngine

ACTION_EXEC: Final = "action_executed"
AGENT_OBS: Final = "agent_obs"
EVAL_OBS: Final = "eval_obs"
CORRUPT_GOLD: Final = "corrupt_gold"
REWARD: Final = "reward"
TURNS: Final = 10
"""How many turns an episode of the protocol has."""


class Records(Sequence[dict[str, Any]]):
    """The tasks as InterCode's data loader gives them: all that their file says, nulls left out."""

    def __init__(self, dataset: Dataset) -> None:
        """Write out the tasks; their files may lack hardness and tables."""
        tables = {
            name: {table.name: [column.name for column in table.columns] for table in known.schema}
            for name, known in dataset.databases.items()
        }
        self.data = [
            {
                **{key: value for key, value in record.items() if value is not None},
                "db": task.database,
                "gold": task.gold,
                "query": task.question,
                "hardness": task.hardness,
                "db_tables": record.get("db_tables") or tables.get(task.database, {}),
            }
            for task in dataset.tasks
            for record in (dataset.records.get(task.task_id, {}),)
        ]

    def get(self, index: int) -> dict[str, Any]:
        """Return one task."""
        return dict(self.data[index])

    def __getitem__(self, index: Any) -> Any:
        """Return one task, or some."""
        return self.data[index]

    def __len__(self) -> int:
        """Return how many tasks there are."""
        return len(self.data)


class SqlEnv:
    """InterCode's SQL environment: the same calls, observations, rewards and infos.

    An observation is a list of rows, ``None`` for a statement that returns none, or a text that
    begins with "Error executing query". After ``submit``, an episode goes on with the next step.

    Args:
        image_name: The name of a container, which is not used.
        data_path: The JSON of tasks, or its folder.
        dump: The dump of their databases; by default the SQLite files next to the tasks, or if
            there are none, the ``.sql``.
        preprocess: Returns the statements that are run at each reset, from the task's record.
        traj_dir: Where `submit` saves trajectories; by default it does not.
        dataset: Tasks and databases, instead of `data_path`.
        server: SQLAlchemy's URL of a server that has the databases; ``{database}`` stands for the
            name of the task's.
        mode: How rows are scored; see `rules.score`.
        seed: The seed for choosing tasks where `reset` is given none.
        verbose: Accepted as in InterCode, but nothing is printed.

    Attributes:
        query, gold, record, query_idx: Those of the task.
        observation, reward, info, trajectory: Those of the episode.
        data_loader: The tasks.
    """

    name = "ic_sql"

    def __init__(
        self,
        image_name: str = "",
        *,
        data_path: str | Path | None = None,
        dump: str | Path | None = None,
        preprocess: Callable[[dict[str, Any]], list[str]] | None = None,
        traj_dir: str | Path | None = None,
        dataset: Dataset | None = None,
        server: str | None = None,
        mode: Mode = "original",
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        """Load the tasks.

        Raises:
            ConfigError: If they cannot be read, or an argument is not allowed.
        """
        require_known("mode", mode, MODES)
        if (data_path is None) == (dataset is None):
            raise ConfigError("SqlEnv plays the tasks of a data_path, or of a dataset: give one")
        self.image_name, self.preprocess, self.mode = image_name, preprocess, mode
        self.traj_dir, self.server, self.verbose = traj_dir, server, verbose
        self.dataset = dataset or load(str(data_path), dump)
        self.data_loader = Records(self.dataset)
        self._chance, self._engine = Stream(check_seed(seed)), None
        self._task: Task | None = None
        self.trajectory: list[tuple[str, Any]] = []
        self.info: dict[str, Any] = {}
        self.observation: Any = None
        self.reward: float | None = None

    _engine: LocalEngine | ServerEngine | None

    def _opened(self, task: Task) -> LocalEngine | ServerEngine:
        """Return an engine for a task's database."""
        if self.server is not None:
            return ServerEngine(self.server.replace("{database}", task.database), task.writes)
        return LocalEngine(self._database(task), task.writes)

    def _database(self, task: Task) -> Database:
        """Return a task's database; a server may have one that the dataset lacks."""
        if self.server is None:
            return self.dataset.databases[task.database]
        return self.dataset.databases.get(task.database) or Database(task.database, b"")

    def reset(self, index: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Args:
            index: Which task; without it, one is chosen.

        Returns:
            The question (``None`` after `preprocess`, as in InterCode), and the infos.

        Raises:
            ConfigError: If there is no such task.
            UnsupportedError: If a statement of `preprocess` cannot be run.
        """
        self.close()
        count = len(self.data_loader)
        number = self._chance.integer(count) if index is None else whole_number(index)
        if number is None or not -count <= number < count:
            raise ConfigError(f"there is no task {index!r:.60}; there are {count}")
        self.query_idx = number
        self._task = self.dataset.tasks[self.query_idx]
        self.record = self.data_loader.get(self.query_idx)
        self.query, self.gold = self._task.question, self._task.gold
        self._engine = self._opened(self._task)
        self.info, self.trajectory, self.reward = {}, [], None
        self.observation = self.query
        for command in self.preprocess(self.record) if self.preprocess else ():
            self.exec_action(command)
            if not self.info[ACTION_EXEC]:
                message = f"preprocess cannot run {command!r:.100}: {self.observation}"
                self._task = None
                raise UnsupportedError(message)
        return self.observation, self.info

    def step(self, action: str) -> tuple[Any, float, bool, dict[str, Any]]:
        """Run a statement, or answer: ``submit`` scores the last result, ``skip`` gives up.

        Returns:
            Observation, reward (0 unless submitted), whether the episode is over, and infos.
        """
        if self._task is None:
            raise ResetNeededError("there is no episode; call reset()")
        if not isinstance(action, str):
            raise ActionError(f"an action is a text, not {type(action).__name__}")
        if action == "skip":
            return "skipped", 0, True, {}
        if action.startswith("submit"):
            self.trajectory.append((action, None))
            reward, info = self.get_reward()
            if self.traj_dir is not None:
                self.save_trajectory()
            info[ACTION_EXEC] = True
            return self.observation, reward, True, info
        self.exec_action(action)
        self.trajectory.append((action, self.observation))
        return self.observation, 0, False, self.info

    def exec_action(self, action: str) -> None:
        """Run a statement; its result is the observation."""
        assert self._engine is not None
        found = self._engine.execute(action)
        self.info[ACTION_EXEC] = found.reason is None
        if found.reason is not None:
            self.observation = f"Error executing query: {found.error}"
        else:
            self.observation = list(found.rows) if found.columns else None

    def get_reward(self) -> tuple[float, dict[str, Any]]:
        """Score the last result."""
        assert self._task is not None
        gold = gold_of(self._task, self._database(self._task), self.server)
        self.reward = score(self.observation, gold.rows, self.mode, self.gold)
        self.info = {
            AGENT_OBS: str(self.observation),
            EVAL_OBS: str(list(gold.rows)),
            CORRUPT_GOLD: gold.reason is not None,
            REWARD: self.reward,
        }
        return self.reward, self.info

    def save_trajectory(self) -> Path:
        """Write the episode into ``logs_ic_sql``, in `traj_dir` or here; return the JSON file."""
        now = datetime.datetime.now().strftime("%Y%m%d%H%M%S%f")
        path = Path(self.traj_dir or ".", f"logs_{self.name}", f"log_{now}.json")
        steps = [
            {"action": action, "observation": _observation_text(seen)}
            for action, seen in self.trajectory
        ]
        found = {
            "environment": self.name,
            "query_idx": self.query_idx,
            "query": self.query,
            "gold": self.gold,
            "reward": self.reward,
            "trajectory": steps,
            "info": self.info,
        }
        write_json(path, found)
        return path

    def get_available_actions(self) -> None:
        """Return nothing, as in InterCode: an action is any statement."""

    def close(self) -> None:
        """End the episode."""
        if self._engine is not None:
            self._engine.close()
        self._engine, self._task = None, None


def _observation_text(observation: Any) -> str:
    """Return an observation as trajectories have it."""
    return "".join(map(str, observation)) if isinstance(observation, list) else str(observation)


# -- the protocol -------------------------------------------------------------------------

Policy = Callable[[str, Any, float | None], str | None]
"""Returns an action from the question, the last observation and the last score; None: no action."""


class Summary(NamedTuple):
    """How well some episodes went.

    Attributes:
        episodes: How many there are.
        success: The share of those whose best score is 1.
        score: The mean of the best scores.
        turns: The mean number of turns.
        errors: The share of turns with an action that was not a runnable statement.
    """

    episodes: int
    success: float
    score: float
    turns: float
    errors: float


def evaluate(
    policy: Policy,
    env: SqlEnv,
    tasks: Iterable[int] | None = None,
    turns: int = TURNS,
    *,
    answer: Literal["best", "submitted"] = "best",
) -> dict[str, dict[str, Any]]:
    """Play tasks by InterCode's protocol.

    Args:
        policy: The policy that plays. If it has a method `reset`, that is called before each task.
        env: The tasks.
        tasks: Which of them; by default all.
        turns: How many actions a task has at most.
        answer: ``best``, or ``submitted``, as in InterCode's evaluation of ReAct: what counts is
            the result that is submitted, which ends the episode. After the last turn the last
            result is submitted, which takes no turn.

    Returns:
        One episode per task, by the task's number as a string, in the form of InterCode's logs.

    Raises:
        ConfigError: If there are no turns, or there is no such task or answer.
        ActionError: If the policy returns something else than a text or ``None``.
    """
    turns = require_count("turns must be at least 1", turns)
    require_known("answer", answer, ("best", "submitted"))
    with contextlib.closing(env):
        return {
            str(index): _played(policy, env, index, turns, answer == "submitted")
            for index in (range(len(env.data_loader)) if tasks is None else tasks)
        }


def _played(
    policy: Policy, env: SqlEnv, index: int, turns: int, submitted_counts: bool
) -> dict[str, Any]:
    """Play one task, and return the episode."""
    if hasattr(policy, "reset"):
        policy.reset()
    env.reset(index)
    history: dict[str, list[Any]] = {
        "actions": [], "observations": [], "rewards": [], "valid_action": [],
    }  # fmt: skip
    observation: Any = None
    reward: float | None = None
    over = False
    while not over:
        late = submitted_counts and len(history["actions"]) == turns
        action = "submit" if late else policy(env.query, observation, reward)
        observation, reward, valid = _turn(env, action)
        submitted = (action or "").startswith("submit")
        if submitted_counts and not submitted:
            reward = 0.0
        told = action or "", str(observation), reward, valid
        for key, value in zip(history, told, strict=True):
            history[key].append(value)
        ended = submitted if submitted_counts else len(history["actions"]) == turns
        over = ended or reward == 1 or (action or "").lower() == "skip"
    best = max(history["rewards"])
    return {
        "environment": env.name,
        "task_id": index,
        "query": env.query,
        "hardness": env.record["hardness"],
        "turn_history": history,
        "summary": {
            "max_reward": best,
            "max_reward_idx": history["rewards"].index(best),
            "turns_taken": min(len(history["rewards"]), turns),
            "turns_max": turns,
        },
    }


def _turn(env: SqlEnv, action: str | None) -> tuple[Any, float, bool]:
    """Do one turn: an action, and its score, which is 0 if there is no action."""
    if action is None:
        return "there is no action", 0.0, False
    if isinstance(action, str) and (action.startswith("submit") or action == "skip"):
        observation, valid = env.observation, True
    else:
        observation, _, _, info = env.step(action)
        valid = info[ACTION_EXEC]
    if action == "skip":
        observation = "skipped"
    return observation, env.step("submit")[1], valid


def summarise(episodes: Mapping[str, Mapping[str, Any]]) -> dict[str, Summary]:
    """Return how well episodes went: for each hardness, and for ``all``.

    Args:
        episodes: What `evaluate` returned, or what a log of InterCode has.
    """
    found = {}
    for level in (*HARDNESS, "all"):
        chosen = [e for e in episodes.values() if level in ("all", e.get("hardness"))]
        if chosen:
            best = [float(e["summary"]["max_reward"]) for e in chosen]
            valid = [bool(v) for e in chosen for v in e["turn_history"].get("valid_action", ())]
            found[level] = Summary(
                len(chosen),
                sum(value == 1 for value in best) / len(chosen),
                sum(best) / len(chosen),
                sum(_turns_taken(e) for e in chosen) / len(chosen),
                1 - sum(valid) / len(valid) if valid else 0.0,
            )
    return found


def _turns_taken(episode: Mapping[str, Any]) -> int:
    """Return the turns of an episode; logs of plans do not tell them apart."""
    return int(episode["summary"].get("turns_taken", len(episode["turn_history"]["actions"])))


def replay(log: str | Path, env: SqlEnv) -> dict[str, dict[str, Any]]:
    """Play the actions of a log of InterCode again.

    In a log of ReAct, which has ``thoughts`` for its turns, what is submitted counts.

    Args:
        log: The file, such as ``ic_sql_multiturn_gpt-4_10_turns.json`` of InterCode's results.
        env: The tasks; how they are scored is its `mode`.

    Returns:
        The episodes, in the form of the log.

    Raises:
        ConfigError: If it is no such log, or one of other tasks.
    """
    found: dict[str, dict[str, Any]] = {}
    for episode in read_log(log).values():
        index, turns = int(episode["task_id"]), episode["turn_history"]["actions"]
        if not 0 <= index < len(env.data_loader):
            raise ConfigError(f"{str(log)!r:.200} has a task {index}, which is not in the dataset")
        if env.data_loader.get(index)["query"] != episode["query"]:
            raise ConfigError(f"{str(log)!r:.200}: task {index} has another question")
        thoughts = episode["turn_history"].get("thoughts")
        react, late = thoughts is not None, isinstance(thoughts, list) and thoughts[-1:] == [_LATE]
        statements = iter([_statement(str(action), react) for action in turns])

        def again(
            _query: str, _observation: Any, _reward: float | None, left: Any = statements
        ) -> str | None:
            statement: str | None = next(left)
            return statement

        if turns:
            answer: Literal["best", "submitted"] = "submitted" if react else "best"
            most = max(1, len(turns) - late)
            found.update(evaluate(again, env, [index], most, answer=answer))
    return found


def read_log(log: str | Path) -> dict[str, Any]:
    """Return the episodes of a log of InterCode.

    Raises:
        ConfigError: If it is none.
    """
    try:
        found = json.loads(Path(log).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read {str(log)!r:.200}: {error}") from None
    if isinstance(found, dict) and isinstance(found.get("logs"), dict):
        found = found["logs"]  # logs of plans also have the arguments of the program
    if not isinstance(found, dict) or not all(map(_is_episode, found.values())):
        raise ConfigError(
            f"{str(log)!r:.200} is no log of episodes with task_id, query, turn_history.actions, "
            "summary.max_reward"
        )
    return dict(found)


def _is_episode(found: Any) -> bool:
    """Return whether a part of a log is an episode, as far as it is read."""
    try:
        int(found["task_id"]), float(found["summary"]["max_reward"])
        return isinstance(found["turn_history"]["actions"], list) and "query" in found
    except (KeyError, TypeError, ValueError):
        return False


_EXECUTE: Final = re.compile(r"execute\[(.*)\]", re.DOTALL)
_LATE: Final = "EXCEEDED MAX TURNS: submit"
"""InterCode's own words in a log of ReAct for the submission after the last turn."""


def _statement(action: str, react: bool) -> str | None:
    """Return an action as it was run: ReAct's are ``submit`` and the first in ``execute[...]``."""
    if found := _EXECUTE.search(action):
        return found[1].partition(";")[0]
    return None if react and action != "submit" else action


__all__ = [
    "ACTION_EXEC",
    "AGENT_OBS",
    "CORRUPT_GOLD",
    "EVAL_OBS",
    "REWARD",
    "Policy",
    "Records",
    "SqlEnv",
    "Summary",
    "evaluate",
    "read_log",
    "replay",
    "summarise",
]
