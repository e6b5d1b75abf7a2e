"""``piase curriculum``: check curricula, try them, train through them, look at the path."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from piase_gym.cli.console import StepBar, console, errors, make_table, say
from piase_gym.cli.options import (
    Modules,
    Overwrite,
    Settings,
    complete_from,
    complete_worlds,
    write_file,
)
from piase_gym.errors import ConfigError, CurriculumError, MissingExtraError
from piase_gym.play.settings import read_pairs, read_settings, read_value

if TYPE_CHECKING:
    from piase_gym.curricula.learning_path import LearningPath
    from piase_gym.training.curriculum_run import (
        CurriculumTraining,
        CurriculumTrainingSettings,
        TrainingStatus,
    )

curriculum = typer.Typer(
    no_args_is_help=True,
    help="Check curricula, try them, train through them, and see what came of it.",
)


complete_curricula = complete_from("piase_gym.curricula:names")
complete_directors = complete_from("piase_gym.curricula.directors:DIRECTORS")
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
        metavar="NAME|FILE",
        help="What says which step comes next: a name (scripted: the curriculum's own rules; "
        "threshold, randomisation, learning_progress, plr, alp_gmm, learnability, self_paced), or "
        "a YAML or JSON file with name and options. Default: that of the curriculum.",
        autocompletion=complete_directors,
    ),
]
Source = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|PROGRESS", help="The folder of a run, a log, or a file of progress."
    ),
]

_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


@curriculum.command()
def lint(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="CURRICULUM...", help="Names or files.", autocompletion=complete_curricula
        ),
    ],
    world: Annotated[
        str | None,
        typer.Option(
            metavar="WORLD",
            help="The world or id that steps are checked against. Default: the curriculum's own.",
            autocompletion=complete_worlds,
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Take warnings for errors.")] = False,
    module: Modules = None,
) -> None:
    """Check curricula: file:line:column: step, rule: what is wrong, what is allowed."""
    from piase_gym.curricula.lint import lint as look

    wrong = 0
    for name in files:
        try:
            found = look(name, world)
        except CurriculumError as error:
            wrong += 1
            say(error, "red")
            continue
        for finding in found:
            say(finding, _COLOURS[finding.level])
        levels = {finding.level for finding in found}
        wrong += "error" in levels or (strict and "warning" in levels)
        if not levels & {"error", "warning"}:
            say(f"{name}: {_sentence(name)}: ok")
    if wrong:
        raise typer.Exit(1)


def _sentence(name: str) -> str:
    """Return what a curriculum is, in a few words."""
    from piase_gym import curricula

    made = curricula.load(name)
    count = len(made.steps)
    of = f" of {made.world}" if made.world else ""
    return f"{made.name}, {count} step{'s' if count != 1 else ''}{of}"


@curriculum.command()
def names() -> None:
    """List the curricula that ship."""
    from piase_gym import curricula

    found = {name: curricula.load(name) for name in curricula.names()}
    rows = [
        (name, made.world or "any", str(len(made.steps)), made.description or made.name)
        for name, made in found.items()
    ]
    console.print(make_table(("name", "world", "steps", "what it teaches"), rows))


@curriculum.command()
def schema() -> None:
    """Print the JSON Schema of curriculum files, for editors."""
    from piase_gym.curricula.export import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@curriculum.command()
def export(
    name: Name,
    to_prompt_suite: Annotated[
        bool, typer.Option("--piapes", help="Mark it for the prompt suite (__type__).")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write it. Default: to the terminal."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    module: Modules = None,
) -> None:
    """Write a curriculum as JSON, without what is left at its default."""
    from piase_gym import curricula
    from piase_gym.curricula.export import dumps

    text = dumps(curricula.load(name), marked=to_prompt_suite)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_file(out, text, force)
        errors.print(f"wrote {out}", markup=False)


@curriculum.command()
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
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A setting of the PPO, such as minibatch=4096."
        ),
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
    from piase_gym.curricula.directors import director_name
    from piase_gym.curricula.simulated_learner import world_of
    from piase_gym.training.curriculum_run import CurriculumTraining

    given: dict[str, Any] = {"world": world, "steps": steps, "seed": seed}
    given["director"] = read_director(director)
    given |= {"num_envs": num_envs, "num_steps": num_steps}
    given = {key: value for key, value in given.items() if value is not None}
    given |= {key: True for key, value in (("whole", whole), ("log", log)) if value}
    if option:
        wrong = "{!r} is no setting; write key=value, such as epochs=4"
        pairs = read_pairs(option, wrong)
        given["ppo"] = {key: read_value(value) for key, value in pairs.items()}
    folder = out or default_folder(name, director_name(given.get("director"), load(name)), seed)
    if config:
        given["config"] = read_settings(world_of(load(name), world), config)
    settings = settings_of_run(name, given, folder, resume)
    training = CurriculumTraining(settings, folder, resume)
    budget, drawn = training.settings.steps, training.controller.director.per_slot
    bar = StepBar("compiling", budget, training.trainer.steps)
    with closing(training), bar:  # whole updates may be more steps than were asked for
        training.train(
            lambda look: bar.show(look.steps, max(look.steps, budget), status_words(look, drawn))
        )
    show_run(training, folder)
    if training.interrupted:
        say(f"Go on with: {command_to_resume(name, folder, module)}")
        raise typer.Exit(130)


def command_to_resume(name: str, folder: Path, modules: list[str] | None) -> str:
    """Return the command that goes on with a run, as a shell reads it."""
    imports = [word for module in modules or () for word in ("-m", module)]
    words = ["piase", "curriculum", "run", name, "--out", str(folder), "--resume", *imports]
    return shlex.join(words)


def settings_of_run(
    name: str, given: dict[str, Any], folder: Path, resume: bool
) -> CurriculumTrainingSettings:
    """Return the settings of a run; a resumed run keeps those that are not given.

    Raises:
        ConfigError: If the run in the folder is of another curriculum.
    """
    from piase_gym.curricula import load
    from piase_gym.training.curriculum_run import CurriculumTrainingSettings, read_settings_of

    if not resume:
        return CurriculumTrainingSettings(curriculum=name, **given)
    kept = read_settings_of(folder)
    settings = CurriculumTrainingSettings(**{**vars(kept), **given, "curriculum": kept.curriculum})
    if load(name).sha256 != load(kept.curriculum).sha256:
        raise ConfigError(f"the run in {folder} is one through {kept.curriculum!r}")
    return settings


def default_folder(name: str, director: str, seed: int | None) -> Path:
    """Return the folder of a run for which none is given."""
    stem = Path(name).name.split(".")[0]
    return Path("runs", "curriculum", f"{stem}-{director}-{seed or 0}")


def read_director(given: str | None) -> Any:
    """Return the name of a director, or its description in a file.

    Raises:
        ScenarioError: If the file cannot be read.
        ConfigError: If there is nothing in it.
    """
    from piase_gym.core.files import SCENARIO_SUFFIXES
    from piase_gym.scenarios.reading import read_file

    if given is None or Path(given).suffix.lower() not in SCENARIO_SUFFIXES:
        return given
    data = read_file(Path(given)).data
    if data is None:
        raise ConfigError(f"{given}: there is no director in this file; give its name and options")
    return data


@curriculum.command()
def explain(source: Source) -> None:
    """Say why each decision fell: the rule, the values that it read, what it did."""
    from piase_gym.curricula import learning_path

    for number, path in enumerate(learning_path.read_paths(source)):
        if number:
            console.print()
        for line in learning_path.explain(path):
            say(line)


@curriculum.command()
def plot(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|PROGRESS...",
            help="The folder of a run, a log, or a file of progress; or several of them.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .png, .svg or .pdf file.")
    ] = Path("path.png"),
    overwrite: Overwrite = False,
) -> None:
    """Draw the path: steps over environment steps, attempts, hints, branches, success.

    Of several runs: when they have completed each step, with a mean and an interval over the runs
    of one curriculum by one director.
    """
    from piase_gym.curricula.learning_path import read_paths
    from piase_gym.training.curriculum_comparison import plot_comparison
    from piase_gym.training.curriculum_plot import plot_paths

    places = [source.resolve() for source in sources]
    for n, place in enumerate(places):
        if place in places[:n] or place.parent in places:  # a file in the folder of a run
            raise ConfigError(f"{sources[n]} is given twice; it would count as two runs")
    if out.is_file() and not overwrite:
        raise ConfigError(f"{out} exists; give another name, or --overwrite")
    paths = [path for source in sources for path in read_paths(source)]
    drawn = plot_paths(paths, out) if len(sources) == 1 else plot_comparison(paths, out)
    errors.print(f"wrote {drawn}", markup=False, soft_wrap=True)


@curriculum.command()
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
    from piase_gym.curricula import simulated_learner as learner
    from piase_gym.curricula.learning_path import describe_outcome
    from piase_gym.curricula.learning_path import explain as explained

    curriculum = load(name)
    fields = read_settings(learner.world_of(curriculum, world), config) if config else {}
    found = learner.simulate(
        curriculum,
        skill,
        world=world,
        config=fields,
        learning=learning,
        seed=seed,
        director=read_director(director),
        most=episodes,
    )
    path = found.path
    for line in explained(path) if verbose else path_lines(path):
        say(line)
    console.print(table_of(path, [step.order for step in curriculum.steps]))
    outcome = "is not over" if path.outcome == "running" else describe_outcome(path.outcome)
    count = f"{found.episodes:,} episode{'' if found.episodes == 1 else 's'}"
    say(
        f"The curriculum {outcome} after {count} and {found.steps:,} steps; the skill is "
        f"{found.skill:.2f}."
    )


def path_lines(path: LearningPath) -> Iterator[str]:
    """Yield a line for each decision, or for several equal ones in a row."""
    from piase_gym.curricula.learning_path import short_name

    rated = [(move.decision, rate) for move, rate in zip(path.moves, path.rates, strict=True)]
    for _, group in itertools.groupby(rated, key=lambda made: (made[0].step, made[0].decision)):
        stay = list(group)
        first, last = stay[0][0], stay[-1][0]
        attempts = f"attempt {first.attempt}"
        if len(stay) > 1:
            attempts = f"attempts {first.attempt} to {last.attempt}"
        words, shares = "", [rate for _, rate in stay if rate is not None]
        if shares:
            low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
            span = low if min(shares) == max(shares) else f"{low} to {high}"
            words = f", {span} {short_name(path.judged_by)}"
        yield f"step {first.step} '{first.name}', {attempts}{words}: {last.decision}"


# -- what is shown of a training ------------------------------------------------------------


def status_words(look: TrainingStatus, drawn: bool) -> str:
    """Say which attempt is under way, and how the last one went, in the terms of the table.

    Where steps are drawn, say how many episodes were won.
    """
    from piase_gym.curricula.learning_path import judged_by, short_name

    if drawn:
        return f"steps are drawn, {look.won:.0%} of the last {look.episodes:,} episodes won"
    where = f"step {look.order} '{look.name}', attempt {look.attempt}"
    last = look.decided
    if look.outcome == "running":
        where += f": {look.ended} of {look.wanted} episodes"
    if last is None:
        return where
    metric = judged_by([last])
    if not isinstance(value := last.values.get(metric), int | float):
        return f"{where}, {look.won:.0%} of the last {look.episodes:,} won"
    before = "" if look.outcome != "running" else f"attempt {last.attempt} "
    if last.step != look.order:
        before = f"step {last.step} {before}"
    return f"{where}, {before}{value:.0%} {short_name(metric)}"


def show_run(training: CurriculumTraining, folder: Path) -> None:
    """Print the result of a run, and draw its path."""
    from piase_gym.curricula.learning_path import describe_open, describe_outcome, read_paths

    paths = read_paths(folder)
    for path in paths:
        console.print(table_of(path, [step.order for step in training.curriculum.steps]))
        for line in describe_open(path):
            say(line)
    outcome = describe_outcome(training.controller.progress[training.agent].outcome)
    if training.controller.director.per_slot:
        outcome = "has no end: its steps were drawn"
    spent = f"{training.trainer.steps:,} environment steps"
    if training.trainer.steps > training.settings.steps:
        spent += f" (a budget of {training.settings.steps:,}, rounded up to whole updates)"
    say(f"The curriculum {outcome}, after {spent}.")
    say(f"Everything is in {folder}")
    try:
        from piase_gym.training.curriculum_plot import plot_paths

        plot_paths(paths, folder / "path.png")
    except MissingExtraError as error:
        errors.print(f"no picture: {error}", markup=False, soft_wrap=True)
    except ConfigError:
        return  # no attempt is over yet, so there is nothing to draw
    else:
        say(f"The path is drawn in {folder / 'path.png'}")


def table_of(path: LearningPath, orders: list[int] | None = None) -> Table:
    """Return the table of a path's steps."""
    from piase_gym.curricula.learning_path import headings, table_rows

    columns = headings(path)
    numbers = set(columns) - {"name", "done"}
    title = f"{path.curriculum}: {path.agent}"
    return make_table(columns, table_rows(path, orders or ()), title, numbers)
