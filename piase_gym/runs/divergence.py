"""What a replay found: where log and replay first differ, and in what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from piase_gym.runs.log_file import Problem
from piase_gym.runs.seal import Seal
from piase_gym.worlds.texts.wording import counted

MOST_DETAILS = 100
"""The number of further differences that are kept."""


class _Missing:
    """Stands for an entry, or a line, that is not there."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Final = _Missing()
"""The value of an entry that is not there."""


@dataclass(frozen=True)
class Divergence:
    """Where a run and its replay first differ.

    Attributes:
        step: The step of the run (0 before the first one).
        episode: The episode.
        agent: The agent, or ``None`` if the whole state is meant.
        field: ``outcome``, ``reward``, ``terminated``, ``truncated``, ``result``, ``digest``, a
            field of the line, of its `event_data` or of the state, such as ``state.x[0]``, or
            ``line`` if another line is expected there, or none.
        logged: The value in the log.
        replayed: The value now; `MISSING` if there is none.
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
        """Describe the difference in a line."""
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
        details: What else differs in the same line, and in the next stored snapshot.
        complete: Whether the run has its summary.
        problems: Lines that could not be read, or that are not where they belong. Nothing after
            the first of them is executed.
        seal: Whether nothing was changed since the log was written.
    """

    steps: int = 0
    episodes: int = 0
    first_divergence: Divergence | None = None
    details: list[Divergence] = field(default_factory=list)
    complete: bool = False
    problems: list[Problem] = field(default_factory=list)
    seal: Seal = field(default_factory=lambda: Seal("unsealed", "it was not looked at"))

    @property
    def broken(self) -> Problem | None:
        """The first line that cannot be read, or is not where it belongs."""
        return next((p for p in self.problems if p.severity == "error"), None)

    @property
    def ok(self) -> bool:
        """Whether everything in the log was reproduced, and its seal is not broken."""
        equal = self.first_divergence is None and self.broken is None
        return equal and self.seal.state != "broken"

    @property
    def sound(self) -> bool:
        """Whether everything was reproduced, and the seal says that nothing was changed."""
        return self.ok and self.seal.state == "sealed"

    @property
    def verdict(self) -> str:
        """A short verdict: ``sound``, ``equal but unsealed``, ``different``, ``damaged``."""
        if self.first_divergence is not None:
            return "different"
        if self.broken is not None or self.seal.state == "broken":
            return "damaged"
        return "sound" if self.sound else "equal but unsealed"

    def add(self, found: Divergence) -> None:
        """Take note of a difference."""
        if self.first_divergence is None:
            self.first_divergence = found
        elif len(self.details) < MOST_DETAILS:
            self.details.append(found)

    def __str__(self) -> str:
        """Say in a few lines what differs, what was executed and what the seal says."""
        done = f"{counted(self.steps, 'step')} in {counted(self.episodes, 'episode')}"
        parts = []
        if self.first_divergence is not None:
            details = [f"\n  {detail}" for detail in self.details[:10]]
            parts.append(f"differs at {self.first_divergence}{''.join(details)}")
        elif self.broken is not None:
            parts.append(f"{self.broken}; the {done} before it are equal")
        elif self.seal.state == "broken":
            parts.append(f"{done} are equal; the change is in what a replay cannot tell")
        else:
            parts.append(f"{done}: equal" + ("" if self.complete else "; the run was cut short"))
        parts.append(str(self.seal))
        parts += [str(p) for p in self.problems[:10] if p != self.broken]
        return "\n  ".join(parts)


def differences(logged: Any, now: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path and both values of each difference between two JSON values.

    Numbers differ from booleans, integers from floats, and null from a missing entry.
    """
    if isinstance(logged, dict) and isinstance(now, dict):
        for key in {**logged, **now}:
            inner = f"{path}.{key}" if path else str(key)
            yield from differences(logged.get(key, MISSING), now.get(key, MISSING), inner)
    elif isinstance(logged, list) and isinstance(now, list) and len(logged) == len(now):
        for place, (one, other) in enumerate(zip(logged, now, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif type(logged) is not type(now) or logged != now:
        yield path, logged, now
