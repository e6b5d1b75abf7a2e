"""Agents, which choose actions: the protocol, and the policies that need no training here."""

from __future__ import annotations

from piase_gym.agents.base import Agent, BatchPercept, Feedback, Percept
from piase_gym.agents.human import HumanAgent
from piase_gym.agents.llm.agent import LLMAgent
from piase_gym.agents.policy_registry import make_agent, policies, register_family, register_policy
from piase_gym.agents.q_learning import QLearningAgent
from piase_gym.agents.simple import NoopAgent, OracleAgent, RandomAgent, ScriptedAgent

__all__ = [
    "Agent",
    "BatchPercept",
    "Feedback",
    "HumanAgent",
    "LLMAgent",
    "NoopAgent",
    "OracleAgent",
    "Percept",
    "QLearningAgent",
    "RandomAgent",
    "ScriptedAgent",
    "make_agent",
    "policies",
    "register_family",
    "register_policy",
]
