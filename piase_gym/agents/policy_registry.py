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
from piase_gym.errors import ConfigError, PluginError, PolicyError, UnknownNameError

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


MODELS = ("llm",)
"""The families whose members are language models elsewhere."""
FILES = ("ppo", "ppo-greedy", "sb3", "sb3-greedy")
"""The families whose members are files, which are loaded only if the user names them: files of
Stable-Baselines3 may run code when they are loaded."""


def names_file(policy: str) -> bool:
    """Return whether a policy is a file, which is loaded only if the user names it.

    Logs, curricula and other people's data may name such a policy; that does not load it.
    """
    return _names(policy, FILES)


def why_untrusted(policy: str) -> str | None:
    """Return what others' data must not make us do with a policy; ``None`` if it is harmless.

    A file is loaded, and a language model asked, only if the user names it.
    """
    if names_file(policy):
        return f"load {policy!r:.200}, for that may run code"
    if _names(policy, MODELS):
        return f"ask {policy!r:.200}, for that costs and tells its server what is seen"
    return None


def _names(policy: str, prefixes: tuple[str, ...]) -> bool:
    """Return whether a policy, or a member of a population, belongs to one of some families."""
    prefix, colon, rest = policy.partition(":")
    if prefix == POPULATION:
        return any(_names(name.strip(), prefixes) for name in rest.split(","))
    return bool(colon) and prefix in prefixes


def families() -> tuple[str, ...]:
    """Return the prefixes of families of policies, sorted."""
    return tuple(sorted(_families))


def policies() -> tuple[str, ...]:
    """Return the names of all policies, those of plug-ins too, sorted."""
    return tuple(sorted({*_policies, *plugins.names("agents")}))


def policy_name(agent: Agent) -> str | None:
    """Return the name under which an agent's class is registered, if it is."""
    return next((name for name, make in _policies.items() if make is type(agent)), None)


def policy_of_agent(agent: Agent) -> str:
    """Return the name of an agent's policy, or of its class if it has none."""
    kind = type(agent)
    return agent.policy_id() or policy_name(agent) or f"{kind.__module__}:{kind.__qualname__}"


def make_agent(policy: str | Agent, *, trusted: bool = True) -> Agent:
    """Return a new agent of a named policy, or the given agent itself.

    Names are those of `policies`, ``best_response:STRATEGY`` (to a strategy of a matrix game),
    ``population:NAME,NAME,...`` (one of these, drawn in each episode), ``sb3:PATH`` (a model of
    Stable-Baselines3, whose actions are drawn from its policy), ``sb3-greedy:PATH`` (its most
    probable actions), ``ppo:PATH`` and ``ppo-greedy:PATH`` (the same for ``--algo batch_ppo``) and
    ``llm:MODEL@URL`` (a language model; see `LLMAgent`).

    Args:
        policy: The name, or an agent.
        trusted: Whether a file in the name may be unpickled, which can run any code, if it cannot
            be read otherwise, and whether a language model may be asked. A name that the user typed
            is trusted; pass ``False`` for one from a log, a scenario or a curriculum.

    Raises:
        UnknownNameError: If no policy has this name.
        ConfigError: If it is the class of an agent, or a function.
        PolicyError: If it is a model that cannot be loaded.
        PluginError: If it is a plug-in that cannot be loaded.
    """
    if isinstance(policy, Agent):
        return policy
    if callable(policy):
        given = f"the class; give {policy.__name__}()" if isinstance(policy, type) else "a function"
        raise ConfigError(f"a policy is a name or an Agent object, not {given}")
    if not isinstance(policy, str):
        raise UnknownNameError("policy", policy, _allowed(policy))
    prefix, colon, rest = policy.partition(":")
    if colon and prefix in _families:
        untrusted = not trusted and prefix in (POPULATION, *FILES, *MODELS)
        agent = _families[prefix](rest, **({"trusted": False} if untrusted else {}))
        agent.made_as = policy
        return agent
    if policy in _policies:
        return _policies[policy]()
    if policy in plugins.names("agents"):
        return _plugged(policy)
    raise UnknownNameError("policy", policy, _allowed(policy))


def check_policy(policy: str, *, files: bool = False) -> str:
    """Return the name of a policy, which may be ``prefix:rest``, without making it.

    Args:
        policy: The name.
        files: Whether a model's file must exist, and a language model must have a key.

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
        if prefix in MODELS:
            _llm(rest, check=files)
        return policy
    raise UnknownNameError("policy", policy, _allowed(policy))


def _plugged(name: str) -> Agent:
    """Make an agent from a plug-in, which is an ordinary policy from then on.

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
    """Return the names that could have been meant: those with the same prefix, or all in short."""
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


def _ppo(path: str, greedy: bool = False, trusted: bool = True) -> Agent:
    """Make an agent that plays policies of ``batch_ppo``; nothing in such a file is ever run."""
    require_file(Path(path))
    from piase_gym.agents.ppo import PpoAgent

    return PpoAgent(path, greedy=greedy)


def _llm(name: str, trusted: bool = True, check: bool = True) -> Agent:
    """Make an agent that asks a language model; `openai` is imported when it is asked.

    Raises:
        PolicyError: If it was not the user who named it.
    """
    from piase_gym.agents.llm.agent import LLMAgent

    if not trusted:
        message = (
            f"the language model {name!r:.200} is not asked, for it is named in data of others"
        )
        raise PolicyError(f"{message}; name it yourself, as partners={{...}} or --agent")
    agent = LLMAgent.named(name)
    if check:
        agent.check()
    return agent


def _population(names: str, trusted: bool = True) -> Agent:
    """Make an agent that plays as one of several policies."""
    return make_population(names, functools.partial(make_agent, trusted=trusted))


for _name in (*STRATEGIES, "random"):
    register_policy(f"best_response:{_name}", functools.partial(BestResponseAgent, _name))
register_family(POPULATION, _population)
register_family("llm", _llm)
register_family("ppo", _ppo)
register_family("ppo-greedy", functools.partial(_ppo, greedy=True))
register_family("sb3", _sb3)
register_family("sb3-greedy", functools.partial(_sb3, greedy=True))
