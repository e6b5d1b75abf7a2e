"""Stable-Baselines3: every agent of every environment as one slot of a VecEnv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.adapters.common import Source, own_face, require_vector
from piase_gym.config import WorldConfig
from piase_gym.errors import ConfigError, MissingExtraError
from piase_gym.faces.batch import BatchEnv, batch_env
from piase_gym.faces.build import Partners

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv
else:
    try:
        from stable_baselines3.common.vec_env import VecEnv
    except ModuleNotFoundError as error:
        raise MissingExtraError("sb3_vec", "train") from error


class Sb3BatchVec(VecEnv):
    """A batch as an SB3 VecEnv with parameters shared by all agents.

    Slot ``e * agents + a`` is agent a of environment e. When an agent ends before the others, its
    slot goes on with zeros for observations, no reward and a mask for the no-op, until the
    environment resets. To the learner that stretch is an episode of its own; it has no
    ``episode`` and ``is_success`` in its infos, so it does not count in SB3's statistics.
    """

    def __init__(self, batch: BatchEnv) -> None:
        """Put the VecEnv on a batch with reset in the same step."""
        self.batch = batch
        self._agents = len(batch.agents)
        self._seed: int | None = None
        self._actions: NDArray[Any] = np.zeros(0)
        self.metadata: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 8}
        self.render_mode = "rgb_array"
        super().__init__(batch.num_envs * self._agents, batch.observation_space, batch.action_space)
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)
        self._playing = np.zeros(self.num_envs, np.bool_)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the next reset: environment e gets ``seed + e``."""
        self._seed = seed
        return [None if seed is None else seed + e for e in range(self.batch.num_envs)]

    def reset(self) -> NDArray[np.uint8]:
        """Start all episodes and return observations (slots, length)."""
        shown, infos = self.batch.reset(self._seed)
        self._seed = None
        self._returns[:], self._lengths[:] = 0.0, 0
        self._playing = infos["alive"].reshape(-1)
        seeds = infos["seed"].repeat(self._agents).tolist()
        self.reset_infos = [{"seed": value} for value in seeds]
        return self._flat(shown)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions, one a slot."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """Let everyone act; return observations, rewards, dones and infos by slot."""
        batch = self.batch
        acts = np.asarray(self._actions).reshape(batch.num_envs, self._agents)
        shown, rewards, terminated, truncated, infos = batch.step(acts)
        ended = infos["_final_obs"][:, None]
        dones = (terminated | truncated | ended).reshape(-1)
        rows: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        cut, won = truncated.reshape(-1), terminated.reshape(-1)
        earned = rewards.reshape(-1)
        self._returns += earned
        self._lengths += 1
        for slot in np.flatnonzero(dones):
            env, agent = divmod(int(slot), self._agents)
            last = infos["final_obs"] if infos["_final_obs"][env] else shown
            rows[slot] = {
                "terminal_observation": last[env, agent].copy(),
                "TimeLimit.truncated": bool(cut[slot]),
                "won": bool(won[slot]),
            }
            if self._playing[slot]:
                rows[slot] |= self._statistics(slot, bool(won[slot]))
        self._returns[dones], self._lengths[dones] = 0.0, 0
        self._playing = infos["alive"].reshape(-1)
        return self._flat(shown), earned.astype(np.float32), dones, rows

    def _statistics(self, slot: int, won: bool) -> dict[str, Any]:
        """Return what SB3 keeps statistics of, for an episode that has ended."""
        told = {"r": float(self._returns[slot]), "l": int(self._lengths[slot])}
        return {"is_success": won, "episode": told}

    def snapshot(self) -> dict[str, Any]:
        """Return the batch and the running statistics as a JSON-able value."""
        counts = {"returns": self._returns, "lengths": self._lengths}
        return {"batch": self.batch.snapshot(), **{k: v.tolist() for k, v in counts.items()}}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take up a snapshot of a batch of the same size and config.

        Raises:
            SnapshotError: If it is of something else, or damaged.
        """
        self.batch.restore(snapshot["batch"])
        self._returns[:], self._lengths[:] = snapshot["returns"], snapshot["lengths"]
        self._playing = self.batch.alive().reshape(-1)

    def _flat(self, shown: NDArray[Any]) -> NDArray[Any]:
        """Return (envs, agents, length) as (slots, length)."""
        return shown.reshape(self.num_envs, -1)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the masks of all slots, shape (slots, actions)."""
        return self.batch.masks().reshape(self.num_envs, -1).astype(np.bool_)

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Answer ``action_masks``, which sb3-contrib's MaskablePPO asks for slot by slot."""
        if method_name != "action_masks":
            raise AttributeError(f"slots of a batch have no method {method_name!r}")
        return list(self.action_masks()[list(self._get_indices(indices))])

    def has_attr(self, attr_name: str) -> bool:
        """Tell whether slots have an attribute."""
        return attr_name in ("action_masks", "render_mode")

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of each slot."""
        slots = list(self._get_indices(indices))
        if attr_name == "action_masks":
            return [lambda slot=slot: self.action_masks()[slot] for slot in slots]
        if attr_name in ("render_mode", "spec"):
            return [getattr(self, attr_name, None)] * len(slots)
        raise AttributeError(f"slots of a batch have no attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: the slots of a batch are rows of arrays."""
        raise AttributeError(f"slots of a batch have no attribute {attr_name!r} that can be set")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Say that no slot is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return a picture of every environment (once each, not once a slot)."""
        return [self.batch.draw(slot) for slot in range(self.batch.num_envs)]

    def close(self) -> None:
        """Give back memory."""
        self.batch.close()


def sb3_vec(
    env: Source,
    num_envs: int = 8,
    *,
    view: str = "vector",
    partners: Partners | None = None,
    **config: Any,
) -> VecEnv:
    """Make an SB3 VecEnv of an array world, with parameters shared by all of the caller's agents.

    Args:
        env: A world, an id, a config, or a ParallelEnv with ``view="vector"`` to take config and
            partners from.
        num_envs: How many environments; there are ``num_envs`` times agents slots.
        view: Always ``"vector"``; others are refused.
        partners: Policies for agents that the learner does not play.
        config: Fields of the world's config.

    Raises:
        ConfigError: If the view is another than ``"vector"``, or the ParallelEnv is wrapped.
        UnsupportedError: If the world has no batched kernel.

    Example:
        >>> vec = sb3_vec("piase/GridWorld-FourRooms-8x8-v0", num_envs=4)
        >>> vec.reset().shape
        (4, 65)
    """
    require_vector(view)
    if not isinstance(env, str | WorldConfig):
        face = own_face(env)
        if face is not env:
            raise ConfigError(
                "sb3_vec makes a batch from an environment's config, so what "
                f"{type(env).__name__} does would be lost; hand it the environment inside"
            )
        seated = {face.world.agents[i]: agent for i, agent in face.driver.partners.items()}
        env, partners = face.config, seated if partners is None else partners
    batch = batch_env(env, num_envs=num_envs, partners=partners, autoreset="same_step", **config)
    return Sb3BatchVec(batch)
