"""Tasks that teachers draw: a step of the curriculum, a level of it, and settings of its config.

A teacher (`TaskDirector`) is a director that draws a step for each episode and, besides, a level,
which is the effective seed of the episode, or settings, which are fields of the config.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.difficulty import Fields
from piase_gym.core.rng import Stream
from piase_gym.curricula.directors import SamplingDirector, StepChoice, check_word, is_finite
from piase_gym.curricula.manager import CurriculumManager
from piase_gym.curricula.progress import typed
from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum
from piase_gym.errors import ConfigError, ProgressError
from piase_gym.runs.history import Episode
from piase_gym.runs.metrics import PiaAVTInterface

NUMBERS = 128
"""The largest number of random numbers that one draw may take."""
MOST_RANGES = 6
VALUES = 21
"""How many different values a range of floats has, which limits the configs of a batch."""
MEASURES = ("success", "return")
M = TypeVar("M")


@dataclass(frozen=True)
class Task:
    """The step, level and settings of an episode.

    Attributes:
        order: Order of the step.
        seed: The level: the effective seed of the episode, or ``None`` for whatever comes next.
        settings: The values that were drawn for fields of the config.
    """

    order: int
    seed: int | None = None
    settings: tuple[float, ...] = ()


class SettingRanges:
    """Fields of the config that are drawn from ranges.

    A range like ``[2, 7]`` has whole numbers. A range with a float is drawn from at `VALUES`
    places, including its ends.

    Args:
        ranges: Name of a field -> its least and its largest value.

    Raises:
        ConfigError: If they are no such ranges.

    Example:
        >>> ranges = SettingRanges({"width": [4, 8], "obstacle_density": [0.0, 0.4]})
        >>> ranges.fields(ranges.at([0.6, 0.512]))
        {'width': 6, 'obstacle_density': 0.2}
    """

    def __init__(self, ranges: Mapping[str, Sequence[float]] | None = None) -> None:
        """Check the ranges."""
        self.names: tuple[str, ...] = tuple(ranges or ())
        if len(self.names) > MOST_RANGES:
            raise ConfigError(f"settings: there are {len(self.names)}; at most {MOST_RANGES}")
        for name, pair in (ranges or {}).items():
            right = isinstance(pair, Sequence) and len(pair) == 2
            if not right or not all(is_finite(end) for end in pair) or not pair[0] < pair[1]:
                raise ConfigError(
                    f"settings: {name} is drawn from [least, largest], such as [0.0, 0.5] or "
                    f"[2, 7], not {pair!r:.80}"
                )
        self.pairs = [tuple(pair) for pair in (ranges or {}).values()]
        self.whole = [all(isinstance(end, int) for end in pair) for pair in self.pairs]
        corners = itertools.product(*self.pairs)  # without ranges, one that is empty
        self.corners = [dict(zip(self.names, c, strict=True)) for c in corners if c]

    def __len__(self) -> int:
        """Return how many fields are drawn."""
        return len(self.names)

    def at(self, place: Sequence[float] | NDArray[np.float64]) -> tuple[float, ...]:
        """Return the values at a place of the unit cube, to which places outside are clipped."""
        found: list[float] = []
        for (low, high), whole, share in zip(self.pairs, self.whole, place, strict=True):
            inside = min(max(float(share), 0.0), 1.0)
            if whole:
                found.append(low + min(int(inside * (high - low + 1)), high - low))
            else:
                number = round(inside * (VALUES - 1))
                found.append(round(low + (high - low) * number / (VALUES - 1), 12))
        return tuple(found)

    def place(self, values: Sequence[float]) -> list[float]:
        """Return the place of some values in the unit cube."""
        return [
            (value - low + 0.5) / (high - low + 1) if whole else (value - low) / (high - low)
            for (low, high), whole, value in zip(self.pairs, self.whole, values, strict=True)
        ]

    @property
    def lengths(self) -> NDArray[np.float64]:
        """The length of each range, which is scaled to a side of the unit cube."""
        ends = zip(self.pairs, self.whole, strict=True)
        return np.array([high - low + whole for (low, high), whole in ends], np.float64)

    def fields(self, values: Sequence[float]) -> Fields:
        """Return the fields of the config that have these values."""
        return {
            name: int(value) if whole else float(value)
            for name, whole, value in zip(self.names, self.whole, values, strict=True)
        }

    def draw(self, stream: Stream) -> tuple[float, ...]:
        """Return values that are drawn uniformly."""
        return self.at([stream.uniform() for _ in self.names])


class TaskDirector(SamplingDirector, Generic[M]):
    """Draws a task for each episode, and learns from how the episode went.

    What it remembers about an agent is a dataclass, `Memory`, saved with the agent's progress.

    Args:
        settings: Fields of the config that are drawn: name -> [least, largest].
        step: The step, by order or name.
        over: ``levels`` or ``steps``, for directors that can draw either.
    """

    Memory: ClassVar[Any]
    measure: str | None = None
    """The outcome that a director of settings uses: ``return`` or ``success``."""

    def __init__(
        self,
        settings: Mapping[str, Sequence[float]] | None = None,
        step: int | str | None = None,
        over: str | None = None,
    ) -> None:
        """Check the settings; `step` is checked once there is a curriculum.

        Directors that can draw ``"levels"`` as well as ``"steps"`` say which in `over`.
        """
        if settings is not None and not isinstance(settings, Mapping):
            raise ConfigError(f"settings are a mapping of fields to ranges, not {settings!r:.80}")
        if not isinstance(step, int | str | None) or isinstance(step, bool):
            raise ConfigError(f"step is an order or the name of a step, not {step!r:.80}")
        self.ranges = SettingRanges(settings)
        self.corners = self.ranges.corners
        self.levels, self._step = over == "levels", step
        if over == "steps" and (step is not None or self.ranges):
            raise ConfigError("step and settings are of levels; with over='steps' there are none")

    def take_measure(self, measure: str) -> None:
        """Set the outcome that a director of settings uses: ``return`` or ``success``.

        Raises:
            ConfigError: If it is another, or `step` is named without settings.
        """
        if self._step is not None and not self.ranges:
            raise ConfigError("step is that of settings, and there are none")
        self.measure = check_word("measure", measure, MEASURES)
        self.metrics = ("mean_return",) if measure == "return" else ()

    def open(
        self, manager: CurriculumManager, avt: PiaAVTInterface, seed: int, agents: Sequence[str]
    ) -> None:
        """Begin, or go on after progress was loaded.

        Raises:
            ConfigError: If the curricula do not suit this director.
        """
        if (self.levels or self.ranges) and len(agents) > 1:
            raise ConfigError(
                f"{type(self).__name__} draws levels or settings, which are of the whole "
                f"environment, so one agent can follow a curriculum, not {', '.join(agents)}"
            )
        super().open(manager, avt, seed, agents)

    def check_curriculum(self, curriculum: DevelopmentalCurriculum) -> None:
        """Check that the named step exists."""
        if self._step is not None:
            curriculum.step(self._step)

    # -- what is remembered ----------------------------------------------------------------

    def check_resumed(self, memory: Mapping[str, Any], curriculum: DevelopmentalCurriculum) -> None:
        """Check what was remembered about an agent, also against the steps of the curriculum."""
        super().check_resumed(memory, curriculum)
        if "teacher" in memory:
            state = self._read(memory["teacher"])
            if not self.check_memory(state):
                raise ProgressError("this progress is damaged, or of other options: teacher")
            self.check_orders(state, curriculum)

    def check_orders(self, memory: M, curriculum: DevelopmentalCurriculum) -> None:
        """Check that the steps that are remembered exist.

        Raises:
            ProgressError: If one is not.
        """

    def check_memory(self, memory: M) -> bool:
        """Return whether the values of what was remembered are allowed; their types are right."""
        return True

    def _read(self, held: Any) -> M:
        """Return what is remembered, from JSON."""
        try:
            found: M = typed(self.Memory, held)
        except ValueError as error:
            raise ProgressError(
                f"this progress is damaged, or of another director: teacher: {error}"
            ) from None
        return found

    def state(self, agent: str) -> M:
        """Return what is remembered about an agent; callers may change it in place."""
        memory = self.memory(agent)
        held = memory.get("teacher")
        if not isinstance(held, self.Memory):
            held = memory["teacher"] = self.Memory() if held is None else self._read(held)
        found: M = held
        return found

    # -- drawing ---------------------------------------------------------------------------

    @abstractmethod
    def propose(self, agent: str, stream: Stream) -> StepChoice:
        """Draw a task; `choose` returns it as the choice of a step."""

    def assign(self, agent: str, slot: int = 0) -> StepChoice:
        """Draw the task of an agent's next episode in a slot."""
        return self.propose(agent, self.next_stream(agent, slot, NUMBERS))

    def choose(self, task: Task, values: Mapping[str, Any], learn: bool = True) -> StepChoice:
        """Return the choice of a task.

        Args:
            task: The task.
            values: What the draw was based on.
            learn: Whether learners should learn from the episode.
        """
        fields = self.ranges.fields(task.settings) if task.settings else {}
        chosen = {**values, **({} if task.seed is None else {"level": task.seed})}
        chosen |= {f"setting_{name}": value for name, value in fields.items()}
        return StepChoice(task.order, chosen, task.seed, fields, learn, task.settings)

    def task_at(self, agent: str, place: Sequence[float]) -> Task:
        """Return the task with the settings at a place of the unit cube."""
        step = self.steps_with_settings(self.curriculum(agent))[0]
        return Task(step.order, None, self.ranges.at(place))

    def new_task(self, agent: str, stream: Stream) -> Task:
        """Return a task of the named step, or of any, with a uniformly drawn level and settings."""
        orders = [step.order for step in self.curriculum(agent).steps]
        order = orders[sample_index_evenly(len(orders), stream)]
        if self._step is not None:
            order = self.curriculum(agent).step(self._step).order
        seed = stream.bits() >> 1 if self.levels else None
        return Task(order, seed, self.ranges.draw(stream))

    def steps_with_settings(self, curriculum: DevelopmentalCurriculum) -> Sequence[CurriculumStep]:
        """Return the named step, or all steps; where an outcome is measured, the last."""
        steps = curriculum.steps if self._step is None else [curriculum.step(self._step)]
        return steps if self.measure is None else steps[-1:]

    # -- learning --------------------------------------------------------------------------

    def task_of(self, choice: StepChoice, episode: Episode) -> Task:
        """Return the task that was played; a seed given to the reset makes it another level."""
        seed = episode.seed if self.levels else None
        return Task(choice.order, seed, choice.settings)

    def observe_choice(self, agent: str, choice: StepChoice, episode: Episode) -> None:
        """Learn from an episode."""
        self.learn(agent, self.task_of(choice, episode), episode)

    def learn(self, agent: str, task: Task, episode: Episode) -> None:
        """Learn from how an episode of a task went."""


def require_orders(orders: Iterable[int], curriculum: DevelopmentalCurriculum) -> None:
    """Require that there are steps of these orders.

    Raises:
        ProgressError: If there is one that is not.
    """
    for order in orders:
        if curriculum.find_step(order) is None:
            raise ProgressError(f"this progress is damaged: teacher: there is no step {order}")


def sample_index_evenly(count: int, stream: Stream) -> int:
    """Return a uniformly drawn index below `count`."""
    return min(int(stream.uniform() * count), count - 1)


def outcome_of(episode: Episode, measure: str | None) -> float:
    """Return how an episode went: 1.0 or 0.0 for ``success``, else its return."""
    return float(episode.result == "won") if measure == "success" else episode.total
