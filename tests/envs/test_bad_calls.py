"""Wrong seeds, changes and orders of calls: one clear error each, which leaves all as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from piase_gym.envs.aec import aec_env
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import GymEnv, gym_env
from piase_gym.errors import (
    AgentError,
    ClosedError,
    ConfigError,
    EnvelopeError,
    GenerationError,
    PiaseError,
    ResetNeededError,
    UnsupportedError,
)
from tests.helpers.bad_input import (
    NAN,
    RIGHT,
    START,
    STAY,
    assert_untouched,
    both_makers,
    refuse,
    short,
)
from tests.helpers.needs import each

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
    for made in (env, twin):
        made.reset(seed=5)
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
    assert env.runner.seed == int(seed)
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


@pytest.mark.parametrize("names", [("max_steps", "max_cycles"), ("max_cycles", "max_steps")])
def test_two_limits_are_named_as_they_were_given(names: tuple[str, str]) -> None:
    one, other = names
    with pytest.raises(ConfigError, match=f"'{one}' and '{other}' set the same"):
        gymnasium.make("piase_gym:piase/GridWorld-v1", max_episode_steps=7, **{one: 5, other: 6})


def test_max_cycles_of_an_id_that_sets_max_steps() -> None:
    assert parallel_env("piase/GridWorld-DoorKey-8x8-v1", max_cycles=5).max_cycles == 5


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


@pytest.mark.parametrize("make", [parallel_env, gym_env])
def test_plans_before_the_first_reset(make: Callable[..., Any]) -> None:
    env = make("Household")
    refuse(ResetNeededError, ("Household", "reset()"), lambda: env.expert_plan("agent_0"))
    env.reset(seed=0)
    assert env.expert_plan("agent_0")


@pytest.mark.parametrize(
    "name",
    each(("GridWorld", "piase/GridWorld-DoorKey-8x8-v1", "SqlQuery", "TextRoom", "WordCraft")),
)
def test_a_plan_is_a_list_of_lines_that_win(name: str) -> None:
    env = parallel_env(name, actions="text")
    env.reset(seed=0)
    for line in env.expert_plan("agent_0"):
        *_, infos = env.step({"agent_0": line})
    assert infos["agent_0"]["result"] == "won"


@pytest.mark.parametrize("config", [{"frame": "agent"}, {"movers": 1}])
def test_where_plans_do_not_last_there_are_none(config: dict[str, Any]) -> None:
    env = parallel_env("GridWorld", **config)
    env.reset(seed=0)
    refuse(UnsupportedError, ("GridWorld", "config"), lambda: env.expert_plan("agent_0"))


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
def test_the_aec_env_before_the_first_reset(call: str) -> None:
    env = aec_env("GridWorld", render_mode="ansi")
    arguments: dict[str, tuple[Any, ...]] = {"step": (STAY,), "observe": ("agent_0",)}
    refuse(ResetNeededError, ("reset",), lambda: getattr(env, call)(*arguments.get(call, ())))


@pytest.mark.parametrize(
    "method",
    ["action_space", "observation_space", pytest.param("observe")],
)
def test_the_aec_env_asked_about_an_unknown_agent(method: str) -> None:
    env = aec_env("GridWorld", **START)
    env.reset(seed=0)
    refuse(AgentError, ("'agent_7'", "agent_0, agent_1"), lambda: getattr(env, method)("agent_7"))


def test_the_aec_env_after_close() -> None:
    env = aec_env("GridWorld")
    env.reset(seed=0)
    env.close()
    env.close()
    refuse(ClosedError, ("closed",), env.reset)
    refuse(ClosedError, ("closed",), lambda: env.step(STAY))
