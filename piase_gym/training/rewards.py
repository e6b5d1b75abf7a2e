"""What a learner is rewarded for in training; it is always tested on the task as it is.

``own``
    The rewards of the task.
``small_costs``
    One rule for all worlds: no cost of acting is larger than `SMALL`. `COSTS` names the costs; all
    other rewards stay. Where a bump costs a tenth of what the goal is worth, a beginner learns to
    stand still. This is another task: its best policies need not be best under the task's own
    rewards.
``own_costs_later``
    Small costs at first, and the task's own rewards in episodes that begin after the fraction
    `Settings.shaping_until` of the training: an agent that has found the goal learns to get there
    at little cost.
``shaped``
    The task's own rewards and, for every step, ``gamma * phi(s') - phi(s)``, where ``phi`` is
    minus a weight for every step that is left to go. This changes no policy's rank (Ng, Harada and
    Russell 1999), not even while the weight falls (Devlin and Kudenko 2012); ``phi`` is 0 after the
    end, but not where a limit cuts an episode off. The steps are those of the planner's estimate:
    the way to the nearest goal as if all doors were open, by way of a key if a locked door is in
    between. For `GridWorld`.
``small_costs_shaped``
    Small costs, and the shaping of ``shaped`` on top of them. The shaping changes no policy's rank
    under small costs; how small costs rank policies is another matter.
``prosocial``
    The mean of the task's own rewards over the agents that learn, for each of them (Peysakhovich
    and Lerer 2018). This is another task: what is best for all together, whoever pays for it.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled import helper, kernel
from piase_gym.errors import ConfigError
from piase_gym.names import task_fields
from piase_gym.registry import find, load, make_config
from piase_gym.worlds.grid_world.cells import (
    BOX,
    CLOSED,
    GATE,
    GOAL,
    KEY,
    LOCKED,
    SAFE,
)

SHAPED: Final = ("shaped", "small_costs_shaped")
REWARDS: Final = ("own", "small_costs", *SHAPED, "own_costs_later", "prosocial")
SMALL: Final = -0.02
COSTS: Final[Mapping[str, tuple[str, ...]]] = {
    "GridWorld": ("move", "blocked", "stay", "interact", "locked", "illegal", "heavy"),
    "ObjectSearch": ("step", "message", "illegal"),
    "PhysicsPlayground": ("step", "illegal"),
    "ScreenSearch": ("step", "message", "illegal"),
    "TextRoom": ("step", "failed", "illegal"),
    "WordCraft": ("useless",),
}
"""The costs of acting in each world, by their names in its table of rewards."""


def usual_reward(world: str) -> str:
    """Return the training reward of references: small costs where acting costs anything."""
    return "small_costs" if world in COSTS else "own"


NO_FIELDS: Final = tuple(
    "num_envs partners configs autoreset copy infos dtype scenario envelope".split()
)
"""Arguments of `batch_env` other than config fields."""


def training_config(task: str, config: Mapping[str, Any], reward: str) -> dict[str, Any]:
    """Return the fields of a config with the rewards of training.

    Args:
        task: A world or an id.
        config: Fields given in addition to those of the task, and further arguments.
        reward: One of `REWARDS`.

    Raises:
        ConfigError: If the world has no such rewards.
    """
    spec, known = find(task)
    if reward in SHAPED and spec.name != "GridWorld":
        raise ConfigError(
            f"training_reward {reward!r} needs a planner's distance, which GridWorld has; "
            f"{spec.name} has none"
        )
    if reward not in ("small_costs", "small_costs_shaped", "own_costs_later"):
        return dict(config)
    if spec.name not in COSTS:
        raise ConfigError(
            f"training_reward {reward!r} is for worlds where acting costs something: "
            f"{', '.join(COSTS)}; {spec.name} is none"
        )
    kind = load(spec.config, spec)
    fields = {key: value for key, value in config.items() if key not in NO_FIELDS}
    made = make_config(spec, {**(task_fields(known) if known else {}), **kind.plain(fields)})
    table = made.rewards.model_dump()
    mild = {name: max(table[name], SMALL) for name in COSTS[spec.name]}
    return {**config, "rewards": {**table, **mild}}


# -- potential-based shaping --------------------------------------------------------------

PASSABLE = np.array([c in {*SAFE, GOAL, KEY, LOCKED, CLOSED, GATE, BOX} for c in range(256)])
FAR: Final = 10_000


@helper
def spread_from(cells, side, code, locked, far, queue):
    """Write the steps from every place to the nearest cell with a code, over passable cells.

    Locked doors are passed if `locked`. Places without a path are `FAR`.
    """
    found = 0
    for place in range(cells.shape[0]):
        far[place] = FAR
        if cells[place] == code:
            far[place], queue[found], found = 0, place, found + 1
    taken = 0
    while taken < found:
        place, taken = queue[taken], taken + 1
        for turn in range(4):
            column = place % side
            if (turn == 0 and column == 0) or (turn == 1 and column == side - 1):
                continue
            to = place + (-1 if turn == 0 else 1 if turn == 1 else -side if turn == 2 else side)
            if to < 0 or to >= cells.shape[0] or far[to] != FAR:
                continue
            if PASSABLE[cells[to]] and (locked or cells[to] != LOCKED):
                far[to], queue[found], found = far[place] + 1, to, found + 1


@kernel
def steps_left(cells, side, x, y, carry, alive, out):
    """Write the steps that every agent has left to a goal; 0 if it has no path or is not alive."""
    envs, area = cells.shape
    queue = np.empty(area, np.int64)
    shut, wide = np.empty(area, np.int64), np.empty(area, np.int64)
    to_key = np.empty(area, np.int64)
    for e in range(envs):
        spread_from(cells[e], side, GOAL, False, shut, queue)
        spread_from(cells[e], side, GOAL, True, wide, queue)
        beyond = FAR
        for place in range(area):
            if cells[e, place] == KEY:
                beyond = min(beyond, wide[place])
        spread_from(cells[e], side, KEY, False, to_key, queue)
        for a in range(x.shape[1]):
            place = np.int64(y[e, a]) * side + np.int64(x[e, a])
            left = shut[place]
            if left >= FAR and carry[e, a] == KEY:
                left = wide[place] + 1
            elif left >= FAR:
                left = to_key[place] + beyond + 2
            out[e, a] = left if alive[e, a] and left < FAR else 0


class Shaping:
    """Adds potential-based shaping to the rewards of a batch of GridWorlds.

    The batch steps with ``autoreset="next_step"``, so that last states are seen.
    """

    def __init__(self, env: Any, gamma: float, weight: float) -> None:
        """Note the potentials of a batch that has been reset."""
        self.env, self.gamma, self.weight = env, gamma, weight
        self.seats = [env.world.agents.index(name) for name in env.agents]
        self.before = self.potentials(1.0)

    def potentials(self, left: float, cut: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Return the potential of every agent of the caller, (envs, agents).

        Args:
            left: The remaining share of the weight, from 1 to 0.
            cut: Agents in an episode that a limit has just cut off, (envs, agents).
        """
        states, side = self.env.batch.states, self.env.world.side
        seats = len(self.env.world.agents)
        x, y, carry, alive = (states[name][:, :seats] for name in ("x", "y", "carry", "alive"))
        if cut is not None:
            alive = alive.copy()
            alive[:, self.seats] |= cut
        steps = np.zeros((len(states), seats))
        steps_left(np.ascontiguousarray(states["cells"]), side, x, y, carry, alive, steps)
        return -self.weight * left * steps[:, self.seats]

    def add(
        self,
        rewards: NDArray[np.float64],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        left: float,
    ) -> None:
        """Add the shaping of the last step, with the remaining share of the weight, to its rewards.

        Where a limit has cut off an episode, a value estimate stands for what follows, so the
        potential there counts as it does in mid-episode.
        """
        after = self.potentials(left, truncated)
        rewards += self.gamma * np.where(terminated, 0.0, after) - self.before
        self.before = after
