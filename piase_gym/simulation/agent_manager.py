"""Which agent plays which seat of a simulation, and whether it takes part now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from piase_gym.agents.base import Agent, require_distinct
from piase_gym.agents.policy_registry import make_agent
from piase_gym.core.rng import partner_seed
from piase_gym.errors import AgentError, suggest

if TYPE_CHECKING:
    from piase_gym.scenarios.schema import AgentPart
    from piase_gym.worlds.text_room.levels.story import AgentSetup

Agents = Mapping[str, "str | Agent"] | str | Agent | None


class AgentStatus(StrEnum):
    """Whether an agent takes part."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    LEFT = "left"


class AgentManager:
    """The agents of a simulation, by the names of their seats.

    Attributes:
        agents: Seat -> agent.
        status: Seat -> whether it takes part.
    """

    def __init__(self, names: tuple[str, ...], agents: Agents) -> None:
        """Seat the agents: a policy for all, or one for each; seats not named play at random.

        Raises:
            AgentError: If a seat does not exist.
            UnknownNameError: If a policy does not exist.
            ConfigError: If one agent object is to play several seats.
        """
        self.names = names
        self.agents: dict[str, Agent] = {}
        self.status = dict.fromkeys(names, AgentStatus.ACTIVE)
        given = agents if isinstance(agents, Mapping) else {}
        usual = "random" if agents is None or isinstance(agents, Mapping) else agents
        for name in given:
            self.check(name)
        for name in names:
            self.seat(name, given.get(name, usual))

    def check(self, name: str) -> str:
        """Return the name of a seat, or raise `AgentError`."""
        if name not in self.names:
            raise AgentError(f"there is no agent {name!r}; {suggest(name, self.names)}")
        return name

    def seat(self, name: str, agent: str | Agent) -> Agent:
        """Let a policy play a seat from now on.

        Raises:
            AgentError: If there is no such seat.
            ConfigError: If the agent plays another seat.
        """
        others = [who for seat, who in self.agents.items() if seat != self.check(name)]
        require_distinct((*others, agent))
        made = make_agent(agent)
        made.set_id(name)
        self.agents[name] = made
        return made

    def configure(self, setups: Iterable[AgentPart | AgentSetup]) -> None:
        """Give agents the settings that a scenario has for them."""
        for setup in setups:
            agent = self.agents.get(setup.agent_id)
            settings = dict(setup.initial_agent_config)
            if setup.prompt_reference is not None:
                settings["prompt_reference"] = setup.prompt_reference
            if agent is not None and settings:
                agent.configure(settings)

    def begin(self, seed: int) -> None:
        """Begin an episode: every agent takes part again, with random draws of its own."""
        self.status = dict.fromkeys(self.names, AgentStatus.ACTIVE)
        for number, name in enumerate(self.names):
            self.agents[name].reset(partner_seed(seed, number))

    def move(self, name: str, status: AgentStatus, allowed: tuple[AgentStatus, ...]) -> None:
        """Change whether an agent takes part.

        Raises:
            AgentError: If it does not exist, or its status does not allow the change.
        """
        now = self.status[self.check(name)]
        if now not in allowed:
            words = " or ".join(allowed)
            raise AgentError(f"agent {name!r} is {now}; it must be {words} to become {status}")
        self.status[name] = status

    def active(self, playing: list[str]) -> dict[int, Agent]:
        """Return the agents among `playing` that are asked, by number."""
        return {
            self.names.index(name): self.agents[name]
            for name in playing
            if self.status[name] is AgentStatus.ACTIVE
        }

    def states(self) -> dict[str, Any]:
        """Return the state of every agent, as a JSON-able value."""
        return {name: agent.get_state() for name, agent in self.agents.items()}
