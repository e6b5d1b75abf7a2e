"""The RLlib adapter; most of it needs ray, which lives in an environment of its own."""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import piase_gym
from piase_gym.errors import ConfigError, MissingExtraError
from tests import probes

probes.register()
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ray warns of what it uses itself
        import ray.rllib
    HAVE_RAY = True
except ModuleNotFoundError:
    HAVE_RAY = False

needs_ray = pytest.mark.skipif(not HAVE_RAY, reason="ray is not installed: run make test-rllib")
ALONE: dict[str, Any] = {"start_pos": [(0, 0), (5, 5)], "goal_pos": (1, 0), "agents": 2}


def adapt(*args: Any, **kwargs: Any) -> Any:
    """Make the adapter's environment."""
    from piase_gym.adapters import rllib

    return rllib(*args, **kwargs)


def test_a_missing_ray_is_one_line() -> None:
    code = "import sys; sys.modules['ray'] = None\nfrom piase_gym.adapters import rllib"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert last.endswith("rllib needs an optional part: pip install 'piase-gym[rllib]'")


@pytest.mark.skipif(HAVE_RAY, reason="ray is installed")
def test_without_ray_the_other_adapters_still_work() -> None:
    with pytest.raises(MissingExtraError, match="rllib"):
        adapt("GridWorld")
    from piase_gym import adapters

    assert "rllib" in dir(adapters)
    with pytest.raises(AttributeError, match="nothing"):
        _ = adapters.nothing


# -- the protocol --------------------------------------------------------------------------


@needs_ray
@pytest.mark.parametrize(
    "source",
    [
        "GridWorld",
        "piase/GridWorld-DoorKey-6x6-v1",
        pytest.param("env", id="ParallelEnv"),
        pytest.param("wrapped", id="wrapped ParallelEnv"),
    ],
)
def test_what_it_takes(source: str) -> None:
    from pettingzoo.utils import BaseParallelWrapper

    made = source
    if source in ("env", "wrapped"):
        made = piase_gym.parallel_env("GridWorld", view="vector")
        made = BaseParallelWrapper(made) if source == "wrapped" else made
    env = adapt(made)
    assert isinstance(env, ray.rllib.MultiAgentEnv)
    observations, _ = env.reset(seed=0)
    assert env.observation_spaces["agent_0"].contains(observations["agent_0"])


@needs_ray
def test_other_views_are_refused_with_a_sentence() -> None:
    for view in ("both", "text"):
        with pytest.raises(ConfigError, match="view='vector'"):
            adapt(piase_gym.parallel_env("GridWorld", view=view))
        with pytest.raises(ConfigError, match="view='vector'"):
            adapt("GridWorld", view=view)
    with pytest.raises(ConfigError, match="actions='discrete'"):
        adapt("GridWorld", actions="text")
    with pytest.raises(ConfigError, match="not a dict"):
        adapt({})
    with pytest.raises(ConfigError, match="agents cannot be changed"):
        adapt(piase_gym.parallel_env("GridWorld", view="vector"), agents=3)
    for worker in (-1, True, 0.5):
        with pytest.raises(ConfigError, match="workers are integers"):
            adapt("GridWorld", worker=worker)


@needs_ray
def test_it_says_what_the_parallel_env_says() -> None:
    config: dict[str, Any] = {"agents": 12, "layout": "four_rooms", "width": 9, "height": 9}
    twin = piase_gym.parallel_env("GridWorld", view="vector", **config)
    env = adapt("GridWorld", **config)
    names = sorted(twin.possible_agents)  # agent_10 stands before agent_2
    assert env.possible_agents == names != twin.possible_agents
    assert list(env.observation_space.spaces) == list(env.action_space.spaces) == names
    assert env.observation_spaces["agent_3"].dtype == np.float32
    shown, infos = env.reset(seed=4)
    expected, _ = twin.reset(seed=4)
    rng = np.random.default_rng(0)
    while twin.agents:
        assert sorted(env.parallel.agents) == sorted(twin.agents)
        for name, observation in shown.items():
            assert observation in env.observation_spaces[name]
            np.testing.assert_array_equal(observation, expected[name])
        actions = {name: int(rng.integers(5)) for name in twin.agents}
        sent = dict(actions)
        shown, rewards, terminated, truncated, infos = env.step(actions)
        assert actions == sent
        assert list(shown) == list(rewards) == list(infos) == sorted(shown)
        assert list(terminated) == list(truncated) == [*sorted(shown), "__all__"]
        expected, rewards_2, terminated_2, truncated_2, infos_2 = twin.step(actions)
        assert rewards == rewards_2
        assert {n: v for n, v in terminated.items() if n != "__all__"} == terminated_2
        assert {n: i["outcome"] for n, i in infos.items()} == {
            n: i["outcome"] for n, i in infos_2.items()
        }
    assert terminated["__all__"] is not any(truncated_2.values())
    assert truncated["__all__"] is any(truncated_2.values())


@needs_ray
def test_answers_are_the_callers_own() -> None:
    env = adapt("GridWorld", agents=2)
    first, infos = env.reset(seed=0)
    before = copy.deepcopy((first, infos))
    first["agent_0"][:] = 99
    infos["agent_0"]["action_mask"][:] = 0
    first.clear()
    env.metadata["autoreset_mode"] = "x"
    again, infos = env.reset(seed=0)
    for name, observation in again.items():
        np.testing.assert_array_equal(observation, before[0][name])
        np.testing.assert_array_equal(infos[name]["action_mask"], before[1][name]["action_mask"])
    assert "autoreset_mode" not in env.parallel.metadata


@needs_ray
def test_every_episode_has_a_seed_that_brings_it_back() -> None:
    env, other = adapt("GridWorld", agents=2), adapt("GridWorld", agents=2)
    env.reset(seed=3)
    other.reset(seed=3)
    seeds = []
    for _ in range(4):
        shown, infos = env.reset()
        seeds.append(infos["agent_0"]["seed"])
        assert other.reset()[1]["agent_1"]["seed"] == seeds[-1]
    assert len(set(seeds)) == 4
    again, _ = adapt("GridWorld", agents=2).reset(seed=seeds[-1])
    np.testing.assert_array_equal(again["agent_1"], shown["agent_1"])


@needs_ray
def test_workers_do_not_repeat_each_others_episodes() -> None:
    seeds = [
        adapt("GridWorld", worker=worker).reset(seed=worker + slot)[1]["agent_0"]["seed"]
        for worker in range(4)
        for slot in range(4)
    ]
    assert len(set(seeds)) == 16
    assert seeds[:4] == [0, 1, 2, 3]


@needs_ray
def test_rllibs_check_of_the_environment_leaves_no_trace() -> None:
    from ray.rllib.utils.pre_checks.env import check_multiagent_environments

    envs = [adapt("GridWorld", agents=2) for _ in range(2)]
    for env in envs:
        check_multiagent_environments(env)
    first, second = (env.reset()[1]["agent_0"]["seed"] for env in envs)
    assert first != second
    env = adapt("GridWorld")
    env.reset(seed=42)
    again = adapt("GridWorld")
    again.reset(seed=42)
    assert env.reset()[1]["agent_0"]["seed"] == again.reset()[1]["agent_0"]["seed"]


@needs_ray
def test_masks_in_the_observations_have_rllibs_names() -> None:
    env = adapt("piase/GridWorld-DoorKey-6x6-v1", mask="obs")
    shown, infos = env.reset(seed=0)
    space = env.observation_spaces["agent_0"]
    assert isinstance(space, spaces.Dict)
    assert set(space.spaces) == {"observations", "action_mask"}
    assert shown["agent_0"] in space
    assert shown["agent_0"]["action_mask"].dtype == np.float32
    np.testing.assert_array_equal(
        shown["agent_0"]["action_mask"], infos["agent_0"]["action_mask"].astype(np.float32)
    )
    assert env.step({"agent_0": 4})[0]["agent_0"] in space


# -- ends and entries ----------------------------------------------------------------------


@needs_ray
def test_agents_end_one_after_the_other() -> None:
    env = adapt("GridWorld", max_steps=4, **ALONE)
    env.reset(seed=0)
    shown, rewards, terminated, truncated, _ = env.step({"agent_0": 3, "agent_1": 4})
    assert terminated == {"agent_0": True, "agent_1": False, "__all__": False}
    assert truncated == {"agent_0": False, "agent_1": False, "__all__": False}
    assert rewards["agent_0"] > 0
    assert env.agents == ["agent_0", "agent_1"]  # RLlib's check wants those who just ended too
    for _ in range(3):
        shown, _, terminated, truncated, infos = env.step({"agent_1": 4})
        assert list(shown) == ["agent_1"]
    # The limit is told for all, so that RLlib bootstraps: see `RllibEnv`.
    assert terminated == {"agent_1": False, "__all__": False}
    assert truncated == {"agent_1": False, "__all__": True}
    assert infos["agent_1"]["result"] is not None
    assert env.parallel.agents == []


@needs_ray
def test_an_episode_that_everybody_won_is_terminated() -> None:
    env = adapt("GridWorld", **ALONE)
    env.reset(seed=0)
    env.step({"agent_0": 3, "agent_1": 4})
    for action in [0] * 5 + [2] * 4:
        _, _, terminated, truncated, _ = env.step({"agent_1": action})
        if terminated["__all__"]:
            break
    assert terminated == {"agent_1": True, "__all__": True}
    assert truncated == {"agent_1": False, "__all__": False}


@needs_ray
def test_late_joiners_have_spaces_from_the_start() -> None:
    env = adapt("TextProbe", agents=3, items=4, join_at=(0, 1, 3), max_steps=6)
    assert env.possible_agents == ["agent_0", "agent_1", "agent_2"]
    assert set(env.observation_spaces) == set(env.action_spaces) == set(env.possible_agents)
    shown, _ = env.reset(seed=0)
    assert list(shown) == env.agents == ["agent_0"]
    wait = env.parallel.world.noop
    met = []
    while env.parallel.agents:
        shown, rewards, *_, infos = env.step(dict.fromkeys(env.parallel.agents, wait))
        met.append(list(shown))
        assert list(rewards) == list(infos) == list(shown)
    assert met[0] == ["agent_0", "agent_1"]
    assert met[2] == ["agent_0", "agent_1", "agent_2"]


def relay() -> Any:
    """An environment where agent_2 enters in the very step in which agent_0 dies of the vial."""
    env = adapt(
        "TextProbe",
        agents=3,
        items=4,
        join_at=(0, 0, 2),
        max_steps=6,
        partners={"agent_1": "noop"},
    )
    for seed in range(100):
        env.look = env.reset(seed=seed)
        if "take vial" in env.parallel.admissible_commands("agent_0"):
            return env
    raise AssertionError("no seed puts the vial before agent_0")


def command(env: Any, name: str, line: str) -> int:
    """Return the index of a legal command."""
    return int(env.parallel.admissible_commands(name).index(line))


@needs_ray
def test_rllib_hears_of_an_end_when_it_knows_who_goes_on() -> None:
    from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

    env = relay()
    episode = MultiAgentEpisode(
        observation_space=env.observation_spaces, action_space=env.action_spaces
    )
    episode.add_env_reset(observations=env.look[0], infos=env.look[1])

    def act(actions: dict[str, int]) -> Any:
        shown, rewards, terminateds, truncateds, infos = env.step(actions)
        episode.add_env_step(
            shown, actions, rewards, infos, terminateds=terminateds, truncateds=truncateds
        )
        assert episode.is_done is (not env.parallel.agents)
        return shown, rewards, terminateds, infos

    act({"agent_0": command(env, "agent_0", "take vial")})
    shown, rewards, terminateds, _ = act({"agent_0": command(env, "agent_0", "use vial")})
    assert list(shown) == list(rewards) == env.agents == ["agent_2"]
    assert terminateds == {"agent_2": False, "__all__": False}
    shown, rewards, terminateds, infos = act({"agent_2": 0})
    assert list(shown) == ["agent_0", "agent_2"]
    assert terminateds == {"agent_0": True, "agent_2": False, "__all__": False}
    assert rewards["agent_0"] == pytest.approx(-5.1)
    assert infos["agent_0"]["result"] is not None
    while env.parallel.agents:
        shown, *_ = act({"agent_2": 0})
        assert list(shown) == ["agent_2"]
    assert episode.agent_episodes["agent_0"].is_terminated
    assert len(episode.agent_episodes["agent_0"]) == 2
    assert len(episode.agent_episodes["agent_2"]) == 4


# -- RLlib itself --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def started() -> Iterator[None]:
    """Start ray for the tests of this module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def ppo(name: str, creator: Any, runners: int = 0, **module: Any) -> Any:
    """Return a small PPO with one policy for all agents."""
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.tune.registry import register_env

    register_env(name, creator)
    config = (
        PPOConfig()
        .environment(name)
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=2)
        .training(train_batch_size_per_learner=64, minibatch_size=32, num_epochs=1)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda *args, **kwargs: "shared")
        .debugging(seed=7, log_level="ERROR")
    )
    if module:
        config = config.rl_module(rl_module_spec=RLModuleSpec(**module))
    return config.build_algo()


@needs_ray
@pytest.mark.filterwarnings("ignore")  # ray warns of what it uses itself
@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("runners", [0, 1])
def test_ppo_trains_an_iteration(runners: int) -> None:
    def create(context: Any) -> Any:
        return adapt("GridWorld", agents=3, max_steps=12, worker=context.worker_index)

    algorithm = ppo("grid", create, runners)
    before = weights(algorithm)
    result = algorithm.train()
    assert result["env_runners"]["num_episodes"] > 0
    assert result["env_runners"]["num_env_steps_sampled"] >= 64
    assert result["learners"]["shared"]["num_module_steps_trained"] >= 64
    assert any((before[key] != value).any() for key, value in weights(algorithm).items())
    algorithm.stop()


def weights(algorithm: Any) -> dict[str, Any]:
    """Return the parameters of the shared policy."""
    state = algorithm.get_module("shared").state_dict()
    return {key: value.clone() for key, value in state.items()}


@needs_ray
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("started")
def test_rllibs_own_action_masking_module_only_does_what_is_legal() -> None:
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import (
        ActionMaskingTorchRLModule,
    )

    env = "piase/GridWorld-DoorKey-6x6-v1"
    algorithm = ppo(
        "masked",
        lambda _: adapt(env, agents=2, mask="obs", max_steps=12),
        module_class=ActionMaskingTorchRLModule,
        model_config={"fcnet_hiddens": [16]},
    )
    algorithm.train()
    outcomes = [
        info["outcome"].value
        for episode in algorithm.env_runner.sample(num_episodes=2)
        for single in episode.agent_episodes.values()
        for info in single.get_infos()
        if "outcome" in info
    ]
    assert len(outcomes) > 20
    assert "illegal" not in outcomes
    algorithm.stop()


@needs_ray
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("started")
def test_rllibs_episodes_tell_a_limit_from_a_win() -> None:
    algorithm = ppo("limit", lambda _: adapt("GridWorld", max_steps=4, **ALONE))
    seen = set()
    for episode in algorithm.env_runner.sample(num_episodes=30, random_actions=True):
        for single in episode.agent_episodes.values():
            won = single.get_infos(-1)["result"].value == "won"
            assert single.is_terminated is won
            seen.add(won)
    assert seen == {True, False}
    algorithm.stop()


@needs_ray
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("started")
def test_rllib_follows_late_joiners() -> None:
    algorithm = ppo(
        "late",
        lambda _: adapt(
            "TextProbe",
            agents=3,
            items=4,
            join_at=(0, 0, 2),
            max_steps=8,
            partners={"agent_1": "noop"},
        ),
    )
    episodes = algorithm.env_runner.sample(num_episodes=10, random_actions=True)
    assert any("agent_2" in episode.agent_ids for episode in episodes)
    for episode in episodes:
        assert episode.is_done
    algorithm.train()
    algorithm.stop()
