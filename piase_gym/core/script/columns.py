"""Records stored field by field, as a script looks at one field of all environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Columns:
    """Records of one type, with each field in an array of its own.

    Indexing with the name of a field gives that array, which may be changed; any other index into
    an array gives records, as copies.

    Example:
        >>> rows = Columns(3, np.dtype([("t", "<i4"), ("seen", "u1", (2,))]))
        >>> rows["t"][1] = 7
        >>> rows[1].tolist()
        (7, [0, 0])
        >>> rows[2] = rows[1]
        >>> rows["t"].tolist()
        [0, 7, 7]
    """

    def __init__(self, count: int, dtype: np.dtype[Any]) -> None:
        """Start with zeros."""
        self.dtype, self._count = dtype, count
        kinds = {name: dtype[name] for name in dtype.names or ()}
        self._fields = {n: np.zeros((count, *kind.shape), kind.base) for n, kind in kinds.items()}
        self._filled = [name for name, field in self._fields.items() if field[:1].size]

    def __len__(self) -> int:
        """Return how many records there are."""
        return self._count

    def __getitem__(self, key: Any) -> Any:
        """Return a field, or records."""
        if isinstance(key, str):
            return self._fields[key]
        shape = np.empty(self._count, np.void)[key].shape
        found: NDArray[Any] = np.zeros(shape, self.dtype)
        for name in self._filled:
            found[name] = self._fields[name][key]
        return found if shape else found[()]

    def __setitem__(self, key: Any, records: Any) -> None:
        """Fill a field, or replace records."""
        if isinstance(key, str):
            self._fields[key][...] = records
            return
        for name in self._filled:
            self._fields[name][key] = records[name]

    def clear(self, key: Any) -> None:
        """Set records to zero."""
        for name in self._filled:
            self._fields[name][key] = 0

    @property
    def nbytes(self) -> int:
        """How many bytes all records take up."""
        return self._count * self.dtype.itemsize

    def tobytes(self) -> bytes:
        """Return the bytes of all records."""
        found: bytes = self[:].tobytes()
        return found

    def copy(self) -> Columns:
        """Return a copy."""
        found = Columns(self._count, self.dtype)
        found[:] = self[:]
        return found
