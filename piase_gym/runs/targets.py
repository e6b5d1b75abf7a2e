"""The targets of agents in their curriculum steps, and whether they have reached them.

A line ``DSE_STEP_ATTEMPT_START`` may name ``target_coords``; from then on each step line lists
under ``targets`` the agents that stand on theirs for the first time in the episode.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from piase_gym.core.world import World
from piase_gym.runs.schema import ATTEMPT

NEAR = 0.5
"""Where places are floats, an agent this near stands on its target."""
_OVER = ("DSE_AGENT_CURRICULUM_FINISHED", "DSE_CURRICULUM_FAILED")


class Targets:
    """The targets of agents, in all environments or in single ones of a batch.

    Attributes:
        given: Each target, by the slot (``None`` for all) and the agent.
    """

    def __init__(self) -> None:
        """Start without targets."""
        self.given: dict[tuple[int | None, str], Any] = {}
        self._arrived: defaultdict[int, set[str]] = defaultdict(set)
        """Who has arrived, by slot."""

    def wanted(self, playing: Sequence[int], agents: Sequence[str], slot: int = 0) -> bool:
        """Return whether an agent in play has yet to arrive."""
        return any(self._on_their_way(playing, agents, slot))

    def hear(self, event_type: str, agent: str | None, data: Mapping[str, Any]) -> None:
        """Take note of what the curriculum says."""
        if agent is None or event_type not in (ATTEMPT, *_OVER):
            return
        slot, target = data.get("slot"), data.get("target_coords")
        if slot is None:
            self.given = {key: at for key, at in self.given.items() if key[1] != agent}
            for names in self._arrived.values():
                names.discard(agent)
        else:
            self.given.pop((slot, agent), None)
            self._arrived[slot].discard(agent)
        if event_type == ATTEMPT and target is not None:
            self.given[slot, agent] = target

    def again(self, slot: int = 0) -> None:
        """Begin an episode, in which nobody has arrived yet."""
        self._arrived.pop(slot, None)

    def reached(self, world: World[Any, Any], playing: Sequence[int], slot: int = 0) -> list[str]:
        """Return the agents that stand on their targets for the first time in this episode."""
        found = [
            name
            for number, name, target in self._on_their_way(playing, world.agents, slot)
            if _same_place(world.position(number), target)
        ]
        self._arrived[slot].update(found)
        return found

    def _on_their_way(
        self, playing: Sequence[int], agents: Sequence[str], slot: int
    ) -> Iterator[tuple[int, str, Any]]:
        """Yield the agents in play that have yet to arrive: number, name and target."""
        for number in playing:
            name = agents[number]
            target = self.given.get((slot, name), self.given.get((None, name)))
            if target is not None and name not in self._arrived[slot]:
                yield number, name, target


def _same_place(place: Any, target: Any) -> bool:
    """Return whether a place is the target: the same name, cell, or point in space."""
    if not isinstance(place, Sequence) or isinstance(place, str):
        return bool(place == target)
    if not isinstance(target, Sequence) or len(place) < len(target) or isinstance(target, str):
        return False
    try:
        apart = [abs(float(a) - float(b)) for a, b in zip(place, target, strict=False)]
    except (TypeError, ValueError):
        return False
    whole = all(isinstance(part, int) for part in (*place, *target))
    return not any(apart) if whole else math.hypot(*apart) <= NEAR
