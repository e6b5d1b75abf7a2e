"""A world that a person plays, or watches a policy play."""

from __future__ import annotations

import time
from urllib.parse import urlencode

from nicegui import ui
from nicegui.events import KeyEventArguments

from piase_gym.agents.policy_registry import policies
from piase_gym.cli.game.session import Choice
from piase_gym.cli.game.session import find as find_choice
from piase_gym.errors import ConfigError, PiaseError
from piase_gym.studio.layout import (
    PageThread,
    about,
    frame,
    heading,
    section,
    shown,
    telling,
    waiting,
)
from piase_gym.studio.playing import ME, PERSON, GameView, Play, Setup, Turn, fields_of, stars
from piase_gym.studio.workspace import SOURCES, Workspace

SHOWN_CHOICES = 60
"""The most commands that have a button."""
SHOWN_TURNS = 30
PAUSE = 0.35
"""Seconds between two commands of a policy."""
ARROWS = {"ArrowUp": "up", "ArrowDown": "down", "ArrowLeft": "left", "ArrowRight": "right"}
OWN_PARTNERS = "as the id says"


def add(workspace: Workspace) -> None:
    """Add the page."""

    @ui.page("/play")
    async def play(name: str = "") -> None:
        with frame(name or "Play", wide=True):
            if not name:
                about("Choose a world on the first page.")
                return
            await ui.context.client.connected()
            await PlayPage(workspace, name).open()


class PlayPage:
    """One person's game."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        """Begin with what the name says."""
        self.workspace, self.name = workspace, name
        self.thread = PageThread()
        self.play: Play | None = None
        self.view: GameView | None = None
        self.turns: list[Turn] = []
        self.busy = False
        self.filter = ""
        self.map = self.typed = False
        self.recorded = ""

    # -- work -----------------------------------------------------------------------------

    async def open(self) -> None:
        """Make the world, and show it."""
        heading(self.name)
        self.box = ui.column().classes("w-full")
        ui.keyboard(self._press)
        ui.timer(PAUSE, self._let)
        with telling():
            await self._make(Setup(self._path(self.name)))

    def _path(self, name: str) -> str:
        """Return the name of what is played, or the path of a scenario in the workspace."""
        return str(self.workspace.path(name)) if name.lower().endswith(SOURCES) else name

    async def _make(self, setup: Setup) -> None:
        """Make the world anew; the old game goes on if that fails."""
        with self.box:
            async with waiting("opening the world; the first time, its rules are compiled"):
                made = await self.thread.make(Play, setup)
                if self.play is not None:
                    await self.thread.do(self.play.close)
                self.play, self.turns = made, []
                self.policy = ME
                self.running = False
                self.instructions = await self.thread.do(made.instructions)
                self.fields = await self.thread.do(fields_of, made.game.task)
                self.view = await self.thread.do(made.look)
        if self.view is not None:
            self.box.clear()
            with self.box:
                self._lay_out()

    async def _do(self, work: str, *args: object) -> None:
        """Do something in the game, and show what came of it; nothing else is done meanwhile."""
        play = self.play
        if play is None or self.busy:
            return
        self.busy = True
        try:
            said = await self.thread.do(getattr(play, work), *args)
            self.view = await self.thread.do(play.look)
            if self.map:
                self.picture_data = await self.thread.do(play.picture)
        except PiaseError as error:
            self.running = False
            ui.notify(str(error), type="negative", multi_line=True, close_button=True, timeout=0)
            return
        finally:
            self.busy = False
        if isinstance(said, str):
            ui.notify(said, type="warning", multi_line=True)
        turn = self.view.turn
        if turn is not None and (not self.turns or turn.step != self.turns[0].step):
            self.turns.insert(0, turn)
            del self.turns[SHOWN_TURNS:]
        self._show.refresh()

    async def _let(self) -> None:
        """Let the policy act, if it is to go on."""
        if self.play is None or not self.running or self.view is None:
            return
        if self.view.over is not None:
            self.running = False
            self._show.refresh()
        elif self.policy != ME:
            await self._do("let", self.policy)

    async def _press(self, event: KeyEventArguments) -> None:
        """Give the command of a key."""
        if not event.action.keydown or self.view is None or self.view.over is not None:
            return
        name = ARROWS.get(str(event.key), "")
        found = find_choice(list(self.view.choices), name) if name else None
        if found is not None:
            await self._do("choose", self.view.choices.index(found))

    async def _start(self, level: int) -> None:
        """Begin a level."""
        self.turns, self.running = [], False
        await self._do("start", level)

    # -- what is shown --------------------------------------------------------------------

    def _lay_out(self) -> None:
        """Show the setup, and the game below it."""
        with ui.expansion("Setup", icon="tune").classes("w-full bg-white rounded shadow-sm"):
            self._setup_form()
        self._show()

    def _setup_form(self) -> None:
        """Show what can be chosen before a game."""
        play, view = self.play, self.view
        assert play is not None
        assert view is not None
        setup = play.setup
        with ui.row().classes("items-end w-full"):
            seat = ui.select(list(view.agents), value=view.agent, label="your seat")
            others = policy_select("all other agents", OWN_PARTNERS, setup.partners)
            seed = ui.number("seed of level 1", value=setup.seed, min=0, precision=0)
            record = ui.switch("record", value=False)
            record.tooltip("write a log of all levels into runs/studio of the folder")
        settings = ui.textarea(
            "settings, one key=value a line", value="\n".join(setup.settings)
        ).classes("w-full")

        async def begin() -> None:
            log = self._new_log() if record.value else None
            self.recorded = "" if log is None else log
            with telling():
                if seed.value is None:
                    raise ConfigError("the seed of level 1 is a whole number")
                await self._make(
                    Setup(
                        name=setup.name,
                        agent=str(seat.value),
                        partners=None if others.value == OWN_PARTNERS else str(others.value),
                        settings=tuple(filter(None, map(str.strip, settings.value.splitlines()))),
                        seed=int(seed.value),
                        log=None if log is None else self.workspace.path(log),
                    )
                )

        ui.button("Begin anew", icon="play_arrow", on_click=begin)
        with ui.expansion("What can be set").classes("w-full"):
            labels = ("key", "value", "type", "description")
            rows = [{label: str(row[label]) for label in labels} for row in self.fields]
            columns = [
                {"name": label, "label": label, "field": label, "align": "left"} for label in labels
            ]
            ui.table(rows=rows, columns=columns, row_key="key").props("dense flat wrap-cells")

    def _new_log(self) -> str:
        """Return a new name for a log in the workspace."""
        stem = self.name.rpartition("/")[2].partition(".")[0]
        return f"runs/studio/{stem}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"

    @ui.refreshable_method
    def _show(self) -> None:
        """Show the game."""
        view = self.view
        assert view is not None
        self._head(view)
        with ui.row().classes("w-full no-wrap items-start gap-4"):
            if view.picture is not None or self.map:
                with ui.card().classes("w-2/5"):
                    data = view.picture if view.picture is not None else self.picture_data
                    ui.image(shown(data)).classes("w-full")
            with ui.card().classes("grow"):
                section(f"What {view.agent} reads")
                ui.label(view.text).classes("piase-text")
                if view.picture is None:
                    switch = ui.switch("show the map, which gives secrets away", value=self.map)
                    switch.on_value_change(lambda event: self._toggle_map(bool(event.value)))
                ui.separator()
                section("What happened")
                self._history()
            with ui.card().classes("w-1/4 min-w-72"):
                self._commands(view)
        with ui.expansion("Instructions of a language model", icon="description").classes(
            "w-full bg-white rounded shadow-sm"
        ):
            ui.label(self.instructions).classes("piase-text")

    async def _toggle_map(self, wanted: bool) -> None:
        """Show or hide the map."""
        self.map = wanted
        await self._do("picture")

    def _head(self, view: GameView) -> None:
        """Show where in the game we are, and how it ended."""
        with ui.row().classes("items-center w-full gap-6"):
            ui.label(view.goal).classes("text-lg grow")
            par = "" if view.par is None else f", par {view.par}"
            ui.label(f"level {view.level} (seed {view.seed})")
            ui.label(f"step {view.steps} of {view.longest}{par}")
            ui.label(f"score {view.score:.2f}").classes("font-semibold")
            for icon, word, level in (
                ("replay", "Again", view.level),
                ("skip_next", "Next level", view.level + 1),
            ):
                ui.button(
                    word, icon=icon, on_click=lambda _, level=level: self._start(level)
                ).props("flat dense no-caps")
        if view.over is not None:
            with ui.card().classes("w-full bg-amber-50"), ui.row().classes("items-center"):
                if view.stars is not None:
                    ui.label(stars(view.stars)).classes("text-2xl text-amber-600")
                ui.label(view.over)
                if self.recorded:
                    address = f"/run?{urlencode({'name': self.recorded})}"
                    ui.link("the run so far", address)

    def _commands(self, view: GameView) -> None:
        """Show who plays, and the commands."""
        with ui.row().classes("items-center w-full"):
            who = policy_select("who plays", ME, self.policy).classes("grow")
            who.on_value_change(lambda event: self._take_policy(str(event.value)))
            if self.policy != ME:
                icon, word = ("pause", "Rest") if self.running else ("play_arrow", "Go on")
                ui.button(word, icon=icon, on_click=self._toggle).props("dense no-caps")
                ui.button(
                    "One step", icon="skip_next", on_click=lambda: self._do("let", self.policy)
                ).props("dense no-caps outline")
        line = ui.input("a command, as agents write it").classes("w-full")
        if self.typed:
            line.props("autofocus")

        async def type_line() -> None:
            self.typed = True
            await self._do("type", line.value)

        line.on("keydown.enter", type_line)
        choices = list(enumerate(view.choices))
        if len(choices) > SHOWN_CHOICES:
            look = ui.input(f"find one of {len(choices)} commands", value=self.filter)
            look.classes("w-full").on_value_change(lambda event: self._filter_by(str(event.value)))
        self._buttons(choices)

    @ui.refreshable_method
    def _buttons(self, choices: list[tuple[int, Choice]]) -> None:
        """Show a button for each command."""
        wanted = [(i, choice) for i, choice in choices if self.filter in choice.line]
        with ui.row().classes("gap-1"):
            for number, choice in wanted[:SHOWN_CHOICES]:
                button = (
                    ui.button(
                        choice.line, on_click=lambda _, number=number: self._do("choose", number)
                    )
                    .props("dense no-caps outline")
                    .classes("px-2")
                )
                button.set_enabled(choice.legal)
        if len(wanted) > SHOWN_CHOICES:
            about(f"and {len(wanted) - SHOWN_CHOICES} more")

    def _filter_by(self, text: str) -> None:
        """Show the commands in which a text occurs."""
        self.filter = text
        self._buttons.refresh()

    def _take_policy(self, policy: str) -> None:
        """Let a policy, or the person, play from now on."""
        self.policy, self.running = policy, False
        self._show.refresh()

    def _toggle(self) -> None:
        """Let the policy go on, or let it rest."""
        self.running = not self.running
        self._show.refresh()

    def _history(self) -> None:
        """Show what the last commands did."""
        if not self.turns:
            about("nothing yet")
        for turn in self.turns:
            with ui.row().classes("items-baseline gap-2 w-full"):
                ui.label(str(turn.step)).classes("text-gray-400 w-8")
                ui.label(turn.line).classes("font-mono")
                ui.label(turn.outcome).classes(colour(turn.outcome))
                ui.label(f"{round(turn.reward, 3) or turn.reward:+g}")
                for name in turn.milestones:
                    ui.badge(name.replace("_", " ")).props("color=secondary")
                if turn.feedback:
                    ui.label(turn.feedback).classes("italic text-gray-600")


def policy_select(label: str, first: str, chosen: str | None) -> ui.select:
    """Show a choice of policies after a first entry; others, such as ppo:PATH, can be typed."""
    names = [first, *(name for name in policies() if name != PERSON)]
    if chosen is not None and chosen not in names:
        names.append(chosen)
    return ui.select(
        names, value=chosen or first, label=label, with_input=True, new_value_mode="add-unique"
    )


def colour(outcome: str) -> str:
    """Return the colour in which an outcome is shown."""
    return {"ok": "text-green-700", "failed": "text-amber-700"}.get(outcome, "text-red-700")
