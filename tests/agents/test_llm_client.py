"""Requests and replies of a client, field by field."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.agents.llm import client
from piase_gym.agents.llm.caller import ModelCaller, check_number
from piase_gym.agents.llm.client import Reply, check_url, find_key, size_of
from piase_gym.errors import (
    ConfigError,
)
from tests import probes

probes.register()


def test_keys_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "PIASE_KEY_ENV", "MINE"):
        monkeypatch.delenv(name, raising=False)
    url = "http://127.0.0.1:1/v1"
    assert find_key(url) == "none"
    with pytest.raises(ConfigError, match="there is no key for the language model: set OPENAI_API"):
        find_key(None)
    with pytest.raises(ConfigError, match="the environment variable MINE has no key"):
        find_key(url, "MINE")
    monkeypatch.setenv("OPENAI_API_KEY", "usual")
    assert find_key(None) == find_key(url) == "usual"
    monkeypatch.setenv("MINE", "own")
    assert find_key(url, "MINE") == "own"
    monkeypatch.setenv("PIASE_KEY_ENV", "MINE")
    assert find_key(None) == "own"
    for bad in ("clé", "a\nb"):
        monkeypatch.setenv("MINE", bad)
        with pytest.raises(ConfigError, match="the key in MINE has characters that no key has"):
            find_key(None)


def test_addresses_are_checked() -> None:
    assert check_url(None) is None
    assert check_url("http://127.0.0.1:8000/v1//") == "http://127.0.0.1:8000/v1"
    for wrong in ("ftp://a/v1", "http://", "here", 3, "http://a:99999999/v1"):
        with pytest.raises(ConfigError, match=r"a base_url is such as .*, not"):
            check_url(wrong)
    with pytest.raises(ConfigError) as caught:
        check_url("ftp://me:secret@a")
    assert "secret" not in str(caught.value)
    for wrong in ("http://me@a/v1", "http://:p@a/v1", "http://a/v1?k=1", "http://a/v1#x"):
        with pytest.raises(ConfigError, match="has a user, a query or a fragment"):
            check_url(wrong)


def test_bytes_of_a_request_are_counted() -> None:
    messages: list[dict[str, Any]] = [
        {"content": "abc"},
        {"content": "é"},
        {"content": [{"type": "text", "text": "abcd"}, {"type": "image_url"}]},
    ]
    assert size_of({"messages": messages}) == 3 + 2 + 4 + 4000
    assert size_of({"messages": [], "tools": [{"a": 1}]}) == len('[{"a":1}]')


def test_tokens_that_are_not_told_are_estimated() -> None:
    request = {"messages": [{"content": "x" * 40}]}
    found = client._counted(Reply("y" * 8), request, 1.5)
    assert (found.prompt_tokens, found.completion_tokens) == (11, 3)
    assert (found.estimated, found.seconds) == (True, 1.5)
    assert client._counted(Reply(), request, 0.0).completion_tokens == 0
    told = client._counted(Reply("yy", (), "", 5, 7), request, 0.0)
    assert (told.prompt_tokens, told.completion_tokens, told.estimated) == (5, 7, False)
    assert client._counted(Reply("yy", (), "", 5, 0), request, 0.0).estimated
    calls = client._counted(Reply("", (("a", "b"),)), request, 0.0)
    assert calls.completion_tokens == len("(('a', 'b'),)") // 4 + 1


def test_what_a_server_tells_of_tokens_is_believed_within_bounds() -> None:
    def tokens(prompt: Any, completion: Any) -> tuple[int, int]:
        return client._tokens({"prompt_tokens": prompt, "completion_tokens": completion})

    assert tokens(3, 4) == (3, 4)
    assert tokens(0, 10**9) == (0, 10**9)
    assert tokens(-1, 10**9 + 1) == (0, 0)
    assert tokens(True, "4") == (0, 0)
    assert client._tokens(None) == (0, 0)


def test_contents_calls_and_thoughts_are_read() -> None:
    assert client._text(None) == ""
    assert client._text([{"text": "a"}, {}, {"text": None}, {"text": "b"}]) == "ab"
    assert client._calls(None) == []
    assert client._calls([{"function": {"name": "go"}}]) == [("go", None)]
    assert client._thought({"reasoning": "r"}) == "r"
    assert client._thought({"reasoning_content": "c", "reasoning": "r"}) == "c"
    assert client._thought({"reasoning_content": 3, "reasoning": ""}) == ""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"message": "m", "detail": "d"}, "m"),
        ({"detail": "d"}, "d"),
        ({}, "usual"),
        ("plain", "plain"),
        ("", "usual"),
        (None, "usual"),
    ],
)
def test_an_error_says_something(body: Any, said: str) -> None:
    assert client._error_message(SimpleNamespace(body=body, message="usual")) == said


def test_a_server_may_ask_to_wait() -> None:
    def wait(told: str) -> float:
        return client._retry_after(SimpleNamespace(headers={"retry-after": told}))

    assert wait("2.5") == 2.5
    assert wait("-3") == 0.0
    assert wait("soon") == 0.0
    assert client._retry_after(SimpleNamespace(headers={})) == 0.0
    assert wait("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert wait("Wed, 21 Oct 2099 07:28:00 GMT") > 1e9


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"temperature": -0.1}, "temperature is a number from 0 to 10, not -0.1"),
        ({"temperature": 10.5}, "temperature is a number from 0 to 10, not 10.5"),
        ({"max_tokens": 0}, "max_tokens is an integer from 1 to 1e+07, not 0"),
        ({"max_tokens": 1.5}, "max_tokens is an integer from 1 to 1e+07, not 1.5"),
        ({"timeout": 0.0}, "timeout is a number from 0.001 to 100000, not 0.0"),
        ({"timeout": None}, "timeout is a number from 0.001 to 100000, not None"),
        ({"retries": -1}, "retries is an integer from 0 to 100, not -1"),
        ({"retries": True}, "retries is an integer from 0 to 100, not True"),
        ({"retries": 101}, "retries is an integer from 0 to 100, not 101"),
        ({"extra": "seed"}, "extra is a mapping of fields, not 'seed'"),
        (
            {"extra": {"a": {1}}},
            "extra cannot be written as JSON: Type is not JSON serializable: set",
        ),
        (
            {"extra": {"stream": True}},
            "extra has 'stream', but replies are not read as streams; leave it out",
        ),
        (
            {"extra": {"messages": []}},
            "extra has 'messages', which is no further field; leave it out",
        ),
        ({"budget": 100}, "budget is a Budget, not 100"),
        ({"replies": 3}, "replies are a path or Replies, not 3"),
        ({"api_key": ""}, "the key in api_key is a text that is not empty"),
        ({"api_key": b"sk"}, "the key in api_key is a text that is not empty"),
        ({"api_key": "of-a-file\n"}, "the key in api_key has characters that no key has"),
    ],
)
def test_settings_of_a_call_have_ranges(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelCaller("m", "http://127.0.0.1:1/v1", **settings)
    assert str(caught.value) == told


def test_settings_of_a_call_may_be_at_their_ends() -> None:
    url = "http://127.0.0.1:1/v1"
    ModelCaller("m", url, temperature=10, max_tokens=10**7, timeout=1e5, retries=100)
    ModelCaller("m", url, temperature=None, max_tokens=None, timeout=1e-3, retries=0)
    assert ModelCaller("m", url).policy == f"llm:m@{url}"
    assert ModelCaller("m").policy == "llm:m"
    for wrong in ("", "a b", "a\x1bb", 3):
        with pytest.raises(ConfigError, match="a model is a name without spaces"):
            ModelCaller(wrong)  # type: ignore[arg-type]
    check_number("x", None, 0, 1, optional=True)
    caller = ModelCaller("m", url, "secret-key", prices=(1, 2))
    assert caller.budget.prices == (1.0, 2.0)
    assert b"secret-key" not in pickle.dumps(caller)
    assert "secret-key" not in repr(vars(caller))
