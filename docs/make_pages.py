"""Writes the pages of the worlds from their docstrings, configs and ids.

Run it with ``python docs/make_pages.py``; a test keeps the pages fresh.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import piase_gym
from piase_gym import registry
from piase_gym.errors import MissingExtraError

FOLDER = Path(__file__).with_name("worlds")


def page(name: str) -> str:
    """Return the page of a world, as Markdown."""
    spec = registry.world_spec(name)
    world, config = registry.load(spec.world, spec), registry.load(spec.config, spec)
    sections = [
        f"# {name}",
        inspect.cleandoc(world.__doc__),
        "## Arguments",
        fields_table(config),
        "## Ids",
        ids_table(name, config),
    ]
    return "\n\n".join(sections) + "\n"


def fields_table(config: Any) -> str:
    """List the fields of a config."""
    rows = ["| field | default | meaning |", "|---|---|---|"]
    for name, field in config.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = type(default).__name__ + "()" if isinstance(default, BaseModel) else repr(default)
        rows.append(f"| `{name}` | `{shown}` | {field.description} |")
    return "\n".join(rows)


def ids_table(name: str, config: Any) -> str:
    """List the ids of a world, with what differs from the defaults."""
    rows = ["| id | config |", "|---|---|"]
    for task in piase_gym.tasks(name):
        row = registry.task_spec(task)
        changes = {"scenario": row.scenario, **row.config} if row.scenario else row.config
        rows.append(f"| `{task}` | {', '.join(f'`{k}={v!r}`' for k, v in changes.items())} |")
    return "\n".join(rows)


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(exist_ok=True)
    for name in registry.worlds():
        if not registry.world_spec(name).world.startswith("piase_gym."):
            continue
        try:
            text = page(name)
        except MissingExtraError:
            continue  # the page stays as it is
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
