"""Faults of grammar that rules can find in texts of worlds and in their prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator

_RULES = {
    "an article that does not fit": re.compile(
        r"\b(?:a (?=[aeiouAEIOU])(?!one\b|uni|use|usa|eu)|an (?=[^aeiouAEIOUhx\W\d_]))\w+"
    ),
    "two articles": re.compile(r"\b(?:a|an|the) (?:a|an|the) \w+", re.IGNORECASE),
    "a word twice": re.compile(r"\b([a-z]{2,}) \1\b(?! \d)"),
    "one of many": re.compile(r"(?<![\d.])\b1 (?:steps|rows|turns|columns|things|pairs|rooms)\b"),
    "many of one": re.compile(r"(?<![\d.])\b(?:0|[2-9]|\d\d+) (?:step|row|turn|column|pair)\b"),
    "an adjective for a material": re.compile(r"\bmade of \w+(?:en|ern)\b(?<!linen)"),
    "an empty list": re.compile(r": ?\.(?!\.)|: ?,|,\s*\.(?!\.)|, ,|;\s*\.|\(\)|: \n"),
    "a gap": re.compile(r"  +| [,.;:](?: |$)", re.MULTILINE),
    "a name as in code": re.compile(r"\b[a-z]+_[a-z_]*[a-z]\b"),
    "a flag": re.compile(r"\bflag '"),
}


def faults(text: str, *names: str) -> Iterator[str]:
    """Yield what is wrong with the grammar of a text.

    Args:
        text: The text.
        *names: What may be written in it as it is, such as the names of agents.
    """
    for name in names:
        text = text.replace(name, "Ada")
    for fault, pattern in _RULES.items():
        for match in pattern.finditer(text):
            start = max(0, match.start() - 20)
            yield f"{fault}: {text[start : match.end() + 20]!r}"


def unended(text: str, *unlike: str) -> Iterator[str]:
    """Yield the lines that do not end as a sentence does.

    Args:
        text: The text.
        *unlike: How lines begin that are no sentences, such as rows of a result.
    """
    for line in text.splitlines():
        if line and not line.startswith(unlike) and line[-1] not in ".!?":
            yield f"no full stop: {line[-60:]!r}"
