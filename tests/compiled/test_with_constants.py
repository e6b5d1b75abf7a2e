"""Helpers made for other values of constants: what depends on them is new, all else is shared."""

from __future__ import annotations

import sys
from types import ModuleType

import numba
import pytest

from piase_gym.compiled import JIT, with_constants

LOWER = """
from piase_gym.compiled import helper, inline
BIG = True
@helper
def twice(x):
    return 2 * x
@helper
def costly(x):
    return x * 1000
@inline
def grown(x):
    return costly(x) if BIG else twice(x)
"""
UPPER = """
from marbles_lower import BIG, grown, twice
from piase_gym.compiled import helper, hot
@hot
def calls_first(x):
    return comes_later(x) + 1
@helper
def comes_later(x):
    return grown(x) + (5 if BIG else 7)
@helper
def apart(x):
    return twice(x)
"""


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> list[ModuleType]:
    """Two modules with helpers, the second of which builds on the first."""
    made = []
    for name, source in (("marbles_lower", LOWER), ("marbles_upper", UPPER)):
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(source, module.__dict__)
        made.append(module)
    return made


def test_only_what_depends_on_a_constant_is_made_anew(modules: list[ModuleType]) -> None:
    found = with_constants(modules, BIG=False)
    assert vars(found).keys() == {"grown", "comes_later", "calls_first"}
    for name, function in vars(found).items():
        home = modules[name != "grown"]
        assert function is not vars(home)[name]
        assert getattr(function, "py_func", function).__module__ == home.__name__


def test_both_do_what_their_constants_say(modules: list[ModuleType]) -> None:
    upper, small = modules[1].calls_first, with_constants(modules, BIG=False).calls_first

    @numba.njit
    def both(x: int) -> tuple[int, int]:
        return upper(x), small(x)

    assert both(3) == (3006, 14)
    assert modules[0].BIG


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_what_a_constant_rules_out_is_not_compiled(modules: list[ModuleType]) -> None:
    small = with_constants(modules, BIG=False).calls_first
    assert numba.njit(lambda x: small(x))(3) == 14
    assert modules[0].twice.signatures
    assert not modules[0].costly.signatures
