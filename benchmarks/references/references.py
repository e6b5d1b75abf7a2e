"""What 0 and 100 points are: measured values of reference policies, stored in `references.json`.

``piase bench references`` plays the reference policies on the first seeds of the splits and
rewrites the file, with versions, seeds and hashes. A score is ``100 * (x - low) / (high - low)``.
One rule determines the two: `low` is the best of the policies that do not look, `high` the best
known policy: the certified oracle, or else the best of all stored policies that look. If the gap
between low and high is within noise, the task is disqualified: it gets no score.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.benchmarks.evaluation.protocol import PROTOCOL
from piase_gym.benchmarks.evaluation.statistics import Anchors, Interval, mean_interval
from piase_gym.benchmarks.evaluation.suites import Setting
from piase_gym.errors import ProtocolError

FILE = "references.json"
NOISE_LEVEL = 0.99
"""Confidence at which the gap of a task must differ from zero."""
LEAST_GAP = 1e-9
BLIND = ("random", "noop")
"""Policies that do not look: they are never the best known policy."""
ORACLE, PLANNER, SCRIPT = "oracle", "planner", "script"
"""Names for a world's oracle: proved optimal; never beaten by what is stored; beaten."""


@dataclass(frozen=True)
class ScoreRange:
    """The two references of a setting, and whether they are far enough apart.

    Attributes:
        low: Mean value of the low policy.
        high: Mean value of the high policy.
        low_policy: Its name.
        high_policy: Its name. A world's oracle is called an oracle only if it is certified;
            otherwise it is a `PLANNER`, or a `SCRIPT` (see `oracle_kind`).
        certified: Whether the high policy is proved optimal.
        disqualified: Why there are no scores, or ``None``.
        anchors: How uncertain `low` and `high` are, in points; ``None`` if that is not known.
        beaten: What does better than the world's oracle, if anything does.
    """

    low: float | None
    high: float | None
    low_policy: str
    high_policy: str
    certified: bool
    disqualified: str | None
    anchors: Anchors | None = None
    beaten: str = ""

    def score(self, value: float) -> float | None:
        """Return the points of a raw value, or None if the task is disqualified."""
        if self.disqualified or self.low is None or self.high is None:
            return None
        return 100.0 * (value - self.low) / (self.high - self.low)

    def points(self, runs: Sequence[Sequence[float]]) -> list[list[float]]:
        """Return the points of every episode of some runs, if the task is not disqualified."""
        return [[self.score(value) or 0.0 for value in run] for run in runs]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ScoreRange:
        """Read what `dataclasses.asdict` wrote; in old files the last fields are missing."""
        anchors = data.get("anchors")
        return cls(**{**data, "anchors": anchors and Anchors(*anchors)})


References = Mapping[str, Any]
"""The contents of `references.json`."""


@functools.lru_cache(maxsize=1)
def shipped() -> References:
    """Return the references that ship with this version; empty if there are none."""
    file = Path(__file__).with_name(FILE)
    return _checked(json.loads(file.read_text("utf-8")), FILE) if file.is_file() else {}


def read_references(path: Path) -> References:
    """Read a file of references.

    Raises:
        ProtocolError: If it cannot be read, or is of another protocol version.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ProtocolError(f"{path}: the references cannot be read: {error}") from None
    return _checked(data, str(path))


def _checked(data: Any, where: str) -> References:
    """Check the version of references."""
    if not isinstance(data, dict) or data.get("protocol") != PROTOCOL:
        found = data.get("protocol") if isinstance(data, dict) else None
        raise ProtocolError(f"{where} is of protocol {found!r}; allowed here: {PROTOCOL}")
    return data


def score_range_of(setting: Setting, references: References) -> ScoreRange:
    """Return the references of a setting, and whether they are far enough apart."""
    entry = references.get("settings", {}).get(setting.label)
    low, high = setting.low[0], setting.high
    if high == ORACLE and not setting.certified:
        high = PLANNER
    if entry is None:
        why = "there are no references; play them with: piase bench references"
        return ScoreRange(None, None, low, high, setting.certified, why)
    if (entry["version"], entry["config_hash"]) != (setting.version, setting.config_hash):
        why = "the references are of another version or config of the task"
        return ScoreRange(None, None, low, high, setting.certified, why)
    return scale_of(entry, setting.low, setting.high, setting.certified)


def scale_of(
    entry: Mapping[str, Any],
    low: Sequence[str],
    high: str,
    certified: bool,
) -> ScoreRange:
    """Return what 0 and 100 points are, from the stored values of a setting.

    Args:
        entry: What is stored about the setting.
        low: The policies that do not look.
        high: The world's best policy.
        certified: Whether the world's best policy is proved optimal.
    """
    values = {name: np.array(found["values"]) for name, found in entry["policies"].items()}
    missing = [name for name in (*low, high) if name not in values]
    kind, beaten = oracle_kind(values, high, certified)

    def closed(why: str, bottom: float | None = None, top: float | None = None) -> ScoreRange:
        return ScoreRange(bottom, top, low[0], kind, certified, why, None, beaten)

    if missing:
        return closed(f"there is no reference of {' and '.join(missing)}")
    means = {name: float(found.mean()) for name, found in values.items()}
    floor = max(low, key=means.__getitem__)
    looking = [high, *(name for name in values if name not in (*low, *BLIND, high))]
    best = high if certified else max(looking, key=means.__getitem__)
    top = kind if best == high else best
    if len(values[floor]) != len(values[best]) or len(values[best]) < 2:
        return closed("the references were not played on the same seeds", means[floor], means[best])
    gap = mean_interval([(values[best] - values[floor]).tolist()], NOISE_LEVEL)
    if gap.low <= LEAST_GAP:
        why = f"the gap of {gap.words('.3g')} is within noise"
        return closed(why, means[floor], means[best])
    anchors = anchors_of(values[floor], values[best])
    return ScoreRange(means[floor], means[best], floor, top, certified, None, anchors, beaten)


def oracle_kind(
    values: Mapping[str, NDArray[np.float64]], high: str, certified: bool
) -> tuple[str, str]:
    """Return what to call a world's oracle, and what beats it.

    An oracle that is not proved optimal is a `SCRIPT` if any stored policy that looks has a higher
    value on any of the same seeds: a planner that is beaten has not found the best.
    """
    if high != ORACLE or certified:
        return high, ""
    reasons = []
    for name, found in values.items():
        same = high in values and len(found) == len(values[high]) and name not in BLIND
        better = int((found > values[high] + LEAST_GAP).sum()) if same else 0
        reasons += [f"{name} on {better} of {len(found)} levels"] if better else []
    return (SCRIPT if reasons else PLANNER), "; ".join(reasons)


def anchors_of(low: NDArray[np.float64], high: NDArray[np.float64]) -> Anchors:
    """Return how uncertain the means of two references are, in points of the scale they make."""
    spread = np.cov(low, high) / len(low)
    spread *= (100.0 / (high.mean() - low.mean())) ** 2
    return Anchors(float(spread[0, 0]), float(spread[1, 1]), float(spread[0, 1]))


def stored_runs(policy: Mapping[str, Any]) -> list[list[float]]:
    """Return the stored values of a policy by training run; old files have one run."""
    found: list[list[float]] = policy.get("runs") or [policy["values"]]
    return found


def exploitability(entry: Mapping[str, Any]) -> tuple[str, Interval]:
    """Return which stored policy does best against an oracle, and how much it gains.

    Args:
        entry: What is stored about a setting in which the oracle plays the other seats.

    Returns:
        The response that is best on every other seed, and how much more it gets on average than
        the oracle in its place, on the other seeds, with a 95 % interval. Choosing and measuring on
        the same seeds would report luck as a gain. The oracle itself gains nothing.
    """
    values = {name: np.array(found["values"]) for name, found in entry["policies"].items()}
    best = max(values, key=lambda name: (float(values[name][::2].mean()), name == ORACLE))
    return best, mean_interval([(values[best] - values[ORACLE])[1::2].tolist()])
