"""What a summary counts, and how it says it."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.simulation.summary import Summary


def begun() -> Summary:
    """Return the summary of a fresh episode of two agents."""
    return Summary.begin(["ann", "bob"], "The Lost Key", "TextRoom", 7)


def test_nothing_has_happened_at_the_start() -> None:
    fresh = Summary(
        "The Lost Key",
        "TextRoom",
        7,
        results={"ann": None, "bob": None},
        terminated={"ann": False, "bob": False},
        truncated={"ann": False, "bob": False},
        returns={"ann": 0.0, "bob": 0.0},
        outcomes={"ann": {}, "bob": {}},
        milestones_of={"ann": (), "bob": ()},
        late={"ann": 0, "bob": 0},
    )
    assert begun() == fresh
    assert str(fresh) == (
        "The Lost Key: unfinished after 0 steps (running)\n"
        "  ann: in play, return 0, milestones: none\n"
        "  bob: in play, return 0, milestones: none"
    )


def test_answers_without_a_command_are_told() -> None:
    summary = begun()
    for outcome in ("ok", "refused", "timeout", "refused", "illegal"):
        summary.add("ann", 0.0, {"outcome": outcome})
    ann, bob = str(summary).splitlines()[1:]
    told = "answers without a command: 1 timeout, 2 refused"
    assert ann == f"  ann: in play, return 0, milestones: none; {told}"
    assert bob == "  bob: in play, return 0, milestones: none"


def test_a_step_adds_rewards_outcomes_milestones_metrics_and_results() -> None:
    summary = begun()
    told: list[tuple[str, float, dict[str, Any]]] = [
        ("ann", 0.5, {"outcome": "ok", "milestones": ["key", "door"], "metrics": {"harm": 1.0}}),
        ("bob", -0.25, {"outcome": "failed", "milestones": ["key"]}),
        ("ann", 0.25, {"outcome": "ok", "milestones": ["key"], "metrics": {"harm": 2.5}}),
        ("ann", 0.0, {}),
        ("bob", 0.0, {"outcome": "ok", "result": "lost"}),
    ]
    for name, reward, info in told:
        summary.add(name, reward, info)
    assert summary.returns == {"ann": 0.75, "bob": -0.25}
    assert summary.outcomes == {"ann": {"ok": 2}, "bob": {"failed": 1, "ok": 1}}
    assert summary.milestones == ("key", "door")
    assert summary.milestones_of == {"ann": ("key", "door"), "bob": ("key",)}
    assert summary.metrics == {"harm": 2.5}
    assert summary.results == {"ann": None, "bob": "lost"}
    assert not summary.won
    assert summary.reach("bob", "door")
    assert not summary.reach("bob", "door")
    assert (summary.milestones, summary.milestones_of["bob"]) == (("key", "door"), ("key", "door"))


@pytest.mark.parametrize(
    ("results", "won"),
    [
        ({"ann": "won"}, True),
        ({"ann": "won", "bob": "lost"}, True),
        ({"ann": "lost", "bob": "won"}, True),
        ({"ann": "ended", "bob": "drawn"}, False),
        ({}, False),
    ],
)
def test_an_episode_is_won_where_anybody_has_won(results: dict[str, str], won: bool) -> None:
    summary = begun()
    for name, result in results.items():
        summary.end(name, result)
    assert summary.won is won
    assert summary.truncated == {"ann": False, "bob": False}
    summary.end("bob", "lost", truncated=True)
    summary.end("bob", "lost")
    assert summary.truncated == {"ann": False, "bob": True}


def test_a_report_says_how_it_ended_for_each_agent() -> None:
    summary = begun()
    summary.add("ann", 1.5, {"milestones": ["key", "door"], "result": "won"})
    summary.metrics["harm"] = 0.125
    summary.steps, summary.stopped, summary.finished = 12, "episode", True
    assert str(summary) == (
        "The Lost Key: won after 12 steps (episode)\n"
        "  ann: won, return 1.5, milestones: key, door\n"
        "  bob: in play, return 0, milestones: none\n"
        "  harm: 0.125"
    )
    summary.end("ann", "lost")
    assert str(summary).startswith("The Lost Key: not won after 12 steps")
