"""Partners: the agents that the caller does not play, and what becomes of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from piase_gym.agents.base import Agent
from piase_gym.agents.policy_registry import make_agent
from piase_gym.core.commands import Command, InvalidAction
from piase_gym.core.models import ActionCommand
from piase_gym.core.world import Act, World, check_box, check_index
from piase_gym.errors import AgentError, ConfigError


def agent_number(world: World[Any, Any], agent: object) -> int:
    """Return the number of an agent.

    Raises:
        AgentError: If there is no such agent.
    """
    names = world.agents
    if isinstance(agent, str) and agent in names:
        return names.index(agent)
    raise AgentError(f"there is no agent {agent!r}; agents are {', '.join(names)}")


Partners = Mapping[str, "str | Agent"] | str | Agent
"""Policies by agent, ``"*"`` for all that are not named; or one policy for all of these."""


def read_partners(partners: Partners | None) -> dict[str, str | Agent]:
    """Return partners by agent, where ``"*"`` stands for the others.

    Raises:
        ConfigError: If they are neither a policy nor a mapping.
    """
    if isinstance(partners, str | Agent):
        return {"*": partners}
    if not isinstance(partners, Mapping | None):
        kind = type(partners).__name__
        raise ConfigError(f"partners are a policy, or a mapping of agents to policies, not {kind}")
    return dict(partners or {})


def seat_partners(world: World[Any, Any], partners: Partners | None) -> dict[int, Agent]:
    """Return the agents that play for others, by number, under the names of their seats.

    Raises:
        AgentError: If a seat does not exist, or nobody is left to the caller.
        ConfigError: If the partners are not a mapping.
        UnknownNameError: If a policy does not exist.
    """
    given = read_partners(partners)
    if "*" in given:
        raise AgentError(
            f"partners={given['*']!r} for all leave no agent to the caller; name those whom they "
            f"play, such as partners={{{world.agents[-1]!r}: {given['*']!r}}}"
        )
    seats = {agent_number(world, name): make_agent(who) for name, who in given.items()}
    if len(seats) == len(world.agents):
        raise AgentError("every agent is played by a partner; leave at least one to the caller")
    for number, agent in seats.items():
        agent.set_id(world.agents[number])
    return seats


def to_act(world: World[Any, Any], number: int, action: Any) -> Act:
    """Translate what an agent answered into what a world takes.

    Raises:
        ActionError: If it is neither a line, a command, nor in a space of actions of the world.
    """
    if isinstance(action, str):
        return world.read(number, action)
    if action is None or isinstance(action, Command | InvalidAction):
        return action
    if isinstance(action, ActionCommand):
        return world.check(number, Command(action.action_type, action.parameters))
    name = world.agents[number]
    if world.capabilities.continuous and np.shape(action) != ():
        return world.command_from_box(number, check_box(action, world.action_box, name))
    return check_index(action, world.num_actions if world.capabilities.discrete else 0, name)


def no_acts(world: World[Any, Any]) -> list[Act]:
    """Return an empty entry for every agent."""
    return [None] * len(world.agents)
