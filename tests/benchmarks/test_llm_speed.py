"""What a language model's decisions cost is measured over whole episodes."""

from __future__ import annotations

import itertools

import pytest

from piase_gym.benchmarks.speed import llm

pytest.importorskip("openai")
TASK, STAY = "piase/GridWorld-Empty-5x5-v*", "stay"


def test_a_decision_costs_what_its_share_of_an_episode_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = itertools.count(0, 2)
    monkeypatch.setattr(llm.time, "process_time", lambda: next(clock))
    assert llm.decision(TASK, f"action: {STAY}\n", "yaml", 4) == 1000 * 2 / 4


def test_an_episode_that_ends_early_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    made = llm.setting_of
    monkeypatch.setattr(llm, "setting_of", lambda task, steps: made(task, steps - 1))
    with pytest.raises(RuntimeError, match=r"GridWorld-Empty-5x5-v\*: 3$"):
        llm.decision(TASK, STAY, "line", 4)


def test_a_client_is_asked_what_an_episodes_model_is_told() -> None:
    asked = llm.messages_of(TASK, STAY)
    assert len(asked) == llm.STEPS
    assert {messages[0]["role"] for messages in asked} == {"system"}
    assert [len(messages) for messages in asked[:3]] == [2, 4, 6]  # each has the last ones in it
    assert asked[1][2] == {"role": "assistant", "content": STAY}


def test_everything_is_measured_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"EPISODES": 3, "STEPS": 2, "DELAY": 0.01}.items():
        monkeypatch.setattr(llm, name, value)
    monkeypatch.setattr(llm, "TASKS", ((TASK, STAY), ("piase/GridWorld-DoorKey-6x6-v*", STAY)))
    found = llm.measure_all(rounds=1, decisions=2)
    kinds = ("line", "yaml", "json")
    names = ("GridWorld-Empty-5x5", "GridWorld-DoorKey-6x6")
    assert list(found["costs"]) == [f"{name}, {kind}" for name in names for kind in kinds]
    ours, bare = found["rates"]["ours"][0], found["rates"]["bare"][0]
    assert found["ratio"] == ours / bare
    shown = {name: part.markdown() for name, part in llm.sections(found).items()}
    for name, cost in found["costs"].items():
        assert f"| {name} | {cost:.2f} |" in shown["cost"]
    assert f"| 3 episodes at once | {ours:.0f} |" in shown["rate"]
    assert f"| the client alone, 3 threads | {bare:.0f} |" in shown["rate"]
    assert "after 10 ms, so 300 a second is the most" in shown["rate"]
    assert found["machine"] in shown["rate"]
