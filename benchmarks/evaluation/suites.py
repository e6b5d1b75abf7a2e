"""Suites: which tasks are played, by whom, and what is measured.

A `Row` may stand for a family of ids (``piase/GridWorld-Empty-*``) and for several partners; each
of its `Setting` objects, resolved against the registry, is one line of results. The rows of the
suites are in ``suites.yaml``. A suite is given by its name, by a task, as a list, or as the path of
a manifest.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from ruamel.yaml import YAML

from piase_gym.benchmarks.evaluation.protocol import (
    MEASURES,
    PROTOCOL,
    REPORTED,
    SEEDS,
    config_hash,
    split_seeds,
)
from piase_gym.core.validation_messages import in_words, short
from piase_gym.errors import PiaseError, ProtocolError, SuiteError, UnknownNameError, suggest
from piase_gym.names import task_fields
from piase_gym.registry import (
    has_task,
    list_tasks,
    list_worlds,
    load,
    make_config,
    missing,
    task_spec,
    world_spec,
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One task, or one family of tasks, of the suites.

    Attributes:
        task: An id, or a pattern over ids with ``*``.
        config: Fields of the config on top of the id's.
        label: Its name; by default the id, and the config's fields if there are any.
        measure: ``return``, ``per_capita`` or ``win_rate``.
        focal: How many seats the evaluated policy takes; by default all. Which seats it takes
            rotates with the seed.
        partners: Policies that play the other seats; each makes a separate line of results.
        held_out_partners: Policies that play them instead in the splits `REPORTED`.
        held_out: Whether the whole row is played in the splits `REPORTED` only.
        low: Policies that do not look; the mean of the best of them is 0 points. (Where bumping
            into walls costs more than standing still, random play is not a floor.)
        high: The best policy that the world has; 100 points are the best that is known (see
            `piase_gym.benchmarks.references.references`).
        certified: Whether `high` is proved optimal; only then is it called an oracle, and worth
            100 points whatever else is known.
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
            SuiteError: If the measure is unknown, or seats and partners do not fit together.
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
        label: Its name in results; with partners, ``<row> with <partner>``.
        name: Its name in files about the task: the id without its namespace, and what the row
            changes in its config.
        task: Id of the task.
        version: Version of the world.
        config: Fields of the config, those of the id included.
        config_hash: Hash of the config.
        agents: Names of the seats.
        measure, low, high, certified, without: As in `Row`.
        focal: How many seats the evaluated policy takes.
        partner: The policy that plays the other seats; empty if there are none.
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
        """Return which seats are focal in the episode of a seed; they rotate from seed to seed."""
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
    """Return what the ids of a row need that is not installed, or ``None``."""
    return next(filter(None, (missing(task) for task in ids_of(row) if has_task(task))), None)


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
    held_out = row.held_out_partners if split in REPORTED else ()
    partners = ("",) if row.focal is None else held_out or row.partners
    return [resolve_task(row, task, partner) for task in ids for partner in partners]


def resolve_task(row: Row, task: str, partner: str) -> Setting:
    """Return the setting of one id of a row with one partner."""
    spec = task_spec(task)
    world = world_spec(spec.world)
    fields = dict(spec.config)
    if spec.scenario is not None:  # written out as JSON values
        scenario = make_config(world, task_fields(spec))
        fields = scenario.model_dump(mode="json", exclude_unset=True)
    fields |= row.config
    config = make_config(world, fields)
    agents = config.names(config.fixed_envelope().agents)
    focal = len(agents) if row.focal is None else row.focal
    if not 1 <= focal <= len(agents) or (row.focal is not None and focal == len(agents)):
        raise SuiteError(f"{task}: focal={focal} leaves no partner among {len(agents)} agents")
    changes = sorted(row.config.items())
    return Setting(
        label=label_of(row, task, partner),
        name=slug("-".join((task, *(f"{key}-{value}" for key, value in changes)))),
        task=spec.id,
        version=load(world.world, world).version_of(config),
        config=fields,
        config_hash=config_hash(config),
        agents=agents,
        measure=row.measure,
        focal=focal,
        partner=partner,
        low=row.low,
        high=row.high if world.oracle or row.high != "oracle" else "scripted",
        certified=row.certified,
        without=row.without,
    )


def label_of(row: Row, task: str, partner: str = "") -> str:
    """Return the label in results of one id of a row with one partner."""
    changes = ", ".join(f"{key}={value}" for key, value in sorted(row.config.items()))
    name = row.label or (f"{task} ({changes})" if changes else task)
    return f"{name} with {partner}" if partner else name


def rows_by_label() -> dict[str, Row]:
    """Return the rows of the suites by the labels of the settings they stand for."""
    return {
        label_of(row, task, partner): row
        for row in TABLE
        for task in ids_of(row)
        for partner in (*row.partners, *row.held_out_partners) or ("",)
    }


def slug(text: str) -> str:
    """Return a text in the form of a file name."""
    return re.sub(r"[^A-Za-z0-9.-]+", "_", text.removeprefix("piase/")).strip("_")


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A named list of rows.

    Attributes:
        name: Its name.
        rows: Its rows.
        episodes: Number of seeds per setting, unless `evaluate` is given another.
        split: The split of the seeds, unless `evaluate` is given another.
    """

    name: str
    rows: tuple[Row, ...]
    episodes: int = 20
    split: str = "dev"

    def settings(self, split: str | None = None) -> tuple[list[Setting], list[Problem]]:
        """Resolve the rows against the registry, without those that `missing` returns.

        Returns:
            Settings in order, and one problem for each row that cannot be resolved.
        """
        split = self.split if split is None else split
        found: dict[str, Setting] = {}
        problems = []
        for row in self._rows_in(split):
            if missing_of(row):
                continue
            try:
                for setting in expand(row, split):
                    found.setdefault(setting.label, setting)
            except PiaseError as error:
                problems.append(Problem(row.label or row.task, str(error)))
        return list(found.values()), problems

    def missing(self, split: str | None = None) -> list[Problem]:
        """Return the rows whose world needs an optional part that is not installed, and why."""
        rows = self._rows_in(self.split if split is None else split)
        reasons = ((row.label or row.task, missing_of(row)) for row in rows)
        return [Problem(where, reason) for where, reason in reasons if reason]

    def _rows_in(self, split: str) -> list[Row]:
        """Return the rows that are played in a split."""
        return [row for row in self.rows if split in REPORTED or not row.held_out]

    def manifest(self) -> dict[str, Any]:
        """Return the suite, its seed ranges, held-out scenarios and partners as JSON-able data."""
        return {
            "protocol": PROTOCOL,
            "name": self.name,
            "episodes": self.episodes,
            "split": self.split,
            "seeds": {name: [r.start, r.stop] for name, r in SEEDS.items()},
            "held_out_scenarios": [row.label or row.task for row in self.rows if row.held_out],
            "held_out_partners": {
                row.label or row.task: list(row.held_out_partners)
                for row in self.rows
                if row.held_out_partners
            },
            "rows": [json.loads(json.dumps(asdict(row))) for row in self.rows],
        }


def smoke() -> Suite:
    """Return the suite of every world that exists: its rows, or its plain id if it has none."""
    rows = [row for row in TABLE if "smoke" in row.suites]
    covered = {
        task_spec(task).world for row in rows for task in fnmatch.filter(list_tasks(), row.task)
    }
    for world in list_worlds():
        ids = [task for task in list_tasks(world) if task.startswith("piase/")]
        if ids and world not in covered and world_spec(world).outside is None:
            rows.append(Row(task=min(ids, key=len)))
    return Suite(name="smoke", rows=tuple(rows), episodes=20, split="dev")


def standard() -> Suite:
    """Return the suite to report in papers: held-out seeds, scenarios and partners."""
    rows = tuple(row for row in TABLE if "standard" in row.suites)
    return Suite(name="standard", rows=rows, episodes=100, split="held_out")


SUITES = {"smoke": smoke, "standard": standard}
"""Suites by name."""


def read_suite(suite: str | Path | Suite | Row | Iterable[str | Row]) -> Suite:
    """Return a suite: by name, from a manifest's path, of one task, or of several tasks.

    Raises:
        UnknownNameError: If a single name is neither a suite, a task nor a file.
        SuiteError: If a manifest cannot be read.
        ProtocolError: If it is of another protocol version.
    """
    if isinstance(suite, Suite):
        return suite
    if isinstance(suite, Row):
        return Suite(name=suite.label or suite.task, rows=(suite,))
    if isinstance(suite, Path) or (isinstance(suite, str) and suite.endswith(".json")):
        return _read_manifest(Path(suite))
    if isinstance(suite, str):
        if suite in SUITES:
            return SUITES[suite]()
        row = _row_of(suite)
        if not fnmatch.filter(list_tasks(), row.task):
            raise UnknownNameError("suite or task", suite, (*SUITES, *list_tasks()))
        return Suite(name=suite, rows=(row,))
    if not isinstance(suite, Iterable):
        raise SuiteError(f"a suite is a name, a path, rows or task ids, not {suite!r:.60}")
    return Suite(name="own", rows=_read_rows(list(suite)))


def _row_of(task: str) -> Row:
    """Return the declared row of a task, or a plain one."""
    task = task.rsplit(":", 1)[-1]
    for row in TABLE:
        if (row.label or row.task) == task:
            return replace(row, held_out=False)
    for row in TABLE:
        if not row.label and fnmatch.fnmatch(task, row.task):
            return replace(row, task=task, held_out=False)
    return Row(task=task)


def _read_rows(items: Sequence[Any]) -> tuple[Row, ...]:
    """Return a row for each id or row of a list."""
    for item in items:
        if not isinstance(item, str | Row):
            raise SuiteError(f"a suite's rows are task ids or Row objects, not {item!r:.60}")
    if not items:
        raise SuiteError("a suite needs at least one row")
    return tuple(_row_of(item) if isinstance(item, str) else item for item in items)


def _read_manifest(path: Path) -> Suite:
    """Read what `Suite.manifest` wrote."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SuiteError(f"{path}: the manifest cannot be read: {error}") from None
    if not isinstance(data, Mapping) or not isinstance(data.get("rows"), list):
        raise SuiteError(f"{path}: a manifest is a mapping with a key 'rows', which is a list")
    if data.get("protocol") != PROTOCOL:
        found = data.get("protocol")
        raise ProtocolError(f"{path} is of protocol {found!r}; allowed here: {PROTOCOL}")
    rows = tuple(_read_row(item, path) for item in data["rows"])
    split = str(data.get("split", "dev"))
    try:
        episodes = len(split_seeds(split, data.get("episodes", 20)))
    except SuiteError as error:
        raise SuiteError(f"{path}: {error}") from None
    return Suite(name=str(data.get("name", path.stem)), rows=rows, episodes=episodes, split=split)


def _read_row(item: Any, path: Path) -> Row:
    """Read one row of a manifest."""
    if isinstance(item, str):
        return _row_of(item)
    if not isinstance(item, Mapping) or "task" not in item:
        raise SuiteError(f"{path}: a row is a mapping with a key 'task', not {item!r:.60}")
    found: dict[str, Any] = {}
    for key, value in item.items():
        if key not in KINDS:
            raise SuiteError(f"{path}: unknown key {key!r} in a row; {suggest(key, KINDS)}")
        found[key] = tuple(value) if isinstance(value, list) else value
        try:
            KINDS[key].validate_python(found[key], strict=True)
        except ValidationError as error:
            message, got = in_words(error.errors(include_url=False)[0]), short(value)
            raise SuiteError(f"{path}: {key} of a row: {message} (got {got})") from None
    return Row(**found)


KINDS = {name: TypeAdapter[Any](kind) for name, kind in get_type_hints(Row).items()}
"""What the values of a row in a manifest are, by key."""
ROWS = Path(__file__).with_name("suites.yaml")
TABLE: tuple[Row, ...] = tuple(
    _read_row(item, ROWS) for item in YAML(typ="safe", pure=True).load(ROWS.read_text("utf-8"))
)
"""The suites' rows."""
