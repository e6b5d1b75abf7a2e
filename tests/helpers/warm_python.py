"""Processes that start at once: forks of a Python that has imported what most of them need.

A third of the time of many tests went into imports. A fork is as much a process of its own as any
other, with its streams, environment, folder and exit status; only what is imported already is not
imported again. The command line itself is: it reads the environment when it is imported. Where a
test is about what a program imports of piase_gym, or about a copy of it, the fork is of a Python
that has imported the packages of others alone (`with_others`, `with_torch`).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.paths import ROOT

SEPARATE = ("piase_gym.cli",)
"""Modules that each fork imports by itself."""
OTHERS = ("gymnasium", "numba", "pettingzoo", "pydantic", "yaml")
"""Packages of others that most programs with piase_gym import."""
LEARNERS = ("torch", "torch._dynamo", "stable_baselines3", "sb3_contrib")
"""Those that programs import as well which train."""
_lock = threading.Lock()


def run_python(
    *words: str,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 600,
    warm: str = "with_piase_gym",
) -> subprocess.CompletedProcess[str]:
    """Do what ``python -m MODULE ...`` or ``python -c CODE ...`` does.

    Args:
        words: What follows ``python``; ``-W ACTION`` may come first.
        stdin: What the process reads.
        cwd: Its folder.
        env: Its environment.
        timeout: Seconds until it is killed.
        warm: What is imported already: ``with_piase_gym``, ``with_others`` or ``with_torch``.
    """
    flags, words = (words[:2], words[2:]) if words[0] == "-W" else ((), words)
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
        streams[0].write_bytes(stdin)
        asked = {
            "words": words,
            "streams": [str(path) for path in streams],
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "timeout": round(timeout),
        }
        status = _ask(json.dumps(asked), warm, *flags)
        out, said = (path.read_text("utf-8") for path in streams[1:])
        return subprocess.CompletedProcess(["python", *words], status, out, said)


def _ask(line: str, warm: str, *flags: str) -> int:
    """Let a warm Python fork; wait for the fork's end."""
    with _lock:
        server = _server(warm, *flags)
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(line + "\n")
        server.stdin.flush()
        return int(server.stdout.readline())


@functools.cache
def _server(warm: str, *flags: str) -> subprocess.Popen[str]:
    """Start a warm Python; it ends with this process."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    server = subprocess.Popen(
        [sys.executable, *flags, "-m", "tests.helpers.warm_python", warm],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
    )
    atexit.register(server.communicate)
    return server


# -- in the warm Python -------------------------------------------------------------------


def warm_up(warm: str) -> None:
    """Import what most forks need; if it may be of piase_gym, load the kernels of one world."""
    if warm == "with_piase_gym":
        import piase_gym
        import piase_gym.cli.app

        env = piase_gym.parallel_env("GridWorld")
        env.reset(seed=0)
        env.step(dict.fromkeys(env.agents, 0))
        for name in list(sys.modules):
            if name.startswith(SEPARATE):
                del sys.modules[name]
    else:
        for name in OTHERS + LEARNERS * (warm == "with_torch"):
            with contextlib.suppress(ImportError):  # the fork says so that needs it
                importlib.import_module(name)
        import numba

        numba.njit(lambda number: number)(1)  # numba imports most of itself when it first compiles
    gc.collect()
    gc.freeze()  # forks need not look at all this again, and share its memory


def serve() -> dict[str, Any]:
    """Fork for each line of standard input and print the exit status; return in forks alone."""
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        child = os.fork()
        if not child:
            return asked
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    sys.exit()


def _places() -> list[str]:
    """Return the folders that the environment names for modules."""
    return [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]


def become(asked: Mapping[str, Any]) -> None:
    """Do in a fork what it was made for."""
    signal.alarm(asked["timeout"])
    for number, path in enumerate(asked["streams"]):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT
        os.dup2(os.open(path, flags), number)
    left = [place for place in sys.path[1:] if place not in _places()]
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.path[1:] = _places() + left
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    if "numba" in sys.modules:
        sys.modules["numba"].config.reload_config()  # it reads the environment when it is imported
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    (kind, what), words = asked["words"][:2], asked["words"][2:]
    sys.argv = [kind, *words]
    if kind == "-m":
        sys.path[0] = asked["cwd"]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = ""
        main = ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(what, "<string>", "exec"), vars(main))


if __name__ == "__main__":
    warm_up(sys.argv[1])
    become(serve())
