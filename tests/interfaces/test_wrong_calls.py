"""Bad input through the document interfaces: one clear error of our own, nothing has happened."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from piase_gym.core.commands import MAX_LINE
from piase_gym.core.models import ActionCommand
from piase_gym.errors import (
    ActionError,
    AgentError,
    ClosedError,
    ConfigError,
    EnvelopeError,
    GenerationError,
    PiaseError,
    ResetNeededError,
    UnknownNameError,
)
from piase_gym.interfaces import (
    AbstractEnvironment,
    BaseEnv,
    Environment,
    EnvironmentInterface,
    PerceptionInterface,
)
from tests import probes

probes.register()

INTERFACES: tuple[type[Any], ...] = (
    Environment,
    AbstractEnvironment,
    EnvironmentInterface,
    PerceptionInterface,
    BaseEnv,
)
every_interface = pytest.mark.parametrize("interface", INTERFACES)
by_command = pytest.mark.parametrize("interface", INTERFACES[:3])
START: dict[str, Any] = {"agents": 2, "start_pos": [(0, 0), (3, 3)], "goal_pos": (1, 0)}


def reset(env: Any, **kwargs: Any) -> None:
    """Start an episode through any environment."""
    getattr(env, "reset_environment", getattr(env, "reset", None))(**kwargs)


def submit(env: Any, agent: Any, command: Any) -> Any:
    """Submit a command as data through any of the first three environments."""
    for name in ("apply_action_from_agent", "submit_action", "step"):
        if hasattr(env, name):
            return getattr(env, name)(agent, command)
    raise AssertionError


def look(env: Any, agent: Any) -> Any:
    """Ask what an agent perceives, through any environment but BaseEnv."""
    for name in ("get_observation", "get_perceptual_data_for_agent", "get_perceptions"):
        if hasattr(env, name):
            return getattr(env, name)(agent)
    return env.get_agent_state(agent)


def fresh(interface: type[Any], **more: Any) -> Any:
    """Return two agents in a grid; agent_0 stands beside the goal."""
    env = interface("GridWorld", **{**START, **more})
    reset(env, seed=0)
    return env


def refuse(error: type[PiaseError], words: str, call: Callable[[], object]) -> None:
    """Check that a call raises an error of ours that holds the words."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert words in message
    assert len(message) < 1000


# -- made wrongly ----------------------------------------------------------------------------------


@every_interface
@pytest.mark.parametrize(
    ("args", "kwargs", "error", "words"),
    [
        (("GridWord",), {}, UnknownNameError, "did you mean 'GridWorld'"),
        ((3,), {}, ConfigError, "not by a int"),
        (("GridWorld",), {"widht": 3}, ConfigError, "did you mean 'width'"),
        (("GridWorld",), {"wording": "native"}, ConfigError, "no native wording"),
        (("GridWorld",), {"wording": "latin"}, ConfigError, "unknown wording 'latin'"),
        (("GridWorld",), {"partners": {"agent_9": "random"}, "agents": 2}, AgentError, "agent_9"),
        (("GridWorld",), {"partners": 3}, ConfigError, "mapping"),
        (("GridWorld",), {"agents": 2, "envelope": {"agents": 1}}, EnvelopeError, "agents"),
    ],
)
def test_interfaces_made_wrongly(
    interface: type[Any], args: Any, kwargs: Any, error: type[PiaseError], words: str
) -> None:
    refuse(error, words, lambda: interface(*args, **kwargs))


def test_somebody_must_be_left_to_play() -> None:
    refuse(
        AgentError,
        "leave at least one",
        lambda: Environment("GridWorld", partners={"agent_0": "noop"}),
    )
    refuse(AgentError, "no agent 'agent_7'", lambda: BaseEnv("GridWorld", agent="agent_7"))


# -- at the wrong time -----------------------------------------------------------------------------

STAY = {"action_type": "stay"}
# What needs an episode, by environment.
IN_EPISODE: dict[type[Any], list[Callable[[Any], object]]] = {
    Environment: [
        lambda e: e.step("agent_0", STAY),
        lambda e: e.get_observation("agent_0"),
        lambda e: e.get_state(),
        lambda e: e.is_done("agent_0"),
    ],
    AbstractEnvironment: [
        lambda e: e.step(0),
        lambda e: e.get_current_state_snapshot(),
        lambda e: e.get_perceptual_data_for_agent("agent_0"),
        lambda e: e.apply_action_from_agent("agent_0", STAY),
    ],
    EnvironmentInterface: [
        lambda e: e.get_perceptions("agent_0"),
        lambda e: e.submit_action("agent_0", STAY),
        lambda e: e.query_environment_state("agent_0", {}),
    ],
    PerceptionInterface: [
        lambda e: e.get_visible_objects("agent_0"),
        lambda e: e.get_agent_state("agent_0"),
        lambda e: e.execute_action("agent_0", "stay"),
        lambda e: e.send_message("agent_0", "all", "hi"),
        lambda e: e.poll_messages("agent_0"),
        lambda e: e.shared_memory,
    ],
    BaseEnv: [
        lambda e: e.step("stay"),
        lambda e: e.get_available_actions(),
        lambda e: e.current_observation,
        lambda e: e.facts(),
    ],
}
ALWAYS: list[Callable[[Any], object]] = [lambda e: e.digest(), lambda e: e.snapshot()]
# What needs no episode, but an open environment.
OPEN: dict[type[Any], list[Callable[[Any], object]]] = {
    Environment: [lambda e: e.get_action_space(), lambda e: e.get_environment_info()],
    AbstractEnvironment: [
        lambda e: e.load_configuration({"max_steps": 5}),
        lambda e: e.get_environment_info(),
    ],
    EnvironmentInterface: [
        lambda e: e.get_environment_info(),
        lambda e: e.subscribe_to_event("agent_0", "reset", print),
    ],
    PerceptionInterface: [lambda e: e.get_environment_info()],
    BaseEnv: [lambda e: e.get_action_space(), lambda e: e.instructions(), lambda e: e.tools()],
}


@every_interface
def test_before_the_reset(interface: type[Any]) -> None:
    env = interface("GridWorld", agents=2)
    for call in (*IN_EPISODE[interface], *ALWAYS):
        refuse(ResetNeededError, "never reset", lambda call=call: call(env))  # type: ignore[misc]
    for call in OPEN[interface]:
        call(env)


@every_interface
def test_after_the_close(interface: type[Any]) -> None:
    env = fresh(interface)
    env.close()
    env.close()
    for call in (*IN_EPISODE[interface], *ALWAYS, *OPEN[interface], reset):
        refuse(ClosedError, "closed", lambda call=call: call(env))  # type: ignore[misc]


@every_interface
def test_after_the_end(interface: type[Any]) -> None:
    env = interface("GridWorld", max_steps=1)
    reset(env, seed=0)
    if interface is PerceptionInterface:
        env.execute_action("agent_0", "stay")
    elif interface is BaseEnv:
        env.step("stay")
    else:
        submit(env, "agent_0", STAY)
    digest = env.digest()
    calls: dict[type[Any], Callable[[], object]] = {
        PerceptionInterface: lambda: env.execute_action("agent_0", "stay"),
        BaseEnv: lambda: env.step("stay"),
    }
    call = calls.get(interface, lambda: submit(env, "agent_0", STAY))
    refuse(ResetNeededError, "the episode is over; reset before", call)
    if interface is AbstractEnvironment:
        env.step(0)
        refuse(ResetNeededError, "the episode is over", lambda: env.step(1))
    assert env.digest() == digest


# -- agents that are not there ---------------------------------------------------------------------


@pytest.mark.parametrize("interface", INTERFACES[:4])
@pytest.mark.parametrize("agent", ["agent_9", "", None, 0, ["agent_0"], "all", math.nan])
def test_agents_that_are_not_there(interface: type[Any], agent: Any) -> None:
    env = fresh(interface)
    before = env.snapshot()
    refuse(AgentError, "agents are agent_0, agent_1", lambda: look(env, agent))
    if interface is PerceptionInterface:
        refuse(AgentError, "agents are", lambda: env.execute_action(agent, "stay"))
        refuse(AgentError, "agents are", lambda: env.send_message(agent, "all", "hi"))
        refuse(AgentError, "agents are", lambda: env.poll_messages(agent))
        if agent != "all":
            refuse(AgentError, "agents are", lambda: env.send_message("agent_0", agent, "hi"))
    else:
        refuse(AgentError, "agents are", lambda: submit(env, agent, STAY))
    assert env.snapshot() == before


@by_command
def test_agents_of_partners_and_ended_agents(interface: type[Any]) -> None:
    env = fresh(interface, partners={"agent_1": "noop"})
    refuse(AgentError, "played by a partner; yours are agent_0", lambda: look(env, "agent_1"))
    refuse(AgentError, "played by a partner", lambda: submit(env, "agent_1", STAY))
    env = fresh(interface)
    submit(env, "agent_1", STAY)
    submit(env, "agent_0", {"action_type": "move", "parameters": {"direction": "right"}})
    digest = env.digest()
    words = "agent 'agent_0' has ended; agents in play: agent_1"
    refuse(AgentError, words, lambda: submit(env, "agent_0", STAY))
    assert env.digest() == digest
    late = interface("TextProbe", agents=2, join_at=(0, 3))
    reset(late, seed=0)
    refuse(AgentError, "not in play yet", lambda: submit(late, "agent_1", {"action_type": "wait"}))


def test_ended_explorers_neither_act_nor_speak() -> None:
    env = fresh(PerceptionInterface)
    env.execute_action("agent_1", "stay")
    assert env.execute_action("agent_0", "move right")["done"]
    refuse(AgentError, "has ended", lambda: env.execute_action("agent_0", "stay"))
    refuse(AgentError, "not in play", lambda: env.send_message("agent_0", "all", "bye"))
    assert env.poll_messages("agent_0") == []


# -- malformed commands ----------------------------------------------------------------------------


@by_command
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (None, "ActionCommand or a dict with its fields, not NoneType"),
        ("stay", "not str"),
        (4, "not int"),
        (["stay"], "not list"),
        (ActionCommand, "not ModelMetaclass"),
        ({}, "ActionCommand.action_type: it is missing"),
        ({"type": "stay"}, "unknown key 'type'"),
        ({1: "stay", "action_type": "stay"}, "unknown key '1'"),
        ({"action_type": None}, "ActionCommand.action_type"),
        ({"action_type": 3}, "ActionCommand.action_type"),
        ({"action_type": "stay", "parameters": None}, "ActionCommand.parameters"),
        ({"action_type": "stay", "parameters": [1]}, "ActionCommand.parameters"),
        ({"action_type": "stay", "parameters": {3: 4}}, "ActionCommand.parameters"),
        ({"action_type": "stay", "sequence_id": 3}, "ActionCommand.sequence_id"),
        ({"action_type": "stay", "execution_priority": "high"}, "ActionCommand.execution_priority"),
        ({"action_type": "stay", "execution_priority": math.nan}, "finite number, not nan"),
        ({"action_type": "stay", "execution_priority": math.inf}, "finite number, not inf"),
        (ActionCommand(action_type="stay", execution_priority=math.nan), "finite number, not nan"),
        (
            ActionCommand.model_construct(action_type=7, parameters=None),
            "ActionCommand.action_type",
        ),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_what_is_no_command_changes_nothing(interface: type[Any], command: Any, words: str) -> None:
    env = fresh(interface)
    submit(env, "agent_1", STAY)
    before = env.snapshot()
    refuse(ActionError, words, lambda: submit(env, "agent_0", command))
    assert env.snapshot() == before


@pytest.mark.parametrize(
    ("action", "params", "words"),
    [
        (None, None, "an action is a string, not NoneType"),
        (3, None, "not int"),
        ({"action_type": "stay"}, None, "not dict"),
        ("move", ["up"], "params are a mapping or None, not list"),
        ("move", "up", "not str"),
        ("move", math.nan, "not float"),
    ],
)
def test_what_is_no_action_changes_nothing(action: Any, params: Any, words: str) -> None:
    env = fresh(PerceptionInterface)
    before = env.snapshot()
    refuse(ActionError, words, lambda: env.execute_action("agent_0", action, params))
    assert env.snapshot() == before


LINES = ["", "  ", "fly", "move", "move askew", "x" * (MAX_LINE + 1), "\x00", "move up up", "🔑"]


@pytest.mark.parametrize("line", LINES, ids=lambda line: repr(line)[:20])
def test_any_line_costs_a_step_and_is_explained(line: str) -> None:
    one: Any = PerceptionInterface("GridWorld")
    two: Any = BaseEnv("GridWorld")
    one.reset(seed=0)
    two.reset(seed=0)
    state = one.execute_action("agent_0", line)
    _, _, done, info = two.step(line)
    assert (state["status"], info["status"], done) == ("invalid_action", "invalid_action", False)
    assert state["message"] == info["error"]
    assert len(info["error"]) > 10
    assert one.digest() == two.digest()
    assert one.time_step == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, 1.5, True, "1", None, [0.1]])
def test_numbers_out_of_range_are_invalid_actions(value: Any) -> None:
    env = Environment("PointProbe")
    env.reset(seed=0)
    thrust = {"action_type": "thrust", "parameters": {"x": value, "y": 0.0}}
    result = env.step("agent_0", thrust)
    assert (result.status, env.time_step) == ("invalid_action", 1)
    assert "x" in str(result.error_details)


# -- other arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize("tick", [-1, 1.0, 0.5, math.nan, True, "0", None, [0]])
def test_time_steps_are_integers(tick: Any) -> None:
    env = fresh(AbstractEnvironment)
    digest = env.digest()
    refuse(ActionError, "a time step is an integer from 0 on", lambda: env.step(tick))
    assert env.digest() == digest


def test_time_steps_come_in_order() -> None:
    env = fresh(AbstractEnvironment)
    refuse(ActionError, "tick 1 is not open yet; the open one is 0", lambda: env.step(1))
    env.step(0)
    refuse(ActionError, "tick 7 is not open yet; the open one is 1", lambda: env.step(7))
    assert env.time_step == 1


@every_interface
@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, True, "1", math.nan])
def test_seeds_are_checked(interface: type[Any], seed: Any) -> None:
    env = fresh(interface)
    digest = env.digest()
    refuse(ConfigError, "seeds are integers from 0 to", lambda: reset(env, seed=seed))
    assert env.digest() == digest


def test_scenarios_are_checked() -> None:
    env = fresh(AbstractEnvironment)
    refuse(ConfigError, "or None, not list", lambda: env.reset_environment([1]))
    for given in ({"seed": 1}, {"seed": 1, "world": "GridWorld"}):  # fields, and a scenario
        refuse(
            ConfigError,
            "seed is given twice",
            lambda given=given: env.reset_environment(given, seed=2),
        )
    refuse(ConfigError, "did you mean 'width'", lambda: env.reset_environment({"widht": 5}))
    refuse(ConfigError, "seeds are integers", lambda: env.reset_environment({"seed": "x"}))
    refuse(EnvelopeError, "does not fit", lambda: env.load_configuration({"width": 30}))
    refuse(ConfigError, "takes a mapping", lambda: env.load_configuration(None))
    refuse(UnknownNameError, "allowed: 'time'", lambda: env.get_current_state_snapshot("all"))
    refuse(UnknownNameError, "unknown scope 3", lambda: env.get_current_state_snapshot(3))
    walled = [(x, y) for x in range(8) for y in range(8)]
    refuse(GenerationError, "no free cell", lambda: env.reset_environment({"walls": walled}))
    env.reset_environment(seed=1)


def test_queries_and_subscriptions_are_checked() -> None:
    env = fresh(EnvironmentInterface)
    ask, subscribe = env.query_environment_state, env.subscribe_to_event
    refuse(ConfigError, "a query is a mapping, not str", lambda: ask("agent_0", "room"))
    refuse(ConfigError, "list of strings", lambda: ask("agent_0", {"keys": "room"}))
    refuse(ConfigError, "list of strings", lambda: ask("agent_0", {"keys": [1]}))
    refuse(UnknownNameError, "part of a query 'key'", lambda: ask("agent_0", {"key": []}))
    refuse(UnknownNameError, "unknown key 'seed'", lambda: ask("agent_0", {"keys": ["seed"]}))
    refuse(AgentError, "agents are", lambda: ask("agent_5", {}))
    refuse(AgentError, "agents are", lambda: subscribe("agent_5", "reset", print))
    refuse(UnknownNameError, "event type 'step'", lambda: subscribe("agent_0", "step", print))
    for target in (None, 3, "ftp://nobody", "localhost:80", ""):
        refuse(
            ConfigError,
            "http(s) address or a function",
            lambda target=target: subscribe("agent_0", "reset", target),  # type: ignore[misc]
        )
    assert not env.events.active


@pytest.mark.parametrize("message", [None, 3, b"hi", ["hi"]])
def test_messages_are_strings(message: Any) -> None:
    env = fresh(PerceptionInterface)
    refuse(
        ActionError, "a message is a string", lambda: env.send_message("agent_0", "all", message)
    )
    assert env.shared_memory["message_history"] == []
