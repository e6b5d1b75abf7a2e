"""`piase play`: a person as one agent.

`session` keeps the score and asks the oracle, `screen` draws, and `loops` reads keys or lines.
"""

from __future__ import annotations
