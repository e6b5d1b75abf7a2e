"""The levels of GridWorld: each is defined in a file of its own.

The docstring of a file is the level's text on the world's page. These names define the rest; they
are read without importing the file (`registry.literals`), so that ids are known at once and numba
is loaded only when a world is made:

- ``TASKS``: its ids, without ``piase/GridWorld-``, with their configs. ``"square": n`` stands for a
  grid of n by n cells with a border, and for 4 * n * n steps.
- ``LAYOUT``: the number of its layout, if it has one; the layout is named after the file, and
  `build.lay_out` calls the function that draws it.
- ``LEAST_INSIDE``: the smallest numbers of columns and rows of that layout, without the border.
- ``REWARDS``: the default rewards that differ from the reference table.
- ``AIM``: the task in words, for the prompt.
- ``MAY_FAIL``: whether unsolvable levels may be drawn, so that levels must be checked.
- ``PLAIN_RULES``: whether it contains nothing but walls, locked doors, keys and goals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from piase_gym.registry import literals

_ALL: Final = {path.stem: literals(path) for path in sorted(Path(__file__).parent.glob("*.py"))}
LAYOUTS: Final = tuple(
    sorted((name for name in _ALL if "LAYOUT" in _ALL[name]), key=lambda n: _ALL[n]["LAYOUT"])
)
"""The names of all layouts, by number."""
PAGES: Final = {
    name: " ".join(said["__doc__"].split())
    for name, said in _ALL.items()
    if "TASKS" in said or "LAYOUT" in said
}
"""The text of every level."""


def of_layout(layout: str, name: str, default: Any) -> Any:
    """Return the value of a name in a layout's file, or else the default."""
    return _ALL.get(layout, {}).get(name, default)
