"""Demonstrations: episodes of an expert, as chats or as Minari datasets."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from piase_gym.agents.base import act_all
from piase_gym.agents.llm.prompt import Prompt
from piase_gym.agents.policy_registry import make_agent
from piase_gym.core.files import replacing
from piase_gym.core.rng import check_seed, episode_seed
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.partners import post_asides
from piase_gym.errors import ConfigError, LogWriteError, require_count
from piase_gym.jobs import Backend, choose_backend, run_jobs
from piase_gym.runs.chat_export import check_prompt, transcripts
from piase_gym.runs.exports import export, format_of
from piase_gym.runs.reader import read
from piase_gym.runs.recording import record
from piase_gym.runs.row_files import to_jsonl

MOST = 16
"""The largest number of episodes in a job."""


def demonstrate(
    world: Any,
    out: str | os.PathLike[str],
    *,
    episodes: int = 100,
    policy: str = "scripted",
    format: str = "chat",  # the word that users know
    seed: int = 0,
    overwrite: bool = False,
    workers: int = 1,
    ray: str | None = None,
    modules: Sequence[str] = (),
    prompt: Prompt | None = None,
    **config: Any,
) -> Path | list[str]:
    """Let an expert play, and write what it saw and did.

    By default the world's script plays, which knows only what its agent may know: what an
    all-seeing planner (``policy="oracle"``) does cannot be imitated. What is written is the
    same for any `workers` and `ray`: it does not depend on who played which episode.

    Args:
        world: A world, an id, a scenario or a config.
        out: The output file; for Minari, the first part of the dataset names.
        episodes: How many episodes are played.
        policy: The policy that plays every agent.
        format: ``"chat"``, ``"minari"`` or another format of `piase_gym.runs.export`, which is
            written from one log, by one worker.
        seed: The seed of the first episode; the others follow as after resets without a seed.
        overwrite: Whether existing output may be overwritten.
        workers: How many processes. Each begins with its imports, so a short run gains nothing.
        ray: The address of a Ray cluster, which is used instead of processes.
        modules: Modules that workers import first.
        prompt: For chats: how the players are prompted; default the world's own texts.
        config: Arguments of `piase_gym.parallel_env`; the view is ``"vector"``.

    Returns:
        What `piase_gym.runs.export` returns.

    Raises:
        ConfigError: If an argument is not allowed.
        LogWriteError: If the file or a dataset exists.
        JobError: If an episode could not be played.
        StoppedError: After Ctrl-C.
    """
    episodes = require_count("episodes is an integer from 1 on", episodes)
    if (view := config.pop("view", "vector")) != "vector":
        raise ConfigError(f"demonstrations are played with view='vector', not {view!r:.60}")
    env = parallel_env(world, view="vector", **config)  # errors appear before anybody plays
    env.close()
    make_agent(policy)
    seed, format = check_seed(seed), format_of(Path(out), format)
    check_prompt(prompt, format)
    one_log = format not in ("chat", "minari")
    if one_log and (workers != 1 or ray is not None):
        raise ConfigError(f"format={format!r} is written of one log, by workers=1")
    whole = _Part(world, config, policy, format, seed, range(episodes), prompt)
    with contextlib.closing(choose_backend(workers, ray, modules=modules)) as backend:
        size = min(MOST, -(-episodes // (4 * backend.slots())))
        starts = range(0, episodes, size)
        parts = [replace(whole, numbers=whole.numbers[n : n + size]) for n in starts]
        played = _in_order(parts, backend)
        if format != "minari":
            with replacing(Path(out), overwrite=overwrite, error=LogWriteError) as new:
                if format == "chat":
                    to_jsonl((chat for chats in played for chat in chats), new)
                else:
                    with tempfile.TemporaryDirectory() as folder:
                        export(_play(whole, folder), new, format=format, overwrite=True)
            return Path(out)
        from piase_gym.runs.minari_export import check_datasets, write_datasets

        check_datasets(env.world, os.fspath(out), env.possible_agents, overwrite)
        found: dict[str, list[Any]] = {}
        for gathered in played:
            for agent, buffers in gathered.items():
                found.setdefault(agent, []).extend(buffers)
        text = f"Episodes of {policy} in {env.world.name}, from seed {seed}."
        return write_datasets(env.world, os.fspath(out), found, text, overwrite)


@dataclass(frozen=True)
class _Part:
    """Some of the episodes: a job.

    Attributes:
        world: See `demonstrate`, also for the fields that follow.
        numbers: The numbers of the episodes.
    """

    world: Any
    config: Mapping[str, Any]
    policy: str
    format: str
    seed: int
    numbers: range
    prompt: Prompt | None = None

    def __str__(self) -> str:
        """Name the episodes."""
        return f"episodes {self.numbers.start} to {self.numbers.stop - 1} of {self.policy}"


def _in_order(parts: Sequence[_Part], backend: Backend) -> Iterator[Any]:
    """Play parts as jobs, and yield their results in order."""
    early: dict[int, tuple[int, Any]] = {}
    due = 0  # the number of the first episode that was not yielded
    for outcome in run_jobs(parts, play_part, backend, name=str):
        if outcome.error is not None:
            raise outcome.error
        numbers = outcome.job.numbers
        early[numbers.start] = numbers.stop, outcome.value
        while due in early:
            due, value = early.pop(due)
            yield value


def play_part(part: _Part) -> Any:
    """Play some episodes; return chats, or the episodes of each agent for Minari."""
    with tempfile.TemporaryDirectory() as folder:
        run = read(_play(part, folder))
        if part.format == "chat":
            return [
                {**chat, "episode": chat["episode"] + part.numbers.start}
                for chat in transcripts(run, part.prompt)
            ]
        from piase_gym.runs.minari_export import gather

        return gather(run)


def _play(part: _Part, folder: str) -> Path:
    """Play episodes, and log them in a folder; return the log."""
    log = Path(folder) / "demonstrations.jsonl"
    env = parallel_env(part.world, view="vector", **part.config)
    record(env, log)
    with contextlib.closing(env):  # completes the log
        for number in part.numbers:
            env.reset(seed=episode_seed(part.seed, number))
            agents = {name: make_agent(part.policy) for name in env.possible_agents}
            for place, agent in enumerate(agents.values()):
                agent.reset(part.seed + number * len(agents) + place)
            step = 0
            while env.agents:
                given = act_all(env, agents, step)
                for name in env.agents:
                    place = env.world.agents.index(name)
                    post_asides(agents[name], place, env.world, env.events)
                env.step(given)
                step += 1
    return log
