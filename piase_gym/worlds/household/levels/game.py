"""The game of a home: the part that never changes, compiled from a problem in PDDL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from piase_gym.core.commands import Command
from piase_gym.errors import ConfigError
from piase_gym.worlds.household.levels.pddl import Problem
from piase_gym.worlds.household.rules.goals import MARKS, Domain, Goal, compile_goal
from piase_gym.worlds.household.state import NOTHING, OPEN, UNSEEN, HomeState

_ABILITIES = ("pickupable", "cleanable", "heatable", "coolable", "toggleable", "sliceable")
_TOOLS = {"clean": "sinkbasintype", "heat": "microwavetype", "cool": "fridgetype"}
_NAME = re.compile(r"[a-z0-9][a-z0-9_.+-]{0,50} \d{0,4}")
_KNIVES = ("knifetype", "butterknifetype")


class Entry(NamedTuple):
    """A command of one home: its line, its data, and the numbers of what it is about."""

    line: str
    command: Command
    verb: str
    one: int
    two: int

    def __deepcopy__(self, _memo: Any) -> Entry:
        """Return itself: a command never changes."""
        return self


@dataclass(frozen=True, eq=False)
class Game:
    """The part of a home that never changes; copies of a world share it.

    Objects, receptacles and locations are numbered, and listed, in the order of their ids.

    Attributes:
        goal_text: The task in words.
        goal: The goal.
        objects: Names of the objects.
        receptacles: Names of the receptacles.
        locations: Names of the locations.
        types: The type of each object, such as ``apple``.
        places_of: The location of each receptacle, or -1.
        at: The receptacles at each location.
        openable: Which receptacles can be opened.
        accepts: For each object, which receptacles it can be put into.
        can: For each of `_ABILITIES`, which objects have it.
        tools: For ``clean``, ``heat`` and ``cool``, the receptacles that do it.
        knives: Which objects cut.
        holders: Which objects can have others in them.
        inside: What lies in each object, which nothing changes.
        repeats: Whether a line may stand for two commands.
        start: The state at the beginning, for one agent.
        problem: The problem that it was compiled from.
    """

    goal_text: str
    goal: Goal
    objects: tuple[str, ...]
    receptacles: tuple[str, ...]
    locations: tuple[str, ...]
    types: tuple[str, ...]
    places_of: tuple[int, ...]
    at: tuple[tuple[int, ...], ...]
    openable: tuple[bool, ...]
    accepts: tuple[frozenset[int], ...]
    can: Mapping[str, tuple[bool, ...]]
    tools: Mapping[str, frozenset[int]]
    knives: frozenset[int]
    holders: frozenset[int]
    inside: Mapping[int, tuple[int, ...]]
    repeats: bool
    start: HomeState
    entries: dict[tuple[str, int, int], Entry] = field(default_factory=dict, repr=False)
    by_command: dict[int, Entry] = field(default_factory=dict, repr=False)
    by_line: dict[str, Entry] = field(default_factory=dict, repr=False)
    ways: dict[int, list[Entry]] = field(default_factory=dict, repr=False)
    views: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)
    lists: dict[tuple[int, ...], str] = field(default_factory=dict, repr=False)
    problem: Problem | None = field(default=None, repr=False)

    def __deepcopy__(self, _memo: Any) -> Game:
        """Return itself: a game never changes."""
        return self

    def __reduce__(self) -> Any:
        """Pickle the problem alone."""
        return compile_problem, (self.problem, self.goal_text)

    def listing(self, things: tuple[int, ...]) -> str:
        """Say what is there: ``a cup 1, and a mug 2``."""
        found = self.lists.get(things)
        if found is None:
            if len(self.lists) > 4096:
                self.lists.clear()
            found = self.lists[things] = listing(self.objects[k] for k in things)
        return found

    @property
    def most_commands(self) -> int:
        """An upper bound on how many commands an agent has at once, apart from speech."""
        spots = max(map(len, self.at), default=0)
        takes = sum(self.can["pickupable"][k] for things in self.start.contents for k in things)
        acts = sum(map(sum, (self.can["toggleable"], self.can["sliceable"])))
        return 3 + len(self.receptacles) + 3 * spots + max(takes, spots + 4) + acts


def listing(names: Iterable[str]) -> str:
    """Write names as a list in words."""
    items = [f"a {name}" for name in names]
    if len(items) < 2:
        return items[0] if items else "nothing"
    return f"{', '.join(items[:-1])}, and {items[-1]}"


def compile_problem(problem: Problem, goal_text: str) -> Game:
    """Return the game of a problem.

    Raises:
        ConfigError: If the problem has no agent, or the engine cannot play it.
    """
    facts, types = problem.facts, problem.types
    known = {word for rows in facts.values() for row in rows for word in row}
    ids: dict[str, list[str]] = {}
    for word in sorted(known):
        ids.setdefault(types[word], []).append(word)
    objects, receptacles = ids.get("object", []), ids.get("receptacle", [])
    locations, agents = ids.get("location", []), ids.get("agent", [])
    if not agents or not facts["atlocation"]:
        raise ConfigError("PDDL: the problem has no agent at a location")
    names = display_names(known)
    for word in (*objects, *receptacles):
        if not _NAME.fullmatch(names[word]):
            raise ConfigError(f"PDDL: {word!r:.60} cannot be shown as a name")
    number = {word: k for rows in (objects, receptacles, locations) for k, word in enumerate(rows)}
    agent = sorted(agents)[0]
    number.update(dict.fromkeys(agents, 0))
    fixed = {name: frozenset(rows) for name, rows in facts.items()}
    members = {kind: rows for kind, rows in ids.items() if kind != "agent"}
    domain = Domain(number, types, fixed, {**dict.fromkeys(types.values(), ()), **members})
    places = _places(facts["receptacleatlocation"], number, len(receptacles))
    at: list[list[int]] = [[] for _ in locations]
    for k, place in enumerate(places):
        if place >= 0:
            at[place].append(k)
    kinds: dict[str, set[str]] = {k: set() for k in receptacles}
    for receptacle, kind in facts["receptacletype"]:
        if receptacle in kinds:
            kinds[receptacle].add(kind)
    return Game(
        goal_text=goal_text,
        goal=compile_goal(problem.goal, domain),
        objects=tuple(names[k] for k in objects),
        receptacles=tuple(names[k] for k in receptacles),
        locations=tuple(names[k] for k in locations),
        types=tuple(names[k].split(" ")[0] for k in objects),
        places_of=tuple(places),
        at=tuple(map(tuple, at)),
        openable=tuple([(k,) in fixed["openable"] for k in receptacles]),
        accepts=_accepts(facts, number, len(objects), kinds),
        can={name: tuple([(k,) in fixed[name] for k in objects]) for name in _ABILITIES},
        tools={
            verb: frozenset(number[k] for k in receptacles if kind in kinds[k])
            for verb, kind in _TOOLS.items()
        },
        knives=frozenset(number[o] for o, kind in facts["objecttype"] if kind in _KNIVES),
        holders=frozenset(number[o] for (o,) in facts["isreceptacleobject"]),
        inside=_pairs(((b, a) for a, b in facts["inreceptacleobject"]), number),
        repeats=_repeats(facts, names),
        start=_start(problem, agent, number, len(objects), len(receptacles)),
        problem=problem,
    )


def display_names(ids: Iterable[str]) -> dict[str, str]:
    """Return the names of things: their kind and a number, highest for the first id."""
    ordered = sorted(ids)
    kinds, counts = {}, dict[str, int]()
    for word in ordered:
        kind, found, _ = word.partition("_bar_")
        if found:
            kinds[word] = kind + ("basin" if "basin" in word else "")
            counts[kinds[word]] = counts.get(kinds[word], 0) + 1
    names = {}
    for word in ordered:
        kind_of = kinds.get(word)
        if kind_of is None:
            names[word] = f"{word} "  # as the games call what has no number
        else:
            names[word] = f"{kind_of} {counts[kind_of]}"
            counts[kind_of] -= 1
    return names


def _places(rows: Sequence[tuple[str, ...]], number: Mapping[str, int], count: int) -> list[int]:
    """Return the location of each receptacle."""
    found = [NOTHING] * count
    for receptacle, location in rows:
        place = number[receptacle]
        if found[place] not in (NOTHING, number[location]):
            raise ConfigError(f"PDDL: {receptacle!r:.60} is at two locations")
        found[place] = number[location]
    return found


def _accepts(
    facts: Mapping[str, Sequence[tuple[str, ...]]],
    number: Mapping[str, int],
    count: int,
    kinds: Mapping[str, set[str]],
) -> tuple[frozenset[int], ...]:
    """Return which receptacles each object can be put into."""
    takers: dict[str, set[int]] = {}
    places: dict[str, set[int]] = {}
    for k, found in kinds.items():
        for kind in found:
            places.setdefault(kind, set()).add(number[k])
    for place, thing in facts["cancontain"]:
        takers.setdefault(thing, set()).update(places.get(place, ()))
    rows: list[set[int]] = [set() for _ in range(count)]
    for thing, kind in facts["objecttype"]:
        rows[number[thing]] |= takers.get(kind, set())
    return tuple(map(frozenset, rows))


def _repeats(facts: Mapping[str, Sequence[tuple[str, ...]]], names: Mapping[str, str]) -> bool:
    """Return whether a lamp may be in two receptacles, or two things have one name."""
    within = [thing for thing, _ in facts["inreceptacle"]]
    lamps = [thing for (thing,) in facts["toggleable"]]
    moved = any((lamp,) in facts["pickupable"] or within.count(lamp) > 1 for lamp in lamps)
    return moved or len(set(names.values())) < len(names)


def _pairs(
    rows: Iterable[tuple[str, str]], number: Mapping[str, int]
) -> dict[int, tuple[int, ...]]:
    """Return the second things of pairs by the first, sorted."""
    found: dict[int, set[int]] = {}
    for one, two in rows:
        found.setdefault(number[one], set()).add(number[two])
    return {key: tuple(sorted(values)) for key, values in found.items()}


def _start(
    problem: Problem, agent: str, number: Mapping[str, int], objects: int, receptacles: int
) -> HomeState:
    """Return the state at the beginning."""
    facts = problem.facts
    contents = _pairs(((r, o) for o, r in facts["inreceptacle"]), number)
    spots = _pairs(((o, loc) for o, loc in facts["objectatlocation"]), number)
    marks, opened = [0] * objects, [0] * receptacles
    for name, bit in MARKS.items():
        for (thing,) in facts[name]:
            marks[number[thing]] |= bit
    for (place,) in facts["opened"]:
        opened[number[place]] = 1
    held = [number[o] for who, o in facts["holds"] if who == agent]
    where = [number[place] for who, place in facts["atlocation"] if who == agent]
    if not where:
        raise ConfigError(f"PDDL: {agent} is nowhere")
    return HomeState(
        seed=0,
        number=0,
        t=0,
        status=["playing"],
        at=[where[0]],
        holding=[held[0] if held else NOTHING],
        contents=[contents.get(k, ()) for k in range(receptacles)],
        opened=opened,
        marks=marks,
        spots=[spots.get(k, ()) for k in range(objects)],
        left=[()] * objects,
        seen=[[(UNSEEN, None)] * receptacles],
        feedback=[""],
        why=[""],
        reached=[],
        order=[0],
    )


def new_state(game: Game, slots: int, agents: int, seed: int, number: int) -> HomeState:
    """Return the state at the beginning, for agents that start where the game's one agent does."""
    state = game.start.copy()
    state.seed, state.number = seed, number
    state.status = ["playing" if k < agents else "none" for k in range(slots)]
    state.at = state.at * slots
    state.holding = [state.holding[0], *[NOTHING] * (slots - 1)]
    state.seen = [state.seen[0][:] for _ in range(slots)]
    state.feedback, state.why = [""] * slots, [""] * slots
    state.order = list(range(slots))
    return state


def check_sizes(game: Game, state: HomeState, slots: int) -> None:
    """Raise `ValueError` if a state does not fit this game and number of agents."""
    objects, receptacles = len(game.objects), len(game.receptacles)
    of_agents: tuple[Sized, ...] = (
        state.status,
        state.at,
        state.holding,
        state.seen,
        state.feedback,
        state.why,
        state.order,
    )
    if any(len(part) != slots for part in of_agents) or sorted(state.order) != list(range(slots)):
        raise ValueError(f"it is not of {slots} agents")
    if any(len(part) != objects for part in (state.marks, state.spots, state.left)):
        raise ValueError(f"it is not of {objects} objects")
    rows: tuple[Sized, ...] = (state.contents, state.opened, *state.seen)
    if any(len(part) != receptacles for part in rows):
        raise ValueError(f"it is not of {receptacles} receptacles")
    things = [k for row in state.contents for k in row]
    things += [k for row in state.seen for _, seen in row for k in seen or ()]
    things += [k for k in state.holding if k != NOTHING]
    spots = [*state.at, *(k for row in state.spots for k in row)]
    lids = [lid for row in state.seen for lid, _ in row]
    bounds = (
        (things, objects),
        (spots, len(game.locations)),
        ([k for row in state.left for k in row], receptacles),
        (lids, OPEN + 1),
        (state.opened, 2),
        (state.marks, 64),
        ([state.t], 2**31),
        ([state.seed], 2**63),
    )
    if any(not 0 <= k < stop for values, stop in bounds for k in values):
        raise ValueError("a number in it is out of range")
