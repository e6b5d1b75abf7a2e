"""The events bus."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from piase_gym.core.events import STEP_KINDS, Event, Events
from piase_gym.errors import ConfigError


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


def test_watchers_are_called_in_order_and_the_last_ones_after_all_others() -> None:
    events = Events()
    names = ("plain", "late", "more", "later")
    leave = {
        name: events.watch(lambda acts, result, name=name: name, name == "more", "late" in name)  # type: ignore[misc]
        for name in names
    }

    def order() -> list[tuple[str, bool]]:
        return [(watcher(None, None), decoded) for watcher, decoded in events.watchers]

    plain, more, late, later = (
        ("plain", False), ("more", True), ("late", False), ("later", False),
    )  # fmt: skip
    assert order() == [plain, more, late, later]
    assert events.decodes
    for _ in range(2):  # to leave twice does no harm
        leave["late"]()
        leave["more"]()
    assert not events.decodes
    events.watch(lambda acts, result: "newest")
    assert order() == [plain, ("newest", False), later]


def test_who_leaves_makes_room_where_it_was() -> None:
    events = Events()
    called: list[str] = []
    events.watch(lambda acts, result: called.append("plain"))
    first = events.watch(lambda acts, result: called.append("late"), last=True)
    events.watch(lambda acts, result: called.append("later"), last=True)
    first()
    events.watch(lambda acts, result: called.append("newest"))
    for watcher, _ in events.watchers:
        watcher(None, None)
    assert called == ["plain", "newest", "later"]


def test_an_event_of_ones_own_is_heard_by_its_kind_and_by_logs() -> None:
    events, heard = Events(), []
    events.post_event("Idea", {"a": 1})  # to nobody
    events.subscribe(heard.append)
    events.post_event("Idea", {3: "x"}, "agent_1")
    events.post_event("Pause")
    logged = {"event_type": "Idea", "data": {"3": "x"}, "posted": True}
    assert heard[:2] == [Event("log", "agent_1", logged), Event("Idea", "agent_1", {"3": "x"})]
    assert [event.kind for event in heard[2:]] == ["log", "Pause"]


@pytest.mark.parametrize(
    ("event_type", "data", "told"),
    [
        (" ", None, "a word, not ' '"),
        (7, None, "a word, not 7"),
        ("Idea", [1], "are a mapping, not list"),
        ("reset", {}, "'reset' is posted by environments"),
    ],
)
def test_what_is_no_event_of_ones_own_is_refused(event_type: Any, data: Any, told: str) -> None:
    events, heard = Events(), []
    events.subscribe(heard.append)
    with pytest.raises(ConfigError, match=told):
        events.post_event(event_type, data)
    assert heard == []
