"""Eight bytes at once at any address, memory asked for early, and records as kernels take them.

The only code that is not Python: LLVM loads and stores words that need not be aligned, which every
processor does in one instruction. Rows of a window are moved so, eight cells at a time.
"""

from __future__ import annotations

import ctypes
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray
from numba import types as numba_types
from numba.extending import intrinsic
from numpy.typing import NDArray

from piase_gym.compiled.decorators import CHECKED, JIT, inline


def _byte_at(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the address of ``args[0][args[1]]``."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.gep(data, [args[1]])


def _word_at(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the address of the eight bytes that start at ``args[0][args[1]]``."""
    place = _byte_at(context, builder, signature, args)
    return builder.bitcast(place, ir.IntType(64).as_pointer())


if JIT:

    @intrinsic
    def load64(typingctx: Any, array: Any, index: Any) -> Any:
        """Load the 8 bytes that start at ``array[index]`` (uint8, contiguous), as a uint64."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            word = builder.load(_word_at(context, builder, signature, args))
            word.align = 1
            return word

        return numba_types.uint64(array, numba_types.int64), codegen

    @intrinsic
    def store64(typingctx: Any, array: Any, index: Any, word: Any) -> Any:
        """Store a uint64 from ``array[index]`` on (uint8, contiguous)."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.store(args[2], _word_at(context, builder, signature, args), align=1)
            return context.get_dummy_value()

        return numba_types.void(array, numba_types.int64, numba_types.uint64), codegen

    @intrinsic
    def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
        """Ask for the line of ``array[index]`` (uint8, contiguous), which will be read soon."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = _byte_at(context, builder, signature, args)
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
            function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
            read, kept, data = number(0), number(3), number(1)
            builder.call(function, [place, read, kept, data])
            return context.get_dummy_value()

        return numba_types.void(array, numba_types.int64), codegen

    @intrinsic
    def _pointer(typingctx: Any, address: Any) -> Any:
        """Return an address as a pointer, for `numba.carray`."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

        return numba_types.voidptr(address), codegen

    @inline
    def array_at(address: Any, count: Any, kind: Any) -> Any:
        """Return an array of `count` numbers that lies at an address, and belongs to others.

        A call from Python takes longer, the more arrays it passes, and numba counts who uses each
        of them at every call of a helper. Of what lies in memory that a record tells, it does not.
        """
        return carray(_pointer(address), np.int64(count), kind)

    if CHECKED:
        _load64, _store64 = load64, store64

        @inline
        def load64(array: Any, index: Any) -> Any:
            """Do what the unchecked `load64` does, within bounds."""
            if index < 0 or index * array.itemsize + 8 > array.size * array.itemsize:
                raise IndexError("a word is loaded from beyond an array")
            return _load64(array, index)

        @inline
        def store64(array: Any, index: Any, word: Any) -> None:
            """Do what the unchecked `store64` does, within bounds."""
            if index < 0 or index * array.itemsize + 8 > array.size * array.itemsize:
                raise IndexError("a word is stored beyond an array")
            _store64(array, index, word)

else:
    np.seterr(over="ignore")  # integers of kernels wrap

    def array_at(address: Any, count: Any, kind: Any) -> Any:
        """Plain Python twin of the compiled `array_at`."""
        size = int(count) * np.dtype(kind).itemsize
        return np.frombuffer((ctypes.c_char * size).from_address(int(address)), kind)

    def prefetch(array: Any, index: Any) -> None:
        """Do nothing; a hint changes no result."""

    def load64(array: Any, index: Any) -> Any:
        """Plain Python twin of the compiled `load64`."""
        return array[int(index) :].view(np.uint8)[:8].view("<u8")[0]

    def store64(array: Any, index: Any, word: Any) -> None:
        """Plain Python twin of the compiled `store64`."""
        array[int(index) :].view(np.uint8)[:8].view("<u8")[0] = word


@inline
def load(array, index):  # type: ignore[no-untyped-def]
    """Return ``array[index]``; it is not asked whether the index counts from the end."""
    return array[np.uint64(index)]


@inline
def store(array, index, value):  # type: ignore[no-untyped-def]
    """Set ``array[index]``, likewise."""
    array[np.uint64(index)] = value


def readable(records: NDArray[Any]) -> NDArray[Any]:
    """Return records as kernels take them; plain Python asks for fields as attributes."""
    return records if JIT else records.view(np.recarray)


def overlaid(records: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return records as ones of another type that begins alike, each where it is.

    So records of many lengths are one type to numba, and kernels are compiled once for all of them;
    see `stepping.kernel_type`. The array has one row more than there are records, because numba
    takes a single one for a type of its own.
    """
    told = types.SimpleNamespace(
        __array_interface__={
            "version": 3,
            "typestr": f"|V{kind.itemsize}",
            "shape": (len(records) + 1,),
            "strides": records.strides,
            "data": (records.ctypes.data, False),
        },
        records=records,  # keeps them in memory
    )
    return np.asarray(told).view(kind)


def placed(fields: Mapping[str, tuple[np.dtype[Any], int]], size: int) -> np.dtype[Any]:
    """Return the type of a record of a size, whose fields have these types and places."""
    kinds, places = zip(*fields.values(), strict=True)
    told: Any = {"names": [*fields], "formats": kinds, "offsets": places, "itemsize": size}
    made: np.dtype[Any] = np.dtype(told, align=True)
    return made


Varying = tuple[tuple[str, str], ...]
"""The fields of a world's records whose lengths depend on the config, and what each is made of."""


def record(fields: list[Any], last: Sequence[str] = ()) -> np.dtype[Any]:
    """Return the type of a record whose fields kernels read as attributes.

    Fields are aligned, so that memory views of them have native formats. In memory, those named in
    `last` come after all others, in that order.
    """
    in_memory = sorted(fields, key=lambda f: 1 + last.index(f[0]) if f[0] in last else 0)
    made = np.dtype(in_memory, align=True)
    if last:
        places: Any = made.fields
        kept = {field[0]: places[field[0]][:2] for field in fields}
        made = placed(kept, made.itemsize)
    kinds = np.record, np.recarray
    taken = [name for name in made.names or () if any(hasattr(kind, name) for kind in kinds)]
    assert not taken, f"NumPy's records have attributes of their own called {taken}"
    return made
