"""What can go wrong. The class says what to do about it; `code` is the server's stable word for it.

`InvalidRequest`  the request must be changed: `details` name the field or column
`Denied`          another key or role is needed
`NotFound`        there is no such run, or it has been pruned
`Conflict`        the run is not in a state for this; `LeaseLost` is the one that a worker meets
`Unavailable`     nobody answered, or asked to come back later: the same request may succeed then
"""

from __future__ import annotations

from typing import Any, Mapping, Optional


class PetrelError(Exception):
    """Anything this package raises."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "error",
        details: Optional[Mapping[str, Any]] = None,
        hint: Optional[str] = None,
        status: Optional[int] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details: Mapping[str, Any] = details or {}
        self.hint = hint
        #: The HTTP status, where there was one.
        self.status = status

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} ({self.hint})"


class InvalidRequest(PetrelError):
    """Refused as it stands; sent again it will be refused again."""


class Denied(PetrelError):
    """The key or the database role may not do this."""


class NotFound(PetrelError):
    """There is nothing under this id."""


class Conflict(PetrelError):
    """The run is not in a state for this. `details["status"]` says which state it is in."""

    @property
    def run_status(self) -> Optional[str]:
        status = self.details.get("status")
        return status if isinstance(status, str) else None


class LeaseLost(Conflict):
    """The run is no longer held: its lease ran out, or it was cancelled or ended by somebody else."""


class Unavailable(PetrelError):
    """No answer, or the answer was to come back later. `retry_after`: in how many seconds, if that was said."""

    def __init__(self, message: str, *, retry_after: Optional[float] = None, **rest: Any) -> None:
        super().__init__(message, **{"code": "unavailable", **rest})
        self.retry_after = retry_after


class Unsupported(PetrelError):
    """This way of reaching Petrel cannot do that; the message says which one can."""


class MissingDriver(PetrelError, ImportError):
    """SQL was asked for and psycopg2 is not installed."""
