"""TextRoom as the seed describes it: its scenario, its commands, its words."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

import pytest

import piase_gym
from piase_gym import scenarios, testing
from piase_gym.errors import ConfigError, SnapshotError
from piase_gym.interfaces import EnvironmentInterface
from piase_gym.worlds.text_room.config import PHRASES, TextRoomConfig
from piase_gym.worlds.text_room.rules import events
from tests.probes.checks import CONTRACT, check_damage
from tests.worlds.text_room.helpers import (
    AGENT,
    SEVEN,
    make,
    play,
    say,
    seed_scenario,
    seed_text,
    story,
)

LATE = story(
    agent_setup=[
        {
            "agent_id": "ann",
            "start_room": "hall",
            "stats": {"energy": {"start": 9, "per_step": -1}},
        },
        {"agent_id": "bob", "start_room": "den", "join_at": 3, "initial_inventory": ["torch"]},
    ],
    ends="each",
    events=[
        {
            "trigger": {"type": "agent_enters", "room": "den"},
            "response": {"type": "message_to_agent", "content": "It is dark here."},
            "repeat": True,
        }
    ],
)
CONFIGS: dict[str, dict[str, Any]] = {
    "lost_key": {"scenario": "lost_key"},
    "late": {"story": LATE, "max_steps": 20},
    "quest": {"agents": 2, "rooms": 3, "depth": 1, "distractors": 2, "max_steps": 20},
}


# -- what every world is held to -----------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_the_contract(name: str) -> None:
    fields = dict(CONFIGS[name])
    if "scenario" in fields:
        fields = dict(scenarios.load(fields["scenario"]).fields)
    testing.check_world("TextRoom", checks=CONTRACT, **fields)


def test_damaged_states_are_refused() -> None:
    check_damage("TextRoom", {"agents": 2}, agents=3)
    check_damage("TextRoom", {"rooms": 3}, distractors=6)


# -- the seed's scenario -------------------------------------------------------------------


def lost_key(**face: Any) -> Any:
    env = piase_gym.parallel_env("TextRoom", scenario="lost_key", actions="text", **face)
    env.reset(seed=0)
    return env


def test_the_seven_commands_win() -> None:
    env = lost_key()
    infos = [say(env, line) for line in SEVEN]
    assert [info["outcome"] for info in infos] == ["ok"] * 7
    assert infos[-1]["terminated"]
    assert not infos[-1]["truncated"]
    assert infos[-1]["result"] == "won"
    assert "key_found_by_agent" in infos[1]["milestones"]
    assert env.agents == []


def test_searching_the_clock_does_as_well_as_opening_it() -> None:
    env = lost_key()
    lines = [line.replace("open grandfather", "search grandfather") for line in SEVEN]
    assert play(env, *lines)["result"] == "won"


def test_opening_the_desk_first_fails_and_says_why() -> None:
    info = say(lost_key(), "open desk")
    assert info["outcome"] == "failed"
    assert "locked" in info["feedback"]


def test_reading_sets_the_flag() -> None:
    env = make({**_as_dict("lost_key"), "win_conditions": [{"type": "flag_set", "flag_name": "x"}],
                "events": [{"trigger": {"type": "step_reached", "step": 99},
                            "response": {"type": "set_flag", "flag_name": "x"}}]})  # fmt: skip
    info = play(env, *SEVEN, "read old document")
    assert "E=mc^2" in info["feedback"]
    assert env.world.state_of.flags[0] == ["has_read_old_document"]


def test_two_hundred_steps_without_winning_are_lost() -> None:
    env = lost_key()
    for step in range(200):
        info = say(env, "wait")
        assert info["truncated"] == (step == 199)
        assert not info["terminated"]
    assert info["result"] == "lost"


def test_three_looks_at_the_bookshelf_bring_the_clue() -> None:
    env = lost_key()
    for looks in range(1, 6):
        say(env, "look at the bookshelf")
        told = [letter.message for letter in env.facts(AGENT).messages if letter.sender == "system"]
        assert bool(told) == (looks == 3)
        if looks == 3:
            assert "faint shimmer" in told[0]


def test_custom_properties_and_top_level_are_alike() -> None:
    one = _as_dict("lost_key")
    two = _as_dict("lost_key")
    for thing in two["object_details"].values():
        thing.update(thing.pop("custom_properties", {}))
    first, second = make(one), make(two)
    for line in ("open desk", *SEVEN):
        assert say(first, line) == say(second, line)
        assert first.digest() == second.digest()


def _as_dict(name: str) -> dict[str, Any]:
    """Return a scenario's story as the plain data of its file."""
    from piase_gym.scenarios.loader import _library
    from piase_gym.scenarios.reading import read_file

    data = read_file(_library()[name]).data
    parts = {key: data[key] for key in ("win_conditions", "lose_conditions", "events")}
    return {**data["initial_state"], **parts}


def test_the_seeds_own_file_runs_as_written(tmp_path: Any) -> None:
    text = seed_text()
    if text is None:
        pytest.skip("the PiaSE documents are not here")
    path = tmp_path / "seed.yaml"
    path.write_text(seed_scenario(text), "utf-8")
    scenario = scenarios.load(path)
    assert scenario.fields == scenarios.load("lost_key").fields
    assert len(scenario.config.story.events) == 2
    assert "document_secured" in scenario.warnings[0]


# -- the design document's words ----------------------------------------------------------------

STUDY = story(
    rooms={
        "study": {
            "description": "a dimly lit study. There is a large desk and a bookshelf.",
            "exits": {"north": "hallway", "west": "library"},
            "objects": ["desk", "bookshelf"],
        },
        "hallway": {"exits": {"south": "study"}},
        "library": {"exits": {"east": "study"}},
    },
    object_details={
        "desk": {"description": "a large oak desk.", "is_container": True, "contains": ["journal"]},
        "bookshelf": {"description": "a tall bookshelf."},
        "journal": {"can_be_taken": True},
    },
    agent_setup={"agent_id": "agent_1", "start_room": "study", "initial_inventory": ["torch"]},
    win_conditions=[{"type": "item_in_inventory", "item_name": "journal"}],
)


def test_perceptions_are_those_of_the_seeds_example() -> None:
    env = EnvironmentInterface("TextRoom", story=STUDY)
    env.reset(seed=0)
    seen = env.get_perceptions("agent_1")
    assert seen["room_name"] == "Study"
    assert seen["description"] == (
        "You are in a dimly lit study. There is a large desk and a bookshelf. "
        "Exits are north and west."
    )
    assert seen["objects_visible"] == [
        {"name": "desk", "description": "a large oak desk."},
        {"name": "bookshelf", "description": "a tall bookshelf."},
    ]
    assert seen["inventory"] == ["torch"]
    assert seen["messages"] == []


@pytest.mark.parametrize(
    "command",
    [
        {"action_type": "go", "parameters": {"direction": "north"}},
        {"action_type": "open", "parameters": {"target_object": "desk"}},
        {"action_type": "open", "parameters": {"item_name": "desk"}},
        {"action_type": "look", "parameters": {"target": "bookshelf"}},
        {"action_type": "look", "parameters": {}},
    ],
)
def test_commands_of_the_seed_are_understood(command: dict[str, Any]) -> None:
    env = EnvironmentInterface("TextRoom", story=STUDY)
    env.reset(seed=0)
    assert env.submit_action("agent_1", command)["status"] == "success"


def test_the_native_text_says_what_the_seed_says() -> None:
    env = make(STUDY)
    text = env.world.native_text(0)
    assert "[Study] You are in a dimly lit study. There is a large desk" in text
    assert "Exits are north and west." in text
    assert "You see: desk (closed), bookshelf." in text


# -- rules ---------------------------------------------------------------------------------


def test_a_closed_container_hides_what_is_in_it() -> None:
    env = make(story())
    assert "the gem in" not in env.world.text(env.facts("ann"))
    assert say(env, "take gem")["outcome"] == "illegal"
    say(env, "open box")
    assert "You see the gem in the box" in env.world.text(env.facts("ann"))
    say(env, "close box")
    assert "the gem in" not in env.world.text(env.facts("ann"))


def test_things_can_be_put_and_taken_out_again() -> None:
    given = story(win_conditions=[{"type": "agent_in_room", "room": "den"}])
    env = make(given)
    info = play(
        env, "open box", "take gem from box", "put the gem into the box", "take gem", "drop gem"
    )
    assert info["outcome"] == "ok"
    assert say(env, "take gem from box")["outcome"] == "illegal"
    assert say(env, "east")["result"] == "won"


def test_a_container_does_not_go_into_itself() -> None:
    given = story(
        object_details={
            "box": {
                "can_be_taken": True,
                "is_container": True,
                "is_open": True,
                "contains": ["gem"],
            },
            "bag": {"can_be_taken": True, "is_container": True, "is_open": True},
            "gem": {"can_be_taken": True},
        },
        rooms={"hall": {"objects": ["box", "bag"]}},
        win_conditions=[{"type": "item_in_room", "item_name": "gem", "room": "hall"}],
    )
    env = make(given)
    play(env, "take box", "take bag", "put box in bag")
    assert say(env, "put bag in box")["outcome"] in ("failed", "illegal")
    assert "You see the gem in the box" in env.world.text(env.facts("ann"))


def test_doors_stand_on_both_sides() -> None:
    rooms = {
        "hall": {"exits": {"east": {"room": "den", "door": "oak_door"}}, "objects": ["box"]},
        "den": {"exits": {"west": {"room": "hall", "door": "oak_door"}}},
    }
    details = {
        "oak_door": {"locked": True, "key_required": "key"},
        "box": {"contains": ["key", "gem"]},
        "key": {"can_be_taken": True},
    }
    wins = [{"type": "agent_in_room", "agent_id": "ann", "room": "den"}]
    env = make(story(rooms=rooms, object_details=details, win_conditions=wins))
    assert say(env, "go east")["outcome"] == "failed"
    assert "locked" in say(env, "open oak door")["feedback"]
    play(env, "open box", "take key")
    assert say(env, "unlock the oak door with the key")["outcome"] == "ok"
    assert "closed" in say(env, "e")["feedback"]
    assert play(env, "open door", "e")["result"] == "won"


def test_the_first_to_take_something_has_it() -> None:
    setups = [{"agent_id": name, "start_room": "hall"} for name in ("ann", "bob")]
    wins = [{"type": "agent_in_room", "room": "den"}]
    env = make(story(agent_setup=setups, win_conditions=wins))
    env.step({"ann": "open box", "bob": "wait"})
    infos = env.step({"ann": "take gem", "bob": "take gem"})[4]
    assert (infos["ann"]["outcome"], infos["bob"]["outcome"]) == ("ok", "failed")
    assert "faster" in infos["bob"]["feedback"]
    infos = env.step({"ann": "give gem to bob", "bob": "tell ann thank you, Ann!"})[4]
    assert infos["ann"]["outcome"] == "ok"
    assert [held.name for held in env.facts("bob").inventory] == ["gem"]
    say(env, "wait")
    assert env.facts("ann").messages[0].message == "thank you, Ann!"


BANG = [{"type": "remove_object", "object": "gem"}]
FELL = [*BANG, {"type": "spawn_object", "object": "gem", "room": "hall"}]  # it lies there now
AWAY = [{"type": "move_agent", "agent_id": "bob", "room": "den"}]


@pytest.mark.parametrize(
    ("done", "line", "told"),
    [
        (BANG, "give gem to ann", "faster"),
        (BANG, "drop gem", "faster"),
        (BANG, "put gem in box", "faster"),
        (BANG, "use gem on altar", "faster"),  # which has an interaction with it
        (BANG, "use gem on box", "faster"),
        (BANG, "unlock box with gem", "faster"),
        (BANG, "look at gem", "faster"),
        (FELL, "give gem to ann", "faster"),
        (FELL, "drop gem", "faster"),
        (FELL, "put gem in box", "faster"),
        (FELL, "use gem on altar", "faster"),
        (FELL, "use gem on box", "faster"),
        (FELL, "unlock box with gem", "faster"),
        (AWAY, "give gem to ann", "ann is no longer here"),
        (AWAY, "use gem on altar", "faster"),
        (AWAY, "put gem in box", "faster"),
        (AWAY, "use altar", "faster"),
        (AWAY, "open cage", "faster"),
        (AWAY, "take coin", "faster"),
    ],
)
def test_what_another_has_changed_in_the_same_step_makes_a_command_fail(
    done: list[dict[str, Any]], line: str, told: str
) -> None:
    def looking_at(target: str, response: list[dict[str, Any]]) -> dict[str, Any]:
        trigger = {"type": "action_taken", "action_type": "look", "target": target}
        return {"trigger": {**trigger, "agent_id": "ann"}, "response": response}

    blessing = {"action": "use", "content": "Light!", "response": [
        {"type": "set_flag", "flag_name": "blessed", "agent_id": "bob"}]}  # fmt: skip
    env = make(
        story(
            rooms={
                "hall": {"exits": {"east": "den"}, "objects": ["box", "altar", "cage", "coin"]},
                "den": {"exits": {"west": "hall"}, "objects": ["bell"]},
            },
            object_details={
                "box": {"is_container": True, "is_open": True},
                "cage": {"is_container": True},
                "coin": {"can_be_taken": True},
                "gem": {"can_be_taken": True},
                "altar": {"interactions": [blessing, {**blessing, "item_name": "gem"}]},
            },
            agent_setup=[
                {"agent_id": "ann", "start_room": "hall"},
                {"agent_id": "bob", "start_room": "hall"},
            ],
            win_conditions=[{"type": "flag_set", "flag_name": "blessed", "agent_id": "bob"}],
            events=[
                looking_at("cage", [{"type": "spawn_object", "object": "gem", "agent_id": "bob"}]),
                looking_at("altar", done),
            ],
        )
    )
    env.step({"ann": "look at cage", "bob": "wait"})
    place = env.world.plot.object_of["gem"]
    infos = env.step({"ann": "look at altar", "bob": line})[4]
    after = env.world.state_of.place[place]
    assert infos["bob"]["outcome"] == "failed"
    assert told in infos["bob"]["feedback"]
    assert "result" not in infos["bob"]
    hands = len(env.world.plot.rooms) + len(env.world.plot.objects) + 1
    assert after == (-1 if done is BANG else 0 if done is FELL else hands)
    assert env.agents == ["ann", "bob"]


def test_what_is_said_is_heard_a_step_later_by_whom_the_config_says() -> None:
    setups = [
        {"agent_id": "ann", "start_room": "hall"},
        {"agent_id": "bob", "start_room": "den"},
        {"agent_id": "cat", "start_room": "hall"},
    ]
    for hearing, heard in (("everywhere", True), ("room", False)):
        env = make(story(agent_setup=setups), hearing=hearing)
        say(env, "say Hello, World!")
        assert not env.facts("cat").messages
        say(env, "wait")
        assert env.facts("cat").messages[0].message == "Hello, World!"
        assert bool(env.facts("bob").messages) == heard


def test_numbers_of_the_body_change_and_can_lose() -> None:
    setup = {
        "agent_id": "ann",
        "start_room": "hall",
        "stats": {"energy": {"start": 3, "per_step": -1}},
    }
    lose = [{"type": "agent_state_condition", "agent_id": "ann", "condition": "energy <= 0"}]
    env = make(story(agent_setup=setup, lose_conditions=lose))
    assert "Your energy is 3." in env.world.text(env.facts("ann"))
    assert play(env, "wait", "wait")["reward"] == pytest.approx(-0.1)
    info = say(env, "wait")
    assert info["terminated"]
    assert info["result"] == "lost"


def test_each_agent_can_win_by_itself() -> None:
    env = make({**LATE, "win_conditions": [{"type": "agent_in_room", "room": "den"}]})
    info = say(env, "east")
    assert info["result"] == "won"
    assert env.agents == []  # nobody is left in play, though bob was still to come


# -- the table -----------------------------------------------------------------------------


def test_an_index_means_the_same_command_in_every_episode() -> None:
    env = piase_gym.parallel_env("TextRoom", agents=2)
    tables = []
    for seed in range(3):
        env.reset(seed=seed)
        tables.append([env.world.command(0, k) for k in range(env.world.num_actions)])
    assert tables[0] == tables[1] == tables[2]
    lines = [env.world.write(command) for command in tables[0]]
    assert lines[:4] == ["wait", "look", "inventory", "go north"]
    assert f"say {PHRASES[0]}" in lines


@pytest.mark.parametrize("name", CONFIGS)
def test_masks_rows_and_rules_agree_wherever_one_comes(name: str) -> None:
    world = piase_gym.parallel_env("TextRoom", **CONFIGS[name]).world
    rng = random.Random(1)
    remembered = 0
    for seed in range(3):
        world.reset(seed)
        for t in range(120):
            if not any(world.alive):
                break
            acts: list[int | None] = [None] * len(world.agents)
            for agent, mask in enumerate(world.masks()):
                if world.alive[agent]:
                    judged = [world.legal(agent, c) for c in world._table.actions.commands if c]
                    listed = [
                        bool(m)
                        for c, m in zip(world._table.actions.commands, mask, strict=True)
                        if c
                    ]
                    assert judged == listed
                    acts[agent] = rng.choice([k for k, bit in enumerate(mask) if bit])
            if t % 10 == 3:
                world.give_hint(0, f"hint {t}")
            for agent, vector in enumerate(world.vectors()):
                assert (vector == world.vector(world.facts(agent))).all()
            before = [world._views.of(k, world.state_of) for k in range(len(world.agents))]
            world.step(acts)
            after = [world._views.of(k, world.state_of) for k in range(len(world.agents))]
            remembered += before[0] is after[0]
    assert remembered > 5  # most commands move nothing


def test_quests_share_an_envelope_with_stories() -> None:
    small = TextRoomConfig(rooms=3, depth=1)
    envelope = small.sizes().union(TextRoomConfig(story=story()).sizes()).model_dump()
    env = piase_gym.parallel_env("TextRoom", rooms=3, depth=1, envelope=envelope, view="vector")
    env.reset(seed=0)
    env.reconfigure({"story": story()})
    observations, _ = env.reset(seed=0)
    (name,) = observations
    assert env.observation_space(name).contains(observations[name])
    assert env.facts(name).room == "hall"


# -- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rooms": 0}, "rooms"),
        ({"theme": "spaceship"}, "theme"),
        ({"story": story(win_conditions=[])}, "win_conditions"),
        ({"story": story(), "agents": 0}, "agents"),
        (
            {"story": story(agent_setup=[{"agent_id": "ann", "start_room": "attic"}])},
            "unknown room 'attic'",
        ),
        ({"story": story(zebra=1)}, "unknown key 'story.zebra'; allowed: 'description', 'rooms'"),
        ({"story": story(ends="never")}, "TextRoom.story.ends: "),
    ],
)
def test_wrong_configs_are_one_sentence(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match="(?s)" + told):
        TextRoomConfig(**changes)


# -- events without end ----------------------------------------------------------------------------


def ping(flag: str, other: str, **more: Any) -> dict[str, Any]:
    """Return an event that answers a flag by clearing it and setting another, again and again."""
    return {
        "trigger": {"type": "flag_set", "flag_name": flag},
        "repeat": True,
        "response": [
            {"type": "set_flag", "flag_name": flag, "value": False},
            {"type": "message_to_agent", "content": "x" * 300},
            {"type": "add_metric", "metric": "turns", "amount": 1e5},
            {"type": "change_stat", "stat": "pulse", "amount": -1e5},
            {"type": "reward", "amount": 1.0},
            {"type": "set_flag", "flag_name": other},
        ],
        **more,
    }


def test_events_that_set_each_other_off_for_ever_come_to_an_end_in_each_step() -> None:
    start = {"type": "action_taken", "action_type": "look"}
    setup = {"agent_id": "ann", "start_room": "hall"}
    doors = [
        {"trigger": {"type": "agent_enters", "room": here}, "repeat": True,
         "response": [{"type": "move_agent", "room": there}]}
        for here, there in (("hall", "den"), ("den", "hall"))
    ]  # fmt: skip
    env = make(
        story(
            agent_setup=[{**setup, "stats": {"pulse": {"start": 0}}}],
            events=[
                {"trigger": start, "repeat": True,
                 "response": [{"type": "set_flag", "flag_name": "a"}]},
                ping("a", "b"),
                ping("b", "a"),
                *doors,
            ],
        ),
        view="both",
    )  # fmt: skip
    for line in ("look", "go east", "look", "wait"):
        observations, rewards, *_ = env.step({"ann": line})
        assert env.observation_space("ann").contains(observations["ann"])
        assert 0.0 <= rewards["ann"] + 0.1 <= 2 * events.MOST_ROUNDS
    assert env.world.state_of.metrics["turns"] == events.LIMIT
    assert env.world.state_of.stats[0]["pulse"] == -events.LIMIT
    assert sum(env.world.state_of.fired) < 10 * events.MOST_ROUNDS
    saved = env.snapshot()
    again = make(None, story=env.world.config.story)
    again.restore(saved)
    assert again.digest() == env.digest()


def test_a_lone_agent_is_told_what_to_do_itself() -> None:
    assert "see that" not in make(story()).instructions("ann")
    two = [{"agent_id": name, "start_room": "hall"} for name in ("ann", "bob")]
    assert "see that" in make(story(agent_setup=two)).instructions("ann")


def test_descriptions_that_grow_stay_in_the_space() -> None:
    grown = {"type": "change_state", "object": "box", "description": "long " * 390}
    event = {"trigger": {"type": "action_taken", "action_type": "look"}, "response": grown}
    env = make(story(events=[event]), view="text")
    for line in ("look at box", "look at box", "look at box"):
        shown = env.step({"ann": line})[0]["ann"]
        assert env.observation_space("ann").contains(shown)
    assert "long long" in shown


@pytest.mark.parametrize("amount", [float("inf"), float("nan")])
def test_stories_have_finite_numbers(amount: float) -> None:
    gift = {"type": "add_metric", "metric": "luck", "amount": amount}
    event = {"trigger": {"type": "action_taken", "action_type": "look"}, "response": gift}
    with pytest.raises(ConfigError, match="finite number"):
        make(story(events=[event]))


@pytest.mark.parametrize("name", ["hidden", "found", "is_open", "locked"])
def test_states_whose_things_are_half_open_are_refused(name: str) -> None:
    env = piase_gym.parallel_env("lost_key")
    env.reset(seed=0)
    world, before = env.world, env.digest()
    for place in range(len(world.get_state()["room"][name])):
        state = copy.deepcopy(world.get_state())
        state["room"][name][place] = 2
        with pytest.raises(SnapshotError, match="values out of range"):
            world.set_state(state)
    assert env.digest() == before


def test_events_that_multiply_do_not_grow_without_bound() -> None:
    flags = [f"f{k}" for k in range(12)]
    clear = [{"type": "set_flag", "flag_name": flag, "value": False} for flag in flags]
    raise_all = [{"type": "set_flag", "flag_name": flag} for flag in flags]
    look = {"type": "action_taken", "action_type": "look"}
    answers = [
        {"trigger": {"type": "flag_set", "flag_name": flag}, "repeat": True,
         "response": [*clear, *raise_all]}
        for flag in flags
    ]  # fmt: skip
    env = make(story(events=[{"trigger": look, "response": raise_all}, *answers]))
    env.step({"ann": "look"})
    assert sum(env.world.state_of.fired) <= events.MOST_HAPPENINGS + 12


@pytest.mark.parametrize("seed", range(3))
def test_any_config_is_played_or_refused_in_our_words(seed: int) -> None:
    dice, refused = random.Random(seed), []
    odd = (None, True, -1, 0, 1, 2, 3, 17, 10**30, 0.5, float("nan"), "", "house", [], {}, "x" * 99)
    names = [*TextRoomConfig.model_fields, "zebra"]
    for _ in range(60):
        given = {dice.choice(names): dice.choice(odd) for _ in range(dice.choice((1, 2, 3)))}
        try:
            env = piase_gym.parallel_env("TextRoom", **given)
        except ConfigError as error:
            refused.append(str(error))
            continue
        observations, _ = env.reset(seed=seed)
        for name, view in observations.items():
            assert env.observation_space(name).contains(view)
        env.step(dict.fromkeys(env.agents, 0))
    assert refused
    assert not re.search("[Ii]nput should|valid (dict|tuple|integer)", "\n".join(refused))


def test_a_copy_shares_what_never_changes_and_knows_its_own_commands() -> None:
    env = piase_gym.parallel_env("TextRoom", agents=2)
    env.reset(seed=0)
    twin = copy.deepcopy(env.world)
    assert twin._actions is env.world._actions
    for agent in range(2):
        listed = twin.admissible(agent)
        assert listed == env.world.admissible(agent)
        assert all(twin._actions.place(command) is not None for command in listed)
