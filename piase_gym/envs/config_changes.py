"""Changes to a config during an episode: what may change does so at once, the rest waits.

The rule is the same for all worlds: `World.live_fields` may change at any time, as if the present
state had been saved and restored under the new config. All other changes hold from the next reset
on. The caller is told which is which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from piase_gym.core.world import World
from piase_gym.errors import ConfigError, EnvelopeError


class Modified(dict[str, Any]):
    """The fields of a config that were changed, with their new values.

    Attributes:
        now: Those that hold at once.
        waiting: Those that hold from the next reset on.
    """

    def __init__(self, now: Mapping[str, Any], waiting: Mapping[str, Any]) -> None:
        """Keep both parts, and hold both together as a dict."""
        super().__init__({**now, **waiting})
        self.now, self.waiting = dict(now), dict(waiting)


def read_changes(call: str, changes: object) -> dict[str, Any]:
    """Return the changes that were given to a call, by field.

    Raises:
        ConfigError: If they are not a mapping.
        EnvelopeError: If they would change the spaces.
    """
    if not isinstance(changes, Mapping):
        raise ConfigError(f"{call} takes a mapping, not {type(changes).__name__}")
    named = {str(key): value for key, value in changes.items()}
    if "envelope" in named or "agent_ids" in named:
        raise EnvelopeError("envelope and agent_ids fix the spaces; make another environment")
    return named


def split_changes(world: World[Any, Any], before: Any, config: Any, running: bool) -> Modified:
    """Split the differences between two configs into those that may hold at once and the rest.

    Args:
        world: The world.
        before: The present config.
        config: The wanted config.
        running: Whether an episode is running; if not, everything waits.
    """
    different = before.diff(config)
    values = {name: getattr(config, name) for name in different}
    live = {name: value for name, value in values.items() if name in world.live_fields}
    if not running or before.diff(before.changed(live)).keys() - live.keys():
        return Modified({}, values)  # a live field would change other fields too
    return Modified(live, {name: values[name] for name in values if name not in live})
