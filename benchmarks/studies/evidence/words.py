"""The verdict of the evidence on curricula in words, by the rules of its plan."""

from __future__ import annotations

from collections.abc import Mapping

from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.evaluation.tables import percent, rounded
from piase_gym.benchmarks.studies.evidence.findings import MARGIN, OTHERS, Comparison, Findings
from piase_gym.benchmarks.studies.evidence.train import ARMS, TARGETS

NOTHING, OPEN, ONE = "nothing learnt", "open", "one pair only"
SAID = {
    "better": "the DSE beats it",
    "worse": "the DSE is beaten by it",
    "no difference shown": "no difference is shown",
    ONE: "one pair has no interval, so this is no verdict",
}


def points(gap: Interval) -> str:
    """Write a difference of shares in points with its interval."""
    middle, low, high = (rounded(100 * part, 1) for part in gap)
    return f"{_signed(middle)} ({_signed(low)} to {_signed(high)})"


def _signed(number: str) -> str:
    """Write a number with its sign, a plus too."""
    return number if number.startswith("-") else f"+{number}"


def verdict_on(findings: Findings, target: str) -> str:
    """Return what `dse` against `uniform` counts as on a target."""
    if not findings.complete(target):
        return OPEN
    if not findings.learnt(target):
        return NOTHING
    return findings.compare("uniform", target).verdict


def how_many(findings: Findings) -> str:
    """Say how many of the planned trainings are in, and how far they can be compared."""
    there = len(findings.lines)
    parts = [
        f"`{target}` {len(findings.complete(target))} of {findings.seeds} seeds"
        for target in TARGETS
    ]
    told = f"**{there} of the {findings.planned} planned trainings are in.** "
    told += f"Complete, with all {len(ARMS)} arms, are: {', '.join(parts)}. "
    told += "Only complete seeds are compared."
    if there < findings.planned:
        told += (
            " Seeds are trained in their order, so which of them are there does not depend on "
            "their results; with fewer of them, the intervals are wider than planned."
        )
    if findings.strange:
        told += f" {findings.strange} lines of another plan or curriculum are not counted."
    return told


def sentence(findings: Findings, target: str) -> str:
    """Say what was found on a target."""
    verdict = verdict_on(findings, target)
    if verdict == OPEN:
        return f"`{target}`: no seed is complete yet, so nothing is said about it."
    if verdict == NOTHING:
        limit = f"{MARGIN:.0%}"
        return f"`{target}`: every arm stays below {limit}, so this target tells nothing."
    first = findings.compare("uniform", target)
    others = [findings.compare(arm, target) for arm in OTHERS if arm != "uniform"]
    mine, theirs = (_mean(findings, arm, target) for arm in ("dse", "uniform"))
    seeds = f"{first.pairs} seed{'s' if first.pairs > 1 else ''}"
    told = f"`{target}` ({seeds}): `dse` wins {percent(mine)} of the tests "
    told += f"and `uniform` {percent(theirs)}; "
    told += f"{_gap(first)}{SAID[verdict]}{_small(first)}."
    if first.gap is None:
        return told
    return told + " Against the others: " + ", ".join(_brief(one) for one in others) + "."


def _small(one: Comparison) -> str:
    """Say that a difference which is there is smaller than what the plan counts."""
    there = one.gap is not None and (one.gap.low > 0 or one.gap.high < 0)
    if there and one.verdict == "no difference shown":
        return f", by the plan, for it is smaller than {MARGIN * 100:.0f} points"
    return ""


def _mean(findings: Findings, arm: str, target: str) -> float:
    """Return the mean share of the tests that an arm has won."""
    shares = findings.shares(arm, target)
    return sum(shares) / len(shares)


def _gap(one: Comparison) -> str:
    """Write the difference, if there is an interval."""
    return "" if one.gap is None else f"the difference is {points(one.gap)} points: "


def _brief(one: Comparison) -> str:
    """Write a difference from an arm in few words."""
    return f"`{one.arm}` {'' if one.gap is None else points(one.gap)} points, {one.verdict}"


def conclusion(findings: Findings) -> str:
    """Say whether the DSE helps, by the rule of the plan, or on which target what holds."""
    verdicts = {target: verdict_on(findings, target) for target in TARGETS}
    better = [target for target, found in verdicts.items() if found == "better"]
    worse = [target for target, found in verdicts.items() if found == "worse"]
    head = "" if len(findings.lines) == findings.planned else "So far: "
    if len(better) >= 2 and not worse:
        told = f"the DSE helps: it beats `uniform` on {_names(better)}"
        told += " and is worse on no target by the plan's rule"
    elif len(worse) >= 2 and not better:
        told = f"the DSE hurts: it loses to `uniform` on {_names(worse)}"
        told += " and is better on no target by the plan's rule"
    else:
        told = "no common verdict: " + "; ".join(_group(verdicts))
    return f"**{(head + told)[0].upper()}{(head + told)[1:]}.**"


def _group(verdicts: Mapping[str, str]) -> list[str]:
    """Name the targets by what holds on them."""
    words = {
        "better": "`dse` is better than `uniform` on",
        "worse": "`dse` is worse than `uniform` on",
        "no difference shown": "no difference is shown on",
        NOTHING: "nothing was learnt on",
        ONE: "there is one pair only on",
        OPEN: "no seed is complete on",
    }
    found = []
    for verdict, said in words.items():
        targets = [target for target, one in verdicts.items() if one == verdict]
        if targets:
            found.append(f"{said} {_names(targets)}")
    return found


def _names(targets: list[str]) -> str:
    """Write names as a list."""
    names = [f"`{target}`" for target in targets]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def verdict(findings: Findings) -> list[str]:
    """Return the verdict: the conclusion, then a sentence a target."""
    return [conclusion(findings), "", *(f"- {sentence(findings, target)}" for target in TARGETS)]


__all__ = ["conclusion", "how_many", "points", "sentence", "verdict", "verdict_on"]
