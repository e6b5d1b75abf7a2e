"""Random values for a few fields: whatever plays is read back, logged, restored and batched alike.

Fields are drawn from their types and bounds, so that most configs are allowed; `test_config_fuzz`
draws values that are not.
"""

from __future__ import annotations

import json
import random
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import annotated_types as limits
import numpy as np
import pytest

import piase_gym
from piase_gym import registry, runs
from piase_gym.errors import (
    ConfigError,
    EnvelopeError,
    GenerationError,
    MissingExtraError,
    UnsupportedError,
)
from piase_gym.worlds.array_world import ArrayWorld
from piase_gym.wrappers import AvtLogger
from tests.helpers.needs import need

REFUSED = (ConfigError, EnvelopeError, GenerationError, MissingExtraError, UnsupportedError)
WORLDS = (
    *("GridWorld", "Household", "ObjectSearch", "PhysicsPlayground", "SocialDilemma"),
    *("SqlQuery", "TextRoom", "WordCraft"),
)
PLAYED, STEPS, CUT = 25, 14, 4
"""How many configs of a world are played, for how many steps, and after how many is a snapshot."""
NOTHING = object()


def draw(rng: random.Random, kind: Any, marks: Any = ()) -> Any:
    """Draw a value of a type; `NOTHING` for types that are not made of numbers and words."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return draw(rng, parts[0], parts[1:])
    if origin in (Union, types.UnionType):
        return draw(rng, rng.choice(parts), marks)
    if origin is Literal:
        return rng.choice(parts)
    if kind is type(None):
        return None
    if kind is bool:
        return rng.random() < 0.6
    if kind in (int, float):
        least: Any = next((m.ge for m in marks if isinstance(m, limits.Ge)), 0)
        most: Any = next((m.le for m in marks if isinstance(m, limits.Le)), 12)
        value = rng.uniform(least, min(most, least + rng.choice((2, 6, 14))))
        return kind(round(value, 2)) if kind is float else round(value)
    if origin in (tuple, list):
        many = origin is list or parts[1:] == (Ellipsis,)
        inner = [parts[0]] * rng.randrange(4) if many else parts
        found = [draw(rng, part) for part in inner]
        return NOTHING if any(value is NOTHING for value in found) else found
    return NOTHING


def drawn_config(world: str, seed: int) -> dict[str, Any]:
    """Draw some fields of a world's config."""
    rng, spec = random.Random(seed), registry.world_spec(world)
    kind = registry.load(spec.config, spec)
    hints = get_type_hints(kind, include_extras=True)
    names = sorted(set(kind.model_fields) - {"envelope", "script", "max_steps"})
    found: dict[str, Any] = {"max_steps": rng.choice((6, 25))}
    for name in rng.sample(names, rng.randint(1, 7)):
        value = draw(rng, hints[name], kind.model_fields[name].metadata)
        if value is not NOTHING:
            found[name] = value
    return found


def acts_of(env: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Let all agents in play act: by index, legal or not, or by a line of text."""
    world, found = env.world, {}
    for name in env.agents:
        number = world.agents.index(name)
        legal, lines = np.flatnonzero(world.masks()[number]), world.admissible_lines(number)
        luck = rng.random()
        if luck < 0.2 and lines:
            found[name] = world.read(number, lines[rng.integers(len(lines))])
        elif luck < 0.8 and legal.size:
            found[name] = int(rng.choice(legal))
        else:
            found[name] = int(rng.integers(world.num_actions))
    return found


def require_equal(seen: dict[str, Any], then: dict[str, Any]) -> None:
    """Compare two observations of all agents."""
    assert seen.keys() == then.keys()
    for name, view in seen.items():
        assert view["text"] == then[name]["text"]
        np.testing.assert_array_equal(view["vector"], then[name]["vector"])


def check(world: str, fields: dict[str, Any], seed: int, path: Path) -> None:
    """Play under a config in all ways."""
    env = piase_gym.parallel_env(world, view="both", **fields)
    logged, rng = AvtLogger(env, path), np.random.default_rng(seed)
    seen, _ = logged.reset(seed=seed)
    shown, acts, rewards, cut = [seen], list[Any](), list[Any](), None
    while env.agents and len(acts) < STEPS:
        if len(acts) == CUT:
            cut = json.loads(json.dumps(env.snapshot()))
        for name in env.agents:
            assert env.observation_space(name).contains(seen[name])
            facts = env.facts(name)
            text = env.world.to_text(facts, env.config)
            assert piase_gym.parse_text(world, text, env.config) == facts
        acts.append(acts_of(env, rng))
        seen, gained, *_ = logged.step(acts[-1])
        shown.append(seen)
        rewards.append(gained)
    digest = env.digest()
    logged.close()
    report = runs.replay(path)
    assert report.ok, str(report)

    again = piase_gym.parallel_env(world, view="both", **fields)
    if cut is not None:
        again.restore(cut)
        for step, act in enumerate(acts[CUT:], CUT):
            then, gained, *_ = again.step(act)
            require_equal(then, shown[step + 1])
            assert gained == rewards[step]
        assert again.digest() == digest
    require_equal(again.reset(seed=seed)[0], shown[0])
    batched = again.world.capabilities.batched
    again.close()
    if batched:
        check_batch(world, fields, seed, acts, shown, rewards)


def check_batch(
    world: str,
    fields: dict[str, Any],
    seed: int,
    acts: list[dict[str, Any]],
    shown: list[dict[str, Any]],
    rewards: list[dict[str, float]],
) -> None:
    """Play the same episode in a batch, in its second slot."""
    batch = piase_gym.batch_env(world, num_envs=2, autoreset="disabled", **fields)
    commands, column = batch.world.commands, batch.agents.index
    seen, _ = batch.reset([seed + 1, seed])
    for step, act in enumerate([{}, *acts]):
        if step:
            if any(not isinstance(a, int) and a not in commands for a in act.values()):
                break  # the line stands for a command that has no index
            table = np.zeros((2, len(batch.agents)), np.int64)
            for name, chosen in act.items():
                known = chosen if isinstance(chosen, int) else commands.index(chosen)
                table[1, column(name)] = known
            seen, gained, *_ = batch.step(table)
            for name, reward in rewards[step - 1].items():
                assert gained[1, column(name)] == pytest.approx(reward, abs=1e-6)
        for name, view in shown[step].items():
            np.testing.assert_array_equal(seen[1, column(name)], view["vector"])
    batch.close()


@pytest.mark.parametrize("world", WORLDS)
def test_whatever_plays_is_read_back_logged_restored_and_batched_alike(
    world: str, tmp_path: Path
) -> None:
    need(world)
    played = 0
    for seed in range(1000):
        fields = drawn_config(world, seed)
        try:
            env = piase_gym.parallel_env(world, **fields)
        except REFUSED:
            continue
        try:
            env.reset(seed=seed)
        except GenerationError:
            continue
        finally:
            env.close()
        try:
            check(world, fields, seed, tmp_path / f"{seed}.jsonl")
        except AssertionError as error:
            raise AssertionError(f"{world} with {fields} and seed {seed}: {error}") from error
        played += 1
        if played == PLAYED:
            return
    raise AssertionError(f"only {played} configs of {world} were played")


@pytest.mark.parametrize("more", [{}, {"shared_memory": True}, {"recall": "map"}])
def test_an_illegal_index_is_kept_as_an_index_whatever_else_is_shown(
    more: dict[str, Any], tmp_path: Path
) -> None:
    env = piase_gym.parallel_env("WordCraft", **more)
    path = tmp_path / "run.jsonl"
    logged = AvtLogger(env, path)
    logged.reset(seed=0)
    illegal = int(np.flatnonzero(env.world.masks()[0] == 0)[-1])
    logged.step({"agent_0": illegal})
    logged.close()
    steps = [e["event_data"] for e in runs.read(path) if e["event_data"].get("kind") == "step"]
    assert [step["commands"] for step in steps] == [{"agent_0": illegal}]
    report = runs.replay(path)
    assert report.ok, str(report)


def test_logs_in_which_all_commands_are_written_out_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    with monkeypatch.context() as before:
        before.setattr(ArrayWorld, "fixed_actions", False)  # as logs were written before
        logged = AvtLogger(piase_gym.parallel_env("WordCraft", shared_memory=True), path)
        logged.reset(seed=0)
        for index in (0, 1):
            logged.step({"agent_0": index})
        logged.close()
    run = runs.read(path)
    assert run.manifest["actions"] == []
    kinds = [step["event_data"]["commands"]["agent_0"]["type"] for step in run.steps()]
    assert kinds == ["pick", "pick"]
    report = runs.replay(path)
    assert report.ok, str(report)
