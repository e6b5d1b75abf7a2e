"""The agents' side of the design document: `EnvironmentInterface`, in plain dicts for JSON."""

from __future__ import annotations

import http.client
import urllib.request
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from piase_gym.core.events import Event
from piase_gym.core.jsonable import jsonable
from piase_gym.errors import ConfigError, UnknownNameError
from piase_gym.interfaces.base import AnyCommand, WorldInterface
from piase_gym.interfaces.environment import with_text
from piase_gym.interfaces.perceptions import environment_info, flat, perceive

PUBLIC_EVENTS = ("reset", "reconfigure", "modify", "restore", "close")
"""The events that every agent may hear of."""
OWN_EVENTS = ("result", "letter", "milestone", "hint")
"""The events that an agent may hear of if they concern it."""


class EnvironmentInterface(WorldInterface):
    """A world behind the `EnvironmentInterface` of the PiaSE design document: what agents talk to.

    Everything that is returned is a plain dict and can be written as JSON. It can share a world
    with an `AbstractEnvironment`, which the simulation drives: ``EnvironmentInterface(env)``. The
    arguments are those of `WorldInterface`.

    Example:
        >>> env = EnvironmentInterface("GridWorld", start_pos=(0, 0), goal_pos=(1, 0))
        >>> env.reset(seed=0)
        >>> env.submit_action("agent_0", {"action_type": "stay"})["status"]
        'success'
        >>> env.get_perceptions("agent_0")["position"]
        [0, 0]
    """

    def get_environment_info(self) -> dict[str, Any]:
        """Return general information: the fields of `EnvironmentInfo`, and ``name``."""
        self.runner.require_open()
        info = environment_info(self.runner, "flat").model_dump(mode="json")
        return {"name": info["environment_name"], **info}

    def get_perceptions(self, agent_id: str) -> dict[str, Any]:
        """Return what an agent perceives now.

        Returns:
            The fields of `PerceptionData`, and the world's own perceptions next to them.
        """
        return flat(perceive(self.engine, self.engine.record(agent_id)))

    def submit_action(self, agent_id: str, action_command: AnyCommand) -> dict[str, Any]:
        """Submit the command of one agent; see `Environment.step`.

        Returns:
            The fields of `ActionResult`.
        """
        result = self._submit(agent_id, action_command)
        return with_text(self, agent_id, result).model_dump(mode="json")

    def subscribe_to_event(
        self, agent_id: str, event_type: str, callback_url: str | Callable[[dict[str, Any]], Any]
    ) -> Callable[[], None]:
        """Tell an agent of events that concern it.

        Args:
            agent_id: The agent.
            event_type: ``result`` (of its commands), ``letter`` (delivered to it), ``milestone``,
                ``hint``; or what concerns all: ``reset``, ``reconfigure``, ``modify``, ``restore``,
                ``close``.
            callback_url: An ``http://`` or ``https://`` address, to which the event is posted as
                JSON, or a function that is called with it. The event is a dict of ``event_type``,
                ``agent_id``, ``timestamp`` and ``payload``.

        Returns:
            A function that ends the subscription.

        Raises:
            UnknownNameError: If there is no such type of event.
            ConfigError: If the callback is neither an address nor a function.
        """
        self.engine.find(agent_id)
        known = (*OWN_EVENTS, *PUBLIC_EVENTS)
        if event_type not in known:
            raise UnknownNameError("event type", event_type, known)
        call = make_callback(callback_url)

        def tell(event: Event) -> None:
            if event.agent in (None, agent_id):
                call(
                    {
                        "event_type": event.kind,
                        "agent_id": agent_id,
                        "timestamp": float(self.time_step),
                        "payload": jsonable(event.data),
                    }
                )

        return self.events.subscribe(tell, (event_type,))

    def query_environment_state(self, agent_id: str, query: Mapping[str, Any]) -> dict[str, Any]:
        """Answer an agent's query about the state, as far as the agent may know it.

        A query is not a perception: messages stay new until `get_perceptions`.

        Args:
            agent_id: The agent.
            query: ``{"keys": [...]}`` asks for some keys, ``{}`` for all: those of
                `get_perceptions`, and ``admissible_commands``, ``instructions``, ``time_step`` and
                ``waiting_for``.

        Raises:
            ConfigError: If the query is not a mapping with a list of strings.
            UnknownNameError: If there is no such key.
        """
        record = self.engine.record(agent_id)
        wanted = _wanted(query)
        answers: dict[str, Any] = {
            **flat(perceive(self.engine, record, peek=True)),
            "admissible_commands": self.admissible_commands(agent_id),
            "instructions": self.instructions(agent_id),
            "time_step": self.time_step,
            "waiting_for": self.engine.waiting_for,
        }
        for key in wanted or ():
            if key not in answers:
                raise UnknownNameError("key", key, answers)
        return answers if wanted is None else {key: answers[key] for key in wanted}


def _wanted(query: Any) -> list[str] | None:
    """Return the keys that a query asks for, or ``None`` for all."""
    if not isinstance(query, Mapping):
        raise ConfigError(f"a query is a mapping, not {type(query).__name__}")
    strange = [key for key in query if key != "keys"]
    if strange:
        raise UnknownNameError("part of a query", strange[0], ["keys"])
    keys = query.get("keys")
    if keys is None:
        return None
    if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
        raise ConfigError(f"the keys of a query are a list of strings, not {keys!r:.60}")
    return list(keys)


Callback = Callable[[dict[str, Any]], Any]
TIMEOUT = 5.0
"""Seconds that the world waits for an address to answer."""


def post_to(url: str) -> Callback:
    """Return a callback that posts events as JSON to an address.

    A failure to deliver an event causes a warning, and nothing else.
    """

    def post(event: dict[str, Any]) -> None:
        kind = {"Content-Type": "application/json"}
        try:
            request = urllib.request.Request(url, orjson.dumps(event), kind, method="POST")
            with urllib.request.urlopen(request, timeout=TIMEOUT):
                pass
        except (http.client.HTTPException, OSError, TypeError, ValueError) as error:
            message = f"the event {event['event_type']!r} did not reach {url}: {error}"
            warnings.warn(message, RuntimeWarning, stacklevel=2)

    return post


def make_callback(target: Any) -> Callback:
    """Return the callback that a function or an address stands for.

    Raises:
        ConfigError: If it is neither.
    """
    if isinstance(target, str) and target.startswith(("http://", "https://")):
        return post_to(target)
    if callable(target):
        checked: Callback = target
        return checked
    raise ConfigError(f"a callback is an http(s) address or a function, not {target!r:.60}")
