"""The table of steps: one row per agent and step, as Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.errors import need

COLUMNS: Final[Mapping[str, str]] = {
    "env": "the environment in the shard, from 0",
    "seed": "effective seed of the episode; reset(seed=...) begins it again",
    "step": "steps of the episode before this one",
    "agent": "who acts",
    "observation": "the vector that it saw, a list of one length",
    "text": "the text that it saw; only of what is kept as text",
    "action": "the index of what it did; null for what has none, or is not legal",
    "command": "what it did, in words; not of worlds that were stepped in batches",
    "reward": "what it got for it",
    "terminated": "whether the rules ended its episode with this step",
    "truncated": "whether a limit did",
}
"""What each column is."""
PARQUET: Final[Mapping[str, Any]] = {
    "compression": "zstd",
    "use_dictionary": ["agent"],
    "write_statistics": ["env", "seed", "step", "agent", "action", "reward"],
}
"""How files are written; nobody needs statistics of the numbers in observations."""
ROW_GROUP = 1 << 26
"""About how many bytes of observations are kept before they are written."""


class StepTable:
    """Writes rows to a Parquet file, a group at a time, in constant memory.

    Args:
        path: The file.
        agents: The agents' names.
        width: Length of an observation, or ``None`` without observations.
        dtype: The type of its numbers.
        text: Whether there are texts.
        commands: Whether there are commands in words.
        metadata: The metadata of the file.
    """

    def __init__(
        self,
        path: Path,
        agents: Sequence[str],
        *,
        width: int | None,
        dtype: Any = np.float32,
        text: bool = False,
        commands: bool = False,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._arrow = arrow = need("pyarrow", "a table of steps")
        parquet = need("pyarrow.parquet", "a table of steps")
        self._width, self._names = width, arrow.array(list(agents), arrow.string())
        names = arrow.dictionary(arrow.int8(), arrow.string())
        fields: list[tuple[str, Any]] = [("env", arrow.int32()), ("seed", arrow.int64())]
        fields += [("step", arrow.int32()), ("agent", names)]
        if width is not None:
            kind = arrow.from_numpy_dtype(np.dtype(dtype))
            fields.append(("observation", arrow.list_(kind, width)))
        if text:
            fields.append(("text", arrow.string()))
        fields.append(("action", arrow.int32()))
        if commands:
            fields.append(("command", arrow.string()))
        ends = [("terminated", arrow.bool_()), ("truncated", arrow.bool_())]
        fields += [("reward", arrow.float64()), *ends]
        self.schema = arrow.schema(fields, metadata=dict(metadata or {}))
        self._writer = parquet.ParquetWriter(path, self.schema, **PARQUET)
        each = (width or 8) * np.dtype(dtype).itemsize
        self._most = max(1, ROW_GROUP // each)
        self._waiting: list[dict[str, Any]] = []
        self._count = 0
        self.rows = 0

    def add(self, columns: Mapping[str, Any]) -> None:
        """Add rows, as arrays or lists of equal length; ``agent`` has the numbers of agents.

        The arrays are kept until they are written, so they must not be changed.
        """
        self._waiting.append(dict(columns))
        self._count += len(columns["action"])
        if self._count >= self._most:
            self._write()

    def _write(self) -> None:
        """Write the waiting rows as one group."""
        batches = [self._batch(columns) for columns in self._waiting]
        if batches:
            table = self._arrow.Table.from_batches(batches, self.schema)
            self._writer.write_table(table, row_group_size=self._count)
        self.rows += self._count
        self._waiting, self._count = [], 0

    def _batch(self, columns: Mapping[str, Any]) -> Any:
        """Return rows as an Arrow record batch; numbers are not copied."""
        arrow, made = self._arrow, []
        for field in self.schema:
            values = columns[field.name]
            if field.name == "agent":
                indices = arrow.array(np.asarray(values, np.int8))
                made.append(arrow.DictionaryArray.from_arrays(indices, self._names))
            elif field.name == "observation":
                flat = arrow.array(np.ascontiguousarray(values).reshape(-1))
                made.append(arrow.FixedSizeListArray.from_arrays(flat, self._width))
            else:
                made.append(arrow.array(values, field.type))
        return arrow.RecordBatch.from_arrays(made, schema=self.schema)

    def __enter__(self) -> StepTable:
        """Return the table."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write the rest and the end of the file."""
        if kind is None:
            self._write()
        self._writer.close()


def flat_rows(
    shown: NDArray[Any] | None,
    alive: NDArray[np.bool_],
    seeds: NDArray[np.int64],
    steps: NDArray[np.int64],
    acts: NDArray[np.integer[Any]],
    rewards: NDArray[np.float64],
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
) -> dict[str, Any]:
    """Return a step of a batch as rows of the agents that were in play.

    Args:
        shown: What they saw, shape (envs, agents, length), or ``None``.
        alive: Which agents were in play, shape (envs, agents).
        seeds: Seeds of the episodes, one per environment.
        steps: How many steps the episodes had before this step, one number per environment.
        acts: What they did, shape (envs, agents).
        rewards: What they got.
        terminated: For which agents the rules ended the episode.
        truncated: For which agents a limit ended the episode.
    """
    count, agents = alive.shape
    every = bool(alive.all())
    kept = slice(None) if every else alive.reshape(-1)

    def flat(values: NDArray[Any]) -> NDArray[Any]:
        return values.reshape(count * agents, *values.shape[2:])[kept]

    rows = {
        "env": np.repeat(np.arange(count, dtype=np.int32), agents)[kept],
        "seed": np.repeat(seeds, agents)[kept],
        "step": np.repeat(steps.astype(np.int32), agents)[kept],
        "agent": np.tile(np.arange(agents, dtype=np.int8), count)[kept],
        "action": flat(acts).astype(np.int32),
        "reward": flat(rewards),
        "terminated": flat(terminated),
        "truncated": flat(truncated),
    }
    return rows if shown is None else {**rows, "observation": flat(shown)}
