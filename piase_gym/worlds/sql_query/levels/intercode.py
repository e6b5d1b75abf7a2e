"""InterCode's own tasks: its JSON of questions, and its MySQL dump as SQLite databases.

The dump is read by sqlglot, statement by statement: tables with their columns, keys and rows;
users, locks and indices are left out, except those of foreign keys. Names of tables are in lower
case, as on InterCode's server (``lower_case_table_names=1``), and types keep MySQL's names, which
SQLite maps to its own types.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from piase_gym.compiled.cache import base
from piase_gym.core.files import expand_user, write_whole
from piase_gym.errors import ConfigError, StorageError
from piase_gym.worlds.sql_query.levels.dataset import (
    HARDNESS,
    Database,
    Dataset,
    Task,
    from_file,
)
from piase_gym.worlds.sql_query.rules import dialect
from piase_gym.worlds.sql_query.rules.collation import COLLATION, register
from piase_gym.worlds.sql_query.rules.dialect import tidied, translate
from piase_gym.worlds.sql_query.rules.hardness import hardness
from piase_gym.worlds.sql_query.rules.mysql_errors import TranslationError, reader

DIALECT: Final = "mysql"
SOURCES: Final = (Path(__file__), *sorted(Path(dialect.__file__).parent.glob("*.py")))
"""The source files that determine what a dump is converted to."""
READING: Final = "reading a MySQL dump"
SUFFIXES: Final = (".sqlite", ".db")
"""The suffixes of SQLite files."""
MOST_BYTES: Final = 200_000_000
"""The largest file that is read, in bytes."""


def load(path: str | Path, dump: str | Path | None = None) -> Dataset:
    """Load the tasks and databases of a folder with one JSON and one SQL file of InterCode.

    A dump that was read before is kept in the cache folder, under a hash of its content, and in
    memory as long as the files do not change.

    Args:
        path: The folder, or the JSON of tasks.
        dump: The dump of their databases; by default the SQLite files next to the tasks, or if
            there are none, the dump.

    Raises:
        ConfigError: If a file is missing, cannot be read, or is not as InterCode's files are.
        MissingExtraError: If the dump was never read before, and sqlglot is not installed.
    """
    place = expand_user(path)
    try:
        tasks = place if place.is_file() else _find(place, ".json")
        found = [] if dump is not None else _sqlite_files(tasks.parent)
        if found:
            return _of_databases(tasks, map(from_file, found))
        files = tasks, _find(tasks.parent, ".sql") if dump is None else expand_user(dump)
        stats = [file.stat() for file in files]
    except OSError as error:
        raise ConfigError(f"SqlQuery: cannot read {error.filename!r:.200}: {error}") from None
    for file, stat in zip(files, stats, strict=True):
        if stat.st_size > MOST_BYTES:
            raise ConfigError(f"SqlQuery: {file.name!r:.200} is larger than {MOST_BYTES} bytes")
    return _load(*files, tuple((stat.st_mtime_ns, stat.st_size) for stat in stats))


def _sqlite_files(folder: Path) -> list[Path]:
    """Return the SQLite files of a folder, which it can have in place of a dump."""
    return [file for file in sorted(folder.iterdir()) if file.suffix in SUFFIXES]


def _of_databases(path: Path, databases: Iterable[Database]) -> Dataset:
    """Load tasks, for databases that are already loaded.

    Raises:
        ConfigError: If the tasks cannot be read, or are about other databases.
    """
    records, known = _records(path), {database.name: database for database in databases}
    return Dataset(path.stem, tuple(_tasks(records, known, path.name)), known, _by_id(records))


def _records(path: Path) -> Any:
    """Return the content of a JSON file."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"SqlQuery: cannot read {str(path)!r:.200}: {error}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"SqlQuery: {str(path)!r:.200} is no JSON: {error}") from None


def _find(folder: Path, suffix: str) -> Path:
    """Return the one file of a folder with a suffix; of several, the one of Spider's tasks."""
    if not folder.is_dir():
        raise ConfigError(f"SqlQuery: there is no folder {str(folder)!r:.200}")
    found = sorted(file for file in folder.glob(f"*{suffix}") if file.is_file())
    if len(found) > 1:
        found = [file for file in found if file.name.startswith("ic_spider_")]
    if len(found) != 1:
        raise ConfigError(
            f"SqlQuery: {str(folder)!r:.200} must have one {suffix} file, or one named ic_spider_*"
        )
    return found[0]


@functools.lru_cache(maxsize=4)
def _load(tasks: Path, dump: Path, _changed: tuple[tuple[int, int], ...]) -> Dataset:
    """Load two files."""
    try:
        text = dump.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"SqlQuery: cannot read {str(dump)!r:.200}: {error}") from None
    records = _records(tasks)
    databases = {
        name: Database(name, image, DIALECT) for name, image in read_dump(text, dump.name).items()
    }
    listed = tuple(_tasks(records, databases, tasks.name))
    return Dataset(tasks.stem, listed, _with_translations(databases, listed), _by_id(records))


def _by_id(records: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what a file says of its tasks, which `_tasks` numbers."""
    return {str(number): record for number, record in enumerate(records)}


def _with_translations(
    databases: Mapping[str, Database], tasks: Sequence[Task]
) -> dict[str, Database]:
    """Return the databases with the translations of their gold queries, which are cached."""
    asked: dict[str, list[str]] = {name: [] for name in databases}
    for task in tasks:
        asked[task.database].append(task.gold)

    def made() -> dict[str, bytes]:
        return {
            name: json.dumps(dict(_translations(database, asked[name]))).encode()
            for name, database in databases.items()
        }

    stamps = {name: database.stamp for name, database in databases.items()}
    found = _cached(json.dumps([stamps, asked]), made)
    return {
        name: dataclasses.replace(database, translated=json.loads(found[name]))
        for name, database in databases.items()
    }


def _translations(database: Database, golds: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield gold queries with their translations; one that has none will fail when it is run."""
    for gold in golds:
        with suppress(TranslationError):
            yield tidied(gold), translate(tidied(gold), database)


def _tasks(records: Any, databases: Mapping[str, Database], name: str) -> Iterator[Task]:
    """Yield the tasks of the JSON."""
    if not isinstance(records, list) or not records:
        raise ConfigError(f"SqlQuery: {name!r:.200} must be a list of tasks")
    proper = {database.lower(): database for database in databases}
    for number, record in enumerate(records):
        where = f"SqlQuery: task {number} of {name!r:.200}"
        if not isinstance(record, dict):
            raise ConfigError(f"{where} is no mapping")
        wrong = [key for key in ("query", "gold", "db") if not isinstance(record.get(key), str)]
        if wrong:
            raise ConfigError(f"{where} has no text at {wrong[0]!r}")
        database = proper.get(record["db"].lower())
        if database is None:
            raise ConfigError(f"{where}: the dump has no database {record['db']!r:.80}")
        level = record.get("hardness")
        if level is None:
            level = hardness(record["gold"])
        if level not in HARDNESS:
            raise ConfigError(f"{where}: hardness is one of {', '.join(HARDNESS)}, not {level!r}")
        yield Task(str(number), record["query"], record["gold"], database, level)


def read_dump(text: str, name: str = "the dump") -> dict[str, bytes]:
    """Return the databases of a MySQL dump as SQLite images, from the cache if they are there.

    Raises:
        ConfigError: If the text is not a dump, or has no table.
        MissingExtraError: If it is not in the cache, and sqlglot is not installed.
    """

    def made() -> dict[str, bytes]:
        errors = reader(READING).errors
        try:
            images = _images(text)
        except (ValueError, sqlite3.Error, RecursionError, errors.SqlglotError) as error:
            message = f"SqlQuery: {name!r:.200} is no dump of MySQL: {error}"[:500]
            raise ConfigError(message) from None
        if not images:
            raise ConfigError(f"SqlQuery: {name!r:.200} has no database with a table")
        return images

    return _cached(text, made)


def _cached(content: str, make: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
    """Return what is made of some content, from the cache folder if it was made before."""
    versions = f"{sqlite3.sqlite_version} {reader(READING).__version__}"
    stamp = hashlib.blake2b(versions.encode(), digest_size=16)
    for source in SOURCES:
        stamp.update(source.read_bytes())
    stamp.update(content.encode())
    folder = base()
    kept = None if folder is None else folder / "datasets" / f"{stamp.hexdigest()}.zip"
    if kept is not None:
        # A damaged file can raise anything.
        with suppress(Exception), zipfile.ZipFile(kept) as archive:
            return {entry: archive.read(entry) for entry in archive.namelist()}
    made = make()
    if kept is not None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry, part in made.items():
                archive.writestr(entry, part)
        with suppress(StorageError):
            write_whole(kept, packed.getvalue())
    return made


def _images(text: str) -> dict[str, bytes]:
    """Return the databases of a dump."""
    open_ones: dict[str, sqlite3.Connection] = {}
    current = "main"
    try:
        for statement in _statements(text):
            kind = type(statement).__name__
            if kind == "Use":
                current = statement.this.name
                continue
            if current not in open_ones:
                open_ones[current] = sqlite3.connect(":memory:")
                register(open_ones[current])
            try:
                (_fill if kind == "Insert" else _create)(open_ones[current], statement)
            except (AttributeError, TypeError, IndexError):  # sqlglot has read something else
                message = f"{statement.sql(DIALECT)!r:.200} cannot be read"
                raise ValueError(message) from None
        for connection in open_ones.values():
            connection.commit()
        return {name: connection.serialize() for name, connection in open_ones.items()}
    finally:
        for connection in open_ones.values():
            connection.close()


def _statements(text: str) -> Iterator[Any]:
    """Yield the statements of a dump that use a database, create a table or fill one."""
    mysql = reader(READING).Dialect.get_or_raise(DIALECT)
    chunk: list[Any] = []
    for token in [*mysql.tokenize(text), None]:
        if token is not None and token.token_type.name != "SEMICOLON":
            chunk.append(token)
            continue
        start = [part.text.upper() for part in chunk[:2]]
        if start[:1] in (["USE"], ["INSERT"]) or start == ["CREATE", "TABLE"]:
            yield from mysql.parser().parse(chunk, text)
        chunk = []


def _create(connection: sqlite3.Connection, statement: Any) -> None:
    """Create the table of a ``CREATE TABLE``."""
    parts, keys, references = [], [], []
    for part in statement.this.expressions:
        kind = type(part).__name__
        if kind == "ColumnDef":
            parts.append(_column(part))
        elif kind == "PrimaryKey":
            keys.append(f"PRIMARY KEY ({_names(part)})")
        elif kind == "UniqueColumnConstraint":
            keys.append(f"UNIQUE ({_names(part.this)})")
        elif kind == "Constraint":
            references += [key for key in part.expressions if key.key == "foreignkey"]
        elif kind == "ForeignKey":
            references.append(part)
    keys += [_reference(key) for key in references]
    name = statement.this.this.name.lower()
    connection.execute(f"CREATE TABLE {_quoted(name)} ({', '.join(parts + keys)})")
    for number, key in enumerate(references):  # InnoDB makes them by itself
        index = _quoted(f"{name} {number}")
        connection.execute(f"CREATE INDEX {index} ON {_quoted(name)} ({_names(key)})")


def _column(part: Any) -> str:
    """Return the declaration of a column; in SQLite, an automatic key must be ``integer``."""
    kinds = {type(constraint.kind).__name__: constraint.kind for constraint in part.constraints}
    counts = "AutoIncrementColumnConstraint" in kinds
    kind = part.kind.sql(DIALECT).lower().replace(", ", ",")
    written = [_quoted(part.name), "integer" if counts else kind]
    if written[1].partition("(")[0] in dialect.TEXT_TYPES:
        written.append(f"COLLATE {COLLATION}")
    if "NotNullColumnConstraint" in kinds:
        written.append("NOT NULL")
    default = kinds.get("DefaultColumnConstraint")
    if default is not None:
        written.append(f"DEFAULT {default.this.sql('sqlite')}")
    return " ".join(written)


def _names(part: Any) -> str:
    """Return the names in brackets, separated by commas."""
    return ", ".join(_quoted(column.name) for column in part.expressions)


def _reference(part: Any) -> str:
    """Return the declaration of a foreign key."""
    other = part.args["reference"].this
    table = _quoted(other.this.name.lower())
    return f"FOREIGN KEY ({_names(part)}) REFERENCES {table} ({_names(other)})"


def _quoted(name: str) -> str:
    """Return a name so that SQLite never takes it for a string."""
    return "`" + name.replace("`", "``") + "`"


def _fill(connection: sqlite3.Connection, statement: Any) -> None:
    """Put the rows of an ``INSERT`` into their table."""
    rows = [
        [_value(value) for value in row.expressions] for row in statement.expression.expressions
    ]
    target = statement.this
    columns = f" ({_names(target)})" if type(target).__name__ == "Schema" else ""
    table = _quoted((target.this if columns else target).name.lower())
    holes = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO {table}{columns} VALUES ({holes})", rows)


def _value(expression: Any) -> str | int | float | None:
    """Return a constant."""
    kind = type(expression).__name__
    if kind == "Null":
        return None
    if kind == "Neg":
        return -_value(expression.this)  # type: ignore[operator]
    if kind != "Literal":
        raise ValueError(f"a row has {expression.sql(DIALECT)!r:.80}, which is no constant")
    text = str(expression.this)
    if expression.is_string:
        return text
    return int(text) if text.isdecimal() else float(text)
