"""Prompt files (`PiaAGIPrompt`): what a step says to the agent that gets them.

The fields are those of the prompt suite. Every section may be missing or null; a list may be
written as one string. A prompt reads as text, section by section, for language models.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator

from piase_gym.core.files import is_file
from piase_gym.core.validation_messages import in_words
from piase_gym.curricula.fences import fence_problem_in_file
from piase_gym.curricula.schema import CurriculumModel, CurriculumStep, DevelopmentalCurriculum
from piase_gym.curricula.validation import strip_type_mark
from piase_gym.errors import CurriculumError, ScenarioError
from piase_gym.scenarios.explaining import explain
from piase_gym.scenarios.reading import read_file

PROMPT_VALUES = "prompt_values"
"""The key of `agent_config_overrides` that holds the values of placeholders."""
_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")


def _listed(value: Any) -> Any:
    """Read one string as a list of one, and null as an empty list."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


Words = Annotated[str, Field(max_length=20_000)]
Lines = Annotated[tuple[Words, ...], BeforeValidator(_listed)]
Degree = float | Words | None


class Section(CurriculumModel):
    """A part of a prompt."""

    @model_validator(mode="before")
    @classmethod
    def _read_as(cls, data: Any) -> Any:
        return strip_type_mark(data, cls.__name__)


class SystemRules(Section):
    """How the agent should speak."""

    syntax: Words | None = None
    language: Words | None = None
    output_format: Words | None = None
    logging_level: Words | None = None
    piaagi_interpretation_mode: Words | None = None


class Requirements(Section):
    """What is wanted."""

    goal: Words | None = None
    background_context: Words | None = None
    constraints_and_boundaries: Lines = ()
    success_metrics: Lines = ()


class UsersInteractors(Section):
    """Whom the agent deals with."""

    type: Words | None = None
    profile: Words | None = None
    interaction_history_summary: Words | None = None


class PersonalityConfig(Section):
    """Five traits."""

    ocean_openness: Degree = None
    ocean_conscientiousness: Degree = None
    ocean_extraversion: Degree = None
    ocean_agreeableness: Degree = None
    ocean_neuroticism: Degree = None


class MotivationalBias(Section):
    """What drives the agent, and how much."""

    biases: dict[str, Degree] = Field(default_factory=dict)


class EmotionalProfile(Section):
    """How the agent feels."""

    baseline_valence: Degree = None
    reactivity_to_failure_intensity: Degree = None
    empathy_level_target: Degree = None


class LearningModuleConfig(Section):
    """How the agent learns."""

    primary_learning_mode: Words | None = None
    learning_rate_adaptation: Degree = None
    ethical_heuristic_update_rule: Words | None = None


class CognitiveModuleConfiguration(Section):
    """How the agent's modules are set."""

    personality_config: PersonalityConfig | None = None
    motivational_bias_config: MotivationalBias | None = None
    emotional_profile_config: EmotionalProfile | None = None
    learning_module_config: LearningModuleConfig | None = None


class Role(Section):
    """Who the agent should be."""

    name: Words | None = None
    profile: Words | None = None
    skills_focus: Lines = ()
    knowledge_domains_active: Lines = ()
    cognitive_module_configuration: CognitiveModuleConfiguration | None = None
    role_specific_rules: Lines = ()


class Executors(Section):
    """Who acts."""

    role: Role | None = None


class WorkflowStep(Section):
    """One thing to do."""

    name: Words | None = None
    action_directive: Words | None = None
    module_focus: Lines = ()
    expected_outcome_internal: Words | None = None
    expected_output_external: Words | None = None


class Workflow(Section):
    """What to do, in order."""

    steps: tuple[WorkflowStep, ...] = ()


class DevelopmentalScaffolding(Section):
    """What the agent is helped to learn."""

    current_developmental_goal: Words | None = None
    scaffolding_techniques_employed: Lines = ()
    feedback_level_from_overseer: Words | None = None


class CBTAutoTraining(Section):
    """How the agent should train itself."""

    training_scenario: Words | None = None
    execution_loop: Words | None = None
    self_critique_focus: Lines = ()
    refinement_mechanism: Words | None = None
    success_threshold: Degree = None


class PiaAGIPrompt(Section):
    """A prompt."""

    target_agi: Words | None = None
    developmental_stage_target: Words | None = None
    author: Words | None = None
    version: Words | None = None
    date: Words | None = None
    objective: Words | None = None
    system_rules: SystemRules | None = None
    requirements: Requirements | None = None
    users_interactors: UsersInteractors | None = None
    executors: Executors | None = None
    workflow_or_curriculum_phase: Workflow | None = None
    developmental_scaffolding_context: DevelopmentalScaffolding | None = None
    cbt_autotraining_protocol: CBTAutoTraining | None = None
    initiate_interaction: Words | None = None

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names in braces, in order, each once."""
        return tuple(dict.fromkeys(_PLACE.findall(self.model_dump_json())))

    def filled(self, values: Mapping[str, object]) -> Self:
        """Return the prompt with placeholders replaced; unknown ones stay."""

        def fill(match: re.Match[str]) -> str:
            return json.dumps(str(values.get(match[1], match[0])))[1:-1]

        return type(self).model_validate_json(_PLACE.sub(fill, self.model_dump_json()))

    def text(self) -> str:
        """Return the prompt as Markdown, without what is empty."""
        return "\n".join(_lines(self, 1)).strip() + "\n"


_HEADINGS = {
    "target_agi": "Agent",
    "users_interactors": "Partners",
    "executors": "You",
    "workflow_or_curriculum_phase": "What to do",
    "developmental_scaffolding_context": "Help",
    "cbt_autotraining_protocol": "Training yourself",
    "initiate_interaction": "Begin",
}


def _heading(name: str) -> str:
    """Return a field's name in words."""
    return _HEADINGS.get(name, name.replace("_", " ").removeprefix("ocean ").capitalize())


def _lines(section: BaseModel, level: int) -> Iterator[str]:
    """Yield the lines of a section: its plain fields first, then the sections in it."""
    fields = [(name, getattr(section, name)) for name in type(section).model_fields]
    for name, value in fields:
        if isinstance(value, dict) and value:
            yield f"- {_heading(name)}:"
            yield from (f"  - {key}: {entry}" for key, entry in value.items())
        elif isinstance(value, tuple) and value and not isinstance(value[0], BaseModel):
            yield f"- {_heading(name)}: {value[0]}" if len(value) == 1 else f"- {_heading(name)}:"
            yield from (f"  - {entry}" for entry in value if len(value) > 1)
        elif isinstance(value, str | float) and value != "":
            yield f"- {_heading(name)}: {value}"
    for name, value in fields:
        inner = [value] if isinstance(value, BaseModel) else value
        for number, part in enumerate(inner if isinstance(inner, list | tuple) else (), start=1):
            if isinstance(part, BaseModel) and (lines := list(_lines(part, level + 1))):
                title = _heading(name) if part is value else f"{_heading(name)} {number}"
                yield from ("", f"{'#' * level} {title}", "", *lines)


def load(path: str | Path) -> PiaAGIPrompt:
    """Load a prompt file.

    Raises:
        CurriculumError: If it cannot be read, or something is wrong with it; each line of the
            message says ``file:line:column: key: what is wrong, what is allowed``.
    """
    path = Path(path)
    try:
        document = read_file(path)
    except ScenarioError as error:
        raise CurriculumError(fence_problem_in_file(path) or str(error)) from None
    try:
        return PiaAGIPrompt.model_validate(document.data)
    except ValidationError as error:
        raise CurriculumError("\n".join(explain(error, PiaAGIPrompt, document))) from None


def prompt_of(curriculum: DevelopmentalCurriculum, step: CurriculumStep) -> PiaAGIPrompt | None:
    """Return the prompt of a step with its placeholders filled, or ``None`` if there is none.

    The known placeholders are ``{curriculum}``, ``{step}`` and ``{objective}``, and those that the
    step's `agent_config_overrides` have under ``prompt_values``.

    Raises:
        CurriculumError: If the file is wrong, or the values do not fit into it.
    """
    if not step.prompt_reference or curriculum.folder is None:
        return None
    path = curriculum.folder / step.prompt_reference
    if not is_file(path):
        return None
    given = step.agent_config_overrides.get(PROMPT_VALUES, {})
    if not isinstance(given, Mapping):
        raise CurriculumError(f"{PROMPT_VALUES} are values by placeholder, not {given!r:.60}")
    objectives = step.learning_objectives or ()
    text = objectives if isinstance(objectives, str) else "; ".join(objectives)
    values = {"curriculum": curriculum.name, "step": step.name, "objective": text}
    prompt = load(path)
    try:
        return prompt.filled({**values, **given})
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        where = ".".join(map(str, wrong["loc"]))
        raise CurriculumError(f"{path}: {where}, once filled in: {in_words(wrong)}") from None
