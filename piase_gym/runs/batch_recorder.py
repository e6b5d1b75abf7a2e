"""Listens to a batch of environments, and writes lines: each slot is a run of episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from piase_gym.core.events import Event
from piase_gym.core.world import StepResult
from piase_gym.runs.episode_record import EpisodeRecord
from piase_gym.runs.lines import Out
from piase_gym.runs.manifest import make_manifest
from piase_gym.runs.options import Options
from piase_gym.runs.recorder import Recorder
from piase_gym.runs.schema import FULL, REBUILD, SCHEMA_VERSION, SYSTEM

if TYPE_CHECKING:
    from piase_gym.envs.batch import BatchEnv

KINDS = "batch_reset batch_step batch_modify batch_restore hint rebuild log close".split()


class BatchRecorder(Recorder):
    """Writes the run of a batch: one line per slot and step, with the entry ``slot``.

    `step` counts steps of the whole batch, `episode` the episodes of all slots together.

    Args:
        env: The batch.
        out: Where the lines go.
        options: How to log.
        env_kind: The kind of environment, for the manifest.
        manifest: The manifest, if it is not made from the batch.
    """

    def __init__(
        self,
        env: BatchEnv,
        out: Out,
        options: Options,
        env_kind: str,
        manifest: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the manifest and start to listen."""
        version = SCHEMA_VERSION if manifest is None else manifest["schema_version"]
        super().__init__(env.world, out, options, version)
        self.env, self.env_kind = env, env_kind
        self._records: list[EpisodeRecord | None] = [None] * env.num_envs
        self._configs = [0] * env.num_envs
        env.note_steps()
        self.start(make_manifest(env, env_kind, options) if manifest is None else manifest)
        if env.ready.any():
            self._restored()
        self._leave.append(env.events.subscribe(self._hear, KINDS))

    def episode_records(self) -> Sequence[EpisodeRecord | None]:
        """Return the records of all slots."""
        return self._records

    def _hear(self, event: Event) -> None:
        """Take note of an event."""
        self.ns, data = self.options.clock(), event.data
        if event.kind == "batch_step":
            self._step(data)
        elif event.kind == "batch_reset":
            for slot in data["slots"]:
                self._reset(slot)
        elif event.kind == "batch_restore":
            self._restored()
        elif event.kind == "batch_modify":
            for slot, before in zip(data["slots"], data["before"], strict=True):
                self._configs[slot] = now = int(self.env.batch.states["config"][slot])
                self._tell_config(slot, "modify", self.env.configs[before], self.env.configs[now])
        elif event.kind == "hint":
            slot = data["slot"]
            self.put_hint(event.agent, data["message"], slot, self._records[slot])
        elif event.kind == "rebuild":
            self.take_world(self.env.world)
            self.env.note_steps()
            manifest = data.get("manifest") or make_manifest(self.env, self.env_kind, self.options)
            self.start({**manifest, "control": REBUILD})
        elif event.kind == "close":
            self.finish("closed")
        else:
            self._on_log(event.agent, data)

    # -- episodes -------------------------------------------------------------------------

    def _reset(self, slot: int) -> None:
        """An episode of one slot begins."""
        self.break_off(self._records[slot], "reset")
        self._follow_config(slot)
        self._enter(slot)

    def _follow_config(self, slot: int) -> None:
        """Write a slot's change of config, if there is one, for the next episode."""
        now, before = int(self.env.batch.states["config"][slot]), self._configs[slot]
        if now != before:
            self._configs[slot] = now
            old, new = self.env.base_config(before), self.env.base_config(now)
            self._tell_config(slot, "reconfigure", old, new)

    def _tell_config(self, slot: int, kind: str, before: Any, now: Any) -> None:
        """Write what changes from one config to another, if anything."""
        if changes := before.diff(now):
            entry = {"kind": kind, "changes": changes, "slot": slot}
            self.post("ENVIRONMENT_STATE_CHANGED", entry)

    def _enter(self, slot: int, snapshot: Mapping[str, Any] | None = None) -> None:
        """Open the record of a slot's episode."""
        states, count = self.env.batch.states, len(self.agents)
        old, seed, alive = self._records[slot], int(states["seed"][slot]), states["alive"][slot]
        digest = self.env.digest(slot)
        world = self.env.at(slot) if self.levels.highest == FULL else self.world
        self._records[slot] = self.enter(
            old, slot, seed, world, alive[:count].tolist(), digest, snapshot
        )

    def _restored(self) -> None:
        """Write that slots were put into other states."""
        for slot in self.env.ready.nonzero()[0].tolist():
            self._configs[slot] = int(self.env.batch.states["config"][slot])
            self._enter(slot, self.env.slot_snapshot(slot))

    # -- steps ----------------------------------------------------------------------------

    def _step(self, data: Mapping[str, Any]) -> None:
        """Take note of a step of all slots."""
        env = self.env
        stepping = (~data["over"] & data["alive"].any(axis=1)).nonzero()[0].tolist()
        slots = [slot for slot in stepping if self._records[slot] is not None]
        for slot in slots:
            record = self._record(slot)
            if not record.begun:
                self.begin(record)
        self.step += 1
        for slot in slots:
            self._step_slot(slot, *data["done"].of(slot))
        if self.step >= self._due and self.wants(SYSTEM, "ENVIRONMENT_STATE_CHANGED"):
            self._due += self.options.snapshot_every
            for slot in slots:
                self.put_snapshot(self._record(slot), env.slot_snapshot(slot))
        self.out.flush()

    def _step_slot(self, slot: int, acts: Sequence[int | None], result: StepResult) -> None:
        """Take note of a slot's step."""
        record, env = self._record(slot), self.env
        changes = result.ended or env.awaiting_agents
        looks = changes or self.targets.given or self.levels.highest == FULL
        world = env.at(slot) if looks else env.world
        digest = env.digest(slot) if self.out.final else ""
        self.put_step(record, world, acts, result, (), digest, changes)

    def _record(self, slot: int) -> EpisodeRecord:
        """Return the record of a slot in which an episode is in progress."""
        record = self._records[slot]
        assert record is not None
        return record

    def time_of(self, record: EpisodeRecord) -> int:
        """Return how many steps a slot's episode has lasted."""
        return int(self.env.batch.states["t"][record.slot])
