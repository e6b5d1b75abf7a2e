"""PiaAVT's five analyses run on logs of all worlds, and find what our own metrics say.

They are written down here from the payloads that the toolkit's specification names: goals, tasks,
actions, rewards, emotions. They read what `export` writes for older readers: `data` beside
`event_data`, and timestamps as floats, which two of them subtract.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.wrappers import AvtLogger
from tests.helpers.needs import need
from tests.helpers.piaavt import lines, refusal
from tests.helpers.run_worlds import Seen, note
from tests.interfaces.own_envs import KINDS

Row = dict[str, Any]
WORLDS: dict[str, dict[str, Any]] = {
    "GridWorld": {"agents": 3, "width": 5, "height": 5, "max_steps": 12},
    "SocialDilemma": {"game": "stag_hunt", "rounds": 6},
    "SocialDilemma cleanup": {"game": "cleanup", "agents": 3, "max_steps": 12},
    "PhysicsPlayground": {"task": "push", "max_steps": 8},
    "TextRoom": {"agents": 2, "max_steps": 12},
    "Household": {"agents": 2, "max_steps": 10},
    "SqlQuery": {"agents": 2, "max_steps": 5},
    "WordCraft": {"agents": 2, "depth": 2},
    "ObjectSearch": {"agents": 2, "max_steps": 12},
    "Lamps": {"agents": 2, "max_steps": 12},
    "Dice": {"max_steps": 12},
    "Street": {"agents": 2, "max_steps": 12},
    "Tower": {"max_steps": 12},
}
"""Every world, and an environment of one's own of each kind."""
assert set(WORLDS) >= {kind.__name__ for kind in KINDS}
EPISODES = 3


def goals(events: list[Row]) -> dict[str, Any]:
    """Goal dynamics: how many were created and came to which end, and how long they were active."""
    active: dict[str, float] = {}
    ends: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for event in events:
        data = event["data"]
        if event["event_type"] == "GOAL_CREATED":
            assert data["type"] == "EXTRINSIC_TASK"
            assert 0 <= data["initial_priority"] <= 10
        elif event["event_type"] == "GOAL_ACTIVATED":
            active[data["goal_id"]] = event["timestamp"]
        elif event["event_type"] == "GOAL_STATE_CHANGED":
            lasted = event["timestamp"] - active.pop(data["goal_id"])
            ends[event["agent_id"]].append((data["new_state"], lasted))
    assert not active
    return dict(ends)


def tasks(events: list[Row]) -> dict[str, Counter[str]]:
    """Task performance: how often each agent completed or failed what was assigned to it."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    started: dict[str, float] = {}
    for event in events:
        if event["event_type"] == "TASK_STATUS_UPDATE":
            data = event["data"]
            if data["status"] == "STARTED":
                started[data["task_id"]] = event["timestamp"]
            else:
                assert event["timestamp"] >= started[data["task_id"]]
            found[data["assigned_to_agent_id"]][data["status"]] += 1
    return found


def actions(events: list[Row]) -> dict[str, Any]:
    """Behaviour: the outcomes of each agent's actions, and what was spent on each goal."""
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    spent: Counter[str] = Counter()
    for event in events:
        if event["event_type"] == "AGENT_ACTION_EXECUTED_IN_ENV":
            data = event["data"]
            details = data["action_details"]
            assert data["environmental_outcome_summary"]
            assert details["parameters"]["goal_id"] == data["goal_id"]
            outcomes[data["agent_id_acting"]][data["outcome"]] += 1
            spent[data["goal_id"]] += details["cost"]
    return {"outcomes": outcomes, "spent": spent}


def rewards(events: list[Row]) -> dict[str, float]:
    """Learning: the sum of the reward signals of each agent."""
    found: dict[str, float] = defaultdict(float)
    for event in events:
        if event["event_type"] == "REWARD_SIGNAL_ISSUED":
            assert isinstance(event["data"]["reward_value"], float)
            assert event["data"]["reason"]
            found[event["agent_id"]] += event["data"]["reward_value"]
    return found


def emotions(events: list[Row]) -> dict[str, list[tuple[float, float]]]:
    """Emotional trajectory: valence over time."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        if event["event_type"] == "EMOTION_STATE_UPDATED":
            found[event["agent_id"]].append(
                (event["timestamp"], event["data"]["current_vad"]["valence"])
            )
    return found


def played(env: Any) -> Seen:
    """Play at random among what is legal, and feel the last reward."""
    dice, seen = np.random.default_rng(0), Seen()
    for seed in range(EPISODES):
        env.reset(seed=seed)
        totals: dict[str, list[float]] = {name: [] for name in env.possible_agents}
        while env.agents:
            acts = {}
            for name in env.agents:
                legal = env.unwrapped.commands(name)
                acts[name] = legal[int(dice.integers(len(legal)))]
            _, gained, _, _, infos = env.step(acts)
            seen.steps += 1
            for name in acts:
                totals[name].append(gained[name])
                vad = {"valence": float(gained[name]), "arousal": 0.0, "dominance": 0.0}
                runs.log(env, "EMOTION_STATE_UPDATED", {"current_vad": vad}, name)
                if infos[name].get("result") is not None:
                    note(seen, name, infos[name]["result"], totals[name])
    return seen


@pytest.mark.parametrize("name", WORLDS)
def test_five_analyses_find_what_our_own_metrics_say(name: str, tmp_path: Path) -> None:
    world = name.split()[0]
    need(world)
    path, out = tmp_path / "run.jsonl", tmp_path / "legacy.jsonl"
    inner = piase_gym.parallel_env(world, **WORLDS[name])
    agents = list(inner.possible_agents)
    env = AvtLogger(inner, path, level="INFO")
    seen = played(env)
    env.close()
    assert {refusal(line) for line in path.read_text("utf-8").splitlines()} == {""}
    runs.export(path, out, dialect="legacy", timestamps="epoch")
    events = lines(out)
    metrics, seconds = runs.Metrics(path), events[-1]["timestamp"] - events[0]["timestamp"]
    ends, done, acts = goals(events), tasks(events), actions(events)
    gained, felt = rewards(events), emotions(events)
    for agent in agents:

        def get(metric: str, agent: str = agent) -> Any:
            return metrics.get_performance_metric(agent, metric)

        states = [state for state, _ in ends[agent]]
        lasted = [time for _, time in ends[agent]]
        assert len(states) == get("episodes") == EPISODES
        assert states.count("ACHIEVED") == seen.won.get(agent, 0)
        assert states.count("FAILED") == seen.lost.get(agent, 0)
        if world != "SocialDilemma":  # where to play to the end is the task
            assert states.count("ACHIEVED") / EPISODES == get("success_rate")
        assert all(time >= 0.0 for time in lasted)
        assert sum(lasted) <= seconds + 1e-6
        assert done[agent]["COMPLETED_SUCCESS"] == states.count("ACHIEVED")
        assert done[agent]["FAILED"] == states.count("FAILED")
        assert done[agent]["STARTED"] == EPISODES
        outcomes = acts["outcomes"][agent]
        assert outcomes.total() == get("env_steps") == sum(seen.lengths[agent])
        assert outcomes["illegal"] / outcomes.total() == get("illegal_rate")
        spent = [n for goal, n in acts["spent"].items() if goal.endswith(f"_{agent}")]
        assert spent == seen.lengths[agent]
        assert get("episode_length") == pytest.approx(np.mean(spent))
        assert gained[agent] == pytest.approx(sum(seen.returns[agent]))
        assert gained[agent] / EPISODES == pytest.approx(get("mean_return"))
        assert len(felt[agent]) == outcomes.total()
        assert sum(valence for _, valence in felt[agent]) == pytest.approx(gained[agent])
        assert felt[agent] == sorted(felt[agent], key=lambda row: row[0])
