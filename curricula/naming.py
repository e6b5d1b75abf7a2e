"""The names that a curriculum reads: which there are, of what kind, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from piase_gym.curricula import actions
from piase_gym.curricula.checking import Path, Problem, rule_label
from piase_gym.curricula.conditions import ATTEMPTS
from piase_gym.curricula.kinds import Kind, kind_of
from piase_gym.errors import CurriculumError, PiaseError, suggest
from piase_gym.runs.metric_table import MEASURE, METRICS, MILESTONE, metric_types

if TYPE_CHECKING:
    from piase_gym.curricula.parts import Criterion
    from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_OWN = 'declare a metric of your own as "metrics": {NAME: {"type": "number"}}'


def _kind(found: type) -> Kind:
    return "boolean" if found is bool else "number"


class Kinds(dict[str, Kind]):
    """Kinds of metrics by name; milestones and measures of an unknown world are all known."""

    open = True

    def __missing__(self, name: str) -> Kind:
        if self.open and name.startswith(MILESTONE):
            return "boolean"
        if self.open and name.startswith(MEASURE):
            return "number"
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None

    def get(self, name: object, default: Any = None) -> Any:
        """Return a kind."""
        try:
            return self[str(name)]
        except KeyError:
            return default


def kinds_of(curriculum: DevelopmentalCurriculum, given: Mapping[str, type] | None = None) -> Kinds:
    """Return the kind of every name that a curriculum can use.

    Args:
        curriculum: The curriculum.
        given: The metrics of its world, with their types; ``None`` if they are not known.
    """
    kinds = Kinds({ATTEMPTS: "number"})
    types = metric_types(orders=[step.order for step in curriculum.steps])
    kinds.update({name: _kind(found) for name, found in types.items()})
    if given is not None:
        kinds.update({name: _kind(found) for name, found in given.items()})
        kinds.open = False
    for name, definition in curriculum.metrics.items():
        meant = definition.metric or name
        kinds[name] = kinds.get(meant) or definition.type or "number"
    return kinds


def metrics_of(world: Any, configs: Iterable[Any]) -> dict[str, type[float] | type[bool]]:
    """Return the metrics of a world with their types.

    Args:
        world: The world, or its class.
        configs: Configs of its episodes; stories in them log milestones of their own.
    """
    from piase_gym.worlds.text_room.proofreading import milestones_of

    stories = [getattr(config, "story", None) for config in configs]
    told = [name for story in stories if story is not None for name in milestones_of(story)]
    return metric_types([*world.milestones, *told], world.measures)


def own_metrics(curriculum: DevelopmentalCurriculum) -> dict[str, type[float] | type[bool]] | None:
    """Return the metrics of the curriculum's own world, or ``None`` if they are not known.

    The world is imported only if a metric of its own is read, for that takes time.
    """
    read = [d.metric or n for n, d in curriculum.metrics.items()]
    for step in curriculum.steps:
        read += [c.metric for c in step.completion_criteria]
        read += [name for condition in step._conditions for name in condition.names]
    if curriculum.world is None or not any(n.startswith((MILESTONE, MEASURE)) for n in read):
        return None
    from piase_gym.registry import find, load

    spec, _ = find(curriculum.world)
    try:
        configs = [config for _, config in curriculum.configs()]
    except PiaseError:
        return None  # the loader tells what is wrong with them
    return metrics_of(load(spec.world, spec).kind_for(configs[0]), configs)


# -- problems -------------------------------------------------------------------------------------


def name_problems(curriculum: DevelopmentalCurriculum, kinds: Kinds) -> Iterator[Problem]:
    """Yield what is wrong with the names that a curriculum defines and reads."""
    yield from _metric_problems(curriculum, kinds)
    for step in curriculum.steps:
        before: Path = ("steps", step._index)
        for number, criterion in enumerate(step.completion_criteria):
            told = _criterion_problem(criterion, kinds)
            if told:
                label = f"{step.label}, criterion {number + 1} ({criterion})"
                path = (*before, "completion_criteria", number)
                yield Problem(path, f"{label}: {told}")
        for number in range(len(step.adaptation_rules)):
            yield from _rule_problems(curriculum, step, number, kinds)


def _metric_problems(curriculum: DevelopmentalCurriculum, kinds: Kinds) -> Iterator[Problem]:
    """Yield what is wrong with the names that a curriculum defines."""
    known = Kinds({n: k for n, k in kinds.items() if n not in curriculum.metrics or n in METRICS})
    known.open = kinds.open
    for name, definition in curriculum.metrics.items():
        path, label, meant = ("metrics", name), f"metric {name!r:.80}", definition.metric
        if not _NAME.fullmatch(name) or name == ATTEMPTS:
            yield Problem(path, f"{label}: a name has letters, digits and _, and is not {ATTEMPTS}")
        elif meant is None and definition.type is None:
            told = "give 'metric', or the 'type' of a metric of your own: number or boolean"
            yield Problem(path, f"{label}: {told}")
        elif meant is None and name in known:
            told = "every world has this metric, with its own type; give it another name"
            if name not in METRICS or definition.type != kinds[name]:
                yield Problem(path, f"{label}: {told}")
        elif meant is not None and meant not in known and definition.type is None:
            told = f"unknown metric {meant!r:.80}; {suggest(meant, known)}"
            yield Problem((*path, "metric"), f"{label}: {told}")
        elif meant is not None and name in METRICS and meant != name:
            told = f"{name!r} is a metric of every world and cannot stand for {meant!r}"
            yield Problem(path, f"{label}: {told}")


def _criterion_problem(criterion: Criterion, kinds: Kinds) -> str | None:
    """Say what is wrong with a criterion."""
    if criterion.metric == ATTEMPTS:
        return f"{ATTEMPTS} is for rules; a step is complete by what the agent has done"
    if criterion.metric not in kinds:
        names = [name for name in kinds if name != ATTEMPTS]
        return f"unknown metric {criterion.metric!r}; {suggest(criterion.metric, names)}; {_OWN}"
    kind = kinds[criterion.metric]
    if kind_of(criterion.value) != kind:
        return (
            f"{criterion.metric!r} is a {kind} and {criterion.value!r:.60} is a "
            f"{kind_of(criterion.value)}; nothing is converted"
        )
    if kind == "boolean" and criterion.operator not in ("==", "!="):
        return f"true and false have no order; {suggest(criterion.operator, ('==', '!='))}"
    return None


def _rule_problems(
    curriculum: DevelopmentalCurriculum, step: CurriculumStep, number: int, kinds: Kinds
) -> Iterator[Problem]:
    """Yield what is wrong with a rule in its curriculum."""
    action = step.adaptation_rules[number][1]
    path: Path = ("steps", step._index, "adaptation_rules", number)
    label = rule_label(step, number)
    try:
        step._conditions[number].check(kinds)
    except CurriculumError as error:
        own = f"; {_OWN}" if "unknown metric" in str(error) else ""
        yield Problem((*path, 0), f"{label}: {error}{own}")
    try:
        names = {other.order: other.name for other in curriculum.steps}
        actions.read(action, names, list(step.hints))
    except CurriculumError as error:
        yield Problem((*path, 1), f"{label}: {error}")
