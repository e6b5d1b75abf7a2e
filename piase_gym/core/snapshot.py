"""What is checked before a world takes up a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from piase_gym.core.facts import C
from piase_gym.errors import ConfigError, SnapshotError

if TYPE_CHECKING:
    from piase_gym.core.world import World

SNAPSHOT_SCHEMA = 1
DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What code that reads a damaged snapshot may raise; to callers it is a `SnapshotError`."""


def check_snapshot(world: World[C, Any], snapshot: object) -> tuple[C, list[str | None]]:
    """Check everything of a snapshot but its state, for a world that is to take it up.

    Returns:
        Its config and hints.

    Raises:
        SnapshotError: If it is of another world, version or schema, or damaged.
    """
    if not isinstance(snapshot, Mapping):
        raise SnapshotError(f"a snapshot is a mapping, not {type(snapshot).__name__}")
    found = tuple(snapshot.get(key) for key in ("schema", "world", "version"))
    wanted = (SNAPSHOT_SCHEMA, world.name, world.version)
    if found != wanted:
        raise SnapshotError(
            f"this snapshot is of {found[1]} version {found[2]} (schema {found[0]}); "
            f"allowed here: {wanted[1]} version {wanted[2]} (schema {wanted[0]})"
        )
    missing = [k for k in ("agents", "config", "hints", "state") if k not in snapshot]
    if missing:
        raise SnapshotError(f"this snapshot lacks {', '.join(missing)}")
    if snapshot["agents"] != list(world.agents):
        raise SnapshotError(
            f"this snapshot is of the agents {snapshot['agents']!r:.200}; "
            f"allowed here: {', '.join(world.agents)}"
        )
    fields, hints = snapshot["config"], snapshot["hints"]
    if not isinstance(fields, Mapping):
        raise SnapshotError(f"a snapshot's config is a mapping, not {type(fields).__name__}")
    strings = isinstance(hints, list) and all(isinstance(h, str | None) for h in hints)
    if not strings or len(hints) != len(world.agents):
        raise SnapshotError("a snapshot's hints are a list with a string or null an agent")
    try:
        config = type(world.config)(**fields)
    except (ConfigError, TypeError) as error:
        raise SnapshotError(f"this snapshot's config is damaged: {error}") from None
    return config, hints
