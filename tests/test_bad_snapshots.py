"""Damaged snapshots: one clear error each, and nothing of them is taken up."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from piase_gym.errors import (
    EnvelopeError,
    PiaseError,
    SnapshotError,
)
from piase_gym.faces.single import gym_env
from tests.bad_input import (
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
    ("world", "Marbles", SnapshotError, ("Marbles", "GridWorld version 0")),
    ("world", GONE, SnapshotError, ("GridWorld version 0",)),
    ("version", 1, SnapshotError, ("version 1", "GridWorld version 0")),
    ("version", "0", SnapshotError, ("GridWorld version 0",)),
    ("schema", 2, SnapshotError, ("schema 2", "schema 1")),
    *((key, GONE, SnapshotError, ("lacks", key)) for key in ("config", "hints", "state")),
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
from piase_gym.faces.parallel import parallel_env
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
