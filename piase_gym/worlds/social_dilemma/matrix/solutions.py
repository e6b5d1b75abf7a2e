"""What can be computed for matrix games: equilibria, best responses, exploitability.

Strategies of repeated games of two are finite automata here, which is what makes their best
responses computable: by dynamic programming over (round, state of the automaton).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.errors import ConfigError, UnknownNameError
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.games import COOPERATE, DEFECT

CLOSE: Final = 1e-12


# -- equilibria ---------------------------------------------------------------------------


def bimatrix(config: SocialDilemmaConfig) -> NDArray[np.float64]:
    """Return ``[row][column][player]``, shape (2, 2, 2), of a game of two.

    Raises:
        ConfigError: If more than two play, or a coin turns choices.
    """
    if config.agents != 2:
        raise ConfigError(f"this is computed of games of 2 agents, not of {config.agents}")
    _require_no_coin(config)
    profiles, table = config.profiles, np.zeros((2, 2, 2))
    for row in (COOPERATE, DEFECT):
        for column in (COOPERATE, DEFECT):
            table[row, column] = profiles[0, row, 1 - column], profiles[1, column, 1 - row]
    return table


def _require_no_coin(config: SocialDilemmaConfig) -> None:
    if config.coin:
        raise ConfigError("this is computed of games without a coin; leave coin out")


def nash_equilibria(config: SocialDilemmaConfig) -> list[tuple[float, float]]:
    """Return the equilibria of one round of a game of two, pure ones first.

    Returns:
        Pairs: the chance that the row and that the column player cooperates. Where there are
        infinitely many equilibria, only the pure ones among them are listed.
    """
    table = bimatrix(config)
    mine, theirs = table[..., 0], table[..., 1]
    found = [
        (1.0 - row, 1.0 - column)
        for row in (COOPERATE, DEFECT)
        for column in (COOPERATE, DEFECT)
        if mine[row, column] >= mine[1 - row, column] - CLOSE
        and theirs[row, column] >= theirs[row, 1 - column] - CLOSE
    ]
    column = _indifferent(mine)
    row = _indifferent(theirs.T)
    if row is not None and column is not None:
        found.append((row, column))
    return found


def _indifferent(own: NDArray[np.float64]) -> float | None:
    """Return the chance with which the other must cooperate for both choices to pay the same."""
    (both, sucker), (temptation, neither) = own
    slope = both - sucker - temptation + neither
    if abs(slope) < CLOSE:
        return None
    chance = float((neither - sucker) / slope)
    return chance if CLOSE < chance < 1.0 - CLOSE else None


def symmetric_equilibria(config: SocialDilemmaConfig) -> list[float]:
    """Return the equilibria of one round in which everybody cooperates with the same chance.

    Returns:
        The chances, in ascending order; 0 and 1 where every chance is one.

    Raises:
        ConfigError: If players are not alike, or a coin turns choices.
    """
    _require_no_coin(config)
    profiles = config.profiles
    if not np.array_equal(profiles, np.broadcast_to(profiles[0], profiles.shape)):
        raise ConfigError(f"players of this {config.game} are not alike")
    others = config.agents - 1
    gain = profiles[0, COOPERATE] - profiles[0, DEFECT]
    # What cooperating gains is a polynomial of the chance, written in the Bernstein basis.
    polynomial = np.polynomial.Polynomial([0.0])
    chance = np.polynomial.Polynomial([0.0, 1.0])
    for count in range(others + 1):
        weight = comb(others, count) * gain[count]
        polynomial = polynomial + weight * chance**count * (1.0 - chance) ** (others - count)
    roots: Any = np.sort_complex(np.asarray(polynomial.trim(CLOSE).roots(), np.complex128))
    found = [0.0] if gain[0] <= CLOSE else []
    for root in roots:  # a root that is there twice comes out as two, apart by their rounding
        inside = abs(root.imag) < 1e-6 and 1e-9 < root.real < 1.0 - 1e-9
        if inside and not (found and root.real - found[-1] < 1e-6 and found[-1] > 0.0):
            found.append(float(root.real))
    return found + ([1.0] if gain[-1] >= -CLOSE else [])


# -- strategies as automata ---------------------------------------------------------------


@dataclass(frozen=True)
class Automaton:
    """A strategy with finitely many states, starting in the first.

    Attributes:
        cooperates: By state, the chance to cooperate.
        after: By state, own choice and other's choice (0 cooperate, 1 defect): the next state.
    """

    cooperates: tuple[float, ...]
    after: tuple[tuple[tuple[int, int], tuple[int, int]], ...]


def memory_one(
    first: float, both: float, betrayed: float, betraying: float, neither: float
) -> Automaton:
    """Return a strategy that knows only the last round, from its chances to cooperate.

    Args:
        first: In the first round.
        both: After both cooperated.
        betrayed: After it cooperated and the other defected.
        betraying: After it defected and the other cooperated.
        neither: After both defected.
    """
    return Automaton((first, both, betrayed, betraying, neither), (((1, 2), (3, 4)),) * 5)


_STAY: Final = ((0, 0), (0, 0))
AUTOMATA: Final[dict[str, Automaton]] = {
    "always_cooperate": Automaton((1.0,), (_STAY,)),
    "always_defect": Automaton((0.0,), (_STAY,)),
    "generous_tit_for_tat": Automaton((1.0, 1.0 / 3.0), (((0, 1), (0, 1)),) * 2),
    "grudger": Automaton((1.0, 0.0), (((0, 1), (0, 1)), ((1, 1), (1, 1)))),
    "pavlov": Automaton((1.0, 0.0), (((0, 1), (1, 0)),) * 2),
    "random": Automaton((0.5,), (_STAY,)),
    "tit_for_tat": Automaton((1.0, 0.0), (((0, 1), (0, 1)),) * 2),
}
"""The strategies of `piase_gym.agents.matrix_strategies` as they play against one other."""


def automaton(strategy: str | Automaton) -> Automaton:
    """Return a strategy by name, or the given one.

    Raises:
        UnknownNameError: If no strategy has this name.
    """
    if isinstance(strategy, Automaton):
        return strategy
    if strategy not in AUTOMATA:
        raise UnknownNameError("strategy", strategy, AUTOMATA)
    return AUTOMATA[strategy]


# -- best responses -----------------------------------------------------------------------


@dataclass(frozen=True)
class BestResponse:
    """The best that can be done against a fixed strategy.

    Attributes:
        value: The expected sum of payoffs of a whole game.
        choices: By rounds left (1 for the last) and the other's state, 0 cooperate or 1 defect;
            shape (rounds + 1, states). For a geometric horizon there is one row.
    """

    value: float
    choices: NDArray[np.int64]


def transitions(
    config: SocialDilemmaConfig, strategy: Automaton, seat: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what a round against a strategy pays and where it leads.

    Args:
        config: The game; its noise turns the choices of both.
        strategy: The other's strategy.
        seat: Which player asks, 0 or 1.

    Returns:
        Expected payoffs, shape (2 own choices, states), and chances of the other's next states,
        shape (2, states, states).
    """
    table = bimatrix(config)
    own = table[..., 0] if seat == 0 else table[..., 1].T
    states, noise = len(strategy.cooperates), config.noise
    paid, leads = np.zeros((2, states)), np.zeros((2, states, states))
    for choice in (COOPERATE, DEFECT):
        for state, chance in enumerate(strategy.cooperates):
            for played in (COOPERATE, DEFECT):
                mine = 1.0 - noise if played == choice else noise
                for answer in (COOPERATE, DEFECT):
                    means = chance if answer == COOPERATE else 1.0 - chance
                    weight = mine * (means * (1.0 - noise) + (1.0 - means) * noise)
                    paid[choice, state] += weight * own[played, answer]
                    leads[choice, state, strategy.after[state][answer][played]] += weight
    return paid, leads


def best_response(
    config: SocialDilemmaConfig, strategy: str | Automaton, seat: int = 0
) -> BestResponse:
    """Return the best response to a fixed strategy, by dynamic programming.

    Args:
        config: A game of two, with its horizon and noise.
        strategy: What the other plays, by name or as an automaton.
        seat: Which player responds.
    """
    paid, leads = transitions(config, automaton(strategy), seat)
    if config.known_rounds is None:
        return _response_for_ever(paid, leads, config.chance)
    value = np.zeros(paid.shape[1])
    choices = np.zeros((config.known_rounds + 1, paid.shape[1]), np.int64)
    for left in range(1, config.known_rounds + 1):
        worth = paid + leads @ value
        choices[left] = worth.argmax(axis=0)
        value = worth.max(axis=0)
    return BestResponse(float(value[0]), choices)


def _response_for_ever(
    paid: NDArray[np.float64], leads: NDArray[np.float64], goes_on: float
) -> BestResponse:
    """Return the best response under a geometric horizon, by policy iteration."""
    states = paid.shape[1]
    every = np.arange(states)
    choices = np.zeros(states, np.int64)
    while True:
        step = leads[choices, every]
        value = np.linalg.solve(np.eye(states) - goes_on * step, paid[choices, every])
        worth = paid + goes_on * (leads @ value)
        better = worth.max(axis=0) > worth[choices, every] + 1e-9
        if not better.any():
            return BestResponse(float(value[0]), choices[None])
        choices = np.where(better, worth.argmax(axis=0), choices)


def expected_returns(
    config: SocialDilemmaConfig, row: str | Automaton, column: str | Automaton
) -> tuple[float, float]:
    """Return the expected returns of two strategies in a whole game against each other."""
    one, two, table = automaton(row), automaton(column), bimatrix(config)
    chances = np.zeros((len(one.cooperates), len(two.cooperates)))
    chances[0, 0] = 1.0
    total, noise = np.zeros(2), config.noise
    rounds, alive = config.known_rounds, 1.0
    while alive > 1e-13 and (rounds is None or rounds > 0):
        following = np.zeros_like(chances)
        for (i, j), here in np.ndenumerate(chances):
            p, q = (c + noise * (1.0 - 2.0 * c) for c in (one.cooperates[i], two.cooperates[j]))
            for a, b in np.ndindex(2, 2):
                weight = here * (p if a == COOPERATE else 1 - p) * (q if b == COOPERATE else 1 - q)
                total += alive * weight * table[a, b]
                following[one.after[i][a][b], two.after[j][b][a]] += weight
        chances = following
        if rounds is None:
            alive *= config.chance
        else:
            rounds -= 1
    return float(total[0]), float(total[1])


def exploitability(config: SocialDilemmaConfig, strategy: str | Automaton) -> Mapping[int, float]:
    """Return how much can be gained by exploiting a strategy rather than playing it oneself.

    Returns:
        For each seat, how much more the best response to the strategy gets than the strategy
        gets against itself. Zero for a strategy that is in equilibrium with itself.
    """
    fixed = expected_returns(config, strategy, strategy)
    return {seat: best_response(config, strategy, seat).value - fixed[seat] for seat in (0, 1)}


def tournament(
    config: SocialDilemmaConfig, strategies: Sequence[str | Automaton]
) -> NDArray[np.float64]:
    """Return the expected returns of strategies when each meets each, itself included.

    It is Axelrod's tournament without randomness: the row of a strategy holds its expected return
    against every strategy, as the mean of both seats. Under random matching in a population, a
    strategy can expect the mean of its row, weighted by how often each of the others is met.

    Args:
        config: A game of two, with its horizon and noise.
        strategies: Names, or automata.

    Returns:
        Shape (strategies, strategies).
    """
    found = np.zeros((len(strategies), len(strategies)))
    for i, one in enumerate(strategies):
        for j, two in enumerate(strategies):
            first, second = expected_returns(config, one, two)
            found[i, j] += first / 2.0
            found[j, i] += second / 2.0
    return found
