"""What an adaptation rule can decide: read from text, and written as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from piase_gym.errors import CurriculumError, suggest

Kind = Literal["PROCEED", "REPEAT_STEP", "BRANCH_TO", "APPLY_HINT", "FAIL_CURRICULUM"]
PLAIN: tuple[Kind, ...] = ("PROCEED", "REPEAT_STEP", "FAIL_CURRICULUM")
"""Decisions that need nothing more."""
BRANCH = "BRANCH_TO_"
APPLY = "APPLY_"
HINT = "APPLY_HINT_"
WORDS = (*PLAIN, f"{BRANCH}<order or name>", f"{HINT}<key>")
"""How decisions are written."""


@dataclass(frozen=True)
class Action:
    """A decision.

    Attributes:
        kind: What to do.
        target: Order of the step to go to, or key of the hint to give; else ``None``.
        text: As it was written, such as ``BRANCH_TO_Practice``.
    """

    kind: Kind
    target: int | str | None = None
    text: str = ""

    def __str__(self) -> str:
        """Return the decision as it is written."""
        return self.text or self.kind


def read(text: object, steps: Mapping[int, str] | None, hints: Sequence[str] | None) -> Action:
    """Read a decision.

    Args:
        text: The decision as it is written.
        steps: Order -> name of the steps that a branch can go to; ``None`` if they are not known
            yet.
        hints: The keys of the step's hints; ``None`` if they are not known yet.

    Raises:
        CurriculumError: If there is no such decision, step or hint.

    Example:
        >>> read("BRANCH_TO_Practice", {0: "Warm up", 3: "Practice"}, ()).target
        3
        >>> read("APPLY_HINT_01", {}, ["HINT_01"]).target
        'HINT_01'
    """
    if not isinstance(text, str):
        raise CurriculumError(f"a decision is a string, not {type(text).__name__}; {_allowed()}")
    for kind in PLAIN:
        if text == kind:
            return Action(kind, None, text)
    if text.startswith(BRANCH) and len(text) > len(BRANCH):
        return Action("BRANCH_TO", _target(text.removeprefix(BRANCH), steps), text)
    if text.startswith(HINT) and len(text) > len(HINT):
        return Action("APPLY_HINT", _hint(text, hints), text)
    raise CurriculumError(f"unknown decision {text!r:.80}; {suggest(text, WORDS)}")


def _allowed() -> str:
    return f"allowed: {', '.join(WORDS)}"


def _target(name: str, steps: Mapping[int, str] | None) -> int | str:
    """Return the order of the step that a branch goes to: orders come before names."""
    if steps is None:
        return int(name) if name.isdecimal() and len(name) < 10 else name
    if name.isdecimal() and len(name) < 10 and int(name) in steps:
        return int(name)
    for order, known in steps.items():
        if known == name:
            return order
    orders_and_names = [*map(str, steps), *steps.values()]
    raise CurriculumError(f"unknown branch target {name!r:.80}; {suggest(name, orders_and_names)}")


def _hint(text: str, hints: Sequence[str] | None) -> str:
    """Return the key of a hint: ``APPLY_HINT_01`` means ``HINT_01``, or else ``01``."""
    keys = (text.removeprefix(APPLY), text.removeprefix(HINT))
    if hints is None:
        return keys[0]
    for key in keys:
        if key in hints:
            return key
    raise CurriculumError(f"unknown hint {keys[0]!r:.80}; {suggest(keys[0], hints)}")


def plain(kind: Any) -> Action:
    """Return a decision that needs nothing more."""
    return read(kind, None, None)
