"""The names that one config can show, in the order of their places in the vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from piase_gym.worlds.text_room.config import TextRoomConfig, TextRoomEnvelope
from piase_gym.worlds.text_room.levels import names, words


@dataclass(frozen=True)
class Vocabulary:
    """The names of one config, in the order of the vector's places.

    Attributes:
        agents: Names of the agents, as many as the envelope has.
        rooms: Names of the rooms.
        objects: Name of each object -> its place; those that can be taken come first.
        stats: Names of the stats.
        envelope: The envelope.
    """

    agents: tuple[str, ...]
    rooms: tuple[str, ...]
    objects: dict[str, int]
    stats: tuple[str, ...]
    envelope: TextRoomEnvelope

    def __deepcopy__(self, _memo: Any) -> Vocabulary:
        """Return itself: it never changes."""
        return self


def vocabulary(config: TextRoomConfig) -> Vocabulary:
    """Return the names of a config."""
    envelope = config.fixed_sizes()
    agents = config.names(envelope.agents)
    if config.story is None:
        quest_names = words.quest_names(
            config.theme, config.rooms, config.depth, config.distractors
        )
        rooms, items, fixtures = quest_names.rooms, quest_names.items, quest_names.fixtures
        stats: tuple[str, ...] = ()
    else:
        can = names.takeable(config.story)
        rooms = tuple(config.story.rooms)
        items = tuple(name for name in can if can[name])
        fixtures = tuple(name for name in can if not can[name])
        setups = config.story.agent_setup
        stats = tuple(dict.fromkeys(name for setup in setups for name in setup.stats))
    objects = {name: k for k, name in enumerate(items)}
    objects |= {name: envelope.items + k for k, name in enumerate(fixtures)}
    return Vocabulary(agents, rooms, objects, stats, envelope)
