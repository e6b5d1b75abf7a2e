"""Plots of results: what is drawn where, in which colour, and when there is nothing to draw."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from piase_gym.benchmarks.evaluation.statistics import Interval

pytest.importorskip("matplotlib")

from piase_gym.benchmarks.evaluation import plots
from piase_gym.benchmarks.evaluation.plots import COLOURS


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the figures that would have been written."""
    found: list[Any] = []

    def keep(figure: Any, path: Path) -> Path:
        found.append(figure)
        return path

    monkeypatch.setattr(plots, "save_figure", keep)
    return found


HERE = Path("plot.png")


def axes_of(figures: list[Any]) -> Any:
    """Return the axes of the only figure."""
    (figure,) = figures
    (axes,) = figure.axes
    return axes


def row(policy: str, task: str, *score: float) -> Any:
    found = Interval(*score) if score else None
    return SimpleNamespace(policy=policy, setting=f"piase/{task}", score=found)


def test_scores_stand_with_their_intervals_on_the_line_of_their_task(figures: list[Any]) -> None:
    rows = [
        row("random", "a", 0.0, -10.0, 10.0),
        row("ppo", "a", 80.0, 70.0, 90.0),
        row("ppo", "b", -300.0, -400.0, -50.0),
        row("oracle", "a"),
    ]
    results: Any = SimpleNamespace(rows=rows, policies=("random", "ppo", "oracle"))
    assert plots.plot_scores(results, HERE) == HERE
    axes = axes_of(figures)
    drawn = [
        (line.get_color(), np.ravel(line.get_xdata()).tolist(), line.get_ydata()[:1], marker)
        for line in axes.lines
        if len(line.get_xdata()) and (marker := line.get_marker()) is not None
    ]
    first, second = COLOURS[:2]
    assert [(colour, xs, list(ys)) for colour, xs, ys, _ in drawn if colour != "0.8"] == [
        (first, [-10, 10], [-0.125]),
        (first, [0], [-0.125]),
        (second, [70, 90], [0.125]),
        (second, [80], [0.125]),
        (second, [-100, -50], [1.125]),
        (second, [-100], [1.125]),
    ]
    marks = [marker for colour, xs, _, marker in drawn if colour != "0.8" and len(xs) == 1]
    assert marks == ["o", "o", "<"]
    assert [line.get_label() for line in axes.lines if not len(line.get_xdata())] == [
        "random",
        "ppo",
    ]
    assert [line.get_xdata()[0] for line in axes.lines if line.get_color() == "0.8"] == [0, 100]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert (axes.get_xlim(), axes.get_ylim()) == ((-106, 112), (1.5, -0.5))
    assert axes.get_xlabel() == "score (0: does not look, 100: best known)"
    nothing: Any = SimpleNamespace(rows=rows[3:], policies=("oracle",))
    assert plots.plot_scores(nothing, HERE) is None


def test_profiles_are_lines_in_their_bands(figures: list[Any]) -> None:
    asked: list[tuple[str, float, float, int, int]] = []

    def profile(policy: str, taus: Any, resamples: int) -> Any:
        asked.append((policy, taus[0], taus[-1], len(taus), resamples))
        share = (taus < 50).astype(float)
        return None if policy == "none" else (share, share - 0.1, share + 0.1)

    results: Any = SimpleNamespace(policies=("none", "ppo", "random"), profile=profile)
    assert plots.plot_profiles(results, HERE) == HERE
    assert asked == [(name, -100, 110, 106, 500) for name in results.policies]
    axes = axes_of(figures)
    assert [(line.get_label(), line.get_color()) for line in axes.lines] == [
        ("ppo", COLOURS[0]),
        ("random", COLOURS[1]),
    ]
    assert axes.lines[0].get_ydata()[[0, 74, 75, 105]].tolist() == [1, 1, 0, 0]
    assert [band.get_alpha() for band in axes.collections] == [0.2, 0.2]
    assert axes.collections[0].get_datalim(axes.transData).ymax == pytest.approx(1.1)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("score τ", "share of runs above τ")
    assert axes.get_ylim() == (-0.02, 1.02)
    assert axes.get_legend() is not None
    nobody: Any = SimpleNamespace(policies=("none",), profile=profile)
    assert plots.plot_profiles(nobody, HERE) is None


def test_improvements_are_a_table_of_pairs(figures: list[Any]) -> None:
    def improvement(mine: str, other: str, resamples: int) -> Any:
        assert resamples == 1
        return None if mine == "c" else SimpleNamespace(estimate={"a": 0.75, "b": 0.25}[mine])

    def scores(policy: str) -> list[float]:
        return [] if policy == "none" else [1.0]

    results: Any = SimpleNamespace(
        policies=("a", "none", "b", "c"), scores=scores, improvement=improvement
    )
    assert plots.plot_improvement(results, HERE) == HERE
    axes = axes_of(figures)
    told = [(text.get_position(), text.get_text(), text.get_color()) for text in axes.texts]
    assert told == [
        ((1, 0), "0.75", "black"),
        ((2, 0), "0.75", "black"),
        ((0, 1), "0.25", "white"),
        ((2, 1), "0.25", "white"),
    ]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "c"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]
    assert axes.images[0].get_clim() == (0.0, 1.0)
    assert axes.get_title() == "P(line beats column)"
    for policies, path in ((("a",), None), (("a", "b"), HERE), (("a", "none"), None)):
        few: Any = SimpleNamespace(policies=policies, scores=scores, improvement=improvement)
        assert plots.plot_improvement(few, HERE) == path


@pytest.mark.parametrize(
    ("measure", "title", "ends"),
    [("win_rate", "win rate", (0.0, 1.0)), ("focal", "focal return per head", (-2.0, 6.0))],
)
def test_cross_play_is_a_table_of_policies_and_partners(
    measure: str, title: str, ends: tuple[float, float], figures: list[Any]
) -> None:
    values = ((Interval(-2.0, 0.0, 0.0), None), (Interval(1.5, 0.0, 0.0), Interval(6.0, 0.0, 0.0)))
    table: Any = SimpleNamespace(
        values=values, measure=measure, policies=("a", "b"), partners=("x", "y")
    )
    assert plots.plot_cross_play(table, HERE) == HERE
    axes = axes_of(figures)
    assert [text.get_text() for text in axes.texts] == ["-2.00", "1.50", "6.00"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["with x", "with y"]
    assert (axes.get_title(), axes.images[0].get_clim()) == (title, ends)
    assert axes.texts[1].get_color() == ("black" if measure == "win_rate" else "white")


def test_costs_are_the_other_way_round_than_rates(figures: list[Any]) -> None:
    points = [{"agents": 1, "rate": 1e6}, {"agents": 4, "rate": 5e5}]
    assert plots.plot_scaling(points, "agents", HERE) == HERE
    axes = axes_of(figures)
    assert list(axes.lines[0].get_xdata()) == [1, 4]
    assert list(axes.lines[0].get_ydata()) == [1000, 2000]
    assert axes.get_ylim() == pytest.approx((500, 4000))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("agents", "ns of CPU an agent-step")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "4"]
    assert [(text.get_text(), text.xy) for text in axes.texts] == [
        ("1,000", (1, 1000)),
        ("2,000", (4, 2000)),
    ]


def test_rates_are_bars_from_above_ours_in_colour(figures: list[Any]) -> None:
    rows = [
        {"name": "ours", "rate": 2e6, "own": True},
        {"name": "theirs", "rate": 1e4, "own": False},
    ]
    assert plots.plot_rates(rows, HERE) == HERE
    axes = axes_of(figures)
    assert [bar.get_width() for bar in axes.patches] == [2e6, 1e4]
    assert [text.get_text() for text in axes.texts] == [" 2,000,000", " 10,000"]
    blue, grey = (bar.get_facecolor() for bar in axes.patches)
    assert blue[2] > blue[0]
    assert grey[0] == grey[1] == grey[2] == pytest.approx(0.6)
    assert axes.get_xscale() == "log"
    low, high = axes.get_ylim()
    assert low > high


def test_figures_have_their_size_and_are_written_into_folders_that_are_made(tmp_path: Path) -> None:
    figure = plots.new_figure(3.0, 2.0)
    assert figure.get_size_inches().tolist() == [3.0, 2.0]
    place = plots.save_figure(figure, tmp_path / "new" / "plot.png")
    assert place.read_bytes().startswith(b"\x89PNG")
    with Image.open(place) as picture:
        assert picture.size == (330, 220)
