"""Listens to a batch of environments, and writes lines: each slot is a run of episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from piase_gym.core.commands import OUTCOMES
from piase_gym.core.events import Event
from piase_gym.core.world import StepResult
from piase_gym.runs.derive import PERCEPT
from piase_gym.runs.episode_record import EpisodeRecord
from piase_gym.runs.expand import AgentEvent
from piase_gym.runs.lines import Encoder
from piase_gym.runs.manifest import make_manifest
from piase_gym.runs.options import Options
from piase_gym.runs.recorder import Out, Recorder
from piase_gym.runs.schema import REBUILD, SYSTEM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from piase_gym.envs.batch import BatchEnv

KINDS = ("batch_reset", "batch_step", "batch_restore", "hint", "rebuild", "log", "close")


class BatchRecorder(Recorder):
    """Writes the run of a batch: one line a slot and step, with the entry ``slot``.

    `step` counts steps of the whole batch, `episode` the episodes of all slots together.

    Args:
        env: The batch.
        make: Makes what takes the lines.
        options: How to log.
        face: Name of the environment, for the manifest.
        manifest: The manifest, where it is not to be made from the batch.
    """

    def __init__(
        self,
        env: BatchEnv,
        make: Callable[[Encoder], Out],
        options: Options,
        face: str,
        manifest: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the manifest and start to listen."""
        super().__init__(env.world, make, options)
        self.env, self.face = env, face
        self._records: list[EpisodeRecord | None] = [None] * env.num_envs
        self._configs = [0] * env.num_envs
        self._meet_world()
        self.start(self.manifest() if manifest is None else manifest)
        if env.ready.any():
            self._restored()
        self._leave.append(env.events.subscribe(self._hear, KINDS))

    def _meet_world(self) -> None:
        """Take note of what depends on the world."""
        self._seers = [n for n in self.agents if self.wants(n, PERCEPT)]
        if self.world.milestones:
            self._marks = self.env.batch.states["marks"][:, : len(self.agents)].copy()

    def manifest(self) -> dict[str, Any]:
        """Return what is needed to execute the run again."""
        env, options = self.env, self.options
        origin, count = env.events.origin, env.num_envs
        return make_manifest(env.world, env.partners, self.face, options, origin, num_envs=count)

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
        elif event.kind == "hint":
            self._hint(event)
        elif event.kind == "rebuild":
            self.take_world(self.env.world)
            self._meet_world()
            self.start({**data.get("manifest", self.manifest()), "control": REBUILD})
        elif event.kind == "close":
            self.finish("closed")
        else:
            kinds = {"component": data.get("component"), "log_level": data.get("log_level")}
            self.post(data["event_type"], data["data"], event.agent, **kinds)

    # -- episodes -------------------------------------------------------------------------

    def _reset(self, slot: int) -> None:
        """An episode of one slot begins."""
        self.break_off(self._records[slot], "reset")
        self._follow_config(slot)
        record = self._enter(slot)
        entry = {"kind": "reset", "seed": record.seed, "agents": list(record.names), "slot": slot}
        entry["digest"] = self.env.digest(slot)
        self.post("ENVIRONMENT_EVENT_OCCURRED", entry, episode=record.episode)
        self.put_entries(self._percepts(slot, record.names), record.episode)

    def _hint(self, event: Event) -> None:
        """An agent of one slot is given a hint."""
        self.hints += 1
        slot, message = event.data["slot"], event.data["message"]
        entry = {"kind": "hint", "agent": event.agent, "message": message, "slot": slot}
        record = self._records[slot]
        number = None if record is None else record.episode
        self.post("ENVIRONMENT_EVENT_OCCURRED", entry, episode=number)

    def _follow_config(self, slot: int) -> None:
        """Write a slot's change of config, if there is one."""
        now, before = int(self.env.batch.states["config"][slot]), self._configs[slot]
        if now != before:
            self._configs[slot] = now
            changes = self.env.configs[before].diff(self.env.configs[now])
            entry = {"kind": "reconfigure", "changes": changes, "slot": slot}
            self.post("ENVIRONMENT_STATE_CHANGED", entry)

    def _enter(self, slot: int) -> EpisodeRecord:
        """Open the record of a slot's episode."""
        states, count = self.env.batch.states, len(self.agents)
        seed = int(states["seed"][slot])
        record = self.open_episode_record(self._records[slot], slot, seed, self.ns)
        if self.world.milestones:
            self._marks[slot] = states["marks"][slot, :count]
        record.seat(states["alive"][slot, :count].nonzero()[0].tolist())
        self._records[slot] = record
        return record

    def _restored(self) -> None:
        """All slots were put into other states."""
        for slot in self.env.ready.nonzero()[0].tolist():
            self.break_off(self._records[slot], "restored")
            self._configs[slot] = int(self.env.batch.states["config"][slot])
            record = self._enter(slot)
            entry = {"kind": "restore", "seed": record.seed, "agents": list(record.names)}
            entry |= {"digest": self.env.digest(slot), "snapshot": self.env.slot_snapshot(slot)}
            entry["slot"] = slot
            self.post("ENVIRONMENT_STATE_CHANGED", entry, episode=record.episode)

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
        milestones = self._milestones()
        acts, rewards = data["acts"].tolist(), env.batch.rewards.tolist()
        ends = env.batch.terminated.tolist(), env.batch.truncated.tolist()
        codes = env.outcome_codes.tolist()
        for slot in slots:
            flags = ends[0][slot], ends[1][slot]
            ended = any(flags[0]) or any(flags[1])
            notes = milestones.get(slot, {})
            said = [OUTCOMES[code] for code in codes[slot]]
            self._step_slot(slot, acts[slot], StepResult(rewards[slot], *flags, said, ended, notes))
        if self.step >= self._due and self.wants(SYSTEM, "ENVIRONMENT_STATE_CHANGED"):
            self._due += self.options.snapshot_every
            for slot in slots:
                snapshot = {"kind": "snapshot", "snapshot": env.slot_snapshot(slot), "slot": slot}
                number = self._record(slot).episode
                self.post("ENVIRONMENT_STATE_CHANGED", snapshot, episode=number)
        self.out.flush()

    def _step_slot(self, slot: int, acts: Sequence[int], tick: StepResult) -> None:
        """Take note of a slot's step."""
        record, env = self._record(slot), self.env
        changes = tick.ended or env.awaiting_agents
        world = env.at(slot) if changes or self.targets else env.world
        names = record.names
        digest = env.digest(slot) if self.out.final else ""
        self.put_step(record, world, acts, tick, (), digest)
        if self._seers:
            self.put_entries(self._percepts(slot, names), record.episode)
        if changes:
            self.put_entries(self.seats_changed(record, world), record.episode)

    def _record(self, slot: int) -> EpisodeRecord:
        """Return the record of a slot in which an episode goes on."""
        record = self._records[slot]
        assert record is not None
        return record

    def _milestones(self) -> dict[int, dict[int, dict[str, Any]]]:
        """Return the milestones that were reached in this step: slot -> agent -> note."""
        found: dict[int, dict[int, dict[str, Any]]] = {}
        if not self.world.milestones:
            return found
        marks: NDArray[Any] = self.env.batch.states["marks"][:, : len(self.agents)]
        new = marks & ~self._marks
        self._marks = marks.copy()
        for slot, agent in np.argwhere(new).tolist():
            bits = int(new[slot, agent])
            names = [name for bit, name in enumerate(self.world.milestones) if bits >> bit & 1]
            found.setdefault(slot, {})[agent] = {"milestones": names}
        return found

    def _percepts(self, slot: int, names: Sequence[str]) -> list[AgentEvent]:
        """Return what agents of a slot perceive now; see `EnvRecorder`."""
        if not self._seers:
            return []
        rows: NDArray[Any] = self.env.batch.obs[slot]
        now = float(self.env.batch.states["t"][slot])
        return [
            (name, PERCEPT, {"timestamp": now, "sensor_data": {"vector": rows[i]}, "slot": slot})
            for i, name in enumerate(self.agents)
            if name in self._seers and name in names
        ]
