"""Words between agents of array worlds: ``say`` and ``tell``, where the config has ``speech``.

Words are letters of a `Mailbox`, which the environment keeps next to the record, so batches do not
have them. An agent that speaks does nothing else in that step. A text has a line for each letter; a
vector has at its end, for at most as many letters as there are agents, the sender's number from 1
on, whether the letter is to all, and 8 numbers of hashed words. With ``message_history`` the last
letters of each agent follow, as `heard.code_of_earlier` encodes them.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.commands import Command, InvalidAction, Verb
from piase_gym.core.digest import digest_json
from piase_gym.core.mailbox import EVERYONE, Mailbox, charged
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.text_encoding import HINT_CODE, hash_text
from piase_gym.core.world import Act, Facts, Manual, StepResult
from piase_gym.errors import SnapshotError, UnsupportedError
from piase_gym.worlds.array_world import ArrayWorld
from piase_gym.worlds.channel.config import SPOKEN, speaking_verbs
from piase_gym.worlds.channel.heard import (
    EARLIER_CODE,
    Heard,
    code_of_earlier,
    heard_before,
    heard_lines,
    new_mail,
)
from piase_gym.worlds.channel.manual import channel_conditions

LETTER_CODE = 2 + HINT_CODE
LONGEST = 200
"""The longest message in words, in characters; the rest is cut off."""
_HINT = "\nHint: "


class CapturedAgent(NamedTuple):
    """What `World.capture` kept of an agent, and what the agent was told at that moment."""

    own: Any
    heard: Heard


def with_words(text: str, heard: Heard) -> str:
    """Return a text with what was said in words, before its hint."""
    text, mark, hint = text.partition(_HINT)
    return "\n".join([text, *heard_lines(heard.messages, heard.earlier)]) + mark + hint


@dataclass(frozen=True)
class SpokenTextWriter:
    """Writes the texts of a world together with what was said in words."""

    own: Callable[[Any, int], str]
    with_words: Callable[[str, Heard], str]

    def __call__(self, kept: CapturedAgent, agent: int) -> str:
        """Write the text of the moment that was captured."""
        return self.with_words(self.own(kept.own, agent), kept.heard)


class SpeakingWorld(ArrayWorld[Any, Any]):
    """An array world whose agents also speak in words; `speaking` makes its classes."""

    mailboxes: Mailbox
    words_stream: ClassVar[int] = StreamId.CHANNEL
    longest_message: ClassVar[int] = LONGEST

    def __init__(self, config: Any) -> None:
        """Make room for words in texts, in which characters outside of `CHARSET` take up to ten."""
        super().__init__(config)
        line = 60 + max(map(len, self.agents)) + 10 * self.longest_message
        self.text_length += len(self.agents) * (1 + self._history_length) * line

    def begin(self, seed: int) -> None:
        """Start an episode with empty mailboxes."""
        self.mailboxes, self._luck = self._new_mail(), Stream(seed, self.words_stream)
        super().begin(seed)

    def _new_mail(self) -> Mailbox:
        """Return empty mailboxes, under the rules of the channel."""
        return new_mail(self.config, self.agents, self.longest_message, self._hears)

    def _hears(self, sender: str, recipient: str) -> bool:
        """Return whether the recipient is in play, may hear the sender, and is near enough."""
        one, other = self.agents.index(sender), self.agents.index(recipient)
        if not self._playing[other] or not self.config.hears(one, other):
            return False
        here, there = self.heard_at(one), self.heard_at(other)
        return here is None or bool(self.config.reaches(here, there))

    @property
    def _playing(self) -> Sequence[bool]:
        """Which agents take part in this step: those in play before or after it."""
        return [bool(event) for event in self._event_view]

    # -- commands -------------------------------------------------------------------------

    def make_grammar(self) -> tuple[Verb, ...]:
        """Return the verbs of the world and, if there are several agents, two for speaking."""
        own: Any = super()
        verbs: tuple[Verb, ...] = own.make_grammar()
        if len(self.agents) < 2:
            return verbs
        meanings = "stay and speak to everyone else", "stay and speak to one agent"
        return (*verbs, *speaking_verbs(self.agents, *meanings))

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether a command is legal now; speaking to oneself or to nobody never is."""
        if command.verb not in SPOKEN:
            return super().legal(agent, command)
        if not self.alive[agent] or not self.may_speak:
            return False
        to = command.parameters.get("agent_id")
        return to is None or (to != self.agents[agent] and self.alive[self.agents.index(to)])

    @property
    def may_speak(self) -> bool:
        """Whether agents may speak now; in most worlds they always may."""
        return True

    def step(self, acts: Sequence[Act]) -> StepResult:
        """Advance by one step; an agent that speaks stays where it is."""
        if self.one["coded"][0]:  # `ArrayWorld` has decoded the acts of this very step
            return super().step(acts)
        alive, given, said = self.alive, list(acts), list[tuple[int, Command]]()
        sent = self.mailboxes.sent_before()
        spoken: dict[int, Act] = {}
        for agent, act in enumerate(acts):
            if alive[agent] and isinstance(act, Command) and act.verb in SPOKEN:
                given[agent] = found = self.decode(agent, act)
                spoken[agent] = self._understood(agent, act, found)
                if isinstance(found, Command):
                    said.append((agent, found))
                    given[agent] = self.noop
        step_result = super().step(given)
        for agent, command in said:
            to = command.parameters.get("agent_id", EVERYONE)
            self.mailboxes.send(self.agents[agent], to, command.parameters["message"])
        self.mailboxes.deliver(self._luck)
        outcomes = [
            act.outcome if isinstance(act, InvalidAction) else outcome
            for act, outcome in zip(given, step_result.outcomes, strict=True)
        ]
        playing = [agent for agent, plays in enumerate(alive) if plays]
        speakers, shared = self.mailboxes.senders(sent), self.config.shared_reward
        rewards = charged(step_result.rewards, speakers, playing, self.cost_of_words, shared)
        result = step_result._replace(outcomes=outcomes, rewards=rewards)
        if spoken and isinstance(self._last, tuple):
            done = [*self._last[0]]
            for agent, understood in spoken.items():
                done[agent] = understood
            self._last = done, result
        return result

    @property
    def cost_of_words(self) -> float:
        """What it costs to speak once."""
        return float(self.config.message_cost)

    # -- views ----------------------------------------------------------------------------

    def _letters_heard(self) -> list[Heard]:
        """Return what each agent is told now: what it hears, and what it has heard before."""
        mail = self.mailboxes
        return [Heard(tuple(mail.delivered[n]), heard_before(mail, n)) for n in self.agents]

    @property
    def _history_length(self) -> int:
        """How many of the last letters of each agent have a place in vectors."""
        sizes: Any = self.config.fixed_envelope()
        return int(getattr(sizes, "message_history", 0))

    @property
    def vector_space(self) -> Box:
        """The world's own Box, extended by the letters."""
        world: Any = super()
        own: Box = world.vector_space
        code = LETTER_CODE + EARLIER_CODE * self._history_length
        more = np.zeros(len(self.agents) * code, own.low.dtype)
        low, high = np.concatenate([own.low, more]), np.concatenate([own.high, more + 255])
        return Box(low, high, dtype=self.vector_type)

    def facts(self, agent: int) -> Any:
        """Return what the agent may know now."""
        world: Any = super()
        facts, heard = world.facts(agent), self._letters_heard()[agent]
        before = {"earlier": heard.earlier} if heard.earlier else {}
        return replace(facts, messages=(*facts.messages, *heard.messages), **before)

    @staticmethod
    def apart(facts: Any) -> tuple[Any, Heard]:
        """Return facts without what was said in words, and what was said."""
        return replace(facts, messages=(), earlier=()), Heard(facts.messages, facts.earlier)

    def vector(self, facts: Facts) -> NDArray[Any]:
        """Return the vector of the facts."""
        world: Any = super()
        rest, heard = self.apart(facts)
        return self._with_letters(world.vector(rest), heard)

    def _with_letters(self, own: NDArray[Any], heard: Heard) -> NDArray[Any]:
        """Return a vector with letters at its end."""
        code = np.zeros((len(self.agents), LETTER_CODE), own.dtype)
        for row, letter in zip(code, heard.messages, strict=False):
            row[:2] = 1 + self.agents.index(letter.sender), letter.recipient == EVERYONE
            row[2:] = hash_text(letter.message)
        before = code_of_earlier(heard.earlier, self.agents, self._history_length)
        return np.concatenate([own, code.ravel(), before.astype(own.dtype)])

    def capture(self) -> Sequence[Any]:
        """Capture what the world captures, and what agents are told."""
        return [
            CapturedAgent(*pair)
            for pair in zip(super().capture(), self._letters_heard(), strict=True)
        ]

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        """Return the vector of every agent."""
        kept = self.capture() if kept is None else kept
        rows = super().vectors([entry.own for entry in kept])
        return [self._with_letters(own, entry.heard) for own, entry in zip(rows, kept, strict=True)]

    @staticmethod
    def with_words(text: str, heard: Heard) -> str:
        """Return a text with what was said in words."""
        return with_words(text, heard)

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return the function that writes texts from what `capture` returned."""
        return SpokenTextWriter(super().text_writer(), type(self).with_words)

    def words_told(self) -> str:
        """Return what the prompt says about speaking."""
        rules = self.config.model_copy(update={"message_cost": self.cost_of_words})
        return " ".join(
            [
                "You can also stay and say something in words, to all others or to one.",
                *channel_conditions(rules),
            ]
        )

    @property
    def manual(self) -> Manual:
        """The words of the prompt, with a sentence about speaking."""
        world: Any = super()
        own: Manual = world.manual
        return replace(own, rules=f"{own.rules} {self.words_told()}") if self.agents[1:] else own

    # -- the state is a value -------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return the state of the world, with letters and their random stream."""
        mail = {"mail": self.mailboxes.get_state(), "luck": self._luck.get_state()}
        return {**super().get_state(), **mail}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        mail, luck = self._new_mail(), Stream(0, self.words_stream)
        try:
            mail.set_state(state["mail"])
            luck.set_state(state["luck"])
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotError(f"{self.name}: the letters do not fit: {error}") from None
        super().set_state(state)
        self.mailboxes, self._luck = mail, luck

    def digest(self) -> str:
        """Hash letters and their random stream with the rest."""
        return digest_json(
            [super().digest(), self.mailboxes.digest_state(), self._luck.get_state()]
        )

    def new_batch(self, count: int, configs: Sequence[Any]) -> Any:
        """Raise an error, because kernels know no words."""
        raise UnsupportedError(
            f"{self.name}: batches have {self.wordless}, but no words; use parallel_env, or "
            "speech=False"
        )

    wordless: ClassVar[str] = "symbols"


@functools.cache
def speaking(kind: type[Any], speaks: type[SpeakingWorld] = SpeakingWorld) -> type[Any]:
    """Return a class of worlds whose agents also speak in words.

    Args:
        kind: The class of the world.
        speaks: How its agents speak.
    """

    def to_text(facts: Any, config: Any) -> str:
        rest, heard = speaks.apart(facts)
        return speaks.with_words(kind.to_text(rest, config), heard)

    def facts(self: Any, agent: int) -> Any:
        """Return what the agent may know now."""
        return speaks.facts(self, agent)

    facts.__annotations__ = typing.get_type_hints(kind.facts)  # perceptions are described by it
    members: dict[str, Any] = {
        "facts": facts,
        "to_text": staticmethod(to_text),
        "capabilities": replace(kind.capabilities, batched=False, messages=True),
        "made_of": kind,
    }
    members |= {name: getattr(kind, name) for name in ("__doc__", "__module__", "__qualname__")}
    return type(kind.__name__, (speaks, kind), members)
