"""Golden rollouts: what an id does is pinned by its version.

When one of these fails, dynamics, rewards, defaults or views have changed: raise the version of
the id, and write the file anew with ``python -m tests.worlds.test_golden``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.core.digest import digest_json
from piase_gym.core.rng import Stream
from piase_gym.registry import task_spec, world_spec

FILE = Path(__file__).with_name("golden.json")
GOLDEN = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def ids() -> list[str]:
    """Return the ids that ship and do the same on every platform."""
    own = [task_spec(task) for task in piase_gym.list_tasks() if task.startswith("piase/")]
    return [row.id for row in own if row.extra is None and world_spec(row.world).extra is None]


SETTINGS: dict[str, dict[str, Any]] = {
    "GridWorld": {"agents": 2, "start_pos": None},
    "TextRoom": {"agents": 2},
    "Household": {"agents": 2},
    "ObjectSearch": {},
    "WordCraft": {},
    "SqlQuery": {"agents": 2},
    "SocialDilemma": {},
}


def draw(env: Any, name: str, dice: Stream) -> int:
    """Draw an action: of a small table any, of a large one mostly those that are legal."""
    count = int(env.action_space(name).n)
    if count <= 16 or dice.integer(8) == 0:
        return dice.integer(count)
    legal = env.world.masks()[env.world.agents.index(name)].nonzero()[0].tolist()
    return int(legal[dice.integer(len(legal))])


def rollout(task: str) -> dict[str, str]:
    """Return digests of the states and of everything seen in two episodes of several agents."""
    spec = task_spec(task)
    crowded = int(spec.config.get("agents", 1)) > 1
    env = piase_gym.parallel_env(task, **({} if crowded else SETTINGS[spec.world]))
    dice, states, seen = Stream(7), [], []
    for _ in range(2):
        observations, _infos = env.reset(seed=11 if not states else None)
        for _ in range(30):
            seen += [[o["text"], o["vector"].tolist()] for o in observations.values()]
            states.append(env.digest())
            if not env.agents:
                break
            result = env.step({name: draw(env, name, dice) for name in env.agents})
            observations = result[0]
            seen.append([list(part.values()) for part in result[1:4]])
        seen.append(np.asarray(env.state()).tolist())
    return {"states": digest_json(states), "seen": digest_json(seen)}


@pytest.mark.parametrize("task", ids())
def test_an_id_does_what_it_did(task: str) -> None:
    assert rollout(task) == GOLDEN[task]


def test_no_id_is_without_a_rollout() -> None:
    assert sorted(GOLDEN) == ids()


if __name__ == "__main__":
    FILE.write_text(json.dumps({task: rollout(task) for task in ids()}, indent=1) + "\n", "utf-8")
