"""SocialDilemma, as a World: what its two kinds of games share, and the page about them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

from piase_gym.core.difficulty import DifficultyParameter, Element
from piase_gym.errors import EnvelopeError
from piase_gym.worlds.array_world import ArrayWorld, F
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig, SocialDilemmaEnvelope
from piase_gym.worlds.social_dilemma.curriculum import DIFFICULTY_PARAMETERS, ELEMENTS
from piase_gym.worlds.social_dilemma.games import games_table


class SocialDilemma(ArrayWorld[SocialDilemmaConfig, F]):
    """Games in which what is best for each is not what is best for all.

    ## Description

    Matrix games: in each round everybody chooses at once, to cooperate or to defect, and a table
    says what everybody gets.

    {games}

    The last two are games for many, the others for two.

    `payoffs` replaces the table. For two, it is ``[row][column]``, where agent 0 is the row player,
    0 is cooperate and 1 is defect: pairs (row's, column's), or one's own payoffs in a symmetric
    game. For many, it is ``[own choice][number of others that cooperate]``.

    A game is played for `rounds` rounds, which everybody knows, or, with a geometric `horizon`,
    on and on with a chance of `continuation` after each round. With `noise`, a choice turns into
    the other one by chance, and all see what it turned into. With `symbols`, agents talk: what is
    said with a command is heard by all others before their next choice. `talk` adds steps for
    messages alone before each round. With `coin`, a coin is tossed before each round that only the
    first agent sees; on tails, the table takes every choice for the other one. With `reputation`,
    agents see how often each of the others has cooperated. All keys of talk are on the page
    [Channels](../channels.md).

    Commons: agents walk on a grid of `width` by `height` cells, (0, 0) at the top left, and eat
    apples by stepping onto them. A step has this order: agents walk one after the other, and the
    first to claim a cell gets it; then all beams fly at once; then time-outs run down; then
    waste comes and apples grow.

    In a `harvest`, apples hang in `patches` of 13. Where one was eaten, another grows with a chance
    that depends on how many hang within two cells (`regrowth`): a patch that is eaten bare never
    recovers. In a `cleanup`, apples grow in the `orchard` with a chance of up to `apple_chance` per
    step, which falls as more of the `river` is waste and is 0 from `most_waste` on; waste comes by
    `waste_chance`. Cleaning turns the first waste ahead, within `clean_range` and up to the next
    agent, to water: work for one, good for all. A zap sends the first agent ahead, within
    `zap_range`, into time-out for `timeout` steps; it sees nothing, can only stay, and comes back
    at a random free cell.

    | sign | cell |
    |---|---|
    | `.` | floor |
    | `a` `,` | apple, and where one can grow (agents see floor there) |
    | `~` `%` | water and waste; both can be walked on |

    Regrowth by neighbours and time-outs follow Perolat et al., "A multi-agent reinforcement
    learning model of common-pool resource appropriation" (2017); the river and its waste follow
    Hughes et al., "Inequity aversion improves cooperation in intertemporal social dilemmas" (2018).
    Chances, thresholds and ranges are by default those of Vinitsky et al., "An Open Source
    Implementation of Sequential Social Dilemma Games" (2019), where, however, waste comes in nearly
    every step, and neighbours are the eight cells around. Otherwise than in these works, grids are
    drawn anew for each episode; a move turns, and nobody steps aside; agents walk in order, not in
    a random one; beams are one cell wide, not three; and a zap brings a time-out and `zap_fine`,
    which is 0 by default, where Hughes et al. have a fine of 50 and no time-out.

    ## Actions

    | index | command | effect |
    |---|---|---|
    | 0 | `cooperate` | as the table says |
    | 1 | `defect` | as the table says |

    In a commons:

    | index | command | effect |
    |---|---|---|
    | 0 to 3 | `move north`, `south`, `west`, `east` | turn that way, then step if nobody is there |
    | 4 | `stay` | nothing |
    | 5 | `zap` | illegal with `timeout=0` |
    | 6 | `clean` | only in a `cleanup`, or where the envelope has `cleaning` |

    With `frame="agent"` the first four are `forward`, `turn around`, `turn left`, `turn right`, and
    texts say what is ahead, left and right; see [Grids in words](../grids_in_words.md).

    A message comes on top: index ``actions * symbol + action``. Walking against somebody, zapping
    nobody and cleaning nothing fail. In time-out, everything but `stay` is illegal.

    In a matrix game with `symbols=n`, index ``2 * symbol + choice`` also says a symbol to all
    others (`cooperate saying 2`); symbol 0 is silence. To defect in silence is the no-op, and the
    action taken for a command that is illegal or cannot be read.

    ## Observations

    The facts hold the game and its payoffs, how long it lasts, and the agent's own history: the
    last `memory` rounds, how often all have cooperated, its score. The vector is float32:

    | part | numbers |
    |---|---|
    | own number, players, game, rounds (0 if unknown), chance of another round, noise | 6 |
    | rounds played, steps of talk before the choice, score, own and others' cooperations | 5 |
    | rounds, newest first: whether one cooperated, how many others did; -1 for none | 2 x memory |
    | own payoffs, ``[own choice][others that cooperate]`` | 2 x agents |
    | with two agents, the other's payoffs in the same order | 4 |
    | with reputation: how often each agent has cooperated, -1 for oneself | agents |
    | with symbols: what each agent said | agents |
    | with a coin: what it shows the first agent (1 heads, 2 tails) | 1 |
    | hashed hint | 8 |

    In a commons agents see a square of `window` by `window` cells, turned so that the heading is
    up; the agent stands in the middle of the nearest row. The vector is uint8 (an agent is
    ``32 + 4 * number + turn``, turn 0 looking as the viewer does):

    | part | numbers |
    |---|---|
    | cells: 0 unseen, 1 outside, 2 floor, 4 apple, 5 water, 6 waste, agents | window x window |
    | number, game (0 harvest, 1 cleanup), width, height, x, y, heading, time-out left | 8 |
    | steps done, steps, apples eaten, cells cleaned, zaps, times zapped, 2 bytes each | 12 |
    | hashed hint | 8 |
    | with reputation: what each agent has eaten, cleaned, fired, 2 bytes each | 6 x agents |
    | with symbols: what each agent said | agents |

    The text gives the same facts in prose, and so explains the game.

    ## Rewards

    What the table says; in a commons, `apple` for an apple, minus `zap_cost` for a zap and
    `zap_fine` for being zapped. With `shared_reward`, every agent gets the mean.

    ## Start and end

    All agents play from the first step to the last. When the game is over they are terminated, and
    the result is `ended`; after `max_steps` they are truncated, and have lost. Milestones:
    `cooperated`, `defected`, `all_cooperated`, `all_defected`; in a commons `apple_eaten`,
    `zapped_another`, `was_zapped`, `waste_cleaned`.

    ## Measures

    `efficiency` lies between the worst (0) and the best total (1) of a matrix game; in a commons,
    it is the number of apples eaten as a share of an upper bound. `equality` is one minus the Gini
    coefficient of what agents got above the least possible. `cooperation_rate` is an agent's own:
    how often it cooperated, or cleaned. Commons add `sustainability`, the mean time at which apples
    were eaten as a share of the game, and `peace`, the share of steps out of time-out.

    `piase_gym.worlds.social_dilemma.matrix.solutions` computes equilibria, best responses, the
    `exploitability` of strategies and the results of a `tournament`; `outcomes` beside it the
    social optimum; `benchmarks/studies/dilemmas/measure.py` how any policy is `exploited`.
    The oracle plays for the good of all: the optimum of a matrix game, a rule-based plan in a
    commons. The script plays for itself: the best reply to the rounds that it remembers, and in a
    commons the nearest apple. Strategies for partners:
    `tit_for_tat`, `generous_tit_for_tat`, `grudger`, `pavlov`, `always_cooperate`,
    `always_defect`, `random` and `best_response:STRATEGY`; for random matching
    `population:tit_for_tat,grudger,always_defect` plays as one of these in each episode.

    ## Scenarios and curriculum

    `two_cells` is a prisoner's dilemma with talk, `common_orchard` a harvest (`piase run NAME`).
    The curriculum `give_and_take` leads a learner whose partner gives tit for tat through five
    games (`piase curriculum run give_and_take`).

    ## Versions

    - v0: first version.
    - v1: other texts, and a frame of reference in the commons; a choice of a matrix game that
      could not be read is remembered as unreadable.
    """

    name: ClassVar[str] = "SocialDilemma"
    version: ClassVar[int] = 1

    live_fields: ClassVar[tuple[str, ...]] = tuple(
        (
            "max_steps shared_reward payoffs multiplier benefit cost noise  "
            "regrowth most_waste waste_chance apple_chance zap_range clean_range apple "
            "zap_cost zap_fine"
        ).split()
    )
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = DIFFICULTY_PARAMETERS
    elements: ClassVar[tuple[Element, ...]] = ELEMENTS

    optional: ClassVar[Sequence[str]] = ("mail",)

    envelope: SocialDilemmaEnvelope

    @classmethod
    def kind_for(cls, config: SocialDilemmaConfig) -> type[SocialDilemma[Any]]:
        """Return the class of a config's game: the matrix games, or the commons."""
        from piase_gym.worlds.social_dilemma.commons.world import Commons
        from piase_gym.worlds.social_dilemma.matrix.world import MatrixGames

        kind: type[SocialDilemma[Any]] = Commons if config.is_commons else MatrixGames
        if not config.speech:
            return kind
        from piase_gym.worlds.channel.speech import speaking
        from piase_gym.worlds.social_dilemma.matrix.speech import SpeaksBetweenRounds

        return speaking(Commons) if config.is_commons else speaking(kind, SpeaksBetweenRounds)

    def check_config(self, config: SocialDilemmaConfig) -> None:
        """Check the envelope, and that the game is of the same kind."""
        if config.speech != self.config.speech:
            raise EnvelopeError(
                f"SocialDilemma: speech={config.speech} has other spaces than "
                f"speech={self.config.speech}; make another environment"
            )
        if not isinstance(self, self.kind_for(config)):
            raise EnvelopeError(
                f"SocialDilemma: game={config.game!r} has other spaces than "
                f"game={self.config.game!r}; make another environment"
            )
        super().check_config(config)


SocialDilemma.__doc__ = inspect.cleandoc(SocialDilemma.__doc__ or "").replace(
    "{games}", games_table()
)
