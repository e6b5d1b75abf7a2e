"""What policies come to in social dilemmas: against what is known of them."""

from __future__ import annotations

import pytest

from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.studies.dilemmas import measure
from piase_gym.errors import SuiteError
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.matrix.solutions import exploitability


def error(found: Interval) -> float:
    """Return the standard error of a mean that has an interval of 95 %."""
    return (found.high - found.estimate) / 1.96


def test_shares_of_the_best_response() -> None:
    found = measure.against("always_cooperate", "tit_for_tat", episodes=20)
    assert found == pytest.approx([30 / 32] * 3, abs=1e-12)
    assert measure.against("always_defect", "tit_for_tat", episodes=20).estimate == (5 + 9) / 32
    flips = measure.against("random", "always_defect", episodes=2000)
    assert abs(flips.estimate - 0.5) < 4 * error(flips) + 1e-9
    few = {"episodes": 5, "rounds": 10}  # for so few, the normal quantile is too small
    spread = measure.shares_against("random", "always_defect", **few).std(ddof=1) / 5**0.5
    assert error(measure.against("random", "always_defect", **few)) > 1.1 * spread


@pytest.mark.parametrize(
    ("policy", "gain"),
    [
        ("always_cooperate", 20.0),
        ("always_defect", 0.0),
        ("tit_for_tat", 0.0),
        ("pavlov", 2.0),
        ("random", 7.5),
    ],
)
def test_what_memory_of_one_round_gains(policy: str, gain: float) -> None:
    """Exact gains are known; a longer memory would also betray tit for tat in the last round."""
    found = measure.exploited(policy, episodes=60, rounds=10)
    room = 4 * error(found.gain) + 1e-9
    assert abs(found.gain.estimate - gain) <= room
    exact = exploitability(SocialDilemmaConfig(rounds=10), policy)[1]
    assert found.gain.estimate <= exact + room


def test_the_horizon_does_not_matter_and_commons_are_refused() -> None:
    found = measure.exploited("grudger", episodes=40, horizon="geometric", rounds=8)
    assert found.gain.estimate == pytest.approx(0.0, abs=1e-9)
    for config in ({"game": "harvest"}, {"game": "public_goods"}):
        with pytest.raises(SuiteError, match="of 2 agents"):
            measure.exploited("random", episodes=2, **config)


def test_measures_of_a_commons() -> None:
    found = measure.in_commons("random", "piase/SocialDilemma-Cleanup-4p-v1", episodes=3)
    assert 0.0 <= found["peace"].estimate < 1.0
    assert found["cooperation_rate"].estimate > 0.0
    with pytest.raises(SuiteError, match="no commons"):
        measure.in_commons("random", "piase/SocialDilemma-Chicken-v1", episodes=2)
