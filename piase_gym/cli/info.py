"""``piase info``: everything about a world on a page, or as JSON."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from piase_gym.cli.console import console, errors, say, waiting
from piase_gym.cli.options import AnyName, Modules, Settings
from piase_gym.cli.worlds import grouped
from piase_gym.play.describing import describe
from piase_gym.play.settings import read_settings

WIDE = 110
"""Width of a terminal from which on the config is a table."""


def info(
    name: AnyName,
    config: Settings = None,
    module: Modules = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Say what a world is: spaces, commands, config, ids."""
    fields = read_settings(name, config)
    with waiting(f"reading {name}", errors):
        found = describe(name, fields)
    if as_json:
        json.dump(found, sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
        return
    show(found)


def show(found: dict[str, Any]) -> None:
    """Print a description for people."""
    console.print(Text(found["name"], "bold"), Text(found["summary"]), sep="  ")
    if found["description"] != found["summary"]:
        console.print()
        console.print(Text(found["description"]))
    head("Agents and powers")
    console.print(_two_columns(_powers(found)))
    head("Spaces of one agent")
    console.print(_two_columns(found["spaces"]))
    head("Commands")
    console.print(_two_columns(_commands(found)))
    if found["actions"]:
        indices = ", ".join(f"{i} {line}" for i, line in enumerate(found["actions"]))
        console.print(Padding(Text(f"Indices: {indices}"), (1, 0, 0, 2), expand=False))
    head("Config: set with -c key=value")
    console.print(_config(found["config"]))
    if found["milestones"]:
        head("Milestones")
        console.print(Padding(", ".join(found["milestones"]), (0, 0, 0, 2), expand=False))
    if found["ids"]:
        head("Ids")
    for line in grouped([row["id"] for row in found["ids"]]):
        say(f"  {line}")


def head(title: str) -> None:
    """Print the head of a section."""
    console.print(Text(f"\n{title}", "bold cyan"))


def _powers(found: dict[str, Any]) -> dict[str, str]:
    """Say who plays, and what the world claims and does not claim."""
    claims = {**found["capabilities"], "oracle": found["oracle"]}
    partners = found["partners"].items()
    rows = {
        "agents": found["agents"],
        "partners": [who if name == "*" else f"{name} {who}" for name, who in partners],
        "has": [claim.replace("_", " ") for claim in claims if claims[claim]],
        "has not": [claim.replace("_", " ") for claim in claims if not claims[claim]],
        "also named": found["aliases"],
    }
    return {title: ", ".join(words) for title, words in rows.items() if words}


def _two_columns(rows: dict[str, str]) -> Padding:
    """Lay out names and what they are."""
    table = Table.grid(padding=(0, 2))
    for name, words in rows.items():
        table.add_row(Text(name, "green"), Text(words))
    return Padding(table, (0, 0, 0, 2), expand=False)


def _commands(found: dict[str, Any]) -> dict[str, str]:
    """Say what each command of the grammar does."""
    rows = {}
    for verb in found["grammar"]:
        also = f" (also {', '.join(verb['synonyms'])})" if verb["synonyms"] else ""
        rows[verb["usage"]] = verb["description"] + also
    return rows


def _config(rows: list[dict[str, Any]]) -> RenderableType:
    """Lay out the fields of the config: a table where there is room, else two lines per field."""
    if console.width < WIDE:
        return Group(*(_two_lines(row) for row in rows))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("  key", style="green", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("allowed", overflow="fold", ratio=2, style="dim")
    table.add_column("meaning", overflow="fold", ratio=3)
    for row in rows:
        table.add_row(
            Text(f"  {row['key']}"), _value(row), Text(row["type"]), Text(row["description"])
        )
    return table


def _two_lines(row: dict[str, Any]) -> Padding:
    """Lay out one field of the config on two lines."""
    first = Text.assemble((row["key"], "green"), " = ", _value(row), (f"  [{row['type']}]", "dim"))
    return Padding(
        Text("\n    ").join([first, Text(row["description"])]), (0, 0, 0, 2), expand=False
    )


def _value(row: dict[str, Any]) -> Text:
    """Write the value of a field; what differs from the default stands out."""
    if row["value"] == row["default"]:
        return Text(short(row["value"]))
    return Text.assemble(
        (short(row["value"]), "bold yellow"), (f" (default {short(row['default'])})", "dim")
    )


def short(value: Any) -> str:
    """Write a value as the command line takes it, in at most 40 characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = {"null": "none"}.get(text, text)
    return text if len(text) <= 40 else text[:37] + "..."
