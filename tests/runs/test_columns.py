"""Columns of batches: they expand, byte for byte, to the lines that would have been written."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import itertools
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym import runs
from piase_gym.errors import ConfigError, MissingExtraError, PiaseError, RunError
from piase_gym.runs import columns, recording
from piase_gym.runs.columns import KEY, SEAL
from piase_gym.runs.log_file import Problem, Raw, raw_lines
from piase_gym.runs.options import Options
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from tests.curricula.test_batch import stages
from tests.helpers.cli_runner import piase
from tests.runs.test_forgery import change as change_entry
from tests.runs.test_forgery import forge

pytest.importorskip("pyarrow")
GRID: dict[str, Any] = {"agents": 3, "width": 5, "height": 5, "max_steps": 9}
EVAL = "DSE_ADAPTATION_EVAL"
SEEDS = int(os.environ.get("PIASE_TRIALS", "3"))
LEVELS = ("critical", "actions", "events", "full")


@pytest.fixture(autouse=True)
def same_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock of each recorder count how often it was read."""

    def made(*given: Any) -> Options:  # in place of the class
        clock = itertools.count(10**18, 123_457).__next__
        return dataclasses.replace(Options(*given), clock=clock, epoch=0)

    monkeypatch.setattr(recording, "Options", made)


def text_of(path: Path, level: str | None = None) -> bytes:
    """Return the lines of a log."""
    found = list(raw_lines(path, level))
    assert not [raw for raw in found if isinstance(raw, Problem)]
    return b"".join(raw.data + b"\n" for raw in found if isinstance(raw, Raw))


def anything(env: Any, seed: int = 0, steps: int = 120) -> None:
    """Do anything that can be done with a batch, the same for the same seed."""
    dice = np.random.default_rng(seed)
    batch = env.unwrapped if hasattr(env.unwrapped, "digests") else env.unwrapped.batch
    count, kept = batch.num_envs, None
    env.reset(seed=seed)
    for _ in range(steps):
        what, slot = int(dice.integers(30)), int(dice.integers(count))
        if what == 0:
            env.reset()
        elif what == 1 and env.unwrapped is batch:
            batch.reset(which=[slot], seed=[int(dice.integers(99))] * count)
        elif what == 2:
            batch.give_hint(slot, batch.agents[0], "left \u2028 ünd right")
        elif what == 3:
            batch.reconfigure({"max_steps": int(dice.integers(3, 12))}, [slot])
        elif what == 4:
            data = {"order": 1, "target_coords": [1, 1], "odd": {3: float("nan")}}
            runs.log(env, "DSE_STEP_ATTEMPT_START", data, batch.agents[0])
        elif what == 5:
            kept = batch.snapshot()
        elif what == 6 and kept is not None and len(kept["configs"]) == len(batch.configs):
            batch.restore(kept)
        acts = dice.integers(batch.world.num_actions, size=(count, len(batch.agents)))
        env.step(acts if env.unwrapped is batch else acts[:, 0])


def both(make: Callable[[], Any], folder: Path, play: Callable[[Any], None], **options: Any) -> Any:
    """Log one run as lines and as columns."""
    inner = make()
    paths = folder / "run.jsonl", folder / "run.arrow"
    # All are kept: with Gymnasium 1.2 a wrapper that is collected closes what it wraps.
    loggers = [AvtLogger(inner, path, run_id="the run", **options) for path in paths]
    play(loggers[-1])
    loggers[-1].close()
    return paths


def grid(num_envs: int = 5, **config: Any) -> Any:
    return piase_gym.batch_env("GridWorld", num_envs=num_envs, **{**GRID, **config})


def vector(mode: str, **config: Any) -> Any:
    sizes = {"width": 4, "height": 4, "agents": 3, "max_steps": 9, **config}
    name = "piase_gym:piase/GridWorld-v1"
    return gymnasium.make_vec(name, num_envs=3, autoreset_mode=mode, **sizes)


BATCHES: dict[str, Callable[[], Any]] = {
    "next step": lambda: grid(partners={"agent_1": "random"}),
    "same step": lambda: grid(autoreset="same_step"),
    "disabled": lambda: grid(autoreset="disabled"),
    "key": lambda: grid(layout="door_key", width=6, height=6, agents=2),
    "late": lambda: grid(join_at=(0, 2, 5)),
    "matrix": lambda: piase_gym.batch_env("piase/SocialDilemma-StagHunt-Talk-v1", num_envs=4),
    "commons": lambda: piase_gym.batch_env("piase/SocialDilemma-Harvest-4p-v1", num_envs=2),
    "few": lambda: grid(partners={"agent_0": "random", "agent_2": "random"}),
    "vector, next step": lambda: vector("next_step"),
    "vector, same step": lambda: vector("same_step"),
    "vector, disabled": lambda: vector("disabled"),
    "vector, late": lambda: vector("next_step", join_at=(0, 2, 5)),
}


@pytest.mark.parametrize("name", BATCHES)
def test_columns_expand_to_the_very_lines(name: str, tmp_path: Path) -> None:
    options = {"level": "events", "snapshot_every": 20, "digest_every": 7}
    lines, packed = both(BATCHES[name], tmp_path, anything, **options)
    assert text_of(packed) == lines.read_bytes()
    assert packed.stat().st_size < lines.stat().st_size / 20
    assert runs.validate(packed).ok, str(runs.validate(packed))
    for path in (lines, packed):
        report = runs.replay(path)
        assert report.verdict == "sound", str(report)


@pytest.mark.parametrize("name", BATCHES)
def test_whatever_was_done_with_a_batch_is_sound(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"level": "actions", "snapshot_every": 20, "digest_every": 7}
    for seed in range(SEEDS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        play = functools.partial(anything, seed=seed, steps=50)
        paths = both(BATCHES[name], folder, play, **options)
        for path in paths:
            report = runs.replay(path)
            assert report.verdict == "sound", f"seed {seed}, {path.suffix}: {report}"


@pytest.mark.parametrize("level", LEVELS)
def test_columns_expand_to_any_level(level: str, tmp_path: Path) -> None:
    lines, packed = both(grid, tmp_path, lambda env: anything(env, 1, 30), level=level)
    other = tmp_path / "other.arrow"
    env = AvtLogger(grid(), other, run_id="the run")
    anything(env, 1, 30)
    env.close()
    assert text_of(other, level) == text_of(packed) == lines.read_bytes()
    out = tmp_path / "out.jsonl"
    done = piase("export", str(other), str(out), "--level", level)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == lines.read_bytes()


def test_a_config_can_take_back_what_the_first_one_sets(tmp_path: Path) -> None:
    def make() -> Any:
        return piase_gym.batch_env("SocialDilemma", num_envs=2, coin=True, rounds=4)

    def plays(env: Any) -> None:
        env.reset(seed=0)
        env.unwrapped.reconfigure({"coin": False})
        env.reset(seed=1)
        for _ in range(3):
            _, rewards, *_ = env.step(np.zeros((2, 2), int))
            assert (rewards == 3.0).all()

    written, packed = both(make, tmp_path, plays)
    assert text_of(packed) == text_of(written)
    assert runs.replay(packed).verdict == "sound"


def test_a_log_may_begin_at_any_time(tmp_path: Path) -> None:
    inner = grid(agents=2)
    inner.grow_envelope({"agents": 3, "width": 7})
    paths = tmp_path / "run.jsonl", tmp_path / "run.arrow"
    envs = [AvtLogger(inner, path, run_id="one", level="full") for path in paths]
    inner.grow_envelope({"agents": 4})
    anything(envs[0], 2, 20)
    later = tmp_path / "later.jsonl", tmp_path / "later.arrow"
    envs = [AvtLogger(inner, path, run_id="two", level="full") for path in later]
    anything(envs[0], 3, 20)
    inner.close()
    for lines, packed in (paths, later):
        assert text_of(packed) == lines.read_bytes()
        assert runs.replay(packed).verdict == "sound"


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("kind", ["batch", "partners", "vector"])
def test_curricula_are_in_columns(kind: str, mode: str, tmp_path: Path) -> None:
    paths = tmp_path / "run.jsonl", tmp_path / "run.arrow"
    if kind == "vector":
        inner = vector(mode)
    else:
        partners = {"agent_1": "random"} if kind == "partners" else None
        inner = grid(agents=2, num_envs=4, autoreset=mode, partners=partners)
    _loggers = [AvtLogger(inner, path, run_id="the run") for path in paths]  # kept, as in `both`
    batch = inner.batch if kind == "vector" else inner
    env = CurriculumWrapper(inner, stages() if kind == "vector" else {"agent_0": stages()}, lag=2)
    dice, kept = np.random.default_rng(0), None
    env.reset(seed=3)
    for step in range(200):
        acts = dice.choice([1, 3, 3, 4], (batch.num_envs, len(batch.agents)))
        env.step(acts[:, 0] if kind == "vector" else acts)
        if step % 9 == 8:
            mask = dice.integers(2, size=batch.num_envs).astype(bool)
            mask[step % batch.num_envs] = True
            env.reset(
                **({"options": {"reset_mask": mask}} if kind == "vector" else {"which": mask})
            )
        elif step % 31 == 30:
            kept = batch.snapshot()
        elif kept is not None and step % 37 == 36 and len(kept["configs"]) == len(batch.configs):
            batch.restore(kept)
    env.close()
    assert text_of(paths[1]) == paths[0].read_bytes()
    found = [e["event_data"] for e in runs.read(paths[0]) if e["event_type"] == EVAL]
    assert len({data["in_play"] for data in found}) > (mode != "same_step")
    for path in paths:
        assert runs.replay(path).verdict == "sound", str(runs.replay(path))


@pytest.mark.parametrize("value", [0, 5, -1, True, 1.0, None])
def test_a_forged_count_of_episodes_in_play_is_named(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = CurriculumWrapper(AvtLogger(grid(agents=1), path), stages())
    env.reset(seed=3)
    dice = np.random.default_rng(0)
    for _ in range(60):
        env.step(dice.choice([1, 3, 3, 4], (5, 1)))
    env.close()
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    told = ((n, r) for n, r in enumerate(rows, 1) if r["event_type"] == EVAL)
    at, row = next((n, r) for n, r in told if r["event_data"]["in_play"] not in (0, 1, 5))
    row["event_data"]["in_play"] = value
    path.write_bytes(b"".join(forge(rows)))
    found = runs.replay(path).first_divergence
    assert found is not None
    assert (found.field, found.line, found.agent) == ("in_play", at, "agent_0")


def small(path: Path, **options: Any) -> Path:
    """Log a short run in several chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "CHUNK", 40)
        env = AvtLogger(
            piase_gym.batch_env("GridWorld", num_envs=2, agents=2, width=3, height=3, max_steps=5),
            path,
            run_id="the run",
            digest_every=4,
            **options,
        )
        dice = np.random.default_rng(0)
        env.reset(seed=0)
        for _ in range(24):
            env.step(dice.integers(6, size=(2, 2)))
        env.close()
    return path


def test_a_file_that_is_cut_at_any_byte_reads_to_its_last_whole_chunk(tmp_path: Path) -> None:
    path, cut = small(tmp_path / "run.arrow"), tmp_path / "cut.arrow"
    data, text = path.read_bytes(), text_of(path)
    lengths, refused, whole = set[int](), list[str](), text.splitlines(keepends=True)
    for size in range(0, len(data), 1 if len(data) < 3000 else 7):
        cut.write_bytes(data[:size])
        try:
            found = list(raw_lines(cut))
        except RunError as error:
            refused.append(str(error))
            continue
        lines = [raw.data + b"\n" for raw in found if isinstance(raw, Raw) and not raw.torn]
        if not lines:
            continue
        assert lines == whole[: len(lines)]
        assert len(lines) < len(whole)
        assert all(raw.severity == "warning" for raw in found if isinstance(raw, Problem))
        if len(lines) not in lengths:
            lengths.add(len(lines))
            report = runs.replay(cut)
            assert report.verdict == "equal but unsealed", str(report)
            assert "cut short" in str(report)
            assert runs.validate(cut).readable
            assert not runs.read(cut).complete
    assert len(lengths) > 3
    assert refused
    assert all("line 1" in message for message in refused)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is whole."""
    return small(tmp_path_factory.mktemp("whole") / "run.arrow")


@settings(max_examples=40, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_an_altered_byte_is_found(whole: Path, share: float, change: int) -> None:
    data = bytearray(whole.read_bytes())
    data[int(share * len(data))] ^= change
    path = whole.with_name("altered.arrow")
    path.write_bytes(data)
    try:
        assert runs.replay(path).verdict != "sound"
        assert not runs.validate(path).ok
    except PiaseError:
        pass


def forged(path: Path, change: Callable[[dict[str, Any], list[Any]], None]) -> None:
    """Write a file again with other rows, and seal it as we do."""
    import pyarrow as pa

    with path.open("rb") as file:
        stream = pa.ipc.open_stream(file)
        header, rows = json.loads(stream.schema.metadata[KEY]), stream.read_all().to_pylist()
        schema = stream.schema
    change(header, rows)
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, schema.with_metadata({KEY: json.dumps(header)})) as out:
        out.write_table(pa.Table.from_pylist(rows, schema))
    data = buffer.getvalue().to_pybytes()
    path.write_bytes(data + SEAL + xxhash.xxh3_64(data).hexdigest().encode())


def test_a_forged_action_differs_at_the_next_digest(tmp_path: Path) -> None:
    path = small(tmp_path / "run.arrow")
    logged = [e["event_data"].get("digest") for e in runs.read(path) if e["step"] == 4]

    def change(_header: dict[str, Any], rows: list[Any]) -> None:
        acts = next(row for row in rows if row["actions"])["actions"]
        acts[:] = [(act + 1) % 3 for act in acts]

    forged(path, change)
    report = runs.replay(path)
    assert report.seal.state == "sealed"
    assert report.verdict == "different"
    found = report.first_divergence
    assert found is not None
    assert (found.field, found.step, found.episode, found.slot) == ("digest", 4, 1, 1)
    assert found.logged in logged
    assert found.replayed not in logged
    assert not runs.validate(path).ok


def test_sealed_columns_without_their_end_or_without_a_step_are_damaged(tmp_path: Path) -> None:
    for way in ("end", "step"):
        path = small(tmp_path / f"{way}.arrow")

        def change(_header: dict[str, Any], rows: list[Any], way: str = way) -> None:
            if way == "step":
                rows.remove(next(row for row in rows if row["actions"]))
                return
            for row in rows:
                events = [e for e in json.loads(row["events"] or b"[]") if e["kind"] != "close"]
                row["events"] = json.dumps(events).encode()

        forged(path, change)
        report = runs.replay(path)
        assert report.verdict == "damaged", f"{way}: {report}"


def alter(dice: random.Random, header: dict[str, Any], rows: list[Any]) -> str:
    """Change one thing in a header or in rows; returns what."""
    at = dice.randrange(len(rows))
    way = dice.choice(["action", "event", "event", "drop", "double", "swap", "time", "header"])
    if way == "action":
        acts = dice.choice([row["actions"] for row in rows if row["actions"]])
        place = dice.randrange(len(acts))
        acts[place] = dice.choice([n for n in range(8) if n != acts[place]])
    elif way == "event":
        row = dice.choice([row for row in rows if row["events"]])
        events = json.loads(row["events"])
        place = change_entry(dice, dice.choice(events))
        row["events"] = json.dumps(events).encode()
        return f"event {place}"
    elif way == "drop":
        del rows[at]
    elif way == "double":
        rows.insert(at, rows[at])
    elif way == "swap":
        other = dice.randrange(len(rows))
        rows[at], rows[other] = rows[other], rows[at]
    elif way == "time":
        rows[at]["time"] += datetime.timedelta(days=dice.choice([-9, 9]))
    else:
        change_entry(dice, header)
    return way


def test_altered_columns_that_are_sealed_again(tmp_path: Path) -> None:
    """They are refused, or not sound, or the states of the run are those of the day."""
    path, found = small(tmp_path / "run.arrow", level="full"), Counter[str]()
    data = path.read_bytes()
    days = states_of(path)
    for seed in range(6 * SEEDS):
        path.write_bytes(data)
        told: list[str] = []
        dice = random.Random(seed)
        forged(path, lambda *parts, d=dice, t=told: t.append(alter(d, *parts)))  # type: ignore[misc]
        try:
            report = runs.replay(path)
        except PiaseError:
            found["refused"] += 1
            continue
        found[report.verdict] += 1
        if report.verdict == "sound":
            now = states_of(path)
            assert now.keys() == days.keys(), f"seed {seed}, {told}"
            other = [step for step in days if now[step] != days[step]]
            # until the next digests, whatever was done led to the same states
            assert all(step % 4 for step in other), f"seed {seed}, {told}, {other}"
    assert found["different"] + found["damaged"] + found["refused"] > 2 * SEEDS


def states_of(path: Path) -> dict[int, list[str]]:
    """Return the digests of the lines of each step."""
    found: dict[int, list[str]] = {}
    for event in runs.read(path):
        if "digest" in event["event_data"]:
            found.setdefault(event["step"], []).append(event["event_data"]["digest"])
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, _: h.update(format=99), "format 99"),
        (lambda h, _: h.pop("manifest"), "header"),
        (lambda h, _: h["manifest"].update(world_version=99), "rules differ"),
        (lambda _, rows: rows[1]["actions"].__setitem__(0, 200), "damaged"),
        (lambda _, rows: rows[1]["actions"].pop(), "damaged"),
        (lambda _, rows: rows[0].update(events=b"[3]"), "damaged"),
        (lambda _, rows: rows[0].update(events=b"{"), "damaged"),
    ],
)
def test_what_makes_no_sense_is_named(change: Any, message: str, tmp_path: Path) -> None:
    path = small(tmp_path / "run.arrow")
    forged(path, change)
    try:
        report = runs.replay(path)
    except RunError as error:
        assert message in str(error)  # noqa: PT017 - or a report
    else:
        assert report.verdict == "damaged"
        assert message in str(report)


def test_every_tool_takes_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, packed = both(grid, tmp_path, lambda env: anything(env, 4, 40), level="events")
    assert runs.stats(packed) == runs.stats(lines)
    one, other = runs.read(lines), runs.read(packed)
    assert list(one) == list(other)
    assert other.complete
    assert other.summary == one.summary
    asked = [("agent_0", name, {"env_steps": 30}) for name in ("mean_return", "illegal_rate")]
    for question in asked:
        values = [runs.Metrics(path).get_performance_metric(*question) for path in (lines, packed)]
        assert values[0] == values[1] is not None
    query = "SELECT agent_id, sum(reward) FROM steps GROUP BY agent_id ORDER BY agent_id"
    pytest.importorskip("duckdb")
    assert one.sql(query) == other.sql(query)
    forks = [runs.fork(p, at=3, actions={"agent_0": "stay"}, slot=1) for p in (lines, packed)]
    assert forks[0].effect == forks[1].effect
    for name in ("run.csv", "run.parquet", "run.jsonl.gz"):
        outs = [runs.export(p, tmp_path / f"{p.suffix}{name}") for p in (lines, packed)]
        same = [Path(str(out)).read_bytes() for out in outs]
        assert same[0] == same[1]
    runs.render(packed, tmp_path / "run.gif", slot=1, stop=3)
    runs.plot(packed, tmp_path / "run.png")
    for words in (["validate"], ["replay"], ["stats"]):
        done = piase(*words, str(packed))
        assert done.returncode == 0, done.stderr


def test_what_is_not_allowed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.arrow"
    with pytest.raises(ConfigError, match="for batches"):
        AvtLogger(piase_gym.parallel_env("GridWorld"), path)
    with pytest.raises(ConfigError, match="sinks take lines"):
        AvtLogger(grid(), path, sinks=[runs.MemorySink()])
    with pytest.raises(ConfigError, match="digest_every"):
        AvtLogger(grid(), path, digest_every=0)
    with pytest.raises(ConfigError, match="unknown level"):
        AvtLogger(grid(), path, level="loud")
    assert not path.exists() or not path.stat().st_size
    AvtLogger(grid(), path, overwrite=True).close()
    with pytest.raises(ConfigError, match="loud"):
        runs.read(path, level="loud")
    with pytest.raises(RunError, match="lines already"):
        runs.read(Path(__file__).with_name("run_v2_grid.jsonl"), level="full")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"piase-gym\[data\]"):
        AvtLogger(grid(), tmp_path / "other.arrow")
    with pytest.raises(MissingExtraError, match=r"piase-gym\[data\]"):
        runs.read(path)


def test_rows_are_read_while_the_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.arrow"
    env = AvtLogger(grid(), path, run_id="the run")
    assert runs.read(path).run_id == "the run"
    env.reset(seed=0)
    for number in range(1, 4):
        env.step(np.zeros((5, 3), np.int32))
        env.recorder.flush()
        assert max(event["step"] for event in runs.read(path)) == number
    assert not runs.read(path).complete
    env.close()
    assert runs.read(path).complete


@pytest.mark.parametrize("ending", ["arrow", "jsonl"])
def test_a_run_that_nobody_can_end_any_more_has_all_that_happened(
    ending: str, tmp_path: Path
) -> None:
    """So it is at the end of a process, where what plays was thrown away and not closed."""
    path = tmp_path / f"run.{ending}"
    env = AvtLogger(grid(), path, level="actions")
    recorder: Any = env.recorder
    out = recorder.file if ending == "arrow" else recorder.out
    env.reset(seed=0)
    for _ in range(4):
        env.step(np.zeros((5, 3), np.int32))
    env.unwrapped.give_hint(0, "agent_0", "Go.")
    out.shut()
    out.shut()  # does no harm
    run = runs.read(path)
    assert (max(event["step"] for event in run), run.complete) == (4, False)
    assert any(event["event_data"].get("message") == "Go." for event in run)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "CHUNK", 40)
    path = tmp_path / "run.arrow"
    env = AvtLogger(grid(), path, run_id="the run")
    env.reset(seed=0)
    child = os.fork()
    for _ in range(20):
        env.step(np.zeros((5, 3), np.int32))
    if not child:
        env.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    env.close()
    report = runs.replay(path)
    assert (report.verdict, report.steps) == ("sound", 90), str(report)
