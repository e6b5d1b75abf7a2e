"""Mailbox: delivery, delay, loss, range, limits, and their state as a value."""

from __future__ import annotations

import json
from typing import Any

import pytest

import piase_gym
from piase_gym.core.commands import MAX_LINE, Command
from piase_gym.core.mailbox import charged
from piase_gym.core.rng import Stream
from piase_gym.errors import ActionError, AgentError, ConfigError, PiaseError
from piase_gym.mailbox import EVERYONE, ChannelRules, Mailbox, Message
from tests import probes
from tests.helpers.costs import Unread

AGENTS = ("ann", "bob", "cid")


def boxes(**rules: float) -> Mailbox:
    """Return mailboxes for three agents."""
    return Mailbox(AGENTS, ChannelRules(**rules))  # type: ignore[arg-type]


def deliver(mail: Mailbox, steps: int = 1, stream: Stream | None = None) -> None:
    """End some steps."""
    for _ in range(steps):
        mail.deliver(stream or Stream(0))


@pytest.mark.parametrize("delay", [0, 1, 2, 5])
def test_a_message_arrives_after_the_delay_and_is_heard_for_one_step(delay: int) -> None:
    mail = boxes(delay=delay)
    letter = mail.send("ann", "bob", "hello")
    for _ in range(delay):
        deliver(mail)
        assert mail.delivered["bob"] == []
    deliver(mail)
    assert mail.delivered["bob"] == [letter] == [Message("ann", "bob", "hello")]
    deliver(mail)
    assert mail.delivered["bob"] == []
    assert mail.poll("bob") == [{"sender": "ann", "recipient": "bob", "message": "hello"}]


def test_without_delay_a_message_is_in_the_box_as_soon_as_it_is_sent() -> None:
    """The mock of the explorer document, line by line."""
    mail = Mailbox(["Agent1", "Agent2", "Agent3"])
    mail.send("Agent1", "Agent2", "I found keyboard at position 5")
    mail.send("Agent2", "all", "I found chair")
    first = {"sender": "Agent1", "recipient": "Agent2", "message": "I found keyboard at position 5"}
    second = {"sender": "Agent2", "recipient": "all", "message": "I found chair"}
    assert mail.poll("Agent2") == [first]
    assert mail.poll("Agent2") == []
    assert mail.poll("Agent3") == [second]
    mail.deliver()
    assert [len(mail.delivered[agent]) for agent in mail.agents] == [1, 1, 1]  # shown once
    assert mail.poll("Agent1") == [second]  # and in the box once
    mail.deliver()
    assert [len(mail.delivered[agent]) for agent in mail.agents] == [0, 0, 0]
    assert mail.history == [first, second]


def test_a_message_that_may_be_lost_waits_for_the_draw() -> None:
    mail = boxes(delay=0, drop=1e-9)
    mail.send("ann", "bob", "hello")
    assert mail.poll("bob") == []
    with pytest.raises(ConfigError, match=r"needs a random stream, as drop is 1e-09"):
        mail.deliver()
    mail.deliver(Stream(0))
    assert len(mail.poll("bob")) == 1


def test_the_rules_of_a_channel_have_a_delay_of_one_step() -> None:
    mail = Mailbox(AGENTS, ChannelRules())
    mail.send("ann", "bob", "hello")
    deliver(mail)
    assert mail.poll("bob") == []
    deliver(mail)
    assert len(mail.poll("bob")) == 1


def test_a_message_to_one_reaches_nobody_else() -> None:
    mail = boxes(delay=0)
    mail.send("ann", "bob", "hello")
    deliver(mail)
    assert [len(mail.poll(agent)) for agent in AGENTS] == [0, 1, 0]


def test_all_means_everyone_else() -> None:
    mail = boxes(delay=0)
    mail.send("bob", EVERYONE, "hello")
    deliver(mail)
    assert [len(mail.delivered[agent]) for agent in AGENTS] == [1, 0, 1]
    assert [len(mail.poll(agent)) for agent in AGENTS] == [1, 0, 1]


def test_poll_empties_the_box_and_looking_does_not() -> None:
    mail = boxes(delay=0)
    mail.send("ann", "bob", "hello")
    deliver(mail)
    assert len(mail.boxes["bob"]) == len(mail.delivered["bob"]) == 1  # looking, twice
    assert len(mail.boxes["bob"]) == len(mail.delivered["bob"]) == 1
    assert len(mail.poll("bob")) == 1
    assert mail.poll("bob") == []
    assert len(mail.delivered["bob"]) == 1, "polling took what is delivered in this step"


def test_what_poll_returned_does_not_change_later() -> None:
    mail = boxes(delay=0)
    mail.send("ann", "bob", "one")
    deliver(mail)
    polled = mail.poll("bob")
    mail.send("ann", "bob", "two")
    deliver(mail)
    assert [letter["message"] for letter in polled] == ["one"]


def test_letters_arrive_in_the_order_of_posting() -> None:
    mail = boxes(delay=1)
    mail.send("cid", "bob", "1")
    mail.send("ann", EVERYONE, "2")
    deliver(mail)
    mail.send("ann", "bob", "3")
    mail.send("cid", EVERYONE, "4")
    deliver(mail, 3)
    assert [letter["message"] for letter in mail.poll("bob")] == ["1", "2", "3", "4"]
    assert [letter["message"] for letter in mail.history] == ["1", "2", "3", "4"]


def test_who_may_hear_whom() -> None:
    mail = Mailbox(AGENTS, ChannelRules(delay=0), hears=lambda sender, to: to != "cid")
    mail.send("ann", EVERYONE, "hello")
    mail.send("ann", "cid", "hello")
    deliver(mail)
    assert [len(mail.poll(agent)) for agent in AGENTS] == [0, 1, 0]
    assert len(mail.history) == 2


def test_long_messages_are_cut() -> None:
    mail = boxes(delay=0, max_length=5)
    assert mail.send("ann", "bob", "hello world").message == "hello"
    deliver(mail)
    assert mail.poll("bob")[0]["message"] == mail.history[0]["message"] == "hello"


def test_a_plain_mailbox_leaves_messages_whole() -> None:
    mail = Mailbox(AGENTS)
    mail.send("ann", "bob", "x" * MAX_LINE)
    assert mail.poll("bob")[0]["message"] == "x" * MAX_LINE


def test_a_full_box_loses_the_oldest() -> None:
    mail = boxes(delay=0, box_size=3)
    for number in range(5):
        mail.send("ann", "bob", str(number))
    deliver(mail)
    assert [letter.message for letter in mail.delivered["bob"]] == list("01234")
    assert [letter["message"] for letter in mail.poll("bob")] == list("234")


def test_a_box_of_size_zero_keeps_nothing() -> None:
    mail = boxes(delay=0, box_size=0)
    mail.send("ann", "bob", "hello")
    deliver(mail)
    assert mail.poll("bob") == []


def lossy_run(seed: int, drop: float) -> list[bool]:
    """Tell which of 400 messages arrived."""
    mail, stream = boxes(delay=0, drop=drop), Stream(seed)
    arrived = []
    for _ in range(400):
        mail.send("ann", "bob", "hello")
        deliver(mail, stream=stream)
        arrived.append(bool(mail.poll("bob")))
    return arrived


def test_messages_are_lost_with_the_given_probability() -> None:
    assert lossy_run(0, 0.25) == lossy_run(0, 0.25)
    assert lossy_run(0, 0.25) != lossy_run(1, 0.25)
    assert 250 < sum(lossy_run(0, 0.25)) < 350  # expected 300, one deviation is 8.7
    assert all(lossy_run(0, 0.0))
    assert not any(lossy_run(0, 1.0))


def test_the_stream_is_drawn_from_only_if_messages_can_be_lost() -> None:
    safe, lossy = Stream(0), Stream(0)
    for drop, stream in ((0.0, safe), (0.5, lossy)):
        mail = boxes(delay=0, drop=drop)
        mail.send("ann", EVERYONE, "hello")
        deliver(mail, stream=stream)
    assert (safe.counter, lossy.counter) == (0, 2)  # a draw for each recipient


def test_lost_messages_stay_in_the_history() -> None:
    mail = boxes(delay=0, drop=1.0)
    mail.send("ann", "bob", "hello")
    deliver(mail)
    assert mail.poll("bob") == []
    assert len(mail.history) == 1


@pytest.mark.parametrize(
    ("letter", "error", "told"),
    [
        (("ann", "dan", "hi"), AgentError, "no agent 'dan'; agents are ann, bob, cid; 'all' is"),
        (("dan", "ann", "hi"), AgentError, "no agent 'dan'"),
        ((EVERYONE, "ann", "hi"), AgentError, "no agent 'all'"),
        (("ann", "", "hi"), AgentError, "no agent ''"),
        (("ann", None, "hi"), AgentError, "no agent None"),
        (("ann", ["bob"], "hi"), AgentError, r"no agent \['bob'\]"),
        (("ann", "ann", "hi"), ActionError, "ann cannot send a message to itself"),
        (("ann", "bob", " \n"), ActionError, "cannot be empty"),
        (("ann", "bob", 3), ActionError, "a string, not int"),
        (("ann", "bob", "x" * 2**20), ActionError, "at most 1000 characters, not 1048576"),
    ],
)
@pytest.mark.parametrize("delay", [0, 1])
def test_what_is_no_message_is_refused_and_changes_nothing(
    letter: tuple[Any, Any, Any], error: type[PiaseError], told: str, delay: int
) -> None:
    mail = Mailbox(AGENTS, delay)
    before = mail.get_state()
    with pytest.raises(error, match=told):
        mail.send(*letter)
    assert mail.get_state() == before
    mail.send("ann", "bob", "still here")
    deliver(mail, 2)
    assert len(mail.poll("bob")) == 1


def test_boxes_are_for_agents_that_can_be_told_apart() -> None:
    wrong: list[Any] = ["ann", ["ann", "ann"], ["ann", "all"]]
    for agents in wrong:
        with pytest.raises(ConfigError, match="agents are different names"):
            Mailbox(agents)
    for delay in (-1, 0.5, True):
        with pytest.raises(ConfigError, match="a delay is a number of steps from 0"):
            Mailbox(AGENTS, delay)  # type: ignore[arg-type]
    with pytest.raises(AgentError, match="no agent 'dan'"):
        Mailbox(AGENTS).poll("dan")


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"drop": -0.1}, "drop is a probability from 0 to 1"),
        ({"drop": 1.5}, "drop is a probability from 0 to 1"),
        ({"drop": float("nan")}, "drop is a probability from 0 to 1"),
        ({"drop": True}, "drop is a probability from 0 to 1"),
        ({"max_length": 0}, "max_length is an integer from 1"),
        ({"max_length": 2.5}, "max_length is an integer from 1"),
        ({"box_size": -1}, "box_size is an integer from 0"),
        ({"history": -1}, "history is an integer from 0"),
    ],
)
def test_the_rules_of_a_channel_are_checked(rules: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        boxes(**rules)


@pytest.mark.parametrize(
    ("world", "config"), [("TextRoom", {}), ("Household", {}), ("ObjectSearch", {"speech": True})]
)
@pytest.mark.parametrize("delay", [0, 1])
def test_worlds_answer_what_is_no_message_and_go_on(
    world: str, config: dict[str, Any], delay: int
) -> None:
    env = piase_gym.parallel_env(world, agents=2, message_delay=delay, actions="text", **config)
    env.reset(seed=0)
    wait = env.unwrapped.world.write(env.unwrapped.world.noop)
    rows: list[tuple[str | Command, str]] = [
        ("say hi", "ok"),
        ("say", "unparsable"),
        ("tell agent_9 hi", "unparsable"),
        ("tell agent_0 hi", "illegal"),
        ("say " + "x" * 2**20, "too_long"),
        (Command("say", {"message": " "}), "unparsable"),
        (Command("say", {"message": "x" * (MAX_LINE + 1)}), "too_long"),
        (Command("tell", {"agent_id": "agent_0", "message": "hi"}), "illegal"),
    ]
    for act, outcome in rows:
        infos = env.step({"agent_0": act, "agent_1": wait})[-1]
        assert infos["agent_0"]["outcome"] == outcome, act
    assert len(env.unwrapped.world.mailboxes.history) == 1
    env.close()


def test_clear_forgets_everything() -> None:
    mail = boxes(delay=0)
    empty = mail.get_state()
    mail.send("ann", EVERYONE, "1")
    deliver(mail)
    mail.send("ann", EVERYONE, "2")
    mail.clear()
    assert mail.get_state() == empty
    deliver(mail)
    assert mail.poll("bob") == []


def test_the_state_goes_through_json_and_carries_the_future() -> None:
    mail = boxes(delay=2, drop=0.5)
    stream = Stream(4)
    for number in range(12):
        mail.send(AGENTS[number % 3], EVERYONE, f"n° {number}")
        mail.send(AGENTS[number % 3], AGENTS[(number + 1) % 3], f"to you {number}")
        deliver(mail, stream=stream)
    state, draws = json.loads(json.dumps(mail.get_state())), json.dumps(stream.get_state())
    assert state == mail.get_state()

    state["now"] += 2**40
    state["travelling"] = [[when + 2**40, letter] for when, letter in state["travelling"]]
    twin, twin_stream = boxes(delay=2, drop=0.5), Stream(0)
    twin.set_state(state)
    twin_stream.set_state(json.loads(draws))
    assert twin.get_state() == state
    for _ in range(4):
        mail.send("bob", EVERYONE, "later")
        twin.send("bob", EVERYONE, "later")
        deliver(mail, stream=stream)
        deliver(twin, stream=twin_stream)
        assert twin.delivered == mail.delivered
    assert [twin.poll(agent) for agent in AGENTS] == [mail.poll(agent) for agent in AGENTS]
    assert twin.history == mail.history


def test_a_state_is_a_copy() -> None:
    mail = boxes(delay=0)
    mail.send("ann", "bob", "hello")
    deliver(mail)
    state = mail.get_state()
    before = json.dumps(state)
    mail.poll("bob")
    mail.send("ann", "bob", "again")
    assert json.dumps(state) == before


@pytest.mark.parametrize(
    ("world", "config"),
    [("TextRoom", {}), ("TextProbe", {}), ("PhysicsPlayground", {"messages": True})],
)
def test_a_letter_is_posted_once(world: str, config: dict[str, Any]) -> None:
    if world == "PhysicsPlayground":
        pytest.importorskip("pybullet")
    probes.register()
    env = piase_gym.parallel_env(world, agents=2, actions="text", **config)
    env.reset(seed=0)

    def letters(word: str) -> list[str]:
        heard: list[str] = []
        leave = env.events.subscribe(lambda e: heard.append(e.data["message"]), kinds=("message",))
        env.step({"agent_0": f"say {word}", "agent_1": "wait"})
        leave()
        return heard

    env.step({"agent_0": "say one", "agent_1": "wait"})  # before anybody listens
    assert letters("two") == ["two"]
    saved = env.snapshot()
    assert letters("three") == ["three"]
    env.restore(saved)
    assert letters("four") == ["four"]
    other = piase_gym.parallel_env(world, agents=2, actions="text", **config)
    env.close()
    env = other
    env.restore(saved)
    assert letters("five") == ["five"]
    env.close()


def test_who_says_too_much_is_told_that_it_was_cut() -> None:
    for world, most in (("TextRoom", 200), ("SqlQuery", 400)):
        env = piase_gym.parallel_env(world, agents=2, actions="text")
        env.reset(seed=0)
        for words, told in (("x" * most, False), ("x" * (most + 1), True), ("short", False)):
            shown, *_, infos = env.step({"agent_0": f"say {words}", "agent_1": "wait"})
            said = f"Your message was cut to its first {most} characters."
            assert (said in shown["agent_0"]["text"].split("\n")[0]) == told
            assert (said in infos["agent_0"].get("feedback", "")) == told
            assert said not in shown["agent_1"]["text"]
            assert env.world.mailboxes.history[-1]["message"] == words[:most]


def test_what_was_heard_is_kept_for_each_sender_the_newest_first() -> None:
    mail = boxes(delay=0, history=2)
    for sender, words in (("cid", "1"), ("ann", "2"), ("ann", "3")):
        mail.send(sender, "bob", words)
        deliver(mail)
    mail.send("ann", EVERYONE, "4")
    deliver(mail)

    def heard(agent: str) -> list[tuple[str, int]]:
        return [(letter.message, steps) for letter, steps in mail.recent[agent]]

    assert heard("bob") == [("4", 0), ("3", 1), ("1", 3)]
    assert (heard("cid"), heard("ann")) == ([("4", 0)], [])
    mail.send("ann", "bob", "5")
    mail.send("ann", "bob", "6")
    deliver(mail)
    assert heard("bob") == [("6", 0), ("5", 0), ("1", 4)]
    again = boxes(delay=0, history=2)
    again.set_state(json.loads(json.dumps(mail.get_state())))
    assert again.recent == mail.recent
    assert "recent" not in boxes(delay=0).get_state()


def test_a_system_posts_past_the_rules() -> None:
    mail = boxes(delay=5, drop=1.0, box_size=1)
    letter = Message("system", "bob", "hello")
    for _ in range(2):
        mail.post(letter)
    assert mail.delivered == {"ann": [], "bob": [letter, letter], "cid": []}
    assert (len(mail.poll("bob")), len(mail.history)) == (1, 2)


def test_a_digest_does_not_read_what_was_said() -> None:
    mail = boxes()
    mail.send("ann", "bob", "hello")
    digest = mail.digest_state()
    mail.history = Unread(mail.history)
    assert mail.digest_state() == digest


def test_the_future_depends_on_how_much_was_said_and_not_on_what() -> None:
    one, other = boxes(delay=0, box_size=0), boxes(delay=0, box_size=0)
    for mail, words in ((one, "1"), (other, "2")):
        mail.send("ann", "bob", words)
        deliver(mail, 2)
    assert one.digest_state() == other.digest_state()
    assert one.digest_state()["history"] == 1
    assert one.get_state() != other.get_state()


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"boxes": {"ann": []}}, "its boxes are not those of ann, bob, cid"),
        ({"heard": {"ann": []}}, "its boxes are not those of ann, bob, cid"),
        ({"now": True}, "True is no step"),
        ({"now": 2**63}, f"{2**63} is no step"),
        ({"history": [["ann", "bob"]]}, r"\['ann', 'bob'\] is no letter"),
        ({"history": [["ann", "bob", 3]]}, "is no letter"),
        ({"history": ["abc"]}, "'abc' is no letter"),
        ({"travelling": [["1", ["ann", "bob", "hi"]]]}, "'1' is no step"),
        ({"recent": {"dan": []}}, "it has heard of others than ann, bob, cid"),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(part: dict[str, Any], told: str) -> None:
    mail = boxes(delay=2, history=1)
    mail.send("ann", "bob", "hello")
    before = mail.get_state()
    with pytest.raises(ValueError, match=told):
        mail.set_state({**before, **part})
    assert mail.get_state() == before


def test_to_speak_costs_the_speaker_or_all_together() -> None:
    rewards = [1.0, 1.0, 1.0]
    assert charged(rewards, [0, 0, 2], [0, 1], 0.25, False) == [0.5, 1.0, 0.75]
    assert charged(rewards, [0, 0], [0, 1], 0.5, True) == [0.5, 0.5, 1.0]
    assert charged(rewards, [0], [0, 1], 0.0, True) == rewards == [1.0, 1.0, 1.0]
