"""What the APIs over a world share: queries, rendering, and the state as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym import registry
from piase_gym.core.commands import Command
from piase_gym.core.events import Events
from piase_gym.core.world import Facts, World
from piase_gym.envs.config_changes import Modified
from piase_gym.envs.observations import ObservationBuilder
from piase_gym.envs.pictures import SizeFitter
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.envs.window import Window
from piase_gym.errors import UnsupportedError, require_known

RENDER_MODES = ("human", "ansi", "rgb_array")


def check_render_mode(mode: str | None) -> str | None:
    """Return the mode if it exists.

    Raises:
        ConfigError: If it does not.
    """
    if mode is not None:
        require_known("render_mode", mode, RENDER_MODES)
    return mode


class WorldAccess:
    """What every API over a world offers besides its own calls: queries, digests, configs.

    Queries take an agent's name; where there is one learner, the default is the learner.
    """

    runner: EpisodeRunner

    @property
    def world(self) -> World[Any, Any]:
        """The world behind the environment."""
        return self.runner.world

    @property
    def events(self) -> Events:
        """The event bus."""
        return self.runner.events

    @property
    def config(self) -> Any:
        """The config of the present episode."""
        return self.runner.world.config

    def _number(self, agent: str | None) -> int:
        """Return the number of an agent, or raise `AgentError`."""
        return self.runner.number(agent)

    def facts(self, agent: str | None = None) -> Facts:
        """Return what an agent may know now."""
        self.runner.require_episode()
        facts: Facts = self.world.facts(self._number(agent))
        return facts

    def commands(self, agent: str | None = None) -> list[Command]:
        """Return the legal commands of an agent now, as data."""
        self.runner.require_episode()
        found = self.world.admissible(self._number(agent))
        return [Command(verb, dict(given)) for verb, given in found]  # the world's own stay as is

    def admissible_commands(self, agent: str | None = None) -> list[str]:
        """Return the legal commands of an agent now, as lines of text."""
        self.runner.require_episode()
        return self.world.admissible_lines(self._number(agent))

    def expert_plan(self, agent: str | None = None) -> list[str]:
        """Return the commands with which an agent, acting alone, wins the rest of the episode.

        The world's oracle plans them with the whole state in view, whatever steps and energy are
        left; the list is empty if the agent cannot win alone.

        Raises:
            UnsupportedError: If the world has no oracle that plans, or it cannot under this config.
        """
        self.runner.require_episode()
        spec = self.runner.spec
        oracle = registry.load(spec.oracle, spec)(self.world) if spec.oracle else None
        plans = getattr(oracle, "plan", None)
        if plans is None:
            raise UnsupportedError(f"{spec.name} has no oracle that plans for one agent")
        if not getattr(oracle, "plans_hold", True):
            raise UnsupportedError(f"plans of {spec.name}'s oracle do not hold under this config")
        number, world = self._number(agent), self.world
        return [
            world.write(act) if isinstance(act, Command) else world.line_of(number, act)
            for act in plans(number) or ()
        ]

    def instructions(self, agent: str | None = None) -> str:
        """Return the versioned prompt for an agent."""
        self.runner.require_open()
        return self.world.instructions(self._number(agent))

    def tools(self, agent: str | None = None) -> list[dict[str, Any]]:
        """Return the commands as JSON Schema tool calls."""
        self.runner.require_open()
        return self.world.tools(self._number(agent))

    def _hint(self, agent: str | None, hint: str | None) -> None:
        """Show a hint to an agent until the episode ends."""
        self.runner.require_episode()
        number = self._number(agent)
        self.world.give_hint(number, hint)
        self.events.post("hint", self.world.agents[number], message=hint)

    def post_event(
        self, event_type: str, data: Mapping[str, Any] | None = None, agent: str | None = None
    ) -> None:
        """Post an event of one's own, such as ``("storm_begins", {"wind": 9})``.

        Subscribers to this kind hear it. Logs write it as a line, and replay leaves it alone.

        Args:
            event_type: A word of PiaAVT's vocabulary, which is the type of the line; or one's own
                word, which is its ``event`` (an ``ENVIRONMENT_EVENT_OCCURRED`` of kind ``posted``).
            data: Plain values that describe it.
            agent: The agent that it concerns; default: the whole environment.

        Raises:
            ConfigError: If the type is blank, data are no mapping, or they look like a line that
                logs have of their own.
            AgentError: If there is no such agent.
        """
        name = None if agent is None else self.world.agents[self._number(agent)]
        self.events.post_event(event_type, data, name)

    def digest(self) -> str:
        """Return 64 bits that stand for the state, as 16 hexadecimal digits.

        Raises:
            UnsupportedError: If the state is not known, as of some environments of one's own.
        """
        self.runner.require_episode()
        if not self.world.capabilities.digest:
            raise UnsupportedError(
                f"{self.world.name} does not tell its state, so it has no digest"
            )
        return self.world.digest()

    def reconfigure(self, changes: Mapping[str, Any]) -> None:
        """Change fields of the config from the next reset on; spaces stay as they are.

        Raises:
            ConfigError: If a field is unknown or not allowed.
            EnvelopeError: If the new config does not fit the envelope.
        """
        self.runner.reconfigure(changes)

    def modify(self, changes: Mapping[str, Any]) -> Modified:
        """Change config fields: at once those that may change within an episode, the rest later.

        The former are listed in `World.live_fields` and on the world's page. Such changes are
        logged and replayed, and stay for the episodes that follow.

        Returns:
            The fields that change: ``now`` has those that hold at once, ``waiting`` those that hold
            from the next reset on.

        Raises:
            ConfigError: If a field is unknown or not allowed; nothing has changed then.
            EnvelopeError: If the new config does not fit the envelope.
        """
        return self.runner.modify(changes)

    # -- hooks of the DSE document --------------------------------------------------------

    def adjust_difficulty(self, params: Mapping[str, Any]) -> Modified:
        """Make the world harder or easier, such as ``{"by": 0.1}``, as soon as allowed.

        Returns:
            The fields of the config that change, now or at the next reset; see `modify`.

        Raises:
            ConfigError: If there is no such parameter, or the value is not allowed.
            UnsupportedError: If it is an environment of one's own without this method.
        """
        return self.modify(self.world.adjusted(self._next_config, params))

    def introduce_element(self, element_config: Mapping[str, Any]) -> Modified:
        """Put something into the world, such as ``{"type": "wall", ...}``, as soon as allowed.

        Returns:
            The fields of the config that change, now or at the next reset; see `modify`.

        Raises:
            ConfigError: If there is no such element, or it cannot be put there.
            UnsupportedError: If it is an environment of one's own without this method.
        """
        return self.modify(self.world.introduced(self._next_config, element_config))

    def provide_indirect_hint(self, agent_id: str, hint: str) -> None:
        """Show words to an agent, in its text and its vector, until the episode ends."""
        self._hint(agent_id, hint)

    @property
    def _next_config(self) -> Any:
        """The config of the next episode."""
        return self.runner.next_config or self.world.base_config

    def close(self) -> None:
        """Release resources; closing twice does no harm."""
        self.runner.close()


class WorldEnv(WorldAccess):
    """What the environments of PettingZoo and Gymnasium have in common besides their APIs."""

    metadata: dict[str, Any]
    render_mode: str | None
    _builder: ObservationBuilder
    _window: Window | None
    _pictures: tuple[Any, SizeFitter] | None = None

    @property
    def view(self) -> str:
        """The view: ``both``, ``vector`` or ``text``."""
        return self._builder.view

    @property
    def dtype(self) -> str | None:
        """The type of vectors that was requested."""
        return self._builder.style.dtype

    def render(self) -> Any:
        """Draw the state: a string, an array of shape (height, width, 3), or a window.

        Arrays have the size of the first, as videos need, until the config changes.
        """
        self.runner.require_episode()
        if self.render_mode == "ansi":
            return self.world.ansi()
        if self.render_mode == "rgb_array":
            return self._picture()
        if self._window is not None:
            title = self.metadata.get("name", self.world.name)
            self._window.show(self.world.rgb(), title, self.metadata["render_fps"])
        return None

    def _picture(self) -> NDArray[np.uint8]:
        """Draw the state in the size of the first picture of this config."""
        config = self.world.config
        if self._pictures is None or self._pictures[0] != config:
            self._pictures = config, SizeFitter()
        return self._pictures[1].fit([self.world.rgb()])[0]

    def state(self) -> NDArray[Any]:
        """Return every non-string fact of the world as one array in `World.state_space`."""
        self.runner.require_episode()
        return self.world.state()

    def snapshot(self) -> dict[str, Any]:
        """Return the state, with random streams and partners, as a JSON-serializable value."""
        return self.runner.snapshot()

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot; the future is then the one that its state would have had."""
        self.runner.restore(snapshot)

    def close(self) -> None:
        """Release resources; closing twice does no harm."""
        if self._window is not None:
            self._window.close()
        self.runner.close()
