"""Logs that were altered: every change is refused, or named at its line, or shown not to matter.

Each trial changes one thing in one line, or one line, at random. *Plain* changes are made as an
editor would; *forged* ones number all lines anew and compute the seal again, so that only what
follows from the run can tell. ``PIASE_TRIALS=1000`` makes so many trials a log and way.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import xxhash

import piase_gym
from piase_gym import runs
from piase_gym.errors import PiaseError, RunError
from piase_gym.runs.schema import UNSEALED, sealed
from piase_gym.wrappers import AvtLogger
from tests.helpers.run_worlds import grid, keys, play, point, text

TRIALS = int(os.environ.get("PIASE_TRIALS", "20"))
Row = dict[str, Any]
Place = tuple[Any, ...]
DATA = "event_data"


def story(env: Any, path: Path, level: str, **options: Any) -> None:
    """Log everything that can happen: goals of steps, own lines, hints, restores, a broken end."""
    env = AvtLogger(env, path, level=level, snapshot_every=9, **options)
    attempt = {"order": 1, "name": "the corner", "attempt": 1, "target_coords": [1, 1]}
    runs.log(env, "DSE_STEP_ATTEMPT_START", attempt, env.possible_agents[0])
    play(env, episodes=1)
    first = env.possible_agents[0]
    runs.log(env, "DSE_STEP_COMPLETED", {"order": 1, "name": "the corner"}, first)
    runs.log(env, "EMOTION_STATE_UPDATED", {"current_discrete_emotion": "joy"}, first)
    env.reset(seed=5)
    env.unwrapped.give_hint(first, "look around")
    env.step(dict.fromkeys(env.agents, 3))
    kept = env.unwrapped.snapshot()
    env.unwrapped.reconfigure({"max_steps": 7})
    play(env, episodes=1, seed=8)
    env.unwrapped.restore(kept)
    env.step(dict.fromkeys(env.agents, 2))
    env.close()


def batch_story(path: Path, level: str, autoreset: str) -> None:
    """Log a batch."""
    config: dict[str, Any] = {"agents": 2, "width": 4, "height": 3, "max_steps": 5}
    env = piase_gym.batch_env("GridWorld", num_envs=3, autoreset=autoreset, **config)
    logged = AvtLogger(env, path, level=level, snapshot_every=8)
    logged.reset(seed=0)
    dice = np.random.default_rng(0)
    for step in range(9):
        logged.step(dice.integers(6, size=(3, 2)))
        if step == 4:
            env.give_hint(1, "agent_0", "look")
            env.reconfigure({"max_steps": 4}, [2])
            kept = env.snapshot()
        elif step == 6:
            env.restore(kept)
    logged.close()


def vector_story(path: Path, level: str, autoreset: str) -> None:
    """Log a batch in which the end of the learner ends the episode, whoever else plays."""
    name = "piase_gym:piase/GridWorld-v1"
    config: dict[str, Any] = {"agents": 3, "width": 3, "height": 3}
    env = gymnasium.make_vec(name, num_envs=3, autoreset_mode=autoreset, max_steps=9, **config)
    logged = AvtLogger(env, path, level=level, snapshot_every=8)
    logged.reset(seed=0)
    dice = np.random.default_rng(0)
    for step in range(14):
        logged.step(dice.integers(6, size=3))
        if step == 9:
            logged.reset(options={"reset_mask": np.array([True, False, False])})
    logged.close()


LOGS: dict[str, Any] = {
    "grid, actions": lambda path: story(grid(agents=2), path, "actions"),
    "keys, full": lambda path: story(keys(), path, "full"),
    "text, events": lambda path: story(text(), path, "events"),
    "point, full": lambda path: story(point(), path, "full"),
    "some levels": lambda path: story(
        grid(agents=2), path, "actions", levels={"agent_1": "full", "agent_0": "critical"}
    ),
    "batch, actions": lambda path: batch_story(path, "actions", "next_step"),
    "batch, full": lambda path: batch_story(path, "full", "same_step"),
    "vector, events": lambda path: vector_story(path, "events", "next_step"),
    "vector, actions": lambda path: vector_story(path, "actions", "disabled"),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    """The lines of all logs; each is sound."""
    folder, found = tmp_path_factory.mktemp("logs"), {}
    for number, (name, write) in enumerate(LOGS.items()):
        path = folder / f"{number}.jsonl"
        write(path)
        report = runs.replay(path)
        assert report.sound, f"{name}: {report}"
        found[name] = path.read_bytes().splitlines(keepends=True)
    return found


# -- what may be changed -----------------------------------------------------------------------

VALUES: list[Any] = [
    None,
    True,
    False,
    -1,
    0,
    1,
    7,
    0.5,
    -0.5,
    "",
    "x",
    "won",
    "lost",
    "ok",
    [],
    {},
]
TYPES = ["STATE_UPDATE", "GOAL_FAILED", "REWARD_SIGNAL_ISSUED", "ENVIRONMENT_EVENT_OCCURRED", "X"]


def places(value: Any, before: Place = ()) -> Iterator[Place]:
    """Yield the paths to all values inside a value; of long lists the first."""
    inner = list(value.items()) if isinstance(value, dict) else list(enumerate(value[:4]))
    for key, item in inner:
        yield (*before, key)
        if isinstance(item, dict | list):
            yield from places(item, (*before, key))


def change(dice: random.Random, row: Row) -> Place:
    """Change, remove or add one entry of a line; returns which."""
    paths = list(places(row))
    deep = [path for path in paths if path[0] == DATA and len(path) > 1]
    *path, last = dice.choice(deep if deep and dice.random() < 0.8 else paths)
    inner: Any = row
    for key in path:
        inner = inner[key]
    way = dice.random()
    if isinstance(inner, dict) and way < 0.15:
        del inner[last]
    elif isinstance(inner, dict) and way < 0.3:
        inner["more"] = dice.choice(VALUES)
        last = "more"
    else:
        was = inner[last]
        options = [v for v in VALUES if (type(v), v) != (type(was), was)]
        if type(was) in (int, float):
            options += [was + 1, was - 1, -was - 3]
        if last == "event_type":
            options = [kind for kind in TYPES if kind != was]
        inner[last] = dice.choice(options)
    return (*path, last)


SILENT = {"some levels": ("agent_0",)}
"""Agents whose lines of the DSE are left out."""
OWN = {"EMOTION_STATE_UPDATED"}
DSE = {"DSE_STEP_ATTEMPT_START", "DSE_STEP_COMPLETED"}
INPUTS = {"hint", "reconfigure", "restore", "reset"}
MANIFEST = set(
    "versions policies scenario curricula environment level levels schema_version more".split()
)


def free(row: Row, place: Place, silent: tuple[str, ...]) -> bool:
    """Tell whether nothing that follows from the run says what an entry has to be."""
    kind, data = row["event_type"], row[DATA]
    if place == ("timestamp",):
        return True
    if ":step_" in str(data.get("goal_id")) and kind not in DSE and row["agent_id"] in silent:
        return True  # the lines of the curriculum that it follows from are not in the log
    if kind in OWN | DSE:
        return place[0] in (DATA, "log_level", "source_component_id", "source_type", "agent_id")
    if kind == "SIMULATION_CONTROL":
        said = place[1:] or ("",)
        return place[0] == DATA and (
            said[0] in (*MANIFEST, "reason", "checksum", "seal")
            or said[-1] == "seconds"
            or (said[0] == "config" and said[-1] != "config")
        )
    if place[0] != DATA or len(place) < 2:
        return False
    if data.get("kind") == "step":
        return place[1] in ("commands", "messages")
    return data.get("kind") in INPUTS and place[1] in (
        "message",
        "agent",
        "changes",
        "snapshot",
        "seed",
    )


def forge(rows: list[Row]) -> list[bytes]:
    """Number lines anew and seal them, as one would who knows how."""
    run = rows[0].get("simulation_run_id")
    for number, row in enumerate(rows, 1):
        if isinstance(row.get("event_id"), str):
            row["event_id"] = f"{run}:{number}"
    lines = [json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows]
    data = rows[-1].get(DATA)
    if not isinstance(data, dict) or data.get("control") != "end":
        return lines
    digest = xxhash.xxh3_64(b"".join(lines[:-1]))
    data |= {"lines": len(rows), "checksum": digest.hexdigest(), "seal": UNSEALED}
    last = json.dumps(rows[-1], ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    digest.update(last)
    lines[-1] = sealed(last, UNSEALED, digest.hexdigest())
    return lines


def named(report: runs.ReplayReport) -> int | None:
    """Return the line that a report names first."""
    lines = [p.line for p in report.problems if p.severity == "error"]
    if report.first_divergence is not None:
        lines.append(report.first_divergence.line)
    return min(lines, default=None)


def replayed(path: Path) -> runs.ReplayReport | None:
    """Replay a log; ``None`` if it is refused with an error of ours that names the first line."""
    try:
        return runs.replay(path)
    except PiaseError as error:
        if "line 1" not in str(error):
            raise
        return None


@pytest.mark.parametrize("name", LOGS)
def test_forged_entries_are_named_at_their_line(
    name: str, logs: dict[str, list[bytes]], tmp_path: Path
) -> None:
    path, caught = tmp_path / "run.jsonl", 0
    for seed in range(TRIALS):
        dice = random.Random(f"{name} {seed}")
        rows = [json.loads(line) for line in logs[name]]
        at = dice.randrange(len(rows))
        before = json.loads(json.dumps(rows[at]))
        place = change(dice, rows[at])
        if place in (("event_id",), (DATA, "lines")):
            continue  # it is made anew
        path.write_bytes(b"".join(forge(rows)))
        what = f"seed {seed}, line {at + 1}, {place}: {before} -> {rows[at]}"
        report = replayed(path)
        if report is None:
            assert at == 0, what
            caught += 1
            continue
        if free(before, place, SILENT.get(name, ())):
            assert report.ok or (named(report) or 0) > at, f"{what}\n{report}"
            continue
        assert not report.ok, what
        assert named(report) == at + 1, f"{what}\n{report}"
        caught += 1
    assert caught > TRIALS / 4


@pytest.mark.parametrize("way", ["drop", "double", "swap", "move", "tear"])
@pytest.mark.parametrize("name", LOGS)
def test_lines_out_of_place_are_named_themselves(
    name: str, way: str, logs: dict[str, list[bytes]], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    for seed in range(max(3, TRIALS // 8)):
        dice, lines = random.Random(f"{name} {seed}"), list(logs[name])
        at, other = sorted(dice.sample(range(1, len(lines) - 1), 2))
        first = at
        if way == "drop":
            del lines[at]
        elif way == "double":
            lines.insert(at, lines[at])
            first = at + 1
        elif way == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        elif way == "move":
            lines.insert(other, lines.pop(at))
        else:
            lines[at] = lines[at][: dice.randrange(1, len(lines[at]) - 1)] + b"\n"
        path.write_bytes(b"".join(lines))
        report, check = runs.replay(path), runs.validate(path)
        assert named(report) == first + 1, f"{way} {at + 1} {other + 1}: {report}"
        assert check.problems[0].line == first + 1, str(check)
        assert not report.ok
        assert not report.sound
        assert report.seal.state == "broken"
        assert report.verdict in ("different", "damaged")
        assert "sound" not in str(report)
        if way in ("drop", "double"):  # ... and where somebody numbered and sealed them again
            rows = [json.loads(line) for line in lines]
            path.write_bytes(b"".join(forge(rows)))
            again = runs.replay(path)
            gone = json.loads(logs[name][at])
            harmless = gone["event_type"] in OWN | DSE or gone[DATA].get("kind") == "snapshot"
            harmless |= free(gone, (DATA, "goal_id"), SILENT.get(name, ()))
            if not harmless and gone[DATA].get("kind") not in INPUTS:
                assert named(again) in (at, at + 1, at + 2), f"{way} {at + 1}: {gone}\n{again}"


@pytest.mark.parametrize("name", LOGS)
def test_changed_bytes_are_refused_or_named(
    name: str, logs: dict[str, list[bytes]], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    for seed in range(TRIALS):
        dice, lines = random.Random(f"{name} {seed}"), list(logs[name])
        at = dice.randrange(len(lines))
        spot = dice.randrange(len(lines[at]) - 1)
        byte = dice.choice([b for b in range(256) if b not in (lines[at][spot], 10)])
        lines[at] = lines[at][:spot] + bytes([byte]) + lines[at][spot + 1 :]
        path.write_bytes(b"".join(lines))
        assert not runs.validate(path).ok
        report = replayed(path)
        if report is None:
            assert at == 0, f"line {at + 1}"
            continue
        assert not report.sound, f"seed {seed}, line {at + 1}"
        assert not report.ok or at == len(lines) - 1, f"seed {seed}, line {at + 1}"


def test_a_summary_that_is_gone_leaves_an_unsealed_run(
    logs: dict[str, list[bytes]], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    for name, lines in logs.items():
        path.write_bytes(b"".join(lines[:-1]))
        report = runs.replay(path)
        assert (report.seal.state, report.verdict) == ("unsealed", "equal but unsealed"), name
        assert "cut short" in str(report)
        assert not report.sound
        # Without its seal a summary is no better than a broken one.
        rows = [json.loads(line) for line in lines]
        del rows[-1][DATA]["seal"]
        path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
        assert runs.replay(path).seal.state == "broken"
        assert not runs.validate(path).ok


def test_goals_that_are_turned_into_their_contrary_are_found(
    logs: dict[str, list[bytes]], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    for name, lines in logs.items():
        text = b"".join(lines[:-1])
        path.write_bytes(
            text.replace(b'"FAILED"', b'"ACHIEVED"').replace(b'"ABANDONED"', b'"FAILED"')
        )
        found = runs.replay(path).first_divergence
        assert found is not None, name
        assert found.field == "new_state"
        assert found.line == 1 + next(
            i
            for i, row in enumerate(lines)
            if b'"new_state":"F' in row or b'"new_state":"AB' in row
        )


def test_time_does_not_run_backwards(logs: dict[str, list[bytes]], tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    rows = [json.loads(line) for line in logs["grid, actions"]]
    rows[20]["timestamp"] = "2020-01-01T00:00:00.5Z"
    path.write_bytes(b"".join(forge(rows)))
    for problems in (runs.replay(path).problems, runs.validate(path).problems):
        assert problems[0].line == 21
        assert "before" in problems[0].reason


def test_the_level_of_a_manifest_is_named_at_its_line(
    logs: dict[str, list[bytes]], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    rows = [json.loads(line) for line in logs["grid, actions"]]
    rows[0][DATA]["level"] = "lost"
    path.write_bytes(b"".join(forge(rows)))
    with pytest.raises(RunError, match=r"line 1: unknown level 'lost'"):
        runs.replay(path)


def test_a_step_that_is_called_otherwise_is_named_and_not_what_led_to_it(
    logs: dict[str, list[bytes]], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    for name, lines in logs.items():
        rows = [json.loads(line) for line in lines]
        at = next(i for i, row in enumerate(rows) if row[DATA].get("kind") == "step")
        rows[at][DATA]["kind"] = "x"
        path.write_bytes(b"".join(forge(rows)))
        found = runs.replay(path).first_divergence
        assert found is not None, name
        assert (found.line, found.field, found.logged) == (at + 1, "kind", "x"), name


def test_the_step_of_a_batch_s_snapshot_is_compared(
    logs: dict[str, list[bytes]], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    rows = [json.loads(line) for line in logs["batch, full"]]
    at = next(i for i, row in enumerate(rows) if row[DATA].get("kind") == "snapshot")
    rows[at]["step"] += 1
    path.write_bytes(b"".join(forge(rows)))
    found = runs.replay(path).first_divergence
    assert found is not None
    assert (found.line, found.field) == (at + 1, "step")
