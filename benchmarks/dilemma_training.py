"""What PPO comes to in two dilemmas, trained several times and held to what can be computed.

    python -m piase_gym.benchmarks.dilemma_training tit_for_tat
    python -m piase_gym.benchmarks.dilemma_training harvest

``tit_for_tat`` trains against that partner and tells the share of the best response's return.
``harvest`` trains independent PPO, where every agent wants its own apples only (their networks
share their weights), and tells the measures of the commons on the way and at the end, beside
players by rule. Results are stored in `FOLDER`, an episode a number, and shown on
docs/benchmarks.md with intervals over training runs and episodes (`statistics.mean_interval`).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console

from piase_gym.agents.base import Action, Agent, BatchPercept
from piase_gym.benchmarks.checkpoints import write_whole
from piase_gym.benchmarks.dilemmas import commons_episodes, shares_against
from piase_gym.benchmarks.evaluation import versions
from piase_gym.errors import UnsupportedError
from piase_gym.examples.ppo_batch import Policy, Settings, Trainer

FOLDER: Final = Path(__file__).with_name("measured")
HARVEST: Final = "piase/SocialDilemma-Harvest-4p-v0"
TIT_FOR_TAT: Final = "piase/SocialDilemma-PrisonersDilemma-TitForTat-v0"
RULES: Final = ("random", "scripted", "oracle")
"""Who is told beside PPO in a harvest."""
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
"""What PPO is told; steps are those of environments."""


class Player(Agent):
    """Plays a policy of `examples/ppo_batch.py` in batches, with drawn actions."""

    def __init__(self, policy: Policy, seed: int = 0) -> None:
        super().__init__()
        self.policy = policy
        self._draws = torch.Generator().manual_seed(seed)

    def act(self) -> Action:
        """Refuse.

        Raises:
            UnsupportedError: Always; it acts in batches only.
        """
        raise UnsupportedError("Player acts in batches only")

    @torch.no_grad()
    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Draw an action for each percept."""
        shown, masks = map(torch.as_tensor, map(np.ascontiguousarray, (batch.vectors, batch.masks)))
        choice, _ = self.policy(shown, masks)
        drawn: NDArray[np.int64] = torch.multinomial(choice.probs, 1, generator=self._draws).numpy()
        return drawn[:, 0]


def train_against(settings: Settings, seed: int, episodes: int) -> dict[str, Any]:
    """Train beside tit for tat once; return what came of it, JSON-able."""
    start = time.process_time()
    trainer = Trainer(TIT_FOR_TAT, settings, seed, partners={"agent_1": "tit_for_tat"})
    trainer.train()
    spent = time.process_time() - start
    shares = shares_against(Player(trainer.policy), "tit_for_tat", episodes=episodes, rounds=10)
    return {
        "seed": seed,
        "steps": trainer.steps,
        "cpu_seconds": round(spent, 1),
        "episodes": {"share": _plain(shares)},
    }


def train_in_harvest(settings: Settings, seed: int, episodes: int) -> dict[str, Any]:
    """Train in the harvest once, looking at it now and then; return what came of it, JSON-able."""
    start = time.process_time()
    path: list[dict[str, Any]] = []
    trainer = Trainer(HARVEST, settings, seed)

    def look(steps: int, _won: float) -> None:
        if steps >= (len(path) + 1) * settings.total_steps // LOOKS:
            path.append({"steps": steps, "episodes": _measured(Player(trainer.policy), episodes)})

    trainer.train(look)
    spent = time.process_time() - start
    return {"seed": seed, "steps": trainer.steps, "cpu_seconds": round(spent, 1), "path": path}


def _measured(policy: str | Agent, episodes: int) -> dict[str, list[float]]:
    """Return the measures of every episode of the harvest."""
    found = commons_episodes(policy, HARVEST, episodes=episodes)
    return {name: _plain(values) for name, values in found.items() if name != "cooperation_rate"}


def _plain(values: Sequence[float] | NDArray[np.float64]) -> list[float]:
    """Return numbers as they are stored."""
    return [round(float(value), 4) for value in values]


TRAIN: Final[Mapping[str, Callable[[Settings, int, int], dict[str, Any]]]] = {
    "tit_for_tat": train_against,
    "harvest": train_in_harvest,
}
"""What trains once and judges, by the name of what is measured."""


def measure(
    name: str, settings: Settings, seeds: Sequence[int], episodes: int, out: Path | None = None
) -> dict[str, Any]:
    """Train once a seed; return all that came of it, JSON-able.

    Args:
        name: ``tit_for_tat`` or ``harvest``.
        settings: Of PPO.
        seeds: Of the runs.
        episodes: Played to judge a policy.
        out: A file that is written anew after each run. Runs to the end that it has already,
            with the same settings and as many episodes, are kept.
    """
    kept = _kept(out, settings, episodes)
    found: dict[str, Any] = {
        "task": HARVEST if name == "harvest" else TIT_FOR_TAT,
        "episodes": episodes,
        "versions": versions(),
        "settings": dataclasses.asdict(settings),
        "runs": [],
    }
    if name == "harvest":
        found["rules"] = kept.get("rules") or {rule: _measured(rule, episodes) for rule in RULES}
    done = {run["seed"]: run for run in kept.get("runs", ())}
    for seed in seeds:
        run = done.get(seed, {"steps": 0})
        finished = run["steps"] >= settings.total_steps
        found["runs"].append(run if finished else TRAIN[name](settings, seed, episodes))
        if out is not None:
            words = ["python", "-m", "piase_gym.benchmarks.dilemma_training", *sys.argv[1:]]
            text = json.dumps({"command": shlex.join(words), **found}, indent=1)
            write_whole(out, (_on_one_line(text) + "\n").encode())
    return found


def _kept(out: Path | None, settings: Settings, episodes: int) -> dict[str, Any]:
    """Return what a file has of the same measurement, or nothing."""
    if out is None or not out.is_file():
        return {}
    old: dict[str, Any] = json.loads(out.read_text("utf-8"))
    same = (old["settings"], old["episodes"]) == (dataclasses.asdict(settings), episodes)
    return old if same else {}


def _on_one_line(text: str) -> str:
    """Write every list of numbers on one line."""
    lines: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        joins = lines and (lines[-1].endswith(("[", ",")) and _is_number(bare.rstrip(",")))
        if joins and (lines[-1].endswith("[") or lines[-1][-2].isdigit()):
            lines[-1] += ("" if lines[-1].endswith("[") else " ") + bare
        elif bare in ("]", "],") and lines and lines[-1][-1].isdigit():
            lines[-1] += bare
        else:
            lines.append(line)
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    """Tell whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def main() -> None:
    """Train, judge and store."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("what", choices=sorted(TRAIN))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--episodes", type=int, default=50, help="played to judge a policy")
    parser.add_argument("--steps", type=int, help="environment steps of each run")
    parser.add_argument("--out", type=Path, help="default: where the stored results are")
    given = parser.parse_args()
    settings = SETTINGS[given.what]
    if given.steps is not None:
        settings = dataclasses.replace(settings, total_steps=given.steps)
    out = given.out or FOLDER / f"{given.what}.json"
    measure(given.what, settings, given.seeds, given.episodes, out)
    Console().print(f"stored in {out}", soft_wrap=True)


if __name__ == "__main__":
    main()
