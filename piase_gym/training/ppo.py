"""PPO over batches of environments, thousands where a kernel steps them: one policy for all agents.

    python examples/ppo_batch.py piase/GridWorld-FourRooms-8x8-v1
    python examples/ppo_batch.py piase/GridWorld-DoorKey-6x6-v1 --seeds 0 1 2 --out results.json

It trains on the training levels (`piase_gym.benchmarks.evaluation.levels`) of a batch seeded with
``--seeds``, and evaluates on a thousand held-out seeds, whose levels it never met and several of
which may draw the same level; once with actions sampled from the policy and once with the most
probable ones. A task with few levels has none to hold out. Success is reaching the goal, with
Wilson's 95 % interval over the seeds. The same seed gives the same policy, bit for bit, on one
machine and version of torch.

What matters here, apart from the usual details of PPO:

- Symbols are embedded, by a compiled layer (`piase_gym.training.networks`).
- Illegal actions are masked out.
- Rewards are scaled for the value function; the task's own rewards are reported. Training may use
  rewards that differ from these (`piase_gym.training.rewards`).
- A truncated episode is bootstrapped with the value of its last observation, unless observations
  show how much of the limit is left: then truncation counts as an end (`World.tells_limits`).
- The tasks are partially observed. A policy without memory plays stochastically: a sampled action
  gets out of corners in which the most probable one would repeat for ever. `memory` gives it a GRU.
- The entropy bonus is small: where a bump costs more than a pause, a large one teaches to stay.
- One policy plays all agents, or one for each role (`roles`). A central critic sees the whole state
  (`central`). With `self_play`, a past self plays all but one agent of an environment.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import platform
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from torch import Tensor, nn

import piase_gym
from piase_gym.benchmarks.evaluation.levels import train_apart
from piase_gym.benchmarks.evaluation.protocol import first_seed
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.core.commands import RESULTS, Result
from piase_gym.core.files import require_folder, write_json
from piase_gym.errors import ConfigError
from piase_gym.training.environments import make_envs
from piase_gym.training.networks import Choice, Policy, make_room
from piase_gym.training.playing import HELD_OUT, evaluate, play, play_returns
from piase_gym.training.ppo_settings import OPTIONS, Settings, check_self_play
from piase_gym.training.rewards import SHAPED, Shaping, training_config
from piase_gym.training.rollout import SAMPLED, Rollout, View
from piase_gym.training.schedule import rate_at

__all__ = [
    "HELD_OUT",
    "OPTIONS",
    "Learner",
    "Rollout",
    "Settings",
    "Trainer",
    "evaluate",
    "losses",
    "main",
    "play",
    "play_returns",
    "run",
]


WON = RESULTS.index(Result.WON)


def losses(
    choice: Choice, values: Tensor, batch: Mapping[str, Tensor], settings: Settings
) -> Tensor:
    """Return what PPO minimises: the clipped policy loss and the value loss, less the entropy.

    Advantages are normalised within the minibatch.
    """
    advantages = batch["advantages"]
    targets = advantages + batch["values"]
    advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)
    ratio = (choice.log_prob(batch["actions"]) - batch["log_probs"]).exp()
    clipped = ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip)
    gain = torch.minimum(ratio * advantages, clipped * advantages).mean()
    value_loss = 0.5 * (values - targets).square().mean()
    return settings.value_weight * value_loss - gain - settings.entropy * choice.entropy().mean()


class Learner:
    """One policy, the agents it plays, and what it learns from.

    Attributes:
        columns: Columns of its agents in the arrays of the environments.
        policy: The policy that learns.
        past: Earlier copies of the policy, for self-play.
    """

    def __init__(self, settings: Settings, env: Any, columns: Sequence[int]) -> None:
        self.settings, self.columns = settings, list(columns)
        slots, space = settings.num_envs * len(self.columns), env.observation_space
        state_space = env.world.state_space if settings.central else None
        count = int(env.action_space.n)
        self.policy = Policy(
            space,
            count,
            settings.width,
            settings.memory,
            state_space,
            len(env.agents),
            getattr(env.world, "thing_places", None),  # a foreign environment may have none
        )
        self.optimizer = torch.optim.Adam(
            self.policy.parameters(), settings.learning_rate, eps=1e-5, fused=True
        )
        kind = torch.as_tensor(np.zeros(0, space.dtype)).dtype
        size = 0 if state_space is None else int(np.prod(state_space.shape))
        self.rollout = Rollout(settings, slots, space.shape[0], count, kind, size)
        self.rollout.seats[:] = torch.as_tensor(self.columns).repeat(settings.num_envs)
        self.memory = self.policy.blank(slots)
        self.past: list[Policy] = []
        self.opponent, self.opponents_memory = self.policy, self.memory
        self.updates = 0

    def begin(self) -> None:
        """Begin a rollout: store the recurrent state, and choose a past self to play against."""
        if self.memory is not None:
            self.rollout.memory.copy_(self.memory)
        if not self.settings.self_play:
            return
        if self.updates % self.settings.past_every == 0:
            self.past.append(copy.deepcopy(self.policy).requires_grad_(False))
            del self.past[: -self.settings.past_kept]
        self.opponent = self.past[int(torch.randint(len(self.past), ()))]
        self.opponents_memory = self.policy.blank(len(self.rollout.memory))

    def act(self, t: int, view: View) -> Tensor:
        """Choose actions for all slots, and store all that is known before they are executed."""
        rollout, policy = self.rollout, self.policy
        rollout.observations[t], rollout.masks[t] = view.shown, view.masks
        rollout.states[t] = view.states
        if policy.admit(view.shown, view.states):
            make_room(self.optimizer)
        if self.memory is not None:
            rollout.fresh[t] = view.fresh
            self.memory = self.memory * ~view.fresh[:, None]
        hidden, self.memory = policy.read(view.shown, self.memory)
        choice, rollout.values[t] = policy.judge(hidden, view.masks, view.states, rollout.seats[t])
        actions = choice.sample()
        rollout.log_probs[t] = choice.log_prob(actions)
        rollout.alive[t] = view.alive & ~view.frozen
        if view.frozen.any():
            actions = torch.where(view.frozen, self._answer(view), actions)
        rollout.actions[t] = actions
        return actions

    def _answer(self, view: View) -> Tensor:
        """Choose actions as the past self does."""
        if self.opponents_memory is not None:
            self.opponents_memory = self.opponents_memory * ~view.fresh[:, None]
        hidden, self.opponents_memory = self.opponent.read(view.shown, self.opponents_memory)
        return self.opponent.judge(hidden, view.masks)[0].sample()

    def foresee(self, shown: Tensor, states: Tensor, which: Tensor) -> Tensor:
        """Return the values of observations that slots see after their last action."""
        memory = None if self.memory is None else self.memory[which]
        hidden, _ = self.policy.read(shown, memory)
        masks = self.rollout.masks[0, which]
        return self.policy.judge(hidden, masks, states, self.rollout.seats[0, which])[1]

    def state(self) -> dict[str, Any]:
        """Return parameters, moments, memory and past selves."""
        return {
            "policy": self.policy.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "memory": self.memory,
            "past": [one.state_dict() for one in self.past],
            "updates": self.updates,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.memory, self.updates = state["memory"], state["updates"]
        self.past = []
        for kept in state["past"]:
            self.past.append(copy.deepcopy(self.policy).requires_grad_(False))
            self.past[-1].load_state_dict(kept)

    def learn(self) -> None:
        """Improve the policy on what was played."""
        self.updates += 1
        if not self.rollout.alive.any():
            return
        for _ in range(self.settings.epochs):
            for batch in self.rollout.minibatches(self.settings.minibatch):
                self.improve(batch)

    def improve(self, batch: dict[str, Tensor]) -> None:
        """Take one gradient step on a minibatch."""
        policy = self.policy
        if policy.memory is None:
            hidden, _ = policy.read(batch["observations"], None)
        else:
            alive = batch["alive"]
            hidden = policy.unroll(batch["observations"], batch["memory"], batch["fresh"])[alive]
            batch = {name: batch[name][alive] for name in SAMPLED}
        choice, values = policy.judge(hidden, batch["masks"], batch["states"], batch["seats"])
        loss = losses(choice, values, batch, self.settings)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), self.settings.max_grad_norm)
        self.optimizer.step()


def check_envs(env: Any, settings: Settings) -> None:
    """Check that environments step as training needs it, as far as they say how they step.

    Raises:
        ConfigError: If they do not.
    """
    count, autoreset = settings.num_envs, getattr(env, "autoreset", None)
    if env.num_envs != count:
        raise ConfigError(f"the settings have num_envs={count}, and here are {env.num_envs}")
    right = "next_step" if settings.central else "same_step"
    if autoreset == "disabled" or (settings.central and autoreset == "same_step"):
        raise ConfigError(f"training needs autoreset={right!r}, not {autoreset!r}")
    if getattr(env, "infos", "full") != "full":
        raise ConfigError(f"training needs infos='full', not {env.infos!r}")


class Trainer:
    """Trains the policies of a task: one for all agents, or one for each role.

    `task` is an id, a world's name, or existing environments that step like a batch with
    ``autoreset="same_step"``, such as a batch that is wrapped by a curriculum. With a central
    critic they step as with ``autoreset="next_step"``, so that last states are seen.

    Raises:
        ConfigError: If the environments do not step so, or a setting does not fit them.

    Attributes:
        learners: One for each role.
        steps: Environment steps so far.
        recent: Whether each agent that ended in the last rollout had won.
    """

    def __init__(self, task: Any, settings: Settings, seed: int, **config: Any) -> None:
        torch.set_num_threads(settings.threads)
        torch.manual_seed(seed)
        # Once a block this large has been freed, glibc keeps such memory instead of fetching it
        # again for every minibatch: without this, learning takes 15 to 25 % longer.
        torch.empty(31 << 20, dtype=torch.uint8)
        self.settings, self.env = settings, task
        self.own_costs: int | None = None
        # What follows an episode's last step must be seen itself, not the next episode's start.
        whole = settings.central or settings.training_reward in SHAPED
        if isinstance(task, str):
            own, config = config, training_config(task, config, settings.training_reward)
            mode = "next_step" if whole else "same_step"
            self.env = make_envs(task, settings.num_envs, mode, **config)
            train_apart(self.env)
            if settings.training_reward == "own_costs_later":
                plain = piase_gym.batch_env(task, num_envs=1, **own)
                self.own_costs = self.env.add_config(plain.configs[0])
        elif settings.training_reward != "own":
            raise ConfigError("training rewards need the name of a task")
        check_envs(self.env, settings)
        check_self_play(settings.self_play, len(self.env.agents))
        self.learners = [Learner(settings, self.env, seats) for seats in self._roles()]
        self.shaping = None
        self.shown, self.infos = self.env.reset(seed)
        if settings.training_reward in SHAPED:
            self.shaping = Shaping(self.env, settings.gamma, settings.shaping)
        self.fresh = np.ones((settings.num_envs, len(self.env.agents)), np.bool_)
        self.recent: list[bool] = []
        self.steps = 0
        self.after_rollout: Callable[[Rollout], object] = lambda rollout: None
        """Called before learning; it may clear flags of `Rollout.alive`."""

    def _roles(self) -> list[list[int]]:
        """Return the agents of each policy."""
        count, roles = len(self.env.agents), self.settings.roles
        if not roles:
            return [list(range(count))]
        if len(roles) != count or sorted(set(roles)) != list(range(max(roles) + 1)):
            raise ConfigError(
                f"roles name a policy for each of the {count} agents, from 0 on, such as "
                f"{tuple(range(count))}; not {roles}"
            )
        return [[a for a in range(count) if roles[a] == role] for role in range(max(roles) + 1)]

    def state(self) -> dict[str, Any]:
        """Return all that is needed to continue exactly, in a form that `torch.save` can write."""
        seen = {name: torch.as_tensor(self.infos[name]) for name in ("action_mask", "alive")}
        return {
            "steps": self.steps,
            "random": torch.get_rng_state(),
            "envs": self.env.snapshot(),
            "shown": torch.as_tensor(self.shown),
            "infos": seen,
            "fresh": torch.as_tensor(self.fresh),
            "potentials": None if self.shaping is None else torch.as_tensor(self.shaping.before),
            "learners": [learner.state() for learner in self.learners],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` of a trainer with the same task and settings returned."""
        self.env.restore(state["envs"])
        self.steps = state["steps"]
        fresh = state["fresh"].numpy().reshape(len(self.fresh), -1)  # one per environment, of old
        self.fresh = np.broadcast_to(fresh, self.fresh.shape).copy()
        self.shown = state["shown"].numpy()
        self.infos = {name: value.numpy() for name, value in state["infos"].items()}
        if self.shaping is not None:
            self.shaping.before = state["potentials"].numpy()
        for learner, kept in zip(self.learners, state["learners"], strict=True):
            learner.restore(kept)
        torch.set_rng_state(state["random"])

    @property
    def policies(self) -> list[Policy]:
        """The policy of each agent of the caller."""
        roles = self.settings.roles or (0,) * len(self.env.agents)
        return [self.learners[role].policy for role in roles]

    @property
    def policy(self) -> Policy:
        """The policy of the first role."""
        return self.learners[0].policy

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimizer of the first role."""
        return self.learners[0].optimizer

    @property
    def rollout(self) -> Rollout:
        """What the first role saw and did."""
        return self.learners[0].rollout

    def train(self, report: Callable[[int, float], object] = lambda steps, won: None) -> None:
        """Alternate acting and learning until the steps are used up or `report` returns true."""
        settings = self.settings
        while self.steps < settings.total_steps:
            rate = rate_at(settings.learning_rate, self.steps, settings.total_steps)
            for learner in self.learners:
                for group in learner.optimizer.param_groups:
                    group["lr"] = rate
            self.recent = []
            if self.own_costs and self.steps >= settings.shaping_until * settings.total_steps:
                self.env.reconfigure(self.own_costs)
            self.act()
            self.after_rollout(self.rollout)
            self.learn()
            if report(self.steps, float(np.mean(self.recent)) if self.recent else 0.0):
                break

    def learn(self) -> None:
        """Let every policy learn from what was played."""
        for learner in self.learners:
            learner.learn()

    @torch.no_grad()
    def act(self) -> None:
        """Play `num_steps` in every environment."""
        settings, env = self.settings, self.env
        states, frozen = self._states(), self._frozen()
        acts = np.zeros((settings.num_envs, len(env.agents)), np.int64)
        for learner in self.learners:
            learner.begin()
        for t in range(settings.num_steps):
            alive = self.infos["alive"]
            for learner in self.learners:
                actions = learner.act(t, self._view(learner, states, frozen))
                acts[:, learner.columns] = actions.numpy().reshape(settings.num_envs, -1)
            self.shown, rewards, terminated, truncated, self.infos = env.step(acts)
            states = self._states()
            over = terminated | truncated
            self.recent += self._won(terminated)[over].tolist()
            if self.shaping is not None:
                left = 1.0 - self.steps / (settings.shaping_until * settings.total_steps)
                self.shaping.add(rewards, terminated, truncated, max(0.0, left))
            if settings.training_reward == "prosocial":
                rewards = np.broadcast_to(rewards.mean(1, keepdims=True), rewards.shape).copy()
            rewards *= settings.reward_scale
            final = self.infos.get("final_obs", self.shown)
            ended = self.infos.get("_final_obs", np.False_) | ~alive.any(1)
            for learner in self.learners:
                rollout = learner.rollout
                rollout.rewards[t] = self._flat(rewards, learner)
                rollout.dones[t] = self._flat(over | ended[:, None], learner)
                cut = self._flat(truncated, learner)
                if cut.any() and not env.world.tells_limits:
                    shown, seen = self._flat(final, learner), self._of_slots(states, learner)
                    values = learner.foresee(shown[cut], seen[cut], cut)
                    rollout.rewards[t, cut] += settings.gamma * values
            self.fresh = ended[:, None] | ~alive
            self.steps += int(alive.any(1).sum())
        for learner in self.learners:
            shown, seen = self._flat(self.shown, learner), self._of_slots(states, learner)
            every = torch.ones(len(shown), dtype=torch.bool)
            last = learner.foresee(shown, seen, every)
            learner.rollout.estimate(last, settings.gamma, settings.gae_lambda)

    def _won(self, terminated: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return who won in the last step or, if the infos have no results, who was terminated."""
        results = self.infos.get("result")
        return terminated if results is None else np.asarray(results == WON)

    def _view(self, learner: Learner, states: Tensor, frozen: NDArray[np.bool_]) -> View:
        """Return what the slots of a policy see now."""
        return View(
            self._flat(self.shown, learner),
            self._flat(self.infos["action_mask"], learner),
            self._flat(self.infos["alive"], learner),
            self._flat(self.fresh, learner),
            self._of_slots(states, learner),
            self._flat(frozen, learner),
        )

    def _flat(self, array: NDArray[Any], learner: Learner) -> Tensor:
        """Return a policy's part of (envs, agents, ...) as a tensor (slots, ...)."""
        if len(learner.columns) < array.shape[1]:
            array = array[:, learner.columns]
        return torch.as_tensor(array).flatten(0, 1)

    def _states(self) -> Tensor:
        """Return the state of every environment for a central critic, or states of size 0."""
        if not self.settings.central:
            return torch.zeros(self.settings.num_envs, 0)
        return torch.as_tensor(self.env.state()).flatten(1).float()

    def _of_slots(self, states: Tensor, learner: Learner) -> Tensor:
        """Return states (envs, size) once for each slot of a policy."""
        return states.repeat_interleave(len(learner.columns), 0)

    def _frozen(self) -> NDArray[np.bool_]:
        """Return whom a past self plays: all but one agent, in a share of the environments."""
        envs, count = self.settings.num_envs, len(self.env.agents)
        frozen = np.zeros((envs, count), np.bool_)
        among = np.arange(round(self.settings.self_play * envs))
        frozen[among] = True
        frozen[among, among % count] = False
        return frozen


def run(task: str, settings: Settings, seed: int, console: Console) -> dict[str, Any]:
    """Train and evaluate once; return the result as a JSON-able value."""
    warm = make_envs(task, 1, "same_step")
    warm.reset(seed)
    warm.step(np.zeros((1, len(warm.agents)), np.int64))  # compiles, if this is the first time
    start, reported = time.process_time(), 0

    def report(steps: int, won: float) -> None:
        nonlocal reported
        if steps - reported >= settings.total_steps // 20:
            reported = steps
            seconds = time.process_time() - start
            line = f"{steps:>10,} steps, {won:.1%} of the episodes that ended were won"
            console.print(f"{task} seed {seed}: {line}, {seconds:.0f} CPU-seconds", soft_wrap=True)

    trainer = Trainer(task, settings, first_seed(seed, settings.num_envs))
    trainer.train(report)
    seconds = time.process_time() - start
    result: dict[str, Any] = {"task": task, "seed": seed, "steps": trainer.steps}
    result["cpu_seconds"] = round(seconds, 1)
    for name, greedy in (("sampled", False), ("argmax", True)):
        share = evaluate(trainer.policies, task, greedy=greedy)
        _, low, high = wilson(share * len(HELD_OUT), len(HELD_OUT))
        console.print(
            f"{task} seed {seed}: {share:.1%} [{low:.1%}, {high:.1%}] {name}", soft_wrap=True
        )
        result[name] = {"success": share, "wilson95": [round(low, 4), round(high, 4)]}
    return result


def main() -> None:
    """Read the command line, train once per task and seed, and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("tasks", nargs="+", metavar="TASK")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path, help="a JSON file for the results")
    for field in dataclasses.fields(Settings):
        name = "--" + field.name.replace("_", "-")
        kind: dict[str, Any] = {"type": type(field.default)}
        if field.default == ():
            kind = {"type": int, "nargs": "+"}
        elif isinstance(field.default, bool):
            kind = {"action": "store_true"}
        parser.add_argument(name, default=field.default, **kind)
    options = vars(parser.parse_args())
    tasks, seeds, out = options.pop("tasks"), options.pop("seeds"), options.pop("out")
    options["roles"] = tuple(options["roles"])
    settings, console = Settings(**options), Console()
    if out is not None:
        require_folder(out.parent)  # what cannot be stored is not computed
    runs = [run(task, settings, seed, console) for task in tasks for seed in seeds]
    versions = {"piase_gym": piase_gym.__version__, "torch": torch.__version__}
    if out is not None:
        results = {
            "command": shlex.join(["python", "examples/ppo_batch.py", *sys.argv[1:]]),
            "versions": {**versions, "python": platform.python_version()},
            "settings": settings.stored_fields(),
            "held_out_seeds": len(HELD_OUT),
            "runs": runs,
        }
        write_json(out, results)


if __name__ == "__main__":
    main()
