"""The recipes for TRL in docs/language_models.md, with a stand-in for TRL and datasets."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.paths import DOCS

PAGE = (DOCS / "language_models.md").read_text("utf-8").partition("### Fine-tuning with TRL")[2]
SUPERVISED, GRPO = re.findall(r"```python\n(.*?)```", PAGE, re.S)[:2]


class Rows(list[dict[str, Any]]):
    """What a `datasets.Dataset` is to the recipes."""

    from_list = classmethod(lambda cls, rows: cls(rows))

    def filter(self, keep: Any) -> Rows:
        return Rows(filter(keep, self))


def load_dataset(kind: str, data_files: str, split: str) -> Rows:
    assert (kind, split) == ("json", "train")
    return Rows(map(json.loads, Path(data_files).read_text("utf-8").splitlines()))


class Trainer:
    """Takes what TRL's trainers take."""

    found: dict[str, Any]

    def __init__(self, model: str, **given: Any) -> None:
        Trainer.found = given

    def train(self) -> None:
        """Do nothing."""


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Put the stand-ins in place, and go to an empty folder."""
    monkeypatch.chdir(tmp_path)
    data = SimpleNamespace(Dataset=Rows, load_dataset=load_dataset)
    trl = SimpleNamespace(SFTTrainer=Trainer, GRPOTrainer=Trainer)
    trl.SFTConfig = trl.GRPOConfig = lambda folder, **settings: settings
    monkeypatch.setitem(sys.modules, "datasets", data)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "trl", trl)  # type: ignore[arg-type]


def test_chats_have_the_shape_that_is_learned() -> None:
    exec(SUPERVISED.replace("episodes=200", "episodes=3"), {})
    rows = Trainer.found["train_dataset"]
    assert Trainer.found["args"]["assistant_only_loss"]
    assert len(rows) == 3
    for row in rows:
        roles = [message["role"] for message in row["messages"]]
        assert roles == ["system", *["user", "assistant"] * (len(roles) // 2)]
        assert all([*message] == ["role", "content"] for message in row["messages"])
        assert all(type(message["content"]) is str for message in row["messages"])
        assert len(row["mask"]) == len(roles)
        assert len(row["outcomes"]) == len(row["rewards"]) == roles.count("assistant")
        assert type(row["seed"]) is int
        assert type(row["return"]) is float


def test_a_world_is_a_tool_with_a_reward() -> None:
    exec(GRPO, {})
    rows, make = Trainer.found["train_dataset"], Trainer.found["environment_factory"]
    assert [message["role"] for message in rows[3]["prompt"]] == ["system", "user"]
    room = make()
    assert "Your goal: " in room.reset(**rows[3])
    assert "Last step: no command; unparsable" in room.act("fly")
    assert "Last step: wait; ok" in room.act(command="wait")
    assert room.get_reward() == pytest.approx(-1.2)
    while not room.over:
        room.act("wait")
    with pytest.raises(ValueError, match="the episode is over"):
        room.act("wait")
    room.reset(**rows[4])
    assert room.get_reward() == 0.0
