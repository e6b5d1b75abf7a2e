"""What words, numbers and times of the schema mean."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.core.commands import Result
from piase_gym.runs.schema import (
    SCHEMA_VERSION,
    component_id,
    event_number,
    goal_of_result,
    kind_of,
    looks_derived,
    moment_of,
    played_out,
)

KINDS = ("environment", "agent", "dse", "engine")
MOMENTS = (
    "2020-01-01T00:00:10.0Z",
    "2020-01-01T00:00:00.50001Z",
    "2020-01-01T00:00:00.5Z",
    "2020-01-01T00:00:00.000001Z",
    "2020-01-01T00:00:01.0Z",
    "2020-01-01T00:00:00.00001Z",
    "2020-01-01T00:00:00.0Z",
    "2019-12-31T23:59:59.999999Z",
)
ORDER = (7, 6, 3, 5, 2, 1, 4, 0)
"""Which of them comes first, and so on."""


def test_moments_have_the_order_of_time_however_many_digits_they_have() -> None:
    assert sorted(MOMENTS, key=moment_of) == [MOMENTS[place] for place in ORDER]
    assert moment_of("2020-01-01T00:00:00.5Z") == moment_of("2020-01-01T00:00:00.500000Z")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2020-01-01T00:00:00Z",
        "2020-01-01T00:00:00.Z",
        "2020-01-01T00:00:00.0000001Z",
        "2020-01-01T00:00:00.5",
        "2020-01-01 00:00:00.5Z",
        "2020-01-01T00:00:00.5Z\n",
        "2020-01-01T00:00:00.\u0665Z",
        "2020-13-01T00:00:00.5Z",
        "2021-02-29T00:00:00.5Z",
        "2020-01-01T24:00:00.5Z",
        "2020-01-01T00:00:60.5Z",
        "0000-01-01T00:00:00.5Z",
    ],
)
def test_what_is_no_moment_comes_before_all(text: str) -> None:
    assert moment_of(text) == ""


@pytest.mark.parametrize(
    ("text", "schema", "number"),
    [
        ("run:7", 3, 7),
        ("run:0", 2, 0),
        ("run:" + "9" * 19, 3, int("9" * 19)),
        ("run:" + "9" * 20, 3, -1),
        ("run:07", 3, -1),
        ("run:-7", 3, -1),
        ("run:", 3, -1),
        ("run:\u0667", 3, -1),
        ("other:7", 3, -1),
        ("7", 3, -1),
        ("7", 2, -1),
        ("7", 1, 7),
        ("run:7", 1, -1),
        ("07", 1, -1),
    ],
)
def test_the_number_of_a_line_is_written_in_one_way(text: str, schema: int, number: int) -> None:
    assert event_number(text, "run", schema) == number


def test_a_line_without_a_number_is_none_though_the_run_has_no_name() -> None:
    assert event_number("7", "", SCHEMA_VERSION) == -1
    assert event_number(":7", "", SCHEMA_VERSION) == 7


@pytest.mark.parametrize(
    ("reason", "first", "now"),
    [
        ("won", "ACHIEVED", "ACHIEVED"),
        ("ended", "ABANDONED", "ACHIEVED"),
        ("lost", "FAILED", "FAILED"),
        ("drawn", "ABANDONED", "FAILED"),
        ("reset", "ABANDONED", "ABANDONED"),
        ("", "ABANDONED", "ABANDONED"),
    ],
)
def test_a_goal_ends_as_its_episode_does(reason: str, first: str, now: str) -> None:
    assert [goal_of_result(reason, schema) for schema in (1, 2, 3)] == [first, now, now]
    assert goal_of_result(reason) == now
    assert played_out(reason) == (reason in list(Result))


def test_components_are_named_by_what_they_are() -> None:
    found = [component_id(kind, "GridWorld", "agent_1") for kind in KINDS]
    assert found == [
        "PiaSE.Environment_GridWorld",
        "PiaAGI.Agent_agent_1",
        "PiaSE.DSE",
        "PiaSE.SimulationEngine",
    ]


SHAPED = ["commands seed", "seed", "changes", "snapshot", "order", "agent message x"]
SHAPED += ["sender recipient", "change object"]
OTHERS = ["", "kind", "agent", "message", "sender", "recipient x", "change", "object"]


@pytest.mark.parametrize("kind", ["ENVIRONMENT_EVENT_OCCURRED", "ENVIRONMENT_STATE_CHANGED"])
def test_lines_of_the_engine_are_known_by_their_entries(kind: str) -> None:
    assert [
        names for names in SHAPED if not looks_derived(kind, dict.fromkeys(names.split()))
    ] == []
    assert [names for names in OTHERS if looks_derived(kind, dict.fromkeys(names.split()))] == []
    assert not looks_derived("SYSTEM_MESSAGE", {"seed": 1})


@pytest.mark.parametrize("data", [{"kind": ["step"]}, {"kind": "milestone"}, {}])
def test_a_kind_is_that_of_a_line_that_a_replay_executes(data: dict[str, Any]) -> None:
    assert kind_of("ENVIRONMENT_EVENT_OCCURRED", data) is None
    assert kind_of("ENVIRONMENT_EVENT_OCCURRED", {"kind": "step"}) == "step"
    assert kind_of("STATE_UPDATE", {"kind": "step"}) is None
