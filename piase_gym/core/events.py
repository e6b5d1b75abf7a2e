"""The event bus: worlds, environments, wrappers and agents post; loggers and metrics subscribe.

Wrapper order does not matter, because everyone posts to and listens at ``env.unwrapped.events``.
With no subscriber nothing is built: posters ask `Events.wants_steps` or `Events.active` first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from piase_gym.core.interrupts import uninterrupted
from piase_gym.errors import ConfigError

STEP_KINDS = frozenset({"step", "message", "milestone"})
"""The kinds that a step posts."""
OWN_KINDS = frozenset(
    "reset begun step reconfigure modify hint message milestone order restore rebuild log close "
    "batch_reset batch_begun batch_step batch_ended batch_modify batch_restore submitted send poll "
    "letter state result".split()
)
"""The kinds that environments, interfaces and agents post themselves."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        kind: What happened: one of `OWN_KINDS`, or a kind of the poster's own. ``begun`` comes
            after all have heard of a ``reset``; those that begin with ``batch_`` are posted by a
            batch of environments.
        agent: Whom it concerns, or ``None`` for the whole environment.
        data: Plain values that describe it.
    """

    kind: str
    agent: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


Listener = Callable[[Event], None]
Watcher = Callable[[Any, Any], None]
"""Called with the acts of all agents and the `StepResult` that followed."""


class Events:
    """A synchronous bus. Listeners are called in the order in which they subscribed.

    Attributes:
        active: Whether anybody listens at all.
        wants_steps: Whether anybody wants to know of steps; environments build nothing if not.
        decodes: Whether anybody wants the acts of steps as commands.
        watchers: The functions called with every step, and whether they get commands.
        origin: What the environment was made from, for the manifests of its runs: ``scenario``
            and ``curricula``; see `piase_gym.runs.declare_curriculum`.
    """

    def __init__(self) -> None:
        """Start with no listener."""
        self._listeners: list[tuple[Listener, frozenset[str] | None]] = []
        self.watchers: tuple[tuple[Watcher, bool], ...] = ()
        self._last = 0
        """How many of the watchers come after all others."""
        self.origin: dict[str, Any] = {}
        self._count()

    def _count(self) -> None:
        """Work out the flags that posters ask for."""
        kinds = [kinds for _, kinds in self._listeners]
        self.active = bool(self._listeners or self.watchers)
        self.wants_steps = bool(self.watchers) or any(k is None or k & STEP_KINDS for k in kinds)
        self.decodes = self.hears("step") or any(decoded for _, decoded in self.watchers)

    def hears(self, kind: str) -> bool:
        """Return whether anybody subscribed to a kind of event."""
        return any(kinds is None or kind in kinds for _, kinds in self._listeners)

    def subscribe(
        self, listener: Listener, kinds: Iterable[str] | None = None
    ) -> Callable[[], None]:
        """Call `listener` with every event from now on, or with those of some kinds.

        Returns:
            A function that ends the subscription; calling it twice does no harm.
        """
        entry = (listener, None if kinds is None else frozenset(kinds))
        self._listeners.append(entry)
        self._count()

        def unsubscribe() -> None:
            self._listeners = [item for item in self._listeners if item is not entry]
            self._count()

        return unsubscribe

    def watch(
        self, watcher: Watcher, decoded: bool = False, last: bool = False
    ) -> Callable[[], None]:
        """Call ``watcher(acts, result)`` after every step; cheaper than subscribing.

        Args:
            watcher: Called after all other events of the step. It must not change its arguments.
            decoded: Whether indices are replaced by the commands that they stood for.
            last: Whether it is called after all others, so that it may post events of its own.

        Returns:
            A function that ends the watch; calling it twice does no harm.
        """
        entry = (watcher, decoded)
        place = len(self.watchers) - (0 if last else self._last)
        self.watchers = (*self.watchers[:place], entry, *self.watchers[place:])
        self._last += last
        self._count()

        def leave() -> None:
            if any(item is entry for item in self.watchers):
                self._last -= last
            self.watchers = tuple(item for item in self.watchers if item is not entry)
            self._count()

        return leave

    def post(self, kind: str, agent: str | None = None, **data: Any) -> None:
        """Tell everyone who listens for this kind that something happened."""
        self._notify(kind, agent, data)

    def _notify(self, kind: str, agent: str | None, data: Mapping[str, Any]) -> None:
        """Call everyone who listens for a kind; without listeners nothing is built."""
        if self._listeners:
            event: Event | None = None
            with uninterrupted:
                for listener, kinds in tuple(self._listeners):
                    if kinds is None or kind in kinds:
                        event = event or Event(kind, agent, data)
                        listener(event)

    def post_event(
        self, event_type: str, data: Mapping[str, Any] | None = None, agent: str | None = None
    ) -> None:
        """Post an event of a type of the caller's own.

        Subscribers to this type hear it, and logs, which subscribe to ``log``, write a line.

        Raises:
            ConfigError: If the type is blank or data are no mapping, or a log cannot tell such a
                line from its own.
        """
        if not isinstance(event_type, str) or not event_type.strip():
            raise ConfigError(f"the type of an event is a word, not {event_type!r:.60}")
        if not isinstance(data, Mapping | None):
            raise ConfigError(f"the data of an event are a mapping, not {type(data).__name__}")
        if event_type in OWN_KINDS:
            raise ConfigError(f"{event_type!r} is posted by environments; take another type")
        if self.active:
            values = {str(name): value for name, value in (data or {}).items()}
            self.post("log", agent, event_type=event_type, data=values, posted=True)
            self._notify(event_type, agent, values)

    def __getstate__(self) -> dict[str, Any]:
        """Leave listeners behind when an environment is copied or pickled."""
        return {"origin": self.origin}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start with no listener."""
        Events.__init__(self)
        self.origin.update(state.get("origin", {}))
