"""Runs in other formats: CSV, Parquet, HDF5, SQLite, Minari, and JSON Lines in other dialects."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from piase_gym.agents.llm.prompt import Prompt
from piase_gym.errors import ConfigError, RunError, require_known
from piase_gym.runs.agent_lines import ONLY_FULL, goal_prefix, step_events
from piase_gym.runs.chat_export import check_prompt, transcripts
from piase_gym.runs.json_values import encode
from piase_gym.runs.log_file import has_columns
from piase_gym.runs.reader import Run, damaged, read
from piase_gym.runs.row_files import WRITERS, Row, to_jsonl
from piase_gym.runs.schema import (
    EVENT_TYPES,
    FIELDS,
    LINE_DAMAGE,
    MORE_FIELDS,
    Event,
    component_id,
    kind_of,
)
from piase_gym.runs.sinks import output_file

DIALECTS = ("native", "legacy")
TIMESTAMPS = ("iso", "epoch")
COLUMNS = (*FIELDS, *MORE_FIELDS)
ENDINGS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".sqlite": "sqlite",
    ".db": "sqlite",
    ".jsonl": "jsonl",
}
PACKED = (".gz", ".zst")
"""The endings that compressed JSON Lines add to ``.jsonl``."""


def export(
    path: str | os.PathLike[str] | Run,
    out: str | os.PathLike[str],
    *,
    format: str | None = None,  # the word that users know
    dialect: str = "native",
    timestamps: str = "iso",
    expand: bool = False,
    overwrite: bool = False,
    prompt: Prompt | None = None,
) -> Path | list[str]:
    """Write a run in another format.

    Args:
        path: The log, or a `Run` that `read` returned.
        out: The output file; for Minari, the first part of the dataset names.
        format: ``"csv"``, ``"parquet"``, ``"hdf5"``, ``"sqlite"``, ``"jsonl"``, ``"chat"``
            (what agents read and answered, see `chat_export`) or ``"minari"``; by default it
            follows from the ending of `out`.
        dialect: ``"legacy"`` adds `source` and `data`, which older PiaAVT readers look for.
        timestamps: ``"epoch"`` writes seconds as floats, which two PiaAVT analyses subtract.
        expand: Whether each step line is followed by the per-agent lines that it stands for.
        overwrite: Whether an existing file may be overwritten.
        prompt: For chats: how the players are prompted; default the world's own texts.

    Returns:
        The file; for Minari, the ids of the datasets, one per agent.

    Raises:
        ConfigError: If an argument is not allowed.
        LogWriteError: If the file exists or cannot be written; what was there is kept.
        MissingExtraError: If a library is not installed.
    """
    run = path if isinstance(path, Run) else read(path)
    place = Path(out)
    kind = format_of(place, format)
    check_prompt(prompt, kind)
    require_known("dialect", dialect, DIALECTS)
    require_known("timestamps", timestamps, TIMESTAMPS)
    if kind in ("minari", "chat") and (dialect, timestamps, expand) != ("native", "iso", False):
        raise ConfigError(f"dialect, timestamps and expand are about lines; {kind} has none")
    if kind == "minari":
        from piase_gym.runs.minari_export import to_minari

        return to_minari(run, os.fspath(out), overwrite)
    with output_file(place, run.path, overwrite) as new:
        if kind == "chat":
            to_jsonl(transcripts(run, prompt), new)
        else:
            rows = _rows(run, dialect, timestamps, expand)
            WRITERS[kind](rows if kind == "jsonl" else _cells(run, rows), new)
    return place


def format_of(place: Path, format: str | None) -> str:
    """Return the format that is named, or else follows from the ending of a file.

    Raises:
        ConfigError: If there is no such format, or the file's ending does not go with it.
    """
    packed = place.suffix in PACKED
    kind = format or ENDINGS.get(Path(place.stem).suffix if packed else place.suffix)
    known = [*WRITERS, "minari", "chat"]
    if kind is None:
        endings = f"allowed: {', '.join(ENDINGS)}; or name a format: {', '.join(known)}"
        raise ConfigError(f"the ending of {place.name!r} is unknown; {endings}")
    require_known("format", kind, known)
    if packed and kind not in ("jsonl", "chat", "minari"):
        raise ConfigError(f"{place}: only JSON Lines are written as {place.suffix}")
    return kind


def _rows(run: Run, dialect: str, timestamps: str, expand: bool) -> Iterator[Row]:
    """Yield events in a dialect."""
    for event in expanded(run) if expand else run:
        if timestamps == "epoch":
            try:
                event = {**event, "timestamp": epoch(event["timestamp"])}
            except ValueError as error:
                raise RunError(f"{run.path}: event {event['event_id']}: {error}") from None
        if dialect == "legacy":
            old = {"source": event["source_component_id"], "data": event["event_data"]}
            event = {**event, **old}
        yield event


def _cells(run: Run, rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows with the same columns in all: numbers, texts, and anything else as JSON.

    Fields that somebody added to some of the lines have columns too.
    """
    first = next(rows)  # the manifest
    names = dict.fromkeys(first)
    if not has_columns(run.path):
        names |= dict.fromkeys(itertools.chain.from_iterable(run))
    for row in itertools.chain((first,), rows):
        yield {name: _cell(name, row.get(name)) for name in names}


def _cell(name: str, value: Any) -> Any:
    """Return a value as it stands in a table."""
    number = name in COLUMNS and isinstance(value, int | float)
    return value if number or isinstance(value, str | None) else encode(value)


def epoch(timestamp: str) -> float:
    """Return a timestamp in UTC as seconds since 1970."""
    time = datetime.strptime(timestamp, "%Y-%m-%dT%H:%M:%S.%fZ")
    return time.replace(tzinfo=UTC).timestamp()


def expanded(run: Run) -> Iterator[Event]:
    """Yield all events, each step followed by the per-agent lines that it stands for.

    Lines that the log already has, because of its level, stay as they are, with their ids. The id
    of a generated line is that of its step line, a dot, and the line's number within the step.
    """
    made: list[Event] = []
    for number, event in run.numbered():
        here = next((i for i, one in enumerate(made) if _same(one, event)), len(made))
        yield from made[:here]
        if here < len(made):  # the log has this one, and those after it may follow
            made = made[here + 1 :]
            yield event
            continue
        made = []
        yield event
        if kind_of(event["event_type"], event["event_data"]) == "step":
            try:
                made = list(_singles(run, event))
            except LINE_DAMAGE as error:
                raise damaged(run.path, number, error) from error
    yield from made


def _same(made: Event, logged: Event) -> bool:
    """Return whether a generated line and a logged one say the same, whatever their ids.

    At level ``full``, the logged one says more.
    """
    data = {k: v for k, v in logged["event_data"].items() if k not in ONLY_FULL}
    names = ("step", "agent_id", "event_type")
    return data == made["event_data"] and all(made[name] == logged[name] for name in names)


def _singles(run: Run, event: Event) -> Iterator[Event]:
    """Yield the per-agent lines that a step line stands for."""
    manifest = run.manifest
    prefix = goal_prefix(run.run_id, manifest["schema_version"])
    singles = step_events(event["event_data"], event["episode"], manifest["actions"], prefix)
    for place, (agent, kind, part) in enumerate(singles, 1):
        usual = EVENT_TYPES[kind]
        yield {
            **event,
            "event_id": f"{event['event_id']}.{place}",
            "agent_id": agent,
            "event_type": kind,
            "source_component_id": component_id(usual.component, manifest["world"], agent),
            "source_type": usual.source_type,
            "log_level": usual.log_level,
            "event_data": part,
        }
