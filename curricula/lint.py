"""Finds what is allowed in a curriculum but cannot be intended: dead rules, dead ends, dead steps.

Errors keep a curriculum from ever ending; warnings are about parts of it that have no effect;
notes are worth knowing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from piase_gym.core.world import MAX_HINT
from piase_gym.curricula import validation
from piase_gym.curricula.condition_syntax import tokenize
from piase_gym.curricula.decisions import default_action, follow, stages_with
from piase_gym.curricula.directors import director_name
from piase_gym.curricula.loader import load
from piase_gym.curricula.rule_analysis import COMPLETE, DEFAULT, Analysis, actions_of, analyse
from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum
from piase_gym.errors import PiaseError
from piase_gym.runs.metric_definitions import REACHED
from piase_gym.scenarios.reading import Key

Level = Literal["error", "warning", "note"]
END = -1
"""Stands for the end of a curriculum in the graph of its steps."""


@dataclass(frozen=True)
class Finding:
    """Something that `lint` found.

    Attributes:
        level: ``error``, ``warning`` or ``note``.
        place: ``file:line:column``, or whatever else the curriculum came from.
        message: What was found, naming step and rule.
    """

    level: Level
    place: str
    message: str

    def __str__(self) -> str:
        """Return the finding as one line."""
        return f"{self.place}: {self.message} ({self.level})"


_Found = tuple[Level, Key, str]


def lint(path_or_name: object, world: object = None) -> tuple[Finding, ...]:
    """Look for what cannot be intended.

    Args:
        path_or_name: A curriculum, its name or its path.
        world: A world, id or config object to check what the steps set against; by default the
            curriculum's own.

    Raises:
        CurriculumError: If there is no such curriculum, or it cannot be used at all.
    """
    curriculum = load(path_or_name)
    findings = []
    for warning in curriculum.warnings:
        place, _, message = warning.partition(": ")
        findings.append(Finding("warning", place, message))
    for level, path, message in _findings(curriculum, world):
        findings.append(Finding(level, curriculum.place(path), message))
    order = {"error": 0, "warning": 1, "note": 2}
    return tuple(sorted(findings, key=lambda finding: order[finding.level]))


def _findings(curriculum: DevelopmentalCurriculum, world: object) -> Iterator[_Found]:
    """Yield everything that is found."""
    for step in curriculum.steps:
        yield from _named(step, _metrics(curriculum, step))
        yield from _named(step, _names(curriculum, step))
    name = director_name(None, curriculum)
    if name == "scripted":
        yield from _rules_and_ways(curriculum)
    elif any(step.completion_criteria or step.rules for step in curriculum.steps):
        yield "note", ("director",), f"the director {name} ignores criteria and rules"
    yield from _world(curriculum, world)


def _rules_and_ways(curriculum: DevelopmentalCurriculum) -> Iterator[_Found]:
    """Yield what is found in rules and in the ways from step to step."""
    analyses = {
        step.order: analyse(step, branched_to=_comes_back(curriculum, step))
        for step in curriculum.steps
    }
    for step in curriculum.steps:
        found = analyses[step.order]
        yield from _named(step, _rules(step, found))
        yield from _named(step, _hints(step))
        yield from _named(step, _stages(curriculum, step))
        yield from _named(step, _exits(step, found))
    ways = {s.order: _next_orders(curriculum, s, analyses[s.order]) for s in curriculum.steps}
    for step in curriculum.steps:
        yield from _named(step, _reachability(curriculum, step, ways))


def _named(step: CurriculumStep, found: Iterable[_Found]) -> Iterator[_Found]:
    """Yield what is found in a step, with its place in the file, naming step and rule."""
    for level, path, message in found:
        of_rule = path[:1] == ("adaptation_rules",)
        label = validation.rule_label(step, int(path[1])) if of_rule else step.label
        yield level, ("steps", step.index, *path), f"{label}: {message}"


def _comes_back(curriculum: DevelopmentalCurriculum, step: CurriculumStep) -> bool:
    """Return whether a branch may lead to a step, or to one before it, once it is over."""
    return any(
        rule.action.kind == "BRANCH_TO"
        and curriculum.step(rule.action.target or 0).order <= step.order
        and (other.order, rule.action.target) != (step.order, step.order)
        for other in curriculum.steps
        for rule in other.rules
    )


# -- rules ----------------------------------------------------------------------------------------


def _rules(step: CurriculumStep, found: Analysis) -> Iterator[_Found]:
    """Yield rules that never decide, and criteria that never hold."""
    if not found.sure:
        text = "its rules calculate or tell too many cases apart, so dead rules were not looked for"
        yield "note", (), text
        return
    if step.completion_criteria and COMPLETE not in found.all:
        text = "its criteria can never hold together, so it is never complete"
        yield "warning", ("completion_criteria",), text
    for number in range(len(step.rules)):
        if number in found.all:
            continue
        if number not in found.alone:
            text = "its condition can never hold"
        elif 0 not in analyse(step.alone(number)).all:  # the step is complete where it holds
            text = "it holds only where the step is complete, and then it is not asked"
        else:
            text = "it never decides: where it holds, a rule before it does, or the step is over"
        yield "warning", ("adaptation_rules", number), text


# -- ways -----------------------------------------------------------------------------------------


def _next_orders(
    curriculum: DevelopmentalCurriculum, step: CurriculumStep, found: Analysis
) -> set[int]:
    """Return the orders of the steps that an attempt can lead to, and the end."""
    ways = set()
    stages = {s.developmental_stage_prerequisite or "" for s in curriculum.steps}
    for attempt, outcomes in found.outcomes.items():
        for outcome in outcomes:
            for action in actions_of(step, attempt, outcome):
                after = follow(curriculum, step, action, stages)
                ways.add(END if after is None else after)
    return ways


def _reach(ways: Mapping[int, set[int]], start: int) -> set[int]:
    """Return what can be reached from a place, including itself."""
    seen, front = {start}, [start]
    while front:
        for after in ways.get(front.pop(), ()):
            if after not in seen:
                seen.add(after)
                front.append(after)
    return seen


def _reachability(
    curriculum: DevelopmentalCurriculum, step: CurriculumStep, ways: Mapping[int, set[int]]
) -> Iterator[_Found]:
    """Yield a finding if a step cannot be reached, or has no way to the end."""
    reached = _reach(ways, step.order)
    if step.order not in _reach(ways, curriculum.steps[0].order):
        yield "warning", (), "no way leads to it from the first step"
    elif END not in reached:
        others = sorted(reached - {step.order})
        missing = "" if step.completion_criteria else "completion_criteria, "
        remedy = f"give it {missing}max_attempts or patience, or a rule that leads on"
        where = f"it leads only to the steps {others}" if others else remedy
        yield "error", (), f"there is no way out, whatever the agent does; {where}"


def _exits(step: CurriculumStep, found: Analysis) -> Iterator[_Found]:
    """Yield a note if an agent that never succeeds stays in the step for ever."""
    if not found.sure or not step.completion_criteria:
        return
    last = found.outcomes[max(found.outcomes)]
    default = default_action(step, max(found.outcomes))[0]
    stays = DEFAULT in last and default.kind == "REPEAT_STEP"
    leaves = [
        step.rules[n].action.kind not in ("REPEAT_STEP", "APPLY_HINT")
        for n in last
        if isinstance(n, int)
    ]
    if stays and not any(leaves):
        text = "an agent that never completes it stays in it; patience or a rule would end that"
        yield "note", (), text


# -- the rest -------------------------------------------------------------------------------------


def _hints(step: CurriculumStep) -> Iterator[_Found]:
    """Yield hints that are never given, and hints that are cut off."""
    given = {rule.action.target for rule in step.rules if rule.action.kind == "APPLY_HINT"}
    for key, hint in step.hints.items():
        if key not in given:
            yield "warning", ("hints", key), f"no rule gives the hint {key!r}"
        if len(hint.message) > MAX_HINT:
            text = f"the hint {key!r} has {len(hint.message)} characters; agents see {MAX_HINT}"
            yield "warning", ("hints", key), text


def _metrics(curriculum: DevelopmentalCurriculum, step: CurriculumStep) -> Iterator[_Found]:
    """Yield metrics that never have a value, or never the wanted one."""
    own = f"{REACHED}{step.order}"
    for need in step.needs:
        name = need.metric
        if name.startswith(REACHED) and name != own and need.window is None:
            text = f"{name} is always false here: it is true only in attempts at that step"
            yield "warning", (), f"{text}; this step has {own}"
        if name == "hints_used" and not step.hints and need.window is None:
            yield "warning", (), "hints_used is always 0 here, for the step has no hints"
        if name in curriculum.metrics and curriculum.metrics[name].metric is None:
            text = f"{name} is a metric of your own, which whoever runs the curriculum must define"
            yield "note", (), text
    for number, rule in enumerate(step.rules):
        unsure = [n for n in rule.condition.names if step.need(n).metric == "steps_to_goal"]
        has_or = any(word.text in ("or", "||") for word in tokenize(rule.condition.text))
        if unsure and len(rule.condition.names) > 1 and has_or:
            text = f"{unsure[0]} has no value before the goal is reached, and then the whole "
            text += "condition is false; give each side of 'or' a rule of its own"
            yield "warning", ("adaptation_rules", number), text


def _names(curriculum: DevelopmentalCurriculum, step: CurriculumStep) -> Iterator[_Found]:
    """Yield names that read like another step's order, because branches try orders first."""
    other = curriculum.find_step(int(step.name)) if step.name.isdecimal() else None
    if other is not None and other is not step:
        text = f"BRANCH_TO_{step.name} leads to {other.label}, for orders come before names"
        yield "warning", ("name",), text


def _stages(curriculum: DevelopmentalCurriculum, step: CurriculumStep) -> Iterator[_Found]:
    """Yield a finding if a step needs a stage to which no step leads, or if the end is near.

    An agent that goes on without having completed the step lacks its stage. If no step is open
    without it, the curriculum is finished, with steps that nobody has tried.
    """
    wanted, own = step.developmental_stage_prerequisite, step.developmental_stage_reached
    reached = {other.developmental_stage_reached for other in curriculum.steps}
    if wanted is not None and wanted not in reached:
        text = f"no step leads to the stage {wanted!r}, so only agents that bring it take this step"
        yield "warning", ("developmental_stage_prerequisite",), text
    before = {other.developmental_stage_reached for other in curriculum.steps[: step.index]}
    brought = {other.developmental_stage_prerequisite for other in curriculum.steps} - reached
    known = [stage for stage in before | brought if stage is not None]
    after = curriculum.step_after(step.order, stages_with(step, known))
    if after is None or curriculum.step_after(step.order, known) is not None:
        return
    text = f"without the stage {own!r} no later step is open, so PROCEED ends the curriculum before"
    for number, rule in enumerate(step.rules):
        if rule.action.kind == "PROCEED":
            yield "warning", ("adaptation_rules", number), f"{text} {after.label}"
    if curriculum.on_no_rule == "PROCEED":
        yield "warning", ("developmental_stage_reached",), f"{text} {after.label} (on_no_rule)"


def _world(curriculum: DevelopmentalCurriculum, world: object) -> Iterator[_Found]:
    """Yield what the world does not know of steps and agents, and what its envelope lacks."""
    if world is None and curriculum.world is None:
        text = "no world is named, so what the steps set was not checked; give one"
        yield "note", (), text
        return
    try:
        base = curriculum.base(world)
        given, wanted = base.largest_sizes(), curriculum.envelope(world)
    except PiaseError as error:
        yield "error", (), str(error).removeprefix(f"{curriculum.source}: ")
        return
    larger = type(given)(**wanted)
    if given.excess(larger):
        text = f"the steps need more than the world at its start: {', '.join(given.excess(larger))}"
        yield "note", (), f"{text}; make it with envelope={wanted}"
    named: dict[Key, str | None] = {("agent",): curriculum.agent, ("lead",): curriculum.lead}
    named |= {("partners", name): name for name in curriculum.partners}
    agents = base.names(larger.agents)
    for path, name in named.items():
        if name is not None and name not in agents:
            text = f"{path[0]}: the world has no agent {name!r} in any step"
            yield "warning", path, f"{text}; agents are {', '.join(agents)}"
    for step, config in curriculum.configs(world):
        counts = any(need.metric == "messages_sent" for need in step.needs)
        if counts and not getattr(config, "speech", not hasattr(config, "symbols")):
            text = "messages_sent is always 0 here: it counts words, and the config has no speech"
            yield from _named(step, [("warning", (), text)])
