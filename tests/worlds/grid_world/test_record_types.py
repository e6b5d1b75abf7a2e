"""Records of grids of all sizes are one type to kernels, which begins as each of them does."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.compiled.decorators import CHECKED
from piase_gym.worlds.grid_world.state import kernel_type, layout

SMALL, LARGE, CROWD = layout(16, 7, 4), layout(64, 15, 4), layout(16, 7, 32)


@pytest.mark.skipif(CHECKED, reason="where bounds are checked, each size is a type of its own")
def test_only_the_number_of_agents_makes_another_type() -> None:
    assert SMALL != LARGE
    assert kernel_type(SMALL) == kernel_type(LARGE)
    assert kernel_type(SMALL) != kernel_type(CROWD)


@pytest.mark.parametrize("record", [SMALL, LARGE, CROWD])
def test_fields_lie_where_the_record_has_them(record: Any) -> None:
    known: Any = record.fields
    told: Any = kernel_type(record).fields
    longer = ("cells", "free", "maps")
    assert told["cells"][1] == known["cells"][1]
    assert {name: told[name][:2] for name in told if name not in longer} == {
        name: known[name][:2] for name in known if name not in longer
    }
