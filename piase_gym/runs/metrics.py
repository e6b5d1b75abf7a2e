"""`Metrics`: how well agents do, by the same code from a live environment and from a finished log.

It is the real `PiaAVTInterface` of the dynamic scenario engine.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from piase_gym.commands import Outcome
from piase_gym.errors import AgentError, ConfigError, UnknownNameError, suggest
from piase_gym.runs.history import Episode, History, Step
from piase_gym.runs.reader import Event, Run, read

WINDOWS = ("attempts", "episodes", "env_steps")
Value = float | int | bool | str | None
Window = Mapping[str, int] | None
"""``{"attempts": n}``, ``{"episodes": n}`` or ``{"env_steps": n}``; ``None`` means the last
attempt, or, without attempts, the whole run."""


class PiaAVTInterface(ABC):
    """What decisions are made from: metrics of agents, and what happened to them."""

    @abstractmethod
    def get_performance_metric(self, agent_id: str, metric: str, window: Window = None) -> Value:
        """Return the value of a metric, or ``None`` if it has none yet."""

    @abstractmethod
    def check_event_occurred(
        self, agent_id: str, signature: str | Mapping[str, Any], window: Window = None
    ) -> bool:
        """Tell whether an event with this signature happened to an agent."""


@dataclass(frozen=True)
class View:
    """What a metric may look at: one agent, as far as a window goes.

    Attributes:
        agent: The agent.
        episodes: Its episodes in the window, finished or not, oldest first.
        steps: Its steps in the window, oldest first.
        hints: Hints received in the window.
        attempts: Attempts begun so far.
        lines: Yields the events of the window that concern the agent, as lines of a log.
    """

    agent: str
    episodes: Sequence[Episode]
    steps: Sequence[Step]
    hints: int
    attempts: int
    lines: Callable[[], Iterator[Event]]

    @property
    def finished(self) -> list[Episode]:
        """The episodes that came to their own end."""
        return [row for row in self.episodes if row.finished]


Metric = Callable[[View], Value]


@dataclass(frozen=True)
class MetricSpec:
    """A metric that every world has.

    Attributes:
        kind: ``number`` or ``boolean``.
        description: What it is, in one sentence.
        compute: Its value in a window.
    """

    kind: str
    description: str
    compute: Metric


def _mean(values: Sequence[float]) -> float | None:
    """Return the mean, or ``None`` of nothing."""
    return sum(values) / len(values) if values else None


def _share(outcomes: Sequence[str]) -> Metric:
    """Return a metric: the share of commands with one of these outcomes."""

    def compute(view: View) -> Value:
        wanted = sum(step.outcome in outcomes for step in view.steps)
        return wanted / len(view.steps) if view.steps else None

    return compute


def _task_success(view: View) -> Value:
    """Tell whether the last finished episode was won."""
    return view.finished[-1].result == "won" if view.finished else None


_INVALID = tuple(str(o) for o in Outcome if o.status == "invalid_action")
METRICS: Mapping[str, MetricSpec] = {
    "success_rate": MetricSpec(
        "number",
        "share of the finished episodes that were won",
        lambda view: _mean([float(row.result == "won") for row in view.finished]),
    ),
    "mean_return": MetricSpec(
        "number",
        "mean sum of rewards of the finished episodes",
        lambda view: _mean([row.total for row in view.finished]),
    ),
    "episode_length": MetricSpec(
        "number",
        "mean number of steps of the finished episodes",
        lambda view: _mean([row.length for row in view.finished]),
    ),
    "task_success": MetricSpec(
        "boolean", "whether the last finished episode was won", _task_success
    ),
    "steps_to_goal": MetricSpec(
        "number",
        "mean number of steps of the episodes that were won",
        lambda view: _mean([row.length for row in view.finished if row.result == "won"]),
    ),
    "illegal_rate": MetricSpec(
        "number", "share of the commands that were illegal", _share(("illegal",))
    ),
    "invalid_rate": MetricSpec(
        "number",
        "share of the commands that were illegal, unreadable, too long or refused",
        _share(_INVALID),
    ),
    "messages_sent": MetricSpec(
        "number", "messages sent", lambda view: sum(step.messages for step in view.steps)
    ),
    "hints_used": MetricSpec("number", "hints received", lambda view: view.hints),
    "episodes": MetricSpec("number", "finished episodes", lambda view: len(view.finished)),
    "env_steps": MetricSpec("number", "steps taken part in", lambda view: len(view.steps)),
    "attempts": MetricSpec("number", "attempts begun so far", lambda view: view.attempts),
}
"""The metrics that every world has, by name."""
MILESTONE = "milestone."
MEASURE = "measure."


def metric_types(
    milestones: Sequence[str] = (), measures: Sequence[str] = ()
) -> dict[str, type[float] | type[bool]]:
    """Return the type of every metric of a world: numbers are `float`, truths are `bool`.

    Args:
        milestones: The world's `milestones`.
        measures: The world's `measures`.
    """
    kinds: dict[str, type[float] | type[bool]] = {
        name: bool if spec.kind == "boolean" else float for name, spec in METRICS.items()
    }
    kinds |= {f"{MILESTONE}{name}": bool for name in milestones}
    return kinds | {f"{MEASURE}{name}": float for name in measures}


class Metrics(PiaAVTInterface):
    """Metrics of the agents of one run.

    Args:
        run_or_env: A log (a path, or a `Run`), or an environment of ours with any face, which is
            followed from now on; call `close` to end that.
        retain: How many steps and events are remembered one by one; episodes all are.

    Example:
        >>> import piase_gym
        >>> from piase_gym import runs
        >>> env = piase_gym.parallel_env(
        ...     "GridWorld", width=3, height=2, start_pos=(0, 0), goal_pos=(2, 0)
        ... )
        >>> metrics = runs.Metrics(env)
        >>> _ = env.reset(seed=0)
        >>> while env.agents:
        ...     _ = env.step({"agent_0": 3})
        >>> metrics.get_performance_metric("agent_0", "success_rate")
        1.0
        >>> metrics.check_event_occurred("agent_0", {"outcome": "illegal"})
        False
    """

    def __init__(self, run_or_env: Any, *, retain: int = 100_000) -> None:
        """Read the log, or start to follow the environment."""
        self.history = History(retain)
        self._own: dict[str, Metric] = {}
        self._recorder: Any = None
        if isinstance(run_or_env, str | os.PathLike):
            run_or_env = read(Path(run_or_env))
        if isinstance(run_or_env, Run):
            for event in run_or_env:
                self.history.feed(event)
        else:
            from piase_gym.runs.follow import follow

            self._recorder = follow(run_or_env, self.history.feed)

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of the run."""
        self._catch_up()
        return tuple(self.history.agents)

    def names(self) -> tuple[str, ...]:
        """Return the names of all metrics of this run: common, of its world, user-defined."""
        self._catch_up()
        manifest = self.history.manifest
        kinds = metric_types(manifest.get("milestones", ()), manifest.get("measures", ()))
        return (*kinds, *self._own)

    def close(self) -> None:
        """Follow the environment no longer; what was seen can still be asked for."""
        if self._recorder is not None:
            self._recorder.finish("closed")
            self._recorder = None

    def _catch_up(self) -> None:
        """Take in what has happened since the last question."""
        if self._recorder is not None and not self._recorder.closed:
            self._recorder.flush()

    # -- questions ------------------------------------------------------------------------

    def get_performance_metric(self, agent_id: str, metric: str, window: Window = None) -> Value:
        """Return the value of a metric.

        Args:
            agent_id: The agent.
            metric: A name in `METRICS`, ``milestone.<name>``, ``measure.<name>``, or one of your
                own.
            window: How far to look back; by default over the last attempt, or if none was ever
                begun, over the whole run.

        Returns:
            The value, or ``None`` if it has none yet, such as a rate over no episode.

        Raises:
            UnknownNameError: If there is no such metric.
            AgentError: If there is no such agent.
            ConfigError: If the window is not allowed.
        """
        compute = self._find(metric)
        return compute(self.view(agent_id, window))

    def check_event_occurred(
        self, agent_id: str, signature: str | Mapping[str, Any], window: Window = None
    ) -> bool:
        """Tell whether an event happened to an agent.

        Args:
            agent_id: The agent.
            signature: An event type, or fields with their values: fields of a line
                (``event_type``) and of its `event_data` (``outcome``, ``action_details.type``).
            window: How far to look back, as for metrics.
        """
        wanted = {"event_type": signature} if isinstance(signature, str) else signature
        if not isinstance(wanted, Mapping) or not wanted:
            raise ConfigError(f"a signature is an event type or a mapping, not {signature!r:.60}")
        view = self.view(agent_id, window)
        return any(_matches(event, wanted) for event in view.lines())

    def define(self, name: str, metric: Metric) -> None:
        """Make a metric of your own known; it is given a `View`.

        Raises:
            ConfigError: If the name is taken by a common metric.
        """
        if name in METRICS or name.startswith((MILESTONE, MEASURE)):
            raise ConfigError(f"the metric {name!r} exists; give yours another name")
        self._own[name] = metric

    def define_sql(self, name: str, query: str) -> None:
        """Make a metric known that is the first value that a query finds (DuckDB).

        The query sees the tables ``episodes``, ``steps`` and ``events`` of one agent and window,
        and the parameter ``$agent``.
        """
        from piase_gym.runs.tables import sql_metric

        self.define(name, sql_metric(query))

    def _find(self, metric: str) -> Metric:
        """Return how a metric is computed."""
        if metric in self._own:
            return self._own[metric]
        if metric in METRICS:
            return METRICS[metric].compute
        if metric in self.names():
            name = metric.partition(".")[2]
            return _milestone(name) if metric.startswith(MILESTONE) else _measure(name)
        raise UnknownNameError("metric", metric, self.names())

    def view(self, agent: str, window: Window = None) -> View:
        """Return what is known of an agent, as far as a window goes."""
        self._catch_up()
        history = self.history
        if agent not in history.agents:
            names = ", ".join(history.agents)
            raise AgentError(f"there is no agent {agent!r} in this run; agents are {names}")
        kind, count = check_window(window)
        known = history.agents[agent]
        since, after = 0, -1
        episodes, steps = known.episodes, known.steps
        hints = known.hints
        if kind == "attempts":
            first = len(known.attempts) - count + 1
            episodes = [row for row in episodes if row.attempt >= first]
            steps_found = [step for step in steps if step.attempt >= first]
            hints = [hint for hint in hints if hint[1] >= first]
            since = known.attempts[first - 1][1] if first >= 1 else 0
        elif kind == "episodes":
            finished = [row for row in episodes if row.finished][-count:]
            numbers = {(row.slot, row.episode) for row in finished}
            episodes = finished
            steps_found = [step for step in steps if (step.slot, step.episode) in numbers]
            after = finished[0].start if finished else history.step
            hints = [hint for hint in hints if hint[0] >= after]
            since = finished[0].sequence if finished else history.sequence + 1
        else:
            after = history.step - count
            episodes = [row for row in episodes if row.end > after]
            steps_found = [step for step in steps if step.step > after]
            hints = [hint for hint in hints if hint[0] > after]
        attempts = len(known.attempts)
        return View(
            agent,
            episodes,
            steps_found,
            len(hints),
            attempts,
            lambda: history.lines(agent, since, after if kind == "env_steps" else -1),
        )


def check_window(window: Window) -> tuple[str, int]:
    """Return a window's kind and size.

    Raises:
        ConfigError: If it is not allowed.
    """
    if window is None:
        return "attempts", 1
    if not isinstance(window, Mapping) or len(window) != 1:
        raise ConfigError(
            f"a window is one of {{'attempts': n}}, {{'episodes': n}}, {{'env_steps': n}}, "
            f"not {window!r:.60}"
        )
    ((kind, count),) = window.items()
    if kind not in WINDOWS:
        raise ConfigError(f"unknown window {kind!r}; {suggest(kind, WINDOWS)}")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ConfigError(f"a window has a positive number of {kind}, not {count!r}")
    return kind, count


def _milestone(name: str) -> Metric:
    """Return a metric: whether a milestone was reached."""
    return lambda view: any(name in row.milestones for row in view.episodes)


def _measure(name: str) -> Metric:
    """Return a metric: the mean of what the world measured."""
    return lambda view: _mean([r.measures[name] for r in view.finished if name in r.measures])


def _matches(event: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Compare an event with a signature."""
    for path, value in wanted.items():
        place: Any = event if path.partition(".")[0] in event else event["event_data"]
        for part in path.split("."):
            place = place.get(part) if isinstance(place, Mapping) else None
        if place != value:
            return False
    return True
