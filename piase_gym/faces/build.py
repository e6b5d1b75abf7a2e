"""From names and fields to a config: the arguments that every face shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from piase_gym.agents.base import Agent
from piase_gym.config import WorldConfig
from piase_gym.errors import AgentError, ConfigError, ScenarioError
from piase_gym.faces.driver import Driver
from piase_gym.registry import TaskSpec, WorldSpec, find, load, make_config, task_fields

Partners = Mapping[str, "str | Agent"]


def resolve(
    name: str | WorldConfig, scenario: object, envelope: object, fields: Mapping[str, Any]
) -> tuple[Any, WorldSpec, TaskSpec | None]:
    """Return the config that a name and fields stand for, its world and its task.

    Raises:
        UnknownNameError: If the name is unknown.
        ConfigError: If a field is unknown or not allowed.
        ScenarioError: If the scenario is unknown.
    """
    given = dict(fields)
    if envelope is not None:
        given["envelope"] = envelope
    if isinstance(name, WorldConfig):
        if scenario is not None:
            raise ScenarioError("give a config object or a scenario, not both")
        spec, task = find(name.world)
        return name.changed(given) if given else name, spec, task
    spec, task = find(name)
    base = task_fields(task) if task else {}
    if scenario is not None:
        base |= _scenario_fields(scenario, spec)
    return make_config(spec, {**base, **load(spec.config, spec).plain(given)}), spec, task


def _scenario_fields(scenario: object, spec: WorldSpec) -> Mapping[str, Any]:
    """Return the config fields of a scenario.

    Raises:
        ScenarioError: If there is no such scenario, or it is of another world.
    """
    from piase_gym.scenarios import load as load_scenario

    found = load_scenario(scenario)
    if found.world != spec.name:
        raise ScenarioError(f"scenario {found.name!r} is of {found.world}, not of {spec.name}")
    return found.fields


def gym_partners(
    names: Sequence[str], task: TaskSpec | None, partners: Partners | None, focal: str
) -> dict[str, str | Agent]:
    """Return who plays the agents that the single learner does not: by default `random`.

    Raises:
        AgentError: If a partner is named for the learner's own seat.
    """
    if not isinstance(partners, Mapping | None):
        kind = type(partners).__name__
        raise ConfigError(f"partners are a mapping of agents to policies, not {kind}")
    given: dict[str, str | Agent] = dict(partners or {})
    if focal in given:
        raise AgentError(f"{focal!r} is the learner; partners play the other agents")
    defaults = task.partners if task else {}
    usual = given.pop("*", defaults.get("*", "random"))
    chosen: dict[str, str | Agent] = {name: defaults.get(name, usual) for name in names}
    chosen |= given
    del chosen[focal]
    return chosen


def build_driver(
    name: str | WorldConfig,
    partners: Partners | None,
    scenario: object,
    envelope: object,
    fields: Mapping[str, Any],
) -> Driver:
    """Make a world whose agents the caller plays, but for the seats of `partners`."""
    config, spec, task = resolve(name, scenario, envelope, fields)
    return _drive(config, spec, task, partners, scenario)


def build_focal_driver(
    name: str | WorldConfig,
    agent: str | None,
    partners: Partners | None,
    scenario: object,
    envelope: object,
    fields: Mapping[str, Any],
) -> Driver:
    """Make a world, and seat partners everywhere but at the place of one learner.

    Args:
        name: A world, an id or a config object.
        agent: The learner; by default the first agent.
        partners: Policies for the others; by default those of the id, else ``random``.
        scenario: A scenario's name or path.
        envelope: The largest sizes that later configs may have.
        fields: Fields of the config.

    Raises:
        AgentError: If there is no such agent, or a partner is named for the learner's seat.
    """
    config, spec, task = resolve(name, scenario, envelope, fields)
    names = config.names(config.fixed_envelope().agents)
    focal = agent if agent is not None else names[0]
    if focal not in names:
        raise AgentError(f"there is no agent {focal!r}; agents are {', '.join(names)}")
    seats = gym_partners(names, task, partners, focal)
    return _drive(config, spec, task, seats, scenario)


def _drive(
    config: Any, spec: WorldSpec, task: TaskSpec | None, partners: Partners | None, scenario: object
) -> Driver:
    """Make the world and its driver, which knows the scenario for the manifests of logs."""
    driver = Driver(load(spec.world, spec)(config), spec, partners)
    source = scenario if scenario is not None else task.scenario if task else None
    if source is not None:
        from piase_gym.scenarios import load as load_scenario

        driver.events.origin["scenario"] = load_scenario(source).origin()
    return driver
