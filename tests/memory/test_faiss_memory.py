"""FaissMemory: equal to a search by brute force, private, and kept in files that are checked."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from piase_gym.errors import ConfigError, MemoryFileError, MissingExtraError, StorageError
from piase_gym.memory import FaissMemory, HashedEmbedder, memory_text, query_text

pytest.importorskip("faiss")

WORDS = "key lamp door box red blue at position I saw nothing".split()
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def brute_force(texts: Sequence[str], question: str, k: int) -> list[tuple[str, float]]:
    """Return the nearest texts in float64, the older first where two are equal."""
    rows = HashedEmbedder().embed([*texts, question]).astype(np.float64)
    distances = ((rows[:-1] - rows[-1]) ** 2).sum(axis=1)
    order = sorted(range(len(texts)), key=lambda place: (round(distances[place], 5), place))
    return [(texts[place], distances[place]) for place in order[:k]]


@settings(max_examples=60, deadline=None)
@given(st.lists(SENTENCES, min_size=1, max_size=40), SENTENCES, st.integers(1, 50))
def test_it_finds_what_brute_force_finds(texts: list[str], question: str, k: int) -> None:
    memory = FaissMemory()
    for text in texts:
        memory.add(text)
    found, wanted = memory.search(question, k), brute_force(texts, question, k)
    assert len(found) == len(memory.nearest(question, k)) == min(k, len(texts))
    distances = [distance for _, distance in wanted]
    assert [d for _, d in found] == pytest.approx(distances, abs=1e-5)
    gaps = [abs(a - b) for a, b in itertools.pairwise(distances)]
    if not gaps or min(gaps) > 1e-4:
        assert [text for text, _ in found[:-1]] == [text for text, _ in wanted[:-1]]


def test_the_older_of_two_equal_memories_comes_first() -> None:
    memory = FaissMemory()
    for text in ["the lamp", "a key", "The key", "a KEY!", "a key."] * 3:
        memory.add(text)
    assert [place for place, _ in memory.nearest("a key", 5)] == [1, 3, 4, 6, 8]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda memory: pickle.loads(pickle.dumps(memory))]
)
@pytest.mark.parametrize("texts", [["a key", "the lamp"], []])
def test_a_copy_is_a_memory_of_its_own(
    copied: Callable[[FaissMemory], FaissMemory], texts: list[str]
) -> None:
    memory = FaissMemory()
    for text in texts:
        memory.add(text)
    other = copied(memory)
    assert other.search("lamp") == memory.search("lamp")
    other.add("lamp")
    assert other.search("lamp", 1) == [("lamp", 0.0)]
    assert (memory.texts, len(other)) == (texts, len(texts) + 1)
    memory.clear()
    assert other.search("lamp", 1) == [("lamp", 0.0)]


def test_three_are_found_by_default_and_none_in_an_empty_memory() -> None:
    memory = FaissMemory()
    assert memory.search("anything") == []
    for number in range(5):
        memory.add(f"text {number}")
    assert len(memory.search("text")) == 3
    (text, distance), *_ = memory.search("text 3")
    assert (text, distance) == ("text 3", 0.0)
    assert (type(text), type(distance), len(memory)) == (str, float, 5)
    memory.clear()
    assert (memory.search("text"), len(memory)) == ([], 0)


def test_texts_have_the_form_of_the_explorer_document() -> None:
    told = [{"sender": "Agent2", "recipient": "all", "message": "I found chair and table"}] * 2
    assert memory_text(3, ["lamp", "key"], "forward", "look around") == (
        "At position 3, I saw ['lamp', 'key']. I decided to forward. Reason: look around"
    )
    assert memory_text(3, [], "forward", "look around", told) == (
        "At position 3, I saw []. I decided to forward. Reason: look around | Context from "
        "others: Agent2: I found chair and table; Agent2: I found chair and table"
    )
    with pytest.raises(ConfigError, match="visible_objects are a list of names, not 'lamp'"):
        memory_text(3, "lamp", "forward")
    with pytest.raises(ConfigError, match=r"messages are as Mailbox\.poll returns them, .*'hello'"):
        memory_text(3, [], "forward", "", ["hello"])  # type: ignore[list-item]
    assert query_text(3, "a red room", ["lamp"]) == (
        "What do I know about position 3 with what I see: a red room?"
    )
    assert query_text(3, "", ["lamp", "key"]) == (
        "What do I know about position 3 with what I see: lamp, key?"
    )


def test_what_is_no_memory_and_no_question_is_refused() -> None:
    memory = FaissMemory()
    wrong: list[Any] = [None, 3, "", " \n", b"text"]
    for text in wrong:
        with pytest.raises(ConfigError, match="a memory is a text, not"):
            memory.add(text)
    for k in (0, -1, 1.0, True, None):
        with pytest.raises(ConfigError, match="k is a number from 1"):
            memory.search("text", k)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="a question is a text"):
        memory.search(None)  # type: ignore[arg-type]
    assert len(memory) == 0
    memory.add("x" * 2**20)  # long, but a text
    assert memory.search("", 1)[0][0] == "x" * 2**20


class Own:
    """An embedder of a user's own, by what it does."""

    def __init__(self, size: int, embed: Callable[[str], Sequence[float]], name: str = "own"):
        self.size, self.name, self._embed = size, name, embed

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._embed(text) for text in texts])


def test_an_embedders_size_may_be_a_number_of_numpys(tmp_path: Path) -> None:
    own: Any = Own(np.int64(1), lambda text: [len(text)])  # type: ignore[arg-type]
    memory = FaissMemory(own)
    memory.add("text")
    memory.save(tmp_path / "own.memory")
    assert FaissMemory.load(tmp_path / "own.memory", own).texts == ["text"]


def test_an_embedder_of_ones_own_is_used() -> None:
    memory = FaissMemory(embedder=Own(1, lambda text: [len(text)]))
    for text in ("aaaa", "b", "cc"):
        memory.add(text)
    assert memory.search("ddd") == [("aaaa", 1.0), ("cc", 1.0), ("b", 4.0)]
    for embed in (lambda _: [1.0, 2.0], lambda _: [float("nan")], lambda text: text):
        with pytest.raises(ConfigError, match="own does not turn a text into 1 finite numbers"):
            FaissMemory(embedder=Own(1, embed)).add("text")


def test_without_faiss_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"^FaissMemory needs .*'piase-gym\[memory\]'$"):
        FaissMemory()


# -- files ----------------------------------------------------------------------------------


def filled(embedder: Any = None) -> FaissMemory:
    memory = FaissMemory(embedder)
    for text in ("the key\nis red", "clé 鍵 \ud800", 'a "lamp"', "a lamp"):
        memory.add(text)
    return memory


@pytest.mark.parametrize("empty", [True, False])
def test_a_memory_comes_back_from_its_file(tmp_path: Path, empty: bool) -> None:
    memory, path = FaissMemory() if empty else filled(), tmp_path / "new" / "agent.memory"
    memory.save(path)
    found = FaissMemory.load(str(path))
    assert found.texts == memory.texts
    assert found.search("a lamp", 9) == memory.search("a lamp", 9)
    found.add("another lamp")
    found.save(path)  # takes the place of the old file
    assert len(FaissMemory.load(path)) == len(memory) + 1
    with pytest.raises(StorageError):
        memory.save(tmp_path)


def test_a_memory_of_an_embedder_with_a_long_name_comes_back(tmp_path: Path) -> None:
    embedder = HashedEmbedder()
    embedder.name = "n" * 5000
    memory = FaissMemory(embedder)
    memory.add("a brass key")
    memory.save(tmp_path / "memory")
    many: Any = np.int64(3)
    assert FaissMemory.load(tmp_path / "memory", embedder).search("a key", many) == memory.search(
        "a key"
    )


def test_a_torn_file_is_refused_wherever_it_is_torn(tmp_path: Path) -> None:
    path = tmp_path / "agent.memory"
    filled().save(path)
    whole = path.read_bytes()
    cuts = {*range(0, len(whole), 97), *range(len(whole) - 40, len(whole)), whole.index(b"\n")}
    for cut in sorted(cuts):
        path.write_bytes(whole[:cut])
        with pytest.raises(MemoryFileError, match=r"is damaged or incomplete|is no memory file"):
            FaissMemory.load(path)
    for place in (3, 60, 700, len(whole) - 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(MemoryFileError):
            FaissMemory.load(path)


def rewritten(path: Path, **changes: Any) -> None:
    """Change what the first line of a file says."""
    line, body = path.read_bytes().split(b"\n", 1)
    path.write_bytes(json.dumps({**json.loads(line), **changes}).encode() + b"\n" + body)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"format": "piase-memory-9"}, "no memory file of the format piase-memory-1"),
        ({"embedder": 3}, "no memory file"),
        ({"size": "384"}, "no memory file"),
        ({"count": 3}, "does not hold what its first line says"),
        ({"count": -1}, "does not hold what its first line says"),
        ({"count": 10**30}, "does not hold what its first line says"),
        ({"size": 128}, "have 128 numbers, not 384"),
        ({"embedder": "all-MiniLM-L6-v2"}, "with the embedder 'all-MiniLM-L6-v2', not with 'hash"),
    ],
)
def test_a_file_that_says_something_else_is_refused(
    changes: dict[str, Any], told: str, tmp_path: Path
) -> None:
    path = tmp_path / "agent.memory"
    filled().save(path)
    rewritten(path, **changes)
    with pytest.raises(MemoryFileError, match=told):
        FaissMemory.load(path)


@pytest.mark.parametrize("texts", [["one"], [1, 2], {"one": 1, "two": 2}, "ab", ["one", "two"]])
def test_texts_and_vectors_of_a_file_fit(texts: Any, tmp_path: Path) -> None:
    path, own = tmp_path / "agent.memory", Own(2, lambda text: [len(text), 1])
    FaissMemory(own).save(path)
    vectors = np.array([[3, 1], [3, np.nan if texts == ["one", "two"] else 1]], "<f4")
    body = vectors.tobytes() + json.dumps(texts).encode()
    path.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n" + body)
    rewritten(path, count=2, checksum=xxhash.xxh3_64_hexdigest(body))
    with pytest.raises(MemoryFileError, match="does not hold what its first line says"):
        FaissMemory.load(path, own)


def test_a_memory_of_another_embedder_or_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.memory"
    filled(HashedEmbedder(128)).save(path)
    with pytest.raises(MemoryFileError, match="'hashed-ngrams-v1-128', not with 'hashed-ngrams"):
        FaissMemory.load(path)
    assert len(FaissMemory.load(path, embedder=HashedEmbedder(128))) == 4
    filled(Own(2, lambda text: [len(text), 1])).save(path)
    with pytest.raises(MemoryFileError, match="have 2 numbers, not 3"):
        FaissMemory.load(path, embedder=Own(3, lambda text: [len(text), 1, 1]))
    with pytest.raises(MemoryFileError, match="another embedder than this, though its name"):
        FaissMemory.load(path, embedder=Own(2, lambda text: [1, len(text)]))
    assert len(FaissMemory.load(path, embedder=Own(2, lambda text: [len(text), 1]))) == 4


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MemoryFileError, match=r"cannot be read: .*No such file"):
        FaissMemory.load(tmp_path / "nowhere")
    with pytest.raises(MemoryFileError, match=r"cannot be read: .*not a file"):
        FaissMemory.load(tmp_path)
    for content in (b"", b"\n", b"[]\n", b"null\n", b"{}\n", b"\xff" * 5000, b"[" * 1999 + b"\n"):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(MemoryFileError, match="is no memory file"):
            FaissMemory.load(tmp_path / "other")


def test_vectors_are_counted_as_texts_are() -> None:
    memory = filled()
    last = len(memory.texts) - 1
    assert (memory.vector(-1) == memory.vector(last)).all()
    for place in (last + 1, -last - 2):
        with pytest.raises(IndexError):
            memory.vector(place)
