"""What docs/speed.md tells: the speed of steps, of stories and of physics, measured in one run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from piase_gym.benchmarks.speed import physics, text_room, throughput
from piase_gym.benchmarks.speed.shown import Section, about, described
from piase_gym.benchmarks.speed.timing import ROUNDS, SECONDS
from piase_gym.errors import MissingExtraError

FILE = OUT = Path(__file__).parents[1] / "measured" / "speed.json"
QUESTS = 1000
"""Quests that the oracle of TextRoom plays."""
OPTIONS = {
    "rounds": "of every row",
    "seconds": "CPU-seconds of each measurement",
    "quests": "that the oracle of TextRoom plays",
}


@described
def measure_all(
    rounds: int = ROUNDS, seconds: float = SECONDS, quests: int = QUESTS, cycles: int = 200
) -> dict[str, Any]:
    """Measure everything that docs/speed.md tells.

    Args:
        rounds: How often each row is measured; medians are kept.
        seconds: CPU-seconds of each measurement.
        quests: Quests of TextRoom that its oracle plays.
        cycles: Times that PhysicsPlayground is made and closed.

    Returns:
        JSON-able: ``machine``, ``versions``, ``load`` (what the machine did besides, at the start
        and at the end: processes that wanted to run in the last minute), ``grid_world`` and
        ``text_room``, and ``physics``, or why it is ``lacking``.
    """
    found = {"grid_world": throughput.measure_all(rounds, seconds)}
    found["text_room"] = text_room.measure_all(text_room.textworld_python(), quests, rounds)
    try:
        found["physics"] = physics.measure_all(2 * rounds, cycles)
    except (ImportError, MissingExtraError) as error:
        return {**found, "lacking": f"PhysicsPlayground was not measured: {error}"}
    return found


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what docs/speed.md shows of a measurement, by the names of its places."""
    shown = {**throughput.sections(found["grid_world"]), **text_room.sections(found["text_room"])}
    if "physics" in found:
        shown |= physics.sections(found["physics"])
    else:
        shown["physics"] = Section(words=[found["lacking"]])
    return {**shown, "machine": Section(words=[about(found)])}
