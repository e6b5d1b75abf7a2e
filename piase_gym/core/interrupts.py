"""Interrupts that end work at a good place instead of in its midst."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_first_interrupt(notice: Callable[[], None]) -> Iterator[None]:
    """Call `notice` at the first SIGINT or SIGTERM; the second does what it always does.

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
        notice()
        put_back()

    for number in before:
        signal.signal(number, heard)
    try:
        yield
    finally:
        put_back()
