"""What policies come to in social dilemmas: against what is known of them."""

from __future__ import annotations

import pytest

from piase_gym.benchmarks import dilemmas
from piase_gym.errors import SuiteError


def test_shares_of_the_best_response() -> None:
    found = dilemmas.against("always_cooperate", "tit_for_tat", episodes=20)
    assert found.mean == pytest.approx(30 / 32)
    assert found.error == pytest.approx(0.0, abs=1e-12)
    assert dilemmas.against("always_defect", "tit_for_tat", episodes=20).mean == (5 + 9) / 32
    flips = dilemmas.against("random", "always_defect", episodes=2000)
    assert abs(flips.mean - 0.5) < 4 * flips.error + 1e-9


def test_measures_of_a_commons() -> None:
    found = dilemmas.in_commons("random", "piase/SocialDilemma-Cleanup-4p-v0", episodes=3)
    assert 0.0 <= found["peace"].mean < 1.0
    assert found["cooperation_rate"].mean > 0.0
    with pytest.raises(SuiteError, match="no commons"):
        dilemmas.in_commons("random", "piase/SocialDilemma-Chicken-v0", episodes=2)
