"""Replays: equal everywhere, and every change of a log that changes anything is found."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym import runs
from piase_gym.errors import PiaseError, RunError
from piase_gym.wrappers import AvtLogger
from tests.helpers.piaavt import lines
from tests.helpers.run_worlds import WORLDS, grid, keys, play, text
from tests.paths import ROOT


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a run with everything in it: hints, reconfigurations, restores, a partner."""
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    env = AvtLogger(keys(envelope={"width": 8, "height": 8}), path, snapshot_every=25)
    play(env, episodes=2, seed=3)
    env.unwrapped.give_hint("agent_0", "the key is near") if env.agents else None
    env.reset(seed=9)
    env.unwrapped.give_hint("agent_0", "the key is near \u2028 you")
    for _ in range(5):
        env.step(dict.fromkeys(env.agents, 3))
    kept = env.unwrapped.snapshot()
    env.unwrapped.reconfigure({"width": 8, "max_steps": 12})
    play(env, episodes=2, seed=20)
    env.unwrapped.restore(kept)
    for _ in range(5):
        env.step(dict.fromkeys(env.agents, 2))
    env.reset(options={"config": {"height": 8}})
    env.step(dict.fromkeys(env.agents, 1))
    env.close()
    return path


@pytest.mark.parametrize("level", ["actions", "events", "full"])
@pytest.mark.parametrize("world", WORLDS)
def test_replays_are_equal(world: str, level: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.zst"
    env = AvtLogger(WORLDS[world](), path, level=level)
    seen = play(env)
    env.close()
    report = runs.replay(path)
    assert report.ok, str(report)
    assert report.complete
    assert (report.steps, report.episodes) == (seen.steps, 4)


def test_lines_of_text_are_replayed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(text(actions="text"), path, level="full")
    play(env, episodes=5)
    env.close()
    outcomes = {o for e in lines(path) for o in e["event_data"].get("outcomes", {}).values()}
    assert "unparsable" in outcomes
    assert runs.replay(path).ok, str(runs.replay(path))


def test_everything_that_can_happen_is_replayed(log: Path) -> None:
    report = runs.replay(log)
    assert report.ok, str(report)
    kinds = {event["event_data"].get("kind") for event in lines(log)}
    assert {"reset", "step", "hint", "reconfigure", "restore", "snapshot"} <= kinds
    assert runs.validate(log).ok


def test_a_run_that_was_joined_midway_is_replayed(tmp_path: Path) -> None:
    env, path = keys(), tmp_path / "run.jsonl"
    env.reset(seed=4)
    env.step({"agent_0": 3})
    env.reconfigure({"max_steps": 9})
    logged = AvtLogger(env, path)
    logged.step({"agent_0": 3})
    play(logged, episodes=2)
    logged.close()
    report = runs.replay(path)
    assert report.ok, str(report)
    assert report.steps == runs.read(path).summary["steps"]  # type: ignore[index]


@pytest.mark.parametrize("agents", [2, 4])
def test_a_change_of_config_is_replayed_as_it_was(agents: int, tmp_path: Path) -> None:
    path, envelope = tmp_path / "run.jsonl", {"agents": 4}
    inner = piase_gym.parallel_env("SocialDilemma", rounds=3, envelope=envelope)
    env = AvtLogger(inner, path)
    play(env, episodes=1)
    inner.reconfigure({"game": "public_goods", "agents": agents})
    play(env, episodes=1)
    assert len(env.possible_agents) == 4
    assert inner.config.agents == agents
    env.close()
    assert runs.replay(path).ok, str(runs.replay(path))


def test_a_restored_state_keeps_the_config_that_waits_in_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    inner = piase_gym.parallel_env("SocialDilemma", rounds=4, coin=True)
    env = AvtLogger(inner, path)
    env.reset(seed=1)
    inner.reconfigure({"coin": False})
    waiting = inner.snapshot()
    inner.reconfigure({"coin": True})
    env.reset(seed=2)
    inner.restore(waiting)
    play(env, episodes=1)
    assert not inner.config.coin
    env.close()
    assert runs.replay(path).ok, str(runs.replay(path))


PYTHONS = [sys.executable, *filter(None, os.environ.get("PIASE_PYTHONS", "").split(os.pathsep))]
"""Interpreters that replay; others, such as one with another gymnasium, by choice."""


def in_a_process(code: str, path: Path, python: str = sys.executable, **env: str) -> str:
    """Run code in another Python, with a path as its argument; return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    command = [python, "-W", "ignore", "-c", code, str(path)]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("hash_seed", ["0", "1", "31337"])
def test_replays_are_equal_in_another_process(hash_seed: str, python: str, log: Path) -> None:
    code = (
        "import sys; from tests import probes; probes.register(); from piase_gym import runs;"
        "report = runs.replay(sys.argv[1]); print(report.ok, report.steps)"
    )
    told = in_a_process(code, log, python, PYTHONHASHSEED=hash_seed)
    assert told.split() == ["True", str(runs.replay(log).steps)]


def edited(log: Path, tmp_path: Path, change: Callable[[list[Any]], None]) -> Path:
    """Write a log with some events changed."""
    events = lines(log)
    change(events)
    path = tmp_path / "edited.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    return path


def steps_of(events: list[Any]) -> list[Any]:
    """Return the step lines among events."""
    return [event for event in events if event["event_data"].get("kind") == "step"]


def test_every_edited_action_that_changes_anything_is_found(log: Path, tmp_path: Path) -> None:
    dice, found = random.Random(0), 0
    for _ in range(40):
        place = dice.randrange(len(steps_of(lines(log))))
        where: dict[str, Any] = {}

        def change(events: list[Any], place: int = place, where: dict[str, Any] = where) -> None:
            event = steps_of(events)[place]
            agent = dice.choice(sorted(event["event_data"]["commands"]))
            was = event["event_data"]["commands"][agent]
            event["event_data"]["commands"][agent] = dice.choice([i for i in range(6) if i != was])
            where.update(step=event["step"])

        report = runs.replay(edited(log, tmp_path, change))
        if report.first_divergence is not None:
            found += 1
            # What an action changes shows in its own step, or never did.
            assert report.first_divergence.step == where["step"]
        assert not report.ok  # for the seal is broken
        assert report.seal.state == "broken"
    assert found > 30


@pytest.mark.parametrize("part", ["rewards", "outcomes", "terminated", "truncated", "digest"])
def test_the_divergence_names_the_field_and_both_values(
    part: str, log: Path, tmp_path: Path
) -> None:
    values = {"rewards": 0.125, "outcomes": "refused", "digest": "0" * 16}
    was: dict[str, Any] = {}

    def change(events: list[Any]) -> None:
        event = steps_of(events)[7]
        data = event["event_data"]
        was.update(step=event["step"], line=events.index(event) + 1)
        if part == "digest":
            was["value"], data["digest"] = data["digest"], values[part]
        else:
            was["value"] = data[part]["agent_1"]
            data[part]["agent_1"] = values.get(part, True)

    report = runs.replay(edited(log, tmp_path, change))
    found = report.first_divergence
    assert found is not None
    assert found.field == {"rewards": "reward", "outcomes": "outcome"}.get(part, part)
    assert found.agent == (None if part == "digest" else "agent_1")
    assert (found.step, found.line) == (was["step"], was["line"])
    assert (found.logged, found.replayed) == (values.get(part, True), was["value"])
    assert found.field in str(report)


def test_fields_of_the_state_are_named_at_the_next_snapshot(log: Path, tmp_path: Path) -> None:
    def change(events: list[Any]) -> None:
        event = next(e for e in events if e["event_data"].get("kind") == "reset")
        event["event_data"]["seed"] += 1

    report = runs.replay(edited(log, tmp_path, change))
    assert report.first_divergence is not None
    assert report.first_divergence.field == "digest"
    assert report.first_divergence.step == 0
    fields = [detail.field for detail in report.details]
    assert any(field.startswith("state.seed") for field in fields), fields


def test_changed_perceptions_are_found(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path, level="full")
    play(env, episodes=1)
    env.close()

    def change(events: list[Any]) -> None:
        seen = [e for e in events if e["event_type"] == "PERCEPTION_INPUT_RECEIVED"]
        seen[10]["event_data"]["sensor_data"]["vector"][5] += 1

    found = runs.replay(edited(path, tmp_path, change)).first_divergence
    assert found is not None
    assert found.field == "sensor_data.vector[5]"
    assert found.agent is not None


# -- bad input ---------------------------------------------------------------------------------


def damaged(log: Path, tmp_path: Path, damage: Callable[[list[bytes]], list[bytes]]) -> Path:
    """Write a log with its lines damaged."""
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b"\n".join(damage(log.read_bytes().split(b"\n"))))
    return path


DAMAGES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int, str]] = {
    "truncated": (lambda rows: [*rows[:30], rows[30][:40]], 31, "torn"),
    "missing": (lambda rows: rows[:20] + rows[21:], 21, "follows"),
    "duplicated": (lambda rows: rows[:20] + rows[19:], 21, "twice|follows"),
    "reordered": (lambda rows: [*rows[:20], rows[21], rows[20], *rows[22:]], 21, "follows"),
    "interleaved": (
        lambda rows: [*rows[:20], rows[20].replace(b'run_id":"', b'run_id":"x'), *rows[21:]],
        21,
        "another run",
    ),
    "not UTF-8": (lambda rows: [*rows[:20], b'{"a":"\xff"}', *rows[21:]], 21, "UTF-8"),
    "not JSON": (lambda rows: [*rows[:20], b"{'a': 1}", *rows[21:]], 21, "JSON"),
    "empty line": (lambda rows: [*rows[:20], b"", *rows[20:]], 21, "empty"),
    "a list": (lambda rows: [*rows[:20], b"[1]", *rows[21:]], 21, "not an object"),
    "a field less": (
        lambda rows: [*rows[:20], rows[20].replace(b'"agent_id"', b'"agent"'), *rows[21:]],
        21,
        "agent_id",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_reported_with_line_and_reason(name: str, log: Path, tmp_path: Path) -> None:
    damage, line, reason = DAMAGES[name]
    path = damaged(log, tmp_path, damage)
    report = runs.validate(path)
    assert not report.ok
    import re

    assert any(p.line == line and re.search(reason, p.reason) for p in report.problems), str(report)
    again = runs.replay(path)
    assert again.problems
    assert again.ok == (name == "truncated")
    assert list(runs.read(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.update(schema_version=99), "schema version 99"),
        (lambda data: data.update(schema_version="one"), "schema_version"),
        (lambda data: data.update(world="Atlantis"), "Atlantis"),
        (lambda data: data.update(world_version=77), "version 77"),
        (lambda data: data.update(config={"layout": "tag", "agents": 2}), "here is version 2"),
        (lambda data: data["config"].update(colour="red"), "colour"),
        (lambda data: data.pop("agents"), "agents"),
        (lambda data: data.update(control="begin"), "manifest"),
    ],
)
def test_wrong_manifests_are_refused(
    change: Callable[[Any], None], message: str, log: Path, tmp_path: Path
) -> None:
    path = edited(log, tmp_path, lambda events: change(events[0]["event_data"]))
    with pytest.raises(PiaseError, match=message):
        runs.replay(path)


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    with pytest.raises(RunError, match="empty"):
        runs.read(empty)
    assert not runs.validate(empty).ok
    noise = tmp_path / "noise.jsonl"
    noise.write_bytes(random.Random(0).randbytes(5000))
    with pytest.raises(RunError, match="line 1"):
        runs.read(noise)
    assert not runs.validate(noise).ok
    for missing in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(RunError):
            runs.read(missing)


@pytest.mark.parametrize("content", [b"x" * (1 << 20), b"\n" * (1 << 20)])
def test_a_compressed_bomb_is_refused(content: bytes, tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "bomb.jsonl.zst"
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    with path.open("wb") as file:
        for _ in range(100):
            file.write(packer.compress(content))
        file.write(packer.flush())
    assert path.stat().st_size < 100_000
    report = runs.validate(path)
    assert not report.ok
    reasons = [problem.reason for problem in report.problems]
    assert report.count > 100 or "expands" in reasons[-1] or "bytes" in reasons[-1]
    with pytest.raises(RunError, match="line 1"):
        runs.read(path)


def test_damaged_compression_is_reported(log: Path, tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    data = bytearray(zstandard.ZstdCompressor().compress(log.read_bytes()))
    path = tmp_path / "run.jsonl.zst"
    path.write_bytes(bytes(data[: len(data) // 2]))
    assert not runs.validate(path).complete
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    report = runs.validate(path)
    assert not report.ok


def test_an_edit_anywhere_breaks_the_checksum(log: Path, tmp_path: Path) -> None:
    rows = log.read_bytes()
    place = rows.index(b'"reason":"the episode begins"') + 12
    path = tmp_path / "edited.jsonl"
    path.write_bytes(rows[:place] + b"T" + rows[place + 1 :])
    report = runs.validate(path)
    assert [p.reason for p in report.problems] == [
        "lines were changed after they were written (checksum)"
    ]


@pytest.mark.parametrize("name", ["timestamp", "steps", "mean_return", "checksum", "seal"])
def test_an_edit_of_the_summary_breaks_its_seal(log: Path, tmp_path: Path, name: str) -> None:
    *rows, last = log.read_bytes().splitlines(keepends=True)
    assert runs.validate(log).ok
    place = re.search(rb'"%s":"?-?[0-9a-f]*([0-9])' % name.encode(), last)
    assert place is not None
    digit = b"1" if place[1] != b"1" else b"2"
    path = tmp_path / "edited.jsonl"
    path.write_bytes(b"".join(rows) + last[: place.start(1)] + digit + last[place.end(1) :])
    report = runs.validate(path)
    assert not report.ok
    assert "was changed" in str(report) or "were changed" in str(report)


def test_runs_without_steps_cannot_be_replayed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path, level="critical")
    play(env, episodes=1)
    env.close()
    with pytest.raises(RunError, match="critical"):
        runs.replay(path)


# -- killed ------------------------------------------------------------------------------------

KILLED = """
import sys
from piase_gym.wrappers import AvtLogger
from tests.helpers.run_worlds import grid
env = AvtLogger(grid(max_steps=40), sys.argv[1])
n = 0
while True:
    env.reset(seed=n)
    while env.agents:
        env.step(dict.fromkeys(env.agents, n % 6))
    n += 1
    sys.stdout.write(f"{env.recorder.step}\\n")
    sys.stdout.flush()
"""


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.zst"])
def test_a_killed_run_is_read_and_replayed(ending: str, tmp_path: Path) -> None:
    for attempt in range(int(os.environ.get("PIASE_KILLS", "2"))):
        path = tmp_path / f"run{attempt}.{ending}"
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
        )
        assert process.stdout is not None
        told = int(process.stdout.readline())
        time.sleep(random.uniform(0.0, 0.2))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        told = int((rest.split("\n")[:-1] or [told])[-1])
        report = runs.replay(path)
        assert report.ok, str(report)
        assert not report.complete
        assert report.steps >= told  # whole episodes are flushed
        assert runs.validate(path).readable
        assert not runs.validate(path).complete
        assert runs.read(path).summary is None


def test_a_forgotten_run_is_completed_when_the_process_ends(tmp_path: Path) -> None:
    code = KILLED.replace("while True:", "for _ in range(2):") + "\nenv.reset()\n"
    path = tmp_path / "run.jsonl"
    in_a_process(code, path)
    assert runs.validate(path).ok
    assert runs.replay(path).ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_write(tmp_path: Path) -> None:
    code = KILLED.replace("while True:", "for _ in range(2):") + (
        "\nimport os\nenv.reset()\nenv.step(dict.fromkeys(env.agents, 1))\n"
        "child = os.fork()\n"
        "env.step(dict.fromkeys(env.agents, 2 if child else 3))\n"
        "if child:\n    os.waitpid(child, 0)\n    env.close()\n"
    )
    path = tmp_path / "run.jsonl"
    in_a_process(code, path)
    assert runs.validate(path).ok, str(runs.validate(path))
    assert runs.replay(path).ok
