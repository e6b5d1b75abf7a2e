"""The prose of the matrix games, written from facts and read back into them. Pure functions."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from piase_gym.core.text_encoding import HINT_CODE, one_line
from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.channel.heard import heard_lines
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.constants import MAX_TALK
from piase_gym.worlds.social_dilemma.line_reader import LineReader
from piase_gym.worlds.social_dilemma.matrix.facts import (
    COIN_SIDES,
    Chosen,
    MatrixFacts,
    MatrixForm,
    form_of,
    history_of,
    reputation_of,
)
from piase_gym.worlds.social_dilemma.matrix.state import HEAD, PAST
from piase_gym.worlds.texts.wording import counted

_PAIR = tuple((choice, others) for choice in (0, 1) for others in (1, 0))
"""The cases of a game of two: (own choice, whether the other cooperates)."""


def number(value: float) -> str:
    """Write a number without a needless ``.0``."""
    return repr(value).removesuffix(".0")


def text_of(facts: MatrixFacts, config: SocialDilemmaConfig) -> str:
    """Write the facts as prose; what never changes, such as payoffs, is in the prompt."""
    form = form_of(config)
    text = _head(form, facts.agent, facts.played, facts.score) + _choice_line(
        form, facts.talk, facts.coin
    )
    text += _counts(form, facts.played, facts.cooperated, facts.others_cooperated)
    text += _past(form, facts.history, facts.unread) + _reputation(form, facts.reputation)
    return "\n".join([text, *heard_lines(facts.messages, facts.earlier, facts.hint)])


def write_kept(form: MatrixForm, kept: Any, agent: int) -> str:
    """Write the text of the moment in which (vector, score, hint) were kept.

    It is the text of `text_of`, put together from cached pieces.
    """
    vector, score, hint = kept
    data, name = vector.tobytes(), form.names[agent]
    played, talk, _, cooperated, others = map(int, vector[HEAD:PAST].tolist())
    coin = COIN_SIDES[int(vector[-HINT_CODE - 1])] if form.envelope.coin else None
    text = _head(form, name, played, score) + _choice_line(form, talk, coin)
    text += _counts(form, played, cooperated, others)
    text += _past_of_bytes(form, min(played, form.config.memory), data[4 * PAST : 4 * form.paid])
    text += _others_of_bytes(form, name, data[4 * form.recall : -4 * HINT_CODE])
    return text if hint is None else f"{text}\nHint: {one_line(hint)}"


@functools.lru_cache(maxsize=8192)
def _past_of_bytes(form: MatrixForm, known: int, past: bytes) -> str:
    """Write what was chosen in the last rounds, at most `known` of them."""
    return _past(form, *history_of(np.frombuffer(past, np.float32).tolist(), known))


@functools.lru_cache(maxsize=8192)
def _others_of_bytes(form: MatrixForm, agent: str, data: bytes) -> str:
    """Write what others have done, and said."""
    values = np.frombuffer(data, np.float32).tolist()
    text = _reputation(form, reputation_of(values, form))
    heard = form.channel.read(values[form.heard - form.recall :], agent)
    return "\n".join([text, *heard_lines(*heard)])


def _head(form: MatrixForm, agent: str, played: int, score: float) -> str:
    """Write who an agent is, and how far the game has got."""
    rounds = "" if form.rounds is None else f" of {form.rounds}"
    return f"You are {agent}. Rounds played: {played}{rounds}. Your score: {number(score)}."


@functools.lru_cache(maxsize=1024)
def _choice_line(form: MatrixForm, talk: int, coin: str | None) -> str:
    """Write what the agent has to do now."""
    text = f"Choose now: {form.words[0]} or {form.words[1]}."
    if talk:
        text = f"Talk now: you choose after {counted(talk, 'step')}."
    return f"\n{text}\nThe coin shows {coin}." if coin else f"\n{text}"


@functools.lru_cache(maxsize=8192)
def _counts(form: MatrixForm, played: int, cooperated: int, others: int) -> str:
    """Write how often all have cooperated."""
    rest = "the other" if form.two else "the others"
    text = f"{form.words[0]} {counted(cooperated, 'time')}, {rest} {counted(others, 'time')}"
    return f"\nYou chose {text}." if played else ""


def _past(form: MatrixForm, history: Sequence[Chosen], unread: Sequence[Chosen]) -> str:
    """Write what was chosen in the last rounds."""
    if not history:
        return ""
    text = "you and the other" if form.two else f"you, and how many others chose {form.words[0]}"
    rounds = zip(history, unread, strict=True)
    past = "; ".join(_round(*row, form.words, form.two) for row in rounds)
    return f"\nLast rounds, newest first ({text}): {past}."


def _reputation(form: MatrixForm, counts: Iterable[tuple[str, int]]) -> str:
    """Write how often each of the others has cooperated."""
    return "".join(
        f"\n{name} chose {form.words[0]} {counted(count, 'time')}." for name, count in counts
    )


def _round(chosen: Chosen, unread: Chosen, words: tuple[str, str], two: bool) -> str:
    """Write what was chosen in a round."""
    mine = _choice(chosen[0], unread[0], words)
    if two:
        return f"{mine}, {_choice(bool(chosen[1]), bool(unread[1]), words)}"
    return f"{mine}, {chosen[1]}{f' ({unread[1]} unreadable)' if unread[1] else ''}"


def _choice(cooperates: bool, unread: bool, words: tuple[str, str]) -> str:
    """Name a choice; one that could not be read counts as the second, unless noise turns it."""
    if unread:
        return f"unreadable as {words[0]}" if cooperates else "unreadable"
    return words[0 if cooperates else 1]


def payoffs_text(config: SocialDilemmaConfig) -> str:
    """Say what choices pay, for the prompt: from the side of the first agent."""
    words = config.words
    mine, theirs = form_of(config).tables(0)
    if not theirs:
        rows = [
            f"If you choose {name}, you get {_list([number(value) for value in row])}"
            for name, row in zip(words, mine, strict=True)
        ]
        counts = _list([str(count) for count in range(config.agents)])
        return f"{'. '.join(rows)}, when {counts} of the others choose {words[0]}."
    cells = [
        f"{words[own]}, {words[1 - others]}: {number(mine[own][others])}, "
        f"{number(theirs[own][others])}"
        for own, others in _PAIR
    ]
    first, second = config.names(config.fixed_envelope().agents)[:2]
    return f"What {first} and {second} choose, and what they get: {'; '.join(cells)}."


def _list(items: list[str]) -> str:
    """Write ``1, 2 or 3``."""
    return f"{', '.join(items[:-1])} or {items[-1]}"


# -- parsing ------------------------------------------------------------------------------

_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_HEAD = re.compile(
    rf"You are (\S+)\. Rounds played: (\d+)(?: of (\d+))?\. Your score: ({_NUMBER})\."
)
_TALK = re.compile(r"Talk now: you choose after (\d+) steps?\.")
_COIN = re.compile(r"The coin shows (heads|tails)\.")
_CHOOSE = re.compile(r"Choose now: (\w+) or (\w+)\.")
_SO_FAR = re.compile(r"You chose (\w+) (\d+) times?, the others? (\d+) times?\.")
_LAST = re.compile(r"Last rounds, newest first \(.+?\): (.+)\.")
_OTHERS = re.compile(r"(\d+)(?: \((\d+) unreadable\))?")
_RECALL = re.compile(r"(\S+) chose (\w+) (\d+) times?\.")


def parse(text: str, config: SocialDilemmaConfig) -> MatrixFacts:
    """Read a text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes; the message shows the line.
    """
    return _Reader(text, config).facts()


class _Reader(LineReader):
    """Reads the text of a matrix game."""

    def facts(self) -> MatrixFacts:
        """Read all lines."""
        config, form = self.config, form_of(self.config)
        head = self.need(_HEAD)
        agent, played = head.group(1), int(head.group(2))
        self.require(agent in self.names, f"agents are {', '.join(self.names)}")
        rounds = None if head.group(3) is None else int(head.group(3))
        self.require(rounds == config.known_rounds, "there is another number of rounds")
        self.require(played < 2**31, "nobody counts so far")
        talk = self.next(_TALK)
        steps = 0 if talk is None else int(talk.group(1))
        self.require(talk is None or 1 <= steps <= MAX_TALK, f"talk takes 1 to {MAX_TALK} steps")
        if talk is None:
            self.require(self.need(_CHOOSE).groups() == config.words, "choices are others")
        coin = self.next(_COIN)
        self.require(coin is None or config.coin, "there is no coin under this config")
        counts = 0, 0
        if played:
            so_far = self.need(_SO_FAR)
            self.require(so_far.group(1) == config.words[0], "the choice is another")
            counts = int(so_far.group(2)), int(so_far.group(3))
            self.require(max(counts) < 2**31, "nobody counts so far")
        payoffs, theirs = form.tables(min(self.names.index(agent), config.agents - 1))
        history, reputation = self.history(), self.reputation(agent)
        heard = self.heard(agent, form.channel)
        found = MatrixFacts(
            agent=agent,
            game=config.game,
            played=played,
            rounds=rounds,
            continuation=None if config.known_rounds else config.chance,
            noise=config.noise,
            talk=steps,
            payoffs=payoffs,
            their_payoffs=theirs,
            score=float(head.group(4)),
            cooperated=counts[0],
            others_cooperated=counts[1],
            history=tuple(chosen for chosen, _ in history),
            unread=tuple(unread for _, unread in history),
            reputation=reputation,
            messages=heard.messages,
            earlier=heard.earlier,
            coin=coin and coin.group(1),
            hint=self.hint(),
        )
        self.require_end()
        self.require(
            text_of(found, config) == "\n".join(self.lines),
            "it is not written as this world writes",
        )
        return found

    def history(self) -> list[tuple[tuple[bool, int], tuple[bool, int]]]:
        """Read what was chosen and what could not be read, newest first."""
        match = self.next(_LAST)
        rounds = match.group(1).split("; ") if match else []
        self.require(len(rounds) <= self.config.memory, f"memory is {self.config.memory}")
        found = []
        for entry in rounds:
            mine, _, rest = entry.partition(", ")
            chosen, unread = self.choice(mine)
            if self.config.agents == 2:
                other, lost = self.choice(rest)
                found.append(((chosen, int(other)), (unread, int(lost))))
                continue
            others = self.matched(_OTHERS, rest, "the others are counted")
            count, lost_count = int(others.group(1)), int(others.group(2) or 0)
            self.require(max(count, lost_count) < self.config.agents, "there are fewer others")
            found.append(((chosen, count), (unread, lost_count)))
        return found

    def choice(self, word: str) -> tuple[bool, bool]:
        """Read a choice: whether it counts as cooperating, and whether it could not be read."""
        words = self.config.words
        known = {_choice(c, u, words): (c, u) for c in (True, False) for u in (True, False)}
        self.require(word in known, f"choices are {', '.join(known)}")
        return known[word]

    def reputation(self, agent: str) -> tuple[tuple[str, int], ...]:
        """Read how often each of the others has cooperated."""
        found: list[tuple[str, int]] = []
        others = [name for name in self.names[: self.config.agents] if name != agent]
        while match := self.next(_RECALL):
            self.require(self.config.reputation, "nobody has a reputation under this config")
            due = others[len(found)] if len(found) < len(others) else "nobody"
            self.require(match.group(1) == due, f"this line is about {due}")
            self.require(int(match.group(3)) < 2**31, "nobody counts so far")
            found.append((match.group(1), int(match.group(3))))
        return tuple(found)


def longest_text(form: MatrixForm) -> int:
    """Return an upper bound for the length of a text."""
    envelope = form.envelope
    name = max(len(agent) for agent in form.names)
    past = 80 * envelope.memory + envelope.agents * (2 * name + 80)
    return 500 + past + HINT_TEXT + form.channel.text_length
