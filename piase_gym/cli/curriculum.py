"""``piase curriculum lint|schema|export|names``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from piase_gym.cli import curriculum_run
from piase_gym.cli.console import console, errors
from piase_gym.cli.curriculum_options import Name, complete_curricula
from piase_gym.cli.options import Modules, complete_worlds, import_modules
from piase_gym.errors import ConfigError, CurriculumError

curriculum = typer.Typer(
    no_args_is_help=True,
    help="Check curricula, try them, train through them, and see what came of it.",
)


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    curriculum.command()(lint)
    curriculum.command()(names)
    curriculum.command()(schema)
    curriculum.command()(export)
    curriculum_run.register(curriculum)
    app.add_typer(curriculum, name="curriculum")


_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def lint(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="CURRICULUM...", help="Names or files.", autocompletion=complete_curricula
        ),
    ],
    world: Annotated[
        str | None,
        typer.Option(
            metavar="WORLD",
            help="The world or id that steps are checked against. Default: the curriculum's own.",
            autocompletion=complete_worlds,
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Take warnings for errors.")] = False,
    module: Modules = None,
) -> None:
    """Check curricula: file:line:column: step, rule: what is wrong, what is allowed."""
    from piase_gym.curricula.lint import lint as look

    import_modules(module)
    wrong = 0
    for name in files:
        try:
            found = look(name, world)
        except CurriculumError as error:
            wrong += 1
            console.print(f"[red]{escape(str(error))}[/]", soft_wrap=True)
            continue
        for finding in found:
            console.print(f"[{_COLOURS[finding.level]}]{escape(str(finding))}[/]", soft_wrap=True)
        levels = {finding.level for finding in found}
        wrong += "error" in levels or (strict and "warning" in levels)
        if not levels & {"error", "warning"}:
            console.print(f"{escape(name)}: {_sentence(name)}: ok", soft_wrap=True)
    if wrong:
        raise typer.Exit(1)


def _sentence(name: str) -> str:
    """Return what a curriculum is, in a few words."""
    from piase_gym import curricula

    made = curricula.load(name)
    count = len(made.steps)
    of = f" of {made.world}" if made.world else ""
    return escape(f"{made.name}, {count} step{'s' if count != 1 else ''}{of}")


def names() -> None:
    """List the curricula that ship."""
    from piase_gym import curricula

    table = Table("name", "world", "steps", "what it teaches")
    for name in curricula.names():
        found = curricula.load(name)
        about = found.description or found.name
        table.add_row(name, found.world or "any", str(len(found.steps)), escape(about))
    console.print(table)


def schema() -> None:
    """Print the JSON Schema of curriculum files, for editors."""
    from piase_gym.curricula.export import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


def export(
    name: Name,
    to_prompt_suite: Annotated[
        bool, typer.Option("--piapes", help="Mark it for the prompt suite (__type__).")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write it. Default: to the terminal."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
) -> None:
    """Write a curriculum as JSON, without what is left at its default."""
    from piase_gym import curricula
    from piase_gym.curricula.export import dumps

    text = dumps(curricula.load(name), marked=to_prompt_suite)
    if out is None:
        typer.echo(text, nl=False)
        return
    if out.exists() and not out.is_file():
        raise ConfigError(f"{str(out)!r} is no file; give another name")
    if out.exists() and not force:
        raise ConfigError(f"{str(out)!r} is there already; give another name, or --force")
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {str(out)!r}: {error.strerror}") from None
    errors.print(f"wrote {escape(str(out))}")
