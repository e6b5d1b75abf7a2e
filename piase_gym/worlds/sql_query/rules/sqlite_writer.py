"""Writes MySQL's SQL, as sqlglot has read it, in SQLite's.

Names are quoted with backticks, which SQLite never takes for strings, and functions are those of
`collation`, where SQLite's differ or are missing.
"""

from __future__ import annotations

import functools
import importlib
import re
from typing import Any, Final

from piase_gym.worlds.sql_query.rules.collation import COLLATION, UNITS
from piase_gym.worlds.sql_query.rules.mysql_errors import TranslationError
from piase_gym.worlds.sql_query.rules.tokens import quoted

MOST_REPEATED: Final = 10_000
"""The longest expression, in characters, that a translation repeats."""


def write(part: Any) -> str:
    """Return a statement, or a part of one, in SQLite's SQL.

    Raises:
        TranslationError: If it has no counterpart.
    """
    try:
        return str(sqlite_dialect()().generate(part, identify=True))
    except (ValueError, RecursionError) as error:
        raise TranslationError(f"not supported: {error}") from None


def _like(generator: Any, node: Any, mark: Any = None) -> str:
    """Write ``LIKE``, which ignores accents in MySQL."""
    if type(mark).__name__ == "Literal" and len(mark.name) > 1:
        raise ValueError("ESCAPE with several characters")
    found = str(generator.func("MYSQL_LIKE", node.this, node.expression, mark))
    return f"NOT {found}" if node.args.get("negate") else found


def _moved(generator: Any, node: Any, sign: str) -> str:
    """Write a sum, or the date some time after or before another."""
    count, unit = node.expression, node.args.get("unit")
    if unit is None and type(count).__name__ != "Interval":
        return str(generator.binary(node, sign))
    if unit is None:
        count, unit = count.this, count.args.get("unit")
    if (name := "" if unit is None else unit.name.upper()) not in UNITS:
        raise ValueError(f"INTERVAL of {name}" if name else "INTERVAL without a unit")
    number = f"{'-' * (sign == '-')}({generator.sql(count)})"
    return str(generator.func("DATE_ADD", node.this, number, quoted(name)))


def _formatted(generator: Any, node: Any) -> str:
    """Write ``DATE_FORMAT``, whose format sqlglot has written as Python does."""
    pattern = node.args["format"]
    if type(pattern).__name__ != "Literal" or re.search("%[DVXvxf]", pattern.this):
        raise ValueError("DATE_FORMAT with this format")
    return str(generator.func("DATE_FORMAT", node.this, pattern))


def _repeated(generator: Any, node: Any, part: str) -> str:
    """Return a part that is written several times; nested ones would grow without bounds."""
    text = str(generator.sql(node, part))
    if len(text) > MOST_REPEATED:
        raise ValueError(f"so much within one {type(node).__name__.upper()}")
    return text


def _at_digit(generator: Any, node: Any, function: str) -> str:
    """Write a rounding function that works at a digit which SQLite's does not take."""
    value, digit = generator.sql(node, "this"), _repeated(generator, node, "decimals") or "0"
    return f"({function}(ROUND(({value}) * POW(10, {digit}), 9)) / POW(10, {digit}))"


def _cast(generator: Any, node: Any) -> str:
    """Write ``CAST``; numbers are rounded, as SQLite does not do."""
    kind = node.args["to"]
    if kind.this.name in ("CHAR", "VARCHAR", "TEXT"):
        size = kind.expressions[0].name if kind.expressions else None
        value = generator.func("MYSQL_TEXT", node.this)
        return str(value if size is None else generator.func("SUBSTR", value, "1", size))
    if kind.this.name in ("BIGINT", "UBIGINT"):  # SIGNED and UNSIGNED; texts are cut off
        value = _repeated(generator, node, "this")
        rounded = f"CAST(ROUND({value}) AS INTEGER)"
        return f"IIF(TYPEOF({value}) = 'real', {rounded}, CAST({value} AS INTEGER))"
    if kind.this.name != "DECIMAL":
        return str(generator.cast_sql(node))
    scale = int(kind.expressions[1].name) if len(kind.expressions) > 1 else 0
    rounded = f"ROUND(CAST({generator.sql(node, 'this')} AS REAL), {scale})"
    return rounded if scale else f"CAST({rounded} AS INTEGER)"


def _round(generator: Any, node: Any) -> str:
    """Write ``ROUND``, which takes no digits before the point in SQLite."""
    digit = node.args.get("decimals")
    plain = str(generator.func("ROUND", node.this, digit))
    if digit is None or type(digit).__name__ == "Literal":
        return plain
    _repeated(generator, node, "this")
    return f"IIF(({generator.sql(digit)}) < 0, {_at_digit(generator, node, 'ROUND')}, {plain})"


def _concatenated(generator: Any, node: Any) -> str:
    """Write ``CONCAT``, in which whole numbers have no point."""
    parts = [
        generator.sql(part) if part.is_string else generator.func("MYSQL_TEXT", part)
        for part in node.expressions
    ]
    return f"({' || '.join(parts)})"


def _joined(generator: Any, node: Any) -> str:
    """Write ``GROUP_CONCAT``, whose order SQLite does not have."""
    inside, order, once = node.this, [], False
    if type(inside).__name__ == "Order":
        for key in inside.expressions:
            order += [key.this, str(int(bool(key.args.get("desc"))))]
        inside = inside.this
    if type(inside).__name__ == "Distinct":
        inside, once = inside.expressions[0], True
    mark = node.args.get("separator")
    if mark is not None and not mark.is_string:
        raise ValueError("a SEPARATOR that is no text")
    mark = quoted(",") if mark is None else mark
    return str(generator.func("MYSQL_GROUP_CONCAT", inside, mark, str(int(once)), *order))


def _of_none(generator: Any, name: str, node: Any, nothing: str) -> str:
    """Write an aggregate that has a value where there are no rows."""
    return str(generator.func("IFNULL", generator.func(name, node.this), nothing))


def _collated(generator: Any, node: Any) -> str:
    """Write ``COLLATE``: case and accents count, or they do not."""
    counts = node.expression.name.lower().endswith(("bin", "_cs"))
    return f"{generator.sql(node, 'this')} COLLATE {'BINARY' if counts else COLLATION}"


@functools.cache
def sqlite_dialect() -> Any:
    """Return SQLite's dialect with backticks around names."""
    exp = importlib.import_module("sqlglot.expressions")
    base: Any = importlib.import_module("sqlglot.dialects.sqlite").SQLite
    written = {
        **base.Generator.TRANSFORMS,
        exp.Left: lambda self, e: self.func("SUBSTR", e.this, "1", e.expression),
        exp.Right: lambda self, e: self.func(
            "SUBSTR", e.this, f"-({self.sql(e.expression)})", e.expression
        ),
        exp.Add: lambda self, e: _moved(self, e, "+"),
        exp.Sub: lambda self, e: _moved(self, e, "-"),
        exp.DateAdd: lambda self, e: _moved(self, e, "+"),
        exp.DateSub: lambda self, e: _moved(self, e, "-"),
        exp.TsOrDsToDate: lambda self, e: (
            self.sql(e, "this") if isinstance(e.parent, exp.Func) else self.func("DATE", e.this)
        ),
        exp.DateDiff: lambda self, e: self.func("DATEDIFF", e.this, e.expression),
        exp.TimestampDiff: lambda self, e: self.func(
            "TIMESTAMPDIFF", quoted(e.text("unit")), e.expression, e.this
        ),
        exp.TimeToStr: _formatted,
        exp.StrToDate: lambda self, e: self.func("STR_TO_DATE", e.this, e.args["format"]),
        exp.Extract: lambda self, e: self.func(e.name, e.expression),
        exp.DayOfMonth: lambda self, e: self.func("DAY", e.this),
        exp.DayOfWeek: lambda self, e: self.func("DAYOFWEEK", e.this),
        exp.DayOfYear: lambda self, e: self.func("DAYOFYEAR", e.this),
        exp.Like: lambda self, e: _like(self, e),
        exp.Escape: lambda self, e: _like(self, e.this, e.expression),
        exp.StrPosition: lambda self, e: self.func(
            "MYSQL_INSTR", e.this, e.args["substr"], e.args.get("position")
        ),
        exp.Upper: lambda self, e: self.func("MYSQL_UPPER", e.this),
        exp.Lower: lambda self, e: self.func("MYSQL_LOWER", e.this),
        exp.NumberToStr: lambda self, e: self.func("MYSQL_FORMAT", e.this, e.args["format"]),
        exp.National: lambda self, e: quoted(e.name),
        exp.Xor: lambda self, e: (
            f"((({self.sql(e, 'this')}) <> 0) <> (({self.sql(e, 'expression')}) <> 0))"
        ),
        exp.Length: lambda self, e: self.func(
            "LENGTH", exp.cast(e.this.copy(), "blob") if e.args.get("binary") else e.this
        ),
        exp.IntDiv: lambda self, e: (
            f"CAST({self.sql(e, 'this')} * 1.0 / {self.sql(e, 'expression')} AS INTEGER)"
        ),
        exp.Mod: lambda self, e: self.func("MYSQL_MOD", e.this, e.expression),
        exp.BitwiseXor: lambda self, e: self.func("MYSQL_XOR", e.this, e.expression),
        exp.Hex: lambda self, e: self.func("MYSQL_HEX", e.this),
        exp.Substring: lambda self, e: self.func(
            "MYSQL_SUBSTR", e.this, e.args["start"], e.args.get("length")
        ),
        exp.Concat: _concatenated,
        exp.GroupConcat: _joined,
        exp.Rand: lambda self, e: "0.5",
        exp.BitwiseAndAgg: lambda self, e: _of_none(self, "BITWISE_AND_AGG", e, "-1"),
        exp.BitwiseOrAgg: lambda self, e: _of_none(self, "BITWISE_OR_AGG", e, "0"),
        exp.BitwiseXorAgg: lambda self, e: _of_none(self, "BITWISE_XOR_AGG", e, "0"),
        exp.Collate: _collated,
        exp.Trunc: lambda self, e: _at_digit(self, e, "TRUNC"),
        exp.Round: _round,
        exp.Cast: _cast,
    }
    parts = {
        "Tokenizer": type(base.Tokenizer)("Tokenizer", (base.Tokenizer,), {"IDENTIFIERS": ["`"]}),
        "Generator": type(base.Generator)("Generator", (base.Generator,), {"TRANSFORMS": written}),
    }
    return type(base)("Port", (base,), parts)
