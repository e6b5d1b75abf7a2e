"""What docs/training.md says about training on ordinary tasks, from the stored results.

The results are made by `examples/ppo_batch.py` and `solve`; nothing here needs torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.evaluation.tables import markdown

FOLDER: Final = Path(__file__).with_name("measured")
HEAD: Final = ("task", "seed", "success", "agent steps", "CPU-seconds")


def read(name: str) -> list[dict[str, Any]]:
    """Return the stored runs of ``ppo_batch`` or ``solve``."""
    runs: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["runs"]
    return runs


def stored_sections() -> dict[str, str]:
    """Return what the page shows, by the names of its places."""
    batch = [
        [*_about(run), _share(run["sampled"]), _share(run["argmax"]), *_cost(run)]
        for run in read("ppo_batch")
    ]
    solved = [[*_about(run["settings"]), _share(run), *_cost(run)] for run in read("solve")]
    wide = (*HEAD[:3], "success of the most probable actions", *HEAD[3:])
    return {"ppo_batch": markdown(wide, batch), "solve": markdown(HEAD, solved)}


def _about(told: Mapping[str, Any]) -> list[str]:
    """Write the task and the seed of a run."""
    return [f"`{told['task']}`", str(told["seed"])]


def _share(told: Mapping[str, Any]) -> str:
    """Write a success and its interval."""
    return Interval(told["success"], *told["wilson95"]).words(".1%")


def _cost(run: Mapping[str, Any]) -> list[str]:
    """Write the steps and CPU-seconds of a run."""
    return [f"{run['steps'] / 1e6:.1f} M", f"{run['cpu_seconds']:.0f}"]
