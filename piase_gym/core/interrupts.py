"""Interrupts that end work at a safe point instead of in the middle.

Python may raise `KeyboardInterrupt` between any two instructions, and a half-logged step makes the
whole log invalid. So while a log is open, an interrupt within ``with uninterrupted:`` is raised at
the end of that block. Long work uses `on_first_interrupt` instead. In both, a second interrupt
takes effect at once.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import get_ident
from types import FrameType
from typing import Any

OWN_GROUP: Mapping[str, Any] = {
    "start_new_session": True,
    "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # Windows
}
"""Arguments of `subprocess.Popen` for a process that Ctrl-C does not reach."""
_MAIN = threading.main_thread().ident


class UninterruptedBlocks:
    """Blocks that an interrupt does not break, once `watch` was called; see the module docstring.

    Nothing is held back where other code already handles SIGINT, nor in threads other than the
    main one, where Python raises no interrupts.
    """

    def __init__(self) -> None:
        """Start outside of all blocks."""
        self._inside = self._watching = 0
        self._missed = self._in_notebook = False

    def __enter__(self) -> None:
        """Enter a block; blocks may be nested."""
        if get_ident() == _MAIN:
            self._inside += 1

    def __exit__(self, *_error: object) -> None:
        """Leave a block; leaving the outermost raises an interrupt that came within it."""
        if get_ident() == _MAIN:
            self._inside -= 1
            if self._missed and not self._inside:
                self._missed = False
                raise KeyboardInterrupt

    def watch(self) -> None:
        """Hold back interrupts in blocks until `leave` has been called as often as this."""
        self._watching += 1
        self._take_over()
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        if shell is not None and not self._in_notebook:
            self._in_notebook = True
            shell.events.register("pre_run_cell", self._begin_cell)

    def _take_over(self) -> None:
        """Handle interrupts from now on, unless other code does."""
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if usual and get_ident() == _MAIN:
            signal.signal(signal.SIGINT, self._on_interrupt)

    def _begin_cell(self, _info: Any) -> None:
        """Take over again: Jupyter puts the usual handler back before each cell."""
        if self._watching:
            self._take_over()

    def leave(self) -> None:
        """Let interrupts be raised at once again, as far as this caller is concerned."""
        self._watching -= 1
        ours = signal.getsignal(signal.SIGINT) == self._on_interrupt
        if ours and not self._watching and get_ident() == _MAIN:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def watch_for(self, owner: object) -> Callable[[], object]:
        """Call `watch`; return what calls `leave` once, at the latest when `owner` is collected."""
        self.watch()
        release = weakref.finalize(owner, self.leave)
        release.atexit = False
        return release

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Call `watch` before the body of a ``with`` block, and `leave` after it."""
        self.watch()
        try:
            yield
        finally:
            self.leave()

    def _on_interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Take note of an interrupt, or raise it."""
        if self._inside and not self._missed:
            self._missed = True
            return
        self._missed = False
        raise KeyboardInterrupt


uninterrupted = UninterruptedBlocks()


@contextmanager
def on_first_interrupt(notice: Callable[[], None]) -> Iterator[None]:
    """Call `notice` at the first SIGINT or SIGTERM; the second has its usual effect.

    In a thread other than the main one, where Python hears no signals, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def heard(_number: int, _frame: object) -> None:
        put_back()  # a second one may come while `notice` runs
        notice()

    for number in before:
        signal.signal(number, heard)
    try:
        yield
    finally:
        put_back()
