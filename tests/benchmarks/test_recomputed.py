"""Results are recomputed from the stored episodes: slowly, in plain Python."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from piase_gym.agents import Agent
from piase_gym.benchmarks import Results, evaluate
from piase_gym.benchmarks.references.references import shipped

TASKS = ("piase/GridWorld-Empty-Random-5x5-v1", "piase/GridWorld-Empty-Random-6x6-v1")
DRAWS = 3000


class Clumsy(Agent):
    """Acts by chance, and now and then as the script does: another training run for each share."""

    def __init__(self, share: int) -> None:
        super().__init__()
        self.share = share

    def act(self) -> int:
        percept: Any = self.percept
        legal = percept.mask.nonzero()[0]
        turn = percept.step * 7 + self.share
        return int(legal[turn % len(legal)] if turn % 10 < self.share else legal[-1])


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What an evaluation of three runs wrote, as JSON, and its results."""
    out: Path = tmp_path_factory.mktemp("runs")
    runs = {"clumsy": [Clumsy(2), Clumsy(5), Clumsy(8)], "random": "random"}
    evaluate(runs, list(TASKS), episodes=20, out=out)
    data = json.loads((out / "results.json").read_text("utf-8"))
    return data, Results.from_json(data)


def mean(values: Any) -> float:
    """The mean."""
    values = list(values)
    return sum(values) / len(values)


def episodes(data: Any, task: str, policy: str, what: str) -> list[list[float]]:
    """Values or wins by run, from the stored episodes."""
    found: dict[int, list[float]] = {}
    for record in data["episodes"]:
        if (record["setting"], record["policy"]) == (task, policy):
            wins = mean(result == "won" for result in record["results"].values())
            found.setdefault(record["run"], []).append(wins if what == "won" else record["value"])
    return [found[run] for run in sorted(found)]


def ends(draws: list[float], tail: float) -> tuple[float, float]:
    """The values that a share of the draws lies beyond, on each side."""
    ordered = sorted(draws)
    return ordered[int(tail * DRAWS)], ordered[DRAWS - 1 - int(tail * DRAWS)]


def redraw(dice: random.Random, runs: list[list[float]]) -> list[float]:
    """Means of as many runs, drawn, over seeds that are drawn once for all of them."""
    chosen, seeds = [dice.choice(runs) for _ in runs], range(len(runs[0]))
    drawn = [dice.choice(seeds) for _ in seeds]
    return [mean(run[seed] for seed in drawn) for run in chosen]


def student(values: list[float], quantile: float) -> float:
    """How far Student's interval of a mean reaches, with the quantile of its table."""
    middle = mean(values)
    variance = sum((value - middle) ** 2 for value in values) / (len(values) - 1)
    return float(quantile * (variance / len(values)) ** 0.5)


def anchors(task: str) -> tuple[list[float], list[float]]:
    """Stored values of the better blind policy, and of the certified oracle."""
    policies = shipped()["settings"][task]["policies"]
    blind = [policies[name]["values"] for name in ("random", "noop")]
    return max(blind, key=mean), policies["oracle"]["values"]


def scaled(value: float, low: float, high: float) -> float:
    """Points."""
    return 100.0 * (value - low) / (high - low)


@pytest.mark.parametrize("task", TASKS)
def test_values_success_and_scores(stored: Any, task: str) -> None:
    data, results = stored
    row, dice = results.row(task, "clumsy"), random.Random(0)
    tail = 0.0159  # of the normal, where Student's 2.5 % of 20 episodes lie, widened: 2.09 * 1.026
    assert (row.runs, row.episodes) == (3, 60)
    for what, told in (("value", row.value), ("won", row.success)):
        runs = episodes(data, task, "clumsy", what)
        assert told.estimate == pytest.approx(mean(map(mean, runs)))
        drawn = [mean(redraw(dice, runs)) for _ in range(DRAWS)]
        assert told.low <= ends(drawn, 0.025)[0]
        assert told.high >= ends(drawn, 0.025)[1]
        if what == "value":
            by_seed = [mean(row) for row in zip(*runs, strict=True)]
            both = student([*map(mean, runs)], 4.303), student(by_seed, 2.093)
            far = sum(one**2 for one in both) ** 0.5
            low, high = ends(drawn, tail)
            low, high = min(low, told.estimate - far), max(high, told.estimate + far)
            reach = 0.05 * (high - low)
            assert (told.low, told.high) == (
                pytest.approx(low, abs=reach),
                pytest.approx(high, abs=reach),
            )
    low, high = anchors(task)
    value = mean(map(mean, episodes(data, task, "clumsy", "value")))
    assert row.score.estimate == pytest.approx(scaled(value, mean(low), mean(high)))


def test_the_overall_score_and_who_is_better(stored: Any) -> None:
    data, results = stored
    points, drawn, dice = [], [], random.Random(1)
    values = {task: episodes(data, task, "clumsy", "value") for task in TASKS}
    for task, runs in values.items():
        low, high = anchors(task)
        points += [scaled(mean(run), mean(low), mean(high)) for run in runs]
    cut = len(points) // 4
    overall = results.overall("clumsy")
    assert overall.estimate == pytest.approx(mean(sorted(points)[cut : len(points) - cut]))
    for _ in range(DRAWS):
        again = []
        for task, runs in values.items():
            pairs = list(zip(*anchors(task), strict=True))
            seeds = [dice.choice(pairs) for _ in pairs]  # the same seeds of both
            bottom, top = mean(pair[0] for pair in seeds), mean(pair[1] for pair in seeds)
            again += [scaled(mean_of, bottom, top) for mean_of in redraw(dice, runs)]
        drawn.append(mean(sorted(again)[cut : len(again) - cut]))
    low_end, high_end = ends(drawn, 0.025)
    reach = 0.08 * (high_end - low_end)
    assert overall.low == pytest.approx(low_end, abs=reach)
    assert overall.high == pytest.approx(high_end, abs=reach)
    beaten = []
    for task in TASKS:
        mine, theirs = (
            [mean(run) for run in episodes(data, task, name, "value")]
            for name in ("clumsy", "random")
        )
        beaten.append(mean((a > b) + 0.5 * (a == b) for a in mine for b in theirs))
    assert results.improvement("clumsy", "random").estimate == pytest.approx(mean(beaten))
    profile = results.profile("clumsy", [-100.0, 0.0, 50.0])[0]
    shares = [mean(point > tau for point in points) for tau in (-100.0, 0.0, 50.0)]
    assert profile.tolist() == pytest.approx(shares)
