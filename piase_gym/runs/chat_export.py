"""Runs as chats, for fine-tuning language models: what an agent read, and what it answered.

Each line is an episode of one agent: ``{"messages": [{"role", "content"}, ...], ...}``. The system
message is that of `World.instructions`; user messages are the texts of the steps, in the world's
native wording if it has one; assistant messages are the commands. With a `Prompt`, the former two
are what an `LLMAgent` would have been told. Texts are made by executing the run again, so a log of
any level with step lines will do. If a language model played, its own prompts and replies are used,
including unreadable replies and what it was told about them; for a call of a tool stands the
command.

An episode that was broken off, or is still in progress at the end of the log, has the result null;
one that went on from another state (a restore) is left out. ``mask`` has an entry for
each message: 1 for what the player wrote, which is what to learn. ``outcomes`` and ``rewards`` have
one for each assistant message, "" and 0 for those before a fork. `preferences` makes pairs of
answers, one better than the other, from the branches of a fork.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from piase_gym.agents.base import Percept
from piase_gym.agents.llm.prompt import Prompt
from piase_gym.agents.llm.replies import REPLY_EVENT
from piase_gym.core.commands import Command
from piase_gym.errors import ConfigError, RunError
from piase_gym.runs.branches import BRANCHES
from piase_gym.runs.reader import Run, read
from piase_gym.runs.replayer import Replayer
from piase_gym.runs.row_files import to_jsonl
from piase_gym.runs.schema import Event
from piase_gym.runs.sinks import output_file, refuse_log

Chat = dict[str, Any]


def transcripts(run: Run, prompt: Prompt | None = None) -> Iterator[Chat]:
    """Yield a chat for each agent's part in each episode of a run.

    Episodes still in progress at the end of the log come last; their result is ``None``, as is that
    of episodes that a reset broke off.

    Args:
        run: The run.
        prompt: How the players are prompted; ``None`` stands for the world's own texts.

    Raises:
        RunError: If the run cannot be executed again.
    """
    gathered = _Chats(run, prompt)
    for event in gathered.replayer.executed():
        gathered.hear(event)
        yield from gathered.finished
        gathered.finished.clear()
    yield from gathered.open_chats()


def check_prompt(prompt: Prompt | None, kind: str) -> None:
    """Raise `ConfigError` if a prompt is given that does not go with what is written."""
    fits = kind == "chat" and isinstance(prompt, Prompt) and prompt.answer == "line"
    if prompt is not None and not fits:
        raise ConfigError("prompt is a Prompt that asks for a line, and goes with format='chat'")


class _Chats:
    """Executes a run again and gathers what each agent read and answered."""

    def __init__(self, run: Run, prompt: Prompt | None) -> None:
        self.replayer, self.prompt = Replayer(run), prompt
        self.replayer.on_reset, self.replayer.on_step = self._reset, self._step
        self.finished: list[Chat] = []
        self._open: dict[tuple[int, str], Chat] = {}
        self._replies: dict[tuple[int, str], list[Event]] = {}
        self._seeds: dict[int, Any] = {}

    def open_chats(self) -> Iterator[Chat]:
        """Yield the episodes in progress."""
        for slot, name in list(self._open):
            yield from self._break_off(slot, name)

    def _break_off(self, slot: int, name: str) -> Iterator[Chat]:
        """Yield a chat that has an answer, without a last message that was not answered."""
        chat = self._open.pop((slot, name), None)
        if chat is None or len(chat["messages"]) <= 2:
            return
        if chat["messages"][-1]["role"] == "user":
            chat["messages"].pop()
            chat["mask"].pop()
        yield chat

    def hear(self, event: Event) -> None:
        """Take in a reply of a language model, which comes before the step that it leads to."""
        data = event["event_data"]
        if event["event_type"] == REPLY_EVENT and data.get("kind") == "decision":
            place = data.get("slot", 0), event["agent_id"]
            self._replies.setdefault(place, []).append(data)

    def _reset(self, slot: int, event: Event) -> None:
        """Begin episodes; those that were broken off by a reset have no result."""
        for name in self.replayer.run.agents:
            broken = [*self._break_off(slot, name)]
            self.finished += broken if event["event_data"]["kind"] == "reset" else []
            self._replies.pop((slot, name), None)
        self._seeds[slot] = event["event_data"].get("seed")
        self._enter(slot, event["episode"])

    def _enter(self, slot: int, episode: int) -> None:
        """Begin a chat for every agent in play that has none."""
        world = self.replayer.world(slot)
        for number, name in enumerate(world.agents):
            if world.alive[number] and (slot, name) not in self._open:
                self._begin(slot, name, number, episode)

    def _begin(self, slot: int, name: str, number: int, episode: int) -> None:
        world = self.replayer.world(slot)
        rules = world.instructions(number)
        if self.prompt is not None:
            rules = self.prompt.system(Percept(world, number, 0))
        start = [("system", rules), ("user", self._text(world, number))]
        self._open[slot, name] = {
            "messages": [{"role": role, "content": content} for role, content in start],
            "mask": [0, 0],
            "agent": name,
            "episode": episode,
            "seed": self._seeds[slot],
            "result": None,
            "return": 0.0,
            "outcomes": [],
            "rewards": [],
        }

    def _text(self, world: Any, number: int) -> str:
        if self.prompt is not None:
            return self.prompt.turn(Percept(world, number, 0), None)[0]
        if world.capabilities.native_text:
            return str(world.native_text(number))
        return str(world.observation_text(number))

    def _step(self, slot: int, event: Event, result: Any) -> None:
        """Take in a step."""
        world, table = self.replayer.world(slot), self.replayer.run.manifest["actions"]
        for name, said in event["event_data"]["commands"].items():
            chat, number = self._open.get((slot, name)), world.agents.index(name)
            replies = self._replies.pop((slot, name), [])
            if chat is None:
                continue
            line = _line(table[said] if isinstance(said, int) else said, world)
            _answer(chat, replies, line)
            chat["outcomes"][-1] = str(result.outcomes[number])
            chat["rewards"][-1] = float(result.rewards[number])
            chat["return"] += float(result.rewards[number])
            if result.terminated[number] or result.truncated[number]:
                chat["result"] = str(world.result(number))
                self.finished.append(self._open.pop((slot, name)))
            else:
                _add_message(chat, "user", self._text(world, number))
        if world.awaiting_agents:
            self._enter(slot, event["episode"])


def _answer(chat: Chat, replies: list[Event], line: str) -> None:
    """Add what an agent answered in a step: the replies of a model, or the line of the command."""
    if replies and replies[-1].get("command", line) != line:  # others decided for it
        replies = [{**replies[0], "text": line, "wrote": False}]
    for place, reply in enumerate(replies):
        first, prompt = reply["messages"][0], reply["messages"][-1]["content"]
        if place == 0:  # the model's own prompts replace the usual texts
            chat["messages"][-1]["content"] = prompt
            if first["role"] == "system":
                chat["messages"][0]["content"] = first["content"]
            if not chat["rewards"]:  # where a fork begins, it is shown earlier steps
                _begin_with(chat, reply["messages"][1:-1])
        else:
            _add_message(chat, "user", prompt)
        text = reply.get("text") or reply.get("command") or ""
        _add_message(chat, "assistant", text, wrote=reply.get("wrote", bool(text)))
        chat["outcomes"].append(reply["outcome"])
        chat["rewards"].append(0.0)
    if not replies:
        _add_message(chat, "assistant", line, wrote=bool(line))
        chat["outcomes"].append("")
        chat["rewards"].append(0.0)


def _begin_with(chat: Chat, earlier: list[Event]) -> None:
    """Put what was said before the log began between the first two messages."""
    answers = sum(message["role"] == "assistant" for message in earlier)
    chat["messages"][1:1], chat["mask"][1:1] = earlier, [0] * len(earlier)
    chat["outcomes"], chat["rewards"] = [""] * answers, [0.0] * answers


def _add_message(chat: Chat, role: str, content: str, wrote: bool = False) -> None:
    """Add a message."""
    chat["messages"].append({"role": role, "content": content})
    chat["mask"].append(int(wrote))


def _line(said: Any, world: Any) -> str:
    """Return a logged command as a line of text; empty for what could not be read."""
    if isinstance(said, dict) and "type" in said and "parameters" in said:
        return str(world.write(Command(said["type"], said["parameters"])))
    return ""


# -- preferences --------------------------------------------------------------------------


def preferences(
    folder: str | os.PathLike[str], out: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write the branches of forks as pairs of a preferred and a rejected answer.

    Each line is ``{"prompt": [...], "chosen": [...], "rejected": [...], ...}``: the messages up to
    where two branches part, the answer there in the branch with the higher return, and the answer
    in the other. A language model's messages have what it was shown of the steps before the cut, if
    that is so in both branches; others begin there. Branches that part anywhere but in an answer of
    the agent, or that have the same return, make no pair.

    Args:
        folder: The folder that `fork` was given as `logs`, or a folder of such folders.
        out: The file.
        overwrite: Whether an existing file may be overwritten.

    Returns:
        The file.

    Raises:
        RunError: If there are no branches in the folder, or one cannot be executed again.
        LogWriteError: If the file exists or cannot be written.
    """
    places = sorted({path.parent for path in Path(folder).rglob(BRANCHES[0])})
    if not places:
        raise RunError(f"{folder} has no branches of a fork; make them with fork(..., logs=FOLDER)")
    for place in places:
        for name in BRANCHES:
            refuse_log(Path(out), place / name)
    with output_file(Path(out), places[0] / BRANCHES[0], overwrite) as new:
        to_jsonl((pair for place in places for pair in _pairs(place)), new)
    return Path(out)


def _pairs(folder: Path) -> Iterator[Chat]:
    """Yield a pair for each agent that answered differently in two branches."""
    one, two = (
        {chat["agent"]: chat for chat in transcripts(read(folder / name))} for name in BRANCHES
    )
    for agent in (name for name in one if name in two):
        worse, better = sorted((one[agent], two[agent]), key=lambda chat: chat["return"])
        said = [chat["messages"] for chat in (better, worse)]
        earlier = [2 * chat["outcomes"].count("") for chat in (better, worse)]
        if earlier[0] != earlier[1]:  # a newcomer was not shown what was before the cut
            said = [[*part[:1], *part[1 + n :]] for part, n in zip(said, earlier, strict=True)]
        both = takewhile(lambda pair: pair[0] == pair[1], zip(*said, strict=False))
        prompt = [left for left, _ in both]
        rest = [part[len(prompt) :] for part in said]
        answers = all(part and part[0]["role"] == "assistant" for part in rest)
        if answers and better["return"] > worse["return"]:
            yield {
                "prompt": prompt,
                "chosen": rest[0][:1],
                "rejected": rest[1][:1],
                "agent": agent,
                "pair": folder.name,
                "seed": better["seed"],
                "chosen_return": better["return"],
                "rejected_return": worse["return"],
            }
