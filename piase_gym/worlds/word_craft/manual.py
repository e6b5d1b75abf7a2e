"""The words of WordCraft's prompts."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.word_craft.config import WordCraftConfig


def manual(config: WordCraftConfig) -> Manual:
    """Return the words of the prompt."""
    rules = [
        "Things lie on a table. Combining two of them, or one with itself, may make others, which "
        "then lie on the table too; nothing is used up. What makes what follows common sense. "
        "Some goals need things that have to be made first.",
    ]
    if config.distractors:
        rules.append("Some of what lies on the table is of no use.")
    if config.trade:
        rules.append(
            "Each agent has a table of its own, and combines only what lies there; what an agent "
            "gives away leaves its table. The goal is that of all."
        )
    elif config.agents > 1:
        rules.append("All agents share the table and the goal.")
    rules.append(
        f"Mixes that each agent has: {config.allowed_mixes}. What cannot be done costs a step."
    )
    rewards = "the goal +1 for everybody"
    if not config.evaluation:
        if config.subgoal_rewards:
            rewards += ", each thing that is needed for it +1 when it is first made"
        rewards += ", a pair that makes nothing that is needed -0.1"
    shared = " Everybody gets the mean of all." if config.shared_reward else ""
    return Manual(
        " ".join(rules),
        f"{rewards}.{shared}",
        lambda _agent: "make what the first line names.",
        end=f"It is over when the goal is made, when nobody may combine any more, or after "
        f"{config.max_steps} steps.",
    )
