"""Starts the studio: its pages, over one folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from piase_gym.core.files import require_folder
from piase_gym.errors import ConfigError, need

HOST, PORT = "127.0.0.1", 8080
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def add_pages(folder: str | os.PathLike[str]) -> None:
    """Add the pages of a studio to the NiceGUI application of this process.

    Args:
        folder: The folder whose runs, trainings, curricula and scenarios it shows.

    Raises:
        MissingExtraError: If nicegui is not installed.
        ConfigError: If there is no such folder.
    """
    need("nicegui", "the studio", "studio")
    from piase_gym.studio import (
        curriculum_page,
        play_page,
        run_page,
        scenario_page,
        training_page,
        world_page,
    )
    from piase_gym.studio.workspace import Workspace

    place = Path(folder)
    if not place.is_dir():
        raise ConfigError(f"{str(place)!r} is no folder; name one whose runs are to be shown")
    require_folder(place)
    workspace = Workspace(place.resolve())
    for page in (world_page, play_page, run_page, training_page, curriculum_page, scenario_page):
        page.add(workspace)


def serve(
    folder: str | os.PathLike[str] = ".",
    *,
    host: str = HOST,
    port: int = PORT,
    open_browser: bool = True,
    on_start: Callable[[str], object] | None = None,
) -> None:
    """Start the studio, and serve it until the process is interrupted.

    Everybody who reaches the address can play, let policies play, and write curricula, scenarios
    and logs into the folder. By default that is only who uses this machine.

    Args:
        folder: The folder whose runs, trainings, curricula and scenarios it shows.
        host: The address to listen at.
        port: The port to listen at.
        open_browser: Whether to open it in a browser.
        on_start: Called with the address just before it can be reached.

    Raises:
        MissingExtraError: If nicegui is not installed.
        ConfigError: If there is no such folder, or the port is none or taken.
    """
    if type(port) is not int or not 1 <= port < 1 << 16:
        raise ConfigError(f"a port is a whole number from 1 to 65535, not {port!r:.60}")
    add_pages(folder)
    _require_free(host, port)
    from nicegui import app, ui
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    if host in LOOPBACK:  # a page elsewhere that gives its own name this address is refused
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK])
    if on_start is not None:
        app.on_startup(lambda: on_start(f"http://{host}:{port}"))
    ui.run(
        host=host,
        port=port,
        title="piase studio",
        favicon="🧭",
        reload=False,
        reconnect_timeout=30.0,
        show=open_browser,
        show_welcome_message=False,
    )


def _require_free(host: str, port: int) -> None:
    """Raise `ConfigError` if nothing can listen at an address."""
    import socket

    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        socket.create_server(address, family=family).close()
    except OSError as error:
        message = error.strerror or error
        raise ConfigError(
            f"the studio cannot listen at {host}, port {port}: {message}; give another port"
        ) from None
