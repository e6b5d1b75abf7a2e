"""The table of what cells can hold: one row per kind, and every list and array derived from it.

The code of a kind is its byte in cells and vectors. A colour will not be part of it: a world with
coloured things keeps the colours in a second plane of bytes next to ``cells`` (0 for none), shows
that plane after the first if the envelope asks for it, and puts the colour's word before the name.
So codes, names and bytes of worlds without colours stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.grids.nouns import CellNouns


@dataclass(frozen=True)
class Kind:
    """One kind of thing that a cell can hold. Numbers are constants of the world.

    Attributes:
        code: Its byte.
        name: What facts call it.
        sign: Its letter in maps and in the ``ansi`` picture; empty for none.
        noun: What texts call it, if that takes no article, such as ``fruit``.
        plural: Its plural, if that is not the name with an s.
        does: What it does, for the world's page.
        rule: The sentence of the prompt in worlds with it; may name values in braces.
        strewn: The field of the config that says how many lie at random places.
        opaque: Whether it hides what lies behind it.
        entering: The constant that says what follows when an agent walks into it.
        use: The event when an agent acts on it with empty hands, and with full hands; 0 for none.
        reach: How the search for ways treats it when a level is generated.
    """

    code: int
    name: str
    sign: str = ""
    _: KW_ONLY
    noun: str = ""
    plural: str = ""
    does: str = ""
    rule: str = ""
    strewn: str = ""
    opaque: bool = False
    entering: int = 0
    use: tuple[int, int] = (0, 0)
    reach: int = 0

    @property
    def painter(self) -> str:
        """The name of the function that paints it: ``paint_closed_door``."""
        return f"paint_{self.name.replace(' ', '_')}"


class CellTable:
    """The kinds of a world.

    Attributes:
        kinds: The rows.
        names: Names by code.
        codes: Codes by name.
        signs: Signs by code, of the kinds that have one.
        nouns: What texts call the kinds.
    """

    def __init__(self, *kinds: Kind) -> None:
        """Take the rows, and check that no two share a code, a name or a sign."""
        self.kinds = kinds
        self.names = {kind.code: kind.name for kind in kinds}
        self.codes = {kind.name: kind.code for kind in kinds}
        self.signs = {kind.code: kind.sign for kind in kinds if kind.sign}
        self.nouns = CellNouns(
            mass={kind.name: kind.noun for kind in kinds if kind.noun},
            plurals={kind.name: kind.plural for kind in kinds if kind.plural},
        )
        signs = set(self.signs.values())
        assert len(self.names) == len(self.codes) == len(kinds), "two kinds share a code or a name"
        assert len(signs) == len(self.signs), "two kinds share a sign"

    def where(self, holds: Callable[[Kind], bool]) -> tuple[int, ...]:
        """Return the codes of the kinds that satisfy a condition."""
        return tuple(kind.code for kind in self.kinds if holds(kind))

    def array(self, field: str) -> NDArray[np.uint8]:
        """Return a field by code, for kernels: shape (256,), or (2, 256) if it holds pairs."""
        values = [getattr(kind, field) for kind in self.kinds]
        found = np.zeros((*np.shape(values)[1:], 256), np.uint8)
        found[..., list(self.names)] = np.transpose(values)
        return found
