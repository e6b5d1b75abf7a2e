"""The batched face: many environments of an array world, every agent, arrays in and out."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.agents.base import Agent, BatchPercept, Percept
from piase_gym.agents.catalogue import make_agent
from piase_gym.commands import OUTCOMES, Command
from piase_gym.config import WorldConfig
from piase_gym.digest import digest_bytes
from piase_gym.errors import (
    ActionError,
    ClosedError,
    ConfigError,
    GenerationError,
    ResetNeededError,
    SnapshotError,
    UnsupportedError,
    suggest,
)
from piase_gym.events import Events
from piase_gym.faces.build import Partners, resolve
from piase_gym.faces.driver import check_seed, to_act
from piase_gym.registry import load
from piase_gym.rng import StreamId, fresh_seed, stream_key
from piase_gym.world import SNAPSHOT_SCHEMA, Facts
from piase_gym.worlds.array_world import ArrayWorld

AUTORESET = {"disabled": 0, "next_step": 1, "same_step": 2}
Infos = dict[str, Any]
Step = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]


class BatchEnv:
    """`num_envs` environments of one array world. Made by `batch_env`.

    Arrays have the environments first and the caller's agents second. An agent that is not in
    play has zeros for observation and a mask for the no-op; what it does is ignored. Slot i seeded
    with an integer s has the very episodes of a single environment seeded with ``s + i``.

    Attributes:
        num_envs: How many environments.
        agents: The agents that the caller plays, in the order of the arrays.
        observation_space: The space of one agent's vector.
        action_space: The space of one agent's actions.
        world: A world of the same config, for its spaces, texts and prompts.
        events: The bus on which ``batch_reset``, ``batch_step`` and ``batch_restore`` are posted.
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
        if not isinstance(num_envs, int) or isinstance(num_envs, bool) or num_envs < 1:
            raise ConfigError(f"num_envs must be a positive integer, not {num_envs!r}")
        if autoreset not in AUTORESET:
            raise ConfigError(f"unknown autoreset {autoreset!r}; {suggest(autoreset, AUTORESET)}")
        self.world, self.num_envs, self.copy = world, num_envs, copy
        self.events = Events()
        self.configs = list(configs) or [world.config]
        for config in self.configs:
            world.admit(config)
        self.batch = world.new_batch(num_envs, self.configs)
        self._mode, self._focal = AUTORESET[autoreset], focal
        self._seats = {world.agents.index(n): make_agent(p) for n, p in (partners or {}).items()}
        self._own = [i for i in range(len(world.agents)) if i not in self._seats]
        self.agents = tuple(world.agents[i] for i in self._own)
        self._everybody = not self._seats
        self.observation_space = world.vector_space
        self.action_space = spaces.Discrete(world.num_actions)
        self._acts = np.zeros((num_envs, len(world.agents)), np.int32)
        self._outcomes = np.array([OUTCOMES.index(o) for o in world.outcome_of], np.uint8)
        self._ready = np.zeros(num_envs, np.bool_)
        self._scratch: ArrayWorld[Any, Any] | None = None
        self._closed = False
        self._loops: dict[int, list[Agent]] = {}
        self._seat_partners()

    # -- episodes -------------------------------------------------------------------------

    def reset(
        self,
        seed: int | Sequence[int | None] | None = None,
        *,
        which: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[Any], Infos]:
        """Start episodes.

        Args:
            seed: An integer (slot i gets ``seed + i``), or one for each slot. Without one, slots go
                on deterministically from their last episodes; slots that were never seeded draw
                their seeds from the operating system.
            which: Which slots to reset; default all.

        Returns:
            Observations (envs, agents, length) and infos, with ``seed`` (the effective ones),
            ``action_mask`` and ``alive``.
        """
        self._require_open()
        chosen = np.arange(self.num_envs) if which is None else np.flatnonzero(which)
        states = self.batch.states
        seeds: Sequence[int | None] = self._spread(seed)
        for slot in chosen.tolist():
            given = seeds[slot]
            if given is not None:
                states["base"][slot], states["episode"][slot] = check_seed(given), 0
            elif self._ready[slot]:
                states["episode"][slot] += np.uint64(1)
            else:
                states["base"][slot], states["episode"][slot] = fresh_seed(), 0
        if self.world.reset_batch(self.batch, chosen.astype(np.int64)):
            raise self._fault()
        self._ready[chosen] = True
        if self.events.active:
            self.events.post("batch_reset", slots=chosen.tolist())
        return self._pick(self.batch.obs), {"seed": self.seeds(), **self._infos()}

    def _spread(self, seed: Any) -> Sequence[int | None]:
        """Return one seed, or none, for every slot."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, list | tuple | np.ndarray):
            if len(seed) != self.num_envs:
                raise ConfigError(f"{len(seed)} seeds for {self.num_envs} environments")
            return [None if item is None else check_seed(item) for item in seed]
        first = check_seed(seed)
        return [first + slot for slot in range(self.num_envs)]

    def seeds(self) -> NDArray[np.int64]:
        """Return the effective seed of every slot's present episode."""
        return self.batch.states["seed"].astype(np.int64)

    def step(self, actions: Any) -> Step:
        """Let every agent act once.

        Args:
            actions: Integers, shape (envs, agents).

        Returns:
            Observations (envs, agents, length), rewards, terminated and truncated (envs, agents),
            and infos: ``action_mask``, ``alive``, ``outcome`` (codes of `OUTCOMES`), and under
            ``autoreset="same_step"`` also ``final_obs`` with ``_final_obs`` (which slots ended).

        Raises:
            ActionError: If the actions are not integers of the right shape in the action space;
                nothing has happened then.
        """
        self._require_open()
        if not self._ready.all():
            raise ResetNeededError("call reset() before the first step")
        acts = self._take(actions)
        if self._seats:
            self._ask_partners(acts)
        advance = self._advance_heard if self.events.active else self._advance
        found = advance(acts)
        if found < 0:
            slot, agent = divmod(-1 - found, len(self.world.agents))
            raise ActionError(
                f"action {acts[slot, agent]} of {self.world.agents[agent]} in slot {slot} is not "
                f"allowed; actions are integers from 0 to {self.world.num_actions - 1}"
            )
        if found > 0:
            raise self._fault()
        batch = self.batch
        return (
            self._pick(batch.obs),
            self._pick(batch.rewards),
            self._pick(batch.terminated),
            self._pick(batch.truncated),
            self._infos(stepped=True),
        )

    def _advance(self, acts: NDArray[np.int32]) -> int:
        """Let the kernel do one step."""
        return self.world.step_batch(self.batch, self._mode, self._focal, acts.reshape(-1))

    def _advance_heard(self, acts: NDArray[np.int32]) -> int:
        """Do one step and post it, before any episode that it ended gives way to the next."""
        batch, agents = self.batch, len(self.world.agents)
        alive = batch.states["alive"][:, :agents].astype(np.bool_)
        over = batch.states["over"].astype(np.bool_)
        same_step = self._mode == AUTORESET["same_step"]
        mode = AUTORESET["disabled"] if same_step else self._mode
        found = self.world.step_batch(batch, mode, self._focal, acts.reshape(-1))
        if found:
            return found
        self.events.post("batch_step", acts=acts, alive=alive, over=over)
        if self._mode == AUTORESET["next_step"] and over.any():
            self.events.post("batch_reset", slots=np.flatnonzero(over).tolist())
        if same_step:
            found = self._renew(np.flatnonzero(batch.states["ended"]))
        return found

    def _renew(self, ended: NDArray[np.int64]) -> int:
        """Start the next episodes of environments, as the kernel does in the same step."""
        batch = self.batch
        batch.final_obs[ended] = batch.obs[ended]
        outputs = (batch.rewards, batch.terminated, batch.truncated, batch.events)
        kept = [part[ended] for part in outputs]
        batch.states["episode"][ended] += np.uint64(1)
        faults = self.world.reset_batch(batch, ended)
        for part, values in zip(outputs, kept, strict=True):
            part[ended] = values
        if ended.size and not faults:
            self.events.post("batch_reset", slots=ended.tolist())
        return faults

    def _take(self, actions: Any) -> NDArray[np.int32]:
        """Check type and shape of the actions and put them in their places."""
        given = np.asarray(actions)
        shape = (self.num_envs, len(self._own))
        if given.shape != shape or given.dtype.kind not in "iu":
            raise ActionError(
                f"actions are integers of shape {shape}, not {given.dtype} of shape {given.shape}"
            )
        if self._everybody:
            return np.ascontiguousarray(given, np.int32)
        self._acts[:, self._own] = given
        return self._acts

    def _infos(self, stepped: bool = False) -> Infos:
        """Return what stands beside the observations."""
        batch = self.batch
        infos: Infos = {"action_mask": self._pick(batch.masks), "alive": self.alive()}
        if stepped:
            infos["outcome"] = self._outcomes[self._pick(batch.events)]
            if self._mode == AUTORESET["same_step"]:
                infos["_final_obs"] = batch.states["ended"].astype(np.bool_)
                infos["final_obs"] = self._pick(batch.final_obs)
        return infos

    def _pick(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the caller's agents' part of an array, as a copy unless ``copy=False``."""
        if self._everybody:
            return values.copy() if self.copy else values
        return values[:, self._own]

    # -- partners -------------------------------------------------------------------------

    def _seat_partners(self) -> None:
        """Find out how partners act: all slots at once, or looped over with a warning."""
        for number, agent in self._seats.items():
            agent.set_id(self.world.agents[number])
            if type(agent).act_batch is not Agent.act_batch or number in self._loops:
                continue
            warnings.warn(
                f"{type(agent).__name__} has no act_batch and is asked once an environment",
                UserWarning,
                stacklevel=4,
            )
            self._loops[number] = [type(agent)() for _ in range(self.num_envs)]

    def _partner_seeds(self, number: int) -> NDArray[np.uint64]:
        """Return the seed of one seat in every slot, as `Agent.reset` gets it."""
        stream = StreamId.PARTNER + number
        return np.array([stream_key(s, stream) for s in self.seeds().tolist()], np.uint64)

    def _ask_partners(self, acts: NDArray[np.int32]) -> None:
        """Fill in what the partners do."""
        batch, steps = self.batch, self.batch.states["t"].astype(np.int64)
        for number, agent in self._seats.items():
            seeds = self._partner_seeds(number)
            if number in self._loops:
                acts[:, number] = self._ask_in_turn(number, seeds, steps)
                continue
            percept = BatchPercept(batch.obs[:, number], batch.masks[:, number], seeds, steps)
            acts[:, number] = agent.act_batch(percept)

    def _ask_in_turn(
        self, number: int, seeds: NDArray[np.uint64], steps: NDArray[np.int64]
    ) -> list[int]:
        """Ask a partner that can act in one environment at a time only."""
        if self._scratch is None:
            self._scratch = type(self.world)(self.world.config)
        chosen, noop = [], self.world.commands.index(self.world.noop)
        for slot, agent in enumerate(self._loops[number]):
            if not self.batch.states["alive"][slot, number]:
                chosen.append(noop)
                continue
            world = self._at(slot)
            if steps[slot] == 0:
                agent.reset(int(seeds[slot]))
            agent.perceive(Percept(world, number, int(steps[slot])))
            act = to_act(world, number, agent.act())
            chosen.append(world.commands.index(act) if isinstance(act, Command) else int(act))  # type: ignore[arg-type]
        return chosen

    def _at(self, slot: int) -> ArrayWorld[Any, Any]:
        """Return a single world in the state of one slot; it is the same object each time."""
        world = self._scratch = self._scratch or type(self.world)(self.world.config)
        world.one["state"] = self.batch.states[slot]
        world.one["table"] = self.batch.tables[self.batch.states["config"][slot]]
        world.one["state"]["config"] = 0
        world.refresh()
        return world

    def single(self, slot: int) -> ArrayWorld[Any, Any]:
        """Return a world in the state of one slot, for questions; it is overwritten by the next."""
        self._require_open()
        return self._at(slot)

    def masks(self) -> NDArray[np.int8]:
        """Return the masks of now, shape (envs, agents, actions)."""
        return self._pick(self.batch.masks)

    def alive(self) -> NDArray[np.bool_]:
        """Return which of the caller's agents are in play, shape (envs, agents)."""
        alive = self.batch.states["alive"][:, : len(self.world.agents)]
        return self._pick(alive).astype(np.bool_)

    def draw(self, slot: int, mode: str = "rgb_array") -> Any:
        """Draw one environment, as ``rgb_array`` or ``ansi``."""
        world = self._at(slot)
        return world.ansi() if mode == "ansi" else world.rgb()

    # -- what else can be asked -----------------------------------------------------------

    @property
    def ready(self) -> NDArray[np.bool_]:
        """Which environments were ever reset."""
        return self._ready

    @property
    def partners(self) -> Mapping[int, Agent]:
        """Agent number -> the agent that plays it, where it is not the caller."""
        return self._seats

    @property
    def outcome_codes(self) -> NDArray[np.uint8]:
        """What became of every agent's command in the last step, shape (envs, all agents)."""
        return self._outcomes[self.batch.events]

    def config_of(self, slot: int) -> Any:
        """Return the config of one environment's present episode."""
        return self.configs[int(self.batch.states["config"][slot])]

    def digest(self, slot: int) -> str:
        """Return the digest of one environment's state."""
        row = self.batch.states[slot : slot + 1].view(np.uint8)
        return digest_bytes(row[: self.world.canonical_size].data)

    def slot_snapshot(self, slot: int) -> dict[str, Any]:
        """Return one environment's state as single environments take it up."""
        config = self.config_of(slot).model_dump(mode="json", exclude={"envelope"})
        return {**self._at(slot).snapshot(), "config": config}

    def at(self, slot: int) -> ArrayWorld[Any, Any]:
        """Return a world in the state of one environment, to look at; the same object each time."""
        return self._at(slot)

    def facts(self, slot: int, agent: str) -> Facts:
        """Return what an agent may know in one environment."""
        facts: Facts = self._at(slot).facts(self.world.agents.index(agent))
        return facts

    def text(self, slot: int, agent: str) -> str:
        """Return the canonical text of an agent in one environment."""
        world = self._at(slot)
        return world.text(world.facts(world.agents.index(agent)))

    def state(self) -> NDArray[Any]:
        """Return the global view of every environment, shape (envs, size)."""
        return np.stack([self._at(slot).state() for slot in range(self.num_envs)])

    def digests(self) -> list[str]:
        """Return the digest of every environment's state, as single environments give it."""
        rows = self.batch.states.view(np.uint8).reshape(self.num_envs, -1)
        size = self.world.canonical_size
        return [digest_bytes(row[:size].data) for row in rows]

    def reconfigure(self, config: int | Mapping[str, Any], which: Any = slice(None)) -> None:
        """Let slots take another config at their next reset.

        Args:
            config: A number in `configs`, or fields to change in the first one; a new config is
                added to `configs`.
            which: The slots, as an index or mask; default all.

        Raises:
            EnvelopeError: If the config does not fit the envelope.
        """
        if isinstance(config, Mapping):
            changed = self.configs[0].changed(config)
            self.world.admit(changed)
            self.configs.append(changed)
            table = self.world.new_batch(1, [changed]).tables
            self.batch.tables = np.concatenate([self.batch.tables, table])
            config = len(self.configs) - 1
        if not 0 <= config < len(self.configs):
            raise ConfigError(f"config {config} does not exist; there are {len(self.configs)}")
        self.batch.states["next_config"][which] = config

    def snapshot(self) -> dict[str, Any]:
        """Return all environments as one JSON-able value."""
        self._require_open()
        raw = base64.b64encode(self.batch.states.tobytes()).decode()
        return {**self._label(), "ready": self._ready.tolist(), "states": raw}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take up a snapshot of a batch of the same size and configs.

        Raises:
            SnapshotError: If it is of something else, or damaged.
        """
        self._require_open()
        wanted = self._label()
        for key, value in wanted.items():
            if snapshot.get(key) != value:
                raise SnapshotError(
                    f"this snapshot has {key}={snapshot.get(key)!r:.60}; here: {value!r:.60}"
                )
        try:
            raw = base64.b64decode(snapshot["states"], validate=True)
            states = np.frombuffer(raw, self.batch.states.dtype).copy()
            ready = np.array(snapshot["ready"], np.bool_)
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotError(f"this snapshot is damaged: {error}") from None
        if states.shape != self.batch.states.shape or ready.shape != self._ready.shape:
            raise SnapshotError("this snapshot is of another number of environments")
        self._check_records(states)
        self.batch.states[...] = states
        self._ready[...] = ready
        self.world.look_batch(self.batch)
        self.events.post("batch_restore")

    def _check_records(self, states: NDArray[Any]) -> None:
        """Raise `SnapshotError` if a record holds what no kernel may see."""
        count = len(self.configs)
        for slot, record in enumerate(states):
            if not (0 <= record["config"] < count and 0 <= record["next_config"] < count):
                raise SnapshotError(f"slot {slot} of this snapshot has an unknown config")
            problem = self.world.state_problem(record, self.batch.tables[record["config"]])
            if problem:
                raise SnapshotError(f"slot {slot} of this snapshot: {problem}")

    def _label(self) -> dict[str, Any]:
        """Return what a snapshot must agree in."""
        return {
            "schema": SNAPSHOT_SCHEMA,
            "world": self.world.name,
            "version": self.world.version,
            "num_envs": self.num_envs,
            "record": self.batch.states.dtype.itemsize,
            "configs": [c.model_dump(mode="json", exclude={"envelope"}) for c in self.configs],
        }

    def close(self) -> None:
        """Give back memory; closing twice does no harm."""
        if not self._closed:
            self._closed = True
            self.events.post("close")

    def _require_open(self) -> None:
        """Raise `ClosedError` after `close`."""
        if self._closed:
            raise ClosedError(f"this batch of {self.world.name} is closed; make another one")

    def _fault(self) -> GenerationError:
        """Say in which slot no level could be made."""
        slot = int(np.flatnonzero(self.batch.states["fault"])[0])
        state = self.batch.states[slot]
        config = self.configs[int(state["config"])]
        why = self.world.explain_fault(int(state["fault"]), config)
        return GenerationError(f"slot {slot}: {why}")


def batch_env(
    name: str | WorldConfig,
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
        partners: Policies for agents that the caller does not play, by agent.
        configs: Further configs (fields that differ from the first); slots take them through
            `BatchEnv.reconfigure`.
        autoreset: ``"next_step"`` (the step after an episode's last one resets and ignores the
            actions), ``"same_step"`` or ``"disabled"``. An episode ends with its last agent.
        copy: ``False`` returns the arrays that the next step overwrites.
        envelope: The largest sizes that later configs may have.
        config: Fields of the world's config.

    Raises:
        UnsupportedError: If the world has no batched kernel.
        UnknownNameError, ConfigError, EnvelopeError: Each says what is wrong and what is allowed.

    Example:
        >>> env = batch_env("GridWorld", num_envs=3, agents=2)
        >>> observations, infos = env.reset(seed=0)
        >>> observations.shape[:2], infos["seed"].tolist()
        ((3, 2), [0, 1, 2])
    """
    checked, spec, _ = resolve(name, None, envelope, config)
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
