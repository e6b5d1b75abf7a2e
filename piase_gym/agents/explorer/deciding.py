"""What decides for an explorer: rules, or any agent, such as a language model."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from piase_gym.agents.base import Agent, Feedback, Percept
from piase_gym.core.commands import MAX_LINE, Command, InvalidAction, Outcome
from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.errors import UnsupportedError
from piase_gym.memory.texts import remembered_places


class Decision(NamedTuple):
    """What an explorer has decided.

    Attributes:
        action: A line, such as ``forward``; ``None`` if there is none.
        reason: Why.
        message: What it tells the others; empty if nothing.
        failure: Why there is no action.
    """

    action: str | None
    reason: str = ""
    message: str = ""
    failure: InvalidAction | None = None


@runtime_checkable
class Decider(Protocol):
    """Decides for one explorer.

    If it has a method ``reset(seed)``, `Exploration` calls it at the start of each episode.
    """

    def begin(self, shared: Any) -> None:
        """Begin to think; the call waits for the result."""

    def __call__(self, shared: Any) -> Decision:
        """Decide what to do, from the agent's record."""


def begin_episode(decider: Decider, seed: int) -> None:
    """Reset a decider, if it can be reset."""
    if callable(reset := getattr(decider, "reset", None)):
        reset(seed)


# -- any agent ----------------------------------------------------------------------------


class ExplorerPercept(Percept):
    """What an explorer perceives: its world, what it was told, and what it remembers.

    Args:
        shared: The explorer's record, whose perception is an interface over a world.
    """

    __slots__ = ("_letters", "_longest", "_memories", "_own_mail")

    def __init__(self, shared: Any) -> None:
        perception = shared["perception"]
        index = perception.world.agents.index(shared["agent_id"])
        super().__init__(perception.world, index, perception.time_step)
        self._letters = [
            Message(letter["sender"], letter.get("recipient", EVERYONE), letter["message"])
            for letter in shared["other_agent_messages"]
        ]
        self._memories = [text for text, _ in shared["retrieved_memories"]]
        self._longest: int = min(MAX_LINE, perception.mailboxes.rules.max_length)
        self._own_mail: bool = perception.mailboxes is not perception.world.mailboxes

    @property
    def letters(self) -> Sequence[Message]:
        """The messages that were in its mailbox."""
        return self._letters

    @property
    def can_tell(self) -> bool:
        """Whether there is anybody to send a message to."""
        return len(self.world.agents) > 1

    @property
    def may_tell(self) -> bool:
        """Whether a message is sent now; mailboxes outside of the world take it at any time."""
        return self._own_mail or super().may_tell

    @property
    def longest_letter(self) -> int:
        """How many characters are sent of a message."""
        return self._longest

    @property
    def memories(self) -> Sequence[str]:
        """The memories that it has retrieved."""
        return self._memories


class PolicyDecider:
    """Lets an agent decide: a language model, a world's script, or any policy.

    Args:
        agent: The agent.

    Raises:
        UnsupportedError: When it decides, if the explorer's perception is not over a world; that of
            an environment of your own is, if `Exploration` has it.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._percept: ExplorerPercept | None = None

    def reset(self, seed: int) -> None:
        """Let the agent begin an episode."""
        self._percept = None
        self.agent.reset(seed)

    def begin(self, shared: Any) -> None:
        """Let the agent perceive, and begin to choose."""
        self._percept = self._perceive(shared)
        self.agent.begin_act()

    def _perceive(self, shared: Any) -> ExplorerPercept:
        """Let the agent learn from its last command, and perceive what there is now."""
        perception, agent_id = shared["perception"], shared["agent_id"]
        if not hasattr(perception, "world"):
            kind = type(perception).__name__
            raise UnsupportedError(
                f"{type(self.agent).__name__} decides in a world; {kind} has none, but "
                "Exploration puts one around it"
            )
        self.agent.set_id(agent_id)
        result = perception.get_agent_state(agent_id)["last_action_result"]
        if result is not None and "outcome" in (result.get("details") or {}):
            details, reward = result["details"], result["rewards_obtained"]["reward"]
            ends = bool(details["terminated"]), bool(details["truncated"])
            self.agent.learn(Feedback(reward, *ends, Outcome(details["outcome"])))
        percept = ExplorerPercept(shared)
        self.agent.perceive(percept)
        return percept

    def __call__(self, shared: Any) -> Decision:
        """Return the agent's choice, its reason if it gives one, and its message to the others."""
        percept, self._percept = self._percept or self._perceive(shared), None
        act = self.agent.get_chosen_action()
        reason = str((self.agent.internal_state() or {}).get("reason", ""))
        message = " ".join(self.agent.outgoing_letters())
        command = _command(percept, act)
        if isinstance(command, InvalidAction):
            return Decision(None, command.message, message, command)
        line = command if isinstance(command, str) else percept.write(command)
        return Decision(line, reason, message)

    def log_entries(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return the agent's lines for logs, such as a model's replies."""
        return self.agent.log_entries()


def _command(percept: Percept, act: Any) -> str | Command | InvalidAction:
    """Return what an agent chose as a line or a command."""
    if isinstance(act, str | Command | InvalidAction):
        return act
    if np.shape(act) == ():
        return percept.world.command(percept.index, int(act))
    return percept.world.command_from_box(percept.index, act)


# -- rules --------------------------------------------------------------------------------


class RuleDecider:
    """Goes where the team has not been, and tells the others what they do not know yet.

    In each episode it learns where actions lead by doing them: how far they move it at a given
    rotation, or from which place to which. Of the possible actions it takes the one that leads to
    the place with the fewest known visits by anybody; agents with odd numbers prefer the second of
    equally good ones, so that a team splits up. A place counts as visited if the agent's memories,
    or what others told it, say that somebody looked at it.

    Args:
        steer: A decider that chooses actions in its place, such as a world's script that plans with
            a map; what is told to the others stays the same.
    """

    def __init__(self, steer: Decider | None = None) -> None:
        self.steer = steer
        self._forget()

    def reset(self, seed: int) -> None:
        """Begin an episode, knowing nothing of earlier ones."""
        self._forget()
        if self.steer is not None:
            begin_episode(self.steer, seed)

    def _forget(self) -> None:
        """Know nothing."""
        self._visits: Counter[str] = Counter()
        self._leads: dict[tuple[str, str], str] = {}
        self._moves: dict[tuple[str, str], list[float]] = {}
        self._tries: Counter[str] = Counter()
        self._changes: Counter[str] = Counter()
        self._last: tuple[Any, Any, str] | None = None

    def begin(self, shared: Any) -> None:
        """Let a steering agent begin."""
        if self.steer is not None:
            self.steer.begin(shared)

    def __call__(self, shared: Any) -> Decision:
        """Decide."""
        message = _news(shared)
        if self.steer is not None:
            chosen = self.steer(shared)
            reason = chosen.reason or "there is most left to look at on this way"
            return chosen._replace(reason=reason, message=message or chosen.message)
        self._learn(shared)
        action, hoped = self._best(shared)
        self._last = shared["position"], shared["rotation"], action
        reasons = ("it leads where nobody has been", "it leads where we have been least")
        return Decision(action, reasons[hoped > 0], message)

    def _learn(self, shared: Any) -> None:
        """Note where everybody is, and where the last action has led."""
        here, turn = shared["position"], shared["rotation"]
        self._visits[_key(here, turn)] += 1
        for other, place in shared["shared_memory"]["agent_positions"].items():
            if other != shared["agent_id"]:
                self._visits[_key(place, turn)] += 1
        for text, _ in shared["retrieved_memories"]:
            for place in remembered_places(text):
                self._visits.setdefault(_key(place, turn), 1)
        if self._last is None:
            return
        was, turned, action = self._last
        self._tries[action] += 1
        self._changes[action] += (was, turned) != (here, turn)
        self._leads[_key(was, turned), action] = _key(here, turn)
        if turned == turn and was != here and (step := _difference(was, here)) is not None:
            self._moves[_key(None, turn), action] = step

    def _best(self, shared: Any) -> tuple[str, float]:
        """Return the best action, and how often somebody has been where it leads."""
        actions = _possible(shared)
        number = sorted(shared["shared_memory"]["agent_positions"]).index(shared["agent_id"])
        if number % 2 and len(actions) > 1:
            actions[:2] = actions[1::-1]
        hopes = [self._hope(action, shared["position"], shared["rotation"]) for action in actions]
        best = min(range(len(actions)), key=hopes.__getitem__)
        return actions[best], hopes[best]

    def _hope(self, action: str, here: Any, turn: Any) -> float:
        """Return how often somebody has been where an action leads, as far as is known.

        For an action that is new here, that is how often it has changed nothing elsewhere.
        """
        known = self._leads.get((_key(here, turn), action))
        step = self._moves.get((_key(None, turn), action))
        if known is None and step is not None:
            known = _key(_moved(here, step), turn)
        if known is not None:
            return float(self._visits[known])
        return float(self._tries[action] - self._changes[action])


def _news(shared: Any) -> str:
    """Return news for the others: what is seen now and was not found or told before."""
    memory, letters = shared["shared_memory"], shared["other_agent_messages"]
    if len(memory["agent_positions"]) < 2:
        return ""
    names = {*memory["agent_positions"], *memory["objects"], *shared["explored_objects"]}
    new = [name for name in dict.fromkeys(shared["visible_objects"]) if name not in names]
    heard = " ".join(str(letter["message"]) for letter in letters)
    new = [name for name in new if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", heard)]
    listed = ", ".join(new[:-1]) + " and " * (len(new) > 1) + "".join(new[-1:])
    return f"I found {listed} at position {shared['position']}" if new else ""


def _possible(shared: Any) -> list[str]:
    """Return the possible actions as lines; those that only say something are left out."""
    perception = shared["perception"]
    if hasattr(perception, "world"):
        commands = perception.commands(shared["agent_id"])
        lines = [perception.world.write(c) for c in commands if "message" not in c.parameters]
    else:
        lines = [str(name) for name in perception.get_environment_info()["actions"]]
    if not lines:
        raise UnsupportedError("the environment tells no actions; rules need to know them")
    return lines


def _key(place: Any, turn: Any) -> str:
    """Return a name for a place and a rotation."""
    return json.dumps([place, turn], sort_keys=True, default=str)


def _difference(before: Any, after: Any) -> list[float] | None:
    """Return how far it is from one place to another, where places are numbers."""
    try:
        one, two = np.atleast_1d(before).astype(float), np.atleast_1d(after).astype(float)
    except (TypeError, ValueError):
        return None
    return [float(gap) for gap in two - one] if one.shape == two.shape and one.ndim == 1 else None


def _moved(place: Any, step: Sequence[float]) -> Any:
    """Return the place that is one step away from another."""
    if not isinstance(place, list | tuple):
        return type(place)(place + step[0]) if isinstance(place, int | float) else place
    return [type(old)(old + gap) for old, gap in zip(place, step, strict=True)]
