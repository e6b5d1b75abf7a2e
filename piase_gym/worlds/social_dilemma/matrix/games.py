"""The matrix games: what choices mean and what they pay. Plain data and plain functions.

Payoffs come in two forms. A *bimatrix* is what a game of two is written as: ``[row][column]``
holds what the row player and the column player get, 0 for cooperate and 1 for defect. A *profile
table* is what kernels and facts use: ``[agent][own choice][how many others cooperate]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

COOPERATE: Final = 0
DEFECT: Final = 1
UNIT: Final = 1_000_000_000
"""Scores are counted in whole units of a thousand-millionth, so that sums are exact."""
MAX_PAYOFF: Final = 100_000.0

MatrixGame = Literal[
    "prisoners_dilemma",
    "stag_hunt",
    "chicken",
    "battle_of_the_sexes",
    "matching_pennies",
    "public_goods",
    "volunteers_dilemma",
]
COMMONS: Final = ("harvest", "cleanup")
MATRIX_GAMES: Final[tuple[str, ...]] = MatrixGame.__args__  # type: ignore[attr-defined]

Bimatrix = tuple[tuple[tuple[float, float], ...], ...]
"""Shape (2, 2, 2)."""
ShareTable = tuple[tuple[float, ...], ...]
"""What anyone gets in a symmetric game, by own choice and number of others that cooperate."""


@dataclass(frozen=True)
class GameWords:
    """How a game is told.

    Attributes:
        title: What it is, with its article.
        cooperate: What cooperating stands for, as an infinitive without "to".
        defect: Likewise.
    """

    title: str
    cooperate: str
    defect: str


WORDS: Final[dict[str, GameWords]] = {
    "prisoners_dilemma": GameWords("a prisoner's dilemma", "keep silent", "betray the other"),
    "stag_hunt": GameWords("a stag hunt", "hunt the stag", "hunt the hare"),
    "chicken": GameWords("a game of chicken", "swerve", "drive straight on"),
    "battle_of_the_sexes": GameWords("a battle of the sexes", "go to the opera", "go to the match"),
    "matching_pennies": GameWords("matching pennies", "show heads", "show tails"),
    "public_goods": GameWords("a public goods game", "contribute", "keep everything"),
    "volunteers_dilemma": GameWords("a volunteer's dilemma", "volunteer", "hold back"),
}


def symmetric(reward: float, sucker: float, temptation: float, punishment: float) -> Bimatrix:
    """Return the bimatrix of a symmetric game of two, from its four payoffs."""
    return (
        ((reward, reward), (sucker, temptation)),
        ((temptation, sucker), (punishment, punishment)),
    )


BIMATRICES: Final[dict[str, Bimatrix]] = {
    # Axelrod, "The Evolution of Cooperation" (1984).
    "prisoners_dilemma": symmetric(3.0, 0.0, 5.0, 1.0),
    # Leibo et al., "Multi-agent Reinforcement Learning in Sequential Social Dilemmas" (2017).
    "stag_hunt": symmetric(4.0, 0.0, 3.0, 1.0),
    "chicken": symmetric(3.0, 1.0, 4.0, 0.0),
    # Luce and Raiffa, "Games and Decisions" (1957); the row player likes the opera better.
    "battle_of_the_sexes": (((3.0, 2.0), (0.0, 0.0)), ((0.0, 0.0), (2.0, 3.0))),
    "matching_pennies": (((1.0, -1.0), (-1.0, 1.0)), ((-1.0, 1.0), (1.0, -1.0))),
}
"""The games of two, with their usual payoffs."""


def public_goods(players: int, multiplier: float) -> ShareTable:
    """Return the linear public goods game: who contributes pays 1, and the pot grows and is shared.

    Args:
        players: How many there are.
        multiplier: What a contribution of 1 grows to.
    """
    share = multiplier / players
    cooperate = tuple(share * (others + 1) - 1.0 for others in range(players))
    return cooperate, tuple(share * others for others in range(players))


def volunteers_dilemma(players: int, benefit: float, cost: float) -> ShareTable:
    """Return Diekmann's game (1985): all benefit if anyone volunteers, who then bears the cost."""
    defect = (0.0,) + (benefit,) * (players - 1)
    return (benefit - cost,) * players, defect


def profile_table(table: Bimatrix | ShareTable, players: int) -> NDArray[np.float64]:
    """Return ``[agent][own choice][others cooperating]``, shape (players, 2, players).

    Args:
        table: A bimatrix, or what anyone gets in a symmetric game.
        players: How many there are; 2 for a bimatrix.
    """
    given = np.array(table, np.float64)
    if given.ndim == 2:
        return np.broadcast_to(given, (players, *given.shape)).copy()
    profiles = np.zeros((2, 2, 2))
    for row in (COOPERATE, DEFECT):
        for column in (COOPERATE, DEFECT):
            profiles[0, row, 1 - column] = given[row, column, 0]
            profiles[1, column, 1 - row] = given[row, column, 1]
    return profiles


def in_32_bits(probability: float) -> int:
    """Return a probability as a number of 32 bits."""
    return min(round(probability * 2**32), 2**32 - 1)
