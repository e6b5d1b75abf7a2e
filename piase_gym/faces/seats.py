"""What a sequential face keeps about each agent between its calls, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

from piase_gym.commands import Command, Misread, Outcome
from piase_gym.jsonable import jsonable
from piase_gym.mailbox import Letter
from piase_gym.models import ActionResult
from piase_gym.surroundings import Surroundings
from piase_gym.world import Facts

Act = Command | Misread


class Sight(NamedTuple):
    """What one agent knows at one moment, and the same in words."""

    facts: Facts
    text: str


@dataclass
class Seat:
    """What a sequential face keeps about one of the caller's agents.

    Attributes:
        number: The agent's number in the world.
        act: What it has submitted for the open tick.
        priority: The priority of that.
        result: What became of its last command, or that it is in progress.
        around: Its surroundings after the last tick.
        last: What it perceived when it ended, and the vector of that.
        ended: Whether it has ended.
        notes: What the world noted about it in the last tick.
        total: The sum of its rewards.
        letters: Letters delivered to it, with the step, as far as they can still be asked for.
        looked: The step in which it last perceived, and the one in which it did so before that.
        pockets: Its inventory at these two steps.
    """

    number: int
    act: Act | None = None
    priority: float = 0.0
    result: ActionResult | None = None
    around: Surroundings = field(default_factory=Surroundings)
    last: tuple[Sight, NDArray[Any]] | None = None
    ended: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)
    total: float = 0.0
    letters: list[tuple[int, Letter]] = field(default_factory=list)
    looked: tuple[int, int] = (0, -1)
    pockets: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def changes(before: Surroundings, after: Surroundings) -> dict[str, Any]:
    """Return what has changed of an agent's own: position, rotation, inventory, stats."""
    names = ("position", "rotation", "inventory", "stats")
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in names)
    return {name: jsonable(new) for name, old, new in pairs if new != old}


def write_seat(seat: Seat) -> dict[str, Any]:
    """Return a seat as a JSON-able value."""
    act = seat.act
    return {
        "command": [act.verb, dict(act.parameters)] if isinstance(act, Command) else None,
        "misread": [act.outcome.value, act.message] if isinstance(act, Misread) else None,
        "priority": seat.priority,
        "result": seat.result and seat.result.model_dump(mode="json"),
        "ended": seat.ended,
        "notes": jsonable(seat.notes),
        "total": seat.total,
        "letters": [[step, list(letter)] for step, letter in seat.letters],
        "looked": list(seat.looked),
        "pockets": [list(items) for items in seat.pockets],
    }


def read_seat(row: Mapping[str, Any], number: int) -> Seat:
    """Undo `write_seat`."""
    seat = Seat(number, priority=float(row["priority"]), ended=bool(row["ended"]))
    if row["command"] is not None:
        verb, parameters = row["command"]
        seat.act = Command(str(verb), dict(parameters))
    elif row["misread"] is not None:
        outcome, message = row["misread"]
        seat.act = Misread(Outcome(outcome), str(message))
    seat.result = None if row["result"] is None else ActionResult.model_validate(row["result"])
    seat.notes, seat.total = dict(row["notes"]), float(row["total"])
    seat.letters = [(int(step), Letter(*map(str, letter))) for step, letter in row["letters"]]
    now, before = row["looked"]
    new, old = row["pockets"]
    seat.looked, seat.pockets = (int(now), int(before)), (tuple(new), tuple(old))
    return seat
