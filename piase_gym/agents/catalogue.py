"""Policies by name, for partners, benchmarks and the command line."""

from __future__ import annotations

from collections.abc import Callable

from piase_gym.agents.base import Agent
from piase_gym.agents.simple import NoopAgent, OracleAgent, RandomAgent, ScriptedAgent
from piase_gym.errors import UnknownNameError

_policies: dict[str, Callable[[], Agent]] = {
    "noop": NoopAgent,
    "oracle": OracleAgent,
    "random": RandomAgent,
    "scripted": ScriptedAgent,
}


def register_policy(name: str, make: Callable[[], Agent]) -> None:
    """Make a policy known by name; `make` returns a new agent."""
    _policies[name] = make


def policies() -> tuple[str, ...]:
    """Return the names of all policies, sorted."""
    return tuple(sorted(_policies))


def policy_name(agent: Agent) -> str | None:
    """Return the name under which an agent's class is registered, if it is."""
    return next((name for name, make in _policies.items() if make is type(agent)), None)


def make_agent(policy: str | Agent) -> Agent:
    """Return a new agent of a named policy, or the given agent itself.

    Raises:
        UnknownNameError: If no policy has this name.
    """
    if isinstance(policy, Agent):
        return policy
    if not isinstance(policy, str) or policy not in _policies:
        raise UnknownNameError("policy", policy, policies())
    return _policies[policy]()
