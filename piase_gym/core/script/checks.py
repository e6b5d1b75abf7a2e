"""What is wrong with a script, as far as its world and the world's config show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from piase_gym.core.script import models
from piase_gym.core.script.contradictions import clash, endless
from piase_gym.core.script.observables import COMMON, Observable
from piase_gym.errors import ConfigError, suggest

Path = tuple[str | int, ...]


class Problem(NamedTuple):
    """What is wrong, and in which part of a script."""

    path: Path
    message: str


def check_script(kind: Any, config: Any, agents: Sequence[str]) -> None:
    """Check the script of a config, if it has one.

    Raises:
        ConfigError: With a line for everything that is wrong.
    """
    if config.script is None:
        return
    found = problems(config.script, kind, config, agents)
    lines = [f"{kind.name}.script.{'.'.join(map(str, p.path))}: {p.message}" for p in found]
    if lines:
        raise ConfigError("\n".join(dict.fromkeys(lines)))


def problems(
    script: models.Script, kind: Any, config: Any, agents: Sequence[str]
) -> Iterator[Problem]:
    """Yield what is wrong with a script.

    Args:
        script: The script.
        kind: The class of the world.
        config: The config; ``None`` if there is no valid one, and then places and values are not
            checked.
        agents: The names of the agents.
    """
    yield from _Checker(script, kind, config, agents).all()


class _Checker:
    """Looks through one script."""

    def __init__(
        self, script: models.Script, kind: Any, config: Any, agents: Sequence[str]
    ) -> None:
        self.script, self.config, self.agents = script, config, list(agents)
        self.kind = kind if config is None else kind.kind_for(config)
        own = kind.observables if config is None else kind.observables_of(config)
        self.facts: dict[str, Observable] = {**COMMON, **own}
        self.milestones = [*self.kind.milestones, *script.milestones]

    def all(self) -> Iterator[Problem]:
        """Yield everything that is wrong."""
        script = self.script
        if not self.kind.scriptable:
            yield Problem((), f"{self.kind.name} takes no script: its scenarios are stories")
            return
        for name in ("win_conditions", "lose_conditions"):
            yield from self._conditions(getattr(script, name), (name,))
        if script.win_logic == "all" and (message := clash(script.win_conditions)):
            yield Problem(("win_conditions",), message)
        for k, condition in enumerate(script.lose_conditions):
            if condition in script.win_conditions:
                message = "this is a win condition too, so that it says nothing"
                yield Problem(("lose_conditions", k), message)
        seen: set[str] = set()
        for k, goal in enumerate(script.goals):
            path: Path = ("goals", k)
            yield from self._agent(goal.agent_id, (*path, "agent_id"), ())
            if goal.agent_id in seen:
                yield Problem((*path, "agent_id"), f"{goal.agent_id!r} has a goal already")
            seen.add(goal.agent_id)
            for name in ("win_conditions", "lose_conditions"):
                yield from self._conditions(getattr(goal, name), (*path, name))
        for k, row in enumerate(script.shaping):
            yield from self._shaping(row, ("shaping", k))
        for k, event in enumerate(script.events):
            yield from self._condition(event.when, ("events", k, "when"))
            for n, response in enumerate(event.response):
                yield from self._response(response, ("events", k, "response", n))
        for k, message in endless(script):
            yield Problem(("events", k), message)

    # -- conditions -------------------------------------------------------------------------

    def _conditions(self, conditions: Sequence[Any], path: Path) -> Iterator[Problem]:
        for k, condition in enumerate(conditions):
            yield from self._condition(condition, (*path, k))

    def _condition(self, condition: Any, path: Path) -> Iterator[Problem]:
        inside = models.parts(condition)
        if inside:
            key = next(name for name in ("all", "any", "none") if hasattr(condition, name))
            alone = any(clash([part]) for part in inside)  # then it is reported for that part
            if key == "all" and not alone and (message := clash(inside)):
                yield Problem(path, message)
            yield from self._conditions(inside, (*path, key))
            return
        if condition.agent_id is not None:
            yield from self._agent(condition.agent_id, (*path, "agent_id"), ("any", "all"))
        if isinstance(condition, models.FlagIsSet):
            if condition.flag not in self.script.flags:
                allowed = suggest(condition.flag, self.script.flags)
                message = f"no event sets the flag {condition.flag!r}; {allowed}"
                yield Problem((*path, "flag"), message)
        elif isinstance(condition, models.MilestoneReached):
            if condition.milestone not in self.milestones:
                allowed = suggest(condition.milestone, self.milestones)
                message = f"unknown milestone {condition.milestone!r}; {allowed}"
                yield Problem((*path, "milestone"), message)
        else:
            yield from self._fact(condition, path)

    def _fact(self, condition: models.FactHolds, path: Path) -> Iterator[Problem]:
        row = self.facts.get(condition.fact)
        if row is None:
            yield self._unknown_fact(condition.fact, path)
            return
        yield from self._subject_problems(row, condition.of, path)
        if message := clash([condition]):
            yield Problem(path, message)
        if row.kind != "number":
            for name in ("at_least", "at_most"):
                if getattr(condition, name) is not None:
                    yield Problem((*path, name), f"{row.name!r} is a {row.kind}, not a number")
        if condition.contains is not None and row.kind in ("number", "place"):
            yield Problem((*path, "contains"), f"{row.name!r} is a {row.kind}, not a text")
        given: list[tuple[Path, Any]] = []
        if condition.equals is not None:
            given.append((("equals",), condition.equals))
        given += [(("one_of", k), value) for k, value in enumerate(condition.one_of or ())]
        for key, value in given:
            message = self._value_problem(row, value)
            if message is not None:
                yield Problem((*path, *key), message)

    def _unknown_fact(self, name: str, path: Path) -> Problem:
        message = f"{self.kind.name} has no fact {name!r}; {suggest(name, self.facts)}"
        return Problem((*path, "fact"), message)

    def _subject_problems(self, row: Observable, of: Any, path: Path) -> Iterator[Problem]:
        """Yield what is wrong with what a fact is about."""
        path = (*path, "of")
        if not row.of:
            if of is not None:
                yield Problem(path, f"{row.name!r} is about nothing but the agent; leave out 'of'")
            return
        if of is None:
            yield Problem(path, f"{row.name!r} needs a {row.of} that it is about")
        elif isinstance(of, str) and of not in self.agents:
            known = None
            if row.subjects is not None and self.config is not None:
                found = row.subjects(self.config)
                known = None if found is None else list(found)
            if row.subjects is None:
                yield Problem(path, f"{of!r} is no {row.of}; {suggest(of, self.agents)}")
            elif known is not None and of not in known:
                yield Problem(path, f"there is no {of!r}; {suggest(of, known)}")
        elif not isinstance(of, str) and (row.of != "place" or self._outside(row, of)):
            yield Problem(path, self._outside(row, of) or f"{of!r} is no {row.of}")

    def _value_problem(self, row: Observable, value: Any) -> str | None:
        """Say why a fact can never equal a value."""
        if row.kind == "number":
            number = isinstance(value, bool | int | float)
            return None if number else f"{row.name!r} is a number, not {value!r}"
        if row.kind == "place" and not isinstance(value, str):
            if not isinstance(value, tuple):
                return f"{row.name!r} is a place, not {value!r}"
            return self._outside(row, value)
        if not isinstance(value, str):
            return f"{row.name!r} is a {row.kind}, not {value!r}"
        if row.name == "action":
            return self._action_problem(value)
        known = row.allowed(self.config) if self.config is not None or row.codes else None
        if known is not None and value not in known:
            return f"{row.name!r} is never {value!r}; {suggest(value, known)}"
        return None

    def _action_problem(self, value: str) -> str | None:
        """Say why no agent can do that."""
        verbs = self.kind.verbs_of(self.config) if self.config is not None else None
        if verbs is None or value.split(" ")[0] in verbs:
            return None
        return f"there is no command {value!r}; {suggest(value, verbs)}"

    def _outside(self, row: Observable, place: Any) -> str | None:
        """Say why a place is not one of the world's."""
        bounds = None if row.bounds is None or self.config is None else row.bounds(self.config)
        if bounds is None:
            return None
        low, high = bounds
        if len(place) != len(low):
            return f"a place has {len(low)} coordinates, not {len(place)}"
        inside = all(a <= b <= c for a, b, c in zip(low, place, high, strict=True))
        shown = tuple(int(part) if part == int(part) else part for part in place)
        return None if inside else f"{shown} lies outside; places go from {low} to {high}"

    def _agent(self, name: str | None, path: Path, more: tuple[str, ...]) -> Iterator[Problem]:
        if name is not None and name not in (*self.agents, *more):
            yield Problem(path, f"unknown agent {name!r}; {suggest(name, (*self.agents, *more))}")

    # -- what follows -----------------------------------------------------------------------

    def _shaping(self, row: models.Shaping, path: Path) -> Iterator[Problem]:
        fact = self.facts.get(row.fact)
        if fact is None:
            yield self._unknown_fact(row.fact, path)
            return
        yield from self._subject_problems(fact, row.of, path)
        if fact.kind != "number":
            yield Problem((*path, "fact"), f"{row.fact!r} is a {fact.kind}, not a number")
        yield from self._agent(row.agent_id, (*path, "agent_id"), ())

    def _response(self, response: Any, path: Path) -> Iterator[Problem]:
        if not isinstance(response, _OF_WORLD):
            yield from self._agent(response.agent_id, (*path, "agent_id"), ("all", "others"))
        if isinstance(response, models.ChangeSetting):
            yield from self._setting(response, path)
        if isinstance(response, models.SpawnObject | models.RemoveObject):
            thing = response.object
            allowed = self.kind.spawnable_in(self.config) if self.config is not None else None
            known = allowed is None or thing in (None, *allowed)
            if allowed is not None and not allowed:
                where = path if thing is None else (*path, "object")
                yield Problem(where, f"nothing can be put into {self.kind.name} or taken out")
                return
            if allowed is not None and not known:
                suggestion = suggest(thing, allowed)
                yield Problem(
                    (*path, "object"), f"{thing!r} cannot be put here or taken; {suggestion}"
                )
            if self.config is not None and response.place is not None:
                fresh = thing if isinstance(response, models.SpawnObject) and known else None
                problem = self.kind.place_problem(self.config, fresh, response.place)
                if problem is not None:
                    yield Problem((*path, "place"), problem)

    def _setting(self, response: models.ChangeSetting, path: Path) -> Iterator[Problem]:
        """Yield why a setting cannot change in mid-episode, or not to that value."""
        name, live = response.setting, self.kind.live_fields
        if name not in live:
            message = f"{name!r} cannot change within an episode; {suggest(name, live)}"
            yield Problem((*path, "setting"), message)
        elif self.config is not None:
            try:
                self.config.changed({name: response.value, "script": None})
            except ConfigError as error:
                yield Problem((*path, "value"), str(error))


_OF_WORLD = models.SpawnObject, models.RemoveObject, models.ChangeSetting
