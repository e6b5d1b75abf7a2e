"""The Gymnasium environment: one learner; the other agents are played by named partners."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, ClassVar, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import Command
from piase_gym.core.config import larger
from piase_gym.core.rng import check_seed
from piase_gym.core.world import StepResult
from piase_gym.envs.actions import ActionDecoder, explain_failure, explains_failures, no_acts
from piase_gym.envs.arguments import Name, build_focal_runner, partners_around, resolve
from piase_gym.envs.base import RENDER_MODES, WorldAccess, WorldEnv, check_render_mode
from piase_gym.envs.observations import ObservationBuilder, ObservationStyle
from piase_gym.envs.partners import Partners
from piase_gym.envs.spec import NO_TIME_LIMIT, TIME_LIMIT, LimitInSpec, settle_limit
from piase_gym.envs.window import Window
from piase_gym.errors import ConfigError, ResetNeededError, UnsupportedError

Limited = TypeVar("Limited", bound=WorldAccess)
"""An environment whose world has a limit of steps."""


class GymEnv(LimitInSpec, WorldEnv, gymnasium.Env[Any, Any]):
    """A world behind Gymnasium's API. Made by `gymnasium.make` or `gym_env`.

    The episode ends when the learner's does, whatever the partners do.

    Args:
        world: A world, an id, a scenario (its name or path), or a config object.
        agent: Which agent the learner plays; default the first.
        view: ``"vector"``, ``"text"`` or ``"both"``.
        actions: ``"discrete"``, ``"text"``, or ``"continuous"`` where the world has it.
        mask: ``None`` (the mask is in the infos and in `action_masks`) or ``"obs"``.
        wording: The dialect of texts, ``"canonical"``, or ``"native"`` where the world has it.
        texts: When ``view="both"`` writes texts: ``"eager"`` (at each step, into plain dicts), or
            ``"lazy"`` (when they are read, which is faster where few are).
        infos: ``"full"``, ``"mask"`` (``action_mask`` alone, so that all infos have one key) or
            ``"none"``.
        dtype: ``"float32"`` for vectors of that type; default: the world's own.
        strict: Whether a text action must be the bare command. By default one is found in whatever
            form language models answer; see `piase_gym.core.answers`.
        render_mode: ``"human"``, ``"ansi"`` or ``"rgb_array"``.
        partners: A policy for the other agents, or policies by agent, ``"*"`` for those that are
            not named; default: the id's, else ``random``.
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
        world: Name,
        *,
        agent: str | None = None,
        view: str = "vector",
        actions: str = "discrete",
        mask: str | None = None,
        wording: str = "canonical",
        texts: str = "eager",
        infos: str = "full",
        dtype: str | None = None,
        strict: bool = False,
        render_mode: str | None = None,
        partners: Partners | None = None,
        scenario: object = None,
        envelope: object = None,
        **config: Any,
    ) -> None:
        """Make the world and seat the partners."""
        self.render_mode = check_render_mode(render_mode)
        self._window = Window() if render_mode == "human" else None
        self.runner = build_focal_runner(world, agent, partners, scenario, envelope, config)
        self.agent_index = self.runner.caller_agents[0]
        self.agent = self.runner.world.agents[self.agent_index]
        self._made_from = world, scenario, partners, config
        self._style = ObservationStyle(view, mask, wording, texts, infos, dtype)
        self._make_spaces(actions, strict)

    def _make_spaces(self, actions: str, strict: bool) -> None:
        """Make what depends on the world and its spaces."""
        made = self.runner.world
        self._decoder = ActionDecoder(made, actions, strict)
        self._builder = ObservationBuilder(made, self._style, actions)
        self.observation_space = self._builder.space()
        self.action_space = self._decoder.space()
        self._acts = no_acts(made)

    def grow_envelope(self, envelope: Mapping[str, int]) -> None:
        """Make room for larger configs; see `WorldParallelEnv.grow_envelope`."""
        world, scenario, partners, config = self._made_from
        task = resolve(world, scenario, None, config).task
        made = self.runner.world
        names = made.config.names(larger(made.config, made.envelope, envelope).envelope.agents)
        seats = partners_around(names, task, partners, self.agent)
        new = {name: seat for name, seat in seats.items() if name not in made.agents}
        self.runner.grow_envelope(envelope, new)
        self._make_spaces(self._decoder.kind, self._decoder.strict)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see `WorldParallelEnv.reset`."""
        self.runner.reset(seed, options)
        super().reset(seed=None if seed is None else check_seed(seed))
        self.runner.wait_for_entry()
        masks = self._masks()
        info: dict[str, Any] = {"seed": self.runner.seed} if self._style.full else {}
        if masks and self._style.tells_masks:
            info["action_mask"] = masks[self.agent_index]
        if self.render_mode == "human":
            self.render()
        shown = self._builder.build(masks, (self.agent_index,))[self.agent_index]
        return shown, info

    def _masks(self) -> Sequence[NDArray[np.int8]]:
        """Return everybody's masks, if they are shown anywhere."""
        asked = self._decoder.masked and self._style.needs_masks
        return self.runner.world.masks() if asked else ()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Let the learner and the partners act once.

        Returns:
            Observation, reward, terminated, truncated and info; see `WorldParallelEnv.step`.

        Raises:
            ActionError: If the action is not in the space; nothing has happened then.
            ResetNeededError: Before the first reset and after the end of an episode.
        """
        runner, me = self.runner, self.agent_index
        if not runner.live:
            runner.require_episode()
            raise ResetNeededError(f"{runner.why_idle}; call reset() before the next step")
        acts = self._acts.copy()
        acts[me] = self._decoder.decode(me, action)
        result = runner.play(acts)
        masks = self._masks()
        info: dict[str, Any] = {"outcome": result.outcomes[me]} if self._style.full else {}
        if masks and self._style.tells_masks:
            info["action_mask"] = masks[me]
        if self._style.full:
            self._add_rare_infos(info, result, isinstance(action, Command))
        shown = self._builder.build(masks, (me,))[me]
        runner.end_step(result)
        if self.render_mode == "human":
            self.render()
        return shown, result.rewards[me], result.terminated[me], result.truncated[me], info

    def _add_rare_infos(self, info: dict[str, Any], result: StepResult, typed: bool) -> None:
        """Add notes, why an action failed, and at the end the result."""
        me = self.agent_index
        info.update(result.notes.get(me, {}))
        if typed or explains_failures(self._decoder.kind, self._style.view):
            explain_failure(info, self.runner.world.last_steps()[me])
        if result.terminated[me] or result.truncated[me]:
            info["result"] = self.runner.world.result(me)

    def check_action(self, action: Any) -> None:
        """Raise `ActionError` if an action is not in the space."""
        self._decoder.decode(self.agent_index, action)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the learner's mask as booleans, as sb3-contrib's MaskablePPO expects it."""
        self.runner.require_episode()
        if not self.runner.world.capabilities.masks:
            raise UnsupportedError(
                f"{self.runner.world.name} does not tell which actions are legal"
            )
        return self.runner.world.masks()[self.agent_index].astype(np.bool_)

    def give_hint(self, hint: str | None, agent: str | None = None) -> None:
        """Show a hint to the learner until the episode ends."""
        self._hint(agent, hint)

    def _number(self, agent: str | None) -> int:
        """Return the number of the learner, or of a named agent."""
        return self.agent_index if agent is None else self.runner.number(agent)


def make_task(world: str, **kwargs: Any) -> GymEnv:
    """Make a registered id; the entry point of Gymnasium's registry.

    `gymnasium.make` does not pass ``max_episode_steps`` on: it makes the environment without it and
    wraps it in a `TimeLimit`, which cuts off, without a result, an episode that the world would
    continue. Here the argument means the world's own `max_steps`, so it is read from the frame of
    `gymnasium.make`.

    Raises:
        ConfigError: If it is no positive integer, or ``max_steps`` is given as well.
    """
    return make_limited(GymEnv, sys._getframe(1), world, kwargs)


make_task.metadata = GymEnv.metadata  # type: ignore[attr-defined]  # gymnasium.make looks for it


def make_limited(
    make: Callable[..., Limited], frame: FrameType, world: Name, kwargs: dict[str, Any]
) -> Limited:
    """Make an environment whose world has the time limit of a `gymnasium.make` call, if any.

    Args:
        make: The class of the environment.
        frame: The frame of the call.
        world: The world or task.
        kwargs: Further arguments of `make`.

    Raises:
        ConfigError: If the call asks for more steps than the time limit of its spec.
    """
    if frame.f_code is not gymnasium.make.__code__:
        return make(world, **kwargs)
    call = frame.f_locals
    spec, limit, asked = call["env_spec"], call[TIME_LIMIT], set(call["kwargs"])
    given = limit is not None
    if given:  # `make_vec` moves what is in its spec to the call, which then says nothing of it
        asked = {TIME_LIMIT} | (asked if spec.kwargs else set())
    else:
        limit = spec.max_episode_steps
    env = make(world, **settle_limit(kwargs, limit, asked))
    if limit in (None, NO_TIME_LIMIT):
        return env
    if not given and env.config.max_steps > limit:  # a `TimeLimit`, which makes no result
        env.close()
        raise ConfigError(
            f"max_steps={env.config.max_steps} is more than the spec's max_episode_steps={limit}; "
            f"give max_episode_steps={env.config.max_steps} instead"
        )
    env.runner.time_limit = limit
    return env


def gym_env(world: Name, **kwargs: Any) -> GymEnv:
    """Make a world as a Gymnasium Env without the registry; see `GymEnv` for the arguments."""
    return GymEnv(world, **kwargs)
