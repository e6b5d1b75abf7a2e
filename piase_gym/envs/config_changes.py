"""Changes of a config while an episode goes on: what may change does so at once, the rest waits.

The rule is the same for all worlds: `World.live_fields` may change, at any time, as if the state of
now had been saved and were restored under the new config. Everything else holds from the next reset
on. Whoever asks is told which is which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from piase_gym.core.world import World


class Modified(dict[str, Any]):
    """The fields of a config that were changed, with their new values.

    Attributes:
        now: Those that hold at once.
        waiting: Those that hold from the next reset on.
    """

    def __init__(self, now: Mapping[str, Any], waiting: Mapping[str, Any]) -> None:
        """Keep both, and be both together."""
        super().__init__({**now, **waiting})
        self.now, self.waiting = dict(now), dict(waiting)


def split_changes(world: World[Any, Any], before: Any, config: Any, running: bool) -> Modified:
    """Split what is different in two configs into what may change at once, and what has to wait.

    Args:
        world: The world.
        before: The config of now.
        config: The config that is wanted.
        running: Whether an episode goes on; else everything waits.
    """
    different = before.diff(config)
    values = {name: getattr(config, name) for name in different}
    live = {name: value for name, value in values.items() if name in world.live_fields}
    if not running or before.diff(before.changed(live)).keys() - live.keys():
        return Modified({}, values)  # some of it would change more than itself
    return Modified(live, {name: values[name] for name in values if name not in live})
