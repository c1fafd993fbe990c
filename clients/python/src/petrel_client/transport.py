"""What a client and a worker need of Petrel; `http/` and `sql/` are the two ways to get it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, List, Mapping, Optional, Protocol, Sequence

from .run import Event, Page, Run, Submitted
from .type_filter import TypeFilter


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
    """Which runs to list. None: any."""

    type: Optional[TypeFilter]
    status: Optional[str]
    idempotency_key: Optional[str]
    queue: Optional[str]
    deleted: bool
    limit: int
    before: Optional[str]


@dataclass(frozen=True)
class Wanted:
    """What a worker takes, and for how long."""

    worker_id: str
    types: Sequence[TypeFilter]
    #: None: every queue
    queues: Optional[Sequence[str]]
    runtime: str
    lease_seconds: float
    #: how long to wait for work before coming back with none
    wait_seconds: float


@dataclass(frozen=True)
class Claim:
    """A run that is ours until its lease ends. `epoch` is what fences reports: it changes whenever a lease ends."""

    run: Run
    worker_id: str
    epoch: int
    parent_results: Any


@dataclass(frozen=True)
class Failure:
    """Why an execution failed."""

    message: str
    code: str
    details: Optional[Mapping[str, Any]]
    #: None: as the run's own policy says
    retryable: Optional[bool]
    #: when to try again, if the handler said so
    delay_seconds: Optional[float]
    #: transient, agent, timeout, validation, external or governance; None: nobody said
    category: Optional[str] = None


class Claims(Protocol):
    """Takes work for one worker. Used by one thread; `interrupt` and `close` by any."""

    def take(self, limit: int) -> List[Claim]:
        """Up to `limit` runs; waits a while for the first. None came: an empty list."""

    def interrupt(self) -> None:
        """Cuts the wait of `take` short, where that loses nothing."""

    def close(self) -> None: ...


class Transport(Protocol):
    """Raises the classes of errors.py. What is said of a lease raises `LeaseLost` when it has ended."""

    def submit(self, submission: Submission, within: Any) -> Submitted: ...

    def get(self, id: str) -> Run: ...

    def list(self, listing: Listing) -> Page: ...

    def events(self, id: str) -> List[Event]: ...

    def cancel(self, id: str) -> Run: ...

    def claims(self, wanted: Wanted) -> Claims: ...

    def heartbeat(self, claim: Claim, lease_seconds: float) -> bool:
        """Begins the lease anew. Answers whether a cancel was asked for."""

    def check(self, claim: Claim, lease_seconds: float) -> bool:
        """Whether a cancel was asked for; may begin the lease anew."""

    def complete(self, claim: Claim, result_json: str) -> None: ...

    def fail(self, claim: Claim, failure: Failure) -> None: ...

    def release(self, claim: Claim) -> None: ...

    def close(self) -> None: ...
