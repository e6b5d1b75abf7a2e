"""What any ParallelEnv must not do."""

from __future__ import annotations

from typing import Any

import numpy as np

from piase_gym import testing
from tests.testing.faulty_envs import ActsInKeyOrder
from tests.testing.test_env_requirements import told_by, verdict


def test_two_agents_have_an_order_too() -> None:
    class Two(ActsInKeyOrder):
        def __init__(self, render_mode: str | None = None) -> None:
            super().__init__(render_mode)
            self.possible_agents = self.possible_agents[:2]

    (finding,) = testing.run_env_checks(Two, checks=["order_of_actions_is_nothing"]).findings
    assert finding.detail.startswith("the order of the keys of the actions matters: at step ")


def test_agents_without_a_mask_hide_no_mask_of_others() -> None:
    def info(self: Any, name: str) -> Any:
        return {} if name == "cow_0" else {"action_mask": np.full(3, 2, np.int8)}

    told = told_by("masks_fit", info=info)
    assert told == "at step 0 the mask of cow_1 holds something but 0 and 1"


def test_arrays_may_lie_between_each_other_and_hold_no_numbers() -> None:
    def look(self: Any, names: list[str]) -> Any:
        block = np.full((3, 3), np.nan, np.float32)
        return {name: block[:, number] for number, name in enumerate(names)}

    assert verdict("arrays_are_fresh", look=look) == "passed"
