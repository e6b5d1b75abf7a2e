"""What was measured in words, for a terminal and for the pages alike."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec

import rich.table
from rich.console import Console

from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.evaluation.tables import markdown

Options = ParamSpec("Options")
"""What a measurement is asked with."""


class Table(NamedTuple):
    """A table: its lines, the first of which is its head, and perhaps a title."""

    lines: Sequence[Sequence[str]]
    title: str = ""


@dataclass(frozen=True)
class Section:
    """What is shown at one place of a page: tables, then paragraphs."""

    tables: Sequence[Table] = ()
    words: Sequence[str] = ()

    def markdown(self) -> str:
        """Return it for a page."""
        heads = [f"**{table.title}**\n\n" if table.title else "" for table in self.tables]
        shown = [markdown(table.lines[0], table.lines[1:]) for table in self.tables]
        tables = [head + table for head, table in zip(heads, shown, strict=True)]
        return "\n".join([*tables, *(f"{words}\n" for words in self.words)])

    def print(self, console: Console) -> None:
        """Show it in a terminal."""
        for table in self.tables:
            shown = rich.table.Table(title=table.title or None)
            for number, name in enumerate(table.lines[0]):
                shown.add_column(name, justify="right" if number else "left")
            for line in table.lines[1:]:
                shown.add_row(*line)
            console.print(shown)
        for words in self.words:
            console.print(words, markup=False, soft_wrap=True)


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


def described(measure: Callable[Options, dict[str, Any]]) -> Callable[Options, dict[str, Any]]:
    """Let a function that measures also return what it was measured on.

    Returns:
        The function. What it measures is between ``machine`` and ``versions``, and ``load``:
        processes that wanted to run in the last minute, at the start and at the end.
    """

    @functools.wraps(measure)
    def measured(*args: Options.args, **options: Options.kwargs) -> dict[str, Any]:
        load = os.getloadavg()[0]
        found = {"machine": machine(), "versions": versions(), **measure(*args, **options)}
        return {**found, "load": [load, os.getloadavg()[0]]}

    return measured


def about(found: Mapping[str, Any]) -> str:
    """Say where and with what was measured."""
    names = ("piase_gym", "python", "numpy", "numba")
    text = ", ".join(f"{name} {found['versions'][name]}" for name in names)
    busy = " and ".join(f"{load:.1f}" for load in found["load"])
    return (
        f"Measured on {found['machine']}, with {text}; the load of the machine was {busy} at the "
        "start and at the end."
    )
