"""What the package rliable says about arrays of scores.

``python -m tests.benchmarks.rliable_numbers`` needs rliable (``make test-rliable`` makes an
environment that has it), and writes ``rliable.json`` beside itself, to which the ordinary tests
hold our statistics.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_name("rliable.json")
REPS = 20_000
TAUS = (-50.0, 0.0, 25.0, 50.0, 75.0, 100.0)
SHAPES = ((3, 26), (5, 8), (10, 3), (7, 1))
"""Runs and tasks of the arrays."""


def arrays(runs: int, tasks: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores of two methods, shape (runs, tasks); the second has a run less."""
    rng = np.random.default_rng([runs, tasks])
    levels = rng.uniform(-20.0, 90.0, tasks)
    x = levels + rng.normal(8.0, 15.0, (runs, tasks))
    y = levels + rng.normal(0.0, 30.0, (runs - 1, tasks))
    return x.round(-1), y.round(-1)  # in tens, so that there are ties


def measure(x: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, Any]:
    """Return rliable's estimates, each with the ends of its interval."""
    from rliable import library, metrics

    def told(scores: Any, func: Any) -> list[Any]:
        np.random.seed(0)  # noqa: NPY002 - rliable draws from there
        points, ends = library.get_interval_estimates({"it": scores}, func, reps=REPS)
        return [points["it"].tolist(), *ends["it"].tolist()]

    def one(function: Any) -> Any:
        return lambda *scores: np.array([function(*scores)])

    return {
        "iqm": [part[0] for part in told(x, one(metrics.aggregate_iqm))],
        "mean": [part[0] for part in told(x, one(metrics.aggregate_mean))],
        "profile": told(x, lambda scores: library.score_distributions(scores, np.array(TAUS))),
        "improvement": [part[0] for part in told([x, y], one(metrics.probability_of_improvement))],
    }


def main() -> None:
    """Write the file."""
    found = []
    for shape in SHAPES:
        x, y = arrays(*shape)
        found.append({"x": x.tolist(), "y": y.tolist(), "says": measure(x, y)})
    FILE.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
