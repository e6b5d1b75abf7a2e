"""Plain steps, kept as values until there are many to be written at once.

A plain step is one in which nobody ends and there is nothing to tell but commands, outcomes and
rewards. At step time only a few bytes are kept; texts are made in bulk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from piase_gym.runs.book import Book


class Stretch:
    """Plain steps that follow each other in one episode, with the same agents in play.

    Each column has an entry a step. Entries are of kinds that the garbage collector need not look
    at: it would look often if each step left something behind. One thread appends, to `clocks`
    last, while another may `take`.

    Attributes:
        book: The episode.
        step: The step of the run before the first entry.
        time: The step of the episode before the first entry.
        closed: Whether something else has happened since, so that no step will follow.
        packed: The commands' indices, a byte for each agent in play.
        outcomes: Their outcomes; equal ones are one object.
        rewards: Their rewards, eight bytes each.
        digests: The digests of the state; none if nobody wants them.
        vectors: What all agents of the world perceive; none below the level ``full``.
        clocks: The monotonic clock.
    """

    __slots__ = (
        "book",
        "clocks",
        "closed",
        "digests",
        "outcomes",
        "packed",
        "rewards",
        "step",
        "time",
        "vectors",
    )  # fmt: skip

    def __init__(self, book: Book, step: int, time: int) -> None:
        """Begin after a step of the run."""
        self.book, self.step, self.time = book, step, time
        self.packed: list[bytes] = []
        self.outcomes: list[tuple[str, ...]] = []
        self.rewards: list[bytes] = []
        self.digests: list[str] = []
        self.vectors: list[bytes] = []
        self.clocks: list[int] = []
        self.closed = False

    def take(self) -> Rows:
        """Take out what is there, and add its rewards to those of the book."""
        count, book = len(self.clocks), self.book
        columns = [self.packed, self.outcomes, self.rewards, self.digests, self.vectors]
        taken = [column[:count] for column in (*columns, self.clocks)]  # type: ignore[index]
        for column in (*columns, self.clocks):
            del column[:count]  # type: ignore[attr-defined]
        rows = Rows(book.slot, book.episode, book.names, self.step, self.time, *taken)
        self.step += count
        self.time += count
        if count:
            book.add_many(rows.totals)
        return rows


@dataclass(frozen=True, slots=True)
class Rows:
    """Plain steps that were taken out of a stretch.

    Attributes:
        slot: The environment of a batch, or ``None``.
        episode: The number of the episode.
        names: The agents in play.
        step: The step of the run before the first of them.
        time: The step of the episode before the first of them.
        packed, outcomes, rewards, digests, vectors, clocks: See `Stretch`.
    """

    slot: int | None
    episode: int
    names: tuple[str, ...]
    step: int
    time: int
    packed: list[bytes]
    outcomes: list[tuple[str, ...]]
    rewards: list[bytes]
    digests: list[str]
    vectors: list[bytes]
    clocks: list[int]

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.clocks)

    def part(self, start: int, stop: int) -> Rows:
        """Return some of the steps."""
        columns = (self.packed, self.outcomes, self.rewards, self.digests, self.vectors)
        parts = [column[start:stop] for column in (*columns, self.clocks)]
        step, time = self.step + start, self.time + start
        return Rows(self.slot, self.episode, self.names, step, time, *parts)  # type: ignore[arg-type]

    @property
    def totals(self) -> NDArray[np.float64]:
        """The rewards as numbers, shape (steps, agents)."""
        return np.frombuffer(b"".join(self.rewards), "<f8").reshape(len(self), len(self.names))
