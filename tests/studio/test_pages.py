"""The pages of the studio, as a browser without a screen meets them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

pytest.importorskip("nicegui")

from nicegui import ui
from nicegui.testing import User, user_simulation

from piase_gym.studio.app import add_pages

PATIENCE = 300
"""Tenths of a second that a page may take."""


@asynccontextmanager
async def studio(folder: Path) -> AsyncIterator[User]:
    """Open a studio over a folder."""
    async with user_simulation(lambda: None) as user:
        add_pages(folder)
        yield user


def visit(folder: Path, steps: Callable[[User], Awaitable[None]]) -> None:
    """Do something in a studio."""

    async def whole() -> None:
        async with studio(folder) as user:
            await steps(user)

    asyncio.run(whole())


def test_all_worlds_are_listed(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open("/")
        for name in ("GridWorld", "Household", "SqlQuery", "WordCraft"):
            await user.should_see(name, retries=PATIENCE)

    visit(tmp_path, steps)


def test_a_person_plays_by_buttons_and_lines(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open("/play?name=lost_key")
        await user.should_see("What PiaAgent_001 reads", retries=PATIENCE)
        user.find(kind=ui.button, content="go north").click()
        await user.should_see("You go north to the hallway.", retries=PATIENCE)

    visit(tmp_path, steps)
