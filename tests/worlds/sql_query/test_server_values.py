"""What a database server gives, as SQLite has it, and what it is not asked."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from piase_gym.worlds.sql_query.rules.server import _denied, _driver_message, _plain, _reason
from tests.worlds.sql_query.intercode_files import needs_sqlglot

NOON = datetime.datetime(2026, 1, 2, 12, 0, 5)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        ("a", "a"),
        (b"a", b"a"),
        (True, 1),
        (7, 7),
        (decimal.Decimal("7"), 7),
        (decimal.Decimal("7.0"), 7.0),
        (decimal.Decimal("7E+1"), 70.0),
        (decimal.Decimal("0.25"), 0.25),
        (0.5, 0.5),
        (NOON, "2026-01-02 12:00:05"),
        (NOON.date(), "2026-01-02"),
        (memoryview(b"ab"), b"ab"),
        (bytearray(b"ab"), b"ab"),
    ],
)
def test_values_are_those_of_sqlite(value: object, plain: object) -> None:
    found = _plain(value)
    assert (found, type(found)) == (plain, type(plain))


def test_an_infinite_number_is_a_float() -> None:
    assert _plain(decimal.Decimal("Infinity")) == float("inf")


@needs_sqlglot
@pytest.mark.parametrize(
    ("sql", "writes", "denied"),
    [
        ("SELECT name FROM goods", False, ""),
        ("SELECT 1 UNION SELECT 2", False, ""),
        ("INSERT INTO goods VALUES (1)", False, "INSERT"),
        ("INSERT INTO goods VALUES (1)", True, ""),
        ("DELETE FROM goods", True, ""),
        ("DROP TABLE goods", True, "DROP"),
        ("SELECT * INTO other FROM goods", False, "INTO"),
        ("SELECT * FROM goods FOR UPDATE", False, "LOCK"),
        ("SELECT pg_sleep(9)", False, "pg_sleep()"),
        ("SELECT SLEEP(9)", False, "sleep()"),
        ("SELECT LOAD_FILE('x')", False, "load_file()"),
        ("SELECT upper(name) FROM goods", False, ""),
    ],
)
def test_statements_that_reach_further_are_denied(sql: str, writes: bool, denied: str) -> None:
    sqlglot = pytest.importorskip("sqlglot")
    assert _denied(sqlglot.parse_one(sql, dialect="postgres"), writes) == denied


class Wrapped(Exception):
    """An error of SQLAlchemy, around that of a driver."""

    def __init__(self, orig: Any) -> None:
        super().__init__("[SQL: the statement]")
        self.orig = orig


def test_an_error_is_what_the_driver_says_in_one_line() -> None:
    told = _driver_message(Wrapped(ValueError('column "x"\n does not exist\nLINE 1: SELECT x')))
    assert told == 'column "x" does not exist'
    assert _driver_message(ValueError("plain")) == "plain"
    assert len(_driver_message(ValueError("x" * 400))) == 300


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("canceling statement due to statement timeout", "timeout"),
        ("(3024, 'Query execution was interrupted')", "timeout"),
        ("cannot execute DELETE in a read-only transaction", "denied"),
        ("UNIQUE constraint failed", "constraint"),
        ("MySQL server has gone away", "server"),
        ("nonsense", "syntax"),
    ],
)
def test_errors_have_a_kind(words: str, reason: str) -> None:
    assert _reason(ValueError(words)) == reason
