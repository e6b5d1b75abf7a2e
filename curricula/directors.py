"""Directors choose, between episodes, which step comes next.

Hand-made and automatic curricula use the same interface: a director is asked for the step
of an episode (`Director.assign`), is told how each episode went (`Director.observe`), and decides
when an attempt is over (`Director.decide`). `ScriptedDirector` does what the curriculum says.
"""

from __future__ import annotations

import inspect
import itertools
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray

from piase_gym.core.arithmetic import is_number, sum_in_order
from piase_gym.core.difficulty import Fields
from piase_gym.core.rng import Stream, mix64
from piase_gym.curricula import actions
from piase_gym.curricula.decisions import (
    AdaptationDecisionModule,
    Decision,
    consequences,
    stages_with,
)
from piase_gym.curricula.manager import CurriculumManager
from piase_gym.curricula.progress import MOST, T, typed
from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum
from piase_gym.errors import ConfigError, ProgressError, UnknownNameError, suggest, whole_number
from piase_gym.registry import load
from piase_gym.runs.history import Episode
from piase_gym.runs.metrics import PiaAVTInterface
from piase_gym.runs.windows import Value

STREAM = 1000
"""Directors draw for agent number i from the stream ``STREAM + i`` of the curriculum's seed."""


@dataclass(frozen=True)
class StepChoice:
    """The step that was chosen for one episode.

    Attributes:
        order: Order of the step.
        values: What the draw was based on.
        seed: The level, as the effective seed of the episode; ``None`` for whatever comes next.
        fields: Fields of the config that were drawn; they override those of the step.
        learn: Whether learners should learn from the episode; see
            `piase_gym.curricula.learner_feedback`.
        settings: The values of `fields`, in the order of the director's `ranges`.
    """

    order: int
    values: Mapping[str, Value] = field(default_factory=dict)
    seed: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    learn: bool = True
    settings: tuple[float, ...] = ()


@dataclass(frozen=True)
class AttemptResult:
    """An attempt that is over.

    Attributes:
        agent: The agent.
        step: The step.
        attempt: Number of the attempt at this step, from 1.
        env_steps: Steps of its episodes.
        episodes: How many episodes it had.
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

    Otherwise all are in the agent's step, and the first episodes of any of them make an attempt.
    """
    corners: Sequence[Fields] = ()
    """The extreme settings that may be drawn; they must suit `steps_with_settings`."""
    metrics: Sequence[str] = ()
    """The metrics that the director reads, besides those of the curricula's criteria and rules."""
    reads_advantages: bool = False
    """Whether episodes are scored by the advantages of their steps, as the learner reports them."""
    manager: CurriculumManager
    avt: PiaAVTInterface
    seed: int
    agents: Sequence[str]

    def open(
        self, manager: CurriculumManager, avt: PiaAVTInterface, seed: int, agents: Sequence[str]
    ) -> None:
        """Begin, or continue from loaded progress.

        Raises:
            ConfigError: If the curricula do not suit this director.
        """
        self.manager, self.avt, self.seed, self.agents = manager, avt, seed, tuple(agents)
        for agent in agents:
            self.check_curriculum(self.curriculum(agent))

    def check_curriculum(self, curriculum: DevelopmentalCurriculum) -> None:
        """Check that a curriculum suits this director.

        Raises:
            ConfigError: If it does not.
        """

    def steps_with_settings(self, curriculum: DevelopmentalCurriculum) -> Sequence[CurriculumStep]:
        """Return the steps over which settings are drawn, where any are."""
        return curriculum.steps

    def curriculum(self, agent: str) -> DevelopmentalCurriculum:
        """Return the curriculum of an agent."""
        return self.manager.curricula[agent]

    def memory(self, agent: str) -> dict[str, Any]:
        """Return what is remembered about an agent: JSON-able, and saved with its progress."""
        return self.manager.progress(agent).memory

    def check_resumed(self, memory: Mapping[str, Any], curriculum: DevelopmentalCurriculum) -> None:
        """Check what was remembered about an agent, before anything continues from it.

        Raises:
            ProgressError: If it is damaged, or does not fit the curriculum.
        """

    def episodes(self, step: CurriculumStep) -> int:
        """Return how many episodes make an attempt at a step."""
        return step.episodes_per_attempt

    def assign(self, agent: str, slot: int = 0) -> StepChoice | None:
        """Return the step of an agent's next episode in a slot, or ``None`` at the end.

        Directors that are `per_slot` draw a step at each call.
        """
        progress = self.manager.progress(agent)
        return StepChoice(progress.current_step_order) if progress.active else None

    def observe(self, agent: str, order: int, episode: Episode) -> None:
        """Observe an episode that counts; called in the order in which episodes ended."""

    def observe_choice(self, agent: str, choice: StepChoice, episode: Episode) -> None:
        """Observe an episode and what was drawn for it; by default only `observe`."""
        self.observe(agent, choice.order, episode)

    def score(
        self, agent: str, choice: StepChoice, episode: Episode, advantages: NDArray[Any]
    ) -> None:
        """Receive the advantages of an episode's steps; called later than `observe_choice`."""

    @abstractmethod
    def decide(self, tried: AttemptResult) -> Decision | None:
        """Return the decision after an attempt, or ``None`` if there is nothing to decide."""


def director_name(director: Any, curriculum: DevelopmentalCurriculum) -> str:
    """Return the name of the director that leads through a curriculum."""
    named = curriculum.director if director is None else director
    if isinstance(named, Mapping):
        named = named.get("name")
    return "scripted" if named is None else str(named)


def read_memory(memory: Mapping[str, Any], name: str, kind: type[T], default: T) -> T:
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

    def decide(self, tried: AttemptResult) -> Decision:
        """Decide by criteria and rules."""
        return AdaptationDecisionModule(self.avt).decide(
            tried.agent,
            self.curriculum(tried.agent),
            tried.step,
            tried.attempt,
            stages=self.manager.progress(tried.agent).stages,
            env_steps=tried.env_steps,
            episodes=tried.episodes,
            before=self.manager.progress(tried.agent).decisions,
        )


class SamplingDirector(Director):
    """Draws a step for each episode by weights; subclasses define the weights.

    Draw number k in slot s depends only on the seed, the agent, s, k and the weights at that time:
    it does not matter who hosts the slot.
    """

    per_slot = True

    def check_resumed(self, memory: Mapping[str, Any], curriculum: DevelopmentalCurriculum) -> None:
        """Check the draws that are remembered."""
        if not all(0 <= count <= MOST for count in read_memory(memory, "draws", list[int], [])):
            raise ProgressError("this progress is damaged: draws: counts are 0 or more")

    def weights(self, agent: str) -> Sequence[float]:
        """Return a weight for each step of the agent's curriculum; they need not add up to 1."""
        return [1.0] * len(self.curriculum(agent).steps)

    def assign(self, agent: str, slot: int = 0) -> StepChoice:
        """Draw a step."""
        return self.draw_step(agent, self.next_stream(agent, slot))

    def draw_step(self, agent: str, stream: Stream) -> StepChoice:
        """Return a step, drawn by `weights`."""
        steps, weights = self.curriculum(agent).steps, list(self.weights(agent))
        chosen = sample_index(weights, stream.uniform())
        total = sum_in_order(weights)
        values: dict[str, Value] = {
            f"weight_{step.order}": round(weight / total, 12)
            for step, weight in zip(steps, weights, strict=True)
        }
        return StepChoice(steps[chosen].order, values)

    def next_stream(self, agent: str, slot: int, numbers: int = 1) -> Stream:
        """Return a stream for the next draw in a slot, which may take up to `numbers` numbers."""
        draws = self.memory(agent).setdefault("draws", [])
        draws += [0] * (slot + 1 - len(draws))
        stream = Stream(
            mix64(mix64(self.seed) + slot) >> 1,
            STREAM + self.agents.index(agent),
            counter=draws[slot] * numbers,
        )
        draws[slot] += 1
        return stream

    def decide(self, tried: AttemptResult) -> None:
        """Decide nothing: a step is drawn for every episode."""


def read_weights(weights: Any) -> dict[int, float]:
    """Return weights of steps by their orders, which JSON writes as strings.

    Raises:
        ConfigError: If they are no mapping of orders to numbers.
    """
    try:
        found = {int(str(order)): float(weight) for order, weight in weights.items()}
    except (AttributeError, TypeError, ValueError):
        found = {}
    if not isinstance(weights, Mapping) or len(found) < len(weights):
        raise ConfigError(
            f"weights are a mapping of orders of steps to numbers, not {weights!r:.80}"
        )
    return found


def mix_evenly(values: Sequence[float], explore: float) -> list[float]:
    """Return probabilities in proportion to values, a share of them uniform; all, if all are 0."""
    total, even = sum_in_order(values), 1.0 / len(values)
    if total <= 0.0:
        return [even] * len(values)
    return [explore * even + (1.0 - explore) * value / total for value in values]


def sample_index(weights: Sequence[float], unit: float) -> int:
    """Return the index of the weight into which a number in ``[0, 1)`` falls.

    Raises:
        ConfigError: If the weights are not numbers from 0 on, one of them positive.

    Example:
        >>> [sample_index([1.0, 0.0, 3.0], unit) for unit in (0.0, 0.24, 0.26, 0.99)]
        [0, 0, 2, 2]
    """
    total = sum_in_order(weights)
    if not 0.0 < total < float("inf") or min(weights) < 0.0:
        raise ConfigError(f"weights are numbers from 0 on, not all 0; not {list(weights)!r:.80}")
    last = max(place for place, weight in enumerate(weights) if weight > 0.0)
    return min(bisect_right(list(itertools.accumulate(weights)), unit * total), last)


class Threshold(Director):
    """Goes on to the next step when a given share of the last episodes was won.

    Criteria and rules of the curriculum are ignored. The agent stays at the last step.

    Args:
        share: The share of episodes to win, above 0 and at most 1.
        episodes: How many episodes make an attempt; by default each step's own number.
    """

    def __init__(self, share: float = 0.8, episodes: int | None = None) -> None:
        """Check the settings.

        Raises:
            ConfigError: If one is not allowed.
        """
        self.share = check_share("share", share, above=True)
        self._episodes = None if episodes is None else check_count("episodes", episodes)

    def episodes(self, step: CurriculumStep) -> int:
        """Return how many episodes make an attempt."""
        return self._episodes or step.episodes_per_attempt

    def decide(self, tried: AttemptResult) -> Decision:
        """Decide by the share of episodes that were won."""
        curriculum = self.curriculum(tried.agent)
        value = self.avt.get_performance_metric(tried.agent, "success_rate")
        mastered = isinstance(value, int | float) and value >= self.share
        stages: Sequence[str] = self.manager.progress(tried.agent).stages
        if mastered:
            stages = stages_with(tried.step, stages)
        goes_on = mastered and curriculum.step_after(tried.step.order, stages) is not None
        action = actions.plain("PROCEED" if goes_on else "REPEAT_STEP")
        word = "at least" if mastered else "less than"
        end = "; it is the last step" if mastered and not goes_on else ""
        return Decision(
            agent=tried.agent,
            attempt=tried.attempt,
            rule=None,
            reason=f"success_rate is {value!r}, {word} {self.share:g}{end}",
            values={"success_rate": value, "step_attempts": tried.attempt},
            env_steps=tried.env_steps,
            episodes=tried.episodes,
            **consequences(curriculum, tried.step, action, stages, mastered),
        )


class Randomisation(SamplingDirector):
    """Draws every episode's step, uniformly or by fixed weights.

    Args:
        weights: Order of a step -> its weight; steps that are not named are not drawn. By
            default all steps have the same weight.
    """

    def __init__(self, weights: Mapping[int, float] | None = None) -> None:
        """Keep the weights.

        Raises:
            ConfigError: If they are no mapping of orders to numbers.
        """
        self._weights = None if weights is None else read_weights(weights)

    def check_curriculum(self, curriculum: DevelopmentalCurriculum) -> None:
        """Check that the steps with a weight exist, and that one of them can be drawn."""
        strange = set(self._weights or ()) - {step.order for step in curriculum.steps}
        if strange:
            known = ", ".join(str(step.order) for step in curriculum.steps)
            raise ConfigError(f"there is no step {min(strange)} to weigh; steps are {known}")
        sample_index(self._weights_of(curriculum), 0.0)

    def weights(self, agent: str) -> Sequence[float]:
        """Return the weight of each step."""
        return self._weights_of(self.curriculum(agent))

    def _weights_of(self, curriculum: DevelopmentalCurriculum) -> list[float]:
        """Return the weight of each step of a curriculum."""
        if self._weights is None:
            return [1.0] * len(curriculum.steps)
        return [self._weights.get(step.order, 0.0) for step in curriculum.steps]


class LearningProgress(SamplingDirector):
    """Draws steps at which success is changing; a share of the draws is uniform.

    Args:
        rate: The share by which each episode moves the slow mean, above 0 and at most 1; the fast
            mean moves `speed` times as much.
        speed: How much faster the fast mean is, at least 1.
        explore: The share of draws that are uniform, above 0 and at most 1.
    """

    def __init__(self, rate: float = 0.02, speed: float = 10.0, explore: float = 0.2) -> None:
        """Check the settings.

        Raises:
            ConfigError: If one is not allowed.
        """
        self.rate = check_share("rate", rate, above=True)
        self.explore = check_share("explore", explore, above=True)
        if not is_finite(speed) or speed < 1.0:
            raise ConfigError(f"speed is a number from 1 on, not {speed!r}")
        self.fast_rate = min(1.0, rate * speed)

    def check_resumed(self, memory: Mapping[str, Any], curriculum: DevelopmentalCurriculum) -> None:
        """Check the draws and means that are remembered."""
        super().check_resumed(memory, curriculum)
        means = read_memory(memory, "means", dict[str, tuple[float, float]], {})
        if not all(0.0 <= mean <= 1.0 for pair in means.values() for mean in pair):
            raise ProgressError("this progress is damaged: means: they are from 0 to 1")

    def _means(self, agent: str, order: int) -> list[float]:
        """Return the fast and the slow mean of a step; both are 0 until its first episode."""
        known: dict[str, Any] = self.memory(agent).setdefault("means", {})
        means: list[float] = known.setdefault(str(order), [0.0, 0.0])
        return means

    def observe(self, agent: str, order: int, episode: Episode) -> None:
        """Update the means of a step with whether an episode was won."""
        means, won = self._means(agent, order), float(episode.result == "won")
        means[0] += self.fast_rate * (won - means[0])
        means[1] += self.rate * (won - means[1])

    def weights(self, agent: str) -> Sequence[float]:
        """Return each step's share of the learning progress, mixed with a uniform share."""
        orders = [step.order for step in self.curriculum(agent).steps]
        progress = [abs(fast - slow) for fast, slow in (self._means(agent, o) for o in orders)]
        return mix_evenly(progress, self.explore)


DIRECTORS: Mapping[str, str] = {
    "alp_gmm": "piase_gym.curricula.alp_gmm:ALPGMM",
    "learnability": "piase_gym.curricula.learnability:Learnability",
    "learning_progress": "piase_gym.curricula.directors:LearningProgress",
    "plr": "piase_gym.curricula.level_replay:PrioritisedLevelReplay",
    "randomisation": "piase_gym.curricula.directors:Randomisation",
    "scripted": "piase_gym.curricula.directors:ScriptedDirector",
    "self_paced": "piase_gym.curricula.self_paced:SelfPaced",
    "threshold": "piase_gym.curricula.directors:Threshold",
}
"""Directors by name, and where they are."""


def make_director(director: Any) -> Director:
    """Return a director.

    Args:
        director: A name; a mapping of ``name`` and options, such as ``{"name": "plr", "replay":
            0.8}``; or a director, which is returned as it is. ``None`` means ``scripted``.

    Raises:
        UnknownNameError: If no director has this name.
        ConfigError: If it is something else, or an option is not allowed.
        MissingExtraError: If it needs an optional part that is not installed.
    """
    if isinstance(director, Director):
        return director
    options = {"name": director} if isinstance(director, str) else director
    if options is None:
        return ScriptedDirector()
    if not isinstance(options, Mapping):
        raise ConfigError(
            "a director is a Director, a name, or a mapping of a name and options, "
            f"not {type(director).__name__}"
        )
    options = dict(options)
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise ConfigError(f"the name of a director is one of {', '.join(DIRECTORS)}, not {name!r}")
    if name not in DIRECTORS:
        raise UnknownNameError("director", name, DIRECTORS)
    kind = load(DIRECTORS[name])
    known = list(inspect.signature(kind).parameters)
    for option in options:
        if option not in known:
            hint = suggest(str(option), known) if known else "it has none"
            raise ConfigError(f"director {name}: there is no option {option!r:.80}; {hint}")
    try:
        made: Director = kind(**options)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"director {name}: {error}") from None
    return made


# -- checks of options -----------------------------------------------------------------------------


def is_finite(value: object) -> bool:
    """Return whether a value is a number that can be reckoned with."""
    return is_number(value) and abs(value) < 1e300


def check_share(name: str, value: Any, above: bool = False) -> float:
    """Return an option that is a share, from 0 (or above) to 1.

    Raises:
        ConfigError: If it is not.
    """
    if not is_finite(value) or not 0.0 <= value <= 1.0 or (above and value == 0.0):
        message = "above 0 and at most 1" if above else "from 0 to 1"
        raise ConfigError(f"{name} is a number {message}, not {value!r:.80}")
    return float(value)


def check_positive(name: str, value: Any) -> float:
    """Return an option that is a number above 0.

    Raises:
        ConfigError: If it is not.
    """
    if not is_finite(value) or value <= 0.0:
        raise ConfigError(f"{name} is a number above 0, not {value!r:.80}")
    return float(value)


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return an option that is a whole number.

    Raises:
        ConfigError: If it is not one from `least` on.
    """
    count = whole_number(value)
    if count is None or not least <= count <= 10**9:
        raise ConfigError(f"{name} is a whole number from {least} on, not {value!r:.80}")
    return count


def check_word(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Return an option that is one of the allowed words.

    Raises:
        ConfigError: If it is not.
    """
    if value not in allowed:
        raise ConfigError(f"{name} is one of {', '.join(allowed)}, not {value!r:.80}")
    return str(value)


def check_flag(name: str, value: Any) -> bool:
    """Return an option that is true or false.

    Raises:
        ConfigError: If it is not.
    """
    if not isinstance(value, bool):
        raise ConfigError(f"{name} is true or false, not {value!r:.80}")
    return value
