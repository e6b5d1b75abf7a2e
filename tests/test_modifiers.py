"""What worlds can be made harder or easier by, and what can be put into them."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

import piase_gym
from piase_gym.config import WorldConfig
from piase_gym.errors import ConfigError
from piase_gym.modifiers import adjust, introduce
from piase_gym.registry import load, make_config, world_spec

WORLDS = ["GridWorld", "TextRoom"]
if importlib.util.find_spec("pybullet"):
    WORLDS.append("PhysicsPlayground")
ELEMENTS: dict[tuple[str, str], list[tuple[dict[str, Any], dict[str, Any]]]] = {
    ("GridWorld", "wall"): [
        ({}, {"position": (2, 3)}),
        ({"map": "@..\n..G"}, {"position": [0, 1]}),
    ],
    ("GridWorld", "goal"): [({}, {}), ({"goal_pos": (1, 1)}, {"position": (2, 2)})],
    ("GridWorld", "key"): [({"map": "@..\n..G"}, {"position": (1, 1)})],
    ("TextRoom", "object"): [
        ({"scenario": "lost_key"}, {"name": "candle", "room": "study", "can_be_taken": True})
    ],
    ("PhysicsPlayground", "wall"): [({}, {"position": (1.0, 1.0), "length": 0.5})],
    ("PhysicsPlayground", "ramp"): [({}, {"position": (1.0, 1.0)})],
}


def config_of(world: str, **fields: Any) -> Any:
    """Return a config, from a scenario if one is named."""
    scenario = fields.pop("scenario", None)
    return piase_gym.parallel_env(world, scenario=scenario, actions=ACTIONS[world], **fields).config


ACTIONS = {"GridWorld": "discrete", "TextRoom": "text", "PhysicsPlayground": "discrete"}


def world_class(world: str) -> Any:
    spec = world_spec(world)
    return load(spec.world, spec)


@pytest.mark.parametrize("world", WORLDS)
def test_every_dial_turns_over_its_whole_range(world: str) -> None:
    kind = world_class(world)
    assert kind.dials
    config = make_config(world_spec(world), {})
    for dial in kind.dials:
        for value in (dial.low, dial.high):
            wanted = int(value) if dial.whole else value
            changed = config.changed(adjust(kind.dials, config, {dial.name: wanted}))
            assert dial.read(changed) == pytest.approx(value), dial.name
        for wrong in (dial.low - 1, dial.high + 1, "far", None, True):
            with pytest.raises(ConfigError, match=dial.name):
                adjust(kind.dials, config, {dial.name: wrong})


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("share", [-1.0, -0.3, 0.01, 0.5, 1.0])
def test_by_turns_the_main_dial(world: str, share: float) -> None:
    kind, config = world_class(world), make_config(world_spec(world), {})
    main = kind.dials[0]
    before = main.read(config)
    changed = config.changed(adjust(kind.dials, config, {"by": share}))
    after = main.read(changed)
    stop = {1: main.high, -1: main.low}[main.harder * (1 if share > 0 else -1)]
    assert after == before == stop or (after > before) == (share * main.harder > 0)
    others = {d.name: d.read(config) for d in kind.dials[1:]}
    assert others == {d.name: d.read(changed) for d in kind.dials[1:]}


@pytest.mark.parametrize("world", WORLDS)
def test_every_element_can_be_introduced(world: str) -> None:
    kind = world_class(world)
    assert kind.elements
    for element in kind.elements:
        for fields, said in ELEMENTS.get((world, element.name), [({}, {}), ({}, {"count": 2})]):
            if "count" in said and "count" not in element.options:
                continue
            config: WorldConfig = config_of(world, **fields)
            changes = introduce(kind.elements, config, {"type": element.name, **said})
            changed = config.model_copy(update={"envelope": None}).changed(
                {**changes, "envelope": None}
            )
            assert changed.model_dump(exclude={"envelope"}) != config.model_dump(
                exclude={"envelope"}
            )
            kind(changed).close()  # a level can be made of it


def test_a_map_gets_its_sign_and_a_story_its_object() -> None:
    grid, text = world_class("GridWorld"), world_class("TextRoom")
    config = make_config(world_spec("GridWorld"), {"map": "@..\n..G"})
    changes = introduce(grid.elements, config, {"type": "hazard", "position": [1, 0]})
    assert config.changed(changes).map == ("@~.", "..G")
    with pytest.raises(ConfigError, match="not free floor"):
        introduce(grid.elements, config, {"type": "wall", "position": [2, 1]})
    story = config_of("TextRoom", scenario="lost_key")
    element = {"type": "object", "name": "candle", "room": "study"}
    changed = story.changed(introduce(text.elements, story, element))
    assert "candle" in changed.story.rooms["study"].objects
    assert changed.story.win_conditions == story.story.win_conditions
    with pytest.raises(ConfigError, match="candle"):
        introduce(text.elements, changed, element)
    with pytest.raises(ConfigError, match="no room 'sky'"):
        introduce(text.elements, story, {**element, "room": "sky"})


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({}, "mapping"),
        (0.5, "mapping"),
        ({"dificulty": 0.5}, "did you mean 'difficulty'"),
        ({"by": 2.0}, "from -1 to 1"),
        ({"by": "more"}, "from -1 to 1"),
        ({"hazards": 1.5}, "an integer"),
    ],
)
def test_wrong_adjustments_are_named(params: Any, match: str) -> None:
    grid = world_class("GridWorld")
    with pytest.raises(ConfigError, match=match):
        adjust(grid.dials, make_config(world_spec("GridWorld"), {}), params)


@pytest.mark.parametrize(
    ("element", "match"),
    [
        ("wall", "mapping"),
        ({"position": (1, 1)}, "type"),
        ({"type": "wal", "position": (1, 1)}, "did you mean 'wall'"),
        ({"type": ["wall"]}, "no element"),
        ({"type": "wall"}, "needs position"),
        ({"type": "wall", "position": (1, 1), "size": 2}, "no option 'size'"),
        ({"type": "wall", "position": (99, 1)}, "outside"),
        ({"type": "wall", "position": "here"}, "two integers"),
        ({"type": "hazard", "count": 0}, "positive integer"),
        ({"type": "hazard", "position": (1, 1)}, "only on a map"),
    ],
)
def test_wrong_elements_are_named(element: Any, match: str) -> None:
    grid = world_class("GridWorld")
    with pytest.raises(ConfigError, match=match):
        introduce(grid.elements, make_config(world_spec("GridWorld"), {}), element)


def test_dials_that_do_not_apply_are_not_there() -> None:
    text = world_class("TextRoom")
    story = config_of("TextRoom", scenario="lost_key")
    with pytest.raises(ConfigError, match="no dial 'depth'"):
        adjust(text.dials, story, {"depth": 3})
    with pytest.raises(ConfigError, match="written story"):
        introduce(text.elements, story, {"type": "distractor"})
