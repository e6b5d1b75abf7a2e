"""MySQL's SQL on SQLite, and all of InterCode's gold queries."""

from __future__ import annotations

import dataclasses

import pytest

from piase_gym.worlds.sql_query import score
from piase_gym.worlds.sql_query.levels import intercode
from piase_gym.worlds.sql_query.levels.dataset import Database
from piase_gym.worlds.sql_query.rules.dialect import tidied, translate
from piase_gym.worlds.sql_query.rules.engine import LocalEngine
from piase_gym.worlds.sql_query.rules.mysql_errors import TranslationError
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


DAYS = [("2018-03-10 00:03:21", 1), ("2019-01-01 10:00:00", 1)]
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
        ("SELECT GROUP_CONCAT(ID ORDER BY Since DESC, ID), GROUP_CONCAT(DISTINCT Name ORDER"
         " BY ID DESC"
         " SEPARATOR '/'), GROUP_CONCAT(Since, ':', ID ORDER BY ID SEPARATOR ''), GROUP_CONCAT(ID)"
         " FROM makers", [("3,1,2", "cafe; 'NOIR'", "900:11950:2x:3", "1,2,3")]),
        ("SELECT GROUP_CONCAT(DISTINCT x) FROM (SELECT 'b' AS x UNION ALL SELECT 'a' UNION ALL"
         " SELECT 'B') AS t", [("b,a",)]),
        ("SELECT GROUP_CONCAT(Name) FROM makers WHERE ID > 2", [(None,)]),
        ("SELECT GROUP_CONCAT(Weight ORDER BY Code) FROM goods", [("2.5",)]),
        ("SELECT LENGTH(GROUP_CONCAT(REPEAT('é', 300))), GROUP_CONCAT(REPEAT('', ID)),"
         " GROUP_CONCAT("
         "REPEAT('', ID) SEPARATOR '') FROM makers", [(1023, ",,", "")]),
        ("SELECT Maker, GROUP_CONCAT(Code ORDER BY Code DESC) FROM goods GROUP BY Maker",
         [(1, "a"), (2, "b")]),
        ("SELECT STD(ID), STDDEV_POP(ID), STDDEV_SAMP(ID), VARIANCE(ID), VAR_SAMP(ID) FROM makers",
         [(pytest.approx(0.81649658), pytest.approx(0.81649658), 1.0, pytest.approx(2 / 3), 1.0)]),
        ("SELECT STDDEV(Weight), VAR_SAMP(Weight), VARIANCE(Since), STD(ID) FROM goods,"
         " makers WHERE"
         " Code = 'a' AND ID < 2 AND Maker > 0", [(0.0, None, 0.0, 0.0)]),
        ("SELECT BIT_AND(ID), BIT_OR(ID), BIT_XOR(ID) FROM makers", [(0, 3, 0)]),
        ("SELECT BIT_OR(ID), BIT_XOR(ID), STD(ID) FROM makers WHERE ID > 3", [(0, 0, None)]),
        ("SELECT MD5('abc'), SHA1('abc'), SHA(7), CRC32('MySQL')",
         [("900150983cd24fb0d6963f7d28e17f72", "a9993e364706816aba3e25717850c26c9cd0d89d",
           "902ba3cda1883801594b6e1b452790cc53948fda", 3259397556)]),
        ("SELECT LEFT(SHA2('abc', 224), 8), LEFT(SHA2('abc', 0), 8), SHA2('abc', 1)",
         [("23097d22", "ba7816bf", None)]),
        ("SELECT FIND_IN_SET('b', 'a,B,c'), FIND_IN_SET('x', 'a'), FIND_IN_SET(NULL, 'a')",
         [(2, 0, None)]),
        ("SELECT FIELD(2, 1, 2), FIELD('2', 1, 2.0), FIELD(NULL, 'a'), FIELD('a', NULL, 'A')",
         [(2, 2, 0, 2)]),
        ("SELECT CONV('a', 16, 2), CONV(6, 10, 8), CONV(19.98, 10, 2), CONV(1, 1, 2), OCT(12)",
         [("1010", "6", "10011", None, "14")]),
        ("SELECT INSERT('Quadratic', 3, 4, 'What'), INSERT('Quadratic', -1, 4, 'What'),"
         " INSERT('Quadratic', 3, 100, 'What'), INSERT('abc', 4, 1, 'x'), INSERT('abc', 2,"
         " -1, 'x')",
         [("QuWhattic", "Quadratic", "QuWhat", "abc", "ax")]),
        ("SELECT SUBSTRING('Sakila', -3), SUBSTRING('Sakila', -5, 3), SUBSTRING('Sakila', 0),"
         " SUBSTR('Sakila', 0, 3), SUBSTR('Sakila', -9, 4), MID('Sakila', 2, 0),"
         " SUBSTR('Sakila', 7)",
         [("ila", "aki", "", "", "", "", "")]),
        ("SELECT HEX(255), HEX('aé'), HEX(-1), HEX(1.5)",
         [("FF", "61C3A9", "FFFFFFFFFFFFFFFF", "2")]),
        ("SELECT 11 ^ 3, 234 % 10, -29 MOD 9, MOD(34.5, 3), 5.3 % 1, 7 % 0, Price % 2 FROM goods"
         " WHERE Code = 'b'", [(8, 4, -2, 1.5, 0.3, None, 1.0)]),
        ("SELECT CAST(1944.0 AS CHAR), CAST(2.5 AS CHAR), CAST('abc' AS CHAR(2)), CONCAT(ID *"
         " 2.0, '!'),"
         " CONCAT('a', NULL) FROM makers WHERE ID = 1", [("1944", "2.5", "ab", "2!", None)]),
        ("SELECT TO_DAYS('2007-10-07'), DATEDIFF('2007-12-31', '2007-12-30'), MAKEDATE(2011, 32),"
         " MAKEDATE(2011, 0), UNIX_TIMESTAMP('2015-11-13 10:20:19'), UNIX_TIMESTAMP(),"
         " FROM_UNIXTIME(1447430881)",
         [(733321, 1, "2011-02-01", None, 1447410019, 1767225600, "2015-11-13 16:08:01")]),
        ("SELECT SEC_TO_TIME(2378), SEC_TO_TIME(-362000), TIME_TO_SEC('22:23:00'),"
         " TIME_TO_SEC('-00:39:38'),"
         " TIME_TO_SEC(Made), TIME_TO_SEC('x'), WEEKOFYEAR('2008-02-20') FROM goods WHERE"
         " Code = 'a'",
         [("00:39:38", "-100:33:20", 80580, -2378, 201, None, 8)]),
        ("SELECT ADDDATE('2008-01-02', 31), SUBDATE('2008-01-02', INTERVAL 31 DAY),"
         " SUBDATE(Made, ID)"
         " FROM goods, makers WHERE ID = 1 AND Code = 'a'",
         [("2008-02-02", "2007-12-02", "2018-03-09 00:03:21")]),
        ("SELECT ID FROM makers WHERE ID > 'abc' AND ID < '3x'", [(1,), (2,)]),  # 0 and 3
        ("SELECT ID FROM makers WHERE ID BETWEEN 'a' AND ' 2.5!' OR ID IN ('y', '-3')",
         [(1,), (2,)]),
        ("SELECT ID FROM makers WHERE 'cafe' = Name COLLATE utf8mb4_bin", []),
        ("SELECT 'a' = 'A' COLLATE utf8mb4_bin, 'é' COLLATE utf8mb4_0900_ai_ci = 'E'", [(0, 1)]),
        ("SELECT makers.ID FROM makers JOIN makers AS m ON m.ID = makers.ID ORDER BY ID DESC",
         [(3,), (2,), (1,)]),
        ("SELECT makers.ID, m.ID AS ID FROM makers JOIN makers AS m ON m.ID = 4 - makers.ID"
         " ORDER BY ID",
         [(3, 1), (2, 2), (1, 3)]),
        ("SELECT ID FROM makers WHERE ID = (SELECT Maker FROM goods WHERE Code = 'b')", [(2,)]),
        ("SELECT ID, (SELECT Code FROM goods WHERE Maker = ID) FROM makers",
         [(1, "a"), (2, "b"), (3, None)]),
        ("SELECT ID FROM makers WHERE ID = (SELECT Maker FROM goods ORDER BY Code DESC LIMIT 1)",
         [(2,)]),
        ("SELECT (SELECT count(*) FROM goods) + (SELECT max(ID) FROM makers)", [(5,)]),
        ("SELECT Code FROM goods ORDER BY RAND(), Code LIMIT 1", [("a",)]),
        ("SELECT g.`order`, `from` FROM (SELECT `order`, Code AS `from` FROM goods) AS g WHERE"
         " `order` > 1 AND g.order < 3 ORDER BY `order`", [(2, "b")]),
        ("SELECT rank() OVER (ORDER BY ID) AS `rank`, ID IS NOT TRUE FROM makers LIMIT 1",
         [(1, 0)]),
        ("SELECT COUNT(*) FROM (SELECT ID FROM makers)", [(3,)]),  # though MySQL wants an alias
        ("SELECT COLUMN_NAME, CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION,"
         " NUMERIC_SCALE, DATETIME_PRECISION, COLLATION_NAME, COLUMN_TYPE, COLUMN_KEY, EXTRA"
         " FROM information_schema.columns WHERE column_name IN ('Code', 'Price', 'Weight', 'Made',"
         " 'Since', 'ID') ORDER BY column_name",
         [("Code", 3, 12, None, None, None, "utf8mb4_general_ci", "char(3)", "PRI", ""),
          ("ID", None, None, 10, 0, None, None, "int", "PRI", "auto_increment"),
          ("Made", None, None, None, None, 0, None, "datetime", "", ""),
          ("Price", None, None, 19, 4, None, None, "decimal(19,4)", "", ""),
          ("Since", 65535, 65535, None, None, None, "utf8mb4_general_ci", "text", "", ""),
          ("Weight", None, None, 22, None, None, None, "double", "", "")]),
        ("SELECT * FROM information_schema.columns WHERE column_name = 'Maker'",
         [("def", "shop", "goods", "Maker", 2, None, "YES", "int", None, None, 10, 0, None,
           None, None,
           "int", "MUL", "", "select,insert,update,references", "", "", None)]),
        ("SELECT BIT_OR(1e30), BIT_AND(-1e300), BIT_XOR(ID) FROM makers",
         [(2**63 - 1, -(2**63), 0)]),
        ("SELECT -CONCAT(ID, 1), CONCAT('a', ID) COLLATE utf8mb4_bin = 'A1' FROM makers LIMIT 1",
         [(-11, 0)]),
        ("SELECT max(ID) FROM makers GROUP BY 'a'", [(3,)]),
        ("SELECT (SELECT Maker FROM goods ORDER BY 1 FETCH FIRST 1 ROW ONLY)", [(1,)]),
        # Groups are in the order in which they occur, unless there is an index or a DISTINCT.
        ("SELECT Made, count(*) FROM goods AS g WHERE `order` < 3 GROUP BY Made", DAYS),
        ("SELECT Weight, count(*) FROM goods GROUP BY Weight", [(2.5, 1), (None, 1)]),
        ("SELECT Weight, count(DISTINCT Code) FROM goods GROUP BY Weight", [(None, 1), (2.5, 1)]),
        ("SELECT Weight FROM goods GROUP BY Weight ORDER BY count(*)", [(2.5,), (None,)]),
        ("SELECT Weight FROM goods JOIN makers ON ID = 1 GROUP BY Weight", [(None,), (2.5,)]),
        ("SELECT Since, ID FROM makers WHERE ID > 1 GROUP BY Since, ID", [("1950", 2), ("x", 3)]),
        ("SELECT 4 - ID AS n, count(*) FROM makers GROUP BY n", [(3, 1), (2, 1), (1, 1)]),
        ("SELECT 4 - ID FROM makers GROUP BY 4 - ID", [(3,), (2,), (1,)]),
        ("SELECT -`order` FROM goods GROUP BY 1", [(-1,), (-2,)]),
        ("SELECT -Maker AS m FROM goods GROUP BY m", [(-1,), (-2,)]),
        ("SELECT Maker AS m FROM goods GROUP BY 1 ORDER BY count(*) LIMIT 1", [(1,)]),
        ("SELECT ID FROM makers GROUP BY ID", [(1,), (2,), (3,)]),
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
        (";; SELECT Nam FROM makers", "Unknown column 'Nam' in 'field list'"),
        ("SELECT m.Nam FROM makers m", "Unknown column 'm.Nam' in 'field list'"),
        ("SELECT ID FROM makers WHERE Nam = 1", "Unknown column 'Nam' in 'where clause'"),
        ("SELECT ID FROM makers JOIN goods g ON g.Nam = ID", "'g.Nam' in 'on clause'"),
        ("SELECT ID FROM makers ORDER BY Nam", "Unknown column 'Nam' in 'order clause'"),
        ("SELECT count(*) FROM makers GROUP BY Nam", "column 'Nam' in 'group statement'"),
        ("SELECT 1 FROM makers WHERE ID IN (SELECT Nam FROM goods)", "'Nam' in 'field list'"),
        ("SELECT ID FROM makers, makers AS m", "Column 'ID' in field list is ambiguous"),
        ("SELECT * FROM Maker", "Table 'shop.maker' doesn't exist"),
        ("SELECT * FROM sqlite_master", "Table 'shop.sqlite_master' doesn't exist"),
        (
            "SELECT * FROM pragma_table_info('goods')",
            "near '('goods')' at line 1",
        ),
        # MySQL looks at the list first, then at WHERE, and at the last ON before the first.
        ("SELECT Nam FROM makers JOIN goods g ON g.Na = ID WHERE N = 1", "'Nam' in 'field list'"),
        ("SELECT ID FROM makers JOIN goods g ON g.Na = ID WHERE N = 1", "'N' in 'where clause'"),
        (
            "SELECT ID FROM makers m JOIN goods g ON g.Na = ID JOIN goods h ON h.N = 1",
            "'h.N' in 'on clause'",
        ),
        (
            "SELECT max(ID) AS most FROM makers JOIN goods g ON g.Na = ID GROUP BY most"
            " HAVING Nam > 1",
            "'g.Na' in 'on clause'",
        ),
        (
            "SELECT Code FROM goods WHERE Nam NOT IN (SELECT ID FROM makers)",
            "Unknown column 'Nam' in 'IN/ALL/ANY subquery'",
        ),
        (
            "SELECT Code FROM goods WHERE Maker IN (SELECT ID FROM makers) OR Nam = 1",
            "Unknown column 'Nam' in 'IN/ALL/ANY subquery'",
        ),
        ("SELECT Code FROM goods WHERE Nam > ALL (SELECT ID FROM makers)", "'IN/ALL/ANY subquery'"),
        ("SELECT Code FROM goods WHERE Nam IN (1, 2)", "Unknown column 'Nam' in 'where clause'"),
        (
            "SELECT x.Nam FROM (SELECT ID FROM makers) AS x",
            "Unknown column 'x.Nam' in 'field list'",
        ),
        ("SELECT x.ID FROM (SELECT Nam FROM makers) AS x WHERE y", "'Nam' in 'field list'"),
        ("SELECT (SELECT Nam FROM makers WHERE ID = Maker) FROM goods", "'Nam' in 'field list'"),
        (
            "SELECT ID FROM makers WHERE ID = (SELECT Maker FROM goods)",
            "Subquery returns more than 1 row",
        ),
        ("SELECT (SELECT Code FROM goods WHERE Maker < ID) FROM makers", "more than 1 row"),
        ("SELECT ID FROM makers m JOIN goods m", "Not unique table/alias: 'm'"),
        ("SELECT rank FROM makers", "near 'FROM makers' at line 1"),
        ("SELECT AVG(rank) FROM makers", "near ') FROM makers' at line 1"),
        ("SELECT ID AS rank FROM makers", "near 'rank FROM makers' at line 1"),
        ("SELECT ID FROM\ntable WHERE ID = 1", "near 'table WHERE ID = 1' at line 2"),
        ("SELECT ID FROM makers WHERE ID = 1 LEFT JOIN goods ON 1", "near 'LEFT JOIN goods ON 1'"),
        ("SELECT ID FROM makers GROUP BY ID WHERE ID = 1", "near 'WHERE ID = 1' at line 1"),
        ("SELECT ID FROM makers ORDER BY ID HAVING ID > 1", "near 'HAVING ID > 1' at line 1"),
        ("SELECT max(ID), * FROM makers", "near '* FROM makers' at line 1"),
        ("SELECT ID FROM makers WHERE ID IS 0", "near '0' at line 1"),
        ("SELECT ID FROM makers WHERE Name IS NOT 'x' OR 1", "near ''x' OR 1' at line 1"),
        ("SELECT", "to use near '' at line 1"),
        ("WITH x AS (SELECT Nam FROM makers WHERE ID) SELECT * FROM x", "'Nam' in 'field list'"),
        ("WITH x AS (SELECT ID FROM makers WHERE Nam) SELECT * FROM x", "'Nam' in 'where clause'"),
        ("SELECT ID FROM makers UNION SELECT Code FROM goods WHERE Nam = 1", "'where clause'"),
        ("SELECT ID FROM makers GROUP BY ROLLUP (ID)", "FUNCTION shop.ROLLUP does not exist"),
        ("SELECT ID FROM makers WHERE", "near '' at line 1"),
        ("SELECT ID FROM makers WHERE ID = 1 AND", "near '' at line 1"),
        ("SELECT ID FROM makers WHERE ID NOT IN", "near '' at line 1"),
        ("SELECT ID FROM makers WHERE ID IN (1, 2", "near '' at line 1"),
        ("SELECT ID FROM makers WHERE Name = 'a' AND\nName = 'Li", "near ''Li' at line 2"),
        ("SELECT ID FROM makers WHERE Name = 'it\\'s' OR `Na", "near '`Na' at line 1"),
        ("SELECT ID FROM makers\n\nThis finds 'Noir's", "near 'finds 'Noir's' at line 3"),
        ("SELECT <name> FROM makers", "near '<name> FROM makers' at line 1"),
        ("SELECT ID FROM makers WHERE ID = <id>", "near '<id>' at line 1"),
        ("SELECT ID FROM makers WHERE ID = 1 <|end|>", "near '|end|>' at line 1"),
        ("DESCRIBE goods TO see", "near 'TO see' at line 1"),
        ("DESC goods to learn more about", "near 'to learn more about' at line 1"),
        ("SELECT ID FROM makers WHERE 1\nIt is so. So it is.", "near 'It is so. So it is.'"),
        ("DESCRIBE Maker", "Table 'shop.maker' doesn't exist"),
        ("USE bank", "Unknown database 'bank'"),
        ("SELECT * FROM bank.goods", "Unknown database 'bank'"),
        ("SHOW TABLES FROM bank", "Unknown database 'bank'"),
        ("SELECT * FROM information_schema.processlist", "not supported"),
        ("SHOW PROCESSLIST", "not supported"),
        ("SELECT DATE_ADD(Made, INTERVAL '1:2' HOUR_MINUTE) FROM goods", "INTERVAL of HOUR_MINUTE"),
        ("SELECT Made + INTERVAL 1 FROM goods", "not supported: INTERVAL without a unit"),
        ("SELECT DATE_FORMAT(Made, '%D') FROM goods", "not supported: DATE_FORMAT"),
        ("SELECT GROUP_CONCAT(ID SEPARATOR NULL) FROM makers", "a SEPARATOR that is no text"),
        ("SELECT GROUP_CONCAT(ID SEPARATOR REPEAT('x', 9)) FROM makers", "that is no text"),
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


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE goods SET Maker = 1 WHERE Nam = 1", "Unknown column 'Nam' in 'where clause'"),
        ("UPDATE goods SET Nam = 1 WHERE Na = 1", "Unknown column 'Nam' in 'field list'"),
        ("DELETE FROM goods WHERE Nam = 1", "Unknown column 'Nam' in 'where clause'"),
        ("INSERT INTO goods SELECT Nam FROM makers", "Unknown column 'Nam' in 'field list'"),
    ],
)
def test_changes_that_cannot_be_made_say_so(shop: Database, sql: str, told: str) -> None:
    assert LocalEngine(shop, writes=True).execute(sql).error == told


def test_sqlite_is_left_alone() -> None:
    assert translate("SELECT '", Database("own", b"")) == "SELECT '"
    with pytest.raises(TranslationError):
        translate("SELECT '", Database("other", b"", "mysql"))
