"""The plain steps of one array world, written by compiled code straight from its records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from piase_gym.runs.lines import Encoder, Texts, moment
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
        from piase_gym.kernels import direct
        from piase_gym.runs import press_kernel

        self.compiled: Any = press_kernel
        self._direct: Any = direct
        self.encoder, self._notation = encoder, notation
        self._size = notation.dtype.itemsize
        self._second = -1
        self._known = RewardTexts(notation.agents)
        self._result = np.zeros(4, np.int64)
        self._out = np.empty(0, np.uint8)
        self._pools = Texts(self._pieces)

    def _pieces(self, names: tuple[str, ...]) -> Any:
        """Return the pieces of lines of one second in which these agents are in play."""
        begin = '{"timestamp":"' + moment(self._second * 1000)[:-3]
        quoted = [f"{encode(name)}:" for name in names]
        parts = (',"event_data":{"kind":"step","commands":{', '},"outcomes":{', '},"rewards":{')
        agents = [
            (part if place == 0 else ",") + name
            for part in parts
            for place, name in enumerate(quoted)
        ]
        nobody = encode(dict.fromkeys(names, False))
        calm = f'}},"terminated":{nobody},"truncated":{nobody},"digest":"'
        said = [encode(outcome) for outcome in self._notation.outcomes]
        run, head = self.encoder.run, self.encoder.step_head
        pool = packed([begin, run, head, ',"episode":', *agents, calm, '"}}\n', *said])
        if len(self._out) < (room := ROOM + 4 * len(pool[0]) + 128 * (len(names) + 1)):
            self._out = np.empty(room, np.uint8)
        return pool

    def _press(self, *args: Any) -> None:
        """Call the kernel; from the second time on without a look-up of types."""
        compiled = self.compiled.press_records
        compiled(*args)
        self._press = self._direct(compiled, *args)  # type: ignore[method-assign]

    def write(self, rows: Rows) -> Iterator[bytes]:
        """Yield the lines of plain steps, some at a time."""
        clocks = (np.array(rows.clocks) + self.encoder.clock) // 1000
        records = np.frombuffer(rows.data + bytes(8), np.uint8)
        digests, playing = np.array(rows.digests, np.uint64), np.array(rows.playing)
        shape = (self._size, self._notation.agents, rows.step, rows.episode)
        row, count, known = 0, len(rows), self._known
        while row < count:
            second = int(clocks[row]) // 1_000_000
            if second != self._second:
                self._second = second
                self._pools.clear()
            pool = self._pools[rows.names]
            numbers = np.array([row, self.encoder.count + 1, second, len(known), *shape])
            args = (*pool, *known.arrays, numbers, records, playing, clocks, digests)
            self._press(self._out, *args, self._result)
            done, size, reason, bits = self._result.tolist()
            self.encoder.count += done - row
            row = done
            if size:
                yield self._out[:size].tobytes()
            if reason == self.compiled.REWARD:
                known.learn(bits)
