"""Tabular Q-learning learns, by the published rule, and its state is a value."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import piase_gym
from piase_gym import Simulation
from piase_gym.agents import BatchPercept, Feedback, Percept, QLearningAgent, make_agent
from piase_gym.agents.q_learning import text_key, vector_key
from piase_gym.core.commands import Outcome
from piase_gym.errors import ConfigError, PiaseError, SnapshotError, UnsupportedError

SMALL: dict[str, Any] = {
    "width": 4,
    "height": 4,
    "start_pos": (0, 0),
    "goal_pos": (3, 3),
    "walls": ((1, 1), (2, 2)),
    "max_steps": 60,
}


def evaluate(agent: QLearningAgent, seed: int = 99, **config: Any) -> Any:
    """Play one episode without exploration or learning."""
    before = agent.get_state()["table"]
    agent.configure({"learning": False})
    summary = Simulation("GridWorld", agent, seed=seed, **config).run()
    assert agent.get_state()["table"] == before
    return summary


# -- the rule -----------------------------------------------------------------------------


class Chain:
    """A percept whose state and legal actions a test chooses."""

    capabilities = SimpleNamespace(discrete=True)

    @staticmethod
    def percept(state: int, legal: list[int], step: int) -> Percept:
        class Given(Percept):
            mask = np.isin(np.arange(4), legal).astype(np.int8)
            vector = np.array([state], np.uint8)

        return Given(Chain(), 0, step)  # type: ignore[arg-type]


steps = st.lists(
    st.tuples(
        st.integers(0, 3),  # the state
        st.sets(st.integers(0, 3), min_size=1),  # legal actions
        st.floats(-10, 10),  # reward
        st.sampled_from(["on", "on", "on", "terminated", "truncated", "late"]),
    ),
    max_size=40,
)


@given(steps, st.floats(0.01, 1), st.floats(0, 1), st.floats(-2, 2))
def test_values_follow_watkins_rule(
    moves: list[tuple[int, set[int], float, str]], rate: float, discount: float, start: float
) -> None:
    """The table is that of a plain loop over whole transitions."""
    agent = QLearningAgent(
        learning_rate=rate, discount=discount, exploration=0.5, initial_value=start
    )
    agent.reset(7)
    table: dict[tuple[int, int], float] = {}
    taken: list[tuple[int, int, float, str]] = []
    for step, (state, legal, reward, how) in enumerate(moves):
        if taken and taken[-1][3] == "on":  # s, a, r of the step before; s' is now
            old, action, gained, _ = taken[-1]
            best = max(table.get((state, b), start) for b in legal)
            q = table.get((old, action), start)
            table[old, action] = q + rate * (gained + discount * best - q)
        agent.perceive(Chain.percept(state, sorted(legal), step))
        action = agent.act()
        assert action in legal
        ends = how == "terminated", how == "truncated"
        agent.learn(Feedback(reward, *ends, Outcome.TIMEOUT if how == "late" else Outcome.OK))
        taken.append((state, int(action), reward, how))  # type: ignore[arg-type]
        if how == "terminated":
            q = table.get((state, int(action)), start)  # type: ignore[arg-type]
            table[state, int(action)] = q + rate * (reward - q)  # type: ignore[arg-type]
        if any(ends):
            agent.reset(step)
    found = {
        (state, action): agent.worth(vector_key(Chain.percept(state, [0], 0)), action)
        for state, action in table
    }
    assert found == pytest.approx(table)
    assert sum(map(len, agent.table.values())) == len(table)


def test_best_actions_are_taken_and_ties_are_shared() -> None:
    agent = QLearningAgent(exploration=0.0)
    chosen = set()
    for step in range(40):
        agent.perceive(Chain.percept(1, [0, 2, 3], step))
        chosen.add(agent.act())
    assert chosen == {0, 2, 3}
    agent.table[vector_key(Chain.percept(1, [0], 0))] = {0: 1.0, 1: 5.0, 3: 2.0}
    for step in range(40):
        agent.perceive(Chain.percept(1, [0, 2, 3], step))
        assert agent.act() == 3


def test_exploration_is_as_frequent_as_it_says() -> None:
    agent = QLearningAgent(exploration=0.4, exploration_decay=0.5, least_exploration=0.1)
    agent.table[vector_key(Chain.percept(0, [0], 0))] = {0: 1.0}
    shares = []
    for episode in range(4):
        agent.reset(episode)
        other = 0
        for step in range(4000):
            agent.perceive(Chain.percept(0, [0, 1, 2, 3], step))
            other += agent.act() != 0
        shares.append(other / 4000 * 4 / 3)  # a quarter of the tries hit the best action
    assert shares == pytest.approx([0.4, 0.2, 0.1, 0.1], abs=0.03)


# -- learning in worlds -------------------------------------------------------------------


def test_it_learns_the_shortest_way() -> None:
    """The shortest way round two walls takes |3-0| + |3-0| = 6 steps; at random it takes longer."""
    random = Simulation("GridWorld", "random", seed=0, **SMALL)
    random.run(episodes=20)
    mean = np.mean([summary.returns["agent_0"] for summary in random.summaries])
    agent = QLearningAgent(exploration=0.3)
    Simulation("GridWorld", agent, seed=0, **SMALL).run(episodes=150)
    learnt = evaluate(agent, **SMALL)
    assert learnt.won
    assert learnt.steps == 6
    assert learnt.returns["agent_0"] > mean + 3


def test_it_learns_a_story() -> None:
    """Seven commands win the lost key; a random player needs many times more."""
    agent = QLearningAgent(exploration=0.3, discount=0.99)
    Simulation("lost_key", agent, seed=0).run(episodes=150)
    agent.configure({"learning": False})
    assert Simulation("lost_key", agent, seed=1).run().steps <= 20


def test_what_a_state_is_can_be_chosen() -> None:
    agent = QLearningAgent(see=lambda percept: str(percept.facts.position))  # type: ignore[attr-defined]
    Simulation("GridWorld", agent, seed=0, **SMALL).run(episodes=30)
    assert set(agent.table) <= {f"({x}, {y})" for x in range(4) for y in range(4)}
    agent = QLearningAgent(see=text_key)
    Simulation("GridWorld", agent, seed=0, **SMALL).run(episodes=3)
    assert all(len(key) == 16 for key in agent.table)


def test_the_same_seed_learns_the_same_table() -> None:
    def learn(seed: int) -> Any:
        agent = make_agent("q_learning")
        Simulation("GridWorld", agent, seed=seed, **SMALL).run(episodes=12)
        return agent.get_state()

    assert learn(3) == learn(3)
    assert learn(3) != learn(4)


def test_it_learns_as_a_partner_too() -> None:
    agent = QLearningAgent()
    env = piase_gym.parallel_env("GridWorld", agents=2, partners={"agent_1": agent})
    env.reset(seed=0)
    for _ in range(20):
        if env.agents:
            env.step({"agent_0": 4})
    assert agent.table


# -- state and settings -------------------------------------------------------------------


def test_state_is_a_value_in_mid_episode() -> None:
    def simulation(agent: QLearningAgent) -> Simulation:
        return Simulation("GridWorld", agent, seed=5, **SMALL)

    agent = QLearningAgent(exploration=0.4)
    run = simulation(agent)
    run.run_simulation(9)
    saved = json.loads(json.dumps(agent.get_state()))
    world = run.world_env.snapshot()
    twin = QLearningAgent()
    twin.set_state(saved)
    assert twin.get_state() == agent.get_state()
    other = simulation(twin)
    other.initialize()
    other.world_env.restore(world)
    other._summary.steps = 9
    twin.set_state(saved)
    for _ in range(20):
        run.step()
        other.step()
    assert run.world_env.digest() == other.world_env.digest()
    assert twin.get_state() == agent.get_state()


@pytest.mark.parametrize("state", [{}, {"table": 3}, {"settings": {"learning_rate": 9}}, []])
def test_a_damaged_state_is_refused(state: Any) -> None:
    agent = QLearningAgent()
    whole = agent.get_state()
    damaged = {**whole, **state} if state else state
    with pytest.raises(SnapshotError, match="no state of a Q-learning agent"):
        agent.set_state(damaged)
    assert agent.get_state() == whole


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"learning_rate": 0}, "learning_rate"),
        ({"discount": 1.5}, "discount"),
        ({"exploration": float("nan")}, "exploration"),
        ({"learnig_rate": 0.5}, "'learning_rate'"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        QLearningAgent(**settings)


def test_configure_takes_its_own_settings_only() -> None:
    agent = QLearningAgent(discount=0.5)
    agent.configure({"learning_rate": 0.25, "self_model": {"mood": "curious"}})
    assert (agent.settings.learning_rate, agent.settings.discount) == (0.25, 0.5)
    with pytest.raises(ConfigError, match="learning_rate"):
        agent.configure({"learning_rate": "fast"})


def test_a_batch_chooses_as_one_environment_does() -> None:
    agent = QLearningAgent(exploration=0.5)
    Simulation("GridWorld", agent, seed=0, **SMALL).run(episodes=10)
    envs = [piase_gym.parallel_env("GridWorld", **SMALL) for _ in range(6)]
    seeds = list(range(6))
    for env, seed in zip(envs, seeds, strict=True):
        env.reset(seed=seed)
        for _ in range(seed):
            env.step({"agent_0": 3})
    agent.reset(0)
    batch = BatchPercept(
        np.array([env.world.vectors()[0] for env in envs]),
        np.array([env.world.masks()[0] for env in envs]),
        np.array(seeds, np.uint64),
        np.array(seeds, np.int64),
    )
    chosen = agent.act_batch(batch).tolist()
    for env, seed, action in zip(envs, seeds, chosen, strict=True):
        twin = QLearningAgent()
        twin.set_state({**agent.get_state(), "seed": seed})
        twin.perceive(Percept(env.world, 0, seed))
        assert twin.act() == action
    agent.see = text_key
    with pytest.raises(UnsupportedError, match="by their vectors"):
        agent.act_batch(batch)


def test_it_shows_what_it_knows() -> None:
    events: list[Any] = []
    simulation = Simulation("GridWorld", "q_learning", seed=0, expose_states=True, **SMALL)
    simulation.events.subscribe(events.append, {"state"})
    simulation.run_simulation(3)
    shown = [event.data["state"] for event in events]
    assert [entry["states_known"] for entry in shown] == [0, 1, 2]
    assert {"exploration", "worth"} <= set(shown[0])


def test_it_needs_indices() -> None:
    agent = QLearningAgent()
    with pytest.raises(PiaseError, match="call perceive first"):
        agent.act()
    with pytest.raises(UnsupportedError, match="discrete actions"):
        agent.perceive({"text": "You are here."})
