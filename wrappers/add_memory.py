"""A memory of its own for each agent, and what it remembers at the end of every observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pettingzoo import ParallelEnv

from piase_gym.core.commands import Command, InvalidAction
from piase_gym.errors import AgentError, require_count, suggest
from piase_gym.memory import CachedEmbedder, Embedder, FaissMemory, memory_text, query_text
from piase_gym.wrappers.add_to_views import AddToViews, Line, Lines


class AddMemory(AddToViews):
    """Lets each agent remember every step, and shows it the memories nearest to what it sees.

    After each step an agent remembers where it was, what it saw, what it did and what it was told,
    in the words of the explorer document; a step that it already remembers word for word is not
    remembered again. Then it asks its memory about where it is and what it sees now. The memories
    found are added at the end: a text gets one line per memory, and a vector the closeness
    ``1 / (1 + distance)`` and the embedding of each (zeros where there are fewer).
    `piase_gym.parse_text` reads the text without these lines.

    Memories are private, and not part of snapshots; `FaissMemory.save` keeps them.

    Args:
        env: A ParallelEnv of one of our worlds, or a wrapper around one.
        k: How many memories an agent is shown.
        embedder: What turns texts into vectors; see `FaissMemory`.
        keep: Whether agents remember earlier episodes.

    Attributes:
        memories: The memory of each agent, by name.
        reasons: Why an agent does what it does next, by name; it is remembered with the step.

    Raises:
        MissingExtraError: If an extra is missing.
        ConfigError: If `k` is not a number from 1, or an observation is no vector or text of ours.

    Example:
        >>> import piase_gym
        >>> env = AddMemory(piase_gym.parallel_env("TextRoom", view="text", rooms=2), k=1)
        >>> observations, infos = env.reset(seed=0)
        >>> observations = env.step({"agent_0": 0})[0]
        >>> observations["agent_0"].splitlines()[-1][:12]
        'You remember'
    """

    def __init__(
        self,
        env: ParallelEnv[str, Any, Any],
        k: int = 3,
        embedder: str | Embedder | None = None,
        keep: bool = False,
    ) -> None:
        """Make the spaces, and an empty memory for each agent."""
        k = require_count("k is a number from 1", k)
        self.k, self.keep = k, keep
        self.embedder = CachedEmbedder(embedder)
        super().__init__(env, Lines(k, self.embedder))
        self.memories = {name: FaissMemory(self.embedder) for name in env.possible_agents}
        self.reasons: dict[str, str] = {}

    def memory(self, agent: str) -> FaissMemory:
        """Return an agent's memory.

        Raises:
            AgentError: If there is no such agent.
        """
        if agent not in self.memories:
            hint = suggest(agent, self.memories)
            raise AgentError(f"there is no agent {agent!r:.60}; {hint}")
        return self.memories[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode; memories are emptied unless they are kept."""
        self.reasons.clear()
        if not self.keep:
            for memory in self.memories.values():
                memory.clear()
        return super().reset(seed, options)

    def step(self, actions: Mapping[str, Any]) -> Any:
        """Let agents act, and remember it."""
        given = actions if isinstance(actions, Mapping) else {}  # the environment refuses others
        playing = [name for name in self.env.agents if name in given]
        before = {name: self._moment(name) for name in playing}
        deeds = {name: self._deed(name, actions[name]) for name in playing}
        observations, *rest = self.env.step(actions)
        for name, (position, seen, letters) in before.items():
            reason = self.reasons.pop(name, "")
            text = memory_text(position, seen, deeds[name], reason, letters)
            if text not in self.memories[name].texts:
                self.memories[name].add(text)
        return self._show_all(observations), *rest

    def readings(self, agent: str) -> list[Line]:
        """Return the memories that are nearest to what an agent sees now."""
        found = self.memories[agent].search(self.query(agent), self.k)
        return [("You remember", text, 1.0 / (1.0 + distance)) for text, distance in found]

    def query(self, agent: str) -> str:
        """Return what an agent asks its memory now: about its place and what it sees there."""
        base: Any = self.env.unwrapped
        facts, (position, seen, _) = base.facts(agent), self._moment(agent)
        caption = ", ".join(seen) or base.world.text(facts)
        return query_text(position, f"{caption}. {facts.hint}" if facts.hint else caption)

    def _moment(self, agent: str) -> tuple[Any, list[str], list[dict[str, Any]]]:
        """Return where an agent is, what it sees, and what it is told."""
        base: Any = self.env.unwrapped
        facts = base.facts(agent)
        around = base.world.surroundings(facts)
        names = list(dict.fromkeys(thing.name for thing in around.objects))
        return around.position, names, [letter._asdict() for letter in facts.messages]

    def _deed(self, agent: str, action: Any) -> str:
        """Return an action in words."""
        base: Any = self.env.unwrapped
        act = base.read_action(base.runner.number(agent), action)
        if isinstance(act, int):
            act = base.world.command(base.runner.number(agent), act)
        if isinstance(act, Command):
            return str(base.world.write(act))
        return f"say {action!r:.60}" if isinstance(act, InvalidAction) else "do nothing"
