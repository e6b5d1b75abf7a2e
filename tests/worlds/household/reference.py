"""The rules of the domain over a plain set of facts: slow, and written apart from the engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from piase_gym.worlds.household.levels.pddl import Problem

Fact = tuple[str, ...]
AGENT = "agent1"


class Reference:
    """A home as a set of facts.

    Args:
        problem: The PDDL problem.
        names: How each id is called.
    """

    def __init__(self, problem: Problem, names: dict[str, str]) -> None:
        self.facts: set[Fact] = {(p, *row) for p, rows in problem.facts.items() for row in rows}
        self.names = names
        kinds: dict[str, list[str]] = {}
        for word, kind in problem.types.items():
            kinds.setdefault(kind, []).append(word)
        self.objects = [k for k in kinds.get("object", []) if k in names]
        self.receptacles = [k for k in kinds.get("receptacle", []) if k in names]

    def every(self, predicate: str, *start: str) -> Iterator[Any]:
        """Yield the last argument of the facts that begin so."""
        for fact in list(self.facts):
            if fact[: 1 + len(start)] == (predicate, *start):
                yield fact[-1]

    def has(self, *fact: str) -> bool:
        """Tell whether a fact holds."""
        return fact in self.facts

    def actions(self) -> dict[str, tuple[set[Fact], set[Fact]]]:
        """Return every command that is possible now: what it adds and what it takes away."""
        here = next(self.every("atlocation", AGENT))
        found: dict[str, tuple[set[Fact], set[Fact]]] = {
            line: (set(), set()) for line in ("look", "inventory", "help")
        }
        name, has = self.names, self.has
        at = [r for r in self.receptacles if has("receptacleatlocation", r, here)]
        for r in self.receptacles:
            for place in self.every("receptacleatlocation", r):
                if place != here:
                    away = {("atlocation", AGENT, here)}
                    found[f"go to {name[r]}"] = ({("atlocation", AGENT, place)}, away)
        for r in at:
            found[f"examine {name[r]}"] = (set(), set())
            if has("openable", r):
                verb = "close" if has("opened", r) else "open"
                change = {("opened", r)}
                found[f"{verb} {name[r]}"] = (change, set()) if verb == "open" else (set(), change)
        for o in self.objects:
            self._of_object(o, here, at, found)
        return found

    def _of_object(
        self, o: str, here: str, at: list[str], found: dict[str, tuple[set[Fact], set[Fact]]]
    ) -> None:
        """Add what can be done with an object."""
        name, has = self.names, self.has
        held = has("holds", AGENT, o)
        if held:
            found[f"examine {name[o]}"] = (set(), set())
        hand = {("holds", AGENT, o), ("holdsany", AGENT)}
        for r in at:
            reach = not has("openable", r) or has("opened", r)
            inside = {("inreceptacle", o, r)}
            noted = {("objectatlocation", o, here)}
            empty = not has("holdsany", AGENT)
            if has("pickupable", o) and has("inreceptacle", o, r) and empty and reach:
                found[f"take {name[o]} from {name[r]}"] = (hand, inside | noted)
            takes = any(
                has("cancontain", rt, ot)
                for rt in self.every("receptacletype", r)
                for ot in self.every("objecttype", o)
            )
            if held and reach and takes:
                found[f"move {name[o]} to {name[r]}"] = (inside | noted, hand)
            if has("toggleable", o) and has("inreceptacle", o, r):
                found[f"use {name[o]}"] = ({("istoggled", o)}, set())
            for verb, able, tool, adds, takes_off in (
                ("clean", "cleanable", "sinkbasintype", "isclean", ""),
                ("heat", "heatable", "microwavetype", "ishot", "iscool"),
                ("cool", "coolable", "fridgetype", "iscool", "ishot"),
            ):
                if held and has(able, o) and has("receptacletype", r, tool):
                    change = ({(adds, o)}, {(takes_off, o)})
                    found[f"{verb} {name[o]} with {name[r]}"] = change
        if has("sliceable", o) and has("objectatlocation", o, here):
            for k in self.objects:
                knife = has("objecttype", k, "knifetype") or has("objecttype", k, "butterknifetype")
                if knife and has("holds", AGENT, k):
                    found[f"slice {name[o]} with {name[k]}"] = ({("issliced", o)}, set())

    def act(self, line: str) -> None:
        """Carry out a command."""
        adds, removes = self.actions()[line]
        self.facts = (self.facts - removes) | adds
