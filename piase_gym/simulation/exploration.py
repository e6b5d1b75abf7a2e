"""Explorers of the explorer document, as a team in one place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from piase_gym.agents.base import Agent
from piase_gym.agents.explorer import (
    Decider,
    Flow,
    PolicyDecider,
    Record,
    RuleDecider,
    explorer_flow,
    new_record,
    new_shared_memory,
)
from piase_gym.agents.explorer.deciding import begin_episode
from piase_gym.agents.explorer.flow import END
from piase_gym.agents.llm.agent import LLMAgent
from piase_gym.agents.policy_registry import make_agent
from piase_gym.core.rng import partner_seed
from piase_gym.errors import AgentError, ConfigError, ResetNeededError, require_count
from piase_gym.interfaces.perception_interface import WorldPerceptionInterface
from piase_gym.memory import CachedEmbedder, Embedder
from piase_gym.runs.recording import record
from piase_gym.simulation.team_map import TeamMap
from piase_gym.worlds.texts.wording import counted

RULES = "rules"
ASKED = {"answer": "yaml", "messages": True}
"""How a language model that is given by name alone is asked: as in the explorer document."""
AnyDecider = str | Agent | Decider
"""Who decides: ``rules``, the name of a policy, an agent, or a decider of your own."""
MakeFlow = Callable[[str, Decider], Flow]
"""Returns the graph of an agent, given its name and its decider."""


@dataclass(frozen=True)
class Findings:
    """The results of an exploration.

    Attributes:
        seed: The effective seed; the same explorers with this seed repeat the exploration.
        steps: Steps of the world.
        over: Whether the world's episode is over, and the explorers did not merely stop.
        objects: The names of the objects that they saw.
        messages: How many messages they sent.
        returns: Sum of rewards of each agent.
        measures: What the world measures of the team, such as `objects_found`; for the first agent.
    """

    seed: int
    steps: int
    over: bool
    objects: tuple[str, ...]
    messages: int
    returns: Mapping[str, float]
    measures: Mapping[str, float]

    def __str__(self) -> str:
        """Return the results as a few lines."""
        found = f" ({', '.join(self.objects)})" if self.objects else ""
        measured = ", ".join(f"{name} {value:.3g}" for name, value in self.measures.items())
        returns = ", ".join(f"{name} {value:.3g}" for name, value in self.returns.items())
        end = "the episode is over" if self.over else "the explorers stopped"
        lines = [
            f"{counted(self.steps, 'step')} with seed {self.seed}; {end}",
            f"objects seen: {len(self.objects)}{found}",
            f"messages: {self.messages}; returns: {returns}",
        ]
        return "\n".join([*lines, measured] if measured else lines)


class Exploration:
    """A team of explorers in one place, step by step.

    Args:
        place: A world, an id or a config; an environment of your own, of any of the documents'
            interfaces; or one of these interfaces over a world.
        decide: Who decides: ``rules``, the name of a policy such as ``llm:MODEL@URL``, an `Agent`
            or a `Decider` for one agent; or a mapping of agents to these, where ``"*"`` stands for
            the others, which otherwise follow rules.
        flow: Makes the graph of each agent, ``flow(agent_id, decide)``; default `explorer_flow`.
        seed: Seed of the episode.
        steps: After how many steps the explorers end; by default when the episode does.
        embedder: What turns memories into vectors; see `FaissMemory`.
        log: Where to write a PiaAVT log.
        config: Fields of the world's config, such as `agents` and `backend`.

    Attributes:
        env: The place, a `PerceptionInterface`.
        records: Each explorer's record.
        flows: Each explorer's graph.
        shared_memory: What they share; `message_mailboxes` and `message_history` are brought up to
            date after each step.
        map: What the team has seen, as a map.

    Raises:
        MissingExtraError: If the extra `memory` is missing.
        ConfigError, AgentError, UnknownNameError: Each says what is wrong.

    Example:
        >>> team = Exploration("ObjectSearch", backend="mock", agents=2, seed=3)
        >>> findings = team.run()
        >>> findings.steps, findings.measures["objects_found"]
        (20, 1.0)
    """

    def __init__(
        self,
        place: Any = "ObjectSearch",
        decide: AnyDecider | Mapping[str, AnyDecider] = RULES,
        *,
        flow: MakeFlow | None = None,
        seed: int | None = None,
        steps: int | None = None,
        embedder: str | Embedder | None = None,
        log: str | os.PathLike[str] | None = None,
        **config: Any,
    ) -> None:
        rule = "steps are a number from 1"
        self._seed, self._steps = seed, None if steps is None else require_count(rule, steps)
        self._make_flow: MakeFlow = flow or (lambda _agent_id, decide: explorer_flow(decide))
        self._embedder = CachedEmbedder(embedder)
        self.records: dict[str, Record] = {}
        self.flows: dict[str, Flow] = {}
        self.deciders: dict[str, Decider] = {}
        self.shared_memory = new_shared_memory()
        self._at: dict[str, str] = {}
        self._begun = False
        whole = isinstance(place, WorldPerceptionInterface) and not config
        self.env = place if whole else WorldPerceptionInterface(place, **config)
        with ExitStack() as opened:
            if not whole:
                opened.callback(self.env.close)
            self._decide = _by_agent(decide, self.env.possible_agents)
            self.map = TeamMap(self.env)
            self.recorder = None if log is None else record(self.env, log)
            opened.pop_all()

    # -- an episode -----------------------------------------------------------------------

    def initialize(self, seed: int | None = None) -> None:
        """Begin an episode, with empty memories.

        Args:
            seed: Its seed; by default that of the exploration, then seeds that follow from it.
        """
        given, self._seed = self._seed if seed is None else seed, None
        self.env.reset(given)
        limit = self._steps or int(self.env.get_environment_info()["max_steps"])
        self.shared_memory = new_shared_memory(limit)
        self.records, self.flows, self._at = {}, {}, {}
        for name in self.env.possible_agents:
            self.records[name] = new_record(name, self.env, self.shared_memory, self._embedder)
            self.deciders[name] = decider = self._decider(name)
            self.flows[name] = self._make_flow(name, decider)
            self._at[name] = self.flows[name].start
        self.map = TeamMap(self.env)
        self.map.draw()
        self._begun = True
        self._keep_up()

    def _decider(self, name: str) -> Decider:
        """Return the decider of an agent for the episode that begins."""
        decide, env = self._decide[name], self.env
        if decide is None:
            turns = env.get_agent_state(name)["rotation"] is not None
            steers = turns and env.runner.spec.scripted is not None
            return RuleDecider(PolicyDecider(make_agent("scripted")) if steers else None)
        decider = PolicyDecider(decide) if isinstance(decide, Agent) else decide
        begin_episode(decider, partner_seed(env.seed or 0, env.world.agents.index(name)))
        return decider

    @property
    def agents(self) -> dict[str, Agent]:
        """The agents that decide for explorers, such as language models."""
        return {name: who for name, who in self._decide.items() if isinstance(who, Agent)}

    # -- a step ---------------------------------------------------------------------------

    @property
    def exploring(self) -> list[str]:
        """The agents that are in play and have not ended."""
        return [name for name in self.env.agents if self._at[name] != END]

    def step(self) -> bool:
        """Let every agent perceive, decide and act once, and take note of the results.

        Returns:
            Whether any agent goes on.
        """
        if not self._begun:
            self.initialize()
        team, step = self.exploring, self.env.time_step
        if not team:
            return False
        self._walk(team)
        if self.env.time_step == step:  # those who have ended do nothing
            self.env.engine.close_tick(step)
        self._walk([name for name in team if self._at[name] not in (END, self.flows[name].start)])
        self.map.draw()
        self._keep_up()
        return bool(self.exploring)

    def _walk(self, team: list[str]) -> None:
        """Let agents go on, node by node, until they have acted, finished a round, or ended."""
        while team:
            for name in team:
                self.flows[name].nodes[self._at[name]].begin(self.records[name])
            left = []
            for name in team:
                flow, at = self.flows[name], self._at[name]
                self._log(name, shows=flow.nodes[at].acts)
                self._at[name] = flow.step(at, self.records[name])
                self._log(name)
                if not flow.nodes[at].acts and self._at[name] not in (END, flow.start):
                    left.append(name)
            team = left

    def _log(self, name: str, shows: bool = False) -> None:
        """Post an agent's lines for logs: a model's replies, and the reason for its next action."""
        found, events = self.records[name], self.env.events
        tellers = self.deciders[name], *self.flows[name].nodes.values()
        drains = [who.log_entries for who in tellers if hasattr(who, "log_entries")]
        entries = [entry for drain in drains for entry in drain()]
        if not events.active:
            return
        for event_type, data in entries:
            events.post("log", name, event_type=event_type, data=data)
        if shows:
            state = {
                "reason": found["action_reason"],
                "explored_objects": sorted(found["explored_objects"]),
                "retrieved_memories": [text for text, _ in found["retrieved_memories"]],
            }
            events.post("state", name, state=state)

    def _keep_up(self) -> None:
        """Bring the shared memory's mail up to date."""
        memory = self.env.shared_memory
        self.shared_memory["message_mailboxes"] = memory["message_mailboxes"]
        self.shared_memory["message_history"] = memory["message_history"]

    # -- as a whole -----------------------------------------------------------------------

    def run(self) -> Findings:
        """Explore to the end, and complete the log.

        Raises:
            ClosedError: If the exploration is closed, as it is after a run.
        """
        self.env.runner.require_open()
        try:
            while self.step():
                pass
            return self.findings()
        finally:
            self.close()

    def findings(self) -> Findings:
        """Return the results so far.

        Raises:
            ResetNeededError: Before the first episode.
        """
        if not self._begun:
            raise ResetNeededError("no episode has begun; call initialize() first")
        env = self.env
        names, agents = env.engine.records, {*env.world.agents}
        objects = self.shared_memory["objects"] - agents
        return Findings(
            seed=env.seed or 0,
            steps=env.time_step,
            over=env.engine.over,
            objects=tuple(sorted(objects)),
            messages=len(self.shared_memory["message_history"]),
            returns={name: names[name].total for name in names},
            measures=dict(env.world.measure(0)),
        )

    def close(self) -> None:
        """Complete the log, and release what the place holds."""
        if self.recorder is not None:
            self.recorder.finish()
        self.env.close()


def _by_agent(
    decide: AnyDecider | Mapping[str, AnyDecider], names: list[str]
) -> dict[str, Agent | Decider | None]:
    """Return who decides for each agent; ``None`` stands for rules.

    Raises:
        AgentError: If one is named that there is not.
        ConfigError: If somebody is to decide for several, or cannot decide.
    """
    given = decide if isinstance(decide, Mapping) else {"*": decide}
    for name in given:
        if name not in names and name != "*":
            raise AgentError(f"there is no agent {name!r:.60}; agents are {', '.join(names)}")
    found = {name: _decider_of(name, given.get(name, given.get("*", RULES))) for name in names}
    known = [id(who) for who in found.values() if who is not None]
    if len({*known}) < len(known):
        raise ConfigError("one agent or decider cannot decide for several; name one for each")
    return found


def _decider_of(name: str, who: object) -> Agent | Decider | None:
    """Return who decides for one agent."""
    if who == RULES:
        return None
    if isinstance(who, str):
        agent = make_agent(who)
        if isinstance(agent, LLMAgent):
            agent.configure(ASKED)
        agent.set_id(name)
        return agent
    if isinstance(who, Agent | Decider):
        return who
    kind = type(who).__name__
    raise ConfigError(
        f"who decides for {name} is {RULES!r}, a policy, an Agent or a Decider, not {kind}"
    )
