"""The studio: play, watch and replay worlds, and write curricula and scenarios, in a browser.

`serve`, or ``piase studio`` in a terminal, starts it. `workspace`, `playing` and `playback` know
what is shown, and no web page; each module that ends with ``_page`` is one page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from piase_gym.lazy import lazy

if TYPE_CHECKING:
    from piase_gym.studio.app import serve as serve

__getattr__, __dir__ = lazy(__name__)
