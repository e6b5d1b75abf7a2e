"""Bad input: one clear error of our own each, which leaves the environment as it was."""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pettingzoo
import pytest

from piase_gym.errors import (
    ActionError,
    AgentError,
    ClosedError,
    ConfigError,
    EnvelopeError,
    GenerationError,
    MissingExtraError,
    PiaseError,
    ResetNeededError,
    ScenarioError,
    SnapshotError,
    UnknownNameError,
)
from piase_gym.faces.aec import aec_env
from piase_gym.faces.parallel import WorldParallelEnv, parallel_env
from piase_gym.faces.single import GymEnv, gym_env

STAY, RIGHT = 4, 3
NAN, INF = math.nan, math.inf
ABSENT = 2**31 - 256  # where the kernels' codes for "no act" and misreads start
START: dict[str, Any] = {"agents": 2, "start_pos": [(0, 0), (3, 3)], "goal_pos": (1, 0)}
ROOT = Path(__file__).resolve().parents[1]


def short(value: object) -> str:
    """Name a case by its value."""
    if isinstance(value, type):
        return value.__name__
    return "object" if type(value) is object else repr(value)[:40]


def fresh(**fields: Any) -> WorldParallelEnv:
    """Return two agents in the middle of an episode; agent_0 stands beside the goal."""
    env = parallel_env("GridWorld", **{**START, **fields})
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, STAY))
    return env


def make_gymnasium(name: str, **fields: Any) -> GymEnv:
    """Make through Gymnasium's registry."""
    task = name if "/" in name else f"piase/{name}-v0"
    env = gymnasium.make(task, **fields).unwrapped
    assert isinstance(env, GymEnv)
    return env


MAKERS: dict[str, Callable[..., Any]] = {
    "parallel": parallel_env,
    "aec": aec_env,
    "gym": gym_env,
    "make": make_gymnasium,
}
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
both_makers = pytest.mark.parametrize("make", [parallel_env, gym_env], ids=["parallel", "gym"])


def refuse(error: type[PiaseError], words: tuple[str, ...], call: Callable[[], object]) -> None:
    """Check that a call raises an error of ours that holds all the words, in few of its own."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message
    assert len(message) < 2000


def assert_untouched(env: Any, call: Callable[[], object]) -> None:
    """Check that a call changes nothing and that the env goes on as its twin does."""
    before, digest = json.dumps(env.snapshot()), env.digest()
    call()
    assert env.digest() == digest
    assert json.dumps(env.snapshot()) == before
    twin = copy.deepcopy(env)
    played = getattr(env, "agents", None)
    acts = STAY if played is None else dict.fromkeys(played, STAY)
    env.step(acts)
    twin.step(acts)
    assert env.digest() == twin.digest() != digest


# -- names --------------------------------------------------------------------------------


@every_maker
@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("GridWrold", UnknownNameError, ("'GridWrold'", "did you mean 'GridWorld'?")),
        ("piase/GridWorld-v7", UnknownNameError, ("'piase/GridWorld-v7'", "'piase/GridWorld-v0'")),
        ("zebra/", UnknownNameError, ("'zebra/'", "allowed", "'piase/GridWorld-")),
        ("", UnknownNameError, ("''", "allowed", "'GridWorld'")),
        (None, ConfigError, ("string", "NoneType")),
        (7, ConfigError, ("string", "int")),
        (["GridWorld"], ConfigError, ("string", "list")),
    ],
)
def test_unknown_worlds_and_ids(
    make: Callable[..., Any], name: Any, error: type[PiaseError], words: tuple[str, ...]
) -> None:
    if make is make_gymnasium:  # Gymnasium's own registry answers first
        pytest.skip("the error is Gymnasium's")
    refuse(error, words, lambda: make(name))


def test_the_registries_suggest_our_names_too() -> None:
    with pytest.raises(gymnasium.error.NameNotFound, match="GridWorld"):
        gymnasium.make("piase/GridWrold-v0")
    with pytest.raises(Exception, match="piase/GridWorld-v0"):
        pettingzoo.make("parallel", "piase/GridWrold-v0")


# -- arguments and configs ----------------------------------------------------------------

ARGUMENTS: list[Any] = [
    ({"view": "vectr"}, ConfigError, ("view", "'vectr'", "'vector'?", "'both'", "'text'")),
    ({"view": None}, ConfigError, ("view", "None", "'both'")),
    ({"view": ["both"]}, ConfigError, ("view", "'both'", "'text'")),
    ({"actions": "dicrete"}, ConfigError, ("actions", "'dicrete'", "'discrete'?", "'text'")),
    ({"actions": "continuous"}, ConfigError, ("GridWorld", "continuous", "'discrete'", "'text'")),
    ({"actions": None}, ConfigError, ("actions", "None", "'discrete'")),
    ({"mask": "info"}, ConfigError, ("mask", "'info'", "None", "'obs'")),
    ({"scenario": "lost"}, ScenarioError, ("'lost'",)),
    ({"layout": "four_room"}, ConfigError, ("layout", "'four_room'", "'four_rooms'?", "'empty'")),
    ({"widht": 5}, ConfigError, ("'widht'", "'width'?", "'height'")),
    ({"rewards": {"gaol": 1}}, ConfigError, ("'rewards.gaol'", "'goal'?", "'move'")),
    ({"rewards": {"goal": NAN}}, ConfigError, ("rewards.goal", "finite", "nan")),
    ({"rewards": {"goal": -INF}}, ConfigError, ("rewards.goal", "finite", "-inf")),
    ({"rewards": 3}, ConfigError, ("rewards", "dictionary", "3")),
    ({"width": 1}, ConfigError, ("width", "2", "1")),
    ({"width": 65}, ConfigError, ("width", "64", "65")),
    ({"width": 10**30}, ConfigError, ("width", "64", str(10**30))),
    ({"width": NAN}, ConfigError, ("width", "finite", "nan")),
    ({"width": INF}, ConfigError, ("width", "finite", "inf")),
    ({"width": "wide"}, ConfigError, ("width", "integer", "'wide'")),
    ({"width": 8.5}, ConfigError, ("width", "integer", "8.5")),
    ({"width": None}, ConfigError, ("width", "integer", "None")),
    ({"height": [8]}, ConfigError, ("height", "integer", "[8]")),
    ({"agents": 0}, ConfigError, ("agents", "1", "0")),
    ({"agents": 33}, ConfigError, ("agents", "32", "33")),
    ({"obstacle_density": NAN}, ConfigError, ("obstacle_density", "finite", "nan")),
    ({"obstacle_density": 0.7}, ConfigError, ("obstacle_density", "0.6", "0.7")),
    ({"max_steps": 0}, ConfigError, ("max_steps", "1", "0")),
    ({"max_steps": 2**31}, ConfigError, ("max_steps", str(2**31 - 1), str(2**31))),
    ({"max_cycles": INF}, ConfigError, ("max_steps", "finite", "inf")),
    ({"window": 4}, ConfigError, ("window", "odd", "3", "15", "4")),
    ({"window": 17}, ConfigError, ("window", "15", "17")),
    ({"border": "maybe"}, ConfigError, ("border", "boolean", "'maybe'")),
    ({"collisions": "bump"}, ConfigError, ("collisions", "'bump'", "'block'", "'pass'")),
    ({"walls": [(9, 0)]}, ConfigError, ("walls", "(9, 0)", "0..7")),
    ({"walls": [(-1, 0)]}, ConfigError, ("walls", "0", "-1")),
    ({"walls": [(1, 2, 3)]}, ConfigError, ("walls", "2", "(1, 2, 3)")),
    ({"goal_pos": [(i % 8, i // 8) for i in range(17)]}, ConfigError, ("goal_pos", "17", "16")),
    ({"start_pos": [(0, 0), (1, 1)]}, ConfigError, ("start_pos", "2", "1 agents")),
    ({"start_pos": [(0, 0)] * 2, "agents": 2}, ConfigError, ("start_pos", "'pass'")),
    ({"start_pos": "corner"}, ConfigError, ("start_pos", "'corner'")),
    ({"start_pos": (9, 9)}, ConfigError, ("start_pos", "(9, 9)", "0..7")),
    ({"goal_pos": (9, 9)}, ConfigError, ("goal_pos", "(9, 9)", "0..7")),
    ({"observe": "grid", "see_through_walls": False}, ConfigError, ("observe='window'",)),
    ({"layout": "door_key", "width": 3}, ConfigError, ("'door_key'", "4 by 2", "3 by 8")),
    ({"agent_ids": ("a", "a"), "agents": 2}, ConfigError, ("agent_ids", "differ", "a, a")),
    ({"agent_ids": ("a b",)}, ConfigError, ("agent_ids", "'a b'")),
    ({"envelope": 3}, ConfigError, ("envelope", "dictionary", "3")),
    ({"envelope": {"widht": 9}}, ConfigError, ("'envelope.widht'", "'width'?")),
    ({"envelope": {"width": 65}}, ConfigError, ("envelope.width", "64", "65")),
    ({"envelope": {"width": 5}}, EnvelopeError, ("width 8 (at most 5)", "'width': 8")),
    (
        {"agents": 4, "width": 2, "height": 2},
        GenerationError,
        ("2 by 2", "no free cell", "4 agents", "larger grid"),
    ),
    (
        {"walls": [(x, y) for x in range(8) for y in range(8)]},
        GenerationError,
        ("no free cell", "fewer walls"),
    ),
    (
        {"walls": [(1, y) for y in range(8)], "start_pos": (0, 0), "goal_pos": (7, 7)},
        GenerationError,
        ("no way", "goal", "walls"),
    ),
]


@every_maker
@pytest.mark.parametrize(("fields", "error", "words"), ARGUMENTS, ids=short)
def test_wrong_arguments(
    make: Callable[..., Any],
    fields: dict[str, Any],
    error: type[PiaseError],
    words: tuple[str, ...],
) -> None:
    refuse(error, words, lambda: make("GridWorld", **fields))


@pytest.mark.parametrize("make", [parallel_env, aec_env, gym_env])
@pytest.mark.parametrize("mode", ["rgb", "ansii", 3, ["ansi"]])
def test_unknown_render_modes(make: Callable[..., Any], mode: Any) -> None:
    words = ("render_mode", repr(mode), "'human'", "'ansi'", "'rgb_array'")
    refuse(ConfigError, words, lambda: make("GridWorld", render_mode=mode))


@every_maker
@pytest.mark.parametrize(
    ("partners", "error", "words"),
    [
        ({"agent_1": "oracel"}, UnknownNameError, ("policy", "'oracel'", "'oracle'?", "'random'")),
        ({"agent_1": None}, UnknownNameError, ("policy", "None", "'random'")),
        ({"agent_1": 3}, UnknownNameError, ("policy", "3", "'random'")),
        ({"agent_7": "random"}, AgentError, ("'agent_7'", "agent_0, agent_1")),
        ({1: "random"}, AgentError, ("1", "agent_0, agent_1")),
        ({"agent_0": "random", "agent_1": "noop"}, AgentError, ("agent",)),
        ({"agent_1": ["random"]}, PiaseError, ("policy", "'random'")),
        ("random", PiaseError, ("partners",)),
        (["random"], PiaseError, ("partners",)),
    ],
    ids=short,
)
def test_wrong_partners(
    make: Callable[..., Any], partners: Any, error: type[PiaseError], words: tuple[str, ...]
) -> None:
    refuse(error, words, lambda: make("GridWorld", agents=2, partners=partners))


@pytest.mark.parametrize("agent", ["agent_7", 0, ["agent_0"], ""])
def test_the_learner_is_one_of_the_agents(agent: Any) -> None:
    words = (repr(agent), "agent_0, agent_1")
    refuse(AgentError, words, lambda: gym_env("GridWorld", agents=2, agent=agent))


# -- actions ------------------------------------------------------------------------------

BAD_ACTIONS: list[Any] = [
    "1",
    "stay",
    1.0,
    NAN,
    np.float64(1),
    np.bool_(True),
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
"""Refused by every face."""

OUR_CODES = "the kernels' codes for absent and misread commands pass as indices"
ARRAY = "TypeError: the array reaches struct.pack"
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
def test_wrong_actions_in_the_parallel_face(action: Any) -> None:
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
def test_wrong_actions_in_the_aec_face(action: Any) -> None:
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


# -- seeds and reset ----------------------------------------------------------------------


@both_makers
@pytest.mark.parametrize(
    "seed",
    [-1, 2**63, 10**30, 1.5, NAN, "0", True, np.bool_(True), [1], np.array([3]), np.int64(-1),
     np.float64(2)],
    ids=short,
)  # fmt: skip
def test_wrong_seeds(make: Callable[..., Any], seed: Any) -> None:
    env, twin = make("GridWorld", **START), make("GridWorld", **START)
    for each in (env, twin):
        each.reset(seed=5)
    words = ("seed", repr(seed), "integers from 0", str(2**63 - 1))
    assert_untouched(env, lambda: refuse(ConfigError, words, lambda: env.reset(seed=seed)))
    env.reset()
    twin.reset()
    assert env.digest() == twin.digest(), "the order of episodes was disturbed"


@pytest.mark.parametrize(
    ("make", "seed"),
    [
        *((make, seed) for make in (parallel_env, gym_env) for seed in (0, 1, 2**63 - 1)),
        (parallel_env, np.int64(3)),
        pytest.param(gym_env, np.int64(3)),
    ],
)
def test_seeds_that_are_allowed(make: Callable[..., Any], seed: Any) -> None:
    env, twin = make("GridWorld"), make("GridWorld")
    env.reset(seed=seed)
    twin.reset(seed=int(seed))
    assert env.driver.seed == int(seed)
    assert env.digest() == twin.digest()


@both_makers
@pytest.mark.parametrize("seed", [None, 9])
def test_a_reset_that_fails_leaves_the_order_of_episodes(
    make: Callable[..., Any], seed: int | None
) -> None:
    env = make("GridWorld", **START)
    env.reset(seed=1)
    options = {"config": {"width": 99}}
    assert_untouched(
        env, lambda: refuse(ConfigError, ("99",), lambda: env.reset(seed=seed, options=options))
    )


@both_makers
def test_unknown_reset_options_only_warn(make: Callable[..., Any]) -> None:
    env = make("GridWorld")
    with pytest.warns(UserWarning, match=r"'options' is unknown.*known: config"):
        env.reset(seed=0, options={"options": 1})


@pytest.mark.filterwarnings("ignore:reset option")
@both_makers
@pytest.mark.parametrize("options", [3, "config", ["config"]], ids=short)
def test_reset_options_are_a_mapping(make: Callable[..., Any], options: Any) -> None:
    env = make("GridWorld")
    refuse(ConfigError, ("options", "mapping"), lambda: env.reset(seed=0, options=options))


# -- reconfigure --------------------------------------------------------------------------

CHANGES: list[Any] = [
    ({"width": 9}, EnvelopeError, ("width 9 (at most 8)", "'width': 9")),
    ({"agents": 3}, EnvelopeError, ("agents 3 (at most 2)", "'agents': 3")),
    ({"window": 9}, EnvelopeError, ("window 9 (at most 7)", "'window': 9")),
    ({"observe": "grid"}, EnvelopeError, ("observe='grid'", "observe='window'")),
    ({"envelope": {"width": 9}}, EnvelopeError, ("envelope", "another environment")),
    ({"agent_ids": ["a", "b"]}, EnvelopeError, ("agent_ids", "another environment")),
    ({"widht": 3}, ConfigError, ("'widht'", "'width'?")),
    ({"rewards": {"gaol": 1}}, ConfigError, ("'rewards.gaol'", "'goal'?")),
    ({"max_steps": NAN}, ConfigError, ("max_steps", "finite", "nan")),
    ({"width": 2}, ConfigError, ("(3, 3)", "2 by 8")),
    ({"walls": [(x, y) for x in range(8) for y in range(8)]}, GenerationError, ("no free cell",)),
    (None, ConfigError, ("mapping", "NoneType")),
    ("width", ConfigError, ("mapping", "str")),
    ([("width", 3)], ConfigError, ("mapping", "list")),
    pytest.param({3: 4}, ConfigError, ("3",)),
]


@both_makers
@pytest.mark.parametrize(("changes", "error", "words"), CHANGES, ids=short)
def test_wrong_changes_of_the_config(
    make: Callable[..., Any], changes: Any, error: type[PiaseError], words: tuple[str, ...]
) -> None:
    env = make("GridWorld", **START)
    env.reset(seed=0)
    assert_untouched(env, lambda: refuse(error, words, lambda: env.reconfigure(changes)))
    refuse(error, words, lambda: env.reset(options={"config": changes}))
    env.reset(seed=0)
    assert env.config.width == 8


def test_max_cycles_of_an_id_that_sets_max_steps() -> None:
    assert parallel_env("piase/GridWorld-DoorKey-8x8-v0", max_cycles=5).max_cycles == 5


# -- order of calls -----------------------------------------------------------------------


QUESTIONS = "step render state digest snapshot facts admissible_commands give_hint".split()
"""The calls that need an episode."""


def ask(env: Any, question: str) -> object:
    """Make one of these calls with arguments that would do."""
    single = isinstance(env, GymEnv)
    arguments: dict[str, tuple[Any, ...]] = {
        "step": (STAY if single else {"agent_0": STAY},),
        "facts": ("agent_0",),
        "admissible_commands": ("agent_0",),
        "give_hint": ("look",) if single else ("agent_0", "look"),
    }
    return getattr(env, question)(*arguments.get(question, ()))


EVERY_QUESTION: list[Any] = [
    *((make, question) for make in (parallel_env, gym_env) for question in QUESTIONS),
    (gym_env, "action_masks"),
]


@pytest.mark.parametrize(("make", "question"), EVERY_QUESTION)
def test_questions_before_the_first_reset(make: Callable[..., Any], question: str) -> None:
    env = make("GridWorld", render_mode="ansi")
    refuse(ResetNeededError, ("GridWorld", "reset()"), lambda: ask(env, question))
    env.reset(seed=0)
    ask(env, question)


@pytest.mark.parametrize(
    ("make", "question"),
    [
        *(case for case in EVERY_QUESTION if case != (gym_env, "step")),
        pytest.param(gym_env, "step"),
    ],
)
def test_questions_after_close(make: Callable[..., Any], question: str) -> None:
    env = make("GridWorld", render_mode="ansi")
    env.reset(seed=0)
    env.close()
    refuse(ClosedError, ("GridWorld", "closed", "another"), lambda: ask(env, question))


@both_makers
def test_closing_twice_does_no_harm_and_nothing_follows(make: Callable[..., Any]) -> None:
    env = make("GridWorld")
    env.reset(seed=0)
    state = env.snapshot()
    env.close()
    env.close()
    for call in (
        env.reset,
        lambda: env.restore(state),
        lambda: env.reconfigure({"max_steps": 3}),
        lambda: env.instructions("agent_0"),
        lambda: env.tools("agent_0"),
    ):
        refuse(ClosedError, ("closed",), call)


@both_makers
def test_closing_before_the_first_reset(make: Callable[..., Any]) -> None:
    env = make("GridWorld")
    env.close()
    refuse(ClosedError, ("closed",), env.reset)


@both_makers
def test_a_step_after_the_end_needs_a_reset(make: Callable[..., Any]) -> None:
    env = make("GridWorld", start_pos=(0, 0), goal_pos=(1, 0))
    env.reset(seed=0)
    single = make is gym_env
    env.step(RIGHT if single else {"agent_0": RIGHT})
    for act in (STAY, "x") if single else ({"agent_0": STAY}, {}, None):
        before = env.digest()
        refuse(ResetNeededError, ("over", "reset()"), lambda act=act: env.step(act))
        assert env.digest() == before
    env.reset(seed=0)
    env.step(STAY if single else {"agent_0": STAY})


@pytest.mark.parametrize(
    "call",
    [
        pytest.param("step"),
        pytest.param("observe"),
        pytest.param("state"),
        pytest.param("render"),
        pytest.param("last"),
    ],
)
def test_the_aec_face_before_the_first_reset(call: str) -> None:
    env = aec_env("GridWorld", render_mode="ansi")
    arguments: dict[str, tuple[Any, ...]] = {"step": (STAY,), "observe": ("agent_0",)}
    refuse(ResetNeededError, ("reset",), lambda: getattr(env, call)(*arguments.get(call, ())))


@pytest.mark.parametrize(
    "method",
    ["action_space", "observation_space", pytest.param("observe")],
)
def test_the_aec_face_asked_about_an_unknown_agent(method: str) -> None:
    env = aec_env("GridWorld", **START)
    env.reset(seed=0)
    refuse(AgentError, ("'agent_7'", "agent_0, agent_1"), lambda: getattr(env, method)("agent_7"))


def test_the_aec_face_after_close() -> None:
    env = aec_env("GridWorld")
    env.reset(seed=0)
    env.close()
    env.close()
    refuse(ClosedError, ("closed",), env.reset)
    refuse(ClosedError, ("closed",), lambda: env.step(STAY))


# -- snapshots ----------------------------------------------------------------------------

GONE = object()


class Fill(NamedTuple):
    """Stands for an entry of the same shape, filled with one value."""

    value: Any


def filled(old: Any, value: Any) -> Any:
    """Return nested lists of the shape of `old`, filled with a value."""
    return [filled(item, value) for item in old] if isinstance(old, list) else value


def edited(snapshot: Mapping[str, Any], path: str, value: Any) -> Any:
    """Return a copy of a snapshot with one entry replaced or removed; "" is the whole."""
    if not path:
        return value
    damaged = copy.deepcopy(dict(snapshot))
    *outer, last = path.split(".")
    place = damaged
    for key in outer:
        place = place[key]
    if value is GONE:
        del place[last]
    else:
        place[last] = filled(place[last], value.value) if isinstance(value, Fill) else value
    return damaged


NUMBERS = "values are converted instead of checked"
SNAPSHOTS: list[Any] = [
    ("", None, SnapshotError, ("mapping", "NoneType")),
    ("", [], SnapshotError, ("mapping", "list")),
    ("", "GridWorld", SnapshotError, ("mapping", "str")),
    pytest.param("", {}, SnapshotError, ("GridWorld",)),
    ("world", "Marbles", SnapshotError, ("Marbles", "GridWorld version 0")),
    ("world", GONE, SnapshotError, ("GridWorld version 0",)),
    ("version", 1, SnapshotError, ("version 1", "GridWorld version 0")),
    ("version", "0", SnapshotError, ("GridWorld version 0",)),
    ("schema", 2, SnapshotError, ("schema 2", "schema 1")),
    *((key, GONE, SnapshotError, ("lacks", key)) for key in ("config", "hints", "state")),
    ("config.width", 9, EnvelopeError, ("width 9 (at most 8)",)),
    ("config.agents", 3, EnvelopeError, ("agents 3 (at most 2)",)),
    ("config.observe", "grid", EnvelopeError, ("observe='grid'",)),
    ("config.width", "wide", SnapshotError, ("width", "'wide'")),
    ("config.zebra", 1, SnapshotError, ("'zebra'",)),
    *(("config", value, SnapshotError, ("config",)) for value in (None, 3, "abc", [1], {3: 4})),
    *(
        ("hints", value, SnapshotError, ("hints",))
        for value in (None, 3, ["look", 3], {"agent_0": "look"}, [], [None] * 3, "ab")
    ),
    *(("state", value, SnapshotError, ("GridWorld",)) for value in (None, 3, "x", [], {})),
    ("state.x", GONE, SnapshotError, ("lacks", "'x'")),
    ("state.cells", GONE, SnapshotError, ("lacks", "'cells'")),
    ("state.x", None, SnapshotError, ("'x'",)),
    ("state.x", [0] * 7, SnapshotError, ("'x'", "(7,)", "allowed")),
    ("state.x", [[0] * 8], SnapshotError, ("'x'", "(1, 8)", "allowed")),
    ("state.x", Fill("a"), SnapshotError, ("'x'",)),
    ("state.x", Fill(10**30), SnapshotError, ("'x'",)),
    ("state.heading", Fill(256), SnapshotError, ("'heading'",)),
    ("state.cells", "floor", SnapshotError, ("'cells'",)),
    ("state.cells", [0], SnapshotError, ("'cells'", "(1,)", "allowed")),
    ("state.t", NAN, SnapshotError, ("'t'",)),
    ("state.t", "now", SnapshotError, ("'t'",)),
    ("state.t", 2**31, SnapshotError, ("'t'",)),
    ("state.seed", -1, SnapshotError, ("'seed'",)),
    *(
        pytest.param(path, value, SnapshotError, (path[6:],))
        for path, value in (("state.t", "3"), ("state.t", 1.5), ("state.x", Fill("1")))
    ),
    *(
        (key, GONE, SnapshotError, (key.split(".")[-1],))
        for key in ("episode", "partners", "next_config", "episode.seed", "episode.base")
    ),
    *(
        (f"episode.{key}", value, SnapshotError, (key,))
        for key in ("base", "number", "seed", "steps")
        for value in (None, "x", 1.5, "3", INF, -1, 2**64)
    ),
    ("partners", {"agent_7": {}}, SnapshotError, ("'agent_7'",)),
    pytest.param("next_config", 3, SnapshotError, ("next_config",)),
    ("next_config", {"zebra": 1}, SnapshotError, ("'zebra'",)),
    ("next_config", {"agents": 9}, EnvelopeError, ("agents 9",)),
]


@both_makers
@pytest.mark.parametrize(("path", "value", "error", "words"), SNAPSHOTS, ids=short)
def test_damaged_snapshots(
    make: Callable[..., Any],
    path: str,
    value: Any,
    error: type[PiaseError],
    words: tuple[str, ...],
) -> None:
    env = make("GridWorld", **START)
    env.reset(seed=0)
    damaged = edited(env.snapshot(), path, value)
    env.step(STAY if make is gym_env else dict.fromkeys(env.agents, STAY))
    assert_untouched(env, lambda: refuse(error, words, lambda: env.restore(damaged)))


@pytest.mark.parametrize(
    ("here", "there", "word"),
    [
        ({}, {"envelope": {"width": 20}}, "envelope"),
        ({"envelope": {"width": 20}}, {}, "envelope"),
        ({}, {"agents": 9}, "agent_0, agent_1"),
    ],
    ids=short,
)
def test_snapshots_of_another_envelope(
    here: dict[str, Any], there: dict[str, Any], word: str
) -> None:
    env, other = fresh(**here), fresh(**there)
    snapshot = json.loads(json.dumps(other.snapshot()))
    assert_untouched(env, lambda: refuse(PiaseError, (word,), lambda: env.restore(snapshot)))


# Values out of range can make kernels write where they should not: each case has a process.
RANGES: list[tuple[str, Any]] = [
    *(("x", value) for value in (-1, 8, 100, 10**6)),
    *(("width", value) for value in (-1, 0, 9, 500)),
    *(("agents", value) for value in (-1, 0, 3, 100)),
    *(("num_goals", value) for value in (-1, 17, 1000)),
    ("heading", 9),
    ("carry", 200),
    ("alive", 2),
    ("t", -5),
    ("goals", 99),
    *(("cells", value) for value in (40, 255)),
]
IN_A_CHILD = """
import json, os, sys, warnings
from piase_gym.errors import SnapshotError
from piase_gym.faces.parallel import parallel_env
start, cases = json.load(sys.stdin)
warnings.simplefilter("ignore")
env = parallel_env("GridWorld", **start)
env.reset(seed=0)
env.restore(env.snapshot())
for name, value in cases:
    child = os.fork()
    if not child:
        code = 3
        try:
            snapshot, digest = env.snapshot(), env.digest()
            fill = lambda old: [fill(item) for item in old] if isinstance(old, list) else value
            snapshot["state"][name] = fill(snapshot["state"][name])
            try:
                env.restore(snapshot)
                code = 2
            except SnapshotError as error:
                code = 0 if repr(name) in str(error) and env.digest() == digest else 4
        finally:
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
MEANINGS = {2: "accepted", 3: "another exception", 4: "a message without the field, or a change"}


def run(code: str, **options: Any) -> str:
    """Run Python code in a process of its own and return what it printed."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        **options,
    )
    return done.stdout


@pytest.fixture(scope="module")
def range_results() -> list[str]:
    """Return what became of each case of RANGES."""
    codes = run(IN_A_CHILD, input=json.dumps([START, RANGES])).split()
    return [MEANINGS.get(int(c), f"the process died: {c}") if c != "0" else "" for c in codes]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("case", range(len(RANGES)), ids=lambda case: short(RANGES[case]))
def test_snapshots_with_values_out_of_range(range_results: list[str], case: int) -> None:
    assert range_results[case] == ""


# -- missing parts ------------------------------------------------------------------------


@pytest.mark.parametrize("make", [parallel_env, aec_env, gym_env])
def test_a_missing_extra_is_one_line(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    words = ("render_mode='human'", "pip install 'piase-gym[video]'")
    refuse(MissingExtraError, words, lambda: make("GridWorld", render_mode="human"))
    with pytest.raises(ImportError, match=r"\A[^\n]+\Z"):
        make("GridWorld", render_mode="human")
    make("GridWorld", render_mode="ansi").close()


def test_worlds_work_where_compiled_code_cannot_be_cached() -> None:
    # What numba does in a read-only container, seen in a kernel small enough to compile here.
    printed = run(
        """
        import numpy as np
        from numba.core.dispatcher import Dispatcher
        import piase_gym.kernels as kernels

        def enable_caching(self):
            raise RuntimeError("cannot cache function: no locator available")

        Dispatcher.enable_caching = enable_caching

        def twice(x):
            return x + x

        kernels.inspect.getfile = lambda function: kernels.__file__
        compiled = kernels.kernel(twice)
        print(compiled(21), type(compiled._cache).__name__)
        """
    )
    assert printed.split() == ["42", "NullCache"]
