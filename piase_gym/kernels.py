"""What compiled worlds share: decorators, 8-byte loads and stores, and the random draws.

`device` marks a helper that is inlined into its callers, `kernel` marks what Python calls. Kernels
are cached on disk where that is possible. Numba's own cache looks only at the file of the
function; here the cache is keyed by every source file of the world's folder and of the shared
ones, so an edited rule or table is never served stale.

Constants of unsigned arithmetic are `np.uint64` throughout: numba turns ``uint64 op int64`` into
a float.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config as numba_config
from numba import njit, typeof, types
from numba.core import cgutils
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import intrinsic
from numpy.typing import NDArray

from piase_gym.core.rng import GOLDEN
from piase_gym.statics import PartCompiler, RareCompiler, StaticCompiler

JIT = not numba_config.DISABLE_JIT
"""False under ``NUMBA_DISABLE_JIT=1``, where the same rules run as plain Python."""

ABSENT = -1
"""Act of an agent that gives no command; ``ABSENT - k`` is an invalid action of the k-th kind.

Kernels take these codes only where they are told to: to callers they are indices out of range.
"""

_PLAIN: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
"""Options of numba. Without its runtime nobody counts references to arrays, which costs an atomic
instruction for each view of a record's field; but then no array can be made either."""

_GOLDEN = np.uint64(GOLDEN)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_1, _11, _27, _30, _31, _32 = (np.uint64(n) for n in (1, 11, 27, 30, 31, 32))


@functools.cache
def source_stamp(folder: str) -> str:
    """Return a hash over every kernel source that a world in `folder` can inline."""
    digest = hashlib.sha256(sys.version.encode())
    # Constants of any shared module may be frozen into a kernel, such as `textcode.HINT_CODE`.
    shared = Path(__file__).parent
    for place in (shared, shared / "worlds", Path(folder)):
        for path in sorted(place.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class _Store(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, where a disk that fails is no reason to fail."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, or None to have it compiled."""
        with contextlib.suppress(OSError):
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code, if the disk takes it."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Return what tells compiled functions apart.

        What a `kernel_of` takes from around it is known from its name and the stamp of sources;
        numba would pickle it, which gives other bytes in every process.
        """
        if self._py_func.__closure__ is None:
            return super()._index_key(sig, codegen)
        code = hashlib.sha256(self._py_func.__code__.co_code).hexdigest()
        return sig, codegen.magic_tuple(), (code, self._py_func.__qualname__)


class _Index(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's index of a cache; one that another version of us has written counts as empty."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (AttributeError, ImportError, EOFError, ValueError, TypeError, UnpicklingError):
            return {}


def _cached(function: Callable[..., Any], folder: str, **options: Any) -> Any:
    """Compile with an on-disk cache that knows all sources, or without one if none can be had."""
    if not JIT:
        return function
    dispatcher = njit(function, **options)
    try:
        dispatcher.enable_caching()
        # numba has no public hook for the stamp; without these attributes we do not cache,
        # because a stale kernel is worse than a slow start.
        cache = dispatcher._cache
        if not hasattr(cache._cache_file, "_source_stamp"):
            return njit(function, **options)
        cache._cache_file._source_stamp = source_stamp(folder)
        cache._cache_file.__class__, cache.__class__ = _Index, _Store
    except (RuntimeError, AttributeError):
        # Nowhere to write, as in a read-only container: compile in every process.
        return njit(function, **options)
    return dispatcher


def device(function: Callable[..., Any]) -> Any:
    """Mark a helper that kernels inline."""
    if not JIT:
        return function
    return njit(function, forceinline=True, **_PLAIN, pipeline_class=PartCompiler)


def helper(function: Callable[..., Any]) -> Any:
    """Mark a helper that need not be inlined; called from a `device`, it is nevertheless."""
    if not JIT:
        return function
    return njit(function, **_PLAIN, pipeline_class=PartCompiler)


def rare(function: Callable[..., Any]) -> Any:
    """Mark a helper that is hardly ever run: what calls it is compiled as if it were not there."""
    if not JIT:
        return function
    # Else it would inherit being inlined from who calls it.
    return njit(function, forceinline=False, **_PLAIN, pipeline_class=RareCompiler)


def scratch(function: Callable[..., Any]) -> Any:
    """Mark a helper that makes arrays for its own use; no other part of a kernel can."""
    if not JIT:
        return function
    return njit(function, error_model="numpy", _nrt=True, pipeline_class=PartCompiler)


def kernel(function: Callable[..., Any]) -> Any:
    """Mark a function that Python calls."""
    folder = str(Path(inspect.getfile(function)).parent)
    return _cached(function, folder, **_PLAIN, pipeline_class=StaticCompiler)


def kernel_of(file: str) -> Callable[[Callable[..., Any]], Any]:
    """Mark a function that Python calls and that is made anew for each world, around its rules.

    Args:
        file: The world's module that has it made; the cache goes by its name and its folder.
    """
    path = Path(file)

    def wrap(function: Callable[..., Any]) -> Any:
        function.__qualname__ = f"{path.parent.name}.{path.stem}.{function.__name__}"
        folder = str(path.parent)
        return _cached(function, folder, **_PLAIN, pipeline_class=StaticCompiler)

    return wrap


def readable(records: NDArray[Any]) -> NDArray[Any]:
    """Return records as kernels take them; plain Python asks for fields as attributes."""
    return records if JIT else records.view(np.recarray)


def direct(compiled: Any, *args: Any) -> Any:
    """Return the machine code of a kernel for arguments of just these types.

    Calling it saves the look-up of types, half of what a small kernel costs. It must only ever be
    called with arguments of the same types; they are not checked again.
    """
    try:
        return compiled.overloads[tuple(typeof(arg) for arg in args)].entry_point
    except (AttributeError, KeyError):  # plain Python, or another version of numba
        return compiled


if JIT:

    @intrinsic
    def load64(typingctx: Any, array: Any, index: Any) -> Any:
        """Load the 8 bytes that start at ``array[index]`` (uint8, contiguous, no bounds check)."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            place = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(64).as_pointer())
            word = builder.load(place)
            word.align = 1
            return word

        return types.uint64(array, types.int64), codegen

    @intrinsic
    def store64(typingctx: Any, array: Any, index: Any, word: Any) -> Any:
        """Store 8 bytes from ``array[index]`` on (uint8, contiguous, no bounds check)."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            place = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(64).as_pointer())
            builder.store(args[2], place, align=1)
            return context.get_dummy_value()

        return types.void(array, types.int64, types.uint64), codegen

    @intrinsic
    def peek(typingctx: Any, array: Any, index: Any) -> Any:
        """Return ``array[index]`` (uint8, contiguous, no negative index, no bounds check)."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            return builder.zext(builder.load(builder.gep(data, [args[1]])), ir.IntType(64))

        return types.int64(array, types.int64), codegen

    @intrinsic
    def poke(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
        """Set ``array[index]`` (uint8 or int8, contiguous, no negative index, no bounds check)."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            byte = builder.trunc(args[2], ir.IntType(8))
            builder.store(byte, builder.gep(data, [args[1]]))
            return context.get_dummy_value()

        return types.void(array, types.int64, types.int64), codegen

    def _fetch(builder: Any, place: Any) -> None:
        """Write the instruction that brings the memory at `place` near."""
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        read, everywhere, data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(fetch, [builder.bitcast(place, byte), read, everywhere, data])

    @intrinsic
    def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
        """Bring ``array[index]`` (uint8, contiguous) near; any index will do."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            _fetch(builder, builder.gep(data, [args[1]]))
            return context.get_dummy_value()

        return types.void(array, types.int64), codegen

    @intrinsic
    def prefetch_record(typingctx: Any, records: Any, index: Any, offset: Any) -> Any:
        """Bring the memory at a byte offset in ``records[index]`` near; any index will do."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            start = builder.bitcast(array.data, ir.IntType(8).as_pointer())
            place = builder.add(builder.mul(args[1], array.itemsize), args[2])
            _fetch(builder, builder.gep(start, [place]))
            return context.get_dummy_value()

        return types.void(records, types.int64, types.int64), codegen

else:
    np.seterr(over="ignore")

    def prefetch(array: Any, index: Any) -> None:
        """Plain Python twin of the compiled `prefetch`."""

    def prefetch_record(records: Any, index: Any, offset: Any) -> None:
        """Plain Python twin of the compiled `prefetch_record`."""

    def load64(array: Any, index: Any) -> Any:
        """Plain Python twin of the compiled `load64`."""
        return array[int(index) :].view(np.uint8)[:8].view("<u8")[0]

    def store64(array: Any, index: Any, word: Any) -> None:
        """Plain Python twin of the compiled `store64`."""
        array[int(index) :].view(np.uint8)[:8].view("<u8")[0] = word

    def peek(array: Any, index: Any) -> Any:
        """Plain Python twin of the compiled `peek`."""
        return int(array[index])

    def poke(array: Any, index: Any, value: Any) -> None:
        """Plain Python twin of the compiled `poke`."""
        array[index] = int(value) & 255


@device
def mix64(value):  # type: ignore[no-untyped-def]
    """Compiled twin of `piase_gym.core.rng.mix64`."""
    value = (value ^ (value >> _30)) * _MIX_1
    value = (value ^ (value >> _27)) * _MIX_2
    return value ^ (value >> _31)


@device
def stream_key(seed, stream):  # type: ignore[no-untyped-def]
    """Compiled twin of `piase_gym.core.rng.stream_key`; both arguments are uint64."""
    return mix64(mix64(seed + _GOLDEN) + (stream + _1) * _GOLDEN)


@device
def episode_seed(seed, episode):  # type: ignore[no-untyped-def]
    """Compiled twin of `piase_gym.core.rng.episode_seed`; both arguments are uint64."""
    if episode == np.uint64(0):
        return seed
    return mix64(mix64(seed) + episode * _GOLDEN) >> _1


@device
def bits(keys, counters, stream):  # type: ignore[no-untyped-def]
    """Draw 64 bits from a stream of a record with the fields `keys` and `counters`."""
    counters[stream] += _1
    return mix64(keys[stream] + counters[stream] * _GOLDEN)


@device
def integer(keys, counters, stream, stop):  # type: ignore[no-untyped-def]
    """Draw an integer in ``0..stop-1``, as `Stream.integer` does."""
    return np.int64(((bits(keys, counters, stream) >> _32) * np.uint64(stop)) >> _32)


@device
def uniform(keys, counters, stream):  # type: ignore[no-untyped-def]
    """Draw a float in ``[0, 1)``, as `Stream.uniform` does."""
    return np.float64(bits(keys, counters, stream) >> _11) * (1.0 / 9007199254740992.0)
