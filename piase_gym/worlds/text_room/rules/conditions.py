"""Conditions of a story: what holds. Sentences are in the syntax of rule-engine; never `eval`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from piase_gym.worlds.text_room.levels import story_rules as data
from piase_gym.worlds.text_room.state import Plot, RoomState


@functools.lru_cache(maxsize=256)
def _compiled(sentence: str) -> tuple[Any, tuple[str, ...]]:
    """Compile a sentence and list the names that it uses (rule-engine is imported here)."""
    import rule_engine

    asked: dict[str, None] = {}

    def note(name: str) -> Any:
        asked[name] = None
        return rule_engine.DataType.UNDEFINED

    rule_engine.Rule(sentence, context=rule_engine.Context(type_resolver=note))
    context = rule_engine.Context(resolver=rule_engine.resolve_item)
    return rule_engine.Rule(sentence, context=context), tuple(asked)


def problem_of(sentence: str) -> str | None:
    """Say what is wrong with a sentence, or return ``None``."""
    import rule_engine

    try:
        _compiled(sentence)
    except rule_engine.RuleSyntaxError as error:
        token = error.token
        if token is None:
            return "it ends too early"
        return f"column {token.lexpos + 1}: {token.value!r:.60} is not expected here"
    except rule_engine.EngineError as error:
        return str(getattr(error, "message", error))[:80]
    return None


def symbols_of(sentence: str) -> tuple[str, ...]:
    """Return the names that a sentence uses."""
    return _compiled(sentence)[1]


def sentence_holds(sentence: str, values: Mapping[str, Any]) -> bool:
    """Return whether a sentence holds; one that cannot be evaluated does not."""
    import rule_engine

    try:
        return bool(_compiled(sentence)[0].matches(dict(values)))
    except rule_engine.EngineError:
        return False


# -- conditions --------------------------------------------------------------------------------


def all_hold(
    plot: Plot, state: RoomState, conditions: Iterable[Any], agent: int | None = None
) -> bool:
    """Return whether all conditions hold; see `holds`."""
    return all(holds(plot, state, condition, agent) for condition in conditions)


def holds(plot: Plot, state: RoomState, condition: Any, agent: int | None = None) -> bool:
    """Return whether a condition holds.

    Args:
        plot: The story.
        state: The state.
        condition: One of the conditions of `story`.
        agent: The agent that a condition without `agent_id` is about; ``None`` for any agent.
    """
    return _TESTS[type(condition)](plot, state, condition, agent)


def number_of(plot: Plot, name: str | None) -> int | None:
    """Return the number of an agent of the story."""
    if name is None:
        return None
    return next(k for k, setup in enumerate(plot.story.agent_setup) if setup.agent_id == name)


def _agents_meant(plot: Plot, state: RoomState, condition: Any, agent: int | None) -> list[int]:
    """Return the numbers of the agents that a condition is about."""
    named = number_of(plot, condition.agent_id)
    chosen = named if named is not None else agent
    if chosen is not None and chosen >= 0:
        return [chosen]
    return [k for k, status in enumerate(state.status) if status not in ("none", "coming")]


def _has_item(plot: Plot, state: RoomState, c: data.ItemInInventory, agent: int | None) -> bool:
    hands = len(plot.rooms) + len(plot.objects)
    place = state.place[plot.object_of[c.item_name]] - hands
    return place >= 0 and place in _agents_meant(plot, state, c, agent)


def _flag_is_set(plot: Plot, state: RoomState, c: data.FlagIsSet, agent: int | None) -> bool:
    return any(c.flag_name in state.flags[k] for k in _agents_meant(plot, state, c, agent))


def _is_in_room(plot: Plot, state: RoomState, c: data.AgentInRoom, agent: int | None) -> bool:
    room = plot.room_of[c.room]
    return any(
        state.rooms[k] == room and state.status[k] == "playing"
        for k in _agents_meant(plot, state, c, agent)
    )


def _lies_in_room(plot: Plot, state: RoomState, c: data.ItemInRoom, _agent: int | None) -> bool:
    place, room = state.place[plot.object_of[c.item_name]], plot.room_of[c.room]
    host = place - len(plot.rooms)
    on_top = 0 <= host < len(plot.objects) and plot.containers[host] and not plot.opens[host]
    return place == room or (on_top and state.place[host] == room)


def _object_is(plot: Plot, state: RoomState, c: data.ObjectState, _agent: int | None) -> bool:
    k = plot.object_of[c.object]
    pairs = ((c.is_open, state.is_open[k]), (c.locked, state.locked[k]))
    return all(wanted is None or wanted == bool(found) for wanted, found in pairs)


def _agent_is(plot: Plot, state: RoomState, c: data.AgentState, agent: int | None) -> bool:
    return any(
        sentence_holds(c.condition, words_of(plot, state, k))
        for k in _agents_meant(plot, state, c, agent)
    )


def words_of(plot: Plot, state: RoomState, agent: int) -> dict[str, Any]:
    """Return what a sentence about an agent can speak of."""
    hands = len(plot.rooms) + len(plot.objects) + agent
    held = [plot.objects[k] for k, place in enumerate(state.place) if place == hands]
    own = {"inventory": held, "flags": state.flags[agent], "steps": state.t}
    return {"room": plot.rooms[state.rooms[agent]], **own, **state.stats[agent]}


_TESTS: dict[type, Callable[[Plot, RoomState, Any, int | None], bool]] = {
    data.ItemInInventory: _has_item,
    data.FlagIsSet: _flag_is_set,
    data.AgentInRoom: _is_in_room,
    data.ItemInRoom: _lies_in_room,
    data.ObjectState: _object_is,
    data.AgentState: _agent_is,
}
