"""Stable-Baselines3: every agent of every environment as one slot of a VecEnv."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from piase_gym.adapters.checks import Source, own_env, require_vector
from piase_gym.adapters.sb3_base import AgentVecEnv, VecStep
from piase_gym.agents.base import Agent
from piase_gym.core.commands import RESULTS, Result
from piase_gym.core.config import WorldConfig
from piase_gym.core.world import World
from piase_gym.envs.arguments import characters_of, resolve
from piase_gym.envs.batch import BatchEnv, lone_learner
from piase_gym.envs.batch_checks import check_singles
from piase_gym.envs.observations import open_masks
from piase_gym.envs.parallel import WorldParallelEnv, parallel_env
from piase_gym.envs.partners import Partners, read_partners
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import ConfigError, PiaseError, SnapshotError
from piase_gym.registry import load
from piase_gym.worlds.array_world import steps_in_batches

_WON = RESULTS.index(Result.WON)


class BatchVecEnv(AgentVecEnv):
    """A batch of an array world, stepped by its kernel; see `AgentVecEnv`."""

    def __init__(
        self, batch: BatchEnv, render_mode: str | None = "rgb_array", infos: str = "full"
    ) -> None:
        """Build the VecEnv on a batch that resets in the same step."""
        self.batch = batch
        agents = len(batch.agents)
        seen, acts = batch.observation_space, batch.action_space
        self._idle = np.arange(acts.n) == batch.world.commands.index(batch.world.noop)
        super().__init__(batch.num_envs, agents, seen, acts, render_mode, infos)

    @property
    def runners(self) -> list[BatchEnv | EpisodeRunner]:
        """What runs the episodes."""
        return [self.batch]

    def _reset_all(self, seed: int | None) -> tuple[NDArray[Any], NDArray[np.bool_], list[int]]:
        shown, _ = self.batch.reset(seed)
        return shown, self.batch.alive(), self.batch.seeds().tolist()

    def _step_all(self, actions: NDArray[Any]) -> VecStep:
        shown, rewards, terminated, truncated, infos = self.batch.step(actions)
        ended, last = infos["_final_obs"], infos["final_obs"]
        won = infos["result"] == _WON if "result" in infos else np.zeros_like(terminated)
        alive = self.batch.alive()
        return VecStep(shown, alive, rewards, terminated, truncated, won, ended, last)

    def _masks(self) -> NDArray[Any]:
        return np.where(self.batch.alive()[..., None], self.batch.masks(), self._idle)

    def _draw(self, env: int) -> Any:
        return self.batch.draw(env)

    def _save(self) -> Any:
        return self.batch.snapshot()

    def _load(self, kept: Any) -> NDArray[np.bool_]:
        self.batch.restore(kept)
        return self.batch.alive()

    def close(self) -> None:
        """Release memory, and close the window."""
        self.batch.close()
        super().close()


class ParallelVecEnv(AgentVecEnv):
    """ParallelEnvs of any world, stepped one after the other; see `AgentVecEnv`.

    Args:
        envs: Environments with ``view="vector"`` and the same agents and spaces.
    """

    def __init__(
        self,
        envs: Sequence[WorldParallelEnv],
        render_mode: str | None = "rgb_array",
        infos: str = "full",
    ) -> None:
        """Build the VecEnv on the environments."""
        self.envs = list(envs)
        first = self.envs[0]
        self._names = first.possible_agents
        name = self._names[0]
        seen, acts = first.observation_space(name), first.action_space(name)
        super().__init__(len(self.envs), len(self._names), seen, acts, render_mode, infos)
        shape, dtype = seen.shape or (), seen.dtype
        self._shown = np.zeros((self._envs, self._agents, *shape), dtype)
        self._bits: NDArray[Any] | None = None
        if isinstance(acts, Discrete):
            self._bits = np.zeros((self._envs, self._agents, int(acts.n)), np.int8)

    @property
    def runners(self) -> list[BatchEnv | EpisodeRunner]:
        """What runs the episodes."""
        return [env.runner for env in self.envs]

    def _reset_all(self, seed: int | None) -> tuple[NDArray[Any], NDArray[np.bool_], list[int]]:
        for number, env in enumerate(self.envs):
            self._look(number, env.reset(None if seed is None else seed + number)[0])
        seeds = [int(env.runner.seed or 0) for env in self.envs]
        return self._shown.copy(), self._alive(), seeds

    def _step_all(self, actions: NDArray[Any]) -> VecStep:
        for e, env in enumerate(self.envs):  # before the first one acts
            for name in env.agents:
                env.check_action(name, actions[e, self._names.index(name)])
        grid = (self._envs, self._agents)
        rewards, ended = np.zeros(grid), np.zeros(self._envs, np.bool_)
        terminated, truncated, won = (np.zeros(grid, np.bool_) for _ in range(3))
        last = np.zeros_like(self._shown)
        for e, env in enumerate(self.envs):
            acts = {n: actions[e, self._names.index(n)] for n in env.agents}
            shown, earned, over, cut, infos = env.step(acts)
            for name, reward in earned.items():
                a = self._names.index(name)
                rewards[e, a], terminated[e, a], truncated[e, a] = reward, over[name], cut[name]
                won[e, a] = infos[name].get("result") == Result.WON
            self._look(e, shown)
            if not env.agents:
                last[e], ended[e] = self._shown[e], True
                self._look(e, env.reset()[0])
        shown_now = self._shown.copy()
        alive = self._alive()
        return VecStep(shown_now, alive, rewards, terminated, truncated, won, ended, last)

    def _look(self, number: int, shown: Mapping[str, Any]) -> None:
        """Take over observations and masks of an environment."""
        env = self.envs[number]
        self._shown[number] = 0
        for name, vector in shown.items():
            self._shown[number, self._names.index(name)] = vector
        if self._bits is not None:
            masks = open_masks(env.world.masks())
            for seat, name in enumerate(self._names):
                self._bits[number, seat] = masks[env.world.agents.index(name)]

    def _alive(self) -> NDArray[np.bool_]:
        """Return which agents are in play."""
        return np.array([[name in env.agents for name in self._names] for env in self.envs])

    def _masks(self) -> NDArray[Any] | None:
        self.envs[0].runner.require_episode()
        return self._bits

    def _draw(self, env: int) -> Any:
        self.envs[env].runner.require_episode()
        return self.envs[env].world.rgb()

    def _save(self) -> Any:
        return [env.snapshot() for env in self.envs]

    def _load(self, kept: Any) -> NDArray[np.bool_]:
        if not isinstance(kept, list) or len(kept) != len(self.envs):
            raise SnapshotError(f"this snapshot is not one of {len(self.envs)} environments")
        before = [None if env.runner.never_reset else env.snapshot() for env in self.envs]
        try:
            for env, snapshot in zip(self.envs, kept, strict=True):
                env.restore(snapshot)
        except PiaseError:
            for env, own in zip(self.envs, before, strict=True):
                if own is not None:
                    env.restore(own)
            raise
        for number, env in enumerate(self.envs):
            self._look(number, env.observe_all()[0])
        return self._alive()

    def close(self) -> None:
        """Close the environments and the window."""
        for env in self.envs:
            env.close()
        super().close()


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
        return BatchVecEnv(env, render_mode, infos)
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
    if steps_in_batches(world):
        seated: dict[str, Any] = {"partners": partners, "focal": focal}
        # SB3 asks for masks; infos need none
        quiet = "full" if infos == "full" else "none"
        batch = BatchEnv(world, num_envs, autoreset="same_step", infos=quiet, dtype=dtype, **seated)
        return BatchVecEnv(batch, render_mode, infos)
    num_envs = check_singles(num_envs, world.name)
    kind = actions or ("discrete" if world.capabilities.discrete else "continuous")
    seats = [copy.deepcopy(read_partners(partners)) for _ in range(num_envs)]
    config = world.config
    world.close()
    options: dict[str, Any] = {"infos": "full" if infos == "full" else "none", "dtype": dtype}
    made = [
        parallel_env(config, view="vector", actions=kind, partners=row, **options) for row in seats
    ]
    return ParallelVecEnv(made, render_mode, infos)
