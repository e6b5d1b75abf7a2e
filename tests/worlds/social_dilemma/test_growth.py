"""What grows in the commons: how often it does, against the published formulas, over many steps.

Perolat et al. (2017): an apple regrows with a chance that depends on how many hang within two
cells. Hughes et al. (2018): in a cleanup with a chance that falls with the share of waste, and none
from a threshold on, which waste itself comes up to one cell at a time. Every observed share must
lie so near to its chance that the exact binomial test would reject it once in 10,000 times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

import piase_gym
from piase_gym.worlds.social_dilemma.commons.codes import APPLE, FLOOR, STAYING, WASTE, WATER

SURE = 1e-4
REGROWTH = (0.01, 0.06, 0.2, 0.45)
HARVEST: dict[str, Any] = {"game": "harvest", "width": 20, "height": 16, "patches": 4, "agents": 3}
CLEANUP: dict[str, Any] = {
    "game": "cleanup",
    "agents": 3,
    "width": 14,
    "height": 12,
    "river": 4,
    "start_waste": 0.1,
    "most_waste": 0.6,
    "waste_chance": 0.7,
    "apple_chance": 0.1,
}
Moment = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""The cells (envs, height, width), where apples can grow, and where agents stand."""


def moment(states: NDArray[Any]) -> Moment:
    """Read the cells of records, where apples can grow, and where agents stand."""
    first = states[0]
    width, height = int(first["width"]), int(first["height"])
    side = round(first["cells"].size ** 0.5)
    cells = states["cells"].reshape(-1, side, side)[:, :height, :width].copy()
    columns = np.arange(width, dtype=np.uint64)
    spots = (states["spots"][:, :height, None] >> columns & np.uint64(1)) == 1
    taken = np.zeros(cells.shape, np.bool_)
    for agent in range(int(first["agents"])):
        taken[np.arange(len(states)), states["y"][:, agent], states["x"][:, agent]] = True
    return cells, spots, taken


def neighbours(apples: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the apples within two cells of each cell, itself left out, by Euclid's distance."""
    found = np.zeros(apples.shape, np.int64)
    height, width = apples.shape[1:]
    padded = np.pad(apples, ((0, 0), (2, 2), (2, 2)))
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            if 0 < dx * dx + dy * dy <= 4:
                found += padded[:, 2 + dy : 2 + dy + height, 2 + dx : 2 + dx + width]
    return found


def picked(state: dict[str, Any], share: float, dice: np.random.Generator) -> dict[str, Any]:
    """Return a state without a random share of its apples."""
    cells = np.array(state["cells"])
    cells[(cells == APPLE) & (dice.random(cells.size) < share)] = FLOOR
    return {**state, "cells": cells.tolist()}


def moments(face: str, fields: dict[str, Any], steps: int) -> Iterator[tuple[Moment, Moment]]:
    """Yield the moments before and after steps in which nobody moves; now and then it is reset."""
    dice, share = np.random.default_rng(5), 0.9 if fields["game"] == "harvest" else 0.0
    if face == "single":
        env = piase_gym.parallel_env("SocialDilemma", view="vector", **fields)
        for seed in range(steps // 40):
            env.reset(seed=seed)
            env.world.set_state(picked(env.world.get_state(), share, dice))
            for _ in range(40):
                before = moment(env.world.states)
                env.step(dict.fromkeys(env.agents, STAYING))
                yield before, moment(env.world.states)
        return
    batch = piase_gym.batch_env("SocialDilemma", num_envs=64, **fields)
    acts = np.full((64, len(batch.agents)), STAYING)
    for seed in range(0, steps // 40, 64):
        batch.reset(seed=100 + seed)
        for slot in range(64):
            world = batch.single(slot)
            world.set_state(picked(world.get_state(), share, dice))
            batch.batch.states[slot] = world.states[0]
        for _ in range(40):
            before = moment(batch.batch.states)
            batch.step(acts)
            yield before, moment(batch.batch.states)


def require(counts: Counter[Any], chances: dict[Any, float], least: int) -> None:
    """Compare how often what was tried came true with its chance."""
    for key, chance in chances.items():
        tried, came = counts[key, "tried"], counts[key, "came"]
        assert tried >= least, f"{key}: only {tried} trials"
        assert binomtest(came, tried, chance).pvalue > SURE, f"{key}: {came} of {tried}: {chance}"


@pytest.mark.parametrize("face", ["single", "batch"])
def test_apples_regrow_as_often_as_their_neighbours_say(face: str) -> None:
    counts: Counter[Any] = Counter()
    fields = {**HARVEST, "regrowth": REGROWTH, "rounds": 1000}
    for (cells, spots, taken), (after, _, _) in moments(
        face, fields, 800 if face == "single" else 2560
    ):
        empty = spots & (cells == FLOOR) & ~taken
        near = np.minimum(neighbours(cells == APPLE), 3)
        grown = (after == APPLE) & (cells != APPLE)
        assert not (grown & ~empty).any()
        assert not ((cells == APPLE) & (after != APPLE)).any()
        for count in range(4):
            here = empty & (near == count)
            counts[count, "tried"] += int(here.sum())
            counts[count, "came"] += int((grown & here).sum())
    require(counts, dict(enumerate(REGROWTH)), 500)


@pytest.mark.parametrize("face", ["single", "batch"])
def test_a_cleanup_bears_as_clean_as_it_is_and_fouls_up_to_its_threshold(face: str) -> None:
    counts: Counter[Any] = Counter()
    fields = {**CLEANUP, "rounds": 1000}
    water = fields["river"] * fields["height"]
    most = fields["most_waste"] * water
    for (cells, spots, taken), (after, _, _) in moments(
        face, fields, 2400 if face == "single" else 5120
    ):
        river = taken[:, :, : fields["river"]]
        wastes = np.sum((cells == WASTE, after == WASTE), axis=(2, 3)).T
        grown = (after == APPLE) & (cells != APPLE)
        empty = spots & (cells == FLOOR) & ~taken
        assert not (grown & ~empty).any()
        assert not (((after == WASTE) != (cells == WASTE)) & taken).any()
        free = ((cells[:, :, : fields["river"]] == WATER) & ~river).any((1, 2))
        for number, (waste, now) in enumerate(wastes.tolist()):
            assert now - waste in (0, 1)
            if waste >= most:
                assert now == waste
            elif free[number]:
                counts["waste", "tried"] += 1
                counts["waste", "came"] += now - waste
            share = max(0.0, 1.0 - now / most)
            counts[now, "tried"] += int(empty[number].sum())
            counts[now, "came"] += int(grown[number].sum())
            assert share or not grown[number].any()
    shares = range(8, int(most), 4)
    chances = {waste: fields["apple_chance"] * (1.0 - waste / most) for waste in shares}
    require(counts, {"waste": fields["waste_chance"], **chances}, 150)
