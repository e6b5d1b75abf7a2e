"""`CurriculumWrapper`: its logs, its progress, its agents, simulations, bad input."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.agents.base import Agent
from piase_gym.curricula import CurriculumManager, ProgressStore
from piase_gym.errors import AgentError, ConfigError, CurriculumError, ProgressError
from piase_gym.simulation.simulation import Simulation
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from tests.curricula.example_curricula import (
    CORNER,
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
from tests.curricula.wrapper_helpers import make

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


def hinted(window: dict[str, int]) -> Any:
    """A curriculum that gives a hint after every third attempt, and reads hints over a window."""
    lately = {"metric": "hints_used", "window": window}
    rules = [
        ["lately >= 0 and step_attempts % 3 == 1", "APPLY_HINT_A"],
        ["attempts_lately >= 0", "REPEAT_STEP"],
    ]
    first = step(1, episodes_per_attempt=2, adaptation_rules=rules, max_interactions=4)
    first["hints"] = {"A": {"data": {"message": "Right."}}}
    shares = {"metric": "success_rate", "window": window}
    return curriculum(first, metrics={"lately": lately, "attempts_lately": shares})


@pytest.mark.parametrize(
    ("window", "values"),
    [
        ({"attempts": 1}, [0, 2, 0, 0, 2, 0, 0]),
        ({"attempts": 2}, [0, 2, 2, 0, 2, 2, 0]),
        ({"attempts": 4}, [0, 2, 2, 2, 4, 2, 2]),
        ({"episodes": 3}, [0, 2, 1, 0, 2, 1, 0]),
        ({"env_steps": 14}, [0, 2, 1, 0, 2, 1, 0]),
    ],
)
def test_windows_of_hints_are_remembered_by_who_stops(
    window: dict[str, int], values: list[int], tmp_path: Path
) -> None:
    plan, found = hinted(window), []
    for stops in (False, True):
        path = tmp_path / f"{stops}.json"
        env = make(plan, progress=path)
        for _ in range(len(values)):
            play(env, stay, most=2)
            if stops:
                env.close()
                env = make(plan, progress=path)
        found.append([d.to_bytes() for d in env.progress["agent_0"].decisions])
    assert found[0] == found[1]
    decisions = env.progress["agent_0"].decisions
    assert [d.values["lately"] for d in decisions] == values


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
    decisions = simulation.controller.decisions
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
    with pytest.raises(ConfigError, match="no difficulty parameter"):
        make().modifier.adjust_difficulty({"gravity": 1})


def test_modifications_hold_after_a_resumption_in_the_step(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    env = make(progress=path)
    play(env, stay, most=1)
    env.modifier.introduce_element({"type": "wall", "position": [1, 0]})
    env.modifier.adjust_difficulty({"max_steps": 7})
    env.close()
    env = make(progress=path)
    seen = []
    for _ in range(3):
        env.reset()
        seen.append((env.unwrapped.config.walls, env.unwrapped.config.max_steps))
        while env.agents:
            env.step({"agent_0": STAY})
    env.close()
    assert seen == [(((1, 0),), 7), (((1, 0),), 7), (((2, 2), (2, 3)), 30)]
    assert "overrides" not in env.progress["agent_0"].memory
    for wrong in ([], {"gravity": 1}, {"max_steps": -1}):
        data = json.loads(path.read_text())
        data["agents"]["agent_0"]["memory"]["overrides"] = wrong
        path.write_text(json.dumps(data))
        with pytest.raises(ProgressError, match="damaged: overrides"):
            make(progress=path)


def test_an_agent_goes_back_to_its_first_state_after_a_resumption(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    plan = curriculum(step(1), step(2, agent_state=["mood"]), step(3))
    pupil = Pupil()
    env = make(plan, agents={"agent_0": pupil}, progress=path)
    play(env, stay, most=1)
    pupil.state = {"skill": 7, "mood": "glad"}
    env.close()
    later = Pupil()
    later.set_state(pupil.get_state())
    env = make(plan, agents={"agent_0": later}, progress=path)
    play(env, arrive, most=2)
    assert env.decisions[0].next_step == 2
    assert later.state == {"skill": 0, "mood": "glad"}
    env.close()
    data = json.loads(path.read_text())
    data["agents"]["agent_0"]["memory"]["first_state"] = 3
    path.write_text(json.dumps(data))
    with pytest.raises(ProgressError, match="damaged: first_state"):
        make(plan, agents={"agent_0": later}, progress=path)


def test_an_agent_that_has_not_begun_keeps_the_stage_that_it_brings(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    plan = curriculum(step(1, developmental_stage_prerequisite="S"), step(2))
    manager = CurriculumManager(plan)
    manager.initialize_agent_progress("agent_0", stage="S")
    ProgressStore(path).save(manager.agent_progress)
    progress = make(plan, progress=path).progress["agent_0"]
    assert (progress.current_step_order, progress.stages, progress.attempt) == (1, ["S"], 1)


def test_a_hint_of_rules_is_not_given_where_steps_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    rules = [["step_attempts == 1", "APPLY_HINT_01"]]
    hints = {"HINT_01": {"data": {"message": "Go."}}}
    plan = curriculum(step(1, adaptation_rules=rules, hints=hints), step(2, hints=hints), step(3))
    env = make(plan, progress=path)
    play(env, stay, most=1)
    assert env.progress["agent_0"].hint == "HINT_01"
    env.close()
    env = make(plan, progress=path, director="randomisation")
    assert env.progress["agent_0"].hint is None
    for _ in range(12):
        env.reset()
        assert env.unwrapped.world.hints == [None]
        while env.agents:
            env.step({"agent_0": STAY})
    env.close()


def test_one_curriculum_may_be_given_as_the_content_of_its_file() -> None:
    plan = {"name": "Rooms", "steps": [{"order": 1, "name": "Room"}]}
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), plan)
    env.reset(seed=0)
    assert env.progress["agent_0"].curriculum == "Rooms"
    env.close()


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


# -- what happens in the midst of an episode -----------------------------------------------------


def pushing() -> Any:
    """A step that asks for a box that was pushed, which can be done in the first move."""
    pushed = [{"metric": "milestone.box_pushed", "operator": "==", "value": True}]
    config = {"map": ["@O...", "....G"]}
    made = {"order": 1, "name": "push", "max_interactions": 4, "completion_criteria": pushed}
    return curriculum({**made, "environment_config_overrides": config}, world="GridWorld")


@pytest.mark.parametrize("kind", ["parallel", "single", "batch", "slots"])
def test_a_milestone_in_mid_episode_is_heard_of(kind: str) -> None:
    from piase_gym.curricula import ParallelCurricula

    def act(command: int) -> Any:
        if kind == "parallel":
            return {"agent_0": command}
        return {"single": command, "batch": np.full((1, 1), command)}.get(kind, np.array([command]))

    env: Any
    if kind == "slots":
        env = ParallelCurricula("GridWorld", pushing(), slots=1, workers=0)
    elif kind == "batch":
        env = CurriculumWrapper(piase_gym.batch_env("GridWorld", num_envs=1), pushing())
    elif kind == "single":
        env = CurriculumWrapper(gymnasium.make("piase_gym:piase/GridWorld-v1"), pushing())
    else:
        env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), pushing())
    env.reset(seed=0)
    for _ in range(4):
        env.step(act(STAY))
    if kind in ("batch", "slots"):
        env.step(act(STAY))  # which only begins the next episode
    else:
        env.reset()
    for command in (RIGHT, STAY, STAY, STAY):
        env.step(act(command))
    values = [decision.values["milestone.box_pushed"] for decision in env.decisions]
    assert values == [False, True]
    first, second = env.controller.metrics.history.of("agent_0").episodes
    assert (first.milestones, first.length) == ({}, 4)
    assert second.milestones == {"box_pushed": second.start + 1}
    assert second.end == second.start + 4
    env.close()


def test_a_restored_episode_is_another_one_and_shows_no_hint_again() -> None:
    rules = [["step_attempts == 1", "APPLY_HINT_A"]]
    hints = {"A": {"data": {"message": "Right."}}}
    plan = curriculum(step(1, adaptation_rules=rules, hints=hints, episodes_per_attempt=2))
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), plan)
    shown: list[Any] = []
    env.unwrapped.events.subscribe(shown.append, ("hint",))
    play(env, stay, most=2)
    assert env.progress["agent_0"].hint == "A"
    env.reset()
    env.step({"agent_0": STAY})
    kept = env.unwrapped.snapshot()
    env.step({"agent_0": STAY})
    env.unwrapped.restore(kept)
    assert len(shown) == 1
    while env.agents:
        env.step({"agent_0": STAY})
    play(env, stay, most=1)
    assert [(d.attempt, d.episodes) for d in env.decisions] == [(1, 2), (2, 2)]
    finished = [
        row for row in env.controller.metrics.history.of("agent_0").episodes if row.finished
    ]
    assert [row.attempt for row in finished] == [1, 1, 2, 2]
    assert env.controller.counts["agent_0"].uncounted == 0


@pytest.mark.parametrize("world", ["GridWorld", "TextRoom"])
def test_copies_follow_their_curriculum_alone(world: str, tmp_path: Path) -> None:
    read = ("mean_return", "messages_sent", "illegal_rate")
    criteria = [{"metric": name, "operator": "<=", "value": 9} for name in read]
    rows = [
        {"order": n, "name": f"s{n}", "max_interactions": 4, "completion_criteria": criteria}
        for n in range(3)
    ]
    path = tmp_path / "progress.json"
    env = CurriculumWrapper(piase_gym.parallel_env(world), curriculum(*rows), progress=path)
    env.reset(seed=0)
    env.step({"agent_0": 1})
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for each in (env, *twins):
        for seed in (1, 2):
            while each.agents:
                each.step({"agent_0": 1})
            each.reset(seed=seed)
        each.close()
    assert [decision.step for decision in env.decisions] == [0, 1]
    for twin in twins:
        assert twin.decisions == env.decisions
    assert [entry.name for entry in tmp_path.iterdir()] == ["progress.json"]


def test_a_copied_batch_follows_its_curriculum() -> None:
    won = [{"metric": "episodes", "operator": ">=", "value": 1}]
    rows = [
        {"order": n, "name": f"s{n}", "max_interactions": 2, "completion_criteria": won}
        for n in range(3)
    ]
    batch = CurriculumWrapper(piase_gym.batch_env("GridWorld", num_envs=2), curriculum(*rows))
    batch.reset(seed=0)
    twin = copy.deepcopy(batch)
    for each in (batch, twin):
        for _ in range(6):
            each.step(np.zeros((2, 1), np.int64))
    assert batch.decisions
    assert twin.decisions == batch.decisions
