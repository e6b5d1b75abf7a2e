"""Checks as values, the loop that runs a list of them, and its findings in words."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

from piase_gym.errors import PiaseError, UnknownNameError
from piase_gym.worlds.texts.wording import counted

Status = Literal["passed", "failed", "skipped", "not claimed"]


class ConformanceError(PiaseError, AssertionError):
    """An environment violates its contract; the message has one line for each violation."""


class Fault(Exception):
    """Raised by a check that has found something wrong; the message is one sentence."""


class Skip(Exception):
    """Raised by a check that cannot be run here; the message says why."""


def require(condition: object, sentence: str) -> None:
    """Raise `Fault` with the sentence unless the condition holds."""
    if not condition:
        raise Fault(sentence)


def require_refusal(
    expected: type[Exception], call: Callable[[], object], what: str, accepted: str
) -> Exception:
    """Return the error of a call that must be refused; raise `Fault` on another error, or none.

    Args:
        expected: The error that the call must raise.
        call: The call that must be refused.
        what: What is tried, for the message about another error.
        accepted: The message if nothing is raised.
    """
    try:
        call()
    except expected as error:
        return error
    except Exception as error:
        raise Fault(f"{what} raises {error!r}, no {expected.__name__}") from None
    raise Fault(accepted)


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        check: The check's name.
        sentence: What it proves, in words.
        status: ``passed``, ``failed``, ``skipped`` or ``not claimed``.
        detail: What is wrong, why it was skipped, or what was counted.
        seconds: How long it took.
    """

    check: str
    sentence: str
    status: Status
    detail: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """Status and detail in one string, such as ``skipped: needs the extra video``."""
        return f"{self.status}: {self.detail}" if self.detail else self.status

    def __str__(self) -> str:
        """Return one line for people."""
        return f"{self.check}: {self.sentence} {self.verdict}"


@dataclass(frozen=True)
class Report:
    """What all checks found.

    Attributes:
        subject: What was checked.
        findings: One entry per check, in the order in which they ran.
        seconds: How long all checks took.
    """

    subject: str
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The checks that failed."""
        return tuple(finding for finding in self.findings if finding.status == "failed")

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    def finding(self, check: str) -> Finding:
        """Return what one check found.

        Raises:
            KeyError: If no check of this name was run.
        """
        for finding in self.findings:
            if finding.check == check:
                return finding
        raise KeyError(check)

    def raise_failures(self) -> Report:
        """Return the report, or raise `ConformanceError` with a line for each failure."""
        if self.failures:
            lines = [f"- {found.check}: {found.detail}" for found in self.failures]
            raise ConformanceError("\n".join([f"{self.subject} does not conform:", *lines]))
        return self

    def __str__(self) -> str:
        """Return a line for each check, and a summary."""
        counts = [counted(len(self.findings), "check"), f"{len(self.failures)} failed"]
        summary = f"{self.subject}: {', '.join(counts)}, {self.seconds:.1f} s"
        return "\n".join([*map(str, self.findings), summary])


@dataclass(frozen=True)
class Check:
    """One requirement that an environment is held to.

    Attributes:
        name: A short name.
        sentence: What the check proves, in words.
        run: The check: it takes a subject, raises `Fault` or `Skip`, and may return a remark.
        claims: The capabilities that must be claimed for the check to apply.
        module: A library that must be installed, or an empty string.
        extra: The extra of the package that installs the library.
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
    """Return the checks with the given names, or all.

    Raises:
        UnknownNameError: If there is no check with one of the names.
    """
    table = {item.name: item for item in checks}
    for name in names or ():
        if name not in table:
            raise UnknownNameError("check", name, table)
    return [item for item in table.values() if names is None or item.name in names]


Progress = Callable[[Finding], None]
"""Called with what each check finds, as soon as it is known."""


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
    """Return the first line of an error's message, cut to 300 characters."""
    return (str(error).strip().split("\n") or [""])[0][:300]
