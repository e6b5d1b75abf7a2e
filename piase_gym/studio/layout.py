"""What all pages share: the frame, errors as notes, and a thread for the page's work."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar
from urllib.parse import urlencode

from nicegui import context, ui

from piase_gym.errors import PiaseError


class Closable(Protocol):
    """What is closed when it is no longer needed; closing it twice does no harm."""

    def close(self) -> object:
        """Close it."""


P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=Closable)

REPEATED = 10.0
"""Seconds for which an error that should not have happened is not told again."""
MOST_WORDS = 2000
"""The most characters of an error that are shown."""
PLACES = {"Worlds": "/", "Runs": "/runs", "Curricula": "/curricula", "Scenarios": "/scenarios"}
OUTCOMES = {"ok": "text-green-700", "failed": "text-amber-700"}
"""The colours of outcomes; all others are red."""
STYLE = """
body { background: #f7f6f2; overflow-wrap: anywhere; }
.piase-ways svg { max-width: none !important; width: 100%; max-height: 20rem; }
.piase-text { white-space: pre-wrap; font-family: ui-monospace, monospace; font-size: 0.85rem; }
"""


@contextmanager
def frame(title: str, *, wide: bool = False) -> Iterator[None]:
    """Lay out a page: the head with the places to go, and below it what the block adds."""
    ui.page_title(f"{title} · piase studio")
    ui.colors(primary="#28594f", secondary="#b0632b", accent="#7a4988")
    ui.add_css(STYLE)
    ui.on_exception(tell_now_and_then())
    with ui.header().classes("items-center gap-6 py-2 px-6"):
        ui.link("piase studio", "/").classes("text-white text-lg font-bold no-underline")
        for name, address in PLACES.items():
            ui.link(name, address).classes("text-white no-underline opacity-90")
    width = "" if wide else "max-w-6xl"
    with ui.column().classes(f"w-full {width} mx-auto p-4 gap-4"):
        yield


def heading(text: str) -> None:
    """Show the heading of a page."""
    ui.label(text).classes("text-2xl font-semibold")


def section(text: str) -> None:
    """Show the heading of a part of a page."""
    ui.label(text).classes("text-lg font-semibold")


def about(text: str) -> None:
    """Show words in a quieter tone."""
    ui.label(text).classes("text-gray-600")


def remembered(title: str, opened: dict[str, bool], key: str) -> ui.expansion:
    """Return a part that is opened by a click, and stays open when it is shown anew."""
    return ui.expansion(
        title,
        value=opened.get(key, False),
        on_value_change=lambda event: opened.update({key: bool(event.value)}),
    ).classes("w-full")


def address(page: str, name: str) -> str:
    """Return the address of the page of something: a world, a run, a curriculum."""
    return f"/{page}?{urlencode({'name': name})}"


def columns(labels: Iterable[str]) -> list[dict[str, Any]]:
    """Return the columns of a table whose rows have these keys."""
    return [{"name": label, "label": label, "field": label, "align": "left"} for label in labels]


def command_row(
    who: str,
    command: str,
    outcome: str,
    reward: float,
    milestones: Iterable[str],
    reason: str,
    total: float | None = None,
) -> None:
    """Show what one command did: ``who`` is an agent or a step, ``total`` its return so far."""
    colour = OUTCOMES.get(outcome, "text-red-700")
    with ui.row().classes("items-baseline gap-x-2 w-full"):
        ui.label(who).classes("text-gray-500 min-w-8")
        ui.label(command or "(no command)").classes("font-mono")
        ui.label(outcome).classes(colour)
        ui.label(f"{round(reward, 3) or reward:+g}")
        if total is not None:
            ui.label(f"(return {total:.2f})").classes("text-gray-500")
        for name in milestones:
            ui.badge(name.replace("_", " ")).props("color=secondary")
        if reason:
            ui.label(reason).classes("italic text-gray-600")


def shown(data: bytes) -> str:
    """Return a PNG in the form in which a page shows it."""
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def tell(error: Exception) -> None:
    """Show an error as a note that stays; one that is not ours is in the terminal too."""
    said = str(error)
    if not isinstance(error, PiaseError):
        said = f"This should not have happened: {type(error).__name__}: {error}"
    ui.notify(
        said if len(said) <= MOST_WORDS else f"{said[:MOST_WORDS]} …",
        type="negative",
        multi_line=True,
        actions=[{"label": "Close", "color": "white"}],
        timeout=0,
        classes="whitespace-pre-line",
    )


def tell_now_and_then() -> Callable[[Exception], None]:
    """Return what tells errors, but not the same one again and again, as one of a timer."""
    told: dict[str, float] = {}

    def tell_it(error: Exception) -> None:
        now = time.monotonic()
        if now - told.get(repr(error), -REPEATED) >= REPEATED:
            told[repr(error)] = now
            tell(error)

    return tell_it


@contextmanager
def telling() -> Iterator[None]:
    """Show an error of ours as a note; what the page shows stays as it is."""
    try:
        yield
    except PiaseError as error:
        tell(error)


class PageThread:
    """One thread for all work of a page: a world may not change threads, and pages stay alive.

    When the page is left, what was made in the thread is closed, and the thread ends.
    """

    def __init__(self) -> None:
        """Start without work."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="piase-studio")
        self._made: Closable | None = None
        self._left = False
        context.client.on_delete(self.end)

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do some work in the thread, and return what it returns."""
        if self._left:
            raise asyncio.CancelledError
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, partial(work, *args, **kwargs))

    async def make(self, kind: Callable[P, C], *args: P.args, **kwargs: P.kwargs) -> C:
        """Make something in the thread, and close what was made before.

        What was made last is closed when the page is left.
        """

        def making() -> C:
            made = kind(*args, **kwargs)
            before, self._made = self._made, made
            if before is not None:
                before.close()
            return made

        return await self.do(making)

    def end(self) -> None:
        """Close what was made, after all other work, and let the thread end."""
        if not self._left:
            self._left = True
            self._pool.submit(self._close)
            self._pool.shutdown(wait=False)

    def _close(self) -> None:
        """Close what was made."""
        if self._made is not None:
            self._made.close()


@asynccontextmanager
async def waiting(words: str) -> AsyncIterator[None]:
    """Show a spinner with words while the block takes its time; tell of errors."""
    with ui.row().classes("items-center") as row:
        ui.spinner()
        ui.label(words)
    try:
        with telling():
            yield
    finally:
        if not row.is_deleted:  # the part of the page may have been cleared meanwhile
            row.delete()
