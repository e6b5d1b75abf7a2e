"""``piase curriculum run|explain|plot``: go through curricula, and look at the way."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from piase_gym.cli.console import console, errors
from piase_gym.cli.curriculum_display import Display, show_run, table_of
from piase_gym.cli.curriculum_options import Director, Name, Source, World
from piase_gym.cli.options import Modules, Settings, import_modules
from piase_gym.cli.settings import read_settings
from piase_gym.errors import ConfigError

if TYPE_CHECKING:
    from piase_gym.curricula.learning_path import LearningPath


def register(group: typer.Typer) -> None:
    """Add these commands to the group of curricula."""
    for command in (run, simulate, explain, plot):
        group.command()(command)


def run(
    name: Name,
    world: World = None,
    config: Settings = None,
    director: Director = None,
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", help="Budget of environment steps. Default: 1000000."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of everything. Default: 0.")
    ] = None,
    num_envs: Annotated[
        int | None, typer.Option(metavar="N", help="Environments side by side. Default: 64.")
    ] = None,
    num_steps: Annotated[
        int | None,
        typer.Option(metavar="N", help="Steps in each between two updates. Default: 64."),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option("--whole", help="Use up the budget even after the curriculum is over."),
    ] = False,
    log: Annotated[
        bool, typer.Option("--log", help="Log everything that happens (array worlds).")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Default: runs/curriculum/NAME-DIRECTOR-SEED."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the folder.")
    ] = False,
    module: Modules = None,
) -> None:
    """Train a policy through a curriculum; Ctrl-C ends after an update, --resume goes on."""
    from piase_gym.curricula import load
    from piase_gym.curricula.simulated_learner import world_of
    from piase_gym.training.curriculum_run import CourseRun, CourseSettings, read_settings_of

    import_modules(module)
    given: dict[str, Any] = {"world": world, "director": director, "steps": steps, "seed": seed}
    given |= {"num_envs": num_envs, "num_steps": num_steps}
    given = {key: value for key, value in given.items() if value is not None}
    given |= {key: True for key, value in (("whole", whole), ("log", log)) if value}
    folder = out or default_folder(name, given)
    if config:
        given["config"] = read_settings(world_of(load(name), world), config)
    if resume:
        kept = read_settings_of(folder)
        settings = CourseSettings(**{**vars(kept), **given, "curriculum": kept.curriculum})
        if load(name).sha256 != load(kept.curriculum).sha256:
            raise ConfigError(f"the run in {folder} is one through {kept.curriculum!r}")
    else:
        settings = CourseSettings(curriculum=name, **given)
    course = CourseRun(settings, folder, resume)
    try:
        with Display(course) as display:
            course.train(display.update)
    finally:
        course.close()
    show_run(course, folder)
    if course.interrupted:
        words = f"Go on with: piase curriculum run {name} --out {folder} --resume"
        console.print(escape(words), soft_wrap=True)
        raise typer.Exit(130)


def default_folder(name: str, given: dict[str, Any]) -> Path:
    """Return where a run goes that is told no folder."""
    stem = Path(name).name.split(".")[0]
    director = given.get("director", "scripted")
    return Path("runs", "curriculum", f"{stem}-{director}-{given.get('seed', 0)}")


def explain(source: Source) -> None:
    """Say why each decision fell: the rule, the values that it read, what it did."""
    from piase_gym.curricula.learning_path import explain as told
    from piase_gym.curricula.learning_path import read_paths

    for number, path in enumerate(read_paths(source)):
        if number:
            console.print()
        for line in told(path):
            console.print(escape(line), soft_wrap=True)


def plot(
    source: Source,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .png, .svg or .pdf file.")
    ] = Path("path.png"),
) -> None:
    """Draw the path: steps over environment steps, attempts, hints, branches, success."""
    from piase_gym.curricula.learning_path import read_paths
    from piase_gym.training.curriculum_plot import plot_journeys

    place = plot_journeys(read_paths(source), out)
    errors.print(f"wrote {escape(str(place))}", soft_wrap=True)


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
