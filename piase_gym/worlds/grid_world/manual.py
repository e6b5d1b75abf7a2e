"""The words of GridWorld: the prompt of an agent, and why no level can be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from piase_gym.core.world import Manual
from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.levels import of_layout
from piase_gym.worlds.grid_world.rules import events


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
    return str(of_layout(config.layout, "AIM", "step onto a goal."))


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


def _present(config: GridWorldConfig) -> set[int]:
    """Return the codes of the kinds that levels of a config can have and the prompt explains."""
    found = set(config.plan.values())
    found |= {
        kind.code for kind in kinds.CELLS.kinds if kind.strewn and getattr(config, kind.strewn)
    }
    if found & {kinds.GATE} or (
        config.layout == "multi_room" and config.doors in ("gates", "mixed")
    ):
        found.add(kinds.SWITCH_OFF)
    if found & {kinds.BARE}:
        found.add(kinds.FRUIT)
    return found | {kinds.FOOD} if config.clearing or config.num_food else found - {kinds.FOOD}


def _extras(config: GridWorldConfig) -> list[str]:
    """Explain what only some levels have."""
    present, ends = _present(config), " and ends the episode for" if config.hazard_ends else ""
    rules = [kind.rule for kind in kinds.CELLS.kinds if kind.rule and kind.code in present]
    said = [rule.format(ends=ends, regrow=config.regrow) for rule in rules]
    if config.energy:
        said.append(
            "You starve when your energy is used up, one a step; a fruit gives "
            f"{config.fruit_energy}."
        )
    if config.latecomers:
        said.append("Some agents enter later than others.")
    if config.symbols:
        said.append(
            f"With each command you can say a symbol from 1 to {config.symbols} to all others."
        )
    return [sentence + " " for sentence in said]


_USED: Mapping[str, Callable[[GridWorldConfig], object]] = {
    "hazard": lambda c: kinds.HAZARD in _present(c),
    "fruit": lambda c: kinds.FRUIT in _present(c),
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
