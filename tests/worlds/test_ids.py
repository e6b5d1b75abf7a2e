"""What every id stands for: its world and config, or its scenario, and its partners.

An id means the same game for ever: what changes a game raises the version in its id. Where this
fails for an id that has been released, give the new game a new version; a new id is put into the
file by ``python -m tests.worlds.test_ids``.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from piase_gym.core.jsonable import jsonable
from piase_gym.registry import list_tasks, task_spec

FILE = Path(__file__).with_name("golden_ids.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
OURS = [name for name in list_tasks() if name.startswith("piase/")]


def meaning(name: str) -> Any:
    """Return what an id stands for, as JSON has it."""
    spec = asdict(task_spec(name))
    return jsonable({key: value for key, value in spec.items() if value and key != "id"})


@pytest.mark.parametrize("name", OURS)
def test_an_id_stands_for_what_it_did(name: str) -> None:
    assert meaning(name) == GOLDEN[name]


def test_no_id_is_gone() -> None:
    assert set(GOLDEN) == set(OURS)


if __name__ == "__main__":
    found = {name: meaning(name) for name in sorted(OURS)}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in found.items())
    FILE.write_text(f"{{\n{rows}\n}}\n", "utf-8")
