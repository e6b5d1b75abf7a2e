"""Patience: a curriculum fails when a step was tried that often without getting better."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import curricula, runs
from piase_gym.curricula import AdaptationDecisionModule, CurriculumManager
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from tests.curricula.helpers import Table, curriculum


def failed_after(made: Any, shares: Sequence[Any]) -> int | None:
    """Return the attempt at which a curriculum fails whose attempts go so, if it does."""
    manager, table = CurriculumManager(), Table()
    manager.start("a", made)
    progress, module = manager.progress("a"), AdaptationDecisionModule(table)
    for attempt, share in enumerate(shares, start=1):
        table.values["success_rate"] = share
        told = module.decide("a", made, made.steps[0], attempt, before=progress.decisions)
        manager.apply(told)
        if told.outcome == "failed":
            return attempt
    return None


def tried(patience: int, operator: str = ">=", value: Any = 0.95, **more: Any) -> Any:
    criteria = [{"metric": "success_rate", "operator": operator, "value": value}]
    return curriculum({"completion_criteria": criteria, "patience": patience, **more}, {})


NAN: Any = None


@pytest.mark.parametrize(
    ("made", "shares", "expected"),
    [
        (tried(4), [0.0] * 9, 4),
        (tried(4), [0.5] * 9, 4),
        (tried(4), [0.0, 0.1] + [0.0] * 9, 5),  # the better one was the second
        (tried(4), [0.0, 0.1, 0.0, 0.0, 0.2] + [0.0] * 9, 8),
        (tried(4), [0.5, 0.4, 0.3, 0.2, 0.1], 4),
        (tried(4), [n / 100 for n in range(90)], None),
        (tried(8), [0.0, 0.0, 0.3, 0.3] + [0.0, 0.3] * 9, 10),  # stretches of two
        (tried(4), [NAN] * 9, 4),
        (tried(4), [NAN, 0.0] + [NAN] * 9, 4),  # no value is no better than the least
        (tried(4, "<=", 0.1), [0.9, 0.8, 0.7, 0.6, 0.5, 0.4], None),
        (tried(4, "<=", 0.1), [0.2, 0.3, 0.4, 0.5, 0.6, 0.7], 4),
        (tried(4, "==", 1.0), [0.9, 0.8, 0.7, 0.6], 4),  # only to be there counts
        (tried(4, max_attempts=6), [n / 100 for n in range(90)], 6),
        (tried(6, max_attempts=4), [0.0] * 9, 4),
    ],
)
def test_the_attempt_at_which_it_fails(made: Any, shares: list[Any], expected: Any) -> None:
    assert failed_after(made, shares) == expected


def test_luck_ends_no_learner_that_comes_on_slowly_and_keeps_none_that_stands() -> None:
    """Attempts of ten episodes, as in the quest: the probability rises by 0.15 in 60 of them."""
    rng = np.random.default_rng(0)
    made, old = tried(60, value=1.1), tried(60, value=1.1, max_attempts=60)
    for _ in range(10):
        rising = rng.binomial(10, np.linspace(0.1, 0.6, 200)) / 10
        assert failed_after(made, rising.tolist()) is None
        assert failed_after(old, rising.tolist()) == 60
    ends = [failed_after(made, (rng.binomial(10, 0.3, 400) / 10).tolist()) for _ in range(10)]
    assert all(end is not None for end in ends)


def test_a_rule_that_holds_comes_first_and_proceed_never_fails() -> None:
    rules = [["step_attempts >= 2", "REPEAT_STEP"]]
    assert failed_after(tried(2, adaptation_rules=rules), [0.0] * 9) is None
    going = curriculum(tried(2).steps[0].model_dump(), {}, on_no_rule="PROCEED")
    assert failed_after(going, [0.0]) is None


def test_who_tells_no_history_has_patience_for_so_many_attempts() -> None:
    made, module = tried(4), AdaptationDecisionModule(Table({"success_rate": 0.5}))
    found = [module.decide("a", made, made.steps[0], attempt).decision for attempt in (3, 4)]
    assert found == ["REPEAT_STEP", "FAIL_CURRICULUM"]
    again = [module.evaluate_adaptation_rules("a", made.steps[0], attempt) for attempt in (3, 4)]
    assert again == found


def test_only_attempts_at_the_step_count() -> None:
    """Returning by a branch goes on with what was tried before."""
    manager = CurriculumManager()
    back = [["step_attempts >= 1", "BRANCH_TO_1"]]
    criteria = [{"metric": "success_rate", "operator": ">=", "value": 0.9}]
    made = curriculum(
        {"completion_criteria": criteria, "patience": 3},
        {"completion_criteria": criteria, "adaptation_rules": back},
    )
    manager.start("a", made)
    table, progress, found = Table(), manager.progress("a"), []
    module = AdaptationDecisionModule(table)
    for share in (0.0, 1.0, 0.0, 0.0, 0.0):
        table.values["success_rate"] = share
        step, attempt = made.step(progress.current_step_order), progress.attempt
        told = module.decide("a", made, step, attempt, before=progress.decisions)
        manager.apply(told)
        found.append((told.step, told.attempt, told.decision))
    assert found == [
        (1, 1, "REPEAT_STEP"),
        (1, 2, "PROCEED"),
        (2, 1, "BRANCH_TO_1"),
        (1, 3, "REPEAT_STEP"),  # the best was the second attempt
        (1, 4, "FAIL_CURRICULUM"),
    ]


def test_a_log_says_it_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    made = curriculum({"patience": 3, "max_interactions": 4}, {}, world="GridWorld")
    env = CurriculumWrapper(AvtLogger(piase_gym.parallel_env("GridWorld"), path), made)
    while not env.controller.over:
        env.reset(seed=0)
        while env.agents:
            env.step(dict.fromkeys(env.agents, 4))
    (progress,) = env.progress.values()
    assert [d.decision for d in progress.decisions] == ["REPEAT_STEP"] * 2 + ["FAIL_CURRICULUM"]
    assert "the last 3 attempts were no better than those before" in progress.decisions[-1].reason
    env.close()
    assert runs.replay(path).ok


def test_curricula_keep_their_hash_and_shipped_ones_are_never_failed_while_they_learn() -> None:
    plain = curriculum({"max_attempts": 60}, {})
    assert "patience" not in plain.model_dump(mode="json", exclude_defaults=True)["steps"][0]
    assert curriculum({"max_attempts": 60, "patience": 5}, {}).sha256 != plain.sha256
    for name in curricula.names():
        steps = curricula.load(name).steps
        if name != "speak_up":  # its stored trainings are of it as it is
            assert all(step.max_attempts is None for step in steps), name
