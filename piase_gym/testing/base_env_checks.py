"""Checks of environments for LLM agents: any subclass of `BaseEnv`."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from piase_gym.core.rng import Stream
from piase_gym.core.world import Capabilities
from piase_gym.interfaces import Action, BaseEnv, Observation, make_base_env
from piase_gym.testing.kit import Skip, check, require
from piase_gym.testing.subject import Subject
from piase_gym.testing.values import plain, require_same, through_json

STEPS = 40
ODD = ("", " ", "qwertyuiop", "x" * 5000, "\x00", "clé 🔑", "-1", "{}", "look\nlook")
"""Actions that make no sense."""


def base_env_subject(
    env: str | Callable[[dict[str, Any]], BaseEnv], config: Mapping[str, Any] | None
) -> Subject:
    """Return a subclass of `BaseEnv` as a subject, by its registered name or its factory."""
    label = env if isinstance(env, str) else getattr(env, "__qualname__", repr(env))

    def make() -> Any:
        own = copy.deepcopy(dict(config or {}))
        made: Any = make_base_env(env, own) if isinstance(env, str) else env(own)
        require(isinstance(made, BaseEnv), f"{label} makes a {type(made).__name__}, no BaseEnv")
        return made

    return Subject(make, label, Capabilities())


class Row(NamedTuple):
    """A reset (without an action) or a step, and what it returned."""

    action: str | None
    observation: Any
    reward: Any = 0.0
    done: Any = False
    info: Any = None


def _words(env: Any) -> list[str]:
    """Return the texts of some actions: what is available, or what the schema lists."""
    available = [action.text for action in env.get_available_actions()]
    if available:
        return available
    properties = env.get_action_space().get("properties", {})
    listed = (row.get("enum") for row in properties.values() if isinstance(row, dict))
    return [str(word) for words in listed if words for word in words] or ["look"]


def _play(env: Any, dice_seed: int, **reset: Any) -> Iterator[Row]:
    """Play an episode at random, or the first steps of it."""
    yield Row(None, env.reset(**reset))
    dice = Stream(dice_seed, 96)
    for _ in range(STEPS):
        words = _words(env)
        word = words[dice.integer(len(words))]
        found = env.step(Action(text=word))
        whole = isinstance(found, tuple) and len(found) == 4
        message = f"step({word!r:.40}) does not return observation, reward, done and info"
        require(whole, message)
        row = Row(word, *found)
        yield row
        if row.done is True:
            return


def _require_observation(value: Any, where: str) -> None:
    """Raise unless a value is an observation of the right types."""
    require(isinstance(value, Observation), f"{where} is a {type(value).__name__}, no Observation")
    kinds = (type(value.structured).__name__, type(value.text).__name__)
    right = isinstance(value.structured, dict) and isinstance(value.text, str)
    require(right, f"{where} holds {kinds[0]} and {kinds[1]}, not dict and str")
    require(value.text or value.structured, f"{where} is empty")


@check()
def reset_observes(subject: Subject) -> None:
    """`reset` returns an Observation of data and text, and `current_observation` is the same."""
    env = subject.env()
    first = env.reset()
    _require_observation(first, "what reset returns")
    require_same("current_observation is not what reset returned", env.current_observation, first)


@check()
def step_answers(subject: Subject) -> str:
    """`step` returns an Observation, a finite reward, a bool and a dict, over whole episodes."""
    ends = 0
    for seed in range(3):
        env = subject.env()
        for row in _play(env, seed):
            where = f"what step({row.action!r:.40}) returns"
            _require_observation(row.observation, where)
            number = isinstance(row.reward, int | float) and not isinstance(row.reward, bool)
            require(number and math.isfinite(row.reward), f"{where} has the reward {row.reward!r}")
            require(type(row.done) is bool, f"{where} has {row.done!r} for done, not a bool")
            good = row.action is None or isinstance(row.info, dict)
            require(good, f"{where} has a {type(row.info).__name__} for info, not a dict")
            now = env.current_observation
            require_same(f"current_observation is not {where}", now, row.observation)
            ends += row.done
    return f"{ends} of 3 episodes came to an end"


@check()
def action_space_is_a_schema(subject: Subject) -> None:
    """`get_action_space` is a JSON Schema, the same before the reset and at every step."""
    env, what = subject.env(), "the action space"
    space = copy.deepcopy(env.get_action_space())
    require(isinstance(space, dict), f"{what} is a {type(space).__name__}, not a dict")
    require(through_json(space, what) == space, f"{what} cannot be written as JSON")
    kinds = ("object", "string", "array", "number", "integer", "boolean")
    require(space.get("type") in kinds, f"{what} has the type {space.get('type')!r}")
    rows = space.get("properties", {})
    schemas = isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values())
    require(schemas, "the properties of the action space are not schemas by name")
    missing = [name for name in space.get("required", []) if name not in rows]
    require(not missing, f"{what} requires {missing}, which it does not describe")
    for _ in _play(env, 0):
        require(env.get_action_space() == space, f"{what} changes in an episode")


@check()
def available_actions_are_taken(subject: Subject) -> str:
    """`get_available_actions` lists different Actions, with and without an info to look at."""
    env, most = subject.env(), 0
    for row in _play(env, 1):
        for listed in (env.get_available_actions(), env.get_available_actions(row.info)):
            require(isinstance(listed, list), f"available actions are a {type(listed).__name__}")
            strange = [a for a in listed if not isinstance(a, Action) or not a.text]
            require(not strange, f"{strange[:1]!r:.60} is listed, which is no Action with a text")
            texts = [action.text for action in listed]
            require(len(set(texts)) == len(texts), "an available action is listed twice")
            most = max(most, len(texts))
    if not most:
        raise Skip("it lists none, which is allowed")
    return f"up to {most} actions"


@check()
def odd_actions_are_answered(subject: Subject) -> None:
    """An action that makes no sense is answered like any other, and raises nothing."""
    for odd in ODD:
        env = subject.env()
        env.reset()
        found = env.step(Action(text=odd))
        shown = f"step({odd!r:.20})"
        require(isinstance(found, tuple) and len(found) == 4, f"{shown} returns {found!r:.40}")
        _require_observation(found[0], f"what {shown} returns")


@check()
def observations_stay(subject: Subject) -> None:
    """An observation that was returned is not changed by later steps and resets."""
    env = subject.env()
    kept = [(row.observation, copy.deepcopy(plain(row.observation))) for row in _play(env, 2)]
    env.reset()
    for number, (observation, before) in enumerate(kept):
        message = f"the observation of step {number} changes afterwards"
        require_same(message, plain(observation), before)


@check()
def episodes_start_over(subject: Subject) -> None:
    """A reset in mid-episode or after the end starts another episode that can be played."""
    env = subject.env()
    for seed in range(3):
        rows = list(_play(env, seed))
        require(len(rows) > 1, "an episode has no step")
        env.reset()
        env.step(Action(text=_words(env)[0]))


@check()
def a_seed_brings_an_episode_back(subject: Subject) -> None:
    """Where `reset` takes a seed, the same seed and actions give the same episode."""
    one, two = subject.env(), subject.env()
    if "seed" not in inspect.signature(one.reset).parameters:
        raise Skip("reset takes no seed")
    list(_play(two, 5))  # a used environment, too
    for a, b in zip(_play(one, 3, seed=7), _play(two, 3, seed=7), strict=True):
        require_same("two environments with the same seed differ", a._asdict(), b._asdict())


@check()
def nothing_is_printed_by_it(subject: Subject) -> None:
    """An episode writes nothing to standard output."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        list(_play(subject.env(), 0))
    require(not out.getvalue(), f"an episode prints {out.getvalue()!r:.60}")
