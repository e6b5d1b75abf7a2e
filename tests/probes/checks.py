"""What both probes are held to, as functions of a world's name and config."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.commands import Command, Outcome
from piase_gym.faces.parallel import WorldParallelEnv, parallel_env
from piase_gym.rng import Stream

Config = Mapping[str, Any]


def choose(env: WorldParallelEnv, infos: Mapping[str, Any], dice: Stream) -> dict[str, int]:
    """Draw an action for everyone; one in eight ignores the mask."""
    actions = {}
    for name in env.agents:
        legal = infos[name]["action_mask"].nonzero()[0].tolist() if name in infos else [0]
        anything = list(range(env.world.num_actions))
        options = anything if dice.integer(8) == 0 else legal
        actions[name] = options[dice.integer(len(options))]
    return actions


def play(env: WorldParallelEnv, seed: int, steps: int = 200) -> Iterator[tuple[Any, ...]]:
    """Play an episode at random, with hints now and then; yield what each step returned."""
    dice = Stream(seed, 99)
    _, infos = env.reset(seed=seed)
    for step in range(steps):
        if not env.agents:
            return
        if step % 5 == 3:
            env.give_hint(env.agents[0], f"hint {step}: clé \\ \n!")
        given = choose(env, infos, dice)
        found = env.step(given)
        infos = found[-1]
        yield (given, *found)


def trace(env: WorldParallelEnv, seed: int) -> list[Any]:
    """Return everything observable of an episode, in comparable form."""
    rows = []
    for given, shown, *rest in play(env, seed):
        views = {name: (view["text"], view["vector"].tolist()) for name, view in shown.items()}
        infos = {name: {k: str(v) for k, v in info.items()} for name, info in rest[-1].items()}
        rows.append((given, views, *rest[:-1], infos, env.digest(), env.state().tolist()))
    return rows


def check_determinism(name: str, config: Config) -> None:
    first, second = parallel_env(name, **config), parallel_env(name, **config)
    for seed in (0, 1, 2):
        assert trace(first, seed) == trace(second, seed)
    assert trace(first, 1) != trace(first, 2)


def future(env: WorldParallelEnv, dice: Stream) -> list[Any]:
    """Return digests and texts of the rest of an episode."""
    rows = []
    while env.agents:
        masks = env.world.masks()
        infos = {env.world.agents[i]: {"action_mask": mask} for i, mask in enumerate(masks)}
        env.step(choose(env, infos, dice))
        texts = [env.world.text(env.world.facts(i)) for i in range(len(masks))]
        rows.append((env.digest(), texts, list(env.agents)))
    return rows


def check_snapshot(name: str, config: Config) -> None:
    """A snapshot through JSON, into a fresh env and a stepped one, has the same future."""
    for seed in range(4):
        env = parallel_env(name, **config)
        for _ in zip(range(3 + seed), play(env, seed), strict=False):
            pass
        saved = json.loads(json.dumps(env.snapshot()))
        fresh, stepped = parallel_env(name, **config), parallel_env(name, **config)
        for _ in zip(range(6), play(stepped, 77), strict=False):
            pass
        expected = None
        for other in (fresh, stepped, env):
            other.restore(saved)
            assert other.snapshot() == saved
            seen = future(other, Stream(seed, 5))
            expected = expected or seen
            assert seen == expected


def check_world_copies(name: str, config: Config) -> None:
    """A world copied or pickled mid-episode has the same future and shares nothing."""
    env = parallel_env(name, **config)
    for _ in zip(range(4), play(env, 3), strict=False):
        pass
    before = env.digest()
    for twin in (copy.deepcopy(env.world), pickle.loads(pickle.dumps(env.world))):
        assert twin.digest() == before
        acts: list[Any] = [twin.noop if alive else None for alive in twin.alive]
        twin.step(acts)
        assert env.digest() == before
        reference = copy.deepcopy(env.world)
        reference.step(acts)
        assert twin.digest() == reference.digest()


def check_env_copies(name: str, config: Config) -> None:
    """So does a whole environment."""
    env = parallel_env(name, **config)
    for _ in zip(range(4), play(env, 3), strict=False):
        pass
    saved = env.snapshot()
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        seen = future(twin, Stream(3, 5))
        assert env.snapshot() == saved
        env.restore(saved)
        assert future(env, Stream(3, 5)) == seen
        env.restore(saved)


def check_views(name: str, config: Config) -> None:
    """Texts read back into the facts; facts give the vectors; views are in their spaces."""
    env = parallel_env(name, **config)
    for seed in range(3):
        for _, shown, *_ in play(env, seed, 40):
            world = env.world
            assert env.state_space.contains(env.state())
            for agent, view in shown.items():
                assert env.observation_space(agent).contains(dict(view))
                facts = piase_gym.parse_text(name, view["text"], env.config)
                assert facts == env.facts(agent)
                np.testing.assert_array_equal(world.vector(facts), view["vector"])


def check_masks(name: str, config: Config) -> None:
    """An index is illegal exactly if its mask is 0, and stands for an admissible command."""
    env = parallel_env(name, **config)
    for _ in zip(range(12), play(env, 8), strict=False):
        world = env.world
        for agent, alive in enumerate(world.alive):
            if not alive:
                assert not world.masks()[agent].any()
                assert world.admissible(agent) == []
                continue
            legal = world.admissible(agent)
            assert int(world.masks()[agent].sum()) == len(legal)
            for index, bit in enumerate(world.masks()[agent]):
                twin = copy.deepcopy(world)
                acts: list[Any] = [None] * len(world.agents)
                acts[agent] = index
                outcome = twin.step(acts).outcomes[agent]
                assert (outcome is Outcome.ILLEGAL) == (bit == 0)
                if bit:
                    assert world.command(agent, index) in legal


def check_faces_agree(name: str, config: Config) -> None:
    """Indices and the lines that stand for them give the same states."""
    by_index = parallel_env(name, **config)
    by_text = parallel_env(name, actions="text", **config)
    dice = Stream(4, 1)
    _, infos = by_index.reset(seed=4)
    by_text.reset(seed=4)
    while by_index.agents:
        world = by_index.world
        given = choose(by_index, infos, dice)
        lines = {}
        for agent in given:
            number = world.agents.index(agent)
            if not world.masks()[number][given[agent]]:
                given[agent] = 0
            command = world.command(number, given[agent])
            assert isinstance(command, Command)
            lines[agent] = world.write(command)
            assert by_text.world.read(number, lines[agent]) == command
        infos = by_index.step(given)[-1]
        by_text.step(lines)
        assert by_index.digest() == by_text.digest()
        assert by_index.agents == by_text.agents


def check_bad_indices(name: str, config: Config) -> None:
    """What is no index is refused, and nothing has happened, whoever is in play."""
    env = parallel_env(name, **config)
    count = env.world.num_actions
    for _ in zip(range(4), play(env, 3), strict=False):
        before = env.digest()
        for bad in (-1, count, 1.5, "0", [0]):
            for last in env.agents:
                with pytest.raises(piase_gym.errors.ActionError, match=last):
                    env.step({agent: bad if agent == last else 0 for agent in env.agents})
                assert env.digest() == before


def check_damage(name: str, config: Config, **larger: Any) -> None:
    """Damaged states are refused, and the world is as before."""
    env, other = parallel_env(name, **config), parallel_env(name, **{**config, **larger})
    env.reset(seed=1)
    other.reset(seed=1)
    before, good = env.digest(), env.world.get_state()
    bad: list[Any] = [{}, other.world.get_state(), *({**good, key: None} for key in good)]
    bad += [{**good, key: {**good[key], "t": "x"}} for key in good if "t" in good[key]]
    for state in bad:
        with pytest.raises(piase_gym.errors.SnapshotError):
            env.world.set_state(state)
        assert env.digest() == before
