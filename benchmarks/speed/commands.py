"""The commands that measure: one function runs any of them.

Each module of this folder that has `measure_all` is one. The keyword arguments of `measure_all` are
its `OPTIONS` (name -> meaning), and `sections` puts what it returns into words. `FILE` is where the
numbers of a page are stored: ``docs/make_pages.py`` writes them into the page, and a test compares
the two. `OUT` is where the command stores what it finds unless it is told otherwise. Measure on a
machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
from pathlib import Path

from rich.console import Console

from piase_gym.benchmarks.speed.shown import Section
from piase_gym.core.files import write_json
from piase_gym.errors import PiaseError


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
    try:
        with Console(stderr=True).status("measuring; every row in turn"):
            found = module.measure_all(**given)
    except PiaseError as error:
        parser.error(str(error))
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
