"""Exceptions by which a handler determines how its run continues.

Any other exception is a failure too, which is retried unless the run's own policy excludes it.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional


class HandlerFailure(Exception):
    """`category` is transient, agent, timeout, validation, external or governance: it determines how a workflow
    reacts. `code`, `details` and `category` are stored with the run if it is reported over HTTP; SQL stores only the
    message, and the others when a workflow's run with a category ends."""

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
    """This attempt failed; the run is retried as long as it has attempts left.

    It is retried after `delay_seconds`, or by its policy: a submitted run waits attempt² minutes plus up to 10 %.
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
    """A retry would not help: the run fails for good, even with attempts left."""

    retryable = False


class Release(Exception):
    """Returns the run: no attempt is counted, and any worker may take it at once.

    Meant for a handler that sees `run.stopping` and would not finish in time.
    """
