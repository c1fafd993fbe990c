"""What a handler raises to say how its run goes on.

Any other exception is a failure too, tried again unless the run's own policy says otherwise.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional


class HandlerFailure(Exception):
    """`category` is transient, agent, timeout, validation, external or governance: what a workflow makes of it depends
    on that. `code`, `details` and `category` are kept with the run where it is reported over HTTP; SQL keeps the message,
    and the others at the end of a workflow's run that has a category."""

    retryable: Optional[bool] = None
    delay_seconds: Optional[float] = None

    def __init__(
        self,
        message: str,
        *,
        code: str = "handler_error",
        details: Optional[Mapping[str, Any]] = None,
        category: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.details = details
        self.category = category


class Retryable(HandlerFailure):
    """This attempt failed; the run is tried again, as long as it has attempts left.

    When: after `delay_seconds`, or as its policy says: a submitted run waits attempt² minutes and up to 10 % more.
    """

    retryable = True

    def __init__(
        self,
        message: str,
        *,
        code: str = "handler_error",
        details: Optional[Mapping[str, Any]] = None,
        category: Optional[str] = None,
        delay_seconds: Optional[float] = None,
    ) -> None:
        super().__init__(message, code=code, details=details, category=category)
        self.delay_seconds = delay_seconds


class NonRetryable(HandlerFailure):
    """Trying again would not help: the run is failed for good, whatever attempts it had left."""

    retryable = False


class Release(Exception):
    """Gives the run back: no attempt is counted, and any worker may take it at once.

    Meant for a handler that sees `run.stopping` and would not be done in time.
    """
