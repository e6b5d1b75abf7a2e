"""Snapshots, events, queries and shared memory of the document interfaces."""

from __future__ import annotations

import copy
import http.server
import json
import pickle
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from piase_gym.core.models import ActionCommand
from piase_gym.errors import ActionError, AgentError, SnapshotError, UnknownNameError
from piase_gym.interfaces import (
    AbstractEnvironment,
    Environment,
    EnvironmentInterface,
    PerceptionInterface,
)
from piase_gym.runs import record, replay
from tests.interfaces.document_interfaces import move

# -- snapshots, copies -----------------------------------------------------------------------------


def rest(env: AbstractEnvironment) -> list[str]:
    """Play on: the open commands, then no-ops."""
    digests = []
    for _ in range(4):
        env.step(env.time_step)
        digests.append(env.digest())
    return digests


def half_way() -> AbstractEnvironment:
    env = AbstractEnvironment("TextProbe", agents=2, slip=0.5)
    env.reset_environment(seed=8)
    env.get_perceptual_data_for_agent("agent_0")
    say = ActionCommand(action_type="say", parameters={"message": "hello"})
    env.apply_action_from_agent("agent_1", say)
    env.step(0)
    env.apply_action_from_agent("agent_1", move("up"))  # no command here: an invalid action
    env.apply_action_from_agent("agent_0", say.model_copy(update={"execution_priority": -1.0}))
    env.reset_environment()
    env.apply_action_from_agent("agent_0", say.model_copy(update={"execution_priority": -1.0}))
    return env


def test_snapshots_hold_what_was_submitted() -> None:
    env = half_way()
    snapshot = json.loads(json.dumps(env.snapshot()))
    other = AbstractEnvironment("TextProbe", agents=2, slip=0.5)
    other.restore(snapshot)
    assert other.snapshot() == snapshot
    before, after = (e.get_perceptual_data_for_agent("agent_0") for e in (env, other))
    assert before.model_dump_json() == after.model_dump_json()
    futures = [rest(e) for e in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), other, env)]
    assert futures[0] == futures[1] == futures[2] == futures[3]
    env.restore(snapshot)
    assert rest(env) == futures[0]


def test_snapshots_of_other_interfaces_are_taken_up() -> None:
    from piase_gym.envs.parallel import parallel_env

    parallel = parallel_env("TextProbe", agents=2, view="vector")
    parallel.reset(seed=3)
    parallel.step(dict.fromkeys(parallel.agents, 0))
    env = Environment("TextProbe", agents=2)
    env.restore(parallel.snapshot())
    assert env.digest() == parallel.digest()
    parallel.restore(env.snapshot())
    assert env.get_observation("agent_0").timestamp == 1.0


def test_what_is_carried_in_another_environments_snapshot_is_not_new() -> None:
    from piase_gym.envs.parallel import parallel_env

    fields = {"map": ["@k.LG", "#####"]}
    parallel = parallel_env("GridWorld", actions="text", **fields)
    parallel.reset(seed=3)
    parallel.step({"agent_0": "move right"})
    parallel.step({"agent_0": "interact"})
    assert parallel.facts("agent_0").carrying == "key"
    env = AbstractEnvironment("GridWorld", **fields)
    env.restore(parallel.snapshot())
    change = env.get_perceptual_data_for_agent("agent_0").inventory_update
    assert change == {"added": [], "removed": []}


@pytest.mark.parametrize("damage", [None, 3, {}, {"agent_0": {}}, {"agent_0": None}])
def test_damaged_seats_are_refused(damage: Any) -> None:
    env = Environment("PointProbe")
    env.reset(seed=0)
    before = env.snapshot()
    with pytest.raises(SnapshotError):
        env.restore({**before, "seats": damage})
    assert env.snapshot() == before


# -- events and queries ----------------------------------------------------------------------------


def test_agents_hear_of_what_concerns_them() -> None:
    env = EnvironmentInterface("TextProbe", agents=2)
    heard: list[dict[str, Any]] = []
    ends = [
        env.subscribe_to_event("agent_1", kind, heard.append)
        for kind in ("letter", "result", "reset")
    ]
    env.reset(seed=0)
    say = {"action_type": "say", "parameters": {"message": "hello"}}
    for _ in range(2):
        env.submit_action("agent_0", say)
        env.submit_action("agent_1", {"action_type": "wait"})
    kinds = [(event["event_type"], event["timestamp"]) for event in heard]
    assert kinds == [("reset", 0.0), ("result", 1.0), ("result", 2.0), ("letter", 2.0)]
    assert {event["agent_id"] for event in heard} == {"agent_1"}
    letter = {"sender": "agent_0", "recipient": "all", "message": "hello"}
    assert heard[-1]["payload"] == letter
    assert heard[1]["payload"]["status"] == "success"
    for end in ends:
        end()
    env.reset(seed=0)
    assert len(heard) == 4
    assert not env.events.active


@pytest.fixture
def address() -> Iterator[tuple[str, list[Any]]]:
    """A server on this machine, and what was posted to it."""
    posted: list[Any] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/events", posted
    server.shutdown()
    thread.join()
    server.server_close()


def test_events_are_posted_to_addresses(address: tuple[str, list[Any]]) -> None:
    url, posted = address
    env = EnvironmentInterface("GridWorld", start_pos=(0, 0), goal_pos=(1, 0))
    env.subscribe_to_event("agent_0", "milestone", url)
    env.reset(seed=0)
    env.submit_action("agent_0", {"action_type": "move", "parameters": {"direction": "right"}})
    assert posted == [
        {
            "event_type": "milestone",
            "agent_id": "agent_0",
            "timestamp": 1.0,
            "payload": {"name": "goal_reached"},
        }
    ]


def test_an_address_that_does_not_answer_warns_and_stops_nothing() -> None:
    env = EnvironmentInterface("PointProbe")
    env.subscribe_to_event("agent_0", "reset", "http://127.0.0.1:9/nobody")
    with pytest.warns(RuntimeWarning, match="did not reach http://127.0.0.1:9"):
        env.reset(seed=0)
    assert env.submit_action("agent_0", {"action_type": "coast"})["status"] == "success"


@pytest.mark.parametrize("broken", ["answer", "port", "event"])
def test_whatever_keeps_an_event_from_its_address_is_a_warning(broken: str) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{'port' if broken == 'port' else server.getsockname()[1]}/"

    def answer() -> None:
        with server.accept()[0] as connection:
            connection.recv(1 << 16)
            connection.sendall(b"this is no HTTP\r\n\r\n")

    if broken == "answer":
        threading.Thread(target=answer, daemon=True).start()
    env = EnvironmentInterface("PointProbe")
    env.reset(seed=0)
    env.subscribe_to_event("agent_0", "hint", address)
    with server, pytest.warns(RuntimeWarning, match=f"'hint' did not reach {address}"):
        env.give_hint("agent_0", "\ud800" if broken == "event" else "left")


def test_queries_answer_what_the_agent_may_know() -> None:
    env = EnvironmentInterface("TextProbe", agents=2)
    env.reset(seed=0)
    env.submit_action("agent_0", {"action_type": "wait"})
    some = env.query_environment_state("agent_1", {"keys": ["room", "waiting_for", "time_step"]})
    assert some == {
        "room": env.get_perceptions("agent_1")["room"],
        "waiting_for": ["agent_1"],
        "time_step": 0,
    }
    everything = env.query_environment_state("agent_1", {})
    assert set(env.get_perceptions("agent_1")) < set(everything)
    assert everything["admissible_commands"] == env.admissible_commands("agent_1")
    with pytest.raises(UnknownNameError, match="house"):
        env.query_environment_state("agent_1", {"keys": ["house"]})


def test_to_ask_is_no_perception() -> None:
    env = EnvironmentInterface("TextProbe", agents=2)
    env.reset(seed=0)
    say = {"action_type": "say", "parameters": {"message": "hello"}}
    for command in (say, {"action_type": "wait"}, {"action_type": "wait"}):
        env.submit_action("agent_0", command)
        env.submit_action("agent_1", {"action_type": "wait"})
        answer = env.query_environment_state("agent_1", {"keys": ["messages"]})
    contents = [letter["content"] for letter in answer["messages"]]
    assert contents == ["hello"]
    assert env.get_perceptions("agent_1")["messages"] == answer["messages"]
    env.submit_action("agent_0", say)
    env.submit_action("agent_1", {"action_type": "wait"})
    assert env.get_perceptions("agent_1")["messages"] == []


# -- PerceptionInterface ---------------------------------------------------------------------------


def test_explorers_see_act_and_share_discoveries() -> None:
    env = PerceptionInterface("TextProbe", agents=2, items=7)
    env.reset(seed=0)
    state = env.get_agent_state("agent_0")
    assert state["position"] == state["visible_caption"].split("the ")[1].split(".")[0]
    seen = env.get_visible_objects("agent_0", state["position"])
    assert seen == state["visible_objects"]
    assert "agent_1" in seen
    waiting = env.execute_action("agent_0", "go", {"direction": "up"})
    assert (waiting["status"], waiting["position"]) == ("in_progress", state["position"])
    assert waiting["reward"] == 0
    done = env.execute_action("agent_1", "go up")
    assert (done["status"], done["position"], done["step_count"]) == ("success", "hall", 1)
    memory = env.shared_memory
    assert set(seen) <= memory["objects"]
    assert set(env.get_visible_objects("agent_1")) <= memory["objects"]
    assert memory["agent_positions"] == {"agent_0": "hall", "agent_1": "hall"}
    info = env.get_environment_info()
    assert (info["step_count"], info["max_steps"], info["agents"]) == (1, 100, env.agents)
    env.reset(seed=1)
    assert env.shared_memory["objects"] == {
        name for agent in env.agents for name in env.get_visible_objects(agent)
    }


def test_messages_of_a_world_without_mailboxes_arrive_at_once() -> None:
    """The explorer document's mock: to one or to all, reading empties, the history stays."""
    env = PerceptionInterface("GridWorld", agents=3)
    env.reset(seed=0)
    digest = env.digest()
    env.send_message("agent_0", "all", "I found a keyboard at position 5")
    env.send_message("agent_1", "agent_2", "come")
    first = {"sender": "agent_0", "recipient": "all", "message": "I found a keyboard at position 5"}
    second = {"sender": "agent_1", "recipient": "agent_2", "message": "come"}
    assert env.shared_memory["message_mailboxes"]["agent_2"] == [first, second]
    assert env.poll_messages("agent_2") == [first, second]
    assert env.poll_messages("agent_2") == []
    assert env.poll_messages("agent_1") == [first]
    assert env.poll_messages("agent_0") == []
    assert env.shared_memory["message_history"] == [first, second]
    assert env.digest() == digest
    again = PerceptionInterface("GridWorld", agents=3)
    again.restore(json.loads(json.dumps(env.snapshot())))
    assert again.shared_memory == env.shared_memory
    env.reset()
    assert env.shared_memory["message_history"] == []


def test_messages_of_a_world_with_mailboxes_follow_its_rules() -> None:
    env = PerceptionInterface("TextProbe", agents=2)
    env.reset(seed=0)
    env.send_message("agent_0", "agent_1", "x" * 100)
    assert env.poll_messages("agent_1") == []
    for _ in range(2):  # delivered one step later
        for name in env.agents:
            env.execute_action(name, "wait")
    heard = {"sender": "agent_0", "recipient": "agent_1", "message": "x" * 80}
    assert env.poll_messages("agent_1") == [heard]
    assert env.poll_messages("agent_1") == []


def test_a_message_between_steps_is_paid_for_in_the_next_also_after_a_restore() -> None:
    def paid(env: PerceptionInterface) -> list[float]:
        return [
            env.execute_action(name, "wait")["reward"]
            for _ in range(2)
            for name in ("agent_1", "agent_0")  # the last to act learns the reward
        ][1::2]

    free = PerceptionInterface("TextRoom", agents=2)
    free.reset(seed=1)
    before = paid(free)
    env = PerceptionInterface("TextRoom", agents=2, message_cost=0.5)
    env.reset(seed=1)
    env.send_message("agent_0", "all", "hi")
    saved = json.loads(json.dumps(env.snapshot()))
    wanted = [before[0] - 0.5, before[1]]
    assert paid(env) == pytest.approx(wanted)
    env.restore(saved)
    assert paid(env) == pytest.approx(wanted)


def test_nothing_can_be_said_while_it_is_no_time_to_talk(tmp_path: Path) -> None:
    env = PerceptionInterface("SocialDilemma", speech=True, talk=1)
    record(env, tmp_path / "run.jsonl")
    env.reset(seed=1)
    env.send_message("agent_0", "all", "let us cooperate")
    for name in env.agents:
        env.execute_action(name, env.world.noop)
    assert [letter["message"] for letter in env.poll_messages("agent_1")] == ["let us cooperate"]
    with pytest.raises(ActionError, match="agent_0 cannot say anything now"):
        env.send_message("agent_0", "all", "and now?")
    for name in env.agents:
        env.execute_action(name, env.world.noop)
    env.send_message("agent_0", "all", "thanks")
    env.close()
    assert replay(tmp_path / "run.jsonl").ok


def test_messages_of_a_world_without_words_arrive_at_once() -> None:
    pytest.importorskip("pybullet")
    for fields in ({}, {"symbols": 2}):
        env = PerceptionInterface("PhysicsPlayground", agents=2, **fields)
        env.reset(seed=0)
        env.send_message("agent_0", "all", "hi")
        assert [letter["message"] for letter in env.poll_messages("agent_1")] == ["hi"]
        env.close()


def test_a_shared_interface_forgets_with_the_episode() -> None:
    env = Environment("GridWorld", agents=2)
    talk = PerceptionInterface(env)
    env.reset(seed=0)
    talk.send_message("agent_0", "agent_1", "hi")
    env.reset()
    assert talk.poll_messages("agent_1") == []
    assert talk.shared_memory["message_history"] == []


@pytest.mark.parametrize("world", ["GridWorld", "TextProbe"])
@pytest.mark.parametrize(
    ("recipient", "message", "told"),
    [
        ("agent_0", "hi", "agent_0 cannot send a message to itself"),
        ("agent_1", " ", "cannot be empty"),
        ("all", "x" * 2**20, "at most 1000 characters, not 1048576"),
    ],
)
def test_what_is_no_message_is_refused_and_the_episode_goes_on(
    world: str, recipient: str, message: str, told: str
) -> None:
    env = PerceptionInterface(world, agents=2)
    env.reset(seed=0)
    before = env.snapshot()
    with pytest.raises(ActionError, match=told):
        env.send_message("agent_0", recipient, message)
    assert env.snapshot() == before
    env.send_message("agent_0", "agent_1", "hi")
    assert len(env.shared_memory["message_history"]) == 1


def test_without_delay_a_message_arrives_between_steps_and_is_replayed(tmp_path: Path) -> None:
    env = PerceptionInterface("TextRoom", agents=2, message_delay=0)
    record(env, tmp_path / "run.jsonl")
    env.reset(seed=1)
    env.send_message("agent_0", "agent_1", "between steps")
    heard = {"sender": "agent_0", "recipient": "agent_1", "message": "between steps"}
    assert env.poll_messages("agent_1") == [heard]
    assert "between steps" not in env.get_agent_state("agent_1")["visible_caption"]
    saved = env.snapshot()
    for _ in range(2):  # it is shown with the next step, and not put into the box again
        for name in env.agents:
            env.execute_action(name, "wait")
        assert env.poll_messages("agent_1") == []
        shown = "between steps" in env.get_agent_state("agent_1")["visible_caption"]
        assert shown == (env.time_step == 1)
    env.restore(saved)
    assert env.poll_messages("agent_1") == []
    env.close()
    assert replay(tmp_path / "run.jsonl").ok


def test_of_ticks_in_which_nobody_submits_no_event_tells() -> None:
    env, told = AbstractEnvironment("TextProbe", agents=2), []
    env.reset_environment(seed=8)
    env.events.subscribe(lambda event: told.append(event.data), ["submitted"])
    env.step(0)
    assert told == []
    env.apply_action_from_agent("agent_1", ActionCommand(action_type="say", sequence_id="4"))
    env.step(1)
    assert told == [{"commands": {"agent_1": {"sequence_id": "4"}}}]


@pytest.mark.parametrize(
    ("late", "done"), [({}, [True, False]), ({"join_at": (0, 9)}, [False] * 2)]
)
def test_who_has_ended_in_another_environment_has_ended_here_too(
    late: dict[str, Any], done: list[bool]
) -> None:
    from piase_gym.envs.parallel import parallel_env

    fields = {"agents": 2, "start_pos": [(0, 0), (5, 5)], "goal_pos": (1, 0), **late}
    parallel = parallel_env("GridWorld", actions="text", **fields)
    parallel.reset(seed=3)
    parallel.step(dict.fromkeys(parallel.agents, "stay" if late else "move right"))
    env = Environment("GridWorld", **fields)
    env.restore(json.loads(json.dumps(parallel.snapshot())))
    assert env.agents == parallel.agents != env.possible_agents
    assert [env.is_done(name) for name in env.possible_agents] == done


def test_a_final_result_brings_the_scene_that_follows() -> None:
    env = AbstractEnvironment("TextProbe", agents=2)
    talk = EnvironmentInterface(env)
    env.reset_environment(seed=0)
    wait = ActionCommand(action_type="wait")
    assert env.apply_action_from_agent("agent_0", wait).immediate_perception_snippet is None
    result = talk.submit_action("agent_1", wait)
    assert result["immediate_perception_snippet"] == {
        "timestamp": 1.0,
        "visible_text": env.world.text(env.facts("agent_1")),
    }


def test_a_simulation_is_told_where_everybody_stands() -> None:
    env = AbstractEnvironment("TextProbe", agents=2, max_steps=2)
    env.reset_environment({"seed": 5})
    wait = ActionCommand(action_type="wait")
    env.apply_action_from_agent("agent_1", wait)
    time = {"time_step": 0, "seed": 5, "waiting_for": ["agent_0"], "is_over": False}
    assert env.get_current_state_snapshot("time") == time
    rows = env.get_current_state_snapshot("agents")
    assert [rows[name]["submitted"] for name in rows] == [False, True]
    assert [rows[name]["total_reward"] for name in rows] == [0.0, 0.0]
    paid = 0.0
    for tick in range(2):
        result = env.apply_action_from_agent("agent_0", wait)
        if tick:
            result = env.apply_action_from_agent("agent_1", wait)
        assert result.rewards_obtained is not None
        paid += result.rewards_obtained["reward"]
    row = env.get_current_state_snapshot("agent_1")
    assert paid != 0.0
    assert row["total_reward"] == pytest.approx(paid)
    assert (row["in_play"], row["done"], row["submitted"]) == (False, True, False)
    assert row["last_action_result"]["details"]["truncated"] is True
    assert env.get_current_state_snapshot("time")["is_over"] is True
    with pytest.raises(UnknownNameError, match="scope"):
        env.get_current_state_snapshot("agent_9")


def test_who_has_ended_cannot_write_and_is_shown_as_it_was() -> None:
    env = PerceptionInterface("PointProbe", agents=2, max_steps=1)
    env.reset(seed=0)
    for name in env.agents:
        last = env.execute_action(name, "coast")
    assert (last["status"], last["in_play"], last["done"]) == ("success", False, True)
    assert last["reward"] == last["last_action_result"]["rewards_obtained"]["reward"]
    assert last["message"] == last["last_action_result"]["message"]
    with pytest.raises(AgentError, match="agent 'agent_0' is not in play and cannot send"):
        env.send_message("agent_0", "agent_1", "hi")
    assert env.get_agent_state("agent_1")["visible_caption"] == last["visible_caption"]


def test_letters_that_nobody_asks_for_cost_nothing_at_later_ticks() -> None:
    env = EnvironmentInterface("TextRoom", agents=2)
    env.reset(seed=0)
    kept = env.engine.records["agent_1"].messages
    for number in range(3):
        say = {"action_type": "say", "parameters": {"message": f"number {number}"}}
        for name in ("agent_0", "agent_1"):
            env.submit_action(name, say)
    assert env.engine.records["agent_1"].messages is kept, "they are not copied at each tick"
    heard = [message["content"] for message in env.get_perceptions("agent_1")["messages"]]
    assert heard == ["number 0", "number 1"], "the last one is on its way"
