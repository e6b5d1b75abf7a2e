"""The actions of a training, from which its environments are brought back to where they were.

What environments and curricula do follows from seeds and actions alone. So an interrupted training
is repeated from its actions, without learning, up to its last checkpoint; from there on it is the
same as one that was not interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.curricula import ProgressStore
from piase_gym.curricula.progress import AgentProgress
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.errors import StorageError, TrainingError

ACTIONS = "actions.bin"
"""The file of the actions: for each update (steps, environments, agents), little-endian."""
ADVANTAGES = "advantages.bin"
"""The file of the advantages reported to a director: for each update (steps, environments)."""


class UpdateFile:
    """A file of arrays of one shape, one for each update, little-endian.

    Args:
        path: The file.
        shape: The shape.
        kind: The type of the numbers.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], kind: Any) -> None:
        """Name the file."""
        self.path, self.shape = path, shape
        self.kind = np.dtype(kind).newbyteorder("<")
        self.size = self.kind.itemsize * int(np.prod(shape))

    def write(self, array: NDArray[Any]) -> None:
        """Append the array of an update.

        Raises:
            StorageError: If it cannot be written.
        """
        try:
            with self.path.open("ab") as file:
                file.write(array.astype(self.kind).tobytes())
        except OSError as error:
            raise StorageError(f"{self.path}: {error.strerror}") from error

    def cut(self, updates: int) -> None:
        """Remove everything after the first `updates` updates.

        Raises:
            StorageError: If it cannot be written.
        """
        try:
            with self.path.open("r+b") as file:
                file.truncate(updates * self.size)
        except OSError as error:
            raise StorageError(f"{self.path}: {error.strerror}") from error

    def read(self, updates: int) -> Iterator[NDArray[Any]]:
        """Yield the arrays of the first updates.

        Raises:
            StorageError: If there are fewer.
        """
        size = self.path.stat().st_size if self.path.is_file() else -1
        if size < updates * self.size:
            raise StorageError(f"{self.path} is missing or too short: this run cannot go on")
        with self.path.open("rb") as file:
            for _ in range(updates):
                yield np.frombuffer(file.read(self.size), self.kind).reshape(self.shape)


class RecordingEnv:
    """Environments whose actions are kept in a file, update by update.

    Args:
        env: The environments.
        path: The file.
        num_steps: Steps in each environment between two updates.
    """

    def __init__(self, env: Any, path: Path, num_steps: int) -> None:
        """Keep nothing yet."""
        self.env = env
        kind = np.min_scalar_type(int(env.action_space.n) - 1)
        self._file = UpdateFile(path, (num_steps, env.num_envs, len(env.agents)), kind)
        self._played: list[NDArray[Any]] = []

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the environments."""
        return getattr(self.env, name)

    def step(self, actions: NDArray[Any]) -> Any:
        """Act, and note the actions."""
        self._played.append(actions.copy())
        return self.env.step(actions)

    def write(self) -> None:
        """Put the actions of an update into the file.

        Raises:
            StorageError: If it cannot be written.
        """
        played, self._played = self._played, []
        self._file.write(np.stack(played))

    def cut(self, updates: int) -> None:
        """Remove what was played after the first `updates` updates.

        Raises:
            StorageError: If it cannot be written.
        """
        self._file.cut(updates)

    def read(self, updates: int) -> Iterator[NDArray[Any]]:
        """Yield the actions of the first updates, each of shape (steps, environments, agents).

        Raises:
            StorageError: If there are fewer, or one of the actions does not exist.
        """
        for part in self._file.read(updates):
            if part.max(initial=0) >= self.env.action_space.n:
                raise StorageError(f"{self._file.path} is damaged: there is no such action")
            yield part.astype(np.int64)


class RepeatedStore(ProgressStore):
    """Progress that is made once more, and compared with the progress in the file.

    Until `release` nothing is written, so what is in the file is not lost.
    """

    def __init__(self, path: Path) -> None:
        """Name the file."""
        super().__init__(path)
        self._before: dict[str, AgentProgress] | None = {}

    def load(self, curricula: Mapping[str, DevelopmentalCurriculum]) -> dict[str, AgentProgress]:
        """Check the progress in the file, and begin without it; see `ProgressStore.load`."""
        self._before = super().load(curricula)
        return {}

    def save(self, progress: Mapping[str, AgentProgress]) -> None:
        """Write the progress, once it is released."""
        if self._before is None:
            super().save(progress)

    def release(self, progress: Mapping[str, AgentProgress]) -> None:
        """Check that the decisions are the same as before; from now on, write progress.

        Raises:
            TrainingError: If they are not.
        """
        for agent, kept in (self._before or {}).items():
            pairs = zip(kept.decisions, progress[agent].decisions, strict=False)
            if any(mine != theirs for mine, theirs in pairs):
                raise no_repeat(self.path)
        self._before = None


def no_repeat(path: Path) -> TrainingError:
    """Return the error for a training that did not repeat itself."""
    return TrainingError(
        f"played once more, this run is another one than {path} tells: it was made with another "
        "version of the world, the curriculum or piase_gym; begin it anew in another folder"
    )
