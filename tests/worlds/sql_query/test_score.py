"""The score of a result, held to cases worked by hand, to the formula written anew, to scipy."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from piase_gym.errors import ConfigError
from piase_gym.worlds.sql_query import score
from piase_gym.worlds.sql_query.rules.score import kendall_tau

ROWS = [("a",), ("b",), ("c",), ("d",)]


@pytest.mark.parametrize(
    ("agent", "gold", "original", "ordered", "unordered"),
    [
        (ROWS, ROWS, 1.0, 1.0, 1.0),
        (ROWS[::-1], ROWS, -1.0, -1.0, 1.0),
        # d a b c against a b c d, ranks 3 0 1 2 and 0 1 2 3: three pairs agree, three do not
        ([ROWS[3], *ROWS[:3]], ROWS, 0.0, 0.0, 1.0),
        # b a c against a b c: two pairs agree, one does not, tau 1/3
        ([ROWS[1], ROWS[0], ROWS[2]], ROWS[:3], 0.33, 0.33, 1.0),
        (ROWS[:2], ROWS, 0.5, 0.5, 0.5),
        (ROWS[:3], ROWS, 0.75, 0.75, 0.75),
        (ROWS[:2], ROWS[:3], 0.67, 0.67, 2 / 3),  # rounded where tau is a number
        (ROWS[:1], ROWS[:3], 1 / 3, 1 / 3, 1 / 3),  # one row in common: no tau, not rounded
        ([(1,), (1,)], [(1,)], 0.5, 0.5, 0.5),  # multisets
        ([(1,), (1,)], [(1,), (1,), (2,)], 2 / 3, 2 / 3, 2 / 3),  # all the same: no tau
        ([("x",), ("y",), ("x",)], [("x",), ("x",), ("y",)], -0.5, -0.5, 1.0),  # tau-b with ties
        ([], [], 1.0, 1.0, 1.0),
        ([], [(1,)], 0.0, 0.0, 0.0),
        ([(1,)], [], 0.0, 0.0, 0.0),
        (None, [(1,)], 0.0, 0.0, 0.0),
        (None, [], 0.0, 0.0, 0.0),
        ("Error executing query: no such table", [], 0.0, 0.0, 0.0),
        ([], "Error executing query: no such table", 1.0, 1.0, 1.0),
        ([], None, 1.0, 1.0, 1.0),
        ([(1,)], [(1,)], 1.0, 1.0, 1.0),
        ([(1,)], [(1.0,)], 0.0, 0.0, 0.0),
        ([("1",)], [(1,)], 0.0, 0.0, 0.0),
        ([(None,)], [(None,)], 1.0, 1.0, 1.0),
        ([(1, 2)], [(2, 1)], 0.0, 0.0, 0.0),
        ([[1, "x"]], [(1, "x")], 1.0, 1.0, 1.0),
        ([(9,), (10,)], [(10,), (9,)], -1.0, -1.0, 1.0),
    ],
)
def test_cases_worked_by_hand(
    agent: object, gold: object, original: float, ordered: float, unordered: float
) -> None:
    def worth(*more: str) -> float:
        return score(agent, gold, *more)  # type: ignore[arg-type]

    assert worth() == worth("original") == original
    assert worth("order_aware", "SELECT a FROM t ORDER BY a") == ordered
    assert worth("order_aware", "SELECT a FROM t") == unordered
    assert worth("order_aware") == unordered


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("(select a from t order\n by a);", True),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1", True),
        ("WITH x AS (SELECT 1) SELECT * FROM x ORDER /* ; */ BY 1", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 3)", False),
        ("SELECT rank() OVER (ORDER BY a) FROM t", False),
        ("SELECT 'it''s ORDER BY' FROM t -- ORDER BY a", False),
        ('SELECT `order` FROM `order by` WHERE a = "x ORDER BY y"', False),
        ("SELECT T1.order FROM t AS T1", False),
        ("(SELECT a FROM t ORDER BY a LIMIT 1) UNION (SELECT 2)", False),
    ],
)
def test_order_counts_where_the_gold_asks_for_one(sql: str, ordered: bool) -> None:
    assert score(ROWS[::-1], ROWS, "order_aware", sql) == (-1.0 if ordered else 1.0)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown mode 'orginal'.*'original'"):
        score([], [], "orginal")  # type: ignore[arg-type]


VALUES = st.sampled_from(["a", "b", "c", "d", "é", "10", "9"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(VALUES, VALUES), max_size=40))
def test_tau_is_that_of_scipy(pairs: list[tuple[str, str]]) -> None:
    first, second = [x for x, _ in pairs], [y for _, y in pairs]
    if len(pairs) < 2 or len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(kendall_tau(first, second))
    else:
        assert kendall_tau(first, second) == float(kendalltau(first, second).statistic)


def test_tau_of_many_rows_is_that_of_scipy() -> None:
    rng = np.random.default_rng(5)
    first, second = (list(map(str, rng.integers(0, 700, 3000))) for _ in range(2))
    assert kendall_tau(first, second) == float(kendalltau(first, second).statistic)


def plainly(agent: list[tuple[int]], gold: list[tuple[int]]) -> float:
    """The formula, written down again: scipy's tau, rows taken out of a list one by one."""
    mine, theirs = [str(row) for row in agent], [str(row) for row in gold]
    shared: list[list[str]] = [[], []]
    for kept, rows, other in ((shared[0], mine, theirs), (shared[1], theirs, mine)):
        left = list(other)
        for row in rows:
            if row in left:
                left.remove(row)
                kept.append(row)
    union = sum(max(mine.count(row), theirs.count(row)) for row in {*mine, *theirs})
    if union == 0:
        return 1.0
    worth = len(shared[0]) / union
    if len(set(shared[0])) < 2:
        return worth
    return float(np.round(kendalltau(*shared).statistic * worth, 2))


@settings(max_examples=150, deadline=None)
@given(*[st.lists(st.tuples(st.integers(0, 4)), max_size=9)] * 2)
def test_the_score_is_the_formula(agent: list[tuple[int]], gold: list[tuple[int]]) -> None:
    assert score(agent, gold) == plainly(agent, gold)
    counts = Counter(agent) & Counter(gold), Counter(agent) | Counter(gold)
    overlap = counts[0].total() / counts[1].total() if agent or gold else 1.0
    assert score(agent, gold, "order_aware", "SELECT 1") == overlap
