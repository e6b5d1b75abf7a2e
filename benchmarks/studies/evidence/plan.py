"""The plan of the evidence on curricula: targets, arms, budgets, and what would count.

It was written before any of its trainings; `docs/evidence_teachers.md` describes it. Budgets follow
by a rule (`budget`) from a calibration with other seeds, in which only `target_only` plays.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from piase_gym.curricula.directors import Director, make_director
from piase_gym.curricula.loader import loads
from piase_gym.curricula.schema import DevelopmentalCurriculum

PLAN: Final = 5
"""Version of the plan; lines of another version are not counted."""
SEEDS: Final = range(10)
"""The seeds of the trainings."""
TRIED: Final = range(1000, 1002)
"""The seeds of the calibration."""
TESTS, LOOKS, MARKS = 200, 100, 20
"""Number of held-out levels at the end, of dev levels at each mark, and of marks on the way."""
UNTRAINED_TESTS: Final = 2000
"""Held-out levels for the policies that trainings begin with, which hardly differ."""
SMALLEST: Final = 0.05
"""The least difference of shares that counts, of two arms or of a policy and an untrained one."""
THRESHOLD: Final = 0.5
"""Steps to threshold are the steps until this share of the dev levels is won."""
SHIPPED: Final = Path(__file__).parent / "as_shipped"
"""The curricula as they were when the plan was written."""


@dataclass(frozen=True)
class Target:
    """What agents have to learn: the last step of a curriculum.

    Attributes:
        name: Name of the curriculum.
        settings: Fields of the config of the last step with their ranges, for arms that draw them.
        budgets: What the calibration tries, from the least on, besides 0, the untrained policy.
        learner: Settings of the PPO.
        rewards: The training reward; see `piase_gym.training.rewards`.
    """

    name: str
    settings: Mapping[str, tuple[float, float]]
    budgets: Sequence[int] = (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000)
    learner: Mapping[str, int] = field(
        default_factory=lambda: {"num_envs": 256, "num_steps": 32, "minibatch": 1024, "epochs": 2}
    )
    rewards: str = "small_costs"


SLOW: Final = {"num_envs": 64, "num_steps": 64, "minibatch": 512, "epochs": 3}
TARGETS: Final[Mapping[str, Target]] = {
    target.name: target
    for target in (
        Target("door_key", {"width": (6, 10), "height": (6, 10)}),
        Target("rooms", {"width": (8, 16), "height": (8, 16), "rooms": (2, 8)}),
        Target(
            "explore",
            {"width": (6, 16), "height": (6, 16), "objects": (2, 6), "wandering": (0, 2)},
        ),
        Target("pantry", {"depth": (1, 2), "distractors": (0, 3)}, rewards="own"),
        Target(
            "text_quest",
            {"rooms": (2, 6), "depth": (0, 3), "distractors": (0, 4)},
            (150_000, 300_000, 600_000),
            SLOW,
        ),
    )
}


# -- the arms ------------------------------------------------------------------------------------


@functools.cache
def curriculum(name: str, rules: str = "shipped") -> DevelopmentalCurriculum:
    """Return a curriculum of the plan.

    Args:
        name: Its name.
        rules: ``shipped``: as it was; ``repaired``: with patience instead of a number of attempts,
            and with at least as many episodes in an attempt as there are environments;
            ``unbranched``: repaired, without branches; ``order``: repaired, without rules, patience
            and hints, so that only the criteria are left.
    """
    path = SHIPPED / f"{name}.curriculum.json"
    data = json.loads(path.read_text("utf-8"))
    least = TARGETS[name].learner["num_envs"]
    for step in data["steps"] if rules != "shipped" else ():
        step["patience"] = step.pop("max_attempts")
        step["episodes_per_attempt"] = max(least, step["episodes_per_attempt"])
        if rules == "unbranched":
            step["adaptation_rules"] = [
                rule for rule in step["adaptation_rules"] if not rule[1].startswith("BRANCH")
            ]
        elif rules == "order":
            del step["adaptation_rules"], step["patience"], step["hints"]
    return loads(json.dumps(data), str(path))


@dataclass(frozen=True)
class Arm:
    """One way to spend the budget.

    Attributes:
        what: A description.
        director: A function that makes its director, given the target and the order of its last
            step.
        rules: The rules of the curriculum; see `curriculum`.
        needs: A module that has to be installed.
    """

    what: str
    director: Callable[[Target, int], Any]
    rules: str = "repaired"
    needs: str | None = None

    def make(self, target: Target) -> tuple[DevelopmentalCurriculum, Director]:
        """Return curriculum and director."""
        plan = curriculum(target.name, self.rules)
        return plan, make_director(self.director(target, plan.steps[-1].order))


def _drawn(target: Target, order: int, **options: Any) -> dict[str, Any]:
    """Return the options of a director that draws settings of the last step."""
    ranges = {name: list(ends) for name, ends in target.settings.items()}
    return {"name": "alp_gmm", "settings": ranges, "step": order, **options}


def _syllabus(target: Target, _order: int) -> Director:
    """Return the director of the package Syllabus."""
    from piase_gym.benchmarks.studies.evidence.syllabus_director import SyllabusLearningProgress

    return SyllabusLearningProgress(target.learner["num_envs"])


ARMS: Final[Mapping[str, Arm]] = {
    "target_only": Arm(
        "always the last step, which is the target",
        lambda _, order: {"name": "randomisation", "weights": {order: 1.0}},
    ),
    "uniform": Arm("any step, all alike", lambda *_: "randomisation"),
    "sequential": Arm(
        "the steps in order, each until 80 % of as many episodes as there are environments are won",
        lambda target, _: {"name": "threshold", "episodes": target.learner["num_envs"]},
    ),
    "dse_shipped": Arm(
        "criteria and rules as they were shipped, with `max_attempts`",
        lambda *_: "scripted",
        "shipped",
    ),
    "dse": Arm(
        "criteria and rules with `patience` in its place, and longer attempts",
        lambda *_: "scripted",
    ),
    "plr": Arm("prioritised level replay over the levels of all steps", lambda *_: "plr"),
    "alp_gmm": Arm("ALP-GMM over settings of the last step", _drawn),
    "learning_progress": Arm(
        "steps by how fast success changes, over thousands of episodes",
        lambda *_: {"name": "learning_progress", "rate": 0.002},
    ),
    "domain_randomisation": Arm(
        "settings of the last step, drawn evenly",
        lambda target, order: _drawn(target, order, random=1.0),
    ),
    "syllabus": Arm("learning progress as Syllabus has it", _syllabus, needs="syllabus"),
    "order_only": Arm("`dse` without rules: criteria alone", lambda *_: "scripted", "order"),
    "no_branches": Arm("`dse` without branches", lambda *_: "scripted", "unbranched"),
}
OPTIONAL: Final = tuple(name for name, arm in ARMS.items() if arm.needs)
"""Arms that are left out if the package that they need is missing."""
RIVALS: Final = ("uniform", "sequential")
"""The comparisons that decide: `dse` minus each of these."""
ABLATIONS: Final = {"order_only": "what the rules add", "no_branches": "what branches add"}


def available() -> list[str]:
    """Return the arms that can be trained here."""
    return [
        name
        for name, arm in ARMS.items()
        if arm.needs is None or importlib.util.find_spec(arm.needs) is not None
    ]


# -- budgets -------------------------------------------------------------------------------------


def budget(target: Target, shares: Mapping[int, Sequence[float]]) -> int | None:
    """Return the budget of a target: the smallest with which `target_only` learns enough.

    That is, with which it wins at least `SMALLEST` more than untrained.

    Args:
        target: The target.
        shares: Budget -> the shares that the calibration has won with it, one for each seed.

    Returns:
        The budget; the largest if none is enough; ``None`` while the calibration is not finished.
    """
    for steps in target.budgets:
        if any(len(shares.get(tried, ())) < len(TRIED) for tried in (0, steps)):
            return None
        if gain(shares, steps) >= SMALLEST:
            return steps
    return target.budgets[-1]


def gain(shares: Mapping[int, Sequence[float]], steps: int) -> float:
    """Return how much more `target_only` wins with a budget than untrained."""
    return round(fmean(shares[steps]) - fmean(shares[0]), 9)  # shares are whole episodes
