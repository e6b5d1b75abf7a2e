"""Levels: what a seed draws, which levels training may meet, and how many levels an id has.

Two seeds can draw the same level, so keeping seeds apart does not keep levels apart. Here a
level belongs to a part by the hash of what was drawn (`World.level`), whatever seed drew it: a
tenth is for trying things out, a fifth is held out, and training may meet the rest. `keep_to`
restricts a batch to a part, and the split ``new_levels`` of an evaluation plays held-out levels
only.

``python -m piase_gym.benchmarks.evaluation.levels`` counts the levels of every id and writes
``benchmarks/measured/levels.json``, which the pages of the worlds show.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.benchmarks.evaluation.protocol import config_hash
from piase_gym.core.config import WorldConfig
from piase_gym.core.files import write_whole
from piase_gym.core.world import World
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.envs.sync_batch import SyncBatch
from piase_gym.errors import SuiteError, suggest
from piase_gym.names import task_fields
from piase_gym.registry import list_tasks, load, make_config, missing, task_spec, world_spec
from piase_gym.worlds.array_world import steps_in_batches

PARTS: Mapping[str, range] = {"train": range(7), "dev": range(7, 8), "held_out": range(8, 10)}
"""The tenths of the hashes that belong to each part."""
FEW = 100
"""Ids with fewer levels are fixed: what is learned there is no evidence of generalisation."""
TIMES = 8
"""All levels are known when each has been drawn this often."""
LEAST_SEEDS, MOST_SEEDS, MOST_SLOW = 512, 1 << 17, 1 << 12
"""Seeds drawn to count levels: at least, at most, and at most for worlds without a batch."""
FILE = Path(__file__).parents[1] / "measured" / "levels.json"


def part_of(level: str) -> str:
    """Return the part that a level belongs to, by its hash."""
    tenth = int(level, 16) % 10
    return next(part for part, tenths in PARTS.items() if tenth in tenths)


def level_of(world: World[Any, Any], seed: int) -> str:
    """Return the hash of the level that a seed draws."""
    world.reset(seed)
    return world.level()


def seeds_in(world: World[Any, Any], part: str, seeds: Iterable[int], count: int) -> list[int]:
    """Return the first seeds whose levels belong to a part.

    Args:
        world: A world with the config in question; it is reset.
        part: ``train``, ``dev`` or ``held_out``.
        seeds: The seeds to search.
        count: Number of seeds wanted.

    Raises:
        SuiteError: If there is no such part, or too few of the seeds draw levels of it.
    """
    if part not in PARTS:
        raise SuiteError(f"unknown part {part!r} of the levels; {suggest(part, PARTS)}")
    fitting = (seed for seed in seeds if part_of(level_of(world, seed)) == part)
    found = list(islice(fitting, count))
    if len(found) < count:
        raise SuiteError(
            f"{world.name}: only {len(found)} of these seeds draw levels of the part {part!r}; "
            f"{count} are wanted"
        )
    return found


def keep_to(
    env: BatchEnv | EpisodeRunner, part: str = "train", *, spare_fixed: bool = False
) -> Callable[[], None]:
    """Let environments play levels of one part only: others are redrawn before they are seen.

    Call it before the first reset. An episode that is redrawn takes the next number of its slot,
    so `reset(seed=...)` with an episode's effective seed still gives that very episode.

    Args:
        env: A batch, or the runner of a single environment.
        part: ``train``, ``dev`` or ``held_out``.
        spare_fixed: Whether configs with few levels keep all of them; see `is_fixed`.

    Returns:
        A function that ends this.

    Raises:
        SuiteError: If there is no such part.
        GenerationError: At a reset, if a hundred draws in a row give no level of the part.
    """
    if part not in PARTS:
        raise SuiteError(f"unknown part {part!r} of the levels; {suggest(part, PARTS)}")
    known: dict[int, tuple[Any, bool]] = {}  # by the identity of configs, which are kept alive

    def spared(kind: type[World[Any, Any]], config: Any) -> bool:
        if spare_fixed and id(config) not in known:
            known[id(config)] = config, is_fixed_config(kind, config)
        return spare_fixed and known[id(config)][1]

    if isinstance(env, BatchEnv):
        tenths = np.array(PARTS[part], np.uint64)

        def admits(env: BatchEnv, slots: NDArray[np.int64]) -> NDArray[np.bool_]:
            states = env.batch.states
            found = np.isin(env.world.levels(states, slots) % np.uint64(10), tenths)
            numbers = states["config"][slots]
            for number in np.unique(numbers[~found]).tolist():
                found[(numbers == number) & spared(type(env.world), env.configs[number])] = True
            return found

        env.admits = admits
    else:
        env.admits = lambda world: (
            part_of(world.level()) == part or spared(type(world), world.config)
        )
    return lambda: setattr(env, "admits", None)


def train_apart(env: BatchEnv | SyncBatch | EpisodeRunner) -> None:
    """Let a trainer's environments play training levels only, and all levels of fixed tasks.

    Every trainer of `piase_gym.training` calls this, so that it never meets held-out levels.
    """
    for each in env.runners if isinstance(env, SyncBatch) else [env]:
        keep_to(each, "train", spare_fixed=True)


def is_fixed(world: World[Any, Any]) -> bool:
    """Return whether there are fewer than `FEW` levels, so that training must have all of them.

    With so few levels, four times as many draws leave hardly one out.

    Args:
        world: The world; it is reset.
    """
    seen: set[str] = set()
    for seed in range(4 * FEW):
        seen.add(level_of(world, seed))
        if len(seen) == FEW:
            return False
    return True


_FIXED: dict[tuple[type[World[Any, Any]], str], bool] = {}


def is_fixed_config(kind: type[World[Any, Any]], config: WorldConfig) -> bool:
    """Return whether a config has few levels, using a world made for this once in a process."""
    key = kind, config_hash(config)
    if key not in _FIXED:
        with closing(kind(config)) as world:
            _FIXED[key] = is_fixed(world)
    return _FIXED[key]


# -- how many there are -------------------------------------------------------------------


@dataclass(frozen=True)
class LevelCount:
    """How many levels an id has.

    Attributes:
        kind: ``exact``: all were drawn, each at least `TIMES` times. ``estimate``: by
            capture-recapture (Chao 1984), which estimates from below if levels are not equally
            likely. ``at least``: none was drawn twice.
        count: Number of levels; for ``at least``, the 95 % bound.
        low: Lower end of the 95 % interval (Chao 1987).
        high: Upper end; ``None`` if there is none.
        seeds: How many seeds were drawn.
        met: How many levels they drew.
    """

    kind: str
    count: float
    low: float
    high: float | None
    seeds: int
    met: int

    @property
    def fixed(self) -> bool:
        """Whether there are too few levels to say anything about generalisation."""
        return self.high is not None and self.high < FEW

    def __str__(self) -> str:
        """Return the count in the form that pages show."""
        count, low = round(self.count), round(self.low)
        if self.kind == "exact":
            return f"{count:,} (exact{', fixed' if self.fixed else ''})"
        if self.high is None:
            return f"at least {low:,}"
        return f"about {count:,} ({low:,} to {round(self.high):,})"


def estimate(times: Iterable[int]) -> LevelCount:
    """Estimate the number of levels from how often each level that was met was drawn."""
    drawn = list(times)
    met, seeds = len(drawn), sum(drawn)
    if min(drawn) >= TIMES:
        return LevelCount("exact", met, met, met, seeds, met)
    once, twice = drawn.count(1), drawn.count(2)
    if once == met:  # P(no level twice) is about exp(-seeds² / 2 levels): 5 % at this number
        bound = seeds * (seeds - 1) / (2 * math.log(20))
        return LevelCount("at least", bound, bound, None, seeds, met)
    unmet = once * (once - 1) / (2 * (twice + 1))
    ratio = once / (twice + 1)
    variance = unmet + (twice + 1) * (ratio**3 + ratio**4 / 4)
    spread = math.exp(1.96 * math.sqrt(math.log1p(variance / unmet**2))) if unmet else 1.0
    low, high = met + unmet / spread, met + unmet * spread
    return LevelCount("estimate", met + unmet, low, high, seeds, met)


def count_levels(world: World[Any, Any], least: int = LEAST_SEEDS) -> LevelCount:
    """Return how many levels a world has under its config.

    The number of seeds is doubled as long as some levels recur and not all are known.

    Args:
        world: The world; it is reset.
        least: Number of seeds that are drawn in any case.
    """
    most = MOST_SEEDS if steps_in_batches(world) else MOST_SLOW
    seen: Counter[str] = Counter()
    drawn, wanted = 0, least
    while drawn < most:
        seen.update(level_of(world, seed) for seed in range(drawn, wanted))
        drawn, wanted = wanted, min(2 * wanted, most)
        if min(seen.values()) >= TIMES or len(seen) == drawn:
            break
    return estimate(seen.values())


@functools.lru_cache(maxsize=1)
def stored_counts() -> Mapping[str, LevelCount]:
    """Return the stored counts by id."""
    found = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    return {task: LevelCount(**count) for task, count in found.items()}


def stored_count(task: str, config: str) -> LevelCount | None:
    """Return the stored count of an id, if a config is the id's own.

    Args:
        task: The id.
        config: The hash of the config. Where a row has changed it, the count says nothing.
    """
    count = stored_counts().get(task)
    if count is None:
        return None
    spec = task_spec(task)
    own = make_config(world_spec(spec.world), task_fields(spec))
    return count if config == config_hash(own) else None


def count_all() -> Iterator[tuple[str, LevelCount]]:
    """Count the levels of every id whose world can be made here."""
    for task in list_tasks():
        spec = task_spec(task)
        world_row = world_spec(spec.world)
        shipped = world_row.world.startswith("piase_gym.") and world_row.outside is None
        if missing(task) or not shipped:
            continue
        config = make_config(world_row, task_fields(spec))
        with closing(load(world_row.world, world_row)(config)) as world:
            yield task, count_levels(world)


def main() -> None:
    """Count the levels, and write the file next to the other measurements."""
    found = {**stored_counts(), **dict(count_all())}
    text = json.dumps({task: asdict(found[task]) for task in sorted(found)}, indent=1)
    write_whole(FILE, f"{text}\n".encode())
    sys.stdout.write(f"{FILE}: {len(found)} ids\n")


if __name__ == "__main__":
    main()
