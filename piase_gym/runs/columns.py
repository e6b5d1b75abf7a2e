"""Runs of batches as columns: what determines a run, and nothing that follows from it.

The file is a compressed Arrow IPC stream. A row is a step of the whole batch: its `time`, the
`actions` of all agents of all environments, and in `events`, as JSON, what happened since the
previous row: resets, hints, restored states, lines of users, and at intervals the digests of all
states. A row without actions has only events. The metadata of the schema has, as JSON, what is
needed to begin; `piase_gym.runs.column_lines` replays the file. The seal comes after the stream.
"""

from __future__ import annotations

import io
import time
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from piase_gym.core.events import Event
from piase_gym.core.interrupts import uninterrupted
from piase_gym.errors import UnsupportedError, need
from piase_gym.runs.json_values import dumps
from piase_gym.runs.manifest import make_manifest
from piase_gym.runs.options import Levels, Options
from piase_gym.runs.schema import own_line
from piase_gym.runs.writer import BackgroundWriter, Sinks, writer_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from piase_gym.envs.batch import BatchEnv

ENDING = ".arrow"
FORMAT = 1
KEY = b"piase_gym"
"""The key of our metadata in the schema."""
SEAL = b"PiaSeal:"
"""The mark at the end of a file that comes before the hash of everything before the mark."""
CHUNK = 1 << 20
"""The approximate number of actions written at once."""
MOST_ACTIONS = 1 << 16
KINDS = frozenset(
    "batch_reset batch_step batch_ended batch_modify batch_restore hint rebuild log close".split()
)


class ColumnFile(BackgroundWriter):
    """Collects rows in blocks and writes each as a record batch, after a second at the latest.

    Args:
        sinks: Where the bytes go.
        header: What goes into the metadata.
        width: How many actions a step has.
        kind: Their type.

    Attributes:
        last: The time of the last step or event taken.
    """

    def __init__(
        self, sinks: Sinks, header: Mapping[str, Any], width: int, kind: type[np.unsignedinteger]
    ) -> None:
        """Write the header at once, so that a run that dies early still says what it was."""
        self._arrow = arrow = need("pyarrow", "a log that ends with .arrow")
        super().__init__(sinks)
        self._kind = kind
        self._out = io.BytesIO()
        self._waiting: list[bytes] = []
        self._told: dict[int, bytes] = {}
        self.last = 0
        self.resize(width)
        fields = [
            ("time", arrow.timestamp("ns", "UTC")),
            ("actions", arrow.list_(arrow.from_numpy_dtype(np.dtype(kind)))),
            ("events", arrow.binary()),
        ]
        schema = arrow.schema(fields, metadata={KEY: dumps(header)})
        options = arrow.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
        self._stream = arrow.ipc.new_stream(self._out, schema, options=options)
        self._write(0)

    def resize(self, width: int) -> None:
        """Make room for steps of `width` actions, before the first of them."""
        rows = max(1, CHUNK // width)
        self._times, self._acts = np.zeros(rows + 1, np.int64), np.zeros((rows, width), self._kind)
        self._offsets = np.arange(rows + 2, dtype=np.int32) * width
        self._rows = 0

    def take_step(self, ns: int, acts: NDArray[np.int32]) -> None:
        """Take a step of all environments."""
        with self._lock:
            row = self._rows
            self._times[row] = ns
            self.last = ns
            self._acts[row] = acts.reshape(-1)
            self._attach_events()
            self._rows = row + 1
            if self._rows == len(self._acts):
                self.drain()

    def take(self, kind: str, ns: int, **data: Any) -> None:
        """Take an event that is not a step."""
        with self._lock:
            self.last = ns
            self._waiting.append(dumps({"kind": kind, "ns": ns, **data}))

    def _attach_events(self) -> None:
        """Attach what has happened so far to the next row."""
        if self._waiting:
            self._told[self._rows] = b"[" + b",".join(self._waiting) + b"]"
            self._waiting.clear()

    def drain(self) -> None:
        """Write the rows collected so far."""
        with self._lock:
            rows = self._rows + bool(self._waiting)
            if rows > self._rows:
                self._times[rows - 1] = self.last
            self._attach_events()
            if rows and not self._closed:
                self._write(rows)
            self._rows = 0
            self._told.clear()

    def _write(self, rows: int) -> None:
        """Write a record batch; if there is one more row than steps, it has no actions."""
        arrow, steps = self._arrow, self._rows
        offsets = self._offsets[: rows + 1].copy()
        offsets[steps:] = self._offsets[steps]
        columns = [
            arrow.array(self._times[:rows]).cast(arrow.timestamp("ns", "UTC")),
            arrow.ListArray.from_arrays(offsets, self._acts[:steps].reshape(-1)),
            arrow.array([self._told.get(row) for row in range(rows)], arrow.binary()),
        ]
        self._stream.write_batch(arrow.record_batch(columns, ["time", "actions", "events"]))
        self._hand_over()

    def _hand_over(self) -> None:
        """Hand what Arrow wrote to the sinks."""
        data = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        self._hash.update(data)
        self.sinks.write(data)

    def close(self) -> None:
        """Write the rest, the end of the stream, and the seal."""
        with self._lock:
            self.drain()
            self._stream.close()
            self._hand_over()
            self.sinks.write(SEAL + self._hash.hexdigest().encode())
        self.shut()


class ColumnRecorder:
    """Writes what determines the run of a batch.

    Args:
        env: The batch.
        sinks: Where the bytes go.
        options: How to log; its levels are those of the lines that the file expands to.
        env_kind: The kind of environment, for the manifest.

    Attributes:
        step: Steps of the run so far.
        closed: Whether the run is complete.
    """

    def __init__(self, env: BatchEnv, sinks: Sinks, options: Options, env_kind: str) -> None:
        """Write the header and start to listen."""
        options = options.checked()
        Levels(options.level, options.levels, env.world.name)
        if env.world.num_actions > MOST_ACTIONS:
            raise UnsupportedError(f"{env.world.name} has too many actions for columns")
        self.env, self.options, self.env_kind = env, options, env_kind
        self.step, self.closed, self._due = 0, False, options.digest_every
        self._configs = len(env.configs)
        began = options.clock()
        self._epoch = time.time_ns() - began if options.epoch is None else options.epoch
        header = {
            "format": FORMAT,
            "began": began + self._epoch,
            "run_id": options.name(env.world.name),
            "experiment_id": options.experiment_id,
            "snapshot_every": options.snapshot_every,
            "focal": env.focal,
            **self._world(),
        }
        kind = np.uint8 if env.world.num_actions <= 256 else np.uint16
        self.file = ColumnFile(sinks, header, self._width(), kind)
        self.file.finish = weakref.WeakMethod(self.finish)
        writer_thread.take(self.file)
        if env.ready.any():
            self.file.take("restore", header["began"], snapshot=env.snapshot())
        self._leave = env.events.subscribe(self._hear, KINDS)
        self._release = uninterrupted.watch_for(self)

    def _world(self) -> dict[str, Any]:
        """Return what it takes to make the batch again, without partners."""
        manifest = make_manifest(self.env, self.env_kind, self.options)
        return {"manifest": manifest, "configs": [plain(c) for c in self.env.configs]}

    def _width(self) -> int:
        """Return how many actions a step has."""
        return self.env.num_envs * len(self.env.world.agents)

    def _now_ns(self) -> int:
        """Return nanoseconds since 1970."""
        return self.options.clock() + self._epoch

    def _hear(self, event: Event) -> None:
        """Take note of an event."""
        if event.kind == "batch_ended":  # every reset that the states include was posted before
            if self.step >= self._due:
                self._due += self.options.digest_every
                self._take_digests(self.file.last)
                self.file.sinks.complain()
            return
        ns, data, file, env = self._now_ns(), event.data, self.file, self.env
        if len(env.configs) > self._configs:
            more = env.configs[self._configs :]
            self._configs += len(more)
            file.take("configs", ns, configs=[plain(config) for config in more])
        if event.kind == "batch_step":
            file.take_step(ns, data["acts"])
            self.step += 1
        elif event.kind == "batch_reset":
            slots, states = np.array(data["slots"]), env.batch.states
            numbers = {key: states[key][slots] for key in ("given", "episode", "config")}
            file.take("reset", ns, step=self.step, slots=slots, **numbers)
        elif event.kind == "batch_modify":
            slots = data["slots"]
            numbers = env.batch.states["config"][slots]
            file.take("modify", ns, slots=slots, config=numbers)
        elif event.kind == "batch_restore":
            file.take("restore", ns, snapshot=env.snapshot())
        elif event.kind == "hint":
            file.take("hint", ns, agent=event.agent, slot=data["slot"], message=data["message"])
        elif event.kind == "rebuild":
            self._configs = len(env.configs)
            file.drain()
            file.resize(self._width())
            file.take("rebuild", ns, **self._world())
        elif event.kind == "close":
            self.finish("closed")
        else:
            own_line(data)
            file.take("log", ns, agent=event.agent, data=data)

    def _take_digests(self, ns: int) -> None:
        """Take note of the digests of all states."""
        self.file.take("digests", ns, step=self.step, digests=self.env.digests())

    def flush(self) -> None:
        """Write everything that has happened so far."""
        self.file.drain()
        self.file.sinks.complain()

    def finish(self, reason: str = "the process ended") -> None:
        """Complete the log; finishing twice does no harm."""
        if not self.closed:
            self.closed = True
            self._leave()
            ns = self._now_ns()
            self._take_digests(ns)
            self.file.take("close", ns, step=self.step, reason=reason)
            self.file.close()
            self._release()
            self.file.sinks.complain()


def plain(config: Any) -> dict[str, Any]:
    """Return the fields of a config without its envelope."""
    found: dict[str, Any] = config.saved()
    return found


def seal_of(file: BinaryIO) -> tuple[int, str] | None:
    """Return the size of what is sealed and the seal, or ``None`` if columns do not end with one.

    Afterwards, the file is at its beginning.
    """
    size = file.seek(0, 2)
    length = len(SEAL) + 16
    file.seek(max(0, size - length))
    end = file.read()
    file.seek(0)
    if len(end) != length or not end.startswith(SEAL):
        return None
    return size - length, end[len(SEAL) :].decode("ascii", "replace")
