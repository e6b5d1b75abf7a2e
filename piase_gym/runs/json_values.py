"""Anything as valid JSON: NumPy, bytes, odd floats, odd strings, huge strings, deep nesting."""

from __future__ import annotations

import base64
import dataclasses
import enum
import math
from collections.abc import Mapping, Set
from datetime import date, datetime
from pathlib import PurePath
from typing import Any

import numpy as np
import orjson
from pydantic import BaseModel

from piase_gym.core.jsonable import python_value

MAX_STRING = 1_000_000
"""Longest string that is written, in characters; a longer one is cut, with a note of that."""
MAX_DEPTH = 40
"""Deepest nesting that is written; below it, only the types of values are shown."""
_BREAKS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
"""Characters that JSON allows in a string, and at which other programs break lines."""
_OTHER_KEYS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def encode(value: Any) -> str:
    """Return `value` as JSON in one line; see `dumps`."""
    return dumps(value).decode()


def dumps(value: Any) -> bytes:
    """Return `value` as JSON in one line, UTF-8.

    NaN and infinities become null, as JSON has no such numbers; bytes become
    ``{"base64": ...}``; other values unknown to JSON become their `repr`. This never fails.
    """
    try:
        found = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except (TypeError, ValueError, RecursionError):
        try:
            found = orjson.dumps(value, option=_OTHER_KEYS)
        except (TypeError, ValueError, RecursionError):
            found = orjson.dumps(plain(value))
    if len(found) > MAX_STRING:
        found = orjson.dumps(plain(value))
    return found if found.isascii() else found.decode().translate(_BREAKS).encode()


def plain(value: Any, depth: int = 0) -> Any:
    """Return `value` as what `json` knows: dicts, lists, strings, numbers, booleans, ``None``."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value) if -(1 << 63) <= value < 1 << 64 else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return plain(python_value(value), depth)
    if isinstance(value, bytes | bytearray | memoryview):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    if depth >= MAX_DEPTH:
        return f"… {type(value).__name__}"
    return _nested(value, depth + 1)


def _nested(value: Any, depth: int) -> Any:
    """Return a value that may hold others."""
    if isinstance(value, np.ndarray):
        return [plain(item, depth) for item in value.tolist()] if value.ndim else plain(value[()])
    if isinstance(value, enum.Enum):
        return plain(value.value, depth)
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="python"), depth)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: plain(getattr(value, name), depth) for name in names}
    if isinstance(value, Mapping):
        return {_key(key): plain(item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth) for item in value]
    if isinstance(value, Set):
        return sorted((plain(item, depth) for item in value), key=repr)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, PurePath):
        return _text(str(value))
    return _text(repr(value))


def _key(key: Any) -> str:
    """Return a key as a string."""
    if isinstance(key, enum.Enum):
        key = key.value
    return _text(key if isinstance(key, str) else str(key))


def _text(text: str) -> str:
    """Return a string that can be written as UTF-8 and is not huge."""
    if len(text) > MAX_STRING:
        kept = MAX_STRING - 64  # with the note it is not too long, so that it is not cut again
        text = f"{text[:kept]}… [{len(text) - kept} characters cut]"
    return text.encode("utf-8", "replace").decode()
