"""What curricula and tutors can change in worlds: its range, its direction, and what it sets.

When one of these fails, curricula that were written before do something else: say so in the
changelog, and write the file anew with ``python -m tests.worlds.test_difficulty``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from piase_gym.core.difficulty import Fields, adjust, introduce
from piase_gym.core.jsonable import jsonable
from piase_gym.errors import ConfigError
from piase_gym.registry import list_worlds, load, make_config, world_spec
from tests.helpers.needs import need
from tests.worlds.test_golden import FORMS

FILE = Path(__file__).with_name("golden_difficulty.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
WORLDS = [name for name in list_worlds() if world_spec(name).config.startswith("piase_gym.")]
WORLDS.remove("ScreenSearch")
ROOM = "@....\n.....\n....G"
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: form for name, form in FORMS.items() if "wording" not in form[1]},
    **{f"the usual {world}": (world, {}) for world in WORLDS},
    "a drawn grid": ("GridWorld", {"map": ROOM}),
    "goals to reach": ("GridWorld", {"goal_pos": ((1, 1), (3, 3))}),
    "a list to recall": ("TextRoom", {"recall": 4}),
    "an asymmetric game": ("SocialDilemma", {"game": "battle_of_the_sexes"}),
    "a bare orchard": ("SocialDilemma", {"game": "harvest", "regrowth": (0.0, 0.0, 0.0, 0.0)}),
    "a slow orchard": ("SocialDilemma", {"game": "harvest", "regrowth": (0.0, 0.1, 0.2, 0.5)}),
    "an uncertain end": ("SocialDilemma", {"horizon": "geometric", "continuation": 0.9}),
    **{
        f"to {task}": ("PhysicsPlayground", {"task": task, **more})
        for task, more in {
            "reach": {"agents": 2}, "push": {}, "carry": {"agents": 2},
            "stack": {}, "keep_away": {"agents": 2}, "gather": {},
        }.items()
    },
}  # fmt: skip
SAID: tuple[dict[str, Any], ...] = (
    {},
    {"count": 2},
    {"position": (2, 1)},
    {"position": (0.5, 1.0), "length": 0.75},
    {"position": (0.5, 1.0), "length": 0.75, "angle": 0.5, "height": 0.5},
    {"position": (0.5, 1.0), "length": 1.0, "width": 0.5, "angle": 0.5, "height": 0.5},
    {"position": (0.5, 1.0), "colour": "red", "mass": 2.0},
)
"""What is said about an element."""


def tried(change: Any, *given: Any) -> Any:
    """Return the fields that change, or what is wrong, without the hints at other names."""
    try:
        fields: Fields = change(*given)
    except ConfigError as error:
        return str(error).partition("; ")[0]
    return jsonable(fields)


def turns(kind: Any, config: Any) -> dict[str, Any]:
    """Return what every difficulty parameter of a world is, and does under a config."""
    found = {}
    for parameter in kind.difficulty_parameters:
        now, low, high = parameter.read(config), parameter.low, parameter.high
        if now is None:
            continue
        middle = (low + high) / 2
        values = [low, int(middle) if parameter.whole else middle, high]
        rows = [low, high, now, parameter.harder, parameter.whole]
        rows += [tried(adjust, [parameter], config, {parameter.name: value}) for value in values]
        found[parameter.name] = jsonable(rounded(rows))
    return found


def rounded(value: Any) -> Any:
    """Round numbers in any depth."""
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, Mapping):
        return {key: rounded(part) for key, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list | tuple) else value


def things(kind: Any, config: Any) -> dict[str, Any]:
    """Return what putting each element into a world sets under a config."""
    return {
        element.name: [
            rounded(tried(introduce, [element], config, {"type": element.name, **said}))
            for said in SAID
            if said.keys() <= set(element.options)
        ]
        for element in kind.elements
    }


def changes(name: str) -> dict[str, Any]:
    """Return all that can be changed under a config."""
    world, fields = CONFIGS[name]
    if world == "PhysicsPlayground":
        need(world)
    spec = world_spec(world)
    kind, config = load(spec.world, spec), make_config(spec, fields)
    return {"turns": turns(kind, config), "things": things(kind, config)}


@pytest.mark.parametrize("name", CONFIGS)
def test_tutors_can_change_what_they_could(name: str) -> None:
    assert changes(name) == GOLDEN[name]


if __name__ == "__main__":
    rows = [f"{json.dumps(name)}: {json.dumps(changes(name))}" for name in CONFIGS]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
