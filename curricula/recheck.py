"""The decisions of a logged run, computed again from its replay.

The line with which an agent begins a curriculum in a log contains the whole curriculum. So every
decision follows from the lines before it: the metrics, the criteria, the rules. This does not hold
where a tutor chose, steps were drawn, a run was resumed (its windows may need earlier episodes), or
a user-defined metric was read; such decisions are accepted as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from piase_gym.curricula.attempts import decision_events
from piase_gym.curricula.decisions import AdaptationDecisionModule, Decision
from piase_gym.curricula.loader import loads
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.errors import CurriculumError, RunError, UnknownNameError
from piase_gym.runs.history import History
from piase_gym.runs.metrics import Metrics

BEGIN, EVAL = "DSE_AGENT_CURRICULUM_START", "DSE_ADAPTATION_EVAL"
SCRIPTED = "ScriptedDirector"


class Recheck:
    """Computes the decisions of a run again.

    Args:
        history: What has happened in the run, up to the line that is checked.
    """

    def __init__(self, history: History) -> None:
        """Start before the first line."""
        self._module = AdaptationDecisionModule(Metrics(history))
        self._curricula: dict[str, DevelopmentalCurriculum] = {}
        self._stages: dict[str, list[str]] = {}
        self._made: dict[str, list[Decision]] = {}

    def expect(
        self, event_type: str, agent: str | None, data: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], list[tuple[str, dict[str, Any]]]]:
        """Return the data that a line must have, and the lines that must follow it.

        Raises:
            RunError: If a curriculum is not the one of its hash.
        """
        if agent is not None and event_type == BEGIN:
            self._begin(agent, data)
        if agent is None or event_type != EVAL or agent not in self._curricula:
            return data, []
        found = self._decide(agent, data)
        fields = {key: found[key] for key in Decision.__dataclass_fields__}
        return found, decision_events(Decision(**fields))

    def _begin(self, agent: str, data: Mapping[str, Any]) -> None:
        """Note an agent's curriculum."""
        self._curricula.pop(agent, None)
        definition = data.get("definition")
        scripted = data.get("director") == SCRIPTED
        if not isinstance(definition, Mapping) or data.get("resumed") or not scripted:
            return
        try:
            curriculum = loads(json.dumps(definition), "the curriculum of the log")
        except CurriculumError:
            return  # it reads files that are not in the log
        if curriculum.sha256 != data.get("sha256"):
            raise RunError(
                f"the curriculum of {agent} has the hash {curriculum.sha256}, not "
                f"{data.get('sha256')!r:.80}"
            )
        self._curricula[agent], self._stages[agent] = curriculum, []
        self._made[agent] = []

    def _decide(self, agent: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the data that a decision must have."""
        curriculum, stages = self._curricula[agent], self._stages[agent]
        step = curriculum.find_step(data["step"])
        if step is None:
            raise RunError(f"the curriculum of {agent} has no step {data['step']!r:.40}")
        try:
            found = self._module.decide(
                agent,
                curriculum,
                step,
                data["attempt"],
                stages=stages,
                env_steps=data["env_steps"],
                episodes=data["episodes"],
                before=self._made[agent],
            )
        except UnknownNameError:
            return data  # a user-defined metric
        self._made[agent].append(found)
        stage = step.developmental_stage_reached
        if found.completed and stage and stage not in stages:
            stages.append(stage)
        now = {**found.as_json(), "by": data.get("by")}
        if "in_play" in data:  # not part of the decision; it was counted from the run
            now["in_play"] = data["in_play"]
        if data.get("by") == "tutor":  # the tutor's choice is an input; what it was told is not
            return {**data, "values": now["values"]}
        return now
