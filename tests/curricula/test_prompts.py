"""Prompt files: read, checked, filled, and put into words."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from piase_gym import curricula
from piase_gym.curricula import prompts
from piase_gym.errors import CurriculumError

PROMPT: dict[str, Any] = {
    "__type__": "PiaAGIPrompt",
    "target_agi": None,
    "author": "A teacher",
    "objective": "Learn what {thing} is.",
    "system_rules": {"__type__": "SystemRules", "language": "English"},
    "requirements": {
        "__type__": "Requirements",
        "goal": "Name {thing} in {step}.",
        "constraints_and_boundaries": "Be short.",
        "success_metrics": ["said", "{unknown}"],
    },
    "users_interactors": None,
    "executors": {
        "role": {
            "name": "Pupil",
            "skills_focus": ["Speech"],
            "cognitive_module_configuration": {
                "personality_config": {"ocean_openness": 0.7, "ocean_neuroticism": None},
                "motivational_bias_config": {"biases": {"Curiosity": "High", "Task": 0.5}},
            },
        }
    },
    "workflow_or_curriculum_phase": {
        "steps": [{"name": "Look", "action_directive": "Look at {thing}."}]
    },
    "initiate_interaction": "What is {thing}?",
}


def written(folder: Path, prompt: object = PROMPT, **overrides: Any) -> Path:
    """Write a prompt and a curriculum that refers to it; returns the curriculum's path."""
    (folder / "prompts").mkdir(exist_ok=True)
    (folder / "prompts" / "look.json").write_text(json.dumps(prompt, indent=1))
    steps = [
        {
            "order": 1,
            "name": "Looking",
            "prompt_reference": "prompts/look.json",
            "agent_config_overrides": overrides,
        }
    ]
    path = folder / "words.curriculum.json"
    path.write_text(json.dumps({"name": "Words", "steps": steps}, indent=1))
    return path


def test_a_prompt_is_filled_from_its_step(tmp_path: Path) -> None:
    made = curricula.load(written(tmp_path, prompt_values={"thing": "a door"}))
    assert made.warnings == ()
    prompt = prompts.prompt_of(made, made.steps[0])
    assert prompt is not None
    assert prompt.placeholders == ("unknown",)
    assert prompt.requirements is not None
    assert prompt.requirements.goal == "Name a door in Looking."
    assert prompt.requirements.constraints_and_boundaries == ("Be short.",)


def test_a_prompt_reads_as_text() -> None:
    prompt = prompts.PiaAGIPrompt.model_validate(PROMPT).filled({"thing": "a door"})
    text = prompt.text()
    assert text.startswith("- Author: A teacher\n- Objective: Learn what a door is.\n")
    assert "\n# Requirements\n\n- Goal: Name a door in {step}.\n" in text
    assert "- Constraints and boundaries: Be short.\n- Success metrics:\n  - said\n" in text
    assert "## Role\n\n- Name: Pupil\n- Skills focus: Speech\n" in text
    assert "- Openness: 0.7\n" in text
    assert "  - Curiosity: High\n  - Task: 0.5\n" in text
    assert "## Steps 1\n\n- Name: Look\n- Action directive: Look at a door.\n" in text
    assert "None" not in text
    assert "Neuroticism" not in text
    assert "Users" not in text


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ({"objectiv": "x"}, "look.json:2:2: objectiv: unknown key 'objectiv'; did you mean 'obj"),
        ({"requirements": {"goal": 3}}, "look.json:3:3: requirements.goal: "),
        ({"__type__": "Requirements"}, "__type__ is 'Requirements'; allowed here: 'PiaAGIPrompt'"),
        ([], "look.json:1:1: "),
    ],
)
def test_a_wrong_prompt_is_told_at_load(prompt: Any, told: str, tmp_path: Path) -> None:
    path = written(tmp_path, prompt)
    with pytest.raises(CurriculumError) as caught:
        curricula.load(path)
    assert f"{path}:7:4: step 1 'Looking': its prompt is wrong:" in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        (
            {"thing": "x" * 20_001},
            "look.json: objective, once filled in: it must have at most 20000",
        ),
        ("a door", "prompt_values are values by placeholder, not 'a door'"),
        (None, "prompt_values are values by placeholder, not None"),
    ],
)
def test_values_that_do_not_fit_are_told_at_load(values: Any, wrong: str, tmp_path: Path) -> None:
    path = written(tmp_path, prompt_values=values)
    with pytest.raises(CurriculumError) as caught:
        curricula.load(path)
    assert f"{path}:7:4: step 1 'Looking': its prompt is wrong:" in str(caught.value)
    assert wrong in str(caught.value)


def test_a_fenced_prompt_is_told(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text("```json\n{}\n```\n")
    with pytest.raises(CurriculumError, match=r"p.json:1:1: the file is a block of Markdown"):
        prompts.load(path)


def test_a_missing_prompt_is_no_prompt(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "prompts" / "look.json").unlink()
    made = curricula.load(path)
    assert len(made.warnings) == 1
    assert prompts.prompt_of(made, made.steps[0]) is None


def test_hostile_prompt_references_are_warned_of_or_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "device.json").symlink_to("/dev/zero")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "big.json").write_bytes(b"[" * 2_000_000)
    (tmp_path / "deep.json").write_bytes(b"[" * 900_000)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe" * 9)
    path = tmp_path / "c.json"
    missing = ["folder.json", "pipe.json", "device.json", "loop.json", "/dev/zero", ".", "/"]
    missing += ["a\0b.json", "x" * 300 + ".json", "file:///etc/passwd"]
    for name in (*missing, "big.json", "deep.json", "bytes.json", str(path)):
        step = {"order": 1, "name": "a", "prompt_reference": name}
        path.write_text(json.dumps({"name": "x", "steps": [step]}))
        if name in missing:
            (warning,) = curricula.load(path).warnings
            assert f"c.json:1:{warning.split(':')[2]}: step 1 'a': there is no prompt" in warning
        else:
            with pytest.raises(CurriculumError, match="step 1 'a': its prompt is wrong"):
                curricula.load(path)
    for name in ("folder.json", "pipe.json", "device.json", "a\0b.json"):
        with pytest.raises(CurriculumError, match=r"no file but|cannot be read"):
            prompts.load(tmp_path / name)


BLOCKED = """
import os, stat, sys
from pathlib import Path
from piase_gym import runs
from piase_gym.curricula import ProgressStore, prompts
from piase_gym.errors import PiaseError

path = Path(sys.argv[1])
writer = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # is there, and writes nothing
stat.S_ISREG = lambda mode: True  # as files of the kernel that never end say of themselves
for read in (prompts.load, lambda path: ProgressStore(path).read(), runs.read):
    try:
        read(path)
    except PiaseError as error:
        print(str(error).split(": ")[-1].splitlines()[0])
"""


def test_a_file_that_never_has_anything_to_read_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.json").symlink_to("pipe")
    command = [sys.executable, "-c", BLOCKED, str(tmp_path / "link.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [os.strerror(errno.EAGAIN)] * 3, done.stderr
