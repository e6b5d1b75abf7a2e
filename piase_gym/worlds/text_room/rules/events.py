"""A step in the making, and the events of a story: what sets them off, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from piase_gym.core.commands import Command, Outcome
from piase_gym.worlds.text_room.levels.story_rules import (
    ActionTaken,
    AddMetric,
    AgentEnters,
    AgentLeaves,
    ChangeStat,
    ChangeState,
    End,
    Event,
    FlagSet,
    GiveReward,
    ItemFound,
    LogMilestone,
    Message,
    MoveAgent,
    RemoveObject,
    SetFlag,
    SpawnObject,
    StepReached,
)
from piase_gym.worlds.text_room.rules.conditions import all_hold, number_of
from piase_gym.worlds.text_room.state import NOWHERE, Plot, RoomState

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


class Effect(NamedTuple):
    """What came of a command."""

    outcome: Outcome
    feedback: str


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
    happenings: list[Happening] = field(default_factory=list)

    def happen(self, kind: str, agent: int, what: int | str) -> None:
        """Note something, if there are events that may be waiting for it."""
        if kind in self.plot.awaited:
            self.happenings.append(Happening(kind, agent, what))


class ResolvedCommand(NamedTuple):
    """A command with its names looked up; -1 stands for what it does not name."""

    verb: str
    agent: int
    target: int = -1
    item: int = -1
    other: int = -1
    direction: str = ""
    message: str = ""


def resolve_names(
    plot: Plot, agents: tuple[str, ...], agent: int, command: Command
) -> ResolvedCommand:
    """Look up the names of a command."""
    values = command.parameters
    other = values.get("agent_id")
    return ResolvedCommand(
        command.verb,
        agent,
        plot.object_of.get(values.get("target_object", ""), -1),
        plot.object_of.get(values.get("item_name", ""), -1),
        agents.index(other) if other in agents else -1,
        values.get("direction", ""),
        values.get("message", ""),
    )


MOST_ROUNDS = 20
"""Events may set each other off so many times in one step."""
MOST_HAPPENINGS = 1000
"""So many things that events may be waiting for are looked at after one command."""
LIMIT = 1e6
"""No number of an agent's body, and no metric, is further from 0."""


# -- what sets events off ----------------------------------------------------------------------


def note_action(turn: Turn, action: ResolvedCommand, worked: bool) -> None:
    """Count an action for the events that wait for it."""
    for number, event in turn.plot.watched.get(action.verb, ()):
        trigger = event.trigger
        assert isinstance(trigger, ActionTaken)
        if not _matches(turn.plot, trigger, action, worked):
            continue
        key = f"{number}:{action.agent}"
        count = turn.state.counts.get(key, 0) + 1
        turn.state.counts[key] = count
        if count == trigger.count or (event.repeat and count % trigger.count == 0):
            turn.happen("action_taken", action.agent, number)


def _matches(plot: Plot, trigger: ActionTaken, action: ResolvedCommand, worked: bool) -> bool:
    """Tell whether an action is one that a trigger counts."""
    wanted = {"ok": (True,), "failed": (False,), "any": (True, False)}[trigger.outcome]
    if action.verb == "use" and trigger.outcome == "ok":
        wanted = (True, False)  # a use that only an event knows of fails by the common rules
    named = number_of(plot, trigger.agent_id)
    if worked not in wanted or named not in (None, action.agent):
        return False
    target, item = trigger.target, trigger.item_name
    one, two = plot.object_of.get(target or "", -1), plot.object_of.get(item or "", -1)
    if target is not None and item is None:
        return one == action.target or (action.target < 0 and one == action.item)
    return one in (-1, action.target) and two in (-1, action.item)


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
