"""The commons of SocialDilemma: kernels against a slow reference, views, measures, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import testing
from piase_gym.core.rng import Stream
from piase_gym.errors import ConfigError, EnvelopeError, GenerationError, SnapshotError
from piase_gym.worlds.social_dilemma import scripting
from piase_gym.worlds.social_dilemma.commons.codes import WASTE
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from tests.worlds.social_dilemma.batches import require_same_play
from tests.worlds.social_dilemma.reference_commons import MOVES, SlowCommons

QUICK = {"regrowth": (0.01, 0.1, 0.2, 0.4)}
CASES: list[dict[str, Any]] = [
    {"game": "harvest", "rounds": 60},
    {"game": "harvest", "agents": 8, "width": 9, "height": 12, "patches": 3, "rounds": 90}
    | {"timeout": 4, "zap_fine": 2.5, **QUICK},
    {"game": "harvest", "agents": 3, "width": 20, "height": 9, "window": 5, "timeout": 1}
    | {"symbols": 2, "reputation": True, "shared_reward": True, **QUICK, "rounds": 70},
    {"game": "harvest", "agents": 12, "width": 8, "height": 8, "patches": 2, "timeout": 3}
    | {"window": 9, "rounds": 80, "zap_range": 2},
    {"game": "cleanup", "rounds": 90, "most_waste": 1.0, "apple_chance": 0.3},
    {"game": "cleanup", "agents": 6, "width": 10, "height": 8, "river": 2, "orchard": 3}
    | {"start_waste": 0.0, "apple_chance": 0.5, "clean_range": 2, "timeout": 6, "rounds": 120},
    {"game": "cleanup", "agents": 5, "width": 9, "height": 9, "waste_chance": 1.0, "timeout": 0}
    | {"reputation": True, "symbols": 1, "max_steps": 50},
    {"game": "cleanup", "agents": 4, "width": 8, "height": 8, "river": 1, "waste_chance": 1.0}
    | {"most_waste": 0.5, "start_waste": 0.0, "rounds": 60},
]


def words_of(index: int, env: Any) -> tuple[str, int]:
    """Return an index as the reference takes it."""
    base = 6 + env.world.envelope.cleaning
    return (*MOVES, "stay", "zap", "clean")[index % base], index // base


def require_same(env: Any, slow: SlowCommons) -> None:
    """Compare what agents know with the reference."""
    for agent, name in enumerate(env.possible_agents):
        facts = env.facts(name)
        assert facts.cells == tuple(map(tuple, slow.window(agent)))
        assert facts.position == slow.places[agent]
        assert facts.time_out == slow.out[agent]
        assert facts.heading == (slow.headings[agent] if slow.places[agent] else None)
        for deed in ("eaten", "cleaned", "zaps", "zapped"):
            assert getattr(facts, deed) == slow.deeds[deed][agent]
        others = [other for other in range(slow.config.agents) if other != agent]
        told = [
            (env.possible_agents[o], *(slow.deeds[d][o] for d in ("eaten", "cleaned", "zaps")))
            for o in others
        ]
        assert [tuple(deeds) for deeds in facts.reputation] == (told if facts.reputation else [])
        said = [(env.possible_agents[o], str(slow.said[o])) for o in others if slow.said[o]]
        assert [(letter.sender, letter.message) for letter in facts.messages] == said


def draw(env: Any, dice: Stream) -> int:
    """Draw an action; to go ahead is likelier than all else."""
    if dice.integer(3):
        return dice.integer(4)
    return dice.integer(env.world.num_actions)


@pytest.mark.parametrize("fields", CASES)
def test_kernels_play_like_the_reference(fields: dict[str, Any]) -> None:
    env = piase_gym.parallel_env("SocialDilemma", view="vector", **fields)
    dice, events = Stream(6), set()
    for seed in range(4):
        env.reset(seed=seed)
        slow = SlowCommons(env.config, seed)
        require_same(env, slow)
        while env.agents:
            acts = [draw(env, dice) for _ in env.agents]
            legal = [slow.legal(a, *words_of(act, env)) for a, act in enumerate(acts)]
            masks = env.world.masks()
            assert legal == [bool(masks[a][act]) for a, act in enumerate(acts)]
            if seed % 2:  # agents act in another order in every step
                slow.order.sort(key=lambda _: dice.bits())
                env.runner.set_order(slow.order)
            before = {deed: [*counts] for deed, counts in slow.deeds.items()}
            _, rewards, terminated, truncated, infos = env.step(
                dict(zip(env.agents, acts, strict=True))
            )
            expected = slow.step([words_of(act, env) for act in acts])
            assert list(rewards.values()) == pytest.approx(expected, abs=1e-12)
            assert [i["outcome"] == "illegal" for i in infos.values()] == [not x for x in legal]
            assert set(terminated.values()) == {slow.t == env.config.length}
            assert set(truncated.values()) == {slow.t == env.config.max_steps}
            require_same(env, slow)
            check_milestones(infos, before, slow)
        events |= {name for name, deeds in slow.deeds.items() if any(deeds)}
        check_measures(env, slow)
    crowded = env.config.timeout and env.config.agents > 4
    assert events >= ({"zaps", "zapped", "away", "eaten"} if crowded else set())
    assert "cleaned" in events or env.config.game == "harvest"


DEEDS = {"apple_eaten": "eaten", "waste_cleaned": "cleaned", "was_zapped": "zapped"}
"""Milestones that are reached with the first of such deeds."""


def check_milestones(
    infos: dict[str, Any], before: dict[str, list[int]], slow: SlowCommons
) -> None:
    """Compare which milestones are told of with what was done for the first time."""
    for agent, info in enumerate(infos.values()):
        first = {m for m, d in DEEDS.items() if slow.deeds[d][agent] and not before[d][agent]}
        assert {*info.get("milestones", ())} & DEEDS.keys() == first


def check_measures(env: Any, slow: SlowCommons) -> None:
    """Compare the measures with what the reference has written down."""
    found = env.world.measure(0)
    count, eaten = slow.config.agents, slow.deeds["eaten"]
    means = [np.mean(times) for times in slow.when if times]
    expected = np.mean(means) / slow.t if means else 0.0
    assert found["sustainability"] == pytest.approx(expected)
    assert found["peace"] == pytest.approx(1 - sum(slow.deeds["away"]) / (count * slow.t))
    assert found["cooperation_rate"] == pytest.approx(slow.deeds["cleaned"][0] / slow.t)
    gaps = sum(abs(a - b) for a in eaten for b in eaten)
    even = 1 - gaps / (2 * count * sum(eaten)) if sum(eaten) else 1.0
    assert found["equality"] == pytest.approx(even)
    assert 0.0 <= found["efficiency"] <= 1.5


@pytest.mark.parametrize("fields", [CASES[1], CASES[5]])
def test_a_batch_plays_like_single_environments(fields: dict[str, Any]) -> None:
    dice = Stream(9)
    require_same_play(fields, 4, 150, lambda env: draw(env, dice))


KIT: list[dict[str, Any]] = [
    {"game": "harvest", "agents": 2, "width": 9, "height": 9, "patches": 2, "timeout": 3}
    | {"envelope": {"agents": 4, "width": 12, "window": 9, "cleaning": 1, "symbols": 2}}
    | {"rounds": 30, "symbols": 1, "reputation": True, **QUICK},
    {"game": "cleanup", "agents": 3, "width": 9, "height": 8, "rounds": 30}
    | {"recall": "map", "zap_range": 3},
]


@pytest.mark.parametrize("fields", KIT)
def test_commons_conform(fields: dict[str, Any]) -> None:
    assert testing.check_world("SocialDilemma", **fields).ok


@pytest.mark.parametrize("game", ["harvest", "cleanup"])
def test_who_is_out_is_nowhere_until_it_is_back(game: str) -> None:
    """Scripts see it: a time-out that ends with the next step is still one."""
    env = piase_gym.parallel_env("SocialDilemma", game=game, agents=3)
    env.reset(seed=0)
    states = env.world.states
    places = [[int(x), int(y)] for x, y in zip(states["x"][0], states["y"][0], strict=True)]
    states["out"][0, :3] = 1, 0, 25
    found = env.world.observe("position", states, None)
    assert found.tolist() == [[[-1, -1], places[1], [-1, -1]]]
    assert env.world.observe("out", states, None).tolist() == [[1, 0, 25]]


def test_a_patch_that_is_emptied_stays_bare() -> None:
    fields = {"game": "harvest", "patches": 1, "width": 9, "height": 9, "agents": 2}
    env = piase_gym.parallel_env("SocialDilemma", regrowth=(0, 1, 1, 1), **fields)
    env.reset(seed=0)
    state = env.world.states[0]
    before = state["ripe"].copy()
    state["cells"][state["cells"] == 4] = 2
    env.world.refresh()
    for _ in range(50):
        env.step(dict.fromkeys(env.agents, 4))
    assert before.any()
    assert not env.world.states[0]["ripe"].any()


def test_who_finds_no_room_stays_away_until_there_is_some() -> None:
    fields: dict[str, Any] = {"game": "harvest", "agents": 4, "width": 8, "height": 8, "timeout": 3}
    env = piase_gym.parallel_env("SocialDilemma", regrowth=(0, 0, 0, 0), **fields)
    env.reset(seed=0)
    dice, names = Stream(1), env.possible_agents
    while not any(env.facts(name).time_out for name in names):
        env.step({name: dice.integer(6) for name in names})
    away = [name for name in names if env.facts(name).time_out]
    state = env.world.states[0]
    state["cells"][state["cells"] == 2] = 4  # apples wherever there was land
    env.world.refresh()
    for _ in range(8):
        env.step(dict.fromkeys(names, 4))
    for name in away:
        facts = env.facts(name)
        assert (facts.time_out, facts.position) == (1, None)
        masks = env.world.masks()[names.index(name)]
        assert masks.nonzero()[0].tolist() == [4]
    state["cells"][state["cells"] == 4] = 2
    env.world.refresh()
    env.step(dict.fromkeys(names, 4))
    for name in away:
        assert env.facts(name).time_out == 0
        assert env.facts(name).position is not None


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_who_comes_first_cleans_what_two_aim_at(order: list[int]) -> None:
    fields: dict[str, Any] = {"game": "cleanup", "agents": 2, "width": 8, "height": 8, "river": 3}
    env = piase_gym.parallel_env("SocialDilemma", **fields, waste_chance=0.0, start_waste=0.0)
    env.reset(seed=0)
    state = env.world.get_state()
    side = round(len(state["cells"]) ** 0.5)
    state["x"][:2], state["y"][:2], state["heading"][:2] = [0, 2], [4, 4], [1, 3]
    state["cells"][4 * side + 1] = WASTE
    state["waste"] = 1
    env.world.set_state(state)
    env.runner.set_order(order)
    infos = env.step({"agent_0": 6, "agent_1": 6})[4]
    first, second = (f"agent_{agent}" for agent in order)
    assert (infos[first]["outcome"], infos[second]["outcome"]) == ("ok", "failed")
    assert [env.facts(name).cleaned for name in (first, second)] == [1, 0]


@pytest.mark.parametrize("fields", KIT)
def test_only_cells_of_the_window_have_a_lower_bound_than_bytes_have(
    fields: dict[str, Any],
) -> None:
    env = piase_gym.parallel_env("SocialDilemma", **fields)
    space, window = env.observation_space("agent_0")["vector"], env.world.envelope.window
    assert (space.low == 0).all()
    assert (space.high[: window**2] == 31 + 4 * 32).all()  # objects, then 32 agents, 4 ways
    assert (space.high[window**2 :] == 255).all()


@pytest.mark.parametrize(
    ("world", "fields", "base"),
    [
        ("SocialDilemma", {"game": "harvest", "rounds": 20}, 6),
        ("SocialDilemma", {"game": "cleanup", "rounds": 20}, 7),
        ("GridWorld", {"agents": 2}, 6),
        ("GridWorld", {"layout": "tag", "agents": 2}, 6),
    ],
)
def test_a_symbol_that_there_is_not_is_illegal_and_unheard(
    world: str, fields: dict[str, Any], base: int
) -> None:
    """Where the spaces leave room for more symbols than this game has."""
    env = piase_gym.parallel_env(world, **fields, symbols=1, envelope={"symbols": 2})
    env.reset(seed=0)
    speaker, listener, *_ = env.possible_agents
    for symbol, outcome, heard in ((1, "ok", 1), (2, "illegal", 0), (0, "ok", 0)):
        mask = env.world.masks()[0]
        assert mask[symbol * base + 4] == (outcome == "ok")
        acts = dict.fromkeys(env.agents, 4) | {speaker: symbol * base + 4}
        infos = env.step(acts)[4]
        assert infos[speaker]["outcome"] == outcome
        told = [(letter[0], letter[2]) for letter in env.facts(listener).messages]
        assert told == ([(speaker, "1")] if heard else [])


def test_one_harvest_is_followed_by_a_cleanup() -> None:
    env = piase_gym.parallel_env("SocialDilemma", game="harvest", envelope={"cleaning": 1})
    env.reset(seed=0)
    assert env.action_space("agent_0").n == 7
    assert env.world.masks()[0].tolist() == [1, 1, 1, 1, 1, 1, 0]
    env.reconfigure({"game": "cleanup"})
    env.reset(seed=0)
    assert env.world.masks()[0].tolist() == [1] * 7
    with pytest.raises(EnvelopeError, match="other spaces"):
        env.reconfigure({"game": "chicken"})
    with pytest.raises(EnvelopeError, match="cleaning"):
        piase_gym.parallel_env("SocialDilemma", game="harvest").reconfigure({"game": "cleanup"})


@pytest.mark.parametrize(
    ("fields", "changes", "agents"),
    [
        ({"game": "harvest", "agents": 8, "width": 24}, {"game": "cleanup"}, 8),
        ({"game": "harvest", "agents": 8, "width": 24}, {"game": "cleanup", "agents": 3}, 3),
        ({"game": "public_goods", "agents": 3}, {"game": "volunteers_dilemma"}, 3),
        ({"game": "public_goods", "agents": 3}, {"game": "stag_hunt"}, 2),
        ({"game": "stag_hunt"}, {"game": "public_goods"}, 4),
    ],
)
def test_another_game_has_the_number_of_agents_that_was_asked_for(
    fields: dict[str, Any], changes: dict[str, Any], agents: int
) -> None:
    assert SocialDilemmaConfig(**fields).changed(changes).agents == agents


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"payoffs": [[1, 2], [3, 4]]}, "payoffs belongs to the matrix games"),
    ({"horizon": "geometric"}, "horizon belongs to the matrix games"),
    ({"noise": 0.1}, "noise belongs"),
    ({"rounds": 0}, "rounds"),
    ({"width": 7}, "width"),
    ({"window": 8}, "odd"),
    ({"regrowth": (0, 1)}, "regrowth"),
    ({"regrowth": (0, 1, 2, 3)}, "regrowth"),
    ({"regrowth": (0, 0, 0, float("nan"))}, "regrowth"),
    ({"timeout": 256}, "timeout"),
    ({"game": "cleanup", "river": 10, "orchard": 6}, "no land"),
    ({"game": "cleanup", "most_waste": 0.0}, "most_waste"),
    ({"game": "prisoners_dilemma", "patches": 3}, "patches belongs to harvest and cleanup"),
    ({"apple": float("inf")}, "apple"),
]


@pytest.mark.parametrize(("fields", "words"), WRONG)
def test_bad_input_is_explained(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        piase_gym.parallel_env("SocialDilemma", **{"game": "harvest", **fields})


def test_a_crowd_without_room_is_refused() -> None:
    fields = {"game": "harvest", "width": 8, "height": 8, "patches": 20}
    with pytest.raises(GenerationError, match="bare floor for 32 agents"):
        piase_gym.parallel_env("SocialDilemma", agents=32, **fields)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"t": 31}, "0..30"),
        ({"heading": [4, 0]}, "0..3"),
        ({"out": [26, 0]}, "0..25"),
        ({"eaten": [1, 0]}, "'eaten' counts more"),
        ({"zapped": [0, 1]}, "'zapped' counts more"),
        ({"spots": 0}, "apples hang where none grow"),
        ({"cells": 99}, "'cells' has unknown codes"),
        ({"x": 3, "y": 3}, "two agents are on one cell"),
    ],
)
def test_states_that_cannot_be_are_refused(change: dict[str, Any], told: str) -> None:
    fields = {"game": "harvest", "agents": 2, "rounds": 30, "width": 16, "height": 16}
    env = piase_gym.parallel_env("SocialDilemma", **fields)
    env.reset(seed=0)
    state = env.world.get_state()
    wrong = {
        name: value + state[name][len(value) :]
        if isinstance(value, list)
        else [value] * len(state[name])
        if isinstance(state[name], list)
        else value
        for name, value in change.items()
    }
    with pytest.raises(SnapshotError, match=told):
        env.world.set_state({**state, **wrong})
    assert env.world.get_state() == state


@pytest.mark.parametrize(("out", "there"), [(0, "floor"), (2, "apple")])
def test_nobody_in_time_out_is_in_the_way_of_what_a_script_puts_there(out: int, there: str) -> None:
    env = piase_gym.parallel_env("SocialDilemma", game="cleanup", view="vector", apple_chance=0.0)
    env.reset(seed=0)
    states, side = env.world.states, env.world.side
    place = (env.config.width - 1, 3)
    states["x"][0, 0], states["y"][0, 0] = place
    states["out"][0, 0] = out
    scripting.spawn(env.world, states, np.array([0]), "apple", place)
    assert states["cells"][0, place[1] * side + place[0]] == scripting.CELLS[there]
