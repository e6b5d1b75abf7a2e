"""Scenarios in which talking helps: the best score without it lies below what a team gets with it.

Each bound holds for every pair of policies that agreed on anything beforehand and say nothing: it
is computed by going through all plans, or from how much can be known.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import piase_gym

MARGIN = 0.3
"""By so much of the best possible score talking helps in each of the scenarios, at least."""


def interval(scores: list[float]) -> tuple[float, float]:
    """Return the interval of 99 % of a share (Wilson), which also holds for scores in 0 to 1."""
    z, count, share = 2.576, len(scores), float(np.mean(scores))
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    half /= 1 + z * z / count
    return middle - half, middle + half


# -- GridWorld: the lookout ---------------------------------------------------------------

LENGTH, START, STEPS = 9, 4, 8
"""The passage, where the walker starts, and steps before it is lost: the ninth is too late."""


def ends_of(moves: tuple[int, ...]) -> frozenset[int]:
    """Return the ends of the passage that a walk visits."""
    place, seen = START, set()
    for move in moves:
        place = min(LENGTH - 1, max(0, place + move))
        seen.add(place)
    return frozenset(seen & {0, LENGTH - 1})


def test_a_walker_of_the_lookout_cannot_visit_both_ends_in_time() -> None:
    """All walks: nothing that it sees tells it where to go, so every plan is a walk."""
    found = {ends_of(moves) for moves in itertools.product((-1, 0, 1), repeat=STEPS)}
    assert found == {frozenset(), frozenset({0}), frozenset({LENGTH - 1})}


def lookout_acts(env: Any, knows: dict[str, Any], talk: bool) -> dict[str, str]:
    """Let the lookout tell what it saw, and the walker follow it, or guess the east."""
    step = knows["step"] = knows.get("step", 0) + 1
    said = ""
    if step == 2 and talk:
        cells = [name for row in env.facts("lookout").cells for name in row]
        said = " saying 2" if "fruit" in cells else " saying 1"
    heard = env.facts("walker").messages
    if heard:
        knows["way"] = "east" if heard[0].message == "2" else "west"
    way = knows.get("way", None if talk else "east")
    return {"lookout": f"stay{said}", "walker": "stay" if way is None else f"move {way}"}


def played(name: str, seed: int, acts: Any, talk: bool, agent: str) -> bool:
    """Play an episode; return whether an agent has won."""
    env = piase_gym.parallel_env(name, actions="text")
    env.reset(seed=seed)
    knows: dict[str, Any] = {}
    infos: Any = {}
    while env.agents:
        infos = env.step(acts(env, knows, talk))[4]
    env.close()
    return bool(infos[agent]["result"] == "won")


def test_talking_helps_in_the_lookout() -> None:
    seeds = range(60)
    talking = [float(played("the_lookout", s, lookout_acts, True, "walker")) for s in seeds]
    silent = [float(played("the_lookout", s, lookout_acts, False, "walker")) for s in seeds]
    # The bush is bare or not with a chance of a half each, and nobody but the lookout sees it.
    best_without = 0.5
    assert interval(talking)[0] > best_without + MARGIN
    low, high = interval(silent)
    assert low < best_without < high  # the bound is reached


def test_the_walker_of_the_lookout_sees_the_same_whatever_the_bush_shows() -> None:
    """What it sees when it walks east in silence does not depend on the bush until it is there."""
    seen: dict[bool, set[tuple[bytes, ...]]] = {False: set(), True: set()}
    for seed in range(24):
        env = piase_gym.parallel_env("the_lookout", view="vector", actions="text")
        env.reset(seed=seed)
        rows: list[bytes] = []
        fruit = False
        for step in range(4):
            obs = env.step({"lookout": "stay", "walker": "stay"})[0]
            rows.append(obs["walker"].tobytes())
            if step == 0:
                cells = [name for row in env.facts("lookout").cells for name in row]
                fruit = "fruit" in cells
        seen[fruit].add(tuple(rows))
    assert seen[False] == seen[True]
    assert len(seen[True]) == 1


# -- SocialDilemma: the signal ------------------------------------------------------------


def best_of_a_round() -> float:
    """Return the best mean payoff of a round without signals, through all pairs of plans.

    The watch chooses by the coin, the hiker without; past coins tell nothing of the next.
    """
    plans = itertools.product((0, 1), repeat=3)  # the watch at heads, at tails; the hiker
    return max(
        0.5 * (watch_heads == hiker == 0) + 0.5 * (watch_tails == hiker == 1)
        for watch_heads, watch_tails, hiker in plans
    )


def test_talking_helps_in_the_signal() -> None:
    env = piase_gym.parallel_env("the_signal", actions="text")
    rounds, talking, silent = 20, [], []
    for talk, scores in ((True, talking), (False, silent)):
        for seed in range(12):
            env.reset(seed=seed)
            while env.agents:
                facts = {agent: env.facts(agent) for agent in env.agents}
                shown = facts["watch"].coin
                assert facts["hiker"].coin is None
                if facts["watch"].talk:
                    signal = "say 1" if shown == "heads" else "say 2"
                    env.step({"watch": signal if talk else "say nothing", "hiker": "say nothing"})
                    continue
                heard = facts["hiker"].messages
                guess = "b" if heard and heard[0].message == "2" else "a"
                rewards = env.step({"watch": "a" if shown == "heads" else "b", "hiker": guess})[1]
                scores.append(rewards["hiker"])
                assert rewards["hiker"] == rewards["watch"]
    assert len(talking) == 12 * rounds
    best_without = best_of_a_round()
    assert best_without == 0.5
    assert interval(talking)[0] > best_without + MARGIN
    low, high = interval(silent)
    assert low < best_without < high
    # One signal in ten is missed, and then the guess is right half of the time.
    low, high = interval(talking)
    assert low < 0.9 + 0.1 * 0.5 < high


def test_the_coin_takes_every_choice_for_the_other_one() -> None:
    """Against the table: at tails (c, d) pays what (d, c) does; each round has a fair coin."""
    fields = {"game": "battle_of_the_sexes", "coin": True, "rounds": 400}
    env = piase_gym.parallel_env("SocialDilemma", **fields)
    env.reset(seed=11)
    table = [[(3, 2), (0, 0)], [(0, 0), (2, 3)]]
    dice, shown = np.random.default_rng(0), []
    while env.agents:
        coin = env.facts("agent_0").coin
        assert coin in ("heads", "tails")
        shown.append(coin == "tails")
        acts = dict(zip(env.agents, dice.integers(2, size=2).tolist(), strict=True))
        one, other = (act ^ shown[-1] for act in acts.values())
        rewards = env.step(acts)[1]
        assert tuple(rewards.values()) == table[one][other]
    assert 150 < sum(shown) < 250
    runs = sum(a != b for a, b in itertools.pairwise(shown))
    assert 150 < runs < 250
    cooperated = env.facts("agent_0").cooperated
    assert 150 < cooperated < 250  # what is remembered are the choices, not what they counted as


# -- PhysicsPlayground: the spotter -------------------------------------------------------

TOP_SPEED, PAD, NEAR, ROVER_STEPS, SECOND = 1.2, 2.5, 0.4, 70, 16


def test_a_rover_of_the_spotter_cannot_reach_both_pads_in_time() -> None:
    shortest = (PAD - NEAR) + 2 * (PAD - NEAR)  # to one pad, and back past the start to the other
    assert shortest > TOP_SPEED * ROVER_STEPS / SECOND


def best_of_the_spotter() -> float:
    """Return the best chance of the right pad without a word.

    The targets are drawn evenly on the floor. The rover's own is drawn at least half a metre away
    from the spotter's, which tells as much as the area of that circle; the border of north and
    south is an arc of a radius of 1000 m.
    """
    floor, circle = 9.5 * 7.5, math.pi * 0.5**2
    bend = 5.0**2 / (2 * 1000.0) / 7.5
    return 0.5 * floor / (floor - circle) + bend


def spotter_acts(env: Any, knows: dict[str, Any], talk: bool) -> dict[str, str]:
    """Let the spotter tell the side of its target, and the rover drive to that pad, or south."""
    spotter, rover = env.facts("spotter"), env.facts("rover")
    distance, bearing = spotter.goal
    north = distance * math.sin(math.radians(spotter.heading + bearing)) > 0.0
    said = f" saying {1 if north else 2}" if talk and "said" not in knows else ""
    knows["said"] = True
    if rover.messages:
        knows["pad"] = PAD if rover.messages[0].message == "1" else -PAD
    pad = knows.get("pad", None if talk else -PAD)
    assert spotter.others == rover.others == ()
    return {
        "spotter": f"wait{said}",
        "rover": "wait" if pad is None else f"go to 2.5 {pad}",
    }


def test_talking_helps_in_the_spotter() -> None:
    pytest.importorskip("pybullet")
    told, untold = range(36), range(24)
    talking = [float(played("the_spotter", s, spotter_acts, True, "rover")) for s in told]
    best_without = best_of_the_spotter()
    assert best_without < 0.51
    assert interval(talking)[0] > best_without + MARGIN
    silent = [float(played("the_spotter", s, spotter_acts, False, "rover")) for s in untold]
    low, high = interval(silent)
    assert low < best_without < high
