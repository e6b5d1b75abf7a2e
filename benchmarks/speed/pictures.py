"""How well pictures of ObjectSearch are described, and what a picture costs.

Run it with ``python -m piase_gym.benchmarks.pictures``; what is found is stored in
``benchmarks/measured/pictures.json``, from which ``docs/make_pages.py`` writes a part of
docs/cameras_and_windows.md. Times are CPU-seconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import piase_gym
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.core.rng import Stream

FILE = OUT = Path(__file__).parents[1] / "measured" / "pictures.json"
STEPS, AGENTS = 60, 4
FIELDS: dict[str, Any] = {
    "agents": AGENTS,
    "objects": 16,
    "room": 9,
    "max_steps": STEPS,
    "end_when_found": False,
}


@described
def measure_all(houses: int = 20, describer: str = "colours") -> dict[str, Any]:
    """Measure a describer.

    Args:
        houses: How many houses agents fly through.
        describer: Its name.

    Returns:
        JSON-able: ``scores`` (means over pictures in which there is something), ``seen`` (objects
        seen by both kinds of eyes, or by one), ``milliseconds`` of a picture.
    """
    pictures: Any = piase_gym.parallel_env(
        "ObjectSearch", backend="camera", describer=describer, **FIELDS
    )
    house: Any = piase_gym.parallel_env("ObjectSearch", backend="house", **FIELDS)
    dice, spent, steps = Stream(1), 0.0, 0
    rows: list[tuple[float, ...]] = []
    seen = {"both": 0, "house": 0, "picture": 0}
    for seed in range(houses):
        pictures.reset(seed=seed)
        house.reset(seed=seed)
        while pictures.agents:
            acts = {name: dice.integer(13) for name in pictures.agents}
            house.step(acts)
            start = time.process_time()
            pictures.step(acts)
            spent, steps = spent + time.process_time() - start, steps + 1
            for agent in range(AGENTS):
                truth = {thing.name for thing in pictures.world.shots[agent].truth.objects}
                known = {thing.name for thing in house.world.facts(agent).objects}
                seen["both"] += len(truth & known)
                seen["house"] += len(known - truth)
                seen["picture"] += len(truth - known)
                one, other = pictures.world.score(agent)
                if truth:
                    rows.append(
                        (one.precision, one.recall, one.overlap, other.precision, other.recall)
                    )
    names = ("precision", "recall", "overlap", "caption_precision", "caption_recall")
    means = np.mean(rows, axis=0).tolist()
    pictures.close()
    return {
        "describer": describer,
        "pictures": len(rows),
        "scores": dict(zip(names, means, strict=True)),
        "seen": seen,
        "milliseconds": 1000 * spent / (steps * AGENTS),
    }


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as tables."""
    scores, seen = found["scores"], found["seen"]
    total = sum(seen.values())
    rows = [
        ("what", "precision", "recall", "overlap"),
        (
            "objects",
            f"{scores['precision']:.3f}",
            f"{scores['recall']:.3f}",
            f"{scores['overlap']:.3f}",
        ),
        (
            "names in captions",
            f"{scores['caption_precision']:.3f}",
            f"{scores['caption_recall']:.3f}",
            "",
        ),
    ]
    words = (
        f"The describer `{found['describer']}` on {found['pictures']:,} pictures with something in "
        f"them. Of {total:,} sights of an object, {100 * seen['both'] / total:.0f} % were "
        f"had by the camera and by the rules of `house` alike, {100 * seen['picture'] / total:.0f} "
        f"% by the camera alone and {100 * seen['house'] / total:.0f} % by the rules alone. A step "
        f"with its picture and description takes {found['milliseconds']:.1f} CPU-ms an agent."
    )
    return {"scores": Section([Table(rows)], [words, about(found)])}


OPTIONS = {"houses": "that agents fly through", "describer": "that is measured"}
