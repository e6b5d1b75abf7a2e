"""The main job, on real input: a PettingZoo episode in both views, then PPO through Gymnasium.

``piase demo`` and ``make demo`` run it. It needs the extra ``train``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import pettingzoo
import torch
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv

from piase_gym import __version__, runs
from piase_gym.agents import OracleAgent, Percept
from piase_gym.core.files import require_folder
from piase_gym.wrappers import AvtLogger

TASK = "piase_gym:piase/GridWorld-v0"
CONFIG: dict[str, Any] = {"width": 6, "height": 6, "max_steps": 20}
HELD_OUT = range(1_000_000, 1_000_200)
console = Console()


def four_agents(folder: Path) -> None:
    """Let four oracles share four rooms; show one step in both views, save the episode."""
    env = pettingzoo.make(
        "parallel",
        "piase/GridWorld-FourRooms-8x8-v0",
        agents=4,
        render_mode="rgb_array",
    )
    log = folder / "four_agents.jsonl"
    env = AvtLogger(env, log, experiment_id="demo", overwrite=True)
    observations, _ = env.reset(seed=7)
    agents = {name: OracleAgent(name) for name in env.possible_agents}
    frames, returns, step = [env.render()], dict.fromkeys(agents, 0.0), 0
    console.rule("Four agents, PettingZoo")
    console.print(Panel(observations["agent_0"]["text"], title="what agent_0 reads"))
    console.print("what agent_0 sees as a vector:", observations["agent_0"]["vector"])
    console.print(env.world.ansi(), highlight=False)
    while env.agents:
        actions = {}
        for name in env.agents:
            agents[name].perceive(Percept(env.world, env.world.agents.index(name), step))
            actions[name] = agents[name].act()
        observations, rewards, _, _, infos = env.step(actions)
        frames.append(env.render())
        step += 1
        for name, reward in rewards.items():
            returns[name] += reward
            if "result" in infos[name]:
                result, total = infos[name]["result"], returns[name]
                console.print(f"step {step}: {name} has {result}, with a return of {total:.1f}")
    env.close()
    save_gif(frames, folder / "four_agents.gif")
    verify(log)


def save_gif(frames: Sequence[NDArray[Any]], path: Path) -> None:
    """Save pictures as an animation."""
    images = [Image.fromarray(frame) for frame in frames]
    images[0].save(path, save_all=True, append_images=images[1:], duration=250, loop=0)
    console.print(f"saved {path}")


def verify(log: Path) -> None:
    """Check a log and execute its run again.

    Raises:
        RuntimeError: If something came out differently.
    """
    checked, report = runs.validate(log), runs.replay(log)
    if not (checked.ok and report.ok):
        raise RuntimeError(f"{checked}\n{report}")
    console.print(f"saved {log}: {checked.lines} lines; replayed, {report}", highlight=False)


def success(model: PPO) -> float:
    """Return the share of held-out levels in which the model reaches the goal."""
    env: gymnasium.Env[Any, Any] = gymnasium.make(TASK, **CONFIG)
    won = 0
    for seed in HELD_OUT:
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            action, _ = model.predict(observation)
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        won += info["result"] == "won"
    return won / len(HELD_OUT)


def learn(steps: int, folder: Path) -> None:
    """Train PPO and show success on held-out levels before and after."""
    console.rule("One learner, Gymnasium and Stable-Baselines3")
    # The networks are small: a second thread only gets in the way.
    torch.set_num_threads(1)
    venv: VecEnv = make_vec_env(TASK, n_envs=16, seed=0, env_kwargs=CONFIG)
    model = PPO(
        "MlpPolicy",
        venv,
        n_steps=128,
        batch_size=256,
        learning_rate=1e-3,
        ent_coef=0.01,
        gamma=0.95,
        policy_kwargs={"net_arch": [128, 128]},
        seed=0,
        device="cpu",
    )
    before = success(model)
    model.learn(steps, progress_bar=True)
    after = success(model)
    table = Table(title=f"Levels solved, of {len(HELD_OUT)} that were not trained on")
    for column in ("", "before", f"after {steps:,} steps"):
        table.add_column(column, justify="right")
    table.add_row("PPO", f"{before:.0%}", f"{after:.0%}")
    console.print(table)
    show_play(model, folder)


def show_play(model: PPO, folder: Path) -> None:
    """Save an episode of the trained model."""
    inner: gymnasium.Env[Any, Any] = gymnasium.make(TASK, render_mode="rgb_array", **CONFIG)
    log = folder / "learned.jsonl"
    env: gymnasium.Env[Any, Any] = AvtLogger(inner, log, experiment_id="demo", overwrite=True)
    observation, _ = env.reset(seed=HELD_OUT[0])
    frames: list[Any] = [env.render()]
    over = False
    while not over:
        action, _ = model.predict(observation)
        observation, _, terminated, truncated, _ = env.step(action)
        frames.append(env.render())
        over = terminated or truncated
    env.close()
    save_gif(frames, folder / "learned.gif")
    verify(log)
    Image.fromarray(frames[0]).save(folder / "learned.png")
    console.print(f"saved {folder / 'learned.png'}")


def run(steps: int, folder: Path) -> None:
    """Run both parts.

    Args:
        steps: Environment steps of PPO.
        folder: Where pictures are saved; it is made if need be.

    Raises:
        StorageError: If it cannot be written to.
    """
    require_folder(folder)
    console.print(f"piase_gym {__version__}")
    four_agents(folder)
    learn(steps, folder)
