"""Questions about generated databases, each with the query that answers it.

A question about a database is made by one of the kinds below. It is kept only if its query, when
run, gives a proper answer: there are rows, an order has no ties, and a winner has no equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from piase_gym.core.rng import Stream, StreamId
from piase_gym.errors import GenerationError
from piase_gym.worlds.sql_query.levels.dataset import Database, Task
from piase_gym.worlds.sql_query.levels.domains import (
    DOMAINS,
    VARIANTS,
    Entity,
    Field,
    GeneratedDatabase,
    build,
)
from piase_gym.worlds.sql_query.rules.engine import LocalEngine
from piase_gym.worlds.sql_query.rules.tokens import quoted
from piase_gym.worlds.texts.wording import article

LEVELS: Final[Mapping[int, Mapping[str, Any]]] = {
    1: {
        "kinds": ("count", "list", "aggregate"),
        "hardness": ("easy",),
        "tables": 1,
        "columns": 4,
        "rows": 60,
    },
    2: {"kinds": None, "hardness": ("easy",), "tables": 2, "columns": 5, "rows": 30},
    3: {"kinds": None, "hardness": ("easy", "medium"), "tables": 2, "columns": 7, "rows": 30},
    4: {"kinds": None, "hardness": ("medium", "hard"), "tables": 3, "columns": 7, "rows": 30},
    5: {"kinds": None, "hardness": ("hard", "extra"), "tables": 3, "columns": 7, "rows": 60},
}
"""What ``difficulty`` 1 to 5 stands for."""
TRIES = 60
"""How many drafts are tried, over six databases, before giving up."""


class Draft(NamedTuple):
    """A question whose answer has not been checked yet.

    Attributes:
        question: The question in words.
        gold: The query.
        unique: A query that must return no row twice if the answer is to be unique, or "".
    """

    question: str
    gold: str
    unique: str = ""


class Draw:
    """Draws parts of one database."""

    def __init__(self, made: GeneratedDatabase, stream: Stream) -> None:
        self.made, self.stream = made, stream
        self._engine = LocalEngine(made.database)

    def among(self, items: Sequence[Any]) -> Any:
        """Return one of some things."""
        return items[self.stream.integer(len(items))]

    def entity(self) -> Entity:
        """Return a table."""
        found: Entity = self.among(self.made.entities)
        return found

    def pair(self) -> tuple[Entity, Entity]:
        """Return a table and the one it refers to, of a database with at least two tables."""
        tables = self.made.entities
        k = self.stream.integer(len(tables) - 1)
        return tables[k + 1], tables[k]

    def field(self, entity: Entity, but: str = "") -> Field:
        """Return a column of a table other than `but`; each table has at least two."""
        found: Field = self.among([f for f in entity.fields if f.name != but])
        return found

    def number(self, entity: Entity) -> Field:
        """Return a column of numbers; each table has one."""
        found: Field = self.among([f for f in entity.fields if f.numeric])
        return found

    def group(self, entity: Entity) -> Field | None:
        """Return a column whose values are words that can occur more than once, if there is one."""
        fits = [f for f in entity.fields if f.values and not f.numeric]
        found: Field | None = self.among(fits) if fits else None
        return found

    def value(self, entity: Entity, field: Field) -> Any:
        """Return a value that occurs in a column."""
        rows = self.rows(f"SELECT DISTINCT {field.name} FROM {entity.table} ORDER BY 1")
        if field.numeric:  # neither the least nor the greatest, if there are others
            rows = rows[1:-1] or rows
        return self.among(rows)[0]

    def rows(self, sql: str) -> tuple[tuple[Any, ...], ...]:
        """Return the rows of a query."""
        return self._engine.execute(sql).rows

    def condition(self, entity: Entity, table: str = "", but: str = "") -> tuple[str, str]:
        """Return a condition on a column other than `but`, in words and in SQL."""
        field = self.field(entity, but=but)
        value = self.value(entity, field)
        name = f"{table}{field.name}"
        if not field.numeric:
            return f'whose {field.one} is "{value}"', f"{name} = {quoted(value)}"
        words, sign = self.among(_SIGNS)
        return f"whose {field.one} is {words} {value}", f"{name} {sign} {value}"


_SIGNS = (
    ("greater than", ">"),
    ("above", ">"),
    ("less than", "<"),
    ("below", "<"),
    ("at least", ">="),
    ("at most", "<="),
)
_AGGREGATES = {
    "AVG": ("average", "mean"),
    "MAX": ("highest", "maximum"),
    "MIN": ("lowest", "minimum"),
    "SUM": ("total", "summed"),
}
_TOPS = (("highest", "DESC"), ("greatest", "DESC"), ("lowest", "ASC"), ("smallest", "ASC"))


def _count(draw: Draw) -> Draft:
    e = draw.entity()
    words = ("How many {} are there?", "What is the number of {}?", "Count the {}.")
    return Draft(draw.among(words).format(e.many), f"SELECT COUNT(*) FROM {e.table}")


def _list(draw: Draw) -> Draft:
    e = draw.entity()
    f = draw.field(e)
    words = ("What are the {} of all {}?", "List the {} of the {}.", "Show the {} of all {}.")
    text = draw.among(words).format(f.many, e.many)
    return Draft(text, f"SELECT {f.name} FROM {e.table}")


def _distinct(draw: Draw) -> Draft | None:
    e = draw.entity()
    f = draw.group(e)
    if f is None:
        return None
    if draw.stream.integer(3) == 0:
        text = f"How many different {f.many} do the {e.many} have?"
        return Draft(text, f"SELECT COUNT(DISTINCT {f.name}) FROM {e.table}")
    words = ("What are the different {} of the {}?", "List the distinct {} of the {}.")
    text = draw.among(words).format(f.many, e.many)
    return Draft(text, f"SELECT DISTINCT {f.name} FROM {e.table}")


def _aggregate(draw: Draw) -> Draft:
    e = draw.entity()
    f = draw.number(e)
    name = draw.among(tuple(_AGGREGATES))
    word = draw.among(_AGGREGATES[name])
    opening = draw.among(("What is", "Find", "Give"))
    end = "?" if opening == "What is" else "."
    text = f"{opening} the {word} {f.one} of all {e.many}{end}"
    return Draft(text, f"SELECT {name}({f.name}) FROM {e.table}")


def _filter(draw: Draw) -> Draft:
    e = draw.entity()
    words, sql = draw.condition(e)
    if draw.stream.integer(2):
        return Draft(
            f"How many {e.many} are there {words}?", f"SELECT COUNT(*) FROM {e.table} WHERE {sql}"
        )
    f = draw.field(e, but=sql.split(" ")[0])
    text = f"What are the {f.many} of the {e.many} {words}?"
    return Draft(text, f"SELECT {f.name} FROM {e.table} WHERE {sql}")


def _sorted(draw: Draw) -> Draft:
    e = draw.entity()
    n = draw.number(e)
    f = draw.field(e, but=n.name)
    word, way = draw.among((("ascending", "ASC"), ("descending", "DESC")))
    text = f"List the {f.many} of all {e.many} in {word} order of {n.one}."
    unique = f"SELECT {n.name} FROM {e.table}"
    return Draft(text, f"SELECT {f.name} FROM {e.table} ORDER BY {n.name} {way}", unique)


def _top(draw: Draw) -> Draft:
    e = draw.entity()
    n = draw.number(e)
    f = draw.field(e, but=n.name)
    word, way = draw.among(_TOPS)
    text = f"What is the {f.one} of the {e.one} with the {word} {n.one}?"
    gold = f"SELECT {f.name} FROM {e.table} ORDER BY {n.name} {way} LIMIT 1"
    return Draft(text, gold, f"SELECT {n.name} FROM {e.table} ORDER BY {n.name} {way} LIMIT 2")


def _per_group(draw: Draw) -> Draft | None:
    e = draw.entity()
    g, n = draw.group(e), draw.number(e)
    if g is None:
        return None
    if draw.stream.integer(2):
        text = f"How many {e.many} are there for each {g.one}?"
        return Draft(text, f"SELECT {g.name}, COUNT(*) FROM {e.table} GROUP BY {g.name}")
    name = draw.among(("AVG", "MAX", "MIN"))
    text = f"What is the {_AGGREGATES[name][0]} {n.one} of the {e.many} for each {g.one}?"
    return Draft(text, f"SELECT {g.name}, {name}({n.name}) FROM {e.table} GROUP BY {g.name}")


def _two_conditions(draw: Draw) -> Draft:
    e = draw.entity()
    one = draw.condition(e)
    two = draw.condition(e, but=one[1].split(" ")[0])
    f = e.fields[0]
    joint, word = draw.among((("AND", "and"), ("OR", "or")))
    text = f"What are the {f.many} of the {e.many} {one[0]} {word} {two[0]}?"
    return Draft(text, f"SELECT {f.name} FROM {e.table} WHERE {one[1]} {joint} {two[1]}")


def join(child: Entity, parent: Entity) -> str:
    """Return the join of a table, as T1, with the one that it refers to, as T2."""
    return f"{child.table} AS T1 JOIN {parent.table} AS T2 ON T1.{parent.reference} = T2.id"


def _joined(draw: Draw) -> Draft:
    child, parent = draw.pair()
    condition = draw.condition(parent, "T2.")
    f = draw.field(child)
    text = f"What are the {f.many} of the {child.many} that belong to {parent.many} {condition[0]}?"
    return Draft(text, f"SELECT T1.{f.name} FROM {join(child, parent)} WHERE {condition[1]}")


def _extremes(draw: Draw) -> Draft:
    e = draw.entity()
    n = draw.number(e)
    text = f"What are the lowest and the highest {n.one} of all {e.many}?"
    return Draft(text, f"SELECT MIN({n.name}), MAX({n.name}) FROM {e.table}")


def _above_average(draw: Draw) -> Draft:
    e = draw.entity()
    n, f = draw.number(e), e.fields[0]
    word, sign = draw.among((("above", ">"), ("below", "<")))
    text = f"What are the {f.many} of the {e.many} whose {n.one} is {word} the average?"
    inner = f"(SELECT AVG({n.name}) FROM {e.table})"
    return Draft(text, f"SELECT {f.name} FROM {e.table} WHERE {n.name} {sign} {inner}")


def _without(draw: Draw) -> Draft:
    child, parent = draw.pair()
    f = parent.fields[0]
    text = f"What are the {f.many} of the {parent.many} that have no {child.many}?"
    inner = f"(SELECT {parent.reference} FROM {child.table})"
    return Draft(text, f"SELECT {f.name} FROM {parent.table} WHERE id NOT IN {inner}")


def _most_common(draw: Draw) -> Draft | None:
    e = draw.entity()
    g = draw.group(e)
    if g is None:
        return None
    word, way = draw.among((("most", "DESC"), ("fewest", "ASC")))
    text = f"Which {g.one} do the {word} {e.many} have?"
    ordered = f"FROM {e.table} GROUP BY {g.name} ORDER BY COUNT(*) {way}"
    return Draft(text, f"SELECT {g.name} {ordered} LIMIT 1", f"SELECT COUNT(*) {ordered} LIMIT 2")


def _except(draw: Draw) -> Draft | None:
    e = draw.entity()
    g, n = draw.group(e), draw.number(e)
    if g is None:
        return None
    value = draw.value(e, n)
    text = f"Which {g.many} do no {e.many} have whose {n.one} is above {value}?"
    whole = f"SELECT {g.name} FROM {e.table}"
    return Draft(text, f"{whole} EXCEPT {whole} WHERE {n.name} > {value}")


def _joined_top(draw: Draw) -> Draft:
    child, parent = draw.pair()
    f = parent.fields[0]
    word, way = draw.among((("most", "DESC"), ("fewest", "ASC")))
    text = (
        f"What is the {f.one} of the {parent.one} that has the {word} {child.many}, "
        "of those that have any?"
    )
    ordered = f"FROM {join(child, parent)} GROUP BY T2.id ORDER BY COUNT(*) {way}"
    return Draft(
        text, f"SELECT T2.{f.name} {ordered} LIMIT 1", f"SELECT COUNT(*) {ordered} LIMIT 2"
    )


def _joined_groups(draw: Draw) -> Draft:
    child, parent = draw.pair()
    n, f = draw.number(child), parent.fields[0]
    least = 2 + draw.stream.integer(2)
    text = (
        f"For each {parent.one} that has at least {least} {child.many}, what are its {f.one} and "
        f"the average {n.one} of those, for the first 3 in alphabetical order of {f.one}?"
    )
    gold = (
        f"SELECT T2.{f.name}, AVG(T1.{n.name}) FROM {join(child, parent)} "
        f"GROUP BY T2.id HAVING COUNT(*) >= {least} ORDER BY T2.{f.name} LIMIT 3"
    )
    return Draft(text, gold, f"SELECT {f.name} FROM {parent.table}")


def _both(draw: Draw) -> Draft | None:
    child, parent = draw.pair()
    g, f = draw.group(child), parent.fields[0]
    if g is None:
        return None
    rows = draw.rows(f"SELECT DISTINCT {g.name} FROM {child.table} ORDER BY 1")
    if len(rows) < 2:
        return None
    k = draw.stream.integer(len(rows))
    one, two = rows[k][0], rows[(k + 1) % len(rows)][0]
    text = (
        f"What are the {f.many} of the {parent.many} that have both {child.many} whose {g.one} is "
        f'"{one}" and {child.many} whose {g.one} is "{two}"?'
    )
    half = f"SELECT T2.{f.name} FROM {join(child, parent)} WHERE T1.{g.name} = "
    return Draft(text, f"{half}{quoted(one)} INTERSECT {half}{quoted(two)}")


def _set(draw: Draw) -> Draft:
    e = draw.entity()
    n, f = draw.number(e), e.fields[0]
    name, (value,) = draw.value(e, f), draw.among(draw.rows(f"SELECT {n.name} FROM {e.table}"))
    new = round(value + 1 + draw.stream.integer(9), 2)
    text = f'Set the {n.one} of the {e.one} whose {f.one} is "{name}" to {new}.'
    return Draft(text, f"UPDATE {e.table} SET {n.name} = {new} WHERE {f.name} = {quoted(name)}")


def _remove(draw: Draw) -> Draft:
    e = draw.entity()
    words, sql = draw.condition(e)
    return Draft(f"Remove all {e.many} {words}.", f"DELETE FROM {e.table} WHERE {sql}")


def _add(draw: Draw) -> Draft:
    e = draw.made.entities[0]
    values = [draw.value(e, field) for field in e.fields]
    values[0] = f"{values[0]} Junior"
    number = draw.rows(f"SELECT MAX(id) FROM {e.table}")[0][0] + 1 + draw.stream.integer(9)
    pairs = zip(e.fields, values, strict=True)
    words = ", ".join(f.one + " " + (f'"{v}"' if isinstance(v, str) else str(v)) for f, v in pairs)
    names = ", ".join(["id", *(field.name for field in e.fields)])
    row = ", ".join([str(number), *map(quoted, values)])
    text = f"Add {article(e.one)} {e.one} with id {number}, {words}."
    return Draft(text, f"INSERT INTO {e.table} ({names}) VALUES ({row})")


class Kind(NamedTuple):
    """A kind of question: the function that makes it, and its hardness.

    A test compares the hardness with `rules.hardness`; kinds that write count as easy.
    """

    make: Callable[[Draw], Draft | None]
    hardness: str


KINDS: Final[Mapping[str, Kind]] = {
    "count": Kind(_count, "easy"),
    "list": Kind(_list, "easy"),
    "distinct": Kind(_distinct, "easy"),
    "aggregate": Kind(_aggregate, "easy"),
    "filter": Kind(_filter, "easy"),
    "sorted": Kind(_sorted, "easy"),
    "top": Kind(_top, "medium"),
    "per_group": Kind(_per_group, "medium"),
    "two_conditions": Kind(_two_conditions, "medium"),
    "joined": Kind(_joined, "medium"),
    "extremes": Kind(_extremes, "medium"),
    "above_average": Kind(_above_average, "hard"),
    "without": Kind(_without, "hard"),
    "most_common": Kind(_most_common, "hard"),
    "except": Kind(_except, "hard"),
    "joined_top": Kind(_joined_top, "extra"),
    "joined_groups": Kind(_joined_groups, "extra"),
    "both": Kind(_both, "extra"),
    "set": Kind(_set, "easy"),
    "remove": Kind(_remove, "easy"),
    "add": Kind(_add, "easy"),
}
"""The kinds of questions."""
if TYPE_CHECKING:
    KindName = str
else:
    KindName = Literal[tuple(KINDS)]
WRITING = ("set", "remove", "add")


class Question(NamedTuple):
    """A generated task and its database."""

    task: Task
    database: Database
    kind: str


def make(key: Mapping[str, Any], number: int) -> Question:
    """Return the question of a number.

    Args:
        key: The fields of `SqlQueryConfig.question_key`.
        number: Which question.

    Raises:
        GenerationError: If no question can be made, such as a join in a database of one table.
    """
    stream = Stream(number, StreamId.DYNAMICS)
    writes = stream.uniform() < key["writes"]
    kinds = _kinds(key, writes)
    domains = sorted(key["domains"] or DOMAINS)
    for _ in range(6):
        domain = domains[stream.integer(len(domains))]
        variant = stream.integer(VARIANTS)
        made = build(domain, variant, key["tables"], key["columns"], key["rows"])
        draw = Draw(made, stream)
        for _ in range(TRIES // 6):
            kind = kinds[stream.integer(len(kinds))]
            draft = KINDS[kind].make(draw)
            if draft is not None and _sound(draft, made.database, writes):
                hardness = KINDS[kind].hardness
                name = f"{kind}-{number}"
                task = Task(name, draft.question, draft.gold, domain, hardness, writes)
                return Question(task, made.database, kind)
    wanted = ", ".join(kinds)
    raise GenerationError(f"SqlQuery: no question of these kinds can be made here: {wanted}")


def _kinds(key: Mapping[str, Any], writes: bool) -> list[str]:
    """Return the kinds of questions that are wanted."""
    fits = [
        kind
        for kind in key["kinds"] or KINDS
        if (kind in WRITING) == writes
        and (writes or KINDS[kind].hardness in key["hardness"])
        and (key["tables"] > 1 or kind not in OF_TWO)
    ]
    if writes and not fits:
        return list(WRITING)
    if not fits:
        wanted = ", ".join(key["kinds"] or key["hardness"])
        raise GenerationError(
            f"SqlQuery: there are no questions that are {wanted} with tables={key['tables']} "
            f"and hardness {', '.join(key['hardness'])}"
        )
    return fits


OF_TWO = ("joined", "without", "joined_top", "joined_groups", "both")


def _sound(draft: Draft, database: Database, writes: bool) -> bool:
    """Run the query of a draft, and return whether its answer is proper and unique."""
    engine = LocalEngine(database, writes)
    if draft.unique:
        rows = engine.execute(draft.unique).rows
        if len(set(rows)) < len(rows):
            return False
    found = engine.execute(draft.gold)
    if found.reason is not None:
        return False
    return found.changed > 0 if writes else bool(found.rows) and found.rows[0] != (None,)
