"""What calls of language models cost, and what a budget allows."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from piase_gym.agents.llm.budget import Budget, Usage, check_prices
from piase_gym.errors import (
    ConfigError,
)
from tests import probes

probes.register()


def test_usage_is_added_up_and_said_in_a_line() -> None:
    usage = Usage(calls=2, failures=1, prompt_tokens=1200, completion_tokens=30, seconds=1.25)
    assert usage.tokens == 1230
    assert str(usage) == "2 calls, 1 failed, 1,200 + 30 tokens, 1.2 s of waiting"
    usage.add(Usage(1, 0, 3, 1, 2, 1, 0.5, 0.25))
    assert usage == Usage(3, 1, 3, 1201, 32, 1, 0.5, 1.5)
    assert str(usage) == (
        "3 calls, 1 failed, 3 unreadable, 1,201 + 32 tokens, cost 0.5, 1.5 s of waiting"
    )


def test_a_budget_sets_aside_what_a_call_may_take() -> None:
    """Three bytes to a token and one more, and the longest answer: 300 bytes are 101 tokens."""
    budget = Budget(tokens=222)
    assert budget.reserve(300, 10) is None
    assert budget.reserve(300, 10) is None
    assert budget.reserve(300, 10) == "the budget of 222 tokens is used up"
    budget.settle(300, 10, Usage(calls=1, prompt_tokens=50, completion_tokens=1))
    assert budget.usage.tokens == 51
    assert budget.reserve(141, 13) == "the budget of 222 tokens is used up"
    assert budget.reserve(141, 12) is None


def test_a_budget_of_costs_and_calls() -> None:
    budget = Budget(cost=3.0, prices=(2, 10.0), calls=4)
    assert budget.price(1_000_000, 0) == 2.0
    assert budget.price(500_000, 100_000) == 2.0
    assert budget.reserve(2_999_999, 100_000) is None  # a million tokens and a tenth: 3.0
    assert budget.reserve(0, 0) == "the budget of cost 3 is used up"
    budget.settle(2_999_999, 100_000, Usage(calls=1, cost=1.0))
    for _ in range(3):
        assert budget.reserve(0, 0) is None
    assert budget.reserve(0, 0) == "the budget of 4 calls is used up"


def test_a_budget_too_small_for_one_call_says_how_much_that_may_take() -> None:
    told = Budget(tokens=100).reserve(300, 10)
    assert told == "the budget of 100 tokens is used up: one call alone may take 111"
    told = Budget(cost=0.5, prices=(2, 10.0)).reserve(2_999_999, 100_000)
    assert told == "the budget of cost 0.5 is used up: one call alone may take 3"


def test_seconds_run_out_when_they_are_used() -> None:
    budget = Budget(seconds=2)
    assert budget.reserve(3, 1) is None
    budget.settle(3, 1, Usage(calls=1, seconds=2.0))
    assert budget.reserve(3, 1) is None
    budget.settle(3, 1, Usage(calls=1, seconds=0.5))
    assert budget.reserve(3, 1) == "the budget of 2 seconds is used up"


def test_a_budget_goes_to_another_process() -> None:
    budget = Budget(calls=1)
    assert budget.reserve(0, 1) is None
    again = pickle.loads(pickle.dumps(budget))
    assert again.reserve(0, 1) == "the budget of 1 calls is used up"


@pytest.mark.parametrize(
    "limits", [{"tokens": -1}, {"calls": True}, {"seconds": "9"}, {"tokens": float("nan")}]
)
def test_limits_are_numbers_from_0_on(limits: dict[str, Any]) -> None:
    (name,) = limits
    with pytest.raises(ConfigError, match=f"a budget's {name} are a number from 0 on"):
        Budget(**limits)
    Budget(**dict.fromkeys(limits, 0))  # type: ignore[arg-type]


def test_prices_are_two_numbers() -> None:
    assert check_prices(None) == (0.0, 0.0)
    assert check_prices([1, 2.5]) == (1.0, 2.5)
    assert check_prices((0, 0)) == (0.0, 0.0)
    for wrong in ((1,), (1, -1), (1, True), (1, "2"), 3, "12"):
        with pytest.raises(ConfigError, match="prices are two numbers"):
            check_prices(wrong)
    with pytest.raises(ConfigError, match=r"a budget of costs needs prices="):
        Budget(cost=1.0)
