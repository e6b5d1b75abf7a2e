"""The ParallelEnv environment: every agent, at once."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv

from piase_gym.core.commands import Command
from piase_gym.core.world import Act, StepResult
from piase_gym.envs.actions import (
    INTEGERS,
    ActionDecoder,
    explain_failure,
    explains_failures,
    no_acts,
)
from piase_gym.envs.arguments import Name, build_runner
from piase_gym.envs.base import RENDER_MODES, WorldEnv, check_render_mode
from piase_gym.envs.observations import ObservationBuilder, ObservationStyle
from piase_gym.envs.partners import Partners
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.envs.window import Window
from piase_gym.errors import ActionError, AgentError, ConfigError, ResetNeededError, require_known

ENDED_ACTIONS = ("error", "ignore")
ParallelStep = tuple[
    dict[str, Any],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]


class AgentsInPlay(NamedTuple):
    """What a step needs of the caller's agents that are in play.

    Attributes:
        names: Their names.
        live: Their names and numbers.
        nobody: ``False`` for each name.
        values_of: Takes the actions of all of them out of a mapping, where the world takes actions
            as they are.
        spread: Makes one entry per agent from their entries and a last one for all other agents,
            where there are others.
    """

    names: tuple[str, ...]
    live: tuple[tuple[str, int], ...]
    nobody: dict[str, bool]
    values_of: Callable[[Any], Any] | None
    spread: Callable[[Any], tuple[Any, ...]] | None


@functools.lru_cache(maxsize=256)
def in_play(agents: tuple[str, ...], numbers: tuple[int, ...], plain: bool) -> AgentsInPlay:
    """Return what a step needs of the agents of a world that have these numbers.

    Args:
        agents: The names of all.
        numbers: The numbers of those that are in play and not partners.
        plain: Whether the world takes a tuple of indices, one per agent.
    """
    live = tuple([(agents[i], i) for i in numbers])
    names = tuple([name for name, _ in live])
    values_of = operator.itemgetter(*names) if plain and names else None
    places = [numbers.index(i) if i in numbers else -1 for i in range(len(agents))]
    spread = operator.itemgetter(*places) if -1 in places and len(places) > 1 else None
    return AgentsInPlay(names, live, dict.fromkeys(names, False), values_of, spread)


class WorldParallelEnv(WorldEnv, ParallelEnv[str, Any, Any]):
    """A world behind PettingZoo's parallel API. Made by `parallel_env`.

    Attributes:
        world: The world behind it.
        possible_agents: The agents that the caller plays.
        agents: Those of them that are in play.
        events: The bus on which everything is posted.
    """

    _np_random: np.random.Generator | None = None

    def __init__(
        self,
        runner: EpisodeRunner,
        *,
        style: ObservationStyle,
        actions: str,
        render_mode: str | None,
        ended_actions: str = "error",
        strict: bool = False,
    ) -> None:
        """Build the environment on a runner."""
        require_known("ended_actions", ended_actions, ENDED_ACTIONS)
        self.ended_actions = ended_actions
        world = runner.world
        self.runner, self._style = runner, style
        self.render_mode = check_render_mode(render_mode)
        self._window = Window() if render_mode == "human" else None
        self.metadata = {
            "name": f"{world.name}-v{world.version_of(world.config)}",
            "render_modes": list(RENDER_MODES),
            "render_fps": 8,
            "is_parallelizable": True,
        }
        self._decoder = ActionDecoder(world, actions, strict)
        self._builder = ObservationBuilder(world, style, actions)
        self._build = self._builder.chosen()
        self._full, self._tells_masks = style.full, style.tells_masks
        self._masked = self._decoder.masked and style.needs_masks
        self._explains = explains_failures(actions, style.view)
        self.possible_agents = [world.agents[i] for i in runner.caller_agents]
        self.observation_spaces = {name: self._builder.space() for name in self.possible_agents}
        self.action_spaces = {name: self._decoder.space() for name in self.possible_agents}
        self._state_space = world.state_space
        self._acts = no_acts(world)
        self._update_agents()  # the runner may be in the middle of an episode

    # -- what PettingZoo asks for ---------------------------------------------------------

    @property
    def actions(self) -> str:
        """The kind of actions: ``discrete``, ``continuous`` or ``text``."""
        return self._decoder.kind

    @property
    def max_cycles(self) -> int:
        """PettingZoo's word for the world's `max_steps`; new values hold from the next reset on."""
        return int(self.runner.world.config.max_steps)

    @max_cycles.setter
    def max_cycles(self, steps: int) -> None:
        self.runner.reconfigure({"max_steps": steps})

    @property
    def np_random(self) -> np.random.Generator:
        """A generator for wrappers that draw, seeded at each reset; the world has its own."""
        if self._np_random is None:
            self._np_random = np.random.default_rng(self.runner.seed)
        return self._np_random

    @property
    def state_space(self) -> spaces.Box:
        """The space of `state`."""
        return self._state_space

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations, always the same object."""
        return self.observation_spaces[self._require_own(agent)]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions, always the same object."""
        return self.action_spaces[self._require_own(agent)]

    def _require_own(self, agent: str) -> str:
        """Return the name of one of the caller's agents, or raise `AgentError`."""
        if not isinstance(agent, str) or agent not in self.observation_spaces:
            names = ", ".join(self.possible_agents)
            raise AgentError(f"there is no agent {agent!r} here; agents are {names}")
        return agent

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode.

        Args:
            seed: ``0..2**63-1``; without one, episodes go on deterministically from the last.
            options: ``config`` changes fields of the config, like `reconfigure`.

        Returns:
            Observations and infos by agent. Infos have ``seed`` (the effective one:
            ``reset(seed=that)`` repeats this very episode) and ``action_mask``.
        """
        runner = self.runner
        try:
            runner.reset(seed, options)
        finally:  # if it has failed, nobody is in play
            self._np_random = None
            self._update_agents()
        if self.render_mode == "human":
            self.render()
        return self._first_views()

    def observe_all(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Return the present observations and infos, as `reset` does, without changing anything.

        After `restore`, play goes on from these.
        """
        self.runner.require_episode()
        return self._first_views()

    def _first_views(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Return observations and infos of agents that have done nothing yet."""
        runner = self.runner
        masks = runner.world.masks() if self._masked else ()
        shown = self._build(masks, self._shown_agents)
        observations: dict[str, Any] = {}
        infos: dict[str, dict[str, Any]] = {}
        for name, i in self._live:
            observations[name], infos[name] = shown[i], self._first_info(masks, i)
        return observations, infos

    def _first_info(self, masks: Sequence[Any], number: int) -> dict[str, Any]:
        """Return the info of an agent that has done nothing yet."""
        info: dict[str, Any] = {"seed": self.runner.seed} if self._full else {}
        if masks and self._tells_masks:
            info["action_mask"] = masks[number]
        return info

    def _update_agents(self) -> None:
        """Note which agents are in play."""
        runner = self.runner
        world, numbers = runner.world, tuple(runner.live)
        plain = self._decoder.kind == "discrete" and world.capabilities.batched
        found = in_play(world.agents, numbers, plain)
        names, self._live, self._nobody, self._values_of, self._spread = found
        self.agents, self._open = [*names], world.awaiting_agents
        self._shown_agents = runner.caller_agents if self._open else numbers

    def step(self, actions: Mapping[str, Any]) -> ParallelStep:
        """Let every agent in play act once.

        Args:
            actions: An action for each agent in `agents`.

        Returns:
            Observations, rewards, terminations, truncations and infos by agent, for the agents
            that were in play and those that enter now. Infos have ``outcome`` and
            ``action_mask``, at the end ``result``, and where they apply ``milestones`` and
            ``feedback``.

        Raises:
            ActionError: If an action is missing or not in its space; nothing has happened then.
            AgentError: If there is an action for an agent that is not in play.
        """
        acts = self._read(actions)
        runner = self.runner
        step_result = runner.play(acts)
        masks = runner.world.masks() if self._masked else ()
        shown = self._build(masks, self._shown_agents)
        paid, terminated, truncated, outcomes, ended, notes = step_result
        live = self._live
        full, with_masks = self._full, masks and self._tells_masks
        observations: dict[str, Any] = {}
        rewards: dict[str, float] = {}
        infos: dict[str, dict[str, Any]] = {}
        for name, i in live:
            observations[name], rewards[name] = shown[i], paid[i]
            info: dict[str, Any] = {"outcome": outcomes[i]} if full else {}
            infos[name] = info
            if with_masks:
                info["action_mask"] = masks[i]
        over, cut = self._nobody.copy(), self._nobody.copy()
        if ended:
            for name, i in live:
                over[name], cut[name] = terminated[i], truncated[i]
        result = (observations, rewards, over, cut, infos)
        if notes or ended or self._open:
            self._add_rare_infos(step_result, result, shown, masks)
        if full and (self._explains or isinstance(acts, list)):  # a tuple: indices only
            for name, i in live:
                if self._explains or isinstance(actions[name], Command):
                    explain_failure(infos[name], runner.world.last_steps()[i])
        if self.render_mode == "human":
            self.render()
        return result

    def _add_rare_infos(
        self, step_result: StepResult, result: ParallelStep, shown: Any, masks: Sequence[Any]
    ) -> None:
        """Add what only few steps have: notes, results, agents that leave and agents that enter."""
        paid, terminated, truncated, _, ended, notes = step_result
        infos, before = result[-1], self.agents
        for name, i in self._live if self._full else ():
            if i in notes:
                infos[name].update(notes[i])
            if terminated[i] or truncated[i]:
                infos[name]["result"] = self.runner.world.result(i)
        if not (ended or self._open):
            return
        self.runner.end_step(step_result)
        self._update_agents()
        for name, i in self._live:
            if name not in before:
                info = self._first_info(masks, i)
                if self._full:
                    info.update(notes.get(i, {}))
                entries: tuple[Any, ...] = (shown[i], paid[i], False, False, info)
                parts: tuple[dict[str, Any], ...] = result
                for part, value in zip(parts, entries, strict=True):
                    part[name] = value

    def _read(self, actions: Mapping[str, Any]) -> Sequence[Any]:
        """Decode the actions of all agents in play, before anything changes."""
        live = self._live
        try:
            if len(actions) != len(live) or not live:
                raise KeyError
            if self._values_of is not None:
                given = self._values_of(actions) if len(live) > 1 else (self._values_of(actions),)
                for value in given:
                    if type(value) not in INTEGERS:
                        break
                else:  # the world itself refuses what is not in its table
                    return given if self._spread is None else self._spread((*given, None))
            acts = self._acts.copy()
            for name, i in live:
                acts[i] = self._decoder.decode(i, actions[name])
        except (AttributeError, LookupError, TypeError) as error:
            if self.ended_actions == "ignore" and live and isinstance(actions, Mapping):
                ended = [n for n in self.possible_agents if n in actions and n not in self.agents]
                if ended:
                    return self._read({n: a for n, a in actions.items() if n not in ended})
            raise self._wrong_agents(actions) from error
        return acts

    def read_action(self, number: int, action: Any) -> Act:
        """Decode one action of agent number `number`, as `step` does."""
        return self._decoder.decode(number, action)

    def check_action(self, agent: str, action: Any) -> None:
        """Raise `ActionError` if an action is not in the space of an agent."""
        self._decoder.decode(self.runner.number(agent), action)

    def _wrong_agents(self, actions: object) -> Exception:
        """Say which agents should have acted."""
        self.runner.require_episode()
        if not self.agents:
            return ResetNeededError("the episode is over; call reset() before the next step")
        if not isinstance(actions, Mapping):
            kind = type(actions).__name__
            return ActionError(f"step takes a dict of actions by agent, not {kind}")
        names = ", ".join(self.agents)
        strange = [name for name in actions if name not in self.agents]
        if strange:
            dead = strange[0] in self.possible_agents
            what = "is no longer in play" if dead else "does not exist"
            return AgentError(f"agent {strange[0]!r} {what}; agents in play: {names}")
        missing = [name for name in self.agents if name not in actions]
        return ActionError(f"no action for {', '.join(missing)}; agents in play: {names}")

    def close(self) -> None:
        """Release resources; closing twice does no harm."""
        self.agents = []
        self._live = ()
        super().close()

    # -- what piase_gym adds --------------------------------------------------------------

    def give_hint(self, agent: str, hint: str | None) -> None:
        """Show a hint to an agent, in its text and its vector, until the episode ends."""
        self._hint(agent, hint)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot; the future is then the one that its state would have had."""
        super().restore(snapshot)
        self._update_agents()

    def grow_envelope(self, envelope: Mapping[str, int]) -> None:
        """Make room for larger configs, before the first reset; spaces become new objects.

        Raises:
            EnvelopeError: If there was a reset already, or a size is not allowed.
        """
        self.runner.grow_envelope(envelope)
        WorldParallelEnv.__init__(
            self,
            self.runner,
            style=self._style,
            actions=self.actions,
            render_mode=self.render_mode,
            ended_actions=self.ended_actions,
            strict=self._decoder.strict,
        )


def require_parallel(env: object, wrapper: object) -> None:
    """Raise `ConfigError` if a wrapper is put around anything but a ParallelEnv."""
    if isinstance(env, AECEnv) or not hasattr(env, "possible_agents"):
        raise ConfigError(
            f"{type(wrapper).__name__} wraps a ParallelEnv, such as parallel_env returns, "
            f"not a {type(env).__name__}"
        )


def parallel_env(
    name: Name,
    *,
    view: str = "both",
    actions: str = "discrete",
    mask: str | None = None,
    wording: str = "canonical",
    texts: str = "eager",
    infos: str = "full",
    dtype: str | None = None,
    ended_actions: str = "error",
    strict: bool = False,
    render_mode: str | None = None,
    partners: Partners | None = None,
    scenario: object = None,
    envelope: object = None,
    **config: Any,
) -> WorldParallelEnv:
    """Make a world as a PettingZoo ParallelEnv.

    Args:
        name: A world (``"GridWorld"``), an id (``"piase/GridWorld-v1"``), a scenario
            (``"lost_key"`` or a path) or a config object.
        view: ``"both"`` (a Dict of text and vector), ``"vector"`` (a Box) or ``"text"``.
        actions: ``"discrete"``, ``"text"``, or ``"continuous"`` where the world has it.
        mask: ``None`` (masks are in the infos) or ``"obs"`` (``{"observation", "action_mask"}``).
        wording: The dialect of texts, ``"canonical"``, or ``"native"`` where the world has it.
        texts: When ``view="both"`` writes texts: ``"eager"`` (at each step, into plain dicts), or
            ``"lazy"`` (when they are read, which is faster where few are).
        infos: ``"full"``, ``"mask"`` (``action_mask`` alone, so that all infos have one key) or
            ``"none"``.
        dtype: ``"float32"`` for vectors of that type; default: the world's own.
        ended_actions: ``"error"``, or ``"ignore"`` to accept actions for agents that are not in
            play and do nothing with them.
        strict: Whether a text action must be the bare command. By default one is found in whatever
            form language models answer; see `piase_gym.core.answers`.
        render_mode: ``"human"``, ``"ansi"`` or ``"rgb_array"``.
        partners: Policies for agents that the caller does not play, by agent.
        scenario: A scenario's name or path.
        envelope: The largest sizes that later configs may have; default: this config's.
        config: Fields of the world's config.

    Returns:
        The environment.

    Raises:
        UnknownNameError, ConfigError, EnvelopeError, AgentError, MissingExtraError: Each says
            what is wrong and what is allowed.

    Example:
        >>> env = parallel_env("GridWorld", agents=2, view="vector")
        >>> observations, infos = env.reset(seed=0)
        >>> sorted(observations)
        ['agent_0', 'agent_1']
    """
    runner = build_runner(name, partners, scenario, envelope, config)
    style = ObservationStyle(view, mask, wording, texts, infos, dtype)
    return WorldParallelEnv(
        runner,
        style=style,
        actions=actions,
        render_mode=render_mode,
        ended_actions=ended_actions,
        strict=strict,
    )


def make_task(world: str, **kwargs: Any) -> WorldParallelEnv:
    """Make a registered id; the entry point of PettingZoo's registry."""
    return parallel_env(world, **kwargs)
