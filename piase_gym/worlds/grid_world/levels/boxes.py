"""Boxes: six boxes that can be pushed out of the way, or into it."""

from __future__ import annotations

TASKS = {"Boxes-8x8-v1": {"square": 8, "boxes": 6}}
