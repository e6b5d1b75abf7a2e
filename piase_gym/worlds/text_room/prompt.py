"""The words about TextRoom: its grammar, its manual, and why something cannot be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from piase_gym.core.commands import Command, Param, Verb
from piase_gym.core.world import Manual
from piase_gym.worlds.text_room.config import TextRoomConfig
from piase_gym.worlds.text_room.sight import Scene
from piase_gym.worlds.text_room.state import Plot
from piase_gym.worlds.text_room.story import DIRECTIONS

_ITEM = Param("item_name", description="name of an item")
_TARGET = Param("target_object", description="name of an object")
_AGENT = Param("agent_id", description="name of an agent")
_MESSAGE = Param("message", "text", description="what to say")

ALONE = (
    Verb(
        "look",
        "look around, or look closely at an object",
        (Param("target_object", optional=True, description="name of an object"),),
    ),
    Verb("go", "walk to the next room", (Param("direction", choices=DIRECTIONS),)),
    Verb(
        "take",
        "pick up an item",
        (
            _ITEM,
            Param("container", optional=True, before="from", description="where it is taken from"),
        ),
    ),
    Verb("drop", "put down an item", (_ITEM,)),
    Verb(
        "put",
        "put a carried item into a container",
        (_ITEM, Param("target_object", before="in", description="name of a container")),
    ),
    Verb("open", "open something", (_TARGET,)),
    Verb("close", "close something", (_TARGET,)),
    Verb(
        "unlock",
        "unlock something",
        (_TARGET, Param("item_name", optional=True, before="with", description="the key")),
    ),
    Verb(
        "use",
        "use a carried item on an object, or something by itself",
        (_ITEM, Param("target_object", optional=True, before="on", description="on what")),
    ),
    Verb("read", "read what is written on something", (_TARGET,)),
    Verb("search", "search something for what is hidden", (_TARGET,)),
    Verb("inventory", "see what you carry"),
    Verb("wait", "do nothing"),
)
TOGETHER = (
    Verb("say", "speak to everyone", (_MESSAGE,)),
    Verb("tell", "speak to one agent", (_AGENT, _MESSAGE)),
    Verb(
        "give",
        "hand an item to an agent in the same room",
        (_ITEM, Param("agent_id", before="to", description="name of an agent")),
    ),
)
NICKNAMES = {
    "target_object": ("target", "object", "object_name", "item_name", "item", "container"),
    "item_name": ("item", "object", "object_name", "target_object", "target", "key"),
    "container": ("from", "source", "target_object"),
    "agent_id": ("agent", "recipient", "to", "target"),
    "direction": ("to", "way", "target"),
    "message": ("content", "text"),
}
"""Other names under which parameters of commands given as data are understood."""


def grammar(several: bool) -> tuple[Verb, ...]:
    """Return the verbs, with those for several agents or without."""
    return ALONE + TOGETHER if several else ALONE


def rename(verb: str, parameters: Mapping[str, Any], verbs: Sequence[Verb]) -> dict[str, Any]:
    """Return parameters under their proper names, as far as they can be told."""
    params = next((item.params for item in verbs if item.name == verb), ())
    own = {param.name for param in params}
    renamed = {str(key): value for key, value in parameters.items()}
    for param in params:
        if param.name in renamed:
            continue
        for nickname in NICKNAMES.get(param.name, ()):
            if nickname in renamed and nickname not in own:
                renamed[param.name] = renamed.pop(nickname)
                break
    return renamed


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
            return f"{who} {has} the {_plain(condition.item_name)}"
        case "flag_set" if condition.flag_name.startswith("has_"):
            return f"{who} {has} {_plain(condition.flag_name).removeprefix('has ')}"
        case "flag_set":
            return f"{who} {has} the flag '{_plain(condition.flag_name)}'"
        case "agent_in_room":
            return f"{who} {are} in the {_plain(condition.room)}"
        case "item_in_room":
            return f"the {_plain(condition.item_name)} lies in the {_plain(condition.room)}"
        case "object_state":
            states = [("open", condition.is_open), ("locked", condition.locked)]
            words = [f"{'' if on else 'not '}{word}" for word, on in states if on is not None]
            return f"the {_plain(condition.object)} is {' and '.join(words)}"
    return f"{who} {has} {condition.condition}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def why_illegal(scene: Scene, command: Command) -> str:
    """Explain why a command that names only what is in sight or in hand cannot be carried out."""
    values, plot = command.parameters, scene.plot
    held = [plot.objects[k] for k in scene.sight.held]
    item = values.get("item_name")
    match command.verb:
        case "go":
            ways = ", ".join(plot.exits[scene.state.rooms[scene.agent]]) or "none"
            return f"You cannot go {values['direction']} from here; ways out: {ways}."
        case "take" if item in held:
            return f"You carry the {_plain(str(item))} already."
        case "take":
            return f"The {_plain(str(item))} cannot be taken{_there(values)}."
        case "give":
            return f"You cannot give the {_plain(str(item))} to {values['agent_id']} now."
        case "tell":
            return f"{values['agent_id']} cannot hear you."
        case "drop" | "put" | "use" | "unlock" if item is not None and item not in held:
            return f"You do not carry the {_plain(item)}."
        case "put":
            return f"The {_plain(values['target_object'])} is no container."
    name = _plain(str(values.get("target_object", item or "that")))
    return f"You cannot {command.verb} the {name} now."


def _there(values: Mapping[str, Any]) -> str:
    return f" from the {_plain(values['container'])}" if "container" in values else ""
