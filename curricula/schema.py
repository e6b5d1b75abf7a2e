"""The models of a curriculum: metrics, criteria, hints, rules, steps and the curriculum itself.

Checks that go beyond the shape of the data are in `piase_gym.curricula.validation`.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from piase_gym.core import limits
from piase_gym.core.config import AgentId, WorldConfig
from piase_gym.core.digest import digest_json
from piase_gym.core.world import World
from piase_gym.curricula import actions, validation
from piase_gym.curricula.actions import Action
from piase_gym.curricula.conditions import ATTEMPTS, Condition
from piase_gym.errors import ConfigError, CurriculumError, EnvelopeError, ScenarioError, printable
from piase_gym.runs.metric_definitions import metric_types
from piase_gym.runs.windows import check_window
from piase_gym.scenarios.explaining import find
from piase_gym.scenarios.reading import Document
from piase_gym.worlds.texts.wording import counted

if TYPE_CHECKING:
    from piase_gym.scenarios import Scenario

Operator = Literal["==", "!=", "<", "<=", ">", ">="]


def _window(value: Any) -> Any:
    """Check a window where it is written."""
    if value is not None:
        check_window(value)
    return value


WindowSize = Annotated[dict[str, int], BeforeValidator(_window)]
"""One of ``{"attempts": n}``, ``{"episodes": n}``, ``{"env_steps": n}``."""


if TYPE_CHECKING:
    _TranslatedErrors = BaseModel
else:

    class _ErrorTranslation(type(BaseModel)):
        """Makes a model built in Python report errors like one that is read from a file."""

        def __call__(cls, *args: Any, **fields: Any) -> Any:
            try:
                return super().__call__(*args, **fields)
            except ValidationError as error:
                found = validation.problems_in(error)
                lines = [problem.message for problem in found]
                for key, message in validation.shapes_in(error, cls, Document(fields)):
                    where = ".".join((cls.__name__, *map(str, key)))
                    lines.append(f"{where}: {message}")
                raise CurriculumError("\n".join(dict.fromkeys(lines))) from None

    class _TranslatedErrors(BaseModel, metaclass=_ErrorTranslation):
        pass


class CurriculumModel(_TranslatedErrors):
    """Common settings of the parts of a curriculum."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class MetricDefinition(CurriculumModel):
    """A name for a metric over a window, or for a metric that comes from outside.

    Without `metric`, the name itself is looked up, and `type` says what its values are: in this
    way a curriculum can use metrics of your own (`runs.Metrics.define`).
    """

    metric: str | None = Field(None, max_length=200, description="the metric that it stands for")
    window: WindowSize | None = Field(
        None, description="how far to look back; default: the attempt"
    )
    type: Literal["number", "boolean"] | None = Field(
        None, description="type of its values, if it is a metric of your own"
    )


class Criterion(CurriculumModel):
    """A condition on a metric that must hold for a step to be complete."""

    metric: str = Field(min_length=1, max_length=200, description="a metric")
    operator: Operator = Field("==", description="how it is compared")
    value: StrictBool | StrictInt | StrictFloat | StrictStr = Field(
        description="what it is compared with; nothing is converted"
    )
    window: WindowSize | None = Field(
        None, description="how far to look back; default: the attempt"
    )

    def __str__(self) -> str:
        """Return the criterion as a condition."""
        value = str(self.value).lower() if isinstance(self.value, bool) else repr(self.value)
        return f"{printable(self.metric)} {self.operator} {value}"


class HintData(CurriculumModel):
    """What a hint says."""

    model_config = ConfigDict(extra="allow")

    message: str = Field(min_length=1, max_length=2000, description="the words")


class Hint(CurriculumModel):
    """Words that a rule can have shown to the agent in the next attempt."""

    type: Literal["EVENT"] = Field("EVENT", description="always EVENT")
    event_type: str = Field(
        "ENVIRONMENT_HINT", min_length=1, max_length=200, description="for logs"
    )
    data: HintData = Field(description="the words, under `message`, and anything else for logs")

    @property
    def message(self) -> str:
        """The words."""
        return self.data.message


class Rule(NamedTuple):
    """An adaptation rule.

    Attributes:
        condition: When the rule applies.
        action: The decision that it makes.
    """

    condition: Condition
    action: Action

    def __str__(self) -> str:
        """Return the rule as one line."""
        return f"{self.condition.text} -> {self.action}"


class RequiredMetric(NamedTuple):
    """A metric that a curriculum reads, in the form in which the interface is asked for it.

    Attributes:
        metric: Its name.
        window: Kind and size of the window; ``None`` for the attempt.
    """

    metric: str
    window: tuple[str, int] | None = None

    @property
    def as_window(self) -> dict[str, int] | None:
        """The window in the form that the interface takes."""
        return None if self.window is None else {self.window[0]: self.window[1]}


@dataclass(frozen=True)
class StepContext:
    """What a step inherits from its curriculum; the folder is no part of what they say."""

    on_no_rule: str = "REPEAT_STEP"
    metrics: Mapping[str, MetricDefinition] = field(default_factory=dict)
    steps: Mapping[int, str] | None = None
    folder: Path | None = field(default=None, compare=False)


MOST_RULES = 100
Count = Annotated[int, Field(strict=True, ge=1, le=limits.MOST_STEPS)]
Order = Annotated[int, Field(strict=True, ge=0, le=limits.MOST_STEPS)]
Text = Annotated[str, Field(max_length=20_000)]


def _one_line(name: str) -> str:
    """Check that a name can stand in a line of a log or a message."""
    if not name.strip() or not name.isprintable():
        raise ValueError("a name is one line of printable text")
    return name


Name = Annotated[str, Field(max_length=200), AfterValidator(_one_line)]
Stage = Annotated[str, Field(min_length=1, max_length=200)]


class CurriculumStep(CurriculumModel):
    """One step of a curriculum: a task, when it is done, and what to do while it is not."""

    order: Order = Field(description="steps run in ascending order; unique")
    name: Name = Field(description="its name; unique")
    prompt_reference: str | None = Field(
        None, max_length=1000, description="path to a prompt file, from the curriculum's folder"
    )
    max_interactions: Count | None = Field(
        None, description="environment steps per episode; default: the world's max_steps"
    )
    episodes_per_attempt: Count = Field(1, description="episodes that make one attempt")
    max_attempts: Count | None = Field(
        None, description="attempts after which the curriculum fails if no rule holds; default none"
    )
    patience: Count | None = Field(
        None,
        description="after this many attempts no better than those before, the curriculum fails if "
        "no rule holds; default none",
    )
    completion_criteria: tuple[Criterion, ...] = Field(
        (), max_length=MOST_RULES, description="all must hold; an empty list never completes"
    )
    adaptation_rules: tuple[tuple[StrictStr, StrictStr], ...] = Field(
        (), max_length=MOST_RULES, description="[condition, decision]; the first that holds decides"
    )
    environment_config_overrides: dict[str, Any] = Field(
        default_factory=dict, description="config fields of the world, on top of those of its start"
    )
    agent_config_overrides: dict[str, Any] = Field(
        default_factory=dict, description="passed to the agent's configure"
    )
    hints: dict[Annotated[str, Field(max_length=200)], Hint] = Field(
        default_factory=dict, max_length=MOST_RULES, description="key -> hint"
    )
    agent_state: Literal["keep", "reset"] | tuple[StrictStr, ...] = Field(
        "keep", description="what of its state the agent keeps on entry: keep, reset, or keys"
    )
    developmental_stage_prerequisite: Stage | None = Field(
        None, description="a stage that the agent must have reached; else the step is skipped"
    )
    developmental_stage_reached: Stage | None = Field(
        None, description="the stage that the agent has reached when it completes this step"
    )
    learning_objectives: tuple[Text, ...] | Text | None = Field(
        None, description="what is to be learned, for readers"
    )
    success_criteria: tuple[Text, ...] | Text | None = Field(
        None, description="when it counts as learned, for readers"
    )
    conditions: Text | None = Field(None, description="conditions in words, for readers")
    notes: Text | None = Field(None, description="remarks, for readers")
    piase_scenario_reference: Text | None = Field(
        None, description="the scenario that it is taken from, for readers"
    )
    piaavt_metrics_to_track: tuple[Text, ...] | None = Field(
        None, description="metrics to look at, for readers"
    )

    _index: int = PrivateAttr(0)
    _setting: StepContext = PrivateAttr(StepContext())
    _conditions: tuple[Condition, ...] = PrivateAttr(())

    @model_validator(mode="before")
    @classmethod
    def _read_as(cls, data: Any) -> Any:
        return validation.normalise_step(data)

    @model_validator(mode="after")
    def _check(self) -> Self:
        validation.raise_problems(validation.step_problems(self))
        self._conditions = tuple(Condition(rule[0]) for rule in self.adaptation_rules)
        return self

    @property
    def index(self) -> int:
        """The step's position in the file, from 0; a curriculum sorts its steps by order."""
        return self._index

    @property
    def rule_conditions(self) -> tuple[Condition, ...]:
        """The conditions of the adaptation rules, parsed."""
        return self._conditions

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The adaptation rules, parsed."""
        steps, hints = self._setting.steps, list(self.hints)
        return tuple(
            Rule(condition, actions.read(action, steps, hints))
            for condition, (_, action) in zip(self._conditions, self.adaptation_rules, strict=True)
        )

    def alone(self, number: int) -> CurriculumStep:
        """Return a copy of the step that has only rule `number`, counted from 0."""
        copy = self.model_copy(update={"adaptation_rules": (self.adaptation_rules[number],)})
        copy._conditions = (self._conditions[number],)
        copy.__dict__.pop("rules", None)
        return copy

    @property
    def label(self) -> str:
        """How errors and reasons refer to the step."""
        return f"step {self.order} {self.name!r}"

    @property
    def on_no_rule(self) -> str:
        """What is decided if the step is not complete and no rule holds."""
        return self._setting.on_no_rule

    def is_open(self, stages: Collection[str]) -> bool:
        """Return whether an agent that has reached these stages may take the step."""
        wanted = self.developmental_stage_prerequisite
        return wanted is None or wanted in stages

    def need(self, name: str, window: Mapping[str, int] | None = None) -> RequiredMetric:
        """Return the metric that the interface is asked for when the step reads a name."""
        defined = self._setting.metrics.get(name)
        if defined is not None:
            name, window = defined.metric or name, window or defined.window
        return RequiredMetric(name, None if window is None else check_window(window))

    @property
    def needs(self) -> tuple[RequiredMetric, ...]:
        """Every metric that the step reads, in order, each once."""
        found = [self.need(c.metric, c.window) for c in self.completion_criteria]
        names = [name for rule in self.rules for name in rule.condition.names]
        found += [self.need(name) for name in names if name != ATTEMPTS]
        return tuple(dict.fromkeys(found))

    @property
    def fields(self) -> dict[str, Any]:
        """What `fields_in` returns, of a scenario that names its world."""
        return self.fields_in(None)

    def fields_in(self, world: str | None) -> dict[str, Any]:
        """Return the fields of a world's config that the step sets.

        `max_interactions` is `max_steps` among them. A field ``scenario`` stands for the fields of
        that scenario, except the names of its agents, which the environment fixes.

        Raises:
            ScenarioError: If the scenario cannot be read, or is of another world.
        """
        fields = dict(self.environment_config_overrides)
        scenario = self.scenario_in(world)
        if scenario is not None:
            del fields["scenario"]
            given = scenario.fields
            kept = {name: value for name, value in given.items() if name not in validation.FIXED}
            fields = {**kept, **fields}
        if self.max_interactions is not None:
            fields["max_steps"] = self.max_interactions
        return fields

    def scenario_in(self, world: str | None) -> Scenario | None:
        """Return the scenario that the step names, if it does; its file may be in our folder.

        Raises:
            ScenarioError: If it cannot be read, or is of another world.
        """
        if "scenario" not in self.environment_config_overrides:
            return None
        from piase_gym import scenarios

        given = self.environment_config_overrides["scenario"]
        return scenarios.load(validation.beside(given, self._setting.folder), world)

    @property
    def target_coords(self) -> tuple[float, ...] | str | None:
        """Where ``reached_goal_<order>`` requires the agent to stand, if the step says so."""
        return validation.target_of(self.agent_config_overrides)


MOST_STEPS = 1000


class DevelopmentalCurriculum(CurriculumModel):
    """A curriculum. See the page on curricula for the meaning of each field."""

    name: Name = Field(description="its name")
    description: Text = Field("", description="what it is about")
    target_developmental_stage: Text = Field("", description="the stage that it leads to")
    author: Text = Field("", description="who wrote it")
    version: str = Field("1.0", max_length=100, description="the version of this file")
    world: str | None = Field(
        None, description="the world or id that it is for; default: that of the environment"
    )
    metrics: dict[str, MetricDefinition] = Field(
        default_factory=dict, description="names that rules and criteria can use"
    )
    on_no_rule: Literal["REPEAT_STEP", "PROCEED", "FAIL_CURRICULUM"] = Field(
        "REPEAT_STEP", description="what is decided if a step is not complete and no rule holds"
    )
    agent: AgentId | None = Field(None, description="the agent that it is written for; default any")
    partners: dict[str, str] = Field(
        default_factory=dict,
        description="who plays the other agents where the curriculum is trained or simulated: "
        "policies by agent; default: the learner's policy when trained, the oracle when simulated",
    )
    lead: AgentId | None = Field(
        None, description="the agent whose curriculum wins if two set a shared field differently"
    )
    director: str | dict[str, Any] | None = Field(
        None,
        description="what chooses the next step: the name of a director, or an object with `name` "
        "and options; default: the criteria and rules of the steps",
    )
    steps: tuple[CurriculumStep, ...] = Field(min_length=1, max_length=MOST_STEPS)
    overall_learning_goals: tuple[Text, ...] | Text | None = Field(
        None, description="what is to be learned, for readers"
    )
    evaluation_strategy: Text | None = Field(
        None, description="how to evaluate what was learned, for readers"
    )

    _source: str = PrivateAttr("<data>")
    _folder: Path | None = PrivateAttr(None)
    _warnings: tuple[str, ...] = PrivateAttr(())
    _document: Document | None = PrivateAttr(None)

    def __repr__(self) -> str:
        """Name the curriculum."""
        world = "" if self.world is None else f" of {self.world}"
        steps = counted(len(self.steps), "step")
        return f"<{type(self).__name__} {self.name!r}: {steps}{world}>"

    __str__ = __repr__

    @model_validator(mode="before")
    @classmethod
    def _read_as(cls, data: Any) -> Any:
        return validation.normalise_curriculum(data)

    @field_validator("steps")
    @classmethod
    def _sort(cls, steps: tuple[CurriculumStep, ...]) -> tuple[CurriculumStep, ...]:
        copies = [step.model_copy() for step in steps]
        for index, step in enumerate(copies):
            step._index = index
        return tuple(sorted(copies, key=lambda step: step.order))

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        self._folder = (info.context or {}).get("folder")
        names = {step.order: step.name for step in self.steps}
        for step in self.steps:
            step._setting = StepContext(self.on_no_rule, self.metrics, names, self._folder)
            step.__dict__.pop("rules", None)
        validation.raise_problems(validation.curriculum_problems(self))
        return self

    @property
    def source(self) -> str:
        """The file that the curriculum was read from, or whatever else it came from."""
        return self._source

    @property
    def folder(self) -> Path | None:
        """The folder of its prompt files, if it was read from a file."""
        return self._folder

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the file should know: ``file:line:column: ...``."""
        return self._warnings

    def set_origin(self, document: Document, source: str) -> None:
        """Note what the curriculum was read from; `place` refers to that document."""
        self._document, self._source = document, source

    def set_warnings(self, lines: Iterable[str]) -> None:
        """Note what a reader of the file should know."""
        self._warnings = tuple(lines)

    def place(self, path: tuple[str | int, ...]) -> str:
        """Return the location of a part of the curriculum: ``file:line:column``, or its source."""
        if self._document is None:
            return self.source
        return str(self._document.place(find(self._document, path)))

    def find_step(self, order_or_name: int | str) -> CurriculumStep | None:
        """Return a step by its order (an int) or its name (a string), or ``None``."""
        return None if isinstance(order_or_name, bool) else self._by_key.get(order_or_name)

    @cached_property
    def _by_key(self) -> Mapping[int | str, CurriculumStep]:
        """The steps by order and by name."""
        return {key: step for step in self.steps for key in (step.order, step.name)}

    def step(self, order_or_name: int | str) -> CurriculumStep:
        """Return a step by its order (an int) or its name (a string).

        Raises:
            CurriculumError: If there is none.
        """
        found = self.find_step(order_or_name)
        if found is None:
            known = ", ".join(f"{step.order} ({step.name})" for step in self.steps)
            raise CurriculumError(
                f"{self.source}: there is no step {order_or_name!r}; steps: {known}"
            )
        return found

    def step_after(self, order: int, stages: Collection[str] = ()) -> CurriculumStep | None:
        """Return the first step after `order` that is open, or ``None`` at the end.

        Args:
            order: Order of a step; -1 for the beginning.
            stages: The developmental stages that the agent has reached.
        """
        later = bisect_right(self.steps, order, key=lambda step: step.order)
        ahead = (self.steps[place] for place in range(later, len(self.steps)))
        return next((step for step in ahead if step.is_open(stages)), None)

    @cached_property
    def needs(self) -> tuple[RequiredMetric, ...]:
        """Every metric that is read anywhere, each once."""
        return tuple(dict.fromkeys(need for step in self.steps for need in step.needs))

    @cached_property
    def sha256(self) -> str:
        """The hash of what the curriculum does; texts for readers do not count."""
        prose = set(validation.PROSE)
        value = self.model_dump(mode="json", exclude=prose)
        if not self.partners:
            del value["partners"]  # keeps the hashes of curricula without partners
        if self.director is None:
            del value["director"]
        value["steps"] = [step.model_dump(mode="json", exclude=prose) for step in self.steps]
        for step in value["steps"]:
            if step["patience"] is None:
                del step["patience"]
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()

    def hash_scenarios(self) -> str:
        """Return the hash of what the steps' scenarios contain now; an empty text without any.

        A scenario that is written into its step is part of `sha256`.

        Raises:
            CurriculumError: If one cannot be read.
        """
        found: dict[int, str] = {}
        for step in self.steps:
            given: Any = step.environment_config_overrides.get("scenario", {})
            if isinstance(given, Mapping) and "base" not in given:
                continue
            try:
                scenario = step.scenario_in(None)
            except ScenarioError as error:
                raise CurriculumError(f"{self.source}: {step.label}: {error}") from None
            assert scenario is not None
            found[step.order] = scenario.origin()["sha256"]
        return digest_json(found) if found else ""

    def base(self, world: object = None) -> WorldConfig:
        """Return the config that the steps change, taken from a world, an id or a config object.

        Args:
            world: The world; by default the curriculum's own.

        Raises:
            CurriculumError: If neither names a world.
        """
        from piase_gym.envs.arguments import resolve

        chosen: Any = world if world is not None else self.world
        if chosen is None:
            raise CurriculumError(
                f"{self.source}: the curriculum names no world; add a field 'world', "
                "or give the world, its config or an environment"
            )
        if self.world is not None:
            validation.require_same_world(self.world, chosen, self.source)
        config: WorldConfig = resolve(chosen, None, None, {})[0]
        return config

    def configs(self, world: object = None) -> Iterator[tuple[CurriculumStep, WorldConfig]]:
        """Yield each step with the config of its episodes.

        Args:
            world: The world, id or config object that the steps change; by default the
                curriculum's own world.

        Raises:
            CurriculumError: If a step sets what the world does not know; the message names it.
        """
        base = self.base(world)
        for step in self.steps:
            yield step, self.config(step, base)

    def config(self, step: CurriculumStep, world: object = None) -> WorldConfig:
        """Return the config of the episodes of a step; see `configs`."""
        base = world if isinstance(world, WorldConfig) else self.base(world)
        try:
            return base.model_copy(update={"envelope": None}).changed(step.fields_in(base.world))
        except ConfigError as error:
            raise CurriculumError(f"{self.source}: {step.label}: {error}") from None

    def check_world(self, world: World[Any, Any]) -> None:
        """Check that a world has the milestones and measures that the curriculum reads.

        Curricula that name their world are checked when they are loaded.

        Raises:
            CurriculumError: If it lacks one, or a step sets what it does not know.
        """
        configs = [config for _, config in self.configs(world.config)]
        given = metric_types(*validation.names_of(world, configs))
        kinds = validation.metric_types_of(self, given)
        found = list(islice(validation.metric_name_problems(self, kinds), validation.MOST_PROBLEMS))
        if found:
            rows = (f"{self.place(problem.path)}: {problem.message}" for problem in found)
            raise CurriculumError("\n".join(rows))

    def envelope(self, world: object = None) -> dict[str, int]:
        """Return the envelope that all steps need, for ``parallel_env(..., envelope=...)``.

        Args:
            world: As for `configs`; the envelope of a config object is included as well.

        Raises:
            CurriculumError: If a step sets what the world does not know.
        """
        base = self.base(world)
        try:
            sizes = base.fixed_envelope()
        except EnvelopeError:
            sizes = base.largest_sizes()
        for _, config in self.configs(world):
            sizes = sizes.union(config.largest_sizes())
        return {name: int(value) for name, value in sizes.model_dump().items()}
