"""``piase curriculum run|simulate|explain|plot``: go through curricula, and look at the way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from piase_gym.cli.console import console, errors
from piase_gym.cli.options import (
    Completions,
    Modules,
    Settings,
    complete_worlds,
    import_modules,
)
from piase_gym.cli.settings import read_settings
from piase_gym.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from piase_gym.benchmarks.curriculum_run import CourseRun, CourseSettings, Look
    from piase_gym.curricula.journeys import Journey


def register(group: typer.Typer) -> None:
    """Add these commands to the group of curricula."""
    for command in (run, simulate, explain, plot):
        group.command()(command)


def complete_curricula(incomplete: str) -> Completions:
    """Complete the names of the library."""
    from piase_gym import curricula

    return [(name, "") for name in curricula.names() if name.startswith(incomplete)]


def complete_directors(incomplete: str) -> Completions:
    """Complete the names of directors."""
    from piase_gym.curricula.automatic import DIRECTORS

    return [(name, "") for name in DIRECTORS if name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        metavar="CURRICULUM", help="A name or a file.", autocompletion=complete_curricula
    ),
]
World = Annotated[
    str | None,
    typer.Option(
        metavar="WORLD",
        help="The world or id to play in. Default: the curriculum's own.",
        autocompletion=complete_worlds,
    ),
]
Director = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What says which step comes next: scripted (the curriculum's own rules), threshold, "
        "randomisation or learning_progress. Default: scripted.",
        autocompletion=complete_directors,
    ),
]
Source = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|PROGRESS",
        help="The folder of a run, a log, or a file of progress.",
    ),
]


# -- run -----------------------------------------------------------------------------------------


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
    from piase_gym.benchmarks.curriculum_run import CourseRun, CourseSettings, read_settings_of
    from piase_gym.curricula import load
    from piase_gym.curricula.simulated import world_of

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


class Display:
    """A progress bar with step, attempt and success; on no terminal, a line now and then."""

    def __init__(self, course: CourseRun) -> None:
        """Begin where the run is."""
        self.settings: CourseSettings = course.settings
        self._told = -1
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task(
            "compiling", total=self.settings.steps, completed=course.trainer.steps
        )
        self._drawn = course.course.director.per_slot

    def __enter__(self) -> Display:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._bar.stop()

    def update(self, look: Look) -> None:
        """Show where the run is."""
        where = f"step {look.order} '{look.name}', attempt {look.attempt}"
        if self._drawn:
            where = "steps are drawn"
        words = escape(f"{where}, {_told(look)}")
        steps = min(look.steps, self.settings.steps)
        self._bar.update(self._task, completed=steps, description=words)
        tenth = 10 * steps // self.settings.steps
        if not console.is_terminal and tenth > self._told:
            self._told = tenth
            line = f"{look.steps:,} of {self.settings.steps:,} steps: {words}"
            console.print(line, soft_wrap=True)


def _told(look: Look) -> str:
    """Say how well it goes: what is won, or what attempts are judged by instead."""
    from piase_gym.curricula.journeys import SUCCESS, short_name

    others = {n: v for n, v in look.values.items() if isinstance(v, float)}
    if not look.won and SUCCESS not in others and others:
        return ", ".join(f"{short_name(name)} {value:.2f}" for name, value in others.items())
    return f"{look.won:.0%} won"


def show_run(course: CourseRun, folder: Path) -> None:
    """Print what came of a run, and draw its path."""
    from piase_gym.curricula.journeys import read_journeys

    journeys = read_journeys(folder)
    for journey in journeys:
        console.print(table_of(journey, [step.order for step in course.curriculum.steps]))
    words = {"running": "goes on", "finished": "is finished", "failed": "is failed"}
    outcome = words[course.course.progress[course.agent].outcome]
    if course.course.director.per_slot:
        outcome = "has no end: its steps were drawn"
    spent = f"{course.trainer.steps:,} environment steps"
    console.print(f"The curriculum {outcome}, after {spent}.", soft_wrap=True)
    console.print(f"Everything is in {escape(str(folder))}", soft_wrap=True)
    try:
        from piase_gym.benchmarks.curriculum_plot import plot_journeys

        plot_journeys(journeys, folder / "path.png")
    except MissingExtraError as error:
        errors.print(f"no picture: {escape(str(error))}", soft_wrap=True)
    except ConfigError:
        return  # no attempt is over yet, so there is nothing to draw
    else:
        console.print(f"The path is drawn in {escape(str(folder / 'path.png'))}", soft_wrap=True)


def table_of(journey: Journey, orders: list[int] | None = None) -> Table:
    """Return the table of a journey's steps."""
    from piase_gym.curricula.journeys import headings, table_rows

    table = Table(title=escape(f"{journey.curriculum}: {journey.agent}"))
    for heading in headings(journey):
        left = heading in ("name", "done")
        table.add_column(heading, justify="left" if left else "right")
    for row in table_rows(journey, orders or ()):
        table.add_row(*(escape(cell) for cell in row))
    return table


# -- simulate ------------------------------------------------------------------------------------


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
    from piase_gym.curricula.journeys import explain as told
    from piase_gym.curricula.simulated import simulate as send
    from piase_gym.curricula.simulated import world_of

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


def path_lines(journey: Journey) -> list[str]:
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
    from piase_gym.curricula.journeys import short_name

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


# -- explain and plot ----------------------------------------------------------------------------


def explain(source: Source) -> None:
    """Say why each decision fell: the rule, the values that it read, what it did."""
    from piase_gym.curricula.journeys import explain as told
    from piase_gym.curricula.journeys import read_journeys

    for number, journey in enumerate(read_journeys(source)):
        if number:
            console.print()
        for line in told(journey):
            console.print(escape(line), soft_wrap=True)


def plot(
    source: Source,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .png, .svg or .pdf file.")
    ] = Path("path.png"),
) -> None:
    """Draw the path: steps over environment steps, attempts, hints, branches, success."""
    from piase_gym.benchmarks.curriculum_plot import plot_journeys
    from piase_gym.curricula.journeys import read_journeys

    place = plot_journeys(read_journeys(source), out)
    errors.print(f"wrote {escape(str(place))}", soft_wrap=True)
