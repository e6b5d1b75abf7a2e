"""The parts of forks: what a branch does, step by step, and what is made of two of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from piase_gym.agents import Agent
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.facts import StepResult
from piase_gym.core.rng import StreamId, episode_seed, partner_seed, stream_key
from piase_gym.errors import (
    ActionError,
    AgentError,
    ConfigError,
    LogWriteError,
    RunError,
    UnsupportedError,
)
from piase_gym.runs import branches, counterfactuals
from piase_gym.runs.branches import Branch, Change, RunUntilCut
from piase_gym.runs.counterfactuals import ForkReport
from piase_gym.runs.schema import TYPE_OF_KIND
from tests.helpers.run_worlds import text

NAMES = ("a", "b")


class Notes(Agent):
    """Does what it is told, and remembers what it is given."""

    def __init__(self, *acts: Any) -> None:
        super().__init__()
        self.acts, self.seeds, self.learned = [*acts], list[int](), list[Any]()
        self.seen, self.followed = list[Any](), list[Any]()

    def reset(self, seed: int) -> None:
        self.seeds.append(seed)

    def perceive(self, percept: Any) -> None:
        super().perceive(percept)
        self.seen.append(percept)

    def follow_act(self, act: Any) -> None:
        self.followed.append(act)

    def act(self) -> Any:
        return self.acts.pop(0)

    def learn(self, feedback: Any) -> None:
        self.learned.append(feedback)


def cut(**more: Any) -> RunUntilCut:
    """Return a cut whose prefix was not driven."""
    made = RunUntilCut.__new__(RunUntilCut)
    made.run = SimpleNamespace(agents=list(NAMES))  # type: ignore[assignment]
    made.slot, made.seed, made.rest, made.given, made.notes = 0, 77, [], {}, []
    for name, value in more.items():
        setattr(made, name, value)
    return made


class Steps:
    """A runner of a world of a few steps; agent b ends one step before a."""

    def __init__(self, length: int) -> None:
        self.length, self.steps, self.done = length, 0, list[Any]()
        self.ended, self.events = list[Any](), None
        self.world = SimpleNamespace(
            agents=NAMES,
            alive=[True, True],
            noop=4,
            num_actions=5,
            capabilities=SimpleNamespace(continuous=False, discrete=True),
            digest=lambda: f"d{self.steps}",
            result=lambda number: ("won", "lost")[number],
        )

    def step(self, acts: list[Any]) -> StepResult:
        self.done.append(acts)
        self.steps += 1
        over = [self.steps == self.length, self.steps == self.length - 1]
        self.world.alive = [
            alive and not end for alive, end in zip(self.world.alive, over, strict=True)
        ]
        terminated, truncated = [over[0], False], [False, over[1]]
        outcomes = [Outcome.OK, Outcome.FAILED]
        rewards: list[Any] = [np.float32(0.5), float(self.steps)]
        return StepResult(rewards, terminated, truncated, outcomes, any(over), {})

    def end_step(self, result: StepResult) -> None:
        self.ended.append(result.ended)


def gone_on(
    made: RunUntilCut, runner: Steps, change: Change | None = None, steps: Any = None
) -> Branch:
    """Go on with nobody but the log."""
    return made._go_on(runner, {}, change, steps)  # type: ignore[arg-type]


def test_a_branch_repeats_what_the_log_says_and_then_does_nothing() -> None:
    runner = Steps(4)
    branch = gone_on(cut(rest=[{"a": 1, "b": 2}, {"b": 3}]), runner)
    assert runner.done == [[1, 2], [4, 3], [4, 4], [4, None]]
    assert branch == Branch(
        {"a": 2.0, "b": 1.0 + 2.0 + 3.0 + 4.0},
        {"a": "won", "b": "lost"},
        4,
        ["d1", "d2", "d3", "d4"],
    )
    assert {type(total) for total in branch.returns.values()} == {float}
    assert runner.ended == [False, False, True, True]
    assert gone_on(cut(), Steps(4), steps=2).digests == ["d1", "d2"]
    assert gone_on(cut(), Steps(2), steps=9).length == 2
    over = Steps(2)
    over.world.alive = [False, False]
    assert gone_on(cut(), over) == Branch({"a": 0.0, "b": 0.0}, {}, 0, [])


def test_a_change_of_actions_holds_in_its_steps_alone() -> None:
    runner = Steps(3)
    said = {"type": "go", "parameters": {"to": "x"}}
    gone_on(cut(rest=[{"a": 1, "b": 2}]), runner, Change(actions={"a": {2: 3, 3: said}}))
    assert runner.done == [[1, 2], [3, 4], [Command("go", {"to": "x"}), None]]
    runner = Steps(3)
    gone_on(cut(rest=[{"a": 1, "b": 2}]), runner, Change(actions={"b": 0}))
    assert runner.done == [[1, 0], [4, 4], [4, None]]


def test_agents_of_a_branch_see_act_and_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    posted = list[Any]()
    monkeypatch.setattr(branches, "post_asides", lambda *given: posted.append(given[1]))
    monkeypatch.setattr(branches, "decode_answer", lambda world, number, answer: answer * 2)
    runner, agent = Steps(3), Notes(10, 20)
    cut(rest=[{"a": 1, "b": 2}])._go_on(runner, {"b": agent}, None, None)  # type: ignore[arg-type]
    assert runner.done == [[1, 20], [4, 40], [4, None]]
    assert posted == [1, 1]
    assert [(seen.index, seen.step) for seen in agent.seen] == [(1, 0), (1, 1)]
    assert [(f.reward, f.terminated, f.truncated, f.outcome) for f in agent.learned] == [
        (1.0, False, False, Outcome.FAILED),
        (2.0, False, True, Outcome.FAILED),
    ]


def test_newcomers_and_varied_partners_begin_with_seeds_of_their_own() -> None:
    made, policy = cut(), Notes()
    policy.percept = SimpleNamespace(world="kept")  # type: ignore[assignment]
    agent = made._newcomer("b", policy)
    assert isinstance(agent, Notes)
    assert agent is not policy
    assert (agent.seeds, policy.seeds) == ([partner_seed(77, 1)], [])
    assert (agent.percept, agent.get_id()) == (None, "b")
    assert policy.percept is not None
    agents = {"a": Notes(), "b": Notes()}
    made._vary(SimpleNamespace(), agents, 2, ["partner_b", "partner_c"])  # type: ignore[arg-type]
    assert agents["b"].seeds == [partner_seed(episode_seed(77, 3), 1)]
    assert agents["a"].seeds == []
    stream = SimpleNamespace(key=1)
    world: Any = SimpleNamespace(name="W", streams={StreamId.DYNAMICS: stream})
    made._vary(world, agents, 0, ["dynamics", "partner_a"])
    assert stream.key == stream_key(episode_seed(77, 1), StreamId.DYNAMICS)
    assert agents["a"].seeds == [partner_seed(episode_seed(77, 1), 0)]


def test_streams_are_drawn_anew_in_objects_and_in_arrays() -> None:
    states = np.zeros(1, [("keys", np.uint64, 2)])
    world = SimpleNamespace(
        name="W", states=states, stream_ids=(StreamId.LAYOUT, StreamId.DYNAMICS, StreamId.CHANNEL)
    )
    branches._rekey(world, StreamId.DYNAMICS, 5)
    assert states["keys"][0].tolist() == [0, stream_key(5, StreamId.DYNAMICS)]
    for bad in (world, SimpleNamespace(name="W", streams={}), SimpleNamespace(name="W")):
        with pytest.raises(UnsupportedError, match="W has no stream 'channel' to draw anew"):
            branches._rekey(bad, StreamId.CHANNEL, 5)
    other = SimpleNamespace(name="W", states=np.zeros(1, [("x", int)]), streams={})
    with pytest.raises(UnsupportedError):
        branches._rekey(other, StreamId.LAYOUT, 5)


def test_what_is_said_and_hinted_at_the_cut() -> None:
    given, posted = list[Any](), list[Any]()

    def send(*letter: Any) -> Any:
        given.append(letter)
        return SimpleNamespace(_asdict=lambda: {"message": letter[2]})

    world = SimpleNamespace(
        name="W",
        give_hint=lambda *hint: given.append(hint),
        mailboxes=SimpleNamespace(send=send),
        carries_words=True,
    )
    post = lambda *event, **data: posted.append((event, data))  # noqa: E731
    runner: Any = SimpleNamespace(
        world=world, number=NAMES.index, events=SimpleNamespace(post=post)
    )
    branches._intervene(runner, Change({}, {"a": "hello", "b": ("a", "hi")}, {"b": "left"}))
    assert given == [(1, "left"), ("a", "all", "hello"), ("b", "a", "hi")]
    assert posted == [
        (("hint", "b"), {"message": "left"}),
        (("send", "a"), {"own": False, "message": "hello"}),
        (("send", "b"), {"own": False, "message": "hi"}),
    ]
    world.carries_words = False
    with pytest.raises(UnsupportedError, match="W has no mailboxes for words here; its agents can"):
        branches._intervene(runner, Change(messages={"a": "hello"}))


def test_changes_know_their_agents_and_steps() -> None:
    change = Change({"a": 1}, {"b": "x", "a": "y"}, {"c": "z"}, {"b": "random", "d": "random"})
    assert change.agents == ["a", "b", "c", "d"]
    assert branches._steps("a", 3) == {1: 3}
    assert branches._steps("a", {"type": "go"}) == {1: {"type": "go"}}
    assert branches._steps("a", {1: 3, 5: 4}) == {1: 3, 5: 4}
    for wrong in (0, -1, "1", True):
        with pytest.raises(ConfigError, match=f"by steps after the cut, 1, 2, ..., not {wrong!r}"):
            branches._steps("a", {2: 0, wrong: 3})
    assert branches._named_policy("random") == "random"
    assert branches._named_policy("genius") == branches._named_policy(None) == "recorded"


def check(act: Any, step: int, **more: Any) -> None:
    """Check an act of agent b in a world of three commands, of which `stay` is legal."""
    names = ("stay", "go", "fly")
    told: dict[str, Any] = {
        "agents": NAMES,
        "num_actions": 3,
        "command": lambda number, index: Command(names[index], {}),
        "check": lambda number, command: (
            command
            if command.verb in names
            else InvalidAction(Outcome.UNPARSABLE, f"no {command.verb}")
        ),
        "legal": lambda number, command: (number, command.verb) == (1, "stay"),
        "admissible": lambda number: [Command("stay", {})],
        "write": lambda command: command.verb,
    }
    branches._check_act(SimpleNamespace(**told | more), 1, act, step)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("act", "step", "told"),
    [
        (0, 1, ""),
        (2, 2, ""),
        (1, 1, "1 is not allowed to b at the cut; "),
        (3, 2, "3 is no command of b; allowed: indices from 0 to 2, or a line of text"),
        (-1, 2, "-1 is no command of b; allowed"),
        (True, 2, "True is no command of b"),
        ({"type": "stay", "parameters": {}}, 1, ""),
        ({"type": "go", "parameters": {}}, 2, ""),
        ({"type": "go", "parameters": {}}, 1, "is not allowed to b at the cut; .*stay"),
        ({"type": "swim", "parameters": {}}, 2, "is no command of b: no swim"),
        ({"type": "swim"}, 2, "is no command of b: a command is an index or has type"),
    ],
)
def test_commands_of_a_change_are_checked(
    act: Any, step: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branches, "decode_answer", lambda world, number, answer: answer)
    if not told:
        check(act, step)
        return
    with pytest.raises(ActionError, match=told):
        check(act, step)


def test_who_is_not_in_play_cannot_be_changed() -> None:
    world = text().unwrapped.world
    made = cut(replayer=SimpleNamespace(world=lambda slot: world))
    world.reset(0)
    first, second = world.agents
    made.check(Change(actions={first: "wait"}))
    with pytest.raises(ActionError, match="'dance' is no command"):
        made.check(Change(actions={first: {2: "dance"}}))
    gone = SimpleNamespace(agents=world.agents, alive=[True, False])
    made = cut(replayer=SimpleNamespace(world=lambda slot: gone))
    with pytest.raises(
        AgentError, match=f"{second} is not in play at the cut; in play are {first}"
    ):
        made.check(Change(actions={second: 4}))


# -- the way to the cut --------------------------------------------------------------------------


class Prefix:
    """Plays the lines of a log in which agents a and b do steps, and slot 1 does others."""

    def __init__(self, run: Any) -> None:
        self.run, self.played, self.times = run, list[int](), [0, 0]
        self.report = SimpleNamespace(first_divergence=run.wrong, broken=run.broken)
        self.on_reset = self.on_step = None
        self.worlds = [
            SimpleNamespace(
                agents=NAMES, alive=[True, True], snapshot=lambda: {"state": 1, "episode": None}
            )
            for _ in range(2)
        ]

    def world(self, slot: int) -> Any:
        return self.worlds[slot]

    def time_of(self, slot: int) -> int:
        return self.times[slot]

    def events(self) -> Any:
        return enumerate(self.run.rows, 1)

    def play(self, number: int, event: Any) -> None:
        self.played.append(number)
        data, slot = event["event_data"], event["event_data"].get("slot", 0)
        if data["kind"] in ("reset", "restore"):
            self.times[slot] = 0
            self.on_reset(slot, event)  # type: ignore[misc]
        if data["kind"] == "step":
            if self.run.ends == event["step"]:
                self.worlds[slot].alive = [False, False]
            result = StepResult([1.0, 2.0], [False] * 2, [False] * 2, [Outcome.OK] * 2, False, {})
            self.times[slot] += 1
            self.on_step(slot, event, result)  # type: ignore[misc]


def row(kind: str, step: int = 0, episode: int = 0, **data: Any) -> Any:
    """Return a line."""
    told = {"event_type": TYPE_OF_KIND[kind], "event_data": {"kind": kind, **data}}
    return {"step": step, "episode": episode, **told}


def step(number: int, slot: int = 0, **commands: Any) -> Any:
    """Return the line of a step."""
    return row("step", number, slot=slot, commands=commands)


ROWS = [
    row("reset", seed=9, episode=3, slot=0),  # 1
    row("reset", seed=8, episode=4, slot=1),  # 2
    step(1, 0, a=0, b=1),  # 3
    step(1, 1, a=2, b=3),  # 4
    row("hint", 1),  # 5
    step(2, 0, a=4),  # 6
    step(3, 0, a=5, b=6),  # 7
    step(3, 1, a=7, b=8),  # 8
    row("hint", 3),  # 9
    step(4, 0, b=9),  # 10
    row("reset", 4, slot=1, seed=7),  # 11
    step(5, 0, a=10),  # 12
    row("reset", 5, slot=0, seed=6),  # 13
    step(6, 0, a=11),  # 14
]


MADE = {"random": Notes()}
"""The agents of policies by name."""


def driven(
    monkeypatch: pytest.MonkeyPatch, at: int, slot: int = 0, players: Any = None, **more: Any
) -> RunUntilCut:
    """Drive the prefix of a run up to a cut."""
    monkeypatch.setattr(branches, "Replayer", Prefix)
    monkeypatch.setattr(branches, "make_agent", lambda wanted: MADE.get(wanted, wanted))
    manifest = {"policies": {"a": "caller", "b": "random"}, "num_envs": 2}
    told = {"rows": ROWS, "wrong": None, "broken": None, "ends": None, "path": "run.jsonl"}
    run = SimpleNamespace(agents=list(NAMES), manifest=manifest, **told | more)
    return RunUntilCut(run, at, slot, players or {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("at", "slot", "played", "rest", "hints", "since"),
    [
        (0, 0, 2, [{"a": 0, "b": 1}, {"a": 4}, {"a": 5, "b": 6}, {"b": 9}, {"a": 10}], (1, 3), 0),
        (2, 0, 6, [{"a": 5, "b": 6}, {"b": 9}, {"a": 10}], (1,), 2),
        (2, 1, 6, [{"a": 7, "b": 8}], (), 1),
        (5, 0, 13, [{"a": 11}], (), 0),
    ],
)
def test_a_prefix_is_played_and_the_rest_of_the_episode_kept(
    at: int,
    slot: int,
    played: int,
    rest: Any,
    hints: tuple[int, ...],
    since: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = driven(monkeypatch, at, slot)
    assert made.replayer.played == [*range(1, played + 1)]  # type: ignore[attr-defined]
    assert (made.rest, made.given) == (rest, {count: [{"kind": "hint"}] for count in hints})
    assert made.seed == {(0, 0): 9, (2, 0): 9, (2, 1): 8, (5, 0): 6}[at, slot]
    assert made.episode == {(0, 0): 3, (2, 0): 3, (2, 1): 4, (5, 0): 0}[at, slot]
    assert made.agents == {"b": MADE["random"]}
    assert made.agents["b"].get_id() == "b"
    assert made.snapshot == {
        "state": 1,
        "episode": {"base": made.seed, "number": 0, "seed": made.seed, "steps": since},
        "partners": {},
        "next_config": None,
    }


def test_agents_are_driven_through_the_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Notes()
    made = driven(monkeypatch, 4, players={"b": agent, "a": "recorded"})
    assert [*made.agents] == ["b"]
    assert agent.seeds == [partner_seed(9, 1)]
    assert [(seen.index, seen.step) for seen in agent.seen] == [(1, n) for n in range(4)]
    assert agent.followed == [1, None, 6, 9]
    assert [feedback.reward for feedback in agent.learned] == [2.0] * 3
    gone = Notes()
    driven(monkeypatch, 0, players={"b": gone, "a": "recorded"})
    assert (len(gone.seeds), gone.seen, gone.learned) == (1, [], [])


def test_what_a_log_may_not_load_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "why_untrusted", lambda told: f"load {told}")
    note = "b does what the log says: a log cannot make us load random; who trusts it names it: "
    made = driven(monkeypatch, 0)
    assert made.notes[1:] == [f"{note}players={{'b': ...}}"]
    made = driven(monkeypatch, 0, players={"a": "recorded", "b": "recorded"})
    assert made.notes == []


def test_a_cut_where_nothing_goes_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    a_command = "a command is an index or has type and parameters; it is not"
    for more, at, told in (
        ({}, 7, "the run has 6 steps; it cannot be cut after step 7"),
        ({"rows": ROWS[2:2]}, 0, "no episode is going on after step 0; cut it elsewhere"),
        ({"ends": 2}, 2, "no episode is going on after step 2; cut it elsewhere"),
        ({"wrong": "x"}, 2, "the run cannot be executed up to the cut: x"),
        ({"broken": "y"}, 2, "the run cannot be executed up to the cut: y"),
        ({"rows": [*ROWS[:6], row("step", 3)]}, 2, "run.jsonl: line 7: a step without commands"),
        ({"rows": [*ROWS[:2], row("step", 1)]}, 2, "run.jsonl: line 3: a step without commands"),
        ({"rows": [*ROWS[:2], step(1, b="up")]}, 2, f"run.jsonl: line 3: {a_command} 'up'"),
    ):
        with pytest.raises(RunError) as caught:
            driven(monkeypatch, at, **more)
        assert str(caught.value) == told
    assert driven(monkeypatch, 6).rest == []


# -- what is made of two branches ----------------------------------------------------------------


def branch(*digests: str, a: float = 0.0, **results: str) -> Branch:
    """Return a branch."""
    return Branch({"a": a, "b": 9.0}, results, len(digests), digests)


def test_branches_are_measured() -> None:
    one = branch("x", "y", a=1.5, a_="won", b="won")
    assert counterfactuals._value(one, "return", "a") == 1.5
    assert counterfactuals._value(one, "length", "a") == 2.0
    assert counterfactuals._value(one, "won", "b") == 1.0
    assert counterfactuals._value(one, "won", "a") == 0.0
    assert counterfactuals._value(branch(a="lost"), "won", "a") == 0.0  # type: ignore[arg-type]
    assert counterfactuals._value(one, lambda found: found.length * 10, "a") == 20.0


def test_branches_part_where_they_first_differ() -> None:
    parting = counterfactuals._parting
    assert parting(branch("x", "y"), branch("x", "y")) is None
    assert parting(branch("x", "y"), branch("z", "y")) == 1
    assert parting(branch("x", "y", "z"), branch("x", "z", "z")) == 2
    assert parting(branch("x", "y"), branch("x", "y", "z")) == 3
    assert parting(branch("x", "y", "z"), branch("x")) == 2


def test_a_report_of_a_fork_is_a_line() -> None:
    report = ForkReport(
        4, 2, "a", "return", [1.0, 2.0], [2.0, 4.0], 1.5, (-0.5, 2.25), [], [], ("a note", "two")
    )
    assert str(report) == (
        "cut after step 4 (episode 2): return of a 1.500 without, 3.000 with the change; "
        "effect +1.500, 95% interval -0.500 to +2.250, 2 pairs\n  a note\n  two"
    )
    one = ForkReport(0, 0, "a", "won", [1.0], [0.0], -1.0, None, [], [])
    assert str(one).endswith("effect -1.000, 1 pair")


def test_an_interval_needs_two_pairs() -> None:
    assert counterfactuals._interval(np.array([1.0])) is None
    assert counterfactuals._interval(np.array([2.0, 2.0])) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, ""),
        ({"metric": "joy"}, "unknown metric 'joy'"),
        ({"metric": len}, ""),
        ({"metric": 3}, "unknown metric 3"),
        ({"agent": "c"}, "there is no agent 'c'; agents are a, b"),
        ({"players": {"c": "random"}}, "there is no agent 'c'"),
        ({"change": Change(hints={"c": "x"})}, "there is no agent 'c'"),
        ({"vary": "layout"}, r"vary is a list of streams, such as \['layout'\]"),
        ({"vary": ["layout", "wind"]}, "unknown random stream 'wind'"),
        ({"vary": ["partner_a", "dynamics", "channel"]}, ""),
        ({"vary": ["partner_c"]}, "unknown random stream 'partner_c'; did you mean 'partner_"),
        ({"vary": ["partner"]}, "unknown random stream 'partner'"),
    ],
)
def test_arguments_of_a_fork_are_checked(change: dict[str, Any], told: str) -> None:
    usual: dict[str, Any] = {
        "run": SimpleNamespace(agents=["a", "b"]),
        "change": Change(actions={"a": 1}),
        "players": {"b": "random"},
        "vary": ["layout"],
        "metric": "won",
        "agent": "a",
    }
    if not told:
        counterfactuals._check(**usual | change)
        return
    with pytest.raises((ConfigError, AgentError), match=told):
        counterfactuals._check(**usual | change)


def test_logs_of_branches_go_where_the_log_is_not(tmp_path: Path) -> None:
    place = tmp_path / "pair_1" / "after.jsonl"
    place.parent.mkdir()
    place.touch()
    run: Any = SimpleNamespace(path=tmp_path / "run.jsonl")
    run.path.touch()
    counterfactuals._check_logs(run, tmp_path, 2)
    counterfactuals._check_logs(run, tmp_path / "new", 2)
    with pytest.raises(LogWriteError, match="is a file; the logs of branches need a folder"):
        counterfactuals._check_logs(run, run.path, 1)
    run.path = place
    counterfactuals._check_logs(run, tmp_path, 1)
    with pytest.raises(LogWriteError, match=r"after\.jsonl is the log itself; give another fold"):
        counterfactuals._check_logs(run, tmp_path, 2)


def test_a_fork_compares_pairs_of_branches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = list[Any]()

    class Made:
        """Makes branches of which the changed one is one step longer."""

        episode, notes = 3, ["a note"]

        def __init__(self, *given: Any) -> None:
            called.append(("cut", *given[1:]))

        def check(self, change: Change, vary: Any) -> None:
            called.append(("check", change.agents))

        def branch(self, change: Any, *given: Any) -> Branch:
            called.append((change is not None, *given))
            digests = ["x", "y", "z"][: 2 + (change is not None)]
            return branch(*digests, a=1.0 + 0.5 * len(digests) * given[0])

    monkeypatch.setattr(counterfactuals, "RunUntilCut", Made)
    monkeypatch.setattr(counterfactuals, "read", lambda path: path)
    run: Any = SimpleNamespace(agents=["b", "a"], path=tmp_path / "run.jsonl")
    options: dict[str, Any] = {"vary": ["layout"], "steps": 5, "slot": 2, "logs": tmp_path}
    report = counterfactuals.fork(run, 4, actions={"a": 1}, pairs=2, **options)
    one, two = tmp_path / "pair_0", tmp_path / "pair_1"
    assert called == [
        ("cut", 4, 2, {}),
        ("check", ["a"]),
        (False, 0, ["layout"], 5, one),
        (True, 0, ["layout"], 5, one),
        (False, 1, ["layout"], 5, two),
        (True, 1, ["layout"], 5, two),
    ]
    assert (report.step, report.episode, report.agent, report.metric) == (4, 3, "a", "return")
    assert (report.before, report.after, report.effect) == ([1.0, 2.0], [1.0, 2.5], 0.25)
    assert (report.parted, report.notes) == ([3, 3], ["a note"])
    assert [(len(x.digests), len(y.digests)) for x, y in report.branches] == [(2, 3)] * 2
    assert report.interval == (0.0, 0.5)
    called.clear()
    alone = counterfactuals.fork(run, 0, metric=lambda found: float(found.length))
    assert (alone.agent, alone.metric, alone.effect) == ("b", "<lambda>", 1.0)
    assert called[2:] == [(False, 0, (), None, None), (True, 0, (), None, None)]
    assert counterfactuals.fork(run, 0, agent="a", hints={"b": "x"}).agent == "a"
    with pytest.raises(ConfigError, match="pairs"):
        counterfactuals.fork(run, 0, pairs=0)
    run.path = tmp_path / "pair_0" / "before.jsonl"
    run.path.parent.mkdir()
    run.path.touch()
    with pytest.raises(LogWriteError, match="is the log itself"):
        counterfactuals.fork(run, 0, logs=tmp_path)
