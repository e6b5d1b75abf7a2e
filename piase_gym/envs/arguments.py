"""From names and fields to a config: the arguments that every environment shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from piase_gym.agents.base import Agent, require_distinct
from piase_gym.core.config import WorldConfig
from piase_gym.core.documents import OwnEnvironment
from piase_gym.envs.partners import Partners, agent_number, read_partners
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import AgentError, ScenarioError, UnknownFieldError
from piase_gym.names import look_up
from piase_gym.registry import TaskSpec, WorldSpec, load, make_config

if TYPE_CHECKING:
    from piase_gym.core.world import World
    from piase_gym.scenarios import Scenario

Name = Union[str, Path, WorldConfig, "Scenario", OwnEnvironment, type[OwnEnvironment]]
"""What stands for a world: its name, an id, a scenario's name or path, or a config or scenario.

An environment of one's own, or its class, does too."""
ARGUMENTS = "num_envs view actions partners autoreset infos dtype mask render_mode scenario".split()
"""What may be meant by an unknown field: other arguments of what makes environments."""


class ResolvedArguments(NamedTuple):
    """What to make.

    Attributes:
        config: The checked config.
        spec: The world.
        task: The id, if one was named.
        scenario: The scenario, if there is one, including that of the id.
        own: The environment of one's own, if an object was given.
    """

    config: Any
    spec: WorldSpec
    task: TaskSpec | None
    scenario: Scenario | None
    own: Any = None


def resolve(
    name: Name, scenario: object, envelope: object, fields: Mapping[str, Any]
) -> ResolvedArguments:
    """Return what a name, a scenario and fields of the config stand for.

    Raises:
        UnknownNameError: If the name is unknown.
        ConfigError: If a field is unknown or not allowed.
        ScenarioError: If the scenario is unknown, of another world, or given beside another.
    """
    given = dict(fields)
    if envelope is not None:
        given["envelope"] = envelope
    found = look_up(name)
    spec, task = found.spec, found.task
    if scenario is not None and (isinstance(name, WorldConfig) or found.scenario is not None):
        what = "config object" if isinstance(name, WorldConfig) else "scenario for a name"
        raise ScenarioError(f"give a {what} or scenario=..., not both")
    if isinstance(name, WorldConfig):
        return ResolvedArguments(name.changed(given) if given else name, spec, task, None)
    base, chosen = found.fields, found.scenario
    named = task.scenario if scenario is None and task is not None else scenario
    if named is not None:
        from piase_gym import scenarios  # its models take a tenth of a second to make

        chosen = scenarios.load(named, spec.name)
        if scenario is not None:
            base |= chosen.fields
    model = load(spec.config, spec)
    try:
        config = make_config(spec, {**base, **model.plain(given)})
    except UnknownFieldError as error:
        strange = [str(key) for key in given if key not in model.model_fields]
        near = [n for key in strange for n in get_close_matches(key, ARGUMENTS, 1, 0.7) if n != key]
        also = f"; or did you mean the argument {near[0]!r}?" if near else ""
        raise UnknownFieldError(f"{error}{also}") from None
    own = None if isinstance(found.own, type) else found.own
    return ResolvedArguments(config, spec, task, chosen, own)


def partners_around(
    names: Sequence[str], task: TaskSpec | None, partners: Partners | None, focal: str
) -> dict[str, str | Agent]:
    """Return who plays the agents other than the learner: by default the id's, else `random`.

    Raises:
        AgentError: If a partner is named for the learner's own seat.
        ConfigError: If one agent object is to play several seats.
    """
    given = read_partners(partners)
    if focal in given:
        raise AgentError(f"{focal!r} is the learner; partners play the other agents")
    defaults = task.partners if task else {}
    usual = given.pop("*", defaults.get("*", "random"))
    chosen: dict[str, str | Agent] = {name: defaults.get(name, usual) for name in names}
    chosen |= given
    del chosen[focal]
    require_distinct(chosen.values())
    return chosen


def characters_of(scenario: Scenario | None) -> dict[str, Agent]:
    """Return new agents that play the simulated people of a scenario, by agent."""
    if scenario is None or not scenario.head.characters:
        return {}
    from piase_gym.agents.character import CharacterAgent

    return {person.agent_id: CharacterAgent(person) for person in scenario.head.characters}


def require_characters(
    scenario: Scenario, world: World[Any, Any], partners: Mapping[int, Agent]
) -> None:
    """Check that the characters of another scenario play in an environment.

    Args:
        scenario: The scenario that it is to play.
        world: Its world.
        partners: Agent number -> who plays it, if that is not the caller.

    Raises:
        ScenarioError: If a character is not there, or somebody else has its seat.
    """
    playing = {world.agents[number]: agent for number, agent in partners.items()}
    for person in scenario.head.characters:
        agent = playing.get(person.agent_id)
        if getattr(agent, "character", None) != person:
            seat = "" if agent is None else f", where {type(agent).__name__} has this seat"
            raise ScenarioError(
                f"scenario {scenario.name!r} has the character {person.agent_id!r}, who does not "
                f"play in this environment{seat}; make the environment from the scenario: "
                "parallel_env(SCENARIO)"
            )


def build_runner(
    name: Name,
    partners: Partners | None,
    scenario: object,
    envelope: object,
    fields: Mapping[str, Any],
) -> EpisodeRunner:
    """Make a world in which the caller plays all agents except the seats of `partners`."""
    return _drive(resolve(name, scenario, envelope, fields), partners)


def build_focal_runner(
    name: Name,
    agent: str | None,
    partners: Partners | None,
    scenario: object,
    envelope: object,
    fields: Mapping[str, Any],
) -> EpisodeRunner:
    """Make a world, and seat partners everywhere except in one learner's seat.

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
    found = resolve(name, scenario, envelope, fields)
    config = found.config
    names = config.names(config.fixed_envelope().agents)
    focal = names[0 if agent is None else agent_number(names, agent)]
    seats = partners_around(names, found.task, partners, focal)
    named = read_partners(partners)
    for name in characters_of(found.scenario):  # no default partner plays them
        if name not in named:
            seats.pop(name, None)
    return _drive(found, seats)


def _drive(found: ResolvedArguments, partners: Partners | None) -> EpisodeRunner:
    """Make the world and its runner, which knows the scenario for the manifests of logs.

    Characters of the scenario are partners, unless somebody else plays them.
    """
    if people := characters_of(found.scenario):
        partners = {**people, **read_partners(partners)}
    spec = found.spec
    make = load(spec.world, spec)
    world = make(found.config) if found.own is None else make(found.config, found.own)
    runner = EpisodeRunner(world, spec, partners)
    if found.scenario is not None:
        runner.events.origin["scenario"] = found.scenario.origin()
    return runner
