"""Partners: the agents that the caller does not play, in one environment or in a batch."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.base import Agent, BatchPercept, Percept, require_distinct
from piase_gym.agents.policy_registry import make_agent
from piase_gym.core.commands import MAX_LINE, Command, InvalidAction
from piase_gym.core.events import Events
from piase_gym.core.mailbox import EVERYONE
from piase_gym.core.rng import partner_seeds
from piase_gym.core.snapshot import DAMAGE
from piase_gym.core.world import Act, World
from piase_gym.envs.actions import any_out_of_range, decode_answer, to_indices
from piase_gym.errors import ActionError, AgentError, ConfigError, SnapshotError

if TYPE_CHECKING:  # it loads numba
    from piase_gym.worlds.array_world import ArrayWorld, Batch


def agent_number(names: Sequence[str], agent: object) -> int:
    """Return the number of an agent.

    Raises:
        AgentError: If there is no such agent.
    """
    if isinstance(agent, str) and agent in names:
        return names.index(agent)
    raise AgentError(f"there is no agent {agent!r}; agents are {', '.join(names)}")


Partners = Mapping[str, "str | Agent"] | str | Agent
"""Policies by agent, with ``"*"`` for all that are not named; or one policy, as for ``"*"``."""


def read_partners(partners: Partners | None) -> dict[str, str | Agent]:
    """Return partners by agent, where ``"*"`` stands for the others.

    Raises:
        ConfigError: If they are neither a policy nor a mapping.
    """
    if isinstance(partners, str | Agent):
        return {"*": partners}
    if not isinstance(partners, Mapping | None):
        kind = type(partners).__name__
        raise ConfigError(f"partners are a policy, or a mapping of agents to policies, not {kind}")
    return dict(partners or {})


def assign_partners(world: World[Any, Any], partners: Partners | None) -> dict[int, Agent]:
    """Return the agents that act as partners, by number, each with the id of its seat.

    Raises:
        AgentError: If a seat does not exist, or nobody is left to the caller.
        ConfigError: If the partners are not a mapping, or one agent object has several seats.
        UnknownNameError: If a policy does not exist.
    """
    given = read_partners(partners)
    if "*" in given:
        raise AgentError(
            f"partners={given['*']!r} for all leave no agent to the caller; name those whom they "
            f"play, such as partners={{{world.agents[-1]!r}: {given['*']!r}}}"
        )
    require_distinct(given.values())
    seats = {agent_number(world.agents, name): make_agent(who) for name, who in given.items()}
    if len(seats) == len(world.agents):
        raise AgentError("every agent is played by a partner; leave at least one to the caller")
    for number, agent in seats.items():
        agent.set_id(world.agents[number])
    return seats


def post_asides(agent: Agent, number: int, world: World[Any, Any], events: Events) -> None:
    """Send what an agent tells the others besides its action, and log its own lines."""
    name = world.agents[number]
    for event_type, data in agent.log_entries():
        if events.active:
            events.post("log", name, event_type=event_type, data=data)
    for other, words in agent.spoken():
        line = f"{name} says: {words}"
        world.give_hint(agent_number(world.agents, other), line)
        if events.active:
            events.post("hint", other, message=line)
    for text in agent.outgoing_letters():
        if world.mailboxes is not None and text.strip() and world.may_say(number):
            letter = world.mailboxes.send(name, EVERYONE, text[:MAX_LINE])
            if events.active:
                events.post("send", name, own=False, **letter._asdict())


class BatchPartners:
    """The partners of one batch. They act, but do not learn.

    Attributes:
        agents: Agent number -> the agent that plays it in every environment.
    """

    def __init__(
        self, world: ArrayWorld[Any, Any], num_envs: int, partners: Partners | None
    ) -> None:
        """Seat the partners; those without `Agent.act_batch` are looped over, with a warning.

        Raises:
            AgentError: If a seat does not exist, or nobody is left to the caller.
            ConfigError: If the partners are not a mapping.
            UnknownNameError: If a policy does not exist.
        """
        self._world, self._num_envs = world, num_envs
        self._noop = int(world.commands.index(world.noop))
        self.agents = assign_partners(world, partners)
        self._loops = {
            number: [copy.deepcopy(agent) for _ in range(num_envs)]
            for number, agent in self.agents.items()
            if not agent.acts_in_batches
        }
        for number in self._loops:
            if self.agents[number].of_scenario:
                continue
            warnings.warn(
                f"{type(self.agents[number]).__name__} has no act_batch and is asked once an "
                "environment",
                UserWarning,
                stacklevel=4,
            )

    @property
    def look(self) -> bool:
        """Whether some are asked once per environment, and may look at it as at a world."""
        return bool(self._loops)

    def ask(
        self,
        acts: NDArray[np.int32],
        batch: Batch,
        at: Callable[[int], World[Any, Any]],
        events: Events,
    ) -> list[tuple[int, str, str]]:
        """Fill in what the partners do, and log the lines of those asked once per environment.

        Args:
            acts: Indices of commands, shape (envs, agents of the world); changed in place.
            batch: The arrays, in their present state.
            at: Returns a world in the state of one environment.
            events: The bus of the batch; lines have the number of their environment as ``slot``.

        Returns:
            What they tell others besides acting: environment, agent, words.
        """
        states, spoken = batch.states, list[tuple[int, str, str]]()
        names = self._world.agents
        steps = states["t"].astype(np.int64)
        for number, agent in self.agents.items():
            seeds = partner_seeds(states["seed"], number)
            if number not in self._loops:
                shown, masks = batch.obs[:, number], batch.masks[:, number]
                percept = BatchPercept(shown, masks, seeds, steps, self._noop)
                acts[:, number] = self._checked(number, agent, agent.act_batch(percept))
                continue
            acts[:, number] = self._noop
            goes_on = states["over"] == 0
            for slot in (goes_on & (steps == 0)).nonzero()[0].tolist():
                self._loops[number][slot].reset(int(seeds[slot]))  # also if it enters later
            playing = (states["alive"][:, number] != 0) & goes_on
            for slot in playing.nonzero()[0].tolist():
                single, step, agent = at(slot), int(steps[slot]), self._loops[number][slot]
                agent.perceive(Percept(single, number, step))
                answer, name = decode_answer(single, number, agent.act()), names[number]
                for event_type, data in agent.log_entries():
                    if events.active:
                        given = {**data, "slot": slot}
                        events.post("log", name, event_type=event_type, data=given)
                acts[slot, number] = self._index(number, answer)
                spoken += [
                    (slot, other, f"{name} says: {words}") for other, words in agent.spoken()
                ]
        return spoken

    def get_state(self) -> dict[str, list[dict[str, Any]]]:
        """Return the states of the partners by agent: one an environment, or one for them all."""
        names, loops = self._world.agents, self._loops
        rows = {n: loops.get(n, [agent]) for n, agent in self.agents.items()}
        found = {n: [agent.get_state() for agent in row] for n, row in rows.items()}
        return {names[n]: row for n, row in found.items() if any(row) or n in loops}

    def read_state(self, state: object) -> dict[int, list[Agent]]:
        """Return agents in the states that `get_state` returned, for `take_state`.

        Those that act in batches are left out where the snapshot has no state of theirs.

        Raises:
            SnapshotError: If they do not fit.
        """
        found: dict[int, list[Agent]] = {}
        states: Any = {} if state is None else state
        try:
            for number, agent in self.agents.items():
                if (name := self._world.agents[number]) in states or number in self._loops:
                    found[number] = copy.deepcopy(self._loops.get(number, [agent]))
                    for twin, own in zip(found[number], states[name], strict=True):
                        twin.set_state(own)
        except DAMAGE as error:
            message = f"the partners' part of this snapshot is damaged: {error!r:.100}"
            raise SnapshotError(message) from None
        return found

    def take_state(self, found: dict[int, list[Agent]]) -> None:
        """Use the agents that `read_state` returned, or their states."""
        for number, agents in found.items():
            if number in self._loops:
                self._loops[number] = agents
            else:
                self.agents[number].set_state(agents[0].get_state())

    def _checked(self, number: int, agent: Agent, answers: Any) -> NDArray[Any]:
        """Return what a partner does in every environment.

        Raises:
            ActionError: If it is not an index for each of them.
        """
        world = self._world
        who = f"{type(agent).__name__}, which plays {world.agents[number]},"
        try:
            given = to_indices(answers, (self._num_envs,))
        except ActionError as error:
            raise ActionError(f"{who} answers wrongly: {error}") from None
        if any_out_of_range(given, world.num_actions):
            stray = given[(given < 0) | (given >= world.num_actions)][0]
            raise ActionError(
                f"{who} answers with action {stray}; actions are integers from 0 to "
                f"{world.num_actions - 1}"
            )
        return given

    def _index(self, number: int, act: Act) -> int:
        """Return the index of an act; indices are what a batch takes.

        Raises:
            ActionError: If it is a line or a command that stands for none.
        """
        world = self._world
        if act is None:
            return self._noop
        if isinstance(act, InvalidAction) and self.agents[number].waits:
            return self._noop  # a language model's answer that could not be read, or did not come
        if isinstance(act, int):
            return act
        if isinstance(act, Command) and act in world.commands:
            return world.commands.index(act)
        who = f"{type(self.agents[number]).__name__}, which plays {world.agents[number]},"
        reason = (
            act.message
            if isinstance(act, InvalidAction)
            else f"{act} is not in the table of commands"
        )
        raise ActionError(f"{who} answers with what no index of a batch stands for: {reason}")
