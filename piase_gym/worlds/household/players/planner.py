"""Finds a shortest plan for a task, with the whole home in view.

The search (A*) goes from errand to errand: take one of the objects that the task can be done with,
clean, heat or cool what is in hand, put it where it belongs, switch on a lamp. Between errands the
commands are forced: go there, open it. Receptacles that differ in nothing that matters stand for
each other, so plans are as short as possible, and found in milliseconds.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from piase_gym.worlds.household.actions import entry
from piase_gym.worlds.household.levels.game import Entry, Game
from piase_gym.worlds.household.rules.goals import CLEAN, COOL, HOT, TOGGLED, ObjectRequirement
from piase_gym.worlds.household.state import NOTHING, HomeState

MOST_NODES = 20_000
"""Errands after which a search gives up."""
_MADE = (
    ("clean", "cleanable", CLEAN, 0),
    ("heat", "heatable", HOT, COOL),
    ("cool", "coolable", COOL, HOT),
)


class PlanState(NamedTuple):
    """The situation between errands.

    Attributes:
        at: The agent's location.
        held: What it carries, or -1.
        opened: The receptacles that are open, as bits.
        where: The receptacles that each relevant object is in.
        marks: What has become of each.
    """

    at: int
    held: int
    opened: int
    where: tuple[tuple[int, ...], ...]
    marks: tuple[int, ...]


class Planner:
    """Searches for a shortest plan for one agent.

    Args:
        game: The home.
        state: Its state, which is not changed.
        agent: The agent to act; the others rest.
        placing: ``move`` or ``put``.
    """

    def __init__(self, game: Game, state: HomeState, agent: int, placing: str) -> None:
        self.game, self.placing = game, placing
        self.wanted: Sequence[ObjectRequirement] = game.goal.wanted
        held = state.holding[agent]
        relevant = {k for wanted in self.wanted for k in wanted.objects}
        self.objects = sorted(relevant | ({held} - {NOTHING}))
        self.number = {k: n for n, k in enumerate(self.objects)}
        taken = {k for other, k in enumerate(state.holding) if other != agent}
        self.free = {k for k in relevant if game.can["pickupable"][k] and k not in taken}
        within = [
            tuple(r for r, things in enumerate(state.contents) if k in things) for k in self.objects
        ]
        opened = sum(1 << r for r, is_open in enumerate(state.opened) if is_open)
        marks = tuple(state.marks[k] for k in self.objects)
        self.start = PlanState(state.at[agent], held, opened, tuple(within), marks)
        self.different = {r for rows in within for r in rows}
        sources = {game.places_of[r] for r in self.different}
        goals = {game.places_of[r] for w in self.wanted for r in w.places or ()}
        self.apart = not sources & goals  # no location is one to take from and one to put at

    def run(self) -> list[Entry] | None:
        """Return a shortest plan, or ``None`` if there is none or the task is of another kind."""
        if not self.wanted:
            return None
        first = self.start
        best = {first: 0}
        came: dict[PlanState, tuple[PlanState, list[Entry]]] = {}
        heap = [(self._left(first), 0, 0, first)]
        for count in range(1, MOST_NODES):
            if not heap:
                return None
            _, _, cost, spot = heapq.heappop(heap)
            if cost > best[spot]:
                continue
            if self._done(spot):
                return self._path(came, spot)
            for rows, after in self._errands(spot):
                total = cost + len(rows)
                if total < best.get(after, 1 << 30):
                    best[after] = total
                    came[after] = spot, rows
                    heapq.heappush(heap, (total + self._left(after), count, total, after))
        return None

    def _path(
        self, came: dict[PlanState, tuple[PlanState, list[Entry]]], spot: PlanState
    ) -> list[Entry]:
        """Return the commands that lead to a spot."""
        found: list[Entry] = []
        while spot in came:
            spot, rows = came[spot]
            found = rows + found
        return found

    # -- errands ------------------------------------------------------------------------------

    def _errands(self, spot: PlanState) -> Iterator[tuple[list[Entry], PlanState]]:
        """Yield what can be done next: the commands, and how things stand afterwards."""
        if spot.held == NOTHING:
            for k in self.free:
                for r in spot.where[self.number[k]]:
                    yield from self._take(spot, k, r)
        else:
            yield from self._change(spot)
            yield from self._put(spot)
        yield from self._lamps(spot)

    def _reach(self, spot: PlanState, r: int, opens: bool) -> tuple[list[Entry], int, int] | None:
        """Return the commands that lead to a receptacle, the location, and what is open then."""
        place = self.game.places_of[r]
        if place == NOTHING:
            return None
        rows, opened = [], spot.opened
        if place != spot.at:
            rows.append(entry(self.game, "go", r))
        if opens and self.game.openable[r] and not opened >> r & 1:
            rows.append(entry(self.game, "open", r))
            opened |= 1 << r
        return rows, place, opened

    def _take(self, spot: PlanState, k: int, r: int) -> Iterator[tuple[list[Entry], PlanState]]:
        reached = self._reach(spot, r, True)
        if reached is not None:
            rows, at, opened = reached
            left = tuple(other for other in spot.where[self.number[k]] if other != r)
            where = self._with(spot.where, k, left)
            rows.append(entry(self.game, "take", k, r))
            yield rows, PlanState(at, k, opened, where, spot.marks)

    def _with(
        self, where: tuple[tuple[int, ...], ...], k: int, row: tuple[int, ...]
    ) -> tuple[tuple[int, ...], ...]:
        n = self.number[k]
        return (*where[:n], row, *where[n + 1 :])

    def _change(self, spot: PlanState) -> Iterator[tuple[list[Entry], PlanState]]:
        """Clean, heat or cool what is in hand, if the task asks for it."""
        k, n = spot.held, self.number[spot.held]
        asked = 0
        for wanted in self.wanted:
            if k in wanted.objects:
                asked |= wanted.marks
        for verb, ability, gains, loses in _MADE:
            if asked & gains and not spot.marks[n] & gains and self.game.can[ability][k]:
                marks = (*spot.marks[:n], (spot.marks[n] | gains) & ~loses, *spot.marks[n + 1 :])
                for r in self._distinct(spot, self.game.tools[verb], False):
                    reached = self._reach(spot, r, False)
                    if reached is not None:
                        rows, at, opened = reached
                        rows.append(entry(self.game, verb, k, r))
                        yield rows, PlanState(at, k, opened, spot.where, marks)

    def _put(self, spot: PlanState) -> Iterator[tuple[list[Entry], PlanState]]:
        """Put down what is in hand: where it belongs, or anywhere if it is of no use."""
        k, accepted = spot.held, self.game.accepts[spot.held]
        useful = [w for w in self.wanted if k in w.objects]
        if any(w.held for w in useful):
            return
        places = {r for w in useful for r in w.places or ()} if useful else set(accepted)
        for r in self._distinct(spot, places & accepted, True):
            reached = self._reach(spot, r, True)
            if reached is not None:
                rows, at, opened = reached
                here = tuple(sorted({*spot.where[self.number[k]], r}))
                where = self._with(spot.where, k, here)
                rows.append(entry(self.game, self.placing, k, r))
                yield rows, PlanState(at, NOTHING, opened, where, spot.marks)

    def _lamps(self, spot: PlanState) -> Iterator[tuple[list[Entry], PlanState]]:
        """Switch on a lamp that the task asks for, or go to one that is on."""
        for wanted in self.wanted:
            for k in wanted.objects if wanted.near or wanted.marks & TOGGLED else ():
                n = self.number[k]
                is_on = bool(spot.marks[n] & TOGGLED)
                for r in spot.where[n]:
                    reached = self._reach(spot, r, False)
                    if reached is None:
                        continue
                    rows, at, opened = reached
                    if not is_on and self.game.can["toggleable"][k]:
                        rows.append(entry(self.game, "use", k))
                    marks = (*spot.marks[:n], spot.marks[n] | TOGGLED, *spot.marks[n + 1 :])
                    if rows:
                        yield rows, PlanState(at, spot.held, opened, spot.where, marks)

    def _distinct(
        self, spot: PlanState, places: frozenset[int] | set[int], opens: bool
    ) -> list[int]:
        """Leave out receptacles that differ from another in nothing that matters."""
        found: dict[tuple[int, ...], int] = {}
        game = self.game
        for r in sorted(places):
            place = game.places_of[r]
            matters = r in self.different or len(game.at[place]) > 1 or place == spot.at
            needed = any(r in rows for rows in spot.where)
            lid = int(opens and game.openable[r] and not spot.opened >> r & 1)
            found.setdefault((lid, r) if matters or needed else (lid, -1, self._kind(r)), r)
        return list(found.values())

    def _kind(self, r: int) -> int:
        """Return a number that tells receptacles of different use apart."""
        uses = [r in tools for tools in self.game.tools.values()]
        uses += [r in (wanted.places or ()) for wanted in self.wanted]
        return sum(1 << k for k, use in enumerate(uses) if use)

    # -- the goal -----------------------------------------------------------------------------

    def _done(self, spot: PlanState) -> bool:
        """Return whether the task is done."""
        return all(self._holds(w, spot) for w in self.wanted if w.places is None) and self._placed(
            [w for w in self.wanted if w.places is not None], spot
        )

    def _fits(self, wanted: ObjectRequirement, spot: PlanState, k: int) -> bool:
        return spot.marks[self.number[k]] & wanted.marks == wanted.marks

    def _holds(self, wanted: ObjectRequirement, spot: PlanState) -> bool:
        """Return whether some object fulfils a demand that names no place."""
        for k in wanted.objects:
            if self._fits(wanted, spot, k):
                places = [self.game.places_of[r] for r in spot.where[self.number[k]]]
                if (not wanted.held or spot.held == k) and (not wanted.near or spot.at in places):
                    return True
        return False

    def _placed(self, wanted: Sequence[ObjectRequirement], spot: PlanState) -> bool:
        """Return whether different objects lie in one receptacle as the task asks."""
        places = {r for w in wanted for r in w.places or ()}
        return not wanted or any(self._in(wanted, spot, r, frozenset()) for r in places)

    def _in(
        self, wanted: Sequence[ObjectRequirement], spot: PlanState, r: int, used: frozenset[int]
    ) -> bool:
        if not wanted:
            return True
        first, *rest = wanted
        return r in (first.places or ()) and any(
            self._in(rest, spot, r, used | {k})
            for k in first.objects
            if k not in used and r in spot.where[self.number[k]] and self._fits(first, spot, k)
        )

    def _left(self, spot: PlanState) -> int:
        """Return a lower bound on how many commands are left."""
        placed = [w for w in self.wanted if w.places is not None]
        most = max(
            (self._count(placed, spot, r) for r in {r for w in placed for r in w.places or ()}),
            default=0,
        )
        missing = len(placed) - most
        found = 0
        if missing:
            carrying = spot.held in self.free and any(spot.held in w.objects for w in placed)
            takes = missing - carrying
            found = missing + takes
            if carrying:
                found += any(
                    spot.held in w.objects and not self._fits(w, spot, spot.held) for w in placed
                )
            else:
                found += any(w.marks for w in placed) and not self._any_made(placed, spot)
            if self.apart:
                found += 2 * takes - (not carrying)
        for wanted in self.wanted:
            if wanted.places is None and not self._holds(wanted, spot):
                found += 1
        return found

    def _count(self, wanted: Sequence[ObjectRequirement], spot: PlanState, r: int) -> int:
        """Count the objects that lie in a receptacle as the task asks, up to the number asked."""
        fitting = {
            k
            for w in wanted
            if r in (w.places or ())
            for k in w.objects
            if r in spot.where[self.number[k]] and self._fits(w, spot, k)
        }
        return min(len(fitting), len(wanted))

    def _any_made(self, wanted: Sequence[ObjectRequirement], spot: PlanState) -> bool:
        return any(self._fits(w, spot, k) for w in wanted for k in w.objects)


def find_plan(
    game: Game, state: HomeState, agent: int, placing: str = "move"
) -> list[Entry] | None:
    """Return a shortest plan for an agent alone, or ``None``; see `Planner`."""
    return Planner(game, state, agent, placing).run()
