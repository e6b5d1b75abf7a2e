"""Hazards: six lie about, and stepping onto one ends the episode."""

from __future__ import annotations

TASKS = {"Hazards-8x8-v1": {"square": 8, "hazards": 6}}
