"""How a simulation gets agents' answers: at once, or on a clock that does not wait for them."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from piase_gym.agents.base import Agent, Percept, ask
from piase_gym.core.commands import InvalidAction, Outcome
from piase_gym.core.world import World

MakePercept = Callable[[World[Any, Any], int, int], Percept]
"""Returns what an agent perceives: of (world, its number, step)."""


class StepClock:
    """Discrete steps: the world waits until every agent has answered."""

    def __init__(self, percept: MakePercept = Percept) -> None:
        """Say how percepts are made."""
        self._percept = percept

    def ask(self, world: World[Any, Any], seats: Mapping[int, Agent], step: int) -> dict[int, Any]:
        """Let all agents perceive, then let all answer."""
        for number, agent in seats.items():
            agent.receive_perception(self._percept(world, number, step))
        return dict(zip(seats, ask(list(seats.values())), strict=True))

    def close(self) -> None:
        """There is nothing to give back."""


@dataclass
class _Request:
    """One question to one agent, answered in a thread of its own."""

    agent: Agent
    percept: Percept
    step: int
    done: threading.Event = field(default_factory=threading.Event)
    answer: Any = None
    error: BaseException | None = None

    def run(self) -> None:
        """Let the agent think."""
        try:
            self.agent.receive_perception(self.percept)
            self.answer = self.agent.get_chosen_action()
        except Exception as error:  # handed to the simulation, which raises it
            self.error = error
        self.done.set()


class WallClock:
    """Real time: a step lasts so many milliseconds, whether or not an agent has answered.

    Agents think in threads of their own, about a copy of the world as it was when they were asked.
    Whoever has not answered by the end of the step has the outcome ``timeout`` and does nothing. A
    late answer is dropped, and noted in `late`; the agent is then asked anew.

    Args:
        step_ms: How long a step lasts, in milliseconds.
        percept: Makes percepts.
    """

    def __init__(self, step_ms: int, percept: MakePercept = Percept) -> None:
        self._percept = percept
        self.seconds = step_ms / 1000
        self.late: list[tuple[int, int]] = []
        """(agent, the step for which its answer came too late), of the last step."""
        self._open: dict[int, _Request] = {}

    def ask(self, world: World[Any, Any], seats: Mapping[int, Agent], step: int) -> dict[int, Any]:
        """Ask who is free, wait until the step is over, and collect what came in time."""
        end = time.monotonic() + self.seconds
        self.late = self._collect_late()
        for number, agent in seats.items():
            if number not in self._open:
                self._open[number] = self._start(world, number, agent, step)
        for request in list(self._open.values()):
            request.done.wait(max(0.0, end - time.monotonic()))
        time.sleep(max(0.0, end - time.monotonic()))
        told = f"no answer within {self.seconds * 1000:.0f} ms"
        return {
            number: self._answer(number, step, InvalidAction(Outcome.TIMEOUT, told))
            for number in seats
        }

    def _start(self, world: World[Any, Any], number: int, agent: Agent, step: int) -> _Request:
        """Ask one agent in a thread."""
        request = _Request(agent, self._percept(copy.deepcopy(world), number, step), step)
        name = f"agent-{world.agents[number]}"
        threading.Thread(target=request.run, name=name, daemon=True).start()
        return request

    def _collect_late(self) -> list[tuple[int, int]]:
        """Drop the answers that came after their step."""
        late = [(n, request.step) for n, request in self._open.items() if request.done.is_set()]
        for number, _ in late:
            error = self._open.pop(number).error
            if error is not None:
                raise error
        return late

    def _answer(self, number: int, step: int, missing: InvalidAction) -> Any:
        """Return an agent's answer if it is for this step and there in time."""
        request = self._open.get(number)
        if request is None or request.step != step or not request.done.is_set():
            return missing
        del self._open[number]
        if request.error is not None:
            raise request.error
        return request.answer

    def close(self) -> None:
        """Forget who is still thinking; their threads end with their answers."""
        self._open.clear()
