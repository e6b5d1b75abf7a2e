"""What agents of TextRoom remember of rooms and things that they no longer see."""

from __future__ import annotations

from piase_gym.envs.parallel import WorldParallelEnv
from piase_gym.worlds.text_room.facts import KnownExit, PastRoom, PastThing
from piase_gym.worlds.text_room.observe.recall import past_of, remembered_names
from tests.worlds.text_room.helpers import make, say, story

TEAM = {
    "agent_setup": [{"agent_id": name, "start_room": "hall"} for name in ("ann", "ben")],
    "win_conditions": [{"type": "item_in_room", "item_name": "gem", "room": "den"}],
}
EAST, WEST = KnownExit("east", "", "den"), KnownExit("west", "", "hall")


def past(env: WorldParallelEnv, agent: int = 0) -> tuple[PastRoom, ...]:
    """Return what an agent remembers and does not see."""
    return past_of(env.world.plot, env.world.state_of, agent)  # type: ignore[attr-defined]


def hall(age: int, *things: PastThing) -> PastRoom:
    return PastRoom("hall", age, (EAST,), things)


def test_what_was_seen_is_remembered_until_it_is_not_found_there() -> None:
    env = make(story(**TEAM), recall="map")
    assert past(env) == ()
    say(env, "open box", "ann")
    assert past(env) == ()  # all of it is in sight
    say(env, "go east", "ann")
    gem, box = PastThing("gem", "box", "", 1), PastThing("box", "", "open", 1)
    assert past(env) == (hall(1, gem, box),)
    assert remembered_names(env.world.plot, env.world.state_of, 0) == {  # type: ignore[attr-defined]
        *("hall", "den", "gem", "box", "")
    }
    say(env, "take gem", "ben")  # ann does not see it
    assert past(env) == (hall(2, gem._replace(age=2), box._replace(age=2)),)
    say(env, "go west", "ann")
    assert past(env) == (PastRoom("den", 1, (WEST,), ()),)
    say(env, "go east", "ann")
    assert past(env) == (hall(1, box),)
    assert past(env, 1) == ()  # ben has never left the hall, and has the gem in hand


def test_a_closed_lid_may_hide_what_is_not_seen() -> None:
    env = make(story(**TEAM), recall="map")
    for line in ("open box", "close box"):
        say(env, line, "ann")
    assert past(env) == (PastRoom("hall", 0, (), (PastThing("gem", "box", "", 1),)),)
    say(env, "go east", "ann")
    gem, box = PastThing("gem", "box", "", 2), PastThing("box", "", "closed", 1)
    assert past(env) == (hall(1, gem, box),)
