"""Values in a plain, JSON-able form, where they differ, and why one is not in its space."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.core.validation_messages import short
from piase_gym.testing.kit import Fault, require

_LEAVES = {type(None), bool, int, float, str}


def plain(value: Any) -> Any:
    """Return all that is visible in a value, as JSON-able data with dtypes and shapes."""
    if type(value) in _LEAVES:
        return value
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": value.tolist()}
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str | int | float):  # of a subclass
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=repr)
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: plain(getattr(value, name)) for name in names}
    return f"<{type(value).__name__}>"


def alike(one: Any, two: Any) -> bool:
    """Return whether two values surely look the same: then there is no need to make them plain."""
    kind = type(one)
    if one is two or kind is not type(two):
        return one is two
    if kind in _LEAVES:
        return bool(one == two)
    if kind is np.ndarray:
        same = one.dtype == two.dtype and one.shape == two.shape and not one.dtype.hasobject
        return same and bool((one == two).all())
    if kind is dict:
        return len(one) == len(two) and all(map(alike, one.items(), two.items()))
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(alike, one, two))
    if dataclasses.is_dataclass(kind) and not isinstance(one, Mapping):
        names = [field.name for field in dataclasses.fields(kind)]
        return all(alike(getattr(one, name), getattr(two, name)) for name in names)
    return False


def difference(one: Any, two: Any, where: str = "") -> str | None:
    """Say where two plain values first differ, or return ``None``."""
    if not where and repr(one) == repr(two):  # faster than a look at every part
        return None
    if isinstance(one, dict) and isinstance(two, dict):
        if one.keys() != two.keys():
            return f"{where}: keys {sorted(one)} and {sorted(two)}"
        pairs = [(f"{where}, {key}" if where else str(key), one[key], two[key]) for key in one]
    elif isinstance(one, list) and isinstance(two, list):
        if len(one) != len(two):
            return f"{where}: {len(one)} and {len(two)} entries"
        pairs = [(f"{where}[{i}]", one[i], two[i]) for i in range(len(one))]
    else:
        return None if _same(one, two) else f"{where}: {short(one)} and {short(two)}"
    found = (difference(a, b, place) for place, a, b in pairs if a is not b)
    return next((entry for entry in found if entry is not None), None)


def require_same(told: str, one: Any, two: Any) -> None:
    """Raise a `Fault` that says where two values first differ, if they do."""
    if not alike(one, two):
        found = difference(plain(one), plain(two))
        require(found is None, f"{told}: {found}")


def require_inside(space: Any, value: Any, told: str) -> None:
    """Raise a `Fault` that says why a value is not in its space, if it is not."""
    why = outside(space, value)
    require(why is None, f"{told} is not in its space: {why}")


def through_json(value: Any, told: str, **options: Any) -> Any:
    """Return a value as read back from JSON, or raise a `Fault` if it cannot be written."""
    try:
        return json.loads(json.dumps(value, **options))
    except (TypeError, ValueError) as error:
        raise Fault(f"{told} cannot be written as JSON: {error}") from None


def _same(one: Any, two: Any) -> bool:
    """Compare two leaves; not-a-number equals itself here."""
    if isinstance(one, float) and isinstance(two, float) and math.isnan(one) and math.isnan(two):
        return True
    return type(one) is type(two) and bool(one == two)


def arrays_in(value: Any, where: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield every array in nested mappings and sequences, with the path to it."""
    if isinstance(value, np.ndarray):
        yield where, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from arrays_in(item, f"{where}, {key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from arrays_in(item, f"{where}[{number}]")


def outside(space: spaces.Space[Any], value: Any) -> str | None:
    """Say why a value is not in a space, or return ``None`` if it is."""
    if isinstance(space, spaces.Dict) and isinstance(value, Mapping):
        if set(value) != set(space.spaces):
            return f"it has the keys {sorted(value)}, not {sorted(space.spaces)}"
        parts = ((key, outside(part, value[key])) for key, part in space.spaces.items())
        return next((f"{key}: {why}" for key, why in parts if why), None)
    if isinstance(value, Mapping):
        value = dict(value)
    if isinstance(space, spaces.Box) and not isinstance(value, np.ndarray):
        return f"it is of type {type(value).__name__}, not an array"
    if space.contains(value):
        return None
    if isinstance(space, spaces.Box):
        return _outside_box(space, value)
    if isinstance(space, spaces.Text) and isinstance(value, str):
        strange = sorted(set(value) - set(space.character_set))
        if strange:
            return f"it has the character {strange[0]!r}, which is not in the character set"
        return f"it has {len(value)} characters; allowed: {space.min_length} to {space.max_length}"
    return f"{short(value)} is not in {space}"


def _outside_box(space: spaces.Box, value: NDArray[Any]) -> str:
    """Say why a value is not in a box."""
    if value.shape != space.shape:
        return f"its shape is {value.shape}, not {space.shape}"
    if not np.can_cast(value.dtype, space.dtype):
        return f"its dtype is {value.dtype}, not {space.dtype}"
    wrong = np.argwhere(~((value >= space.low) & (value <= space.high)))
    place = tuple(int(i) for i in wrong[0])
    index = place[0] if len(place) == 1 else place
    return f"entry {index} is {value[place]}; allowed: {space.low[place]} to {space.high[place]}"
