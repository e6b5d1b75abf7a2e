"""One rule for what language models answer, in every world, told in its prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import piase_gym
from piase_gym import shipped
from piase_gym.core.answers import HOW_TO_ANSWER
from piase_gym.core.commands import Outcome

NAMES = [row.name for row in shipped.WORLDS if row.missing is None]


@pytest.fixture(params=NAMES)
def env(request: pytest.FixtureRequest) -> Iterator[Any]:
    told = {"feedback": "explain"} if request.param == "Household" else {}
    made = piase_gym.parallel_env(request.param, view="text", actions="text", **told)
    made.reset(seed=5)
    yield made
    made.close()


def two_commands(env: Any) -> tuple[str, str]:
    """Return two commands of an agent that are not each other's beginning."""
    lines = env.admissible_commands(env.agents[0])
    first = lines[0]
    return first, next(line for line in lines[1:] if first not in line and line not in first)


def answered(env: Any, reply: str) -> tuple[str, str, str]:
    """Let the first agent answer; returns the outcome, the command that was understood, and why."""
    me, *others = env.agents
    idle = env.world.write(env.world.noop)
    *_, infos = env.step({me: reply, **dict.fromkeys(others, idle)})
    last = env.world.last_steps()[env.world.agents.index(me)]
    return infos[me]["outcome"], last.command, infos[me].get("feedback", "")


def test_the_rule_is_told(env: Any) -> None:
    assert HOW_TO_ANSWER in env.instructions(env.agents[0])


def test_of_two_commands_the_last_that_is_marked_counts_or_none(env: Any) -> None:
    one, two = two_commands(env)
    outcome, command, why = answered(env, f"{one}\n{two}")
    assert (outcome, command) == (Outcome.UNPARSABLE, "")
    assert "several commands" in why
    _, command, _ = answered(env, f"Action: {one}\nNo, better:\nAction: {two}")
    assert env.world.read(0, command) == env.world.read(0, two)


def test_what_follows_a_made_up_observation_is_not_read(env: Any) -> None:
    one, two = two_commands(env)
    _, command, _ = answered(env, f"Action: {one}\nObservation: it worked.\nAction: {two}")
    assert env.world.read(0, command) == env.world.read(0, one)


def test_long_thoughts_are_passed_over_and_endless_ones_are_too_long(env: Any) -> None:
    one, _ = two_commands(env)
    thought = "I wonder what to do. " * 500
    outcome, command, _ = answered(env, f"<think>{thought}</think>\nAction: {one}")
    assert outcome not in (Outcome.UNPARSABLE, Outcome.TOO_LONG)
    assert env.world.read(0, command) == env.world.read(0, one)
    assert answered(env, f"{thought * 2}\nAction: {one}")[:2] == (Outcome.TOO_LONG, "")


def test_other_languages_are_unparsable(env: Any) -> None:
    for line in (
        "gehe nach Norden",
        "\u5411\u5317\u8d70",
        "prends la cl\u00e9, s'il te pla\u00eet",
    ):
        if not env.agents:
            break
        assert answered(env, f"Action: {line}")[:2] == (Outcome.UNPARSABLE, "")
