"""The small parts of language models: what is counted, kept, told and read, each for itself."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import piase_gym
from piase_gym.agents.base import Percept
from piase_gym.agents.llm import client
from piase_gym.agents.llm.budget import Budget, Usage, check_prices
from piase_gym.agents.llm.caller import ModelCaller, check_number
from piase_gym.agents.llm.client import Failure, Reply, check_url, find_key, size_of
from piase_gym.agents.llm.history import KEPT, SUMMARISE, History, HistoryPolicy
from piase_gym.agents.llm.prompt import Prompt, data, quoted, read_prompt, tools
from piase_gym.agents.llm.replies import (
    Replies,
    ReplyFile,
    bounded,
    failure_value,
    replies_of,
    reply_value,
)
from piase_gym.agents.llm.vision import VisionModel, _box, _data, _image
from piase_gym.core.answers import MAX_REPLY
from piase_gym.core.commands import Command, Outcome
from piase_gym.errors import (
    ConfigError,
    ModelError,
    StorageError,
)
from tests import probes

probes.register()


def percept_of(world: str, **config: Any) -> Percept:
    """Return what the first agent perceives at the start of an episode."""
    env = piase_gym.parallel_env(world, **config)
    env.reset(seed=0)
    return Percept(env.world, 0, 0)


# -- what it costs ---------------------------------------------------------------------------------


def test_usage_is_added_up_and_said_in_a_line() -> None:
    usage = Usage(calls=2, failures=1, prompt_tokens=1200, completion_tokens=30, seconds=1.25)
    assert usage.tokens == 1230
    assert str(usage) == "2 calls, 1 failed, 1,200 + 30 tokens, 1.2 s of waiting"
    usage.add(Usage(1, 0, 3, 1, 2, 1, 0.5, 0.25))
    assert usage == Usage(3, 1, 3, 1201, 32, 1, 0.5, 1.5)
    assert str(usage) == (
        "3 calls, 1 failed, 3 unreadable, 1,201 + 32 tokens, cost 0.5, 1.5 s of waiting"
    )


def test_a_budget_sets_aside_what_a_call_may_take() -> None:
    """Three bytes to a token and one more, and the longest answer: 300 bytes are 101 tokens."""
    budget = Budget(tokens=222)
    assert budget.reserve(300, 10) is None
    assert budget.reserve(300, 10) is None
    assert budget.reserve(300, 10) == "the budget of 222 tokens is used up"
    budget.settle(300, 10, Usage(calls=1, prompt_tokens=50, completion_tokens=1))
    assert budget.usage.tokens == 51
    assert budget.reserve(141, 13) == "the budget of 222 tokens is used up"
    assert budget.reserve(141, 12) is None


def test_a_budget_of_costs_and_calls() -> None:
    budget = Budget(cost=3.0, prices=(2, 10.0), calls=4)
    assert budget.price(1_000_000, 0) == 2.0
    assert budget.price(500_000, 100_000) == 2.0
    assert budget.reserve(2_999_999, 100_000) is None  # a million tokens and a tenth: 3.0
    assert budget.reserve(0, 0) == "the budget of cost 3 is used up"
    budget.settle(2_999_999, 100_000, Usage(calls=1, cost=1.0))
    for _ in range(3):
        assert budget.reserve(0, 0) is None
    assert budget.reserve(0, 0) == "the budget of 4 calls is used up"


def test_seconds_run_out_when_they_are_used() -> None:
    budget = Budget(seconds=2)
    assert budget.reserve(3, 1) is None
    budget.settle(3, 1, Usage(calls=1, seconds=2.0))
    assert budget.reserve(3, 1) is None
    budget.settle(3, 1, Usage(calls=1, seconds=0.5))
    assert budget.reserve(3, 1) == "the budget of 2 seconds is used up"


def test_a_budget_goes_to_another_process() -> None:
    budget = Budget(calls=1)
    assert budget.reserve(0, 1) is None
    again = pickle.loads(pickle.dumps(budget))
    assert again.reserve(0, 1) == "the budget of 1 calls is used up"


@pytest.mark.parametrize(
    "limits", [{"tokens": -1}, {"calls": True}, {"seconds": "9"}, {"tokens": float("nan")}]
)
def test_limits_are_numbers_from_0_on(limits: dict[str, Any]) -> None:
    (name,) = limits
    with pytest.raises(ConfigError, match=f"a budget's {name} are a number from 0 on"):
        Budget(**limits)
    Budget(**dict.fromkeys(limits, 0))  # type: ignore[arg-type]


def test_prices_are_two_numbers() -> None:
    assert check_prices(None) == (0.0, 0.0)
    assert check_prices([1, 2.5]) == (1.0, 2.5)
    assert check_prices((0, 0)) == (0.0, 0.0)
    for wrong in ((1,), (1, -1), (1, True), (1, "2"), 3, "12"):
        with pytest.raises(ConfigError, match="prices are two numbers"):
            check_prices(wrong)
    with pytest.raises(ConfigError, match=r"a budget of costs needs prices="):
        Budget(cost=1.0)


# -- what is remembered of an episode --------------------------------------------------------------


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


# -- replies that are kept -------------------------------------------------------------------------

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
    for key, value in (("a", reply_value(REPLY)), ("b", failure_value(FAILURE))):
        replies.take(json.loads(json.dumps({"request": key, **value})))
    assert replies.find("a") == REPLY
    assert replies.find("b") == FAILURE
    assert replies.find("c") is None
    assert len(replies) == 2
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
    assert path.read_bytes().startswith(b"\n{")


def test_long_replies_are_cut() -> None:
    assert bounded(REPLY) == REPLY
    long = bounded(Reply("x" * (MAX_REPLY + 9), (), "t" * (MAX_REPLY + 9)))
    assert len(long.text) == MAX_REPLY + 1
    assert len(long.thinking) == MAX_REPLY
    calls = bounded(Reply("", (("a", "y" * MAX_REPLY),)))
    assert calls.tool_calls == ()
    assert len(calls.text) == MAX_REPLY + 1
    assert calls.text.startswith("(('a', 'yyy")


# -- the parts of a client -------------------------------------------------------------------------


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
    assert client._text([{"text": "a"}, {}, {"text": "b"}]) == "ab"
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
    assert client._said(SimpleNamespace(body=body, message="usual")) == said


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


# -- what a model is told --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"answer": "yml"}, "unknown answer 'yml'; did you mean 'yaml'"),
        ({"template": " "}, "a prompt is a text that is not empty"),
        ({"template": 3}, "a prompt is a text that is not empty"),
        ({"template": "$instruction"}, r"the prompt has \$instruction; allowed: \$instructions, "),
        ({"template": "5 $ a day"}, r"the prompt has a \$ with no name"),
        ({"facts": 1}, "facts is True or False, not 1"),
        ({"commands": None}, "commands is True or False, not None"),
    ],
)
def test_prompts_are_checked(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Prompt(**fields)


def test_a_turn_has_its_parts() -> None:
    percept = percept_of("GridWorld", agents=2)
    prompt = Prompt(facts=True, messages=True)
    told, kept = prompt.turn(percept, lambda text: ["<observation>", "a\nb"])
    assert kept == f"<observation>\n{percept.text}\n</observation>"
    parts = told.split("\n\n")
    whole = "\n\n".join(parts)
    assert whole.startswith(kept)
    assert "\n\nMessages to you:\nnone\n\n" in told
    assert "\n\nThe same as facts: {" in told
    remembered = '- "&#60;observation>"\n- "a\\nb"'
    assert f"\n\nWhat you remember of before:\n{remembered}\n\n" in told
    assert parts[-1].startswith("Possible now:\n- ")
    assert "What you remember of before:\nnothing" in prompt.turn(percept, lambda text: [])[0]
    bare, _ = Prompt(commands=False).turn(percept, None)
    assert bare == kept


def test_only_so_many_commands_are_listed() -> None:
    words = [Command("say", {"word": number}) for number in range(63)]
    many: Any = SimpleNamespace(commands=words, write=lambda c: f"say {c.parameters['word']}")
    lines = Prompt()._possible(many).split("\n")
    assert lines[0] == "Possible now:"
    assert lines[-1] == "and 3 more"
    many.commands = words[:60]
    assert "more" not in Prompt()._possible(many)


def test_data_does_not_leave_its_tags() -> None:
    assert data("</observation> < OBSERVATION>") == "&#60;/observation> &#60; OBSERVATION>"
    told = data("[INST] <|im_start|> </s> <<SYS>> <end_of_turn>")
    assert told == "&#91;INST] &#60;|im_start|> &#60;/s> &#60;&#60;SYS>> &#60;end_of_turn>"
    assert data("a < b") == "a < b"
    assert quoted('say "é"\n') == '"say \\"é\\"\\n"'


def test_a_prompt_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("Play $world.", "utf-8")
    assert read_prompt(path) == "Play $world."
    percept = percept_of("GridWorld")
    assert Prompt("Play $world as $agent.").system(percept) == "Play GridWorld as agent_0."
    with pytest.raises(ConfigError, match="cannot be read"):
        read_prompt(tmp_path / "none.txt")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_prompt(path)


def test_tools_have_names_that_the_api_takes() -> None:
    world: Any = SimpleNamespace(
        tools=lambda index: [{"name": "go to", "x": 1}, {"name": "n" * 70, "x": 2}]
    )
    found, verbs = tools(SimpleNamespace(world=world, index=0))  # type: ignore[arg-type]
    assert verbs == {"go_to": "go to", "n" * 64: "n" * 70}
    assert found[0] == {"type": "function", "function": {"name": "go_to", "x": 1}}


# -- pictures --------------------------------------------------------------------------------------


def test_boxes_are_read_in_thousandths() -> None:
    assert _box([0, 250, 500, 1000], 80, 40) == (0, 10, 40, 40)
    assert _box([10, 10, 990, 990], 80, 40) == (0, 0, 80, 40)
    assert _box((1000 / 3, 0, 2000 / 3, 500), 3, 2) == (1, 0, 2, 1)
    for wrong in ([1, 2, 3], None, [1, 2, 3, "4"], [1, 2, 3, 1e9], [True, 0, 1, 1]):
        assert _box(wrong, 80, 40) == (0, 0, 80, 40)


def test_the_json_of_a_reply_is_found() -> None:
    assert _data('so: {"a": 1} [2]', "[") == [2]
    assert _data('so: {"a": 1} [2]', "{") == {"a": 1}
    assert _data("[broken {}", "[") == {}
    with pytest.raises(ModelError, match="the reply has no JSON: 'nothing'"):
        _data("nothing", "[")


def test_pictures_have_three_colours() -> None:
    array = np.zeros((2, 3, 3), np.uint8)
    assert _image(array).size == (3, 2)
    assert _image(Image.new("L", (3, 2))).mode == "RGB"
    wrong: Any
    for wrong in (array[..., :2], array[0], array.astype(np.int64), array[:0]):
        with pytest.raises(ConfigError, match="a picture has shape"):
            _image(wrong)


def vision(reply: str, names: Any = ()) -> tuple[VisionModel, list[Any]]:
    """Return a vision model that always answers the same, and what it was asked."""
    asked: list[Any] = []
    model = VisionModel("eye", "http://127.0.0.1:1/v1", names=names)

    def reply_to(request: Any, *salt: Any) -> tuple[str, Reply]:
        asked.append(request)
        return "key", Reply(reply)

    model._reply_to = reply_to  # type: ignore[method-assign]
    return model, asked


def text_of(asked: list[Any]) -> str:
    """Return the last question about a picture."""
    return str(asked[-1]["messages"][1]["content"][0]["text"])


PICTURE = np.zeros((20, 40, 3), np.uint8)


def test_a_model_is_shown_an_example_of_its_own_names() -> None:
    model, asked = vision('["Cup", "cup", "hat"]', ["Cup", "Fork", "Spoon"])
    assert model.extract_objects_from_image(PICTURE) == ["cup"]
    assert 'such as ["cup", "fork"];' in text_of(asked)
    assert ' that are called "cup", "fork", "spoon". Answer' in text_of(asked)
    model, asked = vision('["Cup", "cup", "red  Hat"]')
    assert model.extract_objects_from_image(PICTURE) == ["cup", "red hat"]
    assert 'such as ["cup", "chair"];' in text_of(asked)
    assert "objects in this picture. Answer" in text_of(asked)


def test_a_caption_is_one_line() -> None:
    model, _ = vision('``` "A  cup\non a table." ```')
    assert model.caption_image(PICTURE) == "A cup on a table."
    model, _ = vision(" ")
    with pytest.raises(ModelError, match="the reply is empty"):
        model.caption_image(PICTURE)
    model, _ = vision("x" * (MAX_REPLY + 1))
    with pytest.raises(ModelError, match="the reply is longer than"):
        model.caption_image(PICTURE)


def test_a_description_has_boxes_and_a_caption() -> None:
    model, _ = vision('{"objects": [{"label": "Cup", "bbox": [0, 0, 500, 500]}, {"name": ""}]}')
    found = model(PICTURE)
    assert found.caption == "cup"
    assert [(thing.name, thing.box) for thing in found.objects] == [("cup", (0, 0, 20, 10))]
    model, _ = vision('["hat"]')
    assert [thing.box for thing in model(PICTURE).objects] == [(0, 0, 40, 20)]
    (event, entry) = model.log_entries()[0]
    assert event == "LLM_REPLY_RECEIVED"
    assert (entry["outcome"], entry["text"], entry["request"]) == ("ok", '["hat"]', "key")
    assert model.log_entries() == []
