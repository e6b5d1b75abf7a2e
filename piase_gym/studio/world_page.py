"""The worlds: what there is to play."""

from __future__ import annotations

from nicegui import ui

from piase_gym.registry import list_tasks, list_worlds, world_spec
from piase_gym.studio.layout import about, address, frame, heading
from piase_gym.studio.workspace import Workspace


def add(workspace: Workspace) -> None:
    """Add the page."""

    @ui.page("/")
    def worlds() -> None:
        with frame("Worlds"):
            heading("Worlds")
            about(
                "Play one yourself, or let a policy play: each can be seen, and read as its agents "
                f"read it. What you record is kept in {workspace.folder}."
            )
            with ui.grid().classes("w-full grid-cols-1 md:grid-cols-2 gap-4"):
                for name in list_worlds():
                    card(name)


def card(name: str) -> None:
    """Show a world and its ids."""
    spec = world_spec(name)
    missing = spec.missing
    with ui.card().classes("w-full"):
        ui.label(name).classes("text-xl font-semibold")
        ui.label(spec.summary)
        if missing is not None:
            ui.label(missing).classes("text-orange-800")
            return
        tasks = list_tasks(name)
        with ui.row().classes("items-center w-full"):
            ui.button(
                "Play",
                icon="sports_esports",
                on_click=lambda: ui.navigate.to(address("play", name)),
            )
            if tasks:
                ui.select(
                    {task: task.removeprefix("piase/") for task in tasks},
                    label=f"one of {len(tasks)} ids",
                    with_input=True,
                    on_change=lambda event: ui.navigate.to(address("play", event.value)),
                ).props("dense").classes("grow")
