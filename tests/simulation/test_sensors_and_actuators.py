"""Sensors and actuators of the seed documents, on a world."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

import piase_gym
from piase_gym.core.commands import Command, InvalidAction, Outcome, Param, Verb
from piase_gym.core.models import ActionCommand
from piase_gym.errors import ConfigError, PluginError
from piase_gym.simulation.actuators import Actuator, ActuatorSet
from piase_gym.simulation.sensors import MAX_LINE, Sensor, SensorSet
from tests import probes

probes.register()


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
    wrong_fields: list[dict[str, Any]] = [{"size": n} for n in (0, 1.5, "2", True)]
    wrong_fields += [{"low": 1.0, "high": 1.0}, {"low": 2.0, "high": 1.0}, {"low": "0"}]
    for fields in wrong_fields:
        with pytest.raises(ConfigError, match="needs a size of 1 or more, and low < high"):
            Sensor("way", lambda facts: 0, **fields)
    strange: list[Any] = ["", "é", "a\nb", 5]
    for name in strange:
        with pytest.raises(ConfigError, match="a sensor's name is a word in plain ASCII"):
            Sensor(name, lambda facts: 0)


@pytest.mark.parametrize("tell", [lambda reading: 1 / 0, lambda reading: 5, 7])
def test_a_sensor_that_cannot_tell_its_reading_is_named(tell: Any) -> None:
    with pytest.raises(PluginError, match=r"the sensor 'way' failed to tell \("):
        Sensor("way", lambda facts: 1, tell=tell).line((1.0,))


def test_a_line_of_a_text_has_200_letters_at_most() -> None:
    wordy = Sensor("mood", lambda facts: 1.0, tell=lambda reading: "so " * 100)
    assert wordy.line((1.0,)) == ("mood: " + "so " * 100)[:200]


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
