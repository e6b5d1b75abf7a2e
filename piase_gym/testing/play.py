"""Episodes for checks: actions from our own random stream, and what was seen, as plain values."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from gymnasium import spaces

from piase_gym.core.rng import Stream
from piase_gym.testing.kit import Fault, require
from piase_gym.testing.values import difference, plain

T = TypeVar("T")
WHOLE = 300
"""Steps after which a check stops waiting for an episode's end."""
HINT = "turn left {step} times: clé \\ \n!"


class Row(NamedTuple):
    """A reset (step 0) or a step: what went in and what came out."""

    step: int
    given: dict[str, Any]
    before: list[str]
    observations: Any
    rewards: Any
    terminated: Any
    truncated: Any
    infos: Any
    after: list[str]


def mask_of(row: Row, agent: str) -> Any:
    """Return an agent's action mask from its info or its observation, or ``None``."""
    for source in (row.infos, row.observations):
        entry = source.get(agent) if isinstance(source, Mapping) else None
        if isinstance(entry, Mapping) and entry.get("action_mask") is not None:
            return entry["action_mask"]
    return None


def draw(env: Any, agent: str, mask: Any, dice: Stream, unruly: bool) -> Any:
    """Draw one action for an agent; an unruly one ignores its mask one time in eight."""
    space = env.action_space(agent)
    if isinstance(space, spaces.Discrete):
        options = range(int(space.n)) if mask is None else np.asarray(mask).nonzero()[0].tolist()
        if unruly and dice.integer(8) == 0:
            options = range(int(space.n))
        if not options:
            raise Fault(f"the mask of {agent}, which is in play, allows no action at all")
        return int(space.start) + int(options[dice.integer(len(options))])
    if isinstance(space, spaces.Text) and hasattr(env, "admissible_commands"):
        lines = env.admissible_commands(agent)
        return lines[dice.integer(len(lines))]
    twin = copy.deepcopy(space)
    twin.seed(dice.integer(2**31 - 1))
    return twin.sample()


def some(values: list[T], most: int, dice: Stream) -> list[T]:
    """Return a list, or `most` different entries of a longer one."""
    if len(values) <= most:
        return values
    shuffled = list(values)
    dice.shuffle(shuffled)
    return shuffled[:most]


def opening(env: Any, seed: int | None) -> Row:
    """Reset an environment."""
    found = env.reset(seed=seed)
    if not isinstance(found, tuple) or len(found) != 2:
        raise Fault("reset does not return a pair of observations and infos")
    return Row(0, {}, [], found[0], {}, {}, {}, found[1], list(env.agents))


def step(env: Any, number: int, given: Mapping[str, Any]) -> Row:
    """Take one step."""
    before = list(env.agents)
    try:
        found = env.step(dict(given))
    except Exception as error:
        shown = f"with the actions {given!r:.80}"
        raise Fault(f"step {number} {shown} raises {type(error).__name__}: {error}") from error
    if not isinstance(found, tuple) or len(found) != 5:
        raise Fault("step does not return observations, rewards, two kinds of ends and infos")
    return Row(number, dict(given), before, *found, list(env.agents))


def go_on(
    env: Any, row: Row, dice: Stream, *, steps: int = WHOLE, unruly: bool = False
) -> Iterator[Row]:
    """Play on at random after a row."""
    for number in range(row.step + 1, row.step + 1 + steps):
        if not env.agents:
            return
        masks = {agent: mask_of(row, agent) for agent in env.agents}
        given = {a: draw(env, a, masks[a], dice, unruly) for a in env.agents}
        row = step(env, number, given)
        yield row


def play(
    env: Any, seed: int | None = 0, *, steps: int = WHOLE, unruly: bool = False, hints: bool = False
) -> Iterator[Row]:
    """Play an episode at random, with hints now and then; the first row is the reset."""
    first = opening(env, seed)
    yield first
    dice = Stream(seed or 0, 99)
    for row in go_on(env, first, dice, steps=steps, unruly=unruly):
        yield row
        if hints and row.step % 5 == 3 and env.agents:
            env.give_hint(env.agents[row.step % len(env.agents)], HINT.format(step=row.step))


def episodes(env: Any, seeds: Iterable[int], **how: Any) -> Iterator[Row]:
    """Play an episode of each seed; the arguments are those of `play`."""
    for seed in seeds:
        yield from play(env, seed, **how)


def last_row(env: Any, seed: int, steps: int, **how: Any) -> Row:
    """Play some steps and return the last row."""
    return list(play(env, seed, steps=steps, **how))[-1]


def replay(env: Any, seed: int | None, rows: Iterable[Row]) -> Iterator[Row]:
    """Reset and repeat the actions of other rows, as long as the same agents are in play."""
    yield opening(env, seed)
    for row in islice(rows, 1, None):
        if env.agents != row.before:
            return
        yield step(env, row.step, row.given)


def played_again(env: Any, seed: int | None, rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return everything that can be seen when the actions of other rows are repeated."""
    return record(env, replay(env, seed, rows))


def state_of(env: Any) -> Any:
    """Return the global state, or ``None`` where the environment has none."""
    try:
        return env.state()
    except (AttributeError, NotImplementedError):
        return None
    except TypeError:
        if hasattr(env, "state_space"):
            raise
        return None  # PettingZoo's own wrappers may call something that is not a function here


def seen(env: Any, row: Row) -> dict[str, Any]:
    """Return everything that can be seen of a row, as plain values."""
    parts = {name: plain(value) for name, value in row._asdict().items() if name != "before"}
    parts["order"] = list(row.observations) if isinstance(row.observations, Mapping) else []
    parts["state"] = plain(state_of(env))
    if hasattr(env, "digest"):
        parts["digest"] = env.world.digest()
    return parts


def record(env: Any, rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return everything that can be seen of an episode as it is played."""
    return [seen(env, row) for row in rows]


def require_same_rows(told: str, one: list[dict[str, Any]], two: list[dict[str, Any]]) -> None:
    """Raise a `Fault` that says where two recorded episodes first differ, if they do."""
    for a, b in zip(one, two, strict=False):
        found = difference(a, b)
        require(found is None, f"{told}: at step {a['step']}, {found}")
    counts = f"one episode has {len(one)} rows, the other {len(two)}"
    require(len(one) == len(two), f"{told}: {counts}")


def require_alike(told: str, one: Any, two: Any, seed: int | None, rows: Sequence[Row]) -> None:
    """Require that two environments show the same under the actions of other rows."""
    require_same_rows(told, played_again(one, seed, rows), played_again(two, seed, rows))


def spaces_of(env: Any) -> dict[str, Any]:
    """Return the spaces of all agents."""
    kinds = ("action_space", "observation_space")
    return {f"{k}({n!r})": getattr(env, k)(n) for k in kinds for n in env.possible_agents}


def present_row(env: Any) -> Row:
    """Return a row from which a world's environment can be played on without a reset."""
    world = env.world
    infos: dict[str, Any] = {}
    if world.capabilities.discrete:
        masks = world.masks()
        infos = {name: {"action_mask": masks[i]} for i, name in enumerate(world.agents)}
    return Row(env.runner.steps, {}, [], {}, {}, {}, {}, infos, list(env.agents))


def continued(env: Any, seed: int, steps: int = WHOLE) -> list[dict[str, Any]]:
    """Play on from now and return everything that can be seen of it."""
    return record(env, go_on(env, present_row(env), Stream(seed, 5), steps=steps, unruly=True))
