"""What agents can say to a world: verbs, commands, their text form, and the outcomes.

A world declares its grammar as a tuple of `Verb`. Every action, whether an index, a box or a line
of text, decodes to a `Command` of that grammar or to a `Misread`, which says why it could not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from piase_gym.errors import suggest

MAX_LINE = 1000
"""Longest text action in characters; a longer one has the outcome ``too_long``."""


class Outcome(StrEnum):
    """What became of one agent's command in one step (``info["outcome"]``)."""

    OK = "ok"
    FAILED = "failed"  # allowed, but without effect: a bump, a locked desk
    ILLEGAL = "illegal"  # exactly what the action mask forbids
    UNPARSABLE = "unparsable"
    TOO_LONG = "too_long"
    TIMEOUT = "timeout"
    REFUSED = "refused"

    @property
    def status(self) -> str:
        """The status word of seed 000: ``success``, ``failure`` or ``invalid_action``."""
        return _STATUS.get(self, "invalid_action")


_STATUS = {Outcome.OK: "success", Outcome.FAILED: "failure", Outcome.TIMEOUT: "failure"}
OUTCOMES: tuple[Outcome, ...] = tuple(Outcome)
"""Outcomes by code, as kernels write them."""


class Result(StrEnum):
    """How an episode ended for an agent (``info["result"]``, only at the end)."""

    WON = "won"
    LOST = "lost"
    DRAWN = "drawn"
    ENDED = "ended"


class Command(NamedTuple):
    """A verb and its parameters: the light, inner form of `piase_gym.models.ActionCommand`."""

    verb: str
    parameters: Mapping[str, Any] = {}

    def __hash__(self) -> int:
        """Hash by verb and sorted parameters, so that commands can be table keys."""
        return hash((self.verb, json.dumps(self.parameters, sort_keys=True, default=str)))


class Misread(NamedTuple):
    """A line that is not a command: the outcome it has, and a sentence that explains it."""

    outcome: Outcome
    message: str


@dataclass(frozen=True)
class Param:
    """One parameter of a verb.

    Attributes:
        name: Key in `Command.parameters`.
        kind: JSON Schema type: ``string``, ``integer`` or ``number``.
        choices: The allowed values, if they can be listed.
        optional: Whether the parameter may be missing.
        description: One clause for prompts and tool schemas.
        before: Words that stand before the value in the text form, such as ``on``.
    """

    name: str
    kind: str = "string"
    choices: tuple[Any, ...] = ()
    optional: bool = False
    description: str = ""
    before: str = ""

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the value."""
        schema: dict[str, Any] = {"type": self.kind}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.description:
            schema["description"] = self.description
        return schema


@dataclass(frozen=True)
class Verb:
    """One verb of a world's grammar, with its parameters in the order of its text form."""

    name: str
    description: str
    params: tuple[Param, ...] = ()
    synonyms: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The text form, for prompts: ``use <item> [on <target>]``."""
        parts = [self.name]
        for param in self.params:
            value = "|".join(map(str, param.choices)) if param.choices else f"<{param.name}>"
            clause = f"{param.before} {value}".strip()
            parts.append(f"[{clause}]" if param.optional else clause)
        return " ".join(parts)

    def tool(self) -> dict[str, Any]:
        """Return the verb as a tool with a JSON Schema, in the form LLM APIs take."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": {
                "type": "object",
                "properties": {param.name: param.schema() for param in self.params},
                "required": [param.name for param in self.params if not param.optional],
                "additionalProperties": False,
            },
        }


def write_command(command: Command, grammar: Sequence[Verb]) -> str:
    """Return the line of text that stands for `command`, such as ``use key on desk``."""
    verb = next(item for item in grammar if item.name == command.verb)
    words = [verb.name]
    for param in verb.params:
        if param.name in command.parameters:
            words += [param.before, str(command.parameters[param.name])]
    return " ".join(word for word in words if word)


def read_command(line: object, grammar: Sequence[Verb]) -> Command | Misread:
    """Read a line of text against a grammar.

    Case, surrounding space and a final full stop do not matter. A verb may be given by one of its
    synonyms. Values with listed choices must be one of them.

    Args:
        line: The text; anything that is not a string is unparsable, not an error.
        grammar: The verbs to read against.

    Returns:
        The command, or a `Misread` whose message says what was expected.
    """
    if not isinstance(line, str):
        return Misread(Outcome.UNPARSABLE, f"a text action is a string, not {type(line).__name__}")
    if len(line) > MAX_LINE:
        message = f"the line has {len(line)} characters; at most {MAX_LINE} are read"
        return Misread(Outcome.TOO_LONG, message)
    words = " ".join(line.split()).rstrip(".!").lower()
    if not words:
        return Misread(Outcome.UNPARSABLE, f"the line is empty; {_usages(grammar)}")
    for verb in grammar:
        for spelling in (verb.name, *verb.synonyms):
            if words == spelling or words.startswith(spelling + " "):
                return _read_params(verb, words[len(spelling) :].strip())
    first = words.split(" ")[0]
    hint = suggest(first, [verb.name for verb in grammar])
    return Misread(Outcome.UNPARSABLE, f"I do not know how to {first[:40]!r}; {hint}")


def _read_params(verb: Verb, rest: str) -> Command | Misread:
    """Read the values of `verb` from the words after it."""
    values: dict[str, Any] = {}
    for place, param in enumerate(verb.params):
        rest = rest.removeprefix(param.before).strip() if param.before else rest
        following = verb.params[place + 1].before if place + 1 < len(verb.params) else ""
        head, _, tail = rest.partition(f" {following} ") if following else (rest, "", "")
        rest = f"{following} {tail}" if tail else ""
        value = _strip_article(head.strip(), param)
        if not value:
            if param.optional:
                continue
            return Misread(Outcome.UNPARSABLE, f"{verb.name!r} needs {param.name}: {verb.usage}")
        parsed = _read_value(value, param)
        if isinstance(parsed, Misread):
            return parsed
        values[param.name] = parsed
    if rest:
        return Misread(Outcome.UNPARSABLE, f"I did not understand {rest[:40]!r}: {verb.usage}")
    return Command(verb.name, values)


def _strip_article(value: str, param: Param) -> str:
    """Drop a leading article unless it belongs to a listed choice."""
    if value in param.choices:
        return value
    for article in ("the ", "a ", "an "):
        if value.startswith(article):
            return value[len(article) :]
    return value


def _read_value(value: str, param: Param) -> Any:
    """Convert one value to the parameter's type and check it against the choices."""
    converted: Any = value
    if param.kind in ("integer", "number"):
        try:
            converted = int(value) if param.kind == "integer" else float(value)
        except ValueError:
            return Misread(Outcome.UNPARSABLE, f"{param.name} must be a {param.kind}: {value!r}")
    if param.choices and converted not in param.choices:
        hint = suggest(converted, param.choices)
        return Misread(Outcome.UNPARSABLE, f"{param.name} cannot be {value[:40]!r}; {hint}")
    return converted


def check_command(command: Command, grammar: Sequence[Verb]) -> Command | Misread:
    """Check a command that came as data (not text) against the grammar.

    Returns:
        The same command with unknown parameters refused and types checked, or a `Misread`.
    """
    verb = next((item for item in grammar if command.verb in (item.name, *item.synonyms)), None)
    if verb is None:
        hint = suggest(command.verb, [item.name for item in grammar])
        return Misread(Outcome.UNPARSABLE, f"unknown action type {command.verb!r}; {hint}")
    names = [param.name for param in verb.params]
    extra = [key for key in command.parameters if key not in names]
    if extra:
        hint = suggest(extra[0], names)
        return Misread(Outcome.UNPARSABLE, f"{verb.name!r} has no parameter {extra[0]!r}; {hint}")
    values: dict[str, Any] = {}
    for param in verb.params:
        value = command.parameters.get(param.name)
        if value is None:
            if not param.optional:
                message = f"{verb.name!r} needs the parameter {param.name!r}: {verb.usage}"
                return Misread(Outcome.UNPARSABLE, message)
            continue
        parsed = _check_value(value, param)
        if isinstance(parsed, Misread):
            return parsed
        values[param.name] = parsed
    return Command(verb.name, values)


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
}


def _check_value(value: Any, param: Param) -> Any:
    """Check the type and the choices of one value."""
    if isinstance(value, bool) or not isinstance(value, _TYPES[param.kind]):
        kind = type(value).__name__
        message = f"{param.name} must be of type {param.kind}, not {kind}"
        return Misread(Outcome.UNPARSABLE, message)
    if param.choices and value not in param.choices:
        hint = suggest(value, param.choices)
        return Misread(Outcome.UNPARSABLE, f"{param.name} cannot be {str(value)[:40]!r}; {hint}")
    return value


def _usages(grammar: Sequence[Verb]) -> str:
    """List the text forms of a grammar."""
    return "commands: " + "; ".join(verb.usage for verb in grammar)
