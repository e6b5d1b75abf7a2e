"""The prose of the matrix games, written from facts and read back into them. Pure functions."""

from __future__ import annotations

import re
from typing import Any

from piase_gym.core.world import HINT_TEXT
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.constants import MAX_ROUNDS, MAX_TALK
from piase_gym.worlds.social_dilemma.games import GAMES_BY_NAME, MAX_PAYOFF
from piase_gym.worlds.social_dilemma.line_reader import LineReader, times
from piase_gym.worlds.social_dilemma.matrix.facts import MatrixFacts, MatrixForm, Table, facts_of
from piase_gym.worlds.texts.letters import closing_lines

ACTS = ("cooperate", "defect")
DEEDS = {True: "cooperated", False: "defected"}
_PAIR = tuple((choice, others) for choice in (0, 1) for others in (1, 0))
"""The cases of a game of two in the order of the text: (own choice, whether the other does)."""


def number(value: float) -> str:
    """Write a number without a needless ``.0``."""
    return repr(value).removesuffix(".0")


def text_of(facts: MatrixFacts) -> str:
    """Write the facts as prose, each of them once."""
    words = GAMES_BY_NAME[facts.game]
    lines = [
        f"You are {facts.agent} in {words.title}{_length(facts)}",
        f"To cooperate is to {words.cooperate}, to defect is to {words.defect}.",
        *_payoff_lines(facts),
    ]
    if facts.noise:
        lines.append(f"A choice turns into the other one with a chance of {facts.noise!r}.")
    if facts.talk:
        lines.append(f"This is a time to talk: choices count after {times(facts.talk, 'step')}.")
    others = "the other" if facts.their_payoffs else "the others"
    lines.append(
        f"So far your score is {number(facts.score)}; you cooperated "
        f"{times(facts.cooperated)}, {others} {times(facts.others_cooperated)}."
    )
    lines += [_history_line(facts, ago) for ago in range(1, len(facts.history) + 1)]
    lines += [f"{name} has cooperated {times(count)}." for name, count in facts.reputation]
    return "\n".join([*lines, *closing_lines(facts)])


def _length(facts: MatrixFacts) -> str:
    """Say how far the game has got."""
    if facts.rounds is not None:
        return f", after {facts.played} of {times(facts.rounds, 'round')}."
    return (
        f", after {times(facts.played, 'round')}; each is followed by another with a chance of "
        f"{facts.continuation!r}."
    )


def _payoff_lines(facts: MatrixFacts) -> list[str]:
    """Explain what choices pay."""
    if facts.their_payoffs:
        return [
            f"If {_case(choice, others)}, you get {number(facts.payoffs[choice][others])} and the "
            f"other gets {number(facts.their_payoffs[choice][others])}."
            for choice, others in _PAIR
        ]
    counts = _list([str(count) for count in range(len(facts.payoffs[0]))])
    return [
        f"If you {act}, you get {_list(list(map(number, row)))} when {counts} of the others "
        f"cooperate."
        for act, row in zip(ACTS, facts.payoffs, strict=True)
    ]


def _case(choice: int, others: int) -> str:
    """Name what two players choose."""
    theirs = 0 if others else 1
    if choice == theirs:
        return f"both {ACTS[choice]}"
    return f"you {ACTS[choice]} and the other {ACTS[theirs]}s"


def _list(items: list[str]) -> str:
    """Write ``1, 2 or 3``."""
    return f"{', '.join(items[:-1])} or {items[-1]}"


def _history_line(facts: MatrixFacts, ago: int) -> str:
    """Tell what was chosen some rounds ago."""
    mine, others = facts.history[ago - 1]
    rest = (
        f"the other {DEEDS[others == 1]}"
        if facts.their_payoffs
        else f"{others} of the others cooperated"
    )
    return f"{times(ago, 'round')} ago you {DEEDS[mine]} and {rest}."


# -- parsing ------------------------------------------------------------------------------

_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_TITLES = {words.title: game for game, words in GAMES_BY_NAME.items()}
_HEAD = re.compile(
    rf"You are (\S+) in (.+), after (\d+)(?: of (\d+) rounds?\.| rounds?; each is followed by "
    rf"another with a chance of ({_NUMBER})\.)"
)
_PAID = re.compile(rf"If (.+), you get ({_NUMBER}) and the other gets ({_NUMBER})\.")
_MANY = re.compile(r"If you (\w+), you get (.+) when (.+) of the others cooperate\.")
_NOISE = re.compile(rf"A choice turns into the other one with a chance of ({_NUMBER})\.")
_TALK = re.compile(r"This is a time to talk: choices count after (\d+) steps?\.")
_SO_FAR = re.compile(
    rf"So far your score is ({_NUMBER}); you cooperated (\d+) times?, the others? (\d+) times?\."
)
_AGO = re.compile(
    r"(\d+) rounds? ago you (\w+) and (?:the other (\w+)|(\d+) of the others cooperated)\."
)
_RECALL = re.compile(r"(\S+) has cooperated (\d+) times?\.")


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
        agent, game, played, rounds, goes_on = self.head()
        words = GAMES_BY_NAME[game]
        self.need(
            re.compile(
                re.escape(f"To cooperate is to {words.cooperate}, to defect is to {words.defect}.")
            )
        )
        mine, theirs = self.payoffs()
        noise = self.next(_NOISE)
        chance = 0.0 if noise is None else float(noise.group(1))
        self.require(noise is None or 0.0 < chance <= 0.5, "chances are above 0, at most 0.5")
        talk = self.next(_TALK)
        steps = 0 if talk is None else int(talk.group(1))
        self.require(talk is None or 1 <= steps <= MAX_TALK, f"talk takes 1 to {MAX_TALK} steps")
        so_far = self.need(_SO_FAR)
        counts = int(so_far.group(2)), int(so_far.group(3))
        self.require(max(counts) < 2**31, "nobody counts so far")
        found = MatrixFacts(
            agent=agent,
            game=game,
            played=played,
            rounds=rounds,
            continuation=goes_on,
            noise=chance,
            talk=steps,
            payoffs=mine,
            their_payoffs=theirs,
            score=float(so_far.group(1)),
            cooperated=counts[0],
            others_cooperated=counts[1],
            history=self.history(len(mine[0]) - 1),
            reputation=self.reputation(agent),
            messages=self.messages(agent),
            hint=self.hint(),
        )
        self.require_end()
        return found

    def head(self) -> tuple[str, str, int, int | None, float | None]:
        """Read who plays what, and how far the game has got."""
        match = self.need(_HEAD)
        agent, title, played, rounds, chance = match.groups()
        self.require(agent in self.names, f"agents are {', '.join(self.names)}")
        self.require(title in _TITLES, f"games are {', '.join(_TITLES)}")
        self.require(int(played) < 2**31, "nobody counts so far")
        if rounds is not None:
            self.require(1 <= int(rounds) <= MAX_ROUNDS, f"there are 1 to {MAX_ROUNDS} rounds")
            return agent, _TITLES[title], int(played), int(rounds), None
        self.require(0.0 <= float(chance) < 1.0, "chances are from 0 to 1")
        return agent, _TITLES[title], int(played), None, float(chance)

    def payoffs(self) -> tuple[Table, Table | tuple[()]]:
        """Read the table of payoffs."""
        if self.config.agents == 2:
            return self.pair()
        rows = []
        for act in ACTS:
            match = self.need(_MANY)
            self.require(match.group(1) == act, f"this line is about {act}")
            row, counts = (part.replace(" or ", ", ").split(", ") for part in match.groups()[1:])
            good = len(row) == self.config.agents
            self.require(good, f"there are {self.config.agents} payoffs")
            wanted = [str(count) for count in range(len(row))]
            self.require(counts == wanted, "the others are counted from 0")
            self.require(match.group(2) == _list(row), "payoffs stand in a list")
            rows.append(tuple(self.paid(value) for value in row))
        return (rows[0], rows[1]), ()

    def pair(self) -> tuple[Table, Table]:
        """Read the payoffs of two."""
        mine, theirs = [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]
        for choice, others in _PAIR:
            match = self.need(_PAID)
            case = _case(choice, others)
            self.require(match.group(1) == case, f"this line is about what follows if {case}")
            mine[choice][others] = self.paid(match.group(2))
            theirs[choice][others] = self.paid(match.group(3))
        first, second = map(tuple, mine)
        third, fourth = map(tuple, theirs)
        return (first, second), (third, fourth)

    def paid(self, word: str) -> float:
        """Read one payoff."""
        self.require(re.fullmatch(_NUMBER, word) is not None, f"{word!r} is no number")
        self.require(abs(float(word)) <= MAX_PAYOFF, f"payoffs are at most {MAX_PAYOFF:g}")
        return float(word)

    def history(self, others: int) -> tuple[tuple[bool, int], ...]:
        """Read what was chosen, newest first."""
        found: list[tuple[bool, int]] = []
        while match := self.next(_AGO):
            ago, mine, other, count = match.groups()
            self.require(int(ago) == len(found) + 1, f"this is {len(found) + 1} rounds ago")
            self.require(len(found) < self.config.memory, f"memory is {self.config.memory}")
            self.require({mine, other} <= {*DEEDS.values(), None}, "one cooperated or defected")
            self.require((other is None) == (others > 1), "there is another number of others")
            cooperating = int(other == DEEDS[True]) if count is None else int(count)
            self.require(cooperating <= others, f"there are {others} others")
            found.append((mine == DEEDS[True], cooperating))
        return tuple(found)

    def reputation(self, agent: str) -> tuple[tuple[str, int], ...]:
        """Read how often each of the others has cooperated."""
        found: list[tuple[str, int]] = []
        others = [name for name in self.names[: self.config.agents] if name != agent]
        while match := self.next(_RECALL):
            self.require(self.config.reputation, "nobody has a reputation under this config")
            due = others[len(found)] if len(found) < len(others) else "nobody"
            self.require(match.group(1) == due, f"this line is about {due}")
            self.require(int(match.group(2)) < 2**31, "nobody counts so far")
            found.append((match.group(1), int(match.group(2))))
        return tuple(found)


def write_kept(form: MatrixForm, kept: Any, agent: int) -> str:
    """Write the text of the moment in which (vector, score, hint) were kept."""
    vector, score, hint = kept
    return text_of(facts_of(vector, agent, score, form, hint))


def longest_text(form: MatrixForm) -> int:
    """Return an upper bound for the length of a text."""
    envelope = form.envelope
    name = max(len(agent) for agent in form.names)
    table = 800 + 4 * 30 * envelope.agents
    return table + 80 * envelope.memory + envelope.agents * (2 * name + 80) + HINT_TEXT
