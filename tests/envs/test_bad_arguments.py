"""Wrong names, arguments and configs, and missing parts: one clear error of our own each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import pettingzoo
import pytest

from piase_gym.envs.aec import aec_env
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import gym_env
from piase_gym.errors import (
    AgentError,
    ConfigError,
    EnvelopeError,
    GenerationError,
    MissingExtraError,
    PiaseError,
    ScenarioError,
    UnknownNameError,
)
from tests.helpers.bad_input import (
    INF,
    NAN,
    every_maker,
    make_gymnasium,
    refuse,
    run,
    short,
)

# -- names --------------------------------------------------------------------------------


@every_maker
@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("GridWrold", UnknownNameError, ("'GridWrold'", "did you mean 'GridWorld'?")),
        ("piase/GridWorld-v8", UnknownNameError, ("'piase/GridWorld-v8'", "'piase/GridWorld-v1'")),
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
    with pytest.raises(Exception, match="piase/GridWorld-v1"):
        pettingzoo.make("parallel", "piase/GridWrold-v0")


# -- arguments and configs ----------------------------------------------------------------

ARGUMENTS: list[Any] = [
    ({"difficulty": (0.75, 0.25)}, ConfigError, ("from low to high", "from 0.75 to 0.25")),
    ({"view": "vectr"}, ConfigError, ("view", "'vectr'", "'vector'?", "'both'", "'text'")),
    ({"view": None}, ConfigError, ("view", "None", "'both'")),
    ({"view": ["both"]}, ConfigError, ("view", "'both'", "'text'")),
    ({"actions": "dicrete"}, ConfigError, ("actions", "'dicrete'", "'discrete'?", "'text'")),
    ({"actions": "continuous"}, ConfigError, ("GridWorld", "continuous", "'discrete'", "'text'")),
    ({"actions": None}, ConfigError, ("actions", "None", "'discrete'")),
    ({"mask": "info"}, ConfigError, ("mask", "'info'", "None", "'obs'")),
    ({"view": "both", "texts": "lasy"}, ConfigError, ("texts", "'lasy'", "'lazy'?", "'eager'")),
    ({"view": "vector", "texts": "lazy"}, ConfigError, ("texts='lazy'", "'both'", "'vector'")),
    ({"view": "text", "texts": "lazy"}, ConfigError, ("texts='lazy'", "'both'", "'text'")),
    ({"scenario": "lost"}, ScenarioError, ("'lost'",)),
    ({"layout": "four_room"}, ConfigError, ("layout", "'four_room'", "'four_rooms'?", "'empty'")),
    ({"widht": 5}, ConfigError, ("'widht'", "'width'?", "'height'")),
    ({"rewards": {"gaol": 1}}, ConfigError, ("'rewards.gaol'", "'goal'?", "'move'")),
    ({"rewards": {"goal": NAN}}, ConfigError, ("rewards.goal", "finite", "nan")),
    ({"rewards": {"goal": -INF}}, ConfigError, ("rewards.goal", "finite", "-inf")),
    ({"rewards": 3}, ConfigError, ("rewards", "a mapping of keys", "3")),
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
    ({"border": "maybe"}, ConfigError, ("border", "true or false", "'maybe'")),
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
    ({"envelope": 3}, ConfigError, ("envelope", "a mapping of keys", "3")),
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
        from piase_gym.compiled import kernel

        def enable_caching(self):
            raise RuntimeError("cannot cache function: no locator available")

        Dispatcher.enable_caching = enable_caching

        def twice(x):
            return x + x

        compiled = kernel(twice)
        print(compiled(21), type(compiled._cache).__name__)
        """
    )
    assert printed.split() == ["42", "NullCache"]
