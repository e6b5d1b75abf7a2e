"""The agent protocol: perceive, act, learn; identity, configuration, and state as a value.

Both names of the PiaSE documents work: `receive_perception` is `perceive` and `get_chosen_action`
is `act`. An agent draws random numbers only from what `reset` gives it, so that an episode's
effective seed fixes its partners too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import MAX_LINE, Command, InvalidAction, Outcome
from piase_gym.core.mailbox import Message
from piase_gym.core.world import Facts, World
from piase_gym.errors import ConfigError, UnsupportedError

Action = int | str | Command | InvalidAction | NDArray[Any]
"""An agent's answer: an index, a line of text, a command, an array, or why there is no action."""


class Percept:
    """What one agent can perceive in one step; each part is computed when it is read.

    A percept is valid until the environment's next step. It holds the world, but an honest policy
    reads only what is offered here; `world` is for oracles.

    Attributes:
        world: The world, whole state included.
        index: The agent's number in it.
        step: Steps done in this episode.

    Example:
        >>> import piase_gym
        >>> env = piase_gym.parallel_env("GridWorld", start_pos=(0, 0), goal_pos=(1, 0))
        >>> _ = env.reset(seed=0)
        >>> percept = Percept(env.world, 0, step=0)
        >>> percept
        <Percept of agent_0 in GridWorld, step 0: facts, vector, text, mask, commands, instructions>
        >>> percept.facts.position, percept.vector.shape, percept.mask.tolist()
        ((0, 0), (65,), [1, 1, 1, 1, 1, 0])
    """

    __slots__ = ("index", "step", "world")

    def __init__(self, world: World[Any, Any], index: int, step: int) -> None:
        """Represent agent number `index` of `world` in step `step`."""
        self.world = world
        self.index = index
        self.step = step

    def __repr__(self) -> str:
        """Name the agent, the world, the step, and the parts that can be read."""
        where = f"of {self.agent} in {self.world.name}, step {self.step}"
        return f"<{type(self).__name__} {where}: {', '.join(self._part_names())}>"

    def _part_names(self) -> tuple[str, ...]:
        """Return the names of the parts that can be read."""
        masks = ("mask",) if self.world.capabilities.discrete else ()
        return ("facts", "vector", "text", *masks, "commands", "instructions")

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self.world.agents[self.index]

    @property
    def facts(self) -> Facts:
        """What the agent may know, as a typed record."""
        facts: Facts = self.world.facts(self.index)
        return facts

    @property
    def vector(self) -> NDArray[Any]:
        """The vector view, a fresh array."""
        return self.world.vectors()[self.index]

    @property
    def text(self) -> str:
        """What the agent reads: what its last command did, then the canonical text."""
        return self.world.observation_text(self.index)

    @property
    def mask(self) -> NDArray[np.int8]:
        """The mask over the discrete actions, a fresh array."""
        return self.world.masks()[self.index]

    @property
    def commands(self) -> list[Command]:
        """The legal commands."""
        return self.world.admissible(self.index)

    @property
    def instructions(self) -> str:
        """The prompt of the world for this agent."""
        return self.world.instructions(self.index)

    @property
    def letters(self) -> Sequence[Message]:
        """The messages that the agent has received."""
        return self.facts.messages

    @property
    def can_tell(self) -> bool:
        """Whether the agent can send others a message in addition to its command."""
        return self.world.carries_words and len(self.world.agents) > 1

    @property
    def may_tell(self) -> bool:
        """Whether such a message is sent now; see `World.may_say`."""
        return self.can_tell and self.world.may_say(self.index)

    @property
    def longest_letter(self) -> int:
        """How many characters are sent of a message in addition to its command."""
        boxes = self.world.mailboxes
        return min(MAX_LINE, boxes.rules.max_length) if boxes is not None else 0

    @property
    def memories(self) -> Sequence[str] | None:
        """The memories retrieved for the agent; ``None`` if it has no memory. See the explorer."""
        return None

    def read(self, command: str | Command) -> Command | InvalidAction:
        """Return the command that a line of text stands for, or check a given `Command`."""
        if isinstance(command, str):
            return self.world.read(self.index, command)
        return self.world.check(self.index, command)

    def write(self, command: Command) -> str:
        """Return the line of text that stands for a command."""
        return self.world.write(command)

    def reads(self, line: str) -> bool:
        """Return whether a line is a command."""
        return isinstance(self.read(line), Command)

    def legal(self, line: str) -> bool:
        """Return whether a line is a command that is legal now."""
        command = self.read(line)
        return isinstance(command, Command) and self.world.legal(self.index, command)


@dataclass(frozen=True, slots=True)
class BatchPercept:
    """What one seat perceives in many environments at once.

    Attributes:
        vectors: Shape (envs, length).
        masks: Shape (envs, actions), int8.
        seeds: Each environment's seed for this seat, uint64, as `Agent.reset` gets it.
        steps: Steps done in each environment's episode.
        noop: The index of the command that does nothing, if the batch provides it.
    """

    vectors: NDArray[Any]
    masks: NDArray[np.int8]
    seeds: NDArray[np.uint64]
    steps: NDArray[np.int64]
    noop: int | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """What followed from an agent's last action."""

    reward: float
    terminated: bool
    truncated: bool
    outcome: Outcome


def require_distinct(agents: Iterable[object]) -> None:
    """Check that no `Agent` among those who play is there twice: it has one view and one memory.

    Raises:
        ConfigError: If one is.
    """
    known = [id(agent) for agent in agents if isinstance(agent, Agent)]
    if len({*known}) < len(known):
        raise ConfigError("one agent object cannot play several seats; give one for each")


def ask(agents: Sequence[Agent]) -> list[Action]:
    """Let agents that have perceived choose; those that wait do so at the same time."""
    if len(agents) > 1:
        for agent in agents:
            agent.begin_act()
    return [agent.get_chosen_action() for agent in agents]


def act_all(env: Any, agents: Mapping[str, Agent], step: int) -> dict[str, Action]:
    """Let those in play perceive and choose, after `step` steps of an episode; return actions."""
    for name in env.agents:
        agents[name].perceive(Percept(env.world, env.world.agents.index(name), step))
    return dict(zip(env.agents, ask([agents[name] for name in env.agents]), strict=True))


class Agent(ABC):
    """Base class of all agents; only `act` must be written.

    Attributes:
        waits: Whether it spends its time waiting for something outside, such as a model; then many
            episodes are played at once.
        of_scenario: Whether a scenario brings it along, so that nobody has chosen it.
        made_as: The name by which it was made, if that is one of a family, such as ``ppo:PATH``.
    """

    waits = False
    of_scenario = False
    made_as: str | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Leave out an inherited `act_batch` that is about another `act` than the class has."""
        super().__init_subclass__(**options)
        own = next(base for base in cls.__mro__ if "act" in vars(base) or "act_batch" in vars(base))
        if "act_batch" not in vars(own) and cls.act_batch is not Agent.act_batch:
            cls.act_batch = Agent.act_batch  # type: ignore[method-assign]

    def __init__(self, agent_id: str = "agent_0") -> None:
        """Name the agent; the environment that it joins renames it."""
        self._id = agent_id
        self.percept: Percept | None = None

    def set_id(self, agent_id: str) -> None:
        """Take the name of a seat in an environment."""
        self._id = agent_id

    def get_id(self) -> str:
        """Return the name."""
        return self._id

    def reset(self, seed: int) -> None:
        """Begin an episode; every random choice in it must follow from `seed` (64 bits)."""

    def perceive(self, percept: Any) -> None:
        """Take in a `Percept` (or, through the document interfaces, a `PerceptionData`)."""
        self.percept = percept

    def receive_perception(self, percept: Any) -> None:
        """The PiaSE design document's name for `perceive`."""
        self.perceive(percept)

    def begin_act(self) -> None:
        """Begin to choose; `act` waits for the choice.

        It is called when several agents are asked, so that those that wait for something outside do
        so at the same time.
        """

    @abstractmethod
    def act(self) -> Action:
        """Choose an action for the last percept."""

    def get_chosen_action(self) -> Action:
        """The PiaSE design document's name for `act`."""
        return self.act()

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Choose an index for each of many environments, equal to what `act` would choose.

        Raises:
            UnsupportedError: If the agent can only act in one environment at a time.
        """
        raise UnsupportedError(f"{type(self).__name__} cannot act in a batch")

    @property
    def acts_in_batches(self) -> bool:
        """Whether there is an `act_batch`."""
        return type(self).act_batch is not Agent.act_batch

    def learn(self, feedback: Feedback) -> None:
        """Take in what followed from the last action."""

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take settings, such as a curriculum's `agent_config_overrides`."""

    def internal_state(self) -> dict[str, Any] | None:
        """Return what the agent shows of its inner state after it has acted, for logs.

        For example ``{"mood": 0.3, "plan": "fetch the key"}``; ``None`` shows nothing.
        """
        return None

    def follow_act(self, act: Any) -> None:
        """Take note of what was done after the last percept, in a step that is played once more.

        By default the agent chooses, so that its memory is as if it had acted, and the choice is
        discarded.

        Args:
            act: What was done: an index, a command, or why there was none.
        """
        self.act()

    def outgoing_letters(self) -> Sequence[str]:
        """Return and forget the messages to all others that go with the agent's action."""
        return ()

    def spoken(self) -> Sequence[Sequence[str]]:
        """Return and forget what it says to others, in worlds where speaking is not a command.

        Each entry is the other agent's name and the words, which that agent is shown as a hint.
        """
        return ()

    def log_entries(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return and forget the agent's lines for logs: event types and their data."""
        return ()

    def policy_id(self) -> str | None:
        """Return the name of the policy, for agents that know it."""
        return self.made_as

    def get_state(self) -> dict[str, Any]:
        """Return the agent's state as a JSON-able value."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
