"""Runs as chats, for fine-tuning language models: what an agent read, and what it answered.

Each line is an episode of one agent: ``{"messages": [{"role", "content"}, ...], ...}``. The system
says what `World.instructions` says; the user says the text of each step, in the world's native
wording if it has one; the assistant gives the commands. Texts are made by executing the run again,
so a log of any level will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from piase_gym.core.commands import Command
from piase_gym.errors import RunError
from piase_gym.runs.reader import Run
from piase_gym.runs.replayer import Replayer
from piase_gym.runs.schema import Event

Chat = dict[str, Any]


def transcripts(run: Run) -> Iterator[Chat]:
    """Yield a chat for each agent's part in each episode of a run.

    Raises:
        RunError: If the run cannot be executed again.
    """
    gathered = _Chats(run)
    report = gathered.replayer.report
    for number, event in gathered.replayer.events():
        gathered.replayer.play(number, event)
        found = report.first_divergence or report.broken
        if found is not None:
            raise RunError(f"{run.path} cannot be executed again: {found}")
        yield from gathered.finished
        gathered.finished.clear()


class _Chats:
    """Executes a run again and gathers who read and answered what."""

    def __init__(self, run: Run) -> None:
        self.replayer = Replayer(run)
        self.replayer.on_reset, self.replayer.on_step = self._reset, self._step
        self.finished: list[Chat] = []
        self._open: dict[tuple[int, str], Chat] = {}

    def _reset(self, slot: int, event: Event) -> None:
        """Let episodes begin; those that were broken off are left out."""
        for key in [key for key in self._open if key[0] == slot]:
            del self._open[key]
        world = self.replayer.world(slot)
        for number, name in enumerate(world.agents):
            if world.alive[number]:
                data = event["event_data"]
                self._begin(slot, name, number, data.get("seed"), event["episode"])

    def _begin(self, slot: int, name: str, number: int, seed: Any, episode: int) -> None:
        world = self.replayer.world(slot)
        start = [("system", world.instructions(number)), ("user", self._text(world, number))]
        self._open[slot, name] = {
            "messages": [{"role": role, "content": content} for role, content in start],
            "agent": name,
            "episode": episode,
            "seed": seed,
            "result": None,
            "return": 0.0,
        }

    def _text(self, world: Any, number: int) -> str:
        if world.capabilities.native_text:
            return str(world.native_text(number))
        return str(world.text(world.facts(number)))

    def _step(self, slot: int, event: Event, tick: Any) -> None:
        """Take in a step."""
        world, table = self.replayer.world(slot), self.replayer.run.manifest["actions"]
        for name, said in event["event_data"]["commands"].items():
            chat, number = self._open.get((slot, name)), world.agents.index(name)
            if chat is None:
                continue
            line = _line(table[said] if isinstance(said, int) else said, world)
            chat["messages"].append({"role": "assistant", "content": line})
            chat["return"] += float(tick.rewards[number])
            if tick.terminated[number] or tick.truncated[number]:
                chat["result"] = str(world.result(number))
                self.finished.append(self._open.pop((slot, name)))
            else:
                text = self._text(world, number)
                chat["messages"].append({"role": "user", "content": text})


def _line(said: Any, world: Any) -> str:
    """Return the line of a command as logs have it; of what could not be read there is no line."""
    if isinstance(said, dict) and "type" in said and "parameters" in said:
        return str(world.write(Command(said["type"], said["parameters"])))
    return ""
