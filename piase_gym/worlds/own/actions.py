"""Conversion of the environments' descriptions of their actions to verbs and commands."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from piase_gym.core.commands import Command, Param, Verb
from piase_gym.worlds.own.faults import wrong

MOST_COMMANDS = 1024
"""The largest number of commands that indices stand for."""
LINE = "act"
"""The verb of environments whose action is a line of text; its one parameter is ``text``."""
WAIT = Verb("wait", "Do nothing in this step; the environment is not called.")
IDLE = ("wait", "noop", "no-op", "no_op", "none", "stay", "pass", "idle")
"""Verbs without parameters that are taken for the no-op."""
EXPLORER = (
    "forward backward move_left move_right move_up move_down "
    "look_left look_right look_up look_down tilt_left tilt_right"
).split()
"""The actions of the explorer document, for environments that name none."""
_KINDS = {"string": "string", "str": "string", "integer": "integer", "int": "integer"}
_KINDS |= {"number": "number", "float": "number"}
_WORDS = {True: "true", False: "false", None: "null"}
"""How choices that are not words are written; other choices are written as their ``str``."""


@dataclass(frozen=True)
class OwnParam(Param):
    """A parameter whose choices are words for values that no command has, such as true.

    Attributes:
        values: The value that the environment gets for each choice; empty if it gets the choice.
    """

    values: tuple[Any, ...] = ()


def verbs_of_schema(schema: Any) -> tuple[Verb, ...]:
    """Return the verbs of ``{verb: {"description", "parameters": {name: JSON Schema}}}``."""
    if not isinstance(schema, Mapping):
        raise wrong("the action space", schema, "a mapping of verbs")
    return tuple(_verb(str(name), part) for name, part in schema.items())


def _verb(name: str, part: Any) -> Verb:
    """Return one verb; a text in place of its fields describes it."""
    fields = {"description": part} if isinstance(part, str) else fields_of(part)
    parameters = fields.get("parameters") or {}
    described = part is None or isinstance(part, str | Mapping) or hasattr(part, "__dict__")
    if not name.strip() or not described or not isinstance(parameters, Mapping):
        raise wrong(f"the action {name!r:.40}", part, "a verb with a mapping of parameters")
    required = parameters.get("required")
    if isinstance(parameters.get("properties"), Mapping):  # a whole JSON Schema
        parameters = parameters["properties"]
    names = list(parameters)
    params = [
        _param(str(key), value, key == names[-1], required) for key, value in parameters.items()
    ]
    return Verb(name, str(fields.get("description") or name), tuple(params))


def _param(name: str, schema: Any, last: bool, required: Any) -> Param:
    """Return one parameter; the environment-layer document has `choices` in place of `enum`."""
    if isinstance(schema, str):
        schema = {"type": schema}
    if not isinstance(schema, Mapping):
        raise wrong(f"the parameter {name!r:.40}", schema, 'a JSON Schema, such as {"enum": [...]}')
    given = str(schema.get("type", "string"))
    allowed = schema.get("choices") or schema.get("enum") or ()
    if isinstance(allowed, str) or not isinstance(allowed, Sequence):
        raise wrong(f"the choices of {name!r:.40}", allowed, "a list")
    choices = tuple(allowed)
    kind: Any = _KINDS.get(given, "text")
    values: tuple[Any, ...] = ()
    if given in ("boolean", "bool"):
        choices = choices or (True, False)
    if choices and all(type(choice) is int for choice in choices):
        kind = "integer"
    elif choices and all(type(choice) in (int, float) for choice in choices):
        kind = "number"
    elif choices:
        kind, values = "string", choices
        choices = tuple(_word_of(choice) for choice in choices)
    elif kind == "string" and last:
        kind = "text"  # to the end of the line, word for word
    optional = bool(schema.get("optional")) or (
        isinstance(required, list | tuple) and name not in required
    )
    return OwnParam(
        name,
        kind=kind,
        choices=choices,
        optional=optional,
        description=str(schema.get("description", "")),
        minimum=schema.get("minimum"),
        maximum=schema.get("maximum"),
        values=() if values == choices else values,
    )


def _word_of(choice: Any) -> str:
    """Return a choice as it is written."""
    return _WORDS[choice] if choice is None or isinstance(choice, bool) else str(choice)


def verbs_of_lines(schema: Any) -> tuple[Verb, ...]:
    """Return the verbs of a JSON Schema: the lines in its first ``enum``, or `LINE` without one."""
    if not isinstance(schema, Mapping):
        raise wrong("the action space", schema, "a JSON Schema")
    properties = schema.get("properties")
    rows = list(properties.values()) if isinstance(properties, Mapping) else [schema]
    listed = next(
        (row["enum"] for row in rows if isinstance(row, Mapping) and row.get("enum")), None
    )
    if listed is None:
        return (
            Verb(
                LINE, "Any line of text; the line itself is the action.", (Param("text", "text"),)
            ),
        )
    if not isinstance(listed, list | tuple):
        raise wrong("the enum of the action space", listed, "a list of lines")
    return tuple(Verb(str(line), f"Do {line!r}.") for line in dict.fromkeys(listed))


def verbs_of_names(names: Any) -> tuple[Verb, ...]:
    """Return verbs without parameters."""
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise wrong("the list of actions", names, "a list of names")
    return tuple(Verb(name, f"Do {name!r}.") for name in dict.fromkeys(names))


def listed(verbs: Sequence[Verb]) -> tuple[Command, ...]:
    """Return every command of the verbs that have choices for all required parameters."""
    return tuple(itertools.islice(_commands(verbs), MOST_COMMANDS))


def _commands(verbs: Sequence[Verb]) -> Iterator[Command]:
    for verb in verbs:
        needed = [param for param in verb.params if not param.optional]
        if all(param.choices for param in needed):
            for values in itertools.product(*(param.choices for param in needed)):
                names = (param.name for param in needed)
                yield Command(verb.name, dict(zip(names, values, strict=True)))


def noop_of(verbs: Sequence[Verb]) -> Verb | None:
    """Return the verb that does nothing, if there is one."""
    plain = {verb.name.lower(): verb for verb in verbs if not verb.params}
    return next((plain[name] for name in IDLE if name in plain), None)


def parameters_of(command: Command, verbs: Sequence[Verb]) -> dict[str, Any]:
    """Return the parameters of a command as the environment takes them."""
    found = dict(command.parameters)
    for param in _worded(command, verbs):
        found[param.name] = param.values[param.choices.index(found[param.name])]
    return found


def in_words(command: Command, verbs: Sequence[Verb]) -> Command:
    """Return a command that came as data, with values written as the words of their choices."""
    if not isinstance(command.parameters, Mapping):
        return command  # the check that follows reports this
    found = dict(command.parameters)
    for param in _worded(command, verbs):
        given = found[param.name]
        for value, word in zip(param.values, param.choices, strict=True):
            if type(given) is type(value) and given == value:
                found[param.name] = word
    return Command(command.verb, found)


def _worded(command: Command, verbs: Sequence[Verb]) -> Iterator[OwnParam]:
    """Yield the given parameters of a command that have words for values as their choices."""
    for verb in verbs:
        for param in verb.params if command.verb in (verb.name, verb.tool_name) else ():
            if isinstance(param, OwnParam) and param.values and param.name in command.parameters:
                yield param


def fields_of(value: Any) -> dict[str, Any]:
    """Return what a mapping, a model or a dataclass holds, by name."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    return dict(getattr(value, "__dict__", {}))
