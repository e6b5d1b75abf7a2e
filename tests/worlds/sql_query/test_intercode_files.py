"""InterCode's files, and files that are not quite like them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym.core.commands import Command
from piase_gym.errors import ConfigError
from piase_gym.worlds.sql_query import score
from piase_gym.worlds.sql_query.config import SqlQueryConfig
from piase_gym.worlds.sql_query.levels import intercode
from piase_gym.worlds.sql_query.levels.dataset import Database
from piase_gym.worlds.sql_query.manual import manual
from piase_gym.worlds.sql_query.rules import collation
from piase_gym.worlds.sql_query.rules.engine import LocalEngine
from piase_gym.worlds.sql_query.rules.step import statement_of
from tests.worlds.sql_query.intercode_files import (
    DUMP,
    FILES,
    TASKS,
    needs_files,
    needs_sqlglot,
    original,
    write_files,
)


@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        ("abc", "ABC", 0),
        ("abc", "abc   ", 0),
        ("São Paulo", "sao paulo", 0),
        ("", "  ", 0),
        ("abc", " abc", 1),
        ("a", "B", -1),
        ("_", "a", 1),  # letters are compared as capitals, and _ comes after those
        ("abc", "abcd", -1),
    ],
)
def test_texts_compare_as_in_mysql(first: str, second: str, order: int) -> None:
    assert collation.compare(first, second) == order
    assert collation.compare(second, first) == -order


def test_dates_are_written_where_systems_know_no_numbers_without_zeros(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Date(datetime):
        def strftime(self, form: str) -> str:
            if "%-" in form:  # as on Windows
                raise ValueError("Invalid format string")
            return super().strftime(form)

    monkeypatch.setattr(collation, "datetime", Date)
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        collation.register(connection)
        ask = "SELECT date_format('2020-10-05 00:07:00', '%-d %-m %-H %M %% %%-d')"
        assert connection.execute(ask).fetchone() == ("5 10 0 07 % %-d",)


@contextlib.contextmanager
def opened(database: Database) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(database.image)
        collation.register(connection)
        yield connection


@needs_sqlglot
def test_databases_with_the_same_content_keep_their_names() -> None:
    dump = "CREATE TABLE `order details` (`id` int);"
    images = intercode.read_dump(f"USE `one`;{dump}USE `two`;{dump}")
    assert images["one"] == images["two"]
    for name, image in images.items():
        engine = LocalEngine(Database(name, image, intercode.DIALECT))
        assert engine.execute("SHOW TABLES").columns == (f"Tables_in_{name}",)
        assert engine.execute("SELECT 1 FROM x").error == f"Table '{name}.x' doesn't exist"
        found = engine.execute(statement_of(Command("describe", {"table": "order details"})))
        assert [row[0] for row in found.rows] == ["id"]


@needs_sqlglot
def test_a_dump_becomes_databases(tmp_path: Path) -> None:
    dataset = intercode.load(write_files(tmp_path))
    assert [(task.task_id, task.hardness, task.database) for task in dataset.tasks] == [
        ("0", "easy", "Shop"),
        ("1", "easy", "Shop"),
    ]
    database = dataset.databases["Shop"]
    assert (database.dialect, [table.name for table in database.schema]) == (
        "mysql",
        ["goods", "makers"],
    )
    goods, makers = database.schema
    assert goods.references == (("Maker", "makers", "ID"),)
    assert [column.type.lower() for column in goods.columns] == [
        "char(3)", "int", "decimal(19,4)", "double", "datetime", "int",
    ]  # fmt: skip
    assert [column.key for column in makers.columns] == [True, False, False]
    with opened(database) as connection:
        ask = connection.execute
        assert ask("SELECT * FROM goods").fetchall() == [
            ("a", 1, -1.5, 2.5, "2018-03-10 00:03:21", 1),
            ("b", 2, 3, None, "2019-01-01 10:00:00", 2),
        ]
        assert ask("SELECT Name FROM makers").fetchall() == [
            ("Café; 'Noir' ",), ("cafe; 'NOIR'",), (None,),
        ]  # fmt: skip
        assert ask("SELECT count(DISTINCT Name) FROM makers").fetchone() == (1,)
        assert ask("SELECT ID FROM makers WHERE Name = 'CAFE; ''noir'''").fetchall() == [(1,), (2,)]
        ask("INSERT INTO makers (Name) VALUES ('new')")
        assert ask("SELECT max(ID) FROM makers").fetchone() == (4,)
        plan = ask("EXPLAIN QUERY PLAN SELECT 1 FROM goods WHERE Maker = 1").fetchone()
        assert "USING" in plan[-1]  # foreign keys are indexed
        with pytest.raises(sqlite3.IntegrityError):
            ask("INSERT INTO goods (Code, `order`) VALUES ('c', 2)")


@needs_sqlglot
def test_a_dump_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intercode, "base", lambda: tmp_path / "cache")
    first = intercode.read_dump(DUMP)
    (kept,) = (tmp_path / "cache" / "datasets").iterdir()
    real = intercode._images
    monkeypatch.setattr(intercode, "_images", lambda text: pytest.fail("it was read again"))
    assert intercode.read_dump(DUMP) == first
    monkeypatch.setattr(intercode, "_images", real)
    content = kept.read_bytes()
    for damaged in (b"", content[:40], content[:60] + b"????" + content[64:]):
        kept.write_bytes(damaged)
        assert intercode.read_dump(DUMP) == first
        assert kept.read_bytes() != damaged
    assert intercode.read_dump(DUMP.replace("900", "901")) != first
    changed = tmp_path / "dialect.py"
    changed.write_text("# It makes something else of a dump now.")
    monkeypatch.setattr(intercode, "SOURCES", (*intercode.SOURCES[:-1], changed))
    monkeypatch.setattr(intercode, "_images", lambda text: {"shop": b"made anew"})
    assert intercode.read_dump(DUMP) == {"shop": b"made anew"}


@pytest.mark.parametrize(
    ("tasks", "dump", "told"),
    [
        ({}, DUMP, "must be a list of tasks"),
        ([], DUMP, "must be a list of tasks"),
        ([7], DUMP, "task 0 of 'ic_small_dev.json' is no mapping"),
        ([TASKS[0], {"db": "Shop", "query": "?"}], DUMP, "task 1 .* has no text at 'gold'"),
        ([{**TASKS[0], "db": "bank"}], DUMP, "no database 'bank'"),
        ([{**TASKS[0], "hardness": "harder"}], DUMP, "hardness is one of easy"),
        ([{**TASKS[0], "gold": "nonsense"}], DUMP, "has no SELECT"),
        (TASKS, "", "no database with a table"),
        (TASKS, "Not SQL at all", "no database with a table"),
        (TASKS, "CREATE TABLE t (a int", "is no dump of MySQL"),
        (TASKS, "INSERT INTO t VALUES (1)", "is no dump of MySQL: no such table"),
        (TASKS, DUMP.replace("-1.5000", "now()"), "is no dump of MySQL: a row has"),
        (TASKS, DUMP.replace("('a',1,", "('a',"), "is no dump of MySQL"),
        (TASKS, "CREATE TABLE t (a NOT NULL);", "'CREATE TABLE t .a NOT NULL.' cannot be read"),
        (TASKS, "CREATE TABLE t (a int) WHAT (b);", "'CREATE TABLE t .* cannot be read"),
    ],
)
@needs_sqlglot
def test_other_files_are_refused_with_a_sentence(
    tasks: Any, dump: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=told):
        intercode.load(write_files(tmp_path, dump, tasks))


def test_folders_without_the_files_are_refused(tmp_path: Path) -> None:
    for wrong, told in (
        (tmp_path / "none", "there is no folder"),
        (tmp_path, "must have one .json"),
    ):
        with pytest.raises(ConfigError, match=told):
            intercode.load(wrong)
    write_files(tmp_path)
    (tmp_path / "ic_small_dev.json").write_bytes(b'[{"db": "Sh')
    with pytest.raises(ConfigError, match=r"ic_small_dev\.json' is no JSON"):
        intercode.load(tmp_path)
    write_files(tmp_path)
    (tmp_path / "ic_small_dbs.sql").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot read"):
        intercode.load(tmp_path)
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(ConfigError, match="or one named ic_spider_"):
        intercode.load(tmp_path)


@needs_sqlglot
def test_prompts_name_the_sql_of_a_dataset(tmp_path: Path) -> None:
    """It was SQLite's for all; no task of a dataset changes its database."""
    folder = str(write_files(tmp_path))
    told = manual(SqlQueryConfig(dataset=folder)).rules
    assert "in the SQL of MySQL." in told
    assert "The database can only be read." in told
    server = SqlQueryConfig(dataset=folder, server="postgresql+psycopg://me@localhost/{database}")
    assert "in the SQL of PostgreSQL." in manual(server).rules
    assert "in the SQL of SQLite." in manual(SqlQueryConfig()).rules


@needs_sqlglot
def test_a_statement_that_returns_nothing_is_no_answer(tmp_path: Path) -> None:
    tasks = [{**TASKS[0], "gold": "SELECT Code FROM goods WHERE Price > 100"}]
    form: dict[str, Any] = {"dataset": str(write_files(tmp_path, tasks=tasks)), "actions": "text"}
    lines = (("USE Shop", 0.0, "None"), ("SELECT 1 FROM goods WHERE 1 = 0", 1.0, "[]"))
    for line, worth, native in lines:  # natively, what MySQL's connector has for these
        env = piase_gym.gym_env("SqlQuery", **form, view="text", wording="native")
        env.reset(seed=0)
        observation, *_, info = env.step(line)
        assert observation.splitlines()[0] == native
        assert info["score"] == worth
        assert env.step("submit")[1] == worth


@needs_files
def test_all_databases_of_intercode_are_there() -> None:
    dataset = original()
    assert len(dataset.databases) == 20
    assert sum(len(database.schema) for database in dataset.databases.values()) == 81
    assert {database.name.lower() for database in dataset.databases.values()} == {
        task.database.lower() for task in dataset.tasks
    }
    with opened(dataset.databases["world_1"]) as connection:
        counted = [
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("city", "country", "countrylanguage")
        ]
    assert counted == [4079, 239, 984]
    assert score([], []) == 1.0


@needs_files
def test_the_world_plays_intercodes_tasks() -> None:
    tasks = original().tasks
    for number in range(0, len(tasks), 41):
        env = piase_gym.parallel_env(
            "SqlQuery",
            dataset=str(FILES),
            task=number,
            actions="text",
            reward_mode="original",
            wording="native",
        )
        env.reset(seed=number)
        assert env.step({"agent_0": tasks[number].gold})[4]["agent_0"]["score"] == 1.0
        _, rewards, terminations, _, infos = env.step({"agent_0": "submit"})
        assert (rewards, terminations) == ({"agent_0": 1.0}, {"agent_0": True})
        told = infos["agent_0"]
        assert (told["gold"], told["hardness"]) == (tasks[number].gold, tasks[number].hardness)
        env.close()
