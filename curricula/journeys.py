"""Journeys: the ways that agents took through curricula, read back and put into words.

A journey comes from the folder of `piase curriculum run`, from a log, or from a file of progress.
The folder and the log know at which step of the whole training a decision fell; progress counts
only the steps of the attempts that were decided on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from piase_gym.curricula.conditions import ATTEMPTS
from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.progress import AgentProgress
from piase_gym.curricula.store import ProgressStore
from piase_gym.errors import ProgressError, RunError
from piase_gym.runs.reader import Run, read

PATH = "path.jsonl"
PROGRESS = "progress.json"
"""What the folder of a run has: a row for each update, and the progress of its agents."""
ATTEMPT, EVAL = "DSE_STEP_ATTEMPT_START", "DSE_ADAPTATION_EVAL"
BEGIN = "DSE_AGENT_CURRICULUM_START"
SUCCESS = "success_rate"


@dataclass(frozen=True)
class Move:
    """A decision, and when it fell.

    Attributes:
        at: Environment steps until then.
        decision: The decision.
    """

    at: int
    decision: Decision


@dataclass(frozen=True)
class Stretch:
    """What was played between two looks at the training.

    Attributes:
        at: Environment steps until the second look.
        played: Order of a step -> episodes of it that ended.
        won: Order of a step -> how many of those were won; empty if nobody wrote it down.
    """

    at: int
    played: Mapping[int, int]
    won: Mapping[int, int] = field(default_factory=dict)


@dataclass
class Journey:
    """The way of one agent.

    Attributes:
        agent: The agent.
        curriculum: Name of the curriculum.
        counted: What `at` counts, in words.
        names: Order -> name of the steps that are known.
        moves: The decisions, in order.
        stretches: What was played, if that is known; all that there is where steps are drawn.
        outcome: ``running``, ``finished`` or ``failed``.
        drawn: Order -> episodes, where steps were drawn episode by episode.
        director: What said which step comes next, if that is known.
    """

    agent: str
    curriculum: str
    counted: str
    names: dict[int, str] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    outcome: str = "running"
    drawn: dict[int, int] = field(default_factory=dict)
    director: str | None = None

    @property
    def end(self) -> int:
        """Environment steps until the last thing that is known."""
        return max([*(m.at for m in self.moves), *(s.at for s in self.stretches)], default=0)

    @property
    def judged_by(self) -> str:
        """What attempts are judged by: success, or a share that every decision has read."""
        read = [set(move.decision.values) - {ATTEMPTS} for move in self.moves]
        shares = [
            name
            for name in sorted(set.intersection(*read) if read else ())
            if all(_is_share(move.decision.values[name]) for move in self.moves)
        ]
        return SUCCESS if not shares or any(SUCCESS in names for names in read) else shares[0]

    def add(self, at: int, decision: Decision) -> None:
        """Take in the next decision."""
        self.moves.append(Move(at, decision))
        self.names[decision.step] = decision.name
        self.outcome = decision.outcome


def read_journeys(path: str | Path) -> list[Journey]:
    """Return the journeys in a run's folder, a log, or a file of progress.

    Raises:
        ProgressError: If there is nothing of the kind, or it is damaged.
        RunError: If it is a log that cannot be read, or one without curricula.
    """
    place = Path(path)
    if place.is_dir():
        return _of_folder(place)
    if not place.exists():
        raise ProgressError(
            f"there is no {place}; give the folder of 'piase curriculum run', a log (.jsonl, "
            ".jsonl.zst) or a file of progress (.json)"
        )
    if place.name == PATH and (place.parent / PROGRESS).exists():
        return _of_folder(place.parent)
    if place.suffix == ".json":
        return [_of_progress(entry) for entry in ProgressStore(place).read().values()]
    return _of_log(read(place))


def _of_progress(progress: AgentProgress) -> Journey:
    """Return the journey that progress tells of."""
    journey = Journey(progress.agent_id, progress.curriculum, "steps of counted attempts")
    at = 0
    for decision in progress.decisions:
        at += decision.env_steps
        journey.add(at, decision)
    if not progress.decisions and "draws" in progress.memory:
        journey.drawn = dict(progress.step_attempts)
    journey.outcome = progress.outcome
    return journey


def _of_folder(folder: Path) -> list[Journey]:
    """Return the journeys of a run of `piase curriculum run`."""
    place = folder / PROGRESS
    if not place.exists():
        raise ProgressError(f"{folder} has no {PROGRESS}; give the folder of a curriculum's run")
    journeys = {agent: _of_progress(p) for agent, p in ProgressStore(place).read().items()}
    rows = list(read_rows(folder / PATH))
    for agent, journey in journeys.items():
        mine = [(row["steps"], row["agents"][agent]) for row in rows if agent in row["agents"]]
        journey.counted = "environment steps"
        # Progress may be ahead of the rows by what was decided since the last of them.
        ends = [at for _, entry in mine for at in entry["decided_at"]]
        last = rows[-1]["steps"] if rows else 0
        journey.moves = [
            Move(ends[n] if n < len(ends) else max(last, 0), move.decision)
            for n, move in enumerate(journey.moves)
        ]
        for at, entry in mine:
            played = {int(order): n for order, (n, _) in entry["episodes"].items()}
            won = {int(order): n for order, (_, n) in entry["episodes"].items()}
            journey.stretches.append(Stretch(at, played, won))
            journey.names |= {int(order): name for order, name in entry.get("names", {}).items()}
            journey.director = entry.get("director", journey.director)
    return list(journeys.values())


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a run; a last line that was cut off is left out."""
    if not path.exists():
        return
    lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError:
            if number < len(lines):
                raise ProgressError(f"{path}: line {number} is damaged") from None


def _of_log(run: Run) -> list[Journey]:
    """Return the journeys that a log tells of."""
    slots = int(run.manifest.get("num_envs") or 1)
    journeys: dict[str, Journey] = {}
    counts: dict[str, dict[int, int]] = {}
    for event in run.events([BEGIN, ATTEMPT, EVAL]):
        agent, data, at = event["agent_id"], event["event_data"], event["step"] * slots
        if event["event_type"] == BEGIN:
            journeys.setdefault(agent, Journey(agent, data["name"], "environment steps"))
            journeys[agent].director = data.get("director")
            continue
        name = str(data.get("curriculum", ""))
        journey = journeys.setdefault(agent, Journey(agent, name, "environment steps"))
        if event["event_type"] == ATTEMPT:
            journey.names[data["order"]] = data["name"]
            if "drawn_by" in data:
                counted = counts.setdefault(agent, {})
                counted[data["order"]] = counted.get(data["order"], 0) + 1
                journey.stretches.append(Stretch(at, {data["order"]: 1}))
        else:
            known = Decision.__dataclass_fields__
            journey.add(at, Decision(**{k: v for k, v in data.items() if k in known}))
    if not journeys:
        raise RunError(f"{run.path}: nobody follows a curriculum in this run")
    for agent, counted in counts.items():
        journeys[agent].drawn = counted
    return list(journeys.values())


# -- in words ----------------------------------------------------------------------------------


def explain(journey: Journey) -> Iterator[str]:
    """Yield lines that say what was decided after each attempt, and why.

    Attempts in a row with one decision and one reason but for its numbers are not drawn together:
    every decision has its line.
    """
    head = f"{journey.agent} in '{journey.curriculum}'"
    if journey.drawn:
        yield f"{head}: each episode's step was drawn; nothing was decided between attempts."
        total = sum(journey.drawn.values())
        for order, count in sorted(journey.drawn.items()):
            yield f"  {_label(journey, order)}: {count} episodes, {count / total:.0%}"
        return
    if not journey.moves:
        yield f"{head}: nothing was decided yet."
        return
    last = journey.moves[-1]
    yield f"{head}: {_count(len(journey.moves), 'decision')}; the curriculum {_end(journey)}."
    for move in journey.moves:
        yield from _told(journey, move)
    if journey.outcome == "running" and last.decision.next_step is not None:
        yield f"Now in {_label(journey, last.decision.next_step)}."


def _told(journey: Journey, move: Move) -> Iterator[str]:
    """Yield the lines of one decision."""
    decision = move.decision
    after = f"after {_count(decision.episodes, 'episode')}"
    yield f"{_label(journey, decision.step)}, attempt {decision.attempt}, {after}:"
    yield f"  {decision.decision}: {_meaning(journey, decision)}"
    yield f"  why: {decision.reason}"
    values = ", ".join(f"{name} = {_shown(value)}" for name, value in decision.values.items())
    yield f"  read: {values or 'nothing'}"


def _meaning(journey: Journey, decision: Decision) -> str:
    """Return what a decision does, in words."""
    if decision.outcome == "failed":
        return "the curriculum is failed"
    if decision.outcome == "finished":
        return "that was the last step; the curriculum is finished"
    if decision.hint is not None:
        return f"the step is tried again, with the hint {decision.hint}"
    if decision.next_step == decision.step:
        return "the step is tried again"
    way = "on" if decision.next_step is not None and decision.next_step > decision.step else "back"
    done = "complete; " if decision.completed else "not complete, but "
    return f"{done}{way} to {_label(journey, decision.next_step or 0)}"


def _label(journey: Journey, order: int) -> str:
    name = journey.names.get(order)
    return f"step {order}" if name is None else f"step {order} '{name}'"


def _end(journey: Journey) -> str:
    words = {"running": "goes on", "finished": "is finished", "failed": "is failed"}
    return words[journey.outcome]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _shown(value: object) -> str:
    """Return a value as conditions write it."""
    if value is None:
        return "no value yet"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def table_rows(journey: Journey, orders: Iterable[int] = ()) -> list[tuple[str, ...]]:
    """Return for each step: order, name, attempts, hints, branches away, episodes, last success.

    Args:
        journey: The journey.
        orders: Steps to list even if they were never reached.
    """
    seen = {move.decision.step for move in journey.moves} | set(journey.drawn)
    seen |= {order for stretch in journey.stretches for order in stretch.played}
    rows: list[tuple[str, ...]] = []
    for order in sorted(seen | set(orders)):
        mine = [move.decision for move in journey.moves if move.decision.step == order]
        played = sum(stretch.played.get(order, 0) for stretch in journey.stretches)
        episodes = played or sum(d.episodes for d in mine) or journey.drawn.get(order, 0)
        rows.append(
            (
                str(order),
                journey.names.get(order, ""),
                str(len(mine)),
                str(sum(d.hint is not None for d in mine)),
                str(sum(d.decision.startswith("BRANCH_TO_") for d in mine)),
                f"{episodes:,}",
                _last_success(journey, order, mine),
                "yes" if any(d.completed for d in mine) else "no",
            )
        )
    return rows


def _is_share(value: object) -> bool:
    """Tell whether a value is a number from 0 to 1."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def short_name(metric: str) -> str:
    """Return what a metric is called in tables and plots."""
    return "won" if metric == SUCCESS else metric.rpartition(".")[2]


def headings(journey: Journey) -> tuple[str, ...]:
    """Return what the columns of `table_rows` are."""
    return (*HEADINGS[:-2], short_name(journey.judged_by), HEADINGS[-1])


def _last_success(journey: Journey, order: int, mine: list[Decision]) -> str:
    """Return the share that was won at the end, of the last attempt or the last episodes.

    Where attempts are judged by another share, return that.
    """
    metric = journey.judged_by
    rates = [d.values[metric] for d in mine if metric in d.values]
    if rates and isinstance(rates[-1], int | float):
        return f"{rates[-1]:.0%}"
    if metric != SUCCESS:
        return ""
    played = won = 0
    for stretch in reversed(journey.stretches):
        if played < 100 and stretch.won:
            played += stretch.played.get(order, 0)
            won += stretch.won.get(order, 0)
    return f"{won / played:.0%}" if played else ""


HEADINGS = ("step", "name", "attempts", "hints", "branches", "episodes", "won", "done")
"""What the columns of `table_rows` are, where attempts are judged by success."""

__all__ = [
    "HEADINGS",
    "Journey",
    "Move",
    "Stretch",
    "explain",
    "headings",
    "read_journeys",
    "short_name",
    "table_rows",
]
