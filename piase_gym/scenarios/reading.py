"""Reads YAML and JSON into plain data, and remembers where each part of it is.

Only what plain data needs is read: mappings, lists, strings, numbers, booleans and null. Tags that
build objects are refused, a key given twice is an error, and aliases are counted as often as they
are used, so that a small file cannot become a huge value.
"""

from __future__ import annotations

import bisect
import io
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in typeshed
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from piase_gym.core.files import SCENARIO_SUFFIXES, NotRegularError, open_regular
from piase_gym.errors import ScenarioError, printable

Key = tuple[str | int, ...]
"""The path to a part of a file: keys, and indices in lists."""
MOST_BYTES = 1_000_000
MOST_PARTS = 50_000
MOST_MARKS = 20_000
"""Line ends and signs that separate entries, in YAML, whose parser reads 10,000 keys a second."""
MOST_LEVELS = 40
_TAG = "tag:yaml.org,2002:"


class SourcePosition(NamedTuple):
    """Where something stands: file, line and column, both from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """Return ``file:line:column``."""
        return f"{self.file}:{self.line}:{self.column}"


@dataclass
class Document:
    """A file as data, with the places of its parts.

    Attributes:
        data: The data.
        places: Where each part stands: its key in a mapping, or its entry in a list.
    """

    data: Any
    places: dict[Key, SourcePosition] = field(default_factory=dict)

    def place(self, key: Key) -> SourcePosition:
        """Return the place of a part, or of the nearest part around it that has one."""
        while key not in self.places and key:
            key = key[:-1]
        return self.places.get(key, SourcePosition("<data>", 1, 1))

    def line(self, key: Key, message: str) -> str:
        """Return what is wrong with a part: ``file:line:column: key: message``."""
        return line_at(self.place(key), key, message)


def dotted(key: Key) -> str:
    """Return the path to a part as it is written: ``steps.0.name``."""
    return printable(".".join(map(str, key)))


def line_at(place: SourcePosition, key: Key, message: str) -> str:
    """Return ``file:line:column: key: message``; for a whole file there is no key."""
    where = dotted(key)
    return f"{place}: {where + ': ' if where else ''}{message}"


def complain(place: SourcePosition, key: Key, message: str) -> ScenarioError:
    """Return the error ``file:line:column: key: what is wrong, what is allowed``."""
    return ScenarioError(line_at(place, key, message))


def read_file(path: Path, most: int = MOST_BYTES) -> Document:
    """Read a YAML or JSON file.

    Args:
        path: The file.
        most: How many bytes of JSON are read.

    Raises:
        ScenarioError: If it cannot be read, is too large, or is not plain data.
    """
    start = SourcePosition(str(path), 1, 1)
    if path.suffix.lower() not in SCENARIO_SUFFIXES:
        raise complain(
            start, (), f"the file ends in {path.suffix!r}; allowed: {', '.join(SCENARIO_SUFFIXES)}"
        )
    try:
        as_json = path.suffix.lower() == ".json"
        with open_regular(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig") as stream:
            size = os.fstat(file.fileno()).st_size
            most = most if as_json else MOST_BYTES
            if size > most:
                raise complain(start, (), f"the file has {size} bytes; at most {most} are read")
            text = stream.read(most + 1)  # some files have more than their size says
    except UnicodeDecodeError as error:
        raise complain(start, (), f"the file is not UTF-8 text: {error.reason}") from None
    except ScenarioError:
        raise
    except NotRegularError:
        raise complain(start, (), "this is no file but a folder, a pipe or a device") from None
    except (OSError, ValueError) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise complain(start, (), f"the file cannot be read: {message}") from None
    return read_text(text, str(path), as_json=as_json, most=most)


def read_text(
    text: str, name: str = "<text>", *, as_json: bool = False, most: int = MOST_BYTES
) -> Document:
    """Read YAML or JSON.

    Raises:
        ScenarioError: If it is too large or not plain data.
    """
    if len(text) > most:
        message = f"the text has {len(text)} characters; at most {most} are read"
        raise complain(SourcePosition(name, 1, 1), (), message)
    return _JsonReader(text, name).read() if as_json else _YamlReader(name).read(text)


class _Counter:
    """Counts the parts of a file, and refuses too many of them and too deep nesting."""

    def __init__(self) -> None:
        self.parts = 0

    def count(self, place: SourcePosition, key: Key) -> None:
        """Count one more part at a depth."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            message = f"there are more than {MOST_PARTS} parts, aliases counted as often as used"
            raise complain(place, key[:3], message)
        if len(key) > MOST_LEVELS:
            raise complain(place, key[:3], f"it is nested deeper than {MOST_LEVELS} levels")


_MARKS = re.compile(r"[\n,\[{]|[-:?] ")
"""Every entry of a YAML file needs at least one of these."""


# -- YAML -----------------------------------------------------------------------------------------


class _YamlReader:
    """Builds plain data from the nodes of a YAML file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.places: dict[Key, SourcePosition] = {}
        self.counter = _Counter()

    def read(self, text: str) -> Document:
        """Read a text."""
        marks = len(_MARKS.findall(text))
        if marks > MOST_MARKS:
            message = (
                f"there are {marks} line ends and signs between entries; at most {MOST_MARKS} of"
            )
            message += " YAML are read; allowed: a shorter file, or JSON"
            raise complain(SourcePosition(self.name, 1, 1), (), message)
        try:
            node = YAML(typ="safe", pure=True).compose(text)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            message = f"this is not YAML: {error.problem or error.context}"
            raise complain(SourcePosition(self.name, line, column), (), message) from None
        except YAMLError as error:
            message = f"this is not YAML: {str(error).splitlines()[0][:200]}"
            raise complain(SourcePosition(self.name, 1, 1), (), message) from None
        except RecursionError:
            message = f"it is nested deeper than {MOST_LEVELS} levels"
            raise complain(SourcePosition(self.name, 1, 1), (), message) from None
        self.places[()] = SourcePosition(self.name, 1, 1)
        data = None if node is None else self._value(node, ())
        return Document(data, self.places)

    def _place(self, node: Node) -> SourcePosition:
        mark = node.start_mark
        return SourcePosition(self.name, mark.line + 1, mark.column + 1)

    def _value(self, node: Node, key: Key) -> Any:
        """Return the value of a node."""
        place = self._place(node)
        self.places.setdefault(key, place)
        self.counter.count(place, key)
        tag = str(node.tag)
        if isinstance(node, MappingNode) and tag == _TAG + "map":
            return self._mapping(node, key)
        if isinstance(node, SequenceNode) and tag == _TAG + "seq":
            return [self._value(item, (*key, n)) for n, item in enumerate(node.value)]
        if isinstance(node, ScalarNode):
            read = _SCALARS.get(tag.removeprefix(_TAG))
            if read is not None:
                return self._scalar(node, key, read)
        shown = tag.replace(_TAG, "!!")
        allowed = "plain mappings, lists, strings, numbers, booleans, null"
        raise complain(place, key, f"the tag {shown!r} is not allowed; allowed: {allowed}")

    def _scalar(self, node: Any, key: Key, read: Callable[[str], Any]) -> Any:
        """Read one plain value; numbers are finite."""
        try:
            value = read(node.value)
        except ValueError:
            value = math.nan
        if isinstance(value, float) and not math.isfinite(value):
            message = f"{node.value!r:.40} is no finite number"
            raise complain(self._place(node), key, message)
        return value

    def _mapping(self, node: Any, key: Key) -> dict[str, Any]:
        """Read a mapping; its keys are distinct strings."""
        values: dict[str, Any] = {}
        for name_node, value_node in node.value:
            place = self._place(name_node)
            if not isinstance(name_node, ScalarNode):
                raise complain(place, key, "a key is a string, not a mapping or a list")
            name = str(name_node.value)
            if str(name_node.tag) == _TAG + "merge":
                raise complain(place, (*key, name), "merge keys are not read; use `base:`")
            if name in values:
                first = self.places[(*key, name)]
                message = (
                    f"the key {name!r} is given twice, first in line {first.line}; allowed: once"
                )
                raise complain(place, (*key, name), message)
            self.places[(*key, name)] = place
            values[name] = self._value(value_node, (*key, name))
        return values


def _yaml_int(text: str) -> int:
    """Read a YAML 1.2 integer."""
    plain = text.replace("_", "")
    base = {"0x": 16, "0o": 8, "0b": 2}.get(plain.lstrip("+-")[:2].lower(), 10)
    if len(plain) > 300:
        raise ValueError(plain)
    return int(plain, base)


_SCALARS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": _yaml_int,
    "float": lambda text: float(
        text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan")
    ),
    "bool": lambda text: text.lower() == "true",
    "null": lambda text: None,
    "timestamp": str,
}


# -- JSON -----------------------------------------------------------------------------------------

_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}


class _JsonReader:
    """Reads JSON and notes where its parts are, which the standard reader does not report."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.places: dict[Key, SourcePosition] = {}
        self.counter = _Counter()
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def read(self) -> Document:
        """Read the text."""
        if self._skip(0) == len(self.text):
            raise self._wrong(0, (), "there is nothing in it")
        value, end = self._value(self._skip(0), ())
        if self._skip(end) != len(self.text):
            raise self._wrong(self._skip(end), (), "there is more after the end")
        return Document(value, self.places)

    def _at(self, index: int) -> SourcePosition:
        line = bisect.bisect_right(self.lines, index)
        return SourcePosition(self.name, line, index - self.lines[line - 1] + 1)

    def _wrong(self, index: int, key: Key, message: str) -> ScenarioError:
        return complain(self._at(index), key, f"this is not JSON: {message}")

    def _skip(self, index: int) -> int:
        match = _BLANK.match(self.text, index)
        return match.end() if match else index

    def _value(self, start: int, key: Key) -> tuple[Any, int]:
        """Read the value that begins at an index, and return it and where it ends."""
        self.places.setdefault(key, self._at(start))
        self.counter.count(self._at(start), key)
        char = self.text[start : start + 1]
        if char == "{":
            return self._mapping(start + 1, key)
        if char == "[":
            return self._sequence(start + 1, key)
        if char == '"':
            return self._string(start, key)
        for word, value in _WORDS.items():
            if self.text.startswith(word, start):
                return value, start + len(word)
        match = _NUMBER.match(self.text, start)
        if match is None:
            raise self._wrong(start, key, f"a value is expected, not {char!r}")
        whole = match.group(1) is None and match.group(2) is None and len(match.group()) < 300
        number = int(match.group()) if whole else float(match.group())
        if not math.isfinite(number):
            raise self._wrong(start, key, f"{match.group()[:40]} is no finite number")
        return number, match.end()

    def _string(self, start: int, key: Key) -> tuple[str, int]:
        """Read a string."""
        try:
            text, end = scanstring(self.text, start + 1)
        except ValueError as error:
            raise self._wrong(start, key, str(error).split(":")[0]) from None
        return text, end

    def _mapping(self, index: int, key: Key) -> tuple[dict[str, Any], int]:
        """Read what follows ``{``."""
        values: dict[str, Any] = {}
        index = self._skip(index)
        while self.text[index : index + 1] != "}":
            if self.text[index : index + 1] != '"':
                raise self._wrong(index, key, "a key in double quotes is expected")
            place = self._at(index)
            name, index = self._string(index, key)
            if name in values:
                message = f"the key {name!r} is given twice; allowed: once"
                raise complain(place, (*key, name), message)
            self.places[(*key, name)] = place
            index = self._skip(index)
            if self.text[index : index + 1] != ":":
                raise self._wrong(index, (*key, name), "':' is expected")
            values[name], index = self._value(self._skip(index + 1), (*key, name))
            index = self._next(index, "}", key)
        return values, index + 1

    def _sequence(self, index: int, key: Key) -> tuple[list[Any], int]:
        """Read what follows ``[``."""
        values: list[Any] = []
        index = self._skip(index)
        while self.text[index : index + 1] != "]":
            value, index = self._value(index, (*key, len(values)))
            values.append(value)
            index = self._next(index, "]", key)
        return values, index + 1

    def _next(self, index: int, close: str, key: Key) -> int:
        """Skip the comma after an entry; stay before the closing bracket."""
        index = self._skip(index)
        char = self.text[index : index + 1]
        if char == close:
            return index
        if char != ",":
            raise self._wrong(index, key, f"',' or {close!r} is expected")
        after = self._skip(index + 1)
        if self.text[after : after + 1] == close:
            raise self._wrong(after, key, "a comma stands before the end")
        return after
