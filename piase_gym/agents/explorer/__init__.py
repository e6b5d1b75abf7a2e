"""The explorer of the explorer document: a small graph of nodes, a record for each agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.agents.explorer.deciding import Decider, Decision, PolicyDecider, RuleDecider
    from piase_gym.agents.explorer.flow import Flow, Node
    from piase_gym.agents.explorer.nodes import (
        CommunicationNode,
        DecisionNode,
        ExecutionNode,
        PerceptionNode,
        RetrieveMemoryNode,
        UpdateMemoryNode,
        explorer_flow,
    )
    from piase_gym.agents.explorer.record import Record, new_record, new_shared_memory

__all__ = [
    "CommunicationNode",
    "Decider",
    "Decision",
    "DecisionNode",
    "ExecutionNode",
    "Flow",
    "Node",
    "PerceptionNode",
    "PolicyDecider",
    "Record",
    "RetrieveMemoryNode",
    "RuleDecider",
    "UpdateMemoryNode",
    "explorer_flow",
    "new_record",
    "new_shared_memory",
]

__getattr__, __dir__ = lazy(__name__)
