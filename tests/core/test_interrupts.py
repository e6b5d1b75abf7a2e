"""An interrupt from the keyboard comes between two steps of what is logged, never within one."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import piase_gym
from piase_gym import runs
from piase_gym.core.interrupts import UninterruptedBlocks, on_first_interrupt
from piase_gym.errors import UnsupportedError
from piase_gym.runs.lines import Encoder
from piase_gym.simulation import Simulation
from piase_gym.wrappers import AvtLogger
from tests.interfaces.own_envs import Tower

TEXT: dict[str, Any] = {"view": "text", "actions": "text"}


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def _usual_handler() -> Iterator[None]:
    """Whatever a test does, the handler of before is there again."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_at(line: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt when a log's line of this number is half written."""
    encode = Encoder.line

    def encode_and_interrupt(self: Encoder, item: Any, number: int) -> bytes:
        if number == line:
            interrupt()
        return encode(self, item, number)

    monkeypatch.setattr(Encoder, "line", encode_and_interrupt)


@pytest.mark.parametrize("line", range(2, 15))
def test_a_log_is_valid_wherever_a_loop_is_interrupted(
    line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_at(line, monkeypatch)
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("lost_key", **TEXT), path)

    def play() -> None:
        env.reset(seed=0)
        while env.agents:
            env.step(dict.fromkeys(env.agents, "look"))

    with pytest.raises(KeyboardInterrupt):
        play()
    env.close()
    monkeypatch.undo()
    report = runs.validate(path)
    assert report.problems == []
    assert report.lines > line
    assert runs.replay(path).ok


@pytest.mark.parametrize("line", [2, 5, 9, 12])
def test_a_log_of_a_batch_is_valid_too(
    line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_at(line, monkeypatch)
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.batch_env("GridWorld", num_envs=2, width=5, height=5), path)

    def play() -> None:
        env.reset(seed=0)
        while True:
            env.step([[0], [1]])

    with pytest.raises(KeyboardInterrupt):
        play()
    env.close()
    monkeypatch.undo()
    assert runs.validate(path).problems == []
    assert runs.replay(path).ok


@pytest.mark.parametrize("number", [1, 3])
def test_the_columns_of_a_batch_are_whole_too(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = pytest.importorskip("piase_gym.runs.columns").ColumnFile
    take, taken = columns.take_step, list[int]()

    def interrupt_and_take(self: Any, *row: Any) -> None:
        taken.append(1)
        if len(taken) == number:
            interrupt()
        take(self, *row)

    monkeypatch.setattr(columns, "take_step", interrupt_and_take)
    path = tmp_path / "run.arrow"
    env = AvtLogger(piase_gym.batch_env("GridWorld", num_envs=2, width=5, height=5), path)
    env.reset(seed=0)

    def play() -> None:
        for _ in range(9):
            env.step([[0], [1]])

    with pytest.raises(KeyboardInterrupt):
        play()
    env.step([[3], [2]])
    env.close()
    assert len(taken) == number + 1
    assert runs.replay(path).sound


def test_only_open_logs_hold_interrupts_back(tmp_path: Path) -> None:
    def usual() -> bool:
        return signal.getsignal(signal.SIGINT) is signal.default_int_handler

    path = tmp_path / "run.jsonl"
    env = piase_gym.parallel_env("GridWorld", max_steps=3)
    recorder = runs.record(env, path)
    env.reset(seed=0)
    env.step({"agent_0": 4})
    assert not usual()
    recorder.finish()
    assert usual()
    path.write_bytes(path.read_bytes()[:-40])
    assert runs.replay(path).steps == 1
    assert usual(), "a replay of a log that was cut short holds nothing back"
    runs.Metrics(env)
    del recorder, env
    gc.collect()
    assert usual(), "who follows an environment that is gone holds nothing back"


def test_a_log_that_cannot_begin_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"an older log\n")
    env = piase_gym.as_parallel(Tower({}))
    env.reset(seed=0)
    assert not env.world.capabilities.snapshot
    with pytest.raises(UnsupportedError, match="no snapshots of it"):
        runs.record(env, path, overwrite=True)
    assert path.read_bytes() == b"an older log\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_simulation_is_interrupted_between_two_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    simulation = Simulation("TextRoom", "random", wrap=(lambda env: AvtLogger(env, path),))
    simulation.initialize()
    kind, steps = type(simulation.manager.agents["agent_0"]), 0
    learn = kind.learn

    def learn_and_interrupt(self: Any, feedback: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == 3:
            interrupt()
        learn(self, feedback)

    monkeypatch.setattr(kind, "learn", learn_and_interrupt)
    summary = simulation.run(5)
    assert (summary.stopped, summary.steps, steps) == ("interrupted", 3, 3)
    assert len(simulation.summaries) == 1
    assert runs.validate(path).problems == []
    assert runs.replay(path).steps == 3


def done_in(whole: UninterruptedBlocks, times: int) -> list[int]:
    """Return which of so many interrupts were followed by more, in two blocks in each other."""
    done: list[int] = []

    def work() -> None:
        with whole, whole:
            for number in range(times):
                interrupt()
                done.append(number)

    with pytest.raises(KeyboardInterrupt):
        work()
    return done


def test_an_interrupt_waits_for_the_end_of_the_outer_block_and_a_second_does_not() -> None:
    whole = UninterruptedBlocks()
    assert done_in(whole, 1) == []
    with whole.watched():
        assert done_in(whole, 1) == [0]
        assert done_in(whole, 3) == [0]
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        with whole.watched():
            assert done_in(whole, 1) == [0]
        assert done_in(whole, 1) == [0]
    assert done_in(whole, 1) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_handles_interrupts_already_goes_on_doing_so() -> None:
    heard: list[int] = []
    whole = UninterruptedBlocks()
    signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    with whole.watched(), whole:
        interrupt()
        assert heard == [signal.SIGINT]


def test_other_threads_hold_nothing_back() -> None:
    block, inside, leave = UninterruptedBlocks(), threading.Event(), threading.Event()

    def stay() -> None:
        with block:
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=stay)
    with block.watched():
        thread.start()
        inside.wait(10)
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        leave.set()
        thread.join()


def test_an_interrupt_comes_at_the_end_of_the_outermost_block() -> None:
    whole, done = UninterruptedBlocks(), []

    def once() -> None:
        with whole:
            with whole:
                signal.raise_signal(signal.SIGINT)
                done.append("inner")
            done.append("outer")

    def twice() -> None:
        with whole:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("never")

    with whole.watched():
        with pytest.raises(KeyboardInterrupt):
            once()
        with whole:
            done.append("quiet")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):  # the second comes at once
            twice()
        with whole:
            done.append("calm")
    assert done == ["inner", "outer", "quiet", "calm"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupts_are_watched_until_all_have_left() -> None:
    whole = UninterruptedBlocks()
    whole.watch()
    whole.watch()
    whole.leave()
    assert signal.getsignal(signal.SIGINT) == whole._on_interrupt
    whole.leave()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with whole.watched():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_cells_of_a_notebook_are_watched_as_long_as_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks: list[tuple[str, Any]] = []
    events = SimpleNamespace(register=lambda *hook: hooks.append(hook))
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(events=events))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    whole = UninterruptedBlocks()
    with whole.watched(), whole.watched():
        [(name, begin)] = hooks
        assert name == "pre_run_cell"
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as Jupyter does
        begin(None)
        assert signal.getsignal(signal.SIGINT) == whole._on_interrupt
    begin(None)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_is_a_notice(number: signal.Signals) -> None:
    told: list[str] = []
    before = signal.getsignal(number)
    with on_first_interrupt(lambda: told.append("stop")):
        signal.raise_signal(number)
        assert told == ["stop"]
        assert signal.getsignal(number) is before
    assert signal.getsignal(number) is before
    with on_first_interrupt(lambda: told.append("again")):
        assert signal.getsignal(number) is not before
    assert signal.getsignal(number) is before
    assert told == ["stop"]


def test_in_a_thread_nothing_is_changed() -> None:
    found: list[Any] = []

    def work() -> None:
        with on_first_interrupt(lambda: None):
            found.append(signal.getsignal(signal.SIGINT))
        whole = UninterruptedBlocks()
        with whole:
            found.append(whole._inside)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT), 0]
