"""What MySQL tells of a database, as queries of SQLite: ``SHOW`` and ``information_schema``."""

from __future__ import annotations

from typing import Final

_TYPE: Final = "replace(lower(c.type), 'integer', 'int')"
_KIND: Final = f"substr({_TYPE} || '(', 1, instr({_TYPE} || '(', '(') - 1)"
_SIZE: Final = f"CAST(substr({_TYPE}, instr({_TYPE}, '(') + 1) AS INTEGER)"
_DIGITS: Final = f"CAST(nullif(substr({_TYPE}, instr({_TYPE} || ',', ',') + 1), '') AS INTEGER)"
_TEXT: Final = f"{_KIND} IN ('char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext')"
_LENGTH: Final = f"""CASE {_KIND} WHEN 'char' THEN {{0}}{_SIZE} WHEN 'varchar' THEN {{0}}{_SIZE}
 WHEN 'tinytext' THEN 255 WHEN 'text' THEN 65535 WHEN 'mediumtext' THEN 16777215
 WHEN 'longtext' THEN 4294967295 END"""
_PRECISION: Final = f"""CASE {_KIND} WHEN 'tinyint' THEN 3 WHEN 'smallint' THEN 5
 WHEN 'mediumint' THEN 7 WHEN 'int' THEN 10 WHEN 'bigint' THEN 19 WHEN 'decimal' THEN {_SIZE}
 WHEN 'float' THEN coalesce(nullif({_SIZE}, 0), 12) WHEN 'double' THEN 22 END"""
_KEY: Final = """CASE WHEN c.pk THEN 'PRI' WHEN c.name IN (SELECT i.name FROM
 pragma_index_list({0}) AS l, pragma_index_info(l.name) AS i WHERE l.`unique`) THEN 'UNI'
 WHEN c.name IN (SELECT `from` FROM pragma_foreign_key_list({0})) THEN 'MUL' ELSE '' END"""
_NULLABLE: Final = "CASE WHEN c.`notnull` THEN 'NO' ELSE 'YES' END"
_DEFAULT: Final = "nullif(trim(c.dflt_value, ''''), 'NULL')"
_EXTRA: Final = "CASE lower(c.type) WHEN 'integer' THEN 'auto_increment' ELSE '' END"

COLUMNS: Final = f"""SELECT c.name AS Field, {_TYPE} AS Type, {_NULLABLE} AS `Null`,
 {_KEY} AS `Key`, {_DEFAULT} AS `Default`, {_EXTRA} AS Extra
 FROM pragma_table_info({{0}}) AS c WHERE mysql_like(c.name, {{1}})"""
"""``SHOW COLUMNS``: of a table, those like a pattern."""
TABLES: Final = """SELECT name AS `Tables_in_{0}`{1} FROM sqlite_master WHERE type = 'table'
 AND mysql_like(name, {2}) ORDER BY 1"""
"""``SHOW TABLES``: of a database, with further columns, those like a pattern."""
INFORMATION_SCHEMA: Final = {
    "tables": """SELECT 'def' AS TABLE_CATALOG, {0} COLLATE {1} AS TABLE_SCHEMA, name COLLATE {1}
 AS TABLE_NAME, 'BASE TABLE' AS TABLE_TYPE, 'InnoDB' AS ENGINE FROM sqlite_master
 WHERE type = 'table'""",
    "columns": f"""SELECT 'def' AS TABLE_CATALOG, {{0}} COLLATE {{1}} AS TABLE_SCHEMA,
 m.name COLLATE {{1}} AS TABLE_NAME, c.name COLLATE {{1}} AS COLUMN_NAME,
 c.cid + 1 AS ORDINAL_POSITION, {_DEFAULT} AS COLUMN_DEFAULT, {_NULLABLE} AS IS_NULLABLE,
 {_KIND} AS DATA_TYPE, {_LENGTH.format("")} AS CHARACTER_MAXIMUM_LENGTH,
 {_LENGTH.format("4 * ")} AS CHARACTER_OCTET_LENGTH, {_PRECISION} AS NUMERIC_PRECISION,
 CASE WHEN {_KIND} LIKE '%int' THEN 0 ELSE {_DIGITS} END AS NUMERIC_SCALE,
 CASE WHEN {_KIND} IN ('datetime', 'timestamp', 'time') THEN 0 END AS DATETIME_PRECISION,
 CASE WHEN {_TEXT} THEN 'utf8mb4' END AS CHARACTER_SET_NAME,
 CASE WHEN {_TEXT} THEN '{{1}}' END AS COLLATION_NAME, {_TYPE} AS COLUMN_TYPE,
 {_KEY.format("m.name")} AS COLUMN_KEY, {_EXTRA} AS EXTRA,
 'select,insert,update,references' AS PRIVILEGES, '' AS COLUMN_COMMENT,
 '' AS GENERATION_EXPRESSION, NULL AS SRS_ID
 FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'""",
    "schemata": "SELECT 'def' AS CATALOG_NAME, {0} COLLATE {1} AS SCHEMA_NAME",
}
"""The tables of ``information_schema``: of a database, with the collation of names."""
