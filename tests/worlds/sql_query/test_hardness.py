"""How hard a query is, held to InterCode's file and to cases worked by hand."""

from __future__ import annotations

import pytest

from piase_gym.errors import ConfigError
from piase_gym.worlds.sql_query.rules.hardness import hardness
from tests.worlds.sql_query.intercode_files import needs_files, original


@needs_files
def test_all_of_intercodes_queries_are_as_hard_as_its_file_says() -> None:
    tasks = original().tasks
    assert len(tasks) == 1034
    assert [task.task_id for task in tasks if hardness(task.gold) != task.hardness] == []


@pytest.mark.parametrize(
    ("sql", "level"),
    [
        ("SELECT a FROM t", "easy"),
        ("SELECT count(*) FROM t WHERE a = 'x or y'", "easy"),
        ("SELECT a, b FROM t", "medium"),
        ("SELECT a FROM t WHERE a BETWEEN 1 AND 3", "easy"),  # that `and` joins no conditions
        ("SELECT a FROM t WHERE a = 1 AND b = 2", "medium"),
        ("SELECT a FROM t WHERE a LIKE '%x'", "medium"),
        ("SELECT a FROM t JOIN u ON t.x = u.x", "easy"),
        ("SELECT a FROM t JOIN u ON t.x = u.x WHERE b = 1", "medium"),
        ("SELECT a FROM t, u WHERE t.x = u.x", "medium"),
        ("SELECT a, b FROM t WHERE (a = 1 OR b = 2)", "extra"),
        ("SELECT a FROM t WHERE b = 1 ORDER BY c LIMIT 1", "hard"),
        ("SELECT a, b FROM t WHERE b = 1 AND c = 2 ORDER BY d", "extra"),
        ("SELECT max(a), min(b) FROM t WHERE b = 1 AND c = 2 ORDER BY d", "hard"),
        ("SELECT max(a), min(b) FROM t WHERE b = 1 AND c = 2", "hard"),
        ("SELECT max(a), min(b) FROM t GROUP BY a", "medium"),
        ("SELECT a FROM t GROUP BY a HAVING count(*) > 1 AND count(*) < 9", "easy"),
        ("SELECT max(a) FROM t GROUP BY a HAVING count(*) > 1 AND count(*) < 9", "medium"),
        ("SELECT a FROM t WHERE a IN (SELECT a FROM u WHERE c = 1 ORDER BY c LIMIT 9)", "hard"),
        ("SELECT a FROM t WHERE a NOT IN (SELECT a FROM u)", "hard"),
        ("SELECT max(a) FROM t WHERE a NOT IN (SELECT a FROM u)", "extra"),
        ("SELECT a FROM t EXCEPT SELECT a, b FROM u JOIN v WHERE c = 1 ORDER BY a", "hard"),
        ("SELECT a FROM t WHERE b = 1 UNION SELECT a FROM u", "hard"),
        ("SELECT a FROM t WHERE b = (SELECT 1) UNION SELECT a FROM u", "extra"),
        ("SELECT count(*) FROM (SELECT a FROM t JOIN u)", "easy"),
        ("SELECT a FROM t JOIN u JOIN v WHERE a = 1 ORDER BY b", "extra"),
    ],
)
def test_cases_worked_by_hand(sql: str, level: str) -> None:
    assert hardness(sql) == level
    assert hardness(f"  {sql.lower()} ;") == level


@pytest.mark.parametrize("sql", ["", "DROP TABLE t", "((((", "'SELECT a FROM t"])
def test_what_asks_nothing_has_no_hardness(sql: str) -> None:
    with pytest.raises(ConfigError, match="has no SELECT"):
        hardness(sql)
