"""What tests of language models share: percepts, a key, and what two runs have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from piase_gym import runs
from piase_gym.agents import LLMAgent
from piase_gym.testing.model_server import ModelServer
from tests.helpers.percepts import percept_of

KEY = "sk-secret-0123456789"


def asked(server: ModelServer, **settings: Any) -> tuple[Any, LLMAgent]:
    """Return what an agent does in the first step of GridWorld, and the agent."""
    settings = {"retries": 1, "attempts": 2, "timeout": 5.0, **settings}
    agent = LLMAgent("small", server.base_url, **settings)
    agent.reset(3)
    agent.perceive(percept_of("GridWorld"))
    return agent.act(), agent


def evidence(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield all that two runs have to have in common."""
    for event in runs.read(path):
        data = dict(event["event_data"])
        if data.get("engine") == "end":
            del data["summary"]["seconds"]
        if event["event_type"] != "SIMULATION_CONTROL":
            yield event["agent_id"], event["event_type"], data
