"""Measures everything that docs/speed.md tells, prints it, and stores it: ``make speed``.

The file is ``benchmarks/measured/speed.json``; ``docs/make_pages.py`` writes its tables into the
page, and a test compares the two. Run it on a machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from piase_gym.benchmarks.evaluation import tables
from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.speed import text_room, throughput
from piase_gym.benchmarks.speed.timing import ROUNDS, SECONDS
from piase_gym.core.files import write_json
from piase_gym.errors import MissingExtraError

FILE = Path(__file__).parents[1] / "measured" / "speed.json"
QUESTS = 1000
"""Quests that the oracle of TextRoom plays."""


def measure_all(
    rounds: int = ROUNDS,
    seconds: float = SECONDS,
    quests: int = QUESTS,
    cycles: int = 200,
    console: Console | None = None,
) -> dict[str, Any]:
    """Measure everything.

    Args:
        rounds: How often each row is measured; medians are kept.
        seconds: CPU-seconds of each measurement.
        quests: Quests of TextRoom that its oracle plays.
        cycles: Times that PhysicsPlayground is made and closed.
        console: Where tables are printed as they come.

    Returns:
        JSON-able: ``machine``, ``versions``, ``load`` (what the machine did besides, at the start
        and at the end: processes that wanted to run in the last minute), ``grid_world`` and
        ``text_room``, and ``physics`` where PyBullet is installed.
    """
    screen = console or Console(quiet=True)
    found: dict[str, Any] = {
        "machine": machine(),
        "versions": versions(),
        "load": [os.getloadavg()[0]],
    }
    found["grid_world"] = throughput.measure_all(
        rounds, seconds, lambda table: throughput.show(table, screen)
    )
    throughput.tell_missing(found["grid_world"], screen)
    found["text_room"] = text_room.measure_all(text_room.textworld_python(), quests, rounds)
    print_words("TextRoom", *text_room.words_of(found["text_room"]), screen)
    try:
        from piase_gym.benchmarks.speed import physics

        found["physics"] = physics.measure_all(2 * rounds, cycles)
        print_words("PhysicsPlayground", *physics.words_of(found["physics"]), screen)
    except (ImportError, MissingExtraError) as error:
        screen.print(f"PhysicsPlayground was not measured: {error}")
    found["load"].append(os.getloadavg()[0])
    return found


def machine() -> str:
    """Say what is measured on."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def print_words(
    title: str, lines: Sequence[Sequence[str]], told: Sequence[str], console: Console
) -> None:
    """Print a table and sentences."""
    shown = Table(*lines[0], title=title)
    for line in lines[1:]:
        shown.add_row(*line)
    console.print(shown)
    for words in told:
        console.print(words)


# -- the page -----------------------------------------------------------------------------


def sections(found: Mapping[str, Any]) -> dict[str, str]:
    """Return what docs/speed.md shows of a measurement, by the names of its places."""
    from piase_gym.benchmarks.speed import physics

    rates = [
        f"**{table['title']}**\n\n{_markdown(throughput.rate_cells(table))}"
        for table in found["grid_world"]["tables"]
    ]
    parts = {"grid_world": "\n".join((*rates, _absent(found["grid_world"])))}
    parts["text_room"] = _section(*text_room.words_of(found["text_room"]))
    if "physics" in found:
        parts["physics"] = _section(*physics.words_of(found["physics"]))
    parts["machine"] = about(found)
    return parts


def stored_sections() -> dict[str, str]:
    """Return what docs/speed.md shows, from the stored measurements."""
    return sections(json.loads(FILE.read_text("utf-8")))


def _section(lines: Sequence[Sequence[str]], told: Sequence[str]) -> str:
    """Return a table and sentences in Markdown."""
    return f"{_markdown(lines)}\n{' '.join(told)}\n"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, head first."""
    return tables.markdown(lines[0], lines[1:])


def _absent(found: Mapping[str, Any]) -> str:
    """Say which peers were not measured, and which versions were."""
    told = [", ".join(dict.fromkeys(found["peers"].values())) or "No peer"]
    told[0] += " took part."
    if found["missing"]:
        told.append(f"Not installed, so not measured: {', '.join(found['missing'])}.")
    told += [f"{name} failed: {why}." for name, why in found["failed"].items()]
    return " ".join(told) + "\n"


def about(found: Mapping[str, Any]) -> str:
    """Say where and with what was measured."""
    names = ("piase_gym", "python", "numpy", "numba")
    told = ", ".join(f"{name} {found['versions'][name]}" for name in names)
    busy = " and ".join(f"{load:.1f}" for load in found["load"])
    return (
        f"Measured on {found['machine']}, with {told}; the load of the machine was {busy} at the "
        "start and at the end.\n"
    )


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--quests", type=int, default=QUESTS)
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args()
    console = Console()
    found = measure_all(given.rounds, given.seconds, given.quests, console=console)
    write_json(given.out, found)
    console.print(f"stored in {given.out}", soft_wrap=True)


if __name__ == "__main__":
    main()
