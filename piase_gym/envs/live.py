"""Changes of a config while an episode goes on: what may change does so at once, the rest waits.

The rule is the same for all worlds: `World.live_fields` may change, at any time, as if the state of
now had been saved and were restored under the new config. Everything else holds from the next reset
on. Whoever asks is told which is which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.world import World
from piase_gym.errors import ConfigError

if TYPE_CHECKING:
    from piase_gym.envs.batch import BatchEnv


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


def parted(world: World[Any, Any], before: Any, config: Any, running: bool) -> Modified:
    """Part what is different in two configs into what may change at once, and what has to wait.

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


def modify_slots(env: BatchEnv, changes: Mapping[str, Any], slots: NDArray[np.int64]) -> Modified:
    """Change fields of the configs of some slots of a batch, each from its own.

    Raises:
        ConfigError: If a field is not allowed, or a state does not admit it; nothing has changed.
        EnvelopeError: If a new config does not fit the envelope.
    """
    if not isinstance(changes, Mapping):
        raise ConfigError(f"modify takes a mapping, not {type(changes).__name__}")
    states, world = env.batch.states, env.world
    agents = len(world.agents)
    running = env.ready & states["alive"][:, :agents].any(axis=1)
    groups: dict[tuple[int, int, bool], list[int]] = {}
    for slot in slots.tolist():
        key = int(states["config"][slot]), int(states["next_config"][slot]), bool(running[slot])
        groups.setdefault(key, []).append(slot)
    plans = []
    for (number, pending, plays), members in groups.items():
        before = env.configs[number]
        config, later = before.changed(changes), env.configs[pending].changed(changes)
        for checked in (config, later):
            world.check_config(checked)
        found = parted(world, before, config, plays)
        if found.now:
            _check_states(env, before.changed(found.now), found.now, members)
        plans.append((members, before, found, later))
    now: dict[str, Any] = {}
    waiting: dict[str, Any] = {}
    for members, before, found, later in plans:
        if found.now:
            env.take_now(env.add_config(before.changed(found.now)), np.array(members))
        env.reconfigure(env.add_config(later), members)
        now |= found.now
        waiting |= found.waiting
    return Modified(now, waiting)


def _check_states(env: BatchEnv, config: Any, now: Mapping[str, Any], slots: list[int]) -> None:
    """Raise if the state of a slot does not admit a config."""
    table = env.world.new_batch(1, [config]).tables[0]
    for slot in slots:
        problem = env.world.state_problem(env.batch.states[slot], table)
        if problem:
            told = ", ".join(now)
            raise ConfigError(f"{env.world.name}: slot {slot}: {told} cannot change now: {problem}")
