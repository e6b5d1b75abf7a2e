"""Writes a run: manifest, goals, steps, snapshots, summary. It knows events and no files.

`Recorder` has what single environments and batches share; `piase_gym.runs.env_recorder` feeds it.
Which lines follow from what happens is the matter of `piase_gym.runs.derive`.
"""

from __future__ import annotations

import time
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from piase_gym.core.world import World
from piase_gym.runs.bulk import BulkEncoder
from piase_gym.runs.derive import Deriver
from piase_gym.runs.episode_record import EpisodeRecord
from piase_gym.runs.expand import AgentEvent
from piase_gym.runs.json_values import encode
from piase_gym.runs.lines import Group, Line, StepItem
from piase_gym.runs.options import Levels, Options
from piase_gym.runs.press import Block
from piase_gym.runs.schema import SYSTEM, UNSEALED
from piase_gym.runs.sinks import LoggerInterface
from piase_gym.runs.stretch import Notation, Stretch
from piase_gym.runs.writer import LONG

NEVER = 2**62
"""The `snapshot_every` of those who want no snapshots."""


class Recorder(Deriver):
    """Writes one run.

    Attributes:
        writer: What turns events into lines.
    """

    def __init__(
        self,
        world: World[Any, Any],
        sinks: Sequence[LoggerInterface],
        options: Options,
    ) -> None:
        """Open the run; `start` writes its first line."""
        options.check()
        self.options = options
        self.run_id = options.run_id or f"{world.name}-{uuid.uuid4().hex[:16]}"
        levels = Levels(options.level, options.levels, world.name)
        super().__init__(world, levels, self.run_id)
        encoder = BulkEncoder(self.run_id, options.experiment_id, world.name, self.levels.wants)
        encoder.set_detail(self.levels.highest, self.levels.steps)
        self.writer = options.writer(encoder, sinks, options.on_error)
        self.stretch: Stretch | None = None
        """Where plain steps go, as long as nothing else happens."""
        self._last_ns = 0
        self.closed = False
        self._began = time.monotonic_ns()
        self._leave: list[Callable[[], None]] = []
        method = weakref.WeakMethod(self.finish)
        self.writer.finish = method

    # -- lines ----------------------------------------------------------------------------

    def start(self, manifest: Mapping[str, Any]) -> None:
        """Write the first line, at once: a run that dies early still says what it was."""
        self.writer.encoder.table = manifest["actions"]
        self.writer.encoder.agents = self.agents
        self.post("SIMULATION_CONTROL", manifest)
        self.writer.flush()

    def post(
        self,
        event_type: str,
        data: Mapping[str, Any],
        agent: str | None = None,
        *,
        episode: int | None = None,
        ns: int | None = None,
        component: str | None = None,
        log_level: str | None = None,
    ) -> None:
        """Queue one line, if the levels want it."""
        name = agent or SYSTEM
        self.targets.hear(event_type, agent, data)
        data, goals = self.step_goals.hear(event_type, agent, data)
        number = self.present if episode is None else episode
        clock = time.monotonic_ns() if ns is None else ns
        if self.wants(name, event_type, component):
            text = encode(data)
            line = Line(clock, name, event_type, self.step, number, text, component, log_level)
            self.put(line)
            if len(self.writer.queue) >= LONG:
                self.writer.flush()
        wanted = [line for line in goals if self.wants(line[0], line[1])]
        self.put_entries(wanted, number, clock)

    def put(self, item: Line | Group | StepItem | Block) -> None:
        """Queue something."""
        self.interrupt()
        self._last_ns = item[0]
        self.writer.queue.append(item)

    def interrupt(self) -> None:
        """Let no plain step follow those before."""
        if self.stretch is not None:
            self.settle()
            self.stretch.closed, self.stretch = True, None

    def open_stretch(self, episode_record: EpisodeRecord, notation: Notation, time: int) -> None:
        """Let plain steps follow; they become text later, all at once."""
        self.stretch = Stretch(episode_record, notation, self.step, time)
        self.writer.queue.append(self.stretch)

    def settle(self) -> None:
        """Add up the rewards of all plain steps so far."""
        if self.stretch is not None:
            with self.writer.lock:  # others may take steps out of the stretch
                self.stretch.settle()

    def flush(self) -> None:
        """Write everything that has happened so far."""
        self.writer.flush()

    # -- episodes and their goals ---------------------------------------------------------

    def put_entries(self, entries: Sequence[AgentEvent], episode: int, ns: int) -> None:
        """Queue events of one moment."""
        if entries:
            parts = [(agent, event_type, encode(data)) for agent, event_type, data in entries]
            self.put(Group(ns, self.step, episode, parts))

    def begin(self, episode_record: EpisodeRecord) -> None:
        """Open the goals of those in play, in the first step of an episode."""
        ns = max(episode_record.ns, self._last_ns)  # lines stay in the order of their clocks
        self.put_entries(self.begun(episode_record), episode_record.episode, ns)

    def break_off(self, episode_record: EpisodeRecord | None, reason: str) -> None:
        """End an episode that did not come to its own end."""
        ns = time.monotonic_ns()
        self.settle()
        entries = self.broken_off(episode_record, reason)
        if episode_record is not None:
            self.put_entries(entries, episode_record.episode, ns)

    # -- the end --------------------------------------------------------------------------

    def episode_records(self) -> Sequence[EpisodeRecord | None]:
        """Return the books of all environments."""
        return ()

    def final_state(self) -> None:
        """Write the last state, where that is of use."""

    def finish(self, reason: str = "the process ended") -> None:
        """Write the summary and close the sinks; finishing twice does no harm."""
        if self.closed:
            return
        self.closed = True
        for leave in self._leave:
            leave()
        for episode_record in self.episode_records():
            self.break_off(episode_record, reason)
        goals = [line for line in self.step_goals.end() if self.wants(line[0], line[1])]
        self.put_entries(goals, self.present, time.monotonic_ns())
        if self.options.snapshot_every < NEVER:
            self.final_state()
        self.writer.drain()
        with self.writer.lock:
            self.post("SIMULATION_CONTROL", self._end(reason))
            self.writer.seal()
        self.writer.close()

    def _end(self, reason: str) -> dict[str, Any]:
        """Return the `event_data` of the last line."""
        seconds = (time.monotonic_ns() - self._began) / 1e9
        return {
            "control": "end",
            "reason": reason,
            "summary": self.summary(self.episode_records(), seconds),
            "lines": self.writer.encoder.count + 1,
            "checksum": self.writer.checksum,
            "seal": UNSEALED,
        }
