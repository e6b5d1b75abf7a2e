"""What explorers keep: the record of one agent, and what all of them share."""

from __future__ import annotations

from typing import Any, TypedDict

from piase_gym.core.commands import InvalidAction
from piase_gym.core.models import MailMessage, SharedMemory
from piase_gym.memory import Embedder, FaissMemory


class Record(TypedDict):
    """The record of one agent, `agent_shared` of the explorer document.

    `memory` and `failure` are not in the document: `memory_index` and `memory_texts` are parts of
    `memory`, and `failure` says why there is no action. `action_history` has a dict for each step:
    ``step, position, action, reason, message_to_others, status``.
    """

    agent_id: str
    shared_memory: dict[str, Any]
    perception: Any
    memory: FaissMemory
    memory_index: Any
    memory_texts: list[str]
    position: Any
    rotation: Any
    step_count: int
    visible_objects: list[str]
    visible_caption: str
    retrieved_memories: list[tuple[str, float]]
    other_agent_messages: list[MailMessage]
    action: str | None
    action_reason: str
    message_to_others: str
    failure: InvalidAction | None
    explored_objects: set[str]
    action_history: list[dict[str, Any]]


def new_shared_memory(max_steps: int | None = None) -> dict[str, Any]:
    """Return an empty shared memory.

    Args:
        max_steps: After how many steps `UpdateMemoryNode` ends; by default the document's 20.
    """
    empty = SharedMemory(
        objects=set(), agent_positions={}, message_mailboxes={}, message_history=[]
    )
    return {**empty, **({} if max_steps is None else {"max_steps": max_steps})}


def new_record(
    agent_id: str,
    perception: Any,
    shared_memory: dict[str, Any] | None = None,
    embedder: str | Embedder | None = None,
) -> Record:
    """Return a new record for an agent.

    Args:
        agent_id: Its name.
        perception: A `PerceptionInterface`, over a world or of your own.
        shared_memory: What it shares with others.
        embedder: What turns its memories into vectors; see `FaissMemory`.

    Raises:
        MissingExtraError: If the extra `memory` is missing.
    """
    memory = FaissMemory(embedder)
    return Record(
        agent_id=agent_id,
        shared_memory=new_shared_memory() if shared_memory is None else shared_memory,
        perception=perception,
        memory=memory,
        memory_index=memory.index,
        memory_texts=memory.texts,
        position=0,
        rotation=None,
        step_count=0,
        visible_objects=[],
        visible_caption="",
        retrieved_memories=[],
        other_agent_messages=[],
        action=None,
        action_reason="",
        message_to_others="",
        failure=None,
        explored_objects=set(),
        action_history=[],
    )
