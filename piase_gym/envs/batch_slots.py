"""The environments of a batch one by one: their facts, texts, pictures and digests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.digest import digest_bytes
from piase_gym.core.world import Facts
from piase_gym.envs.partners import agent_number
from piase_gym.errors import ConfigError, GenerationError, UnsupportedError
from piase_gym.worlds.array_world import ArrayWorld
from piase_gym.worlds.batch_arrays import stacked

AUTORESET = {"disabled": 0, "next_step": 1, "same_step": 2}
"""How kernels know the modes of autoreset."""

MOST_SINGLE = 65_536
"""Most environments that are stepped one after the other."""


def check_num_envs(num_envs: object) -> int:
    """Return a number of environments.

    Raises:
        ConfigError: If it is not a positive integer.
    """
    if isinstance(num_envs, int | np.integer) and not isinstance(num_envs, bool) and num_envs > 0:
        return int(num_envs)
    raise ConfigError(f"num_envs must be a positive integer, not {num_envs!r:.60}")


def check_singles(num_envs: object, world: str) -> int:
    """Return how many environments to step one after the other.

    Raises:
        ConfigError: If it is not a positive integer, or larger than `MOST_SINGLE`.
    """
    count = check_num_envs(num_envs)
    if count > MOST_SINGLE:
        raise ConfigError(
            f"num_envs={count} is too many: {world} is stepped one environment after the other "
            f"here; allowed: up to {MOST_SINGLE}"
        )
    return count


def find_slots(which: Any, count: int) -> NDArray[np.int64]:
    """Return the numbers of slots that are given as flags, one a slot, or as numbers.

    Raises:
        ConfigError: If they are neither, or a number is out of range or given twice.
    """
    if which is None:
        return np.arange(count)
    try:
        given = np.asarray(which)
    except ValueError:  # their lengths differ
        given = np.asarray(None)
    if given.dtype == np.bool_ and given.shape == (count,):
        return np.flatnonzero(given)
    if given.ndim <= 1 and (given.dtype.kind in "iu" or not given.size):
        numbers = np.atleast_1d(given).tolist()
        if all(0 <= n < count for n in numbers) and len(set(numbers)) == len(numbers):
            return np.array(numbers, np.int64)
    raise ConfigError(
        f"slots are given by {count} flags (True and False), or by different numbers from 0 to "
        f"{count - 1}, not by {which!r:.60}"
    )


def require_memory(world: ArrayWorld[Any, Any], num_envs: int, configs: list[Any]) -> None:
    """Refuse more environments than the memory of this machine can hold.

    Raises:
        ConfigError: If there are too many.
    """
    one = world.new_batch(1, configs)
    arrays = [part for part in vars(one).values() if isinstance(part, np.ndarray)]
    size = sum(part.nbytes for part in arrays if part is not one.tables)
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not told here
        memory = 2**40
    if num_envs * size > memory:
        raise ConfigError(
            f"num_envs={num_envs} is too many: each takes {size:,} bytes, and this machine has "
            f"{memory:,}, enough for {memory // size}"
        )


class Slots:
    """The arrays of a batch, and the look at its slots, which changes nothing.

    Attributes:
        world: A world of the same config, for its spaces, texts and prompts.
        num_envs: How many environments.
        configs: The configs that slots can have.
        expecting: Whether agents enter after the reset in any of them.
        batch: The arrays.
        results: How episodes ended for agents in the last step, as places in `RESULTS`, shape
            (envs, agents of the world).
    """

    def __init__(self, world: ArrayWorld[Any, Any], num_envs: int, configs: list[Any]) -> None:
        """Allocate a batch; the world to show slots in is made when first needed.

        Raises:
            EnvelopeError: If a config does not fit the world's envelope.
            ConfigError: If there is not enough memory for so many.
        """
        for config in configs:
            world.check_config(config)
        require_memory(world, num_envs, configs)
        self.world = world
        self.num_envs = num_envs
        self.configs = configs
        self.awaiting_agents = any(map(self._comes_late, configs))
        self.batch = world.new_batch(num_envs, configs)
        self.results = np.zeros((num_envs, len(world.agents)), np.uint8)
        self._scratch: ArrayWorld[Any, Any] | None = None
        self._hints: dict[int, tuple[int, list[str | None]]] = {}
        """The words of hints by slot, with the seed of the episode in which they were given."""

    def _comes_late(self, config: Any) -> bool:
        """Tell whether somebody enters after the reset under a config."""
        return not all(self.world.opens(config, agent) for agent in range(config.agents))

    def at(self, slot: int) -> ArrayWorld[Any, Any]:
        """Return a world in the state of one slot; it is the same object each time."""
        world = self._scratch = self._scratch or type(self.world)(self.world.config)
        world.one["state"] = self.batch.states[slot]
        world.one["table"] = self.batch.tables[self.batch.states["config"][slot]]
        world.one["state"]["config"] = 0
        world.hints = self.hints_of(slot)
        world.refresh()
        return world

    def hints_of(self, slot: int) -> list[str | None]:
        """Return the words that agents of a slot are shown; vectors have a code of them."""
        seed, hints = self._hints.get(slot, (-1, []))
        if seed == int(self.batch.states["seed"][slot]):
            return list(hints)
        return [None] * len(self.world.agents)

    def show_hint(self, slot: int, number: int, hint: str | None) -> str | None:
        """Show words to an agent in one environment; returns what of them is shown."""
        world = self.at(slot)
        world.give_hint(number, hint)
        states = self.batch.states
        for name in world.canonical:
            states[name][slot] = world.states[name][0]
        self.batch.obs[slot] = world.vectors()
        self._hints[slot] = int(states["seed"][slot]), list(world.hints)
        return world.hints[number]

    def note_results(self) -> None:
        """Keep how episodes ended in a step that was just taken, before others begin."""
        ended = self.batch.terminated | self.batch.truncated
        if ended.any():
            self.results = np.where(ended, self.world.results(self.batch.states), np.uint8(0))
        elif self.results.any():
            self.results = np.zeros_like(self.results)

    def drop_hints(self, slots: Iterable[int]) -> None:
        """Forget the words of hints where episodes begin anew."""
        for slot in slots:
            self._hints.pop(slot, None)

    def seeds(self) -> NDArray[np.int64]:
        """Return the effective seed of every slot's present episode."""
        seeds: NDArray[np.int64] = self.batch.states["seed"].astype(np.int64)
        return seeds

    def draw(self, slot: int, mode: str = "rgb_array") -> Any:
        """Draw one environment, as ``rgb_array`` or ``ansi``."""
        world = self.at(slot)
        return world.ansi() if mode == "ansi" else world.rgb()

    def config_of(self, slot: int) -> Any:
        """Return the config of one environment's present episode."""
        return self.configs[int(self.batch.states["config"][slot])]

    def slot_snapshot(self, slot: int) -> dict[str, Any]:
        """Return one environment's state as single environments take it up."""
        config = self.config_of(slot).model_dump(mode="json", exclude={"envelope"})
        return {**self.at(slot).snapshot(), "config": config}

    def facts(self, slot: int, agent: str) -> Facts:
        """Return what an agent may know in one environment."""
        facts: Facts = self.at(slot).facts(agent_number(self.world, agent))
        return facts

    def text(self, slot: int, agent: str) -> str:
        """Return the canonical text of an agent in one environment."""
        world = self.at(slot)
        return world.text(world.facts(agent_number(world, agent)))

    def state(self) -> NDArray[Any]:
        """Return the global view of every environment, shape (envs, size)."""
        return np.stack([self.at(slot).state() for slot in range(self.num_envs)])

    def digest(self, slot: int) -> str:
        """Return the digest of one environment's state."""
        row = self.batch.states[slot : slot + 1].view(np.uint8)
        return digest_bytes(row[: self.world.canonical_size].data)

    def digests(self) -> list[str]:
        """Return the digest of every environment's state, as single environments give it."""
        rows = self.batch.states.view(np.uint8).reshape(self.num_envs, -1)
        size = self.world.canonical_size
        return [digest_bytes(row[:size].data) for row in rows]

    def fault(self) -> GenerationError:
        """Say in which slot no level could be made."""
        slot = int(np.flatnonzero(self.batch.states["fault"])[0])
        state = self.batch.states[slot]
        config = self.configs[int(state["config"])]
        why = self.world.explain_fault(int(state["fault"]), config)
        return GenerationError(f"slot {slot}: {why}")


class BatchConfigs(Slots):
    """The part of a `BatchEnv` that is about configs."""

    focal: int

    def reconfigure(self, config: int | Mapping[str, Any], which: Any = slice(None)) -> None:
        """Let slots take another config at their next reset.

        Args:
            config: A number in `configs`, or fields to change in the first one; a new config is
                added to `configs`.
            which: The slots: a flag for each, their numbers, or a slice; default all.

        Raises:
            EnvelopeError: If the config does not fit the envelope.
            ConfigError: If there is no such config or slot.
        """
        slots = which if isinstance(which, slice) else find_slots(which, self.num_envs)
        if isinstance(config, Mapping):
            changed = self.configs[0].changed(config)
            self.world.check_config(changed)
            config = self.add_config(changed)
        if type(config) is not int or not 0 <= config < len(self.configs):
            raise ConfigError(f"config {config!r} does not exist; there are {len(self.configs)}")
        self.batch.states["next_config"][slots] = config

    def add_config(self, config: Any) -> int:
        """Add a config that the world admits to `configs`; returns its number.

        Raises:
            UnsupportedError: If the only learner is not there at the reset under it.
        """
        self._require_learner(config)
        self.configs.append(config)
        self.awaiting_agents |= self._comes_late(config)
        table = self.world.new_batch(1, [config]).tables
        self.batch.tables = stacked([self.batch.tables, table])
        return len(self.configs) - 1

    def _require_learner(self, config: Any) -> None:
        """Require that the agent whose end is the episode's is there from its start."""
        if self.focal >= 0 and not self.world.opens(config, self.focal):
            raise UnsupportedError(
                f"the learner {self.world.agents[self.focal]!r} is not there at the reset, as a "
                "batched kernel needs it; let it be there, or use gymnasium.make or parallel_env"
            )
