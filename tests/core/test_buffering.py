"""The buffering rule against a model of it: any interleaving of submissions and closed ticks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piase_gym.core.commands import Command
from piase_gym.core.models import ActionCommand
from piase_gym.envs.parallel import parallel_env
from piase_gym.errors import ActionError, AgentError, ResetNeededError
from piase_gym.interfaces import AbstractEnvironment
from tests import probes

probes.register()

NAMES = [f"agent_{i}" for i in range(4)]


class Model:
    """The rule, word by word: a dict of what waits, over the parallel environment."""

    def __init__(self, world: str, config: dict[str, Any], seed: int) -> None:
        self.env = parallel_env(world, view="vector", **config)
        self.env.reset(seed=seed)
        self.waiting: dict[str, tuple[Command, float]] = {}
        self.results: dict[str, tuple[str, float]] = {}
        self.time = 0

    def submit(self, agent: str, command: Command, priority: float) -> None:
        self.waiting[agent] = command, priority
        if set(self.waiting) == set(self.env.agents):
            self.tick()

    def tick(self) -> None:
        names = self.env.world.agents
        ranks = [-self.waiting[n][1] if n in self.waiting else 0.0 for n in names]
        self.env.world.set_order(sorted(range(len(names)), key=lambda i: ranks[i]))
        noop = self.env.world.noop
        acts = {n: self.waiting[n][0] if n in self.waiting else noop for n in self.env.agents}
        _, rewards, _, _, infos = self.env.step(acts)
        self.results |= {n: (infos[n]["outcome"].status, rewards[n]) for n in acts}
        self.waiting.clear()
        self.time += 1


def choose(env: Any, agent: str, number: int) -> Command:
    """Return one of the grammar's commands, legal or not."""
    world = env.world
    commands = world.admissible(world.agents.index(agent)) or [world.noop]
    others = [Command("take", {"item_name": "key"}), Command("go", {"direction": "up"})]
    if world.name == "GridWorld":
        others = [world.command(0, i) for i in range(world.num_actions)]
    found: Command = [*commands, *others][number % (len(commands) + len(others))]
    return found


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["submit", "submit", "submit", "close", "close", "again", "ahead"]),
        st.integers(0, 3),
        st.integers(0, 40),
        st.sampled_from([None, 0.0, 1.0, -1.0, 0.5]),
    ),
    min_size=10,
    max_size=60,
)
WORLDS: dict[str, dict[str, Any]] = {
    "TextProbe": {"agents": 4, "items": 5, "join_at": (0, 1, 3), "slip": 0.4, "max_steps": 9},
    "GridWorld": {"agents": 4, "width": 3, "height": 3, "max_steps": 9},
}


@pytest.mark.parametrize("world", WORLDS)
@settings(max_examples=100)
@given(calls=CALLS, seed=st.integers(0, 5))
def test_any_interleaving_follows_the_rule(world: str, calls: Any, seed: int) -> None:
    model = Model(world, WORLDS[world], seed)
    interface = AbstractEnvironment(world, **WORLDS[world])
    interface.reset_environment(seed=seed)
    for kind, who, number, priority in calls:
        if kind == "submit":
            submit(model, interface, NAMES[who], number, priority)
        elif kind == "close" and model.env.agents:
            model.tick()
            interface.step(model.time - 1)
        elif kind == "again" and model.time:
            interface.step(number % model.time)
        elif kind == "ahead":
            with pytest.raises(ActionError, match="not open yet"):
                interface.step(model.time + 1 + number)
        assert interface.digest() == model.env.digest()
        assert (interface.agents, interface.time_step) == (model.env.agents, model.time)
        check_results(model, interface)


def submit(
    model: Model, interface: AbstractEnvironment, agent: str, number: int, priority: float | None
) -> None:
    """Submit through both, or see it refused."""
    command = choose(model.env, agent, number)
    given = ActionCommand(
        action_type=command.verb,
        parameters=dict(command.parameters),
        execution_priority=priority,
    )
    if agent not in model.env.agents:
        with pytest.raises((AgentError, ResetNeededError)):
            interface.apply_action_from_agent(agent, given)
        return
    before = model.time
    model.submit(agent, command, priority or 0.0)
    result = interface.apply_action_from_agent(agent, given)
    assert (result.status == "in_progress") == (model.time == before)


def check_results(model: Model, interface: AbstractEnvironment) -> None:
    """Everybody finds its last result, or that its command is in progress."""
    for agent in NAMES:
        result = interface.get_perceptual_data_for_agent(agent).last_action_result
        if agent in model.waiting:
            assert result is not None
            assert result["status"] == "in_progress"
        elif agent in model.results:
            assert result is not None
            found = (result["status"], result["rewards_obtained"]["reward"])
            assert found == model.results[agent]
        else:
            assert result is None
