"""What worlds can be made harder or easier by, and what can be put into them."""

from __future__ import annotations

from typing import Any

import pytest
from annotated_types import Ge, Le

import piase_gym
from piase_gym.core.config import WorldConfig
from piase_gym.core.difficulty import adjust, introduce
from piase_gym.errors import ConfigError
from piase_gym.registry import load, make_config, world_spec
from tests.helpers.needs import here

WORLDS = here(["GridWorld", "SocialDilemma", "TextRoom", "PhysicsPlayground"])
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
    ("SocialDilemma", "player"): [
        ({"game": "public_goods"}, {}),
        ({"game": "harvest"}, {"count": 3}),
    ],
    ("SocialDilemma", "talk"): [({"symbols": 1}, {})],
    ("SocialDilemma", "patch"): [({"game": "harvest"}, {"count": 2})],
    ("SocialDilemma", "reputation"): [({}, {}), ({"game": "cleanup"}, {})],
    ("PhysicsPlayground", "wall"): [({}, {"position": (1.0, 1.0), "length": 0.5})],
    ("PhysicsPlayground", "ramp"): [({}, {"position": (1.0, 1.0)})],
}


def config_of(world: str, **fields: Any) -> Any:
    """Return a config, from a scenario if one is named."""
    scenario = fields.pop("scenario", None)
    return piase_gym.parallel_env(world, scenario=scenario, actions=ACTIONS[world], **fields).config


ACTIONS = {
    "GridWorld": "discrete",
    "PhysicsPlayground": "discrete",
    "SocialDilemma": "discrete",
    "TextRoom": "text",
}


def world_class(world: str) -> Any:
    spec = world_spec(world)
    return load(spec.world, spec)


DIALS_OF = [
    *((world, {}) for world in WORLDS),
    ("TextRoom", {"recall": 4}),
    ("SocialDilemma", {"game": "stag_hunt", "horizon": "geometric"}),
    ("SocialDilemma", {"game": "public_goods"}),
    ("SocialDilemma", {"game": "volunteers_dilemma", "agents": 6}),
    ("SocialDilemma", {"game": "harvest"}),
    ("SocialDilemma", {"game": "cleanup"}),
]
"""Configs in which every difficulty parameter is there at least once."""


def test_every_parameter_is_there_somewhere() -> None:
    for world in WORLDS:
        configs = [make_config(world_spec(w), fields) for w, fields in DIALS_OF if w == world]
        for parameter in world_class(world).difficulty_parameters:
            assert any(parameter.read(config) is not None for config in configs), parameter.name


@pytest.mark.parametrize(("world", "fields"), DIALS_OF)
def test_every_parameter_turns_over_its_whole_range(world: str, fields: dict[str, Any]) -> None:
    kind = world_class(world)
    assert kind.difficulty_parameters
    config = make_config(world_spec(world), fields)
    for parameter in kind.difficulty_parameters:
        if parameter.read(config) is None:
            with pytest.raises(ConfigError, match="there is no difficulty parameter"):
                adjust(kind.difficulty_parameters, config, {parameter.name: parameter.low})
            continue
        for value in (parameter.low, parameter.high):
            wanted = int(value) if parameter.whole else value
            changed = config.changed(
                adjust(kind.difficulty_parameters, config, {parameter.name: wanted})
            )
            assert parameter.read(changed) == pytest.approx(value), parameter.name
        for wrong in (parameter.low - 1, parameter.high + 1, "far", None, True):
            with pytest.raises(ConfigError, match=parameter.name):
                adjust(kind.difficulty_parameters, config, {parameter.name: wrong})


NARROWER = {"multiplier", "cost", "tolerance", "zone"}
"""Dials that do not go as far as their field, on purpose."""


@pytest.mark.parametrize("world", WORLDS)
def test_a_parameter_goes_as_far_as_its_field(world: str) -> None:
    fields = type(make_config(world_spec(world), {})).model_fields
    for parameter in world_class(world).difficulty_parameters:
        found = fields[parameter.name].metadata if parameter.name in fields else []
        low = [bound.ge for bound in found if isinstance(bound, Ge)]
        high = [bound.le for bound in found if isinstance(bound, Le)]
        if parameter.name in NARROWER:
            assert all(parameter.low >= limit for limit in low)
            assert all(parameter.high <= limit for limit in high)
        elif low and high:
            assert [parameter.low, parameter.high] == [*low, *high], parameter.name


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("share", [-1.0, -0.3, 0.01, 0.5, 1.0])
def test_by_turns_the_main_parameter(world: str, share: float) -> None:
    kind, config = world_class(world), make_config(world_spec(world), {})
    main = kind.difficulty_parameters[0]
    before = main.read(config)
    changed = config.changed(adjust(kind.difficulty_parameters, config, {"by": share}))
    after = main.read(changed)
    stop = {1: main.high, -1: main.low}[main.harder * (1 if share > 0 else -1)]
    assert after == before == stop or (after > before) == (share * main.harder > 0)
    others = {d.name: d.read(config) for d in kind.difficulty_parameters[1:]}
    assert others == {d.name: d.read(changed) for d in kind.difficulty_parameters[1:]}


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
        adjust(grid.difficulty_parameters, make_config(world_spec("GridWorld"), {}), params)


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


def test_temptation_makes_a_hunt_a_dilemma() -> None:
    from piase_gym.worlds.social_dilemma.matrix.solutions import nash_equilibria

    dilemma = world_class("SocialDilemma")
    config = make_config(world_spec("SocialDilemma"), {"game": "stag_hunt"})
    assert len(nash_equilibria(config)) == 3  # both pure ones, and a mixed one
    changed = config.changed(adjust(dilemma.difficulty_parameters, config, {"temptation": 0.5}))
    assert changed.payoffs == ((4.0, 0.0), (4.5, 1.0))
    assert nash_equilibria(changed) == [(0.0, 0.0)]
    uneven = make_config(world_spec("SocialDilemma"), {"game": "battle_of_the_sexes"})
    with pytest.raises(ConfigError, match="no difficulty parameter 'temptation'"):
        adjust(dilemma.difficulty_parameters, uneven, {"temptation": 1.0})


def test_chances_of_regrowth_stay_in_proportion() -> None:
    dilemma = world_class("SocialDilemma")
    config = make_config(world_spec("SocialDilemma"), {"game": "harvest"})
    changed = config.changed(adjust(dilemma.difficulty_parameters, config, {"regrowth": 0.1}))
    assert changed.regrowth == pytest.approx((0.0, 0.01, 0.04, 0.1))
    bare = config.changed(adjust(dilemma.difficulty_parameters, config, {"regrowth": 0.0}))
    again = bare.changed(adjust(dilemma.difficulty_parameters, bare, {"regrowth": 0.05}))
    assert again.regrowth == pytest.approx(config.regrowth)


def test_parameters_that_do_not_apply_are_not_there() -> None:
    text = world_class("TextRoom")
    story = config_of("TextRoom", scenario="lost_key")
    with pytest.raises(ConfigError, match="no difficulty parameter 'depth'"):
        adjust(text.difficulty_parameters, story, {"depth": 3})
    with pytest.raises(ConfigError, match="written story"):
        introduce(text.elements, story, {"type": "distractor"})
