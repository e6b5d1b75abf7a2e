"""An agent's progress in a curriculum, as a value that can be written and read."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.errors import ProgressError

SCHEMA = 1
STATUSES = ("not_started", "in_progress", "completed_success", "completed_failure", "skipped")
OUTCOMES = ("running", "finished", "failed")
MOST = 2**53
"""The largest count that is allowed."""
T = TypeVar("T")
NOWHERE = -1
"""The current step of an agent that has not begun."""


class Remembered:
    """Base of what files of progress hold: read back, it has no other fields."""

    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass
class AgentProgress(Remembered):
    """How far an agent has come.

    Attributes:
        agent_id: The agent.
        curriculum: Name of the curriculum.
        curriculum_version: Its version.
        curriculum_sha256: Its `DevelopmentalCurriculum.sha256`.
        current_step_order: Order of the step that it is in, or was in last; -1 before the
            first.
        completed_steps: Orders of the steps that it has completed, in the order of completion.
        step_attempts: Order -> attempts begun; the first counts 1.
        step_episodes: Order -> episodes that decisions rest on, or, where steps are drawn,
            that have ended.
        statuses: Order -> status, of the steps that have any but ``not_started``.
        stages: The developmental stages that it has reached, oldest first.
        outcome: ``running``, ``finished`` or ``failed``.
        hint: Key of the hint that it gets in the current attempt, if any.
        decisions: Every decision so far.
        env_steps: Environment steps in the attempts that were decided on.
        episodes: Episodes in them.
        memory: What its director remembers about it, such as draws and statistics; JSON-able.
        scenarios_hash: What `DevelopmentalCurriculum.hash_scenarios` returned when it began; in
            progress of earlier versions unknown, and then noted when it is resumed.
    """

    agent_id: str
    curriculum: str
    curriculum_version: str = ""
    curriculum_sha256: str = ""
    current_step_order: int = NOWHERE
    completed_steps: list[int] = field(default_factory=list)
    step_attempts: dict[int, int] = field(default_factory=dict)
    step_episodes: dict[int, int] = field(default_factory=dict)
    statuses: dict[int, str] = field(default_factory=dict)
    stages: list[str] = field(default_factory=list)
    outcome: str = "running"
    hint: str | None = None
    decisions: list[Decision] = field(default_factory=list, repr=False)
    env_steps: int = 0
    episodes: int = 0
    memory: dict[str, Any] = field(default_factory=dict, repr=False)
    scenarios_hash: str | None = None

    def __getitem__(self, name: str) -> Any:
        """Return a field, for code written for the DSE document's dictionaries."""
        if name not in self.__dataclass_fields__:
            raise KeyError(name)
        return getattr(self, name)

    @property
    def active(self) -> bool:
        """Whether the curriculum goes on for the agent."""
        return self.outcome == "running"

    @property
    def finished(self) -> bool:
        """Whether the agent has reached the end of the curriculum."""
        return self.outcome == "finished"

    @property
    def failed(self) -> bool:
        """Whether the agent has failed the curriculum."""
        return self.outcome == "failed"

    @property
    def stage(self) -> str | None:
        """The stage that it has reached last."""
        return self.stages[-1] if self.stages else None

    @property
    def attempt(self) -> int:
        """Number of the current attempt of the current step; 0 before the first."""
        return self.step_attempts.get(self.current_step_order, 0)

    def status(self, order: int) -> str:
        """Return the status of a step."""
        return self.statuses.get(order, "not_started")

    def count(self, order: int, episodes: int, env_steps: int) -> None:
        """Count episodes of a step."""
        self.step_episodes[order] = self.step_episodes.get(order, 0) + episodes
        self.episodes += episodes
        self.env_steps += env_steps

    def as_json(self) -> dict[str, Any]:
        """Return the progress as a versioned, JSON-able value."""
        data = orjson.dumps({"schema": SCHEMA, **vars(self)}, option=orjson.OPT_NON_STR_KEYS)
        value: dict[str, Any] = orjson.loads(data)
        return value

    @classmethod
    def from_json(cls, value: object) -> AgentProgress:
        """Return the progress that a value stands for.

        Raises:
            ProgressError: If it is of another schema version, or damaged.
        """
        if not isinstance(value, Mapping):
            raise ProgressError(f"progress is a mapping, not {type(value).__name__}")
        if value.get("schema") != SCHEMA or isinstance(value.get("schema"), bool):
            raise ProgressError(
                f"this progress has schema version {value.get('schema')!r}; "
                f"this piase_gym reads version {SCHEMA}"
            )
        data = {name: entry for name, entry in value.items() if name != "schema"}
        try:
            progress = typed(cls, data)
        except ValueError as error:
            raise ProgressError(f"this progress is damaged: {error}") from None
        progress._check()
        return progress

    def _check(self) -> None:
        """Check the values of what was read; their types are known to be right.

        Raises:
            ProgressError: If one is wrong.
        """
        whole = [self.current_step_order, self.env_steps, self.episodes, *self.completed_steps]
        by_order = (*self.step_attempts.items(), *self.step_episodes.items())
        whole += [n for pair in by_order for n in pair]
        for made in self.decisions:
            whole += [made.step, made.attempt, made.env_steps, made.episodes]
        right = (
            all(NOWHERE <= number <= MOST for number in whole)
            and self.outcome in OUTCOMES
            and all(status in STATUSES for status in self.statuses.values())
        )
        if not right:
            raise ProgressError("this progress is damaged: a field has a value that is not allowed")

    def check_belongs(self, curriculum: DevelopmentalCurriculum) -> None:
        """Check that this is progress in a curriculum, as it is now.

        Raises:
            ProgressError: If it is not; the message says what differs.
            CurriculumError: If a scenario of its steps cannot be read.
        """
        mine = (self.curriculum, self.curriculum_version)
        theirs = (curriculum.name, curriculum.version)
        what = f"{mine[0]!r} version {mine[1]}"
        if mine == theirs:
            changed = "steps"
            if self.curriculum_sha256 == curriculum.sha256:
                if self.scenarios_hash in (None, curriculum.hash_scenarios()):
                    self._check_steps(curriculum)
                    return
                changed = "scenarios"
            message = f"{what} as it was before its {changed} were changed"
        else:
            message = f"{what}, and the curriculum is {theirs[0]!r} version {theirs[1]}"
        raise ProgressError(
            f"the progress of {self.agent_id} is in {message}; go on with the curriculum that it "
            "began with, or begin anew with another progress file"
        )

    def _check_steps(self, curriculum: DevelopmentalCurriculum) -> None:
        """Check that the steps and hints that are named exist.

        Raises:
            ProgressError: If one is not.
        """
        orders = {step.order for step in curriculum.steps}
        named = {*self.completed_steps, *self.step_attempts, *self.step_episodes, *self.statuses}
        named |= {made.step for made in self.decisions}
        named |= {made.next_step for made in self.decisions if made.next_step is not None}
        named |= {self.current_step_order} - {NOWHERE}
        if not named <= orders:
            strange = min(named - orders)
            raise ProgressError(f"this progress is damaged: there is no step {strange}")
        now = curriculum.find_step(self.current_step_order)
        if self.active and now is not None and self.attempt < 1:
            raise ProgressError(f"this progress is damaged: no attempt of {now.label} has begun")
        if self.active and self.hint is not None and (now is None or self.hint not in now.hints):
            raise ProgressError(f"this progress is damaged: there is no hint {self.hint!r:.80}")


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def typed(kind: type[T], value: object) -> T:
    """Return JSON-able data as a value of a type; only keys of mappings are converted.

    Raises:
        ValueError: If it is something else; the message says where.
    """
    key: Any = kind
    try:
        data = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
        found: T = _adapter(key).validate_json(data, strict=True)
    except ValidationError as error:
        item = error.errors(include_url=False)[0]
        where = ".".join(map(str, item["loc"]))
        raise ValueError(f"{where}: {item['msg']} (got {item['input']!r:.60})") from None
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return found
