"""Questions to other processes: the same subject under other values of PYTHONHASHSEED.

Two processes are started once for all checks, and each is asked everything at once, because
starting them costs more than answering.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piase_gym.testing.kit import Fault, Skip
from piase_gym.testing.play import WHOLE, last_row, play

if TYPE_CHECKING:
    from piase_gym.testing.subject import EnvSubject

HASH_SEEDS = ("1", "4242")
TIMEOUT = 300.0
SEED, STEPS = 3, 6
Question = dict[str, Any]
Started = tuple[subprocess.Popen[bytes], Path, Path]


def ask_record(subject: EnvSubject) -> Question:
    """Ask for a whole episode."""
    return {"ask": "record", "seed": SEED, "steps": WHOLE, **subject.how}


def ask_parse(subject: Any) -> Question:
    """Ask for the facts of the texts of an episode."""
    rows = play(subject.env(view="text"), SEED, steps=40, **subject.how)
    return {"ask": "parse", "texts": [text for row in rows for text in row.observations.values()]}


def ask_restore(subject: Any) -> Question:
    """Ask for what follows a snapshot."""
    env = subject.env()
    last_row(env, SEED, STEPS, **subject.how)
    return {"ask": "restore", "snapshot": env.snapshot(), "seed": SEED}


def ask_unpickle(subject: Any) -> Question:
    """Ask for what follows in a pickled environment."""
    env = subject.env()
    last_row(env, SEED, STEPS, **subject.how)
    data = base64.b64encode(pickle.dumps(env)).decode()
    return {"ask": "unpickle", "pickle": data, "seed": SEED}


QUESTIONS: dict[str, Callable[[Any], Question]] = {
    "parse": ask_parse,  # first, before the process has made any environment
    "record": ask_record,
    "restore": ask_restore,
    "unpickle": ask_unpickle,
}


class Abroad:
    """What other processes answered about one subject."""

    def __init__(self, subject: EnvSubject) -> None:
        """Ask nothing yet."""
        self._subject = subject
        self._questions: dict[str, Question | Exception] = {}
        self._answers: list[dict[str, Any]] = []
        self._broken: Fault | None = None

    def question(self, name: str) -> Question:
        """Return what was asked, or raise what came in the way of asking it."""
        self._ask()
        found = self._questions[name]
        if isinstance(found, Exception):
            raise found
        return found

    def answers(self, name: str) -> list[Any]:
        """Return the answer of each process.

        Raises:
            Fault: If a process could not answer.
            Skip: If the subject cannot be made in another process.
        """
        self.question(name)
        if self._broken:
            raise self._broken
        answers = [answer[name] for answer in self._answers]
        for answer in answers:
            if isinstance(answer, dict) and "error" in answer:
                raise Fault(f"in another process, {answer['error']}")
        return answers

    def _ask(self) -> None:
        """Put all questions to all processes, once."""
        if self._questions:
            return
        recipe = self._subject.recipe()
        if recipe is None:
            raise Skip("what makes it cannot be imported by name in another process")
        names = list(QUESTIONS) if "world" in recipe else ["record"]
        for name in names:
            try:
                self._questions[name] = QUESTIONS[name](self._subject)
            except Exception as error:
                self._questions[name] = error
        asked = {k: q for k, q in self._questions.items() if not isinstance(q, Exception)}
        try:
            request = json.dumps({"recipe": recipe, "questions": asked})
        except (TypeError, ValueError) as error:
            asked.pop("restore", None)
            self._questions["restore"] = Fault(f"a snapshot cannot be written as JSON: {error}")
            request = json.dumps({"recipe": recipe, "questions": asked})
        try:
            self._answers = _ask_all(request)
        except Fault as fault:
            self._broken = fault


def _start(request: str, hash_seed: str, folder: Path) -> Started:
    """Start a process on a request, with files for what it says."""
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    source, heard, said = (folder / f"{kind}{hash_seed}" for kind in ("in", "out", "err"))
    source.write_text(request, encoding="utf-8")
    with source.open("rb") as stdin, heard.open("wb") as stdout, said.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "piase_gym.testing.worker"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
        )
    return process, heard, said


def _finish(process: subprocess.Popen[bytes], heard: Path, said: Path) -> dict[str, Any]:
    """Wait for a process and read its answers."""
    try:
        code = process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        raise Fault(f"another process did not answer within {TIMEOUT:g} seconds") from None
    if code:
        last = said.read_text(encoding="utf-8", errors="replace").strip().split("\n")[-1]
        raise Fault(f"another process could not make it: {last}")
    answers: dict[str, Any] = json.loads(heard.read_bytes())
    return answers


def _ask_all(request: str) -> list[dict[str, Any]]:
    """Put a request to every process at once and return their answers."""
    with tempfile.TemporaryDirectory() as folder:
        started = [_start(request, hash_seed, Path(folder)) for hash_seed in HASH_SEEDS]
        try:
            return [_finish(*entry) for entry in started]
        finally:
            for process, *_ in started:
                process.kill()
                process.wait()
