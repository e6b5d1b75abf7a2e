"""How hard a query is, counted as Spider and InterCode count it.

Three counts over the outermost query decide:

- clauses: where, group, order, limit; each join; each ``or`` and ``like`` of a condition;
- nested queries: those in conditions, and a union, intersection or difference;
- more than one: aggregations, columns, conditions, groupings.

Two quirks are kept, because the files have them: ``not`` counts as an aggregation, and so does each
``and`` or ``or`` in ``having``, while aggregations in ``having`` do not. Whatever follows a union
counts as one nested query, with all its clauses.

Source: Yu et al., 2018, "Spider: A Large-Scale Human-Labeled Dataset for Complex and Cross-Domain
Semantic Parsing and Text-to-SQL Task", and its published evaluation.
"""

from __future__ import annotations

from typing import Final

from piase_gym.errors import ConfigError
from piase_gym.worlds.sql_query.levels.dataset import Hardness
from piase_gym.worlds.sql_query.rules.tokens import closing, outside, tokens

_CLAUSES: Final = ("select", "from", "where", "group", "having", "order", "limit")
_SETS: Final = ("union", "intersect", "except")
_AGGREGATES: Final = ("max", "min", "count", "sum", "avg")
_NESTED: Final = "(select)"


def hardness(sql: str) -> Hardness:
    """Return how hard a query is.

    Raises:
        ConfigError: If it has no ``SELECT``.
    """
    parts = _clauses(sql)
    select, group, order = parts["select"], parts["group"], parts["order"]
    joined, where, having = (_conditions(parts[name]) for name in ("from", "where", "having"))
    conditions = joined + where + having
    clauses = sum(bool(parts[name]) for name in ("where", "group", "order", "limit"))
    clauses += sum(word in ("join", ",") for word in outside(parts["from"]))
    clauses += conditions.count("or") + conditions.count("like")
    nested = where.count(_NESTED) + having.count(_NESTED) + bool(parts["sets"])
    aggregations = sum(word in _AGGREGATES for word in select + group + order)
    aggregations += (where + having).count("not") + having.count("and") + having.count("or")
    several = (
        aggregations > 1,
        "," in outside(select),
        "and" in where or "or" in where,
        "," in outside(group),
    )
    return _level(clauses, nested, sum(several))


def _level(clauses: int, nested: int, several: int) -> Hardness:
    """Return the hardness for the three counts."""
    if nested:
        return "hard" if nested == 1 and clauses <= 1 and not several else "extra"
    if clauses <= 1:
        return "easy" if not several else "medium" if several <= 2 else "hard"
    if clauses == 2:
        return "medium" if several < 2 else "hard" if several > 2 else "extra"
    return "hard" if clauses == 3 and several <= 2 else "extra"


def _clauses(sql: str) -> dict[str, list[str]]:
    """Return the words of each clause of the outermost query; nested queries are one word."""
    parts: dict[str, list[str]] = {name: [] for name in (*_CLAUSES, "sets")}
    words, place, depth, name = tokens(sql), 0, 0, ""
    while place < len(words):
        word = words[place]
        if word == "(" and words[place + 1 : place + 2] == ["select"]:
            word, place = _NESTED, closing(words, place)
        depth += (word == "(") - (word == ")")
        if depth == 0 and word in _SETS and name:
            parts["sets"] = words[place:]
            break
        if depth == 0 and word in _CLAUSES:
            name = word
        elif name:
            parts[name].append(word)
        place += 1
    if not parts["select"]:
        raise ConfigError(f"hardness is of a query: {sql!r:.80} has no SELECT")
    return parts


def _conditions(words: list[str]) -> list[str]:
    """Return the words of conditions, without the ``and`` that belongs to a ``between``."""
    found, between = [], False
    for word in words:
        if word == "and" and between:
            between = False
            continue
        between = between or word == "between"
        found.append(word)
    return found
