"""The last events of a run, one by one; of a live run in the form in which they were noted."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from piase_gym.runs.bulk import BulkEncoder
from piase_gym.runs.expand import step_events
from piase_gym.runs.lines import Group, Line, StepItem
from piase_gym.runs.reader import Event
from piase_gym.runs.stretch import Rows

Item = Event | Line | Group | StepItem | Rows
"""A line of a log, or what is to become a line or several."""


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
        table: The commands of all indices, from the manifest.
        prefix: What the ids of the run's goals begin with.
        encoder: Turns items of a live run into lines.
    """

    def __init__(self, retain: int) -> None:
        """Start with nothing."""
        self.retain = retain
        self.table: Sequence[Mapping[str, Any]] = ()
        self.prefix = ""
        self.encoder: BulkEncoder | None = None
        self._items: deque[tuple[int, int, Item]] = deque()
        self._count = 0

    def add(self, last: int, count: int, item: Item) -> None:
        """Remember `count` events, of which the last has the number `last`."""
        items = self._items
        items.append((last, count, item))
        self._count += count
        while self._count - items[0][1] >= self.retain:
            self._count -= items.popleft()[1]

    def steps(self, agent: str, after: int = -1) -> list[Step]:
        """Return an agent's part in remembered steps, oldest first.

        Args:
            agent: The agent.
            after: Only steps after this step of the run.
        """
        found: list[Step] = []
        for _, _, item in reversed(self._items):
            if type(item) is Rows:
                found += [s for s in _of_rows(item, agent) if s.step > after]
                before = item.step < after
            elif type(item) is dict:
                before = item["step"] <= after
                if not before:
                    found += _of_event(item, agent)
            else:
                before = _step_of(item) <= after  # type: ignore[arg-type]
                if not before and type(item) is tuple:
                    found += _of_item(item, agent)  # type: ignore[arg-type]
            if before:
                break
        found.reverse()
        return found

    def lines(
        self, agent: str, since: int, after: int, slot: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield remembered events that concern an agent, steps as lines of single agents.

        Args:
            agent: The agent.
            since: Number of the first event.
            after: Only events after this step of the run.
            slot: Only events of this environment of a batch.
        """
        for event in self._events(since):
            data = event["event_data"]
            if event["step"] <= after or (slot is not None and data.get("slot", slot) != slot):
                continue
            if data.get("kind") == "step":
                for name, kind, part in step_events(
                    data, event["episode"], self.table, self.prefix
                ):
                    if name == agent:
                        yield {**event, "agent_id": name, "event_type": kind, "event_data": part}
            if event["agent_id"] == agent or data.get("agent") == agent:
                yield event

    def _events(self, since: int) -> Iterator[Event]:
        """Yield events as lines, from a number on."""
        for last, count, item in self._items:
            if last < since:
                continue
            if type(item) is dict:
                yield item
                continue
            encoder = self.encoder
            assert encoder is not None
            encoder.count = last - count
            if isinstance(item, Line | Group):
                text = encoder.line(item) if isinstance(item, Line) else encoder.group(item)
                yield from map(orjson.loads, text.split("\n")[:-1])
                continue
            steps = encoder.items(item) if type(item) is Rows else [item]
            for number, step in enumerate(steps, last - count + 1):
                event = orjson.loads(encoder.step(step))  # type: ignore[arg-type]
                if number >= since:
                    yield event


def _step_of(item: Line | Group | StepItem) -> int:
    """Return the step of the run to which something belongs."""
    return item.step if isinstance(item, Line | Group) else item[1]


def _of_event(event: Event, agent: str) -> Iterator[Step]:
    """Yield an agent's part in a line."""
    data = event["event_data"]
    if data.get("kind") == "step" and agent in data["commands"]:
        sent = Counter(letter["sender"] for letter in data.get("messages", ()))[agent]
        outcome, reward = data["outcomes"][agent], data["rewards"][agent] or 0.0
        slot = data.get("slot", 0)
        yield Step(event["step"], event["episode"], slot, 0, outcome, reward, sent)


def _of_item(item: StepItem, agent: str) -> Iterator[Step]:
    """Yield an agent's part in a step."""
    _, step, episode, names, _, outcomes, rewards, _, extra = item
    if agent in names:
        place, more = names.index(agent), extra.more if extra is not None else {}
        sent = Counter(letter["sender"] for letter in more.get("messages", ()))[agent]
        reward = float(rewards[place])
        yield Step(step, episode, more.get("slot", 0), 0, str(outcomes[place]), reward, sent)


def _of_rows(rows: Rows, agent: str) -> Iterator[Step]:
    """Yield an agent's part in plain steps, the last first."""
    if agent in rows.names:
        place = rows.names.index(agent)
        outcomes, rewards = rows.outcomes_of(place), rows.rewards[:, place].tolist()
        for k in range(len(rows) - 1, -1, -1):
            run = rows.step + k + 1, rows.episode, rows.slot or 0
            yield Step(*run, 0, outcomes[k], rewards[k], 0)
