"""The manual of TextRoom: its rules, rewards and goals in words."""

from __future__ import annotations

from typing import Any

from piase_gym.core.world import Manual
from piase_gym.worlds.text_room.config import TextRoomConfig
from piase_gym.worlds.text_room.state import Plot
from piase_gym.worlds.texts.wording import spaced


def manual(config: TextRoomConfig, plot: Plot | None) -> Manual:
    """Return the words of the prompt."""
    table = config.rewards
    together = ""
    if config.agents > 1:
        people = ", ".join(config.names(config.agents))
        together = f"What you say is heard a little later. Those who take part are {people}. "
    rules = (
        f"{plot.story.description + ' ' if plot and plot.story.description else ''}"
        "You are in a place of several rooms. Things can be looked at, searched, opened, unlocked "
        "with the right key, read, taken and used on each other. What you need may be hidden or "
        f"locked away. {together}Name things as you see them."
    )
    worth = (
        f"{table.win:+g} for winning, {table.lose:+g} for losing, {table.step:+g} a step, "
        f"{table.milestone:+g} for a milestone, {table.failed:+g} for what fails, "
        f"{table.illegal:+g} for what is illegal or cannot be read."
    )
    return Manual(rules, worth, lambda agent: goal_of(plot, agent))


def goal_of(plot: Plot | None, agent: int) -> str:
    """Say what an agent is to achieve."""
    if plot is None:
        return "find and take the item that your text names."
    story = plot.story
    if agent < len(story.agent_setup) and story.agent_setup[agent].goal:
        return str(story.agent_setup[agent].goal)
    names = [setup.agent_id for setup in story.agent_setup]
    people = {name: (name, "has", "is") for name in names}
    if agent < len(names):
        people[names[agent]] = ("you", "have", "are")
    anybody = people[names[0]] if len(names) == 1 else ("somebody", "has", "is")
    told = [
        _in_words(condition, *people.get(getattr(condition, "agent_id", None) or "", anybody))
        for condition in story.win_conditions
    ]
    return f"{(' or ' if story.win_logic == 'any' else ' and ').join(told)}."


def _in_words(condition: Any, who: str, has: str, are: str) -> str:
    """Say a condition in words; who it is about, with "has" and "is" to go with it."""
    match condition.type:
        case "item_in_inventory":
            return f"{who} {has} the {spaced(condition.item_name)}"
        case "flag_set" if condition.flag_name.startswith("has_"):
            return f"{who} {has} {spaced(condition.flag_name).removeprefix('has ')}"
        case "flag_set":
            return f"{who} {has} the flag '{spaced(condition.flag_name)}'"
        case "agent_in_room":
            return f"{who} {are} in the {spaced(condition.room)}"
        case "item_in_room":
            return f"the {spaced(condition.item_name)} lies in the {spaced(condition.room)}"
        case "object_state":
            states = [("open", condition.is_open), ("locked", condition.locked)]
            words = [f"{'' if on else 'not '}{word}" for word, on in states if on is not None]
            return f"the {spaced(condition.object)} is {' and '.join(words)}"
    return f"{who} {has} {condition.condition}"
