"""What an answer is worth: the reward of InterCode's SQL environment, and ours.

A result is a multiset of rows, written as strings, so ``(1,)`` and ``(1.0,)`` differ. Its score is
the intersection of answer and gold over their union (1 if both are empty). If they share rows, the
order counts too: Kendall's tau-b between the shared rows as the answer and as the gold has them
(compared by position, ranked as strings) multiplies the score, which is then rounded to two
digits; if tau is not a number (one row, or all the same) the score stays as it is. So two different
rows in reverse order are worth -1.

Source: Yang et al., 2023, "InterCode: Standardizing and Benchmarking Interactive Coding with
Execution Feedback", and its published environment.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, get_args

import numpy as np

from piase_gym.errors import ConfigError, suggest
from piase_gym.worlds.sql_query.rules.tokens import is_ordered

Mode = Literal["original", "order_aware"]
"""Whether the order of rows always counts, or only if the gold query asks for one."""
MODES: Final[tuple[Mode, ...]] = get_args(Mode)

Rows = Iterable[object]
"""The rows of a result, each a tuple or list of values."""


def score(
    agent_rows: Rows | str | None,
    gold_rows: Rows | str | None,
    mode: Mode = "original",
    gold_sql: str | None = None,
) -> float:
    """Return what an answer is worth: at most 1, and below 0 if its order is wrong.

    Args:
        agent_rows: The rows of the answer. An error (a string) or None, which is what a statement
            without a result leaves, is worth 0.
        gold_rows: The rows of the gold. An error or None counts as no rows, as in InterCode.
        mode: ``original`` is InterCode's formula. ``order_aware`` ignores the order of rows if the
            gold query has no outer ``ORDER BY``.
        gold_sql: The gold query, which only ``order_aware`` reads; without it no order counts.

    Raises:
        ConfigError: If there is no such mode.
    """
    if mode not in MODES:
        raise ConfigError(f"unknown mode {mode!r:.60}; {suggest(mode, MODES)}")
    if agent_rows is None or isinstance(agent_rows, str):
        return 0.0
    agent = _written(agent_rows)
    gold = _written(() if gold_rows is None or isinstance(gold_rows, str) else gold_rows)
    if agent == gold:
        return 1.0
    counts, gold_counts = Counter(agent), Counter(gold)
    shared = counts & gold_counts
    overlap = shared.total() / (counts | gold_counts).total()
    if mode == "order_aware" and not (gold_sql and is_ordered(gold_sql)):
        return overlap
    tau = kendall_tau(_shared_rows(agent, shared), _shared_rows(gold, shared))
    # NumPy's rounding, as in InterCode: 0.015 becomes 0.02; in Python it becomes 0.01.
    return overlap if math.isnan(tau) else float(np.round(tau * overlap, 2))


def _written(rows: Rows) -> list[str]:
    """Return rows as strings; a list of values is written as a tuple."""
    return [str(tuple(row) if isinstance(row, list) else row) for row in rows]


def _shared_rows(rows: list[str], shared: Counter[str]) -> list[str]:
    """Return the rows that both results have, in their order, the first ones of equal rows."""
    left = Counter(shared)
    kept = []
    for row in rows:
        if left[row] > 0:
            left[row] -= 1
            kept.append(row)
    return kept


def kendall_tau(first: Sequence[str], second: Sequence[str]) -> float:
    """Return Kendall's tau-b of two sequences of equal length, ranked as strings.

    It is not a number for fewer than two values, or if all values of a sequence are equal.
    """
    x, y = _ranks(first), _ranks(second)
    size = len(x)
    pairs = size * (size - 1) // 2
    tied_x, tied_y, tied_both = _ties(x), _ties(y), _ties(x * size + y)
    if pairs in (0, tied_x, tied_y):
        return math.nan
    by_x = np.lexsort((y, x))  # pairs that are tied in x stand in the order of y: no inversions
    surplus = pairs - tied_x - tied_y + tied_both - 2 * _inversions(y[by_x])
    tau = surplus / np.sqrt(pairs - tied_x) / np.sqrt(pairs - tied_y)
    return float(np.clip(tau, -1, 1))


def _ranks(values: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the rank of each value; equal values have the same rank."""
    order = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return np.array([order[value] for value in values], np.int64)


def _ties(ranks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """Return how many pairs share a rank."""
    counts = np.unique(ranks, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(ranks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """Return how many pairs are in descending order: the highest bit that differs decides."""
    found = 0
    for bit in reversed(range(int(ranks.max()).bit_length())):
        group, ones = ranks >> (bit + 1), (ranks >> bit) & 1
        order = np.argsort(group, kind="stable")
        group, ones = group[order], ones[order]
        before = np.cumsum(ones) - ones
        first = np.searchsorted(group, group)  # where the group of each begins
        found += int(((before - before[first]) * (1 - ones)).sum())
    return found
