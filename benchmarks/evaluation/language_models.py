"""``piase bench llm``: how well a language model plays, what it costs, and what it said.

A model plays every episode several times with one prompt. Every reply is kept, so a benchmark that
was interrupted, or that used up its budget, continues where it stopped; and what the report shows
(progress by step and by token, transcripts) comes from playing once more with the kept replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.agents import LLMAgent
from piase_gym.agents.llm import Budget, ReplyFile, Usage
from piase_gym.benchmarks.evaluation import tables
from piase_gym.benchmarks.evaluation.evaluate import RESULTS, Progress, SuiteLike, evaluate
from piase_gym.benchmarks.evaluation.policies import Policy, read_policies
from piase_gym.benchmarks.evaluation.results import Results, read_sections
from piase_gym.benchmarks.evaluation.rollout import EpisodeMetrics, Job, SeatedWorld, play_one
from piase_gym.benchmarks.evaluation.statistics import Interval, mean_interval, share_interval
from piase_gym.benchmarks.evaluation.suites import Setting, Suite, read_suite
from piase_gym.core.answers import plain
from piase_gym.core.files import write_json
from piase_gym.errors import require_count

TASKS = (
    "piase/GridWorld-DoorKey-6x6-v*",
    "piase/TextRoom-Quest-Easy-v*",
    "piase/Household-Easy-v*",
)
"""What is played by default: one task of each kind that can be done in words."""
BESIDE = ("random", "scripted", "oracle")
"""Policies that play the same episodes: chance, rules that know what the model knows, an oracle."""
REPEATS = 3
REPLIES = "replies.jsonl"
SECTION = "llm"
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
TOKENS = tuple(base * 10**power for power in range(2, 7) for base in (1, 2, 5))
"""Budgets per episode at which progress is reported, as far as any episode goes."""
SHOWN = 12
"""The largest number of transcripts in a report."""


@dataclass(frozen=True)
class Point:
    """How far an episode was after some steps, as means and sums over the focal agents.

    Attributes:
        steps: Steps.
        tokens: Tokens of all prompts and answers.
        value: The mean return so far.
        won: The share of focal agents that have won.
    """

    steps: int
    tokens: int
    value: float
    won: float


@dataclass(frozen=True)
class Trace:
    """An episode that was played once more.

    Attributes:
        points: How far it was at its start and after every step.
        calls: The calls of each focal language model, in the form that logs have.
    """

    points: tuple[Point, ...]
    calls: Mapping[str, Sequence[Mapping[str, Any]]]


def evaluate_model(
    agent: LLMAgent,
    suite: SuiteLike = TASKS,
    *,
    out: str | Path,
    repeats: int = REPEATS,
    episodes: int | None = None,
    split: str | None = None,
    concurrency: int = 16,
    beside: Sequence[str] = BESIDE,
    budget: Budget | None = None,
    progress: Progress | None = None,
    workers: int = 1,
    ray: str | None = None,
    modules: Sequence[str] = (),
) -> Results:
    """Play a suite with a language model, and with the policies it is compared with.

    Args:
        agent: The model, and how it is prompted.
        suite: As for `evaluate`.
        out: The folder of results and of all replies; a later call continues there.
        repeats: How often every episode is played; intervals are over seeds and repeats.
        episodes: Number of seeds per task.
        split: The split of the seeds.
        concurrency: How many episodes are played at once.
        beside: Policies that play the same episodes once.
        budget: The budget of all calls together; replies that are there already cost nothing.
        progress: Called after every episode.
        workers: Number of processes for the other policies; the model is called from this one.
        ray: The address of a Ray cluster that plays the other policies.
        modules: Modules that workers import first.

    Returns:
        The results. Episodes that lack a reply are among their faults, and are played by the next
        call.

    Raises:
        ConfigError: If an argument is not allowed.
        StorageError: If the folder cannot be written to.
    """
    repeats = require_count("repeats are a positive integer", repeats)
    agent.check()
    chosen = read_suite(suite) if not isinstance(suite, tuple) else _suite(suite)
    replies = ReplyFile(Path(out) / REPLIES)
    spent = agent.budget if budget is None else budget
    runs = [player(agent, repeat, replies, spent) for repeat in range(repeats)]
    policies: dict[str, Any] = {runs[0].name: runs, **{name: name for name in beside}}
    results = evaluate(
        policies,
        chosen,
        episodes=episodes,
        split=split,
        out=out,
        concurrency=concurrency,
        progress=progress,
        workers=workers,
        ray=ray,
        modules=modules,
    )
    replies.offline = True  # what follows makes no calls
    settings, _ = chosen.settings(results.split)
    summary = _report(results, settings, policies, agent, spent.usage)
    path = Path(out) / RESULTS
    write_json(path, {**read_sections(path), SECTION: summary})
    return results


def _suite(tasks: tuple[Any, ...]) -> Suite:
    """Return the suite of some tasks; it has a name if they are the default ones."""
    found = read_suite(list(tasks))
    return replace(found, name=SECTION) if tasks == TASKS else found


def player(agent: LLMAgent, repeat: int, replies: ReplyFile, budget: Budget) -> Policy:
    """Return a model as the policy of one repeat."""
    twin = agent.twin(repeat=repeat, replies=replies, budget=budget, on_failure="raise")
    return Policy(f"llm:{twin.model}", twin.fingerprint, twin, repeat)


# -- playing once more --------------------------------------------------------------------


def trace(setting: Setting, policy: Policy, seed: int) -> Trace:
    """Play an episode once more, and measure it at the start and after every step."""
    job, points = Job(setting, policy.at(setting), (seed,)), list[Point]()
    focal = job.blank(seed).focal

    def models() -> list[LLMAgent]:
        return [a for n in focal if isinstance(a := seated.playing[n], LLMAgent)]

    def look(metrics: EpisodeMetrics) -> None:
        value = float(np.mean([metrics.returns[seat] for seat in metrics.focal]))
        won = sum(result == "won" for result in metrics.results.values()) / len(focal)
        tokens = sum(model.usage.tokens for model in models())
        points.append(Point(metrics.steps, tokens, value, won))

    with closing(SeatedWorld(job)) as seated:
        play_one(seated, seed, look)
        calls = {model.get_id(): tuple(model.transcript) for model in models()}
    return Trace(tuple(points), calls)


def at_budget(points: Sequence[Point], budget: int, measure: str) -> Point:
    """Return how far an episode was when a budget of steps or tokens was used up."""
    return [point for point in points if getattr(point, measure) <= budget][-1]


# -- what the report says -----------------------------------------------------------------


def _report(
    results: Results,
    settings: Iterable[Setting],
    policies: Mapping[str, Any],
    agent: LLMAgent,
    spent: Usage,
) -> dict[str, Any]:
    """Return what the report says about a model, as JSON-able values."""
    chosen = {(policy.name, policy.run): policy for policy in read_policies(policies)}
    model = next(iter(policies))
    progress: list[dict[str, Any]] = []
    transcripts: list[dict[str, Any]] = []
    usage = Usage()
    for setting in settings:
        for name in policies:
            traces: dict[int, list[Trace]] = {}
            for record in results.of(setting.label, name):
                found = trace(setting, chosen[name, record.run], record.seed)
                traces.setdefault(record.run, []).append(found)
            played = [one for run in traces.values() for one in run]
            for one in played:
                for calls in one.calls.values():
                    usage.add(_usage(calls, agent))
            if name == model and played:
                first = results.of(setting.label, name)[0]
                transcripts += _transcripts(setting.label, first.seed, played[0], first.results)
            progress += _progress(setting.label, name, list(traces.values()))
    return {
        "model": agent.policy,
        "prompt_id": agent.prompt.id,
        "settings": agent.settings(),
        "usage": vars(usage),
        "spent": vars(spent),
        "progress": progress,
        "transcripts": transcripts[:SHOWN],
    }


def _usage(calls: Iterable[Mapping[str, Any]], agent: LLMAgent) -> Usage:
    """Return what the calls of an episode used when they were made."""
    found = Usage()
    for call in calls:
        prompt, completion = call.get("prompt_tokens", 0), call.get("completion_tokens", 0)
        found.add(
            Usage(
                calls=1,
                failures=int("text" not in call),
                unreadable=int(call["outcome"] != "ok" and "text" in call),
                prompt_tokens=prompt,
                completion_tokens=completion,
                estimated=int(call.get("estimated", False)),
                cost=agent.budget.price(prompt, completion),
                seconds=call.get("seconds", 0.0),
            )
        )
    return found


def _progress(setting: str, policy: str, runs: Sequence[Sequence[Trace]]) -> list[dict[str, Any]]:
    """Return how far a policy is at each budget, with intervals over seeds and repeats."""
    rows = []
    whole = [one for run in runs for one in run]
    for measure, budgets in (("steps", STEPS), ("tokens", TOKENS)):
        most = max((getattr(one.points[-1], measure) for one in whole), default=0)
        budgets = tuple(budget for budget in budgets if budget < most)
        for budget in (*budgets, *([most] if most else [])):
            points = [[at_budget(one.points, budget, measure) for one in run] for run in runs]
            row: dict[str, Any] = {"setting": setting, "policy": policy, measure: budget}
            for name, interval in (("won", share_interval), ("value", mean_interval)):
                values = [[getattr(point, name) for point in run] for run in points]
                row[name] = interval(values)._asdict()
            rows.append(row)
    return rows


def _transcripts(
    setting: str, seed: int, found: Trace, results: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return what a model was told and what it answered in an episode."""
    return [
        {
            "setting": setting,
            "seed": seed,
            "agent": agent,
            "result": results.get(agent, ""),
            "calls": [
                {
                    "told": call["messages"],
                    "thinking": call.get("thinking", ""),
                    "answered": call.get("text") or call.get("command") or "",
                    "outcome": call["outcome"],
                    "why": call.get("told", ""),
                }
                for call in calls
            ],
        }
        for agent, calls in found.calls.items()
    ]


def transcript_text(found: Mapping[str, Any]) -> str:
    """Return a transcript as plain text, without codes that terminals and pages would interpret."""
    lines: list[str] = []
    for number, call in enumerate(found["calls"], 1):
        for message in call["told"]:
            lines += [f"--- {message['role']}, {number}", message["content"], ""]
        if call["thinking"]:
            lines += [f"--- thinking, {number}", call["thinking"], ""]
        outcome = call["outcome"] + (f": {call['why']}" if call["why"] else "")
        lines += [f"--- model, {number} ({outcome})", call["answered"] or "(nothing)", ""]
    return plain("\n".join(lines))


def progress_rows(found: Sequence[Mapping[str, Any]], measure: str) -> list[tuple[str, ...]]:
    """Return the table of progress by steps or by tokens: setting, policy, budget, won, return."""
    return [
        (
            row["setting"],
            row["policy"],
            f"{row[measure]:,}",
            tables.interval(Interval(**row["won"]), 0, 100),
            tables.interval(Interval(**row["value"])),
        )
        for row in found
        if measure in row
    ]
