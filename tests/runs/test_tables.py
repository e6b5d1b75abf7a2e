"""Metrics in SQL, over the tables of what an agent did."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.errors import ConfigError
from piase_gym.runs.recent_events import Step
from piase_gym.runs.schema import FIELDS, MORE_FIELDS
from piase_gym.runs.tables import sql_metric

NUMBERS = "episode slot attempt seed start end length messages hints".split()


@pytest.fixture
def view() -> Any:
    """A window of an agent, with an episode, two steps and a line."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    numbers = {name: place for place, name in enumerate(NUMBERS, 1)}
    episode = SimpleNamespace(agent="a", result="won", total=1.5, **numbers)
    line: dict[str, Any] = dict.fromkeys((*FIELDS, *MORE_FIELDS), "text")
    line |= {"step": 4, "episode": 2, "event_data": {"reward_value": 0.5}}
    steps = [Step(3, 1, 0, 1, "ok", 0.25, 2), Step(4, 1, 0, 1, "failed", 0.5, 0)]
    return SimpleNamespace(agent="a", episodes=[episode], steps=steps, lines=lambda: [line])


def test_episodes_steps_and_events_are_tables(view: Any) -> None:
    for place, name in enumerate(NUMBERS, 1):
        assert sql_metric(f'SELECT "{name}" FROM episodes')(view) == place
    words = "SELECT agent || ' ' || result || ' ' || total FROM episodes"
    assert sql_metric(words)(view) == "a won 1.5"
    assert sql_metric("SELECT sum(reward) FROM steps")(view) == 0.75
    assert sql_metric("SELECT max(step) FROM steps WHERE outcome = 'ok'")(view) == 3
    assert sql_metric("SELECT sum(messages) FROM steps")(view) == 2
    assert sql_metric("SELECT event_data FROM events")(view) == '{"reward_value":0.5}'
    assert sql_metric("SELECT step + episode FROM events WHERE agent_id = 'text'")(view) == 6


def test_a_query_may_ask_for_its_agent_and_may_find_nothing(view: Any) -> None:
    assert sql_metric("SELECT count(*) FROM episodes WHERE agent = $agent")(view) == 1
    view.agent = "b"
    assert sql_metric("SELECT count(*) FROM episodes WHERE agent = $agent")(view) == 0
    assert sql_metric("SELECT total FROM episodes WHERE agent = $agent")(view) is None
    view.episodes = []
    assert sql_metric("SELECT sum(total) FROM episodes")(view) is None


def test_a_query_that_fails_is_named(view: Any) -> None:
    with pytest.raises(ConfigError, match=r"the metric's query fails: .*joy"):
        sql_metric("SELECT joy FROM episodes")(view)
