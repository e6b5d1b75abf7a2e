"""What clients can ask environments for: infos with stable keys, float32, masks, teams."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

import piase_gym
from piase_gym import Command
from piase_gym.adapters import sb3_vec
from piase_gym.errors import (
    ActionError,
    AgentError,
    ConfigError,
    PiaseError,
    ResetNeededError,
    UnknownFieldError,
)
from piase_gym.interfaces import BaseEnv, Observation
from piase_gym.wrappers.keep_agents import KeepAgents
from tests.helpers.checkers import api_test, parallel_api_test

CROWD: dict[str, Any] = {"agents": 3, "width": 4, "height": 4, "hazards": 2, "max_steps": 9}
LATE = {**CROWD, "join_at": (0, 2, 0)}
LEARNER = "piase/GridWorld-Hazards-8x8-v1"


def acts(env: Any, rng: np.random.Generator) -> dict[str, int]:
    return {name: int(rng.integers(6)) for name in env.agents}


def equal(one: Any, two: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(equal(one[key], two[key]) for key in one)
    return bool(np.array_equal(one, two))


# -- infos and types ------------------------------------------------------------------------------


@pytest.mark.parametrize(("infos", "keys"), [("mask", {"action_mask"}), ("none", set())])
def test_infos_have_the_same_keys_in_every_call(infos: str, keys: set[str]) -> None:
    env = piase_gym.parallel_env("GridWorld", view="vector", infos=infos, **LATE)
    full = piase_gym.parallel_env("GridWorld", view="vector", **LATE)
    rng, ends = np.random.default_rng(0), 0
    for seed in range(12):
        (_, found), (_, told) = env.reset(seed=seed), full.reset(seed=seed)
        while env.agents:
            assert found.keys() == told.keys()
            for name, info in found.items():
                assert info.keys() == keys
                assert equal(info, {key: told[name][key] for key in keys})
            moves = acts(env, rng)
            (*rest, found), (*others, told) = env.step(moves), full.step(moves)
            assert all(map(equal, rest, others))
            ends += any("result" in info for info in told.values())
            assert all(info.keys() == keys for info in found.values())
    assert ends > 12


@pytest.mark.parametrize(("infos", "keys"), [("mask", {"action_mask"}), ("none", set())])
def test_infos_of_one_learner_have_the_same_keys(infos: str, keys: set[str]) -> None:
    env = gymnasium.make(LEARNER, infos=infos, max_steps=20)
    env.action_space.seed(0)
    for seed in range(4):
        assert env.reset(seed=seed)[1].keys() == keys
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(env.action_space.sample())
            over = terminated or truncated
            assert info.keys() == keys
    wanted = {key for name in keys for key in (name, f"_{name}")}
    many = gymnasium.make_vec(LEARNER, num_envs=2, infos=infos, max_steps=3)
    assert many.reset(seed=0)[1].keys() == wanted
    for _ in range(8):
        assert many.step(many.action_space.sample())[-1].keys() == wanted


@pytest.mark.parametrize("world", ["GridWorld", "SocialDilemma", "TextRoom"])
def test_vectors_as_float32_are_the_same_numbers(world: str) -> None:
    one, two = piase_gym.parallel_env(world), piase_gym.parallel_env(world, dtype="float32")
    rng = np.random.default_rng(0)
    for seed in range(3):
        (seen, infos), (shown, _) = one.reset(seed=seed), two.reset(seed=seed)
        while one.agents:
            for name in one.agents:
                assert shown[name]["vector"].dtype == np.float32
                assert equal(shown[name]["vector"], seen[name]["vector"].astype(np.float32))
                assert shown[name]["text"] == seen[name]["text"]
                assert two.observation_space(name).contains(shown[name])
            masks = {name: infos[name]["action_mask"] for name in one.agents}
            moves = {name: int(rng.choice(np.flatnonzero(mask))) for name, mask in masks.items()}
            (seen, *_, infos), (shown, *_) = one.step(moves), two.step(moves)


def test_float32_of_one_learner_and_of_many() -> None:
    one = gymnasium.make(LEARNER, dtype="float32", mask="obs")
    many = gymnasium.make_vec(LEARNER, num_envs=2, dtype="float32", mask="obs")
    check_env(one.unwrapped, skip_render_check=True)
    assert many.single_observation_space == one.observation_space
    assert one.observation_space["observation"].dtype == np.float32
    seen, _ = one.reset(seed=3)
    shown, _ = many.reset(seed=3)
    assert equal({key: part[0] for key, part in shown.items()}, seen)
    assert many.observation_space.contains(shown)


class Coin(BaseEnv):
    """An environment of one's own, without settings."""

    def __init__(self) -> None:
        """Take nothing."""

    def reset(self) -> Observation:
        return Observation({"text": "Call it."})

    def step(self, action: Any) -> tuple[Observation, float, bool, dict[str, Any]]:
        return Observation({"text": "Heads."}), float(action.text == "heads"), True, {}

    def get_action_space(self) -> dict[str, Any]:
        return {"properties": {"action": {"enum": ["heads", "tails"]}}}


LOST_KEY = "piase/TextRoom-LostKey-v3"
MAKERS: dict[str, Callable[..., Any]] = {
    "parallel_env": lambda **kw: piase_gym.parallel_env(LEARNER, **kw),
    "pettingzoo.make": lambda **kw: pettingzoo.make("parallel", LEARNER, **kw),
    "aec_env": lambda **kw: piase_gym.aec_env(LEARNER, **kw),
    "scenario": lambda **kw: piase_gym.parallel_env("lost_key", **kw),
    "gym_env": lambda **kw: piase_gym.gym_env(LEARNER, **kw),
    "gymnasium.make": lambda **kw: gymnasium.make(LEARNER, **kw),
    "make_vec": lambda **kw: gymnasium.make_vec(LEARNER, num_envs=2, **kw),
    "make_vec of text": lambda **kw: gymnasium.make_vec(LOST_KEY, num_envs=2, **kw),
    "batch_env": lambda **kw: piase_gym.batch_env(LEARNER, num_envs=2, **kw),
    "sb3_vec": lambda **kw: sb3_vec(LEARNER, 2, **kw),
    "sb3_vec of text": lambda **kw: sb3_vec(LOST_KEY, 2, **kw),
    "team": lambda **kw: gymnasium.make("piase/Team-v0", task=LEARNER, **kw),
}
OWN: dict[str, Callable[..., Any]] = {
    "as_parallel": lambda **kw: piase_gym.as_parallel(Coin, **kw),
    "parallel_env of one's own": lambda **kw: piase_gym.parallel_env(Coin, **kw),
    "gym_env of one's own": lambda **kw: piase_gym.gym_env(Coin, **kw),
}


@pytest.mark.parametrize("make", [*MAKERS, *OWN])
@pytest.mark.parametrize("options", [{"infos": "some"}, {"dtype": "float64"}, {"infoz": "none"}])
def test_every_constructor_refuses_what_it_does_not_know(
    make: str, options: dict[str, str]
) -> None:
    with pytest.raises(ConfigError) as found:
        {**MAKERS, **OWN}[make](**options).reset()
    assert isinstance(found.value, TypeError) == ("infoz" in options)
    assert next(iter(options)) in str(found.value)


@pytest.mark.parametrize("make", [name for name in MAKERS if name != "team"])
def test_every_constructor_makes_float32(make: str) -> None:
    view = {} if "sb3" in make or make == "batch_env" else {"view": "vector"}
    env, plain = MAKERS[make](dtype="float32", **view), MAKERS[make](**view)
    for each in (env, plain):
        each.seed(3) if "sb3" in make else each.reset(seed=3)
    if "sb3" in make:
        seen, other = env.reset(), plain.reset()
    elif hasattr(env, "possible_agents"):
        name = env.possible_agents[0]
        seen, other = (each.unwrapped.observe_all()[0][name] for each in (env, plain))
    else:
        seen, other = env.reset(seed=3)[0], plain.reset(seed=3)[0]
    assert seen.dtype == np.float32
    assert equal(seen, other.astype(np.float32))
    space = env.observation_space(name) if hasattr(env, "possible_agents") else None
    space = space or env.observation_space
    assert space.dtype == np.float32


@pytest.mark.parametrize("world", ["GridWorld", "TextRoom"])
def test_what_is_not_asked_for_is_not_computed(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    options: dict[str, Any] = {"view": "vector", "max_steps": 6}
    for infos, mask, wanted in (
        ("none", None, set()),
        ("none", "obs", {"masks"}),
        ("mask", None, {"masks"}),
        ("full", None, {"masks", "result", "last_steps"}),
    ):
        style = {"infos": infos, "mask": mask, **options}
        one = piase_gym.gym_env(world, **style)
        made = [one, piase_gym.parallel_env(world, **style)]
        for name in ("masks", "result", "last_steps"):
            kind = type(one.world)
            real = getattr(kind, name)
            spy = lambda self, *a, real=real, name=name: asked.append(name) or real(self, *a)  # noqa: E731
            monkeypatch.setattr(kind, name, spy)
        for env in made:
            asked.clear()
            info = env.reset(seed=0)[1]
            single = env is one
            over = False
            while not over:
                for told in [info] if single else info.values():
                    assert ("action_mask" in told) == (infos != "none")
                act = Command("noop") if world == "GridWorld" else 0
                given = act if single else dict.fromkeys(env.agents, act)
                *_, terminated, truncated, info = env.step(given)
                over = terminated or truncated if single else not env.agents
            quiet = {"last_steps"} if world == "TextRoom" else set()
            assert set(asked) - quiet == wanted - quiet, (infos, mask)
        monkeypatch.undo()


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_a_batch_tells_what_is_asked_for(mode: str) -> None:
    made = {
        infos: piase_gym.batch_env("GridWorld", num_envs=4, autoreset=mode, infos=infos, **CROWD)
        for infos in ("full", "mask", "none")
    }
    last = {"final_obs", "_final_obs"} if mode == "same_step" else set()
    wanted = {"mask": {"action_mask"}, "none": set()}
    starts = {infos: env.reset(seed=2) for infos, env in made.items()}
    assert starts["full"][1].keys() == {"seed", "action_mask", "alive"}
    rng = np.random.default_rng(0)
    for infos, keys in wanted.items():
        assert starts[infos][1].keys() == keys
    for _ in range(30):
        moves = rng.integers(0, 6, (4, 3))
        steps = {infos: env.step(moves) for infos, env in made.items()}
        for infos, keys in wanted.items():
            told = steps[infos][-1]
            final = {"final_action_mask"} if last and infos == "mask" else set()
            assert told.keys() == keys | last | final
            assert all(equal(told[key], steps["full"][-1][key]) for key in told)
            assert all(map(equal, steps[infos][:-1], steps["full"][:-1]))


@pytest.mark.parametrize("source", [LEARNER, LOST_KEY])
def test_sb3_is_told_what_is_asked_for(source: str) -> None:
    fields = {"num_envs": 2, "max_steps": 5}
    made = {infos: sb3_vec(source, infos=infos, **fields) for infos in ("full", "mask", "none")}
    for vec in made.values():
        vec.seed(0)
        vec.reset()
    for infos, keys in (("full", {"seed"}), ("mask", {"action_mask"}), ("none", set())):
        assert all(row.keys() == keys for row in made[infos].reset_infos)
    ends = 0
    for _ in range(12):
        steps = {infos: vec.step(np.zeros(vec.num_envs, int)) for infos, vec in made.items()}
        for slot, row in enumerate(steps["full"][-1]):
            mask = steps["mask"][-1][slot]
            assert equal(mask.pop("action_mask"), made["mask"].action_masks()[slot])
            wanted = {
                k: row[k] for k in ("terminal_observation", "TimeLimit.truncated") if k in row
            }
            assert equal(mask, wanted)
            assert equal(steps["none"][-1][slot], wanted)
            ends += bool(wanted)
    assert ends >= 2 * made["full"].num_envs
    with pytest.raises(ConfigError, match="do not say who won"):
        sb3_vec(piase_gym.batch_env(LEARNER, num_envs=2, autoreset="same_step", infos="none"))


@pytest.mark.filterwarnings("ignore:reset option 'options' is unknown:UserWarning")
@pytest.mark.filterwarnings("ignore:Observation .*:UserWarning")
@pytest.mark.filterwarnings("ignore:The base environment:UserWarning")
@pytest.mark.parametrize("infos", ["mask", "none"])
@pytest.mark.parametrize("mask", [None, "obs"])
def test_the_checkers_of_the_apis_pass(infos: str, mask: str | None) -> None:
    supersuit = pytest.importorskip("supersuit")
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    style = {"view": "vector", "dtype": "float32", "infos": infos, "mask": mask}
    many = piase_gym.parallel_env("GridWorld", ended_actions="ignore", **style, **CROWD)
    parallel_api_test(many, num_cycles=100)
    parallel_api_test(KeepAgents(many), num_cycles=100)
    api_test(piase_gym.aec_env("GridWorld", ended_actions="ignore", **style, **CROWD), 60)
    one = piase_gym.gym_env(LEARNER, **style)
    check_env(one, skip_render_check=True)
    checker.check_env(one)
    kept = KeepAgents(piase_gym.parallel_env("GridWorld", **style, **LATE))
    vec = supersuit.pettingzoo_env_to_vec_env_v1(kept)
    vec = supersuit.concat_vec_envs_v1(vec, 2, num_cpus=0, base_class="gymnasium")
    vec.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(20):
        shown, *_ = vec.step(rng.integers(0, 6, 6))
        assert batch_space(vec.observation_space, 6).contains(shown)


# -- masks beside observations --------------------------------------------------------------------


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_masks_in_the_observations_of_a_batch_are_those_of_single_environments(
    mode: AutoresetMode,
) -> None:
    config = {"mask": "obs", "max_steps": 12}
    one = gymnasium.make_vec(LEARNER, num_envs=3, autoreset_mode=mode, **config)
    made = [lambda: gymnasium.make(LEARNER, **config)] * 3
    two = gymnasium.vector.SyncVectorEnv(made, autoreset_mode=mode)
    assert one.single_observation_space == two.single_observation_space
    rng, finals = np.random.default_rng(1), 0
    assert equal(one.reset(seed=5)[0], two.reset(seed=5)[0])
    for _ in range(60):
        moves = rng.integers(0, 6, 3)
        (mine, *rest, told), (theirs, *others, infos) = one.step(moves), two.step(moves)
        assert equal(mine, theirs)
        assert all(map(equal, rest, others))
        assert ("final_obs" in told) == ("final_obs" in infos)
        for slot in np.flatnonzero(told.get("_final_obs", ())):
            finals += 1
            assert equal(told["final_obs"][slot], infos["final_obs"][slot])
    assert bool(finals) == (mode is AutoresetMode.SAME_STEP)


def test_a_batch_tells_the_masks_of_last_observations() -> None:
    many = piase_gym.batch_env("GridWorld", num_envs=4, autoreset="same_step", **CROWD)
    singles = [piase_gym.parallel_env("GridWorld", view="vector", **CROWD) for _ in range(4)]
    many.reset(seed=0)
    for slot, env in enumerate(singles):
        env.reset(seed=slot)
    rng, ends = np.random.default_rng(0), 0
    for _ in range(40):
        moves = rng.integers(0, 6, (4, 3))
        infos = many.step(moves)[-1]
        for slot, env in enumerate(singles):
            names = env.possible_agents
            told = env.step({n: int(moves[slot, names.index(n)]) for n in env.agents})[-1]
            assert infos["_final_obs"][slot] == (not env.agents)
            if not env.agents:
                ends += 1
                for name, info in told.items():
                    mask = infos["final_action_mask"][slot, names.index(name)]
                    assert equal(mask, info["action_mask"])
                env.reset()
    assert ends > 8


# -- agents that have ended -----------------------------------------------------------------------


def test_actions_of_agents_that_have_ended_are_ignored_on_request() -> None:
    env = piase_gym.parallel_env("GridWorld", ended_actions="ignore", **LATE)
    other = piase_gym.parallel_env("GridWorld", **LATE)
    rng, spare = np.random.default_rng(0), 0
    for seed in range(8):
        env.reset(seed=seed)
        other.reset(seed=seed)
        while env.agents:
            moves = {name: int(rng.integers(6)) for name in env.possible_agents}
            mine = {name: moves[name] for name in env.agents}
            spare += len(mine) < len(moves)
            assert all(map(equal, env.step(moves), other.step(mine)))
            assert env.digest() == other.digest()
    assert spare > 8
    env.reset(seed=0)
    before = env.digest()
    with pytest.raises(AgentError, match="does not exist"):
        env.step({**acts(env, rng), "agent_9": 0})
    with pytest.raises(ActionError, match="no action for agent_0"):
        env.step({"agent_1": 0})
    assert env.digest() == before
    strict = piase_gym.parallel_env("GridWorld", **LATE)
    strict.reset(seed=0)
    with pytest.raises(AgentError, match="no longer in play"):
        strict.step(dict.fromkeys(strict.possible_agents, 0))


@pytest.mark.parametrize("options", [{"view": "both"}, {"mask": "obs"}, {"view": "text"}])
def test_agents_are_kept_whatever_they_see(options: dict[str, Any]) -> None:
    plain = piase_gym.parallel_env("GridWorld", **options, **LATE)
    env = KeepAgents(piase_gym.parallel_env("GridWorld", **options, **LATE))
    rng, absent = np.random.default_rng(0), 0
    for seed in range(6):
        (seen, infos), (shown, told) = env.reset(seed=seed), plain.reset(seed=seed)
        while env.agents:
            for name in env.possible_agents:
                assert env.observation_space(name).contains(seen[name])
                if name in shown:
                    assert equal(seen[name], shown[name])
                    assert equal(infos[name], told[name])
                    continue
                absent += 1
                assert infos[name]["action_mask"].all()
                if "mask" in options:
                    assert seen[name]["action_mask"].all()
            moves = {name: int(rng.integers(6)) for name in env.agents}
            (shown, *_, told) = plain.step({name: moves[name] for name in plain.agents})
            (seen, *_, infos) = env.step(moves)
    assert absent > 10


def test_who_has_ended_and_is_kept_may_do_anything() -> None:
    """In some worlds the mask of an agent that has ended forbids everything."""
    env = KeepAgents(piase_gym.parallel_env("SqlQuery", agents=2, view="vector", mask="obs"))
    env.reset(seed=0)
    world = env.unwrapped.world  # type: ignore[attr-defined]
    verbs = [world.command(0, k).verb for k in world.masks()[0].nonzero()[0]]
    seen, *_, infos = env.step({"agent_0": verbs.index("skip"), "agent_1": verbs.index("wait")})
    assert env.agents
    assert seen["agent_0"]["action_mask"].all()
    assert infos["agent_0"]["action_mask"].all()


@pytest.mark.parametrize("infos", ["full", "mask"])
def test_agents_are_kept_after_a_snapshot(infos: str) -> None:
    env, fresh = (
        KeepAgents(piase_gym.parallel_env("GridWorld", **LATE, infos=infos)) for _ in "ab"
    )
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    while len(env.unwrapped.agents) == len(env.agents):
        env.step({name: int(rng.integers(6)) for name in env.agents})
    saved, acts = env.unwrapped.snapshot(), dict.fromkeys(env.agents, 4)
    then = env.step(acts)
    while env.agents:
        env.step(acts)
    for each in (env, fresh):
        each.restore(saved)
        assert each.agents == each.possible_agents
        assert all(map(equal, each.step(acts), then))


@pytest.mark.parametrize("world", ["GridWorld", "Household", "TextRoom"])
def test_commands_are_the_callers_own(world: str) -> None:
    env = piase_gym.parallel_env(world)
    env.reset(seed=0)
    name = env.agents[0]
    before = [env.world.write(command) for command in env.commands(name)]
    for command in env.commands(name):
        parameters: Any = command.parameters
        parameters["why"] = "because"
    assert [env.world.write(command) for command in env.commands(name)] == before
    assert not any("why" in command.parameters for command in env.commands(name))


def test_an_agent_that_has_ended_may_act_on_request_in_turn() -> None:
    one = piase_gym.aec_env("GridWorld", ended_actions="ignore", **CROWD)
    two = piase_gym.aec_env("GridWorld", **CROWD)
    rng, spare = np.random.default_rng(0), 0
    for seed in range(4):
        one.reset(seed=seed)
        two.reset(seed=seed)
        for name in one.agent_iter():
            assert two.agent_selection == name
            over = one.terminations[name] or one.truncations[name]
            act, spare = int(rng.integers(6)), spare + over
            if over:
                with pytest.raises(ActionError, match="its only action is None"):
                    two.step(act)
            one.step(act)
            two.step(None if over else act)
            assert one.digest() == two.digest()
        assert not two.agents
    assert spare == 4 * CROWD["agents"]


def test_nobody_is_on_turn_after_the_end() -> None:
    env = piase_gym.aec_env("GridWorld", **CROWD)
    with pytest.raises(ResetNeededError):
        list(env.agent_iter())
    env.reset(seed=0)
    for _ in env.agent_iter():
        over = env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
        env.step(None if over else 0)
    assert list(env.agent_iter()) == []


# -- what Gymnasium's own tools look at -----------------------------------------------------------


@pytest.mark.parametrize("fields", [{}, {"max_steps": 17}])
def test_specs_say_how_long_episodes_are(fields: dict[str, int]) -> None:
    env = gymnasium.make("piase/GridWorld-DoorKey-8x8-v1", **fields)
    steps = env.unwrapped.config.max_steps
    assert env.spec is not None
    assert steps == fields.get("max_steps", 640) == env.spec.max_episode_steps
    assert json.loads(env.spec.to_json())["max_episode_steps"] == steps
    assert gymnasium.make(env.spec).unwrapped.config.max_steps == steps
    env.unwrapped.reconfigure({"max_steps": 9})
    env.reset(seed=0)
    assert env.unwrapped.spec.max_episode_steps == 9
    for made in (
        gymnasium.make_vec("piase/GridWorld-DoorKey-8x8-v1", num_envs=2, **fields),
        gymnasium.make_vec("piase/GridWorld-DoorKey-8x8-v1", num_envs=2, view="text", **fields),
        gymnasium.make("piase/Team-v0", task="piase/GridWorld-DoorKey-8x8-v1", **fields),
    ):
        assert made.spec is not None
        assert made.spec.max_episode_steps == steps


def test_random_numbers_of_environments_follow_their_seed() -> None:
    for make in (
        lambda: gymnasium.make(LEARNER),
        lambda: gymnasium.make_vec(LEARNER, num_envs=2),
        lambda: gymnasium.make(piase_gym.registry.TEAM, task="GridWorld"),
    ):
        drawn = []
        for seed in (4, 4, 5):
            env: Any = make()
            env.reset(seed=seed)
            drawn.append(env.unwrapped.np_random.integers(2**40))
        assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"infos": "some"}, "unknown infos 'some'; allowed: 'full', 'mask', 'none'"),
        ({"dtype": "float64"}, "unknown dtype 'float64'; allowed: None .* or 'float32'"),
        ({"mask": "infos"}, "unknown mask 'infos'"),
    ],
)
def test_options_that_do_not_exist(options: dict[str, str], told: str) -> None:
    for make in (
        lambda: piase_gym.parallel_env("GridWorld", **options),
        lambda: gymnasium.make(LEARNER, **options),
        lambda: gymnasium.make_vec(LEARNER, num_envs=2, **options),
    ):
        with pytest.raises(ConfigError, match=told):
            make()


def test_unknown_ended_actions_and_keywords() -> None:
    with pytest.raises(ConfigError, match="unknown ended_actions 'drop'; allowed: 'error', 'ign"):
        piase_gym.parallel_env("GridWorld", ended_actions="drop")
    for make in (piase_gym.parallel_env, gymnasium.make):
        with pytest.raises(ConfigError, match="unknown key 'widht'; did you mean 'width'") as found:
            make(LEARNER, widht=3)
        assert isinstance(found.value, TypeError)
    makers: list[tuple[str, str, Callable[..., Any]]] = [
        ("num_envs", "n_envs", sb3_vec),
        ("autoreset", "auto_reset", partial(piase_gym.batch_env, num_envs=2)),
        ("partners", "partner", gymnasium.make),
    ]
    for wanted, other, making in makers:
        told = f"unknown key '{other}'; allowed: .*; or did you mean the argument '{wanted}'"
        with pytest.raises(UnknownFieldError, match=told):
            making(LEARNER, **{other: 2})
    with pytest.raises(UnknownFieldError, match=r"allowed: .* and [0-9]+ more$"):
        piase_gym.parallel_env("GridWorld", num_envs=2)  # it has no such argument
    with pytest.raises(ConfigError) as wrong:
        piase_gym.parallel_env("GridWorld", width=-3)
    assert not isinstance(wrong.value, TypeError)


# -- teams ----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*The reward returned by:UserWarning")  # there is one an agent
def test_a_team_is_the_parallel_environment_in_tuples() -> None:
    env = gymnasium.make("piase_gym:piase/Team-v0", task="GridWorld", **LATE)
    check_env(env.unwrapped, skip_render_check=True)
    plain = piase_gym.parallel_env("GridWorld", view="vector", dtype="float32", **LATE)
    names, rng, absent, ends = plain.possible_agents, np.random.default_rng(0), 0, set()
    assert env.unwrapped.n_agents == 3 == len(env.action_space) == len(env.observation_space)
    for seed in range(12):
        (seen, info), (shown, infos) = env.reset(seed=seed), plain.reset(seed=seed)
        over, early = False, False
        while not over:
            assert env.observation_space.contains(seen)
            for k, name in enumerate(names):
                mine = infos[name]["action_mask"] if name in infos else np.ones(6)
                assert equal(seen[k], shown.get(name, np.zeros(65)))
                assert equal(info["action_mask"][k], mine)
            moves = rng.integers(0, 6, 3)
            seen, rewards, terminated, truncated, info = env.step(moves)
            given = {name: int(moves[names.index(name)]) for name in plain.agents}
            shown, gained, _, cut, infos = plain.step(given)
            assert rewards == [gained.get(name, 0.0) for name in names]
            absent += len(gained) < 3
            early |= any(cut.values())
            over = terminated or truncated
            assert over == (not plain.agents)
            if over:
                assert (terminated, truncated) == (not early, early)
                ends.add(terminated)
    assert absent > 12
    assert ends == {True, False}


def test_a_team_refuses_what_is_no_action_of_a_team() -> None:
    env = gymnasium.make("piase/Team-v0", task="GridWorld", agents=2).unwrapped
    with pytest.raises(PiaseError, match="reset"):
        env.step([0, 0])
    env.reset(seed=0)
    for wrong in ([0], [0, 0, 0], 0, None, "ab", {0: 0, 1: 0}, np.array(0)):
        with pytest.raises(ActionError, match="a team's action has 2 entries"):
            env.step(wrong)
    with pytest.raises(ActionError):
        env.step([0, 99])
    for other in ({"view": "text"}, {"ended_actions": "error"}):
        with pytest.raises(ConfigError, match="a team has only"):
            gymnasium.make("piase/Team-v0", task="GridWorld", **other)
    env.close()


@pytest.mark.parametrize("seed", [-1, 1.0, True, "0"])
def test_seeds_of_a_team(seed: Any) -> None:
    env: Any = gymnasium.make(piase_gym.registry.TEAM, task="GridWorld", agents=2)
    with pytest.raises(ConfigError, match="seeds are integers from 0"):
        env.reset(seed=seed)
    assert env.reset(seed=np.int64(3))[0][0].tolist() == env.reset(seed=3)[0][0].tolist()
    assert env.np_random_seed == 3


def test_every_id_has_one_of_its_team() -> None:
    env = gymnasium.make("piase_gym:piase-team/GridWorld-Foraging-8x8-2p-v1")
    other = gymnasium.make("piase/Team-v0", task="piase/GridWorld-Foraging-8x8-2p-v1")
    assert env.unwrapped.n_agents == 2
    assert env.spec is not None
    assert env.spec.max_episode_steps == env.unwrapped.config.max_steps
    assert all(map(equal, env.reset(seed=1), other.reset(seed=1)))
    for _ in range(5):
        assert all(map(equal, env.step((0, 3)), other.step((0, 3))))


def test_a_team_tells_what_is_asked_for() -> None:
    keys = {"mask": {"action_mask"}, "none": set(), "full": {"action_mask", "agents"}}
    for infos, wanted in keys.items():
        env = gymnasium.make("piase/Team-v0", task="GridWorld", infos=infos, **CROWD).unwrapped
        assert env.reset(seed=0)[1].keys() == wanted
        over = False
        while not over:
            *_, terminated, truncated, info = env.step([0, 0, 0])
            over = terminated or truncated
            assert info.keys() == wanted
        if infos == "full":
            assert {told["result"] for told in info["agents"].values()} == {"lost"}


def test_agents_take_turns_until_the_episode_is_over_however_long_it_is() -> None:
    env = piase_gym.aec_env("GridWorld", agents=2, max_steps=150)
    env.reset(seed=0)
    turns = 0
    for _ in env.agent_iter():
        over = env.last()[2] or env.last()[3]
        env.step(None if over else 5)
        turns += not over
    assert turns == 300
