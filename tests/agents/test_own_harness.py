"""Harnesses of others: the recipe of docs/language_models.md, and worlds as tools of frameworks."""

from __future__ import annotations

import asyncio
import importlib
import re
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from piase_gym import runs
from piase_gym.runs.chat_export import transcripts
from piase_gym.testing.model_server import ModelServer, Request, Say
from tests.paths import DOCS

PAGE = (DOCS / "language_models.md").read_text("utf-8")
SAID = (
    Say(None, tool_calls=(("look", {}),)),
    Say(None, tool_calls=(("go", '{"direction": '),)),
    "I think that I should look around.\n\nAction: look",
    Say(None, tool_calls=(("fly", "{}"),)),
    Say(None),
    Say(None, tool_calls=(("go", "[1]"),)),
    "look",
)
FEEDBACK = {
    '{"arguments":"{\\"direction\\": ","name":"go"}': "the arguments of 'go' are no JSON",
    '{"arguments":"{}","name":"fly"}': "unknown action type 'fly'",
    "": "the line is empty",
    '{"arguments":"[1]","name":"go"}': "the arguments of 'go' are a mapping, not a list",
}


def test_the_recipe_plays_with_whatever_a_model_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    section = PAGE.partition("## Your own harness")[2]
    block = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    assert len(block.splitlines()) <= 25
    monkeypatch.chdir(tmp_path)
    numbers = count()

    def answer(_request: Request) -> str | Say:
        return SAID[next(numbers) % len(SAID)]

    with ModelServer(answer) as server:
        exec(block.replace("http://127.0.0.1:8000/v1", server.base_url), {})
    assert len(server.requests) == 40
    assert runs.replay("mine.jsonl").ok
    run = runs.read("mine.jsonl")
    lines = [event["event_data"] for event in run.events("LLM_REPLY_RECEIVED")]
    assert [line["messages"] for line in lines] == [r["messages"] for r in server.requests]
    assert all(line["usage"]["total_tokens"] > 0 for line in lines)
    steps = [e["event_data"] for e in run.steps() if e["event_data"]["kind"] == "step"]
    told = [step.get("feedback", {}).get(f"agent_{n}", "") for step in steps for n in range(2)]
    assert len(told) == len(lines)
    for line, feedback in zip(lines, told, strict=True):
        assert FEEDBACK.get(line["text"], "") in feedback
    chats = {chat["agent"]: chat["messages"] for chat in transcripts(run)}
    for agent, messages in chats.items():
        wrote = [message["content"] for message in messages if message["role"] == "assistant"]
        mine = run.events("LLM_REPLY_RECEIVED", agent)
        assert wrote == [event["event_data"]["text"] for event in mine]


def _openai_agents(agents: Any, act: Callable[[str], str]) -> Any:
    tool = agents.function_tool(act)
    return tool.name, tool.params_json_schema["properties"]


def _langchain(tools: Any, act: Callable[[str], str]) -> Any:
    tool = tools.tool(act)
    assert "Last step: look; ok" in tool.invoke({"command": "look"})
    return tool.name, tool.args


def _mcp(fastmcp: Any, act: Callable[[str], str]) -> Any:
    server = fastmcp.FastMCP("world")
    server.tool()(act)
    (tool,) = asyncio.run(server.list_tools())
    return tool.name, tool.inputSchema["properties"]


def _pydantic_ai(pydantic_ai: Any, act: Callable[[str], str]) -> Any:
    tool = pydantic_ai.Tool(act)
    return tool.name, tool.tool_def.parameters_json_schema["properties"]


def _smolagents(smolagents: Any, act: Callable[[str], str]) -> Any:
    tool = smolagents.tool(act)
    assert "Last step: look; ok" in tool(command="look")
    return tool.name, tool.inputs


@pytest.mark.parametrize(
    ("module", "offered"),
    [
        ("agents", _openai_agents),
        ("langchain_core.tools", _langchain),
        ("mcp.server.fastmcp", _mcp),
        ("pydantic_ai", _pydantic_ai),
        ("smolagents", _smolagents),
    ],
)
def test_act_is_a_tool_of_frameworks(
    module: str,
    offered: Callable[[Any, Any], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    try:
        package = importlib.import_module(module)
    except ImportError:
        pytest.skip(f"needs {module}: make test-client-harnesses")
    block = next(
        b for b in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class Room" in b
    )
    code = re.sub(r"^from .*\n", "", block.partition("\n\nrules =")[0], flags=re.MULTILINE)
    (tmp_path / "room_of_the_page.py").write_text(code, "utf-8")  # some read the source
    monkeypatch.syspath_prepend(tmp_path)
    room = importlib.import_module("room_of_the_page").Room()
    monkeypatch.delitem(sys.modules, "room_of_the_page")
    room.reset(seed=0)
    name, parameters = offered(package, room.act)
    assert name == "act"
    assert list(parameters) == ["command"]
    assert parameters["command"]["type"] == "string"
