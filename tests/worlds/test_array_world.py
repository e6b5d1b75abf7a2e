"""What all array worlds share, beside what the kit and the sweeps ask of each."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.compiled.stepping import ABSENT
from piase_gym.core.commands import Command, Outcome
from piase_gym.errors import ActionError


@pytest.mark.parametrize("name", ["GridWorld", "SocialDilemma", "ObjectSearch", "WordCraft"])
def test_what_a_kernel_writes_into_lives_until_it_has_written(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels have addresses alone, so nothing else keeps the outputs of a trial level alive."""
    world: Any = piase_gym.parallel_env(name).world
    kernels, new_outputs, made, calls = world.kernels, world._new_outputs, list[Any](), list[bool]()

    def remember(one: Any) -> Any:
        found = new_outputs(one)
        made.extend(weakref.ref(array) for array in found)
        return found

    def reset(*arguments: Any) -> Any:
        calls.append(bool(made) and all(array() is not None for array in made))
        return kernels.reset_one(*arguments)

    monkeypatch.setattr(world, "_new_outputs", remember)
    monkeypatch.setattr(world, "kernels_for", lambda tables: kernels._replace(reset_one=reset))
    assert world.make_level(world.new_single(world.config), 0) == 0
    assert calls == [True]


@pytest.mark.parametrize("name", ["GridWorld", "SocialDilemma", "ObjectSearch", "WordCraft"])
def test_hints_are_in_vectors_until_the_next_episode(name: str) -> None:
    """Kernels write what follows from the facts, in batches too."""
    env = piase_gym.parallel_env(name, agents=2)
    batch = piase_gym.batch_env(name, num_envs=1, agents=2)
    for seed in (1, 2):
        env.reset(seed=seed)
        seen = [batch.reset(seed=seed)[0][0].copy()]
        hinted = [env.world.vector(env.facts(agent)) for agent in env.agents]
        assert np.array_equal(seen[0], hinted)
        env.give_hint("agent_1", "look")
        batch.give_hint(0, "agent_1", "look")
        told = env.world.vector(env.facts("agent_1"))
        assert not np.array_equal(told, hinted[1])
        assert np.array_equal(env.world.vectors()[1], told)
        assert np.array_equal(batch.batch.obs[0, 1], told)


def test_milestones_are_told_of_the_step_that_reached_them_and_of_no_other() -> None:
    """Both rounds have the same acts, events and rewards; milestones are reached once."""
    world = piase_gym.parallel_env("SocialDilemma", game="prisoners_dilemma").world
    for seed in (0, 1):  # what is known of a step outlives the episode
        world.reset(seed=seed)
        told = []
        for _ in range(2):
            world.step([0, 0])
            told.append([step and step.milestones for step in world.last_steps()])
        assert told == [[("chose silent", "all chose silent")] * 2, [()] * 2], seed


@pytest.mark.parametrize("name", ["GridWorld", "WordCraft"])
def test_what_was_handed_out_is_not_written_into_later(name: str) -> None:
    world = piase_gym.parallel_env(name).world
    world.reset(seed=0)
    kept, vectors, masks = world.capture(), world.vectors(), world.masks()
    before = [row.copy() for row in (*world.vectors(kept), *vectors, *masks)]
    for act in (0, 1, 3):
        world.step([act])
    assert not np.array_equal(before[1], world.vectors()[0])
    assert name == "GridWorld" or not np.array_equal(before[2], world.masks()[0])
    assert all(map(np.array_equal, before, (*world.vectors(kept), *vectors, *masks)))


def test_codes_stand_for_commands_without_an_index_and_are_no_actions() -> None:
    """To tell an agent nothing is a command of the grammar that no index stands for."""
    fields: dict[str, Any] = {"agents": 2, "symbols": 2, "message_to": True}
    world: Any = piase_gym.parallel_env("GridWorld", **fields).world
    world.reset(seed=0)
    nothing, unknown = Command("stay", {"agent_id": "agent_1"}), Command("fly")
    for command, outcome in ((nothing, Outcome.ILLEGAL), (unknown, Outcome.UNPARSABLE)):
        code = world._code(0, command)
        assert world.step([command, 1]).outcomes[0] == outcome
        if code < 0:
            with pytest.raises(ActionError, match=f"action {code} of agent_0 is not allowed"):
                world.step([code, 1])
    with pytest.raises(ActionError, match=f"action {ABSENT} of agent_0"):
        world.step([ABSENT, 1])


def test_a_twin_is_the_same_to_one_agent_and_another_to_the_others() -> None:
    world = piase_gym.parallel_env("GridWorld", agents=2).world
    world.reset(seed=0)
    twin = world.twin(0)
    assert twin is not None
    assert [twin.facts(0), twin.hints[0]] == [world.facts(0), None]
    assert twin.hints[1] is not None
    assert twin.facts(1) != world.facts(1)
