"""The words of WordCraft's prompts."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.texts.wording import counted, listing
from piase_gym.worlds.word_craft.config import WordCraftConfig


def manual(config: WordCraftConfig) -> Manual:
    """Return the words of the prompt."""
    rules = [
        "Things lie on a table, numbered by their places. Combining two of them, or one with "
        "itself, may make others, which then lie on the table too; nothing is used up. What makes "
        "what follows common sense.",
    ]
    if config.depth > 1:
        rules.append("What the goal is made of may have to be made first.")
    if config.distractors:
        rules.append("Some of what lies on the table is of no use.")
    if config.agents > 1:
        people = listing(config.names(config.agents))
        sharing = (
            f"{people} have a table each and combine only what lies there; what is given away "
            "leaves its table"
            if config.trade
            else f"{people} share the table"
        )
        rules.append(f"{sharing}. All have the same goal and act at once.")
    count = config.allowed_mixes
    rules.append(
        f"{'Each agent' if config.agents > 1 else 'You'} can combine {counted(count, 'pair')}; "
        "'Mixes left' counts them down. What cannot be done costs a step and no mix."
    )
    worth = config.rewards
    paid = [f"{worth.goal:+g} for the goal" + (", for everybody" if config.agents > 1 else "")]
    if config.subgoal_rewards and not config.evaluation and config.depth > 1:
        paid.append(
            f"{worth.needed:+g} for each thing that is needed for it, when it is first made"
        )
    if not config.evaluation:
        paid.append(f"{worth.useless:+g} for a pair that makes nothing that is needed")
    milestones = ["made_something", "made_what_is_needed", "made_the_goal"]
    return Manual(
        " ".join(rules),
        f"{', '.join(paid)}.",
        lambda _agent: "make what each observation names after 'Make this:'.",
        end="It is over when the goal is made, when nobody may combine any more, or after "
        f"{counted(config.max_steps, 'step')}.",
        milestones=milestones + ["gave"] * (config.trade and config.agents > 1),
        example=("On the table: 1 button, 2 ladder.", "combine button and ladder"),
    )
