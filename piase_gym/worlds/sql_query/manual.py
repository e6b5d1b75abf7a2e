"""The manual of SqlQuery: its rules, rewards and goals in words."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.sql_query.config import SqlQueryConfig


def manual(config: SqlQueryConfig) -> Manual:
    """Return the words of the prompt."""
    together = ""
    if config.agents > 1:
        people = ", ".join(config.names(config.agents))
        together = (
            f" {people} share the question; what you say is heard a little later, and whoever "
            "submits answers for all."
        )
    schema = (
        "Ask for the tables and for the columns of a table first; they are not shown by themselves."
        if config.discover
        else "The tables are listed."
    )
    counts = (
        "Submit when the last result is the answer: it is the rows that count."
        if config.answer == "submitted"
        else "The best result of all your queries counts."
    )
    order = (
        "the order of rows counts, too"
        if config.reward_mode == "original"
        else "the order of rows counts where the question asks for one"
    )
    rules = (
        "You are asked a question about a database, and answer it with queries in the SQL of "
        f"SQLite. {schema} Write one statement a turn; you are shown the first rows of what it "
        "returns, or what was wrong with it. Return what is asked for and no other column. The "
        f"database can only be read, unless you are told to change it. {counts}{together}"
    )
    table = config.rewards
    worth = (
        f"{table.score:+g} times the score of the answer, which is 1 if its rows are those that "
        f"are wanted, and less the fewer they share ({order}); {table.step:+g} a turn, "
        f"{table.error:+g} for a query that fails, {table.illegal:+g} for what cannot be done."
    )
    return Manual(rules, worth, lambda _agent: "answer the question of the first observation.")
