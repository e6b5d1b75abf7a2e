"""Policies by name, for partners, benchmarks and the command line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from piase_gym import plugins
from piase_gym.agents.base import Agent
from piase_gym.agents.human import HumanAgent
from piase_gym.agents.matrix_strategies import STRATEGIES, BestResponseAgent
from piase_gym.agents.population import POPULATION, make_population
from piase_gym.agents.q_learning import QLearningAgent
from piase_gym.agents.sb3_archive import require_file
from piase_gym.agents.simple import NoopAgent, OracleAgent, RandomAgent, ScriptedAgent
from piase_gym.errors import PluginError, PolicyError, UnknownNameError

_policies: dict[str, Callable[[], Agent]] = {
    "human": HumanAgent,
    "noop": NoopAgent,
    "oracle": OracleAgent,
    "q_learning": QLearningAgent,
    "random": RandomAgent,
    "scripted": ScriptedAgent,
    "search": ScriptedAgent,
    **STRATEGIES,
}


_families: dict[str, Callable[..., Agent]] = {}


def register_policy(name: str, make: Callable[[], Agent]) -> None:
    """Make a policy known by name; `make` returns a new agent."""
    _policies[name] = make


def register_family(prefix: str, make: Callable[[str], Agent]) -> None:
    """Make a family of policies known as ``prefix:rest``; `make` gets the rest."""
    _families[prefix] = make


FILES = ("sb3", "sb3-greedy")
"""The families whose members are files that may run code when they are loaded."""


def names_file(policy: str) -> bool:
    """Tell whether a policy is a file: only who names it himself has agreed to load it.

    Logs, curricula and other data of others may name such a policy; it is not loaded for that.
    """
    prefix, colon, rest = policy.partition(":")
    if prefix == POPULATION:
        return any(names_file(name.strip()) for name in rest.split(","))
    return bool(colon) and prefix in FILES


def families() -> tuple[str, ...]:
    """Return the prefixes of families of policies, sorted."""
    return tuple(sorted(_families))


def policies() -> tuple[str, ...]:
    """Return the names of all policies, those of plug-ins too, sorted."""
    return tuple(sorted({*_policies, *plugins.names("agents")}))


def policy_name(agent: Agent) -> str | None:
    """Return the name under which an agent's class is registered, if it is."""
    return next((name for name, make in _policies.items() if make is type(agent)), None)


def make_agent(policy: str | Agent, *, trusted: bool = True) -> Agent:
    """Return a new agent of a named policy, or the given agent itself.

    Names are those of `policies`, ``best_response:STRATEGY`` (to a strategy of a matrix game),
    ``population:NAME,NAME,...`` (one of these in each episode, by chance), ``sb3:PATH`` (a model of
    Stable-Baselines3, whose actions are drawn from its policy) and ``sb3-greedy:PATH`` (its most
    probable actions).

    Args:
        policy: The name, or an agent.
        trusted: Whether a file in the name may be unpickled, which can run any code, if it cannot
            be read otherwise. A name that the user typed is trusted; pass ``False`` with one out of
            a log, a scenario or a curriculum.

    Raises:
        UnknownNameError: If no policy has this name.
        PolicyError: If it is a model that cannot be loaded.
        PluginError: If it is a plug-in that cannot be loaded.
    """
    if isinstance(policy, Agent):
        return policy
    if not isinstance(policy, str):
        raise UnknownNameError("policy", policy, _allowed(policy))
    prefix, colon, rest = policy.partition(":")
    if colon and prefix in _families:
        untrusted = not trusted and prefix in (POPULATION, *FILES)
        return _families[prefix](rest, **({"trusted": False} if untrusted else {}))
    if policy in _policies:
        return _policies[policy]()
    if policy in plugins.names("agents"):
        return _plugged(policy)
    raise UnknownNameError("policy", policy, _allowed(policy))


def check_policy(policy: str, *, files: bool = False) -> str:
    """Return the name of a policy, which may be ``prefix:rest``, without making it.

    Args:
        policy: The name.
        files: Whether the file of a model must be there.

    Raises:
        UnknownNameError: If no policy has this name.
        PolicyError: If the file is not there.
    """
    prefix, colon, rest = policy.partition(":")
    if policy in policies():
        return policy
    if colon and rest and prefix in _families:
        if files and prefix in FILES and not Path(rest).is_file():
            raise PolicyError(f"there is no model {rest!r}")
        for name in rest.split(",") if prefix == POPULATION else ():
            check_policy(name.strip(), files=files)
        return policy
    raise UnknownNameError("policy", policy, _allowed(policy))


def _plugged(name: str) -> Agent:
    """Make an agent of a plug-in, which is an ordinary policy from then on.

    Raises:
        PluginError: If it cannot be loaded, or makes no `Agent`.
    """

    def wrong(made: object) -> str | None:
        return None if callable(made) else f"it offers a {type(made).__name__}, not an Agent class"

    make: Callable[[], Agent] = plugins.load("agents", name, wrong)
    agent = make()
    if not isinstance(agent, Agent):
        raise PluginError(f"the plug-in {name!r} (agents) makes a {type(agent).__name__}, no Agent")
    _policies[name] = make
    return agent


def _allowed(policy: object = "") -> tuple[str, ...]:
    """Return what could have been meant: names of the same prefix, or all, prefixes in short."""
    prefix, colon, _ = str(policy).partition(":")
    related = tuple(name for name in policies() if colon and name.startswith(f"{prefix}:"))
    if related:
        return related
    short = {f"{name.partition(':')[0]}:..." if ":" in name else name for name in policies()}
    return tuple(sorted(short | {f"{prefix}:..." for prefix in _families}))


def _sb3(path: str, greedy: bool = False, trusted: bool = True) -> Agent:
    """Make an agent that plays a model of Stable-Baselines3; torch is imported only now."""
    require_file(Path(path))
    from piase_gym.agents.sb3 import Sb3Agent

    return Sb3Agent(path, greedy=greedy, trusted=trusted)


def _population(names: str, trusted: bool = True) -> Agent:
    """Make an agent that plays as one of several policies."""
    return make_population(names, functools.partial(make_agent, trusted=trusted))


for _name in (*STRATEGIES, "random"):
    register_policy(f"best_response:{_name}", functools.partial(BestResponseAgent, _name))
register_family(POPULATION, _population)
register_family("sb3", _sb3)
register_family("sb3-greedy", functools.partial(_sb3, greedy=True))
