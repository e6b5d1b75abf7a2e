"""The wording of GridWorld: the prompt of an agent, and why no level can be made."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from piase_gym.core.world import Manual
from piase_gym.worlds.channel.manual import channel_rules
from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.levels import of_layout
from piase_gym.worlds.grid_world.rules import events
from piase_gym.worlds.grids.moves import scene_manual
from piase_gym.worlds.texts.wording import listing


def fault_sentence(fault: int, config: GridWorldConfig) -> str:
    """Say why no level could be made."""
    what = f"layout {config.layout!r} of {config.width} by {config.height}"
    if fault == events.NO_FREE_CELL:
        return (
            f"GridWorld: {what} has no free cell left for {config.agents} agents, the goals and "
            f"the objects; take a larger grid, fewer agents, fewer objects or fewer walls"
        )
    task = "all food" if config.clearing else "each other" if config.num_taggers else "a goal"
    return (
        f"GridWorld: {what} has no way from every agent to {task}; move the walls, the goal or the "
        f"start, lower obstacle_density, or take fewer objects"
    )


def manual(config: GridWorldConfig) -> Manual:
    """Return the words of the prompt."""
    return Manual(
        _rules(config),
        _rewards(config),
        lambda agent: _goal(config, agent),
        milestones=_milestones(config),
        example=_example(config),
        unused=() if _deeds(config) else ("interact",),
    )


def _goal(config: GridWorldConfig, agent: int) -> str:
    """Say what an agent has to do."""
    if config.num_taggers:
        chase = "you are a tagger: walk into every runner before the time is over."
        return chase if agent < config.num_taggers else "you are a runner: do not get tagged."
    if config.clearing:
        return "gather all food; heavy food takes several agents at once."
    if config.surviving:
        return "keep going until the time is over, and collect what is worth something."
    return str(of_layout(config.layout, "AIM", "step onto a goal."))


def _rules(config: GridWorldConfig) -> str:
    """Explain the grid, in a few sentences."""
    rules = [
        "You live on a grid of cells. Columns count from 0 in the west, rows from 0 in the north.",
        _walking(config),
        *_acting(config),
        *_extras(config),
        _company(config),
        _seeing(config),
    ]
    return " ".join(filter(None, rules))


def _walking(config: GridWorldConfig) -> str:
    """Explain how to walk in the frame of reference."""
    if config.frame == "grid":
        return (
            "A move turns you that way, even if the next cell is not free, and then takes you "
            "there if it is free."
        )
    return "You step ahead, and turn on the spot; ahead, left and right are yours."


def _acting(config: GridWorldConfig) -> list[str]:
    """Explain what interacting does, as far as it is possible under the config."""
    deeds = _deeds(config)
    if not deeds:
        return []
    turn = (
        "Come up to it straight, or move towards it, which turns you (and counts as walking "
        "against it)"
        if config.frame == "grid"
        else "Turn until it is ahead of you"
    )
    sentences = [f"Interact acts on the one cell ahead of you: it {listing(deeds)}."]
    filling = [name for name, codes in _FILLING.items() if _present(config) & codes]
    if filling:
        one = filling[0] if len(filling) == 1 else "each of these"
        sentences.append(
            f"{listing(filling).capitalize()} {'fill' if len(filling) > 1 else 'fills'} a whole "
            f"cell, which you cannot walk onto. To act on {one}, stand next to it. {turn}, then "
            "interact."
        )
    return sentences


def _deeds(config: GridWorldConfig) -> list[str]:
    """Return what interacting can do in a config, as clauses."""
    present = _present(config)
    keys = config.has_keys
    doors = present & {kinds.CLOSED, kinds.OPEN, kinds.LOCKED}
    return [
        *(["picks up a key if your hands are empty"] if keys else []),
        *(["unlocks and opens a locked door if you carry a key, which you keep"] if keys else []),
        *(["opens a closed door", "closes an open door"] if doors else []),
        *(["puts down on free floor what you carry"] if keys else []),
        *(["turns a switch"] if present & {kinds.SWITCH_OFF, kinds.SWITCH_ON} else []),
        *(["lifts food"] if present & set(kinds.FOODS) else []),
    ]


def deeds_of(config: GridWorldConfig) -> str:
    """Describe the command `interact`."""
    return _deeds_text(config.has_keys, frozenset(_present(config)))


@functools.cache
def _deeds_text(keys: bool, present: frozenset[int]) -> str:
    """Say in a few words what there is to interact with."""
    doors = present & {kinds.CLOSED, kinds.OPEN, kinds.LOCKED}
    things = [
        *(["key"] if keys else []),
        *(["door"] if doors else []),
        *(["switch"] if present & {kinds.SWITCH_OFF, kinds.SWITCH_ON} else []),
        *(["food"] if present & set(kinds.FOODS) else []),
    ]
    named = f" ({', '.join(things)})" if things else ""
    return f"act on the one cell ahead of you{named}"


_FILLING: Mapping[str, set[int]] = {
    "a key": {kinds.KEY},
    "a door that is locked or closed": {kinds.LOCKED, kinds.CLOSED},
    "a switch": {kinds.SWITCH_OFF, kinds.SWITCH_ON},
    "food": set(kinds.FOODS),
}
"""What can be acted on, but not walked onto."""


def _company(config: GridWorldConfig) -> str:
    """Say how agents affect each other, if there are several."""
    if config.agents == 1:
        return ""
    share = "can share a cell" if config.collisions == "pass" else "block each other's way"
    late = " Some agents enter later than others." if config.latecomers else ""
    return f"There are {config.agents} agents, who {share}.{_sides(config)}{late}"


def _sides(config: GridWorldConfig) -> str:
    """Say who chases whom in a game of tag."""
    if not config.num_taggers:
        return ""
    names = config.names()
    sides = {"tagger": names[: config.num_taggers], "runner": names[config.num_taggers :]}
    parts = [
        f" {listing(who)} {'are' if len(who) > 1 else 'is a'} {side}{'s' * (len(who) > 1)}"
        for side, who in sides.items()
        if who
    ]
    return f"{';'.join(parts)}. Who is tagged leaves the grid."


def _seeing(config: GridWorldConfig) -> str:
    """Explain what agents see, and how texts say it."""
    window = None if config.observe == "grid" else config.window
    hidden = "" if config.see_through_walls else "Walls and closed doors hide what lies behind. "
    recall = (
        " Lines that begin with 'Seen' tell what you saw before, by columns and rows."
        if config.recall
        else ""
    )
    return hidden + scene_manual(config.frame, window, "free floor", walls=True) + recall


def _present(config: GridWorldConfig) -> set[int]:
    """Return the codes of the kinds that levels of a config can have and the prompt explains."""
    found = set(config.plan.values())
    found |= {
        kind.code for kind in kinds.CELLS.kinds if kind.strewn and getattr(config, kind.strewn)
    }
    if config.layout == "door_key":
        found |= {kinds.KEY, kinds.LOCKED}
    if config.layout == "multi_room":
        found |= set(_OF_DOORS[config.doors])
    if found & {kinds.GATE}:
        found.add(kinds.SWITCH_OFF)
    if found & {kinds.BARE}:
        found.add(kinds.FRUIT)
    return found | {kinds.FOOD} if config.clearing or config.num_food else found - {kinds.FOOD}


_OF_DOORS: Mapping[str, tuple[int, ...]] = {
    "open": (),
    "closed": (kinds.CLOSED,),
    "locked": (kinds.KEY, kinds.LOCKED),
    "gates": (kinds.GATE,),
    "mixed": (kinds.CLOSED, kinds.KEY, kinds.LOCKED, kinds.GATE),
}
"""What joins the rooms of layout `multi_room`, and what it takes to get through."""


def _extras(config: GridWorldConfig) -> list[str]:
    """Explain what only some levels have."""
    present, ends = _present(config), " and ends the episode for" if config.hazard_ends else ""
    rules = [kind.rule for kind in kinds.CELLS.kinds if kind.rule and kind.code in present]
    said = [rule.format(ends=ends, regrow=config.regrow) for rule in rules]
    if config.energy:
        fruit = f"; a fruit gives {config.fruit_energy}" if kinds.FRUIT in present else ""
        said.append(f"You starve when your energy is used up, one a step{fruit}.")
    if config.symbols:
        said.append(channel_rules(config))
    return said


def _milestones(config: GridWorldConfig) -> list[str]:
    """Return the names of the milestones that can be reached."""
    present = _present(config)
    reached = {
        "key_found": config.has_keys,
        "door_opened": present & {kinds.LOCKED, kinds.CLOSED, kinds.OPEN},
        "goal_reached": config.goals or config.any_goals,
        "box_pushed": kinds.BOX in present,
        "switch_used": present & {kinds.SWITCH_OFF, kinds.SWITCH_ON},
        "fruit_eaten": kinds.FRUIT in present,
        "food_gathered": present & set(kinds.FOODS),
        "tagged": config.num_taggers,
    }
    return [name for name in events.MILESTONES if reached[name]]


def _example(config: GridWorldConfig) -> tuple[str, str]:
    """Return a part of an observation and a command that fits it."""
    grid, goals = config.frame == "grid", _has_goals(config)
    if config.has_keys and grid:
        return "Ahead of you, to the north, is a key.", "interact"
    if config.has_keys:
        return "You see a key 1 left.", "turn left"
    if grid:
        return (
            f"{'The nearest goal is 2 east' if goals else 'Walls: 1 north, in line'}.",
            "move east",
        )
    return f"{'The nearest goal is 2 right' if goals else 'Walls: 1 ahead, in line'}.", "turn right"


def _has_goals(config: GridWorldConfig) -> bool:
    """Return whether there are goals to step onto."""
    return bool(config.goals or config.any_goals)


_USED: Mapping[str, Callable[[GridWorldConfig], object]] = {
    "hazard": lambda c: kinds.HAZARD in _present(c),
    "fruit": lambda c: kinds.FRUIT in _present(c),
    "food": lambda c: c.clearing or c.num_food,
    "heavy": lambda c: c.clearing or c.num_food,
    "tag": lambda c: c.num_taggers,
    "caught": lambda c: c.num_taggers,
    "starved": lambda c: c.energy,
    "goal": lambda c: _has_goals(c),
    "interact": lambda c: _deeds(c),
    "locked": lambda c: _present(c) & {kinds.LOCKED, kinds.GATE, kinds.GATE_OPEN},
}


def _rewards(config: GridWorldConfig) -> str:
    """List the reward table, without what cannot happen."""
    fields: Mapping[str, Any] = type(config.rewards).model_fields
    values = config.rewards.model_dump()
    keys = [key for key in values if key not in _USED or _USED[key](config)]
    words = {key: fields[key].description for key in keys}
    if config.frame == "agent":
        words["move"] = "entering a free cell or turning"
    return "; ".join(f"{words[key]} {values[key]:+g}" for key in keys) + "."
