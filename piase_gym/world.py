"""The World contract: the rules and the state of one environment, and nothing else.

A world knows nothing of Gymnasium, PettingZoo, logs or curricula. Agents are numbers here,
``0..len(agents)-1`` in the order of `World.agents`; faces translate names. A world offers

* an episode: `reset`, `step`, `alive`, `result`;
* what agents know: `facts`, and from the facts a `vector` and a `text`;
* what agents can do: a `grammar`, a table of commands for indices, `admissible`, `masks`;
* its state as a value: `get_state`, `set_state`, `digest`, `state`;
* its pictures: `ansi`, `rgb`.

Spaces are fixed by the config's envelope for the life of the world; `configure` changes the
config between episodes. Whatever a face can be asked, it asks the world: faces hold no rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.commands import (
    Command,
    Misread,
    Outcome,
    Result,
    Verb,
    check_command,
    read_command,
    write_command,
)
from piase_gym.config import WorldConfig, require_fit
from piase_gym.digest import digest_json
from piase_gym.errors import SnapshotError, UnsupportedError
from piase_gym.mailbox import Letter

SNAPSHOT_SCHEMA = 1

C = TypeVar("C", bound=WorldConfig)
F = TypeVar("F", bound="Facts")


@dataclass(frozen=True)
class Capabilities:
    """What a world claims; the conformance kit tests what is claimed and prints what is not.

    Attributes:
        deterministic: The same seed and commands give the same states, bit for bit.
        snapshot: `World.get_state` and `World.set_state` carry the whole future.
        batched: There is a compiled kernel that steps many environments at once.
        late_join: Agents can enter after the reset.
        native_text: There is a second text dialect, whose wording comes from outside.
        discrete: Indices stand for commands.
        continuous: A Box stands for commands.
    """

    deterministic: bool = True
    snapshot: bool = True
    batched: bool = False
    late_join: bool = False
    native_text: bool = False
    discrete: bool = True
    continuous: bool = False


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What one agent may know now. Worlds add their own fields.

    Attributes:
        agent: The agent's name.
        messages: What was delivered to the agent in this step.
        hint: A tutor's or curriculum's word for this agent, if any.
    """

    agent: str
    messages: tuple[Letter, ...] = ()
    hint: str | None = None


Act = int | Command | Misread | None
"""One agent's part in a step: an index, a command, a misread line, or no part at all."""


class Tick(NamedTuple):
    """What one step did: a list a field, an entry an agent, in the order of `World.agents`.

    Attributes:
        rewards: Rewards of this step; 0.0 for agents that were not in play.
        terminated: Who ended in this step by the rules (win, lose, death).
        truncated: Who ended in this step by a limit of steps or budget.
        outcomes: What became of each command.
        ended: Whether anybody ended in this step.
        notes: Further infos by agent number, such as ``milestones`` and ``feedback``.
    """

    rewards: Sequence[float]
    terminated: Sequence[bool]
    truncated: Sequence[bool]
    outcomes: Sequence[Outcome]
    ended: bool
    notes: Mapping[int, dict[str, Any]]


@dataclass(frozen=True)
class Manual:
    """The words of a world's prompt; `World.instructions` sets them together.

    Attributes:
        rules: How the world works, in a few sentences.
        rewards: What is rewarded and punished, with numbers.
        goals: For each agent number, what it is to achieve.
    """

    rules: str
    rewards: str
    goals: Callable[[int], str] = field(default=lambda _agent: "")


class World(ABC, Generic[C, F]):
    """Base class of all worlds. See the module's text for the contract."""

    name: ClassVar[str]
    version: ClassVar[int] = 0
    capabilities: ClassVar[Capabilities] = Capabilities()
    milestones: ClassVar[tuple[str, ...]] = ()
    text_length: int = 2000
    """No text of this world is longer than this many characters."""

    def __init__(self, config: C) -> None:
        """Fix the envelope and the agents' names; the first episode starts with `reset`.

        Raises:
            EnvelopeError: If the config does not fit its own envelope.
        """
        self.envelope = config.fixed_envelope()
        self.config = config.pinned(self.envelope)
        self.agents = config.names(self.envelope.agents)
        self.hints: list[str | None] = [None] * len(self.agents)

    # -- spaces and vocabulary, fixed for life --------------------------------------------

    @property
    @abstractmethod
    def grammar(self) -> tuple[Verb, ...]:
        """The verbs of the world."""

    @property
    @abstractmethod
    def num_actions(self) -> int:
        """The size K of the discrete action space."""

    @property
    @abstractmethod
    def noop(self) -> Command:
        """The command of an agent that does nothing."""

    @property
    @abstractmethod
    def vector_space(self) -> Box:
        """The space of one agent's vector."""

    @property
    @abstractmethod
    def state_space(self) -> Box:
        """The space of the global view."""

    @property
    def action_box(self) -> Box:
        """The continuous action space of one agent."""
        raise UnsupportedError(f"{self.name} has no continuous actions; use actions='discrete'")

    # -- an episode -----------------------------------------------------------------------

    @abstractmethod
    def reset(self, seed: int) -> None:
        """Start an episode whose every random draw follows from `seed` (0..2**63-1)."""

    @abstractmethod
    def step(self, acts: Sequence[Act]) -> Tick:
        """Let every agent in play act once, then advance the world by one step.

        Args:
            acts: An entry an agent. An index must be in ``0..num_actions-1``. ``None`` is for
                agents that are not in play; for others it means the no-op.
        """

    @property
    @abstractmethod
    def alive(self) -> Sequence[bool]:
        """Which agents are in play now."""

    @abstractmethod
    def result(self, agent: int) -> Result:
        """How the episode ended for an agent that has ended."""

    def admit(self, config: C) -> None:
        """Check that `configure` would take a config, without taking it.

        Raises:
            EnvelopeError: If the config does not fit the envelope of this world.
        """
        require_fit(self.name, self.envelope, config.sizes())

    def configure(self, config: C) -> None:
        """Take another config for the episodes that follow; spaces stay the same.

        Raises:
            EnvelopeError: If the config does not fit the envelope of this world.
        """
        self.admit(config)
        self.config = config.pinned(self.envelope)

    def close(self) -> None:
        """Give back resources. Nothing may be asked of the world afterwards."""

    # -- what agents know -----------------------------------------------------------------

    @abstractmethod
    def facts(self, agent: int) -> F:
        """Return what the agent may know now."""

    @abstractmethod
    def vector(self, facts: F) -> NDArray[Any]:
        """Return the vector that stands for the facts (pure; a fresh array)."""

    @staticmethod
    @abstractmethod
    def tell(facts: F, config: C) -> str:
        """Return the canonical text that stands for the facts (pure)."""

    def text(self, facts: F) -> str:
        """Return the canonical text that stands for the facts, under the present config."""
        return self.tell(facts, self.config)

    def vectors(self) -> Sequence[NDArray[Any]]:
        """Return the vector of every agent now, in fresh memory."""
        return [self.vector(self.facts(agent)) for agent in range(len(self.agents))]

    def keep(self, vectors: Sequence[NDArray[Any]]) -> Sequence[Any]:
        """Return, for each agent, a value from which `teller` can write this moment's text.

        Texts are often not read. What is kept must be cheap, and must not change when the world
        goes on. The default keeps the facts.

        Args:
            vectors: What `vectors` has just returned.
        """
        return [self.facts(agent) for agent in range(len(self.agents))]

    def teller(self) -> Callable[[Any, int], str]:
        """Return a function of (kept value, agent) that writes the text of that moment.

        The function stays right when the world goes on, takes another config or closes.
        """
        config, tell = self.config, self.tell
        return lambda kept, agent: tell(kept, config)

    def native_text(self, agent: int) -> str:
        """Return the second dialect of text, whose wording is dictated from outside."""
        raise UnsupportedError(f"{self.name} has no native text; use its canonical text")

    def give_hint(self, agent: int, hint: str | None) -> None:
        """Show a hint to an agent until the end of the episode or the next hint."""
        self.hints[agent] = hint

    # -- what agents can do ---------------------------------------------------------------

    @abstractmethod
    def admissible(self, agent: int) -> list[Command]:
        """Return the legal commands of an agent now, in a stable order."""

    @abstractmethod
    def command(self, agent: int, index: int) -> Command | Misread:
        """Return the command that a discrete action stands for now."""

    @abstractmethod
    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return each agent's mask over the discrete actions, shape (K,), in fresh memory."""

    def command_from_box(self, agent: int, action: NDArray[Any]) -> Command:
        """Return the command that a continuous action stands for."""
        raise UnsupportedError(f"{self.name} has no continuous actions; use actions='discrete'")

    def read(self, agent: int, line: object) -> Command | Misread:
        """Read a text action."""
        return read_command(line, self.grammar)

    def check(self, agent: int, command: Command) -> Command | Misread:
        """Check a command that came as data."""
        return check_command(command, self.grammar)

    def write(self, command: Command) -> str:
        """Return the text action that stands for a command."""
        return write_command(command, self.grammar)

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents act in this order in the next step; conflicts go to the first.

        Worlds in which agents cannot get into each other's way ignore it.
        """

    @property
    @abstractmethod
    def manual(self) -> Manual:
        """The words for `instructions`."""

    def instructions(self, agent: int) -> str:
        """Return the versioned prompt for an agent: rules, goal, commands, rewards."""
        manual = self.manual
        goal = manual.goals(agent)
        commands = [f"- {verb.usage}: {verb.description}" for verb in self.grammar]
        parts = [
            f"You are {self.agents[agent]} in {self.name} (version {self.version}).",
            manual.rules,
            *([f"Goal: {goal}"] if goal else []),
            "Answer with one command a step:\n" + "\n".join(commands),
            f"Rewards: {manual.rewards}",
            f"An episode ends after {self.config.max_steps} steps at the latest.",
        ]
        return "\n\n".join(parts)

    def tools(self, agent: int) -> list[dict[str, Any]]:
        """Return the grammar as JSON Schema tool calls."""
        return [verb.tool() for verb in self.grammar]

    # -- the state is a value -------------------------------------------------------------

    @abstractmethod
    def state(self) -> NDArray[Any]:
        """Return every non-string fact of the world as one array in `state_space`."""

    @abstractmethod
    def get_state(self) -> dict[str, Any]:
        """Return the whole state, random streams included, as a JSON-able value."""

    @abstractmethod
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `get_state` returned.

        Raises:
            SnapshotError: If it does not fit; the world is unchanged then.
        """

    def digest(self) -> str:
        """Return 64 bits that stand for the state, as 16 hexadecimal digits."""
        return digest_json(self.get_state())

    def snapshot(self) -> dict[str, Any]:
        """Return config and state as one versioned, JSON-able value."""
        return {
            "schema": SNAPSHOT_SCHEMA,
            "world": self.name,
            "version": self.version,
            "config": self.config.model_dump(mode="json", exclude={"envelope"}),
            "hints": list(self.hints),
            "state": self.get_state(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take up a snapshot, its config included.

        Raises:
            SnapshotError: If it is of another world, version or schema, or damaged.
            EnvelopeError: If its config does not fit this world's envelope.
        """
        wanted = (SNAPSHOT_SCHEMA, self.name, self.version)
        if not isinstance(snapshot, Mapping):
            raise SnapshotError(f"a snapshot is a mapping, not {type(snapshot).__name__}")
        found = tuple(snapshot.get(key) for key in ("schema", "world", "version"))
        if found != wanted:
            raise SnapshotError(
                f"this snapshot is of {found[1]} version {found[2]} (schema {found[0]}); "
                f"allowed here: {wanted[1]} version {wanted[2]} (schema {wanted[0]})"
            )
        missing = [key for key in ("config", "hints", "state") if key not in snapshot]
        if missing:
            raise SnapshotError(f"this snapshot lacks {', '.join(missing)}")
        config = type(self.config)(**{**snapshot["config"], "envelope": self.config.envelope})
        before = self.config
        self.configure(config)
        try:
            self.set_state(snapshot["state"])
        except SnapshotError:
            self.configure(before)
            raise
        for agent, hint in enumerate(snapshot["hints"][: len(self.agents)]):
            self.give_hint(agent, hint)

    # -- pictures -------------------------------------------------------------------------

    @abstractmethod
    def ansi(self) -> str:
        """Return the state as text for a terminal."""

    @abstractmethod
    def rgb(self) -> NDArray[np.uint8]:
        """Return the state as a picture of shape (height, width, 3)."""
