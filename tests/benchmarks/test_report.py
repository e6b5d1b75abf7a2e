"""The reports and the command line of benchmarks."""

from __future__ import annotations

import html.parser
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks import Results, Row, Suite, evaluate
from piase_gym.benchmarks.evaluation.policies import read_policy
from piase_gym.benchmarks.evaluation.suites import Problem, read_suite
from piase_gym.benchmarks.speed.peers import Peer
from piase_gym.cli.results import show_results
from piase_gym.errors import ProtocolError, StorageError
from tests.benchmarks import bench_policies as own
from tests.helpers.warm_python import run_python
from tests.paths import ROOT

pytest.importorskip("matplotlib")
EMPTY = "piase/GridWorld-Empty-Random-5x5-v1"
TEAM = "piase/GridWorld-FourRooms-8x8-1of4-v1"


class Reader(html.parser.HTMLParser):
    """Collects what a page shows, and whether every tag is closed."""

    VOID = ("meta", "img", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.sources += [str(value) for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report about two tasks, one with partners."""
    from piase_gym.benchmarks.evaluation.report import make_films, write_report

    out = tmp_path_factory.mktemp("bench")
    policies = {"random": "random", "scripted <&>": "scripted"}
    suite = Suite(
        name="two", rows=(*read_suite(EMPTY).rows, *read_suite(TEAM).rows), episodes=3, split="dev"
    )
    results = evaluate(policies, suite, out=out)
    assert results.complete
    make_films(suite.settings()[0], policies, results, out)
    write_report(out)
    return out


def test_the_page_is_one_file_with_everything_in_it(folder: Path) -> None:
    page = (folder / "report.html").read_text("utf-8")
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert all(source.startswith("data:image/") for source in reader.sources)
    assert sum(source.startswith("data:image/gif") for source in reader.sources) == 6
    assert sum(source.startswith("data:image/png") for source in reader.sources) >= 3
    assert any("scripted <&>" in words for words in reader.words)
    assert not re.search(r"\{[{%]|[%}]\}", page)


def test_markdown_has_the_same_numbers_and_its_pictures_exist(folder: Path) -> None:
    text = (folder / "report.md").read_text("utf-8")
    results = Results.load(folder / "results.json")
    for row in results.rows:
        assert row.value is not None
        assert f"{row.value.estimate:.2f}" in text
        assert row.setting in text
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert pictures
    assert all((folder / picture).is_file() for picture in pictures)


def test_films_move_and_end_with_the_episode(folder: Path) -> None:
    from PIL import Image

    results = Results.load(folder / "results.json")
    (film,) = (folder / "films").glob("GridWorld-Empty*__scripted*.gif")
    record = results.of(EMPTY, "scripted <&>")[0]
    with Image.open(film) as picture:
        assert getattr(picture, "n_frames", 1) == record.steps + 1


def test_a_film_waits_at_its_end_and_starts_again(tmp_path: Path) -> None:
    from PIL import Image

    from piase_gym.benchmarks.evaluation.report import MILLISECONDS, SIDE, write_gif

    frames = [np.full((2 * SIDE, SIDE, 3), 80 * number, np.uint8) for number in range(3)]
    write_gif(frames, tmp_path / "films" / "film.gif")
    with Image.open(tmp_path / "films" / "film.gif") as film:
        assert (film.size, film.info["loop"]) == ((SIDE // 2, SIDE), 0)  # 0 is for ever
        times, shades = [], []
        for number in range(getattr(film, "n_frames", 1)):
            film.seek(number)
            times.append(film.info["duration"])
            shades.append(film.convert("L").getpixel((3, 3)))
    assert times == [MILLISECONDS, MILLISECONDS, 1200]
    assert shades == [0, 80, 160]


def test_pictures_are_kept_until_there_are_whole_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from piase_gym.benchmarks.evaluation.plots import new_figure, save_figure
    from piase_gym.benchmarks.evaluation.report import write_gif

    def fail(_file: int) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    frames = [np.zeros((8, 8, 3), np.uint8)] * 2
    film, plot = tmp_path / "film.gif", tmp_path / "plot.png"
    film.write_bytes(b"before")
    plot.write_bytes(b"before")
    with pytest.raises(StorageError, match="the disk is full"):
        write_gif(frames, film)
    with pytest.raises(StorageError, match="the disk is full"):
        save_figure(new_figure(1, 1), plot)
    assert film.read_bytes() == plot.read_bytes() == b"before"


def test_a_report_of_nothing_says_what_to_do(tmp_path: Path) -> None:
    from piase_gym.benchmarks.evaluation.report import write_report

    with pytest.raises(ProtocolError, match="piase bench smoke"):
        write_report(tmp_path)
    (tmp_path / "results.json").write_text('{"protocol": 0, "rows": []}')
    with pytest.raises(ProtocolError, match="no results of protocol 1"):
        write_report(tmp_path)


def sections(folder: Path) -> dict[str, list[str]]:
    """Return the lines of each section of a report, without empty ones."""
    text = (folder / "report.md").read_text("utf-8")
    parts = (part.splitlines() for part in text.split("\n## ")[1:])
    return {title: [line for line in lines if line] for title, *lines in parts}


def test_a_report_has_a_section_for_each_question(folder: Path) -> None:
    from piase_gym.benchmarks.evaluation.report import LEVELS
    from piase_gym.benchmarks.evaluation.tables import interval

    found, results = sections(folder), Results.load(folder / "results.json")
    titles = ["Overall", "Improvement", "Tasks", "Partners", "Behaviour", "Films", "Versions"]
    assert list(found) == titles
    assert found["Overall"][0].startswith("Suite two, split dev: 3 tasks. ")
    assert LEVELS[False] in found["Overall"]
    rows = [line for line in found["Overall"] if line.startswith("| ")][2:]
    assert rows == [
        f"| {name} | 1 | {interval(results.overall(name), 1)} | 3 of 3 | 9 |"
        for name in results.policies
    ]
    chance = interval(results.improvement("random", "scripted <&>"))
    assert found["Improvement"][-1] == f"| random | scripted <&> | {chance} |"
    assert "a run of the first policy scores more than one of the other" in found["Improvement"][0]
    assert "| seeds | 1000000 to 1000002 |" in found["Versions"]
    assert len(found["Tasks"]) == len(found["Behaviour"]) + 1 == 2 + 6 + 1  # and a picture
    assert found["Partners"][-1] == f"![{TEAM[6:]}](plots/cross_play_0.png)"


def test_behaviour_is_told_in_words(folder: Path) -> None:
    row = Results.load(folder / "results.json").row(EMPTY, "scripted <&>")
    (line,) = [x for x in sections(folder)["Behaviour"] if x.startswith(f"| {EMPTY} | scripted")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[2] == f"{row.gap.low_policy} {row.gap.low:.2f}, oracle {row.gap.high:.2f}"
    assert cells[3:] == ["ok 100 %", "goal_reached 1.00", "0.0", "0.0", f"{row.seconds:.2f}"]


def test_a_film_says_how_its_episode_ended(folder: Path) -> None:
    first = Results.load(folder / "results.json").of(EMPTY, "scripted <&>")[0]
    (line,) = [x for x in sections(folder)["Films"] if x.startswith(f"![{EMPTY[6:]}: scripted")]
    assert line.startswith(f"![{EMPTY[6:]}: scripted <&>, won after {first.steps} steps](films/")


def test_what_was_not_played_is_told_by_its_reason(folder: Path, tmp_path: Path) -> None:
    from piase_gym.benchmarks.evaluation.report import LEVELS, write_report

    reasons = {"a": "x", "b": "y", "c": "x"}
    skipped = tuple(Problem(f"piase/{name}", why) for name, why in reasons.items())
    whole = Results.load(folder / "results.json")
    problems = (Problem("here", "it fell"),)
    found = replace(whole, split="new_levels", problems=problems, skipped=skipped)
    found.save(tmp_path / "results.json")
    write_report(tmp_path)
    told = sections(tmp_path)
    assert list(told)[-3:] == ["Problems", "Not played", "Versions"]
    assert told["Problems"][-1] == "| here | it fell |"
    assert told["Not played"][-2:] == ["| x | a, c |", "| y | b |"]
    assert LEVELS[True] in told["Overall"]
    assert "Films" not in told  # there are none in this folder


def test_films_are_first_of_who_is_best_at_each_task(folder: Path, tmp_path: Path) -> None:
    from piase_gym.benchmarks.evaluation.report import film_path, make_films

    results = Results.load(folder / "results.json")
    settings, _ = read_suite(EMPTY).settings("dev")
    team, _ = read_suite(TEAM).settings("dev")
    policies = {"random": "random", "scripted <&>": "scripted"}
    made = make_films([*settings, team[0]], policies, results, tmp_path, most=3)
    worth = {row.policy: row.value for row in results.rows if row.setting == team[0].label}
    best = max(worth, key=lambda name: worth[name] or (0.0,))
    wanted = [(EMPTY, "scripted <&>"), (team[0].label, best), (EMPTY, "random")]
    assert made == [film_path(tmp_path, *place) for place in wanted]
    assert all(path.is_file() for path in made)


def test_a_long_film_is_cut(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from piase_gym.benchmarks.evaluation import report

    record = Results.load(folder / "results.json").of(EMPTY, "random")[0]
    (setting,), _ = read_suite(EMPTY).settings("dev")
    for most in (2, record.steps, record.steps + 1, record.steps + 2):
        monkeypatch.setattr(report, "FRAMES", most)
        frames = report.film(setting, read_policy("random"), record.seed)
        assert len(frames) == min(most, record.steps + 1)


def test_what_cannot_be_filmed_is_left_out(folder: Path, tmp_path: Path) -> None:
    from piase_gym.benchmarks.evaluation.report import film_path, make_films

    results = Results.load(folder / "results.json")
    settings, _ = read_suite(EMPTY).settings("dev")
    policies = {"scripted <&>": own.Refuses, "random": "random"}
    made = make_films(settings, policies, results, tmp_path)
    assert made == list((tmp_path / "films").iterdir()) == [film_path(tmp_path, EMPTY, "random")]


def test_a_report_goes_into_a_folder(tmp_path: Path) -> None:
    from piase_gym.benchmarks.evaluation.report import write_report

    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="is a file; name a folder"):
        write_report(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_report_about_a_model_tells_what_it_took_and_said(tmp_path: Path) -> None:
    from piase_gym.benchmarks.evaluation.report import write_report

    sure, wide = ({"estimate": 0.5, "low": low, "high": 0.5} for low in (0.5, 0.25))
    progress = [
        {"setting": "a", "policy": "llm:m", "steps": 2000, "won": wide, "value": sure},
        {"setting": "a", "policy": "random", "tokens": 100, "won": sure, "value": wide},
    ]
    call: dict[str, Any] = {
        "told": [{"role": "user", "content": "Go on."}],
        "outcome": "ok",
        "why": "",
    }
    calls = [{**call, "thinking": "Hm.", "answered": "left"}]
    calls += [{**call, "answered": "", "thinking": ""}]
    calls[1] |= {"outcome": "unreadable", "why": "no command"}
    transcript: dict[str, Any] = {
        "setting": "a",
        "seed": 7,
        "agent": "x",
        "result": "won",
        "calls": calls,
    }
    told: dict[str, Any] = {
        "model": "m",
        "prompt_id": "id-1",
        "settings": {"prompt": "long", "history": "all"},
    }
    told |= {"usage": {"calls": 3}, "spent": {"calls": 1}, "progress": progress}
    told |= {"transcripts": [transcript, {**transcript, "calls": []}]}
    (tmp_path / "results.json").write_text(json.dumps({"protocol": 1, "llm": told}))
    write_report(tmp_path)
    found = sections(tmp_path)
    by_steps, by_tokens = found["Progress by steps"], found["Progress by tokens"]
    assert found["Language model"][2:] == [
        "| prompt id | id-1 |",
        "| history | all |",
        "| all episodes took | 3 calls, 0 + 0 tokens, 0.0 s of waiting |",
        "| of that in the last run | 1 call, 0 + 0 tokens, 0.0 s of waiting |",
    ]
    assert by_steps[-1] == "| a | llm:m | 2,000 | 50 (25 to 50) | 0.50 |"
    assert by_tokens[-1] == "| a | random | 100 | 50 | 0.50 (0.25 to 0.50) |"
    assert by_steps[1] == "| task | policy | steps an episode | won so far, % | return so far |"
    title, *lines = found["Transcripts"][1:]
    assert title == "### a, seed 7, x: won"
    assert [line.strip() for line in lines if line.strip()] == [
        *("--- user, 1", "Go on.", "--- thinking, 1", "Hm.", "--- model, 1 (ok)", "left"),
        *("--- user, 2", "Go on.", "--- model, 2 (unreadable: no command)", "(nothing)"),
    ]


# -- throughput ---------------------------------------------------------------------------


STEADY = "import sys\nprint('ready 2', flush=True)\nfor _ in sys.stdin: print(9.0, flush=True)"


def test_throughput_names_what_is_missing_and_what_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from piase_gym.benchmarks.evaluation.report import write_report
    from piase_gym.benchmarks.speed import scaling

    # Each size of map and team is a kernel of its own, and compiling them all takes minutes.
    monkeypatch.setattr(scaling, "SCALES", {"agents": (4,), "side": (16,), "batch": (1, 64)})
    monkeypatch.setenv("PIASE_PEERS_PYTHON", sys.executable)
    for name, code in (("broken", "print('failed RuntimeError: no licence')"), ("steady", STEADY)):
        (tmp_path / f"{name}.py").write_text(code)
    field = (
        Peer("Nowhere", "no_such_peer", "Nowhere"),
        Peer("Broken", "broken", "Broken, 1", worker=tmp_path / "broken.py"),
        Peer("Steady", "steady", "Steady, 1", worker=tmp_path / "steady.py"),
    )
    found = scaling.throughput(rounds=1, seconds=0.001, field=field)
    assert "Nowhere" in found["missing"]
    assert found["failed"]["Broken, 1"] == "RuntimeError: no licence"
    rows = {row["name"]: row for row in found["environments"]}
    assert rows["Steady, 1"] == {
        "name": "Steady, 1",
        "rate": 9.0,
        "version": "Steady 2",
        "own": False,
    }
    assert any("GridWorld" in name for name in rows)
    for axis, sizes in scaling.SCALES.items():
        assert [point[axis] for point in found["scaling"][axis]["points"]] == list(sizes)
    scaling.store_throughput(found, tmp_path)
    write_report(tmp_path)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Nowhere" in page
    assert "no licence" in page
    with pytest.raises(ProtocolError):
        Results.load(tmp_path / "results.json")


def test_rates_are_told_beside_the_first_and_the_sizes(tmp_path: Path) -> None:
    from piase_gym.benchmarks.evaluation.report import write_report

    environments = [
        {"name": "ours", "rate": 2_000_000.0, "version": "1", "own": True},
        {"name": "theirs", "rate": 500_000.0, "version": "2.0", "own": False},
    ]
    rates = [{"name": "x", "rate": 3000.0, "ratios": {"ours": 1.0, "theirs": 0.125}}]
    points = [{"agents": 1, "rate": 1000.0}, {"agents": 4, "rate": 2500.0}]
    told: dict[str, Any] = {
        "environments": environments,
        "missing": [],
        "failed": {"Broken": "no licence"},
    }
    told |= {"peers": {"title": "One door", "rates": rates}}
    told |= {"scaling": {"agents": {"title": "Larger teams", "axis": "agents", "points": points}}}
    (tmp_path / "timings.json").write_text(json.dumps({"protocol": 1, "throughput": told}))
    write_report(tmp_path)
    found = sections(tmp_path)
    assert found["Throughput"][1:3] == [
        "Not installed, so not measured: nothing.",
        "Broken failed: no licence",
    ]
    assert found["Throughput"][5:7] == [
        "| ours | 2,000,000 | 1 | 1 |",
        "| theirs | 500,000 | 0.25 | 2.0 |",
    ]
    assert found["The same task"] == [
        "One door.",
        "| environment | agent-steps per CPU-second | x ours | x theirs |",
        "| --- | --- | --- | --- |",
        "| x | 3,000 | 1.00 | 0.12 |",
    ]
    assert found["Larger teams"][2:4] == ["| 1 | 1,000 |", "| 4 | 2,500 |"]
    assert (tmp_path / "plots" / "agents.png").is_file()


def test_throughput_is_kept_beside_an_evaluation_and_not_in_its_results(tmp_path: Path) -> None:
    path = tmp_path / "timings.json"
    path.write_text('{"protocol": 1, "throughput": {"kept": true}}')
    evaluate("noop", EMPTY, episodes=2, out=tmp_path)
    data = json.loads(path.read_text("utf-8"))
    assert data["throughput"] == {"kept": True}
    assert len(data["seconds"]) == 2
    assert "throughput" not in json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert len(Results.load(tmp_path / "results.json").episodes) == 2


def test_results_with_times_inside_are_still_read(tmp_path: Path) -> None:
    results = evaluate("noop", EMPTY, episodes=2, out=tmp_path)
    path = tmp_path / "results.json"
    data = json.loads(path.read_text("utf-8"))
    for episode in data["episodes"]:
        episode["seconds"] = 2.0
    path.write_text(json.dumps({**data, "versions": {"numpy": "1"}, "throughput": {}}))
    (tmp_path / "timings.json").unlink()
    found = Results.load(path)
    assert (found.rows[0].seconds, found.versions) == (4.0, {"numpy": "1"})
    assert found.evidence() == results.evidence()


# -- command line -------------------------------------------------------------------------


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `piase bench` with some words."""
    return run_python("-m", "piase_gym.cli", "bench", *words)


def test_bench_writes_results_and_reports_and_resumes(tmp_path: Path) -> None:
    words = ("suite", EMPTY, "--out", str(tmp_path), "-n", "3", "-p", "random", "-p", "me=scripted")
    done = run(*words, "--workers", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("results.json", "episodes.jsonl", "report.md", "report.html"):
        assert (tmp_path / name).stat().st_size > 0
    assert "split dev: 1 task. 0 points are" in (tmp_path / "report.md").read_text("utf-8")
    results = Results.load(tmp_path / "results.json")
    assert results.policies == ("random", "me")
    journal = (tmp_path / "episodes.jsonl").read_bytes()
    again = run(*words, "--workers", "1")
    assert again.returncode == 0
    assert (tmp_path / "episodes.jsonl").read_bytes() == journal
    assert Results.load(tmp_path / "results.json").evidence() == results.evidence()
    (tmp_path / "report.html").unlink()
    assert run("report", "--out", str(tmp_path)).returncode == 0
    assert (tmp_path / "report.html").is_file()


def test_smoke_plays_every_world(tmp_path: Path) -> None:
    done = run("smoke", "--out", str(tmp_path), "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    results = Results.load(tmp_path / "results.json")
    assert set(results.policies) <= {"random", "scripted", "oracle"}
    assert "GridWorld-Empty-8x8" in done.stdout


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("suite", "piase/GridWrld-v0"), "did you mean"),
        (("suite", EMPTY, "-p", "randm"), "did you mean 'random'"),
        (("suite", EMPTY, "-p", "=random"), "NAME=POLICY"),
        (("standard", "--split", "test"), "unknown split"),
        (("report", "--out", "/nowhere/at/all"), "piase bench smoke"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], what: str, tmp_path: Path) -> None:
    more = () if "--out" in words else ("--out", str(tmp_path))
    done = run(*words, *more)
    assert done.returncode == 2
    assert what in done.stderr
    assert "Traceback" not in done.stderr


def test_results_fit_a_terminal_with_full_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = "piase/SocialDilemma-PrisonersDilemma-TitForTat-v1"
    names = {"always_defect": "always_defect", "b": ["random", "random"]}
    results = evaluate(names, task, episodes=3)
    monkeypatch.setenv("COLUMNS", "80")
    show_results(results)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert task in lines
    for row in results.rows:
        assert sum(line.startswith(f"  {row.policy}") for line in lines) == 1
    assert sum("raw value" in line for line in lines) == len(results.rows)


def test_failures_are_told_and_end_with_one(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def policy(percept):\n    return float('nan')\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom piase_gym.cli import main; main()"
    )
    words = ["-c", code, "bench", "suite", EMPTY, "-n", "2", "-p"]
    words += ["bad:policy", "--out", str(tmp_path / "out"), "--workers", "1"]
    done = run_python(*words)
    assert done.returncode == 1
    assert "2 of 2 failed" in done.stdout
    assert (tmp_path / "out" / "report.html").is_file()


# -- documents ----------------------------------------------------------------------------


def blocks(name: str) -> list[str]:
    """Return the Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name).read_text("utf-8"), re.S)


@pytest.mark.parametrize("block", blocks("benchmarks.md"), ids=range(len(blocks("benchmarks.md"))))
def test_the_page_runs_as_printed(block: str) -> None:
    if "torch" in block:
        pytest.importorskip("torch")
    done = run_python("-c", block, warm="with_others")
    assert done.returncode == 0, done.stderr


def test_a_policy_of_ones_own_takes_ten_lines() -> None:
    lines = [line for line in blocks("benchmarks.md")[0].splitlines() if line.strip()]
    assert len(lines) <= 10


def test_a_row_is_all_that_a_suite_needs() -> None:
    results = evaluate("random", Row(task=EMPTY), episodes=1)
    assert results.settings == (EMPTY,)


def test_the_head_of_the_results_is_one_line_however_narrow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = evaluate("random", EMPTY, episodes=2)
    monkeypatch.setenv("COLUMNS", "30")
    show_results(results)
    head, *rest = capsys.readouterr().out.splitlines()
    assert len(head) > 30
    (row,) = [line for line in rest if line.startswith("  random")]
    assert len(row.split()) >= len(head.split())
