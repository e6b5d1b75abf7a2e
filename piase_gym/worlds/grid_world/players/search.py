"""Finding ways through a GridWorld: one search, for an agent alone and among others.

The search is A* over (map, place, safe interval, heading). A *safe interval* is a stretch of time
in which nobody else claims a place; whoever arrives first in it can wait there, so only the
earliest arrival counts and time needs no dimension of its own. Alone, every place is one interval
without end, and the search finds the plain cheapest path: the caller then says what each action
costs, and if all cost the same, that path is the shortest.

What keeps it small:

- A blocked move only turns, and only `interact` depends on the heading; so headings are told apart
  only on places next to a key, a closed door or a switch.
- Hazards are never stepped on, whether or not they end the episode.
- Closing a door never helps: it takes ground away, and opening it again costs steps.
- Dropping never helps while the agent's own key is the only one. Take a plan that drops it: leave
  out the drop, the next pick-up and the bumps against the key. The key stays at hand, the ground
  only grows, and what is faced before any other interaction stays the same, since the last move
  before it was towards that very thing. The same cut shows that with several keys no plan is
  shorter than the best one of an agent with many hands; see `cheapest`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from typing import Final, NamedTuple

from piase_gym.worlds.grid_world.cells import (
    BARE,
    BOX,
    CLOSED,
    FLOOR,
    FRUIT,
    GATE,
    GOAL,
    KEY,
    LOCKED,
    SAFE,
    SWITCH_OFF,
    SWITCH_ON,
)
from piase_gym.worlds.grid_world.players.successors import (
    INTERACT,
    MOVE_OF,
    STAY,
    Ground,
    Successors,
)
from piase_gym.worlds.grid_world.rules.events import CLOSE_DOOR, DROP, HURT, ILLEGAL

NEVER: Final = 1 << 30

ONE_KEY: Final = 0
MANY_HANDS: Final = 1
MAY_DROP: Final = 2

BEFORE: Final = 1
AFTER: Final = 2
ANY_HEADING: Final = 4
_PASSABLE = {*SAFE, KEY, LOCKED, CLOSED, GATE, BOX}
_USED: Final = (KEY, LOCKED, CLOSED, SWITCH_OFF, SWITCH_ON)
_EATEN: Final = bytes.maketrans(bytes((FRUIT,)), bytes((BARE,)))
"""Fruit does not affect ways, so maps that differ only in fruit count as one."""
MAX_MAPS: Final = 3000
"""The largest number of maps in a search; boxes that can be pushed around make ever more."""
_OUTLINE = bytes(GOAL if c == GOAL else int(c in _PASSABLE) for c in range(256))

STEP_BUDGET: Final = 60_000
"""The largest number of states expanded for all agents in one step: well under a CPU-second."""

Slot = tuple[int, int, int]
"""A safe interval: first arrival, last moment inside, last moment to set out."""
_ALWAYS: Final[tuple[Slot, ...]] = ((0, NEVER, NEVER),)


class ActionCosts(NamedTuple):
    """What each action costs an agent alone, as whole numbers; a move is never free."""

    move: int = 1
    bump: int = 1
    interact: int = 1


STEPS: Final = ActionCosts()
"""Every action costs a step."""
MOST: Final = 100_000
"""The largest fee, so that the cost of any plan stays far below `NEVER`."""


@functools.lru_cache(maxsize=64)
def fees_of(move: float, blocked: float, interact: float) -> ActionCosts:
    """Return what actions cost under these rewards, or `STEPS` if one of them is not a cost."""
    costs = -move, -blocked, -interact
    if min(costs) < 0 or move == 0:
        return STEPS
    return ActionCosts(*(max(1, round(cost / max(costs) * MOST)) for cost in costs))


@dataclass(frozen=True)
class AgentPose:
    """Where an agent stands, where it faces and what it carries."""

    place: int
    heading: int
    carry: int


class Budget:
    """How many states may still be expanded; states are counted, so equal games have equal plans.

    A search may use half of what is left, so that no search leaves nothing to the next one.

    Attributes:
        left: How many states are left.
        spent: Whether a search was cut short.
    """

    def __init__(self, left: int = STEP_BUDGET) -> None:
        """Start with `left` states."""
        self.left = left
        self.spent = False


@dataclass
class TimedPlan:
    """A plan, step by step: `places[t]` is where the agent is before `actions[t]`."""

    actions: list[int]
    places: list[int]
    changes: list[tuple[int, int, int]] = field(default_factory=list)
    """(step, place, new code) of every object taken, dropped, opened, turned or pushed."""
    arrives: bool = True
    least: bool = True
    """Whether no plan costs less; false if that is unknown because the search ran out of maps."""
    cut: bool = False
    """Whether the search ran out of its budget; the plan leads to where a goal seemed nearest."""
    cost: int = 0
    """The sum of the fees; for an agent among others, the number of steps."""


@dataclass
class Reservations:
    """Who is where and when, as far as one agent must take it into account."""

    busy: dict[int, dict[int, int]] = field(default_factory=dict)
    """By place and time: the flags `BEFORE` and `AFTER`, as the agents there act within a step."""
    parked: dict[int, int] = field(default_factory=dict)
    """By place: the time from which somebody stands there for good."""
    freed: dict[int, int] = field(default_factory=dict)
    """By place of a key or a door that somebody else deals with: the first time of arrival."""
    _slots: dict[int, tuple[Slot, ...]] = field(default_factory=dict)

    def stand(self, place: int, times: Iterable[int], side: int) -> None:
        """Note that somebody stands on a place at some times."""
        at = self.busy.setdefault(place, {})
        for time in times:
            at[time] = at.get(time, 0) | side

    def slots(self, place: int) -> tuple[Slot, ...]:
        """Return the safe intervals of a place."""
        if place not in self.busy and place not in self.parked and place not in self.freed:
            return _ALWAYS
        known = self._slots.get(place)
        if known is None:
            known = self._slots[place] = tuple(self._find_slots(place))
        return known

    def _find_slots(self, place: int) -> Iterable[Slot]:
        """Yield the gaps between the busy times.

        An agent cannot set out in the very step in which one that acts before it comes in, nor
        arrive in the step in which one that acts after it goes out.
        """
        busy: Mapping[int, int] = self.busy.get(place, {})
        end = self.parked.get(place, NEVER)
        start = self.freed.get(place, 0)
        for time in [*sorted(t for t in busy if t < end), end]:
            if time > start:
                late = busy.get(start - 1, 0) & AFTER != 0
                hurry = time < NEVER and busy.get(time, BEFORE) & BEFORE != 0
                yield start + late, time - 1, time - 1 - hurry
            start = max(start, time + 1)


@functools.lru_cache(maxsize=16)
def _distances(outline: bytes, stride: int) -> list[int]:
    """Return the distance of every place to the nearest goal, as if all doors were open."""
    far = [NEVER] * len(outline)
    queue = [place for place, code in enumerate(outline) if code == GOAL]
    for place in queue:
        far[place] = 0
    for place in queue:  # grows while it is walked through
        beyond = far[place] + 1
        for to in (place - stride, place + 1, place + stride, place - 1):
            if far[to] == NEVER and outline[to]:
                far[to] = beyond
                queue.append(to)
    return far


def distances(ground: Ground) -> list[int]:
    """Return a lower bound on the steps from every place to a goal; `NEVER` without a way."""
    return _distances(ground.cells.translate(_OUTLINE), ground.stride)


class _Search:
    """One run of A*. A state is ((map * area + place) * slots + slot) * 5 + heading.

    Times are costs for an agent alone; among others every action costs a step.
    """

    def __init__(
        self,
        rules: Successors,
        ground: Ground,
        me: AgentPose,
        traffic: Reservations,
        rule: int,
        fees: ActionCosts = STEPS,
    ) -> None:
        self.area, self.steps, self.rule = len(ground.cells), ground.steps, rule
        self.rules, self.ground, self.fees = rules, ground, fees
        self.traffic, self.far = traffic, distances(ground)
        cells = bytearray(ground.cells.translate(_EATEN))
        for place in traffic.freed:
            cells[place] = FLOOR
        self.maps = [(bytes(cells), me.carry)]
        self.number = {self.maps[0]: 0}
        self.alone = not (traffic.busy or traffic.parked or traffic.freed)
        self.capped = False
        self.width = 1 + max((len(at) + 1 for at in traffic.busy.values()), default=1)
        self.beside = bytearray([rule == MAY_DROP] * self.area)
        for place, code in enumerate(ground.cells):
            if code in _USED:
                for step in self.steps:
                    if 0 <= place + step < self.area:
                        self.beside[place + step] = 1
        self.time: dict[int, int] = {}
        self.came: dict[int, int] = {}
        self.queue: list[tuple[int, int, int]] = []
        self.push(-1, 0, me.place, 0, me.heading, 0)

    def push(self, old: int, level: int, place: int, slot: int, heading: int, time: int) -> None:
        """Note a way to a state if it is the first one or arrives earlier than those before."""
        if level < 0:
            return
        if not self.beside[place]:
            heading = ANY_HEADING
        state = ((level * self.area + place) * self.width + slot) * 5 + heading
        if time < self.time.get(state, NEVER) and self.far[place] < NEVER:
            self.time[state] = time
            self.came[state] = old
            heappush(self.queue, (time + self.far[place] * self.fees.move, -time, state))

    def split(self, state: int) -> tuple[int, int, int, int]:
        """Return (map, place, slot, heading) of a state."""
        rest, heading = divmod(state, 5)
        rest, slot = divmod(rest, self.width)
        level, place = divmod(rest, self.area)
        return level, place, slot, heading

    def run(self, budget: Budget | None) -> TimedPlan | None:
        """Return the way that arrives first, or the best one so far when the budget is spent."""
        most = NEVER if budget is None else budget.left // 2
        expanded, nearest = 0, (NEVER, NEVER, 0)
        while self.queue:
            _, minus, state = heappop(self.queue)
            if -minus > self.time[state]:
                continue
            level, place, slot, heading = self.split(state)
            if expanded >= most or self.maps[level][0][place] == GOAL:
                break
            nearest = min(nearest, (self.far[place], -minus, state))
            expanded += 1
            self.expand(state, level, place, slot, heading)
        else:
            return None
        if budget is not None:
            budget.left -= expanded
            if expanded >= most:
                budget.spent = True
                return self.cut(nearest[2] if expanded else state)
        return self.track(state)

    def cut(self, state: int) -> TimedPlan:
        """Return the way to a state at which the search was cut short."""
        track = self.track(state)
        track.arrives, track.least, track.cut = False, False, True
        return track

    def expand(self, state: int, level: int, place: int, slot: int, heading: int) -> None:
        """Push all useful states that can follow."""
        (cells, carry), fees = self.maps[level], self.fees
        now, slots_of = self.time[state], self.traffic.slots
        _, last, leave = slots_of(place)[slot]
        places, events, _, maps = self.rules.of(cells, carry, place)
        for way, step in enumerate(self.steps):
            to, then = places[way], maps[way]
            ahead, bumps = place + step, to == place
            if events[way] == HURT:
                bumps = False
            elif then is not None:
                if self.alone:
                    number = self.map_number(then, carry)
                    self.push(state, number, to, 0, way, now + fees.move)
            elif not bumps:
                for number, (first, end, _) in enumerate(slots_of(to)):
                    time = max(now + fees.move, first)
                    clear = to == ahead or self.clear(ahead, to, step, time)
                    if time <= end and time <= leave + 1 and clear:
                        self.push(state, level, to, number, way, time)
            # A key or a door is faced by bumping into it; floor, for a drop, only by walking.
            if (bumps or heading == way) and self.beside[place] and now < last:
                changed = self.interact(level, place, way)
                if changed >= 0:
                    after_, fee = (changed, fees.interact) if heading == way else (level, fees.bump)
                    self.push(state, after_, place, slot, way, now + fee)

    def clear(self, ahead: int, to: int, step: int, time: int) -> bool:
        """Return whether nobody is in the way of a move that leads beyond the cell ahead."""
        return all(
            any(first < time <= end for first, end, _ in self.traffic.slots(between))
            for between in range(ahead, to, step)
        )

    def map_number(self, cells: bytes, carry: int) -> int:
        """Return the number of a map, or -1 if there are too many maps."""
        key = (cells, carry)
        if key not in self.number:
            if len(self.maps) >= MAX_MAPS:
                self.capped = True
                return -1
            self.number[key] = len(self.maps)
            self.maps.append(key)
        return self.number[key]

    def interact(self, level: int, place: int, way: int) -> int:
        """Return the number of the map after interacting with what is ahead; -1 if it is no use."""
        cells, carry = self.maps[level]
        if place + self.steps[way] in self.traffic.freed:
            return -1
        after = self.rules.of(cells, carry, place)
        if carry and self.rule == MANY_HANDS and after.events[4 + way] == ILLEGAL:
            after = self.rules.of(cells, 0, place)
        event, then = after.events[4 + way], after.maps[4 + way]
        drops = self.rule == MAY_DROP and KEY in cells
        if then is None or event == CLOSE_DOOR or (event == DROP and not drops):
            return -1
        return self.map_number(then, after.carries[4 + way])

    def track(self, state: int) -> TimedPlan:
        """Return the way that led to a state."""
        states = []
        while state >= 0:
            states.append(state)
            state = self.came[state]
        states.reverse()
        cost = self.time[states[-1]]
        track = TimedPlan([], [self.split(states[0])[1]], least=not self.capped, cost=cost)
        for old, new in pairwise(states):
            self.extend(track, old, new)
        return track

    def extend(self, track: TimedPlan, old: int, new: int) -> None:
        """Add what leads from one state to the next: waiting, then one action."""
        level, place, _, _ = self.split(old)
        after, to, _, heading = self.split(new)
        waits = 0 if self.alone else self.time[new] - self.time[old] - 1
        if after != level and to == place:
            action = INTERACT
        else:
            action = MOVE_OF[self.ground.heading(place, to) if to != place else heading]
        if after != level:
            pairs = enumerate(zip(self.maps[level][0], self.maps[after][0], strict=True))
            changed = [(at, code) for at, (was, code) in pairs if was != code]
            track.changes += [(len(track.actions) + waits, at, code) for at, code in changed]
        track.actions += [*[STAY] * waits, action]
        track.places += [*[place] * waits, to]


_FREE = Reservations()


def search(
    rules: Successors,
    ground: Ground,
    me: AgentPose,
    traffic: Reservations = _FREE,
    rule: int = ONE_KEY,
    fees: ActionCosts = STEPS,
    budget: Budget | None = None,
) -> TimedPlan | None:
    """Return the way to a goal that arrives first amid the traffic, or the cheapest, or None.

    When the budget is spent, the way is cut: it leads to where a goal seemed nearest.
    """
    return _Search(rules, ground, me, traffic, rule, fees).run(budget)


def cheapest(
    rules: Successors,
    ground: Ground,
    me: AgentPose,
    fees: ActionCosts = STEPS,
    budget: Budget | None = None,
) -> TimedPlan | None:
    """Return a cheapest way to a goal for an agent alone, or None if there is none.

    With several keys, one that is in the way may have to be carried off, and the hands freed for
    the next. An agent that can hold any number of keys never pays more; if even such an agent does
    not pay less than one that never drops, dropping does not matter. Else drops are searched too.
    """
    best = search(rules, ground, me, fees=fees, budget=budget)
    if ground.cells.count(KEY) + (me.carry == KEY) <= 1:
        return best
    bound = search(rules, ground, me, rule=MANY_HANDS, fees=fees, budget=budget)
    if bound is None or (best is not None and not best.cut and best.cost == bound.cost):
        return best
    found = search(rules, ground, me, rule=MAY_DROP, fees=fees, budget=budget)
    if found is not None and found.cut and best is not None and best.arrives:
        best.least = False
        return best
    return found
