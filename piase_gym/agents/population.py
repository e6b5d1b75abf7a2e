"""Random matching: in each episode a seat is played by one of several policies, drawn at random.

``population:tit_for_tat,grudger,always_defect`` can stand wherever the name of a policy can, so a
learner can be trained and judged against a population: it must find out whom it has met. The draw
follows from the seat's seed, so an episode's effective seed fixes whom it meets. A policy that is
named twice is met twice as often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.base import Action, Agent, BatchPercept, Feedback
from piase_gym.agents.simple import draw_at, draws_at, read_seed
from piase_gym.errors import ConfigError

POPULATION = "population"
"""The prefix of the names of populations."""
BEFORE = -1
"""The step at which the member is drawn: before all steps at which members may draw."""


class PopulationAgent(Agent):
    """Plays as one of its members, which is drawn in each episode.

    Args:
        members: Agents.

    Attributes:
        member: The number of the member that plays now.
    """

    def __init__(self, members: Sequence[Agent]) -> None:
        super().__init__()
        self.members = tuple(members)
        self.waits = any(member.waits for member in self.members)
        self.member = 0

    def set_id(self, agent_id: str) -> None:
        """Take the name of a seat; members take it too."""
        super().set_id(agent_id)
        for member in self.members:
            member.set_id(agent_id)

    def reset(self, seed: int) -> None:
        """Draw the member that plays this episode."""
        self.member = draw_at(seed, BEFORE) * len(self.members) >> 32
        self.members[self.member].reset(seed)

    def perceive(self, percept: Any) -> None:
        """Show the percept to the member that plays."""
        super().perceive(percept)
        self.members[self.member].perceive(percept)

    def begin_act(self) -> None:
        """Let the member that plays begin to choose."""
        self.members[self.member].begin_act()

    def act(self) -> Action:
        """Return the choice of the member that plays."""
        return self.members[self.member].act()

    def follow_act(self, act: Any) -> None:
        """Let the member that plays take note of what was done."""
        self.members[self.member].follow_act(act)

    def outgoing_letters(self) -> Sequence[str]:
        """Return the messages to all others from the member that plays."""
        return self.members[self.member].outgoing_letters()

    def spoken(self) -> Sequence[Sequence[str]]:
        """Return what the member that plays says to others."""
        return self.members[self.member].spoken()

    def log_entries(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return the lines for logs of the member that plays."""
        return self.members[self.member].log_entries()

    def internal_state(self) -> dict[str, Any] | None:
        """Return what the member that plays shows of its inner state."""
        return self.members[self.member].internal_state()

    def learn(self, feedback: Feedback) -> None:
        """Pass the feedback on to the member that plays."""
        self.members[self.member].learn(feedback)

    def configure(self, config: Mapping[str, Any]) -> None:
        """Configure all members."""
        for member in self.members:
            member.configure(config)

    def get_state(self) -> dict[str, Any]:
        """Return which member plays, and the states of all."""
        return {"member": self.member, "states": [member.get_state() for member in self.members]}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        self.member = read_seed(state, "member", len(self.members) - 1)
        for member, found in zip(self.members, state["states"], strict=True):
            member.set_state(found)

    @property
    def acts_in_batches(self) -> bool:
        """Whether all members have an `act_batch`."""
        return all(member.acts_in_batches for member in self.members)

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Let the member drawn for each environment choose there."""
        before = np.full(len(batch.seeds), BEFORE, np.int64)
        drawn = draws_at(batch.seeds, before) * np.uint64(len(self.members)) >> np.uint64(32)
        chosen = np.zeros(len(drawn), np.int64)
        for number, member in enumerate(self.members):
            where = np.flatnonzero(drawn == number)
            if where.size:
                percept = BatchPercept(
                    batch.vectors[where],
                    batch.masks[where],
                    batch.seeds[where],
                    batch.steps[where],
                    batch.noop,
                )
                chosen[where] = member.act_batch(percept)
        return chosen


def make_population(names: str, make: Callable[[str], Agent]) -> PopulationAgent:
    """Return the population of the policies in a comma-separated list of names.

    Raises:
        ConfigError: If a name is empty, or a member is a population itself.
        UnknownNameError: If no policy has one of the names.
    """
    given = [name.strip() for name in names.split(",")]
    if not all(given):
        raise ConfigError(
            f"a population is named by its policies, as in population:tit_for_tat,grudger; "
            f"not population:{names!r:.60}"
        )
    if any(name.startswith(f"{POPULATION}:") for name in given):
        raise ConfigError("a population is no member of a population; name its policies instead")
    return PopulationAgent([make(name) for name in given])
