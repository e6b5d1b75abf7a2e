"""Array worlds whose kernels are those of `stepping`: what calls them, for many and for one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import OUTCOMES, Outcome
from piase_gym.core.text_encoding import HINT_CODE, hash_text
from piase_gym.errors import GenerationError
from piase_gym.kernels import direct, readable
from piase_gym.statics import Static
from piase_gym.worlds.array_world import ArrayWorld, Batch, C, F
from piase_gym.worlds.stepping import Kernels


@functools.lru_cache(maxsize=64)
def codes_of(outcome_of: Sequence[Outcome]) -> NDArray[np.uint8]:
    """Return the index in `OUTCOMES` of what each event means, of all that fit into a byte."""
    codes = np.zeros(256, np.uint8)
    codes[: len(outcome_of)] = [OUTCOMES.index(outcome) for outcome in outcome_of]
    return codes


class KernelWorld(ArrayWorld[C, F]):
    """An array world around the kernels of `stepping`. Set `k` before ``super().__init__``.

    Attributes:
        k: What the kernels are compiled for.
    """

    kernels: ClassVar[Kernels]
    k: Static
    _step: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave machine code behind when the world is copied or pickled."""
        return {**super().__getstate__(), "_step": None}

    def static_of(self, batch: Batch) -> Static:
        """Return what the kernels of a batch are compiled for; its tables may have changed."""
        return self.k

    def reset_batch(self, batch: Batch, which: NDArray[np.int64]) -> int:
        """Start the next episode of some environments."""
        where = *batch.records(), self.static_of(batch)
        faults = int(self.kernels.reset(*where, which, *batch.flat()))
        batch.alive[which] = batch.states["alive"][which, : len(self.agents)]
        return faults

    def look_batch(self, batch: Batch) -> None:
        """Write vectors and masks again, after the records were replaced."""
        where = *batch.records(), self.static_of(batch)
        obs, masks, *_, events = batch.flat()
        self.kernels.look(*where, obs, masks, events)
        batch.alive[...] = batch.states["alive"][:, : len(self.agents)]

    def step_batch(self, batch: Batch, mode: int, focal: int, acts: NDArray[np.int32]) -> int:
        """Advance every environment by one step."""
        where = *batch.records(), self.static_of(batch)
        codes = codes_of(self.outcome_of)
        args = *where, mode, focal, acts, *batch.flat(), *batch.flat_told(), codes
        if batch.run is None:
            found = self.kernels.step(*args)
            batch.run = direct(self.kernels.step, *args)
        else:
            found = batch.run(*args)
        return int(found)

    def run_reset(self, seed: np.uint64) -> None:
        """Make a level; raise if the config does not allow one."""
        fault = self.kernels.reset_one(readable(self.one), self.k, seed)
        if fault:
            raise GenerationError(self.explain_fault(fault, self.config))

    def run_step(self) -> int:
        """Advance by one step."""
        if self._step is None:
            notable: int = self.kernels.step_one(readable(self.one), self.k)
            self._step = direct(self.kernels.step_one, self.one, self.k)
        else:
            notable = self._step(readable(self.one), self.k)
        return notable

    def refresh(self) -> None:
        """Rebuild what is derived from the canonical state, vectors and masks included."""
        self.kernels.refresh_one(readable(self.one), self.k)

    def explain_fault(self, fault: int, config: C) -> str:
        """Say why no level could be made; worlds whose levels can fail say more."""
        return f"{self.name}: no level can be made (fault {fault})"

    def give_hint(self, agent: int, hint: str | None) -> None:
        """Show a hint in the text and, hashed, in the vector."""
        super().give_hint(agent, hint)
        code = slice(agent * HINT_CODE, (agent + 1) * HINT_CODE)
        self.states["hint"][0, code] = hash_text(self.hints[agent])
        self.refresh()
