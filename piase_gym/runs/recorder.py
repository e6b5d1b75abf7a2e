"""Writes a run: manifest, goals, steps, snapshots, summary. It knows events, but no files.

`Recorder` has what single environments and batches share; `EnvRecorder` listens to one environment.
`piase_gym.runs.derive` decides which lines follow from what happens.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from piase_gym.core.events import Event
from piase_gym.core.interrupts import uninterrupted
from piase_gym.core.world import LogEntry, StepResult, World
from piase_gym.errors import UnsupportedError
from piase_gym.runs.agent_lines import AgentEvent, step_events
from piase_gym.runs.derive import Deriver
from piase_gym.runs.episode_record import EpisodeRecord
from piase_gym.runs.lines import Encoder, Line, Out
from piase_gym.runs.manifest import make_manifest
from piase_gym.runs.options import NEVER, Levels, Options
from piase_gym.runs.schema import (
    ACTIONS,
    CRITICAL,
    REBUILD,
    SCHEMA_VERSION,
    SYSTEM,
    TYPE_OF_KIND,
    own_line,
)

if TYPE_CHECKING:
    from piase_gym.envs.runner import EpisodeRunner


class Recorder(Deriver):
    """Writes one run, as it happens or, in a replay, again.

    Attributes:
        out: Where lines go.
        ns: The time of the present event; all lines that follow from it carry this time.
    """

    def __init__(
        self, world: World[Any, Any], out: Out, options: Options, schema: int = SCHEMA_VERSION
    ) -> None:
        """Open the run; `start` writes its first line."""
        self.options = options
        self.run_id = options.name(world.name)
        levels = Levels(options.level, options.levels, world.name)
        super().__init__(world, levels, self.run_id, schema)
        self.ns = self._began = self._last_ns = options.clock()
        since = time.time_ns() - self.ns if options.epoch is None else options.epoch
        self.encoder = Encoder(self.run_id, options.experiment_id, world.name, since)
        self.out = out
        out.open(self.encoder)
        self.table: Sequence[Mapping[str, Any]] = ()
        self.closed = False
        self._writes_steps = levels.steps
        self._due = options.snapshot_every
        self._leave: list[Callable[[], None]] = []
        out.finish = weakref.WeakMethod(self.finish)
        self.release: Callable[[], object] = lambda: None
        """Lets interrupts take effect within steps again, if they are held back."""

    # -- lines ----------------------------------------------------------------------------

    def start(self, manifest: Mapping[str, Any]) -> None:
        """Write the first line at once, so that a run that dies early still says what it was."""
        self.table = manifest["actions"]
        self.post("SIMULATION_CONTROL", manifest)
        self.out.flush()

    def post(
        self,
        event_type: str,
        data: Mapping[str, Any],
        agent: str | None = None,
        *,
        episode: int | None = None,
        component: str | None = None,
        log_level: str | None = None,
    ) -> None:
        """Write one line, if the levels want it, and the goal lines that follow from it."""
        name = agent or SYSTEM
        self.targets.hear(event_type, agent, data)
        data, goals = self.step_goals.hear(event_type, agent, data)
        number = self.present if episode is None else episode
        if self.wants(name, event_type, component):
            self._last_ns = now = self.ns
            self.out.take((now, name, event_type, self.step, number, data, component, log_level))
            if self.out.full:
                self.out.flush()
        self.put_entries(goals, number)

    def put_entries(
        self, entries: Sequence[AgentEvent], episode: int, ns: int | None = None
    ) -> None:
        """Write lines of one moment, by default the present."""
        clock = self.ns if ns is None else ns
        for agent, event_type, data in entries:
            self._last_ns = clock
            self.out.take((clock, agent, event_type, self.step, episode, data, None, None))

    def put_step(
        self,
        record: EpisodeRecord,
        world: World[Any, Any],
        acts: Sequence[Any],
        result: StepResult,
        letters: Sequence[Mapping[str, Any]],
        digest: str,
        changes: bool,
    ) -> None:
        """Write all lines of a step.

        Args:
            record: The episode.
            world: The world, after the step; see `step_data` for details.
            acts: What every agent did.
            result: The result of the step.
            letters: The letters sent during the step.
            digest: The digest of the state after the step.
            changes: Whether agents may have ended or entered.
        """
        record.add(result.rewards)
        if self.levels.highest == CRITICAL:
            self.more(record, world, result, letters)
        else:
            data = self.step_data(record, world, acts, result, letters, digest)
            if self._writes_steps:
                kind = "ENVIRONMENT_EVENT_OCCURRED"
                self._last_ns = self.ns
                number = record.episode
                self.out.take((self.ns, SYSTEM, kind, self.step, number, data, None, None))
            if self.levels.highest > ACTIONS:
                observed = None
                if record.observer is not None:
                    steps = self.time_of(record)
                    observed = record.observer.step(world, record.names, result, steps)
                results = {} if observed is None else observed.results
                lines = step_events(data, record.episode, self.table, self.prefix, results)
                wanted = [line for line in lines if self.wants(line[0], line[1])]
                self.put_entries(wanted, record.episode)
                if observed is not None:
                    self.put_entries(self.full_lines(record, observed), record.episode)
                elif self.seers:
                    percepts = self.old_percepts(record, world, self.time_of(record))
                    self.put_entries(percepts, record.episode)
        if changes:
            self.put_entries(self.seat_lines(record, world), record.episode)

    def put_snapshot(self, record: EpisodeRecord, snapshot: Mapping[str, Any]) -> None:
        """Write a snapshot of the whole state."""
        data = {"kind": "snapshot", "snapshot": snapshot, **record.where}
        self.post("ENVIRONMENT_STATE_CHANGED", data, episode=record.episode)

    def put_hint(
        self, agent: str | None, message: str, slot: int | None, record: EpisodeRecord | None
    ) -> None:
        """Write that an agent is given a hint; in a batch, it belongs to the slot's episode."""
        self.hints += 1
        data: dict[str, Any] = {"kind": "hint", "agent": agent, "message": message}
        number = None
        if slot is not None:
            data["slot"] = slot
            number = None if record is None else record.episode
        self.post("ENVIRONMENT_EVENT_OCCURRED", data, episode=number)

    def _on_log(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """A user writes a line of their own; see `piase_gym.runs.log`."""
        kinds = {"component": data.get("component"), "log_level": data.get("log_level")}
        event_type, values = own_line(data)
        self.post(event_type, values, agent, **kinds)

    def flush(self) -> None:
        """Write everything that has happened so far."""
        self.out.flush()

    # -- episodes and their goals ---------------------------------------------------------

    def enter(
        self,
        old: EpisodeRecord | None,
        slot: int | None,
        seed: int | None,
        world: World[Any, Any],
        alive: Iterable[Any],
        digest: str,
        snapshot: Mapping[str, Any] | None = None,
    ) -> EpisodeRecord:
        """Write that an episode begins after another, or goes on from a snapshot."""
        reset = snapshot is None
        self.break_off(old, "reset" if reset else "restored")
        record = self.open_episode_record(old, slot, seed or 0, self.ns)
        record.seat(i for i, playing in enumerate(alive) if playing)
        entry: dict[str, Any] = {"kind": "reset" if reset else "restore", "seed": seed}
        entry["agents"] = list(record.names)
        if reset:
            entry |= {**record.where, "digest": digest}
            self.post("ENVIRONMENT_EVENT_OCCURRED", entry, episode=record.episode)
        perceived = self.first_look(record, world, self.time_of(record))
        if reset:
            self.put_entries(perceived, record.episode)
        else:
            entry |= {"digest": digest, "snapshot": snapshot, **record.where}
            self.post("ENVIRONMENT_STATE_CHANGED", entry, episode=record.episode)
        return record

    def time_of(self, record: EpisodeRecord) -> int:
        """Return how many steps an episode has lasted."""
        raise NotImplementedError

    def begin(self, record: EpisodeRecord) -> None:
        """Open the goals of the agents in play, in the first step of an episode."""
        ns = max(record.ns, self._last_ns)  # lines stay in the order of their clocks
        self.put_entries(self.start_lines(record), record.episode, ns)

    def break_off(self, record: EpisodeRecord | None, reason: str) -> None:
        """Close an episode that did not end by itself."""
        entries = self.break_off_lines(record, reason)
        if record is not None:
            self.put_entries(entries, record.episode)

    # -- the end --------------------------------------------------------------------------

    def episode_records(self) -> Sequence[EpisodeRecord | None]:
        """Return the records of all environments."""
        return ()

    def final_state(self) -> None:
        """Write the last state, where that is of use."""

    def finish(self, reason: str = "the process ended") -> None:
        """Write the summary and close the sinks; finishing twice does no harm."""
        if self.closed:
            return
        try:
            with uninterrupted:
                self._finish(reason)
        finally:
            self.release()

    def _finish(self, reason: str) -> None:
        """Do what `finish` says, once."""
        self.closed = True
        self.ns = self.options.clock()
        for leave in self._leave:
            leave()
        for record in self.episode_records():
            self.break_off(record, reason)
        self.put_entries(self.step_goals.end(), self.present)
        if self.options.snapshot_every < NEVER:
            self.final_state()
        seconds = (self.ns - self._began) / 1e9
        summary = self.summary(self.episode_records(), seconds)
        data = {"control": "end", "reason": reason, "summary": summary}
        self.out.close(Line(self.ns, SYSTEM, "SIMULATION_CONTROL", self.step, self.present, data))


KINDS = (
    "reset reconfigure modify hint message submitted order send poll letter restore rebuild state "
    "log close".split()
)


class EnvRecorder(Recorder):
    """Writes the run of one environment.

    Args:
        runner: The environment's episode runner.
        out: Where the lines go.
        options: How to log.
        env_kind: The kind of environment, for the manifest.

    Attributes:
        record: The present episode.
    """

    def __init__(self, runner: EpisodeRunner, out: Out, options: Options, env_kind: str) -> None:
        """Write the manifest and start to listen."""
        super().__init__(runner.world, out, options)
        self.runner, self.env_kind = runner, env_kind
        self.record: EpisodeRecord | None = None
        self._letters: list[dict[str, Any]] = []
        self._hashes = self.levels.steps and self.out.final
        snapshot = runner.snapshot() if runner.running else None  # it can fail: nothing is written
        self.start(make_manifest(runner, env_kind, options))
        self._take_over(snapshot)
        events = runner.events
        self._leave.append(events.subscribe(self._hear, KINDS))
        self._leave.append(events.watch(self._watch, decoded=not self.table))

    def episode_records(self) -> Sequence[EpisodeRecord | None]:
        """Return the one record."""
        return (self.record,)

    def time_of(self, record: EpisodeRecord) -> int:
        """Return how many steps the episode has lasted."""
        return self.runner.steps

    def _take_over(self, snapshot: Mapping[str, Any] | None) -> None:
        """Take over an environment that is in the middle of an episode or has a config waiting."""
        runner = self.runner
        if snapshot is not None:
            self._enter(runner.seed, snapshot)
        elif runner.next_config is not None:
            changes = runner.world.base_config.diff(runner.next_config)
            self.post("ENVIRONMENT_STATE_CHANGED", {"kind": "reconfigure", "changes": changes})

    def final_state(self) -> None:
        """Write the present state, if it is available."""
        record, there = self.record, self.levels.steps and not self.runner.reset_failed
        if record is not None and record.begun and there:
            self._put_state(record)

    def _put_state(self, record: EpisodeRecord) -> None:
        """Write a snapshot, unless the world has none, or none now as its environment fails."""
        if self.world.capabilities.snapshot:
            with contextlib.suppress(UnsupportedError):
                self.put_snapshot(record, self.world.snapshot())

    # -- events ---------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        """Take note of an event that is not a step."""
        self.ns = self.options.clock()
        if event.kind in ("reconfigure", "modify", "order"):
            self.post(TYPE_OF_KIND[event.kind], {"kind": event.kind, **event.data})
        else:
            getattr(self, f"_on_{event.kind}")(event.agent, event.data)

    def _on_reset(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """An episode begins."""
        self._letters.clear()
        self._enter(data["seed"])

    def _enter(self, seed: int | None, snapshot: Mapping[str, Any] | None = None) -> None:
        """Open the record of an episode."""
        world = self.world
        self.record = self.enter(
            self.record, None, seed, world, world.alive, world.digest(), snapshot
        )
        self._post(world.log_entries())

    def _on_hint(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """An agent is given a hint."""
        self.put_hint(agent, data["message"], None, None)

    def _on_message(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """A letter was sent; the line of its step will include it."""
        self.messages += 1
        self._letters.append(dict(data))

    def _on_send(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """A letter was put into a mailbox between two steps."""
        if not data["own"]:
            self.post("ENVIRONMENT_EVENT_OCCURRED", {"kind": "send", **_letter(data)})

    def _on_poll(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """An agent emptied its mailbox."""
        if not data["own"]:
            self.post("ENVIRONMENT_EVENT_OCCURRED", {"kind": "poll", "agent": agent})
        for letter in data["messages"]:
            self.post("NLU_OUTPUT_GENERATED", _letter(letter), agent)

    def _on_letter(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """An agent was shown a letter."""
        self.post("NLU_OUTPUT_GENERATED", _letter(data), agent)

    def _on_submitted(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """Commands were submitted with more than a verb and parameters."""
        if self.record is not None:
            self.record.submitted = data["commands"]

    def _on_restore(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """The environment was put into another state."""
        self._enter(self.runner.seed, data["snapshot"])

    def _on_rebuild(self, _agent: str | None, _data: Mapping[str, Any]) -> None:
        """The environment was given larger spaces before its first reset."""
        self.take_world(self.runner.world)
        manifest = make_manifest(self.runner, self.env_kind, self.options)
        self.start({**manifest, "control": REBUILD})

    def _on_state(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """An agent shows its inner state."""
        self.post("STATE_UPDATE", dict(data["state"]), agent)

    def _on_close(self, _agent: str | None, _data: Mapping[str, Any]) -> None:
        """The environment is closed."""
        self.finish("closed")

    # -- steps ----------------------------------------------------------------------------

    def _watch(self, acts: Sequence[Any], result: StepResult) -> None:
        """Take note of a step."""
        record, world = self.record, self.world
        if record is None:
            return
        self.ns = self.options.clock()
        if not record.begun:
            self.begin(record)
        self.step += 1
        digest = world.digest() if self._hashes else ""
        changes = result.ended or world.awaiting_agents
        self.put_step(record, world, acts, result, self._letters, digest, changes)
        if self._letters:
            self._letters = []
        if record.submitted:
            record.submitted = {}
        if entries := world.log_entries():
            self._post(entries)
        if self.step >= self._due:
            self._due += self.options.snapshot_every
            self._put_state(record)
        if self.out.full or (
            result.ended and not any(agent in record.playing for agent in self.runner.caller_agents)
        ):
            self.out.flush()

    def _post(self, entries: Iterable[LogEntry]) -> None:
        """Write the lines that the world has for logs."""
        for agent, event_type, data in entries:
            self.post(event_type, data, agent)


def _letter(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a letter as plain values."""
    return {key: data[key] for key in ("sender", "recipient", "message")}
