"""Keeps progress in a file: written as a whole or not at all, and never overwritten by mistake."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from piase_gym.core.digest import digest_bytes
from piase_gym.core.files import open_regular, write_whole
from piase_gym.curricula.progress import SCHEMA as PROGRESS
from piase_gym.curricula.progress import AgentProgress
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.errors import ProgressError, StorageError

FORMAT = "piase_gym progress"
SCHEMA = 1


class ProgressStore:
    """The progress of agents in one JSON file.

    A file that another program has written since it was read is left as it is: the progress to
    save goes into a file next to it.

    Args:
        path: The file; it need not exist yet.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = ProgressStore(Path(folder.name) / "progress.json")
        >>> store.load({})
        {}
        >>> store.save({"agent_0": AgentProgress("agent_0", "Corner")})
        >>> sorted(ProgressStore(store.path).read())
        ['agent_0']
        >>> folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        """Name the file; nothing is read or written yet."""
        self.path = Path(path)
        self._seen: str | None = None
        self._others: dict[str, AgentProgress] = {}

    def load(self, curricula: Mapping[str, DevelopmentalCurriculum]) -> dict[str, AgentProgress]:
        """Return the progress of these agents, as far as there is any.

        Args:
            curricula: Agent -> its curriculum.

        Returns:
            Agent -> its progress, empty if there is no file. The progress of other agents stays
            in the file when these are saved.

        Raises:
            ProgressError: If the file cannot be read, is of another version or damaged, or holds
                progress in another curriculum; it is left as it is.
        """
        found = self.read()
        known = {agent: found[agent] for agent in curricula if agent in found}
        for agent, progress in known.items():
            try:
                progress.check_belongs(curricula[agent])
            except ProgressError as error:
                raise ProgressError(f"{self.path}: {error}") from None
        return known

    def read(self) -> dict[str, AgentProgress]:
        """Return all progress in the file, empty if there is none.

        Raises:
            ProgressError: If the file cannot be read, is of another version, or damaged.
        """
        data = self._bytes()
        found = {} if data is None else self._parse(data)
        self._seen = None if data is None else digest_bytes(data)
        self._others = found
        return dict(found)

    def save(self, progress: Mapping[str, AgentProgress]) -> None:
        """Write the progress of agents to the file, next to that of other agents.

        Raises:
            StorageError: If it cannot be written, or there is a file that was not read or was
                changed by another program; the file is left as it is.
        """
        before = self._bytes()
        now = None if before is None else digest_bytes(before)
        if now != self._seen:
            beside = self._write_beside(progress)
            why = "holds progress that was not read" if self._seen is None else "has changed"
            raise StorageError(
                f"{self.path} {why}, so it is left as it is; what was to be saved is in {beside}"
            )
        self._others = {**self._others, **progress}
        data = _encode(self._others)
        self._replace(self.path, data)
        self._seen = digest_bytes(data)

    # -- bytes -----------------------------------------------------------------------------

    def _bytes(self) -> bytes | None:
        """Return what is in the file, or ``None`` if there is none."""
        try:
            with open_regular(self.path) as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ProgressError(f"{self.path} cannot be read: {error.strerror}") from None

    def _parse(self, data: bytes) -> dict[str, AgentProgress]:
        """Return the progress that bytes stand for."""
        try:
            value: Any = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise ProgressError(
                f"{self.path}: this is no progress, not even JSON: {error}"
            ) from None
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise ProgressError(f"{self.path}: this is no progress of agents; give another file")
        if value.get("schema") != SCHEMA or isinstance(value.get("schema"), bool):
            raise ProgressError(
                f"{self.path}: this progress has version {value.get('schema')!r}; this piase_gym "
                f"reads version {SCHEMA}; the file is left as it is"
            )
        agents = value.get("agents")
        if not isinstance(agents, dict):
            raise ProgressError(f"{self.path}: this progress is damaged: there are no agents")
        found = {}
        for agent, entry in agents.items():
            try:
                found[agent] = AgentProgress.from_json(entry)
                if found[agent].agent_id != agent:
                    message = (
                        f"this progress is damaged: it is that of {found[agent].agent_id!r:.80}"
                    )
                    raise ProgressError(message)
            except ProgressError as error:
                raise ProgressError(f"{self.path}: {agent}: {error}") from None
        return found

    def _write_beside(self, progress: Mapping[str, AgentProgress]) -> Path:
        """Write progress to a new file next to the store's, and return its path."""
        number = 1
        while (path := self.path.with_name(f"{self.path.name}.{number}")).exists():
            number += 1
        self._replace(path, _encode(progress))
        return path

    def _replace(self, path: Path, data: bytes) -> None:
        """Write a file whole or not at all."""
        try:
            write_whole(path, data)
        except StorageError as error:
            why = getattr(error.__cause__, "strerror", None) or error
            raise StorageError(
                f"the progress cannot be written to {path}: {why}; what was there before is kept"
            ) from None


def _encode(progress: Mapping[str, AgentProgress]) -> bytes:
    """Return progress as JSON, the same bytes for the same progress.

    The content is that of `AgentProgress.as_json`, without copying every decision.
    """
    agents = {agent: {"schema": PROGRESS, **vars(entry)} for agent, entry in progress.items()}
    value = {"format": FORMAT, "schema": SCHEMA, "agents": agents}
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(value, option=options) + b"\n"
