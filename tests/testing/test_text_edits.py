"""How the kit edits texts."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from piase_gym.testing.text_edits import MOST, _shifted, edits_of, vocabulary_of


@pytest.mark.parametrize(
    ("number", "by", "after"),
    [
        ("9", 1, "10"),
        ("0", -1, "-1"),
        ("-3", 1, "-2"),
        ("0.250", 1, "0.251"),
        ("-0.001", 1, "0.000"),
        ("1.5", -1, "1.4"),
    ],
)
def test_numbers_are_shifted_in_their_last_digit(number: str, by: int, after: str) -> None:
    assert _shifted(number, by).replace("-0.000", "0.000") == after


def test_an_edit_says_what_it_does() -> None:
    found = dict(edits_of("A cup.\nIt has 3 legs.", {"cup": ["hat"]}, 0))
    assert found == {
        "A hat.\nIt has 3 legs.": "'cup' in line 1 replaced by 'hat'",
        "A cup.\nIt has 4 legs.": "'3' in line 2 replaced by '4'",
        "A cup.\nIt has 2 legs.": "'3' in line 2 replaced by '2'",
    }
    many = " ".join(str(number) for number in range(100))
    assert len(list(edits_of(many, {}, 0))) == MOST == 30


@dataclasses.dataclass
class Told:
    """Facts of a text."""

    things: tuple[Any, ...] = ()
    hint: str = ""
    messages: tuple[Any, ...] = ()
    place: str = ""


def test_words_of_a_list_stand_in_one_place() -> None:
    """In a long list of one kind any may stand for any; in a pair each has its own."""
    facts: Any = [Told(("cup", "hat", "7", "egg"), "a b", ("x",), "red room")]
    facts.append(Told(("cup", "hat"), "c d", ("y",), "blue room"))
    assert vocabulary_of(facts) == {
        "blue": ["red"],
        "cup": ["egg", "hat"],
        "egg": ["cup", "hat"],
        "hat": ["cup", "egg"],
        "red": ["blue"],
    }
