"""Seats of a simulation, and who sits there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.agents import NoopAgent
from piase_gym.core.rng import partner_seed
from piase_gym.errors import AgentError, ConfigError
from piase_gym.simulation.agent_manager import AgentManager, AgentStatus
from tests import probes
from tests.helpers.counting_agent import Counts

probes.register()


NAMES = ("ann", "bob")


def test_seats_are_taken_and_left() -> None:
    manager = AgentManager(NAMES, {"bob": "noop"})
    assert isinstance(manager.agents["bob"], NoopAgent)
    assert manager.agents["bob"].get_id() == "bob"
    assert type(manager.agents["ann"]).__name__ == "RandomAgent"
    assert manager.active(["ann", "bob"]) == {0: manager.agents["ann"], 1: manager.agents["bob"]}
    active, left = AgentStatus.ACTIVE, AgentStatus.LEFT
    manager.move("bob", AgentStatus.SUSPENDED, (active,))
    assert list(manager.active(["ann", "bob"])) == [0]
    assert list(manager.active(["bob"])) == []
    with pytest.raises(AgentError, match="agent 'bob' is suspended; it must be active to become l"):
        manager.move("bob", left, (active,))
    with pytest.raises(AgentError, match="there is no agent 'eve'"):
        manager.move("eve", left, (active,))
    manager.begin(5)
    assert set(manager.status.values()) == {active}
    assert manager.states()["ann"] == {"seed": partner_seed(5, 0)}
    agent = NoopAgent()
    assert manager.seat("ann", agent) is agent
    assert type(AgentManager(NAMES, None).agents["bob"]).__name__ == "RandomAgent"
    assert type(AgentManager(NAMES, "noop").agents["bob"]) is NoopAgent
    with pytest.raises(ConfigError, match="one agent object cannot play several seats"):
        AgentManager(NAMES, NoopAgent())
    with pytest.raises(ConfigError, match="one agent object cannot play several seats"):
        AgentManager(NAMES, dict.fromkeys(("ann", "bob"), agent))
    with pytest.raises(ConfigError, match="one agent object cannot play several seats"):
        manager.seat("bob", agent)
    assert manager.seat("ann", agent) is agent
    with pytest.raises(AgentError, match="there is no agent 'eve'"):
        AgentManager(NAMES, {"eve": "noop"})


def test_agents_are_configured_by_their_scenario() -> None:
    class Keeps(Counts):
        def configure(self, config: Any) -> None:
            self.seen.append(config)

    manager = AgentManager(("ann",), {"ann": Keeps()})
    setup: Any = SimpleNamespace(agent_id="ann", initial_agent_config={"a": 1})
    setup.prompt_reference = "calm"
    stranger: Any = SimpleNamespace(agent_id="eve", initial_agent_config={"a": 1})
    stranger.prompt_reference = None
    bare: Any = SimpleNamespace(agent_id="ann", initial_agent_config={}, prompt_reference=None)
    manager.configure([setup, stranger, bare])
    assert manager.agents["ann"].seen == [{"a": 1, "prompt_reference": "calm"}]  # type: ignore[attr-defined]
