"""Forks: the unchanged branch is the run itself, and effects are those of known changes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from piase_gym import parallel_env, runs
from piase_gym.agents import HumanAgent, LLMAgent, make_agent
from piase_gym.agents.base import Agent
from piase_gym.agents.population import PopulationAgent
from piase_gym.errors import AgentError, ConfigError, PiaseError, RunError, UnsupportedError
from piase_gym.runs.branches import _draw_anew
from piase_gym.wrappers import AvtLogger
from tests.helpers.piaavt import lines
from tests.helpers.run_worlds import grid, play, text

IDLE = (
    "{0} does nothing where the log does not say what it did; who plays on is named: "
    "players={{'{0}': ...}}"
)


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent that walks right for seven cells to the goal; a random partner far off."""
    path = tmp_path_factory.mktemp("walk") / "run.jsonl"
    inner = parallel_env(
        "GridWorld",
        agents=2,
        width=8,
        height=3,
        start_pos=(0, 0),
        goal_pos=(7, 0),
        collisions="pass",
        max_steps=20,
        partners={"agent_1": "random"},
    )
    env = AvtLogger(inner, path)
    for seed in range(2):
        env.reset(seed=seed)
        while env.agents:
            env.step({"agent_0": 3})
    env.close()
    return path


def digests(path: Path, episode: int) -> list[str]:
    """Return the digests of an episode's steps, from the log."""
    steps = [e for e in lines(path) if e["event_data"].get("kind") == "step"]
    return [e["event_data"]["digest"] for e in steps if e["episode"] == episode]


@pytest.mark.parametrize("at", [0, 3, 7, 9])
def test_without_a_change_a_branch_is_the_run(at: int, walk: Path) -> None:
    report = runs.fork(walk, at)
    one, other = report.branches[0]
    assert one == other
    assert report.effect == 0.0
    first = len(digests(walk, 0))
    cut = at if at < first else at - first
    logged = digests(walk, 0 if at < first else 1)[cut:]
    # The log ends with the learner's episode; its partner goes on alone in the branch.
    assert list(one.digests[: len(logged)]) == logged


def _give(env: Any, step: int) -> None:
    """Give an environment something from outside, before some of its steps."""
    mail, runner = env.unwrapped.world.mailboxes, env.unwrapped.runner
    if step == 4 and mail is None:
        assert env.modify({"mover_period": 3}).now
    if step == 5 and mail is not None:
        letter = mail.send("agent_1", "agent_0", "the key is in the study")
        runner.events.post("send", "agent_1", own=False, **letter._asdict())
        runner.set_order([1, 0])
    if step == 6:
        env.give_hint("agent_0", "to the left")
    if step == 8 and mail is not None:
        runner.events.post("poll", "agent_0", own=False, messages=mail.poll("agent_0"))


@pytest.mark.parametrize("mail", [False, True])
def test_what_the_log_gives_from_outside_comes_in_both_branches(mail: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(text() if mail else grid(agents=2, movers=2, max_steps=10), path)
    env.reset(seed=3)
    step = 0
    while env.agents:
        _give(env, step)
        env.step(dict.fromkeys(env.agents, (step + 1) % 5))
        step += 1
    env.close()
    report = runs.fork(path, 2, hints={"agent_1": "wait"}, logs=tmp_path / "branches")
    assert list(report.branches[0][0].digests) == digests(path, 0)[2:]
    given = ["order", "send", "hint", "poll"] if mail else ["modify", "hint"]
    logs = {log.name: log for log in (tmp_path / "branches").rglob("*.jsonl")}
    for name, hint in (("before.jsonl", []), ("after.jsonl", ["hint"])):
        kinds = [event["event_data"].get("kind") for event in lines(logs[name])]
        told = [kind for kind in kinds if kind in ("modify", "order", "send", "hint", "poll")]
        assert sorted(told) == sorted(given + hint)
        assert runs.replay(logs[name]).sound
    # Who now has a policy says its own.
    runs.fork(path, 2, players={"agent_1": "noop"}, logs=tmp_path / "others")
    others = lines(tmp_path / "others/pair_0/before.jsonl")
    assert "send" not in [event["event_data"].get("kind") for event in others]


def test_what_a_branch_does_not_admit_is_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(agents=2, movers=2), path)
    env.reset(seed=3)
    for step in range(6):
        if step == 4:
            env.modify({"mover_period": 3})
        env.step(dict.fromkeys(env.agents, step % 5))
    env.close()
    path.write_bytes(path.read_bytes().replace(b'"mover_period":3}', b'"mover_period":-3}'))
    note, *others = runs.fork(path, 2).notes
    assert others == [IDLE.format(name) for name in ("agent_0", "agent_1")]
    assert note.startswith(
        "the modify before step +3 is left out of a branch: GridWorld.mover_period"
    )


def test_a_fork_goes_on_from_where_a_restored_episode_was(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(agents=2, partners={"agent_1": "random"}, collisions="pass"), path)
    env.reset(seed=3)
    states = []
    for step in range(12):
        if step == 9:
            env.unwrapped.restore(states[5])
        states.append(env.unwrapped.snapshot())
        env.step({"agent_0": step % 2})
    env.close()
    logged = digests(path, 1)
    for at in (9, 11):
        found = runs.fork(path, at).branches[0][0].digests
        assert list(found[: 12 - at]) == logged[at - 9 :]


def test_the_effect_of_one_action_is_known(walk: Path) -> None:
    # A step back costs itself and one more step forth; the recorded rest then falls one short of
    # two steps, and the agent stands still until the end.
    report = runs.fork(walk, 2, actions={"agent_0": 2}, players={"agent_0": "oracle"})
    assert report.effect == pytest.approx(-0.2)
    assert report.parted == [1]
    assert report.agent == "agent_0"
    stay = runs.fork(walk, 2, actions={"agent_0": "stay"}, players={"agent_0": "oracle"})
    assert stay.effect == pytest.approx(-0.05)
    won = runs.fork(walk, 2, actions={"agent_0": {1: 4, 2: 4}}, metric="won")
    assert (won.before, won.after) == ([1.0], [0.0])
    assert list(won.notes) == [IDLE.format("agent_0")]
    assert not stay.notes


def test_pairs_share_all_streams_but_the_named(walk: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"actions": {"agent_0": 4}, "players": {"agent_0": "oracle"}}
    same = runs.fork(walk, 2, pairs=4, **options)
    assert len({branch.digests[-1] for pair in same.branches for branch in pair}) <= 2
    assert same.interval == (pytest.approx(-0.05), pytest.approx(-0.05))
    told = "all pairs are alike, for nothing was drawn anew; name random streams in vary"
    assert list(same.notes) == [told]
    unmoved = runs.fork(walk, 2, pairs=4, vary=["dynamics"], **options)  # nothing in it is random
    assert list(unmoved.notes) == ["all pairs ended alike, whatever dynamics drew after the cut"]
    report = runs.fork(walk, 2, pairs=6, vary=["partner_agent_1"], logs=tmp_path, **options)
    # The partner does not get in the way, so what it draws changes its way but not the effect.
    assert len({pair[0].digests[-1] for pair in report.branches}) > 1
    assert report.interval == (pytest.approx(-0.05), pytest.approx(-0.05))
    logs = sorted(tmp_path.glob("*/*.jsonl"))
    assert len(logs) == 12
    for log in logs[:4]:
        assert runs.replay(log).ok
        assert runs.validate(log).ok


@pytest.mark.parametrize(
    ("make", "stream", "missing"),
    [
        (lambda: parallel_env("SocialDilemma", noise=0.5), "dynamics", ("layout", "channel")),
        (lambda: parallel_env("piase/SocialDilemma-Harvest-4p-v1"), "dynamics", ("channel",)),
        (lambda: text(slip=0.5), "dynamics", ()),
        (lambda: parallel_env("WordCraft"), "layout", ("dynamics", "channel")),
    ],
)
def test_a_stream_of_the_world_is_drawn_anew_for_each_pair(
    make: Any, stream: str, missing: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(make(), path)
    play(env, episodes=1)
    env.close()
    same = runs.fork(path, 1, pairs=3)
    assert len({tuple(one.digests) for one, _ in same.branches}) == 1
    varied = runs.fork(path, 1, pairs=3, vary=[stream])
    assert len({tuple(one.digests) for one, _ in varied.branches}) == 3
    assert [one for one, _ in varied.branches] == [other for _, other in varied.branches]
    for name in missing:
        with pytest.raises(UnsupportedError, match=f"no stream '{name}'"):
            runs.fork(path, 1, vary=[name])


def test_who_does_what_the_log_says_draws_nothing_anew(walk: Path) -> None:
    told = "partner_agent_0 draws nothing, for agent_0 does what the log says"
    with pytest.raises(ConfigError, match=told):
        runs.fork(walk, 2, pairs=3, vary=["partner_agent_1", "partner_agent_0"])


@pytest.mark.parametrize(
    ("policy", "draws"),
    [
        ("tit_for_tat", False),
        ("population:tit_for_tat,grudger", False),
        ("random", True),
        ("population:random,random", True),
    ],
)
def test_partners_and_populations_play_on_and_the_report_says_if_they_draw_nothing(
    policy: str, draws: bool, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(parallel_env("SocialDilemma", partners={"agent_1": policy}, rounds=6), path)
    env.reset(seed=0)
    while env.agents:
        env.step({"agent_0": 0})
    env.close()
    options: dict[str, Any] = {"actions": {"agent_0": 1}, "vary": ["partner_agent_1"]}
    report = runs.fork(path, 2, pairs=4, **options)
    assert (report.interval is not None and report.interval[0] < report.interval[1]) == draws
    told = "all pairs are alike, for partner_agent_1 drew nothing after the cut"
    assert list(report.notes) == [told] * (not draws)
    assert report.notes == runs.fork(path, 2, pairs=4, players={"agent_1": policy}, **options).notes
    assert not runs.fork(path, 2, **options).notes  # one pair tells nothing of that
    if not draws:
        assert report.effect == -1.0  # it answers the defection; the log's choices would give 2.0
        assert report.effect == runs.fork(path, 2, actions={"agent_0": 1}).effect


class Gossip(Agent):
    """Says something to the other in each step, and notes its own hints."""

    hints: ClassVar[dict[str, list[Any]]] = {"agent_0": [], "agent_1": []}

    def act(self) -> Any:
        assert self.percept is not None
        self.hints[self.get_id()].append(self.percept.world.hints[self.percept.index])
        return None

    def spoken(self) -> Any:
        other = {"agent_0": "agent_1", "agent_1": "agent_0"}[self.get_id()]
        return [(other, "psst")]


class Talker(Agent):
    """Tells the other something new in each step, by letter or by word of mouth."""

    def __init__(self, letters: bool) -> None:
        super().__init__()
        self.letters, self.unsaid = letters, list[str]()
        self.count = 0

    def reset(self, seed: int) -> None:
        self.count = 0
        self.unsaid.clear()

    def act(self) -> Any:
        self.count += 1
        self.unsaid.append(f"news {self.count}")
        return None

    def _leave(self, wanted: bool) -> list[str]:
        said = [*self.unsaid] if wanted else []
        if wanted:
            self.unsaid.clear()
        return said

    def outgoing_letters(self) -> Any:
        return self._leave(self.letters)

    def spoken(self) -> Any:
        return [("agent_0", words) for words in self._leave(not self.letters)]


class Listener(Agent):
    """Notes its hints."""

    hints: ClassVar[list[Any]] = []

    def act(self) -> Any:
        assert self.percept is not None
        self.hints.append(self.percept.world.hints[self.percept.index])
        return None


@pytest.mark.parametrize("letters", [True, False])
def test_what_is_said_with_the_first_choices_after_the_cut_is_said_once(
    letters: bool, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(text(max_steps=6, partners={"agent_1": Talker(letters)}), path)
    env.reset(seed=1)
    while env.agents:
        env.step({"agent_0": 0})
    env.close()
    kind, logged = "send" if letters else "hint", digests(path, 0)
    for at in range(len(logged)):
        for number, players in enumerate(({}, {"agent_1": Talker(letters)})):
            folder = tmp_path / f"{at}-{number}"
            report = runs.fork(path, at, players=players, logs=folder)
            assert list(report.branches[0][0].digests) == logged[at:]
            told = [event["event_data"] for event in lines(folder / "pair_0/before.jsonl")]
            said = [str(data["message"]) for data in told if data.get("kind") == kind]
            wanted = [f"news {n + 1}" for n in range(at, len(logged))]
            assert [words.removeprefix("agent_1 says: ") for words in said] == wanted
    if not letters:
        Listener.hints.clear()
        runs.fork(path, 2, players={"agent_0": Listener()}, steps=2)
        heard = [None, *(f"agent_1 says: news {n}" for n in (1, 2, 3))]
        assert Listener.hints == [*heard, *heard[2:]]  # up to the cut once, then in both branches


@pytest.mark.parametrize("said", [3, ("agent_1",), ["agent_1", 4], {"agent_1": "hi"}])
def test_a_message_is_a_text_or_a_recipient_and_a_text(said: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(text(), path)
    play(env, episodes=1)
    env.close()
    with pytest.raises(ConfigError, match="a message of agent_0 is a text, or"):
        runs.fork(path, 1, messages={"agent_0": said}, logs=tmp_path / "branches")
    assert not (tmp_path / "branches").exists()


def test_one_agent_cannot_play_for_two_in_a_branch(walk: Path) -> None:
    agent = Listener()
    with pytest.raises(ConfigError, match="one agent object cannot play several seats"):
        runs.fork(walk, 2, players={"agent_0": agent, "agent_1": agent})


def test_the_log_of_a_branch_that_fails_is_complete(walk: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no mailboxes"):
        runs.fork(walk, 2, messages={"agent_0": "hi"}, logs=tmp_path / "branches")
    for name in ("before.jsonl", "after.jsonl"):
        assert runs.read(tmp_path / "branches/pair_0" / name).complete


def test_in_a_branch_nobody_hears_what_is_said_before_all_have_chosen(walk: Path) -> None:
    runs.fork(walk, 2, players={"agent_0": Gossip(), "agent_1": Gossip()}, steps=2)
    first = [hints[-2] for hints in Gossip.hints.values()]  # of the changed branch
    assert first == [None, None]


def test_a_person_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    person = HumanAgent(read=lambda _: "stay", out=io.StringIO())
    env = AvtLogger(parallel_env("GridWorld", agents=2, partners={"agent_1": person}), path)
    env.reset(seed=0)
    for _ in range(3):
        env.step({"agent_0": 0})
    env.close()
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("a person was asked"))
    assert runs.fork(path, 1, actions={"agent_0": "stay"}, steps=2).branches


def test_a_partner_that_draws_anew_remembers_the_episode() -> None:
    agents = [make_agent(f"population:{names}") for names in ("pavlov,random", "random,pavlov")]
    for agent in agents:
        assert isinstance(agent, PopulationAgent)
        agent.reset(7)
        before = agent.get_state()
        _draw_anew(agent, 8)
        after, who = agent.get_state(), agent.member
        assert after["member"] == before["member"]
        assert after["states"][who] == {"seed": 8}
        assert after["states"][1 - who] == before["states"][1 - who]
    model = LLMAgent("m", "http://127.0.0.1:9")
    model.reset(7)
    model.set_state({**model.get_state(), "calls": 3, "system": "You play."})
    before = model.get_state()
    _draw_anew(model, 8)
    assert model.get_state() == {**before, "seed": 8}


def test_a_model_that_does_not_answer_in_a_branch_is_named(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    path = tmp_path / "run.jsonl"
    env = AvtLogger(parallel_env("GridWorld", agents=2, max_steps=4), path)
    env.reset(seed=1)
    while env.agents:
        env.step(dict.fromkeys(env.agents, 0))
    env.close()
    silent = LLMAgent("m", "http://127.0.0.1:9", retries=0)
    report = runs.fork(path, 1, policies={"agent_0": silent}, pairs=2)
    note, _ = report.notes  # the other says that the pairs are alike
    told = "agent_0, llm:m@http://127.0.0.1:9, did not always answer: http://127.0.0.1:9 cannot be"
    assert note.startswith(told)
    assert note in str(report)


@pytest.mark.parametrize("vary", [(), ("partner_agent_1",)])
def test_a_script_goes_on_with_what_it_knows(vary: tuple[str, ...], tmp_path: Path) -> None:
    """It has looked around in the prefix, and looks at another world in each branch."""
    path = tmp_path / "run.jsonl"
    inner = parallel_env("TextRoom", agents=2, max_steps=12, partners={"agent_1": "scripted"})
    env = AvtLogger(inner, path)
    env.reset(seed=1)
    while env.agents:
        env.step({"agent_0": 0})
    env.close()
    logged = digests(path, 0)
    for at in range(1, len(logged)):
        for branches in runs.fork(path, at, pairs=1 + len(vary), vary=vary).branches:
            assert list(branches[0].digests) == logged[at:]


def test_the_interval_is_that_of_the_mean(walk: Path) -> None:
    report = runs.fork(
        walk,
        1,
        policies={"agent_0": "random"},
        players={"agent_0": "oracle"},
        pairs=30,
        vary=["partner_agent_0"],
        steps=4,
    )
    differences = np.subtract(report.after, report.before)
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    assert report.interval is not None
    low, high = report.interval
    assert report.effect == pytest.approx(differences.mean())
    # The normal interval and the bootstrap's agree for thirty values.
    assert low == pytest.approx(report.effect - 1.96 * error, abs=0.5 * error)
    assert high == pytest.approx(report.effect + 1.96 * error, abs=0.5 * error)


def test_the_interval_leaves_out_a_fortieth_at_either_end(walk: Path) -> None:
    effects = np.linspace(-1.0, 3.0, 80)
    values = iter(np.concatenate([np.ones(80), 1 + effects]).tolist())
    report = runs.fork(walk, 1, pairs=80, steps=1, metric=lambda _: next(values))
    error = effects.std() / np.sqrt(80)
    assert report.effect == pytest.approx(1.0)
    # Means of so many values are normal; at 3.5 % and 98.5 % it were 1.81 and 2.17 errors.
    assert report.interval == pytest.approx((1 - 1.96 * error, 1 + 1.96 * error), abs=0.05 * error)
    few = iter([0.0, 0.0, 1.0, 3.0, 5.0, 9.0])
    assert runs.fork(walk, 1, pairs=2, steps=1, metric=lambda _: next(few)).interval == (1.0, 3.0)
    assert runs.fork(walk, 1, pairs=1, steps=1, metric=lambda _: next(few)).interval is None


def test_messages_and_hints(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(text(), path)
    play(env, episodes=1)
    env.close()
    said = runs.fork(path, 2, messages={"agent_0": "the key is in the study"})
    assert said.parted[0] == 1
    hinted = runs.fork(path, 2, hints={"agent_0": "look"}, metric="length")
    assert hinted.parted[0] == 1
    assert hinted.before == hinted.after


def test_policies_are_driven_through_the_prefix(tmp_path: Path) -> None:
    from piase_gym.agents import Agent

    class Counter(Agent):
        """Does the next of a fixed row of moves; its place in the row is its inner state."""

        place = 0

        def reset(self, seed: int) -> None:
            self.place = 0

        def act(self) -> int:
            self.place += 1
            return (3, 3, 1, 4, 0, 2)[self.place % 6]

    path, counter = tmp_path / "run.jsonl", Counter()
    inner = grid(partners={"agent_2": counter})
    env = AvtLogger(inner, path)
    play(env, episodes=1)
    env.close()
    report = runs.fork(path, 4, players={"agent_2": Counter()})
    assert list(report.branches[0][0].digests) == digests(path, 0)[4:]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"at": 9999}, RunError, "9999"),
        ({"at": -1}, ConfigError, "0 or more"),
        ({"actions": {"bob": 1}}, AgentError, "bob"),
        ({"pairs": 0}, ConfigError, "pairs"),
        ({"vary": ["wind"]}, ConfigError, "wind"),
        ({"vary": "layout"}, ConfigError, "list"),
        ({"vary": 3}, ConfigError, "vary is a list"),
        ({"hints": ["agent_0"]}, ConfigError, "hints is a mapping of agents"),
        ({"players": "random"}, ConfigError, "players is a mapping of agents"),
        ({"metric": "joy"}, ConfigError, "joy"),
        ({"metric": 3}, ConfigError, "unknown metric 3"),
        ({"steps": 0}, ConfigError, "steps must be a positive number, not 0"),
        ({"steps": "many"}, ConfigError, "steps must be a positive number, not 'many'"),
        ({"slot": "0"}, ConfigError, "there is no slot '0'"),
        ({"policies": {"agent_0": 3}}, PiaseError, "unknown policy 3"),
        ({"policies": {"agent_0": "genius"}}, PiaseError, "genius"),
        ({"messages": {"agent_0": "hi"}}, UnsupportedError, "mailboxes"),
        ({"actions": {"agent_0": 77}}, PiaseError, "77"),
    ],
)
def test_wrong_arguments_are_named(
    options: dict[str, Any], error: type[Exception], message: str, walk: Path
) -> None:
    with pytest.raises(error, match=message):
        runs.fork(walk, **{"at": 2, **options})
