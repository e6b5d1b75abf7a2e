"""Twins of TextRoom: the same story, in which what an agent has not found has other names.

See `World.twin`. What is out of sight has other names and, where no condition asks for it, lies
somewhere else; and the others have been told other things.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from piase_gym.core.mailbox import Mailbox, Message
from piase_gym.worlds.text_room.actions import Vocabulary
from piase_gym.worlds.text_room.levels.story import Story
from piase_gym.worlds.text_room.state import Plot, RoomState
from piase_gym.worlds.texts.letters import SYSTEM
from piase_gym.worlds.texts.wording import plain

NO_NAMES = (
    *("description", "content", "read_text", "otherwise", "goal"),
    *("type", "action", "action_type", "outcome", "result", "win_logic", "ends"),
)
"""Fields of a story that hold sentences or fixed words, not names."""
BY_NAME = ("rooms", "object_details")
"""Fields of a story that are mappings by name."""


def other_names(plot: Plot, seen: set[str], known_text: str) -> dict[str, str]:
    """Return another name for everything that the agent has neither seen nor been told of.

    Args:
        plot: The story.
        seen: Names of the room and of the objects that the agent sees or holds.
        known_text: What the agent was told before the episode.
    """
    known = plain(known_text)
    found = {
        name: f"{kind}_{number}"
        for kind, pool in (("place", plot.rooms), ("thing", plot.objects))
        for number, name in enumerate(pool)
        if name not in seen and plain(name) not in known
    }
    read = {f"has_read_{old}": f"has_read_{new}" for old, new in found.items()}
    return found | read


def renamed_story(story: Story, other: Mapping[str, str]) -> Story:
    """Return a story with other names in it."""
    return Story.model_validate(_renamed(story.model_dump(mode="json"), other))


def _renamed(value: Any, other: Mapping[str, str], key: str = "") -> Any:
    """Replace names in the plain data of a story."""
    if isinstance(value, dict):
        if key in BY_NAME:
            return {other.get(name, name): _renamed(item, other) for name, item in value.items()}
        return {field: _renamed(item, other, field) for field, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, other, key) for item in value]
    if not isinstance(value, str) or key in NO_NAMES:
        return value
    if key == "condition":  # a sentence about an agent, with names in it
        return re.sub(r"[\w-]+", lambda word: other.get(word.group(), word.group()), value)
    return other.get(value, value)


def renamed_words(words: Vocabulary, other: Mapping[str, str]) -> Vocabulary:
    """Return a vocabulary with other names in it, at the same places."""
    return Vocabulary(
        words.agents,
        tuple(other.get(name, name) for name in words.rooms),
        {other.get(name, name): place for name, place in words.objects.items()},
        words.stats,
        words.envelope,
    )


def rename_state(state: RoomState, other: Mapping[str, str]) -> None:
    """Replace names in a state."""
    state.flags = [[other.get(flag, flag) for flag in flags] for flags in state.flags]
    parts = [(key.partition(":"), look) for key, look in state.looks.items()]
    state.looks = {f"{kind}:{other.get(name, name)}": look for (kind, _, name), look in parts}


def move_unseen_items(plot: Plot, state: RoomState, agent: int, reach: list[int]) -> None:
    """Move items that are out of sight and in no condition to a room other than the agent's."""
    rooms = [k for k in range(len(plot.rooms)) if k != state.rooms[agent]]
    asked = _names_in_conditions(plot.story)
    for k in range(plot.items):
        away = k not in reach and state.place[k] >= 0 and plot.objects[k] not in asked
        if away and rooms:
            state.place[k] = next((r for r in rooms if r != state.place[k]), state.place[k])


def tell_others(state: RoomState, mail: Mailbox, agents: Sequence[str], agent: int) -> None:
    """Tell all other agents something that this agent does not hear."""
    for number, name in enumerate(agents):
        if number != agent:
            state.feedback[number] = "Only you are told this."
            mail.delivered[name].append(Message(SYSTEM, name, "You alone hear this."))


def _names_in_conditions(story: Story) -> set[str]:
    """Return every word of the parts of a story that look at the state."""
    data = story.model_dump(mode="json")
    own = [thing.get("interactions") for thing in data["object_details"].values()]
    parts = [data["win_conditions"], data["lose_conditions"], data["events"], own]
    return set(re.findall(r"[\w -]+", str(parts))) | set(re.findall(r"[\w-]+", str(parts)))
