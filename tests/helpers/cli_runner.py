"""Runs `piase` as users do: as a process, with pipes or on a pseudo-terminal."""

from __future__ import annotations

import os
import re
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from tests.helpers.warm_python import run_python
from tests.paths import ROOT

COMMAND = [sys.executable, "-m", "piase_gym.cli"]
DEADLINE = 240.0
"""Seconds until a test gives up on a process; kernels may have to be compiled first."""
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a process that finds this checkout and its tests."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    base = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    return {**base, "PYTHONPATH": path, "TERM": "xterm-256color", **changes}


def piase(
    *words: str, stdin: str | bytes = "", cwd: Path | None = None, columns: int = 80, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run `piase` with some words and lines on standard input, in a fork; see `warm_python`.

    It gets a new Python if what it prints is to be encoded otherwise.
    """
    command, given = [*COMMAND, *words], stdin if isinstance(stdin, bytes) else stdin.encode()
    place: Any = {"cwd": cwd, "env": environment(COLUMNS=str(columns), **env), "timeout": DEADLINE}
    if "PYTHONIOENCODING" not in env:
        warm = "with_others" if "PYTHONPATH" in env else "with_piase_gym"
        return run_python(*command[1:], stdin=given, warm=warm, **place)
    done = subprocess.run(command, input=given, capture_output=True, check=False, **place)
    out, said = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    return subprocess.CompletedProcess(command, done.returncode, out, said)


def take_terminal() -> None:
    """Make the new process the terminal's own, one that hears Ctrl-C.

    Shells start background jobs, such as a run of these tests, deaf to it, and that is inherited.
    """
    import fcntl
    import termios

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class OnTerminal:
    """`piase` on a pseudo-terminal of its own, with keys to press and a screen to read."""

    def __init__(
        self,
        *words: str,
        cwd: Path | None = None,
        size: tuple[int, int] = (80, 24),
        term: str = "xterm-256color",
    ) -> None:
        import fcntl
        import pty
        import termios

        self.master, self.slave = pty.openpty()
        self._termios: Any = termios
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.output = ""
        self.seen = 0
        self.process = subprocess.Popen(
            [*COMMAND, *words],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            cwd=cwd,
            env=environment(TERM=term),
            start_new_session=True,
            preexec_fn=take_terminal,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def expect(self, *wanted: str) -> str:
        """Read until all of these have been shown since the last call; return what was."""
        deadline = time.monotonic() + DEADLINE
        while True:
            shown = " ".join(ESCAPE.sub("", self.output[self.seen :]).split())
            if all(words in shown for words in wanted):
                self.seen = len(self.output)
                return shown
            assert time.monotonic() < deadline, f"{wanted} not in {shown[-3000:]}"
            ended = self.process.poll() is not None
            if not self._read() and ended:
                raise AssertionError(f"it ended without {wanted}: {shown[-3000:]}")

    def _read(self) -> bool:
        ready, _, _ = select.select([self.master], [], [], 0.1)
        if ready:
            self.output += os.read(self.master, 65536).decode("utf-8", "replace")
        return bool(ready)

    def mode(self) -> list[Any]:
        mode: list[Any] = self._termios.tcgetattr(self.slave)
        return mode

    def finish(self) -> int:
        """Wait for the end; return the exit status."""
        deadline = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it does not end"
            self._read()
        while self._read():
            pass
        return self.process.wait()

    def assert_restored(self) -> None:
        """Check that the terminal is as it was: its mode, its cursor, its ordinary screen."""
        assert self.mode() == self.before
        for on, off in (("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?25l", "\x1b[?25h")):
            assert self.output.rfind(off) > self.output.rfind(on) >= 0

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
