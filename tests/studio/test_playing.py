"""A game in the studio is the game that the environment plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from piase_gym import runs
from piase_gym.agents.base import Agent, Feedback
from piase_gym.core.commands import InvalidAction, Outcome
from piase_gym.core.rng import MAX_SEED
from piase_gym.envs.single import GymEnv
from piase_gym.errors import ConfigError, PiaseError, UnknownNameError
from piase_gym.studio import playing
from piase_gym.studio.playing import GameView, Play, Setup, fields_of, png, stars

DOOR_KEY = "piase/GridWorld-DoorKey-6x6-v1"


def choose(play: Play, line: str) -> GameView:
    """Give the command of a button."""
    lines = [choice.line for choice in play.look().choices]
    play.choose(lines.index(line))
    return play.look()


def test_a_view_shows_what_the_environment_shows() -> None:
    play = Play(Setup(DOOR_KEY, seed=7))
    env: Any = GymEnv(DOOR_KEY, view="text", actions="text")
    env.reset(seed=7)
    score = 0.0
    for step, line in enumerate(("move north", "move west", "move west", "stay"), start=1):
        view = play.look()
        legal = {choice.line for choice in view.choices if choice.legal}
        assert legal == set(env.admissible_commands())
        assert view.picture == png(env.world.rgb())
        assert view.text == env.world.text(env.facts())
        view = choose(play, line)
        *_, info = answer = env.step(line)
        score += answer[1]
        assert view.turn is not None
        assert (view.turn.steps, view.turn.line, view.turn.reward) == (step, line, answer[1])
        assert view.turn.outcome == info["outcome"]
        assert (view.steps, view.score, view.level, view.seed) == (step, score, 1, 7)
    assert play.instructions() == env.instructions()
    play.close()


def test_a_line_that_cannot_be_done_costs_nothing() -> None:
    play = Play(Setup(DOOR_KEY, seed=7))
    before = play.look()
    said = play.type("fly")
    assert said is not None
    assert "fly" in said
    assert play.look() == before
    assert play.type("move north") is None
    assert play.look().steps == 1
    play.close()


def test_a_policy_wins_and_a_level_can_be_begun_again() -> None:
    play = Play(Setup(DOOR_KEY, seed=3))
    first = play.look()
    while not play.over:
        play.let("oracle")
    view = play.look()
    assert (view.steps, view.stars, view.choices) == (first.par, 3, ())
    assert view.over is not None
    assert view.over.startswith(f"You won in {first.par} steps")
    play.start(1)
    assert play.look() == first
    play.start(2)
    assert (play.look().level, play.look().seed) == (2, 4)
    play.close()


def test_a_policy_chooses_the_same_in_the_same_level() -> None:
    def lines() -> list[str]:
        play, found = Play(Setup("GridWorld", seed=5)), []
        for _ in range(12):
            play.let("random")
            turn = play.look().turn
            assert turn is not None
            found.append(turn.line)
        play.close()
        return found

    assert lines() == lines()
    assert len(set(lines())) > 1


@pytest.mark.parametrize(
    ("world", "policy"),
    [
        ("TextRoom", "scripted"),
        ("SqlQuery", "oracle"),
        ("WordCraft", "random"),
        ("Household", "oracle"),
        ("PhysicsPlayground", "oracle"),
        ("SocialDilemma", "tit_for_tat"),
    ],
)
def test_policies_play_every_world(world: str, policy: str) -> None:
    if world == "PhysicsPlayground":
        pytest.importorskip("pybullet")
    play = Play(Setup(world))
    for steps in range(1, 4):
        if not play.over:
            play.let(policy)
            assert play.look().steps >= steps
    play.close()


def test_seats_partners_settings_and_scenarios() -> None:
    play = Play(
        Setup("GridWorld", "agent_1", "noop", settings=("agents=3", "width=9", "max_steps=4"))
    )
    view = play.look()
    assert (view.agent, view.agents) == ("agent_1", ("agent_0", "agent_1", "agent_2"))
    assert view.longest == 4
    assert "9 columns" in view.text
    for _ in range(4):
        play.let("noop")
    assert play.over
    assert play.look().stars is None
    play.close()
    story = Play(Setup("lost_key"))
    assert story.look().picture is None  # it would give away what is to be found
    assert story.picture().startswith(b"\x89PNG")
    assert story.look().goal == "Get the old document."
    story.close()


def test_a_recorded_game_replays(tmp_path: Path) -> None:
    log = tmp_path / "deep" / "game.jsonl"
    play = Play(Setup(DOOR_KEY, seed=2, log=log))
    for level in (1, 2):
        play.start(level)
        while not play.over:
            play.let("oracle")
    play.close()
    report = runs.replay(log)
    assert report.ok
    assert (report.complete, report.episodes) == (True, 3)  # the first was begun again


@pytest.mark.parametrize(
    ("setup", "error", "words"),
    [
        (Setup("Nowhere"), UnknownNameError, "Nowhere"),
        (Setup("GridWorld", agent="ada"), PiaseError, "ada"),
        (Setup("GridWorld", partners="human", settings=("agents=2",)), ConfigError, "person"),
        (Setup("GridWorld", partners="nobody", settings=("agents=2",)), UnknownNameError, "nobody"),
        (Setup("GridWorld", settings=("width",)), ConfigError, "key=value"),
        (Setup("GridWorld", settings=("width=0",)), ConfigError, "width"),
        (Setup("GridWorld", seed=-1), ConfigError, "seed"),
    ],
)
def test_what_is_not_allowed_is_told(setup: Setup, error: type[PiaseError], words: str) -> None:
    with pytest.raises(error, match=words):
        Play(setup)


def test_policies_that_cannot_play_are_told() -> None:
    play = Play(Setup("GridWorld"))
    before = play.look()
    for policy, words in (("human", "person"), ("nobody", "nobody"), ("sb3:none.zip", "none.zip")):
        with pytest.raises(PiaseError, match=words):
            play.let(policy)
        assert play.look() == before
    play.close()


class Told(Agent):
    """Gives the answer that it was made with, and speaks besides; it keeps what it learns from."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer
        self.learnt: list[Feedback] = []
        self.begun: list[int] = []

    def reset(self, seed: int) -> None:
        self.begun.append(seed)

    def act(self) -> Any:
        return self.answer

    def learn(self, feedback: Feedback) -> None:
        self.learnt.append(feedback)

    def log_entries(self) -> list[tuple[str, dict[str, Any]]]:
        return [("LLM_CALL", {"model": "told"})]

    def outgoing_letters(self) -> list[str]:
        return ["I come"]


def told(monkeypatch: pytest.MonkeyPatch, answer: Any) -> Told:
    """Let the name of any policy stand for one that is told what to do."""
    agent = Told(answer)
    monkeypatch.setattr(playing, "make_agent", lambda _: agent)
    return agent


def test_what_a_policy_fails_to_do_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = told(monkeypatch, InvalidAction(Outcome.TIMEOUT, "the model cannot be reached"))
    play = Play(Setup("GridWorld", seed=7))
    play.let("llm")
    turn = play.look().turn
    assert turn is not None
    assert (turn.line, turn.outcome) == ("", "timeout")
    assert turn.feedback == "the model cannot be reached"
    assert agent.learnt == [Feedback(turn.reward, False, False, Outcome.TIMEOUT)]
    play.let("llm")
    play.start(2)
    play.let("llm")
    assert agent.begun == [7, 8], "once a level, with its seed"
    play.close()


def test_what_a_policy_says_besides_is_sent_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, 0)
    log = tmp_path / "game.jsonl"
    play = Play(Setup("TextRoom", settings=("agents=2",), partners="noop", log=log))
    play.let("llm")
    play.close()
    lines = [event["event_data"] for event in runs.read(log)]
    assert "told" in [data.get("model") for data in lines]
    assert "I come" in [data.get("message") for data in lines]
    assert runs.replay(log).ok


def test_a_policy_learns_from_all_steps_of_a_command_that_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("pybullet")
    agent = told(monkeypatch, "forward 2")
    play = Play(Setup("PhysicsPlayground"))
    play.let("llm")
    view = play.look()
    assert view.steps > 1
    assert [feedback.reward for feedback in agent.learnt] == [view.score]
    assert play.line_words().endswith(", or 3 numbers")
    play.close()


def test_what_cannot_be_done_now_costs_nothing() -> None:
    play = Play(Setup(DOOR_KEY, settings=("max_steps=1",)))
    before = play.look()
    [number] = [i for i, choice in enumerate(before.choices) if not choice.legal][:1]
    assert play.choose(number) == "You cannot interact now."
    assert play.look() == before
    assert play.choose(0) is None
    over = play.look()
    assert over.over is not None
    assert play.choose(0) == play.type("move north") == play.let("oracle") == playing.OVER
    assert play.look() == over
    play.close()


def test_there_is_no_level_after_the_last_seed() -> None:
    play = Play(Setup("GridWorld", seed=MAX_SEED))
    before = play.look()
    with pytest.raises(ConfigError, match="no levels beyond"):
        play.start(2)
    assert play.look() == before
    play.close()


def test_fields_are_those_of_the_config() -> None:
    rows = {row["key"]: row for row in fields_of(DOOR_KEY)}
    assert rows["width"]["value"] == 6
    assert rows["width"]["description"]
    assert "envelope" not in rows


def test_stars() -> None:
    assert [stars(number) for number in range(4)] == ["☆☆☆", "★☆☆", "★★☆", "★★★"]
