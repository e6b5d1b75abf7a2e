"""Single keys from a terminal, which is given back as it was whatever happens."""

from __future__ import annotations

import codecs
import os
import select
import signal
import sys
from types import FrameType, TracebackType
from typing import Any, Self

try:
    import termios
    import tty
except ImportError:  # Windows
    HAS_KEYS = False
else:
    HAS_KEYS = True

ESCAPES = {
    "[A": "up",
    "[B": "down",
    "[C": "right",
    "[D": "left",
    "OA": "up",
    "OB": "down",
    "OC": "right",
    "OD": "left",
    "[5~": "page up",
    "[6~": "page down",
}
CONTROLS = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x04": "end",
    "\x15": "clear",
    "\x1a": "suspend",
}
PATIENCE = 0.05
"""Seconds after an escape character in which the rest of a key's code must come."""


def can_read_keys() -> bool:
    """Tell whether standard input and output are a terminal that can give single keys."""
    dumb = os.environ.get("TERM", "") in ("", "dumb")
    if sys.stdin is None or sys.stdout is None:  # closed by whoever started us
        return False
    return HAS_KEYS and not dumb and sys.stdin.isatty() and sys.stdout.isatty()


class Terminal:
    """MetricInputs single keys; a context manager that restores the terminal at its end.

    Ctrl-C raises `KeyboardInterrupt` as ever. A hang-up or a request to terminate raises
    `SystemExit`, so that the terminal is restored then too.
    """

    def __init__(self) -> None:
        """Take standard input."""
        self._file = sys.stdin.fileno()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._saved: list[Any] | None = None
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Read keys at once and without an echo from now on."""
        self._saved = termios.tcgetattr(self._file)
        try:
            self._handlers = {s: signal.signal(s, _leave) for s in (signal.SIGTERM, signal.SIGHUP)}
            self.take()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the terminal back."""
        self.give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def take(self) -> None:
        """Switch to single keys."""
        tty.setcbreak(self._file)
        mode = termios.tcgetattr(self._file)
        mode[6][termios.VSUSP] = b"\0"  # Ctrl-Z comes as a key, so that we can tidy up first
        termios.tcsetattr(self._file, termios.TCSADRAIN, mode)

    def give_back(self) -> None:
        """Switch back to what was before; keys that nobody has read are dropped."""
        if self._saved is not None:
            termios.tcsetattr(self._file, termios.TCSAFLUSH, self._saved)

    def suspend(self) -> None:
        """Stop, as Ctrl-Z asks; go on when the shell says so."""
        self.give_back()
        os.kill(os.getpid(), signal.SIGTSTP)
        self.take()

    def key(self, seconds: float) -> str | None:
        """Return the next key, or None if none comes in time.

        Returns:
            A character, or a word: ``up``, ``down``, ``left``, ``right``, ``enter``, ``escape``,
            ``tab``, ``backspace``, ``clear``, ``suspend``; ``end`` is the end of input.
        """
        if not self._pending and not self._more(seconds):
            return None
        first = self._take(1)
        if first != "\x1b":
            return CONTROLS.get(first, first)
        if not self._pending and not self._more(PATIENCE):
            return "escape"
        if self._pending[:1] not in ("[", "O"):
            return "escape"
        code = self._take(1)
        while code[-1] in "[O;0123456789" and (self._pending or self._more(PATIENCE)):
            code += self._take(1)
        return ESCAPES.get(code, "")

    def _take(self, count: int) -> str:
        """Take characters that were read."""
        taken, self._pending = self._pending[:count], self._pending[count:]
        return taken

    def _more(self, seconds: float) -> bool:
        """Read what comes within some seconds, and tell whether anything came."""
        ready, _, _ = select.select([self._file], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._file, 1024)
        except OSError:  # the terminal is gone
            data = b""
        self._pending += self._decoder.decode(data) if data else "\x04"
        return bool(self._pending)


def _leave(number: int, _frame: FrameType | None) -> None:
    """Turn a signal into an orderly exit."""
    raise SystemExit(128 + number)
