"""A step in the making, and the events of a story: what sets them off, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from piase_gym.core.commands import Command, Outcome
from piase_gym.worlds.text_room.levels import story_rules as data
from piase_gym.worlds.text_room.rules.conditions import all_hold, number_of
from piase_gym.worlds.text_room.state import NOWHERE, Plot, RoomState

NOBODY = -1


class Occurrence(NamedTuple):
    """Something that an event may be waiting for.

    Attributes:
        kind: The kind of trigger.
        agent: The agent that caused it, or `NOBODY`.
        what: The room, item or flag, or the number of an event whose count was reached.
    """

    kind: str
    agent: int
    what: int | str


class Effect(NamedTuple):
    """The outcome of a command, and the answer to it."""

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
        happenings: The things that events may be waiting for, in order.
    """

    plot: Plot
    state: RoomState
    agents: tuple[str, ...]
    rewards: list[float]
    milestones: dict[int, list[str]] = field(default_factory=dict)
    letters: list[tuple[str, str, str]] = field(default_factory=list)
    happenings: list[Occurrence] = field(default_factory=list)

    def happen(self, kind: str, agent: int, what: int | str) -> None:
        """Note something, if there are events that may be waiting for it."""
        if kind in self.plot.awaited:
            self.happenings.append(Occurrence(kind, agent, what))


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
"""The most rounds in which events set each other off in one call of `settle`."""
MOST_HAPPENINGS = 1000
"""The most happenings that one call of `settle` looks at."""
LIMIT = 1e6
"""The largest absolute value of a metric, or of a number of an agent's body."""


# -- what sets events off ----------------------------------------------------------------------


def note_action(turn: Turn, action: ResolvedCommand, worked: bool) -> None:
    """Count an action for the events that wait for it."""
    for number, event in turn.plot.watched.get(action.verb, ()):
        trigger = event.trigger
        assert isinstance(trigger, data.ActionTaken)
        if not _matches(turn.plot, trigger, action, worked):
            continue
        key = f"{number}:{action.agent}"
        count = turn.state.counts.get(key, 0) + 1
        turn.state.counts[key] = count
        if count == trigger.count or (event.repeat and count % trigger.count == 0):
            turn.happen("action_taken", action.agent, number)


def _matches(plot: Plot, trigger: data.ActionTaken, action: ResolvedCommand, worked: bool) -> bool:
    """Return whether an action is one that a trigger counts."""
    wanted = {"ok": (True,), "failed": (False,), "any": (True, False)}[trigger.outcome]
    if action.verb == "use" and trigger.outcome == "ok":
        wanted = (True, False)  # a use that only an event responds to fails by the common rules
    named = number_of(plot, trigger.agent_id)
    if worked not in wanted or named not in (None, action.agent):
        return False
    target, item = trigger.target, trigger.item_name
    one, two = plot.object_of.get(target or "", -1), plot.object_of.get(item or "", -1)
    if target is not None and item is None:
        return one == action.target or (action.target < 0 and one == action.item)
    return one in (-1, action.target) and two in (-1, action.item)


def settle(turn: Turn) -> bool:
    """Let events happen that were set off, and those that they set off in turn.

    Returns:
        Whether any event happened.
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


def _set_off(turn: Turn, happening: Occurrence) -> Iterator[tuple[int, data.Event]]:
    """Yield the events that something sets off."""
    for number, event in turn.plot.awaited[happening.kind]:
        if turn.state.fired[number] and not event.repeat:
            continue
        trigger = event.trigger
        name = _WAITS_FOR.get(happening.kind)
        wanted = number if name is None else getattr(trigger, name)
        cause = number_of(turn.plot, getattr(trigger, "agent_id", None))
        if happening.what != wanted or cause not in (None, happening.agent):
            continue
        if isinstance(trigger, data.AgentLeaves) and trigger.last and not _empties(turn, trigger):
            continue
        if all_hold(turn.plot, turn.state, event.conditions, happening.agent):
            yield number, event


_WAITS_FOR = {
    "item_found": "item_name",
    "flag_set": "flag_name",
    "step_reached": "step",
    "agent_enters": "room",
    "agent_leaves": "room",
}
"""The field of a trigger that says what must happen; an action is noted for the event's number."""


def _empties(turn: Turn, trigger: data.AgentLeaves) -> bool:
    """Return whether nobody in play remains in the room that was left."""
    room, state = turn.plot.room_of[trigger.room], turn.state
    there = zip(state.rooms, state.status, strict=True)
    return not any(place == room and status == "playing" for place, status in there)


# -- what follows ------------------------------------------------------------------------------


def respond(turn: Turn, responses: Sequence[Any], agent: int) -> None:
    """Carry out responses; `agent` is the agent that caused them, or `NOBODY`."""
    for response in responses:
        if (change := _TO_THINGS.get(type(response))) is not None:
            change(turn, response, agent)
        else:
            for k in _whom(turn, response.agent_id, agent):
                _TO_AGENTS[type(response)](turn, response, k)


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
    """Return the agents that a response is about: the named one, all, or the one that caused it."""
    playing = [k for k, status in enumerate(turn.state.status) if status == "playing"]
    if name is None and agent != NOBODY:
        return [agent]
    if name is None or name == "all":
        return playing
    number = number_of(turn.plot, name)
    return [number] if number is not None else []


def _message(turn: Turn, r: data.Message, agent: int) -> None:
    before = turn.state.told[agent]
    turn.state.told[agent] = r.content if before is None else f"{before} {r.content}"


def reach(turn: Turn, agent: int, milestone: str) -> None:
    """Note a milestone of an agent, the first time."""
    if milestone not in turn.state.reached[agent]:
        turn.state.reached[agent].append(milestone)
        turn.milestones.setdefault(agent, []).append(milestone)


def _change_state(turn: Turn, r: data.ChangeState, _agent: int) -> None:
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


def _spawn(turn: Turn, r: data.SpawnObject, agent: int) -> None:
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


def change_stat(state: RoomState, agent: int, stat: str, amount: float) -> None:
    """Add to a number of an agent's body, if the agent has it."""
    if stat in state.stats[agent]:
        _add(state.stats[agent], stat, amount)


def _add(numbers: dict[str, float], name: str, amount: float) -> None:
    """Add to a number; numbers are rounded to four decimals."""
    numbers[name] = round(min(LIMIT, max(-LIMIT, numbers[name] + amount)), 4)


def _reward(turn: Turn, r: data.GiveReward, agent: int) -> None:
    turn.rewards[agent] += r.amount


def _end(turn: Turn, r: data.End, agent: int) -> None:
    if turn.state.status[agent] == "playing":
        turn.state.status[agent] = r.result


def _remove(turn: Turn, r: data.RemoveObject, _agent: int) -> None:
    turn.state.place[turn.plot.object_of[r.object]] = NOWHERE


Response = Callable[[Turn, Any, int], None]
_TO_AGENTS: dict[type, Response] = {
    data.Message: _message,
    data.LogMilestone: lambda turn, r, k: reach(turn, k, r.milestone_name),
    data.SetFlag: lambda turn, r, k: set_flag(turn, k, r.flag_name, r.value),
    data.MoveAgent: lambda turn, r, k: move(turn, k, turn.plot.room_of[r.room]),
    data.ChangeStat: lambda turn, r, k: change_stat(turn.state, k, r.stat, r.amount),
    data.GiveReward: _reward,
    data.End: _end,
}
"""The functions for responses that are about agents, called for each of these agents."""
_TO_THINGS: dict[type, Response] = {
    data.ChangeState: _change_state,
    data.SpawnObject: _spawn,
    data.RemoveObject: _remove,
    data.AddMetric: lambda turn, r, _: _add(turn.state.metrics, r.metric, r.amount),
}
"""The functions for the other responses, called with the agent that caused them."""
