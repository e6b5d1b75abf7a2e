"""The metrics that every world has, and those that worlds and curricula add, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.commands import Outcome
from piase_gym.runs.history import Episode
from piase_gym.runs.windows import Value, View

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
    """Return the mean, or ``None`` if there are no values."""
    return sum_in_order(values) / len(values) if values else None


def _share(outcomes: Sequence[str]) -> Metric:
    """Return a metric: the share of commands with one of these outcomes."""

    def compute(view: View) -> Value:
        wanted, count = sum(view.outcomes[name] for name in outcomes), view.outcomes.total()
        return wanted / count if count else None

    return compute


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
        "boolean",
        "whether the last finished episode was won",
        lambda view: view.finished[-1].result == "won" if view.finished else None,
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
    "messages_sent": MetricSpec("number", "messages sent, in words", lambda view: view.messages),
    "hints_used": MetricSpec("number", "hints received", lambda view: view.hints),
    "episodes": MetricSpec("number", "finished episodes", lambda view: len(view.finished)),
    "env_steps": MetricSpec("number", "steps taken part in", lambda view: view.outcomes.total()),
    "attempts": MetricSpec("number", "attempts begun so far", lambda view: len(view.attempts)),
}
"""The metrics that every world has, by name."""
MILESTONE = "milestone."
MEASURE = "measure."
REACHED = "reached_goal_"


def metric_types(
    milestones: Sequence[str] = (), measures: Sequence[str] = (), orders: Iterable[int] = ()
) -> dict[str, type[float] | type[bool]]:
    """Return the type of every metric of a world: numbers are `float`, booleans are `bool`.

    Args:
        milestones: The world's `milestones`.
        measures: The world's `measures`.
        orders: The orders of a curriculum's steps; each step has its ``reached_goal_<order>``.
    """
    kinds: dict[str, type[float] | type[bool]] = {
        name: bool if spec.kind == "boolean" else float for name, spec in METRICS.items()
    }
    kinds |= {f"{MILESTONE}{name}": bool for name in milestones}
    kinds |= {f"{REACHED}{order}": bool for order in orders}
    return kinds | {f"{MEASURE}{name}": float for name in measures}


def added_metric(name: str) -> Metric | None:
    """Return the function of a metric that a world or a curriculum adds, or ``None``.

    Args:
        name: ``milestone.<name>``, ``measure.<name>`` or ``reached_goal_<order>``.
    """
    if name.startswith(MILESTONE):
        mark = name.removeprefix(MILESTONE)
        return lambda view: any(row.milestones.get(mark, -1) > view.after for row in view.episodes)
    if name.startswith(MEASURE):
        key = name.removeprefix(MEASURE)
        return lambda view: _mean([r.measures[key] for r in view.finished if key in r.measures])
    order = name.removeprefix(REACHED)
    if order != name and order.removeprefix("-").isdecimal():
        return _reached(int(order))
    return None


def _reached(order: int) -> Metric:
    """Return a metric: whether the agent reached its goal in an attempt at this step.

    The goal is to stand on the target of the attempt or, if it has none, to reach the world's goal.
    """

    def compute(view: View) -> Value:
        if not view.attempts:
            return None
        aimed = {a.number: a.aimed for a in view.current if a.order == order}
        return any(
            row.arrived > max(view.after, 0) if aimed[row.attempt] else _at_goal(row, view.after)
            for row in view.episodes
            if row.attempt in aimed
        )

    return compute


def _at_goal(row: Episode, after: int) -> bool:
    """Return whether an agent reached the world's goal in an episode, after a step of the run."""
    if row.result == "won":
        return row.end > after
    return row.milestones.get("goal_reached", -1) > after
