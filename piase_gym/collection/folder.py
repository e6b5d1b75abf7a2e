"""Hands shards to workers, and writes the manifest when all are there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from piase_gym.benchmarks.evaluation.evaluate import missing_reason, versions
from piase_gym.benchmarks.evaluation.policies import Policy, PolicyLike, read_policy
from piase_gym.benchmarks.evaluation.rollout import make_world
from piase_gym.benchmarks.evaluation.suites import Row, Setting, read_suite
from piase_gym.collection.manifest import FORMAT, JOURNAL, MANIFEST, read_manifest, sizes_of
from piase_gym.collection.shard import FORMATS, KINDS, Players, Shard, make_shard
from piase_gym.core.digest import digest_json
from piase_gym.core.files import write_json
from piase_gym.core.rng import check_seed
from piase_gym.envs.batch_checks import require_memory
from piase_gym.errors import (
    ConfigError,
    JobError,
    StorageError,
    SuiteError,
    UnsupportedError,
    need,
    require_count,
    require_known,
    suggest,
)
from piase_gym.jobs import Backend, LineFile, Outcome, choose_backend, run_jobs
from piase_gym.jobs.folders import out_folder
from piase_gym.jobs.missing_lines import raise_failed
from piase_gym.runs.minari_episodes import dataset_ids, require_minari
from piase_gym.runs.schema import LINE_DAMAGE
from piase_gym.worlds.array_world import ArrayWorld

Progress = Callable[[Outcome[Shard], int, int], None]


def collect(
    task: str,
    out: str | Path,
    *,
    policy: PolicyLike = "random",
    others: Mapping[str, PolicyLike] | None = None,
    config: Mapping[str, Any] | None = None,
    steps: int = 100_000,
    num_envs: int = 64,
    shards: int = 1,
    keep: str = "observations",
    format: str = "parquet",  # the word that users know
    seed: int = 0,
    workers: int = 1,
    ray: str | None = None,
    modules: Sequence[str] = (),
    progress: Progress = lambda outcome, done, whole: None,
) -> dict[str, Any]:
    """Let policies play, and write what they saw and did as sharded files.

    Environment i of shard k begins with the seed ``seed + k * num_envs + i`` and goes on from
    episode to episode, as any environment that is reset without a seed does. The files depend on
    the arguments alone, not on which worker wrote them in which order. A shard that is there is not
    made again, so a repeated call goes on where an interrupted one stopped.

    Args:
        task: An id.
        out: The folder.
        policy: Who plays; see `piase_gym.benchmarks.evaluation.policies`.
        others: Other policies by agent.
        config: Fields of the config.
        steps: Environment steps of all shards together; rounded up to whole shards.
        num_envs: Environments in a shard.
        shards: How many files.
        keep: ``actions`` keeps what determines a run (for array worlds as columns, which
            `piase_gym.runs.replay` plays again), ``observations`` also vectors, ``text`` also
            texts.
        format: ``parquet``, or ``minari`` for one folder of datasets per shard, with one dataset
            per agent; episodes that are under way at the end of a shard are cut off there.
        seed: Seed of the first environment.
        workers: How many processes.
        ray: The address of a Ray cluster, which takes the place of processes.
        modules: Modules that workers import first.
        progress: Called after every shard.

    Returns:
        The manifest.

    Raises:
        ConfigError: If an argument is not allowed, or the folder holds other episodes.
        PolicyError, UnsupportedError: If a policy does not exist or does not fit.
        JobError: At the end, if shards could not be made; the others are kept.
        StorageError: If the folder cannot be written to.
        StoppedError, ClusterError: See `piase_gym.jobs.run_jobs`.
    """
    need("pyarrow", "collecting episodes")
    steps = require_count("steps is a positive integer", steps)
    num_envs = require_count("num_envs is a positive integer", num_envs)
    shards = require_count("shards is a positive integer", shards)
    if not isinstance(task, str):
        raise ConfigError(f"a task is an id, not {task!r:.60}")
    for name, given in {"config": config, "others": others}.items():
        if not isinstance(given, Mapping | None):
            raise ConfigError(f"{name} is a mapping, not {given!r:.60}")
    seed = check_seed(seed)
    check_seed(seed + shards * num_envs - 1)  # that of the last environment
    _check_kind(keep, format)
    setting = _setting_of(task, config or {})
    policies = _policies_of(setting, policy, others or {})
    _check_fit(setting, policies, format, num_envs)
    each = -(-steps // (shards * num_envs))
    plan = {
        "format": FORMAT,
        "task": setting.task,
        "version": setting.version,
        "config": dict(setting.config),
        "config_hash": setting.config_hash,
        "agents": list(setting.agents),
        "policies": [{"name": p.name, "fingerprint": p.fingerprint} for p in policies],
        "keep": keep,
        "files": format,
        "seed": seed,
        "num_envs": num_envs,
        "steps": each * num_envs * shards,
        "versions": versions(),
    }
    folder = Path(out)
    with out_folder(folder) as offered:
        journal = LineFile(folder / JOURNAL)
        known = _complete_shards(journal, digest_json([plan, shards]), folder)
        jobs = [
            Shard(k, setting, policies, seed + k * num_envs, num_envs, each, keep, format, offered)
            for k in range(shards)
            if k not in known
        ]
        backend = choose_backend(workers, ray if jobs else None, modules=modules)
        known |= _make_shards(jobs, backend, journal, progress)
    manifest = {**plan, "shards": [known[k] for k in range(shards)]}
    write_json(folder / MANIFEST, manifest)
    return read_manifest(folder)


def _make_shards(
    jobs: Sequence[Shard], backend: Backend, journal: LineFile, progress: Progress
) -> dict[int, dict[str, Any]]:
    """Have shards made, note each that is done, and return their entries by number.

    Raises:
        JobError: At the end, if some could not be made.
    """
    made, errors = dict[int, dict[str, Any]](), list[JobError]()
    with contextlib.closing(backend):  # also where a file or `progress` fails
        for number, outcome in enumerate(run_jobs(jobs, make_shard, backend, name=str), start=1):
            if outcome.error is None:
                entry, files = outcome.value
                outcome.job.out.take(files)
                made[outcome.job.number] = entry
                journal.add({"shard": outcome.job.number, **entry})
            else:
                errors.append(outcome.error)
            progress(outcome, number, len(jobs))
    raise_failed(errors, len(jobs))
    return made


def _check_kind(keep: str, format: str) -> None:
    """Refuse what cannot be kept at all, or not in that format.

    Raises:
        ConfigError: If it is unknown, or no observations are to be kept in episodes.
    """
    require_known("kind of episodes", keep, KINDS)
    require_known("format of episodes", format, FORMATS)
    if format == "minari" and keep != "observations":
        raise ConfigError(f"Minari datasets have observations; keep={keep!r} goes with parquet")


def _check_fit(setting: Setting, policies: tuple[Policy, ...], format: str, num_envs: int) -> None:
    """Check that policies, format and number fit the world, before anything is begun.

    Raises:
        PolicyError: If a policy does not.
        UnsupportedError: If the format does not.
        ConfigError: If two agents would have one dataset, or so many environments need more memory
            than this machine has.
    """
    with contextlib.closing(make_world(setting)) as world:
        if Players(world, policies).batchable and isinstance(world, ArrayWorld):
            require_memory(world, num_envs, [world.config])
        if format == "minari":
            require_minari(world)
            dataset_ids("shard-00000", world.agents)


def _setting_of(task: str, config: Mapping[str, Any]) -> Setting:
    """Return a task as a benchmark's setting.

    Raises:
        SuiteError: If it cannot be played.
    """
    settings, problems = read_suite(Row(task=task, config=dict(config))).settings("train")
    if not settings:
        raise SuiteError(f"{task} cannot be played: {problems[0].what if problems else 'no id'}")
    return settings[0]


def _policies_of(
    setting: Setting, policy: PolicyLike, others: Mapping[str, PolicyLike]
) -> tuple[Policy, ...]:
    """Return the policy of each agent."""
    for agent in others:
        if agent not in setting.agents:
            raise ConfigError(f"there is no agent {agent!r}; {suggest(agent, setting.agents)}")
    found = [read_policy(others.get(agent, policy)).at(setting) for agent in setting.agents]
    for one in found:
        if lack := missing_reason(setting, one):
            raise UnsupportedError(lack)
    return tuple(found)


def _complete_shards(journal: LineFile, plan: str, folder: Path) -> dict[int, dict[str, Any]]:
    """Return the entries of complete shards, by their numbers.

    Raises:
        ConfigError: If the folder holds other episodes.
        StorageError: If the journal cannot be written.
    """
    plans = {line["plan"] for line in journal.found if "plan" in line}
    if plans - {plan}:
        raise ConfigError(f"{folder} holds episodes of another call; name another folder")
    if not plans and not journal.add({"plan": plan}):
        raise StorageError(str(journal.error))
    found = {}
    for line in journal.found:
        entry = dict(line)
        number = entry.pop("shard", None)
        with contextlib.suppress(*LINE_DAMAGE):  # a shard whose entry is damaged is made again
            if number is not None and all(n == noted for _, n, noted in sizes_of(folder, entry)):
                found[number] = entry
    return found
