"""Digests: 64 bits that stand for a state, equal in every process and on every platform.

Array worlds hash the canonical bytes of their record (little-endian, zero-initialised padding).
Other worlds hash canonical JSON: sorted keys, floats by their shortest exact form.
"""

from __future__ import annotations

from typing import Any

import orjson
import xxhash


def digest_bytes(data: bytes | memoryview) -> str:
    """Return the XXH3-64 digest of raw bytes as 16 hexadecimal digits."""
    return xxhash.xxh3_64_hexdigest(data)


def canonical_json(value: Any) -> bytes:
    """Return `value` as JSON with sorted keys (NumPy arrays and scalars are allowed)."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY)


def digest_json(value: Any) -> str:
    """Return the digest of a JSON-able value as 16 hexadecimal digits."""
    return digest_bytes(canonical_json(value))
