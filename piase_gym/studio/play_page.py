"""A world that a person plays, or watches a policy play."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from nicegui import ui
from nicegui.events import KeyEventArguments

from piase_gym.agents.policy_registry import policies
from piase_gym.errors import ConfigError, PiaseError
from piase_gym.play.session import CommandResult
from piase_gym.play.session import find as find_choice
from piase_gym.studio.layout import (
    PageThread,
    about,
    address,
    columns,
    command_row,
    frame,
    heading,
    section,
    shown,
    tell,
    telling,
    waiting,
)
from piase_gym.studio.playing import ME, PERSON, GameView, Play, Setup, fields_of, stars
from piase_gym.studio.workspace import SOURCES, Workspace

SHOWN_CHOICES = 60
"""The most commands that have a button."""
SHOWN_TURNS = 30
PAUSE = 0.35
"""Seconds between two commands of a policy."""
ARROWS = {"ArrowUp": "up", "ArrowDown": "down", "ArrowLeft": "left", "ArrowRight": "right"}
STAND_STILL = """addEventListener("keydown", event => {
  if (event.key.startsWith("Arrow") && document.activeElement === document.body)
    event.preventDefault();
})"""
"""Keeps a page from being scrolled by the arrows with which one plays."""
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
        self.lock = asyncio.Lock()
        """Held while something is done in the game: one thing is done at a time."""
        self.play: Play | None = None
        self.view: GameView | None = None
        self.turns: list[CommandResult] = []
        self.running = self.map = False
        self.policy, self.partners, self.filter = ME, OWN_PARTNERS, ""

    # -- work -----------------------------------------------------------------------------

    async def open(self) -> None:
        """Make the world, and show it."""
        heading(self.name)
        self.box = ui.column().classes("w-full")
        ui.keyboard(self._press)
        ui.timer(PAUSE, self._let)
        with telling():
            await self._make(Setup(self._path(self.name)))
        if self.view is not None and any(
            choice.key in ARROWS.values() for choice in self.view.choices
        ):
            ui.run_javascript(STAND_STILL)

    def _path(self, name: str) -> str:
        """Return the name of what is played, or the path of a scenario in the workspace."""
        return str(self.workspace.path(name)) if name.lower().endswith(SOURCES) else name

    async def _make(self, setup: Setup) -> None:
        """Make the world anew; the old game goes on if that fails."""
        self.running = False
        async with self.lock:
            with self.box:
                async with waiting("opening the world; the first time, its rules are compiled"):
                    self.trained = await self.thread.do(self.workspace.policies)
                    fields = await self.thread.do(fields_of, setup.name)
                    made = await self.thread.make(Play, setup)
                    self.play, self.turns = made, []
                    self.map = False
                    self.view = await self.thread.do(made.look)
                    instructions = await self.thread.do(made.instructions)
                    line_words = await self.thread.do(made.line_words)
                    self.box.clear()
                    self._lay_out(fields, instructions, line_words)

    async def _do(self, work: str, *args: object) -> bool:
        """Do something in the game, show what came of it, and return whether it was done."""
        async with self.lock:
            play = self.play
            if play is None:
                return False
            try:
                said = await self.thread.do(getattr(play, work), *args)
                self.view = view = await self.thread.do(play.look)
                if self.map:
                    self.picture = await self.thread.do(play.picture)
            except Exception as error:
                self.running = False
                self._control.refresh()
                if not isinstance(error, PiaseError):
                    raise
                tell(error)
                return False
            if isinstance(said, str):
                ui.notify(said, type="warning", multi_line=True)
            if view.turn is None:
                self.turns = []
            elif not self.turns or view.turn.steps != self.turns[0].steps:
                self.turns = [view.turn, *self.turns[: SHOWN_TURNS - 1]]
            self._show()
            return not isinstance(said, str)

    async def _do_now(self, work: str, *args: object) -> None:
        """Do something unless another thing is being done, so that two clicks are one."""
        if not self.lock.locked():
            await self._do(work, *args)

    async def _let(self) -> None:
        """Let the policy act, if it is to go on; show that something is being done."""
        if self.view is not None:
            self.spinner.set_visibility(self.lock.locked())
        if self.running and self.view is not None and self.view.over is not None:
            self._toggle()
        elif self.running:
            await self._one_step()

    async def _one_step(self) -> None:
        """Let the policy act once."""
        await self._do_now("let", self.workspace.policy(self.policy))

    async def _press(self, event: KeyEventArguments) -> None:
        """Give the command of a key."""
        if not event.action.keydown or self.view is None:
            return
        name = ARROWS.get(str(event.key), "")
        found = find_choice(list(self.view.choices), name) if name else None
        if found is not None:
            await self._do_now("choose", self.view.choices.index(found))

    async def _start(self, level: int) -> None:
        """Begin a level."""
        self.running = False
        await self._do("start", level)

    # -- what is shown --------------------------------------------------------------------

    def _lay_out(self, fields: list[Mapping[str, Any]], instructions: str, line_words: str) -> None:
        """Show the setup, and the game below it; what a step changes is shown anew after it."""
        view = self.view
        assert view is not None
        with part("Setup", "tune"):
            self._setup_form(fields)
        self._head()
        with ui.row().classes("w-full items-start gap-4 lg:flex-nowrap"):
            self._picture()
            with ui.card().classes("grow basis-80 min-w-0"):
                section(f"What {view.agent} reads")
                self._reading()
                if view.picture is None:
                    switch = ui.switch("show the map, which gives secrets away")
                    switch.on_value_change(lambda event: self._toggle_map(bool(event.value)))
                ui.separator()
                section("What happened")
                self._history()
            with ui.card().classes("w-72 grow shrink-0 lg:w-1/4 lg:grow-0"):
                self._commands(line_words)
        with part("Instructions of a language model", "description"):
            ui.label(instructions).classes("piase-text")

    def _show(self) -> None:
        """Show the game as it is now."""
        for shown_anew in (
            self._head,
            self._picture,
            self._reading,
            self._history,
            self._control,
            self._find,
            self._buttons,
        ):
            shown_anew.refresh()

    def _setup_form(self, fields: list[Mapping[str, Any]]) -> None:
        """Show what can be chosen before a game."""
        play, view = self.play, self.view
        assert play is not None
        assert view is not None
        setup = play.setup
        with ui.row().classes("items-end w-full"):
            seat = ui.select(list(view.agents), value=view.agent, label="your seat")
            others = policy_select("all other agents", OWN_PARTNERS, self.partners, self.trained)
            seed = ui.number("seed of level 1", value=setup.seed, min=0, precision=0)
            record = ui.switch("record", value=setup.log is not None)
            record.tooltip("write a log of all levels into runs/studio of the folder")
        settings = ui.textarea(
            "settings, one key=value a line", value="\n".join(setup.settings)
        ).classes("w-full")

        async def begin() -> None:
            button.disable()  # it is gone once there is another game
            try:
                with telling():
                    await self._make(chosen())
            finally:
                if not button.is_deleted:
                    button.enable()

        def chosen() -> Setup:
            if seed.value is None:
                raise ConfigError("the seed of level 1 is a whole number")
            self.partners = str(others.value)
            own = self.partners == OWN_PARTNERS
            return Setup(
                name=setup.name,
                agent=str(seat.value),
                partners=None if own else self.workspace.policy(self.partners),
                settings=tuple(filter(None, map(str.strip, settings.value.splitlines()))),
                seed=int(seed.value),
                log=self.workspace.path(self._new_log()) if record.value else None,
            )

        button = ui.button("Begin anew", icon="play_arrow", on_click=begin)
        with ui.expansion("What can be set").classes("w-full"):
            labels = ("key", "value", "type", "description")
            rows = [{label: str(row[label]) for label in labels} for row in fields]
            table = ui.table(rows=rows, columns=columns(labels), row_key="key")
            table.props("dense flat wrap-cells")

    def _new_log(self) -> str:
        """Return a new name for a log in the workspace."""
        stem = self.name.rpartition("/")[2].partition(".")[0]
        return f"runs/studio/{stem}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"

    @ui.refreshable_method
    def _picture(self) -> None:
        """Show the picture, unless it is hidden."""
        data = self.picture if self.map else self.view and self.view.picture
        if data:
            with ui.card().classes("w-2/5 shrink-0 max-w-xl"):
                ui.image(shown(data)).classes("w-full")

    @ui.refreshable_method
    def _reading(self) -> None:
        """Show what the agent reads."""
        assert self.view is not None
        ui.label(self.view.text).classes("piase-text")

    async def _toggle_map(self, wanted: bool) -> None:
        """Show or hide the map."""
        self.map = False
        if wanted and self.play is not None:
            self.picture = await self.thread.do(self.play.picture)
            self.map = True
        self._picture.refresh()

    @ui.refreshable_method
    def _head(self) -> None:
        """Show where in the game we are, and how it ended."""
        play, view = self.play, self.view
        assert play is not None
        assert view is not None
        with ui.row().classes("items-center w-full gap-x-6"):
            ui.label(view.goal).classes("text-lg grow")
            par = "" if view.par is None else f", par {view.par}"
            ui.label(f"level {view.level} (seed {view.seed})")
            ui.label(f"step {view.steps} of {view.longest}{par}")
            ui.label(f"score {view.score:.2f}").classes("font-semibold")
            if play.setup.log is not None:
                run = address("run", self.workspace.name(play.setup.log))
                ui.link("the run so far", run, new_tab=True)
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

    def _commands(self, line_words: str) -> None:
        """Show who plays, and the commands."""
        who = policy_select("who plays", ME, self.policy, self.trained).classes("w-full")
        who.on_value_change(lambda event: self._take_policy(str(event.value)))
        self._control()
        line = ui.input(line_words).classes("w-full")

        async def type_line() -> None:
            text, line.value = line.value.strip(), ""  # Enter twice is one command
            if text and not await self._do("type", text) and not line.value:
                line.value = text  # what was refused can be mended

        line.on("keydown.enter", type_line)
        self._find()
        self._buttons()

    @ui.refreshable_method
    def _control(self) -> None:
        """Show how the policy that plays is driven, and whether something is being done."""
        view = self.view
        with ui.row().classes("items-center"):
            if self.policy != ME and view is not None and view.over is None:
                icon, word = ("pause", "Rest") if self.running else ("play_arrow", "Go on")
                ui.button(word, icon=icon, on_click=self._toggle).props("dense no-caps")
                ui.button("One step", icon="skip_next", on_click=self._one_step).props(
                    "dense no-caps outline"
                )
            self.spinner = ui.spinner()
            self.spinner.set_visibility(False)

    @ui.refreshable_method
    def _find(self) -> None:
        """Offer to look for a command, if there are many."""
        count = 0 if self.view is None else len(self.view.choices)
        if count > SHOWN_CHOICES:
            look = ui.input(f"find one of {count} commands", value=self.filter)
            look.classes("w-full").on_value_change(lambda event: self._filter_by(str(event.value)))
        else:
            self.filter = ""

    @ui.refreshable_method
    def _buttons(self) -> None:
        """Show a button for each command."""
        choices = () if self.view is None else self.view.choices
        wanted = [(i, choice) for i, choice in enumerate(choices) if self.filter in choice.line]
        with ui.row().classes("gap-1"):
            for number, choice in wanted[:SHOWN_CHOICES]:
                button = (
                    ui.button(
                        choice.line,
                        on_click=lambda _, number=number: self._do_now("choose", number),
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
        self._control.refresh()

    def _toggle(self) -> None:
        """Let the policy go on, or let it rest."""
        self.running = not self.running
        self._control.refresh()

    @ui.refreshable_method
    def _history(self) -> None:
        """Show what the last commands did."""
        if not self.turns:
            about("nothing yet")
        for turn in self.turns:
            command_row(
                str(turn.steps),
                turn.line,
                turn.outcome,
                turn.reward,
                turn.milestones,
                turn.feedback,
            )


def part(title: str, icon: str) -> ui.expansion:
    """Return a part of the page that is opened by a click."""
    return ui.expansion(title, icon=icon).classes("w-full bg-white rounded shadow-sm")


def policy_select(label: str, first: str, chosen: str, trained: list[str]) -> ui.select:
    """Show a choice of policies after a first entry; others, such as ppo:PATH, can be typed."""
    names = [first, *(name for name in policies() if name != PERSON), *trained, chosen]
    names = list(dict.fromkeys(names))
    select = ui.select(
        names, value=chosen, label=label, with_input=True, new_value_mode="add-unique"
    )
    typed = [""]

    def take() -> None:
        """Take what was typed, also without Enter."""
        if typed[0] and typed[0] not in select.options:
            select.set_options([*select.options, typed[0]], value=typed[0])

    def typing(text: str) -> None:
        """Keep what is being typed."""
        typed[0] = text.strip()

    select.on("input-value", lambda event: typing(str(event.args or "")))
    select.on_value_change(lambda: typing(""))
    select.on("blur", take)
    return select
