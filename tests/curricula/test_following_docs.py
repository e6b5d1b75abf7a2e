"""The page on following curricula: its tables are whole."""

from __future__ import annotations

import json
import re

import pytest

from piase_gym.benchmarks.speed import curriculum
from piase_gym.benchmarks.speed.commands import stored_sections
from piase_gym.curricula.directors import DIRECTORS
from piase_gym.registry import load, world_spec
from tests.helpers.needs import need
from tests.paths import DOCS

TEXT = (DOCS / "following_curricula.md").read_text("utf-8")


@pytest.mark.parametrize("world", re.findall(r"^\| ([A-Z]\w+) \| `.*\|$", TEXT, re.M))
def test_the_tables_are_whole(world: str) -> None:
    need(world)
    spec = world_spec(world)
    kind = load(spec.world, spec)
    (row,) = re.findall(rf"^\| {world} \| (.*) \| (.*) \|$", TEXT, re.M)
    difficulty_parameters, elements = (re.findall(r"`(\w+)`", cell) for cell in row)
    assert difficulty_parameters == [one.name for one in kind.difficulty_parameters]
    assert elements == [element.name for element in kind.elements]


def test_every_director_is_named() -> None:
    assert [name for name in DIRECTORS if f'| `"{name}"` |' not in TEXT] == []


def test_the_page_shows_what_is_stored_and_it_is_what_the_page_says() -> None:
    shown = dict(re.findall(r"<!-- cost: (\w+) -->\n(.*?)<!-- end -->", TEXT, re.S))
    assert shown == stored_sections("curriculum"), "run python docs/make_pages.py"
    found = json.loads(curriculum.FILE.read_text("utf-8"))
    steps = {row["name"]: row["added"] for row in found["steps"]}
    assert 0.0 < steps["ends"] <= steps["rewards"] <= curriculum.LIMIT
    plays = {row["name"]: row["us"] for row in found["episodes"]}
    assert 0.75 < plays["the same step again, of 1,000"] / plays["the same step again, of 1"] < 1.25
    assert plays["another step each time"] < plays["bare, reconfigured each time"]


def test_what_is_measured_is_what_is_told() -> None:
    found = json.loads(json.dumps(curriculum.measure_all(5)))
    steps, plays = curriculum.tables_of(found)
    assert [row[0] for row in steps[1:]] == ["bare", *curriculum.READS]
    assert steps[1][1:] == [f"{found['steps'][0]['us']:.2f}", "–"]
    assert all(row["us"] > 0.0 for row in found["steps"] + found["episodes"])
    assert len(plays) == 8
    rounds = {"bare": [1.0, 2.0, 3.0], "more": [3.0, 9.0, 4.0]}
    assert curriculum.compared(rounds)[1] == {"name": "more", "us": 4.0, "added": 2.0}
