"""``piase bench llm``, against a server on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from piase_gym.agents import LLMAgent
from piase_gym.agents.llm import Budget, ReplyFile
from piase_gym.benchmarks.evaluation import language_models
from piase_gym.benchmarks.evaluation.evaluate import evaluate
from piase_gym.benchmarks.evaluation.language_models import (
    Point,
    Trace,
    at_budget,
    evaluate_model,
    player,
    trace,
    transcript_text,
)
from piase_gym.benchmarks.evaluation.policies import read_policy
from piase_gym.benchmarks.evaluation.report import write_report
from piase_gym.benchmarks.evaluation.statistics import share_interval
from piase_gym.benchmarks.evaluation.suites import read_suite
from piase_gym.errors import ConfigError
from piase_gym.testing.model_server import ModelServer, Request, Say, first_command
from tests.helpers.cli_runner import piase

pytest.importorskip("openai")
TASK = "piase/GridWorld-DoorKey-6x6-v1"
EVIL = "</pre><script>alert(1)</script>"


def answer(request: Request) -> str:
    """Walk about; in a second repeat, which has another temperature of its own, likewise."""
    return f"<think>{EVIL}</think>\nAction: {first_command(request)}"


def model_of(server: ModelServer, **settings: Any) -> LLMAgent:
    return LLMAgent("small", server.base_url, retries=0, history="last:1", **settings)


def test_a_model_is_played_thrice_resumed_and_reported(tmp_path: Path) -> None:
    given: dict[str, Any] = {"episodes": 2, "repeats": 2, "out": tmp_path, "split": "dev"}
    with ModelServer(answer) as server:
        first = model_of(server, budget=Budget(tokens=150_000))
        results = evaluate_model(first, TASK, beside=("random",), concurrency=4, **given)
        assert not results.complete  # the budget is used up
        assert first.budget.usage.tokens <= 150_000
        row = results.row(TASK, "llm:small")
        assert all("the budget of 150000 tokens is used up" in fault for fault in row.faults)
        asked = len(server.requests)
        second = model_of(server, budget=Budget(prices=(1.0, 2.0)))
        results = evaluate_model(second, TASK, beside=("random", "scripted"), **given)
        assert results.complete
        again = len(server.requests) - asked
        assert again == second.budget.usage.calls > 0
        evaluate_model(model_of(server), TASK, beside=("scripted",), **given)
        assert len(server.requests) == asked + again  # nothing is asked twice
    row = results.row(TASK, "llm:small")
    assert (row.runs, row.episodes) == (2, 4)
    assert row.score is not None
    kept = ReplyFile(tmp_path / "replies.jsonl")
    assert len(kept) == asked + again
    told = json.loads((tmp_path / "results.json").read_text("utf-8"))["llm"]
    assert told["prompt_id"] == second.prompt.id
    assert (
        told["usage"]["calls"] == len(kept) == sum(e.steps for e in results.of(TASK, "llm:small"))
    )
    final = [row for row in told["progress"] if row["policy"] == "llm:small"]
    assert final[-1]["value"]["estimate"] == pytest.approx(row.value[0] if row.value else None)
    html = write_report(tmp_path)[1].read_text("utf-8")
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "Progress by tokens" in html
    assert "You are agent_0 in GridWorld" in html


def test_progress_is_told_at_equal_budgets(tmp_path: Path) -> None:
    points = [Point(0, 0, 0.0, 0.0), Point(1, 90, -1.0, 0.0), Point(2, 210, 9.0, 1.0)]
    assert [at_budget(points, budget, "steps").value for budget in (0, 1, 2, 50)] == [0, -1, 9, 9]
    assert [at_budget(points, n, "tokens").won for n in (0, 89, 209, 210)] == [0, 0, 0, 1]
    with ModelServer(answer) as server:
        replies = ReplyFile(tmp_path / "replies.jsonl")
        policy = player(model_of(server), 0, replies, Budget())
        setting = read_suite(TASK).settings("dev")[0][0]
        live = trace(setting, policy, 1_000_000)
        asked = list(server.requests)
        replies.offline = True
        offline = trace(setting, policy, 1_000_000)
        assert len(server.requests) == len(asked)
    assert live == offline
    steps = [point.steps for point in live.points]
    assert steps == list(range(len(asked) + 1))
    used = [sum(len(m["content"]) for m in r["messages"]) // 4 for r in asked]
    tokens = [b.tokens - a.tokens for a, b in zip(live.points, live.points[1:], strict=False)]
    assert all(0 < t - u < 60 for t, u in zip(tokens, used, strict=True))
    (calls,) = live.calls.values()
    shown = [{"told": c["messages"], "answered": c["text"], "outcome": "ok"} for c in calls]
    text = transcript_text({"calls": [{"thinking": "", "why": "", **call} for call in shown]})
    assert text.count("--- model, ") == len(asked)
    shown[0]["answered"] = "\x1b[2Jgo\u202e"
    text = transcript_text({"calls": [{"thinking": "\x07", "why": "\x00", **shown[0]}]})
    assert text.endswith("(ok: )\ngo\n")


def test_what_calls_took_is_counted_as_when_they_were_made() -> None:
    agent = LLMAgent("small", "http://127.0.0.1:1/v1", budget=Budget(prices=(1.0, 2.0)))
    calls: list[dict[str, Any]] = [
        {
            "outcome": "ok",
            "text": "go",
            "prompt_tokens": 10,
            "completion_tokens": 3,
            "seconds": 0.5,
        },
        {"outcome": "unreadable", "text": "?", "prompt_tokens": 20, "estimated": True},
        {"outcome": "failed", "seconds": 1.0},
    ]
    found = language_models._usage(calls, agent)
    assert (found.calls, found.failures, found.unreadable, found.estimated) == (3, 1, 1, 1)
    assert (found.prompt_tokens, found.completion_tokens, found.seconds) == (30, 3, 1.5)
    assert found.cost == pytest.approx(agent.budget.price(30, 3))
    assert found.cost > 0.0


def test_progress_is_told_up_to_the_longest_episode() -> None:
    def played(*points: tuple[int, int, float, float]) -> Trace:
        return Trace(tuple(Point(*point) for point in points), {})

    slow = played((0, 0, 0.0, 0.0), (1, 90, -1.0, 0.0), (2, 190, -2.0, 0.0), (3, 290, 9.0, 1.0))
    fast = played((0, 0, 0.0, 0.0), (1, 150, 5.0, 1.0))
    rows = language_models._progress("a", "m", [[slow], [fast]])
    assert all((row["setting"], row["policy"]) == ("a", "m") for row in rows)
    told = [
        (name, row[name], row["won"]["estimate"], row["value"]["estimate"])
        for row in rows
        for name in ("steps", "tokens")
        if name in row
    ]
    assert told == [
        ("steps", 1, 0.5, 2.0),
        ("steps", 2, 0.5, 1.5),
        ("steps", 3, 1.0, 7.0),
        ("tokens", 100, 0.0, -0.5),
        ("tokens", 200, 0.5, 1.5),
        ("tokens", 290, 1.0, 7.0),
    ]
    assert rows[0]["won"] == share_interval([[0.0], [1.0]])._asdict()
    rules = played((0, 0, 0.0, 0.0), (1, 0, 1.0, 1.0))
    assert [row["steps"] for row in language_models._progress("a", "random", [[rules]])] == [1]
    assert language_models._progress("a", "m", []) == []


def test_a_transcript_says_what_was_told_answered_and_wrong() -> None:
    told = [{"role": "user", "content": "Go on."}]
    calls = [
        {"messages": told, "text": "left", "outcome": "ok", "thinking": "Hm."},
        {"messages": told, "command": "stay", "outcome": "failed", "told": "down"},
        {"messages": told, "outcome": "failed"},
    ]
    trace_of = Trace((), {"x": calls, "y": []})
    first, second = language_models._transcripts("a", 7, trace_of, {"x": "won"})
    assert (first["setting"], first["seed"], first["agent"], first["result"]) == (
        "a",
        7,
        "x",
        "won",
    )
    found = [(c["thinking"], c["answered"], c["outcome"], c["why"]) for c in first["calls"]]
    assert found == [
        ("Hm.", "left", "ok", ""),
        ("", "stay", "failed", "down"),
        ("", "", "failed", ""),
    ]
    assert all(call["told"] == told for call in first["calls"])
    assert (second["agent"], second["result"], second["calls"]) == ("y", "", [])


def test_trouble_of_a_server_is_no_play_of_the_model(tmp_path: Path) -> None:
    with ModelServer([Say("down", status=500)]) as server:
        policy = read_policy(model_of(server, on_failure="raise"))
        results = evaluate(policy, TASK, episodes=1, out=tmp_path)
    (row,) = results.rows
    assert row.score is None
    assert "answered 500: down" in next(iter(row.faults))
    with ModelServer([Say("stay")]) as server:
        name = f"llm:small@{server.base_url}"
        (row,) = evaluate(name, TASK, episodes=1, split="dev").rows
    assert row.policy == name
    assert row.outcomes == {"ok": 1.0}
    assert read_policy(name).fingerprint == read_policy("llm:small@http://other").fingerprint
    assert read_policy(name).waits


def recalls(text: str) -> list[str]:
    return [text]


def recalls_nothing(text: str) -> list[str]:
    return []


def test_models_with_other_memories_are_other_policies(tmp_path: Path) -> None:
    told = []
    for memories in (None, recalls, recalls_nothing, recalls):
        agent = LLMAgent("small", "http://127.0.0.1:1/v1", memories=memories)
        one = read_policy(agent).fingerprint
        assert one == agent.fingerprint
        assert player(agent, 0, ReplyFile(tmp_path / "replies.jsonl"), Budget()).fingerprint == one
        told.append(one)
    assert len(set(told)) == 3
    assert told[1] == told[3]


def test_bad_arguments(tmp_path: Path) -> None:
    agent = LLMAgent("small", "http://127.0.0.1:1/v1")
    with pytest.raises(ConfigError, match="repeats"):
        evaluate_model(agent, TASK, out=tmp_path, repeats=0)
    with pytest.raises(ConfigError, match="concurrency"):
        evaluate_model(agent, TASK, out=tmp_path, concurrency=0)


def test_the_command_line(tmp_path: Path) -> None:
    key = "sk-of-mine-123456789"
    with ModelServer(first_command, key=key) as server:
        words = ["bench", "llm", "--model", "small", "--base-url", server.base_url, "-n", "1"]
        words += ["--task", "piase/Household-Easy-v4", "--repeats", "1", "--out", str(tmp_path)]
        done = piase(*words, "--key-env", "MY_KEY", "--beside", "scripted", MY_KEY=key)
        assert done.returncode == 0, done.stderr
        assert "prompt default-" in done.stdout
        run = ["run", "lost_key", "--agent", f"llm:small@{server.base_url}", "--tokens", "3000"]
        log = tmp_path / "run.jsonl"
        done = piase(*run, "--key-env", "MY_KEY", "--log", str(log), "--max-steps", "4", MY_KEY=key)
        assert done.returncode == 0, done.stderr
        assert f"llm:small@{server.base_url}: " in done.stdout
        assert "calls" in done.stdout
        down = piase(
            "run", "lost_key", "--agent", "llm:m@http://127.0.0.1:9/v1", "--max-steps", "1"
        )
        assert "127.0.0.1:9/v1 cannot be reached" in " ".join(down.stdout.split())
        wrong = piase(*run, "--key-env", key)
        assert wrong.returncode == 1 or wrong.returncode == 2
        assert key not in wrong.stdout + wrong.stderr
        lacking = piase(*run, "--key-env", "NO_SUCH_KEY")
        assert "NO_SUCH_KEY has no key" in lacking.stderr
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes()
    assert piase("replay", str(log)).returncode == 0
