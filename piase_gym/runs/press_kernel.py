"""The compiled part of `piase_gym.runs.press`: step lines of many environments as bytes."""

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, kernel, load, load64, store, store64
from piase_gym.runs.press import SPARE

PIECES = 13
"""Pieces that all lines share; then come the agents' names, then the outcomes."""
START, RUN, HEAD, EPISODE, COMMANDS, OUTCOMES, REWARDS, TERMINATED, TRUNCATED, DIGEST, SLOT, END = (
    range(12)
)
FALSE = 12
DONE, SECOND, REWARD, FULL = range(4)
"""Why the kernel returned: all done; another second; a reward without a text; no more room."""
_MILLION = 1_000_000


@helper
def put(out, at, pool, start, stop):  # type: ignore[no-untyped-def]
    """Copy ``pool[start:stop]``; both arrays have `SPARE` bytes to spare."""
    place, shift = start, at - start
    while place < stop:
        first, second = load64(pool, place), load64(pool, place + 8)
        third, fourth = load64(pool, place + 16), load64(pool, place + 24)
        store64(out, place + shift, first)
        store64(out, place + shift + 8, second)
        store64(out, place + shift + 16, third)
        store64(out, place + shift + 24, fourth)
        place += SPARE
    return stop + shift


@helper
def put_number(out, at, value):  # type: ignore[no-untyped-def]
    """Write a number that is not negative."""
    count, rest = 1, value
    while rest >= 10:
        rest //= 10
        count += 1
    rest = value
    for place in range(at + count - 1, at - 1, -1):
        store(out, place, 48 + rest % 10)
        rest //= 10
    return at + count


@helper
def put_micros(out, at, value):  # type: ignore[no-untyped-def]
    """Write the microseconds of a second, six digits."""
    for place in range(at + 5, at - 1, -1):
        store(out, place, 48 + value % 10)
        value //= 10
    return at + 6


@helper
def put_piece(out, at, pool, offsets, piece):  # type: ignore[no-untyped-def]
    """Copy one of the pieces in a pool."""
    return put(out, at, pool, offsets[piece], offsets[piece + 1])


@helper
def put_hex(out, at, value):  # type: ignore[no-untyped-def]
    """Write 64 bits as sixteen hexadecimal digits."""
    for place in range(16):
        digit = np.int64((value >> np.uint64(60 - 4 * place)) & np.uint64(15))
        store(out, at + place, digit + (48 if digit < 10 else 87))
    return at + 16


@helper
def find(known, count, bits):  # type: ignore[no-untyped-def]
    """Return where a reward is among those whose text is known, or -1."""
    for place in range(count):
        if known[place] == bits:
            return place
    return -1


@kernel
def press(  # type: ignore[no-untyped-def]
    out, pool, offsets, known, texts, text_offsets, numbers, clocks, steps, episodes, slots, acts,
    codes, rewards, alive, digests, result,
):  # fmt: skip
    """Write lines until there is a reason to stop.

    Args:
        out: Where they go, uint8.
        pool: The pieces, uint8; piece i is ``pool[offsets[i]:offsets[i + 1]]``.
        offsets: See `pool`.
        known: The bits of rewards whose texts are in `texts`, int64.
        texts: Texts of rewards, uint8, by `text_offsets`.
        text_offsets: See `texts`.
        numbers: int64: the first row, number of the first line, the present second, the number of
            known rewards, whether lines have a slot.
        clocks: Microseconds since 1970, int64, shape (rows,).
        steps: int64, shape (rows,).
        episodes: int64, shape (rows,).
        slots: int64, shape (rows,).
        acts: int64, shape (rows, agents).
        codes: int64, shape (rows, agents).
        rewards: Their bits, int64, shape (rows, agents).
        alive: bool, shape (rows, agents).
        digests: uint64, shape (rows,).
        result: int64; set to the next row, the bytes written, why it stopped, and the reward.
    """
    rows, agents = acts.shape
    row, line, second, rewards_known, slotted = numbers
    at, reason = 0, DONE
    names, said = PIECES, PIECES + agents
    room = len(out) - SPARE - offsets[-1] * 6
    while row < rows:
        micro = clocks[row] - second * _MILLION
        if micro < 0 or micro >= _MILLION:
            reason = SECOND
            break
        if at >= room:
            reason = FULL
            break
        start = at
        at = put(out, at, pool, offsets[START], offsets[START + 1])
        at = put_micros(out, at, micro)
        at = put(out, at, pool, offsets[RUN], offsets[RUN + 1])
        at = put_number(out, at, line)
        at = put(out, at, pool, offsets[HEAD], offsets[HEAD + 1])
        at = put_number(out, at, steps[row])
        at = put(out, at, pool, offsets[EPISODE], offsets[EPISODE + 1])
        at = put_number(out, at, episodes[row])
        for part in range(5):
            at = put(out, at, pool, offsets[COMMANDS + part], offsets[COMMANDS + part + 1])
            first = True
            for agent in range(agents):
                if not alive[row, agent]:
                    continue
                if not first:
                    store(out, at, 44)
                    at += 1
                first = False
                at = put(out, at, pool, offsets[names + agent], offsets[names + agent + 1])
                if part == 0:
                    at = put_number(out, at, acts[row, agent])
                elif part == 1:
                    piece = said + codes[row, agent]
                    at = put(out, at, pool, offsets[piece], offsets[piece + 1])
                elif part == 2:
                    place = find(known, rewards_known, rewards[row, agent])
                    if place < 0:
                        reason = REWARD
                        result[3] = rewards[row, agent]
                        break
                    at = put(out, at, texts, text_offsets[place], text_offsets[place + 1])
                else:
                    at = put(out, at, pool, offsets[FALSE], offsets[FALSE + 1])
            if reason == REWARD:
                break
        if reason == REWARD:
            at = start
            break
        at = put(out, at, pool, offsets[DIGEST], offsets[DIGEST + 1])
        at = put_hex(out, at, digests[row])
        if slotted:
            at = put(out, at, pool, offsets[SLOT], offsets[SLOT + 1])
            at = put_number(out, at, slots[row])
            at = put(out, at, pool, offsets[END] + 1, offsets[END + 1])
        else:
            at = put(out, at, pool, offsets[END], offsets[END + 1])
        row += 1
        line += 1
    result[0], result[1], result[2] = row, at, reason


RECORD = 4
"""Pieces of lines about records that are not of single agents: see `press_records`."""


@kernel
def press_records(  # type: ignore[no-untyped-def]
    out, pool, offsets, known, texts, text_offsets, numbers, records, playing, result,
):  # fmt: skip
    """Write lines about the records of one environment until there is a reason to stop.

    Args:
        out: Where they go, uint8.
        pool: The pieces, uint8: the second; what follows the microseconds; what comes before the
            step; what comes before the episode; for each agent in play what comes before its
            command, its outcome and its reward; what comes before the digest; the end; outcomes.
        offsets: Piece i is ``pool[offsets[i]:offsets[i + 1]]``.
        known: See `press`.
        texts: See `press`.
        text_offsets: See `press`.
        numbers: int64: the first row, number of the first line, the present second, the number of
            known rewards, the row to stop at, bytes a row, agents in a row, the step before the
            first row, the episode, what is to be added to clocks.
        records: uint8: of each row the clock in nanoseconds (int64), the digest (uint64), the
            rewards of all agents (float64), their acts (int32) and their outcomes (uint8), filled
            up to whole numbers of eight bytes, so that eight from any act on are in the row.
        playing: int64, the numbers of the agents in play.
        result: See `press`.
    """
    row, line, second, rewards_known, rows, size, agents, before, episode, clock = numbers
    count = len(playing)
    rewards, acts, codes = 16, 16 + 8 * agents, 16 + 12 * agents
    at, reason, missing = 0, DONE, np.int64(0)
    last = RECORD + 3 * count
    room = len(out) - SPARE - 2 * offsets[-1] - 64 * (count + 1)
    while row < rows:
        first = row * size
        micro = (np.int64(load64(records, first)) + clock) // 1000 - second * _MILLION
        if micro < 0 or micro >= _MILLION:
            reason = SECOND
            break
        if at >= room:
            reason = FULL
            break
        start = at
        at = put_piece(out, at, pool, offsets, 0)
        at = put_micros(out, at, micro)
        at = put_piece(out, at, pool, offsets, 1)
        at = put_number(out, at, line)
        at = put_piece(out, at, pool, offsets, 2)
        at = put_number(out, at, before + 1 + row)
        at = put_piece(out, at, pool, offsets, 3)
        at = put_number(out, at, episode)
        for place in range(count):
            at = put_piece(out, at, pool, offsets, RECORD + place)
            word = load64(records, first + acts + 4 * playing[place])
            at = put_number(out, at, np.int64(word & np.uint64(0xFFFFFFFF)))
        for place in range(count):
            at = put_piece(out, at, pool, offsets, RECORD + count + place)
            code = np.int64(load(records, first + codes + playing[place]))
            at = put_piece(out, at, pool, offsets, last + 2 + code)
        for place in range(count):
            at = put_piece(out, at, pool, offsets, RECORD + 2 * count + place)
            bits = np.int64(load64(records, first + rewards + 8 * playing[place]))
            found = find(known, rewards_known, bits)
            if found < 0:
                reason, missing = REWARD, bits
                break
            at = put_piece(out, at, texts, text_offsets, found)
        if reason == REWARD:
            at = start
            break
        at = put_piece(out, at, pool, offsets, last)
        at = put_hex(out, at, load64(records, first + 8))
        at = put_piece(out, at, pool, offsets, last + 1)
        row += 1
        line += 1
    result[0], result[1], result[2], result[3] = row, at, reason, missing


@kernel
def add_up(numbers, size, totals):  # type: ignore[no-untyped-def]
    """Add rewards one after the other, as `piase_gym.runs.episode_record.add_up` does.

    Args:
        numbers: Records, see `press_records`, as float64.
        size: How many of these numbers a record has.
        totals: Sums so far, to be changed, float64, shape (agents,).
    """
    for start in range(2, len(numbers), size):
        for agent in range(len(totals)):
            totals[agent] += numbers[start + agent]
