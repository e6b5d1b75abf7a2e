"""Drones: four drones that fly about and turn at random."""

from __future__ import annotations

TASKS = {"Drones-8x8-v1": {"square": 8, "movers": 4, "mover_chance": 0.25}}
