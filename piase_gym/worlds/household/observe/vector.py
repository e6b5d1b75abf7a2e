"""The vector of Household's facts; see `vector_of` for its layout. It is float32."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.household.actions import PHRASES, VERBS
from piase_gym.worlds.household.config import HouseholdEnvelope
from piase_gym.worlds.household.facts import STATES, HouseholdFacts, KnownReceptacle, lids, options
from piase_gym.worlds.household.levels.words import OBJECT_WORDS, RECEPTACLE_WORDS
from piase_gym.worlds.household.observe.text import LOOKS
from piase_gym.worlds.texts.letters import LETTER_CODE, put_last, put_letters, text_byte, text_code

NAME_CODE = 3
"""Numbers of a name: its kind, its number, whether the task names its kind."""
PLACE_CODE = NAME_CODE + len(STATES) + 2
THING_CODE = NAME_CODE + 2
HELD_CODE = 1 + NAME_CODE + len(LOOKS)
COMMAND_CODE = len(VERBS) + 2 * NAME_CODE + 2
_WORD = re.compile(r"[a-z]+")


def vector_size(envelope: HouseholdEnvelope) -> int:
    """Return the length of the vectors."""
    return (
        1
        + HINT_CODE
        + envelope.receptacles * PLACE_CODE
        + 2 * envelope.objects * THING_CODE
        + HELD_CODE
        + envelope.agents * (1 + LETTER_CODE)
        + envelope.actions * COMMAND_CODE
        + 2 * HINT_CODE
    )


def vector_box(envelope: HouseholdEnvelope) -> Box:
    """Return the space of the vectors."""
    return Box(0.0, 255.0, (vector_size(envelope),), np.float32)


@functools.lru_cache(maxsize=1024)
def goal_words(goal: str) -> frozenset[str]:
    """Return the words of a task."""
    return frozenset(_WORD.findall(goal.lower()))


@functools.lru_cache(maxsize=65536)
def name_code(name: str, goal: str) -> tuple[float, float, float]:
    """Return the numbers that stand for a name, under a task."""
    kind, _, number = name.partition(" ")
    code: float = OBJECT_WORDS.get(kind) or 96 + RECEPTACLE_WORDS.get(kind, 0)
    if kind not in OBJECT_WORDS and kind not in RECEPTACLE_WORDS:
        code = 160 + text_byte(kind) / 4
    count = int(number) if number.isdecimal() and len(number) < 4 else 0
    return code / 64, count / 16, float(kind in goal_words(goal))


@functools.lru_cache(maxsize=65536)
def command_code(line: str, goal: str) -> tuple[float, ...]:
    """Return the numbers of a command, except for what is known of its place."""
    verb, *rest = line.split(" ")
    code = [0.0] * (COMMAND_CODE - 1)
    if verb in VERBS:
        code[VERBS.index(verb)] = 1.0
    if verb in ("say", "tell"):
        code[-1] = text_byte(line) / 64
        return tuple(code)
    words = [word for word in rest if word not in ("to", "from", "in/on", "with")]
    for k in range(0, min(len(words), 4), 2):
        start = len(VERBS) + NAME_CODE * (k // 2)
        code[start : start + NAME_CODE] = name_code(" ".join(words[k : k + 2]), goal)
    return tuple(code)


def vector_of(
    facts: HouseholdFacts,
    envelope: HouseholdEnvelope,
    agents: Sequence[str],
    always: list[str],
    placing: str,
) -> NDArray[np.float32]:
    """Return the vector of the facts; `always` are the commands that are possible in any place.

    In order: the agent's number; 8 numbers of the hashed task; for each receptacle its kind
    (/ 64), its number (/ 16), 1 if the task names its kind, what is known of it (one-hot over
    `facts.STATES`), 1 if the agent is there, 1 if its contents are known; for each object that
    was seen the same of its name, the number of its receptacle (from 1, / 16) and 1 if it is in
    sight; for the object in hand 1, its name and its looks; 1 for each agent that is here; for each
    command (in the order of the indices) its verb (one-hot), the two names in it, a byte of what it
    says (/ 64) and 1 if it leads to a receptacle whose contents are unknown; the letters; 8 of
    feedback and 8 of hint.
    """
    row = np.zeros(vector_size(envelope), np.float32)
    goal = facts.goal
    row[0] = agents.index(facts.agent)
    row[1 : 1 + HINT_CODE] = text_code(goal)
    start = 1 + HINT_CODE
    things: list[tuple[float, ...]] = []
    for k, place in enumerate(facts.places):
        code = place_code(place, goal)
        row[start + k * PLACE_CODE : start + (k + 1) * PLACE_CODE] = code
        sight = float(place.here and place.state != "closed")
        things += [(*name_code(t, goal), (k + 1) / 16, sight) for t in place.things or ()]
    start += envelope.receptacles * PLACE_CODE
    if things:
        flat = np.array(things[: 2 * envelope.objects], np.float32).ravel()
        row[start : start + flat.size] = flat
    start += 2 * envelope.objects * THING_CODE
    for held in facts.holding:
        row[start] = 1
        row[start + 1 : start + 1 + NAME_CODE] = name_code(held.name, goal)
        looks = [look in held.looks for look in LOOKS]
        row[start + 1 + NAME_CODE : start + HELD_CODE] = looks
    start += HELD_CODE
    for name in facts.others:
        row[start + agents.index(name)] = 1
    start += envelope.agents
    unknown = {f"go to {p.name}" for p in facts.places if p.things is None}
    lines: list[str] = []
    if facts.commands is not None:
        said = _speech(tuple(agents), facts.agent, facts.away)
        lines = sorted((*facts.commands, *always, *_implied(facts, placing), *said))
    codes = [(*command_code(line, goal), line in unknown) for line in lines[: envelope.actions]]
    if codes:
        flat = np.array(codes, np.float32).ravel()
        row[start : start + flat.size] = flat
    start += envelope.actions * COMMAND_CODE
    put_letters(row, start, facts.messages, agents)
    put_last(row, facts.feedback, facts.hint)
    return row


def _implied(facts: HouseholdFacts, placing: str) -> list[str]:
    """Return the commands that follow from what is known, which facts leave out."""
    walks = [f"go to {place.name}" for place in facts.places if not place.here]
    near = [place.name for place in facts.places if place.here]
    looks = [f"examine {name}" for name in (*near, *(held.name for held in facts.holding))]
    could = options(facts.places, facts.holding, placing)
    hands = {line for name, line in could if name not in facts.barred}
    return [*walks, *looks, *lids(facts.places), *hands]


@functools.lru_cache(maxsize=1024)
def _speech(agents: tuple[str, ...], agent: str, away: tuple[str, ...]) -> list[str]:
    """Return what an agent can say by index."""
    to = ["say", *(f"tell {name}" for name in agents if name not in (agent, *away))]
    return [f"{opening} {phrase}" for opening in to for phrase in PHRASES if len(agents) > 1]


@functools.lru_cache(maxsize=65536)
def place_code(place: KnownReceptacle, goal: str) -> tuple[float, ...]:
    """Return the numbers of a receptacle."""
    states = [float(place.state == state) for state in STATES]
    return (*name_code(place.name, goal), *states, place.here, place.things is not None)
