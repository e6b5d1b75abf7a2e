"""Real servers for the tests, on a socket in a folder of their own, ended with the tests."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote


def missing(kind: str) -> str | None:
    """Say what is not here for a server of a kind."""
    drivers = {"postgresql": "psycopg", "mariadb": "pymysql"}
    for module in ("sqlalchemy", "sqlglot", drivers[kind]):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed (the extra sql brings it)"
    if _program("postgres" if kind == "postgresql" else "mariadbd") is None:
        return f"no {kind} server is installed"
    if os.geteuid() == 0 and not Path(os.devnull).stat().st_mode & 0o002:
        return f"{kind} does not run as root, and others may not write to {os.devnull} here"
    return None


def _program(name: str) -> str | None:
    """Return where a program is."""
    places = [*map(str, Path("/usr/lib/postgresql").glob("*/bin")), "/usr/sbin"]
    found = shutil.which(name, path=os.pathsep.join([*places, os.environ.get("PATH", "")]))
    return None if found is None else str(Path(found).resolve())


def _user(name: str) -> dict[str, object]:
    """Return how to run as a user: these servers refuse to run as root."""
    if os.geteuid() != 0:
        return {}
    found = pwd.getpwnam(name)
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


@contextlib.contextmanager
def _running(
    command: list[str], ready: Callable[[], bool], options: dict[str, object]
) -> Iterator[None]:
    """Run a server until the block ends."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, **quiet, **options)  # type: ignore[call-overload]
    try:
        end = time.monotonic() + 60
        while not ready():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command[0]} did not start")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def serving(kind: str) -> Iterator[str]:
    """Start a server; gives SQLAlchemy's URL of its administrator, without a database."""
    with tempfile.TemporaryDirectory(prefix="piase-sql-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        with (_postgresql if kind == "postgresql" else _mariadb)(folder) as url:
            yield url


@contextlib.contextmanager
def _postgresql(folder: Path) -> Iterator[str]:
    """Start PostgreSQL."""
    options, data = _user("postgres"), folder / "data"
    server = _program("postgres")
    assert server is not None
    initdb = [str(Path(server).with_name("initdb")), "-D", str(data), "-U", "root", "-A", "trust"]
    subprocess.run(
        [*initdb, "-N", "--locale=C.UTF-8", "-E", "UTF8"],
        check=True,
        capture_output=True,
        **options,  # type: ignore[call-overload]
    )
    command = [server, "-D", str(data), "-k", str(folder), "-h", "", "-F"]

    def ready() -> bool:
        import psycopg

        with contextlib.suppress(psycopg.Error):
            psycopg.connect(host=str(folder), user="root", dbname="postgres").close()
            return True
        return False

    with _running(command, ready, options):
        yield f"postgresql+psycopg://root@/postgres?host={quote(str(folder), safe='')}"


@contextlib.contextmanager
def _mariadb(folder: Path) -> Iterator[str]:
    """Start MariaDB, with names of tables in lower case as InterCode's server has them."""
    options, data, path = _user("mysql"), folder / "data", folder / "socket"
    install, server = _program("mariadb-install-db"), _program("mariadbd")
    assert install is not None
    assert server is not None
    subprocess.run(
        [install, "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"],
        check=True,
        capture_output=True,
        **options,  # type: ignore[call-overload]
    )
    command = [server, "--no-defaults", f"--datadir={data}", f"--socket={path}"]
    command += [
        "--skip-networking",
        "--innodb-flush-log-at-trx-commit=0",
        "--lower-case-table-names=1",
        f"--pid-file={folder / 'pid'}",
    ]

    def ready() -> bool:
        with socket.socket(socket.AF_UNIX) as tried:  # pymysql leaves one open that fails
            return tried.connect_ex(str(path)) == 0

    with _running(command, ready, options):
        yield f"mysql+pymysql://root@localhost/?unix_socket={quote(str(path), safe='')}"
