"""What a batch takes, and what it says of the rest."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.envs.batch_checks import (
    MOST_SINGLE,
    check_num_envs,
    check_singles,
    check_states,
    find_slots,
    read_snapshot,
    require_memory,
)
from piase_gym.errors import (
    ConfigError,
    SnapshotError,
)
from tests import probes

probes.register()


def test_numbers_of_environments() -> None:
    assert check_num_envs(np.int64(3)) == 3
    for wrong in (0, -1, True, 1.0, "3"):
        with pytest.raises(ConfigError, match="num_envs must be a positive integer"):
            check_num_envs(wrong)
    assert check_singles(MOST_SINGLE, "A") == 65536
    with pytest.raises(ConfigError, match="num_envs=65537 is too many: A is stepped one"):
        check_singles(MOST_SINGLE + 1, "A")


@pytest.mark.parametrize("configs", [5, "x", [5], [None], {"width": 5}])
def test_configs_are_mappings_of_fields(configs: Any) -> None:
    with pytest.raises(ConfigError, match="configs are a list of mappings of fields to values"):
        piase_gym.batch_env("GridWorld", num_envs=2, configs=configs)


@pytest.mark.parametrize(
    ("which", "slots"),
    [
        (None, [0, 1, 2]),
        ([True, False, True], [0, 2]),
        ([2, 0], [2, 0]),
        (1, [1]),
        ([], []),
        (np.array([2], np.uint8), [2]),
    ],
)
def test_slots_are_flags_or_numbers(which: Any, slots: list[int]) -> None:
    found = find_slots(which, 3)
    assert found.tolist() == slots
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    "which", [[3], [-1], [0, 0], [True, False], [0.5], "ab", [[0], [1]], [[0, 1], [2]]]
)
def test_other_slots_are_refused(which: Any) -> None:
    with pytest.raises(ConfigError, match="slots are given by 3 flags"):
        find_slots(which, 3)


KIND = np.dtype([("a", "<i4"), ("b", "u1")])


WANTED = {"num_envs": 2, "world": "A"}


def saved(**changes: Any) -> dict[str, Any]:
    """Return the snapshot of two records, with changes."""
    states = np.array([(1, 2), (3, 4)], KIND)
    good = {**WANTED, "states": base64.b64encode(states.tobytes()).decode()}
    return {**good, "ready": [True, False], "hints": {"1": [7, ["x"]]}, **changes}


def test_a_snapshot_of_a_batch_is_read() -> None:
    states, ready, hints = read_snapshot(saved(), WANTED, KIND)
    assert states.tolist() == [(1, 2), (3, 4)]
    assert states.flags.writeable
    assert (ready.tolist(), hints) == ([True, False], {1: (7, ["x"])})
    less = saved()
    del less["hints"]
    assert read_snapshot(less, WANTED, KIND)[2] == {}


@pytest.mark.parametrize(
    ("snapshot", "told"),
    [
        ([], "a snapshot is a mapping, not list"),
        ({"world": "A", "state": {}}, "this snapshot lacks num_envs, so it is not of a batch"),
        (saved(world="B"), "this snapshot has world='B'; here: 'A'"),
        (saved(ready=[True]), "this snapshot is of another number of environments"),
        (saved(states="AAAA"), "this snapshot is of another number of environments"),
        (saved(ready=[1, 0]), "ready of this snapshot is not a list of true and false"),
        (saved(states="!" * 16), "this snapshot is damaged"),
        (saved(hints={"x": [1, []]}), "this snapshot is damaged"),
        ({**WANTED}, "this snapshot is damaged"),
    ],
)
def test_a_damaged_snapshot_of_a_batch_is_refused(snapshot: Any, told: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(snapshot, WANTED, KIND)
    assert str(caught.value).startswith(told)


def test_records_are_looked_at_one_by_one() -> None:
    kind = np.dtype([("config", "<i4"), ("next_config", "<i4"), ("bad", "u1")])
    world: Any = SimpleNamespace(agents=("ann", "bob"))
    world.state_problem = lambda record, table: "it is odd" if record["bad"] == table else None
    tables = [1, 2]
    states = np.array([(0, 1, 2), (1, 0, 1)], kind)
    check_states(world, states, {1: (3, ["x", None])}, tables)
    for changed, told in (
        ((0, 0, 1), "slot 0 of this snapshot: it is odd"),
        ((2, 0, 0), "slot 0 of this snapshot has an unknown config"),
        ((0, 2, 0), "slot 0 of this snapshot has an unknown config"),
        ((-1, 0, 0), "slot 0 of this snapshot has an unknown config"),
    ):
        wrong = states.copy()
        wrong[0] = changed
        with pytest.raises(SnapshotError, match=told):
            check_states(world, wrong, {}, tables)
    hints: Any
    for hints, told in (
        ({2: (3, ["x", None])}, "the hints of slot 2 make no sense"),
        ({-1: (3, ["x", None])}, "the hints of slot -1 make no sense"),
        ({0: (3.0, ["x", None])}, "the hints of slot 0 make no sense"),
        ({0: (3, ["x", 1])}, "the hints of slot 0 make no sense"),
        ({0: (3, ["x" * 100_000, None])}, "the hints of slot 0 make no sense"),
        ({0: (3, ["x"])}, "slot 0 has 1 hints for 2 agents"),
    ):
        with pytest.raises(SnapshotError, match=told):
            check_states(world, states, hints, tables)


def test_memory_is_counted_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten environments of a thousand bytes fit into ten thousand, and eleven do not."""
    tables = np.zeros(9000, np.uint8)
    one = SimpleNamespace(states=np.zeros(600, np.uint8), obs=np.zeros(400, np.uint8))
    one.tables = tables
    world: Any = SimpleNamespace(new_batch=lambda count, configs: one)
    pages = {"SC_PAGE_SIZE": 100, "SC_PHYS_PAGES": 100}
    monkeypatch.setattr("os.sysconf", pages.__getitem__)
    require_memory(world, 10, [])
    with pytest.raises(ConfigError) as caught:
        require_memory(world, 11, [])
    assert str(caught.value) == (
        "num_envs=11 is too many: each takes 1,000 bytes, and this machine has 10,000, "
        "enough for 10"
    )
