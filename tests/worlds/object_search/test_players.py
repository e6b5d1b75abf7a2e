"""The players of ObjectSearch: plans are shortest, and reports are worth their price."""

from __future__ import annotations

import numpy as np
import pytest

from piase_gym.core.commands import Command
from piase_gym.core.mailbox import Message
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.facts import Spoken
from piase_gym.worlds.object_search.players.coverage import CoveragePlanner
from piase_gym.worlds.object_search.players.oracle import ObjectSearchOracle
from piase_gym.worlds.object_search.players.scripted import ObjectSearchScript
from piase_gym.worlds.object_search.world import ObjectSearch

SEEDS = range(30)


def steps(kind: str, seed: int) -> int:
    """Return how many steps four agents take to find everything."""
    world = ObjectSearch(ObjectSearchConfig(agents=4, max_steps=300))
    world.reset(seed)
    if kind == "planner":
        player = CoveragePlanner(world)
        players = [player] * 4
    else:
        players = [ObjectSearchScript(world, talks=kind == "talking") for _ in range(4)]  # type: ignore[misc]
    while any(world.alive):
        world.step([players[a].act(a) if world.alive[a] else None for a in range(4)])
    return int(world.states["t"][0])


def test_explorers_who_report_come_near_a_planner_and_beat_those_who_do_not() -> None:
    found = {k: np.array([steps(k, s) for s in SEEDS]) for k in ("planner", "talking", "silent")}
    assert found["talking"].mean() <= 1.3 * found["planner"].mean()
    gain = found["silent"] - found["talking"]
    assert gain.mean() - 1.96 * gain.std(ddof=1) / len(SEEDS) ** 0.5 > 0


def test_explorers_draw_reports_and_leave_alone_what_is_said_in_words() -> None:
    """Even words that are those of a report."""
    world = ObjectSearch(ObjectSearchConfig(agents=3, speech=True))
    seed = next(seed for seed in SEEDS if not _sees_others(world, seed))
    reporting = world.read(0, "stay and report")
    world.step([reporting, None, None])
    (report,) = world.facts(2).messages
    world.reset(seed)
    words = {"message": report.message}
    world.step([Command("say", words), Command("say", {"message": "I found the vase"}), None])
    assert [type(letter) for letter in world.facts(2).messages] == [Spoken, Spoken]
    player = ObjectSearchScript(world)
    player.act(2)
    assert player._others == {}
    world.step([reporting, None, None])
    player.act(2)
    assert list(player._others) == ["agent_0"]


def _sees_others(world: ObjectSearch, seed: int) -> bool:
    """Return whether the third agent starts with others in sight."""
    world.reset(seed)
    return bool(world.facts(2).others)


def test_words_are_no_report_even_if_they_sound_like_one() -> None:
    report, words = (kind("agent_0", "all", "I am here.") for kind in (Message, Spoken))
    assert report != words
    assert words != report
    assert not report == words  # noqa: SIM201
    assert len({report, words, Spoken(*words), Message(*report)}) == 2
    assert words == Spoken(*words) == tuple(words)
    assert not words != Spoken(*words)  # noqa: SIM202
    assert words != Spoken("agent_0", "all", "I am there.")


@pytest.mark.parametrize("seed", range(3))
def test_no_shorter_plan_exists_than_the_oracles(seed: int) -> None:
    config = ObjectSearchConfig(agents=1, width=6, height=6, objects=2, room=3, furniture=0.3)
    world = ObjectSearch(config)
    world.reset(seed)
    oracle = ObjectSearchOracle(world)
    wanted = oracle.certificate(0)
    assert wanted is not None
    assert wanted == _breadth_first(world)
    for _ in range(wanted):
        assert world.alive[0]
        world.step([oracle.act(0)])
    assert world.result(0) == "won"


def _breadth_first(world: ObjectSearch) -> int:
    """Return in how few steps a lone agent wins, by trying everything with the world itself."""
    start, names = world.get_state(), ("x", "y", "z", "heading", "pitch", "roll")
    layer, known, depth = [start], set[tuple[int, ...]](), 0
    while True:
        depth, after = depth + 1, []
        for state in layer:
            for action in range(12):
                world.set_state({**state, "t": 0})
                world.step([action])
                if not world.alive[0]:
                    world.set_state(start)
                    return depth
                record = world.states[0]
                key = (*(int(record[n][0]) for n in names), int(record["found"]))
                if key not in known:
                    known.add(key)
                    after.append(world.get_state())
        layer = after


def test_the_oracle_of_a_line_takes_the_least_steps() -> None:
    line = [["a"], [], ["b"], [], [], ["c"]]
    config = ObjectSearchConfig(backend="mock", line=line, agents=1, end_when_found=True)
    world = ObjectSearch(config)
    world.reset(0)
    oracle = ObjectSearchOracle(world)
    assert oracle.certificate(0) == 5
    for _ in range(5):
        world.step([oracle.act(0)])
    assert world.result(0) == "won"


def test_the_oracle_stays_when_nobody_is_in_play() -> None:
    world = ObjectSearch(ObjectSearchConfig(width=8, height=8, objects=9, agents=2, max_steps=1))
    world.reset(0)
    world.step([12, 12])
    assert world.result(0) == "lost"
    assert [ObjectSearchOracle(world).act(agent) for agent in range(2)] == [12, 12]
