"""What lies on the tables, thing by thing; see `piase_gym.core.objects`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from piase_gym.core.objects import AGENT

TABLE = "table"
"""The place of things on the table that all agents share."""


def objects(
    tables: Sequence[Sequence[str | None]], agents: Sequence[str], agents_facts: Sequence[Any]
) -> dict[str, Any]:
    """Return agents, and the things on the tables.

    Args:
        tables: What lies on each agent's table, or on the one that they share.
        agents: The names of the agents that take part.
        agents_facts: What each holds, how many mixes it has used, and whether it is in play.
    """
    found: dict[str, Any] = {
        name: {"kind": AGENT, "holding": holding or None, "mixes_used": used, "in_play": alive}
        for name, (holding, used, alive) in zip(agents, agents_facts, strict=True)
    }
    owners = agents if len(tables) > 1 else (TABLE,)
    for owner, table in zip(owners, tables, strict=True):
        for slot, thing in enumerate(table):
            if thing:
                found[f"{thing} ({owner}, {slot})"] = {"kind": thing, "alike": True, "place": owner}
    return found
