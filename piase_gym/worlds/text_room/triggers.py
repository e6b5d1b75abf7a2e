"""Conditions and events: what holds, what sets an event off, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from piase_gym.worlds.text_room import sentences
from piase_gym.worlds.text_room.state import NOWHERE, Plot, RoomState
from piase_gym.worlds.text_room.story import (
    ActionTaken,
    AddMetric,
    AgentEnters,
    AgentInRoom,
    AgentLeaves,
    AgentState,
    ChangeStat,
    ChangeState,
    End,
    Event,
    FlagIsSet,
    FlagSet,
    GiveReward,
    ItemFound,
    ItemInInventory,
    ItemInRoom,
    LogMilestone,
    Message,
    MoveAgent,
    ObjectState,
    RemoveObject,
    SetFlag,
    SpawnObject,
    StepReached,
)

if TYPE_CHECKING:
    from piase_gym.worlds.text_room.rules import Deed, Turn

MOST_ROUNDS = 20
"""Events may set each other off so many times in one step."""
MOST_HAPPENINGS = 1000
"""So many things that events may be waiting for are looked at after one command."""
LIMIT = 1e6
"""No number of an agent's body, and no metric, is further from 0."""
NOBODY = -1


class Happening(NamedTuple):
    """Something that an event may be waiting for.

    Attributes:
        kind: The kind of trigger.
        agent: Who caused it, or `NOBODY`.
        what: The room, item or flag, or the number of an event whose count was reached.
    """

    kind: str
    agent: int
    what: int | str


# -- conditions --------------------------------------------------------------------------------


def all_hold(
    plot: Plot, state: RoomState, conditions: Iterable[Any], agent: int | None = None
) -> bool:
    """Tell whether all of some conditions hold; see `holds`."""
    return all(holds(plot, state, condition, agent) for condition in conditions)


def holds(plot: Plot, state: RoomState, condition: Any, agent: int | None = None) -> bool:
    """Tell whether a condition holds.

    Args:
        plot: The story.
        state: The state.
        condition: One of the conditions of `story`.
        agent: Whom a condition without `agent_id` is about; ``None`` for anybody.
    """
    return _TESTS[type(condition)](plot, state, condition, agent)


def number_of(plot: Plot, name: str | None) -> int | None:
    """Return the number of an agent of the story."""
    if name is None:
        return None
    return next(k for k, setup in enumerate(plot.story.agent_setup) if setup.agent_id == name)


def _whose(plot: Plot, state: RoomState, condition: Any, agent: int | None) -> list[int]:
    """Return whom a condition is about."""
    named = number_of(plot, condition.agent_id)
    chosen = named if named is not None else agent
    if chosen is not None and chosen >= 0:
        return [chosen]
    return [k for k, status in enumerate(state.status) if status not in ("none", "coming")]


def _has_item(plot: Plot, state: RoomState, c: ItemInInventory, agent: int | None) -> bool:
    hands = len(plot.rooms) + len(plot.objects)
    place = state.place[plot.object_of[c.item_name]] - hands
    return place >= 0 and place in _whose(plot, state, c, agent)


def _flag_is_set(plot: Plot, state: RoomState, c: FlagIsSet, agent: int | None) -> bool:
    return any(c.flag_name in state.flags[k] for k in _whose(plot, state, c, agent))


def _is_in_room(plot: Plot, state: RoomState, c: AgentInRoom, agent: int | None) -> bool:
    room = plot.room_of[c.room]
    return any(
        state.rooms[k] == room and state.status[k] == "playing"
        for k in _whose(plot, state, c, agent)
    )


def _lies_in_room(plot: Plot, state: RoomState, c: ItemInRoom, _agent: int | None) -> bool:
    return state.place[plot.object_of[c.item_name]] == plot.room_of[c.room]


def _object_is(plot: Plot, state: RoomState, c: ObjectState, _agent: int | None) -> bool:
    k = plot.object_of[c.object]
    pairs = ((c.is_open, state.is_open[k]), (c.locked, state.locked[k]))
    return all(wanted is None or wanted == bool(found) for wanted, found in pairs)


def _agent_is(plot: Plot, state: RoomState, c: AgentState, agent: int | None) -> bool:
    return any(
        sentences.holds(c.condition, words_of(plot, state, k))
        for k in _whose(plot, state, c, agent)
    )


def words_of(plot: Plot, state: RoomState, agent: int) -> dict[str, Any]:
    """Return what a sentence about an agent can speak of."""
    hands = len(plot.rooms) + len(plot.objects) + agent
    held = [plot.objects[k] for k, place in enumerate(state.place) if place == hands]
    own = {"inventory": held, "flags": state.flags[agent], "steps": state.t}
    return {"room": plot.rooms[state.rooms[agent]], **own, **state.stats[agent]}


_TESTS: dict[type, Callable[[Plot, RoomState, Any, int | None], bool]] = {
    ItemInInventory: _has_item,
    FlagIsSet: _flag_is_set,
    AgentInRoom: _is_in_room,
    ItemInRoom: _lies_in_room,
    ObjectState: _object_is,
    AgentState: _agent_is,
}


# -- what sets events off ----------------------------------------------------------------------


def note_action(turn: Turn, deed: Deed, worked: bool) -> None:
    """Count an action for the events that wait for it."""
    for number, event in turn.plot.watched.get(deed.verb, ()):
        trigger = event.trigger
        assert isinstance(trigger, ActionTaken)
        if not _matches(turn.plot, trigger, deed, worked):
            continue
        key = f"{number}:{deed.agent}"
        count = turn.state.counts.get(key, 0) + 1
        turn.state.counts[key] = count
        if count == trigger.count or (event.repeat and count % trigger.count == 0):
            turn.happen("action_taken", deed.agent, number)


def _matches(plot: Plot, trigger: ActionTaken, deed: Deed, worked: bool) -> bool:
    """Tell whether an action is one that a trigger counts."""
    wanted = {"ok": (True,), "failed": (False,), "any": (True, False)}[trigger.outcome]
    if deed.verb == "use" and trigger.outcome == "ok":
        wanted = (True, False)  # a use that only an event knows of fails by the common rules
    named = number_of(plot, trigger.agent_id)
    if worked not in wanted or named not in (None, deed.agent):
        return False
    target, item = trigger.target, trigger.item_name
    one, two = plot.object_of.get(target or "", -1), plot.object_of.get(item or "", -1)
    if target is not None and item is None:
        return one == deed.target or (deed.target < 0 and one == deed.item)
    return one in (-1, deed.target) and two in (-1, deed.item)


def settle(turn: Turn) -> bool:
    """Let the events happen that are set off, and those that these set off in turn.

    Returns:
        Whether any did.
    """
    happened, looked = False, 0
    for _ in range(MOST_ROUNDS):
        if not turn.happenings:
            break
        due, turn.happenings = turn.happenings, []
        due = due[: max(0, MOST_HAPPENINGS - looked)]
        looked += len(due)
        for happening in due:
            for number, event in _set_off(turn, happening):
                turn.state.fired[number] += 1
                happened = True
                respond(turn, event.response, happening.agent)
    turn.happenings.clear()
    return happened


def _set_off(turn: Turn, happening: Happening) -> Iterator[tuple[int, Event]]:
    """Yield the events that something sets off."""
    for number, event in turn.plot.awaited[happening.kind]:
        if turn.state.fired[number] and not event.repeat:
            continue
        trigger = event.trigger
        fits = _FITS[type(trigger)](turn, trigger, happening, number)
        if fits and all_hold(turn.plot, turn.state, event.conditions, happening.agent):
            yield number, event


def _by(turn: Turn, trigger: Any, happening: Happening) -> bool:
    """Tell whether it was the agent whom a trigger names, if it names one."""
    return number_of(turn.plot, trigger.agent_id) in (None, happening.agent)


def _empties(turn: Turn, trigger: AgentLeaves) -> bool:
    """Tell whether nobody remains in the room that was left."""
    room, state = turn.plot.room_of[trigger.room], turn.state
    there = zip(state.rooms, state.status, strict=True)
    return not any(place == room and status == "playing" for place, status in there)


_FITS: dict[type, Callable[[Turn, Any, Happening, int], bool]] = {
    ActionTaken: lambda turn, trigger, event, number: event.what == number,
    ItemFound: lambda turn, t, event, _: event.what == t.item_name and _by(turn, t, event),
    FlagSet: lambda turn, t, event, _: event.what == t.flag_name and _by(turn, t, event),
    StepReached: lambda turn, t, event, _: event.what == t.step,
    AgentEnters: lambda turn, t, event, _: event.what == t.room and _by(turn, t, event),
    AgentLeaves: lambda turn, t, event, _: (
        event.what == t.room and _by(turn, t, event) and (not t.last or _empties(turn, t))
    ),
}


# -- what follows ------------------------------------------------------------------------------


def respond(turn: Turn, responses: Sequence[Any], agent: int) -> None:
    """Carry out responses; `agent` is who caused them, or `NOBODY`."""
    for response in responses:
        _DEEDS[type(response)](turn, response, agent)


def set_flag(turn: Turn, agent: int, flag: str, value: bool = True) -> None:
    """Set or clear a flag of an agent."""
    flags = turn.state.flags[agent]
    if value and flag not in flags:
        flags.append(flag)
        turn.happen("flag_set", agent, flag)
    elif not value and flag in flags:
        flags.remove(flag)


def move(turn: Turn, agent: int, room: int) -> None:
    """Take an agent to another room."""
    before = turn.state.rooms[agent]
    turn.state.rooms[agent] = room
    if before != room:
        turn.happen("agent_leaves", agent, turn.plot.rooms[before])
        turn.happen("agent_enters", agent, turn.plot.rooms[room])


def _whom(turn: Turn, name: str | None, agent: int) -> list[int]:
    """Return whom a response is about: the named agent, ``all``, or who caused it."""
    playing = [k for k, status in enumerate(turn.state.status) if status == "playing"]
    if name is None and agent != NOBODY:
        return [agent]
    if name is None or name == "all":
        return playing
    number = number_of(turn.plot, name)
    return [number] if number is not None else []


def _message(turn: Turn, r: Message, agent: int) -> None:
    for k in _whom(turn, r.agent_id, agent):
        before = turn.state.told[k]
        turn.state.told[k] = r.content if before is None else f"{before} {r.content}"


def _milestone(turn: Turn, r: LogMilestone, agent: int) -> None:
    for k in _whom(turn, r.agent_id, agent):
        reach(turn, k, r.milestone_name)


def reach(turn: Turn, agent: int, milestone: str) -> None:
    """Note a milestone of an agent, the first time."""
    if milestone not in turn.state.reached[agent]:
        turn.state.reached[agent].append(milestone)
        turn.milestones.setdefault(agent, []).append(milestone)


def _set_flag(turn: Turn, r: SetFlag, agent: int) -> None:
    for k in _whom(turn, r.agent_id, agent):
        set_flag(turn, k, r.flag_name, r.value)


def _change_state(turn: Turn, r: ChangeState, _agent: int) -> None:
    state = turn.state
    if r.description is not None:
        key = f"room:{r.room}" if r.room is not None else f"object:{r.object}"
        state.looks[key] = r.description
    if r.object is not None:
        k = turn.plot.object_of[r.object]
        if r.locked is not None:
            state.locked[k] = int(r.locked)
            state.is_open[k] &= not r.locked
        if r.is_open is not None:
            state.is_open[k] = int(r.is_open)
            state.locked[k] &= not r.is_open


def _spawn(turn: Turn, r: SpawnObject, agent: int) -> None:
    plot, state = turn.plot, turn.state
    k = plot.object_of[r.object]
    if state.place[k] != NOWHERE:
        return
    rooms = len(plot.rooms)
    if r.container is not None:
        state.place[k] = rooms + plot.object_of[r.container]
    elif r.agent_id is not None:
        state.place[k] = rooms + len(plot.objects) + (number_of(plot, r.agent_id) or 0)
    elif r.room is not None:
        state.place[k] = plot.room_of[r.room]
    else:
        state.place[k] = state.rooms[max(agent, 0)]


def _remove(turn: Turn, r: RemoveObject, _agent: int) -> None:
    turn.state.place[turn.plot.object_of[r.object]] = NOWHERE


def _move_agent(turn: Turn, r: MoveAgent, agent: int) -> None:
    for k in _whom(turn, r.agent_id, agent):
        move(turn, k, turn.plot.room_of[r.room])


def change_stat(state: RoomState, agent: int, stat: str, amount: float) -> None:
    """Add to a number of an agent, if it has it; numbers are kept to four digits."""
    stats = state.stats[agent]
    if stat in stats:
        stats[stat] = round(min(LIMIT, max(-LIMIT, stats[stat] + amount)), 4)


def _change_stat(turn: Turn, r: ChangeStat, agent: int) -> None:
    for k in _whom(turn, r.agent_id, agent):
        change_stat(turn.state, k, r.stat, r.amount)


def _add_metric(turn: Turn, r: AddMetric, _agent: int) -> None:
    metrics = turn.state.metrics
    metrics[r.metric] = round(min(LIMIT, max(-LIMIT, metrics[r.metric] + r.amount)), 4)


def _reward(turn: Turn, r: GiveReward, agent: int) -> None:
    for k in _whom(turn, r.agent_id, agent):
        turn.rewards[k] += r.amount


def _end(turn: Turn, r: End, agent: int) -> None:
    for k in _whom(turn, r.agent_id, agent):
        if turn.state.status[k] == "playing":
            turn.state.status[k] = r.result


_DEEDS: dict[type, Callable[[Turn, Any, int], None]] = {
    Message: _message,
    LogMilestone: _milestone,
    SetFlag: _set_flag,
    ChangeState: _change_state,
    SpawnObject: _spawn,
    RemoveObject: _remove,
    MoveAgent: _move_agent,
    ChangeStat: _change_stat,
    AddMetric: _add_metric,
    GiveReward: _reward,
    End: _end,
}
