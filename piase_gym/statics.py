"""Sizes and settings that kernels know when they are compiled.

A kernel that takes a `Static` reads its attributes as constants: loops over them unroll, and what
is behind an ``if`` that they decide is not even looked at. Under ``NUMBA_DISABLE_JIT=1`` a `Static`
is just an object with attributes.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typing.templates import AttributeTemplate
from numba.core.untyped_passes import RewriteSemanticConstants
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)


class Static:
    """Sizes and settings that a kernel knows when it is compiled: its attributes are constants.

    A kernel is compiled anew for every set of values, so they should be few.

    Args:
        values: Integers and booleans.
    """

    def __init__(self, **values: int) -> None:
        self.__dict__.update(values)
        self.key = tuple(sorted(values.items()))

    def __reduce__(self) -> Any:
        """Pickle by value."""
        return _static, (self.key,)

    def __getattr__(self, name: str) -> Any:
        """Say what is missing (values are found without this)."""
        raise AttributeError(f"no such static value: {name}")


def _static(key: tuple[tuple[str, int], ...]) -> Static:
    return Static(**dict(key))


class StaticType(types.Type):
    """Numba's type of a `Static`; the values are part of it."""

    def __init__(self, values: tuple[tuple[str, int], ...]) -> None:
        self.values = dict(values)
        super().__init__(f"Static({', '.join(f'{name}={value}' for name, value in values)})")


def _static_attribute(typ: StaticType, name: str) -> Any:
    """Return numba's type of one value."""
    return types.boolean if isinstance(typ.values[name], bool) else types.int64


typeof_impl.register(Static)(lambda value, _context: StaticType(value.key))
register_model(StaticType)(models.OpaqueModel)
unbox(StaticType)(lambda _typ, _object, c: NativeValue(c.context.get_dummy_value()))


@infer_getattr
class _StaticAttributes(AttributeTemplate):  # type: ignore[misc]
    key = StaticType

    def generic_resolve(self, typ: StaticType, name: str) -> Any:
        return _static_attribute(typ, name) if name in typ.values else None


@lower_getattr_generic(StaticType)  # type: ignore[untyped-decorator]
def _lower_static(context: Any, builder: Any, typ: StaticType, value: Any, name: str) -> Any:
    return context.get_constant(_static_attribute(typ, name), typ.values[name])


@register_pass(mutates_CFG=False, analysis_only=False)
class FoldStatics(FunctionPass):  # type: ignore[misc]
    """Replaces the attributes of statics by constants, so that numba prunes dead branches."""

    _name = "fold_statics"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Rewrite one function."""
        changed = False
        for block in state.func_ir.blocks.values():
            for statement in block.find_insts(ir.Assign):
                value = _folded(state, statement.value)
                if value is not None:
                    statement.value = ir.Const(value, statement.loc)
                    state.func_ir._definitions[statement.target.name] = [statement.value]
                    changed = True
        return changed


def _folded(state: Any, value: Any) -> Any:
    """Return the constant that an expression stands for, or None."""
    if not isinstance(value, ir.Expr) or value.op != "getattr":
        return None
    found = state.func_ir._definitions.get(value.value.name, [])
    if len(found) != 1 or not isinstance(found[0], ir.Arg):
        return None
    given = state.args[found[0].index]
    return given.values.get(value.attr) if isinstance(given, StaticType) else None


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A function that is only ever linked into kernels, and optimised and assembled there.

    Numba would do both for each helper on its own, which is half the time that compiling takes.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, which stands for no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """The code generator, for one who would tell it where the function's constants are."""
        return _NoEnvironments()


class _NoEnvironments:
    """Takes the place of a code generator; functions without machine code have no constants."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


class _RareLibrary(_PartLibrary):
    """A function that is hardly ever called: its code stays out of the loops that call it."""

    def add_ir_module(self, module: Any) -> None:
        """Say so of every function that the module defines."""
        for function in module.functions:
            if not function.is_declaration:
                function.attributes.add("cold")
                function.attributes.add("noinline")
        super().add_ir_module(module)


@register_pass(mutates_CFG=False, analysis_only=False)
class UsePartLibrary(FunctionPass):  # type: ignore[misc]
    """Gives the function a library of the lighter kind."""

    _name = "use_part_library"
    _library: type[_PartLibrary] = _PartLibrary

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Make the library, as numba's lowering would."""
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        state.library = self._library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


@register_pass(mutates_CFG=False, analysis_only=False)
class UseRareLibrary(UsePartLibrary):
    """Gives the function a library that keeps it aside."""

    _name = "use_rare_library"
    _library = _RareLibrary


class StaticCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's own compiler, which also folds statics: for what Python calls."""

    def define_pipelines(self) -> list[Any]:
        """Fold statics just before numba looks for constants.

        The arrays and records that one of our functions takes never overlap, which C would call
        ``restrict``; saying so spares many loads.
        """
        self.state.flags.noalias = True
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(FoldStatics, _before(pipeline, RewriteSemanticConstants))
        self.extend(pipeline)
        pipeline.finalize()
        return [pipeline]

    def extend(self, pipeline: Any) -> None:
        """Add further passes."""


class PartCompiler(StaticCompiler):
    """The compiler of helpers, which Python never calls."""

    def extend(self, pipeline: Any) -> None:
        """Use the lighter kind of library."""
        pipeline.add_pass_after(UsePartLibrary, FoldStatics)


class RareCompiler(StaticCompiler):
    """The compiler of helpers that are hardly ever called."""

    def extend(self, pipeline: Any) -> None:
        """Use the library that keeps functions aside."""
        pipeline.add_pass_after(UseRareLibrary, FoldStatics)


def _before(pipeline: Any, wanted: type) -> type:
    """Return the pass that runs just before another."""
    passes = [item[0] for item in pipeline.passes]
    found: type = passes[passes.index(wanted) - 1]
    return found
