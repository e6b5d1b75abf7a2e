"""The page on how a tile is added: its changes are few, and the new tile works everywhere."""

from __future__ import annotations

import heapq
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli_runner import piase
from tests.paths import DOCS, ROOT

PAGE = (DOCS / "add_a_tile.md").read_text("utf-8")
LEVEL = "piase/GridWorld-Ice-9x7-v1"
STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""By action: up, down, left, right."""


def apply(diff: str, top: Path) -> str:
    """Apply the diff of one file; return its name. Hunks are found by what they replace."""
    name = re.findall(r"^\+\+\+ b/(\S+)$", diff, re.M)[0]
    path, text = top / name, ""
    if path.exists():
        text = path.read_text("utf-8")
    for hunk in re.split(r"^@@ .* @@\n", diff, flags=re.M)[1:]:
        lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "+")
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "-")
        assert text.count(old) == 1 or not text, f"{name} has not once:\n{old}"
        text = text.replace(old, new) if text else new
    path.write_text(text, encoding="utf-8")
    return name


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A copy of the package with the page's changes, and the names of the files they touch."""
    top = tmp_path_factory.mktemp("ice")
    unused = shutil.ignore_patterns("__pycache__", "studies", "measured")
    shutil.copytree(ROOT / "piase_gym", top / "piase_gym", ignore=unused)
    diffs = re.findall(r"```diff\n(.*?)```", PAGE, re.S)
    return top, [apply(diff, top) for diff in diffs]


def test_five_files_are_enough(copied: tuple[Path, list[str]]) -> None:
    top, names = copied
    changed = [
        path.relative_to(top).as_posix()
        for path in top.rglob("*.py")
        if not (ROOT / path.relative_to(top)).exists()
        or path.read_bytes() != (ROOT / path.relative_to(top)).read_bytes()
    ]
    assert sorted(changed) == sorted(names)
    assert len(names) == 5


# -- what is played there -------------------------------------------------------------------

PLAY = """
import json, sys
import numpy as np
import piase_gym
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.players.oracle import GridWorldOracle
from piase_gym.worlds.grid_world.world import GridWorld

def world_of(rows, **fields):
    world = GridWorld(GridWorldConfig(map=tuple(rows), agents="".join(rows).count("@"), **fields))
    world.reset(0)
    return world

def case(rows, acts, fields, carry):
    world = world_of(rows, **{"random_goals": 0, **fields})
    world.states["carry"][0, 0] = carry
    for row in acts:
        outcomes = world.step(row).outcomes
    s = world.states[0]
    n = world.config.agents
    seen = [np.array_equal(world.vectors()[a], world.vector(world.facts(a))) for a in range(n)]
    return {
        "at": [list(p) for p in zip(s["x"][:n].tolist(), s["y"][:n].tolist())],
        "heading": s["heading"][:n].tolist(), "alive": s["alive"][:n].tolist(),
        "outcomes": [str(o.value) for o in outcomes],
        "rows": world.ansi().split("\\n")[: len(rows)],
        "why": world.why_failed(0), "same": all(s["alive"][a] == 0 or seen[a] for a in range(n)),
    }

def oracle(rows):
    world = world_of(rows)
    guide = GridWorldOracle(world)
    told, found = [guide.certificate(0), guide.best_return(0)], 0.0
    while world.alive[0]:
        found += world.step([guide.act(0)]).rewards[0]
    return [*told, found, str(world.result(0))]

def team(rows):
    world = world_of(rows, max_steps=80)
    guide = GridWorldOracle(world)
    while any(world.alive):
        world.step([guide.act(a) if lives else None for a, lives in enumerate(world.alive)])
    return [str(world.result(a)) for a in range(world.config.agents)]

def shown(level):
    env = piase_gym.parallel_env(level, view="both")
    env.reset(seed=0)
    world = env.world
    code = world.form.cell_codes["ice"]
    plain = GridWorld(world.config.model_copy(update={
        "map": tuple(row.replace("_", ".") for row in world.config.map)}))
    plain.reset(0)
    facts = world.facts(0)
    from piase_gym.worlds.grid_world.facts import parse
    return {
        "code": code, "bytes": int((world.vectors()[0] == code).sum()),
        "text": world.to_text(facts, world.config), "ansi": world.ansi(),
        "reads": parse(world.to_text(facts, world.config), world.config) == facts,
        "prompt": env.instructions("agent_0"),
        "pixels": int((world.rgb() != plain.rgb()).any(-1).sum()),
        "page": world.page_sections(),
    }

asked = json.loads(sys.argv[1])
print(json.dumps({
    "cases": [case(*args) for args in asked["cases"]],
    "oracle": [oracle(rows) for rows in asked["rinks"]],
    "level": oracle(asked["level"]),
    "team": [team(rows) for rows in asked["teams"]],
    "shown": shown(asked["id"]),
}))
"""
UP, DOWN, LEFT, RIGHT, STAY, INTERACT = range(6)
SINGLE: dict[str, tuple[Sequence[str], list[list[int]], dict[str, Any], int, dict[str, Any]]] = {
    "leaves the ice": (("@__..", "....."), [[RIGHT]], {}, 0, {"at": [[3, 0]]}),
    "wall ahead": (("@__#.", "....."), [[RIGHT]], {}, 0, {"at": [[2, 0]], "outcomes": ["ok"]}),
    "edge ahead": (("@____", "....."), [[RIGHT]], {}, 0, {"at": [[4, 0]]}),
    "no way on": (
        ("@__#.", "....."),
        [[RIGHT], [RIGHT]],
        {},
        0,
        {"at": [[2, 0]], "outcomes": ["failed"], "why": "The wall is in the way."},
    ),
    "turns": (("@_#..", ".____"), [[RIGHT], [DOWN]], {}, 0, {"at": [[1, 1]], "heading": [2]}),
    "starts on ice": (("@_#..", ".___."), [[RIGHT], [DOWN], [RIGHT]], {}, 0, {"at": [[4, 1]]}),
    "box ahead": (("@__O.", "....."), [[RIGHT]], {}, 0, {"at": [[2, 0]]}),
    "box pushed from ice": (
        ("@__O.", "....."),
        [[RIGHT], [RIGHT]],
        {},
        0,
        {"at": [[3, 0]], "outcomes": ["ok"]},
    ),
    "closed door ahead": (("@__+.", "....."), [[RIGHT]], {}, 0, {"at": [[2, 0]]}),
    "closed door opened": (
        ("@__+.", "....."),
        [[RIGHT], [INTERACT], [RIGHT]],
        {},
        0,
        {"at": [[3, 0]]},
    ),
    "key ahead": (("@__k.", "....."), [[RIGHT]], {}, 0, {"at": [[2, 0]]}),
    "open gate": (("@__-_", "....."), [[RIGHT]], {}, 0, {"at": [[3, 0]]}),
    "hazard ahead": (
        ("@__~.", "....."),
        [[RIGHT]],
        {},
        0,
        {"at": [[3, 0]], "alive": [0], "outcomes": ["ok"]},
    ),
    "mild hazard ahead": (
        ("@__~_", "....."),
        [[RIGHT]],
        {"hazard_ends": False},
        0,
        {"at": [[3, 0]], "alive": [1]},
    ),
    "fruit ahead": (("@__*_", "....."), [[RIGHT]], {"regrow": 0.0}, 0, {"at": [[3, 0]]}),
    "goal ahead": (("@__G.", "....."), [[RIGHT]], {}, 0, {"at": [[3, 0]], "alive": [0]}),
    "nothing is put down on ice": (
        ("@#...", "_...."),
        [[DOWN], [UP], [DOWN], [INTERACT]],
        {},
        5,
        {"at": [[0, 1]]},
    ),
    "agent ahead": (
        ("@__@.", "....."),
        [[RIGHT, STAY]],
        {},
        0,
        {"at": [[2, 0], [3, 0]], "outcomes": ["ok", "ok"]},
    ),
    "two to the same cell": (
        ("@__.__@", "......."),
        [[RIGHT, LEFT]],
        {},
        0,
        {"at": [[3, 0], [4, 0]], "heading": [1, 3]},
    ),
    "who goes first is gone": (
        ("@@__..", "......"),
        [[RIGHT, RIGHT]],
        {},
        0,
        {"at": [[0, 0], [4, 0]], "outcomes": ["failed", "ok"]},
    ),
    "through each other": (
        ("@__@_.", "......"),
        [[RIGHT, STAY]],
        {"collisions": "pass"},
        0,
        {"at": [[3, 0], [3, 0]], "outcomes": ["ok", "ok"]},
    ),
}
TEAMS = (
    ("#######", "#@___@#", "#_#_#_#", "#_____#", "#__G__#", "#######"),
    ("########", "#@@____#", "#__#___#", "#G____.#", "########"),
)


def slide(rows: Sequence[str], x: int, y: int, act: int) -> tuple[int, int]:
    """Return where a move leads among walls, floor, ice and a goal, written from the rule."""
    dx, dy = STEPS[act]
    if rows[y + dy][x + dx] == "#":
        return x, y
    x, y = x + dx, y + dy
    while rows[y][x] == "_" and rows[y + dy][x + dx] != "#":
        x, y = x + dx, y + dy
    return x, y


def best(rows: Sequence[str]) -> tuple[int, float] | None:
    """Return the fewest steps and the highest return of an arrival, by trying everything."""
    start = next((row.index("@"), y) for y, row in enumerate(rows) if "@" in row)
    queue, done, steps = [(0.0, 0, start)], set(), {start: 0}
    wave = [start]
    for place in wave:
        for act in range(4):
            to = slide(rows, *place, act)
            if to not in steps:
                steps[to] = steps[place] + 1
                wave.append(to)
    while queue:
        loss, moves, (x, y) = heapq.heappop(queue)
        if rows[y][x] == "G":
            return steps[x, y], 10.0 - loss + 0.1  # the last move is worth the goal's reward
        if (x, y) in done:
            continue
        done.add((x, y))
        for act in range(4):
            to = slide(rows, x, y, act)
            heapq.heappush(queue, (loss + (1.0 if to == (x, y) else 0.1), moves + 1, to))
    return None


def rinks() -> list[list[str]]:
    """Return random rinks of one size that can be won."""
    draw, found = random.Random(0), []
    while len(found) < 40:
        inside = ["".join(draw.choices("#._", (2, 1, 6), k=7)) for _ in range(5)]
        cells = list("".join(inside))
        start, goal = draw.sample(range(35), 2)
        cells[start], cells[goal] = "@", "G"
        rows = [
            "#########",
            *(f"#{''.join(cells[i : i + 7])}#" for i in range(0, 35, 7)),
            "#########",
        ]
        if best(rows) is not None:
            found.append(rows)
    return found


@pytest.fixture(scope="module")
def played(copied: tuple[Path, list[str]]) -> dict[str, Any]:
    """All that was played and seen in the copy, in one process.

    It is not compiled there: that takes most of a minute, and plain Python does the same. The kit
    plays the level compiled.
    """
    level = re.findall(r'^\+\s+"([#@_.G]{9})",$', PAGE, re.M)
    asked = {
        "cases": [case[:4] for case in SINGLE.values()],
        "rinks": rinks(),
        "level": level,
        "teams": TEAMS,
        "id": LEVEL,
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PLAY, json.dumps(asked)],
        env={**os.environ, "PYTHONPATH": str(copied[0]), "NUMBA_DISABLE_JIT": "1"},
        cwd=copied[0],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "asked": asked}


@pytest.mark.slow
def test_slides_are_exactly_right(played: dict[str, Any]) -> None:
    for (name, case), found in zip(SINGLE.items(), played["cases"], strict=True):
        assert {key: found[key] for key in case[4]} == case[4], name
        assert found["same"], name
        agents = len(found["at"])
        for agent, ((x, y), alive) in enumerate(zip(found["at"], found["alive"], strict=True)):
            wide = 2 if agents > 1 else 1  # it stands where it is drawn, and nowhere else
            drawn = [row[x * wide : (x + 1) * wide] for row in found["rows"]][y]
            assert (drawn[:1] in tuple("^>v<")) == bool(alive), (name, agent)
    boxes = {name: found["rows"] for name, found in zip(SINGLE, played["cases"], strict=True)}
    assert boxes["box ahead"] == ["._>O.", "....."]
    assert boxes["box pushed from ice"][0] == ".__>O"
    assert boxes["fruit ahead"][0] == ".__>_"
    assert boxes["nothing is put down on ice"][1] == "v...."


@pytest.mark.slow
def test_the_oracle_slides_as_well_as_can_be(played: dict[str, Any]) -> None:
    for rows, (steps, promised, found, result) in zip(
        played["asked"]["rinks"], played["oracle"], strict=True
    ):
        least, highest = best(rows) or (0, 0.0)
        assert steps == least, rows
        assert promised == pytest.approx(highest), rows
        assert found == pytest.approx(highest), rows
        assert result == "won"


@pytest.mark.slow
def test_the_level_is_won_by_sliding_alone(played: dict[str, Any]) -> None:
    rows = played["asked"]["level"]
    steps, promised, found, result = played["level"]
    assert (steps, result) == (12, "won")
    assert best(rows) == (12, pytest.approx(promised))
    assert found == pytest.approx(promised)
    ways, (x, y) = [], (1, 1)  # as if ice were floor: the goal is seven cells away, and not reached
    for act in (DOWN, RIGHT, DOWN, RIGHT, RIGHT, RIGHT, UP, RIGHT):
        x, y = slide(rows, x, y, act)
        ways.append(rows[y][x])
    assert "G" not in ways


@pytest.mark.slow
def test_teams_slide(played: dict[str, Any]) -> None:
    assert played["team"] == [["won", "won"]] * len(TEAMS)


@pytest.mark.slow
def test_everything_shows_ice(played: dict[str, Any]) -> None:
    shown = played["shown"]
    assert shown["code"] == 22
    assert shown["bytes"] == 18
    assert "Ice: in your row, 2 to 3 east and 6 east; 1 south, " in shown["text"]
    assert shown["reads"]
    assert "#_______#" in shown["ansi"]
    assert "_ ice" in shown["ansi"]
    assert "On ice you slide on" in shown["prompt"]
    assert shown["pixels"] > 20 * 30 * 30
    assert "| 22 | `_` | ice | one slides on" in shown["page"]["Cells"]
    assert "Ice: a rink" in shown["page"]["Levels"]


@pytest.mark.slow
def test_the_level_passes_the_kit(copied: tuple[Path, list[str]]) -> None:
    done = piase("check", LEVEL, cwd=copied[0], columns=150, PYTHONPATH=str(copied[0]))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout.splitlines()[-1])
