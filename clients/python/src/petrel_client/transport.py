"""The operations that a client and a worker need from Petrel; `http/` and `sql/` implement them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, List, Mapping, Optional, Protocol, Sequence

from .run import Event, Page, Run, Submitted
from .type_filter import TypeFilter


#: A line of a log: `text`, and if wanted `level`, `fields`, `at` and `stream`.
LogLine = Mapping[str, Any]


@dataclass(frozen=True)
class Submission:
    """A run to add. None: the default of the table."""

    type: str
    payload_json: str
    idempotency_key: Optional[str]
    priority: Optional[int]
    run_at: Optional[datetime]
    max_attempts: Optional[int]
    queue: Optional[str]


@dataclass(frozen=True)
class Listing:
    """A filter of runs to list. None: any."""

    type: Optional[TypeFilter]
    status: Optional[str]
    idempotency_key: Optional[str]
    queue: Optional[str]
    deleted: bool
    limit: int
    before: Optional[str]


@dataclass(frozen=True)
class Wanted:
    """Which runs a worker takes, and for how long."""

    worker_id: str
    types: Sequence[TypeFilter]
    #: None: every queue
    queues: Optional[Sequence[str]]
    runtime: str
    lease_seconds: float
    #: how long to wait for work before returning none
    wait_seconds: float
    #: the build of the worker's program; None: it states none
    build: Optional[str] = None


@dataclass(frozen=True)
class Claim:
    """A run held until its lease ends. `epoch` fences reports: it changes whenever a lease ends."""

    run: Run
    worker_id: str
    epoch: int
    parent_results: Any
    #: the build of the worker's program, sent with its reports
    build: Optional[str] = None


@dataclass(frozen=True)
class Failure:
    """The reason why an execution failed."""

    message: str
    code: str
    details: Optional[Mapping[str, Any]]
    #: None: by the run's own policy
    retryable: Optional[bool]
    #: the delay before the retry, if the handler gave one
    delay_seconds: Optional[float]
    #: transient, agent, timeout, validation, external or governance; None: not given
    category: Optional[str] = None


class Claims(Protocol):
    """Claims work for one worker. Used by one thread; `interrupt` and `close` by any thread."""

    def take(self, limit: int) -> List[Claim]:
        """Up to `limit` runs; waits for the first. Without work: an empty list."""

    def interrupt(self) -> None:
        """Ends the wait of `take` early, if that loses nothing."""

    def close(self) -> None: ...


class Transport(Protocol):
    """Raises the classes of errors.py. Operations on an ended lease raise `LeaseLost`."""

    def submit(self, submission: Submission, within: Any) -> Submitted: ...

    def get(self, id: str) -> Run: ...

    def list(self, listing: Listing) -> Page: ...

    def events(self, id: str) -> List[Event]: ...

    def cancel(self, id: str) -> Run: ...

    def claims(self, wanted: Wanted) -> Claims: ...

    def heartbeat(self, claim: Claim, lease_seconds: float) -> bool:
        """Renews the lease. Returns whether a cancel was requested."""

    def check(self, claim: Claim, lease_seconds: float) -> bool:
        """Whether a cancel was requested; may renew the lease."""

    def log(self, claim: Claim, lines: List[LogLine]) -> None:
        """Stores lines in the log of the run. Unsupported: by plain SQL."""

    def complete(self, claim: Claim, result_json: str) -> None: ...

    def fail(self, claim: Claim, failure: Failure) -> None: ...

    def release(self, claim: Claim) -> None: ...

    def close(self) -> None: ...
