"""The batched environment: many environments of an array world, every agent, arrays in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.agents.base import Agent
from piase_gym.core.commands import OUTCOMES
from piase_gym.core.config import larger
from piase_gym.core.events import Events
from piase_gym.core.rng import fresh_seed, spread_seeds
from piase_gym.envs.actions import strays, to_indices
from piase_gym.envs.arguments import Name, resolve
from piase_gym.envs.batch_slots import AUTORESET, BatchConfigs, Slots, check_num_envs, find_slots
from piase_gym.envs.batch_snapshots import check_records, label, pack, unpack, unpack_hints
from piase_gym.envs.partners import BatchPartners, Partners, agent_number, read_partners
from piase_gym.errors import (
    ActionError,
    ClosedError,
    ConfigError,
    EnvelopeError,
    ResetNeededError,
    UnsupportedError,
    suggest,
)
from piase_gym.registry import load
from piase_gym.worlds.array_world import ArrayWorld

Infos = dict[str, Any]
Step = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]


class BatchEnv(BatchConfigs):
    """`num_envs` environments of one array world. Made by `batch_env`.

    Arrays have the environments first and the caller's agents second. An agent that is not in
    play has zeros for observation and a mask for the no-op; what it does is ignored. Slot i seeded
    with an integer s has the very episodes of a single environment seeded with ``s + i``.

    Attributes:
        agents: The agents that the caller plays, in the order of the arrays.
        observation_space: The space of one agent's vector.
        action_space: The space of one agent's actions.
        events: The bus on which ``batch_reset``, ``batch_begun``, ``batch_step``, ``batch_ended``,
            ``batch_restore`` and ``hint`` are posted.
    """

    def __init__(
        self,
        world: ArrayWorld[Any, Any],
        num_envs: int,
        *,
        configs: Sequence[Any] = (),
        partners: Partners | None = None,
        autoreset: str = "next_step",
        focal: int = -1,
        copy: bool = True,
    ) -> None:
        """Allocate the batch; see `batch_env` for the arguments."""
        num_envs = check_num_envs(num_envs)
        if autoreset not in AUTORESET:
            raise ConfigError(f"unknown autoreset {autoreset!r}; {suggest(autoreset, AUTORESET)}")
        self.copy = copy
        self.events = Events()
        super().__init__(world, num_envs, list(configs) or [world.config])
        self._mode, self._focal = AUTORESET[autoreset], focal
        for config in self.configs:
            self._require_learner(config)
        self._partners = BatchPartners(self, partners)
        self._own = [i for i in range(len(world.agents)) if i not in self._partners.seats]
        self.agents = tuple(world.agents[i] for i in self._own)
        self._everybody = not self._partners.seats
        self.observation_space = world.vector_space
        self.action_space = spaces.Discrete(world.num_actions)
        self._acts = np.zeros((num_envs, len(world.agents)), np.int32)
        self._outcomes = np.array([OUTCOMES.index(o) for o in world.outcome_of], np.uint8)
        self._ready, self._all_ready = np.zeros(num_envs, np.bool_), False
        self._closed = False

    # -- episodes -------------------------------------------------------------------------

    def reset(
        self,
        seed: int | Sequence[int | None] | None = None,
        *,
        which: Any = None,
    ) -> tuple[NDArray[Any], Infos]:
        """Start episodes.

        Args:
            seed: An integer (slot i gets ``seed + i``), or one for each slot. Without one, slots go
                on deterministically from their last episodes; slots that were never seeded draw
                their seeds from the operating system.
            which: Which slots to reset: a flag for each, or their numbers; default all.

        Returns:
            Observations (envs, agents, length) and infos, with ``seed`` (the effective ones),
            ``action_mask`` and ``alive``.

        Raises:
            ConfigError: If seeds or slots are not allowed; nothing has happened then.
        """
        self._require_open()
        chosen = find_slots(which, self.num_envs)
        states = self.batch.states
        seeds = spread_seeds(seed, self.num_envs)
        for slot in chosen.tolist():
            given = seeds[slot]
            if given is not None:
                states["given"][slot], states["episode"][slot] = given, 0
            elif self._ready[slot]:
                states["episode"][slot] += np.uint64(1)
            else:
                states["given"][slot], states["episode"][slot] = fresh_seed(), 0
        if self.world.reset_batch(self.batch, chosen):
            raise self.fault()
        self._ready[chosen] = True
        self._all_ready = bool(self._ready.all())
        self.drop_hints(chosen.tolist())
        if self.events.active:
            tell_begun(self.events, chosen)
        return self._pick(self.batch.obs), {"seed": self.seeds(), **self._infos()}

    def step(self, actions: Any) -> Step:
        """Let every agent act once.

        Args:
            actions: Integers, shape (envs, agents).

        Returns:
            Observations (envs, agents, length), rewards, terminated and truncated (envs, agents),
            and infos: ``action_mask``, ``alive``, ``outcome`` (codes of `OUTCOMES`), ``result``
            (codes of `RESULTS`, of agents that end in this step), and under
            ``autoreset="same_step"`` also ``final_obs`` with ``_final_obs`` (which slots ended).

        Raises:
            ActionError: If the actions are not integers of the right shape in the action space;
                nothing has happened then.
        """
        self._require_open()
        if not self._all_ready:
            raise ResetNeededError("call reset() before the first step")
        acts = self._take(actions)
        if not self._everybody:
            self._partners.ask(acts)
        if self.events.active or self._mode == AUTORESET["same_step"]:
            found = step_seen(self, self.events, self._mode, self._focal, acts)
        else:
            found = self.world.step_batch(self.batch, self._mode, self._focal, acts.reshape(-1))
            if found >= 0:
                self.note_results()
        if found < 0:
            raise self._stray(acts)
        if found > 0:
            raise self.fault()
        batch = self.batch
        return (
            self._pick(batch.obs),
            self._pick(batch.rewards),
            self._pick(batch.terminated),
            self._pick(batch.truncated),
            self._infos(stepped=True),
        )

    def _take(self, actions: Any) -> NDArray[np.int32]:
        """Check the actions, before anything changes, and put them in their places.

        What is an int32 already, and goes to the kernel as it is, the kernel itself refuses.
        """
        given = to_indices(actions, (self.num_envs, len(self._own)))
        plain = self._everybody and given.dtype == np.int32
        if not plain and strays(given, self.world.num_actions):
            raise self._stray(given)
        if self._everybody:
            return np.ascontiguousarray(given, np.int32)
        self._acts[:, self._own] = given
        return self._acts

    def _stray(self, acts: NDArray[Any]) -> ActionError:
        """Say which of the caller's actions is out of range."""
        most = self.world.num_actions - 1
        slot, column = np.argwhere((acts < 0) | (acts > most))[0]
        return ActionError(
            f"action {acts[slot, column]} of {self.agents[column]} in slot {slot} is not allowed; "
            f"actions are integers from 0 to {most}"
        )

    def _infos(self, stepped: bool = False) -> Infos:
        """Return what stands beside the observations."""
        batch = self.batch
        infos: Infos = {"action_mask": self._pick(batch.masks)}
        infos["alive"] = self._pick(batch.alive) if stepped else self.alive()
        if stepped:
            infos["outcome"] = self._pick(batch.outcomes)
            infos["result"] = self._pick(self.results)
            if self._mode == AUTORESET["same_step"]:
                infos["_final_obs"] = batch.states["ended"].astype(np.bool_)
                infos["final_obs"] = self._pick(batch.final_obs)
        return infos

    def _pick(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the caller's agents' part of an array, as a copy unless ``copy=False``."""
        return values.copy() if self.copy and self._everybody else self._picked(values)

    def _picked(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the caller's agents' part of an array that is new."""
        return values if self._everybody else values[:, self._own]

    def single(self, slot: int) -> ArrayWorld[Any, Any]:
        """Return a world in the state of one slot, for questions; it is overwritten by the next."""
        self._require_open()
        return self.at(slot)

    def masks(self) -> NDArray[np.int8]:
        """Return the masks of now, shape (envs, agents, actions)."""
        return self._pick(self.batch.masks)

    def alive(self) -> NDArray[np.bool_]:
        """Return which of the caller's agents are in play, shape (envs, agents)."""
        flags = self.batch.states["alive"][:, : len(self.world.agents)]
        return self._picked(flags.astype(np.bool_))

    # -- what else can be asked -----------------------------------------------------------

    @property
    def ready(self) -> NDArray[np.bool_]:
        """Which environments were ever reset."""
        return self._ready

    @property
    def partners(self) -> Mapping[int, Agent]:
        """Agent number -> the agent that plays it, where it is not the caller."""
        return self._partners.seats

    @property
    def outcome_codes(self) -> NDArray[np.uint8]:
        """What became of every agent's command in the last step, shape (envs, all agents)."""
        return self._outcomes[self.batch.events]

    def give_hint(self, slot: int, agent: str, hint: str | None) -> None:
        """Show words to an agent in one environment until its episode ends.

        They are in its text and its vector; the arrays of the last `step` are not changed, unless
        the batch was made with ``copy=False``.
        """
        self._require_open()
        shown = self.show_hint(slot, agent_number(self.world, agent), hint)
        self.events.post("hint", agent, message=shown, slot=slot)

    def enlarge(self, envelope: Mapping[str, int], partners: Partners | None = None) -> None:
        """Make room for larger configs, before the first reset; spaces are other objects then.

        Args:
            envelope: Sizes that later configs may have, beside those that they may have now.
            partners: Policies for agents that are new.

        Raises:
            EnvelopeError: If there was a reset already, or a size is not allowed.
        """
        self._require_open()
        old, events = self.world, self.events
        config = larger(self.configs[0], old.envelope, envelope)
        if self._ready.any():
            raise EnvelopeError(f"this batch of {old.name} was reset, so its spaces are fixed")
        seats = {old.agents[number]: agent for number, agent in self.partners.items()}
        world = type(old)(config)
        further = [world.config.changed({**_fields(c)}) for c in self.configs[1:]]
        BatchEnv.__init__(
            self,
            world,
            self.num_envs,
            configs=[world.config, *further],
            partners={**read_partners(partners), **seats},
            autoreset=self.autoreset,
            focal=self._focal,
            copy=self.copy,
        )
        self.events = events
        self.events.post("rebuild")

    @property
    def autoreset(self) -> str:
        """The mode of autoreset: ``next_step``, ``same_step`` or ``disabled``."""
        return next(name for name, mode in AUTORESET.items() if mode == self._mode)

    def snapshot(self) -> dict[str, Any]:
        """Return all environments as one JSON-able value."""
        self._require_open()
        hints = {str(slot): list(entry) for slot, entry in self._hints.items()}
        return {**self._label(), **pack(self.batch.states, self._ready), "hints": hints}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take up a snapshot of a batch of the same size and configs.

        Raises:
            SnapshotError: If it is of something else, or damaged.
        """
        self._require_open()
        states, ready = unpack(snapshot, self._label(), self.batch.states.dtype)
        hints = unpack_hints(snapshot, self.num_envs, len(self.world.agents))
        check_records(self.world, states, self.batch.tables)
        self.batch.states[...] = states
        self._ready[...], self._all_ready = ready, bool(np.all(ready))
        self._hints = hints
        self.world.look_batch(self.batch)
        self.events.post("batch_restore")

    def _label(self) -> dict[str, Any]:
        """Return what a snapshot must agree in."""
        return label(self.world, self.batch.states, self.configs)

    def close(self) -> None:
        """Give back memory; closing twice does no harm."""
        if not self._closed:
            self._closed = True
            self.events.post("close")

    def _require_open(self) -> None:
        """Raise `ClosedError` after `close`."""
        if self._closed:
            raise ClosedError(f"this batch of {self.world.name} is closed; make another one")


def _fields(config: Any) -> dict[str, Any]:
    """Return the fields of a config that are not the envelope."""
    found: dict[str, Any] = config.model_dump(exclude={"envelope"})
    return found


def batch_env(
    name: Name,
    *,
    num_envs: int,
    partners: Partners | None = None,
    configs: Sequence[Mapping[str, Any]] = (),
    autoreset: str = "next_step",
    copy: bool = True,
    envelope: object = None,
    **config: Any,
) -> BatchEnv:
    """Make many environments of an array world, stepped by one compiled kernel.

    Args:
        name: A world, an id or a config object.
        num_envs: How many environments.
        partners: Policies for agents that the caller does not play, by agent; they do not learn.
        configs: Further configs (fields that differ from the first); slots take them through
            `BatchEnv.reconfigure`.
        autoreset: ``"next_step"`` (the step after an episode's last one resets and ignores the
            actions), ``"same_step"`` or ``"disabled"``. An episode ends with its last agent.
        copy: ``False`` returns the arrays that the next step overwrites.
        envelope: The largest sizes that later configs may have.
        config: Fields of the world's config.

    Raises:
        UnsupportedError: If the world has no batched kernel.
        UnknownNameError, AgentError, ConfigError, EnvelopeError: Each says what is wrong and what
            is allowed.

    Example:
        >>> env = batch_env("GridWorld", num_envs=3, agents=2)
        >>> observations, infos = env.reset(seed=0)
        >>> observations.shape[:2], infos["seed"].tolist()
        ((3, 2), [0, 1, 2])
    """
    checked, spec, *_ = resolve(name, None, envelope, config)
    world = load(spec.world, spec)(checked)
    if not isinstance(world, ArrayWorld):
        raise UnsupportedError(f"{spec.name} has no batched kernel; use parallel_env")
    further = [world.config.changed(fields) for fields in configs]
    return BatchEnv(
        world,
        num_envs,
        configs=[world.config, *further],
        partners=partners,
        autoreset=autoreset,
        copy=copy,
    )


def step_seen(slots: Slots, events: Events, mode: int, focal: int, acts: NDArray[np.int32]) -> int:
    """Do what the kernel does, and look at every episode that ended before the next begins.

    How episodes ended is kept in `Slots.results`, and everything is posted if anybody listens.

    Args:
        slots: The batch.
        events: Where to post ``batch_step`` and ``batch_reset``.
        mode: A value of `AUTORESET`.
        focal: The agent whose end is the episode's, or -1 for the last agent.
        acts: Indices of commands, shape (envs, agents of the world).

    Returns:
        What the kernel returns: 0, or which action or slot is at fault.
    """
    batch, agents = slots.batch, len(slots.world.agents)
    alive = batch.states["alive"][:, :agents].astype(np.bool_)
    over = batch.states["over"].astype(np.bool_)
    same_step = mode == AUTORESET["same_step"]
    kernel_mode = AUTORESET["disabled"] if same_step else mode
    found = slots.world.step_batch(batch, kernel_mode, focal, acts.reshape(-1))
    if found < 0:
        return found
    slots.note_results()
    if found:
        return found
    events.post("batch_step", acts=acts, alive=alive, over=over)
    if mode == AUTORESET["next_step"] and over.any():
        tell_begun(events, np.flatnonzero(over))
    ended = np.flatnonzero(batch.states["ended"])
    events.post("batch_ended", slots=ended.tolist())
    return _renew(slots, events, ended) if same_step and ended.size else found


def tell_begun(events: Events, slots: NDArray[np.int64]) -> None:
    """Post that episodes begin, and then, that everybody has heard of it."""
    events.post("batch_reset", slots=slots.tolist())
    events.post("batch_begun", slots=slots.tolist())


def _renew(slots: Slots, events: Events, ended: NDArray[np.int64]) -> int:
    """Start the next episodes of environments, as the kernel does in the same step."""
    faults = slots.world.renew_batch(slots.batch, ended)
    if not faults:
        tell_begun(events, ended)
    return faults
