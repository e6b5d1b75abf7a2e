"""Runs as tables: pandas, DuckDB views, SQL metrics. Imports nothing heavy before it is needed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from piase_gym.errors import ConfigError, RunError, need
from piase_gym.runs.log_file import is_plain
from piase_gym.runs.schema import FIELDS, MORE_FIELDS, Event

if TYPE_CHECKING:
    from piase_gym.runs.windows import View

_TYPES = {"step": "BIGINT", "episode": "BIGINT", "event_data": "JSON"}
COLUMNS = {name: _TYPES.get(name, "VARCHAR") for name in (*FIELDS, *MORE_FIELDS)}


def to_pandas(events: Iterable[Event]) -> Any:
    """Return events as a DataFrame with one column per field."""
    pandas = need("pandas", "a table of events", "bench")
    frame = pandas.DataFrame(list(events), columns=[*COLUMNS])
    try:
        frame["timestamp"] = pandas.to_datetime(frame["timestamp"], utc=True, format="ISO8601")
    except ValueError as error:
        raise RunError(f"a timestamp is damaged: {str(error).splitlines()[0]}") from None
    return frame


def duckdb_views(path: Path, lines: Iterable[bytes]) -> Any:
    """Return a connection with the views ``events`` and ``steps`` over a log.

    Args:
        path: The log; if it is plain JSONL, the views are over the file.
        lines: Its lines, which are read into a table if it is compressed or in columns.
    """
    duckdb = need("duckdb", "SQL over a log")
    connection = duckdb.connect()
    fields = ", ".join(f"{name}: '{kind}'" for name, kind in COLUMNS.items())
    plain, place = is_plain(path), path.resolve()
    with tempfile.TemporaryDirectory() as folder:
        if not plain:
            place = Path(folder) / "run.jsonl"
            with place.open("wb") as file:
                file.writelines(line + b"\n" for line in lines)
        pattern = re.sub(r"([*?[])", r"[\1]", str(place)).replace("'", "''")
        connection.execute(
            f"CREATE {'VIEW' if plain else 'TABLE'} events AS SELECT * FROM read_json('{pattern}',"
            f" format='newline_delimited', columns={{{fields}}}, ignore_errors=true,"
            " compression='uncompressed', hive_partitioning=false, maximum_object_size=67108864)"
            " WHERE COLUMNS(*) IS NOT NULL AND json_type(event_data) = 'OBJECT'"
        )
    connection.execute(_STEPS_VIEW)
    return connection


_STEPS_VIEW = """
CREATE VIEW steps AS
WITH lines AS (
    SELECT step, episode, event_data AS d, unnest(json_keys(event_data, '$.commands')) AS agent_id
    FROM events
    -- In parentheses, because ->> binds less than AND before DuckDB 2.0.
    WHERE event_type = 'ENVIRONMENT_EVENT_OCCURRED' AND (event_data->>'kind') = 'step'
)
SELECT step, episode, agent_id,
    json_extract(d, '$.commands."' || agent_id || '"') AS command,
    json_extract_string(d, '$.outcomes."' || agent_id || '"') AS outcome,
    CAST(json_extract(d, '$.rewards."' || agent_id || '"') AS DOUBLE) AS reward,
    CAST(json_extract(d, '$.terminated."' || agent_id || '"') AS BOOLEAN) AS terminated,
    CAST(json_extract(d, '$.truncated."' || agent_id || '"') AS BOOLEAN) AS truncated
FROM lines
"""


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Tell what DuckDB has against a query.

    Raises:
        ConfigError: If the query fails.
    """
    duckdb = need("duckdb", "SQL over a log")
    try:
        yield
    except duckdb.Error as error:
        raise ConfigError(f"the {what} fails: {error}") from None


def sql_metric(query: str) -> Callable[[View], Any]:
    """Return a metric that runs a query over the tables of a view."""

    def compute(view: View) -> Any:
        duckdb = need("duckdb", "a metric in SQL")
        with closing(duckdb.connect()) as connection:
            for name, table in _tables(view).items():
                connection.register(name, table)
            given = {"agent": view.agent} if "$agent" in query else None
            with explained("metric's query"):
                row = connection.execute(query, given).fetchone()
            return None if row is None else row[0]

    return compute


_EPISODE = "agent result episode slot attempt seed start end length messages hints total".split()
_STEP = "step episode slot attempt messages outcome reward".split()
_REAL = ("total", "reward")


def _tables(view: View) -> dict[str, Any]:
    """Return the episodes, steps and events of a view as Arrow tables."""
    arrow = need("pyarrow", "a metric in SQL")
    whole = "step episode slot attempt seed start end length messages hints".split()
    kinds = dict.fromkeys(whole, arrow.int64()) | dict.fromkeys(_REAL, arrow.float64())

    def table(names: Iterable[str], rows: list[dict[str, Any]]) -> Any:
        schema = arrow.schema([(name, kinds.get(name, arrow.string())) for name in names])
        return arrow.Table.from_pylist(rows, schema=schema)

    lines = [
        {**line, "event_data": orjson.dumps(line["event_data"]).decode()} for line in view.lines()
    ]
    return {
        "episodes": table(_EPISODE, [vars(row) for row in view.episodes]),
        "steps": table(_STEP, [step._asdict() for step in view.steps]),
        "events": table(COLUMNS, lines),
    }
