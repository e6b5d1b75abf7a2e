"""Characters and people: where they walk, and what they are told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import piase_gym
from piase_gym.agents.base import Feedback
from piase_gym.agents.human import HumanAgent
from piase_gym.core.commands import Command, Outcome
from piase_gym.errors import ConfigError, UnsupportedError
from tests import probes
from tests.helpers.percepts import percept_of

probes.register()


def test_a_character_walks_around_others_to_where_it_is_to_be() -> None:
    from piase_gym.agents.character import _fits, _GridPlace

    assert _fits("Bread", "I have BREAD here")
    assert not _fits("bread", "cake")
    assert _fits(3, 3)
    assert not _fits(3, "3")
    env = piase_gym.parallel_env(
        "GridWorld", agents=2, width=5, height=4, start_pos=[(0, 0), (1, 0)], goal_pos=(4, 3)
    )
    env.reset(seed=0)
    place = _GridPlace(env.world, 0)
    assert place.here == (0, 0)
    assert place.near() == ["agent_1"]
    assert place.towards((0, 0)) == env.world.noop
    assert place.towards((3, 0)) == Command("move", {"direction": "down"})
    assert place.towards((1, 0)) == env.world.noop  # somebody stands there
    assert place.towards((9, 9)) == env.world.noop


def test_a_person_is_told_what_a_command_does() -> None:
    import io

    lines, out = iter(["?", "fly", ""]), io.StringIO()
    agent = HumanAgent("agent_0", read=lambda prompt: next(lines), out=out)
    agent.reset(0)
    agent.percept = percept_of("GridWorld", start_pos=(0, 0), goal_pos=(1, 1))
    assert agent.act() == agent.percept.world.noop
    said = out.getvalue()
    assert said.startswith("Type commands for agent_0; ? tells the rules.\n\n")
    assert "Possible now: " in said
    out.truncate(0)
    out.seek(0)
    agent.learn(Feedback(0.5, False, False, Outcome.OK))
    assert out.getvalue() == "(ok, reward 0.5)\n"
    lines = iter([""])
    agent._read = lambda prompt: next(lines)
    agent.act()
    assert "Type commands" not in out.getvalue()
    agent.reset(1)
    lines = iter([""])
    agent.act()
    assert "Type commands" in out.getvalue()
    agent.percept = None
    with pytest.raises(UnsupportedError, match="a person acts on a Percept"):
        agent.act()


def test_a_script_of_what_a_person_types_may_end() -> None:
    import io

    lines, out = iter(["stay", "stay"]), io.StringIO()
    person = HumanAgent(read=lambda prompt: next(lines), out=out)
    summary = piase_gym.Simulation("GridWorld", person, seed=0).run()
    assert (summary.steps, summary.stopped) == (2, "interrupted")


@pytest.mark.parametrize("line", [None, 5, b"stay"])
def test_what_is_read_must_be_a_line(line: Any) -> None:
    person = HumanAgent(read=lambda prompt: line)
    with pytest.raises(ConfigError, match="a person types a line"):
        piase_gym.Simulation("GridWorld", person, seed=0).run()
    with pytest.raises(ConfigError, match="read is a function"):
        HumanAgent(read=line or "stay")  # type: ignore[arg-type]


def test_only_so_many_commands_are_listed_for_a_person() -> None:
    agent = HumanAgent()
    words = [Command("say", {"word": f"w{number}"}) for number in range(26)]
    percept: Any = SimpleNamespace(
        commands=words,
        world=SimpleNamespace(write=lambda c: f"{c.parameters['word']} {'x' * (1 + len(c.verb))}"),
    )
    told = agent._possible(percept)
    assert told.count(";") == 23
    assert told.endswith(" and 2 more")
    percept.commands = words[:24]
    assert "more" not in agent._possible(percept)
