"""Helpers made for other values of constants: what depends on them is new, all else is shared."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numba
import pytest

from piase_gym.compiled import JIT, with_constants
from tests.paths import ROOT

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


RINGS = """
import sys
import numpy as np
from piase_gym.compiled import helper, kernel, with_constants
BIG = True
@helper
def worth(x):
    total = x
    for k in range(x):
        total = total * 7 + k if BIG else total * 3 - k
        if total % 5 == 1:  # too long to be inlined
            for j in range(total % 11):
                total = (total ^ j) + total // (j + 3)
        if total % 7 == 3:
            for j in range(total % 13):
                total = (total ^ j) - total // (j + 5)
    return total
small = with_constants([sys.modules[__name__]], BIG=False).worth
@kernel
def score_big(out):
    out[0] = worth(out[0]) + worth(out[0] + 1) * worth(out[0] + 2)
@kernel
def score_small(out):
    out[0] = small(out[0]) + small(out[0] + 1) * small(out[0] + 2)
"""
SCORE = """
import sys
import numpy as np
import rings
for name in sys.argv[1:]:
    out = np.array([3])
    getattr(rings, "score_" + name)(out)
    print(int(out[0]))
"""


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_machine_code_from_several_processes_is_not_mixed_up(tmp_path: Path) -> None:
    """Numba numbers functions anew in each process, and code with one name is linked once."""
    (tmp_path / "rings.py").write_text(RINGS, "utf-8")

    def score(*names: str) -> list[int]:
        places = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", SCORE, *names]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, **places}
        )
        return [int(line) for line in done.stdout.split()]

    (big,), (small,) = score("big"), score("small")
    assert big != small
    assert score("big", "small") == [big, small]
    assert score("small", "big") == [small, big]
