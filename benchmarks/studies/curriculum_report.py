"""What docs/curricula.md says about trainings through curricula, from the stored results.

The results are made by `curriculum_summary`; nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.benchmarks.evaluation.tables import markdown
from piase_gym.benchmarks.studies.jobs import read_once

FOLDER: Final = Path(__file__).with_name("measured")
SHOWN: Final[Mapping[str, Sequence[int]]] = {"speak_up": (7, 9)}
"""Curriculum -> the steps that are shown: those that cannot be done in silence."""


def read(name: str) -> list[dict[str, Any]]:
    """Return the stored trainings through a curriculum, by their seeds."""
    lines = read_once(FOLDER / f"{name}.jsonl")
    return sorted(lines, key=lambda line: int(line["settings"]["seed"]))


def section(lines: Sequence[Mapping[str, Any]], shown: Sequence[int]) -> str:
    """Return a table with one row per training, and a summary, as Markdown."""
    names = {row["order"]: f"{row['name']} ({row['order']})" for row in lines[0]["steps"]}
    head = ["seed", "steps completed"]
    for order in shown:
        head += [f"{names[order]} completed after", f"won of {names[order]}"]
    rows = []
    for line in lines:
        steps = {row["order"]: row for row in line["steps"]}
        completed = sum(row["completed_at"] is not None for row in steps.values())
        rows.append([str(line["settings"]["seed"]), f"{completed} of {len(steps)}"])
        for order in shown:
            at, tested = steps[order]["completed_at"], steps[order]["tested"]
            won = wilson(tested["won"], tested["episodes"])
            rows[-1] += ["–" if at is None else f"{at:,}", won.words(".1%")]
    first = names[shown[0]]
    done = sum(line["steps"][shown[0] - 1]["completed_at"] is not None for line in lines)
    most = max(line["env_steps"] for line in lines)
    text = f"{first} was completed in {done} of {len(lines)} trainings"
    episodes = lines[0]["steps"][0]["tested"]["episodes"]
    cost = f"of at most {most:,} environment steps; {episodes} test episodes for each share"
    return f"{markdown(head, rows)}\n{text} {cost}.\n"


def stored_sections() -> dict[str, str]:
    """Return what the page shows, by the names of its places."""
    return {name: section(read(name), shown) for name, shown in SHOWN.items()}
