"""What a training through a curriculum came to, in a few numbers.

``python -m piase_gym.benchmarks.course_summary FOLDER --out FILE`` reads the folder of a
`piase curriculum run`, and writes for each step after how many environment steps of the whole
training it was completed, in how many attempts, and what its last attempt was worth.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from piase_gym.benchmarks.course_settings import read_settings_of
from piase_gym.benchmarks.evaluation import versions
from piase_gym.benchmarks.journal import write_json
from piase_gym.curricula import load
from piase_gym.curricula.journeys import PATH, Journey, read_journeys, read_rows
from piase_gym.errors import PiaseError


def summary(folder: Path) -> dict[str, Any]:
    """Return what came of a run, JSON-able.

    Raises:
        StorageError, ProgressError: If there is no run in the folder, or it is damaged.
    """
    settings = read_settings_of(folder)
    (journey,) = read_journeys(folder)
    curriculum = load(settings.curriculum)
    return {
        "curriculum": {"name": curriculum.name, "sha256": curriculum.sha256},
        "settings": dataclasses.asdict(settings) | {"curriculum": settings.curriculum},
        "agent": journey.agent,
        "outcome": journey.outcome,
        "env_steps": max((int(row["steps"]) for row in read_rows(folder / PATH)), default=0),
        "steps": [_step(journey, step.order, step.name) for step in curriculum.steps],
        "versions": versions(),
    }


def _step(journey: Journey, order: int, name: str) -> dict[str, Any]:
    """Return how a step went; ``completed_at`` is ``None`` if it was not completed."""
    moves = [move for move in journey.moves if move.decision.step == order]
    done = [move.at for move in moves if move.decision.completed]
    values = dict(moves[-1].decision.values) if moves else {}
    shown = {key: value for key, value in values.items() if isinstance(value, int | float)}
    told = {"order": order, "name": name, "attempts": len(moves), "last": shown}
    return {**told, "completed_at": done[0] if done else None}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and write the file."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("folder", type=Path, help="of a run")
    parser.add_argument("--out", type=Path, required=True, help="a JSON file")
    options = parser.parse_args(arguments)
    try:
        found = summary(options.folder)
    except PiaseError as error:
        parser.error(str(error))
    write_json(options.out, found)
    Console().print(f"wrote {options.out}", soft_wrap=True)


if __name__ == "__main__":
    main()


__all__ = ["summary"]
