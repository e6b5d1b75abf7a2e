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
