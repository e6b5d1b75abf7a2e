"""What a world is that says nothing of itself: what users' worlds get without asking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import piase_gym
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.config import WorldConfig
from piase_gym.core.facts import Capabilities, Facts
from piase_gym.core.world import MAX_HINT, World
from piase_gym.errors import ActionError, ConfigError, SnapshotError, UnsupportedError
from tests import probes

probes.register()


class SilentConfig(WorldConfig):
    """A config with nothing of its own."""

    world: ClassVar[str] = "Silent"


class Silent(World[SilentConfig, Facts]):
    """A world with nothing of its own."""

    name: ClassVar[str] = "Silent"


def test_what_is_not_said_is_this() -> None:
    wanted: dict[str, Any] = {
        "version": 0,
        "milestones": (),
        "perception_types": {},
        "picture_reveals": False,
        "measures": (),
        "difficulty_parameters": (),
        "elements": (),
        "live_fields": ("max_steps", "shared_reward"),
        "per_agent_fields": {},
        "made_of": None,
        "observables": {},
        "scriptable": True,
        "spawnable": (),
        "mailboxes": None,
        "states": None,
        "text_length": 2000,
        "multiline": False,
        "any_line": False,
        "scripting": None,
        "tells_limits": False,
        "shows_native": False,
        "fixed_actions": False,
        "lasting": False,
        "says_why": False,
        "tells_last_step": True,
    }
    assert {name: getattr(Silent, name) for name in wanted} == wanted
    assert Silent.version_of(SilentConfig()) == 0
    assert vars(Silent.capabilities) == {
        "deterministic": True,
        "snapshot": True,
        "batched": False,
        "late_join": False,
        "native_text": False,
        "discrete": True,
        "continuous": False,
        "messages": False,
        "masks": True,
        "digest": True,
        "readable": True,
    }
    assert Silent.capabilities_of(SilentConfig()) == Capabilities()
    named = {k for k, v in vars(World).items() if not callable(v) and not k.startswith("_")}
    given = {
        k for k in named if not isinstance(vars(World)[k], property | classmethod | staticmethod)
    }
    assert given == {*wanted, "capabilities"}


# -- what every world does, by the probes ----------------------------------------------------------


def house(**fields: Any) -> Any:
    """Return a text adventure of two agents."""
    world = piase_gym.parallel_env("TextProbe", **{"agents": 2, **fields}).world
    world.reset(3)
    return world


def test_acts_are_understood_before_anybody_acts() -> None:
    world = house()
    wait, fly = Command("wait"), Command("use", {"item_name": "key", "target_object": "door"})
    assert world.decode(0, None) == world.decode(0, wait) == wait
    invalid = InvalidAction(Outcome.TIMEOUT, "Nothing came.")
    assert world.decode(0, invalid) is invalid
    assert world.decode(0, fly) == InvalidAction(Outcome.ILLEGAL, "You cannot use key on door now.")
    assert world.decode(0, Command("fly")).outcome is Outcome.UNPARSABLE
    before = world.digest()
    for index in (-1, world.num_actions, 1.5):
        with pytest.raises(
            ActionError, match=f"of agent_1 is not allowed; .* to {world.num_actions - 1}"
        ):
            world.step([0, index])
    assert world.digest() == before


def test_a_last_step_is_told_as_it_was_understood() -> None:
    world = house(max_steps=3)
    assert list(world.last_steps()) == [None, None]
    key = Command("use", {"item_name": "key", "target_object": "door"})
    result = world.step([key, InvalidAction(Outcome.UNPARSABLE, "What?")])
    one, two = world.last_steps()
    assert (one.command, one.outcome) == ("use key on door", Outcome.ILLEGAL)
    assert (two.command, two.outcome) == ("", Outcome.UNPARSABLE)
    assert (one.reward, two.reward) == tuple(result.rewards)
    assert result.notes[0]["feedback"] == "You cannot use key on door now."
    assert result.notes[1]["feedback"] == "What?"
    said = Command("say", {"message": "x" * 81})
    world.step([said, Command("say", {"message": "x" * 80})])
    one, two = world.last_steps()
    assert one.reason.endswith("Your message was cut to its first 80 characters.")
    assert "cut" not in two.reason
    world.note_step([None, Command("wait")], result)
    assert world.last_steps()[0] is None
    world.note_step([], None)
    assert list(world.last_steps()) == [None, None]
    world.step([None, None])
    world.reset(3)
    assert list(world.last_steps()) == [None, None]


def test_hints_are_cut_kept_and_hidden_from_others() -> None:
    world = house()
    plain = world.digest()
    world.give_hint(0, "x" * (MAX_HINT + 1))
    assert world.hints == ["x" * MAX_HINT, None]
    assert world.digest() != plain
    assert (world.facts(0).hint, world.facts(1).hint) == ("x" * MAX_HINT, None)
    twin = world.hinted_twin(1)
    assert twin.hints == ["This is for agent_0 alone.", None]
    assert world.hints[0] == "x" * MAX_HINT
    with pytest.raises(ConfigError, match="a hint is a string or None, not int"):
        world.give_hint(0, 3)
    world.reset(3)
    assert (world.hints, world.digest()) == ([None, None], plain)
    assert house(agents=1).hinted_twin(0) is None


def test_a_snapshot_brings_its_config_or_nothing() -> None:
    world, other = house(max_steps=9, envelope={"items": 7}), house(items=7, max_steps=50)
    world.give_hint(1, "look")
    world.step([None, None])
    snapshot = world.snapshot()
    other.restore(snapshot)
    assert (other.config.items, other.config.max_steps) == (4, 9)
    assert (other.hints, other.digest()) == ([None, "look"], world.digest())
    assert [last.row for last in other.last_steps()] == snapshot["last_steps"]
    damaged = {**snapshot, "hints": [None, None], "state": {**snapshot["state"], "house": 3}}
    damaged["config"] = {**snapshot["config"], "max_steps": 7}
    with pytest.raises(SnapshotError):
        other.restore(damaged)
    assert (other.config.max_steps, other.hints) == (9, [None, "look"])
    assert other.digest() == world.digest()


def test_what_may_change_within_an_episode_changes_and_the_rest_is_named() -> None:
    world = house(max_steps=9)
    world.step([None, None])
    digest, hints = world.digest_state(), [None, "look"]
    world.give_hint(1, "look")
    world.modify({"max_steps": 3, "shared_reward": True})
    assert (world.config.max_steps, world.config.shared_reward) == (3, True)
    assert (world.digest_state(), world.hints) == (digest, hints)
    with pytest.raises(ConfigError, match="TextProbe: items cannot change within an episode"):
        world.modify({"max_steps": 4, "items": 3})
    assert world.config.max_steps == 3


def test_a_level_is_what_was_drawn_and_not_the_seed() -> None:
    one, other = (piase_gym.parallel_env("PointProbe", arrival=2.0).world for _ in range(2))
    one.reset(1)
    other.reset(1)
    assert one.level() == other.level()
    other.reset(2)
    assert one.level() != other.level()
    state = {"seed": 3, "keys": [1], "counters": 2, "streams": 0, "channel": 5, "luck": 1, "x": 7}

    class Drawn(type(one)):  # type: ignore[misc]
        def digest_state(self) -> Any:
            return state

    assert Drawn(one.config).level_state() == {"x": 7}


def test_what_a_world_cannot_do_it_says() -> None:
    world = house()
    point: Any = piase_gym.parallel_env("PointProbe").world
    asked: list[tuple[Callable[[], Any], str]] = [
        (lambda: world.action_box, "TextProbe has no continuous actions; use actions='discrete'"),
        (lambda: world.command_from_box(0, None), "TextProbe has no continuous actions"),
        (lambda: point.native_text(0), "PointProbe has no native text; use its canonical text"),
        (lambda: point.enter(0), "PointProbe has no late_join"),
        (lambda: point.perceived(None), "PointProbe has no recall='map'"),
        (lambda: point.finish(None, None, None), "PointProbe cannot be won or lost by a script"),
        (lambda: point.spawn(None, None, "x", 1), "nothing can be put into PointProbe"),
        (lambda: point.remove(None, None, "x", 1), "nothing can be taken out of PointProbe"),
    ]
    for ask, told in asked:
        with pytest.raises(UnsupportedError, match=told):
            ask()
    assert (point.measured(0), point.totals(), point.measure_names) == ({}, {}, ())
    assert point.why_failed(0) is point.under_way(0) is None
    assert point.place_problem(None, None, None) is None
    assert point.verbs_of(None) is point.action_codes("coast") is None
    assert (point.wins_by_lasting(0), point.ends_at(1), point.log_entries()) == (False, False, ())


def test_what_follows_from_facts_and_commands_needs_not_be_said() -> None:
    world: Any = piase_gym.parallel_env("PointProbe", agents=2).world
    world.reset(3)
    coast, facts = Command("coast"), world.facts(0)
    assert world.text(facts) == world.to_text(facts, world.config) == world.observation_text(0)
    assert world.admissible_lines(0) == [world.write(command) for command in world.admissible(0)]
    assert world.read_reply(0, "I rest.\nAction: coast") == coast
    assert world.position(0) == world.surroundings(facts).position == list(facts.position)
    assert world.objects()["agent_1"]["place"] == world.position(1)
    assert [row["in_play"] for row in world.objects().values()] == [True, True]
    assert world.in_sight(0, world.objects()) >= {"agent_0"}
    result = world.step([coast, InvalidAction(Outcome.UNPARSABLE, "What?")])
    assert (result.outcomes[0], result.notes[1]["feedback"]) == (Outcome.OK, "What?")
    first, second = (world.observation_text(agent) for agent in range(2))
    assert first.startswith("Last step: coast; ok; reward ")
    assert first.endswith("\n" + world.text(world.facts(0)))
    assert second.startswith("Last step: no command; unparsable; reward ")
    assert " What?\n" in second
