"""Visits to the pages of a studio, as by a browser without a screen."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui")

from nicegui import Client, ui
from nicegui.testing import User, user_simulation

from piase_gym.studio.app import add_pages

PATIENCE = 1200
"""Tenths of a second that a page may take."""


@asynccontextmanager
async def studio(folder: Path) -> AsyncIterator[User]:
    """Open a studio over a folder."""
    modules = dict(sys.modules)
    try:
        async with user_simulation(lambda: None) as user:
            add_pages(folder)
            try:
                yield user
            finally:
                for client in [*Client.instances.values()]:
                    client.delete()  # else its last messages may keep the loop from its end
    finally:
        sys.modules.update(modules)  # the simulation forgets those of pages


def visit(folder: Path, steps: Callable[[User], Awaitable[None]]) -> None:
    """Do something in a studio."""

    async def whole() -> None:
        async with studio(folder) as user:
            await steps(user)

    asyncio.run(whole())


async def see(user: User, *texts: str) -> None:
    """Wait until texts are to be seen."""
    for text in texts:
        await user.should_see(text, retries=PATIENCE)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    for _ in range(PATIENCE):
        if holds():
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it never held")


def press(user: User, text: str) -> None:
    """Press a button."""
    user.find(kind=ui.button, content=text).click()


def one(user: User, kind: Any, label: str) -> Any:
    """Return the one element of a kind with a label."""
    [found] = [e for e in user.find(kind=kind).elements if e.props.get("label") == label]
    return found


def listener(element: Any, event: str) -> str:
    """Return what an element hears an event by."""
    [found] = [key for key, heard in element._event_listeners.items() if heard.type == event]
    return str(found)
