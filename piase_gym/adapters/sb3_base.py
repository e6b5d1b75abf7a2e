"""The VecEnv of Stable-Baselines3 whose slots are the agents of several environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from piase_gym.core.rng import check_seed, spread_seeds
from piase_gym.core.snapshot import DAMAGE
from piase_gym.envs.actions import to_indices
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.observations import ObservationStyle
from piase_gym.envs.pictures import SizeFitter
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.envs.window import Window
from piase_gym.errors import (
    ActionError,
    ConfigError,
    MissingExtraError,
    SnapshotError,
    UnsupportedError,
    require_known,
)

if TYPE_CHECKING:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import tile_images
else:
    try:
        from stable_baselines3.common.monitor import Monitor
        from stable_baselines3.common.vec_env import VecEnv
        from stable_baselines3.common.vec_env.base_vec_env import tile_images
    except ModuleNotFoundError as error:
        raise MissingExtraError("sb3_vec", "train") from error

RENDER_MODES = ("rgb_array", "human")
"""How SB3 can draw slots."""


@dataclass(slots=True)
class VecStep:
    """What a step (or a reset) leaves in every slot, as arrays (envs, agents, ...).

    Attributes:
        shown: Observations to go on from.
        alive: Which agents are in play.
        rewards, terminated, truncated, won: What the step brought.
        ended: Which environments have been reset within the step, shape (envs,).
        last: Observations before that reset.
    """

    shown: NDArray[Any]
    alive: NDArray[np.bool_]
    rewards: NDArray[Any]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    won: NDArray[np.bool_]
    ended: NDArray[np.bool_]
    last: NDArray[Any]


class AgentVecEnv(VecEnv):
    """Several environments as an SB3 VecEnv with parameters shared by all agents.

    Slot ``e * agents + a`` is agent a of environment e. When an agent ends before the others, its
    slot goes on with zeros for observations, no reward and a mask that allows something, until the
    environment resets; it begins in the same way if its agent enters after the reset. To the
    learner such a stretch is an episode of its own; it has no ``episode`` and ``is_success`` in its
    infos, so it does not count in SB3's statistics.
    """

    def __init__(
        self,
        envs: int,
        agents: int,
        seen: Space[Any],
        acts: Space[Any],
        render_mode: str | None,
        infos: str = "full",
    ) -> None:
        """Keep the sizes and spaces.

        Raises:
            ConfigError: If there is no such render mode here, or no such infos.
        """
        self._style = ObservationStyle("vector", infos=infos)
        self._style.check()
        if infos == "mask" and not isinstance(acts, Discrete):
            raise ConfigError("continuous actions have no masks; allowed: infos='full', 'none'")
        if render_mode is not None:
            require_known("render_mode", render_mode, RENDER_MODES)
        self._envs, self._agents = envs, agents
        self._seed: int | None = None
        self._actions: NDArray[Any] = np.zeros(0)
        self.render_mode = render_mode
        self._window = Window() if render_mode == "human" else None
        self._pictures = SizeFitter()
        super().__init__(envs * agents, seen, acts)
        self.metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 8}
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)
        self._playing = np.zeros(self.num_envs, np.bool_)

    # -- what the two kinds do in their own way -------------------------------------------

    @property
    def runners(self) -> Sequence[BatchEnv | EpisodeRunner]:
        """What runs the episodes: a batch, or a runner for each environment."""
        raise NotImplementedError

    def _reset_all(self, seed: int | None) -> tuple[NDArray[Any], NDArray[np.bool_], list[int]]:
        """Start all episodes; return observations, which agents are in play, and the seeds."""
        raise NotImplementedError

    def _step_all(self, actions: NDArray[Any]) -> VecStep:
        """Let everyone act once, actions (envs, agents, ...)."""
        raise NotImplementedError

    def _masks(self) -> NDArray[Any] | None:
        """Return the masks (envs, agents, actions), or None where there are none."""
        raise NotImplementedError

    def _draw(self, env: int) -> Any:
        """Draw an environment."""
        raise NotImplementedError

    def _save(self) -> Any:
        """Return the environments as a JSON-serializable value."""
        raise NotImplementedError

    def _load(self, kept: Any) -> NDArray[np.bool_]:
        """Restore what `_save` returned; return which agents are in play."""
        raise NotImplementedError

    # -- what SB3 asks for ----------------------------------------------------------------

    def set_options(self, options: Any = None) -> None:
        """Refuse options of resets: slots have none.

        Raises:
            UnsupportedError: If there are any.
        """
        if options:
            raise UnsupportedError(
                "slots take no options at a reset; make the VecEnv with the config, or give it a "
                "batch_env, and call its reconfigure"
            )
        super().set_options(None)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the next reset: environment e gets ``seed + e``.

        Raises:
            ConfigError: If it is no seed.
        """
        seeds = spread_seeds(None if seed is None else check_seed(seed), self._envs)
        self._seed = seeds[0]
        return seeds

    def reset(self) -> NDArray[Any]:
        """Start all episodes and return observations (slots, length)."""
        shown, alive, seeds = self._reset_all(self._seed)
        self._seed = None
        self._returns[:], self._lengths[:] = 0.0, 0
        self._playing = alive.reshape(-1)
        self.reset_infos = self._rows()
        if self._style.full:
            for row, seed in zip(self.reset_infos, np.repeat(seeds, self._agents), strict=True):
                row["seed"] = int(seed)
        return self._flat(shown)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions, one per slot."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """Let everyone act; return observations, rewards, dones and infos by slot."""
        given = self._checked(self._actions)
        found = self._step_all(given.reshape(self._envs, self._agents, *given.shape[1:]))
        entered = found.alive.reshape(-1) & ~self._playing  # their wait is over
        dones = (found.terminated | found.truncated | found.ended[:, None]).reshape(-1) | entered
        rewards = found.rewards.reshape(-1)
        self._returns += rewards
        self._lengths += 1
        rows = self._rows()
        for slot in np.flatnonzero(dones).tolist():
            rows[slot].update(self._end(slot, found))
        self._returns[dones], self._lengths[dones] = 0.0, 0
        self._playing = found.alive.reshape(-1)
        shown = self._flat(found.shown)
        if not self._playing.all():  # who ended in this step has its last observation in the infos
            shown = np.where(self._playing.reshape(-1, *[1] * (shown.ndim - 1)), shown, 0)
        return shown, rewards.astype(np.float32), dones, rows

    def _rows(self) -> list[dict[str, Any]]:
        """Return what the infos of every slot have in any step."""
        if self._style.infos == "mask":
            return [{"action_mask": mask} for mask in self.action_masks()]
        return [{} for _ in range(self.num_envs)]

    def _checked(self, actions: Any) -> NDArray[Any]:
        """Return the actions of all slots as an array.

        Raises:
            ActionError: If it is not one action a slot.
        """
        if isinstance(self.action_space, Discrete):
            return to_indices(actions, (self.num_envs,))
        wanted = (self.num_envs, *(self.action_space.shape or ()))
        if np.shape(actions) != wanted:
            message = f"arrays of shape {wanted}, not {np.shape(actions)}"
            raise ActionError(f"actions are {message}")
        return np.asanyarray(actions)

    def _end(self, slot: int, found: VecStep) -> dict[str, Any]:
        """Return the infos of a slot whose episode, or whose wait, is over."""
        env, agent = divmod(slot, self._agents)
        last = found.last if found.ended[env] else found.shown
        if not self._playing[slot]:
            last = np.zeros_like(last)
        bootstrapped = not self.runners[0].world.tells_limits
        row: dict[str, Any] = {
            "terminal_observation": last[env, agent].copy(),
            "TimeLimit.truncated": bootstrapped and bool(found.truncated[env, agent]),
        }
        if not self._style.full:
            return row
        row["won"] = won = bool(found.won[env, agent])
        if self._playing[slot]:
            row["is_success"] = won
            row["episode"] = {"r": float(self._returns[slot]), "l": int(self._lengths[slot])}
        return row

    def _flat(self, shown: NDArray[Any]) -> NDArray[Any]:
        """Return (envs, agents, length) as (slots, length)."""
        return shown.reshape(self.num_envs, *shown.shape[2:])

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the masks of all slots, shape (slots, actions)."""
        masks = self._masks()
        if masks is None:
            raise AttributeError("continuous actions have no masks")
        return masks.reshape(self.num_envs, -1).astype(np.bool_)

    def snapshot(self) -> dict[str, Any]:
        """Return the environments and the running statistics as a JSON-serializable value."""
        counts = {"returns": self._returns.tolist(), "lengths": self._lengths.tolist()}
        return {"envs": self._save(), **counts}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot of as many environments of the same config.

        Raises:
            SnapshotError: If it is of something else, or damaged.
        """
        try:
            returns = np.array(snapshot["returns"], np.float64)
            lengths = np.array(snapshot["lengths"], np.int64)
            envs = snapshot["envs"]
        except DAMAGE as error:
            raise SnapshotError(f"this snapshot is damaged: {error!r:.200}") from None
        if not returns.shape == lengths.shape == self._returns.shape:
            raise SnapshotError(f"this snapshot is not one of {self.num_envs} slots")
        self._playing = self._load(envs).reshape(-1)
        self._returns, self._lengths = returns, lengths

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Answer ``action_masks``, which sb3-contrib's MaskablePPO asks for slot by slot."""
        if method_name != "action_masks":
            raise AttributeError(f"slots have no method {method_name!r}")
        return list(self.action_masks()[list(self._get_indices(indices))])

    def has_attr(self, attr_name: str) -> bool:
        """Return whether slots have an attribute."""
        if attr_name == "action_masks":
            return isinstance(self.action_space, Discrete)
        return attr_name == "render_mode"

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of each slot."""
        slots = list(self._get_indices(indices))
        if attr_name == "action_masks" and self.has_attr(attr_name):
            return [lambda slot=slot: self.action_masks()[slot] for slot in slots]
        if attr_name in ("render_mode", "spec"):
            return [getattr(self, attr_name, None)] * len(slots)
        raise AttributeError(f"slots have no attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: slots are rows of arrays."""
        raise AttributeError(f"slots have no attribute {attr_name!r} that can be set")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Say that slots do what `Monitor` does, if infos tell of episodes.

        SB3's ``evaluate_policy`` then takes those episodes; otherwise it would take waits for some.
        """
        told = wrapper_class is Monitor and self._style.full
        return [told for _ in self._get_indices(indices)]

    def render(self, mode: str | None = None) -> NDArray[np.uint8] | None:
        """Draw all environments, tiled, as one picture, or in a window (``human``)."""
        if (mode or self.render_mode) != "human":
            return super().render(mode)
        picture = tile_images(self.get_images())
        self._window = self._window or Window()
        self._window.show(np.asarray(picture, np.uint8), "sb3_vec", self.metadata["render_fps"])
        return None

    def close(self) -> None:
        """Close the window."""
        if self._window is not None:
            self._window.close()

    def get_images(self) -> Sequence[NDArray[np.uint8]]:
        """Return a picture of every environment (once each, not once per slot)."""
        return self._pictures.fit([self._draw(env) for env in range(self._envs)])
