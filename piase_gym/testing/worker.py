"""The other process of the kit: JSON questions on standard input, JSON answers on standard output.

Run as ``python -m piase_gym.testing.worker`` by `piase_gym.testing.abroad`.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from piase_gym.errors import TextParseError
from piase_gym.testing.plain import plain
from piase_gym.testing.play import future, play, record
from piase_gym.testing.subject import subject_of


def answer_record(subject: Any, question: Mapping[str, Any]) -> Any:
    """Play a whole episode."""
    env = subject.env()
    how = {key: question[key] for key in ("steps", "unruly", "hints")}
    return record(env, play(env, question["seed"], **how))


def answer_parse(subject: Any, question: Mapping[str, Any]) -> Any:
    """Read texts, with no environment at hand."""
    return [_parse(subject, text) for text in question["texts"]]


def _parse(subject: Any, text: str) -> Any:
    """Read one text."""
    try:
        return plain(subject.parse(text))
    except TextParseError as error:
        return f"TextParseError: {error}"


def answer_restore(subject: Any, question: Mapping[str, Any]) -> Any:
    """Take up a snapshot and play on."""
    env = subject.env()
    env.restore(question["snapshot"])
    return future(env, question["seed"])


def answer_unpickle(subject: Any, question: Mapping[str, Any]) -> Any:
    """Load a pickled environment and play on."""
    env = subject.noted(pickle.loads(base64.b64decode(question["pickle"])))
    return future(env, question["seed"])


ANSWERS: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "parse": answer_parse,
    "record": answer_record,
    "restore": answer_restore,
    "unpickle": answer_unpickle,
}


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer every question of a request; what goes wrong is an answer too."""
    for module in request["recipe"]["modules"]:
        importlib.import_module(module)
    subject = subject_of(request["recipe"])
    answers: dict[str, Any] = {}
    for name, question in request["questions"].items():
        try:
            answers[name] = ANSWERS[question["ask"]](subject, question)
        except Exception as error:
            answers[name] = {"error": f"{type(error).__name__}: {error}"}
    subject.close()
    return answers


def main() -> None:
    """Read, answer, write; whatever the subject prints goes to standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    answers = answer(json.load(sys.stdin))
    with os.fdopen(out, "w", encoding="utf-8") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main()
