"""The memory of the matrix games: one record per environment, one table per config.

Choices are kept as bits, the newest lowest: bit m of ``past[a]`` says whether agent a cooperated
m + 1 rounds ago, and bit m of ``unread[a]`` whether its choice then could not be read, which
counts as defecting. Scores are counted in whole units (`games.UNIT`).
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled.draws import in_32_bits
from piase_gym.compiled.memory import Varying
from piase_gym.compiled.memory import record as record_type
from piase_gym.compiled.stepping import BOOKKEEPING, fields_of
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.channel import kernels
from piase_gym.worlds.checks import find_agent_problem
from piase_gym.worlds.social_dilemma.config import GAMES, SocialDilemmaConfig, SocialDilemmaEnvelope
from piase_gym.worlds.social_dilemma.constants import MAX_AGENTS, RESULTS
from piase_gym.worlds.social_dilemma.games import UNIT

COIN: Final = 3
"""The number of the random stream of coins, which has a separate draw for each round."""
DYNAMICS: Final = 0
"""The only random stream that these games draw from, as they lay nothing out."""

# Events: what became of a choice. The first is `stepping.NONE`; from `UNPARSABLE` on they stand for
# what could not be read, in the order of `array_world`'s codes.
CHOSE, ILLEGAL, UNPARSABLE = 1, 2, 3
UNREAD: Final = 1.0 / 64.0
"""What vectors add for a choice that could not be read to the number that it counted as."""

MILESTONES: Final = ("cooperated", "defected", "all_cooperated", "all_defected")
"""The names of the bits of `marks`."""


VARYING: Final[Varying] = (("mail", "u1"),)


def capacity(agents: int) -> int:
    """Return how many agents the record has room for; each size is a separate compilation."""
    return 2 if agents <= 2 else MAX_AGENTS


@functools.cache
def layout(agents: int, mail: int = 0) -> np.dtype[Any]:
    """Return the record of an environment; the fields up to `hint` are the canonical state.

    The channel, of `mail` bytes, is part of it, too.
    """
    fields = [
        *fields_of("<u8", "keys counters", 1),
        ("seed", "<u8"),
        # steps, rounds that are over, steps of talk before the next choice
        *fields_of("<i4", "t played talk agents"),
        *fields_of("<u8", "past unread", agents),
        ("score", "<i8", agents),
        ("cooperated", "<i4", agents),
        # said: the symbol uttered in this step, 0 for silence
        *fields_of("u1", "alive fate marks said", agents),
        ("hint", "u1", agents * HINT_CODE),
        *fields_of("u1", "mail" if mail else "", mail),
        ("order", "u1", agents),
        *BOOKKEEPING,
    ]
    return record_type(fields, [name for name, _ in VARYING])


_FIELDS: Final = layout(2).names or ()
CANONICAL: Final = _FIELDS[: _FIELDS.index("hint") + 1]


def layout_for(envelope: SocialDilemmaEnvelope) -> np.dtype[Any]:
    """Return the record that holds an envelope."""
    return layout(capacity(envelope.agents), kernels.channel_size(envelope))


# -- vectors ------------------------------------------------------------------------------

HEAD: Final = 6
"""A vector starts with: own number, players, game, rounds (0 if unknown), chance of another, noise.

What follows, up to the last round, is at the same place in every envelope.
"""
NOW: Final = 5
"""Then: rounds played, steps of talk before the choice, score, own and others' cooperations."""
PAST: Final = HEAD + NOW
"""Where the history begins; after it come the payoffs."""


def payoff_length(envelope: SocialDilemmaEnvelope) -> int:
    """Return the length of the payoffs: an agent's own, and the other's in a game of two."""
    return 2 * envelope.agents + 4


def vector_length(envelope: SocialDilemmaEnvelope) -> int:
    """Return the length of a vector."""
    others = envelope.agents * envelope.reputation + envelope.message_bytes
    return PAST + 2 * envelope.memory + payoff_length(envelope) + others + envelope.coin + HINT_CODE


def heads(config: SocialDilemmaConfig, envelope: SocialDilemmaEnvelope) -> NDArray[np.float32]:
    """Return the heads of the vectors of all agents of the envelope."""
    found = np.zeros((envelope.agents, HEAD), np.float32)
    goes_on = 1.0 if config.horizon == "fixed" else config.chance
    game, known = GAMES.index(config.game), config.known_rounds or 0
    for agent in range(config.agents):
        found[agent] = agent, config.agents, game, known, goes_on, config.noise
    return found


def payoffs(config: SocialDilemmaConfig, envelope: SocialDilemmaEnvelope) -> NDArray[np.float32]:
    """Return the payoffs as they stand in the vectors of all agents of the envelope."""
    found = np.zeros((envelope.agents, payoff_length(envelope)), np.float32)
    profiles = config.profiles
    for agent in range(config.agents):
        for choice, row in enumerate(profiles[agent]):
            start = choice * envelope.agents
            found[agent, start : start + config.agents] = row
        if config.agents == 2:
            found[agent, -4:] = others_payoffs(profiles, agent).ravel()
    return found


def others_payoffs(profiles: NDArray[np.float64], agent: int) -> NDArray[np.float64]:
    """Return what the other of two gets, by own choice and whether the other cooperates."""
    theirs = profiles[1 - agent]
    own_cooperates, own_defects = theirs[:, 1], theirs[:, 0]  # by the other's choice
    return np.array([own_cooperates[::-1], own_defects[::-1]])


# -- tables -------------------------------------------------------------------------------


_OF_CONFIG: Final = "agents max_steps symbols memory talk reputation coin"


@functools.cache
def table_layout(agents: int) -> np.dtype[Any]:
    """Return the record of a config."""
    return record_type(
        [
            *fields_of("<i4", _OF_CONFIG),
            # agents in the outputs, length of vectors, actions, rounds that vectors have room for
            *fields_of("<i4", "slots length num_actions shown"),
            ("shows_coin", "<i4"),  # 1 if vectors have room for it
            *kernels.channel_fields(),
            *fields_of("<i4", "channel known"),  # 1 if vectors have room for symbols, reputations
            *fields_of("<i4", "shared rounds"),  # no rounds if the horizon is geometric
            *fields_of("<u4", "goes_on noise"),  # chances in 2**-32
            # ``(2 * agent + own choice) * capacity + others that cooperate``
            ("payoff", "<f8", agents * 2 * agents),
            ("units", "<i8", agents * 2 * agents),
            ("heads", "<f4", agents * HEAD),
            ("payoffs", "<f4", agents * (2 * agents + 4)),
        ]
    )


def new_table(config: SocialDilemmaConfig, envelope: SocialDilemmaEnvelope) -> NDArray[Any]:
    """Return the table of one config, shape (1,)."""
    tables = np.zeros(1, table_layout(capacity(envelope.agents)))
    table, count = tables[0], config.agents
    for name in _OF_CONFIG.split():
        table[name] = getattr(config, name)
    table["slots"], table["length"] = envelope.agents, vector_length(envelope)
    table["num_actions"] = 2 * (1 + envelope.num_messages)
    kernels.fill_channel(table, config, envelope, 0)
    table["channel"], table["shown"] = envelope.symbols > 0, envelope.memory
    table["shows_coin"] = envelope.coin
    table["known"], table["shared"] = envelope.reputation, config.shared_reward
    table["rounds"] = config.known_rounds or 0
    table["goes_on"], table["noise"] = in_32_bits(config.chance), in_32_bits(config.noise)
    profiles = config.profiles
    room = capacity(envelope.agents)
    roomy = np.zeros((room, 2, room))
    roomy[:count, :, :count] = profiles
    table["payoff"], table["units"] = roomy.ravel(), np.rint(roomy.ravel() * UNIT)
    for name, rows in (("heads", heads), ("payoffs", payoffs)):
        flat = rows(config, envelope).ravel()
        table[name][: flat.size] = flat
    return tables


def find_problem(record: Any, table: Any) -> str:
    """Say what is impossible in a state under a config's table, or return an empty string."""
    bounds = {"alive": 2, "fate": len(RESULTS), "said": int(table["symbols"]) + 1}
    if problem := find_agent_problem(record, table, bounds):
        return problem
    most = int(table["rounds"]) or int(table["max_steps"])
    for name, high in (("t", int(table["max_steps"])), ("played", most), ("talk", table["talk"])):
        if not 0 <= record[name] <= high:
            return f"{name!r} must be in 0..{high}"
    cooperated = record["cooperated"]
    if ((cooperated < 0) | (cooperated > record["played"])).any():
        return "'cooperated' must be in 0..played for every agent"
    return kernels.channel_problem(record, table)
