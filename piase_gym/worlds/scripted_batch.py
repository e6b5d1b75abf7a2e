"""Scripts in a batch of environments: which slot plays which, and what follows from a step."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Container, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled.stepping import NONE, REBUILD, SHOW
from piase_gym.core.script.run import ScriptRun
from piase_gym.core.script.step import after_step
from piase_gym.core.script.turn import Changes, StepArrays, any_agent
from piase_gym.core.text_encoding import HINT_CODE, hash_text
from piase_gym.errors import ConfigError, SnapshotError
from piase_gym.worlds.array_world import ArrayWorld
from piase_gym.worlds.batch_arrays import Batch

MOST_VARIANTS = 64
"""The largest number of combinations of changed settings that a script may have in a batch."""


class BatchScripts:
    """The scripts of a batch, one for each config that has one.

    Attributes:
        runs: The scripts, over all environments.
        run_of: Config number -> number of its script; -1 for none.
        variants: For each script, the config number of each combination of changed settings.
        reached: Milestones that scripts noted in the last step, by name: shape (envs, agents).
        happened: Events of the last step: (name, rows of env and agent; agent -1 is nobody).
        measures: The metrics, by name, of agents that ended in the last step, shape (envs, agents);
            0 for all others. Empty if nobody ended.
    """

    def __init__(self, world: ArrayWorld[Any, Any], count: int) -> None:
        """Start without a script."""
        self._world, self._count = world, count
        self.runs: list[ScriptRun] = []
        self.run_of: list[int] = []
        self.variants: list[dict[tuple[int, ...], int]] = []
        self._told: list[NDArray[np.bool_]] = []
        self.reached: dict[str, NDArray[np.bool_]] = {}
        self.happened: list[tuple[str, NDArray[np.int64]]] = []
        self.measures: dict[str, NDArray[np.float64]] = {}
        self._codes: list[NDArray[np.uint8]] = []
        self._first: list[NDArray[np.uint8] | None] = []
        self._numbers: list[NDArray[np.int32]] = []
        self._shown: tuple[int, str] | None = None

    def add(self, config: Any, number: int) -> list[Any]:
        """Register a config under its number; return the configs with its script's changes.

        Raises:
            ConfigError: If there are too many combinations of changed settings.
        """
        if config.script is None:
            self.run_of.append(-1)
            return []
        run = ScriptRun(config.script, self._world, config, self._count)
        self.run_of.append(len(self.runs))
        self.runs.append(run)
        choices = [
            (0, *(k + 1 for k, c in enumerate(run.changes) if c.setting == name))
            for name in config.script.settings
        ]
        combined = [*itertools.product(*choices)]
        if len(combined) > MOST_VARIANTS:
            raise ConfigError(
                f"the script of this {self._world.name} changes settings in {len(combined)} "
                f"combinations; at most {MOST_VARIANTS} in a batch"
            )
        self.variants.append({key: number + k for k, key in enumerate(combined)})
        numbers = np.zeros([1 + max(row) for row in zip(*combined, strict=True)], np.int32)
        for key, variant in self.variants[-1].items():
            numbers[key] = variant
        self._numbers.append(numbers)
        words = run.all_words()
        codes = np.array([[hash_text(note) for note in row] for row in words])
        self._codes.append(codes)
        self._first.append(codes[:, 0].ravel() if codes[:, 0].any() else None)
        found = []
        for key in combined[1:]:
            self.run_of.append(len(self.runs) - 1)
            chosen = [run.changes[k - 1] for k in key if k]
            fields = {change.setting: change.value for change in chosen}
            found.append(config.changed(fields).pinned(self._world.envelope))
        return found

    def of(self, states: NDArray[Any], slot: int) -> ScriptRun | None:
        """Return the script that a slot plays."""
        number = self.run_of[int(states["config"][slot])]
        return None if number < 0 else self.runs[number]

    def digest(self, states: NDArray[Any], slot: int, found: str) -> str:
        """Return a digest that also stands for the script's state in a slot."""
        return self._world.digest_with(found, self.of(states, slot), slot)

    def _playing(self, batch: Batch, number: int) -> NDArray[np.bool_] | None:
        """Return which slots play a script; ``None`` stands for all."""
        if self.run_of.count(number) == len(self.run_of):
            return None
        return np.asarray(np.array(self.run_of)[batch.states["config"]] == number)

    # -- episodes ---------------------------------------------------------------------------

    def begin(self, batch: Batch, which: NDArray[np.int64], keep: bool) -> None:
        """Start the scripts of new episodes, and show the goals.

        Args:
            batch: The batch.
            which: The slots.
            keep: Whether to keep the rewards, flags, events and outcomes of the previous episodes'
                last steps.
        """
        shown = []
        for number, run in enumerate(self.runs):
            playing = self._playing(batch, number)
            slots = which if playing is None else which[playing[which]]
            run.begin(slots)
            first = self._first[number]
            if first is not None and slots.size:
                batch.states["hint"][slots, : len(first)] = first
                shown.append(slots)
        if not shown:
            return
        slots = shown[0] if len(shown) == 1 else np.concatenate(shown)
        names = ("rewards", "terminated", "truncated", "events", "outcomes")
        kept = {name: getattr(batch, name)[slots] for name in names if keep}
        self._world.reset_batch(batch, slots, SHOW)
        for name, values in kept.items():
            getattr(batch, name)[slots] = values

    def after(self, batch: Batch, acts: NDArray[Any], focal: int) -> int:
        """Let scripts do their part after a step; return how many episodes are over."""
        world, states = self._world, batch.states
        renewed = np.zeros(len(states), np.bool_)
        self.reached, self.happened, self._told, self.measures = {}, [], [], {}
        for number, run in enumerate(self.runs):
            played = batch.events != NONE
            playing = self._playing(batch, number)
            if playing is not None:
                played &= playing[:, None]
            turn = StepArrays(
                states=states,
                rewards=batch.rewards,
                terminated=batch.terminated,
                truncated=batch.truncated,
                played=played,
                acts=acts.reshape(played.shape),
                outcomes=batch.outcomes,
                milestones=world.reached(states, run.milestones) if run.milestones else {},
                entered=world.who_entered(batch.events) if run.script.shaping else None,
            )
            changes = after_step(run, turn)
            renewed |= self._carry_out(batch, number, changes)
            self.happened += [(run.names[k], rows) for k, rows in changes.happened]
            for name, who in changes.reached.items():
                self.reached[name] = self.reached.get(name, False) | who
            if np.count_nonzero(changes.ended):
                self._end(batch, changes.ended, focal)
            self._told.append(changes.told)
        (slots,) = renewed.nonzero()
        if slots.size:
            world.reset_batch(batch, slots, REBUILD)
        return int(np.count_nonzero(states["over"]))

    def measure(
        self, states: NDArray[Any], slots: NDArray[np.int64], agents: NDArray[np.int64]
    ) -> None:
        """Keep the metrics of agents that have just ended, before their next episodes begin."""
        numbers = np.array(self.run_of)[states["config"][slots]]
        for number, run in enumerate(self.runs):
            env, agent = slots[numbers == number], agents[numbers == number]
            for row, name in enumerate(run.script.metrics):
                shape = len(states), len(self._world.agents)
                values = self.measures.setdefault(name, np.zeros(shape))
                values[env, agent] = run.states["metrics"][env, row, agent]

    @property
    def told(self) -> list[tuple[int, int]]:
        """The agents that were told something in the last step, as (environment, agent)."""
        return [(slot, agent) for mask in self._told for slot, agent in np.argwhere(mask).tolist()]

    def _carry_out(self, batch: Batch, number: int, changes: Changes) -> NDArray[np.bool_]:
        """Show what agents were told, and apply changed settings; return which slots to rebuild."""
        run, states = self.runs[number], batch.states
        renewed = changes.touched | changes.ended
        slots, agents = changes.told.nonzero()
        if slots.size:
            hints = states["hint"].reshape(len(states), -1, HINT_CODE)
            hints[slots, agents] = self._codes[number][agents, run.states["note"][slots, agents]]
            renewed[slots] = True
        (changed,) = changes.settings.nonzero()
        if changed.size:
            chosen = run.states["settings"][changed]
            states["config"][changed] = self._numbers[number][tuple(chosen.T)]
            renewed[changed] = True
        return renewed

    def _end(self, batch: Batch, ended: NDArray[np.bool_], focal: int) -> None:
        """Mark the slots whose episode is over."""
        (slots,) = ended.nonzero()
        alive = batch.states["alive"][slots, : len(self._world.agents)] != 0
        over = slots[~(alive[:, focal] if focal >= 0 else any_agent(alive))]
        batch.states["over"][over] = batch.states["ended"][over] = 1

    # -- live changes -----------------------------------------------------------------------

    def base_of(self, number: int) -> Any | None:
        """Return the config of a number without its script's changes; ``None`` without a script."""
        run = self.run_of[number]
        return None if run < 0 else self.runs[run].base

    def variant(self, number: int, like: int, changes: Container[str]) -> int:
        """Return the number of a config's variant with the changed settings of another config.

        Args:
            number: The number of a config without changed settings.
            like: The number of another config of the same script.
            changes: Settings that are not taken over.
        """
        if self.run_of[number] < 0:
            return number
        names = self.runs[self.run_of[number]].script.settings
        kept = zip(names, self._settings(like), strict=True)
        key = tuple(0 if name in changes else k for name, k in kept)
        return self.variants[self.run_of[number]][key]

    def _settings(self, number: int) -> tuple[int, ...]:
        """Return which combination of changed settings holds in a config."""
        variants = self.variants[self.run_of[number]]
        return next(key for key, known in variants.items() if known == number)

    def move(
        self, states: NDArray[Any], slots: NDArray[np.int64], number: int
    ) -> list[tuple[ScriptRun, NDArray[np.float64], NDArray[np.int64]]]:
        """Let scripts go on in slots that are about to take another config of the same script.

        Returns:
            Runs, their present shaping potentials, and their slots, for `ScriptRun.rebase`.
        """
        found = []
        for before in np.unique(states["config"][slots]).tolist():
            which = slots[states["config"][slots] == before]
            old, new = self.run_of[before], self.run_of[number]
            if min(old, new) < 0 or self.runs[old].script != self.runs[new].script:
                continue
            run = self.runs[new]
            found.append((run, self.runs[old].potentials(states), which))
            run.states[which] = self.runs[old].states[which]
            run.states["settings"][which] = self._settings(number)
        return found

    # -- one slot ---------------------------------------------------------------------------

    def show(self, world: ArrayWorld[Any, Any], states: NDArray[Any], slot: int) -> None:
        """Give a world the script's state of a slot."""
        run = self.of(states, slot)
        if run is None:
            world.script = None
            return
        if world.script is None or world.script.script is not run.script:
            world.script = ScriptRun(run.script, world, run.base, 1)
        world.script.states[0] = run.states[slot]
        fields = run.settings(slot)
        if (shown := (id(run), repr(fields))) != self._shown:
            world.change_settings(fields)
            self._shown = shown
        world.hints = world.script.hints()

    def get_state(self) -> list[str]:
        """Return the states of all scripts."""
        return [base64.b64encode(run.states.tobytes()).decode() for run in self.runs]

    def set_state(self, given: Any) -> None:
        """Restore what `get_state` returned.

        Raises:
            SnapshotError: If it does not fit; in that case nothing has changed.
        """
        try:
            raw = [base64.b64decode(entry, validate=True) for entry in given]
            if [len(part) for part in raw] != [run.states.nbytes for run in self.runs]:
                raise ValueError("it has another length")
        except (TypeError, ValueError) as error:
            raise SnapshotError(f"the scripts' part of this snapshot is damaged: {error}") from None
        for run, part in zip(self.runs, raw, strict=True):
            run.states[...] = np.frombuffer(part, run.states.dtype)


def scripts_of(
    world: ArrayWorld[Any, Any], count: int, configs: Sequence[Any]
) -> tuple[BatchScripts | None, list[Any]]:
    """Return the scripts of configs, if any has one, and the configs with all their variants.

    Raises:
        ConfigError: If a script has too many combinations of changed settings.
    """
    if all(config.script is None for config in configs):
        return None, list(configs)
    scripts, found = BatchScripts(world, count), list[Any]()
    for config in configs:
        found += [config, *scripts.add(config, len(found))]
    return scripts, found
