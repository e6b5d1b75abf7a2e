"""The levels of GridWorld: whatever is to be said of one, in a file of its own.

Its docstring is its text on the world's page. These names say the rest; they are read without
importing the file (`registry.literals`), so that ids are known at once and numba is loaded when a
world is made:

- ``TASKS``: its ids, without ``piase/GridWorld-``, with their configs. ``"square": n`` stands for a
  grid of n by n cells with a border, and 4 * n * n steps.
- ``LAYOUT``: the number of its layout, if it has one; the layout is called like the file, and
  `build.lay_out` calls what draws it.
- ``LEAST_INSIDE``: the least columns and rows of that layout, without the border.
- ``REWARDS``: where its defaults differ from the reference table.
- ``AIM``: what there is to do, for the prompt.
- ``MAY_FAIL``: whether levels may be drawn that cannot be solved, and must be checked.
- ``PLAIN_RULES``: whether there is nothing in it beyond walls, locked doors, keys and goals.
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
    """Return what a layout says under a name, or else the default."""
    return _ALL.get(layout, {}).get(name, default)
