"""The small print of TextRoom's rules, each case a story of two agents and a few steps."""

from __future__ import annotations

from typing import Any

import pytest

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
