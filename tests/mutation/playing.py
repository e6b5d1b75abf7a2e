"""Runs tests in a copy of the checkout: until one fails, or all of them, to see what they reach."""

from __future__ import annotations

import importlib
import os
import resource
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.changes import TOPS
from tests.paths import ROOT

LIBRARIES = "numba gymnasium pettingzoo pydantic typer rich torch".split()
SLOWEST, SLOWEST_PLAIN = 20, 6
"""CPU-seconds after which a test is given up when it is measured; with kernels as plain Python."""
PATIENCE = 12
"""How many times as long it may take on a clock on the wall, as the machine may be busy."""
COPIED = (*TOPS, "examples", "tests", "docs", "*.md", "*.txt", "pyproject.toml", "Makefile")


def copy_all(target: Path) -> None:
    """Copy the checkout."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in (path for name in COPIED for path in ROOT.glob(name)):
        if path.is_dir():
            without = shutil.ignore_patterns("__pycache__", "_build")
            shutil.copytree(path, target / path.name, symlinks=True, ignore=without)
        else:
            shutil.copy2(path, target / path.name)


def enter(folder: Path) -> None:
    """Let this process, which has imported libraries but none of our code, work in a copy."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)
    for name in [n for n in sys.modules if n.partition(".")[0] in ("tests", "piase_gym")]:
        del sys.modules[name]
    for name in LIBRARIES:
        pytest.importorskip(name)


def cpu_seconds() -> float:
    """Return the CPU-seconds of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Recorder:
    """A pytest plug-in: tests that pass have a duration, and write what they reach."""

    def __init__(self, out: Path) -> None:
        self.out, self.passed = out, True
        self.module: Any = importlib.import_module("sitecustomize")
        self.module.out = os.environ["MUTATION_REACHED"] = f"{out}.reached"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        def give_up(*_: object) -> None:
            raise TimeoutError(f"the test takes more than {slowest} s")

        slowest = SLOWEST_PLAIN if os.environ["NUMBA_DISABLE_JIT"] == "1" else SLOWEST
        self.module.known.clear()
        self.module.test = os.environ["MUTATION_TEST"] = item.nodeid
        signal.signal(signal.SIGALRM, give_up)
        signal.signal(signal.SIGPROF, give_up)
        signal.setitimer(signal.ITIMER_PROF, slowest)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE * slowest)
        start, self.passed = cpu_seconds(), True
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.module.test = None
            if self.passed:
                with Path(f"{self.out}.seconds").open("a") as file:
                    file.write(f"{cpu_seconds() - start:.4f} {item.nodeid}\n")

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed &= report.outcome == "passed"


class TextWriter:
    """A pytest plug-in that writes the names of tests, and of files, that fail."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            os.write(self.pipe, f"{report.nodeid}\n".encode())

    pytest_collectreport = pytest_runtest_logreport


def play(
    tests: list[str], seconds: float, plain: bool, measured: Path | None = None
) -> tuple[str | None, float]:
    """Run tests in a fork of this process, with kernels as plain Python or compiled.

    All of them where it is `measured` what they reach, else until one fails.

    Returns:
        What failed first (or ``time``, or how the process died) if something did; CPU-seconds.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        limit = int(2 * seconds) + 30
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        os.environ["NUMBA_DISABLE_JIT"] = str(int(plain))
        sys.modules["numba"].config.DISABLE_JIT = int(plain)
        words = [*tests, "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        words += [] if measured else ["-x"]
        plugins: list[Any] = [Recorder(measured)] if measured else []
        try:
            code = int(pytest.main(words, plugins=[TextWriter(theirs), *plugins]))
        except BaseException:  # never goes on where the parent does
            code = 1
        os._exit(code)
    os.close(theirs)
    end = time.monotonic() + PATIENCE * seconds + 60
    while not (ended := os.wait4(child, os.WNOHANG))[0]:
        time.sleep(0.02)
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
    with os.fdopen(ours) as pipe:
        told = pipe.readline().strip()
    code = os.waitstatus_to_exitcode(ended[1])
    if code < 0:
        told = "time" if -code in (signal.SIGXCPU, signal.SIGKILL) else f"signal {-code}"
    cpu = ended[2].ru_utime + ended[2].ru_stime
    return (told or f"exit code {code}") if code else None, cpu


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
