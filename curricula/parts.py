"""The small parts of a curriculum: metrics, criteria, hints, rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)

from piase_gym.curricula import checking
from piase_gym.curricula.actions import Action
from piase_gym.curricula.conditions import Condition
from piase_gym.errors import CurriculumError
from piase_gym.runs.windows import check_window
from piase_gym.scenarios.reading import Document

Operator = Literal["==", "!=", "<", "<=", ">", ">="]


def _window(value: Any) -> Any:
    """Check a window where it is written."""
    if value is not None:
        check_window(value)
    return value


WindowSize = Annotated[dict[str, int], BeforeValidator(_window)]
"""One of ``{"attempts": n}``, ``{"episodes": n}``, ``{"env_steps": n}``."""


if TYPE_CHECKING:
    _Clear = BaseModel
else:

    class _Complaining(type(BaseModel)):
        """Lets a model that is made in Python complain like one that is read from a file."""

        def __call__(cls, *args: Any, **fields: Any) -> Any:
            try:
                return super().__call__(*args, **fields)
            except ValidationError as error:
                found = checking.problems_in(error)
                lines = [problem.message for problem in found]
                for key, told in checking.shapes_in(error, cls, Document(fields)):
                    where = ".".join((cls.__name__, *map(str, key)))
                    lines.append(f"{where}: {told}")
                raise CurriculumError("\n".join(dict.fromkeys(lines))) from None

    class _Clear(BaseModel, metaclass=_Complaining):
        pass


class Part(_Clear):
    """Common settings of the parts of a curriculum."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class MetricDefinition(Part):
    """A name for a metric over a window, or for a metric that comes from outside.

    Without `metric`, the name is asked for as it stands, and `type` says what its values are: so
    a curriculum can use metrics of your own (`runs.Metrics.define`).
    """

    metric: str | None = Field(None, max_length=200, description="the metric that the name means")
    window: WindowSize | None = Field(
        None, description="how far to look back; default: the attempt"
    )
    type: Literal["number", "boolean"] | None = Field(
        None, description="what its values are, if it is a metric of your own"
    )


class Criterion(Part):
    """One thing that must be so for a step to be complete."""

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
        return f"{self.metric} {self.operator} {value}"


class HintData(Part):
    """What a hint says."""

    model_config = ConfigDict(extra="allow")

    message: str = Field(min_length=1, max_length=2000, description="the words")


class Hint(Part):
    """Words that a rule can have said to the agent in the next attempt."""

    type: Literal["EVENT"] = Field("EVENT", description="always EVENT")
    event_type: str = Field(
        "ENVIRONMENT_HINT", min_length=1, max_length=200, description="for logs"
    )
    data: HintData = Field(description="the words, under `message`, and what else logs should have")

    @property
    def message(self) -> str:
        """The words."""
        return self.data.message


class Rule(NamedTuple):
    """An adaptation rule.

    Attributes:
        condition: When it holds.
        action: What is decided then.
    """

    condition: Condition
    action: Action

    def __str__(self) -> str:
        """Return the rule as one line."""
        return f"{self.condition.text} -> {self.action}"


class Need(NamedTuple):
    """A metric that a curriculum reads, as the interface is asked for it.

    Attributes:
        metric: Its name.
        window: Kind and size of the window; ``None`` for the attempt.
    """

    metric: str
    window: tuple[str, int] | None = None

    @property
    def as_window(self) -> dict[str, int] | None:
        """The window as the interface takes it."""
        return None if self.window is None else {self.window[0]: self.window[1]}


class Setting(NamedTuple):
    """What a step takes over from its curriculum."""

    on_no_rule: str = "REPEAT_STEP"
    metrics: Mapping[str, MetricDefinition] = {}
    steps: Mapping[int, str] | None = None
