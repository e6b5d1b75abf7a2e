"""What can go wrong in an environment of one's own, as values."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple


class Reason(StrEnum):
    """Why an episode ended before its time (``info["fault"]["reason"]``)."""

    RAISED = "raised"  # an exception
    HUNG = "hung"  # no answer within the time that a call may take
    DIED = "died"  # its process is gone
    WRONG_TYPE = "wrong_type"  # an answer that is not what the document says
    WRONG_SHAPE = "wrong_shape"  # an observation of another shape than the first one
    SPACES_CHANGED = "spaces_changed"  # other actions than at the beginning


class Fault(NamedTuple):
    """One failure.

    Attributes:
        reason: What kind it is of.
        message: What happened, in one line.
    """

    reason: Reason
    message: str

    def as_dict(self) -> dict[str, Any]:
        """Return it as infos and logs have it."""
        return {"reason": str(self.reason), "message": self.message}


class FaultyError(Exception):
    """Carries a fault out of the code that found it."""

    def __init__(self, reason: Reason, message: str) -> None:
        """Keep the fault."""
        super().__init__(message)
        self.fault = Fault(reason, " ".join(message.split())[:400])


def wrong(what: str, given: object, allowed: str) -> FaultyError:
    """Return that something is not of the documented type."""
    return FaultyError(Reason.WRONG_TYPE, f"{what} is {given!r:.80}, not {allowed}")
