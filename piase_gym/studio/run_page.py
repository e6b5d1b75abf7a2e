"""Runs: a list of logs, and one run, episode by episode and step by step."""

from __future__ import annotations

import itertools
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
from nicegui import ui

from piase_gym import runs
from piase_gym.errors import RunError
from piase_gym.runs.json_values import plain
from piase_gym.studio.layout import (
    PageThread,
    about,
    address,
    columns,
    command_row,
    frame,
    heading,
    remembered,
    section,
    shown,
    waiting,
)
from piase_gym.studio.playback import MOST_EPISODES, Episode, Moment, episodes, moments
from piase_gym.studio.workspace import Workspace
from piase_gym.worlds.texts.wording import counted

FPS = 4
MOST_DATA = 2000
"""The most characters of a line's data that are shown."""


def add(workspace: Workspace) -> None:
    """Add the pages."""

    @ui.page("/runs")
    async def listing() -> None:
        with frame("Runs"):
            heading("Runs")
            about(f"Logs and trainings in {workspace.folder}, those that changed last first.")
            await ui.context.client.connected()
            thread = PageThread()
            async with waiting("looking through the folder"):
                found = await thread.do(workspace.runs)
                trainings = await thread.do(workspace.trainings)
                _list_trainings(trainings)
                _list_runs(workspace, found)

    @ui.page("/run")
    async def run(name: str = "") -> None:
        with frame(name or "Run", wide=True):
            heading(name or "Run")
            await ui.context.client.connected()
            page = RunPage(workspace, name)
            async with waiting("reading the log"):
                await page.open()


def _list_trainings(names: list[str]) -> None:
    """List trainings through a curriculum."""
    if names:
        section("Trainings through a curriculum")
        for name in names:
            ui.link(name, address("training", name))


def _list_runs(workspace: Workspace, found: list[tuple[str, runs.Run]]) -> None:
    """List logs."""
    section("Logs")
    if not found:
        about("There are none yet: switch on “record” on the page of a world, or log a run.")
        return
    rows = []
    for name, run in found:
        try:
            facts = (workspace.folder / name).stat()
        except OSError:
            continue  # it is gone again
        rows.append(
            {
                "name": name,
                "address": address("run", name),
                "world": run.manifest["world"],
                "agents": ", ".join(run.agents[:4]) + (" …" if len(run.agents) > 4 else ""),
                "level": run.manifest["level"],
                "size": facts.st_size,
                "changed": f"{datetime.fromtimestamp(facts.st_mtime):%Y-%m-%d %H:%M}",
            }
        )
    keys = ("name", "world", "agents", "level", "size", "changed")
    shown_columns = [{**column, "sortable": True} for column in columns(keys)]
    size = shown_columns[keys.index("size")]
    size[":format"] = "bytes => Math.ceil(bytes / 1000).toLocaleString('en') + ' kB'"
    table = ui.table(rows=rows, columns=shown_columns, row_key="name", pagination=25)
    table.classes("w-full")
    table.add_slot(
        "body-cell-name",
        '<q-td :props="props"><a class="text-primary underline" :href="props.row.address">'
        "{{ props.value }}</a></q-td>",
    )


class RunPage:
    """One run: an episode is chosen, and then a step."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        """Take the name of the log."""
        self.workspace, self.name = workspace, name
        self.thread = PageThread()
        self.moments: list[Moment] = []
        self.loads = 0
        self.at = 0
        self.playing = False
        self.opened: dict[str, bool] = {}

    async def open(self) -> None:
        """Read the log, and show its last episode."""
        self.path: Path = self.workspace.path(self.name)
        self.run = await self.thread.do(runs.read, self.path)
        manifest = self.run.manifest
        about(
            f"{manifest['world']}, agents {', '.join(self.run.agents)}; level {manifest['level']}; "
            f"run {self.run.run_id}"
        )
        self._checks()
        self.episodes = await self.thread.do(episodes, self.run)
        if not self.episodes:
            raise RunError("no episode has begun in this run yet")
        self._choose_episode()
        self.box = ui.column().classes("w-full")
        ui.timer(1 / FPS, self._advance)
        await self._load(self.episodes[-1])

    # -- the whole run --------------------------------------------------------------------

    def _checks(self) -> None:
        """Offer to validate the log and to execute it again."""
        with ui.row().classes("items-center"):

            async def check(work: Any, words: str) -> None:
                with report:
                    report.clear()
                    async with waiting(words):
                        found = await self.thread.do(work, self.path)
                        report.clear()
                        ui.label(str(found)).classes("piase-text")

            ui.button(
                "Validate",
                icon="fact_check",
                on_click=lambda: check(runs.validate, "reading every line"),
            ).props("outline dense")
            ui.button(
                "Replay",
                icon="replay",
                on_click=lambda: check(runs.replay, "executing the run again"),
            ).props("outline dense")
        report = ui.column()

    def _choose_episode(self) -> None:
        """Show the returns of all episodes; a click chooses one."""
        count = len(self.episodes)
        chart = ui.echart(returns_chart(self.run.agents, self.episodes)).classes("w-full h-56")
        chart.set_visibility(count > 1)
        more = f", the first {MOST_EPISODES:,}" if count == MOST_EPISODES else ""
        options = {i: episode_words(episode) for i, episode in enumerate(self.episodes)}
        choice = ui.select(
            options, value=count - 1, label=f"episode, one of {count}{more}", with_input=True
        ).classes("w-full")

        async def chosen() -> None:
            await self._load(self.episodes[choice.value])

        choice.on_value_change(chosen)
        chart.on_point_click(lambda event: choice.set_value(event.data_index))

    async def _load(self, episode: Episode) -> None:
        """Execute an episode again, and show its first state."""
        self.playing, self.loads = False, self.loads + 1
        load = self.loads
        with self.box:
            self.box.clear()
            async with waiting("executing the run again, up to this episode"):
                found = await self.thread.do(self._execute, episode, load)
                if self.loads == load:  # else another was chosen meanwhile
                    self.moments, self.at = found, 0
                    self._lay_out(episode)

    def _execute(self, episode: Episode, load: int) -> list[Moment]:
        """Return the states of an episode, as long as it is the one that was chosen last."""
        states = moments(self.run, episode)
        return list(itertools.takewhile(lambda _: self.loads == load, states))

    # -- one episode ----------------------------------------------------------------------

    def _lay_out(self, episode: Episode) -> None:
        """Show the controls, and the state below them."""
        last = len(self.moments) - 1
        cut = f"; not shown are those up to {episode.steps}" if last < episode.steps else ""
        with ui.row().classes("items-center w-full no-wrap"):
            self.button = ui.button(icon="play_arrow", on_click=self._toggle).props("dense")
            ui.button(icon="chevron_left", on_click=lambda: self._go(self.at - 1)).props(
                "flat dense"
            )
            ui.button(icon="chevron_right", on_click=lambda: self._go(self.at + 1)).props(
                "flat dense"
            )
            self.slider = ui.slider(min=0, max=max(1, last), value=0).classes("grow")
            self.slider.on_value_change(lambda event: self._go(int(event.value)))
            self.slider.set_enabled(last > 0)
            ui.label().classes("whitespace-nowrap").bind_text_from(
                self.slider, "value", lambda value: f"step {int(value)} of {last}{cut}"
            )
        self._show()

    def _toggle(self) -> None:
        """Let the episode run, or let it stand still."""
        if not self.playing and self.at == len(self.moments) - 1:
            self._go(0)
        self.playing = not self.playing
        self.button.props(f"icon={'pause' if self.playing else 'play_arrow'}")

    def _advance(self) -> None:
        """Go on by a step, if the episode is to run."""
        if self.playing:
            if self.at == len(self.moments) - 1:
                self._toggle()
            else:
                self._go(self.at + 1)

    def _go(self, at: int) -> None:
        """Go to a state."""
        at = min(max(0, at), len(self.moments) - 1)
        if at != self.at:
            self.at = at
            self.slider.value = at
            self._show.refresh()

    @ui.refreshable_method
    def _show(self) -> None:
        """Show a state: the picture, what agents did, what they read, the lines of the log."""
        moment = self.moments[self.at]
        with ui.row().classes("w-full no-wrap items-start gap-4"):
            with ui.card().classes("w-2/5 shrink-0 max-w-xl"):
                ui.image(shown(moment.picture)).classes("w-full")
            with ui.column().classes("grow min-w-0"):
                with ui.card().classes("w-full"):
                    section("What agents did")
                    _deeds(moment)
                with ui.card().classes("w-full"):
                    section("What they read then")
                    for agent, text in moment.texts.items():
                        ui.label(agent).classes("font-semibold")
                        ui.label(text).classes("piase-text")
                    if not moment.texts:
                        about("nobody is in play")
        title = f"Further lines of the log: {len(moment.lines)}"
        with remembered(title, self.opened, "lines").classes("bg-white rounded shadow-sm"):
            for agent, kind, data in moment.lines:
                ui.label(f"{agent}  {kind}").classes("font-semibold")
                ui.label(orjson.dumps(plain(data)).decode()[:MOST_DATA]).classes("piase-text")


def _deeds(moment: Moment) -> None:
    """Show what agents did in the step that led to a state."""
    if not moment.deeds:
        about("the episode begins")
    for agent, row in moment.deeds.items():
        total = moment.returns[agent]
        command_row(agent, row.command, row.outcome, row.reward, row.milestones, row.reason, total)


def episode_words(episode: Episode) -> str:
    """Return what an episode is called in the list."""
    results = ", ".join(f"{agent} {result}" for agent, result in episode.results.items())
    steps = counted(episode.steps, "step")
    slot = f", environment {episode.slot}" if episode.slot else ""
    return f"{episode.number}{slot}: seed {episode.seed}, {steps}{'; ' if results else ''}{results}"


def returns_chart(agents: list[str], rows: list[Episode]) -> dict[str, Any]:
    """Return the options of a chart of each agent's returns over the episodes."""
    series = [
        {
            "type": "line",
            "name": agent,
            "showSymbol": len(rows) < 60,
            "data": [[row.number, row.returns.get(agent)] for row in rows],
        }
        for agent in agents
    ]
    return {
        "tooltip": {"trigger": "axis"},
        "legend": {"top": 0},
        "grid": {"left": 60, "right": 20, "top": 40, "bottom": 30},
        "xAxis": {
            "type": "value",
            "name": "episode",
            "min": "dataMin",
            "max": "dataMax",
            "minInterval": 1,
        },
        "yAxis": {"type": "value", "name": "return", "scale": True},
        "series": series,
    }
