"""What a recorder of a single environment does about all that is not a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from piase_gym.core.events import Event
from piase_gym.runs.book import Book
from piase_gym.runs.derive import PERCEPT
from piase_gym.runs.expand import AgentEvent
from piase_gym.runs.options import Options
from piase_gym.runs.recorder import Recorder
from piase_gym.runs.sinks import LoggerInterface

if TYPE_CHECKING:
    from piase_gym.envs.runner import EpisodeRunner

KINDS = (
    "reset reconfigure hint message order send poll letter restore rebuild state log close".split()
)


class HearingRecorder(Recorder):
    """Hears a runner's events and writes their lines; `DriverRecorder` adds the steps.

    Attributes:
        driver: What drives the environment.
        book: The present episode.
    """

    def __init__(
        self, runner: EpisodeRunner, sinks: Sequence[LoggerInterface], options: Options
    ) -> None:
        """Open the run."""
        super().__init__(runner.world, sinks, options)
        self.runner = runner
        self.book: Book | None = None
        self._letters: list[dict[str, Any]] = []
        self._find_seers()

    def _find_seers(self) -> None:
        """Find out whose perceptions are logged."""
        self._seers = [n for n in self.agents if self.wants(n, PERCEPT)]

    def books(self) -> Sequence[Book | None]:
        """Return the one book."""
        return (self.book,)

    def _percepts(self, names: Sequence[str]) -> list[AgentEvent]:
        """Return what agents perceive now."""
        return self.percepts(names, self.world, self.runner.steps, None) if self._seers else []

    def _take_over(self) -> None:
        """Begin with an environment that is in the midst of an episode or has a config waiting."""
        runner = self.runner
        if runner.seed is not None and any(runner.world.alive):
            self._restored(runner.snapshot())
        elif runner.pending is not None:
            changes = runner.world.config.diff(runner.pending)
            self.post("ENVIRONMENT_STATE_CHANGED", {"kind": "reconfigure", "changes": changes})

    def final_state(self) -> None:
        """Write the state of now, if it can be had."""
        if self.book is not None and self.book.begun and self.levels.steps:
            data = {"kind": "snapshot", "snapshot": self.world.snapshot()}
            self.post("ENVIRONMENT_STATE_CHANGED", data, episode=self.book.episode)

    def _hear(self, event: Event) -> None:
        """Take note of an event that is not a step."""
        self.interrupt()
        getattr(self, f"_on_{event.kind}")(event.agent, event.data)

    def _on_reset(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """An episode begins."""
        self.break_off(self.book, "reset")
        self._letters.clear()
        self._enter(data["seed"])
        assert self.book is not None
        entry = {"kind": "reset", "seed": data["seed"], "agents": list(self.book.names)}
        entry["digest"] = self.world.digest()
        number, ns = self.book.episode, self.book.ns
        self.post("ENVIRONMENT_EVENT_OCCURRED", entry, episode=number, ns=ns)
        for name, kind, percept in self._percepts(self.book.names):
            self.post(kind, percept, name, episode=number, ns=ns)

    def _enter(self, seed: int) -> None:
        """Open the book of an episode."""
        self.book = self.open_book(self.book, None, seed)
        self.book.seat(i for i, playing in enumerate(self.world.alive) if playing)

    def _on_reconfigure(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """From the next reset on, the config is another."""
        changes = {"kind": "reconfigure", "changes": data["changes"]}
        self.post("ENVIRONMENT_STATE_CHANGED", changes)

    def _on_hint(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """An agent is given a hint."""
        self.hints += 1
        entry = {"kind": "hint", "agent": agent, "message": data["message"]}
        self.post("ENVIRONMENT_EVENT_OCCURRED", entry)

    def _on_message(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """A letter was sent; the line of its step has it."""
        self.messages += 1
        self._letters.append(dict(data))

    def _on_send(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """A letter was put into a mailbox between two steps."""
        if not data["own"]:
            self.post("ENVIRONMENT_EVENT_OCCURRED", {"kind": "send", **_letter(data)})

    def _on_poll(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """An agent emptied its mailbox."""
        if not data["own"]:
            self.post("ENVIRONMENT_EVENT_OCCURRED", {"kind": "poll", "agent": agent})
        for letter in data["messages"]:
            self.post("NLU_OUTPUT_GENERATED", _letter(letter), agent)

    def _on_letter(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """An agent was shown a letter."""
        self.post("NLU_OUTPUT_GENERATED", _letter(data), agent)

    def _on_order(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """Agents act in another order."""
        entry = {"kind": "order", "order": data["order"]}
        self.post("ENVIRONMENT_EVENT_OCCURRED", entry)

    def _on_restore(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """The environment was put into another state."""
        self.break_off(self.book, "restored")
        self._restored(data["snapshot"])

    def _restored(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._enter(self.runner.seed or 0)
        assert self.book is not None
        entry: dict[str, Any] = {"kind": "restore", "seed": self.runner.seed}
        entry |= {"agents": list(self.book.names)}
        entry |= {"digest": self.world.digest(), "snapshot": snapshot}
        self.post("ENVIRONMENT_STATE_CHANGED", entry, episode=self.book.episode)

    def _on_state(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """An agent shows its inner state."""
        self.post("STATE_UPDATE", dict(data["state"]), agent)

    def _on_log(self, agent: str | None, data: Mapping[str, Any]) -> None:
        """Somebody has a line of their own to write; see `piase_gym.runs.log`."""
        self.post(
            data["event_type"],
            data["data"],
            agent,
            component=data.get("component"),
            log_level=data.get("log_level"),
        )

    def _on_close(self, _agent: str | None, _data: Mapping[str, Any]) -> None:
        """The environment is closed."""
        self.finish("closed")


def _letter(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a letter as plain values."""
    return {key: data[key] for key in ("sender", "recipient", "message")}
