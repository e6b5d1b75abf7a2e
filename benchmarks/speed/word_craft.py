"""How well WordCraft is played and learned, and how fast it is.

Run it with ``python -m piase_gym.benchmarks.word_craft [--book FILE]``; what is found is stored in
``benchmarks/measured/word_craft.json``, from which ``docs/make_pages.py`` writes a part of
docs/wordcraft.md. The file is a recipe book in the original's schema, such as its own
``alchemy2.json``; without it a book of the same size is drawn. Times are CPU-seconds.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import piase_gym
from piase_gym import curricula
from piase_gym.agents import make_agent
from piase_gym.agents.base import act_all
from piase_gym.benchmarks.evaluation import protocol
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.benchmarks.speed.throughput import noop_row
from piase_gym.benchmarks.speed.timing import (
    batch_steps,
    interleaved,
    medians,
    microseconds,
    milliseconds,
)
from piase_gym.core.rng import Stream
from piase_gym.worlds.word_craft.config import WordCraftConfig
from piase_gym.worlds.word_craft.levels import tasks
from piase_gym.worlds.word_craft.levels.book import read_book
from piase_gym.worlds.word_craft.levels.ids import TASKS

FILE = OUT = Path(__file__).parents[1] / "measured" / "word_craft.json"
PLAYERS = ("random", "scripted", "oracle")
EPISODES = 200
CURRICULUM = "apprentice"
"""The curriculum whose first stage is learned."""
BUDGET = 600_000
"""Steps of the training."""
SEEDS = range(3)
"""Of the training."""
LEARNING: Mapping[str, Any] = {
    "total_steps": BUDGET,
    "num_envs": 256,
    "num_steps": 32,
    "minibatch": 1024,
    "epochs": 3,
    "width": 256,
    "reward_scale": 1.0,
}
HELD_OUT = protocol.SEEDS["held_out"][:EPISODES]
SPEEDS: Mapping[str, Mapping[str, Any]] = {
    "depth 1": {},
    "depth 2, 4 distractors": {"depth": 2, "distractors": 4},
    "depth 3, 4 distractors, 8 mixes": {"depth": 3, "distractors": 4, "mixes": 8},
}
NOOP = "no-op ParallelEnv, 1 agent"


# -- players ------------------------------------------------------------------------------


def play(player: str, task: str, **config: Any) -> float:
    """Return the share of episodes that a player wins."""
    env = piase_gym.parallel_env(task, view="vector", **config)
    won = 0
    for seed in HELD_OUT:
        env.reset(seed=seed)
        agents = {name: make_agent(player) for name in env.possible_agents}
        for agent in agents.values():
            agent.reset(seed)
        infos: dict[str, Any] = {}
        step = 0
        while env.agents:
            infos, step = env.step(act_all(env, agents, step))[4], step + 1
        won += all(info["result"] == "won" for info in infos.values())
    return won / EPISODES


def first_stage() -> dict[str, Any]:
    """Return the config of the easiest stage, with things as flags in vectors."""
    stage = curricula.load(CURRICULUM).steps[0]
    return {**stage.environment_config_overrides, "features": "one_hot"}


def learn() -> dict[str, Any]:
    """Train PPO with masks on the easiest stage, and play tasks that were held out."""
    from piase_gym.training import ppo

    stage, start, won = first_stage(), time.process_time(), []
    held_out = {**stage, "tasks": "test"}
    for seed in SEEDS:
        trainer = ppo.Trainer("WordCraft", ppo.Settings(**LEARNING), seed, **stage)
        trainer.train()
        wins = ppo.play(trainer.policy, "WordCraft", HELD_OUT, True, **held_out)
        won.append(float(wins.mean()))
    return {
        "steps": trainer.steps,
        "cpu_seconds": (time.process_time() - start) / len(SEEDS),
        "held_out": tasks.pool_of(WordCraftConfig(**held_out).pool_key).counts[1],
        "won": won,
        "random": play("random", "WordCraft", **held_out),
    }


# -- speed --------------------------------------------------------------------------------


def _acts(count: int) -> list[dict[str, int]]:
    dice = Stream(1)
    return [{"agent_0": dice.integer(count)} for _ in range(997)]


def text_rate(
    config: Mapping[str, Any], alone: bool = False, steps: int = 4000
) -> Callable[[], float]:
    """Return what measures steps a CPU-second of one agent that reads text.

    Args:
        config: That of the tasks.
        alone: Take out the CPU-seconds of resets; else they count too.
        steps: How many.
    """
    env = piase_gym.parallel_env("WordCraft", view="text", **config)
    acts = itertools.cycle(_acts(WordCraftConfig(**config).sizes().given))

    def run() -> float:
        env.reset(seed=0)
        start = time.process_time()
        for act in itertools.islice(acts, steps):
            env.step(act)
            if env.agents:
                continue
            ended = time.process_time() if alone else 0.0  # asking the time takes time, too
            env.reset()
            start += time.process_time() - ended if alone else 0.0
        return steps / (time.process_time() - start)

    return run


def batch_rate(config: Mapping[str, Any], envs: int, times: int) -> Callable[[], float]:
    """Return what measures steps a CPU-second of a batch."""
    batch = piase_gym.batch_env("WordCraft", num_envs=envs, copy=False, **config)
    run = batch_steps(batch, WordCraftConfig(**config).sizes().given)
    return lambda: envs * 1e6 / microseconds(run, times)


def noop_rate(steps: int = 20_000) -> float:
    """Measure the baseline: a ParallelEnv of one agent that does nothing."""
    return 1e6 / microseconds(noop_row(1).run, steps)


def drawn_book(path: Path, count: int = 700) -> None:
    """Write a book as large as the original's, without circles."""
    dice, entities = Stream(7), {}
    for k in range(count):
        pairs = {(dice.integer(k), dice.integer(k)) for _ in range(5)} if k > 20 else set()
        recipes = [[f"thing {a}", f"thing {b}"] for a, b in sorted(pairs)]
        entities[f"thing {k}"] = {"id": k + 1, "recipes": recipes}
    path.write_text(json.dumps({"entities": entities}), encoding="utf-8")


def costs(book: str) -> dict[str, Any]:
    """Return CPU-seconds and sizes of a large book."""
    start = time.process_time()
    made = read_book(book)
    read = time.process_time()
    counts = tasks.task_counts(made)
    done = time.process_time()
    env = piase_gym.parallel_env("WordCraft", recipes=book, depth=3, distractors=4, view="text")
    reset = milliseconds(lambda seed: env.reset(seed=seed), range(2000)) / 1000
    return {
        "entities": len(made.entities),
        "recipes": len(made.recipes),
        "pairs": len(made.pairs),
        "tasks": {str(depth): count for depth, count in counts.items()},
        "read": read - start,
        "index": done - read,
        "reset": reset,
    }


@described
def measure_all(book: str | None = None) -> dict[str, Any]:
    """Measure players, learning and speed.

    Args:
        book: A recipe book in the original's schema.

    Returns:
        JSON-able: ``players`` (shares won), ``learning``, ``rates``, ``books``, ``own``, and what
        was measured on.
    """
    measures: dict[str, Callable[[], float]] = {NOOP: noop_rate}
    for name, config in SPEEDS.items():
        measures[f"{name}: text"] = text_rate(config)
        measures[f"{name}: text, steps alone"] = text_rate(config, alone=True)
        measures[f"{name}: 4096 environments"] = batch_rate(config, 4096, 60)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "drawn.json")
        drawn_book(path)
        large = {"a drawn book": costs(str(path))}
        if book is not None:
            large["the given book"] = costs(book)
    own = read_book()
    return {
        "players": {
            name: {player: play(player, f"piase/WordCraft-{name}-v2") for player in PLAYERS}
            for name in TASKS
        },
        "learning": learn(),
        "rates": medians(interleaved(measures, 7)),
        "books": large,
        "own": {
            "entities": len(own.entities),
            "recipes": len(own.recipes),
            "tasks": {str(d): count for d, count in tasks.task_counts(own).items()},
        },
    }


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of some seeds, and how far its 95 % interval reaches (Student's t)."""
    spread = float(np.std(values, ddof=1)) / len(values) ** 0.5
    return float(np.mean(values)), float(stats.t.ppf(0.975, len(values) - 1)) * spread


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as tables."""
    played = [("task", *(f"`{player}`" for player in PLAYERS))]
    for task, row in found["players"].items():
        shares = (f"{100 * row[player]:.0f} %" for player in PLAYERS)
        played.append((f"`piase/WordCraft-{task}-v2`", *shares))
    learned = found["learning"]
    mean, reach = _interval(learned["won"])
    text = (
        f"PPO, {learned['steps']:,} steps in {learned['cpu_seconds']:.0f} CPU-seconds: it wins "
        f"{100 * mean:.0f} % (± {100 * reach:.0f}, the 95 % interval over {len(learned['won'])} "
        f"seeds) of {EPISODES} episodes with the {learned['held_out']} tasks that were held out, "
        f"where random play wins {100 * learned['random']:.0f} %."
    )
    rates = found["rates"]
    speeds = [("what", "steps per CPU-second", "times the no-op")]
    speeds += [(n, f"{rate:,.0f}", f"{rate / rates[NOOP]:.2f}") for n, rate in rates.items()]
    books = [("book", "entities", "recipes", "tasks of depth 1, 2, 3", "read", "index", "reset")]
    for name, row in found["books"].items():
        counts = ", ".join(f"{count:,}" for count in row["tasks"].values())
        sizes = (str(row["entities"]), f"{row['recipes']:,}", counts)
        times = (f"{1000 * row[k]:.3g} ms" for k in ("read", "index", "reset"))
        books.append((name, *sizes, *times))
    return {
        "players": Section([Table(played)], [f"{EPISODES} episodes each."]),
        "learning": Section([], [text]),
        "speed": Section([Table(speeds), Table(books)], [TOLD_OF_RESETS, about(found)]),
    }


TOLD_OF_RESETS = (
    "Random play ends episodes of depth 1 after two steps, of depth 2 after four: resets count, "
    "except where steps are measured alone."
)
OPTIONS = {"book": "a recipe book in the original's schema"}
