"""Words between explorers: ``say`` and ``tell``, in an ObjectSearch whose config has ``speech``.

Reports are made by the kernel, and batches have them. Words are not: they are letters of a
`Mailbox`, which the environment keeps beside the record, under the rules of reports (delay, loss,
range). A text has them after everything else, a line each; a vector has at its end, for at most as
many letters as there are agents, the sender's number from 1, whether it is to all, and 8 numbers of
hashed words.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.commands import MAX_LINE, Command, InvalidAction, Param, Verb
from piase_gym.core.digest import digest_json
from piase_gym.core.mailbox import EVERYONE, ChannelRules, Mailbox, Message
from piase_gym.core.rng import Stream
from piase_gym.core.text_encoding import HINT_CODE, hash_text
from piase_gym.core.world import Act, Manual, StepResult
from piase_gym.errors import SnapshotError, UnsupportedError
from piase_gym.worlds.object_search.facts import SearchFacts, Spoken
from piase_gym.worlds.object_search.observe.text import words_line
from piase_gym.worlds.object_search.state import WORDS
from piase_gym.worlds.object_search.world import ObjectSearch

LETTER_CODE = 2 + HINT_CODE
SPOKEN = ("say", "tell")


class Kept(NamedTuple):
    """What `World.capture` kept, and what an agent was told then."""

    own: Any
    letters: tuple[Spoken, ...]


@dataclass(frozen=True)
class SpokenTextWriter:
    """Writes the texts of a world, and after them what was said in words."""

    own: Callable[[Any, int], str]

    def __call__(self, kept: Kept, agent: int) -> str:
        """Write the text of the moment in which it was kept."""
        return "\n".join([self.own(kept.own, agent), *map(words_line, kept.letters)])


def apart(facts: SearchFacts) -> tuple[SearchFacts, tuple[Message, ...]]:
    """Return facts without what was said in words, and that."""
    letters = tuple(letter for letter in facts.messages if isinstance(letter, Spoken))
    reports = tuple(letter for letter in facts.messages if not isinstance(letter, Spoken))
    return replace(facts, messages=reports), letters


class Speaks(ObjectSearch):
    """An ObjectSearch whose agents also speak in words; `speaking` makes its classes."""

    mailboxes: Mailbox

    def begin(self, seed: int) -> None:
        """Start an episode with empty mailboxes."""
        self.mailboxes, self._luck = self._new_mail(), Stream(seed, WORDS)
        super().begin(seed)

    def _new_mail(self) -> Mailbox:
        """Return empty mailboxes, under the rules of reports."""
        config = self.config
        rules = ChannelRules(config.message_delay, MAX_LINE, config.message_loss)
        return Mailbox(self.agents, rules, self._hears)

    def _hears(self, sender: str, recipient: str) -> bool:
        """Tell whether an agent is in play and near enough to hear another."""
        one, other = self.agents.index(sender), self.agents.index(recipient)
        x, y = self.states["x"][0].tolist(), self.states["y"][0].tolist()
        far = max(abs(x[one] - x[other]), abs(y[one] - y[other]))
        reach = self.config.message_range
        return self.alive[other] and (reach is None or far <= reach)

    # -- commands -------------------------------------------------------------------------

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """The verbs of the world, and where there are several agents two to speak."""
        if len(self.agents) < 2:
            return super().grammar
        words = Param("message", "text", description="what to say")
        listener = Param("agent_id", choices=self.agents, description="name of an agent")
        say = Verb("say", "stay and speak to everyone else", (words,))
        return (
            *super().grammar,
            say,
            Verb("tell", "stay and speak to one agent", (listener, words)),
        )

    def legal(self, agent: int, command: Command) -> bool:
        """Tell whether a command is legal now: in play, all but to speak to oneself or nobody."""
        if command.verb == "tell":
            to = self.agents.index(command.parameters["agent_id"])
            return self.alive[agent] and to != agent and self.alive[to]
        return self.alive[agent] if command.verb == "say" else super().legal(agent, command)

    def step(self, acts: Sequence[Act]) -> StepResult:
        """Advance by one step; who speaks stays where it is."""
        if self.one["coded"][0]:  # `ArrayWorld` has decoded the acts of this very step
            return super().step(acts)
        alive, given, said = self.alive, list(acts), list[tuple[int, Command]]()
        for agent, act in enumerate(acts):
            if alive[agent] and isinstance(act, Command) and act.verb in SPOKEN:
                given[agent] = found = self.decode(agent, act)
                if isinstance(found, Command):
                    said.append((agent, found))
                    given[agent] = self.noop
        tick = super().step(given)
        for agent, command in said:
            to = command.parameters.get("agent_id", EVERYONE)
            self.mailboxes.send(self.agents[agent], to, command.parameters["message"])
        self.mailboxes.deliver(self._luck)
        outcomes = [
            act.outcome if isinstance(act, InvalidAction) else outcome
            for act, outcome in zip(given, tick.outcomes, strict=True)
        ]
        rewards = self._charge([agent for agent, _ in said], alive, list(tick.rewards))
        return tick._replace(outcomes=outcomes, rewards=rewards)

    def _charge(
        self, speakers: list[int], alive: Sequence[bool], rewards: list[float]
    ) -> list[float]:
        """Add what it costs to speak, which is what a report costs."""
        playing = [agent for agent, plays in enumerate(alive) if plays]
        for speaker in speakers:
            for payer in playing if self.config.shared_reward else [speaker]:
                share = len(playing) if self.config.shared_reward else 1
                rewards[payer] += self.config.rewards.message / share
        return rewards

    # -- views ----------------------------------------------------------------------------

    def _letters(self) -> list[tuple[Spoken, ...]]:
        """Return what each agent is told now."""
        told = self.mailboxes.delivered
        return [tuple(Spoken(*letter) for letter in told[name]) for name in self.agents]

    @property
    def vector_space(self) -> Box:
        """The world's own Box, longer by the letters."""
        own, more = super().vector_space, np.zeros(len(self.agents) * LETTER_CODE, np.uint8)
        low, high = np.concatenate([own.low, more]), np.concatenate([own.high, more + 255])
        return Box(low, high, dtype=np.uint8)

    def facts(self, agent: int) -> SearchFacts:
        """Return what the agent may know now."""
        facts = super().facts(agent)
        return replace(facts, messages=(*facts.messages, *self._letters()[agent]))

    def vector(self, facts: SearchFacts) -> NDArray[np.uint8]:
        """Return the vector of the facts."""
        rest, letters = apart(facts)
        return self._with_letters(super().vector(rest), letters)

    def _with_letters(
        self, own: NDArray[np.uint8], letters: Sequence[Message]
    ) -> NDArray[np.uint8]:
        """Return a vector with letters at its end."""
        code = np.zeros((len(self.agents), LETTER_CODE), np.uint8)
        for row, letter in zip(code, letters, strict=False):
            row[:2] = 1 + self.agents.index(letter.sender), letter.recipient == EVERYONE
            row[2:] = hash_text(letter.message)
        return np.concatenate([own, code.ravel()])

    def capture(self) -> Sequence[Any]:
        """Keep what the world keeps, and what agents are told."""
        return [Kept(*pair) for pair in zip(super().capture(), self._letters(), strict=True)]

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        """Return the vector of every agent."""
        kept = self.capture() if kept is None else kept
        rows = super().vectors([entry.own for entry in kept])
        return [
            self._with_letters(own, entry.letters) for own, entry in zip(rows, kept, strict=True)
        ]

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return what writes texts of what `capture` returned."""
        return SpokenTextWriter(super().text_writer())

    @property
    def manual(self) -> Manual:
        """The words of the prompt, with a sentence about speaking."""
        own = super().manual
        told = "You can also stay and say something in words, under the same rules as reports."
        return replace(own, rules=f"{own.rules} {told}") if len(self.agents) > 1 else own

    # -- the state is a value -------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return the state of the world, with letters and luck."""
        mail = {"mail": self.mailboxes.get_state(), "luck": self._luck.get_state()}
        return {**super().get_state(), **mail}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `get_state` returned."""
        mail, luck = self._new_mail(), Stream(0, WORDS)
        try:
            mail.set_state(state["mail"])
            luck.set_state(state["luck"])
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotError(f"{self.name}: the letters do not fit: {error}") from None
        super().set_state(state)
        self.mailboxes, self._luck = mail, luck

    def digest(self) -> str:
        """Hash letters and luck with the rest."""
        return digest_json(
            [super().digest(), self.mailboxes.digest_state(), self._luck.get_state()]
        )

    def new_batch(self, count: int, configs: Sequence[Any]) -> Any:
        """Say that kernels know no words."""
        raise UnsupportedError(
            "ObjectSearch: batches have reports, but no words; use parallel_env, or speech=False"
        )


@functools.cache
def speaking(kind: type[ObjectSearch]) -> type[ObjectSearch]:
    """Return a class of worlds whose agents also speak in words."""

    def to_text(facts: SearchFacts, config: Any) -> str:
        rest, letters = apart(facts)
        return "\n".join([kind.to_text(rest, config), *map(words_line, letters)])

    members: dict[str, Any] = {
        "to_text": staticmethod(to_text),
        "capabilities": replace(kind.capabilities, batched=False, messages=True),
        "made_of": kind,
    }
    members |= {name: getattr(kind, name) for name in ("__doc__", "__module__", "__qualname__")}
    return type(kind.__name__, (Speaks, kind), members)
