"""What scripts can ask of a home, and put into it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.script.observables import Observable, named, row_of
from piase_gym.errors import ConfigError, GenerationError, suggest
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.levels import files
from piase_gym.worlds.household.levels.game import Game
from piase_gym.worlds.household.levels.generator import generate
from piase_gym.worlds.household.levels.words import OBJECTS, RECEPTACLES, ROOM_OBJECTS
from piase_gym.worlds.household.rules.goals import MARKS
from piase_gym.worlds.household.state import HomeState

_WORDS: Final = {
    "isclean": "clean", "ishot": "hot", "iscool": "cool", "issliced": "sliced", "ison": "on",
}  # fmt: skip


def _places(world: Any, _states: Any, _of: Any) -> NDArray[Any]:
    """Return the receptacles where each agent stands."""
    game, state = world.game, world.state_of
    spots = [game.at[place] if place >= 0 else () for place in state.at]
    return row_of([tuple(game.receptacles[k] for k in here) for here in spots])


def _held(world: Any, _states: Any, _of: Any) -> NDArray[Any]:
    objects = world.game.objects
    return row_of([objects[k] if k >= 0 else "nothing" for k in world.state_of.holding])


def _holders(world: Any, _states: Any, of: str) -> NDArray[Any]:
    """Return the receptacles, or the agents, that hold an object."""
    game, state = world.game, world.state_of
    number = game.objects.index(of) if of in game.objects else -1
    found = [game.receptacles[k] for k, inside in enumerate(state.contents) if number in inside]
    found += [world.agents[k] for k, held in enumerate(state.holding) if held == number >= 0]
    return row_of([tuple(found)])


def _marks(world: Any, _states: Any, of: str) -> NDArray[Any]:
    """Return what has become of an object."""
    game, state = world.game, world.state_of
    bits = state.marks[game.objects.index(of)] if of in game.objects else 0
    return row_of([tuple(word for mark, word in _WORDS.items() if bits & MARKS[mark])])


def _open(world: Any, _states: Any, of: str) -> NDArray[Any]:
    game = world.game
    known = of in game.receptacles
    return np.array([[world.state_of.opened[game.receptacles.index(of)] if known else 0]])


def _count(world: Any, _states: Any, of: str) -> NDArray[Any]:
    game = world.game
    known = of in game.receptacles
    return np.array([[len(world.state_of.contents[game.receptacles.index(of)]) if known else 0]])


class Names(NamedTuple):
    """What a home can have, as far as its config determines it.

    Attributes:
        accepts: For each object, by name, the receptacles that it can be put into.
        receptacles: The names of receptacles.
    """

    accepts: Mapping[str, Collection[str]]
    receptacles: tuple[str, ...]


def names_of(config: Any) -> Names | None:
    """Return the names that there can be under a config, or ``None`` if they are not known."""
    if config.game is None:
        return _generated(config.home_key(), config.problem_id)
    paths = files.paths_of(config.game, config.split)
    if config.problem_id is not None:
        paths = paths[config.problem_id : config.problem_id + 1]
    if len(paths) > files.MOST_KEPT:
        return None
    try:
        return _named(tuple(files.load_game(path).game for path in paths))
    except ConfigError:
        return None  # whoever plays the damaged game gets the error


@functools.lru_cache(maxsize=8)
def _named(games: tuple[Game, ...]) -> Names:
    accepts: dict[str, dict[str, None]] = {}
    every: dict[str, None] = {}
    for game in games:
        places = game.receptacles
        every |= dict.fromkeys(places)
        for name, into in zip(game.objects, game.accepts, strict=True):
            accepts.setdefault(name, {}).update(dict.fromkeys(places[k] for k in sorted(into)))
    return Names(accepts, tuple(every))


@functools.lru_cache(maxsize=64)
def _generated(key: tuple[tuple[str, Any], ...], problem_id: int | None) -> Names:
    """Return the names of the home of a seed, or those that homes can have."""
    fields = dict(key)
    if problem_id is not None:
        with contextlib.suppress(GenerationError):  # whoever plays it gets the error
            return _named((generate(HouseholdConfig(**fields), problem_id).game,))
    accepts: dict[str, list[str]] = {}
    every: dict[str, None] = {}
    for room in fields["rooms"]:
        stand = {
            kind: [f"{kind.lower()} {k + 1}" for k in range(getattr(row, room))]
            for kind, row in RECEPTACLES.items()
        }
        every |= dict.fromkeys(name for names in stand.values() for name in names)
        for kind in sorted(ROOM_OBJECTS[room]):
            places = [name for place in OBJECTS[kind].places for name in stand[place]]
            for number in range(fields["objects"] if places else 0):
                accepts.setdefault(f"{kind.lower()} {number + 1}", []).extend(places)
    return Names(accepts, tuple(every))


def _objects(config: Any) -> Collection[str] | None:
    """Return what can be named as an object."""
    known = names_of(config)
    return None if known is None else known.accepts


def _receptacles(config: Any) -> Collection[str] | None:
    """Return what can be named as a receptacle."""
    known = names_of(config)
    return None if known is None else known.receptacles


def place_problem(config: Any, thing: str | None, place: Any) -> str | None:
    """Say why an object cannot be put somewhere in any home of a config."""
    if not isinstance(place, str):
        return f"a place is a receptacle, not {place!r}"
    known = names_of(config)
    if known is None:
        return None
    if place not in known.receptacles:
        return f"there is no {place!r}; {suggest(place, known.receptacles)}"
    if thing is not None and place not in known.accepts[thing]:
        return f"{thing!r} cannot be put there; {suggest(place, known.accepts[thing])}"
    return None


def _about(name: str, about: str, read: Any, kind: Any, subjects: Any) -> Observable:
    return Observable(
        name=name, about=about, read=read, kind=kind, of="word", subjects=subjects, shared=True
    )


OBSERVABLES: Final = named(
    Observable(name="position", about="the receptacles it stands at", read=_places, kind="things"),
    Observable(name="held", about="what is in its hand, or nothing", read=_held, kind="word"),
    _about(
        "where", "the receptacle, or the agent, that has an object", _holders, "things", _objects
    ),
    _about("state", "of an object: clean, hot, cool, sliced, on", _marks, "things", _objects),
    _about("open", "1 if a receptacle is open", _open, "number", _receptacles),
    _about("count", "how many objects are in a receptacle", _count, "number", _receptacles),
)
"""What conditions can be about."""


def spawn(world: Any, _states: Any, _envs: Any, thing: str, place: Any) -> None:
    """Put an object of the home that is nowhere into a receptacle."""
    game, state = world.game, world.state_of
    if thing not in game.objects or place not in game.receptacles:
        return
    number, there = game.objects.index(thing), game.receptacles.index(place)
    if number in state.holding or any(number in inside for inside in state.contents):
        return
    if there in game.accepts[number]:
        state.contents[there] = tuple(sorted((*state.contents[there], number)))
        _note_spots(game, state, number, there)


def remove(world: Any, _states: Any, _envs: Any, thing: str | None, place: Any) -> None:
    """Take an object out of its receptacle, or everything out of one; not out of hands."""
    game, state = world.game, world.state_of
    for k, inside in enumerate(state.contents):
        if place in (None, game.receptacles[k]):
            gone = [n for n in inside if thing in (None, game.objects[n])]
            state.contents[k] = tuple(n for n in inside if n not in gone)
            for number in gone:
                _note_spots(game, state, number, k)


def _note_spots(game: Game, state: HomeState, number: int, there: int) -> None:
    """Note whether an object is at the location of a receptacle that it came to, or left."""
    at = game.places_of[there]
    spots = {spot for spot in state.spots[number] if spot != at}
    if any(number in state.contents[k] for k in game.at[at]):
        spots.add(at)
    state.spots[number] = tuple(sorted(spots))
