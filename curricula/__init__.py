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

from typing import TYPE_CHECKING, Any

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

_PLACES = {
    "actions": ("Action",),
    "conditions": ("Condition", "ConditionResult"),
    "decisions": ("AdaptationDecisionModule", "Decision"),
    "directors": ("Director", "LearningProgress", "Randomisation", "ScriptedDirector", "Threshold"),
    "loader": ("load", "loads", "names"),
    "manager": ("CurriculumManager",),
    "metrics": ("CurriculumMetrics",),
    "modifier": ("EnvironmentModifierInterface",),
    "parallel": ("AsyncCurricula", "ParallelCurricula"),
    "progress": ("AgentProgress",),
    "schema": (
        "Criterion",
        "CurriculumStep",
        "DevelopmentalCurriculum",
        "Hint",
        "MetricDefinition",
        "Need",
        "Rule",
    ),
    "setup": ("ScenarioSetupModule",),
    "store": ("ProgressStore",),
    "tutors": ("ScriptedTutor", "TimedHint", "Tutor"),
}
_MODULES = {name: f"piase_gym.curricula.{place}" for place in _PLACES for name in _PLACES[place]}
_MODULES["PiaAVTInterface"] = "piase_gym.runs.metrics"

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


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for."""
    if name in _MODULES:
        import importlib

        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})
