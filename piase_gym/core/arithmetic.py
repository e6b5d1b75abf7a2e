"""Sums of floats that are the same under every version of Python, to the last bit."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable


def sum_in_order(values: Iterable[float]) -> float:
    """Return the sum of floats, added one after the other.

    From Python 3.12 on, `sum` compensates for rounding and so gives other bits than before;
    rewards, draws and published numbers must not change.
    """
    return functools.reduce(operator.add, values, 0.0)
