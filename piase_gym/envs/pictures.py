"""Pictures of one size, where levels are drawn in several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

Picture = NDArray[np.uint8]


class SizeFitter:
    """Fits pictures of several environments to one size, which videos and tiles need.

    It is the size of the largest when they were first drawn. Others are scaled to fit it.
    """

    def __init__(self) -> None:
        """Wait for the first pictures."""
        self._size: tuple[int, int] | None = None

    def fit(self, pictures: Sequence[Picture]) -> list[Picture]:
        """Return the pictures in this size, shape (height, width, 3)."""
        if self._size is None:
            self._size = max(p.shape[1] for p in pictures), max(p.shape[0] for p in pictures)
        return [self._one(picture, self._size) for picture in pictures]

    def _one(self, picture: Picture, size: tuple[int, int]) -> Picture:
        if picture.shape[1::-1] == size:
            return picture
        return np.asarray(ImageOps.pad(Image.fromarray(picture), size, color="white"))
