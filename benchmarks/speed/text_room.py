"""How fast TextRoom steps and makes quests, beside TextWorld in the same run.

Run it with ``python -m piase_gym.benchmarks.text_room --textworld PYTHON``, where ``PYTHON`` is
the interpreter of an environment in which TextWorld is installed (it need not be this one). Both
are asked for the same: description, inventory, score, won and the admissible commands at each
step, of which one is drawn at random. Every figure is per CPU-second of the process that plays;
the two take turns, several times over, and medians and ratios are shown. Without ``--textworld``
only TextRoom is measured, and the page says so.
"""

from __future__ import annotations

import functools
import json
import statistics
import subprocess
import time
from collections.abc import Mapping
from operator import truediv
from typing import Any

import piase_gym
from piase_gym.benchmarks.speed.shown import Section, Table
from piase_gym.benchmarks.speed.timing import interleaved, medians, milliseconds
from piase_gym.core.rng import Stream
from piase_gym.errors import ConfigError
from piase_gym.worlds.text_room.players.oracle import TextRoomOracle
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
    print(json.dumps(play(EnvInfos() if line.strip() == "bare" else full, {steps})), flush=True)
shutil.rmtree(folder)
"""


class TextWorldProcess:
    """TextWorld, played in a process of its own."""

    def __init__(self, python: str) -> None:
        """Start the process, and let it make a game.

        Raises:
            ConfigError: If the interpreter cannot be started.
        """
        code = TEXTWORLD.format(rooms=ROOMS, objects=OBJECTS, steps=STEPS // 10)
        pipe = subprocess.PIPE
        command = [python, "-W", "ignore", "-c", code]
        try:
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        except OSError as error:
            raise ConfigError(f"{python} cannot be started: {error}") from None
        self.made: dict[str, float] = json.loads(self._answer("{"))

    def _answer(self, start: str = "") -> str:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            if line.startswith(start):
                return line
        raise SystemExit("TextWorld does not run there; see the lines above")

    def measure(self, way: str) -> float:
        """Return steps per CPU-second, with admissible commands or bare."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{way}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def play(admissible: bool) -> float:
    """Return the steps per CPU-second of TextRoom behind its ParallelEnv, with text in and out."""
    env = piase_gym.parallel_env("TextRoom", view="text", actions="text", **QUEST)
    (name,) = env.possible_agents
    dice = Stream(1)
    env.reset(seed=1)
    lines = ["look", "inventory", "wait"]
    start = time.process_time()
    for _ in range(STEPS):
        if admissible:
            lines = env.admissible_commands(name)
        _, _, terminated, truncated, _ = env.step({name: lines[dice.integer(len(lines))]})
        if terminated[name] or truncated[name]:
            env.reset()
    return STEPS / (time.process_time() - start)


def make_quests(count: int = QUESTS) -> float:
    """Return the CPU-milliseconds of a reset with a new quest."""
    env = piase_gym.parallel_env("TextRoom", view="text", actions="text", **QUEST)
    return milliseconds(lambda seed: env.reset(seed=seed), range(count))


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


def measure_all(
    textworld: str | None = None, quests: int = 0, rounds: int = ROUNDS
) -> dict[str, Any]:
    """Measure TextRoom, and TextWorld in turn with it.

    Args:
        textworld: An interpreter that has TextWorld, or ``None``.
        quests: How many quests the oracle plays, too.
        rounds: How often everything is measured.

    Returns:
        JSON-able: ``rates`` (steps per CPU-second), ``ratios`` (to TextWorld asked for the same),
        ``quest_ms``, and where they were measured ``textworld`` (what making a game costs it) and
        ``certified`` (quests played, won, and CPU-milliseconds each).
    """
    ways = ("admissible commands", "bare")
    timers = {f"TextRoom, {way}": functools.partial(play, way != "bare") for way in ways}
    other = TextWorldProcess(textworld) if textworld else None
    if other is not None:
        timers |= {f"TextWorld, {way}": functools.partial(other.measure, way) for way in ways}
    rows = interleaved(timers, rounds, warm=0)
    entry: dict[str, Any] = {
        "rates": medians(rows),
        "ratios": {
            f"TextRoom, {way}": statistics.median(
                map(truediv, rows[f"TextRoom, {way}"], rows[f"TextWorld, {way}"])
            )
            for way in (ways if other else ())
        },
        "quest_ms": statistics.median(make_quests() for _ in range(rounds)),
    }
    if other is not None:
        entry["textworld"] = other.made
        other.close()
    if quests:
        won, cost = certify(quests)
        entry["certified"] = {"quests": quests, "won": won, "ms": cost}
    return entry


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as a table and sentences."""
    lines: list[tuple[str, ...]] = [("what", "steps per CPU-second", "of TextWorld")]
    for name, rate in found["rates"].items():
        ratio = found["ratios"].get(name)
        lines.append((name, f"{rate:,.0f}", f"{ratio:.1f}x" if ratio else "–"))
    sentences = [
        f"A reset with a new quest of {ROOMS} rooms and {OBJECTS} objects takes "
        f"{found['quest_ms']:.2f} ms of CPU."
    ]
    if "textworld" in found:
        made = found["textworld"]["made_cpu"]
        sentences.append(f"TextWorld's compiler makes such a game in {made:.1f} CPU-seconds.")
    else:
        sentences.append("TextWorld was not measured: no interpreter has it.")
    if "certified" in found:
        own = found["certified"]
        sentences.append(
            f"The oracle won {own['won']} of {own['quests']} quests, {own['ms']:.1f} ms each."
        )
    return {"text_room": Section([Table(lines)], [" ".join(sentences)])}


def textworld_python() -> str | None:
    """Return the first interpreter of the peers that has TextWorld."""
    from piase_gym.benchmarks.speed.peers import interpreters

    for python in interpreters():
        command = [python, "-I", "-W", "ignore", "-c", "import textworld"]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return python
    return None


OPTIONS = {"textworld": "an interpreter with TextWorld", "quests": "certify so many quests, too"}
