"""What agents of WordCraft know: facts, and the vector that stands for them. Pure functions.

The vector (float32) has these parts, of fixed lengths in an envelope of A agents, S slots and F
features:

* own number, number of agents, mixes left, steps left;
* the features of the goal, and of the two things that were combined last (or zeros), F each;
* the features of what each agent holds, F each;
* the features of what lies on the table, F per slot; with trade, on each agent's table in turn;
* 8 bytes of hashed hint.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.text_encoding import HINT_CODE, escape, hash_text
from piase_gym.core.things import ThingPlaces
from piase_gym.core.world import Facts
from piase_gym.worlds.word_craft.config import WordCraftConfig, WordCraftEnvelope
from piase_gym.worlds.word_craft.levels.book import RecipeBook, read_book
from piase_gym.worlds.word_craft.observe.features import feature_rows
from piase_gym.worlds.word_craft.state import (
    HEAD,
    OF_AGENTS,
    capacity,
    feature_key,
    num_actions,
    vector_length,
)

NOTHING = "nothing"
Table = tuple[str | None, ...]
"""What lies in the slots of a table, up to the last thing."""


@dataclass(frozen=True)
class VisibleAgent:
    """What is seen of another agent.

    Attributes:
        name: Its name.
        holding: The first thing of its pair, if it has one.
        table: With trade, what lies on its own table.
    """

    name: str
    holding: str | None
    table: Table = ()


@dataclass(frozen=True, kw_only=True)
class WordCraftFacts(Facts):
    """What one agent of a WordCraft may know.

    Attributes:
        goal: The thing to make.
        table: What lies on the table; with trade, on the agent's own.
        holding: The first thing of its pair, if it has one.
        combined: The two things that it combined last.
        made: What these two make.
        mixes_left: How many pairs it may still combine.
        steps_left: Steps until the episode is over.
        others: The other agents.
    """

    goal: str
    table: Table
    holding: str | None
    combined: tuple[str, str] | None
    made: tuple[str, ...]
    mixes_left: int
    steps_left: int
    others: tuple[VisibleAgent, ...] = ()


Kept = tuple[list[int], str | None]
"""What is kept of a moment: the numbers of `state.NUMBERS`, and an agent's hint."""


class Form:
    """How numbers become facts under one config (with its envelope)."""

    def __init__(self, config: WordCraftConfig) -> None:
        """Work out what stays the same."""
        self.config, self.book = config, config.book
        envelope: WordCraftEnvelope = config.fixed_envelope()
        self.envelope = envelope
        self.agents = config.names(envelope.agents)
        self.alone = envelope.agents == 1
        self.names: tuple[str | None, ...] = (None, *self.book.entities)
        self.shown = ("", *map(escape, self.book.entities))
        self.by_name = {name.lower(): k for k, name in enumerate(self.book.entities, 1)}
        self.mixes, self.steps = config.allowed_mixes, config.max_steps
        self.capacity = capacity(envelope)
        self.last: tuple[int, list[int], str] = (0, [], "")
        """The goal and the table that were written last, and the text for them."""
        self.makes = _written(self.book, self.shown)

    def __reduce__(self) -> Any:
        """Leave behind what follows from the config."""
        return form_of, (self.config,)

    def products(self, one: int, other: int) -> tuple[str, ...]:
        """Return the names of all that a pair makes; entities count from 1."""
        found = self.book.pairs.get((min(one, other) - 1, max(one, other) - 1), ())
        return tuple([self.book.entities[k] for k in found])

    def table(self, numbers: list[int], agent: int) -> list[int]:
        """Return what lies on an agent's table, by slot."""
        agents, room = self.capacity
        first = OF_AGENTS + 4 * agents + (agent * room if self.config.trade else 0)
        return numbers[first : first + self.envelope.slots]

    def facts(self, kept: Kept, agent: int) -> WordCraftFacts:
        """Return the facts of an agent, from what `WordCraft.capture` kept."""
        numbers, hint = kept
        names, agents, trade = self.names, self.capacity[0], self.config.trade
        end = OF_AGENTS + 4 * agents
        hand, one, other, used = numbers[OF_AGENTS + agent : end : agents]
        return WordCraftFacts(
            agent=self.agents[agent],
            hint=hint,
            goal=names[numbers[4]] or self.book.entities[0],
            table=self.things(self.table(numbers, agent)),
            holding=names[hand],
            combined=(str(names[one]), str(names[other])) if one else None,
            made=self.products(one, other) if one else (),
            mixes_left=self.mixes - used,
            steps_left=self.steps - numbers[0],
            others=tuple(
                [
                    VisibleAgent(
                        self.agents[k],
                        names[numbers[OF_AGENTS + k]],
                        self.things(self.table(numbers, k)) if trade else (),
                    )
                    for k in range(self.config.agents)
                    if k != agent
                ]
            ),
        )

    def things(self, row: Sequence[int]) -> Table:
        """Return the names of what lies on a table."""
        last = len(row)
        while last and not row[last - 1]:
            last -= 1
        return tuple([self.names[thing] for thing in row[:last]])


def _written(book: RecipeBook, shown: Sequence[str]) -> dict[tuple[int, int], str]:
    """Return the text for the products of each pair, in both orders of the pair."""
    found = {}
    for (one, other), made in book.pairs.items():
        line = ", ".join([shown[thing + 1] for thing in made])
        found[one + 1, other + 1] = found[other + 1, one + 1] = line
    return found


def pair_line(one: str, other: str, made: str) -> str:
    """Write what two things made; all names are already escaped."""
    return f"You combined: {one} + {other}; this makes: {made or NOTHING}."


@functools.lru_cache(maxsize=64)
def form_of(config: WordCraftConfig) -> Form:
    """Return the form of a config; for the last few configs it is the same object each time."""
    return Form(config)


def vector_box(envelope: WordCraftEnvelope) -> Box:
    """Return the space of the vectors."""
    length = vector_length(envelope)
    low, high = np.full(length, -1.0, np.float32), np.full(length, 4096.0, np.float32)
    low[: HEAD - 1], low[-HINT_CODE:] = 0.0, 0.0
    high[: HEAD - 1], high[HEAD - 1], high[-HINT_CODE:] = 128.0, 2.0**31, 255.0
    return Box(low, high, dtype=np.float32)


def thing_places(config: WordCraftConfig, envelope: WordCraftEnvelope) -> ThingPlaces | None:
    """Return where vectors have numbers of things, if the features are such numbers.

    All things of the book count, so that a policy can go on to a config with more `entities`.
    """
    if config.features != "index" or envelope.features != 1:
        return None
    alone, width = 3 + envelope.agents, envelope.slots
    first = HEAD + alone
    tables = [range(first + b * width, first + (b + 1) * width) for b in range(envelope.tables)]
    gifts = range((num_actions(envelope) - 1) // width - 1)
    return ThingPlaces(
        len(read_book(config.recipes, lenient=config.lenient).entities),
        [*([HEAD + k] for k in range(alone)), *tables],
        0,
        [tables[agent if envelope.trade else 0] for agent in range(envelope.agents)],
        [*range(width), *(slot for _ in gifts for slot in range(width)), -1],
    )


def vector_of(facts: WordCraftFacts, form: Form) -> NDArray[np.float32]:
    """Return the vector of the facts."""
    envelope, config = form.envelope, form.config
    vector = np.zeros(vector_length(envelope), np.float32)
    number = form.agents.index(facts.agent)
    vector[:HEAD] = number, config.agents, facts.mixes_left, facts.steps_left
    holding: list[str | None] = [None] * envelope.agents
    tables: list[Table] = [()] * envelope.tables
    own = number if config.trade else 0
    holding[number], tables[own] = facts.holding, facts.table
    for other in facts.others:
        k = form.agents.index(other.name)
        holding[k] = other.holding
        if config.trade:
            tables[k] = other.table
    slots = [thing for row in tables for thing in (*row, *[None] * (envelope.slots - len(row)))]
    combined = facts.combined or (None, None)
    things = [facts.goal, *combined, *holding, *slots]
    vector[HEAD:-HINT_CODE] = _features(form, things).ravel()
    vector[-HINT_CODE:] = hash_text(facts.hint)
    return vector


def _features(form: Form, things: Sequence[str | None]) -> NDArray[np.float32]:
    """Return the features of things, shape (things, features); zeros stand for nothing."""
    book, config = form.book, form.config
    rows, places = feature_rows(book.entities, feature_key(config))
    found = np.zeros((len(things), form.envelope.features), np.float32)
    for row, thing in enumerate(things):
        if thing is None:
            continue
        place = int(places[book.index[thing]])
        if config.features == "index":
            found[row, 0] = place + 1
        elif config.features == "one_hot":
            found[row, place] = 1.0
        else:
            found[row, : rows.shape[1]] = rows[place]
    return found
