"""What a text about a grid mentions, in order: a kernel that reads cells and writes numbers.

Each number stands for some words and for what separates them from those before (see `words`): a
thing and where it is, a group of equal rows, a span of columns. So a text is a sequence of words
that are cached already, and even a scene that has not occurred before is cheap to write.
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
"""The smallest number of cells of a kind that are summed up instead of named one by one."""
IS_AHEAD, NOTHING, THING, KIND, ROWS, ACROSS, BOTH_SIDES, COLUMNS, END, STOP = range(10)
"""What is mentioned. The two numbers that go with a mention are, for a thing, how far it is up and
aside; for rows, the lowest and the highest; for columns, the first and the last; for an end, the
steps to it and the side."""
NO_LEAD, FIRST_THING, NEXT, THEN, LAST, FIRST_END = range(6)
"""What separates a mention from the one before it."""
CENTRE: Final = 128
"""Added to numbers that may be negative."""
SHOWN: Final = record(
    [
        ("rows", "<i4"),
        ("columns", "<i4"),
        ("window", "<i4"),  # its side, in the middle of the last rows; 0 if a whole grid is shown
        ("turned", "u1"),  # whether texts are turned to the viewer's heading
        ("things", "u1", AGENT),  # kinds of things, in the order of their words, padded with zeros
    ]
)
"""How cells are shown: what a kernel knows about a form."""
MAYBE, YES, NO, NEVER = range(4)
"""Whether a column is of a kind in some rows; bits, so that ``YES | NO`` is `NEVER`."""


def most_mentions(cells: int) -> int:
    """Return the largest number of mentions for a number of cells."""
    return 3 * cells + 16  # each cell has rows, columns, and a share of a heading and a full stop


@inline
def _mention(out, n, lead, what, code, one, two):
    """Write a mention as a number; return how many numbers there are now."""
    fields = ((np.int64(lead) << 8 | what) << 8 | code) << 8
    out[n] = (fields | one + CENTRE) << 8 | two + CENTRE
    return n + 1


@helper
def _look(cells, own, up, right, tilt, own_row, own_column, seen):
    """Copy the cells in sight into the order of the text, and turn agents accordingly.

    Args:
        cells: All cells that are shown.
        own: The index of the viewer's cell.
        up: The offset in `cells` to the cell one row further up in the text.
        right: The offset in `cells` to the cell one column further right in the text.
        tilt: Quarter turns from the text to the cells.
        own_row: The viewer's row in the text.
        own_column: The viewer's column in the text.
        seen: The codes are written here.
    """
    for row in range(len(seen)):
        for column in range(seen.shape[1]):
            place = own + (own_row - row) * up + (column - own_column) * right
            code = np.int64(cells[place])
            seen[row, column] = code & ~3 | (code - tilt) & 3 if code >= AGENT else code
    seen[own_row, own_column] = FLOOR  # texts do not mention the viewer's own cell


@helper
def _count(seen, own_row, counts, nearest):
    """Count the cells of each kind, and find how many rows away its nearest cell is.

    Returns:
        The largest number of cells of any kind of thing.
    """
    most = 0
    for row in range(len(seen)):
        for code in seen[row]:
            if code < AGENT:
                away = abs(own_row - row)
                nearest[code] = min(nearest[code], away) if counts[code] else away
                counts[code] += 1
                most = max(most, counts[code]) if code > WALL else most
    return most


@helper
def _mention_things(seen, own_row, own_column, counts, out, n):
    """Mention things one by one: the nearest first, equally near ones by rows and columns."""
    lead, (high, wide) = FIRST_THING, seen.shape
    for steps in range(high + wide):
        for row in range(max(0, own_row - steps), min(high, own_row + steps + 1)):
            aside = steps - abs(own_row - row)
            for column in range(own_column - aside, own_column + aside + 1, max(1, 2 * aside)):
                if 0 <= column < wide:
                    code = seen[row, column]
                    if code > WALL and (code >= AGENT or counts[code] < MUCH):
                        up, right = own_row - row, column - own_column
                        n = _mention(out, n, lead, THING, code, up, right)
                        lead = NEXT
    return n if lead == FIRST_THING else _mention(out, n, NO_LEAD, STOP, 0, 0, 0)


@inline
def _sign(code, kind):
    """Return whether a cell is of a kind; a thing may stand in place of a wall."""
    return YES if code == kind else MAYBE if kind == WALL and code > WALL else NO


@helper
def _group_rows(seen, own_row, kind, groups, signs):
    """Group neighbouring rows if no two of them differ in a cell that is known.

    Args:
        seen: The cells.
        own_row: The viewer's row.
        kind: The kind that is looked for.
        groups: The lowest and the highest row of each group, relative to `own_row`; written here.
        signs: What is known about the columns of each group; written here.

    Returns:
        How many groups there are.
    """
    count, going_on = 0, False
    for row in range(len(seen)):
        found, fits = False, going_on
        for column in range(seen.shape[1]):
            signs[count, column] = sign = _sign(seen[row, column], kind)
            found |= sign == YES
            fits = fits and sign | signs[count - 1, column] != NEVER
        if fits:
            for column in range(seen.shape[1]):
                signs[count - 1, column] |= signs[count, column]
            if found:
                groups[count - 1, 0] = own_row - row
        elif found:
            groups[count] = own_row - row
            count += 1
        going_on = fits or found
    return count


@inline
def _next_run(signs, column):
    """Return the first and the last column of the next run, in which no gap is known."""
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
    """Mention the columns of a group, given the viewer's column `middle`."""
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
def _mention_kind(seen, own_row, own_column, kind, groups, signs, out, n):
    """Mention where a kind is, the nearest rows first."""
    n, lead = _mention(out, n, NO_LEAD, KIND, kind, 0, 0), NO_LEAD
    count = _group_rows(seen, own_row, kind, groups, signs)
    for steps in range(len(seen)):
        for group in range(count):
            low, high = groups[group]
            if max(0, low, -high) == steps:
                n = _mention(out, n, lead, ROWS, 0, low, high)
                n = _mention_columns(signs[group], own_column, out, n)
                lead = NEXT
    return _mention(out, n, NO_LEAD, STOP, 0, 0, 0)


@helper
def _mention_ends(limits, reach, whole, out, n):
    """Mention where the grid ends, the nearest end first: ends in sight, or all of a whole grid."""
    count, told = 0, 0
    for side in range(4):
        count += whole or limits[side] < reach[side]
    for steps in range(-1, max(limits[0], limits[1], limits[2], limits[3]) + 1):  # of 0 x 0: -1
        for side in range(4):
            if limits[side] == steps and (whole or steps < reach[side]):
                lead = FIRST_END if told == 0 else THEN if told < count - 1 else LAST
                n = _mention(out, n, lead, END, 0, steps + 1, side)
                told += 1
    return _mention(out, n, NO_LEAD, STOP, 0, 0, 0) if count else n


@kernel
def find_mentions(cells, forms, out, x, y, heading, width, height):
    """Write what a text says about a scene: what is ahead, things, kinds by rows, and ends.

    Sides are numbered clockwise: those of the text and of the cells as they are shown from the top,
    those of the grid from the north.

    Args:
        cells: The codes of all cells that are shown, read-only: a window, wherever the viewer is,
            or a whole grid in an area that is at least as large as the grid.
        forms: A `SHOWN`, shape (1,).
        out: The numbers are written here, int64, shape (`most_mentions`,).
        x: The viewer's column.
        y: The viewer's row.
        heading: The viewer's heading.
        width: Columns of the grid.
        height: Rows of the grid.

    Returns:
        How many numbers were written.
    """
    form = forms[0]
    whole, window, columns = form.window == 0, np.int64(form.window), np.int64(form.columns)
    turn = heading if form.turned else 0  # from the text to the grid
    tilt = turn if whole else turn - heading  # from the text to the cells
    limits, reach, seen_to = np.empty((3, 4), np.int64)
    for side in range(4):
        limits[side] = (y, width - 1 - x, height - 1 - y, x)[(side + turn) & 3]
        reach[side] = (window - 1, window // 2, 0, window // 2)[(side + tilt) & 3]
        if whole:
            reach[side] = limits[side]
        seen_to[side] = max(0, min(limits[side], reach[side]))
    far, right, near, left = seen_to
    seen, signs = np.empty((2, far + near + 1, left + right + 1), np.uint8)
    own = y * columns + x if whole else (np.int64(form.rows) - 1) * columns + columns // 2
    steps = (-columns, 1, columns, -1)
    _look(cells, own, steps[tilt & 3], steps[(tilt + 1) & 3], tilt, far, left, seen)
    ahead = (heading - turn) & 3
    code = np.int64(OUTSIDE)
    if limits[ahead] > 0 or not whole:
        code = np.int64(cells[own + steps[(ahead + tilt) & 3]])
    n = start = _mention(out, 0, NO_LEAD, IS_AHEAD, code, heading, 0)
    groups = np.empty((len(seen), 2), np.int64)
    counts, nearest = np.zeros((2, AGENT), np.int64)
    most = _count(seen, far, counts, nearest)
    n = _mention_things(seen, far, left, counts, out, n)
    if most >= MUCH:
        for rows in range(len(seen)):
            for thing in form.things:
                kind = np.int64(thing)
                if kind > 0 and counts[kind] >= MUCH and nearest[kind] == rows:
                    n = _mention_kind(seen, far, left, kind, groups, signs, out, n)
    for kind in (np.int64(WALL), np.int64(UNSEEN)):
        if counts[kind]:
            n = _mention_kind(seen, far, left, kind, groups, signs, out, n)
    if n == start:
        n = _mention(out, n, NO_LEAD, NOTHING, 0, 0, 0)
    return _mention_ends(limits, reach, whole, out, n)
