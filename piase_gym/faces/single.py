"""The Gymnasium face: one learner; the other agents are played by named partners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from piase_gym.commands import Command
from piase_gym.config import WorldConfig
from piase_gym.errors import ResetNeededError
from piase_gym.events import Events
from piase_gym.faces.actions import ActionReader
from piase_gym.faces.build import Partners, build_focal_driver
from piase_gym.faces.driver import check_seed, no_acts
from piase_gym.faces.parallel import RENDER_MODES, check_render_mode
from piase_gym.faces.views import Style, Viewer
from piase_gym.faces.window import Window
from piase_gym.world import Facts, World


class GymEnv(gymnasium.Env[Any, Any]):
    """A world behind Gymnasium's API. Made by `gymnasium.make` or `gym_env`.

    The episode ends when the learner's does, whatever the partners do.

    Args:
        task: An id, a world's name or a config object.
        agent: Which agent the learner plays; default the first.
        view: ``"vector"``, ``"text"`` or ``"both"``.
        actions: ``"discrete"``, ``"text"``, or ``"continuous"`` where the world has it.
        mask: ``None`` (the mask is in the infos and in `action_masks`) or ``"obs"``.
        wording: The dialect of texts, ``"canonical"``, or ``"native"`` where the world has it.
        render_mode: ``"human"``, ``"ansi"`` or ``"rgb_array"``.
        partners: Policies for the other agents by name; default: the id's, else ``random``.
        scenario: A scenario's name or path.
        envelope: The largest sizes that later configs may have.
        config: Fields of the world's config.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": 8,
    }

    def __init__(
        self,
        task: str | WorldConfig,
        *,
        agent: str | None = None,
        view: str = "vector",
        actions: str = "discrete",
        mask: str | None = None,
        wording: str = "canonical",
        render_mode: str | None = None,
        partners: Partners | None = None,
        scenario: object = None,
        envelope: object = None,
        **config: Any,
    ) -> None:
        """Make the world and seat the partners."""
        self.render_mode = check_render_mode(render_mode)
        self._window = Window() if render_mode == "human" else None
        self.driver = build_focal_driver(task, agent, partners, scenario, envelope, config)
        world = self.driver.world
        self.number = self.driver.own[0]
        self.agent = world.agents[self.number]
        self._reader = ActionReader(world, actions)
        self._viewer = Viewer(world, Style(view, mask, wording), actions)
        self.observation_space = self._viewer.space()
        self.action_space = self._reader.space()
        self._acts = no_acts(world)

    @property
    def world(self) -> World[Any, Any]:
        """The world behind the face."""
        return self.driver.world

    @property
    def events(self) -> Events:
        """The events bus."""
        return self.driver.events

    @property
    def config(self) -> Any:
        """The config of the present episode."""
        return self.driver.world.config

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see `WorldParallelEnv.reset`."""
        self.driver.reset(seed, options)
        super().reset(seed=None if seed is None else check_seed(seed))
        self._viewer.renew()
        self.driver.wait_for_entry()
        masks = self.driver.world.masks() if self._reader.count else []
        info: dict[str, Any] = {"seed": self.driver.seed}
        if masks:
            info["action_mask"] = masks[self.number]
        if self.render_mode == "human":
            self.render()
        return self._viewer.show(masks)[self.number], info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Let the learner and the partners act once.

        Returns:
            Observation, reward, terminated, truncated and info; see `WorldParallelEnv.step`.

        Raises:
            ActionError: If the action is not in the space; nothing has happened then.
            ResetNeededError: Before the first reset and after the end of an episode.
        """
        driver, me = self.driver, self.number
        if not driver.played:
            driver.require_episode()
            raise ResetNeededError("the episode is over; call reset() before the next step")
        acts = self._acts.copy()
        acts[me] = self._reader.read(me, action)
        tick = driver.step(acts)
        masks = driver.world.masks() if self._reader.count else []
        info: dict[str, Any] = {"outcome": tick.outcomes[me]}
        if masks:
            info["action_mask"] = masks[me]
        info.update(tick.notes.get(me, {}))
        if tick.terminated[me] or tick.truncated[me]:
            info["result"] = driver.world.result(me)
        shown = self._viewer.show(masks)[me]
        driver.end_step(tick)
        if self.render_mode == "human":
            self.render()
        return shown, tick.rewards[me], tick.terminated[me], tick.truncated[me], info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the learner's mask as booleans, as sb3-contrib's MaskablePPO asks for it."""
        self.driver.require_episode()
        return self.driver.world.masks()[self.number].astype(np.bool_)

    def render(self) -> Any:
        """Draw the state: a string, an array of shape (height, width, 3), or a window."""
        self.driver.require_episode()
        if self.render_mode == "ansi":
            return self.world.ansi()
        if self.render_mode == "rgb_array":
            return self.world.rgb()
        if self._window is not None:
            self._window.show(self.world.rgb(), self.world.name, self.metadata["render_fps"])
        return None

    def close(self) -> None:
        """Give back resources; closing twice does no harm."""
        if self._window is not None:
            self._window.close()
        self.driver.close()

    def facts(self, agent: str | None = None) -> Facts:
        """Return what the learner (or another agent) may know now."""
        self.driver.require_episode()
        facts: Facts = self.world.facts(self._number(agent))
        return facts

    def admissible_commands(self, agent: str | None = None) -> list[str]:
        """Return the learner's legal commands now, as lines of text."""
        self.driver.require_episode()
        commands: list[Command] = self.world.admissible(self._number(agent))
        return [self.world.write(command) for command in commands]

    def instructions(self, agent: str | None = None) -> str:
        """Return the versioned prompt for the learner."""
        self.driver.require_open()
        return self.world.instructions(self._number(agent))

    def tools(self, agent: str | None = None) -> list[dict[str, Any]]:
        """Return the commands as JSON Schema tool calls."""
        self.driver.require_open()
        return self.world.tools(self._number(agent))

    def give_hint(self, hint: str | None, agent: str | None = None) -> None:
        """Show a hint to the learner until the episode ends."""
        self.driver.require_episode()
        number = self._number(agent)
        self.world.give_hint(number, hint)
        self.events.post("hint", self.world.agents[number], message=hint)

    def state(self) -> NDArray[Any]:
        """Return every non-string fact of the world as one array."""
        self.driver.require_episode()
        return self.world.state()

    def snapshot(self) -> dict[str, Any]:
        """Return the state, random streams and partners included, as a JSON-able value."""
        return self.driver.snapshot()

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take up a snapshot; the future is then the one it would have had."""
        self.driver.restore(snapshot)
        self._viewer.renew()

    def digest(self) -> str:
        """Return 64 bits that stand for the state, as 16 hexadecimal digits."""
        self.driver.require_episode()
        return self.world.digest()

    def reconfigure(self, changes: Mapping[str, Any]) -> None:
        """Change fields of the config from the next reset on; spaces stay as they are."""
        self.driver.reconfigure(changes)

    def _number(self, agent: str | None) -> int:
        """Return the number of the learner, or of a named agent."""
        return self.number if agent is None else self.driver.number(agent)


def gym_env(task: str | WorldConfig, **kwargs: Any) -> GymEnv:
    """Make a world as a Gymnasium Env without the registry; see `GymEnv` for the arguments."""
    return GymEnv(task, **kwargs)
