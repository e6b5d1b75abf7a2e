"""How an env takes actions: indices, boxes or lines of text, all of which decode to commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.core.commands import MAX_LINE, Command, InvalidAction
from piase_gym.core.last_step import LastStep
from piase_gym.core.models import ActionCommand
from piase_gym.core.text_encoding import CHARSET
from piase_gym.core.world import Act, World, check_box, check_index
from piase_gym.errors import ActionError, ConfigError, require_known

Actions = Literal["discrete", "continuous", "text"]
ACTIONS = ("discrete", "continuous", "text")


class ActionDecoder:
    """Decodes the actions of one environment, and gives the space that they are in."""

    def __init__(self, world: World[Any, Any], kind: str, strict: bool = False) -> None:
        """Check that the world offers this kind of actions.

        Args:
            world: The world.
            kind: One of `ACTIONS`.
            strict: Whether a text action must be the bare command, for measuring format; else the
                command is found in whatever form language models answer.

        Raises:
            ConfigError: If there is no such kind, or this world does not offer it.
        """
        require_known("actions", kind, ACTIONS)
        offered = [k for k in ACTIONS if k == "text" or getattr(world.capabilities, k)]
        if kind not in offered:
            raise ConfigError(
                f"{world.name} has no {kind} actions; allowed: {', '.join(map(repr, offered))}"
            )
        self.world = world
        self.kind = kind
        self.count = world.num_actions if kind == "discrete" else 0
        self.masked = kind == "discrete" and world.capabilities.masks
        self.strict = strict
        self._read = world.read if strict else world.read_reply
        self._box = world.action_box if kind == "continuous" else None

    def space(self) -> spaces.Space[Any]:
        """Return a new space object for one agent's actions."""
        if self.kind == "discrete":
            return spaces.Discrete(self.count)
        if self._box is not None:
            return self.world.action_box
        return spaces.Text(MAX_LINE, min_length=0, charset=CHARSET)

    def decode(self, agent: int, action: Any) -> Act:
        """Decode one action.

        A line or a command that cannot be understood is an `InvalidAction`, which costs a step; an
        index or an array that is not in the space is an error of the caller.

        Raises:
            ActionError: If the action is not in the space.
        """
        if isinstance(action, Command):
            return self.world.check(agent, action)
        if isinstance(action, InvalidAction):
            return action
        if self.kind == "discrete":
            return check_index(action, self.count, self.world.agents[agent])
        if self._box is not None:
            values = check_box(action, self._box, self.world.agents[agent])
            return self.world.command_from_box(agent, values)
        return self._read(agent, action)


def decode_answer(world: World[Any, Any], number: int, action: Any) -> Act:
    """Translate what an agent answered into what a world takes.

    Raises:
        ActionError: If it is neither a line, a command, nor in a space of actions of the world.
    """
    if isinstance(action, str):
        return world.read_reply(number, action)
    if action is None or isinstance(action, InvalidAction):
        return action
    if isinstance(action, ActionCommand):
        action = Command(action.action_type, action.parameters)
    if isinstance(action, Command):
        return world.check(number, action)
    name = world.agents[number]
    if world.capabilities.continuous and np.shape(action) != ():
        return world.command_from_box(number, check_box(action, world.action_box, name))
    return check_index(action, world.num_actions if world.capabilities.discrete else 0, name)


def no_acts(world: World[Any, Any]) -> list[Act]:
    """Return an empty entry for every agent."""
    return [None] * len(world.agents)


INTEGERS = frozenset(
    (int, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
)
"""The types of plain integers; the world itself refuses those that are out of range."""


def to_indices(actions: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the discrete actions of many environments as an array of integers.

    Raises:
        ActionError: If they are not integers, or not of that shape.
    """
    given = _as_array(actions)
    if given.shape != shape or given.dtype.kind not in "iu" or np.ma.is_masked(actions):
        kind = "a masked array" if np.ma.is_masked(actions) else str(given.dtype)
        raise ActionError(
            f"actions are integers of shape {shape}, not {kind} of shape {given.shape}"
        )
    return np.asarray(given)


def to_actions(space: spaces.Space[Any], actions: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the actions of many agents of one space as an array whose first axes are `shape`.

    Raises:
        ActionError: If it is not one action for each of them.
    """
    if isinstance(space, spaces.Discrete):
        return to_indices(actions, shape)
    given, wanted = _as_array(actions), (*shape, *(space.shape or ()))
    if given.shape != wanted:
        raise ActionError(f"actions are arrays of shape {wanted}, not {given.shape}")
    return given


def _as_array(actions: Any) -> NDArray[Any]:
    """Return actions as an array; of no shape if their lengths differ."""
    try:
        return np.asanyarray(actions)
    except ValueError:
        return np.asarray(None)


def count_entries(actions: object) -> int:
    """Return how many actions a sequence has, or -1 if it is none."""
    if isinstance(actions, str | Mapping):
        return -1
    try:
        return len(actions)  # type: ignore[arg-type]
    except TypeError:  # a single number, also as an array
        return -1


def any_out_of_range(indices: NDArray[Any], count: int) -> bool:
    """Return whether any index is not in ``0..count-1``, whatever the type of integer."""
    return bool(indices.astype(np.int64, copy=False).view(np.uint64).max(initial=0) >= count)


def explains_failures(actions: str, view: str) -> bool:
    """Return whether infos say what prevented an action: they do wherever there is text.

    Args:
        actions: The kind of actions.
        view: What agents are shown.
    """
    return actions == "text" or view != "vector"


def explain_failure(info: dict[str, Any], last: LastStep | None) -> None:
    """Add to an info what prevented an agent's last action, or which part of it was not done."""
    if last is None or not last.reason:
        return
    known = info.get("feedback") or ""
    if last.reason not in known:
        info["feedback"] = f"{known} {last.reason}".strip()
