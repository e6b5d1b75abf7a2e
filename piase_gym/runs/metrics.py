"""`Metrics`: how well agents do, by the same code for live environments and for finished logs.

It is the actual `PiaAVTInterface` of the dynamic scenario engine.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from piase_gym.errors import AgentError, ConfigError, PiaseError, UnknownNameError
from piase_gym.runs.agent_lines import goal_prefix
from piase_gym.runs.history import History
from piase_gym.runs.json_values import dumps
from piase_gym.runs.lines import Encoder, Fields, Line, Out
from piase_gym.runs.manifest import require_slot
from piase_gym.runs.metric_definitions import (
    MEASURE,
    METRICS,
    MILESTONE,
    REACHED,
    Metric,
    added_metric,
    metric_types,
)
from piase_gym.runs.reader import Run, damaged, read
from piase_gym.runs.schema import LINE_DAMAGE, SCHEMA_VERSION
from piase_gym.runs.windows import Value, View, Window, check_window, look


class PiaAVTInterface(ABC):
    """The basis of decisions: metrics of agents, and what happened to them."""

    @abstractmethod
    def get_performance_metric(
        self, agent_id: str, metric: str, window: Window = None, *, slot: int | None = None
    ) -> Value:
        """Return the value of a metric, or ``None`` if it has none yet."""

    @abstractmethod
    def check_event_occurred(
        self,
        agent_id: str,
        signature: str | Mapping[str, Any],
        window: Window = None,
        *,
        slot: int | None = None,
    ) -> bool:
        """Return whether an event with this signature happened to an agent."""


class Metrics(PiaAVTInterface):
    """Metrics of the agents of one run.

    Args:
        run_or_env: A log (a path, or a `Run`), an environment of piase_gym with any API, which is
            followed from now on (call `close` to stop), or a `History` that the caller fills.
        retain: How many steps and events are remembered one by one; all episodes are.

    Raises:
        RunError: If a line of the log is damaged, or its level left out the steps.

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
        given = isinstance(run_or_env, History)
        self.history: History = run_or_env if given else History(retain)
        self._own: dict[str, Metric] = {}
        self._recorder: Any = None
        if isinstance(run_or_env, str | os.PathLike):
            run_or_env = read(Path(run_or_env))
        if isinstance(run_or_env, Run):
            self._read(run_or_env)
        elif not given:
            # Reading a log needs none of the code that writes one.
            from piase_gym.runs.options import NEVER, Options
            from piase_gym.runs.recording import follow

            options = Options(snapshot_every=NEVER)
            self._recorder = follow(run_or_env, _Follower(self.history), options)

    def _read(self, run: Run) -> None:
        """Take in a log.

        Raises:
            RunError: If a line is damaged, so that nothing could be computed from the rest, or the
                log has no steps because of its level.
        """
        run.require_step_lines()
        number = 0
        try:
            for number, event in run.numbered():  # noqa: B007
                self.history.feed(event)
        except LINE_DAMAGE as error:
            if isinstance(error, PiaseError):
                raise
            raise damaged(run.path, number, error) from error

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of the run."""
        return tuple(self.history.agents)

    def names(self) -> tuple[str, ...]:
        """Return the names of all metrics of this run: common, of its world, user-defined."""
        history = self.history
        orders = {
            attempt.order
            for agent in history.agents.values()
            for attempt in agent.attempts
            if attempt.order is not None
        }
        kinds = metric_types((*history.milestones,), (*history.measures,), sorted(orders))
        return (*kinds, *self._own)

    def close(self) -> None:
        """Stop following the environment; what was seen can still be queried."""
        if self._recorder is not None:
            self._recorder.finish("closed")
            self._recorder = None

    # -- questions ------------------------------------------------------------------------

    def get_performance_metric(
        self, agent_id: str, metric: str, window: Window = None, *, slot: int | None = None
    ) -> Value:
        """Return the value of a metric.

        Args:
            agent_id: The agent.
            metric: A name in `METRICS`, ``milestone.<name>``, ``measure.<name>``,
                ``reached_goal_<order>``, or one of your own.
            window: How far to look back; by default over the last attempt or, if none was ever
                begun, over the whole run.
            slot: Only what happened in this environment of a batch.

        Returns:
            The value, or ``None`` if it has none yet, such as a rate over no episode.

        Raises:
            UnknownNameError: If there is no such metric.
            AgentError: If there is no such agent.
            ConfigError: If the window is not allowed, or there is no such slot.
        """
        compute = self._find(metric)
        return compute(self.view(agent_id, window, slot))

    def check_event_occurred(
        self,
        agent_id: str,
        signature: str | Mapping[str, Any],
        window: Window = None,
        *,
        slot: int | None = None,
    ) -> bool:
        """Return whether an event happened to an agent.

        Args:
            agent_id: The agent.
            signature: An event type, or fields with their values: fields of a line
                (``event_type``) and of its `event_data` (``outcome``, ``action_details.type``). A
                field that no line has, such as a misspelt one, has not occurred: logs may have any.
            window: How far to look back, as for metrics.
            slot: Only what happened in this environment of a batch.
        """
        wanted = self._read_signature(signature)
        view = self.view(agent_id, window, slot)
        return any(_matches(event, wanted) for event in view.lines())

    def _read_signature(self, signature: str | Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields of an event that is asked for, and their values.

        Raises:
            ConfigError: If it is no event type and no mapping.
        """
        wanted = {"event_type": signature} if isinstance(signature, str) else signature
        if not isinstance(wanted, Mapping) or not wanted:
            raise ConfigError(f"a signature is an event type or a mapping, not {signature!r:.60}")
        return wanted

    def define(self, name: str, metric: Metric) -> None:
        """Register a metric of your own; it is called with a `View`.

        Raises:
            ConfigError: If the name is taken by a common metric, or the metric cannot be called.
        """
        if not callable(metric):
            raise ConfigError(f"a metric is a function of a View, not {metric!r:.60}")
        if name in METRICS or name.startswith((MILESTONE, MEASURE, REACHED)):
            raise ConfigError(f"the metric {name!r} exists; give yours another name")
        self._own[name] = metric

    def define_sql(self, name: str, query: str) -> None:
        """Register a metric that is the first value in the result of a DuckDB query.

        The query sees the tables ``episodes``, ``steps`` and ``events`` of one agent and window,
        and the parameter ``$agent``.
        """
        from piase_gym.runs.tables import sql_metric

        self.define(name, sql_metric(query))

    def _find(self, metric: str) -> Metric:
        """Return the function that computes a metric."""
        if metric in self._own:
            return self._own[metric]
        if metric in METRICS:
            return METRICS[metric].compute
        found = added_metric(metric)
        if found is not None and (metric.startswith(REACHED) or metric in self.names()):
            return found
        raise UnknownNameError("metric", metric, self.names())

    def view(self, agent: str, window: Window = None, slot: int | None = None) -> View:
        """Return what is known of an agent within a window."""
        if agent not in self.history.agents:
            names = ", ".join(self.history.agents)
            raise AgentError(f"there is no agent {agent!r} in this run; agents are {names}")
        if slot is not None and self.history.manifest:
            require_slot(self.history.manifest, slot)
        return look(self.history, agent, check_window(window), slot)


class _Follower(Out):
    """Hands the lines of a live environment to a history, as they would be read from a log."""

    final = False

    def __init__(self, history: History) -> None:
        """Feed `history`."""
        super().__init__()
        self.history = history

    def open(self, encoder: Encoder) -> None:
        """Let `encoder` turn events into lines when they are asked for."""
        self.history.recent.encoder = encoder
        self.history.recent.prefix = goal_prefix(encoder.run_id, SCHEMA_VERSION)

    def take(self, fields: Fields) -> None:
        """Hand over a line; what users may change later is copied."""
        line = Line(*fields)
        if line.data.get("kind") != "step":
            line = line._replace(data=orjson.loads(dumps(line.data)))
        self.history.take(line)

    def close(self, last: Line) -> None:
        """Take note of the last step: in a batch, nobody may have been in play any more."""
        self.history.step = last.step


def _matches(event: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether an event matches a signature."""
    for path, value in wanted.items():
        place: Any = event if path.partition(".")[0] in event else event["event_data"]
        for part in path.split("."):
            place = place.get(part) if isinstance(place, Mapping) else None
        if place != value:
            return False
    return True
