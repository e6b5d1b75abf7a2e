"""Plays the reference policies and writes `references.json`: ``piase bench references``."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from piase_gym.benchmarks.evaluation.evaluate import Progress, evaluate, versions
from piase_gym.benchmarks.evaluation.policies import PolicyLike, read_policies
from piase_gym.benchmarks.evaluation.protocol import PROTOCOL, EpisodeRecord
from piase_gym.benchmarks.evaluation.results import Results, TaskResult, by_run
from piase_gym.benchmarks.evaluation.rollout import make_world
from piase_gym.benchmarks.evaluation.suites import Problem, Row, Setting, Suite, smoke, standard
from piase_gym.benchmarks.references.models import ModelFolder
from piase_gym.benchmarks.references.references import References
from piase_gym.core.files import write_whole
from piase_gym.errors import PiaseError, SuiteError, UnknownNameError
from piase_gym.registry import list_tasks as known_tasks
from piase_gym.registry import load, task_spec, world_spec

POLICIES = ("random", "noop", "scripted", "oracle", "ppo")
EPISODES = 100


def measure_references(
    *,
    policies: Mapping[str, PolicyLike] | None = None,
    episodes: int = EPISODES,
    suites: Sequence[Suite] | None = None,
    tasks: Sequence[str] = (),
    workers: int = 1,
    ray: str | None = None,
    out: str | Path | None = None,
    modules: Sequence[str] = (),
    progress: Progress | None = None,
    stored: References | None = None,
) -> tuple[dict[str, Any], list[Problem]]:
    """Play the reference policies on every setting of the suites.

    A setting is played on held-out seeds if the split ``held_out`` has it, else on those of
    ``dev``.

    Args:
        policies: Further policies by name, such as a trained one; a policy that does not fit a
            setting's spaces is left out there.
        episodes: Number of seeds per setting.
        suites: By default, smoke and standard.
        tasks: Only rows with a task or label that matches one of these patterns; by default all.
        workers: Number of processes.
        ray: The address of a Ray cluster, which takes the place of processes.
        out: Folder of the journals.
        modules: Modules to import first.
        progress: Called after every episode.
        stored: References that are kept: only what they lack is played.

    Returns:
        The contents of `references.json`, and the problems, such as a reference that failed or
        a certificate that was not met.
    """
    suite = reference_suite(suites, tasks)
    players = {**{name: name for name in POLICIES}, **(policies or {})}
    entries: dict[str, Any] = {}
    seen: set[str] = set()
    problems: list[Problem] = []
    for split in ("held_out", "dev"):
        settings, unknown = suite.settings(split)
        settings = [setting for setting in settings if setting.label not in seen]
        if split == "held_out":
            problems += [*unknown, *suite.missing(split)]
        seen |= {setting.label for setting in settings}
        options: dict[str, Any] = {"episodes": episodes, "split": split, "workers": workers}
        options["ray"] = ray
        options |= {"modules": modules, "references": {}, "progress": progress}
        options["out"] = None if out is None else Path(out) / split
        pairs = [(row, _settings(row, split)) for row in suite.rows]
        pairs = [(row, own) for row, own in pairs if any(one in settings for one in own)]
        for chosen, named in _to_play(pairs, players, split, episodes, stored) if pairs else ():
            try:
                results = evaluate(named, Suite(name="references", rows=chosen), **options)
            except SuiteError as error:  # such as a model that has not been trained
                if stored is None:
                    raise
                problems.append(Problem(", ".join(named), str(error)))
                continue
            problems += results.problems
            for setting in settings:
                if results.find(setting.label, results.policies[0]) is not None:
                    entry = _entry(setting, split, results, named, problems)
                    kept = entries.setdefault(setting.label, entry)
                    kept["policies"].update(entry["policies"])
    for label, entry in entries.items():
        entry["policies"] = {**_reusable_policies(stored, label, entry), **entry["policies"]}
    return {"protocol": PROTOCOL, "settings": entries}, problems


def _to_play(
    pairs: Sequence[tuple[Row, Sequence[Setting]]],
    players: Mapping[str, PolicyLike],
    split: str,
    episodes: int,
    stored: References | None,
) -> Iterator[tuple[tuple[Row, ...], dict[str, PolicyLike]]]:
    """Yield rows of suites with the policies to play there, without what is stored already.

    Every policy plays every row, except references that only some rows name.
    """
    special = {name for row, _ in pairs for name in (*row.low, row.high)} - set(players)
    if stored is None:
        yield tuple(row for row, _ in pairs), dict(players)
    for name in sorted(special) if stored is None else (*players, *sorted(special)):
        named = [pair for pair in pairs if name in players or name in (*pair[0].low, pair[0].high)]
        lacking = tuple(
            row
            for row, own in named
            if not all(_has(stored, setting, split, episodes, name) for setting in own)
        )
        if lacking:
            yield lacking, {name: players.get(name, name)}


def _settings(row: Row, split: str) -> list[Setting]:
    """Return a row's settings in a split."""
    return Suite(name="one", rows=(row,)).settings(split)[0]


def _has(stored: References | None, setting: Setting, split: str, episodes: int, name: str) -> bool:
    """Return whether stored references have a policy in the present setting, or never will."""
    now = {"task": setting.task, "version": setting.version, "split": split}
    found = _reusable_policies(stored, setting.label, {**now, "config_hash": setting.config_hash})
    left_out = stored is not None and name in setting.without
    return left_out or len(found.get(name, {}).get("values", ())) == episodes


def _reusable_policies(
    stored: References | None, label: str, entry: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the policies that stored references have in a setting, if it is still the same."""
    old = (stored or {}).get("settings", {}).get(label, {})
    same = all(old.get(key) == entry[key] for key in ("task", "version", "config_hash", "split"))
    found: dict[str, Any] = old.get("policies", {}) if same else {}
    return found


def reference_suite(suites: Sequence[Suite] | None = None, tasks: Sequence[str] = ()) -> Suite:
    """Return the rows that have references, as one suite.

    Raises:
        UnknownNameError: If no row matches a pattern.
    """
    chosen = [smoke(), standard()] if suites is None else suites
    rows = {_key(row): row for suite in chosen for row in suite.rows}
    names = {
        key: [row.label, row.task, *fnmatch.filter(known_tasks(), row.task)]
        for key, row in rows.items()
    }
    for pattern in tasks:
        if not any(fnmatch.filter(own, pattern) for own in names.values()):
            raise UnknownNameError("task of the suites", pattern, [k[1] or k[0] for k in rows])
    kept = [k for k in rows if not tasks or any(fnmatch.filter(names[k], p) for p in tasks)]
    return Suite(name="references", rows=tuple(rows[key] for key in kept))


def _key(row: Row) -> tuple[str, str, str]:
    """Return what distinguishes rows."""
    return row.task, row.label, str(sorted(row.config.items()))


def settings_of(suite: Suite) -> list[Setting]:
    """Return all settings of a suite, including those that only one split has."""
    splits = [suite.settings(split)[0] for split in ("held_out", "dev")]
    return list({setting.label: setting for found in splits for setting in found}.values())


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored references in which new measurements replace old ones."""
    return {**new, "settings": {**old.get("settings", {}), **new["settings"]}}


def _entry(
    setting: Setting,
    split: str,
    results: Results,
    players: Mapping[str, PolicyLike],
    problems: list[Problem],
) -> dict[str, Any]:
    """Return what is stored about one setting."""
    found: dict[str, Any] = {}
    seeds: list[int] = []
    for name, policy in {policy.name: policy for policy in read_policies(dict(players))}.items():
        row = results.find(setting.label, name)
        if row is None:
            continue
        if row.faults:
            what = f"the reference failed: {'; '.join(row.faults)}"
            problems.append(Problem(f"{setting.label}, {name}", what))
            continue
        records = results.of(setting.label, name)
        runs = by_run(records)
        seeds = sorted({record.seed for record in records})
        found[name] = {
            "fingerprint": policy.at(setting).fingerprint,
            "mean": row.value.estimate if row.value else None,
            "values": np.mean(runs, axis=0).tolist(),
            **_episodes(row, runs, records),
            "success": row.success.estimate if row.success else None,
            "steps": row.steps,
        }
        if isinstance(policy.source, ModelFolder):
            made = policy.source.card(setting)["settings"]
            found[name]["training"] = {key: made[key] for key in ("algo", "steps", "seed")}
        if name == setting.high == "oracle" and setting.certified:
            problems += check_certificates(setting, records)
    return {
        "task": setting.task,
        "version": setting.version,
        "versions": versions(),
        "config_hash": setting.config_hash,
        "measure": setting.measure,
        "certified": setting.certified,
        "low": list(setting.low),
        "high": setting.high,
        "split": split,
        "seeds": [seeds[0], seeds[-1] + 1] if seeds else [],
        "policies": found,
    }


def _episodes(
    row: TaskResult, runs: Sequence[Sequence[float]], records: Sequence[EpisodeRecord]
) -> dict[str, Any]:
    """Return what intervals need besides the mean over runs at each seed: every run's episodes.

    Returns:
        ``runs``, the values by run and seed, if there are several runs; and ``won``, the shares of
        agents that won, if anything is won or lost.
    """
    found: dict[str, Any] = {"runs": [list(run) for run in runs]} if len(runs) > 1 else {}
    if row.success is not None:
        found["won"] = by_run(records, lambda record: record.won)
    return found


def check_certificates(setting: Setting, records: Sequence[EpisodeRecord]) -> list[Problem]:
    """Compare the episodes of a certified policy with the certificates of its world's oracle.

    A certificate is the highest return that the agent could have (`best_return`), or, for oracles
    that know only this, the least number of steps in which it could reach its goal. Oracles that
    are shown to be optimal in another way have none.

    Returns:
        A problem for the first episode that differs from its certificate.
    """
    world = make_world(setting)
    spec = world_spec(task_spec(setting.task).world)
    try:
        for record in records:
            world.reset(record.seed)
            oracle = load(str(spec.oracle), spec)(world)
            problem = compare(oracle, record)
            if problem:
                return [Problem(setting.label, f"seed {record.seed} {problem}")]
    except PiaseError as error:
        return [Problem(setting.label, str(error))]
    finally:
        world.close()
    return []


def compare(oracle: Any, record: EpisodeRecord) -> str:
    """Return how an episode differs from its certificate, or an empty string."""
    if hasattr(oracle, "best_return"):
        best = oracle.best_return(0)
        if best is None:
            return "has no certificate"
        if record.value is None or not math.isclose(record.value, best, abs_tol=1e-6):
            return f"returned {record.value}; its certificate is {best}"
    elif hasattr(oracle, "certificate"):
        wanted = oracle.certificate(0)
        if record.steps != wanted:
            return f"took {record.steps} steps; its certificate is {wanted}"
    return ""


def write_references(path: Path, references: Mapping[str, Any]) -> None:
    """Write references to a file, atomically; a list of numbers takes one line."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    text = orjson.dumps(dict(references), option=options)
    lists = re.compile(rb"\[[-\d.e+,\s]+\]")
    write_whole(path, lists.sub(lambda found: b" ".join(found[0].split()), text))
