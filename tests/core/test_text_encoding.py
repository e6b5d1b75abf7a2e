"""Texts are escaped, cut into lines and counted in codes."""

from __future__ import annotations

import numpy as np
import pytest

from piase_gym.core.answers import HOW_TO_ANSWER
from piase_gym.core.commands import Verb
from piase_gym.core.manual import Manual
from piase_gym.core.text_encoding import escape, hash_text, one_line, unescape
from piase_gym.errors import TextParseError
from tests import probes

probes.register()


def test_texts_are_escaped_and_back() -> None:
    assert escape("a\\é\n~\x7f") == "a\\\\\\u{e9}\n~\\u{7f}"
    assert one_line("a\nb") == "a\\u{a}b"
    assert unescape("\\u{10ffff}\\\\") == "\U0010ffff\\"
    with pytest.raises(TextParseError, match=r"\\u\{110000\} is no character; codes end at 10ffff"):
        unescape("\\u{110000}")


def test_words_are_counted_in_a_code() -> None:
    assert hash_text(None).tolist() == [0] * 8
    assert hash_text("").tolist() == [1] + [0] * 7
    one = hash_text("Key")
    assert (one[0], one[1:].sum()) == (1, 1)
    assert (hash_text("key, KEY!") == 2 * one - (np.arange(8) == 0)).all()
    many = hash_text("key " * 300)
    assert many.max() == 255
    assert sorted(many.tolist())[:6] == [0] * 6
    assert hash_text("a b", 2).tolist() == [1, 2]


def test_a_prompt_has_its_parts_in_order() -> None:
    verbs = (Verb("go", "leave"), Verb("fly", "soar"))
    manual = Manual("Rules.", "one a goal.", lambda agent: f"goal {agent}.", milestones=("a_b",))
    told = manual.prompt("Head.", 1, "Own.", verbs, ("c",), 9).split("\n\n")
    assert told[:3] == ["Head.", "Rules.", "Goal: goal 1. Own."]
    assert told[3] == f"{HOW_TO_ANSWER} The commands:\n- go: leave\n- fly: soar"
    assert told[4] == "Rewards: one a goal.\nMilestones, paid only as the rewards say: a b."
    assert told[5].startswith("An episode ends after 9 steps at the latest. Each observation opens")
    assert len(told) == 6
    ended = Manual("R.", "none.", end="It ends.", example=("You see.", "go"), unused=("fly",))
    told = ended.prompt("Head.", 0, None, verbs, ("c_d",), 9).split("\n\n")
    assert told[:2] == ["Head.", "R."]
    assert told[2] == f"{HOW_TO_ANSWER} The commands:\n- go: leave"
    assert told[3] == "Rewards: none.\nMilestones, paid only as the rewards say: c d."
    assert told[4].startswith("It ends. ")
    assert told[5] == "Example: You see.\nAction: go"
    told = ended.prompt("Head.", 0, None, verbs, (), 9, shared=True).split("\n\n")
    assert told[3] == "Rewards: none. Everybody gets the mean of all."
    assert "Milestones" not in Manual("R.", "none.").prompt("Head.", 0, None, verbs, (), 9)
