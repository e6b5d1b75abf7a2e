"""TextRoom's rules: one small function a verb, in a table.

Each takes a `Turn` (the state and what this step has done to it) and what a command names, changes
the state, and returns an `Effect`. Commands were judged legal by the state before anybody acted;
`_missed` checks again what another agent may have taken away since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from piase_gym.core.commands import Command, Outcome
from piase_gym.core.mailbox import EVERYONE
from piase_gym.worlds.text_room import triggers
from piase_gym.worlds.text_room.sight import can_reach, insides, look_around
from piase_gym.worlds.text_room.state import NOWHERE, Plot, RoomState
from piase_gym.worlds.text_room.story import Interaction


class Effect(NamedTuple):
    """What came of a command."""

    outcome: Outcome
    told: str


@dataclass(slots=True)
class Turn:
    """One step in the making.

    Attributes:
        plot: The story.
        state: The state, which changes.
        agents: Names of all agents.
        rewards: What events have given to each agent so far.
        milestones: The milestones reached in this step, by agent.
        letters: What agents say: (sender, recipient, message).
        happenings: What events may be waiting for, in order.
    """

    plot: Plot
    state: RoomState
    agents: tuple[str, ...]
    rewards: list[float]
    milestones: dict[int, list[str]] = field(default_factory=dict)
    letters: list[tuple[str, str, str]] = field(default_factory=list)
    happenings: list[triggers.Happening] = field(default_factory=list)

    def happen(self, kind: str, agent: int, what: int | str) -> None:
        """Note something, if there are events that may be waiting for it."""
        if kind in self.plot.awaited:
            self.happenings.append(triggers.Happening(kind, agent, what))


class Deed(NamedTuple):
    """A command with its names looked up; -1 stands for what it does not name."""

    verb: str
    agent: int
    target: int = -1
    item: int = -1
    other: int = -1
    direction: str = ""
    message: str = ""


def deed_of(plot: Plot, agents: tuple[str, ...], agent: int, command: Command) -> Deed:
    """Look up the names of a command."""
    values = command.parameters
    other = values.get("agent_id")
    return Deed(
        command.verb,
        agent,
        plot.object_of.get(values.get("target_object", ""), -1),
        plot.object_of.get(values.get("item_name", ""), -1),
        agents.index(other) if other in agents else -1,
        values.get("direction", ""),
        values.get("message", ""),
    )


def perform(turn: Turn, deed: Deed) -> Effect:
    """Carry out a legal command, with the events that it sets off."""
    missed = _missed(turn, deed)
    if missed is not None:
        return missed
    effect = _interact(turn, deed) or RULES[deed.verb](turn, deed)
    triggers.note_action(turn, deed, effect.outcome is Outcome.OK)
    said = triggers.settle(turn)
    if said and deed.verb == "use" and effect.outcome is Outcome.FAILED:
        return Effect(Outcome.OK, f"You use the {show(turn.plot, deed.item)}.")
    return effect


def show(plot: Plot, k: int) -> str:
    """Return the name of an object as people read it."""
    return plot.objects[k].replace("_", " ")


def listing(words: Iterable[str]) -> str:
    """Write ``the desk, the lamp and the box``."""
    names = [f"the {word}" for word in words]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _ok(told: str) -> Effect:
    return Effect(Outcome.OK, told)


def _failed(told: str) -> Effect:
    return Effect(Outcome.FAILED, told)


IN_HAND = ("drop", "put", "give", "unlock", "use")
"""The verbs whose item must be in hand; what is used by itself need only be in reach."""


def _missed(turn: Turn, deed: Deed) -> Effect | None:
    """Say which thing of a command is out of reach, or no longer in hand, since another acted."""
    alone = deed.verb == "use" and deed.target < 0
    needed = deed.item >= 0 and deed.verb in IN_HAND and not alone
    if needed and turn.state.place[deed.item] != _hands(turn, deed.agent):
        return _gone(turn, deed.item)
    for k in (deed.target, deed.item):
        if k >= 0 and not can_reach(turn.plot, turn.state, deed.agent, k):
            return _gone(turn, k)
    return None


def _gone(turn: Turn, k: int) -> Effect:
    return _failed(f"Another was faster: the {show(turn.plot, k)} is no longer there.")


# -- rules of an object's own ----------------------------------------------------------------


def _interact(turn: Turn, deed: Deed) -> Effect | None:
    """Carry out an interaction that the story gives an object, if there is one."""
    target, item = (deed.target, deed.item) if deed.target >= 0 else (deed.item, -1)
    rows = turn.plot.interactions.get((deed.verb, target, item)) if target >= 0 else None
    if not rows:
        return None
    for row in rows:
        if triggers.all_hold(turn.plot, turn.state, row.conditions, deed.agent):
            return _carry_out(turn, deed, row, item)
    refusals = [row.otherwise for row in rows if row.otherwise is not None]
    return _failed(refusals[0]) if refusals else None


def _carry_out(turn: Turn, deed: Deed, row: Interaction, item: int) -> Effect:
    """Do what an interaction says."""
    if row.consumes and item >= 0:
        turn.state.place[item] = NOWHERE
    triggers.respond(turn, row.response, deed.agent)
    return _ok(row.content)


def _hands(turn: Turn, agent: int) -> int:
    """Return the place of what an agent holds."""
    return len(turn.plot.rooms) + len(turn.plot.objects) + agent


# -- looking --------------------------------------------------------------------------------


def _look(turn: Turn, deed: Deed) -> Effect:
    plot, state = turn.plot, turn.state
    if deed.target < 0:
        return _ok(f"You look around the {room_name(plot, state.rooms[deed.agent])}.")
    name = show(plot, deed.target)
    told = plot.look_of(deed.target, state.looks) or f"there is nothing special about the {name}."
    parts = [f"{told[0].upper()}{told[1:]}"]
    if plot.opens[deed.target]:
        parts.append(f"It is {'open' if state.is_open[deed.target] else 'closed'}.")
    inside = insides(plot, state, deed.target)
    if inside and (state.is_open[deed.target] or not plot.containers[deed.target]):
        parts.append(f"In it you see {listing(show(plot, k) for k in inside)}.")
    return _ok(" ".join(parts))


def room_name(plot: Plot, room: int) -> str:
    """Return the name of a room as people read it."""
    return plot.rooms[room].replace("_", " ")


def _inventory(turn: Turn, deed: Deed) -> Effect:
    held = look_around(turn.plot, turn.state, deed.agent).held
    words = listing(show(turn.plot, k) for k in held) if held else "nothing"
    return _ok(f"You carry {words}.")


def _read(turn: Turn, deed: Deed) -> Effect:
    plot, k = turn.plot, deed.target
    text = plot.things[k].read_text
    if text is None:
        return _failed(f"There is nothing to read on the {show(plot, k)}.")
    triggers.set_flag(turn, deed.agent, f"has_read_{plot.objects[k]}")
    return _ok(f"You read the {show(plot, k)}: {text}")


def _search(turn: Turn, deed: Deed) -> Effect:
    plot, state, k = turn.plot, turn.state, deed.target
    name = show(plot, k)
    if plot.things[k].searchable is False:
        return _failed(f"You cannot search the {name}.")
    if plot.containers[k] and not state.is_open[k]:
        return _failed(f"The {name} is {'locked' if state.locked[k] else 'closed'}.")
    found = _reveal(turn, deed.agent, k)
    if found:
        return _ok(f"You search the {name} and find {found}.")
    return _ok(f"You search the {name} and find nothing new.")


def _reveal(turn: Turn, agent: int, host: int) -> str:
    """Bring to light what is hidden in an object. Returns its names, or nothing."""
    state, place = turn.state, len(turn.plot.rooms) + host
    found = [k for k, p in enumerate(state.place) if p == place and state.hidden[k]]
    for k in found:
        state.hidden[k] = 0
        _find(turn, agent, k)
    return listing(show(turn.plot, k) for k in found) if found else ""


def _find(turn: Turn, agent: int, k: int) -> None:
    """Note that an object has come to light, if it is the first time."""
    if not turn.state.found[k]:
        turn.state.found[k] = 1
        turn.happen("item_found", agent, turn.plot.objects[k])


# -- moving -----------------------------------------------------------------------------------


def _go(turn: Turn, deed: Deed) -> Effect:
    plot, state = turn.plot, turn.state
    room, door = plot.exits[state.rooms[deed.agent]].get(deed.direction, (-1, -1))
    if room < 0:
        return _failed("There is no way there now.")
    if door >= 0 and not state.is_open[door]:
        how = "locked" if state.locked[door] else "closed"
        return _failed(f"The {show(plot, door)} is {how}.")
    triggers.move(turn, deed.agent, room)
    return _ok(f"You go {deed.direction} to the {room_name(plot, room)}.")


# -- opening ----------------------------------------------------------------------------------


def _open(turn: Turn, deed: Deed) -> Effect:
    plot, state, k = turn.plot, turn.state, deed.target
    name = show(plot, k)
    if state.locked[k]:
        return _failed(f"The {name} is locked.")
    if not plot.opens[k]:
        found = _reveal(turn, deed.agent, k)
        if found:
            return _ok(f"You open the {name} and find {found}.")
        return _failed(f"The {name} does not open.")
    if state.is_open[k]:
        return _failed(f"The {name} is open already.")
    state.is_open[k] = 1
    inside = insides(plot, state, k)
    for item in inside:
        _find(turn, deed.agent, item)
    if inside and plot.containers[k]:
        return _ok(f"You open the {name} and see {listing(show(plot, i) for i in inside)}.")
    return _ok(
        f"You open the {name}." if not plot.containers[k] else f"You open the {name}: empty."
    )


def _close(turn: Turn, deed: Deed) -> Effect:
    k = deed.target
    if not turn.state.is_open[k]:
        return _failed(f"The {show(turn.plot, k)} is closed already.")
    turn.state.is_open[k] = 0
    return _ok(f"You close the {show(turn.plot, k)}.")


def _unlock(turn: Turn, deed: Deed) -> Effect:
    """Unlock something, with the named item or with whatever fits of what is carried."""
    plot, state, k = turn.plot, turn.state, deed.target
    name = show(plot, k)
    if not state.locked[k]:
        return _failed(f"The {name} is not locked.")
    key = plot.keys[k]
    if deed.item >= 0 and deed.item != key:
        return _failed(f"The {show(plot, deed.item)} does not fit the {name}.")
    if key < 0 or state.place[key] != _hands(turn, deed.agent):
        return _failed(f"You have nothing that unlocks the {name}.")
    state.locked[k] = 0
    return _ok(f"You unlock the {name} with the {show(plot, key)}.")


def _use(turn: Turn, deed: Deed) -> Effect:
    plot = turn.plot
    if deed.target < 0:
        return _failed(f"Nothing happens when you use the {show(plot, deed.item)}.")
    if plot.opens[deed.target] and (plot.keys[deed.target] >= 0 or turn.state.locked[deed.target]):
        return _unlock(turn, deed)
    name, other = show(plot, deed.item), show(plot, deed.target)
    return _failed(f"Nothing happens when you use the {name} on the {other}.")


# -- carrying ---------------------------------------------------------------------------------


def _take(turn: Turn, deed: Deed) -> Effect:
    plot, state, k = turn.plot, turn.state, deed.item
    if state.place[k] == _hands(turn, deed.agent):  # another has handed it over meanwhile
        return _gone(turn, k)
    state.place[k] = _hands(turn, deed.agent)
    _find(turn, deed.agent, k)
    return _ok(f"You take the {show(plot, k)}.")


def _drop(turn: Turn, deed: Deed) -> Effect:
    turn.state.place[deed.item] = turn.state.rooms[deed.agent]
    return _ok(f"You drop the {show(turn.plot, deed.item)}.")


def _put(turn: Turn, deed: Deed) -> Effect:
    plot, state = turn.plot, turn.state
    name, other = show(plot, deed.item), show(plot, deed.target)
    if not state.is_open[deed.target]:
        return _failed(f"The {other} is {'locked' if state.locked[deed.target] else 'closed'}.")
    if _holds(plot, state, deed.item, deed.target):
        return _failed(f"The {other} is inside of the {name}.")
    state.place[deed.item] = len(plot.rooms) + deed.target
    return _ok(f"You put the {name} in the {other}.")


def _holds(plot: Plot, state: RoomState, outer: int, k: int) -> bool:
    """Tell whether an object is, directly or not, inside of another."""
    rooms, objects = len(plot.rooms), len(plot.objects)
    while rooms <= state.place[k] < rooms + objects:
        k = state.place[k] - rooms
        if k == outer:
            return True
    return False


def _give(turn: Turn, deed: Deed) -> Effect:
    state, name = turn.state, show(turn.plot, deed.item)
    together = state.rooms[deed.other] == state.rooms[deed.agent]
    if state.status[deed.other] != "playing" or not together:
        return _failed(f"{turn.agents[deed.other]} is no longer here.")
    state.place[deed.item] = _hands(turn, deed.other)
    return _ok(f"You give the {name} to {turn.agents[deed.other]}.")


# -- speaking ---------------------------------------------------------------------------------


def _say(turn: Turn, deed: Deed) -> Effect:
    turn.letters.append((turn.agents[deed.agent], EVERYONE, deed.message))
    return _ok("You speak up.")


def _tell(turn: Turn, deed: Deed) -> Effect:
    turn.letters.append((turn.agents[deed.agent], turn.agents[deed.other], deed.message))
    return _ok(f"You speak to {turn.agents[deed.other]}.")


def _wait(_turn: Turn, _deed: Deed) -> Effect:
    return _ok("Time passes.")


RULES: dict[str, Callable[[Turn, Deed], Effect]] = {
    "look": _look,
    "go": _go,
    "take": _take,
    "drop": _drop,
    "put": _put,
    "open": _open,
    "close": _close,
    "unlock": _unlock,
    "use": _use,
    "read": _read,
    "search": _search,
    "inventory": _inventory,
    "wait": _wait,
    "say": _say,
    "tell": _tell,
    "give": _give,
}
