"""The Gymnasium face: one learner; the other agents are played by named partners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from piase_gym.config import WorldConfig, larger
from piase_gym.errors import ResetNeededError
from piase_gym.faces.actions import ActionReader, explain_failure
from piase_gym.faces.build import Partners, build_focal_driver, gym_partners, resolve
from piase_gym.faces.face import RENDER_MODES, WorldFace, check_render_mode
from piase_gym.faces.partners import no_acts
from piase_gym.faces.seeds import check_seed
from piase_gym.faces.views import Style, Viewer
from piase_gym.faces.window import Window


class GymEnv(WorldFace, gymnasium.Env[Any, Any]):
    """A world behind Gymnasium's API. Made by `gymnasium.make` or `gym_env`.

    The episode ends when the learner's does, whatever the partners do.

    Args:
        world: An id, a world's name or a config object.
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
        world: str | WorldConfig,
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
        self.driver = build_focal_driver(world, agent, partners, scenario, envelope, config)
        self.number = self.driver.own[0]
        self.agent = self.driver.world.agents[self.number]
        self._made_from = world, scenario, partners, config
        self._style = Style(view, mask, wording)
        self._look_at_world(actions)

    def _look_at_world(self, actions: str) -> None:
        """Make what depends on the world and its spaces."""
        made = self.driver.world
        self._reader = ActionReader(made, actions)
        self._viewer = Viewer(made, self._style, actions)
        self.observation_space = self._viewer.space()
        self.action_space = self._reader.space()
        self._acts = no_acts(made)

    def enlarge(self, envelope: Mapping[str, int]) -> None:
        """Make room for larger configs, before the first reset; see `WorldParallelEnv.enlarge`."""
        world, scenario, partners, config = self._made_from
        _, _, task = resolve(world, scenario, None, config)
        made = self.driver.world
        names = made.config.names(larger(made.config, made.envelope, envelope).envelope.agents)
        seats = gym_partners(names, task, partners, self.agent)
        new = {name: seat for name, seat in seats.items() if name not in made.agents}
        self.driver.enlarge(envelope, new)
        self._look_at_world(self._reader.kind)

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
        explain_failure(info, driver.world, me, action)
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

    def close(self) -> None:
        """Give back resources; closing twice does no harm."""
        if self._window is not None:
            self._window.close()
        self.driver.close()

    def give_hint(self, hint: str | None, agent: str | None = None) -> None:
        """Show a hint to the learner until the episode ends."""
        self.driver.require_episode()
        self._hint(self._number(agent), hint)

    def _number(self, agent: str | None) -> int:
        """Return the number of the learner, or of a named agent."""
        return self.number if agent is None else self.driver.number(agent)


def gym_env(world: str | WorldConfig, **kwargs: Any) -> GymEnv:
    """Make a world as a Gymnasium Env without the registry; see `GymEnv` for the arguments."""
    return GymEnv(world, **kwargs)
