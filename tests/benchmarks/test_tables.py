"""Results as words: each cell by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.benchmarks.evaluation import tables
from piase_gym.benchmarks.evaluation.levels import stored_counts
from piase_gym.benchmarks.evaluation.results import TaskResult
from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.evaluation.suites import Problem, Row, resolve_task
from piase_gym.benchmarks.references.references import ScoreRange

GAP = ScoreRange(0.125, 2.5, "random", "planner", False, None)
ROW = TaskResult(
    setting="MyTask",
    task="my/Task-v1",
    version=1,
    config_hash="",
    measure="return",
    partner="",
    policy="mine",
    runs=2,
    episodes=7,
    faults={},
    value=Interval(1.0, 0.5, 1.256),
    score=Interval(41.26, 40.0, 42.0),
    gap=GAP,
    success=Interval(0.5, 0.25, 1.0),
    steps=3.25,
    milestones={},
    outcomes={},
    messages=0.0,
    hints=0.0,
    seconds=0.0,
)
"""What a policy reached in two runs."""


def shown(*rows: TaskResult, problems: tuple[Problem, ...] = ()) -> Any:
    """Return results that have nothing but rows and problems."""
    return SimpleNamespace(rows=rows, problems=problems)


@pytest.mark.parametrize(
    ("value", "how", "told"),
    [
        (None, (), "–"),
        (Interval(1.2, 1.05, 1.314), (), "1.20 (1.05 to 1.31)"),
        (Interval(1.2, 1.2, 1.2), (), "1.20"),
        (Interval(1.2, 1.2, 1.3), (), "1.20 (1.20 to 1.30)"),
        (Interval(1.2, 1.1, 1.2), (), "1.20 (1.10 to 1.20)"),
        (Interval(0.25, 0.125, 0.5), (1, 10.0), "2.5 (1.2 to 5.0)"),
    ],
)
def test_an_interval_of_no_width_is_one_number(value: Any, how: Any, told: str) -> None:
    assert tables.interval(value, *how) == told


@pytest.mark.parametrize(
    ("gap", "told"),
    [
        (GAP, "random 0.12, planner 2.50"),
        (replace(GAP, low=None), "–"),
        (replace(GAP, high=None), "–"),
        (replace(GAP, low=None, high=None), "–"),
    ],
)
def test_both_references_are_told_or_none(gap: ScoreRange, told: str) -> None:
    assert tables.references(gap) == told


AGAINST = replace(GAP, high_policy="best_response:bot")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, ""),
        ({"faults": {"fell": 2, "hung": 1}}, "2 of 10 failed: fell; 1 of 10 failed: hung"),
        ({"policy": "oracle"}, ""),
        ({"gap": AGAINST}, ""),
        ({"gap": replace(GAP, beaten="ppo")}, ""),
        (
            {"policy": "oracle", "gap": AGAINST},
            "the oracle plays for the good of all, not for the most against this partner: "
            "0 points are random, 100 are best_response:bot",
        ),
        (
            {"policy": "oracle", "gap": replace(GAP, beaten="ppo", disqualified="noise")},
            "a script, not an oracle: beaten by ppo; no score: noise",
        ),
    ],
)
def test_remarks_are_what_a_reader_must_know(changed: Any, told: str) -> None:
    assert tables.remarks(replace(ROW, **changed)) == told


def test_only_of_fixed_tasks_levels_are_told() -> None:
    told = {count.fixed: (task, count) for task, count in stored_counts().items()}
    marks = {task: resolve_task(Row(task=task), task, "").config_hash for task, _ in told.values()}
    many, (few, count) = told[False][0], told[True]
    assert tables.remarks(replace(ROW, task=many, config_hash=marks[many])) == ""
    words = f"levels: {count}, so this says nothing about generalisation"
    assert tables.remarks(replace(ROW, task=few, config_hash=marks[few])) == words
    assert tables.remarks(replace(ROW, task=few, config_hash="changed")) == ""


def test_a_row_has_a_cell_under_every_head() -> None:
    bare = replace(ROW, runs=1, value=None, score=None, success=None, gap=replace(GAP, low=None))
    lost = replace(ROW, success=Interval(0.0, 0.0, 0.0))
    rows = tables.result_rows(shown(ROW, bare, lost))
    assert [dict(zip(tables.HEAD, row, strict=True)) for row in rows[:1]] == [
        {
            "task": "MyTask",
            "policy": "mine",
            "runs": "2",
            "episodes": "7",
            "score": "41.3 (40.0 to 42.0)",
            "raw value": "1.00 (0.50 to 1.26)",
            "success": "50 (25 to 100) %",
            "steps": "3.2",
            "remarks": "",
        }
    ]
    assert rows[1] == ("MyTask", "mine", "1", "7", "–", "–", "–", "3.2", "")
    assert rows[2][6] == "0 %"


def test_a_plain_table_has_columns_then_the_note_then_problems() -> None:
    one, two = replace(ROW, runs=1, success=None), replace(ROW, policy="the other")
    found = shown(one, two, problems=(Problem("here", "it fell"), Problem("there", "it hung")))
    head, first, second, *rest = tables.plain_table(found).split("\n")
    for column in ("policy", "runs", "steps"):
        cells = dict(zip(tables.HEAD, zip(*tables.result_rows(found), strict=True), strict=True))
        place = head.index(column)
        assert (first[place:].split("  ")[0], second[place:].split("  ")[0]) == cells[column]
    assert not any(line.endswith(" ") for line in (head, first, second))
    assert rest == [tables.ONE_RUN, "problem: here: it fell", "problem: there: it hung"]
    assert tables.plain_table(shown(two)).count("\n") == 1  # nothing is said of one run


def test_problems_are_gathered_by_what_they_are() -> None:
    found = [Problem("a", "it fell"), Problem("b", "it hung"), Problem("c", "it fell")]
    assert tables.by_reason(found) == {"it fell": ["a", "c"], "it hung": ["b"]}


def test_markdown_keeps_cells_in_their_columns() -> None:
    text = tables.markdown(("a", "b"), [("1|2", "3\n4"), ("5", "6")])
    assert text == "| a | b |\n| --- | --- |\n| 1\\|2 | 3 4 |\n| 5 | 6 |\n"


# -- references ---------------------------------------------------------------------------


def stored(
    certified: bool = True, measure: str = "return", steps: int = 0, **values: list[float]
) -> dict[str, Any]:
    """What is stored of a task, played by some policies."""
    policies: dict[str, Any] = {
        name: {"values": found, "mean": sum(found) / len(found)} for name, found in values.items()
    }
    if steps:
        policies["ppo"]["training"] = {"algo": "ippo", "steps": steps, "seed": 0}
    known = {"low": ["random", "noop"], "high": "oracle", "certified": certified}
    return {**known, "measure": measure, "policies": policies}


def test_references_are_told_with_points_where_there_are_any() -> None:
    some: dict[str, Any] = {"random": [0.0, 0.0], "noop": [-1.0, -1.0], "oracle": [4.0, 4.0]}
    settings = {
        "piase/Sure-v1": stored(steps=3000, **some, scripted=[1.0, 1.0], ppo=[2.0, 2.0]),
        "my/Beaten-v1": stored(False, steps=1000, **some, scripted=[1.0, 1.0], ppo=[8.0, 0.0]),
        "piase/Flat-v1": stored(steps=2000, **{**some, "oracle": [0.0] * 2}, ppo=[2.0, 2.0]),
    }
    words, table = tables.reference_table({"settings": settings}).split("\n\n")
    assert words.startswith("Means over 2 seeds; in brackets points,")
    told = " PPO by `ippo`: one model a task, with a budget of 1,000 to 3,000 agent steps."
    assert words.endswith(told)
    sure, beaten, flat = table.splitlines()[2:]
    assert sure == "| Sure-v1 | 0.00 | -1.00 | 1.00 (25 to 25) | 2.00 (50 to 50) | 4.00 | oracle |"
    assert beaten.startswith("| my/Beaten-v1 | 0.00 | -1.00 | 1.00 (25 to 25) | 4.00 (")
    assert beaten.endswith("| 4.00 | script, beaten by ppo on 1 of 2 levels |")
    assert flat == "| Flat-v1 | 0.00 | -1.00 | – | 2.00 | 0.00 | oracle |"  # no scale, no points


def test_references_of_unlike_numbers_of_seeds_and_no_model_say_so() -> None:
    settings = {
        "a": stored(random=[0.0] * 2, noop=[0.0] * 2, oracle=[1.0] * 2),
        "b": stored(random=[0.0] * 3, noop=[0.0] * 3, oracle=[1.0] * 3),
    }
    words = tables.reference_table({"settings": settings}).split("\n\n")[0]
    assert words.startswith("Means over 2 to 3 seeds;")
    assert "PPO" not in words


def test_an_oracle_is_exploited_in_its_own_place_by_what_wins_more() -> None:
    own = [0.5] * 4
    settings = {
        "piase/Tag-v1 with oracle": stored(measure="win_rate", oracle=own, ppo=[0.75] * 4),
        "piase/Duel-v1 with oracle": stored(
            measure="win_rate", oracle=own, ppo=own, noop=[0.0] * 4
        ),
        # Chosen on the first and third seed, where luck is with it, and measured on the others.
        "piase/Luck-v1 with oracle": stored(
            measure="win_rate", oracle=own, ppo=[1.0, 0.25, 1.0, 0.25]
        ),
        "piase/Duel-v1 with random": stored(measure="win_rate", oracle=own, ppo=[1.0] * 4),
        "piase/Trade-v1 with oracle": stored(oracle=own, ppo=[1.0] * 4),
    }
    assert tables.exploitability_table({"settings": settings}).splitlines()[2:] == [
        "| Tag-v1 with oracle | 0.50 | ppo | 0.25 |",
        "| Duel-v1 with oracle | 0.50 | none beats the oracle | 0.00 |",
        "| Luck-v1 with oracle | 0.50 | ppo | -0.25 |",
    ]
