"""The vector of SqlQuery's facts; see `vector_of` for its layout. It is float32."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.text_encoding import HINT_CODE, hash_text
from piase_gym.worlds.sql_query.actions import LITERALS, Slots, is_number, literals, mention
from piase_gym.worlds.sql_query.config import SqlQueryEnvelope
from piase_gym.worlds.sql_query.facts import Answer, SqlQueryFacts
from piase_gym.worlds.sql_query.levels.dataset import Table
from piase_gym.worlds.sql_query.rules.engine import REASONS
from piase_gym.worlds.texts.letters import LETTER_CODE, put_last, put_letters, text_byte, text_code

INTENTS = (
    "how many|number of|count",
    "average|mean",
    "total|sum|summed",
    "highest|maximum|most|greatest|largest|biggest|oldest|longest|latest|max",
    "lowest|minimum|least|fewest|smallest|youngest|shortest|earliest|min",
    "different|distinct|unique",
    "each|every|per",
    "order|sorted|ordered|alphabetical",
    "descending|decreasing|reverse",
    "ascending|increasing",
    "whose|with|that|where|which",
    "greater than|above|more than|larger|older|after|over|at least",
    "less than|below|fewer|smaller|younger|before|under|at most",
    "at least|at most",
    "no|not|never|without|none",
    "and|both",
    "or|either",
    "belong|have|has",
    "set|change|update",
    "remove|delete",
    "add|insert",
    "list|show|what are|names",
)
"""What questions ask for: each is a group of words of similar meaning."""
_INTENTS = tuple(re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for words in INTENTS)
QUESTION_CODE = 32
ROWS_CODE = 16
LITERAL_CODE = 3
COLUMN_CODE = 8
TABLE_CODE = 6
HEAD = 4 + len(INTENTS) + QUESTION_CODE + LITERALS * LITERAL_CODE + 3
ANSWER_CODE = 1 + len(REASONS) + 4 + HINT_CODE + ROWS_CODE


def vector_size(envelope: SqlQueryEnvelope) -> int:
    """Return the length of the vectors."""
    slots = Slots.of(envelope)
    schema = slots.tables * (TABLE_CODE + slots.columns * COLUMN_CODE)
    asked = HINT_CODE + ANSWER_CODE
    return HEAD + schema + asked + envelope.agents * LETTER_CODE + 2 * HINT_CODE


def vector_box(envelope: SqlQueryEnvelope) -> Box:
    """Return the space of the vectors."""
    return Box(0.0, 255.0, (vector_size(envelope),), np.float32)


def vector_of(
    facts: SqlQueryFacts, envelope: SqlQueryEnvelope, agents: Sequence[str]
) -> NDArray[np.float32]:
    """Return the vector of the facts.

    In order: the agent's number; turns left (at most 255, and again / 10); 1 if the task writes;
    for each of `INTENTS` 1 if the question has one of its words; 32 numbers of the hashed question;
    for each of two values in it 1, 1 if it is a number, and a byte (/ 64); bytes of the database's
    name and of the whole schema (/ 64), and how many tables are known (/ 16); for each table 1, a
    byte of its name (/ 64), how much of the name the question mentions, how early, how many columns
    are known (/ 16), and references (/ 4); for each of its columns 1, a byte of its name (/ 64), 1
    if it has numbers, is a key, is a reference, how much of its name the question mentions, how
    early, and 1 if no other column of the table is mentioned more; 8 numbers of the last query; its
    answer (1; one-hot over `engine.REASONS`; logarithms of rows, columns and changed rows; the
    first value as a number, squashed; 8 numbers of the columns or the error, 16 of the rows); the
    letters; 8 of feedback and 8 of hint. Tables and columns without a slot are part of the schema's
    byte only.
    """
    slots = Slots.of(envelope)
    row = np.zeros(vector_size(envelope), np.float32)
    row[0] = agents.index(facts.agent)
    row[1:4] = min(255, facts.turns), min(25.0, facts.turns / 10), facts.writes
    row[4 : HEAD - 3] = question_code(facts.question)
    row[HEAD - 3] = text_byte(facts.database) / 64
    schema = schema_code(facts.tables, facts.question, slots)
    row[HEAD - 2 : HEAD + schema.size - 2] = schema
    start = HEAD + schema.size - 2
    row[start : start + HINT_CODE] = text_code(facts.query)
    start += HINT_CODE
    if facts.answer is not None:
        row[start : start + ANSWER_CODE] = answer_code(facts.answer)
    put_letters(row, start + ANSWER_CODE, facts.messages, agents)
    put_last(row, facts.feedback, facts.hint)
    return row


@functools.lru_cache(maxsize=4096)
def question_code(question: str) -> NDArray[np.float32]:
    """Return the numbers that represent a question."""
    row = np.zeros(HEAD - 7, np.float32)
    row[: len(INTENTS)] = [pattern.search(question) is not None for pattern in _INTENTS]
    start = len(INTENTS)
    row[start : start + QUESTION_CODE] = hash_text(question, QUESTION_CODE)
    start += QUESTION_CODE
    for value in literals(question):
        row[start : start + LITERAL_CODE] = 1, not value.startswith("'"), text_byte(value) / 64
        start += LITERAL_CODE
    return row


@functools.lru_cache(maxsize=4096)
def schema_code(tables: tuple[Table, ...], question: str, slots: Slots) -> NDArray[np.float32]:
    """Return the numbers that represent the tables, given a question."""
    names = [f"{t.name}.{c.name} {c.type} {c.key}" for t in tables for c in t.columns]
    links = [f"{t.name}.{k.column} {k.table}.{k.other}" for t in tables for k in t.references]
    whole = " ".join([*(table.name for table in tables), *names, *links])
    values: list[float] = [text_byte(whole) / 64, len(tables) / 16]
    for i in range(slots.tables):
        table = tables[i] if i < len(tables) else None
        columns = table.columns[: slots.columns] if table else ()
        if table is None:
            values += [0.0] * TABLE_CODE
        else:
            sizes = (len(table.columns) / 16, len(table.references) / 4)
            values += [1, text_byte(table.name) / 64, *mention(table.name, question), *sizes]
        links_of = {link.column for link in table.references} if table else set()
        best = max((mention(column.name, question) for column in columns), default=(0.0, 0.0))
        for column in columns:
            said = mention(column.name, question)
            kind = (is_number(column), column.key, column.name in links_of)
            values += [1, text_byte(column.name) / 64, *kind, *said, said == best and said[0] > 0]
        values += [0.0] * (COLUMN_CODE * (slots.columns - len(columns)))
    return np.clip(np.array(values, np.float32), 0.0, 255.0)


@functools.lru_cache(maxsize=4096)
def answer_code(answer: Answer) -> NDArray[np.float32]:
    """Return the numbers that represent an answer."""
    row = np.zeros(ANSWER_CODE, np.float32)
    row[0] = 1
    if answer.reason is not None:
        row[1 + REASONS.index(answer.reason)] = 1
    start = 1 + len(REASONS)
    row[start : start + 3] = [math.log1p(n) for n in (answer.height, answer.width, answer.changed)]
    row[start + 3] = _squashed(answer.rows[0][0]) if answer.rows and answer.rows[0] else 0.0
    start += 4
    row[start : start + HINT_CODE] = text_code(answer.error or " ".join(answer.columns))
    rows = " ".join(f"{k}_{value}" for k, shown in enumerate(answer.rows) for value in shown)
    row[start + HINT_CODE :] = hash_text(rows, ROWS_CODE)
    return row


def _squashed(value: str) -> float:
    """Return a number from 0 to 2 that stands for a value; 0 if the value is not a number."""
    try:
        number = float(value)
    except ValueError:
        return 0.0
    return 1.0 + number / (1.0 + abs(number)) if math.isfinite(number) else 2.0
