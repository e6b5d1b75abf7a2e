"""The manual of SqlQuery: its rules, rewards and goals in words."""

from __future__ import annotations

from typing import Final

from piase_gym.core.world import Manual
from piase_gym.worlds.channel.manual import heard_when, history_rules, limit_rules
from piase_gym.worlds.sql_query.config import SqlQueryConfig
from piase_gym.worlds.sql_query.levels import datasets
from piase_gym.worlds.texts.wording import counted, listing, priced

_NAMES: Final = {
    "sqlite": "SQLite",
    "mysql": "MySQL",
    "mariadb": "MariaDB",
    "postgresql": "PostgreSQL",
    "mssql": "SQL Server",
    "oracle": "Oracle",
}
"""The names of dialects in prompts."""


def manual(config: SqlQueryConfig) -> Manual:
    """Return the words of the prompt."""
    table = config.rewards
    order = (
        "the order of rows counts, too"
        if config.reward_mode == "original"
        else "the order of rows counts where the question asks for one"
    )
    scored = (
        f"{table.score:+g} times the score of the answer, which is 1 if its rows are those that "
        f"are wanted, and less the fewer they share ({order})."
    )
    rest = priced(
        (table.step, "a turn"),
        (table.error, "more for a query that fails"),
        (table.illegal, "more for what cannot be done or read"),
    )
    seen = "Question: How many boats are there?\n- boat: id, name, length real."
    return Manual(
        " ".join(_rules(config)),
        scored if rest == "nothing." else f"{scored} {rest}",
        lambda _agent: "answer the question that each observation names.",
        end=f"An episode ends when the answer is submitted, when you give up, or after "
        f"{counted(config.max_steps, 'turn')}.",
        example=(seen, "SELECT COUNT(*) FROM boat"),
    )


def _rules(config: SqlQueryConfig) -> list[str]:
    """Say how questions are answered."""
    rules = [
        "You are asked a question about a database, and answer it with queries in the SQL of "
        f"{_dialect(config)}. Write one statement a turn; you are shown the first rows of what it "
        "returns, or what was wrong with it. Return what is asked for and no other column.",
        "Ask for the tables, then for the columns of a table; they are not shown by themselves."
        if config.discover
        else "Lines that begin with a dash list the tables and their columns.",
        "A column has text if no type is named; (key) is the primary key, as is id alone; "
        "(= club.id) refers to the column id of the table club, and club_id (=) does the same.",
    ]
    if config.writes and config.dataset is None:
        rules.append("If a database is 'to be changed', change it as asked, and submit.")
    else:
        rules.append("The database can only be read.")
    rules.append(
        "Submit when your last result is the answer; without that nothing is scored."
        if config.answer == "submitted"
        else "The best result of all your queries counts."
    )
    if config.agents > 1:
        people = listing(config.names(config.agents))
        rules.append(
            f"{people} share the question; what you say is heard {heard_when(config)}, and whoever "
            "submits answers for all."
        )
        rules += limit_rules(config) + history_rules(config)
    return rules


def _dialect(config: SqlQueryConfig) -> str:
    """Name the SQL of queries: that of the server, of the dump, or SQLite's."""
    name = "sqlite"
    if config.server is not None:
        name = config.server.partition(":")[0].partition("+")[0]
    elif config.dataset is not None:
        name = next(iter(datasets.load(config.dataset).databases.values())).dialect
    return _NAMES.get(name, name)
