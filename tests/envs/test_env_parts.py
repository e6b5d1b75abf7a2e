"""The parts that environments are made of: what they check, read and put together."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.agents import NoopAgent
from piase_gym.agents.base import Agent
from piase_gym.core.commands import Command
from piase_gym.core.events import Events
from piase_gym.core.models import ActionCommand
from piase_gym.envs.actions import (
    any_out_of_range,
    decode_answer,
    explain_failure,
    explains_failures,
    no_acts,
    to_indices,
)
from piase_gym.envs.arguments import partners_around, resolve
from piase_gym.envs.batch_checks import (
    MOST_SINGLE,
    check_num_envs,
    check_singles,
    check_states,
    find_slots,
    read_snapshot,
    require_memory,
)
from piase_gym.envs.config_changes import Modified, split_changes
from piase_gym.envs.episode_snapshot import read_episode
from piase_gym.envs.partners import agent_number, assign_partners, post_asides, read_partners
from piase_gym.envs.team import TeamEnv
from piase_gym.errors import (
    ActionError,
    AgentError,
    ConfigError,
    ResetNeededError,
    ScenarioError,
    SnapshotError,
)
from piase_gym.registry import world_spec
from tests import probes

probes.register()


# -- what a batch takes ----------------------------------------------------------------------------


def test_numbers_of_environments() -> None:
    assert check_num_envs(np.int64(3)) == 3
    for wrong in (0, -1, True, 1.0, "3"):
        with pytest.raises(ConfigError, match="num_envs must be a positive integer"):
            check_num_envs(wrong)
    assert check_singles(MOST_SINGLE, "A") == 65536
    with pytest.raises(ConfigError, match="num_envs=65537 is too many: A is stepped one"):
        check_singles(MOST_SINGLE + 1, "A")


@pytest.mark.parametrize(
    ("which", "slots"),
    [
        (None, [0, 1, 2]),
        ([True, False, True], [0, 2]),
        ([2, 0], [2, 0]),
        (1, [1]),
        ([], []),
        (np.array([2], np.uint8), [2]),
    ],
)
def test_slots_are_flags_or_numbers(which: Any, slots: list[int]) -> None:
    found = find_slots(which, 3)
    assert found.tolist() == slots
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    "which", [[3], [-1], [0, 0], [True, False], [0.5], "ab", [[0], [1]], [[0, 1], [2]]]
)
def test_other_slots_are_refused(which: Any) -> None:
    with pytest.raises(ConfigError, match="slots are given by 3 flags"):
        find_slots(which, 3)


KIND = np.dtype([("a", "<i4"), ("b", "u1")])
WANTED = {"num_envs": 2, "world": "A"}


def saved(**changes: Any) -> dict[str, Any]:
    """Return the snapshot of two records, with changes."""
    states = np.array([(1, 2), (3, 4)], KIND)
    good = {**WANTED, "states": base64.b64encode(states.tobytes()).decode()}
    return {**good, "ready": [True, False], "hints": {"1": [7, ["x"]]}, **changes}


def test_a_snapshot_of_a_batch_is_read() -> None:
    states, ready, hints = read_snapshot(saved(), WANTED, KIND)
    assert states.tolist() == [(1, 2), (3, 4)]
    assert states.flags.writeable
    assert (ready.tolist(), hints) == ([True, False], {1: (7, ["x"])})
    less = saved()
    del less["hints"]
    assert read_snapshot(less, WANTED, KIND)[2] == {}


@pytest.mark.parametrize(
    ("snapshot", "told"),
    [
        ([], "a snapshot is a mapping, not list"),
        (saved(world="B"), "this snapshot has world='B'; here: 'A'"),
        (saved(ready=[True]), "this snapshot is of another number of environments"),
        (saved(states="AAAA"), "this snapshot is of another number of environments"),
        (saved(ready=[1, 0]), "ready of this snapshot is not a list of true and false"),
        (saved(states="!" * 16), "this snapshot is damaged"),
        (saved(hints={"x": [1, []]}), "this snapshot is damaged"),
        ({**WANTED}, "this snapshot is damaged"),
    ],
)
def test_a_damaged_snapshot_of_a_batch_is_refused(snapshot: Any, told: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(snapshot, WANTED, KIND)
    assert str(caught.value).startswith(told)


def test_records_are_looked_at_one_by_one() -> None:
    kind = np.dtype([("config", "<i4"), ("next_config", "<i4"), ("bad", "u1")])
    world: Any = SimpleNamespace(agents=("ann", "bob"))
    world.state_problem = lambda record, table: "it is odd" if record["bad"] == table else None
    tables = [1, 2]
    states = np.array([(0, 1, 2), (1, 0, 1)], kind)
    check_states(world, states, {1: (3, ["x", None])}, tables)
    for changed, told in (
        ((0, 0, 1), "slot 0 of this snapshot: it is odd"),
        ((2, 0, 0), "slot 0 of this snapshot has an unknown config"),
        ((0, 2, 0), "slot 0 of this snapshot has an unknown config"),
        ((-1, 0, 0), "slot 0 of this snapshot has an unknown config"),
    ):
        wrong = states.copy()
        wrong[0] = changed
        with pytest.raises(SnapshotError, match=told):
            check_states(world, wrong, {}, tables)
    hints: Any
    for hints, told in (
        ({2: (3, ["x", None])}, "the hints of slot 2 make no sense"),
        ({-1: (3, ["x", None])}, "the hints of slot -1 make no sense"),
        ({0: (3.0, ["x", None])}, "the hints of slot 0 make no sense"),
        ({0: (3, ["x", 1])}, "the hints of slot 0 make no sense"),
        ({0: (3, ["x" * 100_000, None])}, "the hints of slot 0 make no sense"),
        ({0: (3, ["x"])}, "slot 0 has 1 hints for 2 agents"),
    ):
        with pytest.raises(SnapshotError, match=told):
            check_states(world, states, hints, tables)


def test_memory_is_counted_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten environments of a thousand bytes fit into ten thousand, and eleven do not."""
    tables = np.zeros(9000, np.uint8)
    one = SimpleNamespace(states=np.zeros(600, np.uint8), obs=np.zeros(400, np.uint8))
    one.tables = tables
    world: Any = SimpleNamespace(new_batch=lambda count, configs: one)
    pages = {"SC_PAGE_SIZE": 100, "SC_PHYS_PAGES": 100}
    monkeypatch.setattr("os.sysconf", pages.__getitem__)
    require_memory(world, 10, [])
    with pytest.raises(ConfigError) as caught:
        require_memory(world, 11, [])
    assert str(caught.value) == (
        "num_envs=11 is too many: each takes 1,000 bytes, and this machine has 10,000, "
        "enough for 10"
    )


# -- changes, actions and answers ------------------------------------------------------------------


def test_changes_hold_at_once_or_wait() -> None:
    world = piase_gym.parallel_env("GridWorld").world
    before = world.config
    live = next(name for name in ("max_steps", "rewards") if name in world.live_fields)
    value = {"max_steps": 33, "rewards": {"goal": 3.0}}[live]
    changed = before.changed({live: value, "width": 9})
    found = split_changes(world, before, changed, True)
    assert list(found.now) == [live]
    assert list(found.waiting) == ["width"]
    assert found == {**found.now, **found.waiting}
    later = split_changes(world, before, changed, False)
    assert (later.now, set(later.waiting)) == ({}, {live, "width"})
    assert Modified({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}


def test_indices_of_many_environments() -> None:
    assert to_indices([[1], [2]], (2, 1)).tolist() == [[1], [2]]
    masked = np.ma.masked_array([1, 2], mask=[False, True])
    for wrong, told in (
        ([1, 2, 3], r"actions are integers of shape \(2,\), not int64 of shape \(3,\)"),
        ([1.0, 2.0], r"not float64 of shape \(2,\)"),
        ([True, False], r"not bool of shape \(2,\)"),
        ([[1], [1, 2]], r"not object of shape \(\)"),
        (masked, r"not a masked array of shape \(2,\)"),
    ):
        with pytest.raises(ActionError, match=told):
            to_indices(wrong, (2,))
    assert not any_out_of_range(np.array([0, 4]), 5)
    assert any_out_of_range(np.array([0, 5]), 5)
    assert any_out_of_range(np.array([-1, 0], np.int8), 5)
    assert not any_out_of_range(np.zeros(0, np.int64), 5)
    assert any_out_of_range(np.array([2**64 - 1], np.uint64), 5)


def test_answers_of_agents_are_decoded() -> None:
    world = piase_gym.parallel_env("PointProbe", agents=1).world
    coast = Command("coast")
    assert decode_answer(world, 0, "coast") == coast
    assert decode_answer(world, 0, coast) is coast
    assert decode_answer(world, 0, None) is None
    assert decode_answer(world, 0, ActionCommand(action_type="coast", parameters={})) == coast
    point = decode_answer(world, 0, np.array([1.0, 0.0], np.float32))
    assert point == Command("thrust", {"x": 1.0, "y": 0.0})
    assert decode_answer(world, 0, 4) == 4
    for wrong in (5, -1, 1.5, True):
        with pytest.raises(ActionError):
            decode_answer(world, 0, wrong)
    assert no_acts(world) == [None]


def test_failures_are_explained_where_there_is_text() -> None:
    assert explains_failures("text", "vector")
    assert explains_failures("discrete", "both")
    assert not explains_failures("discrete", "vector")
    info: dict[str, Any] = {}
    explain_failure(info, None)
    explain_failure(info, SimpleNamespace(reason=""))  # type: ignore[arg-type]
    assert info == {}
    last: Any = SimpleNamespace(reason="A wall.")
    explain_failure(info, last)
    explain_failure(info, last)
    assert info == {"feedback": "A wall."}
    more = {"feedback": "You stay."}
    explain_failure(more, last)
    assert more == {"feedback": "You stay. A wall."}


# -- who plays whom --------------------------------------------------------------------------------

NAMES = ("ann", "bob", "cat")


def test_agents_have_numbers() -> None:
    assert agent_number(NAMES, "bob") == 1
    for wrong in ("eve", 1, None):
        with pytest.raises(AgentError, match="agents are ann, bob, cat"):
            agent_number(NAMES, wrong)


def test_partners_are_named_one_by_one_or_all_at_once() -> None:
    assert read_partners(None) == {}
    assert read_partners("noop") == {"*": "noop"}
    agent = NoopAgent()
    assert read_partners(agent) == {"*": agent}
    assert read_partners({"ann": "noop"}) == {"ann": "noop"}
    with pytest.raises(ConfigError, match=r"partners are a policy, or a mapping .*, not list"):
        read_partners(["noop"])  # type: ignore[arg-type]
    world: Any = SimpleNamespace(agents=NAMES)
    seats = assign_partners(world, {"bob": "noop", "cat": agent})
    assert (set(seats), seats[1].get_id(), seats[2]) == ({1, 2}, "bob", agent)
    with pytest.raises(AgentError, match=r"such as partners=\{'cat': 'noop'\}"):
        assign_partners(world, "noop")
    with pytest.raises(AgentError, match="every agent is played by a partner"):
        assign_partners(world, dict.fromkeys(NAMES, "noop"))


def test_who_is_not_named_has_the_usual_partner() -> None:
    task: Any = SimpleNamespace(partners={"*": "noop", "cat": "oracle"})
    assert partners_around(NAMES, None, None, "ann") == {"bob": "random", "cat": "random"}
    assert partners_around(NAMES, task, None, "ann") == {"bob": "noop", "cat": "oracle"}
    found = partners_around(NAMES, task, {"*": "scripted"}, "cat")
    assert found == {"ann": "scripted", "bob": "scripted"}
    assert partners_around(NAMES, task, {"cat": "random"}, "bob")["cat"] == "random"
    with pytest.raises(AgentError, match="'ann' is the learner; partners play the other agents"):
        partners_around(NAMES, task, {"ann": "noop"}, "ann")
    with pytest.raises(ConfigError, match="one agent object cannot play several seats"):
        partners_around(NAMES, None, NoopAgent(), "ann")
    agent = NoopAgent()
    assert partners_around(NAMES[:2], None, agent, "ann") == {"bob": agent}


class Speaks(Agent):
    """Tells others everything at once."""

    def act(self) -> Any:
        return None

    def log_entries(self) -> Any:
        return [("THOUGHT", {"x": 1})]

    def spoken(self) -> Any:
        return [("agent_1", "hello")]

    def outgoing_letters(self) -> Any:
        return ["a letter", "  "]


def test_what_is_told_beside_an_action_is_heard() -> None:
    env = piase_gym.parallel_env("TextProbe", agents=2)
    env.reset(seed=0)
    events, heard = Events(), list[Any]()
    events.subscribe(heard.append)
    post_asides(Speaks(), 0, env.world, events)
    assert env.world.hints == [None, "agent_0 says: hello"]
    assert [(event.kind, event.agent) for event in heard] == [
        ("log", "agent_0"),
        ("hint", "agent_1"),
        ("send", "agent_0"),
    ]
    assert heard[0].data == {"event_type": "THOUGHT", "data": {"x": 1}}
    assert heard[1].data == {"message": "agent_0 says: hello"}
    assert (heard[2].data["message"], heard[2].data["own"]) == ("a letter", False)
    assert env.world.mailboxes is not None
    assert len(env.world.mailboxes.history) == 1
    silent = piase_gym.parallel_env("PointProbe", agents=2)
    silent.reset(seed=0)
    post_asides(Speaks(), 0, silent.world, Events())
    assert silent.world.hints == [None, "agent_0 says: hello"]


def test_names_and_scenarios_go_together() -> None:
    found = resolve("piase/TextRoom-LostKey-v3", None, None, {})
    assert found.scenario is not None
    assert (found.scenario.world, found.spec.name, found.own) == ("TextRoom", "TextRoom", None)
    with pytest.raises(ScenarioError, match=r"give a scenario for a name or scenario=\.\.\., not"):
        resolve("lost_key", "lost_key", None, {})
    config = resolve("GridWorld", None, None, {"width": 7}).config
    assert resolve(config, None, None, {"width": 9}).config.width == 9
    assert resolve(config, None, None, {}).config is config
    with pytest.raises(ScenarioError, match=r"give a config object or scenario=\.\.\., not both"):
        resolve(config, "lost_key", None, {})
    wide = resolve("GridWorld", None, {"width": 12}, {}).config
    assert wide.envelope.width == 12


# -- snapshots of episodes -------------------------------------------------------------------------


def test_the_episode_of_a_snapshot_is_read() -> None:
    env = piase_gym.parallel_env("PointProbe", agents=2, partners={"agent_1": "random"})
    env.reset(seed=5)
    good, spec = env.snapshot(), world_spec("PointProbe")
    parts, partners, pending = read_episode(good, ("agent_1",), spec)
    assert parts == tuple(good["episode"].values())
    assert 5 in parts
    assert (list(partners), pending) == (["agent_1"], None)
    episode = good["episode"]
    (first, *_) = episode
    for change, told in (
        ({"episode": {}}, "this snapshot is damaged, it lacks"),
        ({"episode": {**episode, first: -1}}, f"episode.{first} of this snapshot is -1, not a num"),
        ({"episode": {**episode, first: True}}, f"episode.{first} of this snapshot is True"),
        ({"episode": {**episode, first: 2**63}}, f"episode.{first} of this snapshot is 9"),
        ({"partners": 3}, "this snapshot is damaged, it lacks"),
        ({"partners": {"eve": {}}}, "this snapshot has a partner 'eve'; here: .'agent_1'."),
        ({"next_config": 3}, "next_config of this snapshot is 3, not a config"),
        ({"next_config": {"agnts": 1}}, "next_config of this snapshot is damaged"),
    ):
        with pytest.raises(SnapshotError, match=told):
            read_episode({**good, **change}, ("agent_1",), spec)
    waiting = read_episode({**good, "next_config": {"agents": 1}}, ("agent_1",), spec)[2]
    assert waiting.agents == 1


# -- a team ----------------------------------------------------------------------------------------


def test_a_team_ends_with_its_last_agent() -> None:
    """Two points run out of their three steps together: a limit has ended the episode."""
    env = TeamEnv("PointProbe", agents=2, max_steps=3, arrival=0.001)
    with pytest.raises(ResetNeededError):
        env.step([4, 4])
    shown, info = env.reset(seed=1)
    assert [entry.dtype for entry in shown] == [np.float32] * 2
    assert info["action_mask"].tolist() == [[1] * 5] * 2
    for wrong in ([4], [4, 4, 4], 4):
        with pytest.raises(ActionError, match="a team's action has 2 entries"):
            env.step(wrong)  # type: ignore[arg-type]
    ends = [env.step([4, 4])[1:4] for _ in range(3)]
    assert [end[1:] for end in ends] == [(False, False), (False, False), (False, True)]
    assert all(len(end[0]) == 2 and max(end[0]) < 0 for end in ends)
    with pytest.raises(ResetNeededError, match="the episode is over"):
        env.step([4, 4])
    env.reset(seed=2)
    assert env.step([4, 4])[2:4] == (False, False)
    won = TeamEnv("PointProbe", agents=1, arrival=2.0)
    won.reset(seed=0)
    assert won.step([4])[2:4] == (True, False)
