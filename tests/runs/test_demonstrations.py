"""Demonstrations of experts, as chats and as data sets."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import Simulation, runs
from piase_gym.agents import LLMAgent
from piase_gym.agents.llm import Prompt
from piase_gym.errors import (
    ClosedError,
    ConfigError,
    JobError,
    LogWriteError,
    UnknownNameError,
)
from piase_gym.jobs import InProcess
from piase_gym.runs import demonstrations, minari_export
from piase_gym.testing.model_server import ModelServer
from piase_gym.wrappers import AvtLogger


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


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_chats_are_the_same_from_any_number_of_workers(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what: dict[str, Any] = {"episodes": 7, "policy": "oracle", "agents": 2, "seed": 3}
    one, two, small = (tmp_path / f"{name}.{ending}" for name in ("one", "two", "small"))
    runs.demonstrate("TextRoom", one, **what)
    runs.demonstrate("TextRoom", two, workers=2, **what)
    monkeypatch.setattr(demonstrations, "MOST", 1)
    runs.demonstrate("TextRoom", small, **what)
    assert one.read_bytes() == two.read_bytes() == small.read_bytes()
    if ending == "jsonl":
        found = chats(one)
        env = piase_gym.parallel_env("TextRoom", agents=2)
        for number in range(7):
            env.reset(seed=3 if number == 0 else None)
            mine = [chat for chat in found if chat["seed"] == env.runner.seed]
            assert {chat["episode"] for chat in mine} == {number}
            assert len(mine) == 2


def test_datasets_are_the_same_from_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    found = []
    for workers in (1, 2):
        name = f"piase/by-{workers}"
        what: dict[str, Any] = {"episodes": 5, "policy": "oracle", "agents": 2}
        ids = runs.demonstrate("GridWorld", name, format="minari", workers=workers, **what)
        assert ids == [f"{name}/agent_0-v0", f"{name}/agent_1-v0"]
        found.append([minari.load_dataset(dataset) for dataset in ids])
        with pytest.raises(LogWriteError, match="there is a dataset"):
            runs.demonstrate("GridWorld", name, format="minari", **what)
    for one, two in zip(*found, strict=True):
        assert one.total_episodes == two.total_episodes == 5
        for left, right in zip(one.iterate_episodes(), two.iterate_episodes(), strict=True):
            for part in ("observations", "actions", "rewards", "terminations", "truncations"):
                assert np.array_equal(getattr(left, part), getattr(right, part))


def test_datasets_are_overwritten_when_all_new_ones_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    what: dict[str, Any] = {"format": "minari", "policy": "oracle", "agents": 2}
    ids = runs.demonstrate("GridWorld", "piase/kept", episodes=3, **what)
    storage, written = minari_export.new_storage, list[str]()

    def fail_at_the_second(folder: Path, dataset: str, *rest: Any) -> Any:
        written.append(dataset)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return storage(folder, dataset, *rest)

    with monkeypatch.context() as full:
        full.setattr(minari_export, "new_storage", fail_at_the_second)
        told = "the dataset piase/kept/agent_1-v0 cannot be written: No space left on device"
        with pytest.raises(LogWriteError, match=told):
            runs.demonstrate("GridWorld", "piase/kept", episodes=1, overwrite=True, **what)
    assert written == ids == list(minari.list_local_datasets())
    assert [minari.load_dataset(dataset).total_episodes for dataset in ids] == [3, 3]
    assert ids == runs.demonstrate("GridWorld", "piase/kept", episodes=2, overwrite=True, **what)
    assert [minari.load_dataset(dataset).total_episodes for dataset in ids] == [2, 2]
    folder = tmp_path / "piase" / "kept"
    assert {path.name for path in folder.iterdir()} == {
        *("agent_0-v0", "agent_1-v0", "namespace_metadata.json")
    }
    shutil.rmtree(folder / "agent_1-v0" / "data")
    with pytest.raises(LogWriteError, match="agent_1-v0 is no dataset; give another name"):
        runs.demonstrate("GridWorld", "piase/kept", episodes=1, overwrite=True, **what)
    assert minari.load_dataset(ids[0]).total_episodes == 2


def test_an_old_dataset_is_put_back_where_the_new_one_cannot_take_its_place(tmp_path: Path) -> None:
    old = tmp_path / "agent_0-v0"
    old.mkdir()
    with pytest.raises(FileNotFoundError):
        minari_export._put(tmp_path / "scratch" / "agent_0-v0", old)
    (tmp_path / "scratch").mkdir()
    with pytest.raises(FileNotFoundError):
        minari_export._put(tmp_path / "scratch" / "agent_0-v0", old)
    assert old.is_dir()


def test_a_table_of_events_is_written_of_one_log(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format='csv' is written of one log, by workers=1"):
        runs.demonstrate("GridWorld", tmp_path / "a.csv", format="csv", episodes=2, workers=2)
    assert runs.demonstrate("GridWorld", tmp_path / "a.csv", format="csv", episodes=2).exists()


def test_workers_are_asked_for_when_all_is_right_and_left_in_any_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watched(InProcess):
        def close(self) -> None:
            closed.append(True)

    closed, asked = list[bool](), list[Any]()

    def choose(*who: Any, **_: Any) -> Watched:
        asked.append(who)
        return Watched()

    monkeypatch.setattr(demonstrations, "choose_backend", choose)
    out = tmp_path / "a.jsonl"
    for wrong in ({"policy": "nobody"}, {"width": 0}, {"format": "csv"}):
        with pytest.raises((ConfigError, UnknownNameError)):
            runs.demonstrate("GridWorld", out, episodes=2, ray="auto", **wrong)
    assert not asked
    out.write_text("")
    with pytest.raises(LogWriteError):
        runs.demonstrate("GridWorld", out, episodes=2, ray="auto")
    assert (asked, closed) == ([(1, "auto")], [True])


def test_no_log_stays_open_where_an_expert_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Any] = []

    def fail(env: Any, *_: Any) -> None:
        played.append(env)
        raise ValueError("no idea")

    monkeypatch.setattr(demonstrations, "act_all", fail)
    with pytest.raises(JobError, match="no idea"):
        runs.demonstrate("GridWorld", tmp_path / "out.jsonl", episodes=1)
    with pytest.raises(ClosedError):
        played[0].reset()


def test_a_seed_may_be_of_numpy(tmp_path: Path) -> None:
    one, other = (
        runs.demonstrate(
            "GridWorld", tmp_path / f"{kind.__name__}.jsonl", episodes=2, seed=kind(913)
        )
        for kind in (np.int64, int)
    )
    assert Path(one).read_bytes() == Path(other).read_bytes()  # type: ignore[arg-type]


def test_episodes_and_workers_may_be_counted_by_numpy(tmp_path: Path) -> None:
    out, two, one = tmp_path / "a.csv", np.int64(2), np.int64(1)
    runs.demonstrate("GridWorld", out, episodes=two, workers=one, format="csv")  # type: ignore[arg-type]
    assert out.exists()
    for wrong in (0, True, 1.0, "2"):
        with pytest.raises(ConfigError, match=f"episodes is an integer from 1 on, not {wrong!r}"):
            runs.demonstrate("GridWorld", out, episodes=wrong)  # type: ignore[arg-type]


def test_what_is_wrong_is_told_before_anybody_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong in ({"policy": "nobody"}, {"workers": 0}, {"width": 0}):
        with pytest.raises((ConfigError, UnknownNameError)):
            runs.demonstrate("GridWorld", tmp_path / "a.jsonl", episodes=2, **wrong)
    kept = tmp_path / "kept.csv"
    kept.write_text("kept")
    monkeypatch.setattr(demonstrations, "_play", lambda *_: pytest.fail("somebody played"))
    monkeypatch.setattr(demonstrations, "run_jobs", lambda *_: pytest.fail("somebody played"))
    with pytest.raises(ConfigError, match=r"unknown format 'cvs'; did you mean 'csv'\?"):
        runs.demonstrate("GridWorld", tmp_path / "a.csv", format="cvs")
    with pytest.raises(ConfigError, match=r"only JSON Lines are written as \.gz"):
        runs.demonstrate("GridWorld", tmp_path / "a.csv.gz", format="csv")
    with pytest.raises(LogWriteError, match=r"kept\.csv exists; give another name"):
        runs.demonstrate("GridWorld", kept, format="csv")
    for seed in (-1, 1.5, True, "x", 1 << 63):
        with pytest.raises(ConfigError, match="is not allowed; seeds are integers"):
            runs.demonstrate("GridWorld", tmp_path / "a.jsonl", seed=seed)  # type: ignore[arg-type]
    assert kept.read_text() == "kept"
    kept.unlink()
    with pytest.raises(ConfigError, match="played with view='vector', not 'text'"):
        runs.demonstrate("GridWorld", tmp_path / "a.jsonl", view="text")
    assert not [*tmp_path.iterdir()]


def test_chats_are_what_a_model_is_told(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    prompt = Prompt("Walk, $agent. $instructions $answering", commands=False)
    for world in ("GridWorld", "Household"):
        out = tmp_path / f"{world}.jsonl"
        runs.demonstrate(world, out, episodes=1, prompt=prompt)
        (chat,) = chats(out)
        lines = [message["content"] for message in chat["messages"][2::2]]
        with ModelServer(lines) as server:
            settings = {"prompt": prompt.template, "commands": False, "history": "full"}
            agent = LLMAgent("m", server.base_url, **settings)
            log = tmp_path / f"{world}-log.jsonl"
            wrap = (lambda env, log=log: AvtLogger(env, log),)
            Simulation(world, agent, seed=0, wrap=wrap).run()
            asked = server.requests[-1]["messages"]
        assert chat["messages"] == [*asked, {"role": "assistant", "content": lines[-1]}]
        assert chat["messages"][0]["content"].startswith("Walk, agent_0. You are")
        runs.export(log, out, format="chat", overwrite=True, prompt=Prompt("Nobody."))
        assert chats(out)[0]["messages"] == chat["messages"]  # a model's own prompts stay


def test_prompts_are_for_chats_of_lines(tmp_path: Path) -> None:
    for prompt, name in ((Prompt(answer="json"), "a.jsonl"), ("Walk.", "a.jsonl")):
        with pytest.raises(ConfigError, match="prompt is a Prompt"):
            runs.demonstrate("GridWorld", tmp_path / name, episodes=1, prompt=prompt)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="goes with format='chat'"):
        runs.demonstrate("GridWorld", tmp_path / "a.csv", format="csv", prompt=Prompt())
