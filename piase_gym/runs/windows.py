"""Windows: how far back a question about an agent looks, and what it then sees."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, takewhile

from piase_gym.errors import ConfigError, require_count, require_known
from piase_gym.runs.history import SPARE, Attempt, Episode, History, begun
from piase_gym.runs.recent_events import Step
from piase_gym.runs.schema import Event

WINDOWS = ("attempts", "episodes", "env_steps")
Value = float | int | bool | str | None
Window = Mapping[str, int] | None
"""``{"attempts": n}``, ``{"episodes": n}`` or ``{"env_steps": n}``; ``None`` means the last
attempt, or, without attempts, the whole run."""


@dataclass(frozen=True)
class View:
    """What a metric may look at: one agent, within a window.

    Attributes:
        agent: The agent.
        episodes: Its episodes in the window, finished or not, oldest first.
        find_steps: Returns its steps in the window; see `steps`.
        hints: Hints received in the window.
        attempts: All its attempts so far, oldest first.
        current: The attempts in the window; for windows of episodes and steps, all attempts.
        after: The step of the run after which the window begins; -1 if it is bounded by attempts
            or episodes.
        lines: Yields the events of the window that concern the agent, as lines of a log.
    """

    agent: str
    episodes: Sequence[Episode]
    find_steps: Callable[[], list[Step]]
    hints: int
    attempts: Sequence[Attempt]
    current: Sequence[Attempt]
    after: int
    lines: Callable[[], Iterator[Event]]

    @property
    def finished(self) -> list[Episode]:
        """The episodes that ended by themselves."""
        return [row for row in self.episodes if row.finished]

    @functools.cached_property
    def steps(self) -> Sequence[Step]:
        """Its steps in the window, as far as they are remembered one by one, oldest first."""
        return self.find_steps()

    @functools.cached_property
    def outcomes(self) -> Counter[str]:
        """How often each outcome occurred."""
        if self.after >= 0:
            return Counter(step.outcome for step in self.steps)
        found: Counter[str] = Counter()
        for row in self.episodes:
            found.update(row.outcomes)
        return found

    @property
    def messages(self) -> int:
        """How many messages the agent sent."""
        parts = self.steps if self.after >= 0 else self.episodes
        return sum(part.messages for part in parts)


def check_window(window: Window) -> tuple[str, int]:
    """Return a window's kind and size.

    Raises:
        ConfigError: If it is not allowed.
    """
    if window is None:
        return "attempts", 1
    if not isinstance(window, Mapping) or len(window) != 1:
        raise ConfigError(
            f"a window is one of {{'attempts': n}}, {{'episodes': n}}, {{'env_steps': n}}, "
            f"not {window!r:.60}"
        )
    ((kind, count),) = window.items()
    require_known("window", kind, WINDOWS)
    return kind, require_count(f"a window has a positive number of {kind}", count)


def look(history: History, agent: str, window: tuple[str, int], slot: int | None) -> View:
    """Return the view of an agent within a window.

    Args:
        history: What is remembered of the run.
        agent: An agent of the run.
        window: What `check_window` returned.
        slot: Only this environment of a batch; ``None`` for all.
    """
    known, (kind, count) = history.agents[agent], window
    attempts = known.attempts
    if slot is not None:
        attempts = [a for a in attempts if a.slot in (None, slot)]
    hints = [(at, attempt) for at, attempt, where in known.hints if slot in (None, where)]
    current, after, since = attempts, -1, 0

    def counts(row: Episode) -> bool:
        return row.attempt != SPARE and slot in (None, row.slot)

    if kind == "attempts":  # without attempts, the whole run
        current = attempts[-count:]
        numbers = {attempt.number for attempt in current} or {0}
        mine = [row for number in numbers for row in known.by_attempt.get(number, ())]
        rows = sorted(filter(counts, mine), key=begun)
        hinted = sum(attempt in numbers for _, attempt in hints)
        since = current[0].sequence if current else 0
    elif kind == "episodes":
        last = (row for row in reversed(known.episodes) if row.finished and counts(row))
        rows = list(islice(last, count))[::-1]
        start = rows[0].start if rows else history.step
        hinted = sum(at >= start for at, _ in hints)
        since = rows[0].sequence if rows else history.sequence + 1
    else:
        after = history.step - count
        parts = (
            takewhile(lambda row: row.end > after, reversed(s)) for s in known.by_slot.values()
        )
        rows = sorted(filter(counts, chain.from_iterable(parts)), key=begun)
        hinted = sum(at > after for at, _ in hints)
    start = after if after >= 0 else min((row.start for row in rows), default=history.step)
    return View(
        agent,
        rows,
        lambda: _steps(history, agent, start, rows),
        hinted,
        attempts,
        current,
        after,
        lambda: history.recent.lines(agent, since, after, slot),
    )


def _steps(history: History, agent: str, after: int, rows: Sequence[Episode]) -> list[Step]:
    """Return an agent's remembered steps in some of its episodes, after a step of the run."""
    attempts = {(row.slot, row.episode): row.attempt for row in rows}
    handed = [step for step in history.agents[agent].steps if step.step > after]
    mine = [step for step in handed if (step.slot, step.episode) in attempts]
    return mine + [
        step._replace(attempt=attempts[step.slot, step.episode])
        for step in history.recent.steps(agent, after)
        if (step.slot, step.episode) in attempts
    ]
