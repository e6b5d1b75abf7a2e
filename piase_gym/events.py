"""The events bus: worlds, faces, wrappers and agents post; loggers and meters subscribe.

Wrapper order does not matter, because everyone posts to and listens at ``env.unwrapped.events``.
With no subscriber nothing is built: posters ask `Events.active` first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        kind: What happened: ``reset``, ``step``, ``reconfigure``, ``hint``, ``message``,
            ``milestone``, ``close``, or a kind of the poster's own.
        agent: Whom it concerns, or ``None`` for the whole environment.
        data: Plain values that describe it.
    """

    kind: str
    agent: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


Listener = Callable[[Event], None]


class Events:
    """A synchronous bus. Listeners are called in the order in which they subscribed."""

    def __init__(self) -> None:
        """Start with no listener."""
        self.listeners: list[Listener] = []

    @property
    def active(self) -> bool:
        """Whether anybody listens."""
        return bool(self.listeners)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every event from now on.

        Returns:
            A function that ends the subscription; calling it twice does no harm.
        """
        self.listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self.listeners:
                self.listeners.remove(listener)

        return unsubscribe

    def post(self, kind: str, agent: str | None = None, **data: Any) -> None:
        """Tell every listener that something happened."""
        if self.listeners:
            event = Event(kind, agent, data)
            for listener in tuple(self.listeners):
                listener(event)

    def __getstate__(self) -> dict[str, Any]:
        """Leave listeners behind when an environment is copied or pickled."""
        return {"listeners": []}
