"""A check as a value, and the loop that runs a list of them."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from piase_gym.errors import UnknownNameError
from piase_gym.testing.report import Fault, Finding, Report, Skip, Status


@dataclass(frozen=True)
class Check:
    """One fact that an environment is held to.

    Attributes:
        name: A short name.
        sentence: What the check proves, in words.
        run: The check: it takes a subject, raises `Fault` or `Skip`, and may return a remark.
        claims: The capabilities that must be claimed for the check to apply.
        module: A library that must be installed, or an empty string.
        extra: The optional part of the package that brings the library.
    """

    name: str
    sentence: str
    run: Callable[[Any], str | None]
    claims: tuple[str, ...] = ()
    module: str = ""
    extra: str = ""


def check(
    *claims: str, module: str = "", extra: str = ""
) -> Callable[[Callable[[Any], str | None]], Check]:
    """Turn a function into a `Check`; the first line of its docstring is the sentence."""

    def wrap(run: Callable[[Any], str | None]) -> Check:
        sentence = (run.__doc__ or "").strip().split("\n")[0]
        return Check(run.__name__, sentence, run, claims, module, extra)

    return wrap


def checks_of(*modules: ModuleType) -> tuple[Check, ...]:
    """Return the checks of modules, in the order in which they are written there."""
    return tuple(c for module in modules for c in vars(module).values() if isinstance(c, Check))


def choose_checks(checks: Iterable[Check], names: Sequence[str] | None) -> list[Check]:
    """Return the checks of some names, or all.

    Raises:
        UnknownNameError: If there is no check of a name.
    """
    table = {item.name: item for item in checks}
    for name in names or ():
        if name not in table:
            raise UnknownNameError("check", name, table)
    return [item for item in table.values() if names is None or item.name in names]


Progress = Callable[[Finding], None]
"""Called with what each check has found, as soon as it is known."""


def run_all(
    subject: Any, checks: Iterable[Check], progress: Progress = lambda finding: None
) -> Report:
    """Run checks on a subject and collect what they find."""
    start = time.perf_counter()
    findings = []
    for item in checks:
        began = time.perf_counter()
        try:
            status, detail = _run(subject, item)
        finally:
            subject.close()
        findings.append(
            Finding(item.name, item.sentence, status, detail, time.perf_counter() - began)
        )
        progress(findings[-1])
    return Report(subject.label, tuple(findings), time.perf_counter() - start)


def _run(subject: Any, item: Check) -> tuple[Status, str]:
    """Run one check and put what it says or raises into words."""
    missing = [claim for claim in item.claims if not getattr(subject.capabilities, claim)]
    if missing:
        return "not claimed", ", ".join(missing)
    if item.module and importlib.util.find_spec(item.module) is None:
        return "skipped", f"needs the extra {item.extra}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "passed", item.run(subject) or ""
    except Skip as skip:
        return "skipped", str(skip)
    except Fault as fault:
        return "failed", str(fault)
    except Exception as error:
        return "failed", f"{item.name} met {type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    """Return the first line of an error's message, at most 300 characters of it."""
    return (str(error).strip().split("\n") or [""])[0][:300]
