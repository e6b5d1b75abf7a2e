"""All mistakes of a scenario are told at once, with line and column, in every world."""

from __future__ import annotations

from pathlib import Path

import pytest

import piase_gym
from piase_gym import registry, scenarios
from piase_gym.errors import ScenarioError
from tests.helpers.needs import need

WORLDS = [
    name
    for name in piase_gym.list_worlds()
    if name != "TextRoom" and registry.world_spec(name).world.startswith("piase_gym.")
]
MISTAKES = """\
scenario_name: Wrong
environment_type: {world}
win_conditions:
  - {{ fact: bogus, equals: 1 }}
  - all: [{{ fact: step, at_least: 10 }}, {{ fact: step, at_most: 3 }}]
  - {{ fact: step, at_least: many }}
  - {{ milestone: nowhere }}
lose_conditions:
  - {{ fact: outcome, equals: great }}
  - {{ fact: step, agent_id: nobody, at_least: 3 }}
  - {{ all: [] }}
  - {{ not: {{ fact: bogus, equals: 1 }} }}
shaping: {{ fact: step, weight: lots }}
events:
  - when: {{ flag: never_set }}
    response:
      - {{ type: dance }}
      - {{ type: change_setting, setting: nonsense, value: 1 }}
      - {{ type: change_setting, setting: max_steps, value: -5 }}
      - {{ type: end, result: maybe }}
      - {{ type: message_to_agent, agent_id: ghost, content: hi }}
      - {{ type: spawn_object, object: nonsense, place: [99, 99] }}
  - name: ping
    when: {{ flag: a }}
    times: every
    response: [{{ type: set_flag, flag_name: b }}, {{ type: set_flag, flag_name: a, value: false }}]
  - name: pong
    when: {{ flag: b }}
    times: every
    response: [{{ type: set_flag, flag_name: a }}, {{ type: set_flag, flag_name: b, value: false }}]
"""
TOLD = {
    "4:7: win_conditions.0.fact": "no fact 'bogus'",
    "5:5: win_conditions.1": "contradiction: 'step' cannot be at least 10 and at most 3",
    "6:19: win_conditions.2.at_least": "a number is expected (got 'many')",
    "7:7: win_conditions.3.milestone": "unknown milestone 'nowhere'",
    "9:22: lose_conditions.0.equals": "'outcome' is never 'great'",
    "10:19: lose_conditions.1.agent_id": "unknown agent 'nobody'",
    "11:7: lose_conditions.2.all": "it must have at least 1 entries",
    "12:14: lose_conditions.3.not.fact": "no fact 'bogus'",
    "13:24: shaping.weight": "a number is expected (got 'lots')",
    "15:13: events.0.when.flag": "no event sets the flag 'never_set'",
    "17:11: events.0.response.0.type": "unknown type 'dance'",
    "18:33: events.0.response.1.setting": "'nonsense' cannot change within an episode",
    "19:53: events.0.response.2.value": "it must be at least 1 (got -5)",
    "20:22: events.0.response.3.result": "'maybe' is not allowed; allowed: 'won', 'lost'",
    "21:35: events.0.response.4.agent_id": "unknown agent 'ghost'",
    "22:31: events.0.response.5.object": "be put",
    "23:5: events.1": "endless: ping, pong set each other off",
}
STORY = """\
scenario_name: Wrong
environment_type: TextRoom
initial_state:
  rooms:
    a: { exits: { east: bb }, objects: [desk, pen] }
    b: { exits: { west: a }, colour: red }
  object_details:
    desk: { locked: true, key_required: kee }
    pen: { can_be_taken: true }
  agent_setup: [{ agent_id: anna, start_room: c }]
win_logic: all
win_conditions:
  - { type: item_in_inventory, agent_id: bob, item_name: pen }
  - { type: item_in_room, item_name: pen, room: a }
  - { type: flag_sett, flag_name: x }
lose_conditions:
  - { type: max_steps_reached, steps: -2 }
events:
  - trigger: { type: step_reached, step: 3 }
    conditions:
      - { type: agent_in_room, room: a }
      - { type: agent_in_room, room: b }
    response:
      - { type: spawn_object, object: lamp, room: wall }
      - { type: jump }
config: { max_stepps: 4 }
characters:
  - { agent_id: dan, start: zoo }
"""
OF_STORY = {
    "5:19: initial_state.rooms.a.exits.east": "unknown room 'bb'",
    "6:30: initial_state.rooms.b.colour": "unknown key 'colour'",
    "8:27: initial_state.object_details.desk.key_required": "the key 'kee' of 'desk' is placed",
    "10:35: initial_state.agent_setup.0.start_room": "unknown room 'c'",
    "13:32: win_conditions.0.agent_id": "unknown agent 'bob'",
    "14:5: win_conditions.1": "contradiction: 'pen' cannot be carried by 'bob' and in 'a' at once",
    "15:7: win_conditions.2.type": "unknown type 'flag_sett'",
    "17:32: lose_conditions.0.steps": "it must be at least 1 (got -2)",
    "24:31: events.0.response.0.object": "unknown object 'lamp'",
    "24:45: events.0.response.0.room": "unknown room 'wall'",
    "25:11: events.0.response.1.type": "unknown type 'jump'",
    "26:11: config.max_stepps": "did you mean 'max_steps'?",
    "28:22: characters.0.start": "unknown room 'zoo'",
}


def told_of(tmp_path: Path, text: str) -> list[str]:
    """Return what is told of a file."""
    path = tmp_path / "wrong.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ScenarioError) as caught:
        scenarios.load(path)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]


def compare(told: list[str], expected: dict[str, str]) -> None:
    """Check that this is told, at these places."""
    for place, words in expected.items():
        matching = [line for line in told if line.startswith(f"{place}: ")]
        assert matching, (place, told)
        assert words in matching[0]


@pytest.mark.parametrize("world", WORLDS)
def test_all_mistakes_are_told_at_once_with_line_and_column_in_every_world(
    world: str, tmp_path: Path
) -> None:
    if world != "ScreenSearch":  # whose rules need no window
        need(world)
    told = told_of(tmp_path, MISTAKES.format(world=world))
    compare(told, TOLD)
    extra = {"22:49: events.0.response.5.place"}  # where it is known what a place is
    assert {
        line.split(": ")[0] + ": " + line.split(": ")[1] for line in told
    } - TOLD.keys() <= extra


def test_all_mistakes_of_a_story_are_told_at_once_with_line_and_column(tmp_path: Path) -> None:
    told = told_of(tmp_path, STORY)
    compare(told, OF_STORY)
    assert len(told) == len(OF_STORY)


CLASHES = {
    "agent_in_room, agent_id: ann, room: a }|agent_in_room, agent_id: ann, room: b": "'ann' cannot",
    "item_in_room, item_name: pen, room: a }|item_in_room, item_name: pen, room: b": "in 'a' and",
    "item_in_inventory, item_name: pen }|item_in_room, item_name: pen, room: b": "carried and in",
    "item_in_inventory, agent_id: ann, item_name: pen }|item_in_inventory, agent_id: bo, "
    "item_name: pen": "carried by 'ann' and carried by 'bo'",
    "object_state, object: box, is_open: true }|object_state, object: box, is_open: false": (
        "open and closed"
    ),
    "object_state, object: box, locked: true }|object_state, object: box, locked: false": (
        "locked and unlocked"
    ),
    "agent_in_room, room: a }|agent_in_room, room: b": None,  # it may be two agents
    "item_in_inventory, item_name: pen }|item_in_inventory, agent_id: bo, item_name: pen": None,
}
HOUSE = """\
scenario_name: House
environment_type: TextRoom
initial_state:
  rooms: { a: { exits: { east: b }, objects: [pen, box] }, b: { exits: { west: a } } }
  object_details: { pen: { can_be_taken: true }, box: { is_container: true } }
  agent_setup: [{ agent_id: ann, start_room: a }, { agent_id: bo, start_room: a }]
"""


@pytest.mark.parametrize(("pair", "words"), CLASHES.items())
def test_contradictory_conditions_of_a_story_are_told(
    pair: str, words: str | None, tmp_path: Path
) -> None:
    one, other = pair.split(" }|")
    rows = f"  - {{ type: {one} }}\n  - {{ type: {other} }}\n"
    text = f"{HOUSE}win_logic: all\nwin_conditions:\n{rows}"
    if words is None:
        path = tmp_path / "right.yaml"
        path.write_text(text, "utf-8")
        assert scenarios.load(path).world == "TextRoom"
        return
    (told,) = told_of(tmp_path, text)
    assert told.startswith("10:5: win_conditions.1: contradiction: ")
    assert words in told


def test_what_wins_a_story_does_not_lose_it_too(tmp_path: Path) -> None:
    row = "  - { type: agent_in_room, agent_id: ann, room: b }\n"
    (told,) = told_of(tmp_path, f"{HOUSE}win_conditions:\n{row}lose_conditions:\n{row}")
    assert told.startswith("10:5: lose_conditions.0: this is a win condition too")


PING_PONG = """\
win_conditions:
  - { type: agent_in_room, agent_id: ann, room: b }
events:
  - trigger: { type: flag_set, flag_name: p }
    repeat: REPEAT
    response: [{ type: set_flag, flag_name: q }, { type: set_flag, flag_name: p, value: VALUE }]
  - trigger: { type: flag_set, flag_name: q }
    repeat: true
    response: [{ type: set_flag, flag_name: p }, { type: set_flag, flag_name: q, value: false }]
"""


@pytest.mark.parametrize(
    ("repeat", "value", "told"), [("true", "false", 1), ("false", "false", 0), ("true", "true", 0)]
)
def test_endless_chains_of_a_story_are_told(
    repeat: str, value: str, told: int, tmp_path: Path
) -> None:
    path = tmp_path / "story.yaml"
    path.write_text(
        HOUSE + PING_PONG.replace("REPEAT", repeat).replace("VALUE", value), encoding="utf-8"
    )
    warnings = scenarios.load(path).warnings
    assert len(warnings) == told
    place = f"{path}:10:5: events.0: endless: event_1, event_2 set each other off for ever, and are"
    assert all(line.startswith(place) for line in warnings)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("{ fact: step, atleast: 3 }", "atleast: unknown key 'atleast'; did you mean 'at_least'?"),
        ("{ flag: a, agent: all }", "agent: unknown key 'agent'; did you mean 'agent_id'?"),
        ("{ all: [{ fact: step, atleast: 3 }] }", "all.0.atleast: unknown key 'atleast'; did you"),
        ("{ not: { fact: step, atleast: 3 } }", "not.atleast: unknown key 'atleast'; did you"),
        ("{ any: [{ fact: step, at_least: 3 }], al: 1 }", "al: unknown key 'al'; "),
    ],
)
@pytest.mark.parametrize("key", ["lose_conditions: [", "events: [{ response: [], when: "])
def test_a_misspelt_key_of_a_condition_is_told_with_those_that_are_allowed(
    tmp_path: Path, key: str, condition: str, told: str
) -> None:
    end = "]" if key.endswith("[") else "}]"
    path = tmp_path / "x.yaml"
    path.write_text(f"scenario_name: x\nenvironment_type: GridWorld\n{key}{condition}{end}\n")
    with pytest.raises(ScenarioError) as caught:
        scenarios.load(path)
    start = "lose_conditions.0." if key.endswith("[") else "events.0.when."
    line = next(line for line in str(caught.value).splitlines() if "unknown key" in line)
    assert f"{start}{told}" in line
    assert "allowed: '" in line


TWICE = """\
scenario_name: Twice
environment_type: GridWorld
initial_state:
  max_steps: 30
  agent_ids: [x, y]
  start_pos: [0, 0]
  agent_setup:
    - agent_id: walker
    - { agent_id: runner, start_pos: [2, 2] }
characters: [{ agent_id: guard, start: [3, 3] }]
lose_conditions: [{ type: max_steps_reached, steps: 50 }]
"""


def test_starts_of_later_agents_alone_and_fields_that_agents_set_twice(tmp_path: Path) -> None:
    (tmp_path / "twice.yaml").write_text(TWICE)
    with pytest.raises(ScenarioError) as caught:
        scenarios.load(tmp_path / "twice.yaml")
    lines = [line.removeprefix(str(tmp_path)) for line in str(caught.value).splitlines()]
    assert [line.partition(": ")[0] for line in lines] == [
        "/twice.yaml:5:3",
        "/twice.yaml:6:3",
        "/twice.yaml:8:7",
    ]
    assert "'agent_ids' is set by the agents and characters already" in lines[0]
    assert "'start_pos' is set by the agents and characters already" in lines[1]
    assert "start_pos is missing: 'guard', who comes later, has one" in lines[2]


def test_the_earliest_of_the_limits_of_steps_holds(tmp_path: Path) -> None:
    lines = [line for line in TWICE.splitlines() if "agent_ids" not in line]
    text = "\n".join(lines[:4] + lines[-1:])
    (tmp_path / "limits.yaml").write_text(text)
    assert scenarios.load(tmp_path / "limits.yaml").config.max_steps == 30
    (tmp_path / "limits.yaml").write_text(text.replace("30", "70"))
    assert scenarios.load(tmp_path / "limits.yaml").config.max_steps == 50
