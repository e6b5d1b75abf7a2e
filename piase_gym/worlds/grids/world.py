"""What array worlds on grids share: their cells, entering late, and commands for walking."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box

from piase_gym.core.commands import MAX_LINE, Command, InvalidAction
from piase_gym.core.facts import C, F
from piase_gym.errors import AgentError, GenerationError
from piase_gym.worlds.array_world import ArrayWorld
from piase_gym.worlds.grids.moves import plain_line, walking_line, with_new_names


class GridArrayWorld(ArrayWorld[C, F]):
    """An array world whose agents stand on the cells of a grid."""

    let_in: ClassVar[Any] = None
    """The kernel that lets an agent enter a batch of one, in worlds with late_join."""
    cannot_enter: ClassVar[str] = ""
    """Why that kernel can fail."""

    @property
    def side(self) -> int:
        """Columns of the record's cells, which are at least those of the envelope."""
        return int(self.tables["side"][0])

    @property
    def noop(self) -> Command:
        """``stay``."""
        return Command("stay")

    def check_config(self, config: C) -> None:
        """Check the envelope, and that a level can be made."""
        super().check_config(config)
        if fault := self.make_level(self.new_single(config), 0):
            raise GenerationError(self.explain_fault(fault, config))

    def enter(self, agent: int) -> None:
        """Let an agent that has yet to enter do so now, at its start or near it."""
        if self.let_in is None:
            super().enter(agent)  # which says that nobody can
            return
        name = self.agents[agent]
        if agent >= self.config.agents:
            message = f"has no part in this config: agents={self.config.agents}"
        elif self.states["alive"][0, agent]:
            message = "is in play already"
        elif self.states["fate"][0, agent] or agent not in self.config.latecomers:
            message = "is done with this episode already"
        elif not self.states["alive"].any():
            message = "cannot enter: the episode is over"
        elif not self.let_in(self._one, agent):
            message = f"cannot enter: {self.cannot_enter}"
        else:
            self.refresh()
            return
        raise AgentError(f"agent {name!r} {message}")

    def _scene(self) -> Any:
        """Describe the state for the painters."""
        return self.modules.pictures.scene(self.states[0], self.side, self.config, self.agents)


class WalkingWorld(GridArrayWorld[C, F]):
    """A world on a grid whose agents walk in the frame of reference of the config."""

    @property
    def state_space(self) -> Box:
        """Every non-string fact of the world as int32; see `state`."""
        return Box(-1, 2**31 - 1, (self.state().size,), np.int32)

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a text action, or a synonym of a move."""
        found = super().read(agent, line)
        if isinstance(found, Command) or not isinstance(line, str) or len(line) > MAX_LINE:
            return found
        config: Any = self.config
        plain, heading = plain_line(line), int(self.states["heading"][0, agent])
        walking = walking_line(plain, config.frame, heading)
        return found if walking is None else super().read(agent, walking)

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        """Check a command that came as data; directions may have their old names."""
        config: Any = self.config
        return super().check(agent, with_new_names(command, config.frame))
