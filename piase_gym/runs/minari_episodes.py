"""Episodes of agents as Minari keeps them: gathered a step at a time, and written as datasets."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from piase_gym.core.commands import Command
from piase_gym.core.world import World
from piase_gym.errors import ConfigError, UnsupportedError, need


def require_minari(world: World[Any, Any]) -> None:
    """Check that Minari is installed and the actions of a world are numbers.

    Raises:
        MissingExtraError: If Minari is not installed.
        UnsupportedError: If the world has no commands by index.
    """
    need("h5py", "Minari datasets")
    need("minari", "Minari datasets")
    if not world.capabilities.discrete:
        raise UnsupportedError(
            f"{world.name} has no commands by index, so its actions are no numbers"
        )


def dataset_ids(namespace: str, agents: Iterable[str]) -> dict[str, str]:
    """Return the id of each agent's dataset; those of Minari have no dots.

    Raises:
        ConfigError: If two agents would have the same, or Minari does not take such ids: one of
            them would keep it from listing any dataset.
    """
    parse = need("minari.dataset.minari_dataset", "Minari datasets").parse_dataset_id
    found: dict[str, str] = {}
    for agent in agents:
        dataset = f"{namespace}/{agent.replace('.', '_')}-v0"
        if dataset in found.values():
            raise ConfigError(f"agent {agent!r} has the same dataset as another: {dataset}")
        try:
            parse(dataset)
        except ValueError as error:
            raise ConfigError(f"{namespace!r} cannot be part of a dataset's id: {error}") from None
        found[agent] = dataset
    return found


class Episodes:
    """Gathers what each agent saw, did and received.

    Args:
        agents: Their names.

    Attributes:
        ended: The episodes that are over, by agent.
        steps: How many steps those episodes have.
    """

    def __init__(self, agents: Sequence[str]) -> None:
        self._buffer = need("minari.data_collector", "Minari datasets").EpisodeBuffer
        self._open: dict[tuple[int, str], Any] = {}
        self.ended: dict[str, list[Any]] = {name: [] for name in agents}
        self.steps = 0

    def is_open(self, slot: int, agent: str) -> bool:
        """Return whether an agent of an environment is in the middle of an episode."""
        return (slot, agent) in self._open

    def begin(self, slot: int, agent: str, seed: int | None, seen: NDArray[Any]) -> None:
        """Begin the episode of an agent with what it sees."""
        self._open[slot, agent] = self._buffer(seed=seed, observations=[seen], actions=[])

    def add(
        self,
        slot: int,
        agent: str,
        action: int,
        reward: float,
        terminated: bool,
        truncated: bool,
        after: NDArray[Any],
    ) -> None:
        """Take in a step of an agent, and what it saw after it; a step may end the episode."""
        episode = self._open[slot, agent]
        episode.observations.append(after)
        episode.actions.append(action)
        episode.rewards.append(reward)
        episode.terminations.append(terminated)
        episode.truncations.append(truncated)
        if terminated or truncated:
            self._end(slot, agent)

    def cut(self, slot: int | None = None) -> None:
        """Break off what is open in an environment, or in all; that counts as truncated."""
        keys = list(self._open) if slot is None else [(slot, agent) for agent in self.ended]
        for key in keys:
            if self.is_open(*key):
                if ends := self._open[key].truncations:
                    ends[-1] = True
                self._end(*key)

    def _end(self, slot: int, agent: str) -> None:
        """Move an agent's episode to those that are over, unless nothing happened in it."""
        episode = self._open.pop((slot, agent))
        if episode.actions:
            self.ended[agent].append(episode)
            self.steps += len(episode.actions)

    def take(self) -> dict[str, list[Any]]:
        """Return the episodes that are over, and forget them."""
        taken = {agent: episodes for agent, episodes in self.ended.items() if episodes}
        self.ended, self.steps = {agent: [] for agent in self.ended}, 0
        return taken


def new_storage(folder: Path, dataset: str, world: World[Any, Any], description: str) -> Any:
    """Begin a dataset of a world's vectors and actions in a new folder, and return its storage."""
    minari = need("minari", "Minari datasets")
    path = folder / "data"
    path.mkdir(parents=True)
    spaces = {"observation_space": world.vector_space, "action_space": Discrete(world.num_actions)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no spec of an environment
        storage = minari.dataset.minari_storage.MinariStorage.new(
            path, **spaces, data_format="hdf5"
        )
    entry = {
        "dataset_id": dataset,
        "minari_version": minari.__version__,
        "algorithm_name": "piase_gym",
        "description": description,
    }
    storage.update_metadata(entry)
    return storage


class Datasets:
    """Writes rows of steps as datasets ``<namespace>/<agent>-v0``, in constant memory.

    See `dataset_ids` for agents with dots in their names.

    Args:
        folder: The folder of the namespace, which has to exist.
        namespace: The first part of the datasets' ids.
        world: The world that has their spaces.
        description: A description of the datasets.

    Raises:
        UnsupportedError, MissingExtraError: See `require_minari`.
        ConfigError: See `dataset_ids`.
    """

    WAITING = 1 << 16
    """The number of steps of finished episodes that are kept before they are written."""

    def __init__(
        self, folder: Path, namespace: str, world: World[Any, Any], description: str
    ) -> None:
        require_minari(world)
        self._folder, self._world = folder, world
        self._ids = dataset_ids(namespace, world.agents)
        self._description = description
        self._episodes = Episodes(world.agents)
        self._storages: dict[str, Any] = {}
        self.rows = 0

    def add(self, columns: Any) -> None:
        """Take rows as `piase_gym.collection.table.StepTable` does, plus the column ``after``."""
        names, episodes = self._world.agents, self._episodes
        rows = zip(*(columns[name] for name in _ROW), strict=True)
        for slot, seed, agent, seen, action, reward, terminated, truncated, after in rows:
            key = int(slot), names[agent]
            if not episodes.is_open(*key):
                episodes.begin(*key, int(seed), seen)
            ends = bool(terminated), bool(truncated)
            episodes.add(*key, int(action), float(reward), *ends, after)
        self.rows += len(columns["action"])
        if episodes.steps >= self.WAITING:
            self._write()

    def _write(self) -> None:
        """Write the episodes that are over."""
        for agent, episodes in self._episodes.take().items():
            if agent not in self._storages:
                dataset = self._ids[agent]
                place = self._folder / dataset.rpartition("/")[2]
                self._storages[agent] = new_storage(place, dataset, self._world, self._description)
            self._storages[agent].update_episodes(episodes)

    def __enter__(self) -> Datasets:
        """Return the writer itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Break off the episodes that are open, and write the rest."""
        if kind is None:
            self._episodes.cut()
            self._write()


_ROW = "env seed agent observation action reward terminated truncated after".split()


def action_index(world: World[Any, Any], seat: int, act: Any) -> int | None:
    """Return the index of an act; ``None`` for a command that is not legal or has none."""
    if isinstance(act, int | np.integer):
        return int(act)
    if not isinstance(act, Command) or not world.capabilities.discrete:
        return None
    legal = [int(k) for k in world.masks()[seat].nonzero()[0]]
    return {world.command(seat, k): k for k in legal}.get(act)


def action_number(world: World[Any, Any], seat: int, act: Any) -> int:
    """Return the index of an act; a command that is not legal or has none counts as the no-op."""
    index = action_index(world, seat, act)
    rest = action_index(world, seat, world.noop) if index is None else index
    assert rest is not None  # the no-op is always legal
    return rest
