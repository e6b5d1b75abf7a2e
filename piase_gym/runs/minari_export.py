"""Runs as Minari datasets, one per agent, for offline learning.

Observations are vectors. They are made by executing the run again, so a log of any level with step
lines will do.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from piase_gym.core.world import Act, World
from piase_gym.errors import ConfigError, LogWriteError, need
from piase_gym.runs.minari_episodes import Episodes, dataset_ids, new_storage, require_minari
from piase_gym.runs.reader import Run
from piase_gym.runs.replayer import Replayer, read_act
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
) -> dict[str, Path]:
    """Check that datasets of agents can be written.

    Returns:
        Where each goes, by its id.

    Raises:
        ConfigError, LogWriteError, UnsupportedError, MissingExtraError: See `to_minari`.
    """
    _check_name(name)
    require_minari(world)
    place_of = need("minari.storage", "Minari datasets").get_dataset_path
    places: dict[str, Path] = {id: place_of(id) for id in dataset_ids(name, agents).values()}
    for dataset, place in places.items():
        with _writing(dataset):
            if place.exists() and not (place / "data").is_dir():
                raise LogWriteError(f"{place} is no dataset; give another name")
            if place.exists() and not overwrite:
                raise LogWriteError(
                    f"there is a dataset {dataset} already; give another name, or overwrite=True"
                )
    return places


@contextmanager
def _writing(dataset: str) -> Iterator[None]:
    """Say of which dataset a file cannot be written.

    Raises:
        LogWriteError: If one cannot.
    """
    try:
        yield
    except LogWriteError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise LogWriteError(f"the dataset {dataset} cannot be written: {reason}") from None


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
        overwrite: Whether existing datasets may be overwritten; they are replaced when all new ones
            are complete.

    Returns:
        The ids of the datasets.

    Raises:
        ConfigError, LogWriteError: See `to_minari`.
    """
    places = check_datasets(world, name, episodes, overwrite)
    if not places:
        return []
    spaces = need("minari.namespace", "Minari datasets")
    with _writing(name):
        if name not in spaces.list_local_namespaces():
            spaces.create_namespace(name)
        folder = next(iter(places.values())).parent
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as scratch:
            new = {dataset: Path(scratch, place.name) for dataset, place in places.items()}
            for dataset, gathered in zip(places, episodes.values(), strict=True):
                with _writing(dataset):
                    storage = new_storage(new[dataset], dataset, world, description)
                    storage.update_episodes(gathered)
            for dataset, place in places.items():  # when all are there
                _put(new[dataset], place)
    return list(places)


def _put(new: Path, place: Path) -> None:
    """Put a folder in a place; what was there before goes to where the folder was."""
    before = new.with_name(f"{new.name}.before")
    if place.exists():
        place.replace(before)
    try:
        new.replace(place)
    except BaseException:
        if before.exists():
            before.replace(place)
        raise


class _Gatherer:
    """Executes a run again and gathers what each agent saw, did and received."""

    def __init__(self, run: Run) -> None:
        self.replayer, self.episodes = Replayer(run), Episodes(run.agents)
        self._seeds: dict[int, int | None] = {}
        self._table = {
            read_act(row): k for k, row in reversed([*enumerate(run.manifest["actions"])])
        }
        """The first index of each command; empty if that changes from step to step."""
        self._indices: dict[tuple[int, str], dict[Act, int]] = {}

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
        self._note_indices(slot)

    def _note_indices(self, slot: int) -> None:
        """Note what indices mean now, where that changes from step to step."""
        world = self.replayer.world(slot)
        for number, mask in enumerate(() if self._table else world.masks()):
            legal = reversed(mask.nonzero()[0].tolist())
            self._indices[slot, world.agents[number]] = {world.command(number, k): k for k in legal}

    def _step(self, slot: int, event: Event, result: Any) -> None:
        """Take in a step."""
        world, data = self.replayer.world(slot), event["event_data"]
        vectors = world.vectors()
        for name, command in data["commands"].items():
            if not self.episodes.is_open(slot, name):
                continue
            number = world.agents.index(name)
            if not isinstance(command, int):
                indices = self._table or self._indices[slot, name]
                index = indices.get(read_act(command))  # none for what could not be read
                command = indices[world.noop] if index is None else index
            ends = bool(result.terminated[number]), bool(result.truncated[number])
            reward = float(result.rewards[number])
            self.episodes.add(slot, name, command, reward, *ends, vectors[number])
        self._note_indices(slot)
        if world.awaiting_agents:
            self._enter(slot)
