"""Lines of a run as text: their clock, and all that a line says."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from piase_gym.runs.lines import Encoder, Line
from piase_gym.runs.writer import MANY, Sinks, Writer

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = st.lists(st.integers(0, 10**18) | st.integers(0, 3 * 10**9), min_size=1, max_size=8)


@given(TIMES, st.sampled_from([0, 1, 999_999_999, 1_764_396_792_123_456_789]))
def test_timestamps_are_those_of_the_clock_in_any_order(times: list[int], clock: int) -> None:
    encoder = Encoder("r", "e", "GridWorld", clock)
    for ns in times:
        told = encoder.event(Line(ns, "a", "X", 0, 0, {}), 1)["timestamp"]
        at = EPOCH + timedelta(microseconds=(ns + clock) // 1000)
        assert told == at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_a_line_says_all_that_is_known_of_an_event() -> None:
    encoder = Encoder('run "1"', "é", "GridWorld", 0)
    step = "system", "ENVIRONMENT_EVENT_OCCURRED", 7, 2, {"kind": "step", "text": "ü\u2028"}
    wanted = {
        "timestamp": "1970-01-01T00:00:01.500000Z",
        "simulation_run_id": 'run "1"',
        "experiment_id": "é",
        "event_id": 'run "1":9',
        "agent_id": "system",
        "source_component_id": "PiaSE.Environment_GridWorld",
        "source_type": "ENVIRONMENT",
        "log_level": "INFO",
        "event_type": "ENVIRONMENT_EVENT_OCCURRED",
        "step": 7,
        "episode": 2,
        "event_data": {"kind": "step", "text": "ü\u2028"},
    }
    line = encoder.line((1_500_000_000, *step, None, None), 9)
    assert json.loads(line) == wanted
    assert list(json.loads(line)) == list(wanted)
    assert (line.count(b"\n"), len(line.decode().splitlines())) == (1, 1)
    other = encoder.event(Line(1_500_000_000, *step, "PiaAGI.Mine", "DEBUG"), 10)
    changed = {"source_component_id": "PiaAGI.Mine", "source_type": "AGENT", "log_level": "DEBUG"}
    assert other == {**wanted, **changed, "event_id": 'run "1":10'}


def test_many_lines_are_handed_over_without_delay() -> None:
    written: list[bytes] = []
    sinks = Sinks([], "warn")
    sinks.write = written.append  # type: ignore[method-assign]
    writer = Writer(sinks)
    writer.open(Encoder("r", "", "GridWorld", 0))
    flushed = []
    for step in range(2 * MANY):
        writer.take((0, "a", "X", step, 0, {}, None, None))
        if writer.full:
            flushed.append(step + 1)
            writer.flush()
    assert flushed == [MANY, 2 * MANY]
    assert [data.count(b"\n") for data in written] == [MANY, MANY]
