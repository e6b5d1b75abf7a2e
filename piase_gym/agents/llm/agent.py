"""`LLMAgent`: a language model behind an OpenAI-compatible endpoint, as an agent."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, Unpack

from piase_gym.agents.base import Action, Agent, Percept
from piase_gym.agents.fingerprints import fingerprint
from piase_gym.agents.llm.budget import Usage
from piase_gym.agents.llm.caller import PREFIX, CallSettings, ModelCaller, check_number
from piase_gym.agents.llm.client import Failure, Reply
from piase_gym.agents.llm.history import KEPT, History, HistoryPolicy, Messages
from piase_gym.agents.llm.prompt import TEMPLATE, Prompt, Recall, data, tools
from piase_gym.agents.llm.replies import (
    REPLY_EVENT,
    bounded,
    failure_value,
    replies_of,
    reply_value,
)
from piase_gym.agents.simple import percept_of, read_seed
from piase_gym.core.answers import (
    MAX_REPLY,
    Answer,
    plain,
    read_answer,
    read_tool_calls,
    without_reasoning,
)
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.digest import digest_json
from piase_gym.core.snapshot import DAMAGE
from piase_gym.errors import ConfigError, ModelError, SnapshotError, require_known, suggest

SETTINGS = "answer facts messages commands temperature max_tokens attempts history".split()
"""What scenarios and curricula may set."""
ON_FAILURE = ("go_on", "raise")
SHOWN = 300
"""Most characters of a reason that are shown as an inner state."""


class _EpisodeOverError(Exception):
    """A reply came after its episode."""


class LLMAgent(ModelCaller, Agent):
    """Asks a language model what to do.

    In each step the model is told what its agent perceives, and answers with a command in any of
    the forms of `piase_gym.core.answers`. If an answer cannot be read, the model is told why and
    asked again; if that does not help, or if there is no reply, the agent's command has the outcome
    ``unparsable``, ``too_long``, ``timeout`` or ``refused``, and the episode goes on.

    Args:
        model: The name of the model.
        base_url: The address of the endpoint; ``None`` asks OpenAI.
        api_key: The key, as `ModelCaller` takes it.
        prompt: A template in place of the usual system prompt; see `Prompt`.
        briefing: Text below the system prompt, such as the prompt of a curriculum's step.
        answer: The form of the answer: ``line``, ``yaml``, ``json`` or ``tools``.
        history: What is shown of earlier steps: ``full``, ``last:K`` or ``summary:K``.
        facts: Whether the facts are shown as JSON.
        messages: Whether messages are listed separately.
        commands: Whether the possible commands are listed.
        memories: A function that returns what the agent remembers about what it reads.
        attempts: How often the model is asked in one step, at most, for an answer that can be read.
        repeat: Which of several identical runs this is; each has replies of its own.
        on_failure: ``raise`` raises `ModelError` if there is no reply; this is for evaluations,
            where a server's failures must not count against a model.
        agent_id: Its name.
        call: `key_env`, `temperature`, `max_tokens`, `extra`, `timeout`, `retries`, `budget`,
            `prices` and `replies`, as `ModelCaller` takes them.

    Attributes:
        usage: What this agent has used, including known replies.
        prompt: How it is prompted.
        last_failure: The most recent failure to get a reply, or ``None``.

    Raises:
        ConfigError: If an argument is not allowed.
    """

    waits = True

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        prompt: str = TEMPLATE,
        briefing: str = "",
        answer: str = "line",
        history: str = "last:8",
        facts: bool = False,
        messages: bool = False,
        commands: bool = True,
        memories: Recall | None = None,
        attempts: int = 3,
        repeat: int = 0,
        on_failure: str = "go_on",
        agent_id: str = "agent_0",
        **call: Unpack[CallSettings],
    ) -> None:
        """Check everything; nothing is asked yet."""
        ModelCaller.__init__(self, model, base_url, api_key, **call)
        Agent.__init__(self, agent_id)
        self.prompt = Prompt(prompt, answer, facts, messages, commands)
        self.history, self.briefing, self.memories = history, briefing, memories
        self.attempts, self.repeat, self.on_failure = attempts, repeat, on_failure
        self._check_settings()
        self.last_failure: Failure | None = None
        self._seed = 0
        self._entries: list[dict[str, Any]] = []
        self._letters: list[str] = []
        self._begin()

    def _check_settings(self) -> None:
        """Raise `ConfigError` if a setting is not allowed."""
        self._check_call()
        check_number("attempts", self.attempts, 1, 100, whole=True)
        check_number("repeat", self.repeat, 0, 2**31, whole=True)
        if self.on_failure not in ON_FAILURE:
            raise ConfigError(f"on_failure is one of {ON_FAILURE}, not {self.on_failure!r:.60}")
        if not isinstance(self.briefing, str):
            raise ConfigError(f"briefing is a text, not {self.briefing!r:.60}")
        if self.memories is not None and not callable(self.memories):
            raise ConfigError(f"memories is a function of a text, not {self.memories!r:.60}")
        self._policy = HistoryPolicy.read(self.history)

    @classmethod
    def named(cls, name: str, **settings: Any) -> LLMAgent:
        """Return the agent for a policy's name, with or without its ``llm:``.

        Raises:
            ConfigError: If it is none.
        """
        rest = name.removeprefix(f"{PREFIX}:")
        model, at, url = rest.rpartition("@http")
        if not at:
            model, url = rest, ""
        if not model or ("@" in model and not at):
            raise ConfigError(
                "a language model is named by its name and its address, such as "
                f"llm:qwen3@http://127.0.0.1:8000/v1; or by its name alone, such as llm:gpt-5; "
                f"not llm:{rest!r:.80}"
            )
        return cls(model, f"http{url}" if at else None, **settings)

    @classmethod
    def recorded(cls, run: Any, seat: str, **settings: Any) -> LLMAgent:
        """Return an agent that decides again as one did in a run, from its recorded replies alone.

        Args:
            run: A run that was read, `piase_gym.runs.read(path)`.
            seat: The agent that got the replies.
            settings: Those that the agent had and that are not in the log, such as `memories`.

        Raises:
            ConfigError: If it is no run, or has no replies of this agent.
        """
        if isinstance(run, str | os.PathLike):
            raise ConfigError(f"a run is a log that was read: runs.read({str(run)!r:.100})")
        seats: dict[str, Any] = {}
        for event in run:
            if event["event_type"] == REPLY_EVENT:
                stored = event["event_data"].get("settings")  # lines about pictures have none
                if isinstance(stored, Mapping):
                    seats.setdefault(event["agent_id"], stored)
        if seat not in seats:
            text = f"this run has no replies of a language model that plays {seat!r:.60}"
            raise ConfigError(f"{text}; {suggest(seat, seats)}")
        known = {**seats[seat], **settings}
        return cls.named(str(known.pop("policy", "")), replies=replies_of(run), **known)

    # -- what it is -----------------------------------------------------------------------

    def __repr__(self) -> str:
        """Name the model."""
        return f"<LLMAgent {self.policy}, prompt {self.prompt.id}>"

    def policy_id(self) -> str | None:
        """Return the name."""
        return self.policy

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this agent from others, as JSON-able values."""
        prompt = self.prompt
        found = {
            "policy": self.policy,
            "prompt": prompt.template,
            **({"briefing": self.briefing} if self.briefing else {}),
            **{name: getattr(prompt, name) for name in ("answer", "facts", "messages", "commands")},
            "history": self.history,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "attempts": self.attempts,
            "repeat": self.repeat,
        }
        return {**found, "extra": self.extra} if self.extra else found

    @property
    def fingerprint(self) -> str:
        """What identifies this agent and its memories in benchmarks; its address does not count."""
        settings = {**self.settings(), "policy": self.model, "prompt_id": self.prompt.id}
        text = f"llm:{digest_json(settings)}"
        return text if self.memories is None else f"{text}, {fingerprint(self.memories)}"

    def twin(self, **changes: Any) -> LLMAgent:
        """Return a copy with some attributes changed.

        Raises:
            ConfigError: If there is no such attribute, or a value is not allowed.
        """
        twin = copy.deepcopy(self)
        for name in changes:
            require_known("attribute", name, [name for name in vars(twin) if name[0] != "_"])
        vars(twin).update(changes)
        twin._check_settings()
        twin._history.policy = twin._policy
        twin.usage = Usage()
        return twin

    @property
    def transcript(self) -> Sequence[Mapping[str, Any]]:
        """The calls of the present episode, as logs have them."""
        return self._entries

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take those settings of a scenario or curriculum that concern how a model is asked.

        They cannot set the address, the key or the budget. The `prompt` of a curriculum's step
        becomes the briefing, from the next episode on.

        Raises:
            ConfigError: If a value is not allowed.
        """
        given = {name: config[name] for name in SETTINGS if name in config}
        asked = {k: given.pop(k) for k in ("answer", "facts", "messages", "commands") if k in given}
        prompt = replace(self.prompt, **asked)
        trial = object.__new__(type(self))
        vars(trial).update({**vars(self), **given})
        trial._check_settings()  # before anything is changed
        self.prompt = prompt
        if isinstance(config.get("prompt"), str):
            self.briefing = config["prompt"]
        for name, value in given.items():
            setattr(self, name, value)
        self._check_settings()
        self._history.policy = self._policy

    def take_template(self, template: str) -> None:
        """Take another system prompt, from the next episode on.

        Raises:
            ConfigError: If it is no template; see `Prompt`.
        """
        self.prompt = replace(self.prompt, template=template)

    # -- an episode -----------------------------------------------------------------------

    def reset(self, seed: int) -> None:
        """Begin an episode: the model is shown nothing of earlier ones."""
        self._seed = seed
        self._begin()

    def _begin(self) -> None:
        """Forget the episode."""
        self._history = History(self._policy)
        self._system = ""
        self._tools: list[dict[str, Any]] = []
        self._final: Failure | None = None
        self._calls = 0
        self._reason = self._thinking = ""
        self._thread: threading.Thread | None = None
        self._found: list[Action | BaseException] = []
        self._entries, self._letters, self._told = [], [], 0
        self._cut = ""

    def begin_act(self) -> None:
        """Begin to ask in a thread; `act` waits for the result."""
        if self._thread is None:
            self._found = []
            self._thread = threading.Thread(
                target=self._think, args=(self._found,), name=f"llm-{self.get_id()}", daemon=True
            )
            self._thread.start()

    def _think(self, found: list[Action | BaseException]) -> None:
        """Decide, and keep the result."""
        try:
            found.append(self._decide())
        except BaseException as error:  # raised again by `act`
            found.append(error)

    def act(self) -> Action:
        """Return the command, or an `InvalidAction` in its place.

        Raises:
            ModelError: If there is none because the model cannot be asked, and `on_failure` is
                ``raise``.
            UnsupportedError: If nothing was perceived.
        """
        thread, self._thread = self._thread, None
        if thread is None:
            return self._decide()
        waited_for = self._found
        thread.join()
        (found,) = waited_for
        if isinstance(found, BaseException):
            raise found
        return found

    def follow_act(self, act: Any) -> None:
        """Take note of what was done, without asking the model."""
        percept = percept_of(self)
        self._prepare(percept)
        _, kept = self.prompt.turn(percept, None)
        if isinstance(act, int):
            act = percept.world.command(percept.index, act)
        line = percept.write(act) if isinstance(act, Command) else ""
        self._history.add(kept, line)
        if self._history.is_long:
            self._history.shorten("")

    def outgoing_letters(self) -> Sequence[str]:
        """Return and forget what the model tells the other agents."""
        found, self._letters = self._letters, []
        return found

    def log_entries(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return the model's replies since the last call, as lines for logs."""
        found = self._entries[self._told :]
        self._told = len(self._entries)
        return [(REPLY_EVENT, entry) for entry in found]

    def internal_state(self) -> dict[str, Any] | None:
        """Return how often the model was asked, with its reason and its thoughts if it gave any."""
        found = {"reason": self._reason[:SHOWN], "thinking": self._thinking[:SHOWN]}
        return {"calls": self._calls, **{name: text for name, text in found.items() if text}}

    # -- a decision -----------------------------------------------------------------------

    def _decide(self) -> Action:
        """Return a command, or a reason why there is none."""
        try:
            return self._ask_for_command()
        except _EpisodeOverError:
            return InvalidAction(Outcome.TIMEOUT, f"{self.policy}: the episode ended before")

    def _ask_for_command(self) -> Action:
        """Ask until there is a command, or a reason why there is none."""
        percept = percept_of(self)
        if self._final is not None:
            return self._failed(self._final)
        self._prepare(percept)
        if self._history.is_long:
            self._summarise()
        content, kept = self.prompt.turn(percept, self.memories)
        system = {"role": "system", "content": self._system}
        content, self._cut = f"{self._cut}{content}", ""
        asked = [system, *self._history.messages(), {"role": "user", "content": content}]
        new: Messages = asked if self._calls == 0 else asked[-1:]
        answered, found = "", InvalidAction(Outcome.UNPARSABLE, "")
        for _ in range(self.attempts):
            reply = self._ask(asked, new)
            if isinstance(reply, Failure):
                return self._failed(reply)
            command, answered = self._understood(reply, percept)
            if isinstance(command, Command):
                self._history.add(kept, answered)
                return command
            found = command
            self.usage.unreadable += 1
            reason = f"That could not be read: {found.message}. Answer again, with one command."
            new = [{"role": "user", "content": data(reason)}]
            asked = [*asked, {"role": "assistant", "content": answered or "(no answer)"}, *new]
        self._history.add(kept, answered)
        return found

    def _prepare(self, percept: Percept) -> None:
        """Write what stays the same throughout an episode."""
        if not self._system:
            briefing = f"\n\n{plain(self.briefing)}" if self.briefing else ""
            self._system = self.prompt.system(percept) + briefing
        if self.prompt.answer == "tools" and not self._tools:
            self._tools = tools(percept)

    def _understood(self, reply: Reply, percept: Percept) -> tuple[Command | InvalidAction, str]:
        """Return the command in a reply, and the reply as it is shown in later steps."""
        found: Answer | InvalidAction
        if reply.tool_calls:
            found = read_tool_calls(reply.tool_calls)
        else:
            world, reads = percept.world, (percept.legal, percept.reads)
            found = read_answer(reply.text, reads, world.multiline, world.any_line)
        command: Command | InvalidAction
        if isinstance(found, Answer):
            self._reason, self._thinking = found.reason, found.thinking or reply.thinking
            command = percept.read(found.command)
        else:
            command = found
        if reply.cut and isinstance(command, InvalidAction):
            limit = f"max_tokens={self.max_tokens}" if self.max_tokens else "the server's limit"
            text = f"the reply was cut off at {limit}: {command.message}"
            command = command._replace(message=text)
        self._note(command, percept)
        said = found.message if isinstance(found, Answer) else ""
        if said and isinstance(command, Command) and percept.can_tell:
            self._send_message(plain(said), percept)
        if reply.tool_calls and not reply.text:
            return command, percept.write(command) if isinstance(command, Command) else ""
        shown = without_reasoning(plain(reply.text[:MAX_REPLY]))[1][:KEPT]
        return command, data(shown)  # it may repeat what others wrote

    def _send_message(self, said: str, percept: Percept) -> None:
        """Send the others a message; what is not sent of it, the model is told in the next step."""
        most = percept.longest_letter
        if not percept.may_tell:
            self._cut = "Your message to the others was not sent: you could not speak then.\n\n"
            return
        self._letters.append(said)
        if len(said) > most:
            self._cut = f"Your message to the others was cut to its first {most} characters.\n\n"

    def _summarise(self) -> None:
        """Let the model sum up the older steps."""
        system = {"role": "system", "content": self._system}
        question = self._history.question()
        reply = self._ask([system, *question], question[-1:], "summary")
        if isinstance(reply, Failure):
            self._history.shorten("")
            self._failed(reply)
        else:
            self._history.shorten(data(without_reasoning(plain(reply.text))[1]))

    def _failed(self, failure: Failure) -> Action:
        """Return what takes the place of a command."""
        self.last_failure = failure
        if failure.final:
            self._final = failure
        if self.on_failure == "raise":
            raise ModelError(f"{self.policy}: {failure.message}")
        self._reason = self._thinking = ""
        return InvalidAction(failure.outcome, f"{self.policy}: {failure.message}")

    # -- a call ---------------------------------------------------------------------------

    def _ask(self, messages: Messages, new: Messages, kind: str = "decision") -> Reply | Failure:
        """Return the known or the new reply to messages, and record it.

        Raises:
            _EpisodeOverError: If another episode, which must know nothing of this, has begun.
        """
        request = self._request(messages, tools=self._tools if kind == "decision" else None)
        entry: dict[str, Any] = {"call": self._calls, "kind": kind, "prompt_id": self.prompt.id}
        if self._calls == 0:
            entry["settings"] = self.settings()
        entries = self._entries
        key, reply = self._reply_to(request, self.repeat, self._seed, self._calls)
        if entries is not self._entries:
            raise _EpisodeOverError
        self._calls += 1
        entry |= {"messages": new, "request": key}
        if isinstance(reply, Failure):
            entry |= failure_value(reply)
        else:
            reply = bounded(reply)
            entry |= {**reply_value(reply), "outcome": "ok"}
        self._entries.append(entry)
        return reply

    def _note(self, command: Command | InvalidAction, percept: Percept) -> None:
        """Write into the entry of a reply what was understood."""
        entry = self._entries[-1]
        if isinstance(command, Command):
            entry |= {"outcome": "ok", "command": percept.write(command)}
        else:
            entry |= {"outcome": str(command.outcome), "told": command.message}

    # -- the state is a value -------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return the episode as the model knows it."""
        return {
            "seed": self._seed,
            "calls": self._calls,
            "system": self._system,
            "history": self._history.get_state(),
            "cut": self._cut,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned.

        Raises:
            SnapshotError: If it is no state of such an agent.
        """
        seed, calls = read_seed(state), read_seed(state, "calls")
        history = History(self._policy)
        try:
            history.set_state(state["history"])
            system, cut = str(state["system"]), str(state.get("cut", ""))
        except DAMAGE as error:
            raise SnapshotError(f"this is no state of a language model: {error!r:.200}") from None
        self._seed = seed
        self._begin()
        self._calls, self._system, self._history, self._cut = calls, system, history, cut

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the agent; endpoint, key, budget and known replies are shared."""
        twin = super().__deepcopy__(memo)
        twin.set_state(self.get_state())
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the key, and what goes on in a thread."""
        return {**super().__getstate__(), "_thread": None, "_found": [], "percept": None}
