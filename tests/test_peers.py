"""The benchmarks' measuring, and the comparison with peers."""

from __future__ import annotations

import importlib.util
import io
import sys

import pytest
from rich.console import Console

from piase_gym.benchmarks import peers, throughput
from piase_gym.benchmarks.timing import RateTable, Row, interleave, rate_table, time_row
from piase_gym.errors import ConfigError


def test_timers_are_asked_in_turn_and_the_first_round_is_dropped() -> None:
    asked = []
    answers = {"a": iter([100.0, 1.0, 3.0, 2.0]), "b": iter([0.0, 5.0, 4.0, 6.0])}

    def ask(name: str) -> float:
        asked.append(name)
        return next(answers[name])

    found = interleave({name: lambda _, n=name: ask(n) for name in "ab"}, rounds=3)
    assert found == {"a": 2.0, "b": 5.0}
    assert asked == list("abababab")


def test_a_step_counts_for_all_of_its_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 0.3, 0.6, 0.6])
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    done: list[int] = []
    assert time_row(0.5, Row("x", 4, done.append), burst=30) == pytest.approx(60 * 4 / 0.6)
    assert done == [30, 30]


def test_ratios_are_to_every_base() -> None:
    table = rate_table("t", {"a": 2.0, "b": 4.0, "c": 3.0}, ["a", "b"])
    assert [dict(rate.ratios) for rate in table.rates] == [
        {"a": 1.0, "b": 0.5},
        {"a": 2.0, "b": 1.0},
        {"a": 1.5, "b": 0.75},
    ]
    assert list(rate_table("t", {"a": 2.0, "b": 4.0}).rates[1].ratios) == ["a"]


def test_peers_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIASE_PEERS_PYTHON", sys.executable)
    monkeypatch.setattr(peers, "PEERS", (("Nobody's suite", "nobody", 1),))
    monkeypatch.setattr(peers, "ENVS", (4,))
    report = peers.compare(rounds=1, seconds=0.001)
    assert report.missing == ("Nobody's suite",)
    assert [rate.name for rate in report.table.rates] == [
        "GridWorld, gymnasium.make",
        "GridWorld, make_vec, 4 environments",
        "GridWorld, batch_env, 4 environments",
    ]
    assert all(rate.rate > 0 for rate in report.table.rates)
    screen = io.StringIO()
    throughput.show_peers(report, Console(file=screen, width=120))
    assert "Not installed, so not measured: Nobody's suite" in screen.getvalue()


@pytest.mark.skipif(importlib.util.find_spec("minigrid") is None, reason="minigrid is missing")
def test_minigrid_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIASE_PEERS_PYTHON", sys.executable)
    with peers.peer("minigrid", 1) as timer:
        assert timer is not None
        assert timer(0.01) > 0


def test_an_interpreter_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIASE_PEERS_PYTHON", "/no/such/python")
    with pytest.raises(ConfigError, match="PIASE_PEERS_PYTHON: /no/such/python cannot be started"):
        peers.compare()


def test_tables_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "measure", lambda rows, **_: {row.name: 1.0 for row in rows})
    monkeypatch.setattr(throughput.c_kernel, "available", lambda: False)
    (table,) = throughput.tables()
    assert isinstance(table, RateTable)
    assert table.rates[0].name == "no-op ParallelEnv, 8 agents"
