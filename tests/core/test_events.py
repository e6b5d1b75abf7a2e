"""The events bus."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from piase_gym.core.events import STEP_KINDS, Event, Events


def test_listeners_hear_every_event_in_the_order_of_subscription() -> None:
    events, heard = Events(), []
    events.subscribe(lambda event: heard.append(("first", event.kind)))
    events.subscribe(lambda event: heard.append(("second", event.kind)))
    events.post("reset")
    events.post("step")
    assert heard == [("first", "reset"), ("second", "reset"), ("first", "step"), ("second", "step")]


def test_an_event_says_what_whom_and_how() -> None:
    events, heard = Events(), []
    events.subscribe(heard.append)
    events.post("hint", "agent_1", message="look", kind_of=3)
    events.post("close")
    assert heard == [
        Event("hint", "agent_1", {"message": "look", "kind_of": 3}),
        Event("close", None, {}),
    ]
    with pytest.raises(dataclasses.FrozenInstanceError):
        heard[0].kind = "other"


def test_active_tells_whether_anybody_listens() -> None:
    events = Events()
    assert not events.active
    events.post("step")  # to nobody
    stop = events.subscribe(lambda event: None)
    assert events.active
    stop()
    assert not events.active


def test_unsubscribing_ends_one_subscription_and_does_no_harm_twice() -> None:
    events = Events()
    left: list[Event] = []
    right: list[Event] = []
    stop = events.subscribe(left.append)
    events.subscribe(right.append)
    stop()
    stop()
    events.post("step")
    assert (len(left), len(right)) == (0, 1)


def test_a_listener_may_leave_while_it_is_called() -> None:
    events = Events()
    heard: list[str] = []

    def once(event: Event) -> None:
        heard.append("once")
        stop()

    stop = events.subscribe(once)
    events.subscribe(lambda event: heard.append("always"))
    events.post("step")
    events.post("step")
    assert heard == ["once", "always", "always"]


def test_a_listener_may_join_while_another_is_called() -> None:
    events = Events()
    heard: list[Event] = []
    stop = events.subscribe(lambda event: None)
    events.subscribe(lambda event: events.subscribe(heard.append) and None)
    events.post("step")
    assert heard == []
    stop()
    events.post("step")
    assert len(heard) == 1


def test_a_listener_may_post() -> None:
    events = Events()
    heard: list[str] = []

    def echo(event: Event) -> None:
        heard.append(event.kind)
        if event.kind == "step":
            events.post("milestone")

    events.subscribe(echo)
    events.post("step")
    assert heard == ["step", "milestone"]


def test_an_error_of_a_listener_reaches_the_poster() -> None:
    events = Events()

    def fail(event: Event) -> None:
        raise RuntimeError("the disk is full")

    events.subscribe(fail)
    with pytest.raises(RuntimeError, match="disk is full"):
        events.post("step")


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda events: pickle.loads(pickle.dumps(events))]
)
def test_copies_leave_listeners_behind(duplicate: object) -> None:
    assert callable(duplicate)
    events = Events()
    events.subscribe(lambda event: None)  # a lambda cannot be pickled
    twin = duplicate(events)
    assert not twin.active
    assert events.active
    heard: list[Event] = []
    twin.subscribe(heard.append)
    twin.post("step")
    assert len(heard) == 1


@pytest.mark.parametrize("kind", ["step", "outcome", "reset", "hint"])
def test_steps_are_wanted_by_those_who_hear_what_steps_post(kind: str) -> None:
    events = Events()
    assert not events.wants_steps
    stop = events.subscribe(lambda event: None, [kind])
    assert events.wants_steps is (kind in STEP_KINDS)
    stop()
    assert not events.wants_steps
    events.subscribe(lambda event: None)
    assert events.wants_steps
