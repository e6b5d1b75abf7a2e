"""How fast SqlQuery's gold queries are played and scored, and what InterCode's logs come to here.

Run it with ``python -m piase_gym.benchmarks.sql_query [--files FOLDER] [--logs FOLDER] [--server
URL]``; what is found is stored in ``benchmarks/measured/sql_query.json``, from which
``docs/make_pages.py`` writes a part of docs/intercode.md. FILES are InterCode's tasks and dump;
without them questions of our own are played. LOGS are logs of its evaluations, such as its
``data/results/sql``: their actions are run again. SERVER has the databases of the dump: what gold
queries return there is compared. Times are CPU-seconds of the caller and of the process that runs
the queries, together.
"""

from __future__ import annotations

import dataclasses
import re
import resource
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from piase_gym.adapters.intercode import SqlEnv, read_log, replay, summarise
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.errors import ConfigError
from piase_gym.worlds.sql_query.config import SqlQueryConfig
from piase_gym.worlds.sql_query.levels.dataset import HARDNESS, Dataset
from piase_gym.worlds.sql_query.levels.intercode import load
from piase_gym.worlds.sql_query.rules import engine
from piase_gym.worlds.sql_query.rules.engine import Result
from piase_gym.worlds.sql_query.rules.judge import gold_of
from piase_gym.worlds.sql_query.rules.score import MODES
from piase_gym.worlds.sql_query.rules.server import ServerEngine
from piase_gym.worlds.sql_query.world import cached_question

FILE = OUT = Path(__file__).parents[1] / "measured" / "sql_query.json"
QUESTIONS = 300
PASSES = {
    "nothing known": "nothing is known",
    "gold known": "gold results are known, queries are run",
    "all known": "the queries have been run before",
}
"""What is known when gold queries are played, and its name."""
OPTIONS = {
    "files": "a folder with InterCode's tasks and dump",
    "logs": "a folder with logs of InterCode's evaluations",
    "server": "the URL of a MySQL or MariaDB that has read the dump, with {database} in it",
}
KINDS = {
    "equal": "the same rows in the same order",
    "digits": "the same but for digits: MySQL's means of integers have four",
    "order": "the same rows in another order, which the query leaves open (MariaDB orders groups)",
    "other": "other rows: ties at a `LIMIT`, columns that are not grouped, the mean of a date",
    "refused": "refused by the server: `SHOW` as a name, `COUNT (*)`, a subquery without a name",
}
"""How a gold query can do on a server, and how that came about where it was looked into."""


def own_questions(count: int = QUESTIONS) -> Dataset:
    """Return generated questions, each with its database, as a dataset."""
    key = SqlQueryConfig().question_key()
    found = [cached_question(key, number) for number in range(count)]
    tasks = (
        dataclasses.replace(question.task, database=str(number))
        for number, question in enumerate(found)
    )
    databases = {str(number): question.database for number, question in enumerate(found)}
    return Dataset("own", tuple(tasks), databases)


def gold_rates(dataset: Dataset) -> dict[str, float]:
    """Return gold episodes per CPU-second: a reset, the query, its score.

    Raises:
        RuntimeError: If a gold query is not worth 1.
    """
    env, rates = SqlEnv(dataset=dataset), {}
    gold_of.cache_clear()
    for known in PASSES:
        if known != "all known":
            engine.forget()
        engine.stop()
        start = _spent()
        for index, task in enumerate(dataset.tasks):
            env.reset(index)
            env.step(task.gold)
            if env.step("submit")[1] != 1.0:
                raise RuntimeError(f"the gold query of task {index} is not worth 1")
        engine.stop()  # only then is known what the process has spent
        rates[known] = len(dataset.tasks) / (_spent() - start)
    env.close()
    return rates


def _spent() -> float:
    """Return the CPU-seconds of this process and of those that it started and that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def again(log: Path, dataset: Dataset) -> dict[str, Any]:
    """Return what a log says of its episodes, and what their actions come to here."""
    episodes = read_log(log)
    modes: dict[str, Any] = {}
    told: list[bool] = []
    for mode in MODES:
        found = replay(log, SqlEnv(dataset=dataset, mode=mode))
        same = sum(_won(found[key]) == _won(episodes[key]) for key in found)
        told = [equal for key in found for equal in _same_replies(episodes[key], found[key])]
        modes[mode] = {
            "agreement": same / len(found),
            "levels": {key: row._asdict() for key, row in summarise(found).items()},
        }
    levels = {key: row._asdict() for key, row in summarise(episodes).items()}
    replies = sum(told) / max(1, len(told))
    return {"published": levels, "here": modes, "episodes": len(episodes), "replies": replies}


def _same_replies(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[bool]:
    """Yield whether the replies to SQL are the same in two records of an episode."""
    shown = (episode["turn_history"]["observations"] for episode in (there, here))
    for one, other in zip(*shown, strict=False):
        if not str(one).startswith("No SQL code"):  # which InterCode's program says of some replies
            yield _plain(str(one)) == _plain(str(other))


def _plain(reply: str) -> str:
    """Return a reply without the types and the last digits of numbers."""
    reply = re.sub(r"Decimal\('([^']*)'\)", r"\1", reply)
    reply = re.sub(r"\bb('[^']*')", r"\1", reply)
    return re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.4g}", reply)


def compared(dataset: Dataset, server: str) -> dict[str, list[str]]:
    """Return which gold queries return on a server what they return here, by `KINDS`."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for task in dataset.tasks:
        there = ServerEngine(server.replace("{database}", task.database)).execute(task.gold)
        here = gold_of(task, dataset.databases[task.database], None)
        rounded, own = _rounded(there), _rounded(here)
        kind = "other"
        if there.reason is not None:
            kind = "refused"
        elif there.rows == here.rows:
            kind = "equal"
        elif rounded == own:
            kind = "digits"
        elif sorted(rounded) == sorted(own):
            kind = "order"
        found[kind].append(task.task_id)
    return found


def _rounded(result: Result) -> list[str]:
    """Return the rows as texts, with three digits of each number."""
    return [
        str([round(value, 3) if isinstance(value, float) else value for value in row])
        for row in result.rows
    ]


def _won(episode: Mapping[str, Any]) -> bool:
    """Tell whether an episode's best score is 1."""
    return bool(episode["summary"]["max_reward"] == 1)


@described
def measure_all(
    files: str | None = None, logs: str | None = None, server: str | None = None
) -> dict[str, Any]:
    """Measure speed, play logs again, compare with a server.

    Args:
        files: A folder with InterCode's tasks and dump.
        logs: A folder with logs of InterCode's evaluations.
        server: The URL of a server that has the databases, with ``{database}`` in it.

    Returns:
        JSON-able: ``rates``, ``logs`` (as published, and here), ``server`` (tasks by `KINDS`) and
        what was measured on.
    """
    if files is None and (logs or server):
        raise ConfigError("logs and servers are of InterCode's tasks: give files as well")
    sets = {"own questions": own_questions()}
    played = {}
    if files is not None:
        sets["InterCode's tasks"] = load(files)
        for log in sorted(Path(logs).rglob("ic_sql_multiturn_*_turns*.json")) if logs else ():
            if "human" not in log.name:
                name = log.stem.removeprefix("ic_sql_multiturn_").replace("_", " ")
                played[name] = again(log, sets["InterCode's tasks"])
    kinds = compared(sets["InterCode's tasks"], server) if server else {}
    rates = {name: gold_rates(dataset) for name, dataset in sets.items()}
    sizes = {name: len(dataset.tasks) for name, dataset in sets.items()}
    return {"rates": rates, "sizes": sizes, "logs": played, "server": kinds}


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as tables."""
    speeds = [("gold episodes per CPU-second", *PASSES.values())]
    for name, rates in found["rates"].items():
        shown = (f"{rates[known]:,.0f}" for known in PASSES)
        speeds.append((f"{found['sizes'][name]:,} {name}", *shown))
    levels = (*HARDNESS, "all")
    published = [("log", *levels, "turns", "errors")]
    modes = (f"here, `{mode}`" for mode in MODES)
    here = [("log", "published", *modes, "agree", "same replies")]
    for name, row in found["logs"].items():
        theirs = row["published"]
        rest = f"{theirs['all']['turns']:.1f}", _percent(theirs["all"]["errors"])
        published.append((name, *(_percent(theirs[level]["success"]) for level in levels), *rest))
        wins = (_percent(row["here"][mode]["levels"]["all"]["success"]) for mode in MODES)
        agree = _percent(row["here"]["order_aware"]["agreement"])
        same_replies = _percent(row["replies"])
        here.append((name, _percent(theirs["all"]["success"]), *wins, agree, same_replies))
    same = [("gold queries", "")]
    same += [(words, f"{len(found['server'].get(kind, ()))}") for kind, words in KINDS.items()]
    return {
        "server": Section([Table(same)]),
        "speed": Section([Table(speeds)], [about(found)]),
        "published": Section([Table(published)]),
        "here": Section([Table(here)]),
    }


def _percent(share: float) -> str:
    """Write a share."""
    return f"{100 * share:.1f}"
