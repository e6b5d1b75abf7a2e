"""What is measured of players and worlds is measured in small, and told as it was found."""

from __future__ import annotations

import itertools
import json
import math
from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.benchmarks.speed import household, object_search, timing, word_craft
from piase_gym.benchmarks.speed.timing import Row

ABOUT = {
    "machine": "a machine",
    "versions": dict.fromkeys(("piase_gym", "python", "numpy", "numba"), "1.0"),
    "load": [0.0, 0.0],
}


def ticking(monkeypatch: pytest.MonkeyPatch, module: Any, tick: float = 1.0) -> None:
    """Let the clock that a module reads go on by a tick whenever it is read."""
    clock = itertools.count()
    stand_in = SimpleNamespace(process_time=lambda: tick * next(clock))
    monkeypatch.setattr(module, "time", stand_in)


# -- Household ----------------------------------------------------------------------------


def test_homes_are_played_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(household, "HOMES", 2)
    monkeypatch.setattr(household, "STEPS", 1)
    ticking(monkeypatch, household)
    ticking(monkeypatch, timing)
    found = json.loads(json.dumps(household.measure_all()))
    assert found["games"] == 0
    assert list(found["players"]) == ["generated homes"]
    players = found["players"]["generated homes"]
    assert list(players) == ["random", "search", "oracle"]
    assert players["random"] == {"won": 0.0, "steps": 0.0}
    assert players["oracle"]["won"] == players["search"]["won"] == 1.0
    assert 0 < players["oracle"]["steps"] <= players["search"]["steps"] <= 50
    # One episode is played and takes a tick, so a rate is its steps.
    assert {wording: rate >= 2 and rate % 1 == 0 for wording, rate in found["rates"].items()} == {
        "canonical": True,
        "native": True,
    }
    # A second for two homes, two plans, and 200 resets.
    assert found["costs"] == {
        "a generated home, certified": 500.0,
        "a plan": 500.0,
        "a reset of a loaded game": 5.0,
    }


# -- ObjectSearch -------------------------------------------------------------------------


def test_teams_are_compared_in_the_same_houses(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {
        "explorers with reports": (40.0, 60.0),
        "explorers without": (70.0, 70.0),
        "coverage planner": (20.0, 20.0),
        "oracle": (5.0, 7.0),
    }
    asked: list[tuple[str, int]] = []

    def play(player: str, seed: int) -> dict[str, float]:
        asked.append((player, seed))
        return {"steps": steps[player][seed - 10_000], "coverage": 0.5}

    monkeypatch.setattr(object_search, "play", play)
    monkeypatch.setattr(object_search, "_house", lambda: 0.125)
    monkeypatch.setattr(object_search, "_rates", lambda *given: {"rates": given})
    found = object_search.measure_all(houses=2, rounds=3, seconds=0.5)
    assert asked == [(player, seed) for player in steps for seed in (10_000, 10_001)]
    assert (found["houses"], found["house_ms"], found["rates"]) == (2, 0.125, (3, 0.5))
    assert list(found["players"]) == list(steps)
    assert found["players"]["oracle"] == {
        "steps": [6.0, pytest.approx(1.96)],  # a deviation of sqrt(2) over sqrt(2)
        "coverage": [0.5, 0.0],
    }
    # Two of three draws of two houses are unlike (2.5), the others of one house alone (2 or 3).
    assert found["ratio"] == [2.5, 2.0, 3.0]
    assert found["gain"] == [20.0, pytest.approx(19.6)]  # 30 and 10 fewer


def test_rows_of_houses_have_the_names_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def row(*given: Any, **named: Any) -> Row:
        made.append((*given, named))
        name = given[0] if isinstance(given[0], str) else object_search.NOOP
        return Row(name, 1, lambda steps: None)

    for name in ("noop_row", "task_row", "world_row"):
        monkeypatch.setattr(object_search, name, row)
    monkeypatch.setattr(object_search, "measure", lambda rows, *given: ([*rows], given))
    rows, given = object_search._rates(3, 0.5)["rates"]
    stored = json.loads(object_search.FILE.read_text("utf-8"))
    assert sorted(one.name for one in rows) == sorted(stored["rates"])
    assert given == (3, 0.5, 100)
    houses = {"task": "ObjectSearch", "num_envs": 1024, "agents": 4}
    assert [one[-1] for one in made] == [
        {},
        houses,
        {**houses, "channel": False},
        {**houses, "backend": "mock"},
        {},
        {"read": True},
    ]
    assert [one[:-1] for one in (made[0], *made[4:])] == [
        (8,),
        ("ObjectSearch", 4, "vector"),
        ("ObjectSearch", 4, "both"),
    ]


# -- WordCraft ----------------------------------------------------------------------------


def test_the_interval_of_seeds_is_students() -> None:
    # Of three values t is 4.3027; the deviations are 1, 0 and 1, so the variance is 1.
    mean, reach = word_craft._interval([2.0, 3.0, 4.0])
    assert (mean, reach) == (3.0, pytest.approx(4.302653 / math.sqrt(3)))


def test_what_was_measured_of_mixing_is_told() -> None:
    shares = {"random": 0.1, "scripted": 0.5, "oracle": 1.0}
    large = {
        "entities": 700,
        "recipes": 3400,
        "tasks": {"1": 10, "2": 2000},
        "read": 0.002,
        "index": 0.01,
        "reset": 0.00025,
    }
    found = {
        "players": {"Depth1": shares},
        "learning": {
            "won": [0.5, 0.6, 0.7],
            "steps": 600_000,
            "cpu_seconds": 61.4,
            "held_out": 12,
            "random": 0.25,
        },
        "rates": {word_craft.NOOP: 2000.0, "text": 500.0},
        "books": {"a drawn book": large},
        **ABOUT,
    }
    shown = word_craft.sections(found)
    assert shown["players"].tables[0].lines[1:] == [
        ("`piase/WordCraft-Depth1-v2`", "10 %", "50 %", "100 %")
    ]
    speeds, books = shown["speed"].tables
    assert speeds.lines[1:] == [(word_craft.NOOP, "2,000", "1.00"), ("text", "500", "0.25")]
    assert books.lines[1:] == [
        ("a drawn book", "700", "3,400", "10, 2,000", "2 ms", "10 ms", "0.25 ms")
    ]
    (told,) = shown["learning"].words
    # 0.1 * 4.3027 / sqrt(3) is 0.248.
    assert "600,000 steps in 61 CPU-seconds: it wins 60 % (± 25," in told
    assert "over 3 seeds) of 200 episodes with the 12 tasks" in told
    assert "random play wins 25 %." in told


@pytest.mark.parametrize(("alone", "rate"), [(False, 8.0), (True, 1.6)])
def test_a_rate_of_texts_is_steps_a_second(
    alone: bool, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking(monkeypatch, word_craft, 0.5)

    class Env:
        agents: list[str]

        def reset(self, seed: int | None = None) -> None:
            self.agents = ["agent_0"]

        def step(self, act: dict[str, int]) -> None:
            self.agents = []

    monkeypatch.setattr(word_craft.piase_gym, "parallel_env", lambda *_, **__: Env())
    # With resets the clock is read twice, half a second apart. Without them it is read ten times,
    # and the half-seconds of four resets do not count.
    assert word_craft.text_rate({}, alone, 4)() == pytest.approx(rate)


def test_every_house_is_another() -> None:
    first, again, other = (object_search.play("oracle", seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_what_is_learned_of_mixing_was_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    small = {"total_steps": 256, "num_envs": 16, "num_steps": 8, "minibatch": 64, "width": 16}
    monkeypatch.setattr(word_craft, "LEARNING", {**word_craft.LEARNING, **small})
    monkeypatch.setattr(word_craft, "HELD_OUT", word_craft.HELD_OUT[:3])
    monkeypatch.setattr(word_craft, "SEEDS", range(2))
    found = word_craft.learn()
    assert found["steps"] == 256
    assert len(found["won"]) == 2
    assert found["cpu_seconds"] > 0
