"""Curricula as data: what a file may say, as pydantic models, checked once.

A curriculum is frozen. What can be checked without a world is checked when it is made; what needs
the world is checked by `DevelopmentalCurriculum.configs`.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, field_validator, model_validator

from piase_gym.core.config import AgentId, WorldConfig
from piase_gym.core.world import World
from piase_gym.curricula import checking, naming
from piase_gym.curricula.parts import MetricDefinition, Need, Part, Setting
from piase_gym.curricula.steps import CurriculumStep, Name, Text
from piase_gym.errors import ConfigError, CurriculumError, EnvelopeError
from piase_gym.scenarios.explaining import find
from piase_gym.scenarios.reading import Document

MOST_STEPS = 1000


class DevelopmentalCurriculum(Part):
    """A curriculum. See the page on curricula for the meaning of each field."""

    name: Name = Field(description="its name")
    description: Text = Field("", description="what it is about")
    target_developmental_stage: Text = Field("", description="where it leads")
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
        None, description="the agent whose curriculum wins where two set a shared field differently"
    )
    steps: tuple[CurriculumStep, ...] = Field(min_length=1, max_length=MOST_STEPS)
    overall_learning_goals: tuple[Text, ...] | Text | None = Field(None, description="for readers")
    evaluation_strategy: Text | None = Field(None, description="for readers")

    _source: str = PrivateAttr("<data>")
    _folder: Path | None = PrivateAttr(None)
    _warnings: tuple[str, ...] = PrivateAttr(())
    _document: Document | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _read_as(cls, data: Any) -> Any:
        return checking.read_head(data)

    @field_validator("steps")
    @classmethod
    def _sort(cls, steps: tuple[CurriculumStep, ...]) -> tuple[CurriculumStep, ...]:
        copies = [step.model_copy() for step in steps]
        for index, step in enumerate(copies):
            step._index = index
        return tuple(sorted(copies, key=lambda step: step.order))

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = {step.order: step.name for step in self.steps}
        for step in self.steps:
            step._setting = Setting(self.on_no_rule, self.metrics, names)
            step.__dict__.pop("rules", None)
        checking.complain(checking.curriculum_problems(self))
        return self

    @property
    def source(self) -> str:
        """The file that it was read from, or what else it came from."""
        return self._source

    @property
    def folder(self) -> Path | None:
        """Where its prompt files lie, if it was read from a file."""
        return self._folder

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the file should know: ``file:line:column: ...``."""
        return self._warnings

    def place(self, path: tuple[str | int, ...]) -> str:
        """Return where a part of the curriculum stands: ``file:line:column``, or its source."""
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
    def needs(self) -> tuple[Need, ...]:
        """Every metric that is read anywhere, each once."""
        return tuple(dict.fromkeys(need for step in self.steps for need in step.needs))

    @cached_property
    def sha256(self) -> str:
        """What the curriculum does, hashed; words for readers do not count."""
        prose = set(checking.PROSE)
        value = self.model_dump(mode="json", exclude=prose)
        if not self.partners:
            del value["partners"]  # which keeps the hashes of curricula without any
        value["steps"] = [step.model_dump(mode="json", exclude=prose) for step in self.steps]
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()

    def base(self, world: object = None) -> WorldConfig:
        """Return the config that the steps change: of a world, an id or a config object.

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
            checking.same_world(self.world, chosen, self.source)
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
            return base.model_copy(update={"envelope": None}).changed(step.fields)
        except ConfigError as error:
            raise CurriculumError(f"{self.source}: {step.label}: {error}") from None

    def check_world(self, world: World[Any, Any]) -> None:
        """Check that a world has the milestones and measures that are read.

        Curricula that name their world are checked when they are loaded.

        Raises:
            CurriculumError: If it lacks one, or a step sets what it does not know.
        """
        configs = [config for _, config in self.configs(world.config)]
        kinds = naming.kinds_of(self, naming.metrics_of(world, configs))
        found = list(islice(naming.name_problems(self, kinds), checking.MOST_PROBLEMS))
        if found:
            rows = (f"{self.place(problem.path)}: {problem.message}" for problem in found)
            raise CurriculumError("\n".join(rows))

    def envelope(self, world: object = None) -> dict[str, int]:
        """Return the envelope that all steps need, for ``parallel_env(..., envelope=...)``.

        Args:
            world: As for `configs`; the envelope of a config object is held as well.

        Raises:
            CurriculumError: If a step sets what the world does not know.
        """
        base = self.base(world)
        try:
            sizes = base.fixed_envelope()
        except EnvelopeError:
            sizes = base.sizes()
        for _, config in self.configs(world):
            sizes = sizes.union(config.sizes())
        return {name: int(value) for name, value in sizes.model_dump().items()}


__all__ = ["CurriculumStep", "DevelopmentalCurriculum"]
