"""Curricula: a list, and one curriculum to read, change, check, and send a learner through."""

from __future__ import annotations

import itertools
import re

from nicegui import ui

from piase_gym import curricula
from piase_gym.curricula import simulated_learner
from piase_gym.curricula.directors import DIRECTORS, director_name
from piase_gym.curricula.lint import lint
from piase_gym.curricula.loader import build
from piase_gym.scenarios.reading import read_text
from piase_gym.studio.layout import PageThread, about, frame, heading, section, waiting
from piase_gym.studio.source_editor import SourceEditor, list_sources
from piase_gym.studio.training_page import show_path
from piase_gym.studio.workspace import Workspace
from piase_gym.worlds.texts.wording import counted

MOST_EPISODES = 500
"""The most episodes of a simulated learner."""


def add(workspace: Workspace) -> None:
    """Add the pages."""

    @ui.page("/curricula")
    async def listing() -> None:
        with frame("Curricula"):
            heading("Curricula")
            about(
                "Steps with criteria, rules, hints and branches. Open one to read it, to change a "
                "copy of it, and to send a simulated learner through."
            )
            await ui.context.client.connected()
            async with waiting("reading them"):
                list_sources("curriculum", await PageThread().do(workspace.sources, "curriculum"))

    @ui.page("/curriculum")
    async def curriculum(name: str = "") -> None:
        with frame(name or "Curriculum", wide=True):
            await ui.context.client.connected()
            async with waiting("reading it"):
                CurriculumPage(workspace, name).open()


class CurriculumPage:
    """One curriculum."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        """Take its name."""
        self.workspace, self.name = workspace, name
        self.thread = PageThread()
        self.made: curricula.DevelopmentalCurriculum | None = None

    def open(self) -> None:
        """Show it, and check it."""
        text = self.workspace.text("curriculum", self.name)
        self.folder = self.workspace.place("curriculum", self.name).parent
        self._overview()
        self.editor = SourceEditor(
            self.workspace, "curriculum", self.name, text, self._check, self._overview.refresh
        )
        self._simulation()
        self.editor.look()

    def _check(self, text: str) -> list[tuple[str, str]]:
        """Read a text, and return what is to be said about it."""
        if self.name.lower().endswith((".yaml", ".yml")):
            made = build(read_text(text, self.name), self.name, self.folder)
        else:
            made = curricula.loads(text, self.name, self.folder)
        findings = lint(made)
        self.made = made
        return [(finding.level, str(finding)) for finding in findings]

    @ui.refreshable_method
    def _overview(self) -> None:
        """Show the ways through the curriculum, and its steps."""
        made = self.made
        if made is None:
            heading(self.name)
            return
        heading(made.name)
        about(made.description)
        world = made.world or "any world"
        steps = counted(len(made.steps), "step")
        about(f"{steps} in {world}; the director is {director_name(None, made)}")
        with ui.card().classes("w-full overflow-auto"):
            ui.mermaid(ways(made)).classes("piase-ways w-full")
        with ui.card().classes("w-full"):
            for step in made.steps:
                step_words(step)

    # -- a simulated learner --------------------------------------------------------------

    def _simulation(self) -> None:
        """Offer to send a learner through the curriculum."""
        with ui.card().classes("w-full"):
            section("Send a simulated learner through")
            about(
                "In the real world of the curriculum, it does what the oracle does with the "
                "probability of its skill, else something legal at random."
            )
            with ui.row().classes("items-center w-full"):
                ui.label("skill")
                skill = ui.slider(min=0, max=1, step=0.05, value=0.7).classes("w-48")
                ui.label().bind_text_from(skill, "value", lambda value: f"{value:.2f}")
                ui.label("learning")
                learning = ui.slider(min=0, max=0.2, step=0.005, value=0.0).classes("w-48")
                ui.label().bind_text_from(learning, "value", lambda value: f"{value:.3f}")
                director = ui.select(["its own", *DIRECTORS], value="its own", label="director")
                seed = ui.number("seed", value=0, min=0, precision=0).classes("w-20")

                async def send() -> None:
                    self.editor.look()
                    if self.made is None or not self.editor.sound:
                        return
                    box.clear()
                    with box:
                        async with waiting(f"playing, {MOST_EPISODES} episodes at most"):
                            chosen = None if director.value == "its own" else director.value
                            found = await self.thread.do(
                                simulated_learner.simulate,
                                self.made,
                                float(skill.value),
                                learning=float(learning.value),
                                seed=int(seed.value or 0),
                                director=chosen,
                                most=MOST_EPISODES,
                            )
                            box.clear()
                            about(f"{found.episodes:,} episodes; the skill is {found.skill:.2f}")
                            show_path(found.path, {})

                ui.button("Send", icon="school", on_click=send)
            box = ui.column().classes("w-full")


def step_words(step: curricula.CurriculumStep) -> None:
    """Show a step: its criteria, rules and hints, and what it changes."""
    with ui.expansion(f"{step.order}. {step.name}").classes("w-full"):
        lines = [f"complete if {criterion}" for criterion in step.completion_criteria]
        lines += [f"if {rule}" for rule in step.rules]
        lines += [f"hint {key}: {hint.message}" for key, hint in step.hints.items()]
        lines += [f"{key} = {value}" for key, value in step.environment_config_overrides.items()]
        episodes = f"{step.episodes_per_attempt} episodes an attempt"
        limit = f", at most {step.max_attempts} attempts" if step.max_attempts else ""
        ui.label("\n".join([episodes + limit, *lines])).classes("piase-text")


def ways(made: curricula.DevelopmentalCurriculum) -> str:
    """Return the ways from step to step as a Mermaid flowchart."""
    lines = ["flowchart LR"]
    orders = [step.order for step in made.steps]
    for step in made.steps:
        lines.append(f'  s{step.order}["{step.order} · {plain_words(step.name)}"]')
    for order, following in itertools.pairwise(orders):
        lines.append(f"  s{order} --> s{following}")
    for step in made.steps:
        for rule in step.rules:
            if rule.action.kind == "BRANCH_TO":
                end = f"s{made.step(rule.action.target or 0).order}"
            elif rule.action.kind == "FAIL_CURRICULUM":
                end = "failed"
            else:
                continue
            lines.append(f'  s{step.order} -. "{plain_words(rule.condition.text)}" .-> {end}')
    return "\n".join(lines)


def plain_words(text: str) -> str:
    """Return a text without the characters that mean something in a flowchart."""
    for sign, word in ((">=", "≥"), ("<=", "≤"), (">", "›"), ("<", "‹"), ("--", "–")):
        text = text.replace(sign, word)
    return " ".join(re.sub(r"[^\w≥≤›‹.,:!?'=%+*/–-]", " ", text).split())
