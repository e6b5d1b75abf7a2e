"""SqlQuery, as a World: a question, a database and an engine behind the contract."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray
from pydantic import TypeAdapter

from piase_gym.core.commands import (
    MAX_LINE,
    Command,
    InvalidAction,
    Outcome,
    read_command,
    unparsable,
)
from piase_gym.core.difficulty import DifficultyParameter
from piase_gym.core.mailbox import Message
from piase_gym.core.objects import Objects
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.script.observables import Observable
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.world import Capabilities, DecodedAction, Manual, StepResult
from piase_gym.worlds.sql_query import actions, scripting
from piase_gym.worlds.sql_query.actions import Choices, Slots
from piase_gym.worlds.sql_query.config import MAX_MESSAGE, SqlQueryConfig, SqlQueryEnvelope
from piase_gym.worlds.sql_query.curriculum import DIFFICULTY_PARAMETERS
from piase_gym.worlds.sql_query.facts import SqlQueryFacts
from piase_gym.worlds.sql_query.levels import datasets, questions
from piase_gym.worlds.sql_query.levels.dataset import Dataset, Schema
from piase_gym.worlds.sql_query.manual import manual
from piase_gym.worlds.sql_query.objects import objects
from piase_gym.worlds.sql_query.observe import pictures, text, vector
from piase_gym.worlds.sql_query.rules import step
from piase_gym.worlds.sql_query.rules.engine import Result, run, schema_asked
from piase_gym.worlds.sql_query.rules.judge import changes, gold_of, judge, run_there
from piase_gym.worlds.sql_query.rules.worker import Limits
from piase_gym.worlds.sql_query.state import Setting, SqlState, check_sizes, new_state
from piase_gym.worlds.texts.world import AgentKnowledge, KnownFacts, TextWorld


class SqlQuery(TextWorld[SqlQueryConfig, SqlQueryFacts, SqlState, Setting]):
    r"""InterCode's SQL tasks: answer a question about a database by running queries.

    ## Description

    An agent is asked a question in words, looks at the schema, runs queries, sees what they
    return, and submits the last result as its answer (Yang et al., 2023). Databases are SQLite,
    in memory: there is nothing to install or to download. Without `dataset`, databases of six
    domains and questions in four degrees of hardness are generated, each with a query that answers
    it. With `dataset`, a folder with InterCode's own files is played; see
    [InterCode's tasks](../intercode.md).

    Every episode begins with a fresh database. It can only be read, unless the task is to change
    it (`writes`). Each query runs in a separate process, under limits on time, memory, rows and
    length; a query that exceeds them, or is not allowed (ATTACH, PRAGMA, DROP, ...), ends in an
    error that says so. `random`, clocks and anything else that would differ from run to run are not
    available; the time is always 2026-01-01.

    1 to 8 agents share one question and one database. Each has its own queries and results; they
    can write to each other. The first to submit answers for all.

    `first_day_at_the_clinic` and `two_analysts` are scenarios. `ask_the_data` is a curriculum; its
    first step is the id `SqlQuery-First`, which PPO with masks learns by index, also for questions
    that it was not trained on:

    ```sh
    piase train piase/SqlQuery-First-v3 --algo maskable_ppo --steps 120000 --seed 1 \
        --set num_envs=64 --set num_steps=32 --set minibatch=512 --set epochs=4 --set entropy=0.02
    ```

    The scripted player reads the question; it knows the wording of generated questions by heart.

    ## Actions

    A line of text is an SQL statement, or ``submit``, ``skip``, ``tables``, ``describe singer``,
    ``wait``; with several agents also ``say`` and ``tell``. An index stands for one of these, or
    for a query from a template, filled with tables and columns, by their places in the schema, and
    with values that the question names; see `actions.layout`. Indices that stand for nothing in
    this schema and question are masked.

    ## Observations

    Facts: the question, the tables with columns, types, keys and references (with `discover`, only
    those that were asked for; none once the agent's part is over), how the last query begins, its
    first rows or its error, the turns left, messages. `wording="native"` shows the rows or the
    error, as InterCode's environment does, and before the first query the question. The vector is
    float32; see `observe.vector.vector_of` for its layout. With `recall="map"` earlier queries are
    shown, with what came of them.

    ## Rewards

    The score of the answer, from -1 to 1: the number of rows that it shares with the rows of the
    gold query, divided by the number in their union, times Kendall's tau of the order of the shared
    rows; see `rules.score`. By default the order counts only if the gold query has ``ORDER BY``;
    with `reward_mode="original"` it always counts, as in InterCode. In a task that writes, the
    changed rows are compared. With `answer="best"`, the best result of all turns counts, and each
    improvement is rewarded when it is made.

    ## Start and end

    `submit` ends the episode for all agents; with `answer="best"`, so does a correct result. A
    score of 1 wins. An agent that skips has lost, and the others go on. Running out of `max_steps`
    truncates the episode and loses it. The infos have the score of every query (`score`), the kind
    of error if it failed (`error`), and at an agent's end the task; the gold query is told when the
    episode ends for all.

    ## Versions

    - v0: first version.
    - v1: other texts; five rows of a result are shown, in the vector too.
    - v2: texts are shorter; long queries are shown by their beginnings, in the vector too.
    - v3: a single agent reads its name in the prompt, not in every text.
    """

    name: ClassVar[str] = "SqlQuery"
    version: ClassVar[int] = 3
    observables: ClassVar[Mapping[str, Observable]] = scripting.OBSERVABLES
    picture_reveals: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(native_text=True, messages=True)
    multiline = True
    tells_limits: ClassVar[bool] = True
    milestones: ClassVar[tuple[str, ...]] = step.MILESTONES
    perception_types: ClassVar[Mapping[str, str]] = text.PERCEPTION_TYPES
    live_fields: ClassVar[tuple[str, ...]] = tuple(
        "max_steps shared_reward rewards seconds message_delay message_loss".split()
    )
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = DIFFICULTY_PARAMETERS
    max_message: ClassVar[int] = MAX_MESSAGE
    state_key: ClassVar[str] = "query"
    state_adapter: ClassVar[TypeAdapter[Any]] = TypeAdapter(SqlState)

    envelope: SqlQueryEnvelope

    def __init__(self, config: SqlQueryConfig) -> None:
        """Fix the spaces; `reset` chooses the question."""
        super().__init__(config)
        self.text_length = text.longest_text(self.envelope)
        self._grammar = actions.verbs(self.agents)
        self._slots = Slots.of(self.envelope)
        _, self._num_actions = actions.layout(self._slots)
        self._take(self.config)
        self._nothing = np.zeros(self._num_actions, np.int8)
        self.reset(0)

    def _take(self, config: SqlQueryConfig) -> None:
        """Load the dataset of a config, if it has one."""
        self._dataset: Dataset | None = None
        if config.dataset is not None:
            self._dataset = datasets.load(config.dataset)

    # -- vocabulary -----------------------------------------------------------------------

    @property
    def noop(self) -> Command:
        """``wait``."""
        return actions.WAIT

    @property
    def vector_space(self) -> Box:
        """A float32 Box; see `observe.vector.vector_of`."""
        return vector.vector_box(self.envelope)

    @property
    def state_space(self) -> Box:
        """A float64 Box; see `state`."""
        return Box(-1.0, 2.0**31, (3 + 4 * self.envelope.agents,), np.float64)

    # -- an episode -----------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """Choose a question."""
        self.open_episode(seed)
        number = self.config.task
        if number is None and self._dataset is not None:
            tasks = datasets.chosen(self._dataset, self.config.hardness)
            number = tasks[Stream(seed, StreamId.LAYOUT).integer(len(tasks))]
        elif number is None:
            number = seed
        setting = self._setting(number)
        state = new_state(setting, len(self.agents), self.config.agents, seed, number)
        self.take_up(setting, state)

    def _setting(self, number: int) -> Setting:
        """Return the task of a number, its database, and the answer."""
        if self._dataset is not None:
            if number >= len(self._dataset.tasks):
                raise ValueError(f"there is no task {number}")
            task = self._dataset.tasks[number]
            database = self._dataset.databases[task.database]
        else:
            task, database, _ = cached_question(self.config.question_key(), number)
        return Setting(task, database, gold_of(task, database, self.config.server))

    def setting_of(self, state: SqlState) -> Setting:
        """Return the task of a state."""
        setting = self._setting(state.number)
        check_sizes(setting, state, len(self.agents))
        return setting

    def level_state(self) -> Any:
        """Also return the question and its answer: the state only has the question's number."""
        task, _, gold = self.setting
        answer = [task.question, task.gold, repr(gold.rows)]
        return {**super().level_state(), "question": answer}

    def take_up(self, setting: Setting, state: SqlState) -> None:
        """Go on from a state; results are recomputed from the queries."""
        self.setting, self.state_of = setting, state
        self.limits = Limits(seconds=self.config.seconds)
        self._results = [
            None
            if asked is None
            else Result(error=asked.error, reason=asked.reason)
            if asked.reason is not None
            else self._run(asked.sql, asked.at)
            for asked in state.asked
        ]
        self._choices: list[Choices | None] = [None] * len(self.agents)

    def _run(self, sql: str, at: int) -> Result:
        """Run a statement on the database as it was after the first `at` changes.

        Questions about the schema do not go to a server: not every server has SHOW.
        """
        task, database, _ = self.setting
        if self.config.server is not None and schema_asked(sql) is None:
            return run_there(self.config.server, task.database, sql, self.limits)
        journal = tuple(self.state_of.journal[:at])
        return run(database, journal, sql, task.writes, self.limits)

    def _judge(self, result: Result | None) -> float:
        """Return the score of a result or, in a task that writes, of the database as it is."""
        task, database, gold = self.setting
        if task.writes:
            result = changes(database, tuple(self.state_of.journal))
        return judge(result, gold, task, self.config.reward_mode)

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Let one turn pass; see `rules.step.advance`."""
        state = self.state_of
        turn = step.Turn(
            self.config,
            self.setting,
            state,
            self._results,
            lambda sql: self._run(sql, len(state.journal)),
            self._judge,
            self.speak,
        )
        sent, playing = self.mailboxes.sent_before(), self.alive
        result = step.advance(turn, plans)
        result = self.less_messages(result, sent, playing)
        self.mailboxes.deliver(self.streams[StreamId.CHANNEL])
        if self.config.discover:
            self._choices = [None] * len(self.agents)
        return result

    # -- what agents know -----------------------------------------------------------------

    def schema_of(self, agent: int) -> Schema:
        """Return the tables that an agent knows of, with the columns that it knows."""
        schema, state = self.setting.database.schema, self.state_of
        if not self.config.discover:
            return schema
        known = state.described[agent]
        return tuple(
            table if k in known else table._replace(columns=(), references=())
            for k, table in enumerate(schema)
            if k in known or state.tables[agent]
        )

    def knowledge_of(self, agent: int) -> AgentKnowledge:
        """Return what an agent knows now."""
        state, task = self.state_of, self.setting.task
        asked, result = state.asked[agent], self._results[agent]
        facts = SqlQueryFacts(
            agent=self.agents[agent],
            question=text.cut(task.question, text.QUESTION),
            database=task.database,
            writes=task.writes,
            turns=max(0, self.config.max_steps - state.t),
            tables=self.schema_of(agent) if state.status[agent] == "playing" else (),
            query=None if asked is None else text.cut(asked.sql, text.QUERY),
            answer=None if result is None else text.answer_of(result),
            messages=tuple(self.mailboxes.delivered[self.agents[agent]]),
            feedback=state.told[agent],
            hint=self.hints[agent],
        )
        return KnownFacts(facts, text.text_of, (len(self.agents) == 1,))

    def vector(self, facts: SqlQueryFacts) -> NDArray[np.float32]:
        """Return the vector of the facts."""
        return vector.vector_of(facts, self.envelope, self.agents)

    @staticmethod
    def to_text(facts: SqlQueryFacts, config: SqlQueryConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts, config.fixed_envelope().agents == 1)

    def native_text(self, agent: int) -> str:
        """Return the result as InterCode's environment does."""
        return text.native_of(self.facts(agent), self._results[agent])

    def surroundings(self, facts: SqlQueryFacts) -> Surroundings:
        """Return facts in the words of the documents."""
        return text.surroundings_of(facts)

    def perceived(self, facts: SqlQueryFacts) -> Mapping[str, Any]:
        """Return the last query with what came of it; tables need not be remembered."""
        return text.outcome_of(facts)

    def position(self, agent: int) -> None:
        """Return nothing: agents are nowhere."""
        return

    def objects(self) -> Objects:
        """Return agents, the best answer, and the tables."""
        return objects(self.setting, self.state_of, self.agents, self.config.server is None)

    def in_sight(self, agent: int, objects: Objects) -> Collection[str]:
        """Return the agent itself, the database, and the tables that it knows."""
        tables = {f"table {table.name}" for table in self.schema_of(agent)}
        return {self.agents[agent], "database", *tables} & objects.keys()

    # -- what agents can do ---------------------------------------------------------------

    def choices(self, agent: int) -> Choices:
        """Return what the indices stand for now."""
        found = self._choices[agent]
        if found is None:
            task, database, _ = self.setting
            tick = '"' if database.dialect == "sqlite" else "`"
            values = actions.literals(task.question)
            found = actions.choices(self.schema_of(agent), values, self._slots, tick)
            self._choices[agent] = found
        return found

    def decode(self, agent: int, act: Any) -> DecodedAction:
        """Decode one act; an illegal one is explained in words."""
        plan = super().decode(agent, act)
        illegal = isinstance(plan, InvalidAction) and plan.outcome is Outcome.ILLEGAL
        if not illegal or not isinstance(plan, InvalidAction) or not isinstance(act, Command):
            return plan
        if act.verb == "tell":
            return plan._replace(message="You can tell something to others who are in play alone.")
        known = ", ".join(table.name for table in self.schema_of(agent))
        text = f"you know {known}" if known else "ask for the tables first"
        return plan._replace(message=f"There is no such table that you know; {text}.")

    def line_of(self, agent: int, act: Command | int) -> str:
        """Return the text of a command; the SQL of a query is shown with its result instead."""
        found = act if isinstance(act, Command) else self.command(agent, act)
        if isinstance(found, Command) and found.verb == "query":
            return "query"
        return super().line_of(agent, act)

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether a command is legal now; any query may be run, and anything said."""
        if self.state_of.status[agent] != "playing":
            return False
        values = command.parameters
        if command.verb == "tell":
            to = self.agents.index(values["agent_id"])
            return to != agent and self.state_of.status[to] == "playing"
        if command.verb == "describe":
            name = str(values["table"]).lower()
            return any(table.name.lower() == name for table in self.schema_of(agent))
        return True

    def admissible(self, agent: int) -> list[Command]:
        """Return the commands that have an index now; any other query can be run as well."""
        if self.state_of.status[agent] != "playing":
            return []
        return list(self.choices(agent).commands.values())

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return the command that an index stands for."""
        found = self.choices(agent).commands.get(index)
        if found is None:
            text = f"the index {index} stands for no table, column or value of this question"
            return InvalidAction(Outcome.ILLEGAL, text)
        return found

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return each agent's mask: ones for the indices that stand for a command now."""
        return [
            self.choices(agent).mask.copy() if alive else self._nothing.copy()
            for agent, alive in enumerate(self.alive)
        ]

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a line: SQL, or another command."""
        if not isinstance(line, str) or len(line) > MAX_LINE:
            return read_command(line, self._grammar)
        words = actions.bare(line)
        first = words.partition(" ")[0]
        named = first.rstrip(".!").lower() in {verb.name for verb in self._grammar}
        if not named and actions.is_sql(words):
            return Command("query", {"sql": words})
        if table := actions.table_described(words):
            return Command("describe", {"table": table})
        found = read_command(words, self._grammar)
        if isinstance(found, InvalidAction):
            usages = "; ".join(verb.usage for verb in self._grammar)
            return unparsable(f"this is neither SQL nor a command ({usages})")
        return found

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        """Check a command that came as data."""
        found = super().check(agent, command)
        if isinstance(found, Command) and found.verb == "query":
            return Command("query", {"sql": found.parameters["sql"].strip()})
        return found

    def write(self, command: Command) -> str:
        """Return the line of a command: for a query its SQL, if that reads back as the same."""
        if command.verb != "query":
            return super().write(command)
        sql = str(command.parameters["sql"])
        return sql if self.read(0, sql) == command else f"query {sql}"

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return manual(self.config)

    # -- the state is a value -------------------------------------------------------------

    def state(self) -> NDArray[np.float64]:
        """Return every non-string fact of the world.

        In order: t; the best score so far (-1 if there is none); how many statements have changed
        the database; for each agent 1 if it is in play, rows and columns of its last result (-1 if
        there is none), and how many tables it has looked into.
        """
        state = self.state_of
        row = np.full(3 + 4 * self.envelope.agents, -1.0)
        row[:3] = state.t, -1.0 if state.best is None else state.best, len(state.journal)
        for k, result in enumerate(self._results):
            sizes = (-1, -1) if result is None else (len(result.rows), len(result.columns))
            playing = state.status[k] == "playing"
            row[3 + 4 * k : 7 + 4 * k] = playing, *sizes, len(state.described[k])
        return row

    def twin(self, agent: int) -> Self | None:
        """Return a copy in which the others know and are told other things."""
        found = super().twin(agent)
        if found is None:
            return None
        for other, name in enumerate(found.agents):
            if other != agent and found.alive[other]:
                found.state_of.told[other] = "Only you are told this."
                letter = Message(found.agents[agent], name, "You alone hear this.")
                found.mailboxes.delivered[name].append(letter)
        return found

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Write question, tables, queries and results."""
        return pictures.ansi(self.setting, self.state_of, self._results, self.agents)

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the tables as boxes, with the last query and its result below."""
        return pictures.rgb(self.setting, self.state_of, self._results, self.agents)


@functools.lru_cache(maxsize=4096)
def cached_question(key: Any, number: int) -> questions.Question:
    """Return the question of a number; `key` is that of `SqlQueryConfig.question_key`."""
    return questions.make(dict(key), number)
