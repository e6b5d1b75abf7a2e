"""TextRoom's rules: one small function per verb, in a table.

Each takes a `Turn` (the state and what this step has done to it) and a command with its names
looked up, changes the state, and returns an `Effect`. Commands were judged legal in the state
before anybody acted; `_missed` checks again for what another agent may have taken away since.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable

from piase_gym.core.commands import Outcome
from piase_gym.core.mailbox import EVERYONE
from piase_gym.worlds.text_room.levels.story_rules import Interaction
from piase_gym.worlds.text_room.observe.recall import know_way
from piase_gym.worlds.text_room.observe.visibility import can_reach, insides, look_around
from piase_gym.worlds.text_room.rules import events
from piase_gym.worlds.text_room.rules.conditions import all_hold
from piase_gym.worlds.text_room.rules.events import Effect, ResolvedCommand, Turn
from piase_gym.worlds.text_room.state import NOWHERE, Plot, RoomState
from piase_gym.worlds.texts.wording import listing, spaced


def perform(turn: Turn, action: ResolvedCommand) -> Effect:
    """Carry out a legal command, with the events that it sets off."""
    missed = _missed(turn, action)
    if missed is not None:
        return missed
    effect = _interact(turn, action) or RULES[action.verb](turn, action)
    worked = effect.outcome is Outcome.OK
    if worked and action.verb in ("search", "open") and not turn.plot.opens[action.target]:
        _note(turn.state.searched[action.agent], action.target)
    events.note_action(turn, action, worked)
    said = events.settle(turn)
    if said and action.verb == "use" and effect.outcome is Outcome.FAILED:
        return Effect(Outcome.OK, f"You use the {show(turn.plot, action.item)}.")
    return effect


def show(plot: Plot, k: int) -> str:
    """Return the name of an object as people read it."""
    return spaced(plot.objects[k])


def the_things(words: Iterable[str]) -> str:
    """Write ``the desk, the lamp and the box``."""
    return listing(f"the {word}" for word in words)


def _ok(text: str) -> Effect:
    return Effect(Outcome.OK, text)


def _failed(text: str) -> Effect:
    return Effect(Outcome.FAILED, text)


IN_HAND = ("drop", "put", "give", "unlock", "use")
"""The verbs whose item must be in hand; what is used by itself need only be in reach."""


def _missed(turn: Turn, action: ResolvedCommand) -> Effect | None:
    """Return a failure if another agent has put a thing of the command out of reach or hand."""
    alone = action.verb == "use" and action.target < 0
    needed = action.item >= 0 and action.verb in IN_HAND and not alone
    if needed and turn.state.place[action.item] != _hands(turn, action.agent):
        return _gone(turn, action.item)
    for k in (action.target, action.item):
        if k >= 0 and not can_reach(turn.plot, turn.state, action.agent, k):
            return _gone(turn, k)
    return None


def _gone(turn: Turn, k: int) -> Effect:
    return _failed(f"Another was faster: the {show(turn.plot, k)} is no longer there.")


# -- rules of an object's own ----------------------------------------------------------------


def _interact(turn: Turn, action: ResolvedCommand) -> Effect | None:
    """Carry out an interaction that the story gives an object, if there is one."""
    target, item = (action.target, action.item) if action.target >= 0 else (action.item, -1)
    rows = turn.plot.interactions.get((action.verb, target, item)) if target >= 0 else None
    if not rows:
        return None
    for row in rows:
        if all_hold(turn.plot, turn.state, row.conditions, action.agent):
            return _carry_out(turn, action, row, item)
    refusals = [row.otherwise for row in rows if row.otherwise is not None]
    return _failed(refusals[0]) if refusals else None


def _carry_out(turn: Turn, action: ResolvedCommand, row: Interaction, item: int) -> Effect:
    """Do what an interaction says."""
    if row.consumes and item >= 0:
        turn.state.place[item] = NOWHERE
    events.respond(turn, row.response, action.agent)
    return _ok(row.content)


def _hands(turn: Turn, agent: int) -> int:
    """Return the place of what an agent holds."""
    return len(turn.plot.rooms) + len(turn.plot.objects) + agent


# -- looking --------------------------------------------------------------------------------


def _look(turn: Turn, action: ResolvedCommand) -> Effect:
    plot, state = turn.plot, turn.state
    if action.target < 0:
        return _ok(f"You look around the {room_name(plot, state.rooms[action.agent])}.")
    name = show(plot, action.target)
    text = plot.look_of(action.target, state.looks) or f"there is nothing special about the {name}."
    parts = [f"{text[0].upper()}{text[1:]}"]
    if plot.opens[action.target]:
        parts.append(f"It is {'open' if state.is_open[action.target] else 'closed'}.")
    inside = insides(plot, state, action.target)
    if inside and (state.is_open[action.target] or not plot.containers[action.target]):
        parts.append(f"In it you see {the_things(show(plot, k) for k in inside)}.")
    return _ok(" ".join(parts))


def room_name(plot: Plot, room: int) -> str:
    """Return the name of a room as people read it."""
    return spaced(plot.rooms[room])


def _inventory(turn: Turn, action: ResolvedCommand) -> Effect:
    held = look_around(turn.plot, turn.state, action.agent).held
    words = the_things(show(turn.plot, k) for k in held) if held else "nothing"
    return _ok(f"You carry {words}.")


def _read(turn: Turn, action: ResolvedCommand) -> Effect:
    plot, k = turn.plot, action.target
    text = plot.things[k].read_text
    if text is None:
        return _failed(f"There is nothing to read on the {show(plot, k)}.")
    events.set_flag(turn, action.agent, f"has_read_{plot.objects[k]}")
    return _ok(f"You read the {show(plot, k)}: {text}")


def _search(turn: Turn, action: ResolvedCommand) -> Effect:
    plot, state, k = turn.plot, turn.state, action.target
    name = show(plot, k)
    if plot.things[k].searchable is False:
        return _failed(f"You cannot search the {name}.")
    if plot.containers[k] and not state.is_open[k]:
        return _failed(f"The {name} is {'locked' if state.locked[k] else 'closed'}.")
    found = _reveal(turn, action.agent, k)
    if found:
        return _ok(f"You search the {name} and find {found}.")
    return _ok(f"You search the {name} and find nothing new.")


def _note(known: list[int], number: int) -> None:
    """Add a number to what an agent knows."""
    if number not in known:
        bisect.insort(known, number)


def _reveal(turn: Turn, agent: int, host: int) -> str:
    """Bring to light what is hidden in an object; return the names, or an empty string."""
    state, place = turn.state, len(turn.plot.rooms) + host
    found = [k for k, p in enumerate(state.place) if p == place and state.hidden[k]]
    for k in found:
        state.hidden[k] = 0
        _find(turn, agent, k)
    return the_things(show(turn.plot, k) for k in found) if found else ""


def _find(turn: Turn, agent: int, k: int) -> None:
    """Note that an object has come to light, if it is the first time."""
    if not turn.state.found[k]:
        turn.state.found[k] = 1
        turn.happen("item_found", agent, turn.plot.objects[k])


# -- moving -----------------------------------------------------------------------------------


def _go(turn: Turn, action: ResolvedCommand) -> Effect:
    plot, state = turn.plot, turn.state
    room, door = plot.exits[state.rooms[action.agent]].get(action.direction, (-1, -1))
    if room < 0:
        return _failed("There is no way there now.")
    if door >= 0 and not state.is_open[door]:
        how = "locked" if state.locked[door] else "closed"
        return _failed(f"The {show(plot, door)} is {how}.")
    know_way(plot, state.walked[action.agent], state.rooms[action.agent], action.direction)
    events.move(turn, action.agent, room)
    return _ok(f"You go {action.direction} to the {room_name(plot, room)}.")


# -- opening ----------------------------------------------------------------------------------


def _open(turn: Turn, action: ResolvedCommand) -> Effect:
    plot, state, k = turn.plot, turn.state, action.target
    name = show(plot, k)
    if state.locked[k]:
        return _failed(f"The {name} is locked.")
    if not plot.opens[k]:
        found = _reveal(turn, action.agent, k)
        if found:
            return _ok(f"You open the {name} and find {found}.")
        return _failed(f"The {name} does not open.")
    if state.is_open[k]:
        return _failed(f"The {name} is open already.")
    state.is_open[k] = 1
    inside = insides(plot, state, k)
    for item in inside:
        _find(turn, action.agent, item)
    if inside and plot.containers[k]:
        return _ok(f"You open the {name} and see {the_things(show(plot, i) for i in inside)}.")
    return _ok(
        f"You open the {name}." if not plot.containers[k] else f"You open the {name}; it is empty."
    )


def _close(turn: Turn, action: ResolvedCommand) -> Effect:
    k = action.target
    if not turn.state.is_open[k]:
        return _failed(f"The {show(turn.plot, k)} is closed already.")
    turn.state.is_open[k] = 0
    return _ok(f"You close the {show(turn.plot, k)}.")


def _unlock(turn: Turn, action: ResolvedCommand) -> Effect:
    """Unlock something with the named item, or else with whichever carried item fits."""
    plot, state, k = turn.plot, turn.state, action.target
    name = show(plot, k)
    if not state.locked[k]:
        return _failed(f"The {name} is not locked.")
    key = plot.keys[k]
    if action.item >= 0 and action.item != key:
        return _failed(f"The {show(plot, action.item)} does not fit the {name}.")
    if key < 0 or state.place[key] != _hands(turn, action.agent):
        return _failed(f"You have nothing that unlocks the {name}.")
    state.locked[k] = 0
    return _ok(f"You unlock the {name} with the {show(plot, key)}.")


def _use(turn: Turn, action: ResolvedCommand) -> Effect:
    plot = turn.plot
    if action.target < 0:
        return _failed(f"Nothing happens when you use the {show(plot, action.item)}.")
    if plot.opens[action.target] and (
        plot.keys[action.target] >= 0 or turn.state.locked[action.target]
    ):
        return _unlock(turn, action)
    name, other = show(plot, action.item), show(plot, action.target)
    return _failed(f"Nothing happens when you use the {name} on the {other}.")


# -- carrying ---------------------------------------------------------------------------------


def _take(turn: Turn, action: ResolvedCommand) -> Effect:
    plot, state, k = turn.plot, turn.state, action.item
    if state.place[k] == _hands(turn, action.agent):  # another has handed it over meanwhile
        return _gone(turn, k)
    state.place[k] = _hands(turn, action.agent)
    _find(turn, action.agent, k)
    return _ok(f"You take the {show(plot, k)}.")


def _drop(turn: Turn, action: ResolvedCommand) -> Effect:
    turn.state.place[action.item] = turn.state.rooms[action.agent]
    return _ok(f"You drop the {show(turn.plot, action.item)}.")


def _put(turn: Turn, action: ResolvedCommand) -> Effect:
    plot, state = turn.plot, turn.state
    name, other = show(plot, action.item), show(plot, action.target)
    if not state.is_open[action.target]:
        return _failed(f"The {other} is {'locked' if state.locked[action.target] else 'closed'}.")
    if _holds(plot, state, action.item, action.target):
        return _failed(f"The {other} is inside of the {name}.")
    state.place[action.item] = len(plot.rooms) + action.target
    return _ok(f"You put the {name} in the {other}.")


def _holds(plot: Plot, state: RoomState, outer: int, k: int) -> bool:
    """Return whether an object is inside another, directly or not."""
    rooms, objects = len(plot.rooms), len(plot.objects)
    while rooms <= state.place[k] < rooms + objects:
        k = state.place[k] - rooms
        if k == outer:
            return True
    return False


def _give(turn: Turn, action: ResolvedCommand) -> Effect:
    state, name = turn.state, show(turn.plot, action.item)
    together = state.rooms[action.other] == state.rooms[action.agent]
    if state.status[action.other] != "playing" or not together:
        return _failed(f"{turn.agents[action.other]} is no longer here.")
    state.place[action.item] = _hands(turn, action.other)
    return _ok(f"You give the {name} to {turn.agents[action.other]}.")


# -- speaking ---------------------------------------------------------------------------------


def _say(turn: Turn, action: ResolvedCommand) -> Effect:
    turn.letters.append((turn.agents[action.agent], EVERYONE, action.message))
    return _ok("You speak up.")


def _tell(turn: Turn, action: ResolvedCommand) -> Effect:
    turn.letters.append((turn.agents[action.agent], turn.agents[action.other], action.message))
    return _ok(f"You speak to {turn.agents[action.other]}.")


def _wait(_turn: Turn, _deed: ResolvedCommand) -> Effect:
    return _ok("Time passes.")


RULES: dict[str, Callable[[Turn, ResolvedCommand], Effect]] = {
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
