"""Simulated learners: the real world and the real curriculum, and a learner of known skill.

At each step, with the probability of its skill, the learner does what the world's oracle does, or
else something legal at random. So a curriculum can be tried out in seconds, before anything is
trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from piase_gym.agents import make_agent
from piase_gym.agents.base import Action, Agent, act_all
from piase_gym.core.rng import Stream, check_seed, partner_seed
from piase_gym.core.world import World
from piase_gym.curricula.directors import check_share
from piase_gym.curricula.learning_path import EpisodeCountsAt, LearningPath
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.envs.actions import decode_answer
from piase_gym.envs.partners import assign_partners
from piase_gym.errors import AgentError, ConfigError, require_count
from piase_gym.simulation.setup import make_env

CHOICE, CHANCE = 2000, 2001
"""Streams of the seed: whether to follow the oracle, and what is done at random."""


class SkilledLearner(Agent):
    """Plays the world's oracle with some probability per step, else a legal action at random.

    Args:
        skill: The probability, from 0 to 1.
        learning: The share of what is still missing that each episode adds to the skill.
        seed: The seed of everything random.

    Attributes:
        skill: The current probability.
    """

    def __init__(self, skill: float, learning: float = 0.0, seed: int = 0) -> None:
        """Check the numbers.

        Raises:
            ConfigError: If one is not from 0 to 1.
        """
        super().__init__()
        self.skill = check_share("skill", skill)
        self.learning = check_share("learning", learning)
        self._oracle = make_agent("oracle")
        self._choice, self._chance = Stream(seed, CHOICE), Stream(seed, CHANCE)

    def perceive(self, percept: Any) -> None:
        """Perceive, and let the oracle perceive the same."""
        super().perceive(percept)
        self._oracle.perceive(percept)

    def act(self) -> Action:
        """Do what the oracle does, or something legal."""
        assert self.percept is not None
        if self._choice.uniform() < self.skill:
            return self._oracle.act()
        commands = self.percept.commands
        return commands[self._chance.integer(len(commands))]

    def improve(self) -> None:
        """Raise the skill after an episode."""
        self.skill += self.learning * (1.0 - self.skill)


@dataclass(frozen=True)
class SimulationResult:
    """The result of a simulation.

    Attributes:
        path: The path through the curriculum.
        episodes: How many episodes were played.
        steps: How many environment steps.
        skill: The learner's skill at the end.
    """

    path: LearningPath
    episodes: int
    steps: int
    skill: float


def simulate(
    curriculum: DevelopmentalCurriculum,
    skill: float,
    *,
    world: str | None = None,
    config: Mapping[str, Any] | None = None,
    learning: float = 0.0,
    seed: int = 0,
    director: Any = None,
    most: int = 2000,
) -> SimulationResult:
    """Send a learner of some skill through a curriculum; the same seed gives the same path.

    Other agents are the curriculum's partners, or play as the oracle does.

    Args:
        curriculum: The curriculum.
        skill: The learner's probability of doing what the oracle does.
        world: The world, if the curriculum names none.
        config: Fields of the world's config.
        learning: What each episode adds to the skill, as a share of what is missing.
        seed: The seed of everything.
        director: What chooses the next step; by default the curriculum's own rules.
        most: The largest number of episodes; a curriculum without an end is broken off there.

    Raises:
        ConfigError: If a number is not allowed, or there is no world.
    """
    from piase_gym.wrappers.curriculum import CurriculumWrapper

    require_count("the number of episodes is 1 or more", most)
    check_seed(seed)
    fields = base_fields(curriculum, config, world)
    bare = make_env(world_of(curriculum, world), None, None, fields)
    learner = SkilledLearner(skill, learning, seed)
    agent = agent_of(curriculum, bare.possible_agents)
    others = _others(curriculum, bare.unwrapped.world, agent)
    env = CurriculumWrapper(bare, {agent: curriculum}, director=director, seed=seed)
    path = LearningPath(agent, curriculum.name, "environment steps")
    path.names = {step.order: step.name for step in curriculum.steps}
    episodes = steps = 0
    while episodes < most and env.progress[agent].active:
        before = env.controller.counts[agent].copy()
        steps += _episode(env, {agent: learner, **others}, seed if episodes == 0 else None)
        episodes += 1
        learner.improve()
        played = env.controller.counts[agent].since(before)
        won = {order: played.won[order] for order in played.counted}
        path.episode_counts.append(EpisodeCountsAt(steps, played.counted, won))
        for decision in env.decisions[len(path.moves) :]:
            path.add(steps, decision)
    path.outcome = env.progress[agent].outcome
    if env.controller.director.per_slot:
        path.drawn = dict(env.progress[agent].step_episodes)
    env.close()
    return SimulationResult(path, episodes, steps, learner.skill)


def _episode(env: Any, players: Mapping[str, Agent], seed: int | None) -> int:
    """Play one episode, and return its number of steps."""
    env.reset(seed=seed)
    runner, count = env.unwrapped.runner, 0
    for name, player in players.items():
        player.reset(partner_seed(runner.seed, runner.world.agents.index(name)))
    while env.agents:
        given = act_all(env.unwrapped, players, count)
        seat = runner.world.agents.index
        env.step({n: decode_answer(runner.world, seat(n), act) for n, act in given.items()})
        count += 1
    return count


def _others(
    curriculum: DevelopmentalCurriculum, world: World[Any, Any], agent: str
) -> dict[str, Agent]:
    """Return who plays the agents that are not the learner.

    Raises:
        AgentError: If a partner's seat does not exist.
        PolicyError: If a partner is a model that cannot be loaded without trust.
    """
    made = {name: make_agent(who, trusted=False) for name, who in curriculum.partners.items()}
    participants = assign_partners(world, made)
    return {
        name: participants[number] if number in participants else make_agent("oracle")
        for number, name in enumerate(world.agents)
        if name != agent
    }


def world_of(curriculum: DevelopmentalCurriculum, world: str | None) -> str:
    """Return the world to play in.

    Raises:
        ConfigError: If nobody says which.
    """
    chosen = world or curriculum.world
    if chosen is None:
        raise ConfigError(f"{curriculum.source} names no world; give one with --world")
    return chosen


def base_fields(
    curriculum: DevelopmentalCurriculum,
    config: Mapping[str, Any] | None = None,
    world: str | None = None,
) -> dict[str, Any]:
    """Return the config fields with which to make an environment for a curriculum.

    By default the number of agents is that of the first step, so that all of them exist.
    """
    fields = dict(config or {})
    first = curriculum.steps[0].fields_in(curriculum.base(world_of(curriculum, world)).world)
    if "agents" in first:
        fields.setdefault("agents", first["agents"])
    return fields


def agent_of(curriculum: DevelopmentalCurriculum, agents: Any) -> str:
    """Return the agent that a curriculum is for: the one that it names, else the first.

    Raises:
        AgentError: If the one that it names is not there.
    """
    names = list(agents)
    wanted = curriculum.agent or names[0]
    if wanted not in names:
        raise AgentError(f"{curriculum.source} is for {wanted!r}; agents are {', '.join(names)}")
    return str(wanted)
