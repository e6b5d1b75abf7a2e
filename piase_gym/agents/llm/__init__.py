"""Language models as agents: prompts, the client, budgets, recorded replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.agents.llm.agent import LLMAgent as LLMAgent
    from piase_gym.agents.llm.budget import Budget as Budget
    from piase_gym.agents.llm.budget import Usage as Usage
    from piase_gym.agents.llm.caller import ModelCaller as ModelCaller
    from piase_gym.agents.llm.client import Client as Client
    from piase_gym.agents.llm.client import Failure as Failure
    from piase_gym.agents.llm.client import Reply as Reply
    from piase_gym.agents.llm.prompt import Prompt as Prompt
    from piase_gym.agents.llm.replies import Replies as Replies
    from piase_gym.agents.llm.replies import ReplyFile as ReplyFile
    from piase_gym.agents.llm.replies import replies_of as replies_of
    from piase_gym.agents.llm.vision import VisionModel as VisionModel

__getattr__, __dir__ = lazy(__name__)
