"""The words of a world's prompt, and the prompt that is made from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from piase_gym.core.answers import HOW_TO_ANSWER
from piase_gym.core.commands import Verb

OBSERVATIONS = (
    "Each observation opens with your last step: the command as it was understood, its outcome "
    "(ok, failed, illegal if it was impossible then, unparsable, ...) and the reward."
)


@dataclass(frozen=True)
class Manual:
    """The words of a world's prompt, which `World.instructions` returns.

    Attributes:
        rules: How the world works, in a few sentences.
        rewards: What is rewarded and punished, with numbers.
        goals: Agent number -> what that agent should achieve.
        milestones: The names of the milestones that can be reached; by default, all of them.
        example: Part of an observation, and the command that fits it.
        unused: Verbs that can do nothing in this config; the prompt leaves them out.
        end: When an episode is over, if not only after `max_steps`.
    """

    rules: str
    rewards: str
    goals: Callable[[int], str] = field(default=lambda _agent: "")
    end: str = ""
    milestones: Collection[str] | None = None
    example: tuple[str, str] | None = None
    unused: Collection[str] = ()

    def prompt(
        self,
        head: str,
        agent: int,
        own_goal: str | None,
        grammar: Sequence[Verb],
        milestones: Collection[str],
        max_steps: int,
        shared: bool = False,
    ) -> str:
        """Return the prompt for an agent: rules, goal, commands, rewards, end, example.

        Args:
            head: The first line: who the agent is, and where.
            agent: Its number.
            own_goal: A goal that only this agent has, from a script.
            grammar: The verbs of the world.
            milestones: The names of all milestones of the world.
            max_steps: Steps after which an episode is over.
            shared: Whether several agents share their rewards.
        """
        goal = " ".join(filter(None, (self.goals(agent), own_goal)))
        verbs = [verb for verb in grammar if verb.name not in self.unused]
        commands = "\n".join(f"- {verb.usage}: {verb.description}" for verb in verbs)
        reached = milestones if self.milestones is None else self.milestones
        names = ", ".join(name.replace("_", " ") for name in reached)
        end = self.end or f"An episode ends after {max_steps} steps at the latest."
        mean = " Everybody gets the mean of all." if shared else ""
        parts = [
            head,
            self.rules,
            f"Goal: {goal}" if goal else "",
            f"{HOW_TO_ANSWER} The commands:\n{commands}",
            f"Rewards: {self.rewards}{mean}"
            + (f"\nMilestones, paid only as the rewards say: {names}." if names else ""),
            f"{end} {OBSERVATIONS}",
            "Example: {}\nAction: {}".format(*self.example) if self.example else "",
        ]
        return "\n\n".join(filter(None, parts))
