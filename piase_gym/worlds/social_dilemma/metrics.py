"""How cooperative, efficient, equal and sustainable a game was: pure functions of its totals.

Equality is one minus the Gini coefficient, and sustainability the mean time at which rewards came,
as in Perolat et al., "A multi-agent reinforcement learning model of common-pool resource
appropriation" (2017).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.matrix.outcomes import totals


def gini(shares: ArrayLike) -> float:
    """Return the Gini coefficient of non-negative shares.

    Args:
        shares: What each has, shape (n,).

    Returns:
        0 if all have the same (or nothing), up to ``1 - 1 / n`` if one has everything.
    """
    values = np.sort(np.asarray(shares, np.float64))
    count, total = values.size, values.sum()
    if total <= 0.0:
        return 0.0
    ranks = np.arange(1, count + 1)
    return float((2 * ranks - count - 1) @ values / (count * total))


def equality(shares: ArrayLike, least: float = 0.0) -> float:
    """Return one minus the Gini coefficient of what each has above the least that was possible."""
    above = np.maximum(np.asarray(shares, np.float64) - least, 0.0)
    return 1.0 - gini(above)


def efficiency(total: float, worst: float, best: float) -> float:
    """Return where a total lies between the worst and the social optimum: 0 to 1."""
    return 1.0 if best <= worst else (total - worst) / (best - worst)


def matrix_measures(
    config: SocialDilemmaConfig,
    played: int,
    cooperated: Sequence[int],
    scores: Sequence[float],
    agent: int,
) -> dict[str, float]:
    """Return the measures of a matrix game for one agent.

    Args:
        config: What was played.
        played: Rounds.
        cooperated: In how many of them each agent cooperated.
        scores: What each agent got.
        agent: The agent for the cooperation rate; the other measures are of all.
    """
    if played == 0:
        return {"cooperation_rate": 0.0, "efficiency": 0.0, "equality": 1.0}
    worst, best = totals(config)
    return {
        "cooperation_rate": cooperated[agent] / played,
        "efficiency": efficiency(sum_in_order(scores) / played, worst, best),
        "equality": equality(scores, played * float(config.profiles.min())),
    }


def commons_measures(
    config: SocialDilemmaConfig,
    steps: int,
    spots: int,
    totals: Mapping[str, Sequence[int]],
    agent: int,
) -> dict[str, float]:
    """Return the measures of a commons; all but the last are of all agents together.

    Efficiency is the share of an upper bound of apples that was eaten. Sustainability is the mean
    time at which apples were eaten, as a share of the game. Peace is the share of steps that were
    not spent in time-out. The cooperation rate is the share of this agent's steps in which it
    cleaned (always 0 in a harvest, where to cooperate is to refrain).

    Args:
        config: What was played.
        steps: How many steps were done.
        spots: How many cells bear apples.
        totals: By name, for each agent what it has ``eaten`` and ``cleaned``, the sum of the steps
            ``when`` it ate, and how many steps it was ``away``.
        agent: The agent for the cooperation rate.
    """
    eaten, steps = totals["eaten"], max(1, steps)
    times = [when / n for when, n in zip(totals["when"], eaten, strict=True) if n]
    return {
        "efficiency": sum_in_order(eaten) / most_apples(config, spots, steps),
        "equality": equality(eaten),
        "sustainability": sum_in_order(times) / (len(times) * steps) if times else 0.0,
        "peace": 1.0 - sum(totals["away"]) / (config.agents * steps),
        "cooperation_rate": totals["cleaned"][agent] / steps,
    }


def most_apples(config: SocialDilemmaConfig, spots: int, steps: int) -> float:
    """Return an upper bound on the apples that all agents together can expect to eat.

    Every cell is refilled at most at the highest chance, and nobody eats twice in a step.
    """
    rate = config.apple_chance if config.game == "cleanup" else max(config.regrowth)
    first = 0 if config.game == "cleanup" else spots
    return max(1.0, min(float(config.agents * steps), first + spots * rate * steps))
