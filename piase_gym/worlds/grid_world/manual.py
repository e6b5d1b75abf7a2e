"""The words of GridWorld: the prompt of an agent, and why no level can be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from piase_gym.core.world import Manual
from piase_gym.worlds.grid_world.cells import BARE, BOX, FRUIT, GATE, HAZARD, MOVER, SWITCH_OFF
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.rules.events import NO_FREE_CELL


def fault_sentence(fault: int, config: GridWorldConfig) -> str:
    """Say why no level could be made."""
    what = f"layout {config.layout!r} of {config.width} by {config.height}"
    if fault == NO_FREE_CELL:
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
    return Manual(_rules(config), _rewards(config), lambda agent: _goal(config, agent))


def _goal(config: GridWorldConfig, agent: int) -> str:
    """Say what there is to do for an agent."""
    if config.num_taggers:
        chase = "you are a tagger: walk into every runner before the time is over."
        return chase if agent < config.num_taggers else "you are a runner: do not get tagged."
    if config.clearing:
        return "gather all food; heavy food takes several agents at once."
    if config.surviving:
        return "keep going until the time is over, and collect what is worth something."
    if config.layout == "door_key":
        return "find the key, unlock the door, and step onto a goal."
    return "step onto a goal."


def _rules(config: GridWorldConfig) -> str:
    """Explain the grid, in a few sentences."""
    shown = (
        "You see the whole grid; rows and columns count from 0 at the top left."
        if config.observe == "grid"
        else f"You see a square of {config.window} by {config.window} cells, turned so that you "
        "look ahead: you stand in the middle of its nearest row. Left and right are yours."
    )
    share = "can share a cell" if config.collisions == "pass" else "block each other"
    hidden = "" if config.see_through_walls else " Walls and closed doors hide what lies behind."
    return (
        "You live on a grid of cells. Columns and rows count from 0 at the top left, and up, down, "
        "left and right are the directions of the grid. A move turns you that way, even if the "
        "cell is not free. Interact acts on the one cell ahead of you: it picks up a key if your "
        "hands are empty, puts down what you carry on free floor, opens and closes doors, and "
        f"unlocks a locked door if you carry a key. {''.join(_extras(config))}Agents {share}. "
        f"{shown}{hidden} Cells that an observation does not mention are free floor."
    )


def _extras(config: GridWorldConfig) -> list[str]:
    """Explain what only some levels have."""
    codes = set(config.plan.values())
    gates = config.layout == "multi_room" and config.doors in ("gates", "mixed")
    said = {
        "A box moves when you walk into it and the cell behind it is free floor.": (
            config.boxes or BOX in codes
        ),
        "A switch that you interact with opens every closed gate and closes every open one.": (
            gates or codes & {SWITCH_OFF, GATE}
        ),
        f"A hazard hurts{' and ends the episode for' if config.hazard_ends else ''} whoever steps "
        "onto it.": config.hazards or HAZARD in codes,
        f"Stepping onto a bush with fruit eats the fruit; a bare bush bears again with a chance of "
        f"{config.regrow:g} a step.": config.fruits or codes & {FRUIT, BARE},
        "Drones move on their own and block the way.": config.movers or MOVER in codes,
        "Food is lifted by interacting with it, and heavy food only if agents of enough strength "
        "together do so in the same step.": config.clearing or config.num_food,
        f"You starve when your energy is used up, one a step; a fruit gives "
        f"{config.fruit_energy}.": config.energy,
        "Some agents enter later than others.": config.latecomers,
        f"With each command you can say a symbol from 1 to {config.symbols} to all others.": (
            config.symbols
        ),
    }
    return [sentence + " " for sentence, needed in said.items() if needed]


_USED: Mapping[str, Callable[[GridWorldConfig], object]] = {
    "hazard": lambda c: c.hazards or HAZARD in c.plan.values(),
    "fruit": lambda c: c.fruits or {FRUIT, BARE} & set(c.plan.values()),
    "food": lambda c: c.clearing or c.num_food,
    "heavy": lambda c: c.clearing or c.num_food,
    "tag": lambda c: c.num_taggers,
    "caught": lambda c: c.num_taggers,
    "starved": lambda c: c.energy,
    "goal": lambda c: not (c.clearing or c.num_taggers),
}


def _rewards(config: GridWorldConfig) -> str:
    """List the reward table, without what cannot happen."""
    fields: Mapping[str, Any] = type(config.rewards).model_fields
    values = config.rewards.model_dump()
    told = [key for key in values if key not in _USED or _USED[key](config)]
    return "; ".join(f"{fields[key].description} {values[key]:+g}" for key in told) + "."
