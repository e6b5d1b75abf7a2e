"""The steps of one array world, written by compiled code straight from its records."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.runs.json_values import encode
from piase_gym.runs.lines import CALM_END, Encoder, Extra, Texts, moment
from piase_gym.runs.press import RewardTexts, packed
from piase_gym.runs.stretch import Notation, Rows

ROOM = 1 << 18
"""Bytes for lines that are used again and again: about as many as a writer keeps."""
_CLOCK, _NUMBERS = struct.Struct("<q"), struct.Struct("10q")


class RecordPress:
    """Writes rows of one run; makes compiled code ready.

    Args:
        encoder: Has what all lines of the run share, and numbers them.
        notation: What the records mean.
    """

    def __init__(self, encoder: Encoder, notation: Notation) -> None:
        """Make the pieces of lines."""
        from piase_gym.runs import press_kernel

        self.encoder, self._notation = encoder, notation
        self._press = press_kernel.press_records
        self._numbers, self._result = np.zeros(10, np.int64), np.zeros(4, np.int64)
        self._out, self._free = np.empty(0, np.uint8), 0
        self._second = -1
        self._known = RewardTexts(notation.agents)
        self._pools = Texts(self._pieces)
        self._missing = press_kernel.REWARD
        notation.compiled = press_kernel.add_up

    def _pieces(self, party: tuple[tuple[str, ...], tuple[int, ...]]) -> Any:
        """Return the pieces of lines of one second in which some agents are in play."""
        names, numbers = party
        begin = '{"timestamp":"' + moment(self._second * 1000)[:-3]
        quoted = [f"{encode(name)}:" for name in names]
        parts = (',"event_data":{"kind":"step","commands":{', '},"outcomes":{', '},"rewards":{')
        agents = [
            (part if place == 0 else ",") + name
            for part in parts
            for place, name in enumerate(quoted)
        ]
        said = [encode(outcome) for outcome in self._notation.outcomes]
        run, head, calm = self.encoder.run, self.encoder.step_head, self.encoder.parties[names].calm
        pieces = [begin, run, head, ',"episode":', *agents, "}," + calm, CALM_END, *said]
        pool, offsets = packed(pieces)
        line = 4 * len(pool) + 128 * (len(names) + 1)  # at most
        return pool, offsets, np.array(numbers), line

    def rewind(self) -> None:
        """Forget what `write` returned: its memory is used again from now on."""
        self._free = 0

    def write(self, rows: Rows) -> list[bytes | memoryview]:
        """Return the lines of steps, in pieces that hold until `rewind`."""
        found: list[bytes | memoryview] = []
        records, start = np.frombuffer(rows.data, np.uint8), 0
        for step, extra in rows.extras.items():
            stop = step - rows.step
            self._write(rows, records, start, stop, found, extra)
            start = stop
        if start < len(rows):
            self._write(rows, records, start, len(rows), found)
        return found

    def _write(
        self,
        rows: Rows,
        records: NDArray[np.uint8],
        row: int,
        stop: int,
        found: list[bytes | memoryview],
        extra: Extra | None = None,
    ) -> None:
        """Add the lines of plain steps; if there is an `extra`, it belongs to the last of them."""
        encoder, known, notation = self.encoder, self._known, self._notation
        size = notation.dtype.itemsize
        shape = stop, size, notation.agents, rows.step, rows.episode, encoder.clock
        while row < stop:
            (clock,) = _CLOCK.unpack_from(rows.data, row * size)
            second = (clock + encoder.clock) // 1_000_000_000
            if second != self._second:
                self._second = second
                self._pools.clear()
            pool, offsets, playing, line = self._pools[rows.names, rows.playing]
            if len(self._out) - self._free < line:
                self._out, self._free = np.empty(ROOM + line, np.uint8), 0
            out = self._out[self._free :]
            numbers = row, encoder.count + 1, second, len(known), *shape
            _NUMBERS.pack_into(self._numbers.data, 0, *numbers)
            args = pool, offsets, *known.arrays, self._numbers, records, playing, self._result
            self._press(out, *args)
            done, written, reason, bits = self._result.tolist()
            encoder.count += done - row
            row, text = done, out[:written].data
            self._free += written
            if extra is not None and row == stop:
                found += encoder.parties[rows.names].ended(text, extra)
            else:
                found.append(text)
            if reason == self._missing:
                known.learn(bits)
