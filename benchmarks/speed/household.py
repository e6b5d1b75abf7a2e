"""How well Household's players do, and how fast the native engine is.

Run it with ``python -m piase_gym.benchmarks.household [--games FOLDER]``; what is found is stored
in ``benchmarks/measured/household.json``, from which ``docs/make_pages.py`` writes a part of
docs/alfworld.md. The folder holds games of ALFWorld, such as ``$ALFWORLD_DATA``'s splits; without
it, generated homes alone are played. Times are CPU-seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym.agents import make_agent
from piase_gym.agents.base import act_all
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.benchmarks.speed.timing import milliseconds
from piase_gym.core.rng import Stream
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.levels.files import games_in, read_game
from piase_gym.worlds.household.levels.generator import generate
from piase_gym.worlds.household.players.planner import find_plan

FILE = OUT = Path(__file__).parents[1] / "measured" / "household.json"
HOMES = 134
"""As many as ALFWorld's ``valid_unseen`` has."""
PLAYERS = ("random", "search", "oracle")
STEPS = 9000
TAKEN = "given games"


def _envs(games: Sequence[str], **options: Any) -> list[Any]:
    """Return an environment for each game, or one for generated homes that are kept apart."""
    if not games:
        return [piase_gym.parallel_env("Household", split="valid_unseen", **options)] * HOMES
    return [piase_gym.parallel_env("Household", game=game, **options) for game in games]


def play(player: str, games: Sequence[str]) -> dict[str, float]:
    """Return the share of games that a player wins within 50 steps, and its steps in those."""
    lengths = []
    envs = _envs(games, view="vector", max_steps=50)
    for number, env in enumerate(envs):
        env.reset(seed=number)
        agent, step = make_agent(player), 0
        agent.reset(number)
        while env.agents:
            infos = env.step(act_all(env, {"agent_0": agent}, step))[4]
            step += 1
        if infos["agent_0"]["result"] == "won":
            lengths.append(step)
    steps = sum(lengths) / len(lengths) if lengths else 0.0
    return {"won": len(lengths) / len(envs), "steps": steps}


def rate(games: Sequence[str], wording: str) -> float:
    """Return steps per CPU-second with text in and out, and admissible commands at each step."""
    envs = _envs(games, view="text", actions="text", wording=wording)
    dice, done, spent = Stream(1), 0, 0.0
    while done < STEPS:
        for number, env in enumerate(envs):
            env.reset(seed=number)
            start = time.process_time()
            while env.agents:
                lines = env.admissible_commands("agent_0")
                env.step({"agent_0": lines[dice.integer(len(lines))]})
                done += 1
            spent += time.process_time() - start
            if done >= STEPS:
                break
    return done / spent


@described
def measure_all(games: str | None = None) -> dict[str, Any]:
    """Measure players and speed.

    Args:
        games: A folder of games of ALFWorld.

    Returns:
        JSON-able: ``players`` (share won and steps), ``rates``, ``costs`` and what was measured on.
    """
    given = games_in(games) if games else ()
    homes = HouseholdConfig()
    kinds = {"generated homes": (), **({TAKEN: given} if given else {})}
    env = _envs(given, view="text")[0]
    made = [generate(homes, seed).game for seed in range(HOMES)]
    costs = {
        "a generated home, certified": milliseconds(lambda k: generate(homes, k), range(HOMES)),
        "a plan": milliseconds(lambda game: find_plan(game, game.start, 0), made),
        "a reset of a loaded game": milliseconds(lambda k: env.reset(seed=k), range(200)),
    }
    if given:
        loaded = [json.loads(Path(game).read_text("utf-8")) for game in given]
        costs["reading a game file"] = milliseconds(read_game, loaded)
    return {
        "players": {
            kind: {player: play(player, paths) for player in PLAYERS}
            for kind, paths in kinds.items()
        },
        "rates": {wording: rate(given, wording) for wording in ("canonical", "native")},
        "costs": costs,
        "games": len(given),
    }


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as tables."""
    head = ("games", "player", "won", "steps of those")
    lines = [head]
    for kind, rows in found["players"].items():
        count = found["games"] if kind == TAKEN else HOMES
        for player, row in rows.items():
            shown = f"{100 * row['won']:.0f} %"
            lines.append((f"{count} {kind}", f"`{player}`", shown, f"{row['steps']:.1f}"))
    speeds = [("what", "value")]
    speeds += [
        (f"steps per CPU-second, {wording} text", f"{value:,.0f}")
        for wording, value in found["rates"].items()
    ]
    speeds += [(f"{what}, CPU-ms", f"{value:.2f}") for what, value in found["costs"].items()]
    return {
        "players": Section([Table(lines)], ["Within 50 steps a game."]),
        "speed": Section([Table(speeds)], [about(found)]),
    }


OPTIONS = {"games": "a folder of ALFWorld's games"}
