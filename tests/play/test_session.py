"""The game of `piase play`: levels, scores, the oracle, keys and words."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import piase_gym
from piase_gym.core.commands import Command, InvalidAction, Outcome, Result
from piase_gym.core.rng import MAX_SEED
from piase_gym.envs.single import GymEnv
from piase_gym.errors import ConfigError
from piase_gym.play.session import (
    Choice,
    Choices,
    Game,
    Record,
    Reference,
    _numbers,
    certificate,
    farewell,
    find,
    play_oracle,
    sentence,
)
from tests import probes
from tests.helpers.games import BEST, do, make


@pytest.fixture
def game() -> Iterator[Game]:
    """The first level of a lane."""
    game = Game(make, ("GridWorld",), 5)
    game.start(1)
    yield game
    game.close()


# -- levels, scores and stars ----------------------------------------------------------------------


def test_a_level_is_kept_account_of(game: Game) -> None:
    assert (game.level, game.seed, game.steps, game.score, game.par) == (1, 5, 0, 0.0, 4)
    turn = do(game, *BEST[:3])
    assert (turn.line, turn.outcome) == ("move east", Outcome.OK)
    assert turn.reward == pytest.approx(game.score / 3)
    assert (game.steps, game.result, game.turn) == (3, None, turn)
    assert game.stars() == 0
    do(game, BEST[3])
    assert (game.steps, game.result, game.stars()) == (4, Result.WON, 3)
    assert game.records == {1: Record(4, game.score, 3)}
    assert (game.total_stars, game.won_levels) == (3, 1)
    best = game.score
    game.start(1)
    assert (game.steps, game.score, game.result, game.turn, game.reached) == (0, 0, None, None, [])
    do(game, "move down", "move up", *BEST)
    assert (game.steps, game.stars()) == (6, 2)
    assert game.records == {1: Record(4, best, 3)}
    game.start(2)
    assert game.seed == 6
    do(game, "move down", "move up", "stay", *BEST)
    assert (game.steps, game.stars()) == (7, 1)
    assert game.records[2] == Record(7, game.score, 1)
    assert (game.total_stars, game.won_levels) == (4, 2)
    told = f"2 of 2 levels won, 4 of 6 stars; best score {best:.2f} in level 1."
    assert farewell(game) == told


def test_a_level_that_is_won_faster_later_has_the_better_record(game: Game) -> None:
    do(game, "stay", *BEST)
    game.start(1)
    do(game, *BEST)
    assert game.records[1].steps == 4


def test_a_loss_is_no_star(game: Game) -> None:
    limit = game.world.config.max_steps
    do(game, *["stay"] * limit)
    assert (game.result, game.stars(), game.won_levels) == (Result.LOST, 0, 0)
    assert game.records == {1: Record(None, game.score, 0)}
    assert sentence(game).startswith(f"You lost after {limit} steps. It can be won in 4. Your ")
    assert farewell(game).startswith("0 of 1 level won, 0 of 3 stars; best score ")


def test_levels_end_with_the_seeds() -> None:
    game = Game(make, ("GridWorld",), MAX_SEED)
    game.start(1)
    with pytest.raises(ConfigError, match=f"no levels beyond seed {MAX_SEED}"):
        game.start(2)
    game.close()


def test_levels_take_the_next_name_in_turn() -> None:
    made: list[str] = []

    def noted(task: str) -> GymEnv:
        made.append(task)
        return make(task)

    names = ("piase/GridWorld-Empty-6x6-v1", "piase/GridWorld-v1")
    game = Game(noted, names, 0)
    first = game.env
    game.start(1)
    assert game.env is first
    game.start(2)
    assert game.task == names[1]
    assert first.runner._closed
    game.start(3)
    assert game.task == names[0]
    assert made == [names[0], names[1], names[0]]
    game.close()
    assert game.env.runner._closed


def test_the_oracle_is_asked_once_a_level(game: Game) -> None:
    asked: list[str] = []

    def noted(task: str) -> GymEnv:
        asked.append(task)
        return make(task)

    game.make = noted
    reference = game.reference()
    assert reference is not None
    assert (reference.won, reference.steps) == (True, 4)
    do(game, *BEST)
    assert reference.score == pytest.approx(game.score)
    assert game.reference() == reference
    assert asked == ["GridWorld"]
    game.par = None
    assert game.best_steps() == 4
    game._references[game.seed] = Reference(False, 9, 0.0)
    assert game.best_steps() is None
    assert game.stars() == 3


def test_an_oracle_that_does_not_come_to_an_end_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("piase_gym.play.session.PATIENCE", 3)
    env = make("GridWorld")
    assert play_oracle(env, 0) is None
    assert env.runner._closed
    monkeypatch.setattr("piase_gym.play.session.PATIENCE", 4)
    assert play_oracle(make("GridWorld"), 0) is not None


def test_a_world_without_an_oracle_has_no_par() -> None:
    probes.register()
    env = piase_gym.gym_env("PointProbe", view="text", actions="text")
    env.reset(seed=0)
    assert certificate(env.world, 0) is None
    assert play_oracle(env, 0) is None


def test_a_language_model_is_not_asked_twice() -> None:
    env = make("GridWorld")
    env.runner.partners = {1: SimpleNamespace(waits=True)}  # type: ignore[dict-item]
    assert play_oracle(env, 0) is None


@pytest.mark.parametrize(
    ("steps", "par", "oracle", "result", "told"),
    [
        (4, 4, None, "won", "You won in 4 steps; nobody can do it in fewer. Perfect! Your score: "),
        (3, 4, None, "won", "You won in 3 steps; the oracle needed 4. You beat it! Your score: "),
        (1, None, None, "won", "You won in 1 step! Your score: "),
        (4, None, 4, "won", "You won in 4 steps, as the oracle did. Well played! Your score: "),
        (9, None, 4, "won", "You won in 9 steps; 4 would do. Your score: "),
        (9, None, None, "drawn", "A draw after 9 steps. Your score: "),
        (1, None, None, "ended", "It is over after 1 step. Your score: "),
        (9, 4, None, "lost", "You lost after 9 steps. It can be won in 4. Your score: "),
    ],
)
def test_the_end_of_a_level_is_a_sentence(
    steps: int, par: Any, oracle: Any, result: str, told: str
) -> None:
    reference = None if oracle is None else Reference(True, oracle, 2.5)
    ended = SimpleNamespace(steps=steps, par=par, score=1.0, result=Result(result))
    ended.reference = lambda: reference
    ended.best_steps = lambda: par if par is not None else oracle
    score = "1.00." if oracle is None else "1.00, the oracle's: 2.50."
    assert sentence(ended) == told + score  # type: ignore[arg-type]


def test_words_of_a_session() -> None:
    assert farewell(SimpleNamespace(records={})) == "No level finished. See you again!"  # type: ignore[arg-type]
    records = {1: Record(None, 2.0, 0), 2: Record(9, 3.0, 1), 3: Record(4, 3.0, 3)}
    session: Any = SimpleNamespace(records=records, won_levels=2, total_stars=4)
    assert farewell(session) == "2 of 3 levels won, 4 of 9 stars; best score 3.00 in level 2."


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("1, -2.5", [1.0, -2.5]),
        ("3", [3.0]),
        ("", []),
        ("move 3", []),
        ("1 inf", []),
        ("nan", []),
    ],
)
def test_a_line_of_numbers_has_nothing_else(line: str, numbers: list[float]) -> None:
    assert _numbers(line) == numbers


# -- keys and their commands -----------------------------------------------------------------------


def test_arrows_come_first_and_other_keys_in_their_order(game: Game) -> None:
    rows = [(choice.key, choice.line, choice.legal) for choice in game.choices.now()]
    assert [row[:2] for row in rows[:5]] == [
        ("up", "move north"),
        ("down", "move south"),
        ("left", "move west"),
        ("right", "move east"),
        ("1", "stay"),
    ]
    assert [key for key, *_ in rows[4:]] == list("1234567890bcef"[: len(rows) - 4])
    assert [choice.label for choice in game.choices.now()[:5]] == ["↑", "↓", "←", "→", "1"]


def world_of(commands: list[Command], legal: list[Command], size: int | None = None) -> Any:
    """Return as much of a world as choices need."""
    return SimpleNamespace(
        capabilities=SimpleNamespace(discrete=True),
        num_actions=len(commands) if size is None else size,
        admissible=lambda agent: legal,
        command=lambda agent, index: commands[index],
        write=lambda command: " ".join([command.verb, *map(str, command.parameters.values())]),
    )


def test_directions_are_found_by_their_words() -> None:
    commands = [
        Command("turn_left"),
        Command("go", {"direction": "north"}),
        Command("move_forward"),
        Command("back"),
        Command("push", {"x": 1, "y": "up"}),
    ]
    choices = Choices(world_of(commands, commands[2:]), 0).now()
    found = {choice.key: (choice.line, choice.legal) for choice in choices}
    assert found == {
        "up": ("move_forward", True),  # it is legal, and going north is not
        "down": ("back", True),
        "left": ("turn_left", False),
        "1": ("go north", False),
        "2": ("push 1 up", True),
    }
    assert next(c for c in Choices(world_of(commands[:2], []), 0).now() if c.key == "up").line == (
        "go north"
    )


def test_keys_run_out() -> None:
    commands = [Command("do", {"what": number}) for number in range(64)]
    rows = Choices(world_of(commands, commands), 0).now()
    keys = [choice.key for choice in rows]
    assert "".join(keys) == "1234567890bcefgijklmopuvxyz"
    assert keys[27:] == [""] * 37
    assert not set("".join(keys)) & set("hnqrtwasd")
    assert find(rows, "1") is rows[0]
    assert find(rows, "") is None


def test_a_table_that_changes_or_is_large_is_no_fixed_one() -> None:
    commands = [Command("do", {"what": number}) for number in range(3)]
    world = world_of(commands, commands[:1])
    choices = Choices(world, 0)
    assert choices.fixed
    assert len(choices.now()) == 3
    commands[1] = Command("rest")
    assert [choice.line for choice in choices.now()] == ["do 0"]
    assert not choices.fixed
    commands[1] = InvalidAction(Outcome.ILLEGAL, "there is none")
    assert len(Choices(world, 0).now()) == 1
    assert Choices(world_of(commands, [], 64), 0).fixed
    assert not Choices(world_of(commands, [], 65), 0).fixed


def test_letters_are_arrows_too() -> None:
    rows = [Choice(key, Command(key), key, True) for key in ("up", "down", "left", "right", "1")]
    found = [find(rows, key) for key in "wsad1"]
    assert [choice.key for choice in found if choice] == ["up", "down", "left", "right", "1"]
    assert find(rows, "x") is None
