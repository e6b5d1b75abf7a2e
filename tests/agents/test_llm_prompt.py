"""What a language model is told: prompts, turns, tools."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.agents.llm.prompt import Prompt, data, quoted, read_prompt, tools
from piase_gym.core.commands import Command
from piase_gym.errors import (
    ConfigError,
)
from tests import probes
from tests.helpers.percepts import percept_of

probes.register()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"answer": "yml"}, "unknown answer 'yml'; did you mean 'yaml'"),
        ({"template": " "}, "a prompt is a text that is not empty"),
        ({"template": 3}, "a prompt is a text that is not empty"),
        ({"template": "prompt.txt"}, "the text itself, not a file: 'prompt.txt'"),
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


def test_tools_are_in_the_form_of_the_api() -> None:
    world: Any = SimpleNamespace(tools=lambda index: [{"name": "go_to", "x": index}])
    found = tools(SimpleNamespace(world=world, index=1))  # type: ignore[arg-type]
    assert found == [{"type": "function", "function": {"name": "go_to", "x": 1}}]
