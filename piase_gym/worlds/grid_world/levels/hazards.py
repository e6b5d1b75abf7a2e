"""Hazards: six lie about, and the first to step onto one is out."""

from __future__ import annotations

TASKS = {"Hazards-8x8-v1": {"square": 8, "hazards": 6}}
