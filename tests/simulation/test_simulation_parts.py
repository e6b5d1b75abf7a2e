"""Clocks, sensors, actuators, seats and maps of a simulation, each for itself."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

import piase_gym
from piase_gym.agents import NoopAgent
from piase_gym.agents.base import Agent
from piase_gym.core.commands import Command, InvalidAction, Outcome, Param, Verb
from piase_gym.core.models import ActionCommand
from piase_gym.core.rng import partner_seed
from piase_gym.errors import AgentError, ConfigError, PluginError, UnknownNameError
from piase_gym.simulation.actuators import Actuator, ActuatorSet
from piase_gym.simulation.agent_manager import AgentManager, AgentStatus
from piase_gym.simulation.clock import (
    EventClock,
    SimulatedClock,
    StepClock,
    WallClock,
    milliseconds,
)
from piase_gym.simulation.sensors import MAX_LINE, Sensor, SensorSet
from piase_gym.simulation.setup import Limits, make_clock, read_limits
from piase_gym.simulation.summary import Summary
from piase_gym.simulation.team_map import TeamMap, place_of, sign_of
from tests import probes

probes.register()


class Counts(Agent):
    """Answers 0, 1, 2 and so on."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.seen: list[Any] = []

    def perceive(self, percept: Any) -> None:
        self.seen.append(percept)

    def act(self) -> Any:
        self.count += 1
        return self.count - 1


def seen_at(world: Any, number: int, step: int) -> Any:
    """Return a percept that says where it is of."""
    return number, step


WORLD: Any = SimpleNamespace(agents=("ann", "bob"))
ALONE: Any = SimpleNamespace(agents=("ann",))


def answers(clock: Any, steps: int, *agents: Agent) -> list[list[Any]]:
    """Ask agents step by step; return what is carried out, ``None`` for no answer in time."""
    seats, found = dict(enumerate(agents)), []
    for step in range(steps):
        told = clock.ask(WORLD, seats, step)
        found.append([None if isinstance(told[n], InvalidAction) else told[n] for n in seats])
    return found


# -- clocks ----------------------------------------------------------------------------------------


def test_discrete_steps_wait_for_everybody() -> None:
    one, two = Counts(), Counts()
    assert answers(StepClock(seen_at), 3, one, two) == [[0, 0], [1, 1], [2, 2]]
    assert two.seen == [(1, 0), (1, 1), (1, 2)]


def test_answers_wait_in_a_queue_for_their_step() -> None:
    """Answers of 250 ms come two steps later; meanwhile nothing is asked."""
    clock = SimulatedClock(100, {0: 250.0}, percept=seen_at)
    clock.begin()
    agent = Counts()
    assert answers(clock, 7, agent) == [[None], [None], [0], [None], [None], [1], [None]]
    assert agent.seen == [(0, 0), (0, 3), (0, 6)]
    assert clock.now == 700
    assert clock.times == {0: [250.0, 250.0]}


def test_what_is_late_is_told_and_may_be_dropped() -> None:
    for policy, expected in (
        ("queue", [[None], [0], [1], [2]]),
        ("drop", [[None], [None], [1], [2]]),
    ):
        clock = SimulatedClock(100, {0: [100.0, 0.0, 99.0]}, policy, seen_at)
        clock.begin()
        late, agent, found = [], Counts(), []
        for step in range(4):
            told = clock.ask(WORLD, {0: agent}, step)[0]
            found.append([None if isinstance(told, InvalidAction) else told])
            late.append(list(clock.late))
        assert found == expected
        assert late == [[], [(0, 0)], [], []]
    told = clock.ask(WORLD, {0: agent}, 4)[0]
    assert told == InvalidAction(Outcome.TIMEOUT, "no answer within 100 ms")


def test_the_latest_of_several_answers_counts() -> None:
    for policy, expected in (("latest", [9, None]), ("queue", [7, 8])):
        clock = SimulatedClock(100, {0: [math.inf]}, policy, seen_at)
        clock.begin()
        for answer in (7, 8, 9):
            clock.submit(0, answer)
        found = answers(clock, 2, Counts())
        assert [told for (told,) in found] == expected


def test_an_episode_begins_without_the_answers_of_the_last() -> None:
    clock = SimulatedClock(100, {0: [150.0, 0.0]}, percept=seen_at)
    clock.begin()
    agent = Counts()
    assert answers(clock, 1, agent) == [[None]]
    clock.submit(0, 5)
    clock.begin()
    assert clock.now == 0.0
    assert answers(clock, 2, agent) == [[None], [1]]
    clock.close()
    assert clock._open == {}


def test_who_is_not_named_answers_at_once() -> None:
    clock = SimulatedClock(100, {1: 100.0}, percept=seen_at)
    clock.begin()
    assert answers(clock, 3, Counts(), Counts()) == [[0, None], [1, 0], [2, None]]


def test_real_time_is_that_of_the_wall() -> None:
    clock = WallClock(1, percept=seen_at)
    clock.begin()
    agent, world = Counts(), ALONE
    found: list[Any] = []
    for step in range(2000):
        told = clock.ask(world, {0: agent}, step)[0]
        found += [] if isinstance(told, InvalidAction) else [told]
        if len(found) > 1:
            break
    assert found == [0, 1]
    assert all(took >= 0 for took in clock.times[0])
    with pytest.raises(UnknownNameError, match="did you mean 'queue'"):
        WallClock(1, "que")


def test_a_step_of_real_time_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that stands still, and then is a second late."""
    waited: list[float] = []
    moments = iter([5.0, 5.0, 6.0, 7.5])
    monkeypatch.setattr("piase_gym.simulation.clock.time.sleep", waited.append)
    clock = WallClock(200, percept=seen_at)
    clock.begin()
    monkeypatch.setattr("piase_gym.simulation.clock.time.monotonic", lambda: next(moments))
    clock.ask(WORLD, {}, 0)
    clock.ask(WORLD, {}, 1)
    assert waited == [pytest.approx(0.2), 0.0]


def test_who_thinks_meanwhile_thinks_about_a_copy_of_the_world() -> None:
    clock = WallClock(1, percept=lambda world, number, step: world)  # type: ignore[arg-type, return-value]
    clock.begin()
    agent, world = Counts(), ALONE
    clock.ask(world, {0: agent}, 0)
    for step in range(2000):
        clock.ask(world, {0: agent}, step)
        if agent.seen:
            break
    assert agent.seen[0] == world
    assert agent.seen[0] is not world


def test_a_time_is_within_the_step_in_which_an_answer_came() -> None:
    """What the clock of a thread tells otherwise is taken for the middle of the step."""

    class Comes(SimulatedClock):
        after = 0

        def _has_come(self, request: Any) -> bool:
            return bool(self._tick - request.tick == self.after)

    for after, took, told in ((0, 250.0, 50.0), (2, 250.0, 250.0), (3, 250.0, 350.0)):
        clock = Comes(100, {0: took}, percept=seen_at)
        clock.after = after
        clock.begin()
        answers(clock, after + 1, Counts())
        assert clock.times == {0: [told]}


def test_an_error_of_an_agent_is_raised_when_its_answer_is_due() -> None:
    class Fails(Counts):
        def act(self) -> Any:
            raise RuntimeError("I cannot")

    clock = SimulatedClock(100, {0: 150.0}, percept=seen_at)
    clock.begin()
    agent = Fails()
    assert answers(clock, 1, agent) == [[None]]
    with pytest.raises(RuntimeError, match="I cannot"):
        clock.ask(WORLD, {0: agent}, 1)


def test_times_of_answers() -> None:
    assert milliseconds(5, 3) == 5
    assert [milliseconds([1, 2.5], count) for count in range(3)] == [1, 2.5, math.inf]
    assert milliseconds(lambda count: 10 * count, 3) == 30
    for wrong in (-1, True, "5", None, math.nan):
        with pytest.raises(ConfigError, match="an answer takes a number of milliseconds from 0 on"):
            milliseconds(lambda count, wrong=wrong: wrong, 0)  # type: ignore[misc]


def events(clock: EventClock, steps: int, *agents: Agent) -> list[tuple[float, dict[int, Any]]]:
    """Return the times at which something happens, and what."""
    seats, found = dict(enumerate(agents)), []
    for step in range(steps):
        acting = clock.ask(WORLD, seats, step)
        found.append((clock.now, acting))
    return found


def test_agents_act_at_times_of_their_own() -> None:
    """One decides every 100 ms, and its actions take no time; the other's take 250."""
    clock = EventClock({0: 100.0, 1: 200.0}, {1: 250.0}, percept=seen_at)
    clock.begin()
    assert events(clock, 6, Counts(), Counts()) == [
        (0.0, {0: 0}),
        (100.0, {0: 1}),
        (200.0, {0: 2}),
        (250.0, {1: 0}),
        (300.0, {0: 3}),
        (400.0, {0: 4}),
    ]


def test_actions_that_end_together_are_one_step() -> None:
    clock = EventClock({0: 50.0, 1: 100.0}, {0: 50.0, 1: 100.0}, percept=seen_at)
    clock.begin()
    found = events(clock, 3, Counts(), Counts())
    assert found == [(50.0, {0: 0}), (100.0, {1: 0, 0: 1}), (150.0, {0: 2})]
    assert clock.ask(WORLD, {}, 3) == {}


def test_the_world_goes_on_of_itself() -> None:
    clock = EventClock({0: 1000.0}, {}, 300.0, seen_at)
    clock.begin()
    found = events(clock, 5, Counts())
    assert found == [(0.0, {0: 0}), (300.0, {}), (600.0, {}), (900.0, {}), (1000.0, {0: 1})]
    clock.submit(0, 9)
    assert clock.ask(WORLD, {0: Counts()}, 5) == {0: 9}
    assert clock.now == 1000.0
    clock.begin()
    assert clock.now == 0.0


def test_durations_go_by_the_verb() -> None:
    class Says(Counts):
        def act(self) -> Any:
            return [Command("coast"), Command("thrust", {"x": 0, "y": 1}), 0][super().act()]

    world = piase_gym.parallel_env("PointProbe", agents=1).world
    clock = EventClock({0: 1.0}, {0: {"coast": 10.0, "*": 30.0}}, percept=seen_at)
    clock.begin()
    agent, times = Says(), []
    for step in range(3):
        clock.ask(world, {0: agent}, step)
        times.append(clock.now)
    assert times == [10.0, 40.0, 70.0]


# -- what a simulation is given --------------------------------------------------------------------


def test_limits_are_those_that_are_given_else_the_scenarios() -> None:
    head: Any = SimpleNamespace(time_model="real_time", step_ms=50, max_wall_seconds=9.0)
    assert read_limits(head, None, None, None, None) == Limits("real_time_ms", 50, math.inf, 9.0)
    own = read_limits(head, "discrete_steps", 7, 3, 1.5)
    assert own == Limits("discrete_steps", 7, 3, 1.5)
    usual = read_limits(None, None, None, None, None)
    assert usual == Limits("discrete_steps", 200, math.inf, math.inf)
    with pytest.raises(UnknownNameError):
        read_limits(None, "by_magic", None, None, None)
    for name, place in (("step_ms", 2), ("max_steps", 3), ("max_wall_seconds", 4)):
        for wrong in (0, -1, True, "5", math.inf):
            given: list[Any] = [None] * 5
            given[place] = wrong
            with pytest.raises(ConfigError, match=f"{name} must be a positive number"):
                read_limits(*given)


NAMES = ("ann", "bob")


def clock_of(model: str, **given: Any) -> Any:
    """Return the clock of a time model whose steps last 200 ms."""
    return make_clock(Limits(model, 200, math.inf, math.inf), NAMES, seen_at, **given)


def test_each_time_model_has_its_clock() -> None:
    assert isinstance(clock_of("discrete_steps"), StepClock)
    assert isinstance(clock_of("real_time_ms"), WallClock)
    simulated = clock_of("real_time_ms", answer_times={"bob": 9.0}, late="drop")
    assert (simulated._given, simulated._policy, simulated.step_ms) == ({1: 9.0}, "drop", 200)
    usual = clock_of("event_based")
    assert (usual._periods, usual._durations) == ({0: 200, 1: 200}, {0: 0.0, 1: 0.0})
    assert usual._world_period is None
    own = clock_of("event_based", periods={"bob": 5, "world": 7}, durations={"bob": {"go": 3}})
    assert (own._periods, own._world_period) == ({0: 200, 1: 5}, 7)
    assert own._durations == {1: {"go": 3}}
    every = clock_of("event_based", periods=9.0, durations={"go": 3, "*": 0})
    assert every._periods == {0: 9.0, 1: 9.0}
    assert every._durations == {0: {"go": 3, "*": 0}, 1: {"go": 3, "*": 0}}


@pytest.mark.parametrize(
    ("model", "given", "told"),
    [
        ("discrete_steps", {"answer_times": {}}, "answer_times means nothing with time_model='dis"),
        ("event_based", {"answer_times": {}}, "answer_times means nothing"),
        ("discrete_steps", {"periods": 3}, "periods means nothing"),
        ("real_time_ms", {"durations": 3}, "durations means nothing"),
        ("discrete_steps", {"late": "drop"}, "late means nothing"),
        ("real_time_ms", {"answer_times": 3}, "answer_times is a mapping of agents to milli"),
        ("event_based", {"periods": 0}, "a period must be a positive number, not 0"),
        ("event_based", {"periods": {"world": -1}}, "the period of the world must be a positive"),
        ("event_based", {"durations": -1}, "a duration is a number from 0 on, not -1"),
        ("event_based", {"durations": {"ann": {"go": True}}}, "a duration is a number from 0 on"),
        ("event_based", {"durations": math.inf}, "a duration is a number from 0 on, not inf"),
    ],
)
def test_what_a_clock_does_not_take(model: str, given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        clock_of(model, **given)
    assert str(caught.value).startswith(told)


def test_strangers_have_no_times() -> None:
    for model, given in (
        ("real_time_ms", {"answer_times": {"eve": 1.0}}),
        ("event_based", {"periods": {"eve": 1.0}}),
        ("event_based", {"durations": {"ann": 1.0, "eve": 1.0}}),
    ):
        with pytest.raises(UnknownNameError, match="unknown agent 'eve'"):
            clock_of(model, **given)


# -- seats -----------------------------------------------------------------------------------------


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


# -- sensors and actuators -------------------------------------------------------------------------


def test_a_sensor_has_a_size_and_a_range() -> None:
    sensor = Sensor("way", lambda facts: facts, 3, -1.0, 1.0)
    facts: Any = [5.0, 0.25, -7]
    assert sensor.read(facts) == (1.0, 0.25, -1.0)
    assert sensor.line((1.0, 0.25, -1.0)) == "way: 1, 0.25, -1"
    told = Sensor("way", lambda facts: 1, tell=lambda reading: "x" * 300)
    assert told.line((1.0,)) == f"way: {'x' * (MAX_LINE - 5)}"
    for wrong in ([1, 2], [1, 2, math.nan]):
        with pytest.raises(PluginError, match=r"the sensor 'way' gave \[1, 2.*\], not 3 numbers"):
            sensor.read(wrong)  # type: ignore[arg-type]
    with pytest.raises(PluginError, match="the sensor 'way' failed"):
        sensor.read(["a"])  # type: ignore[arg-type]
    for fields in ({"size": 0}, {"low": 1.0, "high": 1.0}, {"low": 2.0, "high": 1.0}):
        with pytest.raises(ConfigError, match="needs a size of 1 or more, and low < high"):
            Sensor("way", lambda facts: 0, **fields)
    for name in ("", "é", "a\nb"):
        with pytest.raises(ConfigError, match="a sensor's name is a word in plain ASCII"):
            Sensor(name, lambda facts: 0)


def test_readings_stand_at_the_end() -> None:
    one = Sensor("one", lambda facts: 0.5, low=0.0, high=2.0)
    two = Sensor("two", lambda facts: (3, 4), 2)
    senses = SensorSet([one, two])
    readings = senses.read(None)  # type: ignore[arg-type]
    assert readings == [(0.5,), (3.0, 4.0)]
    box = senses.box(Box(-1, 1, (2,), np.float32))
    assert box.low.tolist() == [-1, -1, 0, -math.inf, -math.inf]
    assert box.high.tolist() == [1, 1, 2, math.inf, math.inf]
    vector = senses.vector(np.array([7, 8]), readings)
    assert vector.tolist() == [7, 8, 0.5, 3, 4]
    assert vector.dtype == np.float32
    assert senses.text("You see.", readings) == "You see.\none: 0.5\ntwo: 3, 4"
    assert senses.text_length == 2 * (MAX_LINE + 1)
    none = SensorSet([])
    assert none.box(box) is box
    assert none.vector(vector, []) is vector
    assert none.text("You see.", []) == "You see."
    with pytest.raises(ConfigError, match=r"a sensor is given twice: \['one', 'one'\]"):
        SensorSet([one, one])


RISE = Actuator(
    "lift",
    lambda command, facts: Command("thrust", {"x": 0.0, "y": 1.0}) if facts.hint is None else None,
    (Verb("rise", "go up", synonyms=("climb",)),),
)
MIRROR = Actuator(
    "mirror",
    lambda command, facts: (
        Command("thrust", {"x": -command.parameters["x"], "y": command.parameters["y"]})
        if command.verb == "thrust"
        else None
    ),
)


def actuation(*actuators: Actuator) -> tuple[ActuatorSet, Any]:
    """Return actuators over a world of one point."""
    env = piase_gym.parallel_env("PointProbe", agents=1)
    env.reset(seed=0)
    return ActuatorSet(env.world, actuators), env.world


def test_an_actuator_has_commands_of_its_own() -> None:
    lift, world = actuation(RISE)
    up = Command("thrust", {"x": 0.0, "y": 1.0})
    for answer in ("rise", "climb", Command("rise"), "RISE!"):
        assert lift.act(0, answer, world.read) == up
    assert lift.act(0, "coast", world.read) == Command("coast")
    assert lift.act(0, 4, lambda agent, answer: answer) == Command("coast")
    left = Command("thrust", {"x": -1.0, "y": 0.0})
    assert lift.act(0, 0, lambda agent, answer: answer) == left
    assert lift.act(0, 99, lambda agent, answer: answer) == 99
    assert lift.own(ActionCommand(action_type="climb", parameters={})) == Command("rise")
    assert isinstance(lift.own("rise now"), InvalidAction)
    assert lift.own("rising") is None
    assert isinstance(lift.act(0, "rise now", world.read), InvalidAction)
    assert lift.own("coast") is None
    assert lift.own(Command("coast")) is None
    assert lift.own(3) is None
    assert lift.legal(0, Command("rise"))
    assert lift.commands(0) == [*world.admissible(0), Command("rise")]
    world.give_hint(0, "stay")
    refused = lift.act(0, "rise", world.read)
    assert refused == InvalidAction(Outcome.REFUSED, "You cannot rise now.")
    assert not lift.legal(0, Command("rise"))
    assert lift.commands(0) == world.admissible(0)
    assert lift.instructions("Do.") == "Do.\n\nFurther commands:\n- rise: go up"
    mask = np.ones(5, np.int8)
    assert lift.mask(0, mask) is mask


def test_an_actuator_changes_what_is_meant() -> None:
    legs, world = actuation(MIRROR, RISE)
    assert legs.act(0, "thrust 1 0", world.read) == Command("thrust", {"x": -1.0, "y": 0.0})
    assert legs.act(0, "coast", world.read) == Command("coast")
    assert legs.mask(0, np.zeros(5, np.int8)).tolist() == [1] * 5
    assert not legs.legal(0, InvalidAction(Outcome.ILLEGAL, "no"))
    plain, _ = actuation(MIRROR)
    assert plain.instructions("Do.") == "Do."
    assert plain.own("thrust 1 0") is None


def test_actuators_that_do_not_go_together() -> None:
    clash = Actuator("clash", lambda command, facts: None, (Verb("push", "push"),))
    with pytest.raises(ConfigError, match="'clash' has the verb 'push', which is there already"):
        actuation(clash)
    again = Actuator("again", lambda command, facts: None, (Verb("climb", "climb"),))
    with pytest.raises(ConfigError, match="'again' has the verb 'climb'"):
        actuation(RISE, again)
    wrong = Actuator("wrong", lambda command, facts: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(PluginError, match="'wrong' gave a int, not a Command or None"):
        actuation(wrong)[0].translate(0, Command("coast"))
    fails = Actuator("fails", lambda command, facts: facts.nothing)
    with pytest.raises(PluginError, match=r"the actuator 'fails' failed \(AttributeError: "):
        actuation(fails)[0].translate(0, Command("coast"))
    asks = Actuator("asks", lambda c, f: None, (Verb("hop", "hop", (Param("n", "integer"),)),))
    jumps, _ = actuation(asks)
    assert Command("hop") not in jumps.commands(0)


# -- what came of it, and the map ------------------------------------------------------------------


def test_a_summary_counts() -> None:
    summary = Summary.begin(NAMES, "Story", "TextRoom", 7)
    assert summary.results == {"ann": None, "bob": None}
    summary.add("ann", 1.5, {"outcome": Outcome.OK, "milestones": ["a", "b", "a"]})
    summary.add("ann", 0.5, {"outcome": Outcome.OK, "metrics": {"m": 2}})
    summary.add("bob", -1.0, {"outcome": Outcome.FAILED, "milestones": ["a"], "result": "lost"})
    assert summary.returns == {"ann": 2.0, "bob": -1.0}
    assert summary.outcomes == {"ann": {"ok": 2}, "bob": {"failed": 1}}
    assert summary.milestones == ("a", "b")
    assert summary.milestones_of == {"ann": ("a", "b"), "bob": ("a",)}
    assert summary.metrics == {"m": 2}
    assert not summary.won
    assert not summary.reach("bob", "a")
    assert summary.reach("bob", "c")
    summary.end("bob", "lost", truncated=True)
    summary.end("ann", "won")
    assert summary.won
    assert summary.truncated == {"ann": False, "bob": True}


@pytest.mark.parametrize(
    ("position", "place"),
    [
        (3, (3, 0)),
        ((1, 2), (1, 2)),
        ([1, 2, 9], (1, 2)),
        (True, None),
        ((1.0, 2), None),
        ((1, 2.0), None),
        ((1,), None),
        ((1, 2, 3, 4), None),
        ("ab", None),
    ],
)
def test_places_on_a_map(position: Any, place: Any) -> None:
    assert place_of(position) == place


def test_a_map_has_signs() -> None:
    names = ("wall", "floor", "tall shelf", "low table", "air")
    assert [sign_of(name) for name in names] == ["#", ".", "O", "o", "."]
    team = TeamMap(None)
    assert (team.lines, team.legend) == ([], "")
    team.cells = {(0, 0): "#", (2, 1): ".", (-1, 0): "o", (200, 0): "o", (1, 1): "."}
    team.objects = {"cup": (1, 1), "hat": None, "egg": (0, 1)}
    team.agents = {11: ((2, 1), ">"), 0: ((2, 1), "^")}
    assert team.lines == ["#     ", "* * ^0"]
    assert team.legend == "# wall   o low furniture   * object   . seen"
