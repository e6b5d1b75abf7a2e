"""The two ways to play: by single keys on a terminal, or by lines from anywhere."""

from __future__ import annotations

import codecs
import io
import os
import select
import signal
import sys
from types import FrameType
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from piase_gym.cli.game.screen import Screen, end_lines, help_text, plain_lines, turn_lines
from piase_gym.core.commands import Command, InvalidAction
from piase_gym.play.session import LETTERS, Choice, Game, find

REDRAW = 0.5
"""Seconds after which the size of the terminal is looked at again."""
LINE_WORDS = {
    "h": "help",
    "?": "help",
    "help": "help",
    "n": "next",
    "next": "next",
    "q": "quit",
    "quit": "quit",
    "exit": "quit",
    "r": "again",
    "again": "again",
    "restart": "again",
}
GAME_KEYS = ("h", "n", "q", "r")
MAP_WORDS = ("m", "map")
ARROWS = ("up", "down", "left", "right")


class Loop:
    """What both ways to play have in common."""

    def __init__(self, game: Game, console: Console, blind: bool) -> None:
        """Play a game on a console."""
        self.game = game
        self.console = console
        self.screen = Screen(game, console, blind)
        self._now: list[Choice] = []

    def _start(self, level: int) -> None:
        """Begin a level."""
        raise NotImplementedError

    def _help(self) -> None:
        """Show the rules."""
        raise NotImplementedError

    def _run_word(self, word: str) -> bool:
        """Do what a word of the game says; return False to quit."""
        if word == "help":
            self._help()
        elif word == "again":
            self._start(self.game.level)
        elif word == "next":
            self._start(self.game.level + 1)
        return word != "quit"

    def _choices(self) -> list[Choice]:
        """Return what the person can do now."""
        return self.game.choices.now() if self.game.result is None else []


class KeyLoop(Loop):
    """Plays by single keys on a full screen."""

    def run(self) -> None:
        """Play until the person quits."""
        with (
            Terminal() as terminal,
            Live(console=self.console, screen=True, auto_refresh=False) as live,
        ):
            going = True
            while going:
                self._now = self._choices()
                live.update(self.screen.draw(self._now), refresh=True)
                key = self._wait(terminal)
                if key == "suspend":
                    live.stop()
                    terminal.suspend()
                    live.start(refresh=True)
                elif key is not None:
                    going = self._press(key)

    def _wait(self, terminal: Terminal) -> str | None:
        """Return the next key, or None once the terminal has another size."""
        size = self.console.size
        while self.console.size == size:
            key = terminal.key(REDRAW)
            if key is not None:
                return key
        return None

    def _press(self, key: str) -> bool:
        """Do what a key stands for; return False to quit."""
        self.screen.note = ""
        if key == "end":
            return False
        if self.screen.page is not None:
            step = {"down": 1, "up": -1, "page down": 10, "page up": -10, " ": 10}.get(key)
            self.screen.page = None if step is None else max(0, self.screen.page + step)
        elif self.screen.typed is not None:
            return self._type(key)
        elif key == "t":
            self.screen.wide_text = not self.screen.wide_text
        elif key in GAME_KEYS:
            return self._run_word(LINE_WORDS[key])
        elif self.game.result is None:
            self._choose(key)
        elif key in ("enter", " "):
            self._run_word("next")
        return True

    def _help(self) -> None:
        """Show the rules from their first line."""
        self.screen.page = 0

    def _start(self, level: int) -> None:
        """Begin a level; where a person plays by lines, open a line to type in."""
        self.game.start(level)
        self.screen.typed = "" if self.game.world.picture_reveals else None

    def _choose(self, key: str) -> None:
        """Give the command of a key, or begin to type one."""
        if key in (":", "enter"):
            self.screen.typed = ""
            return
        choice = find(self._now, key)
        if choice is not None:
            self._give(choice.command)
        elif key.strip() and key != "escape":
            self.screen.note = f"{key} does nothing here; h explains the keys"

    def _type(self, key: str) -> bool:
        """Take a key for the line that is being typed; return False to quit."""
        typed = self.screen.typed or ""
        if key == "enter":
            return self._enter(typed.strip())
        if key in ARROWS and not typed:
            self._choose(key)
        elif key == "escape" or (key == "backspace" and not typed):
            self.screen.typed = None
        elif key == "backspace":
            self.screen.typed = typed[:-1]
        elif key == "clear":
            self.screen.typed = ""
        elif key == "tab":
            self.screen.typed = complete(typed, [choice.line for choice in self._now])
        elif len(key) == 1 and key.isprintable():
            self.screen.typed = typed + key
        return True

    def _enter(self, line: str) -> bool:
        """Do what a typed line says; return False to quit."""
        reveals = self.game.world.picture_reveals
        self.screen.typed = "" if reveals else None
        word = game_word(self.game, line) if reveals else ""
        if word:
            return self._run_word(word)
        if reveals and line.lower() in MAP_WORDS:
            self.screen.wide_text = not self.screen.wide_text
        elif line:
            self._give(self.game.read(line))
        return True

    def _give(self, command: Command | InvalidAction) -> None:
        """Give a command, unless it is not possible now."""
        refusal = self.game.refusal(command)
        if isinstance(command, Command) and refusal is None:
            self.game.act(command)
            if self.game.result is not None:
                self.screen.typed = None  # single keys: Enter goes on
        else:
            self.screen.note = refusal or ""


def game_word(game: Game, line: str) -> str:
    """Return what a line means to the game; words of the world come first, except after a colon.

    Where the person plays by keys, letters are keys: n skips a level and does not go north.
    """
    word = line.removeprefix(":").strip().lower()
    meant = LINE_WORDS.get(word, "")
    key = game.choices.fixed and word in GAME_KEYS
    if not meant or key or line.startswith(":") or game.result is not None:
        return meant
    return "" if isinstance(game.world.read(game.me, line), Command) else meant


def complete(typed: str, lines: list[str]) -> str:
    """Return a typed line, completed as far as all lines that begin with it agree."""
    found = [line for line in lines if line.lower().startswith(typed.lower())]
    shared = os.path.commonprefix(found)  # noqa: RUF071
    return shared if len(shared) >= len(typed) else typed


class LineLoop(Loop):
    """Plays by lines: a key, a command, or a word of the game such as ``next`` on each."""

    def run(self) -> None:
        """Play until the lines of standard input end or the person quits."""
        lines = sys.stdin or io.StringIO()  # it may be closed
        prompted = lines.isatty()
        self._show()
        while True:
            if prompted:
                self.console.print("> ", end="")
            line = lines.readline()
            if not line or not self._take(line.strip()):
                return

    def _show(self) -> None:
        """Show the current step."""
        self._now = self._choices()
        blind, colour = self.screen.blind, self.console.is_terminal
        self._print(*plain_lines(self.game, self._now, blind, colour))
        if self.game.result is not None:
            self.console.print(Text("next, restart or quit?", "dim"))

    def _take(self, line: str) -> bool:
        """Do what a line says; return False to quit."""
        over = self.game.result is not None
        word = game_word(self.game, line) or ("next" if over and not line else "")
        if word:
            return self._run_word(word)
        if over:
            self.console.print(Text("The level is over: next, restart or quit?", "yellow"))
        elif line:
            self._give(line)
        return True

    def _help(self) -> None:
        """Print the rules."""
        self._print(Text(help_text(self.game, by_lines=True)))

    def _start(self, level: int) -> None:
        """Begin a level and show it."""
        self.game.start(level)
        self._show()

    def _print(self, *parts: RenderableType) -> None:
        """Print lines that the terminal may wrap."""
        for part in parts:
            self.console.print(part, soft_wrap=True)

    def _give(self, line: str) -> None:
        """Give the command that a line stands for, unless it is not possible now."""
        line = line.removeprefix(":").strip()
        choice = find(self._now, line) if len(line) == 1 or line in LETTERS.values() else None
        command = choice.command if choice is not None else self.game.read(line)
        refusal = self.game.refusal(command)
        if not isinstance(command, Command) or refusal is not None:
            self._print(Text(refusal or "", "yellow"))
            return
        self._print(*turn_lines(self.game.act(command)))
        if self.game.result is not None:
            self._print(*end_lines(self.game))
        self._show()


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
    """Return whether standard input and output are a terminal that can give single keys."""
    dumb = os.environ.get("TERM", "") in ("", "dumb")
    if sys.stdin is None or sys.stdout is None:  # closed by whoever started us
        return False
    return HAS_KEYS and not dumb and sys.stdin.isatty() and sys.stdout.isatty()


class Terminal:
    """Reads single keys; a context manager that restores the terminal at its end.

    Ctrl-C raises `KeyboardInterrupt` as usual. A hang-up or a request to terminate raises
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
        """From now on, read keys at once and without an echo."""
        self._saved = termios.tcgetattr(self._file)
        try:
            self._handlers = {s: signal.signal(s, _leave) for s in (signal.SIGTERM, signal.SIGHUP)}
            self.take()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
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
        """Switch back to the previous mode; keys that were not read are dropped."""
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
        if not self._pending and not self._read_within(seconds):
            return None
        first = self._take(1)
        if first != "\x1b":
            return CONTROLS.get(first, first)
        if not self._pending and not self._read_within(PATIENCE):
            return "escape"
        if self._pending[:1] not in ("[", "O"):
            return "escape"
        code = self._take(1)
        while code[-1] in "[O;0123456789" and (self._pending or self._read_within(PATIENCE)):
            code += self._take(1)
        return ESCAPES.get(code, "")

    def _take(self, count: int) -> str:
        """Take characters that were read."""
        taken, self._pending = self._pending[:count], self._pending[count:]
        return taken

    def _read_within(self, seconds: float) -> bool:
        """Read what comes within some seconds, and return whether anything came."""
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
