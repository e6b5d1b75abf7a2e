"""Scenarios: a list, and one scenario to read, change, check, look at and play."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from piase_gym import scenarios
from piase_gym.registry import load, world_spec
from piase_gym.studio.layout import (
    PageThread,
    about,
    address,
    frame,
    heading,
    section,
    shown,
    waiting,
)
from piase_gym.studio.playing import png
from piase_gym.studio.source_editor import SourceEditor, list_sources
from piase_gym.studio.workspace import Workspace


def add(workspace: Workspace) -> None:
    """Add the pages."""

    @ui.page("/scenarios")
    async def listing() -> None:
        with frame("Scenarios"):
            heading("Scenarios")
            about("Worlds with a start, agents, conditions and events, to be read and played.")
            await ui.context.client.connected()
            async with waiting("reading them"):
                list_sources("scenario", await PageThread().do(workspace.sources, "scenario"))

    @ui.page("/scenario")
    async def scenario(name: str = "") -> None:
        with frame(name or "Scenario", wide=True):
            await ui.context.client.connected()
            async with waiting("reading it"):
                ScenarioPage(workspace, name).open()


class ScenarioPage:
    """One scenario."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        """Take its name."""
        self.workspace, self.name = workspace, name
        self.thread = PageThread()
        self.made: scenarios.Scenario | None = None

    def open(self) -> None:
        """Show it, and check it."""
        text = self.workspace.text("scenario", self.name)
        self.place = self.workspace.place("scenario", self.name)
        self._overview()
        SourceEditor(
            self.workspace, "scenario", self.name, text, self._check, self._overview.refresh
        ).look()

    def _check(self, text: str) -> list[tuple[str, str]]:
        """Read a text, and return what is to be said about it."""
        self.made = made = scenarios.loads(text, self.place)
        return [("warning", str(warning)) for warning in made.warnings]

    @ui.refreshable_method
    def _overview(self) -> None:
        """Show what the scenario is, and offer to look at it and to play it as it was saved."""
        made = self.made
        heading(self.name if made is None else made.title)
        if made is None:
            return
        about(made.head.description or "")

        async def look() -> None:
            box.clear()
            with box:
                async with waiting("drawing it"):
                    data = await self.thread.do(first_picture, made)
                    box.clear()
                    with ui.card().classes("w-1/2"):
                        section("The first state")
                        ui.image(shown(data)).classes("w-full")

        with ui.row().classes("items-center"):
            ui.button(
                "Play",
                icon="sports_esports",
                on_click=lambda: ui.navigate.to(address("play", self.name)),
            ).tooltip("as it was saved")
            ui.button("Draw the first state", icon="image", on_click=look).props("outline")
            ui.label(f"{made.world}, agents {', '.join(agent_names(made))}")
        box = ui.row().classes("w-full")


def agent_names(made: scenarios.Scenario) -> list[str]:
    """Return the names of a scenario's agents."""
    config: Any = made.config
    return list(config.names(config.agents))


def first_picture(made: scenarios.Scenario) -> bytes:
    """Return the first state of a scenario as PNG."""
    spec = world_spec(made.world)
    world = load(spec.world, spec)(made.config)
    try:
        world.reset(0)
        return png(world.rgb())
    finally:
        world.close()
