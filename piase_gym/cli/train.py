"""``piase train``: learn a policy, watch it learn, go on after an interruption."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from piase_gym.cli.console import StepBar, console, errors, print_error, say
from piase_gym.cli.options import Modules, Ray, Settings, WorldName
from piase_gym.errors import ConfigError, JobError, require_known
from piase_gym.play.settings import read_pairs, read_settings, read_value, split_pair

if TYPE_CHECKING:
    from piase_gym.jobs import Backend
    from piase_gym.training.settings import Progress, TrainResult, TrainSettings


def train(
    task: WorldName,
    algo: Annotated[
        str | None, typer.Option(help="ppo, maskable_ppo, ippo or batch_ppo. Default: ppo.")
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="N", help="Agent steps.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of everything.")] = None,
    config: Settings = None,
    partner: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT=POLICY", help="Who plays a seat that does not learn."),
    ] = None,
    stop_at: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Success on dev seeds to stop at.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Another setting, such as learning_rate=3e-4."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Default: runs/train/TASK-ALGO-SEED.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the folder.")
    ] = False,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds", metavar="0-4", help="Train once for each of these seeds, such as 0-4 or 1,7."
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Seeds side by side, in processes.")
    ] = 1,
    ray: Ray = None,
    module: Modules = None,
) -> None:
    """Train a policy; Ctrl-C ends after a checkpoint, --resume goes on."""
    from piase_gym.training.settings import TrainSettings

    given: dict[str, Any] = {"algo": algo, "steps": steps, "seed": seed, "stop_at": stop_at}
    given = {key: value for key, value in given.items() if value is not None}
    given |= read_options(option, TrainSettings, given)
    if config:
        given["config"] = read_settings(task, config)
    if partner:
        wrong = "{!r} is no partner; write agent=policy, as in agent_1=oracle"
        given["partners"] = read_pairs(partner, wrong)
    if seeds is not None:
        if seed is not None:
            raise ConfigError("--seed and --seeds are given; one of them is enough")
        train_side_by_side(
            task, given, read_seeds(seeds), out, resume, choose(workers, ray, module)
        )
        return
    if workers > 1 or ray is not None:
        raise ConfigError(
            "--workers and --ray do several seeds side by side; name them: --seeds 0-4"
        )
    train_one(task, given, out or default_folder(task, given), resume)


def choose(workers: int, ray: str | None, modules: Sequence[str] | None) -> Backend:
    """Return the backend that runs jobs."""
    from piase_gym.jobs import choose_backend

    return choose_backend(workers, ray, modules=tuple(modules or ()))


MOST_SEEDS = 10_000
"""Most seeds of one ``--seeds``; each is a training."""


def read_seeds(text: str) -> list[int]:
    """Read seeds such as ``0-4`` or ``1,7,20-22``.

    Raises:
        ConfigError: If they are not seeds, one is named twice, or they are more than `MOST_SEEDS`.
    """
    found: list[int] = []
    for part in text.split(","):
        read = re.fullmatch(r"(\d{1,20})(?:-(\d{1,20}))?", part.strip())
        if read is None:
            raise ConfigError(f"--seeds takes seeds such as 0-4 or 1,7, not {text!r:.200}")
        first, last = int(read[1]), int(read[2] or read[1])
        if len(found) + last - first >= MOST_SEEDS:
            raise ConfigError(f"--seeds takes at most {MOST_SEEDS:,} seeds, not {text!r:.200}")
        found += range(first, last + 1)
    if not found or len(set(found)) != len(found):
        raise ConfigError(f"--seeds {text!r} names {'a seed twice' if found else 'no seed'}")
    return found


def train_one(task: str, given: dict[str, Any], folder: Path, resume: bool) -> None:
    """Train once, show progress, and print the result."""
    # torch is loaded only after all that was asked for has been checked
    from piase_gym.training.checkpoints import Folder
    from piase_gym.training.settings import TrainSettings, check_run_folder, read_settings_of

    base = read_settings_of(folder).model_dump() if resume else {}
    settings = TrainSettings(**{**base, "task": task, **given})
    check_run_folder(Folder(folder), settings, resume)
    with errors.status("loading torch"):
        from piase_gym.training.train import train
    with StepBar("first look", settings.steps) as bar:
        report = report_to(bar, settings.steps)
        result = train(settings, folder, resume=resume, report=report)
    show(result, folder)


def train_side_by_side(
    task: str,
    given: dict[str, Any],
    seeds: Sequence[int],
    out: Path | None,
    resume: bool,
    backend: Backend,
) -> None:
    """Train once for every seed, and print each result as it is finished.

    Raises:
        JobError: At the end, if trainings failed.
    """
    from piase_gym.training.seeds import train_seeds
    from piase_gym.training.settings import TrainSettings

    runs = {}
    for seed in seeds:
        own = {**given, "seed": seed}
        usual = default_folder(task, own)
        folder = usual if out is None else out / usual.name
        runs[seed] = TrainSettings(**{"task": task, **own}), folder
    failed: list[JobError] = []

    def report(seed: int, result: TrainResult | JobError) -> None:
        if isinstance(result, JobError):
            failed.append(result)
            print_error(result)
        else:
            say(f"seed {seed}: {result.reason}, {result.dev:.1%} won; {result.policy}")
        bar.advance(bar.task_ids[0])

    with StepBar("seeds", len(runs), unit="seeds") as bar:
        train_seeds(runs, backend, resume=resume, report=report)
    if failed:
        raise failed[0]


def default_folder(task: str, given: dict[str, Any]) -> Path:
    """Return the folder of a run for which none is given."""
    name = task.rsplit(":", 1)[-1].replace("/", "-")
    return Path("runs", "train", f"{name}-{given.get('algo', 'ppo')}-{given.get('seed', 0)}")


def read_options(
    options: list[str] | None, model: type[TrainSettings], taken: dict[str, Any]
) -> dict[str, Any]:
    """Read ``key=value`` into fields of the training's settings.

    Raises:
        ConfigError: If a key is unknown, has its own option, or has no value.
    """
    found: dict[str, Any] = {}
    for text in options or ():
        key, value = split_pair(text, "{!r} is no setting; write key=value, such as epochs=4")
        require_known("setting", key, model.model_fields)
        if key in taken or key in found or key in ("task", "config", "partners"):
            raise ConfigError(f"the setting {key!r} is given twice, or has an option of its own")
        found[key] = read_value(value, model.model_fields[key])
    return found


def report_to(bar: StepBar, asked: int) -> Callable[[Progress], None]:
    """Return a function that shows progress; `asked` is the number of steps asked for."""
    total = asked

    def report(progress: Progress) -> None:
        nonlocal total
        if progress.total != total:
            total = progress.total
            say(f"{asked:,} steps are rounded up to {total:,}: to whole updates")
        train = "" if progress.train is None else f"training {progress.train:.0%}, "
        words = f"{train}dev seeds {progress.dev:.0%}, best {progress.best:.0%}"
        bar.show(progress.steps, total, words)

    return report


def show(result: TrainResult, folder: Path) -> None:
    """Print the result of a run."""
    low, high = result.wilson95
    table = Table(title=f"{result.reason} after {result.steps:,} steps", show_header=False)
    table.add_row("won on the dev seeds", f"{result.dev:.1%} ({low:.1%} to {high:.1%})")
    table.add_row("found after", f"{result.best_steps:,} steps")
    table.add_row("CPU-seconds", f"{result.cpu_seconds:,.0f}")
    console.print(table)
    say(f"The policy is {result.name}")
    if result.reason == "interrupted":
        say(f"Go on with: piase train ... --out {folder} --resume")
        raise typer.Exit(130)
