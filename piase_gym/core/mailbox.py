"""Mailboxes (the explorer document): who says what to whom, with delay, limits, loss and a history.

A message is ``{sender, recipient, message}``; the recipient is one agent or ``all`` (everyone
else). Messages sent in one step are delivered `delay` steps later, in the order of sending, and
stay visible for that one step. `Mailbox.poll` empties an agent's box; looking at what is delivered
never does. The public name of the class is `piase_gym.mailbox.Mailbox`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from piase_gym.core.commands import MAX_LINE
from piase_gym.core.models import MailMessage
from piase_gym.core.rng import Stream
from piase_gym.errors import ActionError, AgentError, ConfigError

EVERYONE = "all"


class Message(NamedTuple):
    """One message on its way or delivered."""

    sender: str
    recipient: str
    message: str

    def __deepcopy__(self, _memo: Any) -> Message:
        """Return itself: it never changes."""
        return self

    def as_dict(self) -> MailMessage:
        """Return the message as the explorer document writes it."""
        return MailMessage(sender=self.sender, recipient=self.recipient, message=self.message)


@dataclass(frozen=True)
class ChannelRules:
    """How messages travel.

    Attributes:
        delay: Steps from posting to delivery; 0 delivers within the same step.
        max_length: Longest message in characters; the rest is cut off.
        drop: Probability that one recipient does not get one message.
        box_size: Most letters that an unread box keeps; the oldest are dropped first.
        history: How many of the last messages of each sender `Mailbox.recent` keeps.
    """

    delay: int = 1
    max_length: int = 200
    drop: float = 0.0
    box_size: int = 64
    history: int = 0


Hears = Callable[[str, str], bool]


def everyone_hears(sender: str, recipient: str) -> bool:
    """Let every agent hear every other."""
    return True


class Mailbox:
    """The mail of one environment: a box per agent, messages on their way, and the history.

    With a delay of 0 a message is in the box as soon as it is sent, unless messages can be lost:
    losses are drawn in `deliver`, as for every other delay.

    Args:
        agents: The names of the agents; each has a box.
        delay: Steps from sending to delivery (messages are then left whole), or the full
            `ChannelRules`.
        hears: ``hears(sender, recipient)`` returns whether a message gets through.

    Attributes:
        delivered: For each agent, what the last `deliver` showed it; observing never removes it.
        boxes: For each agent, what it has not polled yet.
        recent: For each agent, the last messages it has heard, by sender and newest first, with
            the steps since then; none if the rules have no `history`.
        history: Every message that was sent, as dicts of the explorer document.

    Raises:
        ConfigError: If agents are not named apart, or a rule is not allowed.

    Example:
        >>> mail = Mailbox(["ann", "bob", "cid"])
        >>> letter = mail.send("ann", "all", "I found a keyboard at position 5")
        >>> mail.poll("bob")
        [{'sender': 'ann', 'recipient': 'all', 'message': 'I found a keyboard at position 5'}]
        >>> mail.poll("bob"), mail.poll("ann")
        ([], [])
    """

    def __init__(
        self,
        agents: Sequence[str],
        delay: int | ChannelRules = 0,
        hears: Hears = everyone_hears,
    ) -> None:
        """Open an empty box for each agent."""
        self.agents = tuple(agents)
        if isinstance(agents, str) or len({*self.agents, EVERYONE}) != len(self.agents) + 1:
            raise ConfigError(f"agents are different names, none of them {EVERYONE!r}: {agents!r}")
        if not isinstance(delay, ChannelRules):
            delay = ChannelRules(delay, max_length=MAX_LINE)
        self.rules = delay
        if type(self.rules.delay) is not int or self.rules.delay < 0:
            raise ConfigError(f"a delay is a number of steps from 0, not {self.rules.delay!r}")
        for name, least in (("max_length", 1), ("box_size", 0), ("history", 0)):
            value = getattr(self.rules, name)
            if type(value) is not int or value < least:
                raise ConfigError(f"{name} is an integer from {least}, not {value!r:.60}")
        drop = self.rules.drop
        if type(drop) not in (int, float) or not 0 <= drop <= 1:
            raise ConfigError(f"drop is a probability from 0 to 1, not {drop!r:.60}")
        self.hears = hears
        self._at_once = self.rules.delay == 0 and self.rules.drop == 0.0
        self.clear()

    def clear(self) -> None:
        """Forget everything, as at a reset."""
        self.boxes: dict[str, list[Message]] = {agent: [] for agent in self.agents}
        self.delivered: dict[str, list[Message]] = {agent: [] for agent in self.agents}
        self.history: list[MailMessage] = []
        self.recent: dict[str, list[tuple[Message, int]]] = {agent: [] for agent in self.agents}
        self._travelling: list[tuple[int, Message]] = []
        self._now = 0

    def send(self, sender: str, recipient: str, message: str) -> Message:
        """Send a message, cut to the greatest length that the channel allows.

        Raises:
            AgentError: If the sender or the recipient has no box.
            ActionError: If it is to oneself, no string, blank, or longer than `MAX_LINE`.
        """
        self._require(sender)
        if recipient != EVERYONE:
            self._require(recipient, f"; {EVERYONE!r} is everybody else")
        if sender == recipient:
            raise ActionError(f"{sender} cannot send a message to itself")
        if not isinstance(message, str):
            raise ActionError(f"a message is a string, not {type(message).__name__}")
        if not message.strip():
            raise ActionError("a message cannot be empty")
        if len(message) > MAX_LINE:
            raise ActionError(f"a message has at most {MAX_LINE} characters, not {len(message)}")
        # Lone surrogates cannot be written as UTF-8, which logs and digests need.
        message = message[: self.rules.max_length].encode("utf-8", "replace").decode()
        letter = Message(sender, recipient, message)
        self.history.append(letter.as_dict())
        self._travelling.append((self._now + self.rules.delay, letter))
        if self._at_once:
            for agent in self._hearers(letter):
                self._deliver(agent, letter)
        return letter

    def sent_before(self) -> int:
        """Return how many messages of the history were sent before the present step."""
        latest = self._now + self.rules.delay
        return len(self.history) - sum(when == latest for when, _ in self._travelling)

    def senders(self, since: int) -> list[int]:
        """Return the number of the sender for each message of an agent after the first `since`."""
        names = [letter["sender"] for letter in self.history[since:]]
        return [self.agents.index(name) for name in names if name in self.agents]

    def _require(self, agent: object, more: str = "") -> None:
        """Refuse names without a box."""
        if not isinstance(agent, str) or agent not in self.boxes:
            names = ", ".join(self.agents)
            raise AgentError(f"there is no agent {agent!r:.60}; agents are {names}{more}")

    def _hearers(self, letter: Message) -> list[str]:
        """Return the agents that a letter is meant for and that hear its sender."""
        sender, recipient, _ = letter
        meant = [a for a in self.agents if recipient in (a, EVERYONE) and a != sender]
        return [agent for agent in meant if self.hears(sender, agent)]

    def deliver(self, stream: Stream | None = None) -> None:
        """End a step: advance the clock and hand over what is due.

        Args:
            stream: The channel's random stream; needed and drawn from only if messages can be lost.

        Raises:
            ConfigError: If messages can be lost and there is no stream.
        """
        if self.rules.drop > 0.0 and stream is None:
            drop = self.rules.drop
            raise ConfigError(f"deliver needs a random stream, as drop is {drop}: Stream(seed)")
        self.delivered = {agent: [] for agent in self.agents}
        self._now += 1
        if self._travelling:
            self._hand_over(stream)
        if self.rules.history:
            for agent in self.agents:
                self._remember(agent)

    def _hand_over(self, stream: Stream | None) -> None:
        """Deliver what is due."""
        due = [letter for when, letter in self._travelling if when < self._now]
        self._travelling = [(when, item) for when, item in self._travelling if when >= self._now]
        for letter in due:
            for agent in self._hearers(letter):
                if stream is not None and self._is_lost(stream):
                    continue
                self.delivered[agent].append(letter)
                if not self._at_once:
                    self._deliver(agent, letter)

    def _remember(self, agent: str) -> None:
        """Age what an agent has heard by one step, and add what it heard in this one."""
        heard = [(letter, 0) for letter in reversed(self.delivered[agent])]
        known = [*heard, *((letter, steps + 1) for letter, steps in self.recent[agent])]
        by_sender: dict[str, list[tuple[Message, int]]] = {sender: [] for sender in self.agents}
        for entry in known:
            if entry[0].sender in by_sender:  # the system is not among them
                by_sender[entry[0].sender].append(entry)
        most = self.rules.history
        self.recent[agent] = [entry for row in by_sender.values() for entry in row[:most]]

    def _is_lost(self, stream: Stream) -> bool:
        """Draw whether one message is lost to one recipient."""
        return self.rules.drop > 0.0 and stream.uniform() < self.rules.drop

    def post(self, letter: Message) -> None:
        """Deliver a letter at once, bypassing the rules of the channel, as the system does."""
        self.history.append(letter.as_dict())
        self.delivered[letter.recipient].append(letter)
        self._deliver(letter.recipient, letter)

    def _deliver(self, agent: str, letter: Message) -> None:
        """Put a letter into a box; a full box loses the oldest."""
        box = self.boxes[agent]
        box.append(letter)
        del box[: max(0, len(box) - self.rules.box_size)]

    def poll(self, agent: str) -> list[MailMessage]:
        """Return the messages in an agent's box and empty it.

        Raises:
            AgentError: If there is no such agent.
        """
        self._require(agent)
        letters, self.boxes[agent] = self.boxes[agent], []
        return [letter.as_dict() for letter in letters]

    def get_state(self) -> dict[str, Any]:
        """Return the whole state as a JSON-able value."""
        return self._state([list(item.values()) for item in self.history])

    def _state(self, history: Any) -> dict[str, Any]:
        """Return the state with something for its history."""
        return {
            "now": self._now,
            "boxes": {agent: [list(item) for item in box] for agent, box in self.boxes.items()},
            "heard": {agent: [list(item) for item in box] for agent, box in self.delivered.items()},
            "history": history,
            "travelling": [[when, list(item)] for when, item in self._travelling],
            **({"recent": self._recent_state()} if self.rules.history else {}),
        }

    def _recent_state(self) -> dict[str, Any]:
        """Return what agents have heard as a JSON-able value."""
        rows = self.recent.items()
        return {agent: [[list(letter), steps] for letter, steps in row] for agent, row in rows}

    def digest_state(self) -> dict[str, Any]:
        """Return the part of the state that can change the future: all but the history."""
        return self._state(len(self.history))

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned.

        Raises:
            KeyError, TypeError, ValueError: If it does not fit these agents.
        """
        if set(state["boxes"]) != set(self.agents) or set(state["heard"]) != set(self.agents):
            raise ValueError(f"its boxes are not those of {', '.join(self.agents)}")
        now = _step(state["now"])
        boxes = {a: [_letter(item) for item in box] for a, box in state["boxes"].items()}
        heard = {a: [_letter(item) for item in box] for a, box in state["heard"].items()}
        history = [_letter(item).as_dict() for item in state["history"]]
        travelling = [(_step(when), _letter(item)) for when, item in state["travelling"]]
        recent: dict[str, list[tuple[Message, int]]] = {agent: [] for agent in self.agents}
        if self.rules.history:
            for agent, row in state["recent"].items():
                recent[agent] = [(_letter(item), _step(steps)) for item, steps in row]
        if set(recent) != set(self.agents):
            raise ValueError(f"it has heard of others than {', '.join(self.agents)}")
        self.recent = recent
        self._now, self.boxes, self.delivered, self.history = now, boxes, heard, history
        self._travelling = travelling


def charged(
    rewards: Sequence[float],
    speakers: Sequence[int],
    playing: Sequence[int],
    cost: float,
    shared: bool,
) -> list[float]:
    """Return rewards minus the cost of speaking, which all agents split if rewards are shared.

    Args:
        rewards: The reward of each agent.
        speakers: The agents that spoke, once for each message.
        playing: The agents that took part in the step.
        cost: The cost of one message.
        shared: Whether rewards are shared.
    """
    found = list(rewards)
    for speaker in speakers if cost else ():
        for payer in playing if shared else [speaker]:
            found[payer] -= cost / (len(playing) if shared else 1)
    return found


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
