"""Lines of logs that are written by hand."""

from __future__ import annotations

from typing import Any

MANIFEST: dict[str, Any] = {
    "control": "start",
    "schema_version": 3,
    "world": "Small",
    "world_version": 1,
    "config": {},
    "agents": ["a", "b"],
    "num_envs": 1,
    "actions": [],
    "level": "actions",
}


def event(event_type: str, data: Any, agent: str = "system", **more: Any) -> dict[str, Any]:
    """Return a line of a log."""
    return {
        "timestamp": "2020-01-02T03:04:05.250000Z",
        "simulation_run_id": "r",
        "experiment_id": "e",
        "event_id": "r:1",
        "agent_id": agent,
        "source_component_id": "PiaSE.SimulationEngine",
        "source_type": "SIMULATOR",
        "log_level": "INFO",
        "event_type": event_type,
        "step": 0,
        "episode": 0,
        "event_data": data,
        **more,
    }
