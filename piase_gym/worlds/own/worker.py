"""A driver in a process of its own, which is killed if it does not answer in time.

The process runs ``python -c "from piase_gym.worlds.own.worker import main; main()"``. Questions and
answers are pickles, each preceded by its length, on its standard input and output.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

import cloudpickle

from piase_gym.core.interrupts import OWN_GROUP
from piase_gym.worlds.own.faults import Fault, FaultyError, Reason

START_SECONDS = 60.0
"""The shortest time limit, in seconds, for a process to start and to make its environment."""
CODE = "from piase_gym.worlds.own.worker import main; main()"


class RemoteDriver:
    """Asks a `Driver` in another process.

    Args:
        make: The function that makes the driver in the other process.
        args: The arguments of `make`.
        timeout: Seconds that one answer may take.

    Raises:
        FaultyError: If the environment cannot be made in the other process.
    """

    def __init__(self, make: Any, args: tuple[Any, ...], timeout: float) -> None:
        """Start the process."""
        self._recipe = cloudpickle.dumps((make, args))
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._facts: dict[str, Any] = {}
        self._begin()

    def _begin(self) -> None:
        """Start a process with a new environment."""
        try:
            path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
            self._process = process = subprocess.Popen(
                [sys.executable, "-c", CODE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
                **OWN_GROUP,
            )
        except OSError as error:  # too many processes or open files, or a folder that is gone
            problem = f"its process cannot be started: {error.strerror}"
            raise FaultyError(Reason.DIED, problem) from None
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._due = 0
        reader = threading.Thread(
            target=_read_all, args=(process.stdout, self._answers), daemon=True
        )
        reader.start()
        self._facts = self._ask(self._recipe, max(START_SECONDS, self._timeout))

    def _ask(self, message: bytes, seconds: float) -> Any:
        """Send a message and wait for the answer, after those that nobody waits for any more."""
        assert self._process is not None
        assert self._process.stdin is not None
        found: bytes | None = b""
        try:
            self._due += 1
            write(self._process.stdin, message)
            while self._due and found is not None:  # Ctrl-C leaves answers behind
                found = self._answers.get(timeout=seconds)
                self._due -= 1
        except queue.Empty:
            self.kill()
            raise FaultyError(Reason.HUNG, f"no answer within {seconds:g} seconds") from None
        except OSError:
            found = None
        if found is None:
            self.kill()
            raise FaultyError(Reason.DIED, "the process of the environment is gone")
        try:
            answered, value = pickle.loads(found)
        except Exception as error:  # unpickling an answer can raise anything
            problem = f"the answer cannot be read: {type(error).__name__}: {error}"
            raise FaultyError(Reason.WRONG_TYPE, problem) from error
        if not answered:
            raise FaultyError(*Fault(*value))
        return value

    def ask(self, name: str, *args: Any) -> Any:
        """Call a method of the driver; start a new process if the old one is gone."""
        if self._process is None:
            self._begin()
        return self._ask(cloudpickle.dumps((name, args)), self._timeout)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the driver, or a function that calls one of its methods."""
        if name.startswith("__"):
            raise AttributeError(name)
        facts = self.__dict__.get("_facts", {})
        if name in facts:
            return facts[name]
        return lambda *args: self.ask(name, *args)

    def __reduce__(self) -> Any:
        """Refuse to be copied or pickled: the state is in another process."""
        raise TypeError("an environment in a process of its own cannot be copied or pickled")

    def kill(self) -> None:
        """End the process at once."""
        process, self._process = self._process, None
        if process is None:
            return
        if hasattr(os, "killpg"):  # processes that it has started would keep the pipes open
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
        if sys.is_finalizing():
            return  # the reader thread holds the pipe, and never wakes up again
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def close(self) -> None:
        """Close the environment, and end the process."""
        if self._process is not None:
            with contextlib.suppress(FaultyError):
                self.ask("close")
        self.kill()

    def __del__(self) -> None:
        """Leave no process behind."""
        with contextlib.suppress(Exception):
            self.kill()


FACTS = ("has_state", "has_snapshots", "tells_available", "messages", "agents")
"""The attributes of a driver that never change."""


def write(pipe: IO[bytes], message: bytes) -> None:
    """Write one message."""
    pipe.write(struct.pack("<Q", len(message)) + message)
    pipe.flush()


def read(pipe: IO[bytes]) -> bytes | None:
    """Read one message, or ``None`` at the end."""
    head = pipe.read(8)
    if len(head) < 8:
        return None
    (length,) = struct.unpack("<Q", head)
    message = pipe.read(length)
    return message if len(message) == length else None


def _read_all(pipe: IO[bytes], answers: queue.SimpleQueue[Any]) -> None:
    """Put every message into a queue, and ``None`` at the end."""
    message: bytes | None = b""
    while message is not None:
        try:
            message = read(pipe)
        except (OSError, ValueError):
            message = None
        answers.put(message)


def _read_until_the_end(pipe: IO[bytes], questions: queue.SimpleQueue[Any]) -> None:
    """Put every question into a queue; without a caller, exit, whatever the environment does."""
    while (message := read(pipe)) is not None:
        questions.put(message)
    os._exit(0)


def main() -> None:
    """Answer questions until they end; what the environment prints goes to standard error."""
    out, inside = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    driver: Any = None
    questions: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read_until_the_end, args=(inside, questions), daemon=True).start()
    while True:
        message = questions.get()
        try:
            first, args = pickle.loads(message)
            if driver is None:
                driver = first(*args)
                value: Any = {name: getattr(driver, name) for name in FACTS}
            else:
                value = getattr(driver, first)(*args)
            answer = cloudpickle.dumps((True, value))
        except FaultyError as error:
            answer = cloudpickle.dumps((False, tuple(error.fault)))
        except BaseException as error:
            answer = cloudpickle.dumps((False, (Reason.RAISED, f"{type(error).__name__}: {error}")))
        write(out, answer)
