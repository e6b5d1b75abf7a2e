"""Find the command in the answer of a language model.

Models seldom answer with a bare command. They think first, put it into a fence, a tag, JSON or
YAML, or end with a line ``Action: ...``. `read_answer` is the one reader of all these forms; what
the command means is for the world to say. The rule is short enough to be stated in a prompt:

1. Reasoning (``<think>...</think>``) is not read.
2. A marked command counts: in ``<action>`` tags, as JSON or YAML with a key ``action``, in a code
   fence, or after ``Action:``. If several are marked, the last one counts, as models correct
   themselves; but what follows a line ``Observation:`` is made up and not read.
3. Without a mark, the only line that is a command counts. Two different commands count as none.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from piase_gym.core.commands import Command, InvalidAction, Outcome, unparsable

HOW_TO_ANSWER = (
    "Answer with one line: the command. If you think first, end with a line that begins with "
    "'Action:' and has the command. Of several commands marked so the last one counts; without "
    "a mark, two different commands count as none."
)
"""The rule in the words in which agents get it."""
MAX_REPLY = 20_000
"""Longest reply in characters that is read; a longer one has the outcome ``too_long``."""
Reads = Callable[[str], bool]
"""Returns whether a line is a command."""


class Answer(NamedTuple):
    """What a reply says.

    Attributes:
        command: A line of text, or a command as data; not yet checked by any world.
        thinking: What the model thought first.
        reason: Why it chooses this.
        message: What it tells the other agents.
    """

    command: str | Command
    thinking: str = ""
    reason: str = ""
    message: str = ""


def read_answer(
    reply: object,
    reads: Sequence[Reads] = (),
    multiline: bool = False,
    any_line: bool = False,
) -> Answer | InvalidAction:
    r"""Return what a reply says.

    Args:
        reply: What the model wrote.
        reads: Functions that return whether a line is a command, the strictest first. A reply of
            one line that is a command is taken as it is; the functions also find the command among
            lines without a mark. Without functions, the last line is taken.
        multiline: Whether a command may have several lines; a reply that is one is taken whole.
        any_line: Whether every line is a command; then marks count in a reply of one line too.

    Returns:
        The answer, or an `InvalidAction` whose message tells the model what to do better.

    Example:
        >>> read_answer("The door is open.\n\nAction: **go north**").command
        'go north'
        >>> read_answer('```json\n{"reason": "hungry", "action": "eat apple"}\n```')
        Answer(command='eat apple', thinking='', reason='hungry', message='')
    """
    if not isinstance(reply, str):
        return unparsable(f"a reply is a string, not {type(reply).__name__}")
    if len(reply) > MAX_REPLY:
        text = f"the reply is longer than {MAX_REPLY:,} characters; answer with one command"
        return InvalidAction(Outcome.TOO_LONG, text)
    try:
        return _read(plain(decoded(reply)), reads, multiline, any_line)
    except RecursionError:
        return unparsable("the reply is nested too deeply; answer with one command")


def _read(
    reply: str, reads: Sequence[Reads], multiline: bool, any_line: bool
) -> Answer | InvalidAction:
    """Return what a reply of ordinary length and characters says."""
    thinking, text = without_reasoning(reply)
    if not text:
        words = "the reply ends within its reasoning" if thinking else "the reply is empty"
        return unparsable(f"{words}; answer with one command")
    if not any_line and "\n" not in text and any(reads_line(text) for reads_line in reads):
        return Answer(text, thinking)
    found = _marked(text)
    if found is None:
        whole = multiline and any(reads_text(text) for reads_text in reads)
        found = Answer(text) if whole else _unmarked(text, reads)
    if isinstance(found, InvalidAction):
        return found
    if isinstance(found.command, str) and not found.command.strip():
        return unparsable("the action is empty")
    return found._replace(thinking="\n".join(filter(None, (thinking, found.thinking))))


def read_reply(
    reply: object,
    read: Callable[[object], Command | InvalidAction],
    check: Callable[[Command], Command | InvalidAction],
    legal: Callable[[Command], bool],
    multiline: bool = False,
) -> Command | InvalidAction:
    """Return the command that a reply stands for; a line that is one is read as it is.

    Args:
        reply: What the model wrote.
        read: Reads a line.
        check: Checks a command that came as data.
        legal: Returns whether a command is legal now.
        multiline: Whether a command may have several lines.
    """
    if isinstance(reply, str):
        reply = decoded(reply)
    found = read(reply)
    if not isinstance(reply, str) or (isinstance(found, Command) and "\n" not in reply):
        return found

    def reads(line: str) -> bool:
        return isinstance(read(line), Command)

    def reads_legal(line: str) -> bool:
        command = read(line)
        return isinstance(command, Command) and legal(command)

    answer = read_answer(reply, (reads_legal, reads), multiline)
    if not isinstance(answer, Answer):
        return answer if "\n" in reply.strip() or reply.lstrip()[:1] in ("{", "[") else found
    if isinstance(answer.command, Command):
        return check(answer.command)
    last = read(answer.command)
    if isinstance(last, Command):
        return last
    bare = read(answer.command.rstrip(" .!"))
    return bare if isinstance(bare, Command) else last


def read_tool_calls(calls: Sequence[tuple[str, Any]]) -> Answer | InvalidAction:
    """Return the command of a reply's tool calls.

    Args:
        calls: Pairs of a name and arguments; the arguments are a mapping or JSON.
    """
    try:
        found = [
            _call(plain(str(name)), _cleaned(decoded(given) if isinstance(given, str) else given))
            for name, given in calls
        ]
    except RecursionError:
        return unparsable("the arguments of the call are nested too deeply")
    different = [item for place, item in enumerate(found) if item not in found[:place]]
    if len(different) == 1:
        return different[0]
    return unparsable(f"the reply calls {len(different)} tools; call one")


_SHOWN = re.compile(r"\\\\?u\{([0-9a-f]{1,6})\}")


def decoded(text: str) -> str:
    r"""Return a text with the characters that stand in it as codes, as texts show them.

    Example:
        >>> decoded(r'{"action": "take Schl\u{fc}ssel"}')
        '{"action": "take Schlüssel"}'
    """

    def char(match: re.Match[str]) -> str:
        code = int(match[1], 16)
        known = 127 < code <= sys.maxunicode and not 0xD800 <= code < 0xE000  # halves are none
        return chr(code) if known else match[0]

    return _SHOWN.sub(char, text) if "u{" in text else text


_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def plain(text: str) -> str:
    """Return a text without terminal escape codes, control characters and invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", _ESCAPES.sub("", text))


# -- reasoning ----------------------------------------------------------------------------

_REASONING = r"(?:think|thinking|thought|thoughts|reasoning|analysis|reflection|scratchpad|plan)"
_THOUGHT = re.compile(rf"<({_REASONING})>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_CLOSED = re.compile(rf"\A(.*)</{_REASONING}>", re.DOTALL | re.IGNORECASE)
_OPENED = re.compile(rf"<{_REASONING}>(.*)\Z", re.DOTALL | re.IGNORECASE)
_FINAL = re.compile(r"\A(.*)<\|channel\|>final<\|message\|>", re.DOTALL)
_TOKEN = re.compile(r"<\|[a-z_]{1,20}\|>")


def without_reasoning(text: str) -> tuple[str, str]:
    """Return the reasoning in a reply, and the rest of the reply.

    Some models leave out the opening tag; a reply that was cut off lacks the closing one.
    """
    thoughts: list[str] = []

    def take(match: re.Match[str]) -> str:
        thoughts.append(match.group(match.lastindex or 0).strip())
        return "\n"

    if "<" in text:
        for pattern in (_FINAL, _THOUGHT, _CLOSED, _OPENED):
            text = pattern.sub(take, text)
        text = _TOKEN.sub(" ", text)
    return "\n".join(filter(None, thoughts)), text.strip()


# -- marked commands ----------------------------------------------------------------------

_TAG = re.compile(
    r"<(action|command|answer|tool_call)>(.*?)(?:</\1>|(?=<\1>)|\Z)", re.DOTALL | re.IGNORECASE
)
_FENCE = re.compile(
    r"(?<![`~])(`{3,}+|~{3,}+)[ \t]*+([\w+-]*+)[ \t]*+\n(.*?)(?:\n[ \t]*+\1|\Z)", re.DOTALL
)
_ONE_LINE_FENCE = re.compile(r"```([^`\n]+)```")
_MADE_UP = re.compile(
    r"(?:\A|[^\s*_#](?:[^\S\n]|[*_#])*+\n)()[\s*_#]*+observation[*_]*:", re.IGNORECASE
)
"""The line of an observation, from the group on; each run of blanks and signs is read once."""
_DECODER = json.JSONDecoder(strict=False)
"""Models break lines within the strings of JSON."""
_Mark = tuple[int, int, "Answer | InvalidAction"]
"""Where a mark begins and ends, and what it says."""
MOST_OBJECTS = 64
"""Most places in a reply where JSON is looked for."""


def _marked(text: str) -> Answer | InvalidAction | None:
    """Return the last marked command of a text, if there is any."""
    made_up = _MADE_UP.search(text)
    if made_up is not None and _labels(text[: made_up.start(1)]) is not None:
        text = text[: made_up.start(1)].rstrip()
    marks = [(*m.span(), _inner(m.group(2))) for m in _TAG.finditer(text)]
    tagged = bool(marks)
    if not tagged:
        marks = [*_objects(text), *_fences(text)]
    labels = _labels(_blank(text, marks))
    if labels is not None and not tagged and "command" in labels.values:
        marks.append((labels.place, len(text), _labelled(labels)))
    if not marks:
        return None
    last = max(marks, key=lambda mark: mark[0])[2]
    if isinstance(last, InvalidAction) or labels is None:
        return last
    kept = {k: v for k, v in labels.values.items() if k != "command" and not getattr(last, k)}
    return last._replace(**kept)


def _blank(text: str, marks: Iterable[_Mark]) -> str:
    """Return a text with spaces in place of what is marked."""
    for start, end, _ in marks:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def _inner(text: str) -> Answer | InvalidAction:
    """Return what stands within a mark: JSON, lines with labels, or the command itself."""
    text = text.strip()
    if text[:1] in ("{", "["):
        try:
            return _data(_loads(text))
        except (ValueError, RecursionError) as error:
            return unparsable(f"the JSON of the reply cannot be read: {str(error)[:80]}")
    for *_, found in _fences(text):
        return found
    labels = _labels(text)
    if labels is not None and "command" in labels.values:
        return _labelled(labels)
    return Answer(_bare(text)) if text else unparsable("the action of the reply is empty")


def _fences(text: str) -> Iterator[_Mark]:
    """Yield what stands in code fences."""
    for match in (*_FENCE.finditer(text), *_ONE_LINE_FENCE.finditer(text)):
        body = match.group(match.lastindex or 0)
        if body.strip() and "```" not in body:
            yield *match.span(), _inner(body)


def _objects(text: str) -> Iterator[_Mark]:
    """Yield the JSON objects of a text that say what to do."""
    start, tries = text.find("{"), 0
    while start >= 0 and tries < MOST_OBJECTS:
        try:
            data, end = _DECODER.raw_decode(text, start)
            data = _cleaned(data)
        except (ValueError, RecursionError):
            data, end = None, start + 1
        if isinstance(data, dict) and _tells(data):
            yield start, end, _data(data)
        start, tries = text.find("{", end), tries + 1
    if text[:1] == "[":
        try:
            yield 0, len(text), _data(_loads(text))
        except (ValueError, RecursionError):
            return


# -- labels: "Action: ...", and YAML, which is the same in several lines ------------------

_NAMES = {
    "command": r"(?:final |next |chosen |my )?(?:action|command|answer|move)",
    "thinking": r"thinking|thoughts?|reasoning|analysis",
    "reason": r"reason|rationale|explanation|why",
    "message": r"message[_ ]to[_ ]others?|message",
}
_LABEL = re.compile(
    r"^[ \t>#*_`\"'-]*(?:"
    + "|".join(f"(?P<{name}>{words})" for name, words in _NAMES.items())
    + r")[ \t*_`\"']*[:：](?!//)[ \t*_]*(?P<value>.*)$",
    re.IGNORECASE | re.MULTILINE,
)


class _Labels(NamedTuple):
    """Values by label, and the place of the last label of a command."""

    values: dict[str, str]
    place: int


def _labels(text: str) -> _Labels | None:
    """Return the values of lines such as ``reason: ...``; if a label repeats, the last value."""
    found = list(_LABEL.finditer(text)) if ":" in text or "：" in text else []
    values: dict[str, str] = {}
    place = -1
    for number, match in enumerate(found):
        name = next(name for name in _NAMES if match[name])
        end = found[number + 1].start() if number + 1 < len(found) else len(text)
        value = _scalar(match["value"], text[match.end() : end], name == "command")
        if value:
            values[name] = value
            place = match.start() if name == "command" else place
    return _Labels(values, place) if values else None


_EMPHASIS = re.compile(r"\A([^*]*)\*+([.!]+)\Z")
"""A value with the end of an emphasis before its full stop."""


def _scalar(first: str, more: str, one_line: bool) -> str:
    """Return a value from its own line, from the block below, or from both for longer texts."""
    first = _EMPHASIS.sub(r"\1\2", first.strip()).strip("*")
    if first in ("|", ">", "|-", ">-", ""):
        lines = [line.strip() for line in more.strip("\n").split("\n")]
        block = lines[: lines.index("")] if "" in lines else lines
        return _bare("\n".join(block))
    if first in ("null", "~"):  # nothing, in YAML
        return ""
    value = _comment(first) if one_line else f"{first}\n{more.strip()}".split("\n\n")[0].strip()
    quoted = _unquoted(value)
    return _bare(value) if quoted is None else quoted.strip()


def _comment(value: str) -> str:
    """Return a quoted value without what follows its quotes, such as a comment."""
    quoted = re.match(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')\s*#", value)
    return quoted.group(1) if quoted else value


def _unquoted(value: str) -> str | None:
    """Return what stands within the quotes of YAML, or ``None`` if it does not read as that."""
    if re.fullmatch(r"'(?:[^']|'')*'", value):
        return value[1:-1].replace("''", "'")
    if value[:1] != '"':
        return None
    try:
        return str(_loads(value))
    except ValueError:
        return None


def _labelled(labels: _Labels) -> Answer | InvalidAction:
    """Return the answer of lines with labels."""
    values = dict(labels.values)
    command = values.pop("command")
    if command[:1] in ("{", "["):
        found = _inner(command)
        return found._replace(**values) if isinstance(found, Answer) else found
    return Answer(command, **values)


# -- commands as data ---------------------------------------------------------------------

_ACTIONS = ("action", "command", "answer", "tool_call", "function", "tool", "next_action")
_VERBS = ("action_type", "verb", "name", "type")
_PARAMETERS = ("parameters", "arguments", "params", "args", "input")
_MORE = {
    "thinking": ("thinking", "thought", "thoughts", "reasoning", "analysis"),
    "reason": ("reason", "rationale", "explanation"),
    "message": ("message_to_others", "message to others"),
}


def _tells(data: Mapping[str, Any]) -> bool:
    """Return whether an object says what to do."""
    keys = {str(key).lower() for key in data}
    return bool(keys & {*_ACTIONS, "action_type"}) or bool(
        keys & {*_VERBS} and keys & {*_PARAMETERS}
    )


def _data(data: Any) -> Answer | InvalidAction:
    """Return the answer that data contain."""
    if isinstance(data, str):
        return Answer(_bare(data)) if data.strip() else unparsable("the action is empty")
    if isinstance(data, list):
        if len(data) == 1:
            return _data(data[0])
        return unparsable(f"the reply has {len(data)} commands; answer with one")
    if not isinstance(data, dict):
        return unparsable(f"the action is {data!r:.40}, not a command")
    lower = {str(key).lower(): value for key, value in data.items()}
    found = _command(lower)
    if isinstance(found, InvalidAction):
        return found
    return found._replace(**{k: v for k, v in _further_entries(lower).items() if v})


def _command(data: Mapping[str, Any]) -> Answer | InvalidAction:
    """Return the command of an object with lower-case keys."""
    given = next((data[key] for key in _PARAMETERS if key in data), None)
    for key in _ACTIONS:
        value = data.get(key)
        if isinstance(value, dict | list):
            return _data(value)
        if isinstance(value, str):
            return _call(value, given) if given else _data(value)
    for key in _VERBS:
        if isinstance(data.get(key), str):
            return _call(data[key], given)
    return unparsable('the JSON of the reply has no "action" that is a command')


def _call(name: str, arguments: Any) -> Answer | InvalidAction:
    """Return a verb with its parameters."""
    if isinstance(arguments, str):
        try:
            arguments = _loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            return unparsable(f"the arguments of {name[:40]!r} are no JSON: {str(error)[:80]}")
    if not isinstance(arguments, dict | None):
        kind = type(arguments).__name__
        return unparsable(f"the arguments of {name[:40]!r} are a mapping, not a {kind}")
    return Answer(Command(name, arguments or {}))


def _loads(text: str) -> Any:
    """Return JSON as data.

    Raises:
        ValueError: If it is none.
        RecursionError: If it is nested too deeply.
    """
    return _cleaned(_DECODER.decode(text))


def _cleaned(data: Any) -> Any:
    """Return data whose strings are plain; escapes in JSON can stand for any character."""
    if isinstance(data, str):
        return plain(data)
    if isinstance(data, list):
        return [_cleaned(value) for value in data]
    if isinstance(data, dict):
        return {plain(str(key)): _cleaned(value) for key, value in data.items()}
    return data


def _further_entries(data: Mapping[str, Any]) -> dict[str, str]:
    """Return what else an object says."""
    found = {}
    for field, keys in _MORE.items():
        value = next((data[key] for key in keys if data.get(key)), "")
        found[field] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return found


# -- commands without a mark --------------------------------------------------------------

_BULLET = re.compile(r"^(?:[-*•>+#]+|\d{1,3}[.)])\s+")
_PAIRS: Mapping[str, str] = {
    pair[0]: pair[1] for pair in "\"\" '' `` ** __ “” ‘’ „“ ”” ‚‘ «» »« ‹› ›‹ 「」 『』".split()
}
"""The closing sign of each opening one, as English, Swedish, German, French and Japanese have."""
_ENDS = ".!。！"
_SPAN = re.compile(
    r"`([^`\n]+)`|\*\*([^*\n]+)\*\*|\"([^\"\n]+)\"|“([^”\n]+)”|„([^“”\n]+)[“”]|«([^»\n]+)»"
)


def _bare(text: str) -> str:
    """Return a text without bullets, and without quotes and emphasis around all of it.

    A full stop after these goes with them.
    """
    text = _BULLET.sub("", text.strip()).strip()
    while len(ended := text.rstrip(_ENDS)) > 1 and _PAIRS.get(ended[0]) == ended[-1]:
        text = ended[1:-1].strip()
    return text


def _unmarked(text: str, reads: Sequence[Reads]) -> Answer | InvalidAction:
    """Return the command of a text that has no marks."""
    if text[:1] in ("{", "["):
        return _inner(text)
    lines = list(dict.fromkeys(filter(None, (_bare(line) for line in text.split("\n")))))
    if not lines:
        return unparsable("the reply is empty; answer with one command")
    spans = [next(filter(None, match.groups())) for match in _SPAN.finditer(text)]
    for candidates in (lines, list(dict.fromkeys(map(str.strip, spans)))):
        for reads_line in reads:
            commands = [line for line in candidates if reads_line(line)]
            if len(commands) > 1:
                shown = " and ".join(repr(line[:40]) for line in commands[:2])
                return unparsable(f"the reply has several commands, {shown}; answer with one")
            if commands:
                return Answer(commands[0])
    if len(lines) > 1 and reads:
        return unparsable("no line of the reply is a command; answer with one line: the command")
    return Answer(lines[-1])
