"""Lines written in bulk are byte for byte those written one by one."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym import runs
from piase_gym.core.commands import OUTCOMES
from piase_gym.core.world import StepResult
from piase_gym.runs import env_recorder, press, press_records, recorder, writer
from piase_gym.runs.bulk import SHORT, BulkEncoder
from piase_gym.runs.episode_record import EpisodeRecord, add_up
from piase_gym.runs.lines import Extra
from piase_gym.runs.options import Levels
from piase_gym.runs.press import Block
from piase_gym.runs.stretch import Notation, Rows, Stretch
from piase_gym.wrappers import AvtLogger
from tests.helpers.piaavt import lines
from tests.helpers.run_worlds import grid, keys

NAMES = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4, unique=True)
REWARDS = st.floats(width=64) | st.sampled_from([0.0, -0.0, 1.0, -0.1, 1e300, 1e16])
LEVELS = ("actions", "events", "full")


def extras(count: int) -> Any:
    """Draw what else there is to tell of a step."""
    flags = st.none() | st.lists(st.booleans(), min_size=count, max_size=count)
    more = st.dictionaries(st.text(max_size=5), st.text(max_size=5) | REWARDS, max_size=2)
    return st.builds(Extra, terminated=flags, truncated=flags, more=more)


@st.composite
def stretches(draw: Any) -> tuple[list[str], Rows]:
    """Draw plain steps of some of some agents; clocks cross milliseconds and seconds."""
    agents = draw(NAMES)
    playing = tuple(i for i in range(len(agents)) if draw(st.booleans())) or (0,)
    count, length = draw(st.integers(1, 3 * SHORT)), draw(st.integers(4, 6))
    few = [draw(REWARDS) for _ in range(3)]
    dice = np.random.default_rng(draw(st.integers(0, 2**32)))
    gaps = dice.choice([1, 900, 10**6, 3 * 10**8], count).cumsum().tolist()
    episode_record = EpisodeRecord(agents, None, draw(st.integers(0, 10**9)), 0, 0, 0)
    episode_record.seat(playing)
    digest = lambda: f"{dice.integers(0, 2**63):016x}"  # noqa: E731
    world: Any = SimpleNamespace(agents=agents, digest=digest, num_actions=256)
    notation = Notation(world, digests=True, vectors=False)
    found = Stretch(
        episode_record, notation, draw(st.integers(0, 10**12)), draw(st.integers(0, 10**6))
    )
    for gap in gaps:
        acts = dice.integers(0, 256, len(agents)).tolist()
        rewards = [few[i] for i in dice.integers(0, 3, len(agents))]
        outcomes = [OUTCOMES[i] for i in dice.integers(0, 7, len(agents))]
        if draw(st.integers(0, 9)) == 0:
            found.extras[found.step + len(found.notes) + 1] = draw(extras(len(playing)))
        note = notation.pack(
            gap, episode_record, acts, StepResult(rewards, [], [], outcomes, False, {})
        )
        found.vectors.append(dice.integers(0, 256, len(agents) * length, np.uint8).tobytes())
        found.notes.append(note)
    (rows,) = found.take()
    return agents, rows


@settings(deadline=None, max_examples=150)
@given(stretches(), st.sampled_from(LEVELS), st.data())
def test_bulk_is_one_by_one(drawn: tuple[list[str], Rows], level: str, data: Any) -> None:
    agents, taken = drawn
    others = {data.draw(st.sampled_from(agents)): data.draw(st.sampled_from(LEVELS))}
    wants = Levels(level, others, "World").wants
    seers = [name for name in agents if wants(name, "PERCEPTION_INPUT_RECEIVED")]
    if not seers:
        taken.vectors.clear()
    texts = []
    for whole in (True, False):
        encoder = BulkEncoder('run "1"', "näme", "World", wants)
        encoder.clock, encoder.count = 1_700_000_000 * 10**9, 98
        encoder.table = [{"type": "go", "parameters": {"way": "\u2028"}}] * 100
        encoder.agents, encoder.seers = agents, seers
        encoder.set_detail(3 if "full" in (level, *others.values()) else 2, True)
        if whole:
            texts.append("".join(encoder.rows(taken)))
        else:
            texts.append("".join([encoder.step(item) for item in encoder.items(taken)]))
    assert texts[0] == texts[1]
    assert texts[0].count("\n") >= len(taken)


@settings(deadline=None, max_examples=100)
@given(stretches(), st.integers(1, 6), st.sampled_from([1, 1 << 11, 1 << 18]))
def test_pressed_records_are_one_by_one(drawn: Any, most: int, room: int) -> None:
    _, taken = drawn
    taken.vectors.clear()
    encoders = []
    for _ in range(2):
        encoder = BulkEncoder('run "1"', "näme", "World", Levels("actions", None, "World").wants)
        encoder.clock, encoder.count = 1_700_000_000 * 10**9, 98
        encoders.append(encoder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(press, "MOST", most)
        patch.setattr(press_records, "ROOM", room)
        compiled = press_records.RecordPress(encoders[0], taken.notation)
        for _ in range(2):
            pressed = b"".join(compiled.write(taken))
            singly = [encoders[1].step(item) for item in encoders[1].items(taken)]
            assert pressed.decode() == "".join(singly)
            compiled.rewind()
    totals = np.zeros((2, taken.notation.agents))
    taken.notation.add_up(taken.data, totals[0])
    taken.notation.compiled = None
    taken.notation.add_up(taken.data, totals[1])
    np.testing.assert_array_equal(totals[0], totals[1])


def test_sums_of_rewards_do_not_depend_on_groups() -> None:
    dice = np.random.default_rng(0)
    values = dice.normal(size=(999, 2)) * 10.0 ** dice.integers(-9, 9, (999, 2))
    sums = []
    for size in (1, 2, 7, 999):
        episode_record = EpisodeRecord(["a", "b"], None, 0, 0, 0, 0)
        episode_record.seat([0, 1])
        for start in range(0, 999, size):
            if size == 1:
                episode_record.add(values[start].tolist())
            else:
                add_up(values[start : start + size], episode_record.totals)
        sums.append((episode_record.total(0), episode_record.total(1)))
    by_hand = [0.0, 0.0]
    for row in values.tolist():
        by_hand = [a + b for a, b in zip(by_hand, row, strict=True)]
    assert sums == [tuple(by_hand)] * 4


def chaos(env: Any, seed: int) -> None:
    """Do anything at any time, the same for the same seed."""
    dice = np.random.default_rng(seed)
    env.reset(seed=seed)
    for _ in range(400):
        what = int(dice.integers(100))
        if what == 0 or not env.agents:
            env.reset(seed=int(dice.integers(100)))
        elif what == 1:
            env.unwrapped.give_hint(env.agents[0], "left \u2028 right")
        elif what == 2:
            env.recorder.flush()
        elif what == 3:
            env.unwrapped.reconfigure({"max_steps": int(dice.integers(5, 40))})
        elif what == 4:
            data = {"order": 1, "target_coords": [1, 1]}
            runs.log(env, "DSE_STEP_ATTEMPT_START", data, env.agents[0])
        elif what == 5:
            env.unwrapped.restore(env.unwrapped.snapshot())
        elif what == 6:
            for _ in range(50):
                if env.agents:
                    env.step(dict.fromkeys(env.agents, 4))
        if env.agents:
            env.step({name: int(dice.integers(env.action_space(name).n)) for name in env.agents})


def logged(make: Any, path: Path, way: str, monkeypatch: Any, **options: Any) -> bytes:
    """Return the log of a run whose clock counts its calls."""
    quick = way != "slow"
    monkeypatch.setattr(writer, "MANY", 1 if way == "compiled" else 10**9)
    monkeypatch.setattr(press_records, "ROOM", 1 << 11)
    monkeypatch.setattr(press, "MOST", 3)
    ticks = itertools.count(10**18, 123_457)
    clock = lambda: next(ticks)  # noqa: E731
    monkeypatch.setattr(env_recorder, "monotonic_ns", clock)
    monkeypatch.setattr(recorder.time, "monotonic_ns", clock)
    monkeypatch.setattr(recorder.time, "time_ns", lambda: 1_700_000_000 * 10**9)
    env = AvtLogger(make(), path, run_id="run", **options)
    out, bulk = env.recorder.writer, []
    take_rows = out._take_rows
    out._take_rows = lambda taken: bulk.append(len(taken)) or take_rows(taken)
    if not quick:
        env.recorder._quick = False
    for seed in range(3):
        chaos(env, seed)
    env.close()
    monkeypatch.undo()
    assert sum(bulk) > 100 if quick else not bulk
    brief = way == "compiled" and options["level"] == "actions"
    assert (out._record_press is not None) == brief
    return path.read_bytes()


@pytest.mark.parametrize("level", ["critical", *LEVELS])
@pytest.mark.parametrize("make", [grid, keys], ids=["grid", "keys"])
def test_runs_are_the_same_bytes(
    make: Any, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"level": level, "snapshot_every": 70}
    if level == "events":
        options |= {"levels": {"agent_1": "full"}}
    wide = lambda: make(max_steps=60)  # noqa: E731
    texts = [
        logged(wide, tmp_path / f"{way}.jsonl", way, monkeypatch, **options)
        for way in ("compiled", "bulk", "slow")
    ]
    assert texts[0] == texts[1] == texts[2]
    path = tmp_path / "compiled.jsonl"
    assert runs.validate(path).ok, str(runs.validate(path))
    if level != "critical":
        assert runs.replay(path).ok, str(runs.replay(path))
        assert len([e for e in lines(path) if e["event_data"].get("kind") == "step"]) > 1000


ODD = [0.0, -0.0, 0.1, 1 / 3, 1e300, float("nan"), -float("inf")]


@st.composite
def blocks(draw: Any) -> tuple[list[str], list[Block]]:
    """Draw plain steps of a batch; clocks cross seconds, more rewards than are known at a time."""
    agents = draw(NAMES)
    dice = np.random.default_rng(draw(st.integers(0, 2**32)))
    count, clock = len(agents), draw(st.integers(0, 2 * 10**9))
    found: list[Block] = []
    for step in range(draw(st.integers(1, 6))):
        clock += int(dice.choice([1, 10**6, 10**9]))
        slots = np.flatnonzero(dice.random(9) < 0.8)
        shape = (len(slots), count)
        rewards = dice.choice(ODD, shape) if dice.random() < 0.8 else dice.normal(size=shape)
        found.append(
            Block(
                clock,
                step + 10**6,
                slots,
                dice.integers(0, 10**9, len(slots)),
                dice.integers(0, 256, shape),
                dice.integers(0, len(OUTCOMES), shape),
                rewards,
                dice.random(shape) < 0.8,
                dice.integers(0, 2**64, len(slots), np.uint64),
            )
        )
    return agents, found


@settings(deadline=None, max_examples=60)
@given(blocks(), st.integers(1, 6))
def test_pressed_is_one_by_one(drawn: tuple[list[str], list[Block]], most: int) -> None:
    agents, found = drawn
    encoders = []
    for _ in range(2):
        encoder = BulkEncoder('run "1"', "näme", "World", Levels("actions", None, "World").wants)
        encoder.clock, encoder.count = 1_700_000_000 * 10**9, 98
        encoder.set_detail(1, True)
        encoders.append(encoder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(press, "MOST", most)
        patch.setattr(press, "ROOM", 1 << 12)
        pressed = b"".join(press.Press(encoders[0], agents).write(found))
    singly = [encoders[1].step(item) for block in found for item in block.items(agents)]
    assert pressed.decode() == "".join(singly)
    assert encoders[0].count == encoders[1].count


@pytest.mark.parametrize("num_envs", [1, 3, 40])
@pytest.mark.parametrize("autoreset", ["disabled", "next_step", "same_step"])
def test_batches_are_the_same_bytes(
    num_envs: int, autoreset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []
    config: dict[str, Any] = {"agents": 3, "width": 4, "height": 4, "max_steps": 7}
    for way in ("pressed", "one by one", "slow"):
        ticks = itertools.count(10**18, 123_457)
        monkeypatch.setattr(recorder.time, "monotonic_ns", lambda ticks=ticks: next(ticks))
        monkeypatch.setattr(recorder.time, "time_ns", lambda: 1_700_000_000 * 10**9)
        monkeypatch.setattr(writer, "FEW", 1 if way == "pressed" else 10**9)
        inner = piase_gym.batch_env("GridWorld", num_envs=num_envs, autoreset=autoreset, **config)
        path = tmp_path / f"{way}.jsonl"
        env = AvtLogger(inner, path, run_id="run", snapshot_every=20)
        env.recorder._never_plain |= way == "slow"
        dice = np.random.default_rng(0)
        env.reset(seed=3)
        for _ in range(50):
            env.step(dice.integers(6, size=(num_envs, 3)))
            if dice.random() < 0.1:
                env.reset(which=dice.random(num_envs) < 0.5)
        assert (env.recorder.writer._press is not None) == (way == "pressed")
        env.close()
        monkeypatch.undo()
        texts.append(path.read_bytes())
    assert texts[0] == texts[1] == texts[2]
    assert runs.validate(path).ok, str(runs.validate(path))
    assert runs.replay(path).ok, str(runs.replay(path))


def test_odd_acts_take_the_slow_way(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld", agents=2, actions="text"), path)
    env.reset(seed=0)
    acts = ["stay", "dance", "turn left", "STAY ", "x" * 5000]
    for _ in range(3 * SHORT):
        for act in acts:
            if env.agents:
                env.step(dict.fromkeys(env.agents, act))
    env.close()
    assert runs.validate(path).ok
    assert runs.replay(path).ok


def test_rewards_of_every_kind_are_written() -> None:
    encoder = BulkEncoder("run", "test", "World", Levels("actions", None, "World").wants)
    party = encoder.parties["a", "b", "c"]
    text = party.rewards[struct.pack("<3d", float("nan"), -0.0, float("inf"))]
    assert text == '{"a":null,"b":-0.0,"c":null},'
    assert party.rewards[struct.pack("<3d", 0.0, 0.0, 0.0)] == '{"a":0.0,"b":0.0,"c":0.0},'
