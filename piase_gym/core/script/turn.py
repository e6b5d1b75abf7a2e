"""What a script and its world exchange: what it asks of the world, a step, and its changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import Command, Result
from piase_gym.core.script.observables import Observable

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


def any_agent(mask: Mask) -> Mask:
    """Return where a mask is true for any agent, shape (envs,); NumPy is slow on short rows."""
    if mask.shape[1] > 8:
        return np.asarray(mask.any(1))
    found = mask[:, 0]
    for agent in range(1, mask.shape[1]):
        found = found | mask[:, agent]
    return found


def count_agents(mask: Mask) -> NDArray[np.int64]:
    """Return for how many agents a mask is true, shape (envs,)."""
    if mask.shape[1] > 8:
        return np.asarray(mask.sum(1))
    found = mask[:, 0].astype(np.int64)
    for agent in range(1, mask.shape[1]):
        found += mask[:, agent]
    return found


class ScriptedWorld(Protocol):
    """What scripts ask of a world and do to it; see `piase_gym.core.world.World`."""

    agents: tuple[str, ...]

    def observables_of(self, config: Any, /) -> Mapping[str, Observable]:
        """Return the facts that conditions can be about."""

    def observe(self, name: str, states: Any, of: Any, /) -> NDArray[Any]:
        """Return a fact."""

    def action_codes(self, word: str, /) -> tuple[int, ...] | None:
        """Return the indices of the commands that a line or a verb stands for."""

    def write(self, command: Command, /) -> str:
        """Return the line of a command."""

    def finish(self, states: Any, who: NDArray[np.bool_], result: Result, /) -> None:
        """End the episode of some agents."""

    def spawn(self, states: Any, envs: NDArray[np.int64], thing: str, place: Any, /) -> None:
        """Make something appear."""

    def remove(
        self, states: Any, envs: NDArray[np.int64], thing: str | None, place: Any, /
    ) -> None:
        """Make something vanish."""

    def change_settings(self, fields: Mapping[str, Any], /) -> None:
        """Make fields of the config differ until the episode ends."""

    def refresh(self) -> None:
        """Rebuild what is derived from the state."""

    def give_hint(self, agent: int, hint: str | None, /) -> None:
        """Show an agent a hint."""
