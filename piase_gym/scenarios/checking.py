"""What is wrong with the config and the script of a scenario, with places in its file."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from piase_gym.core.script.checks import problems
from piase_gym.core.script.models import Goal, Script
from piase_gym.core.validation_messages import in_words, without_branches
from piase_gym.errors import ConfigError, MissingExtraError, UnknownNameError, suggest
from piase_gym.registry import load as load_entry_point
from piase_gym.scenarios.explaining import find, located, sentence
from piase_gym.scenarios.reading import Document, Key, dotted
from piase_gym.scenarios.schema import (
    AgentPart,
    GoalReached,
    ScenarioHead,
    WorldScenario,
)
from piase_gym.worlds.text_room.levels.story_rules import MaxSteps

# -- scripts --------------------------------------------------------------------------------------

_PLAIN = ("win_logic", "ends", "win_reward", "lose_reward", "shaping")


def script_of(
    head: WorldScenario, agents: tuple[AgentPart, ...]
) -> tuple[Script | None, dict[Key, Key]]:
    """Return the script of a scenario, if it has one, and where its parts are in the file."""
    places: dict[Key, Key] = {}
    ends: dict[str, list[Any]] = {}
    for name, own in (("win_conditions", GoalReached), ("lose_conditions", MaxSteps)):
        rows = [(k, c) for k, c in enumerate(getattr(head, name)) if not isinstance(c, own)]
        ends[name] = [condition for _, condition in rows]
        places |= {(name, n): (name, k) for n, (k, _) in enumerate(rows)}
    goals: list[Goal] = []
    for k, agent in enumerate(agents):
        if agent.goal or agent.win_conditions or agent.lose_conditions or agent.reward:
            places["goals", len(goals)] = ("initial_state", "agent_setup", k)
            goals.append(
                Goal(
                    agent_id=agent.agent_id,
                    words=agent.goal,
                    win_conditions=agent.win_conditions,
                    lose_conditions=agent.lose_conditions,
                    reward=agent.reward,
                )
            )
    events = [event.as_rule() for event in head.events]
    if not (goals or events or head.shaping or any(ends.values())):
        return None, places
    plain = {name: getattr(head, name) for name in _PLAIN}
    return Script(goals=tuple(goals), events=tuple(events), **ends, **plain), places


def checked_script(
    spec: Any,
    head: WorldScenario,
    agents: tuple[AgentPart, ...],
    fields: Mapping[str, Any],
    document: Document,
) -> tuple[Script | None, list[str]]:
    """Return the script of a scenario, and a line for each problem of it and of the config."""
    lines = config_problems(spec, fields, document)
    config = _right_part(load_entry_point(spec.config, spec), fields)
    names = config.names() if config is not None else [agent.agent_id for agent in agents]
    for k, condition in enumerate(head.win_conditions):
        who = condition.agent_id if isinstance(condition, GoalReached) else None
        if who is not None and names and who not in names:
            key = find(document, ("win_conditions", k, "agent_id"))
            message = UnknownNameError("agent", who, list(names)).args[0]
            lines.append(document.line(key, message))
    script, places = script_of(head, agents)
    kind = None
    with contextlib.suppress(MissingExtraError):  # reported when the world is made
        kind = load_entry_point(spec.world, spec)
    if script is not None and kind is not None and names:
        for problem in problems(script, kind, config, names):
            start = places.get(problem.path[:2], problem.path[:2])
            key = find(document, (*start, *problem.path[2:]))
            lines.append(document.line(key, problem.message))
    return script, lines


def _right_part(model: Any, fields: Mapping[str, Any]) -> Any:
    """Return a config of those fields that are valid, or ``None`` if there is none."""
    for _ in range(2):
        try:
            return model(**fields)
        except ConfigError as error:
            found = error.__context__
            if not isinstance(found, ValidationError):
                return None
            wrong = {item["loc"][0] for item in found.errors() if item["loc"]}
            fields = {name: fields[name] for name in fields if name not in wrong}
    return None


_STEP: Final = {"type": "step_reached", "step": 1}
_HOLDS: Final = {"fact": "step", "at_least": 0}
_FLAG: Final = {"type": "flag_set", "flag_name": "flag"}
_WORLD: Final[Mapping[str, Any]] = {
    **dict.fromkeys("win_conditions lose_conditions when all any none not".split(), _HOLDS),
    "trigger": _STEP,
    "response": {"type": "reward", "amount": 0.0},
    "shaping": {"fact": "step", "weight": 0.0},
}
_STORY: Final[Mapping[str, Any]] = {
    **dict.fromkeys("win_conditions lose_conditions conditions".split(), _FLAG),
    "trigger": _STEP,
    "response": {"type": "log_milestone", "milestone_name": "milestone"},
}
"""Valid stand-ins for the parts of a scenario that may be invalid: of worlds, and of stories."""
_ROUNDS = 5


def rest_of(
    model: type[ScenarioHead], document: Document, error: ValidationError
) -> tuple[ScenarioHead, tuple[Key, ...]] | None:
    """Return a scenario without its invalid parts, so that all mistakes are reported at once.

    The smallest parts that a validation error is about are replaced by valid ones or left out.

    Returns:
        The scenario and the keys of those parts, about which no more should be reported; ``None``
        if the scenario cannot be made valid.
    """
    parts = _WORLD if model is WorldScenario else _STORY
    data, replaced = copy.deepcopy(document.data), dict[Key, None]()
    for _ in range(_ROUNDS):
        for key, _ in located(error, model, document):
            if not any(key[:n] in replaced for n in range(len(key) + 1)):
                replaced[_replace(data, key, parts)] = None
        try:
            return model.model_validate({"scenario_name": "scenario", **data}), tuple(replaced)
        except ValidationError as more:
            error = more
    return None


def about_others(lines: Iterable[str], parts: Sequence[Key]) -> list[str]:
    """Return the complaints that are not about some parts, their contents, or their lists."""
    inside = tuple(dotted(key) + "." for key in parts)
    lists = {dotted(key[:-1]) for key in parts if key and isinstance(key[-1], int)}
    named = [(line, line.split(": ")[1]) for line in lines]
    return [
        line for line, where in named if where not in lists and not f"{where}.".startswith(inside)
    ]


def _replace(data: Any, key: Key, parts: Mapping[str, Any]) -> Key:
    """Replace the smallest part that a key leads into, or leave it out; return the part's key."""
    kinds = [part if isinstance(part, str) else key[n - 1] for n, part in enumerate(key)]
    ends = [
        n
        for n, kind in enumerate(kinds, 1)
        if kind in parts and not isinstance(_value_at(data, key[:n]), list)
    ]
    part = key[: ends[-1]] if ends else key
    holder = _value_at(data, part[:-1])
    if ends and holder is not None:
        holder[part[-1]] = copy.deepcopy(parts[str(kinds[ends[-1] - 1])])
    elif isinstance(holder, list):
        return _replace(data, part[:-1], parts)
    elif isinstance(holder, dict) and part:
        holder.pop(part[-1], None)
    return part


def _value_at(data: Any, key: Key) -> Any:
    """Return the value at a key, or ``None``."""
    for part in key:
        try:
            data = data[part]
        except (LookupError, TypeError):
            return None
    return data


# -- characters -----------------------------------------------------------------------------------


def character_problems(
    head: ScenarioHead,
    rooms: list[str] | None,
    document: Document,
    spec: Any = None,
    fields: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return what is wrong with the characters of a scenario, one line per problem.

    Args:
        head: The scenario.
        rooms: The rooms of a story, or ``None``.
        document: The file.
        spec: The world, if it is no story.
        fields: The fields of its config.
    """

    def place_problem(place: Any) -> str | None:
        if rooms is not None:
            return None if place in rooms else f"unknown room {place!r}; {suggest(place, rooms)}"
        if isinstance(place, str):
            return f"a place is (x, y), not {place!r}"
        if config is None:
            return None
        message: str | None = kind.place_problem(config, "key", place)
        return message and message.split(", and")[0].split("; ")[0]

    config: Any = None
    kind: Any = None
    if rooms is None and head.characters:
        if spec.name != "GridWorld":
            message = "people live in TextRoom and GridWorld alone"
            return [document.line(("characters",), message)]
        rest = {name: value for name, value in (fields or {}).items() if name != "start_pos"}
        config = _right_part(load_entry_point(spec.config, spec), rest)
        kind = load_entry_point(spec.world, spec)
    lines = []
    for k, character in enumerate(head.characters):
        for problem in character.problems(place_problem):
            key = find(document, ("characters", k, *problem.path))
            lines.append(document.line(key, problem.message))
    return lines


# -- configs --------------------------------------------------------------------------------------

_LINE = re.compile(r"\w+(?:\.([\w.-]+))?: (.*)")
_UNKNOWN = re.compile(r"unknown key '([^']+)'")


def config_problems(spec: Any, fields: Mapping[str, Any], document: Document) -> list[str]:
    """Return what is wrong with a config, one line per problem, with its place in the file."""
    try:
        config = load_entry_point(spec.config, spec)(**fields)
        config.fixed_envelope()
    except MissingExtraError:
        raise
    except ConfigError as error:
        found = error.__context__
        if isinstance(found, ValidationError):
            lines = list(_explain_fields(found, load_entry_point(spec.config, spec), document))
        else:
            lines = [_locate(line, document) for line in str(error).splitlines()]
        return lines
    return []


def _explain_fields(
    error: ValidationError, model: type[BaseModel], document: Document
) -> Iterator[str]:
    """Yield a line for each field of a config that is wrong, with its place in the file."""
    for item in error.errors(include_url=False):
        path = tuple(item["loc"])
        if not path:  # about several fields; the sentence begins with the name of one of them
            yield _locate(f"{model.__name__}: {in_words(item)}", document)
            continue
        parts = (("initial_state",), ("config",), ())
        start = next((p for p in parts if path[0] in find(document, (*p, path[0]))), ())
        key = find(document, (*start, *path)) or ("initial_state", *without_branches(path))
        message = sentence(item, model, path)
        yield document.line(key, message)


def _locate(line: str, document: Document) -> str:
    """Put the place of the field in question before a complaint about a config."""
    match, unknown = _LINE.fullmatch(line), _UNKNOWN.search(line)
    dotted = unknown.group(1) if unknown else (match.group(1) or "") if match else ""
    message = match.group(2) if match else line
    path = tuple(int(part) if part.isdigit() else part for part in dotted.split("."))
    for start in (("initial_state",), ("config",), ()):
        key = find(document, (*start, *path))
        if path[0] and path[0] in key:
            return document.line(key, message)
    found = re.match(r"\w+", message)
    first = found.group() if found else ""
    key = find(document, ("initial_state", first))
    key = key if first in key else ("initial_state",)
    return document.line(key, message)
