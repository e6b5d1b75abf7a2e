"""Sensors add to observations, actuators translate commands; worlds know of neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import piase_gym
from piase_gym import Simulation, runs
from piase_gym.agents import Agent, Feedback
from piase_gym.core.commands import Command, Param, Verb
from piase_gym.core.models import ActionCommand
from piase_gym.errors import (
    ActionError,
    AgentError,
    ConfigError,
    PluginError,
    ResetNeededError,
    UnknownNameError,
)
from piase_gym.simulation.actuators import Actuator, ActuatorSet
from piase_gym.simulation.sensors import Sensor
from piase_gym.wrappers import AddActuators, AddSensors, AvtLogger
from tests.helpers.checkers import parallel_api_test, parallel_seed_test

PLACE = Sensor("place", lambda facts: facts.position, size=2, low=0, high=31)
HINTED = Sensor(
    "hinted",
    lambda facts: float(facts.hint is not None),
    low=0,
    high=1,
    tell=lambda reading: "you have a hint" if reading[0] else "no hint",
)
BACK = {"north": "south", "south": "north", "west": "east", "east": "west"}


def turn_back(command: Command, facts: Any) -> Command | None:
    """Go the other way."""
    if command.verb != "move":
        return None
    return Command("move", {"direction": BACK[command.parameters["direction"]]})


MIRROR = Actuator("mirror", turn_back)
LEAP = Actuator(
    "leap",
    lambda command, facts: (
        None
        if facts.position[0] == 0
        else Command("move", {"direction": command.parameters.get("way", "west")})
    ),
    verbs=(
        Verb("leap", "go west", synonyms=("jump",)),
        Verb("head", "go some way", (Param("way", choices=("west", "north")),)),
    ),
)


def grid(**fields: Any) -> Any:
    return piase_gym.parallel_env("GridWorld", **{"width": 6, "height": 5, **fields})


# -- sensors ------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [None, "obs"])
@pytest.mark.parametrize("view", ["both", "vector", "text"])
def test_readings_stand_at_the_end_of_every_view(view: str, mask: str | None) -> None:
    plain = grid(view=view, mask=mask, agents=2)
    env = AddSensors(grid(view=view, mask=mask, agents=2), PLACE, HINTED)
    pair = plain.reset(seed=3)[0], env.reset(seed=3)[0]
    for step in range(6):
        for name, before, after in ((n, pair[0][n], pair[1][n]) for n in pair[0]):
            facts = plain.facts(name)
            assert env.observation_space(name).contains(after)
            numbers = [*facts.position, float(facts.hint is not None)]
            words = "you have a hint" if facts.hint else "no hint"
            if mask:
                np.testing.assert_array_equal(before["action_mask"], after["action_mask"])
                before, after = before["observation"], after["observation"]
            if view != "text":
                vectors = (
                    (before, after) if view == "vector" else (before["vector"], after["vector"])
                )
                assert vectors[1].dtype == np.float32
                np.testing.assert_array_equal(vectors[1], [*vectors[0], *numbers])
            if view != "vector":
                texts = [t if view == "text" else t["text"] for t in (before, after)]
                place = ", ".join(map(str, facts.position))
                assert texts[1] == f"{texts[0]}\nplace: {place}\nhinted: {words}"
        if step == 2:
            for each in (plain, env.unwrapped):
                each.give_hint("agent_1", "Look up.")
        acts = dict.fromkeys(plain.agents, 1)
        pair = plain.step(acts)[0], env.step(acts)[0]


def test_spaces_are_the_same_objects_and_hold_the_range() -> None:
    env = AddSensors(grid(view="vector"), PLACE)
    space = env.observation_space("agent_0")
    assert space is env.observation_space("agent_0")
    assert isinstance(space, spaces.Box)
    assert space.low[-2:].tolist() == [0, 0]
    assert space.high[-2:].tolist() == [31, 31]
    with pytest.raises(AgentError, match="agent_9"):
        env.observation_space("agent_9")


@pytest.mark.filterwarnings("ignore:reset option")
def test_pettingzoo_is_content() -> None:
    def make() -> Any:
        return AddActuators(AddSensors(grid(agents=2), PLACE, HINTED), MIRROR)

    parallel_api_test(make(), num_cycles=60)
    parallel_seed_test(make, num_cycles=20)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=2))
def test_readings_stay_in_their_range(values: list[float]) -> None:
    sensor = Sensor("x", lambda facts: values, size=2, low=-1, high=2)
    expected = tuple(min(max(value, -1.0), 2.0) for value in values)
    assert sensor.read(None) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sense", "told"),
    [
        (lambda facts: [1, 2, 3], r"'bad' gave \[1, 2, 3\], not 2 numbers"),
        (lambda facts: [1, float("nan")], r"\[1, nan\]"),
        (lambda facts: facts.nothing, "'bad' failed .AttributeError"),
        (lambda facts: "ab", "'bad' failed .ValueError"),
        (lambda facts: [[1, 2], [3]], "'bad' failed .ValueError"),
    ],
)
def test_bad_sensors_are_named(sense: Any, told: str) -> None:
    env = AddSensors(grid(), Sensor("bad", sense, size=2))
    with pytest.raises(PluginError, match=told):
        env.reset(seed=0)


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: AddSensors(grid(), "radar"), UnknownNameError, "unknown sensor 'radar'"),
        (lambda: AddSensors(grid(), PLACE, PLACE), ConfigError, "twice"),
        (lambda: Sensor("", len), ConfigError, "name"),
        (lambda: Sensor("é", len), ConfigError, "ASCII"),
        (lambda: Sensor("x", len, size=0), ConfigError, "size"),
        (lambda: Sensor("x", len, low=1, high=1), ConfigError, "low < high"),
        (lambda: AddActuators(grid(), "wings"), UnknownNameError, "unknown actuator 'wings'"),
        (lambda: AddActuators(grid(), LEAP, LEAP), ConfigError, "'leap', which is there already"),
        (
            lambda: AddActuators(grid(), Actuator("x", turn_back, (Verb("stay", "stay"),))),
            ConfigError,
            "'stay', which is there already in GridWorld",
        ),
        (lambda: Simulation("GridWorld", sensors=["radar"]), UnknownNameError, "radar"),
        (lambda: Simulation("GridWorld", actuators=["wings"]), UnknownNameError, "wings"),
    ],
)
def test_mistakes_are_one_sentence(make: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        make()


# -- actuators ----------------------------------------------------------------------------


@pytest.mark.parametrize("actions", ["discrete", "text"])
def test_every_command_goes_through_an_actuator_without_verbs(actions: str) -> None:
    plain, env = grid(actions=actions), AddActuators(grid(actions=actions), MIRROR)
    plain.reset(seed=1)
    env.reset(seed=1)
    ways = list(BACK)
    for step in range(24):
        way = ways[(step * 7) % 4]
        line = f"move {way}", f"move {BACK[way]}"
        acts: Any = line if actions == "text" else tuple(map(ways_index(plain), line))
        given = {"agent_0": acts[0]}
        one, other = plain.step({"agent_0": acts[1]}), env.step(given)
        assert given == {"agent_0": acts[0]}
        assert plain.digest() == env.unwrapped.digest()
        assert one[1:4] == other[1:4]
        if not env.agents:
            break


def ways_index(env: Any) -> Any:
    commands = [env.world.write(env.world.command(0, i)) for i in range(env.world.num_actions)]
    return commands.index


def test_masks_tell_what_is_legal_once_translated() -> None:
    """Stones on a line: to move right is forbidden in TextRoom where there is no exit east."""
    only = Actuator("north", lambda command, facts: Command("go", {"direction": "north"}))
    env = AddActuators(piase_gym.parallel_env("TextRoom", scenario="lost_key", mask="obs"), only)
    observations, infos = env.reset(seed=0)
    (name,) = env.agents
    assert infos[name]["action_mask"].all()
    assert observations[name]["action_mask"] is infos[name]["action_mask"]
    observations, *_, infos = env.step({name: 0})
    assert env.unwrapped.facts(name).room == "hallway"
    assert not infos[name]["action_mask"].any()
    observations, infos = env.observe_all()
    assert not infos[name]["action_mask"].any()
    assert not observations[name]["action_mask"].any()
    outcome = env.step({name: 0})[-1][name]["outcome"]
    assert outcome == "illegal"


def test_verbs_of_its_own_are_read_and_explained() -> None:
    env = AddActuators(grid(actions="text", start_pos=(3, 2), goal_pos=(5, 4)), LEAP)
    env.reset(seed=0)

    def do(act: Any) -> tuple[tuple[int, int], str, str]:
        info = env.step({"agent_0": act})[-1]["agent_0"]
        place: tuple[int, int] = env.unwrapped.facts("agent_0").position
        return place, str(info["outcome"]), info.get("feedback", "")

    assert "- leap: go west" in env.instructions("agent_0")
    assert "leap" in env.admissible_commands("agent_0")
    assert do("Leap.")[:2] == ((2, 2), "ok")
    assert do("jump")[:2] == ((1, 2), "ok")
    assert do("head north")[:2] == ((1, 1), "ok")
    assert do("head south")[1:] == (
        "unparsable",
        "way cannot be 'south'; allowed: 'west', 'north'",
    )
    assert do(Command("head", {"way": "west"}))[:2] == ((0, 1), "ok")
    assert do("leap") == ((0, 1), "refused", "You cannot leap now.")
    assert "leap" not in env.admissible_commands("agent_0")
    assert do("move right")[:2] == ((1, 1), "ok")
    assert do("dance")[1] == "unparsable"
    with pytest.raises(AgentError, match="agent_7"):
        env.step({"agent_7": "leap"})
    with pytest.raises(ActionError):
        env.step(["leap"])  # type: ignore[arg-type]


def test_what_each_agent_may_do_and_is_told_is_its_own() -> None:
    useless = grid().world.command(0, 5)  # which is illegal here
    lame = Actuator("lame", lambda command, facts: command if facts.position[0] else useless)
    env = AddActuators(grid(agents=2, start_pos=[(3, 2), (0, 0)], goal_pos=(5, 4)), LEAP, lame)
    with pytest.raises(ResetNeededError):
        env.admissible_commands("agent_0")
    _, infos = env.reset(seed=0)
    assert infos["agent_0"]["action_mask"][:5].all()
    assert not infos["agent_1"]["action_mask"].any()
    assert "leap" in env.admissible_commands("agent_0")
    assert env.admissible_commands("agent_1") == []
    for name in env.agents:
        assert env.instructions(name).startswith(env.unwrapped.instructions(name)[:40])
    assert env.instructions("agent_0") != env.instructions("agent_1")
    infos = env.step({"agent_0": 3, "agent_1": 3})[-1]
    assert [str(info["outcome"]) for info in infos.values()] == ["ok", "illegal"]


@pytest.mark.parametrize(
    ("translate", "told"),
    [
        (lambda command, facts: 1 / 0, "'bad' failed .ZeroDivisionError"),
        (lambda command, facts: "move up", "'bad' gave a str, not a Command or None"),
    ],
)
def test_bad_actuators_are_named(translate: Any, told: str) -> None:
    env = AddActuators(grid(), Actuator("bad", translate))
    with pytest.raises(PluginError, match=told):
        env.reset(seed=0)  # masks are of translated commands


@pytest.mark.parametrize("actions", [None, [0], 3])
def test_actions_that_are_no_mapping_are_refused_as_without_actuators(actions: Any) -> None:
    env = AddActuators(grid(), LEAP)
    env.reset(seed=0)
    with pytest.raises(ActionError) as plain:
        env.env.step(actions)
    with pytest.raises(ActionError) as caught:
        env.step(actions)
    assert str(caught.value) == str(plain.value)


def test_what_a_world_does_not_know_is_explained() -> None:
    odd = Actuator("odd", lambda command, facts: Command("fly"), (Verb("fly", "fly"),))
    env = AddActuators(grid(actions="text"), odd)
    env.reset(seed=0)
    info = env.step({"agent_0": "fly"})[-1]["agent_0"]
    assert info["outcome"] == "unparsable"
    assert "unknown action type 'fly'" in info["feedback"]


def test_actuators_follow_each_other() -> None:
    env = grid()
    env.reset(seed=0)
    both = ActuatorSet(env.world, [LEAP, MIRROR])
    assert both.translate(0, Command("head", {"way": "north"})) == Command(
        "move", {"direction": "south"}
    )


def test_logs_hold_what_the_world_got(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AddActuators(AvtLogger(grid(max_steps=12), path), MIRROR)
    env.reset(seed=0)
    while env.agents:
        env.step({"agent_0": 3})
    env.close()
    report = runs.replay(path)
    assert report.ok, report


# -- in a simulation ----------------------------------------------------------------------


class Reader(Agent):
    """Notes what it perceives, and answers in every way there is."""

    answers: tuple[Any, ...] = (
        "leap",
        Command("leap"),
        ActionCommand(action_type="head", parameters={"way": "north"}),
        "move right",
        3,
    )

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Any, ...]] = []
        self.outcomes: list[str] = []

    def act(self) -> Any:
        p = self.percept
        assert p is not None
        self.seen.append((p.readings, p.text, p.vector, p.mask, p.commands, p.instructions))  # type: ignore[attr-defined]
        return self.answers[len(self.seen) - 1]

    def learn(self, feedback: Feedback) -> None:
        self.outcomes.append(str(feedback.outcome))


@pytest.mark.parametrize("time_model", ["discrete_steps", "real_time_ms"])
def test_agents_of_a_simulation_have_them(time_model: str) -> None:
    reader = Reader()
    simulation = Simulation(
        "GridWorld",
        reader,
        seed=0,
        sensors=[PLACE],
        actuators=[LEAP],
        time_model=time_model,
        step_ms=400,
        width=6,
        height=5,
        start_pos=(3, 2),
        goal_pos=(5, 4),
    )
    with simulation:
        simulation.run_simulation(4)
    readings, text, vector, mask, commands, instructions = reader.seen[0]
    assert readings == {"place": (3.0, 2.0)}
    assert text.endswith("\nplace: 3, 2")
    assert vector[-2:].tolist() == [3, 2]
    assert mask.tolist() == [1, 1, 1, 1, 1, 0]
    assert Command("leap") in commands
    assert "head west|north" in instructions
    assert [seen[0]["place"] for seen in reader.seen] == [(3, 2), (2, 2), (1, 2), (1, 1)]
    assert reader.outcomes == ["ok"] * 4


def test_without_them_nothing_is_different() -> None:
    plain = Simulation("piase/TextRoom-Quest-Easy-v3", "random", seed=5, max_steps=20).run()
    same = Simulation(
        "piase/TextRoom-Quest-Easy-v3", "random", seed=5, max_steps=20, actuators=[]
    ).run()
    assert (plain.outcomes, plain.returns) == (same.outcomes, same.returns)
