"""One director for environments elsewhere: decisions fall in the order of arrivals alone."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym.curricula import DevelopmentalCurriculum
from piase_gym.curricula.central import CentralDirector, FollowingEnv
from piase_gym.curricula.slot_workers import SlotResult
from piase_gym.errors import ActionError, ClosedError, ConfigError
from tests.curricula.example_curricula import STAY, curriculum, step

PLAN = DevelopmentalCurriculum(
    name="two rooms",
    steps=[
        {
            "order": order,
            "name": f"room {order}",
            "max_interactions": 12,
            "episodes_per_attempt": 4,
            "max_attempts": 100,
            "completion_criteria": [{"metric": "success_rate", "operator": ">=", "value": wanted}],
            "environment_config_overrides": {"width": 4 + order, "height": 4 + order},
        }
        for order, wanted in ((1, 0.25), (2, 0.9))
    ],
)


def by_pickle(director: CentralDirector, slot: int) -> FollowingEnv:
    """Return a follower that shares nothing with its director, as one in another process."""

    def ask(slot: int, result: SlotResult | None) -> Any:
        return copy.copy(pickle.loads(pickle.dumps(director.next(slot, _sent(result)))))

    return FollowingEnv(pickle.loads(pickle.dumps(director.spec())), slot, ask)


def _sent(result: SlotResult | None) -> SlotResult | None:
    assert result is None or (result.observation, result.info) == (None, {}), "what is large stays"
    found: SlotResult | None = pickle.loads(pickle.dumps(result))
    return found


def play(env: FollowingEnv, dice: np.random.Generator) -> None:
    """Play an episode at random."""
    over = False
    while not over:
        legal = np.flatnonzero(env._slot_env.env.action_masks())
        _, _, terminated, truncated, _ = env.step(int(dice.choice(legal)))
        over = terminated or truncated


def run(order: Sequence[int], apart: bool, **options: Any) -> CentralDirector:
    """Play episodes that arrive in this order; all slots have begun before the first arrives."""
    director = CentralDirector("GridWorld", PLAN, slots=3, seed=7, **options)
    make = (lambda slot: by_pickle(director, slot)) if apart else director.follower
    envs = [make(slot) for slot in range(3)]
    dice = [np.random.default_rng(slot) for slot in range(3)]
    for env in envs:
        env.reset()
    for slot in order:
        play(envs[slot], dice[slot])
        envs[slot].reset()
    return director


def arrivals(seed: int) -> list[int]:
    """Return an order in which 24 episodes arrive."""
    return [int(n) for n in np.random.default_rng(seed).integers(0, 3, 24)]


@pytest.mark.parametrize("seed", [0, 1])
def test_equal_arrivals_have_equal_decisions_wherever_environments_are(seed: int) -> None:
    order = arrivals(seed)
    here, apart = (run(order, apart=apart).report() for apart in (False, True))
    assert here == apart
    assert [arrival[0] for arrival in here["arrivals"]] == order
    assert len(here["decisions"]) >= 2


def test_another_order_is_another_run() -> None:
    assert run(arrivals(0), False).report() != run(arrivals(1), False).report()


def test_staleness_is_what_fell_meanwhile_and_is_bounded() -> None:
    # The attempt is the four that begin first; slots 2 and 0 began others before it was decided.
    order = [1, 2, 0, 1, 2, 0]
    free = run(order, False)
    assert [one.staleness for one in free.arrivals] == [0, 0, 0, 0, 1, 1]
    assert all(one.counted for one in free.arrivals)
    bound = run(order, False, max_staleness=0)
    assert [one.counted for one in bound.arrivals] == [True] * 4 + [False] * 2
    assert free.decisions == bound.decisions == 1


def test_what_is_not_counted_is_followed_by_an_episode_of_the_present_step() -> None:
    passed = [{"metric": "success_rate", "operator": ">=", "value": 0.0}]
    plan = curriculum(step(1, completion_criteria=passed), step(2, config={"width": 6}))
    director = CentralDirector("GridWorld", plan, slots=2, max_staleness=0)
    envs, dice = [director.follower(slot) for slot in range(2)], np.random.default_rng(0)
    for env in envs:
        env.reset()
    for env, counted in zip(envs, (True, False), strict=True):
        play(env, dice)
        env.reset()
        assert (director.decisions, director.arrivals[-1].counted) == (1, counted)
        assert env._slot_env.env.config.width == 6


def test_a_follower_is_an_environment() -> None:
    director = CentralDirector("GridWorld", PLAN, slots=2, seed=5)
    env = director.follower(1)
    shown, info = env.reset()
    assert env.observation_space.contains(shown)
    assert info["seed"] == 6
    with pytest.raises(ActionError, match="action 99 of agent_0"):
        env.step(99)
    shown, reward, terminated, truncated, info = env.step(4)
    assert env.observation_space.contains(shown)
    assert (reward < 0, terminated, truncated) == (True, False, False)
    assert info["action_mask"].any()
    env.close()
    with pytest.raises(ClosedError):
        env.step(4)


def test_a_slot_that_begins_again_breaks_its_episode_off() -> None:
    director = CentralDirector("GridWorld", PLAN, slots=1)
    first = director.next(0)
    again = director.next(0)  # its machine has died, and another took its place
    assert again.config is not None
    assert (first.seed, again.seed) == (0, None)
    assert director.arrivals == []


def test_windows_of_steps_look_back_over_a_resumption(tmp_path: Path) -> None:
    late = {"metric": "success_rate", "window": {"env_steps": 8}}
    won = [{"metric": "late", "operator": ">=", "value": 1.0}]
    plan = curriculum(step(1, completion_criteria=won), metrics={"late": late})

    def judge(director: CentralDirector, act: int) -> Any:
        env = director.follower(0)
        env.reset()
        while not (ended := env.step(act))[2] and not ended[3]:
            pass
        env.reset()
        return director.controller.decisions[-1].values["late"]

    first = CentralDirector("GridWorld", plan, slots=1, progress=tmp_path / "p.json")
    assert [judge(first, STAY), judge(first, STAY)] == [0.0, 0.0]
    first.close()
    again = CentralDirector("GridWorld", plan, slots=1, progress=tmp_path / "p.json")
    # Of the last 8 steps, 3 are of the episode that was won; then 6 of two, and 8 of three.
    assert [judge(again, 3) for _ in range(3)] == [0.5, pytest.approx(2 / 3), 1.0]


def test_who_enters_gets_a_slot_of_its_own_or_the_one_that_is_silent_for_longest() -> None:
    director = CentralDirector("GridWorld", PLAN, slots=3)
    assert [director.enter() for _ in range(3)] == [0, 1, 2]
    director.next(0)
    director.next(2)
    assert [director.enter() for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: CentralDirector("GridWorld", PLAN, slots=2).next(2),
        lambda: CentralDirector("GridWorld", PLAN, slots=2).next(True),
        lambda: CentralDirector("GridWorld", PLAN, slots=2).next(0, SlotResult(0)),
        lambda: (d := CentralDirector("GridWorld", PLAN, slots=2)).next(
            d.next(0).slot, SlotResult(0)
        ),
        lambda: CentralDirector("GridWorld", PLAN, slots=2, max_staleness=-1),
        lambda: CentralDirector("GridWorld", PLAN, slots=0),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any) -> None:
    with pytest.raises(ConfigError):
        call()
