"""Agents follow curricula in a ParallelEnv: what is decided, shown, logged, replayed and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.agents.base import Agent
from piase_gym.errors import (
    AgentError,
    ConfigError,
    CurriculumError,
    EnvelopeError,
    ProgressError,
)
from piase_gym.sensors import Sensor
from piase_gym.simulation import Simulation
from piase_gym.textcode import hash_text
from piase_gym.wrappers import AddSensors, AvtLogger, CurriculumWrapper
from piase_gym.wrappers.keep_agents import KeepAgents
from tests.checkers import parallel_api_test
from tests.courses import (
    CORNER,
    REFERENCE,
    RIGHT,
    STAY,
    arrive,
    curriculum,
    dse,
    play,
    stay,
    step,
    told,
)

FILES = [
    CORNER,
    pytest.param(
        REFERENCE, marks=pytest.mark.skipif(not REFERENCE.exists(), reason="not on this machine")
    ),
]


def make(curricula: Any = CORNER, *, config: dict[str, Any] | None = None, **options: Any) -> Any:
    """A GridWorld under curricula."""
    return CurriculumWrapper(
        piase_gym.parallel_env("GridWorld", **(config or {})), curricula, **options
    )


# -- as its author meant -----------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES)
def test_who_never_moves_fails_at_the_second_step(file: Path) -> None:
    env = make(file)
    assert play(env, stay) == 6
    assert told(env) == [
        (1, 1, "REPEAT_STEP"),
        (1, 2, "REPEAT_STEP"),
        (1, 3, "PROCEED"),
        (2, 1, "REPEAT_STEP"),
        (2, 2, "APPLY_HINT_01"),
        (2, 3, "FAIL_CURRICULUM"),
    ]
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
    with pytest.raises(EnvelopeError, match="parallel_env") as caught:
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


def test_the_seed_seeds_the_world_and_never_picks_the_step() -> None:
    plan = curriculum(step(1, config={"start_pos": None, "width": 6, "height": 6}), step(2))
    worlds = []
    for player in (stay, arrive):
        env = make(plan)
        play(env, player, most=1)
        env.reset(seed=77)
        worlds.append((env.progress["agent_0"].current_step_order, env.unwrapped.driver.seed))
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


def test_the_start_of_one_agent_needs_those_before_it() -> None:
    with pytest.raises(CurriculumError, match="start_pos of agent_1 needs one of agent_0"):
        make({"agent_1": curriculum(step(1))}, config={"agents": 2})


@pytest.mark.filterwarnings("ignore:reset option 'options':UserWarning")
def test_it_is_a_proper_parallel_env() -> None:
    parallel_api_test(make(config={"max_steps": 5}), num_cycles=50)


# -- logs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("level", ["actions", "full"])
def test_logger_and_curriculum_come_in_any_order(inside: bool, level: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    plan = curriculum(
        step(1),
        step(2, config={"width": 9, "height": 4}),
        step(3, adaptation_rules=[["step_attempts >= 2", "FAIL_CURRICULUM"]]),
    )
    inner = piase_gym.parallel_env("GridWorld", width=3, height=3)
    if inside:
        env = CurriculumWrapper(AvtLogger(inner, path, level=level), plan)
    else:
        env = AvtLogger(CurriculumWrapper(inner, plan), path, level=level)
    count = 0
    while env.progress["agent_0"].active:
        env.reset(seed=count)
        while env.agents:
            env.step({"agent_0": arrive(env, "agent_0") if count < 2 else STAY})
        count += 1
    env.close()
    report = runs.replay(path)
    assert report.ok
    assert report.episodes == count == 4
    assert runs.validate(path).ok
    logged = dse(path)
    kinds = [kind for kind, _ in logged]
    assert kinds.count("DSE_AGENT_CURRICULUM_START") == 1
    assert kinds.count("DSE_STEP_ATTEMPT_START") == kinds.count("DSE_ADAPTATION_EVAL") == 4
    assert kinds.count("DSE_STEP_COMPLETED") == 2
    assert kinds.count("DSE_CURRICULUM_FAILED") == 1
    found = [data for kind, data in logged if kind == "DSE_ADAPTATION_EVAL"]
    assert [d["decision"] for d in found] == [d.decision for d in env.decisions]
    assert all("rule" in d and d["values"] for d in found)
    assert runs.read(path).manifest["config"]["envelope"]["width"] == 9


def test_the_log_has_the_words_of_hints(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(make(), path)
    play(env, stay)
    env.close()
    (given,) = [data for kind, data in dse(path) if kind == "DSE_APPLY_HINT"]
    assert given["message"] == "Walk down the left side."
    assert (given["hint"], given["event_type"]) == ("HINT_01", "ENVIRONMENT_HINT")
    assert (given["order"], given["attempt"]) == (2, 3)
    assert runs.replay(path).ok


def test_the_same_seed_gives_the_same_decisions_byte_for_byte() -> None:
    def decide() -> list[bytes]:
        env = make(REACH)
        rng = np.random.default_rng(5)
        for episode in range(30):
            env.reset(seed=100 if episode == 0 else None)
            while env.agents:
                env.step({"agent_0": int(rng.integers(5))})
        return [decision.to_bytes() for decision in env.decisions]

    first = decide()
    assert len(first) > 5
    assert first == decide()


REACH = curriculum(
    step(
        1,
        episodes_per_attempt=2,
        completion_criteria=[{"metric": "success_rate", "operator": ">", "value": 0.4}],
        adaptation_rules=[["mean_return < -2 and illegal_rate < 0.9", "REPEAT_STEP"]],
    ),
    step(
        2,
        config={"width": 6, "height": 3, "goal_pos": [5, 2]},
        max_interactions=12,
        adaptation_rules=[["lately < 0.2 and step_attempts > 1", "BRANCH_TO_1"]],
    ),
    metrics={"lately": {"metric": "success_rate", "window": {"episodes": 6}}},
)


# -- progress ----------------------------------------------------------------------------------


def test_progress_is_saved_at_each_decision_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    env = make(progress=path)
    play(env, stay, most=2)
    assert path.exists()
    env.reset()
    for _ in range(5):
        env.step({"agent_0": STAY})  # and the process is killed here, without close
    again = make(progress=path)
    assert again.progress["agent_0"].current_step_order == 1
    assert [d.attempt for d in again.progress["agent_0"].decisions] == [1, 2]
    play(again, stay)
    assert told(again)[0] == (1, 3, "PROCEED")
    assert [d.step for d in again.progress["agent_0"].decisions] == [1, 1, 1, 2, 2, 2]
    assert not make(progress=path).progress["agent_0"].active


def test_who_stops_after_every_attempt_is_judged_as_who_never_stops(tmp_path: Path) -> None:
    def decide(stops: bool) -> list[bytes]:
        path = tmp_path / f"{stops}.json"
        env = make(REACH, progress=path)
        rng = np.random.default_rng(5)
        for episode in range(40):
            env.reset(seed=episode)
            while env.agents:
                env.step({"agent_0": int(rng.choice([1, 3, 3, 4]))})
            if stops and len(env.decisions) > 0:
                env = make(REACH, progress=path)
        return [decision.to_bytes() for decision in env.progress["agent_0"].decisions]

    whole = decide(stops=False)
    assert b"BRANCH_TO_1" in b"".join(whole)
    assert b'"lately":0.' in b"".join(whole)
    assert decide(stops=True) == whole


def test_a_hint_that_was_decided_on_survives(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    play(make(progress=path), stay, most=5)
    env = make(progress=path)
    env.reset(seed=0)
    assert env.unwrapped.world.hints == ["Walk down the left side."]


def test_progress_in_another_curriculum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    play(make(progress=path), stay, most=1)
    before = path.read_bytes()
    with pytest.raises(ProgressError, match="Two corners"):
        make(curriculum(step(1)), progress=path)
    path.write_bytes(before.replace(b'"schema": 1', b'"schema": 99', 1))
    with pytest.raises(ProgressError, match="99"):
        make(progress=path)
    assert b"99" in path.read_bytes()


# -- agents ------------------------------------------------------------------------------------


class Pupil(Agent):
    """An agent with a state of its own, which takes note of what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.state: dict[str, Any] = {"skill": 0, "mood": "calm"}
        self.told: list[Any] = []

    def act(self) -> int:
        return STAY

    def configure(self, config: Any) -> None:
        self.told.append(config)

    def get_state(self) -> dict[str, Any]:
        return dict(self.state)

    def set_state(self, state: Any) -> None:
        self.state = dict(state)


@pytest.mark.parametrize(
    ("kept", "wanted"),
    [
        ("keep", {"skill": 7, "mood": "glad"}),
        ("reset", {"skill": 0, "mood": "calm"}),
        (["skill"], {"skill": 7, "mood": "calm"}),
    ],
)
def test_of_an_agent_persists_what_the_step_says(kept: Any, wanted: dict[str, Any]) -> None:
    pupil = Pupil()
    plan = curriculum(
        step(1, agent_config_overrides={"goal": "near"}, agent_state="reset"),
        step(2, agent_config_overrides={"goal": "far"}, agent_state=kept),
        on_no_rule="PROCEED",
    )
    env = make(plan, agents={"agent_0": pupil})
    env.reset(seed=0)
    assert pupil.told == [{"goal": "near"}]
    pupil.state = {"skill": 7, "mood": "glad"}
    while env.agents:
        env.step({"agent_0": STAY})
    env.reset()
    assert pupil.state == wanted
    assert pupil.told == [{"goal": "near"}, {"goal": "far"}]


def test_prompts_reach_the_agent(tmp_path: Path) -> None:
    prompt = {"objective": "Find the corner."}
    (tmp_path / "near.json").write_text(json.dumps(prompt))
    data = json.loads(CORNER.read_text())
    (tmp_path / "c.json").write_text(json.dumps(data))
    pupil = Pupil()
    env = make(tmp_path / "c.json", agents={"agent_0": pupil})
    env.reset(seed=0)
    assert "Find the corner." in pupil.told[0]["prompt"]
    assert pupil.told[0]["prompt_reference"] == "near.json"
    assert "Find the corner." in str(env.prompts["agent_0"])
    (tmp_path / "near.json").write_text("{")
    with pytest.raises(CurriculumError, match=r"near\.json"):
        make(tmp_path / "c.json")


# -- simulations -------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "episodes"), [("noop", 6), ("oracle", 2)])
def test_a_simulation_follows_a_curriculum(policy: str, episodes: int, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    wrap = (lambda env: AvtLogger(env, path),)
    simulation = Simulation("GridWorld", policy, {"agent_0": CORNER}, seed=1, wrap=wrap)
    simulation.run(50)
    assert len(simulation.summaries) == episodes
    decisions = simulation.course.decisions
    assert decisions[-1].outcome == ("failed" if policy == "noop" else "finished")
    assert runs.replay(path).ok
    settings = [d for kind, d in dse(path) if kind == "DSE_AGENT_RECONFIG_APPLIED"]
    assert [d["order"] for d in settings] == [1, 2]
    assert all(d["received"] for d in settings)


def test_agents_that_cannot_be_configured_are_named() -> None:
    with pytest.raises(AgentError, match="agent_9"):
        make(agents={"agent_9": Pupil()})
    plan = curriculum(step(1, agent_state=["skills"]))
    with pytest.raises(CurriculumError, match=r"step 1 .*'skills'.* skill, mood"):
        make(plan, agents={"agent_0": Pupil()})


# -- modifications -----------------------------------------------------------------------------


def test_modifications_hold_from_the_next_reset_for_the_rest_of_the_step(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(make(), path)
    env.reset(seed=0)
    env.step({"agent_0": STAY})
    env.modifier.introduce_element({"type": "wall", "position": [1, 0]})
    assert env.unwrapped.config.walls == ()
    env.modifier.adjust_difficulty({"max_steps": 7})
    env.modifier.provide_indirect_hint("agent_0", "Look down.")
    assert env.unwrapped.world.hints == ["Look down."]
    seen = []
    for _ in range(4):
        while env.agents:
            env.step({"agent_0": STAY})
        env.reset()
        seen.append((env.unwrapped.config.walls, env.unwrapped.config.max_steps))
    env.close()
    assert seen[:2] == [(((1, 0),), 7)] * 2
    assert seen[2:] == [(((2, 2), (2, 3)), 30)] * 2
    assert runs.replay(path).ok
    with pytest.raises(ConfigError, match="no dial"):
        make().modifier.adjust_difficulty({"gravity": 1})


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("curricula", "error", "match"),
    [
        ({"agent_5": CORNER}, AgentError, "agent_5.*agent_0"),
        ({}, ConfigError, "no curriculum"),
        ("no_such_curriculum", CurriculumError, "no_such_curriculum"),
        (17, CurriculumError, "int"),
        (curriculum(step(1, config={"widht": 4})), CurriculumError, "step 1.*did you mean 'width'"),
        (curriculum(step(1, config={"goal_pos": [9, 9]})), CurriculumError, "step 1.*outside"),
        (
            curriculum(
                step(1),
                metrics={"joy": {"type": "number"}},
                steps=[step(1, adaptation_rules=[["joy > 1", "PROCEED"]])],
            ),
            CurriculumError,
            "nothing gives the metric 'joy'",
        ),
    ],
)
def test_wrong_curricula_are_named(curricula: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make(curricula)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"director": "fortune"}, "fortune"),
        ({"director": 4}, "director"),
        ({"tutor": "anna"}, "tutor"),
        ({"seed": -1}, "seed"),
        ({"lag": 0}, "lag"),
        ({"progress": 5}, "progress"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], match: str) -> None:
    with pytest.raises((ConfigError, LookupError), match=match):
        make(**options)


def test_only_our_environments_follow_curricula() -> None:
    with pytest.raises(ConfigError, match="int"):
        CurriculumWrapper(5, CORNER)
    with pytest.raises(ConfigError, match="say whose"):
        make(config={"agents": 2})


def test_a_metric_of_ones_own_decides() -> None:
    plan = curriculum(
        step(1, completion_criteria=[], adaptation_rules=[["best > 5", "PROCEED"]]),
        metrics={"best": {"type": "number"}},
    )
    env = make(plan, metrics={"best": lambda view: max(row.total for row in view.finished)})
    play(env, stay, most=1)
    play(env, arrive, most=1)
    assert told(env) == [(1, 1, "REPEAT_STEP"), (1, 2, "PROCEED")]
    assert env.decisions[1].values["best"] == pytest.approx(9.8)
