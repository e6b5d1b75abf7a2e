"""Jobs on this machine: the same results everywhere, and nothing lost but the job that failed."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import platform
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from piase_gym.errors import (
    ClusterError,
    ConfigError,
    JobError,
    MissingExtraError,
    StoppedError,
    StorageError,
    UnsupportedError,
)
from piase_gym.jobs import (
    InProcess,
    LineFile,
    Processes,
    Threads,
    choose_backend,
    do_missing,
    run_jobs,
)
from piase_gym.jobs.folders import out_folder
from tests.jobs import jobs_to_do as own
from tests.jobs.jobs_to_do import Draw
from tests.paths import ROOT

JOBS = [Draw(number) for number in range(6)]
TRUTH = [own.draw(job) for job in JOBS]


def results(perform: Any, backend: Any, jobs: Any = JOBS) -> list[Any]:
    """Return outcomes in the order of the jobs."""
    found = list(run_jobs(jobs, perform, backend))
    assert len(found) == len(jobs)
    return sorted(found, key=lambda outcome: jobs.index(outcome.job))


@pytest.mark.parametrize("make", [InProcess, lambda: Threads(3), lambda: Processes(2)])
def test_results_are_the_same_from_every_backend(make: Any) -> None:
    assert [outcome.value for outcome in results(own.draw, make())] == TRUTH


@pytest.mark.parametrize("make", [InProcess, lambda: Threads(2), lambda: Processes(2)])
def test_a_job_that_raises_is_named_and_the_others_are_done(make: Any) -> None:
    found = results(own.draw_or_raise, make())
    failed = found.pop(2)
    assert isinstance(failed.error, JobError)
    assert "number=2" in str(failed.error)
    assert "ZeroDivisionError: lost my way" in str(failed.error)
    assert "in draw_or_raise" in failed.error.trace
    assert [outcome.value for outcome in found] == TRUTH[:2] + TRUTH[3:]


@pytest.mark.parametrize("make", [InProcess, lambda: Threads(2), lambda: Processes(2)])
def test_a_job_that_ends_the_program_ends_itself_only(make: Any) -> None:
    found = results(own.draw_or_exit, make())
    failed = found.pop(2)
    assert "SystemExit: had enough" in str(failed.error)
    assert [outcome.value for outcome in found] == TRUTH[:2] + TRUTH[3:]


def test_a_worker_that_is_killed_loses_its_job_only(tmp_path: Path) -> None:
    jobs = [Draw(number, notes=str(tmp_path)) for number in range(6)]
    found = results(own.draw_or_die, Processes(2), jobs)
    failed = found.pop(2)
    assert "SIGKILL, 2 times in this job" in str(failed.error)
    assert len(list(tmp_path.glob("died-2-*"))) == 2
    assert [outcome.value for outcome in found] == TRUTH[:2] + TRUTH[3:]
    assert len(list(tmp_path.glob("begun-*"))) == 5  # none of the others was begun twice


def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path) -> None:
    jobs = [Draw(number, notes=str(tmp_path)) for number in range(6)]
    found = results(own.draw_or_die_once, Processes(2), jobs)
    assert [outcome.value for outcome in found] == TRUTH


def test_of_a_job_with_parts_only_the_part_that_kills_is_given_up() -> None:
    jobs = [(1, 2), (3, 13, 4), (5,)]
    found = list(run_jobs(jobs, own.sums_of, Processes(1), parts=lambda job: [(n,) for n in job]))
    assert {o.job: o.value for o in found if not o.error} == {(1, 2): 3, (3,): 3, (4,): 4, (5,): 5}
    assert [outcome.job for outcome in found if outcome.error] == [(13,)]


def test_a_job_that_takes_too_long_is_given_up() -> None:
    jobs = [Draw(0), Draw(1, seconds=60.0), Draw(2)]
    found = results(own.draw, Processes(2, timeout=1.0), jobs)
    assert "took longer than 1 s, 2 times" in str(found[1].error)
    assert [found[0].value, found[2].value] == [TRUTH[0], TRUTH[2]]


def test_what_cannot_be_sent_is_said() -> None:
    lock = threading.Lock()
    jobs = [Draw(1), Draw(2)]
    for outcome in run_jobs(jobs, lambda job: lock.locked(), Processes(1)):
        assert "cannot be sent" in str(outcome.error)
    (outcome,) = run_jobs(jobs[:1], own.unsendable, Processes(1))
    assert "the result cannot be sent" in str(outcome.error)
    (outcome,) = run_jobs(jobs[:1], own.unreadable, Processes(1))
    assert "the result cannot be read: invalid literal" in str(outcome.error)


def test_a_machine_that_starts_no_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_process: Any) -> None:
        raise BlockingIOError(11, "too many processes")

    monkeypatch.setattr(multiprocessing.get_context("spawn").Process, "start", refuse)
    with pytest.raises(UnsupportedError, match="cannot be started: too many processes"):
        results(own.draw, Processes(2))


def test_a_module_that_no_worker_can_import_is_named() -> None:
    told = "a worker cannot import a module that was asked for: No module named 'no_such_module'"
    with pytest.raises(ClusterError, match=told):
        list(run_jobs(JOBS, own.draw, Processes(2, ("json", "no_such_module"))))


def test_workers_end_when_nobody_waits_for_them(tmp_path: Path) -> None:
    jobs = [Draw(number, 60.0 * (number > 0), str(tmp_path)) for number in range(3)]
    found = run_jobs(jobs, own.draw, Processes(2))
    next(found)
    wait_for(lambda: len(list(tmp_path.glob("begun-*"))) == 2)
    assert living(tmp_path)
    found.close()
    assert not living(tmp_path)


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_workers_are_counted(workers: Any) -> None:
    with pytest.raises(ConfigError, match="workers must be a positive integer"):
        choose_backend(workers)


def test_workers_may_be_counted_by_numpy() -> None:
    assert isinstance(choose_backend(np.int64(1)), InProcess)  # type: ignore[arg-type]


# -- files of results ---------------------------------------------------------------------


def test_only_what_is_missing_is_done(tmp_path: Path) -> None:
    path, told = tmp_path / "out" / "lines.jsonl", []
    do_missing(JOBS[:2], own.draw, path)
    with path.open("ab") as file:
        file.write(b'{"key": "draw-2", "dra')  # it was cut off
    do_missing(
        JOBS, own.draw, path, progress=lambda o, done, whole: told.append((o.job, done, whole))
    )
    assert told == [(job, number, 4) for number, job in enumerate(JOBS[2:], start=1)]
    assert [json.loads(line) for line in path.read_text().splitlines()] == TRUTH


def test_jobs_that_fail_are_told_at_the_end(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"number=2.*lost my way"):
        do_missing(JOBS, own.draw_or_raise, tmp_path / "lines.jsonl")
    assert LineFile(tmp_path / "lines.jsonl").found == TRUTH[:2] + TRUTH[3:]


@pytest.fixture
def small_files() -> Iterator[None]:
    """Let no file grow beyond 200 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_and_costs_what_was_not_written(
    tmp_path: Path, small_files: None
) -> None:
    path = tmp_path / "lines.jsonl"
    with pytest.raises(StorageError, match="results are not on disk"):
        do_missing(JOBS, own.draw, path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    assert 1 <= len(LineFile(path).found) < len(JOBS)
    do_missing(JOBS, own.draw, path)
    assert sorted(LineFile(path).found, key=json.dumps) == sorted(TRUTH, key=json.dumps)


# -- Ctrl-C, and a driver that dies -------------------------------------------------------

SCRIPT = """
import signal
import sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run
sys.path.insert(0, {root!r})
from piase_gym.errors import PiaseError
from piase_gym.jobs import do_missing, Processes
from tests.jobs.jobs_to_do import Draw, draw

if __name__ == "__main__":
    jobs = [Draw(number, {seconds}, {notes!r}) for number in range(6)]
    try:
        do_missing(jobs, draw, Path({out!r}), Processes(2))
    except PiaseError as error:
        sys.exit(f"{{type(error).__name__}}: {{error}}")
"""


def wait_for(what: Any) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 60.0
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def living(notes: Path) -> list[int]:
    """Return the processes that have begun jobs and are there still."""
    said = [path.read_text() for path in notes.glob("begun-*")]
    pids = {int(pid) for pid in said if pid}  # a note may be there before its text is
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


class Driver:
    """A process that does six jobs in two workers."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.notes, self.out = folder / "notes", folder / "lines.jsonl"
        self.notes.mkdir(exist_ok=True)
        words = {"root": str(ROOT), "seconds": seconds, "notes": str(self.notes)}
        script = folder / "driver.py"
        script.write_text(SCRIPT.format(out=str(self.out), **words))
        command = [sys.executable, str(script)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def wait_for_jobs(self, count: int) -> None:
        """Wait until so many jobs were begun."""
        wait_for(lambda: len(list(self.notes.glob("begun-*"))) >= count)

    def end(self) -> str:
        """Return what was said."""
        return self.process.communicate(timeout=60)[1]


def test_ctrl_c_lets_the_jobs_under_way_finish(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 1.5)
    driver.wait_for_jobs(2)
    driver.process.send_signal(signal.SIGINT)
    said = driver.end()
    assert "Ctrl-C again stops at once" in said
    assert "StoppedError: stopped: 2 of 6 jobs were finished" in said
    assert sorted(LineFile(driver.out).found, key=json.dumps) == TRUTH[:2]
    assert len(list(driver.notes.glob("begun-*"))) == 2
    again = Driver(tmp_path, 0.0)
    assert again.end() == ""
    assert len(LineFile(again.out).found) == 6
    assert len(list(again.notes.glob("begun-*"))) == 6


def test_a_job_that_ctrl_c_ends_in_its_worker_has_not_failed() -> None:
    found, jobs = [], [Draw(0), Draw(1)]
    with pytest.raises(StoppedError, match="stopped: 1 of 2 jobs were finished and are kept"):
        found += list(run_jobs(jobs, own.draw_or_be_interrupted, Processes(2)))
    for backend in (Processes(1), Threads(1)):
        with pytest.raises(StoppedError, match="stopped: 0 of 6 jobs were finished"):
            found += list(run_jobs([Draw(1)] * 6, own.draw_or_be_interrupted, backend))
    assert not found


@pytest.mark.parametrize("more", [False, True])
def test_ctrl_c_at_the_last_job_keeps_more_work_from_beginning(more: bool) -> None:
    def press(number: int) -> int:
        signal.raise_signal(signal.SIGINT)
        return number

    found = []
    with pytest.raises(StoppedError, match="1 of 1") if more else contextlib.nullcontext():
        found += [outcome.value for outcome in run_jobs([7], press, more=more)]
    assert found == ([] if more else [7])


def test_ctrl_c_twice_ends_at_once(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 60.0)
    driver.wait_for_jobs(2)
    driver.process.send_signal(signal.SIGINT)
    assert driver.process.stderr is not None
    assert "Ctrl-C again" in driver.process.stderr.readline()
    driver.process.send_signal(signal.SIGINT)
    assert "StoppedError: stopped at once: 0 of 6 jobs were finished" in driver.end()
    wait_for(lambda: not living(driver.notes))
    assert LineFile(driver.out).found == []


def test_a_driver_that_is_killed_leaves_no_worker_and_loses_nothing(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 0.5)
    driver.wait_for_jobs(4)
    os.kill(driver.process.pid, signal.SIGKILL)
    driver.end()
    wait_for(lambda: not living(driver.notes))
    kept = LineFile(driver.out)
    assert 1 <= len(kept.found) < 6
    do_missing(JOBS, own.draw, driver.out)
    assert sorted(LineFile(driver.out).found, key=json.dumps) == sorted(TRUTH, key=json.dumps)


def test_no_process_is_asked_for_where_that_is_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(process: int, number: int) -> None:
        pytest.fail(f"signal {number} for {process}")

    system = SimpleNamespace(name="nt", getpid=os.getpid, kill=kill)
    monkeypatch.setattr("piase_gym.jobs.folders.os", system)
    other = tmp_path / f".driver-{platform.node()}-1-another"
    other.mkdir()
    with out_folder(tmp_path):
        assert other.is_dir()


def test_without_ray_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "from piase_gym.errors import MissingExtraError\n"
        "from piase_gym.jobs import choose_backend\n"
        "try: choose_backend(ray='auto')\n"
        "except MissingExtraError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'piase-gym[ray]'" in done.stdout
    assert issubclass(MissingExtraError, ImportError)
