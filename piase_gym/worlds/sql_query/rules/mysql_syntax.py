"""What MySQL refuses in statements that sqlglot reads, in MySQL's words."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from piase_gym.worlds.sql_query.rules.mysql_errors import error_near, reader

_FUNCTIONS_OF_WINDOWS: Final = frozenset(
    "cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank "
    "row_number".split()
)
_RESERVED: Final = frozenset(
    "before both call cascade change character check column condition constraint continue create "
    "cube cursor database databases declare default delayed describe each empty enclosed escaped "
    "exit explain fetch float for force foreign fulltext function generated get grant groups "
    "high_priority infile inout insensitive insert int integer iterate key keys kill lateral "
    "leading leave linear lines load localtime lock long loop low_priority match maxvalue modifies "
    "of optimize option optionally out outfile over partition precision primary procedure purge "
    "range read reads real recursive references release rename require resignal restrict return "
    "revoke row rows schema schemas sensitive separator signal smallint spatial specific sql "
    "starting stored system table terminated to trailing trigger undo unique unlock unsigned "
    "update usage use using values varying virtual when while window with write zerofill".split()
)
"""Words that are no names in MySQL, unless they are quoted or follow a point."""
_ORDER: Final = ("from", "join", "where", "group", "having", "order", "limit")
"""The clauses of a query, in their order."""
_KINDS_OF_JOIN: Final = ("inner", "cross", "left", "right", "outer", "natural")
_TRUTH: Final = ("null", "true", "false", "unknown")


def refusal(statement: Any, sql: str) -> str | None:
    """Return what MySQL says of a statement before it looks at tables, or ``None``."""
    exp: Any = importlib.import_module("sqlglot.expressions")
    tokens = reader("SQL of mysql").tokenize(sql, read="mysql")
    wrong = [*_reserved_names(statement, sql, exp), *_odd_tokens(tokens)]
    for table in statement.find_all(exp.Table):
        if isinstance(table.this, exp.Func):  # SQLite has functions that return tables
            place = sql.lower().find(table.this.name.lower())
            wrong.append((place, max(sql.find("(", place), 0)))
    if wrong:
        place, near = min(wrong)
        return error_near(sql[near:].lstrip(), sql.count("\n", 0, place) + 1)
    return _table_twice(statement, exp)


def _reserved_names(statement: Any, sql: str, exp: Any) -> Iterator[tuple[int, int]]:
    """Yield where reserved words stand as names, and where MySQL says that the error is."""
    for name in statement.find_all(exp.Identifier):
        word, place = name.this.lower(), name.meta.get("start")
        if name.args.get("quoted") or place is None or sql[:place].rstrip().endswith("."):
            continue
        if word in _RESERVED or (word in _FUNCTIONS_OF_WINDOWS and name.arg_key == "alias"):
            yield place, place
        elif word in _FUNCTIONS_OF_WINDOWS:
            yield place, name.meta["end"] + 1


def _odd_tokens(tokens: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield where a clause or a star is too late, or ``IS`` is not before a truth value."""
    quoted = ("STRING", "IDENTIFIER")
    words = ["" if token.token_type.name in quoted else token.text.lower() for token in tokens]
    reached: list[int | None] = [None]
    """The last clause of the query within each bracket."""
    for number, word in enumerate(words):
        if word == "(":
            reached.append(None)
        elif word == ")" and len(reached) > 1:
            reached.pop()
        elif word in ("select", "union", "except", "intersect"):
            reached[-1] = -1
        elif words[number - 1] == ".":
            continue  # the name of a column
        elif word.split(" ")[0] in _ORDER and reached[-1] is not None:
            clause, first = _ORDER.index(word.split(" ")[0]), number
            while first and words[first - 1] in _KINDS_OF_JOIN and word == "join":
                first -= 1
            if clause < reached[-1]:
                yield tokens[first].start, tokens[first].start
            reached[-1] = clause
        elif word == "*" and words[number - 1] == "," and reached[-1] == -1:
            if words[number + 1 : number + 2] in ([], ["from"], [","]):
                yield tokens[number].start, tokens[number].start
        elif word == "is":
            after = number + 1 + (words[number + 1 : number + 2] == ["not"])
            if after < len(words) and words[after] not in _TRUTH:
                yield tokens[after].start, tokens[after].start
    if words[:1] in (["desc"], ["describe"]) and words[2:3] == ["to"]:
        yield tokens[2].start, tokens[2].start
    if words[-1:] == ["in"]:
        yield tokens[-1].end + 1, tokens[-1].end + 1


def _table_twice(statement: Any, exp: Any) -> str | None:
    """Return MySQL's message about two tables of a query with one name."""
    for query in statement.find_all(exp.Select):
        names: list[str] = []
        for source in (query.args.get("from_"), *query.args.get("joins", ())):
            name = "" if source is None else source.this.alias_or_name
            if name and name.lower() in names:
                return f"Not unique table/alias: '{name}'"
            names.append(name.lower())
    return None
