"""SqlQuery's picture: the tables as boxes, and each agent's last query with its result."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.text_encoding import escape
from piase_gym.worlds.drawing import COLOURS, GRID, INK, PAPER, WHITE, font, mix
from piase_gym.worlds.sql_query.levels.dataset import Table
from piase_gym.worlds.sql_query.observe.text import answer_of
from piase_gym.worlds.sql_query.rules.engine import Result
from piase_gym.worlds.sql_query.state import Setting, SqlState

WIDTH, LINE, MARGIN, BOX = 860, 18, 16, 195
"""In pixels: the picture's width, a line's height, the margin, a table's width."""
MOST_TABLES, MOST_COLUMNS, MOST_ROWS = 8, 7, 6


def _lines(result: Result | None) -> list[str]:
    """Return a result as lines."""
    if result is None:
        return ["-"]
    answer = answer_of(result)
    if answer.error is not None:
        return [f"{answer.reason}: {answer.error}"]
    lines = [" | ".join(answer.columns) or f"{answer.changed} rows changed"]
    lines += [" | ".join(row) for row in answer.rows[:MOST_ROWS]]
    more = answer.height - len(answer.rows[:MOST_ROWS])
    return [*lines, f"and {more} more"] if more > 0 else lines


def _told(state: SqlState, agent: int) -> str:
    asked = state.asked[agent]
    return "nothing asked yet" if asked is None else asked.sql


def ansi(
    setting: Setting, state: SqlState, results: Sequence[Result | None], agents: Sequence[str]
) -> str:
    """Write question, tables, queries and results."""
    task, database, _ = setting
    lines = [f"Question: {escape(task.question)}   turn {state.t}"]
    for table in database.schema:
        columns = ", ".join(column.name for column in table.columns)
        lines.append(escape(f"{table.name:<20} {columns}"))
    for k, name in enumerate(agents):
        if state.status[k] != "none":
            lines.append(escape(f"{name}> {' '.join(_told(state, k).split())}"[:300]))
            lines += [escape(f"    {line}") for line in _lines(results[k])]
    return "\n".join(lines)


def rgb(
    setting: Setting, state: SqlState, results: Sequence[Result | None], agents: Sequence[str]
) -> NDArray[np.uint8]:
    """Draw the tables as boxes, and below them the last queries with their results."""
    from PIL import Image, ImageDraw

    task, database, _ = setting
    asked = textwrap.wrap(escape(task.question), 96)[:3]
    tables = database.schema[:MOST_TABLES]
    rows = -(-len(tables) // 4)
    high = LINE * (2 + min(MOST_COLUMNS + 1, max(len(table.columns) for table in tables)))
    here = [k for k in range(len(agents)) if state.status[k] != "none"]
    part = LINE * (MOST_ROWS + 5)
    top = MARGIN + LINE * (len(asked) + 1)
    size = (WIDTH, top + rows * (high + MARGIN) + len(here) * (part + MARGIN))
    image = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(image)
    for k, line in enumerate(asked):
        pen.text((MARGIN, MARGIN + LINE * k), line, INK, font(16))
    pen.text((WIDTH - 80, MARGIN), f"turn {state.t}", INK, font(14))
    for k, table in enumerate(tables):
        left = MARGIN + k % 4 * (BOX + MARGIN)
        _draw_table(pen, table, left, top + k // 4 * (high + MARGIN), high)
    top += rows * (high + MARGIN)
    for k in here:
        _draw_query(pen, agents[k], k, _told(state, k), results[k], (top, top + part))
        top += part + MARGIN
    return np.array(image, np.uint8)


def _draw_table(pen: Any, table: Table, left: int, top: int, high: int) -> None:
    """Draw one table: its name, and a line for each column."""
    pen.rounded_rectangle((left, top, left + BOX, top + high), 8, WHITE, mix(INK, PAPER, 0.5))
    pen.text((left + 10, top + 6), escape(table.name)[:24], INK, font(15))
    links = {link.column: f" > {link.table}" for link in table.references}
    for k, column in enumerate(table.columns):
        if k == MOST_COLUMNS and len(table.columns) > MOST_COLUMNS + 1:
            text = f"and {len(table.columns) - k} more"
        else:
            text = f"{column.name}{' (key)' if column.key else ''}{links.get(column.name, '')}"
        place = (left + 16, top + LINE * (k + 1) + 10)
        pen.text(place, escape(text)[:28], mix(INK, PAPER, 0.25), font(13))
        if k > MOST_COLUMNS - 1:
            break


def _draw_query(
    pen: Any, name: str, agent: int, sql: str, result: Result | None, ends: tuple[int, int]
) -> None:
    """Draw what an agent asked, and the result."""
    top, bottom = ends
    colour = COLOURS[agent % len(COLOURS)]
    failed = result is not None and result.reason is not None
    box = (MARGIN, top, WIDTH - MARGIN, bottom - 2)
    pen.rounded_rectangle(box, 8, GRID if failed else WHITE, mix(INK, PAPER, 0.5))
    pen.ellipse((MARGIN + 10, top + 8, MARGIN + 22, top + 20), colour)
    pen.text((MARGIN + 30, top + 6), name, INK, font(13))
    for k, line in enumerate(textwrap.wrap(escape(" ".join(sql.split())), 104)[:2]):
        pen.text((MARGIN + 110, top + 6 + LINE * k), line, INK, font(13))
    for k, line in enumerate(_lines(result)):
        place = (MARGIN + 30, top + LINE * (k + 2) + 6)
        pen.text(place, escape(line)[:110], mix(INK, PAPER, 0.2), font(13))
