"""Reads PDDL problems of the ALFRED domain: objects with types, facts, and a goal.

Names are compared without regard to case, as in PDDL, and kept in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from piase_gym.errors import ConfigError

Formula = list[Any]
"""A goal as nested lists of words, such as ``["and", ["isclean", "?o"]]``."""
_TOKEN = re.compile(r"[()]|[^\s()]+")
_COMMENT = re.compile(r";[^\n]*")

TYPES: Final = ("agent", "location", "receptacle", "object", "rtype", "otype")
PREDICATES: Final[Mapping[str, tuple[str, ...]]] = {
    "atlocation": ("agent", "location"),
    "receptacleatlocation": ("receptacle", "location"),
    "objectatlocation": ("object", "location"),
    "openable": ("receptacle",),
    "opened": ("receptacle",),
    "inreceptacle": ("object", "receptacle"),
    "isreceptacleobject": ("object",),
    "inreceptacleobject": ("object", "object"),
    "isreceptacleobjectfull": ("object",),
    "wasinreceptacle": ("object", "receptacle"),
    "checked": ("",),
    "examined": ("location",),
    "receptacletype": ("receptacle", "rtype"),
    "cancontain": ("rtype", "otype"),
    "objecttype": ("object", "otype"),
    "holds": ("agent", "object"),
    "holdsany": ("agent",),
    "holdsanyreceptacleobject": ("agent",),
    "full": ("receptacle",),
    "isclean": ("object",),
    "cleanable": ("object",),
    "ishot": ("object",),
    "heatable": ("object",),
    "iscool": ("object",),
    "coolable": ("object",),
    "pickupable": ("object",),
    "moveable": ("object",),
    "toggleable": ("object",),
    "ison": ("object",),
    "istoggled": ("object",),
    "sliceable": ("object",),
    "issliced": ("object",),
}
"""The predicates of the domain, with the types of what they are about ("" is any)."""


class Problem(NamedTuple):
    """A PDDL problem.

    Attributes:
        types: The type of each object, in the order of the file.
        facts: For each predicate, the arguments of which it holds.
        goal: The goal.
    """

    types: Mapping[str, str]
    facts: Mapping[str, Sequence[tuple[str, ...]]]
    goal: Formula


def read_problem(text: str) -> Problem:
    """Read a PDDL problem.

    Raises:
        ConfigError: If it is unbalanced, lacks a part, or has an unknown type, predicate or object.
    """
    tree = _tree(text)
    if tree[:1] != ["define"]:
        raise ConfigError("PDDL: a problem begins with (define (problem ...) ...)")
    rows = [part for part in tree[1:] if isinstance(part, list) and part]
    parts = {part[0]: part[1:] for part in rows if isinstance(part[0], str)}
    for name in (":objects", ":init", ":goal"):
        if name not in parts:
            raise ConfigError(f"PDDL: the problem has no {name}")
    types = _typed(parts[":objects"])
    for name, kind in types.items():
        if kind not in TYPES:
            raise ConfigError(f"PDDL: {name!r:.60} has the unknown type {kind!r:.60}")
    if len(parts[":goal"]) != 1:
        raise ConfigError("PDDL: a problem has one goal")
    return Problem(types, _facts(parts[":init"], types), parts[":goal"][0])


def _tree(text: str) -> Formula:
    """Return the one expression of a text as nested lists."""
    stack: list[Formula] = [[]]
    for token in _TOKEN.findall(_COMMENT.sub("", text).lower()):
        if token == "(":
            stack.append([])
        elif token == ")":
            if len(stack) < 2:
                raise ConfigError("PDDL: there is a ')' too many")
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    if len(stack) > 1:
        raise ConfigError(f"PDDL: {len(stack) - 1} '(' are not closed")
    if len(stack[0]) != 1 or not isinstance(stack[0][0], list):
        raise ConfigError("PDDL: the text is not one expression in brackets")
    found: Formula = stack[0][0]
    return found


def _typed(words: Sequence[Any]) -> dict[str, str]:
    """Read ``a b - type c - type``."""
    found: dict[str, str] = {}
    names: list[str] = []
    rest = iter(words)
    for word in rest:
        if not isinstance(word, str):
            raise ConfigError("PDDL: there are brackets among typed names")
        if word != "-":
            names.append(word)
            continue
        kind = next(rest, None)
        if not isinstance(kind, str):
            raise ConfigError(f"PDDL: {', '.join(names)!r:.60} has no type after '-'")
        found.update(dict.fromkeys(names, kind))
        names = []
    if names:
        raise ConfigError(f"PDDL: {names[0]!r:.60} has no type")
    return found


def variables(words: Any) -> dict[str, str]:
    """Read the typed variables of a quantifier; a comma may stand between them."""
    if not isinstance(words, list):
        raise ConfigError(f"PDDL: a quantifier needs variables, not {words!r:.60}")
    return _typed([w.rstrip(",") if isinstance(w, str) else w for w in words if w != ","])


def _facts(init: Sequence[Any], types: Mapping[str, str]) -> dict[str, list[tuple[str, ...]]]:
    """Check the initial facts and sort them by predicate; leave out numbers, such as distances."""
    facts: dict[str, list[tuple[str, ...]]] = {name: [] for name in PREDICATES}
    for entry in init:
        if not isinstance(entry, list) or not entry:
            raise ConfigError(f"PDDL: {entry!r:.60} is no fact")
        name, *arguments = entry
        if name == "=":
            continue
        check_atom(name, arguments, types)
        facts[name].append(tuple(arguments))
    return facts


def check_atom(name: Any, arguments: Sequence[Any], types: Mapping[str, str]) -> None:
    """Check a predicate and the types of its arguments.

    Raises:
        ConfigError: If one of them is unknown or does not fit.
    """
    wanted = PREDICATES.get(name) if isinstance(name, str) else None
    if wanted is None:
        raise ConfigError(f"PDDL: unknown predicate {name!r:.60}")
    if len(arguments) != len(wanted):
        raise ConfigError(f"PDDL: {name} is said of {len(wanted)}, not of {len(arguments)}")
    for argument, kind in zip(arguments, wanted, strict=True):
        found = types.get(argument) if isinstance(argument, str) else None
        if found is None:
            raise ConfigError(f"PDDL: {name} is said of the unknown {argument!r:.60}")
        if kind and found != kind:
            raise ConfigError(f"PDDL: {name} is said of {argument!r:.60}, which is no {kind}")
