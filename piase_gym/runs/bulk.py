"""Many plain steps as text at once: what repeats is a column of finished pieces.

The lines are byte for byte those that `Encoder` writes one by one. Each step has the same number of
lines, each line the same number of pieces; so all pieces of one place are set by one slice, and one
join makes the text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from piase_gym.runs.expand import step_events
from piase_gym.runs.json_values import encode
from piase_gym.runs.lines import THREE, Encoder, Extra, StepItem, Texts, moment
from piase_gym.runs.stretch import Rows

SHORT = 8
"""Fewer steps than this are written one by one."""
PAGE = 128
"""About so many lines are written at once: no more than a processor's cache holds."""
_MARK = "\x00"
"""Stands for the episode in texts that are kept longer than an episode."""
_GOAL = encode(f"goal_{_MARK}_")[1:-1]
_KINDS = ("AGENT_ACTION_SENT_TO_ENV", "AGENT_ACTION_EXECUTED_IN_ENV", "REWARD_SIGNAL_ISSUED")


class BulkEncoder(Encoder):
    """An `Encoder` that also writes stretches of plain steps.

    Attributes:
        agents: All agents of the world, in the order of its vectors.
        seers: Those whose perceptions are wanted.
    """

    agents: Sequence[str] = ()
    seers: Sequence[str] = ()

    def __init__(
        self, run_id: str, experiment_id: str, world: str, wants: Callable[[str, str], bool]
    ) -> None:
        """Start with no texts; see `Encoder`."""
        super().__init__(run_id, experiment_id, world, wants)
        self.singles = Texts(lambda key: Texts(lambda values: self._single(*key, *values)))
        """By agent and event types: by command, outcome and bits of the reward, the data of the
        agent's lines, each in an episode that is yet to be named."""

    def _single(
        self, name: str, kinds: Sequence[str], command: int, outcome: str, bits: int
    ) -> list[str]:
        """Write the data of one agent's lines."""
        (reward,) = struct.unpack("<d", struct.pack("<q", bits))
        data = {
            "commands": {name: command},
            "outcomes": {name: outcome},
            "rewards": {name: reward},
        }
        events = step_events(data, _MARK, self.table, self.prefix)
        return [encode(part) for _, kind, part in events if kind in kinds]

    def rows(self, taken: Rows) -> Iterator[str]:
        """Write steps, and below each what is wanted of single agents; some at a time."""
        if not self.steps:
            return
        lines = 1 + 4 * len(taken.names) * self.details
        size = max(SHORT, PAGE // lines)
        for sort in taken.sorts():
            for start in range(0, len(sort), size):
                part = sort.part(start, start + size)
                if len(part) < SHORT:
                    yield "".join([self.step(item) for item in self.items(part)])
                else:
                    yield _write(self, part)

    def items(self, taken: Rows) -> list[StepItem]:
        """Return steps in the form in which single ones are kept."""
        packed, outcomes, rewards = taken.packed(), taken.outcomes(), taken.rewards.tolist()
        found: list[StepItem] = []
        for place, (ns, digest) in enumerate(zip(taken.clocks, taken.digests, strict=True)):
            step = place + 1
            extra = taken.extras.get(taken.step + step)
            if taken.vectors:
                time = float(taken.time + step)
                extra = extra or Extra()
                extra.percepts = self._percepts(taken, taken.vectors[place], time)
            run = (ns, taken.step + step, taken.episode, taken.names)
            said = packed[place], outcomes[place], rewards[place]
            found.append((*run, *said, f"{digest:016x}", extra))
        return found

    def _percepts(self, taken: Rows, vectors: bytes, time: float) -> dict[str, dict[str, Any]]:
        """Return what agents perceived after one step."""
        block = np.frombuffer(vectors, taken.notation.vector_type).reshape(len(self.agents), -1)
        return {
            name: {"timestamp": time, "sensor_data": {"vector": block[self.agents.index(name)]}}
            for name in self.seers
            if name in taken.names
        }


class _Page:
    """The pieces of the lines of many steps, to be set column by column."""

    def __init__(self, encoder: Encoder, taken: Rows) -> None:
        self.encoder, self.count = encoder, len(taken)
        self.template: list[str] = []
        self.columns: list[tuple[int, list[str]]] = []
        self.heads: list[int] = []
        steps = range(taken.step + 1, taken.step + self.count + 1)
        self.steps = list(map(str, steps))
        self.stamps = _stamps(encoder, taken.clocks)

    def line(self, head: str, *pieces: str | list[str]) -> None:
        """Add a line to every step: its head, then constant pieces and columns of pieces."""
        self.heads.append(len(self.template) + 1)
        for piece in (self.stamps, "", head, self.steps, *pieces):
            if isinstance(piece, str):
                self.template.append(piece)
            else:
                self.columns.append((len(self.template), piece))
                self.template.append("")

    def text(self) -> str:
        """Number all lines and join the pieces."""
        encoder, width, lines = self.encoder, len(self.template), len(self.heads)
        pieces = self.template * self.count
        for place, column in self.columns:
            pieces[place::width] = column
        first = encoder.count + 1
        numbers = list(map(str, range(first, first + lines * self.count)))
        for which, place in enumerate(self.heads):
            pieces[place::width] = numbers[which::lines]
        encoder.count += lines * self.count
        return "".join(pieces)


def _write(encoder: BulkEncoder, taken: Rows) -> str:
    """Write many steps."""
    party = encoder.parties[taken.names]
    page = _Page(encoder, taken)
    episode = f',"episode":{taken.episode},"event_data":'
    page.line(
        encoder.step_head,
        episode + '{"kind":"step",',
        list(map(party.commands.__getitem__, taken.packed())),
        list(map(party.outcomes.__getitem__, taken.outcomes())),
        list(map(party.rewards.__getitem__, taken.packed_rewards())),
        party.calm,
        [f"{digest:016x}" for digest in taken.digests],
        '"}}\n',
    )
    if encoder.details:
        for place, name in enumerate(taken.names):
            _write_agent(encoder, page, taken, place, name, episode)
        if taken.vectors:
            _write_percepts(encoder, page, taken, episode)
    return page.text()


def _stamps(encoder: Encoder, clocks: list[int]) -> list[str]:
    """Return the beginnings of lines: the time of day, and what all lines of a run share."""
    clock, run, milli, before = encoder.clock, encoder.run, -1, ""
    found: list[str] = []
    for ns in clocks:
        micro = (ns + clock) // 1000
        if micro // 1000 != milli:
            milli = micro // 1000
            before = '{"timestamp":"' + moment(milli)
        found.append(before + THREE[micro % 1000] + run)
    return found


def _write_agent(
    encoder: BulkEncoder, page: _Page, taken: Rows, place: int, name: str, episode: str
) -> None:
    """Add the lines of one agent: its command, what became of it, its reward."""
    kinds = [kind for kind in _KINDS if encoder.wants(name, kind)]
    if not kinds:
        return
    bits: NDArray[np.int64] = taken.rewards.view(np.int64)[:, place]
    outcomes = taken.outcomes_of(place)
    known = encoder.singles[name, tuple(kinds)]
    goal = f"goal_{taken.episode}_"
    texts = Texts(lambda key: [f"{episode}{t.replace(_GOAL, goal)}}}\n" for t in known[key]])
    keys = zip(taken.acts[:, place].tolist(), outcomes, bits.tolist(), strict=True)
    found = list(map(texts.__getitem__, keys))
    for which, kind in enumerate(kinds):
        page.line(encoder.heads[name, kind, None, None], [text[which] for text in found])


def _write_percepts(encoder: BulkEncoder, page: _Page, taken: Rows, episode: str) -> None:
    """Add the lines of what agents perceived."""
    seers = [name for name in encoder.seers if name in taken.names]
    values = np.frombuffer(b"".join(taken.vectors), taken.notation.vector_type)
    blocks = values.reshape(len(taken), len(encoder.agents), -1)
    first = taken.time + 1
    times = [f"{time}.0" for time in range(first, first + len(taken))]
    for name in seers:
        own = np.ascontiguousarray(blocks[:, encoder.agents.index(name)])
        vectors = orjson.dumps(own, option=orjson.OPT_SERIALIZE_NUMPY).decode()
        page.line(
            encoder.heads[name, "PERCEPTION_INPUT_RECEIVED", None, None],
            episode + '{"timestamp":',
            times,
            ',"sensor_data":{"vector":[',
            vectors[2:-2].split("],["),
            "]}}}\n",
        )
