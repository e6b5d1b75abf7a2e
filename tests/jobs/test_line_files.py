"""Files of lines, folders of jobs and what becomes of jobs, without any worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.errors import ClusterError, JobError, StorageError
from piase_gym.jobs import LineFile
from piase_gym.jobs.backend import Answer
from piase_gym.jobs.folders import out_folder
from piase_gym.jobs.missing_lines import do_missing, raise_failed
from piase_gym.jobs.run import run_jobs, short_name


def test_lines_are_found_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lines.jsonl"
    file = LineFile(path)
    assert (file.found, file.damaged, file.error, file.unsaved) == ([], 0, None, 0)
    assert file.add({"a": 1})
    file.put({"a": 2})
    assert file.unsaved == 1
    assert path.read_bytes() == b'{"a":1}\n'
    assert file.flush()
    assert file.unsaved == 0
    assert LineFile(path).found == [{"a": 1}, {"a": 2}]


def test_a_torn_line_is_ended_or_cut(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a":1}\nnonsense\n[3]\n{"a":2')
    file = LineFile(path)
    assert (file.found, file.damaged) == ([{"a": 1}], 2)
    assert file.add({"a": 3})
    assert file.add({"a": 4})
    assert path.read_bytes().endswith(b'{"a":2\n{"a":3}\n{"a":4}\n')
    path.write_bytes(b'{"a":1}\n{"a":2')
    assert LineFile(path, cut=True).add({"a": 3})
    assert path.read_bytes() == b'{"a":1}\n{"a":3}\n'
    path.write_bytes(b'{"a":1}\n')
    assert LineFile(path, cut=True).found == [{"a": 1}]
    assert path.read_bytes() == b'{"a":1}\n'


def test_lines_wait_while_nothing_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    file = LineFile(path)
    path.mkdir()
    assert not file.add({"a": 1})
    assert not file.add({"a": 2})
    assert file.unsaved == 2
    assert str(file.error) == f"{path}: Is a directory"
    path.rmdir()
    assert file.flush()
    assert file.error is None
    assert LineFile(path).found == [{"a": 1}, {"a": 2}]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"{}\n")

    def broken(self: Path) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", broken)
    with pytest.raises(StorageError, match=r"lines\.jsonl: Input/output error"):
        LineFile(path)


def test_a_worker_that_sees_the_folder_writes_there(tmp_path: Path) -> None:
    with out_folder(tmp_path / "out") as out:
        token = tmp_path / "out" / out.token
        assert token.is_dir()
        assert out.scratch(tmp_path / "out") == token
        assert out.scratch(tmp_path) == tmp_path
        with out.work() as (place, files):
            assert place == tmp_path / "out"
            assert files() == {}
    assert not token.exists()
    assert (tmp_path / "out").is_dir()
    with out.work() as (place, files):  # as on another machine
        assert place != tmp_path / "out"
        (place / "sub").mkdir()
        (place / "sub" / "b").write_bytes(b"2")
        (place / "a").write_bytes(b"1")
        found = files()
    assert found == {"a": b"1", "sub/b": b"2"}
    assert list(found) == ["a", "sub/b"]
    assert not place.exists()
    (tmp_path / "out" / "sub").mkdir()
    out.take(found)
    assert (tmp_path / "out" / "sub" / "b").read_bytes() == b"2"


def test_what_a_killed_driver_left_is_removed(tmp_path: Path) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    with out_folder(tmp_path) as out:
        stem = out.token.split(f"-{os.getpid()}-")[0]
    left = tmp_path / f"{stem}-{done.pid}-aa"
    running = tmp_path / f"{stem}-{os.getpid()}-bb"
    odd, other = tmp_path / f"{stem}-x-cc", tmp_path / ".driver-elsewhere-1-dd"
    for folder in (left, running, odd, other):
        folder.mkdir()
    with out_folder(tmp_path):
        assert not left.exists()
        assert all(folder.is_dir() for folder in (running, odd, other))


def perform(job: Any) -> dict[str, Any]:
    """Do a job; those below zero fail."""
    if job.value < 0:
        raise ValueError("below zero")
    return {"key": job.key, "value": 2 * job.value}


def job(value: int) -> Any:
    return SimpleNamespace(key=f"k{value}", value=value)


def test_only_what_has_no_line_is_done(tmp_path: Path) -> None:
    path, told = tmp_path / "lines.jsonl", list[Any]()

    def progress(outcome: Any, done: int, whole: int) -> None:
        told.append((outcome.job.value, outcome.error is None, done, whole))

    do_missing([job(1), job(2)], perform, path, progress=progress)
    assert told == [(1, True, 1, 2), (2, True, 2, 2)]
    told.clear()
    with pytest.raises(JobError) as caught:
        do_missing([job(n) for n in (1, -1, 3, -2)], perform, path, progress=progress)
    assert told == [(-1, False, 1, 3), (3, True, 2, 3), (-2, False, 3, 3)]
    assert "2 of 3 jobs failed; the same command tries them again" in str(caught.value)
    assert "below zero" in str(caught.value)
    lines = LineFile(path).found
    assert [line["value"] for line in lines] == [2, 4, 6]
    with pytest.raises(JobError) as caught:
        do_missing([job(-1)], perform, path)
    assert "jobs failed" not in str(caught.value)
    raise_failed([], 3)


def test_results_that_were_not_stored_are_told(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"

    def breaks(job: Any) -> dict[str, Any]:
        path.mkdir(exist_ok=True)
        return perform(job)

    with pytest.raises(StorageError, match="2 of 2 results are not on disk and will be made again"):
        do_missing([job(1), job(2)], breaks, path)


class Answers:
    """A backend that gives prepared answers."""

    attempts = 3

    def __init__(self, *answers: Any) -> None:
        self.answers, self.submitted, self.closed = list(answers), list[Any](), False

    def slots(self) -> int:
        return 1

    def submit(self, number: int, perform: Any, job: Any) -> None:
        self.number = number
        self.submitted.append(job)

    def wait(self, seconds: float) -> Any:
        yield self.number, Answer(**{"seconds": 1.5, "host": "here", **self.answers.pop(0)})

    def close(self) -> None:
        self.closed = True


def outcomes(*answers: Any, jobs: Any = ("a",), **how: Any) -> tuple[list[Any], Answers]:
    """Return what came of jobs for which there are these answers."""
    backend: Any = Answers(*answers)
    found = list(run_jobs(jobs, len, backend, **how))
    assert backend.closed
    return found, backend


DIED = {"died": True, "error": "the worker died"}


def test_a_job_is_tried_so_often_and_given_up() -> None:
    found, backend = outcomes(DIED, DIED, {"value": 7})
    assert backend.submitted == ["a", "a", "a"]
    assert [(o.job, o.name, o.value, o.error, o.seconds, o.host) for o in found] == [
        ("a", "'a'", 7, None, 1.5, "here")
    ]
    found, backend = outcomes(*[DIED] * 5, {"value": 1}, jobs=("a", "b"))
    assert backend.submitted == list("ababab")
    assert [(outcome.job, outcome.error is None) for outcome in found] == [
        ("a", False),
        ("b", True),
    ]


def test_the_third_death_in_a_job_is_its_end() -> None:
    found, _ = outcomes(DIED, DIED, DIED)
    assert "the worker died, 3 times in this job" in str(found[0].error)
    found, _ = outcomes({"error": "no"})
    assert "times in this job" not in str(found[0].error)


def test_a_job_with_parts_is_divided() -> None:
    found, backend = outcomes(
        DIED, {"value": 1}, DIED, DIED, DIED, jobs=("ab",), parts=lambda job: list(job)
    )
    assert backend.submitted == ["ab", "a", "b", "b", "b"]
    assert [(outcome.job, outcome.error is None) for outcome in found] == [
        ("a", True),
        ("b", False),
    ]


def test_workers_that_can_do_nothing_stop_everything() -> None:
    backend: Any = Answers({"useless": True, "error": "another version"})
    with pytest.raises(ClusterError, match="another version; what is finished is kept"):
        list(run_jobs(["a", "b"], len, backend))
    assert backend.closed
    assert short_name("x" * 200) == repr("x" * 200)[:120]
