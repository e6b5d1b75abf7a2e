"""Headers of snapshots."""

from __future__ import annotations

import json

import pytest

import piase_gym
from piase_gym.core.snapshot import check_snapshot
from piase_gym.errors import SnapshotError
from tests import probes

probes.register()


def test_a_snapshot_is_checked_part_by_part() -> None:
    env = piase_gym.parallel_env("PointProbe", agents=2)
    env.reset(seed=0)
    world = env.world
    good = json.loads(json.dumps(world.snapshot()))
    header, config = world.snapshot_header(), world.config
    found, hints, last = check_snapshot(good, header, config)
    assert found is config, "those who go back within an episode need not wait for a new one"
    assert (hints, last) == ([None, None], [None, None])
    shorter = {**good["config"], "max_steps": 7}
    assert check_snapshot({**good, "config": shorter}, header, config)[0].max_steps == 7
    for change, told in (
        ({"schema": 2}, r"this snapshot is of PointProbe version \d+ \(schema 2\); allowed here"),
        ({"schema": None}, r"this snapshot is of PointProbe version \d+ \(schema None\); allowed"),
        ({"agents": ["x"]}, r"this snapshot is of the agents \['x'\]; allowed here: agent_0, ag"),
        ({"config": []}, "a snapshot's config is a mapping, not list"),
        ({"config": {"agnts": 1}}, "this snapshot's config is damaged"),
        ({"hints": [None]}, "hints are a list with a string or null an agent"),
        ({"hints": "ab"}, "hints are a list with a string or null an agent"),
        ({"hints": [1, None]}, "hints are a list with a string or null an agent"),
    ):
        with pytest.raises(SnapshotError, match=told):
            check_snapshot({**good, **change}, header, config)
    for key in good:
        less = {name: value for name, value in good.items() if name != key}
        with pytest.raises(SnapshotError, match=f"this snapshot lacks {key}; allowed here: Point"):
            check_snapshot(less, header, config)
    keys = "schema, world, version, agents, config, hints, last_steps, state"
    with pytest.raises(SnapshotError, match=f"this snapshot lacks {keys}; allowed"):
        check_snapshot({"pixels": []}, header, config)
    with pytest.raises(SnapshotError, match="a snapshot is a mapping, not list"):
        check_snapshot([], header, config)
