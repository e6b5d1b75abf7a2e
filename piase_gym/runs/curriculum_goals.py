"""The steps of curricula as goals of their own type, derived from the lines of the DSE.

An agent's goal begins with its first attempt at a step. It is ACHIEVED when the step is complete,
FAILED with the curriculum, and ABANDONED when the agent goes elsewhere or the run ends first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from piase_gym.runs.agent_lines import AgentEvent
from piase_gym.runs.schema import ATTEMPT

GOAL_TYPE = "CURRICULUM_STEP"
STEP_PRIORITY = 7
"""Initial priority of a step's goal, on a scale from 0 to 10: above that of an episode."""
_ENDS = {
    "DSE_STEP_COMPLETED": ("ACHIEVED", "the step is complete"),
    "DSE_CURRICULUM_FAILED": ("FAILED", "the curriculum failed"),
    "DSE_BRANCH": ("ABANDONED", "the agent went to another step"),
    "DSE_AGENT_CURRICULUM_FINISHED": ("ABANDONED", "the curriculum is finished"),
}
_ABOUT = frozenset({ATTEMPT, "DSE_ADAPTATION_EVAL", "DSE_APPLY_HINT", "DSE_REPEAT_STEP", *_ENDS})


class StepGoals:
    """The goals of all agents' curriculum steps in one run.

    Args:
        prefix: The prefix of the ids of the run's goals.
        schema: The version of the schema; the first has no such goals.
    """

    def __init__(self, prefix: str, schema: int) -> None:
        """Start without goals."""
        self.prefix, self.schema = prefix, schema
        self._ids: dict[tuple[str, int], str] = {}
        self._open: dict[tuple[str, int], str] = {}
        self._count = 0

    def owns(self, goal: object) -> bool:
        """Return whether a goal's id is that of a curriculum step."""
        return self.schema > 1 and isinstance(goal, str) and goal.startswith(f"{self.prefix}step_")

    def hear(
        self, event_type: str, agent: str | None, data: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], list[AgentEvent]]:
        """Take in a line of the DSE.

        Returns:
            Its data with the goal it is about, and the goal lines that follow from it.
        """
        if self.schema < 2 or agent is None or event_type not in _ABOUT or "goal_id" in data:
            return data, []
        order = data.get("step" if event_type == "DSE_ADAPTATION_EVAL" else "order")
        if type(order) is not int:
            return data, []
        key, found = (agent, order), list[AgentEvent]()
        if event_type == ATTEMPT and key not in self._open:
            if "slot" not in data and "drawn_by" not in data:
                for other in [other for other in self._open if other[0] == agent]:
                    found += self._close(other, "ABANDONED", f"the agent went to step {order}")
            self._count += 1
            goal = self._ids[key] = self._open[key] = (
                f"{self.prefix}step_{order}_{self._count}_{agent}"
            )
            words = f"step {order}: {data['name']}" if data.get("name") else f"step {order}"
            created = {
                "goal_id": goal,
                "initial_status": "ACTIVE",
                "description": words,
                "type": GOAL_TYPE,
                "initial_priority": STEP_PRIORITY,
            }
            found.append((agent, "GOAL_CREATED", created))
            activated = {"goal_id": goal, "reason": "the first attempt begins"}
            found.append((agent, "GOAL_ACTIVATED", activated))
        elif event_type in _ENDS:
            found += self._close(key, *_ENDS[event_type])
        goal_id = self._ids.get(key)
        return (data if goal_id is None else {**data, "goal_id": goal_id}), found

    def end(self) -> list[AgentEvent]:
        """Abandon the goals that are open at the end of the run."""
        found = list[AgentEvent]()
        for key in list(self._open):
            found += self._close(key, "ABANDONED", "the run ended")
        return found

    def _close(self, key: tuple[str, int], state: str, reason: str) -> list[AgentEvent]:
        """Return the lines that close a goal, if it was open."""
        goal = self._open.pop(key, None)
        if goal is None:
            return []
        change = {"goal_id": goal, "old_state": "ACTIVE", "new_state": state, "reason": reason}
        return [(key[0], kind, change) for kind in ("GOAL_STATUS_CHANGED", "GOAL_STATE_CHANGED")]
