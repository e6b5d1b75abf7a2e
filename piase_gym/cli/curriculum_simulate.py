"""``piase curriculum simulate``: send a learner of some skill through a curriculum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from piase_gym.cli.console import console
from piase_gym.cli.curriculum_display import table_of
from piase_gym.cli.curriculum_options import Director, Name, World
from piase_gym.cli.options import (
    Modules,
    Settings,
    import_modules,
)
from piase_gym.cli.settings import read_settings

if TYPE_CHECKING:
    from piase_gym.curricula.learning_path import LearningPath


def simulate(
    name: Name,
    skill: Annotated[
        float,
        typer.Option(metavar="SHARE", help="How often the learner does what the oracle does."),
    ],
    learning: Annotated[
        float,
        typer.Option(metavar="RATE", help="Share of what is missing that an episode adds."),
    ] = 0.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of everything.")] = 0,
    world: World = None,
    config: Settings = None,
    director: Director = None,
    episodes: Annotated[int, typer.Option(metavar="N", help="Most episodes.")] = 2000,
    verbose: Annotated[
        bool, typer.Option("--explain", help="Also say why each decision fell.")
    ] = False,
    module: Modules = None,
) -> None:
    """Send a learner of some skill through a curriculum: the real world, and no training.

    In each step the learner does what the world's oracle does, with the probability of its skill,
    else something legal at random.
    """
    from piase_gym.curricula import load
    from piase_gym.curricula.learning_path import explain as told
    from piase_gym.curricula.simulated_learner import simulate as send
    from piase_gym.curricula.simulated_learner import world_of

    import_modules(module)
    curriculum = load(name)
    fields = read_settings(world_of(curriculum, world), config) if config else {}
    found = send(
        curriculum,
        skill,
        world=world,
        config=fields,
        learning=learning,
        seed=seed,
        director=director,
        most=episodes,
    )
    journey = found.journey
    lines = list(told(journey)) if verbose else path_lines(journey)
    for line in lines:
        console.print(escape(line), soft_wrap=True)
    console.print(table_of(journey, [step.order for step in curriculum.steps]))
    words = {"running": "is not over", "finished": "is finished", "failed": "is failed"}
    console.print(
        f"The curriculum {words[journey.outcome]} after {found.episodes:,} episodes and "
        f"{found.steps:,} steps; the skill is {found.skill:.2f}.",
        soft_wrap=True,
    )


def path_lines(journey: LearningPath) -> list[str]:
    """Return a line for each decision, equal ones in a row together."""
    lines: list[str] = []
    stay: list[Any] = []
    for move in journey.moves:
        decision = move.decision
        key = (decision.step, decision.decision)
        if stay and key != (stay[-1].step, stay[-1].decision):
            lines.append(stay_line(stay, journey.judged_by))
            stay = []
        stay.append(decision)
    return [*lines, stay_line(stay, journey.judged_by)] if stay else lines


def stay_line(stay: list[Any], metric: str = "success_rate") -> str:
    """Return one line for decisions in a row that say the same of one step.

    Args:
        stay: The decisions.
        metric: The share by which attempts are judged.
    """
    from piase_gym.curricula.learning_path import short_name

    first, last = stay[0], stay[-1]
    attempts = f"attempt {first.attempt}"
    if len(stay) > 1:
        attempts = f"attempts {first.attempt} to {last.attempt}"
    rates = [d.values.get(metric) for d in stay]
    shares = [rate for rate in rates if isinstance(rate, int | float)]
    told = ""
    if shares:
        low, high = min(shares), max(shares)
        span = f"{low:.0%}" if low == high else f"{low:.0%} to {high:.0%}"
        told = f", {span} {short_name(metric)}"
    return f"step {first.step} '{first.name}', {attempts}{told}: {last.decision}"
