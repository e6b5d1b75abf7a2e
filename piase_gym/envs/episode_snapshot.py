"""The parts of an environment's snapshot that are not the world's: episode, partners, config."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

from piase_gym.agents.base import Agent
from piase_gym.core.rng import MAX_SEED
from piase_gym.core.snapshot import DAMAGE
from piase_gym.errors import ConfigError, SnapshotError
from piase_gym.registry import WorldSpec, make_config

EPISODE = ("base", "number", "seed", "steps")
"""What a snapshot says about its episode; all are integers."""


def check_partner_state(agent: Agent, name: str, state: object) -> None:
    """Check that a partner can take a state, without changing the partner.

    Raises:
        SnapshotError: If it cannot.
    """
    if not isinstance(state, Mapping):
        kind = type(state).__name__
        raise SnapshotError(f"the state of {name} in this snapshot is a {kind}, not a mapping")
    try:
        copy.deepcopy(agent).set_state(state)
    except DAMAGE as error:
        raise SnapshotError(
            f"the state of {name} in this snapshot is damaged: {error!r:.200}"
        ) from None


def read_episode(
    snapshot: Mapping[str, Any], seats: Collection[str], spec: WorldSpec
) -> tuple[tuple[int, ...], dict[str, Any], Any]:
    """Check and return the parts of a snapshot that are not the world's.

    Args:
        snapshot: What `EpisodeRunner.snapshot` returned.
        seats: The names of the partners here.
        spec: The world's row in the registry.

    Returns:
        The values of `EPISODE`, the partners' states by name, and the config that the next reset
        takes, or ``None``.

    Raises:
        SnapshotError: If a part is missing or damaged, or there is a partner that is not here.
    """
    try:
        parts = {key: snapshot["episode"][key] for key in EPISODE}
        partners, fields = dict(snapshot["partners"]), snapshot["next_config"]
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"this snapshot is damaged, it lacks {error}") from None
    for key, value in parts.items():
        if type(value) is not int or not 0 <= value <= MAX_SEED:
            raise SnapshotError(f"episode.{key} of this snapshot is {value!r}, not a number")
    if not isinstance(fields, Mapping | None):
        raise SnapshotError(f"next_config of this snapshot is {fields!r}, not a config")
    strange = [name for name in partners if name not in seats]
    if strange:
        raise SnapshotError(f"this snapshot has a partner {strange[0]!r}; here: {list(seats)}")
    try:
        pending = make_config(spec, fields) if fields is not None else None
    except ConfigError as error:
        raise SnapshotError(f"next_config of this snapshot is damaged: {error}") from None
    return tuple(parts.values()), partners, pending
