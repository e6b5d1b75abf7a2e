"""The commands that measure: one list, and one function that runs any of them.

Each module of `COMMANDS` has `measure_all`, whose keyword arguments are its `OPTIONS` (name ->
meaning), and `sections`, which puts what it returns into words. `FILE` is where the
numbers of a page are stored: ``docs/make_pages.py`` writes them into the page, and a test compares
the two. `OUT` is where the command stores what it finds unless it is told otherwise. Measure on a
machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from piase_gym.benchmarks.speed import physics, text_room, throughput
from piase_gym.benchmarks.speed.shown import Section, about, described
from piase_gym.benchmarks.speed.timing import ROUNDS, SECONDS
from piase_gym.core.files import write_json
from piase_gym.errors import MissingExtraError

COMMANDS = (
    *("measure", "throughput", "text_room", "physics", "logs", "curriculum", "household"),
    *("learning", "llm", "memory", "object_search", "pictures", "scale", "sql_query"),
    *("scenarios", "sql_query_learning", "text_lengths", "word_craft"),
)
"""Modules of this folder; ``measure`` is ``make speed``: what docs/speed.md tells."""
FILE = OUT = Path(__file__).parents[1] / "measured" / "speed.json"
QUESTS = 1000
"""Quests that the oracle of TextRoom plays."""
OPTIONS = {
    "rounds": "of every row",
    "seconds": "CPU-seconds of each measurement",
    "quests": "that the oracle of TextRoom plays",
}


def run(name: str) -> None:
    """Read the command line, measure, print, and store if there is a file for it."""
    module = importlib.import_module(f"{__package__}.{name}")
    parser = argparse.ArgumentParser(description=str(module.__doc__).split("\n")[0])
    usual = inspect.signature(module.measure_all).parameters
    for option, meaning in module.OPTIONS.items():
        default = usual[option].default
        kind = str if default is None else type(default)
        parser.add_argument(f"--{option}", type=kind, default=default, help=meaning)
    stored = getattr(module, "OUT", None)
    parser.add_argument("--out", type=Path, default=stored, help="a JSON file for what is found")
    given = vars(parser.parse_args())
    out, console = given.pop("out"), Console()
    with Console(stderr=True).status("measuring; every row in turn"):
        found = module.measure_all(**given)
    for section in module.sections(found).values():
        section.print(console)
    if out is not None:
        write_json(out, found)
        console.print(f"stored in {out}", soft_wrap=True)


def stored_sections(name: str) -> dict[str, str]:
    """Return what pages show of a stored measurement, as Markdown by the names of its places."""
    module = importlib.import_module(f"{__package__}.{name}")
    shown: dict[str, Section] = module.sections(json.loads(module.FILE.read_text("utf-8")))
    return {place: section.markdown() for place, section in shown.items()}


# -- docs/speed.md ------------------------------------------------------------------------


def measure_all(
    rounds: int = ROUNDS, seconds: float = SECONDS, quests: int = QUESTS, cycles: int = 200
) -> dict[str, Any]:
    """Measure everything that docs/speed.md tells.

    Args:
        rounds: How often each row is measured; medians are kept.
        seconds: CPU-seconds of each measurement.
        quests: Quests of TextRoom that its oracle plays.
        cycles: Times that PhysicsPlayground is made and closed.

    Returns:
        JSON-able: ``machine``, ``versions``, ``load`` (what the machine did besides, at the start
        and at the end: processes that wanted to run in the last minute), ``grid_world`` and
        ``text_room``, and ``physics``, or why it is ``lacking``.
    """

    def measure() -> dict[str, Any]:
        found = {"grid_world": throughput.measure_all(rounds, seconds)}
        found["text_room"] = text_room.measure_all(text_room.textworld_python(), quests, rounds)
        try:
            found["physics"] = physics.measure_all(2 * rounds, cycles)
        except (ImportError, MissingExtraError) as error:
            return {**found, "lacking": f"PhysicsPlayground was not measured: {error}"}
        return found

    return described(measure)


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what docs/speed.md shows of a measurement, by the names of its places."""
    shown = {**throughput.sections(found["grid_world"]), **text_room.sections(found["text_room"])}
    if "physics" in found:
        shown |= physics.sections(found["physics"])
    else:
        shown["physics"] = Section(words=[found["lacking"]])
    return {**shown, "machine": Section(words=[about(found)])}
