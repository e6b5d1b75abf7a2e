"""A step of a curriculum."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, StrictStr, model_validator

from piase_gym.curricula import actions, checking
from piase_gym.curricula.conditions import ATTEMPTS, Condition
from piase_gym.curricula.parts import Criterion, Hint, Need, Part, Rule, Setting
from piase_gym.runs.windows import check_window

MOST_RULES = 100
Count = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
Order = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
Text = Annotated[str, Field(max_length=20_000)]


def _one_line(name: str) -> str:
    """Check that a name can stand in a line of a log or a message."""
    if not name.strip() or not name.isprintable():
        raise ValueError("a name is one line of printable text")
    return name


Name = Annotated[str, Field(max_length=200), AfterValidator(_one_line)]
Stage = Annotated[str, Field(min_length=1, max_length=200)]


class CurriculumStep(Part):
    """One step of a curriculum: a task, when it is done, and what to do while it is not."""

    order: Order = Field(description="steps run sorted by it; unique")
    name: Name = Field(description="unique")
    prompt_reference: str | None = Field(
        None, max_length=1000, description="path of a prompt file, from the curriculum's folder"
    )
    max_interactions: Count | None = Field(
        None, description="environment steps of an episode; default: the world's max_steps"
    )
    episodes_per_attempt: Count = Field(1, description="episodes that make one attempt")
    max_attempts: Count | None = Field(
        None, description="after so many, if no rule holds, the curriculum has failed; default none"
    )
    completion_criteria: tuple[Criterion, ...] = Field(
        (), max_length=MOST_RULES, description="all must hold; an empty list never completes"
    )
    adaptation_rules: tuple[tuple[StrictStr, StrictStr], ...] = Field(
        (), max_length=MOST_RULES, description="[condition, decision]; the first that holds decides"
    )
    environment_config_overrides: dict[str, Any] = Field(
        default_factory=dict, description="fields of the world's config, over those of its start"
    )
    agent_config_overrides: dict[str, Any] = Field(
        default_factory=dict, description="passed to the agent's configure"
    )
    hints: dict[Annotated[str, Field(max_length=200)], Hint] = Field(
        default_factory=dict, max_length=MOST_RULES, description="key -> hint"
    )
    agent_state: Literal["keep", "reset"] | tuple[StrictStr, ...] = Field(
        "keep", description="what of the agent's state lasts into this step: keep, reset, or keys"
    )
    developmental_stage_prerequisite: Stage | None = Field(
        None, description="a stage that the agent must have reached; else the step is skipped"
    )
    developmental_stage_reached: Stage | None = Field(
        None, description="the stage that the agent has reached when it completes this step"
    )
    learning_objectives: tuple[Text, ...] | Text | None = Field(None, description="for readers")
    success_criteria: tuple[Text, ...] | Text | None = Field(None, description="for readers")
    conditions: Text | None = Field(None, description="for readers")
    notes: Text | None = Field(None, description="for readers")
    piase_scenario_reference: Text | None = Field(None, description="for readers")
    piaavt_metrics_to_track: tuple[Text, ...] | None = Field(None, description="for readers")

    _index: int = PrivateAttr(0)
    _setting: Setting = PrivateAttr(Setting())
    _conditions: tuple[Condition, ...] = PrivateAttr(())

    @model_validator(mode="before")
    @classmethod
    def _read_as(cls, data: Any) -> Any:
        return checking.read_step(data)

    @model_validator(mode="after")
    def _check(self) -> Self:
        checking.complain(checking.step_problems(self))
        self._conditions = tuple(Condition(rule[0]) for rule in self.adaptation_rules)
        return self

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The adaptation rules, read."""
        steps, hints = self._setting.steps, list(self.hints)
        return tuple(
            Rule(condition, actions.read(action, steps, hints))
            for condition, (_, action) in zip(self._conditions, self.adaptation_rules, strict=True)
        )

    def alone(self, number: int) -> CurriculumStep:
        """Return the step with one of its rules, counted from 0, and no other."""
        copy = self.model_copy(update={"adaptation_rules": (self.adaptation_rules[number],)})
        copy._conditions = (self._conditions[number],)
        copy.__dict__.pop("rules", None)
        return copy

    @property
    def label(self) -> str:
        """Words for errors and reasons."""
        return f"step {self.order} {self.name!r}"

    @property
    def on_no_rule(self) -> str:
        """What is decided if the step is not complete and no rule holds."""
        return self._setting.on_no_rule

    def is_open(self, stages: Collection[str]) -> bool:
        """Tell whether an agent that has reached these stages may take the step."""
        wanted = self.developmental_stage_prerequisite
        return wanted is None or wanted in stages

    def need(self, name: str, window: Mapping[str, int] | None = None) -> Need:
        """Return what the interface is asked for when the step reads a name."""
        defined = self._setting.metrics.get(name)
        if defined is not None:
            name, window = defined.metric or name, window or defined.window
        return Need(name, None if window is None else check_window(window))

    @property
    def needs(self) -> tuple[Need, ...]:
        """Every metric that the step reads, in order, each once."""
        found = [self.need(c.metric, c.window) for c in self.completion_criteria]
        names = [name for rule in self.rules for name in rule.condition.names]
        found += [self.need(name) for name in names if name != ATTEMPTS]
        return tuple(dict.fromkeys(found))

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the world's config that the step sets, `max_interactions` as `max_steps`.

        A field ``scenario`` stands for the fields of that scenario, but for the names of its
        agents, which are fixed by the environment.
        """
        fields = dict(self.environment_config_overrides)
        if "scenario" in fields:
            from piase_gym import scenarios

            told = scenarios.load(fields.pop("scenario")).fields
            kept = {name: value for name, value in told.items() if name not in checking.FIXED}
            fields = {**kept, **fields}
        if self.max_interactions is not None:
            fields["max_steps"] = self.max_interactions
        return fields

    @property
    def target_coords(self) -> tuple[float, ...] | str | None:
        """Where ``reached_goal_<order>`` wants the agent to stand, if the step says so."""
        return checking.target_of(self.agent_config_overrides)
