"""Expands columns to lines: the run is replayed, and a `BatchRecorder` listens.

The lines are thus those that would have been written during the run, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson

from piase_gym.envs.batch import BatchEnv
from piase_gym.errors import PiaseError, RunError, need
from piase_gym.runs.batch_recorder import BatchRecorder
from piase_gym.runs.columns import FORMAT, KEY, seal_of
from piase_gym.runs.manifest import check_manifest, rebuild
from piase_gym.runs.options import Options
from piase_gym.runs.schema import LINE_DAMAGE
from piase_gym.runs.sinks import LoggerInterface
from piase_gym.runs.writer import Sinks, Writer

COUNTED = ("reset", "digests", "close")
"""Events that state after which step of the run they come."""
TYPES = [[f"list<item: uint{bits}>", "binary"] for bits in (8, 16)]
"""The types of the columns of actions and events."""


class _Lines(LoggerInterface):
    """Keeps lines until they are taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, lines: bytes) -> None:
        """Keep lines."""
        self._parts.append(lines)

    def take(self) -> bytes:
        """Return what was kept, and forget it."""
        data, self._parts = b"".join(self._parts), []
        return data


class Expansion:
    """The lines of a file of columns, which can be read like a file.

    Args:
        path: The file.
        file: The opened file.
        level: The level of the lines; by default the recorded one.

    Attributes:
        fault: Why it cannot be read any further, or an empty string.
        cut: Whether that is only because the run was cut short.
        drift: Where states differ from the recorded ones: step, episode, slot, and both digests.
    """

    def __init__(self, path: Path, file: BinaryIO, level: str | None = None) -> None:
        """Check whether the end of the file is there."""
        self._path, self._file, self._level = path, file, level
        self.whole = seal_of(file) is not None
        self.fault, self.cut = "", False
        self.drift: tuple[int, int, int, str, str] | None = None
        self._ended = False
        self._lines, self._parts = _Lines(), self._play()

    def read(self, size: int) -> bytes:
        """Return about `size` of the next bytes; none at the end."""
        found, count = list[bytes](), 0
        while count < size and (part := next(self._parts, None)) is not None:
            found.append(part)
            count += len(part)
        return b"".join(found)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _play(self) -> Iterator[bytes]:
        """Yield lines, some at a time."""
        stream = self._open()
        yield self._lines.take()
        chunk = 1
        try:
            for batch in stream:
                for ns, acts, events in rows_of(batch):
                    for event in events:
                        self._execute(event)
                    if acts.size:
                        self._step(ns, acts)
                    self._writer.flush()
                    yield self._lines.take()
                    if self.drift is not None:
                        return
                chunk += 1
            if self.whole and not self._ended:
                raise ValueError("they are sealed and have no end")
        except (PiaseError, OSError, MemoryError, EOFError, *LINE_DAMAGE) as error:
            self._writer.flush()
            yield self._lines.take()
            self.cut = not self.whole
            what = "torn: the run was cut short while it was written"
            if not self.cut:
                what = f"damaged: {(str(error) or repr(error)).splitlines()[0]}"
            self.fault = f"chunk {chunk} of the columns is {what}"

    def _open(self) -> Any:
        """Read the header, make the batch, and return the stream of record batches."""
        arrow = need("pyarrow", "a log that ends with .arrow")
        try:
            stream = arrow.ipc.open_stream(self._file)
            header = orjson.loads(stream.schema.metadata[KEY])
            kinds = [str(stream.schema.field(name).type) for name in ("actions", "events")]
            if kinds not in TYPES:
                raise ValueError(f"columns of the types {kinds}")
            if header["format"] != FORMAT:
                raise RunError(
                    f"these columns are of format {header['format']!r:.20}, not {FORMAT}"
                )
            self._start(header)
        except RunError as error:
            raise RunError(f"{self._path}: {error}") from None
        except (arrow.ArrowException, OSError, *LINE_DAMAGE) as error:
            if isinstance(error, PiaseError):
                raise
            raise RunError(
                f"{self._path}: line 1: the header of the columns cannot be read: {error!r:.200}"
            ) from None
        return stream

    def _start(self, header: Mapping[str, Any]) -> None:
        """Make the batch, and let a recorder listen."""
        check_manifest(header["manifest"])
        manifest = self._leveled(header["manifest"])
        self._now, self._steps = header["began"], 0
        options = Options(
            manifest["level"],
            manifest["levels"],
            header["experiment_id"],
            header["run_id"],
            header["snapshot_every"],
            clock=lambda: self._now,
            epoch=0,
        ).checked()
        self._focal = header["focal"]
        self._env = env = _batch(manifest, header["configs"], self._focal)
        self._configs = len(header["configs"])

        self._writer = Writer(Sinks([self._lines], "stop"))
        self._recorder = BatchRecorder(env, self._writer, options, manifest["face"], manifest)

    def _leveled(self, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a manifest with the level that is wanted."""
        return manifest if self._level is None else {**manifest, "level": self._level, "levels": {}}

    def _step(self, ns: int, acts: Any) -> None:
        """Execute a step."""
        self._now, self._steps, env = ns, self._steps + 1, self._env
        env.step(acts.reshape(env.num_envs, len(env.world.agents)).astype(np.int32))

    def _execute(self, event: Mapping[str, Any]) -> None:
        """Execute an event."""
        kind, env = event["kind"], self._env
        self._now = event["ns"]
        if kind in COUNTED and event["step"] != self._steps:
            raise ValueError(f"{kind} after step {event['step']} comes after step {self._steps}")
        if kind == "reset":
            slots = np.array(event["slots"], np.int64)
            if slots.min() < 0 or not 0 <= min(event["config"]) <= max(event["config"]) < len(
                env.configs
            ):
                raise ValueError("a slot or a config does not exist")
            states = env.batch.states
            states["given"][slots], states["episode"][slots] = event["given"], event["episode"]
            states["next_config"][slots] = event["config"]
            env.begin(slots)
        elif kind == "digests":
            self._compare(event["digests"])
        elif kind == "configs":
            self._configs = _add_configs(env, event["configs"], self._configs)
        elif kind == "modify":
            for slot, number in zip(event["slots"], event["config"], strict=True):
                env.take_now(range(len(env.configs))[number], np.array([slot]))
        elif kind == "restore":
            env.restore(event["snapshot"])
        elif kind == "hint":
            env.give_hint(event["slot"], event["agent"], event["message"])
        elif kind == "rebuild":
            manifest = self._leveled(event["manifest"])
            larger = _batch(manifest, event["configs"], self._focal)
            larger.events = env.events
            self._configs = len(event["configs"])
            self._env = self._recorder.env = larger
            larger.events.post("rebuild", manifest=manifest)
        elif kind == "log":
            env.events.post("log", event["agent"], **event["data"])
        elif kind == "close":
            self._ended = True
            if self.whole:
                self._recorder.finish(event["reason"])
        else:
            raise ValueError(f"an event of the kind {kind!r:.20}")

    def _compare(self, logged: list[str]) -> None:
        """Compare the states with the recorded ones."""
        env = self._env
        for slot, (was, now) in enumerate(zip(logged, env.digests(), strict=True)):
            if was != now and env.ready[slot] and self.drift is None:
                record = self._recorder.episode_records()[slot]
                episode = 0 if record is None else record.episode
                self.drift = self._steps, episode, slot, was, now


def _batch(manifest: Mapping[str, Any], configs: list[Any], focal: int) -> BatchEnv:
    """Make a batch in which the columns play all agents."""
    world: Any = rebuild(manifest)
    count = manifest["num_envs"]
    env = BatchEnv(
        world, count, configs=[world.config], autoreset="disabled", focal=focal, copy=False
    )
    _add_configs(env, configs)
    return env


def _add_configs(env: BatchEnv, configs: list[Any], first: int = 0) -> int:
    """Add configs, numbered from `first`; each brings along the configs that its script changes to.

    Returns:
        How many configs there are then.
    """
    end = first + len(configs)
    while len(env.configs) < end:
        env.add_config(env.configs[0].written(configs[len(env.configs) - first]))
    return end


def rows_of(batch: Any) -> Iterator[tuple[int, Any, list[dict[str, Any]]]]:
    """Yield the rows of a record batch: the time, the actions, the events."""
    batch.validate(full=True)
    times = batch.column("time").cast("int64").to_numpy().tolist()
    offsets = batch.column("actions").offsets.to_numpy().tolist()
    acts = batch.column("actions").values.to_numpy()
    for row, events in enumerate(batch.column("events").to_pylist()):
        part = acts[offsets[row] : offsets[row + 1]]
        yield times[row], part, orjson.loads(events) if events else []
