"""Listens to a single environment through its events bus, and feeds a `Recorder`."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from xxhash import xxh3_64_intdigest

from piase_gym.core.world import StepResult
from piase_gym.runs.book import Book
from piase_gym.runs.derive import act_value
from piase_gym.runs.hearing import KINDS, HearingRecorder
from piase_gym.runs.lines import Extra
from piase_gym.runs.manifest import command_table, make_manifest
from piase_gym.runs.options import Options
from piase_gym.runs.plain import encode
from piase_gym.runs.schema import CRITICAL, REBUILD
from piase_gym.runs.sinks import LoggerInterface
from piase_gym.runs.stretch import Notation, Stretch
from piase_gym.runs.writer import LONG

if TYPE_CHECKING:
    from piase_gym.envs.runner import EpisodeRunner


class DriverRecorder(HearingRecorder):
    """Writes the run of one environment.

    Args:
        driver: What drives the environment.
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
            self._look_around(stretch.book, 0, tick)

    def _look_closer(self, ns: int, acts: Any, tick: StepResult) -> None:
        """Take note of a step that may have more to tell."""
        stretch = self.stretch or self._first_step()
        note = None if stretch is None else self._note(ns, stretch.book, acts, tick)
        if stretch is None or note is None:
            self._step_slowly(ns, acts, tick)
            return
        if tick.ended or tick.notes:
            stretch.extras[self.step + 1] = self._extra(stretch.book, tick)
        if self.notation.vectors is not None:
            stretch.vectors.append(self.notation.vectors())
        stretch.notes.append(note)
        self.step += 1
        if tick.ended or self.step >= self._stop:
            self._look_around(stretch.book, ns, tick)

    def _first_step(self) -> Stretch | None:
        """Begin an episode in the quick way; ``None`` if that cannot be."""
        book = self.book
        if book is None or book.begun or self._letters or not self._quick:
            return None
        self.begin(book)
        self._look_ahead(book, self.runner.steps - 1)
        return self.stretch

    def _note(self, ns: int, book: Book, acts: Any, tick: StepResult) -> bytes | None:
        """Return a step as bytes; ``None`` if an act is no index."""
        notation = self.notation
        try:
            if notation.take is None:
                return notation.pack(ns, book, acts, tick)
            if self._decoded != self.world.decodings:  # type: ignore[attr-defined]
                self._decoded = self.world.decodings  # type: ignore[attr-defined]
                bytes(book.pick(acts))
        except (TypeError, ValueError, struct.error):
            return None
        notation.clock[0] = ns
        if notation.state is not None:
            notation.digest[0] = xxh3_64_intdigest(notation.state)
        return notation.take()

    def _step_slowly(self, ns: int, acts: Sequence[Any], tick: StepResult) -> None:
        """Take note of a step that no bytes can tell."""
        book = self.book
        if book is None:
            return
        if not book.begun:
            self.begin(book)
        self.step += 1
        playing = book.playing
        rewards = [float(tick.rewards[i]) for i in playing]
        outcomes = [str(tick.outcomes[i]) for i in playing]
        packed, commands = self._commands(book, [acts[i] for i in playing])
        extra = self._extra(book, tick)
        extra.commands = commands
        if self._seers:
            extra.percepts = {name: data for name, _, data in self._percepts(book.names)}
        self.settle()
        book.add(rewards)
        if self._lines_wanted:
            names, number, digest = book.names, book.episode, self._digest() if self._digest else ""
            self.put((ns, self.step, number, names, packed, outcomes, rewards, digest, extra))
        self._look_around(book, ns, tick)

    def _extra(self, book: Book, tick: StepResult) -> Extra:
        """Return what else there is to tell of a step."""
        letters, self._letters = self._letters, []
        extra = Extra(more=self.more(book, self.world, tick, letters))
        if tick.ended:
            extra.terminated = tuple(map(bool, book.pick(tick.terminated)))
            extra.truncated = tuple(map(bool, book.pick(tick.truncated)))
        return extra

    def _look_around(self, book: Book, ns: int, tick: StepResult) -> None:
        """Do what needs not be done after every step."""
        if tick.ended or self.world.awaiting_agents:
            self._change_seats(book, ns)
        if self.step >= self._due:
            self._due += self.options.snapshot_every
            data = {"kind": "snapshot", "snapshot": self.world.snapshot()}
            self.post("ENVIRONMENT_STATE_CHANGED", data, episode=book.episode)
        over = tick.ended and not any(agent in book.playing for agent in self.runner.own)
        if over or self.step >= self._long:
            self.writer.flush()
            self._long = self.step + LONG
        self._stop = min(self._due, self._long)
        self._look_ahead(book)

    def _look_ahead(self, book: Book, time: int | None = None) -> None:
        """Take note of the steps after `time` in the quick way, if they can be plain."""
        if self.stretch is not None or not self._quick or not book.playing:
            return
        if self.world.awaiting_agents:
            return
        hinted = bool(self._seers) and any(self.world.hints)
        if not hinted and not (self.aims and self.aims.wanted(book.playing, self.agents)):
            after = self.runner.steps if time is None else time
            self.open_stretch(book, self.notation, after)

    def _commands(self, book: Book, acts: list[Any]) -> tuple[bytes, str | None]:
        """Return commands as packed indices, or as JSON where they are something else."""
        if self._table:
            try:
                return bytes(acts), None
            except (TypeError, ValueError):
                pass
        values = [act_value(act) for act in acts]
        return b"", encode(dict(zip(book.names, values, strict=True)))

    def _change_seats(self, book: Book, ns: int) -> None:
        """Close the goals of those who ended, open those of who entered."""
        self.settle()
        self.put_entries(self.seats_changed(book, self.world), book.episode, ns)
