"""`piase play`, through pipes and through a pseudo-terminal."""

from __future__ import annotations

import io
import re
import signal
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

import piase_gym
from piase_gym import registry
from piase_gym.cli.game.loops import complete
from piase_gym.cli.game.screen import OWN, Screen, head_line, help_text, paint
from piase_gym.cli.play import route
from piase_gym.names import task_fields
from piase_gym.play.session import Choices, Game
from piase_gym.play.settings import read_settings
from tests.helpers.cli_runner import OnTerminal, piase
from tests.worlds.text_room.helpers import SEVEN

needs_pty = pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
LANE = ["play", "GridWorld", *"-c start_pos=0,0 -c goal_pos=3,1 -c width=5 -c height=4".split()]
"""Four steps to the goal: three to the right, one down."""

WORLDS = '''
from tests.probes import register
from tests.probes.point_probe import PointProbe, PointProbeConfig
import piase_gym

register()


class Crashes(PointProbe):
    """Its third step is a bug."""

    def advance(self, plans):
        if self.points.t == 2:
            raise RuntimeError("a bug of the world's")
        return super().advance(plans)


piase_gym.register_world(
    piase_gym.WorldSpec(
        name="Crashes",
        summary="Its third step is a bug.",
        world=f"{__name__}:Crashes",
        config="tests.probes.point_config:PointProbeConfig",
        parser="tests.probes.point_views:parse",
    )
)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module of worlds."""
    (tmp_path / "my_worlds.py").write_text(WORLDS, encoding="utf-8")
    return tmp_path


# -- by lines -----------------------------------------------------------------------------


def test_lines_win_a_level() -> None:
    done = piase(*LANE, stdin="d\nmove right\n:move right\ns\n")
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "par 4" in words
    # Three moves at -0.1 and the goal at +10: the reward table of the page.
    assert "You won in 4 steps; nobody can do it in fewer. Perfect!" in words
    assert "Your score: 9.70, the oracle's: 9.70." in words
    assert "1 of 1 level won, 3 of 3 stars; best score 9.70 in level 1." in words
    assert "\x1b" not in done.stdout


def test_the_help_of_lines_names_nothing_that_lines_cannot_do() -> None:
    for name in ("GridWorld", "lost_key"):
        told = piase("play", name, stdin="help\nquit\n").stdout
        assert "A line is one of the keys" in told
        assert "next: next level" in told
        assert not re.search("Arrow keys|Esc|Tab|map,|the agent's text|picture", told)


@pytest.mark.parametrize(("detour", "stars"), [("a\n", 2), ("d\na\nd\na\n", 1)])
def test_detours_cost_stars(detour: str, stars: int) -> None:
    done = piase(*LANE, stdin=f"{detour}d\nd\nd\ns\nq\n")
    assert f"{stars} of 3 stars" in done.stdout
    assert "; 4 would do." in " ".join(done.stdout.split())


def test_a_step_is_told_in_the_words_of_the_text() -> None:
    told = piase("play", "the_signal", stdin="b\nb\nquit\n").stdout
    assert "say nothing: ok" in told
    assert "b: ok  +1  ✓ chose b" in told


def test_a_loss_is_told() -> None:
    done = piase(*LANE, "-c", "max_steps=4", stdin="a\na\na\na\nd\nq\n")
    words = " ".join(done.stdout.split())
    assert "You lost after 4 steps. It can be won in 4." in words
    assert "The level is over" in words
    assert "0 of 1 level won, 0 of 3 stars" in words


def test_levels_go_up_with_the_seed() -> None:
    done = piase("play", "GridWorld", "--seed", "7", stdin="n\nr\nn\nquit\n")
    heads = re.findall(r"level (\d+) \(seed (\d+)\)", done.stdout)
    assert heads == [("1", "7"), ("2", "8"), ("2", "8"), ("3", "9")]


def test_the_score_is_the_sum_of_rewards() -> None:
    lines = ["w", "move left", "stay", "s", "s", "move right"]
    done = piase("play", "GridWorld", "--no-tour", "--seed", "5", stdin="\n".join(lines))
    env = piase_gym.parallel_env("GridWorld", actions="text")
    env.reset(seed=5)
    score = 0.0
    for line in lines:
        line = {"w": "move up", "s": "move down"}.get(line, line)
        score += env.step({"agent_0": line})[1]["agent_0"]
    assert re.findall(r"score (-?\d+\.\d\d)", done.stdout)[-1] == f"{score:.2f}"


def test_what_is_not_possible_is_free() -> None:
    done = piase(*LANE, stdin="move nroth\n2\ninteract\n\n??\nq\n")
    assert "did you mean 'north'?" in done.stdout
    assert "You cannot interact now." in done.stdout
    assert "step 1/" not in done.stdout


@pytest.mark.parametrize(
    ("task", "steps"),
    [
        ("piase/SocialDilemma-PrisonersDilemma-v1", "step 0/100000"),  # geometric
        ("piase/SocialDilemma-StagHunt-v1", "step 0/20 "),
        ("piase/SocialDilemma-Harvest-4p-v1", "step 0/500 "),
        ("piase/GridWorld-Empty-5x5-v1", "step 0/100 "),
    ],
)
def test_the_head_says_when_a_level_ends(task: str, steps: str) -> None:
    game = Game(lambda name: piase_gym.gym_env(name, view="text"), (task,), 0)
    game.start(1)
    assert steps in head_line(game).plain + " "
    assert "fails, such as a bump, costs" in help_text(game)


@pytest.mark.parametrize(("height", "lines"), [(10, 3), (13, 6), (14, 8), (15, 8), (30, 8)])
def test_a_text_that_is_longer_than_the_screen_is_cut_and_says_so(height: int, lines: int) -> None:
    """It has eight lines, and six others are above and below it."""
    game = Game(lambda name: piase_gym.gym_env(name, view="text"), ("GridWorld",), 0)
    game.start(1)
    console = Console(file=io.StringIO(), width=80, height=height)
    console.print(Screen(game, console, False).draw(game.choices.now()))
    shown = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    text = [line[42:].rstrip() for line in shown]
    words = game.world.text(game.env.facts())
    whole = [str(line).rstrip() for line in Text(words).wrap(console, 38)]
    assert len(shown) == height
    more = ["… (t shows all)"] if lines < 8 else []
    assert text[1 : 1 + lines + len(more)] == whole[:lines] + more


@pytest.mark.parametrize("task", ["Harvest-8p", "Cleanup-8p"])
def test_a_commons_is_shown_around_the_agent(task: str) -> None:
    """One column a cell where two do not fit: the own arrow is in sight, legend and line too."""
    env = piase_gym.gym_env(f"piase/SocialDilemma-{task}-v1", view="text")
    env.reset(seed=3)
    world, (width, height) = env.world, (30, 14)
    for act in [3] * 12 + [1] * 6:
        env.step(act)
        shown = paint(world.ansi(), env.agent, world.agents, width, height)
        lines = shown.plain.split("\n")
        assert len(lines) <= height
        assert max(map(len, lines)) <= width
        own = [span for span in shown.spans if span.style == OWN]
        place = own[0]
        assert shown.plain[place.start : place.end] == "^>v<"[world.states["heading"][0, 0]]
        assert any(line.startswith(("a apple", "~ water")) for line in lines)
        assert any(env.agent in line for line in lines)
        bold = {shown.plain[s.start : s.end] for s in shown.spans if s.style == "bold"}
        assert bold == {env.agent}


def test_the_tour_visits_every_id() -> None:
    ids = piase_gym.list_tasks("GridWorld")
    done = piase("play", "GridWorld", "--tour", stdin="n\n" * (len(ids) - 1))
    shown = re.findall(r"^ (\S+)   ?level", done.stdout, re.M)
    assert sorted(f"piase/{name}" for name in shown) == sorted(ids)


def test_blind_shows_the_text_alone() -> None:
    done = piase(*LANE, "--blind", stdin="q\n")
    assert "You are agent_0 at column 0, row 0" in done.stdout
    assert "agent_0 at (0, 0)" not in done.stdout


def test_other_agents_are_partners() -> None:
    words = ["play", "piase/GridWorld-FourRooms-8x8-v1", "-c", "agents=3", "--agent", "agent_1"]
    done = piase(*words, "--partners", "noop", "--partners", "agent_2=oracle", stdin="stay\nq\n")
    pictures = re.findall(r"agent_(\d) at \((\d), (\d)\)", done.stdout)
    assert pictures[0] == pictures[3]  # no-op
    assert pictures[1] == pictures[4]  # the person
    assert pictures[2] != pictures[5]  # the oracle


def test_text_worlds_with_messages_and_late_joiners(folder: Path) -> None:
    words = ["play", "TextProbe", "-m", "my_worlds", "-c", "agents=2", "-c", "join_at=2,0"]
    done = piase(*words, "--partners", "noop", stdin="say to the world\n7\nl\n:q\n", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "step 2, door" in done.stdout.split("keys:")[0]
    assert "say to the world: ok" in done.stdout
    assert "look: ok" in done.stdout


def test_numbers_are_a_box(folder: Path) -> None:
    words = ["play", "PointProbe", "-m", "my_worlds"]
    done = piase(*words, stdin="0.5 -1\n9 0\n5\nthrust 3 0\n0.5\n", cwd=folder)
    assert done.returncode == 0, done.stderr
    for line in ("thrust 0.5 -1.0: ok", "thrust 1.0 0.0: ok", "coast: ok"):
        assert line in done.stdout
    assert "cannot be 3.0" in done.stdout
    assert "step 4/" not in done.stdout


def test_bytes_that_are_no_text_are_only_unknown() -> None:
    done = piase(*LANE, stdin="\x00\x1b[A\u2028\ud83d\n\nq\n".encode("utf-8", "surrogatepass"))
    assert done.returncode == 0, done.stderr
    assert "I do not know how to" in done.stdout


# -- on a terminal ------------------------------------------------------------------------


@needs_pty
def test_keys_win_and_the_terminal_is_restored() -> None:
    with OnTerminal(*LANE) as screen:
        screen.expect("level 1", "par 4", "step 0/200", "q quit")
        screen.press("\x1b[C")
        screen.expect("step 1/200", "move east: ok")
        assert screen.mode() != screen.before
        screen.press("d")
        screen.expect("step 2/200")
        screen.press("\x1bOC")
        screen.expect("step 3/200")
        screen.press("\x1b[B")
        screen.expect("★★★", "Perfect!", "Enter next level")
        screen.press("\r")
        screen.expect("level 2", "★ 3", "step 0/200")
        screen.press("q")
        assert screen.finish() == 0
        screen.expect("1 of 1 level won, 3 of 3 stars")
        screen.assert_restored()


@needs_pty
def test_commands_can_be_typed() -> None:
    with OnTerminal(*LANE) as screen:
        screen.expect("q quit")
        screen.press(":move eats\x7f\x7f\x7fa\t")
        screen.expect(": move east")
        screen.press("\r")
        screen.expect("move east: ok", "step 1/200")
        screen.press("\rdance\r")
        screen.expect("I do not know how to 'dance'")
        screen.press("2")
        screen.expect("You cannot interact now.")
        screen.press("z")
        screen.expect("z does nothing here")
        screen.press(":stay\x1b")
        screen.press("1")
        screen.expect("stay: ok", "step 2/200")
        screen.press("q")
        assert screen.finish() == 0


@needs_pty
def test_help_text_and_restart() -> None:
    with OnTerminal(*LANE, size=(100, 16)) as screen:
        screen.expect("q quit")
        screen.press("h")
        screen.expect("Arrow keys", "↓ more")
        screen.press(" " * 9)
        screen.expect("at the latest.")
        screen.press("xt")
        screen.expect("what agent_0 reads")
        screen.press("td")
        screen.expect("step 1/200")
        screen.press("r")
        screen.expect("step 0/200")
        screen.press("\x1a")  # there is no shell to go back to, so it goes on at once
        screen.expect("step 0/200", "q quit")
        screen.press("\x04")
        assert screen.finish() == 0
        screen.assert_restored()


@needs_pty
@pytest.mark.parametrize("way", ["ctrl-c", "SIGTERM", "SIGHUP"])
def test_the_terminal_is_restored_after_signals(way: str) -> None:
    with OnTerminal(*LANE) as screen:
        screen.expect("q quit")
        if way == "ctrl-c":
            screen.press("\x03")
            status = 130
        else:
            screen.signal(signal.Signals[way])
            status = 128 + signal.Signals[way]
        assert screen.finish() == status
        screen.assert_restored()
        assert "Traceback" not in screen.output


@needs_pty
def test_the_terminal_is_restored_after_a_bug(folder: Path) -> None:
    with OnTerminal("play", "Crashes", "-m", "my_worlds", cwd=folder) as screen:
        screen.expect("5 coast")
        screen.press("555")
        assert screen.finish() == 1
        screen.assert_restored()
        screen.expect("RuntimeError: a bug of the world's")


@needs_pty
def test_a_world_that_changes_what_can_be_done(folder: Path) -> None:
    words = ["play", "TextProbe", "-m", "my_worlds", "-c", "agents=2", "--partners", "oracle"]
    with OnTerminal(*words, cwd=folder, size=(120, 30)) as screen:
        shown = screen.expect("say hello", "q quit")
        key = re.findall(r"(\w) say hello", shown)[-1]
        screen.press(key)
        screen.expect("say hello: ok", "You speak up.")
        screen.press("q")
        assert screen.finish() == 0


@needs_pty
def test_a_dumb_terminal_is_asked_line_by_line() -> None:
    with OnTerminal(*LANE, term="dumb") as screen:
        screen.expect("keys:", ">")
        screen.press("d\n")
        screen.expect("move east: ok")
        screen.press("\x03")
        assert screen.finish() == 130
        assert "Traceback" not in screen.output
        assert screen.mode() == screen.before


# -- parts --------------------------------------------------------------------------------


def test_keys_stay_where_indices_do() -> None:
    env = piase_gym.parallel_env("GridWorld", layout="door_key")
    env.reset(seed=0)
    choices = Choices(env.world, 0)
    before = {choice.line: choice.key for choice in choices.now()}
    assert [before[f"move {way}"] for way in ("north", "south", "west", "east")] == [
        *("up", "down", "left", "right")
    ]
    for action in (0, 3, 3, 1, 2):
        env.step({"agent_0": action})
        assert {choice.line: choice.key for choice in choices.now()} == before
    legal = {choice.line for choice in choices.now() if choice.legal}
    assert legal == set(env.admissible_commands("agent_0"))


def test_a_picture_keeps_its_signs() -> None:
    picture = "#####\n#>.G#\n#####\n\n# wall   . floor   G goal\n> ann at (1, 1), facing right"
    shown = paint(picture, "ann", ("ann",), 60, 20).plain.split("\n")
    assert shown[:3] == ["██████████", "██> · G ██", "██████████"]
    assert shown[-1] == "> ann at (1, 1), facing right"
    cut = paint("\n".join(["." * 90] * 50), "ann", ("ann",), 40, 10).plain.split("\n")
    assert len(cut) == 10
    assert max(map(len, cut)) == 40


def test_a_large_map_is_shown_around_the_agent() -> None:
    rows = ["." * 9 for _ in range(40)]
    rows[30] = "....^...."
    shown = paint("\n".join([*rows, "", "^ ann at (4, 30)"]), "ann", ("ann",), 60, 12).plain
    assert "^" in shown.split("ann")[0]
    assert "ann at (4, 30)" in shown


@pytest.mark.parametrize(
    ("typed", "found"),
    [("mo", "move "), ("move l", "move left"), ("x", "x"), ("", ""), ("MOVE L", "move left")],
)
def test_lines_are_completed(typed: str, found: str) -> None:
    assert complete(typed, ["move left", "move right", "stay"]) == found


# -- worlds that are told -----------------------------------------------------------------


def test_a_told_world_is_played_by_typing() -> None:
    with OnTerminal("play", "lost_key") as game:
        shown = game.expect("Goal: Get the old document", "type a command")
        assert "hides" not in shown  # the map would give the key away
        game.press("\x1b[A")  # an empty line leaves arrows their meaning
        game.expect("You go north to the hallway.")
        game.press("open clok\r")
        game.expect("You see no such thing here; you see or hold: flashlight")
        game.press("map\r")
        game.expect("hides brass key")
        game.press("map\r")
        for line in SEVEN[1:]:
            game.press(f"{line}\r")
        game.expect("You won in 7 steps; nobody can do it in fewer.", "Enter next level")
        game.press("q")
        assert game.finish() == 0
        game.assert_restored()


@pytest.mark.parametrize("ends", ["quit\r", "\x04", "\x1bq"])
def test_a_told_world_can_be_left(ends: str) -> None:
    with OnTerminal("play", "lost_key") as game:
        game.expect("type a command")
        game.press("help\r")
        game.expect("This world is told, so you type", "any other key: back")
        game.press("x")
        game.expect("type a command")
        for key in ends.partition("\x1b")[1:] if ends.startswith("\x1b") else (ends,):
            game.press(key)
            if key == "\x1b":
                game.expect("n skip")
        assert game.finish() == 0


def test_lines_tell_no_secrets() -> None:
    done = piase("play", "lost_key", stdin="search grandfather clock\nq\n")
    assert "Goal: Get the old document" in done.stdout
    assert "hides" not in done.stdout


# -- where levels come from ---------------------------------------------------------------


def test_a_bare_world_is_a_tour() -> None:
    done = piase("play", "GridWorld", stdin="n\nn\n")
    assert len(set(re.findall(r"^ (\S+)   ?level", done.stdout, re.M))) == 3
    done = piase("play", "GridWorld", "-c", "width=5", stdin="n\nn\n")
    assert set(re.findall(r"^ (\S+)   ?level", done.stdout, re.M)) == {"GridWorld"}


def test_the_route_has_every_kind_before_larger_sizes() -> None:
    way = [name.removeprefix("piase/GridWorld-") for name in route("GridWorld")]
    assert way.index("Maze-9x9-v1") < way.index("Empty-6x6-v1") < way.index("Empty-16x16-v1")
    assert way.index("Maze-9x9-v1") < way.index("Tag-10x10-4p-v2")  # others join later
    assert sorted(route("TextRoom")) == sorted(piase_gym.list_tasks("TextRoom"))


def test_settings_keep_the_rest_of_a_scenario() -> None:
    for name in ("piase/TextRoom-Sluice-v3", "piase/TextRoom-LostKey-v3"):
        fields = task_fields(registry.task_spec(name))
        table = read_settings(name, ["rewards.win=5"])["rewards"]
        whole = registry.make_config(registry.world_spec("TextRoom"), fields).rewards.model_dump()
        changed = registry.make_config(
            registry.world_spec("TextRoom"), {**fields, "rewards": table}
        ).rewards.model_dump()
        assert changed == {**whole, "win": 5}


def test_scenarios_are_suggested() -> None:
    done = piase("play", "lost_kee")
    assert done.returncode == 2
    assert "did you mean 'lost_key'?" in done.stderr


@pytest.mark.parametrize(
    ("partner", "told"),
    [
        ("sb3:no_such.zip", "there is no model 'no_such.zip'"),
        ("agent_1=sb3:a=b/no_such.zip", "there is no model 'a=b/no_such.zip'"),
        ("sb4:model.zip", "unknown policy 'sb4:model.zip'"),
        ("human", "you are the only person here"),
    ],
)
def test_partners_are_checked(partner: str, told: str) -> None:
    pytest.importorskip("stable_baselines3")
    done = piase("play", "GridWorld", "-c", "agents=2", "--partners", partner)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
