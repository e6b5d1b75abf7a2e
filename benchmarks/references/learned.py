"""What the stored trainings say: how good learners are on each task, and which tasks are open.

A task is open if the best known learner is at random level: it wins less often than random play; or
it wins no more often, or nothing is won, and it gets no more than the best of the policies that do
not look and that the row has for its floor. `learners.json` holds trainings with several seeds
(`piase_gym.benchmarks.references.learners`), `references.json` the shipped model, in one run.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.benchmarks.evaluation.statistics import (
    Interval,
    mean_interval,
    share_difference,
    share_interval,
    wilson,
)
from piase_gym.benchmarks.evaluation.suites import rows_by_label
from piase_gym.benchmarks.evaluation.tables import markdown
from piase_gym.benchmarks.references.references import BLIND, shipped

FOLDER = Path(__file__).parent
FILE, DILEMMAS = "learners.json", "dilemmas.json"
MODEL = "ppo"
SOLVED = 0.95
"""The mean share of episodes won at which a setting is called solved."""
REWARDS_TOLD = {
    "own": "",
    "small_costs": ", small costs",
    "own_costs_later": ", small costs at first",
    "shaped": ", shaped",
    "small_costs_shaped": ", small costs, shaped",
    "prosocial": ", prosocial",
}


@dataclass(frozen=True)
class Learned:
    """The result of one learner in one setting.

    Attributes:
        learner: How it was trained, in words.
        runs: Number of trainings.
        value: Mean value of its episodes, with an interval over runs and seeds.
        success: Share of episodes won, with an interval; ``None`` if nothing is won.
        gain: How much more it gets than the better policy of the row's `low`, on the same levels.
        edge: How much more often it wins than random play, on the same levels.
        random_success: How often random play wins.
        held_out: Whether training never met the levels.
    """

    learner: str
    runs: int
    value: Interval
    success: Interval | None
    gain: Interval
    edge: Interval | None
    random_success: float | None
    held_out: bool

    @property
    def at_random_level(self) -> bool:
        """Whether it is no better than a policy that does not look."""
        if self.edge is None:
            return self.gain.low <= 0.0
        return self.edge.high < 0.0 or max(self.gain.low, self.edge.low) <= 0.0


@functools.lru_cache(maxsize=1)
def stored_learners() -> Mapping[str, Any]:
    """Return the stored trainings by the name of their model."""
    return _read(FOLDER / FILE)


def stored_dilemmas(file: Path = FOLDER / DILEMMAS) -> Mapping[str, Any]:
    """Return what is stored about social dilemmas, by the names of models."""
    return _read(file)


def _read(file: Path) -> Mapping[str, Any]:
    """Return the contents of a file of results; none if it does not exist."""
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return found


def learned() -> dict[str, list[Learned]]:
    """Return the results of learners by label, trainings with several seeds first."""
    found: dict[str, list[Learned]] = {}
    low = _low_by_label()
    for entry in stored_learners().values():
        for label, episodes in entry["labels"].items():
            found.setdefault(label, []).append(
                _of_trainings(entry, episodes, low.get(label, BLIND))
            )
    for label, entry in shipped().get("settings", {}).items():
        policies = entry["policies"]
        if MODEL in policies and all(name in policies for name in BLIND):
            found.setdefault(label, []).append(_of_model(policies, low.get(label, BLIND)))
    return found


def _low_by_label() -> dict[str, Sequence[str]]:
    """Return which of the policies that do not look are the floor of each row."""
    return {
        label: [name for name in BLIND if name in row.low] or BLIND
        for label, row in rows_by_label().items()
    }


def _floor(policies: Mapping[str, Any], low: Sequence[str]) -> Sequence[float]:
    """Return the episodes of the best of some policies."""
    found: Sequence[float] = max((policies[name]["values"] for name in low), key=np.mean)
    return found


def _of_trainings(
    entry: Mapping[str, Any], episodes: Mapping[str, Any], low: Sequence[str]
) -> Learned:
    """Return the result of several trainings in a setting."""
    kind = "fast PPO" if entry["algo"] == "batch_ppo" else "PPO of Stable-Baselines3"
    more = REWARDS_TOLD[entry["reward"]]
    partners = dict.fromkeys(entry.get("partners", {}).values())
    more += "".join(f", with {partner}" for partner in partners)
    more += f", memory of {entry['memory']}" if entry["memory"] else ""
    more += ", one policy per seat" if entry.get("policies", 1) > 1 else ""
    name = f"{kind}{more}, up to {entry['budget'] / 1e6:g} M steps"
    floor, random = _floor(episodes, low), episodes["random"].get("won")
    own = episodes["values"], episodes.get("won")
    return _compared(name, *own, floor, random, entry["split"])


def _of_model(policies: Mapping[str, Any], low: Sequence[str]) -> Learned:
    """Return the result of the shipped model in a setting."""
    model, made = policies[MODEL], policies[MODEL].get("training", {})
    name = f"{made.get('algo', 'ppo')}, {made.get('steps', 0) / 1e6:g} M steps"
    runs = model.get("runs") or [model["values"]]
    floor, random = _floor(policies, low), policies["random"]
    won, by_luck = model.get("won"), random.get("won")
    found = _compared(name, runs, won, floor, by_luck[0] if by_luck else None, "held_out")
    if found.success is None or found.edge is not None or random.get("success") is None:
        return found
    # Which episodes random play won is not stored, but how many.
    count = len(random["values"])
    luck = wilson(random["success"] * count, count)
    edge = share_difference(found.success, luck)
    return replace(found, edge=edge, random_success=luck.estimate)


def _compared(
    name: str,
    values: Sequence[Sequence[float]],
    won: Sequence[Sequence[float]] | None,
    floor: Sequence[float],
    random_won: Sequence[float] | None,
    split: str,
) -> Learned:
    """Compare runs with policies that do not look, episode by episode."""
    gain = mean_interval([(np.array(run) - np.array(floor)).tolist() for run in values])
    edge = None
    if won and random_won:
        edge = mean_interval([(np.array(run) - np.array(random_won)).tolist() for run in won])
    return Learned(
        name,
        len(values),
        mean_interval([list(run) for run in values]),
        share_interval([list(run) for run in won]) if won else None,
        gain,
        edge,
        float(np.mean(random_won)) if random_won else None,
        split == "new_levels",
    )


def open_problems() -> dict[str, list[Learned]]:
    """Return the settings in which every known learner is at random level."""
    found = learned()
    return {
        label: rows for label, rows in found.items() if all(row.at_random_level for row in rows)
    }


def partly_learned() -> dict[str, Learned]:
    """Return the best learners that are above random level, but do not solve their setting."""
    rows = {label: best(found) for label, found in learned().items()}
    return {
        label: row
        for label, row in rows.items()
        if not row.at_random_level and row.success is not None and row.success.estimate < SOLVED
    }


def best(rows: Sequence[Learned]) -> Learned:
    """Return the best of some learners: one above random level, then by wins, then by gain.

    A learner with several trainings goes before one with a single training, whose result may be
    luck.
    """

    def worth(row: Learned) -> tuple[bool, bool, float, float]:
        won = 0.0 if row.success is None else row.success.estimate
        return not row.at_random_level, row.runs > 1, won, row.gain.estimate

    return max(rows, key=worth)


# -- pages ---------------------------------------------------------------------------------


def open_problems_table() -> str:
    """Return the open problems as Markdown, each with the best known score."""
    head = (
        *("task", "the best learner", "it gets", "it wins", "random wins", "best known"),
        "it gets",
    )
    rows = []
    for label, found in sorted(open_problems().items()):
        row = best(found)
        policies = shipped().get("settings", {}).get(label, {}).get("policies", {})
        name, mean = _best_known(policies)
        wins = [_share(row.success), _random(row)]
        rows.append([label, _training_words(row), row.value.words(".2f"), *wins, name, mean])
    return markdown(head, rows)


def partly_learned_table() -> str:
    """Return what is above random level and not solved as Markdown, the least won first."""
    head = ("task", "the best learner", "it wins", "random wins")
    rows = [
        [label, _training_words(row), _share(row.success), _random(row)]
        for label, row in sorted(
            partly_learned().items(),
            key=lambda item: (item[1].success.estimate if item[1].success else 0.0, item[0]),
        )
    ]
    return markdown(head, rows)


def learners_table() -> str:
    """Return for every world how many settings learners solve, and how many are open, in words."""
    rows, known = [], learned()
    worlds: dict[str, list[Learned]] = {}
    for label, found in known.items():
        worlds.setdefault(_world_of(label), []).append(best(found))
    for world, found in sorted(worlds.items()):
        above = sum(not row.at_random_level for row in found)
        wins = [row.success for row in found if row.success is not None]
        solved = f"{sum(one.estimate >= SOLVED for one in wins)} of {len(wins)}" if wins else "–"
        rows.append([world, str(len(found)), str(above), solved, str(len(found) - above)])
    words = (
        "A *setting* is a task with its config and, where others play some seats, who they are: "
        "an id or a row of a suite. It is *solved* where the best learner wins a share of at least "
        f"{SOLVED:g} in the mean over its trainings, counted among those of which wins are stored; "
        "it is *open* where no learner is above random level."
    )
    table = markdown(("world", "settings", "above random level", "solved", "open"), rows)
    parts = [table, words]
    settings = shipped().get("settings", {})
    if left := Counter(_world_of(label) for label in settings if label not in known):
        text = ", ".join(f"{world} {count}" for world, count in sorted(left.items()))
        parts += ["", f"Left out are the settings of the suites without a stored training: {text}."]
    return "\n".join(parts) + "\n"


def _world_of(label: str) -> str:
    """Return the world of a setting."""
    return label.removeprefix("piase/").split("-")[0]


def trainings_table() -> str:
    """Return every stored training with several seeds, as Markdown."""
    head = (
        *("task", "pass", "how", "runs", "agent steps, M", "CPU-seconds", "levels"),
        *("value", "success", "random"),
    )
    rows = []
    low = _low_by_label()
    for _, entry in sorted(stored_learners().items()):
        for label, episodes in sorted(entry["labels"].items()):
            row = _of_trainings(entry, episodes, low.get(label, BLIND))
            steps = f"{np.mean(entry['steps']) / 1e6:.2g}"
            levels = "held out" if row.held_out else "all, which are few"
            cpu = f"{np.mean(entry['cpu_seconds']):.0f}"
            cells = [label, entry["pass"], row.learner, str(row.runs), steps, cpu, levels]
            rows.append([*cells, row.value.words(".2f"), _share(row.success), _random(row)])
    return markdown(head, rows)


def dilemmas_table() -> str:
    """Return the results of learners in social dilemmas, as Markdown."""
    rows = []
    head = ("task", "runs", "self-play", "with strangers", "prosocial", "exploitability, at least")
    if not stored_dilemmas():
        return "Not measured yet.\n"
    for _, found in sorted(stored_dilemmas().items()):
        cells = [found["task"], str(len(found["self_play"]))]
        for kind in ("self_play", "strangers", "prosocial"):
            cells.append(mean_interval(found[kind]).words(".2f") if kind in found else "–")
        ((best,), (own,)) = found["best_response"], found["in_its_place"]
        gain = mean_interval([(np.array(best) - np.array(own)).tolist()])
        rows.append([*cells, gain.words(".2f")])
    return markdown(head, rows)


def _best_known(policies: Mapping[str, Any]) -> tuple[str, str]:
    """Return the stored policy with the highest mean, and that mean."""
    looking = {n: p["mean"] for n, p in policies.items() if p.get("mean") is not None}
    if not looking:
        return "–", "–"
    name = max(looking, key=lambda one: float(looking[one]))
    return name, f"{looking[name]:.2f}"


def _training_words(row: Learned) -> str:
    """Write how a learner was trained, and how often."""
    return f"{row.learner}, {row.runs} run{'s' * (row.runs > 1)}"


def _random(row: Learned) -> str:
    """Write how often random play wins."""
    return "–" if row.random_success is None else f"{row.random_success:.0%}"


def _share(interval: Interval | None) -> str:
    """Write an interval of shares."""
    return "–" if interval is None else interval.words(".0%")
