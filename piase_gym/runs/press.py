"""The step lines of batches, written by compiled code: thousands of environments at once."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import OUTCOMES
from piase_gym.runs.json_values import encode
from piase_gym.runs.lines import Encoder, Extra, StepItem, moment

FEW = 64
"""So few lines are not worth to have the compiled code made, or loaded."""
ROOM = 1 << 16
"""Bytes that are written at once."""
SPARE = 32
"""Bytes that compiled code copies at once; so many follow texts that it is given."""
MOST = 256
"""So many different rewards are known at a time."""


class Block(NamedTuple):
    """Plain steps of several environments of a batch; arrays have these first.

    Attributes:
        ns: The monotonic clock.
        step: The step of the batch.
        slots: The environments, int64.
        episodes: Their episodes, int64.
        acts: int64, shape (environments, agents).
        codes: Indices into `OUTCOMES`, int64, likewise.
        rewards: float64, likewise.
        alive: Who was in play, bool, likewise.
        digests: uint64.
    """

    ns: int
    step: int
    slots: NDArray[np.int64]
    episodes: NDArray[np.int64]
    acts: NDArray[np.int64]
    codes: NDArray[np.int64]
    rewards: NDArray[np.float64]
    alive: NDArray[np.bool_]
    digests: NDArray[np.uint64]

    def part(self, start: int, stop: int) -> Block:
        """Return some of the environments."""
        part = slice(start, stop)
        return Block(
            self.ns,
            self.step,
            self.slots[part],
            self.episodes[part],
            self.acts[part],
            self.codes[part],
            self.rewards[part],
            self.alive[part],
            self.digests[part],
        )

    def row(self, place: int) -> Block:
        """Return one of the environments."""
        return self.part(place, place + 1)

    def items(self, agents: Sequence[str]) -> Iterator[StepItem]:
        """Yield the steps in the form in which others are kept."""
        for place, slot in enumerate(self.slots.tolist()):
            playing = np.flatnonzero(self.alive[place]).tolist()
            names = tuple(agents[i] for i in playing)
            packed = bytes(self.acts[place, playing].tolist())
            said = [str(OUTCOMES[code]) for code in self.codes[place, playing].tolist()]
            rewards = self.rewards[place, playing].tolist()
            digest, episode = f"{int(self.digests[place]):016x}", int(self.episodes[place])
            extra = Extra(more={"slot": slot})
            yield (self.ns, self.step, episode, names, packed, said, rewards, digest, extra)


class RewardTexts:
    """The texts of rewards, for compiled code, which finds them by their bits.

    Attributes:
        arrays: The bits that are known (int64), their texts (uint8), where each text begins.
    """

    def __init__(self, agents: int) -> None:
        """Know no reward; there is room for those of a line of so many agents."""
        self._bits = np.zeros(max(MOST, agents), np.int64)
        self._forget()

    def _forget(self) -> None:
        """Know no reward any more."""
        self._texts: list[str] = []
        self.arrays = (self._bits, *packed([]))

    def __len__(self) -> int:
        """Return how many are known."""
        return len(self._texts)

    def learn(self, bits: int) -> None:
        """Make the text of a reward."""
        if len(self._texts) == len(self._bits):
            self._forget()
        (reward,) = struct.unpack("<d", struct.pack("<q", bits))
        self._bits[len(self._texts)] = bits
        self._texts.append(encode(reward))
        self.arrays = (self._bits, *packed(self._texts))


class Press:
    """Writes blocks of one run; makes compiled code ready.

    Args:
        encoder: Has what all lines of the run share, and numbers them.
        agents: All agents of the world.
    """

    def __init__(self, encoder: Encoder, agents: Sequence[str]) -> None:
        """Make the pieces of lines."""
        from piase_gym.runs import press_kernel

        self.compiled: Any = press_kernel
        self.encoder, self.agents = encoder, agents
        self._second = -1
        self._result = np.zeros(4, np.int64)
        self._out = np.empty(0, np.uint8)
        self._known = RewardTexts(len(agents))
        self._turn(0)

    def _turn(self, second: int) -> None:
        """Make the pieces, for lines of one second."""
        self._second = second
        compiled = self.compiled
        pieces = [""] * compiled.PIECES
        pieces[compiled.START] = '{"timestamp":"' + moment(second * 1000)[:-3]
        pieces[compiled.RUN] = self.encoder.run
        pieces[compiled.HEAD] = self.encoder.step_head
        pieces[compiled.EPISODE] = ',"episode":'
        pieces[compiled.COMMANDS] = ',"event_data":{"kind":"step","commands":{'
        pieces[compiled.OUTCOMES] = '},"outcomes":{'
        pieces[compiled.REWARDS] = '},"rewards":{'
        pieces[compiled.TERMINATED] = '},"terminated":{'
        pieces[compiled.TRUNCATED] = '},"truncated":{'
        pieces[compiled.DIGEST] = '},"digest":"'
        pieces[compiled.SLOT], pieces[compiled.END] = '","slot":', '"}}\n'
        pieces[compiled.FALSE] = "false"
        names = [f"{encode(name)}:" for name in self.agents]
        said = [encode(str(outcome)) for outcome in OUTCOMES]
        self._pool, self._offsets = packed([*pieces, *names, *said])
        size = ROOM + 8 * len(self._pool)
        if len(self._out) < size:
            self._out = np.empty(size, np.uint8)

    def write(self, blocks: Sequence[Block]) -> Iterator[bytes]:
        """Yield the lines of blocks that follow each other, some at a time."""
        sizes = [len(block.slots) for block in blocks]
        clocks = np.array([(block.ns + self.encoder.clock) // 1000 for block in blocks])
        columns = (
            np.repeat(clocks, sizes),
            np.repeat(np.array([block.step for block in blocks]), sizes),
            np.concatenate([block.episodes for block in blocks]),
            np.concatenate([block.slots for block in blocks]),
            np.concatenate([block.acts for block in blocks]),
            np.concatenate([block.codes for block in blocks]),
            np.concatenate([block.rewards for block in blocks]).view(np.int64),
            np.concatenate([block.alive for block in blocks]),
            np.concatenate([block.digests for block in blocks]),
        )
        count, row = len(columns[0]), 0
        while row < count:
            second = int(columns[0][row]) // 1_000_000
            if second != self._second:
                self._turn(second)
            numbers = np.array([row, self.encoder.count + 1, second, len(self._known), 1])
            pieces = (self._pool, self._offsets, *self._known.arrays)
            self.compiled.press(self._out, *pieces, numbers, *columns, self._result)
            done, size, reason, bits = self._result.tolist()
            self.encoder.count += done - row
            row = done
            if size:
                yield self._out[:size].tobytes()
            if reason == self.compiled.REWARD:
                self._known.learn(bits)


def packed(pieces: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return pieces one after the other, with `SPARE` bytes to spare, and where each begins."""
    encoded = [piece.encode() for piece in pieces]
    offsets = np.array(list(itertools.accumulate(map(len, encoded), initial=0)))
    return np.frombuffer(bytearray(b"".join(encoded) + bytes(SPARE)), np.uint8), offsets
