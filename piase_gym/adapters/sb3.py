"""Stable-Baselines3: every agent of every environment as one slot of a VecEnv."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from piase_gym.adapters.checks import Source, own_env, require_vector
from piase_gym.agents.base import Agent
from piase_gym.core.commands import RESULTS, Result
from piase_gym.core.config import WorldConfig
from piase_gym.core.rng import check_seed, spread_seeds
from piase_gym.core.snapshot import DAMAGE
from piase_gym.core.world import World
from piase_gym.envs.actions import to_actions
from piase_gym.envs.arguments import characters_of, resolve
from piase_gym.envs.batch import BatchEnv, Step, lone_learner
from piase_gym.envs.observations import ObservationStyle
from piase_gym.envs.partners import Partners, read_partners
from piase_gym.envs.pictures import SizeFitter
from piase_gym.envs.sync_batch import SyncBatch, sync_batch
from piase_gym.envs.window import Window
from piase_gym.errors import (
    ConfigError,
    MissingExtraError,
    SnapshotError,
    UnsupportedError,
    require_known,
)
from piase_gym.registry import load
from piase_gym.worlds.array_world import ArrayWorld, steps_in_batches

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
_WON = RESULTS.index(Result.WON)


class AgentVecEnv(VecEnv):
    """Several environments as an SB3 VecEnv with parameters shared by all agents.

    Slot ``e * agents + a`` is agent a of environment e. When an agent ends before the others, its
    slot goes on with zeros for observations, no reward and a mask that allows something, until the
    environment resets; it begins in the same way if its agent enters after the reset. To the
    learner such a stretch is an episode of its own; it has no ``episode`` and ``is_success`` in its
    infos, so it does not count in SB3's statistics.

    Attributes:
        batch: The environments, which reset in the same step.
    """

    def __init__(
        self,
        batch: BatchEnv | SyncBatch,
        render_mode: str | None = "rgb_array",
        infos: str = "full",
    ) -> None:
        """Build the VecEnv on environments that reset in the same step.

        Raises:
            ConfigError: If there is no such render mode here, or no such infos.
        """
        self._style = ObservationStyle("vector", infos=infos)
        self._style.check()
        acts: Any = batch.action_space
        if infos == "mask" and not isinstance(acts, Discrete):
            raise ConfigError("continuous actions have no masks; allowed: infos='full', 'none'")
        if render_mode is not None:
            require_known("render_mode", render_mode, RENDER_MODES)
        self.batch = batch
        self._agents = len(batch.agents)
        self._idle: Any = True
        """What the masks of agents that are not in play allow."""
        if isinstance(batch.world, ArrayWorld):
            self._idle = np.arange(acts.n) == batch.world.commands.index(batch.world.noop)
        self._seed: int | None = None
        self._actions: NDArray[Any] = np.zeros(0)
        self.render_mode = render_mode
        self._window = Window() if render_mode == "human" else None
        self._pictures = SizeFitter()
        super().__init__(batch.num_envs * self._agents, batch.observation_space, acts)
        self.metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 8}
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)
        self._playing = np.zeros(self.num_envs, np.bool_)

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
        seeds = spread_seeds(None if seed is None else check_seed(seed), self.batch.num_envs)
        self._seed = seeds[0]
        return seeds

    def reset(self) -> NDArray[Any]:
        """Start all episodes and return observations (slots, length)."""
        shown, _ = self.batch.reset(self._seed)
        self._seed = None
        self._returns[:], self._lengths[:] = 0.0, 0
        self._playing = self.batch.alive().reshape(-1)
        self.reset_infos = self._rows()
        if self._style.full:
            seeds = np.repeat(self.batch.seeds(), self._agents)
            for row, seed in zip(self.reset_infos, seeds, strict=True):
                row["seed"] = int(seed)
        return self._flat(shown)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions, one per slot."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """Let everyone act; return observations, rewards, dones and infos by slot."""
        given = to_actions(self.action_space, self._actions, (self.num_envs,))
        shape = (self.batch.num_envs, self._agents, *given.shape[1:])
        found = self.batch.step(given.reshape(shape))
        shown, earned, terminated, truncated, infos = found
        alive = self.batch.alive().reshape(-1)
        entered = alive & ~self._playing  # their wait is over
        dones = (terminated | truncated | infos["_final_obs"][:, None]).reshape(-1) | entered
        rewards = earned.reshape(-1)
        self._returns += rewards
        self._lengths += 1
        rows = self._rows()
        for slot in np.flatnonzero(dones).tolist():
            rows[slot].update(self._end(slot, found))
        self._returns[dones], self._lengths[dones] = 0.0, 0
        self._playing = alive
        shown = self._flat(shown)
        if not self._playing.all():  # who ended in this step has its last observation in the infos
            shown = np.where(self._playing.reshape(-1, *[1] * (shown.ndim - 1)), shown, 0)
        return shown, rewards.astype(np.float32), dones, rows

    def _rows(self) -> list[dict[str, Any]]:
        """Return what the infos of every slot have in any step."""
        if self._style.infos == "mask":
            return [{"action_mask": mask} for mask in self.action_masks()]
        return [{} for _ in range(self.num_envs)]

    def _end(self, slot: int, found: Step) -> dict[str, Any]:
        """Return the infos of a slot whose episode, or whose wait, is over."""
        env, agent = divmod(slot, self._agents)
        shown, _, _, truncated, infos = found
        last = infos["final_obs"] if infos["_final_obs"][env] else shown
        if not self._playing[slot]:
            last = np.zeros_like(last)
        bootstrapped = not self.batch.world.tells_limits
        row: dict[str, Any] = {
            "terminal_observation": last[env, agent].copy(),
            "TimeLimit.truncated": bootstrapped and bool(truncated[env, agent]),
        }
        if not self._style.full:
            return row
        row["won"] = won = bool(infos["result"][env, agent] == _WON)
        if self._playing[slot]:
            row["is_success"] = won
            row["episode"] = {"r": float(self._returns[slot]), "l": int(self._lengths[slot])}
        return row

    def _flat(self, shown: NDArray[Any]) -> NDArray[Any]:
        """Return (envs, agents, length) as (slots, length)."""
        return shown.reshape(self.num_envs, *shown.shape[2:])

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the masks of all slots, shape (slots, actions)."""
        if not isinstance(self.action_space, Discrete):
            raise AttributeError("continuous actions have no masks")
        masks = np.where(self.batch.alive()[..., None], self.batch.masks(), self._idle)
        return masks.reshape(self.num_envs, -1).astype(np.bool_)

    def snapshot(self) -> dict[str, Any]:
        """Return the environments and the running statistics as a JSON-serializable value."""
        counts = {"returns": self._returns.tolist(), "lengths": self._lengths.tolist()}
        return {"envs": self.batch.snapshot(), **counts}

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
        self.batch.restore(envs)
        self._playing = self.batch.alive().reshape(-1)
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
        """Close the environments and the window."""
        self.batch.close()
        if self._window is not None:
            self._window.close()

    def get_images(self) -> Sequence[NDArray[np.uint8]]:
        """Return a picture of every environment (once each, not once per slot)."""
        return self._pictures.fit([self.batch.draw(env) for env in range(self.batch.num_envs)])


def sb3_vec(
    env: Source,
    num_envs: int = 8,
    *,
    view: str = "vector",
    infos: str = "full",
    dtype: str | None = None,
    partners: Partners | None = None,
    render_mode: str | None = "rgb_array",
    **config: Any,
) -> AgentVecEnv:
    """Make an SB3 VecEnv of a world, with parameters shared by all of the caller's agents.

    Array worlds are stepped by their kernel, others one environment after the other. Where
    observations show what is left of a limit (`World.tells_limits`), an episode that it cuts off is
    not marked ``TimeLimit.truncated``, so SB3 adds no value to its end.

    Args:
        env: A world, an id, a config, a ParallelEnv with ``view="vector"`` to take config,
            partners and kind of actions from, or a `batch_env` with ``autoreset="same_step"``,
            which may be wrapped by a logger or a curriculum.
        num_envs: How many environments; each has one slot per agent.
        view: Always ``"vector"``; others are refused.
        infos: ``"full"``, ``"mask"`` (``action_mask`` in every step) or ``"none"``; what SB3 itself
            reads at the end of an episode (``terminal_observation``, ``TimeLimit.truncated``) is
            there in any case.
        dtype: ``"float32"`` for vectors of that type; default: the world's own, or that of the
            ParallelEnv. A `batch_env` keeps the type that it was made with.
        partners: Policies for agents that the learner does not play.
        render_mode: ``"rgb_array"`` (what SB3's `VecVideoRecorder` needs), ``"human"`` or ``None``.
        config: Fields of the world's config.

    Raises:
        ConfigError: If the view is another than ``"vector"``, or the ParallelEnv is wrapped.
        UnknownNameError, AgentError: Each says what is wrong and what is allowed.

    Example:
        >>> vec = sb3_vec("piase/GridWorld-FourRooms-8x8-v1", num_envs=4)
        >>> vec.reset().shape
        (4, 65)
    """
    require_vector(view)
    inside = getattr(env, "unwrapped", env)
    if isinstance(inside, BatchEnv):
        if config or partners is not None:
            message = ", ".join([*config, *(["partners"] if partners is not None else [])])
            raise ConfigError(
                f"a batch keeps the config and partners it was made with, not {message}"
            )
        if infos == "full" != inside.infos:
            raise ConfigError(
                f"this batch has infos={inside.infos!r}, which do not say who won; make it "
                "with infos='full', or sb3_vec with infos='none' or 'mask'"
            )
        if inside.autoreset != "same_step":
            raise ConfigError(
                f"SB3 resets within a step, but this batch has autoreset={inside.autoreset!r}; "
                "make it with autoreset='same_step'"
            )
        return AgentVecEnv(env, render_mode, infos)
    people: dict[str, Agent] = {}
    actions = None
    if not isinstance(env, str | WorldConfig):
        inner = own_env(env)
        if inner is not env:
            raise ConfigError(
                "sb3_vec makes a batch from an environment's config, so what "
                f"{type(env).__name__} does would be lost; hand it the environment inside, and "
                "wrap the VecEnv, or let SuperSuit make one"
            )
        playing = copy.deepcopy(inner.runner.partners)
        seated = {inner.world.agents[i]: agent for i, agent in playing.items()}
        people = {name: agent for name, agent in seated.items() if agent.of_scenario}
        env = inner.runner.next_config or inner.world.base_config
        partners = seated if partners is None else partners
        dtype, actions = inner.dtype if dtype is None else dtype, inner.actions
    checked, spec, _, chosen, _ = resolve(env, None, None, config)
    world = load(spec.world, spec)(checked)
    people = people or characters_of(chosen)
    seats = {**people, **read_partners(partners)}
    focal = lone_learner(world.agents, people, seats)
    return vec_of(world, num_envs, seats, focal, render_mode, infos, dtype, actions)


def vec_of(
    world: World[Any, Any],
    num_envs: int,
    partners: Partners,
    focal: int = -1,
    render_mode: str | None = "rgb_array",
    infos: str = "full",
    dtype: str | None = None,
    actions: str | None = None,
) -> AgentVecEnv:
    """Make the VecEnv of a world.

    Args:
        world: The world.
        num_envs: How many environments.
        partners: Policies for agents that the learner does not play.
        focal: Number of the agent with which episodes end; by default they end with the last.
        render_mode: As for `sb3_vec`; so are the next two.
        infos: What infos have.
        dtype: The type of vectors.
        actions: ``"discrete"`` or ``"continuous"``; default: discrete ones where there are any.
    """
    quiet = "full" if infos == "full" else "none"  # SB3 asks for masks; infos need none
    if steps_in_batches(world):
        seated: dict[str, Any] = {"partners": partners, "focal": focal}
        batch = BatchEnv(world, num_envs, autoreset="same_step", infos=quiet, dtype=dtype, **seated)
        return AgentVecEnv(batch, render_mode, infos)
    kind = actions or ("discrete" if world.capabilities.discrete else "continuous")
    config = world.config
    world.close()
    options: dict[str, Any] = {"infos": quiet, "dtype": dtype}
    envs = sync_batch(config, num_envs, actions=kind, partners=partners, **options)
    return AgentVecEnv(envs, render_mode, infos)
