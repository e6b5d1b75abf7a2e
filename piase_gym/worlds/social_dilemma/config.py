"""SocialDilemma's config: which game, for how long, and what agents may know and say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from piase_gym.core.config import RecallConfig
from piase_gym.core.limits import MOST_STEPS, Share, SmallReward
from piase_gym.worlds.channel.config import ChannelEnvelope, SymbolConfig
from piase_gym.worlds.social_dilemma.constants import (
    MAX_AGENTS,
    MAX_MEMORY,
    MAX_ROUNDS,
    MAX_SIDE,
    MAX_TALK,
    MAX_TIMEOUT,
    MAX_WINDOW,
)
from piase_gym.worlds.social_dilemma.games import (
    BIMATRICES,
    COMMONS,
    GAMES_BY_NAME,
    MAX_PAYOFF,
    ROLES,
    profile_table,
    public_goods,
    volunteers_dilemma,
)

Game = Literal[
    "prisoners_dilemma",
    "stag_hunt",
    "chicken",
    "battle_of_the_sexes",
    "matching_pennies",
    "public_goods",
    "volunteers_dilemma",
    "harvest",
    "cleanup",
]
GAMES: tuple[str, ...] = Game.__args__  # type: ignore[attr-defined]
_OF_MATRIX_GAMES = (
    "choice_names horizon continuation payoffs multiplier benefit cost noise memory talk coin"
).split()
_OF_COMMONS = (
    "width height window frame patches regrowth river orchard start_waste most_waste waste_chance "
    "apple_chance timeout zap_range clean_range apple zap_cost zap_fine message_range recall"
).split()
Payoffs = tuple[tuple[float | tuple[float, ...], ...], ...]


class SocialDilemmaEnvelope(ChannelEnvelope):
    """The sizes that fix SocialDilemma's spaces."""

    agents: int = Field(2, ge=2, le=MAX_AGENTS, description="most agents")
    reputation: int = Field(0, ge=0, le=1, description="1: vectors tell what others have done")
    memory: int = Field(1, ge=1, le=MAX_MEMORY, description="most rounds to look back on")
    coin: int = Field(0, ge=0, le=1, description="1: vectors tell what a coin shows")
    width: int = Field(1, ge=1, le=MAX_SIDE, description="widest commons")
    height: int = Field(1, ge=1, le=MAX_SIDE, description="highest commons")
    window: int = Field(1, ge=1, le=MAX_WINDOW, description="largest window")
    cleaning: int = Field(0, ge=0, le=1, description="1: there is an action that cleans")


class SocialDilemmaConfig(RecallConfig, SymbolConfig):
    """Everything about a SocialDilemma that can be set; see `SocialDilemma` for what it means."""

    world: ClassVar[str] = "SocialDilemma"
    has_places: ClassVar[bool] = True
    later: ClassVar[tuple[str, ...]] = (*SymbolConfig.later, "coin", "recall")

    agents: int = Field(
        2, ge=2, le=MAX_AGENTS, description="number of agents; default: 2, or 4 in games of many"
    )
    game: Game = Field("prisoners_dilemma", description="the game that is played")
    choice_names: Literal["native", "neutral", "roles"] = Field(
        "native",
        description="what choices are called in texts: as in the game's story (stag, hare), a and "
        "b, or by their roles, cooperate and defect; all are understood",
    )
    rounds: int | None = Field(
        None,
        ge=1,
        le=MAX_ROUNDS,
        description="rounds of a game, or their mean number if geometric; steps in a commons; "
        "default: 10, or 1000 in a commons",
    )
    horizon: Literal["fixed", "geometric"] = Field(
        "fixed", description="whether the number of rounds is known, or each may be the last"
    )
    continuation: float | None = Field(
        None,
        gt=0.0,
        lt=1.0,
        description="chance of another round if geometric; default: 1 - 1 / rounds",
    )
    payoffs: Payoffs | None = Field(
        None,
        description="for two: [row][column] -> (row's, column's) or own payoff; for many: [own "
        "choice][number of others that cooperate]; default: the game's",
    )
    multiplier: float = Field(
        2.0, ge=0.0, le=1000.0, description="what a contribution of 1 to the public good grows to"
    )
    benefit: SmallReward = Field(2.0, description="what everybody gets from a volunteer")
    cost: SmallReward = Field(1.0, description="what volunteering costs")
    noise: float = Field(
        0.0, ge=0.0, le=0.5, description="chance that a choice turns into the other one"
    )
    memory: int = Field(4, ge=1, le=MAX_MEMORY, description="rounds that agents can look back on")
    talk: int = Field(
        0, ge=0, le=MAX_TALK, description="steps for messages alone before each round"
    )
    coin: bool = Field(
        False,
        description="before each round a coin is tossed that only the first agent sees; on tails, "
        "every choice counts as the other one",
    )
    reputation: bool = Field(False, description="show how often each of the others has cooperated")
    width: int = Field(16, ge=8, le=MAX_SIDE, description="columns of a commons")
    height: int = Field(16, ge=8, le=MAX_SIDE, description="rows of a commons")
    window: int = Field(7, ge=3, le=MAX_WINDOW, description="side length of the window, odd")
    frame: Literal["grid", "agent"] = Field(
        "grid",
        description="the frame of reference of commands and texts: 'grid' has north, east, south "
        "and west, 'agent' ahead, behind, left and right",
    )
    patches: int = Field(5, ge=1, le=64, description="patches of 13 apples in a harvest")
    regrowth: tuple[Share, Share, Share, Share] = Field(
        (0.0, 0.005, 0.02, 0.05),
        description="chance per step that an apple regrows in a harvest, with 0, 1, 2, and 3 or "
        "more apples within 2 cells",
    )
    river: int = Field(3, ge=1, le=32, description="columns of water in a cleanup, on the left")
    orchard: int = Field(4, ge=1, le=32, description="columns where apples grow, on the right")
    start_waste: Share = Field(0.5, description="share of the water that is waste at the start")
    most_waste: float = Field(
        0.4, gt=0.0, le=1.0, description="share of waste from which on no apples grow"
    )
    waste_chance: Share = Field(
        0.5, description="chance per step that a cell of water turns to waste, below most_waste"
    )
    apple_chance: Share = Field(
        0.05, description="chance per step that an apple grows in a cleanup, with clean water"
    )
    timeout: int = Field(
        25, ge=0, le=MAX_TIMEOUT, description="steps that a zapped agent is away; 0: no zapping"
    )
    zap_range: int = Field(5, ge=1, le=MAX_SIDE, description="how many cells a zap reaches")
    clean_range: int = Field(5, ge=1, le=MAX_SIDE, description="how many cells cleaning reaches")
    apple: SmallReward = Field(1.0, description="reward for an apple")
    zap_cost: SmallReward = Field(1.0, description="what a zap costs")
    zap_fine: SmallReward = Field(0.0, description="what being zapped costs")
    max_steps: int = Field(100_000, ge=1, le=MOST_STEPS, description="steps until truncation")
    envelope: SocialDilemmaEnvelope | None = Field(None, description="largest sizes")

    @classmethod
    def plain(cls, fields: Any) -> dict[str, Any]:
        """Also let a game set the number of agents, and a `continuation` the horizon."""
        plain = super().plain(fields)
        game = plain.get("game")
        if "agents" not in plain and game in GAMES:
            plain["agents"] = usual_agents(game)
        if plain.get("continuation") is not None:
            plain.setdefault("horizon", "geometric")
        if isinstance(plain.get("payoffs"), np.ndarray):
            plain["payoffs"] = plain["payoffs"].tolist()
        return plain

    def plain_changes(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Also keep the number of agents in another game of many, if it was not the old game's."""
        game = changes.get("game")
        if game in GAMES and game not in BIMATRICES and self.agents != usual_agents(self.game):
            changes = {"agents": self.agents, **changes}
        return super().plain_changes(changes)

    @field_validator("payoffs", mode="before")
    @classmethod
    def _check_payoffs(cls, value: Any) -> Any:
        if value is None:
            return None
        table = _frozen(value)
        if not isinstance(table, tuple):
            raise ValueError("payoffs are a table of numbers")
        for number in _numbers(table):
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise ValueError(f"payoffs are numbers, not {number!r:.40}")
            if not math.isfinite(number) or abs(number) > MAX_PAYOFF:
                raise ValueError(
                    f"payoffs are finite numbers from -{MAX_PAYOFF:.0f} to {MAX_PAYOFF:.0f}, "
                    f"not {number}"
                )
        if len(_shape(table) or (2, 2)) not in (2, 3):
            raise ValueError(f"payoffs are a table of two or three dimensions, not {_shape(table)}")
        return table

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_kind()
        two = self.game in BIMATRICES
        if two and self.agents != 2:
            raise ValueError(f"{self.game} is a game of 2 agents, not of {self.agents}")
        if self.continuation is not None and self.horizon == "fixed":
            raise ValueError("continuation belongs to horizon='geometric'; leave it out")
        if self.talk and not (self.symbols or self.speech):
            raise ValueError("talk needs symbols to say; give symbols=..., or speech=True")
        if self.speech and not (self.talk or self.is_commons):
            raise ValueError("speech in a matrix game needs a time to talk; give talk=...")
        if self.payoffs is not None:
            self._check_shape(self.payoffs)
        return self

    def _check_kind(self) -> None:
        strange = _OF_MATRIX_GAMES if self.is_commons else _OF_COMMONS
        fields = type(self).model_fields
        for name in strange:
            if getattr(self, name) != fields[name].get_default():
                kind = "the matrix games" if self.is_commons else "harvest and cleanup"
                raise ValueError(f"{name} belongs to {kind}, not to {self.game}; leave it out")
        if not self.is_commons:
            return
        if self.window % 2 == 0:
            raise ValueError(f"window must be odd, from 3 to {MAX_WINDOW}, not {self.window}")
        if self.game == "cleanup" and self.river + self.orchard >= self.width:
            raise ValueError(
                f"river={self.river} and orchard={self.orchard} leave no land between them on "
                f"{self.width} columns"
            )

    def _check_shape(self, payoffs: Payoffs) -> None:
        two = self.game in BIMATRICES
        wanted = [(2, 2), (2, 2, 2)] if two else [(2, self.agents)]
        shape = _shape(payoffs)
        if shape not in wanted:
            meaning = (
                "[row's choice][column's choice] -> own payoff, or (row's, column's)"
                if two
                else "[own choice][number of others that cooperate]"
            )
            allowed = " or ".join(map(str, wanted))
            found = "ragged" if shape is None else f"of shape {shape}"
            raise ValueError(
                f"payoffs of {self.game} have the shape {allowed}, {meaning}; these are {found}"
            )

    @property
    def words(self) -> tuple[str, str]:
        """The names in texts of the two choices of a matrix game, to cooperate and to defect."""
        pairs = {"neutral": ("a", "b"), "roles": ROLES}
        return pairs.get(self.choice_names) or GAMES_BY_NAME[self.game].names

    @property
    def is_commons(self) -> bool:
        """Whether the game is played on a grid."""
        return self.game in COMMONS

    @property
    def length(self) -> int:
        """How many rounds or steps there are (on average, if the horizon is geometric)."""
        return self.rounds or (1000 if self.is_commons else 10)

    @property
    def chance(self) -> float:
        """The chance that another round follows, under a geometric horizon."""
        return 1.0 - 1.0 / self.length if self.continuation is None else self.continuation

    @property
    def known_rounds(self) -> int | None:
        """How many rounds there are, if that is known."""
        return self.length if self.horizon == "fixed" else None

    @property
    def longest(self) -> int:
        """The number of steps after which every episode is over at the latest."""
        rounds = self.known_rounds
        return min(rounds * (1 + self.talk), self.max_steps) if rounds else self.max_steps

    @property
    def profiles(self) -> NDArray[np.float64]:
        """What everybody gets: ``[agent][own choice][others that cooperate]``."""
        table: Any = self.payoffs
        if table is None and self.game == "public_goods":
            table = public_goods(self.agents, self.multiplier)
        elif table is None and self.game == "volunteers_dilemma":
            table = volunteers_dilemma(self.agents, self.benefit, self.cost)
        elif table is None:
            table = BIMATRICES[self.game]
        elif self.game in BIMATRICES and len(_shape(table) or ()) == 2:
            own = np.array(table, np.float64)
            table = np.stack([own, own.T], axis=-1)
        return profile_table(table, self.agents)

    def sizes(self) -> SocialDilemmaEnvelope:
        """Return this config's own sizes; some of them apply to only one kind of game."""
        own = {"memory": self.memory, "coin": int(self.coin)}
        if self.is_commons:
            sides = {"width": self.width, "height": self.height, "window": self.window}
            own = {**sides, "cleaning": int(self.game == "cleanup")}
        return SocialDilemmaEnvelope(
            agents=self.agents,
            **self.channel_sizes(),
            reputation=int(self.reputation),
            **own,
        )


def usual_agents(game: str) -> int:
    """Return how many agents play a game if nothing is said about it."""
    return 4 if game in COMMONS else GAMES_BY_NAME[game].players


def _frozen(table: Any) -> Any:
    """Return nested lists as nested tuples; everything else in them stays as it is."""
    if isinstance(table, list | tuple):
        return tuple(map(_frozen, table))
    return table


def _numbers(table: Any) -> list[Any]:
    """Return everything in nested tuples."""
    if isinstance(table, tuple):
        return [number for part in table for number in _numbers(part)]
    return [table]


def _shape(table: Any) -> tuple[int, ...] | None:
    """Return the shape of nested tuples, or None if they are ragged."""
    if not isinstance(table, tuple):
        return ()
    inner = {_shape(part) for part in table}
    if len(inner) != 1 or None in inner:
        return None
    return (len(table), *(inner.pop() or ()))
