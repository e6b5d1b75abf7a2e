"""PPO in one file over `piase_gym.batch_env`: thousands of environments, one policy for all agents.

    python examples/ppo_batch.py piase/GridWorld-FourRooms-8x8-v1
    python examples/ppo_batch.py piase/GridWorld-DoorKey-6x6-v1 --seeds 0 1 2 --out results.json

It trains on the levels of a batch seeded with ``--seeds`` and evaluates on held-out levels: one
episode for each seed of `HELD_OUT`, with actions sampled from the policy, and again with the most
probable ones. Success is reaching the goal, with Wilson's 95 % interval. The same seed gives the
same policy, bit for bit, on one machine and version of torch.

What matters here, apart from the usual details of PPO:

- Cells are symbols, not quantities: every byte of the observation picks a row of an embedding
  (`CellEncoder`). With raw bytes an MLP hardly learns. Observations that are quantities go through
  logarithms (`QuantityEncoder`), because scores and payoffs differ by orders of magnitude.
- Illegal actions are masked out.
- Rewards are scaled for the value function; the task's own are what is reported.
- A truncated episode is bootstrapped with the value of its last observation.
- The tasks are partially observed and the policy has no memory, so it plays by chance: a sampled
  action gets out of corners in which the most probable one would go on for ever.
- A little entropy, not much: where a bump costs more than a pause, too much of it teaches to stay.
"""

from __future__ import annotations

import argparse
import dataclasses
import platform
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn
from torch.distributions import Categorical

import piase_gym
from piase_gym.adapters.encoders import CellEncoder
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.core.files import write_json

HELD_OUT = range(2_000_000, 2_001_000)
"""Training never meets these: a batch starts with the seeds s, s + 1, ... and goes on with hashes
of 63 bits."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What PPO can be told; the defaults solve the tasks named above."""

    num_envs: int = 1024
    num_steps: int = 32
    total_steps: int = 3_000_000
    learning_rate: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    epochs: int = 2
    minibatch: int = 4096
    clip: float = 0.2
    entropy: float = 0.01
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    reward_scale: float = 0.1
    width: int = 128


class QuantityEncoder(nn.Module):
    """Encodes vectors of numbers of any size: a linear layer over logarithms that keep the sign."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(length, width)

    def forward(self, values: Tensor) -> Tensor:
        """Return encodings (batch, width) of values (batch, length)."""
        flat = values.float().flatten(1)
        encoded: Tensor = torch.relu(self.linear(flat.sign() * flat.abs().log1p()))
        return encoded


def encoder_of(space: Any, width: int) -> nn.Module:
    """Return the first layer for a space: of symbols if it holds whole numbers."""
    if np.issubdtype(space.dtype, np.integer):
        return CellEncoder(space.high, width)
    return QuantityEncoder(int(np.prod(space.shape)), width)


class Policy(nn.Module):
    """An actor and a critic on one encoding."""

    def __init__(self, space: Any, actions: int, width: int) -> None:
        super().__init__()
        self.encoder = encoder_of(space, width)
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.actor, self.critic = nn.Linear(width, actions), nn.Linear(width, 1)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, 2**0.5)
                nn.init.zeros_(module.bias)
        nn.init.orthogonal_(self.actor.weight, 0.01)
        nn.init.orthogonal_(self.critic.weight, 1.0)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Categorical, Tensor]:
        """Return the distribution over legal actions and the value of each observation."""
        hidden = self.body(self.encoder(observations))
        logits = self.actor(hidden).masked_fill(masks == 0, -1e9)
        return Categorical(logits=logits, validate_args=False), self.critic(hidden).squeeze(-1)

    def value(self, observations: Tensor) -> Tensor:
        """Return the value of each observation."""
        values: Tensor = self.critic(self.body(self.encoder(observations))).squeeze(-1)
        return values


class Rollout:
    """What the slots saw and did; slot ``e * agents + a`` is agent a of environment e."""

    def __init__(
        self,
        settings: Settings,
        slots: int,
        length: int,
        actions: int,
        kind: torch.dtype = torch.uint8,
    ) -> None:
        def shape(*more: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros((settings.num_steps, slots, *more), dtype=dtype)

        self.observations = shape(length, dtype=kind)
        self.masks = shape(actions, dtype=torch.int8)
        self.actions = shape(dtype=torch.int64)
        self.log_probs, self.values, self.rewards = shape(), shape(), shape()
        self.dones, self.alive = shape(), shape(dtype=torch.bool)
        self.advantages = shape()

    def estimate(self, last_value: Tensor, gamma: float, gae_lambda: float) -> None:
        """Fill in generalised advantages, from the end backwards."""
        ahead, value = torch.zeros_like(last_value), last_value
        for t in reversed(range(len(self.rewards))):
            going = 1.0 - self.dones[t]
            delta = self.rewards[t] + gamma * going * value - self.values[t]
            ahead = delta + gamma * gae_lambda * going * ahead
            self.advantages[t], value = ahead, self.values[t]

    def samples(self) -> dict[str, Tensor]:
        """Return all steps of agents in play as flat arrays."""
        names = ("observations", "masks", "actions", "log_probs", "values", "advantages")
        return {name: getattr(self, name)[self.alive] for name in names}


class Trainer:
    """Trains one policy for all agents of a task.

    `task` is an id or a world's name, or environments that are made already and step as a batch
    with ``autoreset="same_step"`` does: one that is wrapped, such as by a curriculum.
    """

    def __init__(self, task: Any, settings: Settings, seed: int, **config: Any) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.settings, self.env = settings, task
        if isinstance(task, str):
            self.env = piase_gym.batch_env(
                task, num_envs=settings.num_envs, autoreset="same_step", **config
            )
        self.slots = settings.num_envs * len(self.env.agents)
        count, space = int(self.env.action_space.n), self.env.observation_space
        self.policy = Policy(space, count, settings.width)
        self.optimizer = torch.optim.Adam(
            self.policy.parameters(), settings.learning_rate, eps=1e-5
        )
        kind = torch.as_tensor(np.zeros(0, space.dtype)).dtype
        self.rollout = Rollout(settings, self.slots, space.shape[0], count, kind)
        self.shown, self.infos = self.env.reset(seed)
        self.recent: list[bool] = []
        self.steps = 0
        self.after_rollout: Callable[[Rollout], object] = lambda rollout: None
        """Called before learning; it may clear flags of `Rollout.alive`."""

    def train(self, report: Callable[[int, float], object] = lambda steps, won: None) -> None:
        """Alternate between acting and learning until the steps are used up or a report says so."""
        settings = self.settings
        while self.steps < settings.total_steps:
            for group in self.optimizer.param_groups:
                group["lr"] = settings.learning_rate * (1.0 - self.steps / settings.total_steps)
            self.recent = []
            self.act()
            self.after_rollout(self.rollout)
            if self.rollout.alive.any():
                self.learn()
            if report(self.steps, float(np.mean(self.recent)) if self.recent else 0.0):
                break

    @torch.no_grad()
    def act(self) -> None:
        """Play `num_steps` in every environment."""
        rollout, settings = self.rollout, self.settings
        for t in range(settings.num_steps):
            observations, masks = self.flat(self.shown), self.flat(self.infos["action_mask"])
            choice, values = self.policy(observations, masks)
            actions = choice.sample()
            rollout.observations[t], rollout.masks[t] = observations, masks
            rollout.alive[t] = self.flat(self.infos["alive"])
            rollout.actions[t], rollout.values[t] = actions, values
            rollout.log_probs[t] = choice.log_prob(actions)
            acts = actions.numpy().reshape(self.env.num_envs, -1)
            self.shown, rewards, terminated, truncated, self.infos = self.env.step(acts)
            over = terminated | truncated
            self.recent += terminated[over].tolist()
            rewards *= settings.reward_scale
            last = torch.as_tensor(self.infos["final_obs"][truncated])
            rewards[truncated] += settings.gamma * self.policy.value(last).numpy()
            rollout.rewards[t] = self.flat(rewards)
            rollout.dones[t] = self.flat(over | self.infos["_final_obs"][:, None])
        playing = rollout.alive.view(settings.num_steps, settings.num_envs, -1).any(-1)
        self.steps += int(playing.sum())
        last = self.policy.value(self.flat(self.shown))
        rollout.estimate(last, settings.gamma, settings.gae_lambda)

    def flat(self, array: np.ndarray) -> Tensor:
        """Return (envs, agents, ...) as a tensor (slots, ...)."""
        return torch.as_tensor(array).reshape(self.slots, *array.shape[2:])

    def learn(self) -> None:
        """Improve the policy on what was played."""
        samples = self.rollout.samples()
        size = len(samples["actions"])
        for _ in range(self.settings.epochs):
            for part in torch.randperm(size).split(self.settings.minibatch):
                self.improve({name: values[part] for name, values in samples.items()})

    def improve(self, batch: dict[str, Tensor]) -> None:
        """Take one step on a minibatch."""
        settings = self.settings
        choice, values = self.policy(batch["observations"], batch["masks"])
        advantages = batch["advantages"]
        targets = advantages + batch["values"]
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = (choice.log_prob(batch["actions"]) - batch["log_probs"]).exp()
        clipped = ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip)
        gain = torch.minimum(ratio * advantages, clipped * advantages).mean()
        value_loss = 0.5 * (values - targets).square().mean()
        loss = settings.value_weight * value_loss - gain - settings.entropy * entropy(choice)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), settings.max_grad_norm)
        self.optimizer.step()


def entropy(choice: Categorical) -> Tensor:
    """Return the mean entropy; forbidden actions add nothing."""
    return -(choice.probs * choice.logits).sum(-1).mean()


def evaluate(policy: Policy, task: Any, greedy: bool = False, **config: Any) -> float:
    """Return the share of agents that win, in one episode of each held-out seed."""
    return float(play(policy, task, HELD_OUT, greedy, **config).mean())


@torch.no_grad()
def play(
    policy: Policy, task: Any, seeds: range, greedy: bool = False, **config: Any
) -> np.ndarray:
    """Play one episode of each seed; return who won, shape (seeds, agents)."""
    env = piase_gym.batch_env(task, num_envs=len(seeds), autoreset="disabled", **config)
    generator = torch.Generator().manual_seed(seeds.start)
    shown, infos = env.reset(list(seeds))
    shape = infos["alive"].shape
    while infos["alive"].any():
        flat = torch.as_tensor(shown).flatten(0, 1)
        choice, _ = policy(flat, torch.as_tensor(infos["action_mask"]).flatten(0, 1))
        drawn = torch.multinomial(choice.probs, 1, generator=generator)
        actions = choice.probs.argmax(-1) if greedy else drawn
        shown, _, _, _, infos = env.step(actions.numpy().reshape(shape))
    seats = [env.world.agents.index(name) for name in env.agents]
    worlds = map(env.single, range(len(seeds)))  # who was terminated may also have lost
    return np.array([[world.result(seat) == "won" for seat in seats] for world in worlds])


def run(task: str, settings: Settings, seed: int, console: Console) -> dict[str, Any]:
    """Train and evaluate once; return the result as a JSON-able value."""
    warm = piase_gym.batch_env(task, num_envs=1)
    warm.reset(seed)
    warm.step(np.zeros((1, len(warm.agents)), np.int64))  # compiles, if this is the first time
    start, told = time.process_time(), 0

    def report(steps: int, won: float) -> None:
        nonlocal told
        if steps - told >= settings.total_steps // 20:
            told = steps
            seconds = time.process_time() - start
            line = f"{steps:>10,} steps, {won:.1%} of the episodes that ended were won"
            console.print(f"{task} seed {seed}: {line}, {seconds:.0f} CPU-seconds", soft_wrap=True)

    trainer = Trainer(task, settings, seed)
    trainer.train(report)
    seconds = time.process_time() - start
    result: dict[str, Any] = {"task": task, "seed": seed, "steps": trainer.steps}
    result["cpu_seconds"] = round(seconds, 1)
    for name, greedy in (("sampled", False), ("argmax", True)):
        share = evaluate(trainer.policy, task, greedy=greedy)
        _, low, high = wilson(share * len(HELD_OUT), len(HELD_OUT))
        console.print(
            f"{task} seed {seed}: {share:.1%} [{low:.1%}, {high:.1%}] {name}", soft_wrap=True
        )
        result[name] = {"success": share, "wilson95": [round(low, 4), round(high, 4)]}
    return result


def main() -> None:
    """Read the command line, train once a seed and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tasks", nargs="+", metavar="TASK")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path, help="a JSON file for the results")
    for field in dataclasses.fields(Settings):
        name = "--" + field.name.replace("_", "-")
        parser.add_argument(name, type=type(field.default), default=field.default)
    options = vars(parser.parse_args())
    tasks, seeds, out = options.pop("tasks"), options.pop("seeds"), options.pop("out")
    settings, console = Settings(**options), Console()
    runs = [run(task, settings, seed, console) for task in tasks for seed in seeds]
    versions = {"piase_gym": piase_gym.__version__, "torch": torch.__version__}
    if out is not None:
        results = {
            "command": shlex.join(["python", "examples/ppo_batch.py", *sys.argv[1:]]),
            "versions": {**versions, "python": platform.python_version()},
            "settings": dataclasses.asdict(settings),
            "held_out_seeds": [HELD_OUT.start, HELD_OUT.stop],
            "runs": runs,
        }
        write_json(out, results)


if __name__ == "__main__":
    main()
