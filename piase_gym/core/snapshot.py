"""A world's state as a value: snapshots, and what is checked before one is taken up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic

from piase_gym.core.digest import digest_json
from piase_gym.core.facts import C
from piase_gym.errors import ConfigError, SnapshotError

SNAPSHOT_SCHEMA = 1
DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What code that reads a damaged snapshot may raise; to callers it is a `SnapshotError`."""


class StateValue(ABC, Generic[C]):
    """The part of a `World` that is about its state as a value."""

    name: ClassVar[str]
    version: ClassVar[int]
    config: C
    agents: tuple[str, ...]
    hints: list[str | None]

    @abstractmethod
    def configure(self, config: C) -> None:
        """Take another config; see `World.configure`."""

    @abstractmethod
    def give_hint(self, agent: int, hint: str | None) -> None:
        """Show a hint to an agent; see `World.give_hint`."""

    @abstractmethod
    def get_state(self) -> dict[str, Any]:
        """Return the whole state, random streams included, as a JSON-able value."""

    @abstractmethod
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `get_state` returned.

        Raises:
            SnapshotError: If it does not fit; the world is unchanged then.
        """

    def digest(self) -> str:
        """Return 64 bits that stand for the state and the hints, as 16 hexadecimal digits."""
        return digest_json([self.digest_state(), self.hints])

    def digest_state(self) -> Any:
        """Return what `digest` hashes: by default the whole state."""
        return self.get_state()

    def snapshot(self) -> dict[str, Any]:
        """Return config and state as one versioned, JSON-able value."""
        return {
            "schema": SNAPSHOT_SCHEMA,
            "world": self.name,
            "version": self.version,
            "agents": list(self.agents),
            "config": self.config.model_dump(mode="json", exclude={"envelope"}),
            "hints": list(self.hints),
            "state": self.get_state(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take up a snapshot, its config included.

        Raises:
            SnapshotError: If it is of another world, version or schema, or damaged.
            EnvelopeError: If its config does not fit this world's envelope.
        """
        config, hints = self.check_snapshot(snapshot)
        before = self.config
        self.configure(config)
        try:
            self.set_state(snapshot["state"])
        except DAMAGE as error:
            self.configure(before)
            if isinstance(error, SnapshotError):
                raise
            raise SnapshotError(f"the state of this snapshot is damaged: {error!r:.200}") from None
        for agent, hint in enumerate(hints):
            self.give_hint(agent, hint)

    def check_snapshot(self, snapshot: Mapping[str, Any]) -> tuple[C, list[str | None]]:
        """Check everything of a snapshot but its state.

        Returns:
            Its config and hints.

        Raises:
            SnapshotError: If it is of another world, version or schema, or damaged.
        """
        if not isinstance(snapshot, Mapping):
            raise SnapshotError(f"a snapshot is a mapping, not {type(snapshot).__name__}")
        found = tuple(snapshot.get(key) for key in ("schema", "world", "version"))
        wanted = (SNAPSHOT_SCHEMA, self.name, self.version)
        if found != wanted:
            raise SnapshotError(
                f"this snapshot is of {found[1]} version {found[2]} (schema {found[0]}); "
                f"allowed here: {wanted[1]} version {wanted[2]} (schema {wanted[0]})"
            )
        missing = [k for k in ("agents", "config", "hints", "state") if k not in snapshot]
        if missing:
            raise SnapshotError(f"this snapshot lacks {', '.join(missing)}")
        if snapshot["agents"] != list(self.agents):
            raise SnapshotError(
                f"this snapshot is of the agents {snapshot['agents']!r:.200}; "
                f"allowed here: {', '.join(self.agents)}"
            )
        fields, hints = snapshot["config"], snapshot["hints"]
        if not isinstance(fields, Mapping):
            raise SnapshotError(f"a snapshot's config is a mapping, not {type(fields).__name__}")
        strings = isinstance(hints, list) and all(isinstance(h, str | None) for h in hints)
        if not strings or len(hints) != len(self.agents):
            raise SnapshotError("a snapshot's hints are a list with a string or null an agent")
        try:
            config = type(self.config)(**fields)
        except (ConfigError, TypeError) as error:
            raise SnapshotError(f"this snapshot's config is damaged: {error}") from None
        return config, hints
