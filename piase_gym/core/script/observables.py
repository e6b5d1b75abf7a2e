"""Facts that conditions can be about: what a world declares, and what every world has.

A fact is read for many environments at once: an array of shape (envs, agents), or (envs, 1) if it
is the same for all agents, with a last axis of coordinates for places. A world that is not an array
world is one environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import Outcome

Bounds = tuple[Sequence[float], Sequence[float]]
Read = Callable[[Any, Any, Any], NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Observable:
    """A fact of a world that conditions can be about.

    Attributes:
        name: Its name.
        about: What it is, in a few words.
        read: A function of the world, the records of its environments (``None`` where there are
            none) and what `of` names, that returns the array.
        kind: ``number``; ``place`` (coordinates); ``word``; ``things`` (a tuple of words, which
            equals every word that it contains); or ``text``.
        of: What has to be named: ``""`` (nothing), ``place``, ``word`` or ``agent``.
        shared: Whether it is the same for all agents.
        words: The words that it can be, for a config; ``None`` if they are not known in advance.
        subjects: The words that `of` can be, in the same form.
        bounds: The least and the greatest coordinates or numbers, for a config.
        codes: The number that stands for each word in the array, if it holds numbers.
    """

    name: str
    about: str
    read: Read
    kind: Literal["number", "place", "word", "things", "text"] = "number"
    of: Literal["", "place", "word", "agent"] = ""
    shared: bool = False
    words: Callable[[Any], Iterable[str] | None] | None = None
    subjects: Callable[[Any], Iterable[str] | None] | None = None
    bounds: Callable[[Any], Bounds | None] | None = None
    codes: Mapping[str, int] | None = None

    def allowed(self, config: Any) -> list[str] | None:
        """Return the words that it can be, if they are known."""
        if self.codes is not None:
            return list(self.codes)
        found = None if self.words is None else self.words(config)
        return None if found is None else list(found)


def named(*rows: Observable) -> dict[str, Observable]:
    """Return observables by name."""
    return {row.name: row for row in rows}


def of_agents(field: str) -> Read:
    """Return a function that reads a field of the records that each agent has."""
    return lambda world, states, _of: states[field][:, : len(world.agents)]


def of_episode(field: str) -> Read:
    """Return a function that reads a field of the records that is the same for all agents."""
    return lambda _world, states, _of: states[field][:, None]


def row_of(values: Sequence[Any]) -> NDArray[Any]:
    """Return words, texts or tuples of one environment as an array of objects, shape (1, n)."""
    found = np.empty((1, len(values)), object)
    for number, value in enumerate(values):
        found[0, number] = value
    return found


OUTCOME_WORDS = tuple(outcome.value for outcome in Outcome)
COMMON = named(
    Observable(name="step", about="how many steps were taken", read=of_episode("t"), shared=True),
    Observable(name="reward", about="of the last step", read=of_agents("reward")),
    Observable(name="return", about="the sum of rewards so far", read=of_agents("returns")),
    Observable(name="in_play", about="1 if in play, else 0", read=lambda run, *_: run.playing),
    Observable(
        name="outcome",
        about="what became of the last command",
        read=lambda run, *_: run.turn.outcomes,
        kind="word",
        codes={word: code for code, word in enumerate(OUTCOME_WORDS)},
    ),
    Observable(
        name="action",
        about="the last command, or its verb",
        read=lambda run, *_: run.turn.acts,
        kind="word",
    ),
)
"""The facts that every world has; they are read from the script's run instead of the world."""
