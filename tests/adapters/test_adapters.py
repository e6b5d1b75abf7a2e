"""Learners take worlds through the adapters, and train."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from pettingzoo.utils import BaseParallelWrapper

import piase_gym
from piase_gym.errors import (
    ActionError,
    ClosedError,
    ConfigError,
    ResetNeededError,
    SnapshotError,
    UnsupportedError,
)
from tests import probes

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.vec_env import VecVideoRecorder  # noqa: E402

from piase_gym.adapters import sb3_vec  # noqa: E402  # needs the extra


def test_ppo_trains_an_iteration_with_shared_parameters() -> None:
    vec = sb3_vec("GridWorld", num_envs=3, agents=2, max_steps=20)
    assert vec.num_envs == 6
    model = sb3.PPO("MlpPolicy", vec, n_steps=16, batch_size=32, n_epochs=1, device="cpu")
    model.learn(96)
    assert model.num_timesteps == 96


def test_maskable_ppo_finds_the_masks() -> None:
    vec = sb3_vec("piase/GridWorld-DoorKey-6x6-v1", num_envs=4)
    model = contrib.MaskablePPO("MlpPolicy", vec, n_steps=16, batch_size=32, n_epochs=1)
    model.learn(64)


def test_the_seed_counts() -> None:
    first, second = (sb3_vec("GridWorld", num_envs=2) for _ in range(2))
    first.seed(4)
    second.seed(4)
    np.testing.assert_array_equal(first.reset(), second.reset())
    assert [info["seed"] for info in first.reset_infos] == [4, 5]
    second.seed(5)
    assert (first.reset() != second.reset()).any()


def test_terminal_observations_and_time_limits() -> None:
    vec = sb3_vec("GridWorld", num_envs=2, max_steps=3, start_pos=(0, 0), goal_pos=(7, 7))
    vec.seed(0)
    vec.reset()
    for _ in range(3):
        shown, rewards, dones, infos = vec.step(np.array([4, 3]))
    assert dones.all()
    assert rewards.dtype == np.float32
    assert infos[1]["TimeLimit.truncated"]
    width = shown.shape[1] - 16
    assert infos[1]["terminal_observation"][width + 2] == 3  # x after three steps to the right
    assert shown[1][width + 2] == 0  # x at the start of the next episode


@pytest.mark.parametrize("world", ["WordCraft", "SqlQuery"])
def test_where_observations_tell_the_limit_nothing_is_added_to_its_end(world: str) -> None:
    vec = sb3_vec(world, num_envs=2, max_steps=1)
    vec.reset()
    *_, dones, infos = vec.step(np.full(2, vec.action_space.n - 1))
    assert dones.all()
    assert [row["TimeLimit.truncated"] for row in infos] == [False, False]


@pytest.mark.parametrize("batched", [True, False])
def test_to_die_is_not_to_win(batched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not batched:
        monkeypatch.setattr("piase_gym.adapters.sb3.steps_in_batches", lambda _world: False)
    vec = sb3_vec("GridWorld", num_envs=2, map="@~\nG.")
    vec.reset()
    *_, dones, infos = vec.step(np.array([3, 1]))
    assert dones.tolist() == [True, True]
    assert [row["won"] for row in infos] == [False, True]
    assert [row["is_success"] for row in infos] == [False, True]
    assert not any(row["TimeLimit.truncated"] for row in infos)


def test_agents_that_end_early_wait_for_the_others() -> None:
    vec = sb3_vec("GridWorld", num_envs=1, agents=2, start_pos=[(0, 0), (5, 5)], goal_pos=(1, 0))
    vec.reset()
    shown, rewards, dones, infos = vec.step(np.array([3, 4]))
    assert dones.tolist() == [True, False]
    assert infos[0]["won"]
    shown, rewards, dones, _ = vec.step(np.array([4, 4]))
    assert not shown[0].any()
    assert rewards[0] == 0.0
    assert not dones.any()
    assert vec.env_method("action_masks")[0].tolist() == [False] * 4 + [True, False]
    other, ended = (ask() for ask in vec.get_attr("action_masks", [1, 0]))
    assert (int(ended.sum()), other.sum() > 1) == (1, True)


def test_who_waits_in_a_world_without_a_kernel_may_do_something() -> None:
    vec = sb3_vec("SqlQuery", num_envs=1, agents=2)
    vec.reset()
    world = vec.batch.envs[0].world  # type: ignore[attr-defined]
    words = [str(world.command(0, k).verb) for k in vec.action_masks()[0].nonzero()[0]]
    skip, wait = (words.index(word) for word in ("skip", "wait"))
    assert vec.step(np.array([skip, wait]))[2].tolist() == [True, False]
    assert vec.action_masks().any(axis=1).all()
    vec.close()


def test_other_views_are_refused_with_a_sentence() -> None:
    for view in ("both", "text"):
        with pytest.raises(ConfigError, match="view='vector'"):
            sb3_vec(piase_gym.parallel_env("GridWorld", view=view))
    assert sb3_vec(piase_gym.parallel_env("GridWorld", view="vector", agents=3)).num_envs == 24


@pytest.mark.parametrize("view", ["text", "both"])
@pytest.mark.parametrize("algorithm", [sb3.PPO, sb3.DQN, contrib.MaskablePPO])
def test_algorithms_are_told_which_view_they_want(algorithm: Any, view: str) -> None:
    env = gymnasium.make("piase/GridWorld-v1", view=view)
    policy = "MultiInputPolicy" if view == "both" else "MlpPolicy"
    with pytest.raises(ConfigError, match="view='vector'"):
        algorithm(policy, env, device="cpu")
    space: Any = env.observation_space
    shape = (space["text"] if view == "both" else space).shape
    with pytest.raises(ConfigError, match="view='vector'"):
        np.array(shape)  # as CleanRL sizes its networks


def test_slots_are_filmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vec = sb3_vec("GridWorld", num_envs=4, agents=2, render_mode="rgb_array")
    vec.reset()
    picture = vec.batch.draw(0)  # type: ignore[attr-defined]
    shown = vec.render()
    assert shown is not None
    assert shown.shape == (2 * picture.shape[0], 2 * picture.shape[1], 3)
    np.testing.assert_array_equal(shown[: picture.shape[0], : picture.shape[1]], picture)
    recorder = VecVideoRecorder(vec, str(tmp_path), lambda step: step == 0, video_length=5)
    recorder.reset()
    for _ in range(6):
        recorder.step(np.zeros(8, int))
    recorder.close()
    assert [path.suffix for path in tmp_path.iterdir()] == [".mp4"]
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    for world in ("TextRoom", "GridWorld"):
        human = sb3_vec(world, num_envs=2, render_mode="human")
        human.reset()
        assert human.render() is None
        human.step(np.zeros(2, int))
        assert human.render() is None
        assert pygame.display.get_init()
        human.close()
        assert not pygame.display.get_init()
        with pytest.raises(ClosedError):
            human.reset()
    with pytest.raises(ConfigError, match=r"'ansi'.*'rgb_array', 'human'"):
        sb3_vec("GridWorld", render_mode="ansi")


def test_levels_of_several_sizes_are_filmed(tmp_path: Path) -> None:
    vec = sb3_vec("TextRoom", num_envs=3, max_steps=2)
    recorder = VecVideoRecorder(vec, str(tmp_path), lambda step: step == 0, video_length=7)
    vec.seed(0)
    recorder.reset()
    assert len({env.world.rgb().shape for env in vec.batch.envs}) > 1  # type: ignore[attr-defined]
    for _ in range(8):
        recorder.step(np.zeros(3, int))
    recorder.close()
    assert [path.suffix for path in tmp_path.iterdir()] == [".mp4"]


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize(
    "actions", [[0, 1, 2], np.zeros((2, 2)), [0.0, 1.0], [0, 6], [0, 2**32], [True, False], None]
)
def test_wrong_actions_of_slots(
    actions: Any, batched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not batched:
        monkeypatch.setattr("piase_gym.adapters.sb3.steps_in_batches", lambda _world: False)
    vec = sb3_vec("GridWorld", num_envs=2)
    vec.reset()
    before = vec.snapshot()
    with pytest.raises(ActionError, match="integers"):
        vec.step(actions)
    assert vec.snapshot() == before


def test_the_view_is_an_argument_too() -> None:
    with pytest.raises(ConfigError, match="view='vector'"):
        sb3_vec("GridWorld", view="both")
    with pytest.raises(ConfigError, match="actions='discrete'"):
        sb3_vec(piase_gym.parallel_env("GridWorld", view="vector", actions="text"))


def test_a_parallel_env_brings_its_partners() -> None:
    env = piase_gym.parallel_env(
        "GridWorld", view="vector", agents=3, partners={"agent_1": "random"}
    )
    vec: Any = sb3_vec(env, num_envs=2)
    assert vec.num_envs == 4
    own = env.observation_space("agent_0").dtype
    assert [
        vec.observation_space.dtype,
        sb3_vec(env, 2, dtype="float32").observation_space.dtype,
    ] == [own, np.float32]
    assert own != np.float32
    assert vec.batch.partners[1] is not env.runner.partners[1]  # each has a state of its own
    assert sb3_vec(env, num_envs=2, partners={}).num_envs == 6
    rooms: Any = sb3_vec("TextRoom", 2, agents=2, partners={"agent_1": vec.batch.partners[1]})
    one, two = (each.runner.partners[1] for each in rooms.batch.envs)
    assert one is not two


@pytest.mark.parametrize("world", ["GridWorld", "TextRoom"])
@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
def test_environments_are_counted(world: str, wrong: Any) -> None:
    with pytest.raises(ConfigError, match="num_envs"):
        sb3_vec(world, wrong)


def test_a_parallel_env_brings_the_config_of_its_next_reset() -> None:
    env = piase_gym.parallel_env("GridWorld", view="vector")
    env.reset(seed=0)
    env.max_cycles = 3
    assert sb3_vec(env, num_envs=2).batch.world.config.max_steps == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("scenario", ["night_shift", "the_ferryman"])
def test_a_scenario_brings_its_characters(scenario: str) -> None:
    env = piase_gym.parallel_env(scenario, view="vector")
    named: Any = [sb3_vec(scenario, num_envs=2, partners=given) for given in (None, {})]
    made: Any = [sb3_vec(env, num_envs=2, partners=given) for given in (None, {})]
    assert named[0].num_envs == 2 * len(env.possible_agents) < 2 * len(env.world.agents)
    rng, seen = np.random.default_rng(0), [list[Any]() for _ in range(4)]
    for vec in (*named, *made):
        vec.seed(0)
        vec.reset()
    for _ in range(80):
        acts = rng.integers(0, named[0].action_space.n, named[0].num_envs)
        for kept, vec in zip(seen, (*named, *made), strict=True):
            kept += vec.step(acts)[:3]
    for kept in seen[1:]:
        np.testing.assert_equal(kept, seen[0])


def test_what_has_no_place_in_slots_is_refused() -> None:
    batch = piase_gym.batch_env("GridWorld", num_envs=2, agents=2, autoreset="same_step")
    for more in ({"max_steps": 3}, {"partners": {"agent_1": "noop"}}):
        with pytest.raises(ConfigError, match=f"a batch keeps .* not {next(iter(more))}"):
            sb3_vec(batch, **more)
    with pytest.raises(ConfigError, match="has autoreset='next_step'; make it with"):
        sb3_vec(piase_gym.batch_env("GridWorld", num_envs=2))
    quiet = piase_gym.batch_env("GridWorld", num_envs=2, autoreset="same_step", infos="none")
    with pytest.raises(ConfigError, match="has infos='none', which do not say who won"):
        sb3_vec(quiet)
    assert sb3_vec(quiet, infos="mask").batch is quiet
    vec = sb3_vec(batch, render_mode=None, infos="none")
    assert vec.render_mode is None
    vec.reset()
    assert vec.reset_infos == [{}] * 4
    vec.set_options()
    with pytest.raises(UnsupportedError, match="slots take no options"):
        vec.set_options({"config": {"max_steps": 3}})


@pytest.mark.parametrize("world", ["GridWorld", "TextRoom"])
def test_questions_to_slots_before_the_first_reset(world: str) -> None:
    vec = sb3_vec(world, num_envs=2)
    for ask in (vec.action_masks, vec.get_images, lambda: vec.step(np.zeros(2, int))):
        with pytest.raises(ResetNeededError, match="reset"):
            ask()
    vec.reset()
    assert vec.action_masks().any()
    assert len(vec.get_images()) == 2


def test_what_a_wrapper_does_is_not_lost_in_silence() -> None:
    env = BaseParallelWrapper(piase_gym.parallel_env("GridWorld", view="vector"))
    with pytest.raises(ConfigError, match=r"BaseParallelWrapper does .* wrap the VecEnv"):
        sb3_vec(env)
    with pytest.raises(ConfigError, match="not a list"):
        sb3_vec([])  # type: ignore[arg-type]


def test_statistics_are_those_of_real_episodes() -> None:
    vec = sb3_vec("GridWorld", num_envs=3, agents=2, width=4, height=4, max_steps=9)
    vec.seed(0)
    vec.reset()
    rng = np.random.default_rng(0)
    returns, lengths, told, over = np.zeros(6), np.zeros(6, int), 0, np.zeros(6, bool)
    for _ in range(200):
        _, rewards, dones, infos = vec.step(rng.integers(0, 5, 6))
        returns, lengths = returns + rewards, lengths + 1
        for slot in np.flatnonzero(dones):
            if over[slot]:  # it ended before, and waited for the other
                assert "episode" not in infos[slot]
            else:
                assert infos[slot]["episode"]["l"] == lengths[slot]
                assert infos[slot]["episode"]["r"] == pytest.approx(returns[slot], abs=1e-4)
                assert infos[slot]["is_success"] == infos[slot]["won"]
                told += 1
            returns[slot], lengths[slot] = 0.0, 0
        for env in range(3):  # an environment resets when both have ended
            pair = slice(2 * env, 2 * env + 2)
            over[pair] |= dones[pair]
            if over[pair].all():
                over[pair] = False
    assert told > 60


@pytest.mark.parametrize("batched", [True, False])
def test_sb3_evaluates_episodes_and_no_waits(
    batched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not batched:
        monkeypatch.setattr("piase_gym.adapters.sb3.steps_in_batches", lambda world: False)
    team: dict[str, Any] = {"agents": 3, "width": 4, "height": 4, "max_steps": 15}
    vec = sb3_vec("GridWorld", num_envs=2, join_at=(0, 4, 6), **team)
    model = sb3.PPO("MlpPolicy", vec, n_steps=16, batch_size=32, device="cpu", seed=0)
    vec.seed(0)
    found = evaluate_policy(model, vec, 30, deterministic=True, return_episode_rewards=True)
    vec.seed(0)
    shown, each = vec.reset(), [list[tuple[float, int]]() for _ in range(vec.num_envs)]
    while min(map(len, each)) < 5:
        shown, _, _, infos = vec.step(model.predict(shown, deterministic=True)[0])
        for slot, info in enumerate(infos):
            if "episode" in info:
                each[slot].append((info["episode"]["r"], info["episode"]["l"]))
    assert sorted(zip(*found, strict=True)) == sorted(row for rows in each for row in rows[:5])


def test_a_vec_env_goes_on_from_a_snapshot() -> None:
    def play(vec: Any, steps: int) -> list[Any]:
        rng = np.random.default_rng(1)
        played = (vec.step(rng.integers(0, 5, 6)) for _ in range(steps))
        return [(shown.tolist(), r.tolist(), d.tolist(), str(i)) for shown, r, d, i in played]

    first, second = (sb3_vec("GridWorld", num_envs=3, agents=2, max_steps=9) for _ in range(2))
    first.seed(3)
    first.reset()
    play(first, 13)
    while first.batch.alive().all() or max(first.snapshot()["lengths"]) < 8:  # type: ignore[attr-defined]
        play(first, 1)  # until some wait, and an episode is over in the next step
    snapshot = json.loads(json.dumps(first.snapshot()))
    second.reset()
    second.restore(snapshot)
    assert play(first, 40) == play(second, 40)


def test_a_snapshot_that_is_refused_changes_nothing() -> None:
    vec, fresh = (sb3_vec("TextRoom", num_envs=2) for _ in range(2))
    vec.reset()
    saved = vec.snapshot()
    vec.step(np.zeros(2, int))
    before = vec.snapshot()
    for damaged in (saved["envs"][:1], {}, [saved["envs"][0], {}]):
        with pytest.raises(SnapshotError):
            vec.restore({**saved, "envs": damaged})
        assert vec.snapshot() == before
        with pytest.raises(SnapshotError):
            fresh.restore({**saved, "envs": damaged})
    with pytest.raises(SnapshotError, match="not one of 2 slots"):
        vec.restore({**saved, "lengths": [0]})


def test_slots_of_a_batch_and_of_single_environments_are_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    team: dict[str, Any] = {"agents": 4, "width": 4, "height": 4, "max_steps": 9}
    team |= {"join_at": (0, 0, 1, 3), "partners": {"agent_0": "random"}}
    made = []
    for batched in (True, False):
        monkeypatch.setattr("piase_gym.adapters.sb3.steps_in_batches", lambda _w, b=batched: b)
        made.append([sb3_vec("GridWorld", num_envs=3, **team) for _ in range(2)])
    rng, seen = np.random.default_rng(0), [list[Any](), list[Any]()]
    for kept, (vec, fresh) in zip(seen, made, strict=True):
        vec.seed(0)
        kept += [vec.reset(), [row["seed"] for row in vec.reset_infos]]
        fresh.reset()
    for step in range(60):
        acts = rng.integers(0, 6, 9)
        for kept, slots in zip(seen, made, strict=True):
            if step % 7 == 6:  # goes on elsewhere
                slots[1].restore(json.loads(json.dumps(slots[0].snapshot())))
                masks = [vec.action_masks()[kept[-6].any(axis=1)] for vec in slots]
                np.testing.assert_array_equal(*masks)
                slots.reverse()
            shown, rewards, dones, infos = slots[0].step(acts)
            for row in infos:
                if "episode" in row:
                    row["episode"]["r"] = round(row["episode"]["r"], 5)
            masks = slots[0].action_masks()[shown.any(axis=1)]
            kept += [shown, rewards, dones, infos, masks, slots[0].get_images()]
    pictures = seen[0][-1]
    for kept, (vec, _) in zip(seen, made, strict=True):
        kept.append(vec.reset())  # in mid-episode
    for one, two in zip(*seen, strict=True):
        np.testing.assert_equal(one, two)
    assert all((one != two).any() for one, two in itertools.pairwise(pictures))


def test_who_ended_sees_nothing_and_may_do_nothing_whether_restored_or_not() -> None:
    fields: dict[str, Any] = {"agents": 2, "width": 4, "height": 4, "max_steps": 9}
    vec, other = (sb3_vec("GridWorld", num_envs=16, **fields) for _ in range(2))
    vec.seed(0)
    vec.reset()
    other.reset()
    noop = vec.batch.world.commands.index(vec.batch.world.noop)  # type: ignore[attr-defined]
    rng, waits = np.random.default_rng(0), 0
    for _ in range(30):
        shown, *_ = vec.step(rng.integers(0, 5, vec.num_envs))
        masks, waiting = vec.action_masks(), ~vec.batch.alive().reshape(-1)  # type: ignore[attr-defined]
        waits += int(waiting.sum())
        assert not shown[waiting].any()
        assert masks[waiting].sum() == masks[waiting, noop].sum() == waiting.sum()
        other.restore(vec.snapshot())
        np.testing.assert_array_equal(other.action_masks(), masks)
    assert waits > 30


@pytest.mark.parametrize("batched", [True, False])
def test_a_wait_has_no_last_observation_and_does_not_count(
    batched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not batched:
        monkeypatch.setattr("piase_gym.adapters.sb3.steps_in_batches", lambda _world: False)
    places: dict[str, Any] = {"start_pos": [(0, 0), (5, 5)], "goal_pos": (1, 0)}
    vec: Any = sb3_vec("GridWorld", num_envs=1, agents=2, max_steps=3, **places)
    vec.reset()
    shown, rewards, dones, infos = vec.step(np.array([3, 4]))
    assert dones.tolist() == [True, False]
    assert infos[0].pop("terminal_observation").any()
    assert not shown[0].any()
    told = {"r": pytest.approx(float(rewards[0]), abs=1e-5), "l": 1}
    kept = {"TimeLimit.truncated": False, "won": True, "is_success": True, "episode": told}
    assert infos == [kept, {}]
    before = vec.step(np.array([4, 4]))[0]
    _, _, dones, infos = vec.step(np.array([4, 4]))
    assert dones.tolist() == [True, True]
    assert not infos[0].pop("terminal_observation").any()
    assert infos[0] == {"TimeLimit.truncated": False, "won": False}
    assert infos[1]["terminal_observation"].shape == before[1].shape
    assert infos[1]["TimeLimit.truncated"]
    assert infos[1]["episode"]["l"] == 3
    assert not infos[1]["is_success"]


def test_a_last_observation_is_that_of_its_own_environment_and_is_kept() -> None:
    fields: dict[str, Any] = {"agents": 2, "start_pos": [(0, 0), (2, 0)], "goal_pos": (1, 0)}
    batch = piase_gym.batch_env(
        "GridWorld", num_envs=2, copy=False, autoreset="same_step", max_steps=9, **fields
    )
    alone, vec = sb3_vec("GridWorld", num_envs=1, max_steps=9, **fields), sb3_vec(batch)
    for each in (alone, vec):
        each.reset()
    wanted = alone.step(np.array([3, 4]))[3][0]["terminal_observation"]
    last = [row.get("terminal_observation") for row in vec.step(np.array([3, 4, 3, 2]))[3]]
    assert last[1] is None, "the other one of this environment goes on"
    np.testing.assert_array_equal(last[0], wanted)
    before = [last[k].copy() for k in (2, 3)]
    for _ in range(9):
        vec.step(np.full(4, 4))
    np.testing.assert_array_equal([last[k] for k in (0, 2, 3)], [wanted, *before])


@pytest.mark.parametrize("infos", ["none", "mask"])
@pytest.mark.parametrize("batched", [True, False])
def test_the_end_of_an_episode_has_in_any_infos_what_sb3_reads(
    batched: bool, infos: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not batched:
        monkeypatch.setattr("piase_gym.adapters.sb3.steps_in_batches", lambda _world: False)
    places: dict[str, Any] = {"start_pos": (0, 0), "goal_pos": (7, 7)}
    vec = sb3_vec("GridWorld", num_envs=2, infos=infos, max_steps=2, **places)
    vec.reset()
    vec.step(np.array([3, 3]))
    shown, _, dones, rows = vec.step(np.array([3, 3]))
    assert dones.all()
    for row in rows:
        if infos == "mask":
            assert row.pop("action_mask").dtype == np.bool_
        assert row.keys() == {"terminal_observation", "TimeLimit.truncated"}
        assert row["TimeLimit.truncated"]
        assert (row["terminal_observation"] != shown[0]).any()


@pytest.mark.parametrize("batched", [True, False])
def test_waits_end_when_an_agent_enters_and_when_its_environment_resets(
    batched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not batched:
        monkeypatch.setattr("piase_gym.adapters.sb3.steps_in_batches", lambda _world: False)
    places: dict[str, Any] = {"start_pos": [(5, 5), (0, 0)], "goal_pos": (1, 0)}
    vec = sb3_vec("GridWorld", num_envs=2, agents=2, max_steps=6, join_at=(0, 2), **places)
    vec.reset()
    for _ in range(2):
        told = []
        for step in range(6):
            act = 3 if step == 2 else 4  # who enters wins at once, the other lets time pass
            _, _, dones, infos = vec.step(np.array([4, act] * 2))
            assert dones[:2].tolist() == dones[2:].tolist()
            assert step != 1 or not infos[1]["terminal_observation"].any()
            told.append(
                [
                    (bool(d), row.get("episode", {}).get("l"))
                    for d, row in zip(dones, infos, strict=True)
                ][:2]
            )
        going, over = (False, None), (True, None)
        assert [row[0] for row in told] == [going] * 5 + [(True, 6)]
        assert [row[1] for row in told] == [going, over, (True, 1), going, going, over]


def test_a_reset_in_the_course_of_episodes_begins_statistics_anew() -> None:
    vec = sb3_vec("GridWorld", num_envs=2, max_steps=3, start_pos=(0, 0), goal_pos=(7, 7))
    vec.reset()
    vec.step(np.array([2, 2]))
    vec.reset()
    rewards = sum(vec.step(np.array([3, 4]))[1] for _ in range(2))
    *_, last, _, infos = vec.step(np.array([3, 4]))
    assert [row["episode"]["l"] for row in infos] == [3, 3]
    returns = [row["episode"]["r"] for row in infos]
    assert returns == pytest.approx((rewards + last).tolist(), abs=1e-5)


@pytest.mark.parametrize("batched", [True, False])
def test_a_seed_is_that_of_one_reset(batched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not batched:
        monkeypatch.setattr("piase_gym.adapters.sb3.steps_in_batches", lambda _world: False)
    vec = sb3_vec("GridWorld", num_envs=2, agents=2)
    assert vec.seed(4) == [4, 5]
    vec.reset()
    assert [info["seed"] for info in vec.reset_infos] == [4, 4, 5, 5]
    vec.reset()
    assert not {info["seed"] for info in vec.reset_infos} & {4, 5}
    assert vec.seed() == [None, None]
    for seed in (-1, "x", 2**63 - 1):
        with pytest.raises(ConfigError, match="is not allowed; seeds are integers"):
            vec.seed(seed)  # type: ignore[arg-type]


def test_slots_have_masks_and_a_render_mode_and_nothing_else() -> None:
    vec = sb3_vec("GridWorld", num_envs=2, agents=2, layout="door_key")
    vec.seed(0)
    vec.reset()
    masks = vec.action_masks()
    assert masks.dtype == np.bool_
    assert [ask().tolist() for ask in vec.get_attr("action_masks", [3, 0])] == masks[
        [3, 0]
    ].tolist()
    assert [row.tolist() for row in vec.env_method("action_masks", indices=1)] == [
        masks[1].tolist()
    ]
    assert (vec.get_attr("render_mode"), vec.get_attr("spec", 0)) == (["rgb_array"] * 4, [None])
    assert [vec.has_attr(name) for name in ("action_masks", "render_mode", "map")] == [
        True,
        True,
        False,
    ]
    assert vec.env_is_wrapped(BaseParallelWrapper, [0, 1]) == [False, False]
    assert vec.env_is_wrapped(Monitor, [0, 1]) == [True, True]
    assert sb3_vec("GridWorld", 2, infos="none").env_is_wrapped(Monitor) == [False, False]
    assert len(vec.get_images()) == 2
    for wrong in (
        lambda: vec.get_attr("map"),
        lambda: vec.set_attr("map", 1),
        lambda: vec.env_method("render"),
    ):
        with pytest.raises(AttributeError, match="slots have no"):
            wrong()


def test_slots_of_continuous_actions_have_no_masks() -> None:
    probes.register()
    env = piase_gym.parallel_env("PointProbe", view="vector", actions="continuous", agents=2)
    vec: Any = sb3_vec(env, 1)
    assert vec.action_space == env.action_space("agent_0")
    vec.reset()
    size = env.action_space("agent_0").shape or ()
    assert vec.step(np.zeros((2, *size)))[0].shape[0] == 2
    for wrong in (np.zeros((3, *size)), np.zeros((2, 3)), np.zeros(2), [[0.0], [0.0, 1.0]]):
        with pytest.raises(ActionError, match=r"actions are arrays of shape \(2, 2\), not \("):
            vec.step(wrong)
    with pytest.raises(AttributeError, match="continuous actions have no masks"):
        vec.action_masks()
    assert not vec.has_attr("action_masks")
    with pytest.raises(ConfigError, match="allowed: infos='full', 'none'"):
        sb3_vec(env, infos="mask")
