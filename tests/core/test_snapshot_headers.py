"""Headers of snapshots, and interrupts that wait."""

from __future__ import annotations

import json
import signal
import threading
from typing import Any

import pytest

import piase_gym
from piase_gym.core.interrupts import Whole, on_first_interrupt
from piase_gym.core.snapshot import check_snapshot
from piase_gym.errors import SnapshotError
from tests import probes

probes.register()


def test_a_snapshot_is_checked_part_by_part() -> None:
    env = piase_gym.parallel_env("PointProbe", agents=2)
    env.reset(seed=0)
    world = env.world
    good = json.loads(json.dumps(world.snapshot()))
    header, model = world.snapshot_header(), type(world.config)
    config, hints, last = check_snapshot(good, header, model)
    assert (config.agents, hints, last) == (2, [None, None], [None, None])
    for change, told in (
        ({"schema": 2}, r"this snapshot is of PointProbe version \d+ \(schema 2\); allowed here"),
        ({"agents": ["x"]}, r"this snapshot is of the agents \['x'\]; allowed here: agent_0, ag"),
        ({"config": []}, "a snapshot's config is a mapping, not list"),
        ({"config": {"agnts": 1}}, "this snapshot's config is damaged"),
        ({"hints": [None]}, "hints are a list with a string or null an agent"),
        ({"hints": "ab"}, "hints are a list with a string or null an agent"),
        ({"hints": [1, None]}, "hints are a list with a string or null an agent"),
    ):
        with pytest.raises(SnapshotError, match=told):
            check_snapshot({**good, **change}, header, model)
    for key in ("agents", "config", "hints", "last_steps", "state"):
        less = {name: value for name, value in good.items() if name != key}
        with pytest.raises(SnapshotError, match=f"this snapshot lacks {key}$"):
            check_snapshot(less, header, model)
    with pytest.raises(SnapshotError, match="a snapshot is a mapping, not list"):
        check_snapshot([], header, model)


def test_an_interrupt_comes_at_the_end_of_the_outermost_block() -> None:
    whole, done = Whole(), []

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
    whole = Whole()
    whole.watch()
    whole.watch()
    whole.leave()
    assert signal.getsignal(signal.SIGINT) == whole._heard
    whole.leave()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with whole.watched():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


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
        whole = Whole()
        with whole:
            found.append(whole._inside)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT), 0]
