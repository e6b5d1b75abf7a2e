"""What all agents together know, at the end of every observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pettingzoo import ParallelEnv

from piase_gym.core.models import SharedMemory
from piase_gym.core.shared_memory import SharedKnowledge
from piase_gym.memory import CachedEmbedder, Embedder
from piase_gym.wrappers.add_to_views import AddToViews, Line, Lines


class AddSharedMemory(AddToViews):
    """Shows every agent the shared memory of the explorer document, embedded for learners.

    It is hidden without this wrapper or ``shared_memory=True`` in the config, which needs no
    embedder. It holds what any agent has seen in the episode, where all agents in play are, the
    mailboxes, and all that was said. A text gets one line each for objects, positions and the last
    messages, and a vector gets their embeddings. `shared_memory` is the whole memory.

    Args:
        env: A ParallelEnv of one of our worlds, or a wrapper around one.
        embedder: What turns lines into numbers; by default hashed n-grams.

    Raises:
        ConfigError: If an observation is neither a vector nor a text of ours.
    """

    LETTERS = 5
    """How many of the last messages are shown."""

    def __init__(
        self, env: ParallelEnv[str, Any, Any], embedder: str | Embedder | None = None
    ) -> None:
        """Make the spaces."""
        super().__init__(env, Lines(3, CachedEmbedder(embedder)))
        self._knowledge = SharedKnowledge()

    @property
    def shared_memory(self) -> SharedMemory:
        """What all agents together know, as the explorer document describes it."""
        return self._knowledge.as_document(self.env.unwrapped.world.mailboxes)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode with an empty memory."""
        self._knowledge.clear()
        return super().reset(seed, options)

    def snapshot(self) -> dict[str, Any]:
        """Return the environment's snapshot, with what the agents have seen."""
        inner: Any = self.env
        return {**inner.snapshot(), "seen": self._knowledge.get_state()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot; one of an environment without this wrapper brings nothing seen."""
        inner: Any = self.env
        knowledge = SharedKnowledge()
        if isinstance(snapshot, Mapping) and "seen" in snapshot:
            knowledge.set_state(snapshot["seen"], self.env.possible_agents)
        inner.restore(snapshot)
        self._knowledge = knowledge

    def _show_all(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        """Note what the agents see, then show it to all of them."""
        base: Any = self.env.unwrapped
        for name in observations:
            self._knowledge.note(name, base.world.surroundings(base.facts(name)))
        return super()._show_all(observations)

    def readings(self, agent: str) -> list[Line]:
        """Return the lines, which are the same for every agent."""
        mail = self.env.unwrapped.world.mailboxes
        last = [] if mail is None else mail.history[-self.LETTERS :]
        places = [f"{name} at {place}" for name, place in self._knowledge.positions.items()]
        said = [f"{m['sender']} to {m['recipient']}: {m['message']}" for m in last]
        rows = {"Seen by anybody": self._knowledge.found, "Everybody's place": places, "Said": said}
        return [(before, "; ".join(words) or "nothing", 1.0) for before, words in rows.items()]
