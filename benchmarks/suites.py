"""Suites: which tasks are played, by whom, and what is measured. A world is one row of `TABLE`."""

from __future__ import annotations

import fnmatch
import json
from dataclasses import asdict, dataclass
from typing import Any

from piase_gym.benchmarks.protocol import PROTOCOL, SEEDS
from piase_gym.benchmarks.settings import Problem, Row, Setting, expand, missing_of
from piase_gym.errors import PiaseError
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
