"""Texts and commands of the grids: both frames of reference, memory, synonyms, grammar."""

import json
import re

import numpy as np
import pytest

import piase_gym
from piase_gym import parallel_env
from piase_gym.core.commands import Command
from piase_gym.errors import ConfigError, TextParseError
from piase_gym.worlds.grid_world.cells import CODES
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.facts import parse
from piase_gym.worlds.grid_world.players.oracle import GridWorldOracle
from piase_gym.worlds.grid_world.players.scripted import GridWorldScript
from piase_gym.worlds.grid_world.world import GridWorld
from tests.helpers.grammar import faults
from tests.helpers.scripts import module_at
from tests.paths import ROOT

MAP = """
#######
#..k..#
#.....#
#..@.L#
#...O.#
#.G...#
#######
""".strip()
STEPS = {"north": (0, -1), "south": (0, 1), "west": (-1, 0), "east": (1, 0)}
HEADINGS = ("north", "east", "south", "west")
ASIDE = ("ahead", "right", "behind", "left")


def world_of(**config):
    """Return a world on the map, at the beginning of an episode."""
    return GridWorld(GridWorldConfig(**GridWorldConfig.plain({"map": MAP, **config})))


def do(world, line):
    """Read a line and do it; return what it was understood as and its outcome."""
    command = world.read(0, line)
    result = world.step([command])
    return command, str(result.outcomes[0])


def told_things(text, frame, place, heading):
    """Return where the named things of a text are on the grid, worked out from its words."""
    found = {}
    match = re.search(r"You see (.+)\.", text)
    for item in match.group(1).split("; ") if match else ():
        noun = re.match(r"(?:an? )?([a-z ]+?) \d", item).group(1)
        x, y = place
        for steps, side in re.findall(r"(\d+) ([a-z]+)", item):
            turn = ASIDE.index(side) + heading if frame == "agent" else HEADINGS.index(side)
            dx, dy = STEPS[HEADINGS[turn % 4]]
            x, y = x + int(steps) * dx, y + int(steps) * dy
        found[x, y] = noun
    return found


@pytest.mark.parametrize("observe", ["window", "grid"])
@pytest.mark.parametrize("frame", ["grid", "agent"])
def test_things_stand_where_the_words_say_in_every_heading(frame, observe):
    """Truth from outside: the map. In a window only what lies ahead is named."""
    things = {
        (x, y): {"k": "key", "L": "locked door", "O": "box", "G": "goal"}[sign]
        for y, row in enumerate(MAP.split("\n"))
        for x, sign in enumerate(row)
        if sign in "kLOG"
    }
    for heading in range(4):
        world = world_of(frame=frame, observe=observe)
        world.states["heading"][0, 0] = heading
        world.refresh()
        text = world.text(world.facts(0))
        dx, dy = STEPS[HEADINGS[heading]]
        seen = {
            place: name
            for place, name in things.items()
            if observe == "grid" or (place[0] - 3) * dx + (place[1] - 3) * dy >= 0
        }
        assert told_things(text, frame, (3, 3), heading) == seen
        assert f"facing {HEADINGS[heading]}." in text
        order = re.search(r"You see (.+)\.", text).group(1).split("; ")
        far = [sum(map(int, re.findall(r"(\d+) [a-z]", item))) for item in order]
        assert far == sorted(far)
        words = set(
            re.findall(
                r"\b(?:north|south|east|west|ahead|behind|left|right)\b",
                text.split("Ahead of you, to the ")[1].split("\n", 1)[1],
            )
        )
        assert words <= set(HEADINGS if frame == "grid" else ASIDE)


def test_walls_are_summed_up_and_read_back():
    """Walls of equal rows share words; things stand in for walls; the ends are told."""
    world = world_of()
    world.states["heading"][0, 0] = 0
    world.refresh()
    lines = world.text(world.facts(0)).split("\n")
    assert "Walls: 0 to 2 north, 3 west and 3 east; 3 north, all across." in lines
    assert "The grid ends 4 north." in lines
    text = "\n".join(lines)
    for old, new in (("The grid ends 4", "The grid ends 5"), ("facing north", "facing east")):
        with pytest.raises(TextParseError):
            parse(text.replace(old, new), world.config)
    moved = parse(text.replace("a key 2 north", "a key 1 north, 1 west"), world.config)
    changed = [
        name
        for name in ("cells", "position", "goal", "heading", "carrying")
        if getattr(moved, name) != getattr(world.facts(0), name)
    ]
    assert changed == ["cells"]


def test_no_wall_is_told_where_floor_lies_between_two():
    """A thing can hide a wall, and so join rows, but nothing is on bare floor."""
    rows = ("#######", "#.....#", "#.#.k.#", "#.k...#", "#.#.#.#", "#..@..#", "#######")
    config = GridWorldConfig.plain({"map": "\n".join(rows), "window": 5})
    world = GridWorld(GridWorldConfig(**config))
    world.states["heading"][0, 0] = 0
    world.refresh()
    facts = world.facts(0)
    assert parse(world.text(facts), world.config) == facts


@pytest.mark.parametrize(
    ("line", "command"),
    [
        *((way, f"move {way}") for way in STEPS),
        ("Go North.", "move north"),
        ("walk to the west", "move west"),
        ("move up", "move north"),
        ("left", "move west"),
        ("move forward", "move east"),
        ("northward", "move north"),
        *((way[0], f"move {way}") for way in STEPS),
        ("do nothing", "stay"),
    ],
)
def test_synonyms_of_moves(line, command):
    """Agents start facing east."""
    world = world_of()
    assert world.write(world.read(0, line)) == command


def test_deeds_are_understood_where_they_fit():
    """`pick up` is to interact with a key ahead, and nothing else."""
    world = world_of()
    assert do(world, "north")[1] == "ok"
    assert world.read(0, "open door").outcome == "unparsable"
    assert "ahead of you is a key" in world.read(0, "open door").message
    assert do(world, "take the key") == (Command("interact"), "ok")
    assert do(world, "south")[1] == do(world, "east")[1] == "ok"
    assert world.read(0, "close the door").outcome == "unparsable"
    assert do(world, "unlock the door with the key") == (Command("interact"), "ok")
    assert world.read(0, "open door").outcome == "unparsable"  # interacting would close it
    assert world.write(world.read(0, "close door")) == "interact"


def test_bumps_say_what_to_do():
    """A key or a door fills its cell; the reason says so."""
    env = parallel_env(
        GridWorldConfig(**GridWorldConfig.plain({"map": MAP})), view="text", actions="text"
    )
    env.reset(seed=0)
    env.step({"agent_0": "north"})
    text = env.step({"agent_0": "north"})[0]["agent_0"]
    assert "failed" in text
    assert "The key is in the way. Interact to pick it up." in text


def test_the_frame_of_the_agent_turns_on_the_spot():
    """`forward` and turns move as the compass says; old indices stay in the other frame."""
    world = world_of(frame="agent")
    assert world.position(0) == [3, 3]
    for line, heading in (("turn left", 0), ("turn around", 2), ("turn right", 3), ("left", 2)):
        assert do(world, line)[1] == "ok"
        assert int(world.states["heading"][0, 0]) == heading
        assert world.position(0) == [3, 3]
    assert do(world, "forward")[1] == "ok"
    assert world.position(0) == [3, 4]
    assert world.read(0, "move left").outcome == "unparsable"
    assert world.read(0, "north").outcome == "unparsable"
    assert world.admissible_lines(0)[:4] == ["forward", "turn around", "turn left", "turn right"]
    assert {tool["name"] for tool in world.tools(0)} == {"forward", "turn", "stay", "interact"}
    assert "forward" in world.instructions(0)
    assert "north" not in world.instructions(0).split("Answer with")[1]


def test_the_frame_follows_a_new_config():
    """Lines of commands are those of the present frame, and old names are read as data."""
    world = world_of()
    assert world.check(0, Command("move", {"direction": "up"})) == Command(
        "move", {"direction": "north"}
    )
    world.configure(world.config.model_copy(update={"frame": "agent"}))
    world.reset(0)
    world.step([3])
    assert world.last_steps()[0].command == "turn right"
    assert int(world.states["heading"][0, 0]) == 2


def test_players_play_in_either_frame():
    """Oracle and script win in the frame of the agent too, in a few more steps."""
    for player in (GridWorldOracle, GridWorldScript):
        steps = {}
        for frame in ("grid", "agent"):
            env = parallel_env("piase/GridWorld-DoorKey-6x6-v1", frame=frame, view="vector")
            env.reset(seed=4)
            policy, info, steps[frame] = player(env.world), {}, 0
            while env.agents:
                info = env.step({"agent_0": policy.act(0)})[4]
                steps[frame] += 1
            assert info["agent_0"]["result"] == "won"
        assert steps["grid"] <= steps["agent"] <= 2 * steps["grid"]


def test_memory_tells_what_was_seen_and_when():
    """Each remembered cell is what stood there, as many steps ago as it left the view."""
    env = parallel_env("piase/GridWorld-Obstacles-8x8-v1", view="both", recall="map")
    env.reset(seed=3)
    dice, last_seen, names = np.random.default_rng(0), {}, {v: k for k, v in CODES.items()}
    for step in range(60):
        facts = env.facts("agent_0")
        in_view = set()
        cells = env.world.states["cells"][0].reshape(env.world.side, -1)
        for row, line in enumerate(facts.cells):
            for column, name in enumerate(line):
                ahead, aside = len(facts.cells) - 1 - row, column - len(line) // 2
                dx, dy = STEPS[HEADINGS[("up", "right", "down", "left").index(facts.heading)]]
                x = facts.position[0] + ahead * dx - aside * dy
                y = facts.position[1] + ahead * dy + aside * dx
                if name not in ("outside", "unseen"):
                    in_view.add((x, y))
                    last_seen[x, y] = step
        expected = {
            place: (names[int(cells[place[1], place[0]])], step - then)
            for place, then in last_seen.items()
            if place not in in_view
        }
        assert {c.position: (c.name, c.ago) for c in facts.recall} == expected
        views = env.world.observation_text(0), env.world.vectors()[0]
        assert parse(env.world.text(facts), env.world.config) == facts
        assert (env.world.vector(facts) == views[1]).all()
        if not env.agents:
            break
        env.step({"agent_0": int(dice.integers(4))})
        if not env.agents:
            break
    assert len(expected) > 5
    env.reset(seed=3)
    assert env.facts("agent_0").recall == ()


def test_memory_of_ones_own_cell_is_what_one_stands_on():
    """Neither the box that was pushed from there, nor floor where one came without having seen."""
    env = parallel_env("GridWorld", map=[".....G", "'@O...", "......"], recall="map")
    env.reset(seed=0)
    for action in (3, 3, 2, 2, 2, 3, 3):  # east twice, pushing the box, west onto the door, east
        env.step({"agent_0": action})
    known = {c.position: c.name for c in env.facts("agent_0").recall if c.name != "floor"}
    assert known == {(0, 1): "open door"}  # the box is in view
    env.reset(seed=0)
    for action in (2, 3):  # onto the door without having seen it, and away
        env.step({"agent_0": action})
    known = {c.position: c.name for c in env.facts("agent_0").recall if c.name != "floor"}
    assert known == {(0, 1): "open door"}


def test_memory_is_in_snapshots_and_digests():
    """A snapshot keeps it through JSON; without it the digest is another."""
    env, other = (parallel_env("GridWorld", recall="map", view="both") for _ in range(2))
    env.reset(seed=1), other.reset(seed=2)
    for action in (0, 3, 1, 1, 2):
        env.step({"agent_0": action})
    other.restore(json.loads(json.dumps(env.snapshot())))
    assert other.facts("agent_0") == env.facts("agent_0")
    assert env.facts("agent_0").recall
    assert other.world.digest() == env.world.digest()
    other.world.states["memory"][0, 0] ^= 1
    assert other.world.digest() != env.world.digest()
    assert "memory" not in parallel_env("GridWorld").world.states.dtype.names
    with pytest.raises(ConfigError, match="recall='map' needs observe='window'"):
        parallel_env("GridWorld", recall="map", observe="grid")


CONFIGS = [
    {
        "layout": "multi_room",
        "doors": "mixed",
        "agents": 3,
        "boxes": 2,
        "hazards": 2,
        "fruits": 5,
        "movers": 2,
        "energy": 99,
        "symbols": 3,
        "width": 12,
        "height": 12,
        "recall": "map",
        "see_through_walls": False,
    },
    {"layout": "foraging", "agents": 2, "frame": "agent"},
    {"layout": "tag", "agents": 3, "observe": "grid"},
    {"map": MAP, "frame": "agent", "recall": "map"},
]
COMMONS = [
    {"game": "harvest"},
    {"game": "cleanup", "frame": "agent", "reputation": True, "symbols": 2, "timeout": 2},
]


@pytest.mark.parametrize(
    ("name", "config"),
    [*(("GridWorld", c) for c in CONFIGS), *(("SocialDilemma", c) for c in COMMONS)],
)
def test_texts_and_prompts_are_good_english(name, config):
    """Rules of grammar hold for every line that is shown, and texts of absent things are absent."""
    env = parallel_env(name, view="text", actions="text", **config)
    dice = np.random.default_rng(1)
    may_end = r"\S+ says: \d+"
    wrong = set()
    for seed in range(2):
        seen, _ = env.reset(seed=seed)
        for agent in env.agents:
            wrong |= set(faults(env.instructions(agent), r"- .*|Action: .*"))
        for _ in range(40):
            for text in seen.values():
                wrong |= set(faults(text, may_end))
                assert "No goal is in view" not in text or name == "GridWorld"
            if not env.agents:
                break
            lines = {a: env.admissible_commands(a) for a in env.agents}
            seen, *_ = env.step({a: lines[a][int(dice.integers(len(lines[a])))] for a in lines})
    assert not wrong


def test_prompts_of_tag_say_who_chases_whom():
    """Observations name agents and not their parts."""
    env = parallel_env("GridWorld", layout="tag", agents=4, taggers=2, view="text")
    told = "agent_0 and agent_1 are taggers; agent_2 and agent_3 are runners."
    assert told in env.instructions("agent_3")
    env = parallel_env("GridWorld", layout="tag", agents=2, taggers=1, view="text")
    assert "agent_0 is a tagger; agent_1 is a runner." in env.instructions("agent_0")
    assert "tagger" not in parallel_env("GridWorld", agents=2).instructions("agent_0")


def test_nothing_is_told_of_what_is_not_in_play():
    """Neither goals, energy and roles, nor what one carries where there is nothing to carry."""
    world = GridWorld(GridWorldConfig(**GridWorldConfig.plain({"layout": "foraging", "agents": 2})))
    text = world.text(world.facts(0))
    for word in ("goal", "energy", "role", "carry"):
        assert word not in text
        assert word not in world.instructions(0)
    assert "Pieces of food left: 3." in text


def test_the_page_of_episodes_is_fresh():
    """The page shows what a player sees now, and the first episode is as short as the oracle's."""
    pages = module_at(ROOT / "docs" / "grids_in_words.py")
    assert pages.PAGE.read_text("utf-8") == pages.page()
    first = pages.EPISODES[0]
    env = piase_gym.parallel_env(first.task, view="vector")
    env.reset(seed=first.seed)
    policy, steps = GridWorldOracle(env.world), 0
    while env.agents:
        env.step({"agent_0": policy.act(0)})
        steps += 1
    assert len(first.lines) <= 1.1 * steps
