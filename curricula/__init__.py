"""The dynamic scenario engine: curricula as data, and the code that runs them.

Example:
    >>> from piase_gym import curricula
    >>> curriculum = curricula.loads('''{"name": "One step", "steps": [
    ...     {"order": 1, "name": "Walk", "adaptation_rules": [["step_attempts >= 3", "PROCEED"]]}
    ... ]}''')
    >>> [step.name for step in curriculum.steps]
    ['Walk']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.curricula.actions import Action
    from piase_gym.curricula.conditions import Condition, ConditionResult
    from piase_gym.curricula.decisions import AdaptationDecisionModule, Decision
    from piase_gym.curricula.directors import (
        Director,
        LearningProgress,
        Randomisation,
        ScriptedDirector,
        Threshold,
    )
    from piase_gym.curricula.loader import load, loads, names
    from piase_gym.curricula.manager import CurriculumManager
    from piase_gym.curricula.metrics import CurriculumMetrics
    from piase_gym.curricula.modifier import EnvironmentModifierInterface
    from piase_gym.curricula.parallel import AsyncCurricula, ParallelCurricula
    from piase_gym.curricula.progress import AgentProgress
    from piase_gym.curricula.schema import (
        Criterion,
        CurriculumStep,
        DevelopmentalCurriculum,
        Hint,
        MetricDefinition,
        Need,
        Rule,
    )
    from piase_gym.curricula.setup import ScenarioSetupModule
    from piase_gym.curricula.store import ProgressStore
    from piase_gym.curricula.tutors import ScriptedTutor, TimedHint, Tutor
    from piase_gym.runs.metrics import PiaAVTInterface


__all__ = [
    "Action",
    "AdaptationDecisionModule",
    "AgentProgress",
    "AsyncCurricula",
    "Condition",
    "ConditionResult",
    "Criterion",
    "CurriculumManager",
    "CurriculumMetrics",
    "CurriculumStep",
    "Decision",
    "DevelopmentalCurriculum",
    "Director",
    "EnvironmentModifierInterface",
    "Hint",
    "LearningProgress",
    "MetricDefinition",
    "Need",
    "ParallelCurricula",
    "PiaAVTInterface",
    "ProgressStore",
    "Randomisation",
    "Rule",
    "ScenarioSetupModule",
    "ScriptedDirector",
    "ScriptedTutor",
    "Threshold",
    "TimedHint",
    "Tutor",
    "load",
    "loads",
    "names",
]

__getattr__, __dir__ = lazy(__name__)
