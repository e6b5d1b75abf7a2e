"""The manual of Household: its rules, rewards and goals in words."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.household.config import HouseholdConfig


def manual(config: HouseholdConfig, placing: str) -> Manual:
    """Return the words of the prompt."""
    together = ""
    if config.agents > 1:
        people = ", ".join(config.names(config.agents))
        together = f"{people} share the home; what you say is heard a little later. "
    put = "put <object> in/on <receptacle>" if placing == "put" else "move <object> to <receptacle>"
    rules = (
        "You are in a home with receptacles, such as desk 1, that have objects, such as mug 2, in "
        "or on them. Go to a receptacle to see what is there; some must be opened. You carry one "
        f"object at a time; {put} puts it down. A microwave heats, a sink cleans, a fridge cools "
        "what you carry, without being opened. To look at something under a lamp, carry it, go to "
        f"the lamp and use that. {together}Write commands and names exactly as they are listed."
    )
    table = config.rewards
    worth = (
        f"{table.win:+g} for winning, {table.subgoal:+g} for each first step towards the task, "
        f"{table.step:+g} a step, {table.illegal:+g} for what cannot be done."
    )
    return Manual(rules, worth, lambda _agent: "do the task that the first observation names.")
