"""One step of an episode: agents act, time passes, letters arrive, others enter, and it may end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from piase_gym.core.commands import InvalidAction, Outcome
from piase_gym.core.mailbox import Letter, Mailboxes
from piase_gym.core.rng import Stream
from piase_gym.core.world import DecodedAction, StepResult, shared
from piase_gym.worlds.text_room.config import MAX_FEEDBACK, MAX_MESSAGE, TextRoomConfig
from piase_gym.worlds.text_room.rules import commands, ends
from piase_gym.worlds.text_room.rules.turn import Effect, Turn, resolve_names
from piase_gym.worlds.text_room.state import Plot, RoomState
from piase_gym.worlds.texts.letters import SYSTEM, post


@dataclass(frozen=True, slots=True)
class Episode:
    """What a step needs and changes.

    Attributes:
        config: The config.
        plot: The story.
        state: Its state, which changes.
        agents: Names of all agents.
        mailboxes: Where letters lie, which change.
        channel: The random stream of lost letters.
    """

    config: TextRoomConfig
    plot: Plot
    state: RoomState
    agents: tuple[str, ...]
    mailboxes: Mailboxes
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
    ends.pass_time(turn)
    _deliver(episode, turn)
    truncated = ends.judge(turn, config.max_steps)
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
    if "coming" in state.status:
        _admit(episode, notes)
    rewards = shared(turn.rewards, playing) if config.shared_reward else turn.rewards
    return StepResult(rewards, terminated, truncated, outcomes, bool(ended), notes)


def _act(turn: Turn, agent: int, plan: DecodedAction) -> Effect:
    """Let a command take effect, unless an event has ended the agent's part meanwhile."""
    if isinstance(plan, InvalidAction):
        return Effect(plan.outcome, plan.message)
    if plan is None or turn.state.status[agent] != "playing":
        return Effect(Outcome.FAILED, "It is over.")
    action = resolve_names(turn.plot, turn.agents, agent, plan)
    return ends.with_milestones(turn, action, commands.perform(turn, action))


def _reward_of_outcome(config: TextRoomConfig, outcome: Outcome) -> float:
    """Return the reward of a step with this outcome."""
    table = config.rewards
    if outcome is Outcome.OK:
        return table.step
    failed = outcome in (Outcome.FAILED, Outcome.TIMEOUT)
    return table.step + (table.failed if failed else table.illegal)


def _reward_of_end(config: TextRoomConfig, status: str) -> float:
    """Return the reward of who has won or lost by a condition."""
    return {"won": config.rewards.win, "lost": config.rewards.lose}.get(status, 0.0)


def _deliver(episode: Episode, turn: Turn) -> None:
    """Hand over what agents say, and what the system tells them."""
    mail = episode.mailboxes
    for letter in turn.letters:
        mail.send(*letter)
    mail.deliver(episode.channel)
    for agent, message in zip(episode.agents, episode.state.told, strict=True):
        if message is not None:
            post(mail, Letter(SYSTEM, agent, message[: 2 * MAX_MESSAGE]))


def _admit(episode: Episode, notes: dict[int, dict[str, Any]]) -> None:
    """Let agents in whose step has come, unless time is up or nobody is left in play."""
    state = episode.state
    if state.t >= episode.config.max_steps or "playing" not in state.status:
        return
    setups = episode.plot.story.agent_setup
    for agent, status in enumerate(state.status):
        if status == "coming" and setups[agent].join_at <= state.t:
            state.status[agent] = "playing"
            notes[agent] = {"joined": True}
