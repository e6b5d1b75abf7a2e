"""TextProbe's state and rules: functions of a state, a command and a random stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from piase_gym.core.commands import Command, Outcome
from piase_gym.core.rng import Stream
from tests.probes.text_config import (
    HOUSE,
    ITEMS,
    KEY,
    MOODS,
    PHRASES,
    ROOMS,
    TRAP,
    TREASURE,
    TextProbeConfig,
)

Room = Literal["cellar", "hall", "garden"]
Mood = Literal["damp", "dusty", "bright"]
Status = Literal["none", "coming", "playing", "won", "lost"]
STATUSES: tuple[Status, ...] = ("none", "coming", "playing", "won", "lost")
MILESTONES = ("key_taken", "door_unlocked", "jewel_taken")
GONE = "gone"


@checked(config=ConfigDict(extra="forbid", strict=True))
@dataclass
class TextState:
    """The whole state but for streams and letters.

    Attributes:
        t: Steps done.
        side: Where the door is, seen from the hall.
        moods: How each room looks.
        unlocked: Whether the door is open.
        places: Where each item is: a room, the number of an agent in digits, or ``gone``.
        rooms: Where each agent is.
        status: Which part each agent takes.
        feedback: What each agent was last told.
        reached: The milestones of each agent.
        order: Who acts first in the next step.
    """

    t: int
    side: Literal["east", "north", "west"]
    moods: dict[Room, Mood]
    unlocked: bool
    places: dict[str, str]
    rooms: list[Room]
    status: list[Status]
    feedback: list[str | None]
    reached: list[list[str]]
    order: list[int]


class Effect(NamedTuple):
    """What came of a command."""

    outcome: Outcome
    told: str
    reward: float = 0.0


def new_state(config: TextProbeConfig, slots: int, layout: Stream) -> TextState:
    """Furnish the house."""
    sides: list[Literal["east", "north", "west"]] = ["east", "north", "west"]
    moods: list[Mood] = ["damp", "dusty", "bright"]
    rooms: list[Room] = ["cellar", "hall", "garden"]
    places = {}
    for item in ITEMS[: config.items]:
        choices = HOUSE["items"][item]
        places[item] = choices[layout.integer(len(choices))]
    status: list[Status] = ["coming" if step else "playing" for step in config.entries]
    status += ["none"] * (slots - len(status))
    return TextState(
        t=0,
        side=sides[layout.integer(len(sides))],
        moods={room: moods[layout.integer(len(MOODS))] for room in rooms},
        unlocked=False,
        places=places,
        rooms=[rooms[layout.integer(2)] for _ in range(slots)],
        status=status,
        feedback=[None] * slots,
        reached=[[] for _ in range(slots)],
        order=list(range(slots)),
    )


def exits(state: TextState, room: str) -> list[tuple[str, str, str]]:
    """Return (direction, passage, where it leads) of every way out, sorted."""
    found = [(way, *passage) for way, passage in HOUSE["rooms"][room].items()]
    door = "open door" if state.unlocked else "locked door"
    if room == "hall":
        found.append((state.side, door, "garden"))
    if room == "garden":
        found.append((HOUSE["door"][state.side], door, "hall"))
    return sorted(found)


def lying(state: TextState, place: str) -> list[str]:
    """Return what is in a room, or in the hands of an agent (a number in digits), sorted."""
    return sorted(item for item, where in state.places.items() if where == place)


def legal_commands(state: TextState, agent: int) -> list[Command]:
    """Return the legal commands, sorted by verb and parameters; of ``say`` only the phrases."""
    if state.status[agent] != "playing":
        return []
    room = state.rooms[agent]
    held = lying(state, str(agent))
    at_door = room in ("hall", "garden")
    return [
        *(Command("drop", {"item_name": item}) for item in held),
        *(Command("go", {"direction": way}) for way, _, _ in exits(state, room)),
        Command("inventory"),
        Command("look"),
        *(Command("say", {"message": phrase}) for phrase in PHRASES),
        *(Command("take", {"item_name": item}) for item in lying(state, room)),
        *(Command("use", {"item_name": item}) for item in held if item == TRAP),
        *(Command("use", {"item_name": item, "target_object": "door"}) for item in held if at_door),
        Command("wait"),
    ]


def is_legal(state: TextState, agent: int, command: Command) -> bool:
    """Tell whether an agent may do this now; anything may be said."""
    if command.verb == "say":
        return state.status[agent] == "playing"
    return command in legal_commands(state, agent)


def apply(state: TextState, agent: int, command: Command, slip: float, dice: Stream) -> Effect:
    """Carry out a legal command (``say`` only gives its answer; the letter is the world's)."""
    value = command.parameters
    match command.verb:
        case "go":
            return _go(state, agent, value["direction"])
        case "take":
            return _take(state, agent, value["item_name"], slip, dice)
        case "drop":
            state.places[value["item_name"]] = state.rooms[agent]
            return Effect(Outcome.OK, f"You drop the {value['item_name']}.")
        case "use":
            return _use(state, agent, value["item_name"], value.get("target_object"))
        case "say":
            return Effect(Outcome.OK, "You speak up.")
        case "look":
            return Effect(Outcome.OK, "You look around.")
        case "inventory":
            return Effect(Outcome.OK, "You check your pockets.")
    return Effect(Outcome.OK, "Time passes.")


def _go(state: TextState, agent: int, direction: str) -> Effect:
    """Walk through an open passage."""
    for way, passage, target in exits(state, state.rooms[agent]):
        if way == direction and passage == "locked door":
            return Effect(Outcome.FAILED, "The door is locked.")
        if way == direction:
            state.rooms[agent] = next(room for room in _rooms() if room == target)
            return Effect(Outcome.OK, f"You go {direction}.")
    return Effect(Outcome.FAILED, "There is no way there now.")


def _rooms() -> tuple[Room, ...]:
    """Return the rooms with their type."""
    return "cellar", "hall", "garden"


def _take(state: TextState, agent: int, item: str, slip: float, dice: Stream) -> Effect:
    """Pick up an item, unless another was faster or it slips."""
    if state.places[item] != state.rooms[agent]:
        return Effect(Outcome.FAILED, f"Another was faster: the {item} is no longer here.")
    if slip > 0.0 and dice.uniform() < slip:
        return Effect(Outcome.FAILED, f"The {item} slips through your fingers.")
    state.places[item] = str(agent)
    if item == TREASURE:
        _leave(state, agent, "won")
        state.places[item] = GONE
        return Effect(Outcome.OK, "The jewel is yours!", 10.0)
    return Effect(Outcome.OK, f"You take the {item}.")


def _use(state: TextState, agent: int, item: str, target: str | None) -> Effect:
    """Drink the vial, or try something on the door."""
    if target is None:
        state.places[item] = GONE
        _leave(state, agent, "lost")
        return Effect(Outcome.OK, "You drink. It was poison.", -5.0)
    if item != KEY:
        return Effect(Outcome.FAILED, f"The {item} does not fit.")
    if state.unlocked:
        return Effect(Outcome.FAILED, "The door is open already.")
    state.unlocked = True
    return Effect(Outcome.OK, "The door swings open.", 1.0)


def _leave(state: TextState, agent: int, status: Status) -> None:
    """Take an agent out of play; what it carried stays in the room."""
    for item in lying(state, str(agent)):
        state.places[item] = state.rooms[agent]
    state.status[agent] = status


def new_milestones(state: TextState, agent: int, command: Command) -> list[str]:
    """Return (and note) the milestones that a successful command reached for the first time."""
    value = command.parameters.get("item_name")
    name = {
        ("take", KEY): "key_taken",
        ("use", KEY): "door_unlocked",
        ("take", TREASURE): "jewel_taken",
    }.get((command.verb, str(value)))
    if name is None or name in state.reached[agent]:
        return []
    state.reached[agent].append(name)
    return [name]


__all__ = ["ROOMS", "Effect", "TextState", "apply", "exits", "is_legal", "legal_commands", "lying"]
