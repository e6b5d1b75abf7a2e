"""How long the texts of every id are: prompts, and observations with the line of the last step.

Run it with ``python -m piase_gym.benchmarks.text_lengths``; what is found is stored in
``benchmarks/measured/text_lengths.json``, from which ``docs/make_pages.py`` writes a part of
docs/language_models.md. A token is taken for four characters. Episodes are played by the oracle,
by the scripted player where the oracle does not play, and at random. Nothing here depends on the
machine, so a test plays some of them again.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym import registry
from piase_gym.agents import make_agent
from piase_gym.agents.base import act_all
from piase_gym.benchmarks.speed.shown import Section, Table
from piase_gym.core.rng import partner_seed
from piase_gym.errors import UnsupportedError

FILE = OUT = Path(__file__).parents[1] / "measured" / "text_lengths.json"
EPISODES, STEPS = 3, 60
"""Episodes of a player at an id, and steps of each, at most."""
MOST = 120
"""Tokens that the mean observation of an id has at most, whoever plays."""
CHARACTERS = 4
PLAYERS: dict[str, Sequence[str]] = {"well": ("oracle", "scripted"), "random": ("random",)}
"""Who plays: the first of some policies that plays an id."""
OPTIONS: dict[str, str] = {}


def texts_of(task: str, policy: str, seed: int, steps: int = STEPS) -> list[str]:
    """Return what agents read while a policy plays an episode, all seats in turn.

    Raises:
        UnsupportedError: If the policy does not play this.
    """
    env = piase_gym.parallel_env(task, view="text")
    shown, _ = env.reset(seed=seed)
    players = {name: make_agent(policy) for name in env.possible_agents}
    for seat, player in enumerate(players.values()):
        player.reset(partner_seed(seed, seat))
    found = list(shown.values())
    for step in range(steps):
        if not env.agents:
            break
        shown, *_ = env.step(act_all(env, players, step))
        found += shown.values()
    env.close()
    return found


def lengths_of(task: str, policies: Sequence[str], episodes: int = EPISODES) -> dict[str, Any]:
    """Return how long the observations are while the first policy plays that can.

    Returns:
        JSON-able: the ``policy``, and the ``mean`` and the ``longest`` observation in tokens.
    """
    for policy in policies:
        try:
            texts = [text for seed in range(episodes) for text in texts_of(task, policy, seed)]
        except UnsupportedError:
            continue
        sizes = [len(text) / CHARACTERS for text in texts]
        return {"policy": policy, "mean": round(statistics.fmean(sizes), 1), "longest": max(sizes)}
    raise UnsupportedError(f"none of {', '.join(policies)} plays {task}")


def tasks() -> list[str]:
    """Return the ids of this package that can be played here."""
    shipped = [task for task in piase_gym.list_tasks() if task.startswith("piase/")]
    return [task for task in shipped if registry.missing(task) is None]


def measure_all() -> dict[str, Any]:
    """Measure every id.

    Returns:
        JSON-able, by id: what `lengths_of` does for each of `PLAYERS`, and the ``prompt``.
    """
    found: dict[str, Any] = {}
    for task in tasks():
        env = piase_gym.parallel_env(task, view="text")
        prompt = len(env.instructions(env.possible_agents[0])) / CHARACTERS
        env.close()
        rows = {player: lengths_of(task, named) for player, named in PLAYERS.items()}
        found[task] = {"prompt": prompt, **rows}
    return found


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as a table: a row a world, of its ids."""
    worlds: dict[str, list[Any]] = {}
    for task, row in found.items():
        worlds.setdefault(registry.task_spec(task).world, []).append(row)
    lines: list[tuple[str, ...]] = [
        ("world", "ids", "prompt", "observation, played well", "at random", "longest")
    ]
    for world, rows in worlds.items():
        means = [[row[player]["mean"] for row in rows] for player in PLAYERS]
        longest = max(row[player]["longest"] for row in rows for player in PLAYERS)
        spans = [_span([row["prompt"] for row in rows]), *map(_span, means)]
        lines.append((world, f"{len(rows)}", *spans, f"{longest:.0f}"))
    return {"text_lengths": Section([Table(lines)])}


def _span(values: Sequence[float]) -> str:
    """Write the smallest and the largest of some numbers of tokens."""
    low, high = round(min(values)), round(max(values))
    return f"{low}" if low == high else f"{low} to {high}"
