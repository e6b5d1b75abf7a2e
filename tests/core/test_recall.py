"""What is remembered of what was seen, step by step."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.core import recall
from piase_gym.core.facts import Remembered
from piase_gym.core.recall import Recall, UnnamedThings
from piase_gym.core.text_encoding import hash_text
from piase_gym.errors import SnapshotError, TextParseError
from tests import probes

probes.register()


def seen(memory: Recall, **places: Any) -> None:
    """Let agent 0 perceive things."""
    world: Any = SimpleNamespace(perceived=lambda facts: places)
    memory.note(world, 0, None)


def test_what_is_out_of_sight_is_remembered_for_a_while() -> None:
    memory = Recall(("ann", "bob"))
    seen(
        memory,
        lamp=[1, 2],
        cup="on the desk",
        apple=UnnamedThings([(0, 0), (2, 2)], [(0, 0), (2, 2)]),
    )
    assert memory.shown(None, 0) == ()  # type: ignore[arg-type]
    memory.pass_step()
    seen(memory, lamp=[1, 3], apple=UnnamedThings([], [(0, 0)]))
    memory.pass_step()
    found = memory.shown(None, 0)  # type: ignore[arg-type]
    assert [(m.name, m.ago) for m in found] == [("lamp", 1), ("apple", 2), ("cup", 2)]
    assert memory.lines(found) == [
        "Remembered, 1 step ago: lamp at (1, 3).",
        "Remembered, 2 steps ago: apple at (2, 2); cup: on the desk.",
    ]
    assert memory.shown(None, 1) == ()  # type: ignore[arg-type]
    again = Recall(("ann", "bob"))
    again.set_state(json.loads(json.dumps(memory.get_state())))
    assert again.shown(None, 0) == found  # type: ignore[arg-type]
    memory.clear()
    assert memory.shown(None, 0) == ()  # type: ignore[arg-type]
    assert memory.steps == 0


def test_only_the_last_are_shown_and_nothing_is_older_than_the_oldest() -> None:
    memory = Recall(("ann",))
    seen(memory, **{f"thing_{number:02}": None for number in range(17)})
    for _ in range(300):
        memory.pass_step()
    found = memory.shown(None, 0)  # type: ignore[arg-type]
    assert len(found) == 16
    assert {entry.ago for entry in found} == {254}
    code = memory.code(found).reshape(16, -1)
    assert code.shape == (16, 13)
    assert memory.length == 16 * 13
    assert code[:, 0].tolist() == [255.0] * 16
    assert code[0, 1:9].tolist() == hash_text("thing_00").tolist()


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"steps": 3, "known": []},
        {"steps": 3, "known": [[["lamp", None, 4]]]},
        {"steps": 3, "known": [[["lamp", None, -1]]]},
        {"steps": 3, "known": [[["lamp", None, 1.0]]]},
        {"steps": 3, "known": [[["", None, 1]]]},
        {"steps": 3, "known": [[[7, None, 1]]]},
        {"steps": "3", "known": [[]]},
    ],
)
def test_a_damaged_memory_is_refused(state: Any) -> None:
    memory = Recall(("ann",))
    memory.pass_step()
    with pytest.raises(SnapshotError, match="what agents remember is damaged"):
        memory.set_state(state)
    assert memory.steps == 1


def read(text: str) -> Any:
    """Read a text that ends with memories."""

    @dataclasses.dataclass
    class Told:
        text: str
        remembered: Any = None

    return recall.parse_remembered(text, None, lambda own, config: Told(own))


def test_memories_are_read_back() -> None:
    view = (
        Remembered("lamp", (1, 3), 1),
        Remembered("apple", (2, 2), 2),
        Remembered("cup: a; b", "x; y", 2),
    )
    found = read("\n".join(["You see.", *Recall.lines(view)]))
    assert found.text == "You see."
    assert found.remembered == view
    assert read("You see.").remembered == ()


@pytest.mark.parametrize(
    "line",
    [
        "Remembered, 1 step ago: lamp at (1, 3)",
        "Remembered, 255 steps ago: lamp.",
        "Remembered, 2 steps ago: lamp.\nRemembered, 1 step ago: cup.",
        "Remembered, 1 step ago: lamp; cup.",
        "Remembered, 1 step ago: cup; lamp at x.\nmore",
        "\n".join(f"Remembered, {n} steps ago: lamp." for n in range(1, 18)),
    ],
)
def test_memories_that_nobody_writes_are_refused(line: str) -> None:
    with pytest.raises(TextParseError):
        read(f"You see.\n{line}")


def test_rows_of_a_vector_without_a_memory_are_zeros() -> None:
    code = Recall(("ann",)).code([Remembered("lamp", (1, 3), 4)]).reshape(16, -1)
    assert code[0].tolist() == [5.0, *hash_text("lamp").tolist(), 1.0, 1.0, 3.0, 0.0]
    assert not code[1:].any()


def test_a_long_name_is_remembered_by_its_beginning() -> None:
    memory = Recall(("ann",))
    seen(memory, **{"x" * 61: [1, 2]})
    memory.pass_step()
    assert [entry.name for entry in memory.shown(None, 0)] == ["x" * 60]  # type: ignore[arg-type]


def test_as_many_memories_as_are_shown_are_read_back() -> None:
    view = tuple(Remembered("lamp", None, ago) for ago in [*range(1, 16), 254])
    assert read("\n".join(["You see.", *Recall.lines(view)])).remembered == view


def test_what_is_nowhere_any_more_is_forgotten() -> None:
    memory = Recall(("ann",))
    seen(memory, apple=UnnamedThings([(0, 0)], [(0, 0)]))
    memory.pass_step()
    seen(memory, apple=UnnamedThings([], [(0, 0)]))
    memory.pass_step()
    assert memory.shown(None, 0) == ()  # type: ignore[arg-type]
    assert memory.get_state() == {"steps": 2, "known": [[]]}
