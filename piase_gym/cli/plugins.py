"""``piase plugins``: what other packages add, and whether it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from rich.text import Text

from piase_gym import plugins, registry
from piase_gym.agents import make_agent
from piase_gym.cli.console import console, make_table
from piase_gym.errors import PiaseError
from piase_gym.simulation.actuators import find_actuator
from piase_gym.simulation.sensors import find_sensor


def list_plugins() -> None:
    """List the plug-ins of installed packages and try each; the exit status is 1 if one fails."""
    rows, broken = [], False
    for kind in plugins.KINDS:
        for entry in plugins.installed(kind):
            package = plugins.package_of(entry)
            reason = _try(kind, entry.name, package)
            broken |= reason is not None
            state = Text("works", "green") if reason is None else Text(reason, "bold red")
            rows.append((kind, entry.name, package, state))
    table = make_table(("kind", "name", "package", "state"), rows)
    console.print(table if rows else "no plug-ins are installed")
    if broken:
        raise typer.Exit(1)


FIND: dict[str, Callable[[str], Any]] = {
    "agents": make_agent,
    "sensors": find_sensor,
    "actuators": find_actuator,
}


def _try(kind: str, name: str, package: str) -> str | None:
    """Return what is wrong with a plug-in, or nothing."""
    reason = None
    try:
        if kind in FIND:
            FIND[kind](name)
        elif kind == "worlds" and registry.has_world(name):
            spec = registry.world_spec(name)
            for part in (spec.config, spec.world, spec.parser):
                registry.load(part, spec)
    except (PiaseError, ImportError, AttributeError) as error:
        reason = " ".join(str(error).split())
    known = (p for p in plugins.problems() if (p.kind, p.name, p.package) == (kind, name, package))
    return next((problem.reason for problem in known), reason)
