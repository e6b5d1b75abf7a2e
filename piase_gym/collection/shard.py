"""Makes one shard: environments that are stepped so often, and start anew when an episode ends."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from piase_gym.agents.base import Agent
from piase_gym.benchmarks.evaluation.policies import Policy, check_fit
from piase_gym.benchmarks.evaluation.rollout import ask_all, batch_acts, make_world, seat_seed
from piase_gym.benchmarks.evaluation.suites import Setting
from piase_gym.collection.table import StepTable, flat_rows
from piase_gym.core.commands import InvalidAction
from piase_gym.core.digest import digest_json
from piase_gym.core.files import replacing
from piase_gym.core.rng import StreamId, stream_keys
from piase_gym.core.world import World
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.jobs.folders import Files, OutFolder
from piase_gym.registry import world_spec
from piase_gym.runs.columns import ENDING, ColumnRecorder
from piase_gym.runs.options import Options
from piase_gym.runs.sinks import FileSink
from piase_gym.runs.writer import Sinks, clerk
from piase_gym.worlds.array_world import steps_in_batches

DIGEST_EVERY = 1000
KINDS = ("actions", "observations", "text")
"""What is kept: what determines a run, also the vectors, also the texts."""


@dataclass(frozen=True)
class Shard:
    """One file to be made.

    Attributes:
        number: Which one, from 0.
        setting: The task and its config.
        policies: Who plays each agent.
        seed: Of the first environment; the others count up from it.
        num_envs: How many environments.
        steps: How many steps of each.
        keep: One of `KINDS`.
        out: Where it goes.
    """

    number: int
    setting: Setting
    policies: tuple[Policy, ...]
    seed: int
    num_envs: int
    steps: int
    keep: str
    out: OutFolder

    def __str__(self) -> str:
        """Name the shard and its task."""
        return f"shard {self.number} of {self.setting.task}"


def make_shard(shard: Shard) -> tuple[dict[str, Any], Files]:
    """Play and write a shard.

    Returns:
        Its entry of the manifest, and its files if they are to be sent.
    """
    world = make_world(shard.setting)
    try:
        players = Players(world, shard.policies)
        batched = players.batchable and shard.keep != "text"
        columns = batched and shard.keep == "actions"
        name = f"shard-{shard.number:05d}{ENDING if columns else '.parquet'}"
        with shard.out.work() as (folder, files):
            path = folder / name
            with replacing(path) as new:
                if batched:
                    digest, rows = _play_batch(shard, players, new, columns)
                else:
                    digest, rows = _play_singly(shard, players, new)
            entry = {
                "file": name,
                "rows": rows,
                "seed": shard.seed,
                "steps": shard.num_envs * shard.steps,
                "digest": digest,
                "bytes": path.stat().st_size,
                "sha256": _sha256(path),
            }
            return entry, files()
    finally:
        world.close()


def _sha256(path: Path) -> str:
    """Return the hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _metadata(shard: Shard, world: World[Any, Any]) -> dict[str, str]:
    """Return what stands in a Parquet file beside its columns."""
    told = {"task": shard.setting.task, "config": shard.setting.config_hash, "seed": shard.seed}
    told |= {"policies": [policy.name for policy in shard.policies]}
    told |= {"agents": list(world.agents)}
    return {"piase_gym": orjson.dumps(told, option=orjson.OPT_SORT_KEYS).decode()}


def _columns_of(env: BatchEnv, path: Path, shard: Shard) -> ColumnRecorder:
    """Return a log in columns whose bytes depend on nothing but the run."""
    clock = itertools.count().__next__  # a time that is the number of what happened
    name = f"{shard.setting.name}-{shard.seed}"
    options = Options(run_id=name, digest_every=DIGEST_EVERY, clock=clock, epoch=0)
    recorder = ColumnRecorder(env, Sinks([FileSink(path, True)], "stop"), options, "BatchEnv")
    clerk.leave(recorder.file)  # no thread of ours decides when blocks are written
    return recorder


def _play_batch(shard: Shard, players: Players, path: Path, columns: bool) -> tuple[str, int]:
    """Play all environments at once; returns a digest of the last states, and the rows."""
    world, agents = players.world, players.seated()
    env = BatchEnv(world, shard.num_envs, autoreset="same_step")  # type: ignore[arg-type]
    recorder = _columns_of(env, path, shard) if columns else None
    steps = np.zeros(shard.num_envs, np.int64)
    draws = np.zeros((len(agents), shard.num_envs), np.uint64)

    def begin(slots: NDArray[np.int64], seeds: NDArray[np.int64]) -> None:
        steps[slots] = 0
        for seat in range(len(agents)):
            draws[seat, slots] = stream_keys(
                seeds[slots].astype(np.uint64), StreamId.PARTNER + seat
            )

    shown, infos = env.reset(seed=shard.seed)
    seeds, alive = env.seeds(), infos["alive"]
    begin(np.arange(shard.num_envs), seeds)
    width = None if shard.keep == "actions" else shown.shape[-1]
    out = None
    if recorder is None:
        names, told = world.agents, _metadata(shard, world)
        out = StepTable(path, names, width=width, dtype=shown.dtype, metadata=told)
    for _ in range(shard.steps):
        acts = batch_acts(agents, shown, infos["action_mask"], draws, steps)
        seen = shown
        shown, rewards, terminated, truncated, infos = env.step(acts)
        if out is not None:
            kept = None if width is None else seen
            ends = terminated, truncated
            out.add(flat_rows(kept, alive, seeds, steps.copy(), acts, rewards, *ends))
        steps += 1
        alive = infos["alive"]
        over = np.flatnonzero(infos["_final_obs"])
        if over.size:
            seeds, alive = env.seeds(), env.alive()
            begin(over, seeds)
    digest = digest_json(env.digests())
    env.close()
    if recorder is not None:
        recorder.finish("closed")
        return digest, shard.steps
    assert out is not None
    with out:
        pass
    return digest, out.rows


def _play_singly(shard: Shard, players: Players, path: Path) -> tuple[str, int]:
    """Play one environment after the other; returns a digest of the last states, and the rows."""
    world, digests = players.world, list[str]()
    box = world.vector_space if shard.keep != "actions" else None
    options: Mapping[str, Any] = {
        "width": None if box is None else int(np.prod(box.shape)),
        "dtype": np.float32 if box is None else box.dtype,
        "text": shard.keep == "text",
        "commands": True,
        "metadata": _metadata(shard, world),
    }
    with StepTable(path, world.agents, **options) as out:
        for number in range(shard.num_envs):
            runner = EpisodeRunner(world, world_spec(world.name))
            rows = _Rows(out, number, shard.keep)
            over, agents = True, list[Agent]()
            for step in range(shard.steps):
                if over:
                    runner.reset(shard.seed + number if step == 0 else None)
                    assert runner.seed is not None
                    agents = players.seated()
                    for seat, agent in enumerate(agents):
                        agent.reset(seat_seed(runner.seed, seat))
                over = rows.step(agents, runner)
            digests.append(world.digest())
    return digest_json(digests), out.rows


class _Rows:
    """Steps an environment, and writes what its agents saw and did."""

    def __init__(self, out: StepTable, number: int, keep: str) -> None:
        self.out, self.number, self.keep = out, number, keep

    def step(self, agents: Any, runner: EpisodeRunner) -> bool:
        """Let all agents act once; returns whether the episode is over."""
        world, step = runner.world, runner.steps
        playing = [seat for seat, on in enumerate(world.alive) if on]
        rows: dict[str, Any] = {"agent": playing}
        if self.keep != "actions":
            vectors = world.vectors()
            rows["observation"] = np.stack([vectors[seat] for seat in playing])
        if self.keep == "text":
            rows["text"] = [world.observation_text(seat) for seat in playing]
        acts = ask_all(agents, runner)
        lines = [_line(world, seat, acts[seat]) for seat in playing]
        result = runner.step(acts)
        rows["action"] = [a if isinstance(a := acts[seat], int) else None for seat in playing]
        rows["command"] = lines
        rows["reward"] = [float(result.rewards[seat]) for seat in playing]
        rows["terminated"] = [bool(result.terminated[seat]) for seat in playing]
        rows["truncated"] = [bool(result.truncated[seat]) for seat in playing]
        same = {"env": self.number, "seed": runner.seed, "step": step}
        self.out.add({**rows, **{name: [value] * len(playing) for name, value in same.items()}})
        return not any(world.alive)


def _line(world: World[Any, Any], seat: int, act: Any) -> str | None:
    """Return what an agent does in words; what cannot be read stands as it is."""
    if act is None:
        return None
    return act.message if isinstance(act, InvalidAction) else world.line_of(seat, act)


class Players:
    """A world and who plays its agents.

    Raises:
        PolicyError: If a policy does not fit the world.
    """

    def __init__(self, world: World[Any, Any], policies: Sequence[Policy]) -> None:
        self.world, self.policies = world, policies
        samples = self.seated()
        for agent in samples:
            check_fit(agent, world)
        self.batchable = (
            steps_in_batches(world)
            and world.mailboxes is None
            and all(agent.acts_in_batches for agent in samples)
        )

    def seated(self) -> list[Agent]:
        """Return a fresh agent for every seat."""
        found = [policy.make() for policy in self.policies]
        for name, agent in zip(self.world.agents, found, strict=True):
            agent.set_id(name)
        return found
