"""The referee: what a step is worth, which agents it ends, and what is announced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from piase_gym.core.commands import Outcome
from piase_gym.core.world import StepResult, shared
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.rules import tasks
from piase_gym.worlds.physics_playground.simulation import Arena
from piase_gym.worlds.physics_playground.state import EndReason, PlayState


@dataclass
class Step:
    """A step under way; lists have one entry per slot.

    Attributes:
        playing: Whether each agent was in play when it began.
        outcomes: What became of each command.
        notes: Further infos by agent number.
    """

    playing: list[bool]
    outcomes: list[Outcome]
    notes: dict[int, dict[str, Any]] = field(default_factory=dict)

    def note(self, agent: int) -> dict[str, Any]:
        """Return the notes about an agent."""
        return self.notes.setdefault(agent, {})


class Referee:
    """Judges the steps of one episode.

    Args:
        play: The state; the referee notes in it which agents have ended, what is placed and which
            milestones were reached.
        config: The rewards and limits.
        arena: The arena to judge.
    """

    def __init__(self, play: PlayState, config: PhysicsPlaygroundConfig, arena: Arena) -> None:
        self.play, self.config, self.arena = play, config, arena
        self._hunt = config.task == "keep_away"

    def begin(self) -> None:
        """Note how things stand: at the start, and when the scene was changed from outside."""
        self.play.togo, self.play.placed = self.arena.togo, self.arena.standing

    def announce(self, agent: int, name: str, step: Step) -> None:
        """Note a milestone, the first time that an agent reaches it."""
        mark = f"{agent}/{name}"
        if mark not in self.play.milestones:
            self.play.milestones.append(mark)
            step.note(agent).setdefault("milestones", []).append(name)

    def judge(self, step: Step) -> StepResult:
        """Return the result of a step, and update which agents are in play."""
        rewards = self._rewards(step)
        self._end(step, rewards)
        play = self.play
        now = play.status
        terminated = [was and now[i] != "playing" for i, was in enumerate(step.playing)]
        truncated = [False] * len(now)
        if play.t >= self.config.max_steps:
            for agent in (i for i, status in enumerate(now) if status == "playing"):
                now[agent], truncated[agent] = "lost", True
                step.note(agent)["reason"] = EndReason.TIME_OUT
        if self.config.shared_reward:
            rewards = shared(rewards, _numbers(step.playing))
        ended = True in terminated or True in truncated
        return StepResult(rewards, terminated, truncated, step.outcomes, ended, step.notes)

    def _rewards(self, step: Step) -> list[float]:
        """Return what the step is worth to each agent, without the reward for its end."""
        play, table = self.play, self.config.rewards
        togo, placed = self.arena.togo, self.arena.standing
        gained = placed - play.placed
        worth = gained * (table.placed if gained > 0 else -table.taken)
        rewards = [0.0] * len(step.playing)
        for agent in _numbers(step.playing):
            reward = table.step + worth + table.progress * (play.togo[agent] - togo[agent])
            if step.outcomes[agent] not in _TRIED:
                reward += table.illegal
            if self._hunt:
                reward += table.kept if tasks.role(agent) == "keeper" else -table.kept
            rewards[agent] = reward
            if gained > 0:
                self.announce(agent, "placed", step)
        play.togo, play.placed = togo, placed
        return rewards

    def _end(self, step: Step, rewards: list[float]) -> None:
        """End the agents that have won or lost by the rules."""
        table = self.config.rewards
        for agent, won in self._ends(_numbers(step.playing)).items():
            self.play.status[agent] = "won" if won else "lost"
            rewards[agent] += table.done if won else table.lost
            reason = EndReason.TASK_DONE if won else EndReason.OUTPLAYED
            step.note(agent)["reason"] = reason
            if won:
                self.announce(agent, "done", step)

    def _ends(self, everybody: list[int]) -> dict[int, bool]:
        """Return which agents end by the rules now, and whether they have won."""
        play, config = self.play, self.config
        if config.task == "reach":
            return {i: True for i in everybody if play.togo[i] <= config.tolerance}
        if self._hunt:
            caught = self.arena.caught
            if not caught and play.t < config.hold_steps:
                return {}
            return {i: (tasks.role(i) == "chaser") == caught for i in everybody}
        done = 0 < tasks.total(play, config) <= play.placed
        return dict.fromkeys(everybody, True) if done else {}

    def stop(self, step: Step) -> StepResult:
        """End an episode after its simulation has exploded."""
        self.play.reason = EndReason.EXPLODED.value
        for agent in _numbers(step.playing):
            self.play.status[agent] = "ended"
            step.note(agent)["reason"] = EndReason.EXPLODED
            step.note(agent)["feedback"] = "The simulation exploded, and the episode is over."
        rewards = [self.config.rewards.step if alive else 0.0 for alive in step.playing]
        nobody = [False] * len(step.playing)
        return StepResult(rewards, nobody, step.playing, step.outcomes, True, step.notes)


def _numbers(playing: Sequence[bool]) -> list[int]:
    """Return the numbers of the agents in play."""
    return [i for i, alive in enumerate(playing) if alive]


_TRIED = (Outcome.OK, Outcome.FAILED)
"""Outcomes of commands that were legal."""
