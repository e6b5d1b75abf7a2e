"""Hashes of levels, over the bytes of records that a reset drew, for many environments at once."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled.decorators import kernel
from piase_gym.compiled.draws import mix64

BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@kernel
def hash_rows(rows, parts, which, out):
    """Write the FNV-1a hash, mixed once more, of parts of some rows of bytes.

    Args:
        rows: Bytes, shape (records, length).
        parts: Where each part starts and stops, shape (parts, 2).
        which: The numbers of the rows to hash.
        out: The hashes are written here, in the shape of `which`.
    """
    for i in range(which.shape[0]):
        found = BASIS
        for k in range(parts.shape[0]):
            for place in range(parts[k, 0], parts[k, 1]):
                found = (found ^ np.uint64(rows[which[i], place])) * PRIME
        out[i] = mix64(found)
