"""Episodes: rewards, ends, what is shown, several agents, players, states as values."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym.core.commands import Command, InvalidAction
from piase_gym.core.mailbox import Message
from piase_gym.core.text_encoding import CHARSET, hash_text
from piase_gym.errors import SnapshotError, TextParseError
from piase_gym.worlds.sql_query import actions
from piase_gym.worlds.sql_query.config import SqlQueryConfig
from piase_gym.worlds.sql_query.facts import Answer, SqlQueryFacts
from piase_gym.worlds.sql_query.levels.dataset import Column, Reference, Table
from piase_gym.worlds.sql_query.observe import vector
from piase_gym.worlds.sql_query.observe.text import longest_text, parse, text_of
from piase_gym.worlds.sql_query.observe.vector import vector_box, vector_of
from piase_gym.worlds.sql_query.players.oracle import SqlQueryOracle
from piase_gym.worlds.sql_query.players.scripted import SqlQueryScript, solve
from piase_gym.worlds.sql_query.rules.engine import REASONS
from piase_gym.worlds.sql_query.rules.judge import changes
from piase_gym.worlds.sql_query.rules.score import score
from piase_gym.worlds.sql_query.rules.worker import Limits
from piase_gym.worlds.sql_query.world import SqlQuery


def world_of(**config: Any) -> SqlQuery:
    world = SqlQuery(SqlQueryConfig(**config))
    world.reset(3)
    return world


def play(world: SqlQuery, *lines: str) -> Any:
    """Let the first agent write some lines; return the last step."""
    for line in lines:
        result = world.step([world.read(0, line), *[None] * (len(world.agents) - 1)])  # type: ignore[list-item]
    return result


def test_a_submitted_answer_is_worth_its_score() -> None:
    """The reward is that of `score`, which has tests of its own, for whole and half answers."""
    for mode in ("order_aware", "original"):
        for seed in range(12):
            world = world_of(reward_mode=mode, hardness=("easy",), kinds=("sorted", "list"))
            world.reset(seed)
            gold = world.setting.task.gold
            for line in (gold, f"SELECT * FROM ({gold}) LIMIT 2", f"{gold} LIMIT 0", "SELECT 1"):
                world.reset(seed)
                first = play(world, line)
                rows = world._results[0]
                assert rows is not None
                want = score(rows.rows, world.setting.gold.rows, mode, gold)  # type: ignore[arg-type]
                last = play(world, "submit")
                assert first.rewards == [0.0]
                assert first.notes[0]["score"] == last.notes[0]["score"] == want
                assert last.rewards == [want]
                assert last.terminated == [True]
                assert world.result(0) == ("won" if want == 1 else "lost")
                assert last.notes[0]["gold"] == gold


def test_the_order_counts_where_it_is_asked_for() -> None:
    for kind in ("list", "sorted"):
        world = world_of(domains=("library",), kinds=(kind,), tables=1)
        for seed in range(99):  # of rows that all differ
            world.reset(seed)
            gold = world.setting.task.gold
            if gold.startswith("SELECT name"):
                break
        turned = (
            gold.replace(" ASC", " -").replace(" DESC", " ASC").replace(" -", " DESC")
            if kind == "sorted"
            else f"{gold} ORDER BY id DESC"
        )
        rows = world.setting.gold.rows
        want = 1.0 if kind == "list" else score(rows[::-1], rows, "original")
        assert want == 1.0 or want < 0.5
        assert play(world, turned, "submit").rewards == [want]


def test_the_best_of_all_turns_counts() -> None:
    world = world_of(answer="best", kinds=("list",), domains=("library",), tables=1)
    gold = world.setting.task.gold
    rows = len(world.setting.gold.rows)
    half = play(world, f"{gold} LIMIT {rows // 2}")
    assert half.rewards == [pytest.approx((rows // 2) / rows)]
    assert play(world, f"{gold} LIMIT 1").rewards == [0.0]
    last = play(world, gold)
    assert last.rewards == [pytest.approx(1 - (rows // 2) / rows)]
    assert last.terminated == [True]
    assert world.result(0) == "won"
    world.reset(3)
    play(world, f"{gold} LIMIT {rows // 2}", "SELECT 1")
    assert play(world, "submit").notes[0]["score"] == pytest.approx((rows // 2) / rows)
    assert world.result(0) == "lost"


def test_turns_run_out_and_agents_give_up() -> None:
    world = world_of(max_steps=2)
    assert world.facts(0).turns == 2
    first, second = play(world, "SELECT 1"), play(world, world.setting.task.gold)
    assert first.truncated == [False]
    assert (second.truncated, second.terminated, second.rewards) == ([True], [False], [0.0])
    assert world.result(0) == "lost"
    world = world_of()
    skipped = play(world, "skip")
    assert (skipped.terminated, skipped.truncated) == ([True], [False])
    assert world.result(0) == "lost"
    assert play(world_of(), "submit").rewards == [0.0]


def test_failures_are_typed_and_priced() -> None:
    world = world_of(rewards={"error": -0.25, "illegal": -0.5, "step": -0.125})
    for line, outcome, error, reward in (
        ("SELECT 1", "ok", None, -0.125),
        ("SELECT nothing FROM nowhere", "failed", "syntax", -0.375),
        ("DROP TABLE x", "failed", "syntax", -0.375),
        ("ATTACH 'x' AS y", "failed", "denied", -0.375),
        (f"SELECT count(*) FROM {', '.join(['sqlite_master'] * 16)}", "timeout", "timeout", -0.375),
        ("what shall I do", "unparsable", None, -0.625),
        ("describe nowhere", "illegal", None, -0.625),
        ("SELECT " + "1" * 1000, "too_long", None, -0.625),
        ("wait", "ok", None, -0.125),
    ):
        result = play(world, line)
        assert (result.outcomes[0], result.notes[0].get("error")) == (outcome, error), line
        assert result.rewards == [reward], line


def test_what_an_agent_is_told_is_told_once() -> None:
    world = world_of()
    play(world, "what shall I do")
    assert "neither SQL nor a command" in (world.facts(0).feedback or "")
    play(world, "SELECT 1")
    assert world.facts(0).feedback is None
    assert world.facts(0).query == "SELECT 1"


def test_changes_are_told_by_table_and_direction() -> None:
    world = world_of(writes=1.0, domains=("library",))
    database = world.setting.database
    (before,) = world._run("SELECT * FROM author WHERE id = 1", 0).rows
    journal = ("UPDATE author SET name = 'Zed' WHERE id = 1", "DELETE FROM loan WHERE id > 1")
    found = Counter(changes(database, journal).rows)
    names = [column.name for column in database.schema[0].columns]
    after = tuple("Zed" if name == "name" else v for name, v in zip(names, before, strict=True))
    loans = world._run("SELECT * FROM loan WHERE id > 1", 0).rows
    gone = [("-", "author", *before), *(("-", "loan", *row) for row in loans)]
    assert found == Counter([*gone, ("+", "author", *after)])


def test_what_agents_may_use_does_not_limit_who_judges() -> None:
    world = world_of(writes=1.0, domains=("library",))
    world.limits = Limits(rows=3)
    assert play(world, "SELECT * FROM author").notes[0]["error"] == "too_many_rows"
    assert play(world, world.setting.task.gold).notes[0]["score"] == 1.0


def test_milestones_are_told_once() -> None:
    world = world_of()
    gold = world.setting.task.gold
    told = [play(world, line).notes[0].get("milestones") for line in ("xx", "SELECT 1", gold, gold)]
    assert told == [None, ["query_run"], ["answer_found"], None]


@pytest.mark.parametrize("answer", ["submitted", "best"])
def test_a_query_that_fails_has_no_result_and_is_no_milestone(answer: str) -> None:
    world = world_of(answer=answer)
    found = play(world, "SELECT x FROM nothing")
    assert (found.notes[0]["score"], found.notes[0].get("milestones")) == (0.0, None)
    assert world.state_of.best is None
    assert play(world, "SELECT 1").notes[0]["milestones"] == ["query_run"]
    assert world.state_of.best == 0.0


def test_a_task_that_writes_is_judged_by_what_has_changed() -> None:
    for seed in range(10):
        world = SqlQuery(SqlQueryConfig(writes=1.0))
        world.reset(seed)
        task, database, gold = world.setting
        assert task.writes
        done = play(world, task.gold)
        assert done.notes[0]["score"] == 1.0
        assert len(world.state_of.journal) == 1
        assert play(world, "SELECT 1").notes[0]["score"] == 1.0  # the database is what counts
        assert play(world, "submit").rewards == [1.0]
        world.reset(seed)
        assert world.setting.database.image == database.image
        assert play(world, "submit").rewards == [0.0]  # nothing was done
        world.reset(seed)
        table = database.schema[0].name
        wrong = play(world, task.gold, f"DELETE FROM {table} WHERE id < 3")
        assert wrong.notes[0]["score"] < 1.0
        assert gold.rows


def test_a_schema_can_be_found_out() -> None:
    world = world_of(discover=True)
    schema = world.setting.database.schema
    name = schema[1].name
    assert world.facts(0).tables == ()
    assert int(world.masks()[0].sum()) == len(actions.PLAIN)
    assert play(world, f"describe {name}").outcomes == ["illegal"]
    play(world, "SHOW TABLES")
    assert [table.name for table in world.facts(0).tables] == [table.name for table in schema]
    assert all(not table.columns for table in world.facts(0).tables)
    few = int(world.masks()[0].sum())
    result = play(world, f"DESC {name};")
    assert result.outcomes == ["ok"]
    assert world.facts(0).tables[1] == schema[1]
    assert world.facts(0).tables[0].columns == ()
    assert int(world.masks()[0].sum()) > few
    answer = world.facts(0).answer
    assert answer is not None
    assert [row[0] for row in answer.rows] == [column.name for column in schema[1].columns][:5]
    assert answer.height == len(schema[1].columns)


def test_indices_stand_for_the_same_places_in_every_episode() -> None:
    world = world_of(tables=2)
    parts, size = actions.layout(world._slots)
    assert size == world.num_actions
    for seed in range(6):
        world.reset(seed)
        schema = world.setting.database.schema
        for index, command in world.choices(0).commands.items():
            kind = max((k for k in parts if parts[k][0] <= index), key=lambda k: parts[k][0])
            if kind == "one":
                table = schema[(index - parts[kind][0]) // (parts[kind][1][1] * parts[kind][1][2])]
                assert f"FROM {table.name}" in command.parameters["sql"]
        assert world.command(0, 0) == actions.WAIT
        unused = int((world.masks()[0] == 0).argmax())
        assert isinstance(world.command(0, unused), InvalidAction)


def test_every_template_runs() -> None:
    for seed in range(2):
        world = world_of(max_steps=5000)
        world.reset(seed)
        for command in world.choices(0).commands.values():
            if command.verb == "query":
                assert world._run(command.parameters["sql"], 0).reason is None, command


def test_templates_are_all_there() -> None:
    """Every query of a table of a key and a number, and of one that refers to it, written out."""
    t = Table("t", (Column("id", "INT", True), Column("n", "REAL", False)), ())
    u = Table("u", (Column("t_id", "INT", False),), (Reference("t_id", "t", "id"),))
    found = actions.choices((t, u), ("7", "'x'"), actions.Slots(2, 2, 1), '"').commands
    lines = [c.parameters["sql"] for c in found.values() if c.verb == "query"]
    want = []
    for table in ("t", "u"):
        want.append(f"SELECT COUNT(*) FROM {table}")
    for table, c in (("t", "id"), ("t", "n"), ("u", "t_id")):
        want += [f"SELECT {c} FROM {table}", f"SELECT DISTINCT {c} FROM {table}"]
        want.append(f"SELECT COUNT(DISTINCT {c}) FROM {table}")
        want.append(f"SELECT {c}, COUNT(*) FROM {table} GROUP BY {c}")
        want += [f"SELECT {f}({c}) FROM {table}" for f in ("AVG", "SUM", "MAX", "MIN")]
    for end in ("ASC", "DESC", "ASC LIMIT 1", "DESC LIMIT 1"):  # a key puts nothing in order
        want.append(f"SELECT id FROM t ORDER BY n {end}")
    tests = ["{} = 7", "{} > 7", "7 > {}", "{} >= 7", "7 >= {}", "{} = 'x'"]
    want += ["SELECT id FROM t WHERE " + test.format("n") for test in tests]
    want += ["SELECT n FROM t WHERE " + test.format("id") for test in tests]
    for table, c in (("t", "id"), ("t", "n"), ("u", "t_id")):
        want += [f"SELECT COUNT(*) FROM {table} WHERE {test.format(c)}" for test in tests]
    joined = "SELECT T1.t_id FROM u AS T1 JOIN t AS T2 ON T1.t_id = T2.id WHERE T2"
    want += [f"{joined}.{c} = {value}" for c in ("id", "n") for value in ("7", "'x'")]
    assert sorted(lines) == sorted(want)
    assert list(found) == sorted(found)


def test_names_that_are_no_words_are_quoted() -> None:
    columns = (Column("id", "INT", True), Column("order", "INT", False), Column('a "b"', "", False))
    schema = (Table("my table", columns, ()),)
    found = actions.choices(schema, ("'x'",), actions.Slots(1, 3, 0), '"').commands.values()
    lines = [command.parameters.get("sql", "") for command in found]
    assert 'SELECT "order" FROM "my table"' in lines
    assert 'SELECT "a ""b""" FROM "my table"' in lines
    ticked = actions.choices(schema, (), actions.Slots(1, 3, 0), "`").commands.values()
    assert "SELECT `order` FROM `my table`" in [c.parameters.get("sql") for c in ticked]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ('Whose name is "Ann Lee" or 12.5?', ("'Ann Lee'", "12.5")),
        ("Which singers come from France after 1990?", ("1990", "'France'")),
        ("It's 3 o'clock in 'Bern'", ("'Bern'", "3")),
        ("How many are there?", ()),
        ("""Called "O'Neil" and 5 and 7""", ("'O''Neil'", "5")),
    ],
)
def test_values_are_found_in_questions(question: str, found: tuple[str, ...]) -> None:
    assert actions.literals(question) == found


def test_lines_are_read_as_people_write_them() -> None:
    world = world_of(agents=2)
    query = Command("query", {"sql": "select 1;"})
    blocks = ("```sql\nselect 1;\n```", "```select 1;```", "```sqlite select 1;```")
    labels = ("SQL: select 1;", "Query:select 1;", "SQL query:\n```sql\nselect 1;\n```")
    for line in ("select 1;", "  select 1; ", *blocks, *labels, "query select 1;"):
        assert world.read(0, line) == query, line
    assert world.read(0, "Submit.") == actions.SUBMIT
    assert world.read(0, "(select 1)") == Command("query", {"sql": "(select 1)"})
    assert world.read(0, "describe the `Author`;") == Command("describe", {"table": "the `Author"})
    assert world.read(0, "DESC author") == Command("describe", {"table": "author"})
    assert world.read(0, "tell agent_1 SELECT") == Command(
        "tell", {"agent_id": "agent_1", "message": "SELECT"}
    )
    for sql in ("select 1", "submit", "describe x", "anything", "say hello", "sql: x"):
        command = Command("query", {"sql": sql})
        assert world.read(0, world.write(command)) == command
    for line in ("I think so", "{}", "42", ""):
        assert isinstance(world.read(0, line), InvalidAction)


# -- several agents -----------------------------------------------------------------------------


def test_agents_share_the_question_and_not_their_results() -> None:
    world = world_of(agents=3)
    gold = world.setting.task.gold
    result = world.step([world.read(0, gold), world.read(1, "SELECT 1"), world.read(2, "skip")])  # type: ignore[list-item]
    assert result.terminated == [False, False, True]
    assert "gold" not in result.notes[2]  # the others go on
    answers = [world.facts(agent).answer for agent in range(3)]
    assert [a and a.rows for a in answers[1:]] == [(("1",),), None]
    result = world.step([world.read(0, "submit"), world.read(1, "SELECT 2"), None])  # type: ignore[list-item]
    assert result.rewards == [1.0, 1.0, 0.0]
    assert result.outcomes[:2] == ["ok", "failed"]
    assert [result.notes[agent]["gold"] for agent in range(2)] == [gold, gold]
    assert [str(world.result(agent)) for agent in range(3)] == ["won", "won", "lost"]
    world.reset(3)
    world.set_order([1, 0, 2])
    result = world.step([world.read(0, gold), world.read(1, "submit"), None])  # type: ignore[list-item]
    assert result.rewards == [0.0, 0.0, 0.0]
    assert result.outcomes[:2] == ["failed", "ok"]


def test_agents_that_write_change_one_database() -> None:
    world = world_of(agents=2, writes=1.0)
    gold = world.setting.task.gold
    one = world.read(0, gold)
    table = world.setting.database.schema[0].name
    count = world.read(1, f"SELECT count(*) FROM {table}")
    world.step([one, count])  # type: ignore[list-item]
    assert play(world, "wait").terminated == [False, False]
    result = world.step([None, world.read(1, "submit")])  # type: ignore[list-item]
    assert result.rewards == [1.0, 1.0] or world._judge(world._results[1]) == 1.0
    world.reset(3)
    play(world, gold)
    result = world.step([None, world.read(1, "submit")])  # type: ignore[list-item]
    assert result.rewards == [1.0, 1.0]  # who has asked nothing submits the database, too


def test_what_is_said_is_heard_a_turn_later() -> None:
    env = piase_gym.parallel_env("SqlQuery", agents=2, view="text", actions="text")
    env.reset(seed=0)
    env.step({"agent_0": "tell agent_1 I count them.", "agent_1": "say yes"})
    shown, *_ = env.step({"agent_0": "wait", "agent_1": "wait"})
    assert "agent_0 tells agent_1: I count them." in shown["agent_1"]
    assert "agent_1 says: yes" in shown["agent_0"]


# -- views --------------------------------------------------------------------------------------

word = st.text(max_size=12)
name = st.text(min_size=1, max_size=10)
names = st.lists(name, min_size=1, max_size=4, unique=True).map(tuple)
kinds = st.sampled_from(["", "INTEGER", "varchar(255)", "DECIMAL(10,2)", "double precision"])


@st.composite
def tables(draw: Any) -> Table:
    columns = tuple(Column(n, draw(kinds), draw(st.booleans())) for n in draw(names))
    links = [Reference(c.name, draw(name), draw(name)) for c in columns if draw(st.booleans())]
    return Table(draw(name), columns if draw(st.booleans()) else (), tuple(links))


@st.composite
def answers(draw: Any) -> Answer:
    if draw(st.booleans()):
        return Answer(error=draw(word), reason=draw(st.sampled_from(["syntax", "timeout"])))
    columns = draw(st.lists(word, max_size=3).map(tuple))
    rows = draw(st.lists(st.tuples(*[word] * len(columns)), max_size=3)) if columns else []
    numbers = st.integers(0, 10**6)
    return Answer(columns, tuple(rows), draw(numbers), draw(numbers), draw(numbers))


@st.composite
def any_facts(draw: Any) -> SqlQueryFacts:
    found = [
        t if t.columns else t._replace(references=()) for t in draw(st.lists(tables(), max_size=3))
    ]
    letters = st.builds(Message, st.just("agent_1"), st.sampled_from(["all", "agent_0"]), word)
    return SqlQueryFacts(
        agent="agent_0",
        question=draw(word),
        database=draw(name),
        writes=draw(st.booleans()),
        turns=draw(st.integers(0, 10**6)),
        tables=tuple(found),
        query=draw(st.none() | word),
        answer=draw(st.none() | answers()),
        feedback=draw(st.none() | word),
        messages=tuple(draw(st.lists(letters, max_size=2))),
        hint=draw(st.none() | word),
    )


@settings(max_examples=60, deadline=None)
@given(any_facts())
def test_texts_are_read_back(facts: SqlQueryFacts) -> None:
    config = SqlQueryConfig(agents=2)
    text = text_of(facts)
    assert set(text) <= set(CHARSET)
    assert parse(text, config) == facts
    row = vector_of(facts, config.fixed_envelope(), ("agent_0", "agent_1"))
    assert vector_box(config.fixed_envelope()).contains(row)


@pytest.mark.parametrize("called", ["id", "club_id", "goals"])
@pytest.mark.parametrize("kind", ["INTEGER", "TEXT", "REAL", "int", "real", "", "'x'", "(a, b)"])
@pytest.mark.parametrize("key", [True, False])
def test_columns_are_read_back_whatever_they_are(called: str, kind: str, key: bool) -> None:
    column = Column(called, kind, key)
    for link in (None, ("club", "id"), ("club", "code"), ("goal", "id")):
        links = () if link is None else (Reference(called, *link),)
        facts = SqlQueryFacts(
            agent="agent_0",
            question="?",
            database="clubs",
            turns=3,
            writes=False,
            query=None,
            answer=None,
            feedback=None,
            tables=(Table("player", (column, Column("name", "TEXT", False)), links),),
        )
        assert parse(text_of(facts), SqlQueryConfig(agents=2)) == facts


def test_no_text_is_longer_than_its_bound() -> None:
    """The longest facts of an envelope, in letters that are written as ten characters each."""

    def long(count: int) -> str:
        return "\U0010ffff" * count

    sizes = SqlQueryConfig(agents=3).fixed_envelope()
    columns = tuple(Column(long(64), long(64), True) for _ in range(sizes.columns))
    links = tuple(Reference(long(64), long(64), long(64)) for _ in range(sizes.columns))
    answer = Answer((long(40),) * 8, ((long(40),) * 8,) * 5, 10**6, 10**6, 10**6)
    facts = SqlQueryFacts(
        agent="agent_0",
        question=long(1000),
        database=long(64),
        turns=10**6,
        writes=True,
        tables=(Table(long(64), columns, links),) * sizes.tables,
        query=long(60),
        answer=answer,
        feedback=long(200),
        messages=(Message("agent_1", "agent_0", long(400)),) * 3,
        hint=long(300),
    )
    length, bound = len(text_of(facts)), longest_text(sizes)
    failed = dataclasses.replace(facts, answer=Answer(error=long(200), reason="timeout"))
    assert max(length, len(text_of(failed))) <= bound < 1.3 * length


def test_one_can_tell_something_to_others_who_are_in_play_alone() -> None:
    env = piase_gym.parallel_env("SqlQuery", agents=3, view="text", actions="text")
    env.reset(seed=0)
    env.step({"agent_0": "wait", "agent_1": "wait", "agent_2": "give up"})
    assert env.agents == ["agent_0", "agent_1"]
    told = [env.world.read(0, f"tell agent_{other} yes") for other in range(3)]
    assert [env.world.legal(0, line) for line in told] == [False, True, False]
    assert not env.world.legal(2, told[0])
    *_, infos = env.step({"agent_0": "tell agent_2 yes", "agent_1": "tell agent_1 yes"})
    assert [info["outcome"] for info in infos.values()] == ["illegal"] * 2


def test_vectors_have_their_numbers_in_their_places() -> None:
    """The layout that `vector_of` describes, worked out here for one case."""
    world = world_of(
        agents=2, tables=1, columns=4, kinds=("aggregate",), max_steps=40, message_delay=0
    )
    world.step([world.read(0, "SELECT 1, 2"), world.read(1, "tell agent_0 hello")])  # type: ignore[list-item]
    facts = world.facts(0)
    row = world.vector(facts)
    intents, answer = len(vector.INTENTS), len(REASONS)
    assert row[:4].tolist() == [0.0, 39.0, pytest.approx(3.9), 0.0]
    assert row[4 + 2 : 4 + 5].sum() + row[4 + 1] == 1  # one function is asked for
    assert row[4 + intents] == 1
    table = 4 + intents + 32 + 6 + 3
    assert row[table] == 1
    columns = row[table + 6 : table + 6 + 4 * 8].reshape(4, 8)
    kinds = [column.type != "TEXT" for column in facts.tables[0].columns]
    assert columns[:, 2].tolist() == [float(kind) for kind in kinds]
    assert columns[:, 3].tolist() == [1.0, 0.0, 0.0, 0.0]
    place = table + 6 + 32
    assert (row[place : place + 8] == hash_text("SELECT 1, 2")).all()
    assert row[place + 8] == 1
    assert not row[place + 9 : place + 9 + answer].any()
    sizes = place + 9 + answer
    assert row[sizes : sizes + 4] == pytest.approx([math.log(2), math.log(3), 0.0, 1.5])
    letters = sizes + 4 + 8 + 16
    assert row[letters : letters + 2].tolist() == [2.0, 0.0]
    assert (row[letters + 2 : letters + 10] == hash_text("hello")).all()
    assert row.size == letters + 2 * 10 + 16
    changed = dataclasses.replace(facts, writes=True, hint="h", feedback="f", turns=300)
    other = world.vector(changed)
    assert other[:4].tolist() == [0.0, 255.0, 25.0, 1.0]
    assert (other[-8:] == hash_text("h")).all()
    assert (other[-16:-8] == hash_text("f")).all()
    assert (other[4:-16] == row[4:-16]).all()


def test_texts_that_nobody_writes_are_refused() -> None:
    world = world_of()
    play(world, "SELECT 1, 2")
    text = world.text(world.facts(0))
    for old, new in (
        ("Turns left: 9", "Turns left: nine"),
        ("Result: 1 row", "Result: one row"),
        ("- ", "+ "),
        ("Database ", "Databank "),
    ):
        with pytest.raises(TextParseError, match="SqlQuery: cannot read"):
            parse(text.replace(old, new, 1), world.config)


def test_long_results_are_cut_for_show_alone() -> None:
    world = world_of()
    numbers = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 500) "
    play(world, f"{numbers} SELECT {', '.join(['n'] * 20)}, printf('%90d', n) FROM r")
    answer = world.facts(0).answer
    assert answer is not None
    assert (answer.height, answer.width) == (500, 21)
    assert (len(answer.rows), len(answer.rows[0])) == (5, 8)
    play(world, "SELECT printf('%90d', 1)")
    answer = world.facts(0).answer
    assert answer is not None
    assert len(answer.rows[0][0]) == 40
    play(world, "SELECT 1" + ", 1" * 40 + ", 222.66666666666666")
    facts = world.facts(0)
    assert facts.query == ("SELECT 1" + ", 1" * 40)[:57] + "..."
    assert facts.answer is not None
    assert facts.answer.width == 42
    play(world, "SELECT 222.66666666666666, -0.5, 2.0")
    assert world.facts(0).answer.rows == (("222.6667", "-0.5", "2.0"),)
    world.step([Command("query", {"sql": "SELECT 1 " + " " * 5000})])
    assert "1000" in (world.facts(0).feedback or "")


def test_who_has_submitted_is_not_told_the_schema_again() -> None:
    world = world_of(agents=2)
    play(world, "SELECT 1")
    assert all(world.facts(agent).tables for agent in range(2))
    world.step([Command("skip"), Command("wait")])
    assert world.facts(0).tables == ()
    assert world.facts(1).tables
    assert parse(world.text(world.facts(0)), world.config) == world.facts(0)


# -- players --------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [{}, {"discover": True}, {"writes": 0.5}, {"answer": "best"}])
def test_the_oracle_wins_and_the_solver_mostly(config: dict[str, Any]) -> None:
    world = SqlQuery(SqlQueryConfig(**config))
    solved = 0
    for seed in range(60):
        for player in (SqlQueryOracle(world), SqlQueryScript(world)):
            world.reset(seed)
            certificate = SqlQueryOracle(world).certificate(0)
            while world.alive[0]:
                world.step([player.act(0)])
            if isinstance(player, SqlQueryOracle):
                assert (world.result(0), world.state_of.t) == ("won", certificate)
            else:
                solved += world.result(0) == "won"
    assert solved >= 54


SINGERS = (
    Table(
        "concert",
        (Column("id", "INT", True), Column("singer_id", "INT", False)),
        (Reference("singer_id", "singer", "id"),),
    ),
    Table(
        "singer",
        (Column("id", "INT", True), Column("name", "TEXT", False), Column("age", "INT", False)),
        (),
    ),
)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("How many singers do we have?", "SELECT COUNT(*) FROM singer"),
        ("What is the average age of all singers?", "SELECT AVG(age) FROM singer"),
        (
            "Show the names of the singers whose age is at least 30.",
            "SELECT name FROM singer WHERE age >= 30",
        ),
        (
            "What are the names of the singers that have no concerts?",
            "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert)",
        ),
        ("", "SELECT id FROM concert"),
    ],
)
def test_questions_are_understood(question: str, sql: str) -> None:
    assert solve(question, SINGERS) == sql


# -- states are values ----------------------------------------------------------------------------


def test_copies_and_snapshots_go_on_alike() -> None:
    for config in ({}, {"writes": 1.0}, {"discover": True}):
        world = world_of(**config)
        play(world, "tables", "SELECT nothing", world.setting.task.gold)
        other = SqlQuery(SqlQueryConfig(**config))
        other.restore(world.snapshot())
        for twin in (copy.deepcopy(world), pickle.loads(pickle.dumps(world)), other):
            assert twin.digest() == world.digest()
            assert twin.facts(0) == world.facts(0)
            assert twin._results == world._results
            after = copy.deepcopy(world)
            assert play(twin, "submit").rewards == play(after, "submit").rewards == [1.0]
            assert twin.digest() == after.digest()


def test_states_that_do_not_fit_are_refused() -> None:
    world = world_of()
    play(world, "SELECT 1")
    good = world.get_state()
    asked = {**good["query"]["asked"][0], "at": 3}
    for part, match in (
        ({"described": [[99]]}, "not of 3 tables"),
        ({"journal": ["DELETE FROM x"]}, "changes nothing"),
        ({"asked": [asked]}, "more changes"),
        ({"told": []}, "not of 1 agents"),
        ({"order": [1]}, "not of 1 agents"),
        ({"t": -1}, "does not fit"),
        ({"number": -4}, "does not fit"),
    ):
        with pytest.raises(SnapshotError, match=match):
            world.set_state({**good, "query": {**good["query"], **part}})
    assert world.get_state() == good


# -- what is needed -------------------------------------------------------------------------------


def test_play_and_score_need_nothing_but_the_core() -> None:
    """No extra: neither sqlglot nor SQLAlchemy, drivers, scipy or pandas."""
    code = """
import sys
for name in ("sqlglot", "sqlalchemy", "psycopg", "pymysql", "scipy", "pandas", "torch"):
    sys.modules[name] = None
import piase_gym
from piase_gym.worlds.sql_query import score
assert score([(1,)], [(1,)]) == 1.0
env = piase_gym.parallel_env("SqlQuery", actions="text")
env.reset(seed=0)
env.step({"agent_0": env.world.setting.task.gold})
print(env.step({"agent_0": "submit"})[1])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True)
    assert (done.stdout, done.stderr) == (b"{'agent_0': 1.0}\n", b"")
