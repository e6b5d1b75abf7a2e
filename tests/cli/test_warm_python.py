"""Forks of a warm Python do what a new Python does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.warm_python import run_python
from tests.paths import ROOT

CODES = {
    "both streams": "import sys; print('one', 1.5); print('two', file=sys.stderr)",
    "what it is given": "import os, sys; print(sys.argv[1:], os.getcwd(), os.environ['OWN'])",
    "its environment": "import os; print(sorted(os.environ.items()))",
    "its input": "import sys; print([*sys.stdin])",
    "a status": "import sys; sys.exit(3)",
    "a last word": "import sys; sys.exit('no more')",
    "a name of its own": "print(__name__, __import__('__main__').__dict__ is globals())",
    "what is done at the end": "import atexit; atexit.register(print, 'end'); print('begin')",
    "threads that go on": (
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()"
    ),
    "letters": "print('clé ✓', '\\udcff'.encode('utf-8', 'surrogateescape'))",
    "a kill": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "no traces of others": "import piase_gym; print(piase_gym.list_worlds())",
}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_a_fork_does_what_a_new_python_does(code: str, tmp_path: Path) -> None:
    env = {**os.environ, "OWN": "1", "PWD": str(tmp_path)}
    words, stdin = ("-c", code, "--a", "b c"), "first\nzweite é\n"
    new = subprocess.run(
        [sys.executable, *words],
        input=stdin.encode(),
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=env,
    )
    seen = (new.returncode, new.stdout.decode("utf-8"), new.stderr.decode("utf-8"))
    for warm in ("with_piase_gym", "with_others"):
        fork = run_python(*words, stdin=stdin.encode(), cwd=tmp_path, env=env, warm=warm)
        assert (fork.returncode, fork.stdout, fork.stderr) == seen


def test_a_fork_finds_modules_and_settings_in_its_own_environment(tmp_path: Path) -> None:
    (tmp_path / "piase_gym.py").write_text("copied = True\n", "utf-8")
    code = (
        "import numba, piase_gym, sys; print(piase_gym.copied, numba.config.CACHE_DIR, *sys.path)"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "here")}
    done = run_python("-c", code, cwd=tmp_path, env=env, warm="with_others")
    assert done.stdout.split()[:3] == ["True", str(tmp_path / "here"), str(tmp_path)]
    assert str(ROOT) not in done.stdout.split()


def test_a_fork_takes_warnings_for_errors_if_told_to() -> None:
    code = "import warnings; warnings.warn('so'); print('went on')"
    assert "UserWarning: so" in run_python("-W", "error", "-c", code, warm="with_others").stderr
    assert run_python("-W", "ignore", "-c", code, warm="with_others").stdout == "went on\n"


def test_an_error_ends_with_a_traceback(tmp_path: Path) -> None:
    done = run_python("-c", "def f():\n    1 / 0\nf()", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_who_takes_too_long_is_ended(tmp_path: Path) -> None:
    assert run_python("-c", "while True: pass", cwd=tmp_path, timeout=1).returncode < 0
