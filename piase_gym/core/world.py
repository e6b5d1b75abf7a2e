"""The World contract: the rules and the state of one environment, and nothing else.

A world knows nothing of Gymnasium, PettingZoo, logs or curricula. Agents are numbers here,
``0..len(agents)-1`` in the order of `World.agents`; environments translate names. A world offers

* an episode: `reset`, `step`, `alive`, `result`;
* what agents know: `facts`, and from the facts a `vector` and a `text`;
* what agents can do: a `grammar`, a table of commands for indices, `admissible`, `masks`;
* its state as a value: `get_state`, `set_state`, `digest`, `state`, and a `twin` for tests;
* its pictures: `ansi`, `rgb`.

Spaces are fixed by the config's envelope for the life of the world; `configure` changes the
config between episodes. Whatever an environment can be asked, it asks the world: environments hold
no rule.

Rules that every world keeps:

* Acts are decoded, and judged legal or not, by the state before anybody acts. To lose a race for
  something is `failed`, not `illegal`.
* An agent is in play from its entry to its end. The episode is over when nobody is in play, even
  if somebody was still to enter.
* Questions about an agent that is not in play are answered (`facts`, `vectors`, `masks`), with
  values in their spaces; what they are is not promised.
* `instructions`, `tools` and all spaces can be asked for before the first `reset`. Space
  properties return new objects.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Self

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.answers import HOW_TO_ANSWER, Answer, read_answer
from piase_gym.core.commands import (
    Command,
    InvalidAction,
    Outcome,
    Result,
    Verb,
    check_command,
    read_command,
    write_command,
)
from piase_gym.core.config import require_fit
from piase_gym.core.difficulty import DifficultyParameter, Element, PerAgentField, adjust, introduce
from piase_gym.core.digest import digest_json
from piase_gym.core.facts import (
    HINT_TEXT,
    MAX_HINT,
    Act,
    C,
    Capabilities,
    DecodedAction,
    F,
    Facts,
    Manual,
    StepResult,
    TextWriter,
    check_box,
    check_index,
    explain_invalid,
    shared,
)
from piase_gym.core.last_step import LastStep, last_step
from piase_gym.core.mailbox import Mailbox
from piase_gym.core.snapshot import DAMAGE, SNAPSHOT_SCHEMA, check_snapshot
from piase_gym.core.surroundings import Surroundings, surroundings_by_name
from piase_gym.errors import ConfigError, SnapshotError, UnsupportedError

__all__ = [
    "HINT_TEXT",
    "MAX_HINT",
    "SNAPSHOT_SCHEMA",
    "Act",
    "Capabilities",
    "DecodedAction",
    "Facts",
    "Manual",
    "StepResult",
    "TextWriter",
    "World",
    "check_box",
    "check_index",
    "explain_invalid",
    "shared",
]


OBSERVATIONS = (
    "Each observation opens with your last step: the command as it was understood, its outcome "
    "(ok, failed, illegal if it was impossible then, unparsable, ...) and the reward."
)


class World(ABC, Generic[C, F]):
    """Base class of all worlds. See the module's text for the contract."""

    name: ClassVar[str]
    version: ClassVar[int] = 0
    capabilities: ClassVar[Capabilities] = Capabilities()
    milestones: ClassVar[tuple[str, ...]] = ()
    perception_types: ClassVar[Mapping[str, str]] = {}
    """What `surroundings` perceives, if not the fields of the facts: types by name.

    Such as ``"string"``, ``"list[object]"``, or ``"string | None"`` for what may be missing.
    """
    picture_reveals: ClassVar[bool] = False
    """Whether its picture shows what agents are to find out; people play it by its text then."""
    measures: ClassVar[tuple[str, ...]] = ()
    """Names of the numbers that `measure` gives, metrics of this world's own."""
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = ()
    """By what this world can be made harder or easier, the main one first."""
    elements: ClassVar[tuple[Element, ...]] = ()
    """What can be put into this world."""
    per_agent_fields: ClassVar[Mapping[str, PerAgentField]] = {}
    """Fields of the config of which each agent has its own part, by name."""
    mailboxes: Mailbox | None = None
    """Where letters lie, if the world has messages."""
    text_length: int = 2000
    """No text of this world's facts is longer than this many characters."""
    multiline: ClassVar[bool] = False
    """Whether a command may have several lines, such as SQL."""
    says_why: ClassVar[bool] = False
    """Whether the text of the facts says itself what the world answered to the last command."""
    tells_last_step: ClassVar[bool] = True
    """Whether observations open with what the last command did."""

    def __init__(self, config: C) -> None:
        """Fix the envelope and the agents' names; the first episode starts with `reset`.

        Raises:
            EnvelopeError: If the config does not fit its own envelope.
        """
        self.envelope = config.fixed_envelope()
        self.config = config.pinned(self.envelope)
        self.agents = config.names(self.envelope.agents)
        self.hints: list[str | None] = [None] * len(self.agents)
        self._last: tuple[Sequence[Act], StepResult] | list[LastStep | None]
        self._last = [None] * len(self.agents)
        self.awaiting_agents = self.capabilities.late_join
        """Whether agents may enter of themselves in this config; then every step is looked at."""

    @classmethod
    def kind_for(cls, config: C) -> type[World[C, Any]]:
        """Return the class that plays a config, where a world has several kinds."""
        return cls

    @classmethod
    def capabilities_of(cls, config: C) -> Capabilities:
        """Return what is claimed under a config, where that is not the same for all."""
        return cls.kind_for(config).capabilities

    @classmethod
    def version_of(cls, config: C) -> int:
        """Return the version of the rules of a config: that of its ids and of its logs."""
        return cls.version

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

    def reset(self, seed: int) -> None:
        """Start an episode whose every random draw follows from `seed` (0..2**63-1)."""
        self.hints = [None] * len(self.agents)
        self._last = [None] * len(self.agents)
        self.begin(seed)

    @abstractmethod
    def begin(self, seed: int) -> None:
        """Set up the state of an episode; `reset` has cleared the hints."""

    def step(self, acts: Sequence[Act]) -> StepResult:
        """Let every agent in play act once, then advance the world by one step.

        Args:
            acts: An entry an agent. ``None`` is for agents that are not in play; for others it
                means the no-op.

        Raises:
            ActionError: If an index is not in ``0..num_actions-1``; nothing has changed then.
        """
        alive = self.alive
        plans = [self.decode(i, act) if alive[i] else None for i, act in enumerate(acts)]
        tick = explain_invalid(self.advance(plans), plans)
        self._last = plans, tick
        return tick

    def decode(self, agent: int, act: Act) -> DecodedAction:
        """Decode one act and judge whether it is legal now."""
        if act is None:
            return self.noop
        if isinstance(act, InvalidAction):
            return act
        if isinstance(act, Command):
            found = self.check(agent, act)
        else:
            found = self.command(agent, check_index(act, self.num_actions, self.agents[agent]))
        if isinstance(found, Command) and not self.legal(agent, found):
            return InvalidAction(Outcome.ILLEGAL, f"You cannot {self.write(found)} now.")
        return found

    @abstractmethod
    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Carry out one step: a legal command or an invalid action for each agent in play.

        It costs a step and has its own outcome; `step` adds its message to the notes.
        """

    @property
    @abstractmethod
    def alive(self) -> Sequence[bool]:
        """Which agents are in play now."""

    @abstractmethod
    def result(self, agent: int) -> Result:
        """How the episode ended for an agent that has ended."""

    def wins_by_lasting(self, agent: int) -> bool:
        """Tell whether an agent has nothing to do but to last: then `max_steps` is no defeat."""
        return False

    def measure(self, agent: int) -> Mapping[str, float]:
        """Return what `measures` names, for an agent whose episode has just ended."""
        return {}

    def check_config(self, config: C) -> None:
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
        self.check_config(config)
        self.config = config.pinned(self.envelope)

    def adjusted(self, config: C, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a config that change when difficulty parameters are turned."""
        return adjust(self.difficulty_parameters, config, params)

    def introduced(self, config: C, element: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a config that change when something is put into the world."""
        return introduce(self.elements, config, element)

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
    def to_text(facts: F, config: C) -> str:
        """Return the canonical text that stands for the facts (pure)."""

    def text(self, facts: F) -> str:
        """Return the canonical text that stands for the facts, under the present config."""
        return self.to_text(facts, self.config)

    def capture(self) -> Sequence[Any]:
        """Return, for each agent, a value that holds what it may know now.

        `vectors` and `text_writer` make the views of it. Texts are often not read, so it must be
        cheap; and it must not change when the world goes on. The default keeps the facts.
        """
        return [self.facts(agent) for agent in range(len(self.agents))]

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        """Return the vector of every agent, in fresh memory.

        Args:
            kept: What `capture` returned; by default, of now.
        """
        return [self.vector(facts) for facts in (self.capture() if kept is None else kept)]

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return a function of (kept value, agent) that writes the text of that moment.

        The function can be pickled, and stays right when the world goes on or takes another
        config.
        """
        return TextWriter(type(self).to_text, self.config)

    def last_steps(self) -> Sequence[LastStep | None]:
        """Return, for each agent, what its command did in the last step.

        ``None`` is for agents that were not in play then, and for all before the first step.
        """
        if isinstance(self._last, tuple):
            acts, (rewards, _, _, outcomes, _, notes) = self._last
            self._last = [
                None if act is None else self._last_step(i, act, outcomes[i], rewards[i], notes)
                for i, act in enumerate(acts)
            ]
        return self._last

    def _last_step(
        self,
        agent: int,
        act: Command | InvalidAction | int,
        outcome: Outcome,
        reward: float,
        notes: Mapping[int, Mapping[str, Any]],
    ) -> LastStep:
        """Return what an agent's command did in a step that has just been done."""
        invalid = isinstance(act, InvalidAction)
        line = "" if isinstance(act, InvalidAction) else self.line_of(agent, act)
        note: Mapping[str, Any] = notes.get(agent, {}) if notes else {}
        why = "" if self.says_why else note.get("feedback")
        if not (why or invalid or self.says_why):
            illegal = outcome is Outcome.ILLEGAL
            why = f"You cannot {line} now." if illegal else self.why_failed(agent)
        reached = tuple(note.get("milestones", ())) if note else ()
        return last_step(line, outcome, float(reward), reached, str(why) if why else "")

    def line_of(self, agent: int, act: Command | int) -> str:
        """Return the text of a command, or of that of an index where the table never changes."""
        found = act if isinstance(act, Command) else self.command(agent, act)
        return self.write(found) if isinstance(found, Command) else ""

    def observation_text(self, agent: int) -> str:
        """Return what an agent reads now: what its last command did, then the canonical text."""
        last = self.last_steps()[agent] if self.tells_last_step else None
        text = self.text(self.facts(agent))
        return text if last is None else last.line + text

    def native_text(self, agent: int) -> str:
        """Return the second dialect of text, whose wording is dictated from outside."""
        raise UnsupportedError(f"{self.name} has no native text; use its canonical text")

    def surroundings(self, facts: F) -> Surroundings:
        """Return facts in the words of the PiaSE documents (pure): position, objects, inventory.

        The document interfaces show it. The default goes by the names of the facts' fields; see
        `piase_gym.core.surroundings`.
        """
        return surroundings_by_name(facts, self.agents)

    def position(self, agent: int) -> Any:
        """Return where an agent is: coordinates, or the name of a place; ``None`` if nowhere.

        The default asks `surroundings`; worlds that know it cheaply say so themselves.
        """
        return self.surroundings(self.facts(agent)).position

    def ends_at(self, place: Any) -> bool:
        """Tell whether to come to this place ends an agent's episode at once, in this config.

        Who follows an agent to a target there needs not look at every step. ``False`` is always
        true enough.
        """
        return False

    def give_hint(self, agent: int, hint: str | None) -> None:
        """Show a hint to an agent until the end of the episode or the next hint.

        A hint longer than `MAX_HINT` is cut off.
        """
        if not isinstance(hint, str | None):
            raise ConfigError(f"a hint is a string or None, not {type(hint).__name__}")
        self.hints[agent] = hint if hint is None else hint[:MAX_HINT]

    # -- what agents can do ---------------------------------------------------------------

    @abstractmethod
    def admissible(self, agent: int) -> list[Command]:
        """Return the legal commands of an agent now, in a stable order."""

    def admissible_lines(self, agent: int) -> list[str]:
        """Return the same as lines of text."""
        return [self.write(command) for command in self.admissible(agent)]

    def legal(self, agent: int, command: Command) -> bool:
        """Tell whether a well-formed command is legal now; others are what masks forbid.

        Worlds with more commands than they can list say so here.
        """
        return command in self.admissible(agent)

    @abstractmethod
    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return the command that a discrete action stands for now."""

    @abstractmethod
    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return each agent's mask over the discrete actions, shape (K,), in fresh memory."""

    def command_from_box(self, agent: int, action: NDArray[Any]) -> Command:
        """Return the command that a continuous action stands for."""
        raise UnsupportedError(f"{self.name} has no continuous actions; use actions='discrete'")

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a text action."""
        return read_command(line, self.grammar)

    def read_reply(self, agent: int, reply: object) -> Command | InvalidAction:
        """Read a text action in any form in which language models answer.

        A line that is a command is read as it is; see `piase_gym.core.answers` for the rest.
        """
        found = self.read(agent, reply)
        if not isinstance(reply, str) or (isinstance(found, Command) and "\n" not in reply):
            return found

        def reads(line: str) -> bool:
            return isinstance(self.read(agent, line), Command)

        def legal(line: str) -> bool:
            command = self.read(agent, line)
            return isinstance(command, Command) and self.legal(agent, command)

        answer = read_answer(reply, (legal, reads), self.multiline)
        if not isinstance(answer, Answer):
            return answer if "\n" in reply.strip() else found
        if isinstance(answer.command, Command):
            return self.check(agent, answer.command)
        last = self.read(agent, answer.command)
        if isinstance(last, Command):
            return last
        bare = self.read(agent, answer.command.rstrip(" .!"))
        return bare if isinstance(bare, Command) else last

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        """Check a command that came as data."""
        return check_command(command, self.grammar)

    def write(self, command: Command) -> str:
        """Return the text action that stands for a command."""
        return write_command(command, self.grammar)

    def why_failed(self, agent: int) -> str | None:
        """Say what was in the way of an agent's last command, if it was without effect.

        Environments tell those who act or see in text, where a step's notes say nothing. It
        speaks of nothing that the agent does not perceive; ``None`` says no more.
        """
        return None

    def enter(self, agent: int) -> None:
        """Let an agent that is not in play enter the episode now, where `late_join` is claimed.

        Raises:
            UnsupportedError: If agents cannot enter this world after the reset.
            AgentError: If the agent is in play already, or its part is over.
        """
        raise UnsupportedError(f"{self.name} has no late_join; every agent starts at the reset")

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents act in this order until it is changed; conflicts go to the first.

        Args:
            order: All agent numbers. At a reset the order is that of `agents` again.

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
        version = self.version_of(self.config)
        reached = self.milestones if manual.milestones is None else manual.milestones
        names = ", ".join(name.replace("_", " ") for name in reached)
        end = manual.end or f"An episode ends after {self.config.max_steps} steps at the latest."
        parts = [
            f"You are {self.agents[agent]} in {self.name} (version {version}).",
            manual.rules,
            f"Goal: {goal}" if goal else "",
            f"{HOW_TO_ANSWER} The commands:\n" + "\n".join(commands),
            f"Rewards: {manual.rewards}" + (f"\nMilestones: {names}." if names else ""),
            f"{end} {OBSERVATIONS}",
            "Example: {}\nAction: {}".format(*manual.example) if manual.example else "",
        ]
        return "\n\n".join(filter(None, parts))

    def tools(self, agent: int) -> list[dict[str, Any]]:
        """Return the grammar as JSON Schema tool calls."""
        return [verb.tool() for verb in self.grammar]

    # -- the state is a value -------------------------------------------------------------

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
        """Return 64 bits that stand for the state and the hints, as 16 hexadecimal digits."""
        return digest_json([self.digest_state(), self.hints])

    def digest_state(self) -> Any:
        """Return what `digest` hashes: by default the whole state."""
        return self.get_state()

    def snapshot_header(self) -> dict[str, Any]:
        """Return what a snapshot must agree in to be taken up here."""
        return {
            "schema": SNAPSHOT_SCHEMA,
            "world": self.name,
            "version": self.version,
            "agents": list(self.agents),
        }

    def snapshot(self) -> dict[str, Any]:
        """Return config and state as one versioned, JSON-able value."""
        return {
            **self.snapshot_header(),
            "config": self.config.model_dump(mode="json", exclude={"envelope"}),
            "hints": list(self.hints),
            "last_steps": [last and last.row for last in self.last_steps()],
            "state": self.get_state(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take up a snapshot, its config included.

        Raises:
            SnapshotError: If it is of another world, version or schema, or damaged.
            EnvelopeError: If its config does not fit this world's envelope.
        """
        header = self.snapshot_header()
        config, hints, last_steps = check_snapshot(snapshot, header, type(self.config))
        before = self.config
        self.configure(config)
        try:
            self.set_state(snapshot["state"])
        except DAMAGE as error:
            self.configure(before)
            if isinstance(error, SnapshotError):
                raise
            raise SnapshotError(f"the state of this snapshot is damaged: {error!r:.200}") from None
        for agent, hint in enumerate(hints):
            self.give_hint(agent, hint)
        self._last = last_steps

    @abstractmethod
    def state(self) -> NDArray[Any]:
        """Return every non-string fact of the world as one array in `state_space`."""

    def twin(self, agent: int) -> Self | None:
        """Return a copy that differs in nothing but what an agent cannot know.

        The conformance kit plays both, and demands that they answer this agent alike. So nothing
        may differ that one command can bring to light without the agent then perceiving it, such
        as whether a door that looks closed is locked. ``None`` says that nothing is hidden now.
        The default gives the others hints; worlds change what else they hide.
        """
        others = [k for k, plays in enumerate(self.alive) if plays and k != agent]
        if not others:
            return None
        found = copy.deepcopy(self)
        for other in others:
            found.give_hint(other, f"This is for {self.agents[other]} alone.")
        return found

    # -- pictures -------------------------------------------------------------------------

    @abstractmethod
    def ansi(self) -> str:
        """Return the state as text for a terminal."""

    @abstractmethod
    def rgb(self) -> NDArray[np.uint8]:
        """Return the state as a picture of shape (height, width, 3)."""
