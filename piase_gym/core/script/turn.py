"""What a script and its world exchange: a step that was taken, and what the script changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


@dataclass
class StepArrays:
    """One step that was taken, as arrays (envs, agents), which a script may change.

    Attributes:
        states: The records, or ``None``.
        rewards: The reward of each agent.
        terminated: Which agents ended by the rules.
        truncated: Which agents ended by a limit.
        played: Which agents took part in the step.
        acts: What they did: indices, or lines.
        outcomes: What became of it, as positions in `Outcome`.
        milestones: Name of a milestone -> which agents reached it.
        entered: Which agents have just entered, if agents can; for them no fact has grown.
    """

    states: Any
    rewards: NDArray[np.float64]
    terminated: Mask
    truncated: Mask
    played: Mask
    acts: NDArray[Any]
    outcomes: NDArray[Any]
    milestones: Mapping[str, Mask]
    entered: Mask | None = None


@dataclass
class Changes:
    """What a script did in a step besides rewards and ends.

    Attributes:
        told: Which agents were told something, (envs, agents).
        touched: In which environments the world itself was changed.
        ended: In which environments the script ended the episode of an agent.
        settings: In which environments settings have changed.
        happened: Pairs of an event's number and who caused it, as rows (env, agent); agent -1 is
            nobody.
        reached: Name of a milestone -> for which agents events noted it.
    """

    told: Mask
    touched: Mask
    ended: Mask
    settings: Mask
    happened: list[tuple[int, NDArray[np.int64]]] = field(default_factory=list)
    reached: dict[str, Mask] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether there is anything to report besides rewards."""
        return bool(self.happened or self.ended.any())
