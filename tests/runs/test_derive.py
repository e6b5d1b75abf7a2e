"""Which lines follow from what happens in a run, by hand, on a world of three names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.facts import StepResult
from piase_gym.runs.derive import Deriver, act_value
from piase_gym.runs.episode_record import EpisodeRecord
from piase_gym.runs.full import StepObservation
from piase_gym.runs.options import Levels

NAMES = ("a", "b", "c")
NOBODY = (False, False, False)


def small_world(**more: Any) -> Any:
    """Return what a deriver asks of a world."""
    told: dict[str, Any] = {
        "name": "Small",
        "agents": NAMES,
        "alive": [True, True, False],
        "config": object(),
        "manual": SimpleNamespace(goals=lambda number: "find it" if number == 0 else ""),
        "measured": lambda number: {"way": 2.0} if number == 0 else {},
        "result": lambda number: ("won", "lost", "drawn")[number],
        "position": lambda number: (number, 0),
        "vectors": lambda: [[0.0], [1.0], [2.0]],
        "observation_text": lambda number: f"text {number}",
        "hints": [None, "left", None],
        "capabilities": SimpleNamespace(batched=False),
    }
    return SimpleNamespace(**told | more)


def deriver(
    level: str = "events", schema: int = 3, others: dict[str, str] | None = None, **more: Any
) -> Deriver:
    """Return a deriver of a run ``r``."""
    return Deriver(small_world(**more), Levels(level, others, "Small"), "r", schema)


def result(ended: bool = False, **more: Any) -> StepResult:
    """Return what a step did."""
    told: dict[str, Any] = {
        "rewards": [0.5, np.float32(-0.25), 9.0],
        "terminated": NOBODY,
        "truncated": NOBODY,
        "outcomes": [Outcome.OK, Outcome.FAILED, Outcome.OK],
        "notes": {},
    }
    return StepResult(**told | {"ended": ended} | more)


def begun(made: Deriver, slot: int | None = None, playing: tuple[int, ...] = (0, 1)) -> Any:
    """Return the record of an episode of seed 7 that has begun."""
    record = made.open_episode_record(None, slot, 7)
    record.seat(playing)
    made.start_lines(record)
    return record


def test_episodes_begin_with_the_goals_of_those_in_play() -> None:
    made = deriver()
    made.step = 4
    record = made.open_episode_record(None, 2, 7, ns=5)
    record.seat((0, 1))
    assert (record.episode, record.seed, record.ns, record.start) == (0, 7, 5, 4)
    assert not record.begun
    lines = made.start_lines(record)
    assert record.begun
    assert record.joined == {0: 4, 1: 4}

    def goals(name: str, words: str) -> list[Any]:
        goal = f"r:goal_0_{name}"
        created = {
            "goal_id": goal,
            "initial_status": "ACTIVE",
            "description": words,
            "type": "EXTRINSIC_TASK",
            "initial_priority": 5,
            "slot": 2,
        }
        reason = "the episode begins"
        task = {"task_id": goal, "status": "STARTED", "assigned_to_agent_id": name, "metrics": {}}
        return [
            (name, "GOAL_CREATED", created),
            (name, "GOAL_ACTIVATED", {"goal_id": goal, "reason": reason, "slot": 2}),
            (name, "TASK_STATUS_UPDATE", {**task, "slot": 2}),
        ]

    opened = {"seed": 7, "agents": ["a", "b"], "slot": 2}
    first = ("system", "LEARNING_EPISODE_START", opened)
    assert lines == [first, *goals("a", "find it"), *goals("b", "take part in Small")]


def test_logs_of_the_first_schema_have_less() -> None:
    made = deriver(schema=1)
    record = made.open_episode_record(None, 2, 7)
    record.seat((1,))
    _, created, activated, task = made.start_lines(record)
    assert created[2]["goal_id"] == activated[2]["goal_id"] == "goal_0_b"
    assert "initial_status" not in created[2]
    assert "slot" not in task[2]
    second = deriver(schema=2)
    record = second.open_episode_record(None, 2, 7)
    record.seat((1,))
    _, created, _, task = second.start_lines(record)
    assert created[2]["initial_status"] == "ACTIVE"
    assert task[2]["slot"] == 2


def test_levels_leave_out_reports_and_tasks() -> None:
    made = deriver("critical")
    record = made.open_episode_record(None, None, 7)
    record.seat((0,))
    assert [line[1] for line in made.start_lines(record)] == ["GOAL_CREATED", "GOAL_ACTIVATED"]
    assert made.report_lines(record) == []
    ended = made.break_off_lines(record, "reset")
    assert [line[1] for line in ended] == ["GOAL_STATUS_CHANGED", "GOAL_STATE_CHANGED"]


def test_void_episodes_lend_their_number_and_are_counted() -> None:
    made = deriver()
    assert (made.step, made.episodes, made.present) == (0, 0, 0)
    assert (made.messages, made.hints, made.void) == (0, 0, 0)
    first = made.open_episode_record(None, None, 1)
    second = made.open_episode_record(first, None, 2)
    assert (second.episode, made.episodes, made.void) == (0, 1, 1)
    second.begun = True
    third = made.open_episode_record(second, None, 3)
    assert (third.episode, made.episodes, made.void, made.present) == (1, 2, 1, 1)
    made.step, made.messages, made.hints = 6, 2, 3
    told = made.summary([third, None, second], 1.5)
    agents = told.pop("agents")
    assert told == {
        "steps": 6,
        "episodes": 1,
        "void_resets": 2,
        "seconds": 1.5,
        "messages": 2,
        "hints": 3,
    }
    nothing = {"episodes": 0, "achieved": 0, "failed": 0, "abandoned": 0, "steps": 0}
    assert agents == {name: {**nothing, "mean_return": None} for name in NAMES}


def test_an_episode_ends_agent_by_agent() -> None:
    made = deriver()
    made.step = 10
    record = begun(made, slot=1)
    made.step = 12
    record.add([1.0, 2.0, 4.0])
    record.results["a"] = "won"
    world = small_world(alive=[False, True, True])
    lines = made.seat_lines(record, world)
    change = {
        "goal_id": "r:goal_0_a",
        "old_state": "ACTIVE",
        "new_state": "ACHIEVED",
        "reason": "won",
        "metrics": {"return": 1.0, "steps": 2},
        "slot": 1,
    }
    task = {
        "task_id": "r:goal_0_a",
        "status": "COMPLETED_SUCCESS",
        "assigned_to_agent_id": "a",
        "metrics": {"return": 1.0, "steps": 2},
        "slot": 1,
    }
    assert lines[:3] == [
        ("a", "GOAL_STATUS_CHANGED", change),
        ("a", "GOAL_STATE_CHANGED", change),
        ("a", "TASK_STATUS_UPDATE", task),
    ]
    # b plays on; c enters.
    assert [line[:2] for line in lines[3:]] == [
        ("c", "GOAL_CREATED"),
        ("c", "GOAL_ACTIVATED"),
        ("c", "TASK_STATUS_UPDATE"),
    ]
    assert record.playing == (1, 2)
    assert record.joined == {1: 10, 2: 12}
    made.step = 15
    record.add([9.0, 0.5, 4.0])
    record.results |= {"b": "lost", "c": "drawn"}
    lines = made.seat_lines(record, small_world(alive=[False, False, False]))
    assert [line[:2] for line in lines[::3]] == [
        ("b", "GOAL_STATUS_CHANGED"),
        ("c", "GOAL_STATUS_CHANGED"),
        ("system", "LEARNING_EPISODE_END"),
    ]
    assert lines[-1][2] == {
        "seed": 7,
        "steps": 5,
        "results": {"a": "won", "b": "lost", "c": "drawn"},
        "returns": {"a": 1.0, "b": 2.5, "c": 4.0},
        "lengths": {"a": 2, "b": 5, "c": 3},
        "measures": {"a": {"way": 2.0}},
        "slot": 1,
    }
    assert (record.playing, record.joined) == ((), {})
    told = made.summary([record], 0.0)["agents"]
    assert told["a"]["mean_return"] == 1.0
    assert (told["b"]["failed"], told["b"]["steps"], told["b"]["mean_return"]) == (1, 5, 2.5)
    assert made.break_off_lines(record, "reset") == []
    assert made.break_off_lines(None, "reset") == []


def test_what_is_broken_off_is_reported_for_all_in_play() -> None:
    made = deriver(schema=2)
    record = begun(made, playing=(0, 2))
    made.step += 3
    lines = made.break_off_lines(record, "reset")
    assert [line[:2] for line in lines[::2]] == [
        ("a", "GOAL_STATUS_CHANGED"),
        ("c", "GOAL_STATUS_CHANGED"),
        ("system", "LEARNING_EPISODE_END"),
    ]
    assert {line[2]["new_state"] for line in lines if "new_state" in line[2]} == {"ABANDONED"}
    assert lines[-1][2] == {
        "seed": 7,
        "steps": 3,
        "results": {"a": "reset", "c": "reset"},
        "returns": {"a": 0.0, "c": 0.0},
        "lengths": {"a": 3, "c": 3},
    }
    assert record.playing == ()


def test_a_plain_step_has_seven_entries() -> None:
    made = deriver()
    record = begun(made)
    data = made.step_data(record, small_world(), [np.int64(3), 0, 5], result(), [], "d")
    assert data == {
        "kind": "step",
        "commands": {"a": 3, "b": 0},
        "outcomes": {"a": "ok", "b": "failed"},
        "rewards": {"a": 0.5, "b": -0.25},
        "terminated": {"a": False, "b": False},
        "truncated": {"a": False, "b": False},
        "digest": "d",
    }
    assert {type(word) for word in data["outcomes"].values()} == {str}
    assert {type(number) for number in data["rewards"].values()} == {float}
    nothing = result()._replace(rewards=[0, 0, 0])
    for playing, rewards in (((0, 1), {"a": 0.0, "b": 0.0}), ((1,), {"b": 0.0})):
        record.seat(playing)
        data = made.step_data(record, small_world(), [0, 0, 0], nothing, [], "d")
        assert (data["rewards"], str(data["rewards"])) == (rewards, str(rewards))


def test_a_step_tells_all_that_happened_in_it() -> None:
    made = deriver()
    record = begun(made)
    record.submitted = {"a": {"sequence_id": 4}}
    for name in NAMES:
        made.targets.hear("DSE_STEP_ATTEMPT_START", name, {"target_coords": [1, 0]})
    letter = {"sender": "a", "recipient": "b", "message": "hi"}
    said = Command("say", {"text": "hi"})
    invalid = InvalidAction(Outcome.UNPARSABLE, "no such verb")
    notes = {
        1: {"feedback": "You fall.", "milestones": [], "other": 1},
        0: {"milestones": ["door"], "events": ["bang"], "fault": "slow"},
    }
    over = result(True, terminated=[True, False, True], truncated=[False, True, False], notes=notes)
    data = made.step_data(record, small_world(), [said, invalid, 0], over, [letter], "d")
    told = {
        "kind": "step",
        "commands": {
            "a": {"type": "say", "parameters": {"text": "hi"}},
            "b": {"misread": "unparsable", "message": "no such verb"},
        },
        "outcomes": {"a": "ok", "b": "failed"},
        "rewards": {"a": 0.5, "b": -0.25},
        "terminated": {"a": True, "b": False},
        "truncated": {"a": False, "b": True},
        "digest": "d",
        "milestones": {"a": ["door"]},
        "events": {"a": ["bang"]},
        "feedback": {"b": "You fall."},
        "fault": {"a": "slow"},
        "results": {"a": "won", "b": "lost"},
        "targets": ["b"],
        "messages": [letter],
        "submitted": {"a": {"sequence_id": 4}},
    }
    assert data == told
    assert [*data] == [*told]
    assert record.results == {"a": "won", "b": "lost"}
    again = made.step_data(record, small_world(), [None, 1, 0], result(), [], "d")
    assert again["commands"] == {"a": None, "b": 1}
    assert "targets" not in again


@pytest.mark.parametrize(
    ("notes", "letters", "submitted", "slot", "more"),
    [
        ({0: {"events": ["bang"]}}, [], {}, None, {"events": {"a": ["bang"]}}),
        ({}, [{"message": "hi"}], {}, None, {"messages": [{"message": "hi"}]}),
        ({}, [], {"b": {"sequence_id": 1}}, None, {"submitted": {"b": {"sequence_id": 1}}}),
        ({}, [], {}, 0, {"slot": 0}),
    ],
)
def test_each_of_the_rarer_entries_is_told_by_itself(
    notes: Any, letters: Any, submitted: Any, slot: int | None, more: dict[str, Any]
) -> None:
    made = deriver()
    record = begun(made, slot)
    record.submitted = submitted
    told = result(notes=notes)
    data = made.step_data(record, small_world(), [0, 0, 0], told, letters, "d")
    assert {key: data[key] for key in data.keys() - {*"kind commands outcomes".split()}} == {
        "rewards": {"a": 0.5, "b": -0.25},
        "terminated": {"a": False, "b": False},
        "truncated": {"a": False, "b": False},
        "digest": "d",
        **more,
    }


def test_results_come_before_notes_in_a_slot() -> None:
    made = deriver()
    record = begun(made, slot=3)
    made.targets.hear("DSE_STEP_ATTEMPT_START", "a", {"target_coords": [0, 0], "slot": 3})
    over = result(True, terminated=[True, False, False], notes={0: {"events": ["bang"]}})
    data = made.step_data(record, small_world(), [0, 0, 0], over, [], "d")
    assert [*data][7:] == ["slot", "results", "events", "targets"]
    assert data["results"] == {"a": "won"}
    assert data["targets"] == ["a"]


def test_a_new_episode_lets_targets_be_reached_again() -> None:
    made = deriver()
    made.targets.hear("DSE_STEP_ATTEMPT_START", "a", {"target_coords": [0, 0]})
    for slot, other in ((None, 0), (2, 1)):
        record = begun(made, slot)
        for arrived in (["a"], None):
            data = made.step_data(record, small_world(), [0, 0, 0], result(), [], "d")
            assert data.get("targets") == arrived
        made.open_episode_record(None, other, 8)
        data = made.step_data(record, small_world(), [0, 0, 0], result(), [], "d")
        assert data.get("targets") == (["a"] if slot is None else None)


def test_acts_are_written_as_they_were_understood() -> None:
    assert act_value(None) is None
    told = act_value(np.int64(4))
    assert (told, type(told)) == (4, int)
    assert act_value(Command("go", {})) == {"type": "go", "parameters": {}}
    invalid = InvalidAction(Outcome.TOO_LONG, "too long")
    assert act_value(invalid) == {"misread": "too_long", "message": "too long"}


def test_goals_are_described_in_the_config_of_now() -> None:
    made = deriver()
    begun(made)
    changed = small_world(manual=SimpleNamespace(goals=lambda number: f"goal {number}"))

    def words() -> list[str]:
        record = made.open_episode_record(None, None, 1)
        return [made.goal_start_lines(record, n)[0][2]["description"] for n in range(3)]

    world: Any = made.world
    world.manual = changed.manual  # the same config: the words are kept
    assert words() == ["find it", "take part in Small", "take part in Small"]
    made.world.config = object()
    assert words() == ["goal 0", "goal 1", "goal 2"]
    made.take_world(small_world(agents=("x", "y"), manual=changed.manual))
    assert made.agents == ("x", "y")
    assert [*made.tallies] == ["x", "y"]


def test_who_sees_and_whether_objects_are_told_is_a_matter_of_levels() -> None:
    def wanted(*given: Any) -> tuple[list[str], bool]:
        made = deriver(*given)
        return made.seers, made.tells_objects

    assert wanted("full") == (["a", "b", "c"], True)
    assert wanted("full", 2) == (["a", "b", "c"], False)
    assert wanted("events") == ([], False)
    assert wanted("events", 3, {"b": "full"}) == (["b"], False)
    assert wanted("events", 3, {"system": "full"}) == ([], True)
    quiet = deriver()
    assert quiet.first_look(begun(quiet), small_world(), 0) == []


def test_perceptions_before_schema_three() -> None:
    made = deriver("full", 2)
    record = begun(made)
    world = small_world()
    assert made.first_look(record, world, 4) == [
        (
            "a",
            "PERCEPTION_INPUT_RECEIVED",
            {"timestamp": 4.0, "sensor_data": {"vector": [0.0]}, "visible_text": "text 0"},
        ),
        (
            "b",
            "PERCEPTION_INPUT_RECEIVED",
            {
                "timestamp": 4.0,
                "sensor_data": {"vector": [1.0]},
                "visible_text": "text 1",
                "agent_specific_data": {"hint": "left"},
            },
        ),
    ]
    slotted = made.old_percepts(begun(made, 5, (1,)), world, 4)
    vector = {"timestamp": 4.0, "sensor_data": {"vector": [1.0]}, "slot": 5}
    assert slotted == [("b", "PERCEPTION_INPUT_RECEIVED", vector)]
    batched = small_world(capabilities=SimpleNamespace(batched=True))
    (line,) = made.old_percepts(begun(made, None, (0,)), batched, 4)
    assert line[2] == {"timestamp": 4.0, "sensor_data": {"vector": [0.0]}}


def test_changes_of_objects_come_before_perceptions() -> None:
    made = deriver("full")
    record = begun(made, slot=1)
    told = StepObservation([{"object": "key", "change": "moved"}], {}, {"a": {"timestamp": 1.0}})
    perceived = ("a", "PERCEPTION_INPUT_RECEIVED", {"timestamp": 1.0, "slot": 1})
    changed = {"kind": "object", "object": "key", "change": "moved", "slot": 1}
    object_line = ("system", "ENVIRONMENT_STATE_CHANGED", changed)
    assert made.full_lines(record, told) == [object_line, perceived]
    assert deriver("full", 2).full_lines(record, told) == [perceived]


def test_records_pick_out_those_in_play() -> None:
    record = EpisodeRecord(NAMES, None, 3, 1, 0, 0, "r:")
    assert (record.goal(1), record.where) == ("r:goal_3_b", {})
    for playing, picked in (((0, 1, 2), "xyz"), ((0, 2), "xz"), ((1,), "y"), ((), "")):
        record.seat(playing)
        assert record.pick("xyz") == tuple(picked)
        assert record.names == tuple("abc"[n] for n in playing)
        assert record.nobody == dict.fromkeys(record.names, False)
    record.seat((0, 2))
    record.add([1.0, 2.0, 4.0])
    record.add([1.0, 2.0, 4.0])
    assert record.totals == [2.0, 0.0, 8.0]
