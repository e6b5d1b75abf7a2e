"""Strings in texts and vectors: safe characters for Text spaces, and a lossy code for Boxes.

A `Text` space needs a fixed character set, so characters outside it are escaped and an
observation is always in its space. Strings that have no place in a Box (hints, free messages)
enter the vector as hashed word counts: lossy, documented, equal on every platform.
"""

from __future__ import annotations

import re

import numpy as np
import xxhash
from numpy.typing import NDArray

from piase_gym.errors import TextParseError

CHARSET = "".join(chr(code) for code in range(32, 127)) + "\n"
"""The characters of every text observation: printable ASCII and the line break."""

_UNSAFE = re.compile(r"[^\x20-\x5b\x5d-\x7e\n]")
_ESCAPED = re.compile(r"\\(?:u\{([0-9a-f]{1,6})\}|\\)")
HINT_CODE = 8
"""Length of the code of a string in a vector (uint8)."""


def escape(text: str) -> str:
    r"""Write characters outside `CHARSET` as ``\u{1f511}`` and a backslash as two.

    Example:
        >>> escape("clé")
        'cl\\u{e9}'
        >>> unescape(escape("clé \\ 鍵")) == "clé \\ 鍵"
        True
    """

    def code(match: re.Match[str]) -> str:
        char = match.group()
        return "\\\\" if char == "\\" else f"\\u{{{ord(char):x}}}"

    return _UNSAFE.sub(code, text)


def one_line(text: str) -> str:
    """Escape a free string so that it also stays on its line."""
    return escape(text).replace("\n", "\\u{a}")


def unescape(text: str) -> str:
    """Undo `escape` and `one_line`.

    Raises:
        TextParseError: If there is a code that is no character.
    """

    def char(match: re.Match[str]) -> str:
        code = int(match.group(1), 16) if match.group(1) else 0x5C
        if code > 0x10FFFF:
            raise TextParseError(f"{match.group()} is no character; codes end at 10ffff")
        return chr(code)

    return _ESCAPED.sub(char, text)


def hash_text(text: str | None, size: int = HINT_CODE) -> NDArray[np.uint8]:
    """Encode a string as hashed word counts.

    The first counter is 1 if there is a text. Each lower-case word adds 1 to one of the others,
    chosen by XXH3. Equal words give equal codes; order is lost, and different words may share a
    counter.

    Args:
        text: The string, or ``None``.
        size: How many counters.

    Returns:
        A ``uint8`` array of shape ``(size,)``, saturating at 255.
    """
    counts = np.zeros(size, np.uint8)
    counts[0] = text is not None
    for word in re.findall(r"\w+", (text or "").lower()):
        slot = 1 + xxhash.xxh3_64_intdigest(word.encode("utf-8", "replace")) % (size - 1)
        counts[slot] = min(255, int(counts[slot]) + 1)
    return counts
