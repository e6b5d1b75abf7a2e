"""The manual of Household: its rules, rewards and goals in words."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.channel.manual import heard_when, history_rules, limit_rules
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.texts.wording import listing, priced

_LISTED = (
    "What you can do besides walking, looking, examining, opening, closing, taking{hands} is "
    "listed, and what you cannot take or put down where you are. "
)


def manual(config: HouseholdConfig, placing: str, asks: bool) -> Manual:
    """Return the words of the prompt.

    Args:
        config: The config.
        placing: ``move`` or ``put``.
        asks: Whether there is ``help``.
    """
    tasks: set[str] = (
        set(config.tasks) if config.game is None else {"look", "clean", "heat", "cool"}
    )
    put = "put <object> in/on <receptacle>" if placing == "put" else "move <object> to <receptacle>"
    hands = ", putting down and speaking" if config.agents > 1 else " and putting down"
    listed = _LISTED.format(hands=hands) * config.lists_commands
    rules = [
        "You are in a room with receptacles, such as desk 1, that have objects, such as mug 2, in "
        "or on them. 'shelf 1,3-5, bed' is short for shelf 1, shelf 3, shelf 4, shelf 5 and bed 1; "
        "'mug' for mug 1. "
        "Go to a receptacle to see what is there; what you have seen is told as it was then. "
        "Unseen are those where you have not been, closed those that you have not looked into: "
        "they must be opened first. Only what is where you "
        f"are can be taken or used. {listed}You carry one object at a "
        f"time; your hands are empty if none is named. {put} puts it down."
    ]
    tools = [
        f"a {tool} {verb}s"
        for verb, tool in (("heat", "microwave"), ("clean", "sinkbasin"), ("cool", "fridge"))
        if verb in tasks
    ]
    if tools:
        rules.append(
            f"{listing(tools).capitalize()} what you carry: go there and say so; it need not be "
            "opened, and the object stays in your hand."
        )
    if "look" in tasks:
        rules.append("To look at something under a lamp, carry it, go to the lamp and use that.")
    if config.agents > 1:
        people = listing(config.names(config.agents))
        rules.append(
            f"{people} share the home and the task, and act at once; the first to take an object "
            f"has it. What you say is heard {heard_when(config)}."
        )
        rules += limit_rules(config) + history_rules(config)
    table = config.rewards
    worth = priced(
        (table.win, "for everybody when the task is done" if config.agents > 1 else "for winning"),
        (table.subgoal, "for each milestone, the first time"),
        (table.step, "for each step"),
        (table.illegal, "more for what cannot be done or read"),
    )
    seen = "At shelf 1: mug 2."
    return Manual(
        " ".join(rules),
        worth,
        lambda _agent: "do the task that each observation names after 'Task:'.",
        milestones=_milestones(tasks, config.game is not None),
        example=(seen, "take mug 2 from shelf 1"),
    )


def _milestones(tasks: set[str], any_task: bool) -> list[str]:
    """Return the milestones that can be reached in some tasks."""
    places = any_task or tasks != {"look"}
    changes = any_task or tasks & {"clean", "heat", "cool"}
    found = ["target_taken"]
    found += ["target_changed"] if changes else []
    found += ["lamp_on"] if "look" in tasks else []
    return found + (["target_placed"] if places else [])
