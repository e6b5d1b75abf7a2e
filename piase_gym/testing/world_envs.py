"""Checks of worlds: the envs agree, and other libraries' checkers and wrappers take them."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from piase_gym.core.rng import Stream
from piase_gym.testing.kit import Fault, Skip, check, require
from piase_gym.testing.play import opening, play
from piase_gym.testing.subject import Subject
from piase_gym.testing.values import require_same

STEPS = 60


@contextlib.contextmanager
def _library(name: str) -> Iterator[Any]:
    """Turn what a library's checker raises into a fault, and keep what it prints."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            yield None
        except (Fault, Skip):
            raise
        except Exception as error:
            first = (str(error).strip().split("\n") or [""])[0]
            raise Fault(f"{name} says: {type(error).__name__}: {first}") from None


@check()
def pettingzoo_parallel(subject: Subject) -> None:
    """PettingZoo's `parallel_api_test` and `parallel_seed_test` pass."""
    with _library("PettingZoo's parallel test"):
        from pettingzoo import test  # loads an example by a deprecated name

        test.parallel_api_test(subject.env(), num_cycles=STEPS)
        test.parallel_seed_test(subject.env, num_cycles=20)


@check()
def pettingzoo_aec(subject: Subject) -> None:
    """PettingZoo's `api_test`, `seed_test` and `state_test` pass on the AEC environment."""
    with _library("PettingZoo's AEC test"):
        from pettingzoo import test

        test.api_test(subject.aec(), num_cycles=STEPS)
        env = subject.env()
        if len(opening(env, 42).after) == len(env.possible_agents):
            test.seed_test(subject.aec, num_cycles=20)  # it seeds no spaces of late joiners
        test.state_test(subject.aec(), subject.env())


@check()
def gymnasium_checker(subject: Subject) -> None:
    """Gymnasium's `check_env` passes for every view."""
    for view in ("vector", "text", "both"):
        with _library(f"Gymnasium's check_env (view={view!r})"):
            check_env(subject.gym(view=view), skip_render_check=True)


@check(module="stable_baselines3", extra="train")
def sb3_checker(subject: Subject) -> None:
    """Stable-Baselines3's `check_env` passes for the vector view."""
    from stable_baselines3.common.env_checker import check_env as sb3_check_env

    with _library("Stable-Baselines3's check_env"):
        sb3_check_env(subject.gym(view="vector"))


def _steps(env: Any, seed: int, steps: int = STEPS) -> Iterator[tuple[Any, ...]]:
    """Play an episode of a Gymnasium environment with actions from our own random stream."""
    inner, dice = env.unwrapped, Stream(seed, 98)
    yield env.reset(seed=seed)
    for _ in range(steps):
        found = env.step(_act(inner, dice))
        yield found
        if found[2] or found[3]:
            return


def _act(inner: Any, dice: Stream) -> Any:
    """Draw an action of the learner."""
    if isinstance(inner.action_space, gymnasium.spaces.Discrete):
        legal = inner.world.masks()[inner.agent_index].nonzero()[0].tolist()
        return int(legal[dice.integer(len(legal))])
    if isinstance(inner.action_space, gymnasium.spaces.Box):
        inner.action_space.seed(dice.integer(2**31 - 1))
        return inner.action_space.sample()
    lines = inner.admissible_commands()
    return lines[dice.integer(len(lines))]


@check("deterministic")
def spec_makes_it_again(subject: Subject) -> None:
    """An `EnvSpec` written as JSON and read back makes an environment with the same episodes."""
    world = subject.world
    spec = EnvSpec(
        id="check/World-v0",
        entry_point="piase_gym.envs.single:make_task",
        order_enforce=False,
        disable_env_checker=True,
        kwargs={"world": world.spec.name, "actions": world.actions, **world.plain_config()},
    )
    one = subject.noted(gymnasium.make(spec))
    require(one.spec is not None, "gymnasium.make leaves no spec")
    two = subject.noted(gymnasium.make(EnvSpec.from_json(one.spec.to_json())))
    for a, b in zip(_steps(one, 5), _steps(two, 5), strict=True):
        require_same("an environment made from its own spec differs", a, b)


@check()
def gymnasium_wrappers(subject: Subject) -> None:
    """Gymnasium's `TimeLimit` and `RecordEpisodeStatistics` work."""
    for seed in range(5):
        limited = gymnasium.wrappers.TimeLimit(subject.gym(), 3)
        env = gymnasium.wrappers.RecordEpisodeStatistics(limited)
        rows = list(_steps(env, seed))
        last, total = rows[-1], sum(row[1] for row in rows[1:])
        require(last[2] or last[3], "TimeLimit does not end an episode")
        episode = last[4].get("episode")
        require(episode is not None, "RecordEpisodeStatistics leaves no episode in the info")
        same = episode["l"] == len(rows) - 1 and abs(float(episode["r"]) - total) < 1e-4
        require(same, f"RecordEpisodeStatistics tells {episode}, not {len(rows) - 1}, {total}")


@check(module="moviepy", extra="video")
def gymnasium_video(subject: Subject) -> None:
    """Gymnasium's `RecordVideo` writes a video of an episode."""
    env = subject.gym(render_mode="rgb_array")
    with tempfile.TemporaryDirectory() as folder, _library("Gymnasium's RecordVideo"):
        recorder = gymnasium.wrappers.RecordVideo(env, folder, disable_logger=True)
        for _ in _steps(recorder, 0, 4):
            pass
        recorder.close()  # type: ignore[no-untyped-call]
        videos = [path for path in Path(folder).iterdir() if path.suffix == ".mp4"]
        require(len(videos) == 1, f"RecordVideo has written {len(videos)} videos, not one")
        require(videos[0].stat().st_size > 0, "RecordVideo has written an empty video")


@check(module="pygame", extra="video")
def human_mode(subject: Subject) -> None:
    """`render_mode="human"` opens a window, returns nothing, and closes."""
    with mock.patch.dict(os.environ, SDL_VIDEODRIVER="dummy"):
        for env in (subject.env(render_mode="human"), subject.gym(render_mode="human")):
            env.reset(seed=0)
            require(env.render() is None, "render in mode human returns something")
            env.close()


@check()
def pictures_show_something(subject: Subject) -> None:
    """The first picture of an episode is not blank, and pictures change over an episode."""
    env, pictures = subject.env(render_mode="rgb_array"), set()
    for _ in play(env, 0, steps=20):
        picture = env.render()
        require(picture.std() > 0, "a picture is blank")
        pictures.add(picture.tobytes())
    require(len(pictures) > 1, "the picture is the same at every step")
    require(env.metadata.get("render_fps"), "metadata has no render_fps")
    fps = type(subject.gym()).metadata.get("render_fps")
    require(fps, "Gymnasium's environment has no render_fps")


@check("deterministic")
def aec_is_the_same_game(subject: Subject) -> None:
    """The AEC environment leads to the same states as the parallel one, step by step."""
    parallel, aec = subject.env(), subject.aec()
    aec.reset(seed=1)
    for row in play(parallel, 1, steps=STEPS):
        for _ in row.given:
            while aec.terminations[aec.agent_selection] or aec.truncations[aec.agent_selection]:
                aec.step(None)  # agents that are done leave
            aec.step(row.given[aec.agent_selection])
        same = aec.unwrapped.world.digest() == parallel.world.digest()
        require(same, f"at step {row.step} the AEC environment is in another state")


@check("deterministic")
def gym_is_the_same_game(subject: Subject) -> None:
    """The Gymnasium env with partners leads to the same states as the parallel one with them."""
    gym = subject.gym(partners={"*": "random"})
    learner, dice = gym.agent, Stream(2, 98)
    others = [name for name in gym.world.agents if name != learner]
    parallel = subject.env(partners=dict.fromkeys(others, "random"), view="vector")
    row = opening(parallel, 2)
    if not row.after:
        raise Skip("the learner is not in play at the reset")
    shown, (observation, _) = row.observations, gym.reset(seed=2)
    for number in range(STEPS):
        message = f"at step {number} the Gymnasium environment shows something else"
        require_same(message, shown.get(learner), observation)
        require(
            gym.world.digest() == parallel.world.digest(), f"at step {number} the states differ"
        )
        if learner not in parallel.agents:
            return
        action = _act(gym, dice)
        observation, *ends, _ = gym.step(action)
        shown, *parts, _ = parallel.step({learner: action})
        same = ends == [part[learner] for part in parts]
        require(same, f"at step {number + 1} rewards or ends of the Gymnasium environment differ")


@check("deterministic")
def partners_follow_the_seed(subject: Subject) -> None:
    """An effective seed brings back an episode with its partners, here and in mid-episode."""
    gym, again = subject.gym(), subject.gym()
    if len(gym.world.agents) < 2:
        raise Skip("there is only one agent")
    gym.reset(seed=1)
    _, info = gym.reset()
    again.reset(seed=info["seed"])
    dice, same = Stream(1, 98), Stream(1, 98)
    for number in range(STEPS):
        require(
            gym.world.digest() == again.world.digest(),
            f"at step {number} partners played differently",
        )
        if number == 5:
            again.restore(gym.snapshot())
        found, other = gym.step(_act(gym, dice)), again.step(_act(again, same))
        if found[2] or found[3] or other[2] or other[3]:
            return
