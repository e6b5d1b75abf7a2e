"""``piase check``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

import piase_gym
from piase_gym.cli.console import console, say, waiting
from piase_gym.cli.options import Modules, Settings, complete_worlds
from piase_gym.errors import ConfigError
from piase_gym.names import look_up
from piase_gym.play.settings import read_settings
from piase_gym.worlds.texts.wording import counted

if TYPE_CHECKING:
    from piase_gym.testing import Finding, Report

STYLES = {"passed": "green", "failed": "bold red", "skipped": "yellow", "not claimed": "dim"}
INDENT = 4


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORLD|ID|SCENARIO...",
            help="Worlds, ids or scenarios.",
            autocompletion=complete_worlds,
        ),
    ] = None,
    ids: Annotated[
        bool,
        typer.Option("--ids", help="Check every id of these worlds (or of all), and sum up."),
    ] = False,
    config: Settings = None,
    module: Modules = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", help="Run this check; may be repeated.")
    ] = None,
) -> None:
    """Hold worlds to the contract and say in words what was proved."""
    from piase_gym.testing import WORLD_CHECKS
    from piase_gym.testing.kit import choose_checks

    chosen = ids_of(names) if ids else names or []
    if not chosen:
        raise ConfigError("name a world or an id, or give --ids for every id there is")
    fields = {name: read_settings(name, config) for name in chosen}
    checks = [item.name for item in choose_checks(WORLD_CHECKS, only)]
    reports = {}
    for name in chosen:
        named = look_up(name)
        missing = (named.task or named.spec).missing
        if ids and missing:
            say(f"{name}  skipped: {missing}", STYLES["skipped"])
            continue
        if not ids:
            console.print(Text(f"{name}: {counted(len(checks), 'check')}", "bold cyan"))
        report = run(name, checks, fields[name], tuple(module or ()), aloud=not ids)
        reports[name] = report
        if ids:
            print_line(name, report)
        else:
            console.print(counts_of(report))
    if ids:
        print_sum(reports.values(), len(chosen) - len(reports))
    if not all(report.ok for report in reports.values()):
        raise typer.Exit(1)


def run(
    name: str, checks: list[str], fields: dict[str, Any], modules: tuple[str, ...], aloud: bool
) -> Report:
    """Run checks of a world; a terminal shows progress, and `aloud` prints each finding."""
    from piase_gym.testing import run_checks

    rows = enumerate((*checks, ""))
    words = (f"{name}: {done} of {len(checks)} checks done; {now}" for done, now in rows)
    with waiting(next(words)) as status:

        def progress(finding: Finding) -> None:
            if aloud:
                print_check(finding, finding.verdict, STYLES[finding.status])
            status.update(Text(next(words)))

        return run_checks(name, checks=checks, modules=modules, progress=progress, **fields)


def ids_of(names: Sequence[str] | None) -> list[str]:
    """Return the ids of worlds; an id is returned as it is."""
    worlds = names or piase_gym.list_worlds()
    found: list[str] = []
    for name in worlds:
        named = look_up(name)
        bare = named.task is None and named.scenario is None
        found += piase_gym.list_tasks(named.spec.name) if bare else [name]
    return list(dict.fromkeys(found))


def print_check(finding: Finding, verdict: str, style: str, more: str = "") -> None:
    """Print what a check found, with its sentence below its name."""
    console.print(Text.assemble((finding.check, "bold"), "  ", (verdict, style), more))
    console.print(Padding(Text(finding.sentence, "dim"), (0, 0, 0, INDENT), expand=False))


def print_line(name: str, report: Report) -> None:
    """Print the counts of one id, and what failed."""
    seconds = Text(f"  {report.seconds:.0f} s", "dim")
    console.print(Text.assemble((name, "bold cyan"), "  ", counts_of(report), seconds))
    for finding in report.failures:
        console.print(Text(f"  {finding.check}: {finding.detail}", STYLES["failed"]))


def counts_of(report: Report) -> Text:
    """Return how many checks passed, failed, were skipped or not claimed."""
    counts: Counter[str] = Counter(finding.status for finding in report.findings)
    words = [(f"{counts[status]} {status}", STYLES[status]) for status in STYLES if counts[status]]
    return Text(", ").join(Text(*pair) for pair in words)


def print_sum(reports: Iterable[Report], skipped: int) -> None:
    """Print what each check proved, for how many ids, and why it was not run for others."""
    every = list(reports)
    for rows in zip(*(report.findings for report in every), strict=True):
        passed = [row for row in rows if row.status == "passed"]
        others = Counter(row.verdict for row in rows if row.status not in ("passed", "failed"))
        failed = len(rows) - len(passed) - others.total()
        why = [f"{count} {verdict}" for verdict, count in others.most_common(2)]
        if failed:
            why.insert(0, f"{failed} failed")
        style = STYLES["failed" if failed else "passed" if passed else "skipped"]
        text = f"; {'; '.join(why)}" if why else ""
        print_check(rows[0], f"{len(passed)} of {len(rows)} ids", style, text)
    wrong = sum(not report.ok for report in every)
    text = f"; {skipped} skipped" if skipped else ""
    console.print(f"{len(every) - wrong} of {len(every)} ids keep the contract{text}")
