"""The explorer of the explorer document: a small graph of nodes, a record for each agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.agents.explorer.deciding import Decider as Decider
    from piase_gym.agents.explorer.deciding import Decision as Decision
    from piase_gym.agents.explorer.deciding import PolicyDecider as PolicyDecider
    from piase_gym.agents.explorer.deciding import RuleDecider as RuleDecider
    from piase_gym.agents.explorer.flow import Flow as Flow
    from piase_gym.agents.explorer.flow import Node as Node
    from piase_gym.agents.explorer.nodes import CommunicationNode as CommunicationNode
    from piase_gym.agents.explorer.nodes import DecisionNode as DecisionNode
    from piase_gym.agents.explorer.nodes import ExecutionNode as ExecutionNode
    from piase_gym.agents.explorer.nodes import PerceptionNode as PerceptionNode
    from piase_gym.agents.explorer.nodes import RetrieveMemoryNode as RetrieveMemoryNode
    from piase_gym.agents.explorer.nodes import UpdateMemoryNode as UpdateMemoryNode
    from piase_gym.agents.explorer.nodes import explorer_flow as explorer_flow
    from piase_gym.agents.explorer.record import Record as Record
    from piase_gym.agents.explorer.record import new_record as new_record
    from piase_gym.agents.explorer.record import new_shared_memory as new_shared_memory

__getattr__, __dir__ = lazy(__name__)
