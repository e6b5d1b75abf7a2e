"""A person in the terminal is an agent like the others."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from piase_gym import Simulation
from piase_gym.agents import HumanAgent, make_agent
from piase_gym.errors import UnsupportedError
from tests.helpers.cli_runner import OnTerminal, piase
from tests.worlds.text_room.helpers import AGENT, SEVEN


def typing(lines: Iterable[str]) -> Callable[[str], str]:
    rest = iter(lines)

    def read(_prompt: str) -> str:
        line = next(rest, None)
        if line is None:
            raise EOFError
        return line

    return read


def person(*lines: str) -> tuple[HumanAgent, io.StringIO]:
    out = io.StringIO()
    return HumanAgent(read=typing(lines), out=out), out


def test_a_person_wins_the_lost_key() -> None:
    agent, out = person(*SEVEN)
    summary = Simulation("lost_key", agent).run()
    assert summary.won
    assert summary.steps == 7
    told = out.getvalue()
    assert told.count("(ok, reward") == 7
    assert told.startswith(f"Type commands for {AGENT}; ? tells the rules.\n\nYou are {AGENT}")


def test_mistakes_are_explained_and_cost_nothing() -> None:
    agent, out = person("dnace", "go up", "take old_document", "?", "", *SEVEN)
    summary = Simulation("lost_key", agent).run()
    assert summary.steps == 8
    assert summary.outcomes[AGENT] == {"ok": 8}
    told = out.getvalue()
    assert "I do not know how to 'dnace'" in told
    assert "no way up" in told or "cannot go up" in told
    assert "Possible now: " in told
    assert "go north" in told.split("Possible now: ")[1]


def test_the_end_of_input_stops_cleanly() -> None:
    agent, _ = person("go north")
    summary = Simulation("lost_key", agent).run(episodes=3)
    assert (summary.steps, summary.stopped) == (1, "interrupted")


def test_a_person_plays_beside_others() -> None:
    agent, out = person(*["wait"] * 3)
    simulation = Simulation("stone_gate", {"ada": agent, "bela": "random"}, seed=1)
    simulation.run_simulation(3)
    assert out.getvalue().count("(ok, reward") == 3


def test_a_person_needs_something_to_look_at() -> None:
    with pytest.raises(UnsupportedError, match="call perceive first"):
        HumanAgent().act()


def test_its_name_is_human() -> None:
    assert isinstance(make_agent("human"), HumanAgent)


# -- on the command line ------------------------------------------------------------------


def test_piase_run_asks_a_person() -> None:
    lines = "\n".join(["sing", *SEVEN]) + "\n"
    done = piase("run", "lost_key", "--agent", "human", stdin=lines)
    assert done.returncode == 0, done.stderr
    assert "The Lost Key: won after 7 steps" in done.stdout
    assert "I do not know how to 'sing'" in done.stdout


def test_piase_run_on_a_terminal() -> None:
    with OnTerminal("run", "stone_gate", "--agent", "ada=human") as terminal:
        terminal.expect("Type commands for ada", "ada>")
        terminal.press("look\n")
        shown: Any = terminal.expect("(ok, reward", "ada>")
        assert "Traceback" not in shown
        terminal.press("\x04")
        terminal.expect("interrupted")
        assert terminal.finish() == 130
