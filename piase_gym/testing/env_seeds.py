"""Checks of any ParallelEnv: seeds, and what must not depend on anything but seeds."""

from __future__ import annotations

import random
from itertools import chain
from typing import Any

import numpy as np

from piase_gym.core.rng import Stream
from piase_gym.testing.kit import Skip, check, require
from piase_gym.testing.play import (
    go_on,
    last_row,
    opening,
    play,
    played_again,
    record,
    require_same_rows,
)
from piase_gym.testing.processes import SEED, answers_of
from piase_gym.testing.subject import Subject

RESETS = 40
"""Resets after which some episode must have begun differently, even if chance shows late."""


def episode(subject: Subject, env: Any, seed: int | None) -> list[dict[str, Any]]:
    """Return everything that can be seen of a whole episode."""
    return record(env, play(env, seed, **subject.how))


@check("deterministic")
def same_seed_same_episode(subject: Subject) -> None:
    """Two environments with the same seed and actions are alike over whole episodes."""
    one, two = subject.env(), subject.env()
    for seed in (0, 1, 2**31 - 1):
        message = f"with seed {seed}, two environments differ"
        require_same_rows(message, episode(subject, one, seed), episode(subject, two, seed))


@check("deterministic")
def reset_forgets(subject: Subject) -> None:
    """`reset(seed=s)` gives the same episode in a used environment as in a new one."""
    used, message = subject.env(), "an earlier episode changes a later one"
    last_row(used, 7, 9, **subject.how)
    require_same_rows(message, episode(subject, subject.env(), 5), episode(subject, used, 5))


@check("deterministic")
def unseeded_resets_go_on(subject: Subject) -> str:
    """After a seed, resets without one give other episodes, the same in every environment."""
    one, two = subject.env(), subject.env()
    first = [episode(subject, one, seed) for seed in (3, None, None)]
    for number, seed in enumerate((3, None, None)):
        message = f"episode {number} after reset(seed=3) differs"
        require_same_rows(message, first[number], episode(subject, two, seed))
    seeds = [_first_views(subject.env(), seed) for seed in range(6)]
    if all(view == seeds[0] for view in seeds):
        return "all seeds start alike, so episodes cannot be told apart"
    env = subject.env()
    view = _first_views(env, 3)
    same = all(_first_views(env, None) == view for _ in range(RESETS))
    require(not same, "reset() without a seed repeats the same episode again and again")
    return ""


def _first_views(env: Any, seed: int | None) -> Any:
    """Return what is seen in the first rows of an episode, apart from its seed."""
    first = opening(env, seed)
    rows = record(env, chain([first], go_on(env, first, Stream(0), steps=3)))
    return [(row["observations"], row["rewards"], row["state"]) for row in rows]


@check("deterministic")
def other_processes_agree(subject: Subject) -> str:
    """The same seed gives the same episode in other processes, whatever their PYTHONHASHSEED."""
    answers = answers_of(subject, "record")
    here = episode(subject, subject.env(), SEED)
    for there in (answers[1], here):
        message = "processes with other values of PYTHONHASHSEED differ"
        require_same_rows(message, there, answers[0])
    return f"{len(here)} rows in {1 + len(answers)} processes"


@check("deterministic")
def no_global_randomness(subject: Subject) -> None:
    """Neither `random` nor `numpy.random` is drawn from or seeded."""
    kept = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        episode(subject, subject.env(), 4)
        moved = random.getstate() != kept[0]
        require(not moved, "an episode moves the generator of the module random")
        same = repr(np.random.get_state()) == repr(kept[1])  # noqa: NPY002
        require(same, "an episode moves the global generator of numpy.random")
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002


@check("deterministic")
def order_of_actions_is_nothing(subject: Subject) -> None:
    """The order of the keys in the dict of actions changes nothing."""
    one, two, three = (subject.env() for _ in range(3))
    if len(one.possible_agents) < 2:
        raise Skip("there is only one agent")
    rows = list(play(one, 6, unruly=subject.strict))
    turned = [row._replace(given=dict(reversed(row.given.items()))) for row in rows]
    found = played_again(two, 6, rows), played_again(three, 6, turned)
    for recorded in chain(*found):
        del recorded["given"]
    require_same_rows("the order of the keys of the actions matters", *found)
