"""Scripts at work: who is paid, told and ended in many environments at once."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from piase_gym.core.commands import Outcome, Result
from piase_gym.core.script.models import Script
from piase_gym.core.script.observables import Observable, named
from piase_gym.core.script.run import ScriptRun
from piase_gym.core.script.step import after_step
from piase_gym.core.script.turn import Changes, StepArrays
from piase_gym.errors import SnapshotError
from tests import probes

probes.register()

AGENTS = ("ann", "bob")
OWN = {"fact": "apples", "at_least": 1}
PAY = {"type": "reward", "amount": 1.0}
SPOTS = np.array([[[0, 0], [3, 4]], [[0, 1], [3, 3]]])
ROOMS = np.array([["hall", "attic"], ["Hallway", "hall"]], object)
BAGS = np.empty((2, 2), object)
BAGS[...] = [[("key",), ("keys", "cup")], [(), ("cup", "key")]]


class Meadow:
    """Two environments of two agents who have apples, behind a gate that all share."""

    agents: tuple[str, ...] = AGENTS
    facts = named(
        Observable(name="apples", about="", read=lambda world, states, of: states),
        Observable(name="gate", about="", read=lambda world, states, of: world.gate, shared=True),
        Observable(name="spot", about="", read=lambda world, states, of: SPOTS, kind="place"),
        Observable(name="room", about="", read=lambda world, states, of: ROOMS, kind="word"),
        Observable(name="bag", about="", read=lambda world, states, of: BAGS, kind="things"),
        Observable(name="story", about="", read=lambda world, states, of: ROOMS, kind="text"),
    )

    def __init__(self) -> None:
        self.gate = np.zeros((2, 1))
        self.ends: list[tuple[Any, Result]] = []
        self.put: list[tuple[Any, ...]] = []

    @classmethod
    def observables_of(cls, config: Any) -> Any:
        return cls.facts

    def observe(self, name: str, states: Any, of: Any) -> Any:
        return self.facts[name].read(self, states, of)

    def action_codes(self, word: str) -> tuple[int, ...] | None:
        return {"wait": (0,), "go": (1, 2)}[word]

    def finish(self, states: Any, who: Any, result: Result) -> None:
        self.ends.append((who.tolist(), result))

    def spawn(self, states: Any, envs: Any, thing: Any, place: Any) -> None:
        self.put.append(("spawn", envs.tolist(), thing, place))

    def remove(self, states: Any, envs: Any, thing: Any, place: Any) -> None:
        self.put.append(("remove", envs.tolist(), thing, place))


def begin(**script: Any) -> tuple[Meadow, ScriptRun]:
    """Return the world and a script at work in it."""
    world = Meadow()
    run = ScriptRun(Script.model_validate(script), world, None, 2)
    run.begin()
    return world, run


def grid(value: Any = 0) -> Any:
    """Return two rows of two values."""
    return np.broadcast_to(np.asarray(value), (2, 2)).copy()


def go_on(
    run: ScriptRun, apples: Any = 0, *, played: Any = True, truncated: Any = False, **more: Any
) -> tuple[StepArrays, Changes]:
    """Let a step pass after which agents have so many apples."""
    turn = StepArrays(
        states=grid(apples).astype(float),
        rewards=np.zeros((2, 2)),
        terminated=np.zeros((2, 2), np.bool_),
        truncated=grid(truncated).astype(np.bool_),
        played=grid(played).astype(np.bool_),
        acts=grid(more.get("acts", 0)),
        outcomes=grid(more.get("outcomes", 0)),
        milestones=more.get("milestones", {}),
        entered=more.get("entered"),
    )
    return turn, after_step(run, turn)


@pytest.mark.parametrize(
    ("whom", "alone", "both"),
    [
        (None, [1, 0], [1, 1]),
        ("all", [1, 1], [2, 2]),
        ("others", [0, 1], [1, 1]),
        ("bob", [0, 1], [0, 2]),
    ],
)
def test_a_response_is_for_those_whom_it_names(whom: Any, alone: Any, both: Any) -> None:
    response = [{**PAY, "agent_id": whom}, {"type": "add_metric", "metric": "m", "agent_id": whom}]
    _, run = begin(events=[{"when": OWN, "times": "every", "response": response}])
    turn, changes = go_on(run, [[1, 0], [1, 1]])
    assert turn.rewards.tolist() == [alone, both]
    ((number, rows),) = changes.happened
    assert (number, rows.tolist()) == (0, [[0, 0], [1, 0], [1, 1]])
    assert run.states["fired"].tolist() == [[1], [2]]
    assert [run.measures(agent, 0)["m"] for agent in range(2)] == alone
    assert run.totals() == {"m": sum(alone)}


def test_what_nobody_causes_happens_once_to_all_who_are_there() -> None:
    event = {"when": {"fact": "gate", "equals": 1}, "times": "every", "response": PAY}
    world, run = begin(events=[event])
    world.gate[1] = 1
    turn, changes = go_on(run, played=[[1, 1], [0, 1]])
    assert turn.rewards.tolist() == [[0, 0], [0, 1]]
    assert changes.happened[0][1].tolist() == [[1, -1]]
    world.gate[:] = [[1], [0]]
    assert go_on(run)[0].rewards.tolist() == [[1, 1], [0, 0]]
    assert run.states["fired"].tolist() == [[1], [1]]


@pytest.mark.parametrize(
    ("times", "paid"),
    [
        ("once", [[1, 0], [0, 0], [0, 0]]),
        (2, [[1, 1], [0, 0], [0, 0]]),
        (3, [[1, 1], [1, 0], [0, 0]]),
        ("every", [[1, 1], [1, 1], [1, 1]]),
    ],
)
def test_of_several_who_cause_it_the_first_come_first(times: Any, paid: Any) -> None:
    _, run = begin(events=[{"when": OWN, "on": "holds", "times": times, "response": PAY}])
    assert [go_on(run, [[1, 1], [0, 0]])[0].rewards[0].tolist() for _ in range(3)] == paid
    assert run.states["fired"][1].tolist() == [0]


@pytest.mark.parametrize(("times", "paid"), [("once", [1, 0, 0]), (2, [1, 1, 0])])
def test_what_is_shared_happens_so_often_at_most(times: Any, paid: Any) -> None:
    when = {"fact": "gate", "equals": 0}
    _, run = begin(events=[{"when": when, "on": "holds", "times": times, "response": PAY}])
    assert [go_on(run)[0].rewards[1, 1] for _ in range(3)] == paid


def test_a_count_that_no_episode_reaches_is_refused() -> None:
    event = {"when": OWN, "count": 2**31, "response": PAY}
    with pytest.raises(ValidationError, match="less than or equal to 2147483647"):
        Script.model_validate({"events": [event]})


def test_every_second_time_is_counted_agent_by_agent() -> None:
    event = {"when": OWN, "on": "holds", "times": "every", "count": 2, "response": PAY}
    _, run = begin(events=[event])
    steps = ([[1, 0], [1, 1]], [[1, 1], [0, 1]], [[1, 1], [1, 1]])
    paid = [go_on(run, apples)[0].rewards.tolist() for apples in steps]
    assert paid == [[[0, 0], [0, 0]], [[1, 0], [0, 1]], [[0, 1], [1, 0]]]


def test_who_takes_no_part_causes_nothing_and_is_not_asked() -> None:
    ends = {"when": OWN, "on": "ends", "times": "every", "response": PAY}
    _, run = begin(events=[{"when": OWN, "times": "every", "response": PAY}, ends])
    assert go_on(run, 1, played=[[1, 0], [1, 1]])[0].rewards.tolist() == [[1, 0], [1, 1]]
    assert go_on(run, 0, played=[[0, 1], [1, 1]])[0].rewards.tolist() == [[0, 0], [1, 1]]
    every = {"fact": "apples", "equals": 1, "agent_id": "all"}
    anybody = {**every, "agent_id": "any"}
    for when, paid in ((every, [[0, 1], [0, 0]]), (anybody, [[0, 1], [1, 1]])):
        _, run = begin(events=[{"when": when, "response": PAY}])
        turn, _ = go_on(run, [[0, 1], [0, 1]], played=[[0, 1], [1, 1]])
        assert turn.rewards.tolist() == paid


def test_what_holds_of_one_agent_is_so_for_all_while_it_is_there() -> None:
    when = {"fact": "apples", "equals": 1, "agent_id": "bob"}
    _, run = begin(events=[{"when": when, "response": PAY}])
    turn, _ = go_on(run, [[0, 1], [0, 1]], played=[[1, 1], [1, 0]])
    assert turn.rewards.tolist() == [[1, 1], [0, 0]]
    flag = {"type": "set_flag", "flag_name": "seen", "agent_id": "bob"}
    asked = {"when": {"flag": "seen", "agent_id": "bob"}, "on": "holds", "response": PAY}
    _, run = begin(events=[{"when": OWN, "response": flag}, {**asked, "times": "every"}])
    go_on(run, [[1, 0], [0, 0]])
    turn, _ = go_on(run, played=[[1, 0], [1, 1]])
    assert turn.rewards.tolist() == [[1, 0], [0, 0]]  # a flag outlasts whose it is


def test_actions_and_outcomes_are_told_apart() -> None:
    failed = list(Outcome).index(Outcome.FAILED)
    _, run = begin(
        events=[
            {"when": {"fact": "action", "equals": "go"}, "response": PAY, "times": "every"},
            {"when": {"fact": "outcome", "equals": "failed"}, "response": {**PAY, "amount": 5}},
        ]
    )
    turn, _ = go_on(run, acts=[[0, 1], [2, 3]], outcomes=[[0, failed], [0, 0]])
    assert turn.rewards.tolist() == [[0, 6], [1, 0]]


GATE, FEW = {"fact": "gate", "equals": 0}, {"fact": "apples", "at_most": 2}
EITHER = [{"fact": "apples", "equals": 3}, {"fact": "apples", "equals": 0}]


@pytest.mark.parametrize(
    ("when", "paid"),
    [
        ({"all": [GATE, OWN, FEW]}, [[0, 1], [1, 0]]),
        ({"any": EITHER}, [[1, 0], [0, 1]]),
        ({"none": EITHER}, [[0, 1], [1, 0]]),
        ({"not": GATE}, [[0, 0], [0, 0]]),
        ({"fact": "apples", "at_least": 1, "at_most": 2}, [[0, 1], [1, 0]]),
        ({"fact": "apples", "one_of": [2, 3]}, [[0, 1], [0, 1]]),
        ({"fact": "spot", "equals": [0, 0]}, [[1, 0], [0, 0]]),
        ({"fact": "spot", "equals": [0, 0], "within": 1}, [[1, 0], [1, 0]]),
        ({"fact": "spot", "equals": [0, 0], "within": 5}, [[1, 1], [1, 1]]),
        ({"fact": "room", "equals": "hall"}, [[1, 0], [0, 1]]),
        ({"fact": "room", "one_of": ["attic", "hall"]}, [[1, 1], [0, 1]]),
        ({"fact": "bag", "equals": "key"}, [[1, 0], [0, 1]]),
        ({"fact": "story", "contains": "HALL"}, [[1, 0], [1, 1]]),
        ({"fact": "story", "contains": "way", "one_of": ["hall", "Hallway"]}, [[0, 0], [1, 0]]),
    ],
)  # fmt: skip
def test_conditions_are_about_each_agent_by_itself(when: Any, paid: Any) -> None:
    _, run = begin(events=[{"when": when, "on": "holds", "response": PAY, "times": "every"}])
    assert go_on(run, [[0, 2], [1, 3]])[0].rewards.tolist() == paid


def test_events_set_each_other_off_whatever_their_order() -> None:
    flag = {"type": "set_flag", "flag_name": "full"}
    events = [
        {"when": {"flag": "full"}, "response": [PAY, {**flag, "value": False}]},
        {"when": OWN, "times": "every", "response": flag},
        {"when": {"fact": "apples", "at_least": 9}, "response": PAY},
    ]
    _, run = begin(events=events)
    assert go_on(run, [[1, 0], [0, 0]])[0].rewards.tolist() == [[1, 0], [0, 0]]
    assert not run.states["flags"].any()
    assert go_on(run, [[1, 0], [0, 0]])[0].rewards.tolist() == [[0, 0], [0, 0]]


def test_words_are_the_goal_and_the_last_message() -> None:
    tell = {"type": "message_to_agent", "content": "Now."}
    again = {**tell, "content": "Later.", "agent_id": "bob"}
    _, run = begin(
        goals=[{"agent_id": "ann", "words": "eat."}],
        events=[
            {"when": OWN, "response": tell},
            {"when": {"fact": "step", "equals": 2}, "response": again},
        ],
    )
    assert run.hints() == ["Goal: eat.", None]
    _, changes = go_on(run, [[1, 0], [0, 0]])
    assert changes.told.tolist() == [[True, False], [False, False]]
    assert (run.hints(0), run.hints(1)) == (["Goal: eat. Now.", None], ["Goal: eat.", None])
    _, changes = go_on(run)
    assert changes.told.tolist() == [[False, True]] * 2
    assert run.hints(0) == ["Goal: eat. Now.", "Later."]
    assert run.all_words()[1] == [None, "Now.", "Later."]


def test_a_win_is_everybodys_or_each_agents_own() -> None:
    fields: dict[str, Any] = {"win_conditions": [OWN], "win_reward": 3.0}
    world, run = begin(**fields)
    turn, changes = go_on(run, [[1, 0], [0, 0]], truncated=True)
    assert turn.rewards.tolist() == [[3, 3], [0, 0]]
    assert turn.terminated.tolist() == [[True, True], [False, False]]
    assert turn.truncated.tolist() == [[False, False], [True, True]]
    assert changes.ended.tolist() == [True, False]
    assert world.ends == [
        ([[True, True], [False, False]], Result.WON),
        ([[False, False], [True, True]], Result.LOST),  # who had a task and no more time
    ]
    assert run.states["returns"].tolist() == [[3, 3], [0, 0]]
    world, run = begin(**fields, ends="each")
    turn, _ = go_on(run, [[1, 0], [0, 1]], played=[[1, 1], [1, 0]])
    assert turn.rewards.tolist() == [[3, 0], [0, 0]]
    assert world.ends == [([[True, False], [False, False]], Result.WON)]


def test_of_several_conditions_one_or_all_are_needed() -> None:
    two = [OWN, {"fact": "step", "at_least": 2}]
    for logic, won in (("any", [[1, 0], [1, 1]]), ("all", [[0, 0], [1, 0]])):
        _, run = begin(win_conditions=two, win_logic=logic, ends="each")
        assert [go_on(run, [[1, 0]])[0].terminated[0].tolist() for _ in range(2)] == won


def test_ones_own_goal_is_ones_own_end() -> None:
    goals = [
        {"agent_id": "ann", "win_conditions": [OWN], "reward": 7.0},
        {"agent_id": "bob", "lose_conditions": [{"fact": "apples", "at_most": 0}]},
    ]
    world, run = begin(goals=goals, win_reward=1.0, lose_reward=-2.0)
    turn, _ = go_on(run, [[1, 1], [0, 0]])
    assert turn.rewards.tolist() == [[8, 0], [0, -2]]
    assert world.ends == [
        ([[True, False], [False, False]], Result.WON),
        ([[False, False], [False, True]], Result.LOST),
    ]


def test_who_has_won_cannot_lose_any_more() -> None:
    lose = {"fact": "step", "at_least": 1}
    world, run = begin(win_conditions=[OWN], lose_conditions=[lose], ends="each", lose_reward=-1)
    turn, _ = go_on(run, [[1, 0], [0, 0]], played=[[1, 1], [1, 0]])
    assert turn.rewards.tolist() == [[0, -1], [-1, 0]]
    assert [result for _, result in world.ends] == [Result.WON, Result.LOST]


def test_an_event_ends_the_episode_of_those_who_are_still_there() -> None:
    end = {"type": "end", "result": "won", "agent_id": "others"}
    world, run = begin(events=[{"when": OWN, "response": [end, end]}])
    turn, changes = go_on(run, [[1, 0], [0, 1]], played=[[1, 1], [0, 1]])
    assert turn.terminated.tolist() == [[False, True], [False, False]]
    assert world.ends == [([[False, True], [False, False]], Result.WON)]
    assert changes.ended.tolist() == [True, False]


def test_growth_is_paid_to_whom_it_is_for_from_the_second_step_on() -> None:
    shaping = [
        {"fact": "apples", "weight": 2.0},
        {"fact": "gate", "weight": 1.0, "agent_id": "bob"},
    ]
    world, run = begin(shaping=shaping)
    assert go_on(run, 5)[0].rewards.tolist() == [[0, 0], [0, 0]]
    world.gate[:] = 3
    turn, _ = go_on(run, [[6, 4], [5, 5]], played=[[1, 1], [1, 0]])
    assert turn.rewards.tolist() == [[2, 1], [0, 0]]
    entered = np.array([[False, False], [False, True]])
    assert go_on(run, [[6, 5], [6, 9]], entered=entered)[0].rewards.tolist() == [[0, 2], [2, 0]]


def test_a_change_from_outside_is_no_growth() -> None:
    shaping = [{"fact": "apples", "weight": 1.0}, {"fact": "return", "weight": 0.0}]
    _, run = begin(shaping=shaping)
    go_on(run, 1)
    before = run.potentials(grid(1.0))
    assert before.tolist() == [[[1, 1], [1, 1]], [[0, 0], [0, 0]]]
    run.rebase(before, grid(5.0), np.array([1]))
    assert go_on(run, [[2, 1], [6, 5]])[0].rewards.tolist() == [[1, 0], [1, 0]]


def test_milestones_are_noted_once_an_agent_and_known_from_the_world() -> None:
    log = {"type": "log_milestone", "milestone_name": "fed"}
    _, run = begin(
        events=[
            {"when": OWN, "on": "holds", "times": "every", "response": log},
            {"when": {"milestone": "born"}, "response": PAY},
        ]
    )
    assert run.milestones == ("fed", "born")
    born = {"born": np.array([[False, True], [False, False]])}
    turn, changes = go_on(run, [[1, 0], [0, 0]], milestones=born)
    assert turn.rewards.tolist() == [[0, 1], [0, 0]]
    assert changes.reached["fed"].tolist() == [[True, False], [False, False]]
    _, changes = go_on(run, [[1, 1], [0, 0]])
    assert changes.reached["fed"].tolist() == [[False, True], [False, False]]


def test_the_world_is_changed_where_it_happens() -> None:
    event = {
        "when": OWN,
        "response": [
            {"type": "spawn_object", "object": "tree", "place": "hill"},
            {"type": "remove_object", "object": "gate"},
            {"type": "change_setting", "setting": "max_steps", "value": 9},
        ],
    }
    world, run = begin(events=[event])
    _, changes = go_on(run, [[0, 0], [1, 0]])
    assert world.put == [("spawn", [1], "tree", "hill"), ("remove", [1], "gate", None)]
    assert (changes.touched.tolist(), changes.settings.tolist()) == ([False, True],) * 2
    assert (run.settings(0), run.settings(1)) == ({}, {"max_steps": 9})


def test_the_state_of_an_environment_goes_through_json_and_back() -> None:
    tell = {"type": "hint", "content": "Now."}
    setting = {"type": "change_setting", "setting": "max_steps", "value": 9}
    _, run = begin(events=[{"name": "meal", "when": OWN, "response": [PAY, tell, setting]}])
    go_on(run, [[1, 0], [0, 0]])
    state = json.loads(json.dumps(run.get_state(0)))
    assert (state["t"], state["fired"], state["settings"], state["note"]) == (1, [1], [1], [1, 0])
    assert (state["returns"], state["held"]) == ([1, 0], [[1, 0]])
    _, other = begin(events=[{"name": "meal", "when": OWN, "response": [PAY, tell, setting]}])
    other.set_state(state, 1)
    assert other.get_state(1) == run.get_state(0)
    assert other.digest(1) == run.digest(0) != run.digest(1)
    assert run.state_without(["max_steps"])["settings"] == [0]
    assert run.state_without(["other"]) == run.get_state(0)
    for part, told in (
        ({"settings": [2]}, "'settings' of a script's state must be in 0..1"),
        ({"note": [0, -1]}, "'note' of a script's state must be in 0..1"),
        ({"fired": [1, 2]}, "'fired' has another shape or type"),
        ({"held": [["a", "b"]]}, "'held' has another shape or type"),
    ):
        with pytest.raises(SnapshotError, match=told):
            other.set_state({**state, **part}, 1)
    with pytest.raises(SnapshotError, match="damaged: 'note'"):
        other.set_state({name: part for name, part in state.items() if name != "note"}, 1)
    assert other.get_state(1) == state


def test_an_episode_begins_with_nothing_in_its_environment_alone() -> None:
    _, run = begin(events=[{"when": OWN, "response": PAY}])
    go_on(run, 1)
    kept = run.get_state(0)
    run.begin(np.array([1]))
    assert run.get_state(0) == kept
    assert not any(np.any(value) for value in run.get_state(1).values())
