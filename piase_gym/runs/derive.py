"""Derives the lines of a run that follow from states, commands and the results of steps.

`Recorder` writes these lines and `Verifier` compares a log with them; both use this module. What
is not derived comes from outside: seeds, commands, hints, letters, restored states, users' lines.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from piase_gym.core.commands import Command, InvalidAction
from piase_gym.core.world import StepResult, World
from piase_gym.runs.agent_lines import AgentEvent, goal_prefix, task_event
from piase_gym.runs.curriculum_goals import StepGoals
from piase_gym.runs.episode_record import EpisodeRecord
from piase_gym.runs.full import Observer, StepObservation
from piase_gym.runs.manifest import command_value
from piase_gym.runs.options import AgentTotals, Levels
from piase_gym.runs.schema import FULL, SCHEMA_VERSION, SYSTEM, environment, goal_of_result
from piase_gym.runs.targets import Targets

PRIORITY = 5
"""Initial priority of an episode's goal, on a scale from 0 to 10."""
PERCEPT = "PERCEPTION_INPUT_RECEIVED"
OBJECT = "ENVIRONMENT_STATE_CHANGED"


class Deriver:
    """Keeps track of a run, and derives the lines that follow from what happens in it.

    Lines are (agent, event type, `event_data`), in the order in which they are written; those that
    the levels exclude are left out.

    Attributes:
        world: The world; for a batch, the one that all slots share.
        agents: Its agents.
        levels: Which lines are wanted, by agent and component.
        schema: The version of the schema.
        step: Steps of the run so far.
        episodes: Episodes of the run so far, not counting void ones.
        targets: The targets that agents have to reach in their curriculum steps.
        step_goals: The goals that stand for agents' curriculum steps.
        seers: The agents whose perceptions are wanted.
        tells_objects: Whether changes of objects are wanted.
    """

    def __init__(
        self, world: World[Any, Any], levels: Levels, run_id: str, schema: int = SCHEMA_VERSION
    ) -> None:
        """Start with no episode."""
        self.levels, self.schema, self.wants = levels, schema, levels.wants
        self.step, self.episodes = 0, 0
        self.prefix = goal_prefix(run_id, schema)
        self.targets = Targets()
        self.step_goals = StepGoals(self.prefix, schema)
        self.messages = self.hints = self.void = 0
        self._goals: dict[int, str] = {}
        self.take_world(world)

    def take_world(self, world: World[Any, Any]) -> None:
        """Begin with a world, or go on with another one before the first episode."""
        self.world, self.agents = world, world.agents
        self.tallies = {name: AgentTotals() for name in self.agents}
        self.seers = [name for name in self.agents if self.wants(name, PERCEPT)]
        everything = self.levels.of(SYSTEM, environment(world.name)) == FULL
        self.tells_objects = everything and self.schema > 2
        self._described: Any = None

    @property
    def present(self) -> int:
        """The number of the present episode, for lines that belong to no particular one."""
        return max(0, self.episodes - 1)

    # -- episodes and their goals ---------------------------------------------------------

    def open_episode_record(
        self, old: EpisodeRecord | None, slot: int | None, seed: int, ns: int = 0
    ) -> EpisodeRecord:
        """Begin an episode after the previous one was closed; a void one passes on its number."""
        if old is not None and not old.begun:
            self.void += 1
            number = old.episode
        else:
            number, self.episodes = self.episodes, self.episodes + 1
        self.targets.again(slot or 0)
        return EpisodeRecord(self.agents, slot, number, seed, ns, self.step, self.prefix)

    def start_lines(self, record: EpisodeRecord) -> list[AgentEvent]:
        """Open the goals of the agents in play, in the first step of an episode."""
        record.begun = True
        found: list[AgentEvent] = []
        if self.wants(SYSTEM, "LEARNING_EPISODE_START"):
            data = {"seed": record.seed, "agents": list(record.names), **record.where}
            found.append((SYSTEM, "LEARNING_EPISODE_START", data))
        for agent in record.playing:
            found += self.goal_start_lines(record, agent)
        return found

    def goal_start_lines(self, record: EpisodeRecord, agent: int) -> list[AgentEvent]:
        """Return the lines that open the goal of an agent's episode."""
        name, goal = self.agents[agent], record.goal(agent)
        record.joined[agent] = self.step
        created = {
            "goal_id": goal,
            **({"initial_status": "ACTIVE"} if self.schema > 1 else {}),
            "description": self._description(agent),
            "type": "EXTRINSIC_TASK",
            "initial_priority": PRIORITY,
            **record.where,
        }
        activated = {"goal_id": goal, "reason": "the episode begins", **record.where}
        task = self._task(record, name, "GOAL_ACTIVATED", {"goal_id": goal})
        return [(name, "GOAL_CREATED", created), (name, "GOAL_ACTIVATED", activated), *task]

    def _description(self, agent: int) -> str:
        """Return the goal of an agent in words, under the present config."""
        if self._described is not self.world.config:
            self._described = self.world.config
            goals = self.world.manual.goals
            for number in range(len(self.agents)):
                self._goals[number] = goals(number) or f"take part in {self.world.name}"
        return self._goals[agent]

    def goal_end_lines(self, record: EpisodeRecord, agent: int, reason: str) -> list[AgentEvent]:
        """Return the lines that close the goal of an agent's episode.

        Args:
            record: The episode, with the rewards of all steps.
            agent: The agent's number.
            reason: ``won``, ``lost``, ``drawn``, ``ended``, or why it was broken off.
        """
        name, joined = self.agents[agent], record.joined.pop(agent)
        state = goal_of_result(reason, self.schema)
        total, steps = record.totals[agent], self.step - joined
        self.tallies[name].add(state, reason, total, steps)
        record.returns[name], record.lengths[name], record.results[name] = total, steps, reason
        change = {
            "goal_id": record.goal(agent),
            "old_state": "ACTIVE",
            "new_state": state,
            "reason": reason,
            "metrics": {"return": total, "steps": steps},
            **record.where,
        }
        # One analysis of the toolkit reads the first name, another the second.
        kinds = "GOAL_STATUS_CHANGED", "GOAL_STATE_CHANGED"
        task = self._task(record, name, kinds[0], change)
        return [*((name, kind, change) for kind in kinds), *task]

    def _task(
        self, record: EpisodeRecord, agent: str, event_type: str, data: Mapping[str, Any]
    ) -> list[AgentEvent]:
        """Return the task update that goes with a goal line."""
        if not self.wants(agent, "TASK_STATUS_UPDATE"):
            return []
        found = task_event(agent, event_type, data)
        if found is not None and self.schema > 1:
            found[2].update(record.where)
        return [] if found is None else [found]

    def report_lines(self, record: EpisodeRecord) -> list[AgentEvent]:
        """Return the report of an episode that is over."""
        if not self.wants(SYSTEM, "LEARNING_EPISODE_END"):
            return []
        data = {
            "seed": record.seed,
            "steps": self.step - record.start,
            "results": dict(record.results),
            "returns": dict(record.returns),
            "lengths": dict(record.lengths),
            **({"measures": dict(record.measures)} if record.measures else {}),
            **record.where,
        }
        return [(SYSTEM, "LEARNING_EPISODE_END", data)]

    def break_off_lines(self, record: EpisodeRecord | None, reason: str) -> list[AgentEvent]:
        """Close an episode that did not end by itself."""
        if record is None or not record.joined:  # there is none to break off
            return []
        found: list[AgentEvent] = []
        for agent in sorted(record.joined):
            found += self.goal_end_lines(record, agent, reason)
        found += self.report_lines(record)
        record.seat(())
        return found

    def seat_lines(self, record: EpisodeRecord, world: World[Any, Any]) -> list[AgentEvent]:
        """Close the goals of agents that ended, and open those of agents that entered."""
        alive = world.alive
        now = [i for i, playing in enumerate(alive) if playing]
        found: list[AgentEvent] = []
        for agent in [i for i in record.playing if not alive[i]]:
            name, measures = self.agents[agent], world.measured(agent)
            if measures:
                record.measures[name] = dict(measures)
            found += self.goal_end_lines(record, agent, record.results[name])
        for agent in [i for i in now if i not in record.joined]:
            found += self.goal_start_lines(record, agent)
        if not now:
            found += self.report_lines(record)
        if tuple(now) != record.playing:
            record.seat(now)
        return found

    # -- steps ----------------------------------------------------------------------------

    def step_data(
        self,
        record: EpisodeRecord,
        world: World[Any, Any],
        acts: Sequence[Any],
        result: StepResult,
        letters: Sequence[Mapping[str, Any]],
        digest: str,
    ) -> dict[str, Any]:
        """Return the data of a step line.

        Args:
            record: The episode, with the agents in play before the step.
            world: The world, after the step.
            acts: What every agent did.
            result: The result of the step.
            letters: The letters sent during the step.
            digest: The digest of the state after the step.
        """
        names, pick = record.names, record.pick
        played = pick(acts)
        try:
            commands = dict(zip(names, map(operator.index, played)))  # noqa: B905 - at every step
        except TypeError:
            commands = dict(zip(names, map(act_value, played), strict=True))
        rewards = record.no_rewards
        if any(result.rewards):
            rewards = dict(zip(names, map(float, pick(result.rewards)), strict=True))
        terminated = truncated = record.nobody
        if result.ended:
            terminated = dict(zip(names, map(bool, pick(result.terminated)), strict=True))
            truncated = dict(zip(names, map(bool, pick(result.truncated)), strict=True))
        data = {
            "kind": "step",
            "commands": commands,
            "outcomes": _outcomes(names, pick(result.outcomes)),
            "rewards": rewards,
            "terminated": terminated,
            "truncated": truncated,
            "digest": digest,
        }
        rare = result.ended or result.notes or letters or self.targets.given or record.submitted
        if rare or record.slot is not None:
            data |= self.more(record, world, result, letters)
        return data

    def more(
        self,
        record: EpisodeRecord,
        world: World[Any, Any],
        result: StepResult,
        letters: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        """Return the rarer entries of a step line."""
        more: dict[str, Any] = dict(record.where)
        names = self.agents
        if result.ended and record.slot is not None:
            more["results"] = self._results(record, world, result)
        for key in ("milestones", "events", "feedback", "fault") if result.notes else ():
            found = {names[i]: note[key] for i, note in result.notes.items() if note.get(key)}
            if found:
                more[key] = found
        if result.ended and record.slot is None:
            more["results"] = self._results(record, world, result)
        if self.targets.given:
            arrived = self.targets.reached(world, record.playing, record.slot or 0)
            if arrived:
                more["targets"] = arrived
        if letters:
            more["messages"] = list(letters)
        if record.submitted:
            more["submitted"] = dict(record.submitted)
        return more

    def _results(
        self, record: EpisodeRecord, world: World[Any, Any], result: StepResult
    ) -> dict[str, str]:
        """Return the result of each agent that ends in a step."""
        ended = [i for i in record.playing if result.terminated[i] or result.truncated[i]]
        results = {self.agents[i]: str(world.result(i)) for i in ended}
        record.results.update(results)
        return results

    # -- everything -----------------------------------------------------------------------

    def first_look(
        self, record: EpisodeRecord, world: World[Any, Any], steps: int
    ) -> list[AgentEvent]:
        """Return what agents perceive when an episode begins; nothing below level ``full``."""
        if not self.seers and not self.tells_objects:
            return []
        if self.schema < 3:
            return self.old_percepts(record, world, steps)
        record.observer = Observer(self.seers, self.agents)
        return _perceived(record.observer.look(world, steps), record.where)

    def full_lines(self, record: EpisodeRecord, told: StepObservation) -> list[AgentEvent]:
        """Return the lines of changed objects, and of what agents perceive after the changes."""
        objects: list[AgentEvent] = []
        if self.tells_objects:
            objects = [
                (SYSTEM, OBJECT, {"kind": "object", **change, **record.where})
                for change in told.objects
            ]
        return objects + _perceived(told.perceptions, record.where)

    def old_percepts(
        self, record: EpisodeRecord, world: World[Any, Any], steps: int
    ) -> list[AgentEvent]:
        """Return what agents perceive now, in the form used before schema version 3."""
        found: list[AgentEvent] = []
        vectors, texts = world.vectors(), not world.capabilities.batched
        slot = record.slot
        for name in (name for name in self.seers if name in record.names):
            number = self.agents.index(name)
            percept: dict[str, Any] = {"timestamp": float(steps)}
            percept["sensor_data"] = {"vector": vectors[number]}
            if slot is not None:
                percept["slot"] = slot
            elif texts:
                percept["visible_text"] = world.observation_text(number)
            if slot is None and world.hints[number] is not None:
                percept["agent_specific_data"] = {"hint": world.hints[number]}
            found.append((name, PERCEPT, percept))
        return found

    # -- the end --------------------------------------------------------------------------

    def summary(self, records: Sequence[EpisodeRecord | None], seconds: float) -> dict[str, Any]:
        """Return the summary of the run."""
        void = sum(record is not None and not record.begun for record in records)
        return {
            "steps": self.step,
            "episodes": self.episodes - void,
            "void_resets": self.void + void,
            "seconds": seconds,
            "messages": self.messages,
            "hints": self.hints,
            "agents": {name: tally.value(self.schema) for name, tally in self.tallies.items()},
        }


@functools.lru_cache(maxsize=4096)
def _outcomes(names: tuple[str, ...], outcomes: tuple[str, ...]) -> dict[str, str]:
    """Return outcomes by agent, as plain strings; callers must not change the dict."""
    return dict(zip(names, map(str.__str__, outcomes), strict=True))


def act_value(act: Any) -> Any:
    """Return an act in the form used in step lines."""
    if isinstance(act, Command):
        return command_value(act)
    if isinstance(act, InvalidAction):
        return {"misread": str(act.outcome), "message": act.message}
    return act if act is None else int(act)


def _perceived(
    perceptions: Mapping[str, Mapping[str, Any]], where: Mapping[str, Any]
) -> list[AgentEvent]:
    """Return the lines of perceptions, which are the fields of `core.models.PerceptionData`."""
    return [(name, PERCEPT, {**fields, **where}) for name, fields in perceptions.items()]
