"""Demonstrations: episodes of an expert, as chats or as Minari datasets."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from piase_gym.agents.base import Percept, ask
from piase_gym.agents.policy_registry import make_agent
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.partners import post_asides
from piase_gym.errors import ConfigError
from piase_gym.runs.exports import export
from piase_gym.runs.recording import record


def demonstrate(
    world: Any,
    out: str | os.PathLike[str],
    *,
    episodes: int = 100,
    policy: str = "scripted",
    format: str = "chat",  # the word that users know
    seed: int = 0,
    overwrite: bool = False,
    **config: Any,
) -> Path | list[str]:
    """Let an expert play, and write what it saw and did.

    By default the world's script plays, which knows only what its agent may know: what an
    all-seeing planner (``policy="oracle"``) does cannot be imitated.

    Args:
        world: A world, an id, a scenario or a config.
        out: The file; for Minari the first part of the names of the datasets.
        episodes: How many episodes are played.
        policy: Who plays, for every agent.
        format: ``"chat"``, ``"minari"`` or another format of `piase_gym.runs.export`.
        seed: Of the first episode.
        overwrite: Whether what is there already may be lost.
        config: Arguments of `piase_gym.parallel_env`.

    Returns:
        What `piase_gym.runs.export` returns.
    """
    if type(episodes) is not int or episodes < 1:
        raise ConfigError(f"episodes is an integer from 1 on, not {episodes!r:.60}")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "demonstrations.jsonl"
        env = parallel_env(world, view="vector", **config)
        record(env, log)
        for number in range(episodes):
            env.reset(seed=seed if number == 0 else None)
            agents = {name: make_agent(policy) for name in env.possible_agents}
            for place, agent in enumerate(agents.values()):
                agent.reset(seed + number * len(agents) + place)
            step = 0
            while env.agents:
                places = {name: env.world.agents.index(name) for name in env.agents}
                for name, place in places.items():
                    agents[name].perceive(Percept(env.world, place, step))
                answers = ask([agents[name] for name in places])
                given = dict(zip(places, answers, strict=True))
                for name, place in places.items():
                    post_asides(agents[name], place, env.world, env.events)
                env.step(given)
                step += 1
        env.close()
        return export(log, out, format=format, overwrite=overwrite)
