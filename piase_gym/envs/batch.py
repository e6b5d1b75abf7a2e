"""The batched environment: many environments of an array world, every agent, arrays in and out."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.agents.base import Agent
from piase_gym.compiled.stepping import AUTORESET, CONTINUE, DISABLED, NEXT_STEP, REBUILD, SAME_STEP
from piase_gym.core.config import larger
from piase_gym.core.digest import digest_bytes
from piase_gym.core.events import Events
from piase_gym.core.interrupts import uninterrupted
from piase_gym.core.last_step import LastStep
from piase_gym.core.rng import check_seed, fresh_seed, spread_seeds
from piase_gym.core.world import SNAPSHOT_SCHEMA, Facts, World
from piase_gym.envs.actions import any_out_of_range, to_indices
from piase_gym.envs.arguments import Name, characters_of, resolve
from piase_gym.envs.batch_checks import (
    Hints,
    check_num_envs,
    check_states,
    find_slots,
    read_noted,
    read_snapshot,
)
from piase_gym.envs.config_changes import Modified
from piase_gym.envs.last_steps import RestoredSteps, TakenStep
from piase_gym.envs.observations import ObservationStyle
from piase_gym.envs.partners import BatchPartners, Partners, agent_number, read_partners
from piase_gym.envs.runner import MOST_DRAWS
from piase_gym.envs.slot_configs import SlotConfigs
from piase_gym.errors import (
    ActionError,
    ClosedError,
    ConfigError,
    EnvelopeError,
    GenerationError,
    PiaseError,
    ResetNeededError,
    UnsupportedError,
    require_known,
)
from piase_gym.registry import load
from piase_gym.worlds.array_world import ArrayWorld, steps_in_batches
from piase_gym.worlds.batch_arrays import bytes_of, packed
from piase_gym.worlds.scripted_batch import BatchScripts

BEFORE_FIRST = np.uint64(2**64 - 1)
"""The episode number before 0; episode 0 is that of the given seed itself."""
MOST_SHOWN = 32
"""How many worlds are kept for looking at slots, one per config: taking a config is slow."""
Infos = dict[str, Any]
Step = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]


class BatchEnv:
    """`num_envs` environments of one array world. Made by `batch_env`.

    Arrays have the environments first and the caller's agents second. An agent that is not in
    play has an observation of zeros and a mask that allows the no-op; its actions are ignored. With
    an integer seed s, slot i has the very episodes of a single environment seeded with ``s + i``.

    Attributes:
        world: A world of the same config, for its spaces, texts and prompts.
        num_envs: How many environments.
        configs: The configs that slots can have.
        batch: The arrays.
        ready: Which environments have ever been reset.
        results: How episodes ended for agents in the last step, as indices into `RESULTS`, shape
            (envs, agents of the world).
        partners: Agent number -> the agent that plays it, where it is not the caller.
        agents: The agents that the caller plays, in the order of the arrays.
        observation_space: The space of one agent's vector.
        action_space: The space of one agent's actions.
        focal: The number of the agent with which the episode ends, or -1 for the last agent.
        events: The bus on which ``batch_reset``, ``batch_begun``, ``batch_step``, ``batch_ended``,
            ``batch_modify``, ``batch_restore``, ``hint``, ``rebuild`` and ``close`` are posted, and
            ``log`` by whoever adds lines to a run.
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
        infos: str = "full",
        dtype: str | None = None,
    ) -> None:
        """Allocate the batch; see `batch_env` for the arguments."""
        self.num_envs = check_num_envs(num_envs)
        require_known("autoreset", autoreset, AUTORESET)
        self._style = ObservationStyle("vector", infos=infos, dtype=dtype)
        self._style.check()
        self.copy = copy
        self.events = Events()
        self.admits: Callable[[BatchEnv, NDArray[np.int64]], NDArray[np.bool_]] | None = None
        """Decides which slots may keep the levels that they have just drawn; others draw again."""
        self.world = world
        self._mode, self.focal = AUTORESET[autoreset], focal
        self._slot_configs = SlotConfigs(world, self.num_envs, configs, focal)
        self.configs, self.batch = self._slot_configs.known, self._slot_configs.batch
        self._partners = BatchPartners(world, self.num_envs, partners)
        self.partners: Mapping[int, Agent] = self._partners.agents
        self._caller_agents = [i for i in range(len(world.agents)) if i not in self.partners]
        self.agents = tuple(world.agents[i] for i in self._caller_agents)
        self._everybody = not self.partners
        self.observation_space = self._style.vector_space(world.vector_space)
        self.action_space = spaces.Discrete(world.num_actions)
        self.results = np.zeros((self.num_envs, len(world.agents)), np.uint8)
        self._final_masks = self.batch.masks.copy()
        self._any_result = False
        self._acts = np.zeros((self.num_envs, len(world.agents)), np.int32)
        self.ready, self._all_ready = np.zeros(self.num_envs, np.bool_), False
        self._hints: Hints = {}
        self._shown_worlds: dict[int, ArrayWorld[Any, Any]] = {}
        self._last: TakenStep | RestoredSteps | None = None  # not kept
        if self._partners.look:
            self.note_steps()
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
            which: Which slots to reset: one flag per slot, or their numbers; default all.

        Returns:
            Observations (envs, agents, length) and infos, with ``seed`` (the effective ones),
            ``action_mask`` and ``alive``.

        Raises:
            ConfigError: If seeds or slots are not allowed; nothing has happened then.
        """
        self.require_open()
        chosen = find_slots(which, self.num_envs)
        states = self.batch.states
        seeds = spread_seeds(seed, self.num_envs)
        for slot in chosen.tolist():
            given = seeds[slot]
            if given is not None:
                states["given"][slot], states["episode"][slot] = given, 0
            elif states["episode"][slot] == BEFORE_FIRST:  # set by `set_next_seed`
                states["episode"][slot] = 0
            elif self.ready[slot]:
                states["episode"][slot] += np.uint64(1)
            else:
                states["given"][slot], states["episode"][slot] = fresh_seed(), 0
        self.begin(chosen)
        return self._vectors(self.batch.obs), self._infos()

    def set_next_seed(self, slot: int, seed: int) -> None:
        """Let a slot's next reset without a seed use this one; later episodes follow from it.

        Raises:
            ConfigError: If the seed is not allowed.
        """
        [number] = find_slots([slot], self.num_envs)
        states = self.batch.states
        states["given"][number], states["episode"][number] = check_seed(seed), BEFORE_FIRST

    def begin(self, slots: NDArray[np.int64]) -> None:
        """Start the episodes whose numbers and seeds are in the states; see `reset`."""
        if self.world.reset_batch(self.batch, slots):
            raise self.fault()
        self.ready[slots] = True
        self._all_ready = bool(self.ready.all())
        for slot in slots.tolist():
            self._hints.pop(slot, None)
        self._post_resets(slots)

    def step(self, actions: Any) -> Step:
        """Let every agent act once.

        Args:
            actions: Integers, shape (envs, agents).

        Returns:
            Observations (envs, agents, length), rewards, terminated and truncated (envs, agents),
            and infos: ``action_mask``, ``alive``, ``outcome`` (codes of `OUTCOMES`), ``result``
            (codes of `RESULTS`, for agents that end in this step), if there are such agents and
            scenarios with metrics ``measures`` (by name, 0 for all others), and under
            ``autoreset="same_step"`` also ``final_obs`` and ``final_action_mask`` with
            ``_final_obs`` (which slots ended).

        Raises:
            ActionError: If the actions are not integers of the right shape in the action space;
                nothing has happened then.
        """
        self._require_episodes()
        acts = self._take(actions)
        if not self._everybody:
            for slot, agent, words in self._partners.ask(acts, self.batch, self.at, self.events):
                self.give_hint(slot, agent, words)
        watched = self.events.active or self._last is not None or self.admits is not None
        if watched or self._mode == SAME_STEP:
            with uninterrupted:
                found = self._step_and_post(acts)
        else:
            found = self.world.step_batch(self.batch, self._mode, self.focal, acts.reshape(-1))
            if found >= 0:
                self._note_results()
        if found < 0:
            raise self._stray(acts)
        if self._hints and self.scripts is not None:
            self._take_words(self.scripts)
        if found > 0:
            raise self.fault()
        batch = self.batch
        return (
            self._vectors(batch.obs),
            self._pick(batch.rewards),
            self._pick(batch.terminated),
            self._pick(batch.truncated),
            self._infos(stepped=True),
        )

    def _take_words(self, scripts: BatchScripts) -> None:
        """Replace hints by the words of scripts, for the agents that scripts told something."""
        for slot, agent in scripts.told:
            run = scripts.of(self.batch.states, slot)
            if slot in self._hints and run is not None:
                self._hints[slot][1][agent] = run.hints(slot)[agent]

    def _take(self, actions: Any) -> NDArray[np.int32]:
        """Check the actions before anything changes, and put them in their places.

        The kernel itself checks int32 actions that go to it as they are.
        """
        given = to_indices(actions, (self.num_envs, len(self._caller_agents)))
        plain = self._everybody and given.dtype == np.int32
        if not plain and any_out_of_range(given, self.world.num_actions):
            raise self._stray(given)
        if self._everybody:
            return np.ascontiguousarray(given, np.int32)
        self._acts[:, self._caller_agents] = given
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
        """Return the infos that go with the observations."""
        batch = self.batch
        full, masked = self._style.full, self._style.tells_masks
        infos: Infos = {} if stepped or not full else {"seed": self.seeds()}
        if masked:
            infos["action_mask"] = self._pick(batch.masks)
        if full:
            infos["alive"] = self._pick(batch.alive) if stepped else self.alive()
        if stepped and full:
            infos["outcome"] = self._pick(batch.outcomes)
            infos["result"] = self._pick(self.results)
            if self._any_result and self.scripts is not None and self.scripts.measures:
                measures = self.scripts.measures.items()
                infos["measures"] = {name: self._pick(values) for name, values in measures}
        if stepped and self._mode == SAME_STEP:
            infos["_final_obs"] = batch.states["ended"].astype(np.bool_)
            infos["final_obs"] = self._vectors(batch.final_obs)
            if masked:
                infos["final_action_mask"] = self._pick(self._final_masks)
        return infos

    def _vectors(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the caller's agents' observations, in the wanted type."""
        if self._style.dtype is None:
            return self._pick(values)
        return self._picked(values).astype(self._style.dtype)

    def _pick(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the caller's agents' part of an array, as a copy unless ``copy=False``."""
        return values.copy() if self.copy and self._everybody else self._picked(values)

    def _picked(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the caller's agents' part of an array that is new."""
        return values if self._everybody else values[:, self._caller_agents]

    def masks(self) -> NDArray[np.int8]:
        """Return the present masks, shape (envs, agents, actions)."""
        self._require_episodes()
        return self._pick(self.batch.masks)

    def alive(self) -> NDArray[np.bool_]:
        """Return which of the caller's agents are in play, shape (envs, agents)."""
        flags = self.batch.states["alive"][:, : len(self.world.agents)]
        return self._picked(flags.astype(np.bool_))

    def _step_and_post(self, acts: NDArray[np.int32]) -> int:
        """Step with the kernel, and post the end of every episode before the next one begins.

        Returns:
            What the kernel returns: 0, or which action or slot is at fault.
        """
        batch, agents = self.batch, len(self.world.agents)
        alive = batch.states["alive"][:, :agents].astype(np.bool_)
        over = batch.states["over"].astype(np.bool_)
        marks = None if self._last is None else batch.states["marks"][:, :agents].copy()
        same_step = self._mode == SAME_STEP
        mode = DISABLED if same_step else self._mode
        found = self.world.step_batch(batch, mode, self.focal, acts.reshape(-1))
        if found < 0:
            return found
        self._note_results()
        done = None
        if marks is not None:
            playing = alive & ~over[:, None]
            self._last = done = TakenStep(
                self.world, batch, self.scripts, acts.copy(), playing, marks
            )
        if found:
            return found
        self.events.post("batch_step", acts=acts, alive=alive, over=over, done=done)
        if self._mode == NEXT_STEP and over.any():
            self._post_resets(np.flatnonzero(over))
        ended = np.flatnonzero(batch.states["ended"])
        self.events.post("batch_ended", slots=ended.tolist())
        if same_step and ended.size:
            self._final_masks[ended] = batch.masks[ended]
            found = self.world.renew_batch(batch, ended)
            if not found:
                self._post_resets(ended)
        return found

    def _post_resets(self, slots: NDArray[np.int64]) -> None:
        """Post that episodes begin, and then that all listeners have heard of it."""
        if self.admits is not None:
            self._draw_admitted(slots)
        if self.events.active:
            self.events.post("batch_reset", slots=slots.tolist())
            self.events.post("batch_begun", slots=slots.tolist())

    def _draw_admitted(self, slots: NDArray[np.int64]) -> None:
        """Go on to the next episode in slots whose levels are not admitted, until they are.

        Raises:
            GenerationError: If a hundred draws in a row give none.
        """
        assert self.admits is not None
        for _ in range(MOST_DRAWS):
            slots = slots[~self.admits(self, slots)]
            if not slots.size:
                return
            if self.world.reset_batch(self.batch, slots, CONTINUE):
                raise self.fault()
        raise GenerationError(
            f"slot {slots[0]}: {MOST_DRAWS} draws gave no level that is admitted; the id has too "
            "few levels to keep some apart"
        )

    def _note_results(self) -> None:
        """Keep how episodes ended in the step that was just taken, before new ones begin."""
        slots, agents = (self.batch.terminated | self.batch.truncated).nonzero()
        if slots.size or self._any_result:
            self.results = np.zeros(self.results.shape, self.results.dtype)
        if slots.size:
            fates = self.batch.states["fate"][slots, agents]
            self.results[slots, agents] = self.world.results(fates)
            if self.scripts is not None:
                self.scripts.measure(self.batch.states, slots, agents)
        self._any_result = slots.size > 0

    def fault(self) -> GenerationError:
        """Say in which slot no level could be made."""
        slot = int(np.flatnonzero(self.batch.states["fault"])[0])
        state = self.batch.states[slot]
        why = self.world.explain_fault(int(state["fault"]), self.config_of(slot))
        return GenerationError(f"slot {slot}: {why}")

    # -- single environments --------------------------------------------------------------

    def at(self, slot: int) -> ArrayWorld[Any, Any]:
        """Return a world in the state of one slot; slots with the same config share one object."""
        number = int(self.batch.states["config"][slot])
        world = self._shown_worlds.get(number)
        if world is None:
            if len(self._shown_worlds) >= MOST_SHOWN:
                self._shown_worlds.clear()
            world = self._shown_worlds[number] = type(self.world)(self.world.config)
            if number:
                world.take_config(self.configs[number])
        batch, state = self.batch, self.batch.states[slot]
        world.one["state"], world.one["table"] = state, batch.tables[number]
        world.one["state"]["config"] = 0
        world.forget_events()
        seed, hints = self._hints.get(slot, (-1, []))
        shown = seed == int(self.batch.states["seed"][slot])  # they are of the present episode
        world.hints = [None] * len(world.agents)
        if self.scripts is not None:
            self.scripts.show(world, self.batch.states, slot)
        if shown:
            world.hints = list(hints)
        world.refresh()
        world.show(batch.events[slot], batch.obs[slot])
        begun = bool(state["t"])
        if not begun:
            world.forget_events()  # they can be those of the episode before
        if begun and self._last is not None:
            self._last.show(world, slot)
        else:
            world.note_step((), None)
        return world

    def note_steps(self) -> None:
        """From the next step on, keep what it takes for slots to tell what agents did in the last.

        Steps cost more then. Logs ask for it, and so do partners that are asked once per
        environment, because texts tell it. A log that begins knows no step before, even if
        another does, so that lines and columns tell the same.
        """
        if self._last is None or not self._partners.look:
            self._last = RestoredSteps({})

    def seeds(self) -> NDArray[np.int64]:
        """Return the effective seed of every slot's present episode."""
        seeds: NDArray[np.int64] = self.batch.states["seed"].astype(np.int64)
        return seeds

    def draw(self, slot: int, mode: str = "rgb_array") -> Any:
        """Draw one environment, as ``rgb_array`` or ``ansi``."""
        require_known("render_mode", mode, ("ansi", "rgb_array"))
        world = self.single(slot)
        return world.ansi() if mode == "ansi" else world.rgb()

    def config_of(self, slot: int) -> Any:
        """Return the config of one environment's present episode."""
        return self.configs[int(self.batch.states["config"][slot])]

    def base_config(self, number: int) -> Any:
        """Return one of `configs` without its script's changes, which last for one episode."""
        scripts = self.scripts
        return (scripts and scripts.base_of(number)) or self.configs[number]

    def slot_snapshot(self, slot: int) -> dict[str, Any]:
        """Return one environment's state in the form that `World.restore` takes."""
        base = self.base_config(int(self.batch.states["config"][slot]))
        config = base.saved()
        return {**self.at(slot).snapshot(), "config": config}

    def facts(self, slot: int, agent: str) -> Facts:
        """Return what an agent may know in one environment."""
        facts: Facts = self.single(slot).facts(agent_number(self.world.agents, agent))
        return facts

    def text(self, slot: int, agent: str) -> str:
        """Return the canonical text of an agent in one environment."""
        world = self.single(slot)
        return world.text(world.facts(agent_number(world.agents, agent)))

    def state(self) -> NDArray[Any]:
        """Return the global view of every environment, shape (envs, size)."""
        self._require_episodes()
        return np.stack([self.at(slot).state() for slot in range(self.num_envs)])

    def digest(self, slot: int) -> str:
        """Return the digest of one environment's state."""
        states = self.batch.states
        row = bytes_of(states)[slot]
        found = digest_bytes(b"".join([row[place].data for place in self.batch.places]))
        scripts = self.scripts
        return found if scripts is None else scripts.digest(states, slot, found)

    def digests(self) -> list[str]:
        """Return the digest of every environment's state, as single environments give it."""
        if self.scripts is not None:
            return [self.digest(slot) for slot in range(self.num_envs)]
        places, rows = self.batch.places, bytes_of(self.batch.states)
        return [digest_bytes(b"".join([row[place].data for place in places])) for row in rows]

    def single(self, slot: int) -> ArrayWorld[Any, Any]:
        """Return a world in the state of one slot, for queries; the next call overwrites it.

        It knows what agents did in the last step only after `note_steps`.

        Raises:
            ConfigError: If there is no such slot.
            ResetNeededError: If it was never reset.
        """
        self.require_open()
        [number] = find_slots([slot], self.num_envs)
        if not self.ready[number]:
            raise ResetNeededError(f"slot {number} was never reset; call reset() first")
        return self.at(number)

    def give_hint(self, slot: int, agent: str, hint: str | None) -> None:
        """Show words to an agent in one environment until its episode ends.

        They appear in its text and vector; the arrays of the last `step` are not changed, unless
        the batch was made with ``copy=False``.
        """
        world, number = self.single(slot), agent_number(self.world.agents, agent)
        world.give_hint(number, hint)
        states = self.batch.states
        for name in world.state_fields:
            states[name][slot] = world.states[name][0]
        self.batch.obs[slot] = world.vectors()
        self._hints[slot] = int(states["seed"][slot]), list(world.hints)
        self.events.post("hint", agent, message=world.hints[number], slot=slot)

    def post_event(
        self, event_type: str, data: Mapping[str, Any] | None = None, agent: str | None = None
    ) -> None:
        """Post an event of one's own; see `WorldAccess.post_event`."""
        if agent is not None:
            agent_number(self.world.agents, agent)
        self.events.post_event(event_type, data, agent)

    # -- configs --------------------------------------------------------------------------

    def reconfigure(self, config: int | Mapping[str, Any], which: Any = slice(None)) -> None:
        """Let slots take another config at their next reset.

        Args:
            config: A number in `configs`, or fields to change in the first one; a config that is
                new is added to `configs`, and stays there.
            which: The slots: one flag per slot, their numbers, or a slice; default all.

        Raises:
            EnvelopeError: If the config does not fit the envelope.
            ConfigError: If there is no such config or slot.
        """
        self._slot_configs.choose(config, self._slot_configs.slots(which))

    def change_next(self, changes: Mapping[str, Any], which: Any = None) -> None:
        """Change fields of the configs that slots take at their next reset, each from its own.

        Raises:
            EnvelopeError: If a new config does not fit the envelope.
            ConfigError: If a field is unknown or not allowed; nothing has changed then.
        """
        self.require_open()
        self._slot_configs.change_next(changes, find_slots(which, self.num_envs))

    def modify(self, changes: Mapping[str, Any], which: Any = slice(None)) -> Modified:
        """Change fields of slots' configs: at once those that an episode allows, the rest later.

        The arrays of the last `step` are not changed, unless the batch was made with
        ``copy=False``.

        Returns:
            The fields that change; see `WorldAccess.modify`.

        Raises:
            ConfigError: If a field is not allowed now; nothing has changed then.
            EnvelopeError: If a new config does not fit the envelope.
        """
        self.require_open()
        slots = self._slot_configs.slots(which)
        return self._slot_configs.modify(changes, slots, self.ready, self.take_now)

    def take_now(self, config: int, slots: NDArray[np.int64]) -> None:
        """Let slots go on at once under another of `configs`, which their states admit."""
        scripts, states = self.scripts, self.batch.states
        before = states["config"][slots].tolist()
        if isinstance(self._last, TakenStep):  # it was taken under the config so far
            self._last = RestoredSteps(self._last_steps())
        moved = [] if scripts is None else scripts.move(states, slots, config)
        states["config"][slots] = config
        self.batch.forget_events(slots)
        self.world.reset_batch(self.batch, slots, REBUILD)
        for run, potentials, which in moved:
            run.rebase(potentials, states, which)
        self.events.post("batch_modify", slots=slots.tolist(), before=before)

    def adjust_difficulty(self, params: Mapping[str, Any], which: Any = slice(None)) -> Modified:
        """Make the world of some slots harder or easier, as soon as allowed; see `modify`.

        Raises:
            ConfigError: If there is no such parameter, or the value is not allowed.
        """
        return self._change(lambda config: self.world.adjusted(config, params), which)

    def introduce_element(
        self, element_config: Mapping[str, Any], which: Any = slice(None)
    ) -> Modified:
        """Put something into the world of some slots, as soon as allowed; see `modify`.

        Raises:
            ConfigError: If there is no such element, or it cannot be put there.
        """
        return self._change(lambda config: self.world.introduced(config, element_config), which)

    def provide_indirect_hint(self, agent_id: str, hint: str) -> None:
        """Show words to an agent in every slot, until its episode ends."""
        for slot in range(self.num_envs):
            self.give_hint(slot, agent_id, hint)

    def _change(self, fields: Callable[[Any], Mapping[str, Any]], which: Any) -> Modified:
        """Let slots take configs that differ in some fields from those they would have taken."""
        self.require_open()
        slots = self._slot_configs.slots(which)
        numbers = self.batch.states["next_config"][slots]
        made = {n: fields(self.configs[n]) for n in np.unique(numbers).tolist()}
        for number, changes in made.items():
            self.world.check_config(self.configs[number].changed(changes))
        found = [self.modify(made[n], slots[numbers == n]) for n in made]
        now = {name: value for part in found for name, value in part.now.items()}
        return Modified(now, {k: v for part in found for k, v in part.waiting.items()})

    def add_config(self, config: Any) -> int:
        """Add a config that the world admits to `configs`, and return its number.

        Raises:
            UnsupportedError: If the only learner is not there at the reset under it.
        """
        return self._slot_configs.add(config)

    def number_of(self, config: Any) -> int:
        """Return the number of a config that the world admits, which is added if it is new."""
        return self._slot_configs.number_of(config)

    @property
    def scripts(self) -> BatchScripts | None:
        """The scripts of `configs`, if any has one."""
        return self._slot_configs.scripts

    @property
    def awaiting_agents(self) -> bool:
        """Whether agents enter after the reset under any of `configs`."""
        return self._slot_configs.awaiting_agents

    def grow_envelope(self, envelope: Mapping[str, int], partners: Partners | None = None) -> None:
        """Make room for larger configs, before the first reset; spaces become new objects.

        Args:
            envelope: Sizes that later configs may have, besides those that they may have now.
            partners: Policies for new agents.

        Raises:
            EnvelopeError: If there was a reset already, or a size is not allowed.
        """
        self.require_open()
        old, events, admits, noting = self.world, self.events, self.admits, self._last is not None
        config = larger(self.configs[0], old.envelope, envelope)
        if self.ready.any():
            raise EnvelopeError(f"this batch of {old.name} was reset, so its spaces are fixed")
        seats = {old.agents[number]: agent for number, agent in self.partners.items()}
        world = type(old)(config)
        further = [config.pinned(world.envelope) for config in self.configs[1:]]
        BatchEnv.__init__(
            self,
            world,
            self.num_envs,
            configs=[world.config, *further],
            partners={**read_partners(partners), **seats},
            autoreset=self.autoreset,
            focal=self.focal,
            copy=self.copy,
            infos=self._style.infos,
            dtype=self._style.dtype,
        )
        self.events, self.admits = events, admits
        if noting:
            self.note_steps()
        self.events.post("rebuild")

    @property
    def autoreset(self) -> str:
        """The autoreset mode: ``next_step``, ``same_step`` or ``disabled``."""
        return next(name for name, mode in AUTORESET.items() if mode == self._mode)

    @property
    def infos(self) -> str:
        """What infos have: ``full``, ``mask`` or ``none``."""
        return self._style.infos

    def snapshot(self) -> dict[str, Any]:
        """Return all environments as one JSON-serializable value."""
        self.require_open()
        hints = {str(slot): list(entry) for slot, entry in self._hints.items()}
        raw = base64.b64encode(packed(self.batch.states).tobytes()).decode()
        scripts = self.scripts
        more: dict[str, Any] = {} if scripts is None else {"scripts": scripts.get_state()}
        ready = self.ready.tolist()
        if partners := self._partners.get_state():
            more["partners"] = partners
        if self._partners.look:
            rows = self._last_steps().items()
            more["last_steps"] = {str(k): [last and last.row for last in row] for k, row in rows}
        return {**self._label(), "ready": ready, "states": raw, "hints": hints, **more}

    def _last_steps(self) -> dict[int, Sequence[LastStep | None]]:
        """Return what agents did in the last step, by slot, as far as it is kept."""
        if self._last is None:
            return {}
        begun = np.flatnonzero(self.ready & (self.batch.states["t"] > 0)).tolist()
        return {slot: self.at(slot).last_steps() for slot in begun}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot of a batch of the same size and configs.

        Raises:
            SnapshotError: If it is of something else, or damaged.
        """
        self.require_open()
        kind = packed(self.batch.states[:0]).dtype
        states, ready, hints = read_snapshot(snapshot, self._label(), kind)
        check_states(self.world, states, hints, self.batch.tables)
        partners = self._partners.read_state(snapshot.get("partners"))
        noted = read_noted(snapshot, self.num_envs, len(self.world.agents))
        if self.scripts is not None:
            self.scripts.set_state(snapshot.get("scripts"))
        self._partners.take_state(partners)
        self.batch.states[...] = states
        self.ready[...], self._all_ready = ready, bool(np.all(ready))
        self._hints, self._last = hints, self._last and RestoredSteps(noted)
        everywhere = np.arange(self.num_envs)
        self.batch.forget_events(everywhere)
        self.world.reset_batch(self.batch, everywhere, REBUILD)
        self.world.refresh_batch(self.batch)
        self.events.post("batch_restore")

    def _label(self) -> dict[str, Any]:
        """Return the entries that a snapshot must agree with."""
        return {
            "schema": SNAPSHOT_SCHEMA,
            "world": self.world.name,
            "version": self.world.version,
            "num_envs": self.num_envs,
            "record": packed(self.batch.states[:0]).itemsize,
            "configs": [c.saved() for c in self.configs],
        }

    def close(self) -> None:
        """Release memory; closing twice does no harm."""
        if not self._closed:
            self._closed = True
            self.events.post("close")

    def _require_episodes(self) -> None:
        """Raise `ResetNeededError` before all slots were reset."""
        self.require_open()
        if not self._all_ready:
            message = "call reset() first"
            raise ResetNeededError(f"slot {int(self.ready.argmin())} was never reset; {message}")

    def require_open(self) -> None:
        """Raise `ClosedError` after `close`."""
        if self._closed:
            raise ClosedError(f"this batch of {self.world.name} is closed; make another one")


def batch_env(
    name: Name,
    *,
    num_envs: int,
    partners: Partners | None = None,
    configs: Sequence[Mapping[str, Any]] = (),
    autoreset: str = "next_step",
    copy: bool = True,
    infos: str = "full",
    dtype: str | None = None,
    scenario: object = None,
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
            actions), ``"same_step"`` or ``"disabled"``. An episode ends with its last agent, or, if
            all other agents are characters of the scenario, with the caller's only one.
        copy: ``False`` to return the arrays that the next step overwrites.
        infos: ``"full"``, ``"mask"`` (``action_mask`` alone) or ``"none"``; ``"same_step"`` adds
            the last observations in any case.
        dtype: ``"float32"`` for vectors of that type; default: the world's own.
        scenario: A scenario: its name, path, dict or object.
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
    checked, spec, _, chosen, _ = resolve(name, scenario, envelope, config)
    world = load(spec.world, spec)(checked)
    if not steps_in_batches(world):
        why = _without_kernel(load(spec.world, spec), world.config)
        raise UnsupportedError(f"{spec.name} has no batched kernel{why}; use parallel_env")
    if not isinstance(configs, Sequence) or not all(isinstance(c, Mapping) for c in configs):
        raise ConfigError(
            f"configs are a list of mappings of fields to values, not {configs!r:.60}"
        )
    further = [world.config.changed(fields) for fields in configs]
    people = characters_of(chosen)
    seats = {**people, **read_partners(partners)}
    return BatchEnv(
        world,
        num_envs,
        configs=[world.config, *further],
        partners=seats,
        focal=lone_learner(world.agents, people, seats),
        autoreset=autoreset,
        copy=copy,
        infos=infos,
        dtype=dtype,
    )


def lone_learner(
    agents: Sequence[str], people: Mapping[str, Agent], seats: Mapping[str, str | Agent]
) -> int:
    """Return the number of the only learner among characters of a scenario, or -1."""
    alone = [number for number, agent in enumerate(agents) if agent not in seats]
    return alone[0] if people and len(alone) == 1 else -1


def _without_kernel(kind: type[World[Any, Any]], config: Any) -> str:
    """Name the fields of a config for which its world has no batched kernel.

    These are the fewest that must have their defaults; the string is empty if that is no help.
    """

    def batched(names: Iterable[str]) -> bool:
        plain = {name: defaults[name] for name in names}
        try:
            return kind.capabilities_of(config.changed(plain)).batched
        except PiaseError:
            return False

    fields = type(config).model_fields.items()
    defaults = {k: field.get_default(call_default_factory=True) for k, field in fields}
    defaults = {k: v for k, v in defaults.items() if k != "envelope" and getattr(config, k) != v}
    needed = list(defaults)
    if not batched(needed):
        return ""
    for name in defaults:
        rest = [other for other in needed if other != name]
        needed = rest if batched(rest) else needed
    return " for " + " and ".join(f"{name}={getattr(config, name)!r:.60}" for name in needed)
