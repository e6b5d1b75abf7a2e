"""The report of the evidence on curricula says what the lines say, however many there are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.benchmarks.studies.evidence import report as module
from piase_gym.benchmarks.studies.evidence import train
from piase_gym.benchmarks.studies.evidence.findings import Findings
from piase_gym.benchmarks.studies.evidence.report import PICTURE, main, report, stored
from tests.curricula.test_evidence import RESULTS, WHOLE
from tests.paths import DOCS

SPREAD = (3, -1, 4, -1, -5, 9, -2, 6, -5, -3)
"""How the seeds of a made-up training differ."""


def line(job: train.Job, wins: int) -> dict[str, Any]:
    """A finished training, made up."""
    told = {"plan": train.PLAN, "key": job.key, "arm": job.arm, "target": job.target}
    more = {"seed": job.seed, "episodes": {"1": 3}, "completed": [1], "hints": 0}
    won = "1" * wins + "0" * (200 - wins)
    return {**told, **more, "won": won, "outcome": "running", "cpu_seconds": {"training": 1.0}}


def write(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    """Write lines as the runner does."""
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    return path


def made_up(wins: Callable[[str, str, int], int], *only: str) -> list[dict[str, Any]]:
    """All trainings of the plan, or some, with so many wins for (arm, target, seed)."""
    every = train.jobs(train.Scale(), only)
    return [line(job, wins(job.arm, job.target, job.seed)) for job in every]


def test_the_page_is_fresh() -> None:
    start, end = "<!-- evidence -->\n", "<!-- end -->"
    assert WHOLE.count(start) == WHOLE.count(end) == 1
    assert RESULTS.split(start)[1].split(end)[0] == stored(), "run python docs/make_pages.py"
    if f"]({PICTURE})" in RESULTS:
        assert (DOCS / PICTURE).read_bytes().startswith(b"\x89PNG")


def test_differences_are_those_of_the_common_seeds(tmp_path: Path) -> None:
    lines = made_up(
        lambda arm, _, seed: 150 + seed if arm == "dse" else 100 + 3 * seed, "*/rooms", "dse/quest"
    )
    strange = lines[0] | {"key": "of another plan", "won": "0" * 200}
    findings = Findings.read(write(tmp_path / "x.jsonl", [*lines, strange, lines[3]]))
    text = report(findings)
    assert "**60 of the 150 planned trainings are in.**" in text
    assert "`rooms` 10 of 10 seeds, `quest` 0 of 10" in text
    assert "1 lines of another plan" in text
    # (150 + s) - (100 + 3 s) = 50 - 2 s of 200 for s from 0 to 9: 20.5 points on average.
    reach = 2.262157 * np.std(np.arange(10), ddof=1) / np.sqrt(10)
    told = f"+20.5 (+{20.5 - reach:.1f} to +{20.5 + reach:.1f}) | 1.00 | better"
    assert f"| `uniform` | 10 | {told} |" in text
    assert "| `dse` | 10 | 77.2% (" in text.replace("77.3%", "77.2%")
    assert "### `quest`" not in text
    assert "`quest`: no seed is complete" in text


def test_only_complete_seeds_are_compared(tmp_path: Path) -> None:
    lines = made_up(lambda arm, _target, seed: 100 + SPREAD[seed], "*/door_key")
    kept = [x for x in lines if x["seed"] < 4 or (x["seed"] == 4 and x["arm"] != "sequential")]
    kept += [x | {"won": "1" * 200} for x in lines if x["seed"] == 7 and x["arm"] == "dse"]
    findings = Findings.read(write(tmp_path / "x.jsonl", kept))
    assert findings.complete("door_key") == [0, 1, 2, 3]
    assert findings.values("dse", "door_key") == [(100 + k) / 200 for k in SPREAD[:4]]
    text = report(findings)
    assert "| `dse` | 4 of 6 |" in text
    assert "**25 of the 150 planned" in text


def test_nothing_and_one_seed_are_no_verdict(tmp_path: Path) -> None:
    none = Findings.read(tmp_path / "missing.jsonl")
    assert report(none) == "There are none yet: 0 of 150 trainings are in.\n"
    one = [x for x in made_up(lambda *_: 100, "*/rooms") if x["seed"] == 0]
    findings = Findings.read(write(tmp_path / "x.jsonl", one))
    text = report(findings)
    assert findings.verdict("rooms") == "one pair only"
    assert "one pair has no interval" in text
    assert "nan" not in text


CASES = {
    "helps": ({"door_key": 60, "rooms": 20, "quest": 0}, "The DSE helps: it beats"),
    "hurts": ({"door_key": -60, "rooms": -20, "quest": 0}, "The DSE hurts: it loses"),
    "both": ({"door_key": 60, "rooms": 20, "quest": -40}, "No common verdict: `dse` is better"),
    "small": ({"door_key": 8, "rooms": 0, "quest": 0}, "No common verdict: no difference is"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_follows_the_rule_of_the_plan(name: str, tmp_path: Path) -> None:
    more, told = CASES[name]

    def wins(arm: str, target: str, seed: int) -> int:
        return 100 + (more[target] if arm == "dse" else 0) + SPREAD[seed] * (arm == "dse")

    findings = Findings.read(write(tmp_path / "x.jsonl", made_up(wins)))
    text = report(findings)
    assert f"\n**{told}" in text
    assert "**150 of the 150" in text
    assert "### All targets" in text
    assert "So far" not in text


def test_who_beats_uniform_alone_is_not_said_to_help(tmp_path: Path) -> None:
    def wins(arm: str, _target: str, seed: int) -> int:
        return 40 + {"dse": 60, "sequential": 70}.get(arm, 0) + SPREAD[seed] * (arm == "dse")

    lines = made_up(wins)
    ends = iter(["failed"] * 4)
    lines = [
        x | {"outcome": next(ends, "running") if x["arm"] == "dse" else "failed"} for x in lines
    ]
    findings = Findings.read(write(tmp_path / "x.jsonl", lines))
    gap = [(SPREAD[seed] - 10) / 2 for seed in range(10)]
    reach = 2.262157 * np.std(gap, ddof=1) / np.sqrt(10)
    middle = np.mean(gap)
    told = f"{middle:+.1f} ({middle - reach:+.1f} to {middle + reach:+.1f}) points"
    text = report(findings)
    assert "**That the DSE helps is not shown: it beats `uniform` on `door_key`" in text
    assert f"a fixed order, is {told}, and 4 of its 30 trainings ended in FAIL" in text


def test_a_target_that_nobody_learns_tells_nothing(tmp_path: Path) -> None:
    findings = Findings.read(write(tmp_path / "x.jsonl", made_up(lambda arm, *_: 9, "*/quest")))
    assert findings.verdict("quest") == "nothing learnt"
    assert "every arm stays below 5%" in report(findings)


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = write(tmp_path / "x.jsonl", made_up(lambda arm, _target, seed: 40 + seed, "*/rooms"))
    picture = tmp_path / "deep" / "p.png"
    main(["--results", str(path), "--picture", str(picture)])
    assert "### `rooms`" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
    path.write_text("{\n{}\n", "utf-8")
    with pytest.raises(SystemExit):
        main(["--results", str(path)])
    assert "line 1 is damaged" in capsys.readouterr().err


def test_the_picture_has_a_dot_for_each_training_and_a_line_in_their_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    figures: list[Any] = []
    monkeypatch.setattr(module, "save_figure", lambda figure, path: figures.append(figure) or path)
    lines = made_up(lambda arm, _, seed: 40 + seed if arm == "dse" else 100, "*/rooms")
    findings = Findings.read(write(tmp_path / "x.jsonl", lines))
    assert module.draw(findings, tmp_path / "p.png") == tmp_path / "p.png"
    ((panel,),) = [figure.axes for figure in figures]
    assert panel.get_title() == "rooms (10 seeds)"
    place = list(train.ARMS).index("dse")
    drawn = [
        (list(map(float, one.get_xdata())), list(map(float, one.get_ydata())))
        for one in panel.lines
        if abs(float(np.mean(one.get_xdata())) - place) < 0.01
    ]
    dots, across, along = drawn
    assert dots[1] == pytest.approx([20 + seed / 2 for seed in range(10)])
    assert dots[0] == pytest.approx(np.linspace(place - 0.17, place + 0.17, 10))
    assert across == (pytest.approx([place - 0.3, place + 0.3]), pytest.approx([22.25] * 2))
    middle = findings.middle("dse", ["rooms"])
    assert along == ([place, place], [100 * middle.low, 100 * middle.high])
    assert module.draw(Findings.read(write(tmp_path / "y.jsonl", [])), tmp_path / "q.png") is None
