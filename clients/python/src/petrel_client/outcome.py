"""The outcome of an execution, and its representation."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Union

from .active_run import ActiveRun
from .failures import HandlerFailure, Release
from .json_text import to_json
from .transport import Claim, Failure, Transport

log = logging.getLogger("petrel_client")

LONGEST_MESSAGE = 10_000


@dataclass(frozen=True)
class Completed:
    result_json: str

    def say(self, transport: Transport, claim: Claim) -> None:
        transport.complete(claim, self.result_json)


@dataclass(frozen=True)
class Failed:
    failure: Failure

    def say(self, transport: Transport, claim: Claim) -> None:
        transport.fail(claim, self.failure)


@dataclass(frozen=True)
class Released:
    def say(self, transport: Transport, claim: Claim) -> None:
        transport.release(claim)


Outcome = Union[Completed, Failed, Released]


def outcome_of(handler: Callable[[ActiveRun], Any], run: ActiveRun) -> Outcome:
    """Executes the handler. There is an outcome in every case."""
    try:
        result = handler(run)
    except Release:
        return Released()
    except HandlerFailure as error:
        log.info("%s %s: %s", run.type, run.id, error)
        return _failed(str(error), error.code, error.details, error.retryable, error.delay_seconds, error.category)
    except BaseException as error:
        log.warning("%s %s failed", run.type, run.id, exc_info=True)
        name = type(error).__name__
        category = getattr(error, "category", None)
        return _failed(
            f"{name}: {error}" if str(error) else name,
            "handler_error",
            {"type": name},
            category=category if isinstance(category, str) else None,
        )
    try:
        return Completed(to_json(result))
    except (TypeError, ValueError, RecursionError) as error:
        return unusable_result(str(error))


def unusable_result(reason: str) -> Failed:
    """Another execution would repeat all effects and end the same way."""
    return _failed(f"the handler's result cannot be recorded: {reason}", "invalid_result", retryable=False)


def _failed(
    message: str,
    code: str,
    details: Optional[Mapping[str, Any]] = None,
    retryable: Optional[bool] = None,
    delay_seconds: Optional[float] = None,
    category: Optional[str] = None,
) -> Failed:
    try:
        to_json(details)
    except (TypeError, ValueError, RecursionError):
        details = {"repr": storable(repr(details))}
    return Failed(Failure(storable(message), code, details, retryable, delay_seconds, category))


def storable(text: str) -> str:
    """Without characters that no database stores: NUL and lone surrogates."""
    return text[:LONGEST_MESSAGE].replace("\0", "\\0").encode("utf-8", "replace").decode("utf-8")
