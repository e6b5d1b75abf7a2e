"""Checks of any ParallelEnv: spaces, and who is in play when."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from contextlib import nullcontext

import numpy as np
from gymnasium import spaces

from piase_gym.core.rng import Stream
from piase_gym.testing.kit import Fault, Skip, check, require
from piase_gym.testing.play import (
    Row,
    draw,
    episodes,
    last_row,
    mask_of,
    opening,
    play,
    replay,
    spaces_of,
    state_of,
    step,
)
from piase_gym.testing.subject import Subject
from piase_gym.testing.values import require_inside, require_same

SEEDS = (0, 1, 2)
PARTS = ("observations", "rewards", "terminated", "truncated", "infos")


@check()
def names_are_listed(subject: Subject) -> None:
    """`possible_agents` lists different names, before and after the first reset alike."""
    env = subject.env()
    names = list(env.possible_agents)
    require(names, "possible_agents is empty")
    require(len(set(names)) == len(names), f"possible_agents has a name twice: {names}")
    opening(env, 0)
    require(list(env.possible_agents) == names, "possible_agents has changed at the reset")


@check()
def spaces_stay(subject: Subject) -> None:
    """Each space is one object for the environment's life: at each call, over resets and steps."""
    env = subject.env()
    first = spaces_of(env)
    for when in ("at the second call", "after the reset", "after some steps", "after a new reset"):
        if when != "at the second call":
            last_row(env, 1, 5 if "steps" in when else 0, unruly=subject.strict)
        for name, space in spaces_of(env).items():
            require(space is first[name], f"{name} is another object {when}")


@check()
def reset_answers_all(subject: Subject) -> None:
    """`reset` gives an observation and an info to exactly the agents in play, and some are."""
    env = subject.env()
    for seed in SEEDS:
        row = opening(env, seed)
        require(row.after, f"nobody is in play after reset(seed={seed})")
        strangers = [name for name in row.after if name not in env.possible_agents]
        require(not strangers, f"{strangers} are in play, but not among the possible agents")
        for part in ("observations", "infos"):
            _require_keys(row, part, set(row.after))


@check()
def observations_fit(subject: Subject) -> None:
    """Every observation is in its space, at the reset and at every step of whole episodes."""
    env = subject.env()
    for row in episodes(env, SEEDS, **subject.how):
        for name, value in row.observations.items():
            message = f"at step {row.step} the observation of {name}"
            require_inside(env.observation_space(name), value, message)


@check()
def state_fits(subject: Subject) -> None:
    """`state()` is in `state_space` at the reset and at every step of whole episodes."""
    env = subject.env()
    opening(env, 0)
    if state_of(env) is None:
        raise Skip("it has no global state")
    space = getattr(env, "state_space", None)
    require(isinstance(space, spaces.Space), "there is a state(), but no state_space")
    for row in episodes(env, SEEDS, **subject.how):
        require_inside(space, env.state(), f"at step {row.step} state()")


@check()
def five_dicts(subject: Subject) -> None:
    """`step` answers, in five dicts, exactly the agents that acted and those that enter then."""
    for row in episodes(subject.env(), SEEDS, **subject.how):
        for part in PARTS if row.step else ():
            _require_keys(row, part, {*row.before, *row.after})


def _require_keys(row: Row, part: str, expected: set[str]) -> None:
    """Require that a part of a row is a dict with an entry for each of these agents."""
    found = getattr(row, part)
    require(isinstance(found, dict), f"at step {row.step}, {part} is no dict")
    missing, extra = expected - set(found), set(found) - expected
    if missing or extra:
        what = f"lacks {sorted(missing)}" if missing else f"has {sorted(extra)}, not in play"
        raise Fault(f"at step {row.step}, {part} {what}")


@check()
def agents_follow_ends(subject: Subject) -> str:
    """`agents` loses whoever ends, at once and for good, and nobody else; orders do not change."""
    env = subject.env()
    together = apart = 0
    gone: set[str] = set()
    for row in episodes(env, SEEDS, **subject.how):
        where, gone = f"at step {row.step}", gone if row.step else set()
        order = [name for name in env.possible_agents if name in row.after]
        require(row.after == order, f"agents are {row.after}, not in the order of possible_agents")
        ended = {n for n in row.before if row.terminated[n] or row.truncated[n]}
        for name in row.after:
            require(name not in ended, f"{where} {name} has ended, but is still in agents")
            require(name not in gone, f"{where} {name} is back in play, though it had ended")
        vanished = [name for name in row.before if name not in ended and name not in row.after]
        require(not vanished, f"{where} {vanished} left agents without an end")
        gone |= ended
        together += len(ended) > 1
        apart += bool(ended) and bool(row.after)
    return f"{together} simultaneous and {apart} staggered ends in {len(SEEDS)} episodes"


@check()
def rewards_and_ends_are_plain(subject: Subject) -> None:
    """Rewards are finite numbers, ends are booleans, and infos are dicts that can be pickled."""
    for row in play(subject.env(), 1, **subject.how):
        where = f"at step {row.step}"
        for name in row.before:
            reward = row.rewards[name]
            number = isinstance(reward, int | float | np.number) and math.isfinite(reward)
            require(number, f"{where} the reward of {name} is {reward!r}, no finite number")
            for ends in (row.terminated, row.truncated):
                flag = isinstance(ends[name], bool | np.bool_)
                require(flag, f"{where} an end of {name} is {ends[name]!r}, no boolean")
        for name, info in row.infos.items():
            what = f"{where} the info of {name}"
            require(isinstance(info, Mapping), f"{what} is no dict")
            try:
                again = pickle.loads(pickle.dumps(info))
            except Exception as error:
                raise Fault(f"{what} cannot be pickled: {error}") from None
            require_same(f"{what} is another one when it was pickled", info, again)


@check()
def masks_fit(subject: Subject) -> str:
    """A mask has a 0 or 1 for each action, allows something, and what it allows is accepted."""
    env, masks = subject.env(), 0
    for row in play(env, 2, steps=60, **subject.how):
        for name in row.after:
            mask, space = mask_of(row, name), env.action_space(name)
            if mask is None or not isinstance(space, spaces.Discrete):
                continue
            masks += 1
            bits, what = np.asarray(mask), f"at step {row.step} the mask of {name}"
            size = int(space.n)
            require(bits.shape == (size,), f"{what} has the shape {bits.shape}, not ({size},)")
            require(bool(np.isin(bits, (0, 1)).all()), f"{what} holds something but 0 and 1")
            require(bits.any(), f"{what} allows nothing")
    if not masks:
        raise Skip("it has no action masks")
    tried = sum(_try_allowed(subject, seed) for seed in SEEDS)
    return f"{masks} masks, {tried} allowed actions tried"


def _try_allowed(subject: Subject, seed: int, steps: int = 6) -> int:
    """Try every action that the masks of an early step allow, each from the same state.

    A snapshot brings the state back, where there is one, and else it is played to once more in a
    new environment; that takes long where thousands of actions are allowed.
    """
    env, tried = subject.env(), 0
    rows = list(play(env, seed, steps=steps))
    saved = env.snapshot() if subject.strict and subject.capabilities.snapshot else None
    kept = None if saved is None else subject.env()
    masks = {name: mask_of(rows[-1], name) for name in rows[-1].after}
    for name, mask in masks.items():
        for index in [] if mask is None else np.asarray(mask).nonzero()[0].tolist():
            given = {n: draw(env, n, masks[n], Stream(seed), False) for n in masks}
            given[name] = int(env.action_space(name).start) + index
            what = f"action {index}, which the mask of {name} allows after {steps} steps,"
            with nullcontext(kept) if kept else subject.for_a_moment() as twin:
                if kept:
                    twin.restore(saved)
                else:
                    list(replay(twin, seed, rows))
                try:
                    row = step(twin, steps + 1, given)
                except Fault as fault:
                    raise Fault(f"{what} is an error: {fault}") from None
            outcome = row.infos[name].get("outcome")
            require(outcome != "illegal", f"{what} is called illegal")
            tried += 1
    return tried
