"""Listens to a batch of environments, and feeds a `Recorder`: each slot is a run of episodes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from piase_gym.core.commands import OUTCOMES
from piase_gym.core.events import Event
from piase_gym.errors import UnsupportedError
from piase_gym.runs.derive import PERCEPT
from piase_gym.runs.episode_record import EpisodeRecord
from piase_gym.runs.expand import AgentEvent
from piase_gym.runs.lines import Extra
from piase_gym.runs.manifest import make_manifest
from piase_gym.runs.options import Options
from piase_gym.runs.press import Block
from piase_gym.runs.recorder import Recorder
from piase_gym.runs.schema import ACTIONS, REBUILD
from piase_gym.runs.sinks import LoggerInterface
from piase_gym.runs.writer import LONG

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from piase_gym.envs.batch import BatchEnv

KINDS = ("batch_reset", "batch_step", "batch_restore", "hint", "rebuild", "log", "close")
MANY = 8192
"""The queue is emptied when it has so many steps of slots."""
NAMES = [str(outcome) for outcome in OUTCOMES]


class BatchRecorder(Recorder):
    """Writes the run of a batch: one line a slot and step, with the entry ``slot``.

    `step` counts steps of the whole batch, `episode` the episodes of all slots together.
    """

    def __init__(
        self, env: BatchEnv, sinks: Sequence[LoggerInterface], options: Options, face: str
    ) -> None:
        """Write the manifest and start to listen."""
        super().__init__(env.world, sinks, options)
        if env.world.num_actions > 256:
            raise UnsupportedError(
                f"batches of {env.world.name} have too many actions to be logged"
            )
        self.env, self.face = env, face
        self._episode_records: list[EpisodeRecord | None] = [None] * env.num_envs
        self._configs = [0] * env.num_envs
        self._due, self._rows = options.snapshot_every, 0
        self._known, self._begun = np.zeros((2, env.num_envs), np.bool_)
        self._episodes = np.zeros(env.num_envs, np.int64)
        self._never_plain = self.levels.highest > ACTIONS or not self.levels.steps
        self._meet_world()
        self.start(self._manifest())
        if env.ready.any():
            self._on_batch_restore()
        self._leave.append(env.events.subscribe(self._hear, KINDS))

    def _meet_world(self) -> None:
        """Take note of what depends on the world."""
        self._seers = [n for n in self.agents if self.wants(n, PERCEPT)]
        self._totals = np.zeros((self.env.num_envs, len(self.agents)))
        self._viewed: Any = None
        self._views: list[memoryview] | None = None
        if self.world.milestones:
            self._marks = self.env.batch.states["marks"][:, : len(self.agents)].copy()

    def _manifest(self) -> dict[str, Any]:
        """Return what is needed to execute the run again."""
        env, options = self.env, self.options
        origin, count = env.events.origin, env.num_envs
        return make_manifest(env.world, env.partners, self.face, options, origin, num_envs=count)

    def episode_records(self) -> Sequence[EpisodeRecord | None]:
        """Return the books of all slots."""
        return self._episode_records

    def _hear(self, event: Event) -> None:
        """Take note of an event."""
        if event.kind == "batch_step":
            self._on_step(event.data)
        elif event.kind == "batch_reset":
            for slot in event.data["slots"]:
                self._reset(slot)
        elif event.kind == "batch_restore":
            self._on_batch_restore()
        elif event.kind == "hint":
            self._on_hint(event)
        elif event.kind == "rebuild":
            self.take_world(self.env.world)
            self._meet_world()
            self.start({**self._manifest(), "control": REBUILD})
        elif event.kind == "close":
            self.finish("closed")
        else:
            data = event.data
            kinds = {"component": data.get("component"), "log_level": data.get("log_level")}
            self.post(data["event_type"], data["data"], event.agent, **kinds)

    # -- episodes -------------------------------------------------------------------------

    def _reset(self, slot: int) -> None:
        """An episode of one slot begins."""
        self.break_off(self._episode_records[slot], "reset")
        self._follow_config(slot)
        episode_record = self._enter(slot)
        entry = {
            "kind": "reset",
            "seed": episode_record.seed,
            "agents": list(episode_record.names),
            "slot": slot,
        }
        entry["digest"] = self.env.digest(slot)
        self.post(
            "ENVIRONMENT_EVENT_OCCURRED",
            entry,
            episode=episode_record.episode,
            ns=episode_record.ns,
        )
        for name, percept in self._percepts(slot, episode_record.names).items():
            self.post(PERCEPT, percept, name, episode=episode_record.episode, ns=episode_record.ns)

    def _on_hint(self, event: Event) -> None:
        """An agent of one slot is given a hint."""
        self.hints += 1
        slot, message = event.data["slot"], event.data["message"]
        entry = {"kind": "hint", "agent": event.agent, "message": message, "slot": slot}
        episode_record = self._episode_records[slot]
        number = None if episode_record is None else episode_record.episode
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
        states = self.env.batch.states
        seed, totals = int(states["seed"][slot]), self._totals[slot]
        episode_record = self.open_episode_record(self._episode_records[slot], slot, seed, totals)
        self._known[slot], self._begun[slot], self._episodes[slot] = (
            True,
            False,
            episode_record.episode,
        )
        if self.world.milestones:
            self._marks[slot] = states["marks"][slot, : len(self.agents)]
        alive = states["alive"][slot, : len(self.agents)]
        episode_record.seat(int(i) for i in alive.nonzero()[0])
        self._episode_records[slot] = episode_record
        return episode_record

    def _on_batch_restore(self) -> None:
        """All slots were put into other states."""
        for slot in self.env.ready.nonzero()[0].tolist():
            self.break_off(self._episode_records[slot], "restored")
            self._configs[slot] = int(self.env.batch.states["config"][slot])
            episode_record = self._enter(slot)
            entry = {
                "kind": "restore",
                "seed": episode_record.seed,
                "agents": list(episode_record.names),
            }
            entry |= {"digest": self.env.digest(slot), "snapshot": self.env.slot_snapshot(slot)}
            entry["slot"] = slot
            self.post("ENVIRONMENT_STATE_CHANGED", entry, episode=episode_record.episode)

    # -- steps ----------------------------------------------------------------------------

    def _on_step(self, data: Mapping[str, Any]) -> None:
        """Take note of a step of all slots."""
        ns, batch = time.monotonic_ns(), self.env.batch
        stepping = ~data["over"] & data["alive"].any(axis=1) & self._known
        for slot in (stepping & ~self._begun).nonzero()[0].tolist():
            self.begin(self._episode_record(slot))
            self._begun[slot] = True
        self.step += 1
        marks = self._milestones()
        ends = np.logical_or.reduce(batch.terminated | batch.truncated, axis=1)
        notable = ends | self._never_plain
        if marks:
            notable[list(marks)] = True
        if self.env.awaiting_agents:
            here = batch.states["alive"][:, : len(self.agents)].astype(np.bool_)
            notable |= (here & ~data["alive"]).any(axis=1)
        if self.targets:
            notable[:] = True
        slots = stepping.nonzero()[0]
        rows = self._block(ns, slots, data)
        slow = notable[slots].nonzero()[0]
        rewards = rows.rewards.copy()
        rewards[slow] = 0.0  # these are added one by one
        self._totals[slots] += rewards
        start = 0
        for place in slow.tolist():
            self._put_block(rows, start, place)
            self._step_slowly(ns, int(slots[place]), rows.row(place), marks)
            start = place + 1
        self._put_block(rows, start, len(slots))
        self._now_and_then(slots, bool(ends.any()))

    def _block(self, ns: int, slots: NDArray[np.int64], data: Mapping[str, Any]) -> Block:
        """Copy what a step did in some slots."""
        env = self.env
        if self._views is None or self._viewed is not env.batch.states:
            self._viewed, size = env.batch.states, env.world.canonical_size
            rows = self._viewed.view(np.uint8).reshape(env.num_envs, -1)
            self._views = [memoryview(row[:size]) for row in rows]
        views, hashed = self._views, xxhash.xxh3_64_intdigest
        digests = np.zeros(len(slots), np.uint64)
        if self.writer.final:
            digests[:] = [hashed(views[slot]) for slot in slots.tolist()]
        return Block(
            ns,
            self.step,
            slots,
            self._episodes[slots],
            data["acts"][slots].astype(np.int64),
            env.outcome_codes[slots].astype(np.int64),
            env.batch.rewards[slots],
            data["alive"][slots],
            digests,
        )

    def _put_block(self, rows: Block, start: int, stop: int) -> None:
        """Queue the plain steps of some slots that follow each other."""
        if start < stop:
            self._rows += stop - start
            self.put(rows.part(start, stop))

    def _step_slowly(self, ns: int, slot: int, row: Block, marks: Mapping[int, Any]) -> None:
        """Take note of a slot's step of which there is more to say."""
        episode_record, env = self._episode_record(slot), self.env
        extra = Extra(more={"slot": slot})
        playing, names = episode_record.playing, episode_record.names
        over = bool(np.any(env.batch.terminated[slot] | env.batch.truncated[slot]))
        if over:
            self._note_ends(extra, episode_record, slot)
        if slot in marks:
            extra.more = {**extra.more, "milestones": marks[slot]}
        if self.targets:
            arrived = self.targets.reached(env.at(slot), playing, slot)
            if arrived:
                extra.more = {**extra.more, "targets": arrived}
        if self._seers:
            extra.percepts = self._percepts(slot, names)
        acts, rewards, codes = row.acts[0].tolist(), row.rewards[0].tolist(), row.codes[0].tolist()
        packed, own = bytes([acts[i] for i in playing]), [rewards[i] for i in playing]
        said = [NAMES[codes[i]] for i in playing]
        episode_record.add(own)
        digest = f"{int(row.digests[0]):016x}"
        self.put((ns, self.step, episode_record.episode, names, packed, said, own, digest, extra))
        if over or env.awaiting_agents:
            self._change_seats(episode_record, slot, ns)

    def _episode_record(self, slot: int) -> EpisodeRecord:
        """Return the record of a slot in which an episode goes on."""
        episode_record = self._episode_records[slot]
        assert episode_record is not None
        return episode_record

    def _milestones(self) -> dict[int, dict[str, list[str]]]:
        """Return the milestones that were reached in this step: slot -> agent -> names."""
        found: dict[int, dict[str, list[str]]] = {}
        if not self.world.milestones:
            return found
        marks = self.env.batch.states["marks"][:, : len(self.agents)]
        if not (marks != self._marks).any():
            return found
        new = marks & ~self._marks
        self._marks = marks.copy()
        for slot, agent in zip(*(axis.tolist() for axis in new.nonzero()), strict=True):
            bits = int(new[slot, agent])
            names = [name for bit, name in enumerate(self.world.milestones) if bits >> bit & 1]
            found.setdefault(slot, {})[self.agents[agent]] = names
        return found

    def _note_ends(self, extra: Extra, episode_record: EpisodeRecord, slot: int) -> None:
        """Say who ended in a step, and how."""
        batch, playing = self.env.batch, episode_record.playing
        extra.terminated = [bool(batch.terminated[slot, i]) for i in playing]
        extra.truncated = [bool(batch.truncated[slot, i]) for i in playing]
        world = self.env.at(slot)
        over = zip(playing, extra.terminated, extra.truncated, strict=True)
        results = {self.agents[i]: str(world.result(i)) for i, t, u in over if t or u}
        extra.more = {**extra.more, "results": results}
        for i in playing:
            measures = world.measure(i) if self.agents[i] in results else {}
            if measures:
                episode_record.measures[self.agents[i]] = dict(measures)
        episode_record.results.update(results)

    def _change_seats(self, episode_record: EpisodeRecord, slot: int, ns: int) -> None:
        """Close the goals of those who ended, open those of who entered."""
        now = self.env.batch.states["alive"][slot, : len(self.agents)].nonzero()[0].tolist()
        found: list[AgentEvent] = []
        for agent in [i for i in episode_record.playing if i not in now]:
            found += self.closed_goal(
                episode_record, agent, episode_record.results[self.agents[agent]]
            )
        for agent in [i for i in now if i not in episode_record.joined]:
            found += self.opened(episode_record, agent)
        if not now:
            found += self.reported(episode_record)
        self.put_entries(found, episode_record.episode, ns)
        episode_record.seat(now)

    def _now_and_then(self, stepping: NDArray[np.int64], ended: bool) -> None:
        """Do what needs not be done for every line."""
        if self.step >= self._due and self.wants("system", "ENVIRONMENT_STATE_CHANGED"):
            self._due += self.options.snapshot_every
            for slot in stepping.tolist():
                episode_record = self._episode_records[slot]
                data = {"kind": "snapshot", "snapshot": self.env.slot_snapshot(slot), "slot": slot}
                number = None if episode_record is None else episode_record.episode
                self.post("ENVIRONMENT_STATE_CHANGED", data, episode=number)
        if ended or len(self.writer.queue) >= LONG or self._rows >= MANY:
            self._rows = 0
            self.writer.flush()

    def _percepts(self, slot: int, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return what agents of a slot perceive now; see `EnvRecorder`."""
        rows: NDArray[Any] = self.env.batch.obs[slot]
        time_now = float(self.env.batch.states["t"][slot])
        return {
            name: {
                "timestamp": time_now,
                "sensor_data": {"vector": rows[self.agents.index(name)].copy()},
                "slot": slot,
            }
            for name in self._seers
            if name in names
        }
