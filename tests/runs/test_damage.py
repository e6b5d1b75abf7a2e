"""Logs damaged at random: readers give what can be read, or one error of our own that says where.

``PIASE_TRIALS=1000`` damages so many logs instead of a few.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.errors import PiaseError, RunError
from piase_gym.wrappers import AvtLogger
from tests.helpers.run_worlds import grid, keys, play, point, text

TRIALS = int(os.environ.get("PIASE_TRIALS", "25"))
VALUES: list[Any] = [
    *(None, True, -1, 0, 1, 2**63, 2**70, 1e308, 0.5, "", "x", "agent_0", "\u2028", "9" * 30),
    *([], [1], [[]], {}, {"a": 1}, {"type": "x", "parameters": []}, "end", "step"),
]
LINES = [b"null\n", b"[]\n", b"{}\n", b"\xff\xfe\n", b"\x00\n", b"\n", b"[" * 9999 + b"\n"]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[list[bytes]]:
    """Logs of several worlds and levels, as lines."""
    folder, found = tmp_path_factory.mktemp("logs"), []
    for make, level in ((grid, "events"), (keys, "full"), (text, "full"), (point, "actions")):
        path = folder / f"{make.__name__}.jsonl"
        env = AvtLogger(make(), path, level=level, snapshot_every=20)
        play(env, episodes=2)
        env.reset(seed=4)
        attempt = {"order": 1, "target_coords": [1, 1]}
        runs.log(env, "DSE_STEP_ATTEMPT_START", attempt, env.agents[0])
        env.close()
        found.append(path.read_bytes().splitlines(keepends=True))
    path = folder / "batch.jsonl"
    batch = AvtLogger(piase_gym.batch_env("GridWorld", num_envs=3, agents=2, max_steps=5), path)
    batch.reset(seed=0)
    for _ in range(12):
        batch.step(np.ones((3, 2), np.int64))
    batch.close()
    return [*found, path.read_bytes().splitlines(keepends=True)]


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths to all values inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:6])
    for key, item in inner if isinstance(value, dict | list) else ():
        yield (*before, key)
        if isinstance(item, dict | list):
            yield from places(item, (*before, key))


def edited(dice: random.Random, line: bytes) -> bytes:
    """Change or remove one value of a line."""
    try:
        event = inner = json.loads(line)
        *path, last = dice.choice(list(places(event)))
    except (ValueError, IndexError):
        return line
    for key in path:
        inner = inner[key]
    if dice.random() < 0.2 and isinstance(inner, dict):
        del inner[last]
    else:
        inner[last] = dice.choice(VALUES)
    return json.dumps(event).encode() + b"\n"


def damage(dice: random.Random, lines: list[bytes], others: list[bytes]) -> list[bytes]:
    """Edit, double, drop, swap, tear, mix or replace a line."""
    at, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    if dice.random() < 0.3:
        at = dice.choice([0, len(lines) - 1])
    line, rest = lines[at], lines[at + 1 :]
    kind = dice.choice(["edit"] * 6 + ["double", "drop", "swap", "byte", "tear", "mix", "replace"])
    if kind == "tear":
        return [*lines[:at], line[: dice.randrange(len(line) + 1)]]
    if kind == "drop":
        return [*lines[:at], *rest]
    if kind == "swap":
        lines = lines.copy()
        lines[at], lines[other] = lines[other], line
        return lines
    if kind == "byte":
        spot = dice.randrange(len(line))
        line = line[:spot] + bytes([dice.randrange(256)]) + line[spot + 1 :]
    new = {
        "edit": [edited(dice, line)],
        "double": [line, lines[other]],
        "mix": [line, *others[: dice.randrange(1, 20)]],
        "replace": [dice.choice(LINES)],
        "byte": [line],
    }[kind]
    return [*lines[:at], *new, *rest]


def measure(path: Path) -> None:
    """Compute metrics of a log."""
    metrics = runs.Metrics(path)
    for name in ("success_rate", "mean_return", "attempts", "milestone.x", "reached_goal_1"):
        metrics.get_performance_metric("agent_0", name)
    metrics.check_event_occurred("agent_0", {"outcome": "ok"}, {"env_steps": 5})


READERS: dict[str, Callable[[Path], Any]] = {
    "read": lambda path: list(runs.read(path)),
    "replay": runs.replay,
    "stats": lambda path: str(runs.stats(path)),
    "metrics": measure,
    "export": lambda path: runs.export(
        path, path.with_suffix(".out.jsonl"), expand=True, timestamps="epoch", overwrite=True
    ),
    "fork": lambda path: runs.fork(path, at=2, actions={"agent_0": 0}),
}


@pytest.mark.parametrize("seed", range(TRIALS))
def test_damage_is_told_with_line_and_reason(
    seed: int, logs: list[list[bytes]], tmp_path: Path
) -> None:
    dice, path = random.Random(seed), tmp_path / "run.jsonl"
    whole = dice.choice(logs)
    lines = damage(dice, whole, dice.choice(logs))
    if lines and dice.random() < 0.3:
        lines = damage(dice, lines, dice.choice(logs))
    path.write_bytes(b"".join(lines))
    report = runs.validate(path)
    if lines[:-1] != whole[:-1] or len(lines) != len(whole):  # the summary's own line has no sum
        assert not report.ok
    for problem in report.problems:
        assert problem.line >= 1
        assert problem.reason
    for reader in READERS.values():
        with contextlib.suppress(PiaseError):  # anything else fails this test
            reader(path)


def test_a_plot_tells_of_a_damaged_line(logs: list[list[bytes]], tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(logs[0]).replace(b'"outcomes"', b'"outcome"'))
    with pytest.raises(RunError, match=r"line \d+: event_data lacks 'outcomes'"):
        runs.plot(path, tmp_path / "run.png")
