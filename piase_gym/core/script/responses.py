"""What events do: each response as a function of who caused it, prepared once for a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import Result
from piase_gym.core.script import models
from piase_gym.core.script.run import ScriptRun
from piase_gym.core.script.turn import Changes, Mask

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(eq=False)
class DueEvent:
    """An event that happens in a step, in some environments.

    Attributes:
        envs: Those environments.
        times: How often each agent caused it, shape (envs of it, agents); for an event that nobody
            caused, whether the agent took part in the step.
        total: How often it happened, for all environments.
        played: Which agents took part in the step.
        agents: The names of the agents.
    """

    envs: NDArray[np.int64]
    times: NDArray[Any]
    total: NDArray[Any]
    played: Mask
    agents: tuple[str, ...]
    _pairs: dict[str | None, Pairs] = field(default_factory=dict)

    def whom(self, name: str | None) -> NDArray[Any]:
        """Return how often a response is for each agent, shape (envs of it, agents).

        `name` is whom the response names; ``None`` stands for those who caused the event.
        """
        if name is None or (name == "all" and self.times is self.played):
            return self.times
        total: NDArray[Any] = self.total[self.envs, None].astype(np.int64)
        if name == "all":
            return total * self.played
        if name == "others":
            return np.asarray(np.maximum(total - self.times, 0) * self.played)
        return np.asarray(total * [[agent == name for agent in self.agents]])

    def pairs(self, name: str | None) -> Pairs:
        """Return environments and agents that a response is for, however often."""
        if name not in self._pairs:
            row, agents = self.whom(name).nonzero()
            self._pairs[name] = self.envs[row], agents
        return self._pairs[name]


Respond = Callable[[DueEvent, Changes], None]


def prepare(response: Any, run: ScriptRun) -> Respond:
    """Return the function that carries out a response."""
    return _PREPARE[type(response)](response, run)


def _message(response: models.Message, run: ScriptRun) -> Respond:
    number, notes = run.messages.index(response) + 1, run.states["note"]

    def respond(due: DueEvent, changes: Changes) -> None:
        envs, agents = due.pairs(response.agent_id)
        notes[envs, agents] = number
        changes.told[envs, agents] = True

    return respond


def _set_flag(response: models.SetFlag, run: ScriptRun) -> Respond:
    flags = run.states["flags"][:, run.flags.index(response.flag_name)]

    def respond(due: DueEvent, changes: Changes) -> None:
        flags[due.pairs(response.agent_id)] = response.value

    return respond


def _log(response: models.LogMilestone, run: ScriptRun) -> Respond:
    name = response.milestone_name
    reached = run.states["reached"][:, run.milestones.index(name)]

    def respond(due: DueEvent, changes: Changes) -> None:
        envs, agents = due.pairs(response.agent_id)
        new = reached[envs, agents] == 0
        reached[envs, agents] = 1
        found = changes.reached.setdefault(name, np.zeros(run.turn.played.shape, np.bool_))
        found[envs[new], agents[new]] = True

    return respond


def _reward(response: models.GiveReward, run: ScriptRun) -> Respond:
    def respond(due: DueEvent, changes: Changes) -> None:
        run.turn.rewards[due.envs] += response.amount * due.whom(response.agent_id) * due.played

    return respond


def _metric(response: models.AddMetric, run: ScriptRun) -> Respond:
    metrics = run.states["metrics"][:, run.script.metrics.index(response.metric)]

    def respond(due: DueEvent, changes: Changes) -> None:
        metrics[due.envs] += response.amount * due.whom(response.agent_id)

    return respond


def _setting(response: models.ChangeSetting, run: ScriptRun) -> Respond:
    settings = run.states["settings"][:, run.script.settings.index(response.setting)]
    number = run.changes.index(response) + 1

    def respond(due: DueEvent, changes: Changes) -> None:
        settings[due.envs] = number
        changes.settings[due.envs] = True

    return respond


def _spawn(response: models.SpawnObject, run: ScriptRun) -> Respond:
    return lambda due, changes: run.change_world(run.world.spawn, response, due.envs, changes)


def _remove(response: models.RemoveObject, run: ScriptRun) -> Respond:
    return lambda due, changes: run.change_world(run.world.remove, response, due.envs, changes)


def _end(response: models.End, run: ScriptRun) -> Respond:
    result = Result(response.result)

    def respond(due: DueEvent, changes: Changes) -> None:
        who = np.zeros(run.turn.played.shape, np.bool_)
        who[due.pairs(response.agent_id)] = True
        run.finish(who & run.playing, result, changes)

    return respond


_PREPARE: Mapping[type[Any], Callable[[Any, ScriptRun], Respond]] = {
    models.Message: _message,
    models.SetFlag: _set_flag,
    models.LogMilestone: _log,
    models.GiveReward: _reward,
    models.AddMetric: _metric,
    models.ChangeSetting: _setting,
    models.SpawnObject: _spawn,
    models.RemoveObject: _remove,
    models.End: _end,
}
STIRRING = models.SetFlag, models.LogMilestone, models.SpawnObject, models.RemoveObject
"""Responses after which other conditions may hold in the same step."""
