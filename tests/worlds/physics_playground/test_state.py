"""PhysicsPlayground's states are values: replay, snapshots, copies, many clients, memory."""

from __future__ import annotations

import base64
import copy
import gc
import importlib.metadata
import json
import os
import pickle
import platform
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pybullet")

import piase_gym
from piase_gym import runs
from piase_gym.core.digest import digest_bytes, digest_json
from piase_gym.core.rng import Stream
from piase_gym.errors import CapacityError, ClosedError, ConfigError, SnapshotError
from piase_gym.worlds.bullet_client import live_clients
from piase_gym.worlds.physics_playground.actions import GRIPS, RELEASES
from piase_gym.worlds.physics_playground.bullet.save_file import LARGEST, rebuilt
from piase_gym.worlds.physics_playground.rules.record import AT_WALL
from piase_gym.wrappers import AvtLogger
from tests.worlds.physics_playground.helpers import (
    FULL,
    TASKS,
    continued,
    elsewhere,
    episode,
    go_on,
    make,
    oracle,
)

FILE = Path(__file__).with_name("golden.json")
GOLDEN = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
HERE = (
    f"{platform.system()} {platform.machine()}, pybullet {importlib.metadata.version('pybullet')}"
)


@pytest.mark.parametrize("task", TASKS)
def test_an_episode_is_the_same_in_another_process(task: str) -> None:
    assert episode(task, 5) == elsewhere("episode", task, 5)


def moments(env: Any, task: str) -> Any:
    """Play with the controllers and yield the moments at which snapshots are hard."""
    act, kinds = oracle(env), set()
    for number in range(160):
        if not env.agents:
            return
        env.step(act())
        play, touches = env.world.play, env.world.arena.touches[:, AT_WALL:]
        kind = (
            any(play.holds),
            any(hold is not None and hold.since < 6 for hold in play.holds),
            bool(touches.any()),
        )
        if kind not in kinds or number % 50 == 7:
            kinds.add(kind)
            yield kind


def replayed(task: str, seed: int, steps: int) -> Any:
    """Return an environment after so many steps of the controllers, none of them restored."""
    env = make(task, **FULL[task])
    env.reset(seed=seed)
    act = oracle(env)
    for _ in range(steps):
        env.step(act())
    return env


@pytest.mark.parametrize("task", TASKS)
def test_a_snapshot_goes_on_bit_for_bit(task: str) -> None:
    env, stepped = make(task, **FULL[task]), make(task, **FULL[task])
    env.reset(seed=11)
    stepped.reset(seed=99)
    go_on(stepped, 30)
    seen, last = set(), None
    for kind in moments(env, task):
        snapshot = json.loads(json.dumps(env.snapshot()))
        original = replayed(task, 11, env.runner.steps)
        expected = go_on(original, 40)  # it was never restored
        original.close()
        twin, fresh = copy.deepcopy(env), make(task, **FULL[task])
        fresh.restore(snapshot)
        stepped.restore(snapshot)
        for other in (twin, fresh, stepped):
            assert go_on(other, 40) == expected
        twin.close()
        fresh.close()
        seen.add(kind)
        if last is None or kind[0]:
            last = snapshot, expected
    assert last is not None
    assert continued(task, last[0], 40) == last[1] == elsewhere("continued", task, last[0], 40)
    if task in ("stack", "gather", "carry"):
        assert any(held for held, _, _ in seen)
        assert any(drawn for _, drawn, _ in seen)
    if task in ("push", "gather", "keep_away"):
        assert any(touching for _, _, touching in seen)


def test_a_snapshot_that_bullet_cannot_take_changes_nothing() -> None:
    env = make("push")
    env.reset(seed=0)
    env.step({"agent_0": 1})
    before, good = env.digest(), env.snapshot()
    for change in (
        {"bullet": {**good["state"]["bullet"], "sum": "0" * 16}},
        {"poses": [[[9.0, 9.0, 9.0], *pose[1:]] for pose in good["state"]["poses"]]},
        {"poses": good["state"]["poses"][1:]},
        {"play": {**good["state"]["play"], "status": ["flying"]}},
        {"play": {**good["state"]["play"], "objects": []}},
        {"play": {**good["state"]["play"], "gravity": 1e9}},
        {"bullet": {**good["state"]["bullet"], "joints": [0]}},
        {"channel": [2**64, 0]},
        {"mail": {**good["state"]["mail"], "history": [["agent_0", "all", 3]]}},
    ):
        for config in ({}, {"substeps": 16, "size": [9.0, 9.0]}):
            bad = {**good, "state": {**good["state"], **change}}
            with pytest.raises(SnapshotError):
                env.restore({**bad, "config": {**good["config"], **config}})
        assert env.digest() == before
    env.step({"agent_0": 1})
    other = make("push")
    other.restore(good)
    other.step({"agent_0": 1})
    assert env.digest() == other.digest()


RING: dict[str, Any] = {
    "task": "gather",
    "agents": 4,
    "objects": [
        {"position": [0.0, 0.0], "radius": 0.2, "mass": 20.0},
        {"kind": "ball", "position": [2.2, 2.2]},
    ],
    "start_pos": [[0.55, 0.0], [0.0, 0.55], [-0.55, 0.0], [0.0, -0.55]],
    "goal_pos": [-2.0, -2.0],
    "max_steps": 1000,
}
"""Four agents around a heavy box, which all of them can hold at once."""


def fumble(env: Any, dice: Stream) -> None:
    """Let everybody turn until there is something to grip, pull at it, and let go now and then."""
    acts = {}
    for name, mask in zip(env.agents, env.world.masks(), strict=True):
        chance = dice.integer(10)
        if mask[GRIPS] and chance < 7:
            acts[name] = GRIPS
        elif mask[RELEASES]:
            acts[name] = RELEASES if chance == 0 else (1, 2, 3, 5)[dice.integer(4)]
        else:
            acts[name] = 3 if chance < 8 else 2
    env.step(acts)


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_grips_in_any_order_go_on_bit_for_bit(seed: int) -> None:
    orders = check_grips(seed)
    assert all(len(set(order)) == len(order) for order in orders)


def test_grips_of_four_agents_in_many_orders_go_on_bit_for_bit() -> None:
    orders = check_grips(0) | check_grips(2)
    assert any(len(order) == 4 for order in orders)
    assert len(orders) >= 8


def check_grips(seed: int) -> set[tuple[int, ...]]:
    """Compare copies made in a random history of grips with an environment that had none.

    Returns:
        The orders of grips at which there were copies, none of them that of the agents.
    """
    env, original = make(**RING), make(**RING)
    stepped = make(**RING)
    for each, number in ((env, seed), (original, seed), (stepped, seed + 1)):
        each.reset(seed=number)
    for _ in range(20):
        fumble(stepped, Stream(seed, 4))
    dice, later, seen = Stream(seed, 5), Stream(seed, 5), set()
    copies: list[tuple[int, Any, Stream]] = []
    digests = []
    for number in range(120):
        fumble(env, dice)
        order = tuple(env.world.sim.joined)
        if order != tuple(sorted(order)) and order not in seen:
            seen.add(order)
            fresh, place = make(**RING), Stream(0)
            snapshot = json.loads(json.dumps(env.snapshot()))
            place.set_state(dice.get_state())
            fresh.restore(snapshot)
            stepped.restore(snapshot)
            for twin in (fresh, copy.deepcopy(env), pickle.loads(pickle.dumps(stepped))):
                copies.append((number + 1, twin, copy.deepcopy(place)))
    for _ in range(132):
        fumble(original, later)
        digests.append(original.digest())
    for start, twin, place in copies:
        found = []
        for _ in range(12):
            fumble(twin, place)
            found.append(twin.digest())
        assert found == digests[start : start + 12]
        twin.close()
    for each in (env, original, stepped):
        each.close()
    return seen


def test_copies_tell_what_the_last_step_did() -> None:
    env = piase_gym.parallel_env("PhysicsPlayground", task="reach")
    env.reset(seed=0)
    shown = env.step(dict.fromkeys(env.agents, 1))[0]
    assert shown["agent_0"]["text"].startswith("Last step: ")
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.observe_all()[0]["agent_0"]["text"] == shown["agent_0"]["text"]
        twin.close()
    env.close()


def test_logs_of_grips_out_of_order_replay_and_fork(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(make(**{**RING, "max_steps": 60}), path, snapshot_every=5)
    env.reset(seed=0)
    dice, cut, steps = Stream(0, 5), 0, 0
    kept: dict[str, Any] = {}
    while env.agents:
        fumble(env.unwrapped, dice)
        steps += 1
        order = env.unwrapped.world.sim.joined
        if not kept and order != sorted(order):
            cut, kept = steps, env.snapshot()
            env.restore(kept)  # and on it goes from its own snapshot
    env.close()
    assert kept["state"]["bullet"]["joints"]
    report = runs.replay(path)
    assert report.ok, str(report)
    first, second = runs.fork(path, cut).branches[0]
    logged = [e["event_data"] for e in map(json.loads, path.read_text("utf-8").splitlines())]
    digests = [data["digest"] for data in logged if data.get("kind") == "step"]
    assert list(first.digests) == list(second.digests) == digests[cut:]


@pytest.mark.parametrize("task", ["reach", "gather", "carry"])
def test_damaged_states_neither_end_the_process_nor_change_anything(task: str) -> None:
    found = elsewhere("attacked", task, 3, 80)
    assert found["refused"] >= 40
    assert found["taken"] >= 5  # some numbers may be any


@pytest.mark.parametrize("size", [LARGEST - 1, LARGEST + 1, 40 * LARGEST])
def test_states_that_inflate_are_refused_before_they_do(size: int) -> None:
    env = make("reach")
    env.reset(seed=0)
    packed, blank = zlib.compressobj(9), bytes(1 << 20)
    parts = [packed.compress(blank[: min(len(blank), size - at)]) for at in range(0, size, 1 << 20)]
    text = base64.b64encode(b"".join([*parts, packed.flush()])).decode("ascii")
    bad = env.snapshot()
    bad["state"]["bullet"] = {"file": text, "sum": digest_bytes(bytes(size))}
    del parts
    tracemalloc.start()
    with pytest.raises(SnapshotError, match="larger than" if size > LARGEST else "begin with"):
        env.restore(bad)
    assert tracemalloc.get_traced_memory()[1] < 4 * LARGEST
    tracemalloc.stop()
    env.close()


def test_what_bullet_reads_of_a_foreign_file_is_numbers_alone() -> None:
    env = make(**RING)
    env.reset(seed=4)
    own = env.world.sim.save()
    for _ in range(30):
        fumble(env, Stream(4))
    there = env.world.sim.save()
    assert len(there) > len(own)
    moved = rebuilt(there, own, 6)
    assert len(moved) == len(there)
    assert rebuilt(moved, own, 6) == moved == rebuilt(moved, moved, 6)
    with pytest.raises(ValueError, match=r"cut off|part of"):
        rebuilt(there[:-7], own, 6)
    count = there.index(b"CONT") + 24 + 1504  # where the number of contact points is
    for offset, value, word in ((0, 5, "5 points"), (0, -1, "-1 points"), (48, 999, "not there")):
        bad = bytearray(there)
        bad[count + offset : count + offset + 4] = value.to_bytes(4, "little", signed=True)
        with pytest.raises(ValueError, match=word):
            rebuilt(bytes(bad), own, 6)
    none = bytearray(there)
    none[count : count + 4] = bytes(4)  # two things that are near, and touch nowhere
    assert len(rebuilt(bytes(none), own, 6)) == len(there)


def test_many_clients_do_not_disturb_each_other() -> None:
    def play(seed: int) -> Any:
        env = make("gather", agents=2)
        env.reset(seed=seed)
        return env

    alone = []
    for seed in range(6):
        env = play(seed)
        alone.append(go_on(env, 25))
        env.close()
    together = [play(seed) for seed in range(6)]
    acts = [oracle(env) for env in together]
    found = [[env.digest()] for env in together]
    for _ in range(25):
        for env, act, digests in zip(together, acts, found, strict=True):
            env.step(act())
            digests.append(env.digest())
    assert found == alone
    for env in together:
        env.close()


def test_more_clients_than_are_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    first = make("reach")
    first.reset(seed=0)
    monkeypatch.setenv("PIASE_BULLET_CLIENTS", str(live_clients() + 1))
    second, third = make("reach"), make("reach")
    second.reset(seed=0)
    before = first.digest(), second.digest()
    with pytest.raises(CapacityError, match="PIASE_BULLET_CLIENTS"):
        third.reset(seed=0)
    for env in (first, second):  # no further client is needed
        env.restore(env.snapshot())
    assert (first.digest(), second.digest()) == before
    second.close()
    third.reset(seed=0)
    third.world.mine = third.world  # only the collector finds it
    del third, env
    second = make("reach")
    second.reset(seed=0)
    for wrong in ("0", "many", "-3"):
        monkeypatch.setenv("PIASE_BULLET_CLIENTS", wrong)
        with pytest.raises(ConfigError, match=f"PIASE_BULLET_CLIENTS.*{wrong}"):
            make("reach").reset(seed=0)
    first.close()
    second.close()


def test_a_closed_env_is_closed() -> None:
    env = make("reach")
    env.reset(seed=0)
    world = env.world
    env.close()
    env.close()
    world.close()
    with pytest.raises(ClosedError):
        env.reset()


FORK = """
import os, threading, time
from piase_gym.worlds.bullet_client import quiet

begun = threading.Event()

def keep_quiet():
    with quiet():
        begun.set()
        time.sleep(0.3)

thread = threading.Thread(target=keep_quiet)
thread.start()
begun.wait()
child = os.fork()
with quiet():
    pass
os.write(1, b"" if child else b"the fork is heard")
if child:
    thread.join()
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
def test_a_fork_beside_a_quiet_thread_is_heard() -> None:
    words = [sys.executable, "-W", "ignore", "-c", FORK]
    run = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout == "the fork is heard"


@pytest.mark.slow
@pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc")
def test_two_hundred_cycles_leave_the_memory_as_it_was() -> None:
    before, after = elsewhere("memory_of_cycles", 50, 200)  # it grows once, at about the 20th
    assert after <= 1.05 * before


# -- golden rollouts ----------------------------------------------------------------------


def rollout(task: str) -> str:
    """Return a digest of the states and of everything seen in an episode."""
    env = piase_gym.parallel_env(task)
    observations, _ = env.reset(seed=11)
    dice, seen = Stream(7), []
    for _ in range(40):
        seen += [[o["text"], o["vector"].tolist()] for o in observations.values()]
        seen.append([env.digest(), np.asarray(env.state()).tolist()])
        if not env.agents:
            break
        masks = env.world.masks()
        acts = {}
        for name in env.agents:
            legal = masks[env.world.agents.index(name)].nonzero()[0].tolist()
            acts[name] = legal[dice.integer(len(legal))]
        observations, *parts = env.step(acts)
        seen.append([list(part.values()) for part in parts[:3]])
    env.close()
    return digest_json(seen)


@pytest.mark.skipif(HERE not in GOLDEN, reason=f"no rollouts were recorded on {HERE}")
@pytest.mark.parametrize("task", piase_gym.list_tasks("PhysicsPlayground"))
def test_an_id_does_what_it_did(task: str) -> None:
    assert rollout(task) == GOLDEN[HERE][task]


if __name__ == "__main__":
    GOLDEN[HERE] = {task: rollout(task) for task in piase_gym.list_tasks("PhysicsPlayground")}
    FILE.write_text(json.dumps(GOLDEN, indent=1) + "\n", "utf-8")
