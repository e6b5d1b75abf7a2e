"""`CurriculumWrapper`: steps, hints, attempts, several agents, spaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import curricula, runs
from piase_gym.core.text_encoding import hash_text
from piase_gym.curricula import ParallelCurricula
from piase_gym.curricula.export import plain
from piase_gym.errors import ConfigError, CurriculumError, EnvelopeError, UnknownFieldError
from piase_gym.simulation.sensors import Sensor
from piase_gym.wrappers import AddSensors, AvtLogger, CurriculumWrapper, TextEmbeddingEnv
from piase_gym.wrappers.keep_agents import KeepAgents
from tests.curricula.example_curricula import (
    CORNER,
    RIGHT,
    STAY,
    STAYS,
    arrive,
    curriculum,
    dse,
    play,
    stay,
    step,
    told,
)
from tests.curricula.wrapper_helpers import FILES, make
from tests.helpers.checkers import parallel_api_test

# -- as its author meant -----------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES)
def test_who_never_moves_fails_at_the_second_step(file: Path) -> None:
    env = make(file)
    assert play(env, stay) == 6
    assert told(env) == STAYS
    assert env.progress["agent_0"].failed
    assert env.progress["agent_0"].completed_steps == []
    assert env.decisions[2].rule == "step_attempts >= 3"
    assert env.decisions[4].values == {"step_attempts": 2, "reached_goal_2": False}


@pytest.mark.parametrize("file", FILES)
def test_who_arrives_at_once_needs_two_attempts(file: Path) -> None:
    env = make(file)
    assert play(env, arrive) == 2
    assert told(env) == [(1, 1, "PROCEED"), (2, 1, "PROCEED")]
    assert env.progress["agent_0"].finished
    assert env.progress["agent_0"].completed_steps == [1, 2]


def test_the_world_is_that_of_the_step() -> None:
    env = make()
    seen = []
    for _ in range(4):
        env.reset(seed=3)
        config = env.unwrapped.config
        seen.append((config.width, config.goals, config.walls, config.max_steps))
        while env.agents:
            env.step({"agent_0": STAY})
    first = (5, ((0, 2),), (), 20)
    assert seen == [first] * 3 + [(5, ((4, 4),), ((2, 2), (2, 3)), 30)]
    assert [d.env_steps for d in env.decisions] == [20, 20, 20, 30]


# -- hints -------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["both", "vector", "text"])
def test_a_hint_is_in_the_first_observation_of_the_attempt(view: str) -> None:
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld", view=view), CORNER)
    texts = []
    for episode in range(6):
        observations, _ = env.reset(seed=episode)
        seen = observations["agent_0"]
        if view != "text":
            vector = seen if view == "vector" else seen["vector"]
            area = env.unwrapped.world.form.rows * env.unwrapped.world.form.columns
            code = vector[area + 8 : area + 16]
            wanted = hash_text("Walk down the left side." if episode == 5 else None)
            assert np.array_equal(code, wanted)
        if view != "vector":
            text = seen if view == "text" else seen["text"]
            texts.append("Hint: Walk down the left side." in text)
        while env.agents:
            env.step({"agent_0": STAY})
    assert texts in ([], [False] * 5 + [True])


def test_a_hint_is_in_every_episode_of_its_attempt_and_in_no_other() -> None:
    rules = [["step_attempts == 1", "APPLY_HINT_01"], ["step_attempts == 2", "REPEAT_STEP"]]
    hints = {"HINT_01": {"data": {"message": "Go right."}}}
    plan = curriculum(step(1, adaptation_rules=rules, hints=hints, episodes_per_attempt=2))
    env = make(plan)
    shown = []
    for _ in range(6):
        env.reset(seed=0)
        shown.append(env.unwrapped.world.hints[0])
        while env.agents:
            env.step({"agent_0": STAY})
    assert shown == [None, None, "Go right.", "Go right.", None, None]
    assert [d.episodes for d in env.decisions] == [2, 2, 2]


# -- attempts ----------------------------------------------------------------------------------


def test_an_attempt_of_several_episodes_is_judged_by_all_of_them() -> None:
    half = [{"metric": "success_rate", "operator": ">=", "value": 0.5}]
    plan = curriculum(step(1, completion_criteria=half, episodes_per_attempt=4))
    env = make(plan)
    for episode in range(8):
        env.reset(seed=0)
        wins = episode in (3, 5, 6)
        while env.agents:
            env.step({"agent_0": RIGHT if wins else STAY})
    assert [(d.decision, d.values["success_rate"]) for d in env.decisions] == [
        ("REPEAT_STEP", 0.25),
        ("PROCEED", 0.5),
    ]


def test_resets_without_a_step_are_no_attempts(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(make(), path)
    for _ in range(3):
        for _ in range(4):
            env.reset(seed=1)
        while env.agents:
            env.step({"agent_0": STAY})
    env.reset()
    env.close()
    assert [d[1] for d in told(env)] == [1, 2, 3]
    begun = [data for kind, data in dse(path) if kind == "DSE_STEP_ATTEMPT_START"]
    assert [(d["order"], d["attempt"]) for d in begun] == [(1, 1), (1, 2), (1, 3), (2, 1)]
    assert runs.replay(path).ok


def test_an_episode_that_is_broken_off_is_played_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(make(curriculum(step(1, episodes_per_attempt=2))), path)
    for steps in (2, 6, 1, 3, 6):
        env.reset(seed=0)
        for _ in range(steps):
            env.step({"agent_0": STAY})
    env.close()
    assert [(d.attempt, d.episodes, d.env_steps) for d in env.decisions] == [(1, 2, 12)]
    assert runs.replay(path).ok


def test_max_attempts_end_a_curriculum() -> None:
    env = make(curriculum(step(1, max_attempts=2), step(2)))
    assert play(env, stay) == 2
    assert told(env) == [(1, 1, "REPEAT_STEP"), (1, 2, "FAIL_CURRICULUM")]


def test_after_the_end_the_world_stays_that_of_the_last_step() -> None:
    env = make()
    play(env, arrive)
    before = len(env.decisions)
    for _ in range(3):
        env.reset()
        assert env.unwrapped.config.goals == ((4, 4),)
        while env.agents:
            env.step({"agent_0": STAY})
    assert len(env.decisions) == before


def test_the_longest_attempt_sets_the_length_for_several_agents() -> None:
    plans = {
        f"agent_{n}": curriculum(
            {**step(1, config={}), "max_interactions": length}, name=f"for {n}"
        )
        for n, length in enumerate((5, 9))
    }
    for plan in plans.values():
        plan.steps[0].environment_config_overrides.pop("start_pos")
    env = make(plans, config={"agents": 2})
    env.reset(seed=0)
    assert env.unwrapped.config.max_steps == 9


# -- several agents ----------------------------------------------------------------------------


def test_two_agents_follow_different_curricula_in_one_world(tmp_path: Path) -> None:
    first = curriculum(
        {**step(1), "environment_config_overrides": {"start_pos": [0, 0], "goal_pos": [3, 0]}},
        {**step(2), "environment_config_overrides": {"start_pos": [1, 0], "goal_pos": [3, 0]}},
        name="first",
    )
    second = curriculum(
        {**step(1), "environment_config_overrides": {"start_pos": [0, 1], "goal_pos": [3, 1]}},
        {
            **step(5, adaptation_rules=[["step_attempts >= 2", "BRANCH_TO_1"]]),
            "environment_config_overrides": {"start_pos": [2, 1], "goal_pos": [3, 1]},
        },
        name="second",
    )
    config = {"agents": 2, "width": 4, "height": 2}
    path = tmp_path / "run.jsonl"
    env = AvtLogger(make({"agent_0": first, "agent_1": second}, config=config), path)
    moves = {"agent_0": [RIGHT, STAY, STAY, RIGHT], "agent_1": [RIGHT, STAY, STAY, RIGHT]}
    starts = []
    for episode in range(4):
        env.reset(seed=episode)
        starts.append(env.unwrapped.config.starts)
        while env.agents:
            env.step({agent: moves[agent][episode] for agent in env.agents})
    env.close()
    assert [(d.agent, d.step, d.attempt, d.decision) for d in env.decisions] == [
        ("agent_0", 1, 1, "PROCEED"),
        ("agent_1", 1, 1, "PROCEED"),
        ("agent_0", 2, 1, "REPEAT_STEP"),
        ("agent_1", 5, 1, "REPEAT_STEP"),
        ("agent_0", 2, 2, "REPEAT_STEP"),
        ("agent_1", 5, 2, "BRANCH_TO_1"),
        ("agent_0", 2, 3, "PROCEED"),
        ("agent_1", 1, 2, "PROCEED"),
    ]
    assert starts == [((0, 0), (0, 1)), ((1, 0), (2, 1)), ((1, 0), (2, 1)), ((1, 0), (0, 1))]
    assert env.progress["agent_0"].finished
    assert runs.replay(path).ok
    manifest = runs.read(path).manifest
    assert {a: c["name"] for a, c in manifest["curricula"].items()} == {
        "agent_0": "first",
        "agent_1": "second",
    }


def test_agents_without_a_curriculum_just_play() -> None:
    config = {"agents": 3, "width": 4, "height": 3}
    free = {"environment_config_overrides": {"goal_pos": [3, 0]}}
    env = make({"agent_1": curriculum({**step(1), **free})}, config=config)
    env.reset(seed=0)
    while env.agents:
        env.step(dict.fromkeys(env.agents, RIGHT))
    assert list(env.progress) == ["agent_1"]
    assert [d.agent for d in env.decisions] == ["agent_1"]


def test_shared_fields_must_agree_or_have_a_lead() -> None:
    wide, narrow = ({**step(1), "environment_config_overrides": {"width": w}} for w in (6, 5))
    plans = {"agent_0": curriculum(wide), "agent_1": curriculum(narrow)}
    with pytest.raises(CurriculumError, match=r"width=6 for agent_0 .* width=5 for agent_1.*lead"):
        make(plans, config={"agents": 2})
    plans["agent_1"] = curriculum(narrow, lead="agent_1")
    env = make(plans, config={"agents": 2})
    env.reset(seed=0)
    assert env.unwrapped.config.width == 5
    plans["agent_0"] = curriculum(wide, lead="agent_0")
    with pytest.raises(CurriculumError, match="one lead"):
        make(plans, config={"agents": 2})
    with pytest.raises(CurriculumError, match="'agent_7' has no curriculum"):
        make({"agent_0": curriculum(wide, lead="agent_7")}, config={"agents": 2})


# -- spaces ------------------------------------------------------------------------------------


def test_an_env_that_was_never_reset_gets_the_spaces_of_all_steps() -> None:
    plan = curriculum(step(1), step(2, config={"width": 12, "height": 9, "window": 9}))
    inner = piase_gym.parallel_env("GridWorld", width=3, height=3, view="vector")
    env = CurriculumWrapper(inner, plan)
    envelope = env.unwrapped.world.envelope
    assert (envelope.width, envelope.height, envelope.window) == (12, 9, 9)
    space = env.observation_space("agent_0")
    for _ in range(2):
        observations, _ = env.reset(seed=0)
        assert observations["agent_0"] in space
        assert env.observation_space("agent_0") is space
        while env.agents:
            seen = env.step({"agent_0": arrive(env, "agent_0")})[0]
            assert seen["agent_0"] in space
    assert env.progress["agent_0"].finished


def test_after_a_reset_too_small_an_envelope_is_an_error_with_the_line_to_write() -> None:
    plan = curriculum(step(1), step(2, config={"width": 12, "height": 9}))
    inner = piase_gym.parallel_env("GridWorld", width=3, height=3)
    inner.reset(seed=0)
    with pytest.raises(EnvelopeError, match=r"step \d+ .*parallel_env") as caught:
        CurriculumWrapper(inner, plan)
    line = str(caught.value).split("parallel_env(..., envelope=")[1].removesuffix(")")
    other = piase_gym.parallel_env("GridWorld", width=3, height=3, envelope=eval(line))
    other.reset(seed=0)
    env = CurriculumWrapper(other, plan)
    assert play(env, arrive) == 2


def test_a_wrapper_that_has_fixed_its_spaces_is_named() -> None:
    plan = curriculum(step(1, config={"width": 12, "height": 9}))
    inner = KeepAgents(piase_gym.parallel_env("GridWorld", view="vector"))
    assert CurriculumWrapper(inner, CORNER).progress["agent_0"].active
    small = piase_gym.parallel_env("GridWorld", width=3, height=3, view="vector")
    hinted = Sensor("hinted", lambda facts: float(facts.hint is not None), low=0, high=1)
    sensed = AddSensors(small, hinted)
    with pytest.raises(EnvelopeError, match=r"AddSensors .* put it around CurriculumWrapper"):
        CurriculumWrapper(sensed, plan)
    assert sensed.unwrapped.config.envelope.width == 3
    single = TextEmbeddingEnv(piase_gym.gym_env("GridWorld", width=3, height=3, view="text"))
    with pytest.raises(EnvelopeError, match=r"TextEmbeddingEnv .* put it around Curriculum"):
        CurriculumWrapper(single, plan)
    sensed = CurriculumWrapper(AddSensors(piase_gym.parallel_env("GridWorld"), hinted), CORNER)
    shown = [sensed.reset(seed=0)[0], sensed.step({"agent_0": STAY})[0]]
    assert all(sensed.observation_space("agent_0").contains(each["agent_0"]) for each in shown)


def test_the_seed_seeds_the_world_and_never_picks_the_step() -> None:
    plan = curriculum(step(1, config={"start_pos": None, "width": 6, "height": 6}), step(2))
    worlds = []
    for player in (stay, arrive):
        env = make(plan)
        play(env, player, most=1)
        env.reset(seed=77)
        worlds.append((env.progress["agent_0"].current_step_order, env.unwrapped.runner.seed))
    assert worlds == [(1, 77), (2, 77)]
    env = make(plan)
    env.reset(seed=5)
    digest = env.unwrapped.digest()
    env = make(plan)
    env.reset(seed=5)
    assert env.unwrapped.digest() == digest


def test_what_a_user_reconfigures_holds_where_no_step_says_otherwise() -> None:
    env = make()
    env.unwrapped.reconfigure({"collisions": "pass", "width": 7, "height": 5})
    env.reset(seed=0, options={"config": {"see_through_walls": False}})
    for _ in range(3):
        while env.agents:
            env.step({"agent_0": STAY})
        env.reset()
        config = env.unwrapped.config
        assert (config.width, config.collisions) == (5, "pass")
        assert config.see_through_walls is False


def test_options_of_resets_hold_for_one_learner_too() -> None:
    env = CurriculumWrapper(piase_gym.gym_env("GridWorld"), CORNER)
    env.reset(seed=3, options={"config": {"see_through_walls": False}})
    assert env.unwrapped.runner.seed == 3
    over, seen = 0, []
    while over < 4:  # the next step begins with the fourth episode
        *_, terminated, truncated, _ = env.step(STAY)
        if terminated or truncated:
            over += 1
            env.reset()
            seen.append((env.unwrapped.config.walls, env.unwrapped.config.see_through_walls))
    assert len({walls for walls, _ in seen}) == 2
    assert not any(sight for _, sight in seen)


def test_what_is_reconfigured_between_episodes_holds_in_all_later_ones() -> None:
    two = curriculum(step(1), step(2, config={"width": 6}))
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), two)

    def config() -> tuple[int, str, bool]:
        found = env.unwrapped.config
        return found.width, found.collisions, found.see_through_walls

    env.reset(seed=0)
    first, (_, usual, sight) = env.unwrapped.snapshot(), config()
    assert (usual, sight) == ("block", True)
    play(env, arrive, most=1)
    env.unwrapped.reconfigure({"collisions": "pass", "width": 5})  # the step sets the width
    env.reset()
    assert config() == (6, "pass", True)
    env.reset(options={"config": {"see_through_walls": False}})
    assert config() == (6, "pass", False)
    env.unwrapped.restore(first)
    for _ in range(2):  # also where nothing was reconfigured, and in a new config of the step
        env.reset()
        assert config() == (6, "pass", False)
        env.modifier.adjust_difficulty({"hazards": 1})
    env.unwrapped.restore(first)  # what was restored is nobody's wish for later episodes
    assert config() == (4, "block", True)
    env.reset()
    assert config() == (6, "pass", False)
    env.unwrapped.reconfigure({"collisions": "block"})
    env.reset()
    assert config() == (6, "block", False)


def test_the_start_of_one_agent_needs_those_before_it() -> None:
    with pytest.raises(CurriculumError, match="start_pos of agent_1 needs one of agent_0"):
        make({"agent_1": curriculum(step(1))}, config={"agents": 2})


@pytest.mark.filterwarnings("ignore:reset option 'options':UserWarning")
def test_it_is_a_proper_parallel_env() -> None:
    parallel_api_test(make(config={"max_steps": 5}), num_cycles=50)


def test_a_curriculum_none_of_whose_steps_is_open_is_refused() -> None:
    closed = plain(curricula.load("door_key"))
    for one in closed["steps"]:
        one["developmental_stage_prerequisite"] = "walker"
    with pytest.raises(CurriculumError, match="agent_0 can take no step of 'Doors and keys': all"):
        CurriculumWrapper(piase_gym.parallel_env("GridWorld"), curricula.load(closed))


def test_a_misspelt_option_is_named_with_those_that_are_allowed() -> None:
    env = piase_gym.parallel_env("GridWorld")
    with pytest.raises(UnknownFieldError, match="no option 'directr'; did you mean 'director'"):
        CurriculumWrapper(env, "door_key", directr="plr")
    for wrong in (
        {"agents": 5},
        {"metrics": ["success_rate"]},
        {"agents": {"agent_0": 5}},
        {"metrics": {5: len}},
    ):
        with pytest.raises(ConfigError, match="are a mapping of names to"):
            CurriculumWrapper(env, "door_key", **wrong)


@pytest.mark.parametrize("between", [lambda env: env, KeepAgents])
def test_agents_that_follow_curricula_follow_no_others(between: Any) -> None:
    env = between(CurriculumWrapper(piase_gym.parallel_env("GridWorld"), "door_key"))
    with pytest.raises(ConfigError, match="follow curricula already"):
        CurriculumWrapper(env, "rooms")


def test_characters_of_a_steps_scenario_must_play_in_the_environment() -> None:
    named = {"order": 1, "name": "s1", "environment_config": {"scenario": "the_ferryman"}}
    plan, why = (
        curriculum(named),
        "step 1 's1': scenario 'the_ferryman' has the character 'ferryman'",
    )
    for made in (piase_gym.parallel_env, piase_gym.gym_env):
        with pytest.raises(CurriculumError, match=why):
            CurriculumWrapper(made("GridWorld"), plan)
    with pytest.raises(CurriculumError, match=why):
        CurriculumWrapper(piase_gym.batch_env("GridWorld", num_envs=2), plan)
    with pytest.raises(CurriculumError, match=why):
        ParallelCurricula("GridWorld", plan, slots=2, workers=0)
    env = CurriculumWrapper(piase_gym.parallel_env("the_ferryman"), plan)
    env.reset(seed=0)
    assert env.agents == ["traveller"]


@pytest.mark.parametrize("agents", [2, 5])
def test_another_game_keeps_the_number_of_agents(agents: int) -> None:
    named = {"order": 1, "name": "s1", "environment_config": {"game": "cleanup"}}
    env = piase_gym.parallel_env("SocialDilemma", game="harvest", agents=agents)
    led = CurriculumWrapper(env, {"agent_0": curriculum(named)})
    led.reset(seed=0)
    assert led.unwrapped.config.game == "cleanup"
    assert len(led.agents) == led.unwrapped.config.agents == agents


def test_a_team_follows_its_lead_from_story_to_story() -> None:
    names = ("healer", "gardener")
    seats = [{"agent_id": name, "start_room": "hall"} for name in names]
    hall = {"initial_state": {"rooms": {"hall": {"objects": ["box"]}}, "agent_setup": seats}}
    hall["initial_state"]["object_details"] = {"box": {"can_be_taken": True}}
    won = [{"type": "item_in_inventory", "agent_id": "healer", "item_name": "box"}]
    rows = [{"scenario": "sluice"}, {"scenario": {**hall, "win_conditions": won}}]
    ended = [{"metric": "episodes", "operator": ">=", "value": 1}]
    steps = [
        {"order": n, "name": f"s{n}", "max_interactions": 2, "completion_criteria": ended}
        | {"environment_config": row}
        for n, row in enumerate(rows)
    ]
    alone = curriculum(*steps)
    with pytest.raises(CurriculumError, match=r"stories of healer and gardener differ .*'lead'"):
        CurriculumWrapper(piase_gym.parallel_env("sluice"), dict.fromkeys(names, alone))
    env = CurriculumWrapper(piase_gym.parallel_env("sluice"), curriculum(*steps, lead="healer"))
    for rooms in (5, 1):
        env.reset(seed=0)
        assert len(env.unwrapped.config.story.rooms) == rooms
        while env.agents:
            env.step(dict.fromkeys(env.agents, 0))
