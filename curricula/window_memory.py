"""Keeps the past episodes that windows longer than an attempt need after a resumption.

They are kept with an agent's progress, so that an agent that continues in another process is judged
as if it had never stopped. Outcomes of single steps are not kept: over windows of ``env_steps``,
metrics of outcomes and messages start again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from piase_gym.curricula.progress import MOST, AgentProgress, typed
from piase_gym.curricula.schema import DevelopmentalCurriculum, RequiredMetric
from piase_gym.errors import ProgressError
from piase_gym.runs.history import SPARE, Attempt, Episode, History

RECENT = "recent"
"""The key under which they are kept in `AgentProgress.memory`."""


@dataclass(frozen=True)
class _Recent:
    """What is kept."""

    step: int
    episodes: list[Episode]
    hints: list[tuple[int, int, int]]


def longest_windows(needs: Iterable[RequiredMetric]) -> dict[str, int]:
    """Return the longest window of each kind that is read; empty if all are single attempts."""
    found: dict[str, int] = {}
    for need in needs:
        kind, count = need.window or ("attempts", 1)
        found[kind] = max(count, found.get(kind, 0))
    return {} if found.keys() <= {"attempts"} and found.get("attempts", 1) == 1 else found


def save_windows(
    history: History, progress: AgentProgress, needs: Iterable[RequiredMetric]
) -> None:
    """Save in an agent's progress what its windows still need from the past."""
    windows = longest_windows(needs)
    if not windows:
        return
    known, step = history.of(progress.agent_id), history.step
    rows = [row for row in known.episodes if row.attempt != SPARE]
    last = {id(row) for row in [r for r in rows if r.finished][-windows.get("episodes", 1) :]}
    oldest = len(known.attempts) - windows.get("attempts", 1)
    since = step - windows.get("env_steps", 0)
    kept = [r for r in rows if id(r) in last or r.attempt > oldest or r.end > since]
    start = min((row.start for row in kept), default=step)
    progress.memory[RECENT] = {
        "step": step,
        "episodes": [{**asdict(row), "outcomes": dict(row.outcomes)} for row in kept],
        "hints": [list(hint) for hint in known.hints if hint[1] > oldest or hint[0] >= start],
    }


def check(progress: AgentProgress) -> _Recent:
    """Return what was noted in progress.

    Raises:
        ProgressError: If it is damaged.
    """
    try:
        recent = typed(_Recent, progress.memory[RECENT])
    except ValueError as error:
        raise ProgressError(f"this progress is damaged: {RECENT}: {error}") from None
    numbers = [row.attempt for row in recent.episodes] + [hint[1] for hint in recent.hints]
    if not all(number <= len(progress.decisions) + 1 for number in numbers):
        raise ProgressError(f"this progress is damaged: {RECENT}: there are not so many attempts")
    whole = [recent.step, *(row.sequence for row in recent.episodes)]
    if not all(0 <= number <= MOST for number in whole):
        raise ProgressError(f"this progress is damaged: {RECENT}: a number is too large or small")
    return recent


def load_windows(
    history: History, progress: AgentProgress, curriculum: DevelopmentalCurriculum
) -> int:
    """Continue a history where an agent's progress ends.

    Returns:
        The number of the last episode that is remembered, or 0.

    Raises:
        ProgressError: If what was noted is damaged.
    """
    if RECENT not in progress.memory:
        return 0
    recent = check(progress)
    known = history.of(progress.agent_id)
    for number, decision in enumerate(progress.decisions, start=1):
        aimed = curriculum.step(decision.step).target_coords is not None
        known.begin(Attempt(number, decision.step, None, aimed, 0, 0, decision.episodes))
    # The attempt that was broken off starts again, with the same number: what was played for it
    # counts for windows of episodes and steps, and for no attempt.
    decided = len(progress.decisions)
    for row in recent.episodes:
        row.attempt = row.attempt if row.attempt <= decided else 0
        known.add(row)
    hints = [(at, number if number <= decided else 0, slot) for at, number, slot in recent.hints]
    history.step = max(history.step, recent.step)
    known.hints += hints
    return max((row.sequence for row in known.episodes), default=0)
