"""Where agents want to be told of events: a function, or an address on the web."""

from __future__ import annotations

import urllib.error
import urllib.request
import warnings
from collections.abc import Callable
from typing import Any

import orjson

from piase_gym.errors import ConfigError

Callback = Callable[[dict[str, Any]], Any]
TIMEOUT = 5.0
"""Seconds that the world waits for an address to answer."""


class HttpCallback:
    """Posts events as JSON to an address; what goes wrong there warns and stops nothing here."""

    def __init__(self, url: str) -> None:
        """Take the address; nothing is sent yet."""
        self.url = url

    def __call__(self, event: dict[str, Any]) -> None:
        """Post one event and wait for the answer."""
        request = urllib.request.Request(
            self.url, orjson.dumps(event), {"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT):
                pass
        except (urllib.error.URLError, OSError, ValueError) as error:
            message = f"the event {event['event_type']!r} did not reach {self.url}: {error}"
            warnings.warn(message, RuntimeWarning, stacklevel=2)


def make_callback(target: Any) -> Callback:
    """Return the callback that a function or an address stands for.

    Raises:
        ConfigError: If it is neither.
    """
    if isinstance(target, str) and target.startswith(("http://", "https://")):
        return HttpCallback(target)
    if callable(target):
        checked: Callback = target
        return checked
    raise ConfigError(f"a callback is an http(s) address or a function, not {target!r:.60}")
