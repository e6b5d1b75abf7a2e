"""Directors and tutors: automatic curricula through the same door, and who may say what."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import piase_gym
from piase_gym import runs
from piase_gym.curricula import CurriculumManager
from piase_gym.curricula.directors import LearningProgress, Randomisation, Threshold, sample_index
from piase_gym.curricula.tutors import ScriptedTutor, TimedHint
from piase_gym.errors import ConfigError
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
from tests.curricula.helpers import Table

PLAN = curriculum(
    step(1),
    step(2, config={"width": 5, "goal_pos": [4, 1]}),
    step(4, config={"width": 6, "goal_pos": [5, 1]}),
)
WIDTHS = {1: 4, 2: 5, 4: 6}


def single(director: Any, seed: int = 0, **options: Any) -> Any:
    env = piase_gym.parallel_env("GridWorld", width=3, height=2)
    return CurriculumWrapper(env, PLAN, director=director, seed=seed, **options)


def orders(env: Any, episodes: int, player: Any = stay) -> list[int]:
    """The steps of the next episodes, from the width of the world."""
    found, of_width = [], {width: order for order, width in WIDTHS.items()}
    for _ in range(episodes):
        env.reset(seed=1)
        found.append(of_width[env.unwrapped.config.width])
        while env.agents:
            env.step({"agent_0": player(env, "agent_0")})
    return found


# -- drawing -----------------------------------------------------------------------------------


def test_randomisation_draws_all_steps_alike() -> None:
    found = Counter(orders(single("randomisation"), 600))
    assert set(found) == {1, 2, 4}
    # 600 draws of 1/3: a share leaves 1/3 by four standard deviations once in 16,000 times
    assert all(abs(n / 600 - 1 / 3) < 4 * (1 / 3 * 2 / 3 / 600) ** 0.5 for n in found.values())


def test_randomisation_by_weights() -> None:
    found = Counter(orders(single(Randomisation({1: 1.0, 4: 3.0})), 400))
    assert set(found) == {1, 4}
    assert abs(found[4] / 400 - 0.75) < 4 * (0.75 * 0.25 / 400) ** 0.5
    with pytest.raises(ConfigError, match="no step 3"):
        single(Randomisation({3: 1.0}))
    with pytest.raises(ConfigError, match="weights"):
        single(Randomisation({1: -1.0, 2: 2.0}))
    with pytest.raises(ConfigError, match="weights"):
        single(Randomisation({1: 0.0}))


def test_draws_follow_from_the_seed_of_the_curriculum_alone() -> None:
    first = orders(single("randomisation", seed=7), 30)
    assert orders(single("randomisation", seed=7), 30, player=arrive) == first
    assert orders(single("randomisation", seed=8), 30) != first


def test_draws_go_on_after_a_resumption(tmp_path: Path) -> None:
    whole = orders(single("randomisation"), 20)
    path = tmp_path / "progress.json"
    env = single("randomisation", progress=path)
    first = orders(env, 12)
    env.close()
    assert first + orders(single("randomisation", progress=path), 8) == whole


def test_resets_without_a_step_draw_nothing() -> None:
    env = single("randomisation")
    drawn = []
    for _ in range(12):
        env.reset(seed=1)
        env.reset(seed=1)
        drawn.append(env.unwrapped.config.width)
        while env.agents:
            env.step({"agent_0": STAY})
    assert drawn == [WIDTHS[order] for order in orders(single("randomisation"), 12)]


@given(st.lists(st.floats(0, 10), min_size=1, max_size=8), st.floats(0, 1, exclude_max=True))
def test_pick_takes_the_place_of_the_cumulative_sum(weights: list[float], unit: float) -> None:
    if sum(weights) <= 1e-6:
        return
    place = sample_index(weights, unit)
    assert weights[place] > 0
    sums = np.cumsum(weights)
    assert unit * sums[-1] <= sums[place] * (1 + 1e-9)
    assert place == 0 or unit * sums[-1] >= sums[place - 1] * (1 - 1e-9)


def test_learning_progress_draws_what_is_changing() -> None:
    director = LearningProgress(rate=0.05, speed=10, explore=0.1)
    env = single(director)
    # the agent can do step 2, and never does the others: only there success changes
    player = lambda env, agent: (  # noqa: E731
        arrive(env, agent) if env.unwrapped.config.width == 5 else STAY
    )
    orders(env, 15, player)
    weights = dict(zip((1, 2, 4), director.weights("agent_0"), strict=True))
    assert weights[2] > 0.9
    assert weights[1] == weights[4] == pytest.approx(0.1 / 3)
    assert sum(weights.values()) == pytest.approx(1.0)
    fast, slow = director._means("agent_0", 2)
    count = env.progress["agent_0"].step_attempts[2]
    assert fast == pytest.approx(1 - 0.5**count)
    assert slow == pytest.approx(1 - 0.95**count)


def test_learning_progress_draws_what_gets_worse_as_what_gets_better() -> None:
    director = LearningProgress(rate=0.05, speed=10, explore=0.1)
    manager = CurriculumManager(PLAN)
    manager.start("agent_0")
    director.open(manager, Table(), 0, ["agent_0"])
    director.memory("agent_0")["means"] = {"1": [0.2, 0.6], "2": [0.9, 0.7], "4": [0.5, 0.5]}
    shares = [0.4 / 0.6, 0.2 / 0.6, 0.0]
    assert director.weights("agent_0") == pytest.approx([0.1 / 3 + 0.9 * s for s in shares])


def test_each_slot_of_a_batch_draws_its_own_step(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    inner = piase_gym.batch_env("GridWorld", num_envs=6, width=3, height=2)
    env = AvtLogger(CurriculumWrapper(inner, PLAN, director="randomisation"), path)
    env.reset(seed=0)
    seen = [set() for _ in range(6)]  # type: ignore[var-annotated]
    for _ in range(120):
        env.step(np.full((6, 1), STAY))
        for slot, width in enumerate(env.unwrapped.batch.states["width"].tolist()):
            seen[slot].add(width)
    env.close()
    assert all(widths == {4, 5, 6} for widths in seen)
    assert runs.replay(path).ok
    begun = [data for kind, data in dse(path) if kind == "DSE_STEP_ATTEMPT_START"]
    assert {data["slot"] for data in begun} == set(range(6))
    assert all(sum(data["drawn_by"].values()) == pytest.approx(1.0) for data in begun)
    rows = runs.Metrics(path).history.of("agent_0").episodes
    assert [row.attempt for row in rows if row.finished] == sorted(
        row.attempt for row in rows if row.finished
    )


# -- threshold ---------------------------------------------------------------------------------


def test_threshold_goes_on_when_enough_is_won() -> None:
    env = single(Threshold(share=0.5, episodes=4))
    wins = [0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]
    for won in wins:
        env.reset(seed=0)
        while env.agents:
            env.step({"agent_0": arrive(env, "agent_0") if won else STAY})
    assert told(env) == [
        (1, 1, "REPEAT_STEP"),
        (1, 2, "PROCEED"),
        (2, 1, "PROCEED"),
        (4, 1, "REPEAT_STEP"),
        (4, 2, "REPEAT_STEP"),
    ]
    progress = env.progress["agent_0"]
    assert progress.active
    assert progress.completed_steps == [1, 2, 4]
    assert env.decisions[1].values == {"success_rate": 0.5, "step_attempts": 2}
    for episodes in (2.5, 0, True, "5"):
        with pytest.raises(ConfigError, match="episodes is a whole number from 1 on"):
            Threshold(episodes=episodes)  # type: ignore[arg-type]
    for share in (0.0, 1.1, True):
        with pytest.raises(ConfigError, match="share"):
            Threshold(share)


def test_threshold_takes_a_step_whose_stage_was_just_reached() -> None:
    plan = curriculum(
        step(1, developmental_stage_reached="A"),
        step(2, developmental_stage_prerequisite="A"),
        step(3, developmental_stage_prerequisite="B"),
    )
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), plan, director="threshold")
    for _ in range(3):
        play(env, arrive, most=1)
    assert [(d.step, d.next_step) for d in env.decisions] == [(1, 2), (2, 2), (2, 2)]


# -- tutors ------------------------------------------------------------------------------------


def test_a_tutor_chooses_among_what_the_step_allows() -> None:
    tutor = ScriptedTutor({(2, 1): "APPLY_HINT_01", (1, 1): "PROCEED"})
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), CORNER, tutor=tutor)
    play(env, stay)
    assert told(env) == [
        (1, 1, "PROCEED"),
        (2, 1, "APPLY_HINT_01"),
        (2, 2, "APPLY_HINT_01"),
        (2, 3, "FAIL_CURRICULUM"),
    ]
    assert env.decisions[0].rule is None
    assert "the tutor chose PROCEED; the rules say REPEAT_STEP" in env.decisions[0].reason
    assert env.decisions[0].status == "completed_failure"  # the rules would have stayed in it
    wrong = ScriptedTutor({(1, 1): "FAIL_CURRICULUM"})
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), CORNER, tutor=wrong)
    with pytest.raises(ConfigError, match=r"FAIL_CURRICULUM.*'PROCEED'"):
        play(env, stay)


def test_a_tutor_cannot_open_a_step_whose_stage_is_not_reached() -> None:
    plan = curriculum(
        step(1, adaptation_rules=[["step_attempts > 9", "BRANCH_TO_2"]]),
        step(2, developmental_stage_prerequisite="A"),
    )
    tutor = ScriptedTutor({(1, 1): "BRANCH_TO_2"})
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), plan, tutor=tutor)
    with pytest.raises(ConfigError, match=r"chose 'BRANCH_TO_2'.*REPEAT_STEP"):
        play(env, stay)
    open_plan = curriculum(
        step(1, adaptation_rules=[["step_attempts > 9", "BRANCH_TO_2"]]), step(2)
    )
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), open_plan, tutor=tutor)
    play(env, stay, most=1)
    assert told(env) == [(1, 1, "BRANCH_TO_2")]


def test_an_overruled_decision_does_not_name_the_rule_that_held() -> None:
    rules = [["step_attempts == 1", "APPLY_HINT_A"], ["step_attempts == 2", "FAIL_CURRICULUM"]]
    rules += [["step_attempts > 9", "PROCEED"]]  # which makes it one of the tutor's choices
    hints = {"A": {"data": {"message": "Right."}}}
    plan = curriculum(step(1, adaptation_rules=rules, hints=hints), step(2))
    plain = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), plan)
    play(plain, stay, most=1)
    (held,) = plain.decisions
    assert (held.rule, held.hint, held.status) == ("step_attempts == 1", "A", "in_progress")
    tutor = ScriptedTutor({(1, 1): "REPEAT_STEP", (1, 2): "PROCEED"})
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), plan, tutor=tutor)
    play(env, stay, most=2)
    one, two = env.decisions
    assert (one.rule, one.hint, one.decision, one.next_step) == (None, None, "REPEAT_STEP", 1)
    assert "rule 1 holds: step_attempts == 1" in one.reason
    assert (two.rule, two.status, two.outcome) == (None, "completed_failure", "running")
    assert "the rules say FAIL_CURRICULUM" in two.reason


def test_a_tutor_has_no_say_about_what_is_complete() -> None:
    tutor = ScriptedTutor({(1, 1): "REPEAT_STEP"})
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), CORNER, tutor=tutor)
    play(env, arrive, most=1)
    assert told(env) == [(1, 1, "PROCEED")]


@pytest.mark.parametrize("inside", [True, False])
def test_a_tutored_run_replays_without_the_tutor(inside: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    tutor = ScriptedTutor(
        words={"HINT_01": "Down, then right."},
        nudges=[TimedHint(3, "Not there."), TimedHint(5, "Go on!", order=2, attempt=2)],
    )
    inner = piase_gym.parallel_env("GridWorld")
    if inside:
        env = CurriculumWrapper(AvtLogger(inner, path), CORNER, tutor=tutor)
    else:
        env = AvtLogger(CurriculumWrapper(inner, CORNER, tutor=tutor), path)
    shown = []
    while env.progress["agent_0"].active:
        env.reset(seed=0)
        while env.agents:
            seen = env.step({"agent_0": RIGHT})[0]
            lines = [row for row in seen["agent_0"]["text"].splitlines() if row[:5] == "Hint:"]
            shown.append(lines[0][6:] if lines else None)
    env.close()
    assert set(shown) == {None, "Not there.", "Go on!", "Down, then right."}
    assert shown[1:4] == [None, "Not there.", "Not there."]
    assert runs.replay(path).ok
    words = [(data["message"], data["by"]) for kind, data in dse(path) if kind == "DSE_APPLY_HINT"]
    assert ("Down, then right.", "tutor") in words
    assert words.count(("Not there.", "tutor")) == 6
    assert words.count(("Go on!", "tutor")) == 2


def test_scripts_of_tutors_that_never_come_true_are_refused() -> None:
    for after in (0, -1, 1.5, True):
        with pytest.raises(ConfigError, match="after is a number of steps from 1 on"):
            TimedHint(after, "Go on!")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="not blank"):
        TimedHint(1, "  ")
    for key in (1, (1,), ("1", 2)):
        with pytest.raises(ConfigError, match=r"such as \(1, 2\), not for"):
            ScriptedTutor({key: "REPEAT_STEP"})  # type: ignore[dict-item]


def test_tutors_must_say_something() -> None:
    class Mute(ScriptedTutor):
        def watch(self, glimpse: Any) -> str:
            return "  "

    tutor = Mute()
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), CORNER, tutor=tutor)
    env.reset(seed=0)
    with pytest.raises(ConfigError, match="not blank"):
        env.step({"agent_0": STAY})
