"""Forks: cut a run at a step, change something, and see how the rest would have gone.

The prefix is executed again from the log. From its last state two branches go on: one unchanged,
one with the change. In each of K pairs of branches, the named random streams are drawn again, the
same in both branches, while all others go on as in the run; the mean difference within pairs is
the effect of the change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.agents.base import require_distinct
from piase_gym.errors import AgentError, ConfigError, LogWriteError, require_count, require_known
from piase_gym.runs.branches import (
    BRANCHES,
    PARTNER,
    STREAMS,
    Branch,
    Change,
    Policies,
    RunUntilCut,
)
from piase_gym.runs.reader import Run, read
from piase_gym.worlds.texts.wording import counted

METRICS = ("return", "won", "length")
RESAMPLES = 10_000


@dataclass(frozen=True)
class ForkReport:
    """The effect of a change on a run.

    Attributes:
        step: The step of the run after which it was cut.
        episode: The episode that was cut.
        agent: The agent that is measured.
        metric: What is measured.
        before: Its value in each pair, without the change.
        after: Its value in each pair, with the change.
        effect: The mean of the differences.
        interval: The 95% interval of the effect (percentile bootstrap over pairs), or ``None`` if
            there is only one pair.
        branches: Both branches of each pair.
        parted: For each pair, the step after the cut in which the branches first differ, or
            ``None``.
        notes: What readers of the report have to know: agents with a policy that the log names,
            but may not load, or that do nothing once the log has no more commands of them; and
            that all pairs are alike, so that the interval means nothing.
    """

    step: int
    episode: int
    agent: str
    metric: str
    before: Sequence[float] = field(repr=False)
    after: Sequence[float] = field(repr=False)
    effect: float
    interval: tuple[float, float] | None
    branches: Sequence[tuple[Branch, Branch]] = field(repr=False)
    parted: Sequence[int | None] = field(repr=False)
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        """Summarize the report in a line, followed by its notes."""
        reach = ""
        if self.interval is not None:
            reach = f", 95% interval {self.interval[0]:+.3f} to {self.interval[1]:+.3f}"
        return (
            f"cut after step {self.step} (episode {self.episode}): {self.metric} of {self.agent} "
            f"{np.mean(self.before):.3f} without, {np.mean(self.after):.3f} with the change; "
            f"effect {self.effect:+.3f}{reach}, {counted(len(self.before), 'pair')}"
            + "".join(f"\n  {note}" for note in self.notes)
        )


def fork(
    path: str | os.PathLike[str] | Run,
    at: int,
    *,
    actions: Mapping[str, Any] | None = None,
    messages: Mapping[str, Any] | None = None,
    hints: Mapping[str, str] | None = None,
    policies: Policies | None = None,
    players: Policies | None = None,
    pairs: int = 1,
    vary: Sequence[str] = (),
    metric: str | Callable[[Branch], float] = "return",
    agent: str | None = None,
    steps: int | None = None,
    slot: int = 0,
    logs: str | os.PathLike[str] | None = None,
) -> ForkReport:
    """Cut a run, change something, and compare it with how it goes on without the change.

    Args:
        path: The log, or a `Run` that `read` returned.
        at: The step of the run after which it is cut; 0 is after the first reset.
        actions: See `Change`, also for `messages`, `hints` and `policies`.
        messages: The messages sent at the cut.
        hints: The hints given at the cut.
        policies: Who plays from the cut on, in the changed branch.
        players: Who plays from the cut on in both branches. By default an agent's policy in the
            manifest, driven through the prefix again, if it has a name; otherwise ``"recorded"``:
            what the log says.
        pairs: How many pairs of branches.
        vary: Random streams that each pair redraws: ``"dynamics"``, ``"channel"``, ``"layout"``,
            ``"partner_<agent>"`` of an agent that a policy plays. It remembers what it has seen,
            and of a population the same member plays on.
        metric: ``"return"``, ``"won"``, ``"length"``, or a function of a `Branch`.
        agent: The agent to measure; by default the first that is changed.
        steps: Steps after the cut; by default to the episode's end.
        slot: Which environment of a batch.
        logs: A folder for logs of all branches, which can be replayed.

    Returns:
        The effect of the change, with an interval where there are several pairs.

    Raises:
        RunError: If the run cannot be executed up to the cut, or no episode is going on there.
        ActionError: If an action is no command, or not allowed to its agent at the cut.
        AgentError: If an agent does not exist, or is not in play at the cut.
        ConfigError: If an argument is not allowed.
        UnsupportedError: If the world has no mailboxes, or its streams cannot be drawn anew.
    """
    run = path if isinstance(path, Run) else read(path)
    change = Change(actions or {}, messages or {}, hints or {}, policies or {})
    at = require_count("a run is cut after a step, 0 or more", at, 0)
    pairs = require_count("pairs must be a positive number", pairs)
    if steps is not None:
        steps = require_count("steps must be a positive number", steps)
    _check(run, change, players or {}, vary, metric, agent)
    if logs is not None:
        _check_logs(run, Path(logs), pairs)
    cut = RunUntilCut(run, at, slot, players or {})
    cut.check(change, vary)
    measured = agent or next(iter(change.agents), run.agents[0])
    found = []
    for number in range(pairs):
        place = None if logs is None else Path(logs) / f"pair_{number}"
        one = cut.branch(None, number, vary, steps, place)
        found.append((one, cut.branch(change, number, vary, steps, place)))
    before = [_value(one, metric, measured) for one, _ in found]
    after = [_value(other, metric, measured) for _, other in found]
    differences = np.subtract(after, before)
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")
    parted = [_parting(one, other) for one, other in found]
    notes = [*cut.notes, *_note_alike(found, vary)]
    effect = float(differences.mean()), _interval(differences)
    return ForkReport(at, cut.episode, measured, name, before, after, *effect, found, parted, notes)


def _check(
    run: Run,
    change: Change,
    players: Policies,
    vary: Sequence[str],
    metric: Any,
    agent: str | None,
) -> None:
    """Raise if an argument is not allowed."""
    if not callable(metric):
        require_known("metric", metric, METRICS)
    for name, part in {**vars(change), "players": players}.items():
        if not isinstance(part, Mapping):
            raise ConfigError(f"{name} is a mapping of agents, not {part!r:.60}")
    require_distinct(players.values())
    names = [*change.agents, *players, *([agent] if agent is not None else [])]
    wrong = [name for name in names if name not in run.agents]
    if wrong:
        raise AgentError(f"there is no agent {wrong[0]!r}; agents are {', '.join(run.agents)}")
    if not isinstance(vary, Sequence) or isinstance(vary, str):
        example = vary if isinstance(vary, str) else "layout"
        raise ConfigError(f"vary is a list of streams, such as [{example!r}]")
    known = [*STREAMS, *(PARTNER + name for name in run.agents)]
    for name in vary:
        require_known("random stream", name, known)


def _check_logs(run: Run, folder: Path, pairs: int) -> None:
    """Raise `LogWriteError` if the logs of branches cannot, or must not, go into a folder."""
    if folder.exists() and not folder.is_dir():
        raise LogWriteError(f"{folder} is a file; the logs of branches need a folder")
    for number in range(pairs):
        for name in BRANCHES:
            place = folder / f"pair_{number}" / name
            if place.exists() and place.samefile(run.path):
                raise LogWriteError(f"{place} is the log itself; give another folder")


def _value(branch: Branch, metric: str | Callable[[Branch], float], agent: str) -> float:
    """Measure a branch."""
    if not isinstance(metric, str):
        return float(metric(branch))
    if metric == "won":
        return float(branch.results.get(agent) == "won")
    return float(branch.length) if metric == "length" else branch.returns[agent]


def _parting(one: Branch, other: Branch) -> int | None:
    """Return the step in which two branches first differ."""
    for place, (left, right) in enumerate(zip(one.digests, other.digests, strict=False)):
        if left != right:
            return place + 1
    return None if one.length == other.length else min(one.length, other.length) + 1


def _note_alike(found: Sequence[tuple[Branch, Branch]], vary: Sequence[str]) -> list[str]:
    """Say that several pairs tell no more than one, if that is so."""
    ends = [tuple(replace(branch, digests=()) for branch in pair) for pair in found]
    if len(found) < 2 or any(end != ends[0] for end in ends):
        return []
    if not vary:
        return ["all pairs are alike, for nothing was drawn anew; name random streams in vary"]
    drew = ", ".join(vary)
    if all(pair == found[0] for pair in found):
        return [f"all pairs are alike, for {drew} drew nothing after the cut"]
    return [f"all pairs ended alike, whatever {drew} drew after the cut"]  # its key is in digests


def _interval(differences: Any) -> tuple[float, float] | None:
    """Return the 95% percentile bootstrap interval of a mean over pairs."""
    count = len(differences)
    if count < 2:
        return None
    draws = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
    low, high = np.percentile(differences[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
