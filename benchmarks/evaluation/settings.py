"""Rows of suites, and the settings that they stand for once they are resolved against the registry.

A `Row` may stand for a family of ids (``piase/GridWorld-Empty-*``) and for several partners; each
of its `Setting` objects is one line of results.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from piase_gym.benchmarks.evaluation.protocol import MEASURES, config_hash
from piase_gym.errors import SuiteError, UnknownNameError, suggest
from piase_gym.names import task_fields
from piase_gym.registry import (
    TaskSpec,
    has_task,
    list_tasks,
    load,
    make_config,
    task_spec,
    world_spec,
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One task, or one family of tasks, of the suites.

    Attributes:
        task: An id, or a pattern over ids with ``*``.
        config: Fields of the config on top of the id's.
        label: What to call it; default the id, and the config's fields if there are any.
        measure: ``return``, ``per_capita`` or ``win_rate``.
        focal: How many seats the evaluated policy takes; default all. Which ones rotates with
            the seed.
        partners: Who plays the other seats; each is a line of results of its own.
        held_out_partners: Who plays them instead in the split ``held_out``.
        held_out: Whether the whole row is played in the split ``held_out`` only.
        low: Policies that do not look; the mean of the best of them is 0 points. (Where bumping
            into walls costs more than standing still, random play is no floor.)
        high: Policy whose mean is 100 points.
        certified: Whether `high` is proved optimal; only then it is called an oracle.
        without: Policies that are left out, such as a script that is too slow for the task.
        suites: Names of the suites it is in.
    """

    task: str
    config: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    measure: str = "return"
    focal: int | None = None
    partners: tuple[str, ...] = ()
    held_out_partners: tuple[str, ...] = ()
    held_out: bool = False
    low: tuple[str, ...] = ("random", "noop")
    high: str = "oracle"
    certified: bool = False
    without: tuple[str, ...] = ()
    suites: tuple[str, ...] = ("standard",)

    def __post_init__(self) -> None:
        """Check what does not depend on the registry.

        Raises:
            SuiteError: If the measure is unknown, or seats and partners do not go together.
        """
        if self.measure not in MEASURES:
            hint = suggest(self.measure, MEASURES)
            raise SuiteError(f"{self.task}: unknown measure {self.measure!r}; {hint}")
        if self.focal is None and (self.partners or self.held_out_partners):
            raise SuiteError(f"{self.task}: partners need focal=..., the seats they do not take")
        if self.focal is not None and not (self.partners or self.held_out_partners):
            raise SuiteError(f"{self.task}: focal={self.focal} needs partners for the other seats")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One line of results: a task under a config, the seats, and the partners.

    Attributes:
        label: What it is called in results; with partners, ``<row> with <partner>``.
        name: What files about the task are called: the id without its namespace, and what the row
            changes in its config.
        task: Id of the task.
        version: Version of the world.
        config: Fields of the config, those of the id included.
        config_hash: Hash of the config.
        agents: Names of the seats.
        measure, low, high, certified, without: As in `Row`.
        focal: How many seats the evaluated policy takes.
        partner: Who plays the others; empty if there are none.
    """

    label: str
    name: str
    task: str
    version: int
    config: Mapping[str, Any]
    config_hash: str
    agents: tuple[str, ...]
    measure: str
    focal: int
    partner: str
    low: tuple[str, ...]
    high: str
    certified: bool
    without: tuple[str, ...] = ()

    def seats(self, seed: int) -> tuple[bool, ...]:
        """Tell which seats are focal in the episode of a seed; they rotate from seed to seed."""
        count = len(self.agents)
        return tuple((seat - seed) % count < self.focal for seat in range(count))


@dataclass(frozen=True)
class Problem:
    """Something that could not be evaluated, and why.

    Attributes:
        where: A row, setting, episode or file.
        what: One sentence.
    """

    where: str
    what: str


def ids_of(row: Row) -> list[str]:
    """Return the ids that a row stands for; none if no id fits its pattern."""
    return fnmatch.filter(list_tasks(), row.task) if set("*?[") & set(row.task) else [row.task]


def missing_of(row: Row) -> str | None:
    """Say what the world of a row needs and is not installed, or return ``None``."""
    known = [world_spec(task_spec(task).world) for task in ids_of(row) if has_task(task)]
    return next((spec.missing for spec in known if spec.missing), None)


def expand(row: Row, split: str) -> list[Setting]:
    """Return the settings that a row stands for in a split.

    Raises:
        UnknownNameError: If no id fits its task.
        ConfigError: If its config is not allowed.
        SuiteError: If it has more focal seats than agents.
    """
    ids = ids_of(row)
    if not ids:
        raise UnknownNameError("task", row.task, list_tasks())
    partners = row.held_out_partners if split == "held_out" else row.partners
    found = []
    for task in ids:
        base = resolve_task(row, task)
        if row.focal is None:
            found.append(base)
            continue
        for partner in partners or row.partners:
            found.append(replace(base, label=f"{base.label} with {partner}", partner=partner))
    return found


def resolve_task(row: Row, task: str) -> Setting:
    """Return the setting of one id of a row, without its partner."""
    spec = task_spec(task)
    world = world_spec(spec.world)
    given = _fields_of(spec)
    config = make_config(world, {**given, **row.config})
    agents = config.names(config.fixed_envelope().agents)
    focal = len(agents) if row.focal is None else row.focal
    if not 1 <= focal <= len(agents) or (row.focal is not None and focal == len(agents)):
        raise SuiteError(f"{task}: focal={focal} leaves no partner among {len(agents)} agents")
    label = row.label or task
    if row.config and not row.label:
        label += f" ({', '.join(f'{key}={value}' for key, value in sorted(row.config.items()))})"
    return Setting(
        label=label,
        name=slug("-".join((task, *(f"{key}-{row.config[key]}" for key in sorted(row.config))))),
        task=spec.id,
        version=load(world.world, world).version_of(config),
        config={**given, **row.config},
        config_hash=config_hash(config),
        agents=agents,
        measure=row.measure,
        focal=focal,
        partner="",
        low=row.low,
        high=row.high if world.oracle or row.high != "oracle" else "scripted",
        certified=row.certified,
        without=row.without,
    )


def slug(text: str) -> str:
    """Return a text as the name of a file."""
    return re.sub(r"[^A-Za-z0-9.-]+", "_", text.removeprefix("piase/")).strip("_")


def _fields_of(task: TaskSpec) -> dict[str, Any]:
    """Return the config fields of an id as values that JSON has; a scenario is written out."""
    if task.scenario is None:
        return dict(task.config)
    config = make_config(world_spec(task.world), task_fields(task))
    fields: dict[str, Any] = config.model_dump(mode="json", exclude_unset=True)
    return fields
