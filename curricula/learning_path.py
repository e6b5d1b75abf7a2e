"""Learning paths: how agents went through curricula, read back and described.

A path is read from the folder of `piase curriculum run`, from a log, or from a file of progress.
The folder and the log record at which step of the whole training a decision was made; progress
counts only the steps of the attempts that were decided on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from piase_gym.core.arithmetic import is_number
from piase_gym.curricula.conditions import ATTEMPTS
from piase_gym.curricula.decisions import Decision, format_value
from piase_gym.curricula.progress import AgentProgress, typed
from piase_gym.curricula.recheck import BEGIN, EVAL
from piase_gym.curricula.store import ProgressStore
from piase_gym.errors import PiaseError, ProgressError, RunError
from piase_gym.runs.history import AgentHistory, History
from piase_gym.runs.reader import Run, damaged, read
from piase_gym.runs.schema import ATTEMPT, LINE_DAMAGE

PATH = "path.jsonl"
PROGRESS = "progress.json"
"""Files in the folder of a run: a row for each update, and the progress of its agents."""
SUCCESS = "success_rate"


@dataclass(frozen=True)
class DecisionAt:
    """A decision, and when it was made.

    Attributes:
        at: Environment steps until then.
        decision: The decision.
        won: The share of its attempt's episodes that were won; of a run's folder, of those of the
            update in which it was made. ``None`` if not recorded.
    """

    at: int
    decision: Decision
    won: float | None = None


@dataclass(frozen=True)
class EpisodeCountsAt:
    """What was played between two records of the training.

    Attributes:
        at: Environment steps until the second record.
        played: Order of a step -> episodes of it that ended.
        won: Order of a step -> how many of those were won; empty if not recorded.
    """

    at: int
    played: Mapping[int, int]
    won: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class OpenAttempt:
    """An attempt without a decision yet.

    Attributes:
        step: Order of the step.
        attempt: Number of the attempt at it.
        ended: Episodes of it that have ended; ``None`` if not recorded.
        wanted: Episodes that it needs.
        begun: Episodes of it that have begun.
    """

    step: int
    attempt: int
    ended: int | None = None
    wanted: int | None = None
    begun: int | None = None


@dataclass
class LearningPath:
    """The path of one agent through a curriculum.

    Attributes:
        agent: The agent.
        curriculum: Name of the curriculum.
        counted: What `at` counts, in words.
        names: Order -> name of the steps that are known.
        moves: The decisions, in order.
        episode_counts: What was played, if that is known; all that there is where steps are drawn.
        outcome: ``running``, ``finished`` or ``failed``.
        drawn: Order -> episodes, where steps were drawn episode by episode.
        under_way: The attempt that is under way, if there is one.
        uncounted: Episodes that have ended and counted for no attempt.
        director: What chose which step comes next, if that is known.
    """

    agent: str
    curriculum: str
    counted: str
    names: dict[int, str] = field(default_factory=dict)
    moves: list[DecisionAt] = field(default_factory=list, repr=False)
    episode_counts: list[EpisodeCountsAt] = field(default_factory=list, repr=False)
    outcome: str = "running"
    drawn: dict[int, int] = field(default_factory=dict)
    director: str | None = None
    under_way: OpenAttempt | None = None
    uncounted: int = 0

    @property
    def end(self) -> int:
        """Environment steps until the last record."""
        return max([*(m.at for m in self.moves), *(s.at for s in self.episode_counts)], default=0)

    @property
    def judged_by(self) -> str:
        """What attempts are judged by: success, or a share that every decision has read."""
        return judged_by([move.decision for move in self.moves])

    @property
    def rates(self) -> list[float | None]:
        """What every attempt was judged by, where that is known, though it need not be read."""
        metric = self.judged_by
        read = [move.decision.values.get(metric) for move in self.moves]
        return [
            value if isinstance(value, int | float) else move.won if metric == SUCCESS else None
            for move, value in zip(self.moves, read, strict=True)
        ]

    def add(self, at: int, decision: Decision) -> None:
        """Add the next decision."""
        self.moves.append(DecisionAt(at, decision))
        self.names[decision.step] = decision.name
        self.outcome = decision.outcome


def judged_by(decisions: Sequence[Decision]) -> str:
    """Return what attempts are judged by: success, or a share that every decision has read."""
    read = [set(decision.values) - {ATTEMPTS} for decision in decisions]
    shares = [
        name
        for name in sorted(set.intersection(*read) if read else ())
        if all(_is_share(decision.values[name]) for decision in decisions)
    ]
    return SUCCESS if not shares or any(SUCCESS in names for names in read) else shares[0]


@dataclass(frozen=True)
class _Entry:
    """What a row of a run says about an agent."""

    order: int
    attempt: int
    outcome: str
    decided_at: list[int]
    episodes: dict[int, tuple[int, int]]
    uncounted: int = 0
    under_way: OpenAttempt | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    director: str | None = None


@dataclass(frozen=True)
class _Row:
    """A row of a run."""

    steps: int
    won: float
    agents: dict[str, _Entry]


def read_paths(path: str | Path) -> list[LearningPath]:
    """Return the paths in a run's folder, a log, or a file of progress.

    Raises:
        ProgressError: If there is nothing of the kind, or it is damaged.
        RunError: If it is a log that cannot be read, or one without curricula.
    """
    place = Path(path)
    if place.is_dir():
        return _of_folder(place)
    if not place.exists():
        raise ProgressError(
            f"there is no file {str(place)!r}; give the folder of 'piase curriculum run', a log "
            "(.jsonl, .jsonl.zst) or a file of progress (.json)"
        )
    if place.name == PATH and (place.parent / PROGRESS).exists():
        return _of_folder(place.parent)
    if place.suffix == ".json":
        return [_of_progress(entry) for entry in ProgressStore(place).read().values()]
    return _of_log(read(place))


def _of_progress(progress: AgentProgress) -> LearningPath:
    """Return the path that is recorded in progress."""
    path = LearningPath(progress.agent_id, progress.curriculum, "steps of counted attempts")
    at = 0
    for decision in progress.decisions:
        at += decision.env_steps
        path.add(at, decision)
    if not progress.decisions and "draws" in progress.memory:
        path.drawn = dict(progress.step_episodes)
    elif progress.active and progress.attempt:
        path.under_way = OpenAttempt(progress.current_step_order, progress.attempt)
    path.outcome = progress.outcome
    return path


def _of_folder(folder: Path) -> list[LearningPath]:
    """Return the paths of a run of `piase curriculum run`."""
    place = folder / PROGRESS
    if not place.exists():
        raise ProgressError(f"{folder} has no {PROGRESS}; give the folder of a curriculum's run")
    paths = {agent: _of_progress(p) for agent, p in ProgressStore(place).read().items()}
    rows = list(read_rows(folder / PATH))
    for agent, path in paths.items():
        mine = [(row["steps"], row["agents"][agent]) for row in rows if agent in row["agents"]]
        path.counted = "environment steps"
        # Progress may be ahead of the rows by what was decided since the last of them.
        ends = [(at, entry["episodes"]) for _, entry in mine for at in entry["decided_at"]]
        last = rows[-1]["steps"] if rows else 0
        for n, move in enumerate(path.moves):
            at, counts = ends[n] if n < len(ends) else (last, {})
            played, won = counts.get(str(move.decision.step), (0, 0))
            path.moves[n] = DecisionAt(at, move.decision, won / played if played else None)
        for at, entry in mine:
            played = {int(order): n for order, (n, _) in entry["episodes"].items()}
            won = {int(order): n for order, (_, n) in entry["episodes"].items()}
            path.episode_counts.append(EpisodeCountsAt(at, played, won))
            path.names |= {int(order): name for order, name in entry.get("names", {}).items()}
            path.director = entry.get("director", path.director)
            path.uncounted += entry.get("uncounted", 0)
            if path.under_way is not None and entry.get("under_way") is not None:
                path.under_way = OpenAttempt(**entry["under_way"])
    return list(paths.values())


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a run; a last line that was cut off is left out."""
    if not path.exists():
        return
    lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            row = orjson.loads(line)
            typed(_Row, row)
        except ValueError as error:
            cut_off = isinstance(error, orjson.JSONDecodeError)
            if number < len(lines) or not cut_off:
                message = "" if cut_off else f": {error}"
                raise ProgressError(f"{path}: line {number} is damaged{message}") from None
        else:
            yield row


def _of_log(run: Run) -> list[LearningPath]:
    """Return the paths that are recorded in a log."""
    slots = int(run.manifest.get("num_envs") or 1)
    paths: dict[str, LearningPath] = {}
    history, drawn, number = History(1), set[str](), 0
    decided: dict[str, list[int]] = {}
    try:
        for number, event in run.numbered():  # noqa: B007
            history.feed(event)
            agent, data, kind = event["agent_id"], event["event_data"], event["event_type"]
            if kind not in (BEGIN, ATTEMPT, EVAL):
                continue
            name = str(data.get("name" if kind == BEGIN else "curriculum", ""))
            path = paths.setdefault(agent, LearningPath(agent, name, "environment steps"))
            if kind == BEGIN:
                path.director = data.get("director")
            elif kind == ATTEMPT:
                path.names[data["order"]] = data["name"]
                path.under_way = OpenAttempt(data["order"], data["attempt"])
                if "drawn_by" in data:
                    drawn.add(agent)
            else:
                known = Decision.__dataclass_fields__
                fields = {name: value for name, value in data.items() if name in known}
                path.add(event["step"] * slots, typed(Decision, fields))
                path.under_way = None
                decided.setdefault(agent, []).append(len(history.of(agent).attempts))
    except LINE_DAMAGE as error:
        if isinstance(error, PiaseError):
            raise
        raise damaged(run.path, number, error) from error
    if not paths:
        raise RunError(f"{run.path}: nobody follows a curriculum in this run")
    for agent, path in paths.items():
        _count_episodes(path, history.of(agent), slots, agent in drawn)
        _count_won(path, history.of(agent), decided.get(agent, []))
    return list(paths.values())


def _count_episodes(path: LearningPath, known: AgentHistory, slots: int, drawn: bool) -> None:
    """Count what was played, from the history of an agent in a log."""
    finished = sorted((row for row in known.episodes if row.finished), key=lambda row: row.end)
    for row in finished:
        if row.attempt < 1:
            path.uncounted += 1
            continue
        order = known.attempts[row.attempt - 1].order or 0
        won = {order: int(row.result == "won")}
        path.episode_counts.append(EpisodeCountsAt(row.end * slots, {order: 1}, won))
        if drawn:
            path.drawn[order] = path.drawn.get(order, 0) + 1
    if drawn:
        path.under_way = None
    elif path.under_way is not None:
        last = known.attempts[-1]
        mine = [row for row in known.episodes if row.attempt == last.number]
        ended = sum(row.finished for row in mine)
        path.under_way = replace(path.under_way, ended=ended, wanted=last.episodes)


def _count_won(path: LearningPath, known: AgentHistory, attempts: Sequence[int]) -> None:
    """Note which share of the episodes of each attempt was won; `attempts` are their numbers."""
    results: dict[int, list[bool]] = {}
    for row in known.episodes:
        if row.finished:
            results.setdefault(row.attempt, []).append(row.result == "won")
    for n, number in enumerate(attempts):
        if number in results:
            share = sum(results[number]) / len(results[number])
            path.moves[n] = replace(path.moves[n], won=share)


# -- in words ----------------------------------------------------------------------------------


def explain(path: LearningPath) -> Iterator[str]:
    """Yield lines that say what was decided after each attempt, and why.

    Consecutive attempts whose decisions and reasons differ only in numbers are not merged: every
    decision has its own lines.
    """
    head = f"{path.agent} in '{path.curriculum}'"
    if path.drawn:
        yield f"{head}: each episode's step was drawn; nothing was decided between attempts."
        total = max(1, sum(path.drawn.values()))
        for order, count in sorted(path.drawn.items()):
            yield f"  {_label(path, order)}: {_count(count, 'episode')}, {count / total:.0%}"
        return
    if not path.moves:
        yield f"{head}: nothing was decided yet."
        yield from describe_open(path)
        return
    last = path.moves[-1]
    text = f"{_count(len(path.moves), 'decision')}; the curriculum {describe_outcome(path.outcome)}"
    yield f"{head}: {text}."
    for move in path.moves:
        yield from _decision_lines(path, move)
    if path.under_way is None and path.outcome == "running":
        yield f"Now in {_label(path, last.decision.next_step or 0)}."
    yield from describe_open(path)


def describe_open(path: LearningPath) -> Iterator[str]:
    """Yield lines about what no decision is based on: the attempt under way, uncounted episodes."""
    now = path.under_way
    if now is not None:
        text = f"Now in {_label(path, now.step)}, attempt {now.attempt}"
        if now.ended is not None and now.wanted is not None:
            text += f": {now.ended} of {_count(now.wanted, 'episode')} ended"
            if now.begun is not None and now.begun > now.ended:
                text += f", {now.begun - now.ended} in play"
        yield f"{text}."
    if path.uncounted:
        which = "counted for no attempt: others had begun before and filled it"
        yield f"{_count(path.uncounted, 'more episode')} {which}."


def _decision_lines(path: LearningPath, move: DecisionAt) -> Iterator[str]:
    """Yield the lines of one decision."""
    decision = move.decision
    after = f"after {_count(decision.episodes, 'episode')}"
    yield f"{_label(path, decision.step)}, attempt {decision.attempt}, {after}:"
    yield f"  {decision.decision}: {_meaning(path, decision)}"
    yield f"  why: {decision.reason}"
    values = [f"{name} = {format_value(value)}" for name, value in decision.values.items()]
    yield f"  read: {', '.join(values) or 'nothing'}"


def _meaning(path: LearningPath, decision: Decision) -> str:
    """Return what a decision does, in words."""
    if decision.outcome == "failed":
        return "the curriculum is failed"
    if decision.outcome == "finished":
        done = "complete, and" if decision.completed else "not complete, but"
        return f"{done} no later step is open; the curriculum is finished"
    if decision.hint is not None:
        return f"the step is tried again, with the hint {decision.hint}"
    if decision.next_step == decision.step:
        return "the step is tried again"
    way = "on" if decision.next_step is not None and decision.next_step > decision.step else "back"
    done = "complete; " if decision.completed else "not complete, but "
    return f"{done}{way} to {_label(path, decision.next_step or 0)}"


def _label(path: LearningPath, order: int) -> str:
    name = path.names.get(order)
    return f"step {order}" if name is None else f"step {order} '{name}'"


def describe_outcome(outcome: str) -> str:
    """Return the outcome of a curriculum, in words."""
    return "goes on" if outcome == "running" else f"is {outcome}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def table_rows(path: LearningPath, orders: Iterable[int] = ()) -> list[tuple[str, ...]]:
    """Return for each step: order, name, attempts, hints, branches away, episodes, last success.

    Args:
        path: The path.
        orders: Steps to list even if they were never reached.
    """
    made: dict[int, list[Decision]] = {}
    for move in path.moves:
        made.setdefault(move.decision.step, []).append(move.decision)
    rates = {m.decision.step: rate for m, rate in zip(path.moves, path.rates, strict=True)}
    by_success = path.judged_by == SUCCESS
    played = {order for counts in path.episode_counts for order in counts.played}
    rows: list[tuple[str, ...]] = []
    for order in sorted({*made, *path.drawn, *played, *orders}):
        mine = made.get(order, [])
        episodes = sum(d.episodes for d in mine) or path.drawn.get(order, 0)
        last = rates.get(order)  # that of the last attempt
        if last is None and by_success:
            last = _share_won(path, order)
        rows.append(
            (
                str(order),
                path.names.get(order, ""),
                str(len(mine)),
                str(sum(d.hint is not None for d in mine)),
                str(sum(d.decision.startswith("BRANCH_TO_") for d in mine)),
                f"{episodes:,}",
                "" if last is None else f"{last:.0%}",
                "yes" if any(d.completed for d in mine) else "no",
            )
        )
    return rows


def _is_share(value: object) -> bool:
    """Return whether a value is a number from 0 to 1."""
    return is_number(value) and 0 <= value <= 1


def short_name(metric: str) -> str:
    """Return what a metric is called in tables and plots."""
    return "won" if metric == SUCCESS else metric.rpartition(".")[2]


def headings(path: LearningPath) -> tuple[str, ...]:
    """Return the headings of the columns of `table_rows`."""
    return (*HEADINGS[:-2], short_name(path.judged_by), HEADINGS[-1])


def _share_won(path: LearningPath, order: int) -> float | None:
    """Return the share of the last episodes of a step that was won, if that is recorded."""
    played = won = 0
    for counts in reversed(path.episode_counts):
        if played >= 100:
            break
        if counts.won:
            played += counts.played.get(order, 0)
            won += counts.won.get(order, 0)
    return won / played if played else None


HEADINGS = ("step", "name", "attempts", "hints", "branches", "episodes", "won", "done")
"""The headings of the columns of `table_rows`, where attempts are judged by success."""
