"""MySQL's SQL on SQLite, and all of InterCode's gold queries."""

from __future__ import annotations

import dataclasses

import pytest

from piase_gym.worlds.sql_query import score
from piase_gym.worlds.sql_query.levels import intercode
from piase_gym.worlds.sql_query.levels.dataset import Database
from piase_gym.worlds.sql_query.rules.dialect import TranslationError, tidied, translate
from piase_gym.worlds.sql_query.rules.engine import LocalEngine
from tests.worlds.sql_query.intercode_files import (
    needs_files,
    needs_sqlglot,
    original,
    write_files,
)

pytestmark = needs_sqlglot


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Database:
    folder = write_files(tmp_path_factory.mktemp("shop"))
    return intercode.load(folder).databases["Shop"]


@needs_files
def test_every_gold_query_of_intercode_runs_and_is_right() -> None:
    dataset = original()
    engines = {name: LocalEngine(known) for name, known in dataset.databases.items()}
    fresh = {name: dataclasses.replace(d, translated={}) for name, d in dataset.databases.items()}
    wrong = []
    for task in dataset.tasks:
        found = engines[task.database].execute(task.gold)
        if found.reason is not None or score(found.rows, found.rows, "original") != 1.0:
            wrong.append((task.task_id, found.error))
        gold = tidied(task.gold)
        kept = dataset.databases[task.database].translated[gold]
        assert kept == translate(gold, fresh[task.database])
    assert wrong == []


COLUMNS = [
    ("Code", "char(3)", "NO", "PRI", "", ""),
    ("Maker", "int", "YES", "MUL", None, ""),
    ("Price", "decimal(19,4)", "YES", "", None, ""),
    ("Weight", "double", "YES", "", None, ""),
    ("Made", "datetime", "YES", "", None, ""),
    ("order", "int", "NO", "UNI", "0", ""),
]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SHOW TABLES", [("goods",), ("makers",)]),
        ("show tables from SHOP;", [("goods",), ("makers",)]),
        ("SHOW DATABASES", [("shop",)]),
        ("SHOW DATABASES WHERE `Database` = 'other'", []),
        ("SHOW TABLES WHERE Tables_in_shop LIKE 'G%'", [("goods",)]),
        ("SHOW COLUMNS FROM goods WHERE `Null` = 'NO' AND Type <> 'int'", COLUMNS[:1]),
        ("USE shop", []),
        ("DESCRIBE goods", COLUMNS),
        ("desc `Goods`;", COLUMNS),
        ("SHOW COLUMNS FROM goods", COLUMNS),
        ("EXPLAIN shop.goods", COLUMNS),
        (
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop'"
            " ORDER BY table_name",
            [("goods",), ("makers",)],
        ),
        ("SELECT * FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'other'", []),
        (
            "SELECT c.column_name, data_type FROM information_schema.columns c"
            " WHERE table_name = 'MAKERS'",
            [("ID", "int"), ("Name", "varchar"), ("Since", "text")],
        ),
        ('SELECT ID FROM Makers WHERE Name = "CAFÉ; \'noir\'"', [(1,), (2,)]),
        ("SELECT count(DISTINCT Name) FROM shop.makers", [(1,)]),
        ("SELECT shop.goods.Code FROM shop.goods WHERE `order` = 2", [("b",)]),
        ("SELECT 1 / 2, 7 DIV 2, 7 % 4, 'a' 'b'", [(0.5, 3, 3, "ab")]),
        ("SELECT -7 DIV 2, 2 + 3 * 5 DIV 2 DIV (1 + 1), '7' DIV 2, 7.5 DIV 2.5, 7 DIV 0",
         [(-3, 5, 3, 3, None)]),
        ("SELECT ID FROM makers WHERE Since > 1000", [(2,)]),  # as text, "900" is greater
        ("SELECT ID FROM makers WHERE Since BETWEEN 800 AND 1000", [(1,)]),
        ("SELECT m.ID FROM makers m WHERE 1000 > m.Since", [(1,), (3,)]),  # "x" is 0
        ("SELECT ID FROM makers WHERE Since > '1000'", [(1,), (2,), (3,)]),
        ("SELECT ID FROM makers WHERE Since IN (900.0, 1950)", [(1,), (2,)]),
        ("SELECT count(DISTINCT Maker, Code) FROM goods", [(2,)]),
        ("SELECT count(DISTINCT Weight, Code) FROM goods", [(1,)]),  # what has a NULL is left out
        ("SELECT LEFT(Made, 4), RIGHT(Made, 2), YEAR(Made), MONTH(Made) FROM goods LIMIT 1",
         [("2018", "21", 2018, 3)]),
        ("SELECT Code FROM goods WHERE Code REGEXP '^[A]$'", [("a",)]),
        ("SELECT Code FROM goods WHERE Price < 0 || Code = 'B'", [("a",), ("b",)]),
        ("SELECT Name FROM makers WHERE Name IS NOT NULL GROUP BY Name ORDER BY count(*)",
         [("Café; 'Noir' ",)]),
        ("SELECT Maker FROM goods GROUP BY Maker ORDER BY count(*) DESC LIMIT 1", [(1,)]),
        ("SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
         " ORDER BY 1", [("goods",), ("makers",)]),
        ("SELECT DATABASE(), CURDATE(), NOW()", [("shop", "2026-01-01", "2026-01-01 00:00:00")]),
        ("(SELECT ID FROM makers ORDER BY ID DESC LIMIT 1) UNION (SELECT 7) ORDER BY 1",
         [(3,), (7,)]),
        ("(SELECT ID FROM makers LIMIT 1) UNION (SELECT ID FROM makers ORDER BY ID DESC) ORDER BY 1"
         " LIMIT 1", [(1,)]),
        ("SELECT IF(Price > 0, 'up', 'down'), IFNULL(Weight, 9) FROM goods",
         [("down", 2.5), ("up", 9)]),
        ("SELECT DATE_SUB('2020-03-01', INTERVAL 1 DAY), DATE_SUB(NOW(), INTERVAL 2 YEAR)",
         [("2020-02-29", "2024-01-01 00:00:00")]),
        ("SELECT DATE_ADD('2020-01-31', INTERVAL 1 MONTH),"
         " DATE_SUB('2020-05-31', INTERVAL 1 QUARTER),"
         " DATE_ADD('2020-01-31', INTERVAL 2 WEEK), DATE_ADD('2020-02-29', INTERVAL ID YEAR),"
         " DATE_ADD('x', INTERVAL 1 DAY), '9999-12-31' + INTERVAL 1 DAY FROM makers LIMIT 1",
         [("2020-02-29", "2020-02-29", "2020-02-14", "2021-02-28", None, None)]),
        ("SELECT Made + INTERVAL 2 HOUR - INTERVAL 1 DAY, DATE(Made), EXTRACT(YEAR FROM Made),"
         " DAYOFMONTH(Made), DATE_FORMAT(Made, '%W, %M %e %y, %H:%i') FROM goods LIMIT 1",
         [("2018-03-09 02:03:21", "2018-03-10", 2018, 10, "Saturday, March 10 18, 00:03")]),
        ("SELECT CAST(1.257 AS DECIMAL(10, 2)), CAST('2.5' AS DECIMAL), CONVERT(7, DECIMAL(4,1)),"
         " CAST(NULL AS DECIMAL), CAST(5 AS CHAR)", [(1.26, 3, 7.0, None, "5")]),
        ("SELECT CAST(1.5 AS SIGNED), CAST(-1.5 AS SIGNED), CAST('1.9' AS UNSIGNED),"
         " CAST(ID * 0.25 AS SIGNED), CAST(NULL AS SIGNED) FROM makers WHERE ID = 2",
         [(2, -2, 1, 1, None)]),
        ("SELECT RIGHT('abc', 0), RIGHT('abc', 3 - 1), RIGHT('abc', 5)", [("", "bc", "abc")]),
        ("SELECT SUBSTRING_INDEX('a b c', ' ', 1), SUBSTRING_INDEX('a b c', ' ', -2),"
         " SUBSTRING_INDEX('a b', ',', 1), SUBSTRING_INDEX('a', '', 1), SUBSTRING_INDEX('a', 'b',"
         " 'x'), SUBSTRING_INDEX(NULL, ' ', 1)", [("a", "b c", "a b", "", "", None)]),
        ("SELECT TRUNCATE(2.567, 1), TRUNCATE(1.15, 2), TRUNCATE(-1999, -2), TRUNCATE(NULL, 1)",
         [(2.5, 1.15, -1900.0, None)]),
        ("SELECT ROUND(1234.5, -2), ROUND(1200 + 50, -2), ROUND(2.345, 2), ROUND(2.5)",
         [(1200.0, 1300.0, 2.35, 3.0)]),
        ("SELECT ROUND(1234.56, ID - 2), TRUNCATE(1234.56, ID - 2) FROM makers ORDER BY ID",
         [(1230.0, 1230.0), (1235.0, 1234.0), (1234.6, 1234.5)]),
        ("SELECT ROUND(15, -1 * 1), ROUND(1.25, 3 - 2), ROUND(1.5, NULL)", [(20.0, 1.3, None)]),
        ("SELECT LENGTH('äb'), CHAR_LENGTH('äb'), LENGTH(123), LENGTH(NULL)", [(3, 2, 3, None)]),
        ("SELECT ID FROM makers WHERE Name LIKE '%CAFE%' AND Name NOT LIKE 'cafe'", [(1,), (2,)]),
        ("SELECT Code FROM goods WHERE Made LIKE '2018%' OR Code LIKE BINARY 'B'", [("a",)]),
        (r"SELECT 'a_b' LIKE 'a\_b', 'axb' LIKE 'a\_b', 'a%' LIKE 'A|%' ESCAPE '|', 'ab' LIKE 'b%',"
         " 'a' LIKE 'a ', NULL LIKE 'a', 'abab' LIKE '%b%ab', 'aba' LIKE 'ab%ba'",
         [(1, 0, 1, 0, 0, None, 1, 0)]),
        ("SELECT INSTR('Café', 'FÉ'), INSTR('é', 'e'), LOCATE('A', 'banana', 3), UPPER('é'),"
         " LOWER('É')", [(3, 0, 4, "É", "é")]),
        ("SELECT ID FROM makers WHERE CONCAT(ID, Name) = '2Cafe; ''noir'''", [(2,)]),
        ("SELECT count(*) FROM makers WHERE Name IS NOT NULL GROUP BY LEFT(Name, 3)", [(2,)]),
        ("SELECT LEFT(Name, 2) AS start, count(*) FROM makers GROUP BY start ORDER BY start",
         [(None, 1), ("Ca", 2)]),
        ("SELECT ID FROM makers WHERE ID >= ALL (SELECT Maker FROM goods)", [(2,), (3,)]),
        ("SELECT ID FROM makers WHERE ID < ANY (SELECT Maker FROM goods)", [(1,)]),
        ("SELECT ID FROM makers WHERE ID <> ALL (SELECT Maker FROM goods WHERE 1 = 0)",
         [(1,), (2,), (3,)]),
        ("SELECT ID FROM makers WHERE ID = SOME (SELECT Maker FROM goods) ORDER BY 1",
         [(1,), (2,)]),
        ("SELECT ID, ID * 2 AS twice FROM makers HAVING twice > 2", [(2, 4), (3, 6)]),
        ("SELECT ID FROM makers WHERE ID IN (SELECT ID FROM goods GROUP BY ID HAVING count(*) > 1)",
         [(1,), (2,), (3,)]),
        ("SELECT ID FROM makers WHERE Since = (SELECT max(Maker) + 898 FROM goods)", [(1,)]),
        ("SELECT 1 FROM DUAL", [(1,)]),
        ("SELECT 1 XOR 1, 1 XOR 0, 1 XOR NULL", [(0, 1, None)]),
        ("SELECT Code FROM goods WHERE DATE(Made) = '2018-03-10'", [("a",)]),
        ("SELECT DATEDIFF('2018-03-12', Made), DATEDIFF(Made, '2018-03-10 23:00:00') FROM goods"
         " WHERE Code = 'a'", [(2, 0)]),
        ("SELECT Made + INTERVAL 1 DAY, DATE_ADD(Made, INTERVAL 3 MONTH), Made - INTERVAL 4 MINUTE"
         " FROM goods WHERE Code = 'a'",
         [("2018-03-11 00:03:21", "2018-06-10 00:03:21", "2018-03-09 23:59:21")]),
        ("SELECT DATE_ADD('2020-01-31', INTERVAL 1 MONTH), DATE_SUB('2020-02-29', INTERVAL 1 YEAR)",
         [("2020-02-29", "2019-02-28")]),
        ("SELECT DATE_FORMAT(Made, '%M %d, %Y %H:%i'), EXTRACT(MONTH FROM Made), HOUR(Made),"
         " DAYNAME(Made), MONTHNAME(Made), DAYOFWEEK(Made), QUARTER(Made), LAST_DAY(Made)"
         " FROM goods WHERE Code = 'a'",
         [("March 10, 2018 00:03", 3, 0, "Saturday", "March", 7, 1, "2018-03-31")]),
        ("SELECT TIMESTAMPDIFF(DAY, '2018-03-10', '2018-04-09'), TIMESTAMPDIFF(MONTH, '2018-03-10',"
         " '2018-04-09'), TIMESTAMPDIFF(YEAR, '2020-01-01', '2018-01-01')", [(30, 0, -2)]),
        ("SELECT STR_TO_DATE('May 3, 2010', '%M %d, %Y'), STR_TO_DATE('x', '%Y')",
         [("2010-05-03", None)]),
        ("SELECT CONCAT_WS('-', 'a', NULL, 3), LPAD(7, 3, '0'), RPAD('abc', 2, 'x'), REVERSE('ab'),"
         " REPEAT('ab', 2), MID('abcd', 2, 2), FIELD('B', 'a', 'b'), ELT(2, 'x', 'y'),"
         " STRCMP('a', 'b'), ASCII('A'), BIN(5), FORMAT(1234.5, 2)",
         [("a-3", "007", "ab", "ba", "abab", "bc", 2, "y", -1, 65, "101", "1,234.50")]),
        ("SELECT 'x1' REGEXP '[[:digit:]]', 'x' REGEXP '[[:digit:]]'", [(1, 0)]),
        ("SHOW TABLES LIKE 'g%'", [("goods",)]),
        ("SHOW FULL TABLES LIKE 'g%'", [("goods", "BASE TABLE")]),
        ("SHOW FIELDS IN goods LIKE 'cod_'", COLUMNS[:1]),
    ],
)  # fmt: skip
def test_mysql_is_understood(shop: Database, sql: str, rows: list[tuple[object, ...]]) -> None:
    found = LocalEngine(shop).execute(sql)
    assert (found.error, list(found.rows)) == (None, rows)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT Nam FROM makers", "Unknown column 'Nam' in 'field list'"),
        ("SELECT `Nam` FROM makers;", "Unknown column 'Nam' in 'field list'"),
        ("SELECT m.Nam FROM makers m", "Unknown column 'm.Nam' in 'field list'"),
        ("SELECT ID FROM makers WHERE Nam = 1", "Unknown column 'Nam' in 'where clause'"),
        ("SELECT ID FROM makers JOIN goods g ON g.Nam = ID", "'g.Nam' in 'on clause'"),
        ("SELECT ID FROM makers ORDER BY Nam", "Unknown column 'Nam' in 'order clause'"),
        ("SELECT count(*) FROM makers GROUP BY Nam", "column 'Nam' in 'group statement'"),
        ("SELECT 1 FROM makers WHERE ID IN (SELECT Nam FROM goods)", "'Nam' in 'field list'"),
        ("SELECT ID FROM makers, makers AS m", "Column 'ID' in field list is ambiguous"),
        ("SELECT * FROM Maker", "Table 'shop.maker' doesn't exist"),
        ("DESCRIBE Maker", "Table 'shop.maker' doesn't exist"),
        ("USE bank", "Unknown database 'bank'"),
        ("SELECT * FROM bank.goods", "Unknown database 'bank'"),
        ("SHOW TABLES FROM bank", "Unknown database 'bank'"),
        ("SELECT * FROM information_schema.processlist", "not supported"),
        ("SHOW PROCESSLIST", "not supported"),
        ("SELECT DATE_ADD(Made, INTERVAL '1:2' HOUR_MINUTE) FROM goods", "INTERVAL of HOUR_MINUTE"),
        ("SELECT Made + INTERVAL 1 FROM goods", "not supported: INTERVAL without a unit"),
        ("SELECT DATE_FORMAT(Made, '%D') FROM goods", "not supported: DATE_FORMAT"),
        ("SHOW TABLES WHERE Tables_in_shop LIKE 'b' ESCAPE 'xy'", "not supported: ESCAPE"),
        ("SELECT 'a' LIKE 'b' ESCAPE 'xy'", "not supported: ESCAPE with several characters"),
        ("SELECT " + "CAST(" * 12 + "1.5" + " AS SIGNED)" * 12, "so much within one CAST"),
        ("SELECT " + "ROUND(" * 12 + "1.5" + ", ID)" * 12 + " FROM makers", "within one ROUND"),
        ("SELECT " + "ROUND(1.5, " * 12 + "ID" + ")" * 12 + " FROM makers", "within one ROUND"),
        ("SELECT " + "TRUNCATE(1.5, " * 12 + "ID" + ")" * 12 + " FROM makers", "within one TRUNC"),
        ("SELECT 1 FROM goods JOIN DUAL ON 1", "dual"),
        ("SELECT ID FROM DUAL, makers", "dual"),
        ("DELETE FROM DUAL", "dual"),
        ("SET autocommit = 0", "not supported"),
        ("SELECT Code FROM goods WHERE Maker IN (SELECT ID FROM makers LIMIT 1)", "LIMIT"),
        ("SELECT 1; SELECT 2", "one statement at a time, not 2"),
        (
            "sure, here it is",
            "to your MySQL server version for the right syntax to use near "
            "'sure, here it is' at line 1",
        ),
        ("SELECT ID FROM makers\nWHER ID = 1", "near 'ID = 1' at line 2"),
        ("SELECT ROT(ID) FROM makers", "FUNCTION shop.ROT does not exist"),
        ("SELECT ID FROM makers WHERE count(*) > 1", "Invalid use of group function"),
        ("blocked", "syntax to use near 'blocked' at line 1"),
        ("SELECT 1 FROM goods\nWHERE 1 > ALL (SELECT *)", "near 'ALL (SELECT *)' at line 2"),
        ("SELECT (((", "You have an error in your SQL syntax"),
        ("SELECT '", "You have an error in your SQL syntax"),
        ("", "one statement at a time, not 0"),
        ("DROP TABLE goods", "not allowed"),
        ("ATTACH DATABASE 'x' AS y", "error"),
        ("PRAGMA table_info(goods)", "not allowed"),
        ("INSERT INTO goods (Code) VALUES ('c')", "not allowed"),
    ],
)
def test_what_cannot_be_run_says_so(shop: Database, sql: str, told: str) -> None:
    found = LocalEngine(shop).execute(sql)
    assert found.reason in ("syntax", "denied")
    assert told in str(found.error)
    assert found.rows == ()


def test_sqlite_is_left_alone() -> None:
    assert translate("SELECT '", Database("own", b"")) == "SELECT '"
    with pytest.raises(TranslationError):
        translate("SELECT '", Database("other", b"", "mysql"))
