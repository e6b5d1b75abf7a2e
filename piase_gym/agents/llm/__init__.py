"""Language models as agents: prompts, the client, budgets, recorded replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.agents.llm.agent import LLMAgent
    from piase_gym.agents.llm.budget import Budget, Usage
    from piase_gym.agents.llm.caller import ModelCaller
    from piase_gym.agents.llm.client import Client, Failure, Reply
    from piase_gym.agents.llm.prompt import Prompt
    from piase_gym.agents.llm.replies import Replies, ReplyFile, replies_of
    from piase_gym.agents.llm.vision import VisionModel

__all__ = [
    "Budget",
    "Client",
    "Failure",
    "LLMAgent",
    "ModelCaller",
    "Prompt",
    "Replies",
    "Reply",
    "ReplyFile",
    "Usage",
    "VisionModel",
    "replies_of",
]

__getattr__, __dir__ = lazy(__name__)
