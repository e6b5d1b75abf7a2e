"""Numbers: which values are some, and sums that are equal under every version of Python."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import TypeGuard


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is an integer or a float; booleans are no numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def sum_in_order(values: Iterable[float]) -> float:
    """Return the sum of floats, added one after the other.

    From Python 3.12 on, `sum` compensates for rounding and so gives other bits than before;
    rewards, draws and published numbers must not change.
    """
    return functools.reduce(operator.add, values, 0.0)
