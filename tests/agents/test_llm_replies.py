"""Replies of language models are kept and found again."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from piase_gym.agents.llm.client import Failure, Reply
from piase_gym.agents.llm.replies import (
    Replies,
    ReplyFile,
    bounded,
    failure_value,
    replies_of,
    reply_value,
)
from piase_gym.core.answers import MAX_REPLY
from piase_gym.core.commands import Outcome
from piase_gym.errors import (
    StorageError,
)
from tests import probes

probes.register()


REPLY = Reply("go", (("move", '{"to": "x"}'),), "hm", 10, 2, True, 0.5, "small")


FAILURE = Failure(Outcome.REFUSED, "no", True, 0.25)


def test_replies_and_failures_are_values() -> None:
    assert reply_value(REPLY) == {
        "text": "go",
        "tool_calls": (("move", '{"to": "x"}'),),
        "thinking": "hm",
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "estimated": True,
        "seconds": 0.5,
        "model": "small",
    }
    assert reply_value(Reply()) == {"text": ""}
    assert failure_value(FAILURE) == {
        "outcome": "refused",
        "told": "no",
        "final": True,
        "seconds": 0.25,
    }
    assert "seconds" not in failure_value(Failure(Outcome.TIMEOUT, "late"))


def test_replies_are_found_again() -> None:
    replies = Replies()
    assert not replies.offline
    late = Failure(Outcome.TIMEOUT, "late")
    values = {"a": reply_value(REPLY), "b": failure_value(FAILURE), "late": failure_value(late)}
    for key, value in values.items():
        replies.take(json.loads(json.dumps({"request": key, **value})))
    assert replies.find("a") == REPLY
    assert replies.find("b") == FAILURE
    assert replies.find("late") == late
    assert replies.find("c") is None
    assert len(replies) == 3
    lines = [
        {"event_type": "LLM_REPLY_RECEIVED", "event_data": {"request": "a", "text": "go"}},
        {"event_type": "OTHER", "event_data": {"request": "b", "text": "go"}},
    ]
    found = replies_of(lines)
    assert found.offline
    assert (found.find("a"), found.find("b")) == (Reply("go"), None)


@pytest.mark.parametrize(
    "value",
    [
        {"request": 1, "text": "go"},
        {"request": "a"},
        {"request": "a", "text": 3},
        {"request": "a", "text": "go", "tool_calls": "xy"},
        {"request": "a", "text": "go", "tool_calls": [["a"]]},
        {"request": "a", "text": "go", "tool_calls": [[1, 2]]},
        {"request": "a", "text": "go", "prompt_tokens": "9"},
        {"request": "a", "outcome": "refused", "told": "no"},
        {"request": "a", "outcome": "strange", "told": "no", "final": True},
        {"request": "a", "outcome": "refused", "told": 3, "final": True},
        {"request": "a", "outcome": "refused", "told": "no", "final": True, "seconds": "1"},
    ],
)
def test_what_is_no_reply_is_left_out(value: dict[str, Any]) -> None:
    replies = Replies()
    replies.take(value)
    assert len(replies) == 0


def test_a_file_of_replies_survives_what_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    file = ReplyFile(path)
    assert not path.exists()
    file.keep("a", REPLY)
    with path.open("ab") as opened:
        opened.write(b'{"request": "b", "te')
    again = ReplyFile(path, offline=True)
    assert again.offline
    assert (again.find("a"), again.find("b")) == (REPLY, None)
    again.keep("c", Reply("x"))
    again.keep("d", Reply("y"))
    lines = path.read_bytes().split(b"\n")
    assert len(lines) == 5
    assert json.loads(lines[2]) == {"request": "c", "text": "x"}
    third = ReplyFile(path)
    assert len(third) == 3
    with pytest.raises(StorageError, match="Is a directory"):
        ReplyFile(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(StorageError):
        third.keep("e", Reply("z"))
    assert third.find("e") == Reply("z")
    path.rmdir()
    third.keep("f", Reply("z"))
    assert len(ReplyFile(path)) == 2


def test_copies_of_a_file_of_replies_write_to_the_same_file(tmp_path: Path) -> None:
    first = ReplyFile(tmp_path / "replies.jsonl")
    first.keep("a", REPLY)
    for key, other in (("b", copy.deepcopy(first)), ("c", pickle.loads(pickle.dumps(first)))):
        assert other.find("a") == REPLY
        other.keep(key, REPLY)
    assert len(ReplyFile(first.path)) == 3


def test_long_replies_are_cut() -> None:
    assert bounded(REPLY) == REPLY
    long = bounded(Reply("x" * (MAX_REPLY + 9), (), "t" * (MAX_REPLY + 9)))
    assert len(long.text) == MAX_REPLY + 1
    assert len(long.thinking) == MAX_REPLY
    calls = bounded(Reply("", (("a", "y" * MAX_REPLY),)))
    assert calls.tool_calls == ()
    assert len(calls.text) == MAX_REPLY + 1
    assert calls.text.startswith("(('a', 'yyy")
