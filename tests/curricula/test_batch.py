"""Agents follow curricula in a batch: slots, lag, logs, hints, the Gymnasium VectorEnv over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.text_encoding import hash_text
from piase_gym.errors import ConfigError, EnvelopeError, UnsupportedError
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from tests.curricula.example_curricula import (
    CORNER,
    RIGHT,
    STAY,
    STAYS,
    curriculum,
    dse,
    step,
    told,
)
from tests.curricula.test_live_metrics import rows as whole_episodes

MODES = ("next_step", "same_step")


def batch(num_envs: int = 4, **config: Any) -> Any:
    return piase_gym.batch_env("GridWorld", num_envs=num_envs, **config)


def stages(**fields: Any) -> Any:
    """Three steps, of which each needs half of six episodes to be won."""
    half = [{"metric": "success_rate", "operator": ">=", "value": 0.5}]
    common = {"completion_criteria": half, "episodes_per_attempt": 6, **fields}
    return curriculum(
        step(1, **common),
        step(
            2,
            config={"width": 5, "goal_pos": [4, 1]},
            **{"adaptation_rules": [["step_attempts >= 2", "BRANCH_TO_1"]], **common},
        ),
        step(3, config={"width": 4, "height": 3, "goal_pos": [3, 2]}, **common),
    )


def drive(env: Any, steps: int, seed: int = 0) -> None:
    """Play at random, mostly towards the lower right."""
    rng = np.random.default_rng(seed)
    env.reset(seed=3)
    for _ in range(steps):
        shape = (env.num_envs, len(env.agents))
        env.step(rng.choice([1, 3, 3, 4], shape))


def test_all_slots_follow_one_progress() -> None:
    env = CurriculumWrapper(batch(6), CORNER)
    env.reset(seed=0)
    for _ in range(200):
        env.step(np.full((6, 1), STAY))
    assert told(env) == STAYS


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lag", [1, 3, 20])
def test_an_episode_depends_on_what_ended_lag_steps_before(mode: str, lag: int) -> None:
    """Against a slow account of the rule, kept beside the batch."""
    env = CurriculumWrapper(batch(5, autoreset=mode), stages(), lag=lag)
    inner = env.unwrapped
    rng = np.random.default_rng(1)
    env.reset(seed=0)
    rule = _Rule(env, lag)
    rule.begin(0, range(5))
    for t in range(1, 500):
        over = inner.batch.states["over"].astype(bool)
        acts = rng.choice([1, 3, 3, 4], (5, 1))
        _, _, terminated, truncated, infos = env.step(acts)
        began = np.flatnonzero(infos["_final_obs"] if mode == "same_step" else over).tolist()
        ends = [
            (s, bool(terminated[s, 0])) for s in range(5) if terminated[s, 0] or truncated[s, 0]
        ]
        if mode == "same_step":
            rule.end(t, ends)
            rule.begin(t, began)
        else:
            rule.begin(t, began)
            rule.end(t, ends)
        widths = inner.batch.states["width"].tolist()
        assert [rule.width(slot) for slot in range(5)] == widths, t
    found = [(d.step, d.attempt, d.values["success_rate"]) for d in env.decisions]
    assert len(found) > 6
    assert found == rule.decided[: len(found)]
    assert len(rule.decided) - len(found) <= 1


class _Rule:
    """The curriculum of `stages`, written down from the rules alone."""

    def __init__(self, env: Any, lag: int) -> None:
        self.lag, self.order, self.tries = lag, 1, {1: 1, 2: 0, 3: 0}
        self.slots: dict[int, tuple[int, tuple[int, int] | None]] = {}
        self.begun = 0
        self.attempt = 0
        self.over = False
        self.wins: dict[int, list[bool]] = {0: []}
        self.waiting: list[tuple[int, int, int | None, bool]] = []
        self.decided: list[tuple[int, int, float]] = []

    def begin(self, t: int, slots: Any) -> None:
        self.catch_up(t - self.lag)
        for slot in slots:
            counted = self.begun < 6 and not self.over
            self.begun += counted
            self.slots[slot] = (self.order, self.attempt if counted else None)  # type: ignore[assignment]

    def end(self, t: int, ends: list[tuple[int, bool]]) -> None:
        for slot, won in ends:
            self.waiting.append((t, slot, self.slots[slot][1], won))  # type: ignore[arg-type]

    def catch_up(self, until: int) -> None:
        due = sorted(e for e in self.waiting if e[0] <= until)
        self.waiting = [e for e in self.waiting if e[0] > until]
        for _, _, attempt, won in due:
            if attempt is None or attempt != self.attempt:
                continue
            wins = self.wins[attempt]
            wins.append(won)
            if len(wins) == 6:
                self.decide(sum(wins) / 6)

    def decide(self, rate: float) -> None:
        self.decided.append((self.order, self.tries[self.order], rate))
        if rate >= 0.5:
            self.over = self.order == 3
            self.order = min(3, self.order + 1)
        elif self.order == 2 and self.tries[2] >= 2:
            self.order = 1
        self.tries[self.order] += 1
        self.attempt += 1
        self.begun, self.wins[self.attempt] = 0, []

    def width(self, slot: int) -> int:
        return {1: 4, 2: 5, 3: 4}[self.slots[slot][0]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("inside", [True, False])
def test_the_log_has_the_same_metrics_and_replays(mode: str, inside: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    rules = [["illegal_rate > 2 or mean_return > 100 or env_steps < 0", "REPEAT_STEP"]]
    plan, inner = stages(adaptation_rules=rules), batch(4, autoreset=mode, width=3, height=3)
    plan = curriculum(*[s.model_dump() for s in plan.steps if s.order != 2])
    if inside:
        env = CurriculumWrapper(AvtLogger(inner, path), plan)
    else:
        env = AvtLogger(CurriculumWrapper(inner, plan), path)
    follower = runs.Metrics(inner)
    rng = np.random.default_rng(2)
    env.reset(seed=5)
    for _ in range(150):
        env.step(rng.choice([0, 1, 3, 4, 5], (4, 1)))
        assert _of_episodes(env.controller.metrics) == _of_episodes(follower)
    mine, theirs = (whole_episodes(m, "agent_0") for m in (env.controller.metrics, follower))
    for row in (*mine, *theirs):
        del row["episode"]  # live metrics number them slot by slot
    assert mine == theirs != []
    attempts = len(env.controller.metrics.history.of("agent_0").attempts)
    done = [(d.step, d.attempt, dict(d.values)) for d in env.decisions]
    assert len(done) >= 3
    env.close()
    assert runs.replay(path).ok
    assert runs.validate(path).ok
    file = runs.Metrics(path)
    assert len(file.history.of("agent_0").attempts) >= attempts
    logged = [d for kind, d in dse(path) if kind == "DSE_ADAPTATION_EVAL"]
    assert [(d["step"], d["attempt"], d["values"]) for d in logged][: len(done)] == done
    # what an attempt was judged by comes out of the file again
    rows = file.history.of("agent_0").episodes
    for number, data in enumerate(logged, start=1):
        counted = [r for r in rows if r.attempt == number and r.finished]
        assert len(counted) == 6
        assert data["values"]["success_rate"] == sum(r.result == "won" for r in counted) / 6
    read = {n: d["values"] for n, d in enumerate(logged, start=1) if "mean_return" in d["values"]}
    assert read
    for number, values_read in read.items():
        totals = [r.total for r in rows if r.attempt == number and r.finished]
        assert values_read["mean_return"] == sum_in_order(totals) / 6


def _of_episodes(metrics: Any) -> list[Any]:
    """Metrics of finished episodes; of steps a log also knows those of unfinished ones."""
    names = "success_rate mean_return episode_length task_success steps_to_goal episodes attempts"
    windows = (None, {"attempts": 2}, {"episodes": 7})
    get = metrics.get_performance_metric
    return [(name, get("agent_0", name, w)) for name in names.split() for w in windows]


@pytest.mark.parametrize("mode", MODES)
def test_hints_are_in_the_vectors_of_the_slots_that_count(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(CurriculumWrapper(batch(3, autoreset=mode), CORNER), path)
    env.reset(seed=0)
    world = env.unwrapped.world
    area = world.form.rows * world.form.columns
    wanted = np.asarray(hash_text("Walk down the left side."))
    found = set()
    for _ in range(500):
        observations = env.step(np.full((3, 1), STAY))[0]
        codes = observations[:, 0, area + 8 : area + 16]
        for slot in np.flatnonzero((codes == wanted).all(axis=1)).tolist():
            found.add(slot)
            assert "Walk down the left side." in env.unwrapped.text(slot, "agent_0")
            assert env.unwrapped.facts(slot, "agent_0").hint == "Walk down the left side."
        for slot in np.flatnonzero(codes.any(axis=1) == 0).tolist():
            assert "Hint" not in env.unwrapped.text(slot, "agent_0")
    env.close()
    assert found == {0}
    assert len([d for kind, d in dse(path) if kind == "DSE_APPLY_HINT"]) == 1
    assert runs.replay(path).ok


def test_a_hint_that_is_blank_is_given_like_any_other() -> None:
    rules, hints = [["step_attempts == 1", "APPLY_HINT_01"]], {"01": {"data": {"message": " "}}}
    env = CurriculumWrapper(batch(2), curriculum(step(1, adaptation_rules=rules, hints=hints)))
    env.reset(seed=0)
    for _ in range(9):
        env.step(np.full((2, 1), STAY))
    assert env.decisions[0].decision == "APPLY_HINT_01"
    assert {env.unwrapped.facts(slot, "agent_0").hint for slot in range(2)} == {" ", None}


def test_two_agents_of_a_batch_have_curricula_of_their_own() -> None:
    config = {"agents": 2, "width": 4, "height": 2}
    plans = {
        f"agent_{n}": curriculum(
            *(
                {
                    **step(order),
                    "environment_config_overrides": {"start_pos": [x, n], "goal_pos": [3, n]},
                }
                for order, x in ((1, 0), (2, 2 - n))
            ),
            name=f"row {n}",
        )
        for n in (0, 1)
    }
    env = CurriculumWrapper(batch(2, **config), plans)
    env.reset(seed=0)
    for _ in range(60):
        env.step(np.array([[RIGHT, STAY]] * 2))
    decided = [(d.agent, d.step, d.decision) for d in env.decisions]
    assert decided[:2] == [("agent_0", 1, "PROCEED"), ("agent_1", 1, "REPEAT_STEP")]
    assert env.progress["agent_0"].finished
    assert env.progress["agent_1"].current_step_order == 1


def test_a_batch_grows_before_its_first_reset_and_not_after_it() -> None:
    env = CurriculumWrapper(batch(2, width=3, height=3), stages())
    assert env.unwrapped.world.envelope.width == 5
    assert env.observation_space.shape == env.reset(seed=0)[0].shape[2:]
    inner = batch(2, width=3, height=3)
    inner.reset(seed=0)
    with pytest.raises(EnvelopeError, match="'width': 5"):
        CurriculumWrapper(inner, stages())


def test_slots_that_are_reset_on_purpose_play_their_episode_again() -> None:
    env = CurriculumWrapper(
        batch(2, autoreset="disabled"), curriculum(step(1, episodes_per_attempt=2))
    )
    env.reset(seed=0)
    env.step(np.full((2, 1), STAY))
    env.reset(9, which=np.array([True, False]))
    assert (env.batch.states["t"].tolist(), env.seeds().tolist()) == ([0, 1], [9, 1])
    for _ in range(6):
        env.step(np.full((2, 1), STAY))
    assert [(d.episodes, d.env_steps) for d in env.decisions] == [(2, 12)]


def test_slots_of_the_vector_env_are_reset_on_purpose_too() -> None:
    mode = {"autoreset_mode": "disabled", "num_envs": 2}
    env = CurriculumWrapper(gymnasium.make_vec("piase_gym:piase/GridWorld-v1", **mode), CORNER)
    env.reset(seed=4)
    env.step(np.full(2, STAY))
    env.reset(seed=9, options={"reset_mask": np.array([True, False])})
    batch = env.unwrapped.batch
    assert (batch.batch.states["t"].tolist(), batch.seeds().tolist()) == ([0, 1], [9, 5])


@pytest.mark.parametrize("mode", MODES)
def test_the_vector_env_of_gymnasium(mode: str) -> None:
    small = {"width": 3, "height": 3, "observe": "grid", "autoreset_mode": mode}
    venv = gymnasium.make_vec("piase_gym:piase/GridWorld-v1", num_envs=3, **small)
    env = CurriculumWrapper(venv, CORNER)
    assert env.observation_space.shape == env.unwrapped.observation_space.shape == (3, 5 * 5 + 16)
    observations, _ = env.reset(seed=0)
    assert observations in env.observation_space
    for _ in range(500):
        observations = env.step(np.full(3, STAY))[0]
        assert observations in env.observation_space
    env.close()
    assert env.progress["agent_0"].failed


def test_progress_of_a_batch_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    first = CurriculumWrapper(batch(4), stages(), progress=path)
    drive(first, 120)
    count = len(first.decisions)
    again = CurriculumWrapper(batch(4), stages(), progress=path)
    assert len(again.progress["agent_0"].decisions) == count > 0
    assert (
        again.progress["agent_0"].current_step_order == first.progress["agent_0"].current_step_order
    )


def test_snapshots_of_a_batch_keep_hints() -> None:
    env = batch(2)
    env.reset(seed=0)
    env.give_hint(1, "agent_0", "Look!")
    kept, text = env.snapshot(), env.text(1, "agent_0")
    other = batch(2)
    other.restore(kept)
    assert "Look!" in text
    assert other.text(1, "agent_0") == text
    other.reset(seed=0)
    assert "Look!" not in other.text(1, "agent_0")


def test_what_a_batch_cannot_do_is_named() -> None:
    from piase_gym.curricula.tutors import ScriptedTutor

    with pytest.raises(UnsupportedError, match="watches"):
        CurriculumWrapper(batch(2), CORNER, tutor=ScriptedTutor())
    with pytest.raises(ConfigError, match="batched kernel"):
        CurriculumWrapper(
            gymnasium.make_vec("piase_gym:piase/TextRoom-v3", num_envs=2), curriculum(step(1))
        )
