"""What the document interfaces have in common: how they are made, and what piase_gym adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from piase_gym.core.commands import Command, InvalidAction
from piase_gym.core.models import ActionCommand, ActionResult
from piase_gym.envs.actions import decode_answer
from piase_gym.envs.arguments import Name, build_runner
from piase_gym.envs.base import WorldAccess
from piase_gym.envs.partners import Partners
from piase_gym.errors import ConfigError
from piase_gym.interfaces.perceptions import read_command_model
from piase_gym.interfaces.turns import TurnEngine

AnyCommand = ActionCommand | Mapping[str, Any] | Command
"""What can be submitted as a command: the model, a mapping of its fields, or a `Command`."""


class WorldInterface(WorldAccess):
    """Base of the interfaces of the PiaSE documents: one call at a time, agents by name.

    Args:
        world: A world, an id or a config object, as for `piase_gym.parallel_env`; or another
            interface, with which this one then shares the episode.
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
        world: Name | WorldInterface,
        *,
        partners: Partners | None = None,
        scenario: object = None,
        envelope: object = None,
        wording: str | None = None,
        **config: Any,
    ) -> None:
        """Make the world, or share the one of another environment."""
        if isinstance(world, WorldInterface):
            given = {"partners": partners, "scenario": scenario, "envelope": envelope}
            given |= {"wording": wording, **config}
            more = [name for name, value in given.items() if value is not None]
            if more:
                raise ConfigError(
                    f"{more[0]} cannot be set on an environment that shares another's world"
                )
            self.engine: TurnEngine = world.engine
            self.runner = world.runner
            return
        self.runner = build_runner(world, partners, scenario, envelope, config)
        self.engine = TurnEngine(self.runner, wording or "canonical")

    # -- what is behind it ----------------------------------------------------------------

    @property
    def unwrapped(self) -> Self:
        """The environment itself, as in Gymnasium and PettingZoo."""
        return self

    @property
    def possible_agents(self) -> list[str]:
        """The agents that the caller plays."""
        return list(self.engine.records)

    @property
    def agents(self) -> list[str]:
        """Those of them that are in play."""
        return self.engine.agents

    @property
    def seed(self) -> int | None:
        """The effective seed of the present episode; a reset with it repeats the episode."""
        return self.runner.seed

    @property
    def time_step(self) -> int:
        """How many ticks have happened in this episode, which is the number of the open one."""
        return self.runner.steps

    # -- what piase_gym adds --------------------------------------------------------------

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Any:
        """Start an episode.

        Args:
            seed: ``0..2**63-1``; without one, episodes go on deterministically from the last.
            options: ``config`` changes fields of the config, like `reconfigure`.
        """
        self.engine.reset(seed, options)

    def _number(self, agent: str | None) -> int:
        """Return the number of one of the caller's agents."""
        return self.engine.find(agent).number

    def give_hint(self, agent: str, hint: str | None) -> None:
        """Show a hint to an agent until the episode ends."""
        self._hint(agent, hint)

    def snapshot(self) -> dict[str, Any]:
        """Return the state, with open submissions, as a JSON-serializable value."""
        return {**self.runner.snapshot(), "seats": self.engine.get_state()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot of this or another environment."""
        self.engine.restore(snapshot)

    # -- for the interfaces ---------------------------------------------------------------

    def _submit(self, agent_id: str, command: AnyCommand) -> ActionResult:
        """Check a command that came as data, and submit it."""
        record = self.engine.record(agent_id)
        checked = read_command_model(command)
        act = decode_answer(self.world, record.number, checked)
        assert isinstance(act, Command | InvalidAction)
        priority, sequence = checked.execution_priority, checked.sequence_id
        return self.engine.submit(agent_id, act, priority, sequence)
