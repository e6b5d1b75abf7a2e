"""What 0 and 100 points are: measured values of reference policies, stored in `references.json`.

``piase bench references`` plays the reference policies on the first seeds of the splits and writes
the file anew, with versions, seeds and hashes. A score is ``100 * (x - low) / (high - low)``. A
task whose gap between low and high is within noise is disqualified: it gets no score.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.benchmarks.evaluation.protocol import PROTOCOL
from piase_gym.benchmarks.evaluation.statistics import mean_interval
from piase_gym.benchmarks.evaluation.suites import Setting
from piase_gym.errors import ProtocolError

FILE = "references.json"
NOISE_LEVEL = 0.99
"""Confidence at which the gap of a task must differ from nothing."""
LEAST_GAP = 1e-9


@dataclass(frozen=True)
class ScoreRange:
    """The two references of a setting, and whether they are far enough apart.

    Attributes:
        low: Mean value of the low policy.
        high: Mean value of the high policy.
        low_policy: Its name.
        high_policy: Its name; ``oracle`` only where it is certified, else ``planner``.
        certified: Whether the high policy is proved optimal.
        disqualified: Why there are no scores, or ``None``.
    """

    low: float | None
    high: float | None
    low_policy: str
    high_policy: str
    certified: bool
    disqualified: str | None

    def score(self, value: float) -> float | None:
        """Return the points of a raw value, or None if the task is disqualified."""
        if self.disqualified or self.low is None or self.high is None:
            return None
        return 100.0 * (value - self.low) / (self.high - self.low)


References = Mapping[str, Any]
"""The contents of `references.json`."""


@functools.lru_cache(maxsize=1)
def shipped() -> References:
    """Return the references that ship with this version; empty if there are none."""
    file = resources.files(__package__) / FILE
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
    """Return the references of a setting and whether they can be told from each other."""
    entry = references.get("settings", {}).get(setting.label)
    low_name = setting.low[0]
    uncertified = setting.high == "oracle" and not setting.certified
    high_name = "planner" if uncertified else setting.high

    def closed(why: str, low: float | None = None, high: float | None = None) -> ScoreRange:
        return ScoreRange(low, high, low_name, high_name, setting.certified, why)

    if entry is None:
        return closed("there are no references; play them with: piase bench references")
    if (entry["version"], entry["config_hash"]) != (setting.version, setting.config_hash):
        return closed("the references are of another version or config of the task")
    values = {name: np.array(found["values"]) for name, found in entry["policies"].items()}
    missing = [name for name in (*setting.low, setting.high) if name not in values]
    if missing:
        return closed(f"there is no reference of {' and '.join(missing)}")
    low_name = max(setting.low, key=lambda name: float(values[name].mean()))
    low, high = values[low_name], values[setting.high]
    means = float(low.mean()), float(high.mean())
    if len(low) != len(high) or len(low) < 2:
        return closed("the references were not played on the same seeds", *means)
    gap = mean_interval([(high - low).tolist()], NOISE_LEVEL)
    if gap.low <= LEAST_GAP:
        why = f"the gap of {gap.estimate:.3g} ({gap.low:.3g} to {gap.high:.3g}) is within noise"
        return closed(why, *means)
    return ScoreRange(*means, low_name, high_name, setting.certified, None)
