"""What a replay found: where log and replay first differ, and in what."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from piase_gym.runs.source import Problem


@dataclass(frozen=True)
class Divergence:
    """Where a run and its replay first differ.

    Attributes:
        step: The step of the run (0 before the first one).
        episode: The episode.
        agent: The agent, or ``None`` if the whole state is meant.
        field: ``outcome``, ``reward``, ``terminated``, ``truncated``, ``result``, ``digest``, a
            field of the state such as ``state.x[0]``, of a perception, or ``events``.
        logged: The value in the log.
        replayed: The value now.
        line: Number of the line.
        slot: The environment in a batch, or ``None``.
    """

    step: int
    episode: int
    agent: str | None
    field: str
    logged: Any
    replayed: Any
    line: int
    slot: int | None = None

    def __str__(self) -> str:
        """Say it in a line."""
        whom = f" of {self.agent}" if self.agent else ""
        where = f" in slot {self.slot}" if self.slot is not None else ""
        return (
            f"step {self.step} (episode {self.episode}{where}, line {self.line}): "
            f"{self.field}{whom} was {self.logged!r:.80}, is now {self.replayed!r:.80}"
        )


@dataclass
class ReplayReport:
    """What `replay` found.

    Attributes:
        steps: How many steps were executed again.
        episodes: How many episodes were begun again.
        first_divergence: Where log and replay first differ, if they do.
        details: What else differs in the same step, and in the next stored snapshot.
        complete: Whether the run has its summary.
        problems: Lines that could not be read.
    """

    steps: int = 0
    episodes: int = 0
    first_divergence: Divergence | None = None
    details: list[Divergence] = field(default_factory=list)
    complete: bool = False
    problems: list[Problem] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything that the log says came out again."""
        severe = any(problem.severity == "error" for problem in self.problems)
        return self.first_divergence is None and not severe

    def __str__(self) -> str:
        """Say it in a few lines."""
        if self.first_divergence is not None:
            more = "".join(f"\n  {detail}" for detail in self.details[:10])
            return f"differs at {self.first_divergence}{more}"
        problems = "".join(f"\n  {problem}" for problem in self.problems[:10])
        end = "" if self.complete else "; the run was cut short"
        word = "equal" if self.ok else "not all of it could be read, but what could is equal"
        return f"{self.steps} steps in {self.episodes} episodes: {word}{end}{problems}"


def same(logged: Any, now: Any) -> bool:
    """Compare two values; JSON has null for what is not a finite number."""
    if logged is None and isinstance(now, float) and not math.isfinite(now):
        return True
    return bool(logged == now)


def differences(logged: Any, now: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield paths and both values of what differs between two JSON values."""
    if isinstance(logged, dict) and isinstance(now, dict):
        for key in {**logged, **now}:
            inner = f"{path}.{key}" if path else str(key)
            yield from differences(logged.get(key), now.get(key), inner)
    elif isinstance(logged, list) and isinstance(now, list) and len(logged) == len(now):
        for place, (one, other) in enumerate(zip(logged, now, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif logged != now:
        yield path, logged, now
