"""Turns the steps of agents into the config of an episode and the settings of the agents."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from piase_gym.core.difficulty import Fields
from piase_gym.core.digest import canonical_json
from piase_gym.core.jsonable import jsonable
from piase_gym.curricula.directors import Director
from piase_gym.curricula.prompts import prompt_of
from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum
from piase_gym.envs.arguments import require_characters
from piase_gym.errors import (
    AgentError,
    ConfigError,
    CurriculumError,
    EnvelopeError,
    ProgressError,
    ScenarioError,
)

if TYPE_CHECKING:
    from piase_gym.agents.base import Agent
    from piase_gym.core.world import World
    from piase_gym.curricula.options import CurriculumOptions


MOST_COMBINATIONS = 400
"""Up to this many combinations of several agents' steps, all are checked at the beginning."""
LENGTH = "max_steps"
"""The largest value of this shared field holds, so that nobody's attempt is cut short."""
FIRST_STATE = "first_state"
"""The key in `AgentProgress.memory` of the state that an agent had at the beginning."""
Orders = Mapping[str, int]
"""Agent -> the order of its step."""
NOTHING: Mapping[str, Any] = {}


class Override(NamedTuple):
    """A field that a step sets.

    Attributes:
        agent: The agent that is in the step.
        step: The step.
        value: The value.
    """

    agent: str
    step: CurriculumStep
    value: Any


class ScenarioSetupModule:
    """Merges what the steps of all agents set into the config of an episode.

    Args:
        world: The world of the environment.
        curricula: The curriculum of each agent.
        base: The config that the steps change; by default that of the world.

    Raises:
        CurriculumError: If a step sets what the world does not know, two agents set one shared
            field differently and no `lead` is named, or there is no such lead.
        EnvelopeError: If a step does not fit the envelope; the message has the line to write.
    """

    def __init__(
        self,
        world: World[Any, Any],
        curricula: Mapping[str, DevelopmentalCurriculum],
        base: Any = None,
    ) -> None:
        """Check every step."""
        self.world, self.curricula = world, dict(curricula)
        self.base = world.config if base is None else base.pinned(world.envelope)
        self.lead = _lead(self.curricula)
        self.overrides: Fields = {}
        self._known: dict[tuple[tuple[str, Any], ...], Any] = {}
        self._check()

    # -- what an episode is like -----------------------------------------------------------

    def config(self, orders: Orders, drawn: Mapping[str, Any] = NOTHING) -> Any:
        """Return the config of an episode in which agents are in these steps.

        Fields that no step sets are as in `base`. Each combination is computed once.

        Args:
            orders: The steps.
            drawn: Fields that a director has drawn; they override those of the steps.
        """
        key = (*sorted(orders.items()), *sorted(drawn.items()))
        if key not in self._known:
            self._known[key] = self._make(orders, drawn)
        return self._known[key]

    def configs(self) -> Iterator[Any]:
        """Yield the config of each step of each agent."""
        for curriculum in self.curricula.values():
            for step in curriculum.steps:
                yield curriculum.config(step, self.base)

    def check_settings(self, director: Director) -> None:
        """Check that the extreme settings that a director may draw suit their steps.

        Raises:
            EnvelopeError, ConfigError: If one does not.
        """
        for agent, curriculum in self.curricula.items():
            for step, drawn in with_settings(curriculum, director):
                try:
                    self._make({agent: step.order}, drawn)
                except ConfigError as error:
                    raise type(error)(describe_settings(step, drawn, error)) from None

    def set_base(self, config: Any) -> None:
        """Take another config for the fields that no step sets."""
        self.base = config.pinned(self.world.envelope)
        self._known.clear()

    def add_overrides(self, fields: Fields, orders: Orders) -> None:
        """Override what the steps set, until `clear_overrides`.

        Args:
            fields: The fields.
            orders: The steps that agents are in now.

        Raises:
            ConfigError: If it is not allowed; nothing has changed then.
        """
        before, self.overrides = self.overrides, {**self.overrides, **fields}
        self._known.clear()
        try:
            self._make(orders)
        except ConfigError:
            self.overrides = before
            raise

    def clear_overrides(self) -> None:
        """Drop the overrides, so that the steps alone decide."""
        if self.overrides:
            self.overrides = {}
            self._known.clear()

    def _make(self, orders: Orders, drawn: Mapping[str, Any] = NOTHING) -> Any:
        """Merge, check and return a config."""
        config = self.base.changed({**self.fields(orders), **drawn})
        if self.overrides:
            config = config.changed(self.overrides)
        self.world.check_config(config)
        return config.pinned(self.world.envelope)

    def fields(self, orders: Orders) -> Fields:
        """Return the fields of the config that these steps set, merged.

        Raises:
            CurriculumError: If two agents set one shared field differently.
        """
        shared: dict[str, Override] = {}
        per_agent_fields: dict[str, dict[int, Any]] = {}
        for name, override in self._overrides(orders):
            rule = self.world.per_agent_fields.get(name)
            if rule is not None and rule.own(override.value):
                number = self.world.agents.index(override.agent)
                per_agent_fields.setdefault(name, {})[number] = override.value
            elif name in shared:
                shared[name] = self._resolve(name, shared[name], override)
            else:
                shared[name] = override
        merged = {name: override.value for name, override in shared.items()}
        lead = None if self.lead is None else self.world.agents.index(self.lead)
        for name, parts in per_agent_fields.items():
            config = self.base.changed({name: merged[name]}) if name in merged else self.base
            merged |= self.world.per_agent_fields[name].merge(config, parts, lead)
        return merged

    def _overrides(self, orders: Orders) -> Iterator[tuple[str, Override]]:
        """Yield what the steps set, field by field."""
        for agent in self.world.agents:
            if agent in orders and agent in self.curricula:
                step = self.curricula[agent].step(orders[agent])
                fields = step.fields_in(self.base.world)
                for name, value in self.base.plain_changes(fields).items():
                    yield name, Override(agent, step, value)

    def _resolve(self, name: str, one: Override, other: Override) -> Override:
        """Return which of two overrides of one shared field holds."""
        if canonical_json(jsonable(one.value)) == canonical_json(jsonable(other.value)):
            return one
        if self.lead in (one.agent, other.agent):
            return one if one.agent == self.lead else other
        if name == LENGTH:
            return max(one, other, key=lambda override: override.value)
        message = " and ".join(
            f"{self.curricula[o.agent].source}: {o.step.label} sets {name}={o.value!r:.60} "
            f"for {o.agent}"
            for o in (one, other)
        )
        raise CurriculumError(
            f"{message}; agents share this field: set the same value, or name a 'lead' in a "
            "curriculum, whose steps then decide"
        )

    # -- checks at the beginning -----------------------------------------------------------

    def _check(self) -> None:
        """Check every step, and steps of different agents together.

        Where there are too many combinations, only pairs of steps are looked at for conflicts.
        """
        too_small: list[EnvelopeError] = []
        for orders in self._combinations():
            try:
                if len(orders) == len(self.curricula):
                    self.config(orders)
                else:
                    self.fields(orders)
            except CurriculumError:
                raise
            except ConfigError as error:
                message = " and ".join(
                    f"{self.curricula[agent].source}: {self.curricula[agent].step(order).label}"
                    for agent, order in orders.items()
                )
                if not isinstance(error, EnvelopeError):
                    raise CurriculumError(f"{message}: {error}") from None
                too_small.append(EnvelopeError(f"{message}: {error}"))
        if too_small:
            raise self._too_small(too_small[0])

    def _combinations(self) -> Iterator[Orders]:
        """Yield combinations of steps to check: all, or those of pairs of agents if too many."""
        rows = {a: [s.order for s in c.steps] for a, c in self.curricula.items()}
        if len(rows) < 2 or math.prod(map(len, rows.values())) <= MOST_COMBINATIONS:
            for chosen in itertools.product(*rows.values()):
                yield dict(zip(rows, chosen, strict=True))
            return
        for one, other in itertools.combinations(rows, 2):
            for a, b in itertools.product(rows[one], rows[other]):
                yield {one: a, other: b}

    def _too_small(self, error: EnvelopeError) -> EnvelopeError:
        """Return the error of an envelope that is too small, with the line to write."""
        try:
            wanted = union_envelope(self.curricula.values(), self.base)
        except CurriculumError:
            return error
        now = dict(self.world.envelope)
        if all(now[name] >= size for name, size in wanted.items()):
            return error
        return EnvelopeError(
            f"{error}. The environment was reset already, so its spaces are fixed; make it with "
            f"the envelope of the curricula: parallel_env(..., envelope={wanted!r})"
        )


def check_characters(
    curricula: Mapping[str, DevelopmentalCurriculum],
    world: World[Any, Any],
    partners: Mapping[int, Agent],
) -> None:
    """Check that the characters of the steps' scenarios play in an environment.

    Args:
        curricula: The curricula.
        world: The world of the environment.
        partners: Agent number -> who plays it, if that is not the caller.

    Raises:
        CurriculumError: If one does not.
    """
    for curriculum in curricula.values():
        for step in curriculum.steps:
            try:
                scenario = step.scenario_in(world.name)
                if scenario is not None:
                    require_characters(scenario, world, partners)
            except ScenarioError as error:
                raise CurriculumError(f"{curriculum.source}: {step.label}: {error}") from None


def with_settings(
    curriculum: DevelopmentalCurriculum, director: Director
) -> Iterator[tuple[CurriculumStep, Fields]]:
    """Yield the steps over which a director draws settings, with its extreme settings."""
    if director.corners:
        yield from itertools.product(director.steps_with_settings(curriculum), director.corners)


def describe_settings(step: CurriculumStep, drawn: Fields, error: ConfigError) -> str:
    """Return the message of settings that do not suit a step."""
    text = ", ".join(f"{name}={value!r}" for name, value in drawn.items())
    return f"the director may draw {text} at {step.label}: {error}"


def union_envelope(curricula: Any, config: Any, director: Director | None = None) -> dict[str, int]:
    """Return the smallest envelope that holds several curricula and a config's own envelope.

    Args:
        curricula: The curricula.
        config: The config that they change.
        director: The director that may draw settings.

    Raises:
        ConfigError: If settings do not suit a step.
    """
    found: dict[str, int] = {}

    def hold(sizes: Mapping[str, Any]) -> None:
        for name, size in sizes.items():
            found[name] = max(int(size), found.get(name, 0))

    for curriculum in curricula:
        hold(curriculum.envelope(config))
        for step, drawn in () if director is None else with_settings(curriculum, director):
            try:
                whole = curriculum.config(step, config).changed(drawn)
            except ConfigError as error:
                raise type(error)(describe_settings(step, drawn, error)) from None
            hold(whole.largest_sizes().model_dump())
    return found


def ensure_envelope(
    options: CurriculumOptions,
    config: Any,
    world: World[Any, Any],
    grow_envelope: Callable[[Mapping[str, int]], object],
    fixed: str | None = None,
) -> None:
    """Give an environment that was never reset the envelope that curricula need.

    Args:
        options: The curricula, and the director that may draw settings.
        config: The config that they change.
        world: The world of the environment.
        grow_envelope: Makes room for larger configs.
        fixed: Name of a wrapper that has fixed the spaces already, if there is one.

    Raises:
        EnvelopeError: If there is such a wrapper, and the spaces are too small.
        ConfigError: If settings do not suit a step.
    """
    wanted = union_envelope(options.curricula.values(), config, options.director)
    now = dict(world.envelope)
    if all(size <= now[name] for name, size in wanted.items()):
        return
    if fixed is not None:
        raise EnvelopeError(
            f"{fixed} has fixed its spaces, which are too small for the curricula: put it around "
            "CurriculumWrapper, or make the environment with the envelope of the curricula: "
            f"parallel_env(..., envelope={wanted!r})"
        )
    grow_envelope(wanted)


def _lead(curricula: Mapping[str, DevelopmentalCurriculum]) -> str | None:
    """Return the agent whose steps decide about shared fields, if one is named.

    Raises:
        CurriculumError: If two are named, or one without a curriculum.
    """
    named = {c.lead: c for c in curricula.values() if c.lead is not None}
    if len(named) > 1:
        message = " and ".join(f"{c.source} names {lead}" for lead, c in named.items())
        raise CurriculumError(f"there can be one lead: {message}")
    for lead, curriculum in named.items():
        if lead not in curricula:
            known = ", ".join(curricula)
            raise CurriculumError(
                f"{curriculum.source}: lead {lead!r} has no curriculum; agents with one: {known}"
            )
        return lead
    return None


class AgentConfigurator:
    """Configures the given agents, and keeps the parts of their state that last into a step.

    Args:
        agents: The agents by name.
        curricula: The curriculum of each agent.
        memories: What is kept with the progress of each agent. The first state of an agent is kept
            there where a step goes back to it, and in a resumed run it is taken from there.

    Raises:
        AgentError: If an agent has no curriculum.
        CurriculumError: If a step keeps what the agent's state does not have, or a prompt file
            cannot be read.
        ProgressError: If the first state in a memory is damaged.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent],
        curricula: Mapping[str, DevelopmentalCurriculum],
        memories: Mapping[str, dict[str, Any]],
    ) -> None:
        """Remember the initial state of the agents, and read the prompts."""
        self._prompts = {
            (name, step.order): prompt_of(curriculum, step)
            for name, curriculum in curricula.items()
            for step in curriculum.steps
        }
        for name in agents:
            if name not in curricula:
                known = ", ".join(curricula)
                raise AgentError(f"{name!r} has no curriculum; agents with one: {known}")
        self.agents = dict(agents)
        self._first: dict[str, Mapping[str, Any]] = {}
        for name, agent in agents.items():
            if all(step.agent_state == "keep" for step in curricula[name].steps):
                continue
            state = self._first[name] = _first_state(agent, memories.get(name, {}))
            for step in curricula[name].steps:
                kept = () if isinstance(step.agent_state, str) else step.agent_state
                for key in (key for key in kept if key not in state):
                    raise CurriculumError(
                        f"{curricula[name].source}: {step.label}: agent_state names {key!r}, but "
                        f"the state of {name} has: {', '.join(state) or 'nothing'}"
                    )

    def prompt(self, name: str, step: CurriculumStep) -> str | None:
        """Return the text of the prompt that a step has for an agent, if any."""
        prompt = self._prompts[name, step.order]
        return None if prompt is None else prompt.text()

    def settings(self, name: str, step: CurriculumStep) -> dict[str, Any]:
        """Return the settings with which an agent is configured when it enters a step.

        They are the step's `agent_config_overrides`, and ``prompt_reference`` and ``prompt`` if it
        has a prompt file.
        """
        settings = copy.deepcopy(step.agent_config_overrides)
        prompt = self.prompt(name, step)
        if prompt is not None:
            settings |= {"prompt_reference": step.prompt_reference, "prompt": prompt}
        return settings

    def enter(self, name: str, step: CurriculumStep, settings: Mapping[str, Any]) -> bool:
        """Prepare an agent for a step that it enters.

        Returns:
            Whether there was anything to do.
        """
        agent = self.agents.get(name)
        if agent is None:
            return False
        if step.agent_state != "keep":
            state = dict(copy.deepcopy(self._first[name]))
            if not isinstance(step.agent_state, str):
                now = agent.get_state()
                state |= {key: now[key] for key in step.agent_state if key in now}
            agent.set_state(state)
        if settings:
            agent.configure(settings)
        return step.agent_state != "keep" or bool(settings)


def _first_state(agent: Agent, memory: dict[str, Any]) -> Mapping[str, Any]:
    """Return the state that an agent had at the beginning, and keep it.

    Raises:
        ProgressError: If what was kept is damaged.
    """
    if FIRST_STATE not in memory:
        first = copy.deepcopy(agent.get_state())
        memory[FIRST_STATE] = jsonable(first)
        return first
    kept = memory[FIRST_STATE]
    if not isinstance(kept, Mapping):
        raise ProgressError(f"this progress is damaged: {FIRST_STATE} is not a mapping")
    return kept
