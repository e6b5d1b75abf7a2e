"""One game through ten envs: a recorded run of the parallel env, and how others replay it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.base import Agent, BatchPercept, Percept
from piase_gym.core.commands import Command
from piase_gym.core.models import ActionCommand
from piase_gym.envs.aec import aec_env
from piase_gym.envs.batch import batch_env
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import gym_env
from piase_gym.envs.vector import BatchVectorEnv, make_vector
from piase_gym.interfaces import (
    AbstractEnvironment,
    Action,
    BaseEnv,
    Environment,
    EnvironmentInterface,
    PerceptionInterface,
)

Rng = np.random.Generator


@dataclass
class JointAction:
    """What every agent in play did in one step, as indices and as commands."""

    indices: dict[str, int] = field(default_factory=dict)
    commands: dict[str, Command] = field(default_factory=dict)


@dataclass
class Game:
    """A run: its world, its seed, the steps, and the digest before the first and after each."""

    world: str
    config: Mapping[str, Any]
    seed: int
    steps: list[JointAction] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    rewards: list[dict[str, float]] = field(default_factory=list)
    outcomes: list[dict[str, str]] = field(default_factory=list)
    ends: list[dict[str, bool]] = field(default_factory=list)
    views: list[dict[str, Any]] = field(default_factory=list)


def record(world: str, config: Mapping[str, Any], seed: int) -> Game:
    """Play at random through the parallel environment, illegal commands included."""
    env, rng = parallel_env(world, **config), np.random.default_rng(seed)
    game = Game(world, config, seed)
    env.reset(seed=seed)
    game.digests.append(env.digest())
    while env.agents:
        acts = JointAction()
        masks = dict(zip(env.world.agents, env.world.masks(), strict=True))
        for name in env.agents:
            number = env.world.agents.index(name)
            index = int(rng.integers(env.world.num_actions))
            if not isinstance(env.world.command(number, index), Command):
                index = int(rng.choice(masks[name].nonzero()[0]))
            command = env.world.command(number, index)
            assert isinstance(command, Command)
            acts.indices[name], acts.commands[name] = index, command
        shown, rewards, terminated, truncated, infos = env.step(acts.indices)
        acted = list(acts.indices)
        game.steps.append(acts)
        game.digests.append(env.digest())
        game.rewards.append({name: rewards[name] for name in acted})
        game.outcomes.append({name: infos[name]["outcome"].value for name in acted})
        game.views.append({name: shown[name] for name in acted})
        game.ends.append({name: terminated[name] or truncated[name] for name in acted})
    return game


class Scripted(Agent):
    """A partner that does what was recorded."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.game = game

    def act(self) -> Command:
        assert isinstance(self.percept, Percept)
        return self.game.steps[self.percept.step].commands[self.percept.agent]

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        rows = [self.game.steps[step].indices for step in batch.steps.tolist()]
        return np.array([row.get(self.get_id(), 0) for row in rows])


def partners_of(game: Game) -> dict[str, Agent]:
    """Return scripted partners for all but the first agent."""
    with_names = parallel_env(game.world, **game.config)
    return {name: Scripted(game) for name in with_names.possible_agents[1:]}


def model(command: Command) -> ActionCommand:
    """Return a command as the seeds write it."""
    return ActionCommand(action_type=command.verb, parameters=dict(command.parameters))


# -- the ten environments: each yields the digest of every moment it comes to
# -------------------------


def by_parallel(game: Game, rng: Rng) -> Iterator[str]:
    """Lines of text instead of indices."""
    env = parallel_env(game.world, actions="text", view="text", **game.config)
    env.reset(seed=game.seed)
    yield env.digest()
    for acts in game.steps:
        env.step({name: env.world.write(command) for name, command in acts.commands.items()})
        yield env.digest()


def by_aec(game: Game, rng: Rng) -> Iterator[str]:
    env = aec_env(game.world, **game.config)
    env.reset(seed=game.seed)
    yield env.unwrapped.world.digest()
    for acts in game.steps:
        for _ in acts.indices:
            while env.terminations[env.agent_selection] or env.truncations[env.agent_selection]:
                env.step(None)
            env.step(acts.indices[env.agent_selection])
        yield env.unwrapped.world.digest()


def by_gym(game: Game, rng: Rng) -> Iterator[str]:
    env = gym_env(game.world, partners=partners_of(game), **game.config)
    env.reset(seed=game.seed)
    yield env.digest()
    for acts in game.steps:
        _, _, terminated, truncated, _ = env.step(acts.indices[env.agent])
        yield env.digest()
        if terminated or truncated:
            return


def by_vector(game: Game, rng: Rng) -> Iterator[str]:
    env: Any = make_vector(game.world, num_envs=1, partners=partners_of(game), **game.config)

    def digest() -> str:
        if isinstance(env, BatchVectorEnv):
            return env.batch.digests()[0]
        return str(env.envs[0].digest())

    env.reset(seed=game.seed)
    yield digest()
    focal = next(iter(game.steps[0].indices))
    for acts in game.steps:
        _, _, terminated, truncated, _ = env.step(np.array([acts.indices[focal]]))
        yield digest()
        if terminated[0] or truncated[0]:
            return


def by_batch(game: Game, rng: Rng) -> Iterator[str]:
    env = batch_env(game.world, num_envs=1, autoreset="disabled", **game.config)
    env.reset(seed=game.seed)
    yield env.digests()[0]
    for acts in game.steps:
        env.step(np.array([[acts.indices.get(name, 0) for name in env.agents]]))
        yield env.digests()[0]


def shuffled(acts: JointAction, rng: Rng) -> list[tuple[str, Command]]:
    """Return who does what, in any order."""
    pairs = list(acts.commands.items())
    rng.shuffle(pairs)
    return pairs


def by_environment(game: Game, rng: Rng) -> Iterator[str]:
    """With second thoughts: some submit something else first."""
    env = Environment(game.world, **game.config)
    env.reset(seed=game.seed)
    yield env.digest()
    for number, acts in enumerate(game.steps):
        pairs = shuffled(acts, rng)
        assert sorted(env.agents) == sorted(acts.commands)
        for name, _ in pairs[:-1]:
            if rng.random() < 0.3:
                env.step(name, model(env.world.noop))
        for name, command in pairs:
            before = env.digest()
            result = env.step(name, model(command))
            if name != pairs[-1][0]:
                assert result.status == "in_progress"
                assert env.digest() == before
        for name in acts.commands:
            seen = env.get_observation(name)
            check_result(game, number, name, seen.last_action_result)
            view = game.views[number][name]
            assert seen.visible_text == view["text"]
            assert np.array_equal(seen.sensor_data["vector"], view["vector"])
            assert env.is_done(name) == game.ends[number][name]
        yield env.digest()


def by_abstract(game: Game, rng: Rng) -> Iterator[str]:
    """Who does nothing submits nothing; `step` closes every time step, twice."""
    env = AbstractEnvironment(game.world, **game.config)
    env.reset_environment({"seed": game.seed})
    yield env.digest()
    for number, acts in enumerate(game.steps):
        for name, command in shuffled(acts, rng):
            if command != env.world.noop:
                env.apply_action_from_agent(name, model(command))
        env.step(number)
        env.step(number)
        for name in acts.commands:
            seen = env.get_perceptual_data_for_agent(name)
            check_result(game, number, name, seen.last_action_result)
        yield env.digest()


def by_interface(game: Game, rng: Rng) -> Iterator[str]:
    env = EnvironmentInterface(game.world, **game.config)
    env.reset(seed=game.seed)
    yield env.digest()
    for number, acts in enumerate(game.steps):
        for name, command in shuffled(acts, rng):
            env.submit_action(name, model(command).model_dump())
        for name in acts.commands:
            check_result(game, number, name, env.get_perceptions(name)["last_action_result"])
        yield env.digest()


def by_perception(game: Game, rng: Rng) -> Iterator[str]:
    """Verbs with parameters and whole lines, mixed."""
    env = PerceptionInterface(game.world, **game.config)
    env.reset(seed=game.seed)
    yield env.digest()
    for number, acts in enumerate(game.steps):
        for name, command in shuffled(acts, rng):
            if rng.random() < 0.5:
                env.execute_action(name, env.world.write(command))
            else:
                env.execute_action(name, command.verb, dict(command.parameters))
        for name in acts.commands:
            check_result(game, number, name, env.get_agent_state(name)["last_action_result"])
        yield env.digest()


def by_base_env(game: Game, rng: Rng) -> Iterator[str]:
    env = BaseEnv(game.world, partners=partners_of(game), **game.config)
    env.reset(seed=game.seed)
    yield env.digest()
    for number, acts in enumerate(game.steps):
        line = env.world.write(acts.commands[env.agent])
        _, reward, done, info = env.step(Action(text=line))
        assert reward == game.rewards[number][env.agent]
        assert info["outcome"] == game.outcomes[number][env.agent]
        assert done == game.ends[number][env.agent]
        yield env.digest()
        if done:
            return


def check_result(game: Game, number: int, name: str, result: Any) -> None:
    """A result says what the parallel environment said."""
    assert result["details"]["outcome"] == game.outcomes[number][name]
    assert result["rewards_obtained"]["reward"] == game.rewards[number][name]
    ended = result["details"]["terminated"] or result["details"]["truncated"]
    assert ended == game.ends[number][name]


KINDS = {
    "parallel": by_parallel,
    "aec": by_aec,
    "gym": by_gym,
    "vector": by_vector,
    "batch": by_batch,
    "Environment": by_environment,
    "AbstractEnvironment": by_abstract,
    "EnvironmentInterface": by_interface,
    "PerceptionInterface": by_perception,
    "BaseEnv": by_base_env,
}
FOCAL = ("gym", "vector", "BaseEnv")
"""Environments whose episode ends when the first agent's does."""
