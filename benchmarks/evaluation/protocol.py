"""The protocol behind every number: what identifies an episode, and what is recorded about it.

An episode is keyed by task id and version, config, seed, seat assignment and policies. Two
episodes with the same key are the same episode, wherever and in whatever company they were
played; that is what makes a run resumable and results comparable.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import orjson
from pydantic import TypeAdapter

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.config import WorldConfig
from piase_gym.core.digest import digest_json
from piase_gym.errors import ProtocolError, SuiteError, suggest, whole_number

PROTOCOL = 1
"""Version of the protocol; results of different versions are never mixed."""

SEEDS: Mapping[str, range] = {
    "train": range(1_000_000),
    "dev": range(1_000_000, 1_001_000),
    "held_out": range(2_000_000, 2_001_000),
    "new_levels": range(3_000_000, 3_100_000),
}
"""Seed ranges by split. Training seeds environments from the first range only. Of ``new_levels``,
only the seeds that draw levels of the held-out part are played: see `levels`."""
APART = 1000
"""The distance between the first environments of trainings with neighbouring seeds."""
REPORTED = ("held_out", "new_levels")
"""The splits of reported numbers; they have the held-out rows and partners."""

MEASURES = ("return", "per_capita", "win_rate")
"""What the value of an episode can be: see `EpisodeRecord.value`."""


def config_hash(config: WorldConfig) -> str:
    """Return a 64-bit hash of a config: of what differs from the defaults, as canonical JSON.

    A field that a world gains later, with a default that changes nothing, does not change hashes.
    """
    return digest_json(config.model_dump(mode="json", exclude_defaults=True))


def split_seeds(split: str, episodes: int) -> range:
    """Return the first seeds of a split.

    Raises:
        SuiteError: If there is no such split, or it has fewer seeds.
    """
    if split not in SEEDS:
        raise SuiteError(f"unknown split {split!r}; {suggest(split, SEEDS)}")
    count, most = whole_number(episodes), len(SEEDS[split])
    if count is None or not 1 <= count <= most:
        raise SuiteError(f"episodes must be an integer from 1 to {most}, not {episodes!r}")
    return SEEDS[split][:count]


def first_seed(seed: int, num_envs: int) -> int:
    """Return the seed of the first environment of a training; the others have those after it.

    Trainings with neighbouring seeds would otherwise play the same levels in other environments.
    All of these seeds are in the training range, whatever `seed` is.

    Example:
        >>> first_seed(3, 256), first_seed(3, 4096), first_seed(2000, 64)
        (3000, 12288, 128)
    """
    return max(APART, num_envs) * seed % (SEEDS["train"].stop - num_envs)


@dataclass(frozen=True, kw_only=True)
class EpisodeRecord:
    """What is recorded about one episode.

    Attributes:
        key: What identifies it, as 16 hexadecimal digits; see `rollout.Job.blank`.
        setting: Label of the row of the suite.
        policy: Name of the policy that is evaluated.
        run: Which training run of the policy, from 0.
        seed: Effective seed.
        seats: Policy name by agent.
        focal: The agents whose behaviour is measured.
        value: The value under the row's measure: the mean return of the focal agents (``return``,
            ``per_capita``), or their share of wins with draws as halves (``win_rate``).
        returns: Undiscounted sum of rewards by agent.
        results: ``won, lost, drawn, ended`` by focal agent.
        steps: Steps until the last focal agent had ended.
        milestones: How many focal agents reached each milestone.
        outcomes: How many commands of focal agents had each outcome.
        messages: Letters that focal agents sent.
        hints: Hints that focal agents were given.
        digest: Digest of the world's state at the end.
        seconds: Wall time; for episodes played in a batch, their share of it.
        fault: Why there is no result, if there is none. Such an episode is played again by the
            next run that resumes.
    """

    key: str
    setting: str
    policy: str
    run: int
    seed: int
    seats: Mapping[str, str]
    focal: tuple[str, ...]
    value: float | None = None
    returns: Mapping[str, float] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    steps: int = 0
    milestones: Mapping[str, int] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)
    messages: int = 0
    hints: int = 0
    digest: str = ""
    seconds: float = 0.0
    fault: str | None = None

    @property
    def won(self) -> float:
        """Return the share of focal agents that won."""
        return sum(result == "won" for result in self.results.values()) / len(self.focal)

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON-able values."""
        return {**asdict(self), "focal": list(self.focal)}

    def evidence(self) -> dict[str, Any]:
        """Return everything that must be equal when the episode is played again."""
        kept = self.to_json()
        del kept["seconds"]
        return kept

    @classmethod
    def from_json(cls, data: Any) -> EpisodeRecord:
        """Read what `to_json` wrote.

        Raises:
            ProtocolError: If it is not an episode.
        """
        message = f"this is not an episode of protocol {PROTOCOL}: {data!r:.80}"
        names = {item.name for item in fields(cls)}
        if not isinstance(data, Mapping) or set(data) != names:
            raise ProtocolError(message)
        try:
            record = _reader().validate_json(orjson.dumps(data), strict=True)
        except (TypeError, ValueError):
            raise ProtocolError(message) from None
        if (record.value is None) != (record.fault is not None):
            raise ProtocolError(message)
        return record


@functools.cache
def _reader() -> TypeAdapter[EpisodeRecord]:
    """Return what checks the types of an episode's fields."""
    return TypeAdapter(EpisodeRecord)


def episode_value(measure: str, returns: Mapping[str, float], results: Mapping[str, str]) -> float:
    """Return the value of an episode.

    Args:
        measure: One of `MEASURES`.
        returns: Return by focal agent.
        results: Result by focal agent.
    """
    if measure == "win_rate":
        worth = {"won": 1.0, "drawn": 0.5}
        return sum_in_order(worth.get(result, 0.0) for result in results.values()) / len(results)
    return sum_in_order(returns.values()) / len(returns)
