"""What tests of curricula share: a hand-written interface, and small curricula."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from piase_gym.curricula import DevelopmentalCurriculum
from piase_gym.runs.metrics import PiaAVTInterface
from piase_gym.runs.windows import Value, Window

DATA = Path(__file__).with_name("data")
SIMPLE: dict[str, Any] = {
    "name": "Corner",
    "steps": [
        {
            "order": 1,
            "name": "Near",
            "max_interactions": 50,
            "completion_criteria": [{"metric": "reached_goal_1", "operator": "==", "value": True}],
            "adaptation_rules": [["step_attempts >= 3", "PROCEED"]],
            "environment_config": {
                "grid_size": [5, 5],
                "start_pos": [0, 0],
                "goal_pos": [0, 2],
                "obstacles": [],
            },
        },
        {
            "order": 2,
            "name": "Far",
            "max_interactions": 100,
            "completion_criteria": [{"metric": "reached_goal_2", "operator": "==", "value": True}],
            "adaptation_rules": [
                ["step_attempts == 2 && reached_goal_2 == false", "APPLY_HINT_01"],
                ["step_attempts >= 3 && reached_goal_2 == false", "FAIL_CURRICULUM"],
            ],
            "environment_config": {
                "grid_size": [5, 5],
                "start_pos": [0, 0],
                "goal_pos": [4, 4],
                "obstacles": [[2, 2], [2, 3]],
            },
            "hints": {"HINT_01": {"data": {"message": "Go round the wall."}}},
        },
    ],
}
"""The reference project's curriculum, retold."""


class Table(PiaAVTInterface):
    """Metrics that are written down by hand."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values: dict[str, Any] = dict(values or {})
        self.asked: list[tuple[str, str, Window]] = []

    def get_performance_metric(
        self, agent_id: str, metric: str, window: Window = None, *, slot: int | None = None
    ) -> Value:
        self.asked.append((agent_id, metric, window))
        value: Value = self.values.get(metric)
        return value

    def check_event_occurred(
        self,
        agent_id: str,
        signature: str | Mapping[str, Any],
        window: Window = None,
        *,
        slot: int | None = None,
    ) -> bool:
        return False


def curriculum(*steps: Mapping[str, Any], **more: Any) -> DevelopmentalCurriculum:
    """Return a curriculum of these steps; orders and names are filled in."""
    filled = [{"order": n, "name": f"s{n}", **step} for n, step in enumerate(steps, start=1)]
    return DevelopmentalCurriculum(name="Test", steps=filled, **more)
