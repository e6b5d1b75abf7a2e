"""What the picture of a path through a curriculum shows: every mark of two panels."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from piase_gym.benchmarks.evaluation.plots import new_figure
from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.learning_path import EpisodeCountsAt, LearningPath
from piase_gym.errors import ConfigError, StorageError
from piase_gym.training.curriculum_comparison import plot_comparison
from piase_gym.training.curriculum_plot import BINS, LEGEND, draw, gathered, plot_paths

pytest.importorskip("matplotlib")
NAMES = {1: "Walk", 2: "Run", 4: "Fly"}


def panels(learning_path: LearningPath) -> tuple[Any, Any]:
    """Return the two panels of a path."""
    upper, lower = new_figure(6.0, 4.0).subplots(2, 1)
    draw(learning_path, upper, lower)
    return upper, lower


def lines(axes: Any) -> list[tuple[list[float], list[float]]]:
    """Return the points of all lines without a mark."""
    bare = [one for one in axes.lines if one.get_marker() in ("None", None, "")]
    return [(list(one.get_xdata()), list(one.get_ydata())) for one in bare]


def marks(axes: Any) -> list[tuple[str, float, float, float]]:
    """Return marker, size and place of all marks."""
    return [
        (one.get_marker(), one.get_markersize(), x, y)
        for one in axes.lines
        if one.get_marker() not in ("None", None, "")
        for x, y in zip(one.get_xdata(), one.get_ydata(), strict=True)
    ]


def walked(*decisions: tuple[int, int, str, dict[str, Any]]) -> LearningPath:
    """Return the path of decisions: steps of the environment, step, decision, more."""
    path = LearningPath("agent_0", "Lessons", "environment steps", names=dict(NAMES))
    for attempt, (at, order, word, more) in enumerate(decisions, start=1):
        path.add(
            at, Decision("agent_0", "Lessons", order, NAMES[order], attempt, word, None, "", **more)
        )
    return path


WALK = walked(
    (10, 1, "REPEAT_STEP", {"values": {"success_rate": 0.25}}),
    (25, 1, "APPLY_HINT_01", {"values": {"success_rate": 0.5}, "hint": "HINT_01"}),
    (30, 1, "PROCEED", {"values": {"success_rate": 1.0}, "completed": True}),
    (60, 2, "BRANCH_TO_Fly", {"values": {"success_rate": 0.75}, "next_step": 4}),
)


def test_a_mark_is_at_the_end_of_every_attempt_and_a_line_leads_there() -> None:
    upper, _ = panels(WALK)
    assert marks(upper) == [
        ("o", 4.5, 10, 0),
        ("^", 8, 25, 0),
        ("*", 13, 30, 0),
        ("v", 8, 60, 1),
    ]
    assert lines(upper) == [
        ([0, 10], [0, 0]),
        ([10, 25], [0, 0]),
        ([25, 30], [0, 0]),
        ([30, 30], [0, 1]),
        ([30, 60], [1, 1]),
        ([60, 60], [1, 2]),  # it goes on in step 4
        ([60, 60], [2, 2]),
    ]
    assert [text.get_text() for text in upper.get_yticklabels()] == ["1  Walk", "2  Run", "4  Fly"]
    assert (upper.get_title(loc="left"), upper.get_ylim()) == ("Lessons: agent_0", (-0.6, 2.6))
    shown = [text.get_text() for text in upper.get_legend().get_texts()]
    assert shown == ["attempt", "hint", "branch", "completed"]
    colours = {row[1]: row[2:] for row in LEGEND}
    for one in upper.lines:
        if one.get_marker() in colours:
            edge, face = colours[one.get_marker()]
            assert (one.get_markeredgecolor(), one.get_markerfacecolor()) == (edge, face)


@pytest.mark.parametrize(
    ("outcome", "last"), [("failed", ("X", 8, 40, 1)), ("finished", ("*", 13, 40, 1))]
)
def test_a_path_that_is_over_does_not_go_on(outcome: str, last: Any) -> None:
    more = {"outcome": outcome, "completed": outcome == "finished"}
    upper, _ = panels(walked((10, 1, "PROCEED", {}), (40, 2, "PROCEED", more)))
    assert marks(upper) == [("o", 4.5, 10, 0), last]
    assert lines(upper)[-1] == ([10, 40], [1, 1])


def test_success_is_drawn_for_each_stay_under_the_number_of_its_step() -> None:
    _, lower = panels(WALK)
    assert marks(lower) == [
        ("o", 3, 10, 0.25),
        ("o", 3, 25, 0.5),
        ("o", 3, 30, 1.0),
        ("o", 3, 60, 0.75),
    ]
    assert [(text.get_text(), text.xy) for text in lower.texts] == [
        ("1", (20.0, 1.0)),
        ("2", (60.0, 1.0)),
    ]
    assert lower.get_xlabel() == "environment steps"
    assert (lower.get_xlim(), lower.get_ylim()) == ((0, 1.02 * 60), (-0.04, 1.04))
    ticks = zip(lower.get_yticks(), lower.get_yticklabels(), strict=True)
    assert [(at, text.get_text()) for at, text in ticks] == [
        (0, "0 %"),
        (0.5, "50 %"),
        (1, "100 %"),
    ]


def test_where_steps_are_drawn_bars_are_shares_of_the_episodes() -> None:
    path = LearningPath("agent_0", "Lessons", "environment steps", names={1: "Walk", 2: "Run"})
    path.episode_counts = [
        EpisodeCountsAt(10, {1: 3, 2: 1}, {1: 3, 2: 0}),
        EpisodeCountsAt(30, {2: 4}, {2: 1}),
    ]
    upper, lower = panels(path)
    bars = [
        (bar.get_x(), bar.get_width(), round(bar.get_y() + bar.get_height() / 2, 9),
         round(bar.get_height(), 9)) for bar in upper.patches
    ]  # fmt: skip
    assert bars == [(0, 10, 0, 0.6375), (0, 10, 1, 0.2125), (10, 20, 1, 0.85)]
    assert [text.get_text() for text in upper.get_legend().get_texts()] == ["share of the episodes"]
    assert lines(lower) == [([5.0], [1.0]), ([5.0, 20.0], [0.0, 0.25])]
    assert [text.get_text() for text in lower.get_legend().get_texts()] == ["step 1", "step 2"]
    assert lower.get_ylabel() == "won"


@pytest.mark.parametrize("count", [1, BINS, BINS + 1, 121, 600])
def test_many_stretches_are_drawn_as_few_and_lose_nothing(count: int) -> None:
    path = LearningPath("agent_0", "Lessons", "environment steps", names={1: "Walk"})
    path.episode_counts = [EpisodeCountsAt(10 * n, {1: n}, {1: n % 2}) for n in range(1, count + 1)]
    edges, found = gathered(path)
    assert edges == sorted({*edges})
    assert (edges[0], edges[-1]) == (0, 10 * count)
    assert min(count, BINS // 2) <= len(found) == len(edges) - 1 <= BINS
    for left, right, place in zip(edges, edges[1:], found, strict=False):
        inside = range(left // 10 + 1, right // 10 + 1)
        assert place == {1: (sum(inside), sum(n % 2 for n in inside))}


def test_pictures_have_two_panels_for_each_path_that_has_begun(tmp_path: Path) -> None:
    nothing = LearningPath("agent_1", "Lessons", "environment steps")
    one, two = (tmp_path / "new" / f"{name}.svg" for name in ("one", "two"))
    assert plot_paths([WALK, nothing], one) == one
    plot_paths([WALK, WALK], two)
    panels_in = [file.read_text("utf-8").count('<g id="axes_') for file in (one, two)]
    assert panels_in == [2, 4]


def test_what_is_no_place_for_a_picture_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ConfigError, match=r"folder\.png' is no file; give another name"):
        plot_paths([WALK], tmp_path / "folder.png")
    (tmp_path / "file").write_text("")
    kept = tmp_path / "kept.png"
    kept.write_bytes(b"kept")
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fill_the_disk)
    with pytest.raises(StorageError, match=r"kept\.png could not be written: No space left"):
        plot_paths([WALK], kept)
    assert kept.read_bytes() == b"kept"
    with pytest.raises(StorageError, match=r"path\.png could not be written: "):
        plot_paths([WALK], tmp_path / "file" / "path.png")


def fill_the_disk(_: object, place: Path, **options: object) -> None:
    """Write a part of a picture."""
    place.write_bytes(b"half")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_dollar_signs_in_names_are_no_formulas(tmp_path: Path) -> None:
    """Neither picture fails on words that would be a wrong formula between two dollar signs."""
    path = walked((30, 1, "PROCEED", {"completed": True}))
    path.curriculum, path.names = "a $\\frac$ b", {1: "pay $x^$ y"}
    assert plot_paths([path], tmp_path / "path.png").stat().st_size > 0
    assert plot_comparison([path, path], tmp_path / "both.png").stat().st_size > 0
