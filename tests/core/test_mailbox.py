"""Mailboxes: delivery, delay, loss, range, limits, and their state as a value."""

from __future__ import annotations

import json
from typing import Any

import pytest

import piase_gym
from piase_gym.core.mailbox import EVERYONE, ChannelRules, Mailboxes, Message
from piase_gym.core.rng import Stream
from tests import probes

AGENTS = ("ann", "bob", "cid")


def boxes(**rules: float) -> Mailboxes:
    """Return mailboxes for three agents."""
    return Mailboxes(AGENTS, ChannelRules(**rules))  # type: ignore[arg-type]


def deliver(mail: Mailboxes, steps: int = 1, stream: Stream | None = None) -> None:
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
    assert mail.poll("bob") == [letter]


def test_the_delay_is_one_step_by_default() -> None:
    mail = Mailboxes(AGENTS)
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


def test_a_message_to_oneself_is_not_delivered() -> None:
    mail = boxes(delay=0)
    mail.send("ann", "ann", "hello")
    deliver(mail)
    assert mail.poll("ann") == []


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
    assert [letter.message for letter in polled] == ["one"]


def test_letters_arrive_in_the_order_of_posting() -> None:
    mail = boxes(delay=1)
    mail.send("cid", "bob", "1")
    mail.send("ann", EVERYONE, "2")
    deliver(mail)
    mail.send("ann", "bob", "3")
    mail.send("cid", EVERYONE, "4")
    deliver(mail, 3)
    assert [letter.message for letter in mail.poll("bob")] == ["1", "2", "3", "4"]
    assert [letter.message for letter in mail.history] == ["1", "2", "3", "4"]


def test_who_may_hear_whom() -> None:
    mail = Mailboxes(AGENTS, ChannelRules(delay=0), hears=lambda sender, to: to != "cid")
    mail.send("ann", EVERYONE, "hello")
    mail.send("ann", "cid", "hello")
    deliver(mail)
    assert [len(mail.poll(agent)) for agent in AGENTS] == [0, 1, 0]
    assert len(mail.history) == 2


def test_long_messages_are_cut() -> None:
    mail = boxes(delay=0, max_length=5)
    assert mail.send("ann", "bob", "hello world").message == "hello"
    deliver(mail)
    assert mail.poll("bob")[0].message == mail.history[0].message == "hello"


def test_a_full_box_loses_the_oldest() -> None:
    mail = boxes(delay=0, box_size=3)
    for number in range(5):
        mail.send("ann", "bob", str(number))
    deliver(mail)
    assert [letter.message for letter in mail.delivered["bob"]] == list("01234")
    assert [letter.message for letter in mail.poll("bob")] == list("234")


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
    ("sender", "recipient"),
    [
        ("ann", "dan"),
        ("dan", "ann"),
        (EVERYONE, "ann"),
    ],
)
def test_unknown_names_are_refused(sender: str, recipient: str) -> None:
    mail = boxes()
    with pytest.raises(KeyError):
        mail.send(sender, recipient, "hello")
    assert mail.history == []


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

    twin, twin_stream = boxes(delay=2, drop=0.5), Stream(0)
    twin.set_state(state)
    twin_stream.set_state(json.loads(draws))
    assert twin.get_state() == mail.get_state()
    for _ in range(4):
        mail.send("bob", EVERYONE, "later")
        twin.send("bob", EVERYONE, "later")
        deliver(mail, stream=stream)
        deliver(twin, stream=twin_stream)
        assert twin.delivered == mail.delivered
    assert [twin.poll(agent) for agent in AGENTS] == [mail.poll(agent) for agent in AGENTS]
    assert twin.history == mail.history
    assert isinstance(twin.history[0], Message)


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
