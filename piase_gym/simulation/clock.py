"""How a simulation gets agents' answers: at once, on a clock that does not wait, or by events."""

from __future__ import annotations

import copy
import heapq
import math
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from piase_gym.agents.base import Agent, Percept, ask
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.world import World
from piase_gym.envs.actions import decode_answer
from piase_gym.errors import ConfigError, UnknownNameError, UnsupportedError

MakePercept = Callable[[World[Any, Any], int, int], Percept]
"""Returns what an agent perceives, given (world, the agent's number, step)."""
LATE = ("queue", "latest", "drop")
"""What is done with answers that come after their step."""
Times = float | Sequence[float] | Callable[[int], float]
"""Milliseconds that answers take: always the same, each in turn, or a function of their number."""
Durations = float | Mapping[str, float]
"""Milliseconds that an action takes: any action, or by verb; ``"*"`` stands for the others."""


class Clock(ABC):
    """Asks agents.

    Attributes:
        now: The simulated time of the episode, in milliseconds, if there is one.
        late: The answers of the last step that came too late, as (agent, the step they were for).
    """

    now: float = 0.0
    late: Sequence[tuple[int, int]] = ()

    def begin(self) -> None:
        """Begin an episode."""

    @abstractmethod
    def ask(self, world: World[Any, Any], seats: Mapping[int, Agent], step: int) -> dict[int, Any]:
        """Return the answers of the agents that act in the next step."""

    def submit(self, number: int, answer: Any) -> None:
        """Take an answer that was not asked for."""
        raise UnsupportedError("with discrete_steps agents answer when they are asked")

    def close(self) -> None:
        """Release resources."""


class StepClock(Clock):
    """Discrete steps: the world waits until every agent has answered."""

    def __init__(self, percept: MakePercept = Percept) -> None:
        """Say how percepts are made."""
        self._percept = percept

    def ask(self, world: World[Any, Any], seats: Mapping[int, Agent], step: int) -> dict[int, Any]:
        """Let all agents perceive, then let all answer."""
        for number, agent in seats.items():
            agent.receive_perception(self._percept(world, number, step))
        return dict(zip(seats, ask(list(seats.values())), strict=True))


# -- real time -------------------------------------------------------------------------------------


@dataclass
class _Request:
    """One question to one agent.

    Attributes:
        step: The step for which it was asked.
        tick: How many steps came before it, in all episodes.
        stale: Whether its episode is over.
    """

    agent: Agent
    percept: Percept
    step: int
    tick: int
    stale: bool = False
    began: float = field(default_factory=time.monotonic)
    done: threading.Event = field(default_factory=threading.Event)
    arrives: float = math.inf
    answer: Any = None
    error: BaseException | None = None
    took: float = 0.0

    def run(self, caught: type[BaseException] = Exception) -> None:
        """Let the agent think; an error that is `caught` is raised when the answer is due."""
        try:
            self.agent.receive_perception(self.percept)
            self.answer = self.agent.get_chosen_action()
        except caught as error:  # handed to the simulation, which raises it
            self.error = error
        self.took = 1000 * (time.monotonic() - self.began)
        self.done.set()


class RealTime(Clock):
    """Real time: a step lasts a fixed time, whether or not an agent has answered.

    Agents think about the world as it was when they were asked, and are asked again in the step
    after their answer. An agent with no answer waiting at the end of a step has the outcome
    ``timeout`` and does nothing.

    Args:
        step_ms: How long a step lasts, in milliseconds.
        late: What is done with answers: ``queue`` (each is carried out, one per step, in the order
            in which they came), ``latest`` (only the last one that came, others are dropped) or
            ``drop`` (those that come after their step are dropped).
        percept: Makes percepts.

    Attributes:
        times: How long each answer of each agent took, in milliseconds, by number.

    Raises:
        UnknownNameError: If there is no such policy.
    """

    def __init__(self, step_ms: int, late: str = "queue", percept: MakePercept = Percept) -> None:
        if late not in LATE:
            raise UnknownNameError("policy for late answers", late, LATE)
        self._percept, self._policy = percept, late
        self.step_ms = step_ms
        self.times: dict[int, list[float]] = {}
        self._tick = 0
        self._open: dict[int, _Request] = {}
        self._waiting: dict[int, deque[Any]] = {}

    def begin(self) -> None:
        """Begin an episode: answers from the last one are discarded."""
        self.now, self.late = 0.0, []
        self._waiting.clear()
        for request in self._open.values():
            request.stale = True

    def ask(self, world: World[Any, Any], seats: Mapping[int, Agent], step: int) -> dict[int, Any]:
        """Ask the agents that are free, wait until the step is over, and collect the answers."""
        end = time.monotonic() + self.step_ms / 1000
        for number, agent in seats.items():
            if number not in self._open:
                self._open[number] = self._start(world, number, agent, step)
        self._wait(end)
        self.late = self._collect()
        self._tick += 1
        self.now += self.step_ms
        none = InvalidAction(Outcome.TIMEOUT, f"no answer within {self.step_ms:.0f} ms")
        waiting = ((number, self._waiting.get(number)) for number in seats)
        return {number: answers.popleft() if answers else none for number, answers in waiting}

    def submit(self, number: int, answer: Any) -> None:
        """Let an answer wait for the end of the step."""
        most = 1 if self._policy == "latest" else None
        self._waiting.setdefault(number, deque(maxlen=most)).append(answer)

    @abstractmethod
    def _start(self, world: World[Any, Any], number: int, agent: Agent, step: int) -> _Request:
        """Ask one agent."""

    @abstractmethod
    def _wait(self, end: float) -> None:
        """Wait until the step is over."""

    @abstractmethod
    def _has_come(self, request: _Request) -> bool:
        """Return whether an answer is there at the end of this step."""

    def _collect(self) -> list[tuple[int, int]]:
        """Let the answers that have come wait their turn, and return those that are late."""
        late = []
        for number, request in list(self._open.items()):
            if not self._has_come(request):
                continue
            del self._open[number]
            steps = self._tick - request.tick
            least, most = steps * self.step_ms, (steps + 1) * self.step_ms
            took = request.took if least <= request.took < most else least + self.step_ms / 2
            self.times.setdefault(number, []).append(took)
            if request.error is not None:
                raise request.error
            if request.stale:
                continue
            if steps:
                late.append((number, request.step))
            if not (steps and self._policy == "drop"):
                self.submit(number, request.answer)
        return late

    def close(self) -> None:
        """Forget the agents that are still thinking; their threads end with their answers."""
        self._open.clear()


class WallClock(RealTime):
    """Real time by the wall clock: agents think in threads, about copies of the world."""

    def _start(self, world: World[Any, Any], number: int, agent: Agent, step: int) -> _Request:
        """Ask one agent in a thread."""
        percept = self._percept(copy.deepcopy(world), number, step)
        request = _Request(agent, percept, step, self._tick)
        name = f"agent-{world.agents[number]}"
        # What ends a program, as a person does at the end of the input, ends no thread alone.
        think = threading.Thread(target=request.run, args=(BaseException,), name=name, daemon=True)
        think.start()
        return request

    def _wait(self, end: float) -> None:
        """Sleep until the end."""
        time.sleep(max(0.0, end - time.monotonic()))

    def _has_come(self, request: _Request) -> bool:
        """Return whether the thread is done."""
        return request.done.is_set()


class SimulatedClock(RealTime):
    """Real time without waiting: how long answers take is given, so that runs can be repeated.

    Args:
        step_ms: How long a step lasts, in milliseconds.
        times: How long answers take, by agent number; agents that are not named answer at once.
            After the end of a list no more answers come.
        late: See `RealTime`.
        percept: Makes percepts.
    """

    def __init__(
        self,
        step_ms: int,
        times: Mapping[int, Times],
        late: str = "queue",
        percept: MakePercept = Percept,
    ) -> None:
        super().__init__(step_ms, late, percept)
        self._given = dict(times)
        self._asked: dict[int, int] = {}

    def _start(self, world: World[Any, Any], number: int, agent: Agent, step: int) -> _Request:
        """Ask one agent; its answer comes after the given time."""
        request = _Request(agent, self._percept(world, number, step), step, self._tick)
        request.run()
        count = self._asked[number] = self._asked.get(number, 0) + 1
        request.took = milliseconds(self._given.get(number, 0.0), count - 1)
        request.arrives = self._tick + request.took // self.step_ms
        return request

    def _wait(self, end: float) -> None:
        """Do not wait."""

    def _has_come(self, request: _Request) -> bool:
        """Return whether the answer has come by now."""
        return request.arrives <= self._tick


def milliseconds(times: Times, count: int) -> float:
    """Return how long an answer takes.

    Raises:
        ConfigError: If it is not a number from 0 on.
    """
    if callable(times):
        found: Any = times(count)
    elif isinstance(times, Sequence | np.ndarray) and not isinstance(times, str):
        found = times[count] if count < len(times) else math.inf
    else:
        found = times
    strange = isinstance(found, bool) or not isinstance(found, Real)
    if strange or not found >= 0:
        raise ConfigError(f"an answer takes a number of milliseconds from 0 on, not {found!r:.60}")
    return python_number(found)


def python_number(value: Any) -> float:
    """Return a number of any kind, such as NumPy's, as one of Python's."""
    return value if type(value) in (int, float) else float(value)


# -- events ----------------------------------------------------------------------------------------

APPLY, DECIDE = 0, 1
"""Kinds of events; if they coincide, actions take effect before anybody decides."""
WORLD = "world"
"""The name whose period lets the world go on by itself, between the actions of agents."""


class EventClock(Clock):
    """Moves from event to event: agents decide at times of their own, and actions take time.

    At its time an agent perceives and decides; when the action's duration is over, the world makes
    a step with it, in which the others do nothing. Then, or after its period if that is longer,
    the agent decides again. Agents whose actions end at the same time act in the same step.

    Args:
        periods: How often each agent decides, in milliseconds, by number.
        durations: How long each agent's actions take, by number.
        world_period: How often the world goes on by itself, in milliseconds; ``None`` for never.
        percept: Makes percepts.
        own: Returns an answer that is a command of an actuator as such, and ``None`` for others.
    """

    def __init__(
        self,
        periods: Mapping[int, float],
        durations: Mapping[int, Durations],
        world_period: float | None = None,
        percept: MakePercept = Percept,
        own: Callable[[Any], Command | InvalidAction | None] = lambda answer: None,
    ) -> None:
        self._periods, self._durations = dict(periods), dict(durations)
        self._world_period, self._percept, self._own = world_period, percept, own
        self.begin()

    def begin(self) -> None:
        """Begin an episode; all agents decide at its start."""
        self.now, self._count = 0.0, 0
        self._events: list[tuple[float, int, int, int, Any]] = []
        for number in self._periods:
            self._push(0.0, DECIDE, number)
        if self._world_period is not None:
            self._push(self._world_period, APPLY, -1)

    def _push(self, when: float, kind: int, number: int, answer: Any = None) -> None:
        """Put an event into the queue; events of the same time and kind keep their order."""
        self._count += 1
        heapq.heappush(self._events, (when, kind, self._count, number, answer))

    def _pop(self) -> tuple[int, list[tuple[int, Any]]]:
        """Take the next events, which have the same time and kind."""
        when, kind, *_ = self._events[0]
        self.now = when
        found = []
        while self._events and self._events[0][:2] == (when, kind):
            *_, number, answer = heapq.heappop(self._events)
            found.append((number, answer))
        return kind, found

    def ask(self, world: World[Any, Any], seats: Mapping[int, Agent], step: int) -> dict[int, Any]:
        """Go on to the next time at which an action takes effect, or the world goes on."""
        while seats:
            kind, found = self._pop()
            if kind == DECIDE:
                self._decide(world, seats, [number for number, _ in found], step)
                continue
            acting = {number: answer for number, answer in found if number in seats}
            again = [number for number, _ in found].count(-1)
            if again and self._world_period is not None:
                self._push(self.now + self._world_period, APPLY, -1)
            if acting or again:
                return acting
        return {}

    def _decide(
        self, world: World[Any, Any], seats: Mapping[int, Agent], numbers: list[int], step: int
    ) -> None:
        """Let agents decide; those that do not take part now are tried again after their period."""
        asked = [number for number in numbers if number in seats]
        for number in asked:
            seats[number].receive_perception(self._percept(world, number, step))
        for number in numbers:
            lasts = 0.0
            if number in seats:
                answer = seats[number].get_chosen_action()
                lasts = self._duration(world, number, answer)
                self._push(self.now + lasts, APPLY, number, answer)
            self._push(self.now + max(self._periods[number], lasts), DECIDE, number)

    def _duration(self, world: World[Any, Any], number: int, answer: Any) -> float:
        """Return how long an action takes."""
        given = self._durations.get(number, 0.0)
        if not isinstance(given, Mapping):
            return given
        act = self._own(answer) or decode_answer(world, number, answer)
        if isinstance(act, int):
            act = world.command(number, act)
        verb = act.verb if isinstance(act, Command) else "*"
        return given.get(verb, given.get("*", 0.0))

    def submit(self, number: int, answer: Any) -> None:
        """Let an action take effect now, in addition to what its agent does."""
        self._push(self.now, APPLY, number, answer)
