"""What a language model is reminded of an episode."""

from __future__ import annotations

import json
from typing import Any

import pytest

from piase_gym.agents.llm.history import KEPT, SUMMARISE, History, HistoryPolicy
from piase_gym.errors import (
    ConfigError,
)
from tests import probes

probes.register()


@pytest.mark.parametrize(
    ("text", "kind", "size"),
    [
        ("full", "full", 0),
        ("last:0", "last", 0),
        ("last:8", "last", 8),
        ("summary:12", "summary", 12),
    ],
)
def test_histories_have_names(text: str, kind: str, size: int) -> None:
    assert HistoryPolicy.read(text) == HistoryPolicy(kind, size)


@pytest.mark.parametrize("text", ["", "last", "summary:0", "last:-1", "full:3", "last:12345", 8])
def test_other_histories_are_unknown(text: Any) -> None:
    with pytest.raises(ConfigError, match="is not known; allowed: 'full', 'last:K'"):
        HistoryPolicy.read(text)


def user(words: str) -> dict[str, str]:
    return {"role": "user", "content": words}


def assistant(words: str) -> dict[str, str]:
    return {"role": "assistant", "content": words}


def test_the_last_steps_are_shown() -> None:
    history = History(HistoryPolicy.read("last:2"))
    for number in range(4):
        history.add(f"told {number}", "" if number == 3 else "x" * KEPT + "y")
    assert history.messages() == [
        user("told 2"),
        assistant("x" * KEPT),
        user("told 3"),
        assistant("(no answer)"),
    ]
    assert not history.is_long
    whole = History(HistoryPolicy.read("full"))
    for number in range(9):
        whole.add(f"told {number}", "a")
    assert len(whole.turns) == 9
    assert not whole.is_long


def test_a_summary_covers_the_older_half() -> None:
    history = History(HistoryPolicy.read("summary:2"))
    for number in range(4):
        assert not history.is_long
        history.add(f"told {number}", f"did {number}")
    assert history.is_long
    assert history.question() == [*history.messages(), user(SUMMARISE)]
    history.shorten("s" * (KEPT + 1))
    assert history.messages() == [
        user("Your own summary of the steps before:\n" + "s" * KEPT),
        assistant("I remember."),
        user("told 2"),
        assistant("did 2"),
        user("told 3"),
        assistant("did 3"),
    ]
    again = History(history.policy)
    again.set_state(json.loads(json.dumps(history.get_state())))
    assert (again.turns, again.summary) == (history.turns, history.summary)
    history.add("told 4", "did 4")
    history.shorten("")
    assert history.summary == "s" * KEPT
    assert [told for told, _ in history.turns] == ["told 3", "told 4"]
