"""The words of ObjectSearch: the prompt of an agent, and why no place can be made."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.object_search.codes import MILESTONES, NO_ROOM, VERBS
from piase_gym.worlds.object_search.config import ObjectSearchConfig


def fault_sentence(fault: int, config: ObjectSearchConfig) -> str:
    """Say why no place could be made."""
    assert fault == NO_ROOM, fault
    return (
        f"ObjectSearch: a house of {config.width} by {config.height} has no room for "
        f"{config.objects} objects and {config.agents} agents; take a larger one, or fewer"
    )


def manual(config: ObjectSearchConfig) -> Manual:
    """Return the words of the prompt."""
    values = config.rewards.model_dump()
    values["message"] -= config.message_cost
    names = [name for name in values if name != "message" or config.channel]
    fields = type(config.rewards).model_fields
    rewards = "; ".join(f"{fields[name].description} {values[name]:+g}" for name in names)
    end = f"An episode ends after {config.max_steps} steps at the latest"
    early = ", and as soon as all objects are found" if config.ends_when_found else ""
    return Manual(
        _rules(config),
        f"{rewards}.",
        lambda _agent: _goal(config),
        end=f"{end}{early}.",
        milestones=MILESTONES if config.channel else MILESTONES[:-1],
        example=_HOUSE_EXAMPLE if config.in_house else _LINE_EXAMPLE,
        unused=() if config.in_house else _OF_HOUSES,
    )


_OF_HOUSES = tuple(verb for verb in VERBS if verb not in ("forward", "backward", "stay"))
"""The verbs that change nothing on a line."""
_HOUSE_EXAMPLE = (
    "Low furniture 1 ahead, all across.\nWalls 2 ahead, 1 left to 2 right.",
    "look_left",
)
_LINE_EXAMPLE = ("You see nothing.", "forward")


def _goal(config: ObjectSearchConfig) -> str:
    """Return what agents should achieve."""
    many = config.objects > 1
    what = f"all {config.objects} objects" if many else "the object"
    if config.agents == 1:
        return f"find {what}: an object is found when you see it."
    return f"find {what}, together with the others: an object is found when one of you sees it."


def _rules(config: ObjectSearchConfig) -> str:
    """Explain the place, in a few sentences."""
    rules = [(_HOUSE if config.in_house else _LINE).format_map(vars(config))]
    if config.delay is not None:
        rules.append(_RECALL.format(steps=config.delay + 1))
    if config.in_pictures:
        rules.append(
            "What you see is told from a picture: objects, with how far they are across it and "
            "down it, and a caption. The description may be wrong."
        )
    if config.wandering:
        rules.append("Some objects move.")
    if config.channel:
        rules.append(
            "With each command you can report: the others then read where you were, and what you "
            "saw, when you gave it."
        )
        if config.message_range is not None:
            rules.append(f"Reports are heard up to {config.message_range} columns far.")
        if config.message_delay:
            rules.append(f"They are heard {config.message_delay} steps later.")
        if config.message_loss:
            rules.append("Some of them get lost.")
        if config.message_topology is not None:
            rules.append("Not everybody hears everybody.")
    if config.show_found:
        rules.append("You are told what the team has found.")
    if config.latecomers:
        rules.append("Some agents enter later than others.")
    return " ".join(rules)


_LINE = (
    "You walk on a line of {width} positions, which count from 0. Forward leads to the next higher "
    "position, backward to the next lower one; the ends cannot be left. You see what lies at your "
    "position."
)
_RECALL = (
    "You start in the middle of three positions, where a sign tells on which side the object lies. "
    "It is taken away after the first step. After {steps} steps you can go: once, forward or "
    "backward."
)
_HOUSE = (
    "You fly through a house of {width} columns and {height} rows. Columns count from 0 in the "
    "west, rows from 0 in the north. Over each column of the floor there are three levels, 0 to "
    "2. Walls fill all of them, tall furniture the lower two and low furniture the lowest; no two"
    " agents are in one cell. You cannot enter a wall, furniture on its levels, or the cell of "
    "another agent: rise above low furniture, or go around. An object lies on the floor or on top"
    " of the furniture of its column; you see it if it is at most {sight} columns ahead, in your "
    "field of view, about 93 degrees wide and 64 high, and nothing hides it. So with a level head"
    " you see the floor only some columns off, the farther the higher you fly: look down to see "
    "what lies near. Left and right turn you by 90 degrees; looking up or down turns your head by"
    " 60, and tilting by 45; it is level and upright if nothing else is said. What fills a column"
    " you also learn from your range finder, on your own level and 45 degrees to each side of "
    "your heading, wherever you look. Places ahead are told from where you stand: 'Walls 2 to 3 "
    "ahead, 1 left' is two walls, two and three columns ahead of you and one to the left; with no"
    " side it is straight ahead, '0 to 1 left' begins there, and 'all across' goes as far as you "
    "see. A column ahead that is not mentioned is bare floor, if no wall, tall furniture or dark "
    "column is on the line from you to it; else it is dark: you do not know what is there."
)
