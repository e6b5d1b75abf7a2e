"""Mailboxes (the explorer document): who says what to whom, with delay, limits, loss and a history.

A message is ``{sender, recipient, message}``; the recipient is one agent or ``all`` (everyone
else). What is posted in one step is delivered `delay` steps later, in the order of posting, and
stays visible for that one step. `Mailboxes.poll` empties an agent's box; looking at what is
delivered never does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from piase_gym.core.rng import Stream

EVERYONE = "all"


class Message(NamedTuple):
    """One message on its way or delivered."""

    sender: str
    recipient: str
    message: str


@dataclass(frozen=True)
class ChannelRules:
    """How messages travel.

    Attributes:
        delay: Steps from posting to delivery; 0 delivers within the same step.
        max_length: Longest message in characters; the rest is cut off.
        drop: Probability that one recipient does not get one message.
        box_size: Most letters an unread box keeps; the oldest go first.
    """

    delay: int = 1
    max_length: int = 200
    drop: float = 0.0
    box_size: int = 64


Hears = Callable[[str, str], bool]


def everyone_hears(sender: str, recipient: str) -> bool:
    """Let every agent hear every other."""
    return True


class Mailboxes:
    """The channel of one environment: a plain value with a state of its own."""

    def __init__(
        self,
        agents: Sequence[str],
        rules: ChannelRules | None = None,
        hears: Hears = everyone_hears,
    ) -> None:
        """Open an empty box for each of `agents`; `hears(sender, recipient)` limits the range."""
        self.agents = tuple(agents)
        self.rules = rules or ChannelRules()
        self.hears = hears
        self.clear()

    def clear(self) -> None:
        """Forget everything, as at a reset."""
        self.boxes: dict[str, list[Message]] = {agent: [] for agent in self.agents}
        self.delivered: dict[str, list[Message]] = {agent: [] for agent in self.agents}
        self.history: list[Message] = []
        self._travelling: list[tuple[int, Message]] = []
        self._now = 0

    def send(self, sender: str, recipient: str, message: str) -> Message:
        """Post a message; it is cut to the longest length allowed.

        Raises:
            KeyError: If the sender or the recipient has no mailbox.
        """
        if sender not in self.boxes:
            raise KeyError(sender)
        if recipient != EVERYONE and recipient not in self.boxes:
            raise KeyError(recipient)
        # Lone surrogates cannot be written as UTF-8, which logs and digests need.
        message = message[: self.rules.max_length].encode("utf-8", "replace").decode()
        letter = Message(sender, recipient, message)
        self.history.append(letter)
        self._travelling.append((self._now + self.rules.delay, letter))
        return letter

    def deliver(self, stream: Stream) -> None:
        """End a step: advance the clock and hand over what is due.

        Args:
            stream: The channel's random stream; drawn from only if messages can be lost.
        """
        self.delivered = {agent: [] for agent in self.agents}
        self._now += 1
        if not self._travelling:
            return
        due = [letter for when, letter in self._travelling if when < self._now]
        self._travelling = [(when, item) for when, item in self._travelling if when >= self._now]
        for letter in due:
            for agent in self.agents:
                self._hand_over(letter, agent, stream)

    def _hand_over(self, letter: Message, agent: str, stream: Stream) -> None:
        """Put one letter into one box, unless it is not for that agent or gets lost."""
        meant = letter.recipient in (agent, EVERYONE) and letter.sender != agent
        if not meant or not self.hears(letter.sender, agent):
            return
        if self.rules.drop > 0.0 and stream.uniform() < self.rules.drop:
            return
        self.delivered[agent].append(letter)
        self.boxes[agent].append(letter)
        del self.boxes[agent][: max(0, len(self.boxes[agent]) - self.rules.box_size)]

    def poll(self, agent: str) -> list[Message]:
        """Return what lies in an agent's box and empty it."""
        letters, self.boxes[agent] = self.boxes[agent], []
        return letters

    def get_state(self) -> dict[str, Any]:
        """Return the whole state as a JSON-able value."""
        return {
            "now": self._now,
            "boxes": {agent: [list(item) for item in box] for agent, box in self.boxes.items()},
            "heard": {agent: [list(item) for item in box] for agent, box in self.delivered.items()},
            "history": [list(item) for item in self.history],
            "travelling": [[when, list(item)] for when, item in self._travelling],
        }

    def digest_state(self) -> dict[str, Any]:
        """Return the part of the state that can change the future: all but the history."""
        return {**self.get_state(), "history": len(self.history)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `get_state` returned.

        Raises:
            KeyError, TypeError, ValueError: If it does not fit these agents.
        """
        if set(state["boxes"]) != set(self.agents) or set(state["heard"]) != set(self.agents):
            raise ValueError(f"its mailboxes are not those of {', '.join(self.agents)}")
        now = _step(state["now"])
        boxes = {a: [_letter(item) for item in box] for a, box in state["boxes"].items()}
        heard = {a: [_letter(item) for item in box] for a, box in state["heard"].items()}
        history = [_letter(item) for item in state["history"]]
        travelling = [(_step(when), _letter(item)) for when, item in state["travelling"]]
        self._now, self.boxes, self.delivered, self.history = now, boxes, heard, history
        self._travelling = travelling


def _step(value: Any) -> int:
    """Return the number of a step."""
    if type(value) is not int or abs(value) >= 2**63:
        raise ValueError(f"{value!r:.60} is no step")
    return value


def _letter(item: Any) -> Message:
    """Return a letter that was saved."""
    if (
        not isinstance(item, list | tuple)
        or len(item) != 3
        or not all(isinstance(part, str) for part in item)
    ):
        raise ValueError(f"{item!r:.60} is no letter")
    return Message(*item)
