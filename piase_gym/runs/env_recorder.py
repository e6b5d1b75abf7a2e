"""What a recorder of a single environment does about all that is not a step."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from xxhash import xxh3_64_intdigest

from piase_gym.core.events import Event
from piase_gym.core.world import StepResult
from piase_gym.runs.derive import PERCEPT, act_value
from piase_gym.runs.episode_record import EpisodeRecord
from piase_gym.runs.expand import AgentEvent
from piase_gym.runs.json_values import encode
from piase_gym.runs.lines import Extra
from piase_gym.runs.manifest import command_table, make_manifest
from piase_gym.runs.options import Options
from piase_gym.runs.recorder import Recorder
from piase_gym.runs.schema import CRITICAL, REBUILD
from piase_gym.runs.sinks import LoggerInterface
from piase_gym.runs.stretch import Notation, Stretch
from piase_gym.runs.writer import LONG

if TYPE_CHECKING:
    from piase_gym.envs.runner import EpisodeRunner


KINDS = (
    "reset reconfigure hint message order send poll letter restore rebuild state log close".split()
)


class EventRecorder(Recorder):
    """Hears a runner's events and writes their lines; `EnvRecorder` adds the steps.

    Attributes:
        runner: What steps the environment.
        episode_record: The present episode.
    """

    def __init__(
        self, runner: EpisodeRunner, sinks: Sequence[LoggerInterface], options: Options
    ) -> None:
        """Open the run."""
        super().__init__(runner.world, sinks, options)
        self.runner = runner
        self.episode_record: EpisodeRecord | None = None
        self._letters: list[dict[str, Any]] = []
        self._find_seers()

    def _find_seers(self) -> None:
        """Find out whose perceptions are logged."""
        self._seers = [n for n in self.agents if self.wants(n, PERCEPT)]

    def episode_records(self) -> Sequence[EpisodeRecord | None]:
        """Return the one book."""
        return (self.episode_record,)

    def _percepts(self, names: Sequence[str]) -> list[AgentEvent]:
        """Return what agents perceive now."""
        return self.percepts(names, self.world, self.runner.steps, None) if self._seers else []

    def _take_over(self) -> None:
        """Begin with an environment that is in the midst of an episode or has a config waiting."""
        runner = self.runner
        if runner.seed is not None and any(runner.world.alive):
            self._restored(runner.snapshot())
        elif runner.next_config is not None:
            changes = runner.world.config.diff(runner.next_config)
            self.post("ENVIRONMENT_STATE_CHANGED", {"kind": "reconfigure", "changes": changes})

    def final_state(self) -> None:
        """Write the state of now, if it can be had."""
        if self.episode_record is not None and self.episode_record.begun and self.levels.steps:
            data = {"kind": "snapshot", "snapshot": self.world.snapshot()}
            self.post("ENVIRONMENT_STATE_CHANGED", data, episode=self.episode_record.episode)

    def _hear(self, event: Event) -> None:
        """Take note of an event that is not a step."""
        self.interrupt()
        getattr(self, f"_on_{event.kind}")(event.agent, event.data)

    def _on_reset(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """An episode begins."""
        self.break_off(self.episode_record, "reset")
        self._letters.clear()
        self._enter(data["seed"])
        assert self.episode_record is not None
        entry = {"kind": "reset", "seed": data["seed"], "agents": list(self.episode_record.names)}
        entry["digest"] = self.world.digest()
        number, ns = self.episode_record.episode, self.episode_record.ns
        self.post("ENVIRONMENT_EVENT_OCCURRED", entry, episode=number, ns=ns)
        for name, kind, percept in self._percepts(self.episode_record.names):
            self.post(kind, percept, name, episode=number, ns=ns)

    def _enter(self, seed: int) -> None:
        """Open the record of an episode."""
        self.episode_record = self.open_episode_record(self.episode_record, None, seed)
        self.episode_record.seat(i for i, playing in enumerate(self.world.alive) if playing)

    def _on_reconfigure(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """From the next reset on, the config is another."""
        changes = {"kind": "reconfigure", "changes": data["changes"]}
        self.post("ENVIRONMENT_STATE_CHANGED", changes)

    def _on_hint(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """An agent is given a hint."""
        self.hints += 1
        entry = {"kind": "hint", "agent": agent, "message": data["message"]}
        self.post("ENVIRONMENT_EVENT_OCCURRED", entry)

    def _on_message(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """A letter was sent; the line of its step has it."""
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

    def _on_order(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """Agents act in another order."""
        entry = {"kind": "order", "order": data["order"]}
        self.post("ENVIRONMENT_EVENT_OCCURRED", entry)

    def _on_restore(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """The environment was put into another state."""
        self.break_off(self.episode_record, "restored")
        self._restored(data["snapshot"])

    def _restored(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._enter(self.runner.seed or 0)
        assert self.episode_record is not None
        entry: dict[str, Any] = {"kind": "restore", "seed": self.runner.seed}
        entry |= {"agents": list(self.episode_record.names)}
        entry |= {"digest": self.world.digest(), "snapshot": snapshot}
        self.post("ENVIRONMENT_STATE_CHANGED", entry, episode=self.episode_record.episode)

    def _on_state(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """An agent shows its inner state."""
        self.post("STATE_UPDATE", dict(data["state"]), agent)

    def _on_log(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """Somebody has a line of their own to write; see `piase_gym.runs.log`."""
        self.post(
            data["event_type"],
            data["data"],
            agent,
            component=data.get("component"),
            log_level=data.get("log_level"),
        )

    def _on_close(self, _agent: str | None, _data: Mapping[str, Any]) -> None:
        """The environment is closed."""
        self.finish("closed")


def _letter(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a letter as plain values."""
    return {key: data[key] for key in ("sender", "recipient", "message")}


class EnvRecorder(EventRecorder):
    """Writes the run of one environment.

    Args:
        runner: What steps the environment.
        sinks: Where lines go.
        options: How to log.
        face: Name of the environment, for the manifest.
    """

    def __init__(
        self, runner: EpisodeRunner, sinks: Sequence[LoggerInterface], options: Options, face: str
    ) -> None:
        """Write the manifest and start to listen."""
        super().__init__(runner, sinks, options)
        self.face = face
        self._table = bool(command_table(runner.world))
        self._lines_wanted = self.levels.steps or self.levels.highest > CRITICAL
        self._due, self._long = options.snapshot_every, LONG
        self._stop = min(self._due, self._long)
        """The step of the run at which there is more to be done than to note the step."""
        self._quick = self._table and (self.levels.steps or not self._lines_wanted)
        """Whether there are plain steps at all."""
        self._meet_world()
        self.start(self._manifest())
        self._take_over()
        events = runner.events
        self._leave.append(events.subscribe(self._hear, KINDS))
        self._leave.append(events.watch(self._watch, decoded=not self._table))

    def _meet_world(self) -> None:
        """Take note of what is asked of the world at every step."""
        world = self.world
        wanted = self.levels.steps and self.writer.final
        self._digest = world.digest if wanted else None
        self.notation = Notation(world, wanted, bool(self._seers))
        self._decoded = 0
        self.writer.encoder.agents, self.writer.encoder.seers = self.agents, self._seers

    def _manifest(self) -> dict[str, Any]:
        """Return what is needed to execute the run again."""
        runner, options = self.runner, self.options
        origin = runner.events.origin
        world, seats = runner.world, runner.partners
        return make_manifest(world, seats, self.face, options, origin)

    def _on_rebuild(self, _agent: str | None, _data: Mapping[str, Any]) -> None:
        """The environment has got larger spaces before its first reset."""
        self.take_world(self.runner.world)
        self._find_seers()
        self._meet_world()
        self.start({**self._manifest(), "control": REBUILD})

    # -- steps ----------------------------------------------------------------------------

    def _watch(self, acts: Any, tick: StepResult) -> None:
        """Take note of a step: values now, text later."""
        stretch, notation = self.stretch, self.notation
        # This runs at every step, so the usual case is written out.
        if (
            stretch is None
            or not notation.brief
            or tick[4]  # somebody ended
            or tick[5]  # there is more to tell
            or self._decoded != self.world.decodings  # type: ignore[attr-defined]
        ):
            self._look_closer(monotonic_ns(), acts, tick)
            return
        notation.clock[0] = monotonic_ns()
        if notation.state is not None:
            notation.digest[0] = xxh3_64_intdigest(notation.state)
        stretch.notes.append(notation.take())  # type: ignore[misc]
        self.step = step = self.step + 1
        if step >= self._stop:
            self._look_around(stretch.episode_record, 0, tick)

    def _look_closer(self, ns: int, acts: Any, tick: StepResult) -> None:
        """Take note of a step that may have more to tell."""
        stretch = self.stretch or self._first_step()
        note = None if stretch is None else self._note(ns, stretch.episode_record, acts, tick)
        if stretch is None or note is None:
            self._step_slowly(ns, acts, tick)
            return
        if tick.ended or tick.notes:
            stretch.extras[self.step + 1] = self._extra(stretch.episode_record, tick)
        if self.notation.vectors is not None:
            stretch.vectors.append(self.notation.vectors())
        stretch.notes.append(note)
        self.step += 1
        if tick.ended or self.step >= self._stop:
            self._look_around(stretch.episode_record, ns, tick)

    def _first_step(self) -> Stretch | None:
        """Begin an episode in the quick way; ``None`` if that cannot be."""
        episode_record = self.episode_record
        if episode_record is None or episode_record.begun or self._letters or not self._quick:
            return None
        self.begin(episode_record)
        self._look_ahead(episode_record, self.runner.steps - 1)
        return self.stretch

    def _note(
        self, ns: int, episode_record: EpisodeRecord, acts: Any, tick: StepResult
    ) -> bytes | None:
        """Return a step as bytes; ``None`` if an act is no index."""
        notation = self.notation
        try:
            if notation.take is None:
                return notation.pack(ns, episode_record, acts, tick)
            if self._decoded != self.world.decodings:  # type: ignore[attr-defined]
                self._decoded = self.world.decodings  # type: ignore[attr-defined]
                bytes(episode_record.pick(acts))
        except (TypeError, ValueError, struct.error):
            return None
        notation.clock[0] = ns
        if notation.state is not None:
            notation.digest[0] = xxh3_64_intdigest(notation.state)
        return notation.take()

    def _step_slowly(self, ns: int, acts: Sequence[Any], tick: StepResult) -> None:
        """Take note of a step that no bytes can tell."""
        episode_record = self.episode_record
        if episode_record is None:
            return
        if not episode_record.begun:
            self.begin(episode_record)
        self.step += 1
        playing = episode_record.playing
        rewards = [float(tick.rewards[i]) for i in playing]
        outcomes = [str(tick.outcomes[i]) for i in playing]
        packed, commands = self._commands(episode_record, [acts[i] for i in playing])
        extra = self._extra(episode_record, tick)
        extra.commands = commands
        if self._seers:
            extra.percepts = {name: data for name, _, data in self._percepts(episode_record.names)}
        self.settle()
        episode_record.add(rewards)
        if self._lines_wanted:
            names, number, digest = (
                episode_record.names,
                episode_record.episode,
                self._digest() if self._digest else "",
            )
            self.put((ns, self.step, number, names, packed, outcomes, rewards, digest, extra))
        self._look_around(episode_record, ns, tick)

    def _extra(self, episode_record: EpisodeRecord, tick: StepResult) -> Extra:
        """Return what else there is to tell of a step."""
        letters, self._letters = self._letters, []
        extra = Extra(more=self.more(episode_record, self.world, tick, letters))
        if tick.ended:
            extra.terminated = tuple(map(bool, episode_record.pick(tick.terminated)))
            extra.truncated = tuple(map(bool, episode_record.pick(tick.truncated)))
        return extra

    def _look_around(self, episode_record: EpisodeRecord, ns: int, tick: StepResult) -> None:
        """Do what needs not be done after every step."""
        if tick.ended or self.world.awaiting_agents:
            self._change_seats(episode_record, ns)
        if self.step >= self._due:
            self._due += self.options.snapshot_every
            data = {"kind": "snapshot", "snapshot": self.world.snapshot()}
            self.post("ENVIRONMENT_STATE_CHANGED", data, episode=episode_record.episode)
        over = tick.ended and not any(agent in episode_record.playing for agent in self.runner.own)
        if over or self.step >= self._long:
            self.writer.flush()
            self._long = self.step + LONG
        self._stop = min(self._due, self._long)
        self._look_ahead(episode_record)

    def _look_ahead(self, episode_record: EpisodeRecord, time: int | None = None) -> None:
        """Take note of the steps after `time` in the quick way, if they can be plain."""
        if self.stretch is not None or not self._quick or not episode_record.playing:
            return
        if self.world.awaiting_agents:
            return
        hinted = bool(self._seers) and any(self.world.hints)
        if not hinted and not (
            self.targets and self.targets.wanted(episode_record.playing, self.agents)
        ):
            after = self.runner.steps if time is None else time
            self.open_stretch(episode_record, self.notation, after)

    def _commands(self, episode_record: EpisodeRecord, acts: list[Any]) -> tuple[bytes, str | None]:
        """Return commands as packed indices, or as JSON where they are something else."""
        if self._table:
            try:
                return bytes(acts), None
            except (TypeError, ValueError):
                pass
        values = [act_value(act) for act in acts]
        return b"", encode(dict(zip(episode_record.names, values, strict=True)))

    def _change_seats(self, episode_record: EpisodeRecord, ns: int) -> None:
        """Close the goals of those who ended, open those of who entered."""
        self.settle()
        self.put_entries(self.seats_changed(episode_record, self.world), episode_record.episode, ns)
