"""The small print of TextRoom's rules, each case a story of two agents and a few steps."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.worlds.text_room.levels.validation import problems
from tests.worlds.text_room.helpers import make, play, say, story

TWO = [{"agent_id": "ann", "start_room": "hall"}, {"agent_id": "bob", "start_room": "hall"}]
ROOMS = {
    "hall": {"exits": {"east": "den"}, "objects": ["box", "safe", "shelf", "coin"]},
    "den": {"exits": {"west": "hall"}, "objects": ["lamp"]},
}
THINGS: dict[str, Any] = {
    "box": {"is_container": True, "contains": ["gem"]},
    "safe": {"is_container": True, "locked": True, "key_required": "key"},
    "shelf": {"hidden_item": "key"},
    "coin": {"can_be_taken": True},
    "gem": {"can_be_taken": True},
    "crown": {"can_be_taken": True},
    "lamp": {"can_be_taken": True},
}
WIN = [{"type": "flag_set", "flag_name": "never"}, {"type": "flag_set", "flag_name": "won"}]


def event(trigger: dict[str, Any], *response: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an event."""
    return {"trigger": trigger, "response": list(response), **more}


def done(verb: str, target: str, **more: Any) -> dict[str, Any]:
    """Return the trigger of an action."""
    return {"type": "action_taken", "action_type": verb, "target": target, **more}


def flag(name: str, **more: Any) -> dict[str, Any]:
    """Return the response that sets a flag."""
    return {"type": "set_flag", "flag_name": name, **more}


def told(words: str, **more: Any) -> dict[str, Any]:
    """Return the response that tells something."""
    return {"type": "message_to_agent", "content": words, **more}


def two(*events: dict[str, Any], things: dict[str, Any] | None = None, **parts: Any) -> Any:
    """Make the story of two with some events, details and parts."""
    sets = event({"type": "step_reached", "step": 99}, flag("never"), flag("won"))
    details = {**THINGS, **(things or {})}
    fields = {"rooms": ROOMS, "agent_setup": TWO, "win_conditions": WIN, **parts}
    return make(story(object_details=details, events=[*events, sets], **fields))


def heard(env: Any, agent: str) -> list[str]:
    """Return what an agent was just told by the system."""
    return [letter.message for letter in env.facts(agent).messages if letter.sender == "system"]


def test_an_item_is_found_once_when_its_container_opens_or_it_is_taken() -> None:
    finds = [
        event({"type": "item_found", "item_name": item}, told(f"{item}!"), repeat=True)
        for item in ("gem", "key", "coin")
    ]
    env = two(*finds)
    for line, words in (
        ("open box", ["gem!"]),
        ("close box", []),
        ("open box", []),
        ("take gem", []),
        ("search shelf", ["key!"]),
        ("take key", []),
        ("drop key", []),
        ("take coin", ["coin!"]),
    ):
        say(env, line, "ann")
        assert heard(env, "ann") == words, line


def test_a_lock_opens_for_who_holds_its_key() -> None:
    env = two()
    play(env, "search shelf", "take key", agent="ann")
    info = say(env, "unlock safe", "bob")
    assert (info["outcome"], "nothing that unlocks" in info["feedback"]) == ("failed", True)
    info = say(env, "unlock safe with key", "ann")
    assert (info["outcome"], info["milestones"]) == ("ok", ["first_lock_opened"])
    assert say(env, "unlock safe", "bob")["feedback"] == "The safe is not locked."
    assert say(env, "open safe", "bob").get("milestones") is None


def test_closed_containers_are_not_searched_and_a_hidden_thing_is_not_seen() -> None:
    env = two(things={"box": {"is_container": True, "hidden_item": ["gem"]}})
    assert say(env, "search box", "ann")["feedback"] == "The box is closed."
    play(env, "open box", agent="ann")
    assert say(env, "take gem", "ann")["outcome"] == "illegal"
    assert "find the gem" in say(env, "search box", "ann")["feedback"]
    assert say(env, "take gem from box", "ann")["outcome"] == "ok"
    assert say(env, "take lamp from box", "bob")["outcome"] == "illegal"


def test_what_is_taken_out_of_a_container_must_be_in_it() -> None:
    env = two()
    play(env, "open box", agent="ann")
    assert say(env, "take coin from box", "ann")["outcome"] == "illegal"
    assert say(env, "take gem from box", "ann")["outcome"] == "ok"
    assert say(env, "tell ann hello", "ann")["outcome"] == "illegal"


def test_who_takes_what_was_handed_over_meanwhile_is_told() -> None:
    env = two()
    play(env, "take coin", agent="ann")
    env.step({"ann": "drop coin", "bob": "wait"})
    infos = env.step({"ann": "take coin", "bob": "take coin"})[4]
    assert [infos[name]["outcome"] for name in ("ann", "bob")] == ["ok", "failed"]
    looks = event(done("look", "box"), {"type": "spawn_object", "object": "crown", "room": "hall"})
    gives = event(done("look", "shelf"), {"type": "remove_object", "object": "crown"},
                  {"type": "spawn_object", "object": "crown", "agent_id": "bob"})  # fmt: skip
    env = two(looks, gives)
    say(env, "look at box", "ann")
    infos = env.step({"ann": "look at shelf", "bob": "take crown"})[4]
    assert (infos["bob"]["outcome"], "faster" in infos["bob"]["feedback"]) == ("failed", True)


def test_interactions_use_up_and_refuse_in_the_words_of_the_first() -> None:
    lit = {"action": "use", "item_name": "coin", "content": "Clink.", "consumes": True}
    asked = [{"type": "flag_set", "flag_name": "brave"}]
    rows = [
        {**lit, "conditions": asked, "otherwise": "Be brave."},
        {**lit, "conditions": [*asked, *asked], "otherwise": "Be braver."},
    ]
    braver = event(done("look", "shelf"), flag("brave"))
    env = two(braver, things={"shelf": {"hidden_item": "key", "interactions": rows}})
    play(env, "take coin", agent="ann")
    assert say(env, "use coin on shelf", "ann")["feedback"] == "Be brave."
    assert [held.name for held in env.facts("ann").inventory] == ["coin"]
    say(env, "look at shelf", "ann")
    assert say(env, "use coin on shelf", "ann")["feedback"] == "Clink."
    assert env.facts("ann").inventory == ()
    assert env.world.state_of.place[env.world.plot.object_of["coin"]] == -1


def test_events_of_every_third_time_count_for_each_agent() -> None:
    thrice = event(done("look", "box", count=3), told("three"), repeat=True)
    env = two(thrice, event(done("look", "box", count=2), told("two")))
    words = []
    for _ in range(6):
        say(env, "look at box", "ann")
        words.append(heard(env, "ann"))
    assert words == [[], ["two"], ["three"], [], [], ["three"]]
    say(env, "look at box", "bob")
    assert heard(env, "bob") == []


def test_a_room_is_left_empty_when_nobody_in_play_is_there() -> None:
    alone = event({"type": "agent_leaves", "room": "hall", "last": True}, told("empty"))
    away = event({"type": "agent_leaves", "room": "hall"}, told("gone"), repeat=True)
    env = two(alone, away)
    say(env, "go east", "ann")
    assert heard(env, "ann") == ["gone"]
    say(env, "go east", "bob")
    assert heard(env, "bob") == ["empty gone"]
    late = [TWO[0], {**TWO[1], "join_at": 50}]
    env = two(alone, agent_setup=late)
    say(env, "go east", "ann")
    assert heard(env, "ann") == ["empty"]


def test_an_event_locks_what_is_open_and_opens_what_is_locked() -> None:
    def change(name: str, **more: Any) -> dict[str, Any]:
        return {"type": "change_state", "object": name, **more}

    shut = event(done("look", "box"), change("box", locked=True))
    gape = event(done("look", "safe"), change("safe", is_open=True))
    env = two(shut, gape)
    play(env, "open box", "look at box", "look at safe", agent="ann")
    state, plot = env.world.state_of, env.world.plot
    found = {name: (state.is_open[k], state.locked[k]) for name, k in plot.object_of.items()}
    assert (found["box"], found["safe"]) == ((0, 1), (1, 0))


def test_who_did_not_cause_an_event_is_told_only_where_nobody_did() -> None:
    env = two(
        event(done("look", "box"), told("one"), told("more")),
        event({"type": "step_reached", "step": 2}, told("all")),
        event(done("look", "safe"), told("both", agent_id="all"), told("bob", agent_id="bob")),
    )
    say(env, "look at box", "ann")
    assert (heard(env, "ann"), heard(env, "bob")) == (["one more"], [])
    say(env, "wait", "ann")
    assert (heard(env, "ann"), heard(env, "bob")) == (["all"], ["all"])
    say(env, "look at safe", "ann")
    assert (heard(env, "ann"), heard(env, "bob")) == (["both"], ["both bob"])


def test_what_is_somewhere_is_not_spawned_again() -> None:
    spawn = {"type": "spawn_object", "object": "crown", "room": "den"}
    env = two(event(done("look", "box"), spawn, repeat=True))
    play(env, "look at box", "go east", "take crown", "go west", "look at box", agent="ann")
    assert "crown" in [held.name for held in env.facts("ann").inventory]


def test_a_part_that_has_ended_does_not_end_again() -> None:
    def end(result: str, who: str) -> dict[str, Any]:
        return {"type": "end", "result": result, "agent_id": who}

    env = two(event(done("look", "box"), end("drawn", "bob"), end("won", "bob"), end("won", "all")))
    infos = env.step({"ann": "look at box", "bob": "wait"})[4]
    assert {name: info["result"] for name, info in infos.items()} == {"ann": "won", "bob": "drawn"}


def test_what_takes_too_long_costs_as_much_as_what_fails() -> None:
    from piase_gym.core.commands import InvalidAction, Outcome

    env = make(story(), rewards={"failed": -0.5, "illegal": -3.0})
    kept = env.snapshot()
    for outcome, cost in (("timeout", -0.5), ("refused", -3.0), ("unparsable", -3.0)):
        env.restore(kept)
        acts: Any = {"ann": InvalidAction(Outcome(outcome), "no")}
        assert env.step(acts)[1]["ann"] == pytest.approx(-0.1 + cost), outcome
    env.restore(kept)
    say(env, "open box")
    assert say(env, "open box")["outcome"] == "illegal"


def test_who_ends_alone_leaves_its_things_and_who_is_to_come_keeps_them() -> None:
    late = [
        {**TWO[0], "initial_inventory": ["lamp2"]},
        {**TWO[1], "join_at": 3, "initial_inventory": ["crown"]},
        {"agent_id": "cat", "start_room": "hall"},
    ]
    lose = [
        {"type": "flag_set", "flag_name": "lost", "agent_id": "ann"},
        {"type": "flag_set", "flag_name": "lost", "agent_id": "cat"},
    ]
    env = two(
        event(done("look", "box"), flag("lost")),
        agent_setup=late,
        ends="each",
        lose_conditions=lose,
    )
    infos = env.step({"ann": "look at box", "cat": "wait"})[4]
    assert infos["ann"]["result"] == "lost"
    assert env.agents == ["cat"]
    seen = [thing.name for thing in env.facts("cat").objects]
    assert "lamp2" in seen
    assert "crown" not in seen
    env.step({"cat": "wait"})
    assert env.agents == ["cat"]
    env.step({"cat": "wait"})
    assert env.agents == ["bob", "cat"]
    assert [held.name for held in env.facts("bob").inventory] == ["crown"]


def test_a_win_comes_before_a_loss_in_the_same_step() -> None:
    both = event(done("look", "box"), flag("won"), flag("lost"))
    env = two(both, lose_conditions=[{"type": "flag_set", "flag_name": "lost"}])
    assert say(env, "look at box", "ann")["result"] == "won"


def test_conditions_of_agents_who_are_to_come_do_not_hold() -> None:
    late = [TWO[0], {**TWO[1], "join_at": 2, "start_room": "den", "initial_flags": ["won"]}]
    env = two(agent_setup=late)
    assert "result" not in say(env, "wait", "ann")
    assert env.agents == ["ann"]
    say(env, "wait", "ann")
    assert say(env, "wait", "ann")["result"] == "won"
    meet = [{"type": "agent_in_room", "room": "den"}]
    env = two(agent_setup=late, win_conditions=meet)
    assert "result" not in say(env, "wait", "ann")


def test_who_has_ended_is_in_no_room() -> None:
    gone = event({"type": "agent_enters", "room": "den"}, {"type": "end", "agent_id": "bob"})
    env = two(gone, win_conditions=[{"type": "agent_in_room", "room": "den"}])
    infos = env.step({"ann": "wait", "bob": "go east"})[4]
    assert (infos["bob"]["result"], "result" in infos["ann"]) == ("ended", False)


def test_bodies_gain_and_lose_by_the_step() -> None:
    stats = {"pulse": {"start": 1, "per_step": -2}, "calm": {"start": 1, "per_step": 0.5}}
    env = two(agent_setup=[{**TWO[0], "stats": stats}, TWO[1]])
    say(env, "wait", "ann")
    assert dict(env.facts("ann").stats) == {"pulse": -1.0, "calm": 1.5}


def test_nobody_hears_through_a_wall_or_before_it_comes() -> None:
    cat = {"agent_id": "cat", "start_room": "den"}
    parts = {"rooms": ROOMS, "object_details": THINGS}
    env = make(story(**parts, agent_setup=[*TWO, cat]), hearing="room")
    env.step({"ann": "say hush", "bob": "go east", "cat": "wait"})
    env.step(dict.fromkeys(env.agents, "wait"))
    assert [bool(env.facts(name).messages) for name in ("bob", "cat")] == [False, False]
    late = [*TWO, {"agent_id": "cat", "start_room": "hall", "join_at": 1}]
    env = make(story(**parts, agent_setup=late), message_delay=0)
    env.step({"ann": "say hush", "bob": "wait"})
    assert env.agents == ["ann", "bob", "cat"]
    assert [bool(env.facts(name).messages) for name in ("bob", "cat")] == [True, False]


def test_a_container_cannot_be_put_into_itself_and_vectors_tell_descriptions() -> None:
    box = {"is_container": True, "contains": ["gem"], "can_be_taken": True, "is_open": True}
    details = {**THINGS, "box": box}
    env = make(story(rooms=ROOMS, object_details=details, agent_setup=TWO[:1]), view="both")
    play(env, "take box", agent="ann")
    legal = env.admissible_commands("ann")
    assert "put box in box" not in legal
    assert "put box in safe" in legal
    vectors = []
    for words in ("a round box.", "a square box."):
        look = {**details, "box": {**details["box"], "description": words}}
        env = make(story(rooms=ROOMS, object_details=look, agent_setup=TWO[:1]), view="both")
        vectors.append(env.world.vectors()[0].tolist())
    assert vectors[0] != vectors[1]


def test_what_is_used_is_kept_unless_it_is_used_up() -> None:
    row = {"action": "use", "item_name": "coin", "content": "Clink."}
    env = two(things={"shelf": {"hidden_item": "key", "interactions": [row]}})
    play(env, "take coin", agent="ann")
    for _ in range(2):
        assert say(env, "use coin on shelf", "ann")["feedback"] == "Clink."
        assert [held.name for held in env.facts("ann").inventory] == ["coin"]


@pytest.mark.parametrize(("who", "other"), [("ann", "bob"), ("bob", "ann")])
def test_who_caused_an_event_is_told_and_of_one_that_nobody_caused_all_are(
    who: str, other: str
) -> None:
    later = event({"type": "step_reached", "step": 2}, told("late"))
    env = two(event(done("look", "box"), told("seen")), later)
    say(env, "look at box", who)
    assert (heard(env, who), heard(env, other)) == (["seen"], [])
    say(env, "wait", who)
    assert (heard(env, who), heard(env, other)) == (["late"], ["late"])


@pytest.mark.parametrize(
    ("before", "line", "words"),
    [
        ((), "open box", "The box is open already."),
        (("open box",), "close box", "The box is closed already."),
    ],
)
def test_who_does_what_another_has_just_done_is_told(
    before: tuple[str, ...], line: str, words: str
) -> None:
    env = two()
    play(env, *before, agent="bob")
    infos = env.step({"ann": line, "bob": line})[4]
    assert [infos[name]["outcome"] for name in ("ann", "bob")] == ["ok", "failed"]
    assert infos["bob"]["feedback"] == words


def test_who_was_carried_off_meanwhile_finds_no_way_there() -> None:
    env = two(event(done("look", "box"), {"type": "move_agent", "room": "den", "agent_id": "bob"}))
    infos = env.step({"ann": "look at box", "bob": "go east"})[4]
    assert infos["bob"]["outcome"] == "failed"
    assert infos["bob"]["feedback"] == "There is no way there now."


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ({"room": "den"}, ("den", "", "")),
        ({"container": "box"}, ("hall", "box", "")),
        ({"agent_id": "ann"}, ("", "", "ann")),
        ({}, ("den", "", "")),  # where bob is, who caused it
    ],
)
def test_what_appears_is_where_the_story_says(
    where: dict[str, str], place: tuple[str, str, str]
) -> None:
    spawn = {"type": "spawn_object", "object": "crown", **where}
    env = two(event(done("take", "lamp"), spawn), things={"box": {"is_container": True}})
    play(env, "open box", agent="ann")
    play(env, "go east", "take lamp", agent="bob")
    rooms = {"hall": env.facts("ann"), "den": env.facts("bob")}
    seen = [
        (room, thing.inside, "")
        for room, facts in rooms.items()
        for thing in facts.objects
        if thing.name == "crown"
    ]
    held = [("", "", facts.agent) for facts in rooms.values() if "crown" in carried(facts)]
    assert seen + held == [place]


def carried(facts: Any) -> list[str]:
    """Return the names of what is in hand."""
    return [thing.name for thing in facts.inventory]


def test_what_appears_by_itself_is_with_the_first_agent() -> None:
    spawn = {"type": "spawn_object", "object": "crown"}
    env = two(event({"type": "step_reached", "step": 2}, spawn))
    env.step({"ann": "wait", "bob": "go east"})
    env.step({"ann": "wait", "bob": "wait"})
    assert "crown" in [thing.name for thing in env.facts("ann").objects]
    assert "crown" not in [thing.name for thing in env.facts("bob").objects]


def test_rooms_and_things_look_as_an_event_has_made_them() -> None:
    def change(**more: Any) -> dict[str, Any]:
        return {"type": "change_state", **more}

    env = two(
        event(done("look", "box"), change(room="hall", description="a burnt hall.")),
        event(done("look", "safe"), change(object="safe", description="a dented safe.")),
    )
    say(env, "look at box", "ann")
    assert "a burnt hall." in env.world.text(env.facts("bob"))
    play(env, "look at safe", agent="ann")
    feedback = say(env, "look at safe", "bob")["feedback"]
    assert feedback == "A dented safe. It is closed."  # it is still locked
    assert say(env, "open safe", "bob")["feedback"] == "The safe is locked."


@pytest.mark.parametrize(
    ("trigger", "lines", "met"),
    [
        (done("open", "safe"), ["open safe"], False),
        (done("open", "safe", outcome="failed"), ["open safe"], True),
        (done("open", "box", outcome="failed"), ["open box"], False),
        (done("open", "safe", outcome="any"), ["open safe"], True),
        (done("open", "box", outcome="any"), ["open box"], True),
        (done("look", "box", agent_id="bob"), ["look at box"], False),
        (done("look", "box", agent_id="ann"), ["look at box"], True),
        (done("look", "box"), ["look at safe"], False),
        (done("use", "coin"), ["take coin", "use coin"], True),
        (done("use", "box"), ["take coin", "use coin on box"], True),
        (done("use", "box", item_name="coin"), ["take coin", "use coin on box"], True),
        (done("use", "safe", item_name="coin"), ["take coin", "use coin on box"], False),
        (done("use", "box", item_name="lamp"), ["take coin", "use coin on box"], False),
        (
            {"type": "action_taken", "action_type": "use", "item_name": "coin"},
            ["take coin", "use coin on box"],
            True,
        ),
        ({"type": "action_taken", "action_type": "look"}, ["look"], True),
        (done("look", "box", count=2), ["look at box"], False),
    ],
)
def test_an_event_waits_for_the_action_that_it_names(
    trigger: dict[str, Any], lines: list[str], met: bool
) -> None:
    env = two(event(trigger, told("so it is")))
    play(env, *lines, agent="ann")
    assert heard(env, "ann") == (["so it is"] if met else [])


def test_a_use_that_only_an_event_knows_of_works() -> None:
    env = two(event(done("use", "box", item_name="coin"), told("Clink.")))
    play(env, "take coin", agent="ann")
    info = say(env, "use coin on box", "ann")
    assert (info["outcome"], info["feedback"]) == ("ok", "You use the coin.")
    info = say(env, "use coin on box", "ann")
    assert (info["outcome"], "Nothing happens" in info["feedback"]) == ("failed", True)


@pytest.mark.parametrize(
    ("trigger", "line"),
    [
        ({"type": "flag_set", "flag_name": "brave"}, "look at shelf"),
        ({"type": "item_found", "item_name": "coin"}, "take coin"),
        ({"type": "agent_enters", "room": "den"}, "go east"),
        ({"type": "agent_leaves", "room": "hall"}, "go east"),
    ],
)
def test_an_event_may_wait_for_one_agent(trigger: dict[str, Any], line: str) -> None:
    for who, words in (("ann", ["yes"]), ("bob", [])):
        env = two(
            event(done("look", "shelf"), flag("brave")),
            event({**trigger, "agent_id": who}, told("yes")),
        )
        say(env, line, "ann")
        assert heard(env, "ann") == words


def test_what_does_not_move_neither_leaves_nor_enters() -> None:
    here = {"type": "move_agent", "room": "hall"}
    env = two(
        event(done("look", "box"), here),
        event({"type": "agent_enters", "room": "hall"}, told("in")),
        event({"type": "agent_leaves", "room": "hall"}, told("out")),
    )
    say(env, "look at box", "ann")
    assert heard(env, "ann") == []


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ({"type": "item_in_inventory", "item_name": "coin"}, True),
        ({"type": "item_in_inventory", "item_name": "lamp"}, False),
        ({"type": "item_in_inventory", "item_name": "coin", "agent_id": "bob"}, False),
        ({"type": "agent_in_room", "room": "hall"}, True),
        ({"type": "agent_in_room", "room": "den"}, False),
        ({"type": "agent_in_room", "room": "den", "agent_id": "bob"}, True),
        ({"type": "item_in_room", "item_name": "gem", "room": "hall"}, False),  # in the box
        ({"type": "item_in_room", "item_name": "box", "room": "hall"}, True),
        ({"type": "item_in_room", "item_name": "box", "room": "den"}, False),
        ({"type": "item_in_room", "item_name": "coin", "room": "hall"}, False),  # in hand
        ({"type": "object_state", "object": "box", "is_open": True}, True),
        ({"type": "object_state", "object": "safe", "is_open": True}, False),
        ({"type": "object_state", "object": "safe", "is_open": False, "locked": True}, True),
        ({"type": "object_state", "object": "safe", "is_open": False, "locked": False}, False),
        ({"type": "agent_state_condition", "condition": "'coin' in inventory"}, True),
        ({"type": "agent_state_condition", "condition": "'gem' in inventory"}, False),
        ({"type": "agent_state_condition", "condition": "'brave' in flags"}, True),
        ({"type": "agent_state_condition", "condition": "room == 'hall' and pulse > 2"}, True),
        ({"type": "agent_state_condition", "condition": "room == 'den'"}, False),
        ({"type": "agent_state_condition", "condition": "steps == 5"}, True),
        ({"type": "agent_state_condition", "condition": "calm > 1", "agent_id": "bob"}, True),
    ],
)
def test_an_event_happens_only_where_its_conditions_hold(
    condition: dict[str, Any], met: bool
) -> None:
    bodies = [
        {**TWO[0], "stats": {"pulse": {"start": 3}}, "initial_flags": ["brave"]},
        {**TWO[1], "stats": {"calm": {"start": 2}}},
    ]
    env = two(
        event(done("look", "shelf"), told("yes"), conditions=[condition]),
        event(done("look", "shelf"), flag("brave")),
        agent_setup=bodies,
    )
    play(env, "go east", agent="bob")
    play(env, "take coin", "open box", "wait", "wait", "look at shelf", agent="ann")
    assert heard(env, "ann") == (["yes"] if met else [])


def test_a_thing_on_something_without_a_lid_lies_in_the_room() -> None:
    shelf = {"contains": ["gem"], "hidden_item": "key"}
    lies = {"type": "item_in_room", "item_name": "gem", "room": "hall"}
    details = {"box": {"is_container": True}, "shelf": {**shelf, "has_lid": False}}
    env = two(event(done("look", "safe"), told("yes"), conditions=[lies]), things=details)
    say(env, "look at safe", "ann")
    assert heard(env, "ann") == ["yes"]


def test_rewards_milestones_and_metrics_of_events_are_told_to_whom_they_concern() -> None:
    given = [
        event(
            done("look", "box"),
            {"type": "reward", "amount": 2.5, "agent_id": "bob"},
            {"type": "log_milestone", "milestone_name": "seen"},
            {"type": "add_metric", "metric": "harm", "amount": 0.123456},
            repeat=True,
        ),
        event(done("look", "safe"), {"type": "end", "result": "drawn"}),
        event({"type": "step_reached", "step": 99}, flag("never"), flag("won")),
    ]
    parts = {"rooms": ROOMS, "object_details": THINGS, "agent_setup": TWO, "win_conditions": WIN}
    env = make(story(events=given, **parts), rewards={"step": -0.25, "milestone": 4.0})
    _, rewards, _, _, infos = env.step({"ann": "look at box", "bob": "wait"})
    assert rewards == {"ann": 3.75, "bob": 2.25}
    assert infos["ann"]["milestones"] == ["seen"]
    assert "milestones" not in infos["bob"]
    _, rewards, _, _, infos = env.step({"ann": "look at box", "bob": "wait"})
    assert rewards == {"ann": -0.25, "bob": 2.25}
    infos = env.step({"ann": "look at safe", "bob": "wait"})[4]
    assert [infos[name]["metrics"] for name in ("ann", "bob")] == [{"harm": 0.247}] * 2


def test_only_the_first_text_that_is_read_is_a_milestone() -> None:
    env = two(things={"coin": {"can_be_taken": True, "read_text": "1 mark"}})
    assert "milestones" not in say(env, "look at coin", "ann")
    assert say(env, "read coin", "ann")["milestones"] == ["first_text_read"]
    assert "milestones" not in say(env, "read coin", "ann")
    assert say(env, "read coin", "bob")["milestones"] == ["first_text_read"]


def test_a_text_that_speaks_of_a_find_or_a_lock_is_neither() -> None:
    coin = {"can_be_taken": True, "description": "You unlock things with it."}
    coin["read_text"] = "Look in the den and find the lamp."
    env = two(things={"coin": coin})
    assert "milestones" not in say(env, "look at coin", "ann")
    assert say(env, "read coin", "ann")["milestones"] == ["first_text_read"]


def test_what_can_never_be_opened_or_taken_is_told() -> None:
    things = {
        "coin": {"can_be_taken": True, "interactions": {"action": "open"}},
        "shelf": {
            "hidden_item": "key",
            "interactions": [{"action": action} for action in ("take", "open", "search")],
        },
    }
    done_to = (("open", "box"), ("open", "coin"), ("take", "coin"), ("take", "box"))
    env = two(*(event(done(*row), flag("seen")) for row in done_to), things=things)
    never = [p for p in problems(env.world.config.story) if "never happen" in p.message]
    assert [p.path for p in never] == [
        ("events", 1, "trigger"),
        ("events", 3, "trigger"),
        ("object_details", "shelf", "interactions", 0),
        ("object_details", "coin", "interactions", 0),
    ]
    assert "'coin' can be taken, and is neither a container nor a door" in never[0].message
    assert "'box' cannot be taken" in never[1].message
    assert not any(p.fatal for p in never)
    refused = [say(env, line, "ann")["outcome"] for line in ("open coin", "take shelf", "take box")]
    assert refused == ["illegal"] * 3
