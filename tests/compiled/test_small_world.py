"""The kernels around a world of a few lines, whose every number is known beforehand.

Agents are paid what they do, and who does 2 has ended, the second agent by a limit; a vector has
the step and the agent's number. The kernels run as plain Python in a process of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

CHILD = """
import json
from types import SimpleNamespace

import numpy as np

from piase_gym.compiled import stepping
from piase_gym.compiled.draws import episode_seed
from piase_gym.compiled.memory import array_at, readable, record

SLOTS, LENGTH, ACTIONS, ENVS = 2, 2, 3, 3
STATE = record([("alive", "u1", SLOTS), ("count", "<i4"), ("seed", "<u8"), *stepping.BOOKKEEPING])
TABLE = record([(n, "<i4") for n in ("agents", "slots", "length", "num_actions")])


def begin(s, w, seed):
    s.count, s.seed, s.fault = 0, seed, 7 if seed == 99 else 0
    for a in range(w.slots):
        s.alive[a] = a < w.agents


def step(s, w, o, acts, rewards, terminated, truncated, events):
    s.count += 1
    ended = 0
    for a in range(w.slots):
        rewards[o + a], events[o + a] = 0.0, 0
        if s.alive[a]:
            rewards[o + a], events[o + a] = acts[o + a] / 2, 1 + acts[o + a]
            if acts[o + a] == 2:
                s.alive[a], ended = 0, ended + 1
                (truncated if a else terminated)[o + a] = True
    return ended


def sight(s, w, a, obs, p):
    obs[p], obs[p + 1] = s.count, 10 + a


def legal(s, w, a, masks, m):
    masks[m : m + w.num_actions] = 1


def rebuild(s, w):
    s.count += 100


def tables(agents=SLOTS):
    found = np.zeros(2, TABLE)
    found["agents"], found["slots"] = [agents, 1], SLOTS
    found["length"], found["num_actions"] = LENGTH, ACTIONS
    return readable(found)


rules = stepping.Rules(begin, step, sight, legal, rebuild, present=9, noop=-1)
kernels = stepping.compile_kernels(rules, "small")
rows = ENVS * SLOTS
arrays = {
    "obs": np.full(rows * LENGTH, 77, np.uint8),
    "masks": np.full(rows * ACTIONS, 77, np.int8),
    "rewards": np.full(rows, 77.0),
    **{name: np.full(rows, 77, np.uint8) for name in stepping.ADDRESSES[3:]},
}
outputs = np.zeros(1, stepping.OUTPUTS)
outputs["rows"] = rows
outputs["codes"][0] = 100 + np.arange(256) % 50
for name, array in arrays.items():
    outputs[name] = array.ctypes.data
states = np.zeros(ENVS, STATE)
outputs, states = readable(outputs), readable(states)
states.given = [1, 2, 99]


def now(*names):
    return {
        **{name: arrays[name].tolist() for name in names or arrays},
        **{name: states[name].tolist() for name in ("count", "over", "ended", "episode", "fault")},
    }


def reset(what, *which):
    return kernels.reset(states, tables(), outputs, np.array(which), what)


def step(*acts, focal=-1):
    given = np.array(acts, np.int32)
    return kernels.step(states, tables(), outputs, given, focal)


seen = {}
seen["faults"] = reset(stepping.BEGIN, 0, 1, 2), now()
seen["first"] = step(0, 1, 1, 1, 2, 2), now()
some = ("rewards", "events", "obs", "terminated", "truncated", "alive")
seen["over"] = step(1, 1, 2, 0, 0, 0), now(*some)
before = now()
seen["stray"] = [step(*acts) for acts in ((0, 0, 3, 0, 0, 0), (0, -1, 3, 0, 0, 0), (3,) * 6)]
seen["unchanged"] = before == now()
seen["continued"] = reset(stepping.CONTINUE, 2), now("rewards", "events", "obs", "alive")
seen["seeds"] = states.seed.tolist()
seen["expected seed"] = int(episode_seed(np.uint64(99), np.uint64(1)))
seen["shown"] = reset(stepping.SHOW, 1), now("rewards", "events", "obs", "terminated", "outcomes")
seen["rebuilt"] = reset(stepping.REBUILD, 0), now("rewards", "events", "obs")
states.next_config = [0, 1, 0]
seen["next"] = reset(stepping.NEXT, 1), now("obs", "masks", "alive", "events")
seen["config"] = states.config.tolist()
states.over = 0
seen["focal 1"] = step(2, 0, 0, 0, 0, 0, focal=1), states.over.tolist()
seen["focal 0"] = step(0, 0, 0, 0, 2, 0, focal=0), states.over.tolist()

single = np.zeros(1, stepping.single(STATE, TABLE, SLOTS))
obs, masks = np.full(SLOTS * LENGTH, 77, np.uint8), np.full(SLOTS * ACTIONS, 77, np.int8)
single["obs"], single["masks"] = obs.ctypes.data, masks.ctypes.data
single["table"] = tables()[0]
one = readable(single)


def alone():
    names = ("rewards", "events", "terminated", "truncated")
    state = single["state"][0]
    told = {name: state[name].item() for name in ("count", "seed", "given", "episode", "over")}
    return {
        "obs": obs.tolist(),
        "masks": masks.tolist(),
        **{name: single[name][0].tolist() for name in names},
        **told,
    }


def act(*acts, coded=0):
    single["acts"], single["coded"] = acts, coded
    return kernels.step_one(one)


single["state"]["episode"] = single["state"]["over"] = 5
single["rewards"], single["truncated"] = 3.0, 1
seen["one"] = kernels.reset_one(one, stepping.BEGIN, 4), alone()
seen["one fault"] = kernels.reset_one(one, stepping.BEGIN, 99)
kernels.reset_one(one, stepping.BEGIN, 4)
seen["one step"] = act(2, 1), alone()
seen["one wrong"] = [act(0, 3), act(0, -1), act(3, 3)], single["state"]["count"].tolist()
seen["one coded"] = [act(0, -1, coded=1), act(9, 1), act(0, 2)], alone()
seen["one rebuilt"] = kernels.reset_one(one, stepping.REBUILD, 0), alone()
seen["codes"] = stepping.ABSENT, stepping.NONE, sorted(stepping.AUTORESET.items())
print(json.dumps(seen, default=int))
"""


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """What the kernels did."""
    command = [sys.executable, "-W", "error", "-c", CHILD]
    settings = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_episodes_begin(seen: dict[str, Any]) -> None:
    faults, now = seen["faults"]
    assert faults == 1  # the seed 99 makes no level
    assert now == {
        "obs": [0, 10, 0, 11] * 3,
        "masks": [1] * 18,
        "rewards": [0.0] * 6,
        "terminated": [0] * 6,
        "truncated": [0] * 6,
        "events": [9] * 6,
        "alive": [1] * 6,
        "outcomes": [109] * 6,
        "count": [0] * 3,
        "over": [0] * 3,
        "ended": [0] * 3,
        "episode": [0] * 3,
        "fault": [0, 0, 7],
    }


def test_all_environments_make_a_step(seen: dict[str, Any]) -> None:
    over, now = seen["first"]
    assert over == 1
    assert now == {
        "obs": [1, 10, 1, 11] * 3,  # who ends sees the end
        "masks": [1] * 18,
        "rewards": [0.0, 0.5, 0.5, 0.5, 1.0, 1.0],
        "terminated": [0, 0, 0, 0, 1, 0],
        "truncated": [0, 0, 0, 0, 0, 1],
        "events": [1, 2, 2, 2, 3, 3],
        "alive": [1, 1, 1, 1, 0, 0],
        "outcomes": [101, 102, 102, 102, 103, 103],
        "count": [1] * 3,
        "over": [0, 0, 1],
        "ended": [0, 0, 1],
        "episode": [0] * 3,
        "fault": [0, 0, 7],
    }


def test_what_is_over_stays_as_it_is(seen: dict[str, Any]) -> None:
    over, now = seen["over"]
    assert over == 1
    assert now["rewards"] == [0.5, 0.5, 1.0, 0.0, 0.0, 0.0]
    assert now["events"] == [2, 2, 3, 1, 0, 0]
    assert now["obs"] == [2, 10, 2, 11] * 2 + [0] * 4
    assert (now["terminated"], now["truncated"]) == ([0, 0, 1, 0, 0, 0], [0] * 6)
    assert now["alive"] == [1, 1, 0, 1, 0, 0]
    assert (now["count"], now["over"], now["ended"]) == ([2, 2, 1], [0, 0, 1], [0, 0, 0])


def test_acts_that_are_not_in_the_table_change_nothing(seen: dict[str, Any]) -> None:
    assert seen["stray"] == [-3, -2, -1]
    assert seen["unchanged"]


def test_the_next_episode_has_a_seed_of_its_own(seen: dict[str, Any]) -> None:
    """What came of the last step of the one before is kept."""
    faults, now = seen["continued"]
    assert faults == 0
    assert now["obs"][8:] == [0, 10, 0, 11]
    assert now["rewards"] == [0.5, 0.5, 1.0, 0.0, 0.0, 0.0]
    assert now["events"] == [2, 2, 3, 1, 0, 0]
    assert (now["alive"], now["over"], now["episode"]) == ([1, 1, 0, 1, 1, 1], [0] * 3, [0, 0, 1])
    assert seen["seeds"] == [1, 2, seen["expected seed"]]
    assert seen["expected seed"] != 99


def test_what_is_there_is_shown_again(seen: dict[str, Any]) -> None:
    faults, now = seen["shown"]
    assert faults == 0
    assert now["obs"][4:8] == [0, 0, 2, 11]  # the first agent of the second has left
    assert now["rewards"] == [0.5, 0.5, 0.0, 0.0, 0.0, 0.0]
    assert now["events"] == [2, 2, 0, 9, 0, 0]
    assert now["terminated"] == [0] * 6
    assert now["outcomes"] == [102, 102, 100, 109, 100, 100]
    faults, now = seen["rebuilt"]
    assert faults == 0
    assert now["obs"][:4] == [102, 10, 102, 11]
    assert now["rewards"][:2] == [0.5, 0.5]
    assert (now["count"], now["episode"]) == ([102, 2, 0], [0, 0, 1])


def test_a_config_holds_from_the_next_episode_on(seen: dict[str, Any]) -> None:
    """In the second table there is one agent; who is not there may do nothing: the last action."""
    faults, now = seen["next"]
    assert faults == 0
    assert seen["config"] == [0, 1, 0]
    assert now["alive"][2:4] == [1, 0]
    assert now["events"][2:4] == [9, 0]
    assert now["obs"][4:8] == [0, 10, 0, 0]
    assert now["masks"][6:12] == [1, 1, 1, 0, 0, 1]
    assert now["episode"] == [0, 1, 1]


def test_the_end_of_one_agent_may_be_the_end(seen: dict[str, Any]) -> None:
    assert seen["focal 1"] == [0, [0, 0, 0]]
    assert seen["focal 0"] == [1, [0, 0, 1]]


def test_one_environment_is_stepped_alone(seen: dict[str, Any]) -> None:
    fault, now = seen["one"]
    assert fault == 0
    assert now == {
        "obs": [0, 10, 0, 11],
        "masks": [1] * 6,
        "rewards": [0.0, 0.0],
        "events": [9, 9],
        "terminated": [0, 0],
        "truncated": [0, 0],
        "count": 0,
        "seed": 4,
        "given": 4,
        "episode": 0,
        "over": 0,
    }
    assert seen["one fault"] == 7
    notable, now = seen["one step"]
    assert notable == 1
    assert (now["rewards"], now["events"], now["terminated"]) == ([1.0, 0.5], [3, 2], [1, 0])
    assert now["obs"] == [1, 10, 1, 11]


def test_one_environment_refuses_what_is_not_in_the_table(seen: dict[str, Any]) -> None:
    """Of agents that have left nothing is asked; codes are taken where they are told."""
    assert seen["one wrong"] == [[-1, -1, -1], [1]]
    answers, now = seen["one coded"]
    assert answers == [0, 0, 1]
    assert (now["count"], now["terminated"], now["rewards"]) == (4, [0, 0], [0.0, 1.0])
    assert now["truncated"] == [0, 1]
    assert now["obs"] == [0, 0, 4, 11]
    assert now["masks"] == [0, 0, 1, 1, 1, 1]
    fault, now = seen["one rebuilt"]
    assert fault == 0
    assert (now["count"], now["events"], now["rewards"]) == (104, [0, 3], [0.0, 1.0])


def test_codes_are_those_that_callers_know(seen: dict[str, Any]) -> None:
    assert seen["codes"] == [-1, 0, [["disabled", 0], ["next_step", 1], ["same_step", 2]]]
