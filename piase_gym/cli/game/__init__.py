"""`piase play`: a person as one agent.

`screen` draws, and `loops` reads keys or lines; the game itself is `piase_gym.play.session`.
"""

from __future__ import annotations
