"""What the seed interfaces have in common: how they are made, and what piase_gym adds to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from piase_gym.commands import Command, Misread
from piase_gym.errors import ConfigError
from piase_gym.events import Events
from piase_gym.faces.build import Name, build_driver
from piase_gym.faces.driver import Driver
from piase_gym.faces.partners import Partners, to_act
from piase_gym.faces.perceiving import read_command_model
from piase_gym.faces.seats import Act
from piase_gym.faces.sequential import SequentialEngine
from piase_gym.models import ActionCommand, ActionResult
from piase_gym.world import Facts, World

AnyCommand = ActionCommand | Mapping[str, Any] | Command
"""What can be submitted as a command: the model, a mapping of its fields, or the inner form."""


class SeedFace:
    """Base of the interfaces of the seed documents: one call at a time, agents by name.

    Args:
        world: A world, an id or a config object, as for `piase_gym.parallel_env`; or another seed
            face, with which this one then shares the episode.
        partners: Policies for agents that the caller does not play, by agent.
        scenario: A scenario's name or path.
        envelope: The largest sizes that later configs may have.
        wording: The dialect of texts, ``"canonical"``, or ``"native"`` where the world has it.
        config: Fields of the world's config.

    Raises:
        UnknownNameError, ConfigError, EnvelopeError, AgentError: Each says what is wrong.
    """

    def __init__(
        self,
        world: Name | SeedFace,
        *,
        partners: Partners | None = None,
        scenario: object = None,
        envelope: object = None,
        wording: str | None = None,
        **config: Any,
    ) -> None:
        """Make the world, or share the one of another face."""
        if isinstance(world, SeedFace):
            given = {"partners": partners, "scenario": scenario, "envelope": envelope}
            given |= {"wording": wording, **config}
            more = [name for name, value in given.items() if value is not None]
            if more:
                raise ConfigError(f"{more[0]} cannot be set on a face that shares another's world")
            self.engine: SequentialEngine = world.engine
            return
        driver = build_driver(world, partners, scenario, envelope, config)
        self.engine = SequentialEngine(driver, wording or "canonical")

    # -- what is behind it ----------------------------------------------------------------

    @property
    def driver(self) -> Driver:
        """The driver of the world."""
        return self.engine.driver

    @property
    def world(self) -> World[Any, Any]:
        """The world behind the face."""
        return self.engine.driver.world

    @property
    def events(self) -> Events:
        """The events bus."""
        return self.engine.driver.events

    @property
    def unwrapped(self) -> Self:
        """The face itself, as wrappers of Gymnasium and PettingZoo have it."""
        return self

    @property
    def config(self) -> Any:
        """The config of the present episode."""
        return self.world.config

    @property
    def possible_agents(self) -> list[str]:
        """The agents that the caller plays."""
        return list(self.engine.seats)

    @property
    def agents(self) -> list[str]:
        """Those of them that are in play."""
        return self.engine.agents

    @property
    def seed(self) -> int | None:
        """The effective seed of the present episode; a reset with it brings the episode back."""
        return self.driver.seed

    @property
    def time_step(self) -> int:
        """How many ticks have happened in this episode, which is the number of the open one."""
        return self.driver.steps

    # -- what piase_gym adds --------------------------------------------------------------

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Any:
        """Start an episode.

        Args:
            seed: ``0..2**63-1``; without one, episodes go on deterministically from the last.
            options: ``config`` changes fields of the config, like `reconfigure`.
        """
        self.engine.reset(seed, options)

    def facts(self, agent_id: str) -> Facts:
        """Return what an agent may know now."""
        facts: Facts = self.world.facts(self.engine.seat(agent_id).number)
        return facts

    def commands(self, agent_id: str) -> list[Command]:
        """Return the legal commands of an agent now, as data."""
        return self.world.admissible(self.engine.seat(agent_id).number)

    def admissible_commands(self, agent_id: str) -> list[str]:
        """Return the legal commands of an agent now, as lines of text."""
        return [self.world.write(command) for command in self.commands(agent_id)]

    def instructions(self, agent_id: str) -> str:
        """Return the versioned prompt for an agent."""
        return self.world.instructions(self.engine.place(agent_id).number)

    def tools(self, agent_id: str) -> list[dict[str, Any]]:
        """Return the commands as JSON Schema tool calls."""
        return self.world.tools(self.engine.place(agent_id).number)

    def give_hint(self, agent_id: str, hint: str | None) -> None:
        """Show a hint to an agent until the episode ends."""
        self.world.give_hint(self.engine.seat(agent_id).number, hint)
        self.events.post("hint", agent_id, message=hint)

    def reconfigure(self, changes: Mapping[str, Any]) -> None:
        """Change fields of the config from the next reset on.

        Raises:
            ConfigError: If a field is unknown or not allowed.
            EnvelopeError: If the new config does not fit the envelope.
        """
        self.driver.reconfigure(changes)

    def snapshot(self) -> dict[str, Any]:
        """Return the state, open submissions included, as a JSON-able value."""
        return {**self.driver.snapshot(), "seats": self.engine.get_state()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take up a snapshot of this or another face."""
        self.engine.restore(snapshot)

    def digest(self) -> str:
        """Return 64 bits that stand for the state, as 16 hexadecimal digits."""
        self.driver.require_episode()
        return self.world.digest()

    def close(self) -> None:
        """Give back resources; closing twice does no harm."""
        self.driver.close()

    # -- for the faces --------------------------------------------------------------------

    def _submit(self, agent_id: str, command: AnyCommand) -> ActionResult:
        """Check a command that came as data, and submit it."""
        seat = self.engine.seat(agent_id)
        checked = read_command_model(command)
        act = to_act(self.world, seat.number, checked)
        assert isinstance(act, Command | Misread)
        return self.engine.submit(agent_id, act, checked.execution_priority or 0.0)

    def _submit_act(self, agent_id: str, act: Act) -> ActionResult:
        """Submit a command or a misread."""
        return self.engine.submit(agent_id, act)
