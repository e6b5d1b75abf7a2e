"""What a script does after each step: its conditions, events, rewards and ends.

It does so for many environments at once; a single world is a batch of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import Result
from piase_gym.core.limits import MOST_STEPS
from piase_gym.core.script import models
from piase_gym.core.script.conditions import Compiled, any_of, combine, compile_condition
from piase_gym.core.script.responses import STIRRING, DueEvent, Respond, prepare
from piase_gym.core.script.run import ScriptRun
from piase_gym.core.script.turn import Changes, Mask, StepArrays, any_agent, count_agents

MOST_ROUNDS = 20
"""The most rounds in one step in which events may set each other off."""


def after_step(run: ScriptRun, turn: StepArrays) -> Changes:
    """Do what follows from a step; this changes the turn and the states of the world."""
    if run.compiled is None:
        run.compiled = _compile(run)
    states = run.states
    run.take_step(turn)
    steps = states["t"]
    steps += any_agent(turn.played)
    touched, ended, settings = np.zeros((3, len(states)), np.bool_)
    changes = Changes(np.zeros(turn.played.shape, np.bool_), touched, ended, settings)
    _note_milestones(run, turn.milestones)
    _shape(run, turn)
    reward, returns = states["reward"], states["returns"]
    reward[...] = turn.rewards
    returns += turn.rewards
    rounds = 0
    while rounds < MOST_ROUNDS and _happen(run, rounds == 0, changes):
        rounds += 1
    _judge(run, changes)
    if changes.any:
        returns += turn.rewards - reward
        reward[...] = turn.rewards
    return changes


def _note_milestones(run: ScriptRun, reached: Mapping[str, Mask]) -> None:
    for number, name in enumerate(run.milestones):
        if name in reached:
            run.states["reached"][:, number] |= reached[name]


def _shape(run: ScriptRun, turn: StepArrays) -> None:
    """Pay for facts that have grown; a first look pays nothing."""
    for number, row in enumerate(run.script.shaping):
        now = np.broadcast_to(run.value(row.fact, row.of), turn.played.shape)
        last = run.states["potential"][:, number]
        paid = np.where(run.states["t"][:, None] > 1, row.weight * (now - last), 0.0)
        if turn.entered is not None:
            paid = np.where(turn.entered, 0.0, paid)
        if row.agent_id is not None:
            paid = paid * [[name == row.agent_id for name in run.agents]]
        turn.rewards += np.where(turn.played, paid, 0.0)
        run.states["potential"][:, number] = np.where(turn.played, now, last)


def _happen(run: ScriptRun, first: bool, changes: Changes) -> bool:
    """Let the events that are due happen; return whether they may set off others."""
    again, played = False, run.turn.played
    for number, event in enumerate(run.compiled.events):
        now = event.condition.holds() & played
        if event.on == "holds":
            due = now if first else None
        elif event.on == "becomes":
            due = now & ~event.held
        else:
            due = event.held & ~now & played
        event.held[...] = now
        if due is not None and np.count_nonzero(due):
            again |= _set_off(run, number, event, due, changes)
    return again


def _set_off(run: ScriptRun, number: int, event: _Event, due: Mask, changes: Changes) -> bool:
    """Count what is due, respond as often as allowed; return whether that may stir others."""
    fired, own, limited = event.fired, event.condition.own, event.most < MOST_STEPS
    if event.nth > 1:
        counts = event.counts
        counts += due
        due = due & (counts % event.nth == 0)
    total: NDArray[Any]
    times: NDArray[Any]
    if own:
        if limited:  # the subjects cause it one after the other
            due = due & (fired[:, None] + np.cumsum(due, 1) <= event.most)
        total = count_agents(due)
    else:
        total = any_agent(due)
        if limited:
            total &= fired < event.most
    (envs,) = total.nonzero()
    if not envs.size:
        return False
    fired += total
    played = run.turn.played[envs]
    if own:
        times = due[envs].astype(np.int64)
        row, agent = times.nonzero()
        rows = np.stack([envs[row], agent], 1)
    else:  # it happens once, whomever it is about
        times, rows = played, np.empty((len(envs), 2), np.int64)
        rows[:, 0], rows[:, 1] = envs, -1
    changes.happened.append((number, rows))
    found = DueEvent(envs, times, total, played, run.agents)
    for respond in event.responses:
        respond(found, changes)
    return event.stirs


def _judge(run: ScriptRun, changes: Changes) -> None:
    """End the episode of agents that have won, and of agents that have lost."""
    script, turn = run.script, run.turn
    _, wins, losses = run.compiled
    if wins is not None:
        won = wins.holds() & turn.played & ~turn.terminated
        if won.any():
            turn.rewards += script.win_reward * won
            for name, goal in run.goals.items():
                turn.rewards += goal.reward * won * [[name == agent for agent in run.agents]]
            run.finish(won, Result.WON, changes)
    if losses is not None:
        lost = losses.holds() & turn.played & ~turn.terminated
        if lost.any():
            turn.rewards += script.lose_reward * lost
            run.finish(lost, Result.LOST, changes)
    if run.has_tasks and np.count_nonzero(turn.truncated):
        run.world.finish(turn.states, turn.truncated & turn.played, Result.LOST)


# -- a script as functions --------------------------------------------------------------


class _Event(NamedTuple):
    """An event, ready to happen: its condition, its responses, and its part of the states.

    Attributes:
        condition: When it happens.
        on: When it happens in relation to the condition; see `models.Event`.
        nth: Only every nth time counts.
        most: How often it may happen in an episode.
        responses: What it does.
        stirs: Whether other events may happen in the same step because of it.
        held: For whom the condition held in the last step.
        fired: How often it has happened.
        counts: How often it was due.
    """

    condition: Compiled
    on: str
    nth: int
    most: float
    responses: tuple[Respond, ...]
    stirs: bool
    held: Mask
    fired: NDArray[Any]
    counts: NDArray[Any]


class CompiledScript(NamedTuple):
    """The events, and the conditions of winning and of losing."""

    events: list[_Event]
    wins: Compiled | None
    losses: Compiled | None


def _compile(run: ScriptRun) -> CompiledScript:
    """Return the events and ends of a script as functions."""
    script = run.script
    return CompiledScript(
        [_prepared(run, number, event) for number, event in enumerate(script.events)],
        _ends(run, script.win_conditions, script.win_logic, "win_conditions"),
        _ends(run, script.lose_conditions, "any", "lose_conditions"),
    )


def _prepared(run: ScriptRun, number: int, event: models.Event) -> _Event:
    """Return an event with everything that is computed once."""
    states = run.states
    return _Event(
        condition=compile_condition(event.when, run),
        on=event.on,
        nth=event.count,
        most=event.most,
        responses=tuple(prepare(response, run) for response in event.response),
        stirs=any(isinstance(response, STIRRING) for response in event.response),
        held=states["held"][:, number].view(np.bool_),
        fired=states["fired"][:, number],
        counts=states["counts"][:, number],
    )


def _ends(run: ScriptRun, conditions: Sequence[Any], logic: str, own: str) -> Compiled | None:
    """Return the condition of having won, or lost: by the common conditions or one's own."""
    found = []
    if conditions:
        common = combine([compile_condition(c, run) for c in conditions], logic)
        found.append(any_of(run, common) if run.script.ends == "together" else common)
    for name, goal in run.goals.items():
        if theirs := [compile_condition(c, run) for c in getattr(goal, own)]:
            found.append(combine([combine(theirs, "any"), _is(run, name)], "all"))
    return combine(found, "any") if found else None


def _is(run: ScriptRun, name: str) -> Compiled:
    """Return the condition that the subject is an agent."""
    who = np.array([[agent == name for agent in run.agents]])
    return Compiled(lambda: who, True)
