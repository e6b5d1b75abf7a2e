"""Safe characters for Text spaces, and the lossy code of strings."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Text
from hypothesis import given
from hypothesis import strategies as st

from piase_gym.core.text_encoding import CHARSET, HINT_CODE, escape, hash_text, unescape

ANY_TEXT = st.text(st.characters())  # surrogates included
TRICKY = st.text(st.sampled_from("\\u{}eé9\n\t 鍵\x00\x7f\U0001f511"))
WORDS = st.lists(st.from_regex(r"\A[a-z]{1,8}\Z"), max_size=12)


@given(ANY_TEXT | TRICKY)
def test_escape_is_undone_and_stays_in_the_charset(text: str) -> None:
    escaped = escape(text)
    assert unescape(escaped) == text
    assert set(escaped) <= set(CHARSET)
    assert Text(max(1, len(escaped)), min_length=0, charset=CHARSET).contains(escaped)


@given(ANY_TEXT | TRICKY, ANY_TEXT | TRICKY)
def test_different_texts_stay_different(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


@given(st.text(st.sampled_from(CHARSET.replace("\\", ""))))
def test_plain_text_is_left_alone(text: str) -> None:
    assert escape(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("clé", r"cl\u{e9}"),
        ("\U0001f511", r"\u{1f511}"),
        ("\t", r"\u{9}"),
        ("\x7f", r"\u{7f}"),
        ("C:\\user", r"C:\\user"),
        (r"\u{e9}", r"\\u{e9}"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_escape_examples(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_the_charset_is_printable_ascii_and_the_line_break() -> None:
    assert sorted(CHARSET) == sorted([chr(code) for code in range(32, 127)] + ["\n"])


@given(WORDS)
def test_hash_text_counts_every_word_once_after_the_mark_of_a_text(words: list[str]) -> None:
    code = hash_text(" ".join(words))
    assert code.dtype == np.uint8
    assert code.shape == (HINT_CODE,)
    assert code[0] == 1
    assert int(code[1:].sum()) == len(words)


@given(st.permutations(["find", "the", "brass", "key", "key"]))
def test_hash_text_ignores_order_case_and_punctuation(words: list[str]) -> None:
    expected = hash_text("find the brass key key")
    np.testing.assert_array_equal(hash_text("  ".join(words).upper() + "!"), expected)


@given(ANY_TEXT, st.integers(2, 64))
def test_hash_text_takes_any_text_and_size(text: str, size: int) -> None:
    assert hash_text(text, size).shape == (size,)


def test_hash_text_golden_values() -> None:
    # Computed once; they must never change, on any platform.
    assert hash_text("find the brass key").tolist() == [1, 0, 0, 0, 0, 1, 3, 0]
    assert hash_text("Finde den Schlüssel").tolist() == [1, 0, 0, 0, 1, 1, 1, 0]


def test_no_text_is_all_zeros() -> None:
    assert not hash_text(None).any()


@pytest.mark.parametrize("text", ["", " ", "?!"])
def test_a_text_without_words_differs_from_no_text(text: str) -> None:
    assert hash_text(text).tolist() == [1] + [0] * (HINT_CODE - 1)


def test_counters_saturate() -> None:
    assert hash_text("key " * 1000).max() == 255


def test_different_hints_mostly_differ() -> None:
    codes = {tuple(hash_text(f"go to room {n} {n * n}").tolist()) for n in range(8)}
    assert len(codes) > 4
