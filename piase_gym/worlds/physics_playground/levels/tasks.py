"""The tasks of PhysicsPlayground, one row each: what is there, what agents are told, and the ids.

A new task needs a row here, its name in `config.Task`, and in `rules.tasks` how far it is from its
end. Plain data: the table of ids reads it when the package is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from piase_gym.worlds.physics_playground.levels.items import Kind


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task.

    Attributes:
        page: What has to be done, in words for the page.
        goal: The same for agents; a format string over `config` and ``together``.
        agents: How many agents it needs.
        objects: The kinds of the objects that are there by default.
        about: The kind of objects that it is about; ``None`` for all.
        zone: Whether there is a zone.
        places: Whether objects are brought to a place, and counted there.
        gripper: Whether agents have a gripper by default.
        ids: The names of its ids, with their configs.
    """

    page: str
    goal: str
    agents: int = 1
    objects: tuple[Kind, ...] = ()
    about: Kind | None = None
    zone: bool = False
    places: bool = False
    gripper: bool = False
    ids: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


_ZONE = "the zone, a circle with a radius of {config.zone:g} m in which its centre has to be"

TASKS: Final = {
    "reach": Task(
        page="come within `tolerance` of one's own target; each agent ends by itself",
        goal="come within {config.tolerance:g} m of your goal.",
        ids={"Reach": {}, "Reach-Sphere": {"body": "sphere"}},
    ),
    "push": Task(
        page="push every object into the zone, without a gripper",
        goal=f"{{together}}push every object into {_ZONE}.",
        objects=("box",),
        zone=True,
        places=True,
        ids={"Push": {"max_steps": 400}},
    ),
    "stack": Task(
        page="set `tower` boxes on each other and let go",
        goal="{together}stack {config.tower} boxes on each other, and let go.",
        objects=("box", "box"),
        about="box",
        places=True,
        gripper=True,
        ids={"Stack": {"max_steps": 400}},
    ),
    "gather": Task(
        page="bring every object into the zone and let go",
        goal=f"{{together}}bring every object into {_ZONE}, and let go.",
        objects=("ball", "box", "cylinder", "box"),
        zone=True,
        places=True,
        gripper=True,
        ids={"Gather": {"max_steps": 800}},
    ),
    "keep_away": Task(
        page="chasers (every second agent) touch the ball, keepers prevent it",
        goal="",  # each side has its own; see `manual`
        agents=2,
        objects=("ball",),
        about="ball",
        ids={"KeepAway-2p": {"agents": 2}},
    ),
    "carry": Task(
        page="drag the crate, too heavy for one, into the zone",
        goal=f"{{together}}drag the crate into {_ZONE}; it is too heavy for one of you.",
        agents=2,
        objects=("crate",),
        about="crate",
        zone=True,
        places=True,
        gripper=True,
        ids={"Carry-2p": {"agents": 2, "max_steps": 400}},
    ),
}
"""Every task by its name, in the order of the tasks' numbers."""
IDS: Final = {
    name: {"task": task, **config}
    for task, row in TASKS.items()
    for name, config in row.ids.items()
}
"""The config of every id."""


def tasks_table() -> str:
    """Return the table of tasks for the page."""
    rows = (f"| `{name}` | {row.page} | {row.agents} or more |" for name, row in TASKS.items())
    return "\n".join(("| task | what is to be done | agents |", "|---|---|---|", *rows))
