"""Scenarios: a world with a start, agents, conditions and events, as a YAML or JSON file.

Example:
    >>> from piase_gym import scenarios
    >>> "lost_key" in scenarios.names()
    True
    >>> scenarios.load("lost_key").title
    'The Lost Key'
"""

from __future__ import annotations

from piase_gym.scenarios.loader import Scenario, fields_for, is_scenario, load, loads, names
from piase_gym.scenarios.schema import (
    ScenarioHead,
    TextRoomScenario,
    WorldScenario,
    json_schema,
)

__all__ = [
    "Scenario",
    "ScenarioHead",
    "TextRoomScenario",
    "WorldScenario",
    "fields_for",
    "is_scenario",
    "json_schema",
    "load",
    "loads",
    "names",
]
