"""Generated databases and questions: their hardness, and their answers worked out without SQL."""

from __future__ import annotations

import contextlib
import errno
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from piase_gym.core.digest import digest_json
from piase_gym.core.jsonable import jsonable
from piase_gym.errors import ConfigError, GenerationError
from piase_gym.worlds.sql_query.config import SqlQueryConfig
from piase_gym.worlds.sql_query.levels.dataset import Database
from piase_gym.worlds.sql_query.levels.domains import DOMAINS, VARIANTS, build
from piase_gym.worlds.sql_query.levels.questions import KINDS, LEVELS, WRITING, Question, make
from piase_gym.worlds.sql_query.rules.hardness import hardness
from piase_gym.worlds.sql_query.world import SqlQuery

Row = dict[str, Any]
GOLDEN = Path(__file__).with_name("golden_questions.json")
"""What `drawn` returned; ``python -m tests.worlds.sql_query.test_questions`` writes it anew."""


def key(**fields: Any) -> dict[str, Any]:
    """Return what decides a question."""
    return dict(SqlQueryConfig(**fields).question_key())


@pytest.fixture(scope="module")
def questions() -> Sequence[Question]:
    reading = [make(key(), number) for number in range(700)]
    return [*reading, *(make(key(writes=1.0), number) for number in range(100))]


@contextlib.contextmanager
def opened(question: Question) -> Iterator[sqlite3.Connection]:
    """Open a copy of the database of a question."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(question.database.image)
        connection.row_factory = sqlite3.Row
        yield connection


def test_every_kind_comes_and_is_as_hard_as_it_says(questions: Sequence[Question]) -> None:
    seen = Counter(question.kind for question in questions)
    assert set(seen) == set(KINDS)
    for question in questions:
        task = question.task
        assert task.writes == (question.kind in WRITING)
        assert task.hardness == KINDS[question.kind].hardness
        if not task.writes:
            assert hardness(task.gold) == task.hardness, task.gold


def test_gold_runs_without_our_engine(questions: Sequence[Question]) -> None:
    for question in questions:
        with opened(question) as connection:
            cursor = connection.execute(question.task.gold)
            if question.task.writes:
                assert cursor.rowcount > 0, question.task
            else:
                rows = cursor.fetchall()
                assert rows, question.task
                assert any(value is not None for row in rows for value in row), question.task


# -- answers without SQL ------------------------------------------------------------------------


class Data:
    """The tables of a database as lists of rows, found by what a question calls them."""

    def __init__(self, question: Question) -> None:
        self.entities = {e.table: e for e in DOMAINS[question.database.name]}
        with opened(question) as connection:
            self.tables = {
                table.name: [
                    dict(row)
                    for row in connection.execute(f"SELECT * FROM {table.name} ORDER BY id")
                ]
                for table in question.database.schema
            }

    def table(self, words: str) -> str:
        """Return the table of which some words speak."""
        return next(
            n for n, e in self.entities.items() if words in (e.one, e.many) and n in self.tables
        )

    def field(self, table: str, words: str) -> str:
        """Return the column of a table of which some words speak."""
        return next(f.name for f in self.entities[table].fields if words in (f.one, f.many))

    def rows(self, table: str, conditions: str) -> list[Row]:
        """Return the rows for which some words are true."""

        def true(row: Row, told: str) -> bool:
            match = re.fullmatch(r'whose (.+?) is (?:(.+?) )?("[^"]*"|[-\d.]+)', told)
            assert match is not None, told
            mine = row[self.field(table, match[1])]
            if match[3].startswith('"'):
                return bool(mine == match[3][1:-1])
            wanted = float(match[3])
            return bool(
                {
                    "greater than": mine > wanted,
                    "above": mine > wanted,
                    "less than": mine < wanted,
                    "below": mine < wanted,
                    "at least": mine >= wanted,
                    "at most": mine <= wanted,
                }[match[2]]
            )

        either = [part.split(" and whose ") for part in conditions.split(" or whose ")]
        wholes = [[p if p.startswith("whose") else f"whose {p}" for p in part] for part in either]
        return [r for r in self.tables[table] if any(all(true(r, p) for p in w) for w in wholes)]

    def children(self, parent: str, child: str, row: Row) -> list[Row]:
        """Return the rows that refer to a row."""
        return [other for other in self.tables[child] if other[f"{parent}_id"] == row["id"]]


def answer(question: Question) -> list[tuple[Any, ...]]:
    """Answer a question by its words, which say all that there is to know."""
    data, text = Data(question), question.task.question.rstrip(".?")

    def parts(pattern: str) -> tuple[str, ...]:
        match = re.fullmatch(pattern, text)
        assert match is not None, text
        return match.groups()

    match question.kind:
        case "count":
            (t,) = parts(r"(?:How many|What is the number of|Count the) (.+?)(?: are there)?")
            return [(len(data.tables[data.table(t)]),)]
        case "list":
            f, t = parts(r"(?:What are|List|Show) the (.+) of (?:all|the) (.+)")
            t = data.table(t)
            return [(row[data.field(t, f)],) for row in data.tables[t]]
        case "distinct" if text.startswith("How many"):
            f, t = parts(r"How many different (.+) do the (.+) have")
            t = data.table(t)
            return [(len({row[data.field(t, f)] for row in data.tables[t]}),)]
        case "distinct":
            f, t = parts(r".+ the (?:different|distinct) (.+) of the (.+)")
            t = data.table(t)
            return [(value,) for value in {row[data.field(t, f)] for row in data.tables[t]}]
        case "aggregate":
            word, f, t = parts(
                r".+ the (average|mean|highest|maximum|lowest|minimum|total|summed) (.+) of all "
                r"(.+)"
            )
            t = data.table(t)
            values = [row[data.field(t, f)] for row in data.tables[t]]
            functions = {"a": lambda v: sum(v) / len(v), "h": max, "l": min, "t": sum, "s": sum}
            letter = {"mean": "a", "maximum": "h", "minimum": "l"}.get(word, word[0])
            return [(functions[letter](values),)]
        case "filter" if text.startswith("How many"):
            t, told = parts(r"How many (.+) are there (whose .+)")
            return [(len(data.rows(data.table(t), told)),)]
        case "filter" | "two_conditions":
            f, t, told = parts(r"What are the (.+?) of the (.+?) (whose .+)")
            t = data.table(t)
            return [(row[data.field(t, f)],) for row in data.rows(t, told)]
        case "sorted":
            f, t, way, n = parts(r"List the (.+) of all (.+) in (\w+) order of (.+)")
            t = data.table(t)
            rows = sorted(data.tables[t], key=lambda row: row[data.field(t, n)])
            rows = rows[::-1] if way == "descending" else rows
            return [(row[data.field(t, f)],) for row in rows]
        case "top":
            f, t, word, n = parts(r"What is the (.+) of the (.+) with the (\w+) (.+)")
            t = data.table(t)
            best = max if word in ("highest", "greatest") else min
            return [
                (best(data.tables[t], key=lambda row: row[data.field(t, n)])[data.field(t, f)],)
            ]
        case "joined":
            f, t, u, told = parts(
                r"What are the (.+?) of the (.+?) that belong to (.+?) (whose .+)"
            )
            t, u = data.table(t), data.table(u)
            found = [c for row in data.rows(u, told) for c in data.children(u, t, row)]
            return [(row[data.field(t, f)],) for row in found]
        case "extremes":
            n, t = parts(r"What are the lowest and the highest (.+) of all (.+)")
            t = data.table(t)
            values = [row[data.field(t, n)] for row in data.tables[t]]
            return [(min(values), max(values))]
        case "above_average":
            f, t, n, word = parts(
                r"What are the (.+?) of the (.+?) whose (.+) is (\w+) the average"
            )
            t = data.table(t)
            n = data.field(t, n)
            mean = sum(row[n] for row in data.tables[t]) / len(data.tables[t])
            sign = 1 if word == "above" else -1
            return [(r[data.field(t, f)],) for r in data.tables[t] if sign * (r[n] - mean) > 0]
        case "without":
            f, u, t = parts(r"What are the (.+?) of the (.+?) that have no (.+)")
            t, u = data.table(t), data.table(u)
            return [(r[data.field(u, f)],) for r in data.tables[u] if not data.children(u, t, r)]
        case "most_common":
            g, word, t = parts(r"Which (.+) do the (most|fewest) (.+) have")
            t = data.table(t)
            counts = Counter(row[data.field(t, g)] for row in data.tables[t])
            return [((max if word == "most" else min)(counts, key=counts.__getitem__),)]
        case "except":
            g, t, n, low = parts(r"Which (.+) do no (.+) have whose (.+) is above (.+)")
            t = data.table(t)
            g, n = data.field(t, g), data.field(t, n)
            over = {row[g] for row in data.tables[t] if row[n] > float(low)}
            return [(value,) for value in {row[g] for row in data.tables[t]} - over]
        case "joined_top":
            f, u, word, t = parts(r"What is the (.+?) of the (.+?) that has the (\w+) (.+?), .+")
            t, u = data.table(t), data.table(u)
            counts = {k: len(data.children(u, t, row)) for k, row in enumerate(data.tables[u])}
            counts = {k: count for k, count in counts.items() if count}
            best_row = (max if word == "most" else min)(counts, key=counts.__getitem__)
            return [(data.tables[u][best_row][data.field(u, f)],)]
        case "joined_groups":
            u, least, t, f, n = parts(
                r"For each (.+?) that has at least (\d) (.+?), what are its (.+?) and the average "
                r"(.+?) of those, .+"
            )
            t, u = data.table(t), data.table(u)
            groups = [(row[data.field(u, f)], data.children(u, t, row)) for row in data.tables[u]]
            n = data.field(t, n)
            return sorted(
                (name, sum(r[n] for r in rows) / len(rows))
                for name, rows in groups
                if len(rows) >= int(least)
            )[:3]
        case "both":
            f, u, t, one, two = parts(
                r'What are the (.+?) of the (.+?) that have both (.+?) (whose .+? is ".+?") and '
                r'.+? (whose .+? is ".+?")'
            )
            t, u = data.table(t), data.table(u)
            owners = [{r[f"{u}_id"] for r in data.rows(t, told)} for told in (one, two)]
            found = {
                r[data.field(u, f)] for r in data.tables[u] if r["id"] in owners[0] & owners[1]
            }
            return [(value,) for value in found]
        case "per_group":
            t, g = parts(r".*(?:How many| of the) (\w+)(?: are there)? for each (.+)")
            t = data.table(t)
            g = data.field(t, g)
            if text.startswith("How many"):
                return list(Counter(row[g] for row in data.tables[t]).items())
            word, n = parts(r"What is the (\w+) (.+?) of the .+")
            n = data.field(t, n)
            sets: dict[str, list[float]] = {}
            for row in data.tables[t]:
                sets.setdefault(row[g], []).append(row[n])
            of = {"average": lambda v: sum(v) / len(v), "highest": max, "lowest": min}[word]
            return [(name, of(values)) for name, values in sets.items()]
    raise AssertionError(question.kind)


def _rounded(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return [tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in rows]


def test_gold_answers_the_words_of_the_question(questions: Sequence[Question]) -> None:
    """The answers are worked out from the words, in Python, on the rows of the tables."""
    checked = Counter[str]()
    for question in questions:
        if question.task.writes:
            continue
        with opened(question) as connection:
            gold = _rounded(connection.execute(question.task.gold).fetchall())
        mine = _rounded(answer(question))
        if question.kind not in ("sorted", "joined_groups"):
            gold, mine = sorted(gold, key=repr), sorted(mine, key=repr)
        assert gold == mine, question
        checked[question.kind] += 1
    assert set(checked) == set(KINDS) - set(WRITING)


# -- what is promised of the generator ------------------------------------------------------------


def test_there_are_six_domains_with_content_of_their_own() -> None:
    assert len(DOMAINS) == 6
    for domain in DOMAINS:
        images = {build(domain, variant, 3, 7, 30).database.image for variant in range(VARIANTS)}
        assert len(images) == VARIANTS
        schema = build(domain, 0, 3, 7, 30).database.schema
        assert len(schema) == 3
        assert sum(len(table.references) for table in schema) == 2


def contents(database: Database) -> list[Any]:
    """Return the declarations and rows of all tables."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(database.image)
        tables = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        rows = [connection.execute(f"SELECT * FROM {name}").fetchall() for name, _ in tables]
    return [tables, rows]


def drawn() -> dict[str, str]:
    """Return digests of databases of each domain, and of questions of each kind and level."""
    found = {}
    for domain in sorted(DOMAINS):
        made = [build(domain, variant, 3, 7, 30) for variant in range(3)]
        found[domain] = digest_json(jsonable([contents(one.database) for one in made]))
    for kind in KINDS:
        fields = key(kinds=(kind,), writes=float(kind in WRITING))
        found[kind] = digest_json(jsonable([make(fields, number).task for number in range(6)]))
    for level in LEVELS:
        fields = key(difficulty=level)
        found[f"level {level}"] = digest_json(jsonable([make(fields, n).task for n in range(12)]))
    return found


def test_the_question_of_a_number_stays_what_it_was() -> None:
    """Logs and scores name questions by their numbers: who changes one raises versions."""
    assert drawn() == json.loads(GOLDEN.read_text("utf-8"))


def test_questions_follow_from_their_number() -> None:
    fields = key(hardness=("medium", "extra"), domains=("farm", "league"))
    one, again = ([make(fields, number).task for number in range(40)] for _ in range(2))
    assert one == again
    assert {task.hardness for task in one} == {"medium", "extra"}
    assert {task.database for task in one} == {"farm", "league"}
    assert len({task.question for task in one}) > 30


@pytest.mark.parametrize("difficulty", LEVELS)
def test_difficulties_are_what_they_say(difficulty: int) -> None:
    world = SqlQuery(SqlQueryConfig(difficulty=difficulty))  # type: ignore[call-arg]
    for seed in range(12):
        world.reset(seed)
        task, database, _ = world.setting
        row = LEVELS[difficulty]
        assert task.hardness in row["hardness"]
        assert len(database.schema) == row["tables"]
        assert max(len(table.columns) for table in database.schema) <= row["columns"]


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(GenerationError, match=r"no questions that are joined with tables=1"):
        SqlQuery(SqlQueryConfig(tables=1, kinds=("joined",)))
    with pytest.raises(GenerationError, match="no questions that are count"):
        SqlQuery(SqlQueryConfig(kinds=("count",), hardness=("extra",)))
    with pytest.raises(ConfigError, match="difficulty is one of 1, 2, 3, 4, 5"):
        SqlQueryConfig(difficulty=9)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="give dataset as well"):
        SqlQueryConfig(server="sqlite://")
    for dataset in ("/no/such/folder", "~nobody-of-this-name/folder"):
        with pytest.raises(ConfigError, match="is no folder"):
            SqlQueryConfig(dataset=dataset)


def test_a_dataset_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", refuse)
    with pytest.raises(ConfigError, match="cannot read 'data': Permission denied"):
        SqlQueryConfig(dataset="data")


@pytest.mark.parametrize(
    ("difficulty", "sizes"),
    [(1, (1, 4, 60)), (2, (2, 5, 30)), (3, (2, 7, 30)), (4, (3, 7, 30)), (5, (3, 7, 60))],
)
def test_what_a_difficulty_stands_for_stays(difficulty: int, sizes: tuple[int, ...]) -> None:
    config = SqlQueryConfig.model_validate({"difficulty": difficulty})
    assert (config.tables, config.columns, config.rows) == sizes


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(drawn(), indent=1) + "\n", "utf-8")
