"""Runs as Minari datasets, one an agent, for offline learning.

Observations are vectors. They are made by executing the run again, so a log of any level will do.
"""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from typing import Any

from gymnasium.spaces import Discrete

from piase_gym.core.commands import Command
from piase_gym.errors import ConfigError, LogWriteError, RunError, UnsupportedError, need
from piase_gym.runs.manifest import command_value
from piase_gym.runs.reader import Run
from piase_gym.runs.replayer import Replayer
from piase_gym.runs.schema import Event

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")


def to_minari(run: Run, name: str, overwrite: bool) -> list[str]:
    """Write the episodes of each agent as a dataset ``<name>/<agent>-v0``.

    Returns:
        The ids of the datasets.

    Raises:
        ConfigError: If the name cannot be one of datasets.
        LogWriteError: If a dataset exists.
        RunError: If the run cannot be executed again, so that nothing is known of observations.
        UnsupportedError: If the world has no commands by index.
        MissingExtraError: If Minari is not installed.
    """
    need("h5py", "Minari datasets")
    minari = need("minari", "Minari datasets")
    if not _ID.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be part of a dataset's id")
    from minari.data_collector import EpisodeBuffer

    gathered = _Gatherer(run, EpisodeBuffer)
    if not gathered.replayer.world().capabilities.discrete:
        world = run.manifest["world"]
        raise UnsupportedError(f"{world} has no commands by index, so its actions are no numbers")
    gathered.drive()
    known = minari.list_local_datasets()
    for agent, episodes in gathered.finished.items():
        if episodes and not overwrite and f"{name}/{agent}-v0" in known:
            where = f"{name}/{agent}-v0"
            raise LogWriteError(f"there is a dataset {where} already; or overwrite=True")
    ids = []
    for agent, episodes in gathered.finished.items():
        if not episodes:
            continue
        dataset = f"{name}/{agent}-v0"
        if dataset in known:
            minari.delete_dataset(dataset)
        _write(minari, dataset, episodes, gathered)
        ids.append(dataset)
    return ids


def _write(minari: Any, dataset: str, episodes: list[Any], gathered: _Gatherer) -> None:
    """Write one dataset."""
    world = gathered.replayer.world()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no author, e-mail or code link is given
        minari.create_dataset_from_buffers(
            dataset,
            [dataclasses.replace(episode, id=number) for number, episode in enumerate(episodes)],
            observation_space=world.vector_space,
            action_space=Discrete(world.num_actions),
            description=f"Run {gathered.replayer.run.run_id} of {world.name}.",
            algorithm_name="piase_gym",
        )


class _Gatherer:
    """Executes a run again and gathers what each agent saw, did and got, in Minari's buffers."""

    def __init__(self, run: Run, buffer: Any) -> None:
        self.replayer, self._buffer = Replayer(run), buffer
        self.finished: dict[str, list[Any]] = {name: [] for name in run.agents}
        self._open: dict[tuple[int, str], Any] = {}
        self._seeds: dict[int, int | None] = {}
        self._numbered: dict[tuple[int, str], list[Any]] = {}

    def drive(self) -> None:
        """Execute the whole run."""
        self.replayer.on_reset, self.replayer.on_step = self._reset, self._step
        report = self.replayer.report
        for number, event in self.replayer.events():
            self.replayer.play(number, event)
            found = report.first_divergence or report.broken
            if found is not None:
                raise RunError(f"{self.replayer.run.path} cannot be executed again: {found}")
        for key in list(self._open):  # the run ended in the midst of them
            self._close(key, cut=True)

    def _reset(self, slot: int, event: Event) -> None:
        """Let episodes begin."""
        seed = event["event_data"]["seed"]
        self._seeds[slot] = seed if seed < 1 << 63 else None
        for key in [key for key in self._open if key[0] == slot]:
            self._close(key, cut=True)
        self._enter(slot)

    def _enter(self, slot: int) -> None:
        """Open an episode for everybody who is in play and has none."""
        world = self.replayer.world(slot)
        vectors = world.vectors()
        for number, name in enumerate(world.agents):
            if world.alive[number] and (slot, name) not in self._open:
                first = [vectors[number]]
                self._open[slot, name] = self._buffer(
                    seed=self._seeds[slot], observations=first, actions=[]
                )
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

    def _step(self, slot: int, event: Event, tick: Any) -> None:
        """Take in a step."""
        world, data = self.replayer.world(slot), event["event_data"]
        vectors = world.vectors()
        for name, command in data["commands"].items():
            episode = self._open.get((slot, name))
            if episode is None:
                continue
            number = world.agents.index(name)
            if not isinstance(command, int):
                table = self.replayer.run.manifest["actions"]
                rows = list(enumerate(table)) if table else self._numbered[slot, name]
                command = _index(command, rows, world)
            episode.observations.append(vectors[number])
            episode.actions.append(command)
            episode.rewards.append(float(tick.rewards[number]))
            episode.terminations.append(bool(tick.terminated[number]))
            episode.truncations.append(bool(tick.truncated[number]))
            if tick.terminated[number] or tick.truncated[number]:
                self._close((slot, name))
        self._number(slot)
        if world.awaiting_agents:
            self._enter(slot)

    def _close(self, key: tuple[int, str], cut: bool = False) -> None:
        """End an agent's episode; one that was broken off counts as truncated."""
        episode = self._open.pop(key)
        if episode.actions:
            if cut:
                episode.truncations[-1] = True
            self.finished[key[1]].append(episode)


def _index(command: Any, rows: list[Any], world: Any) -> int:
    """Return the index of a command; what could not be read or had none counts as the no-op."""
    rest = command_value(world.noop)
    found = {json.dumps(row, sort_keys=True): k for k, row in reversed(rows)}
    index = found.get(json.dumps(command, sort_keys=True))
    return int(found[json.dumps(rest, sort_keys=True)] if index is None else index)
