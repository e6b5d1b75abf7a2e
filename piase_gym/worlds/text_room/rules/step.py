"""One step of an episode: agents act, time passes, letters arrive, others enter, and it may end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.mailbox import Mailbox, Message
from piase_gym.core.rng import Stream
from piase_gym.core.world import DecodedAction, StepResult, shared
from piase_gym.worlds.text_room.config import MAX_FEEDBACK, MAX_MESSAGE, TextRoomConfig
from piase_gym.worlds.text_room.observe.recall import remember
from piase_gym.worlds.text_room.rules import commands, events
from piase_gym.worlds.text_room.rules.conditions import holds
from piase_gym.worlds.text_room.rules.events import (
    NOBODY,
    Effect,
    ResolvedCommand,
    Turn,
    resolve_names,
)
from piase_gym.worlds.text_room.state import Plot, RoomState, StoryCondition
from piase_gym.worlds.texts.letters import SYSTEM


@dataclass(frozen=True, slots=True)
class Episode:
    """The data that a step needs and changes.

    Attributes:
        config: The config.
        plot: The story.
        state: Its state, which changes.
        agents: Names of all agents.
        mailboxes: The mailboxes, which change.
        channel: The random stream that decides which letters are lost.
    """

    config: TextRoomConfig
    plot: Plot
    state: RoomState
    agents: tuple[str, ...]
    mailboxes: Mailbox
    channel: Stream


def advance(episode: Episode, plans: Sequence[DecodedAction]) -> StepResult:
    """Let the agents in play act, then time pass, then letters arrive, then others enter."""
    state, config, slots = episode.state, episode.config, len(episode.agents)
    playing = [agent for agent in state.order if state.status[agent] == "playing"]
    outcomes = [Outcome.OK] * slots
    turn = Turn(episode.plot, state, episode.agents, [0.0] * slots)
    state.told = [None] * slots
    notes: dict[int, dict[str, Any]] = {}
    for agent in playing:
        effect = _act(turn, agent, plans[agent])
        outcomes[agent] = effect.outcome
        turn.rewards[agent] += _reward_of_outcome(config, effect.outcome)
        state.feedback[agent] = effect.feedback[:MAX_FEEDBACK]
        notes[agent] = {"feedback": state.feedback[agent]}
    pass_time(turn)
    _deliver(episode, turn)
    truncated = judge(turn, config.max_steps)
    for agent, reached in turn.milestones.items():
        notes.setdefault(agent, {})["milestones"] = reached
        turn.rewards[agent] += config.rewards.milestone * len(reached)
    ended = [agent for agent in playing if state.status[agent] != "playing"]
    terminated = [False] * slots
    for agent in ended:
        terminated[agent] = not truncated[agent]
        if terminated[agent]:
            turn.rewards[agent] += _reward_of_end(config, state.status[agent])
        if state.metrics:
            notes[agent]["metrics"] = dict(state.metrics)
    for agent in admit(episode.plot, state, config.max_steps):
        notes[agent] = {"joined": True}
    if config.recall == "map":
        remember(episode.plot, state)
    rewards = shared(turn.rewards, playing) if config.shared_reward else turn.rewards
    return StepResult(rewards, terminated, truncated, outcomes, bool(ended), notes)


def _act(turn: Turn, agent: int, plan: DecodedAction) -> Effect:
    """Carry out a command, unless an event has ended the episode for the agent meanwhile."""
    if isinstance(plan, InvalidAction):
        return Effect(plan.outcome, plan.message)
    if plan is None or turn.state.status[agent] != "playing":
        return Effect(Outcome.FAILED, "It is over.")
    action = resolve_names(turn.plot, turn.agents, agent, plan)
    return with_milestones(turn, action, commands.perform(turn, action))


def _reward_of_outcome(config: TextRoomConfig, outcome: Outcome) -> float:
    """Return the reward of a step with this outcome."""
    table = config.rewards
    if outcome is Outcome.OK:
        return table.step
    failed = outcome in (Outcome.FAILED, Outcome.TIMEOUT)
    return table.step + (table.failed if failed else table.illegal)


def _reward_of_end(config: TextRoomConfig, status: str) -> float:
    """Return the reward for ending with a status: 0 unless it is ``won`` or ``lost``."""
    return {"won": config.rewards.win, "lost": config.rewards.lose}.get(status, 0.0)


def _deliver(episode: Episode, turn: Turn) -> None:
    """Deliver the messages of the agents and of the system."""
    mail = episode.mailboxes
    for letter in turn.letters:
        mail.send(*letter)
    mail.deliver(episode.channel)
    for agent, message in zip(episode.agents, episode.state.told, strict=True):
        if message is not None:
            mail.post(Message(SYSTEM, agent, message[: 2 * MAX_MESSAGE]))


def successor(
    plot: Plot,
    state: RoomState,
    agents: tuple[str, ...],
    acts: Mapping[int, Command],
    max_steps: int,
    timed: bool = True,
) -> dict[int, Effect]:
    """Advance a state by a step in which agents act legally and no letter arrives.

    Args:
        plot: The story.
        state: The state, which changes.
        agents: Names of all agents.
        acts: What each agent does; the others wait.
        max_steps: The step at which time is up.
        timed: Whether time passes.

    Returns:
        The effect of each agent's command.
    """
    turn = Turn(plot, state, agents, [0.0] * len(agents))
    effects = {}
    for agent in state.order:
        if agent in acts and state.status[agent] == "playing":
            action = resolve_names(plot, agents, agent, acts[agent])
            effects[agent] = commands.perform(turn, action)
    if timed:
        pass_time(turn)
    judge(turn, max_steps)
    admit(plot, state, max_steps)
    return effects


def admit(plot: Plot, state: RoomState, max_steps: int) -> list[int]:
    """Let agents that are due enter, unless time is up or nobody is left in play."""
    if "coming" not in state.status or state.t >= max_steps or "playing" not in state.status:
        return []
    setups = plot.story.agent_setup
    entering = [
        agent
        for agent, status in enumerate(state.status)
        if status == "coming" and setups[agent].join_at <= state.t
    ]
    for agent in entering:
        state.status[agent] = "playing"
    return entering


def with_milestones(turn: Turn, command: ResolvedCommand, effect: Effect) -> Effect:
    """Note which milestones common to all stories a command has reached; return its effect."""
    if effect.outcome is not Outcome.OK:
        return effect
    if command.verb == "read":
        events.reach(turn, command.agent, "first_text_read")
    if command.verb in ("unlock", "use") and effect.feedback.startswith("You unlock"):
        events.reach(turn, command.agent, "first_lock_opened")
    if command.verb in ("search", "open") and " and find the " in effect.feedback:
        events.reach(turn, command.agent, "first_find")
    return effect


def pass_time(turn: Turn) -> None:
    """Let one step pass: bodies change, and events that wait for the step happen."""
    state = turn.state
    state.t += 1
    for agent, name, amount in turn.plot.stat_rates:
        if state.status[agent] == "playing":
            events.change_stat(state, agent, name, amount)
    turn.happen("step_reached", NOBODY, state.t)
    events.settle(turn)


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
    """Return for each condition that concerns an agent whether it holds."""
    return [
        holds(plot, state, condition, agent)
        for condition, named in aims
        if agent is None or named is None or named == agent
    ]


def _drop_everything(plot: Plot, state: RoomState) -> None:
    """Put down the items of agents that are done, in the rooms where they ended."""
    hands = len(plot.rooms) + len(plot.objects)
    for k, place in enumerate(state.place):
        holder = place - hands
        if holder >= 0 and state.status[holder] not in ("playing", "coming"):
            state.place[k] = state.rooms[holder]
