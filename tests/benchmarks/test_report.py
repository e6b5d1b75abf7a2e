"""The reports and the command line of benchmarks."""

from __future__ import annotations

import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from piase_gym.benchmarks import Results, Row, Suite, evaluate
from piase_gym.benchmarks.evaluation.suites import read_suite
from piase_gym.benchmarks.references.references import shipped
from piase_gym.benchmarks.speed.peers import Peer
from piase_gym.cli.results import show_results
from piase_gym.errors import ProtocolError
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


def test_a_report_of_nothing_says_what_to_do(tmp_path: Path) -> None:
    from piase_gym.benchmarks.evaluation.report import write_report

    with pytest.raises(ProtocolError, match="piase bench smoke"):
        write_report(tmp_path)
    (tmp_path / "results.json").write_text('{"protocol": 0, "rows": []}')
    with pytest.raises(ProtocolError, match="no results of protocol 1"):
        write_report(tmp_path)


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
    command = [sys.executable, "-c", "from piase_gym.cli import main; main()", "bench", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_bench_writes_results_and_reports_and_resumes(tmp_path: Path) -> None:
    words = ("suite", EMPTY, "--out", str(tmp_path), "-n", "3", "-p", "random", "-p", "me=scripted")
    done = run(*words, "--workers", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("results.json", "episodes.jsonl", "report.md", "report.html"):
        assert (tmp_path / name).stat().st_size > 0
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
    command = [sys.executable, "-c", code, "bench", "suite", EMPTY, "-n", "2", "-p"]
    command += ["bad:policy", "--out", str(tmp_path / "out"), "--workers", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "2 of 2 failed" in done.stdout
    assert (tmp_path / "out" / "report.html").is_file()


# -- documents ----------------------------------------------------------------------------


def blocks(name: str) -> list[str]:
    """Return the Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name).read_text("utf-8"), re.S)


@pytest.mark.parametrize("block", blocks("benchmarks.md"), ids=range(len(blocks("benchmarks.md"))))
def test_the_page_runs_as_printed(block: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_policy_of_ones_own_takes_ten_lines() -> None:
    lines = [line for line in blocks("benchmarks.md")[0].splitlines() if line.strip()]
    assert len(lines) <= 10


def test_numbers_of_the_page_are_those_of_the_file() -> None:
    from piase_gym.benchmarks.evaluation.tables import reference_table

    text = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    shown = text.split("<!-- references -->\n")[1].split("<!-- end -->")[0]
    assert shown == reference_table(shipped()), "run python docs/make_pages.py"


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
