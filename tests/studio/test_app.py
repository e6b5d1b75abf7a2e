"""The studio as a program: its address, its errors, its end."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from piase_gym import studio
from piase_gym.errors import ConfigError
from tests.helpers.cli_runner import environment

pytest.importorskip("nicegui")


@contextmanager
def taken_port() -> Iterator[int]:
    """Yield a port at which something else listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield int(other.getsockname()[1])


def fetch(address: str) -> bytes:
    """Return a page; the studio says its address just before it can be reached."""
    while True:
        with contextlib.suppress(ConnectionError, urllib.error.URLError):
            answer: bytes = urllib.request.urlopen(address).read()
            return answer
        time.sleep(0.05)


def test_what_is_not_allowed_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no folder"):
        studio.serve(tmp_path / "none", open_browser=False)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is no folder"):
        studio.serve(tmp_path / "file", open_browser=False)
    for port in (0, 65536, True, "80"):
        with pytest.raises(ConfigError, match="a port is a whole number from 1 to 65535"):
            studio.serve(tmp_path, port=port, open_browser=False)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"cannot listen at nowhere\.invalid"):
        studio.serve(tmp_path, host="nowhere.invalid", open_browser=False)
    with taken_port() as port, pytest.raises(ConfigError, match=rf"port {port}.*another port"):
        studio.serve(tmp_path, port=port, open_browser=False)


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    with taken_port() as port:
        pass  # it is free again
    env = environment()
    del env["PYTEST_CURRENT_TEST"]  # by which NiceGUI knows tests of its own
    command = [sys.executable, "-m", "piase_gym.cli", "studio", str(tmp_path), "--no-browser"]
    with subprocess.Popen(
        [*command, "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=env,
    ) as process:
        assert process.stdout is not None
        try:
            address = f"http://127.0.0.1:{port}"
            assert process.stdout.readline() == f"The studio is at {address}; Ctrl-C ends it.\n"
            assert b"GridWorld" in fetch(address)
            other = urllib.request.Request(address, headers={"Host": "other.example"})
            with pytest.raises(urllib.error.HTTPError, match="400") as refused:
                urllib.request.urlopen(other)
            refused.value.close()
            process.send_signal(signal.SIGINT)
            rest = process.stdout.read()
        finally:
            process.kill()
    assert "Traceback" not in rest
    assert process.returncode in (0, 130)
