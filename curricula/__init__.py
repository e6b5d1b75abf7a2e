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
    from piase_gym.curricula.actions import Action as Action
    from piase_gym.curricula.alp_gmm import ALPGMM as ALPGMM
    from piase_gym.curricula.conditions import Condition as Condition
    from piase_gym.curricula.conditions import ConditionResult as ConditionResult
    from piase_gym.curricula.controller import (
        EnvironmentModifierInterface as EnvironmentModifierInterface,
    )
    from piase_gym.curricula.decisions import AdaptationDecisionModule as AdaptationDecisionModule
    from piase_gym.curricula.decisions import Decision as Decision
    from piase_gym.curricula.directors import Director as Director
    from piase_gym.curricula.directors import LearningProgress as LearningProgress
    from piase_gym.curricula.directors import Randomisation as Randomisation
    from piase_gym.curricula.directors import ScriptedDirector as ScriptedDirector
    from piase_gym.curricula.directors import Threshold as Threshold
    from piase_gym.curricula.learnability import Learnability as Learnability
    from piase_gym.curricula.level_replay import PrioritisedLevelReplay as PrioritisedLevelReplay
    from piase_gym.curricula.loader import load as load
    from piase_gym.curricula.loader import loads as loads
    from piase_gym.curricula.loader import names as names
    from piase_gym.curricula.manager import CurriculumManager as CurriculumManager
    from piase_gym.curricula.metrics import CurriculumMetrics as CurriculumMetrics
    from piase_gym.curricula.parallel import AsyncCurricula as AsyncCurricula
    from piase_gym.curricula.parallel import ParallelCurricula as ParallelCurricula
    from piase_gym.curricula.progress import AgentProgress as AgentProgress
    from piase_gym.curricula.schema import Criterion as Criterion
    from piase_gym.curricula.schema import CurriculumStep as CurriculumStep
    from piase_gym.curricula.schema import DevelopmentalCurriculum as DevelopmentalCurriculum
    from piase_gym.curricula.schema import Hint as Hint
    from piase_gym.curricula.schema import MetricDefinition as MetricDefinition
    from piase_gym.curricula.schema import RequiredMetric as RequiredMetric
    from piase_gym.curricula.schema import Rule as Rule
    from piase_gym.curricula.self_paced import SelfPaced as SelfPaced
    from piase_gym.curricula.setup import ScenarioSetupModule as ScenarioSetupModule
    from piase_gym.curricula.store import ProgressStore as ProgressStore
    from piase_gym.curricula.tutors import ScriptedTutor as ScriptedTutor
    from piase_gym.curricula.tutors import TimedHint as TimedHint
    from piase_gym.curricula.tutors import Tutor as Tutor
    from piase_gym.runs.metrics import PiaAVTInterface as PiaAVTInterface

__getattr__, __dir__ = lazy(__name__)
