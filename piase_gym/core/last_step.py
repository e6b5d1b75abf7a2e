"""What became of an agent's last command: the line with which an observation opens.

It describes a step and not a state, so it is not a fact: it stands before the canonical text, the
vector does not contain it, and `piase_gym.parse_text` reads the text without it. Infos say the
same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from piase_gym.core.commands import Outcome
from piase_gym.core.text_encoding import one_line
from piase_gym.errors import SnapshotError

MAX_COMMAND, MAX_REASON = 100, 600
"""How many characters of a command and of a reason are shown."""
LINE_LENGTH = 1000
"""No line is longer than this many characters, with its line break."""
_ENDS = (".", "!", "?")
NO_COMMAND = "no command"
"""What stands in place of a command that could not be read."""
NOTHING_DONE = "nothing done"
"""What stands in place of a command that names something that does not exist."""


@dataclass
class LastStep:
    """What one agent's command did in the last step; values are shared, and never changed.

    Attributes:
        command: The command as it was understood, in text; empty if it could not be read.
        outcome: What became of it.
        reward: The reward of the step.
        milestones: The milestones that the agent reached in the step.
        reason: A sentence that says why, if there is more to say.
    """

    command: str
    outcome: str
    reward: float
    milestones: tuple[str, ...] = ()
    reason: str = ""

    line: str = field(init=False, repr=False, compare=False)
    """The line, with its line break; it is written on first access."""

    def __deepcopy__(self, _memo: Any) -> LastStep:
        """Return itself: it never changes."""
        return self

    def __getattr__(self, name: str) -> str:
        """Write the line. A `cached_property` takes a lock up to Python 3.11, at every step."""
        if name != "line":
            raise AttributeError(name)
        self.line = written = _line_of(self)
        return written

    @property
    def row(self) -> list[Any]:
        """The same as data, for snapshots."""
        return [self.command, str(self.outcome), self.reward, list(self.milestones), self.reason]


def _line_of(last: LastStep) -> str:
    r"""Write a line.

    Example:
        >>> LastStep("move up", "failed", -1.0, (), "A wall is in the way.").line
        'Last step: move up; failed; reward -1. A wall is in the way.\n'
    """
    nothing = NOTHING_DONE if last.outcome == Outcome.ILLEGAL else NO_COMMAND
    command = _cut(last.command, MAX_COMMAND) or nothing
    line = f"Last step: {command}; {last.outcome}; reward {round(last.reward, 3) or last.reward:g}"
    if last.milestones:
        names = _cut(", ".join(last.milestones).replace("_", " "), MAX_COMMAND)
        line += f"; milestone{'s' * (len(last.milestones) > 1)}: {names}"
    if not last.reason:
        return line + ".\n"
    reason = _cut(last.reason, MAX_REASON)
    return f"{line}. {reason}{'' if reason.endswith(_ENDS) else '.'}\n"


last_step: Callable[..., LastStep] = functools.lru_cache(maxsize=1024)(LastStep)
"""Returns the same value for all steps in which the same happened; no reward is -0.0."""


@functools.lru_cache(maxsize=4096)
def _cut(text: str, most: int) -> str:
    """Return a text on one line, cut to at most `most` characters."""
    shown = one_line(text)
    return shown if len(shown) <= most else shown[: most - 3] + "..."


_OUTCOMES = "|".join(Outcome)
_FORM = re.compile(
    rf"Last step: [^\n]+; (?:{_OUTCOMES}); reward [\d.e+-]+(?:; milestones?: [^\n]+)?\.[^\n]*\n"
)


def without_last_step(text: str) -> str:
    """Return an observation's text without the line of the last step, if it begins with one."""
    match = _FORM.match(text) if text.startswith("Last step: ") else None
    return text[match.end() :] if match else text


def read_last_steps(given: Any, count: int) -> list[LastStep | None]:
    """Return the last steps of a snapshot.

    Raises:
        SnapshotError: If they are damaged.
    """
    try:
        found = [None if row is None else _checked(*row) for row in given]
    except (TypeError, ValueError):
        found = []
    if len(found) != count:
        raise SnapshotError(
            "a snapshot's last_steps are a list with null or [command, outcome, reward, "
            "milestones, reason] for each agent"
        )
    return found


def _checked(
    command: object, outcome: str, reward: float, milestones: list[str], reason: object
) -> LastStep:
    """Return the value of a snapshot's row, whose parts may be of any type."""
    strings = (command, reason, *milestones)
    if not all(isinstance(text, str) for text in strings) or type(reward) is not float:
        raise ValueError
    return LastStep(str(command), Outcome(outcome), reward, tuple(milestones), str(reason))
