"""Agents join a simulation, pause, go on and leave (design document, section 4)."""

from __future__ import annotations

from typing import Any

from piase_gym.agents.base import Agent
from piase_gym.core.commands import Result
from piase_gym.core.events import Events
from piase_gym.core.rng import StreamId, stream_key
from piase_gym.envs.parallel import WorldParallelEnv
from piase_gym.simulation.agent_manager import AgentManager, SeatStatus
from piase_gym.simulation.summary import Tally


class Attendance:
    """The part of a `Simulation` that is about who takes part."""

    world_env: WorldParallelEnv
    manager: AgentManager
    _tally: Tally
    _begun: bool

    @property
    def events(self) -> Events:
        """The bus on which everything is posted."""
        return self.world_env.events

    @property
    def agents(self) -> list[str]:
        """The agents in play that have not left."""
        status = self.manager.status
        return [n for n in self.world_env.agents if status[n] is not SeatStatus.LEFT]

    @property
    def world(self) -> Any:
        """The world."""
        return self.world_env.world

    def _note(self, control: str, agent: str | None = None, **data: Any) -> None:
        """Post what the engine does, as a line for logs."""
        if self.events.active:
            entry = {"engine": control, **data}
            self.events.post("log", agent, event_type="SYSTEM_MESSAGE", data=entry)

    def join(self, agent_id: str, agent: str | Agent = "random") -> None:
        """Let an agent enter the episode, and say who plays it.

        Raises:
            AgentError: If there is no such seat, or it is in play already.
            UnsupportedError: If the world has no `late_join`.
        """
        number = self.manager.names.index(self.manager.check(agent_id))
        self.world_env.runner.require_episode()
        self.world_env.world.enter(number)
        seed = self.world_env.runner.seed or 0
        self.manager.seat(agent_id, agent).reset(stream_key(seed, StreamId.PARTNER + number))
        self.manager.status[agent_id] = SeatStatus.ACTIVE
        self.world_env.restore(self.world_env.snapshot())  # the environments and logs take note
        self._note("join", agent_id)

    def suspend(self, agent_id: str) -> None:
        """Let an agent pause: its body does the world's no-op."""
        self.manager.move(agent_id, SeatStatus.SUSPENDED, (SeatStatus.ACTIVE,))
        self._note("suspend", agent_id)

    def resume(self, agent_id: str) -> None:
        """Let a suspended agent go on."""
        self.manager.move(agent_id, SeatStatus.ACTIVE, (SeatStatus.SUSPENDED,))
        self._note("resume", agent_id)

    def leave(self, agent_id: str) -> None:
        """Let an agent leave for good: it is truncated, and its body does nothing more."""
        self.manager.move(agent_id, SeatStatus.LEFT, (SeatStatus.ACTIVE, SeatStatus.SUSPENDED))
        if self._begun:
            self._tally.truncated[agent_id] = True
            self._tally.results[agent_id] = str(Result.ENDED)
        self._note("leave", agent_id)
