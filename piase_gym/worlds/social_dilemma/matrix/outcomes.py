"""What a round of a matrix game can yield: the best and the worst for all together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.games import COOPERATE, DEFECT


def payoffs_of(profiles: NDArray[np.float64], cooperating: frozenset[int]) -> list[float]:
    """Return what everybody gets if just these agents cooperate.

    Args:
        profiles: ``[agent][own choice][others that cooperate]``.
        cooperating: Numbers of agents.
    """
    count = len(cooperating)
    return [
        float(table[COOPERATE if a in cooperating else DEFECT][count - (a in cooperating)])
        for a, table in enumerate(profiles)
    ]


def coalitions(players: int, symmetric: bool) -> Iterator[frozenset[int]]:
    """Yield the sets of agents that may cooperate; of agents that are alike, one of each size."""
    for count in range(players + 1):
        if symmetric:
            yield frozenset(range(count))
        else:
            yield from map(frozenset, combinations(range(players), count))


def totals(config: SocialDilemmaConfig) -> tuple[float, float]:
    """Return the least and the most that all can get together in a round (without noise)."""
    profiles = config.profiles
    sums = [
        sum_in_order(payoffs_of(profiles, cooperating))
        for cooperating in coalitions(config.agents, config.agents > 2)
    ]
    return min(sums), max(sums)


def social_optimum(config: SocialDilemmaConfig) -> tuple[float, list[frozenset[int]]]:
    """Return the most that all can get together in a round, and every way to get it.

    Returns:
        The total, and sets of agents that cooperate. In games of many, in which agents are alike,
        the first k agents stand for any k agents.
    """
    profiles = config.profiles
    found = {
        cooperating: sum_in_order(payoffs_of(profiles, cooperating))
        for cooperating in coalitions(config.agents, config.agents > 2)
    }
    best = max(found.values())
    return best, [who for who, total in found.items() if np.isclose(total, best, rtol=1e-12)]
