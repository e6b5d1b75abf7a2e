"""Windows: how far back a question about an agent looks, and what it then sees."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from piase_gym.errors import ConfigError, suggest
from piase_gym.runs.history import SPARE, AgentHistory, Attempt, Episode, History
from piase_gym.runs.recent_events import Step
from piase_gym.runs.schema import Event

WINDOWS = ("attempts", "episodes", "env_steps")
Value = float | int | bool | str | None
Window = Mapping[str, int] | None
"""``{"attempts": n}``, ``{"episodes": n}`` or ``{"env_steps": n}``; ``None`` means the last
attempt, or, without attempts, the whole run."""


@dataclass(frozen=True)
class View:
    """What a metric may look at: one agent, as far as a window goes.

    Attributes:
        agent: The agent.
        episodes: Its episodes in the window, finished or not, oldest first.
        find_steps: Returns its steps in the window; see `steps`.
        hints: Hints received in the window.
        attempts: All its attempts so far, oldest first.
        current: Those of them that the window begins with or after; all, for windows of episodes
            and steps.
        after: The window begins after this step of the run; -1 where episodes bound it.
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
        """The episodes that came to their own end."""
        return [row for row in self.episodes if row.finished]

    @functools.cached_property
    def steps(self) -> Sequence[Step]:
        """Its steps in the window, as far as they are remembered one by one, oldest first."""
        return self.find_steps()

    @functools.cached_property
    def outcomes(self) -> Counter[str]:
        """How often each outcome was had."""
        if self.after >= 0:
            return Counter(step.outcome for step in self.steps)
        found: Counter[str] = Counter()
        for row in self.episodes:
            found.update(row.outcomes)
        return found

    @property
    def messages(self) -> int:
        """How many messages it sent."""
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
    if kind not in WINDOWS:
        raise ConfigError(f"unknown window {kind!r}; {suggest(kind, WINDOWS)}")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ConfigError(f"a window has a positive number of {kind}, not {count!r}")
    return kind, count


def look(history: History, agent: str, window: tuple[str, int], slot: int | None) -> View:
    """Return what a window shows of an agent.

    Args:
        history: What is remembered of the run.
        agent: An agent of the run.
        window: What `check_window` returned.
        slot: Only this environment of a batch; ``None`` for all.
    """
    known, (kind, count) = history.agents[agent], window
    attempts = [a for a in known.attempts if slot is None or a.slot in (None, slot)]
    here = _Here(agent, known, slot)
    if kind == "attempts":
        return _last_attempts(history, here, agent, attempts, count)
    if kind == "episodes":
        return _last_episodes(history, here, agent, attempts, count)
    after = history.step - count
    return View(
        agent,
        [row for row in here.episodes() if row.end > after],
        lambda: here.steps_of(history, history.step - count, here.episodes()),
        sum(at > after for at, _ in here.hints()),
        attempts,
        attempts,
        after,
        lambda: history.recent.lines(agent, 0, after, slot),
    )


class _Here:
    """What is remembered of one agent in one slot, or in all, as far as it counts."""

    def __init__(self, agent: str, known: AgentHistory, slot: int | None) -> None:
        self.agent, self.known, self.slot = agent, known, slot

    def episodes(self) -> Sequence[Episode]:
        """Return its episodes."""
        rows = self.known.episodes
        return [r for r in rows if r.attempt != SPARE and self.slot in (None, r.slot)]

    def steps_of(self, history: History, after: int, rows: Sequence[Episode]) -> list[Step]:
        """Return its remembered steps in some of its episodes, after a step of the run."""
        attempts = {(row.slot, row.episode): row.attempt for row in rows}
        handed = [
            step
            for step in self.known.steps
            if step.step > after and (step.slot, step.episode) in attempts
        ]
        return handed + [
            step._replace(attempt=attempts[step.slot, step.episode])
            for step in history.recent.steps(self.agent, after)
            if (step.slot, step.episode) in attempts
        ]

    def hints(self) -> Iterator[tuple[int, int]]:
        """Yield step and attempt of its hints."""
        return ((at, n) for at, n, slot in self.known.hints if self.slot in (None, slot))


def _last_attempts(
    history: History, here: _Here, agent: str, attempts: Sequence[Attempt], count: int
) -> View:
    """Look at the last attempts; where there was none, at the whole run."""
    current = attempts[-count:]
    numbers = {attempt.number for attempt in current} or {0}
    rows = [row for row in here.episodes() if row.attempt in numbers]
    since = current[0].sequence if current else 0
    return View(
        agent,
        rows,
        lambda: here.steps_of(history, _start(history, rows), rows),
        sum(number in numbers for _, number in here.hints()),
        attempts,
        current,
        -1,
        lambda: history.recent.lines(agent, since, -1, here.slot),
    )


def _last_episodes(
    history: History, here: _Here, agent: str, attempts: Sequence[Attempt], count: int
) -> View:
    """Look at the last finished episodes."""
    rows = [row for row in here.episodes() if row.finished][-count:]
    start = rows[0].start if rows else history.step
    since = rows[0].sequence if rows else history.sequence + 1
    return View(
        agent,
        rows,
        lambda: here.steps_of(history, _start(history, rows), rows),
        sum(at >= start for at, _ in here.hints()),
        attempts,
        attempts,
        -1,
        lambda: history.recent.lines(agent, since, -1, here.slot),
    )


def _start(history: History, rows: Sequence[Episode]) -> int:
    """Return the step of the run before the first of some episodes."""
    return min((row.start for row in rows), default=history.step)
