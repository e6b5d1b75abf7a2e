"""What language models as agents cost beside the model: our part of a decision, and of waiting.

Run it with ``python -m piase_gym.benchmarks.llm``; what is found is stored in
``benchmarks/measured/llm.json``, from which ``docs/make_pages.py`` writes a part of
docs/language_models.md. A server in another process answers every request after 200 ms. It is
asked by episodes that are played at once, and, in turn with these, by the client of `openai` alone
from as many threads, with requests of the same size.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from piase_gym.agents import LLMAgent
from piase_gym.agents.llm import Reply
from piase_gym.agents.llm.client import Client
from piase_gym.benchmarks.evaluation.evaluate import play_jobs, singly
from piase_gym.benchmarks.evaluation.policies import read_policy
from piase_gym.benchmarks.evaluation.rollout import Job, SeatedWorld, play_one
from piase_gym.benchmarks.evaluation.suites import Row, Setting, read_suite
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.errors import need
from piase_gym.jobs import Threads

FILE = OUT = Path(__file__).parents[1] / "measured" / "llm.json"
EPISODES = 64
DELAY = 0.2
STEPS = 12
TASKS = (
    ("piase/GridWorld-DoorKey-8x8-v*", "stay"),
    ("piase/TextRoom-Quest-Easy-v*", "look"),
    ("piase/Household-Easy-v*", "look"),
)
"""Tasks, and a command that never ends an episode."""
OPTIONS = {"rounds": "of every row", "decisions": "of each world, for what one costs"}


def setting_of(task: str, steps: int) -> Setting:
    """Return a task whose episodes last so many steps."""
    found, _ = read_suite(Row(task=task, config={"max_steps": steps})).settings("dev")
    return found[0]


class Instant(Client):
    """Answers at once, in this process."""

    def __init__(self, text: str) -> None:
        self._reply = Reply(text, prompt_tokens=1, completion_tokens=1)

    def ask(self, request: Mapping[str, Any]) -> Reply:
        """Return the one reply."""
        return self._reply


def seated(task: str, steps: int, client: Client, **options: Any) -> SeatedWorld:
    """Return a task with a model that a client in this process answers for.

    Args:
        task: The task.
        steps: How many steps an episode lasts.
        client: The client.
        options: Arguments of the agent.
    """
    agent = LLMAgent("instant", "http://127.0.0.1:1/v1", **options)
    agent._client = lambda: client  # type: ignore[method-assign]
    return SeatedWorld(Job(setting_of(task, steps), read_policy(agent), (0,)))


def decision(task: str, text: str, answer: str, steps: int) -> float:
    """Return the CPU-milliseconds of a step in which a model answers at once."""
    game = seated(task, steps, Instant(text), answer=answer)
    play_one(game, 1)  # warms up
    start = time.process_time()
    record = play_one(game, 2)
    spent = time.process_time() - start
    if record.fault is not None or record.steps != steps:
        raise RuntimeError(f"{task}: {record.fault or record.steps}")
    return 1000 * spent / steps


@contextmanager
def server(answer: str) -> Iterator[str]:
    """Start a server in another process; give its address."""
    words = ["--delay", str(DELAY), "--answer", answer]
    command = [sys.executable, "-m", "piase_gym.testing.model_server", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()  # which ends it


class Clock:
    """Measures some calls from now on."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self, calls: int) -> tuple[float, float]:
        """Return calls a second, and CPU-milliseconds a call."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return calls / wall, 1000 * cpu / calls


def at_once(url: str, task: str, first_seed: int) -> tuple[float, float]:
    """Return what a `Clock` tells of the decisions of episodes that are played at once."""
    setting = setting_of(task, STEPS)
    agent = LLMAgent("small", url, retries=0, on_failure="raise")
    seeds = range(first_seed, first_seed + EPISODES)
    job = Job(setting, read_policy(agent), tuple(seeds))
    clock = Clock()
    records = list(play_jobs(singly(job), Threads(EPISODES)))
    faults = [record.fault for record in records if record.fault]
    if faults:
        raise RuntimeError(faults[0])
    return clock.read(sum(record.steps for record in records))


def messages_of(task: str, answer: str) -> list[list[dict[str, str]]]:
    """Return what an episode's model is told in each step."""
    asked: list[list[dict[str, str]]] = []

    class Kept(Instant):
        def ask(self, request: Mapping[str, Any]) -> Reply:
            asked.append(list(request["messages"]))
            return super().ask(request)

    play_one(seated(task, STEPS, Kept(answer)), 2)
    return asked


def bare(client: Any, asked: list[list[dict[str, str]]]) -> tuple[float, float]:
    """Return what a `Clock` tells of the requests of the client alone, in as many threads."""

    def ask_all(_: int) -> None:
        for messages in asked:
            client.chat.completions.create(
                model="small", messages=messages, temperature=0.0, max_tokens=512
            )

    clock = Clock()
    with ThreadPoolExecutor(EPISODES) as pool:
        list(pool.map(ask_all, range(EPISODES)))
    return clock.read(EPISODES * len(asked))


@described
def measure_all(rounds: int = 5, decisions: int = 200) -> dict[str, Any]:
    """Measure what a decision costs, and how many are made a second while a server is waited for.

    Args:
        rounds: How often each row is measured; medians are kept.
        decisions: Decisions of each world in a round.

    Returns:
        JSON-able: ``costs`` in CPU-milliseconds, ``rates`` in calls a second with the CPU-time of
        each, the ``ratio`` of the rates, and what was measured on.
    """
    openai = need("openai", "this benchmark", "llm")
    kinds = {
        "line": "{}",
        "yaml": "thinking: I see: a wall\naction: {}\nreason: why not\n",
        "json": '{{"thinking": "a wall", "action": "{}", "reason": "why not"}}',
    }
    costs = {
        f"{task.split('/')[1].removesuffix('-v*')}, {kind}": statistics.median(
            decision(task, form.format(text), kind, decisions) for _ in range(rounds)
        )
        for task, text in TASKS
        for kind, form in kinds.items()
    }
    task, answer = TASKS[1]
    rates: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
    asked = messages_of(task, answer)
    with server(answer) as url:
        client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
        for number in range(rounds + 1):  # the first opens the connections
            ours, theirs = at_once(url, task, EPISODES * number), bare(client, asked)
            if number:
                rates["ours"].append(ours)
                rates["bare"].append(theirs)
    pairs = zip(rates["ours"], rates["bare"], strict=True)
    return {
        "costs": costs,
        "rates": {
            name: [statistics.median(column) for column in zip(*rows, strict=True)]
            for name, rows in rates.items()
        },
        "ratio": statistics.median(ours[0] / theirs[0] for ours, theirs in pairs),
        "openai": openai.__version__,
    }


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as tables."""
    costs = [("world, answer", "CPU-ms a decision")]
    costs += [(name, f"{value:.2f}") for name, value in found["costs"].items()]
    rates = [("who asks", "calls a second", "CPU-ms a call")]
    names = {
        "ours": f"{EPISODES} episodes at once",
        "bare": f"the client alone, {EPISODES} threads",
    }
    rates += [
        (names[who], f"{rate:.0f}", f"{cpu:.2f}") for who, (rate, cpu) in found["rates"].items()
    ]
    text = (
        f"The ratio of the rates is {found['ratio']:.2f} with openai {found['openai']}; "
        f"the server answers after {1000 * DELAY:.0f} ms, so {EPISODES / DELAY:.0f} a second is "
        "the most that there can be."
    )
    return {
        "cost": Section([Table(costs)]),
        "rate": Section([Table(rates)], [text, about(found)]),
    }
