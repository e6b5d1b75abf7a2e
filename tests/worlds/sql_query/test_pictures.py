"""What pictures of SqlQuery show of an answer."""

from __future__ import annotations

import pytest

from piase_gym.worlds.sql_query.observe.pictures import _lines
from piase_gym.worlds.sql_query.rules.engine import Result

SEVEN = tuple((number, "x") for number in range(7))


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        (None, ["-"]),
        (Result(error="no such table: a", reason="syntax"), ["syntax: no such table: a"]),
        (Result(changed=3), ["3 rows changed"]),
        (Result(SEVEN[:5], ("n", "s")), ["n | s", *(f"{n} | x" for n in range(5))]),
        (Result(SEVEN, ("n", "s")), ["n | s", *(f"{n} | x" for n in range(5)), "and 2 more"]),
    ],
)
def test_an_answer_is_shown_by_its_first_rows(result: Result | None, lines: list[str]) -> None:
    assert _lines(result) == lines
