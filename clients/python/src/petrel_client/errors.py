"""The errors of this package. The class indicates the remedy; `code` is the server's stable code.

`InvalidRequest`  the request must be changed: `details` name the field or column
`Denied`          another key or role is needed
`NotFound`        there is no such run, or it has been pruned
`Conflict`        the state of the run does not allow this; a worker gets the subclass `LeaseLost`
`Unavailable`     no response, or a request to retry later: the same request may succeed then
"""

from __future__ import annotations

from typing import Any, Mapping, Optional


class PetrelError(Exception):
    """The base class of all errors of this package."""

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
        #: The HTTP status, if there was one.
        self.status = status

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} ({self.hint})"


class InvalidRequest(PetrelError):
    """Refused; the same request would be refused again."""


class Denied(PetrelError):
    """The key or the database role is not allowed to do this."""


class NotFound(PetrelError):
    """The id does not exist."""


class Conflict(PetrelError):
    """The state of the run does not allow this. `details["status"]` contains the state."""

    @property
    def run_status(self) -> Optional[str]:
        status = self.details.get("status")
        return status if isinstance(status, str) else None


class LeaseLost(Conflict):
    """The run is no longer held: its lease expired, or another client cancelled or ended it."""


class Unavailable(PetrelError):
    """No response, or a response that asks to retry later. `retry_after`: seconds to wait, if given."""

    def __init__(self, message: str, *, retry_after: Optional[float] = None, **rest: Any) -> None:
        super().__init__(message, **{"code": "unavailable", **rest})
        self.retry_after = retry_after


class Unsupported(PetrelError):
    """Not available over this connection; the message names the one that supports it."""


class MissingDriver(PetrelError, ImportError):
    """SQL was requested and psycopg2 is not installed."""
