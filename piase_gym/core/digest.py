"""Digests: 64 bits that stand for a state, equal in every process and on every platform.

Array worlds hash the canonical fields of their record, one after the other (little-endian).
Other worlds hash canonical JSON: sorted keys, floats by their shortest exact form.
"""

from __future__ import annotations

import json
from typing import Any

import orjson
import xxhash

from piase_gym.core.jsonable import jsonable


def digest_bytes(data: bytes | memoryview) -> str:
    """Return the XXH3-64 digest of raw bytes as 16 hexadecimal digits."""
    return xxhash.xxh3_64_hexdigest(data)


def canonical_json(value: Any) -> bytes:
    """Return `value` as JSON with sorted keys (NumPy arrays and scalars are allowed)."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY)


def digest_json(value: Any) -> str:
    """Return the digest of a JSON-able value as 16 hexadecimal digits."""
    try:
        encoded = canonical_json(value)
    except TypeError:  # integers of more than 64 bits, as in states of generators
        encoded = json.dumps(value, sort_keys=True, default=jsonable).encode()
    return digest_bytes(encoded)
