"""Hashes of levels against a second implementation, written from the definition of FNV-1a."""

from __future__ import annotations

import numpy as np

from piase_gym.compiled.level_hash import hash_rows
from piase_gym.core.rng import mix64


def test_all_bytes_of_all_parts_count_and_no_others() -> None:
    rows = np.random.default_rng(0).integers(0, 256, (5, 40)).astype(np.uint8)
    parts, which = np.array([[0, 3], [7, 8], [12, 12], [30, 40]]), np.array([4, 0, 2])
    out = np.zeros(3, np.uint64)
    hash_rows(rows, parts, which, out)
    wanted = []
    for row in which:
        found = 0xCBF29CE484222325
        for byte in [*rows[row, :3], rows[row, 7], *rows[row, 30:]]:
            found = (found ^ int(byte)) * 0x100000001B3 % 2**64
        wanted.append(mix64(found))
    assert out.tolist() == wanted
