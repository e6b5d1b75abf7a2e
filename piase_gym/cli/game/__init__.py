"""`piase play`: a person as one agent.

`session` keeps the score, `reference` asks the oracle, `choices` gives commands their keys,
`picture` and `screen` draw, `terminal` reads keys, and `loops` puts them together.
"""

from __future__ import annotations
