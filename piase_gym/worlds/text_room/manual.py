"""The manual of TextRoom: the mechanics of a config, its rewards and goals in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from piase_gym.core.world import Manual
from piase_gym.worlds.channel.manual import heard_when, history_rules, limit_rules
from piase_gym.worlds.text_room.config import TextRoomConfig
from piase_gym.worlds.text_room.levels import names
from piase_gym.worlds.text_room.levels.story_rules import LogMilestone, MaxSteps
from piase_gym.worlds.text_room.state import Plot
from piase_gym.worlds.texts.wording import listing, priced, spaced


class Mechanics(NamedTuple):
    """Which mechanics there are in the rooms of a config."""

    ways: bool
    doors: bool
    lids: bool
    keys: bool
    bolts: bool
    searching: bool
    writing: bool
    using: bool


def mechanics(config: TextRoomConfig, plot: Plot | None) -> Mechanics:
    """Return the mechanics that a written story has, or that generated quests may have."""
    if plot is None:
        doors, some = min(config.depth // 2, config.rooms - 1) > 0, config.depth > 0
        lids = some or config.distractors > 1
        return Mechanics(config.rooms > 1, doors, lids, some, False, some, False, False)
    return Mechanics(
        ways=any(plot.exits),
        doors=any(plot.doors),
        lids=any(plot.opens[k] for k, is_one in enumerate(plot.containers) if is_one),
        keys=any(key >= 0 for key in plot.keys),
        bolts=any(thing.locked and not thing.key_required for thing in plot.things),
        searching=plot.searching,
        writing=any(plot.readable),
        using=bool(plot.interactions) or any(plot.usable),
    )


def manual(config: TextRoomConfig, plot: Plot | None) -> Manual:
    """Return the words of the prompt."""
    met = mechanics(config, plot)
    story = plot.story.description if plot else ""
    rules = " ".join(filter(None, [story, *_rules(config, plot, met)]))
    goals = [goal_of(plot, k) if plot else _SOUGHT for k in range(config.fixed_envelope().agents)]
    reachable = (met.searching, met.keys, met.writing)
    milestones = [name for name, can in zip(MILESTONES, reachable, strict=True) if can]
    if plot is not None:
        logged = [r for r, _ in names.responses(plot.story) if isinstance(r, LogMilestone)]
        milestones += [r.milestone_name for r in logged]
    return Manual(
        rules,
        _worth(config, plot),
        goals.__getitem__,
        milestones=tuple(dict.fromkeys(milestones)),
        example=_example(met),
    )


MILESTONES = ("first_find", "first_lock_opened", "first_text_read")
"""The milestones that every story has; events of a story log others."""
_SOUGHT = "take the item that each observation names after 'Your goal:'."


def _rules(config: TextRoomConfig, plot: Plot | None, met: Mechanics) -> Iterator[str]:
    """Say how the mechanics work; those that cost the unwary most come first."""
    yield "Only what you see or carry can be named; to name anything else is illegal."
    if met.ways:
        yield "Go in a direction, or to a room next door that you know."
    if met.lids or met.doors:
        shut = ["see what is in it"] * met.lids + ["go through it"] * met.doors
        yield f"What is closed must be opened before you can {' or '.join(shut)}."
    if met.keys:
        yield (
            "What is locked does not open: carry its key, unlock it (without naming a key you try "
            "all that you carry), then open it."
        )
    if met.bolts:
        what = "Some of it" if met.keys else "What is locked"
        yield f"{what} has no key; something else unlocks it."
    if met.searching:
        yield "What is marked 'not searched' may hide something: search it."
    yield "You can carry any number of things."
    if met.using:
        yield "Some things can be used, by themselves or on each other."
    if met.writing:
        yield "Some things can be read."
    if plot is not None:
        yield from _bodies(plot)
    if config.recall == "map":
        yield "Lines that begin with 'You remember' say what you saw, and may be out of date."
    if config.agents > 1:
        people = listing(config.names(config.agents))
        who = "whoever is in the same room" if config.hearing == "room" else "the others"
        yield (
            f"{people} take part and act at once; the first to take a thing has it. What you say "
            f"is heard by {who} {heard_when(config)}."
        )
        yield from (*limit_rules(config), *history_rules(config))


def _bodies(plot: Plot) -> Iterator[str]:
    """Say how the numbers of bodies change, and when the episode is lost."""
    rates = {name: amount for _, name, amount in plot.stat_rates}
    for name, amount in rates.items():
        yield f"Your {spaced(name)} changes by {amount:+g} a step."
    losses = [_in_words(c, "somebody", "has", "is") for c, _ in plot.losses]
    if losses:
        yield f"It is lost when {' or '.join(dict.fromkeys(losses))}."


def _worth(config: TextRoomConfig, plot: Plot | None) -> str:
    """Say what is rewarded."""
    table = config.rewards
    loses = bool(plot and plot.losses)
    rewards = priced(
        (table.win, "for winning"),
        (table.lose * loses, "for losing"),
        (table.step, "for each step"),
        (table.milestone, "for each milestone, the first time"),
        (table.failed, "more for what fails"),
        (table.illegal, "more for a command that is illegal or unparsable"),
    )
    late = (
        " To run out of steps counts as lost, and costs nothing more."
        if plot is None or any(isinstance(c, MaxSteps) for c in plot.story.lose_conditions)
        else ""
    )
    return f"{rewards}{late}"


def _example(met: Mechanics) -> tuple[str, str]:
    """Return a part of an observation, and a command that fits it."""
    if met.keys and met.doors:
        seen = "You can go east through the garden gate.\nYou see a garden gate (locked).\n"
        return f"{seen}You carry the tin key.", "unlock garden gate"
    if met.ways:
        return "You can go north; east to the terrace.", "go north"
    return "You see a hatbox (closed).", "open hatbox"


# -- goals ------------------------------------------------------------------------------------


def goal_of(plot: Plot, agent: int) -> str:
    """Return the goal of an agent of a written story, in words."""
    story = plot.story
    if agent < len(story.agent_setup) and story.agent_setup[agent].goal:
        goal = str(story.agent_setup[agent].goal)
        return goal if goal.endswith(".") else f"{goal}."
    known = [setup.agent_id for setup in story.agent_setup]
    mine = known[agent] if agent < len(known) else None
    flags = names.flags(story)
    parts = []
    for condition in story.win_conditions:
        who = getattr(condition, "agent_id", None)
        if condition.type == "flag_set" and condition.flag_name not in flags:
            continue  # nothing ever sets it
        own = who == mine if who or len(known) > 1 else True
        parts.append(_to_do(condition) if own else f"see that {_in_words(condition, who)}")
    ways = (" or " if story.win_logic == "any" else " and ").join(parts)
    return f"{ways or 'last as long as you can'}."


def _to_do(condition: Any) -> str:
    """Say what an agent itself must do to fulfil a condition."""
    match condition.type:
        case "item_in_inventory":
            return f"get the {spaced(condition.item_name)}"
        case "flag_set" if condition.flag_name.startswith("has_read_"):
            return f"read the {spaced(condition.flag_name.removeprefix('has_read_'))}"
        case "agent_in_room":
            return f"go to the {spaced(condition.room)}"
        case "item_in_room":
            return f"bring the {spaced(condition.item_name)} to the {spaced(condition.room)}"
    return f"see that {_in_words(condition, 'you', 'have', 'are')}"


def _in_words(condition: Any, who: str | None, has: str = "has", are: str = "is") -> str:
    """Put a condition into words; `who` is its default subject, `has` and `are` its verbs."""
    who = getattr(condition, "agent_id", None) or who or "somebody"
    match condition.type:
        case "item_in_inventory":
            return f"{who} {has} the {spaced(condition.item_name)}"
        case "flag_set" if condition.flag_name.startswith("has_read_"):
            return f"{who} {has} read the {spaced(condition.flag_name.removeprefix('has_read_'))}"
        case "flag_set":
            return f"this comes true: {spaced(condition.flag_name)}"
        case "agent_in_room":
            return f"{who} {are} in the {spaced(condition.room)}"
        case "item_in_room":
            return f"the {spaced(condition.item_name)} lies in the {spaced(condition.room)}"
        case "object_state":
            states = [("open", condition.is_open), ("locked", condition.locked)]
            words = [f"{'' if on else 'not '}{word}" for word, on in states if on is not None]
            return f"the {spaced(condition.object)} is {' and '.join(words)}"
    return f"of {who} this holds: {condition.condition}"
