"""What PPO comes to in two dilemmas, trained several times and held to what can be computed.

    python -m piase_gym.benchmarks.studies.dilemmas.train tit_for_tat
    python -m piase_gym.benchmarks.studies.dilemmas.train harvest --workers 2

``tit_for_tat`` trains against that partner and reports the share of the best response's return.
``harvest`` trains independent PPO, in which every agent wants only its own apples (the networks
share their weights), and reports the measures of the commons on the way and at the end, next to
those of players by rule. Every finished training is a line in a file in `FOLDER` and is not
repeated, so an interrupted command continues when it is given again. docs/benchmarks.md shows the
results with intervals over training runs and episodes (`statistics.mean_interval`).
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from piase_gym.agents.base import Action, Agent, BatchPercept
from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.studies.dilemmas.measure import commons_episodes, shares_against
from piase_gym.benchmarks.studies.jobs import add_backend, do_all, report_errors
from piase_gym.core.digest import digest_json
from piase_gym.errors import UnsupportedError
from piase_gym.training.networks import Policy
from piase_gym.training.ppo import Settings, Trainer

FOLDER: Final = Path(__file__).parents[1] / "measured"
HARVEST: Final = "piase/SocialDilemma-Harvest-4p-v1"
TIT_FOR_TAT: Final = "piase/SocialDilemma-PrisonersDilemma-TitForTat-v1"
RULES: Final = ("random", "scripted", "oracle")
"""The players reported besides PPO in a harvest."""
LOOKS: Final = 6
"""How often a run in the harvest is looked at, the end included."""
SETTINGS: Final[Mapping[str, Settings]] = {
    "tit_for_tat": Settings(
        num_envs=256, num_steps=10, minibatch=512, total_steps=1_000_000, gamma=1.0, width=64
    ),
    "harvest": Settings(
        num_envs=32,
        num_steps=64,
        minibatch=1024,
        total_steps=600_000,
        reward_scale=0.5,
        width=64,
    ),
}
"""The settings of PPO; steps are environment steps."""
EPISODES: Final = {"tit_for_tat": 200, "harvest": 50}
"""Number of episodes by which a policy is judged."""
SEEDS: Final = (0, 1, 2, 3, 4)


class Replayer(Agent):
    """Plays a policy of `examples/ppo_batch.py` in batches, with sampled actions."""

    def __init__(self, policy: Policy, seed: int = 0) -> None:
        super().__init__()
        self.policy = policy
        self._draws = torch.Generator().manual_seed(seed)

    def act(self) -> Action:
        """Refuse.

        Raises:
            UnsupportedError: Always; it acts in batches only.
        """
        raise UnsupportedError("Replayer acts in batches only")

    @torch.no_grad()
    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Sample an action for each percept."""
        shown, masks = map(torch.as_tensor, map(np.ascontiguousarray, (batch.vectors, batch.masks)))
        choice, _ = self.policy(shown, masks)
        drawn: NDArray[np.int64] = torch.multinomial(choice.probs, 1, generator=self._draws).numpy()
        return drawn[:, 0]


def train_against(settings: Settings, seed: int, episodes: int) -> dict[str, Any]:
    """Train once against tit for tat; return the result, JSON-able."""
    start = time.process_time()
    trainer = Trainer(TIT_FOR_TAT, settings, seed, partners={"agent_1": "tit_for_tat"})
    trainer.train()
    spent = time.process_time() - start
    shares = shares_against(Replayer(trainer.policy), "tit_for_tat", episodes=episodes, rounds=10)
    return {
        "seed": seed,
        "steps": trainer.steps,
        "cpu_seconds": round(spent, 1),
        "episodes": {"share": _plain(shares)},
    }


def train_in_harvest(settings: Settings, seed: int, episodes: int) -> dict[str, Any]:
    """Train once in the harvest, measuring now and then; return the result, JSON-able."""
    start = time.process_time()
    path: list[dict[str, Any]] = []
    trainer = Trainer(HARVEST, settings, seed)

    def look(steps: int, _won: float) -> None:
        if steps >= (len(path) + 1) * settings.total_steps // LOOKS:
            path.append({"steps": steps, "episodes": _measured(Replayer(trainer.policy), episodes)})

    trainer.train(look)
    spent = time.process_time() - start
    return {"seed": seed, "steps": trainer.steps, "cpu_seconds": round(spent, 1), "path": path}


def _measured(policy: str | Agent, episodes: int) -> dict[str, list[float]]:
    """Return the measures of every episode of the harvest."""
    found = commons_episodes(policy, HARVEST, episodes=episodes)
    return {name: _plain(values) for name, values in found.items() if name != "cooperation_rate"}


def _plain(values: Sequence[float] | NDArray[np.float64]) -> list[float]:
    """Return numbers in the form in which they are stored."""
    return [round(float(value), 4) for value in values]


TRAIN: Final[Mapping[str, Callable[[Settings, int, int], dict[str, Any]]]] = {
    "tit_for_tat": train_against,
    "harvest": train_in_harvest,
}
"""The function that trains once and judges, by the name of what is measured."""


@dataclass(frozen=True)
class Job:
    """One training, or the play of another player.

    Attributes:
        name: ``tit_for_tat`` or ``harvest``.
        who: Seed of the training, or the name of a player by rule.
        settings: Settings of PPO.
        episodes: Number of episodes to judge a policy.
    """

    name: str
    who: int | str
    settings: Settings
    episodes: int

    @property
    def key(self) -> str:
        """What identifies it: everything that its result depends on."""
        settings = None if isinstance(self.who, str) else self.settings.stored_fields()
        return digest_json([self.name, self.who, settings, self.episodes])


def jobs(
    name: str,
    seeds: Sequence[int] = SEEDS,
    settings: Settings | None = None,
    episodes: int | None = None,
) -> list[Job]:
    """Return all jobs to do; by default, those of the stored results."""
    rules = RULES if name == "harvest" else ()
    planned = (settings or SETTINGS[name], episodes or EPISODES[name])
    return [Job(name, who, *planned) for who in (*rules, *seeds)]


def perform(job: Job) -> dict[str, Any]:
    """Train, or play by rule, and judge once; return a JSON-able line."""
    line = {"key": job.key, "task": HARVEST if job.name == "harvest" else TIT_FOR_TAT}
    if isinstance(job.who, str):
        played = {"rule": job.who, "episodes": _measured(job.who, job.episodes)}
        return {**line, **played, "versions": versions()}
    found = TRAIN[job.name](job.settings, job.who, job.episodes)
    settings = job.settings.stored_fields()
    return {**line, **found, "settings": settings, "versions": versions()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and do what is not done yet."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("what", choices=sorted(TRAIN))
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--episodes", type=int, help="played to judge a policy")
    parser.add_argument("--steps", type=int, help="environment steps of each run")
    add_backend(parser)
    parser.add_argument("--out", type=Path, help="default: where the stored results are")
    given = parser.parse_args(arguments)
    if given.out is None and (given.steps or given.episodes):
        parser.error("these would be other results than the stored ones; name a file with --out")
    settings = SETTINGS[given.what]
    if given.steps is not None:
        settings = dataclasses.replace(settings, total_steps=given.steps)
    out = given.out or FOLDER / f"{given.what}.jsonl"
    every = jobs(given.what, given.seeds, settings, given.episodes)

    def result_words(line: Mapping[str, Any]) -> str:
        return f"{given.what}, {line.get('rule') or 'seed ' + str(line['seed'])}; see {out}"

    with report_errors(parser):
        do_all(every, perform, out, result_words, given.workers, given.ray)


if __name__ == "__main__":
    main()
