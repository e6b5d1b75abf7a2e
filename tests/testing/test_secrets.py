"""Every id of every world keeps from each agent what it cannot know."""

from __future__ import annotations

import pytest

import piase_gym
from piase_gym import testing
from piase_gym.testing import world_secrets
from tests.helpers.needs import each


def ids() -> list[str]:
    """Return the ids that ship."""
    return [task for task in piase_gym.list_tasks() if task.startswith("piase/")]


@pytest.mark.slow
@pytest.mark.parametrize("task", each(ids()))
def test_an_id_keeps_its_secrets(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_secrets, "SEEDS", (0,))  # below and in the kit's own tests it is two
    report = testing.check_world(task, checks=["secrets_are_kept"])
    assert report.findings[0].status == "passed"


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("GridWorld", {"agents": 3, "layout": "four_rooms"}),
        ("TextRoom", {"agents": 2, "rooms": 4}),
        ("SocialDilemma", {"game": "harvest"}),
        ("Household", {"receptacles": 6, "lists_commands": False, "feedback": "explain"}),
        ("SocialDilemma", {}),
    ],
)
def test_every_kind_of_world_hides_something(name: str, config: dict[str, object]) -> None:
    (finding,) = testing.check_world(name, checks=["secrets_are_kept"], **config).findings
    assert "pairs" in finding.detail
