"""What is measured of logs, learning, physics and scale, and how it is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.benchmarks.speed import logs, scale, throughput
from piase_gym.errors import ConfigError

MACHINE = {
    "machine": "a machine",
    "versions": dict.fromkeys(("piase_gym", "python", "numpy", "numba"), "1.0"),
    "load": [0.25, 1.96],
}


def test_a_log_is_compared_with_the_bare_step_in_turns_after_a_warm_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[Any] = []

    def in_turns(runs: Any, steps: int, rounds: int) -> Any:
        done.append((list(runs), steps, rounds))
        return {"bare": [1.0, 2.0, 9.0], "added": [4.0, 3.0, 11.0]}

    monkeypatch.setattr(logs, "in_turns", in_turns)
    found = logs.compared(
        lambda n: done.append(("bare", n)), lambda n: done.append(("log", n)), 3, 7
    )
    assert found == {"bare": 2.0, "added": 2.0}  # of 3, 1 and 2
    assert done == [("bare", 2000), ("log", 2000), (["bare", "added"], 7, 3)]
    logs.compared(lambda n: done.append(("bare", n)), lambda n: done.append(("log", n)), 3, 7, 5)
    assert done[3:5] == [("bare", 5), ("log", 5)]


def test_what_logs_cost_is_told() -> None:
    found: dict[str, Any] = {
        "levels": [
            {"level": "few", "bare": 10.0, "added": 0.254, "lines": 0.5},
            {"level": "many", "bare": 10.126, "added": 3.0, "lines": 4.0},
        ],
        "batches": [{"slots": 4096, "bare": 0.126, "added": 2.5}],
        "columns": [{"slots": 1024, "bare": 0.5, "added": 0.125, "bytes": 1.254}],
        "live": {"added": 1.5},
        "replay": {"us": 20.0, "bare": 15.0},
        "reading": {
            "events": 1_000_000,
            "bytes": 2.5e8,
            "counted": 1.25,
            "read": 7.04,
            "grown": 3e6,
        },
        **MACHINE,
    }
    parts = logs.sections(found)
    assert list(parts) == ["levels", "batches", "columns", "others"]
    assert parts["levels"].tables[0].lines == [
        ("level", "bare step, µs", "added µs a step", "lines a step", "added µs a line"),
        ("`few`", "10.00", "0.25", "0.50", ""),
        ("`many`", "10.13", "3.00", "4.00", "0.75"),
    ]
    assert parts["batches"].tables[0].lines == [
        ("environments", "bare step of one, µs", "added µs a line"),
        ("4,096", "0.13", "2.50"),
    ]
    assert parts["columns"].tables[0].lines == [
        ("environments", "bare step of one, µs", "added, µs", "share", "bytes a step"),
        ("1,024", "0.500", "0.125", "0.25", "1.25"),
    ]
    words, about = parts["others"].words
    assert words == (
        "`runs.Metrics` over a live environment adds 1.50 µs a step. A replay runs at 0.75 of the "
        "speed of stepping. `runs.stats` counts 1,000,000 events (0.25 GB) in 1.2 s and "
        "`runs.read` yields them in 7.0 s; memory grows by 3 MB."
    )
    assert about == (
        "Measured on a machine, with piase_gym 1.0, python 1.0, numpy 1.0, numba 1.0; the load of "
        "the machine was 0.2 and 2.0 at the start and at the end."
    )


def test_all_of_logs_is_measured_batches_in_a_tenth_of_the_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def noted(name: str) -> Callable[..., Any]:
        return lambda *given: (name, *(one for one in given if not isinstance(one, Path)))

    for name in ("level", "live", "batch", "replay", "reading"):
        monkeypatch.setattr(logs, f"measure_{name}", noted(name))
    found = logs.measure_all(500, 30)
    levels = found.pop("levels")
    assert levels == [("level", level, 30) for level in logs.runs.LEVELS]
    assert {name: value for name, value in found.items() if name not in MACHINE} == {
        "live": ("live", 30),
        "batches": [("batch", 16, 3), ("batch", 256, 3), ("batch", 4096, 3)],
        "columns": [("batch", 64, 3, "arrow"), ("batch", 1024, 3, "arrow")],
        "replay": ("replay", 3),
        "reading": ("reading", 500),
    }
    assert logs.measure_all(500, 5)["replay"] == ("replay", 1)


def test_workers_are_compared_by_wall_time_and_a_job_by_many_and_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def wall(workers: Any, jobs: list[float]) -> float:
        asked.append((workers, jobs))
        return 0.5 + (sum(jobs) + 0.002 * len(jobs)) / workers

    monkeypatch.setattr(scale, "wall", wall)
    found = scale.side_by_side(lambda n: n, 2)  # type: ignore[arg-type, return-value]
    assert found["ratio"] == pytest.approx(20.508 / 10.504)
    assert found["overhead_ms"] == pytest.approx(2.0)
    long = [5.0] * 4
    assert asked == [(1, long), (2, long)] * 2 + [(1, [0.0]), (1, [0.0] * 101)]


def test_wall_time_is_of_jobs_that_went_well(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 3.5, 10.0])
    given: list[Any] = []
    errors: list[str | None] = [None, None]

    def run_jobs(*args: Any) -> Any:
        given.append(args)
        return [SimpleNamespace(error=error) for error in errors]

    monkeypatch.setattr(scale, "run_jobs", run_jobs)
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    backend: Any = "backend"
    assert scale.wall(backend, [1.0, 2.0]) == 2.5
    assert given == [([1.0, 2.0], scale.spin, "backend")]
    errors[1] = "broken"
    with pytest.raises(RuntimeError, match="broken"):
        scale.wall(backend, [1.0, 2.0])


def test_a_job_uses_up_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 1.0, 1.4, 1.5, 1.9])
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    assert scale.spin(0.5) == 0.5
    assert next(clock) == 1.9


def test_only_the_parts_that_are_asked_for_are_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scale, "FILE", tmp_path / "scale.json")
    for name in ("jobs", "collecting", "start"):
        monkeypatch.setattr(scale, f"measure_{name}", lambda rounds, name=name: [name, rounds])
    for name in ("peaks", "memory"):
        monkeypatch.setattr(scale, f"measure_{name}", lambda name=name: [name])
    with pytest.raises(ConfigError, match="there is no part 'job'; did you mean 'jobs'"):
        scale.measure_all("job")
    found = scale.measure_all("jobs,peaks", 2)
    assert (found["jobs"], found["peaks"]) == (["jobs", 2], ["peaks"])
    assert set(found) - set(MACHINE) == {"jobs", "peaks", "loads"}
    assert set(found["loads"]) == {"jobs", "peaks"}
    stored = '{"jobs": "old", "start": "kept", "other": 1, "loads": {"start": 7.0}}'
    scale.FILE.write_text(stored)
    found = scale.measure_all("jobs")
    assert (found["jobs"], found["start"]) == (["jobs", 5], "kept")
    assert set(found) - set(MACHINE) == {"jobs", "start", "loads"}
    assert found["loads"]["start"] == 7.0
    scale.FILE.unlink()
    whole = scale.measure_all()
    assert whole["collect"] == ["collecting", 5]
    assert whole["start"] == ["start", 5]
    assert whole["memory"] == ["memory"]


def test_code_runs_in_a_process_of_its_own() -> None:
    printed, spent = scale.in_process("import os; print(os.environ['WORD'])", WORD="hello")
    assert printed == "hello\n"
    assert 0.0 < spent < 60.0
    with pytest.raises(RuntimeError, match=r"^ValueError: no$"):
        scale.in_process("raise ValueError('no')")


def test_starting_and_memory_are_told_of_every_world_or_why_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    costs = iter([9.0, 1.0, 5.0, 2.0])
    codes, folders = list[str](), list[str]()

    def in_process(code: str, **environment: str) -> tuple[str, float]:
        codes.append(code)
        folders.extend(environment.values())
        assert all(Path(folder).is_dir() for folder in environment.values())
        if "broken" in code:
            raise RuntimeError("no licence")
        return 'words\n{"open": 3, "bytes": 5.0, "error": null}\n', next(costs)

    monkeypatch.setattr(scale, "in_process", in_process)
    tasks = {"A": ("piase/A-v1", "text"), "B": ("broken", "vector")}
    monkeypatch.setattr(scale, "worlds", lambda: tasks)
    assert scale.measure_start(3) == {"A": {"first": 9.0, "later": 2.0}, "B": "no licence"}
    assert len(codes) == 5
    assert folders[:4] == folders[:1] * 4  # rules are compiled once
    assert folders[4] != folders[0]
    assert "piase_gym.parallel_env('piase/A-v1', view=\"text\")" in codes[0]
    costs = iter([1.0])
    assert scale.measure_memory() == {
        "A": {"open": 3, "bytes": 5.0, "error": None},
        "B": {"open": 0, "bytes": 0.0, "error": "no licence"},
    }
    assert "while len(envs) <= 1000 and used() < 8589934592" in codes[-2]
    assert '"PIASE_BULLET_CLIENTS"] = "10000"' in codes[-2]


def test_worlds_that_are_measured_have_tasks_and_no_window() -> None:
    found = scale.worlds()
    assert "ScreenSearch" not in found
    assert found["TextRoom"][1] == found["SqlQuery"][1] == "text"
    assert found["GridWorld"][1] == "vector"
    for name, (task, _) in found.items():
        assert task in scale.piase_gym.list_tasks(name)
        assert re.fullmatch(rf"piase/{name}-v\d+", task)
    assert len(found) == 8


def test_peaks_are_after_a_tenth_and_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "peak_memory", lambda steps, kind: [steps, kind])
    keep = {"keep": "actions"}, {"keep": "observations"}, {"format": "minari"}
    assert scale.measure_peaks() == {
        name: [[steps, [steps, kind]] for steps in (most // 10, most)]
        for name, kind, most in (
            ("actions", keep[0], 100_000_000),
            ("observations", keep[1], 10_000_000),
            ("datasets", keep[2], 1_000_000),
        )
    }


def test_collecting_is_told_as_a_share_of_stepping(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def batch(count: int, _: Path, rounds: int, kind: str) -> dict[str, float]:
        asked.append((count, rounds, kind))
        return {"bare": 3.0, "added": 1.0}

    monkeypatch.setattr(scale, "measure_batch", batch)
    monkeypatch.setattr(scale, "measure_table", lambda _, rounds: rounds)
    actions = {"bare": 3.0, "added": 1.0, "share": 0.75}
    assert scale.measure_collecting(2) == {"actions": actions, "observations": 2}
    assert asked == [(1024, 40, "arrow")]


def test_scale_is_told() -> None:
    held = {"open": 1000, "bytes": 2048.0, "error": None}
    found: dict[str, Any] = {
        "jobs": {"processes": {"ratio": 1.957, "overhead_ms": 2.04}},
        "loads": {"jobs": 0.25},
        "collect": {
            "actions": {"bare": 3.0, "added": 1.0, "share": 0.75, "bytes": 8.0},
            "observations": {"ours": 2.0, "share": 0.5, "bytes": 30.0},
        },
        "peaks": {"actions": [[1000, 2**20], [10_000, 2**31]]},
        "start": {"A": {"first": 21.04, "later": 1.256}, "B": "broken"},
        "memory": {"A": held, "B": {"open": 0, "bytes": 0.0, "error": "wrong"}},
        **MACHINE,
    }
    parts = scale.sections(found)
    assert list(parts) == ["jobs", "collect", "plan", "peaks", "worlds"]
    lines = {name: part.tables[0].lines for name, part in parts.items()}
    assert lines["jobs"][1:] == [("processes", "1.96", "2.0")]
    assert parts["jobs"].words == ["The load of the machine was 0.2 when this began."]
    assert lines["collect"][1:] == [
        ("actions", "0.75", "unlogged stepping", "8.00 a step of an environment"),
        ("observations", "0.50", "pyarrow alone writing the same table", "30.0 a row"),
    ]
    # an agent's step takes 4 / 4 = 1 µs, so a core logs 60 million a minute, and 2 bytes each
    assert lines["plan"] == [
        ("what is kept", "agent-steps a minute and core", "cores", "MB a second", "TB a day"),
        ("actions", "60 million", "16.7", "33", "2.88"),
        ("observations", "30 million", "33.3", "500", "43.20"),
    ]
    assert lines["peaks"][1:] == [("actions", "1,000", "1"), ("actions", "10,000", "2,048")]
    assert lines["worlds"][1:] == [
        ("A", "21.0", "1.26", "1,000", "2", "524,288"),
        ("B", "", "broken", "0", "0", "1,073,741,824"),
    ]
    assert list(parts["worlds"].words[:2]) == [
        "B: wrong",
        "No more were opened than 1,000 environments, or 8 GiB in the process.",
    ]
    assert len(parts["worlds"].words) == 3


def test_the_baseline_gives_new_observations_or_one_for_ever() -> None:
    for fresh in (True, False):
        env = throughput.NoopParallelEnv(2, fresh)
        shown, infos = env.reset()
        assert (list(shown), infos) == (["agent_0", "agent_1"], {"agent_0": {}, "agent_1": {}})
        first, rewards, terminated, truncated, infos = env.step({})
        second = env.step({})[0]
        assert (first["agent_0"] is second["agent_0"]) is not fresh
        assert first["agent_1"].tolist() == shown["agent_1"].tolist() == [0.0]
        names = ["agent_0", "agent_1"]
        assert rewards == dict.fromkeys(names, 0.0)
        assert terminated == truncated == dict.fromkeys(names, False)
        assert infos == {name: {} for name in names}
        assert env.observation_space("agent_0").contains(first["agent_0"])
        assert env.action_space("agent_0").n == 2
    assert throughput.noop_row(8)[:2] == ("no-op ParallelEnv, 8 agents", 8)
    name = "no-op ParallelEnv, 2 agents, one array for ever"
    assert throughput.noop_row(2, fresh=False)[:2] == (name, 2)
