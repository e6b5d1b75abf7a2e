"""What array worlds share: the buffers of a batch of one, and the state as named arrays.

A subclass brings two compiled functions, `reset` and `step`, over a structured array of records
(one per environment) and a structured array of tables (one per config), and says which fields of
the record are canonical. Everything here is bookkeeping around them.
"""

from __future__ import annotations

import copy
import functools
import struct
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeGuard

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.compiled import readable
from piase_gym.compiled.level_hash import hash_rows
from piase_gym.compiled.memory import overlaid
from piase_gym.compiled.stepping import (
    ABSENT,
    BEGIN,
    CONTINUE,
    NEXT,
    NEXT_STEP,
    NONE,
    REBUILD,
    SAME_STEP,
    SHOW,
    Kernels,
    kernel_type,
    single,
)
from piase_gym.core.commands import (
    OUTCOMES,
    RESULTS,
    Command,
    InvalidAction,
    Outcome,
    Result,
    Verb,
)
from piase_gym.core.digest import digest_bytes, digest_json
from piase_gym.core.facts import C, F
from piase_gym.core.last_step import LastStep
from piase_gym.core.rng import StreamId
from piase_gym.core.script.run import ScriptRun
from piase_gym.core.script.single import carry_out
from piase_gym.core.script.step import after_step
from piase_gym.core.script.turn import StepArrays
from piase_gym.core.text_encoding import HINT_CODE, hash_text
from piase_gym.core.world import (
    RANDOM_PARTS,
    Act,
    Capabilities,
    DecodedAction,
    Manual,
    StepResult,
    World,
    check_index,
    explain_invalid,
)
from piase_gym.errors import GenerationError, SnapshotError
from piase_gym.worlds.batch_arrays import Batch, bytes_of, places_of, stacked
from piase_gym.worlds.checks import read_field

__all__ = ["ArrayWorld", "Batch", "C", "F", "Modules", "steps_in_batches"]

_FAILED = Outcome.FAILED
_MISREADS = {
    Outcome.UNPARSABLE: ABSENT - 1,
    Outcome.TOO_LONG: ABSENT - 2,
    Outcome.TIMEOUT: ABSENT - 3,
    Outcome.REFUSED: ABSENT - 4,
}


@functools.lru_cache(maxsize=64)
def codes_of(outcome_of: Sequence[Outcome]) -> NDArray[np.uint8]:
    """Return, for each event code that fits into a byte, the index in `OUTCOMES` of its outcome."""
    codes = np.zeros(256, np.uint8)
    codes[: len(outcome_of)] = [OUTCOMES.index(outcome) for outcome in outcome_of]
    return codes


MOST_KNOWN = 4096
"""The largest number of last steps that a world keeps in order to show them again."""
_new_result = functools.partial(tuple.__new__, StepResult)
"""Makes a StepResult faster than its constructor does."""
_VIEWS = (
    "states _one _ends _events _pack _reward_view _event_view _alive "
    "_mark_view _obs_rows _mask_rows _nobody _canonical kernels"
).split()


class Modules(NamedTuple):
    """The modules of a world, by their roles.

    Attributes:
        memory: `state`: the record (`layout_for`) and which of its fields are not always as long
            (`VARYING`), the table (`new_table`), and the check for what is impossible in them
            (`find_problem`).
        views: `facts`: facts as vectors (`vector_of`), and their space (`vector_box`).
        texts: Facts as prose: the longest text (`longest_text`), and texts of what `capture` kept
            (`write_kept`).
        pictures: How a scene is drawn (`ansi`, `rgb`).
        form_of: A function that returns the layout of vectors under a config.
        manual: A function that returns the words of the prompt under a config.
    """

    memory: Any
    views: Any
    texts: Any
    pictures: Any
    form_of: Any
    manual: Any


@dataclass(frozen=True)
class CommandTable:
    """What can be said under a config; copies of a world share all but what they have shown.

    Attributes:
        grammar: The verbs.
        commands: The command of every index.
        indices: The index of every command.
        lines: The line of every index.
        shown: Last steps that were shown, to be shown again.
    """

    grammar: tuple[Verb, ...]
    commands: tuple[Command, ...]
    indices: Mapping[Command, int]
    lines: list[str]
    shown: dict[Any, LastStep] = field(default_factory=dict)

    def afresh(self) -> CommandTable:
        """Return the same table, with nothing shown yet."""
        return replace(self, shown={})

    def __deepcopy__(self, memo: Any) -> CommandTable:
        """Copy nothing that lasts."""
        return self.afresh()

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what was shown when the table is pickled."""
        return {**self.__dict__, "shown": {}}


class ArrayWorld(World[C, F]):
    """A world whose rules are kernels over records; this is its batch of one."""

    capabilities: ClassVar[Capabilities] = Capabilities(batched=True)
    fixed_actions: ClassVar[bool] = True
    canonical: ClassVar[Sequence[str]]
    """The fields of the record that are the state; the rest is derived."""
    optional: ClassVar[Sequence[str]] = ()
    """Fields of the state, after the canonical ones, that only some envelopes' records have."""
    outcome_of: ClassVar[Sequence[Outcome]]
    """The outcome of every event code."""
    entered: ClassVar[int]
    """The event code of an agent that has just entered, in worlds with late_join."""
    result_of: ClassVar[Sequence[Result]]
    """The result of every value of the record's field ``fate``; the first, in play, has none."""
    kernels: Kernels
    """The compiled rules of the world under the present config; see `kernels_for`."""
    modules: ClassVar[Modules]
    """The records, views and pictures of the world."""
    stream_ids: ClassVar[Sequence[StreamId]] = tuple(StreamId)
    """The random streams of the record's `keys`, in order; the record may have fewer keys."""
    form: Any
    """The layout of vectors under the present config."""
    _table: CommandTable
    vector_type: ClassVar[type[Any]] = np.uint8
    """The type of vectors."""
    batch_type: ClassVar[type[Batch]] = Batch
    """The type of batches."""

    @property
    def state_fields(self) -> Sequence[str]:
        """The fields of the record that are the state of this world, in its envelope."""
        known = self.states.dtype.names or ()
        return (*self.canonical, *(name for name in self.optional if name in known))

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """The verbs that agents may use."""
        return self._table.grammar

    @property
    def commands(self) -> tuple[Command, ...]:
        """The command of every index."""
        return self._table.commands

    @abstractmethod
    def make_grammar(self) -> tuple[Verb, ...]:
        """Return the verbs under the present config."""

    @abstractmethod
    def make_commands(self) -> tuple[Command, ...]:
        """Return the command of every index under the present config."""

    def __init__(self, config: C) -> None:
        """Allocate the record of a batch of one, and make one level, to check that it can be.

        Raises:
            GenerationError: If no level can be made from the config.
        """
        super().__init__(config)
        self.one = self.new_single(config)
        self._obs, self._masks = self._new_outputs(self.one)
        self._marks = [0] * len(self.agents)
        self._read_config()
        self._bind()
        self.text_length = self.modules.texts.longest_text(self.form)
        self.reset(0)

    def _bind(self) -> None:
        """Keep views of the record's fields, which cost more to make than to use.

        An object with 30 attributes or more is slower to read in CPython, so there are only a few.
        """
        slots = len(self.agents)
        one, record = self.one, self.one[0]
        self.states = one["state"]
        one["obs"], one["masks"] = self._obs.ctypes.data, self._masks.ctypes.data
        self._one = self.for_kernels(one)
        ends = (record["terminated"], record["truncated"])
        self._ends = [end[:slots].view(np.bool_) for end in ends]
        self._events = record["events"][:slots]
        # Memory views and prepared rows cost less to read than arrays.
        acts = memoryview(record["acts"].view(np.uint8))
        self._pack = functools.partial(struct.Struct(f"<{slots}i").pack_into, acts, 0)
        self._reward_view, self._event_view = record["rewards"][:slots].data, self._events.data
        self._alive = self.states["alive"][0, :slots].view(np.bool_)
        self._mark_view = self.states["marks"][0, :slots].data
        self._obs_rows, self._mask_rows = list(self._obs), list(self._masks)
        self._nobody = [False] * slots
        row = bytes_of(self.states)[0]
        places = places_of(self.states.dtype, self.state_fields)
        self._canonical = [row[place].data for place in places]

    @property
    def tables(self) -> NDArray[Any]:
        """What the kernels know of the config, shape (1,)."""
        table: NDArray[Any] = self.one["table"]
        return table

    def __getstate__(self) -> dict[str, Any]:
        """Leave views behind when the world is copied or pickled."""
        kept = self.__dict__.copy()
        for name in _VIEWS:
            kept.pop(name, None)
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy and bind the views again."""
        self.__dict__.update(state)
        self._bind()

    def _new_outputs(self, one: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """Return room for the vectors and masks of a batch of one."""
        slots, table = len(self.agents), one["table"][0]
        vectors = np.zeros((slots, int(table["length"])), self.vector_type)
        return vectors, np.zeros((slots, int(table["num_actions"])), np.int8)

    # -- what a subclass brings -----------------------------------------------------------

    def new_single(self, config: C) -> NDArray[Any]:
        """Return the record of a batch of one, shape (1,), with the table of `config`.

        Its fields are those of `compiled.stepping.single`.
        """
        table = self.new_table(config)
        record = self.modules.memory.layout_for(self.envelope)
        one = np.zeros(1, single(record, table.dtype, record["alive"].shape[0]))
        one["table"] = table
        return one

    def new_table(self, config: C) -> NDArray[Any]:
        """Return what the kernels know of a config, shape (1,)."""
        table: NDArray[Any] = self.modules.memory.new_table(config, self.envelope)
        return table

    @abstractmethod
    def _scene(self) -> Any:
        """Describe the state for the painters."""

    def for_kernels(self, records: NDArray[Any]) -> NDArray[Any]:
        """Return states, or a batch of one, as the type that kernels are compiled for."""
        varying = self.modules.memory.VARYING
        return readable(overlaid(records, kernel_type(records.dtype, varying)))

    def new_batch(self, count: int, configs: Sequence[C]) -> Batch:
        """Return `count` environments with the tables of `configs`."""
        agents, length = self._obs.shape
        tables = stacked([self.new_table(config) for config in configs])
        states = np.zeros(count, self.modules.memory.layout_for(self.envelope))
        shape = (count, agents, length, self.num_actions)
        places = places_of(states.dtype, self.state_fields)
        return self.batch_type(states, tables, shape, self.vector_type, places)

    def result(self, agent: int) -> Result:
        """Return how the episode ended for an agent, as its fate says."""
        fate: int = self.states["fate"].item(agent)
        return self.result_of[fate]

    def results(self, fates: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the results that values of ``fate`` stand for, as indices into `RESULTS`."""
        found: NDArray[np.uint8] = _places_of(tuple(self.result_of))[fates]
        return found

    def kernels_for(self, tables: NDArray[Any]) -> Kernels:
        """Return the rules for some configs; a world can have faster ones for plainer configs."""
        return self.kernels

    def state_problem(self, record: Any, table: Any) -> str:
        """Say what is impossible in a record under a table, or return an empty string.

        Kernels check no bounds, so they must only be given records without a problem.
        """
        problem: str = self.modules.memory.find_problem(record, table)
        return problem

    def plays_from_reset(self, config: C, agent: int) -> bool:
        """Return whether an agent is in play from the reset on under a config."""
        return agent < config.agents and agent not in config.latecomers

    def explain_fault(self, fault: int, config: C) -> str:
        """Say why no level could be made; worlds whose levels can fail say more."""
        return f"{self.name}: no level can be made (fault {fault})"

    def positions(self, states: NDArray[Any]) -> NDArray[Any] | None:
        """Return where all agents of many environments are, shape (envs, agents, coordinates).

        These are the values of `position`; ``None`` if the world only knows them one by one.
        """
        return None

    def heard_at(self, agent: int) -> Any:
        """Return the place at which an agent speaks and hears, for `message_range`."""
        return self.position(agent)

    # -- many environments ----------------------------------------------------------------

    def reset_batch(self, batch: Batch, which: NDArray[np.int64], what: int = BEGIN) -> int:
        """Start the next episode of some environments; return how many could not be made.

        Args:
            batch: The environments.
            which: The numbers of the environments to reset.
            what: A constant of `compiled.stepping`.
        """
        if batch.codes is None:
            batch.codes = codes_of(self.outcome_of)
        reset = self._kernels(batch).reset
        faults = int(reset(*self._records(batch), batch.outputs, which, what))
        if batch.scripts is not None and what in (BEGIN, NEXT, CONTINUE):
            batch.scripts.begin(batch, which, what == CONTINUE)
        return faults

    def _kernels(self, batch: Batch) -> Kernels:
        """Return the kernels that the configs of a batch need."""
        if batch.kernels is None:
            batch.kernels = self.kernels_for(batch.tables)
        return batch.kernels

    def _records(self, batch: Batch) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return states and tables of a batch as kernels take them."""
        if batch.kernel_states is None:
            batch.kernel_states = self.for_kernels(batch.states)
        return batch.kernel_states, readable(batch.tables)

    def refresh_batch(self, batch: Batch) -> None:
        """Write vectors and masks again, after the records were replaced."""
        self.reset_batch(batch, np.arange(len(batch.states)), SHOW)
        batch.any_over = bool(batch.states["over"].any())

    def step_batch(self, batch: Batch, mode: int, focal: int, acts: NDArray[np.int32]) -> int:
        """Advance every environment by one step, and write all arrays of `batch`.

        Args:
            batch: The environments.
            mode: `DISABLED`, `NEXT_STEP` or `SAME_STEP` of `compiled.stepping`; under `SAME_STEP`,
                the last observations are in ``batch.final_obs``.
            focal: The agent whose end is that of the episode; -1 for the last agent to end.
            acts: The index of every agent's command, environments first.

        Returns:
            How many environments could not be reset, or ``-1 - i`` if act i is not in the table
            (acts of agents that are not in play count too); in that case nothing has changed.
        """
        over = batch.states["over"].nonzero()[0] if batch.any_over and mode == NEXT_STEP else None
        step = self._kernels(batch).step
        count = int(step(*self._records(batch), batch.outputs, acts, focal))
        if count < 0:
            return count
        if batch.scripts is not None:
            count = batch.scripts.after(batch, acts, focal)
        batch.any_over = count > 0
        if mode == SAME_STEP and count:
            return self.renew_batch(batch, batch.states["ended"].nonzero()[0])
        if over is None or not over.size:
            return 0
        return self.reset_batch(batch, over, NEXT)

    def renew_batch(self, batch: Batch, ended: NDArray[np.int64]) -> int:
        """Start the next episodes of environments in the step that ended them; see `step_batch`."""
        batch.final_obs[ended] = batch.obs[ended]
        return self.reset_batch(batch, ended, CONTINUE)

    # -- an episode -----------------------------------------------------------------------

    @property
    def num_actions(self) -> int:
        """The size of the table of commands."""
        return len(self.commands)

    @property
    def alive(self) -> Sequence[bool]:
        """Which agents are in play."""
        flags: list[bool] = self._alive.tolist()
        return flags

    def begin(self, seed: int) -> None:
        """Start the episode of an effective seed."""
        self._marks = [0] * len(self.agents)
        if fault := self._reset_one(self.one, BEGIN, seed):
            raise GenerationError(self.explain_fault(fault, self.config))

    def step(self, acts: Sequence[Act]) -> StepResult:
        """Advance by one step."""
        try:
            self._pack(*acts)
        except (struct.error, TypeError):
            try:  # agents that are not in play do nothing
                self._pack(*[ABSENT if act is None else act for act in acts])
            except (struct.error, TypeError):
                return self._step_decoded(acts)
        notable = self.kernels.step_one(self._one)
        if notable < 0:
            return self._step_decoded(acts)  # which says what is wrong
        if self.script is not None:
            self._last = acts, self._play_script(self.script)
            return self._last[1]
        outcomes = self.outcome_of
        named: list[Outcome] = []
        for event in self._event_view:
            named.append(outcomes[event])
        rewards = self._reward_view.tolist()
        if not notable:
            result = _new_result((rewards, self._nobody, self._nobody, named, False, {}))
        else:
            ended, cut = self._ends
            terminated, truncated = ended.tolist(), cut.tolist()
            over = True in terminated or True in truncated
            result = _new_result((rewards, terminated, truncated, named, over, self._notes()))
        self._last = acts, result
        return result

    def _play_script(self, run: ScriptRun) -> StepResult:
        """Let the script do its part after a step, and return what both did."""
        slots, one, (ended, cut) = len(self.agents), self.one, self._ends
        events = self._events[None]
        turn = StepArrays(
            states=self.states,
            rewards=one["rewards"][:, :slots],
            terminated=ended[None],
            truncated=cut[None],
            played=events != NONE,
            acts=one["acts"][:, :slots],
            outcomes=codes_of(self.outcome_of)[events],
            milestones=self.reached(self.states, run.milestones),
            entered=self.who_entered(events),
        )
        changes = after_step(run, turn)
        notes = carry_out(self, run, changes, self._notes(), ended | cut)
        terminated, truncated = ended.tolist(), cut.tolist()
        outcomes = [self.outcome_of[event] for event in self._event_view]
        rewards, over = self._reward_view.tolist(), any(terminated) or any(truncated)
        return StepResult(rewards, terminated, truncated, outcomes, over, notes)

    def who_entered(self, events: NDArray[np.uint8]) -> NDArray[np.bool_] | None:
        """Return which agents have just entered, by their events, or ``None`` if none can."""
        return events == self.entered if self.capabilities.late_join else None

    def reached(self, states: NDArray[Any], names: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
        """Return which agents have reached some milestones of the world, by name."""
        bits = {name: self.milestones.index(name) for name in names if name in self.milestones}
        if not bits:
            return {}
        marks = states["marks"][:, : len(self.agents)]
        return {name: (marks >> bit & 1) != 0 for name, bit in bits.items()}

    def action_codes(self, word: str) -> tuple[int, ...]:
        """Return the indices of the commands that `word`, a line or a verb, stands for."""
        meant = self.read(0, word)
        known = enumerate(self.commands)
        return tuple(k for k, c in known if c == meant or word in (c.verb, self.write(c)))

    def finish(self, states: NDArray[Any], who: NDArray[np.bool_], result: Result) -> None:
        """Give some agents the first fate that has a result, and take them out of play."""
        places = who.nonzero()
        states["fate"][places] = self.result_of.index(result, 1)
        states["alive"][places] = 0

    def take_config(self, config: C) -> None:
        """Take another config."""
        super().take_config(config)
        self.tables[...] = self.new_table(self.config)
        self._read_config()

    def _read_config(self) -> None:
        """Keep what follows from the config alone."""
        self.form = self.modules.form_of(self.config)
        self.awaiting_agents = self.capabilities.late_join and bool(self.config.latecomers)
        grammar, commands = self.make_grammar(), self.make_commands()
        known: CommandTable | None = getattr(self, "_table", None)
        if known is not None and (grammar, commands) == (known.grammar, known.commands):
            self._table = known.afresh()
            return
        indices = {command: index for index, command in enumerate(commands)}
        self._table = CommandTable(grammar, commands, indices, [])
        self._table.lines.extend(map(self.write, commands))

    def change_settings(self, fields: Mapping[str, Any]) -> None:
        """Apply changed fields of the config; vectors and masks are recomputed."""
        super().change_settings(fields)
        self.refresh()

    def _step_decoded(self, acts: Sequence[Act]) -> StepResult:
        """Advance by one step when not all acts are plain indices."""
        alive, known = self.alive, self._table.indices
        acts = [
            self.check(i, act) if isinstance(act, Command) and act not in known else act
            for i, act in enumerate(acts)
        ]
        codes = [self._code(i, act) if alive[i] else ABSENT for i, act in enumerate(acts)]
        self.one["coded"] = 1
        try:
            result = explain_invalid(self.step(codes), acts)
        finally:
            self.one["coded"] = 0
        noop = self.noop
        done = [(noop if act is None else act) if alive[i] else None for i, act in enumerate(acts)]
        self._last = done, result
        return result

    def _code(self, agent: int, act: Act) -> int:
        """Translate an act into what the kernel takes.

        Raises:
            ActionError: If it is an index that is not in the table.
        """
        if act is not None and not isinstance(act, InvalidAction | Command):
            return check_index(act, self.num_actions, self.agents[agent])
        if act is None:
            return ABSENT
        if isinstance(act, Command):
            known = self._table.indices.get(act)
            return self._code_without_index(agent) if known is None else known
        return _MISREADS.get(act.outcome, _MISREADS[Outcome.UNPARSABLE])

    def _code_without_index(self, agent: int) -> int:
        """Return the code of a command of the grammar that no index stands for.

        Such a command, as telling an agent nothing, is illegal: any illegal index stands for it.
        """
        masked = np.flatnonzero(self._masks[agent] == 0)
        return int(masked[0]) if masked.size else _MISREADS[Outcome.UNPARSABLE]

    def make_level(self, one: NDArray[Any], seed: int) -> int:
        """Start an episode in a batch of one; return the fault that prevented it, or 0."""
        return self._reset_one(one, BEGIN, seed)

    def _reset_one(self, one: NDArray[Any], what: int, seed: int = 0) -> int:
        """Call the kernel `reset_one` on a batch of one, and return the fault."""
        if one is self.one:
            return int(self.kernels.reset_one(self._one, what, seed))
        # The kernel has only the addresses: `seen` keeps the arrays alive until it has written.
        seen = self._new_outputs(one)
        one["obs"], one["masks"] = (array.ctypes.data for array in seen)
        return int(self.kernels_for(one["table"]).reset_one(self.for_kernels(one), what, seed))

    def refresh(self) -> None:
        """Rebuild what is derived from the canonical state, vectors and masks included."""
        self._reset_one(self.one, REBUILD)

    def forget_events(self) -> None:
        """Let `refresh` show something to agents in play alone.

        What others saw last is in no state, and must not be remembered again.
        """
        self._events[:] = self._alive

    def show(self, events: NDArray[np.uint8], vectors: NDArray[Any]) -> None:
        """Set what a state does not hold: events, and the last vectors of agents that are done."""
        self._events[:], self._obs[:] = events, vectors

    def note_step(self, acts: Sequence[Act], result: StepResult | None) -> None:
        """Note a step of a batch, and keep its acts where the rules keep those of their own steps.

        Reasons for a failure can depend on them.
        """
        super().note_step(acts, result)
        if result is not None:
            self._pack(*[ABSENT if act is None else act for act in acts])

    def give_hint(self, agent: int, hint: str | None) -> None:
        """Show a hint in the text and, hashed, in the vector."""
        super().give_hint(agent, hint)
        code = slice(agent * HINT_CODE, (agent + 1) * HINT_CODE)
        self.states["hint"][0, code] = hash_text(self.hints[agent])
        self.refresh()

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Do what `step` does; commands are translated to indices."""
        return self.step(plans)

    def _notes(self) -> dict[int, dict[str, Any]]:
        """Return the milestones first reached in this step, and which agents entered, by agent."""
        notes: dict[int, dict[str, Any]] = {}
        for agent, marks in enumerate(self._mark_view.tolist()):
            new = marks & ~self._marks[agent]
            if new:
                notes[agent] = {"milestones": [*_named(self.milestones, new)]}
                self._marks[agent] = marks
        if self.awaiting_agents:
            for agent in np.flatnonzero(self._events == self.entered).tolist():
                notes[agent] = {**notes.get(agent, {}), "joined": True}
        return notes

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents act in this order until it is changed; the first agent wins a conflict."""
        self.states["order"][0, : len(order)] = order

    # -- what agents know and can do ------------------------------------------------------

    @property
    def vector_space(self) -> Box:
        """A Box; see the module `facts` of the world."""
        box: Box = self.modules.views.vector_box(self.envelope)
        return box

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        words: Manual = self.modules.manual(self.config)
        return words

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return the function that writes texts from what `capture` returned."""
        return functools.partial(self.modules.texts.write_kept, self.form)

    def vector(self, facts: F) -> NDArray[Any]:
        """Return the vector of the facts."""
        vector: NDArray[Any] = self.modules.views.vector_of(facts, self.form)
        return vector

    def capture(self) -> Sequence[Any]:
        """Keep the vectors: with the hints they hold every fact."""
        vectors = [row.copy() for row in self._obs_rows]
        if any(self.hints):
            return list(zip(vectors, self.hints, strict=True))
        return vectors

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        """Return each agent's vector, a fresh array each."""
        if kept is None:
            return [row.copy() for row in self._obs_rows]
        return [entry[0] if isinstance(entry, tuple) else entry for entry in kept]

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return each agent's mask, a fresh array each."""
        found = []
        for row in self._mask_rows:  # for a few agents cheaper than a comprehension, up to 3.11
            found.append(row.copy())
        return found

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return the command of an index; the table is fixed and the same for all agents."""
        return self.commands[index]

    def describe_step(self, acts: Sequence[Act], result: StepResult) -> list[LastStep | None]:
        """Return, for each agent, what its command did in the step that has just been done.

        Most steps are like earlier ones: an index did what it always does, and the index, the
        event, the reward and what was in the way say all there is to know about the step.
        """
        (rewards, _, _, outcomes, _, notes), known = result, self._table.shown
        for note in notes.values() if notes else ():
            if len(note) > 1 or "milestones" not in note:
                return super().describe_step(acts, result)
        events = self._event_view
        found: list[LastStep | None] = []
        for i, act in enumerate(acts):
            if act is None or isinstance(act, tuple):
                step = act and self._last_step(i, act, outcomes[i], rewards[i], notes)
            else:
                outcome = outcomes[i]
                why = self.why_failed(i) if outcome is _FAILED else None
                key: tuple[Any, ...] = act, events[i], rewards[i], why
                if i in notes:
                    key = *key, *notes[i]["milestones"]
                step = known.get(key)
                if step is None:
                    step = self._last_step(i, act, outcome, rewards[i], notes)
                    if len(known) >= MOST_KNOWN:
                        known.clear()
                    known[key] = step
            found.append(step)
        return found

    def line_of(self, agent: int, act: Command | int) -> str:
        """Return the text of a command, or of the command of an index."""
        return self.write(act) if isinstance(act, Command) else self._table.lines[act]

    def admissible(self, agent: int) -> list[Command]:
        """Return the commands whose mask is 1; none for an agent that is not in play."""
        if not self.states["alive"][0, agent]:
            return []
        mask = self._masks[agent].tolist()
        return [command for command, legal in zip(self.commands, mask, strict=True) if legal]

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether a well-formed command is legal now."""
        index = self._table.indices.get(command)
        return index is not None and bool(self._alive[agent] and self._masks[agent, index])

    # -- the state is a value -------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return the canonical fields by name."""
        states = self.states  # its fields are several times cheaper to take than those of a record
        return {name: states[name].tolist()[0] for name in self.state_fields}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore the canonical fields."""
        if not isinstance(state, Mapping):
            kind = type(state).__name__
            raise SnapshotError(f"{self.name}: a state is a mapping, not {kind}")
        filled = self.states.copy()
        for name in self.state_fields:
            if name not in state:
                raise SnapshotError(f"{self.name}: the state lacks {name!r}")
            filled[name][0] = read_field(self.name, name, state[name], filled.dtype[name])
        problem = self.state_problem(filled[0], self.tables[0])
        if problem:
            raise SnapshotError(f"{self.name}: {problem}")
        self.states[...] = filled
        self._marks = filled["marks"][0, : len(self.agents)].tolist()
        self.forget_events()
        self.refresh()

    def twin(self, agent: int) -> Self | None:
        """Return a copy whose fields that the agent cannot know have other values."""
        found = super().twin(agent) or copy.deepcopy(self)
        state = found.get_state()
        found.set_state({**state, **self.unknown_to(agent)})
        return found if found.get_state() != self.get_state() else None

    def unknown_to(self, agent: int) -> dict[str, Any]:
        """Return other values for canonical fields that the agent cannot know."""
        return {}

    def digest(self) -> str:
        """Hash the canonical bytes of the record."""
        return self.digest_with(digest_bytes(b"".join(self._canonical)), self.script)

    def level(self) -> str:
        """Hash what the reset drew: the canonical bytes without seeds and random streams."""
        return f"{int(self.levels(self.states, np.zeros(1, np.int64))[0]):016x}"

    def levels(self, states: NDArray[Any], which: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return, as numbers, what `level` returns for some of many environments."""
        found = np.zeros(len(which), np.uint64)
        hash_rows(
            bytes_of(states), _drawn_parts(states.dtype, tuple(self.state_fields)), which, found
        )
        return found

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Draw the state with letters."""
        drawn: str = self.modules.pictures.ansi(self._scene())
        return drawn

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the state as a picture."""
        pixels: NDArray[np.uint8] = self.modules.pictures.rgb(self._scene())
        return pixels

    @staticmethod
    def digest_with(found: str, run: ScriptRun | None, env: int = 0) -> str:
        """Return a digest that also stands for what the script does in an environment."""
        return found if run is None else digest_json([found, run.digest(env)])


@functools.lru_cache(maxsize=1024)
def _named(milestones: tuple[str, ...], marks: int) -> tuple[str, ...]:
    """Return the milestones that some marks stand for."""
    return tuple([name for bit, name in enumerate(milestones) if marks >> bit & 1])


@functools.cache
def _places_of(results: tuple[Result, ...]) -> NDArray[np.uint8]:
    """Return results as indices into `RESULTS`; the array must not be changed."""
    return np.array([RESULTS.index(result) for result in results], np.uint8)


@functools.lru_cache(maxsize=64)
def _drawn_parts(record: np.dtype[Any], names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return where the fields of a record lie that are neither seeds nor random streams."""
    places = places_of(record, [name for name in names if name not in RANDOM_PARTS])
    return np.array([(place.start, place.stop) for place in places], np.int64)


def steps_in_batches(world: World[Any, Any]) -> TypeGuard[ArrayWorld[Any, Any]]:
    """Return whether a kernel steps many environments of a world at once, under its config."""
    return isinstance(world, ArrayWorld) and world.capabilities.batched
