"""One table of bad things, through every environment: one clear error of our own, and nothing else.

What is bad about a world is refused wherever it is made; what is bad about an action is refused, or
costs a step and is explained, as the environment has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from piase_gym.envs.aec import aec_env
from piase_gym.envs.batch import BatchEnv, batch_env
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import gym_env
from piase_gym.envs.vector import make_vector
from piase_gym.errors import (
    ActionError,
    AgentError,
    ClosedError,
    ConfigError,
    GenerationError,
    PiaseError,
)
from piase_gym.interfaces import (
    AbstractEnvironment,
    BaseEnv,
    Environment,
    EnvironmentInterface,
    PerceptionInterface,
)

STAY = 4
PAIR: dict[str, Any] = {"agents": 2, "width": 4, "height": 4, "symbols": 2, "max_steps": 9}


class Kind(NamedTuple):
    """One way to a world.

    Attributes:
        make: Makes it.
        begin: Starts an episode.
        act: Lets agent_0 do something; the others stay.
        ask: Names an agent in a question.
        after: What else an open environment does.
        speaks: Whether actions are an ``index``, a ``command`` or a ``line``.
    """

    make: Callable[..., Any]
    begin: Callable[[Any], Any]
    act: Callable[[Any, Any], Any]
    ask: Callable[[Any, Any], Any]
    after: tuple[Callable[[Any], Any], ...]
    speaks: str


def begin(env: Any) -> Any:
    """Reset an environment that calls it so."""
    return env.reset(seed=0)


def through_aec(env: Any, action: Any) -> None:
    """Act in turn."""
    env.step(action)
    env.step(STAY)


def through_command(method: str) -> Callable[[Any, Any], Any]:
    """Return what submits a command, after all others have."""

    def act(env: Any, command: Any) -> Any:
        getattr(env, method)("agent_1", {"action_type": "stay"})
        return getattr(env, method)("agent_0", command)

    return act


def through_explorer(env: Any, line: Any) -> Any:
    """Act in words; the answer of the last one tells."""
    env.execute_action("agent_1", "stay")
    return env.execute_action("agent_0", line)


KINDS: dict[str, Kind] = {
    "parallel": Kind(
        parallel_env,
        begin,
        lambda env, action: env.step({"agent_0": action, "agent_1": STAY}),
        lambda env, agent: env.facts(agent),
        (lambda env: env.state(), lambda env: env.snapshot(), lambda env: env.render()),
        "index",
    ),
    "aec": Kind(
        aec_env,
        begin,
        through_aec,
        lambda env, agent: env.unwrapped.observation_space(agent),
        (lambda env: env.unwrapped.snapshot(),),
        "index",
    ),
    "gymnasium": Kind(
        gym_env,
        begin,
        lambda env, action: env.step(action),
        lambda env, agent: gym_env("GridWorld", agent=agent, **PAIR),
        (lambda env: env.action_masks(), lambda env: env.snapshot()),
        "index",
    ),
    "vector": Kind(
        lambda name, **config: make_vector(name, num_envs=2, **config),
        begin,
        lambda env, action: env.step([action, STAY]),
        lambda env, agent: make_vector("GridWorld", num_envs=1, agent=agent, **PAIR),
        (lambda env: env.batch.snapshot(),),
        "index",
    ),
    "batch": Kind(
        lambda name, **config: batch_env(name, num_envs=1, **config),
        begin,
        lambda env, action: env.step([[action, STAY]]),
        lambda env, agent: env.facts(0, agent),
        (
            lambda env: env.snapshot(),
            lambda env: env.single(0),
            lambda env: env.give_hint(0, "agent_0", "up"),
        ),
        "index",
    ),
    "Environment": Kind(
        Environment,
        begin,
        through_command("step"),
        lambda env, agent: env.get_observation(agent),
        (lambda env: env.get_state(), lambda env: env.get_environment_info()),
        "command",
    ),
    "AbstractEnvironment": Kind(
        AbstractEnvironment,
        lambda env: env.reset_environment(seed=0),
        through_command("apply_action_from_agent"),
        lambda env, agent: env.get_perceptual_data_for_agent(agent),
        (lambda env: env.get_current_state_snapshot(), lambda env: env.step(0)),
        "command",
    ),
    "EnvironmentInterface": Kind(
        EnvironmentInterface,
        begin,
        through_command("submit_action"),
        lambda env, agent: env.get_perceptions(agent),
        (lambda env: env.query_environment_state("agent_0", {}),),
        "command",
    ),
    "PerceptionInterface": Kind(
        PerceptionInterface,
        begin,
        through_explorer,
        lambda env, agent: env.get_agent_state(agent),
        (lambda env: env.poll_messages("agent_0"),),
        "line",
    ),
    "BaseEnv": Kind(
        BaseEnv,
        begin,
        lambda env, line: env.step(line),
        lambda env, agent: BaseEnv("GridWorld", agent=agent, **PAIR),
        (lambda env: env.current_observation, lambda env: env.get_available_actions()),
        "line",
    ),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def refuse(error: type[PiaseError], words: str, call: Callable[[], object]) -> None:
    """Check that a call raises an error of ours in which these words stand, one after another."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert re.search(words, message), message
    assert len(message) < 1000
    assert "Traceback" not in message


# -- worlds that cannot be -----------------------------------------------------------------

LEVELS: dict[str, tuple[dict[str, Any], type[PiaseError], str]] = {
    "unknown sign": ({"map": ["..G", ".?."]}, ConfigError, r"map.*'\?'.*(1, 1).*allowed|'\?'"),
    "ragged rows": ({"map": ["..G", "."]}, ConfigError, "row"),
    "no rows": ({"map": []}, ConfigError, "map"),
    "a map of numbers": ({"map": [1, 2]}, ConfigError, "map"),
    "a map that is no map": ({"map": 7}, ConfigError, "map"),
    "unreachable goal": ({"map": ["@#G", ".#."]}, GenerationError, "no way .* to a goal"),
    "key behind its door": ({"map": ["@LGk", "####"]}, GenerationError, "no way"),
    "two on one cell": (
        {"agents": 2, "start_pos": [(0, 0), (0, 0)]},
        ConfigError,
        "two agents on one cell; use collisions='pass'",
    ),
    "more agents than cells": (
        {"agents": 4, "width": 2, "height": 2},
        GenerationError,
        "no free cell left for 4 agents",
    ),
    "a start outside": ({"start_pos": (9, 9)}, ConfigError, r"start_pos.*\(9, 9\).*outside"),
    "alphabet too large": ({"symbols": 99}, ConfigError, "symbols.*at most 16"),
    "nobody at the start": ({"agents": 2, "join_at": (1, 2)}, ConfigError, "join_at"),
    "an agent twice": ({"agents": 2, "agent_ids": ("a", "a")}, ConfigError, "differ"),
    "misspelt key": ({"goal_po": (1, 1)}, ConfigError, "did you mean 'goal_pos'"),
}


@every_kind
@pytest.mark.parametrize("level", LEVELS)
def test_worlds_that_cannot_be(kind: Kind, level: str) -> None:
    fields, error, words = LEVELS[level]
    refuse(error, words, lambda: kind.make("GridWorld", **fields))


# -- actions that are none -----------------------------------------------------------------

REFUSED: dict[str, list[Any]] = {
    "index": ["stay", 1.5, None, -1, 6 * 3 + 4, 10**12, [4, 4, 4], {"action_type": "stay"}],
    "command": [None, "stay", 4, {}, {"action_type": None}, {"action_type": "stay", "sayng": 1}],
    "line": [None, 4, b"stay", ["stay"], {"action_type": "stay"}],
}
"""Not of the environment's type: refused, and nothing has happened."""
EXPLAINED: dict[str, list[tuple[Any, str]]] = {
    "command": [
        ({"action_type": "stay", "parameters": {"symbol": 3}}, "symbol.*1.*2"),
        ({"action_type": "stay", "parameters": {"symbol": "a"}}, "symbol"),
        ({"action_type": "fly"}, "fly"),
        ({"action_type": "move"}, "direction"),
        ({"action_type": "move", "parameters": {"direction": "aside"}}, "direction"),
    ],
    "line": [
        ("stay saying 3", "1.*2"),
        ("stay saying a", "saying"),
        ("stay saying", "saying"),
        ("stay saying one", "integer"),
        ("fly", "fly"),
        ("move", "direction|north"),
        ("move aside", "aside"),
        ("", "command|empty|move"),
    ],
}
"""Well-formed, and not a command of this world: costs a step, and the answer says why."""


def digest(env: Any) -> str:
    """Return what stands for the state behind any environment."""
    inner = env if isinstance(env, BatchEnv) else getattr(env, "batch", env)
    if isinstance(inner, BatchEnv):
        return str(inner.digests())
    return str(inner.unwrapped.digest() if hasattr(inner, "unwrapped") else inner.digest())


@pytest.mark.parametrize(
    ("kind", "action"),
    [(name, action) for name, kind in KINDS.items() for action in REFUSED[kind.speaks]],
    ids=lambda value: str(value)[:24],
)
def test_actions_of_another_type(kind: str, action: Any) -> None:
    env = KINDS[kind].make("GridWorld", **PAIR)
    KINDS[kind].begin(env)
    before = digest(env)
    refuse(ActionError, "", lambda: KINDS[kind].act(env, action))
    if kind not in ("PerceptionInterface", "AbstractEnvironment"):
        assert digest(env) == before


@pytest.mark.parametrize(
    ("kind", "action", "words"),
    [
        (name, *case)
        for name, kind in KINDS.items()
        if kind.speaks != "index"
        for case in EXPLAINED[kind.speaks]
    ],
    ids=lambda value: str(value)[:24],
)
def test_commands_that_the_world_does_not_know(kind: str, action: Any, words: str) -> None:
    env = KINDS[kind].make("GridWorld", **PAIR)
    KINDS[kind].begin(env)
    before = digest(env)
    answer = KINDS[kind].act(env, action)
    if kind == "BaseEnv":
        answer = answer[3]
    elif kind == "AbstractEnvironment":
        answer = env.get_perceptual_data_for_agent("agent_0").last_action_result
    told = answer if isinstance(answer, dict) else answer.model_dump()
    assert told["status"] == "invalid_action"
    assert re.search(words, str(told.get("message") or told.get("error") or told)), told
    assert digest(env) != before


# -- who is not there, and what is closed --------------------------------------------------


@every_kind
@pytest.mark.parametrize("agent", ["agent_9", "", 0, ["agent_0"]], ids=str)
def test_agents_that_are_not_there(kind: Kind, agent: Any) -> None:
    env = kind.make("GridWorld", **PAIR)
    kind.begin(env)
    before = digest(env)
    refuse(AgentError, "agents are agent_0, agent_1", lambda: kind.ask(env, agent))
    assert digest(env) == before


@every_kind
def test_nothing_is_done_after_the_close(kind: Kind) -> None:
    env = kind.make("GridWorld", **PAIR)
    kind.begin(env)
    good: dict[str, Any] = {"index": STAY, "command": {"action_type": "stay"}, "line": "stay"}
    env.close()
    env.close()
    for call in (kind.begin, lambda env: kind.act(env, good[kind.speaks]), *kind.after):
        refuse(ClosedError, "closed", lambda call=call: call(env))  # type: ignore[misc]
