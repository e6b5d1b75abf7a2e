"""What a run of the kit found, and the words in which a check says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from piase_gym.errors import PiaseError

Status = Literal["passed", "failed", "skipped", "not claimed"]


class ConformanceError(PiaseError, AssertionError):
    """An environment that does not keep its contract; a line for each thing that is wrong."""


class Fault(Exception):
    """Raised by a check that has found something wrong; the message is one sentence."""


class Skip(Exception):
    """Raised by a check that cannot be run here; the message says why."""


def require(condition: object, sentence: str) -> None:
    """Raise `Fault` with the sentence unless the condition holds."""
    if not condition:
        raise Fault(sentence)


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
        findings: One entry a check, in the order in which they ran.
        seconds: How long all of it took.
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

    def raise_failures(self) -> None:
        """Raise `ConformanceError` with a line for each failure, if there is any."""
        if self.failures:
            lines = [f"- {found.check}: {found.detail}" for found in self.failures]
            raise ConformanceError("\n".join([f"{self.subject} does not conform:", *lines]))

    def __str__(self) -> str:
        """Return a line for each check, and a summary."""
        counts = [f"{len(self.findings)} checks", f"{len(self.failures)} failed"]
        summary = f"{self.subject}: {', '.join(counts)}, {self.seconds:.1f} s"
        return "\n".join([*map(str, self.findings), summary])
