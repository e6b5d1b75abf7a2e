"""Loads curricula: from the library by name, or from files; every error says where and what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from piase_gym.core.files import SCENARIO_SUFFIXES, is_file
from piase_gym.curricula import validation
from piase_gym.curricula.fences import fence_problem_in_file, fence_problem_in_text
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.errors import CurriculumError, ScenarioError, UnknownNameError
from piase_gym.runs.metric_definitions import REACHED
from piase_gym.scenarios.explaining import EXPECTED, find
from piase_gym.scenarios.reading import Document, Key, SourcePosition, dotted, read_file, read_text

SUFFIX = ".curriculum.json"
MOST_BYTES = 4_000_000


def _library() -> dict[str, Path]:
    """Return the files of the library by name."""
    folder = Path(str(files("piase_gym.curricula.library")))
    return {p.name.removesuffix(SUFFIX): p for p in sorted(folder.glob(f"*{SUFFIX}"))}


def names() -> tuple[str, ...]:
    """Return the names of the curricula that ship, sorted."""
    return tuple(sorted(_library()))


def load(path_or_name: object) -> DevelopmentalCurriculum:
    """Load a curriculum.

    Args:
        path_or_name: A name from `names()`, or the path of a ``.json`` file (``.yaml`` and
            ``.yml`` are read too); or the content of such a file, as a mapping. A curriculum
            is returned as it is.

    Returns:
        The curriculum, checked.

    Raises:
        CurriculumError: If there is none, or something is wrong with it; each line of the message
            says ``file:line:column: step, rule: what is wrong, what is allowed``.
    """
    if isinstance(path_or_name, DevelopmentalCurriculum):
        return path_or_name
    if isinstance(path_or_name, Mapping):
        return build(Document(dict(path_or_name)), "<data>", None)
    if not isinstance(path_or_name, str | Path):
        kind = type(path_or_name).__name__
        raise CurriculumError(f"a curriculum is named by a string or a path, not {kind}")
    path = find_file(path_or_name)
    try:
        document = read_file(path, MOST_BYTES)
    except ScenarioError as error:
        raise CurriculumError(fence_problem_in_file(path) or str(error)) from None
    return build(document, str(path), path.parent)


def loads(text: str, source: str = "<text>", folder: Path | None = None) -> DevelopmentalCurriculum:
    """Read a curriculum from JSON text.

    Args:
        text: The text.
        source: The name of the text in errors.
        folder: The folder of its prompt files.

    Raises:
        CurriculumError: As `load`.
    """
    try:
        document = read_text(text, source, as_json=True, most=MOST_BYTES)
    except ScenarioError as error:
        raise CurriculumError(fence_problem_in_text(text, source) or str(error)) from None
    return build(document, source, folder)


def find_file(path_or_name: str | Path) -> Path:
    """Return the file that a name or path stands for.

    Raises:
        CurriculumError: If there is none.
    """
    path, known = Path(path_or_name), _library()
    if str(path_or_name) in known:
        return known[str(path_or_name)]
    if is_file(path):
        return path
    if path.suffix.lower() in SCENARIO_SUFFIXES:
        raise CurriculumError(
            f"there is no file {str(path)!r:.200}; allowed: a path, or a name of {', '.join(known)}"
        )
    raise CurriculumError(str(UnknownNameError("curriculum", f"{path_or_name!s:.200}", known)))


# -- checking -------------------------------------------------------------------------------------


def build(document: Document, source: str, folder: Path | None) -> DevelopmentalCurriculum:
    """Check a document and return the curriculum.

    Raises:
        CurriculumError: See `load`.
    """
    if not isinstance(document.data, Mapping):
        found = type(document.data).__name__ if document.data is not None else "nothing"
        raise CurriculumError(f"{source}:1:1: a curriculum is a mapping of keys, not {found}")
    reported: dict[tuple[SourcePosition, str], None] = {}
    recovery, more = ErrorRecovery(document.data), True
    curriculum = None
    while curriculum is None and more and len(reported) < validation.MOST_PROBLEMS:
        try:
            context = {"folder": folder}
            curriculum = DevelopmentalCurriculum.model_validate(recovery.data, context=context)
        except ValidationError as error:
            rows = list(islice(_explain(error, document), validation.MOST_PROBLEMS))
            for key, message in rows:
                words = recovery.wording(message)
                if words is not None:
                    reported[document.place(key), words] = None
            more = recovery.replace(key for key, _ in rows)
    if curriculum is not None:
        curriculum.set_origin(document, source)
        for place, message in _config_problems(curriculum, document):
            reported[place, recovery.wording(message) or message] = None
        warnings = list(_prompt_warnings(curriculum, document, folder))
        reported |= {(place, words): None for place, words, wrong in warnings if wrong}
        if not reported:
            curriculum.set_warnings(f"{place}: {words}" for place, words, _ in warnings)
            return curriculum
    lines = [f"{place}: {words}" for place, words in sorted(reported)[: validation.MOST_PROBLEMS]]
    raise CurriculumError("\n".join(lines))


def _explain(error: ValidationError, document: Document) -> Iterator[tuple[Key, str]]:
    """Yield each problem: the key of the part of the file, and a message naming step and rule."""
    for problem in validation.problems_in(error):
        yield find(document, problem.path), problem.message
    shapes: dict[Key, list[str]] = {}
    others: set[Key] = set()
    for key, message in validation.shapes_in(error, DevelopmentalCurriculum, document):
        wanted, is_shape, got = message.partition(EXPECTED)
        if is_shape:
            shapes.setdefault(key, [got]).insert(-1, wanted)
        else:
            others.add(key)
            yield key, f"{_place_in_words(document, key)}{message}"
    for key, (*wanteds, got) in shapes.items():  # one line for a value of several kinds
        if key in others:
            continue
        wanted = " or ".join(dict.fromkeys(wanteds))
        yield key, f"{_place_in_words(document, key)}{wanted}{EXPECTED}{got}"


def _place_in_words(document: Document, key: Key) -> str:
    """Return a description of a place: the step by order and name, and the key in it."""
    if len(key) < 2 or key[0] != "steps":
        return f"{dotted(key)}: " if key else ""
    step = document.data["steps"][key[1]]
    name = step.get("name") if isinstance(step, Mapping) else None
    order = step.get("order", "?") if isinstance(step, Mapping) else "?"
    label = f"step {order!r:.20} {name!r:.80}" if name else f"steps.{key[1]}"
    rest = list(key[2:])
    if rest[:1] == ["adaptation_rules"] and len(rest) > 1:
        label += f", rule {int(rest[1]) + 1} [condition, decision]"
        rest = rest[3:] if len(rest) > 2 else rest[2:]
    inside = dotted(tuple(rest))
    return f"{label}: {inside + ': ' if inside else ''}"


_FIELD = re.compile(r"^\w+(?:\.|: unknown key ')(\w+)")
"""The field of a config that is wrong, in the first words of a message about it."""


def _config_problems(
    curriculum: DevelopmentalCurriculum, document: Document
) -> Iterator[tuple[SourcePosition, str]]:
    """Yield what is wrong with what the steps set in the curriculum's own world."""
    if curriculum.world is None:
        return
    base = curriculum.base()
    for step in curriculum.steps:
        try:
            curriculum.config(step, base)
        except CurriculumError as error:
            path = ("steps", step.index, "environment_config_overrides")
            words = str(error).removeprefix(f"{curriculum.source}: {step.label}: ")
            for line in words.splitlines():
                place = document.place(find(document, (*path, *_FIELD.findall(line))))
                yield place, f"{step.label}: {line}"


def _prompt_warnings(
    curriculum: DevelopmentalCurriculum, document: Document, folder: Path | None
) -> Iterator[tuple[SourcePosition, str, bool]]:
    """Yield the steps with a missing or a wrong prompt; a wrong one is an error."""
    from piase_gym.curricula import prompts

    for step in curriculum.steps:
        if not step.prompt_reference or folder is None:
            continue
        place: SourcePosition = document.place(("steps", step.index, "prompt_reference"))
        try:
            if prompts.prompt_of(curriculum, step) is None:
                named = f"there is no prompt file {step.prompt_reference!r} in {str(folder)!r}"
                yield place, f"{step.label}: {named}", False
        except CurriculumError as error:
            yield place, f"{step.label}: its prompt is wrong:\n{error}", True


_ORDERS = 2_000_000_000
"""Orders from here on stand for orders that are missing or wrong."""
_ORDER = re.compile(r"(?<!\d)20000\d{5}(?!\d)")
_GOAL = re.compile(r", 'reached_goal_20000\d{5}'")
_NEUTRAL: Mapping[str, Any] = {
    "adaptation_rules": ["step_attempts < 0", "REPEAT_STEP"],
    "completion_criteria": {"metric": "success_rate", "operator": ">=", "value": 0.0},
    "hints": {"data": {"message": "?"}},
}
"""What takes the place of a wrong entry."""


class ErrorRecovery:
    """The data of a curriculum, in which wrong parts are replaced round by round.

    Args:
        data: The data as it was read; it is not changed.

    Attributes:
        data: The data to check next.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Begin with what was read."""
        self.data: dict[str, Any] = dict(data)
        self._follows: set[str] = set()

    def wording(self, message: str) -> str | None:
        """Return a problem in words that fit the file; ``None`` if it follows from another."""
        if any(words in message for words in self._follows):
            return None
        return _ORDER.sub("'?'", _GOAL.sub("", message))

    def replace(self, keys: Iterable[Key]) -> bool:
        """Replace what is wrong; return whether there is anything new to check."""
        before = self.data
        self.data = _copy(before)
        for key in keys:
            if not (self._in_step(key) if key[:1] == ("steps",) else self._in_head(key)):
                return False
        return bool(self.data != before)

    def _in_head(self, key: Key) -> bool:
        """Replace something outside of the steps."""
        data = self.data
        if not key:
            data.pop("__type__", None)
            data.setdefault("name", "?")
            return "steps" in data
        inside = data.get(str(key[0]))
        if key[0] == "name":
            data["name"] = "?"
        elif len(key) > 1 and isinstance(inside, dict):
            inside.pop(key[1], None)
        else:
            data.pop(str(key[0]), None)
        if key[0] == "metrics":
            self._follows.add(f"metric {key[1]!r}" if len(key) > 1 else "unknown metric")
        return True

    def _in_step(self, key: Key) -> bool:
        """Replace something in a step."""
        if len(key) < 2:
            return False
        steps, index = self.data["steps"], int(key[1])
        named = {"order": _ORDERS + index, "name": f"steps.{index}"}
        step = steps[index]
        if not isinstance(step, dict):
            step = steps[index] = {}
        if len(key) == 2:
            step.pop("__type__", None)
            if "environment_config" in step:
                step.pop("environment_config_overrides", None)
        field = str(key[2]) if len(key) > 2 else ""
        if field in named:
            step.pop(field, None)
        if not step.keys() >= named.keys():
            self._follows |= {"unknown branch target", f"unknown metric '{REACHED}"}
        for name, value in named.items():
            step.setdefault(name, value)
        if field not in named and field in step:
            self._in_field(step, field, key[3:])
        return True

    def _in_field(self, step: dict[str, Any], field: str, rest: Key) -> None:
        """Replace a field of a step, or an entry of it."""
        inside: Any = step[field]
        if rest and field in _NEUTRAL:
            inside[rest[0]] = _NEUTRAL[field]
        elif rest and isinstance(inside, dict) and rest[0] in inside:
            del inside[rest[0]]
        else:
            del step[field]
            if field == "hints":
                self._follows.add("unknown hint")


def _copy(value: Any) -> Any:
    """Return a copy of plain data."""
    if isinstance(value, Mapping):
        return {name: _copy(entry) for name, entry in value.items()}
    return [_copy(entry) for entry in value] if isinstance(value, list | tuple) else value
