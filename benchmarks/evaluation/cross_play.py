"""Cross-play: every policy in the focal seats, with every policy in the other seats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from piase_gym.benchmarks.evaluation.evaluate import evaluate
from piase_gym.benchmarks.evaluation.results import Results
from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.evaluation.suites import Row
from piase_gym.errors import SuiteError


@dataclass(frozen=True)
class CrossPlayTable:
    """Values of policies with partners.

    Attributes:
        label: Label of the row of the suite.
        measure: What the values are means of; with ``win_rate`` they are win rates.
        policies: The evaluated policies: the lines.
        partners: The policies in the other seats: the columns.
        values: One line per policy, one value per partner; ``None`` where episodes are missing.
    """

    label: str
    measure: str
    policies: tuple[str, ...]
    partners: tuple[str, ...]
    values: tuple[tuple[Interval | None, ...], ...]


def cross_tables(results: Results) -> list[CrossPlayTable]:
    """Return a table for every row of a suite that was played with partners."""
    partners: dict[str, list[str]] = {}
    for row in results.rows:
        base = row.setting.removesuffix(f" with {row.partner}")
        if row.partner and row.partner not in partners.setdefault(base, []):
            partners[base].append(row.partner)
    return [_table(results, base, tuple(names)) for base, names in partners.items()]


def _table(results: Results, base: str, partners: tuple[str, ...]) -> CrossPlayTable:
    """Return the table of one row."""
    rows = [r for r in results.rows if r.partner and r.setting == f"{base} with {r.partner}"]
    policies = tuple(dict.fromkeys(row.policy for row in rows))
    values = tuple(
        tuple(_value(results, f"{base} with {partner}", policy) for partner in partners)
        for policy in policies
    )
    return CrossPlayTable(base, rows[0].measure, policies, partners, values)


def _value(results: Results, setting: str, policy: str) -> Interval | None:
    """Return one value."""
    row = results.find(setting, policy)
    return row.value if row is not None and row.complete else None


def cross_play(policies: Sequence[str], row: Row, **options: Any) -> tuple[CrossPlayTable, Results]:
    """Play every policy with every policy.

    Args:
        policies: Names or paths of policies; each plays the focal seats and the other seats.
        row: The task; its partners are replaced. Without ``focal`` one seat is focal.
        options: Options of `evaluate`.

    Returns:
        The table, and the results it was made from.

    Raises:
        SuiteError: If there is no policy, or the task has a single agent.
    """
    if not policies:
        raise SuiteError("cross-play needs at least one policy")
    names = tuple(policies)
    label = row.label or row.task
    square = replace(
        row, label=label, focal=row.focal or 1, partners=names, held_out_partners=names
    )
    results = evaluate({name: name for name in names}, square, **options)
    return cross_tables(results)[0], results
