"""Statements that would change a database, reach a file, stall an episode or fill the memory."""

from __future__ import annotations

from typing import NamedTuple


class Attempt(NamedTuple):
    """A statement, and the reasons one of which it must fail for."""

    sql: str
    reasons: tuple[str, ...]


_ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
_CROSS = ", ".join(f"author AS t{k}" for k in range(8))


def denied(*statements: str) -> list[Attempt]:
    """Return attempts that are not allowed."""
    return [Attempt(sql, ("denied",)) for sql in statements]


ATTEMPTS: list[Attempt] = [
    # what changes the database or its schema
    *denied(
        "DROP TABLE author",
        "DELETE FROM author",
        "UPDATE author SET name = 'x'",
        "INSERT INTO author VALUES (1000, 'x')",
        "INSERT INTO author SELECT * FROM author",
        "REPLACE INTO author (id) VALUES (1)",
        "WITH x AS (SELECT 1) DELETE FROM author",
        "CREATE TABLE loot (a)",
        "CREATE TEMP TABLE loot (a)",
        "CREATE TABLE loot AS SELECT * FROM author",
        "CREATE VIEW loot AS SELECT 1",
        "CREATE INDEX loot ON author (name)",
        "CREATE TRIGGER loot AFTER INSERT ON author BEGIN DELETE FROM author; END",
        "CREATE VIRTUAL TABLE loot USING fts5(a)",
        "ALTER TABLE author RENAME TO loot",
        "ALTER TABLE author ADD COLUMN loot",
        "DELETE FROM sqlite_master",
        "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 0, 'CREATE TABLE x (a)')",
        "ANALYZE",
        # settings
        "PRAGMA writable_schema = 1",
        "PRAGMA hard_heap_limit = 0",
        "PRAGMA query_only = 0",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA table_info(author)",
        "/* a */ PRAGMA temp_store_directory = '/tmp'",
        "-- a\npragma user_version = 7",
        "EXPLAIN PRAGMA user_version = 7",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT s",
        "RELEASE s",
        # files
        "ATTACH '{file}' AS loot",
        "ATTACH ':memory:' AS loot",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO '{file}'",
        "/**/VACUUM main INTO '{file}'",
        "SELECT load_extension('{file}')",
        # what is not the same twice, or tells of others
        "SELECT random()",
        "SELECT hex(randomblob(8))",
        "SELECT CURRENT_TIMESTAMP",
        "SELECT last_insert_rowid()",
        "SELECT sqlite_source_id()",
    ),
    Attempt("SELECT readfile('{file}')", ("syntax",)),
    Attempt("SELECT writefile('{file}', 'x')", ("syntax",)),
    Attempt("SELECT * FROM sqlite_dbpage", ("syntax", "denied")),
    Attempt("SELECT sql FROM sqlite_stmt", ("syntax", "denied")),
    Attempt("SELECT * FROM dbstat", ("syntax", "denied")),
    Attempt("SELECT * FROM pragma_database_list", ("syntax", "denied")),
    Attempt("SELECT edit('x')", ("syntax",)),
    # time
    Attempt(f"{_ENDLESS}SELECT count(*) FROM r", ("timeout",)),
    Attempt(f"{_ENDLESS}SELECT max(n) FROM r WHERE n < 0", ("timeout",)),
    Attempt(f"SELECT count(*) FROM {_CROSS}", ("timeout",)),
    Attempt(f"SELECT count(*) FROM (SELECT 1 FROM {_CROSS})", ("timeout",)),
    Attempt(
        "SELECT instr(printf('%900000s', 'b'), printf('%400000sa', ' ')) FROM author", ("timeout",)
    ),
    # memory and size
    Attempt("SELECT hex(zeroblob(9e8))", ("too_long",)),
    Attempt("SELECT zeroblob(2000000000)", ("too_long",)),
    Attempt("SELECT printf('%.*c', 900000000, 'x')", ("too_long", "timeout")),
    Attempt("SELECT replace(printf('%900000s', 1), ' ', 'xxxxxxxxxx')", ("too_long",)),
    Attempt("SELECT group_concat(printf('%900000s', id)) FROM author", ("too_long",)),
    Attempt("SELECT printf('%900000s', id) FROM author", ("too_long", "memory")),
    Attempt(f"{_ENDLESS}SELECT n, printf('%900000s', n) FROM r ORDER BY 2", ("memory", "timeout")),
    Attempt(
        f"{_ENDLESS}SELECT DISTINCT printf('%99999s', n) FROM r", ("memory", "timeout", "too_long")
    ),
    Attempt(f"{_ENDLESS}SELECT n FROM r LIMIT 10000000", ("too_many_rows",)),
    Attempt("SELECT t0.id FROM author t0, author t1, author t2, author t3", ("too_many_rows",)),
    Attempt("x" * 10_000_000, ("too_long",)),
    Attempt("SELECT '" + "x" * 10_000_000 + "'", ("too_long",)),
    Attempt("SELECT " + ", ".join(["1"] * 3000), ("too_long",)),
    Attempt("SELECT " + "(" * 3000 + "1" + ")" * 3000, ("syntax", "too_long")),
    Attempt("SELECT " + "-" * 1 + "+".join(["1"] * 3000), ("syntax", "too_long")),
    Attempt("SELECT 1" + " UNION SELECT 1" * 900, ("too_long",)),
    Attempt("SELECT abs(" * 900 + "1" + ")" * 900, ("syntax", "too_long")),
    # what is no statement
    Attempt("SELECT 1\0; DROP TABLE author", ("syntax",)),
    Attempt("SELECT 1; DROP TABLE author", ("several",)),
    Attempt("SELECT 1; SELECT 2", ("several",)),
    Attempt("SELECT '\ud800'", ("syntax",)),
    Attempt("SELECT ?", ("syntax", "too_long")),
    Attempt("SELECT :x", ("syntax", "too_long")),
    Attempt("SELECT cast(x'ff' AS TEXT)", ("syntax",)),
    Attempt("SELECT abs(-9223372036854775808)", ("syntax",)),
    Attempt("", ("syntax",)),
    Attempt(";;;", ("syntax",)),
    Attempt("xyzzy", ("syntax",)),
    Attempt("/*" * 9000, ("syntax",)),
    Attempt("/**/" * 4900 + "1", ("syntax",)),
    Attempt("desc" + " " * 19000 + "x" + " " * 900 + "y", ("syntax",)),
]
