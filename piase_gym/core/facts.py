"""What worlds report and receive: capabilities, facts, acts and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.config import WorldConfig
from piase_gym.core.mailbox import Message
from piase_gym.errors import ActionError, whole_number

C = TypeVar("C", bound=WorldConfig)
F = TypeVar("F", bound="Facts")


@dataclass(frozen=True)
class Capabilities:
    """What a world claims; the conformance kit tests what is claimed and prints what is not.

    Attributes:
        deterministic: The same seed and commands give the same states, bit for bit.
        snapshot: `World.get_state` and `World.set_state` carry the whole future.
        batched: There is a compiled kernel that steps many environments at once.
        late_join: Agents can enter after the reset.
        native_text: There is a second text dialect, whose wording comes from outside.
        discrete: Indices stand for commands.
        continuous: A Box stands for commands.
        messages: Agents can write to each other; `World.mailboxes` holds their letters.
        masks: It is known which of the discrete actions are legal.
        digest: Digests stand for the whole state; otherwise those in logs stand for what agents
            see.
        readable: Texts can be read back into facts, and vectors lose nothing of them.
    """

    deterministic: bool = True
    snapshot: bool = True
    batched: bool = False
    late_join: bool = False
    native_text: bool = False
    discrete: bool = True
    continuous: bool = False
    messages: bool = False
    masks: bool = True
    digest: bool = True
    readable: bool = True


@dataclass(frozen=True)
class SharedView:
    """What is shown of the shared memory; see `piase_gym.core.shared_memory`.

    Attributes:
        objects: What any agent has seen, sorted.
        positions: Where agents were last: numbers, one number, the name of a place or ``None``.
        waiting: How many letters lie in each mailbox, if the world has mailboxes.
        said: The last letters.
    """

    objects: tuple[str, ...] = ()
    positions: tuple[tuple[str, Any], ...] = ()
    waiting: tuple[tuple[str, int], ...] = ()
    said: tuple[Message, ...] = ()


class Remembered(NamedTuple):
    """Something that an agent perceived before; see `piase_gym.core.recall`.

    Attributes:
        name: What it is called.
        place: Where it was (numbers), or what is known of it (words), or ``None``.
        ago: How many steps ago it was perceived last.
    """

    name: str
    place: Any
    ago: int


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What one agent may know now. Worlds add their own fields.

    Attributes:
        agent: The agent's name.
        messages: What was delivered to the agent in this step.
        hint: A tutor's or curriculum's hint for this agent, if any.
        shared_memory: What all agents together know, if the config shows it.
        remembered: What the agent perceived before and does not perceive now, if the config shows
            it.
    """

    agent: str
    messages: tuple[Message, ...] = ()
    hint: str | None = None
    shared_memory: SharedView | None = None
    remembered: tuple[Remembered, ...] | None = None


Act = int | Command | InvalidAction | None
"""One agent's part in a step: an index, a command, an invalid action, or no part at all."""
DecodedAction = Command | InvalidAction | None
"""An act after it was decoded and judged; ``None`` for agents that are not in play."""
MAX_HINT = 300
"""Longest hint in characters; the rest is cut off."""
HINT_TEXT = 10 * MAX_HINT + 10
"""Longest line that a hint takes in a text; one character may be escaped as ten."""


class StepResult(NamedTuple):
    """What one step did; each list has one entry per agent, in the order of `World.agents`.

    Attributes:
        rewards: Rewards of this step; 0.0 for agents that were not in play.
        terminated: Which agents ended in this step by the rules (win, lose, death).
        truncated: Which agents ended in this step by a limit of steps or budget.
        outcomes: What became of each command.
        ended: Whether any agent ended in this step.
        notes: Further infos by agent number, such as ``milestones`` and ``feedback``.
    """

    rewards: Sequence[float]
    terminated: Sequence[bool]
    truncated: Sequence[bool]
    outcomes: Sequence[Outcome]
    ended: bool
    notes: Mapping[int, dict[str, Any]]


def check_index(act: object, count: int, agent: str) -> int:
    """Return a discrete action as an int.

    Raises:
        ActionError: If it is not an integer in ``0..count-1``.
    """
    index = None
    if isinstance(act, np.ndarray):
        if act.size == 1 and act.dtype.kind in "iu" and not np.ma.is_masked(act):
            index = int(act.reshape(()))
    else:
        index = whole_number(act)
    if index is None or not 0 <= index < count:
        raise ActionError(
            f"action {act!r:.60} of {agent} is not allowed; "
            f"actions are integers from 0 to {count - 1}"
        )
    return index


def check_box(act: object, box: Box, agent: str) -> NDArray[Any]:
    """Return a continuous action as an array of the box's type.

    Raises:
        ActionError: If it is not an array of numbers in the box.
    """
    fits = False
    try:
        given = np.asarray(act)
        if given.dtype.kind in "iuf" and not np.ma.is_masked(act):
            with np.errstate(over="ignore"):
                values = given.astype(box.dtype)
            fits = box.contains(values)
    except ValueError:  # lists of different lengths
        fits = False
    if not fits:
        raise ActionError(
            f"action {act!r:.60} of {agent} is not allowed; actions are arrays of shape "
            f"{box.shape} from {box.low.min():g} to {box.high.max():g}"
        )
    return values


def explain_invalid(result: StepResult, plans: Sequence[DecodedAction | Act]) -> StepResult:
    """Add the messages of invalid actions to the notes of a step, as ``feedback``."""
    said = {i: plan.message for i, plan in enumerate(plans) if isinstance(plan, InvalidAction)}
    if not said:
        return result
    notes = dict(result.notes)
    for agent, message in said.items():
        notes[agent] = {"feedback": message, **notes.get(agent, {})}
    return result._replace(notes=notes)


@dataclass(frozen=True)
class TextWriter(Generic[C, F]):
    """Writes the texts of one config, from what `World.capture` kept."""

    to_text: Callable[[F, C], str]
    config: C

    def __call__(self, kept: F, agent: int) -> str:
        """Write the text of an agent's facts."""
        return self.to_text(kept, self.config)


def shared(rewards: Sequence[float], playing: Sequence[int]) -> list[float]:
    """Return the mean reward of the agents in play for each of them, and 0.0 for the others."""
    mean = sum_in_order(rewards[agent] for agent in playing) / len(playing) if playing else 0.0
    return [mean if agent in playing else 0.0 for agent in range(len(rewards))]
