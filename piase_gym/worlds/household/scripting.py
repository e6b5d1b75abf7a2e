"""What scripts can ask of a home, and put into it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.script.observables import Observable, named, row_of
from piase_gym.worlds.household.rules.goals import MARKS

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


def _where(world: Any, _states: Any, of: str) -> NDArray[Any]:
    """Return the receptacles that hold an object, or whose hands."""
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


def _anything(_config: Any) -> None:
    """Names follow from the home."""


def _about(name: str, about: str, read: Any, kind: Any) -> Observable:
    return Observable(
        name=name, about=about, read=read, kind=kind, of="word", subjects=_anything, shared=True
    )


OBSERVABLES: Final = named(
    Observable(name="position", about="the receptacles it stands at", read=_places, kind="things"),
    Observable(name="held", about="what is in its hand, or nothing", read=_held, kind="word"),
    _about("where", "the receptacle, or the agent, that has an object", _where, "things"),
    _about("state", "of an object: clean, hot, cool, sliced, on", _marks, "things"),
    _about("open", "1 if a receptacle is open", _open, "number"),
    _about("count", "how many objects are in a receptacle", _count, "number"),
)
"""What conditions can be about."""


def spawn(world: Any, thing: str, place: Any) -> None:
    """Put an object of the home that is nowhere into a receptacle."""
    game, state = world.game, world.state_of
    if thing not in game.objects or place not in game.receptacles:
        return
    number, there = game.objects.index(thing), game.receptacles.index(place)
    if number in state.holding or any(number in inside for inside in state.contents):
        return
    if there in game.accepts[number]:
        state.contents[there] = tuple(sorted((*state.contents[there], number)))


def remove(world: Any, thing: str | None, place: Any) -> None:
    """Take an object out of its receptacle, or everything out of one; not out of hands."""
    game, state = world.game, world.state_of
    for k, inside in enumerate(state.contents):
        if place in (None, game.receptacles[k]):
            kept = (n for n in inside if thing not in (None, game.objects[n]))
            state.contents[k] = tuple(kept)
