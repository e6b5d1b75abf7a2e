"""Directors: what says, between episodes, which step comes next.

Hand-made curricula and automatic ones go through the same door: a director is asked for the step
of an episode (`Director.assign`), is told how each episode went (`Director.observe`), and decides
when an attempt is over (`Director.take`). `ScriptedDirector` does what the curriculum says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from piase_gym.core.rng import Stream, mix64
from piase_gym.curricula.decisions import AdaptationDecisionModule, Decision
from piase_gym.curricula.manager import CurriculumManager
from piase_gym.curricula.progress import MOST, T, typed
from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum
from piase_gym.errors import ConfigError, ProgressError
from piase_gym.runs.history import Episode
from piase_gym.runs.metrics import PiaAVTInterface
from piase_gym.runs.windows import Value

STREAM = 1000
"""Directors draw for agent number i from the stream ``STREAM + i`` of the curriculum's seed."""


@dataclass(frozen=True)
class Draw:
    """The step of one episode, drawn.

    Attributes:
        order: Order of the step.
        values: By what it was drawn.
    """

    order: int
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Tried:
    """An attempt that is over.

    Attributes:
        agent: The agent.
        step: The step.
        attempt: Number of the attempt at this step, from 1.
        env_steps: Steps of its episodes.
        episodes: How many episodes.
    """

    agent: str
    step: CurriculumStep
    attempt: int
    env_steps: int
    episodes: int


class Director(ABC):
    """Base class of directors.

    Attributes:
        manager: The curricula of the agents, and their progress.
        avt: Metrics of the agents.
        seed: The seed of the curriculum, from which all draws follow.
        agents: The agents with a curriculum, in a stable order.
    """

    per_slot: ClassVar[bool] = False
    """Whether each environment of a batch gets a step of its own, drawn at each reset.

    Else all are in the agent's step, and an attempt is the first episodes of any of them.
    """
    manager: CurriculumManager
    avt: PiaAVTInterface
    seed: int
    agents: Sequence[str]

    def open(
        self, manager: CurriculumManager, avt: PiaAVTInterface, seed: int, agents: Sequence[str]
    ) -> None:
        """Begin, or go on after progress was loaded.

        Raises:
            ConfigError: If the curricula do not suit this director.
        """
        self.manager, self.avt, self.seed, self.agents = manager, avt, seed, tuple(agents)

    def curriculum(self, agent: str) -> DevelopmentalCurriculum:
        """Return the curriculum of an agent."""
        return self.manager.curricula[agent]

    def memory(self, agent: str) -> dict[str, Any]:
        """Return what is remembered of an agent, which is saved with its progress; JSON-able."""
        return self.manager.progress(agent).memory

    def check(self, memory: Mapping[str, Any]) -> None:
        """Check what was remembered of an agent, before anything goes on from it.

        Raises:
            ProgressError: If it is damaged.
        """

    def episodes(self, step: CurriculumStep) -> int:
        """Return how many episodes make an attempt at a step."""
        return step.episodes_per_attempt

    def assign(self, agent: str, slot: int = 0) -> Draw | None:
        """Return the step of an agent's next episode in a slot, or ``None`` at the end.

        Directors `per_slot` draw it, once for each call.
        """
        progress = self.manager.progress(agent)
        return Draw(progress.current_step_order) if progress.active else None

    def observe(self, agent: str, order: int, episode: Episode) -> None:
        """Take in an episode that counts, in the order in which episodes ended."""

    @abstractmethod
    def take(self, tried: Tried) -> Decision | None:
        """Decide after an attempt; ``None`` if there is nothing to decide."""


def remembered(memory: Mapping[str, Any], name: str, kind: type[T], default: T) -> T:
    """Return something that a director remembers.

    Raises:
        ProgressError: If it is of another type.
    """
    try:
        return typed(kind, memory.get(name, default))
    except ValueError as error:
        raise ProgressError(f"this progress is damaged: {name}: {error}") from None


class ScriptedDirector(Director):
    """Does what the curriculum says: criteria first, then the first rule that holds."""

    def open(
        self, manager: CurriculumManager, avt: PiaAVTInterface, seed: int, agents: Sequence[str]
    ) -> None:
        """Begin."""
        super().open(manager, avt, seed, agents)
        self._module = AdaptationDecisionModule(avt)

    def take(self, tried: Tried) -> Decision:
        """Decide by criteria and rules."""
        return self._module.decide(
            tried.agent,
            self.curriculum(tried.agent),
            tried.step,
            tried.attempt,
            stages=self.manager.progress(tried.agent).stages,
            env_steps=tried.env_steps,
            episodes=tried.episodes,
        )


class DrawingDirector(Director):
    """Draws a step for each episode by weights; subclasses say the weights.

    Draw number k in slot s is a function of the seed, the agent, s and k alone, and of the weights
    at that time: it does not matter who hosts the slot.
    """

    per_slot = True

    def check(self, memory: Mapping[str, Any]) -> None:
        """Check the draws that are remembered."""
        if not all(0 <= count <= MOST for count in remembered(memory, "draws", list[int], [])):
            raise ProgressError("this progress is damaged: draws: counts are 0 or more")

    def weights(self, agent: str) -> Sequence[float]:
        """Return a weight for each step of the agent's curriculum; they need not add up to 1."""
        return [1.0] * len(self.curriculum(agent).steps)

    def assign(self, agent: str, slot: int = 0) -> Draw:
        """Draw a step."""
        steps, weights = self.curriculum(agent).steps, list(self.weights(agent))
        draws = self.memory(agent).setdefault("draws", [])
        draws += [0] * (slot + 1 - len(draws))
        number = STREAM + self.agents.index(agent)
        stream = Stream(mix64(mix64(self.seed) + slot) >> 1, number, counter=draws[slot])
        draws[slot] += 1
        chosen = pick(weights, stream.uniform())
        total = sum(weights)
        values: dict[str, Value] = {
            f"weight_{step.order}": round(weight / total, 12)
            for step, weight in zip(steps, weights, strict=True)
        }
        return Draw(steps[chosen].order, values)

    def take(self, tried: Tried) -> None:
        """Decide nothing: every episode is drawn anew."""


def pick(weights: Sequence[float], unit: float) -> int:
    """Return the place into which a number in ``[0, 1)`` falls among weights.

    Raises:
        ConfigError: If the weights are not numbers from 0 on, one of them positive.

    Example:
        >>> [pick([1.0, 0.0, 3.0], unit) for unit in (0.0, 0.24, 0.26, 0.99)]
        [0, 0, 2, 2]
    """
    total = sum(weights)
    if not 0.0 < total < float("inf") or min(weights) < 0.0:
        raise ConfigError(f"weights are numbers from 0 on, not all 0; not {list(weights)!r:.80}")
    point, before = unit * total, 0.0
    last = 0
    for place, weight in enumerate(weights):
        if weight > 0.0:
            last, before = place, before + weight
            if point < before:
                return place
    return last
