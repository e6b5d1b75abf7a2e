"""How fast TextRoom steps and makes quests, beside TextWorld in the same run.

Run it with ``python -m piase_gym.benchmarks.text_room --textworld PYTHON``, where ``PYTHON`` is
the interpreter of an environment in which TextWorld is installed (it need not be this one). Both
are asked for the same: description, inventory, score, won and the admissible commands at each
step, of which one is drawn at random. Every figure is per CPU-second of the process that plays;
the two take turns, several times over, and medians and ratios are shown. Without ``--textworld``
only TextRoom is measured, and the page says so.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from typing import Any

from rich.console import Console
from rich.table import Table

import piase_gym
from piase_gym.rng import Stream
from piase_gym.worlds.text_room.oracle import TextRoomOracle
from piase_gym.worlds.text_room.world import TextRoom

ROUNDS = 5
STEPS = 4000
QUESTS = 200
ROOMS, OBJECTS = 5, 10
QUEST: dict[str, Any] = {"rooms": ROOMS, "depth": 2, "distractors": OBJECTS - 5, "max_steps": 100}
"""As large as the game that TextWorld is asked for."""

TEXTWORLD = """
import json, os, random, shutil, sys, tempfile, time
import textworld
from textworld import EnvInfos, GameOptions

folder = tempfile.mkdtemp()
options = GameOptions()
options.nb_rooms, options.nb_objects, options.quest_length, options.seeds = {rooms}, {objects}, 5, 7
options.path = os.path.join(folder, "game.z8")
start, wall = os.times(), time.perf_counter()
game_file, game = textworld.make(options)
end = os.times()
made = sum(end[:4]) - sum(start[:4])  # the compiler of games is a process of its own
wall = time.perf_counter() - wall

def play(infos, steps):
    env = textworld.start(game_file, infos)
    state, dice = env.reset(), random.Random(1)
    known = ["look", "inventory", "wait"]
    begin = sum(os.times()[:4])
    for _ in range(steps):
        commands = state.get("admissible_commands") or known
        state, score, done = env.step(dice.choice(commands))
        if done:
            state = env.reset()
    spent = sum(os.times()[:4]) - begin
    env.close()
    return steps / spent

print(json.dumps({{"made_cpu": made, "made_wall": wall}}), flush=True)
full = EnvInfos(description=True, inventory=True, admissible_commands=True, score=True, won=True)
for line in sys.stdin:
    steps = int(line)
    rows = {{"admissible": play(full, steps), "bare": play(EnvInfos(), steps)}}
    print(json.dumps(rows), flush=True)
shutil.rmtree(folder)
"""


class TextWorldProcess:
    """TextWorld, played in a process of its own."""

    def __init__(self, python: str) -> None:
        code = TEXTWORLD.format(rooms=ROOMS, objects=OBJECTS)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [python, "-W", "ignore", "-c", code], stdin=pipe, stdout=pipe, text=True
        )
        self.made = self._answer()

    def _answer(self) -> dict[str, float]:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            if line.startswith("{"):
                found: dict[str, float] = json.loads(line)
                return found
        raise SystemExit("TextWorld does not run there; see the lines above")

    def measure(self, steps: int) -> dict[str, float]:
        """Return steps per CPU-second, with admissible commands and bare."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def play(admissible: bool, steps: int = STEPS) -> float:
    """Return the steps per CPU-second of TextRoom behind its ParallelEnv, with text in and out."""
    env = piase_gym.parallel_env("TextRoom", view="text", actions="text", **QUEST)
    (name,) = env.possible_agents
    dice = Stream(1)
    env.reset(seed=1)
    lines = ["look", "inventory", "wait"]
    start = time.process_time()
    for _ in range(steps):
        if admissible:
            lines = env.admissible_commands(name)
        _, _, terminated, truncated, _ = env.step({name: lines[dice.integer(len(lines))]})
        if terminated[name] or truncated[name]:
            env.reset()
    return steps / (time.process_time() - start)


def make_quests(count: int = QUESTS) -> float:
    """Return the CPU-milliseconds of a reset with a new quest."""
    env = piase_gym.parallel_env("TextRoom", view="text", actions="text", **QUEST)
    env.reset(seed=0)
    start = time.process_time()
    for seed in range(count):
        env.reset(seed=seed)
    return 1000 * (time.process_time() - start) / count


def certify(count: int) -> tuple[int, float]:
    """Let the oracle play quests over the range of difficulty.

    Returns:
        How many were won, and the CPU-milliseconds of an episode.
    """
    won, dice = 0, Stream(3)
    start = time.process_time()
    for seed in range(count):
        env = piase_gym.parallel_env(
            "TextRoom",
            rooms=1 + dice.integer(16),
            depth=dice.integer(9),
            distractors=dice.integer(17),
            theme=("house", "castle", "ship")[dice.integer(3)],
            view="vector",
        )
        env.reset(seed=seed)
        assert isinstance(env.world, TextRoom)
        oracle, infos = TextRoomOracle(env.world), {}
        while env.agents:
            infos = env.step({"agent_0": oracle.act(0)})[4]
        won += infos["agent_0"]["result"] == "won"
    return won, 1000 * (time.process_time() - start) / count


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--textworld", metavar="PYTHON", help="an interpreter with TextWorld")
    parser.add_argument("--quests", type=int, default=0, help="certify so many quests, too")
    options = parser.parse_args()
    console = Console()
    other = TextWorldProcess(options.textworld) if options.textworld else None
    rows: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        rows.setdefault("TextRoom, admissible commands", []).append(play(True))
        rows.setdefault("TextRoom, bare", []).append(play(False))
        if other is not None:
            found = other.measure(STEPS // 10)
            for kind, name in (("admissible", "admissible commands"), ("bare", "bare")):
                rows.setdefault(f"TextWorld, {name}", []).append(found[kind])
    table = Table("what", "steps per CPU-second", "of TextWorld")
    for name, figures in rows.items():
        yardstick = rows.get(name.replace("TextRoom", "TextWorld"))
        ratios = [a / b for a, b in zip(figures, yardstick or [], strict=False)]
        shown = f"{statistics.median(ratios):.1f}x" if ratios else "not measured"
        table.add_row(name, f"{statistics.median(figures):,.0f}", shown)
    console.print(table)
    quest = statistics.median(make_quests() for _ in range(ROUNDS))
    console.print(
        f"a reset with a new quest of {ROOMS} rooms and {OBJECTS} objects: {quest:.2f} ms"
    )
    if other is not None:
        made = other.made
        console.print(
            f"TextWorld makes such a game in {made['made_cpu']:.1f} CPU-seconds "
            f"({made['made_wall']:.1f} s)"
        )
        other.close()
    else:
        console.print("TextWorld was not measured: give --textworld an interpreter that has it")
    if options.quests:
        won, cost = certify(options.quests)
        console.print(f"oracle: {won} of {options.quests} quests won, {cost:.1f} ms each")


if __name__ == "__main__":
    main()
