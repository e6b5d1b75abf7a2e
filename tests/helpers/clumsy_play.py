"""Episodes in which agents do what can be done, and as often what cannot."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import piase_gym
from piase_gym import scenarios
from piase_gym.agents import Percept, make_agent
from piase_gym.agents.base import ask
from piase_gym.core.commands import Command, Param

WORDS = ("Is anybody here?", "I have found it.")
LINES = ("", "dance", "take nothing", "go nowhere", "forward 0.3", "turn left 30", "face wall")


def clumsy_line(env: Any, text: str, dice: random.Random) -> str:
    """Return a command of the grammar about what a text names, or about anything that there is."""
    names = [name.partition(" (")[0].replace("_", " ") for name in env.world.objects()]
    if dice.random() < 0.7:
        names = [name for name in names if name in text] or names
    verb = dice.choice(env.world.grammar)
    values = {
        param.name: _value(param, names, dice)
        for param in verb.params
        if not param.optional or dice.random() < 0.5
    }
    line: str = env.world.write(Command(verb.name, values))
    return line


def _value(param: Param, names: list[str], dice: random.Random) -> Any:
    if param.choices:
        return dice.choice(param.choices)
    if param.kind in ("integer", "number"):
        low, high = int(param.minimum or 0), int(param.maximum or 4)
        return dice.randint(low, min(high, low + 9))
    return dice.choice(WORDS if param.kind == "text" else names)


def told(
    fields: Mapping[str, Any], episodes: int = 3, steps: int = 60
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield prompts and observations, each with the names of the agents.

    Args:
        fields: A config with its ``world``, and a ``scenario`` that it changes. The ``player`` is a
            policy that plays most steps, for what clumsiness alone does not come to.
        episodes: How many episodes, with seeds from 0 on.
        steps: Steps of each, at most.
    """
    given = dict(fields)
    world, scenario = given.pop("world"), given.pop("scenario", None)
    player = given.pop("player", None)
    given = {**(scenarios.load(scenario).fields if scenario else {}), **given}
    env = piase_gym.parallel_env(world, view="text", actions="text", **given)
    names, dice = tuple(env.possible_agents), random.Random(1)
    for seed in range(episodes):
        shown, _ = env.reset(seed=seed)
        players = {name: make_agent(player) for name in names} if player else {}
        for seat, agent in enumerate(players.values()):
            agent.reset(seat)
        yield from ((env.instructions(name), names) for name in names)
        for step in range(steps):
            yield from ((text, names) for text in shown.values())
            if not env.agents:
                break
            acts = {name: _line(env, name, shown[name], dice) for name in env.agents}
            for name, agent in players.items():
                agent.perceive(Percept(env.world, names.index(name), step))
                if step % 8 and name in acts:
                    (acts[name],) = ask([agent])
            shown, *_ = env.step(acts)
    env.close()


def _line(env: Any, agent: str, text: str, dice: random.Random) -> str:
    chance = dice.random()
    if chance < 0.5:
        line: str = dice.choice(env.admissible_commands(agent))
        return line
    return clumsy_line(env, text, dice) if chance < 0.95 else dice.choice(LINES)
