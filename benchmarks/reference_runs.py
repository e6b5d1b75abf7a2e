"""Plays the reference policies and writes `references.json`: ``piase bench references``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from piase_gym.benchmarks.evaluation import Progress, evaluate, versions
from piase_gym.benchmarks.jobs import make_world
from piase_gym.benchmarks.journal import write_atomically
from piase_gym.benchmarks.policies import PolicyLike, read_policies
from piase_gym.benchmarks.protocol import PROTOCOL, EpisodeRecord
from piase_gym.benchmarks.scores import Results
from piase_gym.benchmarks.settings import Problem, Setting
from piase_gym.benchmarks.suites import Suite, smoke, standard
from piase_gym.errors import PiaseError
from piase_gym.registry import load, task_spec, world_spec

POLICIES = ("random", "noop", "scripted", "oracle")
EPISODES = 100


def measure_references(
    *,
    policies: Mapping[str, PolicyLike] | None = None,
    episodes: int = EPISODES,
    suites: Sequence[Suite] | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    modules: Sequence[str] = (),
    progress: Progress | None = None,
) -> tuple[dict[str, Any], list[Problem]]:
    """Play the reference policies on every setting of the suites.

    A setting is played on held-out seeds if the split ``held_out`` has it, else on those of
    ``dev``.

    Args:
        policies: Further policies by name, such as a trained one; a policy that does not fit a
            setting's spaces is left out there.
        episodes: Seeds a setting.
        suites: Default: smoke and standard.
        workers: Processes.
        out: Folder of the journals.
        modules: Modules to import first.
        progress: Called after every episode.

    Returns:
        The contents of `references.json`, and what was not as it should be: a reference that
        failed, a certificate that was not met.
    """
    chosen = [smoke(), standard()] if suites is None else list(suites)
    suite = Suite(name="references", rows=tuple(row for suite in chosen for row in suite.rows))
    players = {**{name: name for name in POLICIES}, **(policies or {})}
    entries: dict[str, Any] = {}
    problems: list[Problem] = []
    for split in ("held_out", "dev"):
        settings, unknown = suite.settings(split)
        settings = [setting for setting in settings if setting.label not in entries]
        problems += unknown if split == "held_out" else []
        if not settings:
            continue
        results = evaluate(
            players,
            suite,
            episodes=episodes,
            split=split,
            workers=workers,
            out=None if out is None else Path(out) / split,
            modules=modules,
            references={},
            progress=progress,
        )
        problems += results.problems
        for setting in settings:
            entries[setting.label] = _entry(setting, split, results, players, problems)
    return {
        "protocol": PROTOCOL,
        "versions": versions(),
        "settings": entries,
    }, problems


def _entry(
    setting: Setting,
    split: str,
    results: Results,
    players: Mapping[str, PolicyLike],
    problems: list[Problem],
) -> dict[str, Any]:
    """Return what is stored of one setting."""
    prints = {policy.name: policy.fingerprint for policy in read_policies(dict(players))}
    found = {}
    for name in players:
        records = results.of(setting.label, name)
        row = results.find(setting.label, name)
        if row is None:
            continue
        if row.faults:
            what = "; ".join(row.faults)
            problems.append(Problem(f"{setting.label}, {name}", f"the reference failed: {what}"))
            continue
        values = [record.value for record in records]
        found[name] = {
            "fingerprint": prints[name],
            "mean": row.value.estimate if row.value else None,
            "values": values,
            "success": row.success.estimate if row.success else None,
            "steps": row.steps,
        }
        if name == setting.high and setting.certified:
            problems += check_certificates(setting, records)
    seeds = [record.seed for record in results.of(setting.label, next(iter(found), ""))]
    return {
        "task": setting.task,
        "version": setting.version,
        "config_hash": setting.config_hash,
        "measure": setting.measure,
        "certified": setting.certified,
        "low": list(setting.low),
        "high": setting.high,
        "split": split,
        "seeds": [seeds[0], seeds[-1] + 1] if seeds else [],
        "policies": found,
    }


def check_certificates(setting: Setting, records: Sequence[EpisodeRecord]) -> list[Problem]:
    """Compare the episodes of a certified policy with the certificates of its world's oracle.

    A certificate is the least number of steps in which the agent could reach its goal.

    Returns:
        A problem for the first episode that took another number of steps.
    """
    world = make_world(setting)
    spec = world_spec(task_spec(setting.task).world)
    try:
        for record in records:
            world.reset(record.seed)
            wanted = load(str(spec.oracle), spec)(world).certificate(0)
            if record.steps != wanted:
                what = f"seed {record.seed} took {record.steps} steps; its certificate is {wanted}"
                return [Problem(setting.label, what)]
    except PiaseError as error:
        return [Problem(setting.label, str(error))]
    finally:
        world.close()
    return []


def write_references(path: Path, references: Mapping[str, Any]) -> None:
    """Write references to a file, atomically; a list of numbers takes one line."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    text = orjson.dumps(dict(references), option=options)
    lists = re.compile(rb"\[[-\d.e+,\s]+\]")
    write_atomically(path, lists.sub(lambda found: b" ".join(found[0].split()), text))
