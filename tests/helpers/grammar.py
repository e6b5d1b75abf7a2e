"""Rules of English that every text of a world keeps; each gives the faults that it finds."""

from __future__ import annotations

import re
from collections.abc import Iterator

_VOWEL_SOUND = re.compile(r"(?!uni|use|usu|one\b|eu|u\b)[aeiou]|hour|honest", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(an?) (?:<)?([a-z][\w-]*)", re.IGNORECASE)
_DOUBLED = re.compile(r"\b([a-z]+) \1\b", re.IGNORECASE)
_COUNTED = re.compile(r"(?<![\d.,-])(\d+) (steps?|times?|rounds?|objects?|agents?|rooms?|cells?)\b")
_MATERIAL = re.compile(r"\b(?:made of|out of) (?:golden|wooden|leaden|woollen|earthen|silken)\b")
_EMPTY = re.compile(
    r": \.|, ?(?:[,;]|\.(?!\.))|; ?[;.]|\(\)|\[\]|: $|\b(?:see|has found|hold|touch) \.|\bNone\b"
)
_SPACES = re.compile(r"(?<=\S)  +| (?!\.\.\.)[,.;:](?!\d)")
_END = re.compile(r"[.!?:]['\")]?$")


def faults(text: str, may_end: str = "") -> Iterator[str]:
    """Yield what is wrong in a text, a line each.

    Args:
        text: The text; each of its lines is to be one or more sentences.
        may_end: A regular expression for lines that end without a stop, such as commands.
    """
    for line in text.split("\n"):
        for found in _line_faults(line):
            yield f"{found}: {line!r}"
        if line and not _END.search(line) and not (may_end and re.fullmatch(may_end, line)):
            yield f"no stop at the end: {line!r}"


def _line_faults(line: str) -> Iterator[str]:
    for match in _ARTICLE.finditer(line):
        wanted = "an" if _VOWEL_SOUND.match(match.group(2)) else "a"
        if match.group(1).lower() != wanted and match.group(2) not in ("and", "or"):
            yield f"article {match.group()!r}"
    for match in _DOUBLED.finditer(line):
        if match.group(1).lower() not in ("that", "had"):
            yield f"doubled {match.group()!r}"
    for match in _COUNTED.finditer(line):
        if (match.group(1) == "1") == match.group(2).endswith("s"):
            yield f"number {match.group()!r}"
    for name, rule in (("material", _MATERIAL), ("empty", _EMPTY), ("space", _SPACES)):
        if match := rule.search(line):
            yield f"{name} {match.group()!r}"


_RULES = {
    "an article that does not fit": re.compile(
        r"\b(?:a (?=[aeiouAEIOU])(?!one\b|uni|use|usa|eu|or\b|and\b)"
        r"|an (?=[^aeiouAEIOUhx\W\d_]))\w+"
    ),
    "two articles": re.compile(r"\b(?:a|an|the) (?:a|an|the) \w+", re.IGNORECASE),
    "a word twice": re.compile(r"\b([a-z]{2,}) \1\b(?! \d)"),
    "one of many": re.compile(
        r"(?<![\d.])\b1 (?:steps|rows|turns|columns|things|pairs|rooms|degrees)\b"
    ),
    "many of one": re.compile(r"(?<![\d.])\b(?:0|[2-9]|\d\d+) (?:step|row|turn|column|pair)\b"),
    "an adjective for a material": re.compile(r"\bmade of \w+(?:en|ern)\b(?<!linen)"),
    "an empty list": re.compile(r": ?\.(?!\.)|: ?,|,\s*\.(?!\.)|, ,|;\s*\.|\(\)|: \n"),
    "a gap": re.compile(r"  +| [,.;:](?: |$)", re.MULTILINE),
    "a name as in code": re.compile(r"\b[a-z]+_[a-z_]*[a-z]\b"),
    "a flag": re.compile(r"\bflag '"),
}


def text_faults(text: str, *names: str) -> Iterator[str]:
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
