"""The line of the explorer document, on traces written by hand."""

from __future__ import annotations

import numpy as np
import pytest

import piase_gym
from piase_gym.errors import AgentError, ConfigError
from piase_gym.interfaces import PerceptionInterface
from piase_gym.worlds.object_search.config import ObjectSearchConfig

LINE = {0: ["chair"], 2: ["table"], 3: ["keyboard", "lamp"]}


def place() -> PerceptionInterface:
    env = PerceptionInterface(
        "ObjectSearch",
        backend="mock",
        line=LINE,
        agents=3,
        agent_ids=["Agent1", "Agent2", "Agent3"],
    )
    env.reset(seed=0)
    return env


def act(env: PerceptionInterface, *actions: str) -> list[object]:
    """Let all act; return where they are then."""
    for agent, action in zip(env.agents, actions, strict=True):
        env.execute_action(agent, action)
    return [env.get_agent_state(agent)["position"] for agent in env.agents]


def test_the_ends_of_the_line_clamp() -> None:
    env = place()
    assert act(env, "backward", "forward", "look_left") == [0, 1, 0]
    assert act(env, "forward", "forward", "tilt_right") == [1, 2, 0]
    assert act(env, "backward", "forward", "move_up") == [0, 3, 0]
    assert act(env, "backward", "forward", "move_left") == [0, 3, 0]
    assert env.get_agent_state("Agent2")["last_action_result"]["status"] == "failure"
    assert act(env, "forward", "backward", "stay") == [1, 2, 0]


def test_what_is_seen_lies_at_the_position_and_the_discovered_set_only_grows() -> None:
    env = place()
    assert env.get_visible_objects("Agent1", 0) == ["chair"]
    assert env.shared_memory["objects"] == {"chair"}
    seen, found = [], []
    for _ in range(3):
        act(env, "forward", "stay", "stay")
        seen.append(env.get_visible_objects("Agent1", env.get_agent_state("Agent1")["position"]))
        found.append(env.shared_memory["objects"])
    assert seen == [[], ["table"], ["keyboard", "lamp"]]
    assert found == [{"chair"}, {"chair", "table"}, {"chair", "table", "keyboard", "lamp"}]
    act(env, "backward", "stay", "stay")
    assert env.shared_memory["objects"] == found[-1]
    assert env.shared_memory["agent_positions"] == {"Agent1": 2, "Agent2": 0, "Agent3": 0}


def test_objects_that_lie_on_the_line_wander_whatever_their_names() -> None:
    fields = {"backend": "mock", "width": 9, "objects": 2, "wandering": 2, "wander_period": 1}
    for seed in range(6):
        env = piase_gym.parallel_env("ObjectSearch", **fields)
        env.reset(seed=seed)
        walks = [env.world.states[0]["shelf"].copy()]
        while env.agents:
            env.step(dict.fromkeys(env.agents, 12))
            walks.append(env.world.states[0]["shelf"].copy())
        for thing in (k for k in range(16) if int(env.world.states[0]["goal"]) >> k & 1):
            steps = np.diff([int(np.flatnonzero(row >> thing & 1)[0]) for row in walks])
            assert {*np.abs(steps).tolist()} <= {0, 1}
            assert np.count_nonzero(steps) > len(steps) // 2


def test_messages_go_to_the_others_and_polling_empties_the_box() -> None:
    env = place()
    env.send_message("Agent1", "all", "I found chair at position 0")
    env.send_message("Agent2", "Agent3", "hello")
    first = {"sender": "Agent1", "recipient": "all", "message": "I found chair at position 0"}
    second = {"sender": "Agent2", "recipient": "Agent3", "message": "hello"}
    assert env.poll_messages("Agent1") == []
    assert env.poll_messages("Agent2") == [first]
    assert env.poll_messages("Agent3") == [first, second]
    assert [env.poll_messages(agent) for agent in env.agents] == [[], [], []]
    assert env.shared_memory["message_history"] == [first, second]
    with pytest.raises(AgentError):
        env.send_message("Agent1", "nobody", "hello")


def test_an_episode_lasts_twenty_steps_whatever_is_found() -> None:
    env = piase_gym.parallel_env("ObjectSearch", backend="mock", line=LINE, agents=1)
    env.reset(seed=0)
    returns, ends = 0.0, []
    while env.agents:
        _, rewards, terminated, truncated, infos = env.step({"agent_0": 0})
        returns += rewards["agent_0"]
        ends.append((terminated["agent_0"], truncated["agent_0"]))
    assert ends == [(False, False)] * 19 + [(False, True)]
    assert infos["agent_0"]["result"] == "won"
    assert returns == pytest.approx(3 - 20 * 0.01)  # the chair was in sight at the start


def test_a_report_tells_the_others_what_was_seen_before_the_command() -> None:
    env = piase_gym.parallel_env("ObjectSearch", backend="mock", line=LINE, agents=2, view="text")
    env.reset(seed=0)
    texts, rewards, *_ = env.step({"agent_0": 13, "agent_1": 12})
    assert texts["agent_1"].splitlines()[-1] == "agent_0 says: I am at position 0 and see a chair."
    assert texts["agent_0"].splitlines() == [
        "Last step: forward and report; ok; reward -0.03; milestone: reported.",
        "You are agent_0, step 1 of 20, at position 1.",
        "You see nothing.",
    ]
    assert rewards == pytest.approx({"agent_0": -0.03, "agent_1": -0.01})
    texts, *_ = env.step({"agent_0": 12, "agent_1": 12})
    assert "says" not in texts["agent_1"]


def test_a_name_that_lies_twice_is_found_once() -> None:
    line = [["cup"], ["cup", "book"]]
    env = piase_gym.parallel_env("ObjectSearch", backend="mock", line=line, agents=1)
    env.reset(seed=0)
    _, rewards, *_ = env.step({"agent_0": 0})
    assert rewards["agent_0"] == pytest.approx(0.99)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"backend": "mock", "line": {-1: ["a"]}}, "count from 0"),
        ({"backend": "mock", "line": {9: ["a"]}, "width": 4}, "beyond width 4"),
        ({"backend": "mock", "line": {"x": ["a"]}}, "count from 0 in whole numbers; 'x' is none"),
        ({"backend": "mock", "line": {1.5: ["a"]}}, "1.5 is none"),
        ({"backend": "mock", "line": {float("inf"): ["a"]}}, "inf is none"),
        ({"backend": "mock", "line": "apple"}, "a list of what lies at each position"),
        ({"backend": "mock", "line": [["a"], 3]}, "a list of names, not 3"),
        ({"backend": "mock", "line": [{"a", "b"}]}, "a list of names, not {"),
        ({"backend": "mock", "line": [["a, b"]]}, "allowed are letters"),
        ({"backend": "mock", "line": [["a"]], "object_names": ["b"]}, "not in object_names"),
        ({"line": [["a"]]}, "needs backend='mock'"),
        ({"backend": "mock", "line": [["a"], ["b"]], "objects": 1}, "objects is 1, but the line"),
        ({"recall": True}, "recall"),
        ({"recall": "3"}, "recall"),
        ({"recall": 3.0}, "recall"),
        ({"width": 4}, "must be in 5..32"),
        ({"objects": 17}, "objects"),
        ({"wandering": 9}, "wandering is 9"),
        ({"backend": "unity"}, "backend"),
        ({"agents": 1, "join_at": [3]}, "nobody at the start"),
        ({"object_names": ["a", "a"], "objects": 1}, "all different"),
    ],
)
def test_bad_configs(fields: dict[str, object], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        piase_gym.parallel_env("ObjectSearch", **fields)


def test_another_line_brings_its_number_of_objects() -> None:
    config = ObjectSearchConfig(backend="mock", line=[["cup"], ["book"]])
    assert config.changed({"line": [["cup"], []]}).objects == 1
    assert config.changed({"max_steps": 9}).objects == 2


def test_another_list_brings_its_length() -> None:
    config = ObjectSearchConfig(backend="mock", line=[["cup"], ["book"]])
    assert config.changed({"line": [["cup"], [], ["book"]]}).width == 3
    wide = config.changed({"line": {0: ["cup"]}, "width": 7})
    assert wide.changed({"line": {1: ["cup"]}}).width == 7
    with pytest.raises(ConfigError, match="width is 4, but the line has 1 positions"):
        ObjectSearchConfig(backend="mock", width=4).changed({"line": [["cup"]]})


def test_what_a_script_puts_in_sight_is_found_by_who_cannot_move() -> None:
    script = {
        "events": [
            {
                "when": {"fact": "step", "at_least": 2},
                "response": {"type": "spawn_object", "object": "keyboard", "place": [0]},
            }
        ]
    }
    env = piase_gym.parallel_env(
        "ObjectSearch", backend="mock", line={3: ["keyboard"]}, objects=1, script=script
    )
    env.reset(seed=0)
    found = []
    for _ in range(4):
        _, rewards, _, _, infos = env.step({"agent_0": env.world.action_codes("backward")[0]})
        found.append("object_found" in infos["agent_0"].get("milestones", ()))
        assert (rewards["agent_0"] > 0) == found[-1]
    assert found == [False, False, True, False]  # a script acts at the end of its step
