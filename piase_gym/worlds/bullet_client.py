"""One Bullet client: its number, how long it lives, and how many may be live in a process.

All worlds import pybullet from here. Scenes are built in the folders of the worlds.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from piase_gym.errors import CapacityError, ConfigError

_QUIET = threading.Lock()
"""Held while output goes nowhere: a second thread would take that for where it goes usually."""
if hasattr(os, "register_at_fork"):  # and so would a forked process, which waits until it is back
    os.register_at_fork(
        before=_QUIET.acquire, after_in_parent=_QUIET.release, after_in_child=_QUIET.release
    )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what C code writes to standard output and error away from the user.

    What other threads write meanwhile is lost too, so the block should be short.
    """
    with _QUIET, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        sys.stdout.flush()
        sys.stderr.flush()
        kept = [os.dup(1), os.dup(2)]
        try:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            yield
        finally:
            for number, file in zip((1, 2), kept, strict=True):
                os.dup2(file, number)
                os.close(file)


with quiet():  # pybullet prints its build time when it is imported
    import pybullet as p

__all__ = ["BulletClient", "live_clients", "p", "quiet", "version"]

MOST_CLIENTS = 100
"""How many clients (3 GB) may be live in a process, unless the environment variable says otherwise.
A client shares nothing, and Bullet ends the process when memory runs out."""
LIMIT_VARIABLE = "PIASE_BULLET_CLIENTS"
_LIVE: set[int] = set()
_SPARE: list[int] = []
"""Up to `MOST_SPARE` clients that were closed, for the next: connecting costs more than building a
scene, which begins with `resetSimulation`."""
MOST_SPARE = 2


class BulletClient:
    """One Bullet client, connected from its creation until `close`.

    Attributes:
        client: Bullet's number for the client.
    """

    def __init__(self) -> None:
        """Connect; the client is also closed when the object is garbage-collected.

        Raises:
            CapacityError: If as many clients are live as are allowed.
        """
        most = _most_clients()
        if live_clients() >= most:
            gc.collect()  # closes the clients of environments that nobody closed
        self.client: int = _connect() if live_clients() < most else -1
        if self.client < 0:
            raise CapacityError(
                f"{live_clients()} environments with a Bullet client of 30 MB are open in this "
                f"process; {most} may be. Close some, or set {LIMIT_VARIABLE} to more"
            )
        _LIVE.add(self.client)
        self._closer = weakref.finalize(self, _disconnect, self.client)

    def close(self) -> None:
        """Disconnect; later calls do nothing."""
        self._closer()


def version() -> str:
    """Return the version of pybullet; states and digests are valid for one (platform, version)."""
    return metadata.version("pybullet")


def live_clients() -> int:
    """Return how many clients are live in this process."""
    return len(_LIVE)


def _most_clients() -> int:
    """Return how many clients may be live in this process.

    Raises:
        ConfigError: If the environment variable is not a positive number.
    """
    said = os.environ.get(LIMIT_VARIABLE, str(MOST_CLIENTS))
    if not said.isdecimal() or int(said) < 1:
        raise ConfigError(f"{LIMIT_VARIABLE} must be a positive number, not {said!r:.40}")
    return int(said)


def _connect() -> int:
    """Return the number of a client, which may have an old scene."""
    with contextlib.suppress(IndexError):
        return _SPARE.pop()
    number: int = p.connect(p.DIRECT)
    return number


def _disconnect(client: int) -> None:
    """Keep a client for the next, or close it unless it has already gone with the process."""
    _LIVE.discard(client)
    if len(_SPARE) < MOST_SPARE:
        _SPARE.append(client)
        return
    with contextlib.suppress(p.error):
        p.disconnect(client)
