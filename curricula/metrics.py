"""Metrics of agents in a curriculum, from what finished episodes leave behind.

The same code computes them from a log: `piase_gym.runs.Metrics` over a `History`. Here it need not
follow every step, because `piase_gym.curricula.episode_collector` hands over whole episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from piase_gym.errors import UnsupportedError
from piase_gym.runs.history import SPARE, Attempt, Episode, History
from piase_gym.runs.metric_definitions import MEASURE, METRICS, MILESTONE, REACHED, Metric
from piase_gym.runs.metrics import Metrics
from piase_gym.runs.recent_events import Step
from piase_gym.runs.schema import ATTEMPT
from piase_gym.runs.windows import Value, View

_OF_STEPS = frozenset({"illegal_rate", "invalid_rate", "messages_sent", "env_steps"})
_PARTS = (MILESTONE, MEASURE, REACHED)
FOLLOWED = (ATTEMPT, "ENVIRONMENT_EVENT_OCCURRED", "ENVIRONMENT_STATE_CHANGED")
"""The event types that are recorded: attempts, hints, milestones."""


@dataclass(frozen=True)
class MetricInputs:
    """What metrics read that is not recorded for every episode anyway.

    Attributes:
        rewards: Whether sums of rewards are read.
        steps: Whether outcomes and messages of single steps are read.
        measures: Whether what the world measures is read, at the end of an agent's episode.
    """

    rewards: bool = True
    steps: bool = True
    measures: bool = True

    @classmethod
    def of(cls, metrics: Iterable[str]) -> MetricInputs:
        """Return what some metrics read; user-defined metrics may read everything."""
        names = set(metrics)
        strange = {n for n in names if n not in METRICS and not n.startswith(_PARTS)}
        return cls(
            rewards=bool(strange or "mean_return" in names),
            steps=bool(strange or names & _OF_STEPS),
            measures=bool(strange or any(name.startswith(MEASURE) for name in names)),
        )

    def includes(self, other: MetricInputs) -> bool:
        """Return whether everything that another names is here too."""
        return all(mine or not its for mine, its in zip(astuple(self), astuple(other), strict=True))


@dataclass
class EpisodeRecord:
    """What one agent's part in one episode leaves behind.

    Attributes:
        episode: The episode.
        steps: Its steps, if any metric reads them.
    """

    episode: Episode
    steps: Sequence[Step] = ()


class CurriculumMetrics(Metrics):
    """Metrics of the agents that follow curricula.

    A metric of what is not recorded, and any event but an attempt that begins, a hint or a
    milestone, raise `UnsupportedError`; `piase_gym.runs.Metrics` knows of all.

    Args:
        agents: The agents.
        milestones: The names of all milestones that there are.
        measures: The names of all measures.
        own: User-defined metrics by name, as `piase_gym.runs.Metrics.define` takes them.
        inputs: What is recorded; by default everything.
        retain: How many single steps are remembered; episodes are all remembered.

    Attributes:
        history: What is remembered.
    """

    def __init__(
        self,
        agents: Sequence[str],
        milestones: Sequence[str] = (),
        measures: Sequence[str] = (),
        own: Mapping[str, Callable[[View], Value]] | None = None,
        inputs: MetricInputs | None = None,
        retain: int = 100_000,
    ) -> None:
        """Begin without episodes."""
        super().__init__(History(retain))
        self.inputs = inputs or MetricInputs()
        self.history.learn_names(milestones, measures)
        for agent in agents:
            self.history.of(agent)
        for name, metric in (own or {}).items():
            self.define(name, metric)

    def _find(self, metric: str) -> Metric:
        """Return what computes a metric whose inputs are recorded."""
        if not self.inputs.includes(MetricInputs.of([metric])):
            raise UnsupportedError(
                f"{metric} is not recorded, for no criterion and no rule reads it; a director of "
                "your own names the metrics that it reads in its attribute `metrics`"
            )
        return super()._find(metric)

    def _read_signature(self, signature: str | Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the signature of an attempt, a hint or a milestone; see `check_event_occurred`.

        Raises:
            UnsupportedError: If it is about other events, which only `piase_gym.runs.Metrics` sees.
        """
        kind = signature if isinstance(signature, str) else signature.get("event_type")
        if kind not in FOLLOWED:
            raise UnsupportedError(
                f"the meter of a curriculum does not hear of {kind or 'events without a type'}; "
                f"it hears of {', '.join(FOLLOWED)}; piase_gym.runs.Metrics hears of all"
            )
        return super()._read_signature(signature)

    # -- what is recorded ----------------------------------------------------------------

    def attempt(self, agent: str, data: Mapping[str, Any]) -> Attempt:
        """Record that an attempt begins; `data` is that of its line in the log."""
        self._feed(ATTEMPT, agent, data)
        return self.history.of(agent).attempts[-1]

    def hint(self, agent: str, message: str | None, slot: int | None = None) -> None:
        """Record that an agent was given a hint."""
        data = {"kind": "hint", "agent": agent, "message": message}
        self._feed("ENVIRONMENT_EVENT_OCCURRED", "system", data | _slot(slot))

    def add_episode(self, record: EpisodeRecord, slot: int | None = None) -> None:
        """Record an agent's episode."""
        episode = record.episode
        known = self.history.of(episode.agent)
        known.add(episode)
        if episode.attempt != SPARE:
            known.steps.extend(record.steps)
        for name in episode.milestones:
            data = {"kind": "milestone", "name": name}
            self._feed("ENVIRONMENT_STATE_CHANGED", episode.agent, data | _slot(slot))

    def _feed(self, event_type: str, agent: str, data: Mapping[str, Any]) -> None:
        """Record an event as a log would contain it."""
        event = {"event_type": event_type, "agent_id": agent, "event_data": dict(data)}
        self.history.feed({**event, "step": self.history.step, "episode": 0})


def _slot(slot: int | None) -> dict[str, int]:
    """Return the entry that says which environment is meant."""
    return {} if slot is None else {"slot": slot}
