"""PhysicsPlayground's states are values: replay, snapshots, copies, many clients, memory."""

from __future__ import annotations

import copy
import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pybullet")

import piase_gym
from piase_gym.digest import digest_json
from piase_gym.errors import ClosedError, SnapshotError
from piase_gym.rng import Stream
from piase_gym.worlds.physics_playground.scene import AT_WALL
from tests.physics import FULL, TASKS, continued, elsewhere, episode, go_on, make, oracle

FILE = Path(__file__).with_name("golden_physics.json")
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
        original = replayed(task, 11, env.driver.steps)
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
    ):
        with pytest.raises(SnapshotError):
            env.restore({**good, "state": {**good["state"], **change}})
        assert env.digest() == before
    env.step({"agent_0": 1})
    other = make("push")
    other.restore(good)
    other.step({"agent_0": 1})
    assert env.digest() == other.digest()


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


def test_a_closed_env_is_closed() -> None:
    env = make("reach")
    env.reset(seed=0)
    world = env.world
    env.close()
    env.close()
    world.close()
    with pytest.raises(ClosedError):
        env.reset()


@pytest.mark.slow
@pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc")
def test_two_hundred_cycles_leave_the_memory_as_it_was() -> None:
    before, after = elsewhere("memory_of_cycles", 20, 200)
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
@pytest.mark.parametrize("task", piase_gym.tasks("PhysicsPlayground"))
def test_an_id_does_what_it_did(task: str) -> None:
    assert rollout(task) == GOLDEN[HERE][task]


if __name__ == "__main__":
    GOLDEN[HERE] = {task: rollout(task) for task in piase_gym.tasks("PhysicsPlayground")}
    FILE.write_text(json.dumps(GOLDEN, indent=1) + "\n", "utf-8")
