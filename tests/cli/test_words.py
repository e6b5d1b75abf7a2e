"""What commands print of runs, logs and trainings, without a process of their own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import piase_gym
from piase_gym.cli import (
    console,
    curriculum,
    runs,
    scenarios,
    train,
)
from piase_gym.errors import (
    ConfigError,
)
from tests import probes
from tests.cli.conftest import Said, run

probes.register()


# -- runs of scenarios -----------------------------------------------------------------------------


def summary(won: bool, steps: int, value: float) -> Any:
    """Return as much of a summary as a sum needs."""
    results = {"ann": "won" if won else "lost"}
    return SimpleNamespace(won=won, steps=steps, returns={"ann": value}, results=results)


def test_episodes_are_summed_up(said: Said) -> None:
    found = [summary(True, 4, 1.0), summary(False, 9, -0.5)]
    scenarios._print_sum(found, "so far: ")
    assert said() == [
        "so far: 1 of 2 episodes won",
        "  mean length 6.5 steps (4 to 9)",
        "  ann: won 1, mean return 0.25 (-0.5 to 1)",
    ]
    scenarios._print_sum([], "")
    assert said() == ["0 of 0 episodes won"]
    assert scenarios._progress([], 3) == "episode 1 of 3"
    assert scenarios._progress(found, 3) == "episode 3 of 3: 1 of 2 won, mean length 6.5"


def test_strict_takes_warnings_for_errors() -> None:
    name = "lost_key"
    assert run("scenario", "lint", name)[0] == 0
    code, told = run("scenario", "lint", "--strict", name)
    assert code == 1
    assert "(warning)" in told
    sound = next(n for n in piase_gym.scenarios.names() if not piase_gym.scenarios.load(n).warnings)
    code, told = run("scenario", "lint", "--strict", sound)
    assert code == 0
    found = piase_gym.scenarios.load(sound)
    assert told == f"{sound}: {found.title}, a scenario of {found.world}: ok\n"


def test_a_strict_lint_of_a_fault_and_a_warning_fails(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("scenario_name: x\nenvironment_type: TextRoom\nwin: 1\n")
    assert run("scenario", "lint", "--strict", str(path), "lost_key")[0] == 1
    assert run("scenario", "lint", str(path))[0] == 1


def test_a_new_scenario_is_a_yaml_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a new scenario is a \.yaml file, not 'a.txt'"):
        run("scenario", "new", "a.txt")
    path = tmp_path / "my_story.yml"
    code, told = run("scenario", "new", str(path))
    assert (code, told) == (0, f"wrote {path}; try: piase run {path} --agent oracle\n")
    assert "My Story" in path.read_text("utf-8")


def test_references_are_written_where_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from piase_gym.benchmarks.references import measure

    given: dict[str, Any] = {}

    def play(**named: Any) -> Any:
        given.update(named)
        return {"settings": {"a": 1, "b": 2}}, []

    written: list[Any] = []
    monkeypatch.setattr(measure, "measure_references", play)
    monkeypatch.setattr(measure, "write_references", lambda *words: written.append(words))
    out = tmp_path / "mine.json"
    code, told = run("bench", "references", "--out", str(out), "-n", "3", "-p", "a=noop")
    assert code == 0
    assert written == [(out, {"settings": {"a": 1, "b": 2}})]
    assert "2 tasks are in" in told
    assert (given["episodes"], given["policies"], given["stored"]) == (3, {"a": ["noop"]}, None)
    with pytest.raises(ConfigError, match="is a folder; name the file to write"):
        run("bench", "references", "--out", str(tmp_path))


def test_a_run_is_shown_and_summed_up() -> None:
    words = ("run", "lost_key", "--agent", "oracle", "--episodes", "2")
    code, told = run(*words)
    assert code == 0
    assert told.count("The Lost Key: won after 7 steps") == 2
    assert "2 of 2 episodes won\n  mean length 7.0 steps (7 to 7)\n" in told
    plain = run(*words[:4])[1]
    assert "episodes won" not in plain
    shown = run(*words[:4], "--render", "text")[1]
    assert shown.count("You are PiaAgent_001") == 7  # before each step; then nobody reads
    with pytest.raises(ConfigError, match="unknown --render 'film'"):
        run(*words[:4], "--render", "film")
    with pytest.raises(ConfigError, match="are for language models; none plays here"):
        run(*words[:4], "--tokens", "10")


# -- logs ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of an episode of seven steps."""
    path = tmp_path_factory.mktemp("logs") / "run.jsonl"
    assert run("run", "lost_key", "--agent", "oracle", "--log", str(path))[0] == 0
    return path


def test_a_log_is_replayed_checked_and_counted(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.console, "_width", 200)
    report = piase_gym.runs.replay(log)
    assert run("replay", str(log)) == (0, f"{report.verdict}: {report}\n")
    assert run("validate", str(log)) == (0, f"{piase_gym.runs.validate(log)}\n")
    code, told = run("stats", str(log))
    assert code == 0
    lines = len(log.read_text("utf-8").splitlines())
    assert f"{lines} lines" in told
    cells = [[cell.strip() for cell in line.split("│")] for line in told.splitlines()]
    (row,) = [row[1:-1] for row in cells if "PiaAgent_001" in row]
    assert row[:5] == ["PiaAgent_001", "1", "1", "0", "0"]
    assert row[-1] == "7.0"


def test_names_are_shown_as_they_are(log: Path, tmp_path: Path) -> None:
    """Whatever their brackets mean to whoever prints them."""
    path = tmp_path / "a[" / "b].jsonl"
    path.parent.mkdir()
    path.write_bytes(log.read_bytes())
    for words in (("replay",), ("validate",), ("stats",)):
        assert run(*words, str(path))[0] == 0
    code, told = run("render", str(path), "--out", str(tmp_path / "c[red].gif"))
    assert (code, told.replace("\n", "")) == (0, f"saved {tmp_path / 'c[red].gif'}")


def test_a_log_that_is_damaged_fails(log: Path, tmp_path: Path) -> None:
    lines = log.read_text("utf-8").splitlines(keepends=True)
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(lines[: len(lines) // 2]) + "{\n", "utf-8")
    assert run("validate", str(broken))[0] == 1
    code, told = run("export", str(broken), str(tmp_path / "broken.csv"))
    number = len(lines) // 2 + 1
    assert code == 0
    for words in (told, run("stats", str(broken))[1]):
        assert f"1 line could not be read, the first: line {number}: " in words
    assert "could not" not in run("export", str(log), str(tmp_path / "whole.csv"))[1]


def test_a_run_is_forked(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    class Forked:
        before, after, parted = (1.0, 2.0), (1.5, 1.0), (3, None)

        def __str__(self) -> str:
            return "in short"

    def fork(path: Path, at: int, **given: Any) -> Any:
        asked.update(given, path=path, at=at)
        return Forked()

    monkeypatch.setattr("piase_gym.runs.fork", fork)
    code, told = run(
        *("fork", str(log), "--at", "3", "--action", "ann=4", "--action", "bob=go north"),
        *("--message", "ann=hello", "--hint", "bob=look", "--policy", "ann=noop"),
        *("--player", "bob=random", "--pairs", "2", "--vary", "dynamics", "--slot", "1"),
    )
    assert code == 0
    assert asked == {
        "path": log,
        "at": 3,
        "actions": {"ann": 4, "bob": "go north"},
        "messages": {"ann": "hello"},
        "hints": {"bob": "look"},
        "policies": {"ann": "noop"},
        "players": {"bob": "random"},
        "pairs": 2,
        "vary": ["dynamics"],
        "metric": "return",
        "agent": None,
        "slot": 1,
        "logs": None,
    }
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in told.splitlines()]
    assert ["0", "1.000", "1.500", "+0.500", "step +3"] in cells
    assert ["1", "2.000", "1.000", "-1.000", "never"] in cells
    assert told.endswith("in short\n")
    with pytest.raises(ConfigError, match=r"--hint takes AGENT=VALUE, .* not 'look'"):
        runs._pairs("hint", ["look"])


def test_a_run_is_exported_and_drawn(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run.csv"
    assert run("export", str(log), str(out)) == (0, f"saved {out}\n")
    assert out.stat().st_size > 0
    kept: list[Any] = []
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("{}\n", "utf-8")

    def preferences(*given: Any, **named: Any) -> Path:
        kept.append((given, named))
        return pairs

    monkeypatch.setattr("piase_gym.runs.preferences", preferences)
    code, told = run("export", str(log), "pairs.jsonl", "--format", "preferences", "--overwrite")
    assert (code, told) == (0, f"saved {pairs}\n")
    assert kept == [((log, "pairs.jsonl"), {"overwrite": True})]
    options = ["--dialect", "legacy"], ["--timestamps", "epoch"], ["--expand"], ["--level", "full"]
    for option in options:
        with pytest.raises(ConfigError, match="preferences have none"):
            run("export", str(log), "pairs.jsonl", "--format", "preferences", *option)
    monkeypatch.setattr("piase_gym.runs.export", lambda *_, **__: ["a.csv", "b.csv"])
    assert run("export", str(log), str(out)) == (0, "saved a.csv, b.csv\n")
    given: dict[str, Any] = {}

    def render(path: Path, place: Path, **named: Any) -> Path:
        given.update(named)
        return place

    monkeypatch.setattr("piase_gym.runs.render", render)
    assert run("render", str(log), "--from", "2", "--to", "5") == (0, "saved run.gif\n")
    expected = {"fps": 4, "slot": 0, "start": 2, "stop": 5, "overwrite": False}
    assert given == expected
    monkeypatch.setattr("piase_gym.runs.plot", lambda path, out, **_: out)
    assert run("plot", str(log)) == (0, "saved run.png\n")


def test_workers_import_modules_where_a_model_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def measure(*_: Any, **named: Any) -> None:
        given.update(named)
        raise ConfigError("enough")

    monkeypatch.setattr("piase_gym.benchmarks.evaluation.language_models.evaluate_model", measure)
    with pytest.raises(ConfigError, match="enough"):
        run("bench", "llm", "--model", "m", "-m", "json")
    assert given["modules"] == ("json",)


# -- training --------------------------------------------------------------------------------------


def test_a_training_says_where_it_is(said: Said) -> None:
    bar = console.StepBar("first look", 100)
    report = train.report_to(bar, 100)
    report(SimpleNamespace(total=128, steps=64, train=None, dev=0.5, best=0.75))  # type: ignore[arg-type]
    report(SimpleNamespace(total=128, steps=128, train=0.25, dev=0.5, best=0.75))  # type: ignore[arg-type]
    assert said() == [
        "100 steps are rounded up to 128: to whole updates",
        "64 of 128 steps: dev seeds 50%, best 75%",
        "128 of 128 steps: training 25%, dev seeds 50%, best 75%",
    ]


def test_what_came_of_a_training_is_a_table(said: Said) -> None:
    import typer

    result: Any = SimpleNamespace(
        reason="budget used",
        steps=2048,
        dev=0.5,
        wilson95=(0.4, 0.6),
        best_steps=1024,
        cpu_seconds=1234.6,
        name=f"ppo:runs/{'x' * 90}.zip",
    )
    train.show(result, Path("runs/x"))
    told = "\n".join(said())
    assert told.endswith(f"\nThe policy is {result.name}")  # in one piece, to be copied
    for words in (
        "budget used after 2,048 steps",
        "50.0% (40.0% to 60.0%)",
        "1,024 steps",
        "1,235",
    ):
        assert words in told
    result.reason = "interrupted"
    with pytest.raises(typer.Exit) as caught:
        train.show(result, Path("runs/x"))
    assert caught.value.exit_code == 130
    assert said()[-1] == "Go on with: piase train ... --out runs/x --resume"


def test_settings_of_a_training_are_given_once() -> None:
    from piase_gym.training.settings import TrainSettings

    read = train.read_options
    assert read(None, TrainSettings, {}) == {}
    name = next(key for key in TrainSettings.model_fields if key not in ("task", "config"))
    with pytest.raises(ConfigError, match=f"the setting '{name}' is given twice"):
        read([f"{name}=1"], TrainSettings, {name: 1})
    with pytest.raises(ConfigError, match="the setting 'task' is given twice, or has an option"):
        read(["task=1"], TrainSettings, {})
    with pytest.raises(ConfigError, match="unknown setting 'epoks'"):
        read(["epoks=1"], TrainSettings, {})
    with pytest.raises(ConfigError, match="'epochs' is no setting; write key=value"):
        read(["epochs"], TrainSettings, {})


def look(**more: Any) -> Any:
    """Return where a training through a curriculum is."""
    base = {"order": 2, "name": "walk", "attempt": 3, "outcome": "running", "ended": 4}
    return SimpleNamespace(**{**base, "wanted": 9, "won": 0.5, "episodes": 1200, **more})


def test_a_training_through_a_curriculum_says_where_it_is() -> None:
    drawn = curriculum.status_words(look(), True)
    assert drawn == "steps are drawn, 50% of the last 1,200 episodes won"
    here = "step 2 'walk', attempt 3"
    assert curriculum.status_words(look(decided=None), False) == f"{here}: 4 of 9 episodes"
    assert curriculum.status_words(look(decided=None, outcome="completed"), False) == here
    decided = SimpleNamespace(step=2, attempt=2, values={"success_rate": 0.25})
    words = curriculum.status_words(look(decided=decided), False)
    assert words.startswith(f"{here}: 4 of 9 episodes, ")
    assert "25%" in words or "50%" in words
