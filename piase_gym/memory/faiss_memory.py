"""One agent's private memory: texts, and a FAISS index over their embeddings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from piase_gym.core.files import open_regular, write_whole
from piase_gym.errors import ConfigError, MemoryFileError, need, require_count
from piase_gym.memory.embedders import Embedder, embeddings, find_embedder

FORMAT = "piase-memory-1"
TOP_K = 3
"""How many memories a search returns by default."""


class FaissMemory:
    """Texts of one agent, retrieved by what they are about.

    Distances are squared L2 distances, as FAISS's ``IndexFlatL2`` measures them: the search is
    exact. If two memories are equally far, the older comes first.

    Args:
        embedder: What turns texts into vectors: ``hashed`` (the default), ``semantic``, or an
            `Embedder` of your own.

    Attributes:
        texts: What is remembered, oldest first.
        embedder: What turns texts into vectors.

    Raises:
        MissingExtraError: If faiss (the extra `memory`) or what the embedder needs is missing.
        ConfigError, UnknownNameError: If there is no such embedder.

    Example:
        >>> memory = FaissMemory()
        >>> memory.add("At position 2, I saw ['keyboard']. I decided to forward. Reason: explore")
        >>> memory.add("At position 7, I saw ['chair']. I decided to look_left. Reason: explore")
        >>> [(text[:13], round(distance, 1)) for text, distance in memory.search("a chair", k=1)]
        [('At position 7', 1.6)]
    """

    def __init__(self, embedder: str | Embedder | None = None) -> None:
        self._faiss = need("faiss", "FaissMemory", "memory")
        self.embedder = find_embedder(embedder)
        self.texts: list[str] = []
        self._index = self._faiss.IndexFlatL2(int(self.embedder.size))

    def __len__(self) -> int:
        """Return how many texts are remembered."""
        return len(self.texts)

    @property
    def index(self) -> Any:
        """The FAISS index over the embeddings of `texts`."""
        return self._index

    def add(self, text: str) -> None:
        """Remember a text.

        Raises:
            ConfigError: If it is no string, or blank.
        """
        if not isinstance(text, str) or not text.strip():
            raise ConfigError(f"a memory is a text, not {text!r:.60}")
        self._index.add(self._embed(text))
        self.texts.append(text)

    def search(self, text: str, k: int = TOP_K) -> list[tuple[str, float]]:
        """Return the nearest memories with their distances, the nearest first.

        Args:
            text: The query.
            k: How many at most.

        Raises:
            ConfigError: If `text` is no string, or `k` is not a number from 1.
        """
        return [(self.texts[place], distance) for place, distance in self.nearest(text, k)]

    def nearest(self, text: str, k: int = TOP_K) -> list[tuple[int, float]]:
        """Return the indices in `texts` of the nearest memories, with their distances."""
        if not isinstance(text, str):
            raise ConfigError(f"a question is a text, not of type {type(text).__name__}")
        k = require_count("k is a number from 1", k)
        if not self.texts:
            return []
        with self._one_thread():
            most = min(k, len(self.texts))
            distances, places = self._index.search(self._embed(text), most)
        found = zip(distances[0].tolist(), places[0].tolist(), strict=True)
        return [(place, distance) for distance, place in sorted(found)]

    def vector(self, place: int) -> NDArray[np.float32]:
        """Return the embedding of one of `texts`, counted as in a list.

        Raises:
            IndexError: If there are not as many.
        """
        found: NDArray[np.float32] = self._index.reconstruct(range(len(self.texts))[place])
        return found

    def clear(self) -> None:
        """Forget everything."""
        self.texts.clear()
        self._index.reset()

    def _embed(self, text: str) -> NDArray[np.float32]:
        """Return the embedding of a text as one row."""
        return embeddings(self.embedder, [text])

    def _vectors(self) -> NDArray[np.float32]:
        """Return the embeddings of `texts`, one row each."""
        if not self.texts:
            return np.zeros((0, self.embedder.size), np.float32)
        found: NDArray[np.float32] = self._index.reconstruct_n(0, len(self.texts))
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles have: the texts and their embeddings."""
        return {"embedder": self.embedder, "texts": [*self.texts], "vectors": self._vectors()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Restore what `__getstate__` returned, in an index of its own."""
        self._faiss = need("faiss", "FaissMemory", "memory")
        self.embedder, self.texts = state["embedder"], state["texts"]
        self._index = self._faiss.IndexFlatL2(int(self.embedder.size))
        self._index.add(state["vectors"])

    @contextmanager
    def _one_thread(self) -> Iterator[None]:
        """Search in this thread alone: for one query, waking others takes ten times as long."""
        threads = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1)
        try:
            yield
        finally:
            self._faiss.omp_set_num_threads(threads)

    # -- files ----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the memory to a file, whole or not at all.

        The file has a line of JSON (format, embedder, sizes, checksum), the vectors as
        little-endian float32, and the texts as a JSON list.

        Raises:
            StorageError: If it cannot be written.
        """
        count, size = len(self.texts), int(self.embedder.size)
        body = self._vectors().astype("<f4").tobytes() + json.dumps(self.texts).encode()
        head = {"format": FORMAT, "embedder": self.embedder.name, "size": size, "count": count}
        line = json.dumps({**head, "checksum": xxhash.xxh3_64_hexdigest(body)})
        write_whole(Path(path), line.encode() + b"\n" + body)

    @classmethod
    def load(cls, path: str | Path, embedder: str | Embedder | None = None) -> Self:
        """Read a memory that `save` wrote.

        Args:
            path: The file.
            embedder: The embedder that it was written with.

        Raises:
            MemoryFileError: If the file cannot be read, is no memory or damaged, or if it was
                written with another embedder or has vectors of another size.
            MissingExtraError, ConfigError, UnknownNameError: As for a new memory.
        """
        memory = cls(embedder)
        head, body = _read(Path(path))
        own = memory.embedder
        if head["embedder"] != own.name:
            message = f"{head['embedder']!r:.60}, not with {own.name!r}"
            raise MemoryFileError(f"{path} was written with the embedder {message}")
        if head["size"] != own.size:
            message = f"{head['size']} numbers, not {own.size}"
            raise MemoryFileError(f"the vectors of {path} have {message}")
        vectors, texts = _read_parts(body, head["count"], own.size, Path(path))
        if texts and not np.allclose(memory._embed(texts[-1])[0], vectors[-1], atol=1e-3):
            message = f"another embedder than this, though its name is {own.name!r} too"
            raise MemoryFileError(f"{path} was written with {message}")
        memory._index.add(vectors)
        memory.texts = texts
        return memory


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the first line and the rest of a memory file, after verifying its checksum."""
    try:
        with open_regular(path) as file:
            line, _, body = file.read().partition(b"\n")
    except (OSError, ValueError) as error:
        raise MemoryFileError(f"the memory {path} cannot be read: {error}") from None
    try:
        head = json.loads(line)
        known = head["format"] == FORMAT and {*map(type, (head["size"], head["count"]))} == {int}
        if not known or not isinstance(head["embedder"], str):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise MemoryFileError(f"{path} is no memory file of the format {FORMAT}") from None
    if head.get("checksum") != xxhash.xxh3_64_hexdigest(body):
        raise MemoryFileError(f"the memory {path} is damaged or incomplete: its checksum differs")
    return head, body


def _read_parts(
    body: bytes, count: int, size: int, path: Path
) -> tuple[NDArray[np.float32], list[str]]:
    """Return the vectors and texts of a memory file."""
    end = 4 * count * size
    try:
        texts = json.loads(body[end:])
        vectors = np.frombuffer(body[:end], "<f4").astype(np.float32).reshape(count, size)
        fits = isinstance(texts, list) and {*map(type, texts)} <= {str} and len(texts) == count
        if not fits or not np.isfinite(vectors).all():
            raise ValueError
    except (ValueError, RecursionError):
        raise MemoryFileError(f"the memory {path} does not hold what its first line says") from None
    return vectors, texts
