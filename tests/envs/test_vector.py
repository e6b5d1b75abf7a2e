"""Vector environments: resets, infos and misuse are the same with a kernel and without one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym.agents.simple import NoopAgent
from piase_gym.errors import ActionError, ClosedError, ConfigError, EnvelopeError, ResetNeededError
from piase_gym.testing.values import arrays_in
from tests.helpers.bad_input import refuse, short

KERNEL, SINGLES = "piase/GridWorld-Empty-5x5-v1", "piase/TextRoom-LostKey-v3"
both_kinds = pytest.mark.parametrize("task", [KERNEL, SINGLES], ids=["kernel", "singles"])


def vector(task: str, **options: Any) -> Any:
    """Make three environments with one learner each."""
    return gymnasium.make_vec(task, num_envs=3, **options)


def limits(env: Any) -> list[int]:
    """Return the limit of steps in each slot."""
    if hasattr(env, "batch"):
        return [env.batch.config_of(slot).max_steps for slot in range(3)]
    return [one.unwrapped.config.max_steps for one in env.envs]


@both_kinds
def test_options_of_a_reset_change_configs(task: str) -> None:
    env = vector(task)
    env.reset(seed=0, options={"config": {"max_steps": 3}})
    assert limits(env) == [3, 3, 3]
    options = {"config": {"max_steps": 4}, "reset_mask": np.array([True, False, False])}
    infos = env.reset(options=options)[1]
    assert infos["_seed"].tolist() == [True, False, False]  # those whose episodes begin
    assert limits(env) == [4, 3, 3]
    assert list(options) == ["config", "reset_mask"]
    refuse(ConfigError, ("'max_stepz'",), lambda: env.reset(options={"config": {"max_stepz": 1}}))
    changes = {"config": {"agent_ids": ["a"]}}
    refuse(EnvelopeError, ("fix the spaces",), lambda: env.reset(options=changes))
    refuse(ConfigError, ("seed",), lambda: env.reset(seed=-1, options={"config": {"max_steps": 9}}))
    env.reset()
    assert limits(env) == [4, 3, 3]
    with pytest.warns(UserWarning, match=r"'speed' is unknown and ignored; known: config"):
        env.reset(options={"speed": 2})
    refuse(ConfigError, ("mapping", "list"), lambda: env.reset(options=["config"]))


def test_a_config_that_comes_again_is_not_kept_twice() -> None:
    env = vector(KERNEL)
    for steps in (3, 4, 3, 4):
        env.reset(seed=0, options={"config": {"max_steps": steps}})
    assert [config.max_steps for config in env.batch.configs] == [100, 3, 4]
    for steps in (3, 4, 3):
        env.batch.modify({"max_steps": steps})
        env.batch.reconfigure({"max_steps": steps})
    assert [config.max_steps for config in env.batch.configs] == [100, 3, 4]


@both_kinds
@pytest.mark.parametrize("seed", [3, np.int64(3), [3, 4, 5], (3, 4, 5), np.array([3, 4, 5])])
def test_seeds_of_slots(task: str, seed: Any) -> None:
    env = vector(task)
    assert env.reset(seed=seed)[1]["seed"].tolist() == [3, 4, 5]
    if np.ndim(seed) == 0:
        one = vector(task)
        one.reset(seed=3)
        assert env.np_random_seed == one.np_random_seed


@both_kinds
@pytest.mark.parametrize("seed", [True, -1, 1.0, "3", [1, 2], 2**63], ids=short)
def test_wrong_seeds_of_slots(task: str, seed: Any) -> None:
    env = vector(task)
    refuse(ConfigError, ("seed",), lambda: env.reset(seed=seed))


@both_kinds
@pytest.mark.parametrize("mask", [[1, 0, 0], [True, False], "all", np.ones(3)], ids=short)
def test_wrong_masks_of_a_reset(task: str, mask: Any) -> None:
    env = vector(task)
    env.reset(seed=0)
    refuse(ConfigError, ("reset_mask", "3 bools"), lambda: env.reset(options={"reset_mask": mask}))
    env.reset(options={"reset_mask": [True, False, False]})


@both_kinds
@pytest.mark.parametrize(
    "actions",
    [[0, 0, 999], [0, 0, -1], [0, 0], [0] * 4, 0, None, "abc", {0: 0, 1: 0, 2: 0}, np.zeros(3),
     np.zeros(3, bool), np.array(0)],
    ids=short,
)  # fmt: skip
def test_wrong_actions_of_slots(task: str, actions: Any) -> None:
    env, twin = vector(task), vector(task)
    for each in (env, twin):
        each.reset(seed=0)
    refuse(ActionError, ("actions are",), lambda: env.step(actions))
    assert [str(part) for part in env.step([0, 0, 0])] == [
        str(part) for part in twin.step([0, 0, 0])
    ]


@pytest.mark.parametrize("actions", [["look", "look"], "abc", 3, None], ids=short)
def test_wrong_lines_of_slots(actions: Any) -> None:
    env = vector(SINGLES, view="text", actions="text")
    env.reset(seed=0)
    refuse(ActionError, ("one for each of 3 slots",), lambda: env.step(actions))
    env.step(["look", "look", "what?"])


@both_kinds
@pytest.mark.parametrize(
    "question",
    [
        lambda env: env.step([0, 0, 0]),
        lambda env: env.action_masks(),
        lambda env: env.render(),
    ],
    ids=["step", "action_masks", "render"],
)
def test_questions_to_slots(task: str, question: Callable[[Any], Any]) -> None:
    env = vector(task, render_mode="ansi")
    refuse(ResetNeededError, ("reset",), lambda: question(env))
    env.reset(seed=0)
    question(env)
    env.close()
    refuse(ClosedError, ("closed",), lambda: question(env))


@both_kinds
def test_masks_of_slots_are_those_of_the_infos(task: str) -> None:
    env = vector(task)
    _, infos = env.reset(seed=0)
    assert env.action_masks().dtype == np.bool_
    assert np.array_equal(env.action_masks(), infos["action_mask"])


@both_kinds
def test_masks_allow_something_where_an_episode_is_over(task: str) -> None:
    """Under NEXT_STEP learners draw an action from them for the step that resets."""
    env = vector(task, max_steps=1)
    env.reset(seed=0)
    infos = env.step([0, 0, 0])[-1]
    assert infos["action_mask"].any(axis=1).all()
    assert np.array_equal(env.action_masks(), infos["action_mask"])
    assert env.step(env.action_masks().argmax(axis=1))[-1]["_seed"].all()


@both_kinds
@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_arrays_of_a_step_are_fresh(task: str, mode: str) -> None:
    env = vector(task, autoreset_mode=mode, mask="obs", max_steps=2)
    found = [env.reset(seed=0), *(env.step([0, 0, 0]) for _ in range(4))]
    arrays = [array for _, array in arrays_in(found)]
    assert not [
        1 for k, one in enumerate(arrays) for two in arrays[:k] if np.shares_memory(one, two)
    ]


@pytest.mark.parametrize("view", ["text", "both"])
def test_texts_do_not_pass_through_shared_memory(view: str) -> None:
    processes: dict[str, Any] = {"vectorization_mode": "async", "view": view}
    with pytest.raises(ConfigError, match=r"vector_kwargs={'shared_memory': False}"):
        vector(SINGLES, **processes)
    one = vector(SINGLES, view=view)
    other = vector(SINGLES, **processes, vector_kwargs={"shared_memory": False})
    assert str(one.reset(seed=0)[0]) == str(other.reset(seed=0)[0])
    assert str(one.step([0, 0, 0])[0]) == str(other.step(np.zeros(3, int))[0])
    other.close()


def test_an_episode_that_is_over_waits_for_its_reset() -> None:
    env = vector(SINGLES, autoreset_mode="disabled", max_steps=1)
    env.reset(seed=0)
    env.step([0, 0, 0])
    env.reset(options={"reset_mask": np.array([True, False, True])})
    refuse(ResetNeededError, ("slot 1", "over"), lambda: env.step([0, 0, 0]))


def test_nothing_happens_in_slots_of_array_worlds_that_are_over() -> None:
    env = vector(KERNEL, autoreset_mode="disabled", max_steps=1)
    env.reset(seed=0)
    env.step([0, 0, 0])
    before = env.batch.digests()
    env.reset(options={"reset_mask": np.array([True, False, True])})
    _, rewards, terminated, truncated, infos = env.step([0, 0, 0])
    assert env.batch.digests()[1] == before[1]
    assert truncated.tolist() == infos["_outcome"].tolist() == [True, False, True]
    assert not terminated.any()
    assert rewards[1] == 0.0
    assert "seed" not in infos


@both_kinds
def test_slots_have_no_windows(task: str) -> None:
    words = ("render_mode 'human'", "'ansi', 'rgb_array'")
    refuse(ConfigError, words, lambda: vector(task, render_mode="human"))


def test_pictures_of_slots_have_one_size() -> None:
    env = vector("piase/TextRoom-v3", render_mode="rgb_array", max_steps=1)
    env.reset(seed=0)
    drawn = [one.unwrapped.render() for one in env.envs]
    assert len({picture.shape for picture in drawn}) > 1
    sizes = [picture.shape for _ in range(4) for picture in env.render() if env.step([0, 0, 0])]
    assert set(sizes) == {tuple(np.max([picture.shape for picture in drawn], axis=0))}


@both_kinds
@pytest.mark.parametrize("infos", ["full", "mask", "none"])
def test_what_infos_tell_of_last_steps(task: str, infos: str) -> None:
    many = vector(task, autoreset_mode="same_step", infos=infos, max_steps=2)
    one = gymnasium.make(task, infos=infos, max_steps=2)
    many.reset(seed=0)
    one.reset(seed=0)
    assert "final_info" not in many.step([1, 1, 1])[-1]
    one.step(1)
    told, alone = many.step([1, 1, 1])[-1], one.step(1)[-1]
    assert told["_final_info"].all()
    final = told["final_info"]
    assert alone.keys() <= final.keys() | {"feedback"}
    if infos == "full":
        assert final["result"].tolist() == ["lost"] * 3
        assert final["_result"].all()
    if infos != "none":
        assert np.array_equal(final["action_mask"][0], alone["action_mask"])


@pytest.mark.parametrize(
    "question",
    [
        lambda batch, slot: batch.single(slot),
        lambda batch, slot: batch.text(slot, "agent_0"),
        lambda batch, slot: batch.facts(slot, "agent_0"),
        lambda batch, slot: batch.draw(slot),
        lambda batch, slot: batch.give_hint(slot, "agent_0", "up"),
    ],
    ids=["single", "text", "facts", "draw", "give_hint"],
)
def test_questions_about_one_slot(question: Callable[[Any, Any], Any]) -> None:
    batch = piase_gym.batch_env("GridWorld", num_envs=2)
    batch.reset(seed=0, which=[0])
    question(batch, 0)
    refuse(ResetNeededError, ("slot 1 was never reset",), lambda: question(batch, 1))
    for slot in (2, -1, "0", 0.0):
        refuse(ConfigError, ("slots",), lambda slot=slot: question(batch, slot))
    for call in (batch.masks, batch.state):
        refuse(ResetNeededError, ("slot 1 was never reset",), call)
    refuse(ConfigError, ("slots",), lambda: batch.set_next_seed(2, 0))
    refuse(ConfigError, ("render_mode 'human'",), lambda: batch.draw(0, "human"))


@pytest.mark.parametrize("changes", [{"agent_ids": ["a"]}, {"envelope": {"width": 9}}], ids=short)
def test_what_fixes_the_spaces_stays(changes: dict[str, Any]) -> None:
    batch = piase_gym.batch_env("GridWorld", num_envs=2)
    env = piase_gym.parallel_env("GridWorld")
    for call in (batch.reconfigure, batch.modify, env.reconfigure, env.modify):
        refuse(EnvelopeError, ("fix the spaces",), lambda call=call: call(changes))


@both_kinds
def test_a_vector_is_made_again_from_its_spec(task: str) -> None:
    env = vector(task, max_steps=5)
    for spec in (env.spec, gymnasium.make(task, max_cycles=5).spec):
        again: Any = gymnasium.make_vec(spec, num_envs=3)
        again.reset(seed=0)
        assert limits(again) == [5, 5, 5]


@both_kinds
def test_vectors_are_copied_and_pickled(task: str) -> None:
    env = vector(task)
    env.reset(seed=0)
    twin = pickle.loads(pickle.dumps(env))
    assert str(twin.step([0, 0, 0])) == str(env.step([0, 0, 0]))


class Counts(NoopAgent):
    """Counts its own steps."""

    count = 0

    def act(self) -> Any:
        self.count += 1
        return super().act()


def test_every_slot_has_a_partner_of_its_own() -> None:
    env: Any = gymnasium.make_vec(SINGLES, num_envs=2, agents=2, partners=Counts())
    env.reset(seed=0)
    env.step([0, 0])
    partners = [one.unwrapped.runner.partners[1] for one in env.envs]
    assert [partner.count for partner in partners] == [1, 1]
