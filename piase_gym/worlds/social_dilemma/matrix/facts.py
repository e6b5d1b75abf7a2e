"""The two views of the matrix games: facts as a vector and as text, and the way back from both.

Everything here is pure: a function of facts and config. `rules` writes the same vectors
faster; this module says what they mean. The vector (float32) has these parts, of fixed lengths in
an envelope of A agents and M rounds of memory:

* own number, players, game (its place in `GAMES`), rounds (0 if unknown), chance of another, noise;
* rounds played, steps of talk before the choice, own score, own and all others' cooperations;
* the last M rounds, newest first: whether one cooperated, how many others did; -1 for none; and a
  64th more for each choice that could not be read;
* own payoffs, ``[own choice][others that cooperate]``, 2 A numbers;
* with two agents the other's payoffs in the same order, else zeros, 4 numbers;
* with reputation, how often each agent has cooperated, A numbers; -1 for oneself;
* with symbols, what each agent said, A numbers;
* with a coin, what it shows the first agent: 1 heads, 2 tails, else 0;
* 8 bytes of hashed hint.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.text_encoding import HINT_CODE, hash_text
from piase_gym.core.world import Facts
from piase_gym.worlds.channel.heard import EarlierMessage, Heard
from piase_gym.worlds.channel.symbols import ChannelForm, highest
from piase_gym.worlds.social_dilemma.config import GAMES, SocialDilemmaConfig, SocialDilemmaEnvelope
from piase_gym.worlds.social_dilemma.constants import MAX_AGENTS, MAX_ROUNDS, MAX_TALK
from piase_gym.worlds.social_dilemma.games import MAX_PAYOFF
from piase_gym.worlds.social_dilemma.matrix.state import (
    HEAD,
    PAST,
    UNREAD,
    others_payoffs,
    payoff_length,
    vector_length,
)

COIN_SIDES = (None, "heads", "tails")
Chosen = tuple[bool, int]
"""For one round: whether something holds of the agent's choice, and of how many others' choices."""
Table = tuple[tuple[float, ...], tuple[float, ...]]
"""Payoffs by own choice (0 cooperate, 1 defect) and number of others that cooperate."""


@dataclass(frozen=True, kw_only=True)
class MatrixFacts(Facts):
    """What one agent of a matrix game may know.

    Attributes:
        game: Its name, one of `GAMES`.
        played: How many rounds are over.
        rounds: How many rounds there are, or ``None`` if nobody knows.
        continuation: The chance that another round follows, or ``None`` if `rounds` is known.
        noise: The chance that a choice turns into the other one.
        talk: Steps of talk before the next choice.
        payoffs: What the agent gets.
        their_payoffs: What the other one gets, by the agent's choice and whether the other one
            cooperates; empty if there are several others, which have the agent's own payoffs.
        score: What the agent has got so far.
        cooperated: In how many rounds the agent has cooperated.
        others_cooperated: How often the others have cooperated, all together.
        history: The last rounds, newest first: whether the agent cooperated, and how many others.
        unread: In the same rounds, whether the agent's choice could not be read, which counts as
            defecting, and how many of the others' choices could not.
        reputation: With reputation, each of the others and how often it has cooperated.
        earlier: With `message_history`, what was heard before.
        coin: ``heads`` or ``tails``, for the agent that sees it.
    """

    game: str
    played: int
    rounds: int | None
    continuation: float | None
    noise: float
    talk: int
    payoffs: Table
    their_payoffs: Table | tuple[()]
    score: float
    cooperated: int
    others_cooperated: int
    history: tuple[Chosen, ...]
    unread: tuple[Chosen, ...] = ()
    reputation: tuple[tuple[str, int], ...] = ()
    earlier: tuple[EarlierMessage, ...] = ()
    coin: str | None = None


class MatrixForm:
    """The layout of the vectors of one config (with its envelope)."""

    def __init__(self, config: SocialDilemmaConfig) -> None:
        """Work out the parts of the vector."""
        self.config = config
        envelope: SocialDilemmaEnvelope = config.fixed_envelope()
        self.envelope = envelope
        self.names = config.names(envelope.agents)
        self.length = vector_length(envelope)
        self.paid = PAST + 2 * envelope.memory
        self.recall = self.paid + payoff_length(envelope)
        self.heard = self.recall + (envelope.agents if envelope.reputation else 0)
        self.channel = ChannelForm(config, envelope)
        self.profiles = config.profiles
        self.words, self.two, self.rounds = config.words, config.agents == 2, config.known_rounds

    def tables(self, agent: int) -> tuple[Table, Table | tuple[()]]:
        """Return the payoffs of an agent and of the other one."""
        if self.config.agents > 2:
            return _table(self.profiles[agent]), ()
        return _table(self.profiles[agent]), _table(others_payoffs(self.profiles, agent))


@functools.lru_cache(maxsize=64)
def form_of(config: SocialDilemmaConfig) -> MatrixForm:
    """Return the form of a config; for the last few configs it is the same object each time."""
    return MatrixForm(config)


def _table(array: NDArray[np.float64]) -> Table:
    """Return an array of two rows as tuples."""
    first, second = array.tolist()
    return tuple(first), tuple(second)


def vector_box(envelope: SocialDilemmaEnvelope) -> Box:
    """Return the space of the vectors."""
    agents, counts = envelope.agents, 2.0**31
    score = MAX_PAYOFF * counts
    heads = (MAX_AGENTS, MAX_AGENTS, len(GAMES), MAX_ROUNDS, 1.0, 1.0)
    parts: list[tuple[float, float]] = [
        *((0.0, high) for high in heads),
        (0.0, counts),
        (0.0, MAX_TALK),
        (-score, score),
        (0.0, counts),
        (0.0, counts * MAX_AGENTS),
        *[(-1.0, 1.0 + UNREAD), (-1.0, float(MAX_AGENTS))] * envelope.memory,
        *[(-MAX_PAYOFF, MAX_PAYOFF)] * payoff_length(envelope),
        *[(-1.0, counts)] * (agents if envelope.reputation else 0),
        *((0.0, float(most)) for most in highest(envelope)),
        *[(0.0, 2.0)] * envelope.coin,
        *[(0.0, 255.0)] * HINT_CODE,
    ]
    low, high = np.array(parts, np.float32).T
    return Box(low, high, dtype=np.float32)


def facts_of(
    vector: NDArray[np.float32], agent: int, score: float, form: MatrixForm, hint: str | None
) -> MatrixFacts:
    """Read a vector back. What 32-bit floats cannot hold comes from the config, or is given.

    Args:
        vector: What the kernel wrote for an agent in play (or zeros).
        agent: The agent whose vector it is.
        score: The agent's exact score.
        form: The layout of the vector.
        hint: The hint, as its code is lossy.
    """
    config, values = form.config, vector.tolist()
    played, talk, _, cooperated, others = map(int, values[HEAD:PAST])
    payoffs, theirs = form.tables(min(agent, config.agents - 1))
    history, unread = history_of(values[PAST : form.paid], min(played, config.memory))
    heard = form.channel.read(values[form.heard : -HINT_CODE], form.names[agent])
    return MatrixFacts(
        agent=form.names[agent],
        messages=heard.messages,
        earlier=heard.earlier,
        coin=COIN_SIDES[int(values[-HINT_CODE - 1])] if form.envelope.coin else None,
        hint=hint,
        game=config.game,
        played=played,
        rounds=config.known_rounds,
        continuation=None if config.known_rounds else config.chance,
        noise=config.noise,
        talk=talk,
        payoffs=payoffs,
        their_payoffs=theirs,
        score=score,
        cooperated=cooperated,
        others_cooperated=others,
        history=history,
        unread=unread,
        reputation=reputation_of(values[form.recall : form.heard], form),
    )


def history_of(past: Sequence[float], known: int) -> tuple[tuple[Chosen, ...], tuple[Chosen, ...]]:
    """Read what was chosen, and what could not be read, in at most `known` of the last rounds."""
    pairs = [pair for pair in zip(past[::2], past[1::2], strict=True) if pair[1] >= 0][:known]
    history = tuple((mine >= 1, int(rest)) for mine, rest in pairs)
    return history, tuple((mine % 1 > 0, round(rest % 1 / UNREAD)) for mine, rest in pairs)


def reputation_of(counts: Sequence[float], form: MatrixForm) -> tuple[tuple[str, int], ...]:
    """Read how often each of the others has cooperated, if there are reputations."""
    pairs = zip(form.names, counts[: form.heard - form.recall], strict=False)
    return tuple((n, int(count)) for n, count in pairs if form.config.reputation and count >= 0)


def vector_of(facts: MatrixFacts, form: MatrixForm) -> NDArray[np.float32]:
    """Return the vector of the facts."""
    envelope = form.envelope
    vector = np.zeros(form.length, np.float32)
    goes_on = 1.0 if facts.continuation is None else facts.continuation
    number = form.names.index(facts.agent)
    players = len(facts.payoffs[0])
    game, rounds = GAMES.index(facts.game), facts.rounds or 0
    vector[:HEAD] = number, players, game, rounds, goes_on, facts.noise
    so_far = facts.score, facts.cooperated, facts.others_cooperated
    vector[HEAD:PAST] = facts.played, facts.talk, *so_far
    past = np.full((envelope.memory, 2), -1.0)
    if facts.history:
        past[: len(facts.history)] = np.array(facts.history) + UNREAD * np.array(facts.unread)
    vector[PAST : form.paid] = past.ravel()
    for choice, row in enumerate(facts.payoffs):
        start = form.paid + choice * envelope.agents
        vector[start : start + len(row)] = row
    if facts.their_payoffs:
        vector[form.recall - 4 : form.recall] = np.array(facts.their_payoffs).ravel()
    vector[form.recall : form.heard] = -1.0
    for name, count in facts.reputation:
        vector[form.recall + form.names.index(name)] = count
    form.channel.write(Heard(facts.messages, facts.earlier), vector, form.heard)
    if envelope.coin:
        vector[-HINT_CODE - 1] = COIN_SIDES.index(facts.coin)
    vector[-HINT_CODE:] = hash_text(facts.hint)
    return vector
