"""Eight by eight cells, turned to a viewer's heading in one go. Compiled, with plain twins.

The block is one vector of 64 bytes. Shuffles and blends of vectors are ordinary instructions of
LLVM, which writes them for every processor; where it has registers of 64 bytes they are single
instructions, and nowhere is there a branch that could be mispredicted. What is turned can then be
matched and partly hidden, with a bit a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from piase_gym.kernels import JIT
from piase_gym.worlds.cell_codes import AGENT, UNSEEN
from piase_gym.worlds.painted_sizes import BLOCK

CELLS = BLOCK * BLOCK
LAST = BLOCK - 1
_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_BYTES, _WORDS = ir.VectorType(_BYTE, CELLS), ir.VectorType(_WORD, BLOCK)


def _splat(builder: Any, byte: Any) -> Any:
    """Return a vector of 64 equal bytes."""
    one = builder.insert_element(ir.Constant(_BYTES, ir.Undefined), byte, ir.IntType(32)(0))
    return _shuffle(builder, one, [0] * CELLS)


def _shuffle(builder: Any, vector: Any, places: Sequence[int]) -> Any:
    """Return a vector whose byte i is that of `places[i]`."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), CELLS), list(places))
    return builder.shuffle_vector(vector, ir.Constant(_BYTES, ir.Undefined), mask)


def _load(builder: Any, data: Any, first: Any, stride: Any) -> Any:
    """Load eight rows of eight bytes."""
    words = ir.Constant(_WORDS, ir.Undefined)
    for row in range(BLOCK):
        place = builder.gep(data, [builder.add(first, builder.mul(stride, _WORD(row)))])
        word = builder.load(builder.bitcast(place, _WORD.as_pointer()))
        word.align = 1
        words = builder.insert_element(words, word, ir.IntType(32)(row))
    return builder.bitcast(words, _BYTES)


def _places(heading: int, width: int) -> list[int]:
    """Return where in a block each byte of the turned one comes from, in rows of `width` bytes."""
    found = []
    for row, column in (divmod(min(i, width * BLOCK - 1), width) for i in range(CELLS)):
        back, right = LAST - row, LAST - column
        y, x = ((row, column), (column, back), (back, right), (right, row))[heading]
        found.append(y * BLOCK + x)
    return found


def _turn(builder: Any, block: Any, heading: Any, width: int, one_step: bool) -> Any:
    """Turn a block so that `heading` (a byte, 0 to 3) is up, and close up its rows to `width`."""
    move = _permute if one_step else _choose
    found = move(builder, block, heading, [_places(turn, width) for turn in range(4)])
    headings, threes = _splat(builder, heading), _splat(builder, _BYTE(3))
    turned = builder.and_(builder.sub(found, headings), threes)  # of agents, as the viewer sees it
    turned = builder.or_(builder.and_(found, builder.not_(threes)), turned)
    agents = builder.icmp_unsigned(">=", found, _splat(builder, _BYTE(AGENT)))
    return builder.select(agents, turned, found)


def _permute(builder: Any, block: Any, heading: Any, places: list[list[int]]) -> Any:
    """Do one of four shuffles, with an instruction that takes the places from a register."""
    bytes_of = bytearray(place for each in places for place in each)
    constant = ir.Constant(ir.ArrayType(_BYTE, len(bytes_of)), bytes_of)
    table = cgutils.global_constant(builder, "places", constant, linkage="internal")
    table.align = CELLS
    start = builder.shl(builder.zext(heading, _WORD), _WORD(6))
    place = builder.gep(builder.bitcast(table, _BYTE.as_pointer()), [start])
    index = builder.load(builder.bitcast(place, _BYTES.as_pointer()))
    index.align = CELLS
    kind = ir.FunctionType(_BYTES, [_BYTES, _BYTES])
    permute = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.permvar.qi.512")
    return builder.call(permute, [block, index])


def _choose(builder: Any, block: Any, heading: Any, places: list[list[int]]) -> Any:
    """Do all four shuffles and choose one, on any processor."""
    found, headings = _shuffle(builder, block, places[0]), _splat(builder, heading)
    for turn in range(1, 4):
        same = builder.icmp_unsigned("==", headings, _splat(builder, _BYTE(turn)))
        found = builder.select(same, _shuffle(builder, block, places[turn]), found)
    return found


def _can_permute(context: Any) -> bool:
    """Tell whether the processor that is compiled for has the instruction of `_permute`."""
    return "+avx512vbmi," in f"{context.codegen().magic_tuple()[2]},"


def _find(builder: Any, block: Any, code: Any, width: int) -> Any:
    """Return the place of the first byte that is `code`, or 64."""
    same = builder.icmp_unsigned("==", block, _splat(builder, code))
    rows = _WORD((1 << width * width) - 1)
    return builder.cttz(builder.and_(builder.bitcast(same, _WORD), rows), ir.IntType(1)(0))


def _data(context: Any, builder: Any, signature: Any, args: Any, number: int) -> Any:
    """Return where the bytes of an argument that is an array lie."""
    return context.make_array(signature.args[number])(context, builder, args[number]).data


def _vector_at(builder: Any, data: Any, start: Any) -> Any:
    """Return the address of 64 bytes."""
    return builder.bitcast(builder.gep(data, [start]), _BYTES.as_pointer())


def _turner(width: int, one_step: bool | None = None) -> Any:
    """Return the compiled function that writes a block with rows of `width` bytes."""

    def turn(
        typingctx: Any,
        cells: Any,
        first: Any,
        stride: Any,
        heading: Any,
        out: Any,
        start: Any,
        code: Any,
    ) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            block = _load(builder, _data(context, builder, signature, args, 0), args[1], args[2])
            quick = _can_permute(context) if one_step is None else one_step
            block = _turn(builder, block, builder.trunc(args[3], _BYTE), width, quick)
            out = _data(context, builder, signature, args, 4)
            builder.store(block, _vector_at(builder, out, args[5]), align=1)
            return _find(builder, block, builder.trunc(args[6], _BYTE), width)

        number = types.int64
        return number(cells, number, number, number, out, number, number), codegen

    return intrinsic(turn)


def _plain_turner(width: int) -> Any:
    """Return the plain Python twin of `_turner`; it writes no more than the block."""

    def turn(
        cells: Any, first: Any, stride: Any, heading: Any, out: Any, start: Any, code: Any
    ) -> int:
        rows = [cells[first + r * stride : first + r * stride + BLOCK] for r in range(BLOCK)]
        block = np.rot90(np.array(rows), heading)[:, :width].reshape(-1)
        turned = (block & ~np.uint8(3)) | ((block - np.uint8(heading)) & np.uint8(3))
        return _put_down(np.where(block >= AGENT, turned, block), out, start, code, width)

    return turn


def _put_down(found: Any, out: Any, start: Any, code: Any, width: int) -> int:
    """Write bytes and return the place of the first that is `code`, or 64."""
    out[start : start + len(found)] = found
    places = np.flatnonzero(found[: width * width] == code)
    return int(places[0]) if len(places) else CELLS


def _matcher(codes: Sequence[int]) -> Any:
    """Return the compiled function that finds bytes which are one of `codes`."""

    def match(typingctx: Any, block: Any, start: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = _data(context, builder, signature, args, 0)
            cells = builder.load(_vector_at(builder, data, args[1]))
            cells.align = 1
            found: Any = _WORD(0)
            for code in codes:
                same = builder.icmp_unsigned("==", cells, _splat(builder, _BYTE(code)))
                found = builder.or_(found, builder.bitcast(same, _WORD))
            return found

        return types.uint64(block, types.int64), codegen

    return intrinsic(match)


def _plain_matcher(codes: Sequence[int]) -> Any:
    """Return the plain Python twin of `_matcher`."""

    def match(block: Any, start: Any) -> Any:
        cells = block[start : start + CELLS]
        return np.packbits(np.isin(cells, codes), bitorder="little").view("<u8")[0]

    return match


def _revealer(width: int) -> Any:
    """Return the compiled function that writes what is seen of a block."""

    def reveal(
        typingctx: Any, block: Any, first: Any, bits: Any, out: Any, start: Any, code: Any
    ) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = _data(context, builder, signature, args, 0)
            cells = builder.load(_vector_at(builder, data, args[1]))
            cells.align = 1
            seen = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), CELLS))
            cells = builder.select(seen, cells, ir.Constant(_BYTES, [UNSEEN] * CELLS))
            cells = _shuffle(builder, cells, _places(0, width))
            out = _data(context, builder, signature, args, 3)
            builder.store(cells, _vector_at(builder, out, args[4]), align=1)
            return _find(builder, cells, builder.trunc(args[5], _BYTE), width)

        number = types.int64
        return number(block, number, types.uint64, out, number, number), codegen

    return intrinsic(reveal)


def _plain_revealer(width: int) -> Any:
    """Return the plain Python twin of `_revealer`."""

    def reveal(block: Any, first: Any, bits: Any, out: Any, start: Any, code: Any) -> int:
        seen = np.unpackbits(np.array([bits], "<u8").view(np.uint8), bitorder="little")
        found = np.where(seen, block[first : first + CELLS], UNSEEN).reshape(BLOCK, BLOCK)
        return _put_down(found[:, :width].reshape(-1), out, start, code, width)

    return reveal


turn_8 = _turner(8) if JIT else _plain_turner(8)
"""``turn_8(cells, first, stride, heading, out, start, code)``: turn a block of cells.

Its rows start at ``cells[first]`` (uint8), `stride` bytes apart. They are turned so that `heading`
is up, agents in them too, and written to ``out[start : start + 64]``, without bounds checks. The
place of the first of them that is `code` is returned, or 64.
"""

turn_7 = _turner(7) if JIT else _plain_turner(7)
"""Likewise, without the eighth row and column: rows have seven bytes.

64 bytes are written. Those after the 49 of seven rows are noise, so something has to follow.
"""

matcher = _matcher if JIT else _plain_matcher
"""``matcher(codes)(block, start)``: bit i tells whether ``block[start + i]`` is one of `codes`."""

reveal_7 = _revealer(7) if JIT else _plain_revealer(7)
"""``reveal_7(block, first, bits, out, start, code)``: write the cells whose bit is set.

They are the 64 from ``block[first]`` on; others are `UNSEEN`. What is written, and what is
returned, is as with `turn_7`.
"""

reveal_8 = _revealer(8) if JIT else _plain_revealer(8)
"""Likewise, with the eighth row and column, as with `turn_8`."""
