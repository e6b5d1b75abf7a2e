"""The last step of a batch, as each of its environments would note it by itself.

The arrays of a batch say what a step paid and what ended. What agents did, and what they reached,
is kept only where somebody looks at slots as worlds; see `BatchEnv.note_steps`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import OUTCOMES
from piase_gym.core.last_step import LastStep
from piase_gym.core.world import StepResult

if TYPE_CHECKING:  # it loads numba
    from piase_gym.worlds.array_world import ArrayWorld, Batch
    from piase_gym.worlds.scripted_batch import BatchScripts

Notes = dict[int, dict[str, Any]]
Done = tuple[list[int | None], StepResult]
"""What the agents of a slot did, ``None`` for those not in play, and what the step did."""


@dataclass
class TakenStep:
    """A step that has just been taken.

    Attributes:
        world: A world of the batch.
        batch: The arrays, as the step left them.
        scripts: The scripts of the batch, if there are any.
        acts: What agents did, shape (envs, agents).
        playing: Which of them were in play.
        marks: The milestones that they had reached before.
    """

    world: ArrayWorld[Any, Any]
    batch: Batch
    scripts: BatchScripts | None
    acts: NDArray[np.int32]
    playing: NDArray[np.bool_]
    marks: NDArray[Any]
    _known: dict[int, Done] = field(default_factory=dict)

    def of(self, slot: int) -> Done:
        """Return what was done in one slot; it must not have been reset since."""
        if slot not in self._known:
            batch, rows = self.batch, zip(self.acts[slot], self.playing[slot], strict=True)
            ends = batch.terminated[slot].tolist(), batch.truncated[slot].tolist()
            said = [OUTCOMES[code] for code in batch.outcomes[slot].tolist()]
            over, paid = any(ends[0]) or any(ends[1]), batch.rewards[slot].tolist()
            result = StepResult(paid, *ends, said, over, self.notes.get(slot, {}))
            self._known[slot] = [int(act) if plays else None for act, plays in rows], result
        return self._known[slot]

    def show(self, world: ArrayWorld[Any, Any], slot: int) -> None:
        """Let a world in the state of a slot know of the step."""
        world.note_step(*self.of(slot))

    @cached_property
    def notes(self) -> dict[int, Notes]:
        """What single environments note of the step, by slot and agent: milestones, events, ..."""
        found: dict[int, Notes] = {}
        new = self.batch.states["marks"][:, : len(self.world.agents)] & ~self.marks
        for slot, agent in np.argwhere(new).tolist():
            bits = int(new[slot, agent])
            names = [name for bit, name in enumerate(self.world.milestones) if bits >> bit & 1]
            found.setdefault(slot, {})[agent] = {"milestones": names}
        if self.scripts is None:
            return found
        self._add_script(self.scripts, found)
        return {slot: {a: notes[a] for a in sorted(notes)} for slot, notes in found.items()}

    def _add_script(self, scripts: BatchScripts, found: dict[int, Notes]) -> None:
        """Add the events and milestones of scripts, and the measures of agents that ended."""
        rows = [
            ("events", name, slot, one)
            for name, happened in scripts.happened
            for slot, agent in happened.tolist()
            for one in (range(len(self.world.agents)) if agent < 0 else (agent,))
        ]
        for name, who in scripts.reached.items():
            rows += [("milestones", name, slot, agent) for slot, agent in np.argwhere(who).tolist()]
        for key, name, slot, agent in rows:
            notes = found.setdefault(slot, {}).setdefault(agent, {})
            notes[key] = [*notes.get(key, ()), name]
        for slot, agent in np.argwhere(self.batch.terminated | self.batch.truncated).tolist():
            run = scripts.of(self.batch.states, slot)
            if run is not None and (measures := run.measures(agent, slot)):
                found.setdefault(slot, {}).setdefault(agent, {})["measures"] = measures


@dataclass(frozen=True)
class RestoredSteps:
    """The last steps that came with a snapshot.

    Attributes:
        rows: What the command of each agent did, by slot.
    """

    rows: Mapping[int, Sequence[LastStep | None]]

    def show(self, world: ArrayWorld[Any, Any], slot: int) -> None:
        """Let a world in the state of a slot know of the step."""
        world.set_last_steps(self.rows.get(slot, [None] * len(world.agents)))
