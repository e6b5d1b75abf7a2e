"""pybullet, imported without its noise; only this world's `building` and `bullet` use it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what C code writes to standard output and error away from the user."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        try:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            yield
        finally:
            for number, file in zip((1, 2), kept, strict=True):
                os.dup2(file, number)
                os.close(file)


with quiet():  # it announces when it was built
    import pybullet as p

__all__ = ["p", "quiet"]
