"""What docs/benchmarks.md tells of training in dilemmas, from the stored results.

They are measured by `dilemma_training`; nothing here needs torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from piase_gym.benchmarks.statistics import Interval, mean_interval
from piase_gym.benchmarks.tables import markdown
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.solutions import best_response, expected_returns

FOLDER: Final = Path(__file__).with_name("measured")
MEASURES: Final = ("efficiency", "sustainability", "equality", "return an agent")
WORDS: Final = {
    "oracle": "restraint, by rule (`oracle`)",
    "random": "anything, at random (`random`)",
    "scripted": "greed, by rule (`scripted`)",
}
"""What the players beside PPO are called."""


def read(name: str) -> dict[str, Any]:
    """Return a stored result: ``harvest`` or ``tit_for_tat``."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def share(found: Mapping[str, Any]) -> Interval:
    """Return the share of the best response's return, over training runs and episodes."""
    return mean_interval([run["episodes"]["share"] for run in found["runs"]])


def harvest(found: Mapping[str, Any]) -> dict[str, dict[str, Interval]]:
    """Return the measures of the harvest by player, PPO by the steps that it has learned for."""
    rows = {
        name: {measure: mean_interval([found["rules"][name][measure]]) for measure in MEASURES}
        for name in WORDS
    }
    runs = found["runs"]
    for number in range(max(len(run["path"]) for run in runs)):
        looks = [run["path"][number] for run in runs if number < len(run["path"])]
        few = f" ({len(looks)} of {len(runs)} runs)" if len(looks) < len(runs) else ""
        rows[f"PPO after {looks[0]['steps']:,} steps{few}"] = {
            measure: mean_interval([look["episodes"][measure] for look in looks])
            for measure in MEASURES
        }
    return rows


def told(value: Interval) -> str:
    """Write a value and its interval."""
    digits = 1 if abs(value.estimate) >= 10.0 else 2 if abs(value.estimate) >= 1.0 else 3
    one, low, high = (f"{number:.{digits}f}" for number in value)
    return f"{one} ({low} to {high})"


def cost(found: Mapping[str, Any]) -> str:
    """Say how much training was spent: on runs to the end, and on those that were cut short."""
    runs, total = found["runs"], found["settings"]["total_steps"]
    whole = [run for run in runs if run["steps"] >= total]
    seconds = sum(run["cpu_seconds"] for run in whole) / len(whole)
    steps = f"{whole[0]['steps']:,} environment steps"
    told = f"{len(whole)} runs of {steps}, {seconds:.0f} CPU-seconds each"
    short = [f"{run['steps']:,}" for run in runs if run["steps"] < total]
    return f"{told}; {len(short)} cut short after {' and '.join(short)} steps" if short else told


def stored_sections() -> dict[str, str]:
    """Return what the page shows, by the names of its places."""
    against, commons = read("tit_for_tat"), read("harvest")
    rows = harvest(commons)
    lines = [
        [WORDS.get(name, name), *(told(row[measure]) for measure in MEASURES)]
        for name, row in rows.items()
    ]
    table = markdown(["who all agents are", *MEASURES], lines)
    return {
        "tit_for_tat": _told_of_tit_for_tat(against),
        "harvest": f"{table}\n{cost(commons)}; {_episodes(commons)} episodes a value.\n",
    }


def _episodes(found: Mapping[str, Any]) -> int:
    """Return how many episodes each policy was judged by."""
    return len(found["rules"]["random"]["efficiency"])


def _told_of_tit_for_tat(found: Mapping[str, Any]) -> str:
    """Say what PPO gets against tit for tat, beside what simple strategies get."""
    config = SocialDilemmaConfig(rounds=10)
    best = best_response(config, "tit_for_tat").value
    simple = {
        name: expected_returns(config, name, "tit_for_tat")[0] / best
        for name in ("always_cooperate", "always_defect")
    }
    lines = [["PPO", told(share(found))], *([f"`{n}`", f"{s:.3f}"] for n, s in simple.items())]
    table = markdown(["who plays tit for tat", "share of the best response's return"], lines)
    games = len(found["runs"][0]["episodes"]["share"])
    return f"{table}\n{cost(found)}; {games} games for each.\n"
