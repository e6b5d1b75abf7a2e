"""Goals: a PDDL formula that can be judged in every state, and what it asks for.

`and`, `or`, `not`, `imply`, `exists`, `forall` and `=` are understood. Quantified variables run
over the values that the unchanging facts allow, so a goal is judged in a few microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from piase_gym.errors import ConfigError
from piase_gym.worlds.household.levels.pddl import PREDICATES, Formula, check_atom, variables
from piase_gym.worlds.household.state import HomeState

MARKS: Final = {"isclean": 1, "ishot": 2, "iscool": 4, "issliced": 8, "istoggled": 16, "ison": 32}
"""What can become of an object, as bits."""
CLEAN, HOT, COOL, SLICED, TOGGLED, ON = MARKS.values()

_PLACING = ("take", "move", "put")
_VERBS: Final = {
    "inreceptacle": _PLACING,
    "holds": _PLACING,
    "holdsany": _PLACING,
    "objectatlocation": _PLACING,
    "atlocation": ("go",),
    "opened": ("open", "close"),
    "isclean": ("clean",),
    "ishot": ("heat", "cool"),
    "iscool": ("heat", "cool"),
    "issliced": ("slice",),
    "istoggled": ("use",),
    "ison": ("use",),
}
"""The commands that change what a predicate says."""
_OF_PLACES = ("go", "open", "close")

Judge = Callable[[HomeState, dict[str, Any]], bool]

_CHANGING: Final[dict[str, Callable[[HomeState, Any], bool]]] = {
    "inreceptacle": lambda state, a: a[0] in state.contents[a[1]],
    "holds": lambda state, a: state.holding[a[0]] == a[1],
    "holdsany": lambda state, a: state.holding[a[0]] >= 0,
    "atlocation": lambda state, a: state.at[a[0]] == a[1] and state.status[a[0]] != "none",
    "objectatlocation": lambda state, a: a[1] in state.spots[a[0]],
    "opened": lambda state, a: bool(state.opened[a[0]]),
}
_NOT_KEPT: Final = ("checked", "examined", "wasinreceptacle")
"""What the engine does not keep track of, since no goal of the games asks for it."""


class ObjectRequirement(NamedTuple):
    """What a goal asks of one object.

    Attributes:
        objects: Which objects can serve.
        marks: What must have become of it, as bits.
        held: Whether it must be in hand.
        places: The receptacles that it may be put into, or ``None`` if any.
        near: Whether somebody must stand where it is.
    """

    objects: tuple[int, ...]
    marks: int
    held: bool
    places: tuple[int, ...] | None
    near: bool


@dataclass(frozen=True, eq=False)
class Goal:
    """A goal.

    Attributes:
        formula: The goal as it was read.
        verbs: The commands that can change whether it holds.
        objects: The objects that it is about, or ``None`` if any may be.
        wanted: What it asks for; the objects must differ, and those with places share one.
            Empty if the goal is of another kind, which is judged but not planned for.
    """

    formula: Formula
    verbs: frozenset[str]
    objects: frozenset[int] | None
    wanted: tuple[ObjectRequirement, ...]
    _judge: Judge = field(repr=False)

    def concerns(self, verb: str, one: int) -> bool:
        """Return whether a command can change whether the goal holds."""
        if verb not in self.verbs:
            return False
        return self.objects is None or verb in _OF_PLACES or one in self.objects

    def reached(self, state: HomeState) -> bool:
        """Return whether the goal holds."""
        return self._judge(state, {})


class Domain(NamedTuple):
    """What a goal is about.

    Attributes:
        numbers: Objects, receptacles, locations by id -> number.
        types: The type of each id.
        fixed: What holds for good: predicate -> ids.
        members: Ids by type.
    """

    numbers: Mapping[str, int]
    types: Mapping[str, str]
    fixed: Mapping[str, frozenset[tuple[str, ...]]]
    members: Mapping[str, Sequence[str]]


def compile_goal(formula: Formula, domain: Domain) -> Goal:
    """Return a goal that can be judged.

    Raises:
        ConfigError: If a part of it is unknown.
    """
    judge = _compile(formula, domain, dict(domain.types))
    verbs = frozenset(verb for word in _words(formula) for verb in _VERBS.get(word, ()))
    wanted = tuple(_wanted(formula, domain))
    objects = frozenset(k for row in wanted for k in row.objects) if wanted else None
    return Goal(formula, verbs, objects, wanted, judge)


def _compile(formula: Any, domain: Domain, scope: Mapping[str, str]) -> Judge:
    """Compile a formula whose free variables have the types in scope."""
    if not isinstance(formula, list) or not formula:
        raise ConfigError(f"PDDL: {formula!r:.60} is no goal")
    head, *rest = formula
    if head in ("and", "or"):
        judges = [_compile(part, domain, scope) for part in rest]
        if head == "and":
            return lambda state, env: all(judge(state, env) for judge in judges)
        return lambda state, env: any(judge(state, env) for judge in judges)
    if head == "not":
        (inner,) = _require_parts(head, rest, 1)
        judge = _compile(inner, domain, scope)
        return lambda state, env: not judge(state, env)
    if head == "imply":
        one, two = _require_parts(head, rest, 2)
        return _compile(["or", ["not", one], two], domain, scope)
    if head == "forall":
        names, body = _require_parts(head, rest, 2)
        judge = _compile(["exists", names, ["not", body]], domain, scope)
        return lambda state, env: not judge(state, env)
    if head == "exists":
        _require_parts(head, rest, 2)
        return _compile_exists(formula, domain, scope)
    return _compile_atom(formula, domain, scope)


def _require_parts(head: str, rest: Sequence[Any], count: int) -> Sequence[Any]:
    """Check how many parts follow a word."""
    if len(rest) != count:
        raise ConfigError(f"PDDL: {head!r} takes {count} parts, not {len(rest)}")
    return rest


def _compile_atom(formula: Formula, domain: Domain, scope: Mapping[str, str]) -> Judge:
    """Compile a predicate and what it is about."""
    name, *arguments = formula
    if name == "=":
        one, two = _require_parts(name, arguments, 2)
        for word in (one, two):
            if not isinstance(word, str) or word not in scope:
                raise ConfigError(f"PDDL: = is said of the unknown {word!r:.60}")
        return lambda _state, env: env.get(one, one) == env.get(two, two)
    check_atom(name, arguments, scope)
    if name in _NOT_KEPT:
        raise ConfigError(f"PDDL: a goal about {name!r} cannot be judged")
    for word in arguments if name in MARKS or name in _CHANGING else ():
        if word in domain.types and word not in domain.numbers:
            raise ConfigError(f"PDDL: the goal names {word!r:.60}, of which :init says nothing")
    if name in MARKS:
        bit, (thing,) = MARKS[name], arguments
        return lambda state, env: bool(state.marks[_number(thing, env, domain)] & bit)
    if name in _CHANGING:
        holds = _CHANGING[name]
        return lambda state, env: holds(state, [_number(a, env, domain) for a in arguments])
    rows = domain.fixed.get(name, frozenset())
    return lambda _state, env: tuple([env.get(a, a) for a in arguments]) in rows


def _number(word: str, env: Mapping[str, Any], domain: Domain) -> int:
    """Return the number of a name or variable; an agent variable holds a number already."""
    value = env.get(word, word)
    return value if isinstance(value, int) else domain.numbers[value]


def _flat(formula: Formula, seen: dict[str, str]) -> Iterator[Formula]:
    """Yield the parts of nested `exists` and `and`, noting their variables."""
    if formula[:1] == ["exists"] and len(formula) == 3:
        names = variables(formula[1])
        if not names.keys() & seen.keys():
            seen.update(names)
            yield from _flat(formula[2], seen)
            return
    elif formula[:1] == ["and"]:
        for part in formula[1:]:
            yield from _flat(part, seen)
        return
    yield formula


def _compile_exists(formula: Formula, domain: Domain, scope: Mapping[str, str]) -> Judge:
    """Compile a search for values: each part is judged as soon as its variables have values."""
    names: dict[str, str] = {}
    parts = list(_flat(formula, names))
    inner = {**scope, **names}
    for name, kind in names.items():
        if kind not in domain.members and kind != "agent":
            raise ConfigError(f"PDDL: {name} has the unknown type {kind!r:.60}")
    judges = [(_words(part) & names.keys(), _compile(part, domain, inner)) for part in parts]
    choices = {name: _choices(name, kind, parts, domain) for name, kind in names.items()}
    order = sorted(names, key=lambda name: (names[name] == "agent", len(choices[name] or ())))
    free = [judge for used, judge in judges if not used]
    steps = []
    for k, name in enumerate(order):
        before = set(order[:k])
        ready = [j for used, j in judges if name in used and used <= before | {name}]
        steps.append((name, choices[name], ready))

    def search(state: HomeState, env: dict[str, Any], depth: int) -> bool:
        if depth == len(steps):
            return True
        name, values, ready = steps[depth]
        for value in range(len(state.at)) if values is None else values:
            env[name] = value
            if all(judge(state, env) for judge in ready) and search(state, env, depth + 1):
                return True
        return False

    return lambda state, env: all(j(state, env) for j in free) and search(state, {**env}, 0)


def _words(formula: Any) -> set[str]:
    """Return every word of a formula."""
    if isinstance(formula, str):
        return {formula}
    return set().union(*map(_words, formula))


def _choices(
    name: str, kind: str, parts: Sequence[Formula], domain: Domain
) -> Sequence[str] | None:
    """Return the values that unchanging facts allow for a variable; ``None`` for agents."""
    if kind == "agent":
        return None
    found = list(domain.members[kind])
    for part in parts:
        variable_free = [word for word in part[1:] if isinstance(word, str) and word[:1] == "?"]
        if part[0] in PREDICATES and variable_free == [name] and _is_fixed(part[0]):
            rows, at = domain.fixed.get(part[0], ()), part.index(name)
            before, after = part[1:at], part[at + 1 :]
            found = [value for value in found if (*before, value, *after) in rows]
    return found


def _is_fixed(predicate: str) -> bool:
    """Return whether what a predicate says never changes."""
    return not (predicate in MARKS or predicate in _CHANGING or predicate in _NOT_KEPT)


# -- what it asks for --------------------------------------------------------------------------


def _wanted(formula: Formula, domain: Domain) -> Iterator[ObjectRequirement]:
    """Yield what a goal of the six tasks asks of each object, in the order of its variables."""
    groups = [formula]
    if formula[:1] == ["and"] and all(part[:1] == ["exists"] for part in formula[1:]):
        groups = formula[1:]
    for group in groups:
        names: dict[str, str] = {}
        parts = list(_flat(group, names))
        known = {"not", "=", "inreceptacle", "holds", "atlocation", *MARKS}
        if any(part[0] not in known and not _fixed_part(part) for part in parts):
            return
        choices = {name: _choices(name, kind, parts, domain) for name, kind in names.items()}
        for name, kind in names.items():
            if kind == "object":
                yield _wanted_of(name, parts, choices, domain)


def _fixed_part(part: Formula) -> bool:
    return part[0] in PREDICATES and _is_fixed(part[0])


def _wanted_of(
    name: str,
    parts: Sequence[Formula],
    choices: Mapping[str, Sequence[str] | None],
    domain: Domain,
) -> ObjectRequirement:
    """Return what is asked of the object that a variable stands for."""
    said = [part for part in parts if name in part]
    marks = sum(MARKS[part[0]] for part in said if part[0] in MARKS)
    within = [part[2] for part in said if part[0] == "inreceptacle"]
    near = any(part[0] == "atlocation" for part in parts)
    places = None if not within or near else choices.get(within[0], ())
    return ObjectRequirement(
        tuple(domain.numbers[value] for value in choices[name] or ()),
        marks,
        any(part[0] == "holds" for part in said),
        None if places is None else tuple(domain.numbers[value] for value in places),
        near,
    )
