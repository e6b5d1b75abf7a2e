"""A script in one environment: from a step's lists to arrays, and back to a step and its notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from piase_gym.core.commands import Command, Outcome
from piase_gym.core.facts import DecodedAction, StepResult
from piase_gym.core.script.observables import row_of
from piase_gym.core.script.run import ScriptRun
from piase_gym.core.script.step import after_step
from piase_gym.core.script.turn import Changes, ScriptedWorld, StepArrays

_OUTCOMES = list(Outcome)


def play_script(
    world: ScriptedWorld,
    run: ScriptRun,
    result: StepResult,
    alive: Sequence[bool],
    plans: Sequence[DecodedAction],
) -> StepResult:
    """Let a script do its part after a step of a world that is not an array world.

    Args:
        world: The world.
        run: Its script.
        result: What the step did.
        alive: Which agents were in play before it.
        plans: What they did.
    """
    lines = [world.write(plan) if isinstance(plan, Command) else None for plan in plans]
    reached = {}
    for name in run.milestones:
        who = [name in result.notes.get(i, {}).get("milestones", ()) for i in range(len(alive))]
        reached[name] = np.array([who])
    turn = StepArrays(
        states=None,
        rewards=np.array([result.rewards], np.float64),
        terminated=np.array([result.terminated], np.bool_),
        truncated=np.array([result.truncated], np.bool_),
        played=np.array([alive], np.bool_),
        acts=row_of(lines),
        outcomes=np.array([[_OUTCOMES.index(Outcome(outcome)) for outcome in result.outcomes]]),
        milestones=reached,
    )
    changes = after_step(run, turn)
    gone = (turn.terminated | turn.truncated)[0]
    notes = carry_out(world, run, changes, result.notes, gone)
    rewards, terminated, truncated = (
        part[0].tolist() for part in (turn.rewards, turn.terminated, turn.truncated)
    )
    ended = any(terminated) or any(truncated)
    return StepResult(rewards, terminated, truncated, result.outcomes, ended, notes)


def carry_out(
    world: ScriptedWorld, run: ScriptRun, changes: Changes, notes: Any, ended: Any
) -> dict[int, dict[str, Any]]:
    """Apply what a script did to its world, and add it to the notes of the step.

    Args:
        world: The world.
        run: Its script.
        changes: What the script did.
        notes: The notes of the step.
        ended: Which agents ended in the step; their measures are noted.
    """
    if changes.settings.any():
        world.change_settings(run.settings())
    if changes.touched.any() or changes.ended.any():
        world.refresh()
    words = run.hints()
    for agent in np.flatnonzero(changes.told[0]).tolist():
        world.give_hint(agent, words[agent])
    found = {agent: dict(note) for agent, note in notes.items()}
    for number, rows in changes.happened:
        for agent in rows[:, 1].tolist():
            for one in range(len(world.agents)) if agent < 0 else (agent,):
                found.setdefault(one, {}).setdefault("events", []).append(run.names[number])
    for name, who in changes.reached.items():
        for agent in np.flatnonzero(who[0]).tolist():
            known = found.setdefault(agent, {}).get("milestones", ())
            found[agent]["milestones"] = [*known, name]
    for agent in np.flatnonzero(ended).tolist():
        if measures := run.measures(agent):
            found.setdefault(agent, {})["measures"] = measures
    return {agent: found[agent] for agent in sorted(found)}
