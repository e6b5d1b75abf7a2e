"""Runs as Minari datasets, one per agent, for offline learning.

Observations are vectors. They are made by executing the run again, so a log of any level with step
lines will do.
"""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from gymnasium.spaces import Discrete

from piase_gym.core.commands import Command
from piase_gym.core.world import World
from piase_gym.errors import ConfigError, LogWriteError
from piase_gym.runs.manifest import command_value
from piase_gym.runs.minari_episodes import Episodes, dataset_ids, require_minari
from piase_gym.runs.reader import Run
from piase_gym.runs.replayer import Replayer
from piase_gym.runs.schema import Event

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(/[A-Za-z0-9_-]+)*")


def to_minari(run: Run, name: str, overwrite: bool) -> list[str]:
    """Write the episodes of each agent as a dataset ``<name>/<agent>-v0``.

    Dots in the names of agents become underscores, for Minari's ids have none.

    Returns:
        The ids of the datasets.

    Raises:
        ConfigError: If the name cannot be one of datasets, or two agents would have the same.
        LogWriteError: If a dataset exists, or cannot be written.
        RunError: If the run cannot be executed again, so that nothing is known of observations.
        UnsupportedError: If the world has no commands by index.
        MissingExtraError: If Minari is not installed.
    """
    _check_name(name)
    gathered = _Gatherer(run)
    world, episodes = gathered.replayer.world(), gathered.drive()
    text = f"Run {run.run_id} of {world.name}."
    return write_datasets(world, name, episodes, text, overwrite)


def _check_name(name: str) -> None:
    if not _ID.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be part of a dataset's id")


def check_datasets(
    world: World[Any, Any], name: str, agents: Iterable[str], overwrite: bool
) -> tuple[Any, list[str]]:
    """Check that datasets of agents can be written.

    Returns:
        The Minari module, and the ids of the datasets that exist already.

    Raises:
        ConfigError, LogWriteError, UnsupportedError, MissingExtraError: See `to_minari`.
    """
    _check_name(name)
    minari = require_minari(world)
    known = list(minari.list_local_datasets())
    for dataset in dataset_ids(name, agents).values():
        if not overwrite and dataset in known:
            message = f"there is a dataset {dataset} already; give another name, or overwrite=True"
            raise LogWriteError(message)
    return minari, known


def gather(run: Run) -> dict[str, list[Any]]:
    """Return the episodes of each agent of a run, as Minari takes them.

    Raises:
        RunError, UnsupportedError, MissingExtraError: See `to_minari`.
    """
    return _Gatherer(run).drive()


def write_datasets(
    world: World[Any, Any],
    name: str,
    episodes: Mapping[str, list[Any]],
    description: str,
    overwrite: bool,
) -> list[str]:
    """Write the episodes of each agent as a dataset ``<name>/<agent>-v0``.

    Args:
        world: The world that has their spaces.
        name: The first part of the ids.
        episodes: What `gather` returns.
        description: A description of the datasets.
        overwrite: Whether existing datasets may be overwritten.

    Returns:
        The ids of the datasets.

    Raises:
        ConfigError, LogWriteError: See `to_minari`.
    """
    minari, known = check_datasets(world, name, episodes, overwrite)
    ids = dataset_ids(name, episodes)
    for agent, dataset in ids.items():
        if dataset in known:
            minari.delete_dataset(dataset)
        _write(minari, dataset, episodes[agent], world, description)
    return list(ids.values())


def _write(
    minari: Any, dataset: str, episodes: list[Any], world: World[Any, Any], description: str
) -> None:
    """Write one dataset."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no author, e-mail or code link is given
        try:
            minari.create_dataset_from_buffers(
                dataset,
                [
                    dataclasses.replace(episode, id=number)
                    for number, episode in enumerate(episodes)
                ],
                observation_space=world.vector_space,
                action_space=Discrete(world.num_actions),
                description=description,
                algorithm_name="piase_gym",
            )
        except OSError as error:
            reason = error.strerror or error
            raise LogWriteError(f"the dataset {dataset} cannot be written: {reason}") from None


class _Gatherer:
    """Executes a run again and gathers what each agent saw, did and received."""

    def __init__(self, run: Run) -> None:
        self.replayer, self.episodes = Replayer(run), Episodes(run.agents)
        self._seeds: dict[int, int | None] = {}
        self._numbered: dict[tuple[int, str], list[Any]] = {}

    def drive(self) -> dict[str, list[Any]]:
        """Execute the whole run, and return the episodes of each agent."""
        require_minari(self.replayer.world())
        self.replayer.on_reset, self.replayer.on_step = self._reset, self._step
        for _ in self.replayer.executed():
            pass
        self.episodes.cut()  # the run ended in the middle of them
        return self.episodes.take()

    def _reset(self, slot: int, event: Event) -> None:
        """Begin episodes."""
        seed = event["event_data"]["seed"]
        self._seeds[slot] = seed if seed < 1 << 63 else None
        self.episodes.cut(slot)
        self._enter(slot)

    def _enter(self, slot: int) -> None:
        """Open an episode for every agent in play that has none."""
        world = self.replayer.world(slot)
        vectors = world.vectors()
        for number, name in enumerate(world.agents):
            if world.alive[number] and not self.episodes.is_open(slot, name):
                self.episodes.begin(slot, name, self._seeds[slot], vectors[number])
        self._number(slot)

    def _number(self, slot: int) -> None:
        """Note what indices mean now, where that changes from step to step."""
        world = self.replayer.world(slot)
        if self.replayer.run.manifest["actions"]:
            return
        for number, name in enumerate(world.agents):
            legal = world.masks()[number].nonzero()[0].tolist()
            self._numbered[slot, name] = [
                (k, command_value(row))
                for k in legal
                if isinstance(row := world.command(number, k), Command)
            ]

    def _step(self, slot: int, event: Event, result: Any) -> None:
        """Take in a step."""
        world, data = self.replayer.world(slot), event["event_data"]
        vectors = world.vectors()
        for name, command in data["commands"].items():
            if not self.episodes.is_open(slot, name):
                continue
            number = world.agents.index(name)
            if not isinstance(command, int):
                table = self.replayer.run.manifest["actions"]
                rows = list(enumerate(table)) if table else self._numbered[slot, name]
                command = _index(command, rows, world)
            ends = bool(result.terminated[number]), bool(result.truncated[number])
            reward = float(result.rewards[number])
            self.episodes.add(slot, name, command, reward, *ends, vectors[number])
        self._number(slot)
        if world.awaiting_agents:
            self._enter(slot)


def _index(command: Any, rows: list[Any], world: Any) -> int:
    """Return the index of a command; one that was unreadable or has none counts as the no-op."""
    rest = command_value(world.noop)
    found = {json.dumps(row, sort_keys=True): k for k, row in reversed(rows)}
    index = found.get(json.dumps(command, sort_keys=True))
    return int(found[json.dumps(rest, sort_keys=True)] if index is None else index)
