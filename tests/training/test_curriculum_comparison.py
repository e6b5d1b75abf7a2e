"""The picture of several runs: when each has completed which step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from piase_gym.benchmarks.evaluation.plots import new_figure
from piase_gym.benchmarks.evaluation.statistics import mean_interval
from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.learning_path import LearningPath
from piase_gym.errors import ConfigError
from piase_gym.training import curriculum_comparison
from piase_gym.training.curriculum_comparison import (
    completions,
    draw_group,
    groups_of,
    plot_comparison,
)

pytest.importorskip("matplotlib")
WALK, RUN = (1, "Walk"), (2, "Run")


def run_of(*done: tuple[int, tuple[int, str], bool], **fields: Any) -> LearningPath:
    """Return the path of attempts: environment steps, step, whether it was completed."""
    director = fields.pop("director", "scripted")
    found = LearningPath("agent_0", "Lessons", "environment steps", director=director)
    found.names = dict([WALK, RUN])
    for at, (order, name), completed in done:
        more = {"completed": completed, "outcome": fields.get("outcome", "running")}
        word = "PROCEED" if completed else "REPEAT_STEP"
        found.add(at, Decision("agent_0", "Lessons", order, name, 1, word, None, "", **more))
    return found


FAST = run_of((10, WALK, False), (20, WALK, True), (35, RUN, True), outcome="finished")
SLOW = run_of((30, WALK, True), (50, RUN, False), (60, WALK, True), (90, RUN, False))
OTHER = run_of((44, WALK, True), director="threshold")


def drawn(runs: list[LearningPath], shift: float = 0.25) -> tuple[dict[str, Any], list[Any]]:
    """Return what a group has drawn by its markers, and its words."""
    axes = new_figure(4.0, 4.0).add_subplot()
    draw_group(axes, "us", runs, {WALK: 0, RUN: 1}, shift, "red")
    found: dict[str, Any] = {}
    for line in axes.lines:
        points = list(zip(line.get_xdata(), line.get_ydata(), strict=True))
        if points:
            found.setdefault(str(line.get_marker()), []).append(points)
    assert (
        axes.lines[0].get_label() == f"us: {sum(r is FAST for r in runs)} of {len(runs)} finished"
    )
    return found, [(text.get_text(), text.xy) for text in axes.texts]


def test_a_step_counts_when_it_is_completed_for_the_first_time() -> None:
    assert completions(FAST) == {WALK: 20, RUN: 35}
    assert completions(SLOW) == {WALK: 30}
    assert completions(run_of()) == {}


def test_all_runs_have_a_mean_and_some_have_a_number() -> None:
    found, words = drawn([FAST, SLOW])
    assert found["o"] == [[(20, 0.25), (30, 0.25)], [(35, 1.25)]]
    assert found["D"] == [[(25.0, 0.25)]]
    mean, low, high = mean_interval([[20.0], [30.0]])
    assert mean == 25.0
    assert found["None"] == [[(max(low, 0), 0.25), (high, 0.25)]]
    assert words == [("1 of 2", (35, 1.25))]


def test_one_run_has_neither_mean_nor_interval() -> None:
    found, words = drawn([FAST], -0.1)
    assert found == {"o": [[(20, -0.1)], [(35, 0.9)]]}
    assert words == []


def test_runs_belong_together_by_curriculum_director_and_agent() -> None:
    unknown = run_of(director=None)
    one, two = "Lessons by scripted", "Lessons by threshold"
    paths = [FAST, OTHER, SLOW, unknown]
    assert groups_of(paths) == {one: [FAST, SLOW], two: [OTHER], "Lessons": [unknown]}
    mate = run_of()
    mate.agent = "agent_1"
    agents = {f"{one}, agent_0": [FAST], f"{one}, agent_1": [mate]}
    assert groups_of([FAST, mate]) == agents


def test_the_picture_names_all_steps_and_groups(tmp_path: Path) -> None:
    place = tmp_path / "new" / "all.svg"
    assert plot_comparison([FAST, SLOW, OTHER], place) == place
    told = place.read_text("utf-8")
    for words in ("1  Walk", "2  Run", "Lessons by scripted: 1 of 2 finished", "1 of 2"):
        assert f"<!-- {words} -->" in told
    assert "<!-- Lessons by threshold: 0 of 1 finished -->" in told
    assert "<!-- environment steps until a step was completed -->" in told


def test_every_group_has_a_line_of_its_own_within_the_row_of_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = (9, "Last")
    far = run_of((200, last, True), director="director")
    far.names = {9: "Last", **{order: f"step {order}" for order in range(8, 2, -1)}}
    figure = new_figure(4.0, 4.0)
    monkeypatch.setattr(curriculum_comparison, "new_figure", lambda *_: figure)
    plot_comparison([FAST, SLOW, OTHER, far], tmp_path / "all.svg")
    (axes,) = figure.axes
    told = [label.get_text() for label in axes.get_yticklabels()]
    assert told == ["1  Walk", "2  Run", *[f"{n}  step {n}" for n in range(3, 9)], "9  Last"]
    assert list(axes.get_yticks()) == list(range(9)), "the first step is lowest"
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert (left, low, high) == (0, -0.5, 8.5)
    assert right > 200 > right / 2
    dots = {
        round(line.get_ydata()[0], 3): line.get_alpha()
        for line in axes.lines[::-1]
        if len(line.get_xdata()) and line.get_marker() == "o"
    }
    assert dots == {0.233: 0.4, 1.233: 0.4, 0.0: 1.0, 7.767: 1.0}, "one run alone is not pale"


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    counted, sampled = run_of(), run_of()
    counted.counted, sampled.drawn = "steps of counted attempts", {1: 4}
    for paths, told in (
        ([FAST, counted], "some of these count environment steps and some steps of counted att"),
        ([FAST, sampled], "steps of 'Lessons' were drawn episode by episode, so none of them was"),
        ([run_of(), run_of((5, WALK, False))], "nothing to draw yet: no step is completed"),
    ):
        with pytest.raises(ConfigError, match=told):
            plot_comparison(paths, tmp_path / "no.png")
    with pytest.raises(ConfigError, match=r"a \.png, \.svg or \.pdf file, not 'no\.gif'"):
        plot_comparison([FAST], tmp_path / "no.gif")
    assert list(tmp_path.iterdir()) == []
