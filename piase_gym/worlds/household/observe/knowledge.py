"""What agents know of a home: kept up to date from what changes, and ready to be written.

An agent sees the receptacles where it stands, and remembers what it has seen elsewhere.
"""

from __future__ import annotations

import copy
from typing import Any

from piase_gym.worlds.household.facts import STATES, HeldObject, KnownReceptacle
from piase_gym.worlds.household.levels.game import Game
from piase_gym.worlds.household.observe import text
from piase_gym.worlds.household.rules.goals import CLEAN, COOL, HOT, SLICED
from piase_gym.worlds.household.state import CLOSED, NOTHING, OPEN, PLAIN, HomeState

_BITS = tuple(zip((CLEAN, HOT, COOL, SLICED), text.LOOKS, strict=True))

MOST_VIEWS = 4096
"""A home's cache of views of receptacles is emptied once it holds more than this many."""


class Knowledge:
    """What one agent knows of the receptacles.

    Args:
        game: The home.
        state: Its state, in which `HomeState.seen` is kept.
        agent: Whose knowledge it is.

    Attributes:
        places: What the facts say of each receptacle that is somewhere, in their order.
    """

    def __init__(self, game: Game, state: HomeState, agent: int) -> None:
        self.game, self.agent = game, agent
        self.at = state.at[agent]
        there = [r for r, place in enumerate(game.places_of) if place != NOTHING]
        there.sort(key=lambda r: text.counting_order(game.receptacles[r]))
        self._order = {r: k for k, r in enumerate(there)}
        self.places: list[KnownReceptacle] = [KnownReceptacle("", False, "", None)] * len(there)
        self._shown: list[text.Shown] = [(0, "")] * len(there)
        kinds = [text.kind_of(game.receptacles[r]) for r in there]
        starts = [k for k, kind in enumerate(kinds) if k == 0 or kind != kinds[k - 1]]
        self._kinds = list(map(slice, starts, [*starts[1:], len(there)]))
        self._kind_at = [n for n, kind in enumerate(self._kinds) for _ in there[kind]]
        self._written: list[text.Written] = [()] * len(self._kinds)
        self._changed: set[int] = set()
        for r in there:
            self._write(state, r, r in game.at[self.at])

    def __deepcopy__(self, _memo: Any) -> Knowledge:
        """Copy the lists; what is in them is replaced, but never changes."""
        twin = copy.copy(self)
        twin.places, twin._shown = self.places.copy(), self._shown.copy()
        twin._written, twin._changed = self._written.copy(), self._changed.copy()
        return twin

    @property
    def here(self) -> list[KnownReceptacle]:
        """What the facts say of the receptacles where the agent stands, in their order."""
        here = self.game.at[self.at]
        if len(here) == 1:
            return [self.places[self._order[here[0]]]]
        return [self.places[k] for k in sorted([self._order[r] for r in here])]

    def written(self) -> tuple[text.Written, ...]:
        """Return the texts of `places`, kind by kind; unchanged kinds are not written again."""
        for n in self._changed:
            self._written[n] = text.written_of(tuple(self._shown[self._kinds[n]]))
        self._changed.clear()
        return tuple(self._written)

    def _write(self, state: HomeState, r: int, here: bool) -> None:
        """Write what is known of a receptacle."""
        game = self.game
        key = (r, here, state.seen[self.agent][r])
        found = game.views.get(key)
        if found is None:
            if len(game.views) > MOST_VIEWS:
                game.views.clear()
            lid, seen = state.seen[self.agent][r]
            things = None if seen is None else tuple([game.objects[k] for k in seen])
            place = KnownReceptacle(game.receptacles[r], here, STATES[lid], things)
            found = game.views[key] = place, text.shown_of(place)
        k = self._order[r]
        self.places[k], self._shown[k] = found
        self._changed.add(self._kind_at[k])

    def look(self, state: HomeState) -> None:
        """See what there is where the agent stands now."""
        game, agent = self.game, self.agent
        at, before, seen = state.at[agent], self.at, state.seen[agent]
        moved = at != before
        if moved:
            self.at = at
            for r in game.at[before]:
                self._write(state, r, False)
        for r in game.at[at]:
            if game.openable[r]:
                is_open = state.opened[r]
                view = (OPEN, state.contents[r]) if is_open else (CLOSED, seen[r][1])
            else:
                view = (PLAIN, state.contents[r])
            if moved or view != seen[r]:
                seen[r] = view
                self._write(state, r, True)


def held_by(game: Game, state: HomeState, agent: int) -> tuple[HeldObject, ...]:
    """Return what an agent carries."""
    k = state.holding[agent]
    if k < 0:
        return ()
    marks = state.marks[k]
    return (HeldObject(game.objects[k], tuple([look for bit, look in _BITS if marks & bit])),)
