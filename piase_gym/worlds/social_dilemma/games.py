"""The matrix games, one row each: what choices mean and pay, what the page says, and the ids.

Payoffs come in two forms. A *bimatrix* is the usual form of a game for two: ``[row][column]``
holds what the row player and the column player get, 0 for cooperate and 1 for defect. A *profile
table* is what kernels and facts use: ``[agent][own choice][how many others cooperate]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

COOPERATE: Final = 0
DEFECT: Final = 1
ROLES: Final = ("cooperate", "defect")
"""The names of the two choices as data: the verbs of commands."""
UNIT: Final = 1_000_000_000
"""Scores are counted in whole billionths, this many to a point, so that sums are exact."""
MAX_PAYOFF: Final = 100_000.0

COMMONS: Final = ("harvest", "cleanup")

Bimatrix = tuple[tuple[tuple[float, float], ...], ...]
"""Shape (2, 2, 2)."""
ShareTable = tuple[tuple[float, ...], ...]
"""What anyone gets in a symmetric game, by own choice and number of others that cooperate."""


@dataclass(frozen=True, kw_only=True)
class Game:
    """A matrix game.

    Attributes:
        title: Its name, with its article.
        cooperate: What cooperating stands for, as an infinitive without "to".
        defect: What defecting stands for, in the same form.
        names: What the two choices are called in texts.
        pays: Its payoffs in words, for the page.
        bimatrix: Its payoffs; ``None`` for a game for many.
        players: How many agents it has by default.
        ids: For each of its ids, the config and the policy of the other seats.
    """

    title: str
    cooperate: str
    defect: str
    names: tuple[str, str]
    pays: str
    bimatrix: Bimatrix | None = None
    players: int = 2
    ids: Mapping[str, tuple[Mapping[str, Any], str]]


def symmetric(reward: float, sucker: float, temptation: float, punishment: float) -> Bimatrix:
    """Return the bimatrix of a symmetric game for two, from its four payoffs."""
    return (
        ((reward, reward), (sucker, temptation)),
        ((temptation, sucker), (punishment, punishment)),
    )


_TFT: Final = "tit_for_tat"
_20: Final = {"rounds": 20}
_4P: Final = {"agents": 4, "rounds": 20}
GAMES_BY_NAME: Final[dict[str, Game]] = {
    # Axelrod, "The Evolution of Cooperation" (1984).
    "prisoners_dilemma": Game(
        title="a prisoner's dilemma",
        cooperate="keep silent",
        defect="confess",
        names=("silent", "confess"),
        pays="both 3, none 1; confessing alone 5, silent alone 0",
        bimatrix=symmetric(3.0, 0.0, 5.0, 1.0),
        ids={
            "PrisonersDilemma": ({"horizon": "geometric", **_20}, "pavlov"),
            "PrisonersDilemma-TitForTat": ({"rounds": 10}, _TFT),
            "PrisonersDilemma-Grudger": ({"rounds": 10}, "grudger"),
            "PrisonersDilemma-Noisy": ({**_20, "noise": 0.05}, "generous_tit_for_tat"),
        },
    ),
    # Leibo et al., "Multi-agent Reinforcement Learning in Sequential Social Dilemmas" (2017).
    "stag_hunt": Game(
        title="a stag hunt",
        cooperate="hunt the stag",
        defect="hunt the hare",
        names=("stag", "hare"),
        pays="both 4, none 1; 3 for the hare, 0 for the stag alone",
        bimatrix=symmetric(4.0, 0.0, 3.0, 1.0),
        ids={
            "StagHunt": (_20, _TFT),
            "StagHunt-Talk": ({"rounds": 10, "symbols": 2, "talk": 1}, _TFT),
        },
    ),
    "chicken": Game(
        title="a game of chicken",
        cooperate="swerve",
        defect="drive straight on",
        names=("swerve", "straight"),
        pays="both 3, none 0; 4 for driving on, 1 for swerving alone",
        bimatrix=symmetric(3.0, 1.0, 4.0, 0.0),
        ids={"Chicken": (_20, _TFT)},
    ),
    # Luce and Raiffa, "Games and Decisions" (1957); the row player likes the opera better.
    "battle_of_the_sexes": Game(
        title="a battle of the sexes",
        cooperate="go to the opera",
        defect="go to the match",
        names=("opera", "match"),
        pays="both 3 and 2, none 2 and 3, apart 0",
        bimatrix=(((3.0, 2.0), (0.0, 0.0)), ((0.0, 0.0), (2.0, 3.0))),
        ids={"BattleOfTheSexes": (_20, "random")},
    ),
    "matching_pennies": Game(
        title="matching pennies",
        cooperate="show heads",
        defect="show tails",
        names=("heads", "tails"),
        pays="agent 0 wins 1 if they are equal, else it loses 1",
        bimatrix=(((1.0, -1.0), (-1.0, 1.0)), ((-1.0, 1.0), (1.0, -1.0))),
        ids={"MatchingPennies": (_20, "random")},
    ),
    "public_goods": Game(
        title="a public goods game",
        cooperate="contribute",
        defect="keep everything",
        names=("contribute", "keep"),
        pays="contributions of 1 grow by `multiplier` and are shared by all",
        players=4,
        ids={
            "PublicGoods-4p": (_4P, _TFT),
            "PublicGoods-Reputation-4p": ({"reputation": True, **_4P}, _TFT),
        },
    ),
    "volunteers_dilemma": Game(
        title="a volunteer's dilemma",
        cooperate="volunteer",
        defect="abstain",
        names=("volunteer", "abstain"),
        pays="`benefit` for all if anyone does, who pays `cost`",
        players=4,
        ids={"VolunteersDilemma-4p": (_4P, "random")},
    ),
}
"""Every matrix game."""
MATRIX_GAMES: Final = tuple(GAMES_BY_NAME)
_WIDE: Final = {"agents": 8, "width": 24, "height": 16}
_COMMONS_IDS: Final[dict[str, tuple[Mapping[str, Any], str]]] = {
    "Harvest-4p": ({"game": "harvest", "agents": 4, "rounds": 500}, "random"),
    "Harvest-8p": ({"game": "harvest", **_WIDE, "patches": 8}, "random"),
    "Cleanup-4p": ({"game": "cleanup", "agents": 4, "rounds": 500}, "random"),
    "Cleanup-8p": ({"game": "cleanup", **_WIDE}, "random"),
}
BIMATRICES: Final = {name: row.bimatrix for name, row in GAMES_BY_NAME.items() if row.bimatrix}
"""The games for two, with their usual payoffs."""
IDS: Final = {
    **{
        name: ({**({} if game == "prisoners_dilemma" else {"game": game}), **config}, partner)
        for game, row in GAMES_BY_NAME.items()
        for name, (config, partner) in row.ids.items()
    },
    **_COMMONS_IDS,
}
"""The config of every id, and who plays the other seats."""


def games_table() -> str:
    """Return the table of matrix games for the page."""
    rows = (
        f"| `{name}` | {game.cooperate} | {game.pays} |" for name, game in GAMES_BY_NAME.items()
    )
    return "\n".join(("| game | cooperate is to | payoffs |", "|---|---|---|", *rows))


def public_goods(players: int, multiplier: float) -> ShareTable:
    """Return the linear public goods game: to contribute costs 1, and the pot grows and is shared.

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
