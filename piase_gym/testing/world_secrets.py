"""Checks of worlds: what an agent cannot know does not show in any answer."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from itertools import islice
from typing import Any

from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.rng import Stream
from piase_gym.core.world import World
from piase_gym.testing.kit import check
from piase_gym.testing.play import play, some
from piase_gym.testing.subject import Subject
from piase_gym.testing.values import alike, difference, plain, require_same

AnyWorld = World[Any, Any]
SEEDS = (0, 1)
STEPS = 8
MOST = 120
"""Commands of each kind that are judged in a pair of states."""
PLAYED = 10
"""Acts that are carried out in a pair of states."""
PAIRS = 24
"""Pairs of states that are compared for one seed."""
ODD = ("", "take zebra", "take", "look at zebra", "go zebra", "tell zebra hello", "42")
ACCEPTED = (Outcome.OK, Outcome.FAILED)


@check()
def secrets_are_kept(subject: Subject) -> str:
    """Twin states, which differ in what an agent cannot know alone, answer its every act alike."""
    env, dice, pairs, acts = subject.env(), Stream(7, 1), 0, 0
    for seed in SEEDS:
        for world, twin, agent, where in islice(_twins(env, seed), PAIRS):
            _require_alike(f"{where} is told", known(world, agent), known(twin, agent))
            acts += _compare_acts(world, twin, agent, where, dice)
            pairs += 1
            twin.close()
    return f"{acts} acts in {pairs} pairs" if pairs else "nothing is hidden from anybody"


def _twins(env: Any, seed: int) -> Iterator[tuple[AnyWorld, AnyWorld, int, str]]:
    """Play an episode at random and yield the world, a twin, its agent, and when that was."""
    for row in play(env, seed, steps=STEPS, unruly=True):
        world = env.world
        for agent, name in enumerate(world.agents):
            twin = world.twin(agent) if world.alive[agent] else None
            if twin is not None:
                yield world, twin, agent, f"at step {row.step} of seed {seed}, {name}"


def _require_alike(told: str, one: Any, two: Any) -> None:
    """Require that two answers are the same."""
    require_same(f"{told} what it cannot know", one, two)


def known(world: AnyWorld, agent: int) -> dict[str, Any]:
    """Return all that an agent is told without acting."""
    facts, claims = world.facts(agent), world.capabilities
    return {
        "facts": facts,
        "text": world.text(facts),
        "native text": world.native_text(agent) if claims.native_text else None,
        "vector": world.vectors()[agent],
        "mask": world.masks()[agent] if claims.discrete else None,
        "commands": world.admissible(agent),
        "surroundings": world.surroundings(facts),
        "position": world.position(agent),
        "instructions": world.instructions(agent),
        "tools": world.tools(agent),
    }


def _compare_acts(world: AnyWorld, twin: AnyWorld, agent: int, where: str, dice: Stream) -> int:
    """Judge many acts in both worlds, and carry some of them out."""
    acts = list(dict.fromkeys(_acts(world, twin, agent, dice)))  # twins name many of them twice
    for act in acts:
        _require_alike(
            f"{where} learns from {act!r:.60}", judged(world, agent, act), judged(twin, agent, act)
        )
    for _ in range(PLAYED):
        _compare_step(world, twin, agent, acts[dice.integer(len(acts))], where)
    return len(acts)


def judged(world: AnyWorld, agent: int, act: Any) -> Command | InvalidAction | None:
    """Return how a world judges an act before anybody acts."""
    return world.decode(agent, world.read(agent, act) if isinstance(act, str) else act)


def _acts(world: AnyWorld, twin: AnyWorld, agent: int, dice: Stream) -> Iterator[Any]:
    """Yield indices, commands and lines: about what exists in either world, and nonsense."""
    yield from ODD
    for one in (world, twin):
        if world.capabilities.discrete:
            indices = range(world.num_actions)
            chosen = some(list(indices), MOST, dice)
            yield from chosen
            listed = [one.command(agent, index) for index in chosen]
            commands = [command for command in listed if isinstance(command, Command)]
        else:
            commands = some(one.admissible(agent), MOST, dice)
        for command in commands:
            yield Command(command.verb, dict(command.parameters))
            line = one.write(command)
            yield line
            words = line.replace("_", " ").split()
            if len(words) > 2:  # only by the last word of its name
                yield f"{words[0]} {words[-1]}"


def _compare_step(world: AnyWorld, twin: AnyWorld, agent: int, act: Any, where: str) -> None:
    """Carry out an act in both worlds; the answers are alike, unless the agent now sees more."""
    pair = [copy.deepcopy(world), copy.deepcopy(twin)]
    ends = [_answer(one, agent, act) for one in pair]
    rejected = any(end["outcome"] not in ACCEPTED for end in ends)
    perceived = [_perceived(one, agent) for one in pair]
    if rejected or alike(*perceived) or difference(*map(plain, perceived)) is None:
        after = [{**end, **known(one, agent)} for one, end in zip(pair, ends, strict=True)]
        _require_alike(f"{where} learns from doing {act!r:.60}", *after)
    for one in pair:
        one.close()


def _answer(world: AnyWorld, agent: int, act: Any) -> dict[str, Any]:
    """Let one agent act and the others rest; return the result."""
    acts: list[Any] = [world.noop if alive else None for alive in world.alive]
    acts[agent] = world.read(agent, act) if isinstance(act, str) else act
    result = world.step(acts)
    return {
        "outcome": result.outcomes[agent],
        "reward": result.rewards[agent],
        "ends": (result.terminated[agent], result.truncated[agent]),
        "info": result.notes.get(agent, {}),
    }


def _perceived(world: AnyWorld, agent: int) -> dict[str, Any]:
    """Return the facts without what was said about the last act."""
    facts = world.facts(agent)
    fields = {field.name: getattr(facts, field.name) for field in dataclasses.fields(facts)}
    return {name: value for name, value in fields.items() if name not in ("feedback", "hint")}
