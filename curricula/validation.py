"""Checks of a curriculum beyond its shape; every problem knows its place."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from piase_gym.core.arithmetic import is_number
from piase_gym.core.files import SCENARIO_SUFFIXES, is_file
from piase_gym.curricula import actions
from piase_gym.curricula.condition_syntax import Kind, type_of
from piase_gym.curricula.conditions import ATTEMPTS, Condition
from piase_gym.errors import CurriculumError, PiaseError, printable, suggest
from piase_gym.runs.manifest import noted_names
from piase_gym.runs.metric_definitions import MEASURE, METRICS, MILESTONE, metric_types
from piase_gym.scenarios.explaining import NO_ENTRIES, located
from piase_gym.scenarios.reading import Document, Key

if TYPE_CHECKING:
    from piase_gym.curricula.schema import Criterion, CurriculumStep, DevelopmentalCurriculum


MOST_PROBLEMS = 20
"""How many problems are reported at once; more have one cause, or the file is no curriculum."""
PROSE = frozenset(
    "description author learning_objectives success_criteria conditions notes evaluation_strategy "
    "piase_scenario_reference piaavt_metrics_to_track overall_learning_goals".split()
)
"""Fields for readers, which have no effect."""
FIXED = ("agent_ids", "envelope")
"""Fields of a config that fix the spaces, which steps cannot change."""


class Problem(NamedTuple):
    """A problem: the path to its place in the file, and a message that names step and rule."""

    path: Key
    message: str


def raise_problems(problems: Iterable[Problem]) -> None:
    """Raise an error that a pydantic validator may raise, if there is any problem."""
    found = list(islice(problems, MOST_PROBLEMS))
    if found:
        text = "\n".join(problem.message for problem in found)
        context = {"told": text, "problems": found}
        raise PydanticCustomError("curriculum", "{told}", context)


def problems_in(error: ValidationError) -> list[Problem]:
    """Return the problems that `raise_problems` has put into a pydantic error."""
    found: list[Problem] = []
    for item in error.errors(include_url=False):
        if item["type"] == "curriculum":
            before = tuple(item["loc"])
            found += [Problem((*before, *p.path), p.message) for p in item["ctx"]["problems"]]
    return found[:MOST_PROBLEMS]


def shapes_in(
    error: ValidationError, model: type[BaseModel], document: Document
) -> Iterator[tuple[Key, str]]:
    """Yield what pydantic itself has found: the key of the part, and what is wrong with it."""
    for key, message in located(error, model, document, skip="curriculum"):
        if key != ("steps",) or not message.startswith(NO_ENTRIES):
            yield key, message
        elif not document.data["steps"]:  # pydantic also says so if all steps are wrong
            yield key, "a curriculum has at least one step"


# -- reading --------------------------------------------------------------------------------------


def strip_type_mark(data: Any, wanted: str) -> Any:
    """Return a mapping without the mark of the prompt suite.

    Raises:
        ValueError: If it is marked as something else.
    """
    if not isinstance(data, Mapping) or "__type__" not in data:
        return data
    if data["__type__"] != wanted:
        raise ValueError(f"__type__ is {data['__type__']!r:.60}; allowed here: {wanted!r}")
    return {name: value for name, value in data.items() if name != "__type__"}


OVERRIDES = ("environment_config", "environment_config_overrides")
"""The two names of the fields of a world's config that a step sets."""
NULLABLE = PROSE.union(
    ("target_developmental_stage", "version", "agent_config_overrides", *OVERRIDES),
    ("completion_criteria", "adaptation_rules", "hints"),
)
"""Fields that may be null, as the prompt suite and the reference engine have what is not given."""


def _without_nulls(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return data without fields that are null where that means their default value."""
    return {n: v for n, v in data.items() if v is not None or n not in NULLABLE}


def normalise_curriculum(data: Any) -> Any:
    """Return a curriculum's data without marks and nulls of the prompt suite."""
    data = strip_type_mark(data, "DevelopmentalCurriculum")
    if not isinstance(data, Mapping):
        return data
    kept = _without_nulls(data)
    version = kept.get("version")
    if is_number(version):
        kept["version"] = str(version)
    return kept


def normalise_step(data: Any) -> Any:
    """Return a step's data without nulls, and its `OVERRIDES` under the second name."""
    data = strip_type_mark(data, "CurriculumStep")
    if not isinstance(data, Mapping):
        return data
    kept, (short, long) = _without_nulls(data), OVERRIDES
    if kept.get("prompt_reference") == "":
        kept["prompt_reference"] = None
    if short in kept:
        given = kept.pop(short)
        if kept.setdefault(long, given) != given:
            raise ValueError(f"{short!r} and {long!r} differ; give one of them")
    return kept


def beside(given: Any, folder: Path | None) -> Any:
    """Return the path of the scenario's file in a folder, or `given` if there is none."""
    if folder is None or not str(given).lower().endswith(SCENARIO_SUFFIXES):
        return given
    return folder / str(given) if is_file(folder / str(given)) else given


def target_of(overrides: Mapping[str, Any]) -> tuple[float, ...] | str | None:
    """Return ``motivation.current_goal_details.target_coords`` of an agent's settings."""
    place: Any = overrides
    for key in ("motivation", "current_goal_details", "target_coords"):
        place = place.get(key) if isinstance(place, Mapping) else None
    if isinstance(place, str) and place:
        return place
    if not isinstance(place, list | tuple) or len(place) not in (2, 3):
        return None
    numbers = all(is_number(part) and math.isfinite(part) for part in place)
    return tuple(place) if numbers else None


def require_same_world(own: str, given: object, source: str) -> None:
    """Check that a curriculum is used in its own world.

    Raises:
        CurriculumError: If it is not.
    """
    from piase_gym.registry import find

    name = getattr(given, "world", given)
    wanted, found = find(own)[0].name, find(name)[0].name
    if wanted != found:
        raise CurriculumError(f"{source}: the curriculum is for {wanted}, not for {found}")


# -- steps ----------------------------------------------------------------------------------------


def rule_label(step: CurriculumStep, number: int) -> str:
    """Return a label for a rule, which counts rules from 1."""
    condition = step.adaptation_rules[number][0]
    shown = condition if len(condition) <= 60 else condition[:57] + "..."
    return f"{step.label}, rule {number + 1} ({printable(shown)})"


def step_problems(step: CurriculumStep) -> Iterator[Problem]:
    """Yield what is wrong with a step by itself."""
    yield from _rule_problems(step, None, None)
    if step.max_interactions is not None and "max_steps" in step.environment_config_overrides:
        message = "max_interactions means the world's max_steps; give one of them"
        yield Problem(("max_interactions",), f"{step.label}: {message}")
    for name in FIXED:
        if name in step.environment_config_overrides:
            message = f"{name!r} fixes the spaces of the environment, which a step cannot change"
            yield Problem(("environment_config_overrides", name), f"{step.label}: {message}")
    motivation = step.agent_config_overrides.get("motivation")
    details = motivation.get("current_goal_details") if isinstance(motivation, Mapping) else None
    if isinstance(details, Mapping) and "target_coords" in details and step.target_coords is None:
        path = ("agent_config_overrides", "motivation", "current_goal_details", "target_coords")
        given = f"{details['target_coords']!r:.60}"
        message = f"target_coords are two or three numbers or the name of a place, not {given}"
        yield Problem(path, f"{step.label}: {message}")


# -- the whole ------------------------------------------------------------------------------------


def curriculum_problems(curriculum: DevelopmentalCurriculum) -> Iterator[Problem]:
    """Yield what is wrong with a curriculum, except for what needs its world's config."""
    yield from _world_problems(curriculum)
    yield from _partner_problems(curriculum)
    yield from _director_problems(curriculum)
    yield from _duplicate_problems(curriculum)
    try:
        kinds = metric_types_of(curriculum, world_metrics(curriculum))
    except PiaseError:
        return  # the world is unknown or cannot be imported, which is reported already
    yield from metric_name_problems(curriculum, kinds)


def _world_problems(curriculum: DevelopmentalCurriculum) -> Iterator[Problem]:
    """Yield a problem if there is no such world."""
    if curriculum.world is not None:
        from piase_gym.registry import find, load

        try:
            spec, _ = find(curriculum.world)
            load(spec.config, spec)
        except PiaseError as error:
            yield Problem(("world",), f"world: {error.args[0]}")


def _director_problems(curriculum: DevelopmentalCurriculum) -> Iterator[Problem]:
    """Yield a problem if there is no such director, or an option of it is not allowed."""
    if curriculum.director is not None:
        from piase_gym.curricula.directors import make_director

        try:
            made = make_director(curriculum.director)
        except PiaseError as error:
            yield Problem(("director",), error.args[0])
            return
        try:
            made.check_curriculum(curriculum)
        except PiaseError as error:
            yield Problem(("director",), f"director: {error.args[0]}")


def _partner_problems(curriculum: DevelopmentalCurriculum) -> Iterator[Problem]:
    """Yield partners that do not exist, or that play the learner's own seat."""
    from piase_gym.agents.policy_registry import check_policy, why_untrusted

    for agent, policy in curriculum.partners.items():
        if agent == curriculum.agent:
            message = f"partners: {agent} is the agent that the curriculum is for"
            yield Problem(("partners", agent), message)
        try:
            check_policy(policy)
        except PiaseError as error:
            yield Problem(("partners", agent), f"partners: {agent}: {error.args[0]}")
        if why := why_untrusted(policy):
            message = (
                f"partners: {agent}: a curriculum cannot make us {why}; "
                f"name it yourself, as the environment's partners={{{agent!r}: {policy!r}}}"
            )
            yield Problem(("partners", agent), message)


def _duplicate_problems(curriculum: DevelopmentalCurriculum) -> Iterator[Problem]:
    """Yield orders and names that are given twice."""
    for field in ("order", "name"):
        seen: dict[Any, CurriculumStep] = {}
        for step in sorted(curriculum.steps, key=lambda step: step.index):
            value = getattr(step, field)
            if value in seen:
                message = f"the {field} {value!r} is taken by {seen[value].label} already"
                yield Problem(("steps", step.index, field), f"{step.label}: {message}")
            seen.setdefault(value, step)


_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_OWN = 'declare a metric of your own as "metrics": {NAME: {"type": "number"}}'


def _kind(found: type) -> Kind:
    return "boolean" if found is bool else "number"


class MetricTypes(dict[str, Kind]):
    """Types of metrics by name; in an unknown world, every milestone and measure has one."""

    open = True

    def __missing__(self, name: str) -> Kind:
        if name not in self:
            raise KeyError(name)
        return "boolean" if name.startswith(MILESTONE) else "number"

    def __contains__(self, name: object) -> bool:
        of_worlds = self.open and str(name).startswith((MILESTONE, MEASURE))
        return of_worlds or super().__contains__(name)

    def get(self, name: object, default: Any = None) -> Any:
        """Return a kind, or the default."""
        return self[str(name)] if name in self else default


def metric_types_of(
    curriculum: DevelopmentalCurriculum, given: Mapping[str, type] | None = None
) -> MetricTypes:
    """Return the kind of every name that a curriculum can use.

    Args:
        curriculum: The curriculum.
        given: The metrics of its world, with their types; ``None`` if they are not known.
    """
    kinds = MetricTypes({ATTEMPTS: "number"})
    types = metric_types(orders=[step.order for step in curriculum.steps])
    kinds.update({name: _kind(found) for name, found in types.items()})
    if given is not None:
        kinds.update({name: _kind(found) for name, found in given.items()})
        kinds.open = False
    for name, definition in curriculum.metrics.items():
        meant = definition.metric or name
        kinds[name] = kinds.get(meant) or definition.type or "number"
    return kinds


def names_of(world: Any, configs: Iterable[Any]) -> tuple[list[str], list[str]]:
    """Return the names of the milestones and of the measures of a world.

    Args:
        world: The world, or its class.
        configs: Configs of its episodes; scenarios in them have milestones and measures too.
    """
    milestones, measures = dict.fromkeys(world.milestones), dict.fromkeys(world.measures)
    for config in configs:
        rules = config.model_dump(mode="json", include={"script", "story"})
        for known, noted in zip((milestones, measures), noted_names(rules), strict=True):
            known |= dict.fromkeys(noted)
    return [*milestones], [*measures]


def world_metrics(
    curriculum: DevelopmentalCurriculum,
) -> dict[str, type[float] | type[bool]] | None:
    """Return the metrics of the curriculum's own world, or ``None`` if they are not known.

    The world is imported only if a metric of its own is read, because that takes time.
    """
    read = [d.metric or n for n, d in curriculum.metrics.items()]
    for step in curriculum.steps:
        read += [c.metric for c in step.completion_criteria]
        read += [name for condition in step.rule_conditions for name in condition.names]
    if curriculum.world is None or not any(n.startswith((MILESTONE, MEASURE)) for n in read):
        return None
    from piase_gym.registry import find, load

    spec, _ = find(curriculum.world)
    try:
        configs = [config for _, config in curriculum.configs()]
    except PiaseError:
        return None  # the loader reports what is wrong with them
    return metric_types(*names_of(load(spec.world, spec).kind_for(configs[0]), configs))


# -- problems -------------------------------------------------------------------------------------


def metric_name_problems(
    curriculum: DevelopmentalCurriculum, kinds: MetricTypes
) -> Iterator[Problem]:
    """Yield what is wrong with the names that a curriculum defines and reads."""
    yield from _metric_problems(curriculum, kinds)
    names = {step.order: step.name for step in curriculum.steps}
    for step in curriculum.steps:
        before: Key = ("steps", step.index)
        for number, criterion in enumerate(step.completion_criteria):
            message = _criterion_problem(criterion, kinds)
            if message:
                label = f"{step.label}, criterion {number + 1} ({criterion})"
                path = (*before, "completion_criteria", number)
                yield Problem(path, f"{label}: {message}")
        for problem in _rule_problems(step, names, kinds):
            yield Problem((*before, *problem.path), problem.message)


def _metric_problems(curriculum: DevelopmentalCurriculum, kinds: MetricTypes) -> Iterator[Problem]:
    """Yield what is wrong with the names that a curriculum defines."""
    known = MetricTypes(
        {n: k for n, k in kinds.items() if n not in curriculum.metrics or n in METRICS}
    )
    known.open = kinds.open
    for name, definition in curriculum.metrics.items():
        path, label, meant = ("metrics", name), f"metric {name!r:.80}", definition.metric
        if not _NAME.fullmatch(name) or name == ATTEMPTS:
            yield Problem(path, f"{label}: a name has letters, digits and _, and is not {ATTEMPTS}")
        elif meant is None and definition.type is None:
            message = "give 'metric', or the 'type' of a metric of your own: number or boolean"
            yield Problem(path, f"{label}: {message}")
        elif meant is None and name in known:
            message = "every world has this metric, with its own type; give it another name"
            if name not in METRICS or definition.type != kinds[name]:
                yield Problem(path, f"{label}: {message}")
        elif meant is not None and meant not in known and definition.type is None:
            message = f"unknown metric {meant!r:.80}; {suggest(meant, known)}"
            yield Problem((*path, "metric"), f"{label}: {message}")
        elif meant is not None and name in METRICS and meant != name:
            message = f"{name!r} is a metric of every world and cannot stand for {meant!r}"
            yield Problem(path, f"{label}: {message}")


def _criterion_problem(criterion: Criterion, kinds: MetricTypes) -> str | None:
    """Return what is wrong with a criterion, or ``None``."""
    if criterion.metric == ATTEMPTS:
        return f"{ATTEMPTS} is for rules; a step is complete by what the agent has done"
    if criterion.metric not in kinds:
        names = [name for name in kinds if name != ATTEMPTS]
        return f"unknown metric {criterion.metric!r}; {suggest(criterion.metric, names)}; {_OWN}"
    kind = kinds[criterion.metric]
    if type_of(criterion.value) != kind:
        return (
            f"{criterion.metric!r} is a {kind} and {criterion.value!r:.60} is a "
            f"{type_of(criterion.value)}; nothing is converted"
        )
    if kind == "boolean" and criterion.operator not in ("==", "!="):
        return f"true and false have no order; {suggest(criterion.operator, ('==', '!='))}"
    return None


def _rule_problems(
    step: CurriculumStep, names: Mapping[int, str] | None, kinds: MetricTypes | None
) -> Iterator[Problem]:
    """Yield what is wrong with a step's rules.

    Args:
        step: The step.
        names: Order -> name of the steps of its curriculum, once they are known.
        kinds: The kind of every name that rules can read, once they are known.
    """
    for number, (condition, action) in enumerate(step.adaptation_rules):
        path, label = ("adaptation_rules", number), rule_label(step, number)
        try:
            Condition(condition, kinds)
        except CurriculumError as error:
            own = f"; {_OWN}" if "unknown metric" in str(error) else ""
            yield Problem((*path, 0), f"{label}: {error}{own}")
        try:
            actions.read(action, names, list(step.hints))
        except CurriculumError as error:
            yield Problem((*path, 1), f"{label}: {error}")
