"""Suites: which tasks are played, by whom, and what is measured. A world is one row of `TABLE`.

People name them by name, by task, as a list, or as the path of a manifest.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from piase_gym.benchmarks.evaluation.protocol import PROTOCOL, SEEDS, split_seeds
from piase_gym.benchmarks.evaluation.settings import Problem, Row, Setting, expand, missing_of
from piase_gym.errors import PiaseError, ProtocolError, SuiteError, UnknownNameError, suggest
from piase_gym.registry import list_tasks, list_worlds, task_spec

GRID = "piase/GridWorld"
SLOW = ("scripted",)
"""The script takes many seconds for an episode of some tasks."""
DILEMMA = "piase/SocialDilemma"
TABLE: tuple[Row, ...] = (
    Row(task=f"{GRID}-Empty-8x8-v0", certified=True, suites=("smoke", "standard")),
    Row(task=f"{GRID}-Empty-Random-*", certified=True),
    Row(task=f"{GRID}-FourRooms-*", certified=True),
    Row(task=f"{GRID}-Obstacles-8x8-v0", certified=True),
    Row(task=f"{GRID}-Obstacles-16x16-v0", certified=True, held_out=True),
    Row(task=f"{GRID}-DoorKey-8x8-v0", certified=True, suites=("smoke", "standard")),
    Row(task=f"{GRID}-DoorKey-[56]x*", certified=True),
    Row(task=f"{GRID}-DoorKey-16x16-v0", certified=True, held_out=True),
    Row(task=f"{GRID}-Hazards-8x8-v0"),
    Row(task=f"{GRID}-Boxes-8x8-v0"),
    Row(task=f"{GRID}-Drones-8x8-v0"),
    Row(task=f"{GRID}-Maze-9x9-v0", certified=True),
    Row(task=f"{GRID}-Maze-15x15-v0", certified=True, held_out=True),
    Row(task=f"{GRID}-MultiRoom-*", certified=True),
    Row(task=f"{GRID}-Foraging-*"),
    Row(task=f"{GRID}-Orchard-12x12-4p-v0", without=SLOW),
    Row(
        task=f"{GRID}-Tag-10x10-4p-v1",
        measure="win_rate",
        focal=2,
        partners=("random",),
        held_out_partners=("oracle",),
        without=SLOW,
    ),
    Row(
        task=f"{GRID}-FourRooms-8x8-v0",
        config={"agents": 4},
        label="piase/GridWorld-FourRooms-8x8-4p-v0",
        suites=("smoke", "standard"),
    ),
    Row(
        task=f"{GRID}-FourRooms-8x8-v0",
        config={"agents": 4},
        label="piase/GridWorld-FourRooms-8x8-1of4-v0",
        measure="per_capita",
        focal=1,
        partners=("random", "noop"),
        held_out_partners=("scripted", "oracle"),
    ),
    Row(task="piase/TextRoom-v1"),
    Row(task="piase/TextRoom-LostKey-v1", suites=("smoke", "standard")),
    Row(task="piase/TextRoom-Quest-Easy-v1"),
    Row(task="piase/TextRoom-Quest-Medium-v1"),
    Row(task="piase/TextRoom-Quest-Hard-v1", held_out=True),
    Row(task="piase/TextRoom-Sluice-v1"),
    Row(task="piase/TextRoom-ThreeLevers-v1"),
    Row(task="piase/TextRoom-StoneGate-v1", measure="win_rate"),
    Row(task="piase/PhysicsPlayground-v0", suites=("smoke", "standard")),
    Row(task="piase/PhysicsPlayground-Reach-v0"),
    Row(task="piase/PhysicsPlayground-Reach-Sphere-v0"),
    Row(task="piase/PhysicsPlayground-Push-v0"),
    Row(task="piase/PhysicsPlayground-Gather-v0"),
    Row(task="piase/PhysicsPlayground-Stack-v0", held_out=True),
    Row(task="piase/PhysicsPlayground-Carry-2p-v0"),
    Row(
        task="piase/PhysicsPlayground-KeepAway-2p-v0",
        measure="win_rate",
        focal=1,
        partners=("random",),
        held_out_partners=("oracle",),
    ),
    *(
        Row(
            task=f"{DILEMMA}-PrisonersDilemma-{task}-v0",
            label=f"{DILEMMA}-PrisonersDilemma-against-{strategy}-v0",
            measure="per_capita",
            focal=1,
            partners=(strategy,),
            low=("random", "always_cooperate", "always_defect"),
            high=f"best_response:{strategy}",
            certified=True,
            suites=("smoke", "standard") if strategy == "tit_for_tat" else ("standard",),
            held_out=strategy == "generous_tit_for_tat",
        )
        for strategy, task in (
            ("tit_for_tat", "TitForTat"),
            ("grudger", "Grudger"),
            ("pavlov", "TitForTat"),
            ("generous_tit_for_tat", "TitForTat"),
        )
    ),
    Row(
        task=f"{DILEMMA}-MatchingPennies-v0",  # all together always get nothing
        measure="per_capita",
        focal=1,
        partners=("tit_for_tat",),
        low=("random",),
        high="best_response:tit_for_tat",
        certified=True,
    ),
    Row(task=f"{DILEMMA}-v0", certified=True),
    Row(task=f"{DILEMMA}-PrisonersDilemma-v0", certified=True),
    Row(task=f"{DILEMMA}-PrisonersDilemma-Noisy-v0", certified=True),
    Row(task=f"{DILEMMA}-StagHunt-v0", certified=True),
    Row(task=f"{DILEMMA}-StagHunt-Talk-v0", certified=True),
    Row(task=f"{DILEMMA}-Chicken-v0", certified=True),
    Row(
        task=f"{DILEMMA}-BattleOfTheSexes-v0",
        low=("random",),  # nobody moving is one of the best that can be done
        certified=True,
    ),
    Row(task=f"{DILEMMA}-PublicGoods-4p-v0", certified=True),
    Row(task=f"{DILEMMA}-PublicGoods-Reputation-4p-v0", certified=True, held_out=True),
    Row(task=f"{DILEMMA}-VolunteersDilemma-4p-v0", certified=True),
    Row(task=f"{DILEMMA}-Harvest-4p-v0", suites=("smoke", "standard")),
    Row(task=f"{DILEMMA}-Cleanup-4p-v0"),
    Row(task=f"{DILEMMA}-Harvest-8p-v0", held_out=True),
    Row(task=f"{DILEMMA}-Cleanup-8p-v0", held_out=True),
)
"""The suites' rows. Adding a world is adding one."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A named list of rows.

    Attributes:
        name: Its name.
        rows: Its rows.
        episodes: Seeds a setting, unless `evaluate` is told otherwise.
        split: Which seeds.
    """

    name: str
    rows: tuple[Row, ...]
    episodes: int = 20
    split: str = "dev"

    def settings(self, split: str | None = None) -> tuple[list[Setting], list[Problem]]:
        """Resolve the rows against the registry; without those of `missing`.

        Returns:
            Settings in order, and for what cannot be resolved a problem each.
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
        return [row for row in self.rows if split == "held_out" or not row.held_out]

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
    """Return the suite of every world that exists: its rows, or its plain id without one."""
    rows = [row for row in TABLE if "smoke" in row.suites]
    covered = {
        task_spec(task).world for row in rows for task in fnmatch.filter(list_tasks(), row.task)
    }
    for world in list_worlds():
        ids = [task for task in list_tasks(world) if task.startswith("piase/")]
        if ids and world not in covered:
            rows.append(Row(task=min(ids, key=len)))
    return Suite(name="smoke", rows=tuple(rows), episodes=20, split="dev")


def standard() -> Suite:
    """Return the suite that papers report: held-out seeds, scenarios and partners."""
    rows = tuple(row for row in TABLE if "standard" in row.suites)
    return Suite(name="standard", rows=rows, episodes=100, split="held_out")


SUITES = {"smoke": smoke, "standard": standard}
"""Suites by name."""


def read_suite(suite: str | Path | Suite | Row | Iterable[str | Row]) -> Suite:
    """Return a suite: by name, from a manifest's path, of one task, or of several.

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
        rows = _rows_of(suite)
        if not any(fnmatch.filter(list_tasks(), row.task) for row in rows):
            raise UnknownNameError("suite or task", suite, (*SUITES, *list_tasks()))
        return Suite(name=suite, rows=rows)
    if not isinstance(suite, Iterable):
        raise SuiteError(f"a suite is a name, a path, rows or task ids, not {suite!r:.60}")
    return Suite(name="own", rows=_read_rows(list(suite)))


def _rows_of(task: str) -> tuple[Row, ...]:
    """Return the declared rows of a task, or a plain row."""
    task = task.rsplit(":", 1)[-1]
    rows = [replace(row, held_out=False) for row in TABLE if (row.label or row.task) == task]
    for row in () if rows else TABLE:
        if not row.label and fnmatch.fnmatch(task, row.task):
            rows.append(replace(row, task=task, held_out=False))
    return tuple(rows[:1]) or (Row(task=task),)


def _read_rows(items: Sequence[Any]) -> tuple[Row, ...]:
    """Return a row for each id or row of a list."""
    rows: list[Row] = []
    for item in items:
        if not isinstance(item, str | Row):
            raise SuiteError(f"a suite's rows are task ids or Row objects, not {item!r:.60}")
        rows += _rows_of(item) if isinstance(item, str) else [item]
    if not rows:
        raise SuiteError("a suite needs at least one row")
    return tuple(rows)


def _read_manifest(path: Path) -> Suite:
    """Read what `Suite.manifest` wrote."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SuiteError(f"{path}: the manifest cannot be read: {error}") from None
    if not isinstance(data, Mapping) or "rows" not in data:
        raise SuiteError(f"{path}: a manifest is a mapping with a key 'rows'")
    if data.get("protocol") != PROTOCOL:
        found = data.get("protocol")
        raise ProtocolError(f"{path} is of protocol {found!r}; allowed here: {PROTOCOL}")
    return Suite(
        name=str(data.get("name", path.stem)),
        rows=tuple(_read_row(item, path) for item in data["rows"]),
        episodes=_checked_episodes(data, path),
        split=str(data.get("split", "dev")),
    )


def _checked_episodes(data: Mapping[str, Any], path: Path) -> int:
    """Check split and episodes of a manifest."""
    try:
        return len(split_seeds(str(data.get("split", "dev")), data.get("episodes", 20)))
    except SuiteError as error:
        raise SuiteError(f"{path}: {error}") from None


def _read_row(item: Any, path: Path) -> Row:
    """Read one row of a manifest."""
    if isinstance(item, str):
        return _rows_of(item)[0]
    names = [entry.name for entry in fields(Row)]
    if not isinstance(item, Mapping) or "task" not in item:
        raise SuiteError(f"{path}: a row is a mapping with a key 'task', not {item!r:.60}")
    for key in item:
        if key not in names:
            raise SuiteError(f"{path}: unknown key {key!r} in a row; {suggest(key, names)}")
    lists = {key: tuple(value) for key, value in item.items() if isinstance(value, list)}
    return Row(**{**item, **lists})
