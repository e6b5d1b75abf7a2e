"""``piase replay``, ``fork``, ``export``, ``stats``, ``plot``, ``render``: what to do with runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from piase_gym.cli.console import console, make_table, say, waiting
from piase_gym.cli.options import KeyEnv, Modules, Overwrite
from piase_gym.errors import ConfigError
from piase_gym.play.settings import read_pairs

RunFile = Annotated[
    Path, typer.Argument(metavar="RUN", help="A log: .jsonl, .jsonl.gz or .jsonl.zst.")
]


def replay(run: RunFile, module: Modules = None) -> None:
    """Execute a run again and say whether it is equal, or where it first differs."""
    from piase_gym import runs

    with waiting(f"replaying {run}"):
        report = runs.replay(run)
    colour = "green" if report.sound else "yellow" if report.ok else "bold red"
    console.print(f"[{colour}]{report.verdict}[/]:", end=" ")
    say(report)
    if not report.ok:
        raise typer.Exit(1)


def validate(run: RunFile, module: Modules = None) -> None:
    """Check that a log is whole and sound."""
    from piase_gym import runs

    report = runs.validate(run)
    say(report)
    if not report.ok:
        raise typer.Exit(1)


def fork(
    run: RunFile,
    at: Annotated[int, typer.Option("--at", metavar="STEP", help="Cut after this step.")],
    action: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT=ACTION", help="What an agent does first instead."),
    ] = None,
    message: Annotated[
        list[str] | None, typer.Option(metavar="AGENT=TEXT", help="What an agent says to all.")
    ] = None,
    hint: Annotated[
        list[str] | None, typer.Option(metavar="AGENT=TEXT", help="What an agent is told.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT=POLICY", help="Who plays from there on, with the change."),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT=POLICY", help="Who plays from there on, in any case."),
    ] = None,
    pairs: Annotated[int, typer.Option(metavar="K", min=1, help="Pairs of branches.")] = 1,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="STREAM", help="Drawn anew in each pair: dynamics, partner_agent_1."),
    ] = None,
    metric: Annotated[str, typer.Option(help="return, won or length.")] = "return",
    agent: Annotated[str | None, typer.Option(help="Whom to measure.")] = None,
    slot: Annotated[int, typer.Option(help="Which environment of a batch.")] = 0,
    logs: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to log the branches.")
    ] = None,
    key_env: KeyEnv = None,
    module: Modules = None,
) -> None:
    """Cut a run, change something, and show what it makes of the rest."""
    from piase_gym import runs

    actions = {  # a number is an index, everything else a line of text
        name: int(text) if text.isdecimal() else text
        for name, text in _pairs("action", action).items()
    }
    report = runs.fork(
        run,
        at,
        actions=actions,
        messages=_pairs("message", message),
        hints=_pairs("hint", hint),
        policies=_pairs("policy", policy),
        players=_pairs("player", player),
        pairs=pairs,
        vary=vary or (),
        metric=metric,
        agent=agent,
        slot=slot,
        logs=logs,
    )
    rows = []
    for number, before in enumerate(report.before):
        after, parted = report.after[number], report.parted[number]
        where = "never" if parted is None else f"step +{parted}"
        shown = (f"{before:.3f}", f"{after:.3f}", f"{after - before:+.3f}")
        rows.append((str(number), *shown, where))
    columns = ("pair", "without", "with", "difference", "first differs")
    console.print(make_table(columns, rows, f"{run}"))
    say(report)


def _pairs(what: str, given: list[str] | None) -> dict[str, str]:
    """Read options of the form AGENT=VALUE."""
    wrong = f"--{what} takes AGENT=VALUE, such as agent_0=..., not {{!r}}"
    return read_pairs(given, wrong)


def export(
    run: RunFile,
    out: Annotated[str, typer.Argument(metavar="OUT", help="The file, or a dataset's name.")],
    format: Annotated[  # the option's name
        str | None,
        typer.Option(
            help="csv, parquet, hdf5, sqlite, jsonl, chat, minari, or preferences (of a folder "
            "that fork --logs wrote); else by OUT."
        ),
    ] = None,
    dialect: Annotated[str, typer.Option(help="native, or legacy for older readers.")] = "native",
    timestamps: Annotated[str, typer.Option(help="iso, or epoch (seconds as floats).")] = "iso",
    expand: Annotated[
        bool, typer.Option("--expand", help="Add the lines of single agents to each step.")
    ] = False,
    level: Annotated[
        str | None, typer.Option(help="Of columns: the level of the lines they expand to.")
    ] = None,
    overwrite: Overwrite = False,
    module: Modules = None,
) -> None:
    """Write a run in another format."""
    from piase_gym import runs
    from piase_gym.runs.log_file import has_columns

    if format == "preferences":
        if (dialect, timestamps, expand, level) != ("native", "iso", False, None):
            raise ConfigError(
                "--dialect, --timestamps, --expand and --level are about lines; preferences "
                "have none"
            )
        written = runs.preferences(run, out, overwrite=overwrite)
        say(f"saved {written}")
        if not written.stat().st_size:
            why = "returns are the same, or they part elsewhere than in an answer of the agent"
            say(f"no branches make a pair: {why}", "yellow")
        return
    log = runs.read(run, level=level)
    found = runs.export(
        log,
        out,
        format=format,
        dialect=dialect,
        timestamps=timestamps,
        expand=expand,
        overwrite=overwrite,
    )
    shown = ", ".join(found) if isinstance(found, list) else str(found)
    say(f"saved {shown}")
    if not has_columns(run) and log.problems:  # columns would be played again for it
        print_unread(len(log.problems), log.problems[0])


def print_unread(count: int, first: object) -> None:
    """Say how many lines were left out, and why the first was."""
    lines = f"{count:,} line{'' if count == 1 else 's'}"
    say(f"{lines} could not be read, the first: {first}", "red")


def stats(run: RunFile, module: Modules = None) -> None:
    """Count the events of a log and how episodes ended."""
    from piase_gym import runs

    with waiting(f"reading {run}"):
        found = runs.stats(run)
    kinds = [(name, f"{count:,}") for name, count in found.event_types.most_common()]
    title = f"{run}: {found.lines:,} lines"
    console.print(make_table(("event type", "lines"), kinds, title, ("lines",)))
    columns = ("agent", "episodes", "achieved", "failed", "abandoned", "mean return", "mean length")
    goals = []
    for agent, goal in sorted(found.goals.items()):
        states = [f"{goal.states[state]:,}" for state in ("ACHIEVED", "FAILED", "ABANDONED")]
        mean, length = goal.mean_return, goal.mean_length
        means = ("-" if mean is None else f"{mean:.3f}", "-" if length is None else f"{length:.1f}")
        goals.append((agent, f"{goal.episodes:,}", *states, *means))
    if goals:
        console.print(make_table(columns, goals))
    if found.unread:
        print_unread(found.unread, found.problem)


def plot(
    run: RunFile,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The picture.")] = Path(
        "run.png"
    ),
    overwrite: Overwrite = False,
    module: Modules = None,
) -> None:
    """Draw returns, lengths and success over the episodes of a run."""
    from piase_gym import runs

    say(f"saved {runs.plot(run, out, overwrite=overwrite)}")


def render(
    run: RunFile,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .gif, .mp4 or .png.")
    ] = Path("run.gif"),
    fps: Annotated[int, typer.Option(min=1, max=100, help="Pictures a second.")] = 4,
    slot: Annotated[int, typer.Option(help="Which environment of a batch.")] = 0,
    start: Annotated[int, typer.Option("--from", metavar="STEP", help="The first step.")] = 0,
    stop: Annotated[int | None, typer.Option("--to", metavar="STEP", help="The last step.")] = None,
    overwrite: Overwrite = False,
    module: Modules = None,
) -> None:
    """Make an animation of a run from its log alone."""
    from piase_gym import runs

    with waiting(f"drawing {run}"):
        place = runs.render(
            run, out, fps=fps, slot=slot, start=start, stop=stop, overwrite=overwrite
        )
    say(f"saved {place}")


COMMANDS = (replay, validate, fork, export, stats, plot, render)
