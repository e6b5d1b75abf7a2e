"""Steps, kept as bytes until there are many to be written at once.

At step time only a few bytes are kept; texts are made in bulk. Most steps are plain: nobody ends,
and there is nothing to tell but commands, outcomes and rewards. Of the others the rest is kept too.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import OUTCOMES
from piase_gym.runs.episode_record import EpisodeRecord, add_up
from piase_gym.runs.lines import Extra

if TYPE_CHECKING:
    from piase_gym.core.world import StepResult, World

ACTS = 256
"""So many different acts fit into the bytes of a step."""


class Notation:
    """How the steps of one world become bytes, and these become numbers again.

    Attributes:
        take: Returns the bytes of the last step, of a world that keeps them; else ``None``, and
            `pack` makes them.
        clock: Where the clock is to be put before that.
        digest: Where the digest of the state is to be put before that.
        state: The state that is to be hashed; ``None`` if no digests are wanted.
        vectors: Returns what all agents perceive as bytes; ``None`` below the level ``full``.
        vector_type: The type of their numbers.
        brief: Whether `take` returns all that there is to note of a plain step.
        dtype: The record of a step: its `clock`, the `digest` of the state, `rewards`, `acts` and
            `events`, an entry an agent.
        agents: How many agents fit into it.
        outcomes: The outcome of every event, as plain strings.
        compiled: What `add_up` may call, once it is there; see `press_kernel.add_up`.
    """

    def __init__(self, world: World[Any, Any], digests: bool, vectors: bool) -> None:
        """Ask a world for its own way, if it has one."""
        notes = getattr(world, "step_notes", None)
        outcomes: Sequence[str] = OUTCOMES
        self.take: Callable[[], bytes] | None = None
        self.state: memoryview | None = None
        self._digest = world.digest if digests else None
        if notes is not None and world.num_actions <= ACTS:
            self.take, self.dtype, self.clock, self.digest, state, outcomes = notes()
            self.state = state if digests else None
        else:
            count = len(world.agents)
            shapes = [("rewards", "<f8", count), ("acts", "<i4", count), ("events", "u1", count)]
            self.dtype = np.dtype([("clock", "<i8"), ("digest", "<u8"), *shapes], align=True)
            rest = -13 * count % 8  # up to whole numbers of eight bytes
            self._pack = struct.Struct(f"<qQ{count}d{count}i{count}B{rest}x").pack
        self.agents = int(self.dtype["acts"].shape[0])
        self.outcomes = tuple(map(str, outcomes))
        self.compiled: Callable[..., None] | None = None
        self.vectors: Callable[[], bytes] | None = None
        self.vector_type: np.dtype[Any] = np.dtype(np.uint8)
        if vectors and hasattr(world, "packed_vectors"):
            self.vectors, self.vector_type = world.packed_vectors, world.vectors()[0].dtype
        self.brief = self.take is not None and self.vectors is None

    def pack(
        self, ns: int, episode_record: EpisodeRecord, acts: Sequence[Any], tick: StepResult
    ) -> bytes:
        """Return a step as bytes, of a world that does not do it itself.

        Raises:
            TypeError, ValueError, struct.error: If an act is no index below 256, a reward no
                number, or an outcome not one of `OUTCOMES`.
        """
        indices = bytes(episode_record.pick(acts))
        rewards, outcomes = tick[0], tick[3]
        digest = int(self._digest(), 16) if self._digest is not None else 0
        if episode_record.everybody:
            return self._pack(ns, digest, *rewards, *indices, *map(OUTCOMES.index, outcomes))
        count = len(acts)
        numbers: list[float] = [0] * (3 * count)
        for i, index in zip(episode_record.playing, indices, strict=True):
            numbers[i], numbers[count + i] = rewards[i], index
            numbers[2 * count + i] = OUTCOMES.index(outcomes[i])
        return self._pack(ns, digest, *numbers)

    def add_up(self, data: bytes, totals: NDArray[np.float64]) -> None:
        """Add the rewards of steps to the totals of all agents, shape (agents,)."""
        if self.compiled is not None:
            self.compiled(np.frombuffer(data), self.dtype.itemsize // 8, totals)
        else:
            add_up(np.frombuffer(data, self.dtype)["rewards"][:, : len(totals)], totals)


class Stretch:
    """Steps that follow each other in one episode, with the same agents in play.

    One thread appends to `notes` while another may `settle` and `take`.

    Attributes:
        episode_record: The episode.
        notation: What the bytes mean.
        step: The step of the run before the first of the notes.
        time: The step of the episode before it.
        closed: Whether something else has happened since, so that no step will follow.
        notes: The bytes of each step.
        vectors: What all agents of the world perceive; none below the level ``full``. They come
            before the note of their step.
        extras: By step of the run, what else there is to tell; likewise.
    """

    __slots__ = (
        "_ready",
        "closed",
        "episode_record",
        "extras",
        "notation",
        "notes",
        "run",
        "step",
        "time",
        "vectors"
    )  # fmt: skip

    def __init__(
        self, episode_record: EpisodeRecord, notation: Notation, step: int, time: int
    ) -> None:
        """Begin after a step of the run."""
        self.episode_record, self.notation, self.step, self.time = (
            episode_record,
            notation,
            step,
            time,
        )
        self.run = (
            episode_record.slot,
            episode_record.episode,
            episode_record.playing,
            episode_record.names,
        )
        self.notes: list[bytes] = []
        self.vectors: list[bytes] = []
        self.extras: dict[int, Extra] = {}
        self.closed = False
        self._ready: list[Rows] = []

    def settle(self) -> None:
        """Put the notes aside as rows, and add their rewards to those of the book."""
        count = len(self.notes)
        if not count:
            return
        data, vectors = b"".join(self.notes[:count]), self.vectors[:count]
        del self.notes[:count], self.vectors[:count]
        start = self.step, self.time
        self.step += count
        self.time += count
        told = [step for step in tuple(self.extras) if step <= self.step] if self.extras else ()
        extras = {step: self.extras.pop(step) for step in told}
        rows = Rows(self.notation, data, self.run, *start, vectors, extras)
        self.notation.add_up(data, self.episode_record.totals)
        self._ready.append(rows)

    def take(self) -> list[Rows]:
        """Take out what is there."""
        self.settle()
        taken, self._ready = self._ready, []
        return taken


class Rows:
    """Steps that were taken out of a stretch.

    Attributes:
        notation: What `data` means.
        data: The records of all steps.
        slot: The environment of a batch, or ``None``.
        episode: The number of the episode.
        playing: The numbers of the agents in play.
        names: Their names.
        step: The step of the run before the first of them.
        time: The step of the episode before the first of them.
        vectors: See `Stretch`.
        extras: See `Stretch`.
    """

    def __init__(
        self,
        notation: Notation,
        data: bytes,
        run: tuple[int | None, int, tuple[int, ...], tuple[str, ...]],
        step: int,
        time: int,
        vectors: list[bytes],
        extras: Mapping[int, Extra],
    ) -> None:
        """Take over what a stretch has; `run` are slot, episode, playing and names."""
        self.notation, self.data, self.run = notation, data, run
        self.slot, self.episode, self.playing, self.names = run
        self.step, self.time, self.vectors, self.extras = step, time, vectors, extras

    def __len__(self) -> int:
        """Return the number of steps."""
        size: int = self.notation.dtype.itemsize
        return len(self.data) // size

    def part(self, start: int, stop: int) -> Rows:
        """Return some of the steps."""
        size = self.notation.dtype.itemsize
        return Rows(
            self.notation,
            self.data[start * size : stop * size],
            self.run,
            self.step + start,
            self.time + start,
            self.vectors[start:stop],
            {s: extra for s, extra in self.extras.items() if start < s - self.step <= stop},
        )

    def sorts(self) -> Iterator[Rows]:
        """Yield the steps in order: plain ones that follow each other, others one by one."""
        start = 0
        for place in [step - self.step - 1 for step in self.extras]:
            if start < place:
                yield self.part(start, place)
            yield self.part(place, place + 1)
            start = place + 1
        if start < len(self):
            yield self.part(start, len(self)) if start else self

    @property
    def table(self) -> NDArray[Any]:
        """The records, shape (steps,)."""
        return np.frombuffer(self.data, self.notation.dtype)

    def _column(self, name: str) -> NDArray[Any]:
        """Return a field of the records, of those in play."""
        column: NDArray[Any] = self.table[name]
        return column if len(self.playing) == self.notation.agents else column[:, self.playing]

    @property
    def clocks(self) -> list[int]:
        """The monotonic clock of each step."""
        clocks: list[int] = self.table["clock"].tolist()
        return clocks

    @property
    def digests(self) -> list[int]:
        """The digest of the state after each step; 0 where nobody wants them."""
        if self.notation.brief and self.notation.state is None:
            return [0] * len(self)
        digests: list[int] = self.table["digest"].tolist()
        return digests

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
