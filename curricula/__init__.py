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
    from piase_gym.curricula.asynchronous import AsyncCurricula
    from piase_gym.curricula.automatic import LearningProgress, Randomisation, Threshold
    from piase_gym.curricula.conditions import Condition, Verdict
    from piase_gym.curricula.decisions import AdaptationDecisionModule, Decision
    from piase_gym.curricula.director import Director, ScriptedDirector
    from piase_gym.curricula.loader import load, loads, names
    from piase_gym.curricula.manager import CurriculumManager
    from piase_gym.curricula.metering import Meter
    from piase_gym.curricula.modifying import EnvironmentModifierInterface
    from piase_gym.curricula.parallel import ParallelCurricula
    from piase_gym.curricula.parts import Criterion, Hint, MetricDefinition, Need, Rule
    from piase_gym.curricula.progress import AgentProgress
    from piase_gym.curricula.schema import DevelopmentalCurriculum
    from piase_gym.curricula.setup import ScenarioSetupModule
    from piase_gym.curricula.steps import CurriculumStep
    from piase_gym.curricula.store import ProgressStore
    from piase_gym.curricula.tutors import Nudge, ScriptedTutor, Tutor
    from piase_gym.runs.metrics import PiaAVTInterface

_PLACES = {
    "asynchronous": ("AsyncCurricula",),
    "automatic": (
        "LearningProgress",
        "Randomisation",
        "Threshold",
    ),
    "director": (
        "Director",
        "ScriptedDirector",
    ),
    "metering": ("Meter",),
    "modifying": ("EnvironmentModifierInterface",),
    "parallel": ("ParallelCurricula",),
    "setup": ("ScenarioSetupModule",),
    "tutors": (
        "Nudge",
        "ScriptedTutor",
        "Tutor",
    ),
    "actions": ("Action",),
    "conditions": ("Condition", "Verdict"),
    "decisions": ("AdaptationDecisionModule", "Decision"),
    "loader": ("load", "loads", "names"),
    "manager": ("CurriculumManager",),
    "progress": ("AgentProgress",),
    "parts": ("Criterion", "Hint", "MetricDefinition", "Need", "Rule"),
    "store": ("ProgressStore",),
    "schema": ("DevelopmentalCurriculum",),
    "steps": ("CurriculumStep",),
}
_MODULES = {name: f"piase_gym.curricula.{place}" for place in _PLACES for name in _PLACES[place]}
_MODULES["PiaAVTInterface"] = "piase_gym.runs.metrics"

__all__ = [
    "Action",
    "AdaptationDecisionModule",
    "AgentProgress",
    "AsyncCurricula",
    "Condition",
    "Criterion",
    "CurriculumManager",
    "CurriculumStep",
    "Decision",
    "DevelopmentalCurriculum",
    "Director",
    "EnvironmentModifierInterface",
    "Hint",
    "LearningProgress",
    "Meter",
    "MetricDefinition",
    "Need",
    "Nudge",
    "ParallelCurricula",
    "PiaAVTInterface",
    "ProgressStore",
    "Randomisation",
    "Rule",
    "ScenarioSetupModule",
    "ScriptedDirector",
    "ScriptedTutor",
    "Threshold",
    "Tutor",
    "Verdict",
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
