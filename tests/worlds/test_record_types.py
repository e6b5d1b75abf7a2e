"""Records of all sizes are one type to kernels, which begins as each of them does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import typeof

from piase_gym.compiled.decorators import CHECKED, JIT
from piase_gym.compiled.memory import overlaid
from piase_gym.compiled.stepping import kernel_type, single, starts
from piase_gym.worlds.grid_world import state as grids
from piase_gym.worlds.object_search import state as houses
from piase_gym.worlds.social_dilemma.commons import state as commons
from piase_gym.worlds.social_dilemma.matrix import state as games
from piase_gym.worlds.word_craft import state as crafts

TEAMS = {
    "a few on grids": (grids, [(16, 7, 4), (64, 15, 4), (16, 7, 4, 2048), (16, 7, 4, 0, 64)]),
    "many on grids": (grids, [(16, 7, 32), (64, 15, 32)]),
    "a few in houses": (houses, [(16, 4, 0), (64, 4, 0), (16, 4, 8), (64, 4, 8)]),
    "many in houses": (houses, [(16, 8, 0), (64, 8, 8)]),
    "one crafts": (crafts, [(1, 16), (1, 64), (1, 512)]),
    "many craft": (crafts, [(8, 64), (8, 512)]),
    "a few in a commons": (commons, [(16, 7, 8), (32, 15, 8), (64, 15, 8, 128)]),
    "many in a commons": (commons, [(16, 7, 32), (64, 15, 32, 128)]),
    "a game of two": (games, [(2,), (2, 64)]),
    "a game of many": (games, [(32,), (32, 64)]),
}


def records_of(team: str) -> list[Any]:
    """Return the types of records of all sizes that a team has."""
    memory, sizes = TEAMS[team]
    return [memory.layout(*size) for size in sizes]


@pytest.mark.skipif(CHECKED or not JIT, reason="checks of bounds need each record's own length")
@pytest.mark.parametrize("team", TEAMS)
def test_records_of_all_sizes_are_one_type(team: str) -> None:
    varying = TEAMS[team][0].VARYING
    table = np.dtype([("length", "<i8")])
    found = set()
    for record in records_of(team):
        for kind, count in ((record, 1), (record, 3), (single(record, table, 2), 1)):
            states = overlaid(np.zeros(count, kind), kernel_type(kind, varying))
            found.add((kind is record, typeof(states)))
    assert len(found) == 2


def test_each_capacity_is_a_type_of_its_own() -> None:
    kinds = {team: kernel_type(records_of(team)[0], TEAMS[team][0].VARYING) for team in TEAMS}
    assert len(set(kinds.values())) == len(TEAMS)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("team", TEAMS)
def test_fields_lie_where_the_record_has_them(team: str, whole: bool) -> None:
    varying = dict(TEAMS[team][0].VARYING)
    for record in records_of(team):
        known: Any = record.fields
        told: Any = kernel_type(record, tuple(varying.items()), whole).fields
        places = starts(record, tuple(varying.items()))
        fixed = [name for name in known if name not in places]
        assert {*told} == {*fixed, *varying}
        assert {name: told[name][:2] for name in fixed} == {n: known[n][:2] for n in fixed}
        for name in places.keys() & varying:
            kind, offset = told[name][:2]
            start = offset + places[name] * kind.base.itemsize
            assert start == known[name][1]
            end = offset + kind.itemsize
            assert not whole or start + known[name][0].itemsize <= end <= record.itemsize
