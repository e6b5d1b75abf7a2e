"""Makes one shard: steps environments a fixed number of times, with a reset after each episode."""

from __future__ import annotations

import hashlib
import itertools
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from piase_gym.agents.base import Agent
from piase_gym.benchmarks.evaluation.policies import Policy, check_fit
from piase_gym.benchmarks.evaluation.rollout import (
    ask_all,
    batch_acts,
    make_world,
    plays_in_batches,
)
from piase_gym.benchmarks.evaluation.suites import Setting
from piase_gym.collection.table import StepTable, flat_rows
from piase_gym.core.commands import InvalidAction
from piase_gym.core.digest import digest_json
from piase_gym.core.files import replacing
from piase_gym.core.rng import partner_seed, partner_seeds
from piase_gym.core.world import World
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.jobs.folders import Files, OutFolder
from piase_gym.registry import world_spec
from piase_gym.runs.columns import ENDING, ColumnRecorder
from piase_gym.runs.minari_episodes import Datasets, action_index, action_number
from piase_gym.runs.options import Options
from piase_gym.runs.sinks import FileSink
from piase_gym.runs.writer import Sinks, writer_thread

DIGEST_EVERY = 1000
KINDS = ("actions", "observations", "text")
"""What is kept: only what determines a run, also the vectors, or the texts as well."""
FORMATS = ("parquet", "minari")
"""How it is written: as tables of steps, or as a dataset of episodes for each agent."""


@dataclass(frozen=True)
class Shard:
    """One part of a collection, which can be made on its own.

    Attributes:
        number: Which one, from 0.
        setting: The task and its config.
        policies: The policy of each agent.
        seed: Seed of the first environment; those of the others count up from it.
        num_envs: How many environments.
        steps: How many steps of each environment.
        keep: One of `KINDS`.
        format: One of `FORMATS`.
        out: The folder that it goes to.
    """

    number: int
    setting: Setting
    policies: tuple[Policy, ...]
    seed: int
    num_envs: int
    steps: int
    keep: str
    format: str
    out: OutFolder

    def __str__(self) -> str:
        """Name the shard and its task."""
        return f"shard {self.number} of {self.setting.task}"


def make_shard(shard: Shard) -> tuple[dict[str, Any], Files]:
    """Play and write a shard.

    Returns:
        Its entry in the manifest, and its files if they must be sent.
    """
    with closing(make_world(shard.setting)) as world:
        players = Players(world, shard.policies)
        batched = players.batchable and shard.keep != "text"
        columns = batched and shard.keep == "actions"
        with shard.out.work() as (folder, files):
            name, scratch = f"shard-{shard.number:05d}", shard.out.scratch(folder)
            if shard.format == "minari":
                new_one = _replacing_folder(folder / name, scratch)
            else:
                name += ENDING if columns else ".parquet"
                new_one = replacing(folder / name, scratch=scratch)
            with new_one as new:
                if columns:
                    digest, rows = _play_columns(shard, players, new)
                else:
                    with _sink(shard, world, new, batched) as out:
                        play = _play_batch if batched else _play_singly
                        digest = play(shard, players, out)
                    rows = out.rows
            entry = {
                "files": _files(folder, name),
                "rows": rows,
                "seed": shard.seed,
                "steps": shard.num_envs * shard.steps,
                "digest": digest,
            }
            return entry, files()


@contextmanager
def _replacing_folder(path: Path, scratch: Path) -> Iterator[Path]:
    """Yield a new folder in `scratch`, which takes the place of `path` when the block has ended."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=scratch) as name:
        new = Path(name, path.name)
        new.mkdir()
        yield new
        shutil.rmtree(path, ignore_errors=True)
        new.replace(path)


def _files(folder: Path, name: str) -> dict[str, dict[str, Any]]:
    """Return the size and the hash of each file of a shard, by its path."""
    path = folder / name
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return {
        file.relative_to(folder).as_posix(): {"bytes": file.stat().st_size, "sha256": _sha256(file)}
        for file in files
    }


def _sha256(path: Path) -> str:
    """Return the hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _metadata(shard: Shard, world: World[Any, Any]) -> dict[str, str]:
    """Return the metadata of a Parquet file."""
    metadata = {"task": shard.setting.task, "config": shard.setting.config_hash, "seed": shard.seed}
    metadata |= {"policies": [policy.name for policy in shard.policies]}
    metadata |= {"agents": list(world.agents)}
    return {"piase_gym": orjson.dumps(metadata, option=orjson.OPT_SORT_KEYS).decode()}


def _columns_of(env: BatchEnv, path: Path, shard: Shard) -> ColumnRecorder:
    """Return the recorder of a log in columns whose bytes depend on nothing but the run."""
    clock = itertools.count().__next__  # the time of an event is its number
    name = f"{shard.setting.name}-{shard.seed}"
    options = Options(run_id=name, digest_every=DIGEST_EVERY, clock=clock, epoch=0)
    recorder = ColumnRecorder(env, Sinks([FileSink(path, True)], "stop"), options, "BatchEnv")
    writer_thread.leave(recorder.file)  # no thread of ours decides when blocks are written
    return recorder


def _sink(shard: Shard, world: World[Any, Any], path: Path, batched: bool) -> StepTable | Datasets:
    """Return what writes the rows of a shard."""
    if shard.format == "minari":
        about = f"{shard.setting.task}, {shard.num_envs} environments, seeds from {shard.seed} on."
        return Datasets(path, path.name, world, about)
    box = world.vector_space if shard.keep != "actions" else None
    return StepTable(
        path,
        world.agents,
        width=None if box is None else int(np.prod(box.shape)),
        dtype=np.float32 if box is None else box.dtype,
        text=shard.keep == "text",
        commands=not batched,
        metadata=_metadata(shard, world),
    )


def _play_columns(shard: Shard, players: Players, path: Path) -> tuple[str, int]:
    """Play all environments at once into a log in columns; return a digest and the row count."""
    env = _batch(shard, players)
    recorder = _columns_of(env, path, shard)
    try:
        for _ in _steps(shard, players, env):
            pass
        return digest_json(env.digests()), shard.steps
    finally:
        env.close()
        recorder.finish("closed")


def _play_batch(shard: Shard, players: Players, out: StepTable | Datasets) -> str:
    """Play all environments at once, and return a digest of the last states."""
    env = _batch(shard, players)
    for rows, shown, infos in _steps(shard, players, env):
        columns = flat_rows(*rows)
        if shard.format == "minari":
            over = infos["_final_obs"][:, None, None]
            last = np.where(over, infos["final_obs"], shown) if over.any() else shown
            columns["after"] = last[rows[1]]
        out.add(columns)
    digest = digest_json(env.digests())
    env.close()
    return digest


def _batch(shard: Shard, players: Players) -> BatchEnv:
    """Return a batch of all environments of a shard."""
    return BatchEnv(players.world, shard.num_envs, autoreset="same_step")  # type: ignore[arg-type]


def _steps(
    shard: Shard, players: Players, env: BatchEnv
) -> Iterator[tuple[tuple[Any, ...], NDArray[Any], dict[str, Any]]]:
    """Let the players act; yield each step's arguments for `flat_rows`, then what was shown."""
    agents = players.seated()
    steps = np.zeros(shard.num_envs, np.int64)
    draws = np.zeros((len(agents), shard.num_envs), np.uint64)

    def begin(slots: NDArray[np.int64], seeds: NDArray[np.int64]) -> None:
        steps[slots] = 0
        for seat in range(len(agents)):
            draws[seat, slots] = partner_seeds(seeds[slots].astype(np.uint64), seat)

    shown, infos = env.reset(seed=shard.seed)
    seeds, alive = env.seeds(), infos["alive"]
    begin(np.arange(shard.num_envs), seeds)
    for _ in range(shard.steps):
        acts = batch_acts(agents, shown, infos["action_mask"], draws, steps)
        seen = shown
        shown, rewards, *ends, infos = env.step(acts)
        yield (seen, alive, seeds, steps.copy(), acts, rewards, *ends), shown, infos
        steps += 1
        alive = infos["alive"]
        over = np.flatnonzero(infos["_final_obs"])
        if over.size:
            seeds, alive = env.seeds(), env.alive()
            begin(over, seeds)


def _play_singly(shard: Shard, players: Players, out: StepTable | Datasets) -> str:
    """Play one environment after another, and return a digest of the last states."""
    world, digests = players.world, list[str]()
    for number in range(shard.num_envs):
        runner = EpisodeRunner(world, world_spec(world.name))
        agents = list[Agent]()
        for step in range(shard.steps):
            if step == 0 or not any(world.alive):
                runner.reset(shard.seed + number if step == 0 else None)
                assert runner.seed is not None
                agents = players.seated()
                for seat, agent in enumerate(agents):
                    agent.reset(partner_seed(runner.seed, seat))
            out.add(_play_step(shard, number, agents, runner))
        digests.append(world.digest())
    return digest_json(digests)


def _play_step(
    shard: Shard, number: int, agents: Sequence[Agent], runner: EpisodeRunner
) -> dict[str, Any]:
    """Let all agents of an environment act once, and return what they saw and did."""
    world, step, episodes = runner.world, runner.steps, shard.format == "minari"
    playing = [seat for seat, on in enumerate(world.alive) if on]
    rows: dict[str, Any] = {"agent": playing}
    if shard.keep != "actions":
        vectors = world.vectors()
        rows["observation"] = np.stack([vectors[seat] for seat in playing])
    if shard.keep == "text":
        rows["text"] = [world.observation_text(seat) for seat in playing]
    acts = ask_all(agents, runner)
    if episodes:
        rows["action"] = [action_number(world, seat, acts[seat]) for seat in playing]
    else:
        rows["action"] = [action_index(world, seat, acts[seat]) for seat in playing]
        rows["command"] = [_line(world, seat, acts[seat]) for seat in playing]
    result = runner.step(acts)
    if episodes:
        vectors = world.vectors()
        rows["after"] = [vectors[seat] for seat in playing]
    rows["reward"] = [float(result.rewards[seat]) for seat in playing]
    rows["terminated"] = [bool(result.terminated[seat]) for seat in playing]
    rows["truncated"] = [bool(result.truncated[seat]) for seat in playing]
    same = {"env": number, "seed": runner.seed, "step": step}
    return rows | {name: [value] * len(playing) for name, value in same.items()}


def _line(world: World[Any, Any], seat: int, act: Any) -> str | None:
    """Return what an agent does in words; for an invalid action, its message."""
    if act is None:
        return None
    found = world.command(seat, act) if isinstance(act, int) else act
    return found.message if isinstance(found, InvalidAction) else world.write(found)


class Players:
    """A world and the policies that play its agents.

    Raises:
        PolicyError: If a policy does not fit the world.
    """

    def __init__(self, world: World[Any, Any], policies: Sequence[Policy]) -> None:
        self.world, self.policies = world, policies
        samples = self.seated()
        for agent in samples:
            check_fit(agent, world)
        self.batchable = plays_in_batches(world, samples)

    def seated(self) -> list[Agent]:
        """Return a fresh agent for every seat."""
        found = [policy.make() for policy in self.policies]
        for name, agent in zip(self.world.agents, found, strict=True):
            agent.set_id(name)
        return found
