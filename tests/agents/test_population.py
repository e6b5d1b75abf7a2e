"""Random matching: whom a seat is played by in each episode."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym.agents import make_agent
from piase_gym.agents.population import PopulationAgent
from piase_gym.agents.simple import NoopAgent, draw_at
from piase_gym.benchmarks import Row, evaluate
from piase_gym.benchmarks.evaluation.policies import read_policy
from piase_gym.core.rng import StreamId, stream_keys
from piase_gym.errors import ConfigError, PiaseError, SnapshotError, UnknownNameError
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.matrix.solutions import AUTOMATA, best_response, tournament

TASK = "piase/SocialDilemma-PrisonersDilemma-TitForTat-v1"
THREE = "population:always_cooperate,always_defect,tit_for_tat"


def test_each_member_is_met_as_often_as_it_is_named() -> None:
    agent = make_agent("population:tit_for_tat, grudger,tit_for_tat")
    assert isinstance(agent, PopulationAgent)
    met, alike = [], 0
    for seed in stream_keys(np.arange(3000, dtype=np.uint64), StreamId.PARTNER + 1):
        agent.reset(int(seed))
        met.append(type(agent.members[agent.member]).__name__)
        alike += agent.member == draw_at(int(seed), 0) * 3 >> 32
    assert 1900 < met.count("TitForTat") < 2100  # 4 standard deviations are 103
    assert met.count("TitForTat") + met.count("Grudger") == 3000
    assert 900 < alike < 1100  # what members draw in the first step does not follow from it


def play(env: Any, seed: int) -> tuple[list[float], list[int]]:
    """Play an episode by a plan; returns the rewards, and how often the partner cooperated."""
    env.reset(seed=seed)
    rewards, over, step = [], False, 0
    while not over:
        _, reward, terminated, truncated, _ = env.step(int(step % 3 == 1))
        rewards.append(float(reward))
        over, step = terminated or truncated, step + 1
    return rewards, env.unwrapped.world.states[0]["cooperated"].tolist()


@pytest.mark.parametrize(
    ("names", "different"), [(THREE, 3), ("population:random,noop,generous_tit_for_tat", 20)]
)
def test_a_batch_meets_whom_single_environments_meet(names: str, different: int) -> None:
    env = gymnasium.make(TASK, partners={"agent_1": names})
    alone = [play(env, seed)[0] for seed in range(40)]
    env.close()
    batch = piase_gym.batch_env(TASK, num_envs=40, partners={"agent_1": names})
    batch.reset(seed=0)
    together = [batch.step(np.full((40, 1), int(step % 3 == 1)))[1][:, 0] for step in range(10)]
    assert np.array_equal(np.array(together).T, alone)
    assert len({tuple(rewards) for rewards in alone}) >= different


def test_who_acts_in_batches_together_acts_in_batches() -> None:
    assert make_agent(THREE).acts_in_batches
    mixed = make_agent("population:tit_for_tat,scripted")
    assert not mixed.acts_in_batches


TOLD = ("reset", "perceive", "begin_act", "follow_act", "learn", "configure")
ASKED = ("act", "outgoing_letters", "spoken", "log_entries", "internal_state")


def test_the_member_that_plays_is_told_and_asked() -> None:
    class Noted(NoopAgent):
        waits = True

        def __init__(self) -> None:
            super().__init__()
            self.told: list[Any] = []

    for name in TOLD:
        setattr(Noted, name, lambda self, *given, name=name: self.told.append((name, *given)))
    for name in ASKED:
        setattr(Noted, name, lambda self, name=name: f"{name} of {self.get_id()}")
    pair = Noted(), Noted()
    population: Any = PopulationAgent(pair)
    population.set_id("agent_3")
    assert {agent.get_id() for agent in (population, *pair)} == {"agent_3"}
    population.reset(7)
    for name in TOLD[1:]:
        getattr(population, name)(*([] if name == "begin_act" else [{"it": name}]))
    assert population.percept == {"it": "perceive"}
    given = [(name, {"it": name}) if name != "begin_act" else (name,) for name in TOLD[1:]]
    assert pair[population.member].told == [("reset", 7), *given]
    assert pair[1 - population.member].told == given[-1:]  # all are configured
    assert [getattr(population, name)() for name in ASKED] == [f"{n} of agent_3" for n in ASKED]
    assert population.waits
    assert PopulationAgent([NoopAgent(), pair[0]]).waits
    assert not PopulationAgent([NoopAgent()]).waits


def test_an_episode_goes_on_with_the_same_member() -> None:
    one, two = (make_agent(THREE + ",random") for _ in range(2))
    assert isinstance(one, PopulationAgent)
    for seed in range(8):
        one.reset(seed)
        two.set_state(one.get_state())
        assert two.get_state() == one.get_state()
    assert one.get_state()["states"][3]["seed"] in range(8)
    for damage in ({"member": 4}, {"states": one.get_state()["states"][:3]}):
        with pytest.raises((SnapshotError, ValueError)):
            two.set_state({**one.get_state(), **damage})


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("population:", ConfigError, "named by its policies"),
        ("population:random,", ConfigError, "named by its policies"),
        ("population:random,tit_for_tta", UnknownNameError, "tit_for_tat"),
        ("population:random,population:noop", ConfigError, "no member"),
    ],
)
def test_bad_names(name: str, error: type[PiaseError], words: str) -> None:
    for read in (make_agent, read_policy):
        with pytest.raises(error, match=words):
            read(name)


def test_policies_are_judged_against_a_population() -> None:
    row = Row(task=TASK, label="x", measure="per_capita", focal=1, partners=(THREE,))
    results = evaluate("always_defect", row, episodes=60)
    values = {record.value for record in results.episodes}
    assert values == {50.0, 10.0, 14.0}
    assert read_policy(THREE).fingerprint != read_policy(THREE + ",random").fingerprint


def test_a_tournament_is_what_is_played() -> None:
    config = SocialDilemmaConfig(rounds=10)
    names = sorted(AUTOMATA)
    table = tournament(config, names)
    at = {name: number for number, name in enumerate(names)}
    assert table[at["always_defect"], at["tit_for_tat"]] == pytest.approx(14.0)
    assert table[at["tit_for_tat"], at["always_defect"]] == pytest.approx(9.0)
    assert table[at["random"], at["random"]] == pytest.approx(22.5)
    for name in names:
        assert table[:, at[name]].max() <= best_response(config, name).value + 1e-9
    sexes = tournament(SocialDilemmaConfig(game="battle_of_the_sexes", rounds=4), names)
    both = sexes[at["always_cooperate"], at["always_cooperate"]]
    assert both == pytest.approx(4 * 2.5)  # the mean of both seats
