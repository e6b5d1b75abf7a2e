"""The checks that are made before a world restores a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from piase_gym.core.facts import C
from piase_gym.core.last_step import LastStep, read_last_steps
from piase_gym.errors import ConfigError, SnapshotError

SNAPSHOT_SCHEMA = 1
DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What code that reads a damaged snapshot may raise; callers get a `SnapshotError`."""


def check_snapshot(
    snapshot: object, header: Mapping[str, Any], present: C
) -> tuple[C, list[str | None], list[LastStep | None]]:
    """Check everything in a snapshot but its state, before a world restores it.

    Args:
        snapshot: What `World.snapshot` returned.
        header: The fields that it must match; see `World.snapshot_header`.
        present: The config that the world has now.

    Returns:
        Its config, hints and last steps. The config is `present` itself if it has the same fields:
        those who go back and forth within an episode need not wait for it to be checked again.

    Raises:
        SnapshotError: If it is of another world, version or schema, or damaged.
    """
    if not isinstance(snapshot, Mapping):
        raise SnapshotError(f"a snapshot is a mapping, not {type(snapshot).__name__}")
    schema, world, version, agents = header.values()
    found = tuple(snapshot.get(key) for key in ("schema", "world", "version"))
    missing = [k for k in (*header, "config", "hints", "last_steps", "state") if k not in snapshot]
    allowed = f"allowed here: {world} version {version} (schema {schema})"
    if found != (schema, world, version) and not (missing and None in found):
        raise SnapshotError(
            f"this snapshot is of {found[1]} version {found[2]} (schema {found[0]}); {allowed}"
        )
    if missing:
        raise SnapshotError(f"this snapshot lacks {', '.join(missing)}; {allowed}")
    if snapshot["agents"] != agents:
        raise SnapshotError(
            f"this snapshot is of the agents {snapshot['agents']!r:.200}; "
            f"allowed here: {', '.join(agents)}"
        )
    fields, hints = snapshot["config"], snapshot["hints"]
    if not isinstance(fields, Mapping):
        raise SnapshotError(f"a snapshot's config is a mapping, not {type(fields).__name__}")
    strings = isinstance(hints, list) and all(isinstance(h, str | None) for h in hints)
    if not strings or len(hints) != len(agents):
        raise SnapshotError("a snapshot's hints are a list with a string or null an agent")
    try:
        config = present if fields == present.saved() else type(present)(**fields)
    except (ConfigError, TypeError) as error:
        raise SnapshotError(f"this snapshot's config is damaged: {error}") from None
    return config, hints, read_last_steps(snapshot["last_steps"], len(agents))
