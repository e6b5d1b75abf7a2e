"""The editor of curricula and scenarios: text, what is wrong with it, and where it is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nicegui import ui

from piase_gym.errors import PiaseError
from piase_gym.studio.layout import about, address, section, telling
from piase_gym.studio.workspace import Kind, Source, Workspace

COLOURS = {"error": "text-red-700", "warning": "text-amber-700", "note": "text-cyan-800"}


def list_sources(kind: Kind, found: Iterable[Source]) -> None:
    """List curricula or scenarios, those of the workspace first."""
    for title, ships in (("In your folder", False), ("Shipped with piase_gym", True)):
        rows = [source for source in found if source.ships is ships]
        if not rows:
            continue
        section(title)
        for source in rows:
            with ui.card().classes("w-full"), ui.row().classes("items-baseline gap-4"):
                ui.link(source.title, address(kind, source.name)).classes("font-semibold")
                about(f"{source.name} · {source.world}")
                ui.label(source.about)


class SourceEditor:
    """An editor of one text.

    Args:
        workspace: Where it is saved.
        kind: What it is.
        name: What it was read from.
        text: The text.
        check: Returns what there is to say of a text, as (level, message), and raises an error of
            ours if it cannot be used.
        on_sound: Called whenever the text that was checked can be used.
    """

    def __init__(
        self,
        workspace: Workspace,
        kind: Kind,
        name: str,
        text: str,
        check: Callable[[str], Iterable[tuple[str, str]]],
        on_sound: Callable[[], Any],
    ) -> None:
        """Show the editor."""
        self.workspace, self.kind, self.check, self.on_sound = workspace, kind, check, on_sound
        self.found: list[tuple[str, str]] = []
        self.sound = False
        place = workspace.place(kind, name)
        language: Any = "JSON" if place.suffix.lower() == ".json" else "YAML"
        with ui.card().classes("w-full"):
            with ui.row().classes("items-center w-full"):
                section("The file")
                ui.space()
                ui.button("Check", icon="fact_check", on_click=self.look).props("outline dense")
                own = name if "." in name else place.name
                self.saved_as = ui.input("save as", value=own).props("dense")
                self.overwrite = ui.switch("overwrite", value=False)
                ui.button("Save", icon="save", on_click=self.save).props("dense")
            self.editor = ui.codemirror(text, language=language, indent="  ", line_wrapping=True)
            self.editor.classes("w-full h-96 border rounded")
            self._findings()

    @property
    def text(self) -> str:
        """The text as it is now."""
        return str(self.editor.value)

    def look(self) -> None:
        """Check the text, and show what was found."""
        try:
            self.found, self.sound = list(self.check(self.text)), True
        except PiaseError as error:
            self.found = [("error", line) for line in str(error).splitlines()]
            self.sound = False
        self._findings.refresh()
        if self.sound:
            self.on_sound()

    @ui.refreshable_method
    def _findings(self) -> None:
        """Show what was found."""
        for level, message in self.found:
            ui.label(message).classes(f"piase-text {COLOURS[level]}")
        if not self.found and self.sound:
            ui.label("nothing is wrong with it").classes("text-green-700")

    def save(self) -> None:
        """Write the text into the workspace."""
        with telling():
            place = self.workspace.save(
                str(self.saved_as.value), self.text, overwrite=bool(self.overwrite.value)
            )
            ui.notify(f"wrote {place}", type="positive")
            ui.navigate.to(address(self.kind, self.workspace.name(place)))
