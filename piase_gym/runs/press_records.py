"""The steps of one array world, written by compiled code straight from its records."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.runs.lines import CALM_END, Encoder, Texts, moment
from piase_gym.runs.plain import encode
from piase_gym.runs.press import ROOM, RewardTexts, packed
from piase_gym.runs.stretch import Notation, Rows


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
        self._press = Direct(press_kernel.press_records)
        self._numbers, self._result = np.zeros(10, np.int64), np.zeros(4, np.int64)
        self._set_numbers = struct.Struct("10q").pack_into
        self._out = np.empty(0, np.uint8)
        self._second = -1
        self._known = RewardTexts(notation.agents)
        self._pools = Texts(self._pieces)
        self._missing = press_kernel.REWARD
        notation.compiled = Direct(press_kernel.add_up)

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
        run, head = self.encoder.run, self.encoder.step_head
        return *packed([begin, run, head, ',"episode":', *agents, "},", *said]), np.array(numbers)

    def _ends(self, rows: Rows) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Return what lines end with: of plain steps, then of each special one; and their rows."""
        party, extras = self.encoder.parties[rows.names], rows.extras
        texts = [party.calm, CALM_END]
        for extra in extras.values():
            texts += party.ends(extra)
        return *packed(texts), np.array([step - rows.step - 1 for step in extras], np.int64)

    def write(self, rows: Rows) -> Iterator[bytes]:
        """Yield the lines of steps, some at a time."""
        records = np.frombuffer(rows.data + bytes(8), np.uint8)
        ends, table, clock = self._ends(rows), rows.table, self.encoder.clock
        row, count, known, clocks = 0, len(table), self._known, table["clock"]
        shape = (count, table.itemsize, self._notation.agents, rows.step, rows.episode, clock)
        while row < count:
            second = (int(clocks[row]) + clock) // 1_000_000_000
            if second != self._second:
                self._second = second
                self._pools.clear()
            *pool, playing = self._pools[rows.names, rows.playing]
            if len(self._out) < (room := ROOM + 8 * (len(pool[0]) + len(ends[0]))):
                self._out = np.empty(room, np.uint8)
            first = self.encoder.count + 1
            self._set_numbers(self._numbers.data, 0, row, first, second, len(known), *shape)
            args = (*pool, *known.arrays, *ends, self._numbers, records, playing)
            self._press(self._out, *args, self._result)
            done, size, reason, bits = self._result.tolist()
            self.encoder.count += done - row
            row = done
            if size:
                yield self._out[:size].tobytes()
            if reason == self._missing:
                known.learn(bits)


class Direct:
    """A compiled function whose arguments are always of the same types.

    They are looked up in the first call only.
    """

    def __init__(self, compiled: Any) -> None:
        """Take the function."""
        self._compiled, self._run = compiled, compiled

    def __call__(self, *args: Any) -> None:
        """Call it."""
        self._run(*args)
        if self._run is self._compiled:
            from piase_gym.kernels import direct

            self._run = direct(self._compiled, *args)
