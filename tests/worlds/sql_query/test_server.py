"""Queries on real servers: the results of SQLite, and nothing that a server must not do."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest

import piase_gym
from piase_gym.adapters.intercode import SqlEnv
from piase_gym.benchmarks.speed.sql_query import compared
from piase_gym.errors import ConfigError
from piase_gym.worlds.sql_query.levels.dataset import Dataset, Task
from piase_gym.worlds.sql_query.rules import server as server_module
from piase_gym.worlds.sql_query.rules.collation import key
from piase_gym.worlds.sql_query.rules.engine import REASONS, LocalEngine
from piase_gym.worlds.sql_query.rules.server import ServerEngine
from piase_gym.worlds.sql_query.rules.worker import Limits
from tests.worlds.sql_query.intercode_files import (
    FILES,
    TASKS,
    needs_files,
    needs_sqlglot,
    original,
    write_files,
)
from tests.worlds.sql_query.random_queries import random_queries
from tests.worlds.sql_query.servers import missing, serving

needs_sqlalchemy = pytest.mark.skipif(
    importlib.util.find_spec("sqlalchemy") is None, reason="needs the extra sql"
)
TABLES = (
    "CREATE TABLE makers (id int PRIMARY KEY, name varchar(20))",
    "CREATE TABLE goods (code varchar(3) PRIMARY KEY, maker int, price decimal(19,4), weight"
    " double precision, CONSTRAINT f FOREIGN KEY (maker) REFERENCES makers (id))",
    "INSERT INTO makers VALUES (1, 'Noir'), (2, 'Blanc'), (3, NULL)",
    "INSERT INTO goods VALUES ('a', 1, -1.5, 2.5), ('b', 2, 3, NULL), ('c', 2, 4.25, 1e10)",
)


class Running(NamedTuple):
    """A server with one small database."""

    kind: str
    url: str


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    """A server that is really running."""
    kind = request.param
    reason = missing(kind)
    if reason is not None:
        pytest.skip(reason)
    import sqlalchemy

    with serving(kind) as root:
        engine = sqlalchemy.create_engine(root, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql("CREATE DATABASE shop")
        engine.dispose()
        url = root.replace("/postgres?", "/shop?").replace("localhost/?", "localhost/shop?")
        engine = sqlalchemy.create_engine(url)
        with engine.begin() as connection:
            for statement in TABLES:
                connection.exec_driver_sql(statement)
        engine.dispose()
        yield Running(kind, url)
        server_module._open(url).dispose()


QUERIES = (
    "SELECT id, name FROM makers ORDER BY id",
    "SELECT code, price, weight FROM goods ORDER BY code",
    "SELECT m.name, count(*), sum(g.price), avg(g.weight) FROM goods g JOIN makers m ON"
    " g.maker = m.id GROUP BY m.name ORDER BY m.name",
    "SELECT name FROM makers WHERE id NOT IN (SELECT maker FROM goods)",
    "SELECT 1 UNION SELECT 2 ORDER BY 1",
    "(SELECT max(price) AS p FROM goods)",
    "WITH x AS (SELECT 1 AS a) SELECT a, '100%' AS b, ':c' AS c FROM x;",
    "SELECT code FROM goods WHERE code = 'z'",
)


def local(sql: str) -> Any:
    """Return the result of SQLite."""
    import sqlite3

    from piase_gym.worlds.sql_query.levels.dataset import Database

    connection = sqlite3.connect(":memory:")
    for statement in TABLES:
        connection.execute(statement)
    connection.commit()
    image = connection.serialize()
    connection.close()
    return LocalEngine(Database("shop", image)).execute(sql)


def test_a_result_is_that_of_sqlite(server: Running) -> None:
    engine = ServerEngine(server.url)
    for sql in QUERIES:
        found, same = engine.execute(sql), local(sql.strip("();") if sql[0] == "(" else sql)
        assert (found.error, found.rows) == (None, same.rows), sql
        assert len(found.columns) == len(same.columns), sql
        for mine, other in zip(found.rows, same.rows, strict=True):
            for value, its in zip(mine, other, strict=True):
                assert isinstance(value, int | float | str | None), sql
                assert isinstance(value, str) == isinstance(its, str), sql
    engine.close()


HOSTILE = (
    ("DROP TABLE goods", "denied"),
    ("DELETE FROM goods", "denied"),
    ("INSERT INTO makers VALUES (9, 'x')", "denied"),
    ("UPDATE goods SET price = 0", "denied"),
    ("WITH x AS (DELETE FROM goods RETURNING *) SELECT * FROM x", "denied"),
    ("CREATE TABLE t (a int)", "denied"),
    ("ALTER TABLE goods ADD COLUMN x int", "denied"),
    ("TRUNCATE goods", "denied"),
    ("COMMIT", "denied"),
    ("ROLLBACK", "denied"),
    ("BEGIN", "denied"),
    ("SET SESSION max_statement_time = 0", "denied"),
    ("SET statement_timeout = 0", "denied"),
    ("GRANT ALL ON goods TO public", "denied"),
    ("SELECT 1; DROP TABLE goods", "several"),
    ("SELECT 1; SELECT 2", "several"),
    ("SELECT * FROM goods FOR UPDATE", "denied"),
    ("SELECT * INTO t FROM goods", "denied"),
    ("SELECT set_config('statement_timeout', '0', false)", "denied"),
    ("SELECT pg_sleep(99)", "denied"),
    ("SELECT Sleep ( 99 )", "denied"),
    ("SELECT BENCHMARK(1000000000, md5('x'))", "denied"),
    ("SELECT LOAD_FILE('/etc/passwd')", "denied"),
    ("SELECT pg_read_file('/etc/passwd')", "denied"),
    ("SELECT lo_import('/etc/passwd')", "denied"),
    ("SELECT `sleep`(99)", "denied syntax"),
    ('SELECT "pg_sleep"(99)', "denied syntax"),
    ("SELECT pg_catalog.pg_sleep(99)", "denied syntax"),
    ("SELECT repeat('x', 900000000)", "denied"),
    ("COPY goods TO '/tmp/x'", "denied syntax"),
    ("SELECT * FROM goods INTO OUTFILE '/tmp/x'", "denied syntax"),
    ("CALL x()", "denied syntax"),
    ("nonsense", "syntax"),
    ("", "syntax"),
    ("SELECT (", "syntax"),
    ("SELECT * FROM nothing", "syntax"),
    ("SELECT 1\0", "syntax"),
    ("SELECT '\ud800'", "syntax"),
    ("SELECT 1 -- " + "x" * 10_000_000, "too_long"),
    ("SELECT a.id FROM makers a" + ", makers b{}" * 12, "too_many_rows"),
    ("SELECT count(*) FROM makers a" + ", makers b{}" * 20, "timeout"),
)


def test_a_hostile_statement_changes_nothing_and_ends(server: Running) -> None:
    engine = ServerEngine(server.url, limits=Limits(seconds=0.5, rows=1000))
    before = engine.execute(QUERIES[1]).rows
    for number, (line, reasons) in enumerate(HOSTILE):
        found = engine.execute(line.replace("{}", "%d") % tuple(range(line.count("{}"))))
        assert found.reason in reasons.split(), (line[:80], found.reason, found.error)
        assert found.reason in REASONS
        assert found.error
        assert (found.rows, found.columns) == ((), ())
        if number % 10 == 0:
            assert engine.execute("SELECT 1").rows == ((1,),)
    assert engine.execute(QUERIES[1]).rows == before
    engine.close()


def test_what_a_task_writes_is_seen_by_it_alone(server: Running) -> None:
    first, other = ServerEngine(server.url, writes=True), ServerEngine(server.url)
    count = "SELECT count(*) FROM makers"
    assert first.execute("INSERT INTO makers VALUES (7, 'x'), (8, 'y')").changed == 2
    assert first.execute("INSERT INTO makers VALUES (7, 'again')").reason == "constraint"
    assert first.execute("DELETE FROM makers WHERE id = 8").changed == 1
    assert first.execute(count).rows == ((4,),)
    assert first.execute("DROP TABLE goods").reason == "denied"
    assert other.execute(count).rows == ((3,),)
    first.close()
    assert first.execute(count).rows == ((3,),)
    first.close()


def test_intercodes_environment_and_the_world_play_on_a_server(
    server: Running, tmp_path_factory: pytest.TempPathFactory
) -> None:
    task = Task("0", "How many makers?", "SELECT count(*) FROM makers", "shop", "easy")
    url = server.url.replace("/shop?", "/{database}?")
    empty: dict[str, Any] = {}
    env = SqlEnv(dataset=Dataset("d", (task,), empty), server=url)
    assert env.reset(0)[0] == task.question
    assert env.step("SELECT count(id) FROM makers")[:3] == ([(3,)], 0, False)
    assert env.step("submit")[1] == 1.0
    assert env.step("SELECT nothing")[0].startswith("Error executing query: ")
    assert env.step("submit")[1] == 0.0
    env.close()
    files = write_files(tmp_path_factory.mktemp("files"), tasks=[{**TASKS[0], "db": "Shop"}])
    world = piase_gym.parallel_env(
        "SqlQuery", dataset=str(files), task=0, actions="text", server=server.url, discover=True
    )
    world.reset(seed=0)
    for line in ("tables", "describe goods"):  # PostgreSQL has no SHOW
        assert world.step({"agent_0": line})[4]["agent_0"]["error"] is None
    assert [len(table.columns) for table in world.facts("agent_0").tables] == [6, 0]
    assert world.step({"agent_0": "SELECT 1 + 2"})[4]["agent_0"]["score"] == 1.0  # 3 goods there
    assert world.step({"agent_0": "submit"})[1] == {"agent_0": 1.0}
    world.close()


@pytest.fixture(scope="module")
def spider(server: Running) -> Iterator[str]:
    """The URL of a MariaDB that has read InterCode's dump, with ``{database}`` in it."""
    client = shutil.which("mariadb")
    if server.kind != "mariadb" or client is None:
        pytest.skip("the dump is MySQL's, and MariaDB's client reads it")
    path = unquote(server.url.split("=")[1])
    with (FILES / "ic_spider_dbs.sql").open() as dump:
        account = ["--no-defaults", "--force", "--user=root", f"--socket={path}"]
        subprocess.run([client, *account], stdin=dump, check=True, capture_output=True)
    # What the server knows of the tables decides in which order it returns ties.
    analyze = [client.replace("mariadb", "mariadb-check"), *account, "--analyze"]
    subprocess.run([*analyze, "--all-databases"], check=True, capture_output=True)
    url = server.url.replace("/shop?", "/{database}?")
    yield url
    for name in original().databases:
        server_module._open(url.replace("{database}", name)).dispose()


@needs_files
def test_intercodes_gold_queries_return_what_they_return_on_mariadb(spider: str) -> None:
    found = compared(original(), spider)
    assert len(found["refused"]) == 6  # SHOW as a name, COUNT (*), a subquery without a name
    assert len(found["other"]) <= 24, found["other"]  # ties, and columns that are not grouped
    assert len(found["order"]) <= 70, found["order"]  # MariaDB orders all groups, MySQL does not


def comparable(value: Any) -> Any:
    """Return a number, also one that is written as a text, rounded; of a text, its key."""
    try:
        return float(f"{float(value):.3g}")
    except (TypeError, ValueError):
        return key(str(value)[:1000])  # which of some equal texts stands for a group is open


@needs_files
def test_random_queries_return_what_they_return_on_mariadb(spider: str) -> None:
    other = []
    for name, database in original().databases.items():
        there = ServerEngine(spider.replace("{database}", name))
        for query in random_queries(database, 40, Random(name)):
            results = there.execute(query), LocalEngine(database).execute(query)
            told = [
                sorted(str([comparable(value) for value in row]) for row in found.rows)
                if found.reason is None
                else "an error"
                for found in results
            ]
            if told[0] != told[1]:
                other.append((query, results))
    assert other == []


@needs_sqlglot
@needs_sqlalchemy
@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("nonsense", "no URL of SQLAlchemy"),
        ("sqlite:///file.db", "no server for 'sqlite'; allowed: postgresql"),
        ("unknown://host/db", "no URL of SQLAlchemy"),
    ],
)
def test_other_urls_are_refused(url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        ServerEngine(url)


@pytest.mark.skipif(importlib.util.find_spec("pymysql") is None, reason="needs pymysql")
@needs_sqlalchemy
@needs_sqlglot
def test_a_server_that_is_not_there_is_a_result() -> None:
    found = ServerEngine("mysql+pymysql://root@127.0.0.1:1/shop").execute("SELECT 1")
    assert (found.rows, found.reason) == ((), "server")
    assert "the server is not there" in str(found.error)
