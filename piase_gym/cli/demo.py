"""``piase demo``: the main job on real input, with pictures.

It plays a PettingZoo episode in both views, then trains PPO through Gymnasium. ``make demo`` runs
it too. It needs the extra ``train``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import gymnasium
import pettingzoo
import typer
from rich.panel import Panel

from piase_gym import __version__, runs, wrappers
from piase_gym.agents import OracleAgent
from piase_gym.agents.base import act_all
from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.cli.console import console, make_table, say
from piase_gym.core.files import require_folder
from piase_gym.errors import need

if TYPE_CHECKING:
    from stable_baselines3 import PPO

TASK = "piase_gym:piase/GridWorld-v1"
CONFIG: dict[str, Any] = {"width": 6, "height": 6, "max_steps": 20}
DEV_SEEDS = SEEDS["dev"][:200]


def demo(
    steps: Annotated[
        int, typer.Option(metavar="N", min=1, help="Environment steps of PPO.")
    ] = 150_000,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for pictures.")] = Path(
        "demo"
    ),
) -> None:
    """Play four agents, then train PPO and show what it learned."""
    require_folder(out)  # before the libraries are loaded
    need("stable_baselines3", "piase demo", "train")
    console.print(f"piase_gym {__version__}")
    play_four_agents(out)
    learn(steps, out)


def play_four_agents(folder: Path) -> None:
    """Let four oracles share four rooms; show one step in both views, save the episode."""
    log = folder / "four_agents.jsonl"
    inner = pettingzoo.make("parallel", "piase/GridWorld-FourRooms-8x8-v1", agents=4)
    env = wrappers.AvtLogger(inner, log, experiment_id="demo", overwrite=True)
    observations, _ = env.reset(seed=7)
    agents = {name: OracleAgent(name) for name in env.possible_agents}
    returns, step = dict.fromkeys(agents, 0.0), 0
    console.rule("Four agents, PettingZoo")
    console.print(Panel(observations["agent_0"]["text"], title="what agent_0 reads"))
    console.print("what agent_0 sees as a vector:", observations["agent_0"]["vector"])
    console.print(env.world.ansi())
    while env.agents:
        observations, rewards, _, _, infos = env.step(act_all(env, agents, step))
        step += 1
        for name, reward in rewards.items():
            returns[name] += reward
            if "result" in infos[name]:
                result, total = infos[name]["result"], returns[name]
                console.print(f"step {step}: {name} has {result}, with a return of {total:.1f}")
    env.close()
    verify(log)
    save(log, ".gif")


def verify(log: Path) -> None:
    """Check a log and execute its run again.

    Raises:
        RuntimeError: If anything came out differently.
    """
    checked, report = runs.validate(log), runs.replay(log)
    if not (checked.ok and report.ok):
        raise RuntimeError(f"{checked}\n{report}")
    say(f"saved {log}: {checked.lines} lines; replayed, {report}")


def save(log: Path, kind: str, stop: int | None = None) -> None:
    """Save pictures of a run beside its log, from the log alone."""
    say(f"saved {runs.render(log, log.with_suffix(kind), stop=stop, overwrite=True)}")


def play(model: PPO, env: gymnasium.Env[Any, Any], seed: int) -> bool:
    """Play an episode with a model, and return whether it reached the goal."""
    observation, info = env.reset(seed=seed)
    over = False
    while not over:
        action, _ = model.predict(observation)
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    return bool(info["result"] == "won")


def success(model: PPO) -> str:
    """Return the share of held-out levels in which the model reaches the goal."""
    env: gymnasium.Env[Any, Any] = gymnasium.make(TASK, **CONFIG)
    return f"{sum(play(model, env, seed) for seed in DEV_SEEDS) / len(DEV_SEEDS):.0%}"


def learn(steps: int, folder: Path) -> None:
    """Train PPO, show success on held-out levels before and after, and save an episode."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    console.rule("One learner, Gymnasium and Stable-Baselines3")
    # The networks are small: a second thread only gets in the way.
    torch.set_num_threads(1)
    model = PPO(
        "MlpPolicy",
        make_vec_env(TASK, n_envs=16, seed=0, env_kwargs=CONFIG),
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
    columns = ("", "before", f"after {steps:,} steps")
    title = f"Levels solved, of {len(DEV_SEEDS)} that were not trained on"
    console.print(make_table(columns, [("PPO", before, success(model))], title, columns))
    log = folder / "learned.jsonl"
    inner = gymnasium.make(TASK, **CONFIG)
    env = wrappers.AvtLogger(inner, log, experiment_id="demo", overwrite=True)
    play(model, env, DEV_SEEDS[0])
    env.close()
    verify(log)
    save(log, ".gif")
    save(log, ".png", stop=0)
