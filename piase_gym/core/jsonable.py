"""Any value of a world as plain JSON-able data, for perceptions, logs and messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PLAIN = (str, bool, int, float)


def jsonable(value: Any) -> Any:
    """Return a value as dicts, lists, strings, numbers, booleans and ``None``.

    Arrays become lists; records (dataclasses and named tuples) become dicts by field; sets are
    sorted. Any other value becomes its string.
    """
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, Enum):
        return jsonable(value.value)
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(python_value(value))
    for kind in _PLAIN:
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return jsonable(value._asdict())
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((jsonable(item) for item in value), key=repr)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return str(value)


def python_value(value: NDArray[Any] | np.generic) -> Any:
    """Return an array as a list, and a NumPy scalar as a Python number, rounded if need be."""
    found = value.tolist()
    if isinstance(found, np.longdouble):
        return float(found)
    return complex(found) if isinstance(found, np.clongdouble) else found
