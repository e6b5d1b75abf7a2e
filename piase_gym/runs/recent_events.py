"""The last events of a run, one by one; those of a live run become lines on request."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from piase_gym.runs.agent_lines import step_events
from piase_gym.runs.lines import Encoder, Line
from piase_gym.runs.schema import Event, kind_of

_FIELDS = ("agent_id", "event_type", "step", "episode", "event_data")


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
            _, event_type, step, episode, data = _parts(item)
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
            whose, event_type, step, episode, data = _parts(item)
            if step <= after or (slot is not None and data.get("slot", slot) != slot):
                continue
            is_step = kind_of(event_type, data) == "step"
            concerns = agent in (whose, data.get("agent"))
            if not (is_step or concerns):
                continue
            if isinstance(item, Line):
                assert self.encoder is not None
                item = self.encoder.event(item, number)
            if is_step:
                data = item["event_data"]
                for name, kind, part in step_events(data, episode, self.table, self.prefix):
                    if name == agent:
                        yield {**item, "agent_id": name, "event_type": kind, "event_data": part}
            if concerns:
                yield item


def _parts(item: Event | Line) -> Sequence[Any]:
    """Return the agent, the type, the step, the episode and the data of an event."""
    return item[1:6] if isinstance(item, Line) else [item[name] for name in _FIELDS]
