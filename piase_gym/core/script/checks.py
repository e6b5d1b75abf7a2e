"""What is wrong with a script, as far as the world and its config tell."""

from __future__ import annotations

from typing import Any


def check_script(kind: Any, config: Any, agents: Any) -> None:
    """TODO"""
