"""Results as rows of words, for terminals, Markdown and HTML alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np

from piase_gym.benchmarks.evaluation.levels import stored_count
from piase_gym.benchmarks.evaluation.results import Results, TaskResult
from piase_gym.benchmarks.evaluation.statistics import Interval, mean_interval
from piase_gym.benchmarks.evaluation.suites import Problem, Row, rows_by_label
from piase_gym.benchmarks.references.references import (
    References,
    ScoreRange,
    exploitability,
    oracle_kind,
    scale_of,
    stored_runs,
)

ORACLE = "oracle"
BEST_RESPONSE = "best_response:"
HEAD = (
    "task",
    "policy",
    "runs",
    "episodes",
    "score",
    "raw value",
    "success",
    "steps",
    "remarks",
)
ONE_RUN = "Where there is one run, intervals are over its episodes only."
"""The note on rows of one run: they say nothing about another training."""


def rounded(value: float, digits: int = 0) -> str:
    """Write a number with some decimals, halves away from zero.

    The float is first written with twelve decimals and then rounded: sums that differ in their
    last bits, as between versions of Python, give the same digits.
    """
    decimal = Decimal(f"{value:.12f}")
    return str(decimal.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def percent(share: float, digits: int = 1) -> str:
    """Write a share as ``80.9%``; see `rounded`."""
    return f"{rounded(100 * share, digits)}%"


def interval(value: Interval | None, digits: int = 2, scale: float = 1.0) -> str:
    """Write an interval as ``1.20 (1.05 to 1.31)``, or a dash."""
    if value is None:
        return "–"
    middle, low, high = (f"{scale * part:.{digits}f}" for part in value)
    return middle if low == high == middle else f"{middle} ({low} to {high})"


def references(gap: ScoreRange) -> str:
    """Write what 0 and 100 points are."""
    if gap.low is None or gap.high is None:
        return "–"
    return f"{gap.low_policy} {gap.low:.2f}, {gap.high_policy} {gap.high:.2f}"


def remarks(row: TaskResult) -> str:
    """Write what a reader must know about a row."""
    played = row.episodes + sum(row.faults.values())
    parts = [f"{count} of {played} failed: {fault}" for fault, count in row.faults.items()]
    if row.policy == ORACLE and row.gap.high_policy.startswith(BEST_RESPONSE):
        parts.append(
            "the oracle plays for the good of all, not for the most against this partner: "
            f"0 points are {row.gap.low_policy}, 100 are {row.gap.high_policy}"
        )
    if row.policy == ORACLE and row.gap.beaten:
        parts.append(f"a script, not an oracle: beaten by {row.gap.beaten}")
    levels = stored_count(row.task, row.config_hash)
    if levels is not None and levels.fixed:
        parts.append(f"levels: {levels}, so this says nothing about generalisation")
    if row.gap.disqualified:
        parts.append(f"no score: {row.gap.disqualified}")
    return "; ".join(parts)


def result_rows(results: Results) -> list[tuple[str, ...]]:
    """Return the rows under `HEAD`."""
    return [
        (
            row.setting,
            row.policy,
            str(row.runs),
            str(row.episodes),
            interval(row.score, 1),
            interval(row.value),
            interval(row.success, 0, 100.0) + (" %" if row.success else ""),
            f"{row.steps:.1f}",
            remarks(row),
        )
        for row in results.rows
    ]


def by_reason(problems: Iterable[Problem]) -> dict[str, list[str]]:
    """Return what could not be played, by reason."""
    found: dict[str, list[str]] = {}
    for problem in problems:
        found.setdefault(problem.what, []).append(problem.where)
    return found


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([c.replace("|", "\\|").replace("\n", " ") for c in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Write lines of cells in columns."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def one_run_note(results: Results) -> list[str]:
    """Return the note on rows of one run, if there are any."""
    return [ONE_RUN] if any(row.runs == 1 for row in results.rows) else []


def plain_table(results: Results) -> str:
    """Write results as an aligned table, with the problems below."""
    shown = [aligned([HEAD, *result_rows(results)]), *one_run_note(results)]
    shown += [f"problem: {problem.where}: {problem.what}" for problem in results.problems]
    return "\n".join(shown)


def reference_table(found: References) -> str:
    """Write stored references in Markdown for the documents: what they are, and then a table."""
    head = ("task", "random", "noop", "scripted", "ppo", "best of the world", "which is")
    entries = found.get("settings", {})
    parts = [part for entry in entries.values() for part in entry["policies"].values()]
    seeds = sorted({len(part["values"]) for part in parts})
    words = (
        f"Means over {' to '.join(map(str, seeds))} seeds; in brackets points, whose 95 % "
        "intervals hold how episodes vary and how uncertain 0 and 100 points are, and nothing "
        "about another training."
    )
    budgets: dict[str, set[int]] = {}
    for part in parts:
        if made := part.get("training"):
            budgets.setdefault(made["algo"], set()).add(made["steps"])
    for algo, steps in sorted(budgets.items()):
        text = " to ".join(f"{count:,}" for count in sorted({min(steps), max(steps)}))
        words += f" PPO by `{algo}`: one model a task, with a budget of {text} agent steps."
    declared = rows_by_label()
    rows = [_reference_row(label, entry, declared.get(label)) for label, entry in entries.items()]
    return f"{words}\n\n{markdown(head, rows)}"


def _reference_row(label: str, entry: Mapping[str, Any], row: Row | None) -> tuple[str, ...]:
    """Write the references of one task."""
    means = {name: part["mean"] for name, part in entry["policies"].items()}
    low = row.low if row else entry["low"]
    scale = scale_of(entry, low, entry["high"], entry["certified"])

    def cell(name: str, scored: bool = True) -> str:
        if name not in means:
            return "–"
        if not scored or scale.disqualified:
            return f"{means[name]:.2f}"
        runs = stored_runs(entry["policies"][name])
        points = mean_interval(scale.points(runs), anchors=scale.anchors)
        return f"{means[name]:.2f} ({' to '.join(rounded(end) for end in points[1:])})"

    values = {name: np.array(part["values"]) for name, part in entry["policies"].items()}
    kind, _ = oracle_kind(values, entry["high"], entry["certified"])
    cells = cell("random", False), cell("noop", False), cell("scripted"), cell("ppo")
    kind = f"{kind}, beaten by {scale.beaten}" if scale.beaten else kind
    return (label.removeprefix("piase/"), *cells, cell(entry["high"], False), kind)


def exploitability_table(found: References) -> str:
    """Write how exploitable the oracles of competitive games are, in Markdown."""
    rows = []
    for label, entry in found.get("settings", {}).items():
        if label.endswith(f" with {ORACLE}") and entry["measure"] == "win_rate":
            best, gain = exploitability(entry)
            own = entry["policies"][ORACLE]["mean"]
            name = "none beats the oracle" if best == ORACLE else best
            cells = label.removeprefix("piase/"), f"{own:.2f}", name, interval(gain)
            rows.append(cells)
    head = ("task", "the oracle against itself", "best response", "exploitability, at least")
    return markdown(head, rows)
