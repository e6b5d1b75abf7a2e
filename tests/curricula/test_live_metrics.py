"""Live metrics say what a log says, in every world, at every moment between two episodes."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.curricula.directors import ScriptedDirector
from piase_gym.curricula.metrics import CurriculumMetrics, MetricInputs
from piase_gym.errors import UnsupportedError
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from tests.curricula.example_curricula import RIGHT, STAY, curriculum, dse, step
from tests.helpers.run_worlds import WORLDS, choose

WINDOWS = (None, {"attempts": 1}, {"attempts": 3}, {"episodes": 4}, {"env_steps": 23})
EVERYTHING = [["mean_return > 1e9 or illegal_rate > 2 or messages_sent < 0", "FAIL_CURRICULUM"]]


def plan_of(world: str, agent: str) -> Any:
    """A curriculum that changes little and reads everything."""
    won = [{"metric": "success_rate", "operator": ">", "value": 0.6}]
    rows = [
        {
            "order": order,
            "name": f"{agent} {order}",
            "episodes_per_attempt": 1 + order,
            "completion_criteria": won,
            "adaptation_rules": [*EVERYTHING, ["step_attempts >= 2", rule]],
            "agent_config_overrides": target if world == "grid" else {},
        }
        for order, rule, target in (
            (0, "PROCEED", {"motivation": {"current_goal_details": {"target_coords": [2, 2]}}}),
            (1, "BRANCH_TO_0", {}),
        )
    ]
    return curriculum(*rows, name=agent)


def answers(metrics: Any, agents: Any, names: Any) -> dict[Any, Any]:
    return {
        (agent, name, str(window)): metrics.get_performance_metric(agent, name, window)
        for agent in agents
        for name in names
        for window in WINDOWS
    }


def rows(metrics: Any, agent: str) -> list[dict[str, Any]]:
    """Everything that is known of an agent's whole episodes, but which event they began with."""
    found = [asdict(row) for row in metrics.history.of(agent).episodes if row.finished]
    return [{k: v for k, v in row.items() if k not in ("sequence", "hints")} for row in found]


@pytest.mark.parametrize("world", WORLDS)
def test_live_metrics_say_what_a_log_says(world: str, tmp_path: Path) -> None:
    path, inner = tmp_path / "run.jsonl", WORLDS[world]()
    plans = {agent: plan_of(world, agent) for agent in inner.possible_agents[:2]}
    follower = runs.Metrics(inner)
    env = CurriculumWrapper(AvtLogger(inner, path), plans)
    rng = np.random.default_rng(0)
    names = None
    for episode in range(24):
        env.reset(seed=episode)
        broken = episode % 5 == 4
        while env.agents:
            env.step({name: choose(env, name, rng) for name in env.agents})
            if broken and rng.random() < 0.2:
                break
        if not broken:
            names = names or [*follower.names(), "reached_goal_0", "reached_goal_1"]
            assert answers(env.controller.metrics, plans, names) == answers(follower, plans, names)
    assert len(env.decisions) > 8
    for agent in plans:
        mine, theirs = rows(env.controller.metrics, agent), rows(follower, agent)
        assert len(mine) > 8
        assert mine == theirs
    live = [(d.agent, d.step, d.attempt, dict(d.values)) for d in env.decisions]
    env.close()
    logged = [data for kind, data in dse(path) if kind == "DSE_ADAPTATION_EVAL"]
    assert [(d["agent"], d["step"], d["attempt"], d["values"]) for d in logged] == live
    assert runs.replay(path).ok


def test_the_values_of_decisions_come_out_of_the_finished_log(tmp_path: Path) -> None:
    """Each attempt again, as the only one of the file that has begun by then."""
    path = tmp_path / "run.jsonl"
    inner = piase_gym.parallel_env("GridWorld", width=4, height=4, max_steps=12)
    env = AvtLogger(CurriculumWrapper(inner, {"agent_0": plan_of("grid", "agent_0")}), path)
    rng = np.random.default_rng(1)
    for _ in range(30):
        env.reset(seed=int(rng.integers(99)))
        while env.agents:
            env.step({"agent_0": int(rng.integers(5))})
    env.close()
    metrics = runs.Metrics(path)
    known = metrics.history.of("agent_0")
    attempts, checked = list(known.attempts), 0
    for attempt, decision in zip(attempts, env.decisions, strict=False):
        del known.attempts[attempt.number :]
        for name in ("success_rate", "mean_return", "illegal_rate"):
            if name in decision.values:
                value = metrics.get_performance_metric("agent_0", name)
                assert value == decision.values[name]
                checked += 1
        known.attempts[:] = attempts
    assert checked > 10


def test_between_decisions_only_what_is_read_is_kept() -> None:
    easy = curriculum(step(1))
    costly = curriculum(step(1, adaptation_rules=[["mean_return < 0", "REPEAT_STEP"]]))
    full = curriculum(step(1, adaptation_rules=EVERYTHING))
    for plan, count in ((easy, 0), (costly, 1), (full, 2)):
        env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), plan)
        env.reset(seed=0)
        assert len(env.controller.collector.step_hooks) == count
        assert not env.unwrapped.events.wants_steps
    known = ["success_rate", "milestone.x", "reached_goal_1"]
    assert MetricInputs.of(known) == MetricInputs(False, False, False)
    assert MetricInputs.of(["measure.x"]) == MetricInputs(False, False, True)
    assert MetricInputs.of(["my_own"]) == MetricInputs(True, True, True)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("read", [False, True])
def test_what_a_world_measures_is_read_only_where_it_is_asked_for(batch: bool, read: bool) -> None:
    rules = [["measure.coverage < 0", "FAIL_CURRICULUM"]] if read else []
    plan = curriculum(step(1, environment_config_overrides={"width": 8}, adaptation_rules=rules))
    make: Any = partial(piase_gym.batch_env, num_envs=2) if batch else piase_gym.parallel_env
    env = CurriculumWrapper(make("ObjectSearch"), plan)
    env.reset(seed=0)
    for _ in range(6):
        env.step(np.zeros((2, 1), np.int64) if batch else {"agent_0": 0})
    env.reset()
    metrics = env.controller.metrics
    assert metrics.history.of("agent_0").episodes[0].length == 6
    if read:
        window = {"attempts": 9}
        assert metrics.get_performance_metric("agent_0", "measure.coverage", window) > 0.0
    else:
        with pytest.raises(UnsupportedError, match="coverage is not recorded"):
            metrics.get_performance_metric("agent_0", "measure.coverage")
        assert metrics.history.of("agent_0").episodes[0].measures == {}


@pytest.mark.parametrize("metric", ["mean_return", "illegal_rate", "env_steps", "messages_sent"])
def test_a_director_reads_what_it_names_and_nothing_invented(metric: str) -> None:
    class Own(ScriptedDirector):
        metrics = ()

        def decide(self, tried: Any) -> Any:
            read.append(self.avt.get_performance_metric(tried.agent, metric))
            return super().decide(tried)

    class Naming(Own):
        metrics = (metric,)

    read: list[Any] = []
    for director in (Own(), Naming()):
        env = CurriculumWrapper(
            piase_gym.parallel_env("GridWorld"), curriculum(step(1), step(2)), director=director
        )
        env.reset(seed=0)
        try:
            while env.agents:
                env.step({"agent_0": RIGHT})
        except UnsupportedError as error:
            read.append(str(error))
    assert f"{metric} is not recorded" in read[0]
    rewards = {"mean_return": 9.8, "illegal_rate": 0.0, "env_steps": 3, "messages_sent": 0}
    assert read[1] == pytest.approx(rewards[metric])


def test_targets_off_the_goal_are_seen_on_the_way() -> None:
    target = {"motivation": {"current_goal_details": {"target_coords": [1, 0]}}}
    reached = [{"metric": "reached_goal_1", "operator": "==", "value": True}]
    plan = curriculum(step(1, completion_criteria=reached, agent_config_overrides=target))
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), plan)
    for acts in ([STAY] * 6, [RIGHT, RIGHT, 2, 2, 2, 2]):
        env.reset(seed=0)
        for act in acts:
            env.step({"agent_0": act})
    assert [d.decision for d in env.decisions] == ["REPEAT_STEP", "PROCEED"]


def test_a_restored_episode_is_another_one() -> None:
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), curriculum(step(1)))
    env.reset(seed=0)
    env.step({"agent_0": RIGHT})
    kept = env.snapshot()
    env.step({"agent_0": STAY})
    env.restore(kept)
    while env.agents:
        env.step({"agent_0": RIGHT})
    assert [(d.decision, d.env_steps) for d in env.decisions] == [("PROCEED", 2)]
    env.reset()
    assert env.unwrapped.config.width == 4


def test_what_was_played_before_a_restored_state_counts_as_in_a_log(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    inner = AvtLogger(piase_gym.parallel_env("GridWorld"), path)
    env = CurriculumWrapper(inner, curriculum(step(1)))
    env.reset(seed=0)
    env.step({"agent_0": STAY})
    kept = env.unwrapped.snapshot()
    for _ in range(3):
        env.step({"agent_0": STAY})
    env.unwrapped.restore(kept)
    env.step({"agent_0": STAY})
    env.reset()
    live = env.controller.metrics.history
    env.close()
    logged = runs.Metrics(path).history
    played = [
        [(e.start, e.end, e.length) for e in h.of("agent_0").episodes] for h in (live, logged)
    ]
    assert played == [[(0, 4, 4), (4, 5, 1)]] * 2
    assert live.step == logged.step == 5


def test_curriculum_metrics_say_what_they_follow() -> None:
    metrics = CurriculumMetrics(["agent_0"])
    metrics.attempt("agent_0", {"order": 1})
    metrics.hint("agent_0", "Look!")
    kind = "ENVIRONMENT_EVENT_OCCURRED"
    assert metrics.check_event_occurred("agent_0", {"event_type": kind, "message": "Look!"})
    assert not metrics.check_event_occurred("agent_0", {"event_type": kind, "message": "Run!"})
    assert metrics.get_performance_metric("agent_0", "hints_used") == 1
    with pytest.raises(UnsupportedError, match="does not hear of REWARD_SIGNAL_ISSUED"):
        metrics.check_event_occurred("agent_0", "REWARD_SIGNAL_ISSUED")
    with pytest.raises(UnsupportedError, match="without a type"):
        metrics.check_event_occurred("agent_0", {"outcome": "illegal"})
