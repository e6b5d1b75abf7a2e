"""Chats of runs: masks, the replies of language models, and pairs out of forks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import Simulation, runs
from piase_gym.agents import LLMAgent
from piase_gym.core.commands import Command
from piase_gym.errors import LogWriteError, RunError
from piase_gym.runs import chat_export
from piase_gym.runs.chat_export import transcripts
from piase_gym.testing.model_server import ModelServer, Say
from piase_gym.wrappers import AvtLogger
from tests.helpers.cli_runner import piase

ROOM = {"width": 4, "height": 2, "start_pos": (0, 0), "goal_pos": (2, 0), "max_steps": 9}


def played(log: Path, agent: Any) -> runs.Run:
    """Log an episode in a corridor whose goal is two cells to the right."""
    Simulation("GridWorld", agent, seed=0, wrap=(lambda env: AvtLogger(env, log),), **ROOM).run()
    return runs.read(log)


@pytest.mark.parametrize(
    "command",
    [
        Command("fly"),
        Command("move", None),  # type: ignore[arg-type]  # what json.loads makes of a model's "null"
        Command("move", ["east"]),  # type: ignore[arg-type]
        Command("move", {"direction": float("nan")}),
    ],
)
def test_a_call_of_a_tool_that_is_no_command_costs_a_step_and_is_logged(
    command: Command, tmp_path: Path
) -> None:
    log = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld", actions="text", **ROOM), log)
    env.reset(seed=0)
    *_, infos = env.step({"agent_0": command})
    assert infos["agent_0"]["outcome"] == "unparsable"
    assert infos["agent_0"]["feedback"]
    env.step({"agent_0": Command("walk", {"direction": "east"})})
    env.close()
    assert runs.replay(log).ok
    (chat,) = transcripts(runs.read(log))
    said = [m["content"] for m in chat["messages"] if m["role"] == "assistant"]
    assert said == ["", "move east"]


def test_half_a_character_from_a_model_is_logged_as_it_was_shown(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    room = piase_gym.parallel_env("TextRoom", agents=2, view="text", actions="text")
    env = AvtLogger(room, log, level="full")
    env.reset(seed=0)
    env.step({"agent_0": Command("say", {"message": "hi \ud83d"}), "agent_1": "say \ud83d"})
    env.close()
    assert runs.replay(log).ok


def test_a_models_own_words_stand_in_its_chat(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    answers = ["I fly.", "Action: move east", Say("no", status=400), "move east"]
    with ModelServer(answers) as server:
        agent = LLMAgent("m", server.base_url, prompt="Walk, $agent. $answering", history="full")
        run = played(tmp_path / "run.jsonl", agent)
        asked = [request["messages"] for request in server.requests]
    (chat,) = transcripts(run)
    said = [(m["role"], m["content"]) for m in chat["messages"]]
    assert [role for role, _ in said] == ["system", *["user", "assistant"] * 4]
    assert [text for role, text in said if role == "assistant"] == [
        "I fly.",
        "Action: move east",
        "",
        "move east",
    ]
    assert said[0][1] == asked[0][0]["content"]
    assert said[0][1].startswith("Walk, agent_0. Answer with one line")
    assert said[1][1] == asked[0][1]["content"]
    assert said[3][1] == asked[1][-1]["content"]
    assert "could not be read" in said[3][1]
    assert said[-2][1] == asked[-1][-1]["content"]
    assert chat["mask"] == [0, 0, 1, 0, 1, 0, 0, 0, 1]
    assert chat["outcomes"] == ["unparsable", "ok", "refused", "ok"]
    assert sum(chat["rewards"]) == pytest.approx(chat["return"])
    assert chat["rewards"][0] == 0.0
    assert chat["rewards"][2] < 0.0 < chat["rewards"][3]
    assert chat["result"] == "won"


def test_only_what_led_to_a_step_is_an_answer(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    answers = ["stay", "stay", "I stayed.", "move east", "I moved.", "move east"]
    with ModelServer(answers) as server:  # asked for summaries before the third step and the fourth
        run = played(tmp_path / "run.jsonl", LLMAgent("m", server.base_url, history="summary:1"))
    (chat,) = transcripts(run)
    said = [m["content"] for m in chat["messages"] if m["role"] == "assistant"]
    assert said == [answers[place] for place in (0, 1, 3, 5)]
    assert chat["mask"] == [0, *[0, 1] * 4]
    log = tmp_path / "other.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld"), log)
    env.reset(seed=0)
    prompt = [{"role": "user", "content": "Go."}]
    reply = {"kind": "decision", "messages": prompt, "text": "I fly.", "outcome": "unparsable"}
    runs.log(env, "LLM_REPLY_RECEIVED", reply, "agent_0")
    env.reset(seed=0)  # the step never came
    env.step({"agent_0": 4})
    env.close()
    (chat,) = transcripts(runs.read(log))
    assert chat["messages"][2]["content"] == "stay"


@pytest.mark.filterwarnings("ignore:LLMAgent has no act_batch")
@pytest.mark.parametrize("name", ["run.jsonl", "run.arrow"])
def test_a_partner_in_a_batch_has_its_own_words_in_each_slot(tmp_path: Path, name: str) -> None:
    pytest.importorskip("openai")
    if name.endswith("arrow"):
        pytest.importorskip("pyarrow")
    words = iter(f"Turn {n}.\nAction: stay" for n in range(4))
    with ModelServer(lambda _: next(words)) as server:
        partners = {"agent_1": LLMAgent("m", server.base_url)}
        env = piase_gym.batch_env("GridWorld", num_envs=2, agents=2, partners=partners)
        runs.record(env, tmp_path / name)
        env.reset(seed=0)
        for _ in range(2):
            env.step(np.zeros((2, 1), np.int32))
        env.close()
    run = runs.read(tmp_path / name)
    assert runs.replay(tmp_path / name).ok
    said = [
        [m["content"][:7] for m in chat["messages"] if m["role"] == "assistant"]
        for chat in transcripts(run)
        if chat["agent"] == "agent_1"
    ]
    assert said == [["Turn 0.", "Turn 2."], ["Turn 1.", "Turn 3."]]
    again = LLMAgent.recorded(run, "agent_1")
    assert again.replies is not None
    assert len(again.replies) == 4


def test_masks_cover_what_the_player_wrote(tmp_path: Path) -> None:
    (chat,) = transcripts(played(tmp_path / "run.jsonl", "oracle"))
    wrote = [m["content"] for m, own in zip(chat["messages"], chat["mask"], strict=True) if own]
    assert wrote == ["move east", "move east"]
    assert len(chat["outcomes"]) == len(chat["rewards"]) == 2


def test_an_episode_that_goes_on_has_no_result(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    wrap = (lambda env: AvtLogger(env, log),)
    Simulation("GridWorld", "oracle", seed=0, wrap=wrap, **{**ROOM, "max_steps": 1}).run()
    out = runs.export(log, tmp_path / "chats.jsonl", format="chat")
    (line,) = Path(str(out)).read_text("utf-8").splitlines()
    chat = json.loads(line)
    assert [message["role"] for message in chat["messages"]] == ["system", "user", "assistant"]
    assert chat["mask"] == [0, 0, 1]
    assert chat["result"] is None
    assert list(transcripts(runs.read(log))) == [chat]


def test_episodes_that_were_broken_off_have_no_result(tmp_path: Path) -> None:
    """A budget of steps, or a reset, breaks off each episode; only a restore is of no use."""
    log = tmp_path / "run.jsonl"
    wrap = (lambda env: AvtLogger(env, log),)
    simulation = Simulation("GridWorld", "oracle", seed=0, wrap=wrap, **{**ROOM, "max_steps": 1})
    simulation.run(episodes=3)
    told = [(chat["episode"], chat["result"], chat["mask"]) for chat in transcripts(runs.read(log))]
    assert told == [(episode, None, [0, 0, 1]) for episode in range(3)]
    env = AvtLogger(piase_gym.parallel_env("GridWorld"), tmp_path / "other.jsonl")
    env.reset(seed=0)
    saved = env.unwrapped.snapshot()
    for _ in range(2):
        env.step({"agent_0": 4})
    env.unwrapped.restore(saved)
    env.step({"agent_0": 4})
    env.reset(seed=1)
    env.close()
    (chat,) = transcripts(runs.read(tmp_path / "other.jsonl"))
    assert len(chat["outcomes"]) == 1


def test_who_enters_late_has_a_chat_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld", agents=2, join_at=(0, 3), max_steps=6), log)
    for seed in (4, 5):
        env.reset(seed=seed)
        while env.agents:
            env.step(dict.fromkeys(env.agents, 4))
    env.close()
    chats = list(transcripts(runs.read(log)))
    told = [(c["agent"], c["episode"], c["seed"], len(c["rewards"])) for c in chats]
    assert told == [(n, e, 4 + e, k) for e in (0, 1) for n, k in (("agent_0", 6), ("agent_1", 3))]
    for chat in chats:
        got = [
            event["event_data"]["rewards"].get(chat["agent"], 0.0)
            for event in runs.read(log).steps()
            if event["episode"] == chat["episode"]
        ]
        assert chat["return"] == pytest.approx(sum(got))  # Python 3.12 rounds sums otherwise


def test_a_fork_makes_a_pair(tmp_path: Path) -> None:
    run = played(tmp_path / "run.jsonl", "oracle")
    runs.fork(run, 1, actions={"agent_0": "move left"}, logs=tmp_path / "forks")
    place = runs.preferences(tmp_path / "forks", tmp_path / "pairs.jsonl")
    (line,) = place.read_text("utf-8").splitlines()
    pair = json.loads(line)
    (chat,) = transcripts(run)
    assert pair["prompt"] == [chat["messages"][0], chat["messages"][3]]
    assert pair["chosen"] == [{"role": "assistant", "content": "move east"}]
    assert pair["rejected"] == [{"role": "assistant", "content": "move west"}]
    assert pair["chosen_return"] > pair["rejected_return"]
    with pytest.raises(LogWriteError):
        runs.preferences(tmp_path / "forks", place)
    packed = runs.preferences(tmp_path / "forks", tmp_path / "pairs.jsonl.gz")
    assert gzip.decompress(packed.read_bytes()).decode().splitlines() == [line]
    for log in (tmp_path / "forks").rglob("*.jsonl"):
        with pytest.raises(LogWriteError, match="is the log itself"):
            runs.preferences(tmp_path / "forks", log, overwrite=True)
    out = tmp_path / "again.jsonl"
    argv = ["export", str(tmp_path / "forks"), str(out), "--format", "preferences"]
    assert piase(*argv).returncode == 0
    assert out.read_text("utf-8").splitlines() == [line]


def test_a_model_goes_on_from_a_cut(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    run = played(tmp_path / "run.jsonl", "oracle")
    with ModelServer(["I hope.\nAction: move east"]) as server:
        agent = LLMAgent("m", server.base_url, history="full")
        change = {"agent_0": "move left"}
        runs.fork(run, 1, actions=change, players={"agent_0": agent}, logs=tmp_path / "forks")
        first = server.requests[0]["messages"]
    roles = [message["role"] for message in first]
    assert roles == ["system", "user", "assistant", "user"]  # nothing was asked before the cut
    assert first[2]["content"] == "move east"
    assert "Last step: move east; ok;" in first[3]["content"]
    place = runs.preferences(tmp_path / "forks", tmp_path / "pairs.jsonl")
    (line,) = place.read_text("utf-8").splitlines()
    pair = json.loads(line)
    assert pair["prompt"] == first  # with the steps before the cut, as the model was asked
    (log,) = (tmp_path / "forks").rglob("before.jsonl")
    (chat,) = transcripts(runs.read(log))
    assert chat["messages"][:-1] == first
    assert chat["mask"] == [0, 0, 0, 0, 1]
    assert [*zip(chat["outcomes"], chat["rewards"], strict=True)] == [("", 0.0), ("ok", 10.0)]
    assert pair["chosen"] == [{"role": "assistant", "content": "I hope.\nAction: move east"}]
    assert pair["rejected"] == [{"role": "assistant", "content": "move west"}]


@pytest.mark.parametrize("better", ["newcomer", "player"])
def test_a_newcomer_makes_a_pair_without_the_steps_before(better: str, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    run = played(tmp_path / "run.jsonl", "oracle")
    answers = ["Action: move west", "Action: move east"]
    with ModelServer(answers if better == "newcomer" else answers[::-1]) as server:
        agent = LLMAgent("m", server.base_url, history="full")
        fork = {"players": {"agent_0": agent}, "policies": {"agent_0": agent.twin(repeat=1)}}
        runs.fork(run, 1, logs=tmp_path / "forks", steps=1, **fork)
        asked = [request["messages"] for request in server.requests]
    assert [len(messages) for messages in asked] == [4, 2]
    place = runs.preferences(tmp_path / "forks", tmp_path / "pairs.jsonl")
    (line,) = place.read_text("utf-8").splitlines()
    pair = json.loads(line)
    assert pair["prompt"] == asked[1] == [asked[0][0], asked[0][-1]]
    assert pair["chosen"] == [{"role": "assistant", "content": "Action: move east"}]
    assert pair["rejected"] == [{"role": "assistant", "content": "Action: move west"}]


def test_pairs_come_in_the_order_of_the_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = [f"agent_{number}" for number in range(12)]

    def chats(log: Path) -> list[dict[str, Any]]:
        said = [{"role": "assistant", "content": log.name}]
        value = float(log.name == "after.jsonl")
        more = {"messages": said, "return": value, "seed": 0, "outcomes": ["ok"]}
        return [{"agent": n, **more} for n in agents]

    monkeypatch.setattr(chat_export, "read", lambda log: log)
    monkeypatch.setattr(chat_export, "transcripts", chats)
    assert [pair["agent"] for pair in chat_export._pairs(tmp_path)] == agents


def test_what_makes_no_pair(tmp_path: Path) -> None:
    run = played(tmp_path / "run.jsonl", "oracle")
    runs.fork(run, 1, actions={"agent_0": "move east"}, logs=tmp_path / "same")
    runs.fork(run, 1, hints={"agent_0": "Go left."}, logs=tmp_path / "hint")
    # other words of the same worth
    runs.fork(run, 0, actions={"agent_0": "move down"}, logs=tmp_path / "equal", steps=1)
    later = {"agent_0": {2: "move left"}}  # the hint is read before that
    runs.fork(run, 0, hints={"agent_0": "Go."}, actions=later, logs=tmp_path / "read", steps=2)
    for name in ("same", "hint", "equal", "read"):
        out = runs.preferences(tmp_path / name, tmp_path / f"{name}.jsonl")
        assert out.read_text("utf-8") == ""
    argv = [str(tmp_path / "same"), str(tmp_path / "none.jsonl"), "--format", "preferences"]
    assert "no branches make a pair: returns are the same" in piase("export", *argv).stdout
    with pytest.raises(RunError, match="no branches"):
        runs.preferences(tmp_path / "nothing", tmp_path / "pairs.jsonl")
