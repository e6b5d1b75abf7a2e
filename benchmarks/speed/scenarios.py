"""How fast batches play the scenarios of array worlds, beside the same configs without a script.

Run it with ``python -m piase_gym.benchmarks.scenarios``; what is found is stored in
``benchmarks/measured/scenarios.json``, from which ``docs/make_pages.py`` writes a part of
docs/scenarios.md. Rates are agent-steps per CPU-second under random actions, episodes and resets
included; a script that ends its episodes early has more resets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from piase_gym import scenarios
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.benchmarks.speed.timing import ROUNDS, SECONDS, Row, batch_steps, measure
from piase_gym.envs.arguments import resolve
from piase_gym.envs.batch import BatchEnv, batch_env
from piase_gym.registry import load
from piase_gym.worlds.array_world import ArrayWorld

FILE = OUT = Path(__file__).parents[1] / "measured" / "scenarios.json"
BATCHES = (256, 1024, 4096)
OPTIONS = {"rounds": "of every row", "seconds": "CPU-seconds of each measurement"}


def scripted() -> Iterator[tuple[str, Any]]:
    """Yield the shipped scenarios that have a script and play in batches, with their configs."""
    for name in scenarios.names():
        scenario = scenarios.load(name)
        config, spec, *_ = resolve(scenario.world, scenario, None, {})
        batched = issubclass(load(spec.world, spec), ArrayWorld)
        if batched and config.script is not None and not scenario.head.characters:
            yield name, config


def _row(name: str, env: BatchEnv) -> Row:
    """Return the row of a batch: so many agents in one step."""
    return Row(name, env.num_envs * len(env.agents), batch_steps(env))


@described
def measure_all(rounds: int = ROUNDS, seconds: float = SECONDS) -> dict[str, Any]:
    """Measure all scenarios of array worlds.

    Args:
        rounds: How often each row is measured; medians are kept.
        seconds: CPU-seconds of each measurement.

    Returns:
        JSON-able: ``scenarios`` (name -> environments -> rates ``with`` and ``without`` the
        script), and what was measured on.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, config in scripted():
        for envs in BATCHES:
            plain = config.model_copy(update={"script": None})
            rows = [
                _row("with", batch_env(config, num_envs=envs)),
                _row("without", batch_env(plain, num_envs=envs)),
            ]
            found.setdefault(name, {})[str(envs)] = measure(rows, rounds, seconds, burst=20)
    return {"scenarios": found}


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return the ratios as a table."""
    lines = [("scenario", *(f"{envs:,} environments" for envs in BATCHES))]
    for name, sizes in found["scenarios"].items():
        rates = (sizes[str(envs)] for envs in BATCHES)
        lines.append((f"`{name}`", *(f"{r['with'] / r['without']:.2f}" for r in rates)))
    text = (
        "Steps of a batch with the scenario's script, as a share of those of the same config "
        "without it; random actions, medians of alternating rounds."
    )
    return {"batches": Section([Table(lines)], [text, about(found)])}
