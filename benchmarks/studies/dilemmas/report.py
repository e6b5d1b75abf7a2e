"""What docs/benchmarks.md says about training in dilemmas, from the stored results.

The results are measured by `train`; nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from piase_gym.benchmarks.evaluation.statistics import Interval, mean_interval
from piase_gym.benchmarks.evaluation.tables import markdown
from piase_gym.benchmarks.studies.jobs import read_once
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.matrix.solutions import best_response, expected_returns

FOLDER: Final = Path(__file__).parents[1] / "measured"
MEASURES: Final = ("efficiency", "sustainability", "equality", "return an agent")
WORDS: Final = {
    "oracle": "restraint, by rule (`oracle`)",
    "random": "anything, at random (`random`)",
    "scripted": "greed, by rule (`scripted`)",
}
"""Names of the players other than PPO."""


def read(name: str) -> dict[str, Any]:
    """Return the stored trainings, and episodes by rule, of ``harvest`` or ``tit_for_tat``."""
    lines = read_once(FOLDER / f"{name}.jsonl")
    runs = sorted((line for line in lines if "seed" in line), key=lambda line: int(line["seed"]))
    return {
        "runs": runs,
        "rules": {line["rule"]: line["episodes"] for line in lines if "rule" in line},
    }


def share(found: Mapping[str, Any]) -> Interval:
    """Return the share of the best response's return, over training runs and episodes."""
    return mean_interval([run["episodes"]["share"] for run in found["runs"]])


def harvest(found: Mapping[str, Any]) -> dict[str, dict[str, Interval]]:
    """Return the measures of the harvest by player, for PPO by the number of training steps."""
    rows = {
        name: {measure: mean_interval([found["rules"][name][measure]]) for measure in MEASURES}
        for name in WORDS
    }
    for looks in zip(*(run["path"] for run in found["runs"]), strict=True):
        rows[f"PPO after {looks[0]['steps']:,} steps"] = {
            measure: mean_interval([look["episodes"][measure] for look in looks])
            for measure in MEASURES
        }
    return rows


def interval_words(value: Interval) -> str:
    """Write a value and its interval."""
    digits = 1 if abs(value.estimate) >= 10.0 else 2 if abs(value.estimate) >= 1.0 else 3
    return value.words(f".{digits}f")


def cost(found: Mapping[str, Any]) -> str:
    """Return how much training was spent, in words."""
    runs = found["runs"]
    seconds = sum(run["cpu_seconds"] for run in runs) / len(runs)
    steps = f"{runs[0]['steps']:,} environment steps"
    return f"{len(runs)} runs of {steps}, {seconds:.0f} CPU-seconds each"


def stored_sections() -> dict[str, str]:
    """Return what the page shows, by the names of its places."""
    against, commons = read("tit_for_tat"), read("harvest")
    lines = [
        [WORDS.get(name, name), *(interval_words(row[measure]) for measure in MEASURES)]
        for name, row in harvest(commons).items()
    ]
    table = markdown(["who all agents are", *MEASURES], lines)
    episodes = len(commons["rules"]["random"]["efficiency"])
    return {
        "tit_for_tat": _tit_for_tat_words(against),
        "harvest": f"{table}\n{cost(commons)}; {episodes} episodes a value.\n",
    }


def _tit_for_tat_words(found: Mapping[str, Any]) -> str:
    """Return what PPO and simple strategies get against tit for tat, as Markdown."""
    config = SocialDilemmaConfig(rounds=10)
    best = best_response(config, "tit_for_tat").value
    lines = [["PPO", interval_words(share(found))]]
    for name in ("always_cooperate", "always_defect"):
        simple = expected_returns(config, name, "tit_for_tat")[0] / best
        lines.append([f"`{name}`", f"{simple:.3f}"])
    table = markdown(["who plays tit for tat", "share of the best response's return"], lines)
    games = len(found["runs"][0]["episodes"]["share"])
    return f"{table}\n{cost(found)}; {games} games for each.\n"
