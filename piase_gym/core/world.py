"""The World contract: the rules and the state of one environment, and nothing else.

A world knows nothing of Gymnasium, PettingZoo, logs or curricula. Agents are numbers here,
``0..len(agents)-1`` in the order of `World.agents`; environments translate names. A world offers

* an episode: `reset`, `step`, `alive`, `result`;
* what agents know: `facts`, and from the facts a `vector` and a `text`;
* what agents can do: a `grammar`, a table of commands for indices, `admissible`, `masks`;
* its state as a value: `get_state`, `set_state`, `digest`, `state`, and a `twin` for tests;
* its pictures: `ansi`, `rgb`.

Spaces are fixed by the config's envelope for the life of the world; `configure` changes the
config between episodes. Environments contain no rules: whatever they are asked, they ask the
world.

Rules that every world keeps:

* Acts are decoded, and judged legal or not, on the state before any agent acts. Losing a race for
  something is `failed`, not `illegal`.
* An agent is in play from its entry to its end. The episode is over when no agent is in play, even
  if one has yet to enter.
* `facts`, `vectors` and `masks` also answer for an agent that is not in play; the values are in
  their spaces, but otherwise unspecified.
* `instructions`, `tools` and all spaces are available before the first `reset`. Space properties
  return new objects.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, Self, cast

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.additions import Addition, ShowsAdditions, showing
from piase_gym.core.answers import read_reply
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
from piase_gym.core.config import require_fit, require_same_additions
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
    StepResult,
    TextWriter,
    check_box,
    check_index,
    explain_invalid,
    shared,
)
from piase_gym.core.last_step import LastStep, last_step
from piase_gym.core.mailbox import Mailbox
from piase_gym.core.manual import Manual
from piase_gym.core.objects import Objects, agent_of, in_sight
from piase_gym.core.recall import Recall
from piase_gym.core.script.checks import check_script
from piase_gym.core.script.observables import Observable
from piase_gym.core.script.run import ScriptRun
from piase_gym.core.script.single import play_script
from piase_gym.core.shared_memory import SharedMemoryAddition
from piase_gym.core.snapshot import DAMAGE, SNAPSHOT_SCHEMA, check_snapshot
from piase_gym.core.surroundings import Surroundings, surroundings_by_name
from piase_gym.core.things import ThingPlaces
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


RANDOM_PARTS = frozenset({"seed", "keys", "counters", "streams", "channel", "luck"})
"""The keys under which states hold their seeds and random streams."""
LogEntry = tuple[str | None, str, Mapping[str, Any]]
"""A line for logs: the agent that it concerns, if any, the event type and the data."""


class World(ABC, Generic[C, F]):
    """Base class of all worlds. See the module docstring for the contract."""

    name: ClassVar[str]
    version: ClassVar[int] = 0
    capabilities: ClassVar[Capabilities] = Capabilities()
    milestones: ClassVar[tuple[str, ...]] = ()
    perception_types: ClassVar[Mapping[str, str]] = {}
    """Types, by name, of the perceptions in `surroundings`, if these are not the facts' fields.

    Examples: ``"string"``, ``"list[object]"``, ``"string | None"`` for what may be missing.
    """
    picture_reveals: ClassVar[bool] = False
    """Whether the picture shows what agents must find out; if so, people play by the text."""
    measures: ClassVar[tuple[str, ...]] = ()
    """Names of the numbers that `measure` returns: this world's own metrics."""
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = ()
    """The parameters that make this world harder or easier, the main one first."""
    elements: ClassVar[tuple[Element, ...]] = ()
    """What can be put into this world."""
    live_fields: ClassVar[tuple[str, ...]] = ("max_steps", "shared_reward")
    """The fields of the config that may change within an episode; see `modify`."""
    per_agent_fields: ClassVar[Mapping[str, PerAgentField]] = {}
    """Fields of the config in which each agent has a part of its own, by name."""
    made_of: ClassVar[type[Any] | None] = None
    """The original of a class made for some configs only, else ``None``; see `class_for`."""
    observables: ClassVar[Mapping[str, Observable]] = {}
    """Facts that conditions of scripts can be about, besides those common to all worlds."""
    scriptable: ClassVar[bool] = True
    """Whether configs may have a script; stories have events of their own."""
    spawnable: ClassVar[tuple[str, ...]] = ()
    """The things that scripts can spawn."""
    scripting: ClassVar[Any] = None
    """The module with what scripts do to this world: `spawn` and `remove` as below, with the world
    as first argument, and `place_problem`; ``None`` if scripts can put nothing into it."""
    states: Any = None
    """The records of array worlds."""
    mailboxes: Mailbox | None = None
    """Where letters are kept, if the world has messages."""
    text_length: int = 2000
    """An upper bound on the length of a text of this world's facts, in characters."""
    multiline: ClassVar[bool] = False
    """Whether a command may have several lines, such as SQL."""
    any_line: ClassVar[bool] = False
    """Whether every line is a command, so that a model's command has to be marked as such."""
    tells_limits: ClassVar[bool] = False
    """Whether observations show how much is left of every limit that cuts off episodes.

    A learner should then treat such an end as worth nothing more, and not bootstrap from the value
    of the last observation, which is never learned (Pardo et al. 2018, "Time Limits in
    Reinforcement Learning").
    """
    shows_native: bool = False
    """Whether texts are currently shown in their native wording; environments set it."""
    fixed_actions: ClassVar[bool] = False
    """Whether an index stands for the same command in every state, so that logs keep indices."""
    lasting: ClassVar[bool] = False
    """Whether commands may last for several steps; `under_way` says which do."""
    says_why: ClassVar[bool] = False
    """Whether the text of the facts itself gives the world's answer to the last command."""
    tells_last_step: ClassVar[bool] = True
    """Whether observations open with what the last command did."""

    def __new__(cls, config: C | None = None, *_: Any, **__: Any) -> Self:
        """Make a world of the class that plays the config."""
        made = super().__new__(cls if config is None else cls.class_for(config))
        return cast(Self, made)

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
        self.script: ScriptRun | None = None
        """The run of the config's script in the current episode; ``None`` without a script."""
        check_script(type(self), config, self.agents)
        self._take_script()
        self.awaiting_agents = self.capabilities.late_join
        """Whether agents may enter by themselves under this config; then every step is checked."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Reduce to an importable class and the config, for copying and pickling."""
        reduced: Any = super().__reduce_ex__(protocol)
        kind = type(self).made_of
        return reduced if kind is None else (_remake, (kind, self.config), *reduced[2:])

    @classmethod
    def kind_for(cls, config: C) -> type[World[C, Any]]:
        """Return the class that plays a config, where a world has several kinds."""
        return cls

    @classmethod
    def class_for(cls, config: C) -> type[World[C, Any]]:
        """Return `kind_for`, or a class that shows what the config adds to the views."""
        kind = cls.kind_for(config)
        kind = kind if issubclass(kind, cls) else cls
        additions = cls.additions_of(config)
        if not additions or issubclass(kind, ShowsAdditions):
            return kind
        return showing(kind, additions)

    @classmethod
    def additions_of(cls, config: C) -> tuple[type[Addition], ...]:
        """Return what a config adds to the views, in the order in which it is shown."""
        return (Recall,) * config.remembers + (SharedMemoryAddition,) * config.shared_memory

    @classmethod
    def capabilities_of(cls, config: C) -> Capabilities:
        """Return the capabilities claimed under a config, where they differ between configs."""
        return cls.class_for(config).capabilities

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
    def thing_places(self) -> ThingPlaces | None:
        """Where vectors have numbers of things; ``None`` if things have no numbers."""
        return None

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
        """Start an episode in which every random draw follows from `seed` (0..2**63-1)."""
        self.hints = [None] * len(self.agents)
        self._last = [None] * len(self.agents)
        script = self.script
        if script is None:
            self.begin(seed)
            return
        if script.settings():
            self.change_settings({})
        script.begin()
        self.begin(seed)
        for agent, words in enumerate(script.hints()):
            if words is not None:
                self.give_hint(agent, words)

    @abstractmethod
    def begin(self, seed: int) -> None:
        """Set up the state of an episode; `reset` has cleared the hints."""

    def step(self, acts: Sequence[Act]) -> StepResult:
        """Let every agent in play act once, then advance the world by one step.

        Args:
            acts: One entry per agent. ``None`` is for agents that are not in play; for others it
                means the no-op.

        Raises:
            ActionError: If an index is not in ``0..num_actions-1``; nothing has changed then.
        """
        alive = self.alive
        plans = [self.decode(i, act) if alive[i] else None for i, act in enumerate(acts)]
        understood: Sequence[Act] = plans
        invalid = InvalidAction in map(type, plans)
        if invalid:
            understood = list(map(self._understood, range(len(plans)), acts, plans))
        result = self.advance(plans)
        if invalid:
            result = explain_invalid(result, plans)
        if self.script is not None:
            result = play_script(self, self.script, result, alive, plans)
        self._last = understood, result
        return result

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

        An invalid action costs a step and has its own outcome; `step` adds its message to the
        notes.
        """

    @property
    @abstractmethod
    def alive(self) -> Sequence[bool]:
        """Which agents are in play now."""

    @abstractmethod
    def result(self, agent: int) -> Result:
        """Return how the episode ended for an agent that has ended."""

    def under_way(self, agent: int) -> Command | None:
        """Return the command that an agent continues unless it is given another, if any.

        Giving the same command again continues it. Environments do so without asking, until a
        command of one of the caller's agents has ended.
        """
        return None

    def wins_by_lasting(self, agent: int) -> bool:
        """Return whether an agent only has to last, so that reaching `max_steps` is no defeat."""
        return False

    def measure(self, agent: int) -> Mapping[str, float]:
        """Return the numbers that `measures` names, for an agent whose episode has just ended."""
        return {}

    def measured(self, agent: int) -> dict[str, float]:
        """Return what `measure` returns, plus the metrics of the script."""
        return {**self.measure(agent), **(self.script.measures(agent) if self.script else {})}

    def totals(self) -> dict[str, float]:
        """Return the metrics of the episode so far, summed over all agents."""
        return self.script.totals() if self.script is not None else {}

    @property
    def measure_names(self) -> tuple[str, ...]:
        """The names of what `measured` returns."""
        return (*self.measures, *(self.script.script.metrics if self.script else ()))

    @property
    def milestone_names(self) -> tuple[str, ...]:
        """The names of the milestones of the world and of the script."""
        own = self.script.script.milestones if self.script else ()
        return (*self.milestones, *(name for name in own if name not in self.milestones))

    def check_config(self, config: C) -> None:
        """Check that `configure` would take a config, without taking it.

        Raises:
            EnvelopeError: If the config does not fit the envelope of this world, or does not show
                the shared memory and what is remembered as this world does.
        """
        require_same_additions(self.name, self.config, config)
        require_fit(self.name, self.envelope, config.largest_sizes())
        check_script(type(self), config, self.agents)

    def configure(self, config: C) -> None:
        """Take another config for the episodes that follow; spaces stay the same.

        Raises:
            EnvelopeError: If the config does not fit the envelope of this world.
        """
        self.check_config(config)
        self.take_config(config)

    def take_config(self, config: C) -> None:
        """Take a config that was checked; worlds work out here what follows from it."""
        self.config = config.pinned(self.envelope)
        self._take_script()

    def modify(self, changes: Mapping[str, Any]) -> None:
        """Change fields among `live_fields` during an episode, with immediate effect.

        The world goes on from its own state, as it would from a snapshot with another config. What
        the change itself moves is not rewarded, and the change takes precedence over what a script
        had changed for this episode.

        Raises:
            ConfigError: If a field waits for the next reset, or the state does not admit it.
            EnvelopeError: If the new config does not fit the envelope of this world.
        """
        config = self.changed_now(changes)
        if not self.capabilities.snapshot:
            self.take_config(config)
            return
        config, given = self.base_config.changed(changes), self.snapshot()
        given["config"] = config.saved()
        before = None
        if self.script is not None:
            given["script"] = self.script.state_without(changes)
            before = self.script.potentials(self.states)
        try:
            self.restore(given)
        except SnapshotError as error:
            message = ", ".join(changes)
            raise ConfigError(f"{self.name}: {message} cannot change now: {error}") from None
        self.refresh()
        if self.script is not None and before is not None:
            self.script.rebase(before, self.states)

    @property
    def base_config(self) -> C:
        """The config without the changes that a script has made until the episode ends."""
        base: C = self.config if self.script is None else self.script.base
        return base

    def changed_now(self, changes: Mapping[str, Any]) -> C:
        """Return the config with changes to fields that may change within an episode."""
        waiting = [name for name in changes if name not in self.live_fields]
        if waiting:
            raise ConfigError(f"{self.name}: {waiting[0]} cannot change within an episode")
        return self.config.changed(changes)

    def adjusted(self, config: C, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a config that change when difficulty parameters are turned."""
        return adjust(self.difficulty_parameters, config, params)

    def introduced(self, config: C, element: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a config that change when something is put into the world."""
        return introduce(self.elements, config, element)

    def close(self) -> None:
        """Release resources. The world must not be used afterwards."""

    def log_entries(self) -> Sequence[LogEntry]:
        """Return and forget the world's lines for logs: what cannot be reproduced."""
        return ()

    # -- what scripts ask for and do ------------------------------------------------------

    def _take_script(self) -> None:
        """Play the script of the config from the next reset on."""
        script, present = self.config.script, self.script
        if script is None:
            self.script = None
        elif present is None or present.script is not script:
            self.script = ScriptRun(script, self, self.config, 1)
        else:
            present.base = self.config

    @classmethod
    def observables_of(cls, config: C) -> Mapping[str, Observable]:
        """Return the facts that conditions can be about under a config, by name."""
        return cls.kind_for(config).observables

    @classmethod
    def spawnable_in(cls, config: C) -> tuple[str, ...] | None:
        """Return the things that scripts can spawn under a config; ``None`` if not known."""
        return cls.kind_for(config).spawnable

    @classmethod
    def verbs_of(cls, config: C) -> Sequence[str] | None:
        """Return the verbs of a config's commands, for checks; ``None`` if they are not known."""
        return None

    def observe(self, name: str, states: Any, of: Any) -> NDArray[Any]:
        """Return a fact; see `piase_gym.core.script.observables`.

        Args:
            name: Its name.
            states: The records of array worlds; others ignore it.
            of: What the fact is about, if that must be named.
        """
        return self.observables_of(self.config)[name].read(self, states, of)

    def action_codes(self, word: str) -> tuple[int, ...] | None:
        """Return the indices of the commands that `word`, a line or a verb, stands for.

        ``None`` means that scripts are given acts as lines.
        """
        return None

    def finish(self, states: Any, who: NDArray[np.bool_], result: Result) -> None:
        """End the episode of some agents, as won or lost, by the rules of a script."""
        raise UnsupportedError(f"{self.name} cannot be won or lost by a script")

    def spawn(self, states: Any, envs: NDArray[np.int64], thing: str, place: Any) -> None:
        """Make something appear where there is room for it; elsewhere nothing happens."""
        if self.scripting is None:
            raise UnsupportedError(f"nothing can be put into {self.name} by a script")
        self.scripting.spawn(self, states, envs, thing, place)

    def remove(self, states: Any, envs: NDArray[np.int64], thing: str | None, place: Any) -> None:
        """Make something vanish, if it is there."""
        if self.scripting is None:
            raise UnsupportedError(f"nothing can be taken out of {self.name} by a script")
        self.scripting.remove(self, states, envs, thing, place)

    @classmethod
    def place_problem(cls, config: C, thing: str | None, place: Any) -> str | None:
        """Say why a script cannot put a thing (or take anything) there, if known in advance."""
        if cls.scripting is None:
            return None
        found: str | None = cls.scripting.place_problem(config, thing, place)
        return found

    def change_settings(self, fields: Mapping[str, Any]) -> None:
        """Make fields of the config differ from their values at the reset, until the episode ends.

        Args:
            fields: All fields that differ; an empty mapping restores the config of the reset.
        """
        assert self.script is not None
        base = self.script.base
        self.take_config(base.changed(fields))
        self.script.base = base

    def refresh(self) -> None:
        """Rebuild what is derived from the state, after the state was changed from outside."""

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

        `vectors` and `text_writer` make the views from it. Texts are often not read, so it must be
        cheap, and it must not change when the world goes on. The default keeps the facts.
        """
        return [self.facts(agent) for agent in range(len(self.agents))]

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        """Return the vector of every agent, in fresh memory.

        Args:
            kept: What `capture` returned; by default, what it returns now.
        """
        return [self.vector(facts) for facts in (self.capture() if kept is None else kept)]

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return a function of (kept value, agent) that writes the text of that moment.

        The function can be pickled, and stays correct when the world goes on or takes another
        config.
        """
        return TextWriter(type(self).to_text, self.config)

    def _understood(self, agent: int, act: Act, plan: DecodedAction) -> Act:
        """Return an agent's command, even if it was illegal, or else its decoded action."""
        if not isinstance(plan, InvalidAction) or plan.outcome is not Outcome.ILLEGAL:
            return plan
        if act is None or isinstance(act, InvalidAction):
            return plan
        found = act if isinstance(act, Command) else self.command(agent, int(act))
        known = self.check(agent, found) if isinstance(found, Command) else found
        return known if isinstance(known, Command) else plan

    def note_step(self, acts: Sequence[Act], result: StepResult | None) -> None:
        """Note a step that was done elsewhere, such as in a batch; ``None`` clears the note."""
        self._last = [None] * len(self.agents) if result is None else (acts, result)

    def set_last_steps(self, last_steps: Sequence[LastStep | None]) -> None:
        """Let `last_steps` return this until the next step."""
        self._last = list(last_steps)

    def last_steps(self) -> Sequence[LastStep | None]:
        """Return, for each agent, what its command did in the last step.

        The entry is ``None`` for agents that were not in play then, and for all agents before the
        first step.
        """
        if isinstance(self._last, tuple):
            self._last = self.describe_step(*self._last)
        return self._last

    def describe_step(self, acts: Sequence[Act], result: StepResult) -> list[LastStep | None]:
        """Return what `last_steps` returns, for a step that has just been done."""
        rewards, _, _, outcomes, _, notes = result
        return [
            None if act is None else self._last_step(i, act, outcomes[i], rewards[i], notes)
            for i, act in enumerate(acts)
        ]

    def _last_step(
        self,
        agent: int,
        act: Command | InvalidAction | int,
        outcome: Outcome,
        reward: float,
        notes: Mapping[int, Mapping[str, Any]],
    ) -> LastStep:
        """Return what an agent's command did in a step that has just been done."""
        line = "" if isinstance(act, InvalidAction) else self.line_of(agent, act)
        note = notes.get(agent) if notes else None
        why: Any = None
        if not self.says_why:
            why = note.get("feedback") if note else None
            if not (why or isinstance(act, InvalidAction)):
                illegal = outcome is Outcome.ILLEGAL
                why = f"You cannot {line} now." if illegal else self.why_failed(agent)
        said = act.parameters.get("message") if isinstance(act, Command) else None
        if isinstance(said, str) and self.mailboxes is not None and outcome is Outcome.OK:
            most = self.mailboxes.rules.max_length
            cut = f"Your message was cut to its first {most} characters." * (len(said) > most)
            why = f"{why or ''} {cut}".strip()
        reached = tuple(note["milestones"]) if note and "milestones" in note else ()
        return last_step(line, outcome, float(reward) + 0.0, reached, str(why) if why else "")

    def line_of(self, agent: int, act: Command | int) -> str:
        """Return the text of a command, or of an index's command where the table never changes."""
        found = act if isinstance(act, Command) else self.command(agent, act)
        return self.write(found) if isinstance(found, Command) else ""

    def observation_text(self, agent: int) -> str:
        """Return what an agent reads now: what its last command did, then the canonical text."""
        last = self.last_steps()[agent] if self.tells_last_step else None
        text = self.text(self.facts(agent))
        return text if last is None else last.line + text

    def native_text(self, agent: int) -> str:
        """Return the text in the second dialect, with its wording dictated from outside."""
        raise UnsupportedError(f"{self.name} has no native text; use its canonical text")

    def surroundings(self, facts: F) -> Surroundings:
        """Return facts in the terms of the PiaSE documents (pure): position, objects, inventory.

        The document interfaces show them. The default goes by the names of the facts' fields; see
        `piase_gym.core.surroundings`.
        """
        return surroundings_by_name(facts, self.agents)

    def perceived(self, facts: F) -> Mapping[str, Any]:
        """Return, by name, what an agent perceives and may have to remember (pure).

        A value says where the thing is (numbers) or what is known of it (words), or is ``None`` or
        the places of many (`piase_gym.core.recall.Several`). Called if the config `remembers`.
        """
        raise UnsupportedError(f"{self.name} has no recall='map'")

    def position(self, agent: int) -> Any:
        """Return where an agent is: coordinates, or the name of a place; ``None`` if nowhere.

        The default asks `surroundings`; worlds that know the position cheaply override this.
        """
        return self.surroundings(self.facts(agent)).position

    def objects(self) -> Objects:
        """Return every object there is, with its properties; see `piase_gym.core.objects`.

        Logs of level ``full`` and the document interfaces compare two such answers. The default
        has the agents, described by what they perceive of themselves.
        """
        return {
            name: agent_of(self.surroundings(self.facts(agent)), in_play)
            for agent, (name, in_play) in enumerate(zip(self.agents, self.alive, strict=True))
        }

    def in_sight(self, agent: int, objects: Objects) -> Collection[str]:
        """Return the names of the objects that an agent perceives now.

        Args:
            agent: Its number.
            objects: What `objects` returns now.
        """
        return in_sight(objects, self.agents[agent], self.surroundings(self.facts(agent)))

    def ends_at(self, place: Any) -> bool:
        """Return whether reaching this place ends an agent's episode at once under this config.

        Code that follows an agent to a target there need not check every step. ``False`` is always
        a safe answer.
        """
        return False

    def give_hint(self, agent: int, hint: str | None) -> None:
        """Show a hint to an agent until the end of the episode or the next hint.

        A hint is cut to `MAX_HINT` characters.
        """
        if not isinstance(hint, str | None):
            raise ConfigError(f"a hint is a string or None, not {type(hint).__name__}")
        self.hints[agent] = hint if hint is None else hint[:MAX_HINT]

    # -- what agents can do ---------------------------------------------------------------

    @abstractmethod
    def admissible(self, agent: int) -> list[Command]:
        """Return the legal commands of an agent now, in a stable order."""

    def admissible_lines(self, agent: int) -> list[str]:
        """Return the legal commands of an agent now, as lines of text."""
        return [self.write(command) for command in self.admissible(agent)]

    @property
    def carries_words(self) -> bool:
        """Whether agents can write to each other in words."""
        return self.mailboxes is not None

    def may_say(self, agent: int) -> bool:
        """Return whether an agent may say something to all others now, besides its command too.

        It may whenever the command ``say`` is legal, in worlds that have it.
        """
        said = Command("say", {"message": "hello"})
        silent = all(verb.name != said.verb for verb in self.grammar)
        return self.carries_words and (silent or self.legal(agent, said))

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether a well-formed command is legal now; masks forbid the rest.

        Worlds with more commands than they can list override this.
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
        read, check = partial(self.read, agent), partial(self.check, agent)
        return read_reply(reply, read, check, partial(self.legal, agent), self.multiline)

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        """Check a command that came as data."""
        return check_command(command, self.grammar)

    def write(self, command: Command) -> str:
        """Return the text action that stands for a command."""
        return write_command(command, self.grammar)

    def why_failed(self, agent: int) -> str | None:
        """Say why an agent's last command had no effect, if it had none.

        If a step's notes say nothing, environments give this to agents that act or see in text. It
        mentions nothing that the agent does not perceive; ``None`` adds nothing.
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
        own = self.script.words(agent, 0) if self.script is not None else None
        return self.manual.prompt(
            f"You are {self.agents[agent]} in {self.name} "
            f"(version {self.version_of(self.config)}).",
            agent,
            own and own.removeprefix("Goal: "),
            self.grammar,
            self.milestones,
            self.config.max_steps,
            self.config.shared_reward and self.config.agents > 1,
        )

    def tools(self, agent: int) -> list[dict[str, Any]]:
        """Return the grammar as JSON Schema tool calls."""
        return [verb.tool() for verb in self.grammar]

    # -- the state is a value -------------------------------------------------------------

    @abstractmethod
    def get_state(self) -> dict[str, Any]:
        """Return the whole state, random streams included, as a JSON-able value."""

    @abstractmethod
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned.

        Raises:
            SnapshotError: If it does not fit; the world is unchanged then.
        """

    def digest(self) -> str:
        """Return 64 bits that stand for the state and the hints, as 16 hexadecimal digits."""
        script = [] if self.script is None else [self.script.digest()]
        return digest_json([self.digest_state(), self.hints, *script])

    def digest_state(self) -> Any:
        """Return what `digest` hashes: by default the whole state."""
        return self.get_state()

    def level(self) -> str:
        """Return 64 bits that stand for the level, if called before the first step.

        A level is what a reset drew: two seeds that draw the same have the same level, and later
        draws do not count.
        """
        return digest_json(self.level_state())

    def level_state(self) -> Any:
        """Return the state without seeds and random streams: what `level` hashes."""
        state = self.digest_state()
        if not isinstance(state, Mapping):
            return state
        return {name: part for name, part in state.items() if name not in RANDOM_PARTS}

    def snapshot_header(self) -> dict[str, Any]:
        """Return the fields that a snapshot must match to be restored here."""
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
            "config": self.base_config.saved(),
            "hints": list(self.hints),
            "last_steps": [last and last.row for last in self.last_steps()],
            "state": self.get_state(),
            **({} if self.script is None else {"script": self.script.get_state()}),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot, its config included.

        Raises:
            SnapshotError: If it is of another world, version or schema, or damaged.
            EnvelopeError: If its config does not fit this world's envelope.
        """
        header = self.snapshot_header()
        config, hints, last_steps = check_snapshot(snapshot, header, self.base_config)
        before, script = self.config, self.script
        if config is not self.config:
            self.configure(config)
        try:
            if self.script is not None:
                self.script = copy.copy(self.script)  # which leaves its last step behind
                self.script.states = self.script.states.copy()
                self.script.set_state(snapshot.get("script"))
                self.change_settings(self.script.settings())
            self.set_state(snapshot["state"])
        except DAMAGE as error:
            if self.config is not before:
                self.configure(before)
            self.script = script
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
        """Return a copy that differs only in what an agent cannot know.

        The conformance kit plays both, and demands that they give this agent the same answers. So
        nothing may differ that one command can bring to light without the agent then perceiving
        it, such as whether a door that looks closed is locked. ``None`` means that nothing is
        hidden now. The default gives the other agents hints; worlds change what else they hide.
        """
        return self.hinted_twin(agent)

    def hinted_twin(self, agent: int) -> Self | None:
        """Return a copy in which the others have hints, or ``None`` if nobody else is in play."""
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


def _remake(kind: type[World[Any, Any]], config: Any) -> Any:
    """Return an empty world of the class that plays a config."""
    return kind.__new__(kind, config)
