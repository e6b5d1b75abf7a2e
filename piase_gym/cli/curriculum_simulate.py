"""``piase curriculum simulate``: send a learner of some skill through a curriculum."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from piase_gym.cli.console import console
from piase_gym.cli.curriculum_display import table_of
from piase_gym.cli.curriculum_options import Director, Name, World
from piase_gym.cli.options import Modules, Settings, import_modules
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
    path = found.path
    lines = list(told(path)) if verbose else path_lines(path)
    for line in lines:
        console.print(escape(line), soft_wrap=True)
    console.print(table_of(path, [step.order for step in curriculum.steps]))
    outcome = "is not over" if path.outcome == "running" else f"is {path.outcome}"
    console.print(
        f"The curriculum {outcome} after {found.episodes:,} episodes and "
        f"{found.steps:,} steps; the skill is {found.skill:.2f}.",
        soft_wrap=True,
    )


def path_lines(path: LearningPath) -> list[str]:
    """Return a line for each decision, equal ones in a row together."""
    decisions = [move.decision for move in path.moves]
    stays = itertools.groupby(decisions, key=lambda decision: (decision.step, decision.decision))
    return [stay_line(list(stay), path.judged_by) for _, stay in stays]


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
