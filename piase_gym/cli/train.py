"""``piase train``: learn a policy, watch it learn, go on after an interruption."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from piase_gym.cli.console import StepBar, console, errors, say
from piase_gym.cli.options import (
    Modules,
    Settings,
    WorldName,
    import_modules,
    read_settings,
    read_value,
    split_pair,
)
from piase_gym.errors import ConfigError, suggest

if TYPE_CHECKING:
    from piase_gym.training.settings import Progress, TrainResult, TrainSettings


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command()(train)


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
    module: Modules = None,
) -> None:
    """Train a policy; Ctrl-C ends after a checkpoint, --resume goes on."""
    # torch is loaded when everything that was asked for is known to be right
    from piase_gym.training.checkpoints import Folder
    from piase_gym.training.settings import TrainSettings, check_run_folder, read_settings_of

    import_modules(module)
    given: dict[str, Any] = {"algo": algo, "steps": steps, "seed": seed, "stop_at": stop_at}
    given = {key: value for key, value in given.items() if value is not None}
    given |= read_options(option, TrainSettings, given)
    if config:
        given["config"] = read_settings(task, config)
    if partner:
        wrong = "{!r} is no partner; write agent=policy, as in agent_1=oracle"
        given["partners"] = dict(split_pair(text, wrong) for text in partner)
    folder = out or default_folder(task, given)
    base = read_settings_of(folder).model_dump() if resume else {}
    settings = TrainSettings(**{**base, "task": task, **given})
    check_run_folder(Folder(folder), settings, resume)
    with errors.status("loading torch"):
        from piase_gym.training.train import train
    with StepBar("first look", settings.steps) as bar:
        report = report_to(bar, settings.steps)
        result = train(settings, folder, resume=resume, report=report)
    show(result, folder)


def default_folder(task: str, given: dict[str, Any]) -> Path:
    """Return where a run goes that is told no folder."""
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
        if key not in model.model_fields:
            raise ConfigError(f"unknown setting {key!r}; {suggest(key, model.model_fields)}")
        if key in taken or key in found or key in ("task", "config", "partners"):
            raise ConfigError(f"the setting {key!r} is given twice, or has an option of its own")
        found[key] = read_value(value, model.model_fields[key])
    return found


def report_to(bar: StepBar, asked: int) -> Callable[[Progress], None]:
    """Return what shows where a run is; `asked` are the steps that were asked for."""
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
    """Print what came of a run."""
    low, high = result.wilson95
    table = Table(title=f"{result.reason} after {result.steps:,} steps", show_header=False)
    table.add_row("won on the dev seeds", f"{result.dev:.1%} ({low:.1%} to {high:.1%})")
    table.add_row("found after", f"{result.best_steps:,} steps")
    table.add_row("CPU-seconds", f"{result.cpu_seconds:,.0f}")
    table.add_row("policy", result.name)
    console.print(table)
    if result.reason == "interrupted":
        console.print(f"Go on with: piase train ... --out {folder} --resume", soft_wrap=True)
        raise typer.Exit(130)
