"""The vector of TextRoom's facts; see `vector_of` for its layout. It is float32."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.text_room.actions import Vocabulary
from piase_gym.worlds.text_room.config import TextRoomEnvelope
from piase_gym.worlds.text_room.facts import STATES, KnownExit, PastRoom, StepFacts, TextRoomFacts
from piase_gym.worlds.text_room.levels.story_rules import DIRECTIONS
from piase_gym.worlds.text_room.rules.events import LIMIT
from piase_gym.worlds.text_room.state import STATUSES, Plot, RoomState
from piase_gym.worlds.texts.letters import LETTER_CODE, put_last, put_letters, text_byte, text_code

_NUMBERS = {direction: k for k, direction in enumerate(DIRECTIONS)}
OBJECT_CODE = 4
"""Numbers of an object in a vector: place, state, looks, and whether it is the goal."""
WAYS = 3 * len(DIRECTIONS)
"""Numbers of the ways out of a room: for each direction way, door and room."""
PAST_ROOM, PAST_THING = 1 + WAYS, 4
"""Numbers of a room and of an object that are remembered."""


def vector_size(envelope: TextRoomEnvelope) -> int:
    """Return the length of the vectors."""
    objects, letters = OBJECT_CODE * envelope.objects, LETTER_CODE * envelope.agents
    return first_object(envelope) + objects + memory_size(envelope) + letters + 2 * HINT_CODE


def memory_size(envelope: TextRoomEnvelope) -> int:
    """Return how many numbers of a vector are about what is remembered."""
    return envelope.memory * (PAST_ROOM * envelope.rooms + PAST_THING * envelope.objects)


def vector_box(envelope: TextRoomEnvelope) -> Box:
    """Return the space of the vectors."""
    size = vector_size(envelope)
    low = np.zeros(size, np.float32)
    high = np.full(size, 255.0, np.float32)
    start = first_agent(envelope) + envelope.agents
    low[start : start + envelope.stats] = -LIMIT
    high[start : start + envelope.stats] = LIMIT
    top = max(255.0, 3.0 + envelope.objects)
    letters = size - envelope.agents * LETTER_CODE - 2 * HINT_CODE
    memory = letters - memory_size(envelope)
    high[start + envelope.stats : memory] = top
    high[memory:letters] = 2.0**31
    return Box(low, high, dtype=np.float32)


def vector_of(facts: TextRoomFacts, words: Vocabulary) -> NDArray[np.float32]:
    """Return the vector of the facts.

    In order: the agent's number; the room, one-hot; 8 numbers of hashed description; a 1 for each
    agent that is here; the stats; for each of the 12 directions 1 if there is a way, then the
    numbers of the door in it and of the room that it is known to lead to (from 1), or 0; for each
    object 4 numbers: 0 out of sight, 1 here, 2 carried, 3 + number of the object that it is in; its
    place in `facts.STATES`; a byte of its hashed description; 1 if it is the goal. With
    ``recall="map"`` for each room 1 + how many steps ago it was seen and its ways, and for each
    object its room (from 1), the object that it was in (from 1), its state and 1 + how many steps
    ago it was seen; zeros for what is not remembered. Then for each letter its sender (agents from
    1, the system after them), 1 if it is to all and 8 hashed numbers; 8 of feedback and 8 of hint.
    Objects are numbered with those that can be taken first.
    """
    envelope = words.envelope
    row = np.zeros(vector_size(envelope), np.float32)
    row[0] = words.agents.index(facts.agent)
    row[1 + words.rooms.index(facts.room)] = 1
    row[1 + envelope.rooms : first_agent(envelope)] = text_code(facts.description)
    _put_ways(row, first_object(envelope) - WAYS, words, facts.exits)
    for name in facts.others:
        row[first_agent(envelope) + words.agents.index(name)] = 1
    _put_objects(row, first_object(envelope), facts, words)
    if facts.goal in words.objects:
        row[first_object(envelope) + OBJECT_CODE * words.objects[facts.goal] + 3] = 1
    step_facts = StepFacts(facts.stats, facts.messages, facts.past, facts.feedback, facts.hint)
    complete(row, step_facts, words)
    return row


def first_agent(envelope: TextRoomEnvelope) -> int:
    """Return where the agents that are here begin in a vector."""
    return 1 + envelope.rooms + HINT_CODE


def first_object(envelope: TextRoomEnvelope) -> int:
    """Return where the objects begin in a vector."""
    return first_agent(envelope) + envelope.agents + envelope.stats + WAYS


def _put_ways(
    row: NDArray[np.float32], place: int, words: Vocabulary, exits: Iterable[KnownExit]
) -> None:
    """Write ways out into a vector that has zeros there."""
    for direction, door, to in exits:
        number = place + _NUMBERS[direction]
        row[number] = 1
        if door:
            row[number + len(DIRECTIONS)] = 1 + words.objects[door]
        if to:
            row[number + 2 * len(DIRECTIONS)] = 1 + words.rooms.index(to)


def _put_past(
    row: NDArray[np.float32], place: int, words: Vocabulary, past: Iterable[PastRoom]
) -> None:
    """Write what is remembered into a vector that has zeros there."""
    things = place + PAST_ROOM * words.envelope.rooms
    for room in past:
        number = words.rooms.index(room.name)
        start = place + PAST_ROOM * number
        row[start] = 1 + room.age
        _put_ways(row, start + 1, words, room.exits)
        for name, inside, state, age in room.things:
            host = 1 + words.objects[inside] if inside else 0
            start = things + PAST_THING * words.objects[name]
            row[start : start + PAST_THING] = 1 + number, host, STATES.index(state), 1 + age


def complete(row: NDArray[np.float32], step_facts: StepFacts, words: Vocabulary) -> None:
    """Write the facts of the step into a vector that has zeros there."""
    stats, messages, past, feedback, hint = step_facts
    envelope = words.envelope
    if stats:
        start = first_agent(envelope) + envelope.agents
        for name, value in stats:
            row[start + words.stats.index(name)] = value
    place = len(row) - 2 * HINT_CODE - envelope.agents * LETTER_CODE
    if past:
        _put_past(row, place - memory_size(envelope), words, past)
    if messages:
        put_letters(row, place, messages, words.agents)
    put_last(row, feedback, hint)


def _put_objects(
    row: NDArray[np.float32], start: int, facts: TextRoomFacts, words: Vocabulary
) -> None:
    """Write the numbers of all objects into a vector."""
    for thing in facts.objects:
        place = start + OBJECT_CODE * words.objects[thing.name]
        row[place] = 3 + words.objects[thing.inside] if thing.inside else 1
        row[place + 1] = STATES.index(thing.state)
        row[place + 2] = text_byte(thing.description)
    for held in facts.inventory:
        place = start + OBJECT_CODE * words.objects[held.name]
        row[place] = 2
        row[place + 1] = STATES.index(held.state)


# -- the state ------------------------------------------------------------------------------------


def global_view(plot: Plot, state: RoomState, envelope: TextRoomEnvelope) -> NDArray[np.float64]:
    """Return every non-string fact of a state; see `TextRoom.state`."""
    parts: list[list[float]] = [[state.t]]
    for values in (state.place, state.hidden, state.found, state.is_open, state.locked):
        parts.append(_padded(values, envelope.objects))
    for agent in range(envelope.agents):
        own = [
            state.rooms[agent],
            STATUSES.index(state.status[agent]),
            state.order.index(agent),
            len(state.reached[agent]),
        ]
        stats = [state.stats[agent].get(name, 0.0) for name in plot.stats]
        flags = [float(flag in state.flags[agent]) for flag in plot.flags]
        parts += [list(own), _padded(stats, envelope.stats), _padded(flags, envelope.flags)]
    parts.append(_padded(state.fired, envelope.events))
    parts.append(_padded([state.metrics[name] for name in plot.metrics], envelope.metrics))
    return np.array([value for part in parts for value in part], np.float64)


def _padded(values: Sequence[float], size: int) -> list[float]:
    """Return values, padded with zeros at the end."""
    return [*values, *[0.0] * (size - len(values))]
