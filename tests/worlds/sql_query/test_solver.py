"""The script: what it asks for each way in which questions are put, and how it goes about it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from piase_gym.core.commands import Command
from piase_gym.worlds.sql_query import actions
from piase_gym.worlds.sql_query.config import SqlQueryConfig
from piase_gym.worlds.sql_query.facts import Answer, SqlQueryFacts
from piase_gym.worlds.sql_query.levels.dataset import Column, Reference, Table
from piase_gym.worlds.sql_query.players.scripted import SqlQueryScript, solve
from piase_gym.worlds.sql_query.world import SqlQuery


def table(name: str, columns: str, *links: Reference) -> Table:
    """Return a table; of its columns ``id`` is the key, and capital letters begin numbers."""
    made = (
        Column(one.lower(), "INT" if one[0].isupper() else "TEXT", one == "Id")
        for one in columns.split()
    )
    return Table(name, tuple(made), links)


CLUB = table("club", "Id name city Founded")
PLAYER = table(
    "player",
    "Id Coach_id Club_id name position Age Salary",
    Reference("coach_id", "coach", "id"),
    Reference("club_id", "club", "id"),
)
TABLES = (CLUB, PLAYER, table("kit", "color"))
JOINED = "player AS T1 JOIN club AS T2 ON T1.club_id = T2.id"


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        (
            'Set the salary of the player whose name is "Ann O\'Neil" to 12.5.',
            "UPDATE player SET salary = 12.5 WHERE name = 'Ann O''Neil'",
        ),
        (
            'Remove all players whose age is under -2 and whose position is "left back".',
            "DELETE FROM player WHERE age < -2 AND position = 'left back'",
        ),
        (
            'Add a player with id 7, name "Ann O\'Neil", age 3.5.',
            "INSERT INTO player (id, name, age) VALUES (7, 'Ann O''Neil', 3.5)",
        ),
        (
            "For each club that has at least 3 players, what are its name and the average age of "
            "those, for the first 3 in alphabetical order of name?",
            f"SELECT T2.name, AVG(T1.age) FROM {JOINED} GROUP BY T2.id HAVING COUNT(*) >= 3 "
            "ORDER BY T2.name LIMIT 3",
        ),
        (
            'What are the names of the clubs that have both players whose position is "a\'b" and '
            'players whose position is "c\'d"?',
            f"SELECT T2.name FROM {JOINED} WHERE T1.position = 'a''b' INTERSECT "
            f"SELECT T2.name FROM {JOINED} WHERE T1.position = 'c''d'",
        ),
        (
            "What are the cities of the clubs that have no players?",
            "SELECT city FROM club WHERE id NOT IN (SELECT club_id FROM player)",
        ),
        (
            "What is the name of the club that has the most players, of those that have any?",
            f"SELECT T2.name FROM {JOINED} GROUP BY T2.id ORDER BY COUNT(*) DESC LIMIT 1",
        ),
        (
            "What is the city of the club that has the fewest players?",
            f"SELECT T2.city FROM {JOINED} GROUP BY T2.id ORDER BY COUNT(*) ASC LIMIT 1",
        ),
        (
            "Which position do the most players have?",
            "SELECT position FROM player GROUP BY position ORDER BY COUNT(*) DESC LIMIT 1",
        ),
        (
            "which position do the fewest players have?",
            "SELECT position FROM player GROUP BY position ORDER BY COUNT(*) ASC LIMIT 1",
        ),
        (
            "Which positions do no players have whose age is above 30?",
            "SELECT position FROM player EXCEPT SELECT position FROM player WHERE age > 30",
        ),
        (
            "What are the names of the players whose salary is above the average?",
            "SELECT name FROM player WHERE salary > (SELECT AVG(salary) FROM player)",
        ),
        (
            "What are the names of the players whose salary is below the average?",
            "SELECT name FROM player WHERE salary < (SELECT AVG(salary) FROM player)",
        ),
        (
            "What are the names of the players that belong to clubs whose city is 'Rome'?",
            f"SELECT T1.name FROM {JOINED} WHERE T2.city = 'Rome'",
        ),
        (
            "What are the lowest and the highest salary of all players?",
            "SELECT MIN(salary), MAX(salary) FROM player",
        ),
        (
            "How many players are there for each position?",
            "SELECT position, COUNT(*) FROM player GROUP BY position",
        ),
        (
            "What is the lowest salary of the players for each position?",
            "SELECT position, MIN(salary) FROM player GROUP BY position",
        ),
        (
            "List the ages of all players in ascending order of name.",
            "SELECT age FROM player ORDER BY name ASC",
        ),
        (
            "List the names of all players in descending order of position.",
            "SELECT name FROM player ORDER BY position DESC",
        ),
        (
            "How many different positions do the players have?",
            "SELECT COUNT(DISTINCT position) FROM player",
        ),
        ("List the distinct cities of the clubs.", "SELECT DISTINCT city FROM club"),
        (
            "find the number of players whose age is at most 30.",
            "SELECT COUNT(*) FROM player WHERE age <= 30",
        ),
        ("Count the clubs.", "SELECT COUNT(*) FROM club"),
        (
            'List the name of players whose position is "wing" or whose age is more than 30.',
            "SELECT name FROM player WHERE position = 'wing' OR age > 30",
        ),
    ],
)
def test_every_way_to_ask_is_understood(question: str, sql: str) -> None:
    assert solve(question, TABLES) == sql


@pytest.mark.parametrize(
    ("words", "function"),
    [
        ("average mean", "AVG"),
        ("total sum summed", "SUM"),
        ("highest maximum largest greatest oldest longest", "MAX"),
        ("lowest minimum smallest least youngest shortest", "MIN"),
    ],
)
def test_words_for_functions_are_known(words: str, function: str) -> None:
    for word in words.split():
        asked = f"Find the {word} age of all players whose name is 'Bo'."
        assert solve(asked, TABLES) == f"SELECT {function}(age) FROM player WHERE name = 'Bo'"


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ("highest greatest largest most maximum oldest longest best", "DESC"),
        ("lowest smallest least fewest minimum youngest shortest worst", "ASC"),
    ],
)
def test_words_for_the_first_and_the_last_are_known(words: str, way: str) -> None:
    for word in words.split():
        asked = f"What is the name of the player with the {word} age?"
        assert solve(asked, TABLES) == f"SELECT name FROM player ORDER BY age {way} LIMIT 1"


@pytest.mark.parametrize(
    ("said", "test"),
    [
        ("greater than 5", "> 5"),
        ("more than 5", "> 5"),
        ("above 5", "> 5"),
        ("over 5", "> 5"),
        ("less than 5", "< 5"),
        ("below 5", "< 5"),
        ("under 5", "< 5"),
        ("at least 5", ">= 5"),
        ("at most 5.5", "<= 5.5"),
        ("5", "= 5"),
        ("old", "= 'old'"),
    ],
)
def test_comparisons_are_known(said: str, test: str) -> None:
    for which in ("whose", "where the"):
        asked = f"Count the players {which} age is {said}."
        assert solve(asked, TABLES) == f"SELECT COUNT(*) FROM player WHERE age {test}"


def test_a_number_is_a_word_where_a_column_has_words() -> None:
    asked = "Count the players whose position is 9."
    assert solve(asked, TABLES) == "SELECT COUNT(*) FROM player WHERE position = '9'"


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("What about clubs and kits?", "SELECT name FROM club"),  # the first that is named
        ("What about kits and clubs?", "SELECT color FROM kit"),
        ("Show the age.", "SELECT age FROM player"),  # the one that has such a column
        ("What is the mean of the players?", "SELECT AVG(age) FROM player"),  # neither key nor link
        ("Find the mean color of all kits.", "SELECT AVG(color) FROM kit"),  # no numbers at all
        ("Show the names and cities of the clubs.", "SELECT name FROM club"),
        ("Show the cities and names of the clubs.", "SELECT city FROM club"),
    ],
)
def test_what_a_question_does_not_say_is_guessed(question: str, sql: str) -> None:
    assert solve(question, TABLES) == sql


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("What are the names of the clubs that have no kits?", "SELECT name FROM club"),
        ("What is the name of the club that has the most kits?", "SELECT name FROM club"),
        (
            "For each club that has at least 2 kits, what are its name and the average age of it?",
            "SELECT AVG(founded) FROM club",
        ),
        (
            'What are the names of the clubs that belong to kits whose color is "red"?',
            "SELECT name FROM club WHERE name = 'red'",
        ),
        (
            'What are the names of the clubs that have both kits whose color is "red" and kits '
            'whose color is "blue"?',
            "SELECT name FROM club WHERE name = 'red' AND name = 'blue'",
        ),
    ],
)
def test_tables_that_do_not_belong_together_are_not_joined(question: str, sql: str) -> None:
    assert solve(question, TABLES) == sql


def test_tables_whose_columns_are_unknown_are_not_asked() -> None:
    assert solve("Count the clubs.", (Table("club", (), ()), PLAYER)) == (
        "SELECT COUNT(*) FROM player"
    )
    assert solve("Count the clubs.", (Table("club", (), ()),)) == "SHOW TABLES"
    assert solve("Count the clubs.", ()) == "SHOW TABLES"


def hidden(**config: Any) -> tuple[SqlQuery, SqlQueryScript]:
    """Return a world whose schema is to be found out, and the script."""
    world = SqlQuery(SqlQueryConfig(discover=True, kinds=("without",), tables=3, **config))
    world.reset(3)
    return world, SqlQueryScript(world)


def test_a_hidden_schema_is_looked_at_from_the_table_that_is_asked_for() -> None:
    world, solver = hidden()
    done = []
    while world.alive[0]:
        done.append(solver.act(0))
        world.step([done[-1]])
    asked = [command.parameters["table"] for command in done if command.verb == "describe"]
    places = [actions.mention(name, world.setting.task.question) for name in asked]
    assert [done[0].verb, done[-2].verb, done[-1]] == ["tables", "query", actions.SUBMIT]
    assert len(asked) == 3
    assert places == sorted(places, reverse=True)
    assert world.result(0) == "won"


def test_the_last_two_turns_are_left_for_a_query_and_its_answer() -> None:
    world, solver = hidden(max_steps=4)
    done = []
    while world.alive[0]:
        done.append(solver.act(0).verb)
        world.step([solver.act(0)])
    assert done == ["tables", "describe", "query", "submit"]


class Failing(SqlQuery):
    """A world in which every query fails."""

    def facts(self, agent: int) -> SqlQueryFacts:
        """Return the facts, with an error for an answer."""
        facts = super().facts(agent)
        failed = Answer(error="no such table", reason="missing_table")
        return facts if facts.answer is None else dataclasses.replace(facts, answer=failed)


def test_a_query_that_fails_is_not_submitted() -> None:
    world = Failing(SqlQueryConfig())
    world.reset(3)
    world.step([SqlQueryScript(world).act(0)])
    assert SqlQueryScript(world).act(0) == actions.SKIP


def test_an_answer_to_another_query_is_not_submitted() -> None:
    world = SqlQuery(SqlQueryConfig())
    world.reset(3)
    world.step([Command("query", {"sql": "SELECT 1"})])
    assert SqlQueryScript(world).act(0) == Command("query", {"sql": world.setting.task.gold})
