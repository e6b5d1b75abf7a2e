"""Conditions that cannot hold together, and events that would set each other off for ever."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from piase_gym.core.script import models


def clash(conditions: Sequence[Any]) -> str | None:
    """Say why conditions cannot all hold, or return ``None`` if no such reason is found."""
    must: dict[Any, list[Any]] = {}
    never: set[Any] = set()
    for condition in _flattened(conditions):
        if isinstance(condition, models.NoneHolds):
            never |= set(condition.none)
        else:
            must.setdefault(_about(condition), []).append(condition)
    for about, found in must.items():
        if any(condition in never for condition in found):
            return f"contradiction: {about[1]!r} is asked for, and forbidden"
        if isinstance(found[0], models.FactHolds) and (message := _empty(found)):
            return message
    return None


def _flattened(conditions: Sequence[Any]) -> Iterator[Any]:
    """Yield the conditions that all have to hold."""
    for condition in conditions:
        if isinstance(condition, models.AllHold):
            yield from _flattened(condition.all)
        else:
            yield condition


def _about(condition: Any) -> tuple[Any, ...]:
    """Return what a condition is about."""
    for key in ("fact", "flag", "milestone"):
        if key in type(condition).model_fields:
            return key, getattr(condition, key), condition.agent_id, getattr(condition, "of", None)
    return "group", id(condition)


def _empty(found: Sequence[models.FactHolds]) -> str | None:
    """Say why a fact cannot satisfy everything that is asked of it."""
    if found[0].agent_id == "any":  # different agents may satisfy different conditions
        return None
    low = max((c.at_least for c in found if c.at_least is not None), default=-math.inf)
    high = min((c.at_most for c in found if c.at_most is not None), default=math.inf)
    name = found[0].fact
    if low > high:
        return f"contradiction: {name!r} cannot be at least {low:g} and at most {high:g}"
    sets = [{c.equals} for c in found if c.equals is not None and not c.within]
    sets += [set(c.one_of) for c in found if c.one_of is not None]
    if not sets or name == "action":
        return None
    common = set.intersection(*sets)
    if not common:
        shown = " and ".join(sorted(repr(value) for value in set.union(*sets)))
        return f"contradiction: {name!r} cannot be {shown} at once"
    numbers = [value for value in common if isinstance(value, bool | int | float)]
    if numbers and not any(low <= value <= high for value in numbers):
        return f"contradiction: {name!r} cannot be {numbers[0]:g} and in {low:g} to {high:g}"
    return None


def endless(script: models.Script) -> Iterator[tuple[int, str]]:
    """Yield events that set each other off for ever, by number, with what is wrong.

    Events are bound to do so if each happens every time, each waits for a flag that the one before
    it changes, and a flag among them is both set and cleared.
    """
    changes = [
        {r.flag_name: r.value for r in event.response if isinstance(r, models.SetFlag)}
        for event in script.events
    ]
    asks = [
        {leaf.flag for leaf in models.leaves(event.when) if isinstance(leaf, models.FlagIsSet)}
        if event.times == "every" and event.on != "holds"
        else set()
        for event in script.events
    ]
    for circle in circles(asks, changes):
        values = {(flag, value) for k in circle for flag, value in changes[k].items()}
        if any((flag, not value) in values for flag, value in values):
            names = [script.events[k].name or f"event_{k + 1}" for k in circle]
            yield circle[0], f"{endless_words(names)}; limit `times`"


def endless_words(names: Sequence[str]) -> str:
    """Say that events set each other off for ever."""
    return f"endless: {', '.join(names)} set each other off for ever"


def circles(asks: Sequence[Set[str]], changes: Sequence[Iterable[str]]) -> Iterator[list[int]]:
    """Yield the events that set each other off, by number, each circle once.

    Args:
        asks: The flags that each event waits for.
        changes: The flags that each event changes.
    """
    count = len(asks)
    follows = [[n for n in range(count) if asks[n] & set(changes[k])] for k in range(count)]
    reached = [_reached(start, follows) for start in range(count)]
    yielded: set[int] = set()
    for start in range(count):
        circle = [k for k in range(count) if k in reached[start] and start in reached[k]]
        if circle and start not in yielded:
            yielded |= set(circle)
            yield circle


def _reached(start: int, follows: Sequence[Sequence[int]]) -> set[int]:
    """Return the events that an event sets off, directly or indirectly."""
    found: set[int] = set()
    waiting = [*follows[start]]
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += follows[number]
    return found
