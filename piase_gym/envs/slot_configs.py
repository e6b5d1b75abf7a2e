"""The configs of a batch: which there are, which each slot has, and which it takes next."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.envs.batch_checks import find_slots, require_memory
from piase_gym.envs.config_changes import Modified, read_changes, split_changes
from piase_gym.errors import ConfigError, UnsupportedError
from piase_gym.worlds.array_world import ArrayWorld, Batch
from piase_gym.worlds.scripted_batch import BatchScripts, scripts_of


class SlotConfigs:
    """The configs that slots can have, by number.

    Attributes:
        known: The configs.
        batch: The arrays, with one table per config.
        scripts: The scripts of the configs, if there are any.
        awaiting_agents: Whether agents enter after the reset in any of them.
    """

    def __init__(
        self, world: ArrayWorld[Any, Any], count: int, configs: Sequence[Any], focal: int
    ) -> None:
        """Check the configs and allocate the batch; see `BatchEnv` for the arguments."""
        self._world, self._count, self._focal = world, count, focal
        given = list(configs) or [world.config]
        for config in given:
            world.check_config(config)
        require_memory(world, count, given)
        for config in given:
            self._require_learner(config)
        self.awaiting_agents = any(map(self._has_late_joiners, given))
        self.scripts, self.known = scripts_of(world, count, given)
        self.batch: Batch = world.new_batch(count, self.known)
        self.batch.scripts = self.scripts
        self._numbers: dict[Hashable, int] = {}
        for config in given:
            number = next(k for k, known in enumerate(self.known) if known is config)
            self._numbers.setdefault(_value(config), number)

    def slots(self, which: Any) -> NDArray[np.int64]:
        """Return the numbers of the slots that are given as flags, numbers or a slice."""
        chosen = which if isinstance(which, slice) else find_slots(which, self._count)
        found: NDArray[np.int64] = np.arange(self._count)[chosen]
        return found

    def add(self, config: Any) -> int:
        """Add a config that the world admits, and return its number.

        Raises:
            UnsupportedError: If the only learner is not there at the reset under it.
        """
        self._require_learner(config)
        number = len(self.known)
        more = [config]
        if config.script is not None and self.scripts is None:
            self.scripts = self.batch.scripts = BatchScripts(self._world, self._count)
            for k, known in enumerate(self.known):
                self.scripts.add(known, k)
        if self.scripts is not None:
            more += self.scripts.add(config, number)
        self.known += more
        self._numbers.setdefault(_value(config), number)
        self.awaiting_agents |= self._has_late_joiners(config)
        self.batch.add_tables(self._world.new_batch(1, more).tables)
        return number

    def number_of(self, config: Any) -> int:
        """Return the number of a config, which is added if it is new; see `add`."""
        number = self._numbers.get(_value(config))
        return self.add(config) if number is None else number

    def choose(self, config: int | Mapping[str, Any], slots: NDArray[np.int64]) -> None:
        """Let slots take a config at their next reset; see `BatchEnv.reconfigure`."""
        if isinstance(config, Mapping):
            changed = self.known[0].changed(read_changes("reconfigure", config))
            self._world.check_config(changed)
            config = self.number_of(changed)
        if type(config) is not int or not 0 <= config < len(self.known):
            raise ConfigError(f"config {config!r} does not exist; there are {len(self.known)}")
        self.batch.states["next_config"][slots] = config

    def change_next(self, changes: Mapping[str, Any], slots: NDArray[np.int64]) -> None:
        """Change fields of the configs that slots take at their next reset; see `BatchEnv`."""
        numbers = self.batch.states["next_config"][slots]
        fields = read_changes("reconfigure", changes)
        made = {n: self.known[n].changed(fields) for n in np.unique(numbers).tolist()}
        for config in made.values():
            self._world.check_config(config)
        for number, config in made.items():
            self.choose(self.number_of(config), slots[numbers == number])

    def modify(
        self,
        changes: Mapping[str, Any],
        slots: NDArray[np.int64],
        ready: NDArray[np.bool_],
        take_now: Callable[[int, NDArray[np.int64]], None],
    ) -> Modified:
        """Change fields of some slots' configs, each from its own config; see `BatchEnv.modify`.

        Args:
            changes: The fields.
            slots: The slots.
            ready: Which slots were ever reset.
            take_now: Lets slots go on at once under another config.
        """
        changes = read_changes("modify", changes)
        states, world = self.batch.states, self._world
        running = ready & states["alive"][:, : len(world.agents)].any(axis=1)
        groups: dict[tuple[int, int, bool], list[int]] = {}
        for slot in slots.tolist():
            key = int(states["config"][slot]), int(states["next_config"][slot]), bool(running[slot])
            groups.setdefault(key, []).append(slot)
        plans = []
        for (number, pending, plays), members in groups.items():
            before = self.known[number]
            config, later = before.changed(changes), self.known[pending].changed(changes)
            for checked in (config, later):
                world.check_config(checked)
            found = split_changes(world, before, config, plays)
            if found.now:
                self._check_states(before.changed(found.now), found.now, members)
            plans.append((number, np.array(members), before, found, later))
        now: dict[str, Any] = {}
        waiting: dict[str, Any] = {}
        for number, chosen, before, found, later in plans:
            if found.now:
                take_now(self._add_now(number, before, found.now), chosen)
            self.choose(self.number_of(later), chosen)
            now |= found.now
            waiting |= found.waiting
        return Modified(now, waiting)

    def _add_now(self, number: int, before: Any, now: Mapping[str, Any]) -> int:
        """Add the config under which slots go on; the changes of their script stay."""
        scripts = self.scripts
        base = None if scripts is None else scripts.base_of(number)
        added = self.number_of((base or before).changed(now))
        return added if scripts is None else scripts.variant(added, number, now)

    def _check_states(self, config: Any, now: Mapping[str, Any], slots: list[int]) -> None:
        """Raise if the state of a slot does not admit a config."""
        world = self._world
        table = world.new_batch(1, [config]).tables[0]
        for slot in slots:
            problem = world.state_problem(self.batch.states[slot], table)
            if problem:
                message = ", ".join(now)
                raise ConfigError(
                    f"{world.name}: slot {slot}: {message} cannot change now: {problem}"
                )

    def _require_learner(self, config: Any) -> None:
        """Require that the agent with which the episode ends is there from its start."""
        if self._focal >= 0 and not self._world.plays_from_reset(config, self._focal):
            raise UnsupportedError(
                f"the learner {self._world.agents[self._focal]!r} is not there at the reset, as a "
                "batched kernel needs it; let it be there, or use gymnasium.make or parallel_env"
            )

    def _has_late_joiners(self, config: Any) -> bool:
        """Return whether any agent enters after the reset under a config."""
        world, agents = self._world, range(config.agents)
        return not all(world.plays_from_reset(config, agent) for agent in agents)


def _value(config: Any) -> Hashable:
    """Return what equal configs of which the same fields were set have in common."""
    return config.model_dump_json(), frozenset(config.model_fields_set)
