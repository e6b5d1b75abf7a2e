"""What is kept of a moment so that its texts can be written later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.mailbox import Letter
from piase_gym.worlds.physics_playground import facts as views
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.observe import text


class Kept(NamedTuple):
    """What one agent may know at one moment: a row of a table that never changes."""

    table: NDArray[np.int64]
    seat: int
    messages: tuple[Letter, ...]
    hint: str | None


@dataclass(frozen=True)
class RowTeller:
    """Writes the texts of one config from rows."""

    config: PhysicsPlaygroundConfig

    def __call__(self, kept: Kept, agent: int) -> str:
        """Write the text of an agent's row."""
        row = kept.table[kept.seat].tolist()
        facts = views.facts_of(row, views.layout_of(self.config), kept.messages, kept.hint)
        return text.text_of(facts, self.config)
