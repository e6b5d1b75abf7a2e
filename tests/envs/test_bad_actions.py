"""Wrong actions, agents and hints: one clear error of our own each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from piase_gym.agents import Agent
from piase_gym.core.commands import Command
from piase_gym.envs.aec import aec_env
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import gym_env
from piase_gym.errors import (
    ActionError,
    AgentError,
    PiaseError,
)
from tests.helpers import needs
from tests.helpers.bad_input import (
    ABSENT,
    NAN,
    RIGHT,
    START,
    STAY,
    assert_untouched,
    fresh,
    make_gymnasium,
    refuse,
    short,
)

# -- actions ------------------------------------------------------------------------------

BAD_ACTIONS: list[Any] = [
    "1",
    "stay",
    1.0,
    NAN,
    np.float64(1),
    np.bool_(True),
    True,
    False,
    np.ma.masked,
    np.ma.array(4, mask=True),
    -1,
    6,
    10**30,
    -(10**30),
    ABSENT - 1,
    2**31 - 1 + 1,
    2**32 + 4,
    [4],
    (4,),
    {},
    object(),
    np.int64(-1),
    np.int64(6),
]
"""Refused by every environment."""

BAD_ALONE: list[Any] = [
    None,
    *(ABSENT + code for code in (0, 1, 4, 5, 255)),
    np.array([1, 2]),
    np.array([True]),
    np.array(1.0),
]
"""Refused where one action is read; see the marks for several."""

BAD_DIRECT = [
    *BAD_ACTIONS,
    pytest.param(None),
    *(pytest.param(ABSENT + code) for code in (0, 1, 4)),
    *(pytest.param(array) for array in BAD_ALONE[-3:]),
]
ACTION_WORDS = ("agent_0", "integers from 0 to 5")


@pytest.mark.parametrize("action", BAD_DIRECT, ids=short)
def test_wrong_actions_in_the_parallel_env(action: Any) -> None:
    env = fresh()
    acts = {"agent_0": action, "agent_1": STAY}
    assert_untouched(env, lambda: refuse(ActionError, ACTION_WORDS, lambda: env.step(acts)))


@pytest.mark.parametrize("action", [*BAD_ACTIONS, *BAD_ALONE], ids=short)
@pytest.mark.parametrize("mask", [None, "obs"])
def test_wrong_actions_with_a_partner(action: Any, mask: str | None) -> None:
    env = fresh(partners={"agent_1": "noop"}, mask=mask)
    acts = {"agent_0": action}
    assert_untouched(env, lambda: refuse(ActionError, ACTION_WORDS, lambda: env.step(acts)))


@pytest.mark.parametrize("action", [*BAD_ACTIONS, *BAD_ALONE], ids=short)
@pytest.mark.parametrize("make", [gym_env, make_gymnasium])
def test_wrong_actions_of_the_learner(make: Callable[..., Any], action: Any) -> None:
    env = make("GridWorld", **START)
    env.reset(seed=0)
    assert_untouched(env, lambda: refuse(ActionError, ACTION_WORDS, lambda: env.step(action)))


@pytest.mark.parametrize("action", BAD_DIRECT, ids=short)
def test_wrong_actions_in_the_aec_env(action: Any) -> None:
    env = aec_env("GridWorld", **START)
    env.reset(seed=0)

    def both_act() -> None:
        env.step(action)
        env.step(STAY)

    before = env.unwrapped.digest()
    refuse(ActionError, ACTION_WORDS, both_act)
    assert env.unwrapped.digest() == before
    env.reset(seed=0)
    env.step(STAY)
    env.step(STAY)


@pytest.mark.parametrize(
    "action",
    [
        4,
        np.int64(4),
        np.uint8(4),
        np.array(4),
        pytest.param(np.array([4])),
    ],
    ids=short,
)
def test_every_kind_of_integer_is_an_action(action: Any) -> None:
    envs = fresh(), fresh()
    envs[0].step({"agent_0": STAY, "agent_1": STAY})
    envs[1].step({"agent_0": action, "agent_1": STAY})
    assert envs[0].digest() == envs[1].digest()
    learner = gym_env("GridWorld", **START)
    learner.reset(seed=0)
    assert learner.step(action)[4]["outcome"] == "ok"


@pytest.mark.parametrize(
    ("line", "outcome"),
    [("fly", "unparsable"), ("", "unparsable"), (None, "unparsable"), (3, "unparsable"),
     (b"stay", "unparsable"), (np.array([1]), "unparsable"), ("x" * 1001, "too_long"),
     ("interact", "illegal"), ("STAY.", "ok")],
    ids=short,
)  # fmt: skip
def test_wrong_lines_cost_a_step_and_never_raise(line: Any, outcome: str) -> None:
    env = fresh(actions="text")
    infos = env.step({"agent_0": line, "agent_1": "stay"})[4]
    assert [infos[name]["outcome"] for name in ("agent_0", "agent_1")] == [outcome, "ok"]


@pytest.mark.parametrize("actions", ["discrete", "text"])
@pytest.mark.parametrize(
    ("command", "told"),
    [(Command("fly"), "unknown action type 'fly'"),
     (Command("move", {"direction": "Up"}), "direction cannot be 'Up'; allowed: 'north', 'south'"),
     (Command("move", {"to": "up"}), "'move' has no parameter 'to'"),
     (Command("move"), "'move' needs the parameter 'direction'"),
     (Command("move", None), "the parameters of 'move' are a mapping")],  # type: ignore[arg-type]
    ids=short,
)  # fmt: skip
def test_wrong_commands_cost_a_step_and_are_explained(
    command: Command, told: str, actions: str
) -> None:
    for env in (fresh(actions=actions), gym_env("GridWorld", **START, actions=actions)):
        env.reset(seed=0)
        alone = not hasattr(env, "agents")
        other = STAY if actions == "discrete" else "stay"
        info = env.step(command if alone else {"agent_0": command, "agent_1": other})[4]
        info = info if alone else info["agent_0"]
        assert (info["outcome"], told in info["feedback"]) == ("unparsable", True), info
        assert env.runner.steps == 1


@pytest.mark.parametrize("world", ["GridWorld", "TextRoom", "SocialDilemma", "PhysicsPlayground"])
def test_parameters_that_are_no_mapping_are_explained(world: str) -> None:
    needs.need(world)
    env = gym_env(world)
    env.reset(seed=0)
    noop = env.world.noop.verb
    for parameters in (None, 3, ["up"]):
        info = env.step(Command(noop, parameters))[4]  # type: ignore[arg-type]
        assert (info["outcome"], "mapping" in info["feedback"]) == ("unparsable", True), info


@pytest.mark.parametrize("verb", ["move", "go", "walk"])
def test_commands_may_use_the_verbs_that_lines_may(verb: str) -> None:
    env = gym_env("GridWorld", **START)
    told = []
    for act in (Command(verb, {"direction": "right"}), RIGHT):
        env.reset(seed=0)
        told.append((env.step(act)[4]["outcome"], env.digest()))
    assert told[0] == told[1]
    assert told[0][0] == "ok"


@pytest.mark.parametrize(
    "action",
    [[2.0, 0.0, 0.0], [-1.001, 0.0, 0.0], [NAN, 0.0, 0.0], [0.0, 0.0, np.inf], [0.0], [[0.0] * 3],
     0.0, None, "abc", ["0", "0", "0"], [True, False, True], [1j, 0, 0], [[0.0], [0.0, 0.0], 0.0],
     np.ma.array([0.0, 0.0, 0.0], mask=[0, 1, 0])],
    ids=short,
)  # fmt: skip
def test_points_outside_the_box(action: Any) -> None:
    pytest.importorskip("pybullet")
    fields: dict[str, Any] = {"actions": "continuous", "agents": 2, "task": "gather"}
    alone, joined = gym_env("PhysicsPlayground", **fields), fresh_physics(**fields)
    alone.reset(seed=0)
    assert alone.action_space.shape == (3,)
    before = alone.digest(), joined.digest()
    for step in (
        lambda: alone.step(action),
        lambda: joined.step({"agent_0": action, "agent_1": [0.0] * 3}),
        lambda: joined.step({"agent_0": [0.0] * 3, "agent_1": action}),
    ):
        refuse(ActionError, ("actions are arrays of shape (3,) from -1 to 1",), step)
    assert (alone.digest(), joined.digest()) == before
    alone.step([1, -1, 0])
    alone.step(np.array([1.0 + 1e-9, 0.0, 0.0]))  # which float32 rounds to 1


def fresh_physics(**fields: Any) -> Any:
    """Return an environment at the beginning of an episode."""
    env = parallel_env("PhysicsPlayground", **fields)
    env.reset(seed=0)
    return env


@pytest.mark.parametrize("answer", [True, 1.0, 9, None, np.array([1, 2]), [0]], ids=short)
def test_wrong_answers_of_a_partner(answer: Any) -> None:
    class Wrong(Agent):
        def act(self) -> Any:
            return answer

    env = parallel_env("GridWorld", **START, partners={"agent_1": Wrong()})
    env.reset(seed=0)
    if answer is None:  # which stands for the no-op
        env.step({"agent_0": STAY})
        return
    before = env.digest()
    refuse(ActionError, ("agent_1", "integers from 0 to 5"), lambda: env.step({"agent_0": STAY}))
    assert env.digest() == before


NOT_A_DICT: list[Any] = [
    *(None, 5, "ab", [STAY, STAY], {"agent_0"}, [("agent_0", 4), ("agent_1", 4)]),
    pytest.param(np.array([STAY, STAY])),
]


@pytest.mark.parametrize("acts", NOT_A_DICT, ids=short)
def test_actions_are_a_dict(acts: Any) -> None:
    env = fresh()
    words = ("dict of actions by agent", type(acts).__name__)
    assert_untouched(env, lambda: refuse(ActionError, words, lambda: env.step(acts)))


@pytest.mark.parametrize(
    ("acts", "error", "words"),
    [
        ({}, ActionError, ("no action for agent_0, agent_1",)),
        ({"agent_0": STAY}, ActionError, ("no action for agent_1", "agent_0, agent_1")),
        ({"agent_0": STAY, "agent_7": STAY}, AgentError, ("'agent_7'", "agent_0, agent_1")),
        ({f"agent_{i}": STAY for i in range(3)}, AgentError, ("'agent_2'", "agent_0, agent_1")),
        ({0: STAY, 1: STAY}, AgentError, ("0", "agent_0, agent_1")),
        ({None: STAY, "agent_1": STAY}, AgentError, ("None", "agent_0, agent_1")),
    ],
    ids=short,
)
def test_an_action_for_each_agent_in_play(
    acts: Any, error: type[PiaseError], words: tuple[str, ...]
) -> None:
    env = fresh()
    assert_untouched(env, lambda: refuse(error, words, lambda: env.step(acts)))


@pytest.mark.parametrize(
    ("acts", "error", "words"),
    [
        ({"agent_0": STAY, "agent_1": STAY}, AgentError, ("'agent_0'", "no longer", "agent_1")),
        ({"agent_0": STAY}, AgentError, ("'agent_0'", "no longer", "in play: agent_1")),
        ({}, ActionError, ("no action for agent_1",)),
        ({"agent_1": 6}, ActionError, ("agent_1", "6", "0 to 5")),
    ],
    ids=short,
)
def test_agents_that_are_no_longer_in_play(
    acts: Any, error: type[PiaseError], words: tuple[str, ...]
) -> None:
    env = fresh()
    env.step({"agent_0": RIGHT, "agent_1": STAY})
    assert env.agents == ["agent_1"]
    assert_untouched(env, lambda: refuse(error, words, lambda: env.step(acts)))


# -- agents and hints ---------------------------------------------------------------------

BY_AGENT = "facts admissible_commands commands instructions tools".split()


@pytest.mark.parametrize("agent", ["agent_2", "", None, 0, ["agent_0"]], ids=short)
@pytest.mark.parametrize("method", BY_AGENT)
def test_questions_about_an_unknown_agent(method: str, agent: Any) -> None:
    env = fresh()
    words = (repr(agent), "agent_0, agent_1")
    assert_untouched(env, lambda: refuse(AgentError, words, lambda: getattr(env, method)(agent)))


@pytest.mark.parametrize(
    "agent",
    ["agent_2", None, 0, pytest.param(["agent_0"])],
    ids=short,
)
@pytest.mark.parametrize("method", ["observation_space", "action_space"])
def test_spaces_of_an_unknown_agent(method: str, agent: Any) -> None:
    env = fresh()
    refuse(AgentError, (repr(agent), "agent_0, agent_1"), lambda: getattr(env, method)(agent))


def test_a_hint_for_an_unknown_agent() -> None:
    env = fresh()
    words = ("'agent_2'", "agent_0, agent_1")
    assert_untouched(env, lambda: refuse(AgentError, words, lambda: env.give_hint("agent_2", "x")))


@pytest.mark.parametrize("hint", [3, b"look", ["look"]], ids=short)
def test_a_hint_is_a_string(hint: Any) -> None:
    env = fresh()
    assert_untouched(
        env, lambda: refuse(PiaseError, ("hint",), lambda: env.give_hint("agent_0", hint))
    )


def test_a_long_or_foreign_hint_stays_in_the_space() -> None:
    env = fresh()
    for hint in ("x" * 10_000, "鍵\x00\U0001f511 \\u{e9}"):
        env.give_hint("agent_0", hint)
        shown = env.step(dict.fromkeys(env.agents, STAY))[0]["agent_0"]
        assert env.observation_space("agent_0").contains(dict(shown))
