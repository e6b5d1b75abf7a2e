"""Social dilemmas: what learners come to among themselves, with strangers, and against the worst.

``python -m piase_gym.benchmarks.references.dilemmas FOLDER`` takes the trainings that ``piase bench
learners`` has left in FOLDER, and adds for every id of SocialDilemma:

- *self-play*: all seats are played by one run; the mean over runs.
- *strangers*: one seat is played by a run, the others by another run, trained with another seed.
- *prosocial*: self-play of policies that were trained with the mean of all rewards.
- *exploitability*: how much more a best response gets than the policy in its seat, while the median
  run plays the other seats. The best response is trained against that run, so this is a lower
  bound. In two-player games, where seats need not be alike, each seat has its own best response.

Existing results are kept. ``benchmarks/references/dilemmas.json``, or the file that ``--out``
names, holds the values of episodes; `docs/make_pages.py` writes the table of docs/benchmarks.md
from it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from piase_gym.benchmarks.evaluation.evaluate import evaluate
from piase_gym.benchmarks.evaluation.protocol import EpisodeRecord
from piase_gym.benchmarks.evaluation.results import by_run
from piase_gym.benchmarks.evaluation.suites import Row, Suite
from piase_gym.benchmarks.references.learned import DILEMMAS, FOLDER, stored_dilemmas
from piase_gym.benchmarks.references.learners import (
    PASSES,
    median_run,
    runs_of,
    setting_of,
    settings_for,
    tasks,
)
from piase_gym.core.files import write_json
from piase_gym.training.train import TrainSettings, train_to_end

EPISODES, SEEDS = 50, 3
Values = list[list[float]]


def measure(folder: Path, name: str, row: Row) -> dict[str, Any] | None:
    """Return the values of the episodes of an id; ``None`` if nothing is trained yet."""
    runs = runs_of(folder, name, PASSES[0].name)
    plan = settings_for(setting_of(row), PASSES[0], 0)
    if not runs or plan is None:
        return None
    places = [str(Path(run["folder"]) / run["policy"]) for run in runs]
    median = median_run(runs)
    middle = str(Path(median["folder"]) / median["policy"])
    kept = folder / "dilemmas" / name
    prosocial = [
        _trained(kept / f"prosocial-{seed}", plan, seed=seed, training_reward="prosocial")
        for seed in range(SEEDS)
    ]
    agents = setting_of(row).agents
    best = {
        seat: _trained(
            kept / f"best-response-{seat}",
            plan,
            partners={agent: f"ppo:{middle}" for agent in agents if agent != seat},
        )
        for seat in (agents if len(agents) == 2 else agents[:1])
    }
    found: dict[str, Any] = {
        "task": row.task,
        "budget": plan.steps,
        "self_play": _values(row, places),
        "prosocial": _values(row, prosocial),
        "best_response": [_by_seat(row, best, middle)],
        "in_its_place": _values(row, [middle], middle),
    }
    if len(places) > 1:
        pairs = zip(places, [*places[1:], places[0]], strict=True)
        found["strangers"] = [_values(row, [one], other)[0] for one, other in pairs]
    return found


def _trained(place: Path, plan: TrainSettings, **changes: Any) -> str:
    """Train a policy, or continue its training; return its path."""
    settings = TrainSettings(**{**plan.model_dump(), **changes})
    return str(train_to_end(settings, place).policy)


def _by_seat(row: Row, best: Mapping[str, str], partner: str) -> list[float]:
    """Return the value of each episode for the best response of its seat, or for the only one."""
    records = _played(row, list(best.values()), partner)
    seats = list(best)
    own = [r for r in records if len(seats) == 1 or r.focal == (seats[r.run],)]
    return [round(r.value or 0.0, 3) for r in sorted(own, key=lambda record: record.seed)]


def _values(row: Row, policies: Sequence[str], partner: str = "") -> Values:
    """Return the mean return of the seats that policies play, by run and episode."""
    runs = by_run(_played(row, policies, partner))
    return [[round(value, 3) for value in run] for run in runs]


def _played(row: Row, policies: Sequence[str], partner: str = "") -> list[EpisodeRecord]:
    """Return the episodes of policies in all seats, or in one rotating seat with a partner."""
    seats: dict[str, Any] = {}
    if partner:
        seats = {"focal": 1, "partners": (partner,), "held_out_partners": (partner,)}
    own = Row(task=row.task, config=row.config, measure="per_capita", label="played", **seats)
    suite = Suite(name="dilemma", rows=(own,))
    options: dict[str, Any] = {"episodes": EPISODES, "split": "held_out", "references": {}}
    results = evaluate({"trained": list(policies)}, suite, **options)
    return list(results.of(results.settings[0], "trained"))


def measure_all(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure every id that is trained, and keep each result in the folder."""
    for name, rows in tasks(["piase/SocialDilemma-*"]).items():
        path = folder / "dilemmas" / f"{name}.json"
        if not path.is_file():
            found = measure(folder, name, rows[0])
            if found is None:
                continue
            write_json(path, found)
        yield name, json.loads(path.read_text("utf-8"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and store it."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("folder", type=Path, help="of ``piase bench learners``")
    parser.add_argument("--out", type=Path, default=FOLDER / DILEMMAS, help="the file of results")
    options = parser.parse_args(arguments)
    found = dict(stored_dilemmas(options.out))
    measured = 0
    for name, values in measure_all(options.folder):
        found[name] = values
        write_json(options.out, found)
        sys.stdout.write(f"{name}\n")
        measured += 1
    if not measured:
        parser.error(
            f"{options.folder} has no trainings of SocialDilemma; see piase bench learners"
        )


if __name__ == "__main__":
    main()
