"""What a world is that says nothing of itself: what users' worlds get without asking."""

from __future__ import annotations

from typing import Any, ClassVar

from piase_gym.core.config import WorldConfig
from piase_gym.core.facts import Capabilities, Facts
from piase_gym.core.world import World


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
        "scripting": None,
        "tells_limits": False,
        "shows_native": False,
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
