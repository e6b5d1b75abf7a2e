"""What a text about a grid mentions, in its order: a kernel that reads cells and writes numbers.

Each number stands for some words and for what parts them from those before (see `words`): a thing
and where it is, the rows of equal rows, a span of columns. So a text is a row of words that are
known already, and no scene has to be met twice to be cheap.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Final

import numpy as np

from piase_gym.compiled.decorators import helper, inline, kernel
from piase_gym.compiled.memory import record
from piase_gym.worlds.grids.codes import AGENT, FLOOR, OUTSIDE, UNSEEN, WALL

MUCH: Final = 4
"""From so many cells of a kind on they are summed up."""
IS_AHEAD, NOTHING, THING, KIND, ROWS, ACROSS, BOTH_SIDES, COLUMNS, STOP = range(9)
"""What is mentioned. Of the two numbers that go with it, a thing has how far it is up and aside,
rows have the lowest and the highest, columns the first and the last."""
NO_LEAD, FIRST_THING, NEXT, THEN, LAST = range(5)
"""What stands before it."""
CENTRE: Final = 128
"""Added to numbers that may be negative."""
SIGHT: Final = record(
    [
        ("heading", "<i4"),
        ("ahead", "<i4"),  # the number of the cell ahead among those that are shown, or -1
        ("own", "<i4"),  # that of the viewer's cell, which is in `own_row` and `own_column`
        ("right", "<i4"),  # added to go to the next column of the text, and to the next row
        ("down", "<i4"),
        ("high", "<i4"),  # how many rows there are
        ("wide", "<i4"),  # and columns
        ("own_row", "<i4"),
        ("own_column", "<i4"),
        ("turn", "<i4"),  # quarters by which what is shown was turned, clockwise
        ("things", "u1", AGENT),  # their kinds, in the order of the words for them, and zeros
    ]
)
"""What can be seen from a place, in the frame of the text, its rows from the top."""
MAYBE, YES, NO, NEVER = range(4)
"""Whether a column is of a kind in some rows; bits, so that ``YES | NO`` is `NEVER`."""


def most_mentions(cells: int) -> int:
    """Return how many numbers there can be for so many cells."""
    return 3 * cells + 8  # each has rows, columns, and a share of a heading and a full stop


@inline
def _mention(out, n, lead, what, code, one, two):
    """Write a number; return how many there are."""
    fields = ((np.int64(lead) << 8 | what) << 8 | code) << 8
    out[n] = (fields | one + CENTRE) << 8 | two + CENTRE
    return n + 1


@helper
def _cells_in_sight(x, cells, seen):
    """Copy the cells as the text has them: those inside of the grid, agents turned too."""
    for row in range(x.high):
        for column in range(x.wide):
            down, right = row - x.own_row, column - x.own_column
            code = np.int64(cells[x.own + down * x.down + right * x.right])
            if code >= AGENT:
                code = code & ~3 | code + x.turn & 3
            seen[row, column] = code
    seen[x.own_row, x.own_column] = FLOOR  # of their own cells texts say nothing


@helper
def _count(seen, x, counts, nearest):
    """Count the cells of each kind, and how many rows away its nearest one is."""
    nearest[:] = x.high
    for row in range(x.high):
        for column in range(x.wide):
            code = seen[row, column]
            if code < AGENT:
                counts[code] += 1
                nearest[code] = min(nearest[code], abs(x.own_row - row))


@helper
def _mention_things(x, seen, counts, out, n):
    """Mention things one by one: the nearest first, those as near by rows and columns."""
    lead = FIRST_THING
    for steps in range(x.high + x.wide):
        for row in range(max(0, x.own_row - steps), min(x.high, x.own_row + steps + 1)):
            up = x.own_row - row
            aside = steps - abs(up)
            for column in range(x.own_column - aside, x.own_column + aside + 1, max(1, 2 * aside)):
                if 0 <= column < x.wide:
                    code = seen[row, column]
                    if code > WALL and (code >= AGENT or counts[code] < MUCH):
                        n = _mention(out, n, lead, THING, code, up, column - x.own_column)
                        lead = NEXT
    return n if lead == FIRST_THING else _mention(out, n, NO_LEAD, STOP, 0, 0, 0)


@inline
def _sign(code, kind):
    """Tell whether a cell is of a kind; a thing may stand where a wall is."""
    return YES if code == kind else MAYBE if kind == WALL and code > WALL else NO


@helper
def _group_rows(x, seen, kind, groups, signs):
    """Put neighbouring rows together of which no two differ in a cell that is known.

    Args:
        x: See `SIGHT`.
        seen: The cells.
        kind: What is looked for.
        groups: The lowest and the highest row of each, counted from the viewer's, is written here.
        signs: What is known of the columns of each.

    Returns:
        How many groups there are.
    """
    count, going_on = 0, False
    for row in range(x.high):
        found, fits = False, going_on
        for column in range(x.wide):
            signs[count, column] = sign = _sign(seen[row, column], kind)
            found |= sign == YES
            fits = fits and sign | signs[count - 1, column] != NEVER
        if fits:
            signs[count - 1] |= signs[count]
            if found:
                groups[count - 1, 0] = x.own_row - row
        elif found:
            groups[count] = x.own_row - row
            count += 1
        going_on = fits or found
    return count


@inline
def _next_run(signs, column):
    """Return the first and the last column of a run, which has no gap that is known."""
    first = column
    while first < len(signs) and signs[first] != YES:
        first += 1
    last = column = first
    while column < len(signs) and signs[column] != NO:
        last = column if signs[column] == YES else last
        column += 1
    return first, last


@helper
def _mention_columns(signs, middle, out, n):
    """Mention the columns of a group, given the viewer's."""
    wide, sure, gaps = len(signs), 0, 0
    for sign in signs:
        sure += sign == YES
        gaps += sign == NO
    beside = 0 < middle < wide - 1 and signs[middle - 1] == signs[middle + 1] == YES
    if sure == 2 and beside and signs[middle] == NO:
        return _mention(out, n, THEN, BOTH_SIDES, 0, 0, 0)
    if sure > 1 and not gaps:
        return _mention(out, n, THEN, ACROSS, 0, 0, 0)
    start = n
    first, last = _next_run(signs, 0)
    while first < wide:
        following = _next_run(signs, last + 1)
        lead = THEN if n == start or following[0] < wide else LAST
        n = _mention(out, n, lead, COLUMNS, 0, first - middle, last - middle)
        first, last = following
    return n


@helper
def _mention_kind(x, seen, kind, groups, signs, out, n):
    """Mention where a kind is, the nearest rows first."""
    n, lead = _mention(out, n, NO_LEAD, KIND, kind, 0, 0), NO_LEAD
    count = _group_rows(x, seen, kind, groups, signs)
    for steps in range(x.high):
        for group in range(count):
            low, high = groups[group]
            if max(0, low, -high) == steps:
                n = _mention(out, n, lead, ROWS, 0, low, high)
                n = _mention_columns(signs[group], x.own_column, out, n)
                lead = NEXT
    return _mention(out, n, NO_LEAD, STOP, 0, 0, 0)


@kernel
def find_mentions(cells, sights, out):
    """Write what is to be said of a scene: what is ahead, things, and kinds by rows.

    Args:
        cells: The codes of all cells that are shown, and whatever is behind them; read-only.
        sights: A `SIGHT`, shape (1,).
        out: The numbers are written here, int64, shape (`most_mentions`,).

    Returns:
        How many there are.
    """
    x = sights[0]
    seen, signs = np.empty((2, x.high, x.wide), np.uint8)
    groups = np.empty((x.high, 2), np.int64)
    counts, nearest = np.zeros((2, AGENT), np.int64)
    _cells_in_sight(x, cells, seen)
    _count(seen, x, counts, nearest)
    code = OUTSIDE if x.ahead < 0 else np.int64(cells[x.ahead])
    n = start = _mention(out, 0, NO_LEAD, IS_AHEAD, code, x.heading, 0)
    n = _mention_things(x, seen, counts, out, n)
    if counts[WALL + 1 :].max() >= MUCH:
        for rows in range(x.high):
            for kind in x.things:
                if kind > 0 and counts[kind] >= MUCH and nearest[kind] == rows:
                    n = _mention_kind(x, seen, kind, groups, signs, out, n)
    for kind in (WALL, UNSEEN):
        if counts[kind]:
            n = _mention_kind(x, seen, kind, groups, signs, out, n)
    return n if n > start else _mention(out, n, NO_LEAD, NOTHING, 0, 0, 0)
