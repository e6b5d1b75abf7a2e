"""Damaged snapshots: one clear error each, and nothing of them is taken up."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from piase_gym.envs.aec import aec_env
from piase_gym.envs.batch import BatchEnv, batch_env
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import gym_env
from piase_gym.envs.sync_batch import SyncBatch
from piase_gym.errors import (
    EnvelopeError,
    PiaseError,
    SnapshotError,
)
from piase_gym.interfaces import BaseEnv, Environment
from tests.helpers.bad_input import (
    INF,
    NAN,
    START,
    STAY,
    assert_untouched,
    both_makers,
    fresh,
    refuse,
    run,
    short,
)

# -- snapshots ----------------------------------------------------------------------------

GONE = object()


class Fill(NamedTuple):
    """Stands for an entry of the same shape, filled with one value."""

    value: Any


def filled(old: Any, value: Any) -> Any:
    """Return nested lists of the shape of `old`, filled with a value."""
    return [filled(item, value) for item in old] if isinstance(old, list) else value


def edited(snapshot: Mapping[str, Any], path: str, value: Any) -> Any:
    """Return a copy of a snapshot with one entry replaced or removed; "" is the whole."""
    if not path:
        return value
    damaged = copy.deepcopy(dict(snapshot))
    *outer, last = path.split(".")
    place = damaged
    for key in outer:
        place = place[key]
    if value is GONE:
        del place[last]
    else:
        place[last] = filled(place[last], value.value) if isinstance(value, Fill) else value
    return damaged


NUMBERS = "values are converted instead of checked"
SNAPSHOTS: list[Any] = [
    ("", None, SnapshotError, ("mapping", "NoneType")),
    ("", [], SnapshotError, ("mapping", "list")),
    ("", "GridWorld", SnapshotError, ("mapping", "str")),
    pytest.param("", {}, SnapshotError, ("GridWorld",)),
    ("world", "Marbles", SnapshotError, ("Marbles", "GridWorld version 1")),
    ("world", GONE, SnapshotError, ("GridWorld version 1",)),
    ("version", 0, SnapshotError, ("version 0", "GridWorld version 1")),
    ("version", "1", SnapshotError, ("GridWorld version 1",)),
    ("schema", 2, SnapshotError, ("schema 2", "schema 1")),
    *((key, GONE, SnapshotError, ("lacks", key)) for key in ("config", "hints", "state")),
    *(("agents", value, SnapshotError, ("agents",)) for value in (None, 3, 1.5, True, {}, ["a"])),
    ("config.width", 9, EnvelopeError, ("width 9 (at most 8)",)),
    ("config.agents", 3, EnvelopeError, ("agents 3 (at most 2)",)),
    ("config.observe", "grid", EnvelopeError, ("observe='grid'",)),
    ("config.width", "wide", SnapshotError, ("width", "'wide'")),
    ("config.zebra", 1, SnapshotError, ("'zebra'",)),
    *(("config", value, SnapshotError, ("config",)) for value in (None, 3, "abc", [1], {3: 4})),
    *(
        ("hints", value, SnapshotError, ("hints",))
        for value in (None, 3, ["look", 3], {"agent_0": "look"}, [], [None] * 3, "ab")
    ),
    *(("state", value, SnapshotError, ("GridWorld",)) for value in (None, 3, "x", [], {})),
    ("state.x", GONE, SnapshotError, ("lacks", "'x'")),
    ("state.cells", GONE, SnapshotError, ("lacks", "'cells'")),
    ("state.x", None, SnapshotError, ("'x'",)),
    ("state.x", [0] * 7, SnapshotError, ("'x'", "(7,)", "allowed")),
    ("state.x", [[0] * 8], SnapshotError, ("'x'", "(1, 8)", "allowed")),
    ("state.x", Fill("a"), SnapshotError, ("'x'",)),
    ("state.x", Fill(10**30), SnapshotError, ("'x'",)),
    ("state.heading", Fill(256), SnapshotError, ("'heading'",)),
    ("state.cells", "floor", SnapshotError, ("'cells'",)),
    ("state.cells", [0], SnapshotError, ("'cells'", "(1,)", "allowed")),
    ("state.t", NAN, SnapshotError, ("'t'",)),
    ("state.t", "now", SnapshotError, ("'t'",)),
    ("state.t", 2**31, SnapshotError, ("'t'",)),
    ("state.seed", -1, SnapshotError, ("'seed'",)),
    *(
        pytest.param(path, value, SnapshotError, (path[6:],))
        for path, value in (("state.t", "3"), ("state.t", 1.5), ("state.x", Fill("1")))
    ),
    *(
        (key, GONE, SnapshotError, (key.split(".")[-1],))
        for key in ("episode", "partners", "next_config", "episode.seed", "episode.base")
    ),
    *(
        (f"episode.{key}", value, SnapshotError, (key,))
        for key in ("base", "number", "seed", "steps")
        for value in (None, "x", 1.5, "3", INF, -1, 2**64)
    ),
    ("partners", {"agent_7": {}}, SnapshotError, ("'agent_7'",)),
    pytest.param("next_config", 3, SnapshotError, ("next_config",)),
    ("next_config", {"zebra": 1}, SnapshotError, ("'zebra'",)),
    ("next_config", {"agents": 9}, EnvelopeError, ("agents 9",)),
]


@both_makers
@pytest.mark.parametrize(("path", "value", "error", "words"), SNAPSHOTS, ids=short)
def test_damaged_snapshots(
    make: Callable[..., Any],
    path: str,
    value: Any,
    error: type[PiaseError],
    words: tuple[str, ...],
) -> None:
    env = make("GridWorld", **START)
    env.reset(seed=0)
    damaged = edited(env.snapshot(), path, value)
    env.step(STAY if make is gym_env else dict.fromkeys(env.agents, STAY))
    assert_untouched(env, lambda: refuse(error, words, lambda: env.restore(damaged)))


@pytest.mark.parametrize(
    ("here", "there", "word"),
    [
        ({}, {"envelope": {"width": 20}}, "envelope"),
        ({"envelope": {"width": 20}}, {}, "envelope"),
        ({}, {"agents": 9}, "agent_0, agent_1"),
    ],
    ids=short,
)
def test_snapshots_of_another_envelope(
    here: dict[str, Any], there: dict[str, Any], word: str
) -> None:
    env, other = fresh(**here), fresh(**there)
    snapshot = json.loads(json.dumps(other.snapshot()))
    assert_untouched(env, lambda: refuse(PiaseError, (word,), lambda: env.restore(snapshot)))


ODD: list[Any] = [
    *(None, True, 0, 1, -1, 7, 255, 2**31, 2**63, 2**64, 10**30, 0.5, NAN, INF),
    *("", "x", "agent_0", "agent_7", [], [0], {}, {"a": 1}, [[]], "x" * 400),
]
"""What is put in the place of an entry."""


def damaged_by_chance(rng: random.Random, snapshot: Any) -> Any:
    """Return a copy in which one entry is replaced, removed, doubled or changed a little."""
    damaged = copy.deepcopy(snapshot)
    ways: list[tuple[Any, Any]] = []

    def collect(part: Any) -> None:
        for key in part if isinstance(part, dict) else range(len(part)):
            ways.append((part, key))
            if isinstance(part[key], dict | list):
                collect(part[key])

    collect(damaged)
    short_ways = [way for way in ways if not isinstance(way[0], list)]
    part, key = rng.choice(short_ways if rng.random() < 0.5 else ways)
    kind = rng.randrange(5)
    if kind == 0:
        del part[key]
    elif kind == 1 and isinstance(part, list):
        part.insert(key, part[key])
    elif kind == 2 and type(part[key]) is int:
        part[key] += rng.choice([1, -1, 100, -100, 2**40])
    elif kind == 3 and isinstance(part[key], str) and part[key]:
        place = rng.randrange(len(part[key]))
        part[key] = part[key][:place] + rng.choice("A9z{ ") + part[key][place + 1 :]
    else:
        part[key] = copy.deepcopy(rng.choice(ODD))
    return damaged


def look_of(env: Any) -> str:
    """Return all that a caller can see of an environment, snapshot included."""
    seen: list[Any] = [env.snapshot(), getattr(env, "agents", ())]
    runner = getattr(getattr(env, "unwrapped", env), "runner", None)
    if runner is not None:
        seen += [runner.seed, runner.steps, runner.live, repr(runner.world.config)]
        seen += [repr(runner.next_config), [v.tolist() for v in runner.world.vectors()]]
    batch = env if isinstance(env, BatchEnv) else getattr(env, "batch", None)
    if batch is not None:
        seen += [batch.masks(), batch.alive(), batch.seeds()]
    if isinstance(batch, BatchEnv):
        seen.append(batch.batch.obs)
    if isinstance(batch, SyncBatch):
        seen += [env.world.vectors() for env in batch.envs]
    return json.dumps(seen, default=lambda part: np.asarray(part).tolist())


def slots(name: str, **fields: Any) -> Any:
    """Make slots for SB3, if it is installed."""
    pytest.importorskip("stable_baselines3")
    from piase_gym.adapters import sb3_vec

    return sb3_vec(name, num_envs=2, **fields)


CROWD: dict[str, Any] = {"layout": "multi_room", "doors": "mixed", "symbols": 3, "energy": 50}
TALK: dict[str, Any] = {"agents": 2, "partners": {"agent_1": "random"}}
SNAPSHOT_MAKERS: dict[str, Callable[[], Any]] = {
    "grid": lambda: parallel_env(
        "GridWorld", agents=2, partners={"agent_1": "q_learning"}, **CROWD
    ),
    "tag": lambda: gym_env("piase/GridWorld-Tag-10x10-4p-v2"),
    "rooms": lambda: parallel_env("TextRoom", actions="text", view="text", **TALK),
    "story": lambda: parallel_env("lost_key", actions="text", view="text"),
    "matrix": lambda: gym_env("SocialDilemma", partners="best_response:tit_for_tat"),
    "population": lambda: gym_env("SocialDilemma", partners="population:random,grudger"),
    "commons": lambda: parallel_env("SocialDilemma", game="harvest", agents=3),
    "physics": lambda: parallel_env("PhysicsPlayground", task="push", agents=2),
    "aec": lambda: aec_env("GridWorld", agents=2),
    "environment": lambda: Environment("GridWorld", agents=2),
    "base": lambda: BaseEnv("GridWorld", agents=2),
    "batch": lambda: batch_env("GridWorld", num_envs=3, agents=2, configs=[{"max_steps": 9}]),
    "batch of games": lambda: batch_env("SocialDilemma", num_envs=3),
    "slots": lambda: slots("GridWorld", agents=2),
    "slots of rooms": lambda: slots("TextRoom", **TALK),
}


def begin(env: Any) -> Any:
    """Reset an environment and go on for two steps, if that is simple."""
    if isinstance(env, BatchEnv):
        env.reset(seed=3)
        env.give_hint(1, "agent_0", "look")
        env.step(np.zeros((env.num_envs, len(env.agents)), int))
    elif hasattr(env, "num_envs"):
        env.seed(3)
        env.reset()
        env.step(np.zeros(env.num_envs, int))
    else:
        env.reset(seed=3)
        if isinstance(env, Environment):
            env.step("agent_0", {"action_type": "stay"})
    return env


@pytest.mark.parametrize("name", SNAPSHOT_MAKERS)
def test_a_refused_snapshot_changes_nothing(name: str) -> None:
    if name == "physics":
        pytest.importorskip("pybullet")
    env = begin(SNAPSHOT_MAKERS[name]())
    snapshot = json.loads(json.dumps(env.snapshot(), default=lambda part: part.tolist()))
    env.restore(snapshot)
    before, refused = look_of(env), 0
    rng = random.Random(0)
    for _ in range(20 if name == "physics" else 150):
        damaged = damaged_by_chance(rng, snapshot)
        try:
            env.restore(damaged)
        except PiaseError:
            refused += 1
            assert look_of(env) == before
        else:
            env.snapshot()
            env.restore(snapshot)
            assert look_of(env) == before
    assert refused > 5


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("state.streams", [[2**64, 0]] * 2, "state"),
        ("state.streams", [[0, -1]] * 2, "state"),
        ("state.mail.now", INF, "state"),
        ("state.mail.history", [[1, 2, 3]], "state"),
        (
            "partners.agent_1",
            [],
            "the state of agent_1 in this snapshot is a list, not a mapping",
        ),
        ("partners.agent_1", {"seed": 2**64}, "the state of agent_1 in this snapshot is damaged"),
        ("partners.agent_1", {}, "the state of agent_1 in this snapshot is damaged"),
    ],
    ids=short,
)
def test_damage_of_channels_and_partners(path: str, value: Any, told: str) -> None:
    env = parallel_env("TextRoom", actions="text", view="text", **TALK)
    env.reset(seed=3)
    before = look_of(env)
    damaged = edited(env.snapshot(), path, value)
    env.step({"agent_0": "look"})
    after = look_of(env)
    assert after != before
    refuse(SnapshotError, (told,), lambda: env.restore(damaged))
    assert look_of(env) == after


def test_no_partner_is_changed_if_one_is_damaged() -> None:
    partners = {"agent_1": "random", "agent_2": "random"}
    env = parallel_env("GridWorld", agents=3, partners=partners)
    env.reset(seed=3)
    before, damaged = look_of(env), env.snapshot()
    damaged["partners"] = {"agent_1": {"seed": 7}, "agent_2": {"seed": "x"}}
    refuse(SnapshotError, ("agent_2", "seed"), lambda: env.restore(damaged))
    assert look_of(env) == before


# Values out of range can make kernels write where they should not: each case has a process.
RANGES: list[tuple[str, Any]] = [
    *(("x", value) for value in (-1, 8, 100, 10**6)),
    *(("width", value) for value in (-1, 0, 9, 500)),
    *(("agents", value) for value in (-1, 0, 3, 100)),
    *(("num_goals", value) for value in (-1, 17, 1000)),
    ("heading", 9),
    ("carry", 200),
    ("alive", 2),
    ("t", -5),
    ("goals", 99),
    *(("cells", value) for value in (40, 255)),
]
IN_A_CHILD = """
import json, os, sys, warnings
from piase_gym.errors import SnapshotError
from piase_gym.envs.parallel import parallel_env
start, cases = json.load(sys.stdin)
warnings.simplefilter("ignore")
env = parallel_env("GridWorld", **start)
env.reset(seed=0)
env.restore(env.snapshot())
for name, value in cases:
    child = os.fork()
    if not child:
        code = 3
        try:
            snapshot, digest = env.snapshot(), env.digest()
            fill = lambda old: [fill(item) for item in old] if isinstance(old, list) else value
            snapshot["state"][name] = fill(snapshot["state"][name])
            try:
                env.restore(snapshot)
                code = 2
            except SnapshotError as error:
                code = 0 if repr(name) in str(error) and env.digest() == digest else 4
        finally:
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
MEANINGS = {2: "accepted", 3: "another exception", 4: "a message without the field, or a change"}


@pytest.fixture(scope="module")
def range_results() -> list[str]:
    """Return what became of each case of RANGES."""
    codes = run(IN_A_CHILD, input=json.dumps([START, RANGES])).split()
    return [MEANINGS.get(int(c), f"the process died: {c}") if c != "0" else "" for c in codes]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("case", range(len(RANGES)), ids=lambda case: short(RANGES[case]))
def test_snapshots_with_values_out_of_range(range_results: list[str], case: int) -> None:
    assert range_results[case] == ""
