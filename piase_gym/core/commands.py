"""What agents can say to a world: verbs, commands, their text form, and the outcomes.

A world declares its grammar as a tuple of `Verb`. Every action, whether an index, a box or a line
of text, decodes to a `Command` of that grammar or to an `InvalidAction`, which says why it could
not.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from piase_gym.errors import ActionError, suggest

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
        """The PiaSE design document's status: ``success``, ``failure`` or ``invalid_action``."""
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


RESULTS: tuple[Result | None, ...] = (None, *Result)
"""Results by code, as batches report them; the first code stands for no end in this step."""


class Command(NamedTuple):
    """A verb and its parameters: the light, inner form of `piase_gym.core.models.ActionCommand`."""

    verb: str
    parameters: Mapping[str, Any] = {}

    def __hash__(self) -> int:
        """Hash by verb and sorted parameters, so that commands can be table keys."""
        return hash((self.verb, json.dumps(self.parameters, sort_keys=True, default=str)))


class InvalidAction(NamedTuple):
    """An action that is no command, or not legal: its outcome, and a sentence that explains it."""

    outcome: Outcome
    message: str


@dataclass(frozen=True)
class Param:
    """One parameter of a verb.

    Attributes:
        name: Key in `Command.parameters`.
        kind: ``string``, ``integer``, ``number`` (finite), or ``text``, which is the rest of the
            line word for word.
        choices: The allowed values, if they can be listed.
        optional: Whether the parameter may be missing.
        description: One clause for prompts and tool schemas.
        before: Words that stand before the value in the text form, such as ``on``.
        minimum: The least number allowed.
        maximum: The greatest number allowed.
    """

    name: str
    kind: Literal["string", "integer", "number", "text"] = "string"
    choices: tuple[Any, ...] = ()
    optional: bool = False
    description: str = ""
    before: str = ""
    minimum: float | None = None
    maximum: float | None = None

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the value."""
        schema: dict[str, Any] = {"type": "string" if self.kind == "text" else self.kind}
        extras = {
            "enum": list(self.choices) or None,
            "description": self.description or None,
            "minimum": self.minimum,
            "maximum": self.maximum,
        }
        return schema | {key: value for key, value in extras.items() if value is not None}

    @property
    def usage(self) -> str:
        """How the value is shown in usages: ``up|down``, ``<item>``, ``<x from -1 to 1>``."""
        if self.choices:
            return "|".join(map(str, self.choices))
        if self.minimum is not None and self.maximum is not None:
            return f"<{self.name} from {self.minimum:g} to {self.maximum:g}>"
        return f"<{self.name}>"

    @property
    def one_word(self) -> bool:
        """Whether a value is always a single word of the line."""
        plain = all(" " not in str(choice) for choice in self.choices)
        return self.kind in ("integer", "number") or bool(self.choices and plain)


@dataclass(frozen=True)
class Verb:
    """One verb of a world's grammar, with its parameters in the order of its text form."""

    name: str
    description: str
    params: tuple[Param, ...] = ()
    synonyms: tuple[str, ...] = ()

    def __deepcopy__(self, _memo: Any) -> Verb:
        """Return itself: it never changes."""
        return self

    @property
    def usage(self) -> str:
        """The text form, for prompts: ``use <item> [on <target>]``."""
        parts = [self.name]
        for param in self.params:
            clause = f"{param.before} {param.usage}".strip()
            parts.append(f"[{clause}]" if param.optional else clause)
        return " ".join(parts)

    @property
    def tool_name(self) -> str:
        """The name in the characters that LLM APIs allow, by which `check_command` knows it too."""
        return re.sub(r"[^A-Za-z0-9_-]", _in_ascii, self.name)[:64]

    def tool(self) -> dict[str, Any]:
        """Return the verb as a tool with a JSON Schema, in the form LLM APIs take."""
        return {
            "name": self.tool_name,
            "description": self.description,
            "parameters": {
                "type": "object",
                "properties": {param.name: param.schema() for param in self.params},
                "required": [param.name for param in self.params if not param.optional],
                "additionalProperties": False,
            },
        }


def _in_ascii(found: re.Match[str]) -> str:
    """Return what stands for a character in names of tools; letters of all scripts stay apart."""
    return "_" if found[0].isascii() else f"u{ord(found[0]):x}"


def write_command(command: Command, grammar: Sequence[Verb]) -> str:
    """Return the line of text that stands for `command`, such as ``use key on desk``.

    Raises:
        ActionError: If the grammar has no such verb.
    """
    for verb in grammar:
        if verb.name == command.verb:
            break
    else:
        hint = suggest(command.verb, [item.name for item in grammar])
        raise ActionError(f"unknown verb {command.verb!r}; {hint}")
    words = [verb.name]
    for param in verb.params:
        if param.name in command.parameters:
            words += [param.before, str(command.parameters[param.name])]
    return " ".join(word for word in words if word)


def merged_lines(commands: Iterable[Command], write: Callable[[Command], str]) -> list[str]:
    """Write commands in few lines: those that differ only in the last name share one.

    Example:
        >>> keys = [Command("take", {"item": item}) for item in ("red key", "lamp")]
        >>> merged_lines(keys, lambda command: f"take {command.parameters['item']}")
        ['take red key|lamp']
    """
    rows: dict[tuple[str, int], list[str]] = {}
    for number, command in enumerate(commands):
        line, parameters = write(command), command.parameters
        last = str([*parameters.values()][-1]).replace("_", " ") if parameters else ""
        if last and line.endswith(f" {last}") and "|" not in line:
            rows.setdefault((line.removesuffix(last), len(parameters)), []).append(last)
        else:
            rows[line, -1 - number] = [""]  # in a line of its own
    return [start + "|".join(names) for (start, _), names in rows.items()]


def read_command(line: object, grammar: Sequence[Verb]) -> Command | InvalidAction:
    """Read a line of text against a grammar.

    Case, repeated spaces and a final full stop do not matter, except in the value of a parameter
    of kind ``text``. A verb may be given by one of its synonyms; articles are left out. Values
    with listed choices must be one of them.

    Args:
        line: The text; anything that is not a string is unparsable, not an error.
        grammar: The verbs to read against.

    Returns:
        The command, or an `InvalidAction` whose message says what was expected.
    """
    if not isinstance(line, str):
        return unparsable(f"a text action is a string, not {type(line).__name__}")
    if len(line) > MAX_LINE:
        message = f"the line has {len(line)} characters; at most {MAX_LINE} are read"
        return InvalidAction(Outcome.TOO_LONG, message)
    words = line.split()
    plain = [_plain(word) for word in words]
    if not any(plain):
        return unparsable(f"the line is empty; {_usages(grammar)}")
    spellings = ((name.split(), verb) for verb in grammar for name in (verb.name, *verb.synonyms))
    said = [(len(names), verb) for names, verb in spellings if plain[: len(names)] == names]
    if said:
        length, verb = max(said, key=lambda row: row[0])
        return _read_params(verb, _rest_of_line(line, length))
    hint = suggest(plain[0], [verb.name for verb in grammar])
    return unparsable(f"I do not know how to {words[0][:40]!r}; {hint}")


def unparsable(message: str) -> InvalidAction:
    """Return an `InvalidAction` with the outcome ``unparsable``."""
    return InvalidAction(Outcome.UNPARSABLE, message)


def _plain(word: str) -> str:
    """Return a word without case and final punctuation."""
    return word.rstrip(".!").lower()


def _rest_of_line(line: str, words: int) -> str:
    """Return what follows the first `words` words of a line, word for word."""
    parts = line.split(maxsplit=words)
    return parts[words].strip() if len(parts) > words else ""


def _read_params(verb: Verb, rest: str) -> Command | InvalidAction:
    """Read the values of `verb` from the words after it."""
    values: dict[str, Any] = {}
    for place, param in enumerate(verb.params):
        following = verb.params[place + 1] if place + 1 < len(verb.params) else None
        given = rest
        found, rest = _cut(param, following, rest)
        if not found:
            if not param.optional:
                return unparsable(f"{verb.name!r} needs {param.name}: {verb.usage}")
            if param.before and rest != given:
                return unparsable(f"{given[:40]!r} lacks its {param.name}: {verb.usage}")
            continue
        value = _read_value(found, param)
        if isinstance(value, InvalidAction):
            return value
        values[param.name] = value
    if _plain(rest):
        return unparsable(f"I did not understand {rest[:40]!r}: {verb.usage}")
    return Command(verb.name, values)


def _cut(param: Param, following: Param | None, rest: str) -> tuple[str, str]:
    """Cut the words of one value off the rest of a line, and return them and what is left."""
    if param.before:
        head = [_plain(word) for word in rest.split()[: len(param.before.split())]]
        if head != param.before.split():
            return ("", rest) if param.optional else (rest if not following else "", "")
        rest = _rest_of_line(rest, len(head))
    if param.kind == "text":
        return rest, ""
    words = rest.split()
    bare_number = param.kind in ("integer", "number") and not param.before
    if bare_number and param.optional and following is not None and not _is_number(words):
        return "", rest  # the next words belong to the following parameter
    end = len(words)
    if following is not None and following.before:
        border = following.before.split()
        starts = range(1, len(words) - len(border) + 1)
        plain = [_plain(word) for word in words]
        end = next((i for i in starts if plain[i : i + len(border)] == border), end)
    elif param.one_word and following is not None:
        end = 2 if words and words[0].lower() in ARTICLES else 1
    return _bare(words[:end], param), " ".join(words[end:])


def _is_number(words: list[str]) -> bool:
    """Return whether a line goes on with a number."""
    try:
        float(_plain(words[0]))
    except (IndexError, ValueError):
        return False
    return True


def _bare(words: list[str], param: Param) -> str:
    """Join the words of a value, without an article unless it belongs to a choice."""
    value = _plain(" ".join(words))
    if value not in param.choices and words and words[0].lower() in ARTICLES:
        return _plain(" ".join(words[1:]))
    return value


def _read_value(words: str, param: Param) -> Any:
    """Convert one value to the parameter's type and check it."""
    types, kind = _KINDS[param.kind]
    try:
        value = types[-1](words)
    except ValueError:
        return unparsable(f"{param.usage} must be {kind}, not {words[:40]!r}")
    return _check_value(value, param)


def check_command(command: Command, grammar: Sequence[Verb]) -> Command | InvalidAction:
    """Check a command that came as data (not text) against the grammar.

    Returns:
        The same command with the verb's proper name and values of the proper types, or an
        `InvalidAction`.
    """
    if not isinstance(command.verb, str):
        return unparsable(f"an action type is a string, not {type(command.verb).__name__}")
    verb = next((item for item in grammar if command.verb in (item.name, *item.synonyms)), None)
    verb = verb or next((item for item in grammar if command.verb == item.tool_name), None)
    if verb is None:
        name = command.verb[:40]
        hint = suggest(name, [item.name for item in grammar])
        return unparsable(f"unknown action type {name!r}; {hint}")
    if not isinstance(command.parameters, Mapping):
        kind = type(command.parameters).__name__
        return unparsable(f"the parameters of {verb.name!r} are a mapping, not {kind}")
    names = [param.name for param in verb.params]
    extra = [str(key)[:40] for key in command.parameters if key not in names]
    if extra:
        hint = suggest(extra[0], names) if names else f"it takes none: {verb.usage}"
        return unparsable(f"{verb.name!r} has no parameter {extra[0]!r}; {hint}")
    values: dict[str, Any] = {}
    for param in verb.params:
        given = command.parameters.get(param.name)
        if given is None:
            if not param.optional:
                return unparsable(f"{verb.name!r} needs the parameter {param.name!r}: {verb.usage}")
            continue
        value = _check_value(given, param)
        if isinstance(value, InvalidAction):
            return value
        values[param.name] = value
    return Command(verb.name, values)


ARTICLES = ("the", "a", "an")
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a string"),
    "text": ((str,), "a string"),
    "integer": ((int,), "an integer"),
    "number": ((int, float), "a finite number"),
}
"""For each kind of parameter, its types (the last one reads words) and its name."""


def _check_value(given: Any, param: Param) -> Any:
    """Check type, range and choices of one value."""
    types, kind = _KINDS[param.kind]
    if isinstance(given, bool) or not isinstance(given, types):
        return unparsable(f"{param.name} must be {kind}, not of type {type(given).__name__}")
    value: Any = given
    if param.kind == "text" and not value.strip():
        return unparsable(f"{param.name} is empty")
    if isinstance(value, str):
        if len(value) > MAX_LINE:
            message = f"{param.name} has {len(value)} characters; at most {MAX_LINE} are read"
            return InvalidAction(Outcome.TOO_LONG, message)
        value = value.encode("utf-8", "replace").decode()  # half a character cannot be logged
    if param.kind == "number":
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            return unparsable(f"{param.usage} must be a finite number, not {value}")
    low, high = param.minimum, param.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        return unparsable(f"{param.usage} cannot be {value}")
    if param.choices and value not in param.choices:
        hint = suggest(value, param.choices)
        return unparsable(f"{param.name} cannot be {str(value)[:40]!r}; {hint}")
    return value


def _usages(grammar: Sequence[Verb]) -> str:
    """List the text forms of a grammar."""
    return "commands: " + "; ".join(verb.usage for verb in grammar)
