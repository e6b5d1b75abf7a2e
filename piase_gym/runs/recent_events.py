"""The last events of a run, one by one; those of a live run become lines on request."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from piase_gym.runs.agent_lines import step_events
from piase_gym.runs.lines import Encoder, Line
from piase_gym.runs.schema import Event, kind_of

_FIELDS = ("event_type", "step", "episode", "event_data")


class Step(NamedTuple):
    """One agent's part in one step."""

    step: int
    episode: int
    slot: int
    attempt: int
    outcome: str
    reward: float
    messages: int


class Recent:
    """Remembers the last events.

    Attributes:
        retain: How many are remembered.
        count: How many there were; the last one has this number.
        table: The commands of all indices, from the manifest.
        prefix: The prefix of the ids of the run's goals.
        encoder: Turns the events of a live run into lines.
    """

    def __init__(self, retain: int) -> None:
        """Start with nothing."""
        self.retain = retain
        self.table: Sequence[Mapping[str, Any]] = ()
        self.prefix = ""
        self.encoder: Encoder | None = None
        self.count = 0
        self._items: deque[Event | Line] = deque(maxlen=retain)

    def add(self, item: Event | Line) -> None:
        """Remember the next event."""
        self.count += 1
        self._items.append(item)

    def steps(self, agent: str, after: int = -1) -> list[Step]:
        """Return an agent's part in remembered steps, oldest first.

        Args:
            agent: The agent.
            after: Only steps after this step of the run.
        """
        found: list[Step] = []
        for item in reversed(self._items):
            if isinstance(item, Line):
                event_type, step, episode, data = item[2:6]
            else:
                event_type, step, episode, data = (item[name] for name in _FIELDS)
            if step <= after:
                break
            if kind_of(event_type, data) == "step" and agent in data["commands"]:
                sent = Counter(letter["sender"] for letter in data.get("messages", ()))[agent]
                outcome, reward = data["outcomes"][agent], data["rewards"][agent] or 0.0
                slot = data.get("slot", 0)
                found.append(Step(step, episode, slot, 0, outcome, reward, sent))
        found.reverse()
        return found

    def lines(self, agent: str, since: int, after: int, slot: int | None = None) -> Iterator[Event]:
        """Yield remembered events that concern an agent, with steps as per-agent lines.

        Args:
            agent: The agent.
            since: Number of the first event.
            after: Only events after this step of the run.
            slot: Only events of this environment of a batch.
        """
        for number, item in enumerate(self._items, self.count - len(self._items) + 1):
            if number < since:
                continue
            if isinstance(item, Line):
                assert self.encoder is not None
                item = self.encoder.event(item, number)
            data = item["event_data"]
            if item["step"] <= after or (slot is not None and data.get("slot", slot) != slot):
                continue
            if kind_of(item["event_type"], data) == "step":
                for name, kind, part in step_events(data, item["episode"], self.table, self.prefix):
                    if name == agent:
                        yield {**item, "agent_id": name, "event_type": kind, "event_data": part}
            if item["agent_id"] == agent or data.get("agent") == agent:
                yield item
