"""What a replay says of a run of six steps when one thing in it is not as it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from piase_gym import runs
from piase_gym.errors import RunError, UnsupportedError
from piase_gym.interfaces import WorldPerceptionInterface
from piase_gym.runs.divergence import MISSING, ReplayReport
from piase_gym.runs.lines import Line
from piase_gym.runs.verify import Verifier, _alike, _name, _submitted
from piase_gym.wrappers import AvtLogger
from tests.helpers.needs import each
from tests.helpers.run_worlds import text

Row = dict[str, Any]
Edit = Callable[[list[Row]], None]
GONE = object()


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The lines of a run of two agents, in which much happens."""
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    inner = text(max_steps=6, actions="text")
    env = AvtLogger(inner, path, level="events", snapshot_every=2, run_id="r")
    attempt = {"order": 1, "name": "x", "attempt": 1, "target_coords": "hall"}
    runs.log(env, "DSE_STEP_ATTEMPT_START", attempt, "agent_0")  # lines 2 to 4
    env.reset(seed=3)  # 5
    env.unwrapped.give_hint("agent_0", "look")  # 6
    env.step(dict.fromkeys(env.agents, "wait"))  # 7 to 20; the step itself is 14
    runs.log(env, "EMOTION_STATE_UPDATED", {"joy": 1}, "agent_0")  # 21
    env.step(dict.fromkeys(env.agents, "say hi"))  # 22 to 31
    kept = env.unwrapped.snapshot()
    env.unwrapped.reconfigure({"max_steps": 3})  # 32
    env.reset(seed=4)  # 33 to 38
    while env.agents:
        env.step(dict.fromkeys(env.agents, "dance"))  # 39, 53, 61 to 74
    env.unwrapped.restore(kept)  # 75
    env.step(dict.fromkeys(env.agents, "dance"))  # 76 to 90
    env.close()  # 91 to 99
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def put(line: int, *path: str, value: Any) -> Edit:
    """Give an entry of a line's data another value; `GONE` takes it out."""

    def edit(lines: list[Row]) -> None:
        inner = lines[line - 1]["event_data"]
        for key in path[:-1]:
            inner = inner[key]
        if value is GONE:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value

    return edit


def frame(line: int, **fields: Any) -> Edit:
    """Give fields of a line other values."""
    return lambda lines: lines[line - 1].update(fields)


def drop(line: int) -> Edit:
    """Take a line out."""
    return lambda lines: lines.__delitem__(line - 1)


def add(line: int, event_type: str, data: Any, agent: str = "agent_0", **fields: Any) -> Edit:
    """Add a line, at the place of one."""

    def edit(lines: list[Row]) -> None:
        before = lines[line - 2]
        new = {"event_type": event_type, "agent_id": agent, "event_data": data, **fields}
        lines.insert(line - 1, {**before, **new})

    return edit


def move(line: int, to: int) -> Edit:
    """Move a line."""
    return lambda lines: lines.insert(to - 1, lines.pop(line - 1))


def replayed(rows: list[Row], folder: Path, *edits: Edit) -> ReplayReport:
    """Replay the run with edits."""
    lines = orjson.loads(orjson.dumps(rows))
    for edit in edits:
        edit(lines)
    for number, row in enumerate(lines, 1):
        row["event_id"] = f"r:{number}"
    if "lines" in lines[-1]["event_data"]:
        lines[-1]["event_data"]["lines"] = len(lines)
    path = folder / "run.jsonl"
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in lines))
    return runs.replay(path)


REWARD = {"reward_value": 1.0, "reason": "ok"}
# The step, the episode and the line; what it was about; what was logged, and what it is now.
DIFFERENT: dict[str, tuple[Edit, str]] = {
    "outcome": (
        put(14, "outcomes", "agent_0", value="failed"),
        "1 (0, 14): outcome of agent_0 was 'failed', is now 'ok'",
    ),
    "outcomes": (
        put(14, "outcomes", value=GONE),
        "1 (0, 14): outcomes was missing, is now {'agent_0': 'ok', 'agent_1': 'ok'}",
    ),
    "no reward": (
        put(14, "rewards", "agent_1", value=GONE),
        "1 (0, 14): reward of agent_1 was missing, is now -0.1",
    ),
    "more rewards": (
        put(14, "rewards", "bob", value=1),
        "1 (0, 14): reward of bob was 1, is now missing",
    ),
    "digest": (put(14, "digest", value="x"), "1 (0, 14): digest was 'x', is now 'a digest'"),
    "letter": (
        put(22, "messages", value=[]),
        "2 (0, 22): messages was []"
        ", is now [{'sender': 'agent_0', 'recipient': 'all', 'message': 'hi'}, {'sender':"
        " 'agent_1",
    ),
    "new entry": (put(14, "more", value=1), "1 (0, 14): more was 1, is now missing"),
    "summary of an action": (
        put(16, "outcome", value="failed"),
        "1 (0, 16): outcome of agent_0 was 'failed', is now 'ok'",
    ),
    "step of a line": (frame(17, step=7), "7 (0, 17): step was 7, is now 1"),
    "episode of a line": (frame(17, episode=7), "1 (7, 17): episode was 7, is now 0"),
    "source type": (
        frame(17, source_type="AGENT"),
        "1 (0, 17): source_type was 'AGENT', is now 'ENVIRONMENT'",
    ),
    "component": (
        frame(17, source_component_id="me"),
        "1 (0, 17): source_component_id was 'me', is now 'PiaSE.Environment_TextProbe'",
    ),
    "log level": (frame(17, log_level="WARN"), "1 (0, 17): log_level was 'WARN', is now 'INFO'"),
    "new field": (frame(17, more=1), "1 (0, 17): more was 1, is now missing"),
    "own step": (frame(21, step=7), "7 (0, 21): step was 7, is now 1"),
    "own episode": (frame(21, episode=7), "1 (7, 21): episode was 7, is now 0"),
    "own new field": (frame(21, more=1), "1 (0, 21): more was 1, is now missing"),
    "no early line": (
        drop(8),
        "0 (0, 8): line was 'GOAL_ACTIVATED of agent_0', is now 'GOAL_CREATED of agent_0'",
    ),
    "early moved": (
        move(8, 7),
        "0 (0, 7): line was 'GOAL_CREATED of agent_0', is now 'LEARNING_EPISODE_START'",
    ),
    "early step": (frame(8, step=3), "3 (0, 8): step was 3, is now 0"),
    "early data": (
        put(8, "initial_priority", value=4),
        "0 (0, 8): initial_priority of agent_0 was 4, is now 5",
    ),
    "early of other": (
        frame(8, agent_id="agent_1"),
        "0 (0, 8): agent_id was 'agent_1', is now 'agent_0'",
    ),
    "nothing leads to a reward": (
        add(7, "REWARD_SIGNAL_ISSUED", REWARD),
        "0 (0, 7): line was 'REWARD_SIGNAL_ISSUED of agent_0', is now missing",
    ),
    "nothing leads to a goal": (
        add(21, "GOAL_CREATED", {"goal_id": "r:goal_9_agent_0"}),
        "1 (0, 21): line was 'GOAL_CREATED of agent_0', is now missing",
    ),
    "nothing leads to a letter": (
        add(21, "NLG_OUTPUT_GENERATED", {"sender": "a", "recipient": "b", "message": "c"}),
        "1 (0, 21): line was 'NLG_OUTPUT_GENERATED of agent_0', is now missing",
    ),
    "nothing leads to a read letter": (
        add(21, "NLU_OUTPUT_GENERATED", {"message": "c"}),
        "1 (0, 21): line was 'NLU_OUTPUT_GENERATED of agent_0', is now missing",
    ),
    "nothing leads to a percept": (
        add(21, "PERCEPTION_INPUT_RECEIVED", {}),
        "1 (0, 21): line was 'PERCEPTION_INPUT_RECEIVED of agent_0', is now missing",
    ),
    "nothing leads to a task": (
        add(21, "TASK_STATUS_UPDATE", {"task_id": "r:goal_9_x"}),
        "1 (0, 21): line was 'TASK_STATUS_UPDATE of agent_0', is now missing",
    ),
    "nothing leads to a start": (
        add(21, "LEARNING_EPISODE_START", {"seed": 1, "agents": []}, "system"),
        "1 (0, 21): line was 'LEARNING_EPISODE_START', is now missing",
    ),
    "nothing leads to an end": (
        add(99, "LEARNING_EPISODE_END", {"seed": 1, "results": {}}, "system"),
        "6 (2, 99): line was 'LEARNING_EPISODE_END', is now missing",
    ),
    "nothing leads to a milestone": (
        add(21, "ENVIRONMENT_STATE_CHANGED", {"kind": "milestone", "name": "x"}),
        "1 (0, 21): line was 'ENVIRONMENT_STATE_CHANGED milestone of agent_0', is now missing",
    ),
    "own line among early": (
        add(10, "EMOTION_STATE_UPDATED", {"joy": 2}),
        "0 (0, 10): line was 'EMOTION_STATE_UPDATED of agent_0', "
        "is now 'TASK_STATUS_UPDATE of agent_0'",
    ),
    "derived own among early": (
        add(10, "GOAL_CREATED", {"goal_id": "mine"}),
        "0 (0, 10): line was 'GOAL_CREATED of agent_0', is now 'another line'",
    ),
    "looks derived": (
        add(21, "ENVIRONMENT_STATE_CHANGED", {"kind": "x", "seed": 1}, "system"),
        "1 (0, 21): kind was 'x', is now 'another kind'",
    ),
    "looks derived, no kind": (
        add(21, "ENVIRONMENT_STATE_CHANGED", {"seed": 1}, "system"),
        "1 (0, 21): kind was missing, is now 'another kind'",
    ),
    "no last reward": (
        drop(20),
        "1 (0, 20): line was 'EMOTION_STATE_UPDATED of agent_0'"
        ", is now 'REWARD_SIGNAL_ISSUED of agent_1'",
    ),
    "no reward before a step": (
        drop(28),
        "2 (0, 28): line was 'NLG_OUTPUT_GENERATED of agent_0'"
        ", is now 'REWARD_SIGNAL_ISSUED of agent_1'",
    ),
    "no status of a reset": (
        drop(34),
        "2 (0, 34): line was 'GOAL_STATUS_CHANGED of agent_1'"
        ", is now 'GOAL_STATE_CHANGED of agent_0'",
    ),
    "status of a reset": (
        put(35, "new_state", value="FAILED"),
        "2 (0, 35): new_state of agent_1 was 'FAILED', is now 'ABANDONED'",
    ),
    "no report": (
        drop(37),
        "2 (1, 37): line was 'ENVIRONMENT_EVENT_OCCURRED reset', is now 'LEARNING_EPISODE_END'",
    ),
    "report": (put(37, "steps", value=3), "2 (0, 37): steps was 3, is now 2"),
    "hint's step": (frame(6, step=2), "2 (0, 6): step was 2, is now 0"),
    "hint's entry": (put(6, "more", value=2), "0 (0, 6): more was 2, is now missing"),
    "changes": (
        put(32, "changes", "width", value=7),
        "2 (0, 32): line was 'an executable line'"
        ", is now \"TextProbe: unknown key 'width'; allowed: 'agents', 'agent_ids', 'max_s"
        "teps', 's",
    ),
    "what changes already is": (
        put(32, "changes", value={"max_steps": 6}),
        "2 (0, 32): changes.max_steps was 6, is now missing",
    ),
    "snapshot": (put(31, "snapshot", "steps", value=9), "2 (0, 31): steps was 9, is now missing"),
    "snapshot's step": (frame(31, step=7), "7 (0, 31): step was 7, is now 2"),
    "snapshot before a reset": (
        add(5, "ENVIRONMENT_STATE_CHANGED", {"kind": "snapshot", "snapshot": {}}, "system"),
        "0 (0, 5): line was 'ENVIRONMENT_STATE_CHANGED snapshot', is now missing",
    ),
    "snapshot in a step": (
        move(31, 29),
        "2 (0, 29): line was 'ENVIRONMENT_STATE_CHANGED snapshot'"
        ", is now 'NLG_OUTPUT_GENERATED of agent_0'",
    ),
    "agents of a reset": (
        put(38, "agents", value=["agent_0"]),
        "2 (1, 38): agents was ['agent_0'], is now ['agent_0', 'agent_1']",
    ),
    "digest of a reset": (
        put(38, "digest", value="x"),
        "2 (1, 38): digest was 'x', is now 'a digest'",
    ),
    "digest of a restore": (
        put(75, "digest", value="x"),
        "5 (2, 75): digest was 'x', is now 'a digest'",
    ),
    "no reset": (
        drop(5),
        "1 (0, 13): line was 'an executable line', is now 'there is a step before the first reset'",
    ),
    "a slot": (
        put(38, "slot", value=0),
        "2 (1 in slot 0, 38): line was 'an executable line'"
        ", is now 'there is no slot 0 in this run of 1 environments'",
    ),
    "the wrong slot": (
        put(5, "slot", value=1),
        "0 (0 in slot 1, 5): line was 'an executable line'"
        ", is now 'there is no slot 1 in this run of 1 environments'",
    ),
    "submitted": (
        put(14, "submitted", value={"bob": {"sequence_id": 1}}),
        "1 (0, 14): line was 'an executable line'"
        ", is now 'what it says was submitted is not of agents in play'",
    ),
    "seed": (
        put(38, "seed", value=-1),
        "2 (1, 38): line was 'an executable line', is now 'seed -1 is not a seed'",
    ),
    "goal of a curriculum": (
        put(3, "description", value="x"),
        "0 (0, 3): description of agent_0 was 'x', is now 'step 1: x'",
    ),
    "no goal of a curriculum": (
        drop(4),
        "0 (0, 4): line was 'ENVIRONMENT_EVENT_OCCURRED reset', is now 'GOAL_ACTIVATED of agent_0'",
    ),
    "goal left": (
        put(97, "reason", value="x"),
        "6 (2, 97): reason of agent_0 was 'x', is now 'the run ended'",
    ),
    "no goal left": (
        drop(96),
        "6 (2, 96): event_type was 'GOAL_STATE_CHANGED', is now 'GOAL_STATUS_CHANGED'",
    ),
    "reason": (put(99, "reason", value="x"), "6 (2, 99): reason was 'x', is now 'closed'"),
    "end's step": (frame(99, step=9), "9 (2, 99): step was 9, is now 6"),
    "steps of a summary": (
        put(99, "summary", "steps", value=9),
        "6 (2, 99): summary.steps was 9, is now 6",
    ),
    "letters of a summary": (
        put(99, "summary", "messages", value=3),
        "6 (2, 99): summary.messages was 3, is now 2",
    ),
    "seconds of a summary": (
        put(99, "summary", "seconds", value=-1.0),
        "6 (2, 99): summary.seconds was -1.0, is now 0.0",
    ),
    "hash of a manifest": (
        put(1, "config_hash", value="x"),
        "0 (0, 1): config_hash was 'x', is now 'a digest'",
    ),
    "milestones of a manifest": (
        put(1, "milestones", value=["x"]),
        "0 (0, 1): milestones was ['x'], is now ['key_taken', 'door_unlocked', 'jewel_taken']",
    ),
    "actions of a manifest": (
        put(1, "actions", value=[{}]),
        "0 (0, 1): actions was [{}], is now []",
    ),
    "measures of a manifest": (
        put(1, "measures", value=["x"]),
        "0 (0, 1): measures was ['x'], is now []",
    ),
    "frame of a manifest": (frame(1, step=1), "1 (0, 1): step was 1, is now 0"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_is_named_with_what_was_and_what_is(
    name: str, rows: list[Row], tmp_path: Path
) -> None:
    edit, told = DIFFERENT[name]
    report = replayed(rows, tmp_path, edit)
    found = re.sub("'[0-9a-f]{16}'", "'a digest'", str(report.first_divergence))
    assert re.sub(r"^step (\d+) \(episode (.*), line ", r"\1 (\2, ", found) == told
    assert not report.ok


FREE: dict[str, Edit] = {
    "whose a line is, and its type": frame(21, event_type="SYSTEM_MESSAGE", agent_id="bob"),
    "who wrote it": frame(21, source_component_id="me", source_type="AGENT", log_level="WARN"),
    "what it says": put(21, "joy", value=2),
    "a line more": add(21, "EMOTION_STATE_UPDATED", {"joy": 2}),
    "a goal of one's own": add(21, "GOAL_CREATED", {"goal_id": "mine"}),
    "a goal without a name": add(21, "GOAL_CREATED", {}),
    "an action of one's own": add(21, "AGENT_ACTION_SENT_TO_ENV", {"goal_id": 3}),
    "a reward for one's own reason": add(21, "REWARD_SIGNAL_ISSUED", REWARD | {"reason": "fun"}),
    "a reason without a reward": add(21, "REWARD_SIGNAL_ISSUED", {"reason": "ok"}),
    "a saying": add(21, "NLG_OUTPUT_GENERATED", {"message": "hm"}),
    "a lesson": add(21, "LEARNING_EPISODE_START", {"lesson": 1}),
    "a seed of a learner": add(21, "LEARNING_EPISODE_START", {"seed": 1}),
    "the moment": frame(99, timestamp="2999-01-01T00:00:00.000000Z"),
    "versions": put(1, "versions", value={}),
    "seconds": put(99, "summary", "seconds", value=0.0),
    "no line of one's own": drop(21),
    "no snapshot": drop(31),
}


@pytest.mark.parametrize("name", FREE)
def test_what_a_run_does_not_tell_is_free(name: str, rows: list[Row], tmp_path: Path) -> None:
    report = replayed(rows, tmp_path, FREE[name])
    assert report.first_divergence is None
    assert report.complete
    assert (report.steps, report.episodes) == (6, 3)


def test_a_run_without_its_end_owes_nothing(rows: list[Row], tmp_path: Path) -> None:
    for count in (20, 13, 9):
        report = replayed(rows[:count], tmp_path)
        assert report.first_divergence is None
        assert (report.steps, report.complete) == (int(count == 20), False)


def test_lines_at_the_ends_of_a_log_are_compared_too(rows: list[Row], tmp_path: Path) -> None:
    cut = replayed(rows[:9], tmp_path, frame(8, step=3)).first_divergence
    assert str(cut) == "step 3 (episode 0, line 8): step was 3, is now 0"
    more = add(100, "GOAL_CREATED", {"goal_id": "r:goal_9_agent_0"})
    behind = replayed(rows, tmp_path, more).first_divergence
    assert behind is not None
    assert (behind.line, behind.logged, behind.replayed) == (
        100,
        "GOAL_CREATED of agent_0",
        MISSING,
    )


def test_what_no_longer_looks_derived_is_named_where_it_stands(
    rows: list[Row], tmp_path: Path
) -> None:
    found = replayed(rows, tmp_path, put(7, "seed", value=GONE)).first_divergence
    assert str(found) == "step 0 (episode 0, line 7): seed was missing, is now 3"
    # Not where somebody had a line like it before the last input.
    lesson = add(5, "LEARNING_EPISODE_START", {"lesson": 1}, "system")
    found = replayed(rows, tmp_path, drop(7), lesson).first_divergence
    assert found is not None
    assert (found.line, found.replayed) == (8, "LEARNING_EPISODE_START")


def test_behind_a_line_that_lacks_nothing_is_compared(rows: list[Row], tmp_path: Path) -> None:
    edits = [put(22, "digest", value="x"), drop(21), drop(20)]
    report = replayed(rows, tmp_path, *edits)
    assert report.first_divergence is not None
    assert report.first_divergence.replayed == "REWARD_SIGNAL_ISSUED of agent_1"
    assert report.details == []


def test_arrivals_follow_from_the_lines_of_the_curriculum(rows: list[Row], tmp_path: Path) -> None:
    assert rows[13]["event_data"]["targets"] == ["agent_0"]
    found = replayed(rows, tmp_path, put(2, "target_coords", value="x")).first_divergence
    assert found is not None
    assert (found.line, found.field, found.replayed) == (14, "targets", MISSING)


def test_differences_of_one_line_are_all_told(rows: list[Row], tmp_path: Path) -> None:
    edits = [
        put(14, "outcomes", "agent_1", value="failed"),
        put(14, "rewards", "agent_0", value=None),
        put(14, "terminated", value=[]),
        frame(14, log_level="DEBUG", more=2, **dict.fromkeys("fedcba", 1)),
    ]
    report = replayed(rows, tmp_path, *edits)
    assert report.first_divergence is not None
    told = [report.first_divergence, *report.details]
    nobody = {"agent_0": False, "agent_1": False}
    assert [(d.agent, d.field, d.logged, d.replayed) for d in told] == [
        (None, "log_level", "DEBUG", "INFO"),
        (None, "more", 2, MISSING),
        *((None, name, 1, MISSING) for name in "fedcba"),
        ("agent_1", "outcome", "failed", "ok"),
        ("agent_0", "reward", None, -0.1),
        (None, "terminated", [], nobody),
    ]


# -- parts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "whole"),
    [
        ({}, True),
        ({"a": {"sequence_id": 1}}, True),
        ({"a": {"sequence_id": 1, "execution_priority": 2}, "b": {"sequence_id": 2}}, True),
        ({"a": {}}, False),
        ({"a": 3}, False),
        ({"c": {"sequence_id": 1}}, False),
        ({"a": {"sequence_id": 1, "more": 2}}, False),
        ([], False),
    ],
)
def test_only_agents_in_play_submit(told: Any, whole: bool) -> None:
    assert _submitted({}, ("a",)) == {}
    if whole:
        assert _submitted({"submitted": told}, ("a", "b")) == told
        return
    with pytest.raises(RunError, match="what it says was submitted is not of agents in play"):
        _submitted({"submitted": told}, ("a", "b"))


def test_a_line_is_meant_to_be_another_if_two_of_three_are_the_same() -> None:
    wanted = Line(0, "a", "X", 0, 0, {"x": (1,)})

    def alike(event_type: str, agent: str, data: Any) -> bool:
        return _alike({"event_type": event_type, "agent_id": agent, "event_data": data}, wanted)

    assert alike("X", "a", {"x": [1]})
    assert alike("X", "a", {"x": 2})
    assert alike("Y", "b", {"x": [1]})
    assert not alike("X", "b", {})
    assert not alike("Y", "a", {})
    assert not alike("Y", "b", {})


def test_lines_are_named_by_type_kind_and_whose_they_are() -> None:
    assert _name("X", "system", {}) == "X"
    assert _name("X", "system", {"kind": "reset"}) == "X reset"
    assert _name("X", "a", {"control": "end"}) == "X end of a"
    assert _name("X", "a", {"kind": 3}) == "X of a"


def verifier(manifest: dict[str, Any] | None = None, mail: Any = None) -> Verifier:
    """Return a verifier of a run of three slots, that has seen nothing."""
    told = {"level": "actions", "schema_version": 3, "actions": [], "num_envs": 3}
    told |= {"policies": {"a": "caller", "b": "random"}}
    world: Any = SimpleNamespace(
        name="Small", agents=("a", "b"), config=None, mailboxes=mail, alive=[True, True]
    )
    world.carries_words = mail is not None
    run: Any = SimpleNamespace(manifest=told | (manifest or {}), experiment_id="e", run_id="r")
    return Verifier(run, world, ReplayReport())


def playing(made: Verifier, **slots: str) -> Verifier:
    """Let slots be played by agents: ``s0="ab"``."""
    for slot, names in slots.items():
        number = int(slot[1:])
        record = made.open_episode_record(None, number, 0)
        record.seat(["ab".index(name) for name in names])
        record.begun = True
        made.records[number], made._at[number] = record, 0
        made._entered[number] = record.names
    return made


def event(slot: int | None = None) -> Row:
    """Return a step's line."""
    data = {"kind": "step"} if slot is None else {"kind": "step", "slot": slot}
    fields = {"event_type": "ENVIRONMENT_EVENT_OCCURRED", "agent_id": "system", "step": 1}
    return {**fields, "episode": 0, "event_data": data}


def turns(made: Verifier, *slots: int) -> tuple[Any, Any] | None:
    """Let slots do steps; returns the slot that was wrong, and what it had to be."""
    for slot in slots:
        made._take_turn(9, event(slot), slot)
        found = made.report.first_divergence
        if found is not None:
            assert (found.field, found.slot, found.line) == ("slot", slot, 9)
            return found.logged, found.replayed
    return None


def test_slots_take_turns_in_their_order() -> None:
    def three() -> Verifier:
        return playing(verifier(), s2="ab", s0="ab", s1="ab")

    assert turns(three(), 0, 1, 2, 0, 1, 2) is None
    assert turns(three(), 1) == (1, "the step of slot 0")
    assert turns(three(), 0, 2) == (2, "the step of slot 1")
    assert turns(three(), 0, 1, 2, 2) == (2, "the step of slot 0")
    nobody = playing(verifier(), s0="", s1="ab", s2="")
    assert turns(nobody, 1, 1) is None
    assert turns(playing(verifier(), s0=""), 0) == (0, "another slot")
    made = three()
    made._take_turn(9, event(0), 0)
    assert made._lacks_turn(9, event())
    found = made.report.first_divergence
    assert found is not None
    step = "ENVIRONMENT_EVENT_OCCURRED step"
    assert (found.field, found.logged, found.replayed) == ("line", step, "the step of slot 1")
    made = three()
    assert turns(made, 0, 1, 2) is None
    assert not made._lacks_turn(9, event())


def test_an_episode_may_end_with_its_learner_in_all_slots_or_in_none() -> None:
    # Slot 0 has only a partner left; it does no step, so the same holds for slot 2.
    made = playing(verifier(), s0="b", s1="ab", s2="b")
    assert turns(made, 1) is None
    assert not made._lacks_turn(9, event())
    assert made._over == {0, 2}
    assert turns(made, 1) is None
    # It does a step: its end is not that of the episode, anywhere.
    made = playing(verifier(), s0="b", s1="ab", s2="b")
    assert turns(made, 0, 1, 2, 0) is None
    assert made._learner is None
    assert turns(made, 2) == (2, "the step of slot 1")
    # Who has the learner is never left out.
    assert turns(playing(verifier(), s0="ab", s1="b"), 1) == (1, "the step of slot 0")
    # With two callers, or none, nobody is the learner.
    for policies in ({"a": "caller", "b": "caller"}, {"a": "random"}):
        made = playing(verifier({"policies": policies}), s0="b", s1="ab")
        assert turns(made, 1) == (1, "the step of slot 0")


def test_who_is_in_play_is_counted_over_slots() -> None:
    made = playing(verifier(), s0="ab", s1="b", s2="")
    assert made._in_play("a", 1) == 1
    assert made._in_play("b", 2) == 2  # whether the learner's end counts is not known yet
    assert made._in_play("b", 1) == 1
    made._over.add(2)
    assert made._in_play("b", 2) == 1
    made = playing(verifier({"face": "vector"}), s0="ab", s1="b")
    assert made._in_play("b", 2) == 1
    made._learner = None
    assert made._in_play("b", 2) == 2


@pytest.mark.parametrize(
    ("count", "there", "slot", "allowed"),
    [
        (1, {}, None, True),
        (1, {None}, None, True),
        (1, {0}, None, False),
        (3, {}, None, False),
        (3, {}, 0, True),
        (3, {0, 1}, 2, True),
        (3, {}, 3, False),
        (3, {}, -1, False),
        (3, {}, True, False),
        (1, {None}, 0, False),
    ],
)
def test_slots_are_those_of_the_run(count: int, there: Any, slot: Any, allowed: bool) -> None:
    made = verifier({"num_envs": count})
    made.records = dict.fromkeys(there)  # type: ignore[assignment]
    if allowed:
        made._check_slot(slot)
        return
    with pytest.raises(RunError, match=f"there is no slot {slot!r} in this run of {count} env"):
        made._check_slot(slot)


def test_batches_may_do_steps_of_which_no_slot_has_a_line() -> None:
    made = verifier()
    made.step = 4
    for slot, step, then in ((None, 9, 4), (0, 3, 4), (1, 6, 6)):
        made._take_step(slot, step)
        assert made.step == then


def test_letters_are_those_since_the_last_step_or_those_of_the_log() -> None:
    letter = {"sender": "a", "recipient": "b", "message": "hi"}
    made = verifier()
    world = made.world
    assert made._sent(world, {}) == []
    assert made._sent(world, {"messages": [letter]}) == [letter]
    for wrong in ([letter, 3], [{**letter, "more": 1}], {"a": 1}):
        with pytest.raises(RunError, match="its messages are not a list of letters"):
            made._sent(world, {"messages": wrong})
    world.mailboxes = SimpleNamespace(history=["sign"])  # type: ignore[assignment]
    signs: list[Any] = [{**letter, "message": "?"}]
    assert made._sent(world, {"messages": [letter, *signs]}) == [letter, "sign"]
    world.mailboxes, world.carries_words = SimpleNamespace(history=["sign", "one"]), True  # type: ignore[assignment,misc]
    assert made._sent(world, {}) == ["one"]
    world.mailboxes.history += ["two", "three"]  # type: ignore[union-attr]
    assert made._sent(world, {}) == ["two", "three"]
    assert made._sent(world, {}) == []


def test_of_agents_whose_targets_are_not_logged_the_log_is_believed() -> None:
    made = verifier({"levels": {"b": "critical"}})
    for known, told, found in (
        ({"targets": ["a"]}, ["b"], ["a", "b"]),
        ({"targets": ["a"]}, [], ["a"]),
        ({}, ["a", "b"], ["b"]),
        ({}, ["a"], None),
        ({}, None, None),
    ):
        wanted: dict[str, Any] = dict(known)
        made._add_targets(wanted, ("a", "b"), told)
        assert wanted.get("targets") == found
    wanted = {}
    made._add_targets(wanted, ("a",), ["a"])
    assert wanted == {}


def test_letters_that_were_read_are_those_of_the_mailboxes() -> None:
    read = {"event_type": "NLU_OUTPUT_GENERATED", "agent_id": "a", "event_data": {"message": "hi"}}
    assert verifier()._claims(read) is False
    assert verifier(mail=SimpleNamespace(history=[]))._claims(read) is True
    assert verifier(mail=SimpleNamespace(history=[{"message": "hi"}]))._claims(read) is False


def goal(agent: str) -> Row:
    """Return the line of a goal of an agent."""
    fields = {"event_type": "GOAL_CREATED", "agent_id": agent, "step": 1, "episode": 0}
    who = {"source_component_id": f"PiaAGI.Agent_{agent}", "source_type": "AGENT"}
    return {**fields, **who, "log_level": "STATE", "event_data": {"goal_id": f"r:goal_0_{agent}"}}


def compared(slot: int | None, *whose: str) -> Verifier:
    """Compare a step of a slot before which stand the goals of a and of others."""
    made = playing(verifier(), s0="ab", s1="ab")
    made._turns.clear()
    for number, name in enumerate(whose, 2):
        made.line(number, goal(name))
    for at, name in ((slot, "a"), (1, "b")):
        if made._stopped or (at == 1 and slot is None):
            break
        here = event(at)
        made._made.append(Line(0, name, "GOAL_CREATED", 1, 0, goal(name)["event_data"]))
        made._made.append(Line(0, "system", "ENVIRONMENT_EVENT_OCCURRED", 1, 0, here["event_data"]))
        full = here | {
            "source_component_id": "PiaSE.Environment_Small",
            "source_type": "ENVIRONMENT",
            "log_level": "INFO",
        }
        made._compare(9 if at == slot else 10, full)
    return made


def test_goals_of_all_slots_stand_before_their_steps() -> None:
    def told(made: Verifier) -> Any:
        found = made.report.first_divergence
        return found and (found.line, found.logged, found.replayed)

    assert told(compared(0, "a", "b")) is None
    step = "ENVIRONMENT_EVENT_OCCURRED step"
    # The goal that lacks would stand behind the one that is there.
    assert told(compared(0, "a")) == (3, step, "GOAL_CREATED of b")
    assert told(compared(0)) == (9, step, "GOAL_CREATED of a")
    # Where there are no slots, nothing may be left.
    assert told(compared(None, "a")) is None
    assert told(compared(None, "a", "b")) == (3, "GOAL_CREATED of b", MISSING)
    alone = compared(None, "a")
    assert alone._next == 0
    assert (compared(0, "a", "b")._next, len(compared(0, "a", "b", "b")._early)) == (4, 1)


def test_goals_of_earlier_schemas_are_known_by_their_form() -> None:
    made = verifier({"schema_version": 1})
    assert made._is_goal("goal_12_a", "a")
    assert not made._is_goal("goal_x_a", "a")
    assert not verifier({"schema_version": 2})._is_goal("goal_12_a", "a")
    now = verifier()
    assert not now._is_goal("goal_12_a", "a")
    assert now._is_goal("r:goal_12_a", "a")
    assert not now._is_goal(None, "a")
    assert now._is_goal("r:step_1_1_a", "a")
    assert not verifier({"level": "critical"})._is_goal("r:step_1_1_a", "a")


@pytest.mark.parametrize("name", each(["GridWorld", "PhysicsPlayground"]))
def test_letters_of_an_interface_are_of_the_log(name: str, tmp_path: Path) -> None:
    """Where a world carries no words; its own mailboxes, for symbols, are empty."""
    path = tmp_path / "run.jsonl"
    env = WorldPerceptionInterface(name, agents=2, max_steps=3)
    runs.record(env, path)
    env.reset(seed=0)
    env.send_message("agent_0", "all", "Come here.")
    for agent in ("agent_0", "agent_1"):
        env.execute_action(agent, "stay")
    assert env.poll_messages("agent_1")
    env.send_message("agent_1", "agent_0", "No.")  # no step follows, and no line
    env.close()
    assert runs.replay(path).sound
    with pytest.raises(UnsupportedError, match="no mailboxes for words"):
        runs.fork(path, 0, messages={"agent_0": "Come here."})
    path.write_bytes(path.read_bytes().replace(b'"messages":[{', b'"messages":[7,{'))
    assert "not a list of letters" in str(runs.replay(path))
