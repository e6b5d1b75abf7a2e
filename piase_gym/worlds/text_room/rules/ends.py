"""The passing of time, milestones that every story has, and who has won or lost."""

from __future__ import annotations

from collections.abc import Sequence

from piase_gym.core.commands import Outcome
from piase_gym.worlds.text_room.rules import triggers
from piase_gym.worlds.text_room.rules.conditions import holds
from piase_gym.worlds.text_room.rules.turn import NOBODY, Effect, ResolvedCommand, Turn
from piase_gym.worlds.text_room.state import Plot, RoomState, StoryCondition


def with_milestones(turn: Turn, command: ResolvedCommand, effect: Effect) -> Effect:
    """Note the milestones of every story that a command has reached; returns its effect."""
    if effect.outcome is not Outcome.OK:
        return effect
    if command.verb == "read":
        triggers.reach(turn, command.agent, "first_text_read")
    if effect.feedback.startswith("You unlock"):
        triggers.reach(turn, command.agent, "first_lock_opened")
    if " and find the " in effect.feedback:
        triggers.reach(turn, command.agent, "first_find")
    return effect


def pass_time(turn: Turn) -> None:
    """Let one step pass: bodies change, and events that wait for the step happen."""
    state = turn.state
    state.t += 1
    for agent, name, amount in turn.plot.stat_rates:
        if state.status[agent] == "playing":
            triggers.change_stat(state, agent, name, amount)
    turn.happen("step_reached", NOBODY, state.t)
    triggers.settle(turn)


def judge(turn: Turn, max_steps: int) -> list[bool]:
    """End the episode for whoever has won, lost or run out of time.

    Returns:
        For each agent, whether it has run out of time.
    """
    plot, state = turn.plot, turn.state
    together = plot.story.ends == "together"
    common = _verdict(plot, state, None) if together else None
    if common is not None or not together:
        for agent in [k for k, status in enumerate(state.status) if status == "playing"]:
            verdict = common if together else _verdict(plot, state, agent)
            if verdict is not None:
                state.status[agent] = "won" if verdict else "lost"
    late = [False] * len(state.status)
    if state.t >= max_steps:
        late = [status == "playing" for status in state.status]
        state.status = ["lost" if status == "playing" else status for status in state.status]
    if not together:
        _drop_everything(plot, state)
    return late


def _verdict(plot: Plot, state: RoomState, agent: int | None) -> bool | None:
    """Return True for a win, False for a loss, ``None`` for neither."""
    enough = any if plot.story.win_logic == "any" else all
    wins = _hold(plot, state, plot.wins, agent)
    if wins and enough(wins):
        return True
    return False if any(_hold(plot, state, plot.losses, agent)) else None


def _hold(
    plot: Plot, state: RoomState, aims: Sequence[StoryCondition], agent: int | None
) -> list[bool]:
    """Tell of each condition that says something about an agent whether it holds."""
    return [
        holds(plot, state, condition, agent)
        for condition, named in aims
        if agent is None or named is None or named == agent
    ]


def _drop_everything(plot: Plot, state: RoomState) -> None:
    """Leave what agents carried in the room where they ended."""
    hands = len(plot.rooms) + len(plot.objects)
    for k, place in enumerate(state.place):
        holder = place - hands
        if holder >= 0 and state.status[holder] not in ("playing", "coming"):
            state.place[k] = state.rooms[holder]
