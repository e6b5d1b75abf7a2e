"""Where things lie in GridWorld's vectors and texts, for one config."""

from __future__ import annotations

import functools

from piase_gym.worlds.channel.symbols import ChannelForm
from piase_gym.worlds.grid_world.cells import AGENT, CELLS, HEADINGS, NAMES, OPAQUE
from piase_gym.worlds.grid_world.config import GridWorldConfig, GridWorldEnvelope
from piase_gym.worlds.grid_world.rules.memory import PLANES
from piase_gym.worlds.grid_world.rules.tables import frame_shape
from piase_gym.worlds.grid_world.state import SCALARS, vector_length
from piase_gym.worlds.grids.codes import TURNS

GRID_OFFSET = 64
"""Added to the goal's offsets if the whole grid is shown, to keep them positive."""
_HIDES = [NAMES[code] for code in OPAQUE]


class Form:
    """Where things lie in the vectors and texts of one config (with its envelope)."""

    world = "GridWorld"
    nouns = CELLS.nouns

    def __init__(self, config: GridWorldConfig) -> None:
        """Determine the layout from the config and its envelope."""
        envelope: GridWorldEnvelope = config.fixed_envelope()
        self.config = config
        self.whole_grid = config.observe == "grid"
        self.rows, self.columns = frame_shape(config, envelope)
        self.area = self.rows * self.columns
        self.names = config.names(envelope.agents)
        self.length = vector_length(envelope, self.rows, self.columns)
        self.status = bool(envelope.status)
        self.channel = ChannelForm(config, envelope)
        self.wide = envelope.wide
        self.sizes = envelope.width, envelope.height
        self.recall = PLANES * envelope.width * envelope.height * envelope.recall
        """How many bytes at the end of vectors hold what is remembered."""
        self.status_start = self.area + SCALARS
        self.frame = config.frame
        self.opaque = frozenset(() if config.see_through_walls else _HIDES)
        self.shown = self._visible_frame()
        turns = HEADINGS if self.whole_grid else TURNS
        turned = [f"{name} facing {turn}" for name in self.names for turn in turns]
        self.cell_names = (*(NAMES.get(code, "") for code in range(AGENT)), *turned)
        self.cell_codes = {name: code for code, name in enumerate(self.cell_names) if name}

    def _visible_frame(self) -> tuple[range, range]:
        """Return the rows and columns of the frame that can show anything under this config."""
        if self.whole_grid:
            return range(self.config.height), range(self.config.width)
        size, middle = self.config.window, self.columns // 2
        columns = range(middle - size // 2, middle + size // 2 + 1)
        return range(self.rows - size, self.rows), columns

    def own_cell(self, position: tuple[int, int]) -> tuple[int, int]:
        """Return the viewer's (row, column) in the frame."""
        if self.whole_grid:
            return position[1], position[0]
        return self.rows - 1, self.columns // 2

    def goal_bytes(self, goal: tuple[int, int] | None) -> tuple[int, int]:
        """Encode the goal's direction as two bytes; (0, 0) stands for no goal in sight."""
        if goal is None:
            return 0, 0
        if self.whole_grid:
            return goal[0] + GRID_OFFSET, goal[1] + GRID_OFFSET
        return goal[0] + 1, goal[1] + self.columns // 2 + 1

    def goal_of(self, first: int, second: int) -> tuple[int, int] | None:
        """Undo `goal_bytes`."""
        if first == 0 and second == 0:
            return None
        if self.whole_grid:
            return first - GRID_OFFSET, second - GRID_OFFSET
        return first - 1, second - self.columns // 2 - 1


@functools.lru_cache(maxsize=64)
def form_of(config: GridWorldConfig) -> Form:
    """Return the form of a config; for recent configs it is the same object each time."""
    return Form(config)
