"""Demonstrations of experts, as chats and as data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym import runs
from piase_gym.errors import ConfigError, LogWriteError


def chats(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_chat_can_be_played_again(tmp_path: Path) -> None:
    out = tmp_path / "chats.jsonl"
    assert runs.demonstrate("Household", out, episodes=3) == out
    found = chats(out)
    assert [chat["result"] for chat in found] == ["won"] * 3
    env = piase_gym.parallel_env("Household", view="text", wording="native", actions="text")
    for chat in found:
        system, first, *rest = chat["messages"]
        assert system == {"role": "system", "content": env.instructions("agent_0")}
        shown, _ = env.reset(seed=chat["seed"])
        assert first == {"role": "user", "content": shown["agent_0"]}
        total = 0.0
        for said, read in zip(rest[::2], [*rest[1::2], None], strict=True):
            assert said["role"] == "assistant"
            shown, rewards, *_ = env.step({"agent_0": said["content"]})
            total += rewards["agent_0"]
            assert read is None or read == {"role": "user", "content": shown["agent_0"]}
        assert not env.agents
        assert total == chat["return"] == 1.0


@pytest.mark.parametrize("world", ["TextRoom", "GridWorld"])
def test_every_world_has_chats(world: str, tmp_path: Path) -> None:
    out = tmp_path / "chats.jsonl"
    runs.demonstrate(world, out, episodes=2, policy="oracle", agents=2)
    assert {chat["agent"] for chat in chats(out)} == {"agent_0", "agent_1"}
    assert {message["role"] for chat in chats(out) for message in chat["messages"]} == {
        *("system", "user", "assistant")
    }
    with pytest.raises(LogWriteError):
        runs.demonstrate(world, out, episodes=1, policy="oracle")
    with pytest.raises(ConfigError, match="episodes"):
        runs.demonstrate(world, out, episodes=0)


def test_minari_has_the_places_of_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    ids = runs.demonstrate("Household", "piase/homes", episodes=2, format="minari")
    env = piase_gym.parallel_env("Household", view="vector")
    for number, episode in enumerate(minari.load_dataset(ids[0]).iterate_episodes()):
        shown, _ = env.reset(seed=0 if number == 0 else None)
        for action, before in zip(episode.actions, episode.observations, strict=False):
            assert (before == shown["agent_0"]).all()
            shown, *_ = env.step({"agent_0": int(action)})
        assert not env.agents
        assert episode.rewards.sum() == 1.0
