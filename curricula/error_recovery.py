"""Error recovery: what is wrong with a curriculum is replaced, so that more mistakes can be found.

A file that has a mistake in its shape is never checked for what its rules mean. So each round of
checks goes on with a copy in which everything that was told is replaced by something harmless.
What would only follow from a replacement is not told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from piase_gym.runs.metric_definitions import REACHED

Key = tuple[str | int, ...]
_ORDERS = 2_000_000_000
"""Orders from here on stand for orders that are missing or wrong."""
_ORDER = re.compile(r"(?<!\d)20000\d{5}(?!\d)")
_GOAL = re.compile(r", 'reached_goal_20000\d{5}'")
_NEUTRAL: Mapping[str, Any] = {
    "adaptation_rules": ["step_attempts < 0", "REPEAT_STEP"],
    "completion_criteria": {"metric": "success_rate", "operator": ">=", "value": 0.0},
    "hints": {"data": {"message": "?"}},
}
"""What takes the place of a wrong entry."""


class Recovery:
    """The data of a curriculum, with what is wrong replaced round by round.

    Args:
        data: The data as it was read; it is not changed.

    Attributes:
        data: What is to be checked next.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Begin with what was read."""
        self.data: dict[str, Any] = dict(data)
        self._follows: set[str] = set()

    def wording(self, message: str) -> str | None:
        """Return a problem in words that fit the file; ``None`` if it follows from another."""
        if any(words in message for words in self._follows):
            return None
        return _ORDER.sub("'?'", _GOAL.sub("", message))

    def replace(self, keys: Iterable[Key]) -> bool:
        """Replace what is wrong; return whether there is anything new to check."""
        before = self.data
        self.data = _copy(before)
        for key in keys:
            if not (self._in_step(key) if key[:1] == ("steps",) else self._in_head(key)):
                return False
        return bool(self.data != before)

    def _in_head(self, key: Key) -> bool:
        """Replace something outside of the steps."""
        data = self.data
        if not key:
            data.pop("__type__", None)
            data.setdefault("name", "?")
            return "steps" in data
        inside = data.get(str(key[0]))
        if key[0] == "name":
            data["name"] = "?"
        elif len(key) > 1 and isinstance(inside, dict):
            inside.pop(key[1], None)
        else:
            data.pop(str(key[0]), None)
        if key[0] == "metrics":
            self._follows.add(f"metric {key[1]!r}" if len(key) > 1 else "unknown metric")
        return True

    def _in_step(self, key: Key) -> bool:
        """Replace something in a step."""
        if len(key) < 2:
            return False
        steps, index = self.data["steps"], int(key[1])
        named = {"order": _ORDERS + index, "name": f"steps.{index}"}
        step = steps[index]
        if not isinstance(step, dict):
            step = steps[index] = {}
        if len(key) == 2:
            step.pop("__type__", None)
            if "environment_config" in step:
                step.pop("environment_config_overrides", None)
        field = str(key[2]) if len(key) > 2 else ""
        if field in named:
            step.pop(field, None)
        if not step.keys() >= named.keys():
            self._follows |= {"unknown branch target", f"unknown metric '{REACHED}"}
        for name, value in named.items():
            step.setdefault(name, value)
        if field not in named and field in step:
            self._in_field(step, field, key[3:])
        return True

    def _in_field(self, step: dict[str, Any], field: str, rest: Key) -> None:
        """Replace a field of a step, or an entry of it."""
        inside: Any = step[field]
        if rest and field in _NEUTRAL:
            inside[rest[0]] = _NEUTRAL[field]
        elif rest and isinstance(inside, dict) and rest[0] in inside:
            del inside[rest[0]]
        else:
            del step[field]
            if field == "hints":
                self._follows.add("unknown hint")


def _copy(value: Any) -> Any:
    """Return a copy of plain data."""
    if isinstance(value, Mapping):
        return {name: _copy(entry) for name, entry in value.items()}
    return [_copy(entry) for entry in value] if isinstance(value, list | tuple) else value
