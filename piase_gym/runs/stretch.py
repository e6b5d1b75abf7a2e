"""Plain steps, kept as bytes until there are many to be written at once.

A plain step is one in which nobody ends and there is nothing to tell but commands, outcomes and
rewards. At step time only a few bytes are kept; texts are made in bulk.
"""

from __future__ import annotations

import dataclasses
import functools
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from piase_gym.commands import OUTCOMES
from piase_gym.runs.book import Book

if TYPE_CHECKING:
    from piase_gym.world import Tick, World

ACTS = 256
"""So many different acts fit into the bytes of a step."""


class Notation:
    """How the steps of one world become bytes, and these become numbers again.

    Attributes:
        take: Returns the bytes of the last step, of a world that keeps them; else ``None``, and
            `pack` makes them.
        vectors: Returns what all agents perceive as bytes; ``None`` below the level ``full``.
        vector_type: The type of their numbers.
        compiled: Whether compiled code may write the lines of this world.
        dtype: The record of a step, with the fields `rewards`, `acts` and `events`.
        fields: The type and the place of each of its fields.
        agents: How many agents fit into it.
        outcomes: The outcome of every event, as plain strings.
    """

    def __init__(self, world: World[Any, Any], digests: bool, vectors: bool) -> None:
        """Ask a world for its own way, if it has one."""
        notes = getattr(world, "step_notes", None)
        outcomes: Sequence[str] = OUTCOMES
        self.take: Callable[[], bytes] | None = None
        self._state, self._digest = 0, world.digest if digests else None
        if notes is not None and world.num_actions <= ACTS:
            self.take, self.dtype, start, outcomes = notes(digests)
            self._state = start if digests else 0
        else:
            count = len(world.agents)
            shapes = [("rewards", "<f8", count), ("acts", "u1", count), ("events", "u1", count)]
            self.dtype = np.dtype([*shapes, ("digest", "<u8")])
            self._pack = struct.Struct(f"<{count}d{2 * count}BQ").pack
        self.compiled = self._state > 0
        self.agents = int(self.dtype["acts"].shape[0])
        fields: Mapping[str, Any] = self.dtype.fields or {}
        self.fields = {name: (fields[name][0].base, fields[name][1]) for name in fields}
        self.outcomes = tuple(map(str, outcomes))
        self.vectors: Callable[[], bytes] | None = None
        self.vector_type: np.dtype[Any] = np.dtype(np.uint8)
        if vectors and hasattr(world, "packed_vectors"):
            self.vectors, self.vector_type = world.packed_vectors, world.vectors()[0].dtype

    def pack(self, book: Book, acts: Sequence[Any], tick: Tick) -> bytes:
        """Return a step as bytes, of a world that does not do it itself.

        Raises:
            TypeError, ValueError, struct.error: If an act is no index below 256, a reward no
                number, or an outcome not one of `OUTCOMES`.
        """
        rewards, outcomes = tick[0], tick[3]
        digest = int(self._digest(), 16) if self._digest is not None else 0
        if book.everybody:
            return self._pack(*rewards, *acts, *map(OUTCOMES.index, outcomes), digest)
        count = len(acts)
        numbers: list[float] = [0] * (3 * count)
        for i in book.playing:
            numbers[i], numbers[count + i] = rewards[i], acts[i]
            numbers[2 * count + i] = OUTCOMES.index(outcomes[i])
        return self._pack(*numbers, digest)

    def digests(self, records: Sequence[bytes]) -> list[int]:
        """Return the digests of the states; 0 where nobody wants them.

        Hashing many at once is several times cheaper than each in its step.
        """
        start, hashed = self._state, xxhash.xxh3_64_intdigest
        if start:
            return [hashed(record[start:]) for record in records]
        if self.take is not None:
            return [0] * len(records)
        found: list[int] = np.frombuffer(b"".join(records), self.dtype)["digest"].tolist()
        return found


class Stretch:
    """Plain steps that follow each other in one episode, with the same agents in play.

    One thread appends to `notes` while another may `settle` and `take`.

    Attributes:
        book: The episode.
        notation: What the bytes mean.
        step: The step of the run before the first of the notes.
        time: The step of the episode before it.
        closed: Whether something else has happened since, so that no step will follow.
        notes: Of each step the monotonic clock and the bytes.
        vectors: What all agents of the world perceive; none below the level ``full``. They come
            before the note of their step.
    """

    __slots__ = ("_ready", "book", "closed", "notation", "notes", "run", "step", "time", "vectors")

    def __init__(self, book: Book, notation: Notation, step: int, time: int) -> None:
        """Begin after a step of the run."""
        self.book, self.notation, self.step, self.time = book, notation, step, time
        self.run = (book.slot, book.episode, book.playing, book.names)
        self.notes: list[tuple[int, bytes]] = []
        self.vectors: list[bytes] = []
        self.closed = False
        self._ready: list[Rows] = []

    def settle(self) -> None:
        """Put the notes aside as rows, and add their rewards to those of the book."""
        count = len(self.notes)
        if not count:
            return
        notes, vectors = self.notes[:count], self.vectors[:count]
        del self.notes[:count], self.vectors[:count]
        clocks, records = map(list, zip(*notes, strict=True))
        digests, data = self.notation.digests(records), b"".join(records)
        rows = Rows(self.notation, *self.run, self.step, self.time, data, digests, vectors, clocks)
        self.book.add_many(rows.playing, rows._column("rewards"))
        self._ready.append(rows)
        self.step += count
        self.time += count

    def take(self) -> list[Rows]:
        """Take out what is there."""
        self.settle()
        taken, self._ready = self._ready, []
        return taken


@dataclass
class Rows:
    """Plain steps that were taken out of a stretch.

    Attributes:
        notation: What `data` means.
        slot: The environment of a batch, or ``None``.
        episode: The number of the episode.
        playing: The numbers of the agents in play.
        names: Their names.
        step: The step of the run before the first of them.
        time: The step of the episode before the first of them.
        data: The records of all steps.
        digests: A number a step.
        vectors: See `Stretch`.
        clocks: A number a step.
    """

    notation: Notation
    slot: int | None
    episode: int
    playing: tuple[int, ...]
    names: tuple[str, ...]
    step: int
    time: int
    data: bytes
    digests: list[int]
    vectors: list[bytes]
    clocks: list[int]

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.clocks)

    def part(self, start: int, stop: int) -> Rows:
        """Return some of the steps."""
        size = self.notation.dtype.itemsize
        return dataclasses.replace(
            self,
            step=self.step + start,
            time=self.time + start,
            data=self.data[start * size : stop * size],
            digests=self.digests[start:stop],
            vectors=self.vectors[start:stop],
            clocks=self.clocks[start:stop],
        )

    def _column(self, name: str) -> NDArray[Any]:
        """Return a field of the records, of those in play."""
        notation, size = self.notation, self.notation.dtype.itemsize
        kind, offset = notation.fields[name]
        shape, strides = (len(self.clocks), notation.agents), (size, kind.itemsize)
        table: NDArray[Any] = np.ndarray(shape, kind, self.data, offset, strides)
        return table if len(self.playing) == notation.agents else table[:, list(self.playing)]

    @functools.cached_property
    def acts(self) -> NDArray[np.uint8]:
        """The commands' indices, shape (steps, agents in play)."""
        return self._column("acts").astype(np.uint8)

    @functools.cached_property
    def events(self) -> NDArray[np.uint8]:
        """Indices of outcomes in those of the notation, shape (steps, agents in play)."""
        return np.ascontiguousarray(self._column("events"))

    @functools.cached_property
    def rewards(self) -> NDArray[np.float64]:
        """The rewards, shape (steps, agents in play)."""
        return np.ascontiguousarray(self._column("rewards"))

    def packed(self) -> list[bytes]:
        """Return the commands' indices of each step, a byte for each agent in play."""
        return _cut(self.acts)

    def packed_rewards(self) -> list[bytes]:
        """Return the rewards of each step, eight bytes for each agent in play."""
        return _cut(self.rewards)

    def outcomes(self) -> list[tuple[str, ...]]:
        """Return the outcomes of each step; equal ones are one object."""
        outcomes = self.notation.outcomes
        named = functools.cache(lambda events: tuple(outcomes[event] for event in events))
        return [named(events) for events in _cut(self.events)]

    def outcomes_of(self, place: int) -> list[str]:
        """Return the outcomes of one of the agents in play."""
        outcomes = self.notation.outcomes
        return [outcomes[event] for event in self.events[:, place].tolist()]


def _cut(rows: NDArray[Any]) -> list[bytes]:
    """Return the rows of an array as bytes."""
    data, size = rows.tobytes(), rows.shape[1] * rows.itemsize
    return [data[start : start + size] for start in range(0, len(data), size)]
