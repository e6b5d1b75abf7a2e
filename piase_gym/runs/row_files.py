"""Rows, of which there is at least one, as files: JSON Lines, CSV, Parquet, SQLite and HDF5."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from piase_gym.errors import RunError, need
from piase_gym.runs.json_values import dumps
from piase_gym.runs.sinks import packer

BATCH = 50_000
"""Rows that are held in memory at a time."""
Row = dict[str, Any]


def to_jsonl(rows: Iterator[Row], place: Path) -> None:
    """Write one line per row, compressed if the name says so."""
    pack = packer(place)
    with place.open("wb") as file:
        while lines := [dumps(row) + b"\n" for row in islice(rows, BATCH)]:
            file.write(b"".join(lines) if pack is None else pack.pack(b"".join(lines)))
        file.write(b"" if pack is None else pack.end())


def _to_csv(rows: Iterator[Row], place: Path) -> None:
    """Write a table with one column per field; the data is JSON."""
    first = next(rows)
    with place.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(first))
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(rows)


def _to_parquet(rows: Iterator[Row], place: Path) -> None:
    """Write a columnar table; the data is JSON."""
    arrow, parquet = need("pyarrow", "Parquet"), need("pyarrow.parquet", "Parquet")
    writer: Any = None
    try:
        while batch := list(islice(rows, BATCH)):
            if writer is None:
                schema = arrow.schema([(n, _arrow_type(arrow, v)) for n, v in batch[0].items()])
                writer = parquet.ParquetWriter(place, schema, compression="zstd")
            writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
    finally:
        if writer is not None:
            writer.close()


def _arrow_type(arrow: Any, value: Any) -> Any:
    """Return the type of a column."""
    if isinstance(value, float):
        return arrow.float64()
    return arrow.int64() if isinstance(value, int) else arrow.string()


def _to_sqlite(rows: Iterator[Row], place: Path) -> None:
    """Write a database with the table ``events``."""
    import sqlite3

    connection = sqlite3.connect(place)
    try:
        names: list[str] | None = None
        while batch := list(islice(rows, BATCH)):
            if names is None:
                names = list(batch[0])
                columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
                connection.execute(f"CREATE TABLE events ({columns})")
            marks = ", ".join("?" * len(names))
            values = [tuple(row.values()) for row in batch]
            connection.executemany(f"INSERT INTO events VALUES ({marks})", values)
        for name in ("event_type", "agent_id", "step") if names else ():
            connection.execute(f"CREATE INDEX by_{name} ON events ({name})")
        connection.commit()
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says more of the same
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise OSError(str(error)) from None
        raise RunError(f"the fields of the lines are no columns of a database: {error}") from None
    finally:
        connection.close()


def _to_hdf5(rows: Iterator[Row], place: Path) -> None:
    """Write a group ``events`` with one dataset per field; the data is JSON.

    The file is made in memory: where a disk is full, HDF5 crashes.
    """
    h5py = need("h5py", "HDF5")
    text = h5py.string_dtype("utf-8")
    whole = io.BytesIO()
    with h5py.File(whole, "w") as file:
        group, done = file.create_group("events"), 0
        while batch := list(islice(rows, BATCH)):
            for name, value in batch[0].items():
                if name not in group:
                    kind = text
                    if isinstance(value, int | float):
                        kind = "f8" if isinstance(value, float) else "i8"
                    group.create_dataset(
                        name, (0,), kind, maxshape=(None,), chunks=True, compression="gzip"
                    )
                column = group[name]
                column.resize((done + len(batch),))
                # HDF5 ends a string at its first null character, and has no null.
                values = ["" if row[name] is None else row[name] for row in batch]
                column[done:] = [
                    v.replace("\0", "\\u0000") if isinstance(v, str) else v for v in values
                ]
            done += len(batch)
    place.write_bytes(whole.getbuffer())


WRITERS: Mapping[str, Callable[[Iterator[Row], Path], None]] = {
    "csv": _to_csv,
    "hdf5": _to_hdf5,
    "jsonl": to_jsonl,
    "parquet": _to_parquet,
    "sqlite": _to_sqlite,
}
