"""What can be wrong with a curriculum beyond its shape; every problem knows its place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from piase_gym.curricula import actions
from piase_gym.curricula.conditions import Condition
from piase_gym.errors import CurriculumError, PiaseError
from piase_gym.scenarios.explaining import NO_ENTRIES, located
from piase_gym.scenarios.reading import Document, Key

if TYPE_CHECKING:
    from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum

Path = tuple[str | int, ...]
MOST_PROBLEMS = 20
"""How many problems are told at once; a file with more has one cause, or is no curriculum."""
PROSE = frozenset(
    "description author learning_objectives success_criteria conditions notes evaluation_strategy "
    "piase_scenario_reference piaavt_metrics_to_track overall_learning_goals".split()
)
"""Fields for readers, which change nothing."""
FIXED = ("agent_ids", "envelope")
"""Fields of a config that fix the spaces, which steps cannot change."""


class Problem(NamedTuple):
    """Something wrong: the way to its place in the file, and words that name step and rule."""

    path: Path
    message: str


def complain(problems: Iterable[Problem]) -> None:
    """Raise what a validator of pydantic may raise, if there is any problem."""
    found = list(islice(problems, MOST_PROBLEMS))
    if found:
        told = "\n".join(problem.message for problem in found)
        context = {"told": told, "problems": found}
        raise PydanticCustomError("curriculum", "{told}", context)


def problems_in(error: ValidationError) -> list[Problem]:
    """Return the problems that `complain` has put into a pydantic error."""
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
    for key, told in located(error, model, document, skip="curriculum"):
        if key != ("steps",) or not told.startswith(NO_ENTRIES):
            yield key, told
        elif not document.data["steps"]:  # pydantic says so too of steps that are all wrong
            yield key, "a curriculum has at least one step"


# -- reading --------------------------------------------------------------------------------------


def without_type(data: Any, wanted: str) -> Any:
    """Return a mapping without the mark of the prompt suite.

    Raises:
        ValueError: If it is marked as something else.
    """
    if not isinstance(data, Mapping) or "__type__" not in data:
        return data
    if data["__type__"] != wanted:
        raise ValueError(f"__type__ is {data['__type__']!r:.60}; allowed here: {wanted!r}")
    return {name: value for name, value in data.items() if name != "__type__"}


NULLABLE = frozenset(PROSE | {"target_developmental_stage", "version"})
"""Fields of a curriculum that may be null, as the prompt suite writes what it does not know."""


def read_head(data: Any) -> Any:
    """Return a curriculum's data without marks and nulls of the prompt suite."""
    data = without_type(data, "DevelopmentalCurriculum")
    if not isinstance(data, Mapping):
        return data
    kept = {n: v for n, v in data.items() if v is not None or n not in NULLABLE}
    version = kept.get("version")
    if isinstance(version, int | float) and not isinstance(version, bool):
        kept["version"] = str(version)
    return kept


def read_step(data: Any) -> Any:
    """Return a step's data with the other name of `environment_config_overrides` replaced."""
    data = without_type(data, "CurriculumStep")
    short, long = "environment_config", "environment_config_overrides"
    if isinstance(data, Mapping) and data.get("prompt_reference") == "":
        data = {**data, "prompt_reference": None}
    if not isinstance(data, Mapping) or short not in data:
        return data
    rest = {name: value for name, value in data.items() if name != short}
    if rest.setdefault(long, data[short]) != data[short]:
        raise ValueError(f"{short!r} and {long!r} differ; give one of them")
    return rest


def target_of(overrides: Mapping[str, Any]) -> tuple[float, ...] | str | None:
    """Return ``motivation.current_goal_details.target_coords`` of an agent's settings."""
    place: Any = overrides
    for key in ("motivation", "current_goal_details", "target_coords"):
        place = place.get(key) if isinstance(place, Mapping) else None
    if isinstance(place, str) and place:
        return place
    if not isinstance(place, list | tuple) or len(place) not in (2, 3):
        return None
    numbers = all(isinstance(part, int | float) and type(part) is not bool for part in place)
    return tuple(place) if numbers and all(map(math.isfinite, place)) else None


def same_world(own: str, given: object, source: str) -> None:
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
    """Return words for a rule, counted from 1."""
    condition = step.adaptation_rules[number][0]
    shown = condition if len(condition) <= 60 else condition[:57] + "..."
    return f"{step.label}, rule {number + 1} ({shown})"


def step_problems(step: CurriculumStep) -> Iterator[Problem]:
    """Yield what is wrong with a step by itself."""
    for number, (condition, action) in enumerate(step.adaptation_rules):
        path, label = ("adaptation_rules", number), rule_label(step, number)
        try:
            Condition(condition)
        except CurriculumError as error:
            yield Problem((*path, 0), f"{label}: {error}")
        try:
            actions.read(action, None, list(step.hints))
        except CurriculumError as error:
            yield Problem((*path, 1), f"{label}: {error}")
    if step.max_interactions is not None and "max_steps" in step.environment_config_overrides:
        told = "max_interactions means the world's max_steps; give one of them"
        yield Problem(("max_interactions",), f"{step.label}: {told}")
    for name in FIXED:
        if name in step.environment_config_overrides:
            told = f"{name!r} fixes the spaces of the environment, which a step cannot change"
            yield Problem(("environment_config_overrides", name), f"{step.label}: {told}")
    yield from _target_problems(step)


def _target_problems(step: CurriculumStep) -> Iterator[Problem]:
    """Yield what is wrong with a step's target."""
    motivation = step.agent_config_overrides.get("motivation")
    details = motivation.get("current_goal_details") if isinstance(motivation, Mapping) else None
    if isinstance(details, Mapping) and "target_coords" in details and step.target_coords is None:
        path = ("agent_config_overrides", "motivation", "current_goal_details", "target_coords")
        given = f"{details['target_coords']!r:.60}"
        told = f"target_coords are two or three numbers or the name of a place, not {given}"
        yield Problem(path, f"{step.label}: {told}")


# -- the whole ------------------------------------------------------------------------------------


def curriculum_problems(curriculum: DevelopmentalCurriculum) -> Iterator[Problem]:
    """Yield what is wrong with a curriculum, but for what needs its world's config."""
    yield from _world_problems(curriculum)
    yield from _partner_problems(curriculum)
    yield from _twice(curriculum)
    from piase_gym.curricula import naming

    try:
        kinds = naming.kinds_of(curriculum, naming.own_metrics(curriculum))
    except PiaseError:
        return  # the world is unknown or cannot be imported, which is told already
    yield from naming.name_problems(curriculum, kinds)


def _world_problems(curriculum: DevelopmentalCurriculum) -> Iterator[Problem]:
    """Yield a problem if there is no such world."""
    if curriculum.world is not None:
        from piase_gym.registry import find, load

        try:
            spec, _ = find(curriculum.world)
            load(spec.config, spec)
        except PiaseError as error:
            yield Problem(("world",), f"world: {error.args[0]}")


def _partner_problems(curriculum: DevelopmentalCurriculum) -> Iterator[Problem]:
    """Yield partners that do not exist, or that play the learner's own seat."""
    from piase_gym.agents.catalogue import check_policy, names_file

    for agent, policy in curriculum.partners.items():
        if agent == curriculum.agent:
            told = f"partners: {agent} is the agent that the curriculum is for"
            yield Problem(("partners", agent), told)
        try:
            check_policy(policy)
        except PiaseError as error:
            yield Problem(("partners", agent), f"partners: {agent}: {error.args[0]}")
        if names_file(policy):
            told = (
                f"partners: {agent}: a curriculum cannot make us load {policy!r}, for that may run "
                f"code; name it yourself, as the environment's partners={{{agent!r}: {policy!r}}}"
            )
            yield Problem(("partners", agent), told)


def _twice(curriculum: DevelopmentalCurriculum) -> Iterator[Problem]:
    """Yield orders and names that are given twice."""
    for field in ("order", "name"):
        seen: dict[Any, CurriculumStep] = {}
        for step in sorted(curriculum.steps, key=lambda step: step._index):
            value = getattr(step, field)
            if value in seen:
                told = f"the {field} {value!r} is taken by {seen[value].label} already"
                yield Problem(("steps", step._index, field), f"{step.label}: {told}")
            seen.setdefault(value, step)
