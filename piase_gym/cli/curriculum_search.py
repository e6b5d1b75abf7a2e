"""``piase curriculum search``: which curriculum, by which director, teaches a task best."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from piase_gym.cli.console import StepBar, console, make_table, print_error, say
from piase_gym.cli.curriculum import World, complete_curricula, complete_directors, read_director
from piase_gym.cli.options import Modules, Ray, Settings
from piase_gym.cli.train import choose, read_seeds
from piase_gym.play.settings import read_settings


def search(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="CURRICULUM...",
            help="Names or files; all of them end in the same step.",
            autocompletion=complete_curricula,
        ),
    ],
    director: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="What says which step comes next, as for run; repeat for several. "
            "Default: that of each curriculum.",
            autocompletion=complete_directors,
        ),
    ] = None,
    seeds: Annotated[
        str,
        typer.Option(metavar="0-4", help="Train each candidate once for each of these seeds."),
    ] = "0-4",
    steps: Annotated[
        int, typer.Option(metavar="N", help="Environment steps of each training.")
    ] = 1_000_000,
    tests: Annotated[
        int, typer.Option(metavar="N", help="Levels of the last step that each is tested on.")
    ] = 200,
    world: World = None,
    config: Settings = None,
    num_envs: Annotated[int, typer.Option(metavar="N", help="Environments side by side.")] = 64,
    num_steps: Annotated[
        int, typer.Option(metavar="N", help="Steps in each between two updates.")
    ] = 64,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where results are kept, to go on there.")
    ] = Path("runs", "search"),
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Trainings side by side, in processes.")
    ] = 1,
    ray: Ray = None,
    module: Modules = None,
) -> None:
    """Train through several curricula by several directors, and rank them.

    Each training uses up its budget and is tested on levels of the last step that it never met;
    the same command goes on where it was stopped.
    """
    from piase_gym.benchmarks.evaluation.tables import interval
    from piase_gym.curricula import load
    from piase_gym.curricula.simulated_learner import world_of
    from piase_gym.training.curriculum_search import TRAININGS, SearchJob
    from piase_gym.training.curriculum_search import search as find
    from piase_gym.training.curriculum_settings import CurriculumTrainingSettings

    given: dict[str, Any] = {"steps": steps, "num_envs": num_envs, "num_steps": num_steps}
    given |= {"world": world, "whole": True}
    if config:
        given["config"] = read_settings(world_of(load(names[0]), world), config)
    leaders = [read_director(one) for one in director] if director else [None]
    jobs = [
        SearchJob(
            CurriculumTrainingSettings(curriculum=name, director=leads, seed=seed, **given), tests
        )
        for seed, name, leads in product(read_seeds(seeds), names, leaders)
    ]

    def progress(outcome: Any, done: int, whole: int) -> None:
        if outcome.error is not None:
            print_error(outcome.error)
        bar.show(done, whole, outcome.name)

    with StepBar("training", len(jobs), unit="trainings") as bar:
        rows = find(jobs, out, choose(workers, ray, module), progress=progress)
    console.print(
        make_table(
            ("candidate", "last step won, %", "trainings", "finished"),
            (
                (row.candidate, interval(row.success, 1, 100.0), str(row.runs), str(row.finished))
                for row in rows
            ),
            right=("trainings", "finished"),
        )
    )
    say(f"Each training is a line of {out / TRAININGS}.")
