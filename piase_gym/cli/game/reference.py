"""What the oracle makes of a level: how few steps it needs, and what it scores."""

from __future__ import annotations

from typing import Any, NamedTuple

from piase_gym.agents import OracleAgent, Percept
from piase_gym.core.commands import Result
from piase_gym.core.world import World
from piase_gym.envs.partners import to_act
from piase_gym.envs.single import GymEnv
from piase_gym.errors import PiaseError
from piase_gym.registry import load, world_spec

PATIENCE = 500
"""Most steps of an oracle's episode that a person waits for."""


class Reference(NamedTuple):
    """An episode that the oracle played in the person's place.

    Attributes:
        won: Whether it won.
        steps: How many steps it took.
        score: The sum of its rewards.
    """

    won: bool
    steps: int
    score: float


def certificate(world: World[Any, Any], agent: int) -> int | None:
    """Return the fewest steps in which an agent can win, where the oracle certifies it."""
    spec = world_spec(world.name)
    if spec.oracle is None:
        return None
    certify = getattr(load(spec.oracle, spec)(world), "certificate", None)
    if certify is None:
        return None
    try:
        steps = certify(agent)
    except PiaseError:
        return None
    return None if steps is None else int(steps)


def play_oracle(env: GymEnv, seed: int) -> Reference | None:
    """Return what the oracle makes of a level with the same partners, or None if it cannot.

    Args:
        env: An environment like the person's; it is closed afterwards.
        seed: The level's seed.
    """
    try:
        if world_spec(env.world.name).oracle is None:
            return None
        env.reset(seed=seed)
        agent = OracleAgent(env.agent)
        agent.reset(seed)
        score = 0.0
        for step in range(PATIENCE):
            agent.perceive(Percept(env.world, env.number, step))
            act = to_act(env.world, env.number, agent.act())
            command = env.world.command(env.number, act) if isinstance(act, int) else act
            _, reward, terminated, truncated, info = env.step(command or env.world.noop)
            score += float(reward)
            if terminated or truncated:
                return Reference(info["result"] == Result.WON, step + 1, score)
        return None
    except PiaseError:
        return None
    finally:
        env.close()
