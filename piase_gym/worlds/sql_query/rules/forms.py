"""Forms of MySQL's queries that SQLite does not have, written in forms that it has."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from typing import Any

from piase_gym.worlds.sql_query.rules.collation import COLLATION

Types = Mapping[str, Mapping[str, str]]
"""The type of each column of each table; all names are lower case."""


def rewrite(statement: Any, types: Types, indexed: Collection[tuple[str, str]]) -> None:
    """Write the parts of a statement so that SQLite understands them.

    Args:
        statement: The statement, which is changed.
        types: The columns.
        indexed: Tables and their columns with which an index begins.
    """
    exp: Any = importlib.import_module("sqlglot.expressions")
    for table in list(statement.find_all(exp.Table)):
        alone = isinstance(table.parent, exp.From) and not table.parent.parent.args.get("joins")
        if table.name.lower() == "dual" and "dual" not in types and alone:
            table.parent.pop()
    for compared in list(statement.find_all(exp.All, exp.Any)):
        _compare_with_each(compared, exp)
    _refuse_several_rows(statement, exp)
    for query in statement.find_all(exp.Select):
        _filter_without_groups(query, exp)
        group, order = query.args.get("group"), query.args.get("order")
        if order is not None:
            _order_by_selected(query, order, exp)
        if group is not None:
            _group_by_own_columns(query, group, types, exp)
        if group is not None and (order is not None or query is statement):
            _order_groups(query, group, types, indexed, exp)
    _compare_as_text(statement, exp)


def _order_groups(
    query: Any, group: Any, types: Types, indexed: Collection[tuple[str, str]], exp: Any
) -> None:
    """Leave groups in MySQL's order, where nothing else orders them.

    MySQL keeps the groups of one table in a table of its own, in the order in which they occur. It
    orders them if an index begins with the first key or if an aggregate has a ``DISTINCT``. In
    which order it reads the rows of several tables is not known here: groups are ordered then.
    """
    order, keys = query.args.get("order"), group.expressions
    ordered = [key.copy() for key in keys if not isinstance(key, exp.Null)]
    table: Any = getattr(query.args.get("from_"), "this", None)
    alone = isinstance(table, exp.Table) and not query.args.get("joins")
    if alone and keys and table.name.lower() in types:
        first, name = keys[0], table.name.lower()
        if first.is_int and 0 < int(first.name) <= len(query.selects):
            first = query.selects[int(first.name) - 1]
        elif first.name.lower() not in types[name]:
            first = next((v for v in query.selects if v.alias and v.alias == first.name), first)
        counted = any(isinstance(part.parent, exp.AggFunc) for part in query.find_all(exp.Distinct))
        key = first.unalias()
        known = isinstance(key, exp.Column) and (name, key.name.lower()) in indexed
        if not counted and not known:
            ordered = [exp.func("MIN", exp.column("rowid", table=table.alias_or_name))]
    if order is not None:
        order.set("expressions", [*order.expressions, *ordered])
    elif ordered:
        query.set("order", exp.Order(expressions=ordered))


def _order_by_selected(query: Any, order: Any, exp: Any) -> None:
    """Order by the selected column that has a name, though other tables have such a column, too."""
    aliases = {value.alias.lower() for value in query.selects if isinstance(value, exp.Alias)}
    columns = [value for value in query.selects if isinstance(value, exp.Column)]
    for key in order.expressions:
        name = key.this.name.lower()
        if isinstance(key.this, exp.Column) and not key.this.table and name not in aliases:
            found = {column for column in columns if column.name.lower() == name}
            if len(found) == 1:
                key.set("this", found.pop().copy())


def _refuse_several_rows(statement: Any, exp: Any) -> None:
    """Have a query that stands for one value fail where it returns several rows."""
    for inner in list(statement.find_all(exp.Subquery)):
        query, around = inner.this, inner.parent
        value = isinstance(around, exp.Binary | exp.Alias | exp.Paren) or (
            isinstance(around, exp.Select) and inner.arg_key == "expressions"
        )
        if not value or not isinstance(query, exp.Select) or len(query.selects) != 1:
            continue
        limit, first = query.args.get("limit"), query.selects[0]
        alone = query.args.get("group") is None and any(
            found.find_ancestor(exp.Select) is query and found.find_ancestor(exp.Window) is None
            for found in first.find_all(exp.AggFunc)
        )
        one = limit is not None and getattr(limit.expression, "name", "") in ("0", "1")
        if alone or one or first.is_star:
            continue
        first.replace(exp.alias_(first.unalias().copy(), "value"))
        single = exp.func("MYSQL_SINGLE", exp.column("value", "single"))
        inner.set("this", exp.select(single).from_(query.copy().subquery("single")))


def _compare_with_each(compared: Any, exp: Any) -> None:
    """Write ``> ALL (SELECT ...)`` and ``> ANY (SELECT ...)`` with ``EXISTS``."""
    comparison, every = compared.parent, isinstance(compared, exp.All)
    query = compared.this.unnest() if isinstance(compared.this, exp.Query) else None
    if query is None or comparison.expression is not compared or len(query.selects) != 1:
        return
    value = query.selects[0]
    if value.is_star:
        return
    value.replace(exp.alias_(value.unalias().copy(), "value"))
    test = type(comparison)(this=comparison.this.copy(), expression=exp.column("value", "each"))
    if every:
        test = exp.not_(exp.func("COALESCE", test, exp.Literal.number(0)))
    inner = exp.select("1").from_(query.copy().subquery("each")).where(test)
    found = exp.Exists(this=inner)
    comparison.replace(exp.not_(found) if every else found)


def _filter_without_groups(query: Any, exp: Any) -> None:
    """Write ``HAVING`` as ``WHERE`` where nothing is grouped."""
    having = query.args.get("having")
    if having is None or query.args.get("group") is not None:
        return
    parts = [*query.selects, having]
    if any(
        found.find_ancestor(exp.Select) is query
        for part in parts
        for found in part.find_all(exp.AggFunc)
    ):
        return
    query.where(having.this, copy=False)
    query.set("having", None)


def _group_by_own_columns(query: Any, group: Any, types: Types, exp: Any) -> None:
    """Group by NULL for columns of the query around a query, which are constant within it."""
    sources = [query.args.get("from_"), *query.args.get("joins", ())]
    tables = [source.this for source in sources if source is not None]
    if query.parent_select is None or not all(isinstance(table, exp.Table) for table in tables):
        return
    names = {table.alias_or_name.lower() for table in tables}
    own = {column for table in tables for column in types.get(table.name.lower(), ())}
    own |= {value.alias.lower() for value in query.selects if value.alias}
    for key in list(group.expressions):
        if isinstance(key, exp.Column) and (
            key.table.lower() not in names if key.table else key.name.lower() not in own
        ):
            key.replace(exp.null())


def _compare_as_text(statement: Any, exp: Any) -> None:
    """Compare, group and order the results of functions of text as columns are."""
    makes_text = (
        exp.Case, exp.Coalesce, exp.Concat, exp.ConcatWs, exp.DPipe, exp.If, exp.Left, exp.Lower,
        exp.Pad, exp.Replace, exp.Reverse, exp.Right, exp.Substring, exp.SubstringIndex, exp.Trim,
        exp.Upper,
    )  # fmt: skip
    kinds = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
    for node in list(statement.find_all(*kinds, exp.Between, exp.In, exp.Group, exp.Ordered)):
        values = [node.this, node.expression] if isinstance(node, kinds) else [node.this]
        for value in node.expressions if isinstance(node, exp.Group) else values:
            made = value
            if isinstance(value, exp.Column) and isinstance(node, exp.Group | exp.Ordered):
                selects = node.find_ancestor(exp.Query).selects
                named = [s.this for s in selects if s.alias and s.alias == value.name]
                made = named[0] if named else value
            if isinstance(made, makes_text):
                collated = exp.Collate(expression=exp.to_identifier(COLLATION))
                value.replace(collated)
                collated.set("this", exp.paren(value, copy=False))
