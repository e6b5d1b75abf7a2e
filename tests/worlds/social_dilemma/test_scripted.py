"""SocialDilemma's script: honest, greedy, and so a picture of the tragedy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import piase_gym
from piase_gym.agents import Percept, ScriptedAgent, make_agent
from piase_gym.benchmarks.studies.dilemmas.measure import commons_episodes
from piase_gym.worlds.social_dilemma.players.oracle import SocialDilemmaOracle
from piase_gym.worlds.social_dilemma.players.scripted import SocialDilemmaScript, _faces_waste


def choices(partner: str, seat: int, rounds: int = 6, **config: Any) -> list[int]:
    """Return what the script chooses in each round against a strategy."""
    env = piase_gym.parallel_env("SocialDilemma", rounds=rounds, **config)
    env.reset(seed=3)
    names = env.possible_agents
    players = {name: make_agent(partner) for name in names} | {names[seat]: ScriptedAgent()}
    made = []
    while env.agents:
        acts = {}
        for name in env.agents:
            players[name].perceive(Percept(env.world, names.index(name), len(made)))
            acts[name] = players[name].act()
        made.append(acts[names[seat]])
        env.step(acts)
    return made


@pytest.mark.parametrize(
    ("game", "partner", "seat", "wanted"),
    [
        ("prisoners_dilemma", "tit_for_tat", 0, [1, 1, 1, 1, 1, 1]),
        ("stag_hunt", "always_cooperate", 0, [1, 0, 0, 0, 0, 0]),
        ("stag_hunt", "always_defect", 1, [1, 1, 1, 1, 1, 1]),
        ("chicken", "always_cooperate", 0, [0, 1, 1, 1, 1, 1]),
        ("chicken", "always_defect", 0, [0, 0, 0, 0, 0, 0]),
        ("battle_of_the_sexes", "always_defect", 0, [0, 1, 1, 1, 1, 1]),
        ("matching_pennies", "always_cooperate", 0, [0, 0, 0, 0, 0, 0]),
        ("matching_pennies", "always_cooperate", 1, [0, 1, 1, 1, 1, 1]),
        ("public_goods", "always_cooperate", 2, [1, 1, 1, 1, 1, 1]),
        ("volunteers_dilemma", "always_cooperate", 3, [0, 1, 1, 1, 1, 1]),
        ("volunteers_dilemma", "always_defect", 3, [0, 0, 0, 0, 0, 0]),
    ],
)
def test_it_replies_best_to_what_it_remembers(
    game: str, partner: str, seat: int, wanted: list[int]
) -> None:
    assert choices(partner, seat, game=game) == wanted


def test_it_looks_back_on_all_rounds_that_are_remembered() -> None:
    # The grudger swerves twice and then never again; two to two the script goes on as before.
    found = choices("grudger", 0, rounds=6, game="chicken", memory=4)
    assert found == [0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("task", ["Harvest-4p", "Cleanup-4p"])
def test_it_reads_nothing_but_facts(task: str) -> None:
    env = piase_gym.parallel_env(f"piase/SocialDilemma-{task}-v1", rounds=120)
    env.reset(seed=5)
    world = env.world
    blind = SimpleNamespace(facts=world.facts, config=SimpleNamespace(clean_range=5, frame="grid"))
    honest: Any = [SocialDilemmaScript(blind) for _ in env.agents]  # type: ignore[arg-type]
    others = [SocialDilemmaScript(world) for _ in env.agents]
    while env.agents:
        made = [script.act(number) for number, script in enumerate(honest)]
        assert made == [script.act(number) for number, script in enumerate(others)]
        infos = env.step(dict(zip(env.agents, made, strict=True)))[4]
        assert {info["outcome"] for info in infos.values()} <= {"ok", "failed"}
    assert world.states[0]["zaps"].sum() == 0


def mean(values: list[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)


def test_greed_eats_a_harvest_bare() -> None:
    task = "piase/SocialDilemma-Harvest-4p-v1"
    greedy, spared = (commons_episodes(name, task, episodes=3) for name in ("scripted", "oracle"))
    assert mean(greedy["sustainability"]) < 0.15 < 0.4 < mean(spared["sustainability"])
    assert mean(greedy["efficiency"]) < 0.25 * mean(spared["efficiency"])
    assert mean(greedy["return an agent"]) > 10.0  # there were 65 apples, and it found them


def test_in_a_cleanup_it_works_where_there_is_nothing_to_eat() -> None:
    task = "piase/SocialDilemma-Cleanup-4p-v1"
    found, planned = (commons_episodes(name, task, episodes=3) for name in ("scripted", "oracle"))
    assert mean(found["cooperation_rate"]) > 0.02
    assert 0.3 < mean(found["return an agent"]) / mean(planned["return an agent"]) < 1.0


@pytest.mark.parametrize(
    ("game", "rounds"),
    [
        ("battle_of_the_sexes", [[1, 1], [0, 0]] * 2),
        ("volunteers_dilemma", [[0, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1]]),
        ("prisoners_dilemma", [[0, 0]] * 4),
    ],
)
def test_the_oracle_takes_turns_among_equal_optima(game: str, rounds: list[list[int]]) -> None:
    env = piase_gym.parallel_env("SocialDilemma", view="vector", game=game, rounds=4)
    env.reset(seed=0)
    oracle, played = SocialDilemmaOracle(env.world), []
    while env.agents:
        played.append([oracle.act(agent) for agent in range(len(env.agents))])
        env.step(dict(zip(env.agents, played[-1], strict=True)))
    assert played == rounds


def test_the_oracle_gets_the_most_whatever_the_coin_shows() -> None:
    env = piase_gym.parallel_env("SocialDilemma", view="vector", rounds=12, coin=True)
    env.reset(seed=0)
    oracle, played, paid = SocialDilemmaOracle(env.world), set(), set()
    while env.agents:
        acts = {agent: oracle.act(number) for number, agent in enumerate(env.agents)}
        played |= {*acts.values()}
        paid |= {*env.step(acts)[1].values()}
    assert (played, paid) == ({0, 1}, {3.0})


def test_the_script_looks_one_cell_as_far_as_it_cleans() -> None:
    def seen(row: int) -> Any:
        cells = [["floor"] * 3 for _ in range(6)]
        cells[-1 - row][1] = "waste"
        return SimpleNamespace(cells=cells)

    assert [_faces_waste(seen(row), 3) for row in (1, 3, 4)] == [True, True, False]
