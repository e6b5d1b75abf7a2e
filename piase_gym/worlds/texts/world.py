"""What text worlds share: a state next to letters and random streams, and who is in play."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from piase_gym.core.additions import Addition
from piase_gym.core.commands import Command, Result, Verb
from piase_gym.core.digest import canonical_json
from piase_gym.core.facts import F
from piase_gym.core.mailbox import EVERYONE, Mailbox, charged
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.world import StepResult, World
from piase_gym.errors import ConfigError, SnapshotError
from piase_gym.worlds.channel.heard import new_mail
from piase_gym.worlds.channel.history import MessageHistory
from piase_gym.worlds.texts.config import TextConfig


class TextState(Protocol):
    """What the state of every text world contains: the status of each agent, and their order."""

    order: list[int]

    @property
    def status(self) -> Sequence[str]:
        """What each agent does: "playing" while in play, else how it ended or why it is absent."""


class AgentKnowledge(Protocol):
    """What one agent knows at one moment; its views are made from this on request."""

    def facts(self) -> Any:
        """Return the facts."""

    def text(self) -> str:
        """Return their prose."""


class KnownFacts(NamedTuple):
    """Facts that were made already; `write` makes their prose from them and from `rest`."""

    own: Any
    write: Callable[..., str]
    rest: tuple[Any, ...]

    def facts(self) -> Any:
        """Return the facts."""
        return self.own

    def text(self) -> str:
        """Return their prose."""
        return self.write(self.own, *self.rest)


C = TypeVar("C", bound=TextConfig)
S = TypeVar("S", bound=TextState)
G = TypeVar("G")


class TextWorld(World[C, F], Generic[C, F, S, G]):
    """A world in plain Python: a state of type `S`, and a `G` that never changes in an episode.

    Worlds begin an episode with `open_episode` and `take_up`; whatever else they keep follows from
    the state, so `get_state` and `set_state` need to be written only once, here.

    Attributes:
        stream_ids: The random streams that the world draws from in the course of an episode.
        state_key: The name of the state in a snapshot.
        state_adapter: The type adapter that checks a state that comes from outside.
        state_of: The state.
    """

    says_why = True
    max_message: ClassVar[int]
    """The longest message between agents, in characters."""
    stream_ids: ClassVar[tuple[StreamId, ...]] = (StreamId.CHANNEL,)
    state_key: ClassVar[str]
    state_adapter: ClassVar[TypeAdapter[Any]]
    state_of: S
    mailboxes: Mailbox
    _grammar: tuple[Verb, ...]
    _num_actions: int

    def _take(self, config: C) -> None:
        """Prepare what follows from a config, such as `_grammar`; `__init__` calls it too."""

    def take_config(self, config: C) -> None:
        """Take another config."""
        super().take_config(config)
        self._take(self.config)

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """The verbs."""
        return self._grammar

    @property
    def num_actions(self) -> int:
        """How many indices there are."""
        return self._num_actions

    @classmethod
    def additions_of(cls, config: C) -> tuple[type[Addition], ...]:
        """Return what a config adds to the views: first what agents have heard before."""
        return (MessageHistory,) * config.hears_again + super().additions_of(config)

    def hears(self, sender: str, recipient: str) -> bool:
        """Return whether the recipient hears the sender: it must be in play and may hear it."""
        one, other = self.agents.index(sender), self.agents.index(recipient)
        return self.state_of.status[other] == "playing" and self.config.hears(one, other)

    def less_messages(self, result: StepResult, sent: int, playing: Sequence[bool]) -> StepResult:
        """Return the result of a step with the cost of its messages subtracted from the rewards.

        Args:
            result: The result of the step.
            sent: How many messages were sent before the step.
            playing: Which agents were in play.
        """
        config = self.config
        speakers = self.mailboxes.senders(sent) if config.message_cost else []
        if not speakers:
            return result
        there = [agent for agent, plays in enumerate(playing) if plays]
        cost, shared = config.message_cost, config.shared_reward
        rewards = charged(result.rewards, speakers, there, cost, shared)
        return result._replace(rewards=rewards)

    def new_mail(self) -> Mailbox:
        """Return empty mailboxes."""
        return new_mail(self.config, self.agents, self.max_message, self.hears)

    def speak(self, agent: int, command: Command) -> None:
        """Send what an agent says, to one agent or to everybody."""
        to = command.parameters.get("agent_id", EVERYONE)
        self.mailboxes.send(self.agents[agent], to, str(command.parameters["message"]))

    def open_episode(self, seed: int) -> None:
        """Start the random streams of an episode, with empty mailboxes."""
        self.streams = {stream: Stream(seed, stream) for stream in self.stream_ids}
        self.mailboxes = self.new_mail()

    @abstractmethod
    def setting_of(self, state: S) -> G:
        """Return what never changes in the episode of a state.

        Raises:
            ValueError: If there is no such episode, or the state does not fit it.
        """

    @abstractmethod
    def take_up(self, setting: G, state: S) -> None:
        """Go on from a state; whatever else the world keeps is rebuilt from it."""

    @property
    def alive(self) -> Sequence[bool]:
        """Which agents are present and in play."""
        return [status == "playing" for status in self.state_of.status]

    def result(self, agent: int) -> Result:
        """Return how the episode ended for an agent."""
        status = self.state_of.status[agent]
        return Result(status) if status in list(Result) else Result.ENDED

    def finish(self, states: Any, who: NDArray[np.bool_], result: Result) -> None:
        """End the episode of some agents."""
        status: Any = self.state_of.status
        for agent in np.flatnonzero(who[0]).tolist():
            status[agent] = result.value

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents act in this order until it is changed."""
        self.state_of.order = list(order)

    # -- what agents know -----------------------------------------------------------------

    @abstractmethod
    def knowledge_of(self, agent: int) -> AgentKnowledge:
        """Return what an agent knows now; it does not change when the world goes on."""

    def facts(self, agent: int) -> F:
        """Return what the agent may know now."""
        facts: F = self.knowledge_of(agent).facts()
        return facts

    def capture(self) -> Sequence[Any]:
        """Return what each agent knows."""
        return [self.knowledge_of(agent) for agent in range(len(self.agents))]

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[np.float32]]:
        """Return the vector of every agent, in fresh memory."""
        return [self.vector(known.facts()) for known in (self.capture() if kept is None else kept)]

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return the function that writes texts from what `capture` returned."""
        return _write_text

    # -- the state is a value -------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return state, letters and streams."""
        return {
            self.state_key: asdict(self.state_of),  # type: ignore[call-overload]
            "mail": self.mailboxes.get_state(),
            "streams": [self.streams[stream].get_state() for stream in self.stream_ids],
        }

    def digest_state(self) -> Any:
        """Leave out the history of letters, which changes nothing."""
        return {**self.get_state(), "mail": self.mailboxes.digest_state()}

    def level_state(self) -> Any:
        """Leave out the seed that the state keeps, and the number that may stand for one."""
        state, hidden = super().level_state(), ("seed", "number")
        own = {key: part for key, part in state[self.state_key].items() if key not in hidden}
        return {**state, self.state_key: own}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        try:
            found: S = self.state_adapter.validate_json(canonical_json(state[self.state_key]))
            setting = self.setting_of(found)
            mail = self.new_mail()
            mail.set_state(state["mail"])
            streams = {stream: Stream(0, stream) for stream in self.stream_ids}
            for stream, value in zip(self.stream_ids, state["streams"], strict=True):
                streams[stream].set_state(value)
        except (
            KeyError,
            TypeError,
            ValueError,
            IndexError,
            AttributeError,
            ConfigError,
        ) as error:
            raise SnapshotError(f"{self.name}: the state does not fit: {error}") from None
        self.mailboxes, self.streams = mail, streams
        self.take_up(setting, found)


def _write_text(known: AgentKnowledge, _agent: int) -> str:
    return known.text()
