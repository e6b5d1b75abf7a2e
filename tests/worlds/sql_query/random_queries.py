"""Random queries in MySQL's SQL, about the tables of any database."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from piase_gym.worlds.sql_query.levels.dataset import Database, Table
from piase_gym.worlds.sql_query.rules.dialect import TEXT_TYPES

NUMBER_TYPES = ("int", "integer", "double")
"""Numbers of other types have as many digits in MySQL's texts as their type says."""

VALUES = """{n}; {t}; UPPER({t}); LOWER({t}); LENGTH({t}); CHAR_LENGTH({t}); SUBSTRING({t}, {i}, 3);
SUBSTRING({t}, {i}); SUBSTRING({t} FROM 2 FOR 2); LEFT({t}, 2); RIGHT({t}, 3); LOCATE('a', {t});
REPLACE({t}, 'a', 'X'); TRIM({t}); CONCAT({t}, '-', {n}); CONCAT_WS(', ', {t}, {t}, {n});
COALESCE({t}, 'none'); NULLIF({t}, {text}); IF({n} > 5, 'hi', 'lo'); INSERT({t}, 2, 2, 'zz');
CASE WHEN {n} > 5 THEN 'a' WHEN {n} IS NULL THEN 'n' ELSE 'z' END; ROUND({n} / 3, 1);
ROUND({n} / 3); TRUNCATE({n} / 7, 2); FLOOR({n} / 2); CEIL({n} * 1.5); ABS(-{n}); MOD({n}, 7);
{n} % 5; {n} DIV 3; {n} / 4; {n} * 2 + 1; -{n}; POW({n}, 2); SQRT({n}); SIGN({n});
GREATEST({n}, 10); LEAST({n}, 10); HEX({n}); HEX({t}); CAST({t} AS SIGNED);
CAST({n} AS DECIMAL(10, 2)); {t} + 1; {n} = {number}; {t} = {text}; {t} LIKE '%a%';
{t} REGEXP '^[A-C]'; {t} IS NULL; {n} <=> NULL; {n} BETWEEN 2 AND 20; NOT {n}; {n} > 3 XOR {n} < 9;
{n} ^ 2; BIN({n}); ASCII({t}); MD5({t}); SHA1({t}); SHA2({t}, 256); CRC32({t}); REVERSE({t});
QUOTE({t}); FIELD({t}, 'a', {text}); FIND_IN_SET('a', {t}); STRCMP({t}, {text});
SUBSTRING_INDEX({t}, ' ', {i}); LOG10({n} + 1); CONV({n}, 10, 2); OCT({n});
YEAR({t}); DATE_ADD('2015-01-31', INTERVAL 1 MONTH); ADDDATE('2015-01-31', 3);
TO_DAYS('2015-01-01'); MAKEDATE(2015, 40); UNIX_TIMESTAMP('2015-01-01'); TIME_TO_SEC('01:00:05');
WEEKOFYEAR('2015-01-01'); {t} OR {n}; {n} <> '3'; {n} > {text}; {t} > {number};
{n} IN (1, '2', {text})"""
TOTALS = """COUNT(*); COUNT({n}); COUNT(DISTINCT {t}); COUNT(DISTINCT {t}, {n}); SUM({n}); AVG({n});
MIN({t}); MAX({n}); GROUP_CONCAT(DISTINCT {t} ORDER BY {t} SEPARATOR '/'); STDDEV({n});
VAR_SAMP({n}); GROUP_CONCAT({n} ORDER BY {n} DESC, {t});
GROUP_CONCAT({t}, ':', {n} ORDER BY {t} DESC, {n}); VARIANCE({n}); STDDEV_SAMP({n}); SUM({n} > 3);
SUM(DISTINCT {n}); BIT_OR({n}); BIT_XOR({n}); MAX({n}) - MIN({n}); SUM(IF({n} > 10, 1, 0));
COUNT(CASE WHEN {n} > 4 THEN 1 END); AVG(DISTINCT {n}); MAX(LENGTH({t}))"""
TESTS = """{t} = {text}; {t} LIKE {text}; {t} != {text}; {n} > {number}; {n} > {text};
{n} IN ({number}, {text}); {t} NOT IN ({text}, 'x'); {t} REGEXP 'a.*e'; {t} RLIKE '^S|n$';
{t} IS NOT NULL; LENGTH({t}) > 4; {n} % 2 = 0; {t} > {text}; NOT ({n} > 4); {t} = 0; {n} = '3';
{n} = (SELECT MAX({n}) FROM {table}); {n} > (SELECT AVG({n}) FROM {table});
{t} IN (SELECT {t} FROM {table} WHERE {n} > 2); LOWER({t}) LIKE '%an%';
EXISTS (SELECT 1 FROM {table} x WHERE x.{n} > 3);
{n} = (SELECT {n} FROM {table} WHERE {n} = {number})"""


def choices(text: str) -> list[str]:
    return [part.strip() for part in text.split(";")]


VALUE, TOTAL, TEST = choices(VALUES), choices(TOTALS), choices(TESTS)


def random_queries(database: Database, count: int, draw: Random) -> Iterator[str]:
    """Yield queries about tables that have numbers and texts."""
    tables = [
        table for table in database.schema if of(table, NUMBER_TYPES) and of(table, TEXT_TYPES)
    ]
    for _ in range(count if tables else 0):
        yield random_query(draw.choice(tables), draw)


def of(table: Table, types: tuple[str, ...]) -> list[str]:
    kinds = [(f"`{c.name}`", c.type.lower().partition("(")[0]) for c in table.columns]
    return [name for name, kind in kinds if kind in types]


def random_query(table: Table, draw: Random) -> str:
    words = {
        "n": draw.choice(of(table, NUMBER_TYPES)),
        "t": draw.choice(of(table, TEXT_TYPES)),
        "i": draw.choice([-2, -1, 0, 1, 2, 3]),
        "number": draw.choice([0, 1, 3, 10, 2000]),
        "text": draw.choice(["'a'", "'USA'", "'usa '", "'2'", "''", "'3x'", "'Dog'"]),
        "table": f"`{table.name}`",
    }
    where = f" WHERE {draw.choice(TEST)}" if draw.random() < 0.6 else ""
    if where and draw.random() < 0.3:
        where += f" {draw.choice(['AND', 'OR', '||', 'XOR'])} {draw.choice(TEST)}"
    order = ", ".join(f"`{column.name}`" for column in table.columns)
    value, total, kind = draw.choice(VALUE), draw.choice(TOTAL), draw.random()
    if kind < 0.5:
        query = f"SELECT {value} FROM {{table}}{where} ORDER BY {order} LIMIT 2, 9"
    elif kind < 0.75:
        query = f"SELECT {total} FROM {{table}}{where}"
    elif kind < 0.9:
        query = f"SELECT {{t}} AS g, {total} FROM {{table}}{where} GROUP BY g HAVING COUNT(*) > 1"
    else:
        query = f"SELECT {{n}}, SUM({{n}}) OVER (ORDER BY {order}) FROM {{table}}{where}"
    return query.format(**words)
