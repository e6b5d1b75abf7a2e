"""``piase collect``: episodes as sharded files with a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from piase_gym.cli.console import StepBar, console, print_error, say
from piase_gym.cli.options import Modules, Ray, Settings, complete_from, search_working_directory
from piase_gym.play.settings import read_pairs, read_settings


def collect(
    task: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="An id.",
            autocompletion=complete_from("piase_gym:list_tasks"),
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the files go.")],
    policy: Annotated[str, typer.Option("--policy", "-p", help="Who plays.")] = "random",
    other: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="AGENT=POLICY", help="Who plays an agent instead."),
    ] = None,
    config: Settings = None,
    steps: Annotated[
        int, typer.Option(metavar="N", min=1, help="Steps of environments, in all shards.")
    ] = 100_000,
    num_envs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Environments in a shard.")
    ] = 64,
    shards: Annotated[int, typer.Option(metavar="N", min=1, help="How many files.")] = 1,
    keep: Annotated[str, typer.Option(metavar="actions|observations|text")] = "observations",
    format: Annotated[str, typer.Option(metavar="parquet|minari")] = "parquet",
    seed: Annotated[int, typer.Option(metavar="N", help="Of the first environment.")] = 0,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Processes.")] = 1,
    ray: Ray = None,
    module: Modules = None,
) -> None:
    """Write episodes of any policies as files for analysis; the same command goes on."""
    from piase_gym.collection import collect

    search_working_directory()  # for policies such as my_module:policy
    wrong = "{!r} is no player; write agent=policy, as in agent_1=oracle"
    with StepBar("shards", shards, unit="shards") as bar:

        def progress(outcome: Any, done: int, whole: int) -> None:
            if outcome.error is not None:
                print_error(outcome.error)
            bar.show(shards - whole + done, shards, outcome.name)

        manifest = collect(
            task,
            out,
            policy=policy,
            others=read_pairs(other, wrong),
            config=read_settings(task, config) if config else {},
            steps=steps,
            num_envs=num_envs,
            shards=shards,
            keep=keep,
            format=format,
            seed=seed,
            workers=workers,
            ray=ray,
            modules=tuple(module or ()),
            progress=progress,
        )
    sizes = [file["bytes"] for shard in manifest["shards"] for file in shard["files"].values()]
    console.print(f"{manifest['steps']:,} steps, {sum(sizes) / 1e6:,.1f} MB in {len(sizes)} files")
    say(f"wrote {out / 'manifest.json'}")
