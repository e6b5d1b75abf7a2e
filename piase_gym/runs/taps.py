"""Listens to a single environment through its events bus, and feeds a `Recorder`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from piase_gym.commands import Command, Misread
from piase_gym.events import Event
from piase_gym.runs.book import FOLD, Book
from piase_gym.runs.lines import Extra
from piase_gym.runs.manifest import command_table, command_value, make_manifest
from piase_gym.runs.plain import encode
from piase_gym.runs.recorder import Options, Recorder
from piase_gym.runs.schema import CRITICAL
from piase_gym.runs.sinks import LoggerInterface
from piase_gym.runs.writer import LONG
from piase_gym.world import Tick

if TYPE_CHECKING:
    from piase_gym.faces.driver import Driver

KINDS = "reset reconfigure hint message order send poll letter restore state log close".split()


class DriverRecorder(Recorder):
    """Writes the run of one environment.

    Args:
        driver: What drives the environment.
        sinks: Where lines go.
        options: How to log.
        face: Name of the face, for the manifest.
    """

    def __init__(
        self, driver: Driver, sinks: Sequence[LoggerInterface], options: Options, face: str
    ) -> None:
        """Write the manifest and start to listen."""
        super().__init__(driver.world, sinks, options)
        self.driver = driver
        self.book: Book | None = None
        self._letters: list[dict[str, Any]] = []
        self._table = bool(command_table(driver.world))
        self._late = driver.world.capabilities.late_join
        self._steps_wanted = self.levels.steps
        names = [*self.agents]
        self._seers = [n for n in names if self.wants(n, "PERCEPTION_INPUT_RECEIVED")]
        self._plain = False
        """Whether the next step can be taken note of in the quick way, unless it is notable."""
        self._light = self.levels.highest == CRITICAL and not self._late
        """Whether steps are only counted."""
        self._due = options.snapshot_every
        self.start(
            make_manifest(
                driver.world,
                driver.partners,
                face,
                options.level,
                driver.events.origin,
                options.more,
            )
        )
        self._take_over()
        events = driver.events
        self._leave.append(events.subscribe(self._hear, KINDS))
        self._leave.append(events.watch(self._watch, decoded=not self._table))

    def books(self) -> Sequence[Book | None]:
        """Return the one book."""
        return (self.book,)

    def _take_over(self) -> None:
        """Begin with an environment that is in the midst of an episode or has a config waiting."""
        driver = self.driver
        if driver.seed is not None and any(driver.world.alive):
            self._restored(driver.snapshot())
        elif driver.pending is not None:
            changes = driver.world.config.diff(driver.pending)
            self.post("ENVIRONMENT_STATE_CHANGED", {"kind": "reconfigure", "changes": changes})

    def final_state(self) -> None:
        """Write the state of now, if it can be had."""
        if self.book is not None and self.book.begun and self._steps_wanted:
            data = {"kind": "snapshot", "snapshot": self.world.snapshot()}
            self.post("ENVIRONMENT_STATE_CHANGED", data, episode=self.book.episode)

    # -- steps ----------------------------------------------------------------------------

    def _watch(self, acts: Any, tick: Tick) -> None:
        """Take note of a step: values now, text later."""
        ns = time.monotonic_ns()
        book = self.book
        if book is None:
            return
        if self._light and book.begun and not tick.ended:
            self.step += 1
            book.rewards.append(book.pick(tick.rewards) if book.pick else tick.rewards)
            if len(book.rewards) >= FOLD:
                book.fold()
            return
        if not self._plain or tick.ended or tick.notes:
            self._step_slowly(ns, book, acts, tick)
            return
        pick = book.pick
        try:
            if pick is None:
                packed, outcomes, rewards = bytes(acts), tick.outcomes, tick.rewards
            else:
                packed = bytes(pick(acts))
                outcomes, rewards = pick(tick.outcomes), pick(tick.rewards)
        except (TypeError, ValueError):
            self._step_slowly(ns, book, acts, tick)
            return
        self.step = step = self.step + 1
        book.rewards.append(rewards)
        queue = self.queue
        queue.append(
            (
                ns,
                step,
                book.episode,
                book.names,
                packed,
                outcomes,
                rewards,
                self.world.digest(),
                None,
            )
        )
        if step == self._due or len(queue) >= LONG:
            self._now_and_then(book)

    def _step_slowly(self, ns: int, book: Book, acts: Sequence[Any], tick: Tick) -> None:
        """Take note of a step of which there is more to say."""
        if not book.begun:
            self.begin(book)
        self.step += 1
        playing = book.playing
        rewards = [float(tick.rewards[i]) for i in playing]
        outcomes = [str(tick.outcomes[i]) for i in playing]
        packed, commands = self._commands(book, [acts[i] for i in playing])
        extra = Extra(commands=commands, more=self._more(book, tick))
        if tick.ended:
            extra.terminated = [bool(tick.terminated[i]) for i in playing]
            extra.truncated = [bool(tick.truncated[i]) for i in playing]
        if self._seers:
            extra.percepts = self._percepts(book.names)
        book.rewards.append(rewards)
        if self._steps_wanted or self.levels.highest > 0:
            digest = self.world.digest()
            names, number = book.names, book.episode
            self.queue.append(
                (ns, self.step, number, names, packed, outcomes, rewards, digest, extra)
            )
        if tick.ended or self._late:
            self._change_seats(book, ns)
        awaited = bool(self.aims) and self.aims.wanted(book.playing, self.agents)
        self._plain = self._table and self._steps_wanted and not (self._seers or awaited)
        if tick.ended or self.step >= self._due or len(self.queue) >= LONG:
            self._now_and_then(book)
            if tick.ended and not any(self.world.alive[i] for i in self.driver.own):
                self.writer.flush()

    def _commands(self, book: Book, acts: list[Any]) -> tuple[bytes, str | None]:
        """Return commands as packed indices, or as JSON where they are something else."""
        if self._table:
            try:
                return bytes(acts), None
            except (TypeError, ValueError):
                pass
        values = [_act_value(act) for act in acts]
        return b"", encode(dict(zip(book.names, values, strict=True)))

    def _more(self, book: Book, tick: Tick) -> dict[str, Any]:
        """Return the rarer entries of a step line."""
        more: dict[str, Any] = {}
        names = self.agents
        for key in ("milestones", "feedback"):
            found = {names[i]: note[key] for i, note in tick.notes.items() if note.get(key)}
            if found:
                more[key] = found
        if tick.ended:
            ended = [i for i in book.playing if tick.terminated[i] or tick.truncated[i]]
            more["results"] = {names[i]: str(self.world.result(i)) for i in ended}
        if self.aims:
            arrived = self.aims.reached(self.world, book.playing)
            if arrived:
                more["targets"] = arrived
        if self._letters:
            more["messages"], self._letters = self._letters, []
        return more

    def _change_seats(self, book: Book, ns: int) -> None:
        """Close the goals of those who ended, open those of who entered."""
        alive = self.world.alive
        now = [i for i, playing in enumerate(alive) if playing]
        for agent in [i for i in book.playing if not alive[i]]:
            measures = self.world.measure(agent)
            if measures:
                book.measures[self.agents[agent]] = dict(measures)
            self.close_goal(book, agent, str(self.world.result(agent)), ns)
        for agent in [i for i in now if i not in book.joined]:
            self.open_goal(book, agent, ns)
        if tuple(now) != book.playing:
            book.seat(now)
        if not now:
            self.end_episode(book, ns)

    def _now_and_then(self, book: Book) -> None:
        """Do what needs not be done at every step."""
        if self.step >= self._due:
            self._due += self.options.snapshot_every
            data = {"kind": "snapshot", "snapshot": self.world.snapshot()}
            self.post("ENVIRONMENT_STATE_CHANGED", data, episode=book.episode)
        if len(book.rewards) >= FOLD:
            book.fold()
        if len(self.queue) >= LONG:
            self.writer.flush()

    def _percepts(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return what agents perceive now, under the names of seed 000's `PerceptionData`.

        Array worlds have every fact in the vector and the hint; of other worlds the text is
        logged too.
        """
        world = self.world
        vectors, texts = world.vectors(), not world.capabilities.batched
        found = {}
        for name in self._seers:
            if name in names:
                number = self.agents.index(name)
                percept: dict[str, Any] = {
                    "timestamp": float(self.driver.steps),
                    "sensor_data": {"vector": vectors[number]},
                }
                if texts:
                    percept["visible_text"] = world.text(world.facts(number))
                if world.hints[number] is not None:
                    percept["agent_specific_data"] = {"hint": world.hints[number]}
                found[name] = percept
        return found

    # -- everything else ------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        """Take note of an event that is not a step."""
        self._plain = False
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
        if self._seers:
            for name, percept in self._percepts(self.book.names).items():
                self.post("PERCEPTION_INPUT_RECEIVED", percept, name, episode=number, ns=ns)

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
        self._hints += 1
        entry = {"kind": "hint", "agent": agent, "message": data["message"]}
        self.post("ENVIRONMENT_EVENT_OCCURRED", entry)

    def _on_message(self, _agent: str | None, data: Mapping[str, Any]) -> None:
        """A letter was sent; the line of its step has it."""
        self._messages += 1
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
        self._enter(self.driver.seed or 0)
        assert self.book is not None
        entry: dict[str, Any] = {"kind": "restore", "seed": self.driver.seed}
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


def _act_value(act: Any) -> Any:
    """Return an act as a step line has it."""
    if isinstance(act, Command):
        return command_value(act)
    if isinstance(act, Misread):
        return {"misread": str(act.outcome), "message": act.message}
    return act if act is None else int(act)
