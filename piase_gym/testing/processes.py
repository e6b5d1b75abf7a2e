"""Questions to other processes: the same subject under other values of PYTHONHASHSEED.

Each process is asked everything at once, because starting it costs more than answering. So there is
one that imports the kit for each value, and it answers every request in a fork of itself, where
that is safe: JSON questions on standard input, JSON answers on standard output, a line each.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import functools
import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from piase_gym.testing.kit import Fault, Skip
from piase_gym.testing.play import continued, last_row, play, record
from piase_gym.testing.subject import Subject, subject_of
from piase_gym.testing.values import plain, through_json

HASH_SEEDS = ("1", "4242")
TIMEOUT = 300.0
SEED, STEPS = 3, 6
FORKS = sys.platform == "linux"  # macOS has forks, but its libraries may not survive them
_SERVER = """
import gc
gc.disable()  # forks are short-lived; looking for garbage in modules took a third of their time
from piase_gym.testing.processes import serve
serve()
gc.freeze()
"""
_IDLE: defaultdict[tuple[int, str], list[subprocess.Popen[bytes]]] = defaultdict(list)
"""The processes that wait for requests, by who started them and their PYTHONHASHSEED."""
_EXCHANGES: WeakKeyDictionary[Subject, Exchange] = WeakKeyDictionary()
"""What was asked and answered so far."""


def ask_parse(subject: Subject) -> Any:
    """Ask for the facts of the texts of an episode."""
    rows = play(subject.env(view="text"), SEED, steps=40, **subject.how)
    return [text for row in rows for text in row.observations.values()]


def answer_parse(subject: Subject, texts: Any) -> Any:
    """Read texts, with no environment at hand."""
    return [plain(subject.world.parse(text)) for text in texts]


def answer_record(subject: Subject, _: Any) -> Any:
    """Play a whole episode."""
    env = subject.env()
    return record(env, play(env, SEED, **subject.how))


def _midway(subject: Subject) -> Any:
    """Return an environment in mid-episode."""
    env = subject.env()
    last_row(env, SEED, STEPS, **subject.how)
    return env


def ask_restore(subject: Subject) -> Any:
    """Ask for what follows a snapshot."""
    return through_json(_midway(subject).snapshot(), "a snapshot")


def answer_restore(subject: Subject, snapshot: Any) -> Any:
    """Take up a snapshot and play on."""
    env = subject.env()
    env.restore(snapshot)
    return continued(env, SEED)


def ask_unpickle(subject: Subject) -> Any:
    """Ask for what follows in a pickled environment."""
    return base64.b64encode(pickle.dumps(_midway(subject))).decode()


def answer_unpickle(subject: Subject, pickled: Any) -> Any:
    """Load a pickled environment and play on."""
    return continued(subject.noted(pickle.loads(base64.b64decode(pickled))), SEED)


QUESTIONS: Mapping[str, tuple[Callable[[Subject], Any], Callable[[Subject, Any], Any]]] = {
    "parse": (ask_parse, answer_parse),  # first, before the process has made any environment
    "record": (lambda _: None, answer_record),
    "restore": (ask_restore, answer_restore),
    "unpickle": (ask_unpickle, answer_unpickle),
}
"""What is asked, and how it is answered."""


# -- asking -------------------------------------------------------------------------------


class Exchange(NamedTuple):
    """What was asked about a subject, and what each process answered.

    Attributes:
        questions: The questions by name, or the errors that prevented asking.
        answers: The answers by name, of each process.
        broken: Why there are none, if a process could not answer.
    """

    questions: Mapping[str, Any]
    answers: list[dict[str, Any]]
    broken: Fault | None = None


def question_of(subject: Subject, name: str) -> Any:
    """Return what was asked, or raise the error that prevented asking."""
    asked = _exchange(subject).questions[name]
    if isinstance(asked, Exception):
        raise asked
    return asked


def answers_of(subject: Subject, name: str) -> list[Any]:
    """Return the answer of each process.

    Raises:
        Fault: If a process could not answer.
        Skip: If the subject cannot be made in another process.
    """
    question_of(subject, name)
    exchange = _exchange(subject)
    if exchange.broken:
        raise exchange.broken
    found = [answer[name] for answer in exchange.answers]
    for answer in found:
        if isinstance(answer, dict):
            raise Fault(f"in another process, {answer['error']}")
    return found


def _exchange(subject: Subject) -> Exchange:
    """Put all questions to all processes, once for a subject."""
    if subject in _EXCHANGES:
        return _EXCHANGES[subject]
    if subject.recipe is None:
        raise Skip("what makes it cannot be imported by name in another process")
    questions: dict[str, Any] = {}
    for name in QUESTIONS if subject.world else ("record",):
        try:
            questions[name] = QUESTIONS[name][0](subject)
        except Exception as error:
            questions[name] = error
    module = subject.world.spec.world.partition(":")[0] if subject.world else ""
    request = {
        "recipe": subject.recipe,
        "questions": {k: q for k, q in questions.items() if not isinstance(q, Exception)},
        "path": [entry or str(Path.cwd()) for entry in sys.path],
        "folder": str(Path.cwd()),
        "own": module if module.startswith("piase_gym.") else "piase_gym",
    }
    try:
        with ThreadPoolExecutor() as pool:
            found = list(pool.map(functools.partial(_ask_one, request), HASH_SEEDS))
        exchange = Exchange(questions, found)
    except Fault as fault:
        exchange = Exchange(questions, [], fault)
    _EXCHANGES[subject] = exchange
    return exchange


def _ask_one(request: Mapping[str, Any], hash_seed: str) -> dict[str, Any]:
    """Put a request to one process and return its answers."""
    path = os.pathsep.join(request["path"])
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    idle = _IDLE[os.getpid(), hash_seed]
    server = idle.pop() if idle else _started(env)
    assert server.stdin is not None
    assert server.stdout is not None
    watch = threading.Timer(TIMEOUT, _kill, [server])
    watch.start()
    try:
        server.stdin.write(json.dumps({**request, "env": env}).encode() + b"\n")
        server.stdin.flush()
        answers = json.loads(server.stdout.readline())
        status = answers if isinstance(answers, int) else json.loads(server.stdout.readline())
    except (OSError, ValueError):
        late = not watch.is_alive()
        _stop(server)
        why = f"did not answer within {TIMEOUT:g} seconds" if late else "ended without an answer"
        raise Fault(f"another process {why}") from None
    finally:
        watch.cancel()
    if FORKS:
        idle.append(server)
    else:
        _stop(server)
    if status:
        answers = {"broken": f"its exit status is {status}"}
    if "broken" in answers:
        raise Fault(f"another process could not make it: {answers['broken']}")
    return dict(answers)


def _started(env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that waits for requests."""
    return subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=FORKS,
    )


def _kill(server: subprocess.Popen[bytes]) -> None:
    """Kill a process and its fork."""
    if FORKS:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
    else:
        server.kill()


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End a process."""
    _kill(server)
    with contextlib.suppress(BrokenPipeError), server:  # waits for it, and closes the pipes
        pass


@atexit.register
def _stop_all() -> None:
    """End the processes that wait for requests of this one; forks of it leave them alone."""
    for (owner, _), servers in _IDLE.items():
        while servers and owner == os.getpid():
            _stop(servers.pop())


# -- answering ----------------------------------------------------------------------------


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer every question of a request; an error is an answer too."""
    for module in request["recipe"]["modules"]:
        importlib.import_module(module)
    subject, answers = subject_of(request["recipe"]), {}
    for name, question in request["questions"].items():
        try:
            answers[name] = QUESTIONS[name][1](subject, question)
        except Exception as error:
            answers[name] = {"error": f"{type(error).__name__}: {error}"}
    subject.close()
    return answers


def serve() -> None:
    """Answer requests, each in a fork; whatever the subject prints goes to standard error."""
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        warnings.simplefilter("ignore")
        for line in sys.stdin.buffer:
            request = json.loads(line)
            importlib.import_module(request["own"])
            child = os.fork() if FORKS else 0
            if not child:
                out.write(_reply(request) + (b"" if FORKS else b"0\n"))
                return
            out.write(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            out.flush()


def _reply(request: Mapping[str, Any]) -> bytes:
    """Return the line that answers a request."""
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["folder"])
    sys.path[:] = request["path"]
    try:
        answers = answer(request)
    except Exception as error:
        answers = {"broken": traceback.format_exception_only(error)[-1].strip()}
    return json.dumps(answers).encode() + b"\n"
